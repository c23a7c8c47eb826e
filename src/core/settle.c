/* SPDX-License-Identifier: MIT */
#include "core/settle.h"

#include "base/alloc.h"
#include "core/fanout.h"
#include "core/link.h"
#include "core/queue.h"
#include "core/scope.h"
#include "core/sync.h"
#include "core/wave.h"

/*
 * The cells that one settling wants: a part of g->wanted, a heap by height,
 * which functions that are called meanwhile go on with behind it.
 *
 * What they read is settled in turn.  A cell that has settled stays so while
 * the outermost of these settlings lasts (no source changes, and all that it
 * depends on has been computed), so none of them looks at it again.
 */
struct settle {
	struct hy_graph *g;
	size_t from;   /* where its part begins */
	size_t lowest; /* below that height nothing waits */
	uint32_t epoch;
	uint32_t raises; /* g->raises when the heap was right */
	bool open;	 /* what follows a function under way is to be seen */
};

static bool has_settled(const struct hy_graph *g, const struct hy_cell *c)
{
	const struct hy_cold *cold = hy_cold_of(c);

	return cold && cold->settled == g->outer_epoch && !hy_waits(c);
}

/* ---- the heap -------------------------------------------------------------- */

static void sift_up(struct settle *s, size_t at)
{
	struct hy_cell **heap = s->g->wanted.cells + s->from;
	struct hy_cell *item = heap[at];

	while (at && heap[(at - 1) / 2]->height > item->height) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = item;
}

static void sift_down(struct settle *s, size_t at)
{
	struct hy_cell **heap = s->g->wanted.cells + s->from;
	size_t count = s->g->wanted.count - s->from, child;
	struct hy_cell *item = heap[at];

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count &&
		    heap[child + 1]->height < heap[child]->height)
			child++;
		if (heap[child]->height >= item->height)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

/* Heights have grown. */
static void order(struct settle *s)
{
	s->raises = s->g->raises;
	for (size_t i = (s->g->wanted.count - s->from) / 2; i-- > 0;)
		sift_down(s, i);
}

static struct hy_cell *take_lowest(struct settle *s)
{
	struct hy_list *list = &s->g->wanted;
	struct hy_cell **heap = list->cells + s->from, *lowest = heap[0];

	heap[0] = list->cells[--list->count];
	if (list->count > s->from)
		sift_down(s, 0);
	return lowest;
}

/* One that was taken; there is room. */
static void put_back(struct settle *s, struct hy_cell *c)
{
	struct hy_list *list = &s->g->wanted;

	list->cells[list->count++] = c;
	sift_up(s, list->count - 1 - s->from);
}

/* ---- what is wanted --------------------------------------------------------- */

/* False without memory. */
static bool want(struct settle *s, struct hy_cell *c)
{
	struct hy_list *list = &s->g->wanted;
	struct hy_cold *cold;

	if (!(c->flags & F_DERIVED) || c->flags & F_IDLE ||
	    c->height < s->lowest || has_settled(s->g, c))
		return true;
	cold = hy_cold_made(c);
	if (!cold)
		return false;
	if (cold->wanted == s->epoch)
		return true;
	if (!hy_list_reserve(s->g, list, list->count + 1))
		return false;
	cold->wanted = s->epoch;
	list->cells[list->count++] = c;
	return true;
}

static bool want_inputs(struct settle *s, struct hy_cell *c)
{
	struct hy_derived *d = hy_derived_of(c);
	struct hy_edge *edges = hy_edges(d);

	for (uint32_t k = 0; k < hy_inputs(d); k++)
		if (edges[k].input && !want(s, edges[k].input))
			return false;
	return true;
}

/* What the cells in the list from `at` on depend on; then it is a heap. */
static bool want_below(struct settle *s, size_t at)
{
	struct hy_list *list = &s->g->wanted;

	for (size_t i = at; i < list->count; i++)
		if (!want_inputs(s, list->cells[i]))
			return false;
	for (; at < list->count; at++)
		sift_up(s, at - s->from);
	return true;
}

