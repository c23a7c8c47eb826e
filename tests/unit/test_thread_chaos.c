/* SPDX-License-Identifier: MIT */
/*
 * Every public function, on eight threads at once, from wherever it may be
 * called: on the thread itself and in every kind of callback, with cells of
 * every operator, four graphs that reach into each other, a pool, a signal
 * handler, and on request allocations that fail.
 *
 * Nothing is known of the values but what holds in the end: that what a
 * thread wrote to a cell of its own is there, what it emitted was told, what
 * is computed fits its input, every graph is idle, every value and every
 * context was dropped once and every block of memory given back.
 *
 * SEED=n starts from another seed; DEEDS=n sets how many each thread does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/alloc.h"
#include "chaos_deeds.h"
#include "tests/lib/run.h"
#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define DEFAULT_DEEDS 2500
#elif defined(__SANITIZE_ADDRESS__)
#define DEFAULT_DEEDS 15000
#else
#define DEFAULT_DEEDS 40000
#endif

#define THREADS 8
#define POOL_THREADS 2
#define DIARIES graphs[GRAPHS]

static struct diary diaries[THREADS];
static unsigned long deeds_each;
static uint64_t seed;
static bool poor; /* now and then an allocation fails */

/* ---- a world ----------------------------------------------------------------------- */

static int count_told(const struct hyphae_signal *signal, void *ctx)
{
	struct diary *diary = ctx;

	if (signal->kind == HYPHAE_VALUE)
		atomic_fetch_add(&diary->told, 1);
	return 0;
}

static void open_diary(struct diary *diary)
{
	static struct context same = {.in = &hyphae_int64,
				      .out = &hyphae_int64};

	*diary = (struct diary){
		.set = hyphae_int64_new(DIARIES, 0),
		.posted = hyphae_int64_new(DIARIES, 0),
		.event = hyphae_event_new(DIARIES, &hyphae_int64)};
	diary->image = hyphae_tap(diary->set, tap_fn, &same);
	assert_non_null(diary->image);
	assert_non_null(diary->posted);
	assert_non_null(hyphae_subscribe(diary->event, count_told, diary));
	/* Others may follow it, but not write it. */
	put_cell(hyphae_bridge(diary->set, graphs[below(GRAPHS)]));
}

static void open_graphs(void)
{
	static const unsigned int flags[GRAPHS] = {0, HYPHAE_EAGER, HYPHAE_LAZY,
						   0};

	for (int i = 0; i < GRAPHS; i++) {
		graphs[i] = hyphae_graph_new(flags[i]);
		assert_non_null(graphs[i]);
		hyphae_graph_set_wave_limit(graphs[i], 12);
		hyphae_graph_on_problem(graphs[i], problem_fn, NULL);
		/* The last has the same clock as the first. */
		clocks[i] = i == GRAPHS - 1
				    ? hyphae_clock_ref(clocks[0])
				    : hyphae_clock_new_virtual(below(100));
		assert_int_equal(hyphae_graph_set_clock(graphs[i], clocks[i]),
				 0);
		hyphae_clock_set_limit(clocks[i], 10);
	}
	DIARIES = hyphae_graph_new(0);
	assert_non_null(DIARIES);
}

static void open_world(void)
{
	me = (struct actor){.dice = seed * 0x9e3779b97f4a7c15u | 1};
	atomic_store(&calm, true);
	open_graphs();
	for (size_t i = 0; i < NTYPES * NTYPES; i++) {
		operator_contexts[i / NTYPES][i % NTYPES].in =
			types[i / NTYPES];
		operator_contexts[i / NTYPES][i % NTYPES].out =
			types[i % NTYPES];
	}
	for (size_t i = 0; i < GRAPHS * NTYPES; i++)
		put_cell(make_source(graphs[i % GRAPHS], types[i % NTYPES]));
	for (int i = 0; i < THREADS; i++)
		open_diary(&diaries[i]);
	atomic_store(&posters[0], hyphae_poster_new(diaries[0].posted));
	pool = hyphae_pool_new(POOL_THREADS);
	assert_non_null(pool);
	atomic_store(&calm, false);
}

/* ---- the threads --------------------------------------------------------------------- */

/* End what this thread has open; it may be refused for want of memory. */
static void close_all(void)
{
	me.budget = 0;
	while (me.nentered)
		leave();
	for (int i = 0; i <= GRAPHS; i++) {
		while (hyphae_batch_end(graphs[i]) != -EINVAL)
			;
		while (hyphae_frame_end(graphs[i]) != -EINVAL)
			hyphae_batch_end(graphs[i]);
	}
}

