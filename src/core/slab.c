/* SPDX-License-Identifier: MIT */
/*
 * Slots lie in chunks of 64 KiB, aligned to their size, cut from pages that
 * are never given back to the system and never change their kind: so a stale
 * handle can be looked at (types.h), and so can a chunk from outside while
 * the process runs.  Chunks of a freed graph are used by the next one.
 * Those of a graph with storage of its own lie there, and stay there.
 */
#include "core/slab.h"

#include <string.h>

#include "base/alloc.h"
#include "core/label.h"
#include "core/storage.h"
#include "time/alarm.h"

#define REGION_CHUNKS 16

struct hy_graph *hy_graphs;

/* Protects what follows; nothing is called while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hy_chunk *free_chunks[HY_KINDS];
static char *region, *region_end;
static uint64_t next_id = 1;
static uint64_t next_pass = 1;

static const uint32_t slot_bytes[HY_KINDS] = {
	[HY_CHUNK_SOURCE] = sizeof(struct hy_cell),
	[HY_CHUNK_DERIVED] = sizeof(struct hy_derived),
	[HY_CHUNK_SUBSCRIPTION] = sizeof(struct hy_sub),
	[HY_CHUNK_SCOPE] = 64,
	[HY_CHUNK_TIMER] = sizeof(struct hy_alarm),
	[HY_CHUNK_INPUTS] = HY_SMALL_INPUTS,
};

/* With what lies beside the slots. */
#define SOURCE_BYTES (sizeof(struct hy_cell) + sizeof(uint32_t))
#define DERIVED_BYTES                                                          \
	(sizeof(struct hy_derived) + sizeof(struct hy_error *) +               \
	 sizeof(uint32_t))

#define FIT(bytes) ((HY_CHUNK_BYTES - HY_CHUNK_HEADER) / (bytes))
_Static_assert(HYPHAE_CHUNK_BYTES == HY_CHUNK_BYTES, "memory.h says so");
_Static_assert(FIT(SOURCE_BYTES) >= HYPHAE_CHUNK_SOURCES &&
		       FIT(DERIVED_BYTES) >= HYPHAE_CHUNK_DERIVED &&
		       FIT(sizeof(struct hy_sub)) >=
			       HYPHAE_CHUNK_SUBSCRIPTIONS &&
		       FIT(64) >= HYPHAE_CHUNK_SCOPES,
	       "memory.h promises so many");

_Static_assert((sizeof(struct hy_cell) & (sizeof(struct hy_cell) - 1)) == 0 &&
		       (sizeof(struct hy_derived) &
			(sizeof(struct hy_derived) - 1)) == 0,
	       "slots are a power of two, for hy_place_of()");

static bool has_cells(enum hy_chunk_kind kind)
{
	return kind == HY_CHUNK_SOURCE || kind == HY_CHUNK_DERIVED;
}

static void chunk_init(struct hy_chunk *chunk, enum hy_chunk_kind kind)
{
	uint32_t at;

	chunk->kind = kind;
	chunk->slot_bytes = slot_bytes[kind];
	if (!has_cells(kind)) {
		chunk->slots = (uint32_t)FIT(slot_bytes[kind]);
		return;
	}
	chunk->slots = kind == HY_CHUNK_SOURCE ? FIT(SOURCE_BYTES)
					       : FIT(DERIVED_BYTES);
	chunk->slot_shift = (uint32_t)__builtin_ctz(chunk->slot_bytes);
	at = HY_CHUNK_HEADER + chunk->slots * chunk->slot_bytes;
	if (kind == HY_CHUNK_DERIVED) {
		chunk->errors_at = at;
		at += chunk->slots * (uint32_t)sizeof(struct hy_error *);
	}
	chunk->users_at = at;
}

/* From the pages of the process. */
static struct hy_chunk *chunk_of_process(enum hy_chunk_kind kind)
{
	struct hy_chunk *chunk;

