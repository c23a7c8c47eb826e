/* SPDX-License-Identifier: MIT */
/*
 * Pools: subscribers that run on threads of their own, several at a time.
 *
 * A parallel subscription has a bounded queue, into which the propagating
 * thread puts what the cell tells (values are shared, not copied), and is
 * served by any thread of its pool: its calls are serial and in order, and
 * calls of different subscriptions run at the same time.  Whoever sets the
 * cell never waits for them.  What finds no room is dropped by the policy and
 * counted; the terminal signal always has room and comes last: the end of the
 * cell, -EOVERFLOW (HYPHAE_OVERFLOW_FAIL), or -ECANCELED when the graph or the
 * pool was freed or the scope of the subscription was disposed.  Only who ends
 * a subscription himself (or returns HYPHAE_DETACH) is not told an end.
 *
 * Handles are counted and generation-checked as those of cells are: a stale
 * one is -ESTALE.  All functions may be called on any thread, and no lock is
 * held while fn, drop, the problem function or functions of types run.
 * Subscribing uses the cell's graph; ending does so for a shared graph, and
 * for a single-threaded one on the thread that subscribed (otherwise the
 * graph drops it with its next signal).
 */
#ifndef HYPHAE_POOL_H
#define HYPHAE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/graph.h>
#include <hyphae/overflow.h>
#include <hyphae/subscription.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_pool;
struct hyphae_parallel;

#define HYPHAE_POOL_THREADS_MAX 1024

/*
 * A pool of 1 to HYPHAE_POOL_THREADS_MAX threads, which block all signals.
 * NULL with errno EINVAL, ENOMEM, or EAGAIN: no more threads can be had.
 */
HYPHAE_API struct hyphae_pool *hyphae_pool_new(unsigned int threads);

/*
 * End all of its subscriptions, with -ECANCELED as the last signal, after what
 * is queued; wait until all of that was told, and for the threads to end.
 * NULL is allowed.  -EDEADLK on a thread of the pool: nothing was done.
 * -ESTALE: it was freed before.
 */
HYPHAE_API int hyphae_pool_free(struct hyphae_pool *pool);

/*
 * Have `fn` called with each negative errno that a subscriber returns, on that
 * subscriber's thread; several calls may run at the same time.  (The graph's
 * problem function is not told: nobody propagates by then.)  NULL: nobody.
 * 0, -EINVAL, -ESTALE.
 */
HYPHAE_API int hyphae_pool_on_problem(struct hyphae_pool *pool,
				      hyphae_problem_fn fn, void *ctx);

/* What is 0 is left out: room for 64, drop the oldest. */
struct hyphae_parallel_options {
	size_t capacity;	     /* items that wait; up to
					HYPHAE_CAPACITY_MAX */
	enum hyphae_overflow policy; /* not HYPHAE_OVERFLOW_BLOCK */
	unsigned int flags;	     /* HYPHAE_SKIP_INITIAL */
};

/*
 * Follow a cell on the pool's threads.  fn gets the signal as any subscriber
 * does, and returns 0, HYPHAE_DETACH, or a negative errno, which goes to the
 * pool's problem function; it is called again all the same.  What the cell
 * holds now is queued first, unless told otherwise.  fn may do anything,
 * including to set cells, to end subscriptions and to wait.
 *
 * drop(ctx), if given, is called once when the subscription is over and the
 * last call has returned, on a thread of the pool or that of whoever ended it.
 * `options` may be NULL and is borrowed.
 *
 * Returns a handle, which becomes stale when the subscription is over; it need
 * not be given back.  NULL with errno EINVAL, ESTALE or ENOMEM; then drop has
 * been called.
 */
HYPHAE_API struct hyphae_parallel *
hyphae_subscribe_parallel(struct hyphae_pool *pool, struct hyphae_cell *cell,
			  hyphae_subscriber_fn fn, void *ctx,
			  void (*drop)(void *ctx),
			  const struct hyphae_parallel_options *options);

/*
 * End it.  What is queued is given up; a call that is under way on another
 * thread may still finish after this returns.  NULL is allowed.
 * -ESTALE: it was over.
 */
HYPHAE_API int hyphae_unsubscribe_parallel(struct hyphae_parallel *parallel);

/*
 * The same, and wait until the call that is under way, if one is, has returned
 * and drop(ctx) too.  -EDEADLK inside that very call, or inside drop: it has
 * been ended, and will be over when the call has returned.  (Two subscribers
 * that wait for each other wait for ever.)
 */
HYPHAE_API int
hyphae_unsubscribe_parallel_wait(struct hyphae_parallel *parallel);

/* received == called + dropped + waiting; the end is not counted. */
struct hyphae_parallel_counts {
	uint64_t
		received; /* values and recoverable errors that the cell told */
	uint64_t called;  /* fn, with one of them */
	uint64_t dropped;
	uint64_t waiting;
};
/* -EINVAL; -ESTALE when the subscription is over. */
HYPHAE_API int
hyphae_parallel_counts(struct hyphae_parallel *parallel,
		       struct hyphae_parallel_counts *ret_counts);

#ifdef __cplusplus
}
#endif

#endif
