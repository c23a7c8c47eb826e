/* SPDX-License-Identifier: MIT */
/*
 * Group H: several threads in one graph.
 *
 * Threads and callbacks only write down what they see; the test's own thread
 * judges it.  Every wait has a limit, and a watchdog ends the program with the
 * name of the test, so a deadlock is a failure and not a hang.  Also run under
 * ThreadSanitizer, which judges the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 1000
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 3000
#else
#define ROUNDS 10000
#endif

#define THREADS 8

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

/* ---- H-01, H-05: many writers, one subscriber ---- */

struct crowd {
	struct hyphae_cell *a;
	_Atomic unsigned int inside;   /* calls of the subscriber under way */
	_Atomic unsigned int overlaps; /* entered twice at once */
	_Atomic unsigned int refused;  /* sets that gave an error */
	int64_t last; /* of the subscriber; no lock on purpose */
	unsigned long calls;
	_Atomic int64_t next_number;
};

static int keep_last(const struct hyphae_signal *signal, void *ctx)
{
	struct crowd *crowd = ctx;

	if (atomic_fetch_add(&crowd->inside, 1) != 0)
		atomic_fetch_add(&crowd->overlaps, 1);
	crowd->last = hyphae_int64_of(signal);
	crowd->calls++;
	atomic_fetch_sub(&crowd->inside, 1);
	return 0;
}

static void *write_much(void *ctx)
{
	struct crowd *crowd = ctx;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		int64_t n = atomic_fetch_add(&crowd->next_number, 1) + 1;

		if (hyphae_int64_set(crowd->a, n) < 0)
			atomic_fetch_add(&crowd->refused, 1);
	}
	return NULL;
}

static void last_delivered_is_last_value(unsigned int flags)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct crowd crowd = {.a = hyphae_int64_new(graph, 0)};
	struct hyphae_cell *b =
		hyphae_map(crowd.a, &hyphae_int64, plus_one, NULL);
	struct crowd below = {.a = b};
	pthread_t threads[THREADS];
	int i;

	assert_non_null(hyphae_subscribe(crowd.a, keep_last, &crowd));
	assert_non_null(hyphae_subscribe(b, keep_last, &below));
	for (i = 0; i < THREADS; i++)
		start(&threads[i], write_much, &crowd);
	for (i = 0; i < THREADS; i++)
		join(threads[i]);
	assert_int_equal(crowd.refused, 0);
	assert_int_equal(crowd.overlaps, 0);
	assert_int_equal(below.overlaps, 0);
	assert_int_equal(crowd.last, value(crowd.a));
	assert_int_equal(value(b), crowd.last + 1);
	assert_int_equal(below.last, crowd.last + 1);
	assert_int_equal(below.calls, crowd.calls);
	assert_true(crowd.calls <= THREADS * ROUNDS + 1);
	end_graph(graph, 2, 2);
}

static void h01_last_delivered(void **state)
{
	(void)state;
	WATCH();
	last_delivered_is_last_value(0);
}

static void h01_last_delivered_eager(void **state)
{
	(void)state;
	WATCH();
	last_delivered_is_last_value(HYPHAE_EAGER);
}

/* ---- H-02: subscribe races set ---- */

struct race {
	struct hyphae_cell *a;
	pthread_barrier_t go;
	_Atomic bool over;
	int64_t seen[8];
	_Atomic unsigned int count;
};

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct race *race = ctx;
	unsigned int i = atomic_fetch_add(&race->count, 1);

	if (i < 8)
		race->seen[i] = hyphae_int64_of(signal);
	return 0;
}

static void *set_in_rounds(void *ctx)
{
	struct race *race = ctx;

	for (;;) {
		pthread_barrier_wait(&race->go);
		if (race->over)
			return NULL;
		hyphae_int64_set(race->a, 42);
		pthread_barrier_wait(&race->go);
	}
}

/* The old value, if at all, and then the new one. */
static void expect_new_last(const struct race *race)
{
	unsigned int i;

	assert_in_range(race->count, 1, 8);
	assert_int_equal(race->seen[race->count - 1], 42);
	for (i = 1; i < race->count; i++)
		assert_false(race->seen[i - 1] == 42 && race->seen[i] == 0);
}

static void h02_subscribe_races_set(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct race race = {.over = false};
	pthread_t thread;
	int i;

	(void)state;
	WATCH();
	assert_int_equal(pthread_barrier_init(&race.go, NULL, 2), 0);
	start(&thread, set_in_rounds, &race);
	for (i = 0; i < ROUNDS; i++) {
		struct hyphae_subscription *s;

		race.a = hyphae_int64_new(graph, 0);
		race.count = 0;
		pthread_barrier_wait(&race.go);
		s = hyphae_subscribe(race.a, write_down, &race);
		pthread_barrier_wait(&race.go);
		assert_non_null(s);
		expect_new_last(&race);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_cell_unref(race.a), 0);
	}
	race.over = true;
	pthread_barrier_wait(&race.go);
	join(thread);
	pthread_barrier_destroy(&race.go);
	end_graph(graph, 0, 0);
}

