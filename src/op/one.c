/* SPDX-License-Identifier: MIT */
#include "op/one.h"

#include <errno.h>

bool hy_one_begin(struct hy_order *order, const struct hy_op *op,
		  struct hyphae_cell **input, const char *site)
{
	const struct hy_cell *c = hy_cell(*input);

	if (!c) {
		if (*input)
			errno = ESTALE;
		return false;
	}
	*order = (struct hy_order){.graph = hy_graph_of(c),
				   .op = op,
				   .inputs = input,
				   .count = 1,
				   .site = site};
	return true;
}

int hy_one_own_type(const struct hy_order *order,
		    const struct hyphae_type *type, const void *value)
{
	const struct hy_cell *c = hy_cell(order->inputs[0]);

	return c && load_relaxed(&c->type) == type && value ? 0 : -EINVAL;
}

static void give_up(const struct hy_order *order)
{
	struct hy_derived nobody = {.ctx = order->ctx};

	hy_lock(order->graph);
	order->op->free(order->graph, &nobody);
	hy_unlock(order->graph);
}

struct hyphae_cell *hy_one(struct hy_order *order, int error)
{
	struct hyphae_cell *cell = NULL;

	if (!order->ctx) {
		errno = ENOMEM;
		return NULL;
	}
	if (!error) {
		cell = hy_order(order);
		error = -errno;
	}
	if (!cell) {
		give_up(order);
		errno = -error;
	}
	return cell;
}

void hy_one_free(struct hy_graph *g, struct hy_derived *d)
{
	(void)g;
	hy_free(d->ctx);
}
