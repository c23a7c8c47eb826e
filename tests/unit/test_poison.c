/* SPDX-License-Identifier: MIT */
/*
 * AddressSanitizer and the library's own slots: in a build with it, whoever
 * touches what lay in a slot that is free again is found, as he would be with
 * memory of the heap.  In other builds nobody is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <hyphae/hyphae.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/slab.h"

#ifdef HY_ASAN
#define FOUND 1
#else
#define FOUND 0
#endif

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static int listen(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)inputs[0];
	return 0;
}

/* Touch 8 bytes there in a child: is that the end of it? */
static int is_found(void *at)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		int nowhere = open("/dev/null", O_WRONLY);

		dup2(nowhere, 2);
		++*(volatile uint64_t *)at;
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status != 0;
}

#define EACH_GRAPH(g)                                                          \
	for (unsigned int kind_ = 0; kind_ < 2; kind_++)                       \
		for (struct hyphae_graph *g = hyphae_graph_new(                \
			     kind_ ? HYPHAE_SINGLE_THREAD : 0);                \
		     g; hyphae_graph_free(g), (g) = NULL)

/* What is found while it lives would be a mistake, too. */
#define CHECK_FIELD(thing, field, want)                                        \
	assert_int_equal(is_found(&(thing)->field), want)

static void cells(void **state)
{
	(void)state;
	EACH_GRAPH(g)
	{
		struct hyphae_cell *source = hyphae_int64_new(g, 1);
		struct hyphae_cell *map =
			hyphae_map(source, &hyphae_int64, twice, NULL);
		struct hy_cell *s = hy_place(source);
		struct hy_derived *d = hy_place(map);

		CHECK_FIELD(d, op, 0);
		CHECK_FIELD(s, deps, 0);
		assert_int_equal(hyphae_cell_unref(map), 0);
		CHECK_FIELD(d, cell.deps, FOUND);
		CHECK_FIELD(d, cell.targets, FOUND);
		CHECK_FIELD(d, op, FOUND);
		CHECK_FIELD(d, one.input, FOUND);
		CHECK_FIELD(s, targets, 0);
		assert_int_equal(hyphae_cell_unref(source), 0);
		CHECK_FIELD(s, subs, FOUND);
		/* A reader without the lock may be looking at these. */
		CHECK_FIELD(s, word, 0);
		CHECK_FIELD(s, height, 0);
		assert_int_equal(hyphae_cell_unref(source), -ESTALE);
	}
}

static void a_slot_that_is_taken_again(void **state)
{
	(void)state;
	EACH_GRAPH(g)
	{
		struct hyphae_cell *first = hyphae_int64_new(g, 1), *second;
		struct hy_cell *c = hy_place(first);

		hyphae_cell_unref(first);
		CHECK_FIELD(c, targets, FOUND);
		second = hyphae_int64_new(g, 2);
		assert_ptr_equal(hy_place(second), c);
		CHECK_FIELD(c, targets, 0);
		hyphae_cell_unref(second);
	}
}

static void subscriptions_scopes_timers_and_inputs(void **state)
{
	(void)state;
	EACH_GRAPH(g)
	{
		struct hyphae_cell *in[2] = {hyphae_int64_new(g, 1),
					     hyphae_int64_new(g, 2)};
		struct hyphae_cell *sum =
			hyphae_combine(in, 2, &hyphae_int64, add, NULL);
		struct hy_fan_in *f =
			((struct hy_derived *)hy_place(sum))->fan_in;
		struct hyphae_subscription *sub =
			hyphae_subscribe(in[0], listen, NULL);
		struct hy_sub *s = hy_place(sub);
		struct hyphae_scope *scope = hyphae_scope_new(g);
		struct hy_scope *o = hy_place(scope);

		CHECK_FIELD(f, count, 0);
		hyphae_cell_unref(sum);
		CHECK_FIELD(f, edges[0], FOUND);
		CHECK_FIELD(s, cell, 0);
		hyphae_unsubscribe(sub);
		CHECK_FIELD(s, cell, FOUND);
		CHECK_FIELD(o, items, 0);
		hyphae_scope_dispose(scope);
		CHECK_FIELD(o, items, FOUND);
		hyphae_cell_unref(in[0]);
		hyphae_cell_unref(in[1]);
	}
}

/* What a graph leaves behind when it goes. */
static void a_graph_that_has_gone(void **state)
{
	struct hyphae_graph *g = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(g, 1);
	struct hy_cell *c = hy_place(cell);

	(void)state;
	CHECK_FIELD(c, targets, 0);
	hyphae_graph_free(g);
	CHECK_FIELD(c, targets, FOUND);
	assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
	g = hyphae_graph_new(0);
	cell = hyphae_int64_new(g, 1);
	CHECK_FIELD((struct hy_cell *)hy_place(cell), targets, 0);
	hyphae_graph_free(g);
}

/* That memory is the caller's again, for whatever he likes. */
static void storage_that_is_given_back(void **state)
{
	static char memory[4 * HYPHAE_CHUNK_BYTES];
	const struct hyphae_graph_options options = {
		.storage = memory,
		.storage_bytes = sizeof(memory),
	};
	struct hyphae_graph *g = hyphae_graph_new_with(&options);
	struct hyphae_cell *cell = hyphae_int64_new(g, 1);
	struct hy_cell *c = hy_place(cell);

	(void)state;
	assert_non_null(g);
	hyphae_cell_unref(cell);
	CHECK_FIELD(c, targets, FOUND);
	hyphae_graph_free(g);
	CHECK_FIELD(c, targets, 0);
	memset(memory, 0, sizeof(memory));
	g = hyphae_graph_new_with(&options);
	assert_non_null(g);
	assert_non_null(hyphae_int64_new(g, 1));
	hyphae_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells),
		cmocka_unit_test(a_slot_that_is_taken_again),
		cmocka_unit_test(subscriptions_scopes_timers_and_inputs),
		cmocka_unit_test(a_graph_that_has_gone),
		cmocka_unit_test(storage_that_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
