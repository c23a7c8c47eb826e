/* SPDX-License-Identifier: MIT */
/* Bridges between graphs of one thread. */
#include "flow.h"

/* Two graphs of all kinds, a cell in the first, bridged into the second. */
struct banks {
	struct hyphae_graph *left, *right;
	struct hyphae_cell *a, *b;
	struct text t;
};

static void build(struct banks *k, unsigned int left, unsigned int right)
{
	memset(k, 0, sizeof(*k));
	k->left = hyphae_graph_new(left);
	k->right = hyphae_graph_new(right);
	k->a = hyphae_int64_new(k->left, 1);
	k->b = hyphae_bridge_with(k->a, k->right, HYPHAE_BRIDGE_SAME_THREAD);
	assert_non_null(k->b);
	assert_non_null(hyphae_subscribe_with(k->b, note, &k->t, drop_text, 0));
}

static void expect_counts(struct hyphae_graph *graph, size_t cells,
			  size_t subscriptions)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, cells);
	assert_int_equal(counts.subscriptions, subscriptions);
}

/* Nothing of a bridge is left behind. */
static void tear_down(struct banks *k, size_t left_cells)
{
	hyphae_cell_unref(k->b);
	hyphae_unsubscribe_all(k->b);
	expect_counts(k->right, 0, 0);
	expect_counts(k->left, left_cells, 0);
	assert_int_equal(hyphae_graph_free(k->left), 0);
	assert_int_equal(hyphae_graph_free(k->right), 0);
}

#define EACH_PAIR(left_, right_)                                               \
	EACH_KIND(left_)                                                       \
	EACH_KIND(right_)

static void values_cross(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_cell_info info;
		int64_t held;

		build(&k, *left, *right);
		assert_text(&k.t, "1");
		assert_int_equal(hyphae_int64_set(k.a, 2), 0);
		assert_int_equal(hyphae_int64_get(k.b, &held), 0);
		assert_int_equal(held, 2);
		assert_int_equal(hyphae_int64_set(k.a, 2), HYPHAE_UNCHANGED);
		assert_int_equal(hyphae_int64_set(k.a, 3), 0);
		assert_text(&k.t, "2,3");
		assert_int_equal(hyphae_cell_info(k.b, &info), 0);
		assert_string_equal(info.op, "bridge");
		assert_ptr_equal(info.type, &hyphae_int64);
		assert_int_equal(hyphae_int64_set(k.b, 9), -EINVAL);
		expect_counts(k.left, 2, 2);
		expect_counts(k.right, 2, 1);
		tear_down(&k, 1);
	}
}

static void ends_and_errors_cross(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_cell *m, *bridged;
		struct text t = {.length = 0};

		build(&k, *left, *right);
		m = hyphae_map(k.a, &hyphae_int64, ten_by, NULL);
		bridged = hyphae_bridge_with(m, k.right,
					     HYPHAE_BRIDGE_SAME_THREAD);
		hyphae_subscribe(bridged, note, &t);
		assert_int_equal(hyphae_int64_set(k.a, 0), 0);
		assert_int_equal(hyphae_int64_set(k.a, 5), 0);
		assert_text(&t, "10,E(-33 ),2");
		assert_text(&k.t, "1,0,5");
		hyphae_cell_unref(m);
		assert_int_equal(hyphae_cell_fail(k.a, -EIO, "flood"), 0);
		assert_text(&t, "T(-5 flood)");
		assert_text(&k.t, "T(-5 flood)");
		assert_int_equal(k.t.drops, 1);
		hyphae_cell_unref(bridged);
		expect_counts(k.right, 1, 0);
		tear_down(&k, 1);
	}
}

static void completion_after_the_last_value(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_cell *late;
		struct text t = {.length = 0};

		build(&k, *left, *right);
		hyphae_batch_begin(k.left);
		hyphae_int64_set(k.a, 7);
		hyphae_cell_complete(k.a);
		hyphae_batch_end(k.left);
		assert_text(&k.t, "1,7,C");
		expect_counts(k.left, 1, 0);
		/* Of an ended cell. */
		late = hyphae_bridge_with(k.a, k.right,
					  HYPHAE_BRIDGE_SAME_THREAD);
		assert_non_null(late);
		hyphae_subscribe(late, note, &t);
		assert_text(&t, "7,C");
		hyphae_cell_unref(late);
		tear_down(&k, 1);
	}
}

