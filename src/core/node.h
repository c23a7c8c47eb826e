/* SPDX-License-Identifier: MIT */
/* What sources and derived cells have in common when they are made. */
#ifndef HY_NODE_H
#define HY_NODE_H

#include "core/types.h"

static inline const char *hy_op_name(struct hy_cell *c)
{
	return c->flags & F_DERIVED ? hy_derived_of(c)->op->name : "source";
}

/* What each cell has: its slot, and its places beside the slots. */
static inline size_t hy_slot_bytes(bool derived)
{
	return sizeof(uint32_t) +
	       (derived ? sizeof(struct hy_derived) + sizeof(struct hy_error *)
			: sizeof(struct hy_cell));
}

/* What the cell occupies, without its name, cold part and what it owns. */
uint64_t hy_cell_bytes(struct hy_cell *c);

/*
 * A slot of one of the kinds of cells with what both have, or NULL: no memory.
 * Nobody knows the cell yet.
 */
void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind,
		   const struct hyphae_type *type, const char *site);

/*
 * Give it an id, put it into the scope, tell the probe, hand it out.  Its
 * reference is the user's, or the scope's.
 */
struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden);

#endif
