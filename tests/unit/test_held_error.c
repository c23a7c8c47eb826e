/* SPDX-License-Identifier: MIT */
/*
 * A cell of one input has its error in the place where its edge says whose it
 * is: whoever comes along the edge finds it all the same.
 */
#include "one_site.h"

#include "core/types.h"

static const unsigned int kinds[] = {
	HYPHAE_SINGLE_THREAD, 0, HYPHAE_SINGLE_THREAD | HYPHAE_EAGER,
	HYPHAE_EAGER, HYPHAE_SINGLE_THREAD | HYPHAE_HEAP_CELLS};

#define each_kind(i)                                                           \
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)

/* The value times ten; no multiples of *ctx. */
static int but_some(void *ret, const void *input, void *ctx)
{
	int64_t x = *(const int64_t *)input;

	if (x % *(int *)ctx == 0)
		return -EDOM;
	*(int64_t *)ret = 10 * x;
	return 0;
}

/* What it holds, or the error. */
static int64_t held(const struct hyphae_cell *cell)
{
	int64_t x = 0;
	int r = hyphae_int64_get(cell, &x);

	return r ? r : x;
}

static bool tells(const struct hyphae_cell *cell)
{
	return hy_cell(cell)->flags & F_TELLS;
}

static int write_to(struct hyphae_graph *graph, struct hyphae_cell *a,
		    int64_t x, bool batched)
{
	int r;

	if (!batched)
		return hyphae_int64_set(a, x);
	r = hyphae_batch_begin(graph);
	r = r ? r : hyphae_int64_set(a, x);
	return r ? r : hyphae_batch_end(graph);
}

