/* SPDX-License-Identifier: MIT */
/* Bad input to operators of many inputs and to sources: the exact codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <hyphae/hyphae.h>

struct garden {
	struct hyphae_graph *graph, *other;
	struct hyphae_cell *a, *s; /* int64, string */
	struct hyphae_cell *foreign, *gone;
};

static int plant(void **state)
{
	static struct garden g;

	g.graph = hyphae_graph_new(0);
	g.other = hyphae_graph_new(0);
	g.a = hyphae_int64_new(g.graph, 1);
	g.s = hyphae_string_new(g.graph, "spore");
	g.foreign = hyphae_int64_new(g.other, 1);
	g.gone = hyphae_int64_new(g.graph, 1);
	*state = &g;
	return hyphae_cell_unref(g.gone);
}

static int uproot(void **state)
{
	struct garden *g = *state;
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	assert_int_equal(counts.cells, 2);
	assert_int_equal(hyphae_graph_counts(g->other, &counts), 0);
	assert_int_equal(counts.cells, 1);
	return hyphae_graph_free(g->graph) | hyphae_graph_free(g->other);
}

static int join(void *ret, const void *const *values, size_t count, void *ctx)
{
	(void)ret;
	(void)values;
	(void)count;
	(void)ctx;
	return 0;
}

static int none(void *ret, void *ctx)
{
	(void)ret;
	if (ctx)
		++*(unsigned int *)ctx;
	return 0;
}

static void drop(void *ctx)
{
	none(NULL, ctx);
}

#define assert_fails(expression, code)                                         \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(expression);                                       \
		assert_int_equal(errno, code);                                 \
	} while (0)

typedef struct hyphae_cell *(*maker)(struct hyphae_cell *const *inputs,
				     size_t count);

static struct hyphae_cell *zip(struct hyphae_cell *const *inputs, size_t count)
{
	return hyphae_zip(inputs, count, &hyphae_int64, join, NULL, 1,
			  HYPHAE_OVERFLOW_FAIL);
}

static struct hyphae_cell *merge(struct hyphae_cell *const *inputs,
				 size_t count)
{
	return hyphae_merge(inputs, count);
}

static struct hyphae_cell *concat(struct hyphae_cell *const *inputs,
				  size_t count)
{
	return hyphae_concat(inputs, count);
}

static struct hyphae_cell *race(struct hyphae_cell *const *inputs, size_t count)
{
	return hyphae_race(inputs, count);
}

static struct hyphae_cell *group(struct hyphae_cell *const *inputs,
				 size_t count)
{
	return hyphae_group(inputs, count);
}

static struct hyphae_cell *with_latest(struct hyphae_cell *const *inputs,
				       size_t count)
{
	if (!inputs || !count || count > HYPHAE_INPUTS_MAX)
		return hyphae_with_latest_from(NULL, NULL, count, &hyphae_int64,
					       join, NULL);
	return hyphae_with_latest_from(inputs[0], inputs + 1, count - 1,
				       &hyphae_int64, join, NULL);
}

static struct hyphae_cell *sample(struct hyphae_cell *const *inputs,
				  size_t count)
{
	if (!inputs || count != 2) {
		errno = EINVAL;
		return NULL;
	}
	return hyphae_sample(inputs[0], inputs[1]);
}

static void inputs_that_cannot_be(void **state)
{
	static const maker makers[] = {zip,   merge,	   concat, race,
				       group, with_latest, sample};
	struct garden *g = *state;

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		maker make = makers[i];
		struct hyphae_cell *null[] = {g->a, NULL};
		struct hyphae_cell *stale[] = {g->a, g->gone};
		struct hyphae_cell *foreign[] = {g->a, g->foreign};

		assert_fails(make(NULL, 2), EINVAL);
		assert_fails(make(null, 0), EINVAL);
		assert_fails(make(stale, 2), ESTALE);
		assert_fails(make(foreign, 2), EXDEV);
		errno = 77; /* a NULL input leaves it alone */
		assert_null(make(null, 2));
		assert_int_equal(errno, 77);
		if (make != with_latest && make != sample)
			assert_fails(make(stale, HYPHAE_INPUTS_MAX + 1),
				     EINVAL);
	}
}

