/* SPDX-License-Identifier: MIT */
/*
 * Timers, for operators: embedded in the state of who wants to be woken.
 *
 * A graph keeps its timers in a heap of its own, under its own lock.  The
 * clock has a heap of the graphs that follow it, each standing where its
 * earliest timer stands; that one is under the clock's lock.
 *
 * Lock order: a graph's lock, then its clock's.  Who runs a clock looks for
 * the next graph under the clock's lock and pins it, so that it is not freed,
 * lets go, locks the graph, and looks again.
 */
#ifndef HY_TIMER_H
#define HY_TIMER_H

#include "core/derive.h"
#include "core/sync.h"
#include "time/heap.h"

/*
 * Zeroed memory with `fire` set is a disarmed timer; it must be disarmed when
 * its memory goes.  `fire` is called on the thread that runs the clock, with
 * the graph's lock held, when the timer is disarmed already.  It may arm it
 * again, which does not fail there if the lock was not let go of before.
 *
 * What `fire` queued (hy_wake()) is propagated after it has returned: each
 * timer is a pass and a wave of its own.  If another thread propagates, that
 * one takes it along.
 */
struct hy_timer {
	uint64_t due;
	uint64_t seq; /* given anew at each arming */
	size_t at;    /* place in the heap from 1; 0: disarmed */
	struct hy_graph *graph;
	bool reserved;
	void (*fire)(struct hy_graph *g, struct hy_timer *t);
};

/*
 * All of these with the graph's lock held.
 *
 * Arm, or move: 0, or -ENOMEM and it is as it was; -ESTALE while the graph is
 * being freed.  Timers that are due at the same time fire in the order in
 * which they were armed; arming again counts as new, so a timer that is moved,
 * or fires periodically, goes behind those that were armed for the same time
 * before.  Moving an armed timer cannot fail.
 */
int hy_timer_arm(struct hy_graph *g, struct hy_timer *t, uint64_t due_ns);
/* Disarmed already: nothing. */
void hy_timer_disarm(struct hy_graph *g, struct hy_timer *t);

/*
 * Have a place in the heap for the timer as long as it exists, so that arming
 * it never fails (but for -ESTALE): false without memory.  It is given back,
 * and the timer disarmed, before its memory goes.
 */
bool hy_timer_reserve(struct hy_graph *g, struct hy_timer *t);
void hy_timer_release(struct hy_graph *g, struct hy_timer *t);

/* The time of the graph's clock. */
uint64_t hy_now(struct hy_graph *g);

/* now + delay, at most UINT64_MAX: the end of time. */
static inline uint64_t hy_after(uint64_t now, uint64_t delay_ns)
{
	return delay_ns > UINT64_MAX - now ? UINT64_MAX : now + delay_ns;
}

static inline bool hy_timer_armed(const struct hy_timer *t)
{
	return t->at != 0;
}

/* How many are armed. */
size_t hy_timer_count(const struct hy_graph *g);

#endif
