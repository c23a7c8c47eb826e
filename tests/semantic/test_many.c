/* SPDX-License-Identifier: MIT */
/* Operators of many inputs: zip, merge, with_latest_from, sample. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hyphae_cell *event(struct world *world)
{
	return keep(world, hyphae_event_new(world->graph, &hyphae_int64));
}

FN(same, in[0]);

/* (1, 10) as 110: each input after the first counts hundreds less. */
static int join(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum = sum * 100 + *(const int64_t *)inputs[i];
	if (ctx)
		++*(unsigned int *)ctx;
	*(int64_t *)ret = sum;
	return 0;
}

static int join_even(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	join(ret, inputs, count, ctx);
	return *(const int64_t *)inputs[0] % 2 ? -EDOM : 0;
}

static int odd_fails(struct node *node, const int64_t *in, size_t count,
		     int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] % 2 ? -EIO : 0;
}

static struct hyphae_cell *zip(struct world *world, struct hyphae_cell *a,
			       struct hyphae_cell *b, size_t capacity,
			       enum hyphae_overflow policy)
{
	struct hyphae_cell *inputs[] = {a, b};

	return keep(world, hyphae_zip(inputs, 2, &hyphae_int64, join, NULL,
				      capacity, policy));
}

static struct hyphae_cell *merge(struct world *world, struct hyphae_cell *a,
				 struct hyphae_cell *b)
{
	struct hyphae_cell *inputs[] = {a, b};

	return keep(world, hyphae_merge(inputs, 2));
}

static struct hyphae_cell *latest(struct world *world, struct hyphae_cell *a,
				  struct hyphae_cell *b)
{
	return keep(world, hyphae_with_latest_from(a, &b, 1, &hyphae_int64,
						   join, NULL));
}

static void assert_backlog(const struct hyphae_cell *cell, size_t queued,
			   uint64_t dropped)
{
	struct hyphae_backlog backlog;

	assert_int_equal(hyphae_cell_backlog(cell, &backlog), 0);
	assert_int_equal(backlog.queued, queued);
	assert_int_equal(backlog.dropped, dropped);
}

static bool is_event(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.event;
}

/* ---- zip -------------------------------------------------------------------- */

static void o06_zip_pairs_by_position(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *z = zip(world, a, b, 8, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	put(a, 2);
	put(a, 3);
	assert_backlog(z, 2, 0);
	put(b, 20);
	assert_backlog(z, 1, 0);
	put(b, 30);
	assert_log(log, "110,220,330");
	assert_backlog(z, 0, 0);
	assert_false(is_event(z));
}

/* A5: both sides in one batch, often: nothing slips. */
static void a05_zip_in_batches(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0), *b = source(world, 0);
	struct hyphae_cell *z = zip(world, a, b, 1, HYPHAE_OVERFLOW_FAIL);
	unsigned int wrong = 0;

	for (int64_t i = 1; i <= 1000; i++) {
		begin_batch(world);
		put(i % 2 ? a : b, i);
		put(i % 2 ? b : a, i);
		end_batch(world);
		wrong += value(z) != i * 101;
	}
	assert_int_equal(wrong, 0);
	assert_backlog(z, 0, 0);
}

