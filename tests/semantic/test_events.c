/* SPDX-License-Identifier: MIT */
/*
 * Event sources: they hold nothing, every emission counts, and in a batch each
 * is told, in order.
 */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct hyphae_cell *event(struct world *world)
{
	return keep(world, hyphae_event_new(world->graph, &hyphae_int64));
}

FN(same, in[0]);

static void o02_batch_of_emissions(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world), *a = source(world, 0);
	struct node *each = derive(world, same, e);
	struct node *last = derive(world, same, a);
	struct log *log = follow(world, each->cell);
	struct log *held = follow(world, last->cell);

	begin(world);
	begin_batch(world);
	for (int64_t i = 1; i <= 3; i++) {
		put(e, i);
		put(a, i);
	}
	end_batch(world);
	assert_int_equal(each->runs, 3);
	assert_int_equal(last->runs, 1);
	assert_log(log, "1,2,3");
	assert_log(held, "0,3");
}

static void o02_equal_emissions_count(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct node *node = derive(world, same, e);
	struct log *log = follow(world, node->cell);

	put(e, 5);
	put(e, 5);
	begin_batch(world);
	put(e, 5);
	put(e, 5);
	end_batch(world);
	assert_int_equal(node->runs, 4);
	assert_log(log, "5,5,5,5");
}

static void an_event_holds_nothing(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct node *node = derive(world, same, e);
	struct hyphae_cell_info info;
	int64_t held;

	put(e, 1);
	assert_int_equal(hyphae_int64_get(e, &held), -ENODATA);
	assert_int_equal(hyphae_int64_get(node->cell, &held), -ENODATA);
	assert_log(follow(world, e), "");
	assert_log(follow(world, node->cell), "");
	assert_int_equal(derive(world, same, e)->runs, 0);
	assert_int_equal(hyphae_cell_info(node->cell, &info), 0);
	assert_true(info.event);
	assert_int_equal(hyphae_cell_info(source(world, 1), &info), 0);
	assert_false(info.event);
}

/* ---- several events ------------------------------------------------------- */

static int into(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE)
		note(log->arg, "%s%lld", log->number ? "y" : "x",
		     (long long)hyphae_int64_of(signal));
	return 0;
}

/* Emissions on x and y, told to subscribers that share one log. */
struct pair {
	struct hyphae_cell *x, *y;
	struct log *both;
};

static struct pair pair(struct world *world)
{
	struct pair p = {event(world), event(world), log_new(world, NULL, 0)};

	follow_with(world, p.x, into, p.both, 0);
	follow_with(world, p.y, into, p.both, 0)->number = 1;
	return p;
}

static void events_of_a_batch_stay_in_order(void **state)
{
	struct world *world = *state;
	struct pair p = pair(world);

	begin_batch(world);
	put(p.x, 1);
	put(p.y, 10);
	put(p.x, 2);
	put(p.y, 20);
	put(p.y, 30);
	end_batch(world);
	assert_log(p.both, "x1,y10,x2,y20,y30");
}

static void no_event_overtakes_another(void **state)
{
	struct world *world = *state;
	struct pair p = pair(world);
	struct hyphae_cell *a = source(world, 0);
	struct log *log = follow(world, a);

	begin_batch(world);
	put(p.x, 1);
	put(p.x, 2);
	put(p.y, 10); /* in the wave of x's second */
	put(a, 1);    /* a value goes with the first */
	end_batch(world);
	assert_log(p.both, "x1,x2,y10");
	assert_log(log, "0,1");
}

static int sum_fn(struct node *node, const int64_t *in, size_t count,
		  int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0] + in[1];
	return 0;
}

/* A combine of an event keeps its last, and runs once for each emission. */
static void combined_with_a_cell(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world), *a = source(world, 100);
	struct node *sum = derive(world, sum_fn, e, a);
	struct log *log = follow(world, sum->cell);

	put(a, 200);
	assert_log(log, "");
	begin_batch(world);
	put(e, 1);
	put(e, 2);
	put(a, 300);
	end_batch(world);
	assert_log(log, "301,302");
	put(a, 400);
	assert_log(log, "301,302,402");
}

/* ---- ends and errors -------------------------------------------------------- */

static void cm02_completion_in_the_batch(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct log *log = follow(world, derive(world, same, e)->cell);

	begin_batch(world);
	put(e, 1);
	put(e, 2);
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_int_equal(hyphae_int64_set(e, 3), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_complete(e), -ESHUTDOWN);
	end_batch(world);
	assert_log(log, "1,2,C");
	assert_int_equal(hyphae_int64_set(e, 3), -ESHUTDOWN);
	assert_log(follow(world, e), "C");
}

static void er08_failure_in_the_batch(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct log *log = follow(world, derive(world, same, e)->cell);

	begin_batch(world);
	put(e, 1);
	put(e, 2);
	assert_int_equal(hyphae_cell_fail(e, -EIO, "broken"), 0);
	assert_int_equal(hyphae_int64_set(e, 3), -ESHUTDOWN);
	end_batch(world);
	assert_log(log, "1,2,E(-5)!");
	assert_log(follow(world, e), "E(-5)!");
}

static int odd_fails(struct node *node, const int64_t *in, size_t count,
		     int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] % 2 ? -EIO : 0;
}

