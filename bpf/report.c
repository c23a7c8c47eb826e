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

/* Where an item is no cell but one of report.groups. */
#define GROUP (1u << 31)

struct report_item {
	uint64_t key;
	uint32_t at; /* in model.cells */
};

struct sorting {
	const struct model *model;
	const struct report_order *order;
	const struct report *report;
	bool all;
};

static void fill_item(struct row *row, const struct sorting *sorting,
		      uint32_t at, bool quantiles)
{
	const struct cell *cell = &sorting->model->cells[at];

	if (at & GROUP) {
		*row = sorting->report->groups[at & ~GROUP];
		return;
	}
	fill(row, sorting->model, cell, sorting->all);
	if (quantiles)
		fill_cell_quantiles(row, cell, sorting->all);
}

static int compare_texts(const struct sorting *sorting, uint32_t a, uint32_t b)
{
	struct row x, y;

	fill_item(&x, sorting, a, false);
	fill_item(&y, sorting, b, false);
	return strcmp(sorting->order->text(&x), sorting->order->text(&y));
}

static uint64_t id_at(const struct sorting *sorting, uint32_t at)
{
	return at & GROUP ? 0 : sorting->model->cells[at].id;
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
		uint64_t p = id_at(sorting, x->at), q = id_at(sorting, y->at);

		return p != q ? (p < q ? -1 : 1) : x->at < y->at ? -1 : 1;
	}
	return sorting->order->ascending ? result : -result;
}

static uint64_t key_of(const struct report_order *order, const struct row *row)
{
	uint64_t key = order->number(row);

	return !key && order->none_last && order->ascending ? UINT64_MAX : key;
}

/* ---- cells that are gone --------------------------------------------------- */

