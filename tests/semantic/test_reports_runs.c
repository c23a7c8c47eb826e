/* SPDX-License-Identifier: MIT */
/*
 * Faults that users of other reactive libraries reported: values that are not
 * those of one moment, runs that are too many, and what happens to those that
 * go wrong.  See test_reports.c.
 *
 *   fault                         elsewhere            here
 *   A27 stale read in its batch   bt14_*               every operator
 *   A28 glitch                    p02_*, a04_*         every operator
 *   A29 exponential time          p05_*                tracked, lazy, switched
 *   A30 goes on after the end     c04_*                every source that goes on
 *   A31 error swallowed           er03_*               every place it arises
 *   A32 writes its own input      r07_*, d15_*         every function, posts
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "marbles.h"
#include "shapes.h"

FN(pair, in[0] * 100 + in[1]);

/* ---- A27, A28: one value of every operator --------------------------------------------- */

static void a27_made_and_read_in_one_batch(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LINKS; i++) {
		struct hyphae_cell *a, *d;

		if (!links[i].initial)
			continue;
		begin_batch(w);
		a = source(w, 0);
		d = keep(w, links[i].make(w, a));
		assert_int_equal(value(d), 0);
		put(a, 1);
		assert_int_equal(value(a), 1);
		assert_int_equal(value(d), 0); /* the settled one */
		assert_int_equal(hyphae_settle(w->graph), 0);
		assert_int_equal(value(d), 1);
		put(a, 2);
		assert_int_equal(value(d), 1);
		end_batch(w);
		assert_int_equal(value(d), 2);
	}
}

static void a28_triangle_of_every_operator(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LINKS; i++) {
		struct hyphae_cell *a, *b;
		struct log *log;

		if (!links[i].initial)
			continue;
		a = source(w, 0);
		b = keep(w, links[i].make(w, a));
		log = follow(w, derive(w, pair, a, b)->cell);
		for (int64_t v = 1; v <= 2; v++) {
			begin_batch(w);
			put(a, v);
			end_batch(w);
		}
		assert_log(log, "0,101,202");
		put(a, 3);
		assert_string_equal(log->text + strlen(log->text) - 4, ",303");
		if (!w->eager)
			assert_log(log, "0,101,202,303");
	}
}

/* ---- A29: layers ------------------------------------------------------------------------- */

enum { LAYERS = 40 };

struct layer {
	struct hyphae_cell *below[2];
	unsigned int runs;
};

static int sum_layer(void *ret, void *ctx)
{
	struct layer *layer = ctx;
	int64_t one = 0, two = 0;

	layer->runs++;
	hyphae_int64_get(layer->below[0], &one);
	hyphae_int64_get(layer->below[1], &two);
	*(int64_t *)ret = one + two;
	return 0;
}

