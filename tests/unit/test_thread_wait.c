/* SPDX-License-Identifier: MIT */
/*
 * Waiting for one another: H-03, the end of a call under way; H-08, who
 * propagates for the others.  Threads and callbacks only write down what they
 * see; each says when it has come somewhere, and waits to be sent on.
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
#include <stdio.h>
#include <stdlib.h>

#include <hyphae/hyphae.h>

#include "core/drain.h"
#include "core/post.h"
#include "threads.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 1009
#else
#define ROUNDS 10007
#endif

static void until(const _Atomic bool *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

/* What a test may know about a graph only from inside. */
static bool peek(struct hyphae_graph *graph,
		 bool (*question)(const struct hy_graph *g))
{
	struct hy_graph *g = hy_graph(graph);
	bool answer;

	hy_lock(g);
	answer = question(g);
	hy_unlock(g);
	return answer;
}

static bool waits_for_call(const struct hy_graph *g)
{
	return g->call_waiters == 1;
}

static bool has_heir(const struct hy_graph *g)
{
	return g->heir;
}

static void until_graph(struct hyphae_graph *graph,
			bool (*question)(const struct hy_graph *g))
{
	while (!peek(graph, question))
		sched_yield();
}

/* ---- a subscriber that stays inside until it is let go ---------------------- */

struct gate {
	_Atomic bool inside, go_on, left;
	unsigned int calls;
	struct hyphae_subscription *s;
	int result;
	bool was_inside; /* when the waiting was over */
};

/* Stays inside of every call with a value that is not 0. */
static int pass_gate(const struct hyphae_signal *signal, void *ctx)
{
	struct gate *gate = ctx;

	gate->calls++;
	if (!hyphae_int64_of(signal))
		return 0;
	gate->inside = true;
	until(&gate->go_on);
	gate->left = true;
	return 0;
}

static void *set_one(void *ctx)
{
	hyphae_int64_set(ctx, 1);
	return NULL;
}

static void *unsubscribe_wait(void *ctx)
{
	struct gate *gate = ctx;

	gate->result = hyphae_unsubscribe_wait(gate->s);
	gate->was_inside = !gate->left;
	return NULL;
}

static void h03_waits_for_the_call(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct gate gate = {.result = -1};
	pthread_t setter, waiter;

	(void)state;
	WATCH();
	gate.s = hyphae_subscribe(a, pass_gate, &gate);
	start(&setter, set_one, a);
	until(&gate.inside);
	start(&waiter, unsubscribe_wait, &gate);
	until_graph(graph, waits_for_call);
	assert_int_equal(hyphae_subscription_id(gate.s), 0); /* it is ended */
	gate.go_on = true;
	join(waiter);
	join(setter);
	assert_int_equal(gate.result, 0);
	assert_false(gate.was_inside);
	assert_int_equal(hyphae_int64_set(a, 2), 0);
	assert_int_equal(gate.calls, 2);
	end_graph(graph, 1, 0);
}

/* The same for one that was ended without waiting. */
static void h03_waits_though_ended(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct gate gate = {.result = -1};
	pthread_t setter, waiter;

	(void)state;
	WATCH();
	gate.s = hyphae_subscribe(a, pass_gate, &gate);
	start(&setter, set_one, a);
	until(&gate.inside);
	assert_int_equal(hyphae_unsubscribe(gate.s), 0);
	start(&waiter, unsubscribe_wait, &gate);
	until_graph(graph, waits_for_call);
	gate.go_on = true;
	join(waiter);
	join(setter);
	assert_int_equal(gate.result, -ESTALE);
	assert_false(gate.was_inside);
	end_graph(graph, 1, 0);
}

