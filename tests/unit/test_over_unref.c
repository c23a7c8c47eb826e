/* SPDX-License-Identifier: MIT */
/*
 * hyphae_cell_unref() one time too many, at a moment at which hyphae itself
 * holds the cell for a moment, or somebody does by other means: it is -ESTALE,
 * and nothing is released under those that hold it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/iterate.h"

/* What a function does: gives the cell back twice. */
struct twice {
	struct hyphae_cell *cell;
	int first, second;
};

static void give_back_twice(struct twice *twice)
{
	twice->first = hyphae_cell_unref(twice->cell);
	twice->second = hyphae_cell_unref(twice->cell);
}

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
				     HYPHAE_SINGLE_THREAD | HYPHAE_EAGER};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static long live;

static struct hyphae_graph *begin(unsigned int kind)
{
	live = hy_alloc_live();
	return hyphae_graph_new(kinds[kind]);
}

static void end(struct hyphae_graph *graph)
{
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hy_alloc_live(), live);
}

static uint64_t cells(struct hyphae_graph *graph)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	return counts.cells;
}

static int64_t value(struct hyphae_cell *cell)
{
	int64_t n = -1;

	assert_int_equal(hyphae_int64_get(cell, &n), 0);
	return n;
}

/* ---- while a cell is made of it ------------------------------------------- */

