/* SPDX-License-Identifier: MIT */
/*
 * Watching one process: what ties target, collect, stream, peek, census and
 * model together.
 */
#ifndef HYPHAE_BPF_WATCH_H
#define HYPHAE_BPF_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/census.h"
#include "bpf/collect.h"
#include "bpf/fault.h"
#include "bpf/model.h"
#include "bpf/report.h"
#include "bpf/stream.h"
#include "bpf/target.h"

struct watch_config {
	pid_t pid;
	bool probes; /* probe mode */
	size_t ring_bytes;
	size_t cells_limit; /* cells told apart */
	bool keep_all;	    /* quantiles over all time, too */
};

struct watch {
	struct watch_config config;
	struct target target;
	struct memory memory;
	struct census census;
	bool census_works;
	uint64_t moves; /* how often the thread it looks through had ended */
	bool replaced;	/* the process runs another program now, */
	bool unloaded;	/* or the same without hyphae */
	struct model model;
	struct stream stream;
	struct collect *collect;
	uint64_t counters[WIRE_COUNTERS]; /* as last read */
	struct cost cost;		  /* since the start */
	struct cost cost_before;	  /* at the last interval */
	uint64_t begin_ns, before_ns;	  /* of all, of the interval */
	uint64_t stale_before;
	int64_t alive; /* cells in the process; -1: unknown */
	/* When to look for names again. */
	size_t nameless; /* cells that the last census did not find */
	uint64_t census_at, census_ns; /* when it was, how long it took */
	bool counted;	     /* a census met every cell, in this interval */
	uint32_t counted_in; /* the number of it */
	uint64_t peeked_at, peek_ns; /* when it was, how long it took */
	bool hurried;	   /* the last census was ended before its time */
	uint64_t until_ns; /* when what is being done is to end; 0: never */
};

/* Find the process, attach.  0 or -1 with a fault. */
int watch_open(struct watch *watch, const struct watch_config *config,
	       struct fault *fault);

/* Take what waits in the rings, to be called often. */
void watch_drain(struct watch *watch);

/* Look up new cells, if there are any and it is not too soon. */
void watch_names(struct watch *watch);

/*
 * Bring the model up to date: also what threads have not yet delivered.
 * `gone`: the process has ended, its memory cannot be read.  `last`: what
 * cannot be taken in now never will be, and counts as lost.
 */
void watch_update(struct watch *watch, bool gone, bool last);

/* Fill in a report of the interval, or of all time. */
int watch_report(struct watch *watch, struct report *report,
		 const struct report_order *order, bool all);

/* The interval is over. */
void watch_next(struct watch *watch);

void watch_close(struct watch *watch);

#endif