/* ---- H-04: no lock is held in user code ---- */

/* Another thread, that does all kinds of things when it is asked to. */
struct helper {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;	   /* what is being propagated */
	struct hyphae_cell *other; /* in the same graph */
	pthread_t thread;
	sem_t asked, done;
	_Atomic bool over;
	_Atomic bool armed;
	_Atomic unsigned int asks;
	_Atomic unsigned int timeouts;
	_Atomic unsigned int failures;
	int64_t number;
};

static void count_failure(struct helper *h, bool fine)
{
	if (!fine)
		atomic_fetch_add(&h->failures, 1);
}

static void do_everything(struct helper *h)
{
	struct hyphae_cell *made, *derived;
	struct hyphae_subscription *s;
	int64_t held;

	/* An empty batch has nothing to leave to the other thread. */
	count_failure(h, hyphae_batch_begin(h->graph) == 0);
	count_failure(h, hyphae_batch_end(h->graph) == 0);
	count_failure(h, hyphae_int64_get(h->a, &held) == 0);
	count_failure(h, hyphae_int64_get(h->other, &held) == 0);
	count_failure(h, hyphae_int64_set(h->other, ++h->number) >= 0);
	s = hyphae_subscribe(h->a, quiet, NULL);
	count_failure(h, s && hyphae_unsubscribe(s) == 0);
	made = hyphae_int64_new(h->graph, 1);
	derived = hyphae_map(h->a, &hyphae_int64, plus_one, NULL);
	count_failure(h, made && derived);
	count_failure(h, hyphae_cell_set_name(made, "made elsewhere") == 0);
	count_failure(h, hyphae_cell_unref(derived) == 0);
	count_failure(h, hyphae_batch_begin(h->graph) == 0);
	count_failure(h, hyphae_int64_set(made, 2) >= 0);
	count_failure(h, hyphae_int64_set(h->other, ++h->number) >= 0);
	count_failure(h, hyphae_batch_end(h->graph) == 0);
	count_failure(h, hyphae_cell_unref(made) == 0);
}

static void *help(void *ctx)
{
	struct helper *h = ctx;

	for (;;) {
		while (sem_wait(&h->asked) != 0)
			continue;
		if (h->over)
			return NULL;
		do_everything(h);
		sem_post(&h->done);
	}
}

static struct helper helper;

/* From inside a callback: have the other thread act, and wait for it. */
static void ask(void)
{
	struct timespec limit;

	if (!helper.armed)
		return;
	atomic_fetch_add(&helper.asks, 1);
	sem_post(&helper.asked);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 20;
	while (sem_timedwait(&helper.done, &limit) != 0) {
		if (errno == EINTR)
			continue;
		atomic_fetch_add(&helper.timeouts, 1);
		helper.armed = false;
		return;
	}
}

static void begin_helping(struct hyphae_graph *graph)
{
	memset(&helper, 0, sizeof(helper));
	helper.graph = graph;
	helper.a = hyphae_int64_new(graph, 0);
	helper.other = hyphae_int64_new(graph, 0);
	assert_int_equal(sem_init(&helper.asked, 0, 0), 0);
	assert_int_equal(sem_init(&helper.done, 0, 0), 0);
	start(&helper.thread, help, &helper);
}

static void end_helping(unsigned int at_least)
{
	helper.armed = false;
	helper.over = true;
	sem_post(&helper.asked);
	join(helper.thread);
	sem_destroy(&helper.asked);
	sem_destroy(&helper.done);
	assert_int_equal(helper.timeouts, 0);
	assert_int_equal(helper.failures, 0);
	assert_true(helper.asks >= at_least);
	assert_int_equal(value(helper.other), helper.number);
}

static int ask_in_subscriber(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	ask();
	return 0;
}

