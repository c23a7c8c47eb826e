/* SPDX-License-Identifier: MIT */
/*
 * Group H: no lock is held in user code; whatever it is, another thread may do
 * everything meanwhile.
 */
#include <sched.h>

#include "core/sync.h"
#include "thread_basic.h"

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

/* ---- a first call on another thread, beside a set ---- */

struct beside {
	struct hyphae_cell *cell;
	bool done;
	_Atomic unsigned int problems;
	bool subscribed;
};

static int fail_first(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return -EIO;
}

static void *subscribe_beside(void *ctx)
{
	struct beside *b = ctx;

	b->subscribed = hyphae_subscribe(b->cell, fail_first, NULL);
	return NULL;
}

static int have_subscribed(const struct hyphae_signal *signal, void *ctx)
{
	struct beside *b = ctx;
	pthread_t thread;

	(void)signal;
	if (b->done)
		return 0;
	b->done = true;
	if (pthread_create(&thread, NULL, subscribe_beside, b))
		return -EAGAIN;
	return -pthread_join(thread, NULL);
}

static void count_problem(const struct hyphae_problem *problem, void *ctx)
{
	struct beside *b = ctx;

	b->problems += problem->code == -EIO;
}

/* What it returns is no result of the set. */
static void first_call_beside_a_set(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct beside b = {.cell = hyphae_int64_new(graph, 0)};

	(void)state;
	WATCH();
	assert_int_equal(hyphae_graph_on_problem(graph, count_problem, &b), 0);
	assert_non_null(hyphae_subscribe_with(b.cell, have_subscribed, &b, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(b.cell, 1), 0);
	assert_true(b.subscribed);
	assert_int_equal(b.problems, 1);
	assert_int_equal(hyphae_int64_set(b.cell, 2), -EIO);
	assert_int_equal(b.problems, 2);
	end_graph(graph, 1, 2);
}

/* ---- who waits for the end of a set that has nothing else to do ---- */

struct settler {
	struct hyphae_graph *graph;
	pthread_t thread;
	int started;
	_Atomic int settled;
};

static void *settle_beside(void *ctx)
{
	struct settler *s = ctx;

	s->settled = hyphae_settle(s->graph);
	return NULL;
}

/* Returns when the other thread waits. */
static int have_somebody_wait(const struct hyphae_signal *signal, void *ctx)
{
	struct settler *s = ctx;
	struct hy_graph *g = hy_graph(s->graph);
	bool waits = false;

	(void)signal;
	s->started = pthread_create(&s->thread, NULL, settle_beside, s);
	while (!s->started && !waits) {
		sched_yield();
		hy_lock(g);
		waits = g->waiters;
		hy_unlock(g);
	}
	return 0;
}

static void a_set_wakes_who_waits_for_its_end(void **state)
{
	struct settler s = {.graph = hyphae_graph_new(0), .settled = -1};
	struct hyphae_cell *cell = hyphae_int64_new(s.graph, 0);

	(void)state;
	WATCH();
	assert_non_null(hyphae_subscribe_with(cell, have_somebody_wait, &s,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(cell, 1), 0);
	assert_int_equal(s.started, 0);
	join(s.thread);
	assert_int_equal(s.settled, 0);
	end_graph(s.graph, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h04_in_a_subscriber),
		cmocka_unit_test(h04_in_functions),
		cmocka_unit_test(h04_in_a_type),
		cmocka_unit_test(h04_in_clean_ups),
		cmocka_unit_test(h04_in_the_problem_function),
		cmocka_unit_test(first_call_beside_a_set),
		cmocka_unit_test(a_set_wakes_who_waits_for_its_end),
	};

	return cmocka_run_group_tests_name("threads: no lock in user code",
					   tests, NULL, NULL);
}
