/* SPDX-License-Identifier: MIT */
/*
 * The shapes of js-reactivity-benchmark, and what all of them share.
 *
 * Each shape is built in up to two styles.  TRACKED is how the libraries of
 * that benchmark work: a derived cell is a function that reads other cells,
 * and what it reads is found at each run.  FIXED names the inputs when the
 * cell is made; a shape has it if its dependencies never change.
 */
#ifndef BENCH_REACTIVITY_SHAPE_H
#define BENCH_REACTIVITY_SHAPE_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <hyphae/hyphae.h>

enum style {
	TRACKED,
	FIXED,
	STYLES,
};

struct run {
	enum style style;
	bool quick; /* as little work as shows that the results are right */
};

/* Of the timed run that was the fastest; the counts are of each of them. */
struct outcome {
	double ms;
	uint64_t writes;
	uint64_t evaluations; /* of functions of derived cells */
	uint64_t effects;     /* calls of effects */
	char sum[32];	      /* of what the shape computed, or "" */
};

struct shape {
	const char *name;
	const char *suite;
	bool has_fixed;
	/* Ends the program when anything that was computed is wrong. */
	void (*measure)(const struct shape *shape, const struct run *run,
			struct outcome *ret_outcome);
	const void *parameters; /* of the suite */
};

/* The shapes of a suite; each array ends with a name that is NULL. */
extern const struct shape kairo_shapes[];
extern const struct shape mol_shapes[];
extern const struct shape cellx_shapes[];
extern const struct shape dynamic_shapes[];
extern const struct shape sbench_shapes[];

/* ---- counts -------------------------------------------------------------- */

/* Since reset_counts(); the functions of cells and effects count here. */
struct counts {
	uint64_t writes;
	uint64_t evaluations;
	uint64_t effects;
};
extern struct counts counts;

void reset_counts(void);

/* What the last effect was told, and the sum over all of them. */
extern int64_t last_seen;
extern int64_t sum_seen;

/* The program ends with a sentence unless `is` is `expected`. */
void expect(const struct shape *shape, const char *what, int64_t is,
	    int64_t expected);

/*
 * Take the counts of a run that took `ns`, which must be those of the run
 * before, if there was one; keep the fastest time.
 */
void take_run(const struct shape *shape, struct outcome *outcome, uint64_t ns);

/* ---- building ------------------------------------------------------------ */

_Noreturn void give_up(const char *what);
void *zeroed(size_t count, size_t size);

/* Cells are lazy, as they are in the libraries of the benchmark. */
struct hyphae_graph *graph_new(void);
struct hyphae_cell *must(struct hyphae_cell *cell);

/* An effect of one cell: counts, and notes the value. */
void add_effect(struct hyphae_cell *cell);
/* What an effect of another kind has seen. */
void saw(int64_t value);

/* What `cell` holds; ends the program if it holds nothing. */
int64_t value_of(const struct hyphae_cell *cell);

/* One write, in a batch of its own. */
void write_one(struct hyphae_graph *graph, struct hyphae_cell *cell,
	       int64_t value);

#endif
