/* SPDX-License-Identifier: MIT */
/*
 * Threads that do everything at once in one graph, by chance: write, batch,
 * derive, subscribe, read, release, also cells that another thread made and
 * may release at any moment.
 *
 * When they have ended everything must fit: each derived cell holds what its
 * function makes of its inputs, each subscriber was told last what its cell
 * holds, none was entered twice at once or after its context was dropped, and
 * nothing is left.
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

#include "tests/lib/run.h"

#if defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 1500
#elif defined(__SANITIZE_ADDRESS__)
#define DEFAULT_STEPS 5000
#else
#define DEFAULT_STEPS 30000
#endif

#define ROUNDS 5 /* each with the next seed */
#define THREADS 4
#define SOURCES 12
#define LARGES 4
#define SHELF 24 /* places where threads leave cells for each other */
#define SUBS 16	 /* of each thread */
#define TOO_LONG 120

struct large {
	int64_t parts[6];
};
HYPHAE_TYPE(large, struct large);

/* How a cell was made; it owns its recipe. */
struct recipe {
	int64_t factor;
	size_t ninputs;
	struct hyphae_cell *inputs[3];
	_Atomic unsigned int inside;
};

struct place {
	pthread_mutex_t lock; /* of the test, held for a moment only */
	struct hyphae_cell *cell;
	struct recipe *recipe;
};

/* A subscriber; freed when it is dropped, so a late call is a use of it. */
struct listener {
	_Atomic unsigned int inside;
	unsigned int serial; /* plain on purpose: calls are one by one */
	unsigned int dice;
	_Atomic int64_t last;
	_Atomic bool told;
	struct hyphae_cell *cell; /* a reference */
};

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t random;
	struct hyphae_subscription *subs[SUBS];
	struct listener *listeners[SUBS];
};

static struct hyphae_graph *graph;
static struct hyphae_cell *sources[SOURCES];
static struct hyphae_cell *larges[LARGES];
static struct place shelf[SHELF];
static struct worker workers[THREADS];
static unsigned long steps;
static _Atomic unsigned long made, dropped;
static _Atomic unsigned int torn, overlaps, bad_codes;
static _Atomic unsigned int first_bad; /* line */

#define EXPECT(condition)                                                      \
	do {                                                                   \
		unsigned int none_ = 0;                                        \
		if (!(condition)) {                                            \
			atomic_fetch_add(&bad_codes, 1);                       \
			atomic_compare_exchange_strong(&first_bad, &none_,     \
						       __LINE__);              \
		}                                                              \
	} while (0)

static void bark(int signal)
{
	static const char text[] = "the threads do not end: a deadlock?\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(99);
}

static unsigned int roll(uint64_t *random, unsigned int sides)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (unsigned int)((*random >> 20) % sides);
}

/* ---- functions of cells ---- */

/* -EIO if the sum is a multiple of 7. */
static int cook(int64_t sum, int64_t factor, int64_t *ret)
{
	if (sum % 7 == 0)
		return -EIO;
	*ret = sum * factor % 1000;
	return 0;
}

static int run_combine(void *ret, const void *const *inputs, size_t count,
		       void *ctx)
{
	struct recipe *recipe = ctx;
	int64_t sum = 0;
	size_t i;

	if (atomic_fetch_add(&recipe->inside, 1) != 0)
		atomic_fetch_add(&overlaps, 1);
	for (i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	atomic_fetch_sub(&recipe->inside, 1);
	return cook(sum, recipe->factor, ret);
}

static int run_map(void *ret, const void *input, void *ctx)
{
	return run_combine(ret, &input, 1, ctx);
}

/* A large value's number, if its parts agree. */
static int run_large(void *ret, const void *input, void *ctx)
{
	const struct large *large = input;
	size_t i;

	for (i = 1; i < 6; i++)
		if (large->parts[i] != large->parts[0])
			atomic_fetch_add(&torn, 1);
	return run_map(ret, &large->parts[0], ctx);
}

/* ---- subscribers ---- */

static int listen_to(const struct hyphae_signal *signal, void *ctx)
{
	struct listener *l = ctx;

	if (atomic_fetch_add(&l->inside, 1) != 0)
		atomic_fetch_add(&overlaps, 1);
	l->serial++;
	l->last = signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal)
					       : signal->code;
	l->told = true;
	l->dice = l->dice * 1103515245u + 12345u;
	/* So seldom that all of them together cannot keep it up for ever. */
	if (signal->kind == HYPHAE_VALUE && (l->dice >> 16) % 128 == 0)
		EXPECT(hyphae_int64_set(sources[(l->dice >> 20) % SOURCES],
					(l->dice >> 8) % 100) >= 0);
	atomic_fetch_sub(&l->inside, 1);
	return 0;
}

