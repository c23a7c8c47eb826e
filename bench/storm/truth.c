/* SPDX-License-Identifier: MIT */
/* The truth about a run of the storm; see truth.h. */
#include "truth.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Differences shown before the rest is only counted. */
#define SHOWN_MAX 5

/* ---- all cells by id ------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct storm_cell *const *left = a, *const *right = b;

	return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

int storm_index_build(struct storm_index *index,
		      const struct storm_graph *graphs, size_t count)
{
	size_t i, j, cells = 0;

	for (i = 0; i < count; i++)
		cells += graphs[i].count;
	index->count = 0;
	index->cells = calloc(cells, sizeof(struct storm_cell *));
	if (!index->cells)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		for (j = 0; j < graphs[i].count; j++)
			index->cells[index->count++] = &graphs[i].cells[j];
	qsort(index->cells, cells, sizeof(struct storm_cell *), by_id);
	return 0;
}

void storm_index_free(struct storm_index *index)
{
	free(index->cells);
	memset(index, 0, sizeof(*index));
}

/* The place of the cell `id`, or `index->count` if there is none. */
static size_t find(const struct storm_index *index, uint64_t id)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->cells[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < index->count && index->cells[low]->id == id)
		return low;
	return index->count;
}

/* ---- pass reports ---------------------------------------------------- */

int storm_sum_init(struct storm_sum *sum, const struct storm_index *index)
{
	memset(sum, 0, sizeof(*sum));
	sum->tallies = calloc(index->count, sizeof(*sum->tallies));
	return sum->tallies ? 0 : -ENOMEM;
}

void storm_sum_free(struct storm_sum *sum)
{
	free(sum->tallies);
	memset(sum, 0, sizeof(*sum));
}

static void tally_add(struct storm_tally *to, const struct storm_tally *from)
{
	to->fires += from->fires;
	to->refires += from->refires;
	to->writes += from->writes;
	to->unchanged += from->unchanged;
}

void storm_sum_report(struct storm_sum *sum, const struct storm_index *index,
		      const struct hyphae_report *report)
{
	const struct storm_tally total = {
		.fires = report->fires,
		.refires = report->refires,
		.writes = report->writes,
		.unchanged = report->unchanged,
	};
	size_t i;

	sum->passes++;
	sum->lost += report->lost;
	tally_add(&sum->total, &total);
	for (i = 0; i < report->count; i++) {
		const struct hyphae_report_cell *cell = &report->cells[i];
		const struct storm_tally tally = {
			.fires = cell->fires,
			.refires = cell->fires ? cell->fires - 1 : 0,
			.writes = cell->writes,
			.unchanged = cell->unchanged,
		};
		size_t place = find(index, cell->id);

		if (place == index->count)
			sum->strange++;
		else
			tally_add(&sum->tallies[place], &tally);
	}
}

void storm_sum_add(struct storm_sum *sum, const struct storm_index *index,
		   const struct storm_sum *other)
{
	size_t i;

	for (i = 0; i < index->count; i++)
		tally_add(&sum->tallies[i], &other->tallies[i]);
	tally_add(&sum->total, &other->total);
	sum->passes += other->passes;
	sum->lost += other->lost;
	sum->strange += other->strange;
}

/* ---- comparing ------------------------------------------------------- */

struct comparison {
	size_t differences;
};

/*
 * `reported` comes from the pass reports, `counted` from the callbacks or, for
 * figures that must be equal among themselves, from the reports as well.
 */
static void compare(struct comparison *comparison, const char *what,
		    const char *name, uint64_t reported, uint64_t counted)
{
	if (reported == counted)
		return;
	if (comparison->differences++ < SHOWN_MAX)
		fprintf(stderr,
			"storm: %s of %s: the pass reports say %" PRIu64
			", which should be %" PRIu64 ".\n",
			what, name, reported, counted);
}

static void compare_cell(struct comparison *comparison,
			 const struct storm_cell *cell,
			 const struct storm_tally *reported)
{
	const struct storm_tally *counted = &cell->counted;

	if (!cell->source || cell->writes_counted) {
		compare(comparison, "fires", cell->name, reported->fires,
			counted->fires);
		compare(comparison, "writes", cell->name, reported->writes,
			counted->writes);
		compare(comparison, "unchanged writes", cell->name,
			reported->unchanged, counted->unchanged);
	}
	/* In the storm only values fire, and each change does so once. */
	compare(comparison, "changes", cell->name,
		reported->writes - reported->unchanged, reported->fires);
	if (cell->subscribed)
		compare(comparison, "subscriber calls", cell->name,
			reported->fires, cell->called);
}

