/* SPDX-License-Identifier: MIT */
/* What the tests of memory make cells of: a type that needs a block, sums. */
#ifndef TEST_LARGE_H
#define TEST_LARGE_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

struct large {
	int64_t n;
	char filler[120];
};
HYPHAE_TYPE(large, struct large);

static inline int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static inline int sum(void *ret, const void *const *inputs, size_t count,
		      void *ctx)
{
	int64_t total = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

#endif
