/* SPDX-License-Identifier: MIT */
/* What is watched: a chain that is set. */
#ifndef BENCH_ATTACHED_LOAD_H
#define BENCH_ATTACHED_LOAD_H

#include <stdint.h>

#include <hyphae/hyphae.h>

/* A source and derived cells: each of them fires once a set. */
#define LOAD_FIRES 10

struct load {
	struct hyphae_graph *graph;
	struct hyphae_cell *source;
	int64_t value;
	uint64_t fires; /* since the watcher came */
};

_Noreturn void give_up(const char *what, int err);

void load_open(struct load *load);
void load_close(struct load *load);

/* Nanoseconds of a fan-out, over about `seconds`. */
double load_time(struct load *load, double seconds);

/* `rate` fan-outs a second, in steps of a millisecond. */
void load_paced(struct load *load, double seconds, uint64_t rate);

#endif
