/* SPDX-License-Identifier: MIT */
/*
 * Faults of operators about recoverable errors that are over, and about ends,
 * that random programs found, each as a program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

struct told {
	int values, errors, ends;
	int64_t last;
};

static int listen(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	told->values += signal->kind == HYPHAE_VALUE;
	told->errors += signal->kind == HYPHAE_ERROR;
	told->ends += signal->kind == HYPHAE_COMPLETE;
	if (signal->kind == HYPHAE_VALUE)
		told->last = hyphae_int64_of(signal);
	return 0;
}

/* Odd values fail. */
static int even(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)value & 1)
		return -EDOM;
	*(int64_t *)ret = *(const int64_t *)value;
	return 0;
}

static int first_even(void *ret, const void *const *values, size_t count,
		      void *ctx)
{
	(void)count;
	return even(ret, values[0], ctx);
}

static int fail_instead(void *ret, int code, const char *message, void *ctx)
{
	(void)ret;
	(void)code;
	(void)message;
	(void)ctx;
	return -ERANGE;
}

static int count_calls(void *ret, const void *const *values, size_t count,
		       void *ctx)
{
	(void)count;
	++*(int *)ctx;
	*(int64_t *)ret = *(const int64_t *)values[0];
	return 0;
}

static int below_ten(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value < 10;
}

static bool about(const void *last, const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)last / 4 == *(const int64_t *)value / 4;
}

static void ignore_end(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	(void)ctx;
}

static int get(const struct hyphae_cell *cell)
{
	int64_t value;

	return hyphae_int64_get(cell, &value);
}

static int64_t value_of(const struct hyphae_cell *cell)
{
	int64_t value = -1;

	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	return value;
}

static bool ended(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.ended;
}

/*
 * What `source` holds if it is even, and not again; an odd value is an error,
 * and a repeated one after that the loss of it, without a value.
 */
static struct hyphae_cell *loses(struct hyphae_cell *source)
{
	return hyphae_distinct(hyphae_map(source, &hyphae_int64, even, NULL),
			       8);
}

static void lose(struct hyphae_cell *source)
{
	assert_int_equal(hyphae_int64_set(source, 1), 0);
	assert_int_equal(hyphae_int64_set(source, 4), 0);
}

