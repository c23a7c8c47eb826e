/* SPDX-License-Identifier: MIT */
/* What bad input to the operators of time gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

static int first_of(void *ret, const void *const *values, size_t count,
		    void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)values[0];
	return 0;
}

static int none(void *ret, void *ctx)
{
	(void)ret;
	(void)ctx;
	return 0;
}

#define assert_fails(expression, code)                                         \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(expression);                                       \
		assert_int_equal(errno, code);                                 \
	} while (0)

/* All that take an input, in one that may be bad. */
static void assert_input_fails(struct hyphae_cell *input, int code)
{
	assert_fails(hyphae_debounce(input, 1), code);
	assert_fails(hyphae_throttle(input, 1, HYPHAE_LEADING), code);
	assert_fails(hyphae_throttle(input, 1, 0), code);
	assert_fails(hyphae_audit(input, 1), code);
	assert_fails(hyphae_sample_time(input, 1), code);
	assert_fails(hyphae_sample_time(input, 0), code);
	assert_fails(hyphae_timeout(input, 1), code);
	assert_fails(hyphae_timeout(input, 0), code);
	assert_fails(hyphae_delay(input, 1, 1, HYPHAE_OVERFLOW_FAIL), code);
	assert_fails(hyphae_delay(input, 1, 0, HYPHAE_OVERFLOW_FAIL), code);
	assert_fails(
		hyphae_buffer_time(input, 1, 1, &hyphae_int64, first_of, NULL),
		code);
	assert_fails(
		hyphae_buffer_time(input, 1, 0, &hyphae_int64, first_of, NULL),
		code);
}

static void inputs(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *stale = hyphae_int64_new(graph, 1);

	(void)state;
	assert_input_fails(NULL, 0);
	assert_int_equal(hyphae_cell_unref(stale), 0);
	assert_fails(hyphae_debounce(stale, 1), ESTALE);
	assert_fails(hyphae_throttle(stale, 1, HYPHAE_LEADING), ESTALE);
	assert_fails(hyphae_audit(stale, 1), ESTALE);
	assert_fails(hyphae_sample_time(stale, 1), ESTALE);
	assert_fails(hyphae_timeout(stale, 1), ESTALE);
	assert_fails(hyphae_delay(stale, 1, 1, HYPHAE_OVERFLOW_LATEST), ESTALE);
	assert_fails(
		hyphae_buffer_time(stale, 1, 1, &hyphae_int64, first_of, NULL),
		ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void arguments(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts counts;

	(void)state;
	assert_fails(hyphae_throttle(a, 1, 0), EINVAL);
	assert_fails(hyphae_throttle(a, 1, 4), EINVAL);
	assert_fails(hyphae_sample_time(a, 0), EINVAL);
	assert_fails(hyphae_timeout(a, 0), EINVAL);
	assert_fails(hyphae_delay(a, 1, 0, HYPHAE_OVERFLOW_FAIL), EINVAL);
	assert_fails(hyphae_delay(a, 1, HYPHAE_CAPACITY_MAX + 1,
				  HYPHAE_OVERFLOW_FAIL),
		     EINVAL);
	assert_fails(hyphae_delay(a, 1, 1, HYPHAE_OVERFLOW_BLOCK), EINVAL);
	assert_fails(hyphae_delay(a, 1, 1, (enum hyphae_overflow)99), EINVAL);
	assert_fails(hyphae_buffer_time(a, 0, 1, &hyphae_int64, first_of, NULL),
		     EINVAL);
	assert_fails(hyphae_buffer_time(a, 1, 0, &hyphae_int64, first_of, NULL),
		     EINVAL);
	assert_fails(hyphae_buffer_time(a, 1, HYPHAE_CAPACITY_MAX + 1,
					&hyphae_int64, first_of, NULL),
		     EINVAL);
	assert_fails(hyphae_buffer_time(a, 1, 1, NULL, first_of, NULL), EINVAL);
	assert_fails(hyphae_buffer_time(a, 1, 1, &hyphae_int64, NULL, NULL),
		     EINVAL);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 1);
	assert_int_equal(counts.timers, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Of those that have a graph instead. */
static void graphs(void **state)
{
	static const struct hyphae_type broken = {.name = "broken"};
	struct hyphae_graph *graph = hyphae_graph_new(0);
	const int64_t values[] = {1};
	const char *bad_values[] = {"root", NULL};

	(void)state;
	assert_fails(hyphae_interval(NULL, 1, 0), EINVAL);
	assert_fails(hyphae_interval(graph, 0, 0), EINVAL);
	assert_fails(hyphae_interval(graph, 1, 2), EINVAL);
	assert_fails(hyphae_after(NULL, 1), EINVAL);
	assert_fails(hyphae_from_array(NULL, &hyphae_int64, values, 1, 1),
		     EINVAL);
	assert_fails(hyphae_from_array(graph, NULL, values, 1, 1), EINVAL);
	assert_fails(hyphae_from_array(graph, &broken, values, 1, 1), EINVAL);
	assert_fails(hyphae_from_array(graph, &hyphae_int64, NULL, 1, 1),
		     EINVAL);
	assert_fails(hyphae_from_array(graph, &hyphae_int64, values, 1, 0),
		     EINVAL);
	assert_fails(hyphae_from_array(graph, &hyphae_int64, values,
				       HYPHAE_CAPACITY_MAX + 1, 1),
		     EINVAL);
	/* What copying the second value says. */
	assert_fails(hyphae_from_array(graph, &hyphae_string, bad_values, 2, 1),
		     EINVAL);
	assert_fails(hyphae_from_iterator(NULL, &hyphae_int64, 1, none, NULL),
		     EINVAL);
	assert_fails(hyphae_from_iterator(graph, NULL, 1, none, NULL), EINVAL);
	assert_fails(hyphae_from_iterator(graph, &hyphae_int64, 0, none, NULL),
		     EINVAL);
	assert_fails(hyphae_from_iterator(graph, &hyphae_int64, 1, NULL, NULL),
		     EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_fails(hyphae_interval(graph, 1, 0), ESTALE);
	assert_fails(hyphae_after(graph, 1), ESTALE);
	assert_fails(hyphae_from_array(graph, &hyphae_int64, values, 1, 1),
		     ESTALE);
	assert_fails(hyphae_from_iterator(graph, &hyphae_int64, 1, none, NULL),
		     ESTALE);
}

static void dropped(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_cell *d =
		hyphae_delay(a, 1, 1, HYPHAE_OVERFLOW_DROP_NEWEST);
	struct hyphae_cell *other = hyphae_debounce(a, 1);
	uint64_t count = 9;

	(void)state;
	assert_int_equal(hyphae_delay_dropped(NULL, &count), -EINVAL);
	assert_int_equal(hyphae_delay_dropped(d, NULL), -EINVAL);
	assert_int_equal(hyphae_delay_dropped(a, &count), -EINVAL);
	assert_int_equal(hyphae_delay_dropped(other, &count), -EINVAL);
	assert_int_equal(count, 9);
	assert_int_equal(hyphae_delay_dropped(d, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(hyphae_cell_unref(d), 0);
	assert_int_equal(hyphae_delay_dropped(d, &count), -ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs),
		cmocka_unit_test(arguments),
		cmocka_unit_test(graphs),
		cmocka_unit_test(dropped),
	};

	return cmocka_run_group_tests_name("bad input to timing", tests, NULL,
					   NULL);
}
