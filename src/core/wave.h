/* SPDX-License-Identifier: MIT */
/*
 * Propagation.  A write runs, on the drainer's thread:
 *
 *	hy_notify       a source is told a signal
 *	  hy_write_value    compared, and if it differs stored
 *	  hy_compute        a wave: each touched cell once, lowest height first
 *	    hy_write_value
 *	    hy_fanout       a changed cell tells its targets: derived cells are
 *	                    queued at once; subscribers are called when all
 *	                    cells have settled, in order of subscription
 *
 * A cell with subscribers queues its derived cells when it changes, and fans
 * out later, when it calls its subscribers.  Each change is one fan-out.
 *
 * In an eager graph a bare write goes depth first instead: the same
 * functions, with a stack (`eager_run`).
 *
 * All of it is called by the drainer with the lock held.
 */
#ifndef HY_WAVE_H
#define HY_WAVE_H

#include "core/value.h"

/* Tell a source a signal; word is the value's or a struct hy_error *. */
int hy_notify(struct hy_graph *g, struct hy_cell *c, uint64_t word,
	      const struct hyphae_type *type, uint64_t kind);

/*
 * Compare and store; takes the word.  Tells whether the cell changed, 1 or 0;
 * one that is dead does not.
 * F_VALUE_NEW is set if the cell is not of the plain kind.  Of the plain kind
 * it has no other news: who lets it wait for its subscribers sets it.
 */
struct hy_written {
	uint64_t changed;
	/* Changed, and of the plain kind: c->deps; else NULL. */
	struct hy_edge *first;
};
struct hy_written hy_write_value(struct hy_graph *g, struct hy_cell *c,
				 uint64_t word, const struct hyphae_type *type);

/*
 * Compute a derived cell.  HY_ONE: returns whether it changed.  HY_EARLY: the
 * same, before its turn; it stays in the queue, where nothing is done when it
 * is come across unless it was touched again.
 * HY_ON: compute it (NULL: what the queue holds first), let it fire if it
 * changed, go on with what waits in the queue, and tell the subscribers: a wave.
 * HY_FIRE: a wave that begins with a source that has changed.
 */
enum hy_how { HY_ONE, HY_EARLY, HY_ON, HY_FIRE };
bool hy_compute(struct hy_graph *g, struct hy_cell *c, enum hy_how how);

/* It is in the queue, and not because it was computed early. */
static inline bool hy_waits(const struct hy_cell *c)
{
	return (c->flags & (F_QUEUED | F_VALUE_TOUCH)) ==
	       (F_QUEUED | F_VALUE_TOUCH);
}

/*
 * Fan out.  `whom`: c->deps: derived cells, which are queued; or subscribers,
 * from this one to `last`; or NULL: nobody, or somebody whom the caller sees
 * to.
 * Of subscribers, the result of the only one to call may be returned: it is the
 * caller then who sees to it (fanout.h, hy_fanout_to()).  That way nothing has
 * to be kept during the call.
 */
int hy_fanout(struct hy_graph *g, struct hy_cell *c, const void *whom,
	      const struct hy_sub *last, uint64_t height,
	      const struct hyphae_type *type);

/*
 * The whole of a log, as one wave (in an eager graph too), and one more for
 * the sources that were written and then failed.
 */
void hy_flush(struct hy_graph *g, struct hy_log *log);
/*
 * The same of what a bare log held, but that what operators have left to say
 * (graph->more) is the caller's.
 */
void hy_flush_wave(struct hy_graph *g, const struct hy_bare *at,
		   const struct hy_bare *end);

static inline void hy_flush_bare(struct hy_graph *g, const struct hy_bare *at,
				 const struct hy_bare *end)
{
	struct hy_cell *c;

	if (unlikely(at + 1 != end || g->flags & HYPHAE_EAGER)) {
		hy_flush_wave(g, at, end);
		return;
	}
	/* No more than a set. */
	c = at->cell;
	hy_flags_set(c, 0, F_PENDING);
	hy_notify(g, c, at->word, c->type, HYPHAE_VALUE);
}

/* Hold an error instead of a value (takes it); terminal: for good. */
void hy_set_error(struct hy_graph *g, struct hy_cell *c, struct hy_error *error,
		  bool terminal);

/*
 * The error that a function meant by its negative result, or that of an
 * input; an equal one is no change.  hy_set_end(): for good.
 */
void hy_set_failure(struct hy_graph *g, struct hy_cell *c, int result);
void hy_set_end(struct hy_graph *g, struct hy_cell *c, int result);
void hy_inherit_error(struct hy_graph *g, struct hy_cell *c,
		      struct hy_cell *input);
/* The same of an error that was kept (takes it). */
void hy_hold_error(struct hy_graph *g, struct hy_cell *c,
		   struct hy_error *error);

/* The cell depends on itself: it holds -ELOOP, and the problem is told. */
void hy_cycle_found(struct hy_graph *g, struct hy_cell *c);

/* The error has gone, and an input never had a value: nor has this cell. */
void hy_set_none(struct hy_cell *c);

/* A source completes, or fails with the error in `word`. */
void hy_end_source(struct hy_graph *g, struct hy_cell *c, uint64_t kind,
		   uint64_t word);

/*
 * The first computation of a new cell, from the inputs that it is shown
 * (derive.c): no probes, nothing is told.
 */
int hy_compute_first(struct hy_graph *g, struct hy_derived *d);

/* It has run: hold what that told, and the word that it made. */
void hy_first_outcome(struct hy_graph *g, struct hy_derived *d, int outcome,
		      uint64_t word);

/* The cell is there now: what its first `run` told beside a value. */
void hy_outcome_first(struct hy_graph *g, struct hy_derived *d, int outcome);

/* It has more to say: a wave after this one (I7: there is room). */
void hy_more(struct hy_graph *g, struct hy_derived *d);

/* A wave for the highest of the cells that have more to say (F_MORE). */
void hy_wave_more(struct hy_graph *g);

/*
 * Call one subscriber with one signal and see to what it returns.  False if
 * its own clean-up kept it from being told.
 */
bool hy_call(struct hy_graph *g, struct hy_sub *s,
	     const struct hyphae_signal *signal);

/* Run what is queued and tell whoever has to be told. */
void hy_wave(struct hy_graph *g);
/* The same, of an effect's cell, when nothing is queued. */
void hy_wave_of(struct hy_graph *g, struct hy_derived *d);

/*
 * Tell the graph's problem function and the `error` probe; of no cell in
 * particular if that is NULL.
 */
void hy_problem(struct hy_graph *g, struct hy_cell *c, int code,
		const char *message);

/* The signal for what the cell holds: its value or its error. */
static inline void hy_signal_init(struct hyphae_signal *signal,
				  const struct hy_cell *c)
{
	*signal = (struct hyphae_signal){
		.kind = HYPHAE_VALUE,
		.type = c->type,
		.value = hy_value_of(c),
		.message = "",
		.cell_id = c->id,
	};
}
void hy_signal_error(struct hyphae_signal *signal, const struct hy_cell *c);

#endif
