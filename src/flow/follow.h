/* SPDX-License-Identifier: MIT */
/* What streams, pools and bridges do alike with the graph that they follow. */
#ifndef HY_FLOW_FOLLOW_H
#define HY_FLOW_FOLLOW_H

#include <pthread.h>

#include "core/sync.h"

/*
 * A subscription that is ended from outside.  A single-threaded graph is
 * touched only by the thread that subscribed; for others the subscription
 * ends when it is told something the next time.
 */
struct hy_follow {
	struct hyphae_subscription *subscription;
	pthread_t thread;
	bool shared;
};

/*
 * What a constructor has to know of a cell: 0, -EINVAL or -ESTALE.
 * `ret_event` may be NULL.
 */
int hy_follow_look(struct hyphae_cell *cell, struct hy_follow *follow,
		   const struct hyphae_type **ret_type, uint64_t *ret_id,
		   bool *ret_event);

/* No lock is held.  The subscriber may run once more. */
void hy_follow_end(const struct hy_follow *follow);

/*
 * Work that must not nest: deliveries to other graphs, whose subscribers ask
 * for more of them.  The outermost call on a thread does it all, one after
 * the other, so that the stack does not grow with the number of graphs.
 */
struct hy_job {
	struct hy_job *next;
	int (*run)(struct hy_job *job);
};

/* Returns the first error of the jobs that it ran, of this or of others. */
int hy_job_run(struct hy_job *job);

#endif
