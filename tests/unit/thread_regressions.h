/* SPDX-License-Identifier: MIT */
/*
 * What tests of threads share in which another thread propagates, and stays
 * inside a subscriber until it is let go.  So every interleaving is made, not
 * waited for.  A watchdog ends the program with the name of the test when one
 * hangs.
 */
#ifndef TEST_THREAD_REGRESSIONS_H
#define TEST_THREAD_REGRESSIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#include "base/alloc.h"
#include "core/drain.h"
#include "core/probe.h"
#include "core/types.h"

/* ---- the thread that propagates --------------------------------------------- */

struct drainer {
	struct hyphae_cell *trigger;
	pthread_t thread;
	sem_t inside, go, left;
	int result;
};

static inline int stay(const struct hyphae_signal *signal, void *ctx)
{
	struct drainer *drainer = ctx;

	(void)signal;
	sem_post(&drainer->inside);
	sem_wait(&drainer->go);
	return 0;
}

static inline void *propagate(void *ctx)
{
	struct drainer *drainer = ctx;

	drainer->result = hyphae_int64_set(drainer->trigger, 1);
	sem_post(&drainer->left);
	return NULL;
}

/* Have another thread propagate in the graph: a cell and a subscription. */
static inline void occupy(struct drainer *drainer, struct hyphae_graph *graph)
{
	sem_init(&drainer->inside, 0, 0);
	sem_init(&drainer->go, 0, 0);
	sem_init(&drainer->left, 0, 0);
	drainer->result = 1;
	drainer->trigger = hyphae_int64_new(graph, 0);
	assert_non_null(hyphae_subscribe_with(drainer->trigger, stay, drainer,
					      NULL, HYPHAE_SKIP_INITIAL));
	start(&drainer->thread, propagate, drainer);
	sem_wait(&drainer->inside);
}

/* Let it go and wait until it has left the graph; also for callbacks. */
static inline void dismiss(struct drainer *drainer)
{
	sem_post(&drainer->go);
	sem_wait(&drainer->left);
}

static inline void drainer_done(struct drainer *drainer)
{
	join(drainer->thread);
	assert_int_equal(drainer->result, 0);
	sem_destroy(&drainer->inside);
	sem_destroy(&drainer->go);
	sem_destroy(&drainer->left);
}

static inline int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

#endif
