/* SPDX-License-Identifier: MIT */
/*
 * Who propagates.  A thread that writes to an idle graph becomes its drainer
 * and stays it until nothing is left to do: the waves of what subscribers
 * wrote, what other threads left in the inbox, and what died.
 */
#ifndef HY_DRAIN_H
#define HY_DRAIN_H

#include "core/probe.h"
#include "core/queue.h"
#include "core/slab.h"
#include "core/sync.h"
#include "core/watch.h"

/*
 * Hand-over.  A drainer that has run so many waves for other threads (at least
 * 1) is replaced by the next thread that leaves something for it: that one
 * waits until the wave under way is over and drains what there is, its own
 * write first.  If nobody comes the drainer goes on; nothing is stranded.
 *
 * Whoever waits so may be the one for whom a subscriber of that wave waits,
 * so it waits no longer than some milliseconds; then it leaves its write to
 * the drainer after all, which has as many waves before it again.
 *
 * Variables for tests.
 */
extern unsigned int hy_hand_over_waves, hy_hand_over_ms;

/*
 * The thread has left something to the drainer: become its heir, if it wants
 * one, and drain.  Returns what hy_drain_end() returns, or 0.
 */
int hy_take_over(struct hy_graph *g);

static inline void hy_drain_begin_shared(struct hy_graph *g)
{
	g->drainer = &hy_self.thread;
	hy_self.draining++;
}

/* Become the drainer; false if there is one.  The lock is held. */
static inline bool hy_drain_begin(struct hy_graph *g)
{
	if (hy_drained(g))
		return false;
	if (hy_shared(g)) {
		hy_drain_begin_shared(g);
	} else {
		g->busy |= BUSY_DRAINING;
	}
	return true;
}

static inline void hy_drain_left_shared(struct hy_graph *g,
					struct hy_thread *heir)
{
	g->drainer = heir;
	hy_self.draining--;
}

/* No longer: another thread is, or nobody. */
static inline void hy_drain_left(struct hy_graph *g, struct hy_thread *heir)
{
	if (hy_shared(g)) {
		hy_drain_left_shared(g, heir);
	} else {
		g->busy &= ~(uint32_t)BUSY_DRAINING;
	}
}

/* The graph goes: there is no other drainer after this. */
static inline void hy_drain_gone(struct hy_graph *g)
{
	hy_self.draining -= hy_shared(g);
}

/* Nothing at all is left to do for a drainer. */
static inline bool hy_drain_is_done(const struct hy_graph *g)
{
	return likely(!(g->left || hy_queue_used(&g->queue) || g->inbox.count ||
			load_acquire(&g->posts) || g->heir || g->waiters ||
			g->result));
}

/*
 * Stop being the drainer, if nothing at all is left to do: what hy_drain_end()
 * would do then.  It has served nobody: that only drain() does.
 */
static inline bool hy_drain_leave(struct hy_graph *g)
{
	if (!hy_drain_is_done(g))
		return false;
	g->hop = 0;
	g->pass_open = false;
	hy_drain_left(g, NULL);
	return true;
}

/*
 * The same in a graph of one thread that nobody drains (BUSY_SHARED and
 * BUSY_DRAINING are not set).  False: something is left to do.
 */
static inline void hy_drain_begin_alone(struct hy_graph *g)
{
	g->busy |= BUSY_DRAINING;
}

static inline bool hy_drain_leave_alone(struct hy_graph *g)
{
	if (unlikely(load_relaxed(&g->unfinished) || hy_queue_used(&g->queue) ||
		     g->result))
		return false;
	g->busy &= ~(uint32_t)BUSY_DRAINING;
	return true;
}

/* A pass begins, with the id of its batch, or 0 for a new one. */
static inline void hy_pass_open(struct hy_graph *g, uint64_t id)
{
	g->pass = id ? id : hy_pass_new(g);
	g->pass_open = true;
	if (hy_watched())
		hy_watch_pass_open(g);
}

/*
 * Do what is left and stop being the drainer.  Returns the first error of a
 * subscriber, or -ELOOP.  `waves`: how many this write has had so far.
 */
int hy_drain_end(struct hy_graph *g, unsigned int waves);

/* If nobody drains and something died, or was queued meanwhile: see to it. */
void hy_bury_now(struct hy_graph *g);

static inline void hy_bury(struct hy_graph *g)
{
	if (unlikely(g->left || hy_queue_used(&g->queue)))
		hy_bury_now(g);
}

/*
 * The way of every write that may not start a wave just so.  Takes the word
 * or error, also when it fails.
 */
int hy_write(struct hy_graph *g, const struct hyphae_cell *handle,
	     const struct hyphae_type *type, uint32_t what, uint64_t word,
	     struct hy_error *error);

/*
 * The same of a value in a thread-safe graph; and if nothing stands in the way
 * a wave of it, without a reference: what dies in a wave stays until its end.
 * Of the handle it gets what that has on top.
 */
int hy_set_shared(struct hy_graph *g, struct hy_cell *c, uintptr_t top,
		  const struct hyphae_type *type, uint64_t word);

/* Make `idle`: threads wait by the clock that nobody sets. */
void hy_idle_init(struct hy_graph *g);

/* Wait until a call of a subscriber is over, perhaps; as above. */
void hy_wait_call(struct hy_graph *g);

/* Wait until a drainer has left; the lock is let go of meanwhile. */
void hy_wait_idle(struct hy_graph *g);

/* This thread's open batch, or NULL.  Its log is not bare any more. */
struct hy_batch *hy_batch_of(struct hy_graph *g);

#endif
