// SPDX-License-Identifier: MIT
/* Operators that let a part of the values pass. */
#include "shapes.h"

static int below(const void *value, void *ctx)
{
	unsigned int *calls = ctx;

	++*calls;
	if (*(const int64_t *)value == 9)
		return -ERANGE;
	return *(const int64_t *)value < 3;
}

static int short_text(const void *value, void *ctx)
{
	(void)ctx;
	return strlen(*(char *const *)value) < 3;
}

/* ---- take, first, element_at, skip ------------------------------------------- */

static void o14_take_counts_initial(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *t = keep(w, hyphae_take(a, 2));
	struct log *log = follow(w, t);

	put(a, 2);
	put(a, 3);
	assert_log(log, "1,2,C");
	assert_int_equal(value(t), 2);
	assert_int_equal(targets(a), 0);
	assert_true(ended(t));
}

static void o14_take_none(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *t = keep(w, hyphae_take(a, 0));
	struct log *log = follow(w, t);

	assert_log(log, "C");
	assert_int_equal(targets(a), 0);
	assert_int_equal(code_of(t), -ENODATA);
	assert_int_equal(hyphae_graph_set_lazy(w->graph, true), 0);
	t = keep(w, hyphae_take(a, 0));
	assert_true(ended(t));
	assert_log(follow(w, t), "C");
}

static int note_targets(struct log *log, const struct hyphae_signal *signal)
{
	struct hyphae_cell_info info = {.targets = 99};

	if (signal->kind == HYPHAE_COMPLETE) {
		hyphae_cell_info(log->arg, &info);
		note(log, "t%zu", info.targets);
	}
	return 0;
}

static void cm05_take_unlinks_before_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *t = keep(w, hyphae_take(a, 2));
	struct log *log = follow_with(w, t, note_targets, a, 0);

	assert_int_equal(targets(a), 1);
	put(a, 2);
	assert_log(log, "1,2,C,t0");
}

static void take_event_in_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *t = keep(w, hyphae_take(e, 2));
	struct log *log = follow(w, t);

	assert_true(is_event(t));
	begin_batch(w);
	put(e, 4);
	put(e, 4);
	put(e, 5);
	end_batch(w);
	assert_log(log, "4,4,C");
	assert_int_equal(targets(e), 0);
}

static void take_batch_is_one(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *log = follow(w, keep(w, hyphae_take(a, 2)));

	begin_batch(w);
	put(a, 2);
	put(a, 3);
	end_batch(w);
	assert_log(log, "1,3,C");
}

static void take_input_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct log *log = follow(w, keep(w, hyphae_take(a, 9)));
	struct log *failed = follow(w, keep(w, hyphae_take(b, 9)));

	begin_batch(w);
	put(a, 2);
	complete(a);
	end_batch(w);
	assert_log(log, "1,2,C");
	fail_cell(b, -EIO);
	assert_log(failed, "1,E(-5)!");
}

static void take_errors_do_not_count(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log = follow(w, keep(w, hyphae_take(n, 3)));

	put(a, 5);
	put(a, 2);
	put(a, 5);
	put(a, 3);
	put(a, 4);
	assert_log(log, "1,E(-5),2,E(-5),3,C");
}

static void take_lazy_counts_anew(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *t = keep(w, hyphae_take(a, 2));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(t), 0);
	put(a, 2);
	log = follow(w, t);
	stop(log);
	log = follow(w, t);
	assert_log(log, "2");
	put(a, 3);
	assert_log(log, "2,3,C");
}

static void first_of_a_cell_and_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *e = event(w);
	struct hyphae_cell *f = keep(w, hyphae_first(a));
	struct log *log = follow(w, keep(w, hyphae_first(e)));

	assert_true(ended(f));
	assert_int_equal(value(f), 1);
	assert_int_equal(targets(a), 0);
	put(e, 7);
	assert_log(log, "7,C");
}

static void element_at_waits(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct log *log = follow(w, keep(w, hyphae_element_at(a, 2)));
	struct log *none = follow(w, keep(w, hyphae_element_at(b, 2)));
	struct log *first = follow(w, keep(w, hyphae_element_at(b, 0)));

	put(a, 2);
	assert_log(log, "");
	put(a, 3);
	assert_log(log, "3,C");
	assert_int_equal(targets(a), 0);
	complete(b);
	assert_log(none, "C");
	assert_log(first, "1,C");
}

