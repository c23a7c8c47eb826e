// SPDX-License-Identifier: MIT
/* Real tracers for tests: see tracer.h. */
#include "tracer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run *bpftrace_start(pid_t pid, const char *script)
{
	char number[16], *whole;
	struct run *run = NULL;

	snprintf(number, sizeof(number), "%d", (int)pid);
	if (asprintf(&whole, "BEGIN { printf(\"STARTED\\n\"); }\n%s", script) <
	    0)
		return NULL;
	run = RUN("bpftrace", "-B", "none", "-p", number, "-e", whole);
	free(whole);
	if (run && !run_wait_text(run, "STARTED", RUN_LIMIT)) {
		printf("bpftrace did not start. It said:\n%s%s", run_out(run),
		       run_err(run));
		run_close(run);
		return NULL;
	}
	return run;
}

int bpftrace_interrupt(struct run *bpftrace)
{
	int status = -1;

	/* It loses one that comes while it is still attaching. */
	for (int i = 0; i < 4 && status < 0; i++) {
		if (run_kill(bpftrace, SIGINT) == 0)
			status = run_wait(bpftrace, RUN_LIMIT / 3);
		else
			status = run_wait(bpftrace, 0);
	}
	return status;
}

int bpftrace_end(struct run *bpftrace)
{
	int status = run_wait(bpftrace, 3000);

	return status < 0 ? bpftrace_interrupt(bpftrace) : status;
}

long long bpftrace_number(struct run *bpftrace, const char *map)
{
	char start[256];
	const char *at = run_out(bpftrace);

	snprintf(start, sizeof(start), "%s: ", map);
	while ((at = strstr(at, start))) {
		if (at == bpftrace->out || at[-1] == '\n')
			return strtoll(at + strlen(start), NULL, 10);
		at++;
	}
	return -1;
}

long long bpftrace_hits(struct run *bpftrace, const char *probe)
{
	char end[128];
	const char *at;

	snprintf(end, sizeof(end), ":hyphae:%s]: ", probe);
	at = strstr(run_out(bpftrace), end);
	return at ? strtoll(at + strlen(end), NULL, 10) : 0;
}

uint64_t gate_of(pid_t pid, const char *path)
{
	struct binary *binary = binary_open(path);
	const struct note *records =
		binary ? binary_note(binary, "records") : NULL;
	uint64_t bias = binary ? process_bias(pid, binary, path) : 0;
	uint64_t word = UINT64_MAX;

	if (!records || bias == UINT64_MAX ||
	    !process_read(pid, records->semaphore + bias, &word, sizeof(word)))
		printf("The gate of process %d cannot be read.\n", (int)pid);
	binary_close(binary);
	return word;
}

bool gate_wait_closed(pid_t pid, const char *path, int limit_ms)
{
	uint64_t gate;

	do {
		gate = gate_of(pid, path);
		if (gate == 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		limit_ms -= 20;
	} while (limit_ms > 0 && gate != UINT64_MAX);
	printf("The gate of process %d is still 0x%llx.\n", (int)pid,
	       (unsigned long long)gate);
	return false;
}
