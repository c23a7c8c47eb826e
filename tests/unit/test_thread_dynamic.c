/* SPDX-License-Identifier: MIT */
/*
 * Dynamic cells and several threads: setters, flippers of branches, makers and
 * releasers of cells of all kinds, subscribers that come and go, and with them
 * lazy cells that wake and go idle; in one graph, and in two whose functions
 * read the other one's cells and whose subscribers write to it.
 *
 * In the end every cell holds what plain recursion over the sources gives,
 * every subscriber was told that last, no call overlapped another of the same
 * subscriber, and nothing is left.  STEPS=n; the seed is test_seed()'s.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "run.h"
#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 5000
#elif defined(__SANITIZE_ADDRESS__)
#define DEFAULT_STEPS 20000
#else
#define DEFAULT_STEPS 100000
#endif

#define ROUNDS 4
#define THREADS 4
#define SOURCES 6 /* of each graph */
#define COMMON 24 /* derived cells of each graph that are there all the time */
#define OWN 12	  /* cells that a thread has of its own */
#define SUBS 8	  /* subscriptions likewise */

/* ---- cells ------------------------------------------------------------------- */

enum kind { SOURCE, MAP, COMBINE, BRANCH, LIST, CHOICE, MAKER, KINDS };

struct node {
	enum kind kind;
	int graph;
	struct node *in[3];
	struct hyphae_cell *cell;
	struct node *next; /* all of a thread: functions use them to the end */
	bool lazy;
};

static struct hyphae_graph *graphs[2];
static int ngraphs;
static struct node *common[2][SOURCES + COMMON];
static _Atomic unsigned int odd; /* what must not happen */

static __thread uint64_t dice_state;
static __thread struct node *nodes;

static unsigned int dice(unsigned int sides)
{
	dice_state ^= dice_state << 13;
	dice_state ^= dice_state >> 7;
	dice_state ^= dice_state << 17;
	return (unsigned int)((dice_state >> 20) % sides);
}

/* What another graph holds is read, and does not matter. */
static void look_across(const struct node *n)
{
	const struct node *there = common[!n->graph][SOURCES + 1];
	int64_t v;
	int r;

	if (!there) /* one graph, or not made yet */
		return;
	r = hyphae_int64_get(there->cell, &v);
	if (r && r != -ENODATA)
		atomic_fetch_add(&odd, 1);
}

static int inc(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = (*(const int64_t *)input + 1) % 97;
	return 0;
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	look_across(ctx);
	*(int64_t *)ret = sum % 97;
	return 0;
}

static int branch(void *ret, void *ctx)
{
	const struct node *n = ctx;
	int64_t which, v;
	int r = hyphae_int64_get(n->in[0]->cell, &which);

	look_across(n);
	if (r == 0)
		r = hyphae_int64_get(n->in[which % 2 ? 1 : 2]->cell, &v);
	if (r == 0)
		*(int64_t *)ret = (v + which) % 97;
	return r;
}

static int list(void *ret, void *ctx)
{
	const struct node *n = ctx;
	int64_t count, v = 0, sum = 0;
	int r = hyphae_int64_get(n->in[0]->cell, &count);

	for (int i = 0; r == 0 && i < count % 3; i++) {
		r = hyphae_int64_get(n->in[1 + i]->cell, &v);
		sum += v;
	}
	if (r == 0)
		*(int64_t *)ret = (sum + count) % 97;
	return r;
}

/* A cell that is made, read and released in each run. */
static int make(void *ret, void *ctx)
{
	const struct node *n = ctx;
	struct hyphae_cell *made =
		hyphae_map(n->in[0]->cell, &hyphae_int64, inc, NULL);
	int r = hyphae_int64_get(made, ret);

	if (hyphae_cell_unref(made))
		atomic_fetch_add(&odd, 1);
	return r;
}

static struct hyphae_cell *choose(const void *value, void *ctx)
{
	const struct node *n = ctx;

	if (*(const int64_t *)value % 2)
		return n->in[1]->cell;
	return hyphae_map(n->in[2]->cell, &hyphae_int64, inc, NULL);
}

static struct hyphae_cell *cell_new(struct node *n)
{
	struct hyphae_graph *g = graphs[n->graph];
	struct hyphae_cell *in[3];

	for (int i = 0; i < 3 && n->kind != SOURCE; i++)
		in[i] = n->in[i]->cell;
	switch (n->kind) {
	case SOURCE:
		return hyphae_int64_new(g, dice(50));
	case MAP:
		return hyphae_map(in[0], &hyphae_int64, inc, n);
	case COMBINE:
		return hyphae_combine(in, 3, &hyphae_int64, add, n);
	case BRANCH:
		return hyphae_computed(g, &hyphae_int64, branch, n);
	case LIST:
		return hyphae_computed(g, &hyphae_int64, list, n);
	case MAKER:
		return hyphae_computed(g, &hyphae_int64, make, n);
	default:
		return hyphae_switch_map(in[0], &hyphae_int64, choose, n);
	}
}

