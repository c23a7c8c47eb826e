/* SPDX-License-Identifier: MIT */
/* Sources without a writer, and sharing: source.h, share.h. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FN(same, in[0]);

static int add(void *ret, const void *state, const void *value, void *ctx)
{
	if (ctx)
		++*(unsigned int *)ctx;
	*(int64_t *)ret = *(const int64_t *)state + *(const int64_t *)value;
	return 0;
}

static const int64_t zero;

static struct hyphae_cell *sum(struct world *world, struct hyphae_cell *input)
{
	return keep(world, hyphae_scan(input, &hyphae_int64, &zero, add, NULL));
}

static struct hyphae_cell *sequence(struct world *world, size_t count)
{
	int64_t values[64];

	for (size_t i = 0; i < count; i++)
		values[i] = (int64_t)i + 1;
	return keep(world, hyphae_sequence(world->graph, &hyphae_int64, values,
					   count));
}

static struct hyphae_cell_info info(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info;
}

/* ---- sequence -------------------------------------------------------------- */

static void sequence_begins_with_its_follower(void **state)
{
	struct world *world = *state;
	static const int64_t values[] = {1, 1, 2};
	struct hyphae_cell *s = keep(
		world, hyphae_sequence(world->graph, &hyphae_int64, values, 3));

	assert_true(info(s).event);
	assert_true(info(s).idle);
	assert_log(follow(world, s), "1,1,2,C");
	assert_true(info(s).ended);
	assert_log(follow(world, s), "C");
	assert_int_equal(hyphae_int64_set(s, 1), -EINVAL);
}

/* What is made of it waits as well. */
static void sequence_through_operators(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *s = sequence(world, 4);
	struct node *node = derive(world, same, s);
	struct hyphae_cell *total = sum(world, node->cell);
	int64_t held;

	assert_true(info(node->cell).idle);
	assert_true(info(total).idle);
	assert_int_equal(hyphae_int64_get(total, &held), -ENODATA);
	assert_int_equal(node->runs, 0);
	assert_log(follow(world, total), "1,3,6,10,C");
	assert_int_equal(node->runs, 4);
	assert_int_equal(value(total), 10);
}

static void a28_empty_sequence(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *s = keep(
		world, hyphae_sequence(world->graph, &hyphae_int64, NULL, 0));

	assert_true(info(s).ended);
	assert_log(follow(world, s), "C");
	assert_log(follow(world, derive(world, same, s)->cell), "C");
}

static int leave_at(struct log *log, const struct hyphae_signal *signal)
{
	return hyphae_int64_of(signal) == log->number ? HYPHAE_DETACH : 0;
}

static struct log *follow_until(struct world *world, struct hyphae_cell *cell,
				int64_t last)
{
	struct log *log = log_new(world, leave_at, NULL);

	log->number = last;
	keep_sub(world, log_subscribe(log, cell, 0));
	return log;
}

/* Whoever leaves stops it; the next begins afresh. */
static void sequence_begins_afresh(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *s = sequence(world, 5);

	assert_log(follow_until(world, s, 2), "1,2");
	assert_true(info(s).idle);
	assert_log(follow(world, s), "1,2,3,4,5,C");
}

struct latecomer {
	struct log *log;
	struct hyphae_cell *cell;
};

static int join_at_two(struct log *log, const struct hyphae_signal *signal)
{
	struct latecomer *late = log->arg;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 2)
		log_subscribe(late->log, late->cell, 0);
	return 0;
}

static void latecomers_hear_the_rest(void **state)
{
	struct world *world = *state;
	struct latecomer late = {log_new(world, NULL, NULL),
				 sequence(world, 4)};

	assert_log(follow_with(world, late.cell, join_at_two, &late, 0),
		   "1,2,3,4,C");
	assert_log(late.log, "3,4,C");
}

/* It leaves and another comes in one call: it goes on. */
static int hand_over(struct log *log, const struct hyphae_signal *signal)
{
	struct latecomer *late = log->arg;

	if (hyphae_int64_of(signal) < 2)
		return 0;
	if (log->subscription)
		return -EINVAL; /* known only after the call */
	log_subscribe(late->log, late->cell, 0);
	return HYPHAE_DETACH;
}

static void a_follower_may_hand_over(void **state)
{
	struct world *world = *state;
	struct latecomer late = {log_new(world, NULL, NULL),
				 sequence(world, 4)};

	assert_log(follow_with(world, late.cell, hand_over, &late, 0), "1,2");
	assert_log(late.log, "3,4,C");
}

/* In between nobody followed it: it begins afresh. */
static int come_back(struct log *log, const struct hyphae_signal *signal)
{
	struct latecomer *late = log->arg;

	(void)signal;
	log_subscribe(late->log, late->cell, 0);
	return 0;
}

