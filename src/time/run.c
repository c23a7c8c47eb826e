/* SPDX-License-Identifier: MIT */
/* Time goes on: who runs what is due. */
#include <errno.h>
#include <stdio.h>

#include "core/drain.h"
#include "core/wave.h"
#include "time/clocks.h"

#define DISPATCH_MAX 1000

/* What is run in one go, and how far one moment has got. */
struct run {
	uint64_t target; /* all that is due by then */
	uint64_t moment; /* of the timers that run now */
	uint64_t fresh;	 /* timers from this number on were armed meanwhile */
	uint32_t rounds;
};

/*
 * Timers may arm timers for the same moment, and these again.  Each such
 * generation is a round, and there is a limit to them.
 */
static bool too_many_rounds(struct run *run, const struct hy_clock *clock,
			    const struct hy_timer *t)
{
	if (!run->fresh || t->due > run->moment) {
		run->moment = t->due;
		run->rounds = 0;
	} else if (t->seq < run->fresh) {
		return false;
	} else if (++run->rounds > load_relaxed(&clock->limit)) {
		return true;
	}
	run->fresh = load_relaxed(&clock->seq);
	return false;
}

static int stop_loop(struct hy_graph *g, const struct hy_clock *clock)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "Timers kept arming timers for the same moment, %u times in a "
		 "row; the clock stands still, they are still armed.",
		 load_relaxed(&clock->limit));
	hy_problem(g, NULL, -ELOOP, text);
	return -ELOOP;
}

/*
 * Fire the graph's earliest timer, if it is due, and propagate.  The graph's
 * lock is held.  1: one has run; 0: none was due; -ELOOP, or -EBUSY inside a
 * callback of the graph, where nothing could propagate.
 */
static int fire_next(struct hy_graph *g, struct run *run)
{
	struct hy_time *time = g->time;
	struct hy_timer *t = hy_heap_first(&time->timers);
	struct hy_clock *clock = time->clock;
	bool drainer;

	if (!t || t->due > run->target)
		return 0;
	if (hy_guarded(g) || hy_drains(g))
		return -EBUSY;
	if (too_many_rounds(run, clock, t))
		return stop_loop(g, clock);
	hy_heap_remove(&time->timers, t);
	hy_time_sync(time);
	/* Only who runs the clock moves it, and there is one such thread. */
	if (clock->kind == HY_VIRTUAL && t->due > load_relaxed(&clock->now))
		store_release(&clock->now, t->due);
	time->target = run->target;
	drainer = hy_drain_begin(g);
	t->fire(g, t);
	if (drainer)
		hy_drain_end(g, 0);
	return 1;
}

int hy_time_dispatch(struct hy_graph *g, int most)
{
	struct run run = {.target = hy_now(g)};
	int count = 0, r = 0;

	while (count < most && (r = fire_next(g, &run)) > 0)
		count++;
	return r < 0 ? r : count;
}

/* All graphs of a clock; its lock is held before and after. */
static int run_clock(struct hy_clock *clock, uint64_t target)
{
	struct run run = {.target = target};
	struct hy_timer *place;
	int r = 0;

	while (r >= 0 && (place = hy_heap_first(&clock->places)) &&
	       place->due <= target) {
		struct hy_time *time =
			container_of(place, struct hy_time, place);
		struct hy_graph *g = place->graph;

		time->pins++;
		pthread_mutex_unlock(&clock->head.lock);
		hy_lock(g);
		r = fire_next(g, &run);
		hy_unlock(g);
		pthread_mutex_lock(&clock->head.lock);
		time->pins--;
	}
	return r < 0 ? r : 0;
}

/* Let it be `target`; the clock's lock is held, and not when it returns. */
static int move_to(struct hy_clock *clock, uint64_t target)
{
	int r;

	if (clock->running) {
		pthread_mutex_unlock(&clock->head.lock);
		return -EBUSY;
	}
	clock->running = true;
	clock->refs++;
	if (clock->kind == HY_EXTERNAL)
		store_release(&clock->now, target);
	r = run_clock(clock, target);
	if (r == 0)
		store_release(&clock->now, target);
	clock->running = false;
	hy_clock_unref_locked(clock);
	return r;
}

int hyphae_clock_advance(struct hyphae_clock *handle, uint64_t delta_ns)
{
	struct hy_clock *clock = hy_shelf_lock(handle, HY_TAG_CLOCK);
	uint64_t now;

	if (!clock)
		return hy_bad_handle(handle);
	now = load_relaxed(&clock->now);
	if (clock->kind != HY_VIRTUAL || delta_ns > UINT64_MAX - now) {
		pthread_mutex_unlock(&clock->head.lock);
		return -EINVAL;
	}
	return move_to(clock, now + delta_ns);
}

int hyphae_clock_set(struct hyphae_clock *handle, uint64_t now_ns)
{
	struct hy_clock *clock = hy_shelf_lock(handle, HY_TAG_CLOCK);

	if (!clock)
		return hy_bad_handle(handle);
	if (clock->kind == HY_MONOTONIC || now_ns < load_relaxed(&clock->now)) {
		pthread_mutex_unlock(&clock->head.lock);
		return -EINVAL;
	}
	return move_to(clock, now_ns);
}
