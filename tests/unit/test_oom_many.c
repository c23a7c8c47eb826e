/* SPDX-License-Identifier: MIT */
/*
 * No memory, wherever operators of many inputs, sources and lazy cells ask for
 * some: the constructor says so and leaves the graph as it was.  And a graph
 * that has settled down asks for none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

#include "../lib/oom.h"

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *in[2];  /* int64 7, an event of int64 */
	struct hyphae_cell *s[2];   /* "spore", an event of strings */
	struct hyphae_cell *idle;   /* of in[0] */
	unsigned int drops, failed; /* of a generator's ctx */
};

static int same(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int first_of(void *ret, const void *const *values, size_t count,
		    void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)values[0];
	return 0;
}

static int three(void *ret, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 3;
	return 1;
}

static void count_drop(void *ctx)
{
	++*(unsigned int *)ctx;
}

static void plant(struct garden *g, unsigned int flags)
{
	*g = (struct garden){.graph = hyphae_graph_new(flags)};
	g->in[0] = hyphae_int64_new(g->graph, 7);
	g->in[1] = hyphae_event_new(g->graph, &hyphae_int64);
	g->s[0] = hyphae_string_new(g->graph, "spore");
	g->s[1] = hyphae_event_new(g->graph, &hyphae_string);
	g->idle = hyphae_map(g->in[0], &hyphae_int64, same, NULL);
	assert_int_equal(hyphae_cell_set_lazy(g->idle), 0);
}

static size_t targets(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.targets;
}

static void assert_as_it_was(const struct garden *g)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	assert_int_equal(counts.cells, 5);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(targets(g->in[i]), 0);
		assert_int_equal(targets(g->s[i]), 0);
	}
	assert_int_equal(targets(g->idle), 0);
	assert_int_equal(hyphae_graph_check_idle(g->graph), 0);
}

typedef struct hyphae_cell *(*step)(struct garden *g);

#define STEP(name_, expression)                                                \
	static struct hyphae_cell *name_(struct garden *g)                     \
	{                                                                      \
		return expression;                                             \
	}                                                                      \
	struct step_##name_##_needs_semicolon

STEP(zip, hyphae_zip(g->in, 2, &hyphae_int64, first_of, NULL, 4,
		     HYPHAE_OVERFLOW_FAIL));
STEP(merge, hyphae_merge(g->s, 2));
STEP(with_latest, hyphae_with_latest_from(g->in[0], g->in + 1, 1, &hyphae_int64,
					  first_of, NULL));
STEP(sample, hyphae_sample(g->s[0], g->in[1]));
STEP(concat, hyphae_concat(g->s, 2));
STEP(race, hyphae_race(g->s, 2));
STEP(group, hyphae_group(g->in, 2));
STEP(share, hyphae_share(g->s[0]));
STEP(cold, hyphae_cold(g->s[0]));
STEP(over_idle, hyphae_merge(&g->idle, 1));
STEP(concat_idle, hyphae_concat(&g->idle, 1));
STEP(failed, hyphae_failed(g->graph, &hyphae_int64, -EIO, "from the start"));
STEP(never, hyphae_never(g->graph, &hyphae_int64));

static struct hyphae_cell *sequence(struct garden *g)
{
	static const char *const values[] = {"spore", "root", "cap"};

	return hyphae_sequence(g->graph, &hyphae_string, values, 3);
}

static struct hyphae_cell *just(struct garden *g)
{
	static const char *const value = "spore";

	return hyphae_just(g->graph, &hyphae_string, &value);
}

static struct hyphae_cell *generator(struct garden *g)
{
	struct hyphae_cell *cell = hyphae_generator(
		g->graph, &hyphae_int64, three, &g->drops, count_drop);

	g->failed += !cell;
	assert_int_equal(g->drops, g->failed);
	return cell;
}

#define STEPS                                                                  \
	{                                                                      \
		zip, merge, with_latest, sample, concat, race, group, share,   \
			cold, over_idle, concat_idle, failed, never, sequence, \
			just, generator                                        \
	}

