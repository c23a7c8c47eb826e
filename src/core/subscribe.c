/* SPDX-License-Identifier: MIT */
/* Subscribing and unsubscribing. */
#include "core/subscribe.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/data.h"
#include "core/drain.h"
#include "core/extra.h"
#include "core/fanout.h"
#include "core/label.h"
#include "core/lazy.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"
#include "core/wave.h"

/*
 * What the cell is about to tell is what it holds already.  Not an event, which
 * is held by nobody and would be missed.
 */
static void mark_fresh(struct hy_sub *s)
{
	if ((s->cell->flags & (F_VALUE_NEW | F_EVENT)) == F_VALUE_NEW) {
		s->flags |= SUB_FRESH;
		hy_flags_set(s->cell, F_FRESH, 0);
	} else {
		s->flags &= ~(uint32_t)SUB_FRESH;
	}
}

static inline void sub_link(struct hy_graph *g, struct hy_sub *s,
			    struct hy_cell *c)
{
	struct hy_sub *first = c->subs, *last;

	s->cell = c;
	s->next = NULL;
	if (first) {
		last = first->prev;
		last->next = s;
		first->prev = s;
	} else {
		last = s;
		c->subs = s;
		g->nsubscribed++;
	}
	s->prev = last;
	c->refs++;
	g->nsubs++;
}

/* I7: room for the cell among those that fire, from its first subscriber on. */
static inline bool room_among_fired(struct hy_graph *g, const struct hy_cell *c)
{
	return likely(c->subs != NULL) || hy_fired_room(g, 1);
}

/* Takes `extra`, if it is not NULL, except when it fails. */
static ALWAYS_INLINE struct hy_sub *
sub_new(struct hy_graph *g, struct hy_cell *c, struct hy_extra *extra,
	struct hyphae_subscription_options options)
{
	struct hy_sub *s;

	if (!room_among_fired(g, c) || !hy_scope_reserve(g) || !hy_more_refs(c))
		return NULL;
	s = hy_slot_new(g, HY_CHUNK_SUBSCRIPTION);
	if (!s)
		return NULL;
	s->fn = options.fn;
	s->ctx = options.ctx;
	s->drop = options.drop;
	if (extra) {
		s->ctx = extra;
		s->flags = SUB_EXTRA;
	}
	if (!hy_heap_sub(g, s)) {
		hy_slot_free(g, s);
		return NULL;
	}
	sub_link(g, s, c);
	mark_fresh(s);
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
	struct held held = {c->word, hy_error_of(c), c->flags};

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

/*
 * Tell it what the cell held: the value or error if `value`, and the end in
 * any case.  Returns whether it was told the end.
 */
static bool call_with(struct hy_graph *g, struct hy_sub *s, struct held *held,
		      bool value)
{
	struct hy_cell *c = s->cell;
	struct hyphae_signal signal;
	uint32_t news = F_VALUE_NEW;

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
	if (signal.terminal)
		news = F_END_NEW;
	if (!(held->flags & F_NONE) && (value || signal.terminal) &&
	    hy_hold_back(s, news) && hy_call(g, s, &signal) && signal.terminal)
		return true;
	if (!(held->flags & F_COMPLETE) || !hy_hold_back(s, F_END_NEW))
		return false;
	signal = (struct hyphae_signal){.kind = HYPHAE_COMPLETE,
					.terminal = true,
					.type = c->type,
					.message = "",
					.cell_id = c->id};
	return hy_call(g, s, &signal);
}

/*
 * If another thread drains, its waves pass this subscriber over and leave a
 * mark (SUB_MISSED), and we tell it the newest until there is none: so it is
 * never entered twice at once, and ends on the last value.
 */
void hy_catch_up(struct hy_graph *g, struct hy_sub *s, bool value)
{
	bool concurrent = !hy_drains(g), ended;
	struct hy_turn turn = {s, hy_self.turns};
	uint32_t outer = s->flags & SUB_CALLED;
	struct hy_cell *c = s->cell;

	hy_self.turns = &turn;
	s->flags |= SUB_CALLED;
	if (concurrent) {
		s->flags |= SUB_STARTING;
		g->starting++;
	}
	do {
		struct held held = hold(c);

		mark_fresh(s);
		s->flags &= ~(uint32_t)SUB_ANY_MISSED;
		ended = call_with(g, s, &held, value);
		let_go(g, c, &held);
		value = s->flags & SUB_MISSED;
	} while (!ended && hy_sub_is_behind(s));
	if (ended && !(s->flags & SUB_DEAD))
		hy_sub_end(g, s);
	s->flags &= ~(uint32_t)SUB_CALLED | outer;
	hy_self.turns = turn.outer;
	if (unlikely(g->call_waiters))
		pthread_cond_broadcast(&g->idle);
	if (concurrent) {
		s->flags &= ~(uint32_t)SUB_STARTING;
		g->starting--;
		if (s->flags & SUB_DEAD)
			hy_sub_bury(g, s);
	}
}

/*
 * A lazy cell has been woken by that: its value is the first to be told.  An
 * event holds none: what it says, the wave tells.
 */
static void wake_up(struct hy_graph *g, struct hy_sub *s)
{
	bool event = s->cell->flags & F_EVENT;

	if (!event)
		s->flags |= SUB_STARTING;
	hy_pass_open(g, 0);
	hy_wave(g);
	if (event)
		return;
	s->flags &= ~(uint32_t)(SUB_STARTING | SUB_ANY_MISSED);
	if (s->flags & SUB_DEAD) /* all of the cell were unsubscribed */
		hy_sub_bury(g, s);
}

/*
 * What the cell holds, if `value`, and its end.  `wakes`: it is an event that
 * was idle until now, so the wave tells what it says.
 */
static NOINLINE void tell_first(struct hy_graph *g, struct hy_sub *s,
				struct hy_extra *extra, bool value, bool wakes)
{
	bool drainer = hy_drain_begin(g);