static int ask_in_map(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	ask();
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int ask_in_combine(void *ret, const void *const *inputs, size_t count,
			  void *ctx)
{
	return ask_in_map(ret, inputs[count - 1], ctx);
}

static int ask_in_filter(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	ask();
	return 1;
}

static void ask_in_drop(void *ctx)
{
	(void)ctx;
	ask();
}

static int ask_in_copy(void *to, const void *from)
{
	ask();
	memcpy(to, from, sizeof(int64_t));
	return 0;
}

static bool ask_in_equal(const void *a, const void *b)
{
	ask();
	return *(const int64_t *)a == *(const int64_t *)b;
}

HYPHAE_TYPE_WITH(asking, int64_t, .copy = ask_in_copy, .drop = ask_in_drop,
		 .equal = ask_in_equal);

static void h04_in_a_subscriber(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_subscription *s;

	(void)state;
	WATCH();
	begin_helping(graph);
	helper.armed = true;
	/* The first call, */
	s = hyphae_subscribe_with(helper.a, ask_in_subscriber, NULL,
				  ask_in_drop, 0);
	assert_non_null(s);
	/* a call in a wave, */
	assert_int_equal(hyphae_int64_set(helper.a, 5), 0);
	/* and the drop of its context. */
	assert_int_equal(hyphae_unsubscribe(s), 0);
	end_helping(3);
	assert_int_equal(helper.asks, 3);
	assert_int_equal(value(helper.a), 5);
	end_graph(graph, 2, 0);
}

static void h04_in_functions(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *m, *c, *f;
	struct hyphae_cell *two[2];

	(void)state;
	WATCH();
	begin_helping(graph);
	two[0] = two[1] = helper.a;
	helper.armed = true;
	m = hyphae_map(helper.a, &hyphae_int64, ask_in_map, NULL);
	c = hyphae_combine(two, 2, &hyphae_int64, ask_in_combine, NULL);
	f = hyphae_filter(helper.a, ask_in_filter, NULL);
	assert_non_null(m);
	assert_non_null(c);
	assert_non_null(f);
	assert_int_equal(hyphae_int64_set(helper.a, 5), 0);
	assert_int_equal(value(m), 5);
	assert_int_equal(value(c), 5);
	assert_int_equal(value(f), 5);
	end_helping(6);
	assert_int_equal(helper.asks, 6);
	end_graph(graph, 5, 0);
}

static void h04_in_a_type(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *x;
	int64_t held = 0;

	(void)state;
	WATCH();
	begin_helping(graph);
	helper.armed = true;
	x = asking_new_at(graph, 1, HYPHAE_HERE);
	assert_non_null(x);
	assert_int_equal(asking_set(x, 2), 0);
	assert_int_equal(asking_set(x, 2), HYPHAE_UNCHANGED);
	assert_int_equal(asking_get(x, &held), 0);
	assert_int_equal(held, 2);
	assert_int_equal(hyphae_cell_unref(x), 0);
	/* 4 copies, 2 comparisons, 3 drops of what the cell held. */
	end_helping(9);
	end_graph(graph, 2, 0);
}

static void h04_in_clean_ups(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_scope *scope;
	struct hyphae_cell *x;

	(void)state;
	WATCH();
	begin_helping(graph);
	x = hyphae_int64_new(graph, 1);
	assert_int_equal(hyphae_cell_own(x, NULL, ask_in_drop), 0);
	scope = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_on_dispose(scope, ask_in_drop, NULL), 0);
	helper.armed = true;
	assert_int_equal(hyphae_cell_unref(x), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	end_helping(2);
	assert_int_equal(helper.asks, 2);
	end_graph(graph, 2, 0);
}

static void ask_in_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)problem;
	(void)ctx;
	ask();
}

static int fail_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) == 5 ? -EIO : 0;
}

static void h04_in_the_problem_function(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);

	(void)state;
	WATCH();
	begin_helping(graph);
	assert_non_null(hyphae_subscribe(helper.a, fail_call, NULL));
	assert_int_equal(hyphae_graph_on_problem(graph, ask_in_problem, NULL),
			 0);
	helper.armed = true;
	assert_int_equal(hyphae_int64_set(helper.a, 5), -EIO);
	end_helping(1);
	end_graph(graph, 2, 1);
}

/* ---- H-06: two batches, one sink ---- */

#define BATCHED 20

struct sink {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[2 * BATCHED];
	_Atomic unsigned int torn;
	_Atomic unsigned int refused;
	unsigned long runs; /* on whatever thread propagates: serial */
};

struct batcher {
	struct sink *sink;
	struct hyphae_cell **mine;
};

static int check_halves(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	struct sink *sink = ctx;
	size_t i;

	sink->runs++;
	for (i = 1; i < count; i++) {
		if (i == BATCHED)
			continue;
		if (*(const int64_t *)inputs[i] !=
		    *(const int64_t *)inputs[i - 1])
			atomic_fetch_add(&sink->torn, 1);
	}
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[BATCHED];
	return 0;
}

static void *write_batches(void *ctx)
{
	struct batcher *b = ctx;
	int64_t i;
	int k;

	for (i = 1; i <= ROUNDS / 10; i++) {
		int bad = hyphae_batch_begin(b->sink->graph) != 0;

		for (k = 0; k < BATCHED; k++)
			bad += hyphae_int64_set(b->mine[k], i) < 0;
		bad += hyphae_batch_end(b->sink->graph) != 0;
		if (bad)
			atomic_fetch_add(&b->sink->refused, 1);
	}
	return NULL;
}

