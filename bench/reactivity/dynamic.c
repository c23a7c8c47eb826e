/* SPDX-License-Identifier: MIT */
/*
 * The suite "dynamic": rows of cells as wide as there are sources.  A cell
 * reads some of its neighbours in the row above; a dynamic one leaves one of
 * them out if its first one is odd.  An effect reads part of the last row, so
 * with a small part most cells must not be computed at all.
 *
 * Timed are many batches of one write, each followed by reading what the
 * effect reads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/options.h"
#include "random.h"
#include "shape.h"

#define RUNS 5
#define WARM_UPS 3

struct rectangle {
	size_t width;
	size_t layers; /* the sources are one */
	size_t reads;  /* of a cell */
	double fixed;  /* share of cells that always read the same */
	double read;   /* share of the last row */
	bool real;     /* numbers are doubles: they grow out of int64 */
	size_t iterations;
	const char *sum;
	uint64_t evaluations;
	size_t quick_iterations;
	const char *quick_sum;
	uint64_t quick_evaluations;
};

/* What the function of a cell reads. */
struct reader {
	size_t count;
	struct hyphae_cell *cells[];
};

struct grid {
	const struct rectangle *form;
	enum style style;
	struct hyphae_graph *graph;
	struct hyphae_cell **sources;
	struct reader *leaves; /* that are read */
	/* What cells read, to be freed. */
	struct reader **readers;
	size_t made;
};

/* ---- what cells compute --------------------------------------------------- */

static int tracked_sum(void *ret, void *ctx)
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
	*(int64_t *)ret = sum;
	return 0;
}

static int tracked_real_sum(void *ret, void *ctx)
{
	const struct reader *reader = ctx;
	double sum = 0, value;
	size_t i;
	int r;

	for (i = 0; i < reader->count; i++) {
		r = hyphae_double_get(reader->cells[i], &value);
		if (r)
			return r;
		sum += value;
	}
	counts.evaluations++;
	*(double *)ret = sum;
	return 0;
}

