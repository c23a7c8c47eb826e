/* SPDX-License-Identifier: MIT */
/* A set in a graph that has settled down asks for no memory. */
#include "oom_functions.h"

struct steady {
	struct hyphae_graph *graph;
	struct hyphae_cell *a[10];
	unsigned int calls;
};

static void one_set(struct steady *s, int64_t i)
{
	assert_int_equal(hyphae_int64_set(s->a[0], i), 0);
}

static void one_batch(struct steady *s, int64_t i)
{
	int k;

	assert_int_equal(hyphae_batch_begin(s->graph), 0);
	for (k = 0; k < 10; k++)
		assert_int_equal(hyphae_int64_set(s->a[k], i + k), 0);
	assert_int_equal(hyphae_batch_end(s->graph), 0);
}

static void one_large_set(struct steady *s, int64_t i)
{
	assert_int_equal(large_set(s->a[0], (struct large){.n = i}), 0);
}

static void one_large_batch(struct steady *s, int64_t i)
{
	assert_int_equal(hyphae_batch_begin(s->graph), 0);
	assert_int_equal(large_set(s->a[0], (struct large){.n = i}), 0);
	assert_int_equal(hyphae_batch_end(s->graph), 0);
}

static void follow(struct steady *s, struct hyphae_cell *cell)
{
	assert_non_null(hyphae_subscribe(cell, count_call, &s->calls));
}

static void chain(struct steady *s)
{
	struct hyphae_cell *x = s->a[0];
	int i;

	for (i = 0; i < 100; i++)
		x = hyphae_map(x, &hyphae_int64, plus_one, NULL);
	follow(s, x);
}

static void diamonds(struct steady *s)
{
	struct hyphae_cell *x = s->a[0];
	int i;

	for (i = 0; i < 5; i++) {
		struct hyphae_cell *arms[3];

		arms[0] = hyphae_map(x, &hyphae_int64, plus_one, NULL);
		arms[1] = hyphae_filter(x, positive, NULL);
		arms[2] = x;
		x = hyphae_combine(arms, 3, &hyphae_int64, sum, NULL);
	}
	follow(s, x);
}

static void fan(struct steady *s)
{
	int i;

	for (i = 0; i < 100; i++) {
		follow(s, s->a[0]);
		follow(s, hyphae_map(s->a[0], &hyphae_int64, plus_one, NULL));
	}
}

static void joined(struct steady *s)
{
	follow(s, hyphae_combine(s->a, 10, &hyphae_int64, sum, NULL));
}

static int set_ctx(const struct hyphae_signal *signal, void *ctx)
{
	int r = hyphae_int64_set(ctx, -hyphae_int64_of(signal));

	return r < 0 ? r : 0;
}

static void echoed(struct steady *s)
{
	assert_non_null(hyphae_subscribe(s->a[0], set_ctx, s->a[1]));
	assert_non_null(hyphae_subscribe(s->a[0], set_ctx, s->a[2]));
	joined(s);
}

static void large_chain(struct steady *s)
{
	struct hyphae_cell *x =
		large_new_at(s->graph, (struct large){.n = 0}, HYPHAE_HERE);
	int i;

	s->a[0] = x;
	for (i = 0; i < 10; i++) {
		x = hyphae_map(x, &large_type, next_large, NULL);
		if (i == 5)
			x = hyphae_filter(x, positive, NULL);
	}
	follow(s, x);
}

/* Each link remembers its previous value, and cleans up. */
static void remembered(struct steady *s)
{
	struct hyphae_subscription_options options = {
		.fn = count_call,
		.ctx = &s->calls,
		.cleanup = quiet_cleanup,
		.flags = HYPHAE_PREVIOUS,
	};
	int i;

	large_chain(s);
	for (i = 0; i < 3; i++) {
		struct hyphae_cell *x =
			hyphae_map(s->a[0], &large_type, next_large, NULL);

		assert_non_null(hyphae_subscribe_options(x, &options));
		assert_non_null(hyphae_subscribe_options(x, &options));
		assert_non_null(hyphae_subscribe_options(s->a[0], &options));
	}
}

static void steady_state(void (*build)(struct steady *s),
			 void (*turn)(struct steady *s, int64_t i))
{
	static const unsigned int flags[] = {
		0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
		HYPHAE_EAGER | HYPHAE_SINGLE_THREAD};
	size_t f;

	for (f = 0; f < 4; f++) {
		struct steady s = {.graph = hyphae_graph_new(flags[f])};
		unsigned long asked;
		unsigned int calls;
		int64_t i;

		for (i = 0; i < 10; i++)
			s.a[i] = hyphae_int64_new(s.graph, 0);
		build(&s);
		for (i = 1; i <= 5; i++) /* it may settle down first */
			turn(&s, i * 100);
		asked = hy_alloc_count();
		calls = s.calls;
		for (i = 1; i <= 1000; i++)
			turn(&s, i * 1000);
		assert_int_equal(hy_alloc_count(), asked);
		assert_true(s.calls >= calls + 1000);
		assert_int_equal(hyphae_graph_free(s.graph), 0);
	}
}

static void steady_chain(void **state)
{
	(void)state;
	steady_state(chain, one_set);
}

static void steady_diamonds(void **state)
{
	(void)state;
	steady_state(diamonds, one_set);
}

static void steady_fan(void **state)
{
	(void)state;
	steady_state(fan, one_set);
}

static void steady_remembered(void **state)
{
	(void)state;
	steady_state(remembered, one_large_set);
}

static void steady_batch(void **state)
{
	(void)state;
	steady_state(joined, one_batch);
}

static void steady_echo(void **state)
{
	(void)state;
	steady_state(echoed, one_set);
}

static void steady_large(void **state)
{
	(void)state;
	steady_state(large_chain, one_large_set);
}

static void steady_large_batch(void **state)
{
	(void)state;
	steady_state(large_chain, one_large_batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_chain),
		cmocka_unit_test(steady_diamonds),
		cmocka_unit_test(steady_fan),
		cmocka_unit_test(steady_remembered),
		cmocka_unit_test(steady_batch),
		cmocka_unit_test(steady_echo),
		cmocka_unit_test(steady_large),
		cmocka_unit_test(steady_large_batch),
	};

	return cmocka_run_group_tests_name("no memory, steady", tests, NULL,
					   NULL);
}
