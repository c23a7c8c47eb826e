/* SPDX-License-Identifier: MIT */
/*
 * Real tracers for tests: bpftrace with a script, perf, and the semaphores
 * that they leave behind.
 */
#ifndef HYPHAE_TESTS_LIB_TRACER_H
#define HYPHAE_TESTS_LIB_TRACER_H

#include <stdint.h>

#include "binary.h"
#include "run.h"

/*
 * bpftrace attached to `pid` and ready: the script's probes are on.  It must
 * have no BEGIN.  NULL if it did not get there; what it said is on stdout.
 */
struct run *bpftrace_start(pid_t pid, const char *script);

/*
 * Wait until it has ended by itself, as it does when the process that it
 * traces ends, or end it; then its maps are in run_out().
 */
int bpftrace_end(struct run *bpftrace);

/* End it as Ctrl-C does, also a script; its status. */
int bpftrace_interrupt(struct run *bpftrace);

/* "@name: 7" or "@name[key]: 7" in what it printed; -1 if there is none. */
long long bpftrace_number(struct run *bpftrace, const char *map);

/* The same for a map whose key is `probe`: the hits of one of ours, or 0. */
long long bpftrace_hits(struct run *bpftrace, const char *probe);

/*
 * The gate of a process: 4 numbers of 16 bits, see probes/abi.h.  `path` is
 * the file that carries the probes, as the process maps it.
 */
uint64_t gate_of(pid_t pid, const char *path);

/* Wait until nobody is attached any more; false at the limit. */
bool gate_wait_closed(pid_t pid, const char *path, int limit_ms);

#endif
