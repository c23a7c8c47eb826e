// SPDX-License-Identifier: MIT
/*
 * prog_fork CHILDREN: forks while it is traced.  Each child inherits the
 * breakpoints, uses the graph it inherited, and must live and compute right.
 * Prints "ready", waits for a line on stdin, and at last prints how many
 * children ended how.
 */
#include <hyphae/hyphae.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETS 1000

static int64_t last;

static int see(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	last = hyphae_int64_of(signal);
	return 0;
}

static int triple(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 3 * *(const int64_t *)input;
	return 0;
}

/* The number of wrong results. */
static int work(struct hyphae_cell *source, int64_t from)
{
	int wrong = 0;

	for (int64_t i = from; i < from + SETS; i++)
		wrong += hyphae_int64_set(source, i) != 0 || last != 3 * i;
	return wrong;
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 1, right = 0, wrong = 0,
	    died = 0, mine = 0;
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *source = hyphae_int64_new(graph, 0);
	struct hyphae_cell *derived =
		hyphae_map(source, &hyphae_int64, triple, NULL);

	if (!hyphae_subscribe(derived, see, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < children; i++) {
		int64_t from = 1 + (int64_t)i * SETS;
		pid_t child = fork();
		int status = 0;

		if (child == 0)
			_exit(work(source, from) != 0);
		mine += work(source, from);
		if (child < 0 || waitpid(child, &status, 0) != child ||
		    WIFSIGNALED(status))
			died++;
		else if (WEXITSTATUS(status))
			wrong++;
		else
			right++;
	}
	printf("children %d right %d wrong %d died %d, parent wrong %d\n",
	       children, right, wrong, died, mine);
	return right != children || mine;
}
