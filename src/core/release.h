/* SPDX-License-Identifier: MIT */
/*
 * The end of cells and subscriptions.
 *
 * What loses its last reference, or is unsubscribed, is marked dead and put
 * on the graph's list; hy_reap() takes the list apart.  So releasing a chain
 * of any length is a loop, nothing is freed under the feet of a wave (I6),
 * and the user's drop functions run without the lock.
 */
#ifndef HY_RELEASE_H
#define HY_RELEASE_H

#include "core/node.h"
#include "core/types.h"

/* With the lock held. */
void hy_cell_put(struct hy_graph *g, struct hy_cell *c);
/* The user's reference: at once if nobody propagates and nothing is called. */
void hy_cell_give_back(struct hy_graph *g, struct hy_cell *c);

/*
 * References of hyphae's own, by handle; these take the lock.  Users cannot
 * give them back, whatever they do.  hy_cell_keep(): one more, NULL if the
 * cell is gone.  hy_cell_adopt(): the one that a constructor has just returned.
 */
struct hyphae_cell *hy_cell_keep(struct hyphae_cell *cell);
struct hyphae_cell *hy_weak_keep(struct hyphae_weak weak);
void hy_cell_adopt(struct hyphae_cell *cell);
void hy_cell_unkeep(struct hyphae_cell *cell);

/*
 * Give back what a constructor has just returned, on the same thread: also if
 * it was made in a scope, which has it no longer then.
 */
void hy_cell_undo(struct hyphae_cell *cell);

void hy_sub_end(struct hy_graph *g, struct hy_sub *s);
/* The same; at once if nobody propagates and nothing of the user's is called. */
void hy_sub_give_back(struct hy_graph *g, struct hy_sub *s);
void hy_sub_bury(struct hy_graph *g, struct hy_sub *s);

/* Take a linked edge out of the list of `input`, which is its input. */
static inline void hy_edge_take_out(struct hy_graph *g, struct hy_edge *e,
				    struct hy_cell *input)
{
	struct hy_edge *next = e->next, *prev = e->prev;

	if (unlikely(next != NULL))
		next->prev = prev;
	else
		input->deps->prev = prev; /* e was the tail (I1) */
	if (likely(input->deps == e))
		input->deps = next;
	else
		prev->next = next;
	e->input = NULL;
	g->nedges--;
}

/* The same, and the input knows; the reference is left over. */
void hy_edge_unlink(struct hy_graph *g, struct hy_edge *e);

/* Let go of all inputs: of a cell that ended, or that is released. */
void hy_unlink_inputs(struct hy_graph *g, struct hy_derived *d);

/*
 * What dies from the beginning to the end, in a wave, lets go of what it
 * follows and made at the end, and what dies by that, too, instead of when it
 * is freed: none of it is computed any more.  Nor is what is lazy and only
 * waits to go idle: that dies as well; or what only a subscription keeps that
 * died with it.  A loop, as for releasing.
 */
struct hy_cut {
	struct hy_cell **dead; /* what died before ends here */
	struct hy_sub **dead_subs;
	bool inside; /* of another one */
};
struct hy_cut hy_cut_begin(struct hy_graph *g);
void hy_cut_end(struct hy_graph *g, struct hy_cut *from);

/* As the drainer, between waves; stops when there is something to compute. */
void hy_reap(struct hy_graph *g);

/* ---- the short way -------------------------------------------------------- */

/* What sees to more than the cell's slot, or to another cell. */
#define F_LOUD                                                                 \
	(F_DEAD | F_BOXED | F_NARY | F_ERROR | F_QUEUED | F_PENDING |          \
	 F_SIGNALS | F_LAZY | F_HOOKS)

/* It has one input, which stays, and does not mind. */
static inline bool hy_leaves_quietly(const struct hy_derived *d)
{
	const struct hy_cell *input = d->one.input;

	return likely(!d->op->free) && likely(input != NULL) &&
	       likely(input->refs > 1) &&
	       likely(!(input->flags & (F_DEAD | F_LAZY | F_HOOKS)));
}

/*
 * There is one reference, nobody propagates, and nothing has to be given up
 * but the slot and, of a derived cell, the place in the input's list.
 */
static ALWAYS_INLINE bool hy_goes_quietly(const struct hy_graph *g,
					  const struct hy_cell *c)
{
	return !unlikely(g->busy & (BUSY_SHARED | BUSY_DRAINING)) &&
	       !unlikely(c->flags & F_LOUD) && likely(c->refs == 1) &&
	       hy_label_is_shared(hy_label_of(c));
}

/*
 * The probe, and then, unless `kind` is 0, the slot: nothing else is left of
 * the cell.  Returns 0.
 */
int hy_cell_vanish(struct hy_graph *g, struct hy_cell *c, const char *op,
		   uint64_t bytes, enum hy_chunk_kind kind);

/* They go quietly: let them.  Both return 0. */
static ALWAYS_INLINE int hy_source_go(struct hy_graph *g, struct hy_cell *c)
{
	return hy_cell_vanish(g, c, hy_source_name, hy_slot_bytes(false),
			      HY_CHUNK_SOURCE);
}

static ALWAYS_INLINE int hy_derived_go(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *input = d->one.input;

	hy_edge_take_out(g, &d->one, input);
	/* One by one: they are read so, too. */
	store_relaxed(&input->targets, input->targets - 1);
	input->refs--;
	return hy_cell_vanish(g, &d->cell, d->op->name, hy_slot_bytes(true),
			      HY_CHUNK_DERIVED);
}

/* Take it out of its cell's list. */
static inline void hy_sub_take_out(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_sub *next = s->next, *prev = s->prev;
	struct hy_cell *c = s->cell;

	if (next)
		next->prev = prev;
	else
		c->subs->prev = prev;
	if (c->subs != s)
		prev->next = next;
	else if (!(c->subs = next))
		g->nsubscribed--;
}

/* Nothing of the user's is called, and the cell stays and does not mind. */
static inline bool hy_sub_goes_quietly(const struct hy_sub *s)
{
	return likely(!s->flags && !s->drop) &&
	       !unlikely(s->cell->flags & (F_DEAD | F_LAZY | F_HOOKS)) &&
	       likely(s->cell->refs > 1);
}

/* And nobody propagates: let it. */
static ALWAYS_INLINE void hy_sub_go(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_cell *c = s->cell;

	hy_sub_take_out(g, s);
	store_relaxed(&c->targets, c->targets - 1);
	c->refs--;
	g->nsubs--;
	hy_slot_push(g, s, HY_CHUNK_SUBSCRIPTION);
}

static inline bool hy_has_dead(const struct hy_graph *g)
{
	return g->dead_cells || g->dead_subs;
}

#endif
