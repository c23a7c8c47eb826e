/* SPDX-License-Identifier: MIT */
/* Subscribing and unsubscribing. */
#include <errno.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/lazy.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"
#include "core/wave.h"

static inline struct hy_sub *sub_of(const struct hyphae_subscription *handle)
{
	return hy_slot(handle);
}

/* I7: a wave may note every subscribed cell. */
static bool make_room(struct hy_graph *g)
{
	struct hy_fired *fired = hy_reserve(g->fired, &g->fired_capacity,
					    g->nsubscribed + 1, sizeof(*fired));

	if (fired)
		g->fired = fired;
	return fired;
}

static struct hy_sub *sub_new(struct hy_graph *g, struct hy_cell *c,
			      hyphae_subscriber_fn fn, void *ctx,
			      void (*drop)(void *ctx))
{
	struct hy_sub *s;

	if (!make_room(g) || !hy_scope_reserve(g))
		return NULL;
	s = hy_slot_new(g, HY_CHUNK_SUBSCRIPTION);
	if (!s)
		return NULL;
	s->fn = fn;
	s->ctx = ctx;
	s->drop = drop;
	s->cell = c;
	if (c->subs) {
		s->prev = c->subs->prev;
		s->prev->next = s;
		c->subs->prev = s;
	} else {
		s->prev = s;
		c->subs = s;
		g->nsubscribed++;
	}
	hy_cold_of(c)->refs++;
	g->nsubs++;
	store_release(&s->id, hy_id_new(g));
	hy_targeted(g, c);
	return s;
}

/* What the cell holds now, kept alive for one call. */
struct held {
	uint64_t word;
	struct hy_error *error;
	uint32_t flags;
};

static struct held hold(struct hy_cell *c)
{
	struct held held = {c->word, hy_cold_of(c)->error, c->flags};

	/* An event that is over is not held. */
	if (held.flags & F_EVENT && !(held.flags & F_ERROR))
		held.flags |= F_NONE;
	if (held.flags & F_ERROR)
		hy_error_ref(held.error);
	else if (held.flags & F_BOXED && held.word)
		hy_box_ref(hy_box_of(held.word));
	return held;
}

static void let_go(struct hy_graph *g, struct hy_cell *c, struct held *held)
{
	if (held->flags & F_ERROR)
		hy_error_unref(held->error);
	else if (held->flags & F_BOXED && held->word)
		hy_box_put(g, c->type, hy_box_of(held->word));
}

static void call_with(struct hy_graph *g, struct hy_sub *s, struct held *held,
		      bool value)
{
	struct hy_cell *c = s->cell;
	struct hyphae_signal signal;

	hy_signal_init(&signal, c);
	if (held->flags & F_ERROR) {
		signal.kind = HYPHAE_ERROR;
		signal.value = NULL;
		signal.code = held->error->code;
		signal.message = held->error->message;
		signal.terminal = held->flags & F_FAILED;
	} else {
		signal.value = &held->word;
		if (held->flags & F_BOXED)
			signal.value = held->word
					       ? hy_box_of(held->word)->payload
					       : NULL;
	}
	if (!(held->flags & F_NONE) && (value || signal.terminal))
		hy_call(g, s, &signal);
	if (!(held->flags & F_COMPLETE) || s->flags & SUB_DEAD)
		return;
	signal = (struct hyphae_signal){.kind = HYPHAE_COMPLETE,
					.terminal = true,
					.type = c->type,
					.message = "",
					.cell_id = c->id};
	hy_call(g, s, &signal);
}

/*
 * The first call.  If another thread drains, its waves pass this subscriber
 * over and leave a mark (SUB_MISSED), and we tell it the newest until there
 * is none: so it is never entered twice at once, and ends on the last value.
 * `value`: not only the end.  Returns whether it was told the end.
 */
static bool start(struct hy_graph *g, struct hy_sub *s, bool value)
{
	struct held held;
	struct hy_cell *c = s->cell;
	bool concurrent = g->drainer != hy_thread_of(g);

	if (concurrent) {
		s->flags |= SUB_STARTING;
		g->starting++;
	}
	do {
		held = hold(c);
		s->flags &= ~(uint32_t)SUB_MISSED;
		call_with(g, s, &held, value);
		let_go(g, c, &held);
	} while (s->flags & SUB_MISSED && !(s->flags & SUB_DEAD) &&
		 !(held.flags & F_ENDED));
	s->flags &= ~(uint32_t)(SUB_STARTING | SUB_MISSED);
	if (concurrent) {
		g->starting--;
		if (s->flags & SUB_DEAD) {
			hy_sub_bury(g, s);
			return false;
		}
	}
	return held.flags & F_ENDED && !(s->flags & SUB_DEAD);
}

/* A lazy cell has been woken by that: its value is the first to be told. */
static void wake_up(struct hy_graph *g, struct hy_sub *s)
{
	s->flags |= SUB_STARTING;
	hy_pass_open(g, 0);
	hy_wave(g);
	s->flags &= ~(uint32_t)(SUB_STARTING | SUB_MISSED);
}

struct hyphae_subscription *
hyphae_subscribe_with(struct hyphae_cell *handle, hyphae_subscriber_fn fn,
		      void *ctx, void (*drop)(void *ctx), unsigned int flags)
{
	struct hy_cell *c = hy_cell(handle);
	struct hyphae_subscription *result = NULL;
	struct hy_graph *g;
	struct hy_sub *s;
	int error = EINVAL;
	bool drainer, told;

	if (!c || !fn || flags & ~(unsigned int)HYPHAE_SKIP_INITIAL) {
		if (handle && !c)
			error = ESTALE;
		goto refused;
	}
	g = hy_graph_of(c);
	hy_lock(g);
	if (!hy_cell(handle) || c->flags & F_DEAD) {
		hy_unlock(g);
		error = ESTALE;
		goto refused;
	}
	s = sub_new(g, c, fn, ctx, drop);
	if (!s) {
		hy_unlock(g);
		error = ENOMEM;
		goto refused;
	}
	result = hy_handle(s, s->id);
	hy_scope_add_sub(g, s);
	drainer = hy_drain_begin(g);
	if (drainer && hy_queue_used(&g->queue))
		wake_up(g, s);
	told = !(flags & HYPHAE_SKIP_INITIAL);
	if ((told || c->flags & F_ENDED) && start(g, s, told))
		hy_sub_end(g, s);
	if (drainer)
		hy_drain_end(g, 0);
	else
		hy_bury(g);
	hy_unlock(g);
	return result;
refused:
	if (drop)
		drop(ctx);
	errno = error;
	return NULL;
}

int hyphae_unsubscribe(struct hyphae_subscription *handle)
{
	struct hy_sub *s = sub_of(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!handle)
		return 0;
	if (!s)
		return -ESTALE;
	g = hy_chunk_of(s)->graph;
	hy_lock(g);
	if (sub_of(handle) && !(s->flags & SUB_DEAD)) {
		hy_sub_end(g, s);
		hy_bury(g);
		r = 0;
	}
	hy_unlock(g);
	return r;
}

uint64_t hyphae_subscription_id(const struct hyphae_subscription *handle)
{
	struct hy_sub *s = sub_of(handle);
	struct hy_graph *g;
	uint64_t id = 0;

	if (!s)
		return 0;
	g = hy_chunk_of(s)->graph;
	hy_lock(g);
	if (sub_of(handle) && !(s->flags & SUB_DEAD))
		id = s->id;
	hy_unlock(g);
	return id;
}
