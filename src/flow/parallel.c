/* SPDX-License-Identifier: MIT */
/* Subscriptions whose calls a pool makes. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "flow/pool.h"

#define CAPACITY 64
#define CALLS 64 /* of one subscription in a row; then others have their turn */

static void lock(struct hy_parallel *p)
{
	pthread_mutex_lock(&p->lock);
}

static void unlock(struct hy_parallel *p)
{
	pthread_mutex_unlock(&p->lock);
}

static void parallel_free(struct hy_flow *flow)
{
	struct hy_parallel *p = container_of(flow, struct hy_parallel, flow);

	hy_ring_done(&p->ring);
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->lock);
	hy_flow_put(&p->pool->flow);
	hy_free(p);
}

static struct hy_parallel *parallel_get(struct hyphae_parallel *handle,
					int *ret)
{
	struct hy_flow *flow = hy_flow_get(handle, HY_FLOW_PARALLEL, ret);

	return flow ? container_of(flow, struct hy_parallel, flow) : NULL;
}

/* It has something to do: is there a thread to be found?  Locked. */
static bool wants_service(struct hy_parallel *p)
{
	if (p->queued || p->running || p->closed || p->over ||
	    hy_ring_empty(&p->ring))
		return false;
	p->queued = true;
	return true;
}

/*
 * No call is under way and none will be.  `over` was set by the caller, so
 * this is done once.
 */
static void finish(struct hy_parallel *p)
{
	struct hy_item item;
	bool more = true;

	while (more) {
		lock(p);
		more = hy_ring_take(&p->ring, &item);
		unlock(p);
		if (more)
			hy_held_drop(&item.held);
	}
	hy_follow_end(&p->follow);
	hy_pool_remove(p); /* first: drop may free the pool */
	if (p->drop)
		p->drop(p->ctx);
	hy_flow_retire(&p->flow);
	lock(p);
	p->gone = true;
	pthread_cond_broadcast(&p->idle);
	unlock(p);
	hy_flow_put(&p->flow); /* of the handle */
}

/* ---- the graph's side -------------------------------------------------------- */

static int parallel_told(const struct hyphae_signal *signal, void *ctx)
{
	struct hy_parallel *p = ctx;
	struct hy_item item = {.gap = 0};
	struct hy_held victim = {.type = NULL};
	int r = hy_held_of(signal, &item.held);
	bool over, queue;

	lock(p);
	if (r)
		hy_ring_lost(&p->ring);
	else if (p->closed)
		victim = item.held;
	else
		hy_ring_put(&p->ring, &item, &victim);
	over = p->closed || p->ring.ended;
	queue = wants_service(p);
	unlock(p);
	if (queue)
		hy_pool_queue(p);
	hy_held_drop(&victim);
	if (over && !signal->terminal)
		return HYPHAE_DETACH;
	return r;
}

void hy_parallel_cancel(struct hy_parallel *p, int code)
{
	struct hy_held end = hy_held_failure(p->type, p->cell_id, code);
	bool queue;

	lock(p);
	if (!p->closed)
		hy_ring_end(&p->ring, &end);
	queue = wants_service(p);
	unlock(p);
	if (queue)
		hy_pool_queue(p);
}

static void parallel_left(void *ctx)
{
	struct hy_parallel *p = ctx;

	hy_parallel_cancel(p, -ECANCELED);
	hy_flow_put(&p->flow);
}

/* ---- calls ------------------------------------------------------------------------ */

static void report(struct hy_parallel *p, int result)
{
	struct hyphae_problem problem = {.cell_id = p->cell_id};
	hyphae_problem_fn fn;
	char who[64], text[HY_FAILURE_TEXT_MAX];
	void *ctx;

	pthread_mutex_lock(&p->pool->lock);
	fn = p->pool->on_problem;
	ctx = p->pool->problem_ctx;
	pthread_mutex_unlock(&p->pool->lock);
	if (!fn)
		return;
	snprintf(who, sizeof(who), "A parallel subscriber of cell #%llu",
		 (unsigned long long)p->cell_id);
	problem.code = hy_failure_text(text, sizeof(text), who, result,
				       "; it is called on.");
	problem.message = text;
	fn(&problem, ctx);
}

/* One call; false if that was the last.  The lock is not held. */
static bool call(struct hy_parallel *p, struct hy_item *item)
{
	struct hyphae_signal signal = hy_held_signal(&item->held);
	bool terminal = item->held.terminal;
	int r = p->fn(&signal, p->ctx);

	hy_held_drop(&item->held);
	if (r < 0)
		report(p, r);
	return r <= 0 && !terminal;
}

static bool next_item(struct hy_parallel *p, struct hy_item *item)
{
	bool any;

	lock(p);
	any = !p->closed && hy_ring_take(&p->ring, item);
	if (any && !item->held.terminal)
		p->called++;
	unlock(p);
	return any;
}

void hy_parallel_serve(struct hy_parallel *p)
{
	struct hy_item item;
	bool goes_on = true, over, queue;

	lock(p);
	p->queued = false;
	if (p->over) { /* ended before its turn came */
		unlock(p);
		hy_flow_put(&p->flow);
		return;
	}
	p->running = true;
	p->runner = pthread_self();
	unlock(p);
	for (int i = 0; i < CALLS && goes_on && next_item(p, &item); i++)
		goes_on = call(p, &item);
	lock(p);
	p->running = false;
	if (!goes_on)
		p->closed = true;
	over = p->closed;
	if (over)
		p->over = true;
	queue = wants_service(p);
	unlock(p);
	if (queue)
		hy_pool_queue(p);
	if (over)
		finish(p);
	hy_flow_put(&p->flow); /* of the run queue */
}

