/* SPDX-License-Identifier: MIT */
/* Lazy by nature: share, cold. */
#include "op/one.h"

static int run_share(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	*(uint64_t *)out = hy_input_word(d, 0);
	return HY_VALUE;
}

static const struct hy_op op_share = {
	.name = "share",
	.run = run_share,
	.flags = OP_SHARES | OP_STREAM,
};

static const struct hy_op op_cold = {
	.name = "cold",
	.run = hy_run_changes,
	.reset = hy_reset_changes,
	.flags = OP_SIGNALS | OP_SHARES | OP_EVENT,
};

struct hyphae_cell *hyphae_share_at(struct hyphae_cell *input, const char *site)
{
	struct hy_order order;

	if (!hy_one_begin(&order, &op_share, &input, site))
		return NULL;
	order.lazy = true;
	return hy_order(&order);
}

struct hyphae_cell *hyphae_cold_at(struct hyphae_cell *input, const char *site)
{
	struct hy_order order;

	if (!hy_one_begin(&order, &op_cold, &input, site))
		return NULL;
	order.cold = true;
	return hy_order(&order);
}
