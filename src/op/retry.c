/* SPDX-License-Identifier: MIT */
/* retry: an inner cell that is made anew when it holds an error. */
#include <errno.h>

#include "base/alloc.h"
#include "op/inner.h"

struct retry {
	hyphae_retry_fn fn;
	void *ctx;
	size_t retries;
	size_t tried;
	struct hy_inner inner;
	bool settling; /* it has been linked, and is to be computed first */
};

static struct hyphae_cell *call_retry(void *arg)
{
	struct retry *s = arg;

	return s->fn(s->tried++, s->ctx);
}

static void leave_try(struct hy_graph *g, struct hy_derived *d, struct retry *s)
{
	struct hy_cut from = hy_cut_begin(g);

	if (d->fan_in->count)
		hy_link_remove(g, d, 0);
	hy_inner_drop(g, &s->inner);
	hy_cut_end(g, &from);
}

/* Make and follow the next try.  0, HY_KEEP (not now) or an error. */
static int next_try(struct hy_graph *g, struct hy_derived *d, struct retry *s)
{
	bool raised = false;
	int r;

	if (!s->inner.cell) {
		r = hy_inner_make(g, &s->inner, call_retry, s, 0, d->cell.type);
		if (r)
			return r;
	}
	s->inner.over = hy_inner_is_over(s->inner.cell);
	r = hy_link_add(g, d, s->inner.cell, &raised);
	if (r < 0)
		return r;
	s->settling = hy_must_settle(g, d);
	return s->settling ? HY_KEEP : 0;
}

/* What the try that is followed has brought; at its end it is let go of. */
static int hear_try(struct hy_graph *g, struct hy_derived *d, struct retry *s,
		    void *out)
{
	int r = hy_inner_hear(g, d, 0, out);

	if (!hy_input_ended(d, 0))
		return r;
	leave_try(g, d, s);
	return d->cell.flags & F_FAILED ? r : r | HY_END;
}

static int run_retry(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct retry *s = d->ctx;
	int r;

	if (s->settling && s->inner.over && d->fan_in->count)
		hy_inner_miss(d, 0);
	s->settling = false;
	for (;;) {
		if (!d->fan_in->count) {
			r = next_try(g, d, s);
			if (r == HY_KEEP)
				return r;
		} else {
			r = 0;
		}
		if (r == 0 && !hy_holds_error(d, 0))
			return hear_try(g, d, s, out);
		if (s->tried > s->retries)
			break;
		leave_try(g, d, s);
	}
	if (r == 0) /* the last one's error, which may heal */
		return hear_try(g, d, s, out);
	hy_set_error(g, &d->cell, hy_error_new(r, ""), true);
	return HY_KEEP;
}

static void free_retry(struct hy_graph *g, struct hy_derived *d)
{
	struct retry *s = d->ctx;

	hy_inner_drop(g, &s->inner);
	hy_free(s);
}

static void reset_retry(struct hy_graph *g, struct hy_derived *d)
{
	struct retry *s = d->ctx;

	hy_inner_drop(g, &s->inner);
	s->tried = 0;
}

static const struct hy_op op_retry = {
	.name = "retry",
	.run = run_retry,
	.free = free_retry,
	.reset = reset_retry,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS,
};

static const struct hy_op op_retry_events = {
	.name = "retry_events",
	.run = run_retry,
	.free = free_retry,
	.reset = reset_retry,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS | OP_EVENT,
};

static struct hyphae_cell *retry(const struct hy_op *op,
				 struct hyphae_graph *graph,
				 const struct hyphae_type *type, size_t retries,
				 hyphae_retry_fn fn, void *ctx,
				 const char *site)
{
	struct hy_order order = {
		.graph = hy_graph(graph), .op = op, .type = type, .site = site};
	struct hyphae_cell *cell;
	struct retry *s;

	if (!order.graph || !fn) {
		errno = order.graph ? EINVAL : -hy_bad_handle(graph);
		return NULL;
	}
	order.ctx = s = hy_zalloc_in(order.graph->region, sizeof(*s));
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->fn = fn;
	s->ctx = ctx;
	s->retries = retries;
	cell = hy_order(&order);
	if (!cell)
		hy_free(s);
	return cell;
}

struct hyphae_cell *hyphae_retry_at(struct hyphae_graph *graph,
				    const struct hyphae_type *type,
				    size_t retries, hyphae_retry_fn fn,
				    void *ctx, const char *site)
{
	return retry(&op_retry, graph, type, retries, fn, ctx, site);
}

struct hyphae_cell *hyphae_retry_events_at(struct hyphae_graph *graph,
					   const struct hyphae_type *type,
					   size_t retries, hyphae_retry_fn fn,
					   void *ctx, const char *site)
{
	return retry(&op_retry_events, graph, type, retries, fn, ctx, site);
}
