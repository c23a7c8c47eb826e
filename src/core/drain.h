/* SPDX-License-Identifier: MIT */
/*
 * Who propagates.  A thread that writes to an idle graph becomes its drainer
 * and stays it until nothing is left to do: the waves of what subscribers
 * wrote, what other threads left in the inbox, and what died.
 */
#ifndef HY_DRAIN_H
#define HY_DRAIN_H

#include "core/probe.h"
#include "core/slab.h"
#include "core/sync.h"
#include "core/watch.h"

/*
 * How many waves a drainer runs for other threads before it looks for another
 * one; at least 1.  A variable for tests.
 */
extern unsigned int hy_hand_over_waves;

/* Become the drainer; false if there is one.  The lock is held. */
static inline bool hy_drain_begin(struct hy_graph *g)
{
	if (g->drainer)
		return false;
	g->drainer = hy_thread_of(g);
	hy_busy(g, BUSY_DRAINING, 0);
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
void hy_bury(struct hy_graph *g);

/*
 * The way of every write that may not start a wave just so.  Takes the word
 * or error, also when it fails.
 */
int hy_write(struct hy_graph *g, const struct hyphae_cell *handle,
	     const struct hyphae_type *type, uint32_t what, uint64_t word,
	     struct hy_error *error);

/* Wait until a drainer has left; the lock is let go of meanwhile. */
void hy_wait_idle(struct hy_graph *g);

/* The log of this thread's open batch, or NULL. */
struct hy_batch *hy_batch_of(struct hy_graph *g);

#endif
