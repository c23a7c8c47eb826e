/* SPDX-License-Identifier: MIT */
/* Measuring; see measure.h. */
#include "measure.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

const struct effort effort_full = {8e6, ROUNDS_MAX};
const struct effort effort_quick = {2e6, 31};
const struct effort effort_once = {1e3, 1};

double time_runs(const struct timed *work, uint64_t times)
{
	uint64_t start = clock_ns(), took;

	work->run(work->state, times);
	took = clock_ns() - start;
	return (double)took / (double)times / (work->units ? work->units : 1);
}

uint64_t calibrate(const struct timed *work, double ns)
{
	double units = work->units ? work->units : 1;
	uint64_t times = 1;

	for (;;) {
		double took = time_runs(work, times) * units * (double)times;

		if (took >= ns)
			return times;
		/* Approach it in steps: the first runs are slow. */
		if (took < ns / 16)
			times *= 8;
		else
			times = (uint64_t)((double)times * ns / took * 1.05) +
				1;
	}
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Of `count` sorted values. */
static double quantile(const double *values, size_t count, double share)
{
	return values[(size_t)((double)(count - 1) * share + 0.5)];
}

double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return quantile(values, count, 0.5);
}

double spread(double *values, size_t count)
{
	double middle = median(values, count);

	if (!(middle > 0))
		return 0;
	return (quantile(values, count, 0.75) - quantile(values, count, 0.25)) /
	       middle;
}

struct measured measure_pair(const struct timed *work,
			     const struct timed *floor,
			     const struct effort *effort)
{
	double ns[ROUNDS_MAX], floor_ns[ROUNDS_MAX], ratios[ROUNDS_MAX];
	uint64_t times = calibrate(work, effort->round_ns);
	uint64_t floor_times = calibrate(floor, effort->round_ns);
	size_t i;

	for (i = 0; i < effort->rounds; i++) {
		ns[i] = time_runs(work, times);
		floor_ns[i] = time_runs(floor, floor_times);
		ratios[i] = ns[i] / floor_ns[i];
	}
	return (struct measured){
		.ns = median(ns, effort->rounds),
		.floor_ns = median(floor_ns, effort->rounds),
		.ratio = median(ratios, effort->rounds),
		.spread = spread(ratios, effort->rounds),
	};
}

struct measured measure_alone(const struct timed *work,
			      const struct effort *effort)
{
	uint64_t times = calibrate(work, effort->round_ns);
	double ns[ROUNDS_MAX];
	size_t i;

	for (i = 0; i < effort->rounds; i++)
		ns[i] = time_runs(work, times);
	return (struct measured){
		.ns = median(ns, effort->rounds),
		.spread = spread(ns, effort->rounds),
	};
}

_Noreturn static void give_up(const char *what)
{
	fprintf(stderr, "%s: cannot %s: %s.\n", program_invocation_short_name,
		what, strerror(errno));
	exit(EXIT_FAILURE);
}

static _Thread_local cpu_set_t before_pin;
static _Thread_local bool pinned;

void pin_to(int processor)
{
	cpu_set_t set;

	if (!pinned && sched_getaffinity(0, sizeof(before_pin), &before_pin))
		give_up("tell which processors it may use");
	pinned = true;
	if (processor < 0)
		processor = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		give_up("stay on one processor");
}

void unpin(void)
{
	if (pinned && sched_setaffinity(0, sizeof(before_pin), &before_pin))
		give_up("use all processors again");
	pinned = false;
}

size_t processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		give_up("tell which processors it may use");
	return (size_t)CPU_COUNT(&set);
}

int processor_of(size_t n)
{
	cpu_set_t set;
	int i;

	if (sched_getaffinity(0, sizeof(set), &set))
		give_up("tell which processors it may use");
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &set) && n-- == 0)
			return i;
	return -1;
}

void touch_memory(void *memory, size_t bytes)
{
	volatile char *at = memory;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;

	for (i = 0; i < bytes; i += page)
		at[i] = 0;
	if (bytes)
		at[bytes - 1] = 0;
}

double resident_bytes(void)
{
	long size, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
		give_up("read /proc/self/statm");
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}