static int leave_and_call(struct log *log, const struct hyphae_signal *signal)
{
	if (hyphae_int64_of(signal) < 2)
		return 0;
	note(log, "%d", hyphae_int64_set(log->arg, 1));
	return HYPHAE_DETACH;
}

static void gone_between_two_waves(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *go = source(world, 0);
	struct latecomer late = {log_new(world, NULL, NULL),
				 sequence(world, 4)};

	follow_with(world, go, come_back, &late, HYPHAE_SKIP_INITIAL);
	assert_log(follow_with(world, late.cell, leave_and_call, go, 0),
		   "1,2,0");
	assert_log(late.log, "1,2,3,4,C");
}

static int write_each(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind != HYPHAE_VALUE)
		return 0;
	return hyphae_int64_set(log->arg, hyphae_int64_of(signal));
}

/* What a subscriber writes comes when it has run out. */
static void writes_wait_for_the_end(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct log *log = follow(world, a);

	follow_with(world, sequence(world, 60), write_each, a, 0);
	assert_log(log, "0,60");
}

static void sequences_zip_and_merge(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *both[] = {sequence(world, 3), sequence(world, 5)};
	struct hyphae_cell *m = keep(world, hyphae_merge(both, 2));
	struct hyphae_backlog backlog;

	assert_log(follow(world, m), "1,1,2,2,3,3,4,5,C");
	assert_int_equal(hyphae_cell_backlog(m, &backlog), 0);
	assert_int_equal(backlog.dropped, 0);
}

static int join(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)ctx;
	(void)count;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] * 100 + *(const int64_t *)inputs[1];
	return 0;
}

static void sequences_zip(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *both[] = {sequence(world, 3), sequence(world, 50)};
	struct hyphae_cell *z =
		keep(world, hyphae_zip(both, 2, &hyphae_int64, join, NULL, 1,
				       HYPHAE_OVERFLOW_FAIL));

	assert_log(follow(world, z), "101,202,303,C");
	/* The longer one was let go of. */
	assert_true(info(both[1]).idle);
}

static void sequences_concat_and_race(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *both[] = {sequence(world, 2), sequence(world, 3)};
	struct hyphae_cell *c = keep(world, hyphae_concat(both, 2));
	struct hyphae_cell *again[] = {sequence(world, 2), sequence(world, 3)};
	struct hyphae_cell *r = keep(world, hyphae_race(again, 2));

	assert_true(info(c).idle);
	assert_log(follow_until(world, c, 2), "1,2");
	assert_log(follow(world, c), "1,2,3,C");
	assert_log(follow(world, r), "1,2,C");
	assert_true(info(again[1]).idle);
}

static int spell(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		note(ctx, "%s", hyphae_string_of(signal));
	return 0;
}

static void sequence_of_strings(void **state)
{
	struct world *world = *state;
	static const char *const words[] = {"spore", "spore", "hypha"};
	struct hyphae_cell *s = keep(
		world, hyphae_sequence(world->graph, &hyphae_string, words, 3));
	struct log *log = log_new(world, NULL, NULL);

	keep_sub(world, hyphae_subscribe(s, spell, log));
	assert_log(log, "spore,spore,hypha");
	keep(world, hyphae_sequence(world->graph, &hyphae_string, words, 3));
}

/* ---- generator ------------------------------------------------------------- */

struct counter {
	int64_t next, end;
	int code; /* at the end */
	unsigned int drops, calls;
	struct hyphae_cell *cell;
};

/* Outlives the case: the cell is given back by the fixture. */
static struct counter *counter(struct counter as)
{
	static struct counter counters[8];
	static unsigned int used;
	struct counter *c = &counters[used++ % 8];

	*c = as;
	return c;
}

static int count_up(void *ret, void *ctx)
{
	struct counter *c = ctx;

	c->calls++;
	if (c->next == c->end)
		return c->code;
	*(int64_t *)ret = c->next++;
	return 1;
}

static void count_drop(void *ctx)
{
	((struct counter *)ctx)->drops++;
}

static struct hyphae_cell *generator(struct world *world, struct counter *c)
{
	return keep(world, hyphae_generator(world->graph, &hyphae_int64,
					    count_up, c, count_drop));
}

static void generator_runs_to_its_end(void **state)
{
	struct world *world = *state;
	struct counter *c = counter((struct counter){.next = 1, .end = 4});
	struct hyphae_cell *s = generator(world, c);

	assert_int_equal(c->calls, 0);
	assert_log(follow(world, s), "1,2,3,C");
	assert_int_equal(c->calls, 4);
	assert_int_equal(c->drops, 0);
	let_go(world, s);
	/* Its log has ended with it. */
	assert_int_equal(c->drops, 1);
}

