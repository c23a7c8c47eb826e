/* SPDX-License-Identifier: MIT */
#include "core/track.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/lazy.h"
#include "core/link.h"
#include "core/queue.h"
#include "core/settle.h"
#include "core/wave.h"

void hy_track_forget(struct hy_tracker *t)
{
	struct hy_list *reads = &t->graph->reads;

	if (!t->nextra)
		return;
	for (size_t i = t->from; i < reads->count; i++)
		hy_let_go(t->graph, reads->cells[i]);
	reads->count = t->from;
	t->nextra = 0;
}

/* ---- what was read before ------------------------------------------------ */

static inline const struct hy_edge *edges_of(const struct hy_tracker *t)
{
	return t->d->fan_in->edges;
}

static inline uint32_t matched(const struct hy_tracker *t)
{
	return (uint32_t)(t->next - edges_of(t));
}

/* The reads that were not expected. */
static inline struct hy_cell **extra_of(const struct hy_tracker *t)
{
	return t->graph->reads.cells + t->from;
}

static uint32_t nreads(const struct hy_tracker *t)
{
	return matched(t) + t->nextra;
}

static struct hy_cell *read_at(const struct hy_tracker *t, uint32_t i)
{
	uint32_t before = matched(t);

	return i < before ? edges_of(t)[i].input : extra_of(t)[i - before];
}

/* Among the last `count` of them? */
static inline bool among(const struct hy_tracker *t, const struct hy_cell *c,
			 uint32_t count)
{
	const struct hy_edge *e = t->next, *first = edges_of(t);
	uint32_t extra = count < t->nextra ? count : t->nextra;

	if (extra) {
		struct hy_cell *const *last = extra_of(t) + t->nextra;
		struct hy_cell *const *at = last;

		do
			if (*--at == c)
				return true;
		while (at != last - extra);
	}
	for (count -= extra; e != first && count; count--)
		if ((--e)->input == c)
			return true;
	return false;
}

/*
 * Where there are many, they are in a set of the graph's as well, of which less
 * than half is in use.  What is of another epoch is as good as not there: so
 * the set is never cleared, and a run inside this one may make it forget, but
 * not say of a cell that it was read.
 */
static struct hy_read *place_of(const struct hy_tracker *t,
				const struct hy_cell *c)
{
	const struct hy_read_set *set = &t->graph->read_set;
	uint64_t hash = (uintptr_t)c * 0x9e3779b97f4a7c15u;
	size_t at = (hash >> 32) & (set->room - 1);

	while (set->reads[at].epoch == t->epoch && set->reads[at].cell != c)
		at = (at + 1) & (set->room - 1);
	return &set->reads[at];
}

/* Room for `count`, and nothing of this run is in the set. */
static bool set_begin(struct hy_tracker *t, size_t count)
{
	struct hy_read_set *set = &t->graph->read_set;
	size_t room = set->room ? set->room : 64;
	struct hy_read *reads;

	while (room / 2 <= count)
		room *= 2;
	if (room > set->room) {
		reads = hy_zalloc_in(t->graph->region, room * sizeof(*reads));
		if (!reads)
			return false;
		hy_free(set->reads);
		set->reads = reads;
		set->room = room;
	}
	t->epoch = ++set->epoch;
	t->in_set = 0;
	return true;
}

/* False without memory. */
static bool fill_set(struct hy_tracker *t)
{
	uint32_t count = nreads(t);

	if ((!t->in_set || t->graph->read_set.room / 2 <= count) &&
	    !set_begin(t, count))
		return false;
	for (; t->in_set < count; t->in_set++) {
		const struct hy_cell *c = read_at(t, t->in_set);

		*place_of(t, c) = (struct hy_read){c, t->epoch};
	}
	return true;
}

static NOINLINE bool noted_in_set(struct hy_tracker *t, const struct hy_cell *c,
				  struct hy_read **ret_place)
{
	if (!fill_set(t))
		return among(t, c, nreads(t));
	*ret_place = place_of(t, c);
	return (*ret_place)->epoch == t->epoch;
}

/*
 * Was it noted?  A few are looked through.  If it was not, *ret_place is where
 * to put it in the set, or NULL: it need not be there.
 */
#define FEW 8
static inline bool noted(struct hy_tracker *t, const struct hy_cell *c,
			 struct hy_read **ret_place)
{
	uint32_t count = nreads(t);

	*ret_place = NULL;
	return likely(count <= FEW) ? among(t, c, count)
				    : noted_in_set(t, c, ret_place);
}

