/* SPDX-License-Identifier: MIT */
/*
 * Faults that users of other reactive libraries reported: what comes back, is
 * left behind, is old, or does not end.  See test_reports.c.
 *
 *   fault                         elsewhere            here
 *   A21 disposed cell comes back  x02_*, w09_*         every operator
 *   A22 clean-up run twice        a22_* of effects     every kind of hook
 *   A23 leak after an error       d14_*, x11_*         every factory
 *   A24 batch that stays open     bt07_*               every way to fail in it
 *   A25 stale read, by turns      f04_lazy_cells       lazy, tracked, both
 *   A26 hang of a second read     d11_*, p15_*         everywhere, lazy
 *   A27 stale read in its batch   bt14_*               every operator
 *   A28 glitch                    p02_*, a04_*         every operator
 *   A29 exponential time          p05_*                tracked, lazy, switched
 *   A30 goes on after the end     c04_*                every source that goes on
 *   A31 error swallowed           er03_*               every place it arises
 *   A32 writes its own input      r07_*, d15_*         every function, posts
 *
 * A17 to A20 are about keyed maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "marbles.h"
#include "shapes.h"

FN(same, in[0]);
FN(is_one, in[0] == 1);
FN(pair, in[0] * 100 + in[1]);

/* ---- A21: what was disposed does not come back -------------------------------- */

struct killer {
	struct hyphae_cell *victim;
	struct hyphae_scope *scope;
	int code;
};

static int kill_at_one(void *ret, const void *input, void *ctx)
{
	struct killer *killer = ctx;

	if (*(const int64_t *)input == 1 && killer->scope)
		killer->code = hyphae_scope_dispose(killer->scope);
	else if (*(const int64_t *)input == 1)
		killer->code = hyphae_cell_unref(killer->victim);
	return copy_one(ret, input, NULL);
}

/* It is queued, above the cell whose function releases it. */
static void killed_in_its_wave(struct world *w, link_fn make, bool scoped)
{
	struct killer killer = {.code = 1};
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 0);
	struct hyphae_cell *k =
		hyphae_map(a, &hyphae_int64, kill_at_one, &killer);
	struct node *low = derive_inside(w, same, &a, 1);
	struct hyphae_cell *high[2] = {low->cell, a};
	struct node *top = derive_inside(w, pair, high, 2);
	struct log *log = log_new(w, NULL, NULL);
	size_t cells, subs;

	cells = live_cells(w);
	subs = live_subs(w);
	if (scoped) {
		killer.scope = hyphae_scope_new(w->graph);
		assert_int_equal(hyphae_scope_enter(killer.scope), 0);
	}
	killer.victim = make(w, top->cell);
	assert_non_null(killer.victim);
	if (scoped) {
		log_subscribe(log, killer.victim, HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_scope_leave(killer.scope), 0);
	}
	put(a, 1);
	assert_int_equal(killer.code, 0);
	assert_int_equal(hyphae_cell_id(killer.victim), 0);
	assert_int_equal(live_cells(w), cells);
	assert_int_equal(live_subs(w), subs);
	assert_int_equal(targets(top->cell), 0);
	put(a, 2);
	assert_log(log, "");
	assert_int_equal(live_cells(w), cells);
	assert_int_equal(hyphae_cell_unref(killer.victim), -ESTALE);
	assert_int_equal(hyphae_cell_unref(top->cell), 0);
	assert_int_equal(hyphae_cell_unref(low->cell), 0);
	assert_int_equal(hyphae_cell_unref(k), 0);
	assert_int_equal(hyphae_cell_unref(a), 0);
}

static void a21_released_in_its_wave(void **state)
{
	for (size_t i = 0; i < LINKS; i++)
		killed_in_its_wave(*state, links[i].make, false);
}

static void a21_disposed_in_its_wave(void **state)
{
	struct world *w = *state;

	/* Depth first, the top may have been told before. */
	for (size_t i = 0; i < LINKS && !w->eager; i++)
		killed_in_its_wave(w, links[i].make, true);
}

static int count_timer(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	++*(unsigned int *)ctx;
	return 0;
}

static int dispose_in_timer(const struct hyphae_timer_event *event, void *ctx)
{
	struct killer *killer = ctx;

	(void)event;
	killer->code = hyphae_scope_dispose(killer->scope);
	return 0;
}