static int first_run(void *ret, const void *input, void *ctx)
{
	struct twice *twice = ctx;

	if (twice->cell)
		give_back_twice(twice);
	twice->cell = NULL;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int first_sum(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	return count == 2 ? first_run(ret, inputs[0], ctx) : -EINVAL;
}

static void in_the_first_run_of_a_map(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *map;
		struct twice twice = {cell, 1, 1};

		map = hyphae_map(cell, &hyphae_int64, first_run, &twice);
		assert_non_null(map);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(hyphae_int64_set(cell, 5), 0);
		assert_int_equal(value(map), 6);
		assert_int_equal(hyphae_cell_unref(map), 0);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

static void in_the_first_run_of_a_combine(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1), *sum;
		struct hyphae_cell *both[] = {cell, cell};
		struct twice twice = {cell, 1, 1};

		sum = hyphae_combine(both, 2, &hyphae_int64, first_sum, &twice);
		assert_non_null(sum);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(hyphae_int64_set(cell, 5), 0);
		assert_int_equal(value(sum), 6);
		assert_int_equal(hyphae_cell_unref(sum), 0);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

/* ---- while it is written, or told ------------------------------------------ */

static int told(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	give_back_twice(ctx);
	return HYPHAE_DETACH;
}

/* The subscription that ends keeps the cell until the pass is over. */
static int told_and_gone(const struct hyphae_signal *signal, void *ctx)
{
	struct twice *twice = ctx;

	(void)signal;
	hyphae_unsubscribe_all(twice->cell);
	give_back_twice(twice);
	return 0;
}

static void in_a_subscriber(void **state)
{
	static const hyphae_subscriber_fn fns[] = {told, told_and_gone};

	(void)state;
	for (unsigned int kind = 0; kind < KINDS * 2; kind++) {
		struct hyphae_graph *graph = begin(kind / 2);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct twice twice = {cell, 1, 1};

		assert_non_null(hyphae_subscribe_with(cell, fns[kind % 2],
						      &twice, NULL,
						      HYPHAE_SKIP_INITIAL));
		assert_int_equal(hyphae_int64_set(cell, 2), 0);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

static int write_and_give_back(const struct hyphae_signal *signal, void *ctx)
{
	struct twice *twice = ctx;

	(void)signal;
	if (hyphae_int64_set(twice->cell, 7))
		return -EIO;
	give_back_twice(twice);
	return 0;
}

/* A write that waits for the next wave. */
static void while_a_write_waits(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct hyphae_cell *other = hyphae_int64_new(graph, 1);
		struct twice twice = {other, 1, 1};

		assert_non_null(hyphae_subscribe_with(cell, write_and_give_back,
						      &twice, NULL,
						      HYPHAE_SKIP_INITIAL));
		assert_int_equal(hyphae_int64_set(cell, 2), 0);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(cells(graph), 1);
		end(graph);
	}
}

/* ---- what waits in lists ------------------------------------------------------ */

static void hooked(struct hyphae_cell *cell, void *ctx)
{
	struct twice *twice = ctx;

	twice->cell = cell;
	give_back_twice(twice);
}

static void hear_nothing(struct twice *twice, struct hyphae_cell *cell)
{
	struct hyphae_subscription *sub;

	sub = hyphae_subscribe_with(cell, told, twice, NULL,
				    HYPHAE_SKIP_INITIAL);
	assert_non_null(sub);
	assert_int_equal(hyphae_unsubscribe(sub), 0);
}

/* The hook is called of a list that holds the cell. */
static void in_a_hook(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct twice twice = {NULL, 1, 1};

		assert_int_equal(
			hyphae_cell_set_hooks(cell, NULL, hooked, &twice), 0);
		hear_nothing(&twice, cell);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

static int shown(struct hyphae_cell *cell, void *ctx)
{
	struct twice *twice = ctx;

	twice->cell = cell;
	give_back_twice(twice);
	return 0;
}

static void in_a_walk(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct twice twice = {NULL, 1, 1};

		assert_non_null(hyphae_int64_new(graph, 1));
		assert_int_equal(hyphae_graph_each_cell(graph, shown, &twice),
				 0);
		assert_int_equal(twice.first, 0);
		assert_int_equal(twice.second, -ESTALE);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

/* ---- what others have to give back ---------------------------------------------- */

static void a_posters_reference(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct hyphae_poster *poster = hyphae_poster_new(cell);

		assert_non_null(poster);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
		assert_int_equal(hyphae_poster_post_int64(poster, 3), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(value(cell), 3);
		hyphae_poster_free(poster);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

static void an_inputs_reference(void **state)
{
	int64_t three = 3;

	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct hyphae_input *input = hyphae_input_new(
			cell, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);

		assert_non_null(input);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
		assert_int_equal(hyphae_input_push(input, &three), 0);
		assert_int_equal(hyphae_input_flush(input), 0);
		assert_int_equal(value(cell), 3);
		assert_int_equal(hyphae_input_free(input), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

/* The input's own cell, which nothing shows. */
static struct hyphae_cell *own_cell(struct hyphae_graph *graph)
{
	struct hy_chunk *chunk = hy_graph(graph)->chunks;

	for (; chunk; chunk = chunk->next) {
		for (uint32_t i = 0; hy_has_cells(chunk) && i < chunk->used;
		     i++) {
			struct hy_cell *c = hy_slot_at(chunk, i);

			if (c->id && c->type == &hy_hidden_type)
				return hy_cell_handle(c);
		}
	}
	return NULL;
}

static int find_other(struct hyphae_cell *cell, void *ctx)
{
	struct hyphae_cell **known = ctx;

	if (cell != known[0])
		known[1] = cell;
	return 0;
}

static void a_part_of_an_input(void **state)
{
	int64_t three = 3;

	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
		struct hyphae_cell *known[] = {cell, NULL};
		struct hyphae_input *input = hyphae_input_new(
			cell, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);

		assert_int_equal(
			hyphae_graph_each_cell(graph, find_other, known), 0);
		assert_null(known[1]);
		known[1] = own_cell(graph);
		assert_non_null(known[1]);
		assert_int_equal(hyphae_cell_unref(known[1]), -ESTALE);
		assert_int_equal(hyphae_input_push(input, &three), 0);
		assert_int_equal(hyphae_input_flush(input), 0);
		assert_int_equal(value(cell), 3);
		assert_int_equal(hyphae_input_free(input), 0);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

static void a_scopes_reference(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_scope *scope = hyphae_scope_new(graph);
		struct twice nothing = {NULL, 1, 1};
		struct hyphae_cell *cell, *map, *own;

		assert_int_equal(hyphae_scope_enter(scope), 0);
		cell = hyphae_int64_new(graph, 1);
		map = hyphae_map(cell, &hyphae_int64, first_run, &nothing);
		assert_int_equal(hyphae_scope_leave(scope), 0);
		assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
		assert_int_equal(hyphae_cell_unref(map), -ESTALE);
		own = hyphae_cell_ref(cell);
		assert_ptr_equal(own, cell);
		assert_int_equal(hyphae_int64_set(cell, 2), 0);
		assert_int_equal(value(map), 3);
		assert_int_equal(hyphae_scope_dispose(scope), 0);
		assert_int_equal(cells(graph), 1);
		assert_int_equal(hyphae_cell_unref(own), 0);
		assert_int_equal(hyphae_cell_unref(own), -ESTALE);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

/* A cell that is on its way out of a constructor is nobody's to give back. */
struct making {
	struct hyphae_graph *graph;
	int results[4];
	unsigned int count;
};

static int give_back_new(struct hyphae_cell *cell, void *ctx)
{
	struct making *making = ctx;

	making->results[making->count++] = hyphae_cell_unref(cell);
	return 0;
}

static int look_around(void *ret, void *ctx)
{
	struct making *making = ctx;

	if (making->count == 0)
		hyphae_graph_each_cell(making->graph, give_back_new, making);
	*(int64_t *)ret = 4;
	return 0;
}

static void a_constructors_reference(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct making making = {.graph = graph};
		struct hyphae_cell *cell;

		cell = hyphae_computed(graph, &hyphae_int64, look_around,
				       &making);
		assert_non_null(cell);
		assert_int_equal(making.count, 1);
		assert_int_equal(making.results[0], -ESTALE);
		assert_int_equal(value(cell), 4);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(cells(graph), 0);
		end(graph);
	}
}

/* What a constructor makes on the way is given back in a scope as well. */
static void a_chain_in_a_scope(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct hyphae_graph *graph = begin(kind);
		struct hyphae_scope *scope = hyphae_scope_new(graph);
		struct hyphae_cell *source = hyphae_int64_new(graph, 1), *last;
		struct twice nothing = {NULL, 1, 1};
		struct hyphae_pipe *pipe = hyphae_pipe(source);

		for (int i = 0; i < 3; i++)
			pipe = hyphae_pipe_map(pipe, &hyphae_int64, first_run,
					       &nothing);
		assert_int_equal(hyphae_scope_enter(scope), 0);
		last = hyphae_materialize_unfused(pipe);
		assert_int_equal(hyphae_scope_leave(scope), 0);
		assert_int_equal(value(last), 4);
		assert_int_equal(cells(graph), 4);
		assert_int_equal(hyphae_cell_unref(last), -ESTALE);
		assert_int_equal(hyphae_scope_dispose(scope), 0);
		assert_int_equal(cells(graph), 1);
		assert_int_equal(hyphae_cell_unref(source), 0);
		end(graph);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_first_run_of_a_map),
		cmocka_unit_test(in_the_first_run_of_a_combine),
		cmocka_unit_test(in_a_subscriber),
		cmocka_unit_test(while_a_write_waits),
		cmocka_unit_test(in_a_hook),
		cmocka_unit_test(in_a_walk),
		cmocka_unit_test(a_posters_reference),
		cmocka_unit_test(an_inputs_reference),
		cmocka_unit_test(a_part_of_an_input),
		cmocka_unit_test(a_scopes_reference),
		cmocka_unit_test(a_constructors_reference),
		cmocka_unit_test(a_chain_in_a_scope),
	};

	return cmocka_run_group_tests_name("over unref", tests, NULL, NULL);
}
