/* SPDX-License-Identifier: MIT */
/*
 * What the tests of operators share: sources of each kind, an input that
 * fails, and functions over numbers and strings.
 */
#ifndef HYPHAE_TESTS_SEMANTIC_SHAPES_H
#define HYPHAE_TESTS_SEMANTIC_SHAPES_H

#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event of numbers, or of strings. */
HYPHAE_UNUSED static struct hyphae_cell *event(struct world *w)
{
	return keep(w, hyphae_event_new(w->graph, &hyphae_int64));
}

HYPHAE_UNUSED static struct hyphae_cell *string_event(struct world *w)
{
	return keep(w, hyphae_event_new(w->graph, &hyphae_string));
}

HYPHAE_UNUSED static struct hyphae_cell *string(struct world *w,
						const char *text)
{
	return keep(w, hyphae_string_new(w->graph, text));
}

HYPHAE_UNUSED static void put_string(struct hyphae_cell *cell, const char *text)
{
	assert_int_equal(hyphae_string_set(cell, text), 0);
}

/* Its input, but -EIO instead of 5. */
HYPHAE_UNUSED static int not_five(struct node *node, const int64_t *in,
				  size_t count, int64_t *ret)
{
	(void)node;
	(void)count;
	if (in[0] == 5)
		return -EIO;
	*ret = in[0];
	return 0;
}

/* The same of strings: "five" fails. */
HYPHAE_UNUSED static int not_five_string(void *ret, const void *input,
					 void *ctx)
{
	const char *text = *(char *const *)input;

	(void)ctx;
	if (strcmp(text, "five") == 0)
		return hyphae_error(-EIO, "no %s", text);
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

/* Digits behind a 7: {1,2} is 712.  Five of them is -EIO. */
HYPHAE_UNUSED static int digits(void *ret, const void *const *values,
				size_t count, void *ctx)
{
	int64_t number = 7;

	if (ctx)
		++*(unsigned int *)ctx;
	for (size_t i = 0; i < count; i++) {
		int64_t digit = *(const int64_t *)values[i];

		if (digit == 5)
			return -EIO;
		number = number * 10 + digit;
	}
	*(int64_t *)ret = number;
	return 0;
}

/* "a+b+c". */
HYPHAE_UNUSED static int join(void *ret, const void *const *values,
			      size_t count, void *ctx)
{
	size_t length = 1;
	char *text;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		length += strlen(*(char *const *)values[i]) + 1;
	text = malloc(length);
	if (!text)
		return -ENOMEM;
	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		if (i)
			strcat(text, "+");
		strcat(text, *(char *const *)values[i]);
	}
	*(char **)ret = text;
	return 0;
}

HYPHAE_UNUSED static void complete(struct hyphae_cell *cell)
{
	assert_int_equal(hyphae_cell_complete(cell), 0);
}

HYPHAE_UNUSED static void fail_cell(struct hyphae_cell *cell, int code)
{
	assert_int_equal(hyphae_cell_fail(cell, code, "broken"), 0);
}

HYPHAE_UNUSED static bool ended(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.ended;
}

HYPHAE_UNUSED static bool is_event(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.event;
}

/* The code that hyphae_int64_get() gives. */
HYPHAE_UNUSED static int code_of(const struct hyphae_cell *cell)
{
	int64_t held;

	return hyphae_int64_get(cell, &held);
}

#endif