static void sweep(step make, unsigned int flags)
{
	OOM_SWEEP(n)
	{
		struct hyphae_cell *cell;
		struct garden g;

		OOM_PAUSE();
		plant(&g, flags);
		hy_alloc_fail_after(n);
		errno = 0;
		cell = make(&g);
		OOM_PAUSE();
		if (!cell) {
			assert_int_not_equal(n, 0);
			assert_int_equal(errno, ENOMEM);
			assert_as_it_was(&g);
			cell = make(&g);
			assert_non_null(cell);
		}
		assert_int_equal(hyphae_int64_set(g.in[0], 8), 0);
		assert_int_equal(hyphae_string_set(g.s[0], "moss"), 0);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_as_it_was(&g);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
}

static void nothing_is_left_of_what_failed(void **state)
{
	static const step steps[] = STEPS;
	long live = hy_alloc_live();

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		sweep(steps[i], 0);
		sweep(steps[i], HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
		sweep(steps[i], HYPHAE_LAZY);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* ---- lazy cells ---------------------------------------------------------------- */

static void no_hook(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	(void)ctx;
}

static void hooks_and_laziness(void **state)
{
	long live = hy_alloc_live();

	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_cell_info info;
		struct garden g;
		int r;

		OOM_PAUSE();
		plant(&g, 0);
		hy_alloc_fail_after(n);
		r = hyphae_cell_set_hooks(g.in[0], no_hook, no_hook, NULL);
		if (r) {
			assert_int_equal(r, -ENOMEM);
			OOM_PAUSE();
			r = hyphae_cell_set_hooks(g.in[0], no_hook, no_hook,
						  NULL);
		}
		assert_int_equal(r, 0);
		OOM_PAUSE();
		g.idle = hyphae_map(g.in[0], &hyphae_int64, same, NULL);
		hy_alloc_fail_after(n);
		r = hyphae_cell_set_lazy(g.idle);
		OOM_PAUSE();
		assert_int_equal(hyphae_cell_info(g.idle, &info), 0);
		if (r) {
			assert_int_equal(r, -ENOMEM);
			assert_false(info.lazy);
			r = hyphae_cell_set_lazy(g.idle);
		}
		assert_int_equal(r, 0);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
	assert_int_equal(hy_alloc_live(), live);
}

static int note_last(const struct hyphae_signal *signal, void *ctx)
{
	*(int64_t *)ctx = signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal)
						       : signal->code;
	return 0;
}

/*
 * A lazy cell whose input has come to lie higher has to rise when it wakes; if
 * there is no memory for that, it holds -ENOMEM until it is woken again.
 */
static void waking_has_no_memory(void **state)
{
	unsigned int seen = 0;

	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_subscription *sub;
		struct hyphae_cell *idle;
		struct garden g;
		int64_t last = 0;

		OOM_PAUSE();
		plant(&g, 0);
		idle = hyphae_map(g.idle, &hyphae_int64, same, NULL);
		assert_int_equal(hyphae_cell_set_lazy(idle), 0);
		hy_alloc_fail_after(n);
		sub = hyphae_subscribe(idle, note_last, &last);
		OOM_PAUSE();
		if (sub) {
			assert_true(last == 7 || last == -ENOMEM);
			seen += last == -ENOMEM;
			assert_int_equal(hyphae_unsubscribe(sub), 0);
		} else {
			assert_int_equal(errno, ENOMEM);
		}
		sub = hyphae_subscribe(idle, note_last, &last);
		assert_non_null(sub);
		assert_int_equal(last, 7);
		assert_int_equal(hyphae_graph_free(g.graph), 0);
	}
	assert_int_equal(seen, 0); /* heights were right from the beginning */
}

/* ---- no allocation once it runs ------------------------------------------------- */

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void steady(unsigned int flags)
{
	static const step steps[] = {zip,    merge,    with_latest, sample,
				     concat, race,     group,	    share,
				     cold,   over_idle};
	struct garden g;
	unsigned int calls = 0;
	unsigned long before = 0;

	plant(&g, flags);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_non_null(hyphae_subscribe(steps[i](&g), quiet, &calls));
	for (int64_t i = 0; i < 100; i++) {
		const char *const text = i % 2 ? "odd" : "even";

		if (i == 20)
			before = hy_alloc_count();
		assert_int_equal(hyphae_batch_begin(g.graph), 0);
		assert_int_equal(hyphae_int64_set(g.in[0], i), 0);
		assert_int_equal(hyphae_int64_set(g.in[1], i), 0);
		assert_int_equal(hyphae_batch_end(g.graph), 0);
		assert_int_equal(hyphae_string_set(g.s[0], text), 0);
	}
	assert_int_equal(hy_alloc_count(), before);
	assert_int_equal(hyphae_graph_free(g.graph), 0);
}

static void a_steady_state_allocates_nothing(void **state)
{
	(void)state;
	steady(0);
	steady(HYPHAE_SINGLE_THREAD);
	steady(HYPHAE_EAGER);
	steady(HYPHAE_LAZY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_what_failed),
		cmocka_unit_test(hooks_and_laziness),
		cmocka_unit_test(waking_has_no_memory),
		cmocka_unit_test(a_steady_state_allocates_nothing),
	};

	return cmocka_run_group_tests_name("no memory, many inputs", tests,
					   NULL, NULL);
}
