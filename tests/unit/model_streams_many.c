/* SPDX-License-Identifier: MIT */
/* The model's operators of several inputs. */
#include "model_streams.h"

#include <errno.h>

/* A value or an error; that an error is over is none of their business. */
static bool brought(const struct ms_seen *in)
{
	return in->news & MS_NEWS && in->holds != MS_NOTHING;
}

static bool any_failed(struct ms_node *n)
{
	for (int i = 0; i < n->recipe.count && !n->ended; i++)
		if (n->seen[i].failed)
			ms_fail(n, n->seen[i].code);
	return n->ended;
}

static bool complete_pair(const struct ms_node *n)
{
	for (int i = 0; i < n->recipe.count; i++)
		if (!n->queue[i].count)
			return false;
	return true;
}

/* What pairs makes room first; false: there is none, and that is the end. */
static bool zip_bound(struct ms_node *n, int input, bool pair)
{
	enum hyphae_overflow policy = (enum hyphae_overflow)n->recipe.b;
	struct ms_queue *q = &n->queue[input];
	size_t capacity =
		policy == HYPHAE_OVERFLOW_LATEST ? 1 : (size_t)n->recipe.a;

	if (q->count <= capacity + pair)
		return true;
	if (policy == HYPHAE_OVERFLOW_FAIL)
		return false;
	n->dropped++;
	if (policy == HYPHAE_OVERFLOW_DROP_NEWEST)
		q->count--;
	else
		ms_shift(q);
	return true;
}

static void zip_end(struct ms_node *n)
{
	for (int i = 0; i < n->recipe.count; i++)
		if (n->seen[i].ended && !n->queue[i].count && !n->ended)
			ms_complete(n);
	if (n->ended)
		ms_give_up(n);
}

/* a: capacity, b: policy. */
void ms_run_zip(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t values[MS_INPUTS];
	bool told = false, pair;

	(void)first;
	if (any_failed(n)) {
		ms_give_up(n);
		return;
	}
	for (int i = 0; i < n->recipe.count; i++) {
		const struct ms_seen *in = &n->seen[i];

		if (in->news & MS_NEWS && in->holds == MS_VALUE)
			ms_push(&n->queue[i],
				(struct ms_entry){.value = in->value});
		if (in->news & MS_NEWS && in->holds == MS_ERROR && !told) {
			ms_error(n, in->code);
			told = true;
		}
	}
	pair = complete_pair(n);
	for (int i = 0; i < n->recipe.count; i++)
		if (!zip_bound(n, i, pair)) {
			ms_fail(n, -EOVERFLOW);
			ms_give_up(n);
			return;
		}
	if (pair && told) {
		n->more = true;
		return;
	}
	if (pair) {
		for (int i = 0; i < n->recipe.count; i++)
			values[i] = ms_shift(&n->queue[i]).value;
		ms_many(m, n, values, (size_t)n->recipe.count);
	}
	zip_end(n);
}

/* queue[0]: what waits for its wave; flag: the last of it is a failure. */
void ms_run_merge(struct ms_model *m, struct ms_node *n, bool first)
{
	struct ms_queue *q = &n->queue[0];
	struct ms_entry entry;

	(void)first;
	for (int i = 0; i < n->recipe.count && !n->flag; i++) {
		struct ms_seen *in = &n->seen[i];

		n->flag = in->failed && in->news & MS_END;
		if (n->flag)
			ms_push(q, (struct ms_entry){.code = in->code,
						     .holds = MS_NOTHING});
		else if (brought(in))
			ms_push(q, (struct ms_entry){.holds = in->holds,
						     .value = in->value,
						     .code = in->code});
	}
	if (q->count) {
		entry = ms_shift(q);
		if (entry.holds == MS_NOTHING)
			ms_fail(n, entry.code);
		else
			ms_pass(m, n,
				&(struct ms_seen){.holds = entry.holds,
						  .value = entry.value,
						  .code = entry.code});
	}
	n->more = q->count != 0;
	if (!q->count)
		ms_end(n);
}

void ms_run_latest(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];
	int64_t values[MS_INPUTS];

	(void)first;
	if (any_failed(n))
		return;
	if (brought(in) && in->holds == MS_ERROR) {
		ms_pass(m, n, in);
	} else if (brought(in)) {
		int error = 0;
		bool lacks = false;

		for (int i = 0; i < n->recipe.count; i++) {
			values[i] = n->seen[i].value;
			if (n->seen[i].holds == MS_ERROR && !error)
				error = n->seen[i].code;
			lacks |= n->seen[i].holds == MS_NOTHING;
		}
		if (error)
			ms_error(n, error);
		else if (!lacks)
			ms_many(m, n, values, (size_t)n->recipe.count);
	}
	if (in->ended)
		ms_complete(n);
}

/* window: there is something that was not told. */
void ms_run_sample(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0], *by = &n->seen[1];

	if (any_failed(n))
		return;
	if (in->news & MS_NEWS)
		n->window = in->holds != MS_NOTHING;
	if (ms_ticked(n, 1, first) && n->window) {
		ms_pass(m, n, in);
		n->window = false;
	} else if (!first && by->news & MS_NEWS && by->holds == MS_ERROR) {
		ms_error(n, by->code);
	}
	if (by->ended || (in->ended && !n->window))
		ms_complete(n);
}

/* What it said in this wave before it was followed is not heard. */
static void follow_next(struct ms_model *m, struct ms_node *n)
{
	int next = n->recipe.in[n->number];
	bool wakes = m->nodes[next].idle;

	n->window = true;
	ms_wake(m, next);
	ms_meet(m, n, (int)n->number, wakes ? m->nodes[next].woken : 0);
}

/*
 * number: whose turn it is; window: it is followed.  Who comes next is not
 * looked at in a wave that has told something.
 */
void ms_run_concat(struct ms_model *m, struct ms_node *n, bool first)
{
	bool told = false;

	(void)first;
	for (;;) {
		struct ms_seen *in = &n->seen[n->number];

		if (!n->window)
			follow_next(m, n);
		if (in->failed) {
			ms_fail(n, in->code);
			return;
		}
		if (brought(in))
			ms_pass(m, n, in);
		told |= brought(in);
		if (!in->ended)
			return;
		n->window = false;
		if (++n->number == (size_t)n->recipe.count) {
			ms_complete(n);
			return;
		}
		n->more = told;
		if (told)
			return;
	}
}

/* flag: decided, for number. */
void ms_run_race(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in;

	(void)first;
	for (int i = 0; i < n->recipe.count && !n->flag; i++)
		if (brought(&n->seen[i]) || n->seen[i].news & MS_END) {
			n->flag = true;
			n->number = (size_t)i;
		}
	if (!n->flag)
		return;
	in = &n->seen[n->number];
	if (in->failed)
		ms_fail(n, in->code);
	else if (brought(in))
		ms_pass(m, n, in);
	if (in->ended && !n->ended)
		ms_complete(n);
}

void ms_run_group(struct ms_model *m, struct ms_node *n, bool first)
{
	int64_t changed = 0;

	for (int i = 0; i < n->recipe.count; i++)
		changed += brought(&n->seen[i]) || n->seen[i].news & MS_END;
	if (changed && !first)
		ms_emit(m, n, changed);
	ms_end(n);
}
