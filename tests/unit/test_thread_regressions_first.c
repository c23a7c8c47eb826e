/* SPDX-License-Identifier: MIT */
/*
 * Faults of first calls beside another thread that propagates, each held fixed
 * by the behaviour that was wrong.  See test_thread_regressions.c.
 */
#include "thread_regressions.h"

/* ---- first calls beside a drainer -------------------------------------------------- */

struct newcomer {
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	struct hyphae_scope *scope;
	struct drainer *drainer;
	int returns;
	bool leaves_scope, frees_graph;
	/* What it saw. */
	int disposed, freed;
	bool inside, dropped_inside;
	unsigned int calls, drops;
	struct hyphae_subscription *others[3];
};

/* A first call: when it returns the drainer has long left. */
static int come_in(const struct hyphae_signal *signal, void *ctx)
{
	struct newcomer *newcomer = ctx;
	int i;

	(void)signal;
	newcomer->inside = true;
	newcomer->calls++;
	if (newcomer->leaves_scope) {
		hyphae_scope_leave(newcomer->scope);
		newcomer->disposed = hyphae_scope_dispose(newcomer->scope);
	}
	dismiss(newcomer->drainer);
	/* Who takes the place of a subscription that was freed too early? */
	for (i = 0; i < 3; i++)
		newcomer->others[i] = hyphae_subscribe_with(
			newcomer->cell, quiet, NULL, NULL, HYPHAE_SKIP_INITIAL);
	if (newcomer->frees_graph)
		newcomer->freed = hyphae_graph_free(newcomer->graph);
	newcomer->inside = false;
	return newcomer->returns;
}

static void newcomer_dropped(void *ctx)
{
	struct newcomer *newcomer = ctx;

	newcomer->dropped_inside |= newcomer->inside;
	newcomer->drops++;
}

static struct hyphae_subscription *let_in(struct newcomer *newcomer)
{
	struct hyphae_subscription *sub;

	sub = hyphae_subscribe_with(newcomer->cell, come_in, newcomer,
				    newcomer_dropped, 0);
	assert_non_null(sub);
	drainer_done(newcomer->drainer);
	assert_int_equal(newcomer->calls, 1);
	assert_false(newcomer->dropped_inside);
	return sub;
}

static void look_at_others(struct newcomer *newcomer)
{
	int i;

	for (i = 0; i < 3; i++)
		assert_int_not_equal(
			hyphae_subscription_id(newcomer->others[i]), 0);
}

/*
 * A subscription that was ended in its first call, beside a drainer, was
 * dropped and freed by that one while the call ran; what the call returned
 * then went to the subscription that had taken its place.
 */
static void first_call_that_ends_its_scope_is_not_dropped_in_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer;
	struct newcomer newcomer = {.graph = graph,
				    .drainer = &drainer,
				    .returns = HYPHAE_DETACH,
				    .leaves_scope = true};
	struct hyphae_subscription *sub;

	(void)state;
	WATCH();
	newcomer.cell = hyphae_int64_new(graph, 0);
	newcomer.scope = hyphae_scope_new(graph);
	occupy(&drainer, graph);
	assert_int_equal(hyphae_scope_enter(newcomer.scope), 0);
	sub = let_in(&newcomer);
	assert_int_equal(newcomer.disposed, 0);
	assert_int_equal(newcomer.drops, 1);
	assert_int_equal(hyphae_subscription_id(sub), 0);
	look_at_others(&newcomer);
	end_graph(graph, 2, 4);
}

/* One that asked to be ended when the drainer had left was never dropped. */
static void first_call_that_detaches_is_dropped_without_a_drainer(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer;
	struct newcomer newcomer = {
		.graph = graph, .drainer = &drainer, .returns = HYPHAE_DETACH};
	struct hyphae_subscription *sub;

	(void)state;
	WATCH();
	newcomer.cell = hyphae_int64_new(graph, 0);
	occupy(&drainer, graph);
	sub = let_in(&newcomer);
	assert_int_equal(newcomer.drops, 1);
	assert_int_equal(hyphae_subscription_id(sub), 0);
	look_at_others(&newcomer);
	end_graph(graph, 2, 4);
}

/* The same when the cell has ended: told once, dropped once. */
static void
first_call_that_is_the_last_is_dropped_without_a_drainer(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer;
	struct newcomer newcomer = {.graph = graph, .drainer = &drainer};
	struct hyphae_subscription *sub;

	(void)state;
	WATCH();
	newcomer.cell = hyphae_int64_new(graph, 0);
	assert_int_equal(hyphae_cell_fail(newcomer.cell, -EIO, NULL), 0);
	occupy(&drainer, graph);
	sub = let_in(&newcomer);
	assert_int_equal(newcomer.drops, 1);
	assert_int_equal(hyphae_subscription_id(sub), 0);
	end_graph(graph, 2, 1);
}

/* And the graph could be freed in it. */
static void graph_cannot_be_freed_in_a_first_call(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer;
	struct newcomer newcomer = {
		.graph = graph, .drainer = &drainer, .frees_graph = true};
	struct hyphae_subscription *sub;

	(void)state;
	WATCH();
	newcomer.cell = hyphae_int64_new(graph, 0);
	occupy(&drainer, graph);
	sub = let_in(&newcomer);
	assert_int_equal(newcomer.freed, -EBUSY);
	assert_int_equal(newcomer.drops, 0);
	assert_int_not_equal(hyphae_subscription_id(sub), 0);
	end_graph(graph, 2, 5);
	assert_int_equal(newcomer.drops, 1);
}

/* Its error was kept for the next write of any thread, which returned it. */
static void error_of_a_first_call_is_not_that_of_the_next_write(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer;
	struct newcomer newcomer = {
		.graph = graph, .drainer = &drainer, .returns = -EIO};
	struct hyphae_cell *other = hyphae_int64_new(graph, 0);

	(void)state;
	WATCH();
	newcomer.cell = hyphae_int64_new(graph, 0);
	occupy(&drainer, graph);
	let_in(&newcomer);
	assert_int_equal(newcomer.drops, 0);
	assert_int_equal(hyphae_int64_set(other, 3), 0);
	end_graph(graph, 3, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			first_call_that_ends_its_scope_is_not_dropped_in_it),
		cmocka_unit_test(
			first_call_that_detaches_is_dropped_without_a_drainer),
		cmocka_unit_test(
			first_call_that_is_the_last_is_dropped_without_a_drainer),
		cmocka_unit_test(graph_cannot_be_freed_in_a_first_call),
		cmocka_unit_test(
			error_of_a_first_call_is_not_that_of_the_next_write),
	};

	return cmocka_run_group_tests_name("thread regressions, first calls",
					   tests, NULL, NULL);
}