static int pair(void *ret, const void *const *in, size_t count, void *ctx)
{
	(void)count;
	++*(int *)ctx;
	*(int64_t *)ret =
		*(const int64_t *)in[0] * 100 + *(const int64_t *)in[1];
	return 0;
}

/* One batch here is one batch there. */
static void a_batch_stays_a_batch(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_cell *a2, *both[2], *c;
		struct text t = {.length = 0};
		int runs = 0;

		build(&k, *left, *right);
		a2 = hyphae_int64_new(k.left, 1);
		both[0] = k.b;
		both[1] = hyphae_bridge_with(a2, k.right,
					     HYPHAE_BRIDGE_SAME_THREAD);
		c = hyphae_combine(both, 2, &hyphae_int64, pair, &runs);
		hyphae_subscribe(c, note, &t);
		for (int64_t i = 2; i <= 4; i++) {
			hyphae_batch_begin(k.left);
			hyphae_int64_set(k.a, i);
			hyphae_int64_set(a2, i);
			assert_int_equal(hyphae_batch_end(k.left), 0);
		}
		assert_text(&t, "101,202,303,404");
		assert_int_equal(runs, 4);
		hyphae_cell_unref(c);
		hyphae_cell_unref(both[1]);
		hyphae_unsubscribe_all(c);
		expect_counts(k.right, 2, 1);
		hyphae_cell_unref(a2);
		tear_down(&k, 1);
	}
}

static void events_all_cross(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_cell *e, *bridged;
		struct hyphae_cell_info info;
		struct text t = {.length = 0};

		build(&k, *left, *right);
		e = hyphae_event_new(k.left, &hyphae_int64);
		bridged = hyphae_bridge_with(e, k.right,
					     HYPHAE_BRIDGE_SAME_THREAD);
		assert_int_equal(hyphae_cell_info(bridged, &info), 0);
		assert_true(info.event);
		hyphae_subscribe(bridged, note, &t);
		hyphae_int64_set(e, 5);
		hyphae_int64_set(e, 5);
		hyphae_batch_begin(k.left);
		hyphae_int64_set(e, 5);
		hyphae_int64_set(e, 6);
		hyphae_int64_set(e, 6);
		assert_int_equal(hyphae_batch_end(k.left), 0);
		assert_text(&t, "5,5,5,6,6");
		assert_int_equal(hyphae_cell_complete(e), 0);
		assert_text(&t, "C");
		hyphae_cell_unref(bridged);
		hyphae_cell_unref(e);
		tear_down(&k, 1);
	}
}

/* An event's errors are told each time, and so is what crosses of them. */
static void equal_errors_of_events_all_cross(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct hyphae_cell *e, *failing;
		struct banks k;

		memset(&k, 0, sizeof(k));
		k.left = hyphae_graph_new(*left);
		k.right = hyphae_graph_new(*right);
		e = hyphae_event_new(k.left, &hyphae_int64);
		failing = hyphae_map(e, &hyphae_int64, ten_by, NULL);
		k.b = hyphae_bridge_with(failing, k.right,
					 HYPHAE_BRIDGE_SAME_THREAD);
		assert_non_null(k.b);
		assert_non_null(
			hyphae_subscribe_with(k.b, note, &k.t, drop_text, 0));
		assert_int_equal(hyphae_int64_set(e, 0), 0);
		assert_int_equal(hyphae_int64_set(e, 0), 0);
		assert_text(&k.t, "E(-33 ),E(-33 )");
		tear_down(&k, 2);
	}
}

