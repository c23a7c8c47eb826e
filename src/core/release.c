/* SPDX-License-Identifier: MIT */
#include "core/release.h"

#include "base/alloc.h"
#include "core/data.h"
#include "core/extra.h"
#include "core/label.h"
#include "core/lazy.h"
#include "core/link.h"
#include "core/log.h"
#include "core/node.h"
#include "core/probe.h"
#include "core/queue.h"
#include "core/slab.h"
#include "core/value.h"

/* It waits there to go idle, or for its hooks. */
static void attend_no_more(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_list *list = &g->attention;
	size_t i = list->count - 1;

	while (list->cells[i] != c) /* mostly it has just come */
		i--;
	list->cells[i] = list->cells[--list->count];
	hy_flags_set(c, 0, F_ATTENTION);
	c->refs--;
}

/*
 * Is it dead already?  Else, if it is cut off and only waits to go idle, it
 * does not wait any more: the reference that is given back is its last.
 */
static NOINLINE bool has_gone(struct hy_graph *g, struct hy_cell *c)
{
	if (c->flags & F_DEAD)
		return true;
	if (g->cutting && c->refs == 2 && !(c->flags & F_HOOKS))
		attend_no_more(g, c);
	return false;
}

void hy_cell_put(struct hy_graph *g, struct hy_cell *c)
{
	if (unlikely(c->flags & (F_DEAD | F_ATTENTION)) && has_gone(g, c))
		return;
	if (--c->refs)
		return;
	if (unlikely(c->flags & F_PENDING)) {
		hy_log_noted(g);
		if (c->refs) /* a batch holds it, and had not said so */
			return;
	}
	hy_flags_set(c, F_DEAD, 0);
	c->next_dead = NULL;
	*g->dead_cells_end = c;
	g->dead_cells_end = &c->next_dead;
	g->left = true;
}

void hy_sub_end(struct hy_graph *g, struct hy_sub *s)
{
	s->flags |= SUB_DEAD;
	if (!g->freeing) /* the cell may be dead, and have no count */
		hy_untargeted(g, s->cell);
	g->nsubs--;
	if (!(s->flags & SUB_STARTING)) /* else start() does it */
		hy_sub_bury(g, s);
}

void hy_sub_bury(struct hy_graph *g, struct hy_sub *s)
{
	s->next_dead = NULL;
	*g->dead_subs_end = s;
	g->dead_subs_end = &s->next_dead;
	g->left = true;
}

void hy_edge_unlink(struct hy_graph *g, struct hy_edge *e)
{
	struct hy_cell *input = e->input;

	hy_edge_take_out(g, e, input);
	hy_untargeted(g, input);
}

void hy_unlink_inputs(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	uint32_t count = hy_inputs(d);

	if (g->freeing)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct hy_cell *input = edges[i].input;

		if (!input)
			continue;
		if (d->cell.flags & F_IDLE) {
			hy_unpark(g, &edges[i]);
			continue;
		}
		hy_edge_unlink(g, &edges[i]);
		hy_cell_put(g, input);
	}
}

/* It is never computed again: what it made, and what it follows, goes. */
static void cut(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_derived *d = hy_derived_of(c);

	if (!(c->flags & F_DERIVED))
		return;
	if (d->op->reset && (d->op->above || d->op->flags & OP_DYNAMIC))
		d->op->reset(g, d);
	hy_unlink_inputs(g, d);
}

struct hy_cut hy_cut_begin(struct hy_graph *g)
{
	struct hy_cut from = {g->dead_cells_end, g->dead_subs_end, g->cutting};

	g->cutting = true;
	return from;
}

/*
 * A subscription that has died keeps its cell until it is freed.  Here it lets
 * go of one that is computed, unless a call of it is under way or the cell has
 * fired and its turn to call is to come.
 */
static void part(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_cell *c = s->cell;

	if (s->flags & (SUB_APART | SUB_CALLED) || g->calling == s ||
	    !(c->flags & F_DERIVED) || c->flags & (F_NEWS | F_GATHERED) ||
	    hy_derived_of(c)->op->caller)
		return;
	s->flags |= SUB_APART;
	hy_cell_put(g, c);
}

void hy_cut_end(struct hy_graph *g, struct hy_cut *from)
{
	struct hy_cell *c;
	struct hy_sub *s;

	for (;;) {
		if ((c = *from->dead)) {
			cut(g, c);
			from->dead = &c->next_dead;
		} else if ((s = *from->dead_subs)) {
			part(g, s);
			from->dead_subs = &s->next_dead;
		} else {
			break;
		}
	}
	g->cutting = from->inside;
}