	if (drainer && hy_queue_used(&g->queue))
		wake_up(g, s);
	if (!value && extra)
		hy_extra_passed_over(extra, s->cell);
	if (wakes && drainer)
		value = false; /* the wave has told its error, too */
	if (!(s->flags & SUB_DEAD) && (value || s->cell->flags & F_ENDED))
		hy_catch_up(g, s, value);
	if (drainer)
		hy_drain_end(g, 0);
	else
		hy_bury(g);
}

/* The cell may have ended, or be dead by now. */
static ALWAYS_INLINE struct hyphae_subscription *
subscribe_locked(struct hy_graph *g, struct hyphae_cell *handle,
		 struct hy_extra *extra,
		 struct hyphae_subscription_options options)
{
	bool value = !(options.flags & HYPHAE_SKIP_INITIAL), wakes;
	struct hyphae_subscription *result;
	struct hy_cell *c = hy_cell(handle);
	struct hy_sub *s;

	if (!c || c->flags & F_DEAD) {
		errno = ESTALE;
		return NULL;
	}
	wakes = (c->flags & (F_IDLE | F_EVENT)) == (F_IDLE | F_EVENT);
	s = sub_new(g, c, extra, options);
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	result = hy_handle(s, s->id, HY_TAG_SUB);
	hy_scope_add_sub(g, s);
	if (likely(!value && !extra && !(c->flags & F_ENDED) &&
		   !hy_queue_used(&g->queue)))
		hy_bury(g); /* there is nothing to tell it */
	else
		tell_first(g, s, extra, value, wakes);
	return result;
}

#define KNOWN_FLAGS (HYPHAE_SKIP_INITIAL | HYPHAE_ONCE | HYPHAE_PREVIOUS)

static ALWAYS_INLINE struct hyphae_subscription *
subscribe(struct hyphae_cell *handle,
	  struct hyphae_subscription_options options)
{
	struct hyphae_subscription *result;
	struct hy_cell *c = hy_cell(handle);
	struct hy_extra *extra = NULL;
	struct hy_graph *g;