static void strings_are_not_shared(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *l = hyphae_graph_new(*left);
		struct hyphae_graph *r = hyphae_graph_new(*right);
		struct hyphae_cell *a = hyphae_string_new(l, "moss");
		struct hyphae_cell *b =
			hyphae_bridge_with(a, r, HYPHAE_BRIDGE_SAME_THREAD);
		struct text t = {.length = 0};
		char *text = NULL;

		hyphae_subscribe(b, note, &t);
		hyphae_string_set(a, "fern");
		hyphae_string_set(a, "reed");
		assert_text(&t, "'moss','fern','reed'");
		assert_int_equal(hyphae_graph_free(l), 0);
		assert_text(&t, "T(-125 )");
		assert_int_equal(hyphae_string_get(b, &text), -ECANCELED);
		assert_int_equal(hyphae_graph_free(r), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

static void either_graph_goes_first(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		long live = hy_alloc_live();
		struct banks k;

		build(&k, *left, *right);
		assert_int_equal(hyphae_graph_free(k.left), 0);
		assert_text(&k.t, "1,T(-125 )");
		hyphae_cell_unref(k.b);
		hyphae_unsubscribe_all(k.b);
		expect_counts(k.right, 0, 0);
		assert_int_equal(hyphae_graph_free(k.right), 0);
		assert_int_equal(hy_alloc_live(), live);

		build(&k, *left, *right);
		assert_int_equal(hyphae_graph_free(k.right), 0);
		assert_int_equal(hyphae_int64_set(k.a, 2), 0);
		assert_text(&k.t, "1");
		expect_counts(k.left, 1, 0);
		assert_int_equal(hyphae_graph_free(k.left), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* A subscriber there sets the cell here, to more each time. */
static int set_more(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind != HYPHAE_VALUE)
		return 0;
	return hyphae_int64_set(ctx, hyphae_int64_of(signal) + 1) < 0;
}

static int add_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int problem_codes[8], nproblems;

static void note_problem(const struct hyphae_problem *problem, void *ctx)
{
	(void)ctx;
	if (nproblems < 8)
		problem_codes[nproblems++] = problem->code;
}

/*
 * A ring of graphs: each bridges to the next, and the last one's subscriber
 * sets the first one's source.
 */
static void ring(unsigned int kind, int graphs)
{
	struct hyphae_graph *g[8];
	struct hyphae_cell *c[8], *end;
	struct hyphae_cell *source;

	for (int i = 0; i < graphs; i++) {
		g[i] = hyphae_graph_new(kind);
		hyphae_graph_set_wave_limit(g[i], 30);
		hyphae_graph_on_problem(g[i], note_problem, NULL);
	}
	source = hyphae_int64_new(g[0], 0);
	c[0] = hyphae_map(source, &hyphae_int64, add_one, NULL);
	for (int i = 1; i < graphs; i++)
		c[i] = hyphae_bridge_with(c[i - 1], g[i],
					  HYPHAE_BRIDGE_SAME_THREAD);
	end = hyphae_bridge_with(c[graphs - 1], g[0],
				 HYPHAE_BRIDGE_SAME_THREAD);
	nproblems = 0;
	hyphae_subscribe_with(end, set_more, source, NULL, HYPHAE_SKIP_INITIAL);
	assert_int_equal(hyphae_int64_set(source, 10), -ELOOP);
	assert_true(nproblems >= 1);
	assert_int_equal(problem_codes[0], -ELOOP);
	for (int i = 0; i < graphs; i++)
		assert_int_equal(hyphae_graph_check_idle(g[i]), 0);
	for (int i = 0; i < graphs; i++)
		assert_int_equal(hyphae_graph_free(g[i]), 0);
}

static void bridges_that_lead_back_end(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		ring(*kind, 2);
		ring(*kind, 3);
		ring(*kind, 7);
	}
}

static int release(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		return 0;
	return hyphae_cell_unref(*(struct hyphae_cell **)ctx);
}

/*
 * Of two ways out of a graph the first, when it is taken, brings about the end
 * of the second, which is to be taken next.
 */
static void the_end_of_the_next_link(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *from = hyphae_graph_new(*left);
		struct hyphae_graph *first = hyphae_graph_new(*right);
		struct hyphae_graph *second = hyphae_graph_new(*right);
		struct hyphae_cell *a = hyphae_int64_new(from, 1);
		struct hyphae_cell *b =
			hyphae_bridge_with(a, first, HYPHAE_BRIDGE_SAME_THREAD);
		struct hyphae_cell *c =
			hyphae_bridge_with(a, second, HYPHAE_BRIDGE_POST);

		hyphae_subscribe_with(b, release, &c, NULL,
				      HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_cell_complete(a), 0);
		expect_counts(second, 0, 0);
		assert_int_equal(hyphae_graph_free(from), 0);
		assert_int_equal(hyphae_graph_free(first), 0);
		assert_int_equal(hyphae_graph_free(second), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* A cell in a graph, and what it becomes at the other end of a ring. */
struct posted_ring {
	struct hyphae_graph *g[3];
	struct hyphae_cell *c[4]; /* the source, and a bridged one in each */
};

static void open_posted_ring(struct posted_ring *ring, unsigned int kind,
			     int graphs, unsigned int last)
{
	for (int i = 0; i < graphs; i++) {
		ring->g[i] = hyphae_graph_new(kind);
		hyphae_graph_set_wave_limit(ring->g[i], 30);
		hyphae_graph_on_problem(ring->g[i], note_problem, NULL);
	}
	ring->c[0] = hyphae_int64_new(ring->g[0], 0);
	for (int i = 1; i <= graphs; i++)
		ring->c[i] = hyphae_bridge_with(
			ring->c[i - 1], ring->g[i % graphs],
			i < graphs ? HYPHAE_BRIDGE_POST : last);
	hyphae_subscribe_with(ring->c[graphs], set_more, ring->c[0], NULL,
			      HYPHAE_SKIP_INITIAL);
	nproblems = 0;
}

static void close_posted_ring(struct posted_ring *ring, int graphs)
{
	for (int i = 0; i <= graphs; i++)
		assert_int_equal(hyphae_cell_unref(ring->c[i]), 0);
	for (int i = 0; i < graphs; i++)
		assert_int_equal(hyphae_graph_check_idle(ring->g[i]), 0);
	for (int i = 0; i < graphs; i++)
		assert_int_equal(hyphae_graph_free(ring->g[i]), 0);
}

/*
 * Each crossing waits for its graph to look, and is counted all the same: 30
 * crossings, one more than that is dropped, wherever it was to begin.
 */
static void posted_ring(unsigned int kind, int graphs, unsigned int last)
{
	struct posted_ring ring = {.g = {NULL}};
	int64_t held;

	open_posted_ring(&ring, kind, graphs, last);
	assert_int_equal(hyphae_int64_set(ring.c[0], 10), 0);
	for (int i = 1; i < 200; i++)
		hyphae_settle(ring.g[i % graphs]);
	assert_int_equal(hyphae_int64_get(ring.c[0], &held), 0);
	assert_int_equal(held, 10 + 30 / graphs);
	/* Also one of the graph from which it came on the same thread. */
	assert_int_equal(nproblems, last == HYPHAE_BRIDGE_POST ? 1 : 2);
	for (int i = 0; i < nproblems; i++)
		assert_int_equal(problem_codes[i], -ELOOP);
	close_posted_ring(&ring, graphs);
}

static void a_ring_by_post_ends(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		posted_ring(*kind, 2, HYPHAE_BRIDGE_POST);
		posted_ring(*kind, 3, HYPHAE_BRIDGE_POST);
		posted_ring(*kind, 2, HYPHAE_BRIDGE_SAME_THREAD);
		posted_ring(*kind, 3, HYPHAE_BRIDGE_SAME_THREAD);
	}
}

static int look_for_int64(struct hyphae_cell *cell, void *ctx)
{
	struct hyphae_cell_info info;

	hyphae_cell_info(cell, &info);
	*(int *)ctx += info.type == &hyphae_int64;
	return 0;
}

/* Nobody can follow the cells that tell a graph that something crosses. */
static void no_walk_shows_its_own_cells(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct hyphae_graph_counts counts;
		struct banks k;
		int seen = 0;

		build(&k, *left, *right);
		assert_int_equal(hyphae_graph_counts(k.left, &counts), 0);
		assert_int_equal(counts.cells, 2);
		hyphae_graph_each_cell(k.left, look_for_int64, &seen);
		assert_int_equal(seen, 1);
		tear_down(&k, 1);
	}
}

/* The graph that is set lies outside of the ring that it feeds. */
static void a_ring_elsewhere_ends(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *g0 = hyphae_graph_new(*kind);
		struct hyphae_graph *g1 = hyphae_graph_new(*kind);
		struct hyphae_graph *g2 = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_int64_new(g0, 0);
		struct hyphae_cell *start =
			hyphae_bridge_with(a, g1, HYPHAE_BRIDGE_SAME_THREAD);
		struct hyphae_cell *s1 = hyphae_int64_new(g1, 0);
		struct hyphae_cell *s2 = hyphae_int64_new(g2, 0);
		struct hyphae_cell *b1 =
			hyphae_bridge_with(s1, g2, HYPHAE_BRIDGE_SAME_THREAD);
		struct hyphae_cell *b2 =
			hyphae_bridge_with(s2, g1, HYPHAE_BRIDGE_SAME_THREAD);
		int64_t held;

		hyphae_subscribe_with(start, set_more, s1, NULL,
				      HYPHAE_SKIP_INITIAL);
		hyphae_subscribe_with(b1, set_more, s2, NULL,
				      HYPHAE_SKIP_INITIAL);
		hyphae_subscribe_with(b2, set_more, s1, NULL,
				      HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_int64_set(a, 1), -ELOOP);
		assert_int_equal(hyphae_int64_get(s2, &held), 0);
		/* 100 crossings, the first one from outside. */
		assert_int_equal(held, 101);
		/* The limit is one for each cause: it all works again. */
		assert_int_equal(hyphae_int64_set(a, 2), -ELOOP);
		hyphae_graph_free(g1);
		assert_int_equal(hyphae_int64_set(a, 3), 0);
		hyphae_graph_free(g0);
		hyphae_graph_free(g2);
	}
}

/* Two cells that follow each other settle, also 1,000 times in one pass. */
static int set_same(const struct hyphae_signal *signal, void *ctx)
{
	int r;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	r = hyphae_int64_set(ctx, hyphae_int64_of(signal));
	return r < 0 ? r : 0;
}

static void two_ways_settle(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *l = hyphae_graph_new(*kind);
		struct hyphae_graph *r = hyphae_graph_new(*kind);
		struct hyphae_cell *x = hyphae_int64_new(l, 0);
		struct hyphae_cell *y = hyphae_int64_new(r, 0);
		struct hyphae_cell *bx =
			hyphae_bridge_with(x, r, HYPHAE_BRIDGE_SAME_THREAD);
		struct hyphae_cell *by =
			hyphae_bridge_with(y, l, HYPHAE_BRIDGE_SAME_THREAD);
		int64_t held;

		hyphae_subscribe(bx, set_same, y);
		hyphae_subscribe(by, set_same, x);
		assert_int_equal(hyphae_pass_begin(), 0);
		for (int64_t i = 1; i <= 1000; i++) {
			assert_int_equal(hyphae_int64_set(x, i), 0);
			assert_int_equal(hyphae_int64_get(y, &held), 0);
			assert_int_equal(held, i);
			assert_int_equal(hyphae_int64_set(y, -i), 0);
			assert_int_equal(hyphae_int64_get(x, &held), 0);
			assert_int_equal(held, -i);
		}
		assert_int_equal(hyphae_pass_end(), 0);
		hyphae_graph_free(l);
		hyphae_graph_free(r);
	}
}

