/* SPDX-License-Identifier: MIT */
/* What random programs found in dynamic cells, each as small as it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD};
#define EACH_KIND(kind_)                                                       \
	for (const unsigned int *kind_ = kinds; kind_ < kinds + 2; kind_++)

/* A function's runs, and what it may use. */
struct fn {
	struct hyphae_graph *graph;
	struct hyphae_cell *c[4];
	unsigned int runs, odd;
	int64_t last;
};

static int inc(void *ret, const void *input, void *ctx)
{
	struct fn *f = ctx;

	if (f)
		f->runs++;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	struct fn *f = ctx;
	int64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	f->runs++;
	*(int64_t *)ret = total;
	return 0;
}

static int64_t get(const struct hyphae_cell *cell)
{
	int64_t v = -1000;

	return hyphae_int64_get(cell, &v) ? -1000 : v;
}

static struct hyphae_cell *chain(struct hyphae_cell *from, int length)
{
	struct hyphae_cell *next;

	while (length--) {
		next = hyphae_map(from, &hyphae_int64, inc, NULL);
		hyphae_cell_unref(from);
		from = next;
	}
	return from;
}

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	f->last = signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal)
					       : signal->code;
	return 0;
}

static void end_graph(struct hyphae_graph *graph)
{
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- functions that read what is higher than they are -------------------------- */

/* c[0] ? c[2] : c[1] */
static int branch(void *ret, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	*(int64_t *)ret = get(f->c[get(f->c[0]) ? 2 : 1]);
	return 0;
}

/*
 * Y follows X and S.  X comes to read something high: before it has, nothing
 * that follows X may be computed, though it lies lower.
 */
static void followers_wait_for_a_function_that_reads(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 0),
				   *low = hyphae_int64_new(g, 10);
		struct fn f = {.c = {s, low,
				     chain(hyphae_int64_new(g, 20), 9)}},
			  y = {.graph = g};
		struct hyphae_cell *x =
			hyphae_computed(g, &hyphae_int64, branch, &f);
		struct hyphae_cell *in[] = {x, s};
		struct hyphae_cell *sums =
			hyphae_combine(in, 2, &hyphae_int64, sum, &y);

		y.runs = f.runs = 0;
		assert_int_equal(hyphae_int64_set(s, 1), 0);
		assert_int_equal(f.runs, 1);
		assert_int_equal(get(sums), 30);
		assert_int_equal(y.runs, 1);
		end_graph(g);
	}
}

/* ---- cells that a function made ----------------------------------------------- */

static struct hyphae_cell *twice(struct hyphae_cell *from, struct fn *f)
{
	struct hyphae_cell *first = hyphae_map(from, &hyphae_int64, inc, &f[0]);

	return hyphae_map(first, &hyphae_int64, inc, &f[1]);
}

/* A map of a map of c[0], for an odd value; else a cell of its own. */
static struct hyphae_cell *maps_or_none(const void *value, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	if (*(const int64_t *)value % 2)
		return twice(f->c[0], f + 1);
	return hyphae_int64_new(f->graph, 0);
}

/* None of what was made for a value is computed once that has changed. */
static void a_switch_cuts_all_that_was_made(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 1), *cell;
		struct fn f[3] = {{.graph = g, .c = {s}}};

		cell = hyphae_switch_map(s, &hyphae_int64, maps_or_none, f);
		assert_int_equal(get(cell), 3);
		f[1].runs = f[2].runs = 0;
		assert_int_equal(hyphae_int64_set(s, 2), 0);
		assert_int_equal(get(cell), 0);
		assert_int_equal(f[1].runs + f[2].runs, 0);
		end_graph(g);
	}
}

/* The same, a switch inside a switch; also in a lazy graph. */
static struct hyphae_cell *switch_or_none(const void *value, void *ctx)
{
	struct fn *f = ctx;

	if (*(const int64_t *)value % 2)
		return hyphae_switch_map(f->c[1], &hyphae_int64, maps_or_none,
					 f);
	return hyphae_int64_new(f->graph, 0);
}

static void nested_switch(struct hyphae_graph *g)
{
	struct hyphae_cell *s = hyphae_int64_new(g, 1),
			   *one = hyphae_int64_new(g, 1), *cell;
	struct fn f[3] = {{.graph = g, .c = {s, one}}}, told = {0};

	cell = hyphae_switch_map(s, &hyphae_int64, switch_or_none, f);
	assert_non_null(hyphae_subscribe(cell, count_call, &told));
	assert_int_equal(told.last, 3);
	f[1].runs = f[2].runs = 0;
	assert_int_equal(hyphae_int64_set(s, 2), 0);
	assert_int_equal(told.last, 0);
	assert_int_equal(f[1].runs + f[2].runs, 0);
	end_graph(g);
}

