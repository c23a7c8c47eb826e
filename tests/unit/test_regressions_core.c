/* SPDX-License-Identifier: MIT */
/*
 * Faults of the core that one thread is enough for: what a function of the
 * user does in the middle of something.  The comment of a test says which
 * fault it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

/* A poster that goes when a value of this type is dropped. */
struct keeper {
	struct hyphae_poster *poster;
};

static int keeper_copy(void *to, const void *from)
{
	*(struct keeper *)to = *(const struct keeper *)from;
	return 0;
}

static void keeper_drop(void *value)
{
	hyphae_poster_free(((struct keeper *)value)->poster);
}

HYPHAE_TYPE_WITH(keeper, struct keeper, .copy = keeper_copy,
		 .drop = keeper_drop);

/*
 * Posts that were refused were dropped when the list of posters had been
 * taken already, so that one that was freed meanwhile was still read.
 */
static void poster_is_freed_while_posts_are_taken(void **state)
{
	static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD,
					     HYPHAE_EAGER};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct keeper none = {NULL}, one;
		struct hyphae_cell *keeper = keeper_new_at(graph, none, "");
		struct hyphae_cell *n = hyphae_int64_new(graph, 1);
		struct hyphae_post_counts counts;
		int64_t held = 0;

		one.poster = hyphae_poster_new(n);
		assert_non_null(one.poster);
		assert_int_equal(hyphae_cell_post(keeper, &keeper_type, &one),
				 0);
		assert_int_equal(hyphae_poster_post_int64(one.poster, 2), 0);
		assert_int_equal(hyphae_cell_unref(keeper), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(hyphae_int64_get(n, &held), 0);
		assert_int_equal(held, 1);
		assert_int_equal(hyphae_graph_post_counts(graph, &counts), 0);
		assert_int_equal(counts.applied, 0);
		assert_int_equal(counts.refused, 2);
		assert_int_equal(counts.waiting, 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* A cell that is released when a value of this type is dropped. */
struct holder {
	struct hyphae_cell *cell;
};

static int holder_copy(void *to, const void *from)
{
	*(struct holder *)to = *(const struct holder *)from;
	return 0;
}

static void holder_drop(void *value)
{
	hyphae_cell_unref(((struct holder *)value)->cell);
}

HYPHAE_TYPE_WITH(holder, struct holder, .copy = holder_copy,
		 .drop = holder_drop);

static void count(void *data)
{
	++*(int *)data;
}

/*
 * The value of a post that was refused released a cell when it was dropped, after the
 * drainer had looked whether anything had died: it was not given up until
 * something else died, nor was the graph idle.
 */
static void refused_post_releases_a_cell(void **state)
{
	static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD,
					     HYPHAE_EAGER};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct holder none = {NULL}, one;
		struct hyphae_cell *holder = holder_new_at(graph, none, "");
		struct hyphae_graph_counts counts;
		int dropped = 0;

		one.cell = hyphae_int64_new(graph, 1);
		assert_int_equal(hyphae_cell_own(one.cell, &dropped, count), 0);
		assert_int_equal(hyphae_cell_post(holder, &holder_type, &one),
				 0);
		/* It has ended when the post is taken. */
		assert_int_equal(hyphae_cell_complete(holder), 0);
		assert_int_equal(dropped, 1);
		assert_int_equal(hyphae_graph_check_idle(graph), 0);
		assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
		assert_int_equal(counts.cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poster_is_freed_while_posts_are_taken),
		cmocka_unit_test(refused_post_releases_a_cell),
	};

	return cmocka_run_group_tests_name("core regressions", tests, NULL,
					   NULL);
}
