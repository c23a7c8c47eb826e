/* SPDX-License-Identifier: MIT */
/*
 * A function that no wave called (the first run of a cell, a subscriber that
 * makes a cell) reads a cell that has yet to be computed and has subscribers:
 * it is computed on the spot, and its subscribers are told, in a wave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
				     HYPHAE_SINGLE_THREAD | HYPHAE_EAGER};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct told {
	int calls;
	int64_t last;
};

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	told->calls++;
	told->last = *(const int64_t *)signal->value;
	return 0;
}

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

/* Lazy cells of one source: with a subscriber each they are to be computed. */
#define LAZY 3
struct world {
	struct hyphae_graph *graph;
	struct hyphae_cell *source, *lazy[LAZY], *made;
	struct hyphae_subscription *subs[LAZY];
	struct told told[LAZY];
	int64_t read; /* the sum of what the function read */
	bool done;
};

static int subscribe_and_read(void *ret, void *ctx)
{
	struct world *w = ctx;
	int64_t n;

	*(int64_t *)ret = 7;
	if (w->done)
		return 0;
	w->done = true;
	for (int i = 0; i < LAZY; i++)
		w->subs[i] = hyphae_subscribe_with(w->lazy[i], hear,
						   &w->told[i], NULL, 0);
	for (int i = LAZY; i-- > 0;)
		if (hyphae_int64_get(w->lazy[i], &n) == 0)
			w->read += n;
	return 0;
}

static int make_one(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	(void)signal;
	w->made =
		hyphae_computed(w->graph, &hyphae_int64, subscribe_and_read, w);
	return 0;
}

static void begin(struct world *w, unsigned int kind)
{
	*w = (struct world){.graph = hyphae_graph_new(kinds[kind])};
	w->source = hyphae_int64_new(w->graph, 1);
	for (int i = 0; i < LAZY; i++) {
		w->lazy[i] =
			hyphae_map(w->source, &hyphae_int64, plus_one, NULL);
		assert_int_equal(hyphae_cell_set_lazy(w->lazy[i]), 0);
	}
}

static void expect_told(const struct world *w, int calls, int64_t last)
{
	for (int i = 0; i < LAZY; i++) {
		assert_int_equal(w->told[i].calls, calls);
		assert_int_equal(w->told[i].last, last);
	}
}

/* They are told, go, and whatever comes then does not trip over them. */
static void go_on(struct world *w)
{
	assert_non_null(w->made);
	assert_int_equal(w->read, 2 * LAZY);
	expect_told(w, 1, 2);
	assert_int_equal(hyphae_int64_set(w->source, 5), 0);
	expect_told(w, 2, 6);
	for (int i = 0; i < LAZY; i++)
		assert_int_equal(hyphae_unsubscribe(w->subs[i]), 0);
	assert_int_equal(hyphae_int64_set(w->source, 9), 0);
	expect_told(w, 2, 6);
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(hyphae_graph_free(w->graph), 0);
}

static void in_the_first_run_of_a_cell(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		long live = hy_alloc_live();
		struct world w;

		begin(&w, kind);
		w.made = hyphae_computed(w.graph, &hyphae_int64,
					 subscribe_and_read, &w);
		go_on(&w);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* The subscribers are newer than the wave that is being told. */
static void in_a_subscriber(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		long live = hy_alloc_live();
		struct hyphae_cell *button;
		struct world w;

		begin(&w, kind);
		button = hyphae_int64_new(w.graph, 0);
		assert_non_null(hyphae_subscribe_with(
			hyphae_map(button, &hyphae_int64, plus_one, NULL),
			make_one, &w, NULL, HYPHAE_SKIP_INITIAL));
		assert_int_equal(hyphae_int64_set(button, 1), 0);
		go_on(&w);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* Those that go at once leave nothing behind that would be looked at. */
static int subscribe_read_and_go(void *ret, void *ctx)
{
	struct world *w = ctx;
	int r = subscribe_and_read(ret, ctx);

	for (int i = 0; i < LAZY; i++)
		hyphae_unsubscribe(w->subs[i]);
	return r;
}

static void and_ended_before_they_are_told(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		long live = hy_alloc_live();
		struct world w;

		begin(&w, kind);
		w.made = hyphae_computed(w.graph, &hyphae_int64,
					 subscribe_read_and_go, &w);
		assert_int_equal(w.read, 2 * LAZY);
		expect_told(&w, 0, 0);
		assert_int_equal(hyphae_int64_set(w.source, 5), 0);
		expect_told(&w, 0, 0);
		assert_int_equal(hyphae_graph_check_idle(w.graph), 0);
		assert_int_equal(hyphae_graph_free(w.graph), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_first_run_of_a_cell),
		cmocka_unit_test(in_a_subscriber),
		cmocka_unit_test(and_ended_before_they_are_told),
	};

	return cmocka_run_group_tests_name("settled and told", tests, NULL,
					   NULL);
}
