// SPDX-License-Identifier: MIT
/* A report as lines of text; see view_lines.h. */
#include "bpf/view_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static void show_head(const struct report *report, const struct view *view)
{
	const struct report_head *head = &report->head;
	time_t seconds = (time_t)head->time;
	struct line line = {.used = 0};
	char clock[16] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	add(&line, "hyphae-top  %s  pid %d  %s mode  %s  %.2f s", head->comm,
	    head->pid, head->mode, clock, head->interval);
	if (head->end[0])
		add(&line, "  [%s]", head->end);
	emit(view, LINE_HEAD, &line);
}

static void add_rate(struct line *line, const struct report *report,
		     const char *what, uint64_t count)
{
	char rate[32];

	print_count(rate, sizeof(rate), per_second(report, count));
	add(line, "%s %" PRIu64 " (%s/s)  ", what, count, rate);
}

static void show_sums(const struct report *report, const struct view *view)
{
	const struct row *total = &report->total;
	struct line line = {.used = 0};

	add_rate(&line, report, "fires", total->counts.fires);
	add(&line, "re-fires %.1f %%  ", 100 * row_refire_ratio(total));
	add_rate(&line, report, "writes", total->counts.writes);
	add(&line, "cells %zu/%zu  ", report->active,
	    report->head.alive > report->known ? (size_t)report->head.alive
					       : report->known);
	add_rate(&line, report, "passes", report->passes);
	while (line.text[line.used - 1] == ' ')
		line.text[--line.used] = '\0';
	emit(view, LINE_TOTAL, &line);
}

static void add_losses(struct line *line, const struct losses *lost)
{
	if (!losses_any(lost)) {
		add(line, "loss: none");
		return;
	}
	add(line, "LOSS: %" PRIu64 " records, %" PRIu64 " fires", lost->records,
	    lost->fires);
	if (lost->blocks)
		add(line, ", %" PRIu64 " blocks of unknown content",
		    lost->blocks);
	if (lost->unsorted)
		add(line, "; %" PRIu64 " events not told apart",
		    lost->unsorted);
	add(line, " (counts are too low)");
}

static void show_trust(const struct report *report, const struct view *view)
{
	const struct cost *cost = &report->head.cost;
	double interval = report->head.interval;
	struct line line = {.used = 0};

	add_losses(&line, &report->lost);
	if (report->head.stale)
		add(&line, "  older records left out: %" PRIu64,
		    report->head.stale);
	if (interval > 0) {
		add(&line, "  cost: hyphae-top %.1f %% of a CPU",
		    100 * cost->cpu_s / interval);
		if (cost->bpf_known)
			add(&line, ", BPF %.1f %%, %" PRIu64 " probe hits",
			    1e-7 * (double)cost->bpf_ns / interval, cost->hits);
	}
	emit(view, losses_any(&report->lost) ? LINE_BAD : LINE_GOOD, &line);
}

/*
 * Put a field into its column, which ends at `line->end`, if that still fits
 * in the view.  Numbers are never cut: one that is too wide moves those after
 * it, until there is room to catch up.
 */
static bool add_field(struct line *line, const struct view *view,
		      const struct column *column, const char *text)
{
	bool right = column->kind != COLUMN_TEXT;
	char fitted[VIEW_LINE_MOST / 2];
	int gap = line->end ? 1 : 0, start = line->end + gap, used, pad;

	if (view->width && start + column->width > view->width)
		return false;
	line->end = start + column->width;
	used = text_fit(fitted, sizeof(fitted), text,
			right ? 64 : column->width);
	pad = (right ? line->end - used : start) - line->columns;
	if (pad < gap)
		pad = gap;
	add(line, "%*s%s", pad, "", fitted);
	line->columns += pad + used;
	return true;
}

static void show_columns(const struct view *view, enum line_kind kind,
			 const struct row *row)
{
	struct line line = {.used = 0};
	const struct column *column;
	char text[VIEW_LINE_MOST];
	size_t i;

	for (i = 0; (column = table_columns[i]); i++) {
		if (i && i < 1 + view->from)
			continue;
		if (kind == LINE_SUM && column->kind == COLUMN_TRAIT)
			snprintf(text, sizeof(text), "-");
		else if (row)
			column_print(column, row, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "%s%s",
				 column != view->sort ? ""
				 : view->ascending    ? "^"
						      : "v",
				 column->title);
		if (!add_field(&line, view, column, text))
			break;
	}
	emit(view, kind, &line);
}

void view_lines(const struct report *report, const struct view *view)
{
	size_t end = report->count, i;
	struct line more = {.used = 0};

	show_head(report, view);
	show_sums(report, view);
	show_trust(report, view);
	show_columns(view, LINE_TITLES, NULL);
	show_columns(view, LINE_SUM, &report->total);
	if (view->rows && view->skip + view->rows < end)
		end = view->skip + view->rows;
	for (i = view->skip; i < end; i++)
		show_columns(view, LINE_ROW, &report->rows[i]);
	if (!view->rows && report->count < report->active) {
		add(&more, "... %zu more cells",
		    report->active - report->count);
		emit(view, LINE_NOTE, &more);
	}
}

void view_help(const struct view *view)
{
	const struct column *column;
	size_t i;

	for (i = 0; (column = table_columns[i]); i++) {
		struct line line = {.used = 0};

		add(&line, "%-8s %s", column->title, column->help);
		emit(view, LINE_NOTE, &line);
	}
}
