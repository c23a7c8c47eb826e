/* SPDX-License-Identifier: MIT */
/* Slots for cells and subscriptions, ids, and the graphs of the process. */
#ifndef HY_SLAB_H
#define HY_SLAB_H

#include "core/types.h"
#include "probes/abi.h"

/*
 * A zeroed slot that has no id yet, or NULL.
 * The graph's lock is held.
 */
void *hy_slot_new(struct hy_graph *graph, enum hy_chunk_kind kind);
void hy_slot_free(struct hy_graph *graph, void *slot);

/* Give all chunks back to the process; all slots must be free or forgotten. */
void hy_slots_done(struct hy_graph *graph);

/* An id that nothing else in the process has; never 16 low zero bits. */
uint64_t hy_id_new_slowly(struct hy_graph *graph);

static inline uint64_t hy_id_new(struct hy_graph *graph)
{
	uint64_t id = graph->id_next;

	if (unlikely(id == graph->id_end || !(id & 0xffff)))
		return hy_id_new_slowly(graph);
	graph->id_next = id + 1;
	return id;
}

/* `count` pass ids in a row that nobody else has; the first of them. */
uint64_t hy_pass_ids(uint64_t count);

static inline uint64_t hy_pass_new(struct hy_graph *graph)
{
	if (unlikely(graph->pass_next == graph->pass_end)) {
		graph->pass_next = hy_pass_ids(1 << 20);
		graph->pass_end = graph->pass_next + (1 << 20);
	}
	return graph->pass_next++;
}

/* A zeroed graph, or NULL; like slots, its memory never becomes else. */
struct hy_graph *hy_graph_take(void);
void hy_graph_give(struct hy_graph *graph);

/* The list of all graphs, for tools that look in. */
extern struct hy_graph *hy_graphs;
void hy_graphs_add(struct hy_graph *graph);
void hy_graphs_remove(struct hy_graph *graph);

#endif
