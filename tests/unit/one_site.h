/* SPDX-License-Identifier: MIT */
/* Cells and subscriptions that are made at one place each. */
#ifndef TEST_ONE_SITE_H
#define TEST_ONE_SITE_H

#include "regressions.h"

/* From one site each, so that all but the first have its label at hand. */
static inline struct hyphae_cell *made(struct hyphae_graph *graph, int64_t n)
{
	return hyphae_int64_new(graph, n);
}

static inline struct hyphae_cell *mapped(struct hyphae_cell *input,
					 hyphae_map_fn fn, void *ctx)
{
	return hyphae_map(input, &hyphae_int64, fn, ctx);
}

static inline struct hyphae_subscription *subscribed(struct hyphae_cell *cell,
						     unsigned int *calls,
						     void (*drop)(void *ctx))
{
	return hyphae_subscribe_with(cell, count_calls, calls, drop,
				     HYPHAE_SKIP_INITIAL);
}

static inline struct hyphae_graph_counts counts(struct hyphae_graph *graph)
{
	struct hyphae_graph_counts now;

	assert_int_equal(hyphae_graph_counts(graph, &now), 0);
	return now;
}

#endif
