/* SPDX-License-Identifier: MIT */
/* What the shapes share; see shape.h. */
#include "shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts counts;
int64_t last_seen;
int64_t sum_seen;

void reset_counts(void)
{
	counts = (struct counts){0};
	sum_seen = 0;
}

void expect(const struct shape *shape, const char *what, int64_t is,
	    int64_t expected)
{
	if (is == expected)
		return;
	fprintf(stderr,
		"reactivity: %s: %s: %" PRId64 ", and not %" PRId64 ".\n",
		shape->name, what, is, expected);
	exit(EXIT_FAILURE);
}

void take_run(const struct shape *shape, struct outcome *outcome, uint64_t ns)
{
	double ms = (double)ns / 1e6;

	if (outcome->ms > 0) {
		expect(shape, "evaluations of another run",
		       (int64_t)counts.evaluations,
		       (int64_t)outcome->evaluations);
		expect(shape, "effects of another run", (int64_t)counts.effects,
		       (int64_t)outcome->effects);
	}
	outcome->writes = counts.writes;
	outcome->evaluations = counts.evaluations;
	outcome->effects = counts.effects;
	if (outcome->ms <= 0 || ms < outcome->ms)
		outcome->ms = ms;
}

void give_up(const char *what)
{
	fprintf(stderr, "reactivity: cannot %s: %s.\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		give_up("get memory");
	return memory;
}

struct hyphae_graph *graph_new(void)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_LAZY);

	if (!graph)
		give_up("make a graph");
	return graph;
}

struct hyphae_cell *must(struct hyphae_cell *cell)
{
	if (!cell)
		give_up("make a cell");
	return cell;
}

void saw(int64_t value)
{
	counts.effects++;
	last_seen = value;
	sum_seen += value;
}

static int note(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	if (signal->kind == HYPHAE_VALUE)
		saw(hyphae_int64_of(signal));
	return 0;
}

void add_effect(struct hyphae_cell *cell)
{
	if (!hyphae_subscribe(cell, note, NULL))
		give_up("subscribe");
}

int64_t value_of(const struct hyphae_cell *cell)
{
	int64_t value = 0;
	int r = hyphae_int64_get(cell, &value);

	if (r) {
		errno = -r;
		give_up("read a cell");
	}
	return value;
}

void write_one(struct hyphae_graph *graph, struct hyphae_cell *cell,
	       int64_t value)
{
	int r;

	counts.writes++;
	hyphae_batch_begin(graph);
	hyphae_int64_set(cell, value);
	r = hyphae_batch_end(graph);
	if (r) {
		errno = -r;
		give_up("write");
	}
}
