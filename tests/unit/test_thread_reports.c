/* SPDX-License-Identifier: MIT */
/*
 * Faults that users of other libraries reported (a09_ and so on) and faults of
 * the Rust crate (rust_), those that take several threads.  Elsewhere:
 *
 *   A09, rust A1  test_thread_basic h02_*, test_thread_effect h02_first_call_*
 *   A10, rust B3  test_thread_basic h01_*, test_thread_stream h01_*
 *   A11, A12      test_thread_callbacks h04_*
 *   A14, A15      test_thread_timing
 *   rust A10      test_thread_pool in_order_with_an_end
 *   rust B11      test_thread_basic h06_*
 *
 * Threads and callbacks write down what they see, the test's thread judges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 300
#else
#define ROUNDS 2000
#endif

static int same(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int first_of(void *ret, const void *const *inputs, size_t count,
		    void *ctx)
{
	(void)count;
	return same(ret, inputs[0], ctx);
}

static int read_cell(void *ret, void *cell)
{
	return hyphae_int64_get(cell, ret);
}

static struct hyphae_cell *follow_inner(const void *value_, void *cell)
{
	(void)value_;
	return cell;
}

/* What one who follows a cell was told last, and how often each kind. */
struct told {
	_Atomic int64_t last;
	_Atomic unsigned int values, ends;
};

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	if (signal->kind != HYPHAE_VALUE) {
		atomic_fetch_add(&told->ends, 1);
		return 0;
	}
	atomic_fetch_add(&told->values, 1);
	told->last = hyphae_int64_of(signal);
	return 0;
}

/* A thread that does one thing in each round, at the same time as the test. */
struct beside {
	pthread_t thread;
	pthread_barrier_t go;
	void (*act)(struct beside *beside);
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	bool over; /* written before the barrier */
	_Atomic unsigned int failures;
};

static void *act_in_rounds(void *ctx)
{
	struct beside *beside = ctx;

	for (;;) {
		pthread_barrier_wait(&beside->go);
		if (beside->over)
			return NULL;
		beside->act(beside);
		pthread_barrier_wait(&beside->go);
	}
}

static void beside_start(struct beside *beside, void (*act)(struct beside *))
{
	memset(beside, 0, sizeof(*beside));
	beside->act = act;
	assert_int_equal(pthread_barrier_init(&beside->go, NULL, 2), 0);
	start(&beside->thread, act_in_rounds, beside);
}

static void meet(struct beside *beside)
{
	pthread_barrier_wait(&beside->go);
}

static void beside_end(struct beside *beside)
{
	beside->over = true;
	meet(beside);
	join(beside->thread);
	pthread_barrier_destroy(&beside->go);
	assert_int_equal(beside->failures, 0);
}

/* ---- A09: whoever joins while the value changes ------------------------------- */

static void set_forty_two(struct beside *beside)
{
	if (hyphae_int64_set(beside->cell, 42) < 0)
		atomic_fetch_add(&beside->failures, 1);
}

/* The ways to make a cell that follows another. */
static struct hyphae_cell *join_as(int way, struct hyphae_graph *graph,
				   struct hyphae_cell *a)
{
	switch (way) {
	case 0:
		return hyphae_map(a, &hyphae_int64, same, NULL);
	case 1:
		return hyphae_combine(&a, 1, &hyphae_int64, first_of, NULL);
	case 2:
		return hyphae_computed(graph, &hyphae_int64, read_cell, a);
	case 3:
		return hyphae_switch_map(a, &hyphae_int64, follow_inner, a);
	case 4:
		return hyphae_merge(&a, 1);
	case 5:
		return hyphae_concat(&a, 1);
	case 6:
		return hyphae_hold(a, NULL, NULL);
	case 7:
		return hyphae_window(a, 1, &hyphae_int64, first_of, NULL);
	default:
		return NULL;
	}
}

