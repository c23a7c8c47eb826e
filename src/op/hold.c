/* SPDX-License-Identifier: MIT */
/* Between events and cells: hold, changes. */
#include <errno.h>

#include "op/many.h"
#include "op/one.h"

/* ---- hold ------------------------------------------------------------------- */

struct hold {
	const struct hyphae_type *type;
	uint64_t initial;
	bool has;
};

static int run_hold(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct hold *hold = d->ctx;

	if (hy_brought_value(d, 0)) {
		*(uint64_t *)out = hy_input_word(d, 0);
		return hy_with_end(g, d, HY_VALUE);
	}
	if (hy_holds_error(d, 0)) {
		hy_pass_error(g, d, 0);
		return hy_with_end(g, d, HY_KEEP);
	}
	if (!(d->cell.flags & F_NO_VALUE))
		return hy_with_end(g, d, HY_KEEP);
	if (!hold->has)
		return hy_with_end(g, d, hy_nothing(d));
	*(uint64_t *)out = hold->initial;
	return hy_with_end(g, d, HY_VALUE);
}

static void free_hold(struct hy_graph *g, struct hy_derived *d)
{
	struct hold *hold = d->ctx;

	if (hold->has)
		hy_word_put(g, hold->type, hold->initial);
	hy_free(hold);
}

static const struct hy_op op_hold = {.name = "hold",
				     .run = run_hold,
				     .free = free_hold,
				     .flags = OP_SIGNALS | OP_SHARES};

struct hyphae_cell *hyphae_hold_at(struct hyphae_cell *event,
				   const struct hyphae_type *type,
				   const void *initial, const char *site)
{
	struct hy_order order;
	struct hold *hold;
	int error = 0;

	if (!hy_one_begin(&order, &op_hold, &event, site))
		return NULL;
	order.ctx = hold = hy_one_state(&order, sizeof(*hold));
	if (hold && (initial || type)) {
		error = hy_one_own_type(&order, type, order.inputs);
		hold->type = type;
	}
	if (hold && initial && !error) {
		error = hy_word_make(order.graph, type, initial, NULL,
				     &hold->initial);
		hold->has = !error;
	}
	return hy_one(&order, error);
}

/* ---- changes ---------------------------------------------------------------- */

/* What ctx points at once the cell has been computed. */
static char begun;

int hy_run_changes(struct hy_graph *g, struct hy_derived *d, void *out)
{
	bool first = !d->ctx;

	d->ctx = &begun;
	if (hy_brought_error(d, 0) && (!first || hy_input_failed(d, 0)))
		hy_pass_error(g, d, 0);
	if (first || !hy_brought_value(d, 0))
		return hy_with_end(g, d, HY_KEEP);
	*(uint64_t *)out = hy_input_word(d, 0);
	return hy_with_end(g, d, HY_VALUE);
}

void hy_reset_changes(struct hy_graph *g, struct hy_derived *d)
{
	(void)g;
	d->ctx = NULL;
}

static const struct hy_op op_changes = {.name = "changes",
					.run = hy_run_changes,
					.reset = hy_reset_changes,
					.flags = OP_SIGNALS | OP_SHARES |
						 OP_EVENT};

struct hyphae_cell *hyphae_changes_at(struct hyphae_cell *input,
				      const char *site)
{
	struct hy_order order;

	if (!hy_one_begin(&order, &op_changes, &input, site))
		return NULL;
	return hy_order(&order);
}
