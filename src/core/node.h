/* SPDX-License-Identifier: MIT */
/* What sources and derived cells have in common when they are made. */
#ifndef HY_NODE_H
#define HY_NODE_H

#include "core/label.h"
#include "core/slab.h"
#include "core/value.h"

/* Of a source, which has no operator. */
extern const char hy_source_name[] __attribute__((visibility("hidden")));

static inline const char *hy_op_name(struct hy_cell *c)
{
	return c->flags & F_DERIVED ? hy_derived_of(c)->op->name
				    : hy_source_name;
}

/* What each cell has: its slot, and its places beside the slots. */
static inline size_t hy_slot_bytes(bool derived)
{
	return derived ? HY_DERIVED_BYTES : HY_SOURCE_BYTES;
}

/* What the cell occupies, without its name, cold part and what it owns. */
uint64_t hy_cell_bytes(struct hy_cell *c);

/*
 * A slot of one of the kinds of cells with what both have, or NULL: no memory.
 * Nobody knows the cell yet.
 */
void *hy_cell_slot(struct hy_graph *g, enum hy_chunk_kind kind,
		   const struct hyphae_type *type, const char *site);

/*
 * Give it an id, put it into the scope, tell the probe, hand it out.  Its
 * reference is the user's, or the scope's.
 */
struct hyphae_cell *hy_cell_made(struct hy_graph *g, struct hy_cell *c,
				 bool hidden);

/* ---- the short way -------------------------------------------------------- */

/*
 * A cell of that kind, made at that site, takes no more than what is there
 * already: a slot, an id, and the label of its site, which is returned; or
 * NULL.  Never so in a graph that is being freed; one whose cells have a block
 * on the heap (HYPHAE_HEAP_CELLS) must not ask.
 */
static ALWAYS_INLINE struct hy_label *hy_cell_ready(const struct hy_graph *g,
						    enum hy_chunk_kind kind,
						    const char *site)
{
	struct hy_label *label = &hy_label_place(site)->label;

	if (unlikely(!g->free_slots[kind] ||
		     load_acquire(&label->site) != site) ||
	    !hy_has_id(g))
		return NULL;
	/* Also of a child of fork(), or a library that was loaded again. */
	hy_touch_text(site);
	return label;
}

/* One that is ready, with all that both kinds have. */
static ALWAYS_INLINE void *hy_cell_take(struct hy_graph *g,
					enum hy_chunk_kind kind,
					const struct hyphae_type *type,
					const struct hy_label *label,
					uint32_t flags)
{
	struct hy_cell *c = hy_slot_pop(g, kind);

	store_relaxed(&c->name, (const char *)(label + 1));
	store_relaxed(&c->type, type);
	store_relaxed(&c->targets, 0);
	c->refs = 1;
	store_relaxed(&c->flags, flags);
	g->ncells++;
	return c;
}

/* The end of what makes a cell: its probe.  Returns the handle. */
struct hyphae_cell *hy_cell_told(struct hy_cell *c, const char *op,
				 uint64_t bytes, struct hyphae_cell *handle);

/* The cell is the user's, and all there is to it are its slot and `op`. */
static ALWAYS_INLINE struct hyphae_cell *
hy_cell_hand_out(struct hy_cell *c, uint64_t id, bool derived, const char *op)
{
	*(derived ? hy_users_of_derived(c) : hy_users_of_source(c)) = 1;
	/* What makes it visible, to tools as well. */
	store_release(&c->id, id);
	hy_touch_text(c->type->name);
	if (derived)
		hy_touch_text(op);
	return hy_cell_told(c, op, hy_slot_bytes(derived),
			    hy_handle(c, id, HY_TAG_CELL));
}

#endif
