/* SPDX-License-Identifier: MIT */
/* Pools: calls in order, side by side, and with an end. */
#include "flow.h"
#include "run.h"
#include "threads.h"

#define SUBS 12
#define SETS 400

/* A parallel subscriber's notes; its calls are serial, so it needs no lock. */
struct worker {
	struct text t;
	uint64_t calls, ends;
	int64_t last;
	int code;   /* of the end */
	int inside; /* calls under way */
	bool overlap, out_of_order, after_end, after_drop;
	int dropped;
	int returns; /* what it returns for values */
	bool tells;  /* with a message */
	struct hyphae_pool *pool;
	struct hyphae_parallel *self;
	int result;
};

static int work(const struct hyphae_signal *signal, void *ctx)
{
	struct worker *w = ctx;

	if (__atomic_add_fetch(&w->inside, 1, __ATOMIC_RELAXED) != 1)
		w->overlap = true;
	if (w->ends)
		w->after_end = true;
	if (__atomic_load_n(&w->dropped, __ATOMIC_ACQUIRE))
		w->after_drop = true;
	if (signal->terminal) {
		w->ends++;
		w->code = signal->code;
	} else {
		w->calls++;
		if (signal->kind == HYPHAE_VALUE &&
		    signal->type == &hyphae_int64) {
			if (hyphae_int64_of(signal) < w->last)
				w->out_of_order = true;
			w->last = hyphae_int64_of(signal);
		}
	}
	add_signal(&w->t, signal);
	__atomic_sub_fetch(&w->inside, 1, __ATOMIC_RELAXED);
	if (signal->terminal)
		return 0;
	return w->tells ? hyphae_error(w->returns, "no room") : w->returns;
}

static void work_dropped(void *ctx)
{
	struct worker *w = ctx;

	__atomic_add_fetch(&w->dropped, 1, __ATOMIC_ACQ_REL);
}

static void expect_sound(const struct worker *w)
{
	assert_false(w->overlap);
	assert_false(w->out_of_order);
	assert_false(w->after_end);
	assert_false(w->after_drop);
	assert_int_equal(w->dropped, 1);
}

