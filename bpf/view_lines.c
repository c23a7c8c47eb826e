// SPDX-License-Identifier: MIT
/* A report as lines of text; see view_lines.h. */
#include "bpf/view_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/abi.h"

/* A line under construction. */
struct line {
	char text[VIEW_LINE_MOST];
	size_t used;
	int columns; /* of the terminal, used */
	int end;     /* where the last column ends */
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line,
						      const char *format, ...)
{
	size_t room = sizeof(line->text) - line->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	if (n > 0)
		line->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void emit(const struct view *view, enum line_kind kind,
		 const struct line *line)
{
	char text[VIEW_LINE_MOST];

	text_fit(text, sizeof(text), line->text,
		 view->width ? view->width : VIEW_LINE_MOST);
	view->line(view->ctx, kind, text);
}

static double per_second(const struct report *report, uint64_t count)
{
	return report->head.interval > 0 ? (double)count / report->head.interval
					 : 0;
}

/* Brackets around what there is to say. */
static void add_state(struct line *line, const struct report_head *head)
{
	const char *before = "  [";

	if (head->all) {
		add(line, "%sall time", before);
		before = ", ";
	}
	if (head->paused) {
		add(line, "%spaused", before);
		before = ", ";
	}
	if (head->end[0]) {
		add(line, "%s%s", before, head->end);
		before = ", ";
	}
	if (before[0] == ',')
		add(line, "]");
}

static void show_head(const struct report *report, const struct view *view)
{
	const struct report_head *head = &report->head;
	time_t seconds = (time_t)head->time;
	struct line line = {.used = 0};
	char clock[16] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	add(&line, "hyphae-top  %s  pid %d  %s  %.2f s", head->comm, head->pid,
	    clock, head->interval);
	add_state(&line, head);
	add(&line, "  %s mode", head->mode);
	emit(view, LINE_HEAD, &line);
}

static void add_rate(struct line *line, const struct report *report,
		     const char *what, uint64_t count)
{
	char rate[32];

	print_count(rate, sizeof(rate), per_second(report, count));
	add(line, "%s %s/s  ", what, rate);
}

/* All its digits while they are few. */
static void print_cells(char *text, size_t size, uint64_t cells)
{
	if (cells < 100000)
		snprintf(text, size, "%" PRIu64, cells);
	else
		print_count(text, size, (double)cells);
}

static void show_sums(const struct report *report, const struct view *view)
{
	const struct row *total = &report->total;
	char active[32], all[32];
	struct line line = {.used = 0};

	add_rate(&line, report, "fires", total->counts.fires);
	add(&line, "re-fires %.1f %%  ", 100 * row_refire_ratio(total));
	add_rate(&line, report, "writes", total->counts.writes);
	add_rate(&line, report, "passes", report->passes);
	print_cells(active, sizeof(active), report->active);
	print_cells(all, sizeof(all),
		    report->head.alive > (int64_t)report->known
			    ? (uint64_t)report->head.alive
			    : report->known);
	add(&line, "cells %s/%s", active, all);
	emit(view, LINE_TOTAL, &line);
}

static void add_losses(struct line *line, const struct losses *lost)
{
	if (!losses_any(lost))
		add(line, "loss: none");
	if (lost->records || lost->fires || lost->passes || lost->blocks) {
		add(line, "LOSS: %" PRIu64 " records, %" PRIu64 " fires",
		    lost->records, lost->fires);
		if (lost->blocks)
			add(line, ", %" PRIu64 " blocks of unknown content",
			    lost->blocks);
		add(line, " (counts are too low)");
	}
	if (lost->unfinished)
		add(line,
		    "%sits last records (at most %d a thread) are unknown",
		    line->used ? "; " : "LOSS: ", HY_BLOCK_RECORDS);
	if (lost->unsorted)
		add(line, "; %" PRIu64 " events of further cells in (others)",
		    lost->unsorted);
}

#define COST_LEAST 0.05

static void show_trust(const struct report *report, const struct view *view)
{
	const struct cost *cost = &report->head.cost;
	double interval = report->head.interval;
	struct line line = {.used = 0};

	add_losses(&line, &report->lost);
	/* In no time at all a percentage would say nothing. */
	if (interval >= COST_LEAST) {
		add(&line, "  cost: hyphae-top %.1f %% of a CPU",
		    100 * cost->cpu_s / interval);
		if (cost->bpf_known)
			add(&line, ", BPF %.1f %%, %" PRIu64 " probe hits",
			    1e-7 * (double)cost->bpf_ns / interval, cost->hits);
	}
	emit(view, losses_any(&report->lost) ? LINE_BAD : LINE_GOOD, &line);
}

/* ---- columns ---------------------------------------------------------- */

#define COLUMNS_MOST 32
#define CELL_LEAST 8
#define CELL_NARROW 16
#define CELL_WIDE 40
#define OP_NARROW 7
/* Where that many columns are too few for CELL and OP as they are. */
#define NARROW 60
/* For " +12" behind the titles. */
#define MARK 4

/* Which columns are shown, left to right. */
struct layout {
	const struct column *shown[COLUMNS_MOST];
	int widths[COLUMNS_MOST];
	int count, hidden;
};

/* Behind the last row that is shown. */
static size_t shown_end(const struct report *report, const struct view *view)
{
	if (view->rows && view->skip + view->rows < report->count)
		return view->skip + view->rows;
	return report->count;
}

static bool is_narrow(const struct view *view)
{
	return view->width && view->width < NARROW;
}

/* The least that the column takes on a line of that width. */
static int least_width(const struct view *view, const struct column *column)
{
	return column == column_op && is_narrow(view) ? OP_NARROW
						      : column->width;
}

static int cell_width(const struct view *view)
{
	int width = column_cell->width;

	if (!view->width)
		return CELL_WIDE;
	if (is_narrow(view))
		width = CELL_NARROW;
	if (view->sort && view->sort != column_cell) {
		int room = view->width - 1 - least_width(view, view->sort);

		if (room >= CELL_LEAST + MARK)
			room -= MARK;
		if (width > room)
			width = room;
	}
	if (width > view->width)
		width = view->width;
	return width > 1 ? width : 1;
}

/* What the longest operator of the rows that are shown needs, or OP_NARROW. */
static int op_width(const struct report *report, const struct view *view)
{
	size_t end = shown_end(report, view), i;
	int most = OP_NARROW;

	for (i = view->skip; i < end; i++) {
		int length = (int)strlen(report->rows[i].op);

		if (length > most)
			most = length;
	}
	return most;
}

/* The one with the next rank that still fits; NULL if none does. */
static const struct column *next_by_rank(const struct view *view,
					 const bool *taken, int room)
{
	const struct column *best = NULL;
	int i;

	for (i = 0; table_columns[i]; i++) {
		const struct column *column = table_columns[i];

		if (!taken[i] && least_width(view, column) < room &&
		    (!best || column->rank < best->rank))
			best = column;
	}
	return best;
}

static int position(const struct column *column)
{
	int at = 0;

	while (table_columns[at] && table_columns[at] != column)
		at++;
	return at;
}

/* Widen up to `most`, with what is left over. */
static void widen(int *width, int most, int *room)
{
	int more = most - *width;

	if (more > *room)
		more = *room;
	if (more > 0) {
		*width += more;
		*room -= more;
	}
}

/*
 * CELL and the column that sorts, then by rank, while there is room.  What
 * is left over, also by operators that are short, makes operators and names
 * longer.
 */
static void lay_out(struct layout *layout, const struct report *report,
		    const struct view *view)
{
	bool taken[COLUMNS_MOST] = {false};
	int cell = cell_width(view), op = least_width(view, column_op);
	int op_most = op_width(report, view), room, i;
	const struct column *column = view->sort;

	room = view->width ? view->width - cell - MARK : COLUMNS_MOST * 100;
	taken[position(column_cell)] = true;
	if (!column || column == column_cell)
		column = next_by_rank(view, taken, room);
	for (; column; column = next_by_rank(view, taken, room)) {
		taken[position(column)] = true;
		room -= 1 + least_width(view, column);
	}
	if (taken[position(column_op)]) {
		room += op - OP_NARROW;
		op = OP_NARROW;
		widen(&op, op_most, &room);
	}
	widen(&cell, CELL_WIDE, &room);
	layout->count = layout->hidden = 0;
	for (i = 0; table_columns[i]; i++) {
		if (!taken[i]) {
			layout->hidden++;
			continue;
		}
		column = table_columns[i];
		layout->shown[layout->count] = column;
		layout->widths[layout->count++] = column == column_cell ? cell
						  : column == column_op
							  ? op
							  : column->width;
	}
}

/*
 * Put a field into its column, which ends at `line->end`.  Numbers are never
 * cut: one that is too wide moves those after it, until there is room to
 * catch up.
 */
static void add_field(struct line *line, int width, bool right,
		      const char *text)
{
	char fitted[VIEW_LINE_MOST / 2];
	int gap = line->end ? 1 : 0, start = line->end + gap, used, pad;

	line->end = start + width;
	used = text_fit(fitted, sizeof(fitted), text, right ? 64 : width);
	pad = (right ? line->end - used : start) - line->columns;
	if (pad < gap)
		pad = gap;
	add(line, "%*s%s", pad, "", fitted);
	line->columns += pad + used;
}

static void show_titles(const struct view *view, const struct layout *layout)
{
	struct line line = {.used = 0};
	char text[64];
	int i;

	for (i = 0; i < layout->count; i++) {
		const struct column *column = layout->shown[i];

		snprintf(text, sizeof(text), "%s%s", column->title,
			 column != view->sort ? ""
			 : view->ascending    ? "^"
					      : "*");
		add_field(&line, layout->widths[i], column->kind != COLUMN_TEXT,
			  text);
	}
	snprintf(text, sizeof(text), " +%d", layout->hidden);
	if (layout->hidden && line.columns + (int)strlen(text) <= view->width)
		add(&line, "%s", text);
	emit(view, LINE_TITLES, &line);
}

static void show_row(const struct view *view, const struct layout *layout,
		     enum line_kind kind, const struct row *row, bool twin)
{
	struct line line = {.used = 0};
	char text[VIEW_LINE_MOST];
	int i;

	for (i = 0; i < layout->count; i++) {
		const struct column *column = layout->shown[i];

		if (column == column_cell)
			row_label(row, twin, layout->widths[i], text,
				  sizeof(text));
		else if (!row->id && column->kind == COLUMN_TRAIT)
			snprintf(text, sizeof(text), "-");
		else
			column_print(column, row, text, sizeof(text));
		add_field(&line, layout->widths[i], column->kind != COLUMN_TEXT,
			  text);
	}
	emit(view, kind, &line);
}

/* ---- rows --------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Which of the rows have the name of another; NULL when there is no memory. */
static bool *find_twins(const struct row *rows, size_t count)
{
	const struct row **sorted = malloc((count + 1) * sizeof(*sorted));
	bool *twins = calloc(count + 1, sizeof(*twins));
	size_t i;

	for (i = 0; sorted && i < count; i++)
		sorted[i] = &rows[i];
	if (sorted && twins) {
		qsort(sorted, count, sizeof(*sorted), by_name);
		for (i = 1; i < count; i++)
			if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
				twins[sorted[i - 1] - rows] =
					twins[sorted[i] - rows] = true;
	}
	free(sorted);
	return twins;
}

static void show_rows(const struct report *report, const struct view *view,
		      const struct layout *layout)
{
	size_t end = shown_end(report, view), i;
	bool *twins;

	if (view->skip >= end)
		return;
	twins = find_twins(report->rows + view->skip, end - view->skip);
	for (i = view->skip; i < end; i++)
		show_row(view, layout, LINE_ROW, &report->rows[i],
			 twins && twins[i - view->skip]);
	free(twins);
}

static size_t cells_in_rows(const struct report *report)
{
	size_t cells = report->count, i;

	for (i = 0; i < report->count; i++)
		if (report->rows[i].cells)
			cells += report->rows[i].cells - 1;
	return cells;
}

void view_lines(const struct report *report, const struct view *view)
{
	struct line line = {.used = 0};
	struct layout layout;
	size_t more;

	lay_out(&layout, report, view);
	if (!view->brief) {
		show_head(report, view);
		show_sums(report, view);
		show_trust(report, view);
	}
	show_titles(view, &layout);
	if (!view->brief)
		show_row(view, &layout, LINE_SUM, &report->total, false);
	show_rows(report, view, &layout);
	more = report->active - cells_in_rows(report);
	if (!view->rows && more) {
		add(&line, "... %zu more cells", more);
		emit(view, LINE_NOTE, &line);
	}
}

/* ---- help ----------------------------------------------------------------- */

static const struct {
	const char *what, *help;
} head_help[] = {
	{"fires/s", "and so on: a second, in this interval or [all time]"},
	{"passes", "times that the program began to write: a pass, a batch or"},
	{"", "a set outside of these"},
	{"cells", "that did something / in the process (or ever seen)"},
	{"loss", "none: every count is what happened, not a sample"},
	{"cost", "of hyphae-top itself, of its BPF programs in the kernel,"},
	{"", "and how often the process was interrupted by a probe"},
	{"*  ^", "sorted by this column, greatest first / smallest first"},
	{"+12", "that many columns have no room; arrows reach them, too"},
	{"-", "was not measured: no fan-out in this time"},
	{"x17", "so many cells that are gone, of one place and name;"},
	{"", "(released): those that were gone before it could look"},
	{"(others)", "cells that are gone, and those over --cells"},
};

size_t view_help(const struct view *view)
{
	size_t heads = sizeof(head_help) / sizeof(head_help[0]), i;

	for (i = 0; i < heads || table_columns[i - heads]; i++) {
		struct line line = {.used = 0};

		if (i < view->skip)
			continue;
		if (i < heads)
			add(&line, "%-8s %s", head_help[i].what,
			    head_help[i].help);
		else
			add(&line, "%-8s %s", table_columns[i - heads]->title,
			    table_columns[i - heads]->help);
		emit(view, LINE_NOTE, &line);
	}
	return i;
}
