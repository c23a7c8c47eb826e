/* SPDX-License-Identifier: MIT */
/* The graphs of the storm; see graph.h. */
#include "graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More sources than this in one join would leave none for the rest. */
#define JOIN_SOURCES_MAX 8

/* ---- values ---------------------------------------------------------- */

struct point {
	int32_t x;
	int32_t y;
};

struct datagram {
	int64_t sequence;
	int64_t bytes;
	double level;
};

/*
 * Types of their own, so that a profiler shows hyphae_fanout_point and
 * hyphae_fanout_datagram in the stack.
 */
HYPHAE_TYPE(point, struct point);
HYPHAE_TYPE(datagram, struct datagram);

static struct point point_from(int64_t value)
{
	return (struct point){.x = (int32_t)value, .y = -(int32_t)value};
}

static struct datagram datagram_from(int64_t value)
{
	return (struct datagram){
		.sequence = value,
		.bytes = 64 + value * 8,
		.level = (double)value / 2,
	};
}

static const struct hyphae_type *type_of(enum storm_value type)
{
	switch (type) {
	case STORM_POINT:
		return &point_type;
	case STORM_DATAGRAM:
		return &datagram_type;
	case STORM_INT64:
		break;
	}
	return &hyphae_int64;
}

int storm_cell_set(struct storm_cell *cell, int64_t value)
{
	switch (cell->type) {
	case STORM_POINT:
		return point_set(cell->cell, point_from(value));
	case STORM_DATAGRAM:
		return datagram_set(cell->cell, datagram_from(value));
	case STORM_INT64:
		break;
	}
	return hyphae_int64_set(cell->cell, value);
}

/* ---- callbacks that count -------------------------------------------- */

void storm_cell_wrote(struct storm_cell *cell, int64_t value)
{
	cell->counted.writes++;
	if (value == cell->value) {
		cell->counted.unchanged++;
	} else {
		cell->counted.fires++;
		cell->value = value;
	}
}

/*
 * Every third link of a chain clears the lowest bit, so that half of the
 * changes end there as unchanged writes.
 */
static int compute_link(void *ret, const void *input, void *ctx)
{
	struct storm_cell *cell = ctx;
	int64_t value = *(const int64_t *)input;

	value = cell->step % 3 == 2 ? value & ~(int64_t)1 : value + 1;
	storm_cell_wrote(cell, value);
	*(int64_t *)ret = value;
	return 0;
}

static int compute_relay(void *ret, const void *input, void *ctx)
{
	struct storm_cell *cell = ctx;
	const struct datagram *in = input;
	int64_t value = in->sequence + cell->step;

	storm_cell_wrote(cell, value);
	*(struct datagram *)ret = datagram_from(value);
	return 0;
}

static int compute_sequence(void *ret, const void *input, void *ctx)
{
	struct storm_cell *cell = ctx;
	const struct datagram *in = input;
	int64_t value = in->sequence / (1 + cell->step % 4);

	storm_cell_wrote(cell, value);
	*(int64_t *)ret = value;
	return 0;
}

static int compute_side(void *ret, const void *input, void *ctx)
{
	struct storm_cell *cell = ctx;
	const struct point *in = input;
	/* Every fourth side is always 0: computed, and unchanged. */
	int64_t value = in->x + (int64_t)(cell->step % 4) * in->y;

	storm_cell_wrote(cell, value);
	*(int64_t *)ret = value;
	return 0;
}

static int compute_sum(void *ret, const void *const *inputs, size_t count,
		       void *ctx)
{
	struct storm_cell *cell = ctx;
	int64_t value = 0;
	size_t i;

	for (i = 0; i < count; i++)
		value += *(const int64_t *)inputs[i];
	storm_cell_wrote(cell, value);
	*(int64_t *)ret = value;
	return 0;
}

/* A value that is kept back is no write. */
static int pass_two_of_three(const void *input, void *ctx)
{
	struct storm_cell *cell = ctx;
	int64_t value = *(const int64_t *)input;

	if (value % 3 == 0)
		return 0;
	storm_cell_wrote(cell, value);
	return 1;
}

static int on_fire(const struct hyphae_signal *signal, void *ctx)
{
	struct storm_cell *cell = ctx;
	int err;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	cell->called++;
	if (!cell->target)
		return 0;
	err = storm_cell_set(cell->target, hyphae_int64_of(signal) / 2);
	return err < 0 ? err : 0;
}

