/* SPDX-License-Identifier: MIT */
#include "core/node.h"

#include "core/data.h"
#include "core/label.h"
#include "core/probe.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"

const char hy_source_name[] = "source";

/*
 * What a cell has on the heap from the beginning: a block that stands for all
 * of it (HYPHAE_HEAP_CELLS), or the list of its boxes.
 */
static bool begin_cold(struct hy_graph *g, struct hy_cell *c,
		       enum hy_chunk_kind kind)
{
	size_t bytes = sizeof(struct hy_cold);

	if (unlikely(g->flags & HYPHAE_HEAP_CELLS))
		bytes += kind == HY_CHUNK_SOURCE ? sizeof(*c)
						 : sizeof(struct hy_derived);
	else if (likely(!(c->flags & F_BOXED)))
		return true;
	return hy_cold_new(c, g->region, bytes);
}

/* Of any kind, and what there is none of is fetched. */
static NOINLINE void *cell_slot(struct hy_graph *g, enum hy_chunk_kind kind,
				const struct hyphae_type *type,
				const char *site, uint32_t flags)
{
	struct hy_label *label;
	struct hy_cell *c;

	if (!hy_slot_open(g, kind))
		return NULL;
	label = hy_label_find(g, site ? site : "");
	if (!label)
		return NULL;
	if (!hy_has_id(g))
		hy_ids_fetch(g);
	hy_touch_text(hy_source_name);
	c = hy_cell_take(g, kind, type, label, flags);
	if (begin_cold(g, c, kind))
		return c;
	g->ncells--;
	hy_label_free(label);
	hy_slot_free(g, c);
	return NULL;
}

void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind,
		   const struct hyphae_type *type, const char *site)
{
	const struct hy_label *label = hy_cell_ready(g, kind, site);
	uint32_t flags = hy_type_flags(type);
	struct hy_cell *c;

	if (likely(label && !(flags & F_BOXED) &&
		   !(g->flags & HYPHAE_HEAP_CELLS)))
		c = hy_cell_take(g, kind, type, label, flags);
	else
		c = cell_slot(g, kind, type, site, flags);
	if (unlikely(!c))
		return NULL;
	store_relaxed(&c->word, 0);
	store_relaxed(&c->height, 0);
	return c;
}

static NOINLINE uint64_t more_bytes(struct hy_cell *c)
{
	uint64_t bytes = hy_slot_bytes(c->flags & F_DERIVED);

	if (c->flags & F_NARY)
		bytes += sizeof(struct hy_fan_in) +
			 hy_derived_of(c)->fan_in->capacity *
				 (sizeof(struct hy_edge) + sizeof(void *) + 1);
	if (c->flags & F_BOXED)
		bytes += sizeof(struct hy_box) + c->type->size;
	return bytes;
}

uint64_t hy_cell_bytes(struct hy_cell *c)
{
	uint32_t flags = c->flags;

	return likely(!(flags & (F_NARY | F_BOXED)))
		       ? hy_slot_bytes(flags & F_DERIVED)
		       : more_bytes(c);
}

HY_FRAME struct hyphae_cell *hy_cell_told(struct hy_cell *c, const char *op,
					  uint64_t bytes,
					  struct hyphae_cell *handle)
{
	hy_probe_cell_create(c, op, bytes, c->type, c->name);
	return handle;
}

struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden)
{
	const char *op = hy_op_name(c);

	/* The id is what makes it visible, to tools as well. */
	store_release(&c->id, hy_id_new(g));
	*hy_users(c) = hidden || !hy_scope_add_cell(g, c);
	hy_touch_text(c->type->name);
	hy_touch_text(op);
	return hy_cell_told(c, op, hy_cell_bytes(c), hy_cell_handle(c));
}
