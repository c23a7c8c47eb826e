/* SPDX-License-Identifier: MIT */
/* The library's side of the cases: what they share. */
#ifndef BENCH_SPEED_LIBRARY_H
#define BENCH_SPEED_LIBRARY_H

#include <hyphae/hyphae.h>

#include "cases.h"
#include "floor.h"

struct library {
	struct hyphae_graph *graph;
	struct hyphae_cell *source;
	struct hyphae_cell **sources; /* if there are several */
	size_t count;
	int64_t value;
	void *extra; /* of a case; freed with it */
};

/* Nothing here is expected to fail, and a wrong figure is worse than none. */
_Noreturn void give_up(const char *what);
void *zeroed(size_t count, size_t size);
struct hyphae_cell *must(struct hyphae_cell *cell);

/* A graph with one source that holds 0. */
struct library *library_new(unsigned int flags);
/* And `count` more. */
struct library *library_with(size_t count);
void library_close(void *state);

/* Add to the sink what the cell comes to hold, from now on. */
void follow(struct hyphae_cell *cell);
int add_to_sink(const struct hyphae_signal *signal, void *ctx);

/* Input + 1; the sum of the inputs, which wraps. */
int add_one(void *ret, const void *input, void *ctx);
struct hyphae_cell *derive(struct hyphae_cell *input);
struct hyphae_cell *sum_of(struct hyphae_cell *const *inputs, size_t count);

/* Set library->source to the next number. */
void set_run(void *state, uint64_t times);

/* The next number of a fixed row that looks random. */
uint32_t next_random(uint32_t *state);

#endif
