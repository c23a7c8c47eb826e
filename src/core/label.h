/* SPDX-License-Identifier: MIT */
/*
 * Labels and cold parts: what a cell is called, where it was made, and what
 * only some cells have.
 *
 * `name` of a cell points at the text of its label, which lies behind the
 * label itself.  So the probes have the name at a fixed place of the cell, and
 * all else is one step away and costs nothing in a cell that has none.
 *
 * All of it with the graph's lock.
 */
#ifndef HY_LABEL_H
#define HY_LABEL_H

#include "core/types.h"

/* A label for a new cell; false: no memory. */
bool hy_label_find(struct hy_graph *g, struct hy_cell *c, const char *site);
void hy_label_free(struct hy_label *label);

static inline bool hy_label_begin(struct hy_graph *g, struct hy_cell *c,
				  const char *site)
{
	struct hy_label *last = g->last_label;

	if (unlikely(!last || last->site != site))
		return hy_label_find(g, c, site);
	store_relaxed(&c->name, (const char *)(last + 1));
	return true;
}

static inline void hy_label_end(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_label *label = hy_label_of(c);

	if (unlikely(label != g->last_label))
		hy_label_free(label);
}

/* One with a name; whoever gets it frees it by hy_free().  NULL: no memory. */
struct hy_label *hy_label_new(struct hy_graph *g, const char *name,
			      size_t length);
/* The cell has this one from now on. */
void hy_label_set(struct hy_cell *c, struct hy_label *label);

static inline const char *hy_site_of(const struct hy_cell *c)
{
	return hy_label_of(c)->site;
}

/* The cell's cold part, a zeroed one if it had none; NULL: no memory. */
struct hy_cold *hy_cold_new(struct hy_cell *c, struct hy_region *region,
			    size_t bytes);

static inline struct hy_cold *hy_cold_made(struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);

	return likely(cold != NULL) ? cold
				    : hy_cold_new(c, hy_graph_of(c)->region,
						  sizeof(struct hy_cold));
}

/* ---- what a cell holds as an error (F_ERROR) ------------------------------ */

/* Where a derived cell has it, which can always fail. */
static inline struct hy_error **hy_error_place(const struct hy_derived *d)
{
	struct hy_chunk *chunk = hy_chunk_of(d);

	return (struct hy_error **)((char *)chunk + chunk->errors_at) +
	       hy_place_of(&d->cell);
}

/* NULL unless F_ERROR is set. */
static inline struct hy_error *hy_error_of(const struct hy_cell *c)
{
	const struct hy_cold *cold;

	if (c->flags & F_DERIVED)
		return *hy_error_place(
			container_of(c, struct hy_derived, cell));
	cold = hy_cold_of(c);
	return cold ? cold->error : NULL;
}

/* A source must have a cold part, except for NULL. */
static inline void hy_error_put_in(struct hy_cell *c, struct hy_error *error)
{
	struct hy_cold *cold;

	if (c->flags & F_DERIVED) {
		*hy_error_place(hy_derived_of(c)) = error;
		return;
	}
	cold = hy_cold_of(c);
	if (cold)
		cold->error = error;
}

#endif
