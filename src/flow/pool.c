/* SPDX-License-Identifier: MIT */
#include "flow/pool.h"

#include <errno.h>
#include <signal.h>

#include "base/alloc.h"

/* The pool whose thread this is. */
static __thread struct hy_pool *pool_of_thread;

static void pool_free(struct hy_flow *flow)
{
	struct hy_pool *pool = container_of(flow, struct hy_pool, flow);

	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	hy_free(pool);
}

struct hy_pool *hy_pool_get(struct hyphae_pool *handle, int *ret)
{
	struct hy_flow *flow = hy_flow_get(handle, HY_FLOW_POOL, ret);

	return flow ? container_of(flow, struct hy_pool, flow) : NULL;
}

/* ---- the run queue ------------------------------------------------------------ */

void hy_pool_queue(struct hy_parallel *p)
{
	struct hy_pool *pool = p->pool;

	hy_flow_ref(&p->flow);
	pthread_mutex_lock(&pool->lock);
	p->next_queued = NULL;
	*pool->queue_end = p;
	pool->queue_end = &p->next_queued;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

/* The next to serve; NULL: the pool stops. */
static struct hy_parallel *next_to_serve(struct hy_pool *pool)
{
	struct hy_parallel *p;

	pthread_mutex_lock(&pool->lock);
	/* Nobody stops while one that is being served may be queued again. */
	while (!pool->queue && !(pool->stop && !pool->all))
		pthread_cond_wait(&pool->work, &pool->lock);
	p = pool->queue;
	if (p) {
		pool->queue = p->next_queued;
		if (!pool->queue)
			pool->queue_end = &pool->queue;
	}
	pthread_mutex_unlock(&pool->lock);
	return p;
}

static void *pool_thread(void *ctx)
{
	struct hy_pool *pool = ctx;
	struct hy_parallel *p;

	pool_of_thread = pool;
	while ((p = next_to_serve(pool)))
		hy_parallel_serve(p);
	return NULL;
}

int hy_pool_add(struct hy_pool *pool, struct hy_parallel *p)
{
	int r = -ESTALE;

	pthread_mutex_lock(&pool->lock);
	if (!pool->closing) {
		p->next = pool->all;
		p->link = &pool->all;
		if (p->next)
			p->next->link = &p->next;
		pool->all = p;
		r = 0;
	}
	pthread_mutex_unlock(&pool->lock);
	return r;
}

void hy_pool_remove(struct hy_parallel *p)
{
	struct hy_pool *pool = p->pool;

	pthread_mutex_lock(&pool->lock);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	if (!pool->all)
		pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- make and free -------------------------------------------------------------- */

static void pool_stop(struct hy_pool *pool, unsigned int threads)
{
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(pool->threads[i], NULL);
}

/* Signals are for the program's own threads. */
static int start_threads(struct hy_pool *pool)
{
	sigset_t all, before;
	unsigned int i;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (i = 0; i < pool->count && !r; i++)
		r = pthread_create(&pool->threads[i], NULL, pool_thread, pool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		pool_stop(pool, i - 1);
	return -r;
}

struct hyphae_pool *hyphae_pool_new(unsigned int threads)
{
	struct hy_pool *pool = NULL;
	int r = -EINVAL;

	if (!threads || threads > HYPHAE_POOL_THREADS_MAX)
		goto failed;
	r = -ENOMEM;
	pool = hy_zalloc(sizeof(*pool) + threads * sizeof(pthread_t));
	if (!pool)
		goto failed;
	r = hy_flow_init(&pool->flow, HY_FLOW_POOL, pool_free);
	if (r) {
		hy_free(pool);
		goto failed;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pool->queue_end = &pool->queue;
	pool->count = threads;
	r = start_threads(pool);
	if (!r)
		return hy_flow_handle(&pool->flow);
	hy_flow_retire(&pool->flow);
	hy_flow_put(&pool->flow);
failed:
	errno = -r;
	return NULL;
}

/* One of its subscriptions that was not told yet, with a reference, or NULL. */
static struct hy_parallel *take_one(struct hy_pool *pool,
				    struct hy_parallel **done)
{
	struct hy_parallel *p;

	pthread_mutex_lock(&pool->lock);
	p = pool->all;
	if (p) {
		pool->all = p->next;
		if (p->next)
			p->next->link = &pool->all;
		p->next = *done;
		p->link = done;
		if (p->next)
			p->next->link = &p->next;
		*done = p;
		hy_flow_ref(&p->flow);
	}
	pthread_mutex_unlock(&pool->lock);
	return p;
}

static void cancel_all(struct hy_pool *pool)
{
	struct hy_parallel *p, *done = NULL;

	while ((p = take_one(pool, &done))) {
		hy_parallel_cancel(p, -ECANCELED);
		hy_flow_put(&p->flow);
	}
	pthread_mutex_lock(&pool->lock);
	pool->all = done;
	if (done)
		done->link = &pool->all;
	pthread_mutex_unlock(&pool->lock);
}

int hyphae_pool_free(struct hyphae_pool *handle)
{
	struct hy_pool *pool;
	int r;

	if (!handle)
		return 0;
	pool = hy_pool_get(handle, &r);
	if (!pool)
		return r;
	if (pool_of_thread == pool) {
		r = -EDEADLK;
	} else if (!hy_flow_retire(&pool->flow)) {
		r = -ESTALE;
	} else {
		pthread_mutex_lock(&pool->lock);
		pool->closing = true;
		pthread_mutex_unlock(&pool->lock);
		cancel_all(pool);
		pool_stop(pool, pool->count);
		hy_flow_put(&pool->flow); /* of the handle */
	}
	hy_flow_put(&pool->flow);
	return r;
}

int hyphae_pool_on_problem(struct hyphae_pool *handle, hyphae_problem_fn fn,
			   void *ctx)
{
	int r;
	struct hy_pool *pool = hy_pool_get(handle, &r);

	if (!pool)
		return r;
	pthread_mutex_lock(&pool->lock);
	pool->on_problem = fn;
	pool->problem_ctx = ctx;
	pthread_mutex_unlock(&pool->lock);
	hy_flow_put(&pool->flow);
	return 0;
}
