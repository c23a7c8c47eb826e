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
 * The cells that one settling wants: a part of g->wanted, which functions
 * that are called meanwhile go on with behind it.
 */
struct settle {
	struct hy_graph *g;
	size_t from;   /* where its part begins */
	size_t lowest; /* below that height nothing waits */
	uint32_t epoch;
};

/* False without memory. */
static bool want(struct settle *s, struct hy_cell *c)
{
	struct hy_list *list = &s->g->wanted;
	struct hy_cold *cold;

	if (!(c->flags & F_DERIVED) || c->flags & F_IDLE ||
	    c->height < s->lowest)
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

/* The cell and all that it depends on. */
static bool want_all(struct settle *s, struct hy_cell *c)
{
	struct hy_list *list = &s->g->wanted;

	/* I7: what has been told in this wave may fire again. */
	if (!hy_fired_room(s->g, 0))
		return false;
	list->count = s->from;
	s->lowest = hy_queue_lowest(&s->g->queue);
	s->epoch = ++s->g->want_epoch;
	if (!want(s, c))
		return false;
	for (size_t i = s->from; i < list->count; i++) {
		struct hy_derived *d = hy_derived_of(list->cells[i]);
		struct hy_edge *edges = hy_edges(d);

		for (uint32_t k = 0; k < hy_inputs(d); k++)
			if (edges[k].input && !want(s, edges[k].input))
				return false;
	}
	return true;
}

static void sift(struct hy_cell **cells, size_t count, size_t at)
{
	struct hy_cell *item = cells[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count &&
		    cells[child + 1]->height < cells[child]->height)
			child++;
		if (cells[child]->height >= item->height)
			break;
		cells[at] = cells[child];
		at = child;
	}
	cells[at] = item;
}

/* The lowest of them; the list is a heap from `from` on. */
static struct hy_cell *take_lowest(struct settle *s)
{
	struct hy_list *list = &s->g->wanted;
	struct hy_cell **heap = list->cells + s->from, *lowest = heap[0];

	heap[0] = list->cells[--list->count];
	sift(heap, list->count - s->from, 0);
	return lowest;
}

/* Its function is under way: what that reads is what the cell held before. */
static bool runs(const struct hy_graph *g, const struct hy_cell *c)
{
	for (const struct hy_run *run = g->runs; run; run = run->outer)
		if (run->cell == c)
			return true;
	return false;
}

/*
 * Compute those that wait, lowest first: each after what it depends on.
 * False: there are other links now, so others may be wanted.
 */
static bool compute_wanted(struct settle *s)
{
	struct hy_list *list = &s->g->wanted;
	uint32_t links = s->g->links;

	for (size_t i = (list->count - s->from) / 2; i-- > 0;)
		sift(list->cells + s->from, list->count - s->from, i);
	while (list->count > s->from) {
		struct hy_cell *c = take_lowest(s);

		if (!(c->flags & F_QUEUED) ||
		    (c->flags & F_SIGNALS && !hy_waits(c)) || runs(s->g, c))
			continue;
		if (hy_compute(s->g, hy_derived_of(c), HY_EARLY)) {
			hy_fire_later(s->g, c);
			s->g->left = true; /* no wave may be under way */
		}
		if (s->g->links != links || hy_waits(c))
			return false;
	}
	return true;
}

/* Functions inside functions take stack. */
#define NESTED_MAX 32

bool hy_can_settle(struct hy_graph *g)
{
	return g->drainer == hy_thread_of(g) && g->settling < NESTED_MAX;
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

	if (!hy_can_settle(g))
		return false;
	g->settling++;
	g->depth_first = false;
	hy_self.floor = (struct hy_floor){0};
	hidden = hy_scopes_hide();
	do
		ok = hy_queue_used(&g->queue) ? want_all(&s, c) : true;
	while (ok && g->wanted.count > s.from && !compute_wanted(&s));
	g->wanted.count = s.from;
	hy_scopes_show(hidden);
	hy_self.floor = floor;
	g->depth_first = depth_first;
	g->settling--;
	return ok && !hy_waits(c);
}
