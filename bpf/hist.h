/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations that takes little memory when the durations are
 * alike: buckets come in groups of 16, one for each power of two, and a group
 * exists once a value fell into it.  The quantiles it tells are at most 3.2 %
 * off (see hist_bucket.h); never above the exact maximum kept beside it.
 */
#ifndef HYPHAE_BPF_HIST_H
#define HYPHAE_BPF_HIST_H

#include <stdint.h>

#include "bpf/hist_bucket.h"

struct hist {
	uint64_t groups;  /* bit g: group g exists */
	uint32_t *counts; /* HIST_STEPS for each group that exists */
};

/* Add `n` values of a bucket.  -ENOMEM: nothing was added. */
int hist_add(struct hist *hist, unsigned int bucket, uint32_t n);

/* How many values of a bucket there are. */
uint32_t hist_count(const struct hist *hist, unsigned int bucket);

/* Add all of `from`.  -ENOMEM: a part of it. */
int hist_merge(struct hist *to, const struct hist *from);

/* Forget all values, keep the memory. */
void hist_clear(struct hist *hist);

/* Give the memory back. */
void hist_done(struct hist *hist);

/* The middle of a bucket. */
uint64_t hist_value(unsigned int bucket);

/*
 * The values at `n` ascending fractions (0.5 is the median) in one walk;
 * 0 in an empty histogram.  The value at fraction q is the smallest that has
 * at least q of all values at or below it.
 */
void hist_quantiles(const struct hist *hist, const double *fractions, int n,
		    uint64_t max, uint64_t *ret_values);

#endif