static void drop_listener(void *ctx)
{
	struct listener *l = ctx;

	atomic_fetch_add(&dropped, 1);
	EXPECT(hyphae_cell_unref(l->cell) == 0);
	memset(l, 0xee, sizeof(*l));
	free(l);
}

/* ---- what a thread may do ---- */

/* A reference to a cell from the shelf, or NULL. */
static struct hyphae_cell *borrow(struct worker *w)
{
	struct place *place = &shelf[roll(&w->random, SHELF)];
	struct hyphae_cell *cell;

	pthread_mutex_lock(&place->lock);
	cell = place->cell;
	pthread_mutex_unlock(&place->lock);
	/* It may be gone by now, and its slot another's: that is the point. */
	return hyphae_cell_ref(cell);
}

static struct hyphae_cell *any_input(struct worker *w)
{
	if (roll(&w->random, 2))
		return hyphae_cell_ref(sources[roll(&w->random, SOURCES)]);
	return borrow(w);
}

static void put_on_shelf(struct worker *w, struct hyphae_cell *cell,
			 struct recipe *recipe)
{
	struct place *place = &shelf[roll(&w->random, SHELF)];
	struct hyphae_cell *old;

	pthread_mutex_lock(&place->lock);
	old = place->cell;
	place->cell = cell;
	place->recipe = recipe;
	pthread_mutex_unlock(&place->lock);
	EXPECT(hyphae_cell_unref(old) == 0);
}

/* A source of its own, for others to derive from and to end. */
static void do_source(struct worker *w)
{
	struct hyphae_cell *cell =
		hyphae_int64_new(graph, roll(&w->random, 100));

	EXPECT(cell != NULL);
	put_on_shelf(w, cell, NULL);
}

static void do_end(struct worker *w)
{
	struct hyphae_cell *cell = borrow(w);
	int r;

	if (!cell)
		return;
	r = roll(&w->random, 2) ? hyphae_cell_complete(cell)
				: hyphae_cell_fail(cell, -ECANCELED, "over");
	/* It may be derived, or have ended before. */
	EXPECT(r == 0 || r == -EINVAL || r == -ESHUTDOWN);
	EXPECT(hyphae_cell_unref(cell) == 0);
}

static void do_set(struct worker *w)
{
	int64_t n = roll(&w->random, 100);

	if (roll(&w->random, 4)) {
		EXPECT(hyphae_int64_set(sources[roll(&w->random, SOURCES)],
					n) >= 0);
	} else {
		struct large large = {{n, n, n, n, n, n}};

		EXPECT(large_set(larges[roll(&w->random, LARGES)], large) >= 0);
	}
}

static void do_batch(struct worker *w)
{
	unsigned int writes = 1 + roll(&w->random, 5);

	EXPECT(hyphae_batch_begin(graph) == 0);
	while (writes--)
		do_set(w);
	if (roll(&w->random, 8) == 0)
		EXPECT(hyphae_settle(graph) == 0);
	EXPECT(hyphae_batch_end(graph) == 0);
}

