/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by reading the sources (test_regressions.c): scopes,
 * and the end of a graph.
 */
#include "regressions.h"

#include "core/types.h"

/* ---- scopes ----------------------------------------------------------------- */

struct family {
	struct hyphae_scope *parent, *child, *entered;
	int disposed, entering;
};

static void dispose_parent(void *ctx)
{
	struct family *family = ctx;

	family->disposed = hyphae_scope_dispose(family->parent);
}

static void dispose_parent_and_enter_child(void *ctx)
{
	struct family *family = ctx;

	family->disposed = hyphae_scope_dispose(family->parent);
	family->entering = hyphae_scope_enter(family->child);
	if (family->entering == 0)
		hyphae_scope_leave(family->child);
}

static void make_family(struct family *family, struct hyphae_graph *graph)
{
	family->parent = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_enter(family->parent), 0);
	family->child = hyphae_scope_new(graph);
	family->entered = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_leave(family->parent), 0);
	family->disposed = family->entering = 1;
}

/*
 * The parent's disposal went down into a child that was being disposed and
 * freed it; then the child's own went on in it, and freed it again.
 */
static void parent_waits_for_child_that_is_being_disposed(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *a, *b, *c;
	struct family family;

	(void)state;
	make_family(&family, graph);
	assert_int_equal(
		hyphae_scope_on_dispose(family.child, dispose_parent, &family),
		0);
	assert_int_equal(hyphae_scope_dispose(family.child), 0);
	assert_int_equal(family.disposed, -EBUSY);
	assert_int_equal(hyphae_scope_dispose(family.child), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(family.parent), 0);
	assert_int_equal(hyphae_scope_dispose(family.entered), -ESTALE);
	/* No slot is free twice. */
	a = hyphae_scope_new(graph);
	b = hyphae_scope_new(graph);
	c = hyphae_scope_new(graph);
	assert_true(a != b && b != c && a != c);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A disposal that was refused took back the marks of a child that somebody
 * else was disposing, which then could be entered.
 */
static void refused_disposal_leaves_that_of_a_child_alone(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct family family;

	(void)state;
	make_family(&family, graph);
	assert_int_equal(hyphae_scope_on_dispose(family.child,
						 dispose_parent_and_enter_child,
						 &family),
			 0);
	assert_int_equal(hyphae_scope_enter(family.entered), 0);
	assert_int_equal(hyphae_scope_dispose(family.child), 0);
	assert_int_equal(family.disposed, -EBUSY);
	assert_int_equal(family.entering, -ESTALE);
	assert_int_equal(hyphae_scope_leave(family.entered), 0);
	assert_int_equal(hyphae_scope_dispose(family.parent), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int detach_at_two(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) == 2 ? HYPHAE_DETACH : 0;
}

/*
 * A scope remembered what is in it by handles, which fit another object once
 * in 65,536 times: it ended a stranger's subscription.
 */
static void scope_does_not_end_a_strangers_subscription(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_subscription *own, *other = NULL;
	unsigned int calls = 0, i;

	(void)state;
	assert_int_equal(hyphae_scope_enter(scope), 0);
	own = hyphae_subscribe(cell, detach_at_two, NULL);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_int_equal(hyphae_subscription_id(own), 0);
	for (i = 0; i < 70000; i++) {
		calls = 0;
		other = hyphae_subscribe(cell, count_calls, &calls);
		if (other == own)
			break;
		assert_int_equal(hyphae_unsubscribe(other), 0);
	}
	assert_ptr_equal(other, own);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_not_equal(hyphae_subscription_id(other), 0);
	assert_int_equal(hyphae_int64_set(cell, 3), 0);
	assert_int_equal(calls, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same with a child scope, which was disposed as if it were ours. */
static void scope_does_not_dispose_a_stranger(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *parent = hyphae_scope_new(graph);
	struct hyphae_scope *child, *other = NULL;
	unsigned int i;

	(void)state;
	assert_int_equal(hyphae_scope_enter(parent), 0);
	child = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_leave(parent), 0);
	assert_int_equal(hyphae_scope_dispose(child), 0);
	for (i = 0; i < 70000; i++) {
		other = hyphae_scope_new(graph);
		if (other == child)
			break;
		assert_int_equal(hyphae_scope_dispose(other), 0);
	}
	assert_ptr_equal(other, child);
	assert_int_equal(hyphae_scope_dispose(parent), 0);
	assert_int_equal(hyphae_scope_enter(other), 0);
	assert_int_equal(hyphae_scope_leave(other), 0);
	assert_int_equal(hyphae_scope_dispose(other), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- the end of a graph ------------------------------------------------------ */

static char order[16];

static void note(void *ctx)
{
	strncat(order, ctx, sizeof(order) - strlen(order) - 1);
}

struct reader {
	struct hyphae_cell *cell;
	int64_t value;
	int result;
};

static void read_cell(void *ctx)
{
	struct reader *reader = ctx;

	reader->result = hyphae_int64_get(reader->cell, &reader->value);
}

/*
 * Functions of on_dispose were not called when the graph was freed, and what
 * they own leaked.
 */
static void freeing_a_graph_disposes_its_scopes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *outer = hyphae_scope_new(graph), *inner;
	struct reader reader = {hyphae_int64_new(graph, 5), 0, 1};

	(void)state;
	order[0] = '\0';
	assert_int_equal(hyphae_scope_on_dispose(outer, note, "a"), 0);
	assert_int_equal(hyphae_scope_enter(outer), 0);
	inner = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_on_dispose(inner, note, "b"), 0);
	assert_int_equal(hyphae_scope_on_dispose(inner, read_cell, &reader), 0);
	assert_int_equal(hyphae_scope_on_dispose(inner, note, "c"), 0);
	assert_int_equal(hyphae_scope_on_dispose(outer, note, "d"), 0);
	/* Not while one is entered; then nothing has happened. */
	assert_int_equal(hyphae_graph_free(graph), -EBUSY);
	assert_string_equal(order, "");
	assert_int_equal(hyphae_scope_leave(outer), 0);

	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_string_equal(order, "dcba");
	/* The graph is still whole then. */
	assert_int_equal(reader.result, 0);
	assert_int_equal(reader.value, 5);
	assert_int_equal(hyphae_scope_enter(outer), -ESTALE);
}

struct intruder {
	struct hyphae_scope *scope;
	int result;
};

static void enter(void *ctx)
{
	struct intruder *intruder = ctx;

	intruder->result = hyphae_scope_enter(intruder->scope);
}

/*
 * A drop function could enter a scope of the graph that was being freed; the
 * thread was in it for ever, and owned the next graph's cells with it.
 */
static void scopes_of_a_graph_that_is_freed_cannot_be_entered(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct intruder intruder = {hyphae_scope_new(graph), 1};
	struct hyphae_graph *next;
	struct hyphae_scope *scope;

	(void)state;
	assert_int_equal(hyphae_cell_own(cell, &intruder, enter), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(intruder.result, -ESTALE);

	next = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	scope = hyphae_scope_new(next);
	cell = hyphae_int64_new(next, 3);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(value(cell), 3);
	assert_int_equal(hyphae_graph_free(next), 0);
}

struct heir {
	struct hyphae_cell *input;
	unsigned int drops;
};

static int derive(const struct hyphae_signal *signal, void *ctx)
{
	struct heir *heir = ctx;

	(void)signal;
	hyphae_map(heir->input, &hyphae_int64, positive, NULL);
	return 0;
}

static void count_drop(void *ctx)
{
	((struct heir *)ctx)->drops++;
}

/*
 * A cell that a subscriber made from one that holds an error was queued, and
 * a set left it there.  Freeing the graph then stopped at the queue and
 * released nothing: no drop function was called.
 */
static void set_computes_what_its_subscribers_made(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, -1);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct heir heir = {
		.input = hyphae_map(source, &hyphae_int64, positive, NULL)};

	(void)state;
	assert_int_equal(hyphae_cell_own(source, &heir, count_drop), 0);
	assert_int_equal(hyphae_cell_set_name(source, "substrate"), 0);
	assert_non_null(hyphae_subscribe_with(trigger, derive, &heir,
					      count_drop, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hy_graph(graph)->queue.count, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(heir.drops, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parent_waits_for_child_that_is_being_disposed),
		cmocka_unit_test(refused_disposal_leaves_that_of_a_child_alone),
		cmocka_unit_test(scope_does_not_end_a_strangers_subscription),
		cmocka_unit_test(scope_does_not_dispose_a_stranger),
		cmocka_unit_test(freeing_a_graph_disposes_its_scopes),
		cmocka_unit_test(
			scopes_of_a_graph_that_is_freed_cannot_be_entered),
		cmocka_unit_test(set_computes_what_its_subscribers_made),
	};

	return cmocka_run_group_tests_name("regressions: scopes", tests, NULL,
					   NULL);
}