/* Due at the same moment as the one that disposes of their scope. */
static void a21_disposed_while_it_is_due(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct killer killer = {.scope = hyphae_scope_new(w->graph), .code = 1};
	struct log *log = log_new(w, NULL, NULL);
	unsigned int calls = 0;

	assert_non_null(hyphae_timer_start(w->graph, FRAME, 0, dispose_in_timer,
					   &killer, NULL));
	assert_int_equal(hyphae_scope_enter(killer.scope), 0);
	assert_non_null(hyphae_timer_start(w->graph, FRAME, FRAME, count_timer,
					   &calls, NULL));
	log_subscribe(log, hyphae_debounce(a, FRAME), 0);
	log_subscribe(log, hyphae_delay(a, FRAME, 4, HYPHAE_OVERFLOW_FAIL), 0);
	hyphae_interval(w->graph, FRAME, 0);
	assert_int_equal(hyphae_scope_leave(killer.scope), 0);
	assert_int_equal(armed(w), 5);
	pass(clock, 1);
	assert_int_equal(killer.code, 0);
	assert_int_equal(armed(w), 0);
	pass(clock, 100);
	assert_int_equal(calls, 0);
	assert_log(log, "");
	assert_int_equal(live_cells(w), 1);
	log->drops = 1; /* two subscriptions shared it */
	marble_clock_done(clock);
}

/* ---- A22: hooks that end their own object ---------------------------------------- */

struct hooked {
	struct hyphae_scope *scope;
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	struct hyphae_timer *timer;
	unsigned int calls;
	int code;
};

static void hook_scope(void *ctx)
{
	struct hooked *h = ctx;

	h->calls++;
	h->code = hyphae_scope_dispose(h->scope);
}

static void hook_cell(void *ctx)
{
	struct hooked *h = ctx;

	h->calls++;
	h->code = hyphae_cell_unref(h->cell);
}

static void hook_finalize(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	hook_cell(ctx);
}

static void hook_sub(void *ctx)
{
	struct hooked *h = ctx;

	h->calls++;
	h->code = hyphae_unsubscribe(h->subscription);
}

static void hook_timer(void *ctx)
{
	struct hooked *h = ctx;

	h->calls++;
	h->code = hyphae_timer_stop(h->timer);
}

static void hook_graph(void *ctx)
{
	struct hooked *h = ctx;

	h->calls++;
	h->code = hyphae_graph_free(hyphae_scope_data(h->scope));
}

