/* SPDX-License-Identifier: MIT */
/* Steps that have to do with time: the clock goes on, timers come and go. */
#include "model_streams_run.h"

#include <errno.h>

/* ---- comparing ------------------------------------------------------------- */

static bool compare_dropped(int i)
{
	uint64_t dropped;

	if (!ms_world.real.nodes[i].cell ||
	    ms_world.model.nodes[i].recipe.op != MS_DELAY)
		return true;
	if (hyphae_delay_dropped(ms_world.real.nodes[i].cell, &dropped) == 0 &&
	    dropped == ms_world.model.nodes[i].dropped)
		return true;
	return ms_differ("#%d: dropped %zu, %llu", i,
			 ms_world.model.nodes[i].dropped,
			 (unsigned long long)dropped);
}

static bool compare_timer(int i)
{
	const struct ms_timer *t = &ms_world.model.timers[i];
	int drops = t->state == MS_OVER && ms_world.real.timers[i].handle;

	if (t->called == ms_world.real.timers[i].called &&
	    t->stopped == ms_world.real.timers[i].stopped &&
	    drops == ms_world.real.timers[i].drops)
		return true;
	return ms_differ("t%d: called %d, %d; stopped %d, %d; dropped %d, %d",
			 i, t->called, ms_world.real.timers[i].called,
			 t->stopped, ms_world.real.timers[i].stopped, drops,
			 ms_world.real.timers[i].drops);
}

static bool compare_deadline(int graph)
{
	struct hyphae_graph *g =
		graph ? ms_world.real.second : ms_world.real.graph;
	uint64_t due = 0, expected = 0;
	int r = hyphae_graph_deadline(g, &due);

	if (r == (ms_deadline(&ms_world.model, graph, &expected) ? 0
								 : -ENODATA) &&
	    due == expected)
		return true;
	return ms_differ("graph %d: due %llu, %llu", graph,
			 (unsigned long long)expected, (unsigned long long)due);
}

bool ms_compare_time(void)
{
	uint64_t now = 0;

	for (int i = 0; i < ms_world.model.count; i++)
		if (!compare_dropped(i))
			return false;
	for (int i = 0; i < ms_world.model.timer_count; i++)
		if (!compare_timer(i))
			return false;
	if (hyphae_clock_now(ms_world.real.clock, &now) != 0 ||
	    now != ms_world.model.now)
		return ms_differ("it is %llu, %llu",
				 (unsigned long long)ms_world.model.now,
				 (unsigned long long)now);
	if (ms_world.model.problems != ms_world.real.problems)
		return ms_differ("%d problems, %d", ms_world.model.problems,
				 ms_world.real.problems);
	return compare_deadline(0) &&
	       (!ms_world.real.second || compare_deadline(1));
}

/* ---- the clock --------------------------------------------------------------- */

/* Not at all, to the next timer, just not so far, a bit, or far. */
static uint64_t any_distance(bool far)
{
	uint64_t due;

	switch (ms_roll(8)) {
	case 0:
		return 0;
	case 1:
	case 2:
	case 3:
		if (ms_deadline(&ms_world.model, ms_roll(4) == 0, &due) &&
		    due > ms_world.model.now)
			return due - ms_world.model.now - (ms_roll(4) == 0);
		return 0;
	case 4:
		return !far || ms_roll(4) ? 7 + ms_roll(8) : 40 + ms_roll(20);
	default:
		return ms_roll(6);
	}
}

static uint64_t how_far(bool far)
{
	uint64_t ns = any_distance(far), left = UINT64_MAX - ms_world.model.now;

	return ns < left ? ns : left;
}

/* What is due without that time goes on can run in a dispatch, too. */
static bool dispatch(void)
{
	int expected, got;

	ms_say("dispatch\n");
	expected = ms_dispatch(&ms_world.model);
	got = hyphae_graph_dispatch(ms_world.real.graph);
	return got == expected ||
	       ms_differ("dispatch is %d, %d", expected, got);
}

/* The clock goes on; nothing is compared. */
static bool go_on(bool far)
{
	uint64_t ns = how_far(far), until = ms_world.model.now + ns;
	int expected, r;

	if (ns == 0 && ms_roll(2))
		return dispatch();
	ms_say("advance %llu, to %llu\n", (unsigned long long)ns,
	       (unsigned long long)until);
	expected = ms_advance(&ms_world.model, ns);
	r = ms_world.model.jumps || ms_roll(4) == 0
		    ? hyphae_clock_set(ms_world.real.clock, until)
		    : hyphae_clock_advance(ms_world.real.clock, ns);
	return r == expected || ms_differ("advance is %d, %d", expected, r);
}

/* Rarely it soon comes to an end. */
uint64_t ms_start_time(void)
{
	return ms_roll(12) ? 900 + ms_roll(200) : UINT64_MAX - ms_roll(90);
}