static int sum_layer_of(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	struct layer *layer = ctx;

	(void)count;
	layer->runs++;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

static int64_t fibonacci(int n)
{
	int64_t one = 1, two = 1;

	for (int i = 0; i < n; i++) {
		int64_t next = one + two;

		one = two;
		two = next;
	}
	return two;
}

static void runs_are(const struct layer *layers, unsigned int expected)
{
	for (int i = 0; i < LAYERS; i++)
		assert_int_equal(layers[i].runs, expected);
}

/* Each layer follows the two below it: 2^40 ways lead up. */
static void layered(struct world *w, bool tracked, bool lazy)
{
	struct layer layers[LAYERS] = {0};
	struct hyphae_cell *a = source(w, 1), *two = a, *one = a;
	struct log *log;

	assert_int_equal(hyphae_graph_set_lazy(w->graph, lazy), 0);
	for (int i = 0; i < LAYERS; i++) {
		struct layer *layer = &layers[i];
		struct hyphae_cell *next;

		layer->below[0] = two;
		layer->below[1] = one;
		next = tracked ? hyphae_computed(w->graph, &hyphae_int64,
						 sum_layer, layer)
			       : hyphae_combine(layer->below, 2, &hyphae_int64,
						sum_layer_of, layer);
		two = one;
		one = keep(w, next);
	}
	assert_int_equal(hyphae_graph_set_lazy(w->graph, false), 0);
	runs_are(layers, !lazy);
	log = follow(w, one);
	for (int i = 0; i < LAYERS; i++) {
		/* What slept when it was read has it read a second time. */
		assert_in_range(layers[i].runs, 1, tracked && lazy ? 2 : 1);
		layers[i].runs = 0;
	}
	/* Eager graphs are depth first only outside of a batch. */
	begin_batch(w);
	put(a, 2);
	end_batch(w);
	runs_are(layers, 1);
	assert_int_equal(value(one), 2 * fibonacci(LAYERS));
	assert_int_equal(log->calls, 2);
	stop(log);
}

static void a29_layers(void **state)
{
	layered(*state, false, false);
	layered(*state, false, true);
}

static void a29_tracked_layers(void **state)
{
	layered(*state, true, false);
	layered(*state, true, true);
}

/* ---- A30: nobody listens any more ---------------------------------------------------------- */

struct supply {
	unsigned int made;
	struct hyphae_cell *cell;
	struct log *log;
};

static int supply_next(void *ret, void *ctx)
{
	struct supply *supply = ctx;

	*(int64_t *)ret = ++supply->made;
	return 1;
}

static int leave_at_two(struct log *log, const struct hyphae_signal *signal)
{
	struct supply *supply = log->arg;

	if (hyphae_int64_of(signal) != 2)
		return 0;
	log->code = hyphae_cell_unref(supply->cell);
	return HYPHAE_DETACH;
}

static void a30_supply_stops(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);

	for (size_t i = 0; i < LINKS; i++) {
		struct supply supply = {0};
		struct hyphae_cell *from = hyphae_from_iterator(
			w->graph, &hyphae_int64, FRAME, supply_next, &supply);
		struct log *log = log_new(w, leave_at_two, &supply);

		assert_non_null(from);
		supply.cell = links[i].make(w, from);
		assert_non_null(supply.cell);
		assert_int_equal(hyphae_cell_unref(from), 0);
		log_subscribe(log, supply.cell, 0);
		pass(clock, 1000000);
		assert_int_equal(log->code, 0);
		assert_int_equal(supply.made, 2);
		assert_log(log, links[i].initial ? "1,2" : "2");
		assert_int_equal(armed(w), 0);
		assert_int_equal(live_cells(w), 0);
	}
	marble_clock_done(clock);
}

/* A limit ends what it is made of, if nobody else keeps it. */
static void a30_limits_stop_the_supply(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct supply supply = {0};
	struct hyphae_cell *from = hyphae_from_iterator(
		w->graph, &hyphae_int64, FRAME, supply_next, &supply);
	struct hyphae_cell *some = keep(w, hyphae_take(from, 3));
	struct log *log = follow(w, some);

	assert_int_equal(hyphae_cell_unref(from), 0);
	pass(clock, 1000000);
	assert_log(log, "1,2,3,C");
	assert_int_equal(supply.made, 3);
	assert_int_equal(armed(w), 0);
	assert_int_equal(live_cells(w), 1);
	marble_clock_done(clock);
}

static int again_until_two(struct log *log, const struct hyphae_signal *signal)
{
	hyphae_int64_set(log->arg, hyphae_int64_of(signal) + 1);
	return hyphae_int64_of(signal) == 2 ? HYPHAE_DETACH : 0;
}

/* Who emits for ever is the one who left: what it emitted last is told. */
static void a30_emitter_leaves(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct log *log = follow(w, e);
	struct log *emitter = follow_with(w, e, again_until_two, e, 0);

	assert_int_equal(hyphae_int64_set(e, 0), 0);
	assert_log(log, "0,1,2,3");
	assert_log(emitter, "0,1,2");
	assert_int_equal(targets(e), 1);
}

/* ---- A31: no error vanishes ------------------------------------------------------------------ */

static int always_fails(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return -EIO;
}

static int timer_fails(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return -EIO;
}

static void problem_is(struct world *w, unsigned int count)
{
	assert_int_equal(w->problems, count);
	assert_int_equal(w->problem_code, -EIO);
	w->problems = 0;
	w->problem_code = 0;
}

