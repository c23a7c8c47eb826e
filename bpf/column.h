/* SPDX-License-Identifier: MIT */
/*
 * The columns, in one table: tables, the screen, its help, sorting and JSON
 * all go by it.
 */
#ifndef HYPHAE_BPF_COLUMN_H
#define HYPHAE_BPF_COLUMN_H

#include <stddef.h>

#include "bpf/report.h"

enum column_kind {
	COLUMN_NUMBER,
	COLUMN_TRAIT, /* a number that makes no sense as a sum of cells */
	COLUMN_NS,    /* a duration */
	COLUMN_RATIO, /* of 1; number is in parts of 1e9, for sorting */
	COLUMN_TEXT,
};

struct column {
	const char *title;
	int width; /* with room for the mark of the one that sorts */
	int rank;  /* where there is no room for all, the lowest are shown */
	enum column_kind kind;
	/* "a" or "a.b": member b of object a.  In the order of the contract. */
	const char *json;
	uint64_t (*number)(const struct row *row);
	const char *(*text)(const struct row *row);
	const char *help;
};

/* In the order of JSON; the last one has no `json`. */
extern const struct column columns[];

/* In the order of tables, left to right; ends with NULL. */
extern const struct column *const table_columns[];

/* The column of that title or JSON name, in any case; NULL if none. */
const struct column *column_find(const char *name);

/* How to sort by it: numbers greatest first, texts by the alphabet. */
struct report_order column_order(const struct column *column);

/* The column of cells; it is always shown. */
extern const struct column *const column_cell;

/* That of operators, which takes what the longest of them needs. */
extern const struct column *const column_op;

/*
 * The cell's name, fitted to so many columns of a terminal; with `twin`,
 * because another has the same, its number behind.  One without a name goes
 * by where it was made and its number; several have their count behind.
 */
void row_label(const struct row *row, bool twin, int width, char *text,
	       size_t size);

/* As text for people, without padding; "-" for what was not measured. */
void column_print(const struct column *column, const struct row *row,
		  char *text, size_t size);

/* The titles of all, separated by ", ". */
void column_list(char *text, size_t size);

/* A duration with three digits and a unit; a count with at most six. */
void print_ns(char *text, size_t size, uint64_t ns);
void print_count(char *text, size_t size, double count);

#endif
