/* SPDX-License-Identifier: MIT */
/* Operators of one input that keep no state: map, filter, tap. */
#include <errno.h>

#include "core/derive.h"
#include "core/value.h"

static int run_map(struct hy_graph *g, struct hy_derived *d, void *out)
{
	return hy_run_map(g, d, out);
}

static int run_filter(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_filter_fn fn = (hyphae_filter_fn)d->fn;
	const struct hy_cell *input = d->one.input;
	const void *value = hy_value_of(input);
	uint64_t word = input->word;
	int r;

	hy_call_begin(g);
	r = fn(value, d->ctx);
	hy_call_end(g);
	if (unlikely(r <= 0))
		return r < 0 ? r : HY_KEEP;
	*(uint64_t *)out = word;
	return HY_VALUE;
}

static int run_tap(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_tap_fn fn = (hyphae_tap_fn)d->fn;
	const struct hy_cell *input = d->one.input;
	const void *value = hy_value_of(input);
	uint64_t word = input->word;

	hy_call_begin(g);
	fn(value, d->ctx);
	hy_call_end(g);
	*(uint64_t *)out = word;
	return HY_VALUE;
}

const struct hy_op hy_op_map = {.name = "map",
				.run = run_map,
				.flags = OP_STREAM,
				.direct = HY_DIRECT_MAP};
const struct hy_op hy_op_map_boxed = {
	.name = "map", .run = run_map, .flags = OP_STREAM};
const struct hy_op hy_op_filter = {
	.name = "filter", .run = run_filter, .flags = OP_SHARES | OP_STREAM};

static const struct hy_op op_tap = {
	.name = "tap", .run = run_tap, .flags = OP_SHARES | OP_STREAM};

struct hyphae_cell *hyphae_map_at(struct hyphae_cell *input,
				  const struct hyphae_type *type,
				  hyphae_map_fn fn, void *ctx, const char *site)
{
	if (unlikely(!type) && input) {
		errno = EINVAL;
		return NULL;
	}
	return hy_derive_plainly(input, type, (void (*)(void))fn, ctx, site,
				 &hy_op_map);
}

struct hyphae_cell *hyphae_filter_at(struct hyphae_cell *input,
				     hyphae_filter_fn fn, void *ctx,
				     const char *site)
{
	return hy_derive_plainly(input, NULL, (void (*)(void))fn, ctx, site,
				 &hy_op_filter);
}

struct hyphae_cell *hyphae_tap_at(struct hyphae_cell *input, hyphae_tap_fn fn,
				  void *ctx, const char *site)
{
	return hy_derive_plainly(input, NULL, (void (*)(void))fn, ctx, site,
				 &op_tap);
}
