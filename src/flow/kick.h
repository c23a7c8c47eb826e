/* SPDX-License-Identifier: MIT */
/*
 * A kick: a source cell with one subscriber, by which a thread asks whoever
 * propagates in the graph to do something in a wave.
 */
#ifndef HY_FLOW_KICK_H
#define HY_FLOW_KICK_H

#include "core/sync.h"

struct hy_kick {
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	int64_t count;
};

/*
 * Make it; no scope has it.  left(ctx) is called once when it is over, also
 * if this fails.  `name` is what tools show.  0, -ESTALE, -ENOMEM.
 */
int hy_kick_init(struct hy_kick *kick, struct hyphae_graph *graph,
		 const char *name, hyphae_subscriber_fn fn, void *ctx,
		 void (*left)(void *ctx));

/*
 * On a thread that may use the graph: what hyphae_cell_set() returns.  While
 * the thread propagates in it, the subscriber runs after this pass.
 */
int hy_kick_set(struct hy_kick *kick);

/* On any thread. */
int hy_kick_post(struct hy_kick *kick);

/* Let go of it, where the graph may be used; left() follows. */
void hy_kick_end(struct hy_kick *kick);

/* For left(): its last act on the kick. */
void hy_kick_done(struct hy_kick *kick);

/*
 * For its subscriber: have a source told something in the next wave, also
 * when a batch of this thread is open.  Takes the word or error if it
 * returns 0; does not need memory after hy_next_room().  -ESHUTDOWN, -ESTALE.
 */
bool hy_next_room(struct hy_graph *g, struct hyphae_cell *cell);
int hy_next_put(struct hy_graph *g, struct hyphae_cell *cell, uint32_t what,
		uint64_t word, struct hy_error *error);

/* The hop of what this thread does now in the graph, if it propagates there. */
uint32_t hy_hop_now(struct hy_graph *g, bool *ret_drainer, uint32_t *ret_limit);

/* What is being done in this pass came by so many. */
void hy_hop_note(struct hy_graph *g, uint32_t hop);

#endif