static void a09_cells_made_beside_a_set(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct beside beside;

	(void)state;
	WATCH();
	beside_start(&beside, set_forty_two);
	for (int i = 0; i < ROUNDS; i++) {
		struct told told = {0};
		struct hyphae_subscription *s;
		struct hyphae_cell *made;

		beside.cell = hyphae_int64_new(graph, 0);
		meet(&beside);
		made = join_as(i % 8, graph, beside.cell);
		s = hyphae_subscribe(made, write_down, &told);
		meet(&beside);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(value(made), 42);
		assert_int_equal(told.last, 42);
		assert_in_range(told.values, 1, 2);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_cell_unref(made), 0);
		assert_int_equal(hyphae_cell_unref(beside.cell), 0);
	}
	beside_end(&beside);
	end_graph(graph, 0, 0);
}

static void last_of_stream(struct hyphae_stream *stream, int64_t expected)
{
	struct hyphae_item item;
	int64_t last = -1;

	while (hyphae_stream_next(stream, &item) == 1) {
		last = hyphae_int64_of(&item.signal);
		hyphae_item_release(&item);
	}
	assert_int_equal(last, expected);
	assert_int_equal(hyphae_stream_close(stream), 0);
}

/* A lazy cell that wakes, a stream, and a bridge to another graph. */
static void a09_others_that_join_beside_a_set(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_graph *far = hyphae_graph_new(0);
	struct beside beside;

	(void)state;
	WATCH();
	beside_start(&beside, set_forty_two);
	for (int i = 0; i < ROUNDS; i++) {
		struct hyphae_cell *lazy, *bridged;
		struct hyphae_stream *stream;
		struct hyphae_subscription *s;
		struct told told = {0};

		beside.cell = hyphae_int64_new(graph, 0);
		lazy = join_as(i % 8, graph, beside.cell);
		assert_int_equal(hyphae_cell_set_lazy(lazy), 0);
		meet(&beside);
		s = hyphae_subscribe(lazy, write_down, &told);
		stream = hyphae_stream_new(beside.cell, 4, HYPHAE_OVERFLOW_FAIL,
					   0);
		bridged = hyphae_bridge(beside.cell, far);
		meet(&beside);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(hyphae_settle(far), 0);
		assert_int_equal(told.last, 42);
		last_of_stream(stream, 42);
		assert_int_equal(value(bridged), 42);
		assert_int_equal(hyphae_cell_unref(bridged), 0);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_cell_unref(lazy), 0);
		assert_int_equal(hyphae_cell_unref(beside.cell), 0);
	}
	beside_end(&beside);
	assert_int_equal(hyphae_graph_free(far), 0);
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	alarm(0);
}

/* ---- A10: the last one told is the value that is held --------------------------- */

enum { WRITERS = 4 };

struct writers {
	struct hyphae_cell *a;
	_Atomic int64_t number;
	_Atomic unsigned int failures;
};

static void *write_numbers(void *ctx)
{
	struct writers *writers = ctx;

	for (int i = 0; i < ROUNDS; i++)
		if (hyphae_int64_set(writers->a,
				     atomic_fetch_add(&writers->number, 1)) < 0)
			atomic_fetch_add(&writers->failures, 1);
	return NULL;
}

static void a10_all_agree_in_the_end(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_graph *far = hyphae_graph_new(0);
	struct writers writers = {.a = hyphae_int64_new(graph, -1)};
	struct hyphae_cell *made[8], *bridged;
	struct told told[8] = {0}, far_told = {0};
	struct hyphae_stream *stream;
	pthread_t threads[WRITERS];
	int64_t last;

	(void)state;
	WATCH();
	for (int i = 0; i < 8; i++) {
		made[i] = join_as(i, graph, writers.a);
		assert_non_null(
			hyphae_subscribe(made[i], write_down, &told[i]));
	}
	bridged = hyphae_bridge(writers.a, far);
	assert_non_null(hyphae_subscribe(bridged, write_down, &far_told));
	stream = hyphae_stream_new(writers.a, 1, HYPHAE_OVERFLOW_LATEST, 0);
	for (int i = 0; i < WRITERS; i++)
		start(&threads[i], write_numbers, &writers);
	for (int i = 0; i < WRITERS; i++)
		join(threads[i]);
	assert_int_equal(writers.failures, 0);
	last = value(writers.a);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(value(made[i]), last);
		assert_int_equal(told[i].last, last);
	}
	assert_int_equal(value(bridged), last);
	assert_int_equal(far_told.last, last);
	last_of_stream(stream, last);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_graph_free(far), 0);
	alarm(0);
}

