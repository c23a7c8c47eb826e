/* SPDX-License-Identifier: MIT */
/*
 * The cases that speed measures: each is the same work done by two sides,
 * mostly the library and the floor.
 */
#ifndef BENCH_SPEED_CASES_H
#define BENCH_SPEED_CASES_H

#include <stdbool.h>
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
	double target;	  /* of library / floor; 0: only told */
	size_t size;	  /* elements in the graph */
	size_t units;	  /* units in one run */
	struct speed_side library;
	struct speed_side floor; /* open == NULL: there is none */
	bool per_unit_growth;	 /* grows by unit, not by element */
	/*
	 * In the smallest and largest of a family of cases: what the time of
	 * an element may grow by, beyond that of the floor; 0: only told.
	 */
	double growth_target;
};

/* A file of them. */
struct speed_group {
	const struct speed_case *cases;
	size_t count;
};

extern const struct speed_group speed_machine; /* machine.c */
extern const struct speed_group speed_basic;   /* basic.c */
extern const struct speed_group speed_layers;  /* layers.c */
extern const struct speed_group speed_dynamic; /* dynamic.c */
extern const struct speed_group speed_scale;   /* scale.c */

#define SPEED_GROUP(table)                                                     \
	{                                                                      \
		(table), sizeof(table) / sizeof((table)[0])                    \
	}

/* All cases in order; NULL behind the last. */
const struct speed_case *speed_case_at(size_t i);
const struct speed_case *speed_case_named(const char *name);

/* The shapes whose size can be chosen: how do they grow? */
struct speed_growth {
	const char *plot;
	const char *floor; /* what the other side is called */
	size_t least;
	struct speed_case (*sized)(size_t size);
};

struct speed_case speed_chain_of(size_t size); /* basic.c */
struct speed_case speed_fan_of(size_t size);
struct speed_case speed_near_of(size_t size); /* scale.c */
struct speed_case speed_far_of(size_t size);

extern const struct speed_growth speed_growths[];
extern const size_t speed_growths_count;

#endif
