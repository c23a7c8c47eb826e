/* SPDX-License-Identifier: MIT */
/*
 * Faults of the Rust crate of the same name, in its history (A) and in its
 * version 3.1.2 (B), as far as cells, operators and timers could have them.
 * ../unit/test_thread_reports.c has those that need several threads.
 *
 *   A1  value lost while subscribing     test_thread_basic h02_*
 *   A2  releasing cells deadlock         test_thread_reports a2_*
 *   A3  ended subscriber kept            here
 *   A4  torn join                        here
 *   A5  zip mispairs                     test_many a05_*
 *   A6  old inner wins                   here
 *   A7  merge_map completes twice        here
 *   A9  updates lost between batches     test_thread_reports a9_*
 *   A10 order of events in a batch       here; serial: test_thread_pool
 *   A11 last value lost at the end       here
 *   A12 inner that stays is linked again here
 *   A13 result that is dropped leaks     here
 *   A16 concat over an ended one         test_choice o13_*
 *   A17 merge loses an initial value     test_many o09_*
 *   A18 completion twice                 test_many a18_*, test_dynamic o11_*
 *   A19 late timers out of order         test_timing t09_*
 *   A20 failing timer stops the others   here
 *   A21 timers outlive their cell        test_timing t16_*, t06_*
 *   A22 state machine sticks             test_transition a22_*
 *   A24 one run for each arm             test_propagation p01_*, p06_*
 *   A25 writes into an open wave         test_reentrancy r03_*, r14_*
 *   A27 rewired to a higher inner        here
 *   A28 nothing to iterate over          here
 *   B1  order among subscribers          test_reports a08_*
 *   B2  set of an input hangs            here
 *   B3  derived cell stale for good      test_thread_reports b3_*
 *   B5  first value swallowed            here
 *   B6  second consumer differs          here
 *   B7  audit repeats                    test_reports a06_*
 *   B8  throttle closed at birth         test_timing t07_throttle_of_a_value
 *   B9  retry without end                here
 *   B10 value after the end in a batch   here
 *   B11, B12 half a batch, unsettled     test_batch bt13_*, bt06_*
 *   B13 subscriber fails in first call   here: it stands, as documented
 *   B14 drop function hangs              here
 *   B15 stream without an end            ../unit/test_stream
 *   B16 drops the wrong one              test_timing t10_*, test_many o08_*
 *   B17, B18 quadratic, stack            test_scale w01_*, w04_*, test_reports
 *   B20 take(0)                          test_limits o14_take_none
 *   B21 end told twice                   here
 *
 * A8, A14, A15, A23, A26, B4, B19 and B22 are about keyed maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "marbles.h"
#include "shapes.h"

FN(same, in[0]);

/* ---- A3, A12, A13: what is over is let go of ----------------------------------- */

static void a3_ended_subscriber_is_given_up_at_once(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *one = follow(w, a), *two = follow(w, a), *three;

	put(a, 1);
	stop(one);
	assert_int_equal(one->drops, 1); /* and nobody sets it again */
	three = follow(w, a);
	begin_batch(w);
	put(a, 2);
	stop(two);
	assert_int_equal(two->drops, 1);
	end_batch(w);
	assert_log(two, "0,1");
	assert_log(three, "1,2");
}

static struct hyphae_cell *same_inner(const void *outer, void *inner)
{
	(void)outer;
	return inner;
}

static void a12_inner_that_stays(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0), *inner = source(w, 5);
	struct hyphae_cell *d =
		keep(w, hyphae_switch_map(o, &hyphae_int64, same_inner, inner));
	struct log *log = follow(w, d);

	for (int64_t i = 1; i <= 1000; i++) {
		put(o, i);
		assert_int_equal(targets(inner), 1);
	}
	begin_batch(w);
	put(o, 0);
	put(inner, 6);
	end_batch(w);
	assert_log(log, "5,6");
	assert_int_equal(live_cells(w), 4);
}

/* Of every operator: never used, used, and while a subscriber is told. */
static int unref_arg(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 3)
		log->code = hyphae_cell_unref(log->arg);
	return signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 3
		       ? HYPHAE_DETACH
		       : 0;
}

