/* SPDX-License-Identifier: MIT */
/*
 * Clocks and timers.  Time is virtual or told by the test, never measured.
 *
 * Timers write down what they see; the test judges it afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/sync.h"
#include "oom.h"
#include "time/timer.h"

/* A graph that follows a clock, and what its timers wrote down. */
struct room {
	struct hyphae_clock *clock;
	struct hyphae_graph *graph;
	char text[512]; /* "5a 10b": when and who */
	unsigned int problems;
	int code;
};

static uint64_t now(struct room *room)
{
	uint64_t ns = 0;

	hyphae_clock_now(room->clock, &ns);
	return ns;
}

static void note(struct room *room, const char *who)
{
	size_t length = strlen(room->text);

	snprintf(room->text + length, sizeof(room->text) - length, "%s%llu%s",
		 length ? " " : "", (unsigned long long)now(room), who);
}

static size_t timers(struct room *room)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(room->graph, &counts), 0);
	return counts.timers;
}

static void problem(const struct hyphae_problem *problem, void *ctx)
{
	struct room *room = ctx;

	room->problems++;
	room->code = problem->code;
}

static void build(struct room *room, unsigned int flags)
{
	*room = (struct room){.clock = hyphae_clock_new_virtual(0)};
	room->graph = hyphae_graph_new(flags);
	assert_non_null(room->clock);
	assert_non_null(room->graph);
	assert_int_equal(hyphae_graph_set_clock(room->graph, room->clock), 0);
	assert_int_equal(hyphae_graph_on_problem(room->graph, problem, room),
			 0);
}

static void raze(struct room *room)
{
	assert_int_equal(timers(room), 0);
	assert_int_equal(hyphae_graph_check_idle(room->graph), 0);
	assert_int_equal(hyphae_graph_free(room->graph), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), 0);
	assert_int_equal(hyphae_clock_unref(room->clock), -ESTALE);
}

static int set_up(void **state, unsigned int flags)
{
	struct room *room = malloc(sizeof(*room));

	assert_non_null(room);
	build(room, flags);
	*state = room;
	return 0;
}

static int shared(void **state)
{
	return set_up(state, 0);
}

static int single(void **state)
{
	return set_up(state, HYPHAE_SINGLE_THREAD);
}

static int eager(void **state)
{
	return set_up(state, HYPHAE_EAGER);
}

static int tear_down(void **state)
{
	raze(*state);
	free(*state);
	return 0;
}

/* ---- the timers of operators ---------------------------------------------- */

struct alarm {
	struct hy_timer timer;
	struct room *room;
	const char *name;
	struct hy_derived *wakes;
	uint64_t again_after;
	unsigned int again;
};

static void ring(struct hy_graph *g, struct hy_timer *t)
{
	struct alarm *alarm = container_of(t, struct alarm, timer);

	note(alarm->room, alarm->name);
	if (alarm->wakes)
		hy_wake(g, alarm->wakes);
	if (alarm->again) {
		alarm->again--;
		hy_timer_arm(g, t, hy_after(hy_now(g), alarm->again_after));
	}
}

static int arm(struct alarm *alarm, struct room *room, const char *name,
	       uint64_t due)
{
	struct hy_graph *g = hy_graph(room->graph);
	int r;

	alarm->timer.fire = ring;
	alarm->room = room;
	alarm->name = name;
	hy_lock(g);
	r = hy_timer_arm(g, &alarm->timer, due);
	hy_unlock(g);
	return r;
}

static void disarm(struct alarm *alarm)
{
	struct hy_graph *g = hy_graph(alarm->room->graph);

	hy_lock(g);
	hy_timer_disarm(g, &alarm->timer);
	hy_unlock(g);
}

static void ordered_by_time_then_arming(void **state)
{
	struct room *room = *state;
	struct alarm a = {0}, b = {0}, c = {0}, d = {0};

	assert_int_equal(arm(&a, room, "a", 7), 0);
	assert_int_equal(arm(&b, room, "b", 5), 0);
	assert_int_equal(arm(&c, room, "c", 7), 0);
	assert_int_equal(arm(&d, room, "d", 7), 0);
	assert_int_equal(arm(&a, room, "a", 7), 0); /* anew: behind d */
	assert_int_equal(timers(room), 4);
	disarm(&c);
	disarm(&c);
	assert_int_equal(timers(room), 3);
	assert_int_equal(hyphae_clock_advance(room->clock, 6), 0);
	assert_string_equal(room->text, "5b");
	assert_int_equal(now(room), 6);
	assert_int_equal(hyphae_clock_advance(room->clock, 1), 0);
	assert_string_equal(room->text, "5b 7d 7a");
}

struct counted {
	unsigned int runs;
};

static int run_counted(void *ret, const void *input, void *ctx)
{
	struct counted *counted = ctx;

	counted->runs++;
	*(int64_t *)ret = *(const int64_t *)input + counted->runs;
	return 0;
}

