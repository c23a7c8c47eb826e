/* SPDX-License-Identifier: MIT */
/*
 * A set that touches 10 cells, in graphs of 1,000 to 1,000,000 cells.
 *
 *   near   always the same ten: what the library does in a large graph beside
 *          what it does in one of 1,000 cells.  All of it is in the cache.
 *   far    another ten each time, at random: beside a loop by hand that does
 *          the same in as many nodes of 128 bytes.  What that becomes slower
 *          by is the memory's; what the library becomes slower by beyond it,
 *          its own.
 */
#include "library.h"

#include <stdlib.h>

#define GROUP 10
#define SMALL 1000

struct places {
	struct library *library;
	struct floor_spread *nodes;
	size_t groups;
	uint32_t random;
	int64_t value;
};

/* ---- the library ----------------------------------------------------------- */

static struct places *cells_new(size_t cells)
{
	struct places *places = zeroed(1, sizeof(*places));
	struct hyphae_cell *cell;
	size_t i, j;

	places->groups = cells / GROUP;
	places->random = 1;
	places->library = library_new(HYPHAE_SINGLE_THREAD);
	places->library->sources =
		zeroed(places->groups, sizeof(struct hyphae_cell *));
	for (i = 0; i < places->groups; i++) {
		cell = must(hyphae_int64_new(places->library->graph, 0));
		places->library->sources[i] = cell;
		for (j = 1; j < GROUP; j++)
			cell = derive(cell);
		follow(cell);
	}
	return places;
}

static void *cells_open(const struct speed_case *speed_case)
{
	return cells_new(speed_case->size);
}

static void *few_cells_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return cells_new(SMALL);
}

static void cells_close(void *state)
{
	struct places *places = state;

	library_close(places->library);
	free(places);
}

static void near_run(void *state, uint64_t times)
{
	struct places *places = state;
	struct hyphae_cell *source =
		places->library->sources[places->groups / 2];

	while (times--)
		hyphae_int64_set(source, ++places->value);
}

static void far_run(void *state, uint64_t times)
{
	struct places *places = state;

	while (times--) {
		size_t at = next_random(&places->random) % places->groups;

		hyphae_int64_set(places->library->sources[at], ++places->value);
	}
}

/* ---- by hand ---------------------------------------------------------------- */

static void *nodes_open(const struct speed_case *speed_case)
{
	struct places *places = zeroed(1, sizeof(*places));
	size_t i;

	places->groups = speed_case->size / GROUP;
	places->random = 1;
	places->nodes = zeroed(places->groups * GROUP, sizeof(*places->nodes));
	for (i = 0; i < places->groups; i++)
		floor_spread_init(&places->nodes[i * GROUP], GROUP);
	return places;
}

static void nodes_close(void *state)
{
	struct places *places = state;

	free(places->nodes);
	free(places);
}

static void nodes_run(void *state, uint64_t times)
{
	struct places *places = state;

	while (times--) {
		size_t at = next_random(&places->random) % places->groups;

		floor_spread_set(&places->nodes[at * GROUP], ++places->value);
	}
}

#define NEAR(text, n)                                                          \
	{                                                                      \
		.name = text, .unit = "set", .target = 1.5, .size = n,         \
		.per_unit_growth = true, .units = 1,                           \
		.library = {cells_open, near_run, cells_close},                \
		.floor = {few_cells_open, near_run, cells_close},              \
	}
#define FAR(text, n)                                                           \
	{                                                                      \
		.name = text, .unit = "set", .size = n, .units = 1,            \
		.library = {cells_open, far_run, cells_close},                 \
		.floor = {nodes_open, nodes_run, nodes_close},                 \
		.per_unit_growth = true, .growth_target = 1.5,                 \
	}

static const struct speed_case cases[] = {
	NEAR("near_10000", 10000),     NEAR("near_100000", 100000),
	NEAR("near_1000000", 1000000), FAR("far_1000", 1000),
	FAR("far_10000", 10000),       FAR("far_100000", 100000),
	FAR("far_1000000", 1000000),
};
const struct speed_group speed_scale = SPEED_GROUP(cases);

struct speed_case speed_near_of(size_t size)
{
	return (struct speed_case)NEAR("near", size);
}

struct speed_case speed_far_of(size_t size)
{
	return (struct speed_case)FAR("far", size);
}