/* ---- A11: clean-ups of what is dead already --------------------------------------- */

struct estate {
	struct hyphae_graph *graph;
	struct hyphae_cell *ended, *alive;
	_Atomic unsigned int cleanups, drops, failures, made;
};

/* What this thread makes belongs to a scope, whoever's callback it is in. */
static __thread bool in_scope;

/* It wants the lock of the graph, in several ways. */
static void clean_up(void *ctx)
{
	struct estate *estate = ctx;
	int owned = in_scope ? -ESTALE : 0;
	struct hyphae_cell *c =
		hyphae_map(estate->alive, &hyphae_int64, same, NULL);

	atomic_fetch_add(&estate->cleanups, 1);
	if (!c || hyphae_cell_unref(c) != owned ||
	    hyphae_int64_set(estate->alive, atomic_load(&estate->made)) < 0)
		atomic_fetch_add(&estate->failures, 1);
}

static void give_up(void *ctx)
{
	struct estate *estate = ctx;

	atomic_fetch_add(&estate->drops, 1);
}

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void *add_to_the_dead(void *ctx)
{
	struct estate *estate = ctx;
	struct hyphae_subscription_options options = {.fn = hear,
						      .ctx = estate,
						      .drop = give_up,
						      .cleanup = clean_up};

	for (int i = 0; i < ROUNDS; i++) {
		struct hyphae_scope *scope = hyphae_scope_new(estate->graph);

		/* Over as soon as it is made; in a scope that goes; refused. */
		atomic_fetch_add(&estate->made, 2);
		hyphae_unsubscribe(
			hyphae_subscribe_options(estate->ended, &options));
		hyphae_scope_enter(scope);
		in_scope = true;
		hyphae_subscribe_options(estate->alive, &options);
		in_scope = false;
		hyphae_scope_leave(scope);
		hyphae_scope_on_dispose(scope, clean_up, estate);
		if (hyphae_scope_dispose(scope) != 0 ||
		    hyphae_scope_on_dispose(scope, clean_up, estate) != -ESTALE)
			atomic_fetch_add(&estate->failures, 1);
	}
	return NULL;
}

static void a11_clean_ups_of_the_dead(void **state)
{
	struct estate estate = {.graph = hyphae_graph_new(0)};
	pthread_t threads[3];

	(void)state;
	WATCH();
	estate.alive = hyphae_int64_new(estate.graph, -1);
	estate.ended = hyphae_int64_new(estate.graph, 0);
	assert_int_equal(hyphae_cell_complete(estate.ended), 0);
	for (int i = 0; i < 3; i++)
		start(&threads[i], add_to_the_dead, &estate);
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	assert_int_equal(estate.failures, 0);
	assert_int_equal(hyphae_settle(estate.graph), 0);
	assert_int_equal(estate.drops, 2 * 3 * ROUNDS);
	/* One for each call: two of the ended one, which has a value too. */
	assert_true(estate.cleanups >= 3 * 3 * ROUNDS);
	end_graph(estate.graph, 2, 0);
}

/* ---- A12: first calls and first computations, two at a time ------------------------- */

static pthread_barrier_t both_inside;

static int meet_in_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	pthread_barrier_wait(&both_inside);
	return 0;
}

static int meet_in_map(void *ret, const void *input, void *ctx)
{
	pthread_barrier_wait(&both_inside);
	return same(ret, input, ctx);
}

