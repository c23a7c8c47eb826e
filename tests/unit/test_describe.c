/* SPDX-License-Identifier: MIT */
/* Walks over a graph, the line about a cell, and drawings. */
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
#include "oom.h"

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int refuse(void *ret, const void *input, void *ctx)
{
	(void)ret;
	(void)input;
	(void)ctx;
	return -EDOM;
}

static int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

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

/* ---- drawings ------------------------------------------------------------------------------ */

struct paper {
	char text[65536];
	size_t length;
	int calls, fail_at;
};

static int draw_on(const char *text, size_t length, void *ctx)
{
	struct paper *p = ctx;

	if (++p->calls == p->fail_at)
		return -42;
	if (p->length + length >= sizeof(p->text))
		return -ENOSPC;
	memcpy(p->text + p->length, text, length);
	p->length += length;
	p->text[p->length] = '\0';
	return 0;
}

static struct paper paper;

static const char *draw(struct hyphae_graph *graph,
			const struct hyphae_dot_options *options)
{
	memset(&paper, 0, sizeof(paper));
	assert_int_equal(hyphae_graph_dot(graph, draw_on, &paper, options), 0);
	return paper.text;
}

/* Is it what Graphviz reads?  Skipped over where there is none. */
static void check_with_dot(const char *text)
{
	FILE *dot;

	if (system("command -v dot >/dev/null 2>&1") != 0)
		return;
	dot = popen("dot -Tsvg >/dev/null", "w");
	assert_non_null(dot);
	assert_int_equal(fwrite(text, 1, strlen(text), dot), strlen(text));
	assert_int_equal(pclose(dot), 0);
}

/* A small graph with a bit of everything, of which the ids are known. */
struct example {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *c, *d, *lone;
	struct hyphae_subscription *sub;
	unsigned long long g, ia, ib, ic, id, ilone, isub;
};

static void plant(struct example *e)
{
	struct hyphae_cell *both[2];

	e->graph = hyphae_graph_new(0);
	e->a = hyphae_int64_new_at(e->graph, 1, "a.c:1");
	e->b = hyphae_map_at(e->a, &hyphae_int64, plus_one, NULL, "b.c:2");
	both[0] = e->a;
	both[1] = e->b;
	e->c = hyphae_combine_at(both, 2, &hyphae_int64, sum, NULL, "c.c:3");
	e->d = hyphae_map_at(e->b, &hyphae_int64, refuse, NULL, "");
	e->lone = hyphae_string_new_at(e->graph, "&", "");
	e->sub = hyphae_subscribe(e->c, quiet, NULL);
	assert_int_equal(hyphae_cell_set_name(e->a, "root"), 0);
	e->g = hyphae_graph_id(e->graph);
	e->ia = hyphae_cell_id(e->a);
	e->ib = hyphae_cell_id(e->b);
	e->ic = hyphae_cell_id(e->c);
	e->id = hyphae_cell_id(e->d);
	e->ilone = hyphae_cell_id(e->lone);
	e->isub = hyphae_subscription_id(e->sub);
}

#define expect_drawing(e, options, format, ...)                                \
	do {                                                                   \
		char expected_[8192];                                          \
                                                                               \
		snprintf(expected_, sizeof(expected_), format, __VA_ARGS__);   \
		assert_string_equal(draw((e)->graph, options), expected_);     \
		check_with_dot(paper.text);                                    \
	} while (0)

#define DRAWN_A                                                                \
	"\tc%llu [label=\"root\\n#%llu source int64\\nvalue 1\\na.c:1\", "     \
	"shape=box];\n"
#define DRAWN_B                                                                \
	"\tc%llu [label=\"#%llu map int64\\nvalue 2\\nb.c:2\", "               \
	"shape=ellipse];\n\tc%llu -> c%llu;\n"
#define DRAWN_C                                                                \
	"\tc%llu [label=\"#%llu combine int64\\nvalue 3\\nc.c:3\", "           \
	"shape=ellipse];\n\tc%llu -> c%llu;\n\tc%llu -> c%llu;\n"
#define DRAWN_D                                                                \
	"\tc%llu [label=\"#%llu map int64\\nerror -33\", shape=ellipse, "      \
	"color=red];\n\tc%llu -> c%llu;\n"
#define DRAWN_SUB                                                              \
	"\ts%llu [label=\"#%llu subscription\", shape=note];\n"                \
	"\tc%llu -> s%llu;\n"