/* An equal error of a cell is no change; each of an event counts. */
static void er01_equal_errors_count(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world), *a = source(world, 0);
	struct node *of_e = derive(world, odd_fails, e);
	struct node *of_a = derive(world, odd_fails, a);
	struct log *log = follow(world, derive(world, same, of_e->cell)->cell);
	struct log *held = follow(world, of_a->cell);

	for (int64_t i = 1; i <= 4; i += 2) {
		put(e, i);
		put(a, i);
	}
	put(e, 4);
	put(a, 4);
	assert_log(log, "E(-5),E(-5),4");
	assert_log(held, "0,E(-5),4");
}

static void an_error_is_not_repeated_by_the_end(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct node *bad = derive(world, odd_fails, e);
	struct log *log = follow(world, derive(world, same, bad->cell)->cell);

	put(e, 1);
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_log(log, "E(-5),C");
}

/* ---- from inside, and limits ------------------------------------------------ */

static int again_once(struct log *log, const struct hyphae_signal *signal)
{
	return hyphae_int64_of(signal) == 1 ? hyphae_int64_set(log->cell, 2)
					    : 0;
}

static void r03_emitting_in_a_subscriber(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct log *before = follow(world, e);
	struct log *writer = follow_with(world, e, again_once, NULL, 0);
	struct log *after = follow(world, e);

	put(e, 1);
	assert_log(before, "1,2");
	assert_log(writer, "1,2");
	assert_log(after, "1,2");
	assert_int_equal(writer->deepest, 1);
}

struct flood {
	struct hyphae_cell *e;
	unsigned int accepted, refused;
	int completed;
	unsigned long told, wrong;
};

static int flood(struct log *log, const struct hyphae_signal *signal)
{
	struct flood *f = log->arg;

	if (hyphae_int64_of(signal) == 0)
		return 0;
	for (int64_t i = 0; i < HYPHAE_EVENTS_MAX + 7; i++) {
		int r = hyphae_int64_set(f->e, i);

		f->accepted += r == 0;
		f->refused += r == -EAGAIN;
	}
	f->completed = hyphae_cell_complete(f->e);
	return 0;
}

static int count_up(const struct hyphae_signal *signal, void *ctx)
{
	struct flood *f = ctx;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	f->wrong += hyphae_int64_of(signal) != (int64_t)f->told;
	f->told++;
	return 0;
}

/* Those that wait are bounded; the end of the event always has room. */
static void no_more_than_the_limit_wait(void **state)
{
	struct world *world = *state;
	struct flood f = {.e = event(world), .completed = 1};
	struct hyphae_cell *go = source(world, 0);
	struct hyphae_cell_info info;

	follow_with(world, go, flood, &f, 0);
	keep_sub(world, hyphae_subscribe(f.e, count_up, &f));
	put(go, 1);
	assert_int_equal(f.accepted, HYPHAE_EVENTS_MAX);
	assert_int_equal(f.refused, 7);
	assert_int_equal(f.completed, 0);
	assert_int_equal(f.told, HYPHAE_EVENTS_MAX);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(hyphae_cell_info(f.e, &info), 0);
	assert_true(info.ended);
}

static int leave(struct log *log, const struct hyphae_signal *signal)
{
	(void)log;
	(void)signal;
	return HYPHAE_DETACH;
}

static void leaving_between_emissions(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = event(world);
	struct log *first = follow_with(world, e, leave, NULL, 0);
	struct log *stays = follow(world, e);

	begin_batch(world);
	put(e, 1);
	put(e, 2);
	put(e, 3);
	end_batch(world);
	assert_log(first, "1");
	assert_log(stays, "1,2,3");
	assert_int_equal(targets(e), 1);
}

static void x11_pending_emissions_of_a_dropped_event(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e = hyphae_event_new(world->graph, &hyphae_string);

	assert_non_null(e);
	begin_batch(world);
	assert_int_equal(hyphae_string_set(e, "one"), 0);
	assert_int_equal(hyphae_string_set(e, "two"), 0);
	assert_int_equal(hyphae_cell_unref(e), 0);
	end_batch(world);
	assert_int_equal(hyphae_cell_id(e), 0);
}

static int spell(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		note(ctx, "%s", hyphae_string_of(signal));
	return 0;
}

static int yes(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

static void boxed_emissions(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e =
		keep(world, hyphae_event_new(world->graph, &hyphae_string));
	struct hyphae_cell *f = keep(world, hyphae_filter(e, yes, NULL));
	struct log *log = log_new(world, NULL, NULL);
	char *text;

	keep_sub(world, hyphae_subscribe(f, spell, log));
	assert_int_equal(hyphae_string_set(e, "a"), 0);
	begin_batch(world);
	assert_int_equal(hyphae_string_set(e, "b"), 0);
	assert_int_equal(hyphae_string_set(e, "b"), 0);
	assert_int_equal(hyphae_string_set(e, "c"), 0);
	end_batch(world);
	assert_log(log, "a,b,b,c");
	assert_int_equal(hyphae_string_get(f, &text), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(o02_batch_of_emissions),
		CASE(o02_equal_emissions_count),
		CASE(an_event_holds_nothing),
		CASE(events_of_a_batch_stay_in_order),
		CASE(no_event_overtakes_another),
		CASE(combined_with_a_cell),
		CASE(cm02_completion_in_the_batch),
		CASE(er08_failure_in_the_batch),
		CASE(er01_equal_errors_count),
		CASE(an_error_is_not_repeated_by_the_end),
		CASE(r03_emitting_in_a_subscriber),
		CASE(no_more_than_the_limit_wait),
		CASE(leaving_between_emissions),
		CASE(x11_pending_emissions_of_a_dropped_event),
		CASE(boxed_emissions),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
