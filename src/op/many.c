/* SPDX-License-Identifier: MIT */
#include "op/many.h"

#include <errno.h>

int hy_combine_with(struct hy_graph *g, struct hy_derived *d, void *out,
		    const void *const *values, size_t count, void *ctx)
{
	hyphae_combine_fn fn = (hyphae_combine_fn)d->fn;
	int r;

	hy_call_begin(g);
	r = fn(out, values, count, ctx);
	hy_call_end(g);
	if (r == 0)
		return HY_VALUE;
	hy_set_failure(g, &d->cell, r > 0 ? -EINVAL : r);
	return HY_KEEP;
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

int hy_check_inputs(struct hyphae_cell *const *inputs, size_t count, bool alike)
{
	if (!inputs || !count || count > HYPHAE_INPUTS_MAX)
		return refuse(EINVAL);
	for (size_t i = 0; i < count; i++)
		if (!inputs[i])
			return -1;
	for (size_t i = 0; i < count; i++) {
		if (!hy_cell(inputs[i]))
			return refuse(ESTALE);
		if (alike &&
		    load_relaxed(&hy_cell_place(inputs[i])->type) !=
			    load_relaxed(&hy_cell_place(inputs[0])->type))
			return refuse(EINVAL);
	}
	return 0;
}

int hyphae_cell_backlog(const struct hyphae_cell *handle,
			struct hyphae_backlog *ret_backlog)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);
	const struct hy_derived *d;

	if (!c)
		return r;
	d = c->flags & F_DERIVED ? hy_derived_of(c) : NULL;
	if (ret_backlog && d && d->op->backlog)
		d->op->backlog(d, ret_backlog);
	else
		r = -EINVAL;
	hy_unlock(hy_graph_of(c));
	return r;
}
