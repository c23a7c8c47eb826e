/* SPDX-License-Identifier: MIT */
/* Inputs that come and go: lists of edges, room, heights, cycles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/link.h"
#include "core/queue.h"

#include "../lib/oom.h"

static int same(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
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

static struct hyphae_cell *map(struct hyphae_cell *input)
{
	struct hyphae_cell *cell = hyphae_map(input, &hyphae_int64, same, NULL);

	assert_non_null(cell);
	return cell;
}

static struct hyphae_cell *chain(struct hyphae_cell *x, int length)
{
	for (int i = 0; i < length; i++)
		x = map(x);
	return x;
}

static struct hyphae_cell_info info(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info;
}

static uint32_t height(const struct hyphae_cell *cell)
{
	return info(cell).height;
}

static int64_t value(const struct hyphae_cell *cell)
{
	int64_t held = -1;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	return held;
}

static void put(struct hyphae_cell *cell, int64_t to)
{
	assert_int_equal(hyphae_int64_set(cell, to), 0);
}

static struct hyphae_cell *pick(const void *input, void *ctx)
{
	return ((struct hyphae_cell **)ctx)[*(const int64_t *)input];
}

static int note_value(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		*(int64_t *)ctx = hyphae_int64_of(signal);
	else
		*(int64_t *)ctx = signal->code;
	return 0;
}

/* ---- the list of edges of an input ---------------------------------------------- */

/* I1, over all edges. */
static size_t check_edges(const struct hyphae_cell *handle)
{
	const struct hy_cell *c = hy_cell(handle);
	const struct hy_edge *before = NULL;
	size_t count = 0;

	for (const struct hy_edge *e = c->deps; e; before = e, e = e->next) {
		assert_ptr_equal(e->input, c);
		if (before)
			assert_ptr_equal(e->prev, before);
		count++;
	}
	if (c->deps)
		assert_ptr_equal(c->deps->prev, before);
	return count;
}

