/* SPDX-License-Identifier: MIT */
/* Walks over a graph, and the line about a cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "describe.h"
#include "oom.h"

/* ---- walks over all cells ----------------------------------------------------- */

/* What a walk has shown. */
struct shown {
	uint64_t ids[4096];
	size_t count;
	size_t stop_at; /* end the walk at this one, if it is not 0 */
	struct hyphae_graph *graph;
	struct hyphae_cell **cells; /* to be released */
	size_t ncells;
	int codes;
};

static int show(struct hyphae_cell *cell, void *ctx)
{
	struct shown *s = ctx;

	s->ids[s->count++] = hyphae_cell_id(cell);
	return s->count == s->stop_at ? 17 : 0;
}

static size_t times(const struct shown *s, uint64_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->ids[i] == id;
	return n;
}

static void each_cell_once(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags);
		static struct hyphae_cell *cells[2000];
		struct shown s = {.count = 0};
		unsigned long asked;

		for (int i = 0; i < 2000; i += 2) {
			cells[i] = hyphae_int64_new(graph, i);
			cells[i + 1] = hyphae_map(cells[i], &hyphae_int64,
						  plus_one, NULL);
			assert_non_null(cells[i + 1]);
		}
		/* Holes. */
		for (int i = 1; i < 2000; i += 6)
			assert_int_equal(hyphae_cell_unref(cells[i]), 0);
		asked = hy_alloc_count();
		assert_int_equal(hyphae_graph_each_cell(graph, show, &s), 0);
		assert_int_equal(hy_alloc_count(), asked);
		assert_int_equal(s.count, 2000 - 334);
		for (int i = 0; i < 2000; i++)
			if (i % 6 != 1)
				assert_int_equal(
					times(&s, hyphae_cell_id(cells[i])), 1);
		s.count = 0;
		s.stop_at = 3;
		assert_int_equal(hyphae_graph_each_cell(graph, show, &s), 17);
		assert_int_equal(s.count, 3);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void no_cells(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct shown s = {.count = 0};

	(void)state;
	assert_int_equal(hyphae_graph_each_cell(graph, show, &s), 0);
	assert_non_null(hyphae_scope_new(graph));
	assert_int_equal(hyphae_graph_each_cell(graph, show, &s), 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(hyphae_graph_each_cell(graph, NULL, &s), -EINVAL);
	assert_int_equal(hyphae_graph_each_cell(NULL, show, &s), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_graph_each_cell(graph, show, &s), -ESTALE);
	assert_int_equal(s.count, 0);
}

/* At the first, release all; then a new one for each that is shown. */
static int turn_over(struct hyphae_cell *cell, void *ctx)
{
	struct shown *s = ctx;
	struct hyphae_cell_info info;
	int64_t value;

	if (s->count == 0) {
		for (size_t i = 0; i < s->ncells; i++)
			s->codes += hyphae_cell_unref(s->cells[i]) != 0;
		s->codes += hyphae_graph_free(s->graph) != -EBUSY;
	}
	/* It is still there, and writes work. */
	s->codes += hyphae_int64_get(cell, &value) != 0;
	s->codes += hyphae_int64_set(cell, -7) != 0;
	s->codes += hyphae_cell_info(cell, &info) != 0 || info.references != 1;
	/* Nor can its reference be given back twice. */
	s->codes += hyphae_cell_unref(cell) != -ESTALE;
	s->codes += hyphae_int64_new(s->graph, 1) == NULL;
	return show(cell, ctx);
}

static void walk_that_releases_all(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags);
		struct hyphae_cell *cells[1500];
		struct hyphae_graph_counts counts;
		struct shown s = {
			.graph = graph, .cells = cells, .ncells = 1500};

		for (int i = 0; i < 1500; i++)
			cells[i] = hyphae_int64_new(graph, i);
		assert_int_equal(hyphae_graph_each_cell(graph, turn_over, &s),
				 0);
		assert_int_equal(s.codes, 0);
		/* The others were gone when their turn came. */
		assert_int_equal(s.count, 1);
		assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
		assert_int_equal(counts.cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* Each that is shown makes two more, in the holes and beyond. */
static int multiply(struct hyphae_cell *cell, void *ctx)
{
	struct shown *s = ctx;

	s->codes += hyphae_map(cell, &hyphae_int64, plus_one, NULL) == NULL;
	s->codes += hyphae_int64_new(s->graph, 1) == NULL;
	return show(cell, ctx);
}

static void walk_that_makes_more(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_graph_counts counts;
	struct shown s = {.graph = graph};

	(void)state;
	for (int i = 0; i < 1200; i++) {
		struct hyphae_cell *cell = hyphae_int64_new(graph, i);

		if (i % 3 == 0)
			assert_int_equal(hyphae_cell_unref(cell), 0);
	}
	assert_int_equal(hyphae_graph_each_cell(graph, multiply, &s), 0);
	assert_int_equal(s.codes, 0);
	assert_int_equal(s.count, 800);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 3 * 800);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static struct shown in_wave;

static int walk_in_wave(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	in_wave.count = 0;
	in_wave.codes = hyphae_graph_each_cell(ctx, show, &in_wave);
	return 0;
}

static void walk_in_a_subscriber(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);

	(void)state;
	assert_non_null(hyphae_map(cell, &hyphae_int64, plus_one, NULL));
	assert_non_null(hyphae_subscribe(cell, walk_in_wave, graph));
	in_wave.codes = -1;
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_int_equal(in_wave.codes, 0);
	assert_int_equal(in_wave.count, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- inputs and targets ------------------------------------------------------------ */

struct targets {
	uint64_t ids[256];
	bool is_cell[256];
	size_t count, stop_at;
	struct hyphae_cell *release_cell;
	struct hyphae_subscription *end;
};

static int show_target(struct hyphae_cell *cell,
		       struct hyphae_subscription *subscription, void *ctx)
{
	struct targets *t = ctx;

	if (!cell == !subscription)
		return -EFAULT;
	hyphae_cell_unref(t->release_cell);
	hyphae_unsubscribe(t->end);
	t->release_cell = NULL;
	t->end = NULL;
	t->is_cell[t->count] = cell;
	t->ids[t->count++] = cell ? hyphae_cell_id(cell)
				  : hyphae_subscription_id(subscription);
	return t->count == t->stop_at ? -5 : 0;
}

static void inputs_of_a_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1), *b, *c, *four[4];
	struct hyphae_cell *many[40];
	struct shown s = {.count = 0};

	(void)state;
	b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	four[0] = b;
	four[1] = four[3] = a;
	four[2] = hyphae_int64_new(graph, 3);
	c = hyphae_combine(four, 4, &hyphae_int64, sum, NULL);
	assert_int_equal(hyphae_cell_each_input(a, show, &s), 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(hyphae_cell_each_input(b, show, &s), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.ids[0], hyphae_cell_id(a));
	s.count = 0;
	assert_int_equal(hyphae_cell_each_input(c, show, &s), 0);
	assert_int_equal(s.count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s.ids[i], hyphae_cell_id(four[i]));
	s.count = 0;
	s.stop_at = 2;
	assert_int_equal(hyphae_cell_each_input(c, show, &s), 17);
	assert_int_equal(s.count, 2);
	for (int i = 0; i < 40; i++)
		many[i] = i % 2 ? a : b;
	c = hyphae_combine(many, 40, &hyphae_int64, sum, NULL);
	s.count = s.stop_at = 0;
	assert_int_equal(hyphae_cell_each_input(c, show, &s), 0);
	assert_int_equal(s.count, 40);
	for (int i = 0; i < 40; i++)
		assert_int_equal(s.ids[i], hyphae_cell_id(many[i]));
	/* Ended: it follows nothing any more. */
	assert_int_equal(hyphae_cell_complete(a), 0);
	s.count = 0;
	assert_int_equal(hyphae_cell_each_input(b, show, &s), 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(hyphae_cell_each_input(NULL, show, &s), -EINVAL);
	assert_int_equal(hyphae_cell_each_input(a, NULL, &s), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_cell_each_input(a, show, &s), -ESTALE);
}

static void targets_of_a_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1), *maps[30], *two[2];
	struct hyphae_subscription *subs[20];
	struct targets t = {.count = 0};
	struct hyphae_cell_info info;

	(void)state;
	assert_int_equal(hyphae_cell_each_target(a, show_target, &t), 0);
	assert_int_equal(t.count, 0);
	subs[0] = hyphae_subscribe(a, quiet, NULL);
	for (int i = 0; i < 30; i++)
		maps[i] = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	for (int i = 1; i < 20; i++)
		subs[i] = hyphae_subscribe(a, quiet, NULL);
	two[0] = two[1] = a;
	two[0] = hyphae_combine(two, 2, &hyphae_int64, sum, NULL);
	assert_int_equal(hyphae_cell_each_target(a, show_target, &t), 0);
	assert_int_equal(hyphae_cell_info(a, &info), 0);
	assert_int_equal(t.count, 52);
	assert_int_equal(info.targets, 52);
	for (int i = 0; i < 32; i++) {
		assert_true(t.is_cell[i]);
		assert_int_equal(t.ids[i],
				 hyphae_cell_id(i < 30 ? maps[i] : two[0]));
	}
	for (int i = 0; i < 20; i++) {
		assert_false(t.is_cell[32 + i]);
		assert_int_equal(t.ids[32 + i],
				 hyphae_subscription_id(subs[i]));
	}
	/* What the first call ends is not shown; the first itself is. */
	t = (struct targets){.release_cell = maps[7], .end = subs[19]};
	assert_int_equal(hyphae_cell_each_target(a, show_target, &t), 0);
	assert_int_equal(t.count, 50);
	for (int i = 0; i < 50; i++)
		assert_int_not_equal(t.ids[i], 0);
	t = (struct targets){.stop_at = 35};
	assert_int_equal(hyphae_cell_each_target(a, show_target, &t), -5);
	assert_int_equal(t.count, 35);
	assert_int_equal(hyphae_cell_each_target(NULL, show_target, &t),
			 -EINVAL);
	assert_int_equal(hyphae_cell_each_target(a, NULL, &t), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_cell_each_target(a, show_target, &t), -ESTALE);
}

static void walks_without_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1), *many[17], *c;
	unsigned int swept = 0;

	(void)state;
	for (int i = 0; i < 17; i++)
		many[i] = a;
	c = hyphae_combine(many, 17, &hyphae_int64, sum, NULL);
	OOM_SWEEP(n)
	{
		struct shown s = {.count = 0};
		struct targets t = {.count = 0};
		int r = hyphae_cell_each_input(c, show, &s);
		int r2 = hyphae_cell_each_target(a, show_target, &t);

		OOM_PAUSE();
		swept++;
		assert_int_equal(r, n == 1 ? -ENOMEM : 0);
		assert_int_equal(s.count, n == 1 ? 0 : 17);
		assert_int_equal(r2, n == 2 ? -ENOMEM : 0);
		assert_int_equal(t.count, n == 2 ? 0 : 17);
	}
	assert_int_equal(swept, 4);
	/* 16 need none. */
	c = hyphae_combine(many, 16, &hyphae_int64, sum, NULL);
	hy_alloc_fail_after(1);
	assert_int_equal(
		hyphae_cell_each_input(c, show, &(struct shown){.count = 0}),
		0);
	hy_alloc_fail_after(0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- the line about a cell -------------------------------------------------------------- */

struct triple {
	int64_t x, y, z;
};
HYPHAE_TYPE(triple, struct triple);

static int print_long(const void *value, char *text, size_t size)
{
	size_t length = (size_t) * (const int64_t *)value;

	/* 'a', then characters of three bytes each. */
	for (size_t i = 0; i < length && i + 1 < size; i++)
		text[i] = i == 0 ? 'a' : "\xe2\x82\xac"[(i - 1) % 3];
	if (size)
		text[length < size ? length : size - 1] = '\0';
	return (int)length;
}
HYPHAE_TYPE_WITH(lengthy, int64_t, .print = print_long);

static int print_fails(const void *value, char *text, size_t size)
{
	(void)value;
	(void)text;
	(void)size;
	return -1;
}
HYPHAE_TYPE_WITH(mute, int64_t, .print = print_fails);

#define expect_line(cell, expected_format, ...)                                \
	do {                                                                   \
		char got_[2048], expected_[2048];                              \
		int r_ = hyphae_describe(cell, got_, sizeof(got_));            \
                                                                               \
		snprintf(expected_, sizeof(expected_), expected_format,        \
			 (unsigned long long)hyphae_cell_id(cell),             \
			 ##__VA_ARGS__);                                       \
		assert_string_equal(got_, expected_);                          \
		assert_int_equal(r_, strlen(expected_));                       \
	} while (0)

static void describe_states(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new_at(graph, 5, "shop.c:31");
	struct hyphae_cell *m, *f, *none, *two[2], *t, *s;

	(void)state;
	expect_line(a, "#%llu source int64, height 0, 0 inputs, 0 targets, "
		       "value 5, at shop.c:31");
	assert_int_equal(hyphae_cell_set_name(a, "price"), 0);
	m = hyphae_map_at(a, &hyphae_int64, plus_one, NULL, "shop.c:32");
	expect_line(a, "#%llu \"price\" source int64, height 0, 0 inputs, "
		       "1 target, value 5, at shop.c:31");
	expect_line(m, "#%llu map int64, height 1, 1 input, 0 targets, "
		       "value 6, at shop.c:32");
	f = hyphae_map_at(a, &hyphae_int64, refuse, NULL, NULL);
	expect_line(f, "#%llu map int64, height 1, 1 input, 0 targets, "
		       "error -33");
	assert_int_equal(hyphae_int64_set(a, -1), 0);
	none = hyphae_filter_at(a, positive, NULL, "x");
	expect_line(none, "#%llu filter int64, height 1, 1 input, 0 targets, "
			  "no value, at x");
	two[0] = two[1] = a;
	t = hyphae_combine_at(two, 2, &hyphae_int64, sum, NULL, "y");
	expect_line(t, "#%llu combine int64, height 1, 2 inputs, 0 targets, "
		       "value -2, at y");
	t = triple_new_at(graph, (struct triple){1, 2, 3}, "z");
	expect_line(t, "#%llu source triple, height 0, 0 inputs, 0 targets, "
		       "value (24 bytes), at z");
	s = hyphae_string_new_at(graph, "a \"b\"\n\\ \xff \xc3\xa9", "z");
	expect_line(s, "#%llu source string, height 0, 0 inputs, 0 targets, "
		       "value a \\\"b\\\"\\x0a\\\\ \\xff \xc3\xa9, at z");
	assert_int_equal(hyphae_cell_complete(s), 0);
	expect_line(s, "#%llu source string, height 0, 0 inputs, 0 targets, "
		       "value a \\\"b\\\"\\x0a\\\\ \\xff \xc3\xa9, completed, "
		       "at z");
	none = hyphae_event_new_at(graph, &hyphae_int64, "e");
	expect_line(none, "#%llu source int64, height 0, 0 inputs, 0 targets, "
			  "event, at e");
	assert_int_equal(hyphae_int64_set(none, 5), 0);
	expect_line(none, "#%llu source int64, height 0, 0 inputs, 0 targets, "
			  "event, last 5, at e");
	assert_int_equal(hyphae_cell_fail(t, -EIO, "no \"disk\""), 0);
	expect_line(t, "#%llu source triple, height 0, 0 inputs, 0 targets, "
		       "failed -5 \"no \\\"disk\\\"\", at z");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void describe_cuts_values(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = lengthy_new_at(graph, 255, "");
	char text[300];

	(void)state;
	print_long(&(int64_t){253}, text, sizeof(text));
	/* 255 are shown: the last character is not whole, as printed. */
	expect_line(cell,
		    "#%llu source lengthy, height 0, 0 inputs, 0 targets, "
		    "value %s\\xe2\\x82",
		    text);
	assert_int_equal(lengthy_set(cell, 256), 0);
	expect_line(cell,
		    "#%llu source lengthy, height 0, 0 inputs, 0 targets, "
		    "value %s...",
		    text);
	assert_int_equal(lengthy_set(cell, 1), 0);
	expect_line(cell, "#%llu source lengthy, height 0, 0 inputs, "
			  "0 targets, value a");
	cell = mute_new_at(graph, 1, "");
	expect_line(cell, "#%llu source mute, height 0, 0 inputs, 0 targets, "
			  "value ");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void describe_like_snprintf(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new_at(graph, 5, "shop.c:31");
	char whole[200], text[200];
	int length = hyphae_describe(cell, whole, sizeof(whole));

	(void)state;
	assert_int_equal(length, strlen(whole));
	assert_int_equal(hyphae_describe(cell, NULL, 0), length);
	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		assert_int_equal(hyphae_describe(cell, text, size), length);
		assert_int_equal(strlen(text), size <= (size_t)length
						       ? size - 1
						       : (size_t)length);
		assert_memory_equal(text, whole, strlen(text));
		if (size < sizeof(text) - 1)
			assert_int_equal(text[size], '#');
	}
	hy_alloc_fail_after(1);
	assert_int_equal(hyphae_describe(cell, text, sizeof(text)), length);
	hy_alloc_fail_after(0);
	assert_int_equal(hyphae_describe(cell, NULL, 1), -EINVAL);
	assert_int_equal(hyphae_describe(NULL, text, 10), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_describe(cell, text, 10), -ESTALE);
}

static struct hyphae_cell *printed;
static int wrote, got, inner;

/* May read, also itself; may not write. */
static int print_curious(const void *value, char *text, size_t size)
{
	int64_t seen;

	wrote = hyphae_int64_set(printed, 9);
	got = hyphae_int64_get(printed, &seen);
	inner = hyphae_describe(printed, NULL, 0) > 0;
	return snprintf(text, size, "<%d>", (int)*(const int64_t *)value);
}
HYPHAE_TYPE_WITH(curious, int64_t, .print = print_curious);

static void print_functions_may_look(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags);
		struct hyphae_cell *cell = curious_new_at(graph, 3, "");

		printed = hyphae_int64_new(graph, 1);
		expect_line(cell, "#%llu source curious, height 0, 0 inputs, "
				  "0 targets, value <3>");
		assert_int_equal(wrote, -EPERM);
		assert_int_equal(got, 0);
		assert_int_equal(inner, 1);
		assert_int_equal(hyphae_int64_set(printed, 2), 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cell_once),
		cmocka_unit_test(no_cells),
		cmocka_unit_test(walk_that_releases_all),
		cmocka_unit_test(walk_that_makes_more),
		cmocka_unit_test(walk_in_a_subscriber),
		cmocka_unit_test(inputs_of_a_cell),
		cmocka_unit_test(targets_of_a_cell),
		cmocka_unit_test(walks_without_memory),
		cmocka_unit_test(describe_states),
		cmocka_unit_test(describe_cuts_values),
		cmocka_unit_test(describe_like_snprintf),
		cmocka_unit_test(print_functions_may_look),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