static int count_calls(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void woken_cells_propagate(void **state)
{
	struct room *room = *state;
	struct counted counted = {0};
	struct hyphae_cell *a = hyphae_int64_new(room->graph, 10);
	struct hyphae_cell *m =
		hyphae_map(a, &hyphae_int64, run_counted, &counted);
	unsigned int calls = 0;
	struct hyphae_subscription *s =
		hyphae_subscribe(m, count_calls, &calls);
	struct alarm alarm = {.again = 2, .again_after = 5};
	int64_t value = 0;

	alarm.wakes = hy_derived_of(hy_cell(m));
	assert_int_equal(calls, 1);
	assert_int_equal(arm(&alarm, room, "", 5), 0);
	assert_int_equal(hyphae_clock_advance(room->clock, 100), 0);
	assert_string_equal(room->text, "5 10 15");
	assert_int_equal(now(room), 100);
	assert_int_equal(counted.runs, 4);
	assert_int_equal(calls, 4);
	assert_int_equal(hyphae_int64_get(m, &value), 0);
	assert_int_equal(value, 14);
	hyphae_unsubscribe(s);
	hyphae_cell_unref(m);
	hyphae_cell_unref(a);
}

/* ---- against a model ------------------------------------------------------- */

#define MODELLED 61
#define STEPS 20000

/* A list in no order, and the number that the next arming gets. */
struct model {
	struct {
		bool armed;
		uint64_t due, seq;
	} timers[MODELLED];
	uint64_t seq;
	unsigned int fired, wrong;
	struct hy_timer actual[MODELLED];
	struct hyphae_clock *clock;
	uint64_t random;
};

static unsigned int chance(struct model *model, unsigned int below)
{
	model->random =
		model->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(model->random >> 33) % below;
}

static void model_arm(struct model *model, struct hy_graph *g, unsigned int i,
		      uint64_t due)
{
	model->timers[i].armed = true;
	model->timers[i].due = due;
	model->timers[i].seq = model->seq++;
	hy_timer_arm(g, &model->actual[i], due);
}

static unsigned int model_first(const struct model *model)
{
	unsigned int first = MODELLED;

	for (unsigned int i = 0; i < MODELLED; i++) {
		if (!model->timers[i].armed)
			continue;
		if (first == MODELLED ||
		    model->timers[i].due < model->timers[first].due ||
		    (model->timers[i].due == model->timers[first].due &&
		     model->timers[i].seq < model->timers[first].seq))
			first = i;
	}
	return first;
}

static struct model *modelled; /* by fire_model(), which has no context */

static void fire_model(struct hy_graph *g, struct hy_timer *t)
{
	struct model *model = modelled;
	unsigned int i = (unsigned int)(t - model->actual);
	uint64_t now = hy_now(g);

	model->fired++;
	if (model_first(model) != i || now != model->timers[i].due ||
	    hy_timer_armed(t))
		model->wrong++;
	model->timers[i].armed = false;
	if (!chance(model, 3))
		model_arm(model, g, i, now + chance(model, 20));
	i = chance(model, MODELLED);
	if (!chance(model, 5)) {
		model->timers[i].armed = false;
		hy_timer_disarm(g, &model->actual[i]);
	}
}

static void model_step(struct model *model, struct hy_graph *g)
{
	unsigned int i = chance(model, MODELLED);
	uint64_t now = hy_now(g);

	hy_lock(g);
	if (chance(model, 3)) {
		model_arm(model, g, i, now + chance(model, 30));
	} else {
		model->timers[i].armed = false;
		hy_timer_disarm(g, &model->actual[i]);
	}
	hy_unlock(g);
	if (!chance(model, 4) &&
	    hyphae_clock_advance(model->clock, chance(model, 12)))
		model->wrong++;
}

static void as_a_model_says(void **state)
{
	struct room *room = *state;
	struct hy_graph *g = hy_graph(room->graph);
	struct model model = {.clock = room->clock, .random = 7};

	modelled = &model;
	for (unsigned int i = 0; i < MODELLED; i++)
		model.actual[i].fire = fire_model;
	for (unsigned int i = 0; i < STEPS; i++)
		model_step(&model, g);
	assert_true(model.fired > STEPS / 10);
	for (unsigned int i = 0; i < MODELLED; i++) {
		hy_lock(g);
		model.wrong += model.timers[i].armed !=
			       hy_timer_armed(&model.actual[i]);
		hy_timer_disarm(g, &model.actual[i]);
		hy_unlock(g);
	}
	assert_int_equal(model.wrong, 0);
}

/* ---- timers of users ------------------------------------------------------- */

struct tick {
	struct room *room;
	const char *name;
	struct hyphae_timer *timer;
	unsigned int calls, drops;
	uint64_t due, missed; /* of the last call */
	unsigned int stop_at; /* stop itself in this call */
	int stopped;	      /* what that said */
	int result;
	int64_t start_after; /* start `child` so long after, if it is there */
	struct tick *child;
	struct hyphae_cell *cell; /* count up */
};

static void drop_tick(void *ctx)
{
	struct tick *tick = ctx;

	tick->drops++;
}

static int on_tick(const struct hyphae_timer_event *event, void *ctx)
{
	struct tick *tick = ctx, *child = tick->child;
	int64_t value = 0;

	note(tick->room, tick->name);
	tick->calls++;
	tick->due = event->due_ns;
	tick->missed = event->missed;
	if (tick->calls == tick->stop_at)
		tick->stopped = hyphae_timer_stop(tick->timer);
	if (child) {
		child->room = tick->room;
		child->timer = hyphae_timer_start(child->room->graph,
						  tick->start_after, 0, on_tick,
						  child, drop_tick);
	}
	if (tick->cell) {
		hyphae_int64_get(tick->cell, &value);
		hyphae_int64_set(tick->cell, value + 1);
	}
	return tick->result;
}

static void start(struct tick *tick, struct room *room, const char *name,
		  int64_t delay, uint64_t period)
{
	tick->room = room;
	tick->name = name;
	tick->timer = hyphae_timer_start(room->graph, delay, period, on_tick,
					 tick, drop_tick);
	assert_non_null(tick->timer);
}

static void advance(struct room *room, uint64_t delta)
{
	assert_int_equal(hyphae_clock_advance(room->clock, delta), 0);
}

static void t16_long_jump_fires_each_period(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};

	start(&tick, room, "", 10, 10);
	advance(room, 35);
	assert_string_equal(room->text, "10 20 30");
	assert_int_equal(tick.missed, 0);
	assert_int_equal(now(room), 35);
	assert_int_equal(timers(room), 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), 0);
	assert_int_equal(tick.drops, 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), -ESTALE);
	assert_int_equal(tick.drops, 1);
}