static void zip_of_events(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *z = zip(world, a, b, 4, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	begin_batch(world);
	put(a, 1);
	put(a, 1);
	put(a, 2);
	put(b, 1);
	put(b, 1);
	end_batch(world);
	assert_log(log, "101,101");
	assert_backlog(z, 1, 0);
	assert_true(is_event(z));
}

static void o08_zip_fails_on_overflow(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0), *b = source(world, 0);
	struct hyphae_cell *z = zip(world, a, b, 3, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	for (int64_t i = 1; i <= 3; i++)
		put(a, i);
	assert_log(log, "0");
	put(a, 4);
	assert_log(log, "0,E(-75)!");
	assert_int_equal(targets(a), 0);
	assert_int_equal(targets(b), 0);
	assert_backlog(z, 0, 4);
}

static void o08_zip_drops(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0), *b = source(world, 0);
	struct hyphae_cell *oldest =
		zip(world, a, b, 3, HYPHAE_OVERFLOW_DROP_OLDEST);
	struct hyphae_cell *newest =
		zip(world, a, b, 3, HYPHAE_OVERFLOW_DROP_NEWEST);
	struct hyphae_cell *last = zip(world, a, b, 9, HYPHAE_OVERFLOW_LATEST);
	struct log *logs[] = {follow(world, oldest), follow(world, newest),
			      follow(world, last)};

	for (int64_t i = 1; i <= 10000; i++)
		put(a, i);
	assert_backlog(oldest, 3, 9997);
	assert_backlog(newest, 3, 9997);
	assert_backlog(last, 1, 9999);
	for (int64_t i = 1; i <= 3; i++)
		put(b, i);
	assert_log(logs[0], "0,999801,999902,1000003");
	assert_log(logs[1], "0,101,202,303");
	assert_log(logs[2], "0,1000001");
	assert_backlog(oldest, 0, 9997);
	assert_backlog(last, 1, 10000); /* b is ahead now */
}

static void zip_completes_with_its_backlog(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *z = zip(world, a, b, 8, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	put(a, 2);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_log(log, "110");
	put(b, 20);
	assert_log(log, "110,220,C");
	assert_int_equal(targets(b), 0);
}

static void zip_gives_up_what_waits_at_the_end(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *z = zip(world, a, b, 8, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	put(a, 2);
	put(a, 3);
	assert_int_equal(hyphae_cell_complete(b), 0);
	assert_log(log, "110,C");
	assert_backlog(z, 0, 2);
	assert_int_equal(targets(a), 0);
}

static void zip_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2), *b = source(world, 10);
	struct node *even = derive(world, odd_fails, a);
	struct hyphae_cell *z =
		zip(world, even->cell, b, 8, HYPHAE_OVERFLOW_FAIL);
	struct log *log = follow(world, z);

	put(a, 3); /* takes no position */
	put(a, 4);
	put(b, 20);
	assert_log(log, "210,E(-5),420");
	begin_batch(world); /* the error first, then the pair */
	put(a, 6);
	end_batch(world);
	begin_batch(world);
	put(a, 7);
	put(b, 30);
	end_batch(world);
	assert_log(log, "210,E(-5),420,E(-5),630");
	assert_int_equal(hyphae_cell_fail(b, -EPIPE, "gone"), 0);
	assert_log(log, "210,E(-5),420,E(-5),630,E(-32)!");
	assert_int_equal(targets(even->cell), 0);
}

static void zip_function_fails(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2), *b = source(world, 10);
	struct hyphae_cell *inputs[] = {a, b};
	struct hyphae_cell *z =
		keep(world, hyphae_zip(inputs, 2, &hyphae_int64, join_even,
				       NULL, 4, HYPHAE_OVERFLOW_FAIL));
	struct log *log = follow(world, z);

	put(a, 3);
	put(b, 11); /* the pair is used up */
	put(a, 4);
	put(b, 12);
	put(a, 5);
	assert_int_equal(hyphae_cell_complete(a), 0);
	put(b, 13);
	assert_log(log, "210,E(-33),412,E(-33),C");
}

static void zip_of_one_and_of_the_same(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *one =
		keep(world, hyphae_zip(&a, 1, &hyphae_int64, join, NULL, 1,
				       HYPHAE_OVERFLOW_FAIL));
	struct hyphae_cell *twice = zip(world, a, a, 1, HYPHAE_OVERFLOW_FAIL);

	put(a, 2);
	assert_int_equal(value(one), 2);
	assert_int_equal(value(twice), 202);
}

/* ---- merge -------------------------------------------------------------------- */

