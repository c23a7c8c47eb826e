/* SPDX-License-Identifier: MIT */
#include "core/node.h"

#include "core/data.h"
#include "core/label.h"
#include "core/probe.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"

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

void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind,
		   const struct hyphae_type *type, const char *site)
{
	struct hy_cell *c = hy_slot_new(g, kind);

	if (!c)
		return NULL;
	if (hy_label_begin(g, c, site)) {
		store_relaxed(&c->flags, hy_type_flags(type));
		if (begin_cold(g, c, kind)) {
			store_relaxed(&c->type, type);
			c->refs = 1;
			g->ncells++;
			return c;
		}
		hy_label_end(g, c);
	}
	hy_slot_free(g, c);
	return NULL;
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

/*
 * Tracers cannot read a page that was never touched, and these strings lie in
 * the user's read-only data.
 */
static void touch_text(const char *text)
{
	(void)*(const volatile char *)text;
}

static HY_FRAME void probe_create(struct hy_cell *c, const char *op,
				  uint64_t bytes)
{
	hy_probe_cell_create(c->id, op, bytes, c->type->name, hy_site_of(c),
			     c->name);
}

struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden)
{
	/* The id is what makes it visible, to tools as well. */
	store_release(&c->id, hy_id_new(g));
	*hy_users(c) = hidden || !hy_scope_add_cell(g, c);
	touch_text(hy_site_of(c));
	touch_text(c->type->name);
	touch_text(hy_op_name(c));
	probe_create(c, hy_op_name(c), hy_cell_bytes(c));
	return hy_cell_handle(c);
}
