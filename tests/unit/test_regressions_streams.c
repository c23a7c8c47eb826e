/* SPDX-License-Identifier: MIT */
/* Faults of operators that random programs found, each as a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <hyphae/hyphae.h>

/* 1 fails. */
static int but_one(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)value == 1)
		return -EDOM;
	*(int64_t *)ret = *(const int64_t *)value;
	return 0;
}

static int newest(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)acc;
	return but_one(ret, value, ctx);
}

static int oldest(void *ret, const void *const *values, size_t count, void *ctx)
{
	(void)count;
	return but_one(ret, values[0], ctx);
}

static int get(const struct hyphae_cell *cell)
{
	int64_t value;

	return hyphae_int64_get(cell, &value);
}

/* What holds an error and completes has not failed for good. */
static void an_error_and_an_end_are_no_failure(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 5);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, but_one, NULL);
	struct hyphae_cell *both[] = {map, b};
	struct hyphae_cell *merge = hyphae_merge(both, 2);
	struct hyphae_cell *until = hyphae_take_until(b, map);
	struct hyphae_cell_info info;

	(void)state;
	hyphae_batch_begin(graph);
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(get(merge), -EDOM);
	assert_int_equal(hyphae_cell_info(merge, &info), 0);
	assert_false(info.ended);
	assert_int_equal(hyphae_cell_info(until, &info), 0);
	assert_false(info.ended);
	assert_int_equal(hyphae_int64_set(b, 7), 0);
	assert_int_equal(get(merge), 0);
	assert_int_equal(get(until), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct told {
	int errors, ends, code;
	char message[16];
};

static int listen(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	told->errors += signal->kind == HYPHAE_ERROR;
	if (signal->kind != HYPHAE_COMPLETE)
		return 0;
	told->ends++;
	told->code = signal->code;
	strncpy(told->message, signal->message, sizeof(told->message) - 1);
	return 0;
}

/* A completion right after an error has no code of it. */
static void a_completion_has_no_code(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, but_one, NULL);
	struct told told = {.errors = 0};

	(void)state;
	assert_non_null(hyphae_subscribe(map, listen, &told));
	hyphae_batch_begin(graph);
	hyphae_int64_set(a, 1);
	hyphae_cell_complete(a);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(told.errors, 1);
	assert_int_equal(told.ends, 1);
	assert_int_equal(told.code, 0);
	assert_string_equal(told.message, "");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* An error of the input that is over without a value is over. */
static void an_error_goes_with_that_of_the_input(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_cell *b = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_cell *map = hyphae_map(a, &hyphae_int64, but_one, NULL);
	struct hyphae_cell *input = hyphae_distinct(map, 4);
	int64_t zero = 0;
	struct hyphae_cell *cells[] = {
		hyphae_reduce(input, &hyphae_int64, &zero, newest, NULL),
		hyphae_buffer_count(input, 2, &hyphae_int64, oldest, NULL),
		hyphae_skip_until(input, b),
		hyphae_take_until(input, b),
	};

	(void)state;
	hyphae_int64_set(a, 5);
	hyphae_int64_set(a, 1);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(get(cells[i]), -EDOM);
	hyphae_int64_set(a, 5);
	assert_int_equal(get(input), -ENODATA);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(get(cells[i]), -ENODATA);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_and_an_end_are_no_failure),
		cmocka_unit_test(a_completion_has_no_code),
		cmocka_unit_test(an_error_goes_with_that_of_the_input),
	};

	return cmocka_run_group_tests_name("faults of streams", tests, NULL,
					   NULL);
}
