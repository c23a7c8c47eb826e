/* SPDX-License-Identifier: MIT */
/*
 * Whatever is allowed, from wherever it is allowed, by chance: every function
 * of a cell (compute, equal, copy, drop, subscriber) calls back into the graph
 * and does at random what a program could do, nested some levels deep; with
 * one thread and with three, eager or not, watched or not, and with
 * allocations that fail.  Handles are used whether they are stale or not.
 *
 * Nothing is known of the values (test_model.c and test_thread_stress.c judge
 * those), but: no subscriber is entered twice at once, none is called after
 * the end, none is dropped while it is called, every result is one that the
 * headers name, and in the end nothing is left.
 *
 * SEED=n starts from another seed; STEPS=n sets the number of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/probe.h"
#include "tests/lib/run.h"

/*
 * TSan sees that the place of a stale handle is used again, also where only a
 * number is read that fits no longer; there each thread holds a reference.
 */
#if defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 1500
#define ALWAYS HOLD
#define GRAPHS 2
#elif defined(__SANITIZE_ADDRESS__)
#define DEFAULT_STEPS 4000
#define ALWAYS 0
#define GRAPHS 2
#else
#define DEFAULT_STEPS 25000
#define ALWAYS 0
#define GRAPHS 2
#endif

#define ROUNDS 16 /* each with the next seed */
#define SHELF 64
#define SCOPES 8
#define MOST_THREADS 3
#define DEEP 3 /* callbacks in callbacks that still do something */
#define TOO_LONG 120

/* HOLD: by whom a cell is used, he has a reference; no handle is stale. */
enum kinds { EAGER = 1, WATCHED = 2, POOR = 4, HOLD = 8 };

static struct hyphae_graph *graphs[2]; /* each reaches into the other */
static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hyphae_cell *cells[SHELF];
static _Atomic(struct hyphae_subscription *) subs[SHELF];
static _Atomic(struct hyphae_scope *) scopes[SCOPES];
static bool poor, hold;

/* What must not happen, and what must be even in the end. */
static _Atomic unsigned int overlaps, after_end, dropped_inside, odd_results;
static _Atomic long owned;

static __thread uint64_t dice;
static __thread unsigned int depth;
static __thread unsigned int entered; /* scopes */

static void bark(int signal)
{
	static const char text[] = "The fuzz has not ended: a deadlock?\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(99);
}

static uint32_t below(uint32_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)(dice >> 32) % n;
}

static struct hyphae_graph *any_graph(void)
{
	return graphs[below(GRAPHS)];
}

/* ---- functions of cells, which do anything ------------------------------------- */

static void do_something(void);

/* Once in `n` times, unless we are too deep in it already. */
static void perhaps(uint32_t n)
{
	if (depth >= DEEP)
		return;
	depth++;
	if (below(n) == 0)
		do_something();
	depth--;
}

static void *own(void)
{
	atomic_fetch_add(&owned, 1);
	return malloc(8);
}

static void disown(void *memory)
{
	atomic_fetch_sub(&owned, 1);
	free(memory);
}

struct node {
	int64_t n;
	int64_t *copy; /* of n, owned */
};

static int node_make(struct node *node, int64_t n)
{
	if (poor && below(9) == 0)
		return -ENOMEM;
	node->n = n;
	node->copy = own();
	*node->copy = n;
	return 0;
}

static int node_copy(void *to, const void *from)
{
	return node_make(to, *((const struct node *)from)->copy);
}

static void node_drop(void *node)
{
	disown(((struct node *)node)->copy);
	perhaps(8);
}

static bool node_equal(const void *a, const void *b)
{
	perhaps(8);
	return *((const struct node *)a)->copy ==
	       *((const struct node *)b)->copy;
}

HYPHAE_TYPE_WITH(node, struct node, .copy = node_copy, .drop = node_drop,
		 .equal = node_equal);

static int halve(void *ret, const void *input, void *ctx)
{
	int64_t n = *(const int64_t *)input;

	(void)ctx;
	perhaps(4);
	if (n % 7 == 0)
		return -EIO;
	*(int64_t *)ret = n / 2;
	return 0;
}

static int not_by_three(const void *input, void *ctx)
{
	(void)ctx;
	perhaps(4);
	return *(const int64_t *)input % 3 != 0;
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t sum = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	perhaps(4);
	if (sum % 11 == 0)
		return -ERANGE;
	*(int64_t *)ret = sum;
	return 0;
}