#define CHAIN 400

struct chain {
	int64_t held;
	int set, freed;
	bool empty;
};

/* A chain of graphs does not nest: on a small stack. */
static void *run_chain(void *ctx)
{
	struct chain *chain = ctx;
	static struct hyphae_graph *g[CHAIN];
	struct hyphae_cell *first, *c, *next;
	struct hyphae_graph_counts counts;

	for (int i = 0; i < CHAIN; i++) {
		g[i] = hyphae_graph_new(0);
		hyphae_graph_set_wave_limit(g[i], CHAIN);
	}
	first = c = hyphae_int64_new(g[0], 0);
	for (int i = 1; i < CHAIN; i++) {
		next = hyphae_bridge(c, g[i]);
		hyphae_cell_unref(c);
		c = next;
	}
	chain->set = hyphae_int64_set(first, 5);
	hyphae_int64_get(c, &chain->held);
	hyphae_cell_unref(c);
	chain->empty = true;
	for (int i = 0; i < CHAIN; i++) {
		hyphae_graph_counts(g[i], &counts);
		chain->empty &= !counts.cells && !counts.subscriptions;
		chain->freed += hyphae_graph_free(g[i]) == 0;
	}
	return NULL;
}

static void a_long_chain_of_graphs(void **state)
{
	struct chain chain = {.held = -1};
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	assert_int_equal(pthread_create(&thread, &attr, run_chain, &chain), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_int_equal(chain.set, 0);
	assert_int_equal(chain.held, 5);
	assert_true(chain.empty);
	assert_int_equal(chain.freed, CHAIN);
}

/* Released inside its own call, and the source released with it. */
static int release_it(const struct hyphae_signal *signal, void *ctx)
{
	struct banks *k = ctx;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 2) {
		hyphae_cell_unref(k->b);
		hyphae_unsubscribe_all(k->b);
	}
	return 0;
}

