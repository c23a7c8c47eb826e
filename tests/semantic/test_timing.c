/* SPDX-License-Identifier: MIT */
/* Group T: operators that have to do with time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marbles.h"

#include "base/alloc.h"

/* An operator of the case, for marble(). */
#define OP(name_, expression)                                                  \
	static struct hyphae_cell *name_(struct hyphae_cell *input)            \
	{                                                                      \
		return expression;                                             \
	}                                                                      \
	struct semantic_##name_##_needs_semicolon

OP(debounce0, hyphae_debounce(input, 0));
OP(debounce1, hyphae_debounce(input, 1 * FRAME));
OP(debounce3, hyphae_debounce(input, 3 * FRAME));
OP(debounce5, hyphae_debounce(input, 5 * FRAME));
OP(leading4, hyphae_throttle(input, 4 * FRAME, HYPHAE_LEADING));
OP(trailing4, hyphae_throttle(input, 4 * FRAME, HYPHAE_TRAILING));
OP(both4, hyphae_throttle(input, 4 * FRAME, HYPHAE_BOTH_EDGES));
OP(audit3, hyphae_audit(input, 3 * FRAME));
OP(sample4, hyphae_sample_time(input, 4 * FRAME));
OP(delay0, hyphae_delay(input, 0, 8, HYPHAE_OVERFLOW_FAIL));
OP(delay3, hyphae_delay(input, 3 * FRAME, 8, HYPHAE_OVERFLOW_FAIL));
OP(delay3_oldest,
   hyphae_delay(input, 3 * FRAME, 2, HYPHAE_OVERFLOW_DROP_OLDEST));
OP(delay3_newest,
   hyphae_delay(input, 3 * FRAME, 2, HYPHAE_OVERFLOW_DROP_NEWEST));
OP(delay3_latest, hyphae_delay(input, 3 * FRAME, 99, HYPHAE_OVERFLOW_LATEST));
OP(delay3_fail, hyphae_delay(input, 3 * FRAME, 2, HYPHAE_OVERFLOW_FAIL));
OP(timeout4, hyphae_timeout(input, 4 * FRAME));
OP(buffer3, hyphae_buffer_time(input, 3 * FRAME, 8, &hyphae_string, marble_join,
			       MARBLE_TYPE(input)));
OP(buffer9_of_2, hyphae_buffer_time(input, 9 * FRAME, 2, &hyphae_string,
				    marble_join, MARBLE_TYPE(input)));
OP(buffer9_of_1, hyphae_buffer_time(input, 9 * FRAME, 1, &hyphae_string,
				    marble_join, MARBLE_TYPE(input)));

/* ---- debounce ----------------------------------------------------------- */

static void t01_debounce(void **state)
{
	marble_events(*state, debounce3, "-a----b-c------|",
		      "----a------c---|");
	/* What it holds at first counts as a value that came then. */
	marble_values(*state, debounce3, "za----b-c------|",
		      "----a------c---|");
}

static void t02_debounce_flushes_at_completion(void **state)
{
	marble_events(*state, debounce5, "-a-b|", "----(b|)");
	marble_values(*state, debounce5, "za-b|", "----(b|)");
	marble_events(*state, debounce5, "----|", "----|");
	/* A value and the end in one frame, which is two waves. */
	marble_events(*state, debounce5, "-a-(b|)", "---(b|)");
}

static void t03_debounce_does_not_repeat(void **state)
{
	marble(*state, debounce1, "a----|", "-a---|");
	marble(*state, debounce1, "a-----", "-a");
	/* Equal to what was told: an event is told again, a value is not. */
	marble_events(*state, debounce1, "-a--(ba)", "--a--a");
	marble_values(*state, debounce1, "a--(ba)", "-a");
}

