/* SPDX-License-Identifier: MIT */
/*
 * Group H, several threads in one graph: writers, batches, readers, settle, and
 * a graph for each thread.
 */
#include "thread_basic.h"

#define THREADS 8

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
		cmocka_unit_test(h06_two_batches),
		cmocka_unit_test(h06_open_batch_is_private),
		cmocka_unit_test(readers_see_whole_values),
		cmocka_unit_test(value_replaced_under_its_reader),
		cmocka_unit_test(settle_waits),
		cmocka_unit_test(graphs_side_by_side),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
