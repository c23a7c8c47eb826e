/* SPDX-License-Identifier: MIT */
/* What the tests of dynamic dependencies share: functions with what they need. */
#ifndef HYPHAE_TESTS_SEMANTIC_DYNAMIC_H
#define HYPHAE_TESTS_SEMANTIC_DYNAMIC_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

/* A tracked or a switching function with what it needs at hand. */
struct fn {
	struct world *world;
	int (*track)(struct fn *f, int64_t *ret);
	struct hyphae_cell *(*choose)(struct fn *f, int64_t value);
	struct hyphae_cell *c[128];
	size_t count;
	unsigned long runs;
	void *arg;
};

static inline int track(void *ret, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return f->track(f, ret);
}

static inline struct hyphae_cell *choose(const void *value, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return f->choose(f, *(const int64_t *)value);
}

static inline struct hyphae_cell *computed(struct world *w, struct fn *f)
{
	struct hyphae_cell *cell;

	f->world = w;
	cell = hyphae_computed(w->graph, &hyphae_int64, track, f);
	assert_non_null(cell);
	return keep(w, cell);
}

static inline struct hyphae_cell *
switched(struct world *w, struct hyphae_cell *outer, struct fn *f)
{
	struct hyphae_cell *cell;

	f->world = w;
	cell = hyphae_switch_map(outer, &hyphae_int64, choose, f);
	assert_non_null(cell);
	return keep(w, cell);
}

static inline int64_t get(const struct hyphae_cell *cell)
{
	int64_t v = -1000;

	return hyphae_int64_get(cell, &v) ? -1000 : v;
}

static inline struct hyphae_cell *choose_branch(struct fn *f, int64_t value)
{
	return f->c[value ? 1 : 2];
}

static inline int gate(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[0]) ? get(f->c[1]) : -1;
	return 0;
}

/* The value is an index into c[], the cell to follow. */
static inline struct hyphae_cell *choose_index(struct fn *f, int64_t value)
{
	return f->c[value];
}

#endif
