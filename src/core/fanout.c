/* SPDX-License-Identifier: MIT */
/*
 * A cell that changed tells its targets: derived cells are queued (spread),
 * subscribers are called (deliver), when all cells have settled, in order of
 * subscription over all cells that fired.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "core/extra.h"
#include "core/fanout.h"
#include "core/link.h"
#include "core/probe.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/track.h"
#include "core/watch.h"

/* A change of state, or of where the value lies: the follower notes it. */
static void update_follower(struct hy_cell *c, struct hy_edge *e)
{
	struct hy_derived *d = hy_edge_owner(e);
	struct hy_cell *owner = &d->cell;
	uint32_t brought = 0;

	if (owner->flags & F_NARY) {
		if (c->flags & F_VALUE_NEW)
			brought |= MARK_VALUE;
		if (c->flags & F_UNSPREAD)
			brought |= c->flags & F_FAILED ? MARK_VALUE | MARK_END
						       : MARK_END;
		hy_fan_in_note(d, (uint32_t)(e - d->fan_in->edges), brought);
		return;
	}
	if (c->flags & F_END_NEW)
		hy_flags_set(owner, F_INPUT_ENDED, 0);
	if (c->flags & (F_TURNED | F_EVENT))
		hy_flags_set(owner, c->flags & F_NO_VALUE ? F_BLOCKED : 0,
			     F_BLOCKED);
}

/* An operator that decides everything is computed whatever it is touched by. */
static uint32_t why_for(const struct hy_edge *e, uint32_t why)
{
	return hy_edge_owner(e)->cell.flags & F_SIGNALS ? F_VALUE_TOUCH : why;
}

/* The last pushed is the first to run: back to front. */
static void push_backwards(struct hy_graph *g, struct hy_edge *head,
			   uint32_t why)
{
	struct hy_edge *e = head;

	do {
		e = e->prev;
		g->stack[g->nstack++] = (struct hy_eager_entry){
			&hy_edge_owner(e)->cell, g->depth + 1,
			(uint16_t)why_for(e, why), 0};
	} while (e != head);
}

/* Nobody has to be told more, so none holds an error (F_TELLS). */
void hy_spread_many(struct hy_graph *g, struct hy_edge *first)
{
	struct hy_edge *e = first;

	do
		hy_queue_push(&g->queue, e->owner, F_VALUE_TOUCH);
	while ((e = e->next));
}

/* Then it waits already, and nothing else that it could be told is news. */
static inline bool is_touched(const struct hy_derived *d)
{
	return d->cell.flags & F_VALUE_TOUCH;
}

/*
 * The same: as long as nothing is called, no register is saved for it.  Of
 * those that wait already there are most, so they are a loop of their own.
 */
static ALWAYS_INLINE void spread_near(struct hy_graph *g, struct hy_edge *first)
{
	struct hy_edge *e = first;

	for (;;) {
		while (is_touched(e->owner)) {
			e = e->next;
			if (!e)
				return;
			__asm__ volatile("");
		}
		if (unlikely(!hy_queue_push_near(&g->queue, e->owner,
						 F_VALUE_TOUCH))) {
			hy_spread_many(g, e);
			return;
		}
		e = e->next;
		if (likely(!e))
			return;
	}
}

/*
 * The same in a large wave of a graph that no cache holds.  Whether a follower
 * waits already is anybody's guess, and that one has guessed wrong is known
 * late, when its flags have come from memory; so nothing is jumped over.
 * Behind the last in its bucket is put who is told, and it counts if it is new.
 */
static NOINLINE void spread_unseen(struct hy_graph *g, struct hy_edge *first)
{
	struct hy_queue *queue = &g->queue;
	struct hy_edge *e = first;
	uint32_t told = 0;

	do {
		struct hy_derived *d = e->owner, *last;
		uint32_t flags = d->cell.flags, queued = flags & F_QUEUED;
		struct hy_bucket *bucket = &queue->buckets[d->cell.height];

		told++;
		if (unlikely(!bucket->first)) {
			hy_queue_push(queue, d, F_VALUE_TOUCH);
			continue;
		}
		last = bucket->last;
		last->next_queued = d;
		bucket->last = queued ? last : d;
		store_relaxed(&d->cell.flags, flags | F_QUEUED | F_VALUE_TOUCH);
	} while ((e = e->next));
	hy_queue_told(queue, told);
}

