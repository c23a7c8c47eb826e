/* SPDX-License-Identifier: MIT */
/*
 * In which order a wave computes cells: lowest first, and at one height those
 * first that were told first.  In graphs so large that the queue looks ahead,
 * as in small ones; a model says what comes next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <hyphae/hyphae.h>

#define INPUTS_MAX 4
#define SET 20
#define ROUNDS 40

struct node {
	struct hyphae_cell *cell;
	uint32_t place; /* in graph.nodes */
	uint32_t height;
	int64_t value;
	bool queued;
	uint32_t ninputs;
	uint32_t inputs[INPUTS_MAX];
	uint32_t *followers; /* in the order of their links */
	uint32_t nfollowers;
	struct shape *shape;
};

struct shape {
	struct hyphae_graph *graph;
	struct node *nodes;
	uint32_t count, sources;
	uint32_t *computed; /* by the library */
	size_t ncomputed;
	uint32_t *expected;
	size_t nexpected;
	uint64_t random;
};

static uint32_t below(struct shape *s, uint32_t n)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(s->random >> 33) % n;
}

static void note(struct node *n)
{
	n->shape->computed[n->shape->ncomputed++] = n->place;
}

/* Few values, so that many cells stay as they are. */
static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;
	size_t i;

	note(ctx);
	for (i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total % 5;
	return 0;
}

static int add_two(void *ret, const void *input, void *ctx)
{
	note(ctx);
	*(int64_t *)ret = (*(const int64_t *)input + 2) % 5;
	return 0;
}

/* ---- the model --------------------------------------------------------------- */

static int64_t value_of(const struct shape *s, const struct node *n)
{
	int64_t total = n->ninputs == 1 ? 2 : 0;
	uint32_t i;

	for (i = 0; i < n->ninputs; i++)
		total += s->nodes[n->inputs[i]].value;
	return total % 5;
}

/* Cells that wait, in the order in which they were told. */
struct waiting {
	uint32_t *places;
	size_t count;
};

static void tell(struct shape *s, const struct node *n, struct waiting *w)
{
	uint32_t i;

	for (i = 0; i < n->nfollowers; i++) {
		struct node *follower = &s->nodes[n->followers[i]];

		if (!follower->queued)
			w->places[w->count++] = follower->place;
		follower->queued = true;
	}
}

static void run(struct shape *s, struct node *n, struct waiting *w)
{
	int64_t value = value_of(s, n);

	n->queued = false;
	s->expected[s->nexpected++] = n->place;
	if (value == n->value)
		return;
	n->value = value;
	tell(s, n, w);
}

/* Height by height, what waits there is computed; nothing comes below. */
static void run_all(struct shape *s, struct waiting *w)
{
	uint32_t height;

	for (height = 1; w->count; height++) {
		size_t had = w->count, kept = 0, i;

		for (i = 0; i < had; i++) {
			struct node *n = &s->nodes[w->places[i]];

			if (n->height == height)
				run(s, n, w);
		}
		for (i = 0; i < w->count; i++)
			if (s->nodes[w->places[i]].height != height)
				w->places[kept++] = w->places[i];
		w->count = kept;
	}
}

/* ---- making -------------------------------------------------------------------- */

static void add_node(struct shape *s, uint32_t place)
{
	struct node *n = &s->nodes[place];
	struct hyphae_cell *inputs[INPUTS_MAX];
	uint32_t i;

	n->ninputs = 1 + below(s, INPUTS_MAX);
	for (i = 0; i < n->ninputs; i++) {
		struct node *input;

		n->inputs[i] = below(s, place);
		input = &s->nodes[n->inputs[i]];
		inputs[i] = input->cell;
		if (input->height >= n->height)
			n->height = input->height + 1;
		input->followers = realloc(input->followers,
					   (input->nfollowers + 1) *
						   sizeof(*input->followers));
		input->followers[input->nfollowers++] = place;
	}
	n->value = value_of(s, n);
	n->cell = n->ninputs == 1
			  ? hyphae_map(inputs[0], &hyphae_int64, add_two, n)
			  : hyphae_combine(inputs, n->ninputs, &hyphae_int64,
					   sum, n);
}

static void make(struct shape *s, unsigned int flags, uint32_t count)
{
	uint32_t i;

	*s = (struct shape){.graph = hyphae_graph_new(flags),
			    .count = count,
			    .sources = count / 20,
			    .random = count};
	s->nodes = calloc(count, sizeof(*s->nodes));
	s->computed = calloc(count, sizeof(*s->computed));
	s->expected = calloc(count, sizeof(*s->expected));
	for (i = 0; i < count; i++) {
		s->nodes[i].place = i;
		s->nodes[i].shape = s;
		if (i < s->sources)
			s->nodes[i].cell = hyphae_int64_new(s->graph, 0);
		else
			add_node(s, i);
		assert_non_null(s->nodes[i].cell);
	}
	assert_int_equal(s->ncomputed, count - s->sources);
}

static void discard(struct shape *s)
{
	uint32_t i;

	assert_int_equal(hyphae_graph_free(s->graph), 0);
	for (i = 0; i < s->count; i++)
		free(s->nodes[i].followers);
	free(s->nodes);
	free(s->computed);
	free(s->expected);
}

static void compare(struct shape *s)
{
	uint32_t i;

	assert_int_equal(s->ncomputed, s->nexpected);
	assert_memory_equal(s->computed, s->expected,
			    s->nexpected * sizeof(*s->expected));
	for (i = 0; i < s->count; i++) {
		int64_t value = -1;

		assert_int_equal(hyphae_int64_get(s->nodes[i].cell, &value), 0);
		assert_int_equal(value, s->nodes[i].value);
	}
}

static void one_round(struct shape *s, struct waiting *w)
{
	uint32_t first = below(s, s->sources), i;

	s->ncomputed = s->nexpected = 0;
	assert_int_equal(hyphae_batch_begin(s->graph), 0);
	for (i = 0; i < SET && i < s->sources; i++) {
		struct node *n = &s->nodes[(first + i) % s->sources];

		n->value = (n->value + 1 + below(s, 3)) % 5;
		assert_int_equal(hyphae_int64_set(n->cell, n->value), 0);
		tell(s, n, w);
	}
	assert_int_equal(hyphae_batch_end(s->graph), 0);
	run_all(s, w);
	compare(s);
}

static void in_order_of_arrival(unsigned int flags, uint32_t count)
{
	struct waiting w = {0};
	struct shape s;
	uint32_t i;

	make(&s, flags, count);
	w.places = calloc(count, sizeof(*w.places));
	for (i = 0; i < ROUNDS; i++)
		one_round(&s, &w);
	free(w.places);
	discard(&s);
}

static void small_graph(void **state)
{
	(void)state;
	in_order_of_arrival(HYPHAE_SINGLE_THREAD, 400);
}

static void large_graph(void **state)
{
	(void)state;
	in_order_of_arrival(HYPHAE_SINGLE_THREAD, 8000);
}

static void large_shared_graph(void **state)
{
	(void)state;
	in_order_of_arrival(0, 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_graph),
		cmocka_unit_test(large_graph),
		cmocka_unit_test(large_shared_graph),
	};

	return cmocka_run_group_tests_name("wave order", tests, NULL, NULL);
}