static void t16_coalesced(void **state)
{
	struct room *room = *state;
	struct tick tick = {.room = room, .name = "c"}, other = {0};

	tick.timer =
		hyphae_timer_start_with(room->graph, 10, 10, on_tick, &tick,
					drop_tick, HYPHAE_TIMER_COALESCE);
	assert_non_null(tick.timer);
	start(&other, room, "o", 25, 0);
	advance(room, 35);
	assert_string_equal(room->text, "25o 30c");
	assert_int_equal(tick.calls, 1);
	assert_int_equal(tick.missed, 2);
	assert_int_equal(tick.due, 30);
	advance(room, 5);
	assert_string_equal(room->text, "25o 30c 40c");
	assert_int_equal(tick.missed, 0);
	advance(room, 1000000000);
	assert_int_equal(tick.calls, 3);
	assert_int_equal(tick.missed, 99999999);
	assert_int_equal(tick.due, 1000000040);
	hyphae_timer_stop(tick.timer);
}

static void t17_never_backwards(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};
	uint64_t deadline = 0;

	advance(room, 100);
	start(&tick, room, "", 5, 0);
	assert_int_equal(hyphae_clock_set(room->clock, 99), -EINVAL);
	assert_int_equal(hyphae_clock_set(room->clock, 0), -EINVAL);
	assert_int_equal(now(room), 100);
	assert_int_equal(timers(room), 1);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline), 0);
	assert_int_equal(deadline, 105);
	assert_int_equal(hyphae_clock_set(room->clock, 100), 0);
	assert_int_equal(tick.calls, 0);
	assert_int_equal(hyphae_clock_set(room->clock, 105), 0);
	assert_string_equal(room->text, "105");
	assert_int_equal(tick.drops, 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), -ESTALE);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline),
			 -ENODATA);
}

static void t19_timer_in_timer(void **state)
{
	struct room *room = *state;
	struct tick zero = {.name = "zero"}, below = {.name = "below"};
	struct tick first = {.child = &zero, .start_after = 0};
	struct tick second = {.child = &below, .start_after = -3};
	struct tick third = {0}, later = {0};

	start(&later, room, "later", 6, 0);
	start(&first, room, "first", 5, 0);
	start(&second, room, "second", 5, 0);
	start(&third, room, "third", 5, 0);
	advance(room, 10);
	assert_string_equal(room->text, "5first 5second 5third 5zero 5below "
					"6later");
	assert_int_equal(zero.due, 5);
	assert_int_equal(below.due, 5);
	assert_int_equal(timers(room), 0);
}

static void t19_endless_at_one_moment(void **state)
{
	struct room *room = *state;
	struct tick self = {.name = ""};

	self.child = &self;
	room->text[0] = 0;
	assert_int_equal(hyphae_clock_set_limit(room->clock, 3), 0);
	start(&self, room, "", 5, 0);
	assert_int_equal(hyphae_clock_advance(room->clock, 10), -ELOOP);
	assert_string_equal(room->text, "5 5 5 5"); /* it, and three rounds */
	assert_int_equal(room->problems, 1);
	assert_int_equal(room->code, -ELOOP);
	assert_int_equal(now(room), 5);
	assert_int_equal(timers(room), 1);
	/* Nothing was dropped, and time goes on when the loop has ended. */
	self.child = NULL;
	advance(room, 5);
	assert_string_equal(room->text, "5 5 5 5 5");
	assert_int_equal(now(room), 10);
	assert_int_equal(self.drops, 5);
	assert_int_equal(room->problems, 1);
}

static void limit_of_rounds_by_default(void **state)
{
	struct room *room = *state;
	struct tick self = {.name = ""};

	self.child = &self;
	start(&self, room, "", 0, 0);
	assert_int_equal(hyphae_clock_advance(room->clock, 0), -ELOOP);
	assert_int_equal(self.calls, 1001);
	assert_int_equal(hyphae_graph_dispatch(room->graph),
			 HYPHAE_DISPATCH_MAX);
	assert_int_equal(self.calls, 2001);
	self.child = NULL;
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
}