/* ---- make --------------------------------------------------------------------------- */

static int parallel_init(struct hy_parallel *p, struct hyphae_cell *cell,
			 const struct hyphae_parallel_options *options)
{
	size_t capacity = options->capacity ? options->capacity : CAPACITY;
	int r;

	if (!p->fn || options->policy == HYPHAE_OVERFLOW_BLOCK ||
	    options->flags & ~(unsigned int)HYPHAE_SKIP_INITIAL)
		return -EINVAL;
	r = hy_follow_look(cell, &p->follow, &p->type, &p->cell_id, NULL);
	if (!r)
		r = hy_ring_init(&p->ring, capacity, options->policy);
	if (r)
		return r;
	r = hy_flow_init(&p->flow, HY_FLOW_PARALLEL, parallel_free);
	if (r) {
		hy_ring_done(&p->ring);
		return r;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->idle, NULL);
	return 0;
}

/* 0, and it is connected and in the pool; else `drop` is still to be called. */
static int connect(struct hy_parallel *p, struct hyphae_cell *cell,
		   unsigned int flags)
{
	struct hyphae_subscription *subscription;
	int r = hy_pool_add(p->pool, p);

	if (r)
		return r;
	/* It does not run before it is known how to end it. */
	lock(p);
	p->queued = true;
	unlock(p);
	hy_flow_ref(&p->flow);
	subscription = hyphae_subscribe_with(cell, parallel_told, p,
					     parallel_left, flags);
	r = subscription ? 0 : -errno;
	if (r)
		hy_pool_remove(p);
	lock(p);
	p->follow.subscription = subscription;
	if (r)
		p->over = true;
	unlock(p);
	if (!r)
		hy_pool_queue(p);
	return r;
}

static struct hyphae_parallel *
make(struct hy_pool *pool, struct hyphae_cell *cell,
     const struct hy_parallel *model,
     const struct hyphae_parallel_options *options, int *ret)
{
	struct hy_parallel *p = hy_zalloc(sizeof(*p));
	struct hyphae_parallel *handle;

	*ret = -ENOMEM;
	if (!p)
		return NULL;
	*p = *model;
	*ret = parallel_init(p, cell, options);
	if (*ret) {
		hy_free(p);
		return NULL;
	}
	p->pool = pool;
	hy_flow_ref(&pool->flow);
	handle = hy_flow_handle(&p->flow); /* it may be over soon */
	*ret = connect(p, cell, options->flags);
	if (!*ret)
		return handle;
	hy_flow_retire(&p->flow);
	hy_flow_put(&p->flow);
	return NULL;
}

struct hyphae_parallel *
hyphae_subscribe_parallel(struct hyphae_pool *handle, struct hyphae_cell *cell,
			  hyphae_subscriber_fn fn, void *ctx,
			  void (*drop)(void *ctx),
			  const struct hyphae_parallel_options *options)
{
	const struct hyphae_parallel_options usual = {.capacity = 0};
	const struct hy_parallel model = {.fn = fn, .ctx = ctx, .drop = drop};
	struct hyphae_parallel *result = NULL;
	int r;
	struct hy_pool *pool = hy_pool_get(handle, &r);

	if (pool) {
		result = make(pool, cell, &model, options ? options : &usual,
			      &r);
		hy_flow_put(&pool->flow);
	}
	if (!result) {
		if (drop)
			drop(ctx);
		errno = -r;
	}
	return result;
}

/* ---- end ------------------------------------------------------------------------------ */

static int end(struct hyphae_parallel *handle, bool wait)
{
	struct hy_parallel *p;
	bool ours;
	int r;

	if (!handle)
		return 0;
	p = parallel_get(handle, &r);
	if (!p)
		return r;
	lock(p);
	p->closed = true;
	ours = !p->running && !p->over;
	if (ours) {
		p->over = true;
		p->runner = pthread_self();
	}
	unlock(p);
	if (ours)
		finish(p);
	lock(p);
	if (wait && !p->gone && pthread_equal(p->runner, pthread_self()))
		r = -EDEADLK;
	while (wait && !r && !p->gone)
		pthread_cond_wait(&p->idle, &p->lock);
	unlock(p);
	hy_flow_put(&p->flow);
	return r;
}

int hyphae_unsubscribe_parallel(struct hyphae_parallel *parallel)
{
	return end(parallel, false);
}

int hyphae_unsubscribe_parallel_wait(struct hyphae_parallel *parallel)
{
	return end(parallel, true);
}

int hyphae_parallel_counts(struct hyphae_parallel *handle,
			   struct hyphae_parallel_counts *ret_counts)
{
	int r;
	struct hy_parallel *p = parallel_get(handle, &r);

	if (!p)
		return r;
	if (ret_counts) {
		lock(p);
		ret_counts->called = p->called;
		ret_counts->dropped = p->ring.dropped;
		ret_counts->waiting = p->ring.count;
		ret_counts->received =
			p->called + p->ring.dropped + p->ring.count;
		unlock(p);
	} else {
		r = -EINVAL;
	}
	hy_flow_put(&p->flow);
	return r;
}
