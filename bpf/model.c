// SPDX-License-Identifier: MIT
/* What is known about a process; see model.h. */
#include "bpf/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024
/* What fits into cell.touched. */
#define TOUCHED_MAX ((1u << 29) - 1)

static size_t slot_of(const struct model *model, uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15u >> 20) & model->mask;
}

static int grow_cells(struct model *model)
{
	size_t room = model->room ? model->room * 2 : FIRST_ROOM;
	struct cell *cells = realloc(model->cells, room * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	model->cells = cells;
	model->room = room;
	return 0;
}

static void put_in_slots(struct model *model)
{
	size_t i, at;

	memset(model->slots, 0, (model->mask + 1) * sizeof(*model->slots));
	for (i = 1; i < model->count; i++) {
		at = slot_of(model, model->cells[i].id);
		while (model->slots[at])
			at = (at + 1) & model->mask;
		model->slots[at] = (uint32_t)i;
	}
}

static int grow_slots(struct model *model)
{
	size_t n = model->slots ? (model->mask + 1) * 2 : FIRST_ROOM * 2;
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(model->slots);
	model->slots = slots;
	model->mask = n - 1;
	put_in_slots(model);
	return 0;
}

static struct cell *append(struct model *model, uint64_t id)
{
	struct cell *cell;

	if (model->count == model->room && grow_cells(model))
		return NULL;
	cell = &model->cells[model->count++];
	memset(cell, 0, sizeof(*cell));
	cell->id = id;
	cell->seen = model->interval;
	return cell;
}

/* Room for one more cell, and for cells[0]. */
static int grow_touched(struct model *model)
{
	size_t room = model->touched_room ? model->touched_room * 2 : 16;
	struct touched *touched;

	if (model->ntouched + 1 < model->touched_room)
		return 0;
	touched = realloc(model->touched, room * sizeof(*touched));
	if (!touched)
		return -ENOMEM;
	model->touched = touched;
	model->touched_room = room;
	return 0;
}

int model_open(struct model *model, size_t limit, bool keep_all)
{
	memset(model, 0, sizeof(*model));
	model->limit = limit < TOUCHED_MAX ? limit : TOUCHED_MAX - 1;
	model->keep_all = keep_all;
	if (grow_slots(model) || grow_touched(model) || !append(model, 0)) {
		model_close(model);
		return -ENOMEM;
	}
	model->cells[0].known = 1;
	return 0;
}

void model_close(struct model *model)
{
	size_t i;

	for (i = 0; i < model->count; i++) {
		hist_done(&model->cells[i].hist);
		hist_done(&model->cells[i].all);
	}
	hist_done(&model->released.all);
	hist_done(&model->hist);
	hist_done(&model->all);
	text_done(&model->texts);
	free(model->cells);
	free(model->slots);
	free(model->touched);
	memset(model, 0, sizeof(*model));
}

/* Where the id is in the hash table, or the free slot where it would be. */
static size_t probe(const struct model *model, uint64_t id)
{
	size_t at = slot_of(model, id);

	while (model->slots[at] && model->cells[model->slots[at]].id != id)
		at = (at + 1) & model->mask;
	return at;
}

struct cell *model_find(struct model *model, uint64_t id)
{
	uint32_t index = model->slots[probe(model, id)];

	return index ? &model->cells[index] : NULL;
}

struct cell *model_cell(struct model *model, uint64_t id)
{
	size_t at = probe(model, id);
	struct cell *cell;

	if (model->slots[at])
		return &model->cells[model->slots[at]];
	if (!id || model->count > model->limit)
		return &model->cells[0];
	if (model->count * 2 > model->mask) {
		/* Without memory for more, what comes is not told apart. */
		if (grow_slots(model)) {
			model->limit = model->count - 1;
			return &model->cells[0];
		}
		at = probe(model, id);
	}
	cell = append(model, id);
	if (!cell) {
		model->limit = model->count - 1;
		return &model->cells[0];
	}
	model->slots[at] = (uint32_t)(cell - model->cells);
	model->unknown++;
	return cell;
}

struct cell *model_touch(struct model *model, struct cell *cell)
{
	struct touched *touched;

	if (cell->touched)
		return cell;
	if (cell != model->cells && grow_touched(model))
		return model_touch(model, model->cells);
	touched = &model->touched[model->ntouched++];
	touched->before = cell->now;
	touched->cell = (uint32_t)(cell - model->cells);
	cell->touched = (uint32_t)model->ntouched & TOUCHED_MAX;
	cell->seen = model->interval;
	return cell;
}

struct counts model_news(const struct model *model, const struct cell *cell)
{
	static const struct counts none;

	return cell->touched
		       ? counts_minus(&cell->now,
				      &model->touched[cell->touched - 1].before)
		       : none;
}

void model_fanout(struct model *model, struct cell *cell, uint64_t ns)
{
	unsigned int bucket = hist_bucket(ns);

	cell->now.fanout_ns += ns;
	model->total.fanout_ns += ns;
	if (ns > cell->max_ns)
		cell->max_ns = ns;
	if (ns > model->max_ns)
		model->max_ns = ns;
	/* Without memory quantiles suffer, counts and sums do not. */
	(void)hist_add(&cell->hist, bucket, 1);
	(void)hist_add(&model->hist, bucket, 1);
}

/* A census may still find it. */
static bool is_unknown(const struct cell *cell)
{
	return !cell->known && !cell->gone;
}

void model_describe(struct model *model, struct cell *cell,
		    const struct traits *traits)
{
	if (is_unknown(cell))
		model->unknown--;
	cell->known = 1;
	cell->gone = 0;
	cell->traits = *traits;
}

void model_looked(struct model *model, bool complete)
{
	size_t i;

	for (i = 1; i < model->count; i++) {
		struct cell *cell = &model->cells[i];

		if (complete && !cell->met && !cell->gone) {
			model->unknown -= !cell->known;
			cell->gone = 1;
		}
		cell->met = 0;
	}
}

struct counts counts_minus(const struct counts *a, const struct counts *b)
{
	return (struct counts){
		.notifies = a->notifies - b->notifies,
		.writes = a->writes - b->writes,
		.unchanged = a->unchanged - b->unchanged,
		.fires = a->fires - b->fires,
		.refires = a->refires - b->refires,
		.computes = a->computes - b->computes,
		.fanout_ns = a->fanout_ns - b->fanout_ns,
		.compute_ns = a->compute_ns - b->compute_ns,
	};
}

bool counts_any(const struct counts *counts)
{
	return counts->notifies || counts->writes || counts->fires ||
	       counts->computes;
}

void counts_add(struct counts *to, const struct counts *what)
{
	to->notifies += what->notifies;
	to->writes += what->writes;
	to->unchanged += what->unchanged;
	to->fires += what->fires;
	to->refires += what->refires;
	to->computes += what->computes;
	to->fanout_ns += what->fanout_ns;
	to->compute_ns += what->compute_ns;
}

/* The rest is not touched by it: in no interval did anything happen. */
static void bury(struct model *model, struct cell *cell)
{
	bool nameless = cell->gone && !cell->known;
	struct cell *rest = nameless ? &model->released : &model->cells[0];

	model->nreleased += nameless;
	counts_add(&rest->now, &cell->now);
	(void)hist_merge(&rest->all, &cell->all);
	if (cell->all_max_ns > rest->all_max_ns)
		rest->all_max_ns = cell->all_max_ns;
	if (is_unknown(cell))
		model->unknown--;
	hist_done(&cell->hist);
	hist_done(&cell->all);
}

void model_prune(struct model *model, uint32_t since)
{
	size_t i, left = 1;

	for (i = 1; i < model->count; i++) {
		struct cell *cell = &model->cells[i];

		if (cell->seen < since)
			bury(model, cell);
		else
			model->cells[left++] = *cell;
	}
	model->count = left;
	put_in_slots(model);
}

static void keep(struct hist *all, uint64_t *all_max, struct hist *hist,
		 uint64_t *max, bool keep_all)
{
	if (keep_all)
		(void)hist_merge(all, hist);
	if (*max > *all_max)
		*all_max = *max;
	*max = 0;
	hist_clear(hist);
}

void model_next(struct model *model)
{
	size_t i;

	for (i = 0; i < model->ntouched; i++) {
		struct cell *cell = &model->cells[model->touched[i].cell];

		cell->touched = 0;
		keep(&cell->all, &cell->all_max_ns, &cell->hist, &cell->max_ns,
		     model->keep_all);
	}
	model->ntouched = 0;
	model->interval++;
	model->total_before = model->total;
	model->passes_before = model->passes;
	model->lost_before = model->lost;
	keep(&model->all, &model->all_max_ns, &model->hist, &model->max_ns,
	     model->keep_all);
}