static void *first_call_and_computation(void *cell)
{
	struct hyphae_cell *c;
	struct hyphae_subscription *s;

	s = hyphae_subscribe_with(cell, meet_in_call, NULL, NULL, HYPHAE_ONCE);
	c = hyphae_map(cell, &hyphae_int64, meet_in_map, NULL);
	hyphae_cell_unref(c);
	return s;
}

/* If a lock were held they would wait for each other for ever. */
static void a12_first_calls_side_by_side(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_cell *b = hyphae_map(a, &hyphae_int64, same, NULL);
	pthread_t threads[2];

	(void)state;
	WATCH();
	assert_int_equal(pthread_barrier_init(&both_inside, NULL, 2), 0);
	for (int i = 0; i < 50; i++) {
		start(&threads[0], first_call_and_computation, a);
		start(&threads[1], first_call_and_computation, i % 2 ? a : b);
		join(threads[0]);
		join(threads[1]);
	}
	pthread_barrier_destroy(&both_inside);
	end_graph(graph, 2, 0);
}

/* ---- A14, A15: timers that are let go of beside their clock ---------------------------- */

struct ticking {
	struct hyphae_clock *clock;
	_Atomic bool over;
	_Atomic unsigned int failures, rounds, calls, drops;
};

static void *let_time_pass(void *ctx)
{
	struct ticking *t = ctx;

	while (!t->over) {
		int r = hyphae_clock_advance(t->clock, 1);

		if (r && r != -EBUSY)
			atomic_fetch_add(&t->failures, 1);
		atomic_fetch_add(&t->rounds, 1);
	}
	return NULL;
}

static void time_begin(struct ticking *t, struct hyphae_graph *graph,
		       pthread_t *thread)
{
	memset(t, 0, sizeof(*t));
	t->clock = hyphae_clock_new_virtual(0);
	assert_int_equal(hyphae_graph_set_clock(graph, t->clock), 0);
	start(thread, let_time_pass, t);
}

static void time_end(struct ticking *t, pthread_t thread)
{
	t->over = true;
	join(thread);
	assert_int_equal(t->failures, 0);
	assert_int_equal(hyphae_clock_unref(t->clock), 0);
}

struct bomb {
	struct ticking *ticking;
	unsigned char canary[32];
};

static int bomb_tick(const struct hyphae_timer_event *event, void *ctx)
{
	struct bomb *bomb = ctx;

	(void)event;
	atomic_fetch_add(&bomb->ticking->calls, 1);
	for (size_t i = 0; i < sizeof(bomb->canary); i++)
		if (bomb->canary[i] != 0x77)
			atomic_fetch_add(&bomb->ticking->failures, 1);
	return 0;
}

static void bomb_drop(void *ctx)
{
	struct bomb *bomb = ctx;

	atomic_fetch_add(&bomb->ticking->drops, 1);
	memset(bomb, 0, sizeof(*bomb));
	free(bomb);
}

static void a14_timers_stopped_at_once(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct ticking t;
	pthread_t thread;

	(void)state;
	WATCH();
	time_begin(&t, graph, &thread);
	for (int i = 0; i < ROUNDS; i++) {
		struct bomb *bomb = malloc(sizeof(*bomb));
		struct hyphae_timer *timer;

		assert_non_null(bomb);
		bomb->ticking = &t;
		memset(bomb->canary, 0x77, sizeof(bomb->canary));
		timer = hyphae_timer_start(graph, i % 3, i % 2, bomb_tick, bomb,
					   bomb_drop);
		if (i % 5 == 0)
			sched_yield();
		/* One that is called once may have been. */
		hyphae_timer_stop(timer);
	}
	time_end(&t, thread);
	assert_int_equal(t.drops, ROUNDS);
	end_graph(graph, 0, 0);
}

static int next_number(void *ret, void *ctx)
{
	struct ticking *t = ctx;

	*(int64_t *)ret = atomic_fetch_add(&t->calls, 1);
	return 1;
}

static void wait_for_rounds(struct ticking *t, unsigned int count)
{
	unsigned int from = t->rounds;

	while (t->rounds - from < count)
		sched_yield();
}