static void generator_fails(void **state)
{
	struct world *world = *state;
	struct counter *c =
		counter((struct counter){.next = 1, .end = 2, .code = -EIO});
	struct counter *odd =
		counter((struct counter){.next = 1, .end = 1, .code = 7});

	assert_log(follow(world, generator(world, c)), "1,E(-5)!");
	assert_log(follow(world, generator(world, odd)), "E(-22)!");
	assert_int_equal(c->calls, 2);
}

/* A30: an endless one stops when its follower has what it wants. */
static void a30_endless_generator(void **state)
{
	struct world *world = *state;
	struct counter *c = counter((struct counter){.next = 1, .end = -1});
	struct hyphae_cell *s = generator(world, c);
	struct hyphae_cell *total = sum(world, s);
	struct hyphae_cell *three = keep(world, hyphae_take(total, 3));

	assert_log(follow(world, three), "1,3,6,C");
	assert_int_equal(c->calls, 3);
	assert_true(info(s).idle);
	assert_int_equal(targets(s), 0);
	/* It goes on where it was; the sum begins afresh. */
	assert_log(follow_until(world, total, 9), "4,9");
	assert_int_equal(c->calls, 5);
}

static int drop_itself(void *ret, void *ctx)
{
	struct counter *c = ctx;

	if (c->calls++ == 1)
		hyphae_cell_unref(c->cell);
	*(int64_t *)ret = c->next++;
	return c->calls < 4;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void x03_generator_released_in_its_function(void **state)
{
	struct world *world = *state;
	struct counter *c = counter((struct counter){.next = 1});

	c->cell = hyphae_generator(world->graph, &hyphae_int64, drop_itself, c,
				   count_drop);
	assert_non_null(hyphae_subscribe(c->cell, quiet, NULL));
	assert_int_equal(c->calls, 4);
	assert_int_equal(c->drops, 1);
}

struct churn {
	struct hyphae_cell *other;
	unsigned long drops, most; /* of them that wait to be freed */
};

static void count_churn(void *ctx)
{
	((struct churn *)ctx)->drops++;
}

static int churn(struct log *log, const struct hyphae_signal *signal)
{
	struct churn *c = log->arg;
	struct hyphae_subscription *sub;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	sub = hyphae_subscribe_with(c->other, quiet, c, count_churn, 0);
	hyphae_unsubscribe(sub);
	if (log->calls - c->drops > c->most)
		c->most = log->calls - c->drops;
	return 0;
}

/* However long a propagation is, what has ended is freed. */
static void w_the_dead_do_not_pile_up(void **state)
{
	struct world *world = *state;
	struct counter *c = counter((struct counter){.next = 1, .end = 20001});
	struct churn ended = {.other = source(world, 0)};
	struct log *log =
		follow_with(world, generator(world, c), churn, &ended, 0);

	assert_int_equal(log->calls, 20001);
	assert_int_equal(ended.drops, 20000);
	assert_int_equal(ended.most, 64);
}

/* ---- just, failed, never ------------------------------------------------------ */

static void just_failed_never(void **state)
{
	struct world *world = *state;
	static const int64_t seven = 7;
	static const char *const text = "spore";
	struct hyphae_cell *just =
		keep(world, hyphae_just(world->graph, &hyphae_int64, &seven));
	struct hyphae_cell *string =
		keep(world, hyphae_just(world->graph, &hyphae_string, &text));
	struct hyphae_cell *failed =
		keep(world, hyphae_failed(world->graph, &hyphae_int64, -EIO,
					  "it was broken from the beginning"));
	struct hyphae_cell *never =
		keep(world, hyphae_never(world->graph, &hyphae_int64));
	struct node *node = derive(world, same, just);
	char *held;

	assert_log(follow(world, just), "7,C");
	assert_log(follow(world, node->cell), "7,C");
	assert_int_equal(hyphae_string_get(string, &held), 0);
	assert_string_equal(held, "spore");
	free(held);
	assert_log(follow(world, failed), "E(-5)!");
	assert_log(follow(world, derive(world, same, failed)->cell), "E(-5)!");
	assert_log(follow(world, never), "");
	assert_false(info(never).ended);
	assert_int_equal(hyphae_int64_set(never, 1), -EINVAL);
	assert_int_equal(hyphae_cell_complete(never), -EINVAL);
}

static void just_in_a_lazy_graph(void **state)
{
	struct world *world = *state;
	static const int64_t seven = 7;
	struct hyphae_cell *just;

	assert_int_equal(hyphae_graph_set_lazy(world->graph, true), 0);
	just = keep(world, hyphae_just(world->graph, &hyphae_int64, &seven));
	assert_int_equal(value(just), 7);
	assert_true(info(just).ended);
}

/* As inner cells, made in a function. */
static struct hyphae_cell *choose(const void *input, void *ctx)
{
	struct world *world = ctx;
	int64_t n = *(const int64_t *)input;

	if (n == 0)
		return hyphae_failed(world->graph, &hyphae_int64, -EIO, NULL);
	if (n == 1)
		return hyphae_never(world->graph, &hyphae_int64);
	return hyphae_just(world->graph, &hyphae_int64, &n);
}

static void just_in_a_function(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2);
	struct hyphae_cell *s =
		keep(world, hyphae_switch_map(a, &hyphae_int64, choose, world));
	struct log *log = follow(world, s);

	put(a, 3);
	put(a, 1);
	put(a, 4);
	put(a, 0);
	assert_log(log, "2,3,4,E(-5)!");
}

