/* SPDX-License-Identifier: MIT */
/* The order of things: waves, depth first, and what starts them. */
#include "core/wave.h"

#include "core/derive.h"
#include "core/fanout.h"
#include "core/lazy.h"
#include "core/log.h"
#include "core/probe.h"
#include "core/release.h"
#include "core/watch.h"

void hy_wave(struct hy_graph *g)
{
	hy_compute(g, NULL, HY_ON);
}

/* Of one cell to begin with, which is not queued. */
void hy_wave_of(struct hy_graph *g, struct hy_derived *d)
{
	hy_flags_set(&d->cell, F_VALUE_TOUCH, 0);
	hy_compute(g, &d->cell, HY_ON);
}

/* The greatest height of those that still have more to say; 0: none. */
static uint32_t highest(const struct hy_list *list)
{
	uint32_t height = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->cells[i]->flags & F_MORE &&
		    list->cells[i]->height > height)
			height = list->cells[i]->height;
	return height;
}

/*
 * The highest speak first: what they follow says nothing new before they have
 * told what it said, so nothing piles up between the two.  What nobody hears
 * any more goes idle before that, so an endless source has an end.
 */
void hy_wave_more(struct hy_graph *g)
{
	uint32_t height;
	size_t kept = 0;

	hy_quench(g);
	height = highest(&g->more);
	for (size_t i = 0; i < g->more.count; i++) {
		struct hy_cell *c = g->more.cells[i];

		if (c->flags & F_MORE && c->height < height) {
			g->more.cells[kept++] = c;
			continue;
		}
		if (c->flags & F_MORE) {
			hy_flags_set(c, 0, F_MORE);
			hy_wake(g, hy_derived_of(c));
		}
		hy_cell_put(g, c);
	}
	g->more.count = kept;
	hy_wave(g);
}

/* ---- depth first --------------------------------------------------------- */

static void eager_fire(struct hy_graph *g, struct hy_cell *c, uint32_t depth)
{
	g->depth = depth;
	hy_note_news(c, 0); /* also for hy_fanout() */
	if (c->subs) {
		g->stack[g->nstack++] = (struct hy_eager_entry){c, depth, 0, 1};
		hy_spread(g, c);
	} else {
		hy_fanout_deps(g, c, depth);
	}
}

/* One that was made meanwhile may wait in the queue as well. */
static bool eager_compute(struct hy_graph *g, struct hy_cell *c, uint32_t why)
{
	hy_flags_set(c, why, 0);
	return hy_compute(g, c, c->flags & F_QUEUED ? HY_EARLY : HY_ONE);
}

static NOINLINE void eager_run(struct hy_graph *g, struct hy_cell *source)
{
	struct hy_graph *saved = hy_stretch_begin(g, true);

	g->depth_first = true;
	eager_fire(g, source, 0);
	while (g->nstack) {
		struct hy_eager_entry e = g->stack[--g->nstack];

		if (e.subs && e.cell->flags & F_GATHERED) {
			continue; /* told with those, below */
		} else if (e.subs) {
			hy_stretch_end(g, saved); /* they may write */
			hy_fanout_subs(g, e.cell, e.depth, e.cell->subs,
				       e.cell->subs->prev);
			hy_told(e.cell);
			saved = hy_stretch_begin(g, true);
		} else {
			g->depth = e.depth;
			if (eager_compute(g, e.cell, e.why))
				eager_fire(g, e.cell, e.depth);
		}
	}
	g->depth_first = false;
	hy_stretch_end(g, saved);
	if (unlikely(g->nfired)) /* what had to settle in between */
		hy_deliver(g);
}

/* ---- notify --------------------------------------------------------------- */

/*
 * Its subscribers can see each other, it changed more than its value, or its
 * type has a frame.
 */
static NOINLINE void fire_marked(struct hy_graph *g, struct hy_cell *c)
{
	hy_flags_set(c, 0, F_TURNED | F_UNSPREAD);
	hy_note_news(c, 0);
	hy_fanout_subs(g, c, 0, c->subs, c->subs->prev);
	hy_told(c);
}

/*
 * A source that no derived cell follows: there is nothing to settle.  That it
 * has news need not be noted where its only subscriber is about to be told.
 */
static inline void fire_alone(struct hy_graph *g, struct hy_cell *c)
{
	const struct hyphae_type *type = c->type;
	struct hy_sub *s = c->subs;
	int r;

	if (unlikely(c->flags & (F_NEWS | F_TURNED | F_UNSPREAD)) ||
	    unlikely(s->next) || unlikely(type->frame)) {
		fire_marked(g, c);
		return;
	}
	r = hy_fanout(g, c, s, s, 0, type);
	if (unlikely(r))
		hy_returned(g, c->subs, r); /* which it still is: I6 */
}

/* A source changed: run what follows, or leave that to the flush. */
static inline void notified(struct hy_graph *g, struct hy_cell *c)
{
	if (unlikely(g->gathering))
		return;
	if (likely(!c->deps && c->subs))
		fire_alone(g, c);
	else if (unlikely(g->flags & HYPHAE_EAGER) && c->deps)
		eager_run(g, c);
	else
		hy_compute(g, c, HY_FIRE);
}