static void t04_debounce_and_error(void **state)
{
	int code = marble_events(*state, debounce5, "-a-#", "---#");

	assert_int_equal(code, -EIO);
	marble(*state, debounce5, "a--#", "---#");
	/* To be recovered from: what heals it waits as anything else does. */
	marble_events(*state, debounce3, "-a-!--b----|", "---!-----b-|");
	marble_values(*state, debounce3, "ab-!--b----|", "---!-----b-|");
	marble_events(*state, debounce3, "-a-!-b|", "---!--(b|)");
	marble_events(*state, debounce3, "-a-!--|", "---!--|");
}

static int set_two(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 1)
		return hyphae_int64_set(log->arg, 2);
	return 0;
}

static void t05_debounce_and_reentrancy(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *d = keep(w, hyphae_debounce(a, FRAME));
	struct log *seen;

	pass(clock, 1);
	assert_int_equal(value(d), 0);
	seen = follow_with(w, d, set_two, a, HYPHAE_SKIP_INITIAL);
	put(a, 1);
	pass(clock, 1);
	assert_log(seen, "1");
	assert_int_equal(armed(w), 1);
	pass(clock, 1);
	assert_log(seen, "1,2");
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* With no time to wait both arrive, at the same moment. */
static void t05_debounce_of_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *d = keep(w, hyphae_debounce(a, 0));
	struct log *seen = follow_with(w, d, set_two, a, 0);

	assert_log(seen, "");
	put(a, 1);
	assert_log(seen, "");
	pass(clock, 0);
	assert_log(seen, "1,2");
	marble_clock_done(clock);
	marble(w, debounce0, "a--(bc)", "a--c");
}

/* Twice: what the graph keeps for good is there after the first time. */
static void t06_unsubscribe_cancels(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_string));
	long live[2];

	for (int i = 0; i < 2; i++) {
		struct hyphae_cell *d = hyphae_debounce(e, 3 * FRAME);
		struct log *seen = follow(w, d);

		pass(clock, 1);
		assert_int_equal(hyphae_string_set(e, "a"), 0);
		assert_int_equal(armed(w), 1);
		pass(clock, 1);
		stop(seen);
		assert_int_equal(hyphae_cell_unref(d), 0);
		assert_int_equal(armed(w), 0);
		assert_int_equal(live_cells(w), 1);
		live[i] = hy_alloc_live();
		pass(clock, 100);
		assert_log(seen, "");
	}
	/* The event has got one spare box more. */
	assert_int_equal(live[1], live[0] + 1);
	marble_clock_done(clock);
}

static void t06_lazy_unsubscribe_cancels(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *d = keep(w, hyphae_debounce(a, 3 * FRAME));
	struct log *seen;

	assert_int_equal(hyphae_cell_set_lazy(d), 0);
	assert_int_equal(armed(w), 0);
	seen = follow(w, d);
	assert_int_equal(armed(w), 1);
	pass(clock, 2);
	stop(seen);
	assert_int_equal(armed(w), 0);
	assert_int_equal(targets(a), 0);
	put(a, 2);
	pass(clock, 100);
	seen = follow(w, d);
	pass(clock, 2);
	assert_log(seen, "");
	pass(clock, 1);
	assert_log(seen, "2");
	marble_clock_done(clock);
}

/* ---- throttle, audit, sample_time ------------------------------------------ */

static void t07_throttle_leading(void **state)
{
	marble_events(*state, leading4, "-a-b--c-d|", "-a----c--|");
	/* At the moment when the window ends it is over. */
	marble_events(*state, leading4, "-a---b", "-a---b");
}

static void t07_throttle_trailing(void **state)
{
	marble_events(*state, trailing4, "-a-b--c-d|", "-----b---(d|)");
	marble_events(*state, trailing4, "-a----------b|", "-----a-------(b|)");
}

static void t07_throttle_both(void **state)
{
	marble_events(*state, both4, "-a-b--c-d----e--|", "-a---b---d---e--|");
	marble_events(*state, both4, "-a--------b--|", "-a--------b--|");
	marble_events(*state, both4, "-a-b|", "-a--(b|)");
}

/* What it holds at first is told, and begins no window. */
static void t07_throttle_of_a_value(void **state)
{
	marble_values(*state, leading4, "ab-c--d--", "ab----d");
	marble_values(*state, both4, "ab-c-----d", "ab---c---d");
	marble_values(*state, trailing4, "ab-c------", "a----c");
	marble_values(*state, leading4, "a(bc)---d", "ab---d");
}

