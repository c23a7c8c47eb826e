/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side: load the BPF programs, attach them to the probes of one
 * process, hand over what they bring.  Only this and drain.c use libbpf.
 */
#ifndef HYPHAE_BPF_COLLECT_H
#define HYPHAE_BPF_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/fault.h"
#include "bpf/report.h"
#include "bpf/sink.h"

struct collect_config {
	bool probes; /* probe mode, else records mode */
	pid_t pid;
	pid_t thread;	  /* of it, that lives: perf events are tied to one */
	const char *path; /* of the file with the probes; see target.h */
	size_t ring_bytes;
};

struct collect;

/* Load the programs; nothing is attached yet.  NULL with a fault. */
struct collect *collect_open(const struct collect_config *config,
			     const struct collect_sink *sink,
			     struct fault *fault);

/* Attach.  0 or -1 with a fault. */
int collect_attach(struct collect *collect, struct fault *fault);

/*
 * Let the process know that it is watched: a program that waits for
 * hyphae_watched() begins now, and must not before all else is ready.
 */
void collect_announce(struct collect *collect);

/*
 * Attach once more, through another thread of the same process, and then give
 * up the old one.  0 or -1; then the old one is kept.
 */
int collect_move(struct collect *collect, pid_t thread, const char *path);

/*
 * Hand over what has come, until `enough` says so (NULL: never); was it all?
 * To be called often; a thread of its own keeps the ring from filling up
 * meanwhile.
 */
bool collect_drain(struct collect *collect, bool (*enough)(void *ctx),
		   void *ctx);

/* Hand over the rest as lost: there is no time left for it. */
void collect_lose(struct collect *collect);

/* Hand over the counts of probe mode.  0 or a negative errno. */
int collect_read(struct collect *collect);

/* The sums of the counters, and what the programs cost. */
void collect_counters(const struct collect *collect,
		      uint64_t counters[WIRE_COUNTERS], struct cost *cost);

/* Detach; what waits in the rings can still be drained. */
void collect_detach(struct collect *collect);

void collect_close(struct collect *collect);

#endif
