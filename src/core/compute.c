/* SPDX-License-Identifier: MIT */
/* Derived cells, each computed once; and a wave, which is one call. */
#include "core/derive.h"
#include "core/fanout.h"
#include "core/probe.h"
#include "core/release.h"
#include "core/watch.h"
#include "core/wave.h"

/* The first input whose error stands in the way: failed for good, or not. */
static struct hy_cell *blocking_input(struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	struct hy_cell *found = NULL;

	for (uint32_t i = 0; i < hy_inputs(d); i++) {
		struct hy_cell *input = edges[i].input;

		if (input->flags & F_FAILED)
			return input;
		if (!found && input->flags & F_ERROR)
			found = input;
	}
	return found;
}

static bool inputs_have_values(struct hy_derived *d)
{
	return d->cell.flags & F_NARY ? !d->fan_in->without
				      : !(d->one.input->flags & F_NO_VALUE);
}

static bool inputs_ended(struct hy_derived *d)
{
	return d->cell.flags & F_NARY ? d->fan_in->ended == d->fan_in->count
				      : (d->one.input->flags & F_ENDED) != 0;
}

/*
 * The first time another thread may propagate, and the error be over by now:
 * then the cell is computed again.
 */
void hy_pass_error(struct hy_graph *g, struct hy_derived *d, uint32_t i)
{
	if (hy_holds_error(d, i))
		hy_inherit_error(g, &d->cell, d->fan_in->edges[i].input);
}

/* ---- one call of `run` ----------------------------------------------------- */

/* The result of a computation that has to be looked at. */
struct result {
	int outcome;
	bool wrote; /* a value was compared and perhaps stored */
};

static bool made_value(int outcome)
{
	return outcome >= 0 && !(outcome & HY_KEEP);
}

/* The word that `run` makes; of a boxed type a box with a reference. */
static NOINLINE int run_boxed(struct hy_graph *g, struct hy_derived *d,
			      uint64_t *ret_word)
{
	struct hy_cell *c = &d->cell;
	struct hy_box *box;
	int r;

	if (d->op->flags & OP_SHARES) {
		r = d->op->run(g, d, ret_word);
		if (made_value(r) && !(d->op->flags & OP_GIVES))
			hy_box_ref(hy_box_of(*ret_word));
		return r;
	}
	box = hy_box_take(c);
	if (!box)
		return -ENOMEM;
	r = d->op->run(g, d, box->payload);
	if (made_value(r))
		*ret_word = (uintptr_t)box;
	else
		hy_box_spare(c, box);
	return r;
}

static ALWAYS_INLINE int run(struct hy_graph *g, struct hy_derived *d,
			     uint64_t *ret_word)
{
	int r;

	*ret_word = 0;
	if (unlikely(d->cell.flags & F_BOXED))
		r = run_boxed(g, d, ret_word);
	else
		r = d->op->run(g, d, ret_word);
	if (d->cell.flags & F_SIGNALS &&
	    !(d->op->flags & (OP_KEEPS | OP_BLIND)))
		hy_news_clear(d);
	return r;
}

static void end_with_inputs(struct hy_graph *g, struct hy_derived *d)
{
	hy_flags_set(&d->cell, F_COMPLETE | F_END_NEWS, 0);
	hy_unlink_inputs(g, d);
}

void hy_more(struct hy_graph *g, struct hy_derived *d)
{
	/* One that is dead has no count of references, see next_dead. */
	if (d->cell.flags & (F_MORE | F_DEAD))
		return;
	hy_flags_set(&d->cell, F_MORE, 0);
	hy_list_add(&g->more, &d->cell);
	g->left = true;
}

/* What `run` told, beside a value. */
static inline void follow_outcome(struct hy_graph *g, struct hy_derived *d,
				  int outcome)
{
	struct hy_cell *c = &d->cell;
	bool ends = outcome > 0 && outcome & HY_END;

	/* It ends by what it tells, and made a value: most of those that track. */
	if (likely(outcome == HY_VALUE &&
		   (c->flags & (F_SIGNALS | F_FAILED)) == F_SIGNALS))
		return;
	if (unlikely(outcome < 0))
		hy_set_failure(g, c, outcome);
	if (c->flags & F_FAILED)
		hy_unlink_inputs(g, d);
	else if (ends || (!(c->flags & F_SIGNALS) && inputs_ended(d)))
		end_with_inputs(g, d);
	else if (outcome > 0 && outcome & HY_MORE)
		hy_more(g, d);
}

