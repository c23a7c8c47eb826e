/* SPDX-License-Identifier: MIT */
/* One shape at a time: a set, a get, chains, fans, diamonds, batches. */
#include "library.h"

#include <stdlib.h>

/* ---- the library's side ----------------------------------------------- */

/* A chain of `size` derived cells with a subscriber at the end; 0: set_1. */
static void *chain_in(unsigned int flags, size_t size)
{
	struct library *library = library_new(flags);
	struct hyphae_cell *cell = library->source;
	size_t i;

	for (i = 0; i < size; i++)
		cell = derive(cell);
	follow(cell);
	return library;
}

/* The same as one cell. */
static void *pipe_open(const struct speed_case *speed_case)
{
	struct library *library = library_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_pipe *pipe = hyphae_pipe(library->source);
	size_t i;

	for (i = 0; i < speed_case->size; i++)
		pipe = hyphae_pipe_map(pipe, &hyphae_int64, add_one, NULL);
	follow(must(hyphae_materialize(pipe)));
	return library;
}

static void *set_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return chain_in(HYPHAE_SINGLE_THREAD, 0);
}

static void *chain_open(const struct speed_case *speed_case)
{
	return chain_in(HYPHAE_SINGLE_THREAD, speed_case->size);
}

static void *shared_set_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return chain_in(0, 0);
}

static void *shared_chain_open(const struct speed_case *speed_case)
{
	return chain_in(0, speed_case->size);
}

static void *fan_open(const struct speed_case *speed_case)
{
	struct library *library = library_new(HYPHAE_SINGLE_THREAD);
	size_t i;

	for (i = 0; i < speed_case->size; i++)
		follow(library->source);
	return library;
}

static void *diamond_open(const struct speed_case *speed_case)
{
	struct library *library = library_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell **sides;
	size_t i;

	sides = zeroed(speed_case->size, sizeof(struct hyphae_cell *));
	for (i = 0; i < speed_case->size; i++)
		sides[i] = derive(library->source);
	follow(sum_of(sides, speed_case->size));
	free(sides);
	return library;
}

static void *batch_open(const struct speed_case *speed_case)
{
	struct library *library = library_with(speed_case->size);
	size_t i;

	for (i = 0; i < library->count; i++)
		follow(derive(library->sources[i]));
	return library;
}

static void get_run(void *state, uint64_t times)
{
	const struct library *library = state;
	int64_t value;

	while (times--) {
		hyphae_int64_get(library->source, &value);
		sink = value;
	}
}

static void batch_run(void *state, uint64_t times)
{
	struct library *library = state;
	size_t i;

	while (times--) {
		library->value++;
		hyphae_batch_begin(library->graph);
		for (i = 0; i < library->count; i++)
			hyphae_int64_set(library->sources[i], library->value);
		hyphae_batch_end(library->graph);
	}
}

static void create_run(void *state, uint64_t times)
{
	struct library *library = state;

	while (times--)
		hyphae_cell_unref(hyphae_int64_new(library->graph, 0));
}

static void derive_run(void *state, uint64_t times)
{
	struct library *library = state;

	while (times--)
		hyphae_cell_unref(derive(library->source));
}

static void subscribe_run(void *state, uint64_t times)
{
	struct library *library = state;

	while (times--)
		hyphae_unsubscribe(
			hyphae_subscribe_with(library->source, add_to_sink,
					      NULL, NULL, HYPHAE_SKIP_INITIAL));
}

/* ---- the floor's side -------------------------------------------------- */

struct floor {
	struct floor_source source;
	struct floor_derived *derived;
	struct floor_dirty *dirty;
	struct floor_queue queue;
	struct floor_node *nodes;
	size_t count; /* of any of these */
	int64_t value;
};

static struct floor *floor_new(size_t count)
{
	struct floor *floor = zeroed(1, sizeof(*floor));

	floor->count = count;
	return floor;
}

static void floor_close(void *state)
{
	struct floor *floor = state;
	size_t i;

	for (i = 0; i < floor->count; i++) {
		if (floor->derived)
			free(floor->derived[i].source.entries);
		if (floor->dirty)
			free(floor->dirty[i].source.entries);
	}
	free(floor->source.entries);
	free(floor->derived);
	free(floor->dirty);
	free(floor->queue.entries);
	free(floor->nodes);
	free(floor);
}