	pthread_mutex_lock(&lock);
	chunk = free_chunks[kind];
	if (chunk) {
		free_chunks[kind] = chunk->next;
	} else {
		if (region == region_end) {
			size_t size = REGION_CHUNKS * HY_CHUNK_BYTES;

			region = hy_pages(size, HY_CHUNK_BYTES);
			region_end = region ? region + size : NULL;
		}
		if (region) {
			chunk = (struct hy_chunk *)region;
			region += HY_CHUNK_BYTES;
			chunk_init(chunk, kind);
		}
	}
	pthread_mutex_unlock(&lock);
	return chunk;
}

static struct hy_chunk *chunk_take(struct hy_graph *graph,
				   enum hy_chunk_kind kind)
{
	struct hy_chunk *chunk;
	bool fresh;

	if (!graph->region)
		return chunk_of_process(kind);
	chunk = hy_storage_chunk(graph, kind, &fresh);
	if (!chunk && graph->region->spill) {
		__atomic_add_fetch(&graph->region->spilled, 1,
				   __ATOMIC_RELAXED);
		return chunk_of_process(kind);
	}
	if (chunk && fresh)
		chunk_init(chunk, kind);
	return chunk;
}

static bool chunk_add(struct hy_graph *graph, enum hy_chunk_kind kind)
{
	struct hy_chunk *chunk = chunk_take(graph, kind);

	if (!chunk)
		return false;
	store_relaxed(&chunk->graph, graph);
	/* A recycled chunk keeps its ids, all 0, and starts over. */
	store_relaxed(&chunk->used, 0);
	chunk->next = graph->chunks;
	store_release(&graph->chunks, chunk);
	graph->open_chunk[kind] = chunk;
	return true;
}

/* One that was never used; NULL: no memory. */
static NOINLINE uint64_t *slot_open(struct hy_graph *graph,
				    enum hy_chunk_kind kind)
{
	struct hy_chunk *chunk = graph->open_chunk[kind];
	uint64_t *slot;

	if (!chunk || chunk->used == chunk->slots) {
		if (!chunk_add(graph, kind))
			return NULL;
		chunk = graph->open_chunk[kind];
	}
	slot = (uint64_t *)((char *)chunk + HY_CHUNK_HEADER +
			    (size_t)chunk->used * chunk->slot_bytes);
	store_release(&chunk->used, chunk->used + 1);
	return slot;
}

/* One that is free, as it is; NULL: no memory, or the graph goes. */
static inline uint64_t *slot_take(struct hy_graph *graph,
				  enum hy_chunk_kind kind)
{
	uint64_t *slot = graph->free_slots[kind];

	if (unlikely(graph->freeing))
		return NULL;
	if (unlikely(!slot))
		return slot_open(graph, kind);
	graph->free_slots[kind] = (void *)(uintptr_t)slot[1];
	return slot;
}

/*
 * Who has a stale handle may be looking, and follow the type: the old one
 * stays until the slot has a new one.
 */
static inline void clear_cell(struct hy_cell *c)
{
	store_relaxed(&c->name, NULL);
	store_relaxed(&c->word, 0);
	store_relaxed(&c->deps, NULL);
	store_relaxed(&c->subs, NULL);
	store_relaxed(&c->next_dead, NULL);
	store_relaxed(&c->height, 0);
	store_relaxed(&c->flags, 0);
}

void *hy_slot_new(struct hy_graph *graph, enum hy_chunk_kind kind)
{
	uint64_t *slot = slot_take(graph, kind);
	struct hy_derived *d = (struct hy_derived *)slot;
	struct hy_sub *s = (struct hy_sub *)slot;

	if (unlikely(!slot))
		return NULL;
	switch (kind) {
	case HY_CHUNK_DERIVED:
		*hy_error_place(d) = NULL;
		memset(&d->cell + 1, 0, sizeof(*d) - sizeof(d->cell));
		clear_cell(&d->cell);
		break;
	case HY_CHUNK_SOURCE:
		clear_cell((struct hy_cell *)slot);
		break;
	case HY_CHUNK_SUBSCRIPTION:
		memset(&s->id + 1, 0, sizeof(*s) - sizeof(s->id));
		break;
	case HY_CHUNK_INPUTS:
		memset(slot + 1, 0, HY_SMALL_INPUTS - sizeof(*slot));
		break;
	default:
		memset(slot + 1, 0, slot_bytes[kind] - sizeof(*slot));
	}
	return slot;
}

