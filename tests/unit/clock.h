/* SPDX-License-Identifier: MIT */
/*
 * What the tests of clocks share: a graph with a clock of its own, and timers
 * that write down what they see; the test judges it afterwards.  Time is
 * virtual or told by the test, never measured.
 */
#ifndef HYPHAE_TESTS_UNIT_CLOCK_H
#define HYPHAE_TESTS_UNIT_CLOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/sync.h"
#include "oom.h"
#include "time/timer.h"

/* A graph that follows a clock, and what its timers wrote down. */
struct room {
	struct hyphae_clock *clock;
	struct hyphae_graph *graph;
	char text[512]; /* "5a 10b": when and who */
	unsigned int problems;
	int code;
	char problem[128];
};

static inline uint64_t now(struct room *room)
{
	uint64_t ns = 0;

	hyphae_clock_now(room->clock, &ns);
	return ns;
}

static inline void note(struct room *room, const char *who)
{
	size_t length = strlen(room->text);

	snprintf(room->text + length, sizeof(room->text) - length, "%s%llu%s",
		 length ? " " : "", (unsigned long long)now(room), who);
}

static inline size_t timers(struct room *room)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(room->graph, &counts), 0);
	return counts.timers;
}

static inline void problem(const struct hyphae_problem *problem, void *ctx)
{
	struct room *room = ctx;

	room->problems++;
	room->code = problem->code;
	snprintf(room->problem, sizeof(room->problem), "%s", problem->message);
}

static inline void build(struct room *room, unsigned int flags)
{
	*room = (struct room){.clock = hyphae_clock_new_virtual(0)};
	room->graph = hyphae_graph_new(flags);
	assert_non_null(room->clock);
	assert_non_null(room->graph);
	assert_int_equal(hyphae_graph_set_clock(room->graph, room->clock), 0);
	assert_int_equal(hyphae_graph_on_problem(room->graph, problem, room),
			 0);
}

static inline void raze(struct room *room)
{
	assert_int_equal(timers(room), 0);
	assert_int_equal(hyphae_graph_check_idle(room->graph), 0);
	assert_int_equal(hyphae_graph_free(room->graph), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), -ESTALE);
}

static inline int set_up(void **state, unsigned int flags)
{
	struct room *room = malloc(sizeof(*room));

	assert_non_null(room);
	build(room, flags);
	*state = room;
	return 0;
}

static inline int shared(void **state)
{
	return set_up(state, 0);
}

static inline int single(void **state)
{
	return set_up(state, HYPHAE_SINGLE_THREAD);
}

static inline int eager(void **state)
{
	return set_up(state, HYPHAE_EAGER);
}

static inline int tear_down(void **state)
{
	raze(*state);
	free(*state);
	return 0;
}

struct tick {
	struct room *room;
	const char *name;
	struct hyphae_timer *timer;
	unsigned int calls, drops;
	uint64_t due, missed; /* of the last call */
	unsigned int stop_at; /* stop itself in this call */
	int stopped;	      /* what that said */
	int result;
	const char *message; /* of the result */
	int64_t start_after; /* start `child` so long after, if it is there */
	struct tick *child;
	struct hyphae_cell *cell; /* count up */
};

static inline void drop_tick(void *ctx)
{
	struct tick *tick = ctx;

	tick->drops++;
}

static inline int on_tick(const struct hyphae_timer_event *event, void *ctx)
{
	struct tick *tick = ctx, *child = tick->child;
	int64_t value = 0;

	note(tick->room, tick->name);
	tick->calls++;
	tick->due = event->due_ns;
	tick->missed = event->missed;
	if (tick->calls == tick->stop_at)
		tick->stopped = hyphae_timer_stop(tick->timer);
	if (child) {
		child->room = tick->room;
		child->timer = hyphae_timer_start(child->room->graph,
						  tick->start_after, 0, on_tick,
						  child, drop_tick);
	}
	if (tick->cell) {
		hyphae_int64_get(tick->cell, &value);
		hyphae_int64_set(tick->cell, value + 1);
	}
	return tick->message ? hyphae_error(tick->result, "%s", tick->message)
			     : tick->result;
}

static inline void start(struct tick *tick, struct room *room, const char *name,
			 int64_t delay, uint64_t period)
{
	tick->room = room;
	tick->name = name;
	tick->timer = hyphae_timer_start(room->graph, delay, period, on_tick,
					 tick, drop_tick);
	assert_non_null(tick->timer);
}

static inline void advance(struct room *room, uint64_t delta)
{
	assert_int_equal(hyphae_clock_advance(room->clock, delta), 0);
}

#define IN(fn, world)                                                          \
	{                                                                      \
#fn ", " #world, fn, world, tear_down, NULL                    \
	}
#define TEST(fn) IN(fn, shared), IN(fn, single), IN(fn, eager)

#endif