/* By traits, those without first. */
static int compare_traits(const void *a, const void *b, void *ctx)
{
	const struct model *model = ctx;
	const struct cell *x = &model->cells[*(const uint32_t *)a];
	const struct cell *y = &model->cells[*(const uint32_t *)b];
	uint32_t p[] = {x->traits.site, x->traits.op, x->traits.name,
			x->traits.type};
	uint32_t q[] = {y->traits.site, y->traits.op, y->traits.name,
			y->traits.type};
	size_t i;

	if (x->known != y->known)
		return x->known ? 1 : -1;
	for (i = 0; i < 4; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* All but the quantiles, which come when all are together. */
static void add_to_group(struct row *group, struct hist *hist,
			 const struct sorting *sorting, uint32_t at)
{
	const struct cell *cell = &sorting->model->cells[at];
	struct row row;

	fill(&row, sorting->model, cell, sorting->all);
	group->cells++;
	counts_add(&group->counts, &row.counts);
	if (row.max > group->max)
		group->max = row.max;
	if (sorting->all)
		(void)hist_merge(hist, &cell->all);
	(void)hist_merge(hist, &cell->hist);
}

/* Those that are forgotten are among them. */
static void begin_released(struct row *group, struct hist *hist,
			   const struct sorting *sorting)
{
	const struct model *model = sorting->model;

	*group = (struct row){
		.name = "(released)",
		.type = "",
		.op = "?",
		.site = "",
	};
	if (!sorting->all)
		return;
	group->cells = model->nreleased;
	group->counts = model->released.now;
	group->max = model->released.all_max_ns;
	(void)hist_merge(hist, &model->released.all);
}

static void begin_group(struct row *group, const struct sorting *sorting,
			uint32_t at)
{
	fill(group, sorting->model, &sorting->model->cells[at], sorting->all);
	group->id = group->height = group->targets = group->max = 0;
	memset(&group->counts, 0, sizeof(group->counts));
}

static void add_item(struct report *report, const struct report_order *order,
		     uint32_t at, const struct row *row)
{
	struct report_item *item = &report->items[report->nitems++];

	item->at = at;
	item->key = order->number ? key_of(order, row) : 0;
}

/* These cells, which are alike, become a row; one that has traits stays. */
static void add_group(struct report *report, const struct sorting *sorting,
		      const uint32_t *gone, size_t count, bool released)
{
	struct row *group = &report->groups[report->ngroups], row;
	struct hist hist = {0};
	size_t i;

	if (count == 1 && !released) {
		fill_item(&row, sorting, *gone, sorting->order->quantiles);
		add_item(report, sorting->order, *gone, &row);
		return;
	}
	if (released)
		begin_released(group, &hist, sorting);
	else
		begin_group(group, sorting, *gone);
	for (i = 0; i < count; i++)
		add_to_group(group, &hist, sorting, gone[i]);
	if (released)
		report->released = group->cells;
	if (group->cells) {
		fill_quantiles(group, &hist);
		add_item(report, sorting->order,
			 GROUP | (uint32_t)report->ngroups++, group);
		report->active += group->cells - 1;
	}
	hist_done(&hist);
}

static int add_groups(struct report *report, const struct sorting *sorting,
		      uint32_t *gone, size_t count)
{
	const struct model *model = sorting->model;
	size_t from = 0, to = 0;

	free(report->groups);
	report->groups = malloc((count + 1) * sizeof(*report->groups));
	if (!report->groups)
		return -ENOMEM;
	qsort_r(gone, count, sizeof(*gone), compare_traits, (void *)model);
	while (to < count && !model->cells[gone[to]].known)
		to++;
	add_group(report, sorting, gone, to, true);
	for (from = to; from < count; from = to) {
		while (to < count &&
		       !compare_traits(&gone[from], &gone[to], (void *)model))
			to++;
		add_group(report, sorting, gone + from, to - from, false);
	}
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static int make_room(struct report *report, size_t items)
{
	if (items <= report->items_room)
		return 0;
	free(report->items);
	report->items_room = 0;
	report->items = malloc(items * sizeof(*report->items));
	if (!report->items)
		return -ENOMEM;
	report->items_room = items;
	return 0;
}

/*
 * The cells that did something, and their keys; those to be put together in
 * groups go to `gone`.
 */
static size_t collect_cells(struct report *report,
			    const struct sorting *sorting, size_t n,
			    uint32_t *gone)
{
	const struct model *model = sorting->model;
	const struct report_order *order = sorting->order;
	size_t ngone = 0, i;
	struct row row;

	for (i = 0; i < n; i++) {
		uint32_t at =
			sorting->all ? (uint32_t)i : model->touched[i].cell;
		const struct cell *cell = &model->cells[at];

		fill(&row, model, cell, sorting->all);
		if (!counts_any(&row.counts))
			continue;
		if (cell->gone && (!cell->known || order->fold)) {
			gone[ngone++] = at;
			continue;
		}
		if (order->quantiles)
			fill_cell_quantiles(&row, cell, sorting->all);
		add_item(report, order, at, &row);
	}
	return ngone;
}

static int collect_active(struct report *report, const struct sorting *sorting)
{
	const struct model *model = sorting->model;
	size_t n = sorting->all ? model->count : model->ntouched;
	uint32_t *gone = malloc((n + 1) * sizeof(*gone));
	int error = gone ? make_room(report, n + 1) : -ENOMEM;

	if (!error)
		error = add_groups(report, sorting, gone,
				   collect_cells(report, sorting, n, gone));
	report->active += report->nitems;
	free(gone);
	return error;
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
	size_t count = report->nitems, i;

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
	for (i = 0; i < count; i++)
		fill_item(&report->rows[i], sorting, report->items[i].at, true);
	report->count = count;
	return 0;
}

int report_make(struct report *report, const struct model *model,
		const struct report_order *order, bool all)
{
	struct sorting sorting = {model, order, report, all};

	report->count = report->active = report->released = 0;
	report->nitems = report->ngroups = 0;
	fill_totals(report, model, all);
	if (collect_active(report, &sorting))
		return -ENOMEM;
	if (report->nitems)
		qsort_r(report->items, report->nitems, sizeof(*report->items),
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
		return x->id != y->id ? (x->id < y->id ? -1 : 1)
				      : strcmp(x->name, y->name);
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
	free(report->groups);
	report->rows = NULL;
	report->items = NULL;
	report->groups = NULL;
	report->items_room = report->rows_room = 0;
}
