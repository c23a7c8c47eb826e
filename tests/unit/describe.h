/* SPDX-License-Identifier: MIT */
/* Functions of the cells that are looked at and drawn. */
#ifndef TEST_DESCRIBE_H
#define TEST_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

static inline int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static inline int refuse(void *ret, const void *input, void *ctx)
{
	(void)ret;
	(void)input;
	(void)ctx;
	return -EDOM;
}

static inline int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

static inline int sum(void *ret, const void *const *inputs, size_t count,
		      void *ctx)
{
	int64_t total = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static inline int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

#endif