static void released_in_its_own_call(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;

		build(&k, *left, *right);
		hyphae_subscribe(k.b, release_it, &k);
		assert_int_equal(hyphae_int64_set(k.a, 2), 0);
		assert_int_equal(hyphae_int64_set(k.a, 3), 0);
		assert_text(&k.t, "1,2");
		expect_counts(k.left, 1, 0);
		expect_counts(k.right, 0, 0);
		hyphae_graph_free(k.left);
		hyphae_graph_free(k.right);
	}
}

static void a_scope_releases_it(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct banks k;
		struct hyphae_scope *scope;

		build(&k, *left, *right);
		scope = hyphae_scope_new(k.right);
		hyphae_scope_enter(scope);
		assert_non_null(hyphae_bridge_with(k.a, k.right,
						   HYPHAE_BRIDGE_SAME_THREAD));
		hyphae_scope_leave(scope);
		expect_counts(k.left, 2, 3);
		assert_int_equal(hyphae_scope_dispose(scope), 0);
		expect_counts(k.left, 2, 2);
		expect_counts(k.right, 2, 1);
		assert_int_equal(hyphae_int64_set(k.a, 2), 0);
		assert_text(&k.t, "1,2");
		tear_down(&k, 1);
	}
}

static int leave_and_dispose(const struct hyphae_signal *signal, void *ctx)
{
	int r = hyphae_scope_leave(ctx);

	(void)signal;
	return r ? r : hyphae_scope_dispose(ctx);
}