static int do_nothing(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static int stop_and_detach(const struct hyphae_timer_event *event, void *ctx)
{
	struct hooked *h = ctx;

	(void)event;
	hyphae_timer_stop(h->timer);
	return HYPHAE_DETACH;
}

#define ONCE(h, code_)                                                         \
	do {                                                                   \
		assert_int_equal((h).calls, 1);                                \
		assert_int_equal((h).code, code_);                             \
	} while (0)

static void a22_scopes(void **state)
{
	struct world *w = *state;
	struct hooked h = {.scope = hyphae_scope_new(w->graph)};
	struct hooked twice = {.scope = h.scope};

	assert_int_equal(hyphae_scope_on_dispose(h.scope, hook_scope, &h), 0);
	assert_int_equal(hyphae_scope_on_dispose(h.scope, hook_scope, &twice),
			 0);
	assert_int_equal(hyphae_scope_dispose(h.scope), 0);
	ONCE(h, -ESTALE);
	ONCE(twice, -ESTALE);
	assert_int_equal(hyphae_scope_dispose(h.scope), -ESTALE);
	/* Its data, too, and a graph that is asked to go meanwhile stays. */
	h = (struct hooked){.scope = hyphae_scope_new(w->graph)};
	assert_int_equal(hyphae_scope_set_data(h.scope, w->graph, NULL), 0);
	assert_int_equal(hyphae_scope_on_dispose(h.scope, hook_graph, &h), 0);
	assert_int_equal(hyphae_scope_dispose(h.scope), 0);
	ONCE(h, -EBUSY);
	h = (struct hooked){.scope = hyphae_scope_new(w->graph)};
	assert_int_equal(hyphae_scope_set_data(h.scope, &h, hook_scope), 0);
	assert_int_equal(hyphae_scope_dispose(h.scope), 0);
	ONCE(h, -ESTALE);
}

static void a22_cells(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hooked own = {0}, data = {0}, last = {0};

	own.cell = data.cell = hyphae_int64_new(w->graph, 1);
	assert_int_equal(hyphae_cell_own(own.cell, &own, hook_cell), 0);
	assert_int_equal(hyphae_cell_set_data(data.cell, &data, hook_cell), 0);
	assert_int_equal(hyphae_cell_unref(own.cell), 0);
	ONCE(own, -ESTALE);
	ONCE(data, -ESTALE);
	/* Of a cell that ends its one reference is still to be given back. */
	last.cell = hyphae_finalize(a, hook_finalize, &last);
	assert_int_equal(hyphae_cell_unref(last.cell), 0);
	ONCE(last, -ESTALE);
	last = (struct hooked){0};
	last.cell = hyphae_finalize(a, hook_finalize, &last);
	assert_int_equal(hyphae_cell_complete(a), 0);
	ONCE(last, 0);
	assert_int_equal(live_cells(w), 1);
}

static void a22_subscriptions_and_timers(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);
	struct hyphae_cell *a = source(w, 0);
	struct hooked h = {0}, stopped = {0}, ran = {0};

	h.subscription = hyphae_subscribe_with(a, do_nothing, &h, hook_sub, 0);
	assert_int_equal(hyphae_unsubscribe(h.subscription), 0);
	ONCE(h, -ESTALE);
	h = (struct hooked){0};
	h.subscription = hyphae_subscribe_with(a, do_nothing, &h, hook_sub, 0);
	assert_int_equal(hyphae_cell_complete(a), 0);
	ONCE(h, -ESTALE);
	stopped.timer = hyphae_timer_start(
		w->graph, FRAME, FRAME, stop_and_detach, &stopped, hook_timer);
	assert_int_equal(hyphae_timer_stop(stopped.timer), 0);
	ONCE(stopped, -ESTALE);
	ran.timer = hyphae_timer_start(w->graph, FRAME, FRAME, stop_and_detach,
				       &ran, hook_timer);
	pass(clock, 5);
	ONCE(ran, -ESTALE);
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* ---- A23: what a function that fails has made ------------------------------------- */

struct maker {
	struct world *world;
	struct hyphae_cell *a;
	unsigned int runs;
};

/* Reads what it has made, keeps none of it, and fails. */
static int read_and_fail(void *ret, void *ctx)
{
	struct maker *m = ctx;
	struct hyphae_cell *made = map_link(m->world, m->a);
	struct hyphae_cell *above = map_link(m->world, made);

	m->runs++;
	hyphae_int64_get(above, ret);
	hyphae_cell_unref(above);
	hyphae_cell_unref(made);
	return -EIO;
}

static struct hyphae_cell *make_and_fail(const void *value_, void *ctx)
{
	struct maker *m = ctx;

	(void)value_;
	m->runs++;
	map_link(m->world, map_link(m->world, m->a));
	hyphae_subscribe(m->a, do_nothing, NULL);
	errno = EIO;
	return NULL;
}

static struct hyphae_cell *try_and_fail(size_t attempt, void *ctx)
{
	(void)attempt;
	return make_and_fail(NULL, ctx);
}

static void fails_for_ever(struct world *w, struct maker *m,
			   struct hyphae_cell *cell, size_t follows)
{
	size_t cells = live_cells(w), subs = live_subs(w);
	unsigned int runs = m->runs;

	assert_non_null(cell);
	assert_int_equal(code_of(cell), -EIO);
	for (int64_t i = 1; i <= 100; i++) {
		put(m->a, value(m->a) + 1);
		assert_int_equal(live_cells(w), cells);
		assert_int_equal(live_subs(w), subs);
		assert_int_equal(targets(m->a), follows);
	}
	assert_int_equal(code_of(cell), -EIO);
	if (follows)
		assert_true(m->runs >= runs + 100);
	let_go(w, cell);
	assert_int_equal(targets(m->a), 0);
	assert_int_equal(live_cells(w), 1);
}

static void a23_failed_functions_leave_nothing(void **state)
{
	struct world *w = *state;
	struct maker m = {.world = w, .a = source(w, 0)};
	struct hyphae_graph *g = w->graph;
	size_t subs;

	/* It keeps what it has read, until it reads again. */
	fails_for_ever(
		w, &m,
		keep(w, hyphae_computed(g, &hyphae_int64, read_and_fail, &m)),
		1);
	fails_for_ever(w, &m,
		       keep(w, hyphae_switch_map(m.a, &hyphae_int64,
						 make_and_fail, &m)),
		       1);
	fails_for_ever(w, &m,
		       keep(w, hyphae_merge_map(m.a, &hyphae_int64, 4,
						make_and_fail, &m)),
		       1);
	subs = live_subs(w);
	m.runs = 0;
	fails_for_ever(
		w, &m,
		keep(w, hyphae_retry(g, &hyphae_int64, 9, try_and_fail, &m)),
		0);
	assert_int_equal(m.runs, 10);
	assert_int_equal(live_subs(w), subs);
}

/* ---- A24: a batch in which something fails ----------------------------------------- */

struct failing {
	struct world *world;
	struct hyphae_cell *a;
	int nested; /* what the batch inside returned */
};

static int write_and_fail(void *ctx)
{
	struct failing *f = ctx;

	hyphae_int64_set(f->a, value(f->a) + 1);
	return -EIO;
}

static int nest_and_fail(void *ctx)
{
	struct failing *f = ctx;

	f->nested = hyphae_batch(f->world->graph, write_and_fail, f);
	return -EDOM;
}

static int fail_at_big(struct log *log, const struct hyphae_signal *signal)
{
	(void)log;
	return hyphae_int64_of(signal) > 100 ? -ERANGE : 0;
}

static int for_ever(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	return hyphae_int64_set(log->arg, hyphae_int64_of(signal) + 1);
}

static void batch_is_over(struct world *w, struct hyphae_cell *a,
			  struct log *log)
{
	unsigned long calls = log->calls;

	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(hyphae_batch_end(w->graph), -EINVAL);
	put(a, 0);
	assert_int_equal(log->calls, calls + 1);
}

static void a24_batch_is_over(void **state)
{
	struct world *w = *state;
	struct failing f = {.world = w, .a = source(w, 0)};
	struct log *log = follow(w, f.a);
	struct log *bad = follow_with(w, f.a, fail_at_big, NULL, 0);
	struct log *loop;

	assert_int_equal(hyphae_batch(w->graph, write_and_fail, &f), -EIO);
	batch_is_over(w, f.a, log);
	assert_int_equal(hyphae_batch(w->graph, nest_and_fail, &f), -EDOM);
	assert_int_equal(f.nested, -EIO);
	batch_is_over(w, f.a, log);
	begin_batch(w);
	put(f.a, 101);
	assert_int_equal(hyphae_batch_end(w->graph), -ERANGE);
	batch_is_over(w, f.a, log);
	stop(bad);
	loop = follow_with(w, f.a, for_ever, f.a, HYPHAE_SKIP_INITIAL);
	begin_batch(w);
	put(f.a, 1);
	assert_int_equal(hyphae_batch_end(w->graph), -ELOOP);
	stop(loop);
	batch_is_over(w, f.a, log);
	/* What ends, and what cannot be written, inside. */
	begin_batch(w);
	assert_int_equal(hyphae_string_set(f.a, "x"), -EINVAL);
	put(f.a, 7);
	assert_int_equal(hyphae_cell_fail(f.a, -EIO, NULL), 0);
	assert_int_equal(hyphae_int64_set(f.a, 8), -ESHUTDOWN);
	end_batch(w);
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(log->text[log->length - 1], '!');
}

/* ---- A25, A26: reading by turns, and again ------------------------------------------ */

static int keep_number(struct log *log, const struct hyphae_signal *signal)
{
	log->number = hyphae_int64_of(signal);
	return 0;
}

/* What somebody who looks for a moment sees: also of a lazy cell. */
static int64_t glance(struct world *w, struct hyphae_cell *cell)
{
	struct log *log = follow_with(w, cell, keep_number, NULL, 0);
	int64_t seen = log->number;

	stop(log);
	return seen;
}

static void read_by_turns(struct world *w, bool lazy, bool tracked)
{
	struct hyphae_cell *in = source(w, 0), *m1, *m2;

	assert_int_equal(hyphae_graph_set_lazy(w->graph, lazy), 0);
	m1 = derive(w, is_one, in)->cell;
	m2 = keep(w, (tracked ? computed_link : map_link)(w, m1));
	assert_int_equal(hyphae_graph_set_lazy(w->graph, false), 0);
	assert_int_equal(glance(w, m2), 0);
	put(in, 1);
	assert_int_equal(glance(w, m1), 1);
	assert_int_equal(glance(w, m2), 1);
	put(in, 2);
	assert_int_equal(glance(w, m1), 0);
	put(in, 3);
	assert_int_equal(glance(w, m1), 0);
	assert_int_equal(glance(w, m2), 0);
	put(in, 1);
	assert_int_equal(glance(w, m2), 1);
	put(in, 2);
	assert_int_equal(glance(w, m2), 0);
	assert_int_equal(glance(w, m1), 0);
}

static void a25_read_by_turns(void **state)
{
	for (int i = 0; i < 4; i++)
		read_by_turns(*state, i & 1, i & 2);
}

/* A lazy cell of every operator that slept through a change tells the new. */
static void a25_nothing_old_after_sleep(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LINKS; i++) {
		struct hyphae_cell *a, *d, *below;

		if (!links[i].initial)
			continue;
		a = source(w, 1);
		assert_int_equal(hyphae_graph_set_lazy(w->graph, true), 0);
		d = keep(w, links[i].make(w, a));
		below = keep(w, links[i].make(w, d));
		assert_int_equal(hyphae_graph_set_lazy(w->graph, false), 0);
		for (int64_t v = 2; v < 6; v++) {
			put(a, v);
			assert_int_equal(glance(w, v % 2 ? d : below), v);
		}
		assert_int_equal(targets(a), 0);
	}
}

