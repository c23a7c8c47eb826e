/* SPDX-License-Identifier: MIT */
/* What the tests of posts share: what was told, what was counted, a graph. */
#ifndef TEST_THREAD_POST_H
#define TEST_THREAD_POST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "core/post.h"
#include "oom.h"
#include "threads.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define POSTS 2003
#else
#define POSTS 20011
#endif

struct large {
	int64_t n;
	char filler[120];
};
HYPHAE_TYPE(large, struct large);

struct told {
	int64_t values[16];
	unsigned int calls;
	unsigned int ends;
	int code;
	int64_t last;
	struct hyphae_cell *cell; /* for what a hook writes */
	int result;
};

static inline int tell(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	if (signal->kind == HYPHAE_VALUE) {
		told->last = hyphae_int64_of(signal);
		if (told->calls < 16)
			told->values[told->calls] = told->last;
		told->calls++;
	} else {
		told->ends++;
		told->code = signal->code;
	}
	return 0;
}

static inline int sum(void *ret, const void *const *inputs, size_t count,
		      void *ctx)
{
	int64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	++*(unsigned int *)ctx;
	*(int64_t *)ret = total;
	return 0;
}

static inline int flush(struct hyphae_graph *graph)
{
	return hy_posts_flush(hy_graph(graph));
}

static inline struct hyphae_post_counts counts_of(struct hyphae_graph *graph)
{
	struct hyphae_post_counts counts;

	assert_int_equal(hyphae_graph_post_counts(graph, &counts), 0);
	assert_int_equal(counts.posted, counts.replaced + counts.applied +
						counts.refused +
						counts.waiting);
	return counts;
}

static inline void expect_counts(struct hyphae_graph *graph, uint64_t replaced,
				 uint64_t applied, uint64_t refused,
				 uint64_t waiting)
{
	struct hyphae_post_counts counts = counts_of(graph);

	assert_int_equal(counts.replaced, replaced);
	assert_int_equal(counts.applied, applied);
	assert_int_equal(counts.refused, refused);
	assert_int_equal(counts.waiting, waiting);
}

static inline bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* In each kind of graph; test state is its flags. */
static inline struct hyphae_graph *new_graph(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new((unsigned int)(uintptr_t)*state);

	assert_non_null(graph);
	return graph;
}

#define IN_EACH(fn)                                                            \
	{#fn ", thread-safe", fn, NULL, NULL, (void *)0},                      \
		{#fn ", single-thread", fn, NULL, NULL,                        \
		 (void *)HYPHAE_SINGLE_THREAD},                                \
	{                                                                      \
#fn ", eager", fn, NULL, NULL, (void *)HYPHAE_EAGER            \
	}

#endif
