/* SPDX-License-Identifier: MIT */
#ifndef HY_SUBSCRIBE_H
#define HY_SUBSCRIBE_H

#include "core/types.h"

static inline struct hy_sub *hy_sub_of(const struct hyphae_subscription *handle)
{
	return hy_slot(handle, HY_TAG_SUB);
}

/* It missed something, and may be told now. */
static inline bool hy_sub_is_behind(const struct hy_sub *s)
{
	return s->flags & SUB_ANY_MISSED && !(s->flags & (SUB_DEAD | SUB_HELD));
}

/*
 * Tell a subscriber what its cell holds now, outside of a fan-out, and that
 * it has ended; the subscription ends then.  `value`: not only the end.
 */
void hy_catch_up(struct hy_graph *g, struct hy_sub *s, bool value);

/*
 * Follow a cell that was made for that: nothing is told yet.  NULL without
 * memory.  With the lock.
 */
struct hy_sub *hy_subscribe_new(struct hy_graph *g, struct hy_cell *c,
				hyphae_subscriber_fn fn, void *ctx,
				void (*drop)(void *ctx),
				void (*cleanup)(void *ctx));

/* The same, of a slot, an id and room that are there (hy_hidden_ready()). */
struct hy_sub *hy_subscribe_ready(struct hy_graph *g, struct hy_cell *c,
				  hyphae_subscriber_fn fn, void *ctx);

#endif