struct reader {
	struct hyphae_cell *cell;
	unsigned int runs;
};

static int read_twice(void *ret, void *ctx)
{
	struct reader *reader = ctx;
	int64_t one, two;

	reader->runs++;
	if (hyphae_int64_get(reader->cell, &one) < 0 ||
	    hyphae_int64_get(reader->cell, &two) < 0)
		return -EIO;
	*(int64_t *)ret = one * 100 + two;
	return 0;
}

static int read_twice_in_call(struct log *log,
			      const struct hyphae_signal *signal)
{
	int64_t one = -1, two = -1;

	(void)signal;
	hyphae_int64_get(log->arg, &one);
	hyphae_int64_get(log->arg, &two);
	note(log, "%lld+%lld", (long long)one, (long long)two);
	return 0;
}

static void a26_second_reads(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);

	for (size_t i = 0; i < LINKS; i++) {
		struct reader reader = {0};
		struct hyphae_cell *c;
		struct log *log, *inside;
		size_t before = targets(a);

		if (!links[i].initial)
			continue;
		put(a, 9);
		put(a, 1);
		reader.cell = links[i].make(w, a);
		c = hyphae_computed(w->graph, &hyphae_int64, read_twice,
				    &reader);
		assert_int_equal(reader.runs, 1);
		log = follow(w, c);
		inside = follow_with(w, a, read_twice_in_call, reader.cell, 0);
		begin_batch(w);
		put(a, 2);
		end_batch(w);
		assert_log(log, "101,202");
		assert_log(inside, "1,1+1,2,2+2");
		assert_int_equal(reader.runs, 2);
		stop(log);
		stop(inside);
		assert_int_equal(hyphae_cell_unref(c), 0);
		assert_int_equal(hyphae_cell_unref(reader.cell), 0);
		assert_int_equal(targets(a), before);
	}
}

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
		CASE(a21_released_in_its_wave),
		CASE(a21_disposed_in_its_wave),
		CASE(a21_disposed_while_it_is_due),
		CASE(a22_scopes),
		CASE(a22_cells),
		CASE(a22_subscriptions_and_timers),
		CASE(a23_failed_functions_leave_nothing),
		CASE(a24_batch_is_over),
		CASE(a25_read_by_turns),
		CASE(a25_nothing_old_after_sleep),
		CASE(a26_second_reads),
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

	return cmocka_run_group_tests_name("reports, ends", tests, NULL, NULL);
}
