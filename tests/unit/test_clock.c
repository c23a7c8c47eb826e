/* SPDX-License-Identifier: MIT */
/*
 * Clocks and timers.  Time is virtual or told by the test, never measured.
 *
 * Timers write down what they see; the test judges it afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/sync.h"
#include "time/timer.h"

/* A graph that follows a clock, and what its timers wrote down. */
struct room {
	struct hyphae_clock *clock;
	struct hyphae_graph *graph;
	char text[512]; /* "5a 10b": when and who */
	unsigned int problems;
	int code;
};

static uint64_t now(struct room *room)
{
	uint64_t ns = 0;

	hyphae_clock_now(room->clock, &ns);
	return ns;
}

static void note(struct room *room, const char *who)
{
	size_t length = strlen(room->text);

	snprintf(room->text + length, sizeof(room->text) - length, "%s%llu%s",
		 length ? " " : "", (unsigned long long)now(room), who);
}

static size_t timers(struct room *room)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(room->graph, &counts), 0);
	return counts.timers;
}

static void problem(const struct hyphae_problem *problem, void *ctx)
{
	struct room *room = ctx;

	room->problems++;
	room->code = problem->code;
}

static void build(struct room *room, unsigned int flags)
{
	*room = (struct room){.clock = hyphae_clock_new_virtual(0)};
	room->graph = hyphae_graph_new(flags);
	assert_non_null(room->clock);
	assert_non_null(room->graph);
	assert_int_equal(hyphae_graph_set_clock(room->graph, room->clock), 0);
	assert_int_equal(hyphae_graph_on_problem(room->graph, problem, room),
			 0);
}

static void raze(struct room *room)
{
	assert_int_equal(timers(room), 0);
	assert_int_equal(hyphae_graph_check_idle(room->graph), 0);
	assert_int_equal(hyphae_graph_free(room->graph), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), -ESTALE);
}

static int set_up(void **state, unsigned int flags)
{
	struct room *room = malloc(sizeof(*room));

	assert_non_null(room);
	build(room, flags);
	*state = room;
	return 0;
}

static int shared(void **state)
{
	return set_up(state, 0);
}

static int single(void **state)
{
	return set_up(state, HYPHAE_SINGLE_THREAD);
}

static int eager(void **state)
{
	return set_up(state, HYPHAE_EAGER);
}

static int tear_down(void **state)
{
	raze(*state);
	free(*state);
	return 0;
}

/* ---- the timers of operators ---------------------------------------------- */

struct alarm {
	struct hy_timer timer;
	struct room *room;
	const char *name;
	struct hy_derived *wakes;
	uint64_t again_after;
	unsigned int again;
};

static void ring(struct hy_graph *g, struct hy_timer *t)
{
	struct alarm *alarm = container_of(t, struct alarm, timer);

	note(alarm->room, alarm->name);
	if (alarm->wakes)
		hy_wake(g, alarm->wakes);
	if (alarm->again) {
		alarm->again--;
		hy_timer_arm(g, t, hy_after(hy_now(g), alarm->again_after));
	}
}

static int arm(struct alarm *alarm, struct room *room, const char *name,
	       uint64_t due)
{
	struct hy_graph *g = hy_graph(room->graph);
	int r;

	alarm->timer.fire = ring;
	alarm->room = room;
	alarm->name = name;
	hy_lock(g);
	r = hy_timer_arm(g, &alarm->timer, due);
	hy_unlock(g);
	return r;
}

static void disarm(struct alarm *alarm)
{
	struct hy_graph *g = hy_graph(alarm->room->graph);

	hy_lock(g);
	hy_timer_disarm(g, &alarm->timer);
	hy_unlock(g);
}

static void ordered_by_time_then_arming(void **state)
{
	struct room *room = *state;
	struct alarm a = {0}, b = {0}, c = {0}, d = {0};

	assert_int_equal(arm(&a, room, "a", 7), 0);
	assert_int_equal(arm(&b, room, "b", 5), 0);
	assert_int_equal(arm(&c, room, "c", 7), 0);
	assert_int_equal(arm(&d, room, "d", 7), 0);
	assert_int_equal(arm(&a, room, "a", 7), 0); /* anew: behind d */
	assert_int_equal(timers(room), 4);
	disarm(&c);
	disarm(&c);
	assert_int_equal(timers(room), 3);
	assert_int_equal(hyphae_clock_advance(room->clock, 6), 0);
	assert_string_equal(room->text, "5b");
	assert_int_equal(now(room), 6);
	assert_int_equal(hyphae_clock_advance(room->clock, 1), 0);
	assert_string_equal(room->text, "5b 7d 7a");
}

struct counted {
	unsigned int runs;
};

static int run_counted(void *ret, const void *input, void *ctx)
{
	struct counted *counted = ctx;

	counted->runs++;
	*(int64_t *)ret = *(const int64_t *)input + counted->runs;
	return 0;
}

static int count_calls(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void woken_cells_propagate(void **state)
{
	struct room *room = *state;
	struct counted counted = {0};
	struct hyphae_cell *a = hyphae_int64_new(room->graph, 10);
	struct hyphae_cell *m =
		hyphae_map(a, &hyphae_int64, run_counted, &counted);
	unsigned int calls = 0;
	struct hyphae_subscription *s =
		hyphae_subscribe(m, count_calls, &calls);
	struct alarm alarm = {.again = 2, .again_after = 5};
	int64_t value = 0;

	alarm.wakes = hy_derived_of(hy_cell(m));
	assert_int_equal(calls, 1);
	assert_int_equal(arm(&alarm, room, "", 5), 0);
	assert_int_equal(hyphae_clock_advance(room->clock, 100), 0);
	assert_string_equal(room->text, "5 10 15");
	assert_int_equal(now(room), 100);
	assert_int_equal(counted.runs, 4);
	assert_int_equal(calls, 4);
	assert_int_equal(hyphae_int64_get(m, &value), 0);
	assert_int_equal(value, 14);
	hyphae_unsubscribe(s);
	hyphae_cell_unref(m);
	hyphae_cell_unref(a);
}

#define IN(fn, world)                                                          \
	{                                                                      \
#fn ", " #world, fn, world, tear_down, NULL                    \
	}
#define TEST(fn) IN(fn, shared), IN(fn, single), IN(fn, eager)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ordered_by_time_then_arming),
		TEST(woken_cells_propagate),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
