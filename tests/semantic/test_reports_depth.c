/* SPDX-License-Identifier: MIT */
/*
 * The same as test_reports.c, of faults about depth: nothing that a user can
 * make long may use the stack.
 *
 *   fault                         elsewhere            here
 *   A01 depth of propagation      w01_chain            every operator; relays
 *   A02 depth of disposal         x07_*                hooks, values, scopes
 *   A03 depth of a concat         a03_concat_of_many   ends from inside
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "marbles.h"
#include "shapes.h"

FN(same, in[0]);
FN(sum, in[0] + in[1]);

/* ---- A01: the depth of propagation -------------------------------------------- */

enum { LONG = 400 };

struct long_chain {
	struct world *world;
	link_fn make;
	bool event;
	int64_t told;
	unsigned long calls;
};

static int keep_told(const struct hyphae_signal *signal, void *ctx)
{
	struct long_chain *chain = ctx;

	chain->calls++;
	chain->told = hyphae_int64_of(signal);
	return 0;
}

static const char *one_long_chain(void *arg)
{
	struct long_chain *chain = arg;
	struct hyphae_graph *graph = chain->world->graph;
	struct hyphae_cell *first, *cells[LONG + 1];
	struct hyphae_subscription *s;

	first = chain->event ? hyphae_event_new(graph, &hyphae_int64)
			     : hyphae_int64_new(graph, 1);
	CHECK(first);
	cells[0] = first;
	for (int i = 1; i <= LONG; i++) {
		cells[i] = chain->make(chain->world, cells[i - 1]);
		CHECK(cells[i]);
	}
	s = hyphae_subscribe_with(cells[LONG], keep_told, chain, NULL,
				  HYPHAE_SKIP_INITIAL);
	CHECK(s);
	CHECK(hyphae_int64_set(first, 2) == 0);
	CHECK(chain->told == 2);
	CHECK(chain->calls == 1);
	CHECK(hyphae_batch_begin(graph) == 0);
	CHECK(hyphae_int64_set(first, 3) == 0);
	CHECK(hyphae_batch_end(graph) == 0);
	CHECK(chain->told == 3);
	CHECK(chain->calls == 2);
	CHECK(hyphae_unsubscribe(s) == 0);
	/* The handle of the last one is what keeps all of it. */
	for (int i = 0; i <= LONG; i++)
		CHECK(hyphae_cell_unref(cells[i]) == 0);
	CHECK(live_cells(chain->world) == 0);
	return NULL;
}

static void long_chains(struct world *w, bool event)
{
	for (size_t i = 0; i < LINKS; i++) {
		struct long_chain chain = {
			.world = w, .make = links[i].make, .event = event};

		/* In a chain of these each one swallows what it is made of. */
		if (!links[i].initial || (event && !links[i].of_event))
			continue;
		on_small_stack(64 << 10, one_long_chain, &chain);
	}
}

static void a01_chains_of_every_operator(void **state)
{
	long_chains(*state, false);
}

static void a01_chains_of_events(void **state)
{
	long_chains(*state, true);
}

enum { BOOKINGS = 1000 };

/* The report itself: balance(i) = balance(i - 1) + amount(i). */
static const char *ledger(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *amount[BOOKINGS], *balance[BOOKINGS];
	struct node *nodes[BOOKINGS];
	int64_t held;

	for (int i = 0; i < BOOKINGS; i++) {
		amount[i] = hyphae_int64_new(w->graph, i);
		CHECK(amount[i]);
		nodes[i] = i ? derive_inside(w, sum,
					     (struct hyphae_cell *[]){
						     balance[i - 1], amount[i]},
					     2)
			     : derive_inside(w, same, amount, 1);
		CHECK(nodes[i]);
		balance[i] = nodes[i]->cell;
	}
	for (int i = 0; i < BOOKINGS; i++)
		nodes[i]->runs = 0;
	CHECK(hyphae_int64_set(amount[0], 1) == 0);
	CHECK(hyphae_int64_get(balance[BOOKINGS - 1], &held) == 0);
	CHECK(held == BOOKINGS * (BOOKINGS - 1) / 2 + 1);
	for (int i = 0; i < BOOKINGS; i++)
		CHECK(nodes[i]->runs == 1);
	for (int i = 0; i < BOOKINGS; i++) {
		CHECK(hyphae_cell_unref(amount[i]) == 0);
		CHECK(hyphae_cell_unref(balance[i]) == 0);
	}
	return NULL;
}

