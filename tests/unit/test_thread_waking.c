/* SPDX-License-Identifier: MIT */
/*
 * Cells that are made over idle ones, while another thread propagates: what
 * they follow wakes, and they are computed, on whichever thread it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "threads.h"

#define WRITES 5003
#define CELLS 101

static struct hyphae_cell *source;
static int write_error;

static void *write_much(void *ctx)
{
	(void)ctx;
	for (int64_t i = 1; i <= WRITES; i++) {
		int r = hyphae_int64_set(source, i);

		if (r)
			write_error = r;
	}
	return NULL;
}

static int negate(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = -*(const int64_t *)value;
	return 0;
}

static void cells_wake_what_they_follow(void **state)
{
	static struct hyphae_cell *maps[CELLS], *pairs[CELLS];
	struct hyphae_graph *graph = hyphae_graph_new(0);
	pthread_t writer;

	(void)state;
	WATCH();
	source = hyphae_int64_new(graph, 0);
	write_error = 0;
	start(&writer, write_much, NULL);
	for (int i = 0; i < CELLS; i++) {
		struct hyphae_cell *share = hyphae_share(source);
		struct hyphae_cell *both[] = {hyphae_share(source), share};

		maps[i] = hyphae_map(share, &hyphae_int64, negate, NULL);
		pairs[i] = hyphae_merge(both, 2);
		hyphae_cell_unref(both[0]);
		hyphae_cell_unref(both[1]);
		/* Gone at once: it may not have been computed yet. */
		hyphae_cell_unref(hyphae_changes(maps[i]));
	}
	join(writer);
	assert_int_equal(write_error, 0);
	for (int i = 0; i < CELLS; i++) {
		assert_int_equal(value(maps[i]), -WRITES);
		assert_int_equal(value(pairs[i]), WRITES);
		assert_int_equal(hyphae_cell_unref(maps[i]), 0);
		assert_int_equal(hyphae_cell_unref(pairs[i]), 0);
	}
	assert_int_equal(hyphae_cell_unref(source), 0);
	end_graph(graph, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_wake_what_they_follow),
	};

	return cmocka_run_group_tests_name("threads: waking", tests, NULL,
					   NULL);
}
