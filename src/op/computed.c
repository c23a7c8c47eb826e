/* SPDX-License-Identifier: MIT */
/*
 * Tracked computation: the inputs are what the function read, found anew at
 * each run.
 */
#include <errno.h>

#include "base/alloc.h"
#include "core/derive.h"
#include "core/scope.h"
#include "core/track.h"
#include "core/wave.h"

/* An error that was read and handed on is the same error, with its message. */
static bool adopt_error(struct hy_graph *g, struct hy_derived *d, int code)
{
	const struct hy_fan_in *in = d->fan_in;

	for (uint32_t i = 0; i < in->count; i++) {
		const struct hy_cell *input = in->edges[i].input;
		struct hy_error *error, *held = hy_error_of(&d->cell);

		if (!(input->flags & F_ERROR))
			continue;
		error = hy_error_of(input);
		if (error->code != code)
			continue;
		if (!(d->cell.flags & F_ERROR) || !hy_error_same(held, error))
			hy_set_error(g, &d->cell, hy_error_ref(error), false);
		return true;
	}
	return false;
}

/* It follows itself, through whatever it read. */
static int cycle(struct hy_graph *g, struct hy_derived *d)
{
	if (hy_link_later(g, d))
		return HY_KEEP;
	hy_cycle_found(g, &d->cell);
	return HY_KEEP;
}

/* Follow what was read.  0, HY_KEEP if the run does not count, or an error. */
static int relink(struct hy_graph *g, struct hy_derived *d,
		  struct hy_tracker *t)
{
	bool raised = false;
	int r = hy_track_follow(t, &raised);

	if (r == -ELOOP)
		return cycle(g, d);
	if (r)
		return r;
	hy_flags_set(&d->cell, 0, F_AGAIN);
	if (t->marks & TRACK_IDLE || (t->marks & TRACK_UNSETTLED && raised)) {
		hy_wake(g, d);
		return HY_KEEP;
	}
	return 0;
}

/* The value that was made does not count. */
static void drop_made(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct hyphae_type *type = d->cell.type;
	struct hy_unlocked saved;

	if (!type->drop)
		return;
	saved = hy_guard_begin(g);
	type->drop(out);
	hy_guard_end(g, saved);
}

static int call(struct hy_graph *g, struct hy_derived *d, struct hy_tracker *t,
		void *out)
{
	hyphae_computed_fn fn = (hyphae_computed_fn)d->fn;
	struct hy_scope *hidden;
	int r;

	d->fan_in->running = true;
	hy_track_begin(t, g, d);
	hidden = hy_scopes_hide(); /* what it makes is its own */
	g->making++;
	hy_call_begin(g);
	r = fn(out, d->ctx);
	hy_call_end(g);
	g->making--;
	hy_scopes_show(hidden);
	hy_track_end(t);
	d->fan_in->running = false;
	return r > 0 ? -EINVAL : r;
}

/* It was to run while it ran: what it read depends on it. */
static int run_again(struct hy_graph *g, struct hy_derived *d, int linked)
{
	d->fan_in->again = false;
	hy_wake(g, d);
	return linked ? linked : HY_KEEP;
}

/* It read the same as the last time, and there is nothing else to it. */
static bool is_settled(const struct hy_derived *d, const struct hy_tracker *t)
{
	return hy_track_same(t) && !(d->cell.flags & (F_AGAIN | F_DEAD)) &&
	       !d->fan_in->again;
}

/* What `call` returned; `out` holds a value if that is 0. */
static NOINLINE int see_to(struct hy_graph *g, struct hy_derived *d,
			   struct hy_tracker *reads, int r, void *out)
{
	int linked = HY_KEEP;

	/* Released in its own function it follows nothing any more. */
	if (d->cell.flags & F_DEAD)
		hy_track_forget(reads);
	else
		linked = is_settled(d, reads) ? 0 : relink(g, d, reads);
	if (unlikely(d->fan_in->again))
		linked = run_again(g, d, linked);
	if (linked) {
		if (r == 0)
			drop_made(g, d, out);
		return linked;
	}
	if (r < 0 && adopt_error(g, d, r))
		r = HY_KEEP;
	if (d->fan_in->ended < d->fan_in->count)
		return r;
	/* Nothing that it read can change any more. */
	if (r < 0) {
		hy_set_failure(g, &d->cell, r);
		r = HY_KEEP;
	}
	return r | HY_END;
}

static int run_computed(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct hy_tracker reads;
	int r;

	if (unlikely(d->fan_in->running)) {
		d->fan_in->again = true;
		return HY_KEEP;
	}
	r = call(g, d, &reads, out);
	if (likely(r == 0 && is_settled(d, &reads) &&
		   d->fan_in->ended < d->fan_in->count))
		return HY_VALUE;
	return see_to(g, d, &reads, r, out);
}

static const struct hy_op hy_op_computed = {
	.name = "computed",
	.run = run_computed,
	.flags = OP_SIGNALS | OP_DYNAMIC | OP_BLIND,
};

struct hyphae_cell *hyphae_computed_at(struct hyphae_graph *graph,
				       const struct hyphae_type *type,
				       hyphae_computed_fn fn, void *ctx,
				       const char *site)
{
	struct hy_order order = {.graph = hy_graph(graph),
				 .op = &hy_op_computed,
				 .type = type,
				 .fn = (void (*)(void))fn,
				 .ctx = ctx,
				 .site = site};

	if (!order.graph || !fn) {
		errno = order.graph ? EINVAL : -hy_bad_handle(graph);
		return NULL;
	}
	return hy_order(&order);
}
