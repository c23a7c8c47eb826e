/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by calling everything from inside everything, each
 * held fixed by the behaviour that was wrong.
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

static struct hyphae_graph *graph;

static int setup(void **state)
{
	(void)state;
	graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	return graph ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return hyphae_graph_free(graph);
}

/* What a subscriber was told. */
static struct told {
	int64_t values[8];
	size_t count;
} told;

static int note(const struct hyphae_signal *signal, void *ctx)
{
	struct told *t = ctx;

	if (signal->kind == HYPHAE_VALUE && t->count < 8)
		t->values[t->count++] = hyphae_int64_of(signal);
	return 0;
}

static int plus_hundred(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 100;
	return 0;
}

/* ---- scopes that a callback enters and leaves behind ---------------------- */

static struct hyphae_scope *scope;
static struct hyphae_cell *inner[2];

static struct hyphae_cell *enter_and_stay(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
	hyphae_scope_enter(scope);
	return inner[0];
}

/* The operator's own scope took it off the thread: it was entered for ever. */
static void scope_entered_in_a_switch_function(void **state)
{
	struct hyphae_cell *outer = hyphae_int64_new(graph, 0);
	struct hyphae_scope *around = hyphae_scope_new(graph);

	(void)state;
	inner[0] = hyphae_int64_new(graph, 1);
	scope = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_enter(around), 0);
	assert_non_null(
		hyphae_switch_map(outer, &hyphae_int64, enter_and_stay, NULL));
	assert_int_equal(hyphae_scope_enter(scope), -EBUSY);
	assert_int_equal(hyphae_scope_leave(around), -EINVAL);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_leave(around), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(hyphae_scope_dispose(around), 0);
}

static int enter_in_computed(void *ret, void *ctx)
{
	(void)ctx;
	hyphae_scope_enter(scope);
	*(int64_t *)ret = 1;
	return 0;
}

/* So did a tracked function, and one that is computed because it is read. */
static void scope_entered_in_a_computed_function(void **state)
{
	(void)state;
	scope = hyphae_scope_new(graph);
	assert_non_null(
		hyphae_computed(graph, &hyphae_int64, enter_in_computed, NULL));
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
}

static void enter_hook(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	(void)ctx;
	hyphae_scope_enter(scope);
}

/* So did a bridge, which makes its cells in no scope. */
static void scope_entered_in_a_hook_of_a_bridge(void **state)
{
	struct hyphae_graph *other = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *bridged;

	(void)state;
	scope = hyphae_scope_new(graph);
	hyphae_cell_set_hooks(cell, enter_hook, NULL, NULL);
	bridged = hyphae_bridge_with(cell, other, HYPHAE_BRIDGE_SAME_THREAD);
	assert_non_null(bridged);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(hyphae_graph_free(other), 0);
}

/* ---- twice in one wave ----------------------------------------------------- */

static struct hyphae_cell *choose(const void *value, void *ctx)
{
	(void)ctx;
	return inner[*(const int64_t *)value];
}

/*
 * A merge_map whose new inner cell had still to be computed was computed
 * twice, told two values in one wave, and so the second one twice; with
 * another subscriber in between the delivery did not end.
 */
static void merge_map_tells_one_value_a_wave(void **state)
{
	struct hyphae_cell *outer = hyphae_int64_new(graph, 0), *high, *merged;
	struct told before = {.count = 0}, after = {.count = 0};

	(void)state;
	told.count = 0;
	inner[0] = hyphae_int64_new(graph, 1);
	high = hyphae_map(inner[0], &hyphae_int64, plus_hundred, NULL);
	high = hyphae_map(high, &hyphae_int64, plus_hundred, NULL);
	inner[1] = hyphae_map(high, &hyphae_int64, plus_hundred, NULL);
	merged = hyphae_merge_map(outer, &hyphae_int64, 4, choose, NULL);
	assert_non_null(hyphae_subscribe(inner[0], note, &before));
	assert_non_null(hyphae_subscribe(merged, note, &told));
	assert_non_null(hyphae_subscribe(inner[0], note, &after));
	assert_int_equal(hyphae_batch_begin(graph), 0);
	hyphae_int64_set(outer, 1);
	hyphae_int64_set(inner[0], 5);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.values[0], 1);
	assert_int_equal(told.values[1], 5);
	assert_int_equal(told.values[2], 305);
	assert_int_equal(before.count, 2);
	assert_int_equal(after.count, 2);
}

static struct hyphae_cell *select_cell, *left, *right;

static int read_idle(void *ret, void *ctx)
{
	int64_t on = 0, value = -1;

	(void)ctx;
	hyphae_int64_get(select_cell, &on);
	if (on && hyphae_int64_get(left, &value))
		value = -2;
	*(int64_t *)ret = value;
	return 0;
}