static void a01_ledger(void **state)
{
	on_small_stack(64 << 10, ledger, *state);
}

enum { RELAYS = 2000 };

struct relay {
	struct hyphae_cell *next;
	unsigned int depth;
};

static unsigned int relay_depth, relay_deepest;

static int hand_on(const struct hyphae_signal *signal, void *next)
{
	int r;

	if (++relay_depth > relay_deepest)
		relay_deepest = relay_depth;
	r = hyphae_int64_set(next, hyphae_int64_of(signal));
	relay_depth--;
	return r < 0 ? r : 0;
}

/* Subscribers that each write the next cell: waves, not frames. */
static const char *relays(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *cells[RELAYS];
	struct hyphae_subscription *s[RELAYS];
	int64_t held;

	CHECK(hyphae_graph_set_wave_limit(w->graph, RELAYS) == 0);
	for (int i = RELAYS - 1; i >= 0; i--) {
		cells[i] = hyphae_int64_new(w->graph, 0);
		s[i] = NULL;
		if (i + 1 < RELAYS)
			s[i] = hyphae_subscribe_with(cells[i], hand_on,
						     cells[i + 1], NULL,
						     HYPHAE_SKIP_INITIAL);
		CHECK(cells[i]);
		CHECK(s[i] || i + 1 == RELAYS);
	}
	relay_deepest = 0;
	CHECK(hyphae_int64_set(cells[0], 7) == 0);
	CHECK(hyphae_int64_get(cells[RELAYS - 1], &held) == 0);
	CHECK(held == 7);
	CHECK(relay_deepest == 1);
	for (int i = 0; i < RELAYS; i++) {
		CHECK(hyphae_unsubscribe(s[i]) == 0);
		CHECK(hyphae_cell_unref(cells[i]) == 0);
	}
	return NULL;
}

static void a01_relay_of_subscribers(void **state)
{
	on_small_stack(128 << 10, relays, *state);
}

/* ---- A02: the depth of disposal ------------------------------------------------ */

enum { MANY = 10000 };

struct domino {
	struct world *world;
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	struct hyphae_scope *scope;
	struct hyphae_timer *timer;
	int code;
};

static struct domino dominoes[MANY + 1];
static unsigned int fallen, domino_depth, domino_deepest;

static void dominoes_begin(void)
{
	memset(dominoes, 0, sizeof(dominoes));
	fallen = domino_depth = domino_deepest = 0;
}

static void fall(void (*push)(struct domino *next), struct domino *domino)
{
	fallen++;
	if (++domino_depth > domino_deepest)
		domino_deepest = domino_depth;
	if (domino < &dominoes[MANY - 1])
		push(domino + 1);
	domino_depth--;
}

static void push_subscription(struct domino *next)
{
	next->code = hyphae_unsubscribe(next->subscription);
}

static void nobody_left(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	fall(push_subscription, ctx);
}

static const char *all_fell(const struct world *w)
{
	CHECK(fallen == MANY);
	for (int i = 1; i < MANY; i++)
		CHECK(dominoes[i].code == 0);
	CHECK(live_cells(w) == 0);
	CHECK(live_subs(w) == 0);
	return NULL;
}

/* The report itself: who leaves last disposes of the next. */
static const char *hooks_that_unsubscribe(void *arg)
{
	struct world *w = arg;

	dominoes_begin();
	for (int i = 0; i < MANY; i++) {
		struct domino *d = &dominoes[i];

		d->cell = hyphae_int64_new(w->graph, i);
		CHECK(d->cell);
		CHECK(hyphae_cell_set_hooks(d->cell, NULL, nobody_left, d) ==
		      0);
		d->subscription = hyphae_subscribe(d->cell, hand_on, d->cell);
		CHECK(d->subscription);
	}
	CHECK(hyphae_unsubscribe(dominoes[0].subscription) == 0);
	for (int i = 0; i < MANY; i++)
		CHECK(hyphae_cell_unref(dominoes[i].cell) == 0);
	return all_fell(w);
}

static void push_cell(struct domino *next)
{
	next->code = hyphae_cell_unref(next->cell);
}

static void finalized(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	fall(push_cell, ctx);
}

static const char *finalizers_that_release(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 1);

	dominoes_begin();
	for (int i = 0; i < MANY; i++) {
		dominoes[i].cell = hyphae_finalize(a, finalized, &dominoes[i]);
		CHECK(dominoes[i].cell);
	}
	CHECK(hyphae_cell_unref(dominoes[0].cell) == 0);
	CHECK(hyphae_cell_unref(a) == 0);
	return all_fell(w);
}

