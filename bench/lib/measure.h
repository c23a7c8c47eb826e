/* SPDX-License-Identifier: MIT */
/*
 * Measuring: warm-up, rounds in turn (A B A B ...), medians and spread.
 *
 * Whatever slows the machine slows both sides of a round, so the median of
 * the rounds' ratios is steady where nanoseconds are not.
 *
 * Memory that is used for the first time costs a page fault for every 4 KiB,
 * 0.25 us on bare metal and up to 12 us in a virtual machine.  What is timed
 * must have been run before, or have been touched (touch_memory()).
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something to time: run() does it `times` times. */
struct timed {
	void (*run)(void *state, uint64_t times);
	void *state;
	/* Units in one time, by which nanoseconds are divided; 0: one. */
	double units;
};

/* How long to measure. */
struct effort {
	double round_ns; /* one side of a round takes about so long */
	size_t rounds;	 /* 1 to ROUNDS_MAX; odd, so that there is a middle */
};
#define ROUNDS_MAX 101

extern const struct effort effort_full;	 /* some seconds a pair */
extern const struct effort effort_quick; /* a quarter of a second a pair */
extern const struct effort effort_once;	 /* only to see that it runs */

/* Medians of the rounds; 0 where there is no floor. */
struct measured {
	double ns;	 /* of a unit */
	double floor_ns; /* of a unit */
	double ratio;	 /* of both in one round */
	double spread;	 /* from quartile to quartile, over the median */
};

/* The spread is that of the ratios. */
struct measured measure_pair(const struct timed *work,
			     const struct timed *floor,
			     const struct effort *effort);

/* Without a floor; the spread is that of the nanoseconds. */
struct measured measure_alone(const struct timed *work,
			      const struct effort *effort);

/* Nanoseconds of a unit, over `times` times. */
double time_runs(const struct timed *work, uint64_t times);

/* How many times take about `ns`; warms up on the way.  At least 1. */
uint64_t calibrate(const struct timed *work, double ns);

/* These sort `values`; count >= 1. */
double median(double *values, size_t count);
/* From quartile to quartile, over the median. */
double spread(double *values, size_t count);

/*
 * This thread stays on one processor: moving costs more than most of what is measured.
 * -1: the one it is on.  Ends the program if that cannot be.
 */
void pin_to(int processor);
/* Of this thread: as it was before; also for programs that it starts. */
void unpin(void);

/* How many processors the program may use, and which the nth of them is. */
size_t processors(void);
int processor_of(size_t n);

/* Write to each page, so that no page fault is timed. */
void touch_memory(void *memory, size_t bytes);

/* Resident memory of this process, in bytes. */
double resident_bytes(void);

#endif