/* The graph follows another clock, with another time. */
static bool follow_another(void)
{
	bool jumps = ms_roll(2);
	uint64_t now = ms_start_time();
	struct hyphae_clock *clock = jumps ? hyphae_clock_new_external(now)
					   : hyphae_clock_new_virtual(now);

	ms_say("another clock that %s, at %llu\n", jumps ? "jumps" : "visits",
	       (unsigned long long)now);
	ms_world.model.jumps = jumps;
	ms_world.model.now = now;
	if (hyphae_clock_unref(ms_world.real.clock) != 0)
		return ms_differ("unref of the clock");
	ms_world.real.clock = clock;
	return ms_open_time() ? ms_compare(true) : ms_differ("other clock");
}

/* With timers a graph stays with its clock. */
static bool follow_again(void)
{
	struct hyphae_clock *clock = ms_world.real.clock;
	uint64_t ignored;
	bool timers = ms_deadline(&ms_world.model, 0, &ignored);
	int expected = timers ? -EBUSY : 0;
	int r = hyphae_graph_set_clock(ms_world.real.graph, clock);

	ms_say("follow the clock again\n");
	if (r != expected)
		return ms_differ("set_clock is %d, %d", expected, r);
	if (!timers && !ms_world.real.second)
		return follow_another();
	return ms_compare(true);
}

/* Into the past, or beyond the end of time: nothing happens. */
static bool refused(void)
{
	int r;

	if (ms_roll(3) == 0)
		return follow_again();

	ms_say("the clock refuses\n");
	if (ms_roll(2))
		r = hyphae_clock_set(ms_world.real.clock,
				     ms_world.model.now - 1);
	else
		r = hyphae_clock_advance(ms_world.real.clock,
					 UINT64_MAX - ms_world.model.now + 1);
	return r == -EINVAL ? ms_compare(true) : ms_differ("refused: %d", r);
}

/* ---- a batch or a frame, in which time goes on -------------------------------- */

static bool write_one(int *ret)
{
	struct ms_write w;

	if (!ms_choose_write(&w))
		return false;
	ms_say_write(&w);
	ms_write_later(&ms_world.model, w);
	*ret = ms_real_write(&w);
	return true;
}

static int open_batch(bool frame)
{
	ms_world.model.batch = true;
	ms_world.model.write_count = 0;
	return frame ? hyphae_frame_begin(ms_world.real.graph,
					  ms_world.model.now + 3)
		     : hyphae_batch_begin(ms_world.real.graph);
}

static int close_batch(bool frame)
{
	ms_world.model.batch = false;
	ms_write(&ms_world.model, ms_world.model.writes,
		 ms_world.model.write_count);
	return frame ? hyphae_frame_end(ms_world.real.graph)
		     : hyphae_batch_end(ms_world.real.graph);
}

static bool batch_in_time(void)
{
	bool frame = ms_roll(2), fine = true;
	size_t own[8];
	int got[8], count = 0, opened, closed;

	ms_say(frame ? "frame {\n" : "batch {\n");
	opened = open_batch(frame);
	for (int parts = ms_between(1, 3); parts-- && fine;) {
		for (int i = (int)ms_roll(3); i-- > 0 && count < 8;) {
			own[count] = ms_world.model.write_count;
			count += write_one(&got[count]);
		}
		ms_say("\n");
		fine = go_on(false) && ms_compare_logs(!ms_world.model.tied);
	}
	ms_say("}\n");
	closed = close_batch(frame);
	for (int i = 0; i < count && fine; i++)
		if (got[i] != ms_world.model.writes[own[i]].result)
			fine = ms_differ("write %d is %d, %d", i,
					 ms_world.model.writes[own[i]].result,
					 got[i]);
	if (fine && (opened || closed))
		fine = ms_differ("batch: %d, %d", opened, closed);
	return fine && ms_compare(!ms_world.model.tied);
}

/* ---- timers ----------------------------------------------------------------- */

static struct hyphae_timer *start(struct ms_real_timer *t);

static void write_value(const struct ms_timer_recipe *r, int called)
{
	struct ms_write w = {.node = r->node, .value = r->value + called};

	if (r->node >= 0 && ms_world.real.nodes[r->node].cell)
		ms_real_write(&w);
}

/* Whether it was one that runs. */
static bool stop(int timer)
{
	struct hyphae_timer *handle = ms_world.real.timers[timer].handle;

	return handle && hyphae_timer_stop(handle) == 0;
}

static int ring(const struct hyphae_timer_event *event, void *ctx)
{
	struct ms_real_timer *t = ctx, *other;
	const struct ms_timer_recipe *r = &t->recipe;

	ms_log_add(&ms_world.real.log,
		   (struct ms_call){.sub = MS_SUBS +
					   (int)(t - ms_world.real.timers),
				    .kind = HYPHAE_VALUE,
				    .value = (int64_t)event->due_ns,
				    .code = (int)event->missed});
	t->called++;
	if (r->stops >= 0)
		for (int i = 0; i < 2; i++)
			t->stopped += stop(r->stops);
	if (r->starts >= 0) {
		other = &ms_world.real.timers[r->starts];
		if (!other->handle)
			other->handle = start(other);
	}
	write_value(r, t->called);
	return t->called == r->detaches ? HYPHAE_DETACH : 0;
}