/* A cell that follows another several times gets more room for its inputs. */
static void neighbours_move_together(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *outer = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_cell *cells[] = {hyphae_int64_new(graph, 1),
				       hyphae_int64_new(graph, 2)};
	struct hyphae_cell *m =
		hyphae_merge_map(outer, &hyphae_int64, 64, pick, cells);

	(void)state;
	assert_non_null(m);
	for (size_t i = 0; i < 40; i++) {
		put(outer, (int64_t)i % 3 == 2);
		assert_int_equal(check_edges(cells[0]), info(cells[0]).targets);
		assert_int_equal(check_edges(cells[1]), info(cells[1]).targets);
	}
	assert_int_equal(check_edges(cells[0]), 27);
	assert_int_equal(check_edges(cells[1]), 13);
	put(cells[1], 5);
	assert_int_equal(value(m), 5);
	assert_int_equal(hyphae_cell_unref(m), 0);
	assert_int_equal(check_edges(cells[0]), 0);
	assert_int_equal(check_edges(cells[1]), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* I7: the eager stack has room for idle edges, which wake without asking. */
static void idle_edges_keep_their_room(void **state)
{
	enum { CELLS = 200, INPUTS = 20 };
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_EAGER);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *inputs[INPUTS];
	int64_t last[CELLS];
	struct hy_graph *g = hy_graph(graph);

	(void)state;
	for (int i = 0; i < INPUTS; i++)
		inputs[i] = a;
	assert_int_equal(hyphae_graph_set_lazy(graph, true), 0);
	for (int i = 0; i < CELLS; i++) {
		struct hyphae_cell *c = hyphae_combine(
			inputs, INPUTS, &hyphae_int64, sum, NULL);

		assert_non_null(c);
		assert_int_equal(g->nedges, (i + 1) * INPUTS);
	}
	assert_true(g->stack_capacity >= CELLS * INPUTS + CELLS + 1);
	assert_int_equal(hyphae_graph_free(graph), 0);

	graph = hyphae_graph_new(HYPHAE_EAGER | HYPHAE_LAZY);
	g = hy_graph(graph);
	a = hyphae_int64_new(graph, 0);
	for (int i = 0; i < INPUTS; i++)
		inputs[i] = a;
	for (int i = 0; i < CELLS; i++)
		assert_non_null(hyphae_subscribe(hyphae_combine(inputs, INPUTS,
								&hyphae_int64,
								sum, NULL),
						 note_value, &last[i]));
	assert_int_equal(g->nedges, CELLS * INPUTS);
	put(a, 3);
	for (int i = 0; i < CELLS; i++)
		assert_int_equal(last[i], 3 * INPUTS);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- heights ------------------------------------------------------------------------ */

/* The cell lies above each input, and so do all that follow it. */
static void a_switch_raises_what_follows(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *outer = hyphae_int64_new(graph, 0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 10);
	struct hyphae_cell *cells[] = {a, chain(a, 9), chain(a, 4)};
	struct hyphae_cell *s =
		hyphae_switch_map(outer, &hyphae_int64, pick, cells);
	struct hyphae_cell *arms[] = {map(s), chain(s, 3)};
	struct hyphae_cell *join =
		hyphae_combine(arms, 2, &hyphae_int64, sum, NULL);
	uint32_t before = height(s);

	(void)state;
	put(outer, 1);
	assert_int_equal(height(s), 10);
	assert_int_equal(height(arms[0]), 11);
	assert_int_equal(height(arms[1]), 13);
	assert_int_equal(height(join), 14);
	assert_true(before < 10);
	assert_int_equal(value(join), 20);
	put(outer, 2); /* I4: it does not shrink */
	assert_int_equal(height(s), 10);
	assert_int_equal(height(join), 14);
	put(a, 11);
	assert_int_equal(value(join), 22);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct garden {
	struct hyphae_graph *graph;
	struct hy_graph *g;
	struct hyphae_cell *a, *low, *mid, *top; /* a <- low <- mid <- top */
	struct hyphae_cell *side;		 /* follows low */
	struct hyphae_cell *high;		 /* of another source, at 20 */
};

static void plant(struct garden *g)
{
	g->graph = hyphae_graph_new(0);
	g->g = hy_graph(g->graph);
	g->a = hyphae_int64_new(g->graph, 1);
	g->low = map(g->a);
	g->mid = map(g->low);
	g->side = map(g->low);
	g->top = map(g->mid);
	g->high = chain(hyphae_int64_new(g->graph, 1), 20);
}

static int raise_over(struct garden *g, struct hyphae_cell *d,
		      struct hyphae_cell *input)
{
	int r;

	hy_lock(g->g);
	r = hy_raise(g->g, hy_derived_of(hy_cell(d)), hy_cell(input));
	hy_unlock(g->g);
	return r;
}

static void assert_heights(struct garden *g, uint32_t low, uint32_t mid,
			   uint32_t side, uint32_t top)
{
	struct hyphae_cell *const cells[] = {g->a,    g->low, g->mid,
					     g->side, g->top, g->high};

	assert_int_equal(height(g->low), low);
	assert_int_equal(height(g->mid), mid);
	assert_int_equal(height(g->side), side);
	assert_int_equal(height(g->top), top);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(hy_cell(cells[i])->flags & F_RAISING, 0);
	put(g->a, value(g->a) + 1);
	assert_int_equal(value(g->top), value(g->a));
}

static void raising(void **state)
{
	struct garden g;

	(void)state;
	plant(&g);
	assert_int_equal(raise_over(&g, g.mid, g.a), 0); /* nothing to do */
	assert_heights(&g, 1, 2, 2, 3);
	assert_int_equal(raise_over(&g, g.mid, g.side), 0);
	assert_heights(&g, 1, 3, 2, 4);
	assert_int_equal(raise_over(&g, g.low, g.high), 0);
	assert_heights(&g, 21, 22, 22, 23);
	assert_int_equal(hyphae_graph_free(g.graph), 0);
}

static void a_cycle_changes_nothing(void **state)
{
	struct garden g;

	(void)state;
	plant(&g);
	assert_int_equal(raise_over(&g, g.low, g.low), -ELOOP);
	assert_int_equal(raise_over(&g, g.low, g.mid), -ELOOP);
	assert_int_equal(raise_over(&g, g.low, g.top), -ELOOP);
	assert_heights(&g, 1, 2, 2, 3);
	assert_int_equal(raise_over(&g, g.mid, g.high), 0);
	assert_int_equal(raise_over(&g, g.low, g.top), -ELOOP);
	assert_heights(&g, 1, 21, 2, 22);
	assert_int_equal(hyphae_graph_free(g.graph), 0);
}

static void no_memory_changes_nothing(void **state)
{
	unsigned int failed = 0;

	(void)state;
	OOM_SWEEP(n)
	{
		struct garden g;
		int r;

		OOM_PAUSE();
		plant(&g);
		hy_alloc_fail_after(n);
		r = raise_over(&g, g.low, g.high);
		OOM_PAUSE();
		if (r) {
			failed++;
			assert_int_equal(r, -ENOMEM);
			assert_heights(&g, 1, 2, 2, 3);
			assert_int_equal(raise_over(&g, g.low, g.high), 0);
		}
		assert_heights(&g, 21, 22, 22, 23);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
	assert_true(failed > 0);
}

/* Its input has been raised while it was idle. */
static void waking_raises(void **state)
{
	unsigned int without = 0;

	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_graph *graph;
		struct hyphae_cell *outer, *a, *cells[2], *s, *idle, *above;
		int64_t last = 0;

		OOM_PAUSE();
		graph = hyphae_graph_new(0);
		outer = hyphae_int64_new(graph, 0);
		a = hyphae_int64_new(graph, 10);
		cells[0] = a;
		cells[1] = chain(a, 99);
		s = hyphae_switch_map(outer, &hyphae_int64, pick, cells);
		idle = map(s);
		assert_int_equal(hyphae_cell_set_lazy(idle), 0);
		put(outer, 1);
		assert_true(height(idle) < height(s));
		above = map(idle);
		assert_int_equal(height(idle), 101);
		assert_int_equal(height(above), 102);
		assert_int_equal(hyphae_cell_unref(above), 0);

		/* The same with a subscriber, and without memory. */
		idle = map(s);
		assert_int_equal(hyphae_cell_set_lazy(idle), 0);
		cells[0] = chain(cells[1], 1000);
		put(outer, 0);
		hy_alloc_fail_after(n);
		if (!hyphae_subscribe(idle, note_value, &last)) {
			OOM_PAUSE();
			assert_int_equal(errno, ENOMEM);
		} else {
			OOM_PAUSE();
			without += last == -ENOMEM;
			assert_true(last == 10 || last == -ENOMEM);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	/* The room for heights and the heap had been made by the switch. */
	assert_int_equal(without, 0);
}

/* ---- tried again ---------------------------------------------------------------------- */

static void tried_again_once_at_a_time(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_cell *m = hyphae_merge(&a, 1);
	struct hy_graph *g = hy_graph(graph);
	struct hy_derived *d = hy_derived_of(hy_cell(m));
	bool later[3], again;
	size_t waiting;

	(void)state;
	hy_lock(g);
	later[0] = hy_link_later(g, d);
	later[1] = hy_link_later(g, d);
	waiting = g->again.count;
	again = hy_link_again(g);
	later[2] = hy_link_later(g, d);
	hy_bury(g);
	hy_unlock(g);
	assert_true(later[0]);
	assert_true(later[1]);
	assert_int_equal(waiting, 1);
	assert_true(again);
	assert_false(later[2]); /* that is a cycle */
	put(a, 2);
	assert_int_equal(value(m), 2);
	assert_int_equal(info(m).references, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_move_together),
		cmocka_unit_test(idle_edges_keep_their_room),
		cmocka_unit_test(a_switch_raises_what_follows),
		cmocka_unit_test(raising),
		cmocka_unit_test(a_cycle_changes_nothing),
		cmocka_unit_test(no_memory_changes_nothing),
		cmocka_unit_test(waking_raises),
		cmocka_unit_test(tried_again_once_at_a_time),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
