/* SPDX-License-Identifier: MIT */
/* The model's operators of one input, but for those of time. */
#include "model_streams.h"

#include <errno.h>

/* ---- plain operators ------------------------------------------------------- */

/*
 * True when all inputs have a value and one of them is new; else an error, an
 * end and the want of a value go by.
 */
bool ms_plain(struct ms_node *n)
{
	bool news = false;

	for (int i = 0; i < n->recipe.count; i++) {
		news |= n->seen[i].news & MS_NEWS;
		if (n->seen[i].failed && !n->ended)
			ms_fail(n, n->seen[i].code);
	}
	if (n->ended || !news)
		return false;
	for (int i = 0; i < n->recipe.count; i++)
		if (n->seen[i].holds == MS_ERROR) {
			ms_error(n, n->seen[i].code);
			return false;
		}
	for (int i = 0; i < n->recipe.count; i++)
		if (n->seen[i].holds == MS_NOTHING) {
			ms_none(n);
			return false;
		}
	return true;
}

static bool all_ended(const struct ms_node *n)
{
	for (int i = 0; i < n->recipe.count; i++)
		if (!n->seen[i].ended)
			return false;
	return true;
}

void ms_end(struct ms_node *n)
{
	if (!n->ended && all_ended(n))
		ms_complete(n);
}

/* A value that gives no result: what is held stays, but not an error. */
void ms_nothing(struct ms_node *n)
{
	if (n->holds == MS_ERROR)
		ms_none(n);
}

/* 0: a value; else an error. */
static void result(struct ms_model *m, struct ms_node *n, int r, int64_t value)
{
	if (r)
		ms_error(n, r);
	else
		ms_emit(m, n, value);
}

static void run_map(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t value = 0;
	int r;

	(void)first;
	if (ms_plain(n)) {
		ms_called(&n->calls, n->seen[0].value);
		r = ms_fn_map(&n->recipe, n->seen[0].value, &value);
		result(m, n, r, value);
	}
	ms_end(n);
}

static void run_filter(struct ms_model *m, struct ms_node *n, bool first)
{
	int r;

	(void)first;
	if (ms_plain(n)) {
		ms_called(&n->calls, n->seen[0].value);
		r = ms_fn_filter(&n->recipe, n->seen[0].value);
		if (r)
			result(m, n, r < 0 ? r : 0, n->seen[0].value);
	}
	ms_end(n);
}

static void run_tap(struct ms_model *m, struct ms_node *n, bool first)
{
	(void)first;
	if (ms_plain(n)) {
		if (n->recipe.op == MS_TAP)
			ms_called(&n->calls, n->seen[0].value);
		ms_emit(m, n, n->seen[0].value);
	}
	ms_end(n);
}

static void run_combine(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t values[MS_INPUTS];

	(void)first;
	if (ms_plain(n)) {
		for (int i = 0; i < n->recipe.count; i++)
			values[i] = n->seen[i].value;
		ms_many(m, n, values, (size_t)n->recipe.count);
	}
	ms_end(n);
}

/* ---- errors ------------------------------------------------------------------ */

static void run_catch(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];
	int64_t value = 0;
	int r;

	(void)first;
	if (in->failed || (in->news & MS_NEWS && in->holds == MS_ERROR)) {
		ms_called(&n->calls, in->code);
		r = ms_fn_catch(&n->recipe, in->code, &value);
		result(m, n, r, value);
	} else if (in->news & MS_NEWS && in->holds == MS_VALUE) {
		ms_emit(m, n, in->value);
	} else if (in->news & MS_NEWS) {
		ms_nothing(n);
	}
	ms_end(n);
}

static void run_map_error(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];
	int code = in->code;

	(void)first;
	if (in->failed || (in->news & MS_NEWS && in->holds == MS_ERROR)) {
		ms_called(&n->calls, code);
		if (ms_fn_error(&n->recipe, code))
			code = ms_fn_error(&n->recipe, code);
		if (in->failed)
			ms_fail(n, code);
		else
			ms_error(n, code);
	} else if (in->news & MS_NEWS) {
		ms_pass(m, n, in);
	}
	ms_end(n);
}

static void run_unwrap(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];
	bool trouble = in->failed || in->holds == MS_ERROR;

	if (n->event) {
		if (in->failed || (in->news & MS_NEWS && trouble))
			ms_emit(m, n, n->recipe.a);
		else if (in->news & MS_NEWS && in->holds == MS_VALUE)
			ms_emit(m, n, in->value);
	} else if (first || in->failed || in->news & MS_NEWS) {
		ms_emit(m, n,
			in->holds == MS_VALUE && !trouble ? in->value
							  : n->recipe.a);
	}
	ms_end(n);
}

