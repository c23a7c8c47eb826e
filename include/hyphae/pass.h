/* SPDX-License-Identifier: MIT */
/*
 * Pass reports: how much of a stretch of work was redundant.
 *
 * A pass is the outermost boundary of propagation: one that is opened here,
 * else the batch, else the bare write.  A cell that fans out more than once
 * in one pass re-fires.  Opened here, a pass collects what this thread
 * propagates until its end, in any graph, and what other threads had left to
 * it (hyphae_cell_set() says when).  Outside a pass nothing is collected.
 *
 * The numbers are those that the probes tell from outside.
 */
#ifndef HYPHAE_PASS_H
#define HYPHAE_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_report_cell {
	uint64_t id;
	uint64_t fires;	    /* fan-outs */
	uint64_t writes;    /* values written, equal ones included */
	uint64_t unchanged; /* of these, equal to the value held */
};

struct hyphae_report {
	uint64_t fires;
	uint64_t refires;     /* fires beyond the first of each cell */
	uint64_t cells_fired; /* cells that fired at least once */
	uint64_t writes;
	uint64_t unchanged;
	double coalesceable; /* refires / fires; 0 when nothing fired */
	/*
	 * Events that found no memory to be counted in.  Not 0: the figures
	 * above are too low by it.
	 */
	uint64_t lost;
	/* Cells that fired or were written: most fires first, then by id. */
	struct hyphae_report_cell *cells;
	size_t count;
	/* The first `refiring` of them fired more than once. */
	size_t refiring;
};

/* Open a pass on this thread, or join the one that is open.  0 or -ENOMEM. */
HYPHAE_API int hyphae_pass_begin(void);

/*
 * End it; the outermost end leaves the report to be taken.
 * -EINVAL without a pass.
 */
HYPHAE_API int hyphae_pass_end(void);

/*
 * Take the report of the last pass that ended on this thread.  Taken a second
 * time it is empty.  -ENOMEM leaves it to be taken.  Give it back with
 * hyphae_report_done().
 */
HYPHAE_API int hyphae_report_take(struct hyphae_report *ret_report);
HYPHAE_API void hyphae_report_done(struct hyphae_report *report);

/*
 * Is a tracer attached to the `watch` probe, as hyphae-top is when it is
 * ready?  (The bpftrace scripts are not: they attach to what they count.)
 * For programs that want to start when they are watched; the answer can be out
 * of date when it arrives.  Probe: watch.
 */
HYPHAE_API bool hyphae_watched(void);

/*
 * fn(ctx) in a pass, and its report (empty inside another pass, which will
 * have it all).  Returns fn's result, or -ENOMEM.
 */
HYPHAE_API int hyphae_pass(int (*fn)(void *ctx), void *ctx,
			   struct hyphae_report *ret_report);

#ifdef __cplusplus
}
#endif

#endif
