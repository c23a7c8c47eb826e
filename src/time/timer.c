/* SPDX-License-Identifier: MIT */
/* Arming and disarming. */
#include "time/timer.h"

#include <errno.h>

#include "time/clocks.h"

/*
 * `place` is only written by who holds the graph's lock as well, so whether
 * it is out of date can be seen without the clock's.
 */
void hy_time_sync(struct hy_time *time)
{
	const struct hy_timer *first = hy_heap_first(&time->timers);
	struct hy_timer *place = &time->place;
	struct hy_clock *clock = time->clock;

	if (time->left)
		return;
	if (first ? time->placed && place->due == first->due &&
			    place->seq == first->seq
		  : !time->placed)
		return;
	time->placed = first;
	pthread_mutex_lock(&clock->head.lock);
	if (first) {
		place->due = first->due;
		place->seq = first->seq;
		hy_heap_put(&clock->places, place);
	} else {
		hy_heap_remove(&clock->places, place);
	}
	pthread_mutex_unlock(&clock->head.lock);
	hy_poll_tell(time, false);
}

/* Those with a place of their own may all be disarmed now. */
static bool room_for_one(struct hy_time *time)
{
	return hy_heap_reserve(&time->timers,
			       time->timers.count + time->reserved + 1);
}

bool hy_timer_reserve(struct hy_graph *g, struct hy_timer *t)
{
	struct hy_time *time = hy_time_with_clock(g);

	if (!time || !room_for_one(time))
		return false;
	time->reserved++;
	t->reserved = true;
	return true;
}

void hy_timer_release(struct hy_graph *g, struct hy_timer *t)
{
	hy_timer_disarm(g, t);
	g->time->reserved -= t->reserved;
	t->reserved = false;
}

int hy_timer_arm(struct hy_graph *g, struct hy_timer *t, uint64_t due_ns)
{
	struct hy_time *time;

	if (g->freeing)
		return -ESTALE;
	time = hy_time_with_clock(g);
	if (!time || (!t->at && !t->reserved && !room_for_one(time)))
		return -ENOMEM;
	t->graph = g;
	t->due = due_ns;
	t->seq = __atomic_fetch_add(&time->clock->seq, 1, __ATOMIC_RELAXED);
	hy_heap_put(&time->timers, t);
	hy_time_sync(time);
	return 0;
}

void hy_timer_disarm(struct hy_graph *g, struct hy_timer *t)
{
	if (!t->at)
		return;
	hy_heap_remove(&g->time->timers, t);
	hy_time_sync(g->time);
}

uint64_t hy_now(struct hy_graph *g)
{
	const struct hy_time *time = g->time;

	return time && time->clock ? hy_clock_read(time->clock)
				   : hy_clock_kernel();
}

size_t hy_timer_count(const struct hy_graph *g)
{
	return g->time ? g->time->timers.count : 0;
}
