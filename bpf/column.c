// SPDX-License-Identifier: MIT
/* The columns; see column.h. */
#include "bpf/column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bpf/text.h"

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
	[ID] = {"ID", 8, 18, COLUMN_TRAIT, "id", of_id, NULL,
		"the number by which probes know the cell"},
	[NAME] = {"CELL", 21, 0, COLUMN_TEXT, "name", NULL, of_name,
		  "its name, or where it was made; #: its number"},
	[TYPE] = {"TYPE", 12, 15, COLUMN_TEXT, "type", NULL, of_type,
		  "the type of its value"},
	[OP] = {"OP", 10, 1, COLUMN_TEXT, "op", NULL, of_op,
		"source, or the operator that computes it"},
	[SITE] = {"SITE", 24, 16, COLUMN_TEXT, "site", NULL, of_site,
		  "where in the program it was made"},
	[HEIGHT] = {"HEIGHT", 7, 17, COLUMN_TRAIT, "height", of_height, NULL,
		    "1 + the highest of its inputs; 0 for a source"},
	[TARGETS] = {"TARGETS", 8, 10, COLUMN_TRAIT, "targets", of_targets,
		     NULL, "cells and subscribers that follow it directly"},
	[NOTIFIES] = {"NOTIFY", 9, 14, COLUMN_NUMBER, "notifies", of_notifies,
		      NULL, "sets, completes and fails of a source"},
	[WRITES] = {"WRITES", 9, 8, COLUMN_NUMBER, "writes", of_writes, NULL,
		    "values compared and, if changed, stored"},
	[UNCHANGED] = {"UNCHGD", 8, 4, COLUMN_NUMBER, "unchanged", of_unchanged,
		       NULL,
		       "writes of the value it held: the wave stopped there"},
	[FIRES] = {"FIRES", 9, 2, COLUMN_NUMBER, "fires", of_fires, NULL,
		   "times that it changed, an error included, and told it"},
	[REFIRES] = {"REFIRES", 9, 11, COLUMN_NUMBER, "refires", of_refires,
		     NULL, "fires beyond the first in one pass: redundant"},
	[RATIO] = {"REFIRE%", 8, 3, COLUMN_RATIO, "refire_ratio", of_ratio,
		   NULL, "re-fires of the fires; a batch would save them"},
	[SUM] = {"FANOUT", 7, 19, COLUMN_NS, "latency_ns.sum", of_sum, NULL,
		 "time in its fan-outs"},
	[P50] = {"P50", 7, 7, COLUMN_NS, "latency_ns.p50", of_p50, NULL,
		 "half of its fan-outs took at most this (+-3.2 %)"},
	[P90] = {"P90", 7, 12, COLUMN_NS, "latency_ns.p90", of_p90, NULL,
		 "nine of ten did"},
	[P99] = {"P99", 7, 6, COLUMN_NS, "latency_ns.p99", of_p99, NULL,
		 "99 of 100 did"},
	[MAX] = {"MAX", 7, 9, COLUMN_NS, "latency_ns.max", of_max, NULL,
		 "the longest, exactly"},
	[SELF] = {"SELF", 7, 5, COLUMN_NS, "self_ns", of_self, NULL,
		  "time in computing it and in its fan-outs"},
	[COMPUTES] = {"COMPUTE", 9, 13, COLUMN_NUMBER, "computes", of_computes,
		      NULL, "runs of its compute function"},
	[NONE] = {NULL, 0, 0, COLUMN_TEXT, NULL, NULL, NULL, NULL},
};

const struct column *const column_cell = &columns[NAME];
const struct column *const column_op = &columns[OP];

const struct column *const table_columns[] = {
	&columns[NAME],	     &columns[OP],	 &columns[FIRES],
	&columns[REFIRES],   &columns[RATIO],	 &columns[WRITES],
	&columns[UNCHANGED], &columns[TARGETS],	 &columns[SELF],
	&columns[P50],	     &columns[P90],	 &columns[P99],
	&columns[MAX],	     &columns[TYPE],	 &columns[SITE],
	&columns[HEIGHT],    &columns[NOTIFIES], &columns[COMPUTES],
	&columns[SUM],	     &columns[ID],	 NULL,
};

const struct column *column_find(const char *name)
{
	const struct column *column;

	for (column = columns; column->json; column++) {
		const char *member = strchr(column->json, '.');

		if (!strcasecmp(name, column->json) ||
		    (member && !strcasecmp(name, member + 1)) ||
		    !strcasecmp(name, column->title))
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
		.none_last = column->kind == COLUMN_NS,
	};
}

/* The last part of the path of the file in "file:line". */
static const char *base_name(const char *site)
{
	const char *slash = strrchr(site, '/');

	return slash ? slash + 1 : site;
}

void row_label(const struct row *row, bool twin, int width, char *text,
	       size_t size)
{
	const char *name = row->name[0] ? row->name : base_name(row->site);
	char number[24];
	int digits;

	if (row->name[0] && !twin && !row->cells) {
		text_fit(text, size, name, width);
		return;
	}
	digits = snprintf(number, sizeof(number), "%c%" PRIu64,
			  row->cells ? 'x' : '#',
			  row->cells ? row->cells : row->id);
	text[0] = '\0';
	if (name[0] && width > digits + 1) {
		text_fit(text, size - sizeof(number) - 1, name,
			 width - digits - 1);
		strcat(text, " ");
	}
	strcat(text, number);
}

void column_list(char *text, size_t size)
{
	size_t used = 0, i;

	for (i = 0; table_columns[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 i ? ", " : "",
					 table_columns[i]->title);
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
		if (column->number(row))
			print_ns(text, size, column->number(row));
		else
			snprintf(text, size, "-");
		break;
	case COLUMN_RATIO:
		if (row->counts.fires)
			snprintf(text, size, "%.1f",
				 100 * row_refire_ratio(row));
		else
			snprintf(text, size, "-");
		break;
	case COLUMN_TEXT:
		snprintf(text, size, "%s", column->text(row));
		break;
	}
}
