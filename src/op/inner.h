/* SPDX-License-Identifier: MIT */
/* What cells of cells share: the inner cells that functions of users give. */
#ifndef HY_INNER_H
#define HY_INNER_H

#include "core/derive.h"
#include "core/lazy.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/wave.h"

/* What one call of the user's function gave. */
struct hy_inner {
	struct hyphae_scope *scope; /* of what it made; may be stale */
	struct hy_cell *cell;	    /* held; NULL: nothing */
	int64_t number;		    /* of the call: the least is the oldest */
	bool waits;		    /* for its turn, in a merge_map */
	bool over;		    /* when it was linked: hy_inner_is_over() */
};

typedef struct hyphae_cell *(*hy_make_fn)(void *call);

/* Call make(call); what it makes lies above `height`.  0 or a negative errno. */
int hy_inner_make(struct hy_graph *g, struct hy_inner *inner, hy_make_fn make,
		  void *call, uint32_t height, const struct hyphae_type *type);
/* Let go of the cell, and of what was made for it; there may be neither. */
void hy_inner_drop(struct hy_graph *g, struct hy_inner *inner);

/*
 * The cell is about to follow an inner that is not idle: what that emits in
 * this wave, as an event, is over, whichever of the two is computed first.  So
 * if the cell is computed again after the inner (hy_must_settle()), it misses
 * what input i has brought by then; but for an error, which stands.
 */
static inline bool hy_inner_is_over(const struct hy_cell *inner)
{
	return inner->flags & F_EVENT && !(inner->flags & F_IDLE);
}
void hy_inner_miss(struct hy_derived *d, uint32_t i);

/* What input i holds is told. */
int hy_inner_say(struct hy_graph *g, struct hy_derived *d, uint32_t i,
		 void *out);
/* Input i has brought something, or has ended: what to tell of it. */
int hy_inner_hear(struct hy_graph *g, struct hy_derived *d, uint32_t i,
		  void *out);

#endif
