/* SPDX-License-Identifier: MIT */
/*
 * What the main loops of these tests have to do: a graph with a timer that
 * fires every millisecond, and a cell to which another thread posts.  When
 * both have come through, `done` is called, on the loop's thread, to end it.
 */
#ifndef HYPHAE_TESTS_LOOPS_GARDEN_H
#define HYPHAE_TESTS_LOOPS_GARDEN_H

#include <pthread.h>
#include <stdbool.h>

#include <hyphae/hyphae.h>

#define TICKS 5
#define WATERINGS 7

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *water; /* what the other thread posts */
	pthread_t gardener;
	pthread_t owner; /* the thread of the loop */
	unsigned int ticks;
	int64_t seen;	/* of water */
	bool elsewhere; /* a callback ran on another thread */
	bool is_done;
	void (*done)(void *ctx);
	void *ctx;
};

void garden_plant(struct garden *garden, void (*done)(void *ctx), void *ctx);

/* The loop has ended: everything has come through; give all back. */
void garden_clear(struct garden *garden);

#endif
