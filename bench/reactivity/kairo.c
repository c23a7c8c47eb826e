/* SPDX-License-Identifier: MIT */
/*
 * The suite "kairo": small graphs of one form each.  A run is 500 rounds of
 * writes, each in a batch of its own; the result of each is checked.
 */
#include <stdlib.h>

#include "../lib/options.h"
#include "shape.h"

#define RUNS 10
#define WARM_UPS 3
#define ROUNDS 500
#define QUICK_ROUNDS 2

#define CELLS_MAX 301
#define HEADS_MAX 100

/* What the function of a derived cell of one input knows. */
struct one {
	const struct hyphae_cell *input;
	int64_t number;
};

struct kairo {
	const struct shape *shape;
	enum style style;
	struct hyphae_graph *graph;
	struct hyphae_cell *heads[HEADS_MAX];  /* sources; most have one */
	struct hyphae_cell *inputs[HEADS_MAX]; /* of the cell that has many */
	size_t count;			       /* of inputs */
	struct hyphae_cell *twice, *negative;  /* of unstable */
	struct one ones[CELLS_MAX];
	size_t used;
};

/* A form of graph: how to build it, and what a round of writes is. */
struct form {
	void (*build)(struct kairo *k);
	void (*round)(struct kairo *k);
	/* How often functions and effects have to run in one round. */
	uint64_t evaluations;
	uint64_t effects;
};

/* ---- cells ---------------------------------------------------------------- */

static struct hyphae_cell *add_head(struct kairo *k, size_t place)
{
	k->heads[place] = must(hyphae_int64_new(k->graph, 0));
	return k->heads[place];
}

static int tracked_plus(void *ret, void *ctx)
{
	const struct one *one = ctx;
	int64_t value;
	int r = hyphae_int64_get(one->input, &value);

	if (r)
		return r;
	counts.evaluations++;
	*(int64_t *)ret = value + one->number;
	return 0;
}

static int fixed_plus(void *ret, const void *input, void *ctx)
{
	const struct one *one = ctx;

	counts.evaluations++;
	*(int64_t *)ret = *(const int64_t *)input + one->number;
	return 0;
}

/* A cell of one input, with one of two functions that do the same. */
static struct hyphae_cell *derive(struct kairo *k, struct hyphae_cell *input,
				  int64_t number, hyphae_computed_fn tracked,
				  hyphae_map_fn fixed)
{
	struct one *one = &k->ones[k->used++];

	*one = (struct one){input, number};
	if (k->style == FIXED)
		return must(hyphae_map(input, &hyphae_int64, fixed, one));
	return must(hyphae_computed(k->graph, &hyphae_int64, tracked, one));
}

static struct hyphae_cell *add(struct kairo *k, struct hyphae_cell *input,
			       int64_t number)
{
	return derive(k, input, number, tracked_plus, fixed_plus);
}

static int tracked_sum(void *ret, void *ctx)
{
	const struct kairo *k = ctx;
	int64_t sum = 0, value;
	size_t i;
	int r;

	for (i = 0; i < k->count; i++) {
		r = hyphae_int64_get(k->inputs[i], &value);
		if (r)
			return r;
		sum += value;
	}
	counts.evaluations++;
	*(int64_t *)ret = sum;
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

/* The sum of the inputs, with an effect. */
static void add_sum(struct kairo *k)
{
	add_effect(must(k->style == FIXED
				? hyphae_combine(k->inputs, k->count,
						 &hyphae_int64, fixed_sum, NULL)
				: hyphae_computed(k->graph, &hyphae_int64,
						  tracked_sum, k)));
}

static void write_head(struct kairo *k, size_t place, int64_t value)
{
	write_one(k->graph, k->heads[place], value);
}

/* Write to the only head, and the effect must have seen `expected`. */
static void write_and_check(struct kairo *k, int64_t value, int64_t expected)
{
	write_head(k, 0, value);
	expect(k->shape, "the effect saw", last_seen, expected);
}

/* ---- avoidablePropagation: a change that ends at the second cell ---------- */

static void be_busy(void)
{
	int steps = 0;
	int i;

	for (i = 0; i < 100; i++) {
		steps++;
		__asm__ volatile("" : "+r"(steps));
	}
}

static int tracked_zero(void *ret, void *ctx)
{
	int r = tracked_plus(ret, ctx);

	*(int64_t *)ret = 0;
	return r;
}

static int fixed_zero(void *ret, const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	counts.evaluations++;
	*(int64_t *)ret = 0;
	return 0;
}

static int tracked_busy(void *ret, void *ctx)
{
	be_busy();
	return tracked_plus(ret, ctx);
}

static int fixed_busy(void *ret, const void *input, void *ctx)
{
	be_busy();
	return fixed_plus(ret, input, ctx);
}

static void build_avoidable(struct kairo *k)
{
	struct hyphae_cell *cell = add(k, add_head(k, 0), 0);

	cell = derive(k, cell, 0, tracked_zero, fixed_zero);
	cell = derive(k, cell, 1, tracked_busy, fixed_busy);
	cell = add(k, add(k, cell, 2), 3);
	add_effect(cell);
	/* The effects of the others do nothing else. */
	be_busy();
}

static void round_avoidable(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 6);
	for (i = 0; i < 1000; i++)
		write_and_check(k, i, 6);
}