/* It is, as the last of those that were read so far. */
static void put_in_set(struct hy_tracker *t, struct hy_read *place,
		       const struct hy_cell *c)
{
	*place = (struct hy_read){c, t->epoch};
	t->in_set++;
}

/* Was it among what was read last?  Functions often read a cell again. */
#define RECENT 4
static bool noted_lately(const struct hy_tracker *t, const struct hy_cell *c)
{
	return among(t, c, RECENT);
}

static void note(struct hy_tracker *t, struct hy_cell *c)
{
	struct hy_list *reads = &t->graph->reads;
	struct hy_read *place;

	if (t->next != t->end && t->next->input == c) {
		t->next++;
		return;
	}
	if (noted(t, c, &place))
		return;
	if (!hy_list_reserve(t->graph, reads, reads->count + 1)) {
		t->marks |= TRACK_NO_MEMORY;
		return;
	}
	t->end = t->next; /* what comes now is behind it */
	if (!t->nextra)
		t->from = reads->count;
	hy_list_add(reads, c);
	t->nextra++;
	if (place)
		put_in_set(t, place, c);
}

bool hy_track_quickly(struct hy_tracker *t, struct hy_cell *c)
{
	struct hy_graph *g;

	if (noted_lately(t, c)) { /* and has settled then */
		t->again[1] = t->again[0];
		t->again[0] = c;
		return true;
	}
	g = hy_graph_of(c);
	if (t->graph != g || t->untracked)
		return true;
	if (hy_shared(g) || (c->flags & F_DERIVED &&
			     (c->flags & F_IDLE || hy_is_unsettled(g, c))))
		return false;
	note(t, c);
	return true;
}

/*
 * What was noted twice, because a run inside this one noted it as well, is
 * left once.
 */
static void leave_once(struct hy_tracker *t)
{
	struct hy_list *reads = &t->graph->reads;
	uint32_t count = t->nextra;

	t->in_set = 0; /* a run inside this one has written there */
	t->nextra = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct hy_cell *c = extra_of(t)[i];
		struct hy_read *place;

		if (noted(t, c, &place))
			hy_let_go(t->graph, c);
		else
			extra_of(t)[t->nextra++] = c;
	}
	reads->count = t->from + t->nextra;
}

/* A run inside this one has noted so many that what this one noted is lost. */
static bool lost_sight(const struct hy_tracker *t)
{
	return t->in_set && t->epoch != t->graph->read_set.epoch;
}

/* For the first time; as hy_link_first(). */
static int follow_first(struct hy_tracker *t)
{
	int r;

	if (t->d->fan_in->count || !t->nextra)
		return 0;
	r = hy_link_first(t->graph, t->d, extra_of(t), t->nextra);
	if (r > 0) {
		t->graph->reads.count = t->from; /* these are the cell's now */
		t->nextra = 0;
	}
	return r;
}

int hy_track_follow(struct hy_tracker *t, bool *ret_raised)
{
	int r;

	if (t->nextra && lost_sight(t))
		leave_once(t);
	r = follow_first(t);
	if (r > 0)
		r = 0;
	else if (!r && (t->nextra || matched(t) < t->d->fan_in->count))
		r = hy_relink(t->graph, t->d, matched(t),
			      t->nextra ? extra_of(t) : NULL, t->nextra,
			      ret_raised);
	hy_track_forget(t);
	return t->marks & TRACK_NO_MEMORY ? -ENOMEM : r;
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
			t->marks |= TRACK_IDLE; /* following it wakes it */
	}
	if (!hy_is_unsettled(g, c))
		return;
	/* In a cycle it cannot, nor without memory: relink() sees to that. */
	hy_self.tracker = NULL;
	if (hy_raise(g, t->d, c) || !hy_settle(g, c))
		t->marks |= TRACK_UNSETTLED;
	hy_self.tracker = t;
}

/* Meanwhile nothing is expected. */
void hyphae_untracked_begin(void)
{
	struct hy_tracker *t = hy_self.tracker;

	if (!t || t->untracked++)
		return;
	t->marks |= TRACK_UNTRACKED;
	t->end_after = t->end;
	t->end = t->next;
}

void hyphae_untracked_end(void)
{
	struct hy_tracker *t = hy_self.tracker;

	if (!t || !t->untracked || --t->untracked)
		return;
	t->marks &= ~(uint32_t)TRACK_UNTRACKED;
	t->end = t->end_after;
}
