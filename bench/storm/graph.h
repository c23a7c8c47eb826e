/* SPDX-License-Identifier: MIT */
/*
 * The graphs of the storm, with callbacks that count what happens.
 *
 * Every cell can be counted without help from the library:
 *  - a derived cell by its compute function, which knows its last result and
 *    so whether the new one is a change (a fire) or not,
 *  - a source by its subscriber (fires), and by the thread that sets it
 *    (writes), as long as no other thread sets it too.
 *
 * The counters of a graph are written by whichever thread propagates in it:
 * one at a time, so they need no atomics.
 */
#ifndef BENCH_STORM_GRAPH_H
#define BENCH_STORM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

/* What happened to a cell. */
struct storm_tally {
	uint64_t fires;
	uint64_t refires;
	uint64_t writes; /* unchanged ones included */
	uint64_t unchanged;
};

enum storm_value {
	STORM_INT64,
	STORM_POINT,	/* a struct of 8 bytes: lies in the cell */
	STORM_DATAGRAM, /* a larger one: shared by reference count */
};

struct storm_cell {
	struct hyphae_cell *cell;
	uint64_t id;
	char name[40];
	enum storm_value type;
	bool source;
	bool subscribed;
	/* Sources: does storm_graph_wrote() know of every write? */
	bool writes_counted;
	/*
	 * The value it holds.  Values of all types are made from an integer,
	 * so that one comparison tells whether something changed.
	 */
	int64_t value;
	unsigned int step;	   /* varies what a compute function does */
	struct storm_cell *target; /* what its subscriber writes to */
	struct storm_tally counted;
	uint64_t called; /* times its subscriber was called */
};

struct storm_graph {
	struct hyphae_graph *graph;
	struct storm_cell *cells;
	size_t count;
	size_t room; /* of `cells` */
	/* Those that the driver sets. */
	struct storm_cell **sources;
	size_t sources_count;
	bool contended; /* set by several threads */
};

/* The measures of what is built. */
struct storm_plan {
	size_t fan;
	size_t depth;
	size_t next_shape; /* number of the next shape, for its name */
};

/*
 * A graph of exactly `count` cells: diamonds, chains, fans, joins and echoes
 * in turn, the last one cut to fit.  0 or a negative errno.
 */
int storm_graph_build(struct storm_graph *storm, unsigned int flags,
		      bool contended, size_t count, struct storm_plan *plan);
void storm_graph_free(struct storm_graph *storm);

/* Set a source to the value that `value` stands for. */
int storm_cell_set(struct storm_cell *cell, int64_t value);

/* Count a write of a source that has been applied. */
void storm_cell_wrote(struct storm_cell *cell, int64_t value);

#endif