/* ---- broadPropagation: 50 pairs of cells, each with an effect ------------- */

static void build_broad(struct kairo *k)
{
	int64_t i;

	add_head(k, 0);
	for (i = 0; i < 50; i++)
		add_effect(add(k, add(k, k->heads[0], i), 1));
}

static void round_broad(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 51);
	for (i = 0; i < 50; i++)
		write_and_check(k, i, i + 50);
}

/* ---- deepPropagation: a chain of 50 ---------------------------------------- */

static void build_deep(struct kairo *k)
{
	struct hyphae_cell *cell = add_head(k, 0);
	int i;

	for (i = 0; i < 50; i++)
		cell = add(k, cell, 1);
	add_effect(cell);
}

static void round_deep(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 51);
	for (i = 0; i < 50; i++)
		write_and_check(k, i, i + 50);
}

/* ---- diamond: five sides and their sum -------------------------------------- */

static void build_diamond(struct kairo *k)
{
	add_head(k, 0);
	for (k->count = 0; k->count < 5; k->count++)
		k->inputs[k->count] = add(k, k->heads[0], 1);
	add_sum(k);
}

static void round_diamond(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 10);
	for (i = 0; i < 500; i++)
		write_and_check(k, i, (i + 1) * 5);
}

/* ---- mux: 100 sources in one value, and 100 cells that pick theirs --------- */

/* All values at one moment; shared, and never changed. */
struct moment {
	int64_t values[HEADS_MAX];
	unsigned int references;
};

static int moment_copy(void *to, const void *from)
{
	struct moment *moment = *(struct moment *const *)from;

	moment->references++;
	*(struct moment **)to = moment;
	return 0;
}

static void moment_drop(void *value)
{
	struct moment *moment = *(struct moment **)value;

	if (--moment->references == 0)
		free(moment);
}

HYPHAE_TYPE_WITH(moment, struct moment *, .copy = moment_copy,
		 .drop = moment_drop, .equal = hyphae_never_equal);

static int tracked_moment(void *ret, void *ctx)
{
	const struct kairo *k = ctx;
	struct moment *moment = malloc(sizeof(*moment));
	size_t i;

	if (!moment)
		return -ENOMEM;
	moment->references = 1;
	for (i = 0; i < HEADS_MAX; i++)
		hyphae_int64_get(k->heads[i], &moment->values[i]);
	counts.evaluations++;
	*(struct moment **)ret = moment;
	return 0;
}

static int fixed_moment(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	struct moment *moment = malloc(sizeof(*moment));
	size_t i;

	(void)ctx;
	if (!moment)
		return -ENOMEM;
	moment->references = 1;
	for (i = 0; i < count; i++)
		moment->values[i] = *(const int64_t *)inputs[i];
	counts.evaluations++;
	*(struct moment **)ret = moment;
	return 0;
}

static int tracked_pick(void *ret, void *ctx)
{
	const struct one *one = ctx;
	struct moment *moment;
	int r = moment_get(one->input, &moment);

	if (r)
		return r;
	counts.evaluations++;
	*(int64_t *)ret = moment->values[one->number];
	moment_drop(&moment);
	return 0;
}

static int fixed_pick(void *ret, const void *input, void *ctx)
{
	const struct moment *moment = *(struct moment *const *)input;
	const struct one *one = ctx;

	counts.evaluations++;
	*(int64_t *)ret = moment->values[one->number];
	return 0;
}

static void build_mux(struct kairo *k)
{
	struct hyphae_cell *mux;
	size_t i;

	for (i = 0; i < HEADS_MAX; i++)
		add_head(k, i);
	mux = k->style == FIXED
		      ? hyphae_combine(k->heads, HEADS_MAX, &moment_type,
				       fixed_moment, NULL)
		      : hyphae_computed(k->graph, &moment_type, tracked_moment,
					k);
	must(mux);
	for (i = 0; i < HEADS_MAX; i++)
		add_effect(add(
			k, derive(k, mux, (int64_t)i, tracked_pick, fixed_pick),
			1));
}

static void round_mux(struct kairo *k)
{
	int64_t i;

	for (i = 0; i < 10; i++) {
		write_head(k, (size_t)i, i);
		if (i)
			expect(k->shape, "the effect saw", last_seen, i + 1);
	}
	for (i = 0; i < 10; i++) {
		write_head(k, (size_t)i, 2 * i);
		if (i)
			expect(k->shape, "the effect saw", last_seen,
			       2 * i + 1);
	}
}

/* ---- repeatedObservers: one cell that reads the same thing 30 times -------- */

