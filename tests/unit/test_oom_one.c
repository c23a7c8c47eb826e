// SPDX-License-Identifier: MIT
/*
 * Operators of one input without memory: each constructor fails with ENOMEM,
 * leaves the graph as it was and works when it is tried again; and a step in
 * a graph that has settled down asks for no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "oom.h"

/* Values that lie in boxes and own nothing, so only hyphae allocates. */
struct large {
	int64_t n;
	char filler[120];
};
HYPHAE_TYPE(large, struct large);

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *a; /* a number */
	struct hyphae_cell *l; /* large */
	struct hyphae_cell *e; /* an event of large */
};

static const int64_t one = 1;
static const struct large large_one = {.n = 1};

static int no(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value < 0;
}

static int yes(const void *value, void *ctx)
{
	return !no(value, ctx);
}

static bool differ(const void *last, const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)last == *(const int64_t *)value;
}

static void look(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
}

static int make_large(void *ret, int code, const char *message, void *ctx)
{
	(void)message;
	(void)ctx;
	*(struct large *)ret = (struct large){.n = code};
	return 0;
}

static int other_code(int code, const char *message, void *ctx)
{
	(void)message;
	(void)ctx;
	return code - 1;
}

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	const struct large *a = acc, *v = value;

	(void)ctx;
	*(struct large *)ret = (struct large){.n = a->n + v->n};
	return 0;
}

static int sum(void *ret, const void *const *values, size_t count, void *ctx)
{
	struct large *to = ret;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		to->n += ((const struct large *)values[i])->n;
	return 0;
}

static int64_t parity(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value % 2;
}

static int output(void *ret, const void *from, const void *to, void *ctx)
{
	(void)from;
	(void)ctx;
	*(struct large *)ret = *(const struct large *)to;
	return 0;
}

static const struct hyphae_transition flips[] = {
	{HYPHAE_ANY_STATE, HYPHAE_ANY_STATE, NULL, output}};
static const struct hyphae_machine machine = {
	.state_of = parity, .transitions = flips, .transition_count = 1};

static unsigned int ends;

static void at_end(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	(void)ctx;
	ends++;
}

/* ---- the constructors ------------------------------------------------------ */

typedef struct hyphae_cell *(*step_fn)(struct garden *g);

#define STEP(name_, expression)                                                \
	static struct hyphae_cell *name_(struct garden *g)                     \
	{                                                                      \
		return expression;                                             \
	}                                                                      \
	struct oom_##name_##_needs_semicolon

STEP(tap, hyphae_tap(g->l, look, NULL));
STEP(catch_error, hyphae_catch_error(g->l, make_large, NULL));
STEP(map_error, hyphae_map_error(g->l, other_code, NULL));
STEP(unwrap_or, hyphae_unwrap_or(g->l, &large_type, &large_one));
STEP(until_changed, hyphae_distinct_until_changed_by(g->l, differ, NULL));
STEP(deduped, hyphae_deduped(g->l));
STEP(distinct, hyphae_distinct(g->l, 100));
STEP(distinct_event, hyphae_distinct(g->e, 3));
STEP(hold, hyphae_hold(g->e, &large_type, &large_one));
STEP(hold_none, hyphae_hold(g->e, NULL, NULL));
STEP(changes, hyphae_changes(g->l));
STEP(take, hyphae_take(g->l, 1000));
STEP(take_one, hyphae_take(g->l, 1));
STEP(take_none, hyphae_take(g->l, 0));
STEP(first, hyphae_first(g->e));
STEP(element_at, hyphae_element_at(g->l, 1000));
STEP(skip_two, hyphae_skip(g->l, 2));
STEP(take_while, hyphae_take_while(g->l, yes, false, NULL));
STEP(skip_while, hyphae_skip_while(g->l, no, NULL));
STEP(take_until, hyphae_take_until(g->l, g->a));
STEP(skip_until, hyphae_skip_until(g->l, g->a));
STEP(last, hyphae_last(g->l));
STEP(last_or, hyphae_last_or(g->e, &large_type, &large_one));
STEP(finalize, hyphae_finalize(g->l, at_end, NULL));
STEP(scan, hyphae_scan(g->l, &large_type, &large_one, add, NULL));
STEP(scan_event, hyphae_scan(g->e, &large_type, &large_one, add, NULL));
STEP(reduce, hyphae_reduce(g->l, &large_type, &large_one, add, NULL));
STEP(pairwise, hyphae_pairwise(g->l, &large_type, sum, NULL));
STEP(window, hyphae_window(g->l, 3, &large_type, sum, NULL));
STEP(buffer_count, hyphae_buffer_count(g->l, 2, &large_type, sum, NULL));
STEP(transition,
     hyphae_state_transition(g->l, &large_type, &machine, &large_one, NULL));

static const struct {
	const char *name;
	step_fn make;
} steps[] = {
	{"tap", tap},
	{"catch_error", catch_error},
	{"map_error", map_error},
	{"unwrap_or", unwrap_or},
	{"distinct_until_changed_by", until_changed},
	{"deduped", deduped},
	{"distinct", distinct},
	{"distinct of an event", distinct_event},
	{"hold", hold},
	{"hold nothing", hold_none},
	{"changes", changes},
	{"take", take},
	{"take one", take_one},
	{"take none", take_none},
	{"first", first},
	{"element_at", element_at},
	{"skip", skip_two},
	{"take_while", take_while},
	{"skip_while", skip_while},
	{"take_until", take_until},
	{"skip_until", skip_until},
	{"last", last},
	{"last_or", last_or},
	{"finalize", finalize},
	{"scan", scan},
	{"scan of an event", scan_event},
	{"reduce", reduce},
	{"pairwise", pairwise},
	{"window", window},
	{"buffer_count", buffer_count},
	{"state_transition", transition},
};