/* By recursion over what the sources hold. */
static int64_t expected(const struct node *n)
{
	int64_t first, v = 0;

	if (n->kind == SOURCE)
		return value(n->cell);
	first = expected(n->in[0]);
	switch (n->kind) {
	case MAP:
	case MAKER:
		return (first + 1) % 97;
	case COMBINE:
		return (first + expected(n->in[1]) + expected(n->in[2])) % 97;
	case BRANCH:
		return (expected(n->in[first % 2 ? 1 : 2]) + first) % 97;
	case LIST:
		for (int i = 0; i < first % 3; i++)
			v += expected(n->in[1 + i]);
		return (v + first) % 97;
	default:
		return first % 2 ? expected(n->in[1])
				 : (expected(n->in[2]) + 1) % 97;
	}
}

/* One of those that are there, below `limit`. */
static struct node *any(int graph, unsigned int limit)
{
	return common[graph][dice(limit)];
}

/* `limit`: of the common cells that it may follow. */
static struct node *node_new(int graph, enum kind kind, unsigned int limit)
{
	struct node *n = calloc(1, sizeof(*n));

	n->kind = kind;
	n->graph = graph;
	for (int i = 0; i < 3 && kind != SOURCE; i++)
		n->in[i] = any(graph, limit);
	n->cell = cell_new(n);
	n->lazy = kind != SOURCE && dice(3) == 0;
	if (!n->cell || (n->lazy && hyphae_cell_set_lazy(n->cell)))
		atomic_fetch_add(&odd, 1);
	n->next = nodes;
	nodes = n;
	return n;
}

/* ---- subscribers ----------------------------------------------------------------- */

struct listener {
	struct node *node;
	struct hyphae_subscription *sub;
	struct listener *next;
	_Atomic bool inside;
	int64_t last; /* plain on purpose: calls are one by one */
	bool heard, writes;
};

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	struct listener *l = ctx;
	int r = 0;

	if (atomic_exchange(&l->inside, true))
		atomic_fetch_add(&odd, 1);
	if (signal->kind == HYPHAE_VALUE) {
		l->last = hyphae_int64_of(signal);
		l->heard = true;
		if (l->writes)
			r = hyphae_int64_set(common[!l->node->graph][0]->cell,
					     l->last % 5);
	} else {
		l->heard = false;
	}
	if (r < 0)
		atomic_fetch_add(&odd, 1);
	atomic_store(&l->inside, false);
	return 0;
}

static struct listener *listen(struct node *n)
{
	struct listener *l = calloc(1, sizeof(*l));

	l->node = n;
	/* One way only, or the two would go on for ever. */
	l->writes = ngraphs == 2 && n->graph == 0 && dice(4) == 0;
	l->sub = hyphae_subscribe(n->cell, hear, l);
	if (!l->sub)
		atomic_fetch_add(&odd, 1);
	return l;
}

/* ---- threads ---------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	uint64_t seed;
	struct node *own[OWN], *nodes;
	struct listener *subs[SUBS], *old; /* ended, but a call may go on */
};

static unsigned long steps;

static void set_some(void)
{
	int g = (int)dice((unsigned int)ngraphs);
	bool batch = dice(3) == 0;
	unsigned int count = batch ? 1 + dice(5) : 1;

	if (batch && hyphae_batch_begin(graphs[g]))
		atomic_fetch_add(&odd, 1);
	while (count--)
		if (hyphae_int64_set(any(g, SOURCES)->cell, dice(50)) < 0)
			atomic_fetch_add(&odd, 1);
	if (batch && hyphae_batch_end(graphs[g]))
		atomic_fetch_add(&odd, 1);
}

/* A new cell takes the place of an old one, and may follow it. */
static void make_one(struct worker *w)
{
	struct node **place = &w->own[dice(OWN)], *old = *place, *n;
	int g = (int)dice((unsigned int)ngraphs);

	for (int i = 0; old && i < SUBS; i++)
		if (w->subs[i] && w->subs[i]->node == old)
			return;
	n = node_new(g, (enum kind)(1 + dice(KINDS - 1)), SOURCES + COMMON);
	*place = n;
	if (old && hyphae_cell_unref(old->cell))
		atomic_fetch_add(&odd, 1);
}

static void drop_sub(struct worker *w, struct listener **place)
{
	struct listener *l = *place;

	*place = NULL;
	if (!l)
		return;
	if (hyphae_unsubscribe(l->sub))
		atomic_fetch_add(&odd, 1);
	l->next = w->old;
	w->old = l;
}

static void subscribe_one(struct worker *w)
{
	struct listener **place = &w->subs[dice(SUBS)];
	struct node *n = w->own[dice(OWN)];

	drop_sub(w, place);
	if (dice(3) == 0)
		return;
	if (!n || dice(2))
		n = any((int)dice((unsigned int)ngraphs), SOURCES + COMMON);
	*place = listen(n);
}

