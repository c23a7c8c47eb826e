/* SPDX-License-Identifier: MIT */
/*
 * Many cells with several inputs each, of which a batch changes some:
 *
 *   grid        1,000 layers of 4 cells; each is the sum of three cells of
 *               the layer below; all four sources are set
 *   random_dag  1,000 sources, 9,000 cells, each the sum of three cells that
 *               were made before it; 10 other sources are set each time
 *
 * The floor knows beforehand which nodes each of the batches concerns, and
 * goes through these, in topological order.
 */
#include "library.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS 3
/* Batches of different sources, which take turns. */
#define TURNS_MAX 16
#define FOLLOWED 4

#define GRID_WIDTH 4
#define GRID_LAYERS 1000
#define DAG_SOURCES 1000
#define DAG_NODES 10000
#define DAG_SET 10

/* What is built, on either side. */
struct plan {
	uint32_t sources;
	uint32_t nodes;		    /* these included; inputs come first */
	uint32_t (*inputs)[INPUTS]; /* of each node; those of sources unused */
	uint32_t turns;
	uint32_t set; /* sources in a batch */
	uint32_t (*batch)[DAG_SET];
};

static struct plan *plan_new(uint32_t sources, uint32_t nodes, uint32_t turns,
			     uint32_t set)
{
	struct plan *plan = zeroed(1, sizeof(*plan));

	plan->sources = sources;
	plan->nodes = nodes;
	plan->turns = turns;
	plan->set = set;
	plan->inputs = zeroed(nodes, sizeof(*plan->inputs));
	plan->batch = zeroed(turns, sizeof(*plan->batch));
	return plan;
}

static void plan_free(struct plan *plan)
{
	free(plan->inputs);
	free(plan->batch);
	free(plan);
}

static struct plan *plan_grid(void)
{
	struct plan *plan = plan_new(GRID_WIDTH, GRID_WIDTH * (GRID_LAYERS + 1),
				     1, GRID_WIDTH);
	uint32_t i, j;

	for (i = GRID_WIDTH; i < plan->nodes; i++) {
		uint32_t below = i / GRID_WIDTH * GRID_WIDTH - GRID_WIDTH;

		for (j = 0; j < INPUTS; j++)
			plan->inputs[i][j] = below + (i + j) % GRID_WIDTH;
	}
	for (i = 0; i < GRID_WIDTH; i++)
		plan->batch[0][i] = i;
	return plan;
}

static struct plan *plan_random(void)
{
	struct plan *plan =
		plan_new(DAG_SOURCES, DAG_NODES, TURNS_MAX, DAG_SET);
	uint32_t random = 1, i, j;

	for (i = DAG_SOURCES; i < plan->nodes; i++)
		for (j = 0; j < INPUTS; j++)
			plan->inputs[i][j] = next_random(&random) % i;
	for (i = 0; i < plan->turns; i++)
		for (j = 0; j < DAG_SET; j++)
			plan->batch[i][j] = i * DAG_SET + j;
	return plan;
}

/* ---- the library --------------------------------------------------------- */

struct layers {
	struct library *library;
	struct plan *plan;
	uint64_t turn;
};

static struct layers *layers_new(struct plan *plan)
{
	struct layers *layers = zeroed(1, sizeof(*layers));
	struct hyphae_cell **cells =
		zeroed(plan->nodes, sizeof(struct hyphae_cell *));
	struct hyphae_cell *inputs[INPUTS];
	uint32_t i, j;

	layers->plan = plan;
	layers->library = library_with(plan->sources);
	memcpy(cells, layers->library->sources,
	       plan->sources * sizeof(struct hyphae_cell *));
	for (i = plan->sources; i < plan->nodes; i++) {
		for (j = 0; j < INPUTS; j++)
			inputs[j] = cells[plan->inputs[i][j]];
		cells[i] = sum_of(inputs, INPUTS);
	}
	for (i = plan->nodes - FOLLOWED; i < plan->nodes; i++)
		follow(cells[i]);
	free(cells);
	return layers;
}

static void *grid_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return layers_new(plan_grid());
}

static void *random_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return layers_new(plan_random());
}

