/* SPDX-License-Identifier: MIT */
/*
 * Effects: a function that is called again when something that it read has
 * changed.
 *
 * One is a subscription of a hidden cell.  That cell follows what the function
 * read the last time, and counts; the function is its subscriber.  So it runs
 * where subscribers do, when all has settled, and may write.
 */
#include <errno.h>

#include "base/alloc.h"
#include "core/derive.h"
#include "core/drain.h"
#include "core/release.h"
#include "core/track.h"
#include "core/wave.h"

struct effect {
	hyphae_effect_fn fn;
	void (*cleanup)(void *ctx);
	void (*drop)(void *ctx);
	void *ctx;
	struct hy_derived *d; /* its subscription holds it */
	bool owes; /* the function ran, and was not cleaned up after */
};

/* `again`: nothing that was read can change any more. */
static int run_effect(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	if (d->fan_in->again)
		return HY_KEEP | HY_END;
	*(int64_t *)out = (int64_t)d->cell.word + 1;
	return HY_VALUE;
}

static int call_effect(const struct hyphae_signal *signal, void *ctx);

static const struct hy_op op_effect = {
	.name = "effect",
	.run = run_effect,
	.caller = call_effect,
	.flags = OP_SIGNALS | OP_DYNAMIC | OP_BLIND,
};

/* Follow what was read.  Nothing follows the cell, so there are no cycles. */
static int follow(struct hy_graph *g, struct hy_derived *d,
		  struct hy_tracker *reads)
{
	bool raised = false;
	int r = hy_track_follow(reads, &raised);

	if (r)
		return r;
	d->fan_in->again = d->fan_in->ended == d->fan_in->count;
	if (reads->idle || (reads->unsettled && raised) || d->fan_in->again)
		hy_wake(g, d);
	return 0;
}

/*
 * A subscription that catches up beside another thread's wave calls this where
 * nothing may be linked: then that thread calls it in its next wave.
 */
static int call_effect(const struct hyphae_signal *signal, void *ctx)
{
	struct effect *e = ctx;
	struct hy_graph *g = hy_graph_of(&e->d->cell);
	struct hy_tracker reads;
	bool drainer;
	int r, followed = 0;

	if (signal->kind != HYPHAE_VALUE) /* it is over */
		return 0;
	hy_lock(g);
	drainer = g->drainer == hy_thread_of(g);
	if (drainer)
		hy_track_begin(&reads, g, e->d);
	else
		hy_wake(g, e->d);
	hy_unlock(g);
	if (!drainer)
		return 0;
	e->owes = true;
	r = e->fn(e->ctx);
	hy_track_end(&reads);
	hy_lock(g);
	if (!hy_track_same(&reads) ||
	    e->d->fan_in->ended == e->d->fan_in->count)
		followed = follow(g, e->d, &reads);
	hy_unlock(g);
	return r ? r : followed;
}

/* The subscription was called, perhaps without a call of the function. */
static void clean_up_effect(void *ctx)
{
	struct effect *e = ctx;

	if (!e->owes)
		return;
	e->owes = false;
	e->cleanup(e->ctx);
}

static void drop_effect(void *ctx)
{
	struct effect *e = ctx;

	if (e->drop)
		e->drop(e->ctx);
	hy_free(e);
}

/* Its first run is in a wave of its own, after the one under way. */
static void call_first(struct hy_graph *g, struct hy_derived *d)
{
	hy_lock(g);
	if (g->drainer)
		hy_more(g, d);
	else
		hy_wake(g, d);
	hy_bury(g);
	hy_unlock(g);
}

/* Takes `e`, also when it fails. */
static struct hyphae_subscription *follow_with(struct effect *e,
					       struct hyphae_cell *cell)
{
	struct hyphae_subscription_options options = {
		.fn = call_effect,
		.ctx = e,
		.drop = drop_effect,
		.cleanup = e->cleanup ? clean_up_effect : NULL,
		.flags = HYPHAE_SKIP_INITIAL};
	struct hyphae_subscription *subscription =
		hyphae_subscribe_options(cell, &options);

	if (subscription)
		call_first(hy_graph_of(hy_cell(cell)),
			   hy_derived_of(hy_cell(cell)));
	hy_cell_undo(cell); /* the subscription holds it */
	return subscription;
}

struct hyphae_subscription *
hyphae_effect_with_at(struct hyphae_graph *graph, hyphae_effect_fn fn,
		      void *ctx, void (*drop)(void *ctx),
		      void (*cleanup)(void *ctx), const char *site)
{
	struct hy_order order = {.graph = hy_graph(graph),
				 .op = &op_effect,
				 .type = &hyphae_int64,
				 .fn = (void (*)(void))fn,
				 .site = site,
				 .hidden = true,
				 .eager = true};
	struct hyphae_cell *cell = NULL;
	struct effect *e = NULL;

	if (!order.graph || !fn)
		errno = order.graph ? EINVAL : -hy_bad_handle(graph);
	else if (!(e = hy_alloc_in(order.graph->region, sizeof(*e))))
		errno = ENOMEM;
	else
		cell = hy_order(&order);
	if (!cell) {
		hy_free(e);
		if (drop)
			drop(ctx);
		return NULL;
	}
	*e = (struct effect){.fn = fn,
			     .cleanup = cleanup,
			     .drop = drop,
			     .ctx = ctx,
			     .d = hy_derived_of(hy_cell(cell))};
	store_relaxed(&hy_tracking, true);
	return follow_with(e, cell);
}
