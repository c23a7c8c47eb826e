/* SPDX-License-Identifier: MIT */
/* What the tests of faults that were found by reading share. */
#ifndef HYPHAE_TESTS_UNIT_REGRESSIONS_H
#define HYPHAE_TESTS_UNIT_REGRESSIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

static inline int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

/* The input, or -EIO if it is negative. */
static inline int positive(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)input < 0)
		return -EIO;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static inline void count(void *ctx)
{
	++*(unsigned int *)ctx;
}

static inline int count_calls(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static inline int64_t value(struct hyphae_cell *cell)
{
	int64_t held = -1;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	return held;
}

#endif