/* Somebody watches, or it is an end. */
static NOINLINE bool tell_source(struct hy_graph *g, struct hy_cell *c,
				 uint64_t word, const struct hyphae_type *type,
				 uint64_t kind)
{
	uint64_t news = 1;

	if (kind == HYPHAE_VALUE)
		news = hy_write_value(g, c, word, type).changed;
	else
		hy_end_source(g, c, kind, word);
	if (hy_watched())
		hy_watch_notify(g, c, kind, news);
	return news;
}

HY_FRAME int hy_notify(struct hy_graph *g, struct hy_cell *c, uint64_t word,
		       const struct hyphae_type *type, uint64_t kind)
{
	bool news;

	hy_probe_notify(g, c, kind);
	if (hy_watched() || unlikely(kind != HYPHAE_VALUE))
		news = tell_source(g, c, word, type, kind);
	else
		news = hy_write_value(g, c, word, type).changed;
	if (unlikely(!news))
		return HYPHAE_UNCHANGED;
	notified(g, c);
	HY_FRAME_END();
	return 0;
}

/* A write of a flush, which lists the source if it changed. */
static void gather(struct hy_graph *g, struct hy_cell *c, uint64_t word,
		   uint64_t kind)
{
	if (hy_notify(g, c, word, c->type, kind) || c->flags & F_GATHERED)
		return;
	hy_note_news(c, F_GATHERED);
	g->gathered[g->ngathered++] = c;
}

static void flush_entry(struct hy_graph *g, struct hy_log_entry *entry)
{
	struct hy_cell *c = entry->cell;

	if (c->flags & F_ENDED) { /* by another log, before this one */
		if (entry->what & LOG_VALUE && c->flags & F_BOXED)
			hy_box_put(g, c->type, hy_box_of(entry->word));
		hy_error_unref(entry->error);
		entry->what = 0;
		return;
	}
	if (entry->what & LOG_VALUE)
		gather(g, c, entry->word, HYPHAE_VALUE);
	if (entry->what & LOG_COMPLETE)
		gather(g, c, 0, HYPHAE_COMPLETE);
	if (entry->what == LOG_FAIL)
		gather(g, c, (uintptr_t)entry->error, HYPHAE_ERROR);
}

static void fire_gathered(struct hy_graph *g)
{
	g->gathering = false;
	for (size_t i = 0; i < g->ngathered; i++) {
		struct hy_cell *c = g->gathered[i];
		uint32_t flags = c->flags & ~(uint32_t)F_GATHERED;

		/* A new value is all that a plain cell can have to tell. */
		if (!(flags & (F_SLOW_SPREAD | F_NO_VALUE)))
			flags &= ~(uint32_t)F_VALUE_NEW;
		store_relaxed(&c->flags, flags);
		hy_fire(g, c);
	}
	g->ngathered = 0;
	hy_wave(g);
}

/*
 * An error takes the place of the value that was written before it in the
 * same log; so that nobody misses that value, the error is a second wave.
 */
static void fail_after_value(struct hy_graph *g, struct hy_log *log)
{
	bool any = false;

	if (!log->ends)
		return;
	g->gathering = true;
	for (size_t i = 0; i < log->count; i++) {
		struct hy_log_entry *entry = &log->entries[i];

		if (entry->what != (LOG_VALUE | LOG_FAIL))
			continue;
		any = true;
		gather(g, entry->cell, (uintptr_t)entry->error, HYPHAE_ERROR);
	}
	g->gathering = false;
	if (any)
		fire_gathered(g);
}

/* The same cell has emitted in this wave already. */
static bool must_wait(const struct hy_log_entry *entry)
{
	return entry->cell->flags & F_EVENT && entry->cell->flags & F_GATHERED;
}

/* Who moves on to another event at this end hears all that comes after it. */
static bool others_wait(const struct hy_log_entry *entry)
{
	return entry->cell->flags & F_EVENT &&
	       entry->what & (LOG_COMPLETE | LOG_FAIL);
}

static void flush_now(struct hy_graph *g, struct hy_log *log,
		      struct hy_log_entry *entry)
{
	entry->what &= ~(uint32_t)LOG_KEPT;
	hy_log_forget(log, entry);
	flush_entry(g, entry);
}

/*
 * Emissions of events stay in order, and each cell emits once a wave: from
 * the first that would be a second one on, or follows an end, events wait for
 * the next wave.
 * Returns where they begin, or log->count.
 */
