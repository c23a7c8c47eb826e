/* SPDX-License-Identifier: MIT */
/*
 * A graph that lives in memory of the caller (include/hyphae/memory.h).
 *
 * At the end of it lies a struct hy_storage with the graph itself; from the
 * front chunks are cut, and what else the graph needs is taken from below the
 * struct (base/region.h).  When the graph is freed, the chunks stay what they
 * are, for the next graph in the same storage.
 */
#ifndef HY_STORAGE_H
#define HY_STORAGE_H

#include "base/region.h"
#include "core/types.h"

/*
 * A zeroed graph (but for its region) in the storage.  0, -EINVAL, -EBUSY or
 * -ENOMEM; see hyphae_graph_new_with().
 */
int hy_storage_open(void *memory, size_t bytes, bool spill,
		    struct hy_graph **ret_graph);

/* The graph has gone; its id is 0. */
void hy_storage_close(struct hy_graph *graph);

/*
 * A chunk for the graph, which has storage: one of this kind from before, or a
 * new one, zeroed (*ret_fresh); NULL: used up.  The graph's lock is held.
 */
struct hy_chunk *hy_storage_chunk(struct hy_graph *graph,
				  enum hy_chunk_kind kind, bool *ret_fresh);

/* Take the chunk back if it is of the graph's storage. */
bool hy_storage_keep(struct hy_graph *graph, struct hy_chunk *chunk);

/* How many bytes the caller gave, and how many were never touched. */
void hy_storage_sizes(struct hy_graph *graph, size_t *ret_bytes,
		      size_t *ret_unused);

#endif
