/* SPDX-License-Identifier: MIT */
/* What a user would write: the same functions for the model and the library. */
#include "model_streams.h"

#include <errno.h>

int ms_fn_map(const struct ms_recipe *r, int64_t value, int64_t *ret)
{
	if (value % 7 == r->c)
		return r->c & 1 ? -EIO : -ERANGE;
	*ret = (value * r->a + r->b) % MS_NUMBERS;
	return 0;
}

int ms_fn_filter(const struct ms_recipe *r, int64_t value)
{
	if (value % 11 == r->c)
		return -EDOM;
	return value % r->a != 0;
}

bool ms_fn_same(const struct ms_recipe *r, int64_t last, int64_t value)
{
	int64_t far = last > value ? last - value : value - last;

	return far < r->a;
}

int ms_fn_fold(const struct ms_recipe *r, int64_t acc, int64_t value,
	       int64_t *ret)
{
	if (value % 7 == r->c)
		return -EOVERFLOW;
	*ret = (acc * r->a + value) % MS_NUMBERS;
	return 0;
}

/* Another order or another count is most often another number. */
int ms_fn_many(const struct ms_recipe *r, const int64_t *values, size_t count,
	       int64_t *ret)
{
	int64_t sum = (int64_t)count;

	for (size_t i = 0; i < count; i++)
		sum = (sum * 5 + values[i]) % 1009;
	if (sum % 13 == r->c)
		return -EMLINK;
	*ret = sum % MS_NUMBERS;
	return 0;
}

int ms_fn_catch(const struct ms_recipe *r, int code, int64_t *ret)
{
	if (-code % 5 == r->c)
		return -EREMOTE;
	*ret = -code % MS_NUMBERS;
	return 0;
}

int ms_fn_error(const struct ms_recipe *r, int code)
{
	return -code % 3 == r->c ? 0 : -ENOTTY;
}

/* The calls are counted, and tell which value is next. */
int ms_fn_next(const struct ms_recipe *r, struct ms_calls *calls, int64_t *ret)
{
	int64_t at = (int64_t)calls->count;

	ms_called(calls, at);
	*ret = r->b + at / 2;
	if (at < r->a)
		return 1;
	return r->c & 1 ? 0 : -EBADMSG;
}

int ms_fn_guard(const struct ms_recipe *r, int64_t from, int64_t to)
{
	if ((from + to) % 9 == r->c)
		return -EACCES;
	return (from + to) % 4 != 0;
}

int ms_fn_handler(const struct ms_recipe *r, int64_t from, int64_t to,
		  int64_t *ret)
{
	if ((from * 3 + to) % 10 == r->c)
		return -EBADE;
	*ret = (from * 3 + to) % MS_NUMBERS;
	return 0;
}
