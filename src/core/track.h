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

enum hy_track_marks {
	TRACK_NO_MEMORY = 1,
	TRACK_UNSETTLED = 2, /* read something that was yet to be computed */
	TRACK_IDLE = 4,	     /* read something that was idle, and still is */
	TRACK_UNTRACKED = 8, /* hyphae_untracked_begin() */
};

struct hy_tracker {
	struct hy_tracker *outer; /* suspended meanwhile */
	struct hy_graph *graph;
	struct hy_derived *d;
	/*
	 * Reads that are the inputs of the last run so far, in order: the
	 * edges up to `next`, which is expected now unless it is the end.
	 * From there on, `nextra` of them, they lie in graph->reads, held,
	 * behind those of the runs that this one is in.
	 */
	const struct hy_edge *next, *end;
	union {
		uint64_t unusual; /* 0 until there is more to it than that */
		struct {
			uint32_t nextra;
			uint32_t marks; /* TRACK_... */
		};
	};
	uint32_t untracked; /* how many of these are open */
	uint32_t in_set;    /* so many of all reads are in graph->read_set, */
	/* Two that were noted and read again, which functions often do more. */
	const struct hy_cell *again[2];
	/* Set when they are needed: */
	size_t from;			 /* where in graph->reads */
	const struct hy_edge *end_after; /* what is untracked */
	uint64_t epoch;			 /* of graph->read_set */
};

static inline bool hy_tracked(void)
{
	return unlikely(hy_self.tracker != NULL);
}

/* Is what this thread reads of the graph noted? */
static inline bool hy_tracks(const struct hy_graph *g)
{
	const struct hy_tracker *t = hy_self.tracker;

	return t && t->graph == g && !t->untracked;
}

/* From here to the end this thread's reads are those of `t`. */
static inline void hy_track_begin(struct hy_tracker *t, struct hy_graph *g,
				  struct hy_derived *d)
{
	const struct hy_fan_in *in = d->fan_in;

	t->outer = hy_self.tracker;
	t->graph = g;
	t->d = d;
	t->next = in->edges;
	t->end = in->edges + in->count;
	t->again[0] = t->again[1] = NULL;
	t->unusual = 0;
	t->in_set = t->untracked = 0;
	hy_self.tracker = t;
}

static inline void hy_track_end(const struct hy_tracker *t)
{
	hy_self.tracker = t->outer;
}

/* What was read is what was read the last time, and all of it has settled. */
static inline bool hy_track_same(const struct hy_tracker *t)
{
	return t->next == t->end && !t->unusual;
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
				     const struct hy_cell *c, uint32_t flags)
{
	if (unlikely(t->next == t->end || t->next->input != c ||
		     flags & F_QUEUED))
		return c == t->again[0] || c == t->again[1];
	t->next++;
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