/* Many that are there already are no rounds. */
static void many_at_one_moment(void **state)
{
	struct room *room = *state;
	struct tick ticks[100] = {{0}};

	assert_int_equal(hyphae_clock_set_limit(room->clock, 1), 0);
	for (unsigned int i = 0; i < 100; i++)
		start(&ticks[i], room, "", 5, 0);
	advance(room, 5);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(ticks[i].calls, 1);
	assert_int_equal(room->problems, 0);
}

static void stops_itself(void **state)
{
	struct room *room = *state;
	struct tick tick = {.stop_at = 2, .stopped = 1};
	struct tick once = {.stop_at = 1, .stopped = 1};

	start(&tick, room, "t", 10, 10);
	start(&once, room, "o", 10, 0);
	advance(room, 15);
	assert_int_equal(tick.drops, 0);
	assert_int_equal(once.drops, 1);
	assert_int_equal(once.stopped, 0);
	advance(room, 100);
	assert_string_equal(room->text, "10t 10o 20t");
	assert_int_equal(tick.stopped, 0);
	assert_int_equal(tick.drops, 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), -ESTALE);
}

static int stop_others(const struct hyphae_timer_event *event, void *ctx)
{
	struct tick *ticks = ctx;

	(void)event;
	note(ticks->room, "!");
	hyphae_timer_stop(ticks[0].timer);
	ticks[1].stopped = hyphae_timer_stop(ticks[1].timer);
	return 0;
}

static void stops_others_of_the_moment(void **state)
{
	struct room *room = *state;
	struct tick ticks[3] = {{0}};

	start(&ticks[0], room, "a", 10, 0);
	assert_non_null(hyphae_timer_start(room->graph, 10, 0, stop_others,
					   ticks, NULL));
	start(&ticks[1], room, "b", 10, 10);
	start(&ticks[2], room, "c", 10, 0);
	advance(room, 50);
	assert_string_equal(room->text, "10a 10! 10c");
	assert_int_equal(ticks[1].stopped, 0);
	assert_int_equal(ticks[1].drops, 1);
}

