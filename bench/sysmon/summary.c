/* SPDX-License-Identifier: MIT */
/* Cells over all things of a kind, and subscribers; see summary.h. */
#include "summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* Processors are busy when more than this share of them is in use. */
#define BUSY_SHARE 0.8

HYPHAE_TYPE(memory, struct memory);
HYPHAE_TYPE(flow, struct flow);
HYPHAE_TYPE(ranking, struct ranking);

/* ---- subscribers ------------------------------------------------------- */

/*
 * A subscriber only writes a line into memory, which is quick; printing can
 * block, so the main loop does it, after the propagation.
 *
 * Subscribers are also told when their cell has ended or holds an error.  The
 * cells of sysmon do neither, but a subscriber looks at the kind first.
 */

static int on_share(const struct hyphae_signal *signal, void *line)
{
	if (signal->kind == HYPHAE_VALUE)
		line_share(line, hyphae_double_of(signal));
	return 0;
}

static int on_rate(const struct hyphae_signal *signal, void *line)
{
	if (signal->kind == HYPHAE_VALUE)
		line_rate(line, hyphae_double_of(signal));
	return 0;
}

static int on_busy(const struct hyphae_signal *signal, void *line)
{
	if (signal->kind == HYPHAE_VALUE)
		line_alarm(line, hyphae_double_of(signal), time(NULL));
	return 0;
}

static int on_memory(const struct hyphae_signal *signal, void *line)
{
	if (signal->kind == HYPHAE_VALUE)
		line_memory(line, memory_of(signal));
	return 0;
}

static int on_flow(const struct hyphae_signal *signal, void *line)
{
	if (signal->kind == HYPHAE_VALUE)
		line_flow(line, flow_of(signal));
	return 0;
}

static int on_ranking(const struct hyphae_signal *signal, void *screen)
{
	if (signal->kind == HYPHAE_VALUE)
		screen_set_ranking(screen, ranking_of(signal));
	return 0;
}

/* ---- compute functions -------------------------------------------------- */

static int is_busy(const void *input, void *ctx)
{
	const double *load = input;

	(void)ctx;
	return *load > BUSY_SHARE;
}

static int compute_flow(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	const double *in = inputs[0], *out = inputs[1];
	struct flow *flow = ret;

	(void)count;
	(void)ctx;
	flow->in = *in;
	flow->out = *out;
	return 0;
}

static bool uses_more(const struct usage *a, const struct usage *b)
{
	if (a->cpu != b->cpu)
		return a->cpu > b->cpu;
	return a->resident_kib > b->resident_kib;
}

static int compute_ranking(void *ret, const void *const *inputs, size_t count,
			   void *ctx)
{
	struct ranking *ranking = ret; /* all zero */
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++) {
		const struct usage *usage = inputs[i];
		int64_t place = ranking->count;

		while (place > 0 && uses_more(usage, &ranking->top[place - 1]))
			place--;
		if (place == RANKING_MAX)
			continue;
		if (ranking->count < RANKING_MAX)
			ranking->count++;
		memmove(&ranking->top[place + 1], &ranking->top[place],
			(size_t)(ranking->count - 1 - place) * sizeof(*usage));
		ranking->top[place] = *usage;
	}
	return 0;
}

/* ---- over all things of a kind ------------------------------------------- */

static struct hyphae_cell *rank_at(struct hyphae_cell *const *inputs,
				   size_t count, const char *site)
{
	return hyphae_combine_at(inputs, count, &ranking_type, compute_ranking,
				 NULL, site);
}

enum which_result { RESULT, SECOND_RESULT };

typedef struct hyphae_cell *(*over_all_fn)(struct hyphae_cell *const *inputs,
					   size_t count, const char *site);

/* A cell for fn to make of all of them; NULL, with errno 0, of none. */
static struct hyphae_cell *over_all_at(const struct items *items,
				       enum which_result which, over_all_fn fn,
				       const char *site)
{
	struct hyphae_cell **cells, *cell;
	size_t i;

	errno = 0;
	if (!items->count)
		return NULL;
	cells = calloc(items->count, sizeof(struct hyphae_cell *));
	if (!cells)
		return NULL;
	for (i = 0; i < items->count; i++)
		cells[i] = which == RESULT ? items->items[i].result
					   : items->items[i].second_result;
	cell = fn(cells, items->count, site);
	free(cells);
	return cell;
}

