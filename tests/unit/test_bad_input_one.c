// SPDX-License-Identifier: MIT
/*
 * What bad input gets from the operators of one input: the exact errno, and a
 * graph that is as it was.
 */
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

static const int64_t one = 1;
static const char *const text = "text";

static int pass(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
	return 1;
}

static void look(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
}

static bool differ(const void *last, const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)last == *(const int64_t *)value;
}

static int instead(void *ret, int code, const char *message, void *ctx)
{
	(void)message;
	(void)ctx;
	*(int64_t *)ret = code;
	return 0;
}

static int reword(int code, const char *message, void *ctx)
{
	(void)message;
	(void)ctx;
	return code;
}

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)value;
	return 0;
}

static int count_of(void *ret, const void *const *values, size_t count,
		    void *ctx)
{
	(void)values;
	(void)ctx;
	*(int64_t *)ret = (int64_t)count;
	return 0;
}

static int refuse_copy(void *to, const void *from)
{
	(void)to;
	(void)from;
	return -EIO;
}

static unsigned int ends;

static void at_end(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	(void)ctx;
	ends++;
}

static const struct hyphae_machine machine;
static const struct hyphae_machine no_array = {.transition_count = 1};
static const struct hyphae_machine no_states = {.state_count = 1};
static const struct hyphae_type no_size = {.name = "no size", .align = 1};

/* One whose initial values cannot be copied. */
static const struct hyphae_type uncopied = {
	.name = "uncopied", .size = 8, .align = 8, .copy = refuse_copy};

#define INT &hyphae_int64

/* Every operator over `in`, with arguments that are good. */
#define FOR_ALL(in, DO)                                                        \
	DO(hyphae_tap(in, look, NULL));                                        \
	DO(hyphae_catch_error(in, instead, NULL));                             \
	DO(hyphae_map_error(in, reword, NULL));                                \
	DO(hyphae_unwrap_or(in, INT, &one));                                   \
	DO(hyphae_distinct_until_changed_by(in, differ, NULL));                \
	DO(hyphae_deduped(in));                                                \
	DO(hyphae_distinct(in, 3));                                            \
	DO(hyphae_hold(in, INT, &one));                                        \
	DO(hyphae_hold(in, NULL, NULL));                                       \
	DO(hyphae_changes(in));                                                \
	DO(hyphae_take(in, 0));                                                \
	DO(hyphae_take(in, 1));                                                \
	DO(hyphae_first(in));                                                  \
	DO(hyphae_element_at(in, 1));                                          \
	DO(hyphae_skip(in, 1));                                                \
	DO(hyphae_take_while(in, pass, true, NULL));                           \
	DO(hyphae_skip_while(in, pass, NULL));                                 \
	DO(hyphae_take_until(in, good));                                       \
	DO(hyphae_skip_until(in, good));                                       \
	DO(hyphae_take_until(good, in));                                       \
	DO(hyphae_skip_until(good, in));                                       \
	DO(hyphae_last(in));                                                   \
	DO(hyphae_last_or(in, INT, &one));                                     \
	DO(hyphae_finalize(in, at_end, NULL));                                 \
	DO(hyphae_scan(in, INT, &one, add, NULL));                             \
	DO(hyphae_reduce(in, INT, &one, add, NULL));                           \
	DO(hyphae_pairwise(in, INT, count_of, NULL));                          \
	DO(hyphae_window(in, 3, INT, count_of, NULL));                         \
	DO(hyphae_buffer_count(in, 2, INT, count_of, NULL));                   \
	DO(hyphae_state_transition(in, INT, &machine, &one, NULL))

struct garden {
	struct hyphae_graph *graph, *other;
	struct hyphae_cell *good;   /* a number */
	struct hyphae_cell *string; /* a text */
	struct hyphae_cell *stale;
	struct hyphae_cell *foreign;
};