static void h06_two_batches(void **state)
{
	struct sink sink = {.graph = hyphae_graph_new(0)};
	struct batcher batchers[2];
	struct hyphae_cell *z;
	pthread_t threads[2];
	int i;

	(void)state;
	WATCH();
	for (i = 0; i < 2 * BATCHED; i++)
		sink.cells[i] = hyphae_int64_new(sink.graph, 0);
	z = hyphae_combine(sink.cells, 2 * BATCHED, &hyphae_int64, check_halves,
			   &sink);
	assert_non_null(z);
	for (i = 0; i < 2; i++) {
		batchers[i] = (struct batcher){&sink, &sink.cells[i * BATCHED]};
		start(&threads[i], write_batches, &batchers[i]);
	}
	for (i = 0; i < 2; i++)
		join(threads[i]);
	assert_int_equal(sink.refused, 0);
	assert_int_equal(sink.torn, 0);
	assert_int_equal(value(z), 2 * (ROUNDS / 10));
	assert_true(sink.runs <= 1 + 2 * (ROUNDS / 10));
	end_graph(sink.graph, 2 * BATCHED + 1, 0);
}

/* Of an open batch others see nothing. */
struct peek {
	struct hyphae_cell *a;
	int64_t seen;
};

static void *peek(void *ctx)
{
	struct peek *p = ctx;

	hyphae_int64_get(p->a, &p->seen);
	return NULL;
}

static void h06_open_batch_is_private(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct peek p = {.a = hyphae_int64_new(graph, 1), .seen = -1};
	pthread_t thread;

	(void)state;
	WATCH();
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(p.a, 2), 0);
	assert_int_equal(value(p.a), 2);
	start(&thread, peek, &p);
	join(thread);
	assert_int_equal(p.seen, 1);
	assert_int_equal(hyphae_batch_end(graph), 0);
	start(&thread, peek, &p);
	join(thread);
	assert_int_equal(p.seen, 2);
	end_graph(graph, 1, 0);
}

/* ---- H-07: what is released races what propagates ---- */

struct churn {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;
	_Atomic bool over;
	_Atomic unsigned int failures;
	_Atomic unsigned long drops;
	unsigned long subscribed;
};

static void *set_until_over(void *ctx)
{
	struct churn *churn = ctx;
	int64_t i = 0;

	while (!churn->over)
		if (hyphae_int64_set(churn->a, ++i) < 0)
			atomic_fetch_add(&churn->failures, 1);
	return NULL;
}

static void count_drop(void *ctx)
{
	struct churn *churn = ctx;

	atomic_fetch_add(&churn->drops, 1);
}

static void make_and_drop(struct churn *churn)
{
	struct hyphae_cell *b, *c;
	struct hyphae_cell *both[2];
	struct hyphae_subscription *s;

	b = hyphae_map(churn->a, &hyphae_int64, plus_one, NULL);
	both[0] = churn->a;
	both[1] = b;
	c = hyphae_combine(both, 2, &hyphae_int64, ask_in_combine, NULL);
	s = hyphae_subscribe_with(c, quiet, churn, count_drop, 0);
	churn->subscribed++;
	if (!b || !c || !s || hyphae_cell_unref(b) != 0 ||
	    hyphae_unsubscribe(s) != 0 || hyphae_cell_unref(c) != 0)
		atomic_fetch_add(&churn->failures, 1);
}

static void h07_destroy_races_set(void **state)
{
	struct churn churn = {.graph = hyphae_graph_new(0)};
	pthread_t threads[2];
	int i;

	(void)state;
	WATCH();
	churn.a = hyphae_int64_new(churn.graph, 0);
	for (i = 0; i < 2; i++)
		start(&threads[i], set_until_over, &churn);
	for (i = 0; i < ROUNDS; i++)
		make_and_drop(&churn);
	churn.over = true;
	for (i = 0; i < 2; i++)
		join(threads[i]);
	assert_int_equal(churn.failures, 0);
	assert_int_equal(churn.drops, churn.subscribed);
	end_graph(churn.graph, 1, 0);
}

/* ---- cells made while another thread propagates ---- */

struct large {
	int64_t parts[16];
};
HYPHAE_TYPE(large, struct large);

struct making {
	struct hyphae_graph *graph;
	struct hyphae_cell *a; /* int64 */
	struct hyphae_cell *l; /* large, all parts equal */
	_Atomic bool over;
	_Atomic unsigned int failures;
	_Atomic unsigned int torn;     /* a large input with unequal parts */
	_Atomic unsigned int overlaps; /* a function entered twice at once */
};

