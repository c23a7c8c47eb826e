/* SPDX-License-Identifier: MIT */
/* Effects: bad input, every allocation failing, and runs inside others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"

enum { CELLS = 40 };

/* An effect that adds up as many cells as the first says. */
struct adder {
	struct hyphae_graph *graph;
	struct hyphae_cell *c[CELLS];
	struct hyphae_subscription *effect;
	int64_t sum;
	unsigned long runs;
	unsigned int drops, cleanups;
	int error;
};

static int add(void *ctx)
{
	struct adder *a = ctx;
	int64_t count = 0, v;
	int r;

	a->runs++;
	a->error = hyphae_int64_get(a->c[0], &count);
	a->sum = 0;
	for (int64_t i = 1; i <= count; i++) {
		r = hyphae_int64_get(a->c[i], &v);
		if (r)
			a->error = r;
		else
			a->sum += v;
	}
	return 0;
}

static void drop(void *ctx)
{
	((struct adder *)ctx)->drops++;
}

static void clean_up(void *ctx)
{
	((struct adder *)ctx)->cleanups++;
}

static void begin(struct adder *a, unsigned int flags)
{
	memset(a, 0, sizeof(*a));
	a->graph = hyphae_graph_new(flags);
	assert_non_null(a->graph);
	a->c[0] = hyphae_int64_new(a->graph, 1);
	assert_non_null(a->c[0]);
	for (int i = 1; i < CELLS; i++) {
		a->c[i] = hyphae_int64_new(a->graph, i);
		assert_non_null(a->c[i]);
	}
}

static void start(struct adder *a)
{
	a->effect = hyphae_effect_with(a->graph, add, a, drop, clean_up);
}

static void end(struct adder *a)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_unsubscribe(a->effect), 0);
	assert_int_equal(a->cleanups, a->runs);
	for (int i = 0; i < CELLS; i++)
		assert_int_equal(hyphae_cell_unref(a->c[i]), 0);
	assert_int_equal(hyphae_graph_counts(a->graph, &counts), 0);
	assert_int_equal(counts.cells, 0);
	assert_int_equal(counts.subscriptions, 0);
	assert_int_equal(hyphae_graph_free(a->graph), 0);
}

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
				     HYPHAE_LAZY};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void bad_input(void **state)
{
	struct adder a;

	(void)state;
	begin(&a, 0);
	errno = 0;
	assert_null(hyphae_effect_with(NULL, add, &a, drop, clean_up));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(a.drops, 1);
	errno = 0;
	assert_null(hyphae_effect_with(a.graph, NULL, &a, drop, clean_up));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(a.drops, 2);
	errno = 0;
	assert_null(hyphae_effect(a.graph, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(a.runs, 0);
	start(&a);
	end(&a);
	errno = 0;
	assert_null(hyphae_effect_with(a.graph, add, &a, drop, NULL));
	assert_int_equal(errno, ESTALE);
	assert_int_equal(a.drops, 4);
}

/* Made or not made, and if made it runs for what it reads. */
static void making_without_memory(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		unsigned long asked, n = 1;

		do {
			struct adder a;

			begin(&a, kinds[k]);
			asked = hy_alloc_count();
			hy_alloc_fail_after(n);
			start(&a);
			hy_alloc_fail_after(0);
			asked = hy_alloc_count() - asked;
			if (!a.effect) {
				assert_int_equal(errno, ENOMEM);
				assert_int_equal(a.drops, 1);
				assert_int_equal(a.runs, 0);
				start(&a);
			}
			assert_non_null(a.effect);
			assert_int_equal(a.sum, 1);
			end(&a);
		} while (n++ < asked);
	}
}

/*
 * What it reads anew may not be followed for want of memory: that is its error,
 * and what it followed before it follows still.
 */
static void running_without_memory(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		unsigned long asked, n = 1;

		do {
			struct adder a;
			int r;

			begin(&a, kinds[k]);
			start(&a);
			assert_non_null(a.effect);
			asked = hy_alloc_count();
			hy_alloc_fail_after(n);
			r = hyphae_int64_set(a.c[0], CELLS - 1);
			hy_alloc_fail_after(0);
			asked = hy_alloc_count() - asked;
			assert_true(r == 0 || r == -ENOMEM);
			assert_true(a.runs == 2 || r == -ENOMEM);
			assert_int_equal(a.sum, CELLS * (CELLS - 1) / 2);
			assert_int_equal(hyphae_int64_set(a.c[0], 2), 0);
			assert_int_equal(a.sum, 3);
			assert_int_equal(hyphae_int64_set(a.c[2], 5), 0);
			assert_int_equal(a.sum, 6);
			end(&a);
		} while (n++ < asked);
	}
}

