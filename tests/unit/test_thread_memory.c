/* SPDX-License-Identifier: MIT */
/*
 * Walks, drawings, weak handles, data and storage while other threads make,
 * write, name and release cells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 300
#else
#define ROUNDS 3000
#endif

#define KEPT 50

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

static void count_drop(void *data)
{
	atomic_fetch_add((atomic_long *)data, 1);
}

struct stage {
	struct hyphae_graph *graph;
	struct hyphae_cell *kept[KEPT];
	struct hyphae_weak weak; /* of the cell made last; under the lock */
	pthread_mutex_t lock;
	atomic_bool over;
	atomic_long failures, drops, given, locked;
};

/* Makes cells, with all that can hang on one, and releases them again. */
static void *churn(void *ctx)
{
	struct stage *s = ctx;

	for (int i = 0; i < ROUNDS; i++) {
		struct hyphae_cell *a = hyphae_int64_new(s->graph, i), *b;
		struct hyphae_subscription *sub;
		int bad = 0;

		b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
		sub = hyphae_subscribe(b, quiet, NULL);
		pthread_mutex_lock(&s->lock);
		s->weak = hyphae_weak(a);
		pthread_mutex_unlock(&s->lock);
		bad += !a || !b || !sub;
		bad += hyphae_cell_set_name(a, "a cell that comes and goes");
		bad += hyphae_cell_set_data(a, &s->drops, count_drop);
		bad += hyphae_cell_set_data(s->kept[i % KEPT], &s->drops,
					    count_drop);
		bad += hyphae_subscription_set_data(sub, &s->drops, count_drop);
		atomic_fetch_add(&s->given, 3);
		bad += hyphae_int64_set(a, -i) < 0;
		bad += hyphae_int64_set(s->kept[i % KEPT], i) < 0;
		bad += hyphae_unsubscribe(sub);
		bad += hyphae_cell_unref(b);
		bad += hyphae_cell_unref(a);
		atomic_fetch_add(&s->failures, bad != 0);
	}
	return NULL;
}

static int look_at(struct hyphae_cell *cell, void *ctx)
{
	char line[512];
	int64_t value;
	size_t *kept = ctx;

	if (hyphae_describe(cell, line, sizeof(line)) <= 0 ||
	    hyphae_int64_get(cell, &value) != 0)
		return -EFAULT;
	*kept += strstr(line, "\"kept\"") != NULL;
	return hyphae_cell_data(cell) == ctx ? -EFAULT : 0;
}

static int paper(const char *text, size_t length, void *ctx)
{
	*(size_t *)ctx += length;
	return text ? 0 : -EFAULT;
}

/* Walks and draws; each of the cells that stay is shown in each walk. */
static void *look_around(void *ctx)
{
	struct stage *s = ctx;

	while (!atomic_load(&s->over)) {
		struct hyphae_graph_memory memory;
		struct hyphae_dot_options o = {.start = s->kept[0], .depth = 2};
		size_t kept = 0, length = 0;
		int bad = 0;

		bad += hyphae_graph_each_cell(s->graph, look_at, &kept);
		bad += kept != KEPT;
		bad += hyphae_graph_dot(s->graph, paper, &length, NULL);
		bad += hyphae_graph_dot(s->graph, paper, &length, &o);
		bad += hyphae_graph_memory(s->graph, &memory);
		bad += memory.sources.count < KEPT;
		atomic_fetch_add(&s->failures, bad != 0);
	}
	return NULL;
}

/* Takes a reference if it still can, and then has it. */
static void *catch (void *ctx)
{
	struct stage *s = ctx;

	while (!atomic_load(&s->over)) {
		struct hyphae_weak weak;
		struct hyphae_cell *cell;

		pthread_mutex_lock(&s->lock);
		weak = s->weak;
		pthread_mutex_unlock(&s->lock);
		cell = hyphae_weak_lock(weak);
		if (!cell)
			continue;
		atomic_fetch_add(&s->locked, 1);
		if (hyphae_cell_id(cell) != weak.id ||
		    !hyphae_weak_alive(weak) || hyphae_cell_unref(cell))
			atomic_fetch_add(&s->failures, 1);
	}
	return NULL;
}

