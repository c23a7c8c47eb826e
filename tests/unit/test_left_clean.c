/* SPDX-License-Identifier: MIT */
/*
 * Whoever has propagated leaves the graph as if he had not: no pass is open,
 * no hop is counted, nothing is left that he did for other threads.
 */
#include "flow.h"

#include "core/drain.h"

#define LIMIT 3
#define SETS 20

static struct hyphae_graph *graph_of(unsigned int flags)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);

	assert_int_equal(hyphae_graph_set_wave_limit(graph, LIMIT), 0);
	return graph;
}

static void expect_clean(struct hyphae_graph *graph)
{
	const struct hy_graph *g = hy_graph(graph);

	assert_int_equal(g->hop, 0);
	assert_int_equal(g->served, 0);
	assert_false(g->pass_open);
	assert_int_equal(g->busy & ~(uint32_t)BUSY_SHARED, 0);
}

static int count(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

/* A wave in which that happened is left by another way. */
static int count_and_fail(const struct hyphae_signal *signal, void *ctx)
{
	count(signal, ctx);
	return -EIO;
}

/*
 * Two graphs that tell each other, but not in a circle: each write is one hop,
 * however many there were before.
 */
static void hops_between(hyphae_subscriber_fn told)
{
	EACH_KIND(one)
	EACH_KIND(other)
	{
		struct hyphae_graph *left = graph_of(*one);
		struct hyphae_graph *right = graph_of(*other);
		struct hyphae_cell *a = hyphae_int64_new(left, 0);
		struct hyphae_cell *b = hyphae_int64_new(right, 0);
		unsigned int a_told = 0, b_told = 0;

		hyphae_subscribe_with(
			hyphae_bridge_with(a, right, HYPHAE_BRIDGE_SAME_THREAD),
			told, &a_told, NULL, HYPHAE_SKIP_INITIAL);
		hyphae_subscribe_with(
			hyphae_bridge_with(b, left, HYPHAE_BRIDGE_SAME_THREAD),
			told, &b_told, NULL, HYPHAE_SKIP_INITIAL);
		for (int i = 1; i <= SETS; i++) {
			assert_int_equal(hyphae_int64_set(a, i), 0);
			expect_clean(left);
			expect_clean(right);
			assert_int_equal(hyphae_int64_set(b, i), 0);
			expect_clean(left);
			expect_clean(right);
		}
		assert_int_equal(a_told, SETS);
		assert_int_equal(b_told, SETS);
		hyphae_graph_free(left);
		hyphae_graph_free(right);
	}
}

static void hops_begin_afresh(void **state)
{
	(void)state;
	hops_between(count);
	hops_between(count_and_fail);
}

struct pusher {
	struct hyphae_input *input;
	int result;
};

static int push(const struct hyphae_signal *signal, void *ctx)
{
	struct pusher *p = ctx;

	p->result = hyphae_input_push(p->input, signal->value);
	return 0;
}

/* Each push of a subscriber is one hop, also when the cell has ended. */
static void inputs_begin_afresh(void **state)
{
	(void)state;
	EACH_KIND(flags)
	{
		struct hyphae_graph *graph = graph_of(*flags);
		struct hyphae_cell *from = hyphae_int64_new(graph, 0);
		struct hyphae_cell *to = hyphae_int64_new(graph, 0);
		struct pusher p = {hyphae_input_new(to, 4, HYPHAE_OVERFLOW_FAIL,
						    HYPHAE_INPUT_AUTO),
				   0};
		unsigned int told = 0;

		assert_non_null(p.input);
		hyphae_subscribe_with(from, push, &p, NULL,
				      HYPHAE_SKIP_INITIAL);
		hyphae_subscribe_with(to, count, &told, NULL,
				      HYPHAE_SKIP_INITIAL);
		for (int i = 1; i <= SETS; i++) {
			assert_int_equal(hyphae_int64_set(from, i), 0);
			assert_int_equal(p.result, 0);
			expect_clean(graph);
		}
		assert_int_equal(told, SETS);
		assert_int_equal(hyphae_cell_complete(to), 0);
		expect_clean(graph);
		for (int i = SETS; i >= 1; i--) {
			assert_int_equal(hyphae_int64_set(from, -i), 0);
			expect_clean(graph);
		}
		assert_int_equal(p.result, -ESHUTDOWN);
		hyphae_input_free(p.input);
		hyphae_graph_free(graph);
	}
}

static int plus_ten(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)value + 10;
	return 0;
}

