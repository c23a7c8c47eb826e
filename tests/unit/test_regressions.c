/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by reading the sources, each held fixed by the
 * behaviour that was wrong.  The comment of a test says which fault it was.
 * Here: boxes, subscribers, handles and codes.  Those of scopes and of what
 * watchers are told have a file each; those that need threads are in
 * test_thread_regressions.c.
 */
#include "regressions.h"

#include <limits.h>

#include "base/alloc.h"
#include "core/types.h"

struct pair {
	int64_t a, b;
};
HYPHAE_TYPE(pair, struct pair);

struct large {
	int64_t parts[64];
};
HYPHAE_TYPE(large, struct large);

static int to_pair(void *ret, const void *input, void *ctx)
{
	struct pair *pair = ret;

	(void)ctx;
	pair->a = *(const int64_t *)input;
	return 0;
}

static int all(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

static int none(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 0;
}

/* What a subscriber is told, as text: "7 end", "error -5", "8 9". */
struct told {
	char text[128];
};

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;
	size_t at = strlen(told->text);
	char *to = told->text + at;
	size_t room = sizeof(told->text) - at;
	const char *blank = at ? " " : "";

	if (signal->kind == HYPHAE_VALUE)
		snprintf(to, room, "%s%lld", blank,
			 (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_COMPLETE)
		snprintf(to, room, "%send", blank);
	else
		snprintf(to, room, "%serror %d%s", blank, signal->code,
			 signal->terminal ? " for good" : "");
	return 0;
}

/* ---- a loop that is stopped ------------------------------------------------ */

struct token {
	int64_t n; /* -1: dropped */
};
extern const struct hyphae_type token_type;

static struct hyphae_cell *token_cell; /* that drop looks at */
static int64_t token_seen;

static int token_copy(void *to, const void *from)
{
	*(struct token *)to = *(const struct token *)from;
	return 0;
}

static void token_drop(void *value)
{
	struct hyphae_cell *cell = token_cell;
	struct token held;

	((struct token *)value)->n = -1;
	if (!cell)
		return;
	token_cell = NULL; /* not in the drop of what we read */
	if (hyphae_cell_get(cell, &token_type, &held) == 0)
		token_seen = held.n;
	token_cell = cell;
}

HYPHAE_TYPE_WITH(token, struct token, .copy = token_copy, .drop = token_drop);

static int one_more(const struct hyphae_signal *signal, void *ctx)
{
	return token_set(ctx, (struct token){token_of(signal)->n + 1});
}

/*
 * The write that the wave limit drops could still be read while its value was
 * being dropped: get() copied a value that was gone.
 */
static void dropped_write_of_a_loop_cannot_be_read(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell =
		token_new_at(graph, (struct token){0}, HYPHAE_HERE);

	(void)state;
	assert_int_equal(hyphae_graph_set_wave_limit(graph, 3), 0);
	assert_non_null(hyphae_subscribe_with(cell, one_more, cell, NULL,
					      HYPHAE_SKIP_INITIAL));
	token_cell = cell;
	assert_int_equal(token_set(cell, (struct token){1}), -ELOOP);
	token_cell = NULL;
	assert_int_equal(token_seen, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- boxes ---------------------------------------------------------------- */

/*
 * The first box of a derived cell did not know its home, so it was freed when
 * it was replaced, and the second wave had to ask for another one.
 */
static void no_wave_of_a_boxed_cell_allocates(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *map = hyphae_map(source, &pair_type, to_pair, NULL);
	unsigned long before = hy_alloc_count();
	struct pair held;
	int64_t i;

	(void)state;
	for (i = 2; i < 9; i++)
		assert_int_equal(hyphae_int64_set(source, i), 0);
	assert_int_equal(hy_alloc_count() - before, 0);
	assert_int_equal(pair_get(map, &held), 0);
	assert_int_equal(held.a, 8);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same fault, with no memory: the cell held -ENOMEM. */
static void second_wave_of_a_boxed_cell_needs_no_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *map = hyphae_map(source, &pair_type, to_pair, NULL);
	struct pair held = {0};
	int r;

	(void)state;
	assert_int_equal(hyphae_int64_set(source, 2), 0);
	hy_alloc_fail_after(1);
	r = hyphae_int64_set(source, 3);
	hy_alloc_fail_after(0);
	assert_int_equal(r, 0);
	assert_int_equal(pair_get(map, &held), 0);
	assert_int_equal(held.a, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A box went home by the handle of its cell only, which fits another cell
 * once in 65,536 times: a small box became the spare one of a cell of large
 * values.
 */
static void box_does_not_go_home_to_cells_of_another_size(void **state)
{
	static struct large large;
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct pair pair = {1, 2};
	struct hyphae_cell *source = pair_new_at(graph, pair, "");
	struct hyphae_cell *filter = hyphae_filter(source, all, NULL);
	struct hyphae_cell *home = source, *other;
	unsigned int i;

	(void)state;
	assert_int_equal(hyphae_cell_complete(source), 0);
	assert_int_equal(hyphae_cell_unref(source), 0);
	for (i = 0; i < 70000; i++) {
		other = large_new_at(graph, large, "");
		if (other == home)
			break;
		assert_int_equal(hyphae_cell_unref(other), 0);
	}
	assert_ptr_equal(other, home);
	/* The last that has the box. */
	assert_int_equal(hyphae_cell_unref(filter), 0);
	assert_null(hy_cold_of(hy_cell(other))->spare);
	large.parts[63] = 7;
	assert_int_equal(large_set(other, large), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The first call took the address of a value that is not there: UBSan judges. */
static void subscribing_to_a_boxed_cell_without_a_value(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_string_new(graph, "spore");
	struct hyphae_cell *filter = hyphae_filter(source, none, NULL);
	unsigned int calls = 0;

	(void)state;
	assert_non_null(hyphae_subscribe(filter, count_calls, &calls));
	assert_int_equal(calls, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- subscribers ----------------------------------------------------------------- */

struct latecomer {
	struct hyphae_cell *source;
	struct told told;
	bool done;
};

static int subscribe_at_seven(void *ret, const void *input, void *ctx)
{
	struct latecomer *late = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	if (*(const int64_t *)input == 7 && !late->done) {
		late->done = true;
		hyphae_subscribe(late->source, write_down, &late->told);
	}
	return 0;
}

/*
 * Who subscribed while the wave of the end was under way was told the end at
 * once and again by that wave.
 */
static void end_is_told_once_to_who_subscribes_in_its_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct latecomer late = {.source = hyphae_int64_new(graph, 1)};
	struct hyphae_graph_counts counts;
	struct told first = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(late.source, write_down, &first));
	hyphae_map(late.source, &hyphae_int64, subscribe_at_seven, &late);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(late.source, 7), 0);
	assert_int_equal(hyphae_cell_complete(late.source), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(first.text, "1 7 end");
	assert_string_equal(late.told.text, "7 end");
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.subscriptions, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same for a failure. */
static void failure_is_told_once_to_who_subscribes_in_its_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 1);
	struct latecomer late = {.source = hyphae_int64_new(graph, 1)};
	struct told first = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(late.source, write_down, &first));
	hyphae_map(trigger, &hyphae_int64, subscribe_at_seven, &late);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_cell_fail(late.source, -EIO, NULL), 0);
	assert_int_equal(hyphae_int64_set(trigger, 7), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(first.text, "1 error -5 for good");
	assert_string_equal(late.told.text, "error -5 for good");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* With HYPHAE_SKIP_INITIAL an ended cell told its value all the same. */
static void who_skips_the_value_of_an_ended_cell_is_told_the_end(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *completed = hyphae_int64_new(graph, 3);
	struct hyphae_cell *failed = hyphae_int64_new(graph, 4);
	struct hyphae_cell *alive = hyphae_map(hyphae_int64_new(graph, -1),
					       &hyphae_int64, positive, NULL);
	struct told told = {""};
	unsigned int counted = 0;

	(void)state;
	assert_int_equal(hyphae_cell_complete(completed), 0);
	assert_int_equal(hyphae_cell_fail(failed, -EIO, "rot"), 0);
	assert_non_null(hyphae_subscribe_with(completed, write_down, &told,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "end");
	told.text[0] = '\0';
	assert_non_null(hyphae_subscribe_with(failed, write_down, &told, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "error -5 for good");
	told.text[0] = '\0';
	/* An error that is not the end is a current value. */
	assert_non_null(hyphae_subscribe_with(alive, write_down, &told, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "");
	/* And the subscription is over with the end: a call and a drop. */
	assert_non_null(hyphae_subscribe_with(completed, count_calls, &counted,
					      count, HYPHAE_SKIP_INITIAL));
	assert_int_equal(counted, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(counted, 2);
}

/* ---- handles and codes ------------------------------------------------------------- */

/*
 * One unref too many took the reference of a cell that follows; the cell was
 * freed under it.
 */
static void surplus_unref_is_refused_while_others_follow(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 6);
	struct hyphae_cell *map =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hyphae_graph_counts counts;

	(void)state;
	assert_int_equal(hyphae_cell_unref(source), 0);
	assert_int_equal(hyphae_cell_unref(source), -ESTALE);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 2);
	/* Still followed. */
	assert_int_equal(hyphae_int64_set(source, 41), 0);
	assert_int_equal(value(map), 42);
	assert_int_equal(hyphae_cell_unref(map), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same with a subscription, and with a write that waits in a batch. */
static void surplus_unref_is_refused_while_subscribed_or_written(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *followed = hyphae_int64_new(graph, 1);
	struct hyphae_cell *written = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts counts;
	struct told told = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(followed, write_down, &told));
	assert_int_equal(hyphae_cell_unref(followed), 0);
	assert_int_equal(hyphae_cell_unref(followed), -ESTALE);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(written, 2), 0);
	assert_int_equal(hyphae_int64_set(followed, 2), 0);
	assert_int_equal(hyphae_cell_unref(written), 0);
	assert_int_equal(hyphae_cell_unref(written), -ESTALE);
	assert_int_equal(hyphae_cell_unref(followed), -ESTALE);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(told.text, "1 2");
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct reach {
	struct hyphae_cell *first, *second; /* of two graphs */
	int direct, indirect, afterwards;
};

static int write_first(const struct hyphae_signal *signal, void *ctx)
{
	struct reach *reach = ctx;

	(void)signal;
	reach->indirect = hyphae_int64_set(reach->first, 9);
	return 0;
}

static int write_both(void *ret, const void *input, void *ctx)
{
	struct reach *reach = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	reach->direct = hyphae_int64_set(reach->first, 8);
	hyphae_int64_set(reach->second, *(const int64_t *)input);
	reach->afterwards = hyphae_int64_set(reach->first, 10);
	return 0;
}

static void reach_over(unsigned int flags)
{
	struct hyphae_graph *one = hyphae_graph_new(flags);
	struct hyphae_graph *two = hyphae_graph_new(flags);
	struct reach reach = {hyphae_int64_new(one, 0),
			      hyphae_int64_new(two, 0), 1, 1, 1};
	struct hyphae_cell *input = hyphae_int64_new(one, 5);

	assert_non_null(hyphae_subscribe_with(reach.second, write_first, &reach,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_non_null(hyphae_map(input, &hyphae_int64, write_both, &reach));
	assert_int_equal(reach.direct, -EPERM);
	assert_int_equal(reach.indirect, -EPERM);
	assert_int_equal(reach.afterwards, -EPERM);
	assert_int_equal(value(reach.first), 0);
	assert_int_equal(value(reach.second), 5);
	assert_int_equal(hyphae_graph_free(one), 0);
	assert_int_equal(hyphae_graph_free(two), 0);
}

/*
 * A compute function could not write to its graph, except by way of another
 * graph's subscriber, if the graphs were shared.
 */
static void compute_cannot_write_by_way_of_another_graph(void **state)
{
	(void)state;
	reach_over(HYPHAE_SINGLE_THREAD);
	reach_over(0);
}

struct released {
	struct hyphae_cell *text, *number;
	int set_text, set_number;
};

static int release_and_set(const struct hyphae_signal *signal, void *ctx)
{
	struct released *released = ctx;

	(void)signal;
	hyphae_cell_unref(released->text);
	hyphae_cell_unref(released->number);
	released->set_text = hyphae_string_set(released->text, "late");
	released->set_number = hyphae_int64_set(released->number, 2);
	return 0;
}

/* A boxed cell that was gone but not yet freed gave -ENOMEM. */
static void boxed_cell_that_waits_to_be_freed_is_stale(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct released released = {hyphae_string_new(graph, "spore"),
				    hyphae_int64_new(graph, 1), 1, 1};

	(void)state;
	assert_non_null(hyphae_subscribe_with(trigger, release_and_set,
					      &released, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(released.set_number, -ESTALE);
	assert_int_equal(released.set_text, -ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct collector {
	struct hyphae_graph *graph;
	struct hyphae_cell *inputs[2];
	bool again;
};

/* Uses the array again, in which its own inputs were handed over. */
static int collect_again(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	struct collector *collector = ctx;

	(void)count;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] * 10 + *(const int64_t *)inputs[1];
	if (!collector->again) {
		collector->again = true;
		collector->inputs[0] = hyphae_int64_new(collector->graph, 7);
		collector->inputs[1] = NULL;
	}
	return 0;
}

/*
 * The array of inputs was read again when the function had run: a function
 * that used the array for others made the cell follow those, or nothing.
 */
static void function_may_use_the_array_of_inputs_again(void **state)
{
	struct collector collector = {hyphae_graph_new(HYPHAE_SINGLE_THREAD)};
	struct hyphae_cell *a = hyphae_int64_new(collector.graph, 1);
	struct hyphae_cell *b = hyphae_int64_new(collector.graph, 2), *both;

	(void)state;
	collector.inputs[0] = a;
	collector.inputs[1] = b;
	both = hyphae_combine(collector.inputs, 2, &hyphae_int64, collect_again,
			      &collector);
	assert_int_equal(value(both), 12);
	assert_int_equal(hyphae_int64_set(a, 5), 0);
	assert_int_equal(hyphae_int64_set(b, 6), 0);
	assert_int_equal(value(both), 56);
	assert_int_equal(hyphae_graph_free(collector.graph), 0);
}

/* Any negative number was taken for an errno; -INT_MIN is undefined. */
static void codes_beyond_errno_are_refused(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	int64_t held;

	(void)state;
	assert_int_equal(hyphae_cell_fail(cell, INT_MIN, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(cell, -HYPHAE_ERRNO_MAX - 1, "x"),
			 -EINVAL);
	assert_int_equal(value(cell), 1);
	assert_int_equal(hyphae_cell_fail(cell, -HYPHAE_ERRNO_MAX, NULL), 0);
	assert_int_equal(hyphae_int64_get(cell, &held), -HYPHAE_ERRNO_MAX);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A tracked function that read an idle cell was given -ENODATA, failed, and
 * ran once more for each of them; each run noted the fire of its cell again,
 * beyond the end of the array where waves keep that.
 */
#define IDLE_ROWS 80
#define IDLE_WIDTH 20

struct idle_row {
	struct hyphae_cell *cells[IDLE_WIDTH];
	struct idle_row *above;
	int64_t runs, calls, last;
};

static int sum_of_above(void *ret, void *ctx)
{
	struct idle_row *row = ctx;
	int64_t sum = 0, value;
	size_t i;
	int r;

	for (i = 0; i < IDLE_WIDTH; i++) {
		r = hyphae_int64_get(row->above->cells[i], &value);
		if (r)
			return r;
		sum += value % 1009;
	}
	row->runs++;
	*(int64_t *)ret = sum;
	return 0;
}

static int note_last(const struct hyphae_signal *signal, void *ctx)
{
	struct idle_row *row = ctx;

	row->calls++;
	row->last = signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal) : -1;
	return 0;
}

/* Returns the cell that sums up the last row. */
static struct hyphae_cell *build_idle_rows(struct hyphae_graph *graph,
					   struct idle_row *rows)
{
	size_t i, j;

	for (j = 0; j < IDLE_WIDTH; j++)
		rows[0].cells[j] = hyphae_int64_new(graph, 7);
	for (i = 1; i <= IDLE_ROWS; i++) {
		rows[i].above = &rows[i - 1];
		for (j = 0; j < IDLE_WIDTH; j++)
			rows[i].cells[j] = hyphae_computed(
				graph, &hyphae_int64, sum_of_above, &rows[i]);
	}
	return rows[IDLE_ROWS].cells[0];
}

static void tracked_functions_wake_what_they_read(void **state)
{
	struct idle_row *rows = calloc(IDLE_ROWS + 1, sizeof(*rows));
	struct idle_row *last = &rows[IDLE_ROWS];
	struct hyphae_subscription *subscription;
	struct hyphae_graph *graph;
	struct hyphae_cell *sum;
	int64_t expected = 7;
	size_t i;

	(void)state;
	assert_non_null(rows);
	graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_LAZY);
	assert_non_null(graph);
	sum = build_idle_rows(graph, rows);
	for (i = 0; i < IDLE_ROWS; i++)
		expected = expected % 1009 * IDLE_WIDTH;
	subscription = hyphae_subscribe(sum, note_last, last);
	assert_non_null(subscription);
	assert_int_equal(last->calls, 1);
	assert_int_equal(last->last, expected);
	/* Deeper than functions nest, and still each was given all at once. */
	for (i = 1; i < IDLE_ROWS; i++)
		assert_int_equal(rows[i].runs, IDLE_WIDTH);
	assert_int_equal(last->runs, 1);
	assert_int_equal(hyphae_int64_set(rows[0].cells[0], 8), 0);
	assert_int_equal(last->calls, 2);
	/* Without a follower all is idle again, and wakes as before. */
	assert_int_equal(hyphae_unsubscribe(subscription), 0);
	assert_int_equal(hyphae_int64_set(rows[0].cells[0], 7), 0);
	assert_int_equal(last->runs, 2);
	assert_non_null(hyphae_subscribe(sum, note_last, last));
	assert_int_equal(last->calls, 3);
	assert_int_equal(last->last, expected);
	assert_int_equal(hyphae_graph_free(graph), 0);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_write_of_a_loop_cannot_be_read),
		cmocka_unit_test(no_wave_of_a_boxed_cell_allocates),
		cmocka_unit_test(second_wave_of_a_boxed_cell_needs_no_memory),
		cmocka_unit_test(box_does_not_go_home_to_cells_of_another_size),
		cmocka_unit_test(subscribing_to_a_boxed_cell_without_a_value),
		cmocka_unit_test(
			end_is_told_once_to_who_subscribes_in_its_wave),
		cmocka_unit_test(
			failure_is_told_once_to_who_subscribes_in_its_wave),
		cmocka_unit_test(
			who_skips_the_value_of_an_ended_cell_is_told_the_end),
		cmocka_unit_test(surplus_unref_is_refused_while_others_follow),
		cmocka_unit_test(
			surplus_unref_is_refused_while_subscribed_or_written),
		cmocka_unit_test(compute_cannot_write_by_way_of_another_graph),
		cmocka_unit_test(boxed_cell_that_waits_to_be_freed_is_stale),
		cmocka_unit_test(function_may_use_the_array_of_inputs_again),
		cmocka_unit_test(codes_beyond_errno_are_refused),
		cmocka_unit_test(tracked_functions_wake_what_they_read),
	};

	return cmocka_run_group_tests_name("regressions", tests, NULL, NULL);
}
