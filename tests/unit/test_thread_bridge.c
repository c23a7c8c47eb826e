/* SPDX-License-Identifier: MIT */
/* Bridges between graphs of several threads. */
#include "flow.h"
#include "run.h"
#include "threads.h"

#define SETS 300

static int pair(void *ret, const void *const *in, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)in[0] - *(const int64_t *)in[1];
	return 0;
}

/* Notes whether the two sides of a pair were ever different. */
static int see_difference(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal))
		__atomic_store_n((int *)ctx, 1, __ATOMIC_RELAXED);
	return 0;
}

struct setter {
	struct hyphae_graph *graph;
	struct hyphae_cell *a[2];
	int64_t step;
};

/* Batches that keep both equal. */
static void *set_pairs(void *ctx)
{
	struct setter *s = ctx;

	for (int64_t i = 1; i <= SETS; i++) {
		hyphae_batch_begin(s->graph);
		hyphae_int64_set(s->a[0], i * s->step);
		hyphae_int64_set(s->a[1], i * s->step);
		hyphae_batch_end(s->graph);
	}
	return NULL;
}

/* H-06: several set in batches, through bridges; no half of one is seen. */
static void h06_batches_cross_whole(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags <= HYPHAE_BRIDGE_POST; flags += 2) {
		struct hyphae_graph *l = hyphae_graph_new(0);
		struct hyphae_graph *r = hyphae_graph_new(0);
		struct setter s[3];
		struct hyphae_cell *b[2], *c;
		pthread_t threads[3];
		int different = 0;

		WATCH();
		s[0] = (struct setter){.graph = l, .step = 1};
		for (int i = 0; i < 2; i++) {
			s[0].a[i] = hyphae_int64_new(l, 0);
			b[i] = hyphae_bridge_with(s[0].a[i], r, flags);
		}
		c = hyphae_combine(b, 2, &hyphae_int64, pair, NULL);
		hyphae_subscribe(c, see_difference, &different);
		for (int i = 0; i < 3; i++) {
			s[i] = s[0];
			s[i].step = i + 1;
			start(&threads[i], set_pairs, &s[i]);
		}
		for (int i = 0; i < 3; i++)
			join(threads[i]);
		hyphae_settle(l);
		hyphae_settle(r);
		assert_int_equal(different, 0);
		assert_int_equal(value(b[0]), value(s[0].a[0]));
		assert_int_equal(value(b[1]), value(s[0].a[1]));
		hyphae_graph_free(l);
		hyphae_graph_free(r);
	}
	alarm(0);
}

/* Two graphs, a thread in each, bridges in both directions. */
struct side {
	struct hyphae_cell *own;
	int64_t sign;
};

static void *set_side(void *ctx)
{
	struct side *s = ctx;

	for (int64_t i = 1; i <= SETS; i++)
		hyphae_int64_set(s->own, i * s->sign);
	return NULL;
}

static int add_one(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		hyphae_int64_set(ctx, hyphae_int64_of(signal) + 1);
	return 0;
}

/* H-10: both ways at once: no deadlock, and both sides end up right. */
static void h10_both_ways_at_once(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct hyphae_graph *g[2];
		struct side s[2];
		struct hyphae_cell *far[2];
		pthread_t threads[2];

		WATCH();
		for (int i = 0; i < 2; i++) {
			g[i] = hyphae_graph_new(0);
			s[i].own = hyphae_int64_new(g[i], 0);
			s[i].sign = i ? -1 : 1;
		}
		for (int i = 0; i < 2; i++)
			far[i] = hyphae_bridge(s[i].own, g[1 - i]);
		for (int i = 0; i < 2; i++)
			start(&threads[i], set_side, &s[i]);
		for (int i = 0; i < 2; i++)
			join(threads[i]);
		hyphae_settle(g[0]);
		hyphae_settle(g[1]);
		for (int i = 0; i < 2; i++)
			assert_int_equal(value(far[i]), value(s[i].own));
		hyphae_graph_free(g[0]);
		hyphae_graph_free(g[1]);
	}
	alarm(0);
}

/* A loop over two graphs that two threads keep going comes to an end. */
static void a_loop_of_two_threads_ends(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct hyphae_graph *g[2];
		struct side s[2];
		struct hyphae_cell *far[2];
		pthread_t threads[2];

		WATCH();
		for (int i = 0; i < 2; i++) {
			g[i] = hyphae_graph_new(0);
			hyphae_graph_set_wave_limit(g[i], 10);
			s[i].own = hyphae_int64_new(g[i], 0);
			s[i].sign = i ? -1000 : 1000;
		}
		for (int i = 0; i < 2; i++) {
			far[i] = hyphae_bridge(s[i].own, g[1 - i]);
			hyphae_subscribe_with(far[i], add_one, s[1 - i].own,
					      NULL, HYPHAE_SKIP_INITIAL);
		}
		for (int i = 0; i < 2; i++)
			start(&threads[i], set_side, &s[i]);
		for (int i = 0; i < 2; i++)
			join(threads[i]);
		assert_int_equal(hyphae_graph_check_idle(g[0]), 0);
		assert_int_equal(hyphae_graph_check_idle(g[1]), 0);
		hyphae_graph_free(g[0]);
		hyphae_graph_free(g[1]);
	}
	alarm(0);
}

/* Each single-threaded graph has its thread; they talk by posts. */
struct island {
	struct hyphae_graph *graph;
	struct hyphae_cell *own, *far;
	int64_t sign;
	int *others_done, *done;
	int64_t seen;
};