static void do_derive(struct worker *w)
{
	struct recipe *recipe = calloc(1, sizeof(*recipe));
	size_t count = 1 + roll(&w->random, 3), i;
	struct hyphae_cell *cell;

	recipe->factor = 1 + roll(&w->random, 9);
	while (recipe->ninputs < count) {
		struct hyphae_cell *input = any_input(w);

		if (!input)
			continue;
		recipe->inputs[recipe->ninputs++] = input;
	}
	if (roll(&w->random, 4) == 0) {
		EXPECT(hyphae_cell_unref(recipe->inputs[0]) == 0);
		recipe->inputs[0] =
			hyphae_cell_ref(larges[roll(&w->random, LARGES)]);
		recipe->ninputs = 1;
		cell = hyphae_map(recipe->inputs[0], &hyphae_int64, run_large,
				  recipe);
	} else if (count == 1) {
		cell = hyphae_map(recipe->inputs[0], &hyphae_int64, run_map,
				  recipe);
	} else {
		cell = hyphae_combine(recipe->inputs, count, &hyphae_int64,
				      run_combine, recipe);
	}
	EXPECT(cell != NULL);
	EXPECT(hyphae_cell_own(cell, recipe, free) == 0);
	for (i = 0; i < count; i++)
		EXPECT(hyphae_cell_unref(recipe->inputs[i]) == 0);
	if (roll(&w->random, 4) == 0)
		EXPECT(hyphae_cell_unref(cell) == 0); /* perhaps it waits */
	else
		put_on_shelf(w, cell, recipe);
}

static void do_subscribe(struct worker *w)
{
	unsigned int at = roll(&w->random, SUBS);
	struct hyphae_cell *cell = borrow(w);
	struct listener *l;

	if (w->subs[at]) {
		int r = hyphae_unsubscribe(w->subs[at]);

		EXPECT(r == 0 || r == -ESTALE); /* its cell has ended */
		w->subs[at] = NULL;
	}
	if (!cell)
		return;
	l = calloc(1, sizeof(*l));
	l->cell = cell;
	l->dice = roll(&w->random, 1u << 30);
	atomic_fetch_add(&made, 1);
	w->listeners[at] = l;
	w->subs[at] =
		hyphae_subscribe_with(cell, listen_to, l, drop_listener, 0);
	EXPECT(w->subs[at] != NULL);
}

static void do_look(struct worker *w)
{
	struct hyphae_cell_info info;
	struct hyphae_cell *cell = borrow(w);
	struct large large;
	char name[16];
	int64_t value;
	size_t i;
	int r;

	EXPECT(large_get(larges[roll(&w->random, LARGES)], &large) == 0);
	for (i = 1; i < 6; i++)
		if (large.parts[i] != large.parts[0])
			atomic_fetch_add(&torn, 1);
	if (!cell)
		return;
	r = hyphae_int64_get(cell, &value);
	EXPECT(r == 0 || r == -EIO || r == -ECANCELED);
	EXPECT(hyphae_cell_info(cell, &info) == 0);
	EXPECT(hyphae_cell_set_name(cell, "looked at") == 0);
	EXPECT(hyphae_cell_name(cell, name, sizeof(name)) == 9);
	EXPECT(hyphae_cell_unref(cell) == 0);
}

static void do_scope(struct worker *w)
{
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct recipe recipe = {.factor = 3};
	struct hyphae_cell *input = sources[roll(&w->random, SOURCES)];
	struct hyphae_cell *cell;

	EXPECT(hyphae_scope_enter(scope) == 0);
	cell = hyphae_map(input, &hyphae_int64, run_map, &recipe);
	EXPECT(cell != NULL);
	EXPECT(hyphae_scope_leave(scope) == 0);
	EXPECT(hyphae_scope_dispose(scope) == 0);
	/* The propagating thread may be in its function yet. */
	EXPECT(hyphae_settle(graph) == 0);
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	unsigned long i;

	for (i = 0; i < steps; i++) {
		unsigned int what = roll(&w->random, 100);

		if (what < 45)
			do_set(w);
		else if (what < 60)
			do_batch(w);
		else if (what < 75)
			do_derive(w);
		else if (what < 88)
			do_subscribe(w);
		else if (what < 94)
			do_look(w);
		else if (what < 97)
			do_source(w);
		else if (what < 98)
			do_end(w);
		else
			do_scope(w);
	}
	return NULL;
}

/* ---- before and after ---- */

