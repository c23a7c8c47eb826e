// SPDX-License-Identifier: MIT
/*
 * prog_jitter [ACTION COUNT NS]...: what frame-jitter.bt is shown.
 *
 * Builds two graphs whose clocks stand still, prints "ready" and their
 * numbers, waits for a line on stdin, performs the actions in order, prints
 * "done" and waits for the end of stdin.
 *
 *   early N NS  N frames that set dial, done NS before their boundary: dial,
 *               double and sum fire
 *   late N NS   the same, NS after their boundary
 *   empty N 0   N frames without a write, done at their boundary
 *   other N NS  N frames of the other graph that set lever, NS late
 *   batches N 0 N batches that are no frames
 */
#include <hyphae/hyphae.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW 1000000000000

static struct hyphae_graph *graph, *other;
static struct hyphae_cell *dial, *lever;
static int64_t next_value = 1;

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static struct hyphae_graph *graph_at_rest(void)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(NOW);
	struct hyphae_graph *made = hyphae_graph_new(0);

	if (hyphae_graph_set_clock(made, clock))
		exit(1);
	hyphae_clock_unref(clock);
	return made;
}

static void build(void)
{
	struct hyphae_cell *both[2];

	graph = graph_at_rest();
	other = graph_at_rest();
	dial = hyphae_int64_new(graph, 0);
	lever = hyphae_int64_new(other, 0);
	both[0] = hyphae_map(dial, &hyphae_int64, twice, NULL);
	both[1] = hyphae_map(both[0], &hyphae_int64, twice, NULL);
	if (!lever || !both[1])
		exit(1);
}

static int frame(struct hyphae_graph *of, struct hyphae_cell *cell,
		 int64_t late_ns)
{
	int error = hyphae_frame_begin(of, (uint64_t)(NOW - late_ns));

	if (cell)
		error |= hyphae_int64_set(cell, next_value++);
	return error | hyphae_frame_end(of);
}

static int batch(void)
{
	int error = hyphae_batch_begin(graph);

	error |= hyphae_int64_set(dial, next_value++);
	return error | hyphae_batch_end(graph);
}

static int act(const char *action, int64_t ns)
{
	if (!strcmp(action, "early"))
		return frame(graph, dial, -ns);
	if (!strcmp(action, "late"))
		return frame(graph, dial, ns);
	if (!strcmp(action, "empty"))
		return frame(graph, NULL, 0);
	if (!strcmp(action, "other"))
		return frame(other, lever, ns);
	return strcmp(action, "batches") ? -1 : batch();
}

int main(int argc, char **argv)
{
	int error = 0;

	build();
	printf("%llu %llu\nready\n", (unsigned long long)hyphae_graph_id(graph),
	       (unsigned long long)hyphae_graph_id(other));
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 1; i + 2 < argc; i += 3)
		for (long n = atol(argv[i + 1]); n > 0; n--)
			error |= act(argv[i], atoll(argv[i + 2]));
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return error != 0;
}
