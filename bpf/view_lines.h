/* SPDX-License-Identifier: MIT */
/*
 * A report as lines of text, for the plain table and for the screen.
 * Pure: a report in, lines out.
 */
#ifndef HYPHAE_BPF_VIEW_LINES_H
#define HYPHAE_BPF_VIEW_LINES_H

#include "bpf/column.h"
#include "bpf/report.h"

enum line_kind {
	LINE_HEAD,   /* what is looked at */
	LINE_TOTAL,  /* sums */
	LINE_GOOD,   /* trust: nothing was lost */
	LINE_BAD,    /* trust: something was */
	LINE_TITLES, /* of the columns */
	LINE_SUM,    /* the row of all cells */
	LINE_ROW,
	LINE_NOTE,
};

struct view {
	int width;   /* in columns; what does not fit is left out; 0: any */
	size_t skip; /* rows at the top that are scrolled away */
	size_t rows; /* the most rows to show; 0: all there are */
	bool brief;  /* without what comes before the titles, and the sum */
	const struct column *sort; /* always shown, marked; may be NULL */
	bool ascending;
	void (*line)(void *ctx, enum line_kind kind, const char *text);
	void *ctx;
};

#define VIEW_LINE_MOST 1024
/* Before the first row, and if brief. */
#define VIEW_HEAD_LINES 5
#define VIEW_BRIEF_LINES 1

void view_lines(const struct report *report, const struct view *view);

/* What the head and the columns mean; returns how many lines there are. */
size_t view_help(const struct view *view);

#endif
