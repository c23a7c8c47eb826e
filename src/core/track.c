/* SPDX-License-Identifier: MIT */
#include "core/track.h"

#include "base/alloc.h"
#include "core/lazy.h"
#include "core/link.h"
#include "core/queue.h"
#include "core/settle.h"
#include "core/wave.h"

bool hy_tracking;

void hy_track_begin(struct hy_tracker *t, struct hy_graph *g,
		    struct hy_derived *d)
{
	t->outer = hy_self.tracker;
	t->graph = g;
	t->d = d;
	t->edges = d->fan_in->edges;
	t->expected = d->fan_in->count;
	t->matched = t->numbered = t->nextra = t->untracked = 0;
	t->no_memory = t->unsettled = t->idle = false;
	hy_self.tracker = t;
}

void hy_track_end(struct hy_tracker *t)
{
	hy_self.tracker = t->outer;
}

/* They have been noted before, so they have a cold part. */
static void number(struct hy_tracker *t)
{
	for (; t->numbered < t->matched; t->numbered++)
		hy_cold_of(t->edges[t->numbered].input)->read_at = t->numbered;
}

/* The place where the cell says it was noted tells; others may write it. */
static bool noted(struct hy_tracker *t, struct hy_cell *c)
{
	const struct hy_cold *cold = hy_cold_of(c);
	uint32_t at;

	if (!cold) /* what was noted has one */
		return false;
	number(t);
	at = cold->read_at;
	if (at < t->matched)
		return t->edges[at].input == c;
	at -= t->matched;
	return at < t->nextra && t->extra[at] == c;
}

/* Was it among what was read last?  Functions often read a cell again. */
#define RECENT 4
static bool noted_lately(const struct hy_tracker *t, const struct hy_cell *c)
{
	for (uint32_t i = 1; i <= RECENT && i <= t->nextra; i++)
		if (t->extra[t->nextra - i] == c)
			return true;
	for (uint32_t i = 1; i <= RECENT && i <= t->matched; i++)
		if (t->edges[t->matched - i].input == c)
			return true;
	return false;
}

static void note(struct hy_tracker *t, struct hy_cell *c)
{
	struct hy_cell **extra;
	struct hy_cold *cold;

	if (t->matched < t->expected && t->edges[t->matched].input == c) {
		t->matched++;
		return;
	}
	if (noted(t, c))
		return;
	cold = hy_cold_made(c);
	extra = hy_reserve_in(hy_graph_of(c)->region, t->extra, &t->capacity,
			      t->nextra + 1, sizeof(struct hy_cell *));
	if (extra)
		t->extra = extra;
	if (!extra || !cold) {
		t->no_memory = true;
		return;
	}
	t->expected = t->matched; /* what comes now is behind it */
	cold->read_at = t->matched + t->nextra;
	extra[t->nextra++] = hy_hold(c);
}

bool hy_track_quickly(struct hy_tracker *t, struct hy_cell *c)
{
	struct hy_graph *g;

	if (noted_lately(t, c)) /* and has settled then */
		return true;
	g = hy_graph_of(c);
	if (t->graph != g || t->untracked)
		return true;
	if (hy_shared(g) || (c->flags & F_DERIVED && hy_is_unsettled(g, c)))
		return false;
	if (t->matched < t->expected && t->edges[t->matched].input == c) {
		t->matched++;
		return true;
	}
	return noted(t, c); /* once more the same */
}

void hy_track_unique(struct hy_graph *g, struct hy_tracker *t)
{
	uint32_t count = t->nextra;

	t->numbered = 0; /* a run inside this one has written there */
	number(t);
	t->nextra = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct hy_cell *c = t->extra[i];

		if (noted(t, c)) {
			hy_let_go(g, c);
			continue;
		}
		hy_cold_of(c)->read_at = t->matched + t->nextra;
		t->extra[t->nextra++] = c;
	}
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
		if (hy_can_settle(g))
			hy_wake_idle(g, c);
		else
			t->idle = true; /* following it wakes it */
	}
	if (!hy_is_unsettled(g, c))
		return;
	/* In a cycle it cannot, nor without memory: relink() sees to that. */
	hy_self.tracker = NULL;
	if (hy_raise(g, t->d, c) || !hy_settle(g, c))
		t->unsettled = true;
	hy_self.tracker = t;
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
