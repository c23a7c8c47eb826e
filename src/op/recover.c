/* SPDX-License-Identifier: MIT */
/* What becomes of errors: catch_error, map_error, unwrap_or. */
#include <errno.h>

#include "op/one.h"

static int give_input(struct hy_derived *d, void *out)
{
	*(uint64_t *)out = hy_word_ref(d->cell.type, hy_input_word(d, 0));
	return HY_VALUE;
}

/* The error that the input holds, for a while without the lock. */
static struct hy_error *error_begin(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *input = d->fan_in->edges[0].input;
	struct hy_error *error = hy_error_ref(hy_error_of(input));

	hy_call_begin(g);
	return error;
}

static void error_end(struct hy_graph *g, struct hy_error *error)
{
	hy_call_end(g);
	hy_error_unref(error);
}

/* ---- catch_error ------------------------------------------------------------ */

static int make_instead(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_catch_fn fn = (hyphae_catch_fn)d->fn;
	struct hy_error *error;
	uint64_t word;
	void *to = hy_made_begin(d, &word);
	int r;

	if (!to)
		return -ENOMEM;
	error = error_begin(g, d);
	r = fn(to, error->code, error->message, d->ctx);
	error_end(g, error);
	if (r) {
		hy_made_not(d, word);
		return hy_ran(r);
	}
	*(uint64_t *)out = word;
	return HY_VALUE;
}

static int run_catch_error(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int outcome = HY_KEEP;

	if (hy_brought_value(d, 0))
		outcome = give_input(d, out);
	else if (hy_brought_error(d, 0))
		outcome = make_instead(g, d, out);
	else if (hy_brought(d, 0) & MARK_VALUE) /* the input's error went */
		outcome = hy_nothing(d);
	return hy_with_end(g, d, outcome);
}

static const struct hy_op op_catch_error = {
	.name = "catch_error",
	.run = run_catch_error,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_GIVES | OP_MAKES,
};

struct hyphae_cell *hyphae_catch_error_at(struct hyphae_cell *input,
					  hyphae_catch_fn fn, void *ctx,
					  const char *site)
{
	return hy_derive(&op_catch_error, &input, 1, NULL, (void (*)(void))fn,
			 ctx, site);
}

/* ---- map_error --------------------------------------------------------------- */

static void change_error(struct hy_graph *g, struct hy_derived *d)
{
	bool terminal = d->fan_in->edges[0].input->flags & F_FAILED;
	hyphae_error_fn fn = (hyphae_error_fn)d->fn;
	struct hy_error *error = error_begin(g, d);
	int r = hy_ran(fn(error->code, error->message, d->ctx));

	error_end(g, error);
	if (!r)
		hy_pass_error(g, d, 0);
	else if (terminal)
		hy_set_end(g, &d->cell, r);
	else
		hy_set_failure(g, &d->cell, r);
}

static int run_map_error(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int outcome = HY_KEEP;

	if (hy_brought_value(d, 0))
		outcome = give_input(d, out);
	else if (hy_brought_error(d, 0))
		change_error(g, d);
	else if (hy_brought(d, 0) && !hy_holds_value(d, 0))
		outcome = hy_holds_error(d, 0) ? HY_KEEP : hy_nothing(d);
	return hy_with_end(g, d, outcome);
}

static const struct hy_op op_map_error = {
	.name = "map_error",
	.run = run_map_error,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_GIVES,
};

struct hyphae_cell *hyphae_map_error_at(struct hyphae_cell *input,
					hyphae_error_fn fn, void *ctx,
					const char *site)
{
	return hy_derive(&op_map_error, &input, 1, NULL, (void (*)(void))fn,
			 ctx, site);
}

/* ---- unwrap_or ---------------------------------------------------------------- */

struct unwrap {
	const struct hyphae_type *type;
	uint64_t otherwise;
	bool has;
};

/* Also when it is made and when it wakes: then it holds nothing. */
static bool needs_other(const struct hy_derived *d)
{
	if (hy_brought_error(d, 0))
		return true;
	return !(d->cell.flags & F_EVENT) &&
	       (hy_brought(d, 0) & MARK_VALUE || d->cell.flags & F_NONE);
}

static int run_unwrap_or(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct unwrap *unwrap = d->ctx;
	int outcome = HY_KEEP;

	if (hy_brought_value(d, 0)) {
		outcome = give_input(d, out);
	} else if (needs_other(d)) {
		*(uint64_t *)out = hy_word_ref(unwrap->type, unwrap->otherwise);
		outcome = HY_VALUE;
	}
	return hy_with_end(g, d, outcome);
}

static void free_unwrap(struct hy_graph *g, struct hy_derived *d)
{
	struct unwrap *unwrap = d->ctx;

	if (unwrap->has)
		hy_word_put(g, unwrap->type, unwrap->otherwise);
	hy_free(unwrap);
}

static const struct hy_op op_unwrap_or = {
	.name = "unwrap_or",
	.run = run_unwrap_or,
	.free = free_unwrap,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_GIVES,
};

struct hyphae_cell *hyphae_unwrap_or_at(struct hyphae_cell *input,
					const struct hyphae_type *type,
					const void *otherwise, const char *site)
{
	struct hy_order order;
	struct unwrap *unwrap;
	int error;

	if (!hy_one_begin(&order, &op_unwrap_or, &input, site))
		return NULL;
	order.ctx = unwrap = hy_one_state(&order, sizeof(*unwrap));
	error = hy_one_own_type(&order, type, otherwise);
	if (unwrap && !error) {
		unwrap->type = type;
		error = hy_word_make(order.graph, type, otherwise, NULL,
				     &unwrap->otherwise);
		unwrap->has = !error;
	}
	return hy_one(&order, error);
}