/* Not for the wave: the next subscriber of it waits for the waiter. */
static void h03_only_for_the_call(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct gate first = {.result = -1}, second = {.result = -1};
	pthread_t setter, waiter;

	(void)state;
	WATCH();
	first.s = hyphae_subscribe(a, pass_gate, &first);
	second.s = hyphae_subscribe(a, pass_gate, &second);
	start(&setter, set_one, a);
	until(&first.inside);
	start(&waiter, unsubscribe_wait, &first);
	until_graph(graph, waits_for_call);
	first.go_on = true;
	join(waiter); /* while the second is inside, or not yet */
	assert_int_equal(first.result, 0);
	assert_false(first.was_inside);
	until(&second.inside);
	/* Its call is long over. */
	assert_int_equal(hyphae_unsubscribe_wait(first.s), -ESTALE);
	second.go_on = true;
	join(setter);
	assert_int_equal(hyphae_unsubscribe_wait(second.s), 0);
	assert_int_equal(hyphae_unsubscribe_wait(second.s), -ESTALE);
	end_graph(graph, 1, 0);
}

/* One whose turn has not come is just ended. */
static void h03_not_for_others(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct gate first = {.result = -1}, second = {.result = -1};
	pthread_t setter;

	(void)state;
	WATCH();
	first.s = hyphae_subscribe(a, pass_gate, &first);
	second.s = hyphae_subscribe(a, pass_gate, &second);
	start(&setter, set_one, a);
	until(&first.inside);
	assert_int_equal(hyphae_unsubscribe_wait(second.s), 0);
	first.go_on = true;
	join(setter);
	assert_int_equal(second.calls, 1);
	assert_int_equal(hyphae_unsubscribe_wait(first.s), 0);
	end_graph(graph, 1, 0);
}

/* ---- from inside of the call --------------------------------------------------- */

struct detour {
	struct hyphae_cell *other; /* of another graph; or NULL */
	struct hyphae_subscription *s;
	unsigned int calls;
	int result;
};

static int end_it(const struct hyphae_signal *signal, void *ctx)
{
	struct detour *d = ctx;

	if (hyphae_int64_of(signal))
		d->result = hyphae_unsubscribe_wait(d->s);
	return 0;
}

static int end_itself(const struct hyphae_signal *signal, void *ctx)
{
	struct detour *d = ctx;

	d->calls++;
	if (d->other && hyphae_int64_of(signal))
		hyphae_int64_set(d->other, hyphae_int64_of(signal));
	return d->other ? 0 : end_it(signal, ctx);
}

static void from_inside(unsigned int flags, unsigned int other_flags)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct hyphae_graph *other = hyphae_graph_new(other_flags);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct detour d = {.result = -1};

	d.s = hyphae_subscribe(a, end_itself, &d);
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(d.result, 0);
	assert_int_equal(hyphae_int64_set(a, 2), 0);
	assert_int_equal(d.calls, 2);
	/* Now through a subscriber of another graph. */
	d.other = hyphae_int64_new(other, 0);
	d.s = hyphae_subscribe(d.other, end_it, &d);
	assert_int_equal(hyphae_unsubscribe_wait(d.s), 0);
	assert_non_null(hyphae_subscribe(d.other, end_it, &d));
	d.result = -1;
	d.s = hyphae_subscribe_with(a, end_itself, &d, NULL,
				    HYPHAE_SKIP_INITIAL);
	assert_int_equal(hyphae_int64_set(a, 3), 0);
	assert_int_equal(d.result, 0);
	assert_int_equal(d.calls, 3);
	assert_int_equal(hyphae_graph_free(other), 0);
	end_graph(graph, 1, 0);
}

static void h03_from_inside(void **state)
{
	(void)state;
	WATCH();
	from_inside(0, 0);
	WATCH();
	from_inside(0, HYPHAE_SINGLE_THREAD);
	WATCH();
	from_inside(HYPHAE_SINGLE_THREAD, 0);
	WATCH();
	from_inside(HYPHAE_EAGER, HYPHAE_EAGER);
}

/* The call of one ends another, on the same thread. */
static void h03_of_another_in_the_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct detour d = {.result = -1};
	struct gate later = {.go_on = true};

	(void)state;
	WATCH();
	assert_non_null(hyphae_subscribe(a, end_it, &d));
	d.s = hyphae_subscribe(a, pass_gate, &later);
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(d.result, 0);
	assert_int_equal(later.calls, 1);
	assert_int_equal(hyphae_unsubscribe_wait(NULL), 0);
	end_graph(graph, 1, 1);
}