static void a13_dropped_results_are_freed(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	size_t cells = live_cells(w);

	for (size_t i = 0; i < LINKS; i++) {
		struct hyphae_cell *d = links[i].make(w, a);
		struct log *log;

		assert_int_equal(hyphae_cell_unref(d), 0);
		assert_int_equal(targets(a), 0);
		assert_int_equal(live_cells(w), cells);
		d = links[i].make(w, a);
		log = log_new(w, unref_arg, d);
		log_subscribe(log, d, HYPHAE_SKIP_INITIAL);
		put(a, 1);
		begin_batch(w);
		put(a, 2);
		end_batch(w);
		put(a, 3);
		assert_log(log, "1,2,3");
		assert_int_equal(log->code, 0);
		assert_int_equal(targets(a), 0);
		assert_int_equal(live_cells(w), cells);
		put(a, 0);
	}
}

/* ---- A4, A6, A27: both change in one batch --------------------------------------- */

enum { ROUNDS = 300, JOINS = 8 };

static int torn_join(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	const int64_t *a = inputs[0], *b = inputs[1];

	(void)count;
	*(unsigned int *)ctx += *a != *b;
	*(int64_t *)ret = *a;
	return 0;
}

static void a4_joins_are_not_torn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0), *in[2];
	struct hyphae_cell *cells[JOINS];
	unsigned int torn = 0;

	in[0] = a;
	in[1] = derive(w, same, derive(w, same, b)->cell)->cell;
	for (int i = 0; i < JOINS; i++)
		cells[i] =
			keep(w, i % 2 ? hyphae_combine(in, 2, &hyphae_int64,
						       torn_join, &torn)
				      : hyphae_with_latest_from(
						in[0], &in[1], 1, &hyphae_int64,
						torn_join, &torn));
	for (int64_t v = 1; v <= ROUNDS; v++) {
		begin_batch(w);
		put(v % 2 ? a : b, v);
		put(v % 2 ? b : a, v);
		end_batch(w);
		for (int i = 0; i < JOINS; i++)
			assert_int_equal(value(cells[i]), v);
	}
	assert_int_equal(torn, 0);
}

struct towers {
	struct world *world;
	struct hyphae_cell *outer;
	struct hyphae_cell *inner[2]; /* low and high */
};

static struct hyphae_cell *choose_tower(const void *outer, void *ctx)
{
	struct towers *t = ctx;

	return t->inner[*(const int64_t *)outer % 2];
}

static int read_tower(void *ret, void *ctx)
{
	struct towers *t = ctx;
	int64_t at = 0;

	hyphae_int64_get(t->outer, &at);
	return hyphae_int64_get(t->inner[at % 2], ret);
}

/* The inner that is left, the one that is taken, and the choice, at once. */
static void rewired(struct world *w, bool tracked)
{
	struct hyphae_cell *low = source(w, 0), *high = source(w, 0);
	struct towers t = {.world = w, .outer = source(w, 0)};
	struct hyphae_cell *d;
	struct log *log;

	t.inner[0] = low;
	t.inner[1] = high;
	for (int i = 0; i < 12; i++)
		t.inner[1] = derive(w, same, t.inner[1])->cell;
	d = keep(w, tracked ? hyphae_computed(w->graph, &hyphae_int64,
					      read_tower, &t)
			    : hyphae_switch_map(t.outer, &hyphae_int64,
						choose_tower, &t));
	log = follow(w, d);
	for (int64_t v = 1; v <= 200; v++) {
		begin_batch(w);
		put(low, 10 * v);
		put(t.outer, v);
		put(high, 10 * v + 5);
		end_batch(w);
		assert_int_equal(log->calls, v + 1);
		assert_int_equal(value(d), 10 * v + (v % 2 ? 5 : 0));
		assert_int_equal(targets(t.inner[!(v % 2)]), 0);
	}
}

static void a27_rewired_to_a_higher_inner(void **state)
{
	rewired(*state, false);
	rewired(*state, true);
}