static int set_five(void *ctx)
{
	return hyphae_int64_set(ctx, 5);
}

static void a31_failing_subscribers(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_input *input =
		hyphae_input_new(a, 4, HYPHAE_OVERFLOW_FAIL, 0);
	int64_t six = 6;

	keep_sub(w, hyphae_subscribe(a, always_fails, NULL));
	problem_is(w, 1); /* there is no one to return it to */
	assert_int_equal(hyphae_int64_set(a, 1), -EIO);
	problem_is(w, 1);
	begin_batch(w);
	put(a, 2);
	assert_int_equal(hyphae_batch_end(w->graph), -EIO);
	problem_is(w, 1);
	assert_int_equal(hyphae_batch(w->graph, set_five, a), -EIO);
	problem_is(w, 1);
	begin_batch(w);
	put(a, 3);
	assert_int_equal(hyphae_settle(w->graph), -EIO);
	problem_is(w, 1);
	end_batch(w);
	assert_int_equal(hyphae_int64_post(a, 4), 0);
	assert_int_equal(hyphae_settle(w->graph), -EIO);
	problem_is(w, 1);
	assert_int_equal(hyphae_input_push(input, &six), 0);
	assert_int_equal(hyphae_input_flush(input), -EIO);
	problem_is(w, 1);
	assert_non_null(hyphae_timer_start(w->graph, FRAME, 0, timer_fails,
					   NULL, NULL));
	pass(clock, 1);
	problem_is(w, 1);
	keep_sub(w,
		 hyphae_subscribe(keep(w, hyphae_interval(w->graph, FRAME, 0)),
				  always_fails, NULL));
	problem_is(w, 1);
	pass(clock, 2);
	problem_is(w, 2);
	assert_int_equal(hyphae_cell_complete(a), -EIO);
	problem_is(w, 1);
	assert_int_equal(hyphae_input_free(input), 0);
	marble_clock_done(clock);
}

/* A failure that nobody listens to is held by every cell below it. */
static void a31_failure_without_a_listener(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LINKS; i++) {
		struct hyphae_cell *a = source(w, 1);
		struct hyphae_cell *d = keep(w, links[i].make(w, a));
		struct log *log;

		if (links[i].make == catch_link ||
		    links[i].make == unwrap_or_link)
			continue;
		fail_cell(a, -EIO);
		assert_true(ended(d));
		assert_int_equal(code_of(d), -EIO);
		log = follow(w, d);
		/* A tracked function has seen a code, and made it its own. */
		if (strcmp(log->text, links[i].make == computed_link
					      ? "E(-5),C"
					      : "E(-5)!") != 0)
			fail_msg("%s: %s", links[i].name, log->text);
	}
	assert_int_equal(w->problems, 0);
}

/* ---- A32: writing one's own input ------------------------------------------------------------- */

static struct hyphae_cell *own_input;
static unsigned int own_runs, own_refused;

static void write_own_input(void)
{
	own_runs++;
	if (hyphae_int64_set(own_input, 77) == -EPERM &&
	    hyphae_cell_complete(own_input) == -EPERM)
		own_refused++;
}

static int write_in_map(void *ret, const void *input, void *ctx)
{
	write_own_input();
	return copy_one(ret, input, ctx);
}

static int write_in_filter(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	write_own_input();
	return 1;
}

static int write_in_combine(void *ret, const void *const *inputs, size_t count,
			    void *ctx)
{
	(void)count;
	return write_in_map(ret, inputs[0], ctx);
}

static int write_in_fold(void *ret, const void *acc, const void *input,
			 void *ctx)
{
	(void)acc;
	return write_in_map(ret, input, ctx);
}

static void write_in_tap(const void *input, void *ctx)
{
	write_in_filter(input, ctx);
}

static bool write_in_same(const void *last, const void *input, void *ctx)
{
	(void)last;
	write_in_filter(input, ctx);
	return false;
}

static struct hyphae_cell *write_in_switch(const void *outer, void *graph)
{
	write_own_input();
	return inner_of(outer, graph);
}

static int write_in_computed(void *ret, void *cell)
{
	write_own_input();
	return read_one(ret, cell);
}