/* ---- H-03: the context is freed at once, again and again ------------------------ */

#define ALIVE 0x600d

struct context {
	int magic;
	struct busy *busy;
};

struct busy {
	struct hyphae_cell *a;
	_Atomic bool over;
	_Atomic unsigned int dead_calls;
};

static int use_context(const struct hyphae_signal *signal, void *ctx)
{
	struct context *context = ctx;

	(void)signal;
	if (context->magic != ALIVE)
		atomic_fetch_add(&context->busy->dead_calls, 1);
	return 0;
}

static void *keep_setting(void *ctx)
{
	struct busy *busy = ctx;

	for (int64_t n = 1; !busy->over; n++)
		hyphae_int64_set(busy->a, n);
	return NULL;
}

static void context_is_free(unsigned int flags)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct busy busy = {.a = hyphae_int64_new(graph, 0)};
	pthread_t threads[3];
	int errors = 0;

	for (int i = 0; i < 3; i++)
		start(&threads[i], keep_setting, &busy);
	for (int i = 0; i < ROUNDS; i++) {
		struct context *context = malloc(sizeof(*context));
		struct hyphae_subscription *s;

		*context = (struct context){ALIVE, &busy};
		s = hyphae_subscribe(busy.a, use_context, context);
		errors += !s;
		errors += hyphae_unsubscribe_wait(s) != 0;
		context->magic = 0; /* no lock on purpose */
		free(context);
	}
	busy.over = true;
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	assert_int_equal(errors, 0);
	assert_int_equal(busy.dead_calls, 0);
	end_graph(graph, 1, 0);
}

static void h03_context_is_free(void **state)
{
	(void)state;
	WATCH();
	context_is_free(0);
	WATCH();
	context_is_free(HYPHAE_EAGER);
}

/* ---- H-08: one writer does not drain for ever ------------------------------------ */

static int default_hand_over(void **state)
{
	(void)state;
	hy_hand_over_waves = 64;
	hy_hand_over_ms = 100;
	return 0;
}

#define WRITERS 7

struct storm {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[WRITERS + 1];
	_Atomic bool over;
	_Atomic unsigned int next, refused;
	_Atomic unsigned int most; /* waves within one set */
	_Atomic unsigned long all;
	int64_t last;
};

static _Thread_local unsigned int my_waves;

static int64_t total(struct storm *storm)
{
	int64_t sum = 0;

	for (int i = 0; i <= WRITERS; i++)
		sum += value(storm->cells[i]);
	return sum;
}

static int sum_all(void *ret, const void *const *inputs, size_t count,
		   void *ctx)
{
	int64_t sum = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	*(int64_t *)ret = sum;
	return 0;
}

/* Others come to their turn in each wave. */
static int count_wave(const struct hyphae_signal *signal, void *ctx)
{
	struct storm *storm = ctx;

	storm->last = hyphae_int64_of(signal);
	storm->all++;
	my_waves++;
	sched_yield();
	return 0;
}

static void set_and_count(struct storm *storm, unsigned int me, int64_t n)
{
	unsigned int most = storm->most;

	my_waves = 0;
	sched_yield(); /* a mutex is not fair: the drainer wants it, too */
	if (hyphae_int64_set(storm->cells[me], n) < 0)
		storm->refused++;
	while (my_waves > most &&
	       !atomic_compare_exchange_weak(&storm->most, &most, my_waves))
		;
}

static void *write_without_pause(void *ctx)
{
	struct storm *storm = ctx;
	unsigned int me = atomic_fetch_add(&storm->next, 1);

	for (int64_t n = 1; !storm->over; n++)
		set_and_count(storm, me, n);
	return NULL;
}

