/* SPDX-License-Identifier: MIT */
/* Operators that remember: scan, reduce, pairwise, window, buffer_count. */
#include <errno.h>
#include <string.h>

#include "hyphae/history.h"

#include "op/one.h"

/* ---- scan, reduce: an accumulator --------------------------------------------- */

struct fold {
	const struct hyphae_type *type; /* of the accumulator */
	void *ctx;
	uint64_t initial, acc;
	bool has_initial, has_acc;
};

static void drop_acc(struct hy_graph *g, struct fold *fold)
{
	bool had = fold->has_acc;

	fold->has_acc = false;
	if (had)
		hy_word_put(g, fold->type, fold->acc);
}

static const uint64_t *acc_of(const struct fold *fold)
{
	return fold->has_acc ? &fold->acc : &fold->initial;
}

/*
 * acc = fn(acc, value).  What was the accumulator goes back to the cell, also
 * the first, which was made before the cell had a handle.
 */
static int step(struct hy_graph *g, struct hy_derived *d)
{
	hyphae_fold_fn fn = (hyphae_fold_fn)d->fn;
	const void *value = hy_input_value(d, 0);
	struct fold *fold = d->ctx;
	const void *acc = hy_word_value(fold->type, acc_of(fold));
	uint64_t made;
	void *to = hy_made_begin(d, &made);
	int r;

	if (!to)
		return -ENOMEM;
	hy_call_begin(g);
	r = hy_ran(fn(to, acc, value, fold->ctx));
	hy_call_end(g);
	if (r) {
		hy_made_not(d, made);
		return r;
	}
	if (fold->has_acc && hy_type_boxed(fold->type))
		hy_box_of(fold->acc)->home = hy_cell_handle(&d->cell);
	drop_acc(g, fold);
	fold->acc = made;
	fold->has_acc = true;
	return HY_VALUE;
}

static int give_acc(const struct hy_derived *d, void *out)
{
	*(uint64_t *)out = *acc_of(d->ctx);
	return HY_VALUE;
}

/* It has no value, and not for an error of its own function. */
static bool is_empty(const struct hy_derived *d)
{
	return d->cell.flags & F_NONE ||
	       (d->cell.flags & F_ERROR && hy_brought(d, 0) & MARK_VALUE);
}

static int run_scan(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int r = HY_KEEP;

	if (hy_brought_value(d, 0))
		r = step(g, d);
	else if (hy_holds_error(d, 0))
		hy_pass_error(g, d, 0);
	else if (is_empty(d))
		r = HY_VALUE;
	if (r == HY_VALUE)
		r = give_acc(d, out);
	return hy_with_end(g, d, r);
}

/*
 * When the cell is made another thread may propagate: after the function the
 * input may hold an error that it did not hold before.
 */
static int run_reduce(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int r = HY_KEEP;

	if (hy_brought_value(d, 0)) {
		r = step(g, d);
	} else if (hy_holds_error(d, 0)) {
		hy_pass_error(g, d, 0);
		return hy_with_end(g, d, HY_KEEP);
	}
	if (r < 0)
		return hy_with_end(g, d, r);
	if (hy_input_ended(d, 0))
		return give_acc(d, out) | HY_END;
	/* Also when the input's error went. */
	return hy_brought(d, 0) & MARK_VALUE ? hy_nothing(d) : HY_KEEP;
}

static void reset_fold(struct hy_graph *g, struct hy_derived *d)
{
	drop_acc(g, d->ctx);
}

static void free_fold(struct hy_graph *g, struct hy_derived *d)
{
	struct fold *fold = d->ctx;

	drop_acc(g, fold);
	if (fold->has_initial)
		hy_word_put(g, fold->type, fold->initial);
	hy_free(fold);
}

#define FOLD(name_, run_)                                                      \
	{                                                                      \
		.name = (name_), .run = (run_), .free = free_fold,             \
		.reset = reset_fold,                                           \
		.flags = OP_SIGNALS | OP_SHARES | OP_MAKES                     \
	}
static const struct hy_op op_scan = FOLD("scan", run_scan);
static const struct hy_op op_reduce = FOLD("reduce", run_reduce);

static struct hyphae_cell *fold(const struct hy_op *op,
				struct hyphae_cell *input,
				const struct hyphae_type *type,
				const void *initial, hyphae_fold_fn fn,
				void *ctx, const char *site)
{
	struct hy_order order;
	struct fold *s;
	int error;

	if (!hy_one_begin(&order, op, &input, site))
		return NULL;
	order.type = type;
	order.fn = (void (*)(void))fn;
	order.ctx = s = hy_one_state(&order, sizeof(*s));
	error = fn && initial ? hy_type_check(type) : -EINVAL;
	if (s && !error) {
		s->type = type;
		s->ctx = ctx;
		error = hy_word_make(order.graph, type, initial, NULL,
				     &s->initial);
		s->has_initial = !error;
	}
	return hy_one(&order, error);
}

struct hyphae_cell *hyphae_scan_at(struct hyphae_cell *input,
				   const struct hyphae_type *type,
				   const void *initial, hyphae_fold_fn fn,
				   void *ctx, const char *site)
{
	return fold(&op_scan, input, type, initial, fn, ctx, site);
}

struct hyphae_cell *hyphae_reduce_at(struct hyphae_cell *input,
				     const struct hyphae_type *type,
				     const void *initial, hyphae_fold_fn fn,
				     void *ctx, const char *site)
{
	return fold(&op_reduce, input, type, initial, fn, ctx, site);
}