/* The old inner is set in the batch that leaves it: its value is not told. */
static void a6_old_inner_does_not_win(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *low = source(w, 1), *high = source(w, 2);
	struct towers t = {
		.world = w, .outer = source(w, 0), .inner = {low, high}};
	struct log *log =
		follow(w, keep(w, hyphae_switch_map(t.outer, &hyphae_int64,
						    choose_tower, &t)));

	begin_batch(w);
	put(t.outer, 1);
	put(low, 100);
	end_batch(w);
	begin_batch(w);
	put(high, 200);
	put(t.outer, 2);
	end_batch(w);
	assert_log(log, "1,2,100");
}

/* ---- A7, A10, A11: ends ------------------------------------------------------------ */

static struct hyphae_cell *given_inner(const void *outer, void *ctx)
{
	struct hyphae_cell **inners = ctx;

	return inners[*(const int64_t *)outer];
}

/* The outer and the last inner end in one batch, in either order. */
static void a7_merge_map_completes_once(void **state)
{
	struct world *w = *state;

	for (int outer_first = 0; outer_first < 2; outer_first++) {
		struct hyphae_cell *inners[] = {source(w, 5), source(w, 6)};
		struct hyphae_cell *o = source(w, 0);
		struct log *log = follow(
			w, keep(w, hyphae_merge_map(o, &hyphae_int64, 4,
						    given_inner, inners)));

		put(o, 1);
		complete(inners[0]);
		begin_batch(w);
		complete(outer_first ? o : inners[1]);
		complete(outer_first ? inners[1] : o);
		end_batch(w);
		assert_log(log, "5,6,C");
		assert_int_equal(targets(o), 0);
		assert_int_equal(targets(inners[1]), 0);
	}
}

static void a10_thirty_two_in_order(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct log *logs[LINKS];
	struct hyphae_cell *cells[LINKS];
	char expected[128] = "";

	for (size_t i = 0; i < LINKS; i++) {
		cells[i] = keep(w, links[i].make(w, e));
		logs[i] = follow_with(w, cells[i], NULL, NULL,
				      HYPHAE_SKIP_INITIAL);
	}
	begin_batch(w);
	for (int i = 1; i <= 32; i++) {
		put(e, i);
		sprintf(expected + strlen(expected), i > 1 ? ",%d" : "%d", i);
	}
	end_batch(w);
	for (size_t i = 0; i < LINKS; i++) {
		/* Of the one 16 may be alive, the other reads, not hears. */
		if (links[i].make == merge_map_link ||
		    links[i].make == computed_link)
			continue;
		if (strcmp(logs[i]->text, expected) != 0)
			fail_msg("%s: %s", links[i].name, logs[i]->text);
		assert_int_equal(logs[i]->deepest, 1);
	}
}

static int add(void *ret, const void *acc, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)input;
	return 0;
}

static int digits_of(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	int64_t sum = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		sum = 10 * sum + *(const int64_t *)inputs[i];
	*(int64_t *)ret = sum;
	return 0;
}

static int below_two(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input < 2;
}

static int below_three(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input < 3;
}

static const int64_t zero, hundred = 100;

LINK(take_2, hyphae_take(in, 2));
LINK(take_3, hyphae_take(in, 3));
LINK(first, hyphae_first(in));
LINK(second, hyphae_element_at(in, 1));
LINK(skip_1, hyphae_skip(in, 1));
LINK(while_3, hyphae_take_while(in, below_three, false, NULL));
LINK(while_3_too, hyphae_take_while(in, below_three, true, NULL));
LINK(from_2, hyphae_skip_while(in, below_two, NULL));
LINK(last, hyphae_last(in));
LINK(last_or, hyphae_last_or(in, &hyphae_int64, &hundred));
LINK(sum, hyphae_reduce(in, &hyphae_int64, &zero, add, NULL));
LINK(pairs, hyphae_pairwise(in, &hyphae_int64, digits_of, NULL));
LINK(window_2, hyphae_window(in, 2, &hyphae_int64, digits_of, NULL));
LINK(buffer_2, hyphae_buffer_count(in, 2, &hyphae_int64, digits_of, NULL));
LINK(buffer_1, hyphae_buffer_count(in, 1, &hyphae_int64, digits_of, NULL));