static ALWAYS_INLINE void spread_plainly(struct hy_graph *g,
					 struct hy_edge *first)
{
	if (unlikely(g->queue.large))
		spread_unseen(g, first);
	else
		spread_near(g, first);
}

/* What is not just one plain value that replaces another. */
static NOINLINE void spread_news(struct hy_graph *g, struct hy_cell *c)
{
	hy_spread(g, c);
	hy_flags_set(c, 0, F_NEWS);
}

void hy_spread_slowly(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_edge *head = c->deps, *e;
	uint32_t why = F_VALUE_TOUCH, told = F_TURNED | F_UNSPREAD;
	uint32_t mind = c->flags & F_EVENT;

	if (c->flags & F_SLOW_SPREAD) {
		if (!(c->flags & F_VALUE_NEW))
			why = 0;
		for (e = head; e; e = e->next) {
			update_follower(c, e);
			mind |= hy_edge_owner(e)->cell.flags &
				(F_SIGNALS | F_ERROR);
		}
		hy_flags_set(c, 0, mind ? told : told | F_TELLS);
	}
	if (g->depth_first && head) {
		push_backwards(g, head, why);
		return;
	}
	for (e = head; e; e = e->next)
		hy_queue_push(&g->queue, hy_edge_owner(e), why_for(e, why));
}

NOINLINE void hy_returned(struct hy_graph *g, struct hy_sub *s, int r)
{
	char who[64 + HYPHAE_NAME_MAX], text[HY_FAILURE_TEXT_MAX];
	const struct hy_cell *c = s->cell;

	if (r > 0) {
		if (!(s->flags & SUB_DEAD))
			hy_sub_end(g, s);
		return;
	}
	snprintf(who, sizeof(who), "Subscriber #%llu of cell #%llu%s%s",
		 (unsigned long long)s->id, (unsigned long long)c->id,
		 *c->name ? " " : "", c->name);
	r = hy_failure_text(text, sizeof(text), who, r,
			    "; the others are called all the same.");
	/* A first call beside the drainer is nobody's write. */
	if (!g->result && hy_drains(g)) {
		g->result = r;
		g->left = true;
	}
	hy_problem(g, s->cell, r, text);
}

static ALWAYS_INLINE void call(struct hy_graph *g, struct hy_sub *s,
			       const struct hyphae_signal *signal, bool in_wave)
{
	/* Read under the lock: it may be ended by another thread meanwhile. */
	hyphae_subscriber_fn fn = s->fn;
	void *ctx = s->ctx;
	int r;

	if (in_wave)
		hy_turn_begin(g, s);
	else
		hy_call_begin(g);
	r = fn(signal, ctx);
	if (in_wave)
		hy_turn_end(g);
	else
		hy_call_end(g);
	if (unlikely(r))
		hy_returned(g, s, r);
}

/* The same of any subscriber; false if its clean-up kept it from being told. */
static bool tell(struct hy_graph *g, struct hy_sub *s,
		 const struct hyphae_signal *signal)
{
	bool told = true;
	int r;

	if (s->flags & SUB_EXTRA) {
		r = hy_extra_call(g, s, signal, &told);
		if (r)
			hy_returned(g, s, r);
	} else {
		call(g, s, signal, false);
	}
	return told;
}

bool hy_call(struct hy_graph *g, struct hy_sub *s,
	     const struct hyphae_signal *signal)
{
	struct hy_graph *saved = hy_stretch_begin(g, false);
	struct hy_tracker *tracker = hy_track_suspend();
	bool told = tell(g, s, signal);

	hy_track_resume(tracker);
	hy_stretch_end(g, saved);
	return told;
}

static bool tell_in_wave(struct hy_graph *g, struct hy_sub *s,
			 const struct hyphae_signal *signal)
{
	bool told;

	hy_turn_mark(g, s);
	told = tell(g, s, signal);
	hy_turn_over(g);
	return told;
}