static void draw_from_a_start(void **state)
{
	struct hyphae_dot_options o = {.flags = 0};
	struct example e;

	(void)state;
	plant(&e);
	o.start = e.a;
	/* In the order in which they are reached; `lone` is not. */
	expect_drawing(&e, &o,
		       "digraph hyphae_%llu {\n" DRAWN_A DRAWN_B DRAWN_C
			       DRAWN_SUB DRAWN_D "}\n",
		       e.g, e.ia, e.ia, e.ib, e.ib, e.ia, e.ib, e.ic, e.ic,
		       e.ia, e.ic, e.ib, e.ic, e.isub, e.isub, e.ic, e.isub,
		       e.id, e.id, e.ib, e.id);
	/* One step: d is two away. */
	o.depth = 1;
	expect_drawing(
		&e, &o,
		"digraph hyphae_%llu {\n" DRAWN_A DRAWN_B DRAWN_C DRAWN_SUB
		"}\n",
		e.g, e.ia, e.ia, e.ib, e.ib, e.ia, e.ib, e.ic, e.ic, e.ia, e.ic,
		e.ib, e.ic, e.isub, e.isub, e.ic, e.isub);
	/* From d against the direction: b, then a and c. */
	o.start = e.d;
	o.flags = HYPHAE_DOT_NO_SUBSCRIPTIONS;
	expect_drawing(&e, &o,
		       "digraph hyphae_%llu {\n" DRAWN_D
		       "\tc%llu [label=\"#%llu map int64\\nvalue 2\\n"
		       "b.c:2\", shape=ellipse];\n}\n",
		       e.g, e.id, e.id, e.ib, e.id, e.ib, e.ib);
	o.start = e.lone;
	o.depth = 0;
	expect_drawing(&e, &o,
		       "digraph hyphae_%llu {\n\tc%llu [label=\"#%llu source "
		       "string\\nvalue &amp;\", shape=box];\n}\n",
		       e.g, e.ilone, e.ilone);
	o.flags |= HYPHAE_DOT_NO_VALUES | HYPHAE_DOT_HEIGHTS;
	expect_drawing(&e, &o,
		       "digraph hyphae_%llu {\n\tc%llu [label=\"#%llu source "
		       "string\", shape=box];\n\t{ rank=same; h0; c%llu; }\n"
		       "\tnode [shape=plaintext];\n\th0 [label=\"height 0\"];\n"
		       "}\n",
		       e.g, e.ilone, e.ilone, e.ilone);
	assert_int_equal(hyphae_graph_free(e.graph), 0);
}