static int do_nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

static int write_next(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind != HYPHAE_VALUE)
		return 0;
	return hyphae_int64_set(ctx, hyphae_int64_of(signal)) < 0;
}

/* All that makes a thread the drainer, with and without something left. */
static void each_way_of_propagating(void **state)
{
	(void)state;
	EACH_KIND(flags)
	{
		struct hyphae_graph *graph = graph_of(*flags);
		struct hyphae_cell *a = hyphae_int64_new(graph, 0), *m;
		struct hyphae_cell *next = hyphae_int64_new(graph, 0);
		struct hyphae_cell *text = hyphae_string_new(graph, "moss");
		unsigned int told = 0;

		expect_clean(graph);
		m = hyphae_map(a, &hyphae_int64, plus_ten, NULL);
		expect_clean(graph);
		hyphae_subscribe(m, count, &told);
		expect_clean(graph);
		assert_int_equal(hyphae_int64_set(a, 1), 0);
		expect_clean(graph);
		assert_int_equal(hyphae_string_set(text, "fern"), 0);
		expect_clean(graph);
		assert_non_null(hyphae_effect(graph, do_nothing, NULL));
		expect_clean(graph);
		hyphae_batch_begin(graph);
		hyphae_int64_set(a, 2);
		hyphae_string_set(text, "moss");
		assert_int_equal(hyphae_batch_end(graph), 0);
		expect_clean(graph);
		hyphae_batch_begin(graph);
		hyphae_int64_set(a, 3);
		assert_int_equal(hyphae_batch_end(graph), 0);
		expect_clean(graph);
		hyphae_subscribe(a, write_next, next);
		expect_clean(graph);
		assert_int_equal(hyphae_int64_set(a, 4), 0);
		expect_clean(graph);
		assert_int_equal(hyphae_int64_post(next, 5), 0);
		assert_int_equal(hyphae_settle(graph), 0);
		expect_clean(graph);
		assert_int_equal(hyphae_int64_set(a, 6), 0);
		expect_clean(graph);
		hyphae_cell_unref(m);
		expect_clean(graph);
		assert_int_equal(hyphae_cell_fail(a, -EIO, "flood"), 0);
		expect_clean(graph);
		assert_int_equal(hyphae_cell_complete(next), 0);
		expect_clean(graph);
		assert_int_equal(told, 7);
		hyphae_graph_free(graph);
	}
}

/* Nothing is left, and yet he has to look: somebody waits for that. */
static void an_end_with_nothing_left(void **state)
{
	(void)state;
	EACH_KIND(flags)
	{
		struct hyphae_graph *graph = graph_of(*flags);
		struct hy_graph *g = hy_graph(graph);

		for (int i = 0; i < 2; i++) {
			hy_lock(g);
			assert_true(hy_drain_begin(g));
			hy_pass_open(g, 0);
			g->hop = 2;
			g->waiters = 1;
			assert_false(hy_drain_leave(g));
			g->waiters = 0;
			if (i)
				assert_int_equal(hy_drain_end(g, 1), 0);
			else
				assert_true(hy_drain_leave(g));
			hy_unlock(g);
			expect_clean(graph);
		}
		hyphae_graph_free(graph);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hops_begin_afresh),
		cmocka_unit_test(inputs_begin_afresh),
		cmocka_unit_test(each_way_of_propagating),
		cmocka_unit_test(an_end_with_nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