void hy_signal_error(struct hyphae_signal *signal, const struct hy_cell *c)
{
	const struct hy_error *error = hy_error_of(c);

	signal->kind = HYPHAE_ERROR;
	signal->value = NULL;
	signal->terminal = c->flags & F_FAILED;
	signal->code = error->code;
	signal->message = error->message;
}

static void end_signal(struct hyphae_signal *signal, const struct hy_cell *c)
{
	signal->terminal = true;
	signal->kind = HYPHAE_COMPLETE;
	signal->value = NULL;
	signal->code = 0; /* of an error that was told before */
	signal->message = "";
	if (c->flags & F_FAILED)
		hy_signal_error(signal, c);
}

uint32_t hy_hold_back(struct hy_sub *s, uint32_t news)
{
	if (s->flags & SUB_DEAD)
		return 0;
	if (s->flags & SUB_BLOCKED)
		news &= ~(uint32_t)F_VALUE_NEW; /* lost, as it asked for */
	if (!(s->flags & SUB_HELD))
		return news;
	hy_sub_missed(s, news);
	return 0;
}

/*
 * What of the cell's news a fan-out tells the subscriber: a new value, if
 * nothing else is known.
 */
static uint32_t news_for(struct hy_sub *s)
{
	uint32_t news = s->cell->flags & F_NEWS;

	if (!news)
		news = F_VALUE_NEW;
	if (likely(!s->flags))
		return news;
	if (s->flags & SUB_FRESH) {
		s->flags &= ~(uint32_t)SUB_FRESH;
		news &= ~(uint32_t)F_VALUE_NEW;
	}
	news = hy_hold_back(s, news);
	if (!(s->flags & SUB_STARTING))
		return news;
	hy_sub_missed(s, news);
	return 0;
}

/*
 * A subscriber with marks, or signals that are not just one value.  Returns
 * whether it was called.
 */
static NOINLINE bool tell_slowly(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_cell *c = s->cell;
	uint32_t news = news_for(s);
	struct hyphae_signal signal;

	hy_signal_init(&signal, c);
	if (news & F_VALUE_NEW) {
		if (c->flags & F_ERROR) {
			hy_signal_error(&signal, c);
			signal.terminal = false;
		}
		if (!(c->flags & (F_FAILED | F_NONE)))
			tell_in_wave(g, s, &signal);
	}
	if (news & F_END_NEW && hy_hold_back(s, F_END_NEW)) {
		end_signal(&signal, c);
		if (tell_in_wave(g, s, &signal) && !(s->flags & SUB_DEAD))
			hy_sub_end(g, s);
	}
	return news;
}

/* What there is to tell is more than one value. */
#define F_NO_PLAIN_SIGNAL (F_NO_VALUE | F_END_NEW)

/*
 * No lock, no function under way that may not write (a tracked one is another
 * graph's), and of the cell nothing of `unusual`.
 */
static inline bool is_plain(const struct hy_graph *g, const struct hy_cell *c,
			    uint32_t unusual)
{
	return !(g->busy & (BUSY_SHARED | BUSY_GUARD)) && !hy_tracked() &&
	       !(c->flags & unusual);
}

/*
 * The signal of one value.  A graph has one, most of which never changes: its
 * next fan-out begins when the subscribers of this one have returned.
 */
static inline const struct hyphae_signal *
plain_signal(struct hy_graph *g, const struct hy_cell *c,
	     const struct hyphae_type *type, const void *value)
{
	g->signal.type = type;
	g->signal.value = value;
	g->signal.cell_id = c->id;
	return &g->signal;
}

/* The hot loop of a single-threaded graph: subscribers without marks. */
static NOINLINE void run_plainly(struct hy_graph *g, struct hy_cell *c,
				 struct hy_sub *s, const struct hy_sub *last)
{
	const struct hyphae_signal *signal =
		plain_signal(g, c, c->type, hy_value_of(c));

	for (;;) {
		if (likely(!s->flags)) {
			int r = s->fn(signal, s->ctx);

			if (unlikely(r))
				hy_returned(g, s, r);
		} else {
			tell_slowly(g, s);
		}
		if (s == last)
			break;
		s = s->next;
	}
}

