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

/* One of the table, of those that cells of one site share. */
struct hy_shared_label {
	struct hy_label label;
	char no_text[8];
};
#define HY_LABEL_SITE_BITS 12
#define HY_LABEL_SITES (1 << HY_LABEL_SITE_BITS)
#define HY_LABEL_STEPS 8 /* how far to look for a place */
extern struct hy_shared_label hy_shared_labels[HY_LABEL_SITES + HY_LABEL_STEPS]
	__attribute__((visibility("hidden")));

/*
 * The first place of a site's label; the next ones are those behind it.  That
 * of NULL, which is no site, is taken before there is a graph.
 */
static inline struct hy_shared_label *hy_label_place(const char *site)
{
	uint64_t hash = (uintptr_t)site * 0x9e3779b97f4a7c15u;

	return &hy_shared_labels[hash >> (64 - HY_LABEL_SITE_BITS)];
}
void hy_labels_begin(void);

/* It has no cold part, and nothing of it is to be freed. */
static inline bool hy_label_is_shared(const struct hy_label *label)
{
	return likely((uintptr_t)label - (uintptr_t)hy_shared_labels <
		      sizeof(hy_shared_labels));
}

/*
 * Tracers cannot read a page that was never touched, and most texts lie in the
 * user's read-only data.
 */
static inline void hy_touch_text(const char *text)
{
	(void)*(const volatile char *)text;
}

/* A label for a new cell, the site's or its own; NULL: no memory. */
struct hy_label *hy_label_find(struct hy_graph *g, const char *site);
void hy_label_free(struct hy_label *label);

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

/*
 * A derived cell, which can always fail, has a place for it: that of the owner
 * of its one edge (hy_edge_owner()).  NULL unless F_ERROR is set.
 */
static inline struct hy_error *hy_error_of(const struct hy_cell *c)
{
	const struct hy_cold *cold;
	uintptr_t held;

	if (c->flags & F_DERIVED) {
		held = container_of(c, struct hy_derived, cell)->held;
		return held & HY_HELD_ERROR
			       ? (struct hy_error *)(held - HY_HELD_ERROR)
			       : NULL;
	}
	cold = hy_cold_of(c);
	return cold ? cold->error : NULL;
}

/* One with one input is not found by its edge as usual; see hy_edge_link(). */
static inline void hy_error_put_in_derived(struct hy_derived *d,
					   struct hy_error *error)
{
	if (!error) {
		d->held = (uintptr_t)d;
		return;
	}
	d->held = (uintptr_t)error + HY_HELD_ERROR;
	if (!(d->cell.flags & F_NARY) && d->one.input)
		hy_flags_set(d->one.input, F_TELLS, 0);
}

/* A source must have a cold part, except for NULL. */
static inline void hy_error_put_in(struct hy_cell *c, struct hy_error *error)
{
	struct hy_cold *cold;

	if (c->flags & F_DERIVED) {
		hy_error_put_in_derived(hy_derived_of(c), error);
		return;
	}
	cold = hy_cold_of(c);
	if (cold)
		cold->error = error;
}

#endif
