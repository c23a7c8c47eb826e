/* SPDX-License-Identifier: MIT */
/* Making derived cells: what all operators share. */
#ifndef HY_DERIVE_H
#define HY_DERIVE_H

#include "core/sync.h"

/* The operators; to add one see ARCHITECTURE.md. */
extern const struct hy_op hy_op_map, hy_op_filter, hy_op_combine;

/*
 * A derived cell of `op` over `inputs`, computed for the first time.
 * `type` NULL: that of the first input.  Returns a handle, or NULL and errno.
 */
struct hyphae_cell *hy_derive(const struct hy_op *op,
			      struct hyphae_cell *const *inputs, size_t count,
			      const struct hyphae_type *type, void (*fn)(void),
			      void *ctx, const char *site);

/* map, inline because it is most of what graphs do; the rest is in src/op/. */
static inline int hy_run_map(struct hy_graph *g, struct hy_derived *d,
			     void *out)
{
	hyphae_map_fn fn = (hyphae_map_fn)d->fn;
	const void *input = hy_value_of(d->one.input);
	int r;

	hy_call_begin(g);
	r = fn(out, input, d->ctx);
	hy_call_end(g);
	return unlikely(r > 0) ? -EINVAL : r;
}

#endif