void hy_slot_free(struct hy_graph *graph, void *slot)
{
	uint64_t *words = slot;
	uint32_t kind = hy_chunk_of(slot)->kind;

	store_relaxed(&words[0], 0);
	words[1] = (uintptr_t)graph->free_slots[kind];
	graph->free_slots[kind] = slot;
}

void hy_slots_done(struct hy_graph *graph)
{
	struct hy_chunk *chunk = graph->chunks, *next;

	pthread_mutex_lock(&lock);
	for (; chunk; chunk = next) {
		next = chunk->next;
		for (uint32_t i = 0; i < chunk->used; i++)
			store_relaxed(
				(uint64_t *)((char *)chunk + HY_CHUNK_HEADER +
					     (size_t)i * chunk->slot_bytes),
				0);
		/* It stays: who has a stale handle may just be looking. */
		if (hy_storage_keep(graph, chunk))
			continue;
		chunk->next = free_chunks[chunk->kind];
		free_chunks[chunk->kind] = chunk;
	}
	pthread_mutex_unlock(&lock);
	graph->chunks = NULL;
}

#define ID_BLOCK 256

uint64_t hy_id_new_slowly(struct hy_graph *graph)
{
	uint64_t id;

	if (graph->id_next == graph->id_end) {
		graph->id_next = __atomic_fetch_add(&next_id, ID_BLOCK,
						    __ATOMIC_RELAXED);
		graph->id_end = graph->id_next + ID_BLOCK;
	}
	id = graph->id_next++;
	return id & 0xffff ? id : hy_id_new(graph);
}

uint64_t hy_pass_ids(uint64_t count)
{
	return __atomic_fetch_add(&next_pass, count, __ATOMIC_RELAXED);
}

#define REGION_GRAPHS 64

static struct hy_graph *free_graphs; /* linked by list_next */

struct hy_graph *hy_graph_take(void)
{
	size_t size = REGION_GRAPHS * sizeof(struct hy_graph);
	struct hy_graph *graph;

	pthread_mutex_lock(&lock);
	if (!free_graphs) {
		/* Ids are 0 in fresh pages. */
		struct hy_graph *graphs =
			hy_pages((size + 4095) & ~4095ul, 4096);

		for (size_t i = 0; graphs && i < REGION_GRAPHS; i++) {
			graphs[i].list_next = free_graphs;
			free_graphs = &graphs[i];
		}
	}
	graph = free_graphs;
	if (graph)
		free_graphs = graph->list_next;
	pthread_mutex_unlock(&lock);
	if (graph)
		memset(&graph->id + 1, 0, sizeof(*graph) - sizeof(graph->id));
	return graph;
}

void hy_graph_give(struct hy_graph *graph)
{
	if (graph->region) {
		hy_storage_close(graph);
		return;
	}
	store_release(&graph->id, 0);
	pthread_mutex_lock(&lock);
	graph->list_next = free_graphs;
	free_graphs = graph;
	pthread_mutex_unlock(&lock);
}

void hy_graphs_add(struct hy_graph *graph)
{
	pthread_mutex_lock(&lock);
	graph->list_next = hy_graphs;
	graph->list_prev = NULL;
	if (hy_graphs)
		hy_graphs->list_prev = graph;
	store_release(&hy_graphs, graph);
	pthread_mutex_unlock(&lock);
}

void hy_graphs_remove(struct hy_graph *graph)
{
	pthread_mutex_lock(&lock);
	if (graph->list_prev)
		store_release(&graph->list_prev->list_next, graph->list_next);
	else
		store_release(&hy_graphs, graph->list_next);
	if (graph->list_next)
		graph->list_next->list_prev = graph->list_prev;
	pthread_mutex_unlock(&lock);
}
