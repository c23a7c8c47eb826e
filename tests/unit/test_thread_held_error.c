/* SPDX-License-Identifier: MIT */
/*
 * Cells that are made beside a thread that propagates: they are computed from a
 * copy of their input, which does not learn that the cell holds an error until
 * the cell follows it (test_held_error.c).
 */
#include "thread_regressions.h"

/* The value times ten; no even ones. */
static int but_even(void *ret, const void *input, void *ctx)
{
	int64_t x = *(const int64_t *)input;

	(void)ctx;
	if (x % 2 == 0)
		return -EDOM;
	*(int64_t *)ret = 10 * x;
	return 0;
}

static int64_t held(struct hyphae_cell *cell)
{
	int64_t x = 0;
	int r = hyphae_int64_get(cell, &x);

	return r ? r : x;
}

static void follow_after_they_failed(unsigned int flags, int count)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct hyphae_cell *a = hyphae_int64_new(graph, 2), *b[3];
	struct drainer drainer;

	occupy(&drainer, graph);
	for (int i = 0; i < count; i++) {
		b[i] = hyphae_map(a, &hyphae_int64, but_even, NULL);
		assert_int_equal(held(b[i]), -EDOM);
	}
	assert_true(hy_cell(a)->flags & F_TELLS);
	dismiss(&drainer);
	drainer_done(&drainer);
	for (int64_t x = 4; x < 10; x++) {
		assert_int_equal(hyphae_int64_set(a, x), 0);
		for (int i = 0; i < count; i++)
			assert_int_equal(held(b[i]), x % 2 ? 10 * x : -EDOM);
	}
	end_graph(graph, 2 + (size_t)count, 1);
}

static void made_beside_a_drainer(void **state)
{
	(void)state;
	WATCH();
	for (int count = 1; count <= 3; count++) {
		follow_after_they_failed(0, count);
		follow_after_they_failed(HYPHAE_EAGER, count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_beside_a_drainer),
	};

	return cmocka_run_group_tests_name("threads: cells that hold errors",
					   tests, NULL, NULL);
}