static void plant(struct garden *g, unsigned int flags)
{
	g->graph = hyphae_graph_new(flags);
	g->a = hyphae_int64_new(g->graph, one);
	g->l = large_new_at(g->graph, large_one, HYPHAE_HERE);
	g->e = hyphae_event_new(g->graph, &large_type);
	assert_non_null(g->a);
	assert_non_null(g->l);
	assert_non_null(g->e);
}

static void put(struct garden *g, int64_t n)
{
	struct large large = {.n = n};

	assert_int_equal(large_set(g->l, large), 0);
	assert_int_equal(large_set(g->e, large), 0);
	assert_int_equal(hyphae_int64_set(g->a, n), 0);
}

static size_t targets(struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.targets;
}

static void try(step_fn make, const char *name, unsigned int flags)
{
	unsigned long failures = 0;

	OOM_SWEEP(n)
	{
		struct hyphae_graph_counts before, after;
		struct hyphae_cell *cell;
		unsigned int ended = ends;
		struct garden g;
		unsigned long arm = n;

		OOM_PAUSE();
		plant(&g, flags);
		assert_int_equal(hyphae_graph_counts(g.graph, &before), 0);
		hy_alloc_fail_after(arm);
		errno = 0;
		cell = make(&g);
		OOM_PAUSE();
		if (!cell) {
			failures++;
			if (errno != ENOMEM)
				fail_msg("%s: errno %d", name, errno);
			assert_int_equal(ends, ended);
			hyphae_graph_counts(g.graph, &after);
			assert_memory_equal(&before, &after, sizeof(before));
			assert_int_equal(targets(g.l), 0);
			assert_int_equal(targets(g.e), 0);
			assert_int_equal(hyphae_graph_check_idle(g.graph), 0);
			cell = make(&g);
		}
		assert_non_null(cell);
		for (int64_t i = 2; i < 6; i++)
			put(&g, i);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
	assert_true(failures > 0);
}

static void constructors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		try(steps[i].make, steps[i].name, 0);
		try(steps[i].make, steps[i].name, HYPHAE_EAGER);
	}
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void steady_state(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct hyphae_cell *cell;
		unsigned long count;
		struct garden g;

		plant(&g, HYPHAE_SINGLE_THREAD);
		cell = steps[i].make(&g);
		assert_non_null(cell);
		hyphae_subscribe(cell, quiet, NULL);
		for (int64_t n = 2; n < 150; n++)
			put(&g, n);
		count = hy_alloc_count();
		for (int64_t n = 150; n < 200; n++)
			put(&g, n);
		if (hy_alloc_count() != count)
			fail_msg("%s: %lu allocations", steps[i].name,
				 hy_alloc_count() - count);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
}

/* An accumulator that stays equal, and one that changes again. */
static int keep_even(void *ret, const void *acc, const void *value, void *ctx)
{
	const struct large *v = value;

	(void)acc;
	(void)ctx;
	*(struct large *)ret = (struct large){.n = v->n / 2};
	return 0;
}

static void scan_needs_no_memory_from_the_first_step(void **state)
{
	struct hyphae_cell *cell;
	struct large held;
	struct garden g;

	(void)state;
	plant(&g, HYPHAE_SINGLE_THREAD);
	cell = hyphae_scan(g.e, &large_type, &large_one, keep_even, NULL);
	put(&g, 2);
	put(&g, 3);
	for (int64_t n = 4; n < 20; n++) {
		struct large large = {.n = n};
		unsigned long count;

		large_set(g.l, large);
		count = hy_alloc_count();
		assert_int_equal(large_set(g.e, large), 0);
		/* The source's own boxes are as many as they will be. */
		assert_int_equal(hy_alloc_count() - count, 0);
		assert_int_equal(large_get(cell, &held), 0);
		assert_int_equal(held.n, n / 2);
	}
	assert_int_equal(hyphae_graph_free(g.graph), 0);
}

static int not_five(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	if (((const struct large *)input)->n == 5)
		return hyphae_error(-EIO, "five");
	*(struct large *)ret = *(const struct large *)input;
	return 0;
}

/* No memory for a message: the error is -ENOMEM, and heals. */
static void message_without_memory(void **state)
{
	struct hyphae_cell *cell;
	struct large held;
	struct garden g;

	(void)state;
	plant(&g, HYPHAE_SINGLE_THREAD);
	cell = hyphae_map(g.l, &large_type, not_five, NULL);
	assert_int_equal(large_set(g.l, (struct large){.n = 2}), 0);
	assert_int_equal(large_set(g.l, (struct large){.n = 3}), 0);
	hy_alloc_fail_after(1);
	assert_int_equal(large_set(g.l, (struct large){.n = 5}), 0);
	hy_alloc_fail_after(0);
	assert_int_equal(large_get(cell, &held), -ENOMEM);
	assert_int_equal(large_set(g.l, (struct large){.n = 6}), 0);
	assert_int_equal(large_set(g.l, (struct large){.n = 5}), 0);
	assert_int_equal(large_get(cell, &held), -EIO);
	assert_int_equal(hyphae_graph_free(g.graph), 0);
}

static void nothing_is_left(void **state)
{
	long live = hy_alloc_live();

	constructors(state);
	assert_int_equal(hy_alloc_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constructors),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(steady_state),
		cmocka_unit_test(scan_needs_no_memory_from_the_first_step),
		cmocka_unit_test(message_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