static void read_one(void)
{
	int g = (int)dice((unsigned int)ngraphs);
	int64_t v;
	int r = hyphae_int64_get(any(g, SOURCES + COMMON)->cell, &v);

	if (r && r != -ENODATA)
		atomic_fetch_add(&odd, 1);
}

static void *work(void *ctx)
{
	struct worker *w = ctx;

	dice_state = w->seed;
	for (unsigned long i = 0; i < steps; i++) {
		switch (dice(8)) {
		case 0:
		case 1:
			make_one(w);
			break;
		case 2:
			subscribe_one(w);
			break;
		case 3:
			read_one();
			break;
		default:
			set_some();
		}
	}
	w->nodes = nodes;
	nodes = NULL;
	return NULL;
}

/* ---- a round ------------------------------------------------------------------------ */

static void make_common(void)
{
	for (int g = 0; g < ngraphs; g++)
		for (unsigned int i = 0; i < SOURCES + COMMON; i++)
			common[g][i] = node_new(
				g,
				i < SOURCES ? SOURCE
					    : (enum kind)(1 + dice(KINDS - 1)),
				i);
}

static void check_node(struct node *n)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(n->cell, &info), 0);
	assert_int_equal(info.idle, n->lazy && !info.targets);
	if (!info.idle)
		assert_int_equal(value(n->cell), expected(n));
}

static void check_worker(const struct worker *w)
{
	for (int i = 0; i < OWN; i++)
		if (w->own[i])
			check_node(w->own[i]);
	for (int i = 0; i < SUBS; i++) {
		if (!w->subs[i])
			continue;
		assert_true(w->subs[i]->heard);
		assert_int_equal(w->subs[i]->last, expected(w->subs[i]->node));
	}
}

static void free_nodes(struct node *n)
{
	while (n) {
		struct node *next = n->next;

		free(n);
		n = next;
	}
}

static void end_worker(struct worker *w)
{
	for (int i = 0; i < SUBS; i++)
		drop_sub(w, &w->subs[i]);
	for (int i = 0; i < OWN; i++)
		if (w->own[i])
			assert_int_equal(hyphae_cell_unref(w->own[i]->cell), 0);
	while (w->old) {
		struct listener *next = w->old->next;

		free(w->old);
		w->old = next;
	}
}

static void settle_all(void)
{
	/* What one graph's subscribers wrote to the other comes then. */
	for (int i = 0; i < 2; i++)
		for (int g = 0; g < ngraphs; g++)
			assert_int_equal(hyphae_settle(graphs[g]), 0);
}

static void run_round(uint64_t seed, unsigned int flags, int count)
{
	static struct worker workers[THREADS];
	long live = hy_alloc_live();

	memset(workers, 0, sizeof(workers));
	memset(common, 0, sizeof(common));
	ngraphs = count;
	dice_state = seed * 0x9e3779b97f4a7c15u + 1;
	for (int g = 0; g < count; g++)
		graphs[g] = hyphae_graph_new(flags);
	make_common();
	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i].seed =
			(seed * THREADS + i) * 0x9e3779b97f4a7c15u + 7;
		start(&workers[i].thread, work, &workers[i]);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		join(workers[i].thread);
	settle_all();
	for (int g = 0; g < count; g++)
		for (int i = 0; i < SOURCES + COMMON; i++)
			check_node(common[g][i]);
	for (unsigned int i = 0; i < THREADS; i++)
		check_worker(&workers[i]);
	for (unsigned int i = 0; i < THREADS; i++)
		end_worker(&workers[i]);
	for (int g = 0; g < count; g++)
		for (int i = 0; i < SOURCES + COMMON; i++)
			assert_int_equal(hyphae_cell_unref(common[g][i]->cell),
					 0);
	for (int g = 0; g < count; g++)
		end_graph(graphs[g], 0, 0);
	for (unsigned int i = 0; i < THREADS; i++)
		free_nodes(workers[i].nodes);
	free_nodes(nodes);
	nodes = NULL;
	assert_int_equal(odd, 0);
	assert_int_equal(hy_alloc_live(), live);
}

static void run(int count, unsigned int flags)
{
	uint64_t seed = test_seed(1);

	steps = test_number("STEPS", DEFAULT_STEPS);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		watch("thread dynamic");
		run_round(seed + i, flags, count);
	}
}

static void one_graph(void **state)
{
	(void)state;
	run(1, 0);
}

static void one_graph_depth_first(void **state)
{
	(void)state;
	run(1, HYPHAE_EAGER);
}

static void two_graphs(void **state)
{
	(void)state;
	run(2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_graph),
		cmocka_unit_test(one_graph_depth_first),
		cmocka_unit_test(two_graphs),
	};

	return cmocka_run_group_tests_name("thread dynamic", tests, NULL, NULL);
}