/* The same of a thread-safe one, whose lock is let go of around each. */
static inline bool is_plain_locked(struct hy_graph *g, const struct hy_cell *c)
{
	return hy_shared(g) && !hy_guarded(g) && !hy_tracked() &&
	       !(c->flags & F_NO_PLAIN_SIGNAL);
}

/* The call of one without marks in a wave of a shared graph. */
static ALWAYS_INLINE void call_locked(struct hy_graph *g, struct hy_sub *s,
				      const struct hyphae_signal *signal)
{
	/* Read under the lock: it may be ended by another thread meanwhile. */
	hyphae_subscriber_fn fn = s->fn;
	void *ctx = s->ctx;
	int r;

	g->calling = s;
	hy_lock_leave(&g->lock);
	r = fn(signal, ctx);
	hy_lock_enter(&g->lock);
	hy_turn_over_shared(g);
	if (unlikely(r))
		hy_returned(g, s, r);
}

static inline void run_locked(struct hy_graph *g, struct hy_cell *c,
			      struct hy_sub *s, const struct hy_sub *last)
{
	const struct hyphae_signal *signal =
		plain_signal(g, c, c->type, hy_value_of(c));

	for (;;) {
		if (likely(!s->flags))
			call_locked(g, s, signal);
		else
			tell_slowly(g, s);
		if (likely(s == last))
			break;
		s = s->next;
	}
}

/* Returns how many were called. */
static NOINLINE uint64_t run_any(struct hy_graph *g, struct hy_cell *c,
				 struct hy_sub *s, const struct hy_sub *last)
{
	struct hy_graph *saved = hy_stretch_begin(g, false);
	struct hy_tracker *tracker = hy_track_suspend(); /* another graph's */
	bool plain = !(c->flags & (F_NO_VALUE | F_END_NEW));
	struct hyphae_signal signal;
	uint64_t called = 0;

	hy_signal_init(&signal, c);
	for (;;) {
		if (likely(plain && !s->flags)) {
			called++;
			call(g, s, &signal, true);
		} else {
			called += tell_slowly(g, s);
		}
		if (s == last)
			break;
		s = s->next;
	}
	hy_track_resume(tracker);
	hy_stretch_end(g, saved);
	return called;
}

/* Like run_any(), with a clock around each call. */
static uint64_t time_subscribers(struct hy_graph *g, struct hy_sub *s,
				 const struct hy_sub *last)
{
	struct hy_graph *saved = hy_stretch_begin(g, false);
	uint64_t called = 0, start;

	for (;; s = s->next) {
		hyphae_subscriber_fn fn = s->fn; /* gone if it ends itself */

		start = hy_clock_last(g);
		if (tell_slowly(g, s)) {
			called++;
			hy_watch_subscriber(g, s, fn, hy_clock_since(g, start));
		}
		if (s == last)
			break;
	}
	hy_stretch_end(g, saved);
	return called;
}

/* A part of a fan-out to subscribers while somebody watches: its duration. */
static uint64_t watched_part(struct hy_graph *g, struct hy_cell *c,
			     struct hy_sub *first, const struct hy_sub *last,
			     uint64_t start)
{
	if (hy_gate.detail)
		g->called = time_subscribers(g, first, last);
	else
		g->called = run_any(g, c, first, last);
	return hy_clock_since(g, start);
}

static inline struct hy_fired_part *fired_parts(struct hy_graph *g)
{
	return (struct hy_fired_part *)(g->fired + g->fired_capacity);
}

static NOINLINE void fanout_watched(struct hy_graph *g, struct hy_cell *c,
				    const void *whom, const struct hy_sub *last,
				    uint64_t height)
{
	uint64_t start = hy_clock_last(g), ns;

	if (!whom || whom == c->deps) {
		if (whom)
			hy_spread(g, c);
		hy_watch_fanout(g, c, height, start, hy_clock_since(g, start),
				0);
		hy_flags_set(c, 0, F_NEWS);
		return;
	}
	ns = watched_part(g, c, (struct hy_sub *)whom, last, start);
	if (!g->nfired || g->fired[0].cell != c || !last->next ||
	    last->next->id > g->deliver_limit) {
		hy_watch_fanout(g, c, height, start, ns, g->called);
	} else {
		/* More subscribers of this cell come later: see deliver(). */
		*fired_parts(g) = (struct hy_fired_part){start, ns, g->called};
	}
}