static void sub_release(struct hy_graph *g, struct hy_sub *s)
{
	if (likely(!g->freeing))
		hy_sub_take_out(g, s);
	if (unlikely(s->flags & SUB_EXTRA))
		hy_extra_done(g, s);
	if (unlikely(s->drop != NULL)) /* or SUB_OWNS */
		hy_sub_drop(g, s);
	if (likely(!g->freeing && !(s->flags & SUB_APART)))
		hy_cell_put(g, s->cell);
	hy_slot_push(g, s, HY_CHUNK_SUBSCRIPTION);
}

HY_FRAME int hy_cell_vanish(struct hy_graph *g, struct hy_cell *c,
			    const char *op, uint64_t bytes,
			    enum hy_chunk_kind kind)
{
	hy_probe_cell_destroy(c, op, bytes, c->type, c->name);
	HY_FRAME_END();
	if (likely(kind)) {
		g->ncells--;
		hy_slot_push(g, c, kind);
	}
	return 0;
}

static void cell_release(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	uint32_t flags = c->flags;

	hy_cell_vanish(g, c, hy_op_name(c), hy_cell_bytes(c), 0);
	if (c->flags & F_DERIVED) {
		hy_unlink_inputs(g, hy_derived_of(c));
		if (hy_derived_of(c)->op->free)
			hy_derived_of(c)->op->free(g, hy_derived_of(c));
		if (c->flags & F_NARY)
			hy_fan_in_free(g, hy_derived_of(c));
	}
	if (unlikely(flags & (F_SIGNALS | F_LAZY | F_HOOKS | F_BOXED))) {
		g->nsignals -= (flags & F_SIGNALS) != 0;
		g->nlazy -= (flags & (F_LAZY | F_HOOKS)) != 0;
		if (flags & F_BOXED && c->word)
			hy_box_put(g, c->type, hy_box_of(c->word));
	}
	if (unlikely(flags & F_ERROR)) {
		hy_error_unref(hy_error_of(c));
		hy_error_put_in(c, NULL);
	}
	if (unlikely(cold != NULL)) {
		hy_box_free_spares(c);
		hy_owned_drop(g, cold->owned);
	}
	hy_label_free(hy_label_of(c));
	g->ncells--;
	hy_slot_free(g, c);
}

/* Nothing of the user's is called, and nothing else hangs on it. */
static bool calls_nothing(const struct hy_cell *c)
{
	const struct hy_cold *cold = hy_cold_of(c);
	uint32_t loud = F_BOXED | F_NARY | F_QUEUED | F_PENDING;

	if (c->refs != 1 || (cold && cold->owned))
		return false;
	if (c->flags & F_DERIVED) {
		const struct hy_op *op = hy_derived_of((struct hy_cell *)c)->op;

		if (op->free)
			return false;
		if (op->flags & OP_COUNTS) /* what it follows is all */
			loud &= ~(uint32_t)F_NARY;
	}
	return !(c->flags & loud);
}

void hy_cell_give_back(struct hy_graph *g, struct hy_cell *c)
{
	if (!hy_drained(g) && calls_nothing(c)) {
		c->refs = 0;
		hy_flags_set(c, F_DEAD, 0);
		cell_release(g, c);
	} else {
		hy_cell_put(g, c);
	}
}

void hy_sub_give_back(struct hy_graph *g, struct hy_sub *s)
{
	if (hy_drained(g) || s->flags || s->drop) {
		hy_sub_end(g, s);
		return;
	}
	hy_sub_take_out(g, s);
	hy_untargeted(g, s->cell);
	g->nsubs--;
	hy_cell_give_back(g, s->cell); /* it may have been the last */
	hy_slot_free(g, s);
}

void hy_reap(struct hy_graph *g)
{
	for (;;) {
		struct hy_sub *s = g->dead_subs;
		struct hy_cell *c = g->dead_cells;

		/*
		 * A drop function may have had cells settle that have yet to
		 * call their subscribers.
		 */
		if (unlikely(g->nfired) && !g->freeing)
			return;
		/*
		 * While drop functions run, another thread may make a cell
		 * that has to be computed again, and release it: not while it
		 * is queued.
		 */
		if (unlikely(hy_queue_used(&g->queue)) && !g->freeing)
			c = NULL;

		if (s) {
			g->dead_subs = s->next_dead;
			if (likely(!g->dead_subs))
				g->dead_subs_end = &g->dead_subs;
			sub_release(g, s);
		} else if (c) {
			g->dead_cells = c->next_dead;
			if (likely(!g->dead_cells))
				g->dead_cells_end = &g->dead_cells;
			cell_release(g, c);
		} else {
			return;
		}
	}
}