static int to_node(void *ret, const void *input, void *ctx)
{
	int64_t n = *(const int64_t *)input;

	(void)ctx;
	perhaps(4);
	return n % 5 ? node_make(ret, n) : -EDOM;
}

/* ---- subscribers ------------------------------------------------------------------ */

struct listener {
	_Atomic bool inside;
	bool ended; /* plain on purpose: calls are one by one */
};

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	struct listener *listener = ctx;

	if (atomic_exchange(&listener->inside, true))
		atomic_fetch_add(&overlaps, 1);
	if (listener->ended)
		atomic_fetch_add(&after_end, 1);
	listener->ended = signal->terminal;
	perhaps(4);
	perhaps(3);
	atomic_store(&listener->inside, false);
	if (below(9) == 0)
		return HYPHAE_DETACH;
	return below(20) ? 0 : -EPROTO;
}

static void listener_drop(void *ctx)
{
	struct listener *listener = ctx;

	if (atomic_load(&listener->inside))
		atomic_fetch_add(&dropped_inside, 1);
	disown(listener);
	perhaps(4);
}

static struct hyphae_subscription *listen(struct hyphae_cell *cell)
{
	struct listener *listener = own();

	atomic_init(&listener->inside, false);
	listener->ended = false;
	return hyphae_subscribe_with(cell, hear, listener, listener_drop,
				     below(4) == 0 ? HYPHAE_SKIP_INITIAL : 0);
}

/* ---- cells that lie about ----------------------------------------------------------- */

static void put(struct hyphae_cell *cell)
{
	struct hyphae_cell **place = &cells[below(SHELF)], *old;

	if (!cell)
		return;
	pthread_mutex_lock(&shelf_lock);
	old = *place;
	*place = cell;
	pthread_mutex_unlock(&shelf_lock);
	if (hyphae_cell_unref(old) && hold)
		atomic_fetch_add(&odd_results, 1);
}

/* The same with a new one, of which a scope may have the reference. */
static void keep(struct hyphae_cell *cell)
{
	put(entered ? hyphae_cell_ref(cell) : cell);
}

/* A cell or NULL; stale perhaps, as others may release it at any moment. */
static struct hyphae_cell *any_cell(void)
{
	struct hyphae_cell **place = &cells[below(SHELF)], *cell;

	pthread_mutex_lock(&shelf_lock);
	cell = *place;
	if (hold && cell)
		cell = hyphae_cell_ref(cell);
	pthread_mutex_unlock(&shelf_lock);
	return cell;
}

static void done(struct hyphae_cell *cell)
{
	if (hold && hyphae_cell_unref(cell))
		atomic_fetch_add(&odd_results, 1);
}

/* Results that a write may have here. */
static void judge(int r)
{
	switch (r) {
	case 0:
	case HYPHAE_UNCHANGED:
	case -EINVAL:
	case -ESTALE:
	case -ESHUTDOWN:
	case -EPERM:
	case -ELOOP:
	case -EPROTO: /* of a subscriber */
		return;
	case -ENOMEM:
		if (poor)
			return;
	}
	atomic_fetch_add(&odd_results, 1);
}

/* ---- what there is to do ------------------------------------------------------------- */

static void make_number(void)
{
	keep(hyphae_int64_new(any_graph(), below(100)));
}

static void make_node(void)
{
	struct node node;

	if (node_make(&node, below(50)))
		return;
	keep(node_new_at(any_graph(), node, HYPHAE_HERE));
	disown(node.copy);
}

static void make_map(void)
{
	struct hyphae_cell *input = any_cell();

	keep(hyphae_map(input, &hyphae_int64, halve, NULL));
	done(input);
}

static void make_filter(void)
{
	struct hyphae_cell *input = any_cell();

	keep(hyphae_filter(input, not_by_three, NULL));
	done(input);
}

static void make_node_map(void)
{
	struct hyphae_cell *input = any_cell();

	keep(hyphae_map(input, &node_type, to_node, NULL));
	done(input);
}

static void make_combine(void)
{
	struct hyphae_cell *inputs[4];
	size_t count = 1 + below(4), i;

	for (i = 0; i < count; i++)
		inputs[i] = any_cell();
	keep(hyphae_combine(inputs, count, &hyphae_int64, add, NULL));
	for (i = 0; i < count; i++)
		done(inputs[i]);
}