static void drop(void *ctx)
{
	struct ms_real_timer *t = ctx;

	t->drops++;
}

static struct hyphae_timer *start(struct ms_real_timer *t)
{
	const struct ms_timer_recipe *r = &t->recipe;

	return hyphae_timer_start_with(
		r->graph ? ms_world.real.second : ms_world.real.graph, r->delay,
		r->period, ring, t, drop, r->flags);
}

static void count_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)problem;
	(void)ctx;
	ms_world.real.problems++;
}

static bool follow_clock(struct hyphae_graph *graph)
{
	return hyphae_graph_on_problem(graph, count_problem, NULL) == 0 &&
	       hyphae_graph_set_clock(graph, ms_world.real.clock) == 0;
}

static int any_source(void)
{
	struct ms_write w;

	return ms_roll(3) && ms_choose_write(&w) ? w.node : -1;
}

/* Its number; it is not started yet. */
static int new_timer(int starts)
{
	int timer = ms_world.model.timer_count++;
	struct ms_timer_recipe r = {
		.delay = ms_between(-2, 7),
		.period = ms_roll(2) ? 1 + ms_roll(5) : 0,
		.detaches = ms_between(0, 4),
		.stops = ms_roll(4) ? -1 : ms_between(0, timer),
		.starts = starts,
		.node = any_source(),
		.value = ms_between(0, MS_NUMBERS / 2),
	};

	/* Written from outside an eager graph is not one wave. */
	r.graph = ms_world.real.second && ms_roll(2);
	if (r.graph && ms_world.eager)
		r.node = -1;
	r.flags = r.period && ms_roll(2) ? HYPHAE_TIMER_COALESCE : 0;
	ms_world.model.timers[timer].recipe = r;
	ms_world.real.timers[timer].recipe = r;
	ms_say("t%d: graph %d, delay %d, period %d, flags %u, detaches %d, "
	       "stops t%d, "
	       "starts t%d, writes %d to #%d\n",
	       timer, r.graph, (int)r.delay, (int)r.period, r.flags, r.detaches,
	       r.stops, r.starts, r.value, r.node);
	return timer;
}

static bool second_graph(void)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);

	ms_world.real.second = graph;
	return follow_clock(graph);
}

/* Sometimes few may start others at one moment. */
bool ms_open_time(void)
{
	unsigned int limit = ms_roll(3) ? 1000 : 1 + (unsigned int)ms_roll(3);

	ms_say("limit %u\n", limit);
	ms_world.model.limit = limit;
	return hyphae_clock_set_limit(ms_world.real.clock, limit) == 0 &&
	       follow_clock(ms_world.real.graph);
}

static bool start_timer(void)
{
	int timer, next = -1;

	if (ms_world.model.timer_count + 2 > MS_TIMERS)
		return true;
	if (!ms_world.real.second && ms_roll(2) && !second_graph())
		return ms_differ("no second graph");
	if (ms_roll(3) == 0)
		next = new_timer(-1);
	timer = new_timer(next);
	ms_say("start t%d\n", timer);
	ms_timer_start(&ms_world.model, timer);
	ms_world.real.timers[timer].handle =
		start(&ms_world.real.timers[timer]);
	return ms_world.real.timers[timer].handle ? ms_compare(true)
						  : ms_differ("no timer");
}

static bool stop_timer(int timer)
{
	bool unborn = ms_world.model.timers[timer].state == MS_UNBORN;
	int expected, got;

	ms_say("stop t%d\n", timer);
	expected =
		unborn || ms_timer_stop(&ms_world.model, timer) ? 0 : -ESTALE;
	got = hyphae_timer_stop(ms_world.real.timers[timer].handle);
	return got == expected ? ms_compare(true)
			       : ms_differ("stop is %d, %d", expected, got);
}

bool ms_stop_timers(void)
{
	bool fine = true;

	for (int i = 0; i < ms_world.model.timer_count && fine; i++)
		fine = stop_timer(i);
	if (ms_world.real.second &&
	    hyphae_graph_free(ms_world.real.second) != 0)
		fine = ms_differ("the second graph is not free");
	ms_world.real.second = NULL;
	return fine;
}

bool ms_move(void)
{
	uint64_t at = ms_roll(24);

	ms_world.waves = true;
	if (at == 0)
		return refused();
	if (at < 3)
		return start_timer();
	if (at < 4)
		return ms_world.model.timer_count == 0 ||
		       stop_timer(
			       ms_between(0, ms_world.model.timer_count - 1));
	if (at < 8)
		return batch_in_time();
	return go_on(true) && ms_compare(!ms_world.model.tied);
}