static void a_lost_error_is_lost_below(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *input = loses(a);
	struct hyphae_cell *caught =
		hyphae_catch_error(input, fail_instead, NULL);
	struct hyphae_cell *last = hyphae_last(input);
	struct hyphae_cell *finalized =
		hyphae_finalize(input, ignore_end, NULL);

	(void)state;
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(get(caught), -ERANGE);
	assert_int_equal(get(last), -EDOM);
	assert_int_equal(get(finalized), -EDOM);
	assert_int_equal(hyphae_int64_set(a, 4), 0);
	assert_int_equal(get(input), -ENODATA);
	assert_int_equal(get(caught), -ENODATA);
	assert_int_equal(get(last), -ENODATA);
	assert_int_equal(get(finalized), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* A subscriber is not told either. */
static void a_lost_error_is_no_change_of_a_group(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *inputs[] = {loses(a)};
	struct hyphae_cell *group = hyphae_group(inputs, 1);
	struct told told = {.values = 0};

	(void)state;
	assert_non_null(hyphae_subscribe(group, listen, &told));
	lose(a);
	assert_int_equal(told.values, 1);
	assert_int_equal(hyphae_group_changed(group, 0), 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void after_a_lost_error_any_value_passes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *steps =
		hyphae_distinct_until_changed_by(loses(a), about, NULL);

	(void)state;
	lose(a);
	assert_int_equal(get(steps), -ENODATA);
	assert_int_equal(hyphae_int64_set(a, 6), 0);
	assert_int_equal(value_of(steps), 6);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* There is nothing left that a tick could tell. */
static void a_lost_error_is_not_sampled(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *tick = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_cell *sample = hyphae_sample(loses(a), tick);

	(void)state;
	lose(a);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_true(ended(sample));
	assert_int_equal(get(sample), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void a_lost_error_is_nothing_to_combine_with(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *b = hyphae_int64_new(graph, 4);
	struct hyphae_cell *other = hyphae_map(
		hyphae_catch_error(hyphae_map(b, &hyphae_int64, even, NULL),
				   fail_instead, NULL),
		&hyphae_int64, even, NULL);
	struct hyphae_cell *both = hyphae_with_latest_from(
		loses(a), &other, 1, &hyphae_int64, first_even, NULL);

	(void)state;
	assert_int_equal(value_of(both), 4);
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(get(both), -EDOM);
	assert_int_equal(hyphae_int64_set(b, 1), 0);
	assert_int_equal(get(other), -ERANGE);
	assert_int_equal(hyphae_int64_set(a, 4), 0);
	assert_int_equal(get(both), -EDOM);
	assert_int_equal(hyphae_int64_set(a, 8), 0);
	assert_int_equal(get(both), -ERANGE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The value that ends it does not pass, but it ends an error. */
static void take_while_does_not_end_with_an_old_error(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, even, NULL);
	struct hyphae_cell *some =
		hyphae_take_while(map, below_ten, false, NULL);

	(void)state;
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(get(some), -EDOM);
	assert_int_equal(hyphae_int64_set(a, 20), 0);
	assert_true(ended(some));
	assert_int_equal(get(some), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* It completed while it held an error, which was no failure. */
static void what_a_completed_cell_holds_is_no_change(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, even, NULL);
	struct hyphae_cell *changes;

	(void)state;
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(get(map), -EDOM);
	changes = hyphae_changes(map);
	assert_true(ended(changes));
	assert_int_equal(get(changes), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void an_end_does_not_repeat_the_error_before(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, even, NULL);
	struct told told[2] = {{.values = 0}, {.values = 0}};

	(void)state;
	assert_non_null(
		hyphae_subscribe(hyphae_race(&map, 1), listen, &told[0]));
	assert_non_null(
		hyphae_subscribe(hyphae_concat(&map, 1), listen, &told[1]));
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(hyphae_cell_complete(a), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(told[i].errors, 1);
		assert_int_equal(told[i].ends, 1);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* What an event emitted before the cell was made does not come with its end. */
static void the_end_of_an_event_brings_no_value(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *both[] = {hyphae_event_new(graph, &hyphae_int64),
				      hyphae_int64_new(graph, 1)};
	struct hyphae_cell *cell;
	int calls = 0;

	(void)state;
	assert_int_equal(hyphae_int64_set(both[0], 5), 0);
	cell = hyphae_combine(both, 2, &hyphae_int64, count_calls, &calls);
	assert_int_equal(hyphae_cell_complete(both[0]), 0);
	assert_int_equal(hyphae_int64_set(both[1], 2), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(get(cell), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Of a cell an equal error is told once. */
static void groups_of_one_that_fail_alike_are_told_once(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 4);
	struct hyphae_cell *groups =
		hyphae_buffer_count(a, 1, &hyphae_int64, first_even, NULL);
	struct told told = {.values = 0};

	(void)state;
	assert_non_null(hyphae_subscribe(groups, listen, &told));
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(hyphae_int64_set(a, 3), 0);
	assert_int_equal(told.errors, 1);
	assert_int_equal(hyphae_int64_set(a, 6), 0);
	assert_int_equal(told.values, 2);
	assert_int_equal(told.last, 6);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_error_is_lost_below),
		cmocka_unit_test(a_lost_error_is_no_change_of_a_group),
		cmocka_unit_test(after_a_lost_error_any_value_passes),
		cmocka_unit_test(a_lost_error_is_not_sampled),
		cmocka_unit_test(a_lost_error_is_nothing_to_combine_with),
		cmocka_unit_test(take_while_does_not_end_with_an_old_error),
		cmocka_unit_test(what_a_completed_cell_holds_is_no_change),
		cmocka_unit_test(an_end_does_not_repeat_the_error_before),
		cmocka_unit_test(the_end_of_an_event_brings_no_value),
		cmocka_unit_test(groups_of_one_that_fail_alike_are_told_once),
	};

	return cmocka_run_group_tests_name("faults of streams: errors", tests,
					   NULL, NULL);
}