static void detaches_and_fails(void **state)
{
	struct room *room = *state;
	struct tick leaves = {.result = HYPHAE_DETACH},
		    fails = {.result = -EIO};

	start(&leaves, room, "l", 10, 10);
	start(&fails, room, "f", 10, 10);
	advance(room, 25);
	assert_string_equal(room->text, "10l 10f 20f");
	assert_int_equal(leaves.drops, 1);
	assert_int_equal(room->problems, 2);
	assert_int_equal(room->code, -EIO);
	hyphae_timer_stop(fails.timer);
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t sum = 0;

	++*(unsigned int *)ctx;
	for (size_t i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	*(int64_t *)ret = sum;
	return 0;
}

static int set_both(const struct hyphae_timer_event *event, void *ctx)
{
	struct hyphae_cell **cells = ctx;

	(void)event;
	hyphae_int64_set(cells[0], 10);
	hyphae_int64_set(cells[1], 20);
	return 0;
}

static void writes_are_one_wave(void **state)
{
	struct room *room = *state;
	struct hyphae_cell *cells[2] = {hyphae_int64_new(room->graph, 1),
					hyphae_int64_new(room->graph, 2)};
	unsigned int runs = 0, calls = 0;
	struct hyphae_cell *sum =
		hyphae_combine(cells, 2, &hyphae_int64, add, &runs);
	struct hyphae_subscription *s =
		hyphae_subscribe(sum, count_calls, &calls);
	int64_t value = 0;

	assert_non_null(
		hyphae_timer_start(room->graph, 1, 0, set_both, cells, NULL));
	runs = calls = 0;
	advance(room, 1);
	assert_int_equal(runs, 1);
	assert_int_equal(calls, 1);
	assert_int_equal(hyphae_int64_get(sum, &value), 0);
	assert_int_equal(value, 30);
	hyphae_unsubscribe(s);
	hyphae_cell_unref(sum);
	hyphae_cell_unref(cells[0]);
	hyphae_cell_unref(cells[1]);
}

static int free_cell(const struct hyphae_timer_event *event, void *ctx)
{
	struct hyphae_cell **cell = ctx;

	(void)event;
	hyphae_cell_unref(*cell);
	*cell = NULL;
	return 0;
}

static void frees_cells(void **state)
{
	struct room *room = *state;
	struct hyphae_cell *cell = hyphae_int64_new(room->graph, 1);
	struct hyphae_graph_counts counts;

	assert_non_null(
		hyphae_timer_start(room->graph, 1, 0, free_cell, &cell, NULL));
	advance(room, 1);
	assert_null(cell);
	assert_int_equal(hyphae_graph_counts(room->graph, &counts), 0);
	assert_int_equal(counts.cells, 0);
}

struct tried {
	struct room *room;
	int advance, set, dispatch, free, set_clock;
};

static int try_forbidden(const struct hyphae_timer_event *event, void *ctx)
{
	struct tried *tried = ctx;
	struct room *room = tried->room;

	(void)event;
	tried->advance = hyphae_clock_advance(room->clock, 5);
	tried->set = hyphae_clock_set(room->clock, 50);
	tried->dispatch = hyphae_graph_dispatch(room->graph);
	tried->free = hyphae_graph_free(room->graph);
	tried->set_clock = hyphae_graph_set_clock(room->graph, room->clock);
	return 0;
}

static void refused_in_a_timer(void **state)
{
	struct room *room = *state;
	struct tried tried = {.room = room};

	assert_non_null(hyphae_timer_start(room->graph, 1, 0, try_forbidden,
					   &tried, NULL));
	advance(room, 1);
	assert_int_equal(tried.advance, -EBUSY);
	assert_int_equal(tried.set, -EBUSY);
	assert_int_equal(tried.dispatch, -EBUSY);
	assert_int_equal(tried.free, -EBUSY);
	assert_int_equal(tried.set_clock, -EBUSY);
	assert_int_equal(now(room), 1);
}

static int advance_inside(const struct hyphae_signal *signal, void *ctx)
{
	struct tried *tried = ctx;

	if (hyphae_int64_of(signal)) {
		tried->advance = hyphae_clock_advance(tried->room->clock, 20);
		tried->dispatch = hyphae_graph_dispatch(tried->room->graph);
	}
	return 0;
}

/* Nothing could propagate there: the clock stops at the timer. */
static void advanced_in_a_subscriber(void **state)
{
	struct room *room = *state;
	struct tried tried = {.room = room};
	struct tick tick = {0};
	struct hyphae_cell *cell = hyphae_int64_new(room->graph, 0);
	struct hyphae_subscription *s =
		hyphae_subscribe(cell, advance_inside, &tried);

	assert_int_equal(hyphae_int64_set(cell, 1), 0);
	assert_int_equal(tried.advance, 0); /* nothing was due */
	assert_int_equal(now(room), 20);
	start(&tick, room, "", 10, 0);
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_int_equal(tried.advance, -EBUSY);
	assert_int_equal(tried.dispatch, -EBUSY);
	assert_int_equal(now(room), 20);
	assert_int_equal(tick.calls, 0);
	advance(room, 20);
	assert_string_equal(room->text, "30");
	hyphae_unsubscribe(s);
	hyphae_cell_unref(cell);
}

static void two_graphs_on_one_clock(void **state)
{
	struct room *room = *state, other = *room;
	struct tick a = {0}, b = {0}, c = {0}, d = {0};
	struct hyphae_graph *third = hyphae_graph_new(0);

	other.graph = hyphae_graph_new(0);
	assert_int_equal(hyphae_graph_set_clock(other.graph, room->clock), 0);
	assert_int_equal(hyphae_graph_set_clock(third, room->clock), 0);
	start(&a, room, "a", 10, 10);
	start(&b, &other, "b", 10, 10);
	start(&c, room, "c", 15, 0);
	start(&d, &other, "d", 1000, 0);
	b.room = c.room = room; /* who writes down */
	advance(room, 25);
	assert_string_equal(room->text, "10a 10b 15c 20a 20b");
	/* A graph goes, its clock lives on. */
	assert_int_equal(hyphae_graph_free(other.graph), 0);
	assert_int_equal(b.drops, 1);
	assert_int_equal(d.drops, 1);
	assert_int_equal(hyphae_timer_stop(b.timer), -ESTALE);
	advance(room, 10);
	assert_string_equal(room->text, "10a 10b 15c 20a 20b 30a");
	hyphae_timer_stop(a.timer);
	assert_int_equal(hyphae_graph_free(third), 0);
}

static void of_a_scope(void **state)
{
	struct room *room = *state;
	struct hyphae_scope *scope = hyphae_scope_new(room->graph);
	struct tick in = {0}, ended = {0}, out = {0};

	assert_int_equal(hyphae_scope_enter(scope), 0);
	start(&in, room, "i", 10, 10);
	start(&ended, room, "e", 10, 0);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	start(&out, room, "o", 10, 10);
	advance(room, 10);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(in.drops, 1);
	assert_int_equal(ended.drops, 1);
	assert_int_equal(out.drops, 0);
	advance(room, 10);
	assert_string_equal(room->text, "10i 10e 10o 20o");
	hyphae_timer_stop(out.timer);
}

static void freed_with_timers(void **state)
{
	struct room gone;
	struct tick ticks[3] = {{0}};

	(void)state;
	build(&gone, 0);
	for (unsigned int i = 0; i < 3; i++)
		start(&ticks[i], &gone, "", 10 + i, i);
	assert_int_equal(hyphae_graph_free(gone.graph), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(ticks[i].drops, 1);
		assert_int_equal(hyphae_timer_stop(ticks[i].timer), -ESTALE);
	}
	assert_int_equal(hyphae_clock_advance(gone.clock, 100), 0);
	assert_string_equal(gone.text, "");
	assert_int_equal(hyphae_clock_unref(gone.clock), 0);
}

/* ---- how far time goes ---------------------------------------------------- */

static void ends_of_time(void **state)
{
	struct room *room = *state;
	struct tick last = {0}, rare = {0}, never = {0};

	advance(room, UINT64_MAX - 100);
	assert_int_equal(hyphae_clock_advance(room->clock, 101), -EINVAL);
	assert_int_equal(now(room), UINT64_MAX - 100);
	start(&last, room, "l", INT64_MAX, 0); /* at the end of time */
	start(&rare, room, "r", 10, 80);
	start(&never, room, "n", INT64_MIN, UINT64_MAX);
	assert_int_equal(hyphae_clock_advance(room->clock, 99), 0);
	assert_int_equal(never.calls, 1); /* there is no second time */
	assert_int_equal(never.drops, 1);
	assert_int_equal(rare.calls, 2);
	assert_int_equal(rare.drops, 1);
	assert_int_equal(last.calls, 0);
	advance(room, 1);
	assert_int_equal(last.calls, 1);
	assert_int_equal(last.due, UINT64_MAX);
	assert_int_equal(now(room), UINT64_MAX);
	advance(room, 0);
}

static void a_very_long_jump(void **state)
{
	struct room *room = *state;
	struct tick tick = {.room = room, .name = ""};

	tick.timer = hyphae_timer_start_with(room->graph, 1, 1, on_tick, &tick,
					     NULL, HYPHAE_TIMER_COALESCE);
	assert_int_equal(hyphae_clock_set(room->clock, UINT64_MAX), 0);
	assert_int_equal(tick.calls, 1);
	assert_int_equal(tick.missed, UINT64_MAX - 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), -ESTALE);
}