static void a_switch_cuts_what_an_inner_switch_made(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		nested_switch(hyphae_graph_new(*kind));
		nested_switch(hyphae_graph_new(*kind | HYPHAE_LAZY));
	}
}

/* c[0] ? c[2] : c[1], as a cell */
static struct hyphae_cell *choose(const void *value, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return f->c[*(const int64_t *)value ? 2 : 1];
}

/*
 * The outer cell of the outer switch is raised: so is the selector of the
 * switch that its function made, though no scope has it.
 */
static void what_was_made_stays_above_with_all_its_parts(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 1),
				   *flip = hyphae_int64_new(g, 0), *in[2];
		struct fn high = {.c = {NULL, s, NULL}};
		struct fn f[3] = {{.graph = g, .c = {s, s}}};
		struct hyphae_cell *outer, *cell;

		in[0] = s;
		high.c[2] = chain(hyphae_map(s, &hyphae_int64, inc, NULL), 9);
		outer = hyphae_switch_map(flip, &hyphae_int64, choose, &high);
		cell = hyphae_switch_map(outer, &hyphae_int64, switch_or_none,
					 f);
		assert_int_equal(get(cell), 3);
		assert_int_equal(hyphae_int64_set(flip, 1), 0); /* 11 */
		assert_int_equal(get(outer), 11);
		assert_int_equal(get(cell), 3);
		f[0].runs = f[1].runs = f[2].runs = 0;
		assert_int_equal(hyphae_int64_set(in[0], 2), 0);
		assert_int_equal(get(cell), 0);
		assert_int_equal(f[0].runs + f[1].runs + f[2].runs, 0);
		end_graph(g);
	}
}

/* sum of c[0] and c[1] */
static struct hyphae_cell *sum_of_two(const void *value, void *ctx)
{
	struct fn *f = ctx;

	(void)value;
	return hyphae_combine(f->c, 2, &hyphae_int64, sum, f);
}

/* What a function makes of cells that the wave has not come to. */
static void what_is_made_sees_nothing_old(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 1), *cell;
		struct fn f = {
			.c = {s, chain(hyphae_map(s, &hyphae_int64, inc, NULL),
				       3)}};

		cell = hyphae_switch_map(s, &hyphae_int64, sum_of_two, &f);
		assert_int_equal(get(cell), 6);
		f.runs = 0;
		assert_int_equal(hyphae_int64_set(s, 10), 0);
		assert_int_equal(get(cell), 24);
		assert_int_equal(f.runs, 1);
		end_graph(g);
	}
}

/* A cell that is made and released inside a function, inside a switch. */
static int through_a_map(void *ret, void *ctx)
{
	struct fn *f = ctx;
	struct hyphae_cell *made = hyphae_map(f->c[0], &hyphae_int64, inc, f);
	int r = hyphae_int64_get(made, ret);

	return hyphae_cell_unref(made) ? -EPROTO : r;
}

static struct hyphae_cell *computed_for(const void *value, void *ctx)
{
	struct fn *f = ctx;

	(void)value;
	return hyphae_computed(f->graph, &hyphae_int64, through_a_map, f);
}

static void what_a_function_makes_is_in_no_scope_of_others(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 0), *cell;
		struct fn f = {.graph = g, .c = {hyphae_int64_new(g, 5)}};
		struct hyphae_graph_counts counts;

		cell = hyphae_switch_map(s, &hyphae_int64, computed_for, &f);
		for (int i = 1; i < 10; i++) {
			assert_int_equal(hyphae_int64_set(s, i), 0);
			assert_int_equal(hyphae_int64_set(f.c[0], i), 0);
			assert_int_equal(get(cell), i + 1);
		}
		/* s, c[0], the switch and its selector, the computed, the map */
		assert_int_equal(hyphae_graph_counts(g, &counts), 0);
		assert_int_equal(counts.cells, 6);
		end_graph(g);
	}
}

/* ---- ends, and the order of inner cells ------------------------------------------ */

static struct hyphae_cell *refuse(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
	errno = EIO;
	return NULL;
}

static void a_switch_ends_at_an_error_that_stays(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 1);
		struct hyphae_cell *cell =
			hyphae_switch_map(s, &hyphae_int64, refuse, NULL);
		struct hyphae_cell_info info;
		int64_t v;

		assert_int_equal(hyphae_cell_complete(s), 0);
		assert_int_equal(hyphae_int64_get(cell, &v), -EIO);
		assert_int_equal(hyphae_cell_info(cell, &info), 0);
		assert_true(info.ended);
		end_graph(g);
	}
}

/* c[value] */
static struct hyphae_cell *choose_by_number(const void *value, void *ctx)
{
	struct fn *f = ctx;

	return f->c[*(const int64_t *)value];
}