/* ---- pairwise, window, buffer_count: the last values ------------------------------ */

struct last {
	const struct hyphae_type *type; /* of the input */
	void *ctx;
	size_t n, count;
	const void **values; /* what the function is given */
	uint64_t words[];    /* oldest first */
};

static void last_clear(struct hy_graph *g, struct last *last)
{
	while (last->count)
		hy_word_put(g, last->type, last->words[--last->count]);
}

/* The oldest makes room; it may be dropped, so the new one is in its place. */
static void last_push(struct hy_graph *g, struct hy_derived *d)
{
	struct last *last = d->ctx;
	uint64_t word = hy_word_ref(last->type, hy_input_word(d, 0));
	uint64_t oldest = last->words[0];

	if (last->count < last->n) {
		last->words[last->count++] = word;
		return;
	}
	memmove(last->words, last->words + 1,
		(last->n - 1) * sizeof(*last->words));
	last->words[last->n - 1] = word;
	hy_word_put(g, last->type, oldest);
}

/* The result of all that is kept. */
static int last_result(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_combine_fn fn = (hyphae_combine_fn)d->fn;
	struct last *last = d->ctx;
	int r;

	for (size_t i = 0; i < last->count; i++)
		last->values[i] = hy_word_value(last->type, &last->words[i]);
	hy_call_begin(g);
	r = fn(out, last->values, last->count, last->ctx);
	hy_call_end(g);
	return hy_ran(r);
}

static int run_window(struct hy_graph *g, struct hy_derived *d, void *out)
{
	last_push(g, d);
	return last_result(g, d, out);
}

static int run_pairwise(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct last *last = d->ctx;

	last_push(g, d);
	return last->count < 2 ? hy_nothing(d) : last_result(g, d, out);
}

/* A group is given up before its result goes anywhere. */
static int run_buffer_count(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct last *last = d->ctx;
	int r = HY_KEEP;

	if (hy_brought_value(d, 0))
		last_push(g, d);
	else if (hy_brought_error(d, 0))
		hy_pass_error(g, d, 0);
	if (d->cell.flags & F_FAILED)
		return HY_KEEP;
	if (last->count == last->n || (last->count && hy_input_ended(d, 0))) {
		r = last_result(g, d, out);
		last_clear(g, last);
	} else if (hy_brought(d, 0) & MARK_VALUE && !hy_holds_error(d, 0)) {
		r = hy_nothing(d); /* also when the input's error went */
	}
	return hy_with_end(g, d, r);
}

static void reset_last(struct hy_graph *g, struct hy_derived *d)
{
	last_clear(g, d->ctx);
}

static void free_last(struct hy_graph *g, struct hy_derived *d)
{
	last_clear(g, d->ctx);
	hy_free(d->ctx);
}

#define LAST(name_, run_, flags_)                                              \
	{                                                                      \
		.name = (name_), .run = (run_), .free = free_last,             \
		.reset = reset_last, .flags = OP_STREAM | (flags_)             \
	}
static const struct hy_op op_pairwise = LAST("pairwise", run_pairwise, 0);
static const struct hy_op op_window = LAST("window", run_window, 0);
static const struct hy_op op_buffer_count =
	LAST("buffer_count", run_buffer_count, OP_SIGNALS);

static struct last *last_new(const struct hy_order *order,
			     const struct hyphae_type *type, size_t n,
			     void *ctx)
{
	size_t each = sizeof(uint64_t) + sizeof(const void *);
	struct last *last = hy_one_state(order, sizeof(*last) + n * each);

	if (!last)
		return NULL;
	last->type = type;
	last->ctx = ctx;
	last->n = n;
	last->values = (const void **)(last->words + n);
	return last;
}

static struct hyphae_cell *last_values(const struct hy_op *op,
				       struct hyphae_cell *input, size_t n,
				       const struct hyphae_type *type,
				       hyphae_combine_fn fn, void *ctx,
				       const char *site)
{
	const struct hy_cell *c = hy_cell(input);
	struct hy_order order;

	if (!hy_one_begin(&order, op, &input, site))
		return NULL;
	if (!n || n > HYPHAE_HISTORY_MAX || !fn || !type) {
		errno = EINVAL;
		return NULL;
	}
	order.type = type;
	order.fn = (void (*)(void))fn;
	order.ctx = last_new(&order, load_relaxed(&c->type), n, ctx);
	return hy_one(&order, 0);
}

struct hyphae_cell *hyphae_pairwise_at(struct hyphae_cell *input,
				       const struct hyphae_type *type,
				       hyphae_combine_fn fn, void *ctx,
				       const char *site)
{
	return last_values(&op_pairwise, input, 2, type, fn, ctx, site);
}

struct hyphae_cell *hyphae_window_at(struct hyphae_cell *input, size_t n,
				     const struct hyphae_type *type,
				     hyphae_combine_fn fn, void *ctx,
				     const char *site)
{
	return last_values(&op_window, input, n, type, fn, ctx, site);
}

struct hyphae_cell *hyphae_buffer_count_at(struct hyphae_cell *input, size_t n,
					   const struct hyphae_type *type,
					   hyphae_combine_fn fn, void *ctx,
					   const char *site)
{
	return last_values(&op_buffer_count, input, n, type, fn, ctx, site);
}
