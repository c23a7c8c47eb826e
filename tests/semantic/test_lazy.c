/* SPDX-License-Identifier: MIT */
/*
 * Lazy cells, which work only while something follows them, and hooks, which
 * tell of the first and the last follower.
 */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

FN(same, in[0]);
FN(plus_one, in[0] + 1);
FN(total, in[0] + in[1]);

static struct hyphae_cell_info info(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info;
}

#define lazy(world, ...) make_lazy(derive(world, __VA_ARGS__))

static struct node *make_lazy(struct node *node)
{
	assert_int_equal(hyphae_cell_set_lazy(node->cell), 0);
	node->runs = 0;
	return node;
}

static int add(void *ret, const void *state, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)state + *(const int64_t *)value;
	return 0;
}

static const int64_t zero;

/* ---- idle and awake ------------------------------------------------------------ */

static void idle_it_follows_nothing(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b = lazy(world, plus_one, a);
	int64_t held;

	assert_true(info(b->cell).lazy);
	assert_true(info(b->cell).idle);
	assert_int_equal(targets(a), 0);
	put(a, 2);
	assert_int_equal(b->runs, 0);
	assert_int_equal(hyphae_int64_get(b->cell, &held), -ENODATA);
	assert_int_equal(hyphae_cell_set_lazy(b->cell), 0);
}

static void the_first_follower_wakes_it(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b = lazy(world, plus_one, a);
	struct log *one, *two;

	put(a, 2);
	one = follow(world, b->cell);
	assert_log(one, "3");
	assert_int_equal(b->runs, 1);
	assert_false(info(b->cell).idle);
	two = follow(world, b->cell);
	assert_int_equal(b->runs, 1);
	put(a, 3);
	assert_int_equal(value(b->cell), 4);
	stop(one);
	put(a, 4);
	assert_log(one, "3,4");
	assert_log(two, "3,4,5");
	stop(two);
	assert_int_equal(targets(a), 0);
	put(a, 5);
	assert_int_equal(b->runs, 3);
	assert_log(follow(world, b->cell), "6");
}

static void it_may_skip_the_initial_value(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b = lazy(world, plus_one, a);
	struct log *log =
		follow_with(world, b->cell, NULL, NULL, HYPHAE_SKIP_INITIAL);

	assert_int_equal(b->runs, 1);
	assert_log(log, "");
	put(a, 2);
	assert_log(log, "3");
}

static void a_chain_wakes_and_sleeps(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct node *nodes[8];
	struct log *log;

	for (int i = 0; i < 8; i++)
		nodes[i] = lazy(world, plus_one, i ? nodes[i - 1]->cell : a);
	assert_int_equal(targets(a), 0);
	begin(world); /* each was made before it was lazy */
	log = follow(world, nodes[7]->cell);
	put(a, 1);
	assert_log(log, "8,9");
	for (int i = 0; i < 8; i++)
		assert_int_equal(nodes[i]->runs, 2);
	stop(log);
	for (int i = 0; i < 8; i++)
		assert_true(info(nodes[i]->cell).idle);
	assert_int_equal(targets(a), 0);
}

static void a_diamond_wakes_once(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *top = lazy(world, same, a);
	struct node *l = lazy(world, plus_one, top->cell);
	struct node *r = lazy(world, plus_one, top->cell);
	struct node *join = lazy(world, total, l->cell, r->cell);
	struct log *log;

	begin(world);
	log = follow(world, join->cell);
	assert_log(log, "4");
	assert_int_equal(top->runs + l->runs + r->runs + join->runs, 4);
	assert_int_equal(targets(top->cell), 2);
	stop(log);
	assert_int_equal(targets(a), 0);
}

/* A cell that is not lazy is reason enough. */
static void a_cell_that_works_needs_it(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b = lazy(world, plus_one, a);
	struct node *c = derive(world, plus_one, b->cell);

	assert_int_equal(value(c->cell), 3);
	put(a, 2);
	assert_int_equal(value(c->cell), 4);
	let_go(world, c->cell);
	assert_true(info(b->cell).idle);
}

