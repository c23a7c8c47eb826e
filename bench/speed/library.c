/* SPDX-License-Identifier: MIT */
/* The library's side; see library.h. */
#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void give_up(const char *what)
{
	fprintf(stderr, "speed: cannot %s: %s.\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		give_up("find memory");
	return memory;
}

struct hyphae_cell *must(struct hyphae_cell *cell)
{
	if (!cell)
		give_up("make a cell");
	return cell;
}

struct library *library_new(unsigned int flags)
{
	struct library *library = zeroed(1, sizeof(*library));

	library->graph = hyphae_graph_new(flags);
	if (!library->graph)
		give_up("make a graph");
	library->source = must(hyphae_int64_new(library->graph, 0));
	return library;
}

struct library *library_with(size_t count)
{
	struct library *library = library_new(HYPHAE_SINGLE_THREAD);
	size_t i;

	library->count = count;
	library->sources = zeroed(count, sizeof(struct hyphae_cell *));
	for (i = 0; i < count; i++)
		library->sources[i] = must(hyphae_int64_new(library->graph, 0));
	return library;
}

void library_close(void *state)
{
	struct library *library = state;

	hyphae_graph_free(library->graph);
	free(library->sources);
	free(library->extra);
	free(library);
}

int add_to_sink(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	sink = (int64_t)((uint64_t)sink + (uint64_t)hyphae_int64_of(signal));
	return 0;
}

void follow(struct hyphae_cell *cell)
{
	if (!hyphae_subscribe_with(cell, add_to_sink, NULL, NULL,
				   HYPHAE_SKIP_INITIAL))
		give_up("subscribe");
}

int add_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int add_up(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	uint64_t sum = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		sum += *(const uint64_t *)inputs[i];
	*(uint64_t *)ret = sum;
	return 0;
}

struct hyphae_cell *derive(struct hyphae_cell *input)
{
	return must(hyphae_map(input, &hyphae_int64, add_one, NULL));
}

struct hyphae_cell *sum_of(struct hyphae_cell *const *inputs, size_t count)
{
	return must(hyphae_combine(inputs, count, &hyphae_int64, add_up, NULL));
}

void set_run(void *state, uint64_t times)
{
	struct library *library = state;

	while (times--)
		hyphae_int64_set(library->source, ++library->value);
}

uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}