static void o09_merge(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *m = merge(world, a, b);
	struct log *log = follow(world, m);

	/* A17: the right side's initial value is the last. */
	assert_log(log, "10");
	put(a, 2);
	put(b, 20);
	put(a, 3);
	assert_log(log, "10,2,20,3");
	begin_batch(world);
	put(b, 1);
	put(a, 2);
	end_batch(world);
	assert_log(log, "10,2,20,3,2,1");
	assert_int_equal(hyphae_cell_complete(a), 0);
	put(b, 30);
	assert_int_equal(hyphae_cell_complete(b), 0);
	assert_log(log, "10,2,20,3,2,1,30,C");
	assert_backlog(m, 0, 0);
}

static void o09_lazy_merge_tells_the_initial_values(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *m =
		merge(world, source(world, 1), source(world, 10));

	assert_int_equal(hyphae_cell_set_lazy(m), 0);
	assert_log(follow(world, m), "1,10");
}

/* A18: completion of both at once is one completion. */
static void a18_merge_completes_once(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct log *log = follow(world, merge(world, a, b));

	begin_batch(world);
	put(a, 2);
	put(b, 20);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_cell_complete(b), 0);
	end_batch(world);
	assert_log(log, "10,2,20,C");
	assert_int_equal(targets(a), 0);
}

/* A10: 32 emissions of one event in a batch, with another's in between. */
static void a10_merge_of_events(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *m = merge(world, a, b);
	struct log *log = follow(world, m);

	begin_batch(world);
	for (int64_t i = 1; i <= 8; i++) {
		put(a, i);
		put(b, -i);
		put(a, i);
	}
	end_batch(world);
	assert_log(log, "1,-1,1,2,-2,2,3,-3,3,4,-4,4,5,-5,5,6,-6,6,7,-7,7,8,"
			"-8,8");
	assert_true(is_event(m));
	assert_backlog(m, 0, 0);
}

static void merge_of_merges(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *c = event(world), *d = event(world);
	struct hyphae_cell *m =
		merge(world, merge(world, a, b), merge(world, c, d));
	struct log *log = follow(world, m);

	for (int64_t i = 0; i < 2; i++) {
		begin_batch(world);
		put(a, 1);
		put(b, 2);
		put(c, 3);
		put(d, 4);
		end_batch(world);
	}
	assert_log(log, "1,3,2,4,1,3,2,4");
	assert_backlog(m, 0, 0);
}

static void merge_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2), *b = source(world, 10);
	struct node *even = derive(world, odd_fails, a);
	struct hyphae_cell *m = merge(world, even->cell, b);
	struct log *log = follow(world, m);

	put(a, 3);
	put(b, 20);
	put(a, 5); /* the same error, but b's value was in between */
	assert_log(log, "10,E(-5),20");
	put(a, 4);
	put(a, 5);
	begin_batch(world);
	put(a, 6);
	put(b, 30);
	assert_int_equal(hyphae_cell_fail(b, -EPIPE, NULL), 0);
	end_batch(world);
	assert_log(log, "10,E(-5),20,4,E(-5),6,30,E(-32)!");
	assert_int_equal(targets(even->cell), 0);
}

static void merge_fails_in_turn(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct log *log = follow(world, merge(world, a, b));
	struct log *other = follow(world, merge(world, b, a));

	begin_batch(world);
	assert_int_equal(hyphae_cell_fail(a, -EPIPE, NULL), 0);
	put(b, 20);
	end_batch(world);
	assert_log(log, "10,E(-32)!");
	assert_log(other, "1,20,E(-32)!");
}

static int write_back(struct log *log, const struct hyphae_signal *signal)
{
	struct hyphae_cell **cells = log->arg;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	/* Behind what is already on its way. */
	return hyphae_int64_set(cells[0], 7);
}

