/* SPDX-License-Identifier: MIT */
/* Weak handles: alive or not, and never another cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/types.h"

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static uint32_t references(struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	return hyphae_cell_info(cell, &info) == 0 ? info.references : 0;
}

static void expect_gone(struct hyphae_weak weak, int code)
{
	errno = 0;
	assert_null(hyphae_weak_lock(weak));
	assert_int_equal(errno, code);
	assert_false(hyphae_weak_alive(weak));
}

static void one_life(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *again;
		unsigned long asked = hy_alloc_count();
		struct hyphae_weak weak = hyphae_weak(cell), copy;

		assert_ptr_equal(weak.cell, cell);
		assert_int_equal(weak.id, hyphae_cell_id(cell));
		assert_int_equal(references(cell), 1);
		assert_true(hyphae_weak_alive(weak));
		again = hyphae_weak_lock(weak);
		assert_ptr_equal(again, cell);
		assert_int_equal(references(cell), 2);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_true(hyphae_weak_alive(weak));
		copy = weak;
		assert_int_equal(hyphae_cell_unref(again), 0);
		expect_gone(weak, ESTALE);
		expect_gone(copy, ESTALE);
		assert_int_equal(hy_alloc_count(), asked);
		assert_int_equal(hyphae_weak(cell).id, 0);
		assert_null(hyphae_weak(cell).cell);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void of_no_cell(void **state)
{
	struct hyphae_weak none = {NULL, 0}, odd = {NULL, 17};

	(void)state;
	expect_gone(none, EINVAL);
	expect_gone(odd, EINVAL);
	assert_null(hyphae_weak(NULL).cell);
	assert_int_equal(hyphae_weak(NULL).id, 0);
}

/* What follows a cell keeps it. */
static void kept_by_a_follower(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *again;
	struct hyphae_cell *map =
		hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	struct hyphae_weak weak = hyphae_weak(cell);

	(void)state;
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_true(hyphae_weak_alive(weak));
	again = hyphae_weak_lock(weak);
	assert_ptr_equal(again, cell);
	assert_int_equal(hyphae_int64_set(again, 5), 0);
	assert_int_equal(hyphae_cell_unref(again), 0);
	assert_true(hyphae_weak_alive(weak));
	assert_int_equal(hyphae_cell_unref(map), 0);
	expect_gone(weak, ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A cell in the same place whose id has the same 16 low bits: there the handle
 * is mistaken, and the weak one is not.
 */
static void never_another(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *other;
	struct hyphae_weak weak = hyphae_weak(cell);
	int64_t value;
	long turns = 0;

	(void)state;
	assert_int_equal(hyphae_cell_unref(cell), 0);
	for (other = NULL; other != cell && turns < 1000000; turns++) {
		hyphae_cell_unref(other);
		other = hyphae_int64_new(graph, 2);
		expect_gone(weak, ESTALE);
	}
	assert_ptr_equal(other, cell);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 2);
	expect_gone(weak, ESTALE);
	assert_true(hyphae_weak_alive(hyphae_weak(cell)));
	assert_int_equal(references(other), 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static struct hyphae_weak watched;
static bool was_alive, was_locked;

static int release_and_look(const struct hyphae_signal *signal, void *ctx)
{
	struct hyphae_cell *again;

	(void)ctx;
	if (hyphae_int64_of(signal) != 2)
		return 0;
	hyphae_cell_unref(watched.cell);
	/* It waits for the end of the wave, and is as good as gone. */
	was_alive = hyphae_weak_alive(watched);
	again = hyphae_weak_lock(watched);
	was_locked = again;
	hyphae_cell_unref(again);
	return 0;
}

static void not_while_it_dies(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);

	(void)state;
	watched = hyphae_weak(hyphae_int64_new(graph, 7));
	assert_non_null(hyphae_subscribe(cell, release_and_look, NULL));
	was_alive = was_locked = true;
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_false(was_alive);
	assert_false(was_locked);
	expect_gone(watched, ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void of_a_graph_that_is_gone(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0), *next;
	struct hyphae_weak weak = hyphae_weak(hyphae_int64_new(graph, 1));
	struct hyphae_cell *cell;

	(void)state;
	assert_int_equal(hyphae_graph_free(graph), 0);
	expect_gone(weak, ESTALE);
	next = hyphae_graph_new(0);
	for (int i = 0; i < 1000; i++) {
		cell = hyphae_int64_new(next, i);
		assert_non_null(cell);
	}
	expect_gone(weak, ESTALE);
	assert_int_equal(hyphae_graph_free(next), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_life),
		cmocka_unit_test(of_no_cell),
		cmocka_unit_test(kept_by_a_follower),
		cmocka_unit_test(never_another),
		cmocka_unit_test(not_while_it_dies),
		cmocka_unit_test(of_a_graph_that_is_gone),
	};

	return cmocka_run_group_tests_name("weak handles", tests, NULL, NULL);
}