static void h08_bounded(void **state)
{
	struct storm storm = {.graph = hyphae_graph_new(0)};
	pthread_t threads[WRITERS];
	struct hyphae_cell *sum;

	(void)state;
	WATCH();
	hy_hand_over_ms = 1000 * TOO_LONG; /* nobody gives up */
	for (int i = 0; i <= WRITERS; i++)
		storm.cells[i] = hyphae_int64_new(storm.graph, 0);
	sum = hyphae_combine(storm.cells, WRITERS + 1, &hyphae_int64, sum_all,
			     NULL);
	assert_non_null(hyphae_subscribe(sum, count_wave, &storm));
	for (int i = 0; i < WRITERS; i++)
		start(&threads[i], write_without_pause, &storm);
	for (int64_t n = 1; storm.all < ROUNDS; n++)
		set_and_count(&storm, WRITERS, n);
	storm.over = true;
	for (int i = 0; i < WRITERS; i++)
		join(threads[i]);
	assert_int_equal(storm.refused, 0);
	/* Its own wave, and those for others. */
	assert_in_range(storm.most, 1, 1 + 64);
	assert_int_equal(storm.last, total(&storm));
	printf("at most %u waves in a set, of %lu in all\n", storm.most,
	       storm.all);
	end_graph(storm.graph, WRITERS + 2, 1);
}

/* ---- step by step ---------------------------------------------------------------- */

enum way { BY_SET, BY_BATCH, BY_DISPATCH };

struct relay {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;
	enum way way;
	pthread_t by[8]; /* who ran the wave of this value */
	_Atomic bool inside[8], go_on[8], returned[8];
	int fails_at;
	unsigned int calls;
	int64_t seen[8];
};

static int hold_on(const struct hyphae_signal *signal, void *ctx)
{
	struct relay *relay = ctx;
	int64_t n = hyphae_int64_of(signal);

	relay->by[n] = pthread_self();
	relay->seen[relay->calls++] = n;
	relay->inside[n] = true;
	until(&relay->go_on[n]);
	return n == relay->fails_at ? -EIO : 0;
}

struct runner {
	struct relay *relay;
	pthread_t thread;
	int64_t n;
	int result;
};

static int write_in_a_way(struct relay *relay, int64_t n)
{
	switch (relay->way) {
	case BY_BATCH:
		hyphae_batch_begin(relay->graph);
		hyphae_int64_set(relay->a, n);
		return hyphae_batch_end(relay->graph);
	case BY_DISPATCH:
		hyphae_int64_post(relay->a, n);
		return hy_posts_flush(hy_graph(relay->graph));
	default:
		return hyphae_int64_set(relay->a, n);
	}
}

static void *run_runner(void *ctx)
{
	struct runner *runner = ctx;

	runner->result =
		runner->n == 3 ? write_in_a_way(runner->relay, 3)
			       : hyphae_int64_set(runner->relay->a, runner->n);
	runner->relay->returned[runner->n] = true;
	return NULL;
}

static void relay_begin(struct relay *relay, struct runner runners[4])
{
	relay->graph = hyphae_graph_new(0);
	relay->a = hyphae_int64_new(relay->graph, 0);
	relay->go_on[0] = true;
	assert_non_null(hyphae_subscribe(relay->a, hold_on, relay));
	for (int n = 1; n < 4; n++)
		runners[n] = (struct runner){.relay = relay, .n = n};
	start(&runners[1].thread, run_runner, &runners[1]);
	until(&relay->inside[1]);
	/* The drainer is fresh: a write is left to it, and its writer goes. */
	start(&runners[2].thread, run_runner, &runners[2]);
	join(runners[2].thread);
	relay->go_on[1] = true;
	until(&relay->inside[2]);
	/* It has run a wave for somebody else: the next waits to be heir. */
	start(&runners[3].thread, run_runner, &runners[3]);
}