/* An event that was touched by no more than an end does not repeat itself. */
static void follow_error(struct hy_graph *g, struct hy_derived *d, bool touched)
{
	struct hy_cell *c = &d->cell;
	struct hy_cell *bad = blocking_input(d);

	if (bad && (touched || !(c->flags & F_EVENT) || bad->flags & F_FAILED))
		hy_inherit_error(g, c, bad);
	else if (!bad && c->flags & F_ERROR && touched)
		hy_set_none(c);
}

/* No function runs: an input has no value, or did nothing but end. */
static NOINLINE bool follow(struct hy_graph *g, struct hy_derived *d,
			    bool touched)
{
	struct hy_cell *c = &d->cell;
	uint32_t told = touched ? 0 : c->flags & F_NEWS;

	if (c->flags & (F_DEAD | F_ENDED | F_IDLE | F_SIGNALS))
		return false;
	if (!inputs_have_values(d))
		follow_error(g, d, touched);
	if (c->flags & F_FAILED)
		hy_unlink_inputs(g, d);
	else if (inputs_ended(d))
		end_with_inputs(g, d);
	return (c->flags & F_NEWS) != told;
}

static ALWAYS_INLINE struct result compute_any(struct hy_graph *g,
					       struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct result result = {0, false};
	struct hy_run here = {c, g->runs};
	uint64_t word;

	g->runs = &here;
	result.outcome = run(g, d, &word);
	g->runs = here.outer;
	if (unlikely(c->flags & F_DEAD)) { /* released in its own function */
		if (c->flags & F_BOXED && made_value(result.outcome))
			hy_box_put(g, c->type, hy_box_of(word));
		return result;
	}
	result.wrote = made_value(result.outcome);
	if (result.wrote && hy_write_value(g, c, word, c->type).changed)
		hy_flags_set(c, F_VALUE_NEW, 0);
	follow_outcome(g, d, result.outcome);
	return result;
}

static NOINLINE void compute_watched(struct hy_graph *g, struct hy_derived *d)
{
	uint64_t start = hy_clock_last(g);
	struct result result = compute_any(g, d);
	int told = result.outcome < 0 ? hy_failure_code(result.outcome)
				      : result.outcome & HY_KEEP;

	hy_watch_compute(g, d, start, hy_clock_since(g, start), told,
			 result.wrote, d->cell.flags & F_VALUE_NEW);
}

static bool has_news(const struct hy_cell *c)
{
	return (c->flags & F_NEWS) && !(c->flags & F_DEAD);
}

/* Somebody watches, or the cell is not of the plain kind. */
static NOINLINE bool compute_slowly(struct hy_graph *g, struct hy_derived *d)
{
	/* A tracked function may run twice in a wave; subscribers wait yet. */
	bool fired = d->cell.flags & F_NEWS && d->cell.subs;

	if (hy_watched())
		compute_watched(g, d);
	else
		compute_any(g, d);
	if (likely(!fired))
		return has_news(&d->cell);
	if (has_news(&d->cell))
		hy_spread(g, &d->cell);
	return false;
}

/* The function did not just make a value, or the cell was released in it. */
static NOINLINE bool kept(struct hy_graph *g, struct hy_derived *d, int outcome,
			  uint64_t word)
{
	struct hy_cell *c = &d->cell;

	if (c->flags & F_DEAD)
		return false;
	if (made_value(outcome) && hy_write_value(g, c, word, c->type).changed)
		hy_flags_set(c, F_VALUE_NEW, 0);
	follow_outcome(g, d, outcome);
	return has_news(c);
}

/* The same of a function that was called directly. */
static NOINLINE bool kept_directly(struct hy_graph *g, struct hy_derived *d,
				   int r, uint64_t word)
{
	return kept(g, d, d->op == &hy_op_map ? hy_plain_result(r) : r, word);
}

