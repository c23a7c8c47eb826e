/* SPDX-License-Identifier: MIT */
/* What waves and fan-outs share; see wave.h for the whole. */
#ifndef HY_FANOUT_H
#define HY_FANOUT_H

#include "core/queue.h"
#include "core/wave.h"

/* What a type's own frame hands on to hyphae_fanout_run(). */
struct hyphae_fanout_call {
	struct hy_graph *g;
	struct hy_cell *c;
	uint64_t height;
	struct hy_sub *first;
	const struct hy_sub *last;
};

/* Call the subscribers of all cells that fired (graph->fired). */
void hy_deliver(struct hy_graph *g);

/* They subscribed meanwhile, or settled for a function: see hy_deliver(). */
void hy_deliver_rest(struct hy_graph *g, size_t done);

/* What no subscription is any more once the cell has told its news. */
void hy_forget_fresh(struct hy_cell *c);

/* The cell told something that the subscriber was not told. */
static inline void hy_sub_missed(struct hy_sub *s, uint32_t news)
{
	s->flags |= (news & F_VALUE_NEW ? SUB_MISSED : 0) |
		    (news & F_END_NEW ? SUB_MISSED_END : 0);
}

/*
 * What of the news a subscriber may be told now: all of it, or nothing, and
 * what it may be told later is noted.
 */
uint32_t hy_hold_back(struct hy_sub *s, uint32_t news);

/* The wave has told the cell's subscribers. */
static inline void hy_told(struct hy_cell *c)
{
	uint32_t flags = c->flags;

	store_relaxed(&c->flags, flags & ~(uint32_t)(F_NEWS | F_GATHERED));
	if (unlikely(flags & F_FRESH))
		hy_forget_fresh(c);
}

/* The newest id that this graph has given out. */
static inline uint64_t hy_newest_id(const struct hy_graph *g)
{
	return g->id_next - 1;
}

void hy_fanout_in_frame(struct hy_graph *g, struct hy_cell *c, uint64_t height,
			struct hy_sub *first, const struct hy_sub *last);

/* What a subscriber returned was not 0: it ends, or it is a problem. */
void hy_returned(struct hy_graph *g, struct hy_sub *s, int r);

/* Call subscribers. */
static inline void hy_fanout_to(struct hy_graph *g, struct hy_cell *c,
				uint64_t height, struct hy_sub *first,
				const struct hy_sub *last,
				const struct hyphae_type *type)
{
	int r = hy_fanout(g, c, first, last, height, type);

	if (unlikely(r))
		hy_returned(g, first, r);
}

/* The same, inside the type's own frame if it has one. */
static inline void hy_fanout_subs(struct hy_graph *g, struct hy_cell *c,
				  uint64_t height, struct hy_sub *first,
				  const struct hy_sub *last)
{
	const struct hyphae_type *type = c->type;

	if (unlikely(type->frame))
		hy_fanout_in_frame(g, c, height, first, last);
	else
		hy_fanout_to(g, c, height, first, last, type);
}

/* What is seldom: states that change, values that moved, depth first. */
void hy_spread_slowly(struct hy_graph *g, struct hy_cell *c);

void hy_spread_many(struct hy_graph *g, struct hy_edge *first);

/* Tell the derived cells: queue them. */
static inline void hy_spread(struct hy_graph *g, struct hy_cell *c)
{
	if (unlikely(c->flags & F_SLOW_SPREAD || g->depth_first))
		hy_spread_slowly(g, c);
	else if (c->deps)
		hy_spread_many(g, c->deps);
}

/* I7: room for `more` cells that get their first subscriber. */
bool hy_fired_enlarge(struct hy_graph *g, size_t want);

static inline bool hy_fired_has_room(const struct hy_graph *g, size_t more)
{
	return g->nfired + g->nsubscribed + more <= g->fired_capacity;
}

static inline bool hy_fired_room(struct hy_graph *g, size_t more)
{
	return likely(hy_fired_has_room(g, more)) ||
	       hy_fired_enlarge(g, g->nfired + g->nsubscribed + more);
}

/* I7: there is room. */
static inline void hy_fired_add(struct hy_graph *g, struct hy_cell *c)
{
	g->fired[g->nfired++] = (struct hy_fired){.cell = c, .next = c->subs};
}

/* What it has to tell waits: a new value, if nothing else is known. */
static inline void hy_note_news(struct hy_cell *c, uint32_t mark)
{
	if (likely(!(c->flags & F_NEWS)))
		mark |= F_VALUE_NEW;
	hy_flags_set(c, mark, 0);
}

/* One that is computed twice in a wave fires twice, and calls them once. */
static inline void hy_fire_subscribed(struct hy_graph *g, struct hy_cell *c)
{
	uint32_t flags;

	if (unlikely(c->deps))
		hy_spread(g, c);
	flags = c->flags & ~(uint32_t)(F_TURNED | F_UNSPREAD);
	if (unlikely(flags & F_GATHERED)) {
		store_relaxed(&c->flags, flags);
		return;
	}
	if (likely(!(flags & F_NEWS)))
		flags |= F_VALUE_NEW;
	store_relaxed(&c->flags, flags | F_GATHERED);
	hy_fired_add(g, c);
}

static inline const struct hy_sub *hy_unread(void)
{
	return (const struct hy_sub *)(uintptr_t)hy_whatever();
}

/* To the derived cells, which are queued. */
static inline void hy_fanout_deps(struct hy_graph *g, struct hy_cell *c,
				  uint64_t height)
{
	hy_fanout(g, c, c->deps, hy_unread(), height, c->type);
	if (unlikely(!c->deps))
		hy_flags_set(c, 0, F_NEWS | F_TURNED | F_UNSPREAD);
}

/* A cell changed: its derived cells are queued; subscribers wait. */
static inline void hy_fire(struct hy_graph *g, struct hy_cell *c)
{
	if (likely(!c->subs))
		hy_fanout_deps(g, c, c->height);
	else
		hy_fire_subscribed(g, c);
}

/* The same as hy_deliver() of the only one that fired. */
static inline void hy_deliver_one(struct hy_graph *g)
{
	struct hy_cell *c = g->fired[0].cell;

	g->deliver_limit = hy_newest_id(g);
	hy_fanout_subs(g, c, c->height, g->fired[0].next, c->subs->prev);
	hy_told(c);
	if (likely(g->nfired == 1))
		g->nfired = 0;
	else
		hy_deliver_rest(g, 1);
}

#endif
