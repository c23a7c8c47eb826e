/* SPDX-License-Identifier: MIT */
/*
 * What bad input gets: the exact code, and a graph that is as it was.
 *
 * Every test is given a small garden of cells.  The teardown checks that it
 * was left as it was found, then that it still works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *a; /* 1 */
	struct hyphae_cell *s; /* "spore" */
	struct hyphae_cell *b; /* a + 1 */
	struct hyphae_cell *d; /* a + b */
	struct hyphae_subscription *sub;
	unsigned int calls; /* of the subscriber of d */
	int64_t last;
};

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static int pass_all(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

static int remember(const struct hyphae_signal *signal, void *ctx)
{
	struct garden *g = ctx;

	g->calls++;
	if (signal->kind == HYPHAE_VALUE)
		g->last = hyphae_int64_of(signal);
	return 0;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void count_drop(void *data)
{
	++*(unsigned int *)data;
}

static int plant(void **state, unsigned int flags)
{
	struct garden *g = calloc(1, sizeof(*g));
	struct hyphae_cell *both[2];

	assert_non_null(g);
	g->graph = hyphae_graph_new(flags);
	g->a = hyphae_int64_new(g->graph, 1);
	g->s = hyphae_string_new(g->graph, "spore");
	g->b = hyphae_map(g->a, &hyphae_int64, plus_one, NULL);
	both[0] = g->a;
	both[1] = g->b;
	g->d = hyphae_combine(both, 2, &hyphae_int64, sum, NULL);
	g->sub = hyphae_subscribe(g->d, remember, g);
	assert_non_null(g->sub);
	*state = g;
	return 0;
}

static int plant_shared(void **state)
{
	return plant(state, 0);
}

static int plant_single(void **state)
{
	return plant(state, HYPHAE_SINGLE_THREAD);
}

static int plant_eager(void **state)
{
	return plant(state, HYPHAE_EAGER);
}

static void expect_int64(struct hyphae_cell *cell, int64_t expected)
{
	int64_t held = INT64_MIN;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	assert_int_equal(held, expected);
}

static void expect_info(struct hyphae_cell *cell, size_t targets,
			unsigned int references)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	assert_int_equal(info.targets, targets);
	assert_int_equal(info.references, references);
	assert_false(info.ended);
}

/* As it was planted. */
static void expect_untouched(struct garden *g)
{
	struct hyphae_graph_counts counts;
	char *text = NULL;

	assert_int_equal(hyphae_graph_check_idle(g->graph), 0);
	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	assert_int_equal(counts.cells, 4);
	assert_int_equal(counts.subscriptions, 1);
	assert_int_equal(hyphae_string_get(g->s, &text), 0);
	assert_string_equal(text, "spore");
	free(text);
	expect_int64(g->a, 1);
	expect_int64(g->b, 2);
	expect_int64(g->d, 3);
	expect_info(g->a, 2, 3);
	expect_info(g->s, 0, 1);
	expect_info(g->b, 1, 2);
	expect_info(g->d, 1, 2);
	assert_int_equal(g->calls, 1);
	assert_int_equal(g->last, 3);
}

static int harvest(void **state)
{
	struct garden *g = *state;

	expect_untouched(g);
	assert_int_equal(hyphae_int64_set(g->a, 10), 0);
	expect_int64(g->d, 21);
	assert_int_equal(g->last, 21);
	assert_int_equal(hyphae_unsubscribe(g->sub), 0);
	assert_int_equal(hyphae_cell_unref(g->a), 0);
	assert_int_equal(hyphae_cell_unref(g->s), 0);
	assert_int_equal(hyphae_cell_unref(g->b), 0);
	assert_int_equal(hyphae_cell_unref(g->d), 0);
	assert_int_equal(hyphae_graph_free(g->graph), 0);
	free(g);
	return 0;
}

/* The constructor must give NULL and this errno. */
#define REFUSES(call, code)                                                    \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, code);                                 \
	} while (0)

/* A NULL input: NULL, and the errno of the first failure stays. */
#define PASSES_NULL_ON(call)                                                   \
	do {                                                                   \
		errno = ERANGE;                                                \
		assert_null(call);                                             \
		assert_int_equal(errno, ERANGE);                               \
	} while (0)

