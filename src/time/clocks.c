/* SPDX-License-Identifier: MIT */
#include "time/clocks.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/slab.h"

#define LIMIT 1000

static struct hy_shelf shelf = HY_SHELF(struct hy_clock);

struct hy_clock *hy_clock_new(enum hy_clock_kind kind, uint64_t start_ns)
{
	struct hy_clock *clock = hy_shelf_take(&shelf);

	if (!clock)
		return NULL;
	clock->kind = kind;
	clock->refs = 1;
	clock->limit = LIMIT;
	clock->now = start_ns;
	clock->seq = 1;
	hy_shelf_publish(&clock->head);
	return clock;
}

struct hy_clock *hy_clock_ref(struct hy_clock *clock)
{
	pthread_mutex_lock(&clock->head.lock);
	clock->refs++;
	pthread_mutex_unlock(&clock->head.lock);
	return clock;
}

void hy_clock_unref_locked(struct hy_clock *clock)
{
	bool last = --clock->refs == 0;

	if (last) {
		store_release(&clock->head.id, 0);
		hy_heap_done(&clock->places);
	}
	pthread_mutex_unlock(&clock->head.lock);
	if (last)
		hy_shelf_give(&shelf, &clock->head);
}

void hy_clock_unref(struct hy_clock *clock)
{
	pthread_mutex_lock(&clock->head.lock);
	hy_clock_unref_locked(clock);
}

/* ---- a graph and its clock ----------------------------------------------- */

struct hy_time *hy_time_get(struct hy_graph *g)
{
	struct hy_time *time = g->time;

	if (time || g->freeing)
		return time;
	time = hy_zalloc_in(g->region, sizeof(*time));
	if (!time)
		return NULL;
	time->graph = g;
	time->place.graph = g;
	time->epoll = time->timer_fd = -1;
	g->time = time;
	return time;
}

/* Follow a clock: with a reference, and room for the graph's place. */
static bool attach(struct hy_time *time, struct hy_clock *clock)
{
	bool room;

	pthread_mutex_lock(&clock->head.lock);
	room = hy_heap_reserve(&clock->places, clock->attached + 1u);
	if (room) {
		clock->attached++;
		clock->refs++;
		time->clock = clock;
	}
	pthread_mutex_unlock(&clock->head.lock);
	return room;
}

/* With the clock's lock held: nobody finds the graph through it any more. */
static bool detach_locked(struct hy_time *time)
{
	if (time->pins)
		return false;
	if (time->place.at)
		hy_heap_remove(&time->clock->places, &time->place);
	time->clock->attached--;
	return true;
}

struct hy_time *hy_time_with_clock(struct hy_graph *g)
{
	struct hy_time *time = hy_time_get(g);
	struct hy_clock *clock;
	bool attached;

	if (!time || time->clock)
		return time;
	clock = hy_clock_new(HY_MONOTONIC, 0);
	if (!clock)
		return NULL;
	attached = attach(time, clock);
	hy_clock_unref(clock);
	return attached ? time : NULL;
}

static int set_clock(struct hy_graph *g, struct hy_clock *clock)
{
	struct hy_time *time = hy_time_get(g);
	struct hy_clock *old;

	if (!time)
		return g->freeing ? -ESTALE : -ENOMEM;
	old = time->clock;
	if (time->timers.count || time->frame)
		return -EBUSY;
	if (old) {
		pthread_mutex_lock(&old->head.lock);
		if (time->pins) {
			pthread_mutex_unlock(&old->head.lock);
			return -EBUSY;
		}
		pthread_mutex_unlock(&old->head.lock);
	}
	if (!attach(time, clock))
		return -ENOMEM;
	/* It has no timers, so nobody can have pinned it meanwhile. */
	if (old) {
		pthread_mutex_lock(&old->head.lock);
		old->attached--;
		hy_clock_unref_locked(old);
	}
	hy_poll_tell(time, true);
	return 0;
}