static void o16_skip_counts_initial(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *s = keep(w, hyphae_skip(a, 2));
	struct log *log = follow(w, s);
	struct log *all = follow(w, keep(w, hyphae_skip(a, 0)));

	assert_int_equal(code_of(s), -ENODATA);
	put(a, 2);
	put(a, 3);
	put(a, 4);
	assert_log(log, "3,4");
	assert_log(all, "1,2,3,4");
	complete(a);
	assert_log(log, "3,4,C");
}

static void skip_error_ends_with_next_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *s = keep(w, hyphae_skip(n, 1));
	struct log *log = follow(w, s);

	assert_int_equal(code_of(s), -EIO);
	put(a, 1);
	assert_int_equal(code_of(s), -ENODATA);
	put(a, 2);
	assert_log(log, "E(-5),2");
}

static void strings_pass_shared(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct log *take = follow(w, keep(w, hyphae_take(s, 3)));
	struct log *skip = follow(w, keep(w, hyphae_skip(s, 1)));
	struct log *some = follow(
		w, keep(w, hyphae_take_while(s, short_text, true, NULL)));
	struct log *rest =
		follow(w, keep(w, hyphae_skip_while(s, short_text, NULL)));
	struct log *last = follow(w, keep(w, hyphae_last(s)));

	put_string(s, "b");
	put_string(s, "ccc");
	put_string(s, "d");
	complete(s);
	assert_log(take, "a,b,ccc,C");
	assert_log(skip, "b,ccc,d,C");
	assert_log(some, "a,b,ccc,C");
	assert_log(rest, "ccc,d,C");
	assert_log(last, "d,C");
}

/* ---- take_while, skip_while ------------------------------------------------------- */

static void o17_take_while(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0, with_calls = 0;
	struct hyphae_cell *a = source(w, 1);
	struct log *log =
		follow(w, keep(w, hyphae_take_while(a, below, false, &calls)));
	struct log *with = follow(
		w, keep(w, hyphae_take_while(a, below, true, &with_calls)));

	put(a, 2);
	put(a, 3);
	put(a, 1);
	assert_log(log, "1,2,C");
	assert_log(with, "1,2,3,C");
	assert_int_equal(calls, 3);
	assert_int_equal(with_calls, 3);
	assert_int_equal(targets(a), 0);
}

static void take_while_ends_at_once(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 4);
	struct hyphae_cell *t =
		keep(w, hyphae_take_while(a, below, false, &calls));
	struct hyphae_cell *i =
		keep(w, hyphae_take_while(a, below, true, &calls));

	assert_log(follow(w, t), "C");
	assert_int_equal(code_of(t), -ENODATA);
	assert_log(follow(w, i), "4,C");
	assert_int_equal(targets(a), 0);
}

static void take_while_failing_function(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 1);
	struct log *log =
		follow(w, keep(w, hyphae_take_while(a, below, false, &calls)));

	put(a, 9);
	put(a, 2);
	put(a, 3);
	assert_log(log, "1,E(-34),2,C");
}

static void o18_skip_while(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 1);
	struct log *log =
		follow(w, keep(w, hyphae_skip_while(a, below, &calls)));

	put(a, 2);
	put(a, 3);
	put(a, 1);
	assert_log(log, "3,1");
	assert_int_equal(calls, 3);
}

static void skip_while_of_an_event(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *s = keep(w, hyphae_skip_while(e, below, &calls));
	struct log *log = follow(w, s);

	assert_true(is_event(s));
	put(e, 1);
	put(e, 9);
	put(e, 1);
	put(e, 4);
	put(e, 4);
	assert_log(log, "E(-34),4,4");
	assert_int_equal(calls, 4);
}

/* ---- take_until, skip_until ------------------------------------------------------- */

static void o19_take_until(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *stop = source(w, 0);
	struct hyphae_cell *t = keep(w, hyphae_take_until(a, stop));
	struct log *log = follow(w, t);

	put(a, 2);
	put(stop, 1);
	put(a, 3);
	assert_log(log, "1,2,C");
	assert_int_equal(targets(a), 0);
	assert_int_equal(targets(stop), 0);
	assert_int_equal(value(t), 2);
}

