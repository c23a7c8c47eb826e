/* SPDX-License-Identifier: MIT */
/* finalize: tell once when a cell is over. */
#include "hyphae/limits.h"

#include <errno.h>

#include "op/one.h"

struct finalize {
	hyphae_finalize_fn fn; /* NULL once it has been called */
	void *ctx;
};

/* Once: it is gone before it is called. */
static void tell(struct hy_graph *g, struct finalize *f,
		 enum hyphae_end_kind kind)
{
	hyphae_finalize_fn fn = f->fn;
	struct hy_unlocked saved;

	if (!fn)
		return;
	f->fn = NULL;
	saved = hy_guard_begin(g);
	fn(kind, f->ctx);
	hy_guard_end(g, saved);
}

/* What came, but for a failure for good. */
static int hand_on(struct hy_graph *g, struct hy_derived *d, void *out,
		   bool failed)
{
	if (hy_brought_value(d, 0)) {
		*(uint64_t *)out = hy_input_word(d, 0);
		return HY_VALUE;
	}
	if (failed)
		return HY_KEEP;
	if (hy_brought_error(d, 0))
		hy_pass_error(g, d, 0);
	else if (hy_brought(d, 0) & MARK_VALUE) /* the input's error went */
		return hy_nothing(d);
	return HY_KEEP;
}

/*
 * The end is not told while the cell is made, which might fail yet, but in a
 * wave after that.
 */
static int run_finalize(struct hy_graph *g, struct hy_derived *d, void *out)
{
	bool failed = d->fan_in->edges[0].input->flags & F_FAILED;
	struct finalize *f = d->ctx;
	int outcome = hand_on(g, d, out, failed);

	if (!hy_input_ended(d, 0))
		return outcome;
	if (!d->cell.id)
		return outcome | HY_MORE;
	tell(g, f, failed ? HYPHAE_END_FAILED : HYPHAE_END_COMPLETE);
	if (!failed)
		return outcome | HY_END;
	hy_pass_error(g, d, 0);
	return HY_KEEP;
}

static void free_finalize(struct hy_graph *g, struct hy_derived *d)
{
	tell(g, d->ctx, HYPHAE_END_RELEASED);
	hy_free(d->ctx);
}

static const struct hy_op op_finalize = {
	.name = "finalize",
	.run = run_finalize,
	.free = free_finalize,
	.flags = OP_SIGNALS | OP_SHARES | OP_STREAM,
};

struct hyphae_cell *hyphae_finalize_at(struct hyphae_cell *input,
				       hyphae_finalize_fn fn, void *ctx,
				       const char *site)
{
	struct hyphae_cell *cell = NULL;
	struct hy_order order;
	struct finalize *f;

	if (!hy_one_begin(&order, &op_finalize, &input, site))
		return NULL;
	f = hy_one_state(&order, sizeof(*f));
	errno = fn ? ENOMEM : EINVAL;
	if (f && fn) {
		*f = (struct finalize){.fn = fn, .ctx = ctx};
		order.ctx = f;
		cell = hy_order(&order);
	}
	/* Not by free_finalize(): there was never a cell that could end. */
	if (!cell)
		hy_free(f);
	return cell;
}