static void push_scope(struct domino *next)
{
	next->code = hyphae_scope_dispose(next->scope);
}

static void disposed(void *ctx)
{
	fall(push_scope, ctx);
}

static const char *scopes_that_dispose(void *arg)
{
	struct world *w = arg;

	dominoes_begin();
	for (int i = 0; i < MANY; i++) {
		dominoes[i].scope = hyphae_scope_new(w->graph);
		CHECK(dominoes[i].scope);
		CHECK(hyphae_scope_on_dispose(dominoes[i].scope, disposed,
					      &dominoes[i]) == 0);
	}
	CHECK(hyphae_scope_dispose(dominoes[0].scope) == 0);
	return all_fell(w);
}

/* A value that owns a reference to the next cell: a list made of cells. */
static void drop_owner(void *value)
{
	struct domino *const *domino = value;

	if (*domino)
		fall(push_cell, *domino);
}

static int copy_owner(void *to, const void *from)
{
	memcpy(to, from, sizeof(void *));
	/* The original is the test's, and owns nothing. */
	return 0;
}

static const struct hyphae_type owner_type = {
	.name = "owner",
	.size = sizeof(struct domino *),
	.align = _Alignof(struct domino *),
	.copy = copy_owner,
	.drop = drop_owner,
};

static const char *values_that_own_cells(void *arg)
{
	struct world *w = arg;

	dominoes_begin();
	for (int i = 0; i < MANY; i++) {
		struct domino *d = &dominoes[i];

		d->cell = hyphae_cell_new(w->graph, &owner_type, &d);
		CHECK(d->cell);
	}
	CHECK(hyphae_cell_unref(dominoes[0].cell) == 0);
	return all_fell(w);
}

static void push_timer(struct domino *next)
{
	next->code = hyphae_timer_stop(next->timer);
}

static void timer_dropped(void *ctx)
{
	fall(push_timer, ctx);
}

static int never(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

static const char *timers_that_stop(void *arg)
{
	struct world *w = arg;

	dominoes_begin();
	for (int i = 0; i < MANY; i++) {
		dominoes[i].timer =
			hyphae_timer_start(w->graph, 1000, 1000, never,
					   &dominoes[i], timer_dropped);
		CHECK(dominoes[i].timer);
	}
	CHECK(hyphae_timer_stop(dominoes[0].timer) == 0);
	return all_fell(w);
}

static void a02_dominoes(void **state)
{
	on_small_stack(64 << 10, hooks_that_unsubscribe, *state);
	on_small_stack(64 << 10, finalizers_that_release, *state);
	on_small_stack(64 << 10, values_that_own_cells, *state);
}

static void a02_dominoes_of_scopes(void **state)
{
	on_small_stack(64 << 10, scopes_that_dispose, *state);
}

static void a02_dominoes_of_timers(void **state)
{
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);

	on_small_stack(64 << 10, timers_that_stop, w);
	assert_int_equal(armed(w), 0);
	marble_clock_done(clock);
}

/* Lazy cells that follow each other go idle when the last subscriber leaves. */
static const char *lazy_chain(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 1), *last = a;
	struct hyphae_subscription *s;
	struct hyphae_cell_info info;

	for (int i = 0; i < MANY; i++) {
		struct hyphae_cell *next = map_link(w, last);

		CHECK(next);
		CHECK(hyphae_cell_set_lazy(next) == 0);
		if (i)
			CHECK(hyphae_cell_unref(last) == 0);
		last = next;
	}
	CHECK(targets(a) == 0);
	for (int i = 0; i < 3; i++) {
		s = hyphae_subscribe(last, keep_told,
				     &(struct long_chain){.world = w});
		CHECK(s);
		CHECK(targets(a) == 1);
		CHECK(hyphae_unsubscribe(s) == 0);
		CHECK(targets(a) == 0);
	}
	CHECK(hyphae_cell_info(last, &info) == 0);
	CHECK(info.idle);
	CHECK(hyphae_cell_unref(last) == 0);
	CHECK(hyphae_cell_unref(a) == 0);
	CHECK(live_cells(w) == 0);
	return NULL;
}

static void a02_lazy_chain_falls_asleep(void **state)
{
	on_small_stack(64 << 10, lazy_chain, *state);
}