static void o19_stop_wins_in_one_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *stop = source(w, 0);
	struct log *log = follow(w, keep(w, hyphae_take_until(a, stop)));

	begin_batch(w);
	put(a, 5);
	put(stop, 1);
	end_batch(w);
	assert_log(log, "1,C");
}

static void o19_notifier_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *stop = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *log = follow(w, keep(w, hyphae_take_until(a, stop)));
	struct log *bad = follow(w, keep(w, hyphae_take_until(a, b)));

	complete(stop);
	put(a, 2);
	assert_log(log, "1,2");
	fail_cell(b, -EIO);
	assert_log(bad, "1,2,E(-5)!");
	complete(a);
	assert_log(log, "1,2,C");
}

static void take_until_kinds_of_notifier(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = event(w), *stop = event(w);
	struct hyphae_cell *b = source(w, 1), *n = source(w, 5);
	struct hyphae_cell *error = derive(w, not_five, n)->cell;
	struct hyphae_cell *t = keep(w, hyphae_take_until(b, stop));
	struct hyphae_cell *u = keep(w, hyphae_take_until(a, b));
	struct log *of_cell = follow(w, t), *of_event = follow(w, u);
	struct log *recovers = follow(w, keep(w, hyphae_take_until(a, error)));

	assert_false(is_event(t));
	assert_true(is_event(u));
	put(a, 4);
	put(a, 4);
	assert_log(of_event, "4,4");
	put(b, 2);
	assert_log(of_event, "4,4,C");
	put(stop, 0);
	assert_log(of_cell, "1,2,C");
	assert_log(recovers, "4,4");
	put(n, 1);
	assert_log(recovers, "4,4,C");
}

static void take_until_itself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *log = follow(w, keep(w, hyphae_take_until(a, a)));

	put(a, 2);
	assert_log(log, "1,C");
	assert_int_equal(targets(a), 0);
}

static void take_until_input_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5), *stop = event(w);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log = follow(w, keep(w, hyphae_take_until(n, stop)));

	put(a, 1);
	put(a, 5);
	put(a, 2);
	fail_cell(a, -EPIPE);
	assert_log(log, "E(-5),1,E(-5),2,E(-32)!");
	assert_int_equal(targets(stop), 0);
}

static void take_until_lazy(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *stop = source(w, 0);
	struct hyphae_cell *t = keep(w, hyphae_take_until(a, stop));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(t), 0);
	put(stop, 1);
	log = follow(w, t);
	assert_log(log, "1");
	put(stop, 2);
	assert_log(log, "1,C");
}

static void skip_until_opens(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *go = source(w, 0);
	struct hyphae_cell *s = keep(w, hyphae_skip_until(a, go));
	struct log *log = follow(w, s);
	struct log *until = follow(w, keep(w, hyphae_take_until(a, go)));

	put(a, 2);
	assert_int_equal(code_of(s), -ENODATA);
	begin_batch(w);
	put(go, 1);
	put(a, 3);
	end_batch(w);
	put(go, 2);
	put(a, 4);
	fail_cell(go, -EIO);
	put(a, 5);
	complete(a);
	assert_log(log, "3,4,5,C");
	assert_log(until, "1,2,C");
}

static void skip_until_stays_closed(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *go = source(w, 0);
	struct hyphae_cell *bad = event(w), *n = source(w, 5);
	struct hyphae_cell *error = derive(w, not_five, n)->cell;
	struct log *log = follow(w, keep(w, hyphae_skip_until(a, go)));
	struct log *fails = follow(w, keep(w, hyphae_skip_until(a, bad)));
	struct log *errors = follow(w, keep(w, hyphae_skip_until(error, go)));

	complete(go);
	put(a, 2);
	fail_cell(bad, -EIO);
	put(n, 1);
	complete(a);
	complete(n);
	assert_log(log, "C");
	assert_log(fails, "E(-5)!");
	assert_log(errors, "E(-5),C");
}

/* ---- last ---------------------------------------------------------------------- */