int hyphae_graph_set_clock(struct hyphae_graph *handle,
			   struct hyphae_clock *clock_handle)
{
	struct hy_graph *g = hy_graph(handle);
	struct hy_clock *clock = hy_clock_of(clock_handle);
	int r;

	if (!g)
		return hy_bad_handle(handle);
	if (!clock)
		return hy_bad_handle(clock_handle);
	hy_lock(g);
	r = set_clock(g, clock);
	hy_unlock(g);
	return r;
}

struct hyphae_clock *hyphae_graph_clock(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	struct hyphae_clock *clock = NULL;
	struct hy_time *time;

	if (!g) {
		errno = -hy_bad_handle(handle);
		return NULL;
	}
	hy_lock(g);
	time = hy_time_with_clock(g);
	if (time)
		clock = hy_handle(time->clock,
				  hy_clock_ref(time->clock)->head.id,
				  HY_TAG_CLOCK);
	hy_unlock(g);
	if (!clock)
		errno = ENOMEM;
	return clock;
}

bool hy_time_leave(struct hy_graph *g)
{
	struct hy_time *time = g->time;
	bool left = true;

	if (!time || !time->clock)
		return true;
	pthread_mutex_lock(&time->clock->head.lock);
	left = detach_locked(time);
	pthread_mutex_unlock(&time->clock->head.lock);
	time->left = left;
	return left;
}

void hy_time_done(struct hy_graph *g)
{
	struct hy_time *time = g->time;

	if (!time)
		return;
	hy_poll_done(time);
	hy_heap_done(&time->timers);
	if (time->clock)
		hy_clock_unref(time->clock);
	hy_free(time);
	g->time = NULL;
}

/* ---- the public functions of a clock --------------------------------------- */

static struct hyphae_clock *make(enum hy_clock_kind kind, uint64_t start_ns)
{
	struct hy_clock *clock = hy_clock_new(kind, start_ns);

	if (clock)
		return hy_handle(clock, clock->head.id, HY_TAG_CLOCK);
	errno = ENOMEM;
	return NULL;
}

struct hyphae_clock *hyphae_clock_new_monotonic(void)
{
	return make(HY_MONOTONIC, 0);
}

struct hyphae_clock *hyphae_clock_new_virtual(uint64_t start_ns)
{
	return make(HY_VIRTUAL, start_ns);
}

struct hyphae_clock *hyphae_clock_new_external(uint64_t start_ns)
{
	return make(HY_EXTERNAL, start_ns);
}

struct hyphae_clock *hyphae_clock_ref(struct hyphae_clock *handle)
{
	struct hy_clock *clock = hy_shelf_lock(handle, HY_TAG_CLOCK);

	if (!clock) {
		errno = -hy_bad_handle(handle);
		return NULL;
	}
	clock->refs++;
	pthread_mutex_unlock(&clock->head.lock);
	return handle;
}

int hyphae_clock_unref(struct hyphae_clock *handle)
{
	struct hy_clock *clock = hy_shelf_lock(handle, HY_TAG_CLOCK);

	if (!handle)
		return 0;
	if (!clock)
		return -ESTALE;
	hy_clock_unref_locked(clock);
	return 0;
}

int hyphae_clock_now(const struct hyphae_clock *handle, uint64_t *ret_ns)
{
	struct hy_clock *clock = hy_clock_of(handle);

	if (!clock)
		return hy_bad_handle(handle);
	if (!ret_ns)
		return -EINVAL;
	*ret_ns = hy_clock_read(clock);
	return 0;
}

int hyphae_clock_set_limit(struct hyphae_clock *handle, unsigned int rounds)
{
	struct hy_clock *clock;

	if (!rounds)
		return handle && !hy_clock_of(handle) ? -ESTALE : -EINVAL;
	clock = hy_shelf_lock(handle, HY_TAG_CLOCK);
	if (!clock)
		return hy_bad_handle(handle);
	clock->limit = rounds;
	pthread_mutex_unlock(&clock->head.lock);
	return 0;
}