static void merge_before_what_a_subscriber_writes(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *cells[] = {source(world, 0), source(world, 0)};
	struct log *log = follow_with(world, merge(world, cells[0], cells[1]),
				      write_back, cells, 0);

	begin_batch(world);
	put(cells[0], 1);
	put(cells[1], 2);
	end_batch(world);
	assert_log(log, "0,1,2,7");
}

static int spell(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		note(ctx, "%s", hyphae_string_of(signal));
	return 0;
}

static int glue(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	return asprintf(ret, "%s%s", *(char *const *)inputs[0],
			*(char *const *)inputs[1]) < 0
		       ? -ENOMEM
		       : 0;
}

/* Strings through all of them, with what waits when the world ends. */
static void boxed_values(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *in[] = {
		keep(world, hyphae_string_new(world->graph, "a")),
		keep(world, hyphae_event_new(world->graph, &hyphae_string))};
	struct hyphae_cell *cells[] = {
		keep(world, hyphae_zip(in, 2, &hyphae_string, glue, NULL, 2,
				       HYPHAE_OVERFLOW_DROP_OLDEST)),
		keep(world, hyphae_merge(in, 2)),
		keep(world, hyphae_with_latest_from(
				    in[1], in, 1, &hyphae_string, glue, NULL)),
		keep(world, hyphae_sample(in[0], in[1])),
	};
	struct log *logs[4];

	for (int i = 0; i < 4; i++) {
		logs[i] = log_new(world, NULL, NULL);
		keep_sub(world, hyphae_subscribe(cells[i], spell, logs[i]));
	}
	begin_batch(world);
	assert_int_equal(hyphae_string_set(in[0], "b"), 0);
	assert_int_equal(hyphae_string_set(in[1], "x"), 0);
	assert_int_equal(hyphae_string_set(in[1], "y"), 0);
	end_batch(world);
	assert_int_equal(hyphae_string_set(in[0], "c"), 0);
	assert_int_equal(hyphae_string_set(in[0], "d"), 0);
	assert_int_equal(hyphae_string_set(in[0], "e"), 0);
	assert_log(logs[0], "ax,by");
	assert_log(logs[1], "b,x,y,c,d,e");
	assert_log(logs[2], "xb,yb");
	assert_log(logs[3], "b");
	assert_backlog(cells[0], 2, 1);
}

/* ---- with_latest_from ---------------------------------------------------------- */

static void o20_with_latest_from(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	unsigned int runs = 0;
	struct log *log = follow(
		world,
		keep(world, hyphae_with_latest_from(a, &b, 1, &hyphae_int64,
						    join, &runs)));

	put(b, 20);
	assert_log(log, "110");
	put(a, 2);
	begin_batch(world);
	put(a, 3);
	put(b, 30);
	end_batch(world);
	assert_log(log, "110,220,330");
	assert_int_equal(runs, 3);
}

static void with_latest_from_an_event(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *e = event(world);
	struct hyphae_cell *of_cell = latest(world, a, e);
	struct hyphae_cell *of_event = latest(world, e, a);
	struct log *cell = follow(world, of_cell);
	struct log *events = follow(world, of_event);

	assert_false(is_event(of_cell));
	assert_true(is_event(of_event));
	put(a, 2); /* passed over: the event has not been yet */
	put(e, 10);
	assert_log(cell, "");
	put(a, 3);
	begin_batch(world);
	put(e, 11);
	put(e, 12);
	end_batch(world);
	assert_log(cell, "310");
	assert_log(events, "1002,1103,1203");
}

static void with_latest_from_and_ends(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct log *log = follow(world, latest(world, a, b));

	assert_int_equal(hyphae_cell_complete(b), 0);
	begin_batch(world);
	put(a, 2);
	assert_int_equal(hyphae_cell_complete(a), 0);
	end_batch(world);
	assert_log(log, "110,210,C");
	assert_int_equal(targets(b), 0);
}

