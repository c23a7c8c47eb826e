/* SPDX-License-Identifier: MIT */
/*
 * What runs only while somebody looks: a tracer holds the semaphore of
 * `records` or of the detail probes, or a pass report is open.  The hot
 * functions test hy_watched(), one load and a predicted branch, and come here.
 */
#ifndef HY_WATCH_H
#define HY_WATCH_H

#include "core/clock.h"
#include "core/probe.h"
#include "core/sync.h"

/* What is left of an earlier pass, which nobody saw end, does not count. */
static inline void hy_watch_pass(struct hy_graph *g)
{
	if (g->watched_pass != g->pass) {
		g->watched_pass = g->pass;
		g->clock = 0;
		g->pass_fires = g->pass_refires = 0;
		g->left = true; /* the end of the pass */
	}
}

/*
 * Read the clock; and when something begins: the last reading, because it was
 * taken when the thing before it ended.  So a cell costs two readings.  Not
 * behind a probe that has trapped meanwhile.
 */
static inline uint64_t hy_clock(struct hy_graph *g)
{
	return g->clock = hy_clock_now();
}

/* A new anchor may set the time back by some nanoseconds. */
static inline uint64_t hy_clock_since(struct hy_graph *g, uint64_t start)
{
	uint64_t now = hy_clock(g);

	return now > start ? now - start : 0;
}

static inline uint64_t hy_clock_last(struct hy_graph *g)
{
	hy_watch_pass(g);
	return g->clock && !hy_gate.detail ? g->clock : hy_clock(g);
}

/* What a thread has that was ever watched. */
struct hy_watcher {
	struct hy_watcher *next; /* of the process: hy_watchers */
	struct hy_block *block;	 /* or NULL */
	struct hy_cell *open;	 /* the cell of the record being built */
	uint64_t born_ns;	 /* when the block got its first content */
	uint32_t flushing;	 /* taken for good when the process exits */
};
extern struct hy_watcher *hy_watchers __attribute__((visibility("hidden")));

/* A propagation begins (sets graph->pass) and ends. */
void hy_watch_pass_open(struct hy_graph *g);
void hy_watch_pass_close(struct hy_graph *g);

void hy_watch_notify(struct hy_graph *g, struct hy_cell *c, uint64_t kind,
		     uint64_t changed);

/* A computation is over; result: what the operator told. */
void hy_watch_compute(struct hy_graph *g, struct hy_derived *d, uint64_t start,
		      uint64_t ns, int result, bool wrote, bool changed);

/*
 * A fan-out is over: `ns` long, `called` subscribers.  Called once for each,
 * also for one that was done in parts.
 */
void hy_watch_fanout(struct hy_graph *g, struct hy_cell *c, uint64_t height,
		     uint64_t start, uint64_t ns, uint64_t called);

void hy_watch_subscriber(struct hy_graph *g, struct hy_sub *s,
			 hyphae_subscriber_fn fn, uint64_t ns);

/* `ran`: here and now, or left to another thread. */
void hy_watch_batch(struct hy_graph *g, uint64_t pass, uint64_t writes,
		    bool ran, uint64_t coalesced);

/* Make this thread known, so that its end is noticed; -1 without memory. */
int hy_watch_thread(void);

/* pass.c: the report of the pass that is open on this thread, if any. */
enum hy_count { HY_COUNT_FIRE, HY_COUNT_WRITE, HY_COUNT_UNCHANGED };
/* Count; for a fire returns whether it is a re-fire. */
bool hy_pass_count(struct hy_pass *pass, uint64_t cell, enum hy_count what);
uint64_t hy_pass_id(const struct hy_pass *pass);
void hy_pass_thread_ends(void);
/* watch.c: an explicit pass has begun, or ended, on this thread. */
void hy_watch_pass_began(uint64_t pass);
void hy_watch_pass_ended(uint64_t pass, uint64_t fires, uint64_t refires);
/* One report more or less is open in the process. */
void hy_watch_reports(int change);

#endif
