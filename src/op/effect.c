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
#include "core/subscribe.h"
#include "core/track.h"
#include "core/wave.h"

/*
 * The user's function and its ctx are those of the cell, which is the ctx of
 * the subscription.  Who wants to be told of more than changes has a block
 * beside it, and the subscription has that.
 */
struct kept {
	struct hy_derived *d; /* the subscription holds it */
	void (*cleanup)(void *ctx);
	void (*drop)(void *ctx);
	void *ctx;
	bool owes; /* the function ran, and was not cleaned up after */
};

static int run_effect(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	return hy_run_count(d, out);
}

static int call_effect(const struct hyphae_signal *signal, void *ctx);
static int call_kept(const struct hyphae_signal *signal, void *ctx);

static const struct hy_op op_effect = {
	.name = "effect",
	.run = run_effect,
	.caller = call_effect,
	.flags = OP_SIGNALS | OP_DYNAMIC | OP_BLIND | OP_COUNTS,
};

static const struct hy_op op_kept = {
	.name = "effect",
	.run = run_effect,
	.caller = call_kept,
	.flags = OP_SIGNALS | OP_DYNAMIC | OP_BLIND | OP_COUNTS,
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
	if (reads->marks & TRACK_IDLE ||
	    (reads->marks & TRACK_UNSETTLED && raised) || d->fan_in->again)
		hy_wake(g, d);
	return 0;
}

/* It read something else than the last time, or nothing that can change. */
static NOINLINE int see_to(struct hy_derived *d, struct hy_tracker *reads,
			   int r)
{
	struct hy_graph *g = reads->graph;
	int followed;

	hy_lock(g);
	followed = follow(g, d, reads);
	hy_unlock(g);
	return r ? r : followed;
}

/*
 * A subscription that catches up beside another thread's wave is called where
 * nothing may be linked: then that thread calls it in its next wave.
 */
static NOINLINE bool may_link(struct hy_graph *g, struct hy_derived *d)
{
	bool drainer;

	hy_lock(g);
	drainer = hy_drains(g);
	if (!drainer)
		hy_wake(g, d);
	hy_unlock(g);
	return drainer;
}

/* While it is the drainer, nobody else touches what it follows or reads. */
static ALWAYS_INLINE int call(struct hy_derived *d, bool *owes)
{
	hyphae_effect_fn fn = (hyphae_effect_fn)d->fn;
	struct hy_graph *g = hy_graph_of(&d->cell);
	struct hy_tracker reads;
	int r;

	if (unlikely(hy_shared(g) || !hy_drained(g)) && !may_link(g, d))
		return 0;
	if (owes)
		*owes = true;
	hy_track_begin(&reads, g, d);
	r = fn(d->ctx);
	hy_track_end(&reads);
	if (likely(hy_track_same(&reads) &&
		   d->fan_in->ended < d->fan_in->count))
		return r;
	return see_to(d, &reads, r);
}

static int call_effect(const struct hyphae_signal *signal, void *ctx)
{
	if (unlikely(signal->kind != HYPHAE_VALUE)) /* it is over */
		return 0;
	return call(ctx, NULL);
}

static int call_kept(const struct hyphae_signal *signal, void *ctx)
{
	struct kept *kept = ctx;

	return signal->kind == HYPHAE_VALUE ? call(kept->d, &kept->owes) : 0;
}

/* The subscription was called, perhaps without a call of the function. */
static void clean_up_effect(void *ctx)
{
	struct kept *kept = ctx;

	if (!kept->owes)
		return;
	kept->owes = false;
	kept->cleanup(kept->ctx);
}

static void drop_effect(void *ctx)
{
	struct kept *kept = ctx;

	if (kept->drop)
		kept->drop(kept->ctx);
	hy_free(kept);
}

/* Its first run is in a wave of its own, after the one under way. */
static void call_first(struct hy_graph *g, struct hy_derived *d)
{
	if (hy_drained(g)) {
		hy_more(g, d);
	} else if (unlikely(g->left || hy_queue_used(&g->queue))) {
		hy_wake(g, d);
		hy_bury(g);
	} else {
		hy_drain_begin(g);
		hy_pass_open(g, 0);
		hy_wave_of(g, d);
		if (unlikely(!hy_drain_leave(g)))
			hy_drain_end(g, 0);
	}
}

/* With the lock.  NULL without memory. */
static struct hyphae_subscription *make(struct hy_graph *g, hyphae_effect_fn fn,
					void *ctx, struct kept *kept,
					const char *site)
{
	struct hyphae_subscription *subscription = NULL;
	struct hy_derived *d =
		hy_derive_hidden(g, kept ? &op_kept : &op_effect, &hyphae_int64,
				 (void (*)(void))fn, ctx, site);
	struct hy_sub *s;

	if (!d)
		return NULL;
	if (likely(!kept)) {
		s = hy_subscribe_new(g, &d->cell, call_effect, d, NULL, NULL);
	} else {
		kept->d = d;
		s = hy_subscribe_new(g, &d->cell, call_kept, kept, drop_effect,
				     kept->cleanup ? clean_up_effect : NULL);
	}
	hy_cell_put(g, &d->cell); /* the subscription holds it */
	if (likely(s)) {
		subscription = hy_handle(s, s->id, HY_TAG_SUB);
		call_first(g, d);
	}
	hy_bury(g);
	return subscription;
}

/* The same where all that it takes is there, and nobody propagates. */
static struct hyphae_subscription *make_ready(struct hy_graph *g,
					      hyphae_effect_fn fn, void *ctx,
					      const struct hy_label *label)
{
	struct hyphae_subscription *subscription;
	struct hy_derived *d = hy_hidden_make(g, &op_effect, &hyphae_int64,
					      (void (*)(void))fn, ctx, label);
	struct hy_sub *s = hy_subscribe_ready(g, &d->cell, call_effect, d);

	d->cell.refs--; /* the subscription holds it */
	subscription = hy_handle(s, s->id, HY_TAG_SUB);
	call_first(g, d);
	hy_bury(g);
	return subscription;
}

static struct kept *kept_new(struct hy_graph *g, void *ctx,
			     void (*drop)(void *ctx),
			     void (*cleanup)(void *ctx))
{
	struct kept *kept = hy_alloc_in(g->region, sizeof(*kept));

	if (kept)
		*kept = (struct kept){
			.cleanup = cleanup, .drop = drop, .ctx = ctx};
	return kept;
}

struct hyphae_subscription *
hyphae_effect_with_at(struct hyphae_graph *graph, hyphae_effect_fn fn,
		      void *ctx, void (*drop)(void *ctx),
		      void (*cleanup)(void *ctx), const char *site)
{
	struct hyphae_subscription *subscription = NULL;
	struct hy_graph *g = hy_graph(graph);
	bool keeps = drop || cleanup;
	const struct hy_label *label;
	struct kept *kept = NULL;

	if (likely(g && fn && !keeps)) {
		label = hy_hidden_ready(g, site);
		if (likely(label != NULL))
			return make_ready(g, fn, ctx, label);
	}
	if (unlikely(!g || !fn)) {
		errno = g ? EINVAL : -hy_bad_handle(graph);
	} else if (likely(!keeps || (kept = kept_new(g, ctx, drop, cleanup)))) {
		hy_lock(g);
		subscription = make(g, fn, ctx, kept, site);
		hy_unlock(g);
	}
	if (likely(subscription))
		return subscription;
	if (g && fn)
		errno = ENOMEM;
	hy_free(kept);
	if (drop)
		drop(ctx);
	return NULL;
}