/* Its function runs if it was touched by a value and nothing is in the way. */
#define F_RUNS (F_DEAD | F_ENDED | F_BLOCKED | F_VALUE_TOUCH)
/* And there is nothing else to it. */
#define F_PLAINLY (F_RUNS | F_BOXED | F_INPUT_ENDED | F_SIGNALS)

/* Or whatever it is touched by. */
static bool must_run(const struct hy_op *op, uint32_t flags)
{
	if ((flags & F_RUNS) == F_VALUE_TOUCH)
		return true;
	if (op->flags & OP_SEES)
		return (flags & (F_RUNS | F_IDLE) & ~(uint32_t)F_BLOCKED) ==
		       F_VALUE_TOUCH;
	return (flags & (F_SIGNALS | F_DEAD | F_ENDED | F_IDLE |
			 F_VALUE_TOUCH)) == (F_SIGNALS | F_VALUE_TOUCH);
}

/*
 * A tracked function that makes a word, if subscribers do not wait for what it
 * made before in this wave.  It must run.
 */
static inline bool tracks_plainly(const struct hy_op *op, uint32_t flags)
{
	return (flags & (F_SIGNALS | F_DEAD | F_ENDED | F_IDLE | F_BOXED |
			 F_NEWS | F_VALUE_TOUCH)) ==
		       (F_SIGNALS | F_VALUE_TOUCH) &&
	       op->flags & OP_BLIND;
}

static NOINLINE int run_tracked(struct hy_graph *g, struct hy_derived *d,
				uint64_t *ret_word)
{
	struct hy_run here = {&d->cell, g->runs};
	int r;

	g->runs = &here;
	r = d->op->run(g, d, ret_word);
	g->runs = here.outer;
	return r;
}

/* An effect's cell counts as long as what its function read can change. */
static inline bool counts_on(const struct hy_derived *d, const struct hy_op *op)
{
	return op->flags & OP_COUNTS && likely(!d->fan_in->again);
}

/* What hy_run_map() does in a graph that has a lock. */
static inline int run_map_locked(struct hy_graph *g, struct hy_derived *d,
				 uint64_t *ret_word)
{
	hyphae_map_fn fn = (hyphae_map_fn)d->fn;
	const void *input = hy_value_of(d->one.input);
	int r;

	hy_lock_leave(&g->lock);
	r = fn(ret_word, input, d->ctx);
	hy_lock_enter(&g->lock);
	return likely(!r) ? HY_VALUE : hy_plain_result(r);
}

/* Not what hy_compute() calls directly. */
static inline int run_other(struct hy_graph *g, struct hy_derived *d,
			    uint64_t *ret_word)
{
	const struct hy_op *op = d->op;

	if (op == &hy_op_map_boxed)
		return hy_run_map(g, d, ret_word);
	if (op->flags & OP_BLIND)
		return run_tracked(g, d, ret_word);
	return op->run(g, d, ret_word);
}

static inline uint32_t take_marks(struct hy_cell *c, uint32_t marks)
{
	uint32_t flags = c->flags;

	store_relaxed(&c->flags, flags & ~marks);
	return flags;
}

/*
 * `direct` of map where operators are quick; else what none has, nor when the
 * distance from map to combine is added.
 */
enum { QUICK = HY_DIRECT_MAP, QUICK_NONE, QUICK_SLOWLY };
#define TO_COMBINE (HY_DIRECT_COMBINE - HY_DIRECT_MAP)

/* Those whose function may be called without a look at locks. */
static inline uint32_t quick_of(const struct hy_graph *g)
{
	return hy_shared(g) ? QUICK_NONE : QUICK;
}

/* The only target of the cell is a derived one, and nothing else waits. */
static inline bool goes_straight(const struct hy_graph *g,
				 const struct hy_cell *c)
{
	return likely(c->targets == 1) && likely(!hy_queue_used(&g->queue));
}

/*
 * Nothing waits, and with the only subscriber of this cell the wave ends.  That
 * it has news need not be noted where that one is about to be told.
 */
static inline bool is_last(const struct hy_graph *g, const struct hy_cell *c)
{
	return likely(c->targets == 1) && likely(c->subs) &&
	       likely(!g->nfired && !g->again.count) &&
	       likely(!(c->flags &
			(F_SLOW_SPREAD | F_NEWS | F_UNSPREAD | F_GATHERED)));
}

