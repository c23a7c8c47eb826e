/* SPDX-License-Identifier: MIT */
/*
 * X-05 of what operators own: what a function of a switch_map, merge_map or
 * retry makes is released when the operator moves on, and if a scope that the
 * function made is entered then, when that is left.
 */
#include <errno.h>
#include <stdlib.h>

#include "fixture.h"

/* What the functions made last, and what became of it. */
struct estate {
	struct world *world;
	struct hyphae_cell *from; /* the inner cells are made of it */
	struct log *order;
	struct hyphae_scope *child, *grandchild;
	bool stays; /* the function does not leave the child */
	int failures;
	int64_t number; /* of the estate */
};

struct will {
	struct estate *estate;
	char kind;
	int64_t number;
};

static void open_will(void *ctx)
{
	struct will *will = ctx;

	note(will->estate->order, "%c%d", will->kind, (int)will->number);
	free(will);
}

/* Noted when the scope that is entered now is disposed. */
static void make_will(struct estate *e, struct hyphae_scope *scope, char kind)
{
	struct will *will = malloc(sizeof(*will));

	*will = (struct will){e, kind, e->number};
	e->failures += hyphae_scope_on_dispose(scope, open_will, will) != 0;
}

static int as_it_is(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return *(const int64_t *)input < 0 ? -EIO : 0;
}

/* A cell; a child with a cell, a child of its own, and another cell. */
static struct hyphae_cell *make(struct estate *e)
{
	struct hyphae_graph *g = e->world->graph;
	struct hyphae_cell *cell =
		hyphae_map(e->from, &hyphae_int64, as_it_is, NULL);

	e->number++;
	e->child = hyphae_scope_new(g);
	e->failures += hyphae_scope_enter(e->child) != 0;
	e->failures += !hyphae_int64_new(g, 1);
	make_will(e, e->child, 'c');
	e->grandchild = hyphae_scope_new(g);
	make_will(e, e->grandchild, 'g');
	if (!e->stays)
		e->failures += hyphae_scope_leave(e->child) != 0;
	e->failures += !hyphae_int64_new(g, 2);
	return cell;
}
#define MADE 3 /* cells */

static struct hyphae_cell *make_next(const void *value, void *ctx)
{
	(void)value;
	return make(ctx);
}

static struct hyphae_cell *make_try(size_t attempt, void *ctx)
{
	(void)attempt;
	return make(ctx);
}

/* The last ones are opened when the world ends. */
static struct estate *begin_estate(struct world *w)
{
	static struct estate estate;

	estate = (struct estate){.world = w,
				 .from = source(w, 1),
				 .order = log_new(w, NULL, NULL)};
	return &estate;
}

static void x05_switched_while_entered(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *o = source(w, 0);
	struct log *seen = follow(
		w, keep(w, hyphae_switch_map(o, &hyphae_int64, make_next, e)));
	struct hyphae_scope *child = e->child, *grandchild = e->grandchild;
	size_t cells = live_cells(w);

	assert_int_equal(hyphae_scope_enter(child), 0);
	put(o, 1);
	put(e->from, 2);
	assert_log(seen, "1,2");
	/* It is told no more; but what it made is there yet. */
	assert_log(e->order, "");
	assert_int_equal(live_cells(w), cells + MADE);
	assert_int_equal(hyphae_scope_enter(grandchild), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(child), -EBUSY);
	assert_non_null(hyphae_int64_new(w->graph, 3)); /* the child's, too */
	put(o, 2); /* the second one's goes at once */
	assert_log(e->order, "g2,c2");
	assert_int_equal(hyphae_scope_leave(child), 0);
	assert_log(e->order, "g2,c2,g1,c1");
	assert_int_equal(live_cells(w), cells);
	assert_int_equal(hyphae_scope_enter(child), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(child), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(grandchild), -ESTALE);
	/* The third one's was none of that. */
	assert_int_equal(hyphae_scope_enter(e->grandchild), 0);
	assert_int_equal(hyphae_scope_leave(e->grandchild), 0);
	assert_int_equal(e->failures, 0);
}

