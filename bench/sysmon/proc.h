/* SPDX-License-Identifier: MIT */
/*
 * What /proc tells about this machine at one moment.  Nothing here knows of
 * cells: plain structs, read anew for each tick.
 */
#ifndef BENCH_SYSMON_PROC_H
#define BENCH_SYSMON_PROC_H

#include <stddef.h>
#include <stdint.h>

#define PROC_NAME_MAX 32

/* Time a processor has spent, in clock ticks since boot. */
struct cpu_times {
	int64_t user;	/* with nice */
	int64_t system; /* with interrupts and what the host has stolen */
	int64_t idle;	/* with waiting for disks */
};

/* In KiB. */
struct memory {
	int64_t total;
	int64_t available;
	int64_t cached;
	int64_t swap_total;
	int64_t swap_free;
};

/* Bytes since boot: read and written, or received and sent. */
struct traffic {
	int64_t in;
	int64_t out;
};

struct process {
	int64_t pid;
	char name[16];
	int64_t ticks; /* processor time, in clock ticks */
	int64_t resident_kib;
};

/* One thing of a kind, and what /proc says about it. */
struct proc_entry {
	char name[PROC_NAME_MAX]; /* "0", "eth0", "LOC", "4711" */
	/* Tells two things that had the same name one after the other. */
	uint64_t serial;
	union {
		struct cpu_times cpu;
		int64_t count;
		struct traffic traffic;
		struct process process;
	};
};

struct proc_list {
	struct proc_entry *entries;
	size_t count;
	size_t room;
};

enum proc_kind {
	PROC_CPU,
	PROC_INTERRUPT, /* hardware lines */
	PROC_SOFTIRQ,
	PROC_DISK,
	PROC_NETWORK,
	PROC_PROCESS,
	PROC_KINDS
};

struct proc_snapshot {
	struct memory memory;
	struct proc_list lists[PROC_KINDS];
	char *text; /* the file that is being read */
	size_t text_room;
};

/*
 * Read everything into `snapshot`, which is zeroed before its first use.  A
 * file that this kernel does not have leaves its list empty; processes that
 * end meanwhile are left out.  0, or -ENOMEM.
 */
int proc_read(struct proc_snapshot *snapshot);
void proc_free(struct proc_snapshot *snapshot);

#endif