static void external_jumps(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *other = hyphae_clock_new_external(1000), *got;
	struct hyphae_clock *virtual = room->clock;
	struct tick a = {0}, b = {0};

	assert_int_equal(hyphae_graph_set_clock(room->graph, other), 0);
	got = hyphae_graph_clock(room->graph);
	assert_ptr_equal(got, other);
	assert_int_equal(hyphae_clock_unref(got), 0);
	room->clock = other;
	assert_int_equal(now(room), 1000);
	start(&a, room, "a", 10, 10);
	start(&b, room, "b", 15, 0);
	assert_int_equal(hyphae_clock_advance(other, 5), -EINVAL);
	assert_int_equal(hyphae_clock_set(other, 999), -EINVAL);
	assert_int_equal(hyphae_clock_set(other, 1025), 0);
	assert_string_equal(room->text, "1025a 1025b 1025a");
	assert_int_equal(a.due, 1020);
	assert_int_equal(b.due, 1015);
	assert_int_equal(hyphae_graph_set_clock(room->graph, virtual), -EBUSY);
	hyphae_timer_stop(a.timer);
	assert_int_equal(hyphae_graph_set_clock(room->graph, virtual), 0);
	room->clock = virtual;
	assert_int_equal(hyphae_clock_unref(other), 0);
	assert_int_equal(hyphae_clock_unref(other), -ESTALE);
}

static void references(void **state)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(7);
	struct hyphae_graph *graph = hyphae_graph_new(0);
	uint64_t ns = 0;

	(void)state;
	assert_ptr_equal(hyphae_clock_ref(clock), clock);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	/* Its graph keeps it. */
	assert_int_equal(hyphae_clock_advance(clock, 3), 0);
	assert_int_equal(hyphae_clock_now(clock, &ns), 0);
	assert_int_equal(ns, 10);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_now(clock, &ns), -ESTALE);
}

/* ---- a million ---------------------------------------------------------- */

#define MILLION 1000000
#ifdef __SANITIZE_ADDRESS__
#define PENDING (MILLION / 10)
#else
#define PENDING MILLION
#endif

struct crowd {
	uint64_t calls, wrong, last;
};

static int of_crowd(const struct hyphae_timer_event *event, void *ctx)
{
	struct crowd *crowd = ctx;

	crowd->calls++;
	crowd->wrong += event->due_ns < crowd->last;
	crowd->last = event->due_ns;
	return 0;
}

static void a_million_pending(void **state)
{
	struct room *room = *state;
	struct hyphae_timer **handles = calloc(PENDING, sizeof(*handles));
	struct crowd crowd = {0};
	uint64_t seed = 1, stopped = 0;

	assert_non_null(handles);
	for (size_t i = 0; i < PENDING; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		handles[i] =
			hyphae_timer_start(room->graph, (int64_t)(seed >> 44),
					   0, of_crowd, &crowd, NULL);
	}
	assert_int_equal(timers(room), PENDING);
	for (size_t i = 0; i < PENDING; i += 3, stopped++)
		if (hyphae_timer_stop(handles[i]))
			break;
	assert_int_equal(timers(room), PENDING - stopped);
	assert_int_equal(stopped, (PENDING + 2) / 3);
	advance(room, 1 << 20);
	assert_int_equal(crowd.calls, PENDING - stopped);
	assert_int_equal(crowd.wrong, 0);
	free(handles);
}