/*
 * What a function read of an idle cell, which that reading woke, was told
 * beside what it made of the value: its subscriber was called twice.
 */
static void computed_waits_for_what_it_wakes(void **state)
{
	struct hyphae_cell *base = hyphae_int64_new(graph, 7), *cell;

	(void)state;
	told.count = 0;
	select_cell = hyphae_int64_new(graph, 0);
	left = hyphae_map(base, &hyphae_int64, plus_hundred, NULL);
	assert_int_equal(hyphae_cell_set_lazy(left), 0);
	cell = hyphae_computed(graph, &hyphae_int64, read_idle, NULL);
	assert_non_null(hyphae_subscribe(cell, note, &told));
	assert_int_equal(hyphae_int64_set(select_cell, 1), 0);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.values[0], -1);
	assert_int_equal(told.values[1], 107);
}

/* Two that change places: the left one follows the right one, or it is back. */
static struct hyphae_cell *follow_left(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value ? right : inner[0];
}

static struct hyphae_cell *follow_right(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value == 201 ? inner[1] : left;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	*(int64_t *)ret = 0;
	while (count)
		*(int64_t *)ret += *(const int64_t *)inputs[--count];
	(void)ctx;
	return 0;
}

/*
 * The one that has to wait for the other is computed when the rest of the wave
 * is, and what follows both a second time.  Its subscriber was called twice.
 */
static void subscriber_of_a_cell_that_is_computed_twice(void **state)
{
	struct hyphae_cell *both[2], *joined, *late;

	(void)state;
	told.count = 0;
	inner[0] = hyphae_int64_new(graph, 1);
	inner[1] = hyphae_int64_new(graph, 2);
	select_cell = hyphae_int64_new(graph, 0);
	left = hyphae_switch_map(select_cell, &hyphae_int64, follow_left, NULL);
	late = hyphae_map(select_cell, &hyphae_int64, plus_hundred, NULL);
	late = hyphae_map(late, &hyphae_int64, plus_hundred, NULL);
	right = hyphae_switch_map(late, &hyphae_int64, follow_right, NULL);
	both[0] = left;
	both[1] = right;
	joined = hyphae_combine(both, 2, &hyphae_int64, sum, NULL);
	assert_non_null(hyphae_subscribe(joined, note, &told));
	assert_int_equal(told.count, 1);
	assert_int_equal(told.values[0], 2);
	assert_int_equal(hyphae_int64_set(select_cell, 1), 0);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.values[1], 4);
	assert_int_equal(hyphae_int64_set(select_cell, 0), 0);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.values[2], 2);
}

/* ---- while things are released --------------------------------------------- */

static int results[4];

static void look_at_memory(void *data)
{
	struct hyphae_graph_memory memory;

	(void)data;
	results[0] = hyphae_graph_memory(graph, &memory);
}

/* The value of a cell that is being released was looked at after its end. */
static void memory_in_the_drop_function_of_a_cell(void **state)
{
	struct hyphae_bytes bytes = {.data = "text", .size = 4};
	struct hyphae_cell *cell =
		hyphae_cell_new(graph, &hyphae_bytes, &bytes);

	(void)state;
	results[0] = 1;
	assert_int_equal(hyphae_cell_set_data(cell, NULL, look_at_memory), 0);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(results[0], 0);
}

static void open_batch(void *ctx)
{
	results[0] = hyphae_batch_begin(ctx);
}

/*
 * A batch that a function of a scope opened while its graph was freed stayed
 * behind, and was taken for one of the next graph in its place.
 */
static void batch_in_a_scope_of_a_graph_that_goes(void **state)
{
	struct hyphae_graph *first = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *inside = hyphae_scope_new(first);

	(void)state;
	assert_int_equal(hyphae_scope_on_dispose(inside, open_batch, first), 0);
	assert_int_equal(hyphae_graph_free(first), -EBUSY);
	assert_int_equal(results[0], 0);
	assert_int_equal(hyphae_batch_end(first), 0);
	assert_int_equal(hyphae_graph_free(first), 0);
}

/* ---- posts ------------------------------------------------------------------ */

static struct hyphae_cell *victim;
static int alive;

static int copy_and_release(void *to, const void *from)
{
	*(int64_t *)to = *(const int64_t *)from;
	alive++;
	if (*(const int64_t *)from == 2)
		results[0] = hyphae_cell_unref(victim);
	return 0;
}

static void count_down(void *value)
{
	(void)value;
	alive--;
}

static const struct hyphae_type releasing = {.name = "releasing",
					     .size = sizeof(int64_t),
					     .align = _Alignof(int64_t),
					     .copy = copy_and_release,
					     .drop = count_down};