/*
 * Who follows by this edge.  Mostly a cell of one input, whose edge lies in it:
 * the processor may go on with that while it still waits for `owner`.
 */
static inline struct hy_derived *owner_soon(const struct hy_edge *e)
{
	if (unlikely(e->owner != container_of(e, struct hy_derived, one)))
		return e->owner;
	/* Or the compiler waits for what it knows to be the same. */
	__asm__("" : "+r"(e));
	return container_of(e, struct hy_derived, one);
}

/* What waits first; NULL: nothing, also of what was left to link again. */
static ALWAYS_INLINE struct hy_derived *take_next(struct hy_graph *g,
						  uint32_t *ret_flags)
{
	struct hy_derived *d = hy_queue_pop(&g->queue);

	if (unlikely(!d) && unlikely(g->again.count) && hy_link_again(g))
		d = hy_queue_pop(&g->queue);
	if (likely(d))
		*ret_flags = take_marks(&d->cell, F_QUEUED | F_VALUE_TOUCH);
	return d;
}

static NOINLINE void fire(struct hy_graph *g, struct hy_cell *c)
{
	hy_fire(g, c);
}

/* All cells have settled: subscribers are told. */
static inline void end_wave(struct hy_graph *g, struct hy_graph *saved)
{
	hy_stretch_end(g, saved);
	if (likely(g->nfired == 1))
		hy_deliver_one(g);
	else if (g->nfired)
		hy_deliver(g);
}

/*
 * The hot loop: a cell is computed; if it changed, its fan-out queues what
 * follows; and the next one.
 *
 *	queue -> take_marks -> compute -> write_value -> fanout -> queue
 *	                          ^                        |
 *	                          '-- the only one to do --'
 *
 * While nobody looks, a cell of the plain kind (a word, all inputs have a
 * value) goes straight down, and back to `plain` with the only one.  `quick` is
 * QUICK_SLOWLY for as long as it takes to come to a cell that is not, and for a
 * cell that is computed alone, so that the others need no test for it.
 *
 * A wave is one call, subscribers included: a call and its return take longer
 * than what it would be divided into.
 */