static void set_up(unsigned int flags)
{
	size_t i;

	made = dropped = 0;
	torn = overlaps = bad_codes = first_bad = 0;
	graph = hyphae_graph_new(flags);
	assert_non_null(graph);
	for (i = 0; i < SOURCES; i++)
		sources[i] = hyphae_int64_new(graph, (int64_t)i);
	for (i = 0; i < LARGES; i++)
		larges[i] =
			large_new_at(graph, (struct large){{0}}, HYPHAE_HERE);
	for (i = 0; i < SHELF; i++) {
		pthread_mutex_init(&shelf[i].lock, NULL);
		shelf[i].cell = NULL;
	}
	memset(workers, 0, sizeof(workers));
}

/* What an input brings to the sum; or its error. */
static int input_value(struct hyphae_cell *input, int64_t *ret)
{
	struct hyphae_cell_info info;
	struct large large;
	int r;

	assert_int_equal(hyphae_cell_info(input, &info), 0);
	if (info.type != &large_type)
		return hyphae_int64_get(input, ret);
	r = large_get(input, &large);
	*ret = large.parts[0];
	return r;
}

static void expect_cooked(struct hyphae_cell *cell, struct recipe *recipe)
{
	struct hyphae_cell_info info;
	int64_t sum = 0, expected = 0, held = 0, part;
	int code = 0, r;
	size_t i;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	if (info.ended) /* and has let go of its inputs */
		return;
	assert_int_equal(info.inputs, recipe->ninputs);
	for (i = 0; i < info.inputs; i++) {
		r = input_value(recipe->inputs[i], &part);
		if (r != 0 && code == 0)
			code = r;
		sum += part;
	}
	if (code == 0)
		code = cook(sum, recipe->factor, &expected);
	assert_int_equal(hyphae_int64_get(cell, &held), code);
	if (code == 0)
		assert_int_equal(held, expected);
}

static void expect_told(const struct listener *l)
{
	int64_t held = 0;
	int r = hyphae_int64_get(l->cell, &held);

	assert_true(l->told);
	assert_int_equal(l->last, r == 0 ? held : r);
	assert_int_equal(l->inside, 0);
}

static void look_it_over(void)
{
	size_t i, k;

	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	if (first_bad)
		fail_msg("%u calls gave a code that they must not; the first "
			 "is in line %u",
			 bad_codes, first_bad);
	assert_int_equal(torn, 0);
	assert_int_equal(overlaps, 0);
	for (i = 0; i < SHELF; i++)
		if (shelf[i].cell && shelf[i].recipe)
			expect_cooked(shelf[i].cell, shelf[i].recipe);
	for (i = 0; i < THREADS; i++)
		for (k = 0; k < SUBS; k++)
			if (hyphae_subscription_id(workers[i].subs[k]))
				expect_told(workers[i].listeners[k]);
}

static void tear_down(void)
{
	struct hyphae_graph_counts counts;
	size_t i, k;

	for (i = 0; i < THREADS; i++)
		for (k = 0; k < SUBS; k++)
			hyphae_unsubscribe(workers[i].subs[k]);
	assert_int_equal(dropped, made);
	for (i = 0; i < SHELF; i++) {
		assert_int_equal(hyphae_cell_unref(shelf[i].cell), 0);
		pthread_mutex_destroy(&shelf[i].lock);
	}
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, SOURCES + LARGES);
	assert_int_equal(counts.subscriptions, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void run_threads(unsigned long seed)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].random =
			(seed * THREADS + i) * 0x9e3779b97f4a7c15u + 1;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]),
				 0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

static void run(unsigned int flags)
{
	unsigned long seed = test_number("SEED", 1);
	unsigned long round;

	steps = test_number("STEPS", DEFAULT_STEPS);
	for (round = 0; round < ROUNDS; round++, seed++) {
		print_message("SEED=%lu STEPS=%lu\n", seed, steps);
		signal(SIGALRM, bark);
		alarm(TOO_LONG);
		set_up(flags);
		run_threads(seed);
		look_it_over();
		tear_down();
		alarm(0);
	}
}

static void everything_at_once(void **state)
{
	(void)state;
	run(0);
}

static void everything_at_once_eager(void **state)
{
	(void)state;
	run(HYPHAE_EAGER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(everything_at_once_eager),
	};

	return cmocka_run_group_tests_name("thread stress", tests, NULL, NULL);
}
