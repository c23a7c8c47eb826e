/* SPDX-License-Identifier: MIT */
/*
 * What the user hands to an object, to be dropped with it.
 *
 * A list of struct hy_owned, last first.  One of them may be the object's data
 * (hyphae_cell_set_data() and its kin), and one a block that only stands for
 * the object on the heap (HYPHAE_HEAP_CELLS).
 */
#ifndef HY_DATA_H
#define HY_DATA_H

#include "core/sync.h"

/*
 * Drop all of the list; its owner has forgotten it.  The lock is held, and
 * let go of while the user's functions run.
 */
void hy_owned_drop(struct hy_graph *g, struct hy_owned *owned);

/* A block on the heap, if the graph wants that; false: no memory. */
bool hy_heap_sub_own(struct hy_graph *g, struct hy_sub *s);

static inline bool hy_heap_sub(struct hy_graph *g, struct hy_sub *s)
{
	return likely(!(g->flags & HYPHAE_HEAP_CELLS)) || hy_heap_sub_own(g, s);
}

/* The context of a subscription that is over, and what it owns. */
void hy_sub_drop(struct hy_graph *g, struct hy_sub *s);

#endif