/* The end of who listens reaches the timer, through what lies between. */
static void a15_producers_stop(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct ticking t;
	pthread_t thread;

	(void)state;
	WATCH();
	time_begin(&t, graph, &thread);
	for (int i = 0; i < 50; i++) {
		struct told told = {0};
		struct hyphae_cell *from = hyphae_from_iterator(
			graph, &hyphae_int64, 1, next_number, &t);
		struct hyphae_cell *above = join_as(i % 8, graph, from);
		struct hyphae_subscription *s;
		unsigned int calls;

		/* Made beside a wave, it follows when that is over. */
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(hyphae_cell_unref(from), 0);
		s = hyphae_subscribe(above, write_down, &told);
		assert_int_equal(hyphae_cell_unref(above), 0);
		wait_for_rounds(&t, 3);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		calls = t.calls;
		wait_for_rounds(&t, 20);
		assert_int_equal(t.calls, calls);
	}
	time_end(&t, thread);
	end_graph(graph, 0, 0);
}

/* ---- the Rust crate -------------------------------------------------------------------- */

struct cascade {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[2 * 64];
	pthread_barrier_t go;
	_Atomic unsigned int drops, failures;
};

struct link {
	struct cascade *cascade;
	struct hyphae_cell *next;
};

static void drop_link(void *ctx)
{
	struct link *link = ctx;

	atomic_fetch_add(&link->cascade->drops, 1);
	if (link->next && hyphae_cell_unref(link->next) != 0)
		atomic_fetch_add(&link->cascade->failures, 1);
	free(link);
}

static void cascade_fill(struct cascade *c)
{
	for (int i = 0; i < 128; i++)
		c->cells[i] = hyphae_int64_new(c->graph, i);
	/* Each owns a reference to the next, which is the other thread's. */
	for (int i = 0; i < 126; i++) {
		struct link *link = malloc(sizeof(*link));

		assert_non_null(link);
		link->cascade = c;
		link->next = hyphae_cell_ref(c->cells[i + 1]);
		assert_int_equal(hyphae_cell_own(c->cells[i], link, drop_link),
				 0);
	}
}

static void *release_even(void *ctx)
{
	struct cascade *c = ctx;

	pthread_barrier_wait(&c->go);
	for (int i = 0; i < 128; i += 2)
		if (hyphae_cell_unref(c->cells[i]) != 0)
			atomic_fetch_add(&c->failures, 1);
	return NULL;
}

static void rust_a2_releases_that_cascade(void **state)
{
	struct cascade c = {.graph = hyphae_graph_new(0)};

	(void)state;
	WATCH();
	assert_int_equal(pthread_barrier_init(&c.go, NULL, 2), 0);
	for (int round = 0; round < ROUNDS / 10; round++) {
		pthread_t thread;

		c.drops = 0;
		cascade_fill(&c);
		start(&thread, release_even, &c);
		pthread_barrier_wait(&c.go);
		for (int i = 127; i > 0; i -= 2)
			assert_int_equal(hyphae_cell_unref(c.cells[i]), 0);
		join(thread);
		assert_int_equal(hyphae_settle(c.graph), 0);
		assert_int_equal(c.drops, 126);
		assert_int_equal(c.failures, 0);
	}
	pthread_barrier_destroy(&c.go);
	end_graph(c.graph, 0, 0);
}

static int add(void *ret, const void *acc, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)input;
	return 0;
}

struct emitter {
	struct hyphae_graph *graph;
	struct hyphae_cell *own, *shared;
	int64_t own_sum, shared_sum;
	unsigned int failures;
};

static void emit(struct emitter *e, struct hyphae_cell *cell, int64_t number,
		 int64_t *sum)
{
	int r = hyphae_int64_set(cell, number);

	if (r == 0)
		*sum += number;
	else if (r != -EAGAIN) /* too many wait: not told, and said so */
		e->failures++;
}