static int resubscribe(struct log *log, const struct hyphae_signal *signal)
{
	struct log *other = log->arg;

	if (hyphae_int64_of(signal) != 2)
		return 0;
	log_subscribe(other, log->cell, 0);
	return HYPHAE_DETACH;
}

static void who_leaves_and_comes_changes_nothing(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct node *b = lazy(world, plus_one, a);
	struct log *other = log_new(world, NULL, NULL);
	struct log *log = follow_with(world, b->cell, resubscribe, other, 0);

	put(a, 1);
	assert_log(log, "1,2");
	assert_log(other, "2");
	assert_int_equal(b->runs, 2);
	put(a, 2);
	assert_log(other, "2,3");
	keep_sub(world, other->subscription);
}

static void a_state_begins_afresh(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *sum =
		keep(world, hyphae_scan(a, &hyphae_int64, &zero, add, NULL));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(sum), 0);
	log = follow(world, sum);
	put(a, 2);
	put(a, 3);
	assert_log(log, "1,3,6");
	stop(log);
	log = follow(world, sum);
	put(a, 4);
	assert_log(log, "3,7");
}

/* ---- errors, ends, batches --------------------------------------------------------- */

static int odd_fails(struct node *node, const int64_t *in, size_t count,
		     int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] % 2 ? -EIO : 0;
}

static void it_wakes_to_an_error(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2);
	struct node *b = derive(world, odd_fails, a);
	struct node *c = lazy(world, plus_one, b->cell);
	struct log *log;

	put(a, 3);
	log = follow(world, c->cell);
	put(a, 4);
	assert_log(log, "E(-5),5");
	put(a, 5);
	stop(log);
	put(a, 6);
	assert_log(follow(world, c->cell), "7");
}

static int fail_of_9(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value == 9 ? -EIO : 1;
}

/* It is told once: not as news of who wakes, and again as what is held. */
static void an_event_wakes_to_an_error(void **state)
{
	static const unsigned int flags[] = {0, HYPHAE_SKIP_INITIAL,
					     HYPHAE_ONCE};
	struct world *w = *state;
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *f = keep(w, hyphae_filter(e, fail_of_9, NULL));
	struct log *seen = follow(w, f);

	put(e, 9);
	assert_log(seen, "E(-5)");
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *lazy =
			keep(w, hyphae_filter(f, fail_of_9, NULL));

		assert_int_equal(hyphae_cell_set_lazy(lazy), 0);
		seen = follow_with(w, lazy, NULL, NULL, flags[i]);
		assert_log(seen, "E(-5)");
		put(e, 1);
		assert_log(seen, i == 2 ? "E(-5)" : "E(-5),1");
		put(e, 9);
		assert_log(seen, i == 2 ? "E(-5)" : "E(-5),1,E(-5)");
	}
}

static void it_wakes_to_an_end(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 1);
	struct node *of_a = lazy(world, plus_one, a);
	struct node *of_b = lazy(world, plus_one, b);

	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_cell_fail(b, -EIO, NULL), 0);
	assert_false(info(of_a->cell).ended);
	assert_log(follow(world, of_a->cell), "2,C");
	assert_log(follow(world, of_b->cell), "E(-5)!");
	assert_int_equal(of_a->runs, 1);
	/* It has ended and will not work again: it keeps what it holds. */
	assert_int_equal(value(of_a->cell), 2);
	assert_log(follow(world, of_a->cell), "2,C");
	assert_int_equal(of_a->runs, 1);
}

static void waking_inside_a_batch(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b = lazy(world, plus_one, a);
	struct log *log;

	begin_batch(world);
	put(a, 5);
	log = follow(world, b->cell);
	assert_log(log, "2");
	end_batch(world);
	assert_log(log, "2,6");
}

static int follow_another(struct log *log, const struct hyphae_signal *signal)
{
	struct log *other = log->arg;

	if (hyphae_int64_of(signal) == 1)
		log_subscribe(other, other->cell, 0);
	return 0;
}

