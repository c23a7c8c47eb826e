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
#include "large.h"

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