static void with_latest_from_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct node *even = derive(world, odd_fails, b);
	struct log *log = follow(world, latest(world, a, even->cell));

	put(b, 11);
	assert_log(log, "110");
	put(a, 2);
	put(b, 12); /* alone it is silent */
	assert_log(log, "110,E(-5)");
	put(a, 3);
	assert_int_equal(hyphae_cell_fail(b, -EPIPE, NULL), 0);
	assert_log(log, "110,E(-5),312,E(-32)!");
	assert_int_equal(targets(a), 0);
}

/* ---- sample ---------------------------------------------------------------------- */

/* One character a wave: a letter from the input, x from the notifier. */
static struct log *marbles(struct world *world, struct hyphae_cell *input,
			   struct hyphae_cell *notifier, const char *in,
			   const char *tick)
{
	struct log *log =
		follow(world, keep(world, hyphae_sample(input, notifier)));
	int64_t ticks = 100;

	for (size_t i = 0; in[i]; i++) {
		begin_batch(world);
		if (in[i] == '|')
			assert_int_equal(hyphae_cell_complete(input), 0);
		else if (in[i] != '-')
			put(input, in[i] - 'a' + 1);
		if (tick[i] == '|')
			assert_int_equal(hyphae_cell_complete(notifier), 0);
		else if (tick[i] != '-')
			put(notifier, ticks++);
		end_batch(world);
		if (log->calls && log->number != (int64_t)log->calls)
			note(log, "at %zu", i);
		log->number = (int64_t)log->calls;
	}
	return log;
}

static void t11_sample(void **state)
{
	struct world *world = *state;

	assert_log(marbles(world, event(world), event(world), "-a--b---c---",
			   "--x--x-x---x"),
		   "1,at 2,2,at 5,3,at 11");
}

static void t11_sample_of_cells(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 26), *n = source(world, 0);

	/* What it holds when this is made is new; the notifier's is no tick. */
	assert_log(marbles(world, a, n, "---b--b-c--", "-x-x-x----x"),
		   "26,at 1,2,at 3,3,at 10");
}

static void sample_completes(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *n = event(world);

	assert_log(marbles(world, a, n, "a-|-", "-x--"), "1,at 1,C,at 2");
	assert_int_equal(targets(n), 0);
	a = event(world);
	assert_log(marbles(world, a, n, "a-b|--", "-x--x-"), "1,at 1,2,C,at 4");
	a = event(world);
	assert_log(marbles(world, a, n, "a-b-", "-x-|"), "1,at 1,C,at 3");
	assert_int_equal(targets(a), 0);
}

static void sample_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2), *n = source(world, 0);
	struct node *even = derive(world, odd_fails, a);
	struct node *ticks = derive(world, odd_fails, n);
	struct log *log = follow(
		world, keep(world, hyphae_sample(even->cell, ticks->cell)));

	put(a, 3);
	assert_log(log, "");
	put(n, 2);
	put(a, 4);
	put(n, 4);
	put(n, 5);
	put(n, 6); /* nothing new: the error stands */
	assert_log(log, "E(-5),4,E(-5)");
	put(a, 8);
	put(n, 8);
	assert_int_equal(hyphae_cell_fail(n, -EPIPE, NULL), 0);
	assert_log(log, "E(-5),4,E(-5),8,E(-32)!");
	assert_int_equal(targets(even->cell), 0);
}

/* ---- for all --------------------------------------------------------------------- */