LINK(w_map, hyphae_map(in, &hyphae_int64, write_in_map, NULL));
LINK(w_filter, hyphae_filter(in, write_in_filter, NULL));
LINK(w_tap, hyphae_tap(in, write_in_tap, NULL));
LINK(w_by, hyphae_distinct_until_changed_by(in, write_in_same, NULL));
LINK(w_combine, hyphae_combine(&in, 1, &hyphae_int64, write_in_combine, NULL));
LINK(w_take_while, hyphae_take_while(in, write_in_filter, true, NULL));
LINK(w_scan, hyphae_scan(in, &hyphae_int64, &none, write_in_fold, NULL));
LINK(w_window, hyphae_window(in, 1, &hyphae_int64, write_in_combine, NULL));
LINK(w_zip, hyphae_zip(&in, 1, &hyphae_int64, write_in_combine, NULL, 1,
		       HYPHAE_OVERFLOW_FAIL));
LINK(w_latest, hyphae_with_latest_from(in, &in, 1, &hyphae_int64,
				       write_in_combine, NULL));
LINK(w_switch, hyphae_switch_map(in, &hyphae_int64, write_in_switch, w->graph));
LINK(w_merge,
     hyphae_merge_map(in, &hyphae_int64, 9, write_in_switch, w->graph));
LINK(w_computed,
     hyphae_computed(w->graph, &hyphae_int64, write_in_computed, in));

static void a32_every_function_is_refused(void **state)
{
	static const link_fn writers[] = {
		w_map_link,	 w_filter_link,	 w_tap_link,
		w_by_link,	 w_combine_link, w_take_while_link,
		w_scan_link,	 w_window_link,	 w_zip_link,
		w_latest_link,	 w_switch_link,	 w_merge_link,
		w_computed_link,
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		struct hyphae_cell *d;
		struct log *log;

		own_input = source(w, 1);
		own_runs = own_refused = 0;
		d = keep(w, writers[i](w, own_input));
		log = follow(w, d);
		put(own_input, 2);
		assert_log(log, "1,2");
		/* distinct_until_changed_by has nothing to compare at first */
		assert_int_equal(own_runs, writers[i] == w_by_link ? 1 : 2);
		assert_int_equal(own_refused, own_runs);
		let_go(w, d);
		stop(log);
	}
}

static int post_own_input(void *ret, const void *input, void *ctx)
{
	own_runs++;
	if (hyphae_int64_post(own_input, *(const int64_t *)input + 1) < 0)
		own_refused++;
	return copy_one(ret, input, ctx);
}

/* A post is no write; a loop of posts does not hold up who takes them. */
static void a32_posts_to_its_own_input(void **state)
{
	struct world *w = *state;
	struct hyphae_post_counts posts;
	struct hyphae_cell *d;

	own_input = source(w, 0);
	own_runs = own_refused = 0;
	d = hyphae_map(own_input, &hyphae_int64, post_own_input, NULL);
	assert_int_equal(own_runs, 1);
	for (int i = 0; i < 3; i++) {
		own_runs = 0;
		assert_int_equal(hyphae_settle(w->graph), 0);
		assert_in_range(own_runs, 1, 65);
	}
	assert_int_equal(own_refused, 0);
	assert_int_equal(hyphae_cell_unref(d), 0);
	assert_int_equal(hyphae_settle(w->graph), 0);
	assert_int_equal(hyphae_graph_post_counts(w->graph, &posts), 0);
	assert_int_equal(posts.waiting, 0);
	assert_int_equal(posts.posted, posts.applied);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a27_made_and_read_in_one_batch),
		CASE(a28_triangle_of_every_operator),
		CASE(a29_layers),
		CASE(a29_tracked_layers),
		CASE(a30_supply_stops),
		CASE(a30_limits_stop_the_supply),
		CASE(a30_emitter_leaves),
		CASE(a31_failing_subscribers),
		CASE(a31_failure_without_a_listener),
		CASE(a32_every_function_is_refused),
		CASE(a32_posts_to_its_own_input),
	};

	return cmocka_run_group_tests_name("reports, runs", tests, NULL, NULL);
}
