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
	};

	return cmocka_run_group_tests_name("reports, ends", tests, NULL, NULL);
}
