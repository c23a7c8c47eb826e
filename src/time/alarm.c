/* SPDX-License-Identifier: MIT */
/* The timers of users: a slot with a timer in it, and whom to call. */
#include <errno.h>
#include <stdio.h>

#include "core/drain.h"
#include "core/scope.h"
#include "core/wave.h"
#include "time/alarm.h"

static struct hy_alarm *alarm_of(const struct hyphae_timer *handle)
{
	return hy_slot(handle, HY_TAG_TIMER);
}

static void give_up(struct hy_graph *g, struct hy_alarm *alarm)
{
	struct hy_unlocked saved = hy_guard_begin(g);

	alarm->drop(alarm->ctx);
	hy_guard_end(g, saved);
	hy_slot_free(g, alarm);
}

/*
 * A drop function may stop timers in turn, which nests so deep and no deeper:
 * then they wait in a queue of the thread, and their graphs are not freed.
 */
#define NESTED_MAX 16

static void give_up_later(struct hy_graph *g, struct hy_alarm *alarm)
{
	g->starting++;
	alarm->next = NULL;
	if (hy_self.buried)
		hy_self.buried_last->next = alarm;
	else
		hy_self.buried = alarm;
	hy_self.buried_last = alarm;
}

/* With the lock of `g`, which is let go of while others are at work. */
static void give_up_waiting(struct hy_graph *g)
{
	struct hy_alarm *alarm;

	hy_unlock(g);
	while ((alarm = hy_self.buried)) {
		struct hy_graph *other =
			load_relaxed(&hy_chunk_of(alarm)->graph);

		hy_lock(other);
		hy_self.buried = alarm->next;
		other->starting--;
		give_up(other, alarm);
		hy_unlock(other);
	}
	hy_lock(g);
}

/* Nobody finds it any more; its context is given up and then its slot. */
static void bury(struct hy_graph *g, struct hy_alarm *alarm)
{
	store_relaxed(&alarm->id, 0);
	if (!alarm->drop) {
		hy_slot_free(g, alarm);
		return;
	}
	if (hy_self.burying == NESTED_MAX) {
		give_up_later(g, alarm);
		return;
	}
	hy_self.burying++;
	give_up(g, alarm);
	if (hy_self.burying == NESTED_MAX && hy_self.buried)
		give_up_waiting(g);
	hy_self.burying--;
}

void hy_alarm_end(struct hy_graph *g, struct hy_alarm *alarm)
{
	hy_timer_disarm(g, &alarm->timer);
	if (alarm->running) /* else who runs it buries it */
		alarm->ended = true;
	else
		bury(g, alarm);
}

static void returned(struct hy_graph *g, struct hy_alarm *alarm, int r)
{
	char who[48], text[HY_FAILURE_TEXT_MAX];

	if (r == HYPHAE_DETACH) {
		hy_timer_disarm(g, &alarm->timer);
		alarm->ended = true;
		return;
	}
	snprintf(who, sizeof(who), "Timer #%llu",
		 (unsigned long long)alarm->id);
	r = hy_failure_text(text, sizeof(text), who, r, ".");
	hy_problem(g, NULL, r, text);
}

static void call(struct hy_graph *g, struct hy_alarm *alarm, uint64_t due)
{
	struct hyphae_timer_event event = {due, alarm->missed};
	int r;

	alarm->missed = 0;
	alarm->running = true;
	g->starting++; /* no graph_free() */
	if (hy_drains(g))
		hy_pass_open(g, 0); /* what it writes is one wave of it */
	hy_call_begin(g);
	r = alarm->fn(&event, alarm->ctx);
	hy_call_end(g);
	g->starting--;
	if (unlikely(r))
		returned(g, alarm, r);
	alarm->running = false;
	if (alarm->ended || !alarm->timer.at)
		bury(g, alarm);
}

/*
 * The next time of one that repeats is armed before it is called, so that it
 * can stop itself, and nothing can fail.  A period that would end after the
 * end of time was the last.
 */
static void fire(struct hy_graph *g, struct hy_timer *t)
{
	struct hy_alarm *alarm = container_of(t, struct hy_alarm, timer);
	uint64_t due = t->due, late = 0;

	if (alarm->coalesce)
		late = (g->time->target - due) / alarm->period;
	if (late) { /* in its turn at the last of these times */
		alarm->missed += late;
		hy_timer_arm(g, t, due + late * alarm->period);
		return;
	}
	if (alarm->period && alarm->period <= UINT64_MAX - due)
		hy_timer_arm(g, t, due + alarm->period);
	if (alarm->running) /* on another thread: never entered twice */
		alarm->missed++;
	else
		call(g, alarm, due);
}

static struct hy_alarm *alarm_new(struct hy_graph *g, int64_t delay_ns)
{
	uint64_t delay = delay_ns > 0 ? (uint64_t)delay_ns : 0;
	struct hy_alarm *alarm;

	if (!hy_scope_reserve(g))
		return NULL;
	alarm = hy_slot_new(g, HY_CHUNK_TIMER);
	if (!alarm)
		return NULL;
	alarm->timer.fire = fire;
	if (hy_timer_arm(g, &alarm->timer, hy_after(hy_now(g), delay))) {
		hy_slot_free(g, alarm);
		return NULL;
	}
	store_release(&alarm->id, hy_id_new(g));
	return alarm;
}

struct hyphae_timer *
hyphae_timer_start_with(struct hyphae_graph *handle, int64_t delay_ns,
			uint64_t period_ns, hyphae_timer_fn fn, void *ctx,
			void (*drop)(void *ctx), unsigned int flags)
{
	struct hy_graph *g = hy_graph(handle);
	struct hyphae_timer *result = NULL;
	struct hy_alarm *alarm;
	int error = EINVAL;

	if (!g && handle)
		error = ESTALE;
	if (!g || !fn || flags & ~(unsigned int)HYPHAE_TIMER_COALESCE ||
	    (flags && !period_ns))
		goto refused;
	error = ENOMEM;
	hy_lock(g);
	alarm = alarm_new(g, delay_ns);
	if (alarm) {
		alarm->period = period_ns;
		alarm->fn = fn;
		alarm->ctx = ctx;
		alarm->drop = drop;
		alarm->coalesce = flags & HYPHAE_TIMER_COALESCE;
		result = hy_handle(alarm, alarm->id, HY_TAG_TIMER);
		hy_scope_add_timer(g, alarm);
	}
	hy_unlock(g);
	if (result)
		return result;
refused:
	if (drop)
		drop(ctx);
	errno = error;
	return NULL;
}

int hyphae_timer_stop(struct hyphae_timer *handle)
{
	struct hy_alarm *alarm = alarm_of(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!handle)
		return 0;
	if (!alarm)
		return -ESTALE;
	g = load_relaxed(&hy_chunk_of(alarm)->graph);
	hy_lock(g);
	if (alarm_of(handle) && !alarm->ended) {
		hy_alarm_end(g, alarm);
		r = 0;
	}
	hy_unlock(g);
	return r;
}
