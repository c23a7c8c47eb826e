/* SPDX-License-Identifier: MIT */
/*
 * Cells that are computed only while something follows them, and hooks that
 * tell of the first and the last follower.
 *
 * An idle cell follows nothing and holds nothing.  Its edges are *parked*:
 * they know the input and keep it, but are not in its list.
 */
#ifndef HY_LAZY_H
#define HY_LAZY_H

#include "core/types.h"

/* The first target came, or the last went, of a cell that cares. */
void hy_first_target(struct hy_graph *g, struct hy_cell *c);
void hy_last_target(struct hy_graph *g, struct hy_cell *c);

/* I3, kept: one target more, one less. */
static inline void hy_targeted(struct hy_graph *g, struct hy_cell *c)
{
	if (++c->targets == 1 && unlikely(c->flags & (F_LAZY | F_HOOKS)))
		hy_first_target(g, c);
}

static inline void hy_untargeted(struct hy_graph *g, struct hy_cell *c)
{
	if (--c->targets == 0 && unlikely(c->flags & (F_LAZY | F_HOOKS)))
		hy_last_target(g, c);
}

/*
 * Wake an idle cell because somebody is about to read it, who may follow it
 * then; if nobody does it goes idle again.  It is queued.
 */
void hy_wake_idle(struct hy_graph *g, struct hy_cell *c);

/* Room in the lists for one more cell with F_LAZY or F_HOOKS. */
bool hy_lazy_reserve(struct hy_graph *g);

/* Begin idle: park the edges of a new cell, whose inputs are filled in. */
void hy_park(struct hy_graph *g, struct hy_derived *d);
/* Give a parked input back. */
void hy_unpark(struct hy_graph *g, struct hy_edge *e);

/* The drainer has lazy cells go idle that nothing follows. */
void hy_quench(struct hy_graph *g);

/* The drainer sees to the last cell in graph->attention. */
void hy_attend(struct hy_graph *g);

#endif