static size_t occurrences(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

static void draw_all_of_it(void **state)
{
	struct hyphae_dot_options o = {.flags = HYPHAE_DOT_HEIGHTS};
	struct example e;
	char line[256];

	(void)state;
	plant(&e);
	draw(e.graph, NULL);
	check_with_dot(paper.text);
	assert_int_equal(occurrences(paper.text, "shape="), 6);
	assert_int_equal(occurrences(paper.text, " -> "), 5);
	snprintf(line, sizeof(line), DRAWN_SUB, e.isub, e.isub, e.ic, e.isub);
	assert_int_equal(occurrences(paper.text, line), 1);
	draw(e.graph, &o);
	check_with_dot(paper.text);
	assert_int_equal(occurrences(paper.text, "rank=same; h0;"), 2);
	assert_int_equal(occurrences(paper.text, "rank=same; h1;"), 1);
	assert_int_equal(occurrences(paper.text, "rank=same; h2;"), 2);
	assert_int_equal(occurrences(paper.text, "style=invis"), 2);
	/* Ended, and without a value. */
	assert_int_equal(hyphae_cell_complete(e.lone), 0);
	assert_int_equal(hyphae_int64_set(e.a, -5), 0);
	assert_non_null(hyphae_filter(e.a, positive, NULL));
	draw(e.graph, NULL);
	check_with_dot(paper.text);
	assert_int_equal(occurrences(paper.text, "peripheries=2"), 1);
	assert_int_equal(occurrences(paper.text, "value &amp;, completed"), 1);
	assert_int_equal(occurrences(paper.text, "no value"), 1);
	assert_int_equal(occurrences(paper.text, "style=dashed"), 1);
	assert_int_equal(hyphae_graph_free(e.graph), 0);
	e.graph = hyphae_graph_new(0);
	snprintf(line, sizeof(line), "digraph hyphae_%llu {\n}\n",
		 (unsigned long long)hyphae_graph_id(e.graph));
	assert_string_equal(draw(e.graph, NULL), line);
	assert_int_equal(hyphae_graph_free(e.graph), 0);
}

/* Without values: what else there is to say of a cell, an event above all. */
static void draw_without_values(void **state)
{
	struct hyphae_dot_options o = {.flags = HYPHAE_DOT_NO_VALUES};
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *event, *done;
	char expected[512];

	(void)state;
	event = hyphae_event_new_at(graph, &hyphae_int64, "");
	assert_int_equal(hyphae_int64_set(event, 5), 0);
	draw(graph, NULL);
	assert_int_equal(occurrences(paper.text, "\\nevent, last 5\""), 1);
	draw(graph, &o);
	snprintf(expected, sizeof(expected),
		 "digraph hyphae_%llu {\n\tc%llu [label=\"#%llu source int64"
		 "\\nevent\", shape=box];\n}\n",
		 (unsigned long long)hyphae_graph_id(graph),
		 (unsigned long long)hyphae_cell_id(event),
		 (unsigned long long)hyphae_cell_id(event));
	assert_string_equal(paper.text, expected);
	assert_int_equal(hyphae_cell_complete(event), 0);
	done = hyphae_int64_new_at(graph, 3, "");
	assert_int_equal(hyphae_cell_complete(done), 0);
	draw(graph, &o);
	check_with_dot(paper.text);
	assert_int_equal(occurrences(paper.text, "int64\\nevent, completed\""),
			 1);
	assert_int_equal(occurrences(paper.text, "int64\\ncompleted\""), 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Every byte but NUL in a value, and every ASCII one in a name. */
static void draw_any_byte(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	char value[130], expected[1024] = "value ", name[128];
	struct hyphae_cell *cell;

	(void)state;
	for (int half = 0; half < 2; half++) {
		char *at = expected + strlen("value ");

		for (int i = 0; i < 128; i++)
			value[i] = (char)(i + 128 * half);
		value[128] = '\0';
		/* The low half begins with its NUL: leave that out. */
		cell = hyphae_string_new_at(graph, value + !half, "");
		assert_non_null(cell);
		for (int i = !half; i < 128; i++) {
			int byte = i + 128 * half;

			if (byte == '"')
				at += sprintf(at, "\\\"");
			else if (byte == '\\')
				at += sprintf(at, "\\\\");
			else if (byte == '&')
				at += sprintf(at, "&amp;");
			else if (byte < 32 || byte > 126)
				at += sprintf(at, "\\\\x%02x", byte);
			else
				at += sprintf(at, "%c", byte);
		}
		draw(graph, &(struct hyphae_dot_options){.start = cell});
		assert_int_equal(occurrences(paper.text, expected), 1);
		check_with_dot(paper.text);
	}
	for (int i = 1; i < 128; i++)
		name[i - 1] = (char)i;
	name[127] = '\0';
	assert_int_equal(hyphae_cell_set_name(cell, name), 0);
	draw(graph, NULL);
	assert_int_equal(occurrences(paper.text, "!\\\"#$%&amp;'()*+,-./"), 2);
	check_with_dot(paper.text);
	/* Text that Graphviz would take for more: entities, HTML, escapes. */
	assert_int_equal(hyphae_cell_set_name(cell, "<b>&lt;\\N\xe2\x82\xac"),
			 0);
	draw(graph, NULL);
	assert_int_equal(occurrences(paper.text,
				     "label=\"<b>&amp;lt;\\\\N\xe2\x82\xac\\n"),
			 1);
	check_with_dot(paper.text);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void draw_bad_input(void **state)
{
	struct hyphae_graph *other = hyphae_graph_new(0);
	struct {
		struct hyphae_dot_options known;
		uint64_t newer;
	} newer = {{.flags = 0}, 1};
	struct hyphae_dot_options o = {.flags = 8};
	struct example e;

	(void)state;
	plant(&e);
	memset(&paper, 0, sizeof(paper));
#define expect(code)                                                           \
	assert_int_equal(hyphae_graph_dot(e.graph, draw_on, &paper, &o), code)
	expect(-EINVAL);
	o.flags = 0;
	o.depth = 2;
	expect(-EINVAL);
	o.start = hyphae_int64_new(other, 1);
	expect(-EXDEV);
	assert_int_equal(hyphae_cell_unref(o.start), 0);
	expect(-ESTALE);
	o.start = e.a;
	expect(0);
	assert_int_equal(hyphae_graph_dot_sized(e.graph, draw_on, &paper,
						&newer.known, sizeof(newer)),
			 -EINVAL);
	assert_int_equal(hyphae_graph_dot(NULL, draw_on, &paper, NULL),
			 -EINVAL);
	assert_int_equal(hyphae_graph_dot(e.graph, NULL, &paper, NULL),
			 -EINVAL);
	assert_int_equal(hyphae_graph_free(other), 0);
	assert_int_equal(hyphae_graph_dot(other, draw_on, &paper, NULL),
			 -ESTALE);
	assert_int_equal(hyphae_graph_free(e.graph), 0);
#undef expect
}

/* What `write` returns ends the drawing, at whatever call. */
static void draw_on_nothing(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	int calls;

	(void)state;
	for (int i = 0; i < 60; i++)
		assert_non_null(hyphae_subscribe(cell, quiet, NULL));
	for (int i = 0; i < 60; i++)
		cell = hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	draw(graph, &(struct hyphae_dot_options){.flags = HYPHAE_DOT_HEIGHTS});
	calls = paper.calls;
	assert_true(calls > 5);
	check_with_dot(paper.text);
	for (int i = 1; i <= calls; i++) {
		struct hyphae_dot_options o = {.flags = HYPHAE_DOT_HEIGHTS};

		memset(&paper, 0, sizeof(paper));
		paper.fail_at = i;
		assert_int_equal(hyphae_graph_dot(graph, draw_on, &paper, &o),
				 -42);
		assert_int_equal(paper.calls, i);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void draw_without_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *first = cell;
	unsigned int failed = 0;
	long live;
	size_t length;

	(void)state;
	for (int i = 0; i < 100; i++)
		cell = hyphae_map(i % 2 ? cell : first, &hyphae_int64, plus_one,
				  NULL);
	assert_non_null(cell);
	draw(graph, &(struct hyphae_dot_options){.start = cell});
	check_with_dot(paper.text);
	assert_int_equal(occurrences(paper.text, "label="), 101);
	length = paper.length;
	live = hy_alloc_live();
	OOM_SWEEP(n)
	{
		struct hyphae_dot_options o = {.start = cell};
		int r;

		memset(&paper, 0, sizeof(paper));
		r = hyphae_graph_dot(graph, draw_on, &paper, &o);
		OOM_PAUSE();
		assert_int_equal(hy_alloc_live(), live);
		assert_true(r == 0 || r == -ENOMEM);
		failed += r != 0;
		if (r == 0)
			assert_int_equal(paper.length, length);
	}
	/* The list and its table grow, and the first has 50 targets. */
	assert_true(failed >= 10);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int release_all(const char *text, size_t length, void *ctx)
{
	struct example *e = ctx;

	(void)text;
	(void)length;
	hyphae_unsubscribe(e->sub);
	hyphae_cell_unref(e->d);
	hyphae_cell_unref(e->c);
	hyphae_cell_unref(e->b);
	hyphae_cell_unref(e->a);
	return hyphae_graph_free(e->graph) == -EBUSY ? 0 : -EFAULT;
}

/* The function that writes takes it all apart; the start is held. */
static void draw_what_goes_away(void **state)
{
	struct hyphae_dot_options o = {.flags = 0};
	struct hyphae_graph_counts counts;
	struct example e;

	(void)state;
	plant(&e);
	/* More than a buffer full, so that it writes in between. */
	for (int i = 0; i < 100; i++)
		assert_non_null(
			hyphae_map(e.lone, &hyphae_int64, refuse, NULL));
	assert_int_equal(hyphae_graph_dot(e.graph, release_all, &e, NULL), 0);
	assert_int_equal(hyphae_graph_counts(e.graph, &counts), 0);
	assert_int_equal(counts.cells, 101);
	assert_int_equal(counts.subscriptions, 0);
	o.start = e.lone;
	draw(e.graph, &o);
	assert_int_equal(occurrences(paper.text, "label="), 101);
	assert_int_equal(hyphae_graph_free(e.graph), 0);
}

static void draw_into_a_file(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	char text[256] = "", expected[256];
	FILE *file = tmpfile();
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(file);
	assert_non_null(full);
	assert_int_equal(hyphae_graph_dot(graph, hyphae_write_file, file, NULL),
			 0);
	rewind(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	snprintf(expected, sizeof(expected), "digraph hyphae_%llu {\n}\n",
		 (unsigned long long)hyphae_graph_id(graph));
	assert_string_equal(text, expected);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(hyphae_graph_dot(graph, hyphae_write_file, full, NULL),
			 -EIO);
	fclose(full);
	fclose(file);
	assert_int_equal(hyphae_graph_free(graph), 0);
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
		cmocka_unit_test(draw_without_values),
		cmocka_unit_test(draw_from_a_start),
		cmocka_unit_test(draw_all_of_it),
		cmocka_unit_test(draw_any_byte),
		cmocka_unit_test(draw_bad_input),
		cmocka_unit_test(draw_on_nothing),
		cmocka_unit_test(draw_without_memory),
		cmocka_unit_test(draw_what_goes_away),
		cmocka_unit_test(draw_into_a_file),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
