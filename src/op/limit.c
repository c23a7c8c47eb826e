/* SPDX-License-Identifier: MIT */
/* Operators that let a part of the values pass: take, skip, first, last. */
#include "hyphae/limits.h"

#include "op/one.h"

struct limit {
	void *ctx;     /* of the user's function */
	size_t n;      /* as ordered */
	size_t left;   /* of them */
	bool open;     /* skip_while, skip_until: values pass from now on */
	bool begun;    /* has been computed since it was made, or woken */
	bool included; /* take_while: the value that ends it passes */
};

static struct limit *limit_new(const struct hy_order *order, void *ctx,
			       size_t n)
{
	struct limit *limit = hy_one_state(order, sizeof(*limit));

	if (limit) {
		limit->ctx = ctx;
		limit->n = limit->left = n;
	}
	return limit;
}

static void reset(struct hy_graph *g, struct hy_derived *d)
{
	struct limit *limit = d->ctx;

	(void)g;
	limit->left = limit->n;
	limit->open = limit->begun = false;
}

#define LIMIT(name_, run_, flags_)                                             \
	{                                                                      \
		.name = (name_), .run = (run_), .free = hy_one_free,           \
		.reset = reset, .flags = OP_SHARES | OP_STREAM | (flags_)      \
	}

static int pass(struct hy_derived *d, void *out)
{
	*(uint64_t *)out = hy_input_word(d, 0);
	return HY_VALUE;
}

/* ---- counted --------------------------------------------------------------- */

static int run_take(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct limit *take = d->ctx;

	(void)g;
	return pass(d, out) | (--take->left ? 0 : HY_END);
}

static int run_take_none(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	(void)d;
	(void)out;
	return HY_KEEP | HY_END;
}

static int run_skip(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct limit *skip = d->ctx;

	(void)g;
	if (!skip->left)
		return pass(d, out);
	skip->left--;
	return hy_nothing(d);
}

static int run_element_at(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int outcome = run_skip(g, d, out);

	return outcome == HY_VALUE ? HY_VALUE | HY_END : outcome;
}

static const struct hy_op op_take = LIMIT("take", run_take, 0);
static const struct hy_op op_take_none =
	LIMIT("take", run_take_none, OP_SIGNALS);
static const struct hy_op op_first = LIMIT("first", run_take, 0);
static const struct hy_op op_skip = LIMIT("skip", run_skip, 0);
static const struct hy_op op_element_at =
	LIMIT("element_at", run_element_at, 0);

static struct hyphae_cell *counted(const struct hy_op *op,
				   struct hyphae_cell *input, size_t n,
				   const char *site)
{
	struct hy_order order;

	if (!hy_one_begin(&order, op, &input, site))
		return NULL;
	order.ctx = limit_new(&order, NULL, n);
	order.eager = op == &op_take_none; /* a lazy one would link it first */
	return hy_one(&order, 0);
}

struct hyphae_cell *hyphae_take_at(struct hyphae_cell *input, size_t n,
				   const char *site)
{
	return counted(n ? &op_take : &op_take_none, input, n, site);
}

struct hyphae_cell *hyphae_first_at(struct hyphae_cell *input, const char *site)
{
	return counted(&op_first, input, 1, site);
}

struct hyphae_cell *hyphae_skip_at(struct hyphae_cell *input, size_t n,
				   const char *site)
{
	return counted(&op_skip, input, n, site);
}

struct hyphae_cell *hyphae_element_at_at(struct hyphae_cell *input, size_t n,
					 const char *site)
{
	return counted(&op_element_at, input, n, site);
}

/* ---- by a function of the value ------------------------------------------- */

/* 1, 0 or a negative errno. */
static int ask(struct hy_graph *g, struct hy_derived *d)
{
	hyphae_filter_fn fn = (hyphae_filter_fn)d->fn;
	const void *value = hy_input_value(d, 0);
	const struct limit *limit = d->ctx;
	int r;

	hy_call_begin(g);
	r = fn(value, limit->ctx);
	hy_call_end(g);
	return r > 0 ? 1 : r;
}

static int run_take_while(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct limit *take = d->ctx;
	int r = ask(g, d);

	if (r < 0)
		return r;
	if (r)
		return pass(d, out);
	return (take->included ? pass(d, out) : hy_nothing(d)) | HY_END;
}

