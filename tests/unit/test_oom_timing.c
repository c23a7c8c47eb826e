/* SPDX-License-Identifier: MIT */
/*
 * No memory, wherever the operators of time ask for some: the constructor
 * says so and leaves the graph as it was.  And a graph that has settled down
 * asks for none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

#include "tests/lib/oom.h"

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_clock *clock;
	struct hyphae_cell *a; /* int64 7 */
	struct hyphae_cell *s; /* "spore" */
	struct hyphae_cell *e; /* an event */
};

static void plant(struct garden *g, unsigned int flags)
{
	g->graph = hyphae_graph_new(flags);
	g->clock = hyphae_clock_new_virtual(0);
	assert_int_equal(hyphae_graph_set_clock(g->graph, g->clock), 0);
	g->a = hyphae_int64_new(g->graph, 7);
	g->s = hyphae_string_new(g->graph, "spore");
	g->e = hyphae_event_new(g->graph, &hyphae_int64);
	assert_non_null(g->e);
}

static void harvest(struct garden *g)
{
	assert_int_equal(hyphae_graph_free(g->graph), 0);
	assert_int_equal(hyphae_clock_unref(g->clock), 0);
}

static int first_of(void *ret, const void *const *values, size_t count,
		    void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)values[0];
	return 0;
}

static int next_one(void *ret, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 1;
	return 1;
}

typedef struct hyphae_cell *(*step)(struct garden *g);

#define STEP(name_, expression)                                                \
	static struct hyphae_cell *name_(struct garden *g)                     \
	{                                                                      \
		return expression;                                             \
	}                                                                      \
	struct step_##name_##_needs_semicolon

STEP(debounce, hyphae_debounce(g->a, 10));
STEP(debounce_text, hyphae_debounce(g->s, 10));
STEP(debounce_event, hyphae_debounce(g->e, 10));
STEP(throttle, hyphae_throttle(g->s, 10, HYPHAE_BOTH_EDGES));
STEP(audit, hyphae_audit(g->s, 10));
STEP(sample_time, hyphae_sample_time(g->s, 10));
STEP(delay, hyphae_delay(g->s, 10, 4, HYPHAE_OVERFLOW_FAIL));
STEP(timeout, hyphae_timeout(g->s, 10));
STEP(buffer_time,
     hyphae_buffer_time(g->a, 10, 4, &hyphae_int64, first_of, NULL));
STEP(buffer_at_once,
     hyphae_buffer_time(g->a, 10, 1, &hyphae_int64, first_of, NULL));
STEP(interval, hyphae_interval(g->graph, 10, 0));
STEP(after, hyphae_after(g->graph, 10));
STEP(from_iterator,
     hyphae_from_iterator(g->graph, &hyphae_int64, 10, next_one, NULL));

static struct hyphae_cell *from_array(struct garden *g)
{
	static const char *const values[] = {"spore", "root", "cap"};

	return hyphae_from_array(g->graph, &hyphae_string, values, 3, 10);
}

#define STEPS                                                                  \
	{                                                                      \
		debounce, debounce_text, debounce_event, throttle, audit,      \
			sample_time, delay, timeout, buffer_time,              \
			buffer_at_once, interval, after, from_iterator,        \
			from_array                                             \
	}

static void assert_as_it_was(const struct garden *g)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	assert_int_equal(counts.cells, 3);
	assert_int_equal(counts.timers, 0);
	assert_int_equal(hyphae_graph_check_idle(g->graph), 0);
}

static void sweep(step make, unsigned int flags)
{
	OOM_SWEEP(n)
	{
		struct hyphae_cell *cell;
		struct garden g;
		bool failed;

		OOM_PAUSE();
		plant(&g, flags);
		hy_alloc_fail_after(n);
		errno = 0;
		cell = make(&g);
		failed = !cell;
		OOM_PAUSE();
		if (failed) {
			assert_int_not_equal(n, 0);
			assert_int_equal(errno, ENOMEM);
			assert_as_it_was(&g);
			cell = make(&g);
			assert_non_null(cell);
		}
		assert_int_equal(hyphae_clock_advance(g.clock, 5), 0);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_as_it_was(&g);
		harvest(&g);
	}
}

static void nothing_is_left_of_what_failed(void **state)
{
	static const step steps[] = STEPS;
	long live = hy_alloc_live();

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		sweep(steps[i], 0);
		sweep(steps[i], HYPHAE_SINGLE_THREAD);
		sweep(steps[i], HYPHAE_LAZY);
		assert_int_equal(hy_alloc_live(), live);
	}
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void a_steady_state_allocates_nothing(void **state)
{
	struct garden g;
	struct hyphae_cell *cells[] = {NULL, NULL, NULL, NULL,
				       NULL, NULL, NULL};
	unsigned int calls = 0;
	unsigned long before = 0;

	(void)state;
	plant(&g, 0);
	cells[0] = hyphae_debounce(g.e, 2);
	cells[1] = hyphae_throttle(g.e, 3, HYPHAE_BOTH_EDGES);
	cells[2] = hyphae_audit(g.e, 3);
	cells[3] = hyphae_sample_time(g.e, 3);
	cells[4] = hyphae_delay(g.e, 5, 16, HYPHAE_OVERFLOW_FAIL);
	cells[5] = hyphae_buffer_time(g.e, 4, 8, &hyphae_int64, first_of, NULL);
	cells[6] = hyphae_interval(g.graph, 7, 0);
	for (size_t i = 0; i < 7; i++)
		assert_non_null(hyphae_subscribe(cells[i], quiet, &calls));
	for (int64_t i = 0; i < 100; i++) {
		if (i == 20)
			before = hy_alloc_count();
		if (i % 10 < 7)
			assert_int_equal(hyphae_int64_set(g.e, i), 0);
		assert_int_equal(hyphae_clock_advance(g.clock, 1), 0);
	}
	assert_int_equal(hy_alloc_count(), before);
	assert_int_equal(calls, 213);
	harvest(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_what_failed),
		cmocka_unit_test(a_steady_state_allocates_nothing),
	};

	return cmocka_run_group_tests_name("no memory for timing", tests, NULL,
					   NULL);
}