static size_t flush_first(struct hy_graph *g, struct hy_log *log)
{
	size_t wait_from = log->count;

	g->gathering = true;
	for (size_t i = 0; i < log->count; i++) {
		struct hy_log_entry *entry = &log->entries[i];
		struct hy_cell *c = entry->cell;
		bool event = c->flags & F_EVENT;

		if (likely(entry->what == LOG_VALUE &&
			   !(c->flags & (F_EVENT | F_ENDED)))) {
			hy_log_forget(log, entry);
			gather(g, c, entry->word, HYPHAE_VALUE);
			continue;
		}
		if (wait_from == log->count && must_wait(entry))
			wait_from = i;
		if (i >= wait_from && event) {
			entry->what |= LOG_KEPT;
			continue;
		}
		if (wait_from == log->count && others_wait(entry))
			wait_from = i + 1;
		flush_now(g, log, entry);
	}
	fire_gathered(g);
	return wait_from;
}

/* A wave of events that waited; those up to the next that has to wait. */
static size_t flush_waiting(struct hy_graph *g, struct hy_log *log, size_t i)
{
	bool ended = false;

	g->gathering = true;
	for (; i < log->count; i++) {
		struct hy_log_entry *entry = &log->entries[i];

		if (!(entry->what & LOG_KEPT))
			continue; /* went with the first wave */
		if (ended || must_wait(entry))
			break;
		ended = others_wait(entry);
		flush_now(g, log, entry);
	}
	fire_gathered(g);
	return i;
}

/* What operators have left to say comes before the next event. */
static inline void say_more(struct hy_graph *g)
{
	while (unlikely(g->more.count))
		hy_wave_more(g);
}

/* A value of one cell, and nothing else is left to do: no more than a set. */
static inline bool is_one_set(const struct hy_graph *g,
			      const struct hy_log *log)
{
	return log->count == 1 && log->entries[0].what == LOG_VALUE &&
	       !(log->entries[0].cell->flags & (F_EVENT | F_ENDED)) &&
	       !(g->flags & HYPHAE_EAGER) && !g->nfired &&
	       !hy_queue_used(&g->queue);
}

static inline void flush_one(struct hy_graph *g, struct hy_log *log)
{
	struct hy_cell *c = log->entries[0].cell;

	hy_log_forget(log, &log->entries[0]);
	hy_notify(g, c, log->entries[0].word, c->type, HYPHAE_VALUE);
	say_more(g);
}

/*
 * Followers that are queued together when the flush is over: right above the
 * sources, chained one behind the other.
 */
static void queue_row(struct hy_graph *g, struct hy_derived *first,
		      struct hy_derived **link, size_t count)
{
	struct hy_derived *last;

	if (!count)
		return;
	last = container_of(link, struct hy_derived, next_queued);
	hy_queue_append_row(&g->queue, first, last, count);
}

/* The only follower of a source that changed, if it fits into a row. */
static inline struct hy_derived *fit_for_row(const struct hy_cell *c)
{
	struct hy_edge *e = c->deps;

	if (unlikely(c->targets != 1 || !e ||
		     c->flags & (F_SLOW_SPREAD | F_NEWS)))
		return NULL;
	return likely(e->owner->cell.height == 1) ? e->owner : NULL;
}

/*
 * Each cell is there once, so what follows it can be queued at once; no
 * function of the user is called before all are written.  None has ended: that
 * would have been a write to a log, by which this one were not bare any more.
 */
void hy_flush_wave(struct hy_graph *g, const struct hy_bare *at,
		   const struct hy_bare *end)
{
	struct hy_derived *first = NULL, **link = &first;
	size_t count = 0;

	g->gathering = true;
	for (; at != end; at++) {
		struct hy_cell *c = at->cell;
		struct hy_derived *d;
		uint32_t flags;

		hy_flags_set(c, 0, F_PENDING);
		if (unlikely(hy_notify(g, c, at->word, c->type, HYPHAE_VALUE)))
			continue;
		d = fit_for_row(c);
		if (unlikely(!d)) { /* to the queue, behind those before it */
			queue_row(g, first, link, count);
			link = &first;
			count = 0;
			hy_fire(g, c);
			continue;
		}
		flags = d->cell.flags;
		if (likely(!(flags & F_QUEUED))) {
			*link = d;
			link = &d->next_queued;
			count++;
		}
		store_relaxed(&d->cell.flags, flags | F_QUEUED | F_VALUE_TOUCH);
		hy_fanout(g, c, NULL, NULL, 0, c->type);
	}
	g->gathering = false;
	queue_row(g, first, link, count);
	hy_wave(g);
}

static NOINLINE void flush_all(struct hy_graph *g, struct hy_log *log)
{
	size_t at = flush_first(g, log);

	say_more(g);
	while (at < log->count) {
		at = flush_waiting(g, log, at);
		say_more(g);
	}
	fail_after_value(g, log);
}

void hy_flush(struct hy_graph *g, struct hy_log *log)
{
	if (log->is_bare) {
		hy_flush_bare(g, log->bare, log->bare + log->count);
		say_more(g);
		hy_log_emptied(log);
		return;
	}
	if (is_one_set(g, log))
		flush_one(g, log);
	else
		flush_all(g, log);
	for (size_t i = 0; i < log->count; i++)
		hy_cell_put(g, log->entries[i].cell);
	hy_log_emptied(log);
}
