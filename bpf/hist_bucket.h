/* SPDX-License-Identifier: MIT */
/*
 * From a duration to its bucket: 16 linear steps in each power of two, so a
 * bucket is at most 1/16 of its value wide and its middle at most 1/32
 * (3.2 %) off.  The same function in BPF and in hyphae-top.
 */
#ifndef HYPHAE_BPF_HIST_BUCKET_H
#define HYPHAE_BPF_HIST_BUCKET_H

#include "probes/abi.h"

#define HIST_STEPS 16
#define HIST_GROUPS 45 /* up to 2^48 ns, three days */
#define HIST_BUCKETS (HIST_GROUPS * HIST_STEPS)

static inline __attribute__((always_inline)) hy_u32 hist_log2(hy_u64 value)
{
	hy_u32 log = 0;

	if (value >> 32) {
		value >>= 32;
		log += 32;
	}
	if (value >> 16) {
		value >>= 16;
		log += 16;
	}
	if (value >> 8) {
		value >>= 8;
		log += 8;
	}
	if (value >> 4) {
		value >>= 4;
		log += 4;
	}
	if (value >> 2) {
		value >>= 2;
		log += 2;
	}
	return log + (hy_u32)(value >> 1);
}

/* Values below 16 have a bucket each; those over 2^48 share the last one. */
static inline __attribute__((always_inline)) hy_u32 hist_bucket(hy_u64 value)
{
	hy_u32 log;

	if (value < HIST_STEPS)
		return (hy_u32)value;
	log = hist_log2(value);
	if (log > HIST_GROUPS + 2)
		return HIST_BUCKETS - 1;
	return (log - 3) * HIST_STEPS +
	       (hy_u32)((value >> (log - 4)) & (HIST_STEPS - 1));
}

#endif