/* Idle they forget; they begin with what the inputs hold then. */
static void they_can_be_lazy(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0), *b = source(world, 10);
	struct hyphae_cell *cells[] = {
		zip(world, a, b, 4, HYPHAE_OVERFLOW_FAIL),
		merge(world, a, b),
		latest(world, a, b),
		keep(world, hyphae_sample(a, b)),
	};
	static const char *const expected[] = {"310", "3,10", "310", ""};
	static const char *const then[] = {"310,420", "3,10,4,20", "310,410",
					   "4"};

	for (size_t i = 0; i < 4; i++) {
		struct log *log;

		assert_int_equal(hyphae_cell_set_lazy(cells[i]), 0);
		put(a, 1);
		log = follow(world, cells[i]);
		put(a, 2);
		stop(log);
		put(a, 3);
		log = follow(world, cells[i]);
		assert_log(log, expected[i]);
		put(a, 4);
		put(b, 20);
		assert_log(log, then[i]);
		put(b, 10);
		stop(log);
		put(a, 5);
	}
	assert_int_equal(targets(a), 0);
	assert_int_equal(targets(b), 0);
	assert_backlog(cells[0], 0, 2);
}

struct suicide {
	struct hyphae_cell *cell;
	unsigned int runs;
};

static int drop_itself(void *ret, const void *const *inputs, size_t count,
		       void *ctx)
{
	struct suicide *s = ctx;

	if (s->runs++ == 1 && hyphae_cell_unref(s->cell))
		s->runs = 100;
	return join(ret, inputs, count, NULL);
}

static void x03_released_in_its_own_function(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *in[] = {source(world, 1), source(world, 2)};
	struct suicide s = {NULL, 0};

	s.cell = hyphae_zip(in, 2, &hyphae_int64, drop_itself, &s, 2,
			    HYPHAE_OVERFLOW_FAIL);
	assert_non_null(s.cell);
	begin_batch(world);
	put(in[0], 3);
	put(in[1], 4);
	end_batch(world);
	put(in[0], 5);
	assert_int_equal(s.runs, 2);
	s.runs = 0;
	s.cell = hyphae_with_latest_from(in[0], in, 1, &hyphae_int64,
					 drop_itself, &s);
	assert_non_null(s.cell);
	put(in[0], 6);
	put(in[0], 7);
	assert_int_equal(s.runs, 2);
	assert_int_equal(targets(in[0]), 0);
}

/* A4: what is made of both sides of a batch is never torn. */
static void a04_diamond_of_operators(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 0);
	struct node *l = derive(world, same, a), *r = derive(world, same, a);
	struct hyphae_cell *z =
		zip(world, l->cell, r->cell, 1, HYPHAE_OVERFLOW_FAIL);
	struct hyphae_cell *w = latest(world, l->cell, r->cell);

	for (int64_t i = 1; i <= 100; i++) {
		begin_batch(world);
		put(a, -i);
		put(a, i);
		end_batch(world);
		assert_int_equal(value(z), 101 * i);
		assert_int_equal(value(w), 101 * i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(o06_zip_pairs_by_position),
		CASE(a05_zip_in_batches),
		CASE(zip_of_events),
		CASE(o08_zip_fails_on_overflow),
		CASE(o08_zip_drops),
		CASE(zip_completes_with_its_backlog),
		CASE(zip_gives_up_what_waits_at_the_end),
		CASE(zip_and_errors),
		CASE(zip_function_fails),
		CASE(zip_of_one_and_of_the_same),
		CASE(o09_merge),
		CASE(o09_lazy_merge_tells_the_initial_values),
		CASE(a18_merge_completes_once),
		CASE(a10_merge_of_events),
		CASE(merge_of_merges),
		CASE(merge_and_errors),
		CASE(merge_fails_in_turn),
		CASE(merge_before_what_a_subscriber_writes),
		CASE(boxed_values),
		CASE(o20_with_latest_from),
		CASE(with_latest_from_an_event),
		CASE(with_latest_from_and_ends),
		CASE(with_latest_from_and_errors),
		CASE(t11_sample),
		CASE(t11_sample_of_cells),
		CASE(sample_completes),
		CASE(sample_and_errors),
		CASE(they_can_be_lazy),
		CASE(x03_released_in_its_own_function),
		CASE(a04_diamond_of_operators),
	};

	return cmocka_run_group_tests_name("many inputs", tests, NULL, NULL);
}