static void build_repeated(struct kairo *k)
{
	add_head(k, 0);
	for (k->count = 0; k->count < 30; k->count++)
		k->inputs[k->count] = k->heads[0];
	add_sum(k);
}

static void round_repeated(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 30);
	for (i = 0; i < 100; i++)
		write_and_check(k, i, 30 * i);
}

/* ---- triangle: the sum of a chain, whose last cell nobody follows ---------- */

static void build_triangle(struct kairo *k)
{
	struct hyphae_cell *cell = add_head(k, 0);

	for (k->count = 0; k->count < 10; k->count++) {
		k->inputs[k->count] = cell;
		cell = add(k, cell, 1);
	}
	add_sum(k);
}

static void round_triangle(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 55);
	for (i = 0; i < 100; i++)
		write_and_check(k, i, 45 + 10 * i);
}

/* ---- unstable: other dependencies at each write ----------------------------- */

static int tracked_times(void *ret, void *ctx)
{
	const struct one *one = ctx;
	int64_t value;
	int r = hyphae_int64_get(one->input, &value);

	if (r)
		return r;
	counts.evaluations++;
	*(int64_t *)ret = value * one->number;
	return 0;
}

static int tracked_unstable(void *ret, void *ctx)
{
	const struct kairo *k = ctx;
	int64_t sum = 0, head, value;
	int i, r;

	for (i = 0; i < 20; i++) {
		r = hyphae_int64_get(k->heads[0], &head);
		if (r == 0)
			r = hyphae_int64_get(head % 2 ? k->twice : k->negative,
					     &value);
		if (r)
			return r;
		sum += value;
	}
	counts.evaluations++;
	*(int64_t *)ret = sum;
	return 0;
}

static void build_unstable(struct kairo *k)
{
	struct hyphae_cell *head = add_head(k, 0);

	k->twice = derive(k, head, 2, tracked_times, NULL);
	k->negative = derive(k, head, -1, tracked_times, NULL);
	add_effect(must(
		hyphae_computed(k->graph, &hyphae_int64, tracked_unstable, k)));
}

static void round_unstable(struct kairo *k)
{
	int64_t i;

	write_and_check(k, 1, 40);
	for (i = 0; i < 100; i++)
		write_and_check(k, i, 20 * (i % 2 ? 2 * i : -i));
}

/* ---- the suite --------------------------------------------------------------- */

static void run_rounds(struct kairo *k, uint64_t rounds)
{
	const struct form *form = k->shape->parameters;

	reset_counts();
	while (rounds--)
		form->round(k);
}

static void measure(const struct shape *shape, const struct run *run,
		    struct outcome *ret_outcome)
{
	const struct form *form = shape->parameters;
	uint64_t rounds = run->quick ? QUICK_ROUNDS : ROUNDS;
	struct kairo *k = zeroed(1, sizeof(*k));
	int i;

	k->shape = shape;
	k->style = run->style;
	k->graph = graph_new();
	form->build(k);
	for (i = 0; i < WARM_UPS; i++)
		run_rounds(k, run->quick ? 1 : rounds);
	for (i = 0; i < (run->quick ? 1 : RUNS); i++) {
		uint64_t start = clock_ns();

		run_rounds(k, rounds);
		take_run(shape, ret_outcome, clock_ns() - start);
	}
	expect(shape, "evaluations", (int64_t)ret_outcome->evaluations,
	       (int64_t)(form->evaluations * rounds));
	expect(shape, "effects", (int64_t)ret_outcome->effects,
	       (int64_t)(form->effects * rounds));
	hyphae_graph_free(k->graph);
	free(k);
}

#define FORM(build, round, evaluations, effects)                               \
	(&(const struct form){build, round, evaluations, effects})

const struct shape kairo_shapes[] = {
	{"avoidablePropagation", "kairo", true, measure,
	 FORM(build_avoidable, round_avoidable, 1001 * 2, 0)},
	{"broadPropagation", "kairo", true, measure,
	 FORM(build_broad, round_broad, 51 * 100, 51 * 50)},
	{"deepPropagation", "kairo", true, measure,
	 FORM(build_deep, round_deep, 51 * 50, 51)},
	{"diamond", "kairo", true, measure,
	 FORM(build_diamond, round_diamond, 501 * 6, 501)},
	/* Two of 20 writes change nothing. */
	{"mux", "kairo", true, measure,
	 FORM(build_mux, round_mux, 18 * 102, 18)},
	{"repeatedObservers", "kairo", true, measure,
	 FORM(build_repeated, round_repeated, 101, 101)},
	{"triangle", "kairo", true, measure,
	 FORM(build_triangle, round_triangle, 101 * 10, 101)},
	/*
	 * Each of 100 writes has the cell leave one of two others and follow
	 * the other: the one that is left has been computed by then, because
	 * it lies lower.  (Libraries that pull save that, at 202.)
	 */
	{"unstable", "kairo", false, measure,
	 FORM(build_unstable, round_unstable, 101 * 3 - 1, 101)},
	{0},
};