static void graphs(void **state)
{
	struct garden *g = *state;
	struct hyphae_graph_counts counts;

	REFUSES(hyphae_graph_new(1u << 30), EINVAL);
	REFUSES(hyphae_graph_new(~0u), EINVAL);
	assert_int_equal(hyphae_graph_free(NULL), 0);
	assert_int_equal(hyphae_graph_id(NULL), 0);
	assert_int_equal(hyphae_graph_counts(NULL, &counts), -EINVAL);
	assert_int_equal(hyphae_graph_counts(g->graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_on_problem(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_set_wave_limit(NULL, 5), -EINVAL);
	assert_int_equal(hyphae_graph_set_wave_limit(g->graph, 0), -EINVAL);
	assert_int_equal(hyphae_graph_check_idle(NULL), -EINVAL);
}

static void types(void **state)
{
	struct garden *g = *state;
	static const struct hyphae_type empty = {
		.name = "empty", .size = 0, .align = 1};
	static const struct hyphae_type huge = {
		.name = "huge", .size = HYPHAE_TYPE_SIZE_MAX + 1, .align = 1};
	static const struct hyphae_type odd = {
		.name = "odd", .size = 3, .align = 3};
	static const struct hyphae_type wide = {
		.name = "wide", .size = 64, .align = 32};
	static const struct hyphae_type loose = {
		.name = "loose", .size = 8, .align = 0};
	static const struct hyphae_type nameless = {.size = 8, .align = 8};
	/* Its values would be dropped once for each bytewise copy. */
	static const struct hyphae_type copyless = {
		.name = "copyless", .size = 8, .align = 8, .drop = count_drop};
	static const struct hyphae_type *const bad[] = {
		&empty, &huge, &odd, &wide, &loose, &nameless, &copyless};
	int64_t value[8] = {0};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REFUSES(hyphae_cell_new(g->graph, bad[i], value), EINVAL);
		REFUSES(hyphae_map(g->a, bad[i], plus_one, NULL), EINVAL);
		REFUSES(hyphae_combine(&g->a, 1, bad[i], sum, NULL), EINVAL);
	}
}

static void sources(void **state)
{
	struct garden *g = *state;
	int64_t one = 1;

	REFUSES(hyphae_cell_new(NULL, &hyphae_int64, &one), EINVAL);
	REFUSES(hyphae_cell_new(g->graph, NULL, &one), EINVAL);
	REFUSES(hyphae_cell_new(g->graph, &hyphae_int64, NULL), EINVAL);
	REFUSES(hyphae_int64_new(NULL, 1), EINVAL);
	REFUSES(hyphae_double_new(NULL, 1), EINVAL);
	REFUSES(hyphae_bool_new(NULL, true), EINVAL);
	REFUSES(hyphae_pointer_new(NULL, NULL), EINVAL);
	REFUSES(hyphae_string_new(NULL, "x"), EINVAL);
	REFUSES(hyphae_string_new(g->graph, NULL), EINVAL);
	assert_null(hyphae_cell_ref(NULL));
	assert_int_equal(hyphae_cell_unref(NULL), 0);
}

static void set_and_get(void **state)
{
	struct garden *g = *state;
	int64_t number = 5;
	double real = 0.5;
	char *text = NULL;
	bool flag = true;

	assert_int_equal(hyphae_cell_set(NULL, &hyphae_int64, &number),
			 -EINVAL);
	assert_int_equal(hyphae_cell_set(g->a, NULL, &number), -EINVAL);
	assert_int_equal(hyphae_cell_set(g->a, &hyphae_int64, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_set(g->a, &hyphae_double, &number),
			 -EINVAL);
	assert_int_equal(hyphae_int64_set(g->s, 5), -EINVAL);
	assert_int_equal(hyphae_double_set(g->a, 5), -EINVAL);
	assert_int_equal(hyphae_bool_set(g->a, true), -EINVAL);
	assert_int_equal(hyphae_pointer_set(g->a, NULL), -EINVAL);
	assert_int_equal(hyphae_string_set(g->a, "x"), -EINVAL);
	assert_int_equal(hyphae_string_set(g->s, NULL), -EINVAL);
	/* Derived cells are nobody's to write. */
	assert_int_equal(hyphae_int64_set(g->b, 5), -EINVAL);
	assert_int_equal(hyphae_cell_complete(g->d), -EINVAL);
	assert_int_equal(hyphae_cell_fail(g->d, -EIO, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_complete(NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(NULL, -EIO, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(g->a, 0, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(g->a, EIO, NULL), -EINVAL);

	assert_int_equal(hyphae_cell_get(NULL, &hyphae_int64, &number),
			 -EINVAL);
	assert_int_equal(hyphae_cell_get(g->a, NULL, &number), -EINVAL);
	assert_int_equal(hyphae_cell_get(g->a, &hyphae_int64, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_get(g->a, &hyphae_double, &real), -EINVAL);
	assert_int_equal(hyphae_int64_get(g->s, &number), -EINVAL);
	assert_int_equal(hyphae_double_get(g->a, &real), -EINVAL);
	assert_int_equal(hyphae_bool_get(g->a, &flag), -EINVAL);
	assert_int_equal(hyphae_string_get(g->a, &text), -EINVAL);
	assert_int_equal(number, 5);
	assert_true(real == 0.5);
	assert_null(text);
}

static void names(void **state)
{
	static const char *const not_utf8[] = {
		"\x80",		    /* a continuation on its own */
		"\xc3",		    /* cut off */
		"\xc3(",	    /* no continuation */
		"\xc0\xaf",	    /* overlong, 2 bytes */
		"\xe0\x80\xaf",	    /* overlong, 3 bytes */
		"\xf0\x80\x80\xaf", /* overlong, 4 bytes */
		"\xed\xa0\x80",	    /* a surrogate */
		"\xf4\x90\x80\x80", /* above U+10FFFF */
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"fine until \xff",
		"\xe2\x82",
	};
	struct garden *g = *state;
	char longest[HYPHAE_NAME_MAX + 2];
	char read[300];
	size_t i;

	assert_int_equal(hyphae_cell_set_name(g->a, "h\xc3\xbcphae"), 0);
	assert_int_equal(hyphae_cell_set_name(g->a, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_set_name(g->a, ""), -EINVAL);
	assert_int_equal(hyphae_cell_set_name(NULL, "x"), -EINVAL);
	memset(longest, 'n', sizeof(longest));
	longest[HYPHAE_NAME_MAX + 1] = '\0';
	assert_int_equal(hyphae_cell_set_name(g->a, longest), -ENAMETOOLONG);
	for (i = 0; i < sizeof(not_utf8) / sizeof(not_utf8[0]); i++)
		assert_int_equal(hyphae_cell_set_name(g->a, not_utf8[i]),
				 -EILSEQ);
	assert_int_equal(hyphae_cell_name(g->a, read, sizeof(read)), 7);
	assert_string_equal(read, "h\xc3\xbcphae");

	longest[HYPHAE_NAME_MAX] = '\0';
	assert_int_equal(hyphae_cell_set_name(g->a, longest), 0);
	assert_int_equal(hyphae_cell_name(g->a, read, sizeof(read)), 255);
	assert_string_equal(read, longest);
	assert_int_equal(hyphae_cell_name(g->a, read, 4), 255);
	assert_string_equal(read, "nnn");
	assert_int_equal(hyphae_cell_name(g->a, NULL, 0), 255);
	assert_int_equal(hyphae_cell_name(g->a, NULL, 5), -EINVAL);
	assert_int_equal(hyphae_cell_name(NULL, read, 4), -EINVAL);
	assert_int_equal(hyphae_cell_name(g->b, read, sizeof(read)), 0);
	assert_string_equal(read, "");
	assert_int_equal(hyphae_cell_set_name(g->a, "\xf4\x8f\xbf\xbf"), 0);
	assert_int_equal(hyphae_cell_id(NULL), 0);
	assert_int_equal(hyphae_cell_info(NULL, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_info(g->a, NULL), -EINVAL);
}

static void operators(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *inputs[2] = {g->a, NULL};

	PASSES_NULL_ON(hyphae_map(NULL, &hyphae_int64, plus_one, NULL));
	PASSES_NULL_ON(hyphae_filter(NULL, pass_all, NULL));
	PASSES_NULL_ON(hyphae_combine(inputs, 2, &hyphae_int64, sum, NULL));
	REFUSES(hyphae_map(g->a, NULL, plus_one, NULL), EINVAL);
	REFUSES(hyphae_map(g->a, &hyphae_int64, NULL, NULL), EINVAL);
	REFUSES(hyphae_filter(g->a, NULL, NULL), EINVAL);
	inputs[1] = g->b;
	REFUSES(hyphae_combine(inputs, 2, NULL, sum, NULL), EINVAL);
	REFUSES(hyphae_combine(inputs, 2, &hyphae_int64, NULL, NULL), EINVAL);
	REFUSES(hyphae_combine(NULL, 2, &hyphae_int64, sum, NULL), EINVAL);
	REFUSES(hyphae_combine(inputs, 0, &hyphae_int64, sum, NULL), EINVAL);
	REFUSES(hyphae_combine(inputs, HYPHAE_INPUTS_MAX + 1, &hyphae_int64,
			       sum, NULL),
		EINVAL);
	REFUSES(hyphae_combine(inputs, SIZE_MAX, &hyphae_int64, sum, NULL),
		EINVAL);
}

static void ten_thousand_inputs(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell **inputs =
		calloc(10000, sizeof(struct hyphae_cell *));
	struct hyphae_cell *total;
	size_t i;

	assert_non_null(inputs);
	for (i = 0; i < 10000; i++)
		inputs[i] = i % 2 ? g->a : g->b;
	total = hyphae_combine(inputs, 10000, &hyphae_int64, sum, NULL);
	assert_non_null(total);
	expect_int64(total, 15000);
	assert_int_equal(hyphae_cell_unref(total), 0);
	/* One of them is missing: the first failure decides. */
	inputs[9999] = NULL;
	PASSES_NULL_ON(hyphae_combine(inputs, 10000, &hyphae_int64, sum, NULL));
	free(inputs);
}

static void the_most_inputs(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell **inputs =
		calloc(HYPHAE_INPUTS_MAX, sizeof(struct hyphae_cell *));
	struct hyphae_cell *total;
	size_t i;

	assert_non_null(inputs);
	for (i = 0; i < HYPHAE_INPUTS_MAX; i++)
		inputs[i] = g->a;
	total = hyphae_combine(inputs, HYPHAE_INPUTS_MAX, &hyphae_int64, sum,
			       NULL);
	assert_non_null(total);
	expect_int64(total, 1 << 20);
	assert_int_equal(hyphae_cell_unref(total), 0);
	free(inputs);
}

static void foreign_cells(void **state)
{
	struct garden *g = *state;
	struct hyphae_graph *abroad = hyphae_graph_new(0);
	struct hyphae_cell *x = hyphae_int64_new(abroad, 1);
	struct hyphae_cell *inputs[2] = {g->a, x};
	struct hyphae_graph_counts counts;

	REFUSES(hyphae_combine(inputs, 2, &hyphae_int64, sum, NULL), EXDEV);
	expect_info(x, 0, 1);
	assert_int_equal(hyphae_graph_counts(abroad, &counts), 0);
	assert_int_equal(counts.cells, 1);
	assert_int_equal(hyphae_cell_unref(x), 0);
	assert_int_equal(hyphae_graph_free(abroad), 0);
}

static void subscribing(void **state)
{
	struct garden *g = *state;
	unsigned int drops = 0;

	REFUSES(hyphae_subscribe_with(NULL, quiet, &drops, count_drop, 0),
		EINVAL);
	assert_int_equal(drops, 1);
	REFUSES(hyphae_subscribe_with(g->a, NULL, &drops, count_drop, 0),
		EINVAL);
	assert_int_equal(drops, 2);
	REFUSES(hyphae_subscribe_with(g->a, quiet, &drops, count_drop, 8),
		EINVAL);
	assert_int_equal(drops, 3);
	REFUSES(hyphae_subscribe(g->a, NULL, NULL), EINVAL);
	assert_int_equal(hyphae_unsubscribe(NULL), 0);
	assert_int_equal(hyphae_subscription_id(NULL), 0);
}

static int options_refused(struct hyphae_cell *cell,
			   const struct hyphae_subscription_options *options,
			   size_t size)
{
	errno = 0;
	return hyphae_subscribe_sized(cell, options, size) ? 0 : errno;
}

static void subscribing_with_options(void **state)
{
	struct garden *g = *state;
	unsigned int drops = 0, cleanups = 0;
	const struct hyphae_subscription_options good = {
		.fn = quiet, .ctx = &drops, .drop = count_drop};
	struct hyphae_subscription_options options = good;
	struct {
		struct hyphae_subscription_options known;
		uint64_t later;
	} newer = {.known = good, .later = 1};
	struct hyphae_subscription *s;

	REFUSES(hyphae_subscribe_options(g->a, NULL), EINVAL);
	REFUSES(hyphae_subscribe_options(NULL, &options), EINVAL);
	assert_int_equal(drops, 1);
	options.fn = NULL;
	REFUSES(hyphae_subscribe_options(g->a, &options), EINVAL);
	assert_int_equal(drops, 2);
	options = good;
	options.cleanup = count_drop;
	options.flags = 8;
	REFUSES(hyphae_subscribe_options(g->a, &options), EINVAL);
	assert_int_equal(drops, 3);
	options.flags = ~0u;
	REFUSES(hyphae_subscribe_options(g->a, &options), EINVAL);
	assert_int_equal(drops, 4);
	/* Too short to hold what was there from the beginning: untouched. */
	assert_int_equal(options_refused(g->a, &good, 0), EINVAL);
	assert_int_equal(options_refused(g->a, &good, 35), EINVAL);
	assert_int_equal(drops, 4);
	/* Of a newer header: fine unless it asks for what is not there. */
	assert_int_equal(options_refused(g->a, &newer.known, sizeof(newer)),
			 EINVAL);
	assert_int_equal(drops, 5);
	newer.later = 0;
	newer.known.ctx = &cleanups;
	s = hyphae_subscribe_sized(g->a, &newer.known, sizeof(newer));
	assert_non_null(s);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(cleanups, 1);
	s = hyphae_subscribe_sized(g->a, &newer.known, 36);
	assert_non_null(s);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(cleanups, 2);
	assert_int_equal(drops, 5);
}

static void pausing(void **state)
{
	struct garden *g = *state;
	struct hyphae_subscription *s = hyphae_subscribe(g->a, quiet, NULL);

	assert_int_equal(hyphae_subscription_pause(NULL), -EINVAL);
	assert_int_equal(hyphae_subscription_resume(NULL), -EINVAL);
	assert_int_equal(hyphae_subscription_block(NULL), -EINVAL);
	assert_int_equal(hyphae_subscription_unblock(NULL), -EINVAL);
	assert_null(hyphae_subscription_cell(NULL));
	assert_int_equal(hyphae_unsubscribe_all(NULL), -EINVAL);
	/* One is not the other. */
	assert_int_equal(hyphae_subscription_pause(s), 0);
	assert_int_equal(hyphae_subscription_unblock(s), -EINVAL);
	assert_int_equal(hyphae_subscription_resume(s), 0);
	assert_int_equal(hyphae_subscription_resume(s), -EINVAL);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_subscription_pause(s), -ESTALE);
	assert_int_equal(hyphae_subscription_resume(s), -ESTALE);
	assert_int_equal(hyphae_subscription_block(s), -ESTALE);
	assert_int_equal(hyphae_subscription_unblock(s), -ESTALE);
	assert_null(hyphae_subscription_cell(s));
}

static int never_run(void *ctx)
{
	(void)ctx;
	return -EFAULT;
}

static void batches(void **state)
{
	struct garden *g = *state;

	assert_int_equal(hyphae_batch_begin(NULL), -EINVAL);
	assert_int_equal(hyphae_batch_end(NULL), -EINVAL);
	assert_int_equal(hyphae_batch_end(g->graph), -EINVAL);
	assert_int_equal(hyphae_batch(NULL, never_run, NULL), -EINVAL);
	assert_int_equal(hyphae_batch(g->graph, NULL, NULL), -EINVAL);
	assert_int_equal(hyphae_settle(NULL), -EINVAL);
	assert_int_equal(hyphae_batch_begin(g->graph), 0);
	assert_int_equal(hyphae_graph_free(g->graph), -EBUSY);
	assert_int_equal(hyphae_batch_end(g->graph), 0);
	assert_int_equal(hyphae_batch_end(g->graph), -EINVAL);
}

static void passes(void **state)
{
	struct hyphae_report report;

	(void)state;
	assert_int_equal(hyphae_pass_end(), -EINVAL);
	assert_int_equal(hyphae_report_take(NULL), -EINVAL);
	assert_int_equal(hyphae_pass(NULL, NULL, &report), -EINVAL);
	assert_int_equal(hyphae_pass(never_run, NULL, NULL), -EINVAL);
	hyphae_report_done(NULL);
	assert_int_equal(hyphae_pass_end(), -EINVAL);
}

static void scopes(void **state)
{
	struct garden *g = *state;
	struct hyphae_scope *scope = hyphae_scope_new(g->graph);
	struct hyphae_scope *other = hyphae_scope_new(g->graph);
	unsigned int drops = 0;

	REFUSES(hyphae_scope_new(NULL), EINVAL);
	assert_non_null(scope);
	assert_non_null(other);
	assert_int_equal(hyphae_scope_enter(NULL), -EINVAL);
	assert_int_equal(hyphae_scope_leave(NULL), -EINVAL);
	assert_int_equal(hyphae_scope_leave(scope), -EINVAL);
	assert_int_equal(hyphae_scope_on_dispose(NULL, count_drop, &drops),
			 -EINVAL);
	assert_int_equal(hyphae_scope_on_dispose(scope, NULL, NULL), -EINVAL);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	assert_int_equal(hyphae_scope_enter(other), 0);
	/* Only the one that was entered last can be left. */
	assert_int_equal(hyphae_scope_leave(scope), -EINVAL);
	assert_int_equal(hyphae_scope_dispose(scope), -EBUSY);
	assert_int_equal(hyphae_scope_leave(other), 0);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_dispose(other), 0);
	assert_int_equal(hyphae_scope_dispose(other), -ESTALE);
	assert_int_equal(hyphae_scope_enter(other), -ESTALE);
	assert_int_equal(hyphae_scope_on_dispose(other, count_drop, &drops),
			 -ESTALE);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(hyphae_scope_dispose(NULL), 0);
	assert_int_equal(drops, 0);
}

static void dead_cells(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *x = hyphae_int64_new(g->graph, 7);
	struct hyphae_cell *inputs[2] = {g->a, x};
	struct hyphae_cell_info info;
	unsigned int drops = 0;
	const struct hyphae_subscription_options options = {
		.fn = quiet,
		.ctx = &drops,
		.drop = count_drop,
		.cleanup = count_drop,
	};
	int64_t held = 5;
	char name[8];

	assert_int_equal(hyphae_cell_unref(x), 0);
	assert_int_equal(hyphae_cell_unref(x), -ESTALE);
	assert_null(hyphae_cell_ref(x));
	assert_int_equal(hyphae_int64_set(x, 1), -ESTALE);
	assert_int_equal(hyphae_int64_get(x, &held), -ESTALE);
	assert_int_equal(held, 5);
	assert_int_equal(hyphae_cell_complete(x), -ESTALE);
	assert_int_equal(hyphae_cell_fail(x, -EIO, "x"), -ESTALE);
	assert_int_equal(hyphae_cell_set_name(x, "x"), -ESTALE);
	assert_int_equal(hyphae_cell_name(x, name, 8), -ESTALE);
	assert_int_equal(hyphae_cell_info(x, &info), -ESTALE);
	assert_int_equal(hyphae_cell_id(x), 0);
	assert_int_equal(hyphae_cell_own(x, &drops, count_drop), -ESTALE);
	assert_int_equal(drops, 1);
	REFUSES(hyphae_map(x, &hyphae_int64, plus_one, NULL), ESTALE);
	REFUSES(hyphae_filter(x, pass_all, NULL), ESTALE);
	REFUSES(hyphae_combine(inputs, 2, &hyphae_int64, sum, NULL), ESTALE);
	REFUSES(hyphae_subscribe_with(x, quiet, &drops, count_drop, 0), ESTALE);
	assert_int_equal(drops, 2);
	REFUSES(hyphae_subscribe_options(x, &options), ESTALE);
	assert_int_equal(drops, 3);
	assert_int_equal(hyphae_unsubscribe_all(x), -ESTALE);
}

/* The place of a dead cell is given away: its handle fits nothing. */
static void reused_slots(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *dead = hyphae_int64_new(g->graph, 7);
	int i;

	assert_int_equal(hyphae_cell_unref(dead), 0);
	for (i = 0; i < 1000; i++) {
		struct hyphae_cell *fresh = hyphae_int64_new(g->graph, i);
		int64_t held;

		assert_non_null(fresh);
		assert_int_equal(hyphae_int64_set(dead, -1), -ESTALE);
		assert_int_equal(hyphae_int64_get(dead, &held), -ESTALE);
		assert_int_equal(hyphae_cell_unref(dead), -ESTALE);
		expect_int64(fresh, i);
		assert_int_equal(hyphae_cell_unref(fresh), 0);
	}
}

/* The same when the whole graph is gone, and others have its memory. */
static void cells_of_a_dead_graph(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *x = hyphae_int64_new(graph, 1);
	struct hyphae_subscription *s = hyphae_subscribe(x, quiet, NULL);
	struct hyphae_graph *next;
	int64_t held;

	(void)state;
	assert_int_equal(hyphae_graph_free(graph), 0);
	next = hyphae_graph_new(0);
	assert_non_null(hyphae_int64_new(next, 2));
	assert_int_equal(hyphae_int64_get(x, &held), -ESTALE);
	assert_int_equal(hyphae_int64_set(x, 2), -ESTALE);
	assert_int_equal(hyphae_cell_unref(x), -ESTALE);
	assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
	assert_int_equal(hyphae_unsubscribe_all(x), -ESTALE);
	assert_int_equal(hyphae_subscription_pause(s), -ESTALE);
	assert_int_equal(hyphae_subscription_resume(s), -ESTALE);
	assert_null(hyphae_subscription_cell(s));
	assert_int_equal(hyphae_graph_free(next), 0);
}

static void dead_graph(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_graph_counts counts;

	(void)state;
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_graph_free(graph), -ESTALE);
	assert_int_equal(hyphae_graph_id(graph), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), -ESTALE);
	assert_int_equal(hyphae_graph_check_idle(graph), -ESTALE);
	assert_int_equal(hyphae_graph_on_problem(graph, NULL, NULL), -ESTALE);
	assert_int_equal(hyphae_graph_set_wave_limit(graph, 1), -ESTALE);
	assert_int_equal(hyphae_batch_begin(graph), -ESTALE);
	assert_int_equal(hyphae_batch_end(graph), -ESTALE);
	assert_int_equal(hyphae_settle(graph), -ESTALE);
	REFUSES(hyphae_int64_new(graph, 1), ESTALE);
	REFUSES(hyphae_string_new(graph, "x"), ESTALE);
	REFUSES(hyphae_scope_new(graph), ESTALE);
	assert_int_equal(hyphae_scope_enter(scope), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(scope), -ESTALE);
}

static void double_unsubscribe(void **state)
{
	struct garden *g = *state;
	struct hyphae_subscription *s = hyphae_subscribe(g->a, quiet, NULL);

	assert_non_null(s);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
}

/* ---- writes from where none are allowed ---- */

static struct garden *guarded;
static bool guard_armed; /* the functions below try to write */
static unsigned int guard_tries;
static unsigned int guard_refused; /* of all ways, in all tries */

#define WAYS 6

static void try_all_ways(void)
{
	struct garden *g = guarded;

	if (!guard_armed)
		return;
	guard_tries++;
	guard_refused += hyphae_int64_set(g->a, 99) == -EPERM;
	guard_refused += hyphae_string_set(g->s, "99") == -EPERM;
	guard_refused += hyphae_cell_complete(g->a) == -EPERM;
	guard_refused += hyphae_cell_fail(g->a, -EIO, "no") == -EPERM;
	guard_refused += hyphae_batch_begin(g->graph) == -EPERM;
	guard_refused += hyphae_graph_free(g->graph) == -EBUSY;
}

static int pushy_copy(void *to, const void *from)
{
	try_all_ways();
	memcpy(to, from, sizeof(int64_t));
	return 0;
}

static void pushy_drop(void *value)
{
	(void)value;
	try_all_ways();
}

static bool pushy_equal(const void *a, const void *b)
{
	try_all_ways();
	return *(const int64_t *)a == *(const int64_t *)b;
}

HYPHAE_TYPE_WITH(copying, int64_t, .copy = pushy_copy);
static int plain_copy(void *to, const void *from)
{
	memcpy(to, from, sizeof(int64_t));
	return 0;
}

HYPHAE_TYPE_WITH(dropping, int64_t, .copy = plain_copy, .drop = pushy_drop);
HYPHAE_TYPE_WITH(equating, int64_t, .equal = pushy_equal);

static void arm(struct garden *g)
{
	guarded = g;
	guard_armed = true;
	guard_tries = 0;
	guard_refused = 0;
}

static void expect_refused(unsigned int at_least)
{
	guard_armed = false;
	assert_true(guard_tries >= at_least);
	assert_int_equal(guard_refused, WAYS * guard_tries);
}

/* A cell of `type`, read, written with another and an equal value, gone. */
static void live_a_life(struct garden *g, const struct hyphae_type *type)
{
	int64_t one = 1, two = 2, held = 0;
	struct hyphae_cell *x = hyphae_cell_new(g->graph, type, &one);

	assert_non_null(x);
	assert_int_equal(hyphae_cell_set(x, type, &two), 0);
	assert_int_equal(hyphae_cell_set(x, type, &two), HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_cell_get(x, type, &held), 0);
	assert_int_equal(held, 2);
	assert_int_equal(hyphae_batch_begin(g->graph), 0);
	assert_int_equal(hyphae_cell_set(x, type, &one), 0);
	assert_int_equal(hyphae_batch_end(g->graph), 0);
	assert_int_equal(hyphae_cell_unref(x), 0);
}

static void write_in_copy(void **state)
{
	arm(*state);
	live_a_life(guarded, &copying_type);
	expect_refused(4);
}

static void write_in_drop(void **state)
{
	arm(*state);
	live_a_life(guarded, &dropping_type);
	expect_refused(3);
}

static void write_in_equal(void **state)
{
	arm(*state);
	live_a_life(guarded, &equating_type);
	expect_refused(2);
}

static int pushy_map(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	try_all_ways();
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int pushy_combine(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	(void)count;
	return pushy_map(ret, inputs[0], ctx);
}

static int pushy_filter(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	try_all_ways();
	return 1;
}

static void write_in_compute(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *x = hyphae_int64_new(g->graph, 1);
	struct hyphae_cell *both[2] = {x, x};
	struct hyphae_cell *m, *c, *f;

	arm(g);
	m = hyphae_map(x, &hyphae_int64, pushy_map, NULL);
	c = hyphae_combine(both, 2, &hyphae_int64, pushy_combine, NULL);
	f = hyphae_filter(x, pushy_filter, NULL);
	assert_non_null(m);
	assert_non_null(c);
	assert_non_null(f);
	assert_int_equal(guard_tries, 3); /* when they were made */
	assert_int_equal(hyphae_int64_set(x, 2), 0);
	expect_refused(6);
	expect_int64(m, 2);
	expect_int64(c, 2);
	expect_int64(f, 2);
	assert_int_equal(hyphae_cell_unref(m), 0);
	assert_int_equal(hyphae_cell_unref(c), 0);
	assert_int_equal(hyphae_cell_unref(f), 0);
	assert_int_equal(hyphae_cell_unref(x), 0);
}

static void pushy_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)problem;
	(void)ctx;
	try_all_ways();
}

static int fail_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) == 2 ? -EIO : 0;
}

static void write_in_problem_function(void **state)
{
	struct garden *g = *state;
	struct hyphae_cell *x = hyphae_int64_new(g->graph, 1);
	struct hyphae_subscription *s = hyphae_subscribe(x, fail_call, NULL);

	arm(g);
	assert_int_equal(hyphae_graph_on_problem(g->graph, pushy_problem, NULL),
			 0);
	assert_int_equal(hyphae_int64_set(x, 2), -EIO);
	expect_refused(1);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_cell_unref(x), 0);
}

static void owning(void **state)
{
	struct garden *g = *state;
	unsigned int drops = 0;

	assert_int_equal(hyphae_cell_own(NULL, &drops, count_drop), -EINVAL);
	assert_int_equal(drops, 1);
	assert_int_equal(hyphae_cell_own(g->a, &drops, NULL), -EINVAL);
}

#define TEST_IN(fn, text, plant)                                               \
	{                                                                      \
#fn ", " text, fn, plant, harvest, NULL                        \
	}
#define TEST(fn)                                                               \
	TEST_IN(fn, "thread-safe", plant_shared),                              \
		TEST_IN(fn, "single-thread", plant_single),                    \
		TEST_IN(fn, "eager", plant_eager)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(graphs),
		TEST(types),
		TEST(sources),
		TEST(set_and_get),
		TEST(names),
		TEST(operators),
		TEST(ten_thousand_inputs),
		TEST(the_most_inputs),
		TEST(foreign_cells),
		TEST(subscribing),
		TEST(subscribing_with_options),
		TEST(pausing),
		TEST(batches),
		TEST(passes),
		TEST(scopes),
		TEST(dead_cells),
		TEST(reused_slots),
		TEST(cells_of_a_dead_graph),
		TEST(dead_graph),
		TEST(double_unsubscribe),
		TEST(write_in_copy),
		TEST(write_in_drop),
		TEST(write_in_equal),
		TEST(write_in_compute),
		TEST(write_in_problem_function),
		TEST(owning),
	};

	return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