static void wait_until_dropped(struct worker *w)
{
	while (!__atomic_load_n(&w->dropped, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void in_order_with_an_end(void **state)
{
	(void)state;
	WATCH();
	EACH_KIND(kind)
	{
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
		struct hyphae_pool *pool = hyphae_pool_new(3);
		struct hyphae_parallel_options options = {.capacity = SETS + 1};
		struct worker w[SUBS];

		memset(w, 0, sizeof(w));
		for (int i = 0; i < SUBS; i++)
			assert_non_null(hyphae_subscribe_parallel(
				pool, cell, work, &w[i], work_dropped,
				&options));
		for (int64_t i = 1; i <= SETS; i++)
			assert_int_equal(hyphae_int64_set(cell, i), 0);
		assert_int_equal(hyphae_cell_fail(cell, -EIO, "worms"), 0);
		for (int i = 0; i < SUBS; i++) {
			wait_until_dropped(&w[i]);
			expect_sound(&w[i]);
			assert_int_equal(w[i].calls, SETS + 1);
			assert_int_equal(w[i].last, SETS);
			assert_int_equal(w[i].ends, 1);
			assert_int_equal(w[i].code, -EIO);
		}
		assert_int_equal(hyphae_pool_free(pool), 0);
		assert_int_equal(hyphae_pool_free(pool), -ESTALE);
		end_graph(graph, 1, 0);
	}
}

/* A gate that subscribers wait at, so that a test knows where they are. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int waiting;
	bool open;
};

static void gate_init(struct gate *g)
{
	memset(g, 0, sizeof(*g));
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->moved, NULL);
}

static void gate_pass(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->waiting++;
	pthread_cond_broadcast(&g->moved);
	while (!g->open)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void gate_await(struct gate *g, int waiting)
{
	pthread_mutex_lock(&g->lock);
	while (g->waiting < waiting)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

static struct gate gate;

static int work_at_gate(const struct hyphae_signal *signal, void *ctx)
{
	if (!signal->terminal && hyphae_int64_of(signal) == 0)
		gate_pass(&gate);
	return work(signal, ctx);
}

/* Two are inside at the same time; full queues follow their policies. */
static void side_by_side_and_full(void **state)
{
	static const enum hyphae_overflow policies[] = {
		HYPHAE_OVERFLOW_DROP_OLDEST, HYPHAE_OVERFLOW_DROP_NEWEST,
		HYPHAE_OVERFLOW_LATEST, HYPHAE_OVERFLOW_FAIL};
	static const char *const expected[] = {"0,4,5,C", "0,1,2,C", "0,5,C",
					       "0,1,2,T(-75 )"};
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_pool *pool = hyphae_pool_new(4);
	struct hyphae_parallel *sub[4];
	struct hyphae_parallel_counts counts;
	struct worker w[4];

	(void)state;
	WATCH();
	gate_init(&gate);
	memset(w, 0, sizeof(w));
	for (int i = 0; i < 4; i++) {
		struct hyphae_parallel_options options = {
			.capacity = 2, .policy = policies[i]};

		sub[i] = hyphae_subscribe_parallel(pool, cell, work_at_gate,
						   &w[i], work_dropped,
						   &options);
	}
	gate_await(&gate, 4);
	for (int64_t i = 1; i <= 5; i++)
		assert_int_equal(hyphae_int64_set(cell, i), 0);
	assert_int_equal(hyphae_parallel_counts(sub[0], &counts), 0);
	assert_int_equal(counts.received, 6);
	assert_int_equal(counts.called, 1);
	assert_int_equal(counts.dropped, 3);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(hyphae_cell_complete(cell), 0);
	gate_open(&gate);
	for (int i = 0; i < 4; i++) {
		wait_until_dropped(&w[i]);
		expect_sound(&w[i]);
		assert_text(&w[i].t, expected[i]);
	}
	assert_int_equal(hyphae_pool_free(pool), 0);
	end_graph(graph, 1, 0);
}

static int problems, problem_code;
static char problem_text[160];

static void note_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)ctx;
	problems++;
	problem_code = problem->code;
	snprintf(problem_text, sizeof(problem_text), "%s", problem->message);
}

static void what_subscribers_return(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_pool *pool = hyphae_pool_new(1);
	struct worker fails = {.returns = -EIO, .tells = true};
	struct worker leaves = {.returns = HYPHAE_DETACH};

	(void)state;
	WATCH();
	problems = 0;
	assert_int_equal(hyphae_pool_on_problem(pool, note_problem, NULL), 0);
	hyphae_subscribe_parallel(pool, cell, work, &fails, work_dropped, NULL);
	hyphae_subscribe_parallel(pool, cell, work, &leaves, work_dropped,
				  NULL);
	wait_until_dropped(&leaves);
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_int_equal(hyphae_pool_free(pool), 0);
	expect_sound(&fails);
	expect_sound(&leaves);
	assert_text(&leaves.t, "1");
	assert_text(&fails.t, "1,2,T(-125 )");
	assert_int_equal(problems, 2);
	assert_int_equal(problem_code, -EIO);
	assert_non_null(
		strstr(problem_text,
		       " returned error -5 (Input/output error): no room; it"));
	end_graph(graph, 1, 0);
}

/* Everything that would have to wait for itself. */
static int end_oneself(const struct hyphae_signal *signal, void *ctx)
{
	struct worker *w = ctx;

	gate_pass(&gate); /* until w->self is known */
	if (hyphae_pool_free(w->pool) != -EDEADLK)
		w->result = 1;
	else if (hyphae_unsubscribe_parallel_wait(w->self) != -EDEADLK)
		w->result = 2;
	else if (hyphae_unsubscribe_parallel(w->self) != 0)
		w->result = 3;
	return work(signal, ctx);
}

static void end_in_drop(void *ctx)
{
	struct worker *w = ctx;

	if (hyphae_unsubscribe_parallel_wait(w->self) != -EDEADLK)
		w->result = 4;
	work_dropped(ctx);
}

static void ended_in_its_own_call(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct worker w = {.pool = hyphae_pool_new(1)};

	(void)state;
	WATCH();
	gate_init(&gate);
	w.self = hyphae_subscribe_parallel(w.pool, cell, end_oneself, &w,
					   end_in_drop, NULL);
	gate_open(&gate);
	wait_until_dropped(&w);
	assert_int_equal(w.result, 0);
	assert_text(&w.t, "1");
	while (hyphae_unsubscribe_parallel(w.self) != -ESTALE)
		sched_yield();
	assert_int_equal(hyphae_pool_free(w.pool), 0);
	expect_sound(&w);
	end_graph(graph, 1, 0);
}

/* The one who ends a subscription frees the pool in its drop. */
static void free_pool_in_drop(void *ctx)
{
	struct worker *w = ctx;

	w->result = hyphae_pool_free(w->pool);
	work_dropped(ctx);
}

static void the_pool_is_freed_in_a_drop(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct worker w = {.pool = hyphae_pool_new(2), .result = 7};
	struct hyphae_parallel_options options = {.flags = HYPHAE_SKIP_INITIAL};

	(void)state;
	WATCH();
	w.self = hyphae_subscribe_parallel(w.pool, cell, work, &w,
					   free_pool_in_drop, &options);
	assert_int_equal(hyphae_unsubscribe_parallel(w.self), 0);
	assert_int_equal(w.result, 0);
	expect_sound(&w);
	end_graph(graph, 1, 0);
}

static void *set_many(void *ctx)
{
	struct hyphae_cell *cell = ctx;

	for (int64_t i = 1; i <= SETS; i++)
		hyphae_int64_set(cell, i);
	return NULL;
}

/* H-03: when the waiting one has returned, nothing of it runs. */
static void h03_unsubscribe_races_delivery(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_pool *pool = hyphae_pool_new(3);
	unsigned long long seed = test_seed(3);

	(void)state;
	for (unsigned int round = 0; round < 60; round++) {
		struct worker *w[4];
		struct hyphae_parallel *sub[4];
		pthread_t setter;

		WATCH();
		for (int i = 0; i < 4; i++) {
			w[i] = calloc(1, sizeof(*w[i]));
			sub[i] = hyphae_subscribe_parallel(
				pool, cell, work, w[i], work_dropped, NULL);
		}
		start(&setter, set_many, cell);
		for (unsigned int i = 0; i < (seed + round * 17) % 60; i++)
			sched_yield();
		for (int i = 0; i < 4; i++) {
			assert_int_equal(
				hyphae_unsubscribe_parallel_wait(sub[i]), 0);
			assert_int_equal(w[i]->ends, 0);
			expect_sound(w[i]);
			free(w[i]);
			assert_int_equal(hyphae_unsubscribe_parallel(sub[i]),
					 -ESTALE);
		}
		join(setter);
		hyphae_int64_set(cell, 0);
	}
	assert_int_equal(value(cell), 0);
	assert_int_equal(hyphae_pool_free(pool), 0);
	end_graph(graph, 1, 0);
}

/* The pool, or the graph, goes while others set. */
static void freed_while_others_set(void **state)
{
	unsigned long long seed = test_seed(9);

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
		struct hyphae_pool *pool = hyphae_pool_new(2);
		struct worker w[5];
		pthread_t setter;

		WATCH();
		memset(w, 0, sizeof(w));
		for (int i = 0; i < 5; i++)
			hyphae_subscribe_parallel(pool, cell, work, &w[i],
						  work_dropped, NULL);
		start(&setter, set_many, cell);
		for (unsigned int i = 0; i < (seed + round * 11) % 50; i++)
			sched_yield();
		if (round % 2) {
			join(setter);
			assert_int_equal(hyphae_graph_free(graph), 0);
			assert_int_equal(hyphae_pool_free(pool), 0);
		} else {
			assert_int_equal(hyphae_pool_free(pool), 0);
			join(setter);
			end_graph(graph, 1, 0);
		}
		for (int i = 0; i < 5; i++) {
			expect_sound(&w[i]);
			assert_int_equal(w[i].ends, 1);
			assert_int_equal(w[i].code, -ECANCELED);
		}
	}
	alarm(0);
}

