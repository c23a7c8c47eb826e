/* SPDX-License-Identifier: MIT */
/* A pool's threads, and what they serve; parallel.c has the subscriptions. */
#ifndef HY_FLOW_POOL_H
#define HY_FLOW_POOL_H

#include <hyphae/pool.h>

#include "flow/follow.h"
#include "flow/handle.h"
#include "flow/held.h"

struct hy_parallel {
	struct hy_flow flow; /* its handle, the subscription, the run queue */
	struct hy_follow follow;
	struct hy_pool *pool; /* a reference */
	hyphae_subscriber_fn fn;
	void *ctx;
	void (*drop)(void *ctx);
	const struct hyphae_type *type;
	uint64_t cell_id;
	pthread_mutex_t lock; /* of what follows; nothing is called under it */
	pthread_cond_t idle;  /* gone, for whoever waits */
	struct hy_ring ring;
	uint64_t called;
	pthread_t runner; /* who calls fn, or drop, or did last */
	bool running;
	bool queued; /* in the pool's run queue */
	bool closed; /* no more calls */
	bool over;   /* somebody sees to the end of it */
	bool gone;   /* and is done */
	/* Under the pool's lock: */
	struct hy_parallel *next_queued;
	struct hy_parallel *next, **link; /* all of the pool */
};

struct hy_pool {
	struct hy_flow flow; /* its handle, and each parallel subscription */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct hy_parallel *queue, **queue_end;
	struct hy_parallel *all;
	bool closing; /* nothing is added any more */
	bool stop;    /* the threads end when there is nothing left to do */
	hyphae_problem_fn on_problem;
	void *problem_ctx;
	unsigned int count;
	pthread_t threads[];
};

struct hy_pool *hy_pool_get(struct hyphae_pool *handle, int *ret);

/* It is part of the pool from now on; -ESTALE if that is being freed. */
int hy_pool_add(struct hy_pool *pool, struct hy_parallel *p);
void hy_pool_remove(struct hy_parallel *p);

/* Have a thread serve it; takes a reference.  p->queued was set. */
void hy_pool_queue(struct hy_parallel *p);

/* Some calls, on a thread of the pool; gives the reference back. */
void hy_parallel_serve(struct hy_parallel *p);

/* Let it end with that error, after what is queued. */
void hy_parallel_cancel(struct hy_parallel *p, int code);

#endif