static void *floor_set_open(const struct speed_case *speed_case)
{
	struct floor *floor = floor_new(0);

	(void)speed_case;
	floor_subscribe(&floor->source, floor_add_to_sink, NULL);
	return floor;
}

static void *floor_map_open(const struct speed_case *speed_case)
{
	struct floor *floor = floor_new(1);

	(void)speed_case;
	floor->derived = zeroed(1, sizeof(*floor->derived));
	floor_derive(floor->derived, &floor->source);
	floor_subscribe(&floor->derived->source, floor_add_to_sink, NULL);
	return floor;
}

static void *floor_fan_open(const struct speed_case *speed_case)
{
	struct floor *floor = floor_new(0);
	size_t i;

	for (i = 0; i < speed_case->size; i++)
		floor_subscribe(&floor->source, floor_add_to_sink, NULL);
	return floor;
}

/* source, links, sink */
static void *floor_chain_open(const struct speed_case *speed_case)
{
	struct floor *floor = floor_new(speed_case->size + 2);
	size_t i;

	floor->nodes = zeroed(floor->count, sizeof(*floor->nodes));
	for (i = 1; i < floor->count; i++) {
		floor->nodes[i].fn = floor_node_add_one;
		floor->nodes[i].first_input = (uint32_t)i - 1;
		floor->nodes[i].inputs = 1;
	}
	floor->nodes[floor->count - 1].fn = floor_node_to_sink;
	return floor;
}

/* source, sides, join, sink */
static void *floor_diamond_open(const struct speed_case *speed_case)
{
	uint32_t sides = (uint32_t)speed_case->size;
	struct floor *floor = floor_new(sides + 3);
	size_t i;

	floor->nodes = zeroed(floor->count, sizeof(*floor->nodes));
	for (i = 1; i <= sides; i++) {
		floor->nodes[i].fn = floor_node_add_one;
		floor->nodes[i].inputs = 1;
	}
	floor->nodes[sides + 1] = (struct floor_node){
		.fn = floor_node_sum,
		.first_input = 1,
		.inputs = sides,
	};
	floor->nodes[sides + 2] = (struct floor_node){
		.fn = floor_node_to_sink,
		.first_input = sides + 1,
		.inputs = 1,
	};
	return floor;
}

static void *floor_batch_open(const struct speed_case *speed_case)
{
	struct floor *floor = floor_new(speed_case->size);
	size_t i;

	floor->derived = zeroed(floor->count, sizeof(*floor->derived));
	floor->dirty = zeroed(floor->count, sizeof(*floor->dirty));
	floor->queue.entries =
		zeroed(floor->count, sizeof(*floor->queue.entries));
	for (i = 0; i < floor->count; i++) {
		floor_derive(&floor->derived[i], &floor->dirty[i].source);
		floor_subscribe(&floor->derived[i].source, floor_add_to_sink,
				NULL);
	}
	return floor;
}

static void floor_set_run(void *state, uint64_t times)
{
	struct floor *floor = state;

	while (times--)
		floor_set(&floor->source, ++floor->value);
}

static void floor_get_run(void *state, uint64_t times)
{
	const struct floor *floor = state;

	while (times--)
		sink = floor_get(&floor->source);
}

static void floor_flat_run(void *state, uint64_t times)
{
	struct floor *floor = state;

	while (times--)
		floor_flat_set(floor->nodes, floor->count, ++floor->value);
}

static void floor_batch_run(void *state, uint64_t times)
{
	struct floor *floor = state;
	size_t i;

	while (times--) {
		floor->value++;
		for (i = 0; i < floor->count; i++)
			floor_queue_set(&floor->queue, &floor->dirty[i],
					floor->value);
		floor_queue_flush(&floor->queue);
	}
}

static void floor_create_run(void *state, uint64_t times)
{
	(void)state;
	while (times--)
		floor_release(floor_make(64));
}

static void floor_derive_run(void *state, uint64_t times)
{
	struct floor *floor = state;

	while (times--) {
		void *derived = floor_make(96);

		floor_subscribe(&floor->source, floor_add_to_sink, derived);
		floor_unsubscribe(&floor->source, floor->source.count - 1);
		floor_release(derived);
	}
}

