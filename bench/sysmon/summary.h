/* SPDX-License-Identifier: MIT */
/*
 * Cells over all things of a kind (totals, thresholds, a ranking), and the
 * subscribers that write the report.
 *
 * What these functions make belongs to the scope that is entered.  A cell that
 * combines all things of a kind cannot stay when they change; then the caller
 * releases that scope and calls again.
 */
#ifndef BENCH_SYSMON_SUMMARY_H
#define BENCH_SYSMON_SUMMARY_H

#include <hyphae/hyphae.h>

#include "items.h"
#include "proc.h"
#include "screen.h"

/* 0 or a negative errno. */
int summarize_machine(const struct items kinds[PROC_KINDS],
		      struct screen *screen);
int summarize_processes(const struct items *processes, struct screen *screen);

/* A source cell of memory, in the report. */
struct hyphae_cell *memory_cell(struct hyphae_graph *graph,
				struct screen *screen);
int memory_write(struct hyphae_cell *cell, const struct memory *memory);

#endif
