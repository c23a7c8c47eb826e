/* SPDX-License-Identifier: MIT */
/*
 * Effects and several threads: they are called by whoever propagates, never
 * twice at once, and the last call sees the last values.
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
#include <stdlib.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 500
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 1000
#else
#define ROUNDS 5000
#endif
#define WRITERS 3
#define SOURCES 4

struct yard {
	struct hyphae_graph *graph;
	struct hyphae_cell *sources[SOURCES];
	struct hyphae_cell *choice; /* how many of them are read */
	_Atomic int drops, failures;
};

struct adder {
	struct yard *yard;
	struct hyphae_subscription *effect;
	_Atomic int inside;
	int64_t sum;
	bool own; /* `drop` frees it */
};

static int add_up(void *ctx)
{
	struct adder *w = ctx;
	int64_t count = 0, sum = 0, v;

	if (atomic_fetch_add(&w->inside, 1))
		atomic_fetch_add(&w->yard->failures, 1);
	if (hyphae_int64_get(w->yard->choice, &count))
		atomic_fetch_add(&w->yard->failures, 1);
	for (int64_t i = 0; i < count; i++) {
		if (hyphae_int64_get(w->yard->sources[i], &v))
			atomic_fetch_add(&w->yard->failures, 1);
		sum += v;
	}
	w->sum = sum;
	atomic_fetch_sub(&w->inside, 1);
	return 0;
}

static void dropped(void *ctx)
{
	struct adder *w = ctx;

	atomic_fetch_add(&w->yard->drops, 1);
	if (w->own)
		free(w);
}

struct worker {
	struct yard *yard;
	pthread_t thread;
	unsigned int seed;
};

static void *write_sources(void *ctx)
{
	struct worker *me = ctx;
	struct yard *y = me->yard;

	for (int i = 0; i < ROUNDS; i++) {
		int r = rand_r(&me->seed);

		hyphae_int64_set(y->sources[r % SOURCES], r >> 8);
		if (r % 7 == 0)
			hyphae_int64_set(y->choice, 1 + (r >> 4) % SOURCES);
	}
	return NULL;
}

/* Effects that come, pause, go on and go, beside the writers. */
static void *make_effects(void *ctx)
{
	struct worker *me = ctx;
	struct yard *y = me->yard;

	for (int i = 0; i < ROUNDS / 5; i++) {
		struct adder *w = calloc(1, sizeof(*w));

		w->yard = y;
		w->own = true;
		w->effect =
			hyphae_effect_with(y->graph, add_up, w, dropped, NULL);
		if (!w->effect) {
			atomic_fetch_add(&y->failures, 1);
			continue;
		}
		if (i % 3 == 0) {
			hyphae_subscription_pause(w->effect);
			hyphae_subscription_resume(w->effect);
		}
		if (i % 2)
			hyphae_unsubscribe(w->effect);
		else
			hyphae_unsubscribe_wait(w->effect);
	}
	return NULL;
}

static void effects_beside_writers(void **state)
{
	struct yard y = {.graph = hyphae_graph_new(0)};
	struct adder adder = {.yard = &y};
	struct worker workers[WRITERS + 1];
	int64_t sum = 0;

	(void)state;
	WATCH();
	for (int i = 0; i < SOURCES; i++)
		y.sources[i] = hyphae_int64_new(y.graph, i);
	y.choice = hyphae_int64_new(y.graph, SOURCES);
	adder.effect =
		hyphae_effect_with(y.graph, add_up, &adder, dropped, NULL);
	assert_non_null(adder.effect);
	for (int i = 0; i <= WRITERS; i++) {
		workers[i] = (struct worker){&y, 0, (unsigned int)i + 1};
		start(&workers[i].thread, i ? write_sources : make_effects,
		      &workers[i]);
	}
	for (int i = 0; i <= WRITERS; i++)
		join(workers[i].thread);
	assert_int_equal(hyphae_settle(y.graph), 0);
	assert_int_equal(atomic_load(&y.failures), 0);
	assert_int_equal(atomic_load(&y.drops), ROUNDS / 5);

	for (int64_t i = 0; i < value(y.choice); i++)
		sum += value(y.sources[i]);
	assert_int_equal(adder.sum, sum);
	assert_int_equal(hyphae_unsubscribe(adder.effect), 0);
	for (int i = 0; i < SOURCES; i++)
		hyphae_cell_unref(y.sources[i]);
	hyphae_cell_unref(y.choice);
	end_graph(y.graph, 0, 0);
}

/* ---- one that is resumed beside a wave ---- */

struct resumed {
	struct hyphae_cell *number, *other;
	struct hyphae_subscription *effect;
	pthread_t thread, ran_on;
	unsigned int runs, beside; /* the latter: when it had been resumed */
	int result;
};

static int run_and_say_where(void *ctx)
{
	struct resumed *r = ctx;
	int64_t number;

	r->runs++;
	r->ran_on = pthread_self();
	return hyphae_int64_get(r->number, &number);
}

static void *resume_beside(void *ctx)
{
	struct resumed *r = ctx;

	r->result = hyphae_subscription_resume(r->effect);
	return NULL;
}

static int have_it_resumed(const struct hyphae_signal *signal, void *ctx)
{
	struct resumed *r = ctx;

	(void)signal;
	if (pthread_create(&r->thread, NULL, resume_beside, r))
		return -EAGAIN;
	pthread_join(r->thread, NULL);
	r->beside = r->runs;
	return 0;
}

/* Only the thread that propagates may link what it reads: that one runs it. */
static void resumed_beside_a_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct resumed r = {.result = -1};

	(void)state;
	r.number = hyphae_int64_new(graph, 0);
	r.other = hyphae_int64_new(graph, 0);
	r.effect = hyphae_effect(graph, run_and_say_where, &r);
	assert_non_null(r.effect);
	assert_int_equal(hyphae_subscription_pause(r.effect), 0);
	assert_int_equal(hyphae_int64_set(r.number, 1), 0);
	assert_non_null(hyphae_subscribe_with(r.other, have_it_resumed, &r,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(r.other, 1), 0);
	assert_int_equal(r.result, 0);
	assert_int_equal(r.beside, 1);
	assert_int_equal(r.runs, 2);
	assert_true(pthread_equal(r.ran_on, pthread_self()));
	assert_int_equal(hyphae_int64_set(r.number, 2), 0);
	assert_int_equal(r.runs, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(effects_beside_writers),
		cmocka_unit_test(resumed_beside_a_wave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