/* A report's totals and its cells say the same. */
static void compare_totals(struct comparison *comparison,
			   const struct storm_index *index,
			   const struct storm_sum *sum)
{
	struct storm_tally cells = {0};
	size_t i;

	for (i = 0; i < index->count; i++)
		tally_add(&cells, &sum->tallies[i]);
	compare(comparison, "fires", "all cells (total, added up)",
		sum->total.fires, cells.fires);
	compare(comparison, "re-fires", "all cells (total, added up)",
		sum->total.refires, cells.refires);
	compare(comparison, "writes", "all cells (total, added up)",
		sum->total.writes, cells.writes);
	compare(comparison, "unchanged writes", "all cells (total, added up)",
		sum->total.unchanged, cells.unchanged);
	compare(comparison, "lost events", "all passes", sum->lost, 0);
	compare(comparison, "unknown cells", "all passes", sum->strange, 0);
}

bool storm_truth_agrees(const struct storm_index *index,
			const struct storm_sum *sum)
{
	struct comparison comparison = {0};
	size_t i;

	for (i = 0; i < index->count; i++)
		compare_cell(&comparison, index->cells[i], &sum->tallies[i]);
	compare_totals(&comparison, index, sum);
	if (!comparison.differences)
		return true;
	fprintf(stderr,
		"storm: the pass reports and the storm's own callbacks differ "
		"in %zu figures, so no truth was written.\n",
		comparison.differences);
	return false;
}

/* ---- writing --------------------------------------------------------- */

/* A count, or null where nobody knows it. */
static json_t *count_json(uint64_t count, bool known)
{
	return known ? json_integer((json_int_t)count) : json_null();
}

/*
 * What the callbacks know of a cell.  All sources have a subscriber, so the
 * fires of every cell are known, but not how often a source was written that
 * other threads or subscribers write.
 */
static struct storm_tally counted_tally(const struct storm_cell *cell,
					bool *writes_known)
{
	struct storm_tally tally = cell->counted;

	*writes_known = !cell->source || cell->writes_counted;
	if (cell->source)
		tally.fires = cell->called;
	return tally;
}

static json_t *tally_json(const struct storm_tally *tally, bool refires_known,
			  bool writes_known)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "fires",
			 count_json(tally->fires, true), "refires",
			 count_json(tally->refires, refires_known), "writes",
			 count_json(tally->writes, writes_known), "unchanged",
			 count_json(tally->unchanged, writes_known));
}

static json_t *cell_json(const struct storm_cell *cell,
			 const struct storm_tally *tally, bool refires_known,
			 bool writes_known)
{
	json_t *object = json_pack("{s:I, s:s}", "id", (json_int_t)cell->id,
				   "name", cell->name);
	json_t *counts = tally_json(tally, refires_known, writes_known);

	json_object_update(object, counts);
	json_decref(counts);
	return object;
}

static json_t *truth_json(const struct storm_index *index,
			  const struct storm_sum *sum)
{
	struct storm_tally total = {0};
	bool all_writes_known = true;
	json_t *cells = json_array();
	json_t *truth;
	size_t i;

	for (i = 0; i < index->count; i++) {
		struct storm_tally tally;
		bool writes_known = true;

		if (sum)
			tally = sum->tallies[i];
		else
			tally = counted_tally(index->cells[i], &writes_known);
		tally_add(&total, &tally);
		all_writes_known = all_writes_known && writes_known;
		json_array_append_new(cells,
				      cell_json(index->cells[i], &tally,
						sum != NULL, writes_known));
	}
	truth = tally_json(&total, sum != NULL, all_writes_known);
	json_object_set_new(truth, "passes",
			    count_json(sum ? sum->passes : 0, sum != NULL));
	json_object_set_new(truth, "cells", cells);
	return truth;
}

int storm_truth_write(FILE *file, const struct storm_index *index,
		      const struct storm_sum *sum)
{
	json_t *truth = truth_json(index, sum);
	int err = 0;

	/* jansson says no more than that it failed; the stream knows why. */
	errno = 0;
	if (!truth || json_dumpf(truth, file, JSON_COMPACT) ||
	    fputc('\n', file) == EOF || fflush(file))
		err = errno ? -errno : -ENOMEM;
	json_decref(truth);
	return err;
}