/* Subscribers, and not of a plain word in one thread. */
static NOINLINE void tell_subscribers(struct hy_graph *g, struct hy_cell *c,
				      struct hy_sub *first,
				      const struct hy_sub *last)
{
	if (likely(is_plain_locked(g, c)))
		run_locked(g, c, first, last);
	else if (is_plain(g, c, F_NO_PLAIN_SIGNAL))
		run_plainly(g, c, first, last);
	else
		run_any(g, c, first, last);
}

/*
 * In an eager wave F_VALUE_NEW is set, for the followers go elsewhere.
 * The result is what the only subscriber returned, for the caller to see to.
 */
HY_FRAME int hy_fanout(struct hy_graph *g, struct hy_cell *c, const void *whom,
		       const struct hy_sub *last, uint64_t height,
		       const struct hyphae_type *type)
{
	struct hy_sub *s = (struct hy_sub *)whom;
	int result = 0;

	hy_probe_fanout(g, c, type, height);
	if (hy_watched()) {
		fanout_watched(g, c, whom, last, height);
	} else if (unlikely(!whom)) {
		result = (int)hy_whatever();
	} else if (whom == c->deps) {
		if (likely(!(c->flags & (F_SLOW_SPREAD | F_NEWS))))
			spread_plainly(g, c->deps);
		else
			spread_news(g, c);
	} else if (likely(is_plain(g, c, F_NO_PLAIN_SIGNAL | F_BOXED))) {
		if (likely(s == last) && likely(!s->flags))
			result = s->fn(plain_signal(g, c, type, &c->word),
				       s->ctx);
		else
			run_plainly(g, c, s, last);
	} else {
		tell_subscribers(g, c, s, last);
	}
	HY_FRAME_END();
	return result;
}

void hy_fanout_in_frame(struct hy_graph *g, struct hy_cell *c, uint64_t height,
			struct hy_sub *first, const struct hy_sub *last)
{
	struct hyphae_fanout_call f = {g, c, height, first, last};

	c->type->frame(&f);
}

HY_FRAME void hyphae_fanout_run(struct hyphae_fanout_call *f)
{
	hy_fanout_to(f->g, f->c, f->height, f->first, f->last, f->c->type);
	HY_FRAME_END();
}

/* ---- deliver: subscribers, in order of subscription ----------------- */

bool hy_fired_enlarge(struct hy_graph *g, size_t want)
{
	size_t had = g->fired_capacity;
	struct hy_fired *fired;

	fired = hy_enlarge_in(g->region, g->fired, &g->fired_capacity, want,
			      HY_FIRED_BYTES);
	if (!fired)
		return false;
	g->fired = fired;
	/* No more than are in use: the rest need not be there yet. */
	memmove(fired_parts(g), fired + had,
		g->nfired * sizeof(struct hy_fired_part));
	return true;
}

void hy_forget_fresh(struct hy_cell *c)
{
	hy_flags_set(c, 0, F_FRESH);
	for (struct hy_sub *s = c->subs; s; s = s->next)
		s->flags &= ~(uint32_t)SUB_FRESH;
}

static void sift_down(struct hy_graph *g, size_t count, size_t at)
{
	struct hy_fired_part *parts = fired_parts(g), part = parts[at];
	struct hy_fired *heap = g->fired, item = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count &&
		    heap[child + 1].next->id < heap[child].next->id)
			child++;
		if (heap[child].next->id >= item.next->id)
			break;
		heap[at] = heap[child];
		parts[at] = parts[child];
		at = child;
	}
	heap[at] = item;
	parts[at] = part;
}

static bool in_order(const struct hy_graph *g)
{
	const struct hy_fired *f = g->fired, *end = f + g->nfired;

	while (++f < end)
		if (f[-1].next->prev->id > f->next->id)
			return false;
	return true;
}