static void *live(void *ctx)
{
	struct island *s = ctx;

	for (int64_t i = 1; i <= SETS; i++) {
		hyphae_int64_set(s->own, i * s->sign);
		hyphae_settle(s->graph);
	}
	__atomic_store_n(s->done, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(s->others_done, __ATOMIC_ACQUIRE))
		sched_yield();
	hyphae_graph_dispatch(s->graph);
	hyphae_int64_get(s->far, &s->seen);
	/* Its subscription is in the other thread's graph. */
	hyphae_cell_unref(s->far);
	return NULL;
}

static void islands_by_post(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct island s[2];
		struct hyphae_graph_counts counts;
		pthread_t threads[2];
		int done[2] = {0, 0};

		WATCH();
		memset(s, 0, sizeof(s));
		for (int i = 0; i < 2; i++) {
			s[i].graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
			s[i].own = hyphae_int64_new(s[i].graph, 0);
			s[i].sign = i ? -1 : 1;
			s[i].done = &done[i];
			s[i].others_done = &done[1 - i];
		}
		for (int i = 0; i < 2; i++)
			s[i].far = hyphae_bridge(s[1 - i].own, s[i].graph);
		for (int i = 0; i < 2; i++)
			start(&threads[i], live, &s[i]);
		for (int i = 0; i < 2; i++)
			join(threads[i]);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(s[i].seen, SETS * s[1 - i].sign);
			assert_int_equal(hyphae_graph_dispatch(s[i].graph), 0);
			hyphae_graph_counts(s[i].graph, &counts);
			assert_int_equal(counts.cells, 1);
			assert_int_equal(counts.subscriptions, 0);
			assert_int_equal(value(s[i].own), SETS * s[i].sign);
		}
		for (int i = 0; i < 2; i++)
			hyphae_graph_free(s[i].graph);
	}
	alarm(0);
}

/* H-07: made and released while others set. */
struct builder {
	struct hyphae_cell *cell;
	struct hyphae_graph *to;
	unsigned int flags;
	int failed;
};

static void *build_and_release(void *ctx)
{
	struct builder *b = ctx;

	for (int i = 0; i < 150; i++) {
		struct hyphae_cell *c =
			hyphae_bridge_with(b->cell, b->to, b->flags);

		if (!c)
			b->failed = errno;
		if (i % 3 == 0)
			sched_yield();
		hyphae_cell_unref(c);
	}
	return NULL;
}

static void h07_release_races_set(void **state)
{
	unsigned long long seed = test_seed(2);

	(void)state;
	for (unsigned int round = 0; round < 6; round++) {
		struct hyphae_graph *l = hyphae_graph_new(0);
		struct hyphae_graph *r = hyphae_graph_new(0);
		struct side s = {.own = hyphae_int64_new(l, 0), .sign = 1};
		struct builder b[2];
		struct hyphae_graph_counts counts;
		pthread_t threads[3];

		WATCH();
		for (int i = 0; i < 2; i++) {
			b[i] = (struct builder){.cell = s.own, .to = r};
			if ((seed + round + (unsigned int)i) % 3 == 0)
				b[i].flags = HYPHAE_BRIDGE_POST;
			start(&threads[i], build_and_release, &b[i]);
		}
		start(&threads[2], set_side, &s);
		for (int i = 0; i < 3; i++)
			join(threads[i]);
		assert_int_equal(b[0].failed, 0);
		assert_int_equal(b[1].failed, 0);
		hyphae_settle(l);
		hyphae_settle(r);
		hyphae_graph_counts(r, &counts);
		assert_int_equal(counts.cells, 0);
		assert_int_equal(counts.subscriptions, 0);
		assert_int_equal(hyphae_graph_free(r), 0);
		end_graph(l, 1, 0);
	}
}

/* Strings over a chain, from several threads. */
static void *set_strings(void *ctx)
{
	char text[16];

	for (int i = 0; i < SETS; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		hyphae_string_set(ctx, text);
	}
	return NULL;
}

static void strings_over_a_chain(void **state)
{
	long live_before = hy_alloc_live();
	struct hyphae_graph *g[4];
	struct hyphae_cell *c[4];
	pthread_t threads[3];
	char *first = NULL, *last = NULL;

	(void)state;
	WATCH();
	for (int i = 0; i < 4; i++)
		g[i] = hyphae_graph_new(0);
	c[0] = hyphae_string_new(g[0], "moss");
	for (int i = 1; i < 4; i++)
		c[i] = hyphae_bridge(c[i - 1], g[i]);
	for (int i = 0; i < 3; i++)
		start(&threads[i], set_strings, c[0]);
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	for (int i = 0; i < 4; i++)
		hyphae_settle(g[i]);
	hyphae_string_get(c[0], &first);
	hyphae_string_get(c[3], &last);
	assert_string_equal(first, last);
	free(first);
	free(last);
	for (int i = 0; i < 4; i++)
		hyphae_graph_free(g[i]);
	assert_int_equal(hy_alloc_live(), live_before);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h06_batches_cross_whole),
		cmocka_unit_test(h10_both_ways_at_once),
		cmocka_unit_test(a_loop_of_two_threads_ends),
		cmocka_unit_test(islands_by_post),
		cmocka_unit_test(h07_release_races_set),
		cmocka_unit_test(strings_over_a_chain),
	};

	return cmocka_run_group_tests_name("thread_bridge", tests, NULL, NULL);
}
