/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <hyphae/memory.h>

#include "core/iterate.h"
#include "core/node.h"
#include "core/storage.h"

static void add_boxes(struct hy_cell *c, struct hyphae_graph_memory *m)
{
	const struct hy_box *box = hy_cold_of(c)->spare; /* it has one */
	bool own = !(c->flags & F_NONE) && c->word &&
		   hy_box_of(c->word)->home == hy_cell_handle(c);

	for (; box; box = box->next_spare)
		m->values += sizeof(*box) + box->bytes;
	/* A filter shows the block of its input. */
	if (own)
		m->values += sizeof(*box) + hy_box_of(c->word)->bytes;
}

/* Returns what it has beside its slot, and is not counted elsewhere. */
static size_t add_cell(struct hy_cell *c, struct hyphae_graph_memory *m)
{
	struct hy_derived *d = hy_derived_of(c);

	if (*c->name)
		m->names += strlen(c->name) + 1;
	if (c->flags & F_BOXED)
		add_boxes(c, m);
	if (c->flags & F_NARY)
		m->inputs += sizeof(*d->fan_in) +
			     d->fan_in->count * (sizeof(d->fan_in->edges[0]) +
						 sizeof(d->values[0]));
	return (*c->name ? sizeof(struct hy_label) : 0) +
	       (hy_cold_of(c) ? sizeof(struct hy_cold) : 0);
}

/* NULL: none of those that are told. */
static struct hyphae_memory_kind *kind_of(struct hyphae_graph_memory *m,
					  const struct hy_chunk *chunk)
{
	switch (chunk->kind) {
	case HY_CHUNK_SOURCE:
		return &m->sources;
	case HY_CHUNK_DERIVED:
		return &m->derived;
	case HY_CHUNK_SUBSCRIPTION:
		return &m->subscriptions;
	case HY_CHUNK_SCOPE:
		return &m->scopes;
	default: /* timers; inputs, which are counted with their cell */
		return NULL;
	}
}

static void add_chunk(struct hy_chunk *chunk, struct hyphae_graph_memory *m)
{
	struct hyphae_memory_kind *kind = kind_of(m, chunk);
	size_t bytes = chunk->slot_bytes;

	m->chunks++;
	if (!kind)
		return;
	if (hy_has_cells(chunk))
		bytes = hy_slot_bytes(chunk->kind == HY_CHUNK_DERIVED);
	kind->reserved += HY_CHUNK_BYTES;
	for (uint32_t i = 0; i < chunk->used; i++) {
		void *slot = hy_slot_at(chunk, i);

		if (!*(uint64_t *)slot)
			continue;
		kind->count++;
		kind->in_use += bytes;
		/* A dead one may be half released. */
		if (hy_has_cells(chunk) &&
		    !(((struct hy_cell *)slot)->flags & F_DEAD))
			kind->in_use += add_cell(slot, m);
	}
}

static size_t queue_bytes(const struct hy_queue *q)
{
	size_t bits = q->heights, bytes = bits * sizeof(*q->buckets);

	for (int i = 0; i < HY_QUEUE_LEVELS; i++) {
		bits = (bits + 63) / 64;
		bytes += bits * sizeof(*q->level[i]);
	}
	return bytes;
}

static size_t log_bytes(const struct hy_log *log)
{
	return log->capacity * sizeof(*log->entries);
}

static size_t array_bytes(const struct hy_graph *g)
{
	size_t bytes = queue_bytes(&g->queue) + log_bytes(&g->next) +
		       log_bytes(&g->inbox) + log_bytes(&g->running) +
		       g->fired_capacity * HY_FIRED_BYTES +
		       g->stack_capacity * sizeof(*g->stack) +
		       g->gathered_capacity * sizeof(struct hy_cell *);

	if (g->spare_batch)
		bytes += sizeof(*g->spare_batch) +
			 log_bytes(&g->spare_batch->log);
	return bytes;
}

int hyphae_graph_memory(struct hyphae_graph *handle,
			struct hyphae_graph_memory *ret_memory)
{
	struct hyphae_graph_memory *m = ret_memory;
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	if (!m)
		return -EINVAL;
	memset(m, 0, sizeof(*m));
	hy_lock(g);
	for (struct hy_chunk *chunk = hy_walk_begin(g); chunk;
	     chunk = chunk->next) {
		add_chunk(chunk, m);
		/* Somebody may be waiting. */
		hy_unlock(g);
		hy_lock(g);
	}
	hy_walk_end(g);
	m->arrays = array_bytes(g);
	hy_storage_sizes(g, &m->storage, &m->unused);
	if (g->region)
		m->spilled = load_relaxed(&g->region->spilled);
	hy_unlock(g);
	return 0;
}