/* ---- share ------------------------------------------------------------------------ */

static void o25_share(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *total = sum(world, a);
	struct hyphae_cell *shared = keep(world, hyphae_share(total));
	struct log *one, *two;

	assert_int_equal(hyphae_cell_set_lazy(total), 0);
	assert_int_equal(targets(total), 0);
	one = follow(world, shared);
	two = follow(world, shared);
	assert_int_equal(targets(total), 1);
	assert_int_equal(targets(a), 1);
	put(a, 2);
	assert_log(one, "1,3");
	assert_log(two, "1,3");
	stop(one);
	assert_int_equal(targets(total), 1);
	stop(two);
	assert_int_equal(targets(total), 0);
	assert_int_equal(targets(a), 0);
	one = follow(world, shared);
	assert_log(one, "2");
	put(a, 5);
	assert_log(one, "2,7");
}

/* B6: who comes second sees what the first one sees. */
static void b6_the_second_consumer(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *shared = keep(world, hyphae_share(a));
	struct log *one = follow(world, sum(world, shared));
	struct log *two = follow(world, sum(world, shared));

	put(a, 5);
	assert_log(one, "1,6");
	assert_log(two, "1,6");
}

static void share_of_a_sequence(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *shared =
		keep(world, hyphae_share(sequence(world, 4)));
	struct latecomer late = {log_new(world, NULL, NULL), shared};

	assert_log(follow_until(world, shared, 3), "1,2,3");
	assert_log(follow_with(world, shared, join_at_two, &late, 0),
		   "1,2,3,4,C");
	assert_log(late.log, "3,4,C");
	assert_log(follow(world, shared), "C");
}

static void share_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct log *log = follow(world, keep(world, hyphae_share(a)));

	assert_int_equal(hyphae_cell_fail(a, -EIO, "broken"), 0);
	assert_log(log, "1,E(-5)!");
	assert_null(hyphae_share(NULL));
	assert_null(hyphae_cold(NULL));
}

/* ---- cold ------------------------------------------------------------------------- */

static void cold_does_not_replay(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *c = keep(world, hyphae_cold(a));
	struct hyphae_cell *total = sum(world, c);
	struct log *log;

	assert_int_equal(targets(a), 0);
	put(a, 2);
	log = follow(world, total);
	assert_log(log, "0"); /* of the sum */
	put(a, 3);
	put(a, 4);
	assert_log(log, "0,3,7");
	stop(log);
	assert_int_equal(targets(a), 0);
	put(a, 5);
	log = follow(world, total);
	put(a, 6);
	assert_log(log, "0,6");
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_log(log, "0,6,C");
}

static void cold_of_an_event(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *e =
		keep(world, hyphae_event_new(world->graph, &hyphae_int64));
	struct log *log = follow(world, keep(world, hyphae_cold(e)));

	put(e, 1);
	put(e, 1);
	assert_int_equal(hyphae_cell_fail(e, -EIO, NULL), 0);
	assert_log(log, "1,1,E(-5)!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sequence_begins_with_its_follower),
		CASE(sequence_through_operators),
		CASE(a28_empty_sequence),
		CASE(sequence_begins_afresh),
		CASE(latecomers_hear_the_rest),
		CASE(a_follower_may_hand_over),
		CASE(gone_between_two_waves),
		CASE(writes_wait_for_the_end),
		CASE(sequences_zip_and_merge),
		CASE(sequences_zip),
		CASE(sequences_concat_and_race),
		CASE(sequence_of_strings),
		CASE(generator_runs_to_its_end),
		CASE(generator_fails),
		CASE(a30_endless_generator),
		CASE(x03_generator_released_in_its_function),
		CASE(w_the_dead_do_not_pile_up),
		CASE(just_failed_never),
		CASE(just_in_a_lazy_graph),
		CASE(just_in_a_function),
		CASE(o25_share),
		CASE(b6_the_second_consumer),
		CASE(share_of_a_sequence),
		CASE(share_and_errors),
		CASE(cold_does_not_replay),
		CASE(cold_of_an_event),
	};

	return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
