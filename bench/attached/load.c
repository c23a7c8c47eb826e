/* SPDX-License-Identifier: MIT */
/* What is watched; see load.h. */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/options.h"

static volatile int64_t sink;

_Noreturn void give_up(const char *what, int err)
{
	fprintf(stderr, "attached: %s: %s.\n", what, strerror(err));
	exit(EXIT_FAILURE);
}

static int add_to_sink(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	sink += hyphae_int64_of(signal);
	return 0;
}

static int add_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

void load_open(struct load *load)
{
	struct hyphae_cell *cell;
	int i;

	memset(load, 0, sizeof(*load));
	load->graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	if (!load->graph)
		give_up("cannot make a graph", errno);
	load->source = cell = hyphae_int64_new(load->graph, 0);
	for (i = 1; i < LOAD_FIRES; i++)
		cell = hyphae_map(cell, &hyphae_int64, add_one, NULL);
	if (!cell || !hyphae_subscribe(cell, add_to_sink, NULL))
		give_up("cannot make a chain", errno);
}

void load_close(struct load *load)
{
	hyphae_graph_free(load->graph);
}

static void load_sets(struct load *load, uint64_t sets)
{
	load->fires += sets * LOAD_FIRES;
	while (sets--)
		hyphae_int64_set(load->source, ++load->value);
}

double load_time(struct load *load, double seconds)
{
	uint64_t start = clock_ns(), now = start, sets = 0;

	while ((double)(now - start) < seconds * 1e9) {
		load_sets(load, 1000);
		sets += 1000;
		now = clock_ns();
	}
	return (double)(now - start) / (double)(sets * LOAD_FIRES);
}

void load_paced(struct load *load, double seconds, uint64_t rate)
{
	uint64_t next = clock_ns();
	int i;

	for (i = 0; i < (int)(seconds * 1000); i++) {
		load_sets(load, rate / 1000 / LOAD_FIRES);
		next += 1000000;
		sleep_until_ns(next);
	}
}
