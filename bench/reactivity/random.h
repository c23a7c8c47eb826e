/* SPDX-License-Identifier: MIT */
/* The benchmark's own random numbers, so that its graphs are the same here. */
#ifndef BENCH_REACTIVITY_RANDOM_H
#define BENCH_REACTIVITY_RANDOM_H

#include <stdint.h>

/* The generator sfc32. */
struct random {
	uint32_t a, b, c, d;
};

/* As from a text, by four hashes of it. */
void random_begin(struct random *random, const char *seed);

/* From 0 up to but not including 1. */
double random_next(struct random *random);

#endif
