/* SPDX-License-Identifier: MIT */
/*
 * Building blocks: small functions that make a derived cell of other cells.
 *
 * Each takes NULL for NULL, as the library's own operators do, so that they
 * can be nested and checked once.
 */
#ifndef BENCH_SYSMON_BLOCKS_H
#define BENCH_SYSMON_BLOCKS_H

#include <hyphae/hyphae.h>

/*
 * How much `counter` (int64) grows a second, times `scale`.  `now` (double)
 * is the clock in seconds.
 */
struct hyphae_cell *rate_of(struct hyphae_cell *now,
			    struct hyphae_cell *counter, double scale);

/* `input` (double), smoothed over about `seconds`. */
struct hyphae_cell *smoothed(struct hyphae_cell *now, struct hyphae_cell *input,
			     double seconds);

/* The sum, and the mean, of cells of doubles. */
struct hyphae_cell *sum_of(struct hyphae_cell *const *inputs, size_t count);
struct hyphae_cell *mean_of(struct hyphae_cell *const *inputs, size_t count);

/* Name a cell, as by printf().  NULL has no name. */
__attribute__((format(printf, 2, 3))) void name_cell(struct hyphae_cell *cell,
						     const char *format, ...);

#endif
