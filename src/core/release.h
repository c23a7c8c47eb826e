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

/* Take a linked edge out of its input's list; the reference is left over. */
void hy_edge_unlink(struct hy_graph *g, struct hy_edge *e);

/* Let go of all inputs: of a cell that ended, or that is released. */
void hy_unlink_inputs(struct hy_graph *g, struct hy_derived *d);

/*
 * What dies from the beginning to the end, in a wave, lets go of what it
 * follows and made at the end, and what dies by that, too, instead of when it
 * is freed: none of it is computed any more.  A loop, as for releasing.
 */
struct hy_cut {
	struct hy_cell **dead; /* what died before ends here */
	size_t attention;      /* likewise, lazy cells that lost a follower */
};
struct hy_cut hy_cut_begin(struct hy_graph *g);
void hy_cut_end(struct hy_graph *g, struct hy_cut *from);

/* As the drainer, between waves; stops when there is something to compute. */
void hy_reap(struct hy_graph *g);

static inline bool hy_has_dead(const struct hy_graph *g)
{
	return g->dead_cells || g->dead_subs;
}

#endif