/* What is told of 1, 2, 3 and the end. */
static const struct {
	const char *name;
	link_fn make;
	const char *expected;
} counting[] = {
	{"take(2)", take_2_link, "1,2,C"},
	{"take(3)", take_3_link, "1,2,3,C"},
	{"first", first_link, "1,C"},
	{"element_at(1)", second_link, "2,C"},
	{"skip(1)", skip_1_link, "2,3,C"},
	{"take_while", while_3_link, "1,2,C"},
	{"take_while, inclusive", while_3_too_link, "1,2,3,C"},
	{"skip_while", from_2_link, "2,3,C"},
	{"last", last_link, "3,C"},
	{"last_or", last_or_link, "3,C"},
	{"reduce", sum_link, "6,C"},
	{"pairwise", pairs_link, "12,23,C"},
	{"window(2)", window_2_link, "1,12,23,C"},
	{"buffer_count(2)", buffer_2_link, "12,3,C"},
	{"buffer_count(1)", buffer_1_link, "1,2,3,C"},
	{"distinct", distinct_link, "1,2,3,C"},
	{"zip", zip_link, "1,2,3,C"},
	{"merge", merge_link, "1,2,3,C"},
	{"concat", concat_link, "1,2,3,C"},
	{"race", race_link, "1,2,3,C"},
};

#define COUNTING (sizeof(counting) / sizeof(counting[0]))

static void told(size_t i, const char *what, struct log *log)
{
	if (strcmp(log->text, counting[i].expected) != 0)
		fail_msg("%s of %s: told %s, expected %s", counting[i].name,
			 what, log->text, counting[i].expected);
}

/* Emissions and the end in one batch: the last value, then the end. */
static void a11_last_value_before_the_end(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < COUNTING; i++) {
		struct hyphae_cell *e = event(w);
		struct log *log = follow(w, keep(w, counting[i].make(w, e)));

		begin_batch(w);
		put(e, 1);
		put(e, 2);
		put(e, 3);
		complete(e);
		end_batch(w);
		told(i, "a batch", log);
	}
}

/* ---- B5, B6: the first value, and the second who follows ---------------------------- */

static int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

enum input_kind { OF_VALUE, OF_EVENT, OF_FILTER, OF_HOLD, OF_LAZY, KINDS };

static const char *const kind_names[KINDS] = {
	"a value", "an event", "a filter", "a hold", "a lazy filter",
};

struct first_case {
	struct hyphae_cell *source, *input;
};

/* All have the values 1, 2 and 3; only OF_VALUE has the first already. */
static struct first_case first_case(struct world *w, enum input_kind kind)
{
	struct first_case c;

	c.source = kind == OF_EVENT || kind == OF_HOLD ? event(w)
		   : kind == OF_VALUE		       ? source(w, 1)
						       : source(w, 0);
	c.input = c.source;
	if (kind == OF_HOLD)
		c.input = keep(w, hyphae_hold(c.source, NULL, NULL));
	if (kind == OF_FILTER || kind == OF_LAZY)
		c.input = keep(w, hyphae_filter(c.source, positive, NULL));
	if (kind == OF_LAZY)
		assert_int_equal(hyphae_cell_set_lazy(c.input), 0);
	return c;
}

static void first_case_run(struct hyphae_cell *cell, enum input_kind kind)
{
	if (kind != OF_VALUE)
		put(cell, 1);
	put(cell, 2);
	put(cell, 3);
	complete(cell);
}

static void b5_first_value_counts(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < COUNTING; i++)
		for (enum input_kind kind = 0; kind < KINDS; kind++) {
			struct first_case c = first_case(w, kind);
			struct log *log = follow(
				w, keep(w, counting[i].make(w, c.input)));

			first_case_run(c.source, kind);
			told(i, kind_names[kind], log);
		}
}

static void b5_scan_counts_the_first(void **state)
{
	struct world *w = *state;

	for (enum input_kind kind = 0; kind < KINDS; kind++) {
		struct first_case c = first_case(w, kind);
		struct log *log =
			follow(w, keep(w, hyphae_scan(c.input, &hyphae_int64,
						      &hundred, add, NULL)));

		first_case_run(c.source, kind);
		assert_log(log, kind == OF_VALUE ? "101,103,106,C"
						 : "100,101,103,106,C");
	}
}