static void floor_subscribe_run(void *state, uint64_t times)
{
	struct floor *floor = state;

	while (times--) {
		floor_subscribe(&floor->source, floor_add_to_sink, NULL);
		floor_unsubscribe(&floor->source, floor->source.count - 1);
	}
}

/* ---- the table ---------------------------------------------------------- */

#define LIBRARY(open, run)                                                     \
	{                                                                      \
		open, run, library_close                                       \
	}
#define FLOOR(open, run)                                                       \
	{                                                                      \
		open, run, floor_close                                         \
	}

#define CHAIN(text, n)                                                         \
	{                                                                      \
		text, "cell", 2.0, n, n, LIBRARY(chain_open, set_run),         \
			FLOOR(floor_chain_open, floor_flat_run)                \
	}
#define FAN(text, n)                                                           \
	{                                                                      \
		text, "subscriber", 1.5, n, n, LIBRARY(fan_open, set_run),     \
			FLOOR(floor_fan_open, floor_set_run)                   \
	}
#define DIAMOND(text, n)                                                       \
	{                                                                      \
		text, "set", 2.0, n, 1, LIBRARY(diamond_open, set_run),        \
			FLOOR(floor_diamond_open, floor_flat_run)              \
	}

static const struct speed_case cases[] = {
	{"set_1", "set", 2.5, 1, 1, LIBRARY(set_open, set_run),
	 FLOOR(floor_set_open, floor_set_run)},
	{"get", "get", 1.5, 1, 1, LIBRARY(set_open, get_run),
	 FLOOR(floor_set_open, floor_get_run)},
	{"map_1", "set", 2.5, 1, 1, LIBRARY(chain_open, set_run),
	 FLOOR(floor_map_open, floor_set_run)},
	CHAIN("chain_10", 10),
	CHAIN("chain_100", 100),
	CHAIN("chain_1000", 1000),
	FAN("fan_10", 10),
	FAN("fan_1000", 1000),
	FAN("fan_10000", 10000),
	DIAMOND("diamond_10", 10),
	DIAMOND("diamond_100", 100),
	DIAMOND("diamond_1000", 1000),
	{"batch_1000", "set", 2.0, 1000, 1000, LIBRARY(batch_open, batch_run),
	 FLOOR(floor_batch_open, floor_batch_run)},
	{"create", "cell", 2.0, 1, 1, LIBRARY(set_open, create_run),
	 FLOOR(floor_set_open, floor_create_run)},
	{"derive", "cell", 2.0, 1, 1, LIBRARY(set_open, derive_run),
	 FLOOR(floor_set_open, floor_derive_run)},
	{"subscribe", "subscription", 2.0, 1, 1,
	 LIBRARY(set_open, subscribe_run),
	 FLOOR(floor_set_open, floor_subscribe_run)},
	/* Operators in one cell, against a cell each. */
	{"pipe_2", "stage", 1.0, 2, 2, LIBRARY(pipe_open, set_run),
	 LIBRARY(chain_open, set_run)},
	{"pipe_10", "stage", 0.7, 10, 10, LIBRARY(pipe_open, set_run),
	 LIBRARY(chain_open, set_run)},
	/* A thread-safe graph that one thread uses, against one without locks. */
	{"shared_set_1", "set", 3.0, 1, 1, LIBRARY(shared_set_open, set_run),
	 LIBRARY(set_open, set_run)},
	{"shared_get", "get", 1.5, 1, 1, LIBRARY(shared_set_open, get_run),
	 LIBRARY(set_open, get_run)},
	{"shared_map_1", "set", 1.5, 1, 1, LIBRARY(shared_chain_open, set_run),
	 LIBRARY(chain_open, set_run)},
	{"shared_chain_1000", "cell", 1.5, 1000, 1000,
	 LIBRARY(shared_chain_open, set_run), LIBRARY(chain_open, set_run)},
};
const struct speed_group speed_basic = SPEED_GROUP(cases);

/* ---- of any size --------------------------------------------------------- */

struct speed_case speed_chain_of(size_t size)
{
	return (struct speed_case)CHAIN("chain", size);
}

struct speed_case speed_fan_of(size_t size)
{
	return (struct speed_case)FAN("fan", size);
}