struct maker {
	struct making *making;
	_Atomic unsigned int inside;
};

static struct large all_parts(int64_t n)
{
	struct large large;
	int i;

	for (i = 0; i < 16; i++)
		large.parts[i] = n;
	return large;
}

static bool is_whole(const struct large *large)
{
	int i;

	for (i = 1; i < 16; i++)
		if (large->parts[i] != large->parts[0])
			return false;
	return true;
}

static int large_plus_one(void *ret, const void *input, void *ctx)
{
	struct maker *maker = ctx;
	const struct large *from = input;

	if (atomic_fetch_add(&maker->inside, 1) != 0)
		atomic_fetch_add(&maker->making->overlaps, 1);
	if (!is_whole(from))
		atomic_fetch_add(&maker->making->torn, 1);
	*(struct large *)ret = all_parts(from->parts[0] + 1);
	atomic_fetch_sub(&maker->inside, 1);
	return 0;
}

/* The number of l + the number of a. */
static int add_large(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	const struct large *from = inputs[1];
	struct maker *maker = ctx;

	(void)count;
	if (!is_whole(from))
		atomic_fetch_add(&maker->making->torn, 1);
	*(int64_t *)ret = *(const int64_t *)inputs[0] + from->parts[0];
	return 0;
}

static void *set_both_until_over(void *ctx)
{
	struct making *making = ctx;
	int64_t i = 0;

	while (!making->over) {
		i++;
		if (hyphae_batch_begin(making->graph) != 0 ||
		    hyphae_int64_set(making->a, i) < 0 ||
		    large_set(making->l, all_parts(i)) < 0 ||
		    hyphae_batch_end(making->graph) < 0)
			atomic_fetch_add(&making->failures, 1);
	}
	return NULL;
}

#define MADE 500

static void made_while_another_propagates(void **state)
{
	struct making making = {.graph = hyphae_graph_new(0)};
	static struct maker makers[MADE];
	struct hyphae_cell *maps[MADE], *sums[MADE], *both[2];
	pthread_t thread;
	int64_t last;
	int i;

	(void)state;
	WATCH();
	making.a = hyphae_int64_new(making.graph, 0);
	making.l = large_new_at(making.graph, all_parts(0), HYPHAE_HERE);
	both[0] = making.a;
	both[1] = making.l;
	start(&thread, set_both_until_over, &making);
	for (i = 0; i < MADE; i++) {
		makers[i].making = &making;
		maps[i] = hyphae_map(making.l, &large_type, large_plus_one,
				     &makers[i]);
		sums[i] = hyphae_combine(both, 2, &hyphae_int64, add_large,
					 &makers[i]);
		assert_non_null(maps[i]);
		assert_non_null(sums[i]);
	}
	making.over = true;
	join(thread);
	assert_int_equal(making.failures, 0);
	assert_int_equal(making.torn, 0);
	assert_int_equal(making.overlaps, 0);
	last = value(making.a);
	for (i = 0; i < MADE; i++) {
		struct large large;

		assert_int_equal(large_get(maps[i], &large), 0);
		assert_int_equal(large.parts[0], last + 1);
		assert_int_equal(value(sums[i]), 2 * last);
	}
	end_graph(making.graph, 2 + 2 * MADE, 0);
}

/*
 * A cell is made on another thread; before its function has returned the
 * input changes, so it has to run again.  It is given back at once, while this
 * thread releases something: it must not be freed where it waits for its turn.
 */
struct hasty {
	struct hyphae_cell *a;
	struct hyphae_subscription
		*victim; /* whose drop lets the maker go on */
	pthread_t thread;
	sem_t inside, go_on;
	_Atomic unsigned int runs;
	_Atomic unsigned int failures;
};