static void last_value_at_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *e = event(w);
	struct hyphae_cell *l = keep(w, hyphae_last(a));
	struct hyphae_cell *m = keep(w, hyphae_last(e));
	struct log *log = follow(w, l), *events = follow(w, m);

	put(a, 2);
	put(e, 3);
	assert_int_equal(code_of(l), -ENODATA);
	complete(a);
	assert_log(log, "2,C");
	begin_batch(w);
	put(e, 4);
	complete(e);
	end_batch(w);
	assert_log(events, "4,C");
	assert_false(is_event(m));
	assert_int_equal(value(m), 4);
	assert_int_equal(targets(e), 0);
}

static void last_of_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w), *f = event(w), *gone = source(w, 3);
	int64_t other = 8;
	struct log *log = follow(w, keep(w, hyphae_last(e)));
	struct hyphae_cell *o =
		keep(w, hyphae_last_or(e, &hyphae_int64, &other));
	struct log *or_other = follow(w, o);
	struct log *some =
		follow(w, keep(w, hyphae_last_or(f, &hyphae_int64, &other)));

	complete(e);
	assert_log(log, "C");
	assert_log(or_other, "8,C");
	assert_int_equal(value(o), 8);
	put(f, 2);
	complete(f);
	assert_log(some, "2,C");
	complete(gone);
	assert_log(follow(w, keep(w, hyphae_last(gone))), "3,C");
}

static void last_and_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *l = keep(w, hyphae_last(n));
	struct log *log = follow(w, l);
	struct log *fails = follow(w, keep(w, hyphae_last(b)));
	char *text = NULL;
	struct hyphae_cell *s = string(w, "x"), *or_text;
	const char *other = "other";

	put(a, 5);
	assert_int_equal(code_of(l), -EIO);
	put(a, 2);
	assert_int_equal(code_of(l), -ENODATA);
	put(a, 5);
	complete(a);
	assert_log(log, "E(-5),E(-5),C");
	fail_cell(b, -EPIPE);
	assert_log(fails, "E(-32)!");
	or_text = keep(w, hyphae_last_or(s, &hyphae_string, &other));
	complete(s);
	assert_int_equal(hyphae_string_get(or_text, &text), 0);
	assert_string_equal(text, "x");
	free(text);
}

static void last_lazy_forgets(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = string_event(w);
	struct hyphae_cell *l = keep(w, hyphae_last(e));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(l), 0);
	log = follow(w, l);
	put_string(e, "before");
	stop(log);
	log = follow(w, l);
	complete(e);
	assert_log(log, "C");
}

/* ---- finalize -------------------------------------------------------------------- */

struct ends {
	unsigned int calls;
	enum hyphae_end_kind kind;
	struct hyphae_cell *write;
	int result;
};

static void at_end(enum hyphae_end_kind kind, void *ctx)
{
	struct ends *ends = ctx;

	ends->calls++;
	ends->kind = kind;
	if (ends->write)
		ends->result = hyphae_int64_set(ends->write, 99);
}

static int note_calls(struct log *log, const struct hyphae_signal *signal)
{
	const struct ends *ends = log->arg;

	if (signal->terminal)
		note(log, "f%u", ends->calls);
	return 0;
}

static void finalize_at_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct ends ends = {.write = b};
	struct hyphae_cell *f = keep(w, hyphae_finalize(a, at_end, &ends));
	struct log *log = follow_with(w, f, note_calls, &ends, 0);

	put(a, 2);
	assert_int_equal(ends.calls, 0);
	begin_batch(w);
	put(a, 3);
	complete(a);
	end_batch(w);
	assert_log(log, "1,2,3,C,f1");
	assert_int_equal(ends.kind, HYPHAE_END_COMPLETE);
	assert_int_equal(ends.result, -EPERM);
	let_go(w, f);
	assert_int_equal(ends.calls, 1);
}

static void finalize_at_failure(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct ends ends = {0};
	struct hyphae_cell *f = keep(w, hyphae_finalize(n, at_end, &ends));
	struct log *log = follow_with(w, f, note_calls, &ends, 0);

	put(a, 1);
	put(a, 5);
	assert_int_equal(ends.calls, 0);
	fail_cell(a, -EPIPE);
	assert_log(log, "E(-5),1,E(-5),E(-32)!,f1");
	assert_int_equal(ends.kind, HYPHAE_END_FAILED);
}

