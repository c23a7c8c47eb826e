/* SPDX-License-Identifier: MIT */
/*
 * A million cells in four shapes: chain, fan, grid, random.  Each is built,
 * set, read, and torn down on 64 KiB of stack; what it occupies is printed, by
 * kind of cell, and compared with what the cells say of themselves.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

#define MILLION 1000000
#define WIDTH 1000 /* of the grid */

struct shape {
	struct world *world;
	struct hyphae_cell **cells; /* of which the first are sources */
	size_t sources;
	int64_t *model; /* what each should hold; unsigned wrap-around */
	uint32_t (*in)[3];
	uint64_t seed;
};

static uint64_t runs;

static int add(void *ret, const void *const *in, size_t count, void *ctx)
{
	uint64_t sum = 1;

	(void)ctx;
	runs++;
	for (size_t i = 0; i < count; i++)
		sum += *(const uint64_t *)in[i];
	*(uint64_t *)ret = sum;
	return 0;
}

static int add_one(void *ret, const void *in, void *ctx)
{
	return add(ret, &in, 1, ctx);
}

static uint32_t chance(struct shape *s, uint32_t below)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((s->seed >> 33) % below);
}

/* The inputs of cell i; returns how many. */
typedef unsigned int (*wire_fn)(struct shape *s, uint32_t i, uint32_t in[3]);

static unsigned int wire_chain(struct shape *s, uint32_t i, uint32_t in[3])
{
	(void)s;
	in[0] = i - 1;
	return 1;
}

static unsigned int wire_fan(struct shape *s, uint32_t i, uint32_t in[3])
{
	(void)s;
	(void)i;
	in[0] = 0;
	return 1;
}

/* Each from three of the row above. */
static unsigned int wire_grid(struct shape *s, uint32_t i, uint32_t in[3])
{
	uint32_t row = (i / WIDTH - 1) * WIDTH, at = i % WIDTH;

	(void)s;
	in[0] = row + at;
	in[1] = row + (at + 1) % WIDTH;
	in[2] = row + (at + WIDTH - 1) % WIDTH;
	return 3;
}

static unsigned int wire_random(struct shape *s, uint32_t i, uint32_t in[3])
{
	unsigned int count = 1 + chance(s, 3);

	for (unsigned int k = 0; k < count; k++)
		in[k] = chance(s, i);
	return count;
}

static const char *build(struct shape *s, wire_fn wire)
{
	struct hyphae_graph *g = s->world->graph;

	for (uint32_t i = 0; i < MILLION; i++) {
		struct hyphae_cell *in[3];
		unsigned int count;

		if (i < s->sources) {
			s->model[i] = i;
			s->cells[i] = hyphae_int64_new(g, i);
			CHECK(s->cells[i]);
			continue;
		}
		s->in[i][1] = s->in[i][2] = UINT32_MAX;
		count = wire(s, i, s->in[i]);
		for (unsigned int k = 0; k < count; k++)
			in[k] = s->cells[s->in[i][k]];
		if (count == 1)
			s->cells[i] =
				hyphae_map(in[0], &hyphae_int64, add_one, NULL);
		else
			s->cells[i] = hyphae_combine(in, count, &hyphae_int64,
						     add, NULL);
		CHECK(s->cells[i]);
	}
	return NULL;
}

static void compute_model(struct shape *s)
{
	for (uint32_t i = (uint32_t)s->sources; i < MILLION; i++) {
		uint64_t sum = 1;

		for (int k = 0; k < 3; k++)
			if (k == 0 || s->in[i][k] != UINT32_MAX)
				sum += (uint64_t)s->model[s->in[i][k]];
		s->model[i] = (int64_t)sum;
	}
}

static const char *compare(const struct shape *s)
{
	for (uint32_t i = 0; i < MILLION; i++) {
		int64_t v;

		CHECK(hyphae_int64_get(s->cells[i], &v) == 0);
		CHECK(v == s->model[i]);
	}
	return NULL;
}

