/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by threads that call everything on shared graphs,
 * each held fixed by the behaviour that was wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "threads.h"

/* ---- a timer that another thread runs ------------------------------------- */

static struct late {
	struct hyphae_graph *graph;
	pthread_barrier_t inside, done;
	int dispatched;
	bool wait;
	int64_t told[8];
	size_t count;
} late;

static int note_tick(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	if (late.count < 8)
		late.told[late.count++] = hyphae_int64_of(signal);
	return 0;
}

static int follow_slowly(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	if (late.wait && *(const int64_t *)input == 1) {
		pthread_barrier_wait(&late.inside);
		pthread_barrier_wait(&late.done);
	}
	return 0;
}

static void *dispatch_meanwhile(void *ctx)
{
	(void)ctx;
	pthread_barrier_wait(&late.inside);
	late.dispatched = hyphae_graph_dispatch(late.graph);
	pthread_barrier_wait(&late.done);
	return NULL;
}

/*
 * A timer that one thread fired while another propagated had its cell computed
 * once more in the wave that was under way: of two ticks one was told, twice,
 * and the list of what has fired overflowed.
 */
static void timer_fired_into_a_wave_of_another_thread(void **state)
{
	struct hyphae_clock *clock = hyphae_clock_new_external(0);
	struct hyphae_cell *ticks;
	pthread_t other;

	(void)state;
	WATCH();
	memset(&late, 0, sizeof(late));
	late.graph = hyphae_graph_new(0);
	pthread_barrier_init(&late.inside, NULL, 2);
	pthread_barrier_init(&late.done, NULL, 2);
	assert_int_equal(hyphae_graph_set_clock(late.graph, clock), 0);
	ticks = hyphae_interval(late.graph, 10, 0);
	assert_non_null(hyphae_subscribe_with(ticks, note_tick, NULL, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_non_null(hyphae_map(ticks, &hyphae_int64, follow_slowly, NULL));
	late.wait = true;
	start(&other, dispatch_meanwhile, NULL);
	assert_int_equal(hyphae_clock_set(clock, 20), 0);
	join(other);
	assert_int_equal(late.dispatched, 1);
	assert_int_equal(late.count, 2);
	assert_int_equal(late.told[0], 1);
	assert_int_equal(late.told[1], 2);
	assert_int_equal(value(ticks), 2);
	end_graph(late.graph, 2, 1);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	pthread_barrier_destroy(&late.inside);
	pthread_barrier_destroy(&late.done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_fired_into_a_wave_of_another_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
