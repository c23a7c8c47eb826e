/* SPDX-License-Identifier: MIT */
/*
 * Group H: several threads in one graph.
 *
 * Threads and callbacks only write down what they see; the test's own thread
 * judges it.  Every wait has a limit, and a watchdog ends the program with the
 * name of the test, so a deadlock is a failure and not a hang.  Also run under
 * ThreadSanitizer, which judges the rest.
 */
#ifndef HYPHAE_TESTS_UNIT_THREAD_BASIC_H
#define HYPHAE_TESTS_UNIT_THREAD_BASIC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 1000
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 3000
#else
#define ROUNDS 10000
#endif

static inline int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static inline int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

struct race {
	struct hyphae_cell *a;
	pthread_barrier_t go;
	_Atomic bool over;
	int64_t seen[8];
	_Atomic unsigned int count;
};

struct large {
	int64_t parts[16];
};
HYPHAE_TYPE(large, struct large);

static inline struct large all_parts(int64_t n)
{
	struct large large;
	int i;

	for (i = 0; i < 16; i++)
		large.parts[i] = n;
	return large;
}

static inline bool is_whole(const struct large *large)
{
	int i;

	for (i = 1; i < 16; i++)
		if (large->parts[i] != large->parts[0])
			return false;
	return true;
}

#endif
