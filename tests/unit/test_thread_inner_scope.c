/* SPDX-License-Identifier: MIT */
/*
 * Scopes that functions of cells of cells make, entered by other threads while
 * the operator moves on: what was made is released once, by whoever is last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "threads.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MOVES 3000
#else
#define MOVES 20000
#endif
#define THREADS 3

static struct hyphae_graph *graph;
static struct hyphae_cell *from;
static _Atomic(struct hyphae_scope *) child, grandchild;
static _Atomic unsigned int made, released, odd;
static _Atomic(pthread_t) released_by;

static int as_it_is(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static void on_release(void *ctx)
{
	(void)ctx;
	released_by = pthread_self();
	released++;
}

/* Two cells, in a child the third, and a child of that. */
static struct hyphae_cell *make(const void *value, void *ctx)
{
	struct hyphae_cell *cell =
		hyphae_map(from, &hyphae_int64, as_it_is, NULL);
	struct hyphae_scope *scope = hyphae_scope_new(graph), *below;

	(void)value;
	(void)ctx;
	odd += hyphae_scope_enter(scope) != 0;
	odd += !hyphae_int64_new(graph, 1);
	odd += hyphae_scope_on_dispose(scope, on_release, NULL) != 0;
	made++;
	below = hyphae_scope_new(graph);
	odd += hyphae_scope_leave(scope) != 0;
	child = scope;
	grandchild = below;
	odd += !hyphae_int64_new(graph, 2);
	return cell;
}
#define MADE 3

static void begin(unsigned int flags)
{
	graph = hyphae_graph_new(flags);
	from = hyphae_int64_new(graph, 1);
	made = released = odd = 0;
}

static size_t live_cells(void)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	return counts.cells;
}

/* ---- one step after the other --------------------------------------------- */

static pthread_barrier_t step;

static void *enter_and_leave(void *ctx)
{
	struct hyphae_scope *scope = child;

	(void)ctx;
	odd += hyphae_scope_enter(scope) != 0;
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step); /* the other one has moved on */
	odd += !hyphae_int64_new(graph, 3);
	odd += released != 0;
	odd += hyphae_scope_leave(scope) != 0;
	odd += released != 1;
	odd += hyphae_scope_enter(scope) != -ESTALE;
	return NULL;
}

/* A switch_map of which the thread has entered what it made, in `body`. */
static struct hyphae_cell *switch_beside(void *(*body)(void *ctx),
					 pthread_t *thread,
					 struct hyphae_cell **ret_outer)
{
	struct hyphae_cell *cell;

	begin(0);
	*ret_outer = hyphae_int64_new(graph, 0);
	cell = hyphae_switch_map(*ret_outer, &hyphae_int64, make, NULL);
	assert_non_null(cell);
	assert_int_equal(pthread_barrier_init(&step, NULL, 2), 0);
	start(thread, body, NULL);
	pthread_barrier_wait(&step);
	return cell;
}

static void x05_released_by_who_leaves(void **state)
{
	struct hyphae_cell *outer, *cell;
	long live = hy_alloc_live();
	pthread_t thread;

	(void)state;
	WATCH();
	cell = switch_beside(enter_and_leave, &thread, &outer);
	assert_int_equal(hyphae_int64_set(outer, 1), 0);
	assert_int_equal(live_cells(), 4 + 2 * MADE);
	assert_int_equal(released, 0);
	pthread_barrier_wait(&step);
	join(thread);
	pthread_barrier_destroy(&step);
	assert_int_equal(odd, 0);
	assert_true(pthread_equal(released_by, thread));
	assert_int_equal(value(cell), 1);
	assert_int_equal(live_cells(), 4 + MADE);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(released, 2);
	assert_int_equal(hyphae_cell_unref(outer), 0);
	assert_int_equal(hyphae_cell_unref(from), 0);
	end_graph(graph, 0, 0);
	assert_int_equal(hy_alloc_live(), live);
}

