/* SPDX-License-Identifier: MIT */
/* What sources and derived cells have in common when they are made. */
#ifndef HY_NODE_H
#define HY_NODE_H

#include "core/types.h"

static inline const char *hy_op_name(struct hy_cell *c)
{
	return c->flags & F_DERIVED ? hy_derived_of(c)->op->name : "source";
}

/* What the cell occupies, without its name and what it owns. */
uint64_t hy_cell_bytes(struct hy_cell *c);

/* A slot of one of the kinds of cells, or NULL: no memory. */
void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind);

/* Fill in the parts that both kinds have; nobody knows the cell yet. */
void hy_cell_init(struct hy_graph *g, struct hy_cell *c,
		  const struct hyphae_type *type, const char *site);

/*
 * Give it an id, put it into the scope, tell the probe, hand it out.  Its
 * reference is the user's, or the scope's.
 */
struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden);

#endif