static void together(struct hyphae_graph *graph)
{
	static struct stage s;
	pthread_t makers[2], watchers[2];

	memset(&s, 0, sizeof(s));
	s.graph = graph;
	pthread_mutex_init(&s.lock, NULL);
	for (int i = 0; i < KEPT; i++) {
		s.kept[i] = hyphae_int64_new(graph, i);
		assert_int_equal(hyphae_cell_set_name(s.kept[i], "kept"), 0);
	}
	start(&watchers[0], look_around, &s);
	start(&watchers[1], catch, &s);
	start(&makers[0], churn, &s);
	start(&makers[1], churn, &s);
	join(makers[0]);
	join(makers[1]);
	atomic_store(&s.over, true);
	join(watchers[0]);
	join(watchers[1]);
	assert_int_equal(atomic_load(&s.failures), 0);
	assert_int_equal(atomic_load(&s.given), 2 * 3 * ROUNDS);
	for (int i = 0; i < KEPT; i++) /* by both, in the same rounds */
		assert_int_equal(value(s.kept[i]) % KEPT, i);
	end_graph(graph, KEPT, 0);
	assert_int_equal(atomic_load(&s.drops), 2 * 3 * ROUNDS);
	pthread_mutex_destroy(&s.lock);
}

static void looking_around(void **state)
{
	(void)state;
	WATCH();
	together(hyphae_graph_new(0));
	together(hyphae_graph_new(HYPHAE_HEAP_CELLS));
}

/* As if none were freed before the end: the drainer may be kept busy. */
HYPHAE_STORAGE(store,
	       HYPHAE_STORAGE_FOR(KEPT + 2 * ROUNDS, 2 * ROUNDS, 2 * ROUNDS));

static void in_storage(void **state)
{
	struct hyphae_graph_options o = {.storage = store,
					 .storage_bytes = sizeof(store)};

	(void)state;
	WATCH();
	for (int turn = 0; turn < 2; turn++)
		together(hyphae_graph_new_with(&o));
	/* And where there is hardly any: what does not fit is elsewhere. */
	memset(store, 0, sizeof(store));
	o.storage_bytes = HYPHAE_STORAGE_BYTES(1);
	o.storage_flags = HYPHAE_STORAGE_SPILL;
	together(hyphae_graph_new_with(&o));
}

static atomic_int opened;

static void *open_same(void *ctx)
{
	struct hyphae_graph_options o = {.storage = store,
					 .storage_bytes = sizeof(store)};
	struct hyphae_graph *graph = hyphae_graph_new_with(&o);

	if (graph) {
		*(struct hyphae_graph **)ctx = graph;
		atomic_fetch_add(&opened, 1);
	} else if (errno != EBUSY) {
		atomic_fetch_add(&opened, 100);
	}
	return NULL;
}

/* One of several gets it. */
static void one_graph_in_a_storage(void **state)
{
	struct hyphae_graph *graph;
	pthread_t threads[4];

	(void)state;
	WATCH();
	memset(store, 0, sizeof(store));
	for (int round = 0; round < 50; round++) {
		atomic_store(&opened, 0);
		graph = NULL;
		for (int i = 0; i < 4; i++)
			start(&threads[i], open_same, &graph);
		for (int i = 0; i < 4; i++)
			join(threads[i]);
		assert_int_equal(atomic_load(&opened), 1);
		assert_non_null(hyphae_int64_new(graph, 1));
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_around),
		cmocka_unit_test(in_storage),
		cmocka_unit_test(one_graph_in_a_storage),
	};

	return cmocka_run_group_tests_name("memory and threads", tests, NULL,
					   NULL);
}