/*
 * The end of a cell crosses while a bridge to it is made.  What else that
 * brings about may dispose the scope of the bridged cell: then the constructor
 * returns a handle that is stale.
 */
static void its_scope_ends_while_it_is_made(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *from = hyphae_graph_new(*left);
		struct hyphae_graph *to = hyphae_graph_new(*right);
		struct hyphae_cell *a = hyphae_int64_new(from, 1), *b;
		struct hyphae_cell *posted = hyphae_int64_new(from, 1);
		struct hyphae_scope *scope = hyphae_scope_new(to);

		hyphae_subscribe_with(posted, leave_and_dispose, scope, NULL,
				      HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_cell_complete(a), 0);
		assert_int_equal(hyphae_int64_post(posted, 2), 0);
		assert_int_equal(hyphae_scope_enter(scope), 0);
		b = hyphae_bridge_with(a, to, HYPHAE_BRIDGE_SAME_THREAD);
		assert_non_null(b);
		assert_int_equal(hyphae_scope_leave(scope), -ESTALE);
		assert_int_equal(hyphae_cell_unref(b), -ESTALE);
		expect_counts(from, 2, 1);
		expect_counts(to, 0, 0);
		assert_int_equal(hyphae_graph_free(from), 0);
		assert_int_equal(hyphae_graph_free(to), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* By post: when the other graph looks, as one batch. */
static void by_post(void **state)
{
	(void)state;
	EACH_PAIR(left, right)
	{
		struct hyphae_graph *l = hyphae_graph_new(*left);
		struct hyphae_graph *r = hyphae_graph_new(*right);
		struct hyphae_cell *a[2], *b[2], *c;
		struct text t = {.length = 0};
		int runs = 0;

		for (int i = 0; i < 2; i++) {
			a[i] = hyphae_int64_new(l, 1);
			b[i] = hyphae_bridge_with(a[i], r, HYPHAE_BRIDGE_POST);
		}
		c = hyphae_combine(b, 2, &hyphae_int64, pair, &runs);
		hyphae_subscribe(c, note, &t);
		expect_counts(r, 6, 2);
		for (int64_t i = 2; i <= 3; i++) {
			hyphae_batch_begin(l);
			hyphae_int64_set(a[0], i);
			hyphae_int64_set(a[1], i);
			assert_int_equal(hyphae_batch_end(l), 0);
			assert_text(&t, i == 2 ? "101" : "");
		}
		assert_int_equal(hyphae_settle(r), 0);
		assert_text(&t, "303");
		assert_int_equal(hyphae_cell_complete(a[0]), 0);
		assert_int_equal(hyphae_cell_complete(a[1]), 0);
		assert_int_equal(hyphae_graph_free(l), 0);
		assert_int_equal(hyphae_graph_dispatch(r), 0);
		assert_text(&t, "C");
		hyphae_cell_unref(b[0]);
		hyphae_cell_unref(b[1]);
		hyphae_cell_unref(c);
		hyphae_unsubscribe_all(c);
		expect_counts(r, 0, 0);
		assert_int_equal(hyphae_graph_free(r), 0);
	}
}

static int count_signals(const struct hyphae_signal *signal, void *ctx)
{
	++((int *)ctx)[signal->kind];
	return 0;
}

/* Events that nobody fetches do not pile up for ever. */
static void events_that_wait_are_bounded(void **state)
{
	long live = hy_alloc_live();
	struct hyphae_graph *l = hyphae_graph_new(0);
	struct hyphae_graph *r = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *e = hyphae_event_new(l, &hyphae_int64);
	struct hyphae_cell *b = hyphae_bridge(e, r);
	int counts[3] = {0, 0, 0};

	(void)state;
	hyphae_subscribe(b, count_signals, counts);
	for (int i = 0; i < 200; i++)
		assert_int_equal(hyphae_int64_set(e, i), 0);
	assert_int_equal(counts[HYPHAE_VALUE], 0);
	assert_int_equal(hyphae_settle(r), 0);
	assert_int_equal(counts[HYPHAE_VALUE], 200);
	for (int i = 0; i < HYPHAE_EVENTS_MAX; i++)
		assert_int_equal(hyphae_int64_set(e, i), 0);
	nproblems = 0;
	hyphae_graph_on_problem(l, note_problem, NULL);
	assert_int_equal(hyphae_int64_set(e, 1), -EAGAIN);
	assert_int_equal(nproblems, 1);
	assert_int_equal(problem_codes[0], -EAGAIN);
	assert_int_equal(hyphae_cell_complete(e), 0);
	hyphae_graph_free(r);
	hyphae_graph_free(l);
	assert_int_equal(hy_alloc_live(), live);
}

static int bridge_in_compute(void *ret, const void *input, void *ctx)
{
	struct banks *k = ctx;

	(void)input;
	*(int64_t *)ret = hyphae_bridge(k->a, k->right) ? 0 : -errno;
	return 0;
}

static void bad_input(void **state)
{
	struct banks k;
	struct hyphae_graph *gone = hyphae_graph_new(0);
	struct hyphae_cell *m;
	int64_t held;

	(void)state;
	hyphae_graph_free(gone);
	build(&k, 0, 0);
	errno = 77;
	assert_null(hyphae_bridge(NULL, k.right));
	assert_int_equal(errno, 77);
	assert_null(hyphae_bridge(stale_cell(), k.right));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_bridge(k.a, gone));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_bridge(k.a, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_bridge(k.a, k.left));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_bridge_with(k.a, k.right, 4));
	assert_int_equal(errno, EINVAL);
	m = hyphae_map(k.a, &hyphae_int64, bridge_in_compute, &k);
	assert_int_equal(hyphae_int64_get(m, &held), 0);
	assert_int_equal(held, -EPERM);
	hyphae_cell_unref(m);
	tear_down(&k, 1);
}