/* ---- repetitions --------------------------------------------------------------- */

/* window: there is a last one. */
static void run_same_by(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t value = n->seen[0].value;
	bool same = false;

	(void)first;
	if (ms_plain(n)) {
		if (n->window && n->recipe.op == MS_SAME_BY) {
			ms_called(&n->calls, n->last * 64 + value);
			same = ms_fn_same(&n->recipe, n->last, value);
		} else if (n->window) {
			same = m->alike(n->last, value);
		}
		if (!same) {
			n->window = true;
			n->last = value;
			ms_emit(m, n, value);
		}
	} else if (n->holds == MS_ERROR) {
		n->window = false;
	}
	ms_end(n);
}

static void run_distinct(struct ms_model *m, struct ms_node *n, bool first)
{
	struct ms_queue *q = &n->queue[0];
	int64_t value = n->seen[0].value;
	bool known = false;

	(void)first;
	if (ms_plain(n)) {
		for (size_t i = 0; i < q->count; i++)
			known |= m->alike(q->entries[i].value, value);
		if (known) {
			ms_nothing(n);
		} else {
			if (q->count == (size_t)n->recipe.a)
				ms_shift(q);
			ms_push(q, (struct ms_entry){.value = value});
			ms_emit(m, n, value);
		}
	}
	ms_end(n);
}

/* ---- events and cells ------------------------------------------------------------ */

/* a: the initial value, or -1. */
static void run_hold(struct ms_model *m, struct ms_node *n, bool first)
{
	(void)first;
	if (ms_plain(n))
		ms_emit(m, n, n->seen[0].value);
	else if (n->holds == MS_NOTHING && n->recipe.a >= 0)
		ms_emit(m, n, n->recipe.a);
	ms_end(n);
}

static void run_changes(struct ms_model *m, struct ms_node *n, bool first)
{
	if (n->seen[0].failed)
		ms_fail(n, n->seen[0].code);
	else if (!first && n->seen[0].news & MS_NEWS &&
		 n->seen[0].holds != MS_NOTHING)
		ms_pass(m, n, &n->seen[0]);
	ms_end(n);
}

/* ---- sums, pairs, windows ---------------------------------------------------------- */

/* last: the accumulator. */
static void run_scan(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t acc = 0;
	int r;

	if (first)
		n->last = n->recipe.b;
	if (ms_plain(n)) {
		ms_called(&n->calls, n->seen[0].value);
		r = ms_fn_fold(&n->recipe, n->last, n->seen[0].value, &acc);
		if (!r)
			n->last = acc;
		result(m, n, r, acc);
	} else if (n->holds == MS_NOTHING) {
		ms_emit(m, n, n->last); /* it always has one, or an error */
	}
	ms_end(n);
}

static void run_reduce(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t acc = 0;
	int r = 0;

	if (first)
		n->last = n->recipe.b;
	if (ms_plain(n)) {
		ms_called(&n->calls, n->seen[0].value);
		r = ms_fn_fold(&n->recipe, n->last, n->seen[0].value, &acc);
		if (!r)
			n->last = acc;
		if (r)
			ms_error(n, r);
		else
			ms_nothing(n);
	}
	if (n->seen[0].ended && !n->ended && !r && n->seen[0].holds != MS_ERROR)
		ms_emit(m, n, n->last);
	ms_end(n);
}

/* window: there is a previous one. */
static void run_pairwise(struct ms_model *m, struct ms_node *n, bool first)
{
	(void)first;
	if (ms_plain(n)) {
		int64_t pair[2] = {n->last, n->seen[0].value};

		n->last = pair[1];
		if (n->window)
			ms_many(m, n, pair, 2);
		else
			ms_nothing(n);
		n->window = true;
	}
	ms_end(n);
}

static void run_window(struct ms_model *m, struct ms_node *n, bool first)
{
	struct ms_queue *q = &n->queue[0];
	int64_t values[MS_QUEUE];

	(void)first;
	if (ms_plain(n)) {
		if (q->count == (size_t)n->recipe.a)
			ms_shift(q);
		ms_push(q, (struct ms_entry){.value = n->seen[0].value});
		for (size_t i = 0; i < q->count; i++)
			values[i] = q->entries[i].value;
		ms_many(m, n, values, q->count);
	}
	ms_end(n);
}

