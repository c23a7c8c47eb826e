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
#include <sched.h>
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

/* ---- handles that go stale while they are used ------------------------------ */

#define STALE_ROUNDS 3000

static struct stale {
	struct hyphae_graph *graph;
	_Atomic(struct hyphae_cell *) shown;
	atomic_bool over;
	atomic_int spins; /* that the maker waits before it lets go */
	int wrong;	  /* of the user's alone */
} stale;

static void *make_and_release(void *ctx)
{
	(void)ctx;
	while (!atomic_load(&stale.over)) {
		struct hyphae_cell *cell = hyphae_int64_new(stale.graph, 1);

		atomic_store(&stale.shown, cell);
		for (int i = atomic_load(&stale.spins); i > 0; i--)
			atomic_load(&stale.over);
		hyphae_cell_unref(cell);
	}
	return NULL;
}

static int count_inputs(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	(void)inputs;
	(void)ctx;
	*(int64_t *)ret = (int64_t)count;
	return 0;
}

static void judge(struct hyphae_cell *made)
{
	if (made)
		stale.wrong += hyphae_cell_unref(made) != 0;
	else
		stale.wrong += errno != ESTALE;
}

/* One that has not been seen yet: it goes at about the same time. */
static struct hyphae_cell *next_shown(void)
{
	struct hyphae_cell *cell;

	do
		cell = atomic_exchange(&stale.shown, NULL);
	while (!cell);
	return cell;
}

static void *use_what_goes(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < STALE_ROUNDS; i++) {
		struct hyphae_cell *cell = next_shown();
		struct hyphae_cell *both[] = {cell, cell};
		struct hyphae_input *input;
		int r;

		atomic_store(&stale.spins, i % 100);
		judge(hyphae_merge(both, 2));
		judge(hyphae_zip(both, 2, &hyphae_int64, count_inputs, NULL, 1,
				 HYPHAE_OVERFLOW_FAIL));
		judge(hyphae_concat(both, 2));
		judge(hyphae_pairwise(cell, &hyphae_int64, count_inputs, NULL));
		judge(hyphae_materialize(
			hyphae_pipe_skip(hyphae_pipe(cell), 0)));
		r = hyphae_int64_post(cell, 1);
		stale.wrong += r && r != -ESTALE;
		input = hyphae_input_new(cell, 1, HYPHAE_OVERFLOW_LATEST, 0);
		if (input)
			hyphae_input_free(input);
		else
			stale.wrong += errno != ESTALE;
	}
	atomic_store(&stale.over, true);
	return NULL;
}

/*
 * A constructor that looked its input up twice followed NULL when another
 * thread released that in between; so did a post.
 */
static void inputs_that_are_released_meanwhile(void **state)
{
	pthread_t threads[2];

	(void)state;
	WATCH();
	memset(&stale, 0, sizeof(stale));
	stale.graph = hyphae_graph_new(0);
	start(&threads[0], use_what_goes, NULL);
	start(&threads[1], make_and_release, NULL);
	join(threads[0]);
	join(threads[1]);
	assert_int_equal(stale.wrong, 0);
	assert_int_equal(hyphae_settle(stale.graph), 0);
	end_graph(stale.graph, 0, 0);
}

/* ---- and subscriptions --------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__
#define END_ROUNDS 2000
#else
#define END_ROUNDS 20000
#endif

static struct ends {
	_Atomic(struct hyphae_subscription *) shown;
	atomic_int ended, stale;
} ends;

static int never_called(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void end_one(struct hyphae_subscription *subscription)
{
	int r = hyphae_unsubscribe(subscription);

	atomic_fetch_add(r ? &ends.stale : &ends.ended, !r || r == -ESTALE);
}

/* Look again at once, for the other thread does at the same moment. */
static void look_again(unsigned int *looks)
{
	if (++*looks % 4096 == 0)
		sched_yield();
}

static void *end_what_is_shown(void *ctx)
{
	struct hyphae_subscription *last = NULL, *shown;
	unsigned int looks = 0;

	(void)ctx;
	for (int i = 0; i < END_ROUNDS; i++) {
		while ((shown = atomic_load(&ends.shown)) == last)
			look_again(&looks);
		end_one(shown);
		last = shown;
	}
	return NULL;
}

/* Who looked a subscription up twice followed NULL when it went in between. */
static void subscriptions_that_two_threads_end(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_subscription *subscription;
	unsigned int looks = 0;
	pthread_t other;

	(void)state;
	WATCH();
	memset(&ends, 0, sizeof(ends));
	start(&other, end_what_is_shown, NULL);
	for (int i = 0; i < END_ROUNDS; i++) {
		subscription = hyphae_subscribe(cell, never_called, NULL);
		atomic_store(&ends.shown, subscription);
		for (int n = i % 200; n > 0; n--)
			atomic_load(&ends.shown);
		end_one(subscription);
		while (ends.ended + ends.stale != 2 * (i + 1))
			look_again(&looks);
	}
	join(other);
	assert_int_equal(ends.ended, END_ROUNDS);
	assert_int_equal(ends.stale, END_ROUNDS);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	end_graph(graph, 0, 0);
}

/* ---- the first posts ------------------------------------------------------------ */

#define FIRST_ROUNDS 3000

static struct firsts {
	struct hyphae_cell *cells[2];
	pthread_barrier_t round;
	atomic_int refused;
} firsts;

static void *post_first(void *ctx)
{
	struct hyphae_cell **cell = ctx;
	int step = cell == firsts.cells ? 3 : 10;

	for (int i = 0; i < FIRST_ROUNDS; i++) {
		pthread_barrier_wait(&firsts.round);
		for (int n = i * step % 90; n > 0; n--)
			atomic_load(&firsts.refused);
		firsts.refused += hyphae_int64_post(*cell, 1) != 0;
		pthread_barrier_wait(&firsts.round);
	}
	return NULL;
}

/* Where posts lie was read while who came too late was still at that place. */
static void first_posts_of_two_threads(void **state)
{
	pthread_t threads[2];

	(void)state;
	WATCH();
	memset(&firsts, 0, sizeof(firsts));
	pthread_barrier_init(&firsts.round, NULL, 3);
	for (int i = 0; i < 2; i++)
		start(&threads[i], post_first, &firsts.cells[i]);
	for (int i = 0; i < FIRST_ROUNDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 0);

		for (int n = 0; n < 2; n++)
			firsts.cells[n] = hyphae_int64_new(graph, 0);
		pthread_barrier_wait(&firsts.round);
		for (int n = 1; n <= 20; n++)
			assert_int_equal(hyphae_int64_set(cell, n), 0);
		pthread_barrier_wait(&firsts.round);
		assert_int_equal(hyphae_int64_set(cell, 0), 0);
		for (int n = 0; n < 2; n++)
			assert_int_equal(value(firsts.cells[n]), 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	for (int i = 0; i < 2; i++)
		join(threads[i]);
	assert_int_equal(firsts.refused, 0);
	pthread_barrier_destroy(&firsts.round);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_fired_into_a_wave_of_another_thread),
		cmocka_unit_test(inputs_that_are_released_meanwhile),
		cmocka_unit_test(subscriptions_that_two_threads_end),
		cmocka_unit_test(first_posts_of_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
