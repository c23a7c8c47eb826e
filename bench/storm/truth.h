/* SPDX-License-Identifier: MIT */
/*
 * The truth about a run of the storm: what the pass reports say, compared
 * with what the storm's own callbacks have counted.
 */
#ifndef BENCH_STORM_TRUTH_H
#define BENCH_STORM_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "graph.h"

/* All cells of all graphs, by id. */
struct storm_index {
	struct storm_cell **cells;
	size_t count;
};

int storm_index_build(struct storm_index *index,
		      const struct storm_graph *graphs, size_t count);
void storm_index_free(struct storm_index *index);

/* The sum of pass reports; one for each thread, then added up. */
struct storm_sum {
	struct storm_tally *tallies; /* parallel to the index */
	struct storm_tally total;
	uint64_t passes;
	uint64_t lost;	  /* events that a report could not count */
	uint64_t strange; /* cells in a report that the storm never made */
};

int storm_sum_init(struct storm_sum *sum, const struct storm_index *index);
void storm_sum_free(struct storm_sum *sum);
void storm_sum_report(struct storm_sum *sum, const struct storm_index *index,
		      const struct hyphae_report *report);
void storm_sum_add(struct storm_sum *sum, const struct storm_index *index,
		   const struct storm_sum *other);

/*
 * Do both counts agree?  If not, say on stderr for the first few cells what
 * differs.
 */
bool storm_truth_agrees(const struct storm_index *index,
			const struct storm_sum *sum);

/*
 * Write the truth as JSON to `file`.  Without `sum` (no passes were made) it
 * is what the callbacks counted, and what they cannot know is null.
 * 0 or a negative errno.
 */
int storm_truth_write(FILE *file, const struct storm_index *index,
		      const struct storm_sum *sum);

#endif