/* ---- building -------------------------------------------------------- */

/* The next free entry, named after its shape and its place in it. */
static struct storm_cell *take(struct storm_graph *storm, const char *shape,
			       const struct storm_plan *plan, size_t place)
{
	struct storm_cell *cell = &storm->cells[storm->count++];

	memset(cell, 0, sizeof(*cell));
	snprintf(cell->name, sizeof(cell->name), "%s%zu.%zu", shape,
		 plan->next_shape, place);
	cell->step = (unsigned int)place;
	return cell;
}

static int follow(struct storm_cell *cell)
{
	cell->subscribed = true;
	/* The initial call is no fire, and is not wanted. */
	if (!hyphae_subscribe_with(cell->cell, on_fire, cell, NULL,
				   HYPHAE_SKIP_INITIAL))
		return -errno;
	return 0;
}

/* Take over what a constructor returned; NULL left its reason in errno. */
static int adopt(struct storm_cell *cell, struct hyphae_cell *made,
		 enum storm_value type)
{
	int err;

	if (!made)
		return -errno;
	cell->cell = made;
	cell->type = type;
	cell->id = hyphae_cell_id(made);
	err = hyphae_cell_set_name(made, cell->name);
	/* What the compute functions counted when the cells were made. */
	memset(&cell->counted, 0, sizeof(cell->counted));
	return err;
}

static int add_source(struct storm_graph *storm, struct storm_cell *cell,
		      enum storm_value type, bool driven)
{
	struct point point = point_from(0);
	struct datagram datagram = datagram_from(0);
	int64_t number = 0;
	const void *initial = &number;
	int err;

	if (type == STORM_POINT)
		initial = &point;
	else if (type == STORM_DATAGRAM)
		initial = &datagram;
	err = adopt(cell, hyphae_cell_new(storm->graph, type_of(type), initial),
		    type);
	if (err)
		return err;
	cell->source = true;
	cell->writes_counted = driven && !storm->contended;
	if (driven)
		storm->sources[storm->sources_count++] = cell;
	return follow(cell);
}

static int add_map(struct storm_cell *cell, struct storm_cell *input,
		   enum storm_value type, hyphae_map_fn fn)
{
	return adopt(cell, hyphae_map(input->cell, type_of(type), fn, cell),
		     type);
}