static int tracked_choice(void *ret, void *ctx)
{
	const struct reader *reader = ctx;
	size_t rest = reader->count - 1, left_out = rest, i;
	int64_t sum, value;
	int r = hyphae_int64_get(reader->cells[0], &sum);

	if (r)
		return r;
	if (sum & 1)
		left_out = (size_t)sum % rest;
	for (i = 0; i < rest; i++) {
		if (i == left_out)
			continue;
		r = hyphae_int64_get(reader->cells[i + 1], &value);
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

static int fixed_real_sum(void *ret, const void *const *inputs, size_t count,
			  void *ctx)
{
	double sum = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		sum += *(const double *)inputs[i];
	counts.evaluations++;
	*(double *)ret = sum;
	return 0;
}

/* The cell of the effect is no cell of the benchmark. */
static int effect_sum(void *ret, void *ctx)
{
	int r = tracked_sum(ret, ctx);

	if (r == 0)
		counts.evaluations--;
	return r;
}

static int effect_real_sum(void *ret, void *ctx)
{
	int r = tracked_real_sum(ret, ctx);

	if (r == 0)
		counts.evaluations--;
	return r;
}

/* ---- the graph --------------------------------------------------------------- */

static struct reader *reader_new(struct grid *grid, size_t count)
{
	struct reader *reader =
		zeroed(1, sizeof(*reader) + count * sizeof(*reader->cells));

	reader->count = count;
	grid->readers[grid->made++] = reader;
	return reader;
}

static struct hyphae_cell *add_cell(struct grid *grid, struct reader *reader,
				    bool choice)
{
	bool real = grid->form->real;
	const struct hyphae_type *type = real ? &hyphae_double : &hyphae_int64;

	if (grid->style == FIXED)
		return must(hyphae_combine(reader->cells, reader->count, type,
					   real ? fixed_real_sum : fixed_sum,
					   NULL));
	return must(hyphae_computed(grid->graph, type,
				    choice ? tracked_choice
				    : real ? tracked_real_sum
					   : tracked_sum,
				    reader));
}

static void add_row(struct grid *grid, struct random *random,
		    struct hyphae_cell **row)
{
	const struct rectangle *form = grid->form;
	struct hyphae_cell **above = zeroed(form->width, sizeof(*above));
	size_t i, j;

	memcpy(above, row, form->width * sizeof(*row));
	for (i = 0; i < form->width; i++) {
		bool choice = random_next(random) >= form->fixed;
		struct reader *reader = reader_new(grid, form->reads);

		for (j = 0; j < form->reads; j++)
			reader->cells[j] = above[(i + j) % form->width];
		row[i] = add_cell(grid, reader, choice);
	}
	free(above);
}

/* Some cells of the last row, chosen by chance, in their order. */
static void choose_leaves(struct grid *grid, struct hyphae_cell **row)
{
	size_t left = grid->form->width;
	size_t out = (size_t)lround((double)left * (1 - grid->form->read));
	struct random random;

	random_begin(&random, "seed");
	for (; out; out--) {
		size_t at = (size_t)(random_next(&random) * (double)left);

		left--;
		memmove(row + at, row + at + 1, (left - at) * sizeof(*row));
	}
	grid->leaves = reader_new(grid, left);
	memcpy(grid->leaves->cells, row, left * sizeof(*row));
}

static int note_real(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	counts.effects++;
	return 0;
}

/* One function that reads all the leaves, and a subscriber. */
static void add_reading_effect(struct grid *grid)
{
	bool real = grid->form->real;
	struct hyphae_cell *cell = must(hyphae_computed(
		grid->graph, real ? &hyphae_double : &hyphae_int64,
		real ? effect_real_sum : effect_sum, grid->leaves));

	if (!real)
		add_effect(cell);
	else if (!hyphae_subscribe(cell, note_real, NULL))
		give_up("subscribe");
}

static void build(struct grid *grid)
{
	const struct rectangle *form = grid->form;
	struct hyphae_cell **row = zeroed(form->width, sizeof(*row));
	struct random random;
	size_t i;

	grid->graph = graph_new();
	grid->sources = zeroed(form->width, sizeof(*grid->sources));
	grid->readers =
		zeroed(form->width * form->layers, sizeof(*grid->readers));
	for (i = 0; i < form->width; i++) {
		row[i] = must(
			form->real ? hyphae_double_new(grid->graph, (double)i)
				   : hyphae_int64_new(grid->graph, (int64_t)i));
		grid->sources[i] = row[i];
	}
	random_begin(&random, "seed");
	for (i = 1; i < form->layers; i++)
		add_row(grid, &random, row);
	choose_leaves(grid, row);
	add_reading_effect(grid);
	free(row);
}

static void discard(struct grid *grid)
{
	hyphae_graph_free(grid->graph);
	while (grid->made)
		free(grid->readers[--grid->made]);
	free(grid->readers);
	free(grid->sources);
}

/* ---- the run ------------------------------------------------------------------- */

static void write_source(struct grid *grid, size_t place, size_t value)
{
	counts.writes++;
	hyphae_batch_begin(grid->graph);
	if (grid->form->real)
		hyphae_double_set(grid->sources[place], (double)value);
	else
		hyphae_int64_set(grid->sources[place], (int64_t)value);
	hyphae_batch_end(grid->graph);
}

/* Read all leaves; their sum, as text. */
static void print_sum(const struct grid *grid, char *text, size_t size)
{
	double real_sum = 0, real;
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < grid->leaves->count; i++) {
		if (!grid->form->real)
			sum += value_of(grid->leaves->cells[i]);
		else if (hyphae_double_get(grid->leaves->cells[i], &real) == 0)
			real_sum += real;
	}
	if (grid->form->real)
		snprintf(text, size, "%.17g", real_sum);
	else
		snprintf(text, size, "%" PRId64, sum);
}

static void iterate(struct grid *grid, size_t iterations)
{
	const struct reader *leaves = grid->leaves;
	size_t width = grid->form->width, i, j;

	reset_counts();
	for (i = 0; i < iterations; i++) {
		write_source(grid, i % width, i + i % width);
		for (j = 0; j < leaves->count; j++) {
			double real;

			if (grid->form->real)
				hyphae_double_get(leaves->cells[j], &real);
			else
				value_of(leaves->cells[j]);
		}
	}
}

static void check(const struct shape *shape, const struct run *run,
		  const struct outcome *outcome)
{
	const struct rectangle *form = shape->parameters;
	const char *sum = run->quick ? form->quick_sum : form->sum;

	if (strcmp(outcome->sum, sum)) {
		fprintf(stderr, "reactivity: %s: the sum is %s, and not %s.\n",
			shape->name, outcome->sum, sum);
		exit(EXIT_FAILURE);
	}
	expect(shape, "evaluations", (int64_t)outcome->evaluations,
	       (int64_t)(run->quick ? form->quick_evaluations
				    : form->evaluations));
}

static void measure(const struct shape *shape, const struct run *run,
		    struct outcome *ret_outcome)
{
	const struct rectangle *form = shape->parameters;
	size_t iterations =
		run->quick ? form->quick_iterations : form->iterations;
	struct grid grid = {.form = form, .style = run->style};
	int i;

	build(&grid);
	/* So few writes bring nothing new when they come again. */
	for (i = 0; i < (run->quick ? 0 : WARM_UPS); i++)
		iterate(&grid, iterations);
	for (i = 0; i < (run->quick ? 1 : RUNS); i++) {
		uint64_t start = clock_ns();

		iterate(&grid, iterations);
		take_run(shape, ret_outcome, clock_ns() - start);
	}
	print_sum(&grid, ret_outcome->sum, sizeof(ret_outcome->sum));
	check(shape, run, ret_outcome);
	discard(&grid);
}

#define RECTANGLE(...) (&(const struct rectangle){__VA_ARGS__})

const struct shape dynamic_shapes[] = {
	{"2-10x5-lazy80%", "dynamic", true, measure,
	 RECTANGLE(10, 5, 2, 1, 0.2, false, 600000, "19199968", 3480000, 100,
		   "3168", 580)},
	{"6-10x10-dyn25%-lazy80%", "dynamic", false, measure,
	 RECTANGLE(10, 10, 6, 0.75, 0.2, false, 15000, "302310782860", 1155000,
		   100, "1995442060", 7623)},
	{"4-1000x12-dyn5%", "dynamic", false, measure,
	 RECTANGLE(1000, 12, 4, 0.95, 1, false, 7000, "29355933696000", 1463000,
		   20, "2068849267564", 3971)},
	{"25-1000x5", "dynamic", true, measure,
	 RECTANGLE(1000, 5, 25, 1, 1, false, 3000, "1171484375000", 732000, 10,
		   "195134765625", 2196)},
	{"3-5x500", "dynamic", true, measure,
	 RECTANGLE(5, 500, 3, 1, 1, true, 500, "3.0239642676898464e+241",
		   1246500, 5, "2.4240194530579971e+239", 9972)},
	{"6-100x15-dyn50%", "dynamic", false, measure,
	 RECTANGLE(100, 15, 6, 0.5, 1, false, 2000, "15664996402790400",
		   1078000, 20, "231618122938315", 10124)},
	{0},
};