/* Whatever fails is told, and the last value crosses when it can. */
static void no_memory(void **state)
{
	long live = hy_alloc_live();

	(void)state;
	for (unsigned int post = 0; post < 2; post++) {
		OOM_SWEEP(n)
		{
			struct hyphae_graph *l = hyphae_graph_new(0);
			struct hyphae_graph *r = l ? hyphae_graph_new(0) : NULL;
			struct hyphae_cell *a = NULL, *b = NULL;
			struct text t = {.length = 0};
			char *text = NULL;

			nproblems = 0;
			if (r) {
				hyphae_graph_on_problem(l, note_problem, NULL);
				a = hyphae_string_new(l, "moss");
				b = hyphae_bridge_with(
					a, r, post ? HYPHAE_BRIDGE_POST : 0);
			}
			if (b) {
				int told = hyphae_string_set(a, "fern");

				hyphae_settle(r);
				OOM_PAUSE();
				if (told)
					assert_true(told == -ENOMEM);
				/* Set again, it takes along what waited. */
				assert_true(hyphae_string_set(a, "reed") >= 0);
				assert_int_equal(hyphae_settle(r), 0);
				assert_int_equal(hyphae_string_get(b, &text),
						 0);
				assert_string_equal(text, "reed");
				free(text);
				hyphae_subscribe(b, note, &t);
				hyphae_cell_unref(a);
				hyphae_cell_unref(b);
				hyphae_unsubscribe_all(b);
				expect_counts(l, 0, 0);
				expect_counts(r, 0, 0);
			} else {
				OOM_PAUSE();
				assert_true(n > 0);
				if (a) {
					assert_int_equal(errno, ENOMEM);
					expect_counts(l, 1, 0);
					expect_counts(r, 0, 0);
				}
			}
			hyphae_graph_free(l);
			hyphae_graph_free(r);
			assert_int_equal(hy_alloc_live(), live);
		}
	}
}

