/* SPDX-License-Identifier: MIT */
/* Slots for cells and subscriptions, ids, and the graphs of the process. */
#ifndef HY_SLAB_H
#define HY_SLAB_H

#include "core/poison.h"
#include "core/types.h"
#include "probes/abi.h"

/*
 * A slot that has no id yet, or NULL.  It is zeroed, but that of a cell: that
 * has no followers, no subscribers and no error, and whatever else was there.
 * The graph's lock is held.
 */
void *hy_slot_new(struct hy_graph *graph, enum hy_chunk_kind kind);
void hy_slot_free(struct hy_graph *graph, void *slot);

/* See to it that there is a free one; false: no memory, or the graph goes. */
bool hy_slot_open(struct hy_graph *graph, enum hy_chunk_kind kind);

/* The first of the free ones, as it lies there.  There is one. */
static inline void *hy_slot_pop(struct hy_graph *graph, enum hy_chunk_kind kind)
{
	uint64_t *slot = graph->free_slots[kind];

	graph->free_slots[kind] = (void *)(uintptr_t)slot[1];
	hy_slot_unpoison(slot);
	return slot;
}

static inline void hy_slot_push(struct hy_graph *graph, void *slot,
				enum hy_chunk_kind kind)
{
	uint64_t *words = slot;

	store_relaxed(&words[0], 0);
	store_relaxed(&words[1], (uintptr_t)graph->free_slots[kind]);
	graph->free_slots[kind] = slot;
	hy_slot_poison(slot, kind);
}

/* Give all chunks back to the process; all slots must be free or forgotten. */
void hy_slots_done(struct hy_graph *graph);

/* The next ids, when those in stock are used up. */
void hy_ids_fetch(struct hy_graph *graph);

static inline bool hy_has_id(const struct hy_graph *graph)
{
	return likely(graph->id_next != graph->id_end);
}

/* The next of them; there is one. */
static inline uint64_t hy_id_take(struct hy_graph *graph)
{
	return graph->id_next++;
}

/* An id that nothing else in the process has; never 16 low zero bits. */
static inline uint64_t hy_id_new(struct hy_graph *graph)
{
	if (unlikely(!hy_has_id(graph)))
		hy_ids_fetch(graph);
	return hy_id_take(graph);
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
