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
static uint64_t next_id;
static uint64_t next_pass = 1;

static const uint32_t slot_bytes[HY_KINDS] = {
	[HY_CHUNK_SOURCE] = sizeof(struct hy_cell),
	[HY_CHUNK_DERIVED] = sizeof(struct hy_derived),
	[HY_CHUNK_SUBSCRIPTION] = sizeof(struct hy_sub),
	[HY_CHUNK_SCOPE] = 64,
	[HY_CHUNK_TIMER] = sizeof(struct hy_alarm),
	[HY_CHUNK_INPUTS] = HY_SMALL_INPUTS,
};

#define FIT HY_CHUNK_FIT
_Static_assert(HYPHAE_CHUNK_BYTES == HY_CHUNK_BYTES, "memory.h says so");
_Static_assert(FIT(HY_SOURCE_BYTES) >= HYPHAE_CHUNK_SOURCES &&
		       FIT(HY_DERIVED_BYTES) >= HYPHAE_CHUNK_DERIVED &&
		       FIT(sizeof(struct hy_sub)) >=
			       HYPHAE_CHUNK_SUBSCRIPTIONS &&
		       FIT(64) >= HYPHAE_CHUNK_SCOPES,
	       "memory.h promises so many");

static void chunk_init(struct hy_chunk *chunk, enum hy_chunk_kind kind)
{
	chunk->kind = kind;
	chunk->slot_bytes = slot_bytes[kind];
	if (kind == HY_CHUNK_SOURCE) {
		chunk->slots = FIT(HY_SOURCE_BYTES);
		chunk->slot_shift = HY_SOURCE_SHIFT;
		chunk->users_at = HY_SOURCE_USERS;
	} else if (kind == HY_CHUNK_DERIVED) {
		chunk->slots = FIT(HY_DERIVED_BYTES);
		chunk->slot_shift = HY_DERIVED_SHIFT;
		chunk->users_at = HY_DERIVED_USERS;
	} else {
		chunk->slots = (uint32_t)FIT(slot_bytes[kind]);
	}
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

/*
 * As a free slot is: what lies there may be of a graph that has gone.  The
 * type stays until the slot has a new one, for who has a stale handle may be
 * looking, and follow it.
 */
static void slot_clear(void *slot, enum hy_chunk_kind kind)
{
	struct hy_derived *d = slot;
	struct hy_cell *c = slot;

	if (kind != HY_CHUNK_SOURCE && kind != HY_CHUNK_DERIVED)
		return;
	store_relaxed(&c->deps, NULL);
	store_relaxed(&c->subs, NULL);
	if (kind == HY_CHUNK_DERIVED)
		d->held = 0;
}

/* So many at once, so that most are there when they are wanted. */
#define OPENED 16

bool hy_slot_open(struct hy_graph *graph, enum hy_chunk_kind kind)
{
	struct hy_chunk *chunk = graph->open_chunk[kind];
	uint32_t end;

	if (unlikely(graph->freeing))
		return false;
	if (graph->free_slots[kind])
		return true;
	if (!chunk || chunk->used == chunk->slots) {
		if (!chunk_add(graph, kind))
			return false;
		chunk = graph->open_chunk[kind];
	}
	end = chunk->slots - chunk->used < OPENED ? chunk->slots
						  : chunk->used + OPENED;
	/* The first of them is to be taken first. */
	for (uint32_t i = end; i-- > chunk->used;) {
		char *slot = (char *)chunk + HY_CHUNK_HEADER +
			     (size_t)i * chunk->slot_bytes;

		hy_slot_unpoison(slot); /* a recycled one */
		slot_clear(slot, kind);
		hy_slot_push(graph, slot, kind);
	}
	store_release(&chunk->used, end);
	return true;
}

void *hy_slot_new(struct hy_graph *graph, enum hy_chunk_kind kind)
{
	uint64_t *slot;

	if (unlikely(!graph->free_slots[kind] || graph->freeing) &&
	    !hy_slot_open(graph, kind))
		return NULL;
	slot = hy_slot_pop(graph, kind);
	switch (kind) {
	case HY_CHUNK_SOURCE:
	case HY_CHUNK_DERIVED:
		break; /* hy_cell_slot() fills it */
	case HY_CHUNK_SUBSCRIPTION:
		memset(slot + 1, 0, sizeof(struct hy_sub) - sizeof(*slot));
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
	hy_slot_push(graph, slot, hy_chunk_of(slot)->kind);
}

/*
 * The ids are 0 then.  Nothing else of it may be touched, unless it is the
 * caller's memory, of which nobody knows what it is used for.
 */
static void slots_forget(struct hy_chunk *chunk, bool of_process)
{
	for (uint32_t i = 0; i < chunk->used; i++) {
		char *slot = (char *)chunk + HY_CHUNK_HEADER +
			     (size_t)i * chunk->slot_bytes;

		store_relaxed((uint64_t *)slot, 0);
		if (of_process)
			hy_slot_poison(slot, chunk->kind);
		else
			hy_slot_unpoison(slot);
	}
}

void hy_slots_done(struct hy_graph *graph)
{
	struct hy_chunk *chunk = graph->chunks, *next;

	pthread_mutex_lock(&lock);
	for (; chunk; chunk = next) {
		bool kept;

		next = chunk->next;
		/* It stays: who has a stale handle may just be looking. */
		kept = hy_storage_keep(graph, chunk);
		slots_forget(chunk, !kept);
		if (kept)
			continue;
		chunk->next = free_chunks[chunk->kind];
		free_chunks[chunk->kind] = chunk;
	}
	pthread_mutex_unlock(&lock);
	graph->chunks = NULL;
}

#define ID_BLOCK 256
_Static_assert(0x10000 % ID_BLOCK == 0, "16 low zero bits begin a block");

void hy_ids_fetch(struct hy_graph *graph)
{
	uint64_t id = __atomic_fetch_add(&next_id, ID_BLOCK, __ATOMIC_RELAXED);

	graph->id_end = id + ID_BLOCK;
	graph->id_next = id & 0xffff ? id : id + 1;
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