HY_FRAME bool hy_compute(struct hy_graph *g, struct hy_cell *c, enum hy_how how)
{
	struct hy_derived *d = hy_derived_of(c);
	struct hy_graph *saved = NULL;
	uint32_t quick = quick_of(g), flags;
	uint64_t word;
	bool news;
	struct hy_written w;
	const struct hy_op *op;
	int r;

	if (likely(how >= HY_ON)) {
		saved = hy_stretch_begin(g, true);
		if (!c)
			goto next;
	} else {
		quick = QUICK_SLOWLY; /* the others need not ask for `how` */
	}
	if (likely(how == HY_FIRE)) {
		w.first = c->deps;
		if (likely(w.first) && goes_straight(g, c) &&
		    likely(!(c->flags & (F_SLOW_SPREAD | F_NEWS))))
			goto straight;
		hy_fire(g, c);
		goto next;
	}
	flags = take_marks(c, how == HY_EARLY ? F_VALUE_TOUCH
					      : F_QUEUED | F_VALUE_TOUCH);
	for (;;) {
		if (unlikely((flags & F_PLAINLY) != F_VALUE_TOUCH)) {
unusual:
			if (tracks_plainly(d->op, flags))
				goto plain;
			if (!must_run(d->op, flags)) {
				news = follow(g, d, flags & F_VALUE_TOUCH);
				goto done;
			}
			quick = QUICK_SLOWLY;
		}
plain:
		HY_FRAME_END();
		c = &d->cell;
		op = d->op;
		hy_probe_compute(g, c, op);
		if (hy_watched())
			goto slowly;
		word = 0;
		if (likely(op->direct == quick)) {
			r = ((hyphae_map_fn)d->fn)(&word, &d->one.input->word,
						   d->ctx);
			if (unlikely(r)) {
				news = kept_directly(g, d, r, word);
				goto done;
			}
		} else if (load_relaxed(&op->direct) == quick + TO_COMBINE) {
			r = ((hyphae_combine_fn)d->fn)(
				&word, d->values, d->fan_in->count, d->ctx);
			if (unlikely(r)) {
				news = kept(g, d, hy_plain_result(r), word);
				goto done;
			}
		} else {
			if (quick == QUICK_SLOWLY) {
slowly:
				if (likely(how >= HY_ON))
					quick = quick_of(g);
				news = compute_slowly(g, d);
				goto done;
			}
			if (likely(op == &hy_op_map)) {
				r = run_map_locked(g, d, &word);
			} else if (op == &hy_op_combine) {
				r = hy_run_combine(g, d, &word);
			} else if (counts_on(d, op)) {
				word = c->word + 1;
				goto write;
			} else {
				r = run_other(g, d, &word);
			}
			if (unlikely(r != HY_VALUE)) {
				news = kept(g, d, r, word);
				goto done;
			}
		}
write:
		w = hy_write_value(g, c, word, c->type);
		if (likely(w.first) && likely(goes_straight(g, c))) {
straight:
			__asm__("" : "+r"(c));
			d = owner_soon(w.first);
			hy_fanout(g, c, NULL, hy_unread(), c->height, c->type);
			if (likely(!(d->cell.flags &
				     (F_PLAINLY & ~(uint32_t)F_VALUE_TOUCH))))
				goto plain;
			HY_FRAME_END();
			flags = d->cell.flags | F_VALUE_TOUCH;
			goto unusual;
		}
		/* Several follow, or it has to take its turn. */
		if (likely(w.first) && likely(!c->subs)) {
			hy_fanout(g, c, w.first, hy_unread(), c->height,
				  c->type);
			goto next;
		}
		if (unlikely(!w.changed))
			goto next;
		if (unlikely(!hy_queue_used(&g->queue)) && is_last(g, c)) {
			hy_stretch_end(g, saved);
			hy_fanout_subs(g, c, c->height, c->subs, c->subs->prev);
			HY_FRAME_END();
			return false;
		}
		hy_fire(g, c);
		goto next;
done:
		if (unlikely(how < HY_ON)) {
			HY_FRAME_END();
			return news;
		}
		if (news)
			fire(g, &d->cell);
next:
		d = take_next(g, &flags);
		if (unlikely(!d))
			break;
	}
	end_wave(g, saved);
	HY_FRAME_END();
	return false;
}

/* ---- the first computation ---------------------------------------------- */

/* Nobody knows the cell yet: nothing is compared or told. */
static void hold_first(struct hy_cell *c, uint64_t word)
{
	store_relaxed(&c->word, word); /* but perhaps by a stale handle */
	hy_flags_set(c, 0, F_NONE);
}

/* What an event has said is over. */
static bool inputs_hold_values(struct hy_derived *d)
{
	if (!(d->cell.flags & F_NARY) && d->one.input->flags & F_EVENT)
		return false;
	return inputs_have_values(d);
}

static void first_by_inputs(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *bad = blocking_input(d);

	if (bad)
		hy_inherit_error(g, &d->cell, bad);
}

void hy_first_outcome(struct hy_graph *g, struct hy_derived *d, int outcome,
		      uint64_t word)
{
	struct hy_cell *c = &d->cell;

	if (made_value(outcome))
		hold_first(c, word);
	if (outcome < 0)
		hy_set_failure(g, c, outcome);
	if (!(c->flags & F_FAILED) &&
	    ((outcome > 0 && outcome & HY_END) ||
	     (!(c->flags & F_SIGNALS) && inputs_ended(d))))
		hy_flags_set(c, F_COMPLETE, 0);
	hy_flags_set(c, 0, F_NEWS | F_TURNED | F_UNSPREAD);
}

int hy_compute_first(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_graph *saved;
	uint64_t word = 0;
	int r = HY_KEEP;

	if (!(d->cell.flags & F_SIGNALS) && !(d->op->flags & OP_SEES) &&
	    !inputs_hold_values(d)) {
		first_by_inputs(g, d);
	} else {
		saved = hy_stretch_begin(g, true);
		r = run(g, d, &word);
		hy_stretch_end(g, saved);
	}
	hy_first_outcome(g, d, r, word);
	return r;
}

void hy_outcome_first(struct hy_graph *g, struct hy_derived *d, int outcome)
{
	if (outcome > 0 && outcome & HY_MORE && !(d->cell.flags & F_ENDED))
		hy_more(g, d);
}
