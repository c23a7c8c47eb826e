// SPDX-License-Identifier: MIT
/* A report: the numbers of one interval, sorted. */
#include "bpf/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

double row_refire_ratio(const struct row *row)
{
	if (!row->counts.fires)
		return 0;
	return (double)row->counts.refires / (double)row->counts.fires;
}

uint64_t row_self(const struct row *row)
{
	return row->counts.fanout_ns + row->counts.compute_ns;
}

bool losses_any(const struct losses *losses)
{
	return losses->records || losses->fires || losses->passes ||
	       losses->blocks || losses->unfinished;
}

static struct losses losses_minus(const struct losses *a,
				  const struct losses *b)
{
	return (struct losses){
		.records = a->records - b->records,
		.fires = a->fires - b->fires,
		.passes = a->passes - b->passes,
		.blocks = a->blocks - b->blocks,
		.unsorted = a->unsorted - b->unsorted,
		.unfinished = a->unfinished - b->unfinished,
	};
}

/* Everything of a row but its quantiles: what it can be sorted by. */
static void fill(struct row *row, const struct model *model,
		 const struct cell *cell, bool all)
{
	const struct text_pool *texts = &model->texts;

	memset(row, 0, sizeof(*row));
	row->id = cell->id;
	row->name = cell == model->cells ? "(others)"
					 : text_get(texts, cell->traits.name);
	row->type = text_get(texts, cell->traits.type);
	row->op = cell->traits.op ? text_get(texts, cell->traits.op) : "?";
	row->site = text_get(texts, cell->traits.site);
	row->height = cell->traits.height;
	row->targets = cell->traits.targets;
	row->counts = all ? cell->now : model_news(model, cell);
	row->max = all && cell->all_max_ns > cell->max_ns ? cell->all_max_ns
							  : cell->max_ns;
}

static void fill_quantiles(struct row *row, const struct hist *hist)
{
	static const double fractions[] = {.5, .9, .99};
	uint64_t values[3];

	hist_quantiles(hist, fractions, 3, row->max, values);
	row->p50 = values[0];
	row->p90 = values[1];
	row->p99 = values[2];
}

/* The same over all time: what was kept and the running interval. */
static void fill_all_quantiles(struct row *row, const struct hist *kept,
			       const struct hist *running)
{
	struct hist both = {0};

	(void)hist_merge(&both, kept);
	(void)hist_merge(&both, running);
	fill_quantiles(row, &both);
	hist_done(&both);
}

static void fill_cell_quantiles(struct row *row, const struct cell *cell,
				bool all)
{
	if (all)
		fill_all_quantiles(row, &cell->all, &cell->hist);
	else
		fill_quantiles(row, &cell->hist);
}

struct report_item {
	uint64_t key;
	uint32_t at; /* in model.cells */
};

struct sorting {
	const struct model *model;
	const struct report_order *order;
	bool all;
};

static int compare_texts(const struct sorting *sorting, uint32_t a, uint32_t b)
{
	struct row x, y;

	fill(&x, sorting->model, &sorting->model->cells[a], sorting->all);
	fill(&y, sorting->model, &sorting->model->cells[b], sorting->all);
	return strcmp(sorting->order->text(&x), sorting->order->text(&y));
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct report_item *x = a, *y = b;
	const struct sorting *sorting = ctx;
	int result;

	if (sorting->order->number)
		result = x->key < y->key ? -1 : x->key > y->key;
	else
		result = compare_texts(sorting, x->at, y->at);
	if (!result) {
		const struct cell *cells = sorting->model->cells;

		return cells[x->at].id < cells[y->at].id ? -1 : 1;
	}
	return sorting->order->ascending ? result : -result;
}

static uint64_t key_of(const struct report_order *order, const struct row *row)
{
	uint64_t key = order->number(row);

	return !key && order->none_last && order->ascending ? UINT64_MAX : key;
}

/* The cells that did something, and their keys. */
static int collect_active(struct report *report, const struct sorting *sorting)
{
	const struct model *model = sorting->model;
	const struct report_order *order = sorting->order;
	size_t n = sorting->all ? model->count : model->ntouched, i;
	struct row row;

	if (n > report->items_room) {
		free(report->items);
		report->items_room = 0;
		report->items = malloc(n * sizeof(*report->items));
		if (!report->items)
			return -ENOMEM;
		report->items_room = n;
	}
	for (i = 0; i < n; i++) {
		uint32_t at =
			sorting->all ? (uint32_t)i : model->touched[i].cell;
		const struct cell *cell = &model->cells[at];

		fill(&row, model, cell, sorting->all);
		if (!counts_any(&row.counts))
			continue;
		if (order->quantiles)
			fill_cell_quantiles(&row, cell, sorting->all);
		report->items[report->active].at = at;
		report->items[report->active++].key =
			order->number ? key_of(order, &row) : 0;
	}
	return 0;
}

static void fill_totals(struct report *report, const struct model *model,
			bool all)
{
	struct row *total = &report->total;

	memset(total, 0, sizeof(*total));
	total->name = "TOTAL";
	total->type = total->op = total->site = "";
	total->counts = all ? model->total
			    : counts_minus(&model->total, &model->total_before);
	total->max = all && model->all_max_ns > model->max_ns
			     ? model->all_max_ns
			     : model->max_ns;
	if (all)
		fill_all_quantiles(total, &model->all, &model->hist);
	else
		fill_quantiles(total, &model->hist);
	report->events = total->counts.notifies + total->counts.writes +
			 total->counts.fires + total->counts.computes;
	report->passes = model->passes - (all ? 0 : model->passes_before);
	report->lost = all ? model->lost
			   : losses_minus(&model->lost, &model->lost_before);
	report->known = model->count - 1;
}

static int fill_rows(struct report *report, const struct sorting *sorting)
{
	const struct model *model = sorting->model;
	size_t count = report->active, i;

	if (sorting->order->top && sorting->order->top < count)
		count = sorting->order->top;
	if (count > report->rows_room) {
		free(report->rows);
		report->rows_room = 0;
		report->rows = malloc(count * sizeof(*report->rows));
		if (!report->rows)
			return -ENOMEM;
		report->rows_room = count;
	}
	for (i = 0; i < count; i++) {
		const struct cell *cell = &model->cells[report->items[i].at];

		fill(&report->rows[i], model, cell, sorting->all);
		fill_cell_quantiles(&report->rows[i], cell, sorting->all);
	}
	report->count = count;
	return 0;
}

int report_make(struct report *report, const struct model *model,
		const struct report_order *order, bool all)
{
	struct sorting sorting = {model, order, all};

	report->count = report->active = 0;
	fill_totals(report, model, all);
	if (collect_active(report, &sorting))
		return -ENOMEM;
	if (report->active)
		qsort_r(report->items, report->active, sizeof(*report->items),
			compare, &sorting);
	return fill_rows(report, &sorting);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct report_order *order = ctx;
	const struct row *x = a, *y = b;
	int result;

	if (order->number) {
		uint64_t p = key_of(order, x), q = key_of(order, y);

		result = p < q ? -1 : p > q;
	} else {
		result = strcmp(order->text(x), order->text(y));
	}
	if (!result)
		return x->id < y->id ? -1 : 1;
	return order->ascending ? result : -result;
}

void report_sort(struct report *report, const struct report_order *order)
{
	struct report_order copy = *order;

	if (report->count)
		qsort_r(report->rows, report->count, sizeof(*report->rows),
			compare_rows, &copy);
}

void report_done(struct report *report)
{
	free(report->rows);
	free(report->items);
	report->rows = NULL;
	report->items = NULL;
	report->items_room = report->rows_room = 0;
}
