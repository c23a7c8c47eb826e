/* SPDX-License-Identifier: MIT */
/* Walking over cells while the graph lives on. */
#ifndef HY_ITERATE_H
#define HY_ITERATE_H

#include "core/sync.h"

/*
 * Between these the graph is not freed, so its chunks can be walked: they are
 * only ever put in front of the first.  The lock is held.
 */
static inline struct hy_chunk *hy_walk_begin(struct hy_graph *g)
{
	g->walking++;
	return g->chunks;
}

static inline void hy_walk_end(struct hy_graph *g)
{
	g->walking--;
}

/*
 * The type of cells that the library made for itself and that walks do not
 * show: who follows such a cell, as a bridge of it does that is crossed
 * because of what crosses, keeps the graph busy for ever.
 */
extern const struct hyphae_type hy_hidden_type;

static inline bool hy_has_cells(const struct hy_chunk *chunk)
{
	return chunk->kind == HY_CHUNK_SOURCE ||
	       chunk->kind == HY_CHUNK_DERIVED;
}

static inline void *hy_slot_at(struct hy_chunk *chunk, uint32_t at)
{
	return (char *)chunk + HY_CHUNK_HEADER + (size_t)at * chunk->slot_bytes;
}

#endif
