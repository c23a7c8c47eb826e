/* SPDX-License-Identifier: MIT */
#include "core/node.h"

#include "core/data.h"
#include "core/probe.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"

void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind)
{
	struct hy_cell *c = hy_slot_new(g, kind);
	size_t bytes = sizeof(struct hy_cold) +
		       (kind == HY_CHUNK_SOURCE ? sizeof(*c)
						: sizeof(struct hy_derived));

	if (c && !hy_heap_block(g, &hy_cold_of(c)->owned, bytes)) {
		hy_slot_free(g, c);
		return NULL;
	}
	return c;
}

void hy_cell_init(struct hy_graph *g, struct hy_cell *c,
		  const struct hyphae_type *type, const char *site)
{
	struct hy_cold *cold = hy_cold_of(c);

	c->name = "";
	store_relaxed(&c->type, type);
	store_relaxed(&c->flags, hy_type_flags(type));
	cold->site = site ? site : "";
	cold->refs = 1;
	g->ncells++;
}

uint64_t hy_cell_bytes(struct hy_cell *c)
{
	uint64_t bytes = sizeof(struct hy_cold) +
			 (c->flags & F_DERIVED ? sizeof(struct hy_derived)
					       : sizeof(struct hy_cell));

	if (c->flags & F_NARY)
		bytes += sizeof(struct hy_fan_in) +
			 hy_derived_of(c)->fan_in->capacity *
				 (sizeof(struct hy_edge) + sizeof(void *) + 1);
	if (c->flags & F_BOXED)
		bytes += sizeof(struct hy_box) + c->type->size;
	return bytes;
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
	hy_probe_cell_create(c->id, op, bytes, c->type->name,
			     hy_cold_of(c)->site, c->name);
}

struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden)
{
	/* The id is what makes it visible, to tools as well. */
	store_release(&c->id, hy_id_new(g));
	hy_cold_of(c)->user_refs = hidden || !hy_scope_add_cell(g, c);
	touch_text(hy_cold_of(c)->site);
	touch_text(c->type->name);
	touch_text(hy_op_name(c));
	probe_create(c, hy_op_name(c), hy_cell_bytes(c));
	return hy_cell_handle(c);
}
