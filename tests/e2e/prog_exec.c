// SPDX-License-Identifier: MIT
/*
 * prog_exec N PROGRAM: sets a cell N times when a tracer watches, then waits
 * for a line on stdin and becomes PROGRAM.
 */
#include <hyphae/hyphae.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	int64_t i;

	if (argc < 3 || !cell)
		return 1;
	puts("ready");
	fflush(stdout);
	while (!hyphae_watched())
		usleep(1000);
	for (i = 1; i <= atoll(argv[1]); i++)
		if (hyphae_int64_set(cell, i))
			return 1;
	if (getchar() == EOF)
		return 1;
	execlp(argv[2], argv[2], "600", (char *)NULL);
	return 1;
}