/* ---- waiting --------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

static void dispatched_when_told(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};
	uint64_t deadline = 0;

	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline),
			 -ENODATA);
	start(&tick, room, "", 0, 0);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline), 0);
	assert_int_equal(deadline, 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(tick.calls, 1);
}

static void a_descriptor(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_clock *clock = hyphae_graph_clock(graph);
	struct room room = {.clock = clock, .graph = graph};
	struct tick now_due = {0}, later = {0}, never = {0};
	uint64_t deadline = 0, started;
	int fd = hyphae_graph_fd(graph);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(hyphae_graph_fd(graph), fd);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_clock_advance(clock, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set(clock, UINT64_MAX), -EINVAL);
	start(&never, &room, "", INT64_MAX, 0);
	assert_false(readable(fd, 0));
	started = now(&room);
	start(&later, &room, "", 1000000, 0);
	assert_true(readable(fd, -1));
	assert_true(now(&room) >= started + 1000000);
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_int_equal(later.calls, 1);
	assert_false(readable(fd, 0));
	start(&now_due, &room, "", 0, 0);
	assert_true(readable(fd, -1));
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_deadline(graph, &deadline), 0);
	assert_true(deadline > INT64_MAX);
	/* Stopped: it may be readable for it once, and then is not. */
	hyphae_timer_stop(never.timer);
	start(&later, &room, "", 0, 0);
	hyphae_timer_stop(later.timer);
	assert_int_equal(hyphae_graph_dispatch(graph), 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* What is left by one call is done by the next. */
static void dispatch_is_bounded(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_clock *clock = hyphae_clock_new_monotonic();
	struct crowd crowd = {0};
	int fd;

	(void)state;
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	fd = hyphae_graph_fd(graph);
	for (int i = 0; i < HYPHAE_DISPATCH_MAX + 1; i++)
		assert_non_null(hyphae_timer_start(graph, 0, 0, of_crowd,
						   &crowd, NULL));
	assert_int_equal(hyphae_graph_dispatch(graph), HYPHAE_DISPATCH_MAX);
	assert_true(readable(fd, -1));
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_false(readable(fd, 0));
	assert_int_equal(crowd.wrong, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* Posted writes first, then the timers, which see them. */
static void posts_are_dispatched(void **state)
{
	struct room *room = *state;
	struct hyphae_cell *cell = hyphae_int64_new(room->graph, 1);
	struct tick tick = {.cell = cell};
	int fd = hyphae_graph_fd(room->graph);
	int64_t value = 0;

	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_int64_post(cell, 10), 0);
	assert_true(readable(fd, 0));
	start(&tick, room, "", 0, 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 11);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_int64_post(cell, 20), 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 20);
	hyphae_cell_unref(cell);
}

/* A virtual clock has no descriptor of its own time. */
static void descriptor_and_clocks(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *real = hyphae_clock_new_monotonic();
	struct tick tick = {0};
	int fd = hyphae_graph_fd(room->graph);

	assert_true(fd >= 0);
	start(&tick, room, "", 0, 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_graph_set_clock(room->graph, real), 0);
	start(&tick, room, "", 0, 0);
	assert_true(readable(fd, -1));
	hyphae_timer_stop(tick.timer);
	assert_int_equal(hyphae_graph_set_clock(room->graph, room->clock), 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_clock_unref(real), 0);
}

/* ---- no memory ------------------------------------------------------------ */

static void without_memory(void **state)
{
	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_graph *graph = NULL;
		struct hyphae_clock *clock;
		struct room room = {.text = ""};
		struct tick tick = {.room = &room, .name = ""};
		struct hyphae_graph_counts counts;
		int r = 0, fd = 0;

		clock = hyphae_clock_new_virtual(0);
		if (!clock)
			assert_int_equal(errno, ENOMEM);
		graph = hyphae_graph_new(0);
		room.clock = clock;
		room.graph = graph;
		if (graph && clock)
			r = hyphae_graph_set_clock(graph, clock);
		if (r)
			assert_int_equal(r, -ENOMEM);
		if (graph) {
			fd = hyphae_graph_fd(graph);
			assert_true(fd >= 0 || fd == -ENOMEM);
			errno = 0;
			tick.timer = hyphae_timer_start(graph, 0, 0, on_tick,
							&tick, drop_tick);
			if (!tick.timer)
				assert_int_equal(errno, ENOMEM);
			assert_int_equal(tick.drops, !tick.timer);
			hyphae_graph_counts(graph, &counts);
			assert_int_equal(counts.timers, tick.timer != NULL);
			if (clock && !r)
				assert_int_equal(hyphae_graph_dispatch(graph),
						 tick.timer != NULL);
			if (!n)
				assert_int_equal(tick.calls, 1);
		}
		OOM_PAUSE();
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tick.drops, graph != NULL);
		assert_int_equal(hyphae_clock_unref(clock), 0);
	}
}

/* The heap grows; what is in it stays. */
static void heap_without_memory(void **state)
{
	struct room *room = *state;
	struct tick ticks[40] = {{0}};
	unsigned int failed = 0;

	for (unsigned int i = 0; i < 40; i++) {
		hy_alloc_fail_after(1);
		ticks[i].room = room;
		ticks[i].name = "";
		ticks[i].timer = hyphae_timer_start(
			room->graph, i + 1, 0, on_tick, &ticks[i], drop_tick);
		hy_alloc_fail_after(0);
		if (ticks[i].timer)
			continue;
		failed++;
		assert_int_equal(timers(room), i);
		ticks[i].drops = 0;
		start(&ticks[i], room, "", i + 1, 0);
	}
	assert_true(failed >= 3);
	advance(room, 40);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(ticks[i].due, i + 1);
}