/* One, two and more followers; each of them fails at times. */
static void followers_that_fail_and_recover(void **state)
{
	static int never = 1 << 30, twos = 2, threes = 3;
	static int *const which[] = {&twos, &never, &threes, &twos};

	(void)state;
	each_kind(i) for (int count = 1; count <= 4; count++)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *b[4], *below[4];
		int wrong = 0;

		for (int k = 0; k < count; k++) {
			b[k] = mapped(a, but_some, which[k]);
			below[k] = mapped(b[k], plus_one, NULL);
		}
		for (int64_t x = 2; x < 30; x++) {
			wrong += write_to(graph, a, x, x % 4 > 1) < 0;
			for (int k = 0; k < count; k++) {
				bool fails = x % *which[k] == 0;
				int64_t is = fails ? -EDOM : 10 * x;

				wrong += held(b[k]) != is;
				wrong += held(below[k]) != is + !fails;
			}
		}
		assert_int_equal(wrong, 0);
		/* Nobody has failed twice in a row: it is plain again. */
		assert_int_equal(write_to(graph, a, 31, false), 0);
		assert_int_equal(write_to(graph, a, 35, false), 0);
		assert_false(tells(a));
		for (int k = 0; k < count; k++) {
			assert_int_equal(held(b[k]), 350);
			assert_int_equal(hyphae_cell_unref(below[k]), 0);
			assert_int_equal(hyphae_cell_unref(b[k]), 0);
		}
		assert_int_equal(counts(graph).cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* They come and go while they or their neighbours hold errors. */
static void edges_of_cells_that_failed(void **state)
{
	static int ones = 1, never = 1 << 30, twos = 2;

	(void)state;
	each_kind(i) for (int goes = 0; goes < 3; goes++)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *b[4];
		uint64_t id;
		int wrong = 0;

		b[0] = mapped(a, but_some, &ones); /* from the beginning */
		b[1] = mapped(a, but_some, &twos);
		assert_int_equal(write_to(graph, a, 4, false), 0);
		b[2] = mapped(a, but_some, &twos);
		id = hyphae_cell_id(b[goes]);
		assert_int_equal(hyphae_cell_unref(b[goes]), 0);
		b[goes] = mapped(a, but_some, &never);
		b[3] = mapped(a, but_some, &ones);
		for (int64_t x = 5; x < 9; x++) {
			wrong += write_to(graph, a, x, x > 6) < 0;
			for (int k = 0; k < 4; k++) {
				int by = k == goes ? never
					 : k % 3   ? twos
						   : ones;

				wrong +=
					held(b[k]) != (x % by ? 10 * x : -EDOM);
			}
		}
		assert_int_equal(wrong, 0);
		assert_true(hyphae_cell_id(b[goes]) != id);
		for (int k = 0; k < 4; k++)
			assert_int_equal(hyphae_cell_unref(b[k]), 0);
		assert_int_equal(counts(graph).cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static int choose(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

/* A cell of two inputs has its error beside these. */
static void cells_of_two_inputs(void **state)
{
	static int twos = 2, threes = 3;

	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *b[2], *sum;
		int wrong = 0;

		b[0] = mapped(a, but_some, &twos);
		b[1] = mapped(a, but_some, &threes);
		sum = hyphae_combine(b, 2, &hyphae_int64, choose, NULL);
		for (int64_t x = 2; x < 20; x++) {
			wrong += write_to(graph, a, x, x % 2) < 0;
			wrong += held(sum) != (x % 2 && x % 3 ? 20 * x : -EDOM);
		}
		assert_int_equal(wrong, 0);
		assert_int_equal(hyphae_cell_unref(sum), 0);
		for (int k = 0; k < 2; k++)
			assert_int_equal(hyphae_cell_unref(b[k]), 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* What is followed: one of two cells. */
struct choice {
	struct hyphae_cell *low, *high;
	bool wants_high;
};

static int follow_one(void *ret, void *ctx)
{
	struct choice *choice = ctx;
	struct hyphae_cell *cell =
		choice->wants_high ? choice->high : choice->low;

	return hyphae_int64_get(cell, ret);
}

static uint32_t height(const struct hyphae_cell *cell)
{
	return hy_cell(cell)->height;
}

/* They are raised with what they follow, and can be gone to from there. */
static void raised_while_it_holds_an_error(void **state)
{
	static int ones = 1;

	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct choice choice = {.low = made(graph, 1)};
		struct hyphae_cell *middle, *failed;

		choice.high = mapped(choice.low, plus_one, NULL);
		for (int n = 0; n < 4; n++)
			choice.high = mapped(choice.high, plus_one, NULL);
		middle = hyphae_computed(graph, &hyphae_int64, follow_one,
					 &choice);
		failed = mapped(middle, but_some, &ones);
		assert_int_equal(held(failed), -EDOM);
		assert_true(height(failed) < height(choice.high));
		choice.wants_high = true;
		assert_int_equal(hyphae_int64_set(choice.low, 2), 0);
		assert_int_equal(held(middle), 7);
		assert_int_equal(height(choice.high), 5);
		assert_int_equal(height(middle), 6);
		assert_int_equal(height(failed), 7);
		assert_int_equal(held(failed), -EDOM);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static int see_target(struct hyphae_cell *cell,
		      struct hyphae_subscription *subscription, void *ctx)
{
	(void)subscription;
	*(struct hyphae_cell **)ctx = cell;
	return 0;
}

static void seen_as_a_target_while_it_holds_an_error(void **state)
{
	static int ones = 1;

	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *seen = NULL;
		struct hyphae_cell *failed = mapped(a, but_some, &ones);

		assert_int_equal(held(failed), -EDOM);
		assert_int_equal(hyphae_cell_each_target(a, see_target, &seen),
				 0);
		assert_ptr_equal(seen, failed);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(followers_that_fail_and_recover),
		cmocka_unit_test(edges_of_cells_that_failed),
		cmocka_unit_test(cells_of_two_inputs),
		cmocka_unit_test(raised_while_it_holds_an_error),
		cmocka_unit_test(seen_as_a_target_while_it_holds_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
