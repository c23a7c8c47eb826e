/* SPDX-License-Identifier: MIT */
/*
 * Tracked runs: what a function reads becomes what its cell follows.
 *
 * While one runs on a thread, hyphae_cell_get() of a cell of its graph notes
 * the cell.  The reads of a run are mostly those of the run before, in the same
 * order: as long as they are, nothing is written but a position.
 */
#ifndef HY_TRACK_H
#define HY_TRACK_H

#include "core/sync.h"

struct hy_tracker {
	struct hy_tracker *outer; /* suspended meanwhile */
	struct hy_graph *graph;
	struct hy_derived *d;
	/*
	 * Reads that are the inputs of the last run so far, in order: that many
	 * of those `expected`.  From there on they lie in graph->reads, held,
	 * behind those of the runs that this one is in.
	 */
	const struct hy_edge *edges;
	uint32_t matched, expected;
	size_t from;
	uint32_t nextra;
	uint32_t in_set; /* so many of all of them are in graph->read_set, */
	uint64_t epoch;	 /* with that */
	/* Two that were noted and read again, which functions often do more. */
	const struct hy_cell *again[2];
	uint32_t untracked; /* hyphae_untracked_begin() */
	bool no_memory;
	bool unsettled; /* read something that was yet to be computed */
	bool idle;	/* read something that was idle, and still is */
};

/* Has there ever been a cell that tracks?  Then reading has to look here. */
extern bool hy_tracking __attribute__((visibility("hidden")));

static inline bool hy_tracked(void)
{
	return unlikely(load_relaxed(&hy_tracking)) && hy_self.tracker;
}

/* Is what this thread reads of the graph noted? */
static inline bool hy_tracks(const struct hy_graph *g)
{
	const struct hy_tracker *t = hy_self.tracker;

	return t && t->graph == g && !t->untracked;
}

/* From here to the end this thread's reads are those of `t`. */
void hy_track_begin(struct hy_tracker *t, struct hy_graph *g,
		    struct hy_derived *d);
void hy_track_end(struct hy_tracker *t);

/* The reads that were not expected. */
static inline struct hy_cell **hy_track_extra(const struct hy_tracker *t)
{
	return t->graph->reads.cells + t->from;
}

/* What was read is what was read the last time, and all of it has settled. */
static inline bool hy_track_same(const struct hy_tracker *t)
{
	return !t->nextra && t->matched == t->d->fan_in->count &&
	       !t->no_memory && !t->idle;
}

/* Let go of them: the run is seen to. */
void hy_track_forget(struct hy_tracker *t);

/*
 * After the run: follow what was read.  0, -ELOOP as hy_relink(), or -ENOMEM:
 * some are not followed.
 */
int hy_track_follow(struct hy_tracker *t, bool *ret_raised);

/*
 * Functions of other cells that are called inside a tracked run are none of
 * its business.
 */
static inline struct hy_tracker *hy_track_suspend(void)
{
	struct hy_tracker *t = hy_self.tracker;

	if (unlikely(t != NULL))
		hy_self.tracker = NULL;
	return t;
}

static inline void hy_track_resume(struct hy_tracker *t)
{
	if (unlikely(t != NULL))
		hy_self.tracker = t;
}

/*
 * In a tracked run: the cell is read, and it is the next input of the last run,
 * or one that was noted already.  Both have been settled: the former lies
 * lower, or was seen to before this run began.
 */
static inline bool hy_track_expected(struct hy_tracker *t,
				     const struct hy_cell *c)
{
	if (t->matched == t->expected || t->edges[t->matched].input != c ||
	    t->untracked || load_relaxed(&c->flags) & F_QUEUED)
		return c == t->again[0] || c == t->again[1];
	t->matched++;
	return true;
}

/*
 * In a tracked run: note that the cell is read, if that needs neither the lock
 * nor a computation.  False: it does; nothing was noted.
 */
bool hy_track_quickly(struct hy_tracker *t, struct hy_cell *c);

/*
 * The thread is about to read the cell: note it, and have it settle first if
 * the wave has not come to it yet.  With the graph's lock.
 */
void hy_track_read(struct hy_graph *g, struct hy_cell *c);

#endif