/* `count` inputs that lie one behind the other. */
static int add_sum(struct storm_cell *cell, const struct storm_cell *first,
		   size_t count)
{
	struct hyphae_cell **inputs;
	size_t i;
	int err;

	inputs = calloc(count, sizeof(*inputs));
	if (!inputs)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		inputs[i] = first[i].cell;
	err = adopt(
		cell,
		hyphae_combine(inputs, count, &hyphae_int64, compute_sum, cell),
		STORM_INT64);
	free(inputs);
	return err ? err : follow(cell);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* source -> link -> link ...; followed in the middle and at the end. */
static int build_chain(struct storm_graph *storm, struct storm_plan *plan,
		       size_t room)
{
	size_t links = smaller(plan->depth, room - 1);
	struct storm_cell *cell = take(storm, "chain", plan, 0);
	size_t i;
	int err;

	err = add_source(storm, cell, STORM_INT64, true);
	for (i = 1; i <= links && !err; i++) {
		struct storm_cell *input = cell;

		cell = take(storm, "chain", plan, i);
		err = add_map(cell, input, STORM_INT64, compute_link);
		if (!err && (i == links || i == links / 2))
			err = follow(cell);
	}
	return err;
}

/* source -> many; some of them structs, some numbers, each fourth followed. */
static int build_fan(struct storm_graph *storm, struct storm_plan *plan,
		     size_t room)
{
	size_t fan = smaller(plan->fan, room - 1);
	struct storm_cell *source = take(storm, "fan", plan, 0);
	size_t i;
	int err;

	err = add_source(storm, source, STORM_DATAGRAM, true);
	for (i = 1; i <= fan && !err; i++) {
		struct storm_cell *cell = take(storm, "fan", plan, i);

		if (i % 2)
			err = add_map(cell, source, STORM_INT64,
				      compute_sequence);
		else
			err = add_map(cell, source, STORM_DATAGRAM,
				      compute_relay);
		if (!err && i % 4 == 0)
			err = follow(cell);
	}
	return err;
}

/* source -> many sides -> sum: in an eager graph the sum re-fires. */
static int build_diamond(struct storm_graph *storm, struct storm_plan *plan,
			 size_t room)
{
	size_t sides = smaller(plan->fan, room - 2);
	struct storm_cell *source = take(storm, "diamond", plan, 0);
	size_t i;
	int err;

	err = add_source(storm, source, STORM_POINT, true);
	for (i = 1; i <= sides && !err; i++)
		err = add_map(take(storm, "diamond", plan, i), source,
			      STORM_INT64, compute_side);
	if (err)
		return err;
	return add_sum(take(storm, "diamond", plan, sides + 1), source + 1,
		       sides);
}

/* several sources -> sum -> filter. */
static int build_join(struct storm_graph *storm, struct storm_plan *plan,
		      size_t room)
{
	size_t sources =
		smaller(smaller(plan->fan, JOIN_SOURCES_MAX), room - 2);
	struct storm_cell *first = &storm->cells[storm->count];
	struct storm_cell *sum, *filter;
	size_t i;
	int err = 0;

	for (i = 0; i < sources && !err; i++)
		err = add_source(storm, take(storm, "join", plan, i),
				 STORM_INT64, true);
	if (err)
		return err;
	sum = take(storm, "join", plan, sources);
	err = add_sum(sum, first, sources);
	if (err)
		return err;
	filter = take(storm, "join", plan, sources + 1);
	err = adopt(filter, hyphae_filter(sum->cell, pass_two_of_three, filter),
		    STORM_INT64);
	return err ? err : follow(filter);
}

/* A source whose subscriber writes to another one: a second wave. */
static int build_echo(struct storm_graph *storm, struct storm_plan *plan,
		      size_t room)
{
	struct storm_cell *voice = take(storm, "echo", plan, 0);
	struct storm_cell *echo = take(storm, "echo", plan, 1);
	int err;

	(void)room;
	err = add_source(storm, voice, STORM_INT64, true);
	if (err)
		return err;
	voice->target = echo;
	return add_source(storm, echo, STORM_INT64, false);
}

typedef int (*build_fn)(struct storm_graph *storm, struct storm_plan *plan,
			size_t room);

static const struct {
	build_fn build;
	size_t least; /* cells that it needs */
} shapes[] = {
	{build_diamond, 3}, {build_chain, 1}, {build_fan, 2},
	{build_join, 3},    {build_echo, 2},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int build_shapes(struct storm_graph *storm, struct storm_plan *plan)
{
	size_t shape = 0;
	int err = 0;

	while (storm->count < storm->room && !err) {
		size_t room = storm->room - storm->count;

		if (shapes[shape].least <= room)
			err = shapes[shape].build(storm, plan, room);
		plan->next_shape++;
		shape = (shape + 1) % SHAPES;
	}
	return err;
}

/*
 * Cells may have computed more than once while the graph was built; counting
 * starts now, from the values that they hold.
 */
static void start_counting(struct storm_graph *storm)
{
	size_t i;

	for (i = 0; i < storm->count; i++) {
		memset(&storm->cells[i].counted, 0,
		       sizeof(storm->cells[i].counted));
		storm->cells[i].called = 0;
	}
}

int storm_graph_build(struct storm_graph *storm, unsigned int flags,
		      bool contended, size_t count, struct storm_plan *plan)
{
	int err;

	memset(storm, 0, sizeof(*storm));
	storm->contended = contended;
	storm->room = count;
	storm->cells = calloc(count, sizeof(*storm->cells));
	storm->sources = calloc(count, sizeof(struct storm_cell *));
	storm->graph = hyphae_graph_new(flags);
	if (!storm->cells || !storm->sources || !storm->graph) {
		storm_graph_free(storm);
		return -ENOMEM;
	}
	err = build_shapes(storm, plan);
	if (err)
		storm_graph_free(storm);
	else
		start_counting(storm);
	return err;
}

void storm_graph_free(struct storm_graph *storm)
{
	hyphae_graph_free(storm->graph);
	free(storm->cells);
	free(storm->sources);
	memset(storm, 0, sizeof(*storm));
}
