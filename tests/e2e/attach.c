// SPDX-License-Identifier: MIT
/*
 * attach PID FILE PROBE CYCLES HOLD_MS
 *
 * Attach to a probe of a running process and detach again, CYCLES times, with
 * HOLD_MS in between; FILE is what carries the probes.  At last prints
 *
 *   cycles N hits N seconds X
 *
 * A tracer of bpftrace's kind needs a second to start; this one starts once.
 * With CYCLES 0 it prints "attached" and stays until it is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "attach.skel.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void hold(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static struct bpf_link *attach(struct attach_bpf *bpf, int pid,
			       const char *file, const char *probe)
{
	struct bpf_link *link = bpf_program__attach_usdt(
		bpf->progs.hit, pid, file, "hyphae", probe, NULL);

	if (!link)
		fprintf(stderr, "%s of process %d cannot be attached: %s.\n",
			probe, pid, strerror(errno));
	return link;
}

static int run(struct attach_bpf *bpf, char **argv)
{
	int pid = atoi(argv[1]);
	long cycles = atol(argv[4]), done;
	double start = now();
	struct bpf_link *link;

	if (cycles == 0) {
		if (!attach(bpf, pid, argv[2], argv[3]))
			return 1;
		puts("attached");
		fflush(stdout);
		for (;;)
			pause();
	}
	for (done = 0; done < cycles; done++) {
		link = attach(bpf, pid, argv[2], argv[3]);
		if (!link)
			return 1;
		hold(atol(argv[5]));
		if (bpf_link__destroy(link))
			return 1;
	}
	printf("cycles %ld hits %llu seconds %.3f\n", done,
	       (unsigned long long)bpf->bss->hits, now() - start);
	return 0;
}

int main(int argc, char **argv)
{
	struct attach_bpf *bpf;
	int status;

	if (argc != 6) {
		fprintf(stderr,
			"usage: attach PID FILE PROBE CYCLES HOLD_MS\n");
		return 2;
	}
	bpf = attach_bpf__open_and_load();
	if (!bpf) {
		fprintf(stderr, "The BPF program cannot be loaded: %s.\n",
			strerror(errno));
		return 1;
	}
	status = run(bpf, argv);
	attach_bpf__destroy(bpf);
	return status;
}