static bool want_first(struct settle *s, struct hy_cell *c)
{
	/* I7: what has been told in this wave may fire again. */
	return hy_fired_room(s->g, 0) && want(s, c) && want_below(s, s->from);
}

/*
 * It is about to be computed, and may follow others than when it was wanted.
 * 0: all of them have settled; 1: they are computed first; or -ENOMEM.
 */
static int inputs_first(struct settle *s, struct hy_cell *c)
{
	struct hy_list *list = &s->g->wanted;
	size_t count = list->count;

	s->lowest = hy_queue_lowest(&s->g->queue);
	if (!want_inputs(s, c))
		return -ENOMEM;
	if (list->count == count)
		return 0;
	if (!want_below(s, count) ||
	    !hy_list_reserve(s->g, list, list->count + 1))
		return -ENOMEM;
	put_back(s, c);
	return 1;
}

/* Its function is under way: what that reads is what the cell held before. */
static bool runs(const struct hy_graph *g, const struct hy_cell *c)
{
	for (const struct hy_run *run = g->runs; run; run = run->outer)
		if (run->cell == c)
			return true;
	return false;
}

static void compute(struct settle *s, struct hy_cell *c)
{
	if (!hy_compute(s->g, c, HY_EARLY))
		return;
	hy_fire(s->g, c);
	s->g->left = true; /* no wave may be under way */
}

/* The lowest that is wanted: it waits, or not.  False without memory. */
static bool settle_lowest(struct settle *s)
{
	struct hy_cell *c = take_lowest(s);
	int r;

	if (runs(s->g, c)) {
		s->open = true;
		return true;
	}
	if (c->flags & F_QUEUED && (hy_waits(c) || !(c->flags & F_SIGNALS))) {
		r = inputs_first(s, c);
		if (r)
			return r > 0;
		compute(s, c);
	}
	if (hy_waits(c)) /* it has other inputs now */
		put_back(s, c);
	else if (!s->open)
		hy_cold_of(c)->settled = s->g->outer_epoch;
	if (s->g->raises != s->raises)
		order(s);
	return true;
}

static bool settle_all(struct settle *s, struct hy_cell *c)
{
	struct hy_graph *g = s->g;
	bool ok;

	if (!hy_queue_used(&g->queue))
		return true;
	s->lowest = hy_queue_lowest(&g->queue);
	s->raises = g->raises;
	s->epoch = ++g->want_epoch;
	if (g->settling == 1) /* the outermost */
		g->outer_epoch = s->epoch;
	ok = want_first(s, c);
	while (ok && g->wanted.count > s->from)
		ok = settle_lowest(s);
	g->wanted.count = s->from;
	return ok;
}

/* Functions inside functions take stack. */
#define NESTED_MAX 32

bool hy_can_settle(struct hy_graph *g)
{
	return hy_drains(g) && g->settling < NESTED_MAX;
}

bool hy_is_unsettled(struct hy_graph *g, const struct hy_cell *c)
{
	return c->flags & F_DERIVED && hy_queue_used(&g->queue) &&
	       hy_queue_lowest(&g->queue) <= c->height;
}

bool hy_settle(struct hy_graph *g, struct hy_cell *c)
{
	struct settle s = {.g = g, .from = g->wanted.count};
	struct hy_scope *hidden;
	bool depth_first = g->depth_first, ok;
	struct hy_floor floor = hy_self.floor;

	if (g->settling && hy_drains(g) && has_settled(g, c))
		return true;
	if (!hy_can_settle(g))
		return false;
	g->settling++;
	g->depth_first = false;
	hy_self.floor = (struct hy_floor){0};
	hidden = hy_scopes_hide();
	ok = settle_all(&s, c);
	hy_scopes_show(hidden);
	hy_self.floor = floor;
	g->depth_first = depth_first;
	g->settling--;
	return ok && !hy_waits(c);
}