	if (!c || !options.fn || options.flags & ~(unsigned int)KNOWN_FLAGS) {
		errno = handle && !c ? ESTALE : EINVAL;
		return NULL;
	}
	if (hy_extra_needed(&options)) {
		struct hyphae_subscription_options copy = options;

		extra = hy_extra_new(hy_graph_of(c), &copy);
		if (!extra) {
			errno = ENOMEM;
			return NULL;
		}
	}
	g = hy_graph_of(c);
	hy_lock(g);
	result = subscribe_locked(g, handle, extra, options);
	hy_unlock(g);
	if (!result)
		hy_free(extra);
	return result;
}

struct hy_sub *hy_subscribe_new(struct hy_graph *g, struct hy_cell *c,
				hyphae_subscriber_fn fn, void *ctx,
				void (*drop)(void *ctx),
				void (*cleanup)(void *ctx))
{
	struct hyphae_subscription_options options = {
		.fn = fn, .ctx = ctx, .drop = drop, .cleanup = cleanup};
	struct hy_extra *extra = NULL;
	struct hy_sub *s;

	if (unlikely(cleanup)) {
		struct hyphae_subscription_options copy = options;

		extra = hy_extra_new(g, &copy);
		if (!extra)
			return NULL;
	}
	s = sub_new(g, c, extra, options);
	if (likely(s))
		hy_scope_add_sub(g, s);
	else
		hy_free(extra);
	return s;
}

/* ---- the short way -------------------------------------------------------- */

/* Whoever subscribes to it has to be told something, or it does itself. */
#define F_NOT_QUIET (F_DEAD | F_ENDED | F_LAZY | F_HOOKS | F_VALUE_NEW)

/*
 * The cell has no news, though perhaps in a wave; and nothing is to be told or
 * made but the subscription.
 */
static inline bool subscribes_quietly(struct hy_graph *g,
				      const struct hy_cell *c)
{
	return !unlikely(g->busy & BUSY_SHARED) &&
	       !unlikely(c->flags & F_NOT_QUIET) && hy_more_refs(c) &&
	       !unlikely(g->flags & HYPHAE_HEAP_CELLS) &&
	       !unlikely(hy_self.scope) &&
	       likely(g->free_slots[HY_CHUNK_SUBSCRIPTION] != NULL) &&
	       hy_has_id(g) && likely(c->subs || hy_fired_has_room(g, 1)) &&
	       !unlikely(hy_queue_used(&g->queue));
}

static ALWAYS_INLINE struct hy_sub *
sub_quietly(struct hy_graph *g, struct hy_cell *c, hyphae_subscriber_fn fn,
	    void *ctx, void (*drop)(void *ctx))
{
	struct hy_sub *s = hy_slot_pop(g, HY_CHUNK_SUBSCRIPTION);

	s->fn = fn;
	s->ctx = ctx;
	s->drop = drop;
	s->flags = 0;
	s->pauses = s->blocks = 0;
	sub_link(g, s, c);
	store_relaxed(&c->targets, c->targets + 1);
	store_release(&s->id, hy_id_take(g));
	return s;
}

static ALWAYS_INLINE struct hyphae_subscription *
subscribe_quietly(struct hy_graph *g, struct hy_cell *c,
		  hyphae_subscriber_fn fn, void *ctx, void (*drop)(void *ctx))
{
	struct hy_sub *s = sub_quietly(g, c, fn, ctx, drop);

	return hy_handle(s, s->id, HY_TAG_SUB);
}

struct hy_sub *hy_subscribe_ready(struct hy_graph *g, struct hy_cell *c,
				  hyphae_subscriber_fn fn, void *ctx)
{
	struct hy_sub *s = sub_quietly(g, c, fn, ctx, NULL);

	hy_scope_add_sub(g, s);
	return s;
}

/* ---- and the long one ----------------------------------------------------- */

/* There is no subscription that would do so; errno says why. */
static NOINLINE void drop_refused(void (*drop)(void *ctx), void *ctx)
{
	int error = errno;

	if (drop)
		drop(ctx);
	errno = error;
}

/* Inline and by value, so that options lie in registers. */
static ALWAYS_INLINE struct hyphae_subscription *
subscribe_or_drop(struct hyphae_cell *cell,
		  struct hyphae_subscription_options options)
{
	struct hyphae_subscription *result = subscribe(cell, options);

