/* SPDX-License-Identifier: MIT */
/* Who watches: hyphae-top, bpftrace, or a BPF program that does nothing. */
#ifndef BENCH_ATTACHED_WATCHER_H
#define BENCH_ATTACHED_WATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* What a watcher has told. */
struct seen {
	uint64_t fires;
	uint64_t lost;
};

struct watcher {
	pid_t pid;
	FILE *output;
};

/* Is that command there? */
bool watcher_has(const char *command);

/* Start hyphae-top, from beside this program, and wait until it watches. */
void watcher_start_top(struct watcher *watcher);
/* The same with bpftrace, which counts hits of `fanout`. */
void watcher_start_bpftrace(struct watcher *watcher);

/* End it, and add up what it has printed. */
struct seen watcher_stop_top(struct watcher *watcher);
struct seen watcher_stop_bpftrace(struct watcher *watcher);

/*
 * Attach an empty BPF program to `fanout` of this process: the least that a
 * trap can cost.
 */
struct trap *trap_open(void);
void trap_close(struct trap *trap);

#endif
