/* SPDX-License-Identifier: MIT */
/*
 * One thread runs a clock while others start and stop timers, write, and free
 * graphs that follow it.  Afterwards everything must be accounted for: each
 * timer was called or stopped, each context dropped once, nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 2000
#else
#define ROUNDS 10000
#endif

#define THREADS 3

struct world {
	struct hyphae_clock *clock;
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	_Atomic bool over;
	_Atomic unsigned long calls, drops, stops, backwards, failed;
	_Atomic unsigned int inside, overlaps;
};

static void build(struct world *w, unsigned int flags)
{
	*w = (struct world){.clock = hyphae_clock_new_virtual(0)};
	w->graph = hyphae_graph_new(flags);
	w->cell = hyphae_int64_new(w->graph, 0);
	assert_non_null(w->cell);
	assert_int_equal(hyphae_graph_set_clock(w->graph, w->clock), 0);
}

static void *run_clock(void *ctx)
{
	struct world *w = ctx;

	while (!w->over)
		if (hyphae_clock_advance(w->clock, 3))
			w->failed++;
	return NULL;
}

static int count(const struct hyphae_timer_event *event, void *ctx)
{
	struct world *w = ctx;
	uint64_t now = 0;
	int64_t value = 0;

	hyphae_clock_now(w->clock, &now);
	if (now < event->due_ns)
		w->backwards++;
	w->calls++;
	hyphae_int64_get(w->cell, &value);
	if (hyphae_int64_set(w->cell, value + 1) < 0)
		w->failed++;
	return 0;
}

static void count_drop(void *ctx)
{
	struct world *w = ctx;

	w->drops++;
}

static void *start_and_stop(void *ctx)
{
	struct world *w = ctx;
	struct hyphae_timer *timers[8] = {NULL};

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct hyphae_timer **at = &timers[i % 8];

		if (*at && hyphae_timer_stop(*at) == 0)
			w->stops++;
		*at = hyphae_timer_start(w->graph, i % 50, 0, count, w,
					 count_drop);
		if (!*at)
			w->failed++;
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

/* Every timer was called, or stopped before. */
static void started_and_stopped_beside_the_clock(void **state)
{
	pthread_t clock, threads[THREADS];
	struct world w;

	(void)state;
	WATCH();
	build(&w, 0);
	start(&clock, run_clock, &w);
	for (int i = 0; i < THREADS; i++)
		start(&threads[i], start_and_stop, &w);
	for (int i = 0; i < THREADS; i++)
		join(threads[i]);
	w.over = true;
	join(clock);
	assert_int_equal(hyphae_clock_advance(w.clock, 100), 0);
	assert_int_equal(w.failed, 0);
	assert_int_equal(w.backwards, 0);
	assert_int_equal(w.drops, THREADS * ROUNDS);
	/* One that is stopped in its call counts twice. */
	assert_true(w.calls + w.stops >= THREADS * ROUNDS);
	assert_true(w.calls <= THREADS * ROUNDS);
	assert_int_equal(hyphae_cell_unref(w.cell), 0);
	assert_int_equal(hyphae_clock_unref(w.clock), 0);
	end_graph(w.graph, 0, 0);
}

/* Graphs come, follow the clock, and go while it runs. */
static void *come_and_go(void *ctx)
{
	struct world *w = ctx;

	for (unsigned int i = 0; i < ROUNDS / 10; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		int r;

		if (hyphae_graph_set_clock(graph, w->clock))
			w->failed++;
		for (int64_t n = 0; n < 5; n++)
			if (!hyphae_timer_start(graph, n, 2, count, w,
						count_drop))
				w->failed++;
		while ((r = hyphae_graph_free(graph)) == -EBUSY)
			sched_yield();
		if (r)
			w->failed++;
	}
	return NULL;
}

static void graphs_come_and_go(void **state)
{
	pthread_t clock, threads[THREADS];
	struct world w;

	(void)state;
	WATCH();
	build(&w, 0);
	start(&clock, run_clock, &w);
	for (int i = 0; i < THREADS; i++)
		start(&threads[i], come_and_go, &w);
	for (int i = 0; i < THREADS; i++)
		join(threads[i]);
	w.over = true;
	join(clock);
	assert_int_equal(w.failed, 0);
	assert_int_equal(w.drops, THREADS * (ROUNDS / 10) * 5);
	assert_int_equal(hyphae_cell_unref(w.cell), 0);
	assert_int_equal(hyphae_clock_unref(w.clock), 0);
	end_graph(w.graph, 0, 0);
}

static int enter(const struct hyphae_timer_event *event, void *ctx)
{
	struct world *w = ctx;

	if (w->inside++)
		w->overlaps++;
	w->calls += 1 + event->missed;
	sched_yield();
	w->inside--;
	return 0;
}

static void *dispatch(void *ctx)
{
	struct world *w = ctx;

	while (!w->over)
		if (hyphae_graph_dispatch(w->graph) < 0)
			w->failed++;
	return NULL;
}

static void *write_much(void *ctx)
{
	struct world *w = ctx;

	for (unsigned int i = 0; i < ROUNDS; i++)
		if (hyphae_int64_set(w->cell, (int64_t)i) < 0)
			w->failed++;
	return NULL;
}

static int slow(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	sched_yield();
	return 0;
}

/* Two threads run what is due, others propagate: no timer is entered twice. */
static void dispatched_by_two(void **state)
{
	pthread_t threads[4];
	struct hyphae_subscription *s;
	struct hyphae_timer *timer;
	struct world w;

	(void)state;
	WATCH();
	build(&w, 0);
	s = hyphae_subscribe(w.cell, slow, NULL);
	timer = hyphae_timer_start(w.graph, 1, 1, enter, &w, count_drop);
	start(&threads[0], dispatch, &w);
	start(&threads[1], dispatch, &w);
	start(&threads[2], write_much, &w);
	start(&threads[3], write_much, &w);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(hyphae_clock_advance(w.clock, 1), 0);
	join(threads[2]);
	join(threads[3]);
	w.over = true;
	join(threads[0]);
	join(threads[1]);
	assert_int_equal(hyphae_clock_advance(w.clock, 1), 0);
	assert_int_equal(w.overlaps, 0);
	assert_int_equal(w.failed, 0);
	assert_int_equal(w.calls, ROUNDS + 1);
	assert_int_equal(value(w.cell), ROUNDS - 1);
	assert_int_equal(hyphae_timer_stop(timer), 0);
	assert_int_equal(w.drops, 1);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_cell_unref(w.cell), 0);
	assert_int_equal(hyphae_clock_unref(w.clock), 0);
	end_graph(w.graph, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(started_and_stopped_beside_the_clock),
		cmocka_unit_test(graphs_come_and_go),
		cmocka_unit_test(dispatched_by_two),
	};

	return cmocka_run_group_tests_name("clock, threads", tests, NULL, NULL);
}
