/* SPDX-License-Identifier: MIT */
/* Operators of many inputs: combine. */
#include <errno.h>

#include "core/derive.h"
#include "core/value.h"

static int run_combine(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_combine_fn fn = (hyphae_combine_fn)d->fn;
	const void *one[1];
	const void *const *values = one;
	size_t count = hy_inputs(d);
	int r;

	if (d->cell.flags & F_NARY)
		values = d->fan_in->values;
	else
		one[0] = hy_value_of(d->one.input);
	hy_call_begin(g);
	r = fn(out, values, count, d->ctx);
	hy_call_end(g);
	return r > 0 ? -EINVAL : r;
}

const struct hy_op hy_op_combine = {.name = "combine", .run = run_combine};

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
	return hy_derive(&hy_op_combine, inputs, count, type,
			 (void (*)(void))fn, ctx, site);
}