/* Two of the same over one input, lazy or not, tell the same. */
static void b6_second_consumer(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < COUNTING; i++)
		for (enum input_kind kind = 0; kind < KINDS; kind++) {
			struct first_case c = first_case(w, kind);
			struct hyphae_cell *one = counting[i].make(w, c.input);
			struct hyphae_cell *two = counting[i].make(w, c.input);
			struct log *first = follow(w, keep(w, one));
			struct log *second = follow(w, keep(w, two));

			first_case_run(c.source, kind);
			told(i, kind_names[kind], first);
			told(i, kind_names[kind], second);
		}
}

/* O-25: one upstream for all who follow; alone, it forgets. */
static void o25_lazy_cells_are_shared(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *total =
		keep(w, hyphae_scan(a, &hyphae_int64, &zero, add, NULL));
	struct log *one, *two;

	assert_int_equal(hyphae_cell_set_lazy(total), 0);
	assert_int_equal(targets(a), 0);
	one = follow(w, total);
	put(a, 2);
	two = follow(w, total);
	assert_int_equal(targets(a), 1);
	put(a, 3);
	assert_log(one, "1,3,6");
	assert_log(two, "3,6");
	stop(one);
	assert_int_equal(targets(a), 1);
	stop(two);
	assert_int_equal(targets(a), 0);
	put(a, 4);
	one = follow(w, total);
	assert_log(one, "4");
}

/* ---- B2, B21, B13: from inside a subscriber ------------------------------------------- */

static int set_second_below_four(struct log *log,
				 const struct hyphae_signal *signal)
{
	int64_t own = 0, now = 0;

	(void)signal;
	log->code |= hyphae_int64_get(log->cell, &own);
	log->code |= hyphae_int64_get(log->arg, &now);
	return now < 4 ? hyphae_int64_set(log->arg, now + 1) : 0;
}

/* Who is told of a cell sets an input of it, and reads it. */
static void b2_set_of_an_input_returns(void **state)
{
	struct world *w = *state;
	struct towers t = {.world = w};

	for (int i = 0; i < 6; i++) {
		struct hyphae_cell *a = source(w, 1), *b = source(w, 1), *c;
		struct hyphae_cell *in[2] = {a, b};
		struct log *log;

		t.outer = a;
		t.inner[0] = t.inner[1] = b;
		c = i == 0   ? hyphae_combine(in, 2, &hyphae_int64, digits_of,
					      NULL)
		    : i == 1 ? hyphae_with_latest_from(b, &a, 1, &hyphae_int64,
						       digits_of, NULL)
		    : i == 2 ? hyphae_merge(in, 2)
		    : i == 3 ? hyphae_switch_map(a, &hyphae_int64, choose_tower,
						 &t)
		    : i == 4 ? hyphae_computed(w->graph, &hyphae_int64,
					       read_tower, &t)
			     : hyphae_merge_map(a, &hyphae_int64, 4,
						choose_tower, &t);
		log = follow_with(w, keep(w, c), set_second_below_four, b, 0);
		assert_int_equal(log->code, 0);
		assert_int_equal(log->deepest, 1);
		assert_log(log, i == 0	 ? "11,12,13,14"
				: i == 1 ? "11,21,31,41"
					 : "1,2,3,4");
	}
}

static int end_in_first_call(struct log *log,
			     const struct hyphae_signal *signal)
{
	if (signal->kind != HYPHAE_VALUE)
		return 0;
	return log->number ? hyphae_cell_fail(log->arg, -EIO, NULL)
			   : hyphae_cell_complete(log->arg);
}

static void b21_end_in_the_first_call(void **state)
{
	struct world *w = *state;

	for (int fails = 0; fails < 2; fails++)
		for (size_t i = 0; i < LINKS; i++) {
			struct hyphae_cell *a = source(w, 0);
			struct hyphae_cell *d = keep(w, links[i].make(w, a));
			struct log *log = log_new(w, end_in_first_call, a);
			struct hyphae_subscription *s;

			if (!links[i].initial || links[i].make == catch_link ||
			    links[i].make == unwrap_or_link ||
			    links[i].make == computed_link ||
			    links[i].make == switch_map_link ||
			    links[i].make == merge_map_link)
				continue;
			log->number = fails;
			s = log_subscribe(log, d, 0);
			assert_non_null(s);
			assert_log(log, fails ? "0,E(-5)!" : "0,C");
			assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
			assert_int_equal(log->drops, 1);
		}
}