static void *act(void *ctx)
{
	int id = (int)(intptr_t)ctx;

	me = (struct actor){.id = id,
			    .dice = (seed * THREADS + (uint64_t)id) *
					    0x9e3779b97f4a7c15u |
				    1,
			    .diary = &diaries[id - 1]};
	for (unsigned long i = 0; i < deeds_each; i++) {
		me.budget = 15;
		if (poor && percent(30))
			hy_alloc_fail_after(1 + below(40));
		do_something();
		if (percent(3))
			close_all();
	}
	hy_alloc_fail_after(0);
	me.budget = 0;
	if (id % 2) /* others leave it to the end of the thread */
		close_all();
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		start(&threads[i], act, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		join(threads[i]);
	hy_alloc_fail_after(0);
}

/* ---- the end --------------------------------------------------------------------------- */

static int note_cell(struct hyphae_cell *cell, void *ctx)
{
	*(struct hyphae_cell **)ctx = cell;
	return 0;
}

/* What a map holds is the image of what its input holds. */
static int check_map(struct hyphae_cell *cell, void *ctx)
{
	struct hyphae_cell_info info, input_info;
	struct hyphae_cell *from = NULL;
	int64_t in, out;
	int got, had;

	(void)ctx;
	if (hyphae_cell_info(cell, &info) || strcmp(info.op, "map") ||
	    info.idle || info.event || info.ended || info.type != &hyphae_int64)
		return 0;
	hyphae_cell_each_input(cell, note_cell, &from);
	if (hyphae_cell_info(from, &input_info) || input_info.event ||
	    input_info.type != &hyphae_int64)
		return 0;
	had = hyphae_int64_get(from, &in);
	got = hyphae_int64_get(cell, &out);
	if (had ? got != had
		: got == -ENODATA || (!got && out != image((int)in)))
		wrong("a map holds %ld (%d) of %ld (%d)", (long)out, got,
		      (long)in, had);
	return 0;
}

static void check_graphs(void)
{
	for (int i = 0; i <= GRAPHS; i++) {
		for (int n = 0; n < 20; n++)
			hyphae_settle(graphs[(i + n) % (GRAPHS + 1)]);
	}
	for (int i = 0; i <= GRAPHS; i++) {
		assert_int_equal(hyphae_graph_check_idle(graphs[i]), 0);
		if (!poor)
			hyphae_graph_each_cell(graphs[i], check_map, NULL);
	}
}

static void check_diary(const struct diary *diary)
{
	int64_t last = value(diary->set);

	if (diary->perhaps_set > diary->was_set)
		assert_in_range(last, diary->was_set, diary->perhaps_set);
	else
		assert_int_equal(last, diary->was_set);
	assert_int_equal(value(diary->image), last);
	if (diary != &diaries[0]) /* the signal handler posts to that */
		assert_int_equal(value(diary->posted), diary->was_posted);
	assert_in_range(diary->told, diary->emitted,
			diary->emitted + diary->perhaps_emitted);
}

static void close_world(void)
{
	for (int i = 0; i < GRAPHS + 1; i++)
		assert_int_equal(hyphae_graph_free(graphs[i]), 0);
	for (int i = 0; i < GRAPHS; i++)
		assert_int_equal(hyphae_clock_unref(clocks[i]), 0);
	for (int i = 0; i < OTHERS; i++) {
		hyphae_stream_close(atomic_exchange(&streams[i], NULL));
		give_back_input(atomic_exchange(&inputs[i], NULL));
		hyphae_poster_free(atomic_exchange(&posters[i], NULL));
		atomic_store(&scopes[i], NULL);
		atomic_store(&timers[i], NULL);
		atomic_store(&parallels[i], NULL);
	}
	for (int i = 0; i < atomic_load(&inputs_kept); i++)
		hyphae_input_free(atomic_exchange(&kept[i], NULL));
	atomic_store(&inputs_kept, 0);
	for (int i = 0; i < CELLS; i++)
		atomic_store(&shelf[i], NULL);
	for (int i = 0; i < SUBSCRIPTIONS; i++)
		atomic_store(&subscriptions[i], NULL);
}

static void everything_at_once(void)
{
	long live = hy_alloc_live();

	signal(SIGUSR1, handle_signal);
	open_world();
	run_threads();
	assert_int_equal(hyphae_pool_free(pool), 0);
	atomic_store(&calm, true);
	check_graphs();
	for (int i = 0; i < THREADS; i++)
		check_diary(&diaries[i]);
	close_world();
	alarm(0);
	assert_int_equal(findings, 0);
	assert_int_equal(values_alive, 0);
	assert_int_equal(contexts_alive, 0);
	assert_int_equal(hy_alloc_live(), live);
}

static void chaos(void **state)
{
	(void)state;
	WATCH();
	poor = false;
	everything_at_once();
}

static void chaos_without_memory(void **state)
{
	(void)state;
	WATCH();
	poor = true;
	everything_at_once();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chaos),
		cmocka_unit_test(chaos_without_memory),
	};

	seed = test_seed(1);
	deeds_each = test_number("DEEDS", DEFAULT_DEEDS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
