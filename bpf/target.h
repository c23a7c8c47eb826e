/* SPDX-License-Identifier: MIT */
/*
 * The process to look at: found by number or by name, held by a pidfd, and
 * the file in it that carries the probes.
 *
 * The file is opened through /proc/PID, never by its path alone: the process
 * may live in another mount namespace, and its file may have been deleted or
 * replaced.
 */
#ifndef HYPHAE_BPF_TARGET_H
#define HYPHAE_BPF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/fault.h"

struct target {
	pid_t pid;
	pid_t thread;	/* through which its memory is reached: see below */
	int pidfd;	/* -1: not held */
	uint64_t start; /* when it began, in clock ticks since boot */
	uint64_t stack; /* where its first stack begins; another with exec */
	char comm[32];
	char file[4096]; /* as the process knows it, for people */
	char path[4160]; /* by which this process opens the same file */
	bool deleted;	 /* `file` is gone from its directory or replaced */
	unsigned int probes;
	uint64_t semaphore; /* where the semaphore of `records` lies in it */
	bool same_clock;    /* its CLOCK_MONOTONIC is ours */
};

/* Find process `pid` and its probes, and hold it.  0 or -1 with a fault. */
int target_open(struct target *target, pid_t pid, struct fault *fault);

/*
 * The process of that name: what /proc/PID/comm says, or the last part of its
 * program's path.  If several carry probes they are listed in the fault.
 */
int target_by_name(const char *name, pid_t *ret_pid, struct fault *fault);

/* Is it still the same process, and does it run? */
bool target_alive(const struct target *target);

/*
 * A process can outlive its main thread.  The kernel then finds neither its
 * memory nor its files by the number of the process, only by that of a thread
 * that lives.  Has ours ended while the process goes on?
 */
bool target_thread_ended(const struct target *target);

/* Choose another one; `path` and `thread` are new.  0 or -1. */
int target_renew(struct target *target);

/* Does it have memory?  Not while it is on its way out. */
bool target_has_memory(const struct target *target);

/* Is it still the program that it was, and has not executed another? */
bool target_same_program(const struct target *target);

void target_close(struct target *target);

/*
 * List the processes that carry probes, one a line.  Returns how many;
 * *ret_hidden: how many may not be looked at.
 */
int target_list(FILE *file, int *ret_hidden);

#endif