static int fail_first(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	return log->calls == 1 ? -EIO : 0;
}

static void b13_failure_in_the_first_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow_with(w, a, fail_first, NULL, 0);

	assert_int_equal(w->problems, 1);
	put(a, 1);
	assert_log(log, "0,1");
	assert_int_equal(live_subs(w), 1);
}

/* ---- B9, B10 ----------------------------------------------------------------------------- */

static int fail_at_two(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)input == 2)
		return -EIO;
	return copy_one(ret, input, NULL);
}

struct tries {
	struct hyphae_cell *a;
	size_t made;
};

static struct hyphae_cell *make_try(size_t attempt, void *ctx)
{
	struct tries *tries = ctx;

	(void)attempt;
	tries->made++;
	return hyphae_map(tries->a, &hyphae_int64, fail_at_two, NULL);
}

/* A value in between is no new beginning. */
static void b9_retries_are_counted_once(void **state)
{
	struct world *w = *state;
	struct tries tries = {.a = source(w, 1)};
	struct log *log =
		follow(w, keep(w, hyphae_retry(w->graph, &hyphae_int64, 3,
					       make_try, &tries)));

	assert_int_equal(tries.made, 1);
	put(tries.a, 2);
	assert_int_equal(tries.made, 4);
	put(tries.a, 3);
	put(tries.a, 2);
	assert_int_equal(tries.made, 4);
	put(tries.a, 4);
	assert_log(log, "1,E(-5),3,E(-5),4");
	fail_cell(tries.a, -EDOM);
	assert_log(log, "1,E(-5),3,E(-5),4,E(-33)!");
	assert_int_equal(tries.made, 4);
}

static void b10_nothing_after_the_end_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);
	struct log *below = follow(w, derive(w, same, a)->cell);

	begin_batch(w);
	put(a, 1);
	complete(a);
	assert_int_equal(hyphae_int64_set(a, 2), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_complete(a), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), -ESHUTDOWN);
	assert_int_equal(value(a), 1);
	end_batch(w);
	assert_log(log, "0,1,C");
	assert_log(below, "0,1,C");
}

/* ---- B14 ------------------------------------------------------------------------------------ */

struct curious {
	int64_t number;
};

static struct hyphae_cell *curious_cell, *curious_other;
static unsigned int curious_drops, curious_wrong;

static int curious_copy(void *to, const void *from)
{
	*(struct curious *)to = *(const struct curious *)from;
	return 0;
}

/* Reads and follows the very cell whose value it was. */
static void curious_drop(void *dropped)
{
	struct hyphae_cell_info info;
	int64_t held;

	(void)dropped;
	curious_drops++;
	if (hyphae_cell_id(curious_cell) == 0)
		return;
	curious_wrong += hyphae_cell_info(curious_cell, &info) != 0;
	curious_wrong += hyphae_int64_get(curious_other, &held) != 0;
	curious_wrong += hyphae_int64_set(curious_other, 9) != -EPERM;
	curious_wrong += hyphae_cell_ref(curious_cell) != curious_cell;
	curious_wrong += hyphae_cell_unref(curious_cell) != 0;
}

static const struct hyphae_type curious_type = {
	.name = "curious",
	.size = sizeof(struct curious),
	.align = _Alignof(struct curious),
	.copy = curious_copy,
	.drop = curious_drop,
};