static void layers_close(void *state)
{
	struct layers *layers = state;

	library_close(layers->library);
	plan_free(layers->plan);
	free(layers);
}

static void layers_run(void *state, uint64_t times)
{
	struct layers *layers = state;
	const struct plan *plan = layers->plan;
	struct library *library = layers->library;

	while (times--) {
		uint64_t turn = layers->turn++;
		const uint32_t *batch = plan->batch[turn % plan->turns];
		int64_t value = (int64_t)(turn / plan->turns) + 1;
		uint32_t i;

		hyphae_batch_begin(library->graph);
		for (i = 0; i < plan->set; i++)
			hyphae_int64_set(library->sources[batch[i]], value);
		hyphae_batch_end(library->graph);
	}
}

/* ---- by hand --------------------------------------------------------------- */

struct by_hand {
	struct plan *plan;
	uint64_t turn;
	struct floor_sum *nodes;
	struct floor_list affected[TURNS_MAX];
};

/* The nodes that this batch concerns, and what is followed among them. */
static struct floor_list find_affected(const struct plan *plan,
				       const uint32_t *batch)
{
	struct floor_list list = {0};
	bool *concerned = zeroed(plan->nodes, sizeof(*concerned));
	uint32_t i, j;

	list.nodes = zeroed(plan->nodes, sizeof(*list.nodes));
	for (i = 0; i < plan->set; i++)
		concerned[batch[i]] = true;
	for (i = plan->sources; i < plan->nodes; i++) {
		for (j = 0; j < INPUTS; j++)
			concerned[i] |= concerned[plan->inputs[i][j]];
		if (!concerned[i])
			continue;
		list.nodes[list.count++] = i;
		if (i >= plan->nodes - FOLLOWED)
			list.followed[list.nfollowed++] = i;
	}
	free(concerned);
	return list;
}

static void *by_hand_new(struct plan *plan)
{
	struct by_hand *by_hand = zeroed(1, sizeof(*by_hand));
	uint32_t i;

	by_hand->plan = plan;
	by_hand->nodes = zeroed(plan->nodes, sizeof(*by_hand->nodes));
	for (i = plan->sources; i < plan->nodes; i++)
		floor_sum_init(&by_hand->nodes[i], plan->inputs[i]);
	for (i = 0; i < plan->turns; i++)
		by_hand->affected[i] = find_affected(plan, plan->batch[i]);
	return by_hand;
}

static void *by_hand_grid_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return by_hand_new(plan_grid());
}

static void *by_hand_random_open(const struct speed_case *speed_case)
{
	(void)speed_case;
	return by_hand_new(plan_random());
}

static void by_hand_close(void *state)
{
	struct by_hand *by_hand = state;
	uint32_t i;

	for (i = 0; i < by_hand->plan->turns; i++)
		free(by_hand->affected[i].nodes);
	free(by_hand->nodes);
	plan_free(by_hand->plan);
	free(by_hand);
}

static void by_hand_run(void *state, uint64_t times)
{
	struct by_hand *by_hand = state;
	const struct plan *plan = by_hand->plan;

	while (times--) {
		uint64_t turn = by_hand->turn++;
		size_t which = (size_t)(turn % plan->turns);
		int64_t value = (int64_t)(turn / plan->turns) + 1;
		uint32_t i;

		for (i = 0; i < plan->set; i++)
			by_hand->nodes[plan->batch[which][i]].value = value;
		floor_list_update(by_hand->nodes, &by_hand->affected[which]);
	}
}

static const struct speed_case cases[] = {
	{"grid",
	 "cell",
	 2.5,
	 GRID_WIDTH *GRID_LAYERS,
	 GRID_WIDTH *GRID_LAYERS,
	 {grid_open, layers_run, layers_close},
	 {by_hand_grid_open, by_hand_run, by_hand_close}},
	{"random_dag",
	 "batch",
	 2.5,
	 DAG_NODES,
	 1,
	 {random_open, layers_run, layers_close},
	 {by_hand_random_open, by_hand_run, by_hand_close}},
};
const struct speed_group speed_layers = SPEED_GROUP(cases);