/* An inner that ended gives its place to a newer one, but not its age. */
static void merge_map_hears_the_oldest_first(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 0), *cell;
		struct fn f = {.c = {hyphae_int64_new(g, 1),
				     hyphae_int64_new(g, 2),
				     hyphae_int64_new(g, 3)}};

		cell = hyphae_merge_map(s, &hyphae_int64, 2, choose_by_number,
					&f);
		assert_int_equal(hyphae_int64_set(s, 1), 0);
		assert_int_equal(hyphae_cell_complete(f.c[0]), 0);
		assert_int_equal(hyphae_int64_set(s, 2), 0);
		assert_int_equal(get(cell), 3);
		assert_int_equal(hyphae_batch_begin(g), 0);
		assert_int_equal(hyphae_int64_set(f.c[2], 30), 0);
		assert_int_equal(hyphae_int64_set(f.c[1], 20), 0);
		assert_int_equal(hyphae_batch_end(g), 0);
		assert_int_equal(get(cell), 30); /* told last */
		end_graph(g);
	}
}

/* The end of the outer cell does not repeat what the function said. */
static void merge_map_tells_an_error_once(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 0), *cell;
		struct fn f = {
			.c = {hyphae_int64_new(g, 1), hyphae_int64_new(g, 2)}};
		int64_t v;

		cell = hyphae_merge_map(s, &hyphae_int64, 1, choose_by_number,
					&f);
		assert_int_equal(hyphae_int64_set(s, 1), 0);
		assert_int_equal(hyphae_int64_get(cell, &v), -ENOBUFS);
		assert_int_equal(hyphae_int64_set(f.c[0], 5), 0);
		assert_int_equal(get(cell), 5);
		assert_int_equal(hyphae_cell_complete(s), 0);
		assert_int_equal(get(cell), 5);
		end_graph(g);
	}
}

/* ---- batches ------------------------------------------------------------------------ */

static int read_first(void *ret, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return hyphae_int64_get(f->c[0], ret);
}

/*
 * The writer of a batch reads what it wrote; a function does not, since
 * nothing comes of what is taken back.
 */
static void a_function_does_not_see_what_waits(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct hyphae_cell *s = hyphae_int64_new(g, 1), *cell;
		struct fn f = {.c = {s}};

		assert_int_equal(hyphae_batch_begin(g), 0);
		assert_int_equal(hyphae_int64_set(s, 7), 0);
		cell = hyphae_computed(g, &hyphae_int64, read_first, &f);
		assert_int_equal(get(s), 7);
		assert_int_equal(get(cell), 1);
		assert_in_range(hyphae_int64_set(s, 1), 0, 1);
		assert_int_equal(hyphae_batch_end(g), 0);
		assert_int_equal(get(cell), 1);
		end_graph(g);
	}
}

/* ---- what reading costs, and hands on -------------------------------------------- */

/* c[0] and c[1] in turn, `last` times. */
static int to_and_fro(void *ret, void *ctx)
{
	struct fn *f = ctx;

	for (int64_t i = 0; i < f->last; i++)
		*(int64_t *)ret = get(f->c[i % 2]);
	return 0;
}

/* What one that reads so often takes to be made. */
static unsigned long allocations(unsigned int kind, int64_t reads)
{
	struct hyphae_graph *g = hyphae_graph_new(kind);
	struct fn f = {.c = {hyphae_int64_new(g, 1), hyphae_int64_new(g, 2)},
		       .last = reads};
	unsigned long before = hy_alloc_count();

	assert_non_null(hyphae_computed(g, &hyphae_int64, to_and_fro, &f));
	before = hy_alloc_count() - before;
	end_graph(g);
	return before;
}

static void reads_of_the_same_are_noted_once(void **state)
{
	(void)state;
	EACH_KIND(kind)
	assert_int_equal(allocations(*kind, 10000), allocations(*kind, 2));
}

static int note_message(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_ERROR)
		snprintf(ctx, 16, "%s", signal->message);
	return 0;
}

static void an_error_that_is_handed_on_keeps_its_message(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct fn f = {.c = {hyphae_int64_new(g, 1)}};
		struct hyphae_cell *cell =
			hyphae_computed(g, &hyphae_int64, read_first, &f);
		char text[16] = "";

		assert_non_null(hyphae_subscribe(cell, note_message, text));
		assert_int_equal(hyphae_cell_fail(f.c[0], -EIO, "rot"), 0);
		assert_string_equal(text, "rot");
		end_graph(g);
	}
}

/*
 * A lazy cell cannot wake, since what it follows has come to follow it.  A
 * function that reads it tries each time, and must not be computed again
 * because that failed as before.
 */
static struct hyphae_cell *pick(const void *input, void *ctx)
{
	struct fn *f = ctx;

	return hyphae_cell_ref(f->c[*(const int64_t *)input]);
}