static void hands_over(enum way way, int fails_at)
{
	struct relay relay = {.way = way, .fails_at = fails_at};
	struct runner runners[4];

	WATCH();
	hy_hand_over_waves = 1;
	hy_hand_over_ms = 1000 * TOO_LONG;
	relay_begin(&relay, runners);
	until_graph(relay.graph, has_heir);
	assert_int_equal(hyphae_graph_check_idle(relay.graph), -EBUSY);
	relay.go_on[2] = true;
	join(runners[1].thread); /* though the next wave is held up */
	until(&relay.inside[3]);
	assert_false(relay.returned[3]);
	assert_int_equal(hyphae_graph_free(relay.graph), -EBUSY);
	relay.go_on[3] = true;
	join(runners[3].thread);
	assert_true(pthread_equal(relay.by[1], runners[1].thread));
	assert_true(pthread_equal(relay.by[2], runners[1].thread));
	assert_true(pthread_equal(relay.by[3], runners[3].thread));
	assert_int_equal(runners[1].result, fails_at == 2 ? -EIO : 0);
	assert_int_equal(runners[2].result, 0);
	assert_int_equal(runners[3].result, fails_at == 3 ? -EIO : 0);
	assert_int_equal(relay.calls, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(relay.seen[i], i);
	end_graph(relay.graph, 1, 1);
}

static void h08_hands_over(void **state)
{
	(void)state;
	hands_over(BY_SET, 0);
	hands_over(BY_BATCH, 0);
	hands_over(BY_DISPATCH, 0);
}

/* An error is told to the thread that ran the wave. */
static void h08_errors(void **state)
{
	(void)state;
	hands_over(BY_SET, 2);
	hands_over(BY_SET, 3);
	hands_over(BY_BATCH, 3);
}

/* H-04: the subscriber waits for the very thread that wants to take over. */
static void h08_gives_up(void **state)
{
	struct relay relay = {.way = BY_SET};
	struct runner runners[4];

	(void)state;
	WATCH();
	hy_hand_over_waves = 1;
	hy_hand_over_ms = 1;
	relay_begin(&relay, runners);
	join(runners[3].thread);
	relay.go_on[2] = relay.go_on[3] = true;
	join(runners[1].thread);
	assert_true(pthread_equal(relay.by[3], runners[1].thread));
	assert_int_equal(relay.calls, 4);
	end_graph(relay.graph, 1, 1);
}

/* A thread that is inside a call itself does not wait. */
struct bridge {
	struct relay *relay;
	int result;
};

static int write_from_a_call(const struct hyphae_signal *signal, void *ctx)
{
	struct bridge *bridge = ctx;

	if (hyphae_int64_of(signal))
		bridge->result = hyphae_int64_set(bridge->relay->a, 4);
	return 0;
}

static void h08_not_inside_a_call(void **state)
{
	struct hyphae_graph *other = hyphae_graph_new(0);
	struct hyphae_cell *b = hyphae_int64_new(other, 0);
	struct relay relay = {.way = BY_SET};
	struct bridge bridge = {&relay, -1};
	struct runner runners[4];

	(void)state;
	WATCH();
	hy_hand_over_waves = 1;
	hy_hand_over_ms = 1000 * TOO_LONG;
	assert_non_null(hyphae_subscribe(b, write_from_a_call, &bridge));
	relay.go_on[4] = true;
	relay_begin(&relay, runners);
	until_graph(relay.graph, has_heir);
	assert_int_equal(hyphae_int64_set(b, 1), 0);
	assert_int_equal(bridge.result, 0);
	/* Nor does one beside an heir: there is one already. */
	assert_int_equal(hyphae_int64_set(relay.a, 4), 0);
	relay.go_on[2] = relay.go_on[3] = true;
	join(runners[1].thread);
	join(runners[3].thread);
	assert_int_equal(value(relay.a), 4);
	assert_true(pthread_equal(relay.by[4], runners[3].thread));
	assert_int_equal(hyphae_graph_free(other), 0);
	end_graph(relay.graph, 1, 1);
}

#define HAND_OVER(fn)                                                          \
	cmocka_unit_test_setup_teardown(fn, NULL, default_hand_over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h03_waits_for_the_call),
		cmocka_unit_test(h03_waits_though_ended),
		cmocka_unit_test(h03_only_for_the_call),
		cmocka_unit_test(h03_not_for_others),
		cmocka_unit_test(h03_from_inside),
		cmocka_unit_test(h03_of_another_in_the_wave),
		cmocka_unit_test(h03_context_is_free),
		HAND_OVER(h08_bounded),
		HAND_OVER(h08_hands_over),
		HAND_OVER(h08_errors),
		HAND_OVER(h08_gives_up),
		HAND_OVER(h08_not_inside_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
