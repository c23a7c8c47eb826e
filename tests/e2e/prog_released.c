// SPDX-License-Identifier: MIT
/*
 * prog_released N NS: waits for a tracer and sets an event N times, NS
 * nanoseconds apart.  Each time a switch_map makes an event, which is set
 * once, and a debounce of it; they live until the next.  Prints how many cells
 * that were, and goes on until its stdin ends.
 */
#include <hyphae/hyphae.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct hyphae_graph *graph;
static long made;

/* What is typed is looked up; the answer counts when there is no other. */
static struct hyphae_cell *look_up(const void *typed, void *ctx)
{
	struct hyphae_cell **ret_answer = ctx, *quiet;

	(void)typed;
	*ret_answer = hyphae_event_new(graph, &hyphae_int64);
	quiet = hyphae_debounce(*ret_answer, 1000000000);
	made += 2;
	return quiet;
}

int main(int argc, char **argv)
{
	struct timespec step = {0}, wait = {.tv_nsec = 1000000};
	struct hyphae_cell *typed, *found, *answer = NULL;
	int64_t i, n = argc > 2 ? atoll(argv[1]) : 0;

	graph = hyphae_graph_new(0);
	typed = hyphae_event_new(graph, &hyphae_int64);
	found = hyphae_switch_map(typed, &hyphae_int64, look_up, &answer);
	if (!found || n <= 0)
		return 1;
	step.tv_nsec = atol(argv[2]);
	puts("ready");
	fflush(stdout);
	while (!hyphae_watched())
		nanosleep(&wait, NULL);
	for (i = 0; i < n; i++) {
		if (hyphae_int64_set(typed, i) || hyphae_int64_set(answer, -i))
			return 1;
		if (step.tv_nsec)
			nanosleep(&step, NULL);
	}
	printf("made %ld\n", made);
	fflush(stdout);
	while (getchar() != EOF)
		;
	hyphae_graph_free(graph);
	return 0;
}
