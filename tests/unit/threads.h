/* SPDX-License-Identifier: MIT */
/*
 * What tests with threads share: a watchdog, so that a deadlock is a failure
 * and not a hang, and the beginning and the end of a test.
 */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#define TOO_LONG 60 /* seconds for a test */

static const char *watched_test = "";

static void bark(int signal)
{
	static const char text[] = " has not ended in time: a deadlock?\n";

	(void)signal;
	(void)!write(STDERR_FILENO, watched_test, strlen(watched_test));
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(99);
}

static void watch(const char *test)
{
	watched_test = test;
	signal(SIGALRM, bark);
	alarm(TOO_LONG);
}

#define WATCH() watch(__func__)

static inline void start(pthread_t *thread, void *(*body)(void *ctx), void *ctx)
{
	assert_int_equal(pthread_create(thread, NULL, body, ctx), 0);
}

static inline void join(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static inline int64_t value(struct hyphae_cell *cell)
{
	int64_t held = -1;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	return held;
}

/* Give the graph back: nothing but `cells` and `subs` may be left in it. */
static inline void end_graph(struct hyphae_graph *graph, size_t cells,
			     size_t subs)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, cells);
	assert_int_equal(counts.subscriptions, subs);
	assert_int_equal(hyphae_graph_free(graph), 0);
	alarm(0);
}

#endif