/* The last one below it decides, whatever the order. */
static void x05_two_entered(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *o = source(w, 0);
	struct log *seen = follow(
		w, keep(w, hyphae_switch_map(o, &hyphae_int64, make_next, e)));
	struct hyphae_scope *child = e->child, *grandchild = e->grandchild;
	struct hyphae_scope *fresh;
	size_t cells = live_cells(w);

	assert_int_equal(hyphae_scope_enter(grandchild), 0);
	assert_int_equal(hyphae_scope_enter(child), 0);
	put(o, 1);
	fresh = hyphae_scope_new(w->graph);
	assert_non_null(fresh);
	assert_int_equal(hyphae_scope_enter(fresh), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(fresh), 0);
	assert_int_equal(hyphae_scope_leave(child), 0);
	assert_log(e->order, "");
	assert_int_equal(hyphae_scope_leave(grandchild), 0);
	assert_log(e->order, "g1,c1");
	assert_int_equal(live_cells(w), cells);
	assert_log(seen, "1");
	assert_int_equal(e->failures, 0);
}

static void x05_merged_ends_while_entered(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *o = source(w, 0), *first = e->from;
	struct log *seen = follow(
		w,
		keep(w, hyphae_merge_map(o, &hyphae_int64, 9, make_next, e)));
	struct hyphae_scope *child = e->child;
	size_t cells;

	e->from = source(w, 5);
	put(o, 1);
	cells = live_cells(w);
	assert_int_equal(hyphae_scope_enter(child), 0);
	assert_int_equal(hyphae_cell_complete(first), 0);
	assert_log(e->order, "");
	assert_int_equal(hyphae_scope_leave(child), 0);
	assert_log(e->order, "g1,c1");
	assert_int_equal(live_cells(w), cells - MADE);
	put(e->from, 6);
	assert_log(seen, "1,5,6");
	assert_int_equal(e->failures, 0);
}

static void x05_retried_while_entered(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *cell =
		keep(w, hyphae_retry(w->graph, &hyphae_int64, 1, make_try, e));
	struct hyphae_scope *child = e->child;
	size_t cells = live_cells(w);

	assert_int_equal(hyphae_scope_enter(child), 0);
	put(e->from, -1);
	assert_int_equal(e->number, 2);
	assert_log(e->order, "");
	put(e->from, 2);
	assert_int_equal(value(cell), 2);
	assert_int_equal(hyphae_scope_leave(child), 0);
	assert_log(e->order, "g1,c1");
	assert_int_equal(live_cells(w), cells);
	assert_int_equal(e->failures, 0);
}

/* The operator itself goes, and the function left the child entered. */
static void x05_released_while_entered(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *o = source(w, 0), *cell;

	cell = hyphae_switch_map(o, &hyphae_int64, make_next, e);
	assert_non_null(cell);
	e->stays = true;
	put(o, 1);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_log(e->order, "g1,c1");
	assert_int_equal(hyphae_graph_free(w->graph), -EBUSY);
	assert_int_equal(hyphae_scope_leave(e->child), 0);
	assert_log(e->order, "g1,c1,g2,c2");
	assert_int_equal(live_cells(w), 2);
	assert_int_equal(e->failures, 0);
}

struct mover {
	struct estate *estate;
	struct hyphae_cell *outer;
	size_t wills; /* that were opened when it moved on */
};

static void move_on(void *ctx)
{
	struct mover *m = ctx;

	m->estate->failures += hyphae_int64_set(m->outer, 1) != 0;
	m->wills = m->estate->order->length;
}

/* A child is being disposed, by the user: its parent is when that is over. */
static void x05_switched_while_disposed(void **state)
{
	struct world *w = *state;
	struct estate *e = begin_estate(w);
	struct hyphae_cell *o = source(w, 0);
	struct log *seen = follow(
		w, keep(w, hyphae_switch_map(o, &hyphae_int64, make_next, e)));
	struct mover m = {e, o, 99};
	size_t cells = live_cells(w);
	struct hyphae_scope *child = e->child;

	assert_int_equal(hyphae_scope_on_dispose(e->grandchild, move_on, &m),
			 0);
	assert_int_equal(hyphae_scope_dispose(child), 0);
	assert_int_equal(m.wills, 0);
	assert_log(e->order, "g1,c1");
	assert_int_equal(live_cells(w), cells);
	assert_log(seen, "1");
	assert_int_equal(e->number, 2);
	assert_int_equal(e->failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(x05_switched_while_entered),
		CASE(x05_two_entered),
		CASE(x05_merged_ends_while_entered),
		CASE(x05_retried_while_entered),
		CASE(x05_released_while_entered),
		CASE(x05_switched_while_disposed),
	};

	return cmocka_run_group_tests_name("inner scopes", tests, NULL, NULL);
}