static void subscribe(void)
{
	struct hyphae_cell *cell = any_cell();
	struct hyphae_subscription *sub;

	if (!cell)
		return;
	sub = listen(cell);
	done(cell);
	sub = atomic_exchange(&subs[below(SHELF)], sub);
	if (below(2))
		hyphae_unsubscribe(sub);
}

static void unsubscribe(void)
{
	hyphae_unsubscribe(atomic_exchange(&subs[below(SHELF)], NULL));
}

static void set(void)
{
	struct hyphae_cell *cell = any_cell();
	struct node node;
	int r;

	r = hyphae_int64_set(cell, below(100));
	judge(r);
	if (r == -EINVAL && !node_make(&node, below(50))) {
		judge(node_set(cell, node));
		disown(node.copy);
	}
	done(cell);
}

static void end(void)
{
	struct hyphae_cell *cell;

	if (below(6))
		return;
	cell = any_cell();
	if (below(2))
		judge(hyphae_cell_complete(cell));
	else
		judge(hyphae_cell_fail(cell, -EIO, below(2) ? "rot" : NULL));
	done(cell);
}

static void batch(void)
{
	struct hyphae_graph *forest = any_graph();
	int i;

	if (hyphae_batch_begin(forest))
		return;
	for (i = 0; i < 8; i++)
		do_something();
	i = hyphae_batch_end(forest);
	if (i && i != -ELOOP && i != -EPROTO)
		atomic_fetch_add(&odd_results, 1);
}

/* Not from a callback: two that wait for each other's graph wait for ever. */
static void settle(void)
{
	int r;

	if (depth)
		return;
	r = hyphae_settle(any_graph());
	if (r != -EBUSY)
		judge(r);
}

static void get(void)
{
	struct hyphae_cell *cell = any_cell();
	struct node node;
	int64_t n;

	if (hyphae_int64_get(cell, &n) == -EINVAL &&
	    node_get(cell, &node) == 0) {
		if (*node.copy != node.n)
			atomic_fetch_add(&odd_results, 1);
		disown(node.copy);
	}
	done(cell);
}

static void name(void)
{
	struct hyphae_cell *cell = any_cell();
	char text[HYPHAE_NAME_MAX + 1];

	hyphae_cell_set_name(cell, "hypha");
	hyphae_cell_name(cell, text, sizeof(text));
	done(cell);
}

static void drop_owned(void *data)
{
	disown(data);
	perhaps(4);
}

static void give(void)
{
	struct hyphae_cell *cell = any_cell();

	hyphae_cell_own(cell, own(), drop_owned);
	done(cell);
}

static void refer(void)
{
	struct hyphae_cell *cell = any_cell();

	put(hyphae_cell_ref(cell));
	done(cell);
}

static void use_scope(struct hyphae_scope *scope)
{
	int i, r = hyphae_scope_enter(scope);

	if (r) {
		if (r != -ESTALE && r != -EBUSY)
			atomic_fetch_add(&odd_results, 1);
		return;
	}
	entered++;
	for (i = 0; i < 4; i++)
		do_something();
	entered--;
	if (hyphae_scope_leave(scope))
		atomic_fetch_add(&odd_results, 1);
}

/* A new one, a child of one that is entered, or one that lies about. */
static void scope(void)
{
	_Atomic(struct hyphae_scope *) *place = &scopes[below(SCOPES)];
	struct hyphae_scope *used;

	if (entered > 2 || below(2))
		return;
	if (below(3)) {
		used = hyphae_scope_new(any_graph());
		if (used) {
			void *data = own();

			if (hyphae_scope_on_dispose(used, drop_owned, data))
				disown(data);
		}
	} else {
		used = atomic_exchange(place, NULL);
	}
	if (!used)
		return;
	use_scope(used);
	atomic_store(place, used);
}

static void dispose(void)
{
	int r = hyphae_scope_dispose(
		atomic_exchange(&scopes[below(SCOPES)], NULL));

	if (r && r != -EBUSY && r != -ESTALE)
		atomic_fetch_add(&odd_results, 1);
}

static void pass(void)
{
	struct hyphae_report report;

	if (hyphae_pass_begin())
		return;
	do_something();
	if (hyphae_pass_end())
		atomic_fetch_add(&odd_results, 1);
	if (hyphae_report_take(&report) == 0) {
		if (report.fires != report.cells_fired + report.refires)
			atomic_fetch_add(&odd_results, 1);
		hyphae_report_done(&report);
	}
}

static void limit(void)
{
	hyphae_graph_set_wave_limit(any_graph(), 1 + below(20));
}