static int plant(void **state)
{
	struct garden *g = calloc(1, sizeof(*g));

	if (!g)
		return -1;
	*state = g;
	g->graph = hyphae_graph_new(0);
	g->other = hyphae_graph_new(0);
	g->good = hyphae_int64_new(g->graph, 1);
	g->string = hyphae_string_new(g->graph, "a");
	g->stale = hyphae_int64_new(g->graph, 1);
	g->foreign = hyphae_int64_new(g->other, 1);
	return hyphae_cell_unref(g->stale);
}

/* Nothing was made, nothing follows. */
static int uproot(void **state)
{
	struct hyphae_graph_counts counts;
	struct garden *g = *state;
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	assert_int_equal(counts.cells, 2);
	assert_int_equal(hyphae_cell_info(g->good, &info), 0);
	assert_int_equal(info.targets, 0);
	assert_int_equal(info.references, 1);
	assert_int_equal(hyphae_graph_check_idle(g->graph), 0);
	assert_int_equal(hyphae_graph_free(g->graph), 0);
	assert_int_equal(hyphae_graph_free(g->other), 0);
	assert_int_equal(ends, 0);
	free(g);
	return 0;
}

#define EXPECT(expression, code)                                               \
	do {                                                                   \
		errno = 1234;                                                  \
		assert_null(expression);                                       \
		assert_int_equal(errno, code);                                 \
	} while (0)

static void null_input(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *good = g->good, *null = NULL;

#define DO(expression) EXPECT(expression, 1234)
	FOR_ALL(null, DO);
#undef DO
}

static void stale_input(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *good = g->good;

#define DO(expression) EXPECT(expression, ESTALE)
	FOR_ALL(g->stale, DO);
#undef DO
}

static void of_two_graphs(void **state)
{
	struct garden *g = *state;

	EXPECT(hyphae_take_until(g->good, g->foreign), EXDEV);
	EXPECT(hyphae_skip_until(g->good, g->foreign), EXDEV);
}