static void run_buffer(struct ms_model *m, struct ms_node *n, bool first)
{
	struct ms_queue *q = &n->queue[0];
	bool full = false;

	(void)first;
	if (ms_plain(n)) {
		ms_push(q, (struct ms_entry){.value = n->seen[0].value});
		full = q->count == (size_t)n->recipe.a;
		if (!full && !n->seen[0].ended)
			ms_nothing(n);
	}
	if (full || (n->seen[0].ended && !n->ended && q->count))
		ms_flush(m, n);
	ms_end(n);
}

/* ---- the machine --------------------------------------------------------------------- */

/* A transition fits: what is called, and what comes of it. */
static void transit(struct ms_model *m, struct ms_node *n, int64_t from,
		    int64_t to, const struct hyphae_transition *t)
{
	int64_t value = 0;
	int r = 1;

	if (t->guard) {
		ms_called(&n->calls, 1000 + from * 64 + to);
		r = ms_fn_guard(&n->recipe, from, to);
	}
	if (r <= 0) {
		if (r < 0)
			ms_error(n, r);
		else
			ms_nothing(n);
		return;
	}
	for (size_t i = 0; i < ms_state_table_size; i++)
		if (ms_state_table[i].on_exit &&
		    (ms_state_table[i].state == from % MS_STATES ||
		     ms_state_table[i].state == HYPHAE_ANY_STATE))
			ms_called(&n->calls, 2000 + from);
	if (t->handler) {
		ms_called(&n->calls, 3000 + from * 64 + to);
		r = ms_fn_handler(&n->recipe, from, to, &value);
		if (r) {
			ms_error(n, r);
			return;
		}
	}
	for (size_t i = 0; i < ms_state_table_size; i++)
		if (ms_state_table[i].on_enter &&
		    (ms_state_table[i].state == to % MS_STATES ||
		     ms_state_table[i].state == HYPHAE_ANY_STATE))
			ms_called(&n->calls, 4000 + to);
	if (t->handler)
		ms_emit(m, n, value);
	else
		ms_nothing(n);
}

static bool fits(int64_t state, int64_t value)
{
	return state == HYPHAE_ANY_STATE || state == value % MS_STATES;
}

static void advance(struct ms_model *m, struct ms_node *n, int64_t from,
		    int64_t to)
{
	for (size_t i = 0; i < ms_table_size; i++)
		if (fits(ms_table[i].from, from) && fits(ms_table[i].to, to)) {
			transit(m, n, from, to, &ms_table[i]);
			return;
		}
	ms_nothing(n);
	if (from % MS_STATES != to % MS_STATES)
		ms_called(&n->calls, 5000 + from * 64 + to);
}

static void run_machine(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t from = n->last;

	(void)first;
	if (ms_plain(n)) {
		n->last = n->seen[0].value;
		if (n->window)
			advance(m, n, from, n->last);
		else if (n->recipe.a >= 0 && !n->event)
			ms_emit(m, n, n->recipe.a);
		else
			ms_nothing(n);
		n->window = true;
	}
	ms_end(n);
}

/* ---- a part of the values ---------------------------------------------------------- */

/* number: of values so far. */
static void run_take(struct ms_model *m, struct ms_node *n, bool first)
{
	size_t limit = n->recipe.op == MS_FIRST ? 1 : (size_t)n->recipe.a;

	(void)first;
	if (limit == 0) {
		ms_complete(n);
		return;
	}
	if (ms_plain(n)) {
		ms_emit(m, n, n->seen[0].value);
		if (++n->number == limit)
			ms_complete(n);
	}
	ms_end(n);
}

static void run_element(struct ms_model *m, struct ms_node *n, bool first)
{
	(void)first;
	if (ms_plain(n)) {
		if (n->number++ == (size_t)n->recipe.a) {
			ms_emit(m, n, n->seen[0].value);
			ms_complete(n);
		} else {
			ms_nothing(n);
		}
	}
	ms_end(n);
}

static void run_skip(struct ms_model *m, struct ms_node *n, bool first)
{
	(void)first;
	if (ms_plain(n)) {
		if (n->number++ < (size_t)n->recipe.a)
			ms_nothing(n);
		else
			ms_emit(m, n, n->seen[0].value);
	}
	ms_end(n);
}

/* b: inclusive. */
static void run_take_while(struct ms_model *m, struct ms_node *n, bool first)
{
	int r;

	(void)first;
	if (ms_plain(n)) {
		ms_called(&n->calls, n->seen[0].value);
		r = ms_fn_filter(&n->recipe, n->seen[0].value);
		if (r < 0)
			ms_error(n, r);
		else if (r || n->recipe.b)
			ms_emit(m, n, n->seen[0].value);
		else
			ms_nothing(n);
		if (r == 0)
			ms_complete(n);
	}
	ms_end(n);
}

