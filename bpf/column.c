// SPDX-License-Identifier: MIT
/* The columns; see column.h. */
#include "bpf/column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NUMBER(name, value)                                                    \
	static uint64_t name(const struct row *row)                            \
	{                                                                      \
		return value;                                                  \
	}
#define TEXT(name, value)                                                      \
	static const char *name(const struct row *row)                         \
	{                                                                      \
		return value;                                                  \
	}

NUMBER(of_id, row->id)
NUMBER(of_height, row->height)
NUMBER(of_targets, row->targets)
NUMBER(of_notifies, row->counts.notifies)
NUMBER(of_writes, row->counts.writes)
NUMBER(of_unchanged, row->counts.unchanged)
NUMBER(of_fires, row->counts.fires)
NUMBER(of_refires, row->counts.refires)
NUMBER(of_ratio, (uint64_t)(row_refire_ratio(row) * 1e9))
NUMBER(of_sum, row->counts.fanout_ns)
NUMBER(of_p50, row->p50)
NUMBER(of_p90, row->p90)
NUMBER(of_p99, row->p99)
NUMBER(of_max, row->max)
NUMBER(of_self, row_self(row))
NUMBER(of_computes, row->counts.computes)
TEXT(of_name, row->name)
TEXT(of_type, row->type)
TEXT(of_op, row->op)
TEXT(of_site, row->site)

enum {
	ID,
	NAME,
	TYPE,
	OP,
	SITE,
	HEIGHT,
	TARGETS,
	NOTIFIES,
	WRITES,
	UNCHANGED,
	FIRES,
	REFIRES,
	RATIO,
	SUM,
	P50,
	P90,
	P99,
	MAX,
	SELF,
	COMPUTES,
	NONE
};

const struct column columns[] = {
	[ID] = {NULL, 8, COLUMN_NUMBER, "id", of_id, NULL,
		"the number by which probes know the cell"},
	[NAME] = {"CELL", 24, COLUMN_TEXT, "name", NULL, of_name,
		  "its name, or # and its number"},
	[TYPE] = {"TYPE", 12, COLUMN_TEXT, "type", NULL, of_type,
		  "the type of its value"},
	[OP] = {"OP", 8, COLUMN_TEXT, "op", NULL, of_op,
		"source, or the operator that computes it"},
	[SITE] = {"SITE", 24, COLUMN_TEXT, "site", NULL, of_site,
		  "where in the program it was made"},
	[HEIGHT] = {"HEIGHT", 6, COLUMN_TRAIT, "height", of_height, NULL,
		    "1 + the highest of its inputs; 0 for a source"},
	[TARGETS] = {"TARGETS", 7, COLUMN_TRAIT, "targets", of_targets, NULL,
		     "cells and subscribers that follow it directly"},
	[NOTIFIES] = {"NOTIFY", 9, COLUMN_NUMBER, "notifies", of_notifies, NULL,
		      "signals that a source was told"},
	[WRITES] = {"WRITES", 9, COLUMN_NUMBER, "writes", of_writes, NULL,
		    "values compared and, if changed, stored"},
	[UNCHANGED] = {"UNCHGD", 9, COLUMN_NUMBER, "unchanged", of_unchanged,
		       NULL, "writes of the value it held: cut there"},
	[FIRES] = {"FIRES", 9, COLUMN_NUMBER, "fires", of_fires, NULL,
		   "times that it changed and told its targets"},
	[REFIRES] = {"REFIRES", 9, COLUMN_NUMBER, "refires", of_refires, NULL,
		     "fires beyond the first in one pass: redundant"},
	[RATIO] = {"REFIRE%", 7, COLUMN_RATIO, "refire_ratio", of_ratio, NULL,
		   "re-fires of the fires; a batch would save them"},
	[SUM] = {"FANOUT", 8, COLUMN_NS, "latency_ns.sum", of_sum, NULL,
		 "time in its fan-outs"},
	[P50] = {"P50", 7, COLUMN_NS, "latency_ns.p50", of_p50, NULL,
		 "half of its fan-outs took at most this (+-3.2 %)"},
	[P90] = {"P90", 7, COLUMN_NS, "latency_ns.p90", of_p90, NULL,
		 "nine of ten did"},
	[P99] = {"P99", 7, COLUMN_NS, "latency_ns.p99", of_p99, NULL,
		 "99 of 100 did"},
	[MAX] = {"MAX", 7, COLUMN_NS, "latency_ns.max", of_max, NULL,
		 "the longest, exactly"},
	[SELF] = {"SELF", 8, COLUMN_NS, "self_ns", of_self, NULL,
		  "time in computing it and in its fan-outs"},
	[COMPUTES] = {"COMPUTE", 9, COLUMN_NUMBER, "computes", of_computes,
		      NULL, "runs of its compute function"},
	[NONE] = {NULL, 0, COLUMN_TEXT, NULL, NULL, NULL, NULL},
};

const struct column *const table_columns[] = {
	&columns[NAME],
	&columns[OP],
	&columns[FIRES],
	&columns[REFIRES],
	&columns[RATIO],
	&columns[WRITES],
	&columns[UNCHANGED],
	&columns[TARGETS],
	&columns[SELF],
	&columns[P50],
	&columns[P90],
	&columns[P99],
	&columns[MAX],
	&columns[TYPE],
	&columns[SITE],
	&columns[HEIGHT],
	&columns[NOTIFIES],
	&columns[COMPUTES],
	NULL,
};

const struct column *column_find(const char *name)
{
	const struct column *column;

	for (column = columns; column->json; column++) {
		const char *member = strchr(column->json, '.');

		if (!strcasecmp(name, column->json) ||
		    (member && !strcasecmp(name, member + 1)) ||
		    (column->title && !strcasecmp(name, column->title)))
			return column;
	}
	return NULL;
}

struct report_order column_order(const struct column *column)
{
	return (struct report_order){
		.number = column->number,
		.text = column->text,
		.quantiles = column->number == of_p50 ||
			     column->number == of_p90 ||
			     column->number == of_p99,
		.ascending = !column->number,
	};
}

void row_label(const struct row *row, char *text, size_t size)
{
	if (row->name[0])
		snprintf(text, size, "%s", row->name);
	else
		snprintf(text, size, "#%" PRIu64, row->id);
}

void print_ns(char *text, size_t size, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	int unit = 0;

	while (unit < 3 && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(text, size, "%.*f%s",
		 !unit || value >= 99.95 ? 0
		 : value >= 9.995	 ? 1
					 : 2,
		 value, units[unit]);
}

void print_count(char *text, size_t size, double count)
{
	static const char units[] = " kMGT";
	int unit = 0;

	while (unit < 4 && count >= 999.5) {
		count /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(text, size, "%.0f", count);
	else
		snprintf(text, size, "%.*f%c",
			 count >= 99.95	  ? 0
			 : count >= 9.995 ? 1
					  : 2,
			 count, units[unit]);
}

void column_print(const struct column *column, const struct row *row,
		  char *text, size_t size)
{
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_TRAIT:
		snprintf(text, size, "%" PRIu64, column->number(row));
		break;
	case COLUMN_NS:
		print_ns(text, size, column->number(row));
		break;
	case COLUMN_RATIO:
		snprintf(text, size, "%.1f", 100 * row_refire_ratio(row));
		break;
	case COLUMN_TEXT:
		if (column == &columns[NAME])
			row_label(row, text, size);
		else
			snprintf(text, size, "%s", column->text(row));
		break;
	}
}
