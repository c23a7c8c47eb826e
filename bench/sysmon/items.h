/* SPDX-License-Identifier: MIT */
/*
 * The things that the machine has at the moment, and their cells.
 *
 * A thing is a processor, an interrupt line, a disk, an interface or a
 * process.  Things come and go, so each has a scope of its own, with which
 * its cells go.
 */
#ifndef BENCH_SYSMON_ITEMS_H
#define BENCH_SYSMON_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

#include "proc.h"

struct item {
	char name[PROC_NAME_MAX];
	uint64_t serial;
	uint64_t seen; /* number of the last tick that had it */
	struct hyphae_scope *scope;
	struct hyphae_cell *source; /* what /proc said last */
	/*
	 * What the summaries are made of:
	 *   processor   a double, the share of it that is in use
	 *   interrupt   a double, how many a second
	 *   disk, net   two doubles, bytes a second in and out
	 *   process     a struct usage
	 */
	struct hyphae_cell *result;
	struct hyphae_cell *second_result; /* disk, net; else NULL */
};

/* All things of a kind. */
struct items {
	enum proc_kind kind;
	struct hyphae_graph *graph;
	struct hyphae_cell *now; /* the clock of all rates, in seconds */
	struct item *items;
	size_t count;
	size_t room;
	size_t next; /* where the next one is looked for first */
};

/*
 * Have one item for each thing in `list`, and no other.  Says whether any
 * came or went; 0 or a negative errno.
 */
int items_follow(struct items *items, const struct proc_list *list,
		 uint64_t tick, bool *ret_changed);

/* Write what `list` says into the sources.  0 or a negative errno. */
int items_write(struct items *items, const struct proc_list *list);

#endif