static void finalize_at_release(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct ends ends = {.write = a};
	struct hyphae_cell *f = keep(w, hyphae_finalize(a, at_end, &ends));

	assert_int_equal(hyphae_cell_set_lazy(f), 0);
	assert_int_equal(ends.calls, 0);
	let_go(w, f);
	assert_int_equal(ends.calls, 1);
	assert_int_equal(ends.kind, HYPHAE_END_RELEASED);
	assert_int_equal(ends.result, -EPERM);
	assert_int_equal(value(a), 1);
}

static void finalize_of_ended(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *c = source(w, 5);
	struct hyphae_cell *n = derive(w, not_five, c)->cell;
	struct ends of_a = {0}, of_b = {0}, of_n = {0};
	struct hyphae_cell *fa, *fb, *fn;

	complete(a);
	fail_cell(b, -EIO);
	complete(c);
	fa = keep(w, hyphae_finalize(a, at_end, &of_a));
	fb = keep(w, hyphae_finalize(b, at_end, &of_b));
	fn = keep(w, hyphae_finalize(n, at_end, &of_n));
	assert_int_equal(of_a.calls, 1);
	assert_int_equal(of_b.calls, 1);
	assert_int_equal(of_n.calls, 1);
	assert_log(follow(w, fa), "1,C");
	assert_log(follow(w, fb), "E(-5)!");
	assert_log(follow(w, fn), "E(-5),C");
	assert_int_equal(of_a.kind, HYPHAE_END_COMPLETE);
	assert_int_equal(of_b.kind, HYPHAE_END_FAILED);
	assert_int_equal(of_n.kind, HYPHAE_END_COMPLETE);
}

static void finalize_with_the_graph(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_string_new(graph, "a");
	struct ends ends = {0};

	(void)w;
	assert_non_null(hyphae_finalize(a, at_end, &ends));
	assert_non_null(hyphae_last(a));
	assert_non_null(hyphae_take(a, 3));
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(ends.calls, 1);
	assert_int_equal(ends.kind, HYPHAE_END_RELEASED);
}

/* Released in its own function: nothing follows, and nothing leaks. */
static int release_me(const void *value, void *ctx)
{
	struct hyphae_cell **cell = ctx;

	(void)value;
	if (*cell)
		hyphae_cell_unref(*cell);
	*cell = NULL;
	return 1;
}

static void released_in_own_function(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *mine = NULL, *t;

	t = hyphae_take_while(s, release_me, false, &mine);
	assert_non_null(t);
	mine = t;
	put_string(s, "b");
	assert_null(mine);
	assert_int_equal(targets(s), 0);
	t = hyphae_skip_while(s, release_me, &mine);
	assert_non_null(t);
	mine = t;
	put_string(s, "c");
	assert_int_equal(targets(s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(o14_take_counts_initial),
		CASE(o14_take_none),
		CASE(cm05_take_unlinks_before_completion),
		CASE(take_event_in_batch),
		CASE(take_batch_is_one),
		CASE(take_input_ends),
		CASE(take_errors_do_not_count),
		CASE(take_lazy_counts_anew),
		CASE(first_of_a_cell_and_an_event),
		CASE(element_at_waits),
		CASE(o16_skip_counts_initial),
		CASE(skip_error_ends_with_next_value),
		CASE(strings_pass_shared),
		CASE(o17_take_while),
		CASE(take_while_ends_at_once),
		CASE(take_while_failing_function),
		CASE(o18_skip_while),
		CASE(skip_while_of_an_event),
		CASE(o19_take_until),
		CASE(o19_stop_wins_in_one_wave),
		CASE(o19_notifier_ends),
		CASE(take_until_kinds_of_notifier),
		CASE(take_until_itself),
		CASE(take_until_input_errors),
		CASE(take_until_lazy),
		CASE(skip_until_opens),
		CASE(skip_until_stays_closed),
		CASE(last_value_at_completion),
		CASE(last_of_nothing),
		CASE(last_and_errors),
		CASE(last_lazy_forgets),
		CASE(finalize_at_completion),
		CASE(finalize_at_failure),
		CASE(finalize_at_release),
		CASE(finalize_of_ended),
		CASE(finalize_with_the_graph),
		CASE(released_in_own_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