static void a_crossing_allocates_nothing(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct banks k;
		unsigned long count = 0;

		build(&k, *kind, *kind);
		for (int64_t i = 2; i < 100; i++) {
			if (i == 10)
				count = hy_alloc_count();
			assert_int_equal(hyphae_int64_set(k.a, i), 0);
		}
		assert_int_equal(hy_alloc_count(), count);
		tear_down(&k, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_cross),
		cmocka_unit_test(ends_and_errors_cross),
		cmocka_unit_test(completion_after_the_last_value),
		cmocka_unit_test(a_batch_stays_a_batch),
		cmocka_unit_test(events_all_cross),
		cmocka_unit_test(equal_errors_of_events_all_cross),
		cmocka_unit_test(strings_are_not_shared),
		cmocka_unit_test(either_graph_goes_first),
		cmocka_unit_test(bridges_that_lead_back_end),
		cmocka_unit_test(a_ring_by_post_ends),
		cmocka_unit_test(the_end_of_the_next_link),
		cmocka_unit_test(no_walk_shows_its_own_cells),
		cmocka_unit_test(a_ring_elsewhere_ends),
		cmocka_unit_test(two_ways_settle),
		cmocka_unit_test(a_long_chain_of_graphs),
		cmocka_unit_test(released_in_its_own_call),
		cmocka_unit_test(a_scope_releases_it),
		cmocka_unit_test(its_scope_ends_while_it_is_made),
		cmocka_unit_test(by_post),
		cmocka_unit_test(events_that_wait_are_bounded),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(a_crossing_allocates_nothing),
	};

	return cmocka_run_group_tests_name("bridge", tests, NULL, NULL);
}
