/* SPDX-License-Identifier: MIT */
/* Operators of many inputs: combine. */
#include <errno.h>

#include "core/derive.h"
#include "core/value.h"

static int run_combine(struct hy_graph *g, struct hy_derived *d, void *out)
{
	return hy_run_combine(g, d, out);
}

const struct hy_op hy_op_combine = {
	.name = "combine", .run = run_combine, .direct = HY_DIRECT_COMBINE};
/* Of one input, which has no list of values. */
static const struct hy_op op_combine_one = {.name = "combine",
					    .run = run_combine};

struct hyphae_cell *hyphae_combine_at(struct hyphae_cell *const *inputs,
				      size_t count,
				      const struct hyphae_type *type,
				      hyphae_combine_fn fn, void *ctx,
				      const char *site)
{
	if (!type) {
		errno = EINVAL;
		return NULL;
	}
	return hy_derive(count == 1 ? &op_combine_one : &hy_op_combine, inputs,
			 count, type, (void (*)(void))fn, ctx, site);
}