/* Continue a fan-out whose beginning other cells' subscribers cut short. */
static NOINLINE void resume_fanout(struct hy_graph *g, struct hy_cell *c,
				   struct hy_sub *first,
				   const struct hy_sub *last)
{
	if (hy_watched()) {
		uint64_t ns = watched_part(g, c, first, last, hy_clock_last(g));

		fired_parts(g)->spent_ns += ns;
		fired_parts(g)->called += g->called;
	} else if (is_plain(g, c, F_NO_PLAIN_SIGNAL)) {
		run_plainly(g, c, first, last);
	} else {
		run_any(g, c, first, last);
	}
}

/* Of the subscribers from `s` on, which is one of them: up to that id. */
static struct hy_sub *last_until(struct hy_sub *s, uint64_t id)
{
	while (s->next && s->next->id <= id)
		s = s->next;
	return s;
}

/* The root of the heap has called all its subscribers. */
static size_t last_part(struct hy_graph *g, size_t count)
{
	struct hy_fired_part *parts = fired_parts(g);
	struct hy_cell *c = g->fired->cell;

	if (parts->start)
		hy_watch_fanout(g, c, c->height, parts->start, parts->spent_ns,
				parts->called);
	hy_told(c);
	count--;
	g->fired[0] = g->fired[count];
	parts[0] = parts[count];
	return count;
}

/* The root of the heap runs until another cell's subscriber is older. */
static NOINLINE void deliver_merged(struct hy_graph *g)
{
	size_t count = g->nfired;

	memset(fired_parts(g), 0, count * sizeof(struct hy_fired_part));
	for (size_t i = count / 2; i-- > 0;)
		sift_down(g, count, i);
	while (count) {
		struct hy_fired *f = g->fired;
		struct hy_cell *c = f->cell;
		uint64_t until = g->deliver_limit;
		struct hy_sub *last;

		for (size_t i = 1; i <= 2 && i < count; i++)
			if (f[i].next->id <= until)
				until = f[i].next->id - 1;
		last = last_until(f->next, until);
		if (f->next == c->subs) /* I6: as long as it lasts */
			hy_fanout_subs(g, c, c->height, f->next, last);
		else
			resume_fanout(g, c, f->next, last);
		f = g->fired; /* subscribing may have moved it */
		f->next = last->next;
		if (!f->next || f->next->id > g->deliver_limit) {
			count = last_part(g, count);
			if (!count)
				break;
		}
		sift_down(g, count, 0);
	}
}

/*
 * The others are cells that settled for a function which a subscriber had
 * called: they have subscribers that are newer than this.
 */
NOINLINE void hy_deliver_rest(struct hy_graph *g, size_t done)
{
	g->nfired -= done;
	memmove(g->fired, g->fired + done, g->nfired * sizeof(*g->fired));
	g->left = true;
}

/* Who subscribed in the wave is not called by it. */
static struct hy_sub *last_in_wave(const struct hy_graph *g, struct hy_sub *s)
{
	while (unlikely(s->id > g->deliver_limit))
		s = s->prev;
	return s;
}

/*
 * One cell after the other.  The places are told by bytes, since subscribers
 * may have `fired` moved.
 */
static inline void deliver_straight(struct hy_graph *g, size_t count)
{
	size_t at = 0, end = count * sizeof(struct hy_fired);

	do {
		const char *place = (const char *)g->fired + at;
		struct hy_fired f = *(const struct hy_fired *)place;
		struct hy_sub *last = f.next;

		if (unlikely(last->next))
			last = last_in_wave(g, last->prev);
		hy_fanout_subs(g, f.cell, f.cell->height, f.next, last);
		hy_told(f.cell);
		at += sizeof(f);
	} while (at != end);
}

void hy_deliver(struct hy_graph *g)
{
	size_t count = g->nfired;

	g->deliver_limit = hy_newest_id(g);
	if (unlikely(count > 1) && unlikely(!in_order(g)))
		deliver_merged(g);
	else
		deliver_straight(g, count);
	if (likely(g->nfired == count))
		g->nfired = 0;
	else
		hy_deliver_rest(g, count);
}
