/* SPDX-License-Identifier: MIT */
/* What the tests of hyphae-top share: the storm, and its truth. */
#ifndef HYPHAE_TESTS_E2E_TOP_H
#define HYPHAE_TESTS_E2E_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/* A number as text; one of 16 rotating buffers. */
const char *as_text(long long number);

/* The pid of a storm: what it prints when it is ready; 0 if it does not. */
long storm_pid(struct run *storm);

/* The sums of all intervals of a file of JSON lines. */
struct top_sums {
	json_t *cells; /* by id: an object of sums */
	json_t *last;  /* the last line */
	int64_t intervals;
	int64_t fires, refires, writes, passes, events;
	int64_t lost, lost_fires, lost_passes, lost_blocks;
};

/* 0, or -1 when it is no such file. */
int top_sums_read(struct top_sums *sums, const char *path);
void top_sums_done(struct top_sums *sums);

/* A sum of a cell ("fires"); 0 if it never did anything. */
int64_t top_sum(const struct top_sums *sums, int64_t id, const char *field);

/*
 * How many figures of the cells differ from the truth that the storm wrote;
 * the first is printed.  -1 without a truth.
 */
int top_differences(const struct top_sums *sums, const char *truth);

/* A figure of the truth as a whole ("fires"); -1 if it has none. */
int64_t truth_of(const char *path, const char *field);

#endif