/* ---- A03: the depth of what ends at once ---------------------------------------- */

enum { LEGS = 1000 };

static struct hyphae_cell *legs[LEGS];
static unsigned int legs_told, legs_depth, legs_deepest, legs_over;

static int end_this_leg(const struct hyphae_signal *signal, void *ctx)
{
	int r = 0;

	(void)ctx;
	if (++legs_depth > legs_deepest)
		legs_deepest = legs_depth;
	if (signal->kind == HYPHAE_VALUE) {
		legs_told++;
		r = hyphae_cell_complete(legs[hyphae_int64_of(signal)]);
	} else {
		legs_over++;
	}
	legs_depth--;
	return r;
}

static const char *legs_begin(struct world *w)
{
	legs_told = legs_deepest = legs_over = 0;
	CHECK(hyphae_graph_set_wave_limit(w->graph, 4 * LEGS) == 0);
	for (int i = 0; i < LEGS; i++) {
		legs[i] = hyphae_int64_new(w->graph, i);
		CHECK(legs[i]);
	}
	return NULL;
}

/* Each leg of the concat is ended by the one who is told its value. */
static const char *legs_end_from_inside(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *c;
	struct hyphae_subscription *s;
	const char *failure = legs_begin(w);

	CHECK(!failure);
	c = hyphae_concat(legs, LEGS);
	CHECK(c);
	s = hyphae_subscribe(c, end_this_leg, NULL);
	CHECK(s);
	CHECK(legs_told == LEGS);
	CHECK(legs_over == 1);
	CHECK(legs_deepest == 1);
	CHECK(hyphae_unsubscribe(s) == -ESTALE);
	CHECK(hyphae_cell_unref(c) == 0);
	for (int i = 0; i < LEGS; i++)
		CHECK(hyphae_cell_unref(legs[i]) == 0);
	return NULL;
}

static struct hyphae_cell *ended_inner(const void *outer, void *graph)
{
	/* A function may not write, so not hyphae_cell_complete(). */
	return hyphae_take(inner_of(outer, graph), 1);
}

static int count_values(const struct hyphae_signal *signal, void *ctx)
{
	unsigned int *count = ctx;

	count[signal->kind != HYPHAE_VALUE]++;
	return 0;
}

/* Inners that are over when they are made, very many of them in one pass. */
static const char *inners_end_at_once(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *e = hyphae_event_new(w->graph, &hyphae_int64);
	struct hyphae_cell *merged =
		hyphae_merge_map(e, &hyphae_int64, 1, ended_inner, w->graph);
	struct hyphae_cell *switched =
		hyphae_switch_map(e, &hyphae_int64, ended_inner, w->graph);
	unsigned int m[2] = {0}, s[2] = {0};

	CHECK(merged);
	CHECK(switched);
	CHECK(hyphae_subscribe(merged, count_values, m));
	CHECK(hyphae_subscribe(switched, count_values, s));
	CHECK(hyphae_batch_begin(w->graph) == 0);
	for (int i = 1; i <= LEGS; i++)
		CHECK(hyphae_int64_set(e, i) == 0);
	CHECK(hyphae_cell_complete(e) == 0);
	CHECK(hyphae_batch_end(w->graph) == 0);
	CHECK(m[0] == LEGS);
	CHECK(m[1] == 1);
	CHECK(s[0] == LEGS);
	CHECK(s[1] == 1);
	CHECK(hyphae_cell_unref(merged) == 0);
	CHECK(hyphae_cell_unref(switched) == 0);
	CHECK(hyphae_cell_unref(e) == 0);
	CHECK(live_cells(w) == 0);
	return NULL;
}

static void a03_legs_end_from_inside(void **state)
{
	on_small_stack(64 << 10, legs_end_from_inside, *state);
}

static void a03_inners_end_at_once(void **state)
{
	on_small_stack(64 << 10, inners_end_at_once, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a01_chains_of_every_operator),
		CASE(a01_chains_of_events),
		CASE(a01_ledger),
		CASE(a01_relay_of_subscribers),
		CASE(a02_dominoes),
		CASE(a02_dominoes_of_scopes),
		CASE(a02_dominoes_of_timers),
		CASE(a02_lazy_chain_falls_asleep),
		CASE(a03_legs_end_from_inside),
		CASE(a03_inners_end_at_once),
	};

	return cmocka_run_group_tests_name("reports_depth", tests, NULL, NULL);
}
