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

static const unsigned int all_kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
					 HYPHAE_HEAP_CELLS};
#define KINDS (sizeof(all_kinds) / sizeof(all_kinds[0]))

/* Of whom a subscriber was told last, and how often it was. */
struct told {
	uint64_t id;
	int64_t value;
	int calls;
};

static int note_whose(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	told->id = signal->cell_id;
	told->value = hyphae_int64_of(signal);
	told->calls++;
	return 0;
}

/* The signals of a graph's waves lie in one place. */
static void each_signal_tells_whose_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(all_kinds[i]);
		struct hyphae_cell *a = hyphae_int64_new(graph, 0);
		struct hyphae_cell *b = hyphae_int64_new(graph, 0);
		struct told of_a = {.calls = 0}, of_b[2] = {{.calls = 0}};

		hyphae_subscribe(a, note_whose, &of_a);
		hyphae_subscribe(b, note_whose, &of_b[0]);
		hyphae_subscribe(b, note_whose, &of_b[1]);
		for (int64_t value = 1; value < 4; value++) {
			of_a.id = of_b[0].id = of_b[1].id = 0;
			assert_int_equal(hyphae_int64_set(a, value), 0);
			assert_int_equal(hyphae_int64_set(b, -value), 0);
			assert_int_equal(of_a.id, hyphae_cell_id(a));
			assert_int_equal(of_a.value, value);
			for (int k = 0; k < 2; k++) {
				assert_int_equal(of_b[k].id, hyphae_cell_id(b));
				assert_int_equal(of_b[k].value, -value);
			}
		}
		assert_int_equal(of_a.calls, 4);
		assert_int_equal(of_b[1].calls, 4);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- a wave that begins in a function which may not write ---- */

static struct hyphae_cell *chain[3];
static int wrote[3], copies;

static int write_on(const struct hyphae_signal *signal, void *ctx)
{
	int at = (int)(intptr_t)ctx;

	wrote[at] = hyphae_int64_set(chain[at], hyphae_int64_of(signal) + 1);
	return 0;
}

static int copy_and_subscribe(void *to, const void *from)
{
	*(struct holder *)to = *(const struct holder *)from;
	if (copies++ == 0)
		hyphae_subscribe(((const struct holder *)from)->cell, write_on,
				 NULL);
	return 0;
}

HYPHAE_TYPE_WITH(curious, struct holder, .copy = copy_and_subscribe);

/*
 * A copy function may not write, but may subscribe, and then who is called may
 * write; and so may those who are called for that, in the same wave or a later
 * one.
 */
static void subscribers_write_beneath_a_copy(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(all_kinds[i]);
		struct hyphae_cell *first = hyphae_int64_new(graph, 1),
				   *curious;
		struct holder none = {NULL}, one = {first};
		int64_t last = 0;

		copies = 1;
		curious = curious_new_at(graph, none, "");
		assert_non_null(curious);
		for (int k = 0; k < 3; k++) {
			chain[k] = hyphae_int64_new(graph, 0);
			wrote[k] = 1;
		}
		for (int k = 1; k < 3; k++)
			hyphae_subscribe_with(chain[k - 1], write_on,
					      (void *)(intptr_t)k, NULL,
					      HYPHAE_SKIP_INITIAL);
		copies = 0;
		assert_int_equal(hyphae_cell_set(curious, &curious_type, &one),
				 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(wrote[k], 0);
		assert_int_equal(hyphae_int64_get(chain[2], &last), 0);
		assert_int_equal(last, 4);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_signal_tells_whose_it_is),
		cmocka_unit_test(subscribers_write_beneath_a_copy),
		cmocka_unit_test(poster_is_freed_while_posts_are_taken),
		cmocka_unit_test(refused_post_releases_a_cell),
	};

	return cmocka_run_group_tests_name("core regressions", tests, NULL,
					   NULL);
}
