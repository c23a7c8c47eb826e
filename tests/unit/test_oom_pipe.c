/* SPDX-License-Identifier: MIT */
/* No memory, wherever a pipe asks for some, built as one cell or as many. */
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

#include "tests/lib/oom.h"

struct large {
	int64_t n;
	char filler[120];
};
HYPHAE_TYPE(large, struct large);

static int enlarge(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	((struct large *)ret)->n = *(const int64_t *)value;
	return 0;
}

static int lessen(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct large *)value)->n;
	return 0;
}

static int all(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
	return 1;
}

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)ctx;
	((struct large *)ret)->n =
		((const struct large *)acc)->n + *(const int64_t *)value;
	return 0;
}

static struct hyphae_pipe *build(struct hyphae_cell *input)
{
	struct large zero = {.n = 0};
	struct hyphae_pipe *p = hyphae_pipe(input);

	p = hyphae_pipe_map(p, &large_type, enlarge, NULL);
	p = hyphae_pipe_filter(p, all, NULL);
	p = hyphae_pipe_map(p, &hyphae_int64, lessen, NULL);
	p = hyphae_pipe_scan(p, &large_type, &zero, add, NULL);
	p = hyphae_pipe_skip(p, 0);
	p = hyphae_pipe_map(p, &hyphae_int64, lessen, NULL);
	return hyphae_pipe_map(p, &large_type, enlarge, NULL);
}

typedef struct hyphae_cell *(*finish)(struct hyphae_pipe *p);

static struct hyphae_cell *fused(struct hyphae_pipe *p)
{
	return hyphae_materialize(p);
}

static void sweep(finish materialize, unsigned int flags)
{
	OOM_SWEEP(n)
	{
		struct hyphae_graph_counts counts;
		struct hyphae_graph *graph;
		struct hyphae_cell *a, *cell;
		struct large held;

		OOM_PAUSE();
		graph = hyphae_graph_new(flags);
		a = hyphae_int64_new(graph, 3);
		hy_alloc_fail_after(n);
		errno = 0;
		cell = materialize(build(a));
		OOM_PAUSE();
		if (!cell) {
			assert_int_not_equal(n, 0);
			assert_int_equal(errno, ENOMEM);
			assert_int_equal(hyphae_graph_counts(graph, &counts),
					 0);
			assert_int_equal(counts.cells, 1);
			assert_int_equal(hyphae_graph_check_idle(graph), 0);
			cell = materialize(build(a));
		}
		assert_non_null(cell);
		assert_int_equal(hyphae_int64_set(a, 4), 0);
		if (!(flags & HYPHAE_LAZY)) {
			assert_int_equal(large_get(cell, &held), 0);
			assert_int_equal(held.n, 7);
		}
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
		assert_int_equal(counts.cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void nothing_is_left_of_what_failed(void **state)
{
	long live = hy_alloc_live();

	(void)state;
	sweep(fused, 0);
	sweep(fused, HYPHAE_SINGLE_THREAD);
	sweep(fused, HYPHAE_LAZY);
	sweep(hyphae_materialize_unfused, 0);
	assert_int_equal(hy_alloc_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_what_failed),
	};

	return cmocka_run_group_tests_name("no memory for pipes", tests, NULL,
					   NULL);
}