/* flag: open. */
static void run_skip_while(struct ms_model *m, struct ms_node *n, bool first)
{
	int r = 1;

	(void)first;
	if (ms_plain(n)) {
		if (!n->flag) {
			ms_called(&n->calls, n->seen[0].value);
			r = ms_fn_filter(&n->recipe, n->seen[0].value);
			n->flag = r == 0;
		}
		if (r < 0)
			ms_error(n, r);
		else if (n->flag)
			ms_emit(m, n, n->seen[0].value);
		else
			ms_nothing(n);
	}
	ms_end(n);
}

/* What the input brings goes by. */
static void go_by(struct ms_model *m, struct ms_node *n)
{
	const struct ms_seen *in = &n->seen[0];

	if (in->failed)
		ms_fail(n, in->code);
	else if (in->news & MS_NEWS)
		ms_pass(m, n, in);
	if (in->ended && !n->ended)
		ms_complete(n);
}

bool ms_ticked(const struct ms_node *n, int input, bool first)
{
	return !first && n->seen[input].news & MS_NEWS &&
	       n->seen[input].holds == MS_VALUE;
}

static void run_take_until(struct ms_model *m, struct ms_node *n, bool first)
{
	if (ms_ticked(n, 1, first))
		ms_complete(n);
	else if (n->seen[1].failed)
		ms_fail(n, n->seen[1].code);
	else
		go_by(m, n);
}

/* flag: open. */
static void run_skip_until(struct ms_model *m, struct ms_node *n, bool first)
{
	struct ms_seen *in = &n->seen[0];

	n->flag |= ms_ticked(n, 1, first);
	if (!n->flag && n->seen[1].failed) {
		ms_fail(n, n->seen[1].code);
		return;
	}
	if (!n->flag && in->news & MS_NEWS && in->holds == MS_VALUE) {
		in->news &= ~MS_NEWS;
		ms_nothing(n);
	}
	go_by(m, n);
}

/* window: there is a last one. */
static void run_last(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];

	(void)first;
	if (ms_plain(n)) {
		n->window = true;
		n->last = in->value;
		ms_nothing(n);
	}
	if (n->ended || !in->ended)
		return;
	if (in->holds != MS_ERROR && n->window)
		ms_emit(m, n, n->last);
	else if (in->holds != MS_ERROR && n->recipe.op == MS_LAST_OR)
		ms_emit(m, n, n->recipe.a);
	ms_complete(n);
}

const ms_run_fn ms_runs[MS_COUNT] = {
	[MS_MAP] = run_map,
	[MS_FILTER] = run_filter,
	[MS_TAP] = run_tap,
	[MS_FINALIZE] = run_tap,
	[MS_SHARE] = run_tap,
	[MS_CATCH] = run_catch,
	[MS_MAP_ERROR] = run_map_error,
	[MS_UNWRAP] = run_unwrap,
	[MS_SAME_BY] = run_same_by,
	[MS_DEDUPED] = run_same_by,
	[MS_DISTINCT] = run_distinct,
	[MS_HOLD] = run_hold,
	[MS_CHANGES] = run_changes,
	[MS_SCAN] = run_scan,
	[MS_REDUCE] = run_reduce,
	[MS_PAIRWISE] = run_pairwise,
	[MS_WINDOW] = run_window,
	[MS_BUFFER] = run_buffer,
	[MS_MACHINE] = run_machine,
	[MS_TAKE] = run_take,
	[MS_FIRST] = run_take,
	[MS_ELEMENT] = run_element,
	[MS_SKIP] = run_skip,
	[MS_TAKE_WHILE] = run_take_while,
	[MS_SKIP_WHILE] = run_skip_while,
	[MS_TAKE_UNTIL] = run_take_until,
	[MS_SKIP_UNTIL] = run_skip_until,
	[MS_LAST] = run_last,
	[MS_LAST_OR] = run_last,
	[MS_COMBINE] = run_combine,
	[MS_ZIP] = ms_run_zip,
	[MS_MERGE] = ms_run_merge,
	[MS_LATEST] = ms_run_latest,
	[MS_SAMPLE] = ms_run_sample,
	[MS_CONCAT] = ms_run_concat,
	[MS_RACE] = ms_run_race,
	[MS_GROUP] = ms_run_group,
};