static void types_that_differ(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *inputs[] = {g->a, g->s};

	assert_fails(hyphae_merge(inputs, 2), EINVAL);
	assert_fails(hyphae_concat(inputs, 2), EINVAL);
	assert_fails(hyphae_race(inputs, 2), EINVAL);
}

static void arguments_of_zip(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *inputs[] = {g->a, g->s};
	const enum hyphae_overflow fail = HYPHAE_OVERFLOW_FAIL;

	assert_fails(hyphae_zip(inputs, 2, NULL, join, NULL, 1, fail), EINVAL);
	assert_fails(hyphae_zip(inputs, 2, &hyphae_int64, NULL, NULL, 1, fail),
		     EINVAL);
	assert_fails(hyphae_zip(inputs, 2, &hyphae_int64, join, NULL, 0, fail),
		     EINVAL);
	assert_fails(hyphae_zip(inputs, 2, &hyphae_int64, join, NULL,
				HYPHAE_CAPACITY_MAX + 1, fail),
		     EINVAL);
	assert_fails(hyphae_zip(inputs, 2, &hyphae_int64, join, NULL, 1,
				HYPHAE_OVERFLOW_BLOCK),
		     EINVAL);
	assert_fails(hyphae_zip(inputs, 2, &hyphae_int64, join, NULL, 1,
				(enum hyphae_overflow)99),
		     EINVAL);
	assert_fails(hyphae_with_latest_from(g->a, inputs, 2, NULL, join, NULL),
		     EINVAL);
	assert_fails(hyphae_with_latest_from(g->a, inputs, 2, &hyphae_int64,
					     NULL, NULL),
		     EINVAL);
	assert_fails(hyphae_with_latest_from(g->a, inputs, HYPHAE_INPUTS_MAX,
					     &hyphae_int64, join, NULL),
		     EINVAL);
}

