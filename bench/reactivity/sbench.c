/* SPDX-License-Identifier: MIT */
/*
 * The suite "sbench": how long it takes to make sources and effects of few or
 * many of them, and to have effects run.  Timed is all from making the
 * effects to releasing them; the sources are there before, except where
 * making them is what is measured.
 *
 * Tracked, an effect is hyphae_effect().  Fixed, it is a subscriber; of several
 * sources there is a cell that adds them up.
 */
#include <stdlib.h>

#include "../lib/options.h"
#include "shape.h"

#define RUNS 10
#define COUNT 100000
#define QUICK_PART 50

struct plan {
	size_t sources; /* 0: they are what is made */
	size_t effects;
	size_t reads;	 /* of an effect */
	size_t shared;	 /* effects that read the same */
	uint64_t writes; /* to the first source */
};

/* What an effect reads. */
struct reader {
	struct hyphae_cell *const *cells;
	size_t count;
};

struct bench {
	struct plan plan;
	enum style style;
	struct hyphae_graph *graph;
	struct hyphae_cell **sources;
	struct reader *readers;
};

static int see_sum(void *ctx)
{
	const struct reader *reader = ctx;
	int64_t sum = 0, value;
	size_t i;
	int r;

	for (i = 0; i < reader->count; i++) {
		r = hyphae_int64_get(reader->cells[i], &value);
		if (r)
			return r;
		sum += value;
	}
	counts.evaluations++;
	saw(sum);
	return 0;
}

static int fixed_sum(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	int64_t sum = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	counts.evaluations++;
	*(int64_t *)ret = sum;
	return 0;
}

static void make_effect(struct bench *bench, size_t place)
{
	struct reader *reader = &bench->readers[place];

	*reader = (struct reader){bench->sources + place / bench->plan.shared *
							   bench->plan.reads,
				  bench->plan.reads};
	if (bench->style == TRACKED) {
		if (!hyphae_effect(bench->graph, see_sum, reader))
			give_up("make an effect");
		return;
	}
	add_effect(
		must(reader->count == 1
			     ? reader->cells[0]
			     : hyphae_combine(reader->cells, reader->count,
					      &hyphae_int64, fixed_sum, NULL)));
}

static void make_all(struct bench *bench)
{
	size_t i;

	for (i = 0; i < bench->plan.effects; i++)
		make_effect(bench, i);
	if (bench->plan.effects)
		return;
	for (i = 0; i < bench->plan.sources; i++)
		must(hyphae_int64_new(bench->graph, (int64_t)i));
}

static void work(struct bench *bench)
{
	struct hyphae_scope *scope = hyphae_scope_new(bench->graph);
	uint64_t i;

	if (!scope || hyphae_scope_enter(scope))
		give_up("make a scope");
	make_all(bench);
	hyphae_scope_leave(scope);
	for (i = 0; i < bench->plan.writes; i++)
		write_one(bench->graph, bench->sources[0], (int64_t)i);
	hyphae_scope_dispose(scope);
}

/* Sources that have been read, as the benchmark does. */
static void make_sources(struct bench *bench)
{
	size_t i, j;

	bench->sources = zeroed(bench->plan.sources, sizeof(*bench->sources));
	for (i = 0; i < bench->plan.sources; i++)
		bench->sources[i] =
			must(hyphae_int64_new(bench->graph, (int64_t)i));
	for (j = 0; j < 3; j++)
		for (i = 0; i < bench->plan.sources; i++)
			value_of(bench->sources[i]);
}

static void run_once(const struct shape *shape, struct bench *bench,
		     struct outcome *outcome)
{
	struct hyphae_graph_counts left;
	uint64_t start;

	bench->graph = graph_new();
	bench->readers = zeroed(bench->plan.effects, sizeof(*bench->readers));
	bench->sources = NULL;
	if (bench->plan.effects)
		make_sources(bench);
	reset_counts();
	start = clock_ns();
	work(bench);
	take_run(shape, outcome, clock_ns() - start);
	hyphae_graph_counts(bench->graph, &left);
	expect(shape, "subscriptions that are left",
	       (int64_t)left.subscriptions, 0);
	expect(shape, "cells that are left", (int64_t)left.cells,
	       bench->plan.effects ? (int64_t)bench->plan.sources : 0);
	hyphae_graph_free(bench->graph);
	free(bench->sources);
	free(bench->readers);
}

static struct plan quick(struct plan plan)
{
	if (plan.writes) {
		plan.writes /= QUICK_PART;
	} else {
		plan.sources /= QUICK_PART;
		plan.effects /= QUICK_PART;
	}
	return plan;
}

static void measure(const struct shape *shape, const struct run *run,
		    struct outcome *ret_outcome)
{
	const struct plan *plan = shape->parameters;
	struct bench bench = {.plan = run->quick ? quick(*plan) : *plan,
			      .style = run->style};
	uint64_t calls;
	int i;

	for (i = 0; i < (run->quick ? 1 : RUNS); i++)
		run_once(shape, &bench, ret_outcome);
	/* The first of the writes writes what is there already. */
	calls = bench.plan.effects *
		(bench.plan.writes ? bench.plan.writes : 1);
	expect(shape, "effects", (int64_t)ret_outcome->effects, (int64_t)calls);
	if (bench.style == TRACKED)
		expect(shape, "evaluations", (int64_t)ret_outcome->evaluations,
		       (int64_t)calls);
}

#define PLAN(sources, effects, reads, shared, writes)                          \
	(&(const struct plan){sources, effects, reads, shared, writes})

const struct shape sbench_shapes[] = {
	{"createSignals", "sbench", false, measure, PLAN(COUNT, 0, 0, 1, 0)},
	{"create0to1", "sbench", false, measure, PLAN(0, COUNT, 0, 1, 0)},
	{"create1to1", "sbench", true, measure, PLAN(COUNT, COUNT, 1, 1, 0)},
	{"create2to1", "sbench", true, measure,
	 PLAN(COUNT, COUNT / 2, 2, 1, 0)},
	{"create4to1", "sbench", true, measure,
	 PLAN(COUNT, COUNT / 4, 4, 1, 0)},
	{"create1000to1", "sbench", true, measure,
	 PLAN(COUNT, COUNT / 1000, 1000, 1, 0)},
	{"create1to2", "sbench", true, measure,
	 PLAN(COUNT / 2, COUNT, 1, 2, 0)},
	{"create1to4", "sbench", true, measure,
	 PLAN(COUNT / 4, COUNT, 1, 4, 0)},
	{"create1to8", "sbench", true, measure,
	 PLAN(COUNT / 8, COUNT, 1, 8, 0)},
	{"create1to1000", "sbench", true, measure,
	 PLAN(COUNT / 1000, COUNT, 1, 1000, 0)},
	{"update1to1", "sbench", true, measure, PLAN(1, 1, 1, 1, 4 * COUNT)},
	{"update2to1", "sbench", true, measure, PLAN(2, 1, 2, 1, 2 * COUNT)},
	{"update4to1", "sbench", true, measure, PLAN(4, 1, 4, 1, COUNT)},
	{"update1000to1", "sbench", true, measure,
	 PLAN(1000, 1, 1000, 1, COUNT / 250)},
	{"update1to2", "sbench", true, measure, PLAN(1, 2, 1, 2, COUNT)},
	{"update1to4", "sbench", true, measure, PLAN(1, 4, 1, 4, COUNT)},
	{"update1to1000", "sbench", true, measure,
	 PLAN(1, 1000, 1, 1000, COUNT / 10)},
	{0},
};