#define over_all(items, which, fn) over_all_at(items, which, fn, HYPHAE_HERE)

/*
 * The subscription is the scope's, so its handle need not be kept.  Without a
 * cell errno says why: 0 if there is nothing to show.
 */
static int show(struct hyphae_cell *cell, hyphae_subscriber_fn fn, void *ctx)
{
	if (!cell || !hyphae_subscribe(cell, fn, ctx))
		return -errno;
	return 0;
}

static int show_total_rate(const struct items *items, const char *name,
			   struct line *line)
{
	struct hyphae_cell *total = over_all(items, RESULT, sum_at);

	name_cell(total, "%s.total", name);
	return show(total, on_rate, line);
}

static int show_total_flow(const struct items *items, const char *name,
			   struct line *line)
{
	struct hyphae_cell *totals[2], *flow;

	totals[0] = over_all(items, RESULT, sum_at);
	totals[1] = over_all(items, SECOND_RESULT, sum_at);
	flow = hyphae_combine(totals, 2, &flow_type, compute_flow, NULL);

	name_cell(totals[0], "%s.total.in", name);
	name_cell(totals[1], "%s.total.out", name);
	name_cell(flow, "%s.total", name);
	return show(flow, on_flow, line);
}

static int show_each_cpu(const struct items *cpus, struct line *lines)
{
	size_t i;
	int err = 0;

	memset(lines, 0, SCREEN_CPUS * sizeof(*lines));
	for (i = 0; i < cpus->count && i < SCREEN_CPUS && !err; i++) {
		const struct item *cpu = &cpus->items[i];

		snprintf(lines[i].label, sizeof(lines[i].label), "  %.10s",
			 cpu->name);
		err = show(cpu->result, on_share, &lines[i]);
	}
	return err;
}

static int show_all_cpus(const struct items *cpus, struct screen *screen)
{
	struct hyphae_cell *total, *busy;
	int err;

	total = over_all(cpus, RESULT, mean_at);
	/* Lets only high loads pass; it has no value until there is one. */
	busy = hyphae_filter(total, is_busy, NULL);

	name_cell(total, "cpu.total");
	name_cell(busy, "cpu.busy");
	err = show(total, on_share, &screen->cpu_total);
	return err ? err : show(busy, on_busy, &screen->alarm);
}

int summarize_machine(const struct items kinds[PROC_KINDS],
		      struct screen *screen)
{
	int err;

	err = show_each_cpu(&kinds[PROC_CPU], screen->cpus);
	if (!err)
		err = show_all_cpus(&kinds[PROC_CPU], screen);
	if (!err)
		err = show_total_rate(&kinds[PROC_INTERRUPT], "irq",
				      &screen->interrupts);
	if (!err)
		err = show_total_rate(&kinds[PROC_SOFTIRQ], "softirq",
				      &screen->softirqs);
	if (!err)
		err = show_total_flow(&kinds[PROC_DISK], "disk", &screen->disk);
	if (!err)
		err = show_total_flow(&kinds[PROC_NETWORK], "net",
				      &screen->network);
	return err;
}

int summarize_processes(const struct items *processes, struct screen *screen)
{
	struct hyphae_cell *top = over_all(processes, RESULT, rank_at);

	name_cell(top, "process.top");
	return show(top, on_ranking, screen);
}

/* ---- memory ---------------------------------------------------------------- */

struct hyphae_cell *memory_cell(struct hyphae_graph *graph,
				struct screen *screen)
{
	struct hyphae_cell *cell;

	cell = memory_new_at(graph, (struct memory){0}, HYPHAE_HERE);
	name_cell(cell, "memory");
	return show(cell, on_memory, &screen->memory) ? NULL : cell;
}

int memory_write(struct hyphae_cell *cell, const struct memory *memory)
{
	int err = memory_set(cell, *memory);

	return err < 0 ? err : 0;
}
