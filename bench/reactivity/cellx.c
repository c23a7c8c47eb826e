/* SPDX-License-Identifier: MIT */
/*
 * The suite "cellx": many layers of four cells, each with an effect.  Timed
 * is one batch and what is read before and after it, over ten fresh graphs.
 */
#include <stdlib.h>

#include "../lib/options.h"
#include "shape.h"

#define GRAPHS 10
#define SIDES 4

struct side {
	enum {
		SAME,
		DIFFERENCE,
		SUM,
	} form;
	const struct hyphae_cell *inputs[2];
};

struct cellx {
	struct hyphae_graph *graph;
	struct hyphae_cell *heads[SIDES];
	struct hyphae_cell *ends[SIDES];
	struct side *sides;
};

/* What each cell of a layer makes of which cells of the layer before. */
static const struct {
	int form;
	size_t first, second;
} layer[SIDES] = {
	{SAME, 1, 1},
	{DIFFERENCE, 0, 2},
	{SUM, 1, 3},
	{SAME, 2, 2},
};

static int64_t made_of(const struct side *side, int64_t first, int64_t second)
{
	counts.evaluations++;
	if (side->form == SUM)
		return first + second;
	return side->form == DIFFERENCE ? first - second : first;
}

static int tracked(void *ret, void *ctx)
{
	const struct side *side = ctx;
	int64_t first, second = 0;
	int r = hyphae_int64_get(side->inputs[0], &first);

	if (r == 0 && side->form != SAME)
		r = hyphae_int64_get(side->inputs[1], &second);
	if (r)
		return r;
	*(int64_t *)ret = made_of(side, first, second);
	return 0;
}

static int fixed(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	*(int64_t *)ret = made_of(ctx, *(const int64_t *)inputs[0],
				  *(const int64_t *)inputs[count - 1]);
	return 0;
}

static struct hyphae_cell *add_cell(const struct cellx *x, enum style style,
				    size_t place, struct side *side)
{
	struct hyphae_cell *inputs[2] = {x->ends[layer[place].first],
					 x->ends[layer[place].second]};

	side->form = layer[place].form;
	side->inputs[0] = inputs[0];
	side->inputs[1] = inputs[1];
	if (style == TRACKED)
		return must(hyphae_computed(x->graph, &hyphae_int64, tracked,
					    side));
	return must(hyphae_combine(inputs, side->form == SAME ? 1 : 2,
				   &hyphae_int64, fixed, side));
}

static void build(struct cellx *x, size_t layers, enum style style)
{
	size_t i, j;

	x->graph = graph_new();
	x->sides = zeroed(layers * SIDES, sizeof(*x->sides));
	for (j = 0; j < SIDES; j++) {
		x->heads[j] = must(hyphae_int64_new(x->graph, (int64_t)j + 1));
		x->ends[j] = x->heads[j];
	}
	for (i = 0; i < layers; i++) {
		struct hyphae_cell *made[SIDES];

		for (j = 0; j < SIDES; j++)
			made[j] =
				add_cell(x, style, j, &x->sides[i * SIDES + j]);
		for (j = 0; j < SIDES; j++) {
			x->ends[j] = made[j];
			add_effect(made[j]);
		}
	}
}

static void read_ends(const struct cellx *x, int64_t *values)
{
	size_t j;

	for (j = 0; j < SIDES; j++)
		values[j] = value_of(x->ends[j]);
}

static void write_heads(struct cellx *x)
{
	size_t j;

	hyphae_batch_begin(x->graph);
	for (j = 0; j < SIDES; j++) {
		counts.writes++;
		hyphae_int64_set(x->heads[j], (int64_t)(SIDES - j));
	}
	hyphae_batch_end(x->graph);
}

static void measure(const struct shape *shape, const struct run *run,
		    struct outcome *ret_outcome)
{
	static const int64_t before_is[SIDES] = {-3, -6, -2, 2};
	static const int64_t after_is[SIDES] = {-2, -4, 2, 3};
	size_t layers = *(const size_t *)shape->parameters, j;
	int graphs = run->quick ? 1 : GRAPHS, i;
	struct outcome one = {0};
	double ms = 0;

	for (i = 0; i < graphs; i++) {
		struct cellx x;
		int64_t before[SIDES], after[SIDES];
		uint64_t start;

		build(&x, layers, run->style);
		reset_counts();
		start = clock_ns();
		read_ends(&x, before);
		write_heads(&x);
		read_ends(&x, after);
		one.ms = 0;
		take_run(shape, &one, clock_ns() - start);
		ms += one.ms;
		for (j = 0; j < SIDES; j++) {
			expect(shape, "a value before", before[j],
			       before_is[j]);
			expect(shape, "a value after", after[j], after_is[j]);
		}
		expect(shape, "evaluations", (int64_t)one.evaluations,
		       (int64_t)(layers * SIDES));
		expect(shape, "effects", (int64_t)one.effects,
		       (int64_t)(layers * SIDES));
		hyphae_graph_free(x.graph);
		free(x.sides);
	}
	*ret_outcome = one;
	ret_outcome->ms = ms;
	ret_outcome->writes *= (uint64_t)graphs;
	ret_outcome->evaluations *= (uint64_t)graphs;
	ret_outcome->effects *= (uint64_t)graphs;
}

#define LAYERS(number) (&(const size_t){number})

const struct shape cellx_shapes[] = {
	{"cellx1000", "cellx", true, measure, LAYERS(1000)},
	{"cellx2500", "cellx", true, measure, LAYERS(2500)},
	{0},
};