static int run_hasty(void *ret, const void *input, void *ctx)
{
	struct hasty *hasty = ctx;

	if (atomic_fetch_add(&hasty->runs, 1) == 0) {
		sem_post(&hasty->inside);
		while (sem_wait(&hasty->go_on) != 0)
			continue;
	}
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static void *make_hastily(void *ctx)
{
	struct hasty *hasty = ctx;
	struct hyphae_cell *b =
		hyphae_map(hasty->a, &hyphae_int64, run_hasty, hasty);

	if (!b || hyphae_cell_unref(b) != 0)
		atomic_fetch_add(&hasty->failures, 1);
	return NULL;
}

/* In the wave of the trigger: what follows is a wave of `a`, then the drop. */
static int begin_haste(const struct hyphae_signal *signal, void *ctx)
{
	struct hasty *hasty = ctx;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	if (pthread_create(&hasty->thread, NULL, make_hastily, hasty) != 0)
		return -EAGAIN;
	while (sem_wait(&hasty->inside) != 0)
		continue;
	if (hyphae_int64_set(hasty->a, 5) != 0 ||
	    hyphae_unsubscribe(hasty->victim) != 0)
		atomic_fetch_add(&hasty->failures, 1);
	return 0;
}

static void end_haste(void *ctx)
{
	struct hasty *hasty = ctx;

	sem_post(&hasty->go_on);
	pthread_join(hasty->thread, NULL);
}

static void released_while_it_waits(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct hyphae_cell *c;
	struct hasty hasty = {.a = hyphae_int64_new(graph, 0)};

	(void)state;
	WATCH();
	sem_init(&hasty.inside, 0, 0);
	sem_init(&hasty.go_on, 0, 0);
	assert_non_null(hyphae_subscribe(trigger, begin_haste, &hasty));
	hasty.victim =
		hyphae_subscribe_with(trigger, quiet, &hasty, end_haste, 0);
	assert_non_null(hasty.victim);
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(hasty.failures, 0);
	assert_int_equal(hasty.runs, 1);
	assert_int_equal(value(hasty.a), 5);
	/* Whoever has its place is not taken for it. */
	c = hyphae_map(hasty.a, &hyphae_int64, plus_one, NULL);
	assert_int_equal(hyphae_int64_set(hasty.a, 6), 0);
	assert_int_equal(value(c), 7);
	assert_int_equal(hasty.runs, 1);
	sem_destroy(&hasty.inside);
	sem_destroy(&hasty.go_on);
	end_graph(graph, 3, 1);
}

/* A handle that goes stale at any moment: a code, never a crash. */
static void *set_stale(void *ctx)
{
	struct race *race = ctx;

	for (;;) {
		int r;

		pthread_barrier_wait(&race->go);
		if (race->over)
			return NULL;
		r = hyphae_int64_set(race->a, 42);
		if (r != 0 && r != -ESTALE)
			atomic_fetch_add(&race->count, 1);
		pthread_barrier_wait(&race->go);
	}
}

static void h07_handle_goes_stale(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct race race = {.over = false};
	pthread_t thread;
	int i;

	(void)state;
	WATCH();
	assert_int_equal(pthread_barrier_init(&race.go, NULL, 2), 0);
	start(&thread, set_stale, &race);
	for (i = 0; i < ROUNDS; i++) {
		race.a = hyphae_int64_new(graph, 0);
		pthread_barrier_wait(&race.go);
		assert_int_equal(hyphae_cell_unref(race.a), 0);
		pthread_barrier_wait(&race.go);
	}
	race.over = true;
	pthread_barrier_wait(&race.go);
	join(thread);
	assert_int_equal(race.count, 0);
	pthread_barrier_destroy(&race.go);
	end_graph(graph, 0, 0);
}

/* ---- a source that one thread ends and another writes ---- */

/*
 * While this thread is in a subscriber, another one opens a batch and writes
 * the cells, a third ends them, and then the batch ends: too late.
 */
struct late {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *l; /* int64, large */
	bool by_propagator; /* the end comes from the subscriber itself */
	sem_t written, ended;
	_Atomic unsigned int failures;
};

static void *end_both(void *ctx)
{
	struct late *late = ctx;

	if (hyphae_cell_complete(late->a) != 0 ||
	    hyphae_cell_fail(late->l, -EIO, "over") != 0)
		atomic_fetch_add(&late->failures, 1);
	return NULL;
}

static void *write_too_late(void *ctx)
{
	struct late *late = ctx;
	pthread_t thread;
	int bad = hyphae_batch_begin(late->graph) != 0;

	bad += hyphae_int64_set(late->a, 8) != 0;
	bad += large_set(late->l, all_parts(8)) != 0;
	if (late->by_propagator) {
		sem_post(&late->written);
		sem_wait(&late->ended);
	} else {
		bad += pthread_create(&thread, NULL, end_both, late) != 0;
		bad += pthread_join(thread, NULL) != 0;
	}
	bad += hyphae_batch_end(late->graph) != 0;
	if (bad)
		atomic_fetch_add(&late->failures, 1);
	return NULL;
}

static int let_them_race(const struct hyphae_signal *signal, void *ctx)
{
	struct late *late = ctx;
	pthread_t thread;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	if (pthread_create(&thread, NULL, write_too_late, late) != 0)
		return -EAGAIN;
	if (late->by_propagator) {
		sem_wait(&late->written);
		end_both(late);
		sem_post(&late->ended);
	}
	return pthread_join(thread, NULL) ? -EAGAIN : 0;
}

static int note_all(const struct hyphae_signal *signal, void *ctx)
{
	char *story = ctx;

	if (signal->kind == HYPHAE_VALUE)
		strcat(story, "V");
	else
		strcat(story, signal->kind == HYPHAE_COMPLETE ? "C" : "E");
	return 0;
}

static void written_after_the_end(bool by_propagator)
{
	struct late late = {.graph = hyphae_graph_new(0),
			    .by_propagator = by_propagator};
	struct hyphae_cell *trigger = hyphae_int64_new(late.graph, 0);
	char a_story[16] = "", l_story[16] = "";
	struct large large;

	sem_init(&late.written, 0, 0);
	sem_init(&late.ended, 0, 0);
	late.a = hyphae_int64_new(late.graph, 0);
	late.l = large_new_at(late.graph, all_parts(0), HYPHAE_HERE);
	assert_non_null(hyphae_subscribe(late.a, note_all, a_story));
	assert_non_null(hyphae_subscribe(late.l, note_all, l_story));
	assert_non_null(hyphae_subscribe(trigger, let_them_race, &late));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(late.failures, 0);
	assert_string_equal(a_story, "VC");
	assert_string_equal(l_story, "VE");
	assert_int_equal(value(late.a), 0);
	assert_int_equal(large_get(late.l, &large), -EIO);
	sem_destroy(&late.written);
	sem_destroy(&late.ended);
	end_graph(late.graph, 3, 1);
}

static void batch_after_anothers_end(void **state)
{
	(void)state;
	WATCH();
	written_after_the_end(false);
}

static void batch_after_the_propagators_end(void **state)
{
	(void)state;
	WATCH();
	written_after_the_end(true);
}

/* ---- readers ---- */

struct reading {
	struct hyphae_cell *a; /* int64 */
	struct hyphae_cell *b; /* a + 1 */
	struct hyphae_cell *l;
	_Atomic bool over;
	_Atomic unsigned int torn;
	_Atomic unsigned int backward;
	_Atomic unsigned long reads;
};

static void *read_much(void *ctx)
{
	struct reading *r = ctx;
	int64_t last = 0;

	while (!r->over) {
		struct large large;
		int64_t held;

		if (large_get(r->l, &large) != 0 || !is_whole(&large))
			atomic_fetch_add(&r->torn, 1);
		if (hyphae_int64_get(r->b, &held) != 0 || held < last)
			atomic_fetch_add(&r->backward, 1);
		last = held;
		atomic_fetch_add(&r->reads, 1);
	}
	return NULL;
}

static void readers_see_whole_values(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct reading r = {.a = hyphae_int64_new(graph, 0)};
	pthread_t threads[2];
	int i;

	(void)state;
	WATCH();
	r.b = hyphae_map(r.a, &hyphae_int64, plus_one, NULL);
	r.l = large_new_at(graph, all_parts(0), HYPHAE_HERE);
	for (i = 0; i < 2; i++)
		start(&threads[i], read_much, &r);
	for (i = 1; i <= ROUNDS || r.reads < 100; i++) {
		assert_int_equal(large_set(r.l, all_parts(i)), 0);
		assert_int_equal(hyphae_int64_set(r.a, i), 0);
	}
	r.over = true;
	for (i = 0; i < 2; i++)
		join(threads[i]);
	assert_int_equal(r.torn, 0);
	assert_int_equal(r.backward, 0);
	end_graph(graph, 3, 0);
}

/* A value that is replaced while its reader copies it lives until then. */
struct counted {
	int64_t number;
};

static struct hyphae_cell *counted_cell;
static _Atomic bool replace_in_copy;
static _Atomic int counted_live, replace_result;
static _Atomic int live_in_copy; /* when the new value was there */

static void *replace_counted(void *ctx);

static int counted_copy(void *to, const void *from)
{
	pthread_t thread;

	if (replace_in_copy) {
		replace_in_copy = false;
		if (pthread_create(&thread, NULL, replace_counted, NULL) ||
		    pthread_join(thread, NULL))
			return -EAGAIN;
		live_in_copy = counted_live;
	}
	*(struct counted *)to = *(const struct counted *)from;
	atomic_fetch_add(&counted_live, 1);
	return 0;
}

static void counted_drop(void *gone)
{
	((struct counted *)gone)->number = -1;
	atomic_fetch_sub(&counted_live, 1);
}

HYPHAE_TYPE_WITH(counted, struct counted, .copy = counted_copy,
		 .drop = counted_drop);

static void *replace_counted(void *ctx)
{
	(void)ctx;
	replace_result = counted_set(counted_cell, (struct counted){2});
	return NULL;
}

static void value_replaced_under_its_reader(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct counted read = {0};

	(void)state;
	WATCH();
	counted_live = 0;
	replace_result = 1;
	counted_cell = counted_new_at(graph, (struct counted){1}, HYPHAE_HERE);
	assert_non_null(counted_cell);
	assert_int_equal(counted_live, 1);
	replace_in_copy = true;
	assert_int_equal(counted_get(counted_cell, &read), 0);
	assert_int_equal(replace_result, 0);
	assert_int_equal(live_in_copy, 2); /* the old one and the new one */
	assert_int_equal(read.number, 1);
	assert_int_equal(counted_live, 2); /* the new one and our copy */
	assert_int_equal(counted_get(counted_cell, &read), 0);
	assert_int_equal(read.number, 2);
	assert_int_equal(hyphae_cell_unref(counted_cell), 0);
	assert_int_equal(counted_live, 2); /* our two copies */
	end_graph(graph, 0, 0);
}

/* ---- settle waits for who propagates ---- */

struct slow {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;
	sem_t inside, go_on;
	_Atomic bool returned;
};

static int wait_inside(const struct hyphae_signal *signal, void *ctx)
{
	struct slow *slow = ctx;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	sem_post(&slow->inside);
	while (sem_wait(&slow->go_on) != 0)
		continue;
	slow->returned = true;
	return 0;
}

static void *set_one(void *ctx)
{
	struct slow *slow = ctx;

	hyphae_int64_set(slow->a, 1);
	return NULL;
}

static void settle_waits(void **state)
{
	struct slow slow = {.graph = hyphae_graph_new(0)};
	pthread_t thread;

	(void)state;
	WATCH();
	slow.a = hyphae_int64_new(slow.graph, 0);
	sem_init(&slow.inside, 0, 0);
	sem_init(&slow.go_on, 0, 0);
	assert_non_null(hyphae_subscribe(slow.a, wait_inside, &slow));
	start(&thread, set_one, &slow);
	while (sem_wait(&slow.inside) != 0)
		continue;
	/* Left to the thread that propagates; it is not done on return. */
	assert_int_equal(hyphae_int64_set(slow.a, 7), 0);
	assert_int_equal(hyphae_graph_check_idle(slow.graph), -EBUSY);
	assert_int_equal(hyphae_graph_free(slow.graph), -EBUSY);
	sem_post(&slow.go_on);
	assert_int_equal(hyphae_settle(slow.graph), 0);
	assert_true(slow.returned);
	assert_int_equal(value(slow.a), 7);
	join(thread);
	sem_destroy(&slow.inside);
	sem_destroy(&slow.go_on);
	end_graph(slow.graph, 1, 1);
}

/* ---- a graph for each thread ---- */

static _Atomic unsigned int own_failures;

static void use_own_graph(unsigned int flags)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *x = a;
	int64_t held = -1;
	int i;

	for (i = 0; i < 200; i++)
		x = hyphae_map(x, &hyphae_int64, plus_one, NULL);
	for (i = 1; i <= 10; i++)
		if (hyphae_int64_set(a, i) != 0)
			own_failures++;
	if (hyphae_int64_get(x, &held) != 0 || held != 210)
		own_failures++;
	if (hyphae_graph_free(graph) != 0)
		own_failures++;
}

