/* SPDX-License-Identifier: MIT */
/*
 * Faults of operators over lazy cells that wake, that random programs found,
 * each as a program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

static int add(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		*(int64_t *)ctx += hyphae_int64_of(signal);
	return 0;
}

static void count(enum hyphae_end_kind kind, void *ctx)
{
	((int *)ctx)[kind]++;
}

static int get(const struct hyphae_cell *cell)
{
	int64_t value;

	return hyphae_int64_get(cell, &value);
}

static bool ended(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.ended;
}

/* What wakes because a cell is made was there when that was made. */
static void what_wakes_is_no_change(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *changes = hyphae_changes(hyphae_share(a));
	struct hyphae_cell *sample = hyphae_sample(a, hyphae_share(a));
	struct hyphae_cell *some = hyphae_take_until(a, hyphae_share(a));
	struct hyphae_cell *rest = hyphae_skip_until(a, hyphae_share(a));
	struct hyphae_cell *input = hyphae_share(a);
	struct hyphae_cell *group = hyphae_group(&input, 1);

	(void)state;
	assert_int_equal(get(changes), -ENODATA);
	assert_int_equal(get(sample), -ENODATA);
	assert_int_equal(get(some), 0);
	assert_false(ended(some));
	assert_int_equal(get(rest), -ENODATA);
	assert_int_equal(hyphae_group_changed(group, 0), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int last_two(void *ret, const void *const *values, size_t n, void *ctx)
{
	(void)n;
	++*(int *)ctx;
	*(int64_t *)ret =
		*(const int64_t *)values[0] * 10 + *(const int64_t *)values[1];
	return 0;
}

/* It completes with its input, but first it is computed. */
static void what_wakes_is_there_at_the_end(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *other = hyphae_share(hyphae_int64_new(graph, 7));
	struct hyphae_cell *both;
	int64_t value = 0;
	int calls = 0;

	(void)state;
	assert_int_equal(hyphae_cell_complete(a), 0);
	both = hyphae_with_latest_from(a, &other, 1, &hyphae_int64, last_two,
				       &calls);
	assert_int_equal(hyphae_int64_get(both, &value), 0);
	assert_int_equal(value, 47);
	assert_int_equal(calls, 1);
	assert_true(ended(both));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Also if who woke it has left before the next wave. */
static void finalize_is_told_in_the_wave_that_ends_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_LAZY);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	int ends[4] = {0};
	struct hyphae_cell *cell =
		hyphae_finalize(hyphae_first(a), count, ends);
	int64_t sum = 0;

	(void)state;
	assert_non_null(
		hyphae_subscribe_with(cell, add, &sum, NULL, HYPHAE_ONCE));
	assert_int_equal(sum, 4);
	assert_int_equal(ends[HYPHAE_END_COMPLETE], 1);
	assert_true(ended(cell));
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(ends[HYPHAE_END_RELEASED], 0);
}

/* An event that speaks as it wakes is heard by all that wake with it. */
static void a_race_hears_what_wakes_with_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_LAZY);
	struct hyphae_cell *some[] = {hyphae_int64_new(graph, 4),
				      hyphae_event_new(graph, &hyphae_int64)};
	struct hyphae_cell *event = hyphae_merge(some, 2);
	struct hyphae_cell *racers[] = {event, hyphae_int64_new(graph, 9)};
	struct hyphae_cell *pair[] = {hyphae_race(racers, 2), event};
	struct hyphae_cell *both = hyphae_merge(pair, 2);
	int64_t sum = 0;

	(void)state;
	assert_non_null(hyphae_subscribe(both, add, &sum));
	assert_int_equal(sum, 8);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void a_concat_hears_what_wakes_with_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_LAZY);
	struct hyphae_cell *some[] = {hyphae_int64_new(graph, 4),
				      hyphae_event_new(graph, &hyphae_int64)};
	struct hyphae_cell *event = hyphae_merge(some, 2);
	struct hyphae_cell *pair[] = {hyphae_concat(&event, 1), event};
	struct hyphae_cell *both = hyphae_merge(pair, 2);
	int64_t sum = 0;

	(void)state;
	assert_non_null(hyphae_subscribe(both, add, &sum));
	assert_int_equal(sum, 8);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_wakes_is_no_change),
		cmocka_unit_test(what_wakes_is_there_at_the_end),
		cmocka_unit_test(finalize_is_told_in_the_wave_that_ends_it),
		cmocka_unit_test(a_race_hears_what_wakes_with_it),
		cmocka_unit_test(a_concat_hears_what_wakes_with_it),
	};

	return cmocka_run_group_tests_name("faults of streams: lazy", tests,
					   NULL, NULL);
}
