/* SPDX-License-Identifier: MIT */
/*
 * Building blocks: small functions that make a derived cell of other cells.
 *
 * Each takes NULL for NULL, as the library's own operators do, so that they
 * can be nested and checked once.  Each is a macro that hands on the place it
 * is used at, so that the tools show that place, and not one in blocks.c, as
 * where the cell was made.
 */
#ifndef BENCH_SYSMON_BLOCKS_H
#define BENCH_SYSMON_BLOCKS_H

#include <hyphae/hyphae.h>

/*
 * How much `counter` (int64) grows a second, times `scale`.  `now` (double)
 * is the clock in seconds.
 */
#define rate_of(now, counter, scale) rate_at(now, counter, scale, HYPHAE_HERE)
struct hyphae_cell *rate_at(struct hyphae_cell *now,
			    struct hyphae_cell *counter, double scale,
			    const char *site);

/* `input` (double), smoothed over about `seconds`. */
#define smoothed(now, input, seconds)                                          \
	smoothed_at(now, input, seconds, HYPHAE_HERE)
struct hyphae_cell *smoothed_at(struct hyphae_cell *now,
				struct hyphae_cell *input, double seconds,
				const char *site);

/* The sum, and the mean, of cells of doubles. */
#define sum_of(inputs, count) sum_at(inputs, count, HYPHAE_HERE)
struct hyphae_cell *sum_at(struct hyphae_cell *const *inputs, size_t count,
			   const char *site);
#define mean_of(inputs, count) mean_at(inputs, count, HYPHAE_HERE)
struct hyphae_cell *mean_at(struct hyphae_cell *const *inputs, size_t count,
			    const char *site);

/* Name a cell, as by printf().  NULL has no name. */
__attribute__((format(printf, 2, 3))) void name_cell(struct hyphae_cell *cell,
						     const char *format, ...);

#endif