static const char *report(const struct shape *s, const char *name)
{
	struct hyphae_graph_memory m;

	CHECK(hyphae_graph_memory(s->world->graph, &m) == 0);
	CHECK(m.sources.count == s->sources);
	CHECK(m.derived.count == MILLION - s->sources);
	printf("%s: %zu bytes a derived cell, with its inputs %zu\n", name,
	       m.derived.in_use / m.derived.count,
	       (m.derived.in_use + m.inputs) / m.derived.count);
	return NULL;
}

/* From one end, or in an order that is neither. */
static const char *tear_down(struct shape *s, int order)
{
	for (uint32_t i = 0; i < MILLION; i++) {
		uint32_t at =
			order == 0   ? i
			: order == 1 ? MILLION - 1 - i
				     : (uint32_t)((uint64_t)i * 7919 % MILLION);

		CHECK(hyphae_cell_unref(s->cells[at]) == 0);
	}
	return NULL;
}

struct job {
	struct world *world;
	const char *name;
	wire_fn wire;
	size_t sources;
	int order;
};

static const char *run_shape(struct shape *s, const struct job *job)
{
	const char *wrong = build(s, job->wire);
	struct hyphae_graph_counts counts;

	if (!wrong) {
		compute_model(s);
		wrong = compare(s);
	}
	if (!wrong)
		wrong = report(s, job->name);
	if (wrong)
		return wrong;
	runs = 0;
	CHECK(hyphae_batch_begin(job->world->graph) == 0);
	for (size_t i = 0; i < s->sources; i++) {
		s->model[i] = (int64_t)(i * 3 + 1);
		CHECK(hyphae_int64_set(s->cells[i], s->model[i]) == 0);
	}
	CHECK(hyphae_batch_end(job->world->graph) == 0);
	compute_model(s);
	/* Each once at most; all of them where all inputs change. */
	CHECK(runs <= MILLION - s->sources);
	if (job->wire != wire_random)
		CHECK(runs == MILLION - s->sources);
	wrong = compare(s);
	if (wrong)
		return wrong;
	wrong = tear_down(s, job->order);
	if (wrong)
		return wrong;
	CHECK(hyphae_graph_counts(job->world->graph, &counts) == 0);
	CHECK(counts.cells == 0);
	return NULL;
}

static const char *million(void *arg)
{
	const struct job *job = arg;
	struct shape s = {
		.world = job->world, .sources = job->sources, .seed = 20261130};
	const char *wrong = "no memory for the test";

	s.cells = calloc(MILLION, sizeof(struct hyphae_cell *));
	s.model = calloc(MILLION, sizeof(*s.model));
	s.in = calloc(MILLION, sizeof(*s.in));
	if (s.cells && s.model && s.in)
		wrong = run_shape(&s, job);
	free(s.cells);
	free(s.model);
	free(s.in);
	return wrong;
}

static void run(void **state, const char *name, wire_fn wire, size_t sources,
		int order)
{
	struct job job = {*state, name, wire, sources, order};

	on_small_stack(65536, million, &job);
}

static void w10_chain(void **state)
{
	run(state, "chain", wire_chain, 1, 0);
}

static void w10_fan(void **state)
{
	run(state, "fan", wire_fan, 1, 2);
}

static void w10_grid(void **state)
{
	run(state, "grid", wire_grid, WIDTH, 1);
}

static void w10_random(void **state)
{
	run(state, "random", wire_random, WIDTH, 2);
}

int main(void)
{
	/* An eager graph would compute a cell for each path to it. */
	const struct CMUnitTest tests[] = {
		CASE_IN(w10_chain, "thread-safe", THREAD_SAFE),
		CASE_IN(w10_chain, "single-thread", SINGLE_THREAD),
		CASE_IN(w10_chain, "eager", EAGER),
		CASE_IN(w10_fan, "single-thread", SINGLE_THREAD),
		CASE_IN(w10_fan, "eager", EAGER),
		CASE_IN(w10_grid, "single-thread", SINGLE_THREAD),
		CASE_IN(w10_random, "thread-safe", THREAD_SAFE),
		CASE_IN(w10_random, "single-thread", SINGLE_THREAD),
	};

	return cmocka_run_group_tests_name("million", tests, NULL, NULL);
}
