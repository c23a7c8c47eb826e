/* SPDX-License-Identifier: MIT */
/* Drawings of a graph. */
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

	return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