	if (unlikely(!result))
		drop_refused(options.drop, options.ctx);
	return result;
}

static NOINLINE struct hyphae_subscription *
subscribe_with(struct hyphae_cell *cell, hyphae_subscriber_fn fn, void *ctx,
	       void (*drop)(void *ctx), unsigned int flags)
{
	struct hyphae_subscription_options options = {
		.fn = fn, .ctx = ctx, .drop = drop, .flags = flags};

	return subscribe_or_drop(cell, options);
}

struct hyphae_subscription *
hyphae_subscribe_with(struct hyphae_cell *cell, hyphae_subscriber_fn fn,
		      void *ctx, void (*drop)(void *ctx), unsigned int flags)
{
	struct hy_cell *c = hy_cell(cell);

	if (c && fn && flags == HYPHAE_SKIP_INITIAL &&
	    subscribes_quietly(hy_graph_of(c), c))
		return subscribe_quietly(hy_graph_of(c), c, fn, ctx, drop);
	return subscribe_with(cell, fn, ctx, drop, flags);
}

/* Of the first header that had options. */
#define FIRST_SIZE                                                             \
	(offsetof(struct hyphae_subscription_options, flags) +                 \
	 sizeof(unsigned int))

/* Options of a newer header are fine as long as they are not used. */
static bool any_unknown(const void *options, size_t size)
{
	const unsigned char *bytes = options;

	for (size_t i = sizeof(struct hyphae_subscription_options); i < size;
	     i++)
		if (bytes[i])
			return true;
	return false;
}

struct hyphae_subscription *
hyphae_subscribe_sized(struct hyphae_cell *cell,
		       const struct hyphae_subscription_options *given,
		       size_t size)
{
	struct hyphae_subscription_options options = {0};

	if (!given || size < FIRST_SIZE) {
		errno = EINVAL;
		return NULL;
	}
	memcpy(&options, given,
	       size < sizeof(options) ? size : sizeof(options));
	if (any_unknown(given, size)) {
		errno = EINVAL;
		drop_refused(options.drop, options.ctx);
		return NULL;
	}
	return subscribe_or_drop(cell, options);
}

static NOINLINE int unsubscribe(struct hyphae_subscription *handle)
{
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!s)
		return handle ? -ESTALE : 0;
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (hy_sub_of(handle) && !(s->flags & SUB_DEAD)) {
		hy_sub_give_back(g, s);
		hy_bury(g);
		r = 0;
	}
	hy_unlock(g);
	return r;
}

/*
 * In a wave of a graph of one thread: it goes when that is over (I6).  In a
 * thread-safe one it may be gone by now, and is looked up with the lock.
 */
static NOINLINE int unsubscribe_busy(struct hy_graph *g, struct hy_sub *s,
				     struct hyphae_subscription *handle)
{
	if (unlikely(g->busy & BUSY_SHARED) || unlikely(s->flags))
		return unsubscribe(handle);
	hy_sub_end(g, s);
	return 0;
}

int hyphae_unsubscribe(struct hyphae_subscription *handle)
{
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;

	if (unlikely(!s))
		return unsubscribe(handle);
	g = load_relaxed(&hy_chunk_of(s)->graph);
	if (unlikely(g->busy & (BUSY_SHARED | BUSY_DRAINING)))
		return unsubscribe_busy(g, s, handle);
	if (!hy_sub_goes_quietly(s))
		return unsubscribe(handle);
	hy_sub_go(g, s);
	return 0;
}

/* Is it being called, and not by a call that this thread is inside of? */
static bool called_elsewhere(struct hy_graph *g, const struct hy_sub *s,
			     uint64_t id)
{
	const struct hy_turn *turn = hy_self.turns;

	if (s->id != id)
		return false;
	if (g->calling == s)
		return !hy_drains(g);
	while (turn && turn->sub != s)
		turn = turn->outer;
	return s->flags & SUB_CALLED && !turn;
}

int hyphae_unsubscribe_wait(struct hyphae_subscription *handle)
{
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;
	int r = -ESTALE;
	uint64_t id;

	if (!handle)
		return 0;
	if (!s)
		return -ESTALE;
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (hy_sub_of(handle)) {
		id = s->id;
		if (!(s->flags & SUB_DEAD)) {
			hy_sub_end(g, s);
			r = 0;
		}
		/* It is not freed while it is called; then its id is 0. */
		while (hy_shared(g) && called_elsewhere(g, s, id))
			hy_wait_call(g);
		hy_bury(g);
	}
	hy_unlock(g);
	return r;
}

uint64_t hyphae_subscription_id(const struct hyphae_subscription *handle)
{
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;
	uint64_t id = 0;

	if (!s)
		return 0;
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (hy_sub_of(handle) && !(s->flags & SUB_DEAD))
		id = s->id;
	hy_unlock(g);
	return id;
}

struct hyphae_cell *
hyphae_subscription_cell(const struct hyphae_subscription *handle)
{
	struct hyphae_cell *cell = NULL;
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;

	if (!s)
		return NULL;
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (hy_sub_of(handle) && !(s->flags & SUB_DEAD) &&
	    hy_more_refs(s->cell)) {
		cell = hy_cell_handle(s->cell);
		hy_user_ref(s->cell);
	}
	hy_unlock(g);
	return cell;
}

int hyphae_unsubscribe_all(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);
	struct hy_graph *g;

	if (!c)
		return r;
	g = hy_graph_of(c);
	for (struct hy_sub *s = c->subs; s; s = s->next)
		if (!(s->flags & SUB_DEAD))
			hy_sub_end(g, s);
	hy_bury(g);
	hy_unlock(g);
	return 0;
}