static void backlog_of_others(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *m = hyphae_merge(&g->a, 1);
	struct hyphae_backlog backlog;

	assert_int_equal(hyphae_cell_backlog(m, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_backlog(m, &backlog), 0);
	assert_int_equal(backlog.capacity, 2);
	assert_int_equal(hyphae_cell_backlog(g->a, &backlog), -EINVAL);
	assert_int_equal(hyphae_cell_backlog(NULL, &backlog), -EINVAL);
	assert_int_equal(hyphae_cell_unref(m), 0);
	assert_int_equal(hyphae_cell_backlog(m, &backlog), -ESTALE);
}

static int refuse_copy(void *to, const void *from)
{
	memcpy(to, from, sizeof(int64_t));
	return *(const int64_t *)from == 2 ? -EDOM : 0;
}

static unsigned int values_dropped;

static void count_value(void *value)
{
	(void)value;
	values_dropped++;
}

static const struct hyphae_type picky = {
	.name = "picky",
	.size = 8,
	.align = 8,
	.copy = refuse_copy,
	.drop = count_value,
};

static void arguments_of_sources(void **state)
{
	struct garden *g = *state;
	static const int64_t values[] = {1, 2};
	struct hyphae_graph *graph = hyphae_graph_new(0);
	unsigned int drops = 0;
	struct hyphae_type broken = hyphae_int64;

	assert_int_equal(hyphae_graph_free(graph), 0); /* stale from here */
	broken.size = 0;
	assert_fails(hyphae_sequence(NULL, &hyphae_int64, values, 2), EINVAL);
	assert_fails(hyphae_sequence(graph, &hyphae_int64, values, 2), ESTALE);
	assert_fails(hyphae_sequence(g->graph, NULL, values, 2), EINVAL);
	assert_fails(hyphae_sequence(g->graph, &broken, values, 2), EINVAL);
	assert_fails(hyphae_sequence(g->graph, &hyphae_int64, NULL, 2), EINVAL);
	assert_fails(
		hyphae_sequence(g->graph, &hyphae_int64, values, SIZE_MAX / 8),
		EINVAL);
	values_dropped = 0;
	assert_fails(hyphae_sequence(g->graph, &picky, values, 2), EDOM);
	assert_int_equal(values_dropped, 1);
	assert_fails(hyphae_generator(NULL, &hyphae_int64, none, &drops, drop),
		     EINVAL);
	assert_fails(hyphae_generator(graph, &hyphae_int64, none, &drops, drop),
		     ESTALE);
	assert_fails(hyphae_generator(g->graph, NULL, none, &drops, drop),
		     EINVAL);
	assert_fails(
		hyphae_generator(g->graph, &hyphae_int64, NULL, &drops, drop),
		EINVAL);
	assert_int_equal(drops, 4);
	assert_fails(hyphae_just(NULL, &hyphae_int64, values), EINVAL);
	assert_fails(hyphae_just(graph, &hyphae_int64, values), ESTALE);
	assert_fails(hyphae_just(g->graph, &hyphae_int64, NULL), EINVAL);
	assert_fails(hyphae_just(g->graph, NULL, values), EINVAL);
	assert_fails(hyphae_just(g->graph, &picky, values + 1), EDOM);
	assert_fails(hyphae_failed(NULL, &hyphae_int64, -1, NULL), EINVAL);
	assert_fails(hyphae_failed(graph, &hyphae_int64, -1, NULL), ESTALE);
	assert_fails(hyphae_failed(g->graph, &hyphae_int64, 0, NULL), EINVAL);
	assert_fails(hyphae_failed(g->graph, &hyphae_int64,
				   -HYPHAE_ERRNO_MAX - 1, NULL),
		     EINVAL);
	assert_fails(hyphae_never(NULL, &hyphae_int64), EINVAL);
	assert_fails(hyphae_never(graph, &hyphae_int64), ESTALE);
	assert_fails(hyphae_never(g->graph, NULL), EINVAL);
	assert_fails(hyphae_share(g->gone), ESTALE);
	assert_fails(hyphae_cold(g->gone), ESTALE);
}

static void no_hook(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	(void)ctx;
}

static void arguments_of_lazy_cells(void **state)
{
	struct garden *g = *state;
	struct hyphae_graph *graph = hyphae_graph_new(0);

	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_cell_set_lazy(NULL), -EINVAL);
	assert_int_equal(hyphae_cell_set_lazy(g->gone), -ESTALE);
	assert_int_equal(hyphae_cell_set_lazy(g->a), -EINVAL);
	assert_int_equal(hyphae_cell_set_hooks(NULL, no_hook, NULL, NULL),
			 -EINVAL);
	assert_int_equal(hyphae_cell_set_hooks(g->gone, no_hook, NULL, NULL),
			 -ESTALE);
	assert_int_equal(hyphae_graph_set_lazy(NULL, true), -EINVAL);
	assert_int_equal(hyphae_graph_set_lazy(graph, true), -ESTALE);
	assert_fails(hyphae_event_new(NULL, &hyphae_int64), EINVAL);
	assert_fails(hyphae_event_new(graph, &hyphae_int64), ESTALE);
	assert_fails(hyphae_event_new(g->graph, NULL), EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inputs_that_cannot_be, plant,
						uproot),
		cmocka_unit_test_setup_teardown(types_that_differ, plant,
						uproot),
		cmocka_unit_test_setup_teardown(arguments_of_zip, plant,
						uproot),
		cmocka_unit_test_setup_teardown(backlog_of_others, plant,
						uproot),
		cmocka_unit_test_setup_teardown(arguments_of_sources, plant,
						uproot),
		cmocka_unit_test_setup_teardown(arguments_of_lazy_cells, plant,
						uproot),
	};

	return cmocka_run_group_tests_name("bad input, many inputs", tests,
					   NULL, NULL);
}
