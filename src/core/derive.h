/* SPDX-License-Identifier: MIT */
/* Making derived cells: what all operators share. */
#ifndef HY_DERIVE_H
#define HY_DERIVE_H

#include "core/types.h"

/* The operators; to add one see ARCHITECTURE.md. */
extern const struct hy_op hy_op_map, hy_op_filter, hy_op_combine;

/*
 * A derived cell of `op` over `inputs`, computed for the first time.
 * `type` NULL: that of the first input.  Returns a handle, or NULL and errno.
 */
struct hyphae_cell *hy_derive(const struct hy_op *op,
			      struct hyphae_cell *const *inputs, size_t count,
			      const struct hyphae_type *type, void (*fn)(void),
			      void *ctx, const char *site);

static inline const char *hy_op_name(struct hy_cell *c)
{
	return c->flags & F_DERIVED ? hy_derived_of(c)->op->name : "source";
}

/* What the cell occupies, without its name and what it owns. */
uint64_t hy_cell_bytes(struct hy_cell *c);

/* The parts of a new cell that sources and derived cells share. */
void hy_cell_init(struct hy_graph *g, struct hy_cell *c,
		  const struct hyphae_type *type, const char *site);
/* Probe, count and hand out. */
struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c);

#endif
