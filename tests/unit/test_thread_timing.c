/* SPDX-License-Identifier: MIT */
/*
 * One thread lets time go on, one writes, others make cells that have to do
 * with time and let go of them at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 1009
#else
#define ROUNDS 5003
#endif

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_clock *clock;
	struct hyphae_cell *event; /* int64: 1 to ROUNDS */
	struct hyphae_cell *text;
	_Atomic int working; /* threads that have not finished */
	_Atomic int failures;

	/* What the subscriber of the delay was told. */
	int64_t told;
	bool in_order;
};

static void expect(struct garden *g, bool condition)
{
	if (!condition)
		atomic_fetch_add(&g->failures, 1);
}

static void *write_on(void *ctx)
{
	struct garden *g = ctx;
	char text[40];

	for (int64_t i = 1; i <= ROUNDS; i++) {
		snprintf(text, sizeof(text), "spore %lld", (long long)i);
		expect(g, hyphae_int64_set(g->event, i) >= 0);
		expect(g, hyphae_string_set(g->text, text) >= 0);
	}
	atomic_fetch_sub(&g->working, 1);
	return NULL;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void *make_and_release(void *ctx)
{
	struct garden *g = ctx;
	const char *values[] = {"spore", "root"};

	for (int i = 0; i < ROUNDS; i++) {
		struct hyphae_cell *cells[] = {
			hyphae_debounce(g->text, 2),
			hyphae_throttle(g->text, 1, HYPHAE_BOTH_EDGES),
			hyphae_delay(g->text, 1, 3,
				     HYPHAE_OVERFLOW_DROP_OLDEST),
			hyphae_timeout(g->text, 1),
			hyphae_interval(g->graph, 1, 0),
			hyphae_from_array(g->graph, &hyphae_string, values, 2,
					  1),
		};
		struct hyphae_subscription *sub =
			hyphae_subscribe(cells[i % 6], quiet, NULL);

		expect(g, sub);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			expect(g, hyphae_cell_unref(cells[k]) == 0);
		hyphae_unsubscribe(sub); /* it may have ended */
	}
	atomic_fetch_sub(&g->working, 1);
	return NULL;
}

static void *let_time_go_on(void *ctx)
{
	struct garden *g = ctx;

	while (atomic_load(&g->working)) {
		expect(g, hyphae_clock_advance(g->clock, 1) == 0);
		sched_yield();
	}
	return NULL;
}

static int follow_order(const struct hyphae_signal *signal, void *ctx)
{
	struct garden *g = ctx;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	if (hyphae_int64_of(signal) != g->told + 1)
		g->in_order = false;
	g->told = hyphae_int64_of(signal);
	return 0;
}

/* Nothing is lost on the way, and the order is kept. */
static void h_time_goes_on_beside_all_else(void **state)
{
	struct garden g = {.working = 3, .in_order = true};
	struct hyphae_subscription *sub;
	struct hyphae_cell *late;
	pthread_t threads[4];

	(void)state;
	WATCH();
	g.graph = hyphae_graph_new(0);
	g.clock = hyphae_clock_new_virtual(0);
	assert_int_equal(hyphae_graph_set_clock(g.graph, g.clock), 0);
	g.event = hyphae_event_new(g.graph, &hyphae_int64);
	g.text = hyphae_string_new(g.graph, "spore");
	late = hyphae_delay(g.event, 3, ROUNDS, HYPHAE_OVERFLOW_FAIL);
	sub = hyphae_subscribe(late, follow_order, &g);
	assert_non_null(sub);
	start(&threads[0], write_on, &g);
	start(&threads[1], make_and_release, &g);
	start(&threads[2], make_and_release, &g);
	start(&threads[3], let_time_go_on, &g);
	for (int i = 0; i < 4; i++)
		join(threads[i]);
	assert_int_equal(hyphae_clock_advance(g.clock, 10), 0);
	assert_int_equal(g.failures, 0);
	assert_int_equal(g.told, ROUNDS);
	assert_true(g.in_order);
	assert_int_equal(hyphae_unsubscribe(sub), 0);
	assert_int_equal(hyphae_cell_unref(late), 0);
	end_graph(g.graph, 2, 0);
	assert_int_equal(hyphae_clock_unref(g.clock), 0);
}

struct tick_count {
	_Atomic unsigned long made;
};

static int count(void *ret, const void *input, void *ctx)
{
	struct tick_count *ticks = ctx;

	atomic_fetch_add(&ticks->made, 1);
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

/* When it is cancelled no more is made, though time goes on elsewhere. */
static void h_interval_is_cancelled(void **state)
{
	struct garden g = {.working = 1};
	struct tick_count ticks = {0};
	struct hyphae_cell *i, *m;
	unsigned long made;
	uint64_t then, now;
	pthread_t thread;

	(void)state;
	WATCH();
	g.graph = hyphae_graph_new(0);
	g.clock = hyphae_clock_new_virtual(0);
	assert_int_equal(hyphae_graph_set_clock(g.graph, g.clock), 0);
	i = hyphae_interval(g.graph, 1, 0);
	m = hyphae_map(i, &hyphae_int64, count, &ticks);
	assert_int_equal(hyphae_cell_unref(i), 0);
	start(&thread, let_time_go_on, &g);
	while (atomic_load(&ticks.made) < 100)
		sched_yield();
	assert_true(value(m) >= 98); /* the count begins with 0 */
	assert_int_equal(hyphae_cell_unref(m), 0);
	/* A propagation that is under way may still end. */
	hyphae_clock_now(g.clock, &then);
	do
		hyphae_clock_now(g.clock, &now);
	while (now < then + 2);
	made = atomic_load(&ticks.made);
	do
		hyphae_clock_now(g.clock, &now);
	while (now < then + 1000);
	assert_int_equal(atomic_load(&ticks.made), made);
	atomic_store(&g.working, 0);
	join(thread);
	assert_int_equal(g.failures, 0);
	end_graph(g.graph, 0, 0);
	assert_int_equal(hyphae_clock_unref(g.clock), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h_time_goes_on_beside_all_else),
		cmocka_unit_test(h_interval_is_cancelled),
	};

	return cmocka_run_group_tests_name("timing and threads", tests, NULL,
					   NULL);
}
