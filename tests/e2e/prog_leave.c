// SPDX-License-Identifier: MIT
/*
 * prog_leave N now|later: a thread sets a cell N times when a tracer watches;
 * the main thread ends before that, or half-way.
 */
#include <hyphae/hyphae.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool half_way, left;
static int64_t rounds;

static void *work(void *ctx)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	int64_t i;

	(void)ctx;
	while (!atomic_load(&left) && !hyphae_watched())
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (!hyphae_watched())
		usleep(1000);
	for (i = 1; i <= rounds; i++) {
		if (hyphae_int64_set(cell, i))
			exit(1);
		if (i == rounds / 2) {
			atomic_store(&half_way, true);
			usleep(200000);
		}
	}
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 1;
	rounds = atoll(argv[1]);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	if (!strcmp(argv[2], "later")) {
		puts("ready");
		fflush(stdout);
		while (!atomic_load(&half_way))
			usleep(1000);
	}
	atomic_store(&left, true);
	pthread_exit(NULL);
}
