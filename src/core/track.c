/* SPDX-License-Identifier: MIT */
#include "core/track.h"

#include "base/alloc.h"
#include "core/lazy.h"
#include "core/link.h"
#include "core/queue.h"
#include "core/wave.h"

bool hy_tracking;

/* Runs inside runs take stack; beyond this many a run is repeated instead. */
#define NESTED_MAX 32

void hy_track_begin(struct hy_tracker *t, struct hy_graph *g,
		    struct hy_derived *d)
{
	t->outer = hy_self.tracker;
	t->graph = g;
	t->d = d;
	t->matched = t->nextra = t->untracked = 0;
	t->no_memory = t->unsettled = t->idle = false;
	hy_self.tracker = t;
}

void hy_track_end(struct hy_tracker *t)
{
	hy_self.tracker = t->outer;
}

/* The place where the cell says it was noted tells; others may write it. */
static bool noted(const struct hy_tracker *t, struct hy_cell *c)
{
	uint32_t at = hy_cold_of(c)->read_at;

	if (at < t->matched)
		return t->d->fan_in->edges[at].input == c;
	at -= t->matched;
	return at < t->nextra && t->extra[at] == c;
}

static void note(struct hy_tracker *t, struct hy_cell *c)
{
	const struct hy_fan_in *in = t->d->fan_in;
	struct hy_cell **extra;

	if (!t->nextra && t->matched < in->count &&
	    in->edges[t->matched].input == c) {
		hy_cold_of(c)->read_at = t->matched++;
		return;
	}
	if (noted(t, c))
		return;
	extra = hy_reserve_in(hy_graph_of(c)->region, t->extra, &t->capacity,
			      t->nextra + 1, sizeof(struct hy_cell *));
	if (!extra) {
		t->no_memory = true;
		return;
	}
	t->extra = extra;
	hy_cold_of(c)->read_at = t->matched + t->nextra;
	extra[t->nextra++] = hy_hold(c);
}

bool hy_track_quickly(struct hy_cell *c)
{
	struct hy_tracker *t = hy_self.tracker;
	struct hy_graph *g = hy_graph_of(c);
	const struct hy_fan_in *in;

	if (t->graph != g || t->untracked)
		return true;
	if (hy_shared(g) || t->nextra ||
	    (c->flags & F_DERIVED && hy_queue_used(&g->queue)))
		return false;
	in = t->d->fan_in;
	if (t->matched < in->count && in->edges[t->matched].input == c) {
		hy_cold_of(c)->read_at = t->matched++;
		return true;
	}
	/* Once more the same. */
	return t->matched && in->edges[t->matched - 1].input == c;
}

static bool can_settle(struct hy_graph *g)
{
	return g->drainer == hy_thread_of(g) && g->settling < NESTED_MAX;
}

/*
 * Something that the cell may depend on waits to be computed.  The reader goes
 * above the cell first, and all that follows the reader above that, so that
 * none of those is computed now, with what the reader was before.
 */
static void settle(struct hy_graph *g, struct hy_tracker *t, struct hy_cell *c)
{
	/* A cycle, or no memory: what follows it is told by relink(). */
	if (hy_raise(g, t->d, c)) {
		t->unsettled = true;
		return;
	}
	g->settling++;
	hy_self.tracker = NULL;
	hy_wave_below(g, c->height);
	hy_self.tracker = t;
	g->settling--;
}

void hy_track_read(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_tracker *t = hy_self.tracker;

	if (!t || t->graph != g || t->untracked)
		return;
	note(t, c);
	if (!(c->flags & F_DERIVED))
		return;
	if (c->flags & F_IDLE) {
		if (can_settle(g))
			hy_wake_idle(g, c);
		else
			t->idle = true; /* following it wakes it */
	}
	if (!hy_queue_used(&g->queue) || hy_queue_lowest(&g->queue) > c->height)
		return;
	if (can_settle(g))
		settle(g, t, c);
	else
		t->unsettled = true;
	/* It could not be computed there, or came to lie higher meanwhile. */
	if (c->flags & F_QUEUED)
		t->unsettled = true;
}

void hyphae_untracked_begin(void)
{
	if (hy_self.tracker)
		hy_self.tracker->untracked++;
}

void hyphae_untracked_end(void)
{
	if (hy_self.tracker && hy_self.tracker->untracked)
		hy_self.tracker->untracked--;
}