/* In a wave it is computed after it, and then told. */
static void waking_in_a_subscriber(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct node *b = lazy(world, plus_one, a);
	struct node *c = lazy(world, plus_one, b->cell);
	struct log *other = log_new(world, NULL, NULL);

	begin(world);
	other->cell = c->cell;
	follow_with(world, a, follow_another, other, 0);
	put(a, 1);
	keep_sub(world, other->subscription);
	assert_log(other, "3");
	assert_int_equal(b->runs, 1);
	put(a, 2);
	assert_log(other, "3,4");
}

static void a_lazy_graph(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct node *b, *c;

	assert_int_equal(hyphae_graph_set_lazy(world->graph, true), 0);
	b = derive(world, plus_one, a);
	assert_true(info(b->cell).idle);
	assert_int_equal(b->runs, 0);
	assert_int_equal(hyphae_graph_set_lazy(world->graph, false), 0);
	c = derive(world, plus_one, b->cell);
	assert_int_equal(value(c->cell), 3);
	assert_false(info(b->cell).idle);
}

static void a_graph_that_is_made_lazy(void **state)
{
	struct world *world = *state;
	struct hyphae_graph *graph = hyphae_graph_new(
		HYPHAE_LAZY | (world->eager ? HYPHAE_EAGER : 0));
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_cell *f = hyphae_share(a);
	int64_t held;

	f = hyphae_share(f);
	assert_true(info(f).idle);
	assert_int_equal(hyphae_int64_get(f, &held), -ENODATA);
	assert_int_equal(targets(a), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- ownership --------------------------------------------------------------------- */

static void idle_it_keeps_its_inputs(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = hyphae_int64_new(world->graph, 1);
	struct node *b = lazy(world, plus_one, a);

	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(hyphae_cell_unref(a), -ESTALE);
	assert_log(follow(world, b->cell), "2");
	put(a, 2);
	assert_int_equal(value(b->cell), 3);
}

static void x01_released_while_idle(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = hyphae_int64_new(world->graph, 1);
	struct node *b = lazy(world, plus_one, a);
	struct node *c = lazy(world, total, b->cell, a);

	assert_int_equal(hyphae_cell_unref(a), 0);
	let_go(world, b->cell);
	assert_int_equal(live_cells(world), 3);
	let_go(world, c->cell);
	assert_int_equal(live_cells(world), 0);
}

static struct hyphae_cell *pick(const void *input, void *ctx)
{
	return ((struct hyphae_cell **)ctx)[*(const int64_t *)input];
}

/* What it follows came to follow it while it was idle. */
static void c01_it_would_follow_itself(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *outer = source(world, 0);
	struct hyphae_cell *cells[] = {source(world, 7), NULL};
	struct hyphae_cell *inner = keep(
		world, hyphae_switch_map(outer, &hyphae_int64, pick, cells));
	struct node *b = lazy(world, plus_one, inner);
	struct log *log = follow(world, inner);

	cells[1] = b->cell;
	put(outer, 1);
	assert_log(log, "7,E(-40)");
	put(outer, 0);
	assert_log(log, "7,E(-40),7");
	assert_log(follow(world, b->cell), "8");
	assert_int_equal(hyphae_graph_check_idle(world->graph), 0);
}

/* ---- deep ---------------------------------------------------------------------------- */

static int next_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int note_last(const struct hyphae_signal *signal, void *ctx)
{
	*(int64_t *)ctx = hyphae_int64_of(signal);
	return 0;
}

static const char *deep(void *arg)
{
	enum { DEEP = 10000 };
	struct world *world = arg;
	struct hyphae_cell *a = hyphae_int64_new(world->graph, 0), *x = a;
	struct hyphae_subscription *sub;
	struct hyphae_cell_info info;
	int64_t last = -1;

	/* Made otherwise, each would wake those before it. */
	CHECK(hyphae_graph_set_lazy(world->graph, true) == 0);
	for (int i = 0; i < DEEP; i++) {
		struct hyphae_cell *next =
			hyphae_map(x, &hyphae_int64, next_one, NULL);

		CHECK(next);
		CHECK(hyphae_cell_unref(x) == 0);
		x = next;
	}
	CHECK(hyphae_cell_info(a, &info) == 0 && info.targets == 0);
	sub = hyphae_subscribe(x, note_last, &last);
	CHECK(last == DEEP);
	CHECK(hyphae_int64_set(a, 5) == 0);
	CHECK(last == DEEP + 5);
	CHECK(hyphae_unsubscribe(sub) == 0);
	CHECK(hyphae_cell_info(a, &info) == 0 && info.targets == 0);
	CHECK(hyphae_cell_unref(x) == 0);
	return NULL;
}

static void w02_deep_chain(void **state)
{
	on_small_stack(65536, deep, *state);
}

/* ---- hooks --------------------------------------------------------------------------- */

static void came(struct hyphae_cell *cell, void *ctx)
{
	struct log *log = ctx;

	note(log, cell == log->cell ? "+" : "?");
}

static void left(struct hyphae_cell *cell, void *ctx)
{
	struct log *log = ctx;

	note(log, cell == log->cell ? "-" : "?");
}

static struct log *hook(struct world *world, struct hyphae_cell *cell)
{
	struct log *log = log_new(world, NULL, NULL);

	log->cell = cell;
	log->drops = 1; /* it is no subscriber's */
	assert_int_equal(hyphae_cell_set_hooks(cell, came, left, log), 0);
	return log;
}

static void hooks_tell_of_first_and_last(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct log *log = hook(world, a);
	struct log *one = follow(world, a), *two;
	struct node *b;

	assert_log(log, "+");
	b = derive(world, plus_one, a);
	two = follow(world, a);
	stop(one);
	stop(two);
	assert_log(log, "+");
	let_go(world, b->cell);
	assert_log(log, "+,-");
	follow(world, a);
	assert_log(log, "+,-,+");
}

static void hooks_of_a_followed_cell(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct log *sub = follow(world, a);
	struct log *log = hook(world, a), *other;

	stop(sub);
	assert_log(log, "-");
	other = hook(world, a); /* instead of the others */
	sub = follow(world, a);
	assert_log(log, "-");
	assert_log(other, "+");
	assert_int_equal(hyphae_cell_set_hooks(a, NULL, NULL, NULL), 0);
	stop(sub);
	assert_log(other, "+");
}

static void hooks_and_an_ended_cell(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct log *log = hook(world, a);

	follow(world, a);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_log(log, "+,-");
	follow(world, a); /* is not linked */
	assert_log(log, "+,-");
}

static int detach(struct log *log, const struct hyphae_signal *signal)
{
	(void)log;
	(void)signal;
	return HYPHAE_DETACH;
}

static void hooks_do_not_tell_of_a_moment(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct log *log = hook(world, a);

	follow_with(world, a, detach, NULL, 0);
	assert_log(log, "");
}

/* A lazy cell with hooks: opens and closes what feeds its source. */
static void feed(struct hyphae_cell *cell, void *ctx)
{
	struct log *log = ctx;

	note(log, "%d", hyphae_int64_set(cell, ++log->number));
}

static void hooks_may_write(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct node *b = lazy(world, plus_one, a);
	struct log *log = log_new(world, NULL, NULL), *sub;

	assert_int_equal(hyphae_cell_set_hooks(a, feed, feed, log), 0);
	sub = follow(world, b->cell);
	assert_log(sub, "1,2");
	stop(sub);
	assert_int_equal(value(a), 2);
	assert_log(follow(world, b->cell), "3,4");
	assert_log(log, "0,0,0");
}

static void hooks_of_an_event_and_of_a_lazy_cell(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e =
		keep(world, hyphae_event_new(world->graph, &hyphae_int64));
	struct node *b = lazy(world, plus_one, e);
	struct log *of_e = hook(world, e), *of_b = hook(world, b->cell);
	struct log *sub = follow(world, b->cell);

	put(e, 1);
	stop(sub);
	put(e, 2);
	assert_log(sub, "2");
	assert_log(of_e, "+,-");
	assert_log(of_b, "+,-");
}

struct self {
	struct hyphae_cell *cell;
	struct hyphae_subscription *sub;
	int unref, unsubscribe;
	unsigned int calls;
};

static void release_it(struct hyphae_cell *cell, void *ctx)
{
	struct self *self = ctx;

	self->calls++;
	self->unref = hyphae_cell_unref(cell);
}

static void leave_it(struct hyphae_cell *cell, void *ctx)
{
	struct self *self = ctx;

	(void)cell;
	self->calls++;
	self->unsubscribe = hyphae_unsubscribe(self->sub);
}

static void x03_hooks_may_release_the_cell(void **state)
{
	struct world *world = *state;
	struct self self = {.cell = hyphae_int64_new(world->graph, 1)};
	struct log *sub;

	assert_int_equal(
		hyphae_cell_set_hooks(self.cell, NULL, release_it, &self), 0);
	sub = follow(world, self.cell);
	stop(sub);
	assert_int_equal(self.calls, 1);
	assert_int_equal(self.unref, 0);
	assert_int_equal(hyphae_cell_id(self.cell), 0);
}

/* the hook of each ends the subscription of the next. */
static const char *clean_up_chain(void *arg)
{
	enum { MANY = 10000 };
	struct world *world = arg;
	struct self *all = calloc(MANY, sizeof(*all));
	int64_t last;

	CHECK(all);
	for (int i = 0; i < MANY; i++) {
		all[i].cell = hyphae_int64_new(world->graph, i);
		all[i].sub = hyphae_subscribe(all[i].cell, note_last, &last);
		CHECK(all[i].sub);
	}
	for (int i = 0; i + 1 < MANY; i++)
		CHECK(hyphae_cell_set_hooks(all[i].cell, NULL, leave_it,
					    &all[i + 1]) == 0);
	CHECK(hyphae_unsubscribe(all[0].sub) == 0);
	CHECK(live_subs(world) == 0);
	for (int i = 0; i < MANY; i++) {
		CHECK(all[i].calls == (i > 0));
		CHECK(all[i].unsubscribe == 0);
		CHECK(hyphae_cell_unref(all[i].cell) == 0);
	}
	free(all);
	return NULL;
}

static void x07_clean_up_chain(void **state)
{
	on_small_stack(65536, clean_up_chain, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(idle_it_follows_nothing),
		CASE(the_first_follower_wakes_it),
		CASE(it_may_skip_the_initial_value),
		CASE(a_chain_wakes_and_sleeps),
		CASE(a_diamond_wakes_once),
		CASE(a_cell_that_works_needs_it),
		CASE(who_leaves_and_comes_changes_nothing),
		CASE(a_state_begins_afresh),
		CASE(it_wakes_to_an_error),
		CASE(an_event_wakes_to_an_error),
		CASE(it_wakes_to_an_end),
		CASE(waking_inside_a_batch),
		CASE(waking_in_a_subscriber),
		CASE(a_lazy_graph),
		CASE(a_graph_that_is_made_lazy),
		CASE(idle_it_keeps_its_inputs),
		CASE(x01_released_while_idle),
		CASE(c01_it_would_follow_itself),
		CASE(w02_deep_chain),
		CASE(hooks_tell_of_first_and_last),
		CASE(hooks_of_a_followed_cell),
		CASE(hooks_and_an_ended_cell),
		CASE(hooks_do_not_tell_of_a_moment),
		CASE(hooks_may_write),
		CASE(hooks_of_an_event_and_of_a_lazy_cell),
		CASE(x03_hooks_may_release_the_cell),
		CASE(x07_clean_up_chain),
	};

	return cmocka_run_group_tests_name("lazy", tests, NULL, NULL);
}