/* A post looked at its cell after the copy function had released that. */
static void post_whose_copy_releases_the_cell(void **state)
{
	int64_t value = 1;

	(void)state;
	alive = 0;
	victim = hyphae_cell_new(graph, &releasing, &value);
	value = 2;
	assert_int_equal(hyphae_cell_post(victim, &releasing, &value), -ESTALE);
	assert_int_equal(results[0], 0);
	assert_int_equal(alive, 0);
}

static void post_something(void *data)
{
	results[0] = hyphae_int64_post(data, 1);
}

/* What was posted while the graph was freed was never given up. */
static void post_in_a_drop_function_of_a_graph_that_goes(void **state)
{
	struct hyphae_graph *first = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(first, 1);
	struct hyphae_cell *other = hyphae_int64_new(first, 1);

	(void)state;
	results[0] = 1;
	assert_non_null(hyphae_subscribe_with(other, note, cell, post_something,
					      HYPHAE_SKIP_INITIAL));
	/* The order in which things go is not told, so all of them try. */
	assert_int_equal(hyphae_cell_set_data(cell, other, post_something), 0);
	assert_int_equal(hyphae_graph_free(first), 0);
	assert_int_equal(results[0], -ESTALE);
}

/* ---- a write that nobody can carry out --------------------------------------- */

static struct hyphae_cell *of_other;

static int ignore_time(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

static void write_back(void *data)
{
	const char *text = "lost";

	results[1] = hyphae_batch_begin(data);
	results[0] = hyphae_cell_set(victim, &hyphae_string, &text);
}

static void release_other(void *ctx)
{
	(void)ctx;
	hyphae_cell_unref(of_other);
}

/*
 * A write to a graph that is being freed, from a drop function of another
 * graph, waited for a wave that did not come, and its value was lost.
 */
static void write_to_a_graph_that_goes(void **state)
{
	struct hyphae_graph *first = hyphae_graph_new(0);
	struct hyphae_graph *second = hyphae_graph_new(0);

	(void)state;
	results[0] = 1;
	victim = hyphae_string_new(first, "text");
	of_other = hyphae_int64_new(second, 1);
	assert_int_equal(hyphae_cell_set_data(of_other, first, write_back), 0);
	assert_non_null(hyphae_timer_start(first, 1, 0, ignore_time, NULL,
					   release_other));
	assert_int_equal(hyphae_graph_free(first), 0);
	assert_int_equal(results[0], -ESTALE);
	assert_int_equal(results[1], -ESTALE);
	assert_int_equal(hyphae_graph_free(second), 0);
}

/* ---- an input whose graph goes --------------------------------------------- */

static struct hyphae_input *input_of_first;
static int pushed[2], npushed;

static int push_on(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	if (*(const int64_t *)input)
		pushed[npushed++ % 2] =
			hyphae_input_push_wait(input_of_first, input, 0);
	return 0;
}

static void write_to_other(void *ctx)
{
	hyphae_int64_set(of_other, (int64_t)(intptr_t)ctx);
}

/*
 * The input had its dead cell written, from a function of another graph that a
 * drop function made run: the list of the dead was torn.
 */
static void push_into_a_graph_that_goes(void **state)
{
	struct hyphae_graph *first = hyphae_graph_new(0);
	struct hyphae_graph *second = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(first, 0);

	(void)state;
	npushed = 0;
	of_other = hyphae_int64_new(second, 0);
	assert_non_null(hyphae_map(of_other, &hyphae_int64, push_on, NULL));
	assert_non_null(hyphae_subscribe_with(
		cell, note, (void *)1, write_to_other, HYPHAE_SKIP_INITIAL));
	input_of_first = hyphae_input_new(cell, 4, HYPHAE_OVERFLOW_FAIL,
					  HYPHAE_INPUT_AUTO);
	assert_non_null(input_of_first);
	assert_non_null(hyphae_subscribe_with(
		cell, note, (void *)2, write_to_other, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_graph_free(first), 0);
	assert_int_equal(npushed, 2);
	assert_int_equal(pushed[0], -ESTALE);
	assert_int_equal(pushed[1], -ESTALE);
	assert_int_equal(hyphae_input_free(input_of_first), 0);
	assert_int_equal(hyphae_graph_free(second), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scope_entered_in_a_switch_function),
		TEST(scope_entered_in_a_computed_function),
		TEST(scope_entered_in_a_hook_of_a_bridge),
		TEST(merge_map_tells_one_value_a_wave),
		TEST(computed_waits_for_what_it_wakes),
		TEST(subscriber_of_a_cell_that_is_computed_twice),
		TEST(memory_in_the_drop_function_of_a_cell),
		TEST(batch_in_a_scope_of_a_graph_that_goes),
		TEST(post_whose_copy_releases_the_cell),
		TEST(post_in_a_drop_function_of_a_graph_that_goes),
		TEST(write_to_a_graph_that_goes),
		TEST(push_into_a_graph_that_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