static void *enter_and_end(void *ctx)
{
	(void)ctx;
	odd += hyphae_scope_enter(child) != 0;
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	odd += released != 0;
	return NULL;
}

/* A scope that the thread has not left is left for it, and so released. */
static void x05_released_by_who_ends(void **state)
{
	struct hyphae_cell *outer, *cell;
	long live = hy_alloc_live();
	pthread_t thread;

	(void)state;
	WATCH();
	cell = switch_beside(enter_and_end, &thread, &outer);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(released, 0);
	pthread_barrier_wait(&step);
	join(thread);
	pthread_barrier_destroy(&step);
	assert_int_equal(odd, 0);
	assert_int_equal(released, 1);
	assert_int_equal(live_cells(), 2);
	assert_int_equal(hyphae_cell_unref(outer), 0);
	assert_int_equal(hyphae_cell_unref(from), 0);
	end_graph(graph, 0, 0);
	assert_int_equal(hy_alloc_live(), live);
}

/* ---- by chance --------------------------------------------------------------- */

static atomic_bool over;

static bool gone_or_busy(int r)
{
	return r == -ESTALE || r == -EBUSY;
}

static void visit(struct hyphae_scope *scope)
{
	int r = hyphae_scope_enter(scope);

	if (r) {
		odd += !gone_or_busy(r);
		return;
	}
	odd += !hyphae_map(from, &hyphae_int64, as_it_is, NULL);
	odd += hyphae_scope_leave(scope) != 0;
}

static void *visitor(void *ctx)
{
	unsigned int n = 0;

	(void)ctx;
	while (!over) {
		visit(child);
		visit(grandchild);
		if (++n % 16 == 0) {
			int r = hyphae_scope_dispose(grandchild);

			odd += r && !gone_or_busy(r);
		}
	}
	return NULL;
}

/* Two switches, each with its own function's estates, under visitors. */
static void by_chance(unsigned int flags)
{
	struct hyphae_cell *outer, *one, *two;
	long live = hy_alloc_live();
	pthread_t threads[THREADS];

	begin(flags);
	outer = hyphae_int64_new(graph, 0);
	one = hyphae_switch_map(outer, &hyphae_int64, make, NULL);
	two = hyphae_switch_map(outer, &hyphae_int64, make, NULL);
	assert_non_null(one);
	assert_non_null(two);
	over = false;
	for (int i = 0; i < THREADS; i++)
		start(&threads[i], visitor, NULL);
	for (int i = 1; i <= MOVES; i++)
		assert_int_equal(hyphae_int64_set(outer, i), 0);
	over = true;
	for (int i = 0; i < THREADS; i++)
		join(threads[i]);
	assert_int_equal(hyphae_settle(graph), 0);
	/* Writes that another thread took along may have been one. */
	assert_in_range(made, 4, 2 * MOVES + 2);
	assert_int_equal(released, made - 2);
	assert_int_equal(hyphae_cell_unref(one), 0);
	assert_int_equal(hyphae_cell_unref(two), 0);
	assert_int_equal(released, made);
	assert_int_equal(hyphae_cell_unref(outer), 0);
	assert_int_equal(hyphae_cell_unref(from), 0);
	end_graph(graph, 0, 0);
	assert_int_equal(odd, 0);
	assert_int_equal(hy_alloc_live(), live);
}

static void x05_visited_by_chance(void **state)
{
	(void)state;
	WATCH();
	by_chance(0);
}

static void x05_visited_by_chance_depth_first(void **state)
{
	(void)state;
	WATCH();
	by_chance(HYPHAE_EAGER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x05_released_by_who_leaves),
		cmocka_unit_test(x05_released_by_who_ends),
		cmocka_unit_test(x05_visited_by_chance),
		cmocka_unit_test(x05_visited_by_chance_depth_first),
	};

	return cmocka_run_group_tests_name("thread inner scopes", tests, NULL,
					   NULL);
}
