/* SPDX-License-Identifier: MIT */
/*
 * Cells and subscriptions of a graph of one thread are made and released in a
 * short way if nothing stands in it: what does, one thing after the other.
 * Each is made at one site, so that all but the first find everything there.
 */
#include "one_site.h"

#include "base/alloc.h"
#include "core/sync.h"
#include "core/types.h"

#define TURNS 3

/* All that it takes is there. */
static void make_ready(struct hyphae_graph *graph)
{
	struct hyphae_cell *a = made(graph, 0), *b = mapped(a, plus_one, NULL);
	struct hyphae_cell *c = mapped(b, plus_one, NULL);
	unsigned int calls = 0;

	assert_int_equal(hyphae_unsubscribe(subscribed(a, &calls, NULL)), 0);
	assert_int_equal(hyphae_cell_unref(c), 0);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(hyphae_cell_unref(a), 0);
}

static int count_runs(void *ret, const void *input, void *ctx)
{
	++*(unsigned int *)ctx;
	return plus_one(ret, input, NULL);
}

static void a_lazy_graph_stays_lazy(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a, *b;

	(void)state;
	make_ready(graph);
	assert_int_equal(hyphae_graph_set_lazy(graph, true), 0);
	a = made(graph, 1);
	for (int turn = 0; turn < TURNS; turn++) {
		struct hyphae_subscription *s;
		unsigned int runs = 0, calls = 0;

		b = mapped(a, count_runs, &runs);
		assert_int_equal(runs, 0);
		s = subscribed(b, &calls, NULL);
		assert_int_equal(runs, 1);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_int64_set(a, 2 + turn), 0);
		assert_int_equal(runs, 1);
		/* It is idle. */
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(counts(graph).cells, 1);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#define HIGH 300

static void cells_lie_as_high_as_they_have_to(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cells[HIGH];

	(void)state;
	make_ready(graph);
	cells[0] = made(graph, 0);
	for (uint32_t n = 1; n < HIGH; n++) {
		cells[n] = mapped(cells[n - 1], plus_one, NULL);
		assert_int_equal(counts(graph).height, n < 2 ? 2 : n);
	}
	assert_int_equal(hyphae_int64_set(cells[0], 5), 0);
	assert_int_equal(value(cells[HIGH - 1]), 5 + HIGH - 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void a_scope_has_what_is_made_in_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *outer;
	unsigned int calls = 0;

	(void)state;
	make_ready(graph);
	outer = made(graph, 1);
	for (int turn = 0; turn < TURNS; turn++) {
		struct hyphae_scope *scope = hyphae_scope_new(graph);
		struct hyphae_subscription *s;
		struct hyphae_cell *a, *b;

		assert_int_equal(hyphae_scope_enter(scope), 0);
		a = made(graph, 1);
		b = mapped(outer, plus_one, NULL);
		s = subscribed(outer, &calls, NULL);
		assert_int_equal(hyphae_scope_leave(scope), 0);
		assert_int_equal(hyphae_cell_unref(a), -ESTALE);
		assert_int_equal(hyphae_cell_unref(b), -ESTALE);
		assert_int_equal(counts(graph).cells, 3);
		assert_int_equal(counts(graph).subscriptions, 1);
		assert_int_equal(hyphae_scope_dispose(scope), 0);
		assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
		assert_int_equal(counts(graph).cells, 1);
		assert_int_equal(counts(graph).subscriptions, 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* One block each (HYPHAE_HEAP_CELLS), and none else. */
static void all_have_a_block_on_the_heap(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_HEAP_CELLS);
	unsigned int calls = 0;

	(void)state;
	make_ready(graph);
	for (int turn = 0; turn < TURNS; turn++) {
		unsigned long before = hy_alloc_count();
		struct hyphae_subscription *s;
		struct hyphae_cell *a, *b;

		a = made(graph, 1);
		assert_int_equal(hy_alloc_count() - before, 1);
		b = mapped(a, plus_one, NULL);
		assert_int_equal(hy_alloc_count() - before, 2);
		s = subscribed(a, &calls, NULL);
		assert_int_equal(hy_alloc_count() - before, 3);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(hy_alloc_count() - before, 3);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#define MANY 300

/* I7: an entry for each edge and cell. */
static void an_eager_graph_has_room_on_its_stack(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_EAGER);
	const struct hy_graph *g = hy_graph(graph);
	struct hyphae_cell *a, *b = NULL;

	(void)state;
	make_ready(graph);
	a = made(graph, 1);
	for (int n = 0; n < MANY; n++) {
		b = mapped(a, plus_one, NULL);
		assert_true(g->stack_capacity >= g->nedges + g->ncells);
	}
	assert_int_equal(hyphae_int64_set(a, 5), 0);
	assert_int_equal(value(b), 6);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* I7: an entry for each cell with subscribers, and one more. */
static void there_is_room_for_all_that_fire(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	const struct hy_graph *g = hy_graph(graph);
	unsigned int calls = 0;

	(void)state;
	make_ready(graph);
	for (size_t n = 1; n <= MANY; n++) {
		assert_non_null(subscribed(made(graph, 1), &calls, NULL));
		assert_int_equal(g->nsubscribed, n);
		assert_true(g->fired_capacity >= n);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void add_one(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	++*(int *)ctx;
}

static void add_hundred(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	*(int *)ctx += 100;
}

static void an_input_hears_of_the_last(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a, *b;
	unsigned int calls = 0;
	int heard = 0;

	(void)state;
	make_ready(graph);
	a = made(graph, 1);
	assert_int_equal(hyphae_cell_set_hooks(a, add_one, add_hundred, &heard),
			 0);
	for (int turn = 0; turn < TURNS; turn++) {
		struct hyphae_subscription *s;

		b = mapped(a, plus_one, NULL);
		assert_int_equal(heard, 202 * turn + 1);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(heard, 202 * turn + 101);
		s = subscribed(a, &calls, NULL);
		assert_int_equal(heard, 202 * turn + 102);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(heard, 202 * turn + 202);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The log has it until the batch ends. */
static void what_is_written_in_a_batch_stays(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);

	(void)state;
	make_ready(graph);
	for (int turn = 0; turn < TURNS; turn++) {
		struct hyphae_cell *a = made(graph, 1), *b;

		assert_int_equal(hyphae_batch_begin(graph), 0);
		assert_int_equal(hyphae_int64_set(a, 2), 0);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(counts(graph).cells, 1);
		b = made(graph, 7);
		assert_int_equal(hyphae_batch_end(graph), 0);
		assert_int_equal(counts(graph).cells, 1);
		assert_int_equal(value(b), 7);
		assert_int_equal(hyphae_cell_unref(b), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int release_other(void *ret, const void *input, void *ctx)
{
	struct hyphae_cell **other = ctx;

	hyphae_cell_unref(*other);
	*other = NULL;
	return plus_one(ret, input, NULL);
}

/* What its function leaves is seen to before the new cell is handed out. */
static void nothing_is_left_for_later(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a;

	(void)state;
	make_ready(graph);
	a = made(graph, 1);
	for (int turn = 0; turn < TURNS; turn++) {
		struct hyphae_cell *other = made(graph, 2), *b;
		unsigned int drops = 0;

		assert_int_equal(hyphae_cell_set_data(other, &drops, count), 0);
		b = mapped(a, release_other, &other);
		assert_int_equal(drops, 1);
		assert_int_equal(value(b), 2);
		assert_int_equal(hyphae_graph_check_idle(graph), 0);
		assert_int_equal(counts(graph).cells, 2);
		assert_int_equal(hyphae_cell_unref(b), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- effects, which are a cell and a subscription ------------------------ */

static int read_it(void *ctx)
{
	int64_t x;

	return hyphae_int64_get(ctx, &x);
}

static struct hyphae_subscription *effect_of(struct hyphae_graph *graph,
					     struct hyphae_cell *cell)
{
	return hyphae_effect(graph, read_it, cell);
}

static size_t ids_left(const struct hy_graph *g)
{
	return g->id_end - g->id_next;
}

/* Each takes two ids; the next ones are fetched when one is left. */
static void an_effect_takes_no_id_that_is_not_there(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = made(graph, 1);
	struct hy_graph *g = hy_graph(graph);
	struct hyphae_subscription *s;
	uint64_t end;

	(void)state;
	for (size_t left = 0; left < 4; left++) {
		hyphae_unsubscribe(effect_of(graph, a));
		while (ids_left(g) != left)
			hyphae_cell_unref(made(graph, 0));
		end = g->id_end;
		s = effect_of(graph, a);
		assert_true(g->id_next <= g->id_end);
		assert_true(hyphae_subscription_id(s) < g->id_end);
		assert_int_equal(g->id_end == end, left > 1);
		assert_int_equal(hyphae_unsubscribe(s), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Of all lists that grow with them. */
static void there_is_room_for_all_effects(void **state)
{
	(void)state;
	for (int scoped = 0; scoped < 2; scoped++) {
		struct hyphae_graph *graph =
			hyphae_graph_new(HYPHAE_SINGLE_THREAD);
		struct hyphae_scope *scope = hyphae_scope_new(graph);
		struct hyphae_cell *a = made(graph, 1);
		const struct hy_graph *g = hy_graph(graph);

		hyphae_unsubscribe(effect_of(graph, a));
		if (scoped)
			assert_int_equal(hyphae_scope_enter(scope), 0);
		for (size_t i = 1; i <= MANY; i++) {
			assert_non_null(effect_of(graph, a));
			assert_int_equal(g->nsubscribed, i);
			assert_true(g->nsubscribed <= g->fired_capacity);
			assert_int_equal(g->nsignals, i);
			assert_true(g->nsignals <= g->more.capacity);
			assert_true(g->nsignals <= g->again.capacity);
			if (!scoped)
				continue;
			assert_int_equal(hy_self.scope->count, i);
			assert_true(hy_self.scope->count <=
				    hy_self.scope->capacity);
		}
		if (scoped)
			assert_int_equal(hyphae_scope_leave(scope), 0);
		assert_int_equal(hyphae_scope_dispose(scope), 0);
		assert_int_equal(counts(graph).subscriptions,
				 scoped ? 0 : MANY);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* Others have taken what there was, of the list that both use. */
static void there_is_room_for_an_effect_that_fires(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = made(graph, 1);
	const struct hy_graph *g = hy_graph(graph);
	struct hyphae_subscription *s;
	unsigned int calls = 0;
	size_t capacity;

	(void)state;
	for (int i = 0; i < 3; i++) {
		hyphae_unsubscribe(effect_of(graph, a));
		while (g->nsubscribed < g->fired_capacity)
			subscribed(made(graph, 0), &calls, NULL);
		capacity = g->fired_capacity;
		s = effect_of(graph, a);
		assert_int_equal(g->nsubscribed, capacity + 1);
		assert_true(g->fired_capacity > capacity);
		assert_int_equal(hyphae_unsubscribe(s), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int read_many(void *ctx)
{
	struct hyphae_cell **cells = ctx;
	int64_t x;

	for (int i = 0; i < MANY; i++)
		hyphae_int64_get(cells[i], &x);
	return 0;
}

/* I7: an entry for each edge and each cell. */
static void an_eager_graph_has_room_for_all_that_is_read(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_EAGER);
	const struct hy_graph *g = hy_graph(graph);
	struct hyphae_cell *cells[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++)
		cells[i] = made(graph, i);
	assert_non_null(hyphae_effect(graph, read_many, cells));
	assert_int_equal(g->nedges, MANY);
	assert_true(g->stack_capacity >= g->nedges + g->ncells);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lazy_graph_stays_lazy),
		cmocka_unit_test(cells_lie_as_high_as_they_have_to),
		cmocka_unit_test(a_scope_has_what_is_made_in_it),
		cmocka_unit_test(all_have_a_block_on_the_heap),
		cmocka_unit_test(an_eager_graph_has_room_on_its_stack),
		cmocka_unit_test(there_is_room_for_all_that_fire),
		cmocka_unit_test(an_input_hears_of_the_last),
		cmocka_unit_test(what_is_written_in_a_batch_stays),
		cmocka_unit_test(nothing_is_left_for_later),
		cmocka_unit_test(an_effect_takes_no_id_that_is_not_there),
		cmocka_unit_test(there_is_room_for_all_effects),
		cmocka_unit_test(there_is_room_for_an_effect_that_fires),
		cmocka_unit_test(an_eager_graph_has_room_for_all_that_is_read),
	};

	return cmocka_run_group_tests_name("quietly", tests, NULL, NULL);
}
