/* SPDX-License-Identifier: MIT */
/*
 * The cases that speed measures: each is the same work done by two sides,
 * mostly the library and the floor.
 */
#ifndef BENCH_SPEED_CASES_H
#define BENCH_SPEED_CASES_H

#include <stddef.h>
#include <stdint.h>

struct speed_case;

/*
 * open() builds what is worked on, or ends the program; run() does the work
 * `times` times; close() releases all.
 */
struct speed_side {
	void *(*open)(const struct speed_case *speed_case);
	void (*run)(void *state, uint64_t times);
	void (*close)(void *state);
};

struct speed_case {
	const char *name;
	const char *unit; /* what one `ns` is for */
	double target;	  /* of library / floor */
	size_t size;	  /* elements in the graph */
	size_t units;	  /* units in one run */
	struct speed_side library;
	struct speed_side floor;
};

extern const struct speed_case speed_cases[];
extern const size_t speed_cases_count;

/*
 * Resident bytes of a source, a derived cell and a subscription, over
 * `count` of each.  Meant for a process of its own.
 */
struct speed_bytes {
	double source;
	double derived;
	double subscription;
};
void speed_measure_bytes(size_t count, struct speed_bytes *ret_bytes);

#endif