static void *graphs_of_one_thread(void *ctx)
{
	int i;

	(void)ctx;
	for (i = 0; i < ROUNDS / 100; i++)
		use_own_graph((unsigned int)i % 4);
	return NULL;
}

static void graphs_side_by_side(void **state)
{
	pthread_t threads[4];
	int i;

	(void)state;
	WATCH();
	for (i = 0; i < 4; i++)
		start(&threads[i], graphs_of_one_thread, NULL);
	for (i = 0; i < 4; i++)
		join(threads[i]);
	assert_int_equal(own_failures, 0);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h01_last_delivered),
		cmocka_unit_test(h01_last_delivered_eager),
		cmocka_unit_test(h02_subscribe_races_set),
		cmocka_unit_test(h04_in_a_subscriber),
		cmocka_unit_test(h04_in_functions),
		cmocka_unit_test(h04_in_a_type),
		cmocka_unit_test(h04_in_clean_ups),
		cmocka_unit_test(h04_in_the_problem_function),
		cmocka_unit_test(h06_two_batches),
		cmocka_unit_test(h06_open_batch_is_private),
		cmocka_unit_test(h07_destroy_races_set),
		cmocka_unit_test(made_while_another_propagates),
		cmocka_unit_test(released_while_it_waits),
		cmocka_unit_test(h07_handle_goes_stale),
		cmocka_unit_test(batch_after_anothers_end),
		cmocka_unit_test(batch_after_the_propagators_end),
		cmocka_unit_test(readers_see_whole_values),
		cmocka_unit_test(value_replaced_under_its_reader),
		cmocka_unit_test(settle_waits),
		cmocka_unit_test(graphs_side_by_side),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