/* A run that reads what it read before asks for nothing. */
static void no_allocation_in_a_steady_state(void **state)
{
	struct adder a;
	unsigned long before;

	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		begin(&a, kinds[k]);
		start(&a);
		assert_int_equal(hyphae_int64_set(a.c[0], CELLS - 1), 0);
		before = hy_alloc_count();
		for (int i = 0; i < 1000; i++)
			assert_int_equal(
				hyphae_int64_set(a.c[1 + i % 30], 1000 + i), 0);
		assert_int_equal(hy_alloc_count(), before);
		assert_int_equal(a.runs, 1002);
		end(&a);
	}
}

/* ---- a run inside a run ---------------------------------------------------- */

enum { MANY = 25, MORE = 60 };

struct nest {
	struct hyphae_cell *outer[MANY], *within[MORE], *inner;
	int64_t sum;
};

static int64_t sum_of(struct hyphae_cell *const *cells, int count)
{
	int64_t sum = 0, v = 0;

	for (int i = 0; i < count; i++)
		if (!hyphae_int64_get(cells[i], &v))
			sum += v;
	return sum;
}

static int sum_within(void *ret, void *ctx)
{
	*(int64_t *)ret = sum_of(((struct nest *)ctx)->within, MORE);
	return 0;
}

/* What was read before another function read more is read again after it. */
static int sum_around(void *ctx)
{
	struct nest *n = ctx;
	int64_t v = 0;

	n->sum = sum_of(n->outer, MANY);
	hyphae_int64_get(n->inner, &v);
	n->sum += v + sum_of(n->outer, MANY);
	return 0;
}

static void follows_each_once(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_LAZY);
	struct hyphae_cell_info info;
	struct nest n;

	(void)state;
	assert_non_null(graph);
	for (int i = 0; i < MANY; i++)
		n.outer[i] = hyphae_int64_new(graph, i);
	for (int i = 0; i < MORE; i++)
		n.within[i] = hyphae_int64_new(graph, 1);
	n.inner = hyphae_computed(graph, &hyphae_int64, sum_within, &n);
	assert_non_null(n.inner);
	assert_non_null(hyphae_effect(graph, sum_around, &n));
	assert_int_equal(n.sum, 2 * 300 + 60);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(hyphae_cell_info(n.outer[i], &info), 0);
		assert_int_equal(info.targets, 1);
	}
	assert_int_equal(hyphae_int64_set(n.outer[7], 8), 0);
	assert_int_equal(n.sum, 2 * 301 + 60);
	assert_int_equal(hyphae_int64_set(n.within[7], 2), 0);
	assert_int_equal(n.sum, 2 * 301 + 61);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- while somebody watches -------------------------------------------------- */

/* What a watched wave notes of the effect's cell is over when it was called. */
static void called_watched_and_not(void **state)
{
	struct adder a;

	(void)state;
	begin(&a, HYPHAE_SINGLE_THREAD);
	start(&a);
	for (int64_t i = 1; i <= 4; i++) {
		assert_int_equal(hyphae_pass_begin(), 0);
		assert_int_equal(hyphae_int64_set(a.c[1], 2 * i), 0);
		assert_int_equal(hyphae_pass_end(), 0);
		assert_int_equal(a.sum, 2 * i);
		assert_int_equal(hyphae_int64_set(a.c[1], 2 * i + 1), 0);
		assert_int_equal(a.sum, 2 * i + 1);
	}
	assert_int_equal(a.runs, 9);
	end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_input),
		cmocka_unit_test(making_without_memory),
		cmocka_unit_test(running_without_memory),
		cmocka_unit_test(no_allocation_in_a_steady_state),
		cmocka_unit_test(follows_each_once),
		cmocka_unit_test(called_watched_and_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