static void t07_throttle_and_error(void **state)
{
	marble_events(*state, both4, "-ab-#", "-a--#");
	marble_events(*state, both4, "-ab-!c---d", "-a--!c---d");
	marble_events(*state, both4, "-ab-!|", "-a--!|");
}

static void t08_audit(void **state)
{
	marble(*state, audit3, "a-bc--d-----|", "---b--c--d--|");
	/* What was told is not told again at the end. */
	marble(*state, audit3, "a----|", "---a-|");
	marble(*state, audit3, "ab|", "--(b|)");
	marble(*state, audit3, "ab#", "--#");
	marble(*state, audit3, "ab!---c", "--!------c");
}

static void t11_sample_time(void **state)
{
	marble_events(*state, sample4, "-a--b------c-d|", "----a---b---c-(d|)");
	marble_values(*state, sample4, "za--b------c--|", "----a---b---c-|");
	marble(*state, sample4, "a----------------|", "----a------------|");
	marble(*state, sample4, "ab#", "--#");
	marble(*state, sample4, "ab!--c---", "--!-----c");
}

/* No timer runs while nothing waits. */
static void t11_no_timer_for_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *cells[] = {
		keep(w, debounce3(a)), keep(w, audit3(a)), keep(w, sample4(a)),
		keep(w, both4(a)),     keep(w, delay3(a)), keep(w, buffer3(a)),
	};

	assert_int_equal(armed(w), 5);
	pass(clock, 100);
	assert_int_equal(armed(w), 0);
	for (size_t i = 0; i + 1 < sizeof(cells) / sizeof(cells[0]); i++)
		assert_int_equal(value(cells[i]), 1);
	put(a, 2);
	assert_int_equal(armed(w), 6);
	pass(clock, 100);
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* ---- delay --------------------------------------------------------------- */

static void t09_delay(void **state)
{
	marble_events(*state, delay3, "-a-b|", "----a-b|");
	marble_values(*state, delay3, "za-b|", "---za-b|");
	marble_events(*state, delay3, "-aa-a|", "----aa-a|");
	marble_events(*state, delay3, "-(aba)--c(d|)", "----(aba)--c(d|)");
	marble_events(*state, delay3, "|", "---|");
	marble(*state, delay0, "ab-c(de|)", "ab-c(de|)");
}

static void t10_delay_and_error(void **state)
{
	assert_int_equal(marble_events(*state, delay3, "-a-#", "---#"), -EIO);
	marble(*state, delay3, "ab#", "--#");
	/* To be recovered from: in its turn. */
	marble_events(*state, delay3, "a-!b!!-c|", "---a-!b!!-c|");
	marble_values(*state, delay3, "a-!b!!-c|", "---a-!b!--c|");
}

static void t10_delay_overflow(void **state)
{
	marble_events(*state, delay3_oldest, "abcd----|", "-----cd----|");
	marble_events(*state, delay3_oldest, "(abcd)----|", "---(cd)----|");
	marble_events(*state, delay3_newest, "abcd----|", "---ab-d----|");
	marble_events(*state, delay3_newest, "(abcd)----|", "---(ab)----|");
	marble_events(*state, delay3_latest, "abc----|", "-----c----|");
	assert_int_equal(
		marble_events(*state, delay3_fail, "a-b----c", "---a-b----c"),
		0);
	assert_int_equal(marble_events(*state, delay3_fail, "a-bc", "---a-bc"),
			 0);
	assert_int_equal(marble_events(*state, delay3_fail, "abcd", "--#"),
			 -EOVERFLOW);
}

