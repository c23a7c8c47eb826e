/* SPDX-License-Identifier: MIT */
/*
 * What a tracked function reads in its first run is followed at once if there
 * is nothing to it but to be told of changes.  Here there is more to it: an
 * input that has ended, or is to be told that somebody follows it.
 */
#include "one_site.h"

static const unsigned int kinds[] = {
	HYPHAE_SINGLE_THREAD, 0, HYPHAE_SINGLE_THREAD | HYPHAE_EAGER,
	HYPHAE_EAGER, HYPHAE_SINGLE_THREAD | HYPHAE_HEAP_CELLS};

#define each_kind(i)                                                           \
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)

struct reader {
	struct hyphae_cell *a, *b; /* NULL: it is not read */
	int64_t sum;
	unsigned int runs;
	unsigned int first, last; /* calls of hooks */
};

static int read_both(void *ctx)
{
	struct reader *reader = ctx;
	int64_t x = 0, y = 0;

	reader->runs++;
	hyphae_int64_get(reader->a, &x);
	if (reader->b)
		hyphae_int64_get(reader->b, &y);
	reader->sum = x + y;
	return 0;
}

static int compute_both(void *ret, void *ctx)
{
	struct reader *reader = ctx;

	read_both(reader);
	*(int64_t *)ret = reader->sum;
	return 0;
}

static struct hyphae_subscription *effect(struct hyphae_graph *graph,
					  struct reader *reader)
{
	return hyphae_effect(graph, read_both, reader);
}

static struct hyphae_cell *computed(struct hyphae_graph *graph,
				    struct reader *reader)
{
	return hyphae_computed(graph, &hyphae_int64, compute_both, reader);
}

static bool has_ended(struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.ended;
}

/* Twice: the second effect finds what the first one has left. */
static void read_of_one_that_has_ended(void **state)
{
	(void)state;
	each_kind(i) for (int time = 0; time < 2; time++)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct reader one = {.a = made(graph, 5)}, two, three;
		struct hyphae_cell *cell;

		if (time)
			hyphae_unsubscribe(effect(graph, &one));
		assert_int_equal(hyphae_cell_complete(one.a), 0);
		two = three = (struct reader){.a = one.a, .b = made(graph, 10)};
		one.runs = 0;
		assert_non_null(effect(graph, &one));
		assert_int_equal(one.runs, 1);
		assert_int_equal(one.sum, 5);
		assert_int_equal(counts(graph).subscriptions, 0);
		assert_non_null(effect(graph, &two));
		cell = computed(graph, &three);
		assert_int_equal(counts(graph).subscriptions, 1);
		assert_int_equal(hyphae_int64_set(two.b, 20), 0);
		assert_int_equal(two.sum, 25);
		assert_int_equal(value(cell), 25);
		assert_false(has_ended(cell));
		assert_int_equal(hyphae_cell_complete(two.b), 0);
		assert_int_equal(counts(graph).subscriptions, 0);
		assert_true(has_ended(cell));
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void note_first(struct hyphae_cell *cell, void *ctx)
{
	struct reader *reader = ctx;

	(void)cell;
	reader->first++;
}

static void note_last(struct hyphae_cell *cell, void *ctx)
{
	struct reader *reader = ctx;

	(void)cell;
	reader->last++;
}

static void read_of_one_with_hooks(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct reader reader = {.a = made(graph, 5)};
		struct hyphae_subscription *s;
		struct hyphae_cell *cell;

		assert_int_equal(hyphae_cell_set_hooks(reader.a, note_first,
						       note_last, &reader),
				 0);
		for (unsigned int n = 0; n < 3; n++) {
			s = effect(graph, &reader);
			assert_int_equal(reader.first, n + 1);
			assert_int_equal(reader.last, n);
			assert_int_equal(hyphae_unsubscribe(s), 0);
			assert_int_equal(reader.last, n + 1);
		}
		cell = computed(graph, &reader);
		assert_int_equal(reader.first, 4);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(reader.last, 4);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_of_one_that_has_ended),
		cmocka_unit_test(read_of_one_with_hooks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
