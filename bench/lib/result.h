/* SPDX-License-Identifier: MIT */
/*
 * What all benches print: a line for each result, JSON or for people.
 *
 *   {"bench":s,"ns":x,"floor_ns":x,"ratio":x,"target":x,"spread":x,"unit":s}
 *
 * What does not apply is left out.  Where something other than nanoseconds is
 * measured, `what` takes the place of "ns": "bytes" and "floor_bytes".
 * `target` is for the ratio, without one for the value; with
 * "at_least":true it is to be reached, else not to be exceeded.
 */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "measure.h"

/* 0 and NULL: does not apply. */
struct result {
	const char *bench;
	const char *what; /* NULL: "ns" */
	const char *unit; /* what it is for: "set", "cell", ... */
	double value;
	double floor;
	double ratio;
	double target;
	double spread;
	bool at_least;
};

/* The head of the table for people; nothing with `json`. */
void result_head(bool json);

/* Print a line to stdout and flush it. */
void result_tell(const struct result *result, bool json);

/* The same of what was measured; target 0: none. */
void result_tell_measured(const char *bench, const char *unit, double target,
			  const struct measured *measured, bool json);

/* Is the target met?  Also if there is none. */
bool result_met(const struct result *result);

/*
 * A point of a plot, for `report grow`:
 *
 *   {"plot":s,"side":s,"x":x,"ns":x}
 */
void result_tell_point(const char *plot, const char *side, double x, double ns);

#endif