static void strings_on_other_threads(void **state)
{
	(void)state;
	WATCH();
	EACH_KIND(kind)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *cell = hyphae_string_new(graph, "moss");
		struct hyphae_pool *pool = hyphae_pool_new(2);
		struct worker w[3];
		char text[16];

		memset(w, 0, sizeof(w));
		for (int i = 0; i < 3; i++)
			hyphae_subscribe_parallel(pool, cell, work, &w[i],
						  work_dropped, NULL);
		for (int i = 0; i < 300; i++) {
			snprintf(text, sizeof(text), "s%d", i);
			assert_int_equal(hyphae_string_set(cell, text), 0);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(hyphae_pool_free(pool), 0);
		for (int i = 0; i < 3; i++)
			expect_sound(&w[i]);
		assert_int_equal(hy_alloc_live(), live);
	}
	alarm(0);
}

static void bad_input(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_pool *pool = hyphae_pool_new(1), *gone;
	struct hyphae_parallel_counts counts;
	struct hyphae_parallel *sub;
	struct worker w = {.result = 0};
	const struct {
		struct hyphae_cell *cell;
		hyphae_subscriber_fn fn;
		struct hyphae_parallel_options options;
		int error;
	} bad[] = {
		{NULL, work, {0}, EINVAL},
		{stale_cell(), work, {0}, ESTALE},
		{cell, NULL, {0}, EINVAL},
		{cell, work, {.capacity = SIZE_MAX}, EINVAL},
		{cell, work, {.policy = HYPHAE_OVERFLOW_BLOCK}, EINVAL},
		{cell, work, {.policy = (enum hyphae_overflow)9}, EINVAL},
		{cell, work, {.flags = HYPHAE_ONCE}, EINVAL},
	};

	(void)state;
	WATCH();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_null(hyphae_subscribe_parallel(
			pool, bad[i].cell, bad[i].fn, &w, work_dropped,
			&bad[i].options));
		assert_int_equal(errno, bad[i].error);
		assert_int_equal(w.dropped, i + 1);
	}
	assert_null(hyphae_pool_new(0));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_pool_new(HYPHAE_POOL_THREADS_MAX + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(
		hyphae_subscribe_parallel(NULL, cell, work, &w, NULL, NULL));
	assert_int_equal(errno, EINVAL);
	gone = hyphae_pool_new(1);
	assert_int_equal(hyphae_pool_free(gone), 0);
	assert_null(
		hyphae_subscribe_parallel(gone, cell, work, &w, NULL, NULL));
	assert_int_equal(errno, ESTALE);
	assert_int_equal(hyphae_pool_on_problem(gone, NULL, NULL), -ESTALE);
	assert_int_equal(hyphae_pool_on_problem(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(hyphae_pool_free(NULL), 0);
	sub = hyphae_subscribe_parallel(pool, cell, work, &w, NULL, NULL);
	assert_int_equal(hyphae_parallel_counts(sub, NULL), -EINVAL);
	assert_int_equal(hyphae_unsubscribe_parallel_wait(sub), 0);
	assert_int_equal(hyphae_unsubscribe_parallel_wait(sub), -ESTALE);
	assert_int_equal(hyphae_parallel_counts(sub, &counts), -ESTALE);
	assert_int_equal(hyphae_parallel_counts(NULL, &counts), -EINVAL);
	assert_int_equal(hyphae_unsubscribe_parallel(NULL), 0);
	assert_int_equal(hyphae_unsubscribe_parallel_wait(NULL), 0);
	assert_int_equal(hyphae_pool_free(pool), 0);
	end_graph(graph, 1, 0);
}

static void no_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts counts;

	(void)state;
	WATCH();
	OOM_SWEEP(n)
	{
		struct worker w = {.result = 0};
		struct hyphae_pool *pool = hyphae_pool_new(1);
		struct hyphae_parallel *sub =
			pool ? hyphae_subscribe_parallel(pool, cell, work, &w,
							 work_dropped, NULL)
			     : NULL;

		OOM_PAUSE();
		if (!n)
			assert_non_null(sub);
		if (!sub)
			assert_int_equal(errno, ENOMEM);
		assert_int_equal(hyphae_pool_free(pool), 0);
		assert_int_equal(w.dropped, pool != NULL);
		assert_int_equal(w.ends, sub != NULL);
		hyphae_graph_counts(graph, &counts);
		assert_int_equal(counts.subscriptions, 0);
	}
	end_graph(graph, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_with_an_end),
		cmocka_unit_test(side_by_side_and_full),
		cmocka_unit_test(what_subscribers_return),
		cmocka_unit_test(ended_in_its_own_call),
		cmocka_unit_test(the_pool_is_freed_in_a_drop),
		cmocka_unit_test(h03_unsubscribe_races_delivery),
		cmocka_unit_test(freed_while_others_set),
		cmocka_unit_test(strings_on_other_threads),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests_name("thread_pool", tests, NULL, NULL);
}