static void hear_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)problem;
	(void)ctx;
	perhaps(4);
}

static void do_something(void)
{
	static void (*const deeds[])(void) = {
		make_number,  make_node,    make_map,	   make_filter,
		make_combine, make_combine, make_node_map, subscribe,
		subscribe,    unsubscribe,  set,	   set,
		set,	      set,	    end,	   batch,
		settle,	      get,	    get,	   name,
		give,	      refer,	    scope,	   scope,
		dispose,      pass,	    limit,
	};

	deeds[below(sizeof(deeds) / sizeof(deeds[0]))]();
}

/* ---- rounds ------------------------------------------------------------------------------ */

static unsigned long steps;

static void *work(void *ctx)
{
	unsigned long i;

	dice = *(uint64_t *)ctx;
	for (i = 0; i < steps; i++) {
		if (poor && below(3) == 0)
			hy_alloc_fail_after(1 + below(12));
		do_something();
	}
	return NULL;
}

static void run_threads(uint64_t seed, unsigned int threads)
{
	uint64_t seeds[MOST_THREADS];
	pthread_t thread[MOST_THREADS];
	unsigned int i;

	for (i = 0; i < threads; i++) {
		seeds[i] = (seed * MOST_THREADS + i) * 0x9e3779b97f4a7c15u + 1;
		assert_int_equal(
			pthread_create(&thread[i], NULL, work, &seeds[i]), 0);
	}
	for (i = 0; i < threads; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* Some is given back by hand, the rest goes with the graph. */
static void clean_up(uint64_t seed)
{
	unsigned int i;

	hy_alloc_fail_after(0);
	hy_gate.records = hy_gate.detail = 0;
	poor = false;
	dice = seed + 1;
	depth = DEEP;
	for (i = 0; i < 2; i++)
		assert_int_equal(hyphae_graph_check_idle(graphs[i]), 0);
	for (i = 0; i < SCOPES; i++)
		scopes[i] = NULL;
	for (i = 0; i < SHELF; i++) {
		if (i % 2)
			hyphae_cell_unref(cells[i]);
		if (i % 3)
			hyphae_unsubscribe(subs[i]);
		cells[i] = NULL;
		subs[i] = NULL;
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(hyphae_graph_free(graphs[i]), 0);
}

static void run_round(uint64_t seed, unsigned int kind, unsigned int threads)
{
	unsigned int flags = kind & EAGER ? HYPHAE_EAGER : 0;
	long live = hy_alloc_live();
	int i;

	print_message("SEED=%llu STEPS=%lu%s%s%s%s\n", (unsigned long long)seed,
		      steps, kind & EAGER ? " eager" : "",
		      kind & WATCHED ? " watched" : "",
		      kind & POOR ? " poor" : "",
		      kind & HOLD ? " holding" : "");
	for (i = 0; i < 2; i++) {
		graphs[i] = hyphae_graph_new(
			threads == 1 ? flags | HYPHAE_SINGLE_THREAD : flags);
		assert_non_null(graphs[i]);
		hyphae_graph_on_problem(graphs[i], hear_problem, NULL);
	}
	hy_gate.records = hy_gate.detail = kind & WATCHED ? 1 : 0;
	poor = kind & POOR;
	hold = kind & HOLD;
	signal(SIGALRM, bark);
	alarm(TOO_LONG);
	run_threads(seed, threads);
	clean_up(seed);
	alarm(0);
	assert_int_equal(overlaps, 0);
	assert_int_equal(after_end, 0);
	assert_int_equal(dropped_inside, 0);
	assert_int_equal(odd_results, 0);
	assert_int_equal(owned, 0);
	assert_int_equal(hy_alloc_live(), live);
}

static void run(unsigned int threads)
{
	unsigned long seed = test_number("SEED", 1), i;

	steps = test_number("STEPS", DEFAULT_STEPS);
	for (i = 0; i < ROUNDS; i++)
		run_round(seed + i, (unsigned int)(seed + i) % 16 | ALWAYS,
			  threads);
}

static void anything_from_anywhere_alone(void **state)
{
	(void)state;
	run(1);
}

static void anything_from_anywhere_together(void **state)
{
	(void)state;
	run(MOST_THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_from_anywhere_alone),
		cmocka_unit_test(anything_from_anywhere_together),
	};

	return cmocka_run_group_tests_name("thread fuzz", tests, NULL, NULL);
}