static int no_tick(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

static void b14_drop_reads_its_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_timer *timer;
	struct curious c = {1};

	curious_drops = curious_wrong = 0;
	curious_other = source(w, 1);
	curious_cell = hyphae_cell_new(w->graph, &curious_type, &c);
	for (c.number = 2; c.number < 5; c.number++)
		assert_int_equal(
			hyphae_cell_set(curious_cell, &curious_type, &c), 0);
	begin_batch(w);
	c.number = 6;
	assert_int_equal(hyphae_cell_set(curious_cell, &curious_type, &c), 0);
	c.number = 7;
	assert_int_equal(hyphae_cell_set(curious_cell, &curious_type, &c), 0);
	end_batch(w);
	assert_int_equal(curious_drops, 5);
	/* Where nobody propagates: a write that is refused, a timer. */
	complete(curious_cell);
	assert_int_equal(hyphae_cell_set(curious_cell, &curious_type, &c),
			 -ESHUTDOWN);
	assert_int_equal(curious_drops, 6);
	timer = hyphae_timer_start(w->graph, 1, 1, no_tick, &c, curious_drop);
	assert_int_equal(hyphae_timer_stop(timer), 0);
	assert_int_equal(curious_drops, 7);
	assert_int_equal(hyphae_cell_unref(curious_cell), 0);
	assert_int_equal(curious_drops, 8);
	assert_int_equal(curious_wrong, 0);
}

/* ---- A20, A28: timers ------------------------------------------------------------------------ */

static int tick(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	return ++*(unsigned int *)ctx == 2 ? -EIO : 0;
}

static void a20_failing_timer_stops_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_timer *timers[3];
	unsigned int ticks[3] = {0};

	for (int i = 0; i < 3; i++) {
		timers[i] = hyphae_timer_start(w->graph, FRAME, FRAME, tick,
					       &ticks[i], NULL);
		assert_non_null(timers[i]);
	}
	pass(clock, 10);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ticks[i], 10);
		assert_int_equal(hyphae_timer_stop(timers[i]), 0);
	}
	assert_int_equal(w->problems, 3);
	marble_clock_done(clock);
}

static int no_next(void *ret, void *calls)
{
	(void)ret;
	++*(unsigned int *)calls;
	return 0;
}

static int failed_next(void *ret, void *calls)
{
	no_next(ret, calls);
	return -EIO;
}

static void a28_nothing_to_iterate_over(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	unsigned int calls = 0;
	struct hyphae_cell *none_of[] = {
		keep(w, hyphae_from_array(w->graph, &hyphae_int64, NULL, 0,
					  FRAME)),
		keep(w, hyphae_from_array(w->graph, &hyphae_int64, &hundred, 0,
					  FRAME)),
		keep(w, hyphae_from_iterator(w->graph, &hyphae_int64, FRAME,
					     no_next, &calls)),
	};
	struct hyphae_cell *bad =
		keep(w, hyphae_from_iterator(w->graph, &hyphae_int64, FRAME,
					     failed_next, &calls));

	assert_int_equal(armed(w), 0);
	for (int i = 0; i < 3; i++) {
		assert_log(follow(w, none_of[i]), "C");
		assert_int_equal(code_of(none_of[i]), -ENODATA);
	}
	assert_log(follow(w, bad), "E(-5)!");
	assert_int_equal(calls, 2);
	pass(clock, 10);
	assert_int_equal(calls, 2);
	marble_clock_done(clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a3_ended_subscriber_is_given_up_at_once),
		CASE(a4_joins_are_not_torn),
		CASE(a6_old_inner_does_not_win),
		CASE(a7_merge_map_completes_once),
		CASE(a10_thirty_two_in_order),
		CASE(a11_last_value_before_the_end),
		CASE(a12_inner_that_stays),
		CASE(a13_dropped_results_are_freed),
		CASE(a20_failing_timer_stops_nothing),
		CASE(a27_rewired_to_a_higher_inner),
		CASE(a28_nothing_to_iterate_over),
		CASE(b2_set_of_an_input_returns),
		CASE(b5_first_value_counts),
		CASE(b5_scan_counts_the_first),
		CASE(b6_second_consumer),
		CASE(o25_lazy_cells_are_shared),
		CASE(b9_retries_are_counted_once),
		CASE(b10_nothing_after_the_end_in_a_batch),
		CASE(b13_failure_in_the_first_call),
		CASE(b14_drop_reads_its_cell),
		CASE(b21_end_in_the_first_call),
	};

	return cmocka_run_group_tests_name("rust faults", tests, NULL, NULL);
}
