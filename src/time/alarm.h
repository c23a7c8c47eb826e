/* SPDX-License-Identifier: MIT */
/* What hyphae_timer_start() makes: HY_CHUNK_TIMER. */
#ifndef HY_ALARM_H
#define HY_ALARM_H

#include "core/slab.h"
#include "time/clocks.h"

struct hy_alarm {
	uint64_t id; /* 0: a free slot */
	struct hy_timer timer;
	hyphae_timer_fn fn;
	void *ctx;
	void (*drop)(void *ctx);
	uint64_t period; /* 0: once */
	uint64_t missed;
	struct hy_alarm *next; /* of those whose drop waits */
	bool coalesce;
	bool running; /* its function is being called */
	bool ended;   /* by that function, or by another thread meanwhile */
};

/* With the lock held, which is let go of when `drop` is called. */
void hy_alarm_end(struct hy_graph *g, struct hy_alarm *alarm);

#endif
