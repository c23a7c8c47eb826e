/* SPDX-License-Identifier: MIT */
/* One derived cell, computed once. */
#include "core/derive.h"
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

/* The result of a computation that has to be looked at. */
struct result {
	int outcome;
	bool wrote; /* a value was compared and perhaps stored */
};

static NOINLINE struct result compute_boxed(struct hy_graph *g,
					    struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct hy_box *box;
	int r;

	if (d->op == &hy_op_filter) {
		r = d->op->run(g, d, NULL);
		box = hy_box_of(d->one.input->word);
		if (r == HY_VALUE)
			hy_box_ref(box);
	} else {
		box = hy_box_take(c);
		if (!box)
			return (struct result){-ENOMEM, false};
		r = d->op->run(g, d, box->payload);
		if (r != HY_VALUE)
			hy_box_spare(c, box);
	}
	if (r != HY_VALUE)
		return (struct result){r, false};
	if (c->flags & F_DEAD) { /* released in its own function */
		hy_box_put(g, c->type, box);
		return (struct result){r, false};
	}
	hy_write_value(g, c, c->type, (uintptr_t)box);
	return (struct result){r, true};
}

/* The inputs have values: call the function, store what it makes. */
static struct result compute_value(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	uint64_t word = 0;
	int r;

	if (unlikely(c->flags & F_BOXED))
		return compute_boxed(g, d);
	r = d->op->run(g, d, &word);
	if (r != HY_VALUE || unlikely(c->flags & F_DEAD))
		return (struct result){r, false};
	hy_write_value(g, c, c->type, word);
	return (struct result){r, true};
}

static void end_with_inputs(struct hy_graph *g, struct hy_derived *d)
{
	hy_flags_set(&d->cell, F_COMPLETE | F_END_NEWS, 0);
	hy_unlink_inputs(g, d);
}

/* No function runs: an input has no value, or did nothing but end. */
static NOINLINE bool follow(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct hy_cell *bad;

	if (c->flags & (F_DEAD | F_ENDED))
		return false;
	if (!inputs_have_values(d)) {
		bad = blocking_input(d);
		if (bad)
			hy_inherit_error(g, c, bad);
		else if (c->flags & F_ERROR)
			hy_set_none(c);
	}
	if (c->flags & F_FAILED)
		hy_unlink_inputs(g, d);
	else if (inputs_ended(d))
		end_with_inputs(g, d);
	return c->flags & F_NEWS;
}

static struct result compute_any(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct result result = compute_value(g, d);

	if (unlikely(c->flags & F_DEAD))
		return result;
	if (unlikely(result.outcome < 0))
		hy_set_failure(g, c, result.outcome);
	if (unlikely(inputs_ended(d)))
		end_with_inputs(g, d);
	return result;
}

static NOINLINE void compute_watched(struct hy_graph *g, struct hy_derived *d)
{
	uint64_t start = hy_clock_last(g);
	struct result result = compute_any(g, d);

	hy_watch_compute(g, d, start, hy_clock_since(g, start), result.outcome,
			 result.wrote, d->cell.flags & F_VALUE_NEW);
}

static bool has_news(const struct hy_cell *c)
{
	return (c->flags & F_NEWS) && !(c->flags & F_DEAD);
}

/* Somebody watches, or the cell is not of the plain kind. */
static NOINLINE bool compute_slowly(struct hy_graph *g, struct hy_derived *d)
{
	if (hy_watched())
		compute_watched(g, d);
	else
		compute_any(g, d);
	return has_news(&d->cell);
}

/* The function did not make a value, or the cell was released in it. */
static NOINLINE bool kept(struct hy_graph *g, struct hy_cell *c, int outcome)
{
	if (outcome < 0 && !(c->flags & F_DEAD))
		hy_set_failure(g, c, outcome);
	return has_news(c);
}

/* Its function runs if it was touched by a value and nothing is in the way. */
#define F_RUNS (F_DEAD | F_ENDED | F_BLOCKED | F_VALUE_TOUCH)

HY_FRAME bool hy_compute(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	const struct hy_op *op = d->op;
	uint32_t flags = c->flags;
	uint64_t word = 0;
	bool news;
	int r;

	store_relaxed(&c->flags, flags & ~(F_QUEUED | F_VALUE_TOUCH));
	if (unlikely((flags & F_RUNS) != F_VALUE_TOUCH))
		return follow(g, d);
	hy_probe_compute(g, c, op);
	if (hy_watched() || unlikely(flags & (F_BOXED | F_INPUT_ENDED))) {
		news = compute_slowly(g, d);
	} else {
		r = likely(op == &hy_op_map) ? hy_run_map(g, d, &word)
					     : op->run(g, d, &word);
		if (unlikely(r != HY_VALUE || c->flags & F_DEAD))
			news = kept(g, c, r);
		else
			news = hy_write_value(g, c, c->type, word);
	}
	HY_FRAME_END();
	return news;
}

/* ---- the first computation ---------------------------------------------- */

void hy_compute_first(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	uint64_t word = 0;
	struct hy_box *box = NULL;
	struct hy_graph *saved;
	void *out = &word;
	int r = HY_KEEP;

	if (!inputs_have_values(d)) {
		struct hy_cell *bad = blocking_input(d);

		if (bad)
			hy_inherit_error(g, c, bad);
	} else {
		bool shares = d->op == &hy_op_filter;

		if (c->flags & F_BOXED && !shares) {
			box = hy_box_take(c); /* hy_derive() saw to it */
			out = box->payload;
		}
		saved = hy_stretch_begin(g, true);
		r = d->op->run(g, d, out);
		hy_stretch_end(g, saved);
		if (r == HY_VALUE) {
			if (c->flags & F_BOXED && shares) {
				box = hy_box_of(d->one.input->word);
				hy_box_ref(box);
			}
			c->word = c->flags & F_BOXED ? (uintptr_t)box : word;
			hy_flags_set(c, 0, F_NONE);
		} else {
			if (box)
				hy_box_spare(c, box);
			if (r < 0)
				hy_set_failure(g, c, r);
		}
	}
	if (!(c->flags & F_FAILED) && inputs_ended(d))
		hy_flags_set(c, F_COMPLETE, 0);
	hy_flags_set(c, 0, F_NEWS | F_TURNED | F_UNSPREAD);
}