static void t10_delay_counts_what_it_drops(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *d =
		keep(w, hyphae_delay(e, FRAME, 2, HYPHAE_OVERFLOW_DROP_OLDEST));
	struct log *seen = follow(w, d);
	uint64_t dropped = 99;

	for (int64_t i = 1; i <= 7; i++)
		put(e, i);
	assert_int_equal(hyphae_delay_dropped(d, &dropped), 0);
	assert_int_equal(dropped, 5);
	assert_int_equal(hyphae_cell_fail(e, -EIO, NULL), 0);
	assert_log(seen, "E(-5)!");
	assert_int_equal(hyphae_delay_dropped(d, &dropped), 0);
	assert_int_equal(dropped, 7);
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* Time jumps over several: each is told, in order. */
static void t09_late_but_in_order(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = hyphae_clock_new_external(0);
	struct hyphae_cell *e, *d;
	struct log *seen;

	assert_int_equal(hyphae_graph_set_clock(w->graph, clock), 0);
	e = keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	d = keep(w, hyphae_delay(e, 10, 8, HYPHAE_OVERFLOW_FAIL));
	seen = follow(w, d);
	for (int64_t i = 1; i <= 5; i++) {
		put(e, i);
		assert_int_equal(hyphae_clock_set(clock, (uint64_t)i), 0);
	}
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_int_equal(hyphae_clock_set(clock, 12), 0);
	assert_log(seen, "1,2,3");
	assert_int_equal(hyphae_clock_set(clock, 100), 0);
	assert_log(seen, "1,2,3,4,5,C");
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* Its timer is started for the first that waits, not again for the next. */
static void t09_delay_keeps_its_turn(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *d =
		keep(w, hyphae_delay(e, 10, 8, HYPHAE_OVERFLOW_FAIL));
	struct hyphae_cell *after, *both[2];
	struct log *seen;

	put(e, 7);
	after = keep(w, hyphae_after(w->graph, 10));
	both[0] = after;
	both[1] = d;
	seen = follow(w, keep(w, hyphae_merge(both, 2)));
	assert_int_equal(hyphae_clock_advance(clock, 3), 0);
	put(e, 8);
	assert_int_equal(hyphae_clock_advance(clock, 10), 0);
	assert_log(seen, "7,1,8");
	marble_clock_done(clock);
}

/* ---- timeout --------------------------------------------------------------- */

static void t12_timeout(void **state)
{
	assert_int_equal(
		marble_events(*state, timeout4, "-a--b------c", "-a--b---#"),
		-ETIMEDOUT);
	assert_int_equal(
		marble_values(*state, timeout4, "ab--c------c", "ab--c---#"),
		-ETIMEDOUT);
	marble_events(*state, timeout4, "-----", "----#");
	marble(*state, timeout4, "a--b|", "a--b|");
	marble(*state, timeout4, "a--#", "a--#");
	marble(*state, timeout4, "a--!--b-----", "a--!--b---#");
}

static int but_13(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value == 13 ? -EIO : 1;
}

/* That an error is over, but with no value in its place, is silence. */
static void t12_timeout_hears_no_loss(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *some = keep(w, hyphae_filter(a, but_13, NULL));
	struct hyphae_cell *few = keep(w, hyphae_skip(some, 9));
	struct hyphae_cell *t = keep(w, timeout4(few));
	struct log *seen = follow(w, t);
	int64_t got;

	pass(clock, 1);
	put(a, 13);
	assert_log(seen, "E(-5)");
	pass(clock, 1);
	put(a, 2);
	assert_int_equal(hyphae_int64_get(t, &got), -ENODATA);
	pass(clock, 2);
	assert_log(seen, "E(-5)");
	pass(clock, 1);
	assert_log(seen, "E(-5),E(-110)!");
	marble_clock_done(clock);
}

static void t12_timeout_lets_go(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *t = keep(w, timeout4(a));
	struct log *seen = follow(w, t);

	assert_int_equal(targets(a), 1);
	pass(clock, 4);
	assert_log(seen, "1,E(-110)!");
	assert_int_equal(targets(a), 0);
	assert_int_equal(armed(w), 0);
	put(a, 2);
	assert_log(seen, "1,E(-110)!");
	marble_clock_done(clock);
}

/* ---- buffer_time ------------------------------------------------------------ */

static void t14_buffer_time(void **state)
{
	marble(*state, buffer3, "a-b-c|", "---[ab]-(c|)");
	/* Nothing for windows in which nothing came; they stay in step. */
	marble(*state, buffer3, "a----------b--|", "---a--------b-|");
	marble(*state, buffer3, "ab--------cd-|", "---[ab]--------[cd]|");
}

static void t14_buffer_that_is_full(void **state)
{
	marble_events(*state, buffer9_of_2, "-abc------", "--[ab]------c");
	marble_events(*state, buffer9_of_2, "(abc|)", "([ab]c|)");
	marble(*state, buffer9_of_1, "ab-|", "ab-|");
}

static void t14_buffer_and_error(void **state)
{
	marble(*state, buffer3, "ab#", "--#");
	/* What was gathered waits until the input has a value again. */
	marble(*state, buffer3, "ab!---c--", "--!------[abc]");
	marble(*state, buffer3, "ab!---|", "--!---([ab]|)");
}

static int fails_once(void *ret, const void *const *values, size_t count,
		      void *ctx)
{
	int *calls = ctx;

	if (++*calls == 1)
		return -ENOTSUP;
	*(int64_t *)ret = 0;
	for (size_t i = 0; i < count; i++)
		*(int64_t *)ret += *(const int64_t *)values[i];
	return 0;
}

static void t14_buffer_whose_function_fails(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	int calls = 0;
	struct hyphae_cell *b =
		keep(w, hyphae_buffer_time(e, FRAME, 4, &hyphae_int64,
					   fails_once, &calls));
	struct log *seen = follow(w, b);

	put(e, 1);
	pass(clock, 1);
	assert_log(seen, "E(-95)");
	put(e, 2);
	put(e, 3);
	pass(clock, 1);
	assert_log(seen, "E(-95),5");
	calls = 0;
	put(e, 4);
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_log(seen, "E(-95),5,E(-95),C");
	marble_clock_done(clock);
}

/* ---- by the clock alone -------------------------------------------------------- */

struct ticks {
	struct hyphae_clock *clock;
	char text[128];
};

static int note_time(struct log *log, const struct hyphae_signal *signal)
{
	struct ticks *ticks = log->arg;
	uint64_t now = 0;

	(void)signal;
	hyphae_clock_now(ticks->clock, &now);
	snprintf(ticks->text + strlen(ticks->text),
		 sizeof(ticks->text) - strlen(ticks->text), "%llu ",
		 (unsigned long long)(now / FRAME));
	return 0;
}

static void t16_interval_and_a_long_jump(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct ticks ticks = {.clock = clock};
	struct hyphae_cell *i = hyphae_interval(w->graph, 10 * FRAME, 0);
	struct log *seen = follow_with(w, i, note_time, &ticks, 0);

	pass(clock, 35);
	assert_log(seen, "0,1,2,3");
	assert_string_equal(ticks.text, "0 10 20 30 ");
	pass(clock, 5);
	assert_log(seen, "0,1,2,3,4");
	stop(seen);
	assert_int_equal(hyphae_cell_unref(i), 0);
	assert_int_equal(armed(w), 0);
	pass(clock, 100);
	marble_clock_done(clock);
}

static void t16_interval_that_coalesces(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct ticks ticks = {.clock = clock};
	struct hyphae_cell *i =
		keep(w, hyphae_interval(w->graph, 10 * FRAME,
					HYPHAE_INTERVAL_COALESCE));
	struct log *seen = follow_with(w, i, note_time, &ticks, 0);

	pass(clock, 35); /* from 0 to 3: 2 were missed */
	assert_log(seen, "0,3");
	assert_string_equal(ticks.text, "0 30 ");
	pass(clock, 5);
	assert_log(seen, "0,3,4");
	pass(clock, 10);
	assert_log(seen, "0,3,4,5");
	marble_clock_done(clock);
}

static void t16_interval_lazy(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *i = keep(w, hyphae_interval(w->graph, FRAME, 0));
	struct log *seen;

	assert_int_equal(armed(w), 1);
	pass(clock, 2);
	assert_int_equal(value(i), 2);
	assert_int_equal(hyphae_cell_set_lazy(i), 0);
	assert_int_equal(armed(w), 0);
	pass(clock, 2);
	seen = follow(w, i);
	pass(clock, 2);
	assert_log(seen, "0,1,2");
	stop(seen);
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

FN(doubled, in[0] * 2);

/* What follows it is let go of: nothing is counted any more. */
static void t16_interval_is_cancelled(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *i = hyphae_interval(w->graph, FRAME, 0);
	struct node *m = derive(w, doubled, i);

	assert_int_equal(hyphae_cell_unref(i), 0);
	pass(clock, 3);
	assert_int_equal(m->runs, 4);
	assert_int_equal(value(m->cell), 6);
	let_go(w, m->cell);
	assert_int_equal(armed(w), 0);
	pass(clock, 100);
	assert_int_equal(m->runs, 4);
	marble_clock_done(clock);
}

/* Its first tick is over the end of time: it never comes. */
static void t16_interval_beyond_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *i =
		keep(w, hyphae_interval(w->graph, UINT64_MAX / 2 + 2, 0));
	struct log *seen = follow(w, i);

	assert_int_equal(hyphae_clock_set(clock, UINT64_MAX), 0);
	assert_log(seen, "0,1");
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

static void t_after(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *t = keep(w, hyphae_after(w->graph, 3 * FRAME));
	struct log *seen = follow(w, t);
	int64_t held;

	assert_int_equal(hyphae_int64_get(t, &held), -ENODATA);
	pass(clock, 2);
	assert_log(seen, "");
	pass(clock, 1);
	assert_log(seen, "1,C");
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

static void t_from_array(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	const int64_t values[] = {1, 2, 2, 3};
	struct ticks ticks = {.clock = clock};
	struct hyphae_cell *c =
		keep(w, hyphae_from_array(w->graph, &hyphae_int64, values, 4,
					  FRAME));
	struct log *seen = follow_with(w, c, note_time, &ticks, 0);

	assert_log(seen, "1");
	pass(clock, 10);
	assert_log(seen, "1,2,3,C");
	assert_string_equal(ticks.text, "0 1 3 4 ");
	assert_int_equal(armed(w), 0);
	c = keep(w, hyphae_from_array(w->graph, &hyphae_int64, NULL, 0, FRAME));
	seen = follow(w, c);
	assert_log(seen, "C");
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

static void t_from_array_of_text(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	char first[] = "spore";
	const char *values[] = {first, "root"};
	struct hyphae_cell *c =
		keep(w, hyphae_from_array(w->graph, &hyphae_string, values, 2,
					  FRAME));
	char *text = NULL;

	first[0] = 'x'; /* it has a copy */
	assert_int_equal(hyphae_string_get(c, &text), 0);
	assert_string_equal(text, "spore");
	free(text);
	pass(clock, 1);
	assert_int_equal(hyphae_string_get(c, &text), 0);
	assert_string_equal(text, "root");
	free(text);
	/* Lazy, it begins again. */
	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	assert_int_equal(armed(w), 0);
	struct hyphae_cell *m = keep(w, hyphae_debounce(c, 100 * FRAME));

	assert_int_equal(hyphae_string_get(c, &text), 0);
	assert_string_equal(text, "spore");
	free(text);
	pass(clock, 2);
	assert_int_equal(hyphae_string_get(m, &text), 0);
	assert_string_equal(text, "root");
	free(text);
	marble_clock_done(clock);
}

static int count_down(void *ret, void *ctx)
{
	int64_t *left = ctx;

	if (*left < 0)
		return (int)*left;
	*(int64_t *)ret = *left;
	return (*left)-- ? 1 : 0;
}

static void t_from_iterator(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	int64_t left = 3;
	struct hyphae_cell *c =
		keep(w, hyphae_from_iterator(w->graph, &hyphae_int64, FRAME,
					     count_down, &left));
	struct log *seen = follow(w, c);

	pass(clock, 1);
	assert_log(seen, "3,2");
	pass(clock, 9);
	assert_log(seen, "3,2,1,C");
	assert_int_equal(left, -1); /* asked four times */
	left = 0;
	c = keep(w, hyphae_from_iterator(w->graph, &hyphae_int64, FRAME,
					 count_down, &left));
	seen = follow(w, c);
	assert_log(seen, "C");
	left = 1;
	c = keep(w, hyphae_from_iterator(w->graph, &hyphae_int64, FRAME,
					 count_down, &left));
	seen = follow(w, c);
	left = -ENOTSUP;
	pass(clock, 9);
	assert_log(seen, "1,E(-95)!");
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* ---- all of them ------------------------------------------------------------- */

/* In a batch a value cell brings its last value, an event each. */
static void t_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct log *of_a = follow(w, keep(w, delay3(a)));
	struct log *of_e = follow(w, keep(w, delay3(e)));

	pass(clock, 3);
	begin_batch(w);
	for (int64_t i = 1; i <= 3; i++) {
		put(a, i);
		put(e, i);
	}
	end_batch(w);
	pass(clock, 3);
	assert_log(of_a, "0,3");
	assert_log(of_e, "1,2,3");
	marble_clock_done(clock);
}

static struct hyphae_clock *begin_clock(struct world *w, uint64_t now)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(now);

	assert_non_null(clock);
	assert_int_equal(hyphae_graph_set_clock(w->graph, clock), 0);
	return clock;
}

/* A value comes, is told `ns` later, and then the clock goes. */
static void told_after(struct hyphae_clock *clock, struct hyphae_cell *e,
		       int64_t value, uint64_t ns, const struct log *seen)
{
	unsigned long calls = seen->calls;

	put(e, value);
	assert_int_equal(hyphae_clock_advance(clock, ns - 1), 0);
	assert_int_equal(seen->calls, calls);
	assert_int_equal(hyphae_clock_advance(clock, 1), 0);
	assert_int_equal(seen->calls, calls + 1);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* Periods are counted on, or from the value if they have yet to begin. */
static void t_periods_on_another_clock(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = begin_clock(w, 1005);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *sampled = keep(w, hyphae_sample_time(e, 10));
	struct log *seen = follow(w, sampled);

	told_after(clock, e, 1, 10, seen);
	told_after(begin_clock(w, 2001), e, 2, 4, seen);
	told_after(begin_clock(w, 3), e, 3, 10, seen);
	told_after(begin_clock(w, 17), e, 4, 6, seen);
	assert_log(seen, "1,2,3,4");
}

static void t16_interval_at_the_end_of_time(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = begin_clock(w, UINT64_MAX - 25);
	struct log *some, *none;

	some = follow(w, keep(w, hyphae_interval(w->graph, 10, 0)));
	none = follow(w, keep(w, hyphae_interval(w->graph, 26, 0)));
	assert_int_equal(armed(w), 1);
	assert_int_equal(hyphae_clock_advance(clock, 25), 0);
	assert_log(some, "0,1,2");
	assert_log(none, "0");
	assert_int_equal(armed(w), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* An input that has ended before, with and without a value. */
static void t_input_has_ended(void **state)
{
	static const marble_op ops[] = {debounce3, leading4, trailing4, both4,
					audit3,	   sample4,  timeout4};
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 7);
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *f = source(w, 7);

	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_int_equal(hyphae_cell_fail(f, -EIO, NULL), 0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		assert_log(follow(w, keep(w, ops[i](a))), "7,C");
		assert_log(follow(w, keep(w, ops[i](e))), "C");
		assert_log(follow(w, keep(w, ops[i](f))), "E(-5)!");
	}
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* A subscriber gives up the cell that calls it. */
static int release_it(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	return hyphae_cell_unref(log->cell) ? -EINVAL : HYPHAE_DETACH;
}

static void t_released_by_its_subscriber(void **state)
{
	static const marble_op ops[] = {debounce3, trailing4, audit3, sample4,
					delay3};
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct log *seen = follow_with(w, ops[i](a), release_it, NULL,
					       HYPHAE_SKIP_INITIAL);

		put(a, 2 + (int64_t)i);
		pass(clock, 20);
		assert_int_equal(seen->calls, 1);
		assert_int_equal(targets(a), 0);
		assert_int_equal(armed(w), 0);
	}
	marble_clock_done(clock);
}

/* The function of a buffer releases it. */
struct suicide {
	struct hyphae_cell *cell;
	int r;
};

static int release_me(void *ret, const void *const *values, size_t count,
		      void *ctx)
{
	struct suicide *s = ctx;

	(void)values;
	(void)count;
	s->r = hyphae_cell_unref(s->cell);
	*(int64_t *)ret = 1;
	return 0;
}

static void t_released_in_its_own_function(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 1);
	struct suicide s = {.r = 1};

	s.cell = hyphae_buffer_time(a, FRAME, 4, &hyphae_int64, release_me, &s);
	assert_non_null(s.cell);
	pass(clock, 1);
	assert_int_equal(s.r, 0);
	assert_int_equal(targets(a), 0);
	assert_int_equal(armed(w), 0);
	pass(clock, 9);
	marble_clock_done(clock);
}

/* The graph goes while timers are armed and values wait. */
static void t_graph_is_freed(void **state)
{
	static const marble_op ops[] = {debounce3, trailing4, audit3, sample4,
					delay3,	   timeout4,  buffer3};
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_clock *clock = hyphae_clock_new_virtual(0);
	const char *values[] = {"a", "b"};
	struct hyphae_cell *s;

	(void)state;
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	s = hyphae_string_new(graph, "spore");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		assert_non_null(ops[i](s));
	assert_non_null(hyphae_interval(graph, FRAME, 0));
	assert_non_null(hyphae_after(graph, FRAME));
	assert_non_null(
		hyphae_from_array(graph, &hyphae_string, values, 2, FRAME));
	assert_int_equal(hyphae_string_set(s, "root"), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_advance(clock, 100 * FRAME), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(t01_debounce),
		CASE(t02_debounce_flushes_at_completion),
		CASE(t03_debounce_does_not_repeat),
		CASE(t04_debounce_and_error),
		CASE(t05_debounce_and_reentrancy),
		CASE(t05_debounce_of_nothing),
		CASE(t06_unsubscribe_cancels),
		CASE(t06_lazy_unsubscribe_cancels),
		CASE(t07_throttle_leading),
		CASE(t07_throttle_trailing),
		CASE(t07_throttle_both),
		CASE(t07_throttle_of_a_value),
		CASE(t07_throttle_and_error),
		CASE(t08_audit),
		CASE(t09_delay),
		CASE(t09_late_but_in_order),
		CASE(t09_delay_keeps_its_turn),
		CASE(t10_delay_and_error),
		CASE(t10_delay_overflow),
		CASE(t10_delay_counts_what_it_drops),
		CASE(t11_sample_time),
		CASE(t11_no_timer_for_nothing),
		CASE(t12_timeout),
		CASE(t12_timeout_hears_no_loss),
		CASE(t12_timeout_lets_go),
		CASE(t14_buffer_time),
		CASE(t14_buffer_that_is_full),
		CASE(t14_buffer_and_error),
		CASE(t14_buffer_whose_function_fails),
		CASE(t16_interval_and_a_long_jump),
		CASE(t16_interval_that_coalesces),
		CASE(t16_interval_lazy),
		CASE(t16_interval_is_cancelled),
		CASE(t16_interval_beyond_the_end),
		CASE(t_after),
		CASE(t_from_array),
		CASE(t_from_array_of_text),
		CASE(t_from_iterator),
		CASE(t_batch),
		CASE(t_periods_on_another_clock),
		CASE(t16_interval_at_the_end_of_time),
		CASE(t_input_has_ended),
		CASE(t_released_by_its_subscriber),
		CASE(t_released_in_its_own_function),
		CASE(t_graph_is_freed),
	};

	return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