static void no_function(void **state)
{
	struct hyphae_cell *in = ((struct garden *)*state)->good;

	EXPECT(hyphae_tap(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_catch_error(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_map_error(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_distinct_until_changed_by(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_take_while(in, NULL, true, NULL), EINVAL);
	EXPECT(hyphae_skip_while(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_finalize(in, NULL, NULL), EINVAL);
	EXPECT(hyphae_scan(in, INT, &one, NULL, NULL), EINVAL);
	EXPECT(hyphae_reduce(in, INT, &one, NULL, NULL), EINVAL);
	EXPECT(hyphae_pairwise(in, INT, NULL, NULL), EINVAL);
	EXPECT(hyphae_window(in, 3, INT, NULL, NULL), EINVAL);
	EXPECT(hyphae_buffer_count(in, 2, INT, NULL, NULL), EINVAL);
	EXPECT(hyphae_state_transition(in, INT, NULL, &one, NULL), EINVAL);
}

static void no_value(void **state)
{
	struct hyphae_cell *in = ((struct garden *)*state)->good;

	EXPECT(hyphae_unwrap_or(in, INT, NULL), EINVAL);
	EXPECT(hyphae_last_or(in, INT, NULL), EINVAL);
	EXPECT(hyphae_scan(in, INT, NULL, add, NULL), EINVAL);
	EXPECT(hyphae_reduce(in, INT, NULL, add, NULL), EINVAL);
}

static void wrong_type(void **state)
{
	struct garden *g = *state;

	EXPECT(hyphae_unwrap_or(g->good, &hyphae_string, &text), EINVAL);
	EXPECT(hyphae_unwrap_or(g->string, INT, &one), EINVAL);
	EXPECT(hyphae_unwrap_or(g->good, NULL, &one), EINVAL);
	EXPECT(hyphae_last_or(g->string, INT, &one), EINVAL);
	EXPECT(hyphae_last_or(g->string, NULL, &text), EINVAL);
	EXPECT(hyphae_hold(g->string, INT, &one), EINVAL);
	EXPECT(hyphae_hold(g->string, INT, NULL), EINVAL);
	EXPECT(hyphae_hold(g->string, NULL, &text), EINVAL);
	EXPECT(hyphae_scan(g->good, NULL, &one, add, NULL), EINVAL);
	EXPECT(hyphae_reduce(g->good, &no_size, &one, add, NULL), EINVAL);
	EXPECT(hyphae_pairwise(g->good, NULL, count_of, NULL), EINVAL);
	EXPECT(hyphae_window(g->good, 3, &no_size, count_of, NULL), EINVAL);
	EXPECT(hyphae_buffer_count(g->good, 2, NULL, count_of, NULL), EINVAL);
	EXPECT(hyphae_state_transition(g->good, NULL, &machine, &one, NULL),
	       EINVAL);
}

static void numbers(void **state)
{
	struct hyphae_cell *in = ((struct garden *)*state)->good;

	EXPECT(hyphae_distinct(in, 0), EINVAL);
	EXPECT(hyphae_distinct(in, HYPHAE_DISTINCT_MAX + 1), EINVAL);
	EXPECT(hyphae_distinct(in, SIZE_MAX), EINVAL);
	EXPECT(hyphae_window(in, 0, INT, count_of, NULL), EINVAL);
	EXPECT(hyphae_window(in, HYPHAE_HISTORY_MAX + 1, INT, count_of, NULL),
	       EINVAL);
	EXPECT(hyphae_buffer_count(in, 0, INT, count_of, NULL), EINVAL);
	EXPECT(hyphae_buffer_count(in, SIZE_MAX, INT, count_of, NULL), EINVAL);
}

static void machines(void **state)
{
	struct garden *g = *state;

	/* A text is not its own state. */
	EXPECT(hyphae_state_transition(g->string, INT, &machine, NULL, NULL),
	       EINVAL);
	EXPECT(hyphae_state_transition(g->good, INT, &no_array, NULL, NULL),
	       EINVAL);
	EXPECT(hyphae_state_transition(g->good, INT, &no_states, NULL, NULL),
	       EINVAL);
}

static void failing_copy(void **state)
{
	struct garden *g = *state;

	EXPECT(hyphae_scan(g->good, &uncopied, &one, add, NULL), EIO);
	EXPECT(hyphae_state_transition(g->good, &uncopied, &machine, &one,
				       NULL),
	       EIO);
	assert_null(hyphae_cell_new(g->graph, &uncopied, &one));
}

/* The largest that are allowed, and an empty table. */
static void extremes(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *cells[5];
	int64_t held;

	cells[0] =
		hyphae_window(g->good, HYPHAE_HISTORY_MAX, INT, count_of, NULL);
	cells[1] = hyphae_distinct(g->good, HYPHAE_DISTINCT_MAX);
	cells[2] = hyphae_take(g->good, SIZE_MAX);
	cells[3] = hyphae_skip(g->good, SIZE_MAX);
	cells[4] = hyphae_state_transition(g->good, INT, &machine, NULL, NULL);
	assert_int_equal(hyphae_int64_set(g->good, 2), 0);
	assert_int_equal(hyphae_int64_get(cells[0], &held), 0);
	assert_int_equal(held, 2);
	assert_int_equal(hyphae_int64_get(cells[1], &held), 0);
	assert_int_equal(hyphae_int64_get(cells[2], &held), 0);
	assert_int_equal(held, 2);
	assert_int_equal(hyphae_int64_get(cells[3], &held), -ENODATA);
	assert_int_equal(hyphae_int64_get(cells[4], &held), -ENODATA);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(hyphae_cell_unref(cells[i]), 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, plant, uproot)
	const struct CMUnitTest tests[] = {
		TEST(null_input),  TEST(stale_input), TEST(of_two_graphs),
		TEST(no_function), TEST(no_value),    TEST(wrong_type),
		TEST(numbers),	   TEST(machines),    TEST(failing_copy),
		TEST(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
