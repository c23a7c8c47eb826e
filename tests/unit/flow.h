/* SPDX-License-Identifier: MIT */
/*
 * What the tests of streams, inputs, pools and bridges share: a text that
 * signals are written to, and types that count their copies.
 */
#ifndef TEST_FLOW_H
#define TEST_FLOW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "oom.h"

/* The graphs that a case runs in. */
static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER};
#define EACH_KIND(kind_)                                                       \
	for (const unsigned int *kind_ = kinds; kind_ < kinds + 3; kind_++)

struct text {
	char text[4096];
	size_t length;
	unsigned int drops;
};

__attribute__((format(printf, 2, 3), unused)) static void
add(struct text *t, const char *format, ...)
{
	va_list args;

	if (t->length >= sizeof(t->text) - 64)
		return;
	if (t->length)
		t->text[t->length++] = ',';
	va_start(args, format);
	t->length += (size_t)vsnprintf(t->text + t->length, 64, format, args);
	va_end(args);
}

/* "7", "'moss'", "C", "E(-5 text)", and "T(-5 text)" for a terminal error. */
__attribute__((unused)) static void add_signal(struct text *t,
					       const struct hyphae_signal *s)
{
	if (s->kind == HYPHAE_COMPLETE)
		add(t, "C");
	else if (s->kind == HYPHAE_ERROR)
		add(t, "%c(%d %s)", s->terminal ? 'T' : 'E', s->code,
		    s->message);
	else if (s->type == &hyphae_string)
		add(t, "'%s'", hyphae_string_of(s));
	else
		add(t, "%lld", (long long)hyphae_int64_of(s));
}

__attribute__((unused)) static int note(const struct hyphae_signal *s,
					void *ctx)
{
	add_signal(ctx, s);
	return 0;
}

__attribute__((unused)) static void drop_text(void *ctx)
{
	((struct text *)ctx)->drops++;
}

#define assert_text(t_, expected_)                                             \
	do {                                                                   \
		assert_string_equal((t_)->text, expected_);                    \
		(t_)->length = 0;                                              \
		(t_)->text[0] = '\0';                                          \
	} while (0)

/* 10 / x: a recoverable error at 0. */
__attribute__((unused)) static int ten_by(void *ret, const void *input,
					  void *ctx)
{
	int64_t x = *(const int64_t *)input;

	(void)ctx;
	if (!x)
		return -EDOM;
	*(int64_t *)ret = 10 / x;
	return 0;
}

/* A handle whose graph has gone. */
__attribute__((unused)) static struct hyphae_cell *stale_cell(void)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);

	hyphae_graph_free(graph);
	return cell;
}

#endif