static void *emit_in_batches(void *ctx)
{
	struct emitter *e = ctx;

	for (int i = 1; i <= ROUNDS; i++) {
		if (hyphae_batch_begin(e->graph) != 0)
			e->failures++;
		emit(e, e->own, i, &e->own_sum);
		emit(e, e->shared, 3, &e->shared_sum);
		emit(e, e->shared, 5, &e->shared_sum);
		if (hyphae_batch_end(e->graph) != 0)
			e->failures++;
	}
	return NULL;
}

/* Nothing is lost or doubled on the way through what both share. */
static void rust_a9_batches_of_two_threads(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *own[2], *shared, *merged, *sum, *total;
	struct emitter emitters[2];
	pthread_t threads[2];
	const int64_t zero = 0;

	(void)state;
	WATCH();
	shared = hyphae_event_new(graph, &hyphae_int64);
	for (int i = 0; i < 2; i++)
		own[i] = hyphae_event_new(graph, &hyphae_int64);
	merged = hyphae_merge(own, 2);
	sum = hyphae_scan(merged, &hyphae_int64, &zero, add, NULL);
	total = hyphae_scan(shared, &hyphae_int64, &zero, add, NULL);
	for (int i = 0; i < 2; i++) {
		emitters[i] = (struct emitter){graph, own[i], shared, 0, 0, 0};
		start(&threads[i], emit_in_batches, &emitters[i]);
	}
	for (int i = 0; i < 2; i++) {
		join(threads[i]);
		assert_int_equal(emitters[i].failures, 0);
	}
	assert_int_equal(hyphae_settle(graph), 0);
	assert_int_equal(value(sum), emitters[0].own_sum + emitters[1].own_sum);
	assert_int_equal(value(total),
			 emitters[0].shared_sum + emitters[1].shared_sum);
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	alarm(0);
}

static void complete_it(struct beside *beside)
{
	if (hyphae_cell_complete(beside->cell) != 0)
		atomic_fetch_add(&beside->failures, 1);
}

/* Both inputs end at the same time, each on a thread of its own. */
static void rust_a18_ended_by_two_threads(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct beside beside;

	(void)state;
	WATCH();
	beside_start(&beside, complete_it);
	for (int i = 0; i < ROUNDS; i++) {
		struct hyphae_cell *a = hyphae_int64_new(graph, 1), *b, *c;
		struct hyphae_cell *in[2] = {a, hyphae_int64_new(graph, 2)};
		struct told told = {0};

		b = beside.cell = in[1];
		c = i % 5 == 0	 ? hyphae_merge(in, 2)
		    : i % 5 == 1 ? hyphae_combine(in, 2, &hyphae_int64,
						  first_of, NULL)
		    : i % 5 == 2 ? hyphae_switch_map(a, &hyphae_int64,
						     follow_inner, b)
		    : i % 5 == 3 ? hyphae_merge_map(a, &hyphae_int64, 2,
						    follow_inner, b)
				 : hyphae_concat(in, 2);
		assert_non_null(hyphae_subscribe(c, write_down, &told));
		meet(&beside);
		assert_int_equal(hyphae_cell_complete(a), 0);
		meet(&beside);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(told.ends, 1);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(hyphae_cell_unref(c), 0);
	}
	beside_end(&beside);
	end_graph(graph, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a09_cells_made_beside_a_set),
		cmocka_unit_test(a09_others_that_join_beside_a_set),
		cmocka_unit_test(a10_all_agree_in_the_end),
		cmocka_unit_test(a11_clean_ups_of_the_dead),
		cmocka_unit_test(a12_first_calls_side_by_side),
		cmocka_unit_test(a14_timers_stopped_at_once),
		cmocka_unit_test(a15_producers_stop),
		cmocka_unit_test(rust_a2_releases_that_cascade),
		cmocka_unit_test(rust_a9_batches_of_two_threads),
		cmocka_unit_test(rust_a18_ended_by_two_threads),
	};

	return cmocka_run_group_tests_name("reports, threads", tests, NULL,
					   NULL);
}
