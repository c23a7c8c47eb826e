/* SPDX-License-Identifier: MIT */
#include "core/storage.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"

#define STORAGE_MAGIC 0x656761726f747321ull /* "!storage" */

struct hy_storage {
	uint64_t magic; /* 0: fresh */
	void *memory;
	size_t bytes;
	/* What was made here keeps its kind; none of it is in use. */
	struct hy_chunk *free_chunks[HY_KINDS];
	struct hy_region region;
	struct hy_graph graph;
};

/* Protects `magic` and `graph.id` of storages that are opened. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct hy_storage *storage_of(const struct hy_graph *graph)
{
	return container_of(graph, struct hy_storage, graph);
}

static uintptr_t align_up(uintptr_t at, uintptr_t align)
{
	return (at + align - 1) & ~(align - 1);
}

/* Is all of it zero? */
static bool is_clear(const void *memory, size_t bytes)
{
	const unsigned char *byte = memory;

	for (size_t i = 0; i < bytes; i++)
		if (byte[i])
			return false;
	return true;
}

/* First use: the storage is zero, as far as a look at both ends can tell. */
static int init(struct hy_storage *storage, void *memory, size_t bytes,
		char *start)
{
	if (!is_clear(storage, sizeof(*storage)) ||
	    !is_clear(start, sizeof(struct hy_chunk)))
		return -EINVAL;
	storage->magic = STORAGE_MAGIC;
	storage->memory = memory;
	storage->bytes = bytes;
	storage->region.start = storage->region.top = start;
	storage->region.end = storage->region.low = storage->region.dirty =
		(char *)storage;
	return 0;
}

static int open_locked(struct hy_storage *storage, void *memory, size_t bytes,
		       char *start)
{
	if (storage->magic != STORAGE_MAGIC)
		return init(storage, memory, bytes, start);
	if (storage->memory != memory || storage->bytes != bytes)
		return -EINVAL;
	return storage->graph.id ? -EBUSY : 0;
}

int hy_storage_open(void *memory, size_t bytes, bool spill,
		    struct hy_graph **ret_graph)
{
	uintptr_t first = (uintptr_t)memory, last = first + bytes;
	uintptr_t start = align_up(first, HY_CHUNK_BYTES);
	struct hy_storage *storage;
	struct hy_graph *graph;
	int r;

	if (last < first || bytes < sizeof(*storage) + 64)
		return last < first ? -EINVAL : -ENOMEM;
	last = (last - sizeof(*storage)) & ~(uintptr_t)63;
	if (last < start || last - start < HY_CHUNK_BYTES)
		return -ENOMEM;
	storage = (struct hy_storage *)last;
	pthread_mutex_lock(&lock);
	r = open_locked(storage, memory, bytes, (char *)start);
	if (r == 0) {
		graph = &storage->graph;
		memset(&graph->id + 1, 0, sizeof(*graph) - sizeof(graph->id));
		storage->region.spill = spill;
		graph->region = &storage->region;
		/* Taken; the real one comes when the graph is complete. */
		store_relaxed(&graph->id, (uint64_t)1 << 16);
		*ret_graph = graph;
	}
	pthread_mutex_unlock(&lock);
	if (r == 0)
		hy_region_open(&storage->region);
	return r;
}

void hy_storage_close(struct hy_graph *graph)
{
	hy_region_close(graph->region);
	pthread_mutex_lock(&lock);
	store_release(&graph->id, 0);
	pthread_mutex_unlock(&lock);
}

struct hy_chunk *hy_storage_chunk(struct hy_graph *graph,
				  enum hy_chunk_kind kind, bool *ret_fresh)
{
	struct hy_storage *storage = storage_of(graph);
	struct hy_chunk *chunk = storage->free_chunks[kind];

	*ret_fresh = !chunk;
	if (chunk)
		storage->free_chunks[kind] = chunk->next;
	else
		chunk = hy_region_cut(&storage->region, HY_CHUNK_BYTES);
	return chunk;
}

bool hy_storage_keep(struct hy_graph *graph, struct hy_chunk *chunk)
{
	struct hy_storage *storage;

	if (!hy_region_has(graph->region, chunk))
		return false;
	storage = storage_of(graph);
	chunk->next = storage->free_chunks[chunk->kind];
	storage->free_chunks[chunk->kind] = chunk;
	return true;
}

void hy_storage_sizes(struct hy_graph *graph, size_t *ret_bytes,
		      size_t *ret_unused)
{
	*ret_bytes = *ret_unused = 0;
	if (graph->region) {
		*ret_bytes = storage_of(graph)->bytes;
		*ret_unused = hy_region_left(graph->region);
	}
}