static int run_skip_while(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct limit *skip = d->ctx;
	int r = skip->open ? 0 : ask(g, d);

	if (r < 0)
		return r;
	if (r)
		return hy_nothing(d);
	skip->open = true;
	return pass(d, out);
}

static const struct hy_op op_take_while =
	LIMIT("take_while", run_take_while, 0);
static const struct hy_op op_skip_while =
	LIMIT("skip_while", run_skip_while, 0);

static struct hyphae_cell *by_function(const struct hy_op *op,
				       struct hyphae_cell *input,
				       hyphae_filter_fn fn, bool included,
				       void *ctx, const char *site)
{
	struct hy_order order;
	struct limit *limit;

	if (!hy_one_begin(&order, op, &input, site))
		return NULL;
	order.fn = (void (*)(void))fn;
	order.ctx = limit = limit_new(&order, ctx, 0);
	if (limit)
		limit->included = included;
	return hy_one(&order, fn ? 0 : -EINVAL);
}

struct hyphae_cell *hyphae_take_while_at(struct hyphae_cell *input,
					 hyphae_filter_fn fn, bool inclusive,
					 void *ctx, const char *site)
{
	return by_function(&op_take_while, input, fn, inclusive, ctx, site);
}

struct hyphae_cell *hyphae_skip_while_at(struct hyphae_cell *input,
					 hyphae_filter_fn fn, void *ctx,
					 const char *site)
{
	return by_function(&op_skip_while, input, fn, false, ctx, site);
}

/* ---- by a notifier ----------------------------------------------------------- */

/* What the notifier held when this began does not count. */
static bool fired(const struct hy_derived *d)
{
	const struct limit *limit = d->ctx;

	return limit->begun && hy_brought_value(d, 1);
}

static bool notifier_failed(const struct hy_derived *d)
{
	return hy_holds_error(d, 1) && hy_input_ended(d, 1) &&
	       d->fan_in->edges[1].input->flags & F_FAILED;
}

/* What the input brought, without a look at the notifier. */
static int follow(struct hy_graph *g, struct hy_derived *d, void *out)
{
	if (hy_brought_value(d, 0))
		return hy_with_end(g, d, pass(d, out));
	if (hy_brought_error(d, 0))
		hy_pass_error(g, d, 0);
	else if (hy_brought(d, 0) & MARK_VALUE) /* the input's error went */
		return hy_with_end(g, d, hy_nothing(d));
	return hy_with_end(g, d, HY_KEEP);
}

static int run_take_until(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct limit *take = d->ctx;
	bool stop = fired(d);

	take->begun = true;
	if (stop)
		return HY_KEEP | HY_END;
	if (notifier_failed(d)) {
		hy_pass_error(g, d, 1);
		return HY_KEEP;
	}
	return follow(g, d, out);
}

static int run_skip_until(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct limit *skip = d->ctx;

	skip->open |= fired(d);
	skip->begun = true;
	if (skip->open)
		return follow(g, d, out);
	if (notifier_failed(d)) {
		hy_pass_error(g, d, 1);
		return HY_KEEP;
	}
	if (hy_brought_value(d, 0))
		return hy_with_end(g, d, hy_nothing(d));
	return follow(g, d, out);
}

static const struct hy_op op_take_until =
	LIMIT("take_until", run_take_until, OP_SIGNALS | OP_LEADS);
static const struct hy_op op_skip_until =
	LIMIT("skip_until", run_skip_until, OP_SIGNALS | OP_LEADS);

static struct hyphae_cell *by_notifier(const struct hy_op *op,
				       struct hyphae_cell *input,
				       struct hyphae_cell *notifier,
				       const char *site)
{
	struct hyphae_cell *both[2] = {input, notifier};
	struct hy_order order;

	if (!notifier || !hy_one_begin(&order, op, &input, site))
		return NULL;
	order.inputs = both;
	order.count = 2;
	order.ctx = limit_new(&order, NULL, 0);
	return hy_one(&order, 0);
}

struct hyphae_cell *hyphae_take_until_at(struct hyphae_cell *input,
					 struct hyphae_cell *notifier,
					 const char *site)
{
	return by_notifier(&op_take_until, input, notifier, site);
}

struct hyphae_cell *hyphae_skip_until_at(struct hyphae_cell *input,
					 struct hyphae_cell *notifier,
					 const char *site)
{
	return by_notifier(&op_skip_until, input, notifier, site);
}
