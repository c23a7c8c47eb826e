/* SPDX-License-Identifier: MIT */
/* Subscriptions with options, for the tests of these. */
#ifndef HYPHAE_TESTS_SEMANTIC_EFFECT_H
#define HYPHAE_TESTS_SEMANTIC_EFFECT_H

#include "fixture.h"

/*
 * What the logs of the fixture do, and more: "0>1" with a previous value, "x"
 * for a clean-up, "d" for the drop.  Static, for what the teardown calls.
 */
struct effect {
	struct world *world;
	struct hyphae_subscription *subscription;
	struct log *log; /* its text; never subscribed */
	int (*hook)(struct effect *effect, const struct hyphae_signal *signal);
	void (*on_cleanup)(struct effect *effect);
	void *arg;
	int code;
	unsigned int calls, cleanups, drops, depth, deepest;
};

void effect_init(struct world *w, struct effect *e);

/* With effect_init() before; also from a callback. */
struct hyphae_subscription *effect_subscribe(struct effect *e,
					     struct hyphae_cell *cell,
					     unsigned int flags, bool cleanup);

/* Both; the fixture ends it. */
void effect_start(struct world *w, struct effect *e, struct hyphae_cell *cell,
		  unsigned int flags, bool cleanup);

#define assert_effect(e, expected) assert_log((e)->log, expected)

#endif
