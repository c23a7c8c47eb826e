/* SPDX-License-Identifier: MIT */
/* Timers: those of operators, against a model, and those of users. */
#include "clock.h"

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
	assert_non_null(strstr(room->problem,
			       " returned error -5 (Input/output error)."));
	fails.result = -ERANGE;
	fails.message = "three is too many";
	advance(room, 5);
	assert_int_equal(room->problems, 3);
	assert_int_equal(room->code, -ERANGE);
	assert_non_null(strstr(room->problem, ": three is too many."));
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
	};

	return cmocka_run_group_tests_name("clock: timers", tests, NULL, NULL);
}
