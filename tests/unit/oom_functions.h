/* SPDX-License-Identifier: MIT */
/* What the tests of memory share: a large type, and functions of cells. */
#ifndef TEST_OOM_FUNCTIONS_H
#define TEST_OOM_FUNCTIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"

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

static inline int next_large(void *ret, const void *input, void *ctx)
{
	const struct large *from = input;
	struct large *to = ret;

	(void)ctx;
	*to = *from;
	to->n++;
	return 0;
}

static inline int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

static inline int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static inline void quiet_cleanup(void *ctx)
{
	(void)ctx;
}

#endif
