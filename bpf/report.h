/* SPDX-License-Identifier: MIT */
/*
 * A report: the numbers of one interval, or of all, as views show them.
 * Pure: made from the model, read by the views.
 */
#ifndef HYPHAE_BPF_REPORT_H
#define HYPHAE_BPF_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/model.h"

/* One cell, or several: then its id is 0. */
struct row {
	uint64_t id;
	uint64_t cells; /* how many are added up in it; 0: it is one */
	const char *name, *type, *op, *site;
	uint64_t height, targets;
	struct counts counts;
	uint64_t p50, p90, p99, max;
};

/* What looking costs. */
struct cost {
	double cpu_s;	 /* of hyphae-top itself */
	uint64_t bpf_ns; /* run time of the BPF programs, */
	bool bpf_known;	 /* if the kernel tells it */
	uint64_t hits;	 /* of probes, each a trap of the process */
};

/* How it came about. */
struct report_head {
	double time;	 /* seconds since 1970 */
	double interval; /* seconds */
	int pid;
	const char *comm;
	const char *mode;
	bool final;	 /* the last one */
	const char *end; /* why it is, or "" */
	bool all;	 /* of the whole time, not of an interval */
	bool paused;	 /* it stands still */
	uint64_t stale;	 /* records from before the start, not counted */
	int64_t alive;	 /* cells in the process; -1: unknown */
	struct cost cost;
};

struct report {
	struct report_head head;
	uint64_t passes;
	uint64_t events; /* notifies, writes, fires and computes */
	struct losses lost;
	struct row total;
	struct row *rows; /* sorted; at most as many as were asked for */
	size_t count;
	size_t active; /* cells that did something, those released among them */
	size_t known;  /* cells ever seen */
	size_t released; /* cells that are in the row "(released)" */
	/* private: what is sorted */
	struct report_item *items;
	struct row *groups; /* rows of several cells */
	size_t nitems, ngroups, items_room, rows_room;
};

/* Which cells, and in which order: by number or by text, then by id. */
struct report_order {
	uint64_t (*number)(const struct row *row);
	const char *(*text)(const struct row *row); /* if number is NULL */
	bool quantiles;				    /* number is one */
	bool none_last; /* 0 means not measured: behind all others */
	bool ascending;
	bool fold;  /* those gone, of one place and name, in one row */
	size_t top; /* 0: all */
};

/*
 * Fill in a report from the model: of the interval, or, with `all`, of the
 * whole time (needs model->keep_all for quantiles).  The rows' texts belong
 * to the model.  -ENOMEM: without rows.
 *
 * Cells that were gone before they could be looked up are one row of the name
 * "(released)".
 */
int report_make(struct report *report, const struct model *model,
		const struct report_order *order, bool all);

/* Sort the rows it has once more, another way. */
void report_sort(struct report *report, const struct report_order *order);

void report_done(struct report *report);

/* Of 1: redundant re-fires among the fires. */
double row_refire_ratio(const struct row *row);

/* Time spent in the cell: computing it and fanning it out. */
uint64_t row_self(const struct row *row);

/* Did anything go missing?  (What was not told apart did not.) */
bool losses_any(const struct losses *losses);

#endif