static void repeats_without_allocating(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};
	unsigned long before;

	start(&tick, room, "", 1, 1);
	advance(room, 1);
	before = hy_alloc_count();
	advance(room, 50);
	assert_int_equal(tick.calls, 51);
	assert_int_equal(hy_alloc_count(), before);
	hyphae_timer_stop(tick.timer);
}

/* ---- bad input -------------------------------------------------------------- */

static void bad_clocks(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *stale = hyphae_clock_new_virtual(0);
	uint64_t ns = 3;

	assert_int_equal(hyphae_clock_unref(stale), 0);
	assert_null(hyphae_clock_ref(stale));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_clock_ref(NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_clock_unref(stale), -ESTALE);
	assert_int_equal(hyphae_clock_unref(NULL), 0);
	assert_int_equal(hyphae_clock_now(stale, &ns), -ESTALE);
	assert_int_equal(hyphae_clock_now(NULL, &ns), -EINVAL);
	assert_int_equal(hyphae_clock_now(room->clock, NULL), -EINVAL);
	assert_int_equal(hyphae_clock_advance(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_advance(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_set(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set_limit(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_set_limit(stale, 0), -ESTALE);
	assert_int_equal(hyphae_clock_set_limit(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set_limit(room->clock, 0), -EINVAL);
	assert_int_equal(hyphae_graph_set_clock(room->graph, stale), -ESTALE);
	assert_int_equal(hyphae_graph_set_clock(room->graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_set_clock(NULL, room->clock), -EINVAL);
	assert_int_equal(ns, 3);
}

static void bad_graphs(void **state)
{
	struct hyphae_graph *stale = hyphae_graph_new(0);
	struct room *room = *state;
	uint64_t ns = 3;

	assert_int_equal(hyphae_graph_free(stale), 0);
	assert_int_equal(hyphae_graph_set_clock(stale, room->clock), -ESTALE);
	assert_null(hyphae_graph_clock(stale));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_graph_clock(NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_graph_fd(stale), -ESTALE);
	assert_int_equal(hyphae_graph_fd(NULL), -EINVAL);
	assert_int_equal(hyphae_graph_deadline(stale, &ns), -ESTALE);
	assert_int_equal(hyphae_graph_deadline(NULL, &ns), -EINVAL);
	assert_int_equal(hyphae_graph_deadline(room->graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_dispatch(stale), -ESTALE);
	assert_int_equal(hyphae_graph_dispatch(NULL), -EINVAL);
	assert_int_equal(ns, 3);
}

static void bad_timers(void **state)
{
	struct room *room = *state;
	struct hyphae_graph *stale = hyphae_graph_new(0);
	struct tick tick = {.room = room};

	assert_int_equal(hyphae_graph_free(stale), 0);
	assert_null(hyphae_timer_start(NULL, 0, 0, on_tick, &tick, drop_tick));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start(stale, 0, 0, on_tick, &tick, drop_tick));
	assert_int_equal(errno, ESTALE);
	assert_null(
		hyphae_timer_start(room->graph, 0, 0, NULL, &tick, drop_tick));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start_with(room->graph, 0, 1, on_tick, &tick,
					    drop_tick, 2));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start_with(room->graph, 0, 0, on_tick, &tick,
					    drop_tick, HYPHAE_TIMER_COALESCE));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tick.drops, 5);
	assert_null(hyphae_timer_start(NULL, 0, 0, on_tick, &tick, NULL));
	assert_int_equal(hyphae_timer_stop(NULL), 0);
	assert_int_equal(timers(room), 0);
}

#define IN(fn, world)                                                          \
	{                                                                      \
#fn ", " #world, fn, world, tear_down, NULL                    \
	}
#define TEST(fn) IN(fn, shared), IN(fn, single), IN(fn, eager)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ordered_by_time_then_arming),
		TEST(woken_cells_propagate),
		TEST(as_a_model_says),
		TEST(t16_long_jump_fires_each_period),
		TEST(t16_coalesced),
		TEST(t17_never_backwards),
		TEST(t19_timer_in_timer),
		TEST(t19_endless_at_one_moment),
		TEST(limit_of_rounds_by_default),
		TEST(many_at_one_moment),
		TEST(stops_itself),
		TEST(stops_others_of_the_moment),
		TEST(detaches_and_fails),
		TEST(writes_are_one_wave),
		TEST(frees_cells),
		TEST(refused_in_a_timer),
		TEST(advanced_in_a_subscriber),
		TEST(two_graphs_on_one_clock),
		TEST(of_a_scope),
		IN(freed_with_timers, shared),
		TEST(ends_of_time),
		TEST(a_very_long_jump),
		TEST(external_jumps),
		IN(references, shared),
		IN(a_million_pending, shared),
		TEST(dispatched_when_told),
		IN(a_descriptor, shared),
		IN(dispatch_is_bounded, shared),
		TEST(posts_are_dispatched),
		TEST(descriptor_and_clocks),
		IN(without_memory, shared),
		TEST(heap_without_memory),
		TEST(repeats_without_allocating),
		TEST(bad_clocks),
		TEST(bad_graphs),
		TEST(bad_timers),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