static int read_both(void *ret, void *ctx)
{
	struct fn *f = ctx;
	int64_t n = 0, lazy = 100;

	f->runs++;
	hyphae_int64_get(f->c[2], &n);
	f->odd += hyphae_int64_get(f->c[1], &lazy) == -ELOOP;
	*(int64_t *)ret = n + lazy;
	return 0;
}

static void read_what_cannot_wake(unsigned int kind, bool event)
{
	struct hyphae_graph *g = hyphae_graph_new(kind);
	struct hyphae_cell *outer = hyphae_int64_new(g, 0), *inner, *reader;
	struct fn f = {.c = {event ? hyphae_event_new(g, &hyphae_int64)
				   : hyphae_int64_new(g, 5)}};

	f.c[2] = hyphae_int64_new(g, 1);
	inner = event ? hyphae_switch_events(outer, &hyphae_int64, pick, &f)
		      : hyphae_switch_map(outer, &hyphae_int64, pick, &f);
	f.c[1] = hyphae_map(inner, &hyphae_int64, inc, NULL);
	assert_int_equal(hyphae_cell_set_lazy(f.c[1]), 0);
	assert_int_equal(hyphae_int64_set(outer, 1), 0);
	reader = hyphae_computed(g, &hyphae_int64, read_both, &f);
	assert_int_equal(f.runs, 1);
	assert_int_equal(hyphae_int64_set(f.c[2], 2), 0);
	assert_int_equal(f.runs, 2);
	assert_int_equal(f.odd, 2);
	assert_int_equal(get(reader), 102);
	end_graph(g);
}

static void what_cannot_wake_says_so_once(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		read_what_cannot_wake(*kind, false);
		read_what_cannot_wake(*kind, true);
	}
}

/*
 * Two that take turns in following each other.  The one that would follow
 * itself is left for the end of the wave; the other's only subscriber is not
 * told before that.
 */
static int read_in_odd_turns(void *ret, void *ctx)
{
	struct fn *f = ctx;
	int64_t turn = 0, other = 0;

	hyphae_int64_get(f->c[0], &turn);
	if (f->c[2] && turn % 2)
		hyphae_int64_get(f->c[2], &other);
	*(int64_t *)ret = 10 * turn + other;
	return 0;
}

static int read_in_even_turns(void *ret, void *ctx)
{
	struct fn *f = ctx;
	int64_t turn = 0, other = 0;

	hyphae_int64_get(f->c[0], &turn);
	if (turn % 2 == 0)
		hyphae_int64_get(f->c[1], &other);
	*(int64_t *)ret = 100 + turn + other;
	return 0;
}

static int look_at_the_other(const struct hyphae_signal *signal, void *ctx)
{
	struct fn *f = ctx;

	(void)signal;
	f->runs++;
	f->last = get(f->c[1]);
	return 0;
}

static void who_is_tried_again_settles_before_subscribers(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g = hyphae_graph_new(*kind);
		struct fn f = {.c = {hyphae_int64_new(g, 0)}};

		f.c[1] = hyphae_computed(g, &hyphae_int64, read_in_odd_turns,
					 &f);
		f.c[2] = hyphae_computed(g, &hyphae_int64, read_in_even_turns,
					 &f);
		assert_non_null(hyphae_subscribe_with(f.c[2], look_at_the_other,
						      &f, NULL,
						      HYPHAE_SKIP_INITIAL));
		assert_int_equal(hyphae_int64_set(f.c[0], 1), 0);
		assert_int_equal(f.runs, 1);
		assert_int_equal(f.last, 111);
		assert_int_equal(get(f.c[1]), 111);
		assert_int_equal(get(f.c[2]), 101);
		end_graph(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(followers_wait_for_a_function_that_reads),
		cmocka_unit_test(a_switch_cuts_all_that_was_made),
		cmocka_unit_test(a_switch_cuts_what_an_inner_switch_made),
		cmocka_unit_test(what_was_made_stays_above_with_all_its_parts),
		cmocka_unit_test(what_is_made_sees_nothing_old),
		cmocka_unit_test(
			what_a_function_makes_is_in_no_scope_of_others),
		cmocka_unit_test(a_switch_ends_at_an_error_that_stays),
		cmocka_unit_test(merge_map_hears_the_oldest_first),
		cmocka_unit_test(merge_map_tells_an_error_once),
		cmocka_unit_test(a_function_does_not_see_what_waits),
		cmocka_unit_test(reads_of_the_same_are_noted_once),
		cmocka_unit_test(an_error_that_is_handed_on_keeps_its_message),
		cmocka_unit_test(what_cannot_wake_says_so_once),
		cmocka_unit_test(who_is_tried_again_settles_before_subscribers),
	};

	return cmocka_run_group_tests_name("regressions dynamic", tests, NULL,
					   NULL);
}
