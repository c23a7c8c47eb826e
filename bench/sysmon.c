// SPDX-License-Identifier: MIT
/*
 * sysmon: a system monitor made of reactive cells.
 *
 * This is the example of how to write a program with hyphae, and the one to
 * try the tools on.  It reads /proc several times a second into source
 * cells; everything else follows from them:
 *
 *   /proc -> sources -> rates -> smoothed -> totals, thresholds, ranking
 *                                                      -> lines of the report
 *
 * Read in this order:
 *   sysmon/proc.h     plain structs with what /proc says; no cells there
 *   sysmon/blocks.c   small functions that make derived cells: rate, sum, ...
 *   sysmon.c          the graph: what is connected with what, and who follows
 *   sysmon/screen.c   lines of text; no cells there
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "lib/options.h"
#include "sysmon/blocks.h"
#include "sysmon/proc.h"
#include "sysmon/screen.h"

/* Averages are over about this many seconds. */
#define SMOOTH_SECONDS 2.0
/* Processors are busy when more than this share of them is in use. */
#define BUSY_SHARE 0.8

/*
 * A struct becomes a type of cells with one line: it defines memory_type, and
 * memory_new_at(), memory_set(), memory_get() and memory_of(), which take no
 * other struct.
 */
HYPHAE_TYPE(cpu_times, struct cpu_times);
HYPHAE_TYPE(memory, struct memory);
HYPHAE_TYPE(traffic, struct traffic);
HYPHAE_TYPE(process, struct process);
HYPHAE_TYPE(flow, struct flow);
HYPHAE_TYPE(usage, struct usage);
HYPHAE_TYPE(ranking, struct ranking);

/*
 * One thing that the machine has at the moment: a processor, an interrupt
 * line, a disk, an interface, a process.  Things come and go, so each has a
 * scope of its own, with which its cells go.
 */
struct item {
	char name[PROC_NAME_MAX];
	uint64_t serial;
	uint64_t seen; /* number of the last tick that had it */
	struct hyphae_scope *scope;
	struct hyphae_cell *source;
	/* What the summaries are made of; see the add_ functions. */
	struct hyphae_cell *result;
	struct hyphae_cell *second_result;
};

struct items {
	struct item *items;
	size_t count;
	size_t room;
	size_t next; /* where the next one is looked for first */
};

struct monitor {
	struct hyphae_graph *graph;
	struct hyphae_scope *scope; /* of all that follows */
	struct hyphae_cell *now;    /* seconds, the clock of all rates */
	struct hyphae_cell *memory;
	struct items kinds[PROC_KINDS];
	/* Cells over all items of a kind; made anew when items change. */
	struct hyphae_scope *machine_summary;
	struct hyphae_scope *process_summary;
	struct proc_snapshot snapshot;
	uint64_t ticks;
	double ticks_per_second; /* of the kernel's processor times */
	struct screen screen;
};

/* ---- from a reading to its cells ------------------------------------- */

/* int64 cells that pick a number out of a struct. */

static int user_ticks(void *ret, const void *times, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct cpu_times *)times)->user;
	return 0;
}

static int system_ticks(void *ret, const void *times, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct cpu_times *)times)->system;
	return 0;
}

static int bytes_in(void *ret, const void *traffic, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct traffic *)traffic)->in;
	return 0;
}

static int bytes_out(void *ret, const void *traffic, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct traffic *)traffic)->out;
	return 0;
}

static int process_ticks(void *ret, const void *process, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct process *)process)->ticks;
	return 0;
}

/*
 * The add_ functions make the cells of a new item.  They check nothing on
 * the way: what is made of NULL is NULL, so the last cell tells whether all
 * of it worked.
 */

/* result: the share of the processor that is in use, 0 to 1 */
static void add_cpu(struct monitor *monitor, struct item *item,
		    const struct proc_entry *entry)
{
	double scale = 1 / monitor->ticks_per_second;
	const char *name = entry->name;
	struct hyphae_cell *user, *system, *load, *parts[2];

	item->source =
		named(cpu_times_new_at(monitor->graph, entry->cpu, HYPHAE_HERE),
		      "cpu%s.times", name);
	user = named(hyphae_map(item->source, &hyphae_int64, user_ticks, NULL),
		     "cpu%s.user", name);
	system = named(
		hyphae_map(item->source, &hyphae_int64, system_ticks, NULL),
		"cpu%s.system", name);
	parts[0] = named(rate_of(monitor->now, user, scale), "cpu%s.user.rate",
			 name);
	parts[1] = named(rate_of(monitor->now, system, scale),
			 "cpu%s.system.rate", name);
	load = named(sum_of(parts, 2), "cpu%s.load", name);
	item->result = named(smoothed(monitor->now, load, SMOOTH_SECONDS),
			     "cpu%s.load.smooth", name);
}

/* result: events a second */
static void add_counter(struct monitor *monitor, struct item *item,
			const struct proc_entry *entry, const char *kind)
{
	const char *name = entry->name;
	struct hyphae_cell *rate;

	item->source = named(hyphae_int64_new(monitor->graph, entry->count),
			     "%s.%s", kind, name);
	rate = named(rate_of(monitor->now, item->source, 1), "%s.%s.rate", kind,
		     name);
	item->result = named(smoothed(monitor->now, rate, SMOOTH_SECONDS),
			     "%s.%s.smooth", kind, name);
}

/* result and second_result: bytes a second in and out */
static void add_traffic(struct monitor *monitor, struct item *item,
			const struct proc_entry *entry, const char *kind)
{
	const char *name = entry->name;
	struct hyphae_cell *in, *out;

	item->source = named(
		traffic_new_at(monitor->graph, entry->traffic, HYPHAE_HERE),
		"%s.%s", kind, name);
	in = named(hyphae_map(item->source, &hyphae_int64, bytes_in, NULL),
		   "%s.%s.in", kind, name);
	out = named(hyphae_map(item->source, &hyphae_int64, bytes_out, NULL),
		    "%s.%s.out", kind, name);
	in = named(rate_of(monitor->now, in, 1), "%s.%s.in.rate", kind, name);
	out = named(rate_of(monitor->now, out, 1), "%s.%s.out.rate", kind,
		    name);
	item->result = named(smoothed(monitor->now, in, SMOOTH_SECONDS),
			     "%s.%s.in.smooth", kind, name);
	item->second_result = named(smoothed(monitor->now, out, SMOOTH_SECONDS),
				    "%s.%s.out.smooth", kind, name);
}

/* Inputs of a combine may be of different types; they come in order. */
static int compute_usage(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	const struct process *process = inputs[0];
	struct usage *usage = ret;

	(void)count;
	(void)ctx;
	usage->pid = process->pid;
	memcpy(usage->name, process->name, sizeof(usage->name));
	usage->cpu = *(const double *)inputs[1];
	usage->resident_kib = process->resident_kib;
	return 0;
}

/* result: a struct usage */
static void add_process(struct monitor *monitor, struct item *item,
			const struct proc_entry *entry)
{
	const char *pid = entry->name, *name = entry->process.name;
	struct hyphae_cell *ticks, *rate, *inputs[2];

	item->source = named(
		process_new_at(monitor->graph, entry->process, HYPHAE_HERE),
		"process.%s.%s", pid, name);
	ticks = named(
		hyphae_map(item->source, &hyphae_int64, process_ticks, NULL),
		"process.%s.%s.ticks", pid, name);
	rate = named(
		rate_of(monitor->now, ticks, 1 / monitor->ticks_per_second),
		"process.%s.%s.cpu", pid, name);
	inputs[0] = item->source;
	inputs[1] = named(smoothed(monitor->now, rate, SMOOTH_SECONDS),
			  "process.%s.%s.cpu.smooth", pid, name);
	item->result = named(
		hyphae_combine(inputs, 2, &usage_type, compute_usage, NULL),
		"process.%s.%s.usage", pid, name);
}

static void add_cells(struct monitor *monitor, enum proc_kind kind,
		      struct item *item, const struct proc_entry *entry)
{
	switch (kind) {
	case PROC_CPU:
		add_cpu(monitor, item, entry);
		break;
	case PROC_INTERRUPT:
		add_counter(monitor, item, entry, "irq");
		break;
	case PROC_SOFTIRQ:
		add_counter(monitor, item, entry, "softirq");
		break;
	case PROC_DISK:
		add_traffic(monitor, item, entry, "disk");
		break;
	case PROC_NETWORK:
		add_traffic(monitor, item, entry, "net");
		break;
	case PROC_PROCESS:
		add_process(monitor, item, entry);
		break;
	case PROC_KINDS:
		break;
	}
}

static int set_source(enum proc_kind kind, const struct item *item,
		      const struct proc_entry *entry)
{
	switch (kind) {
	case PROC_CPU:
		return cpu_times_set(item->source, entry->cpu);
	case PROC_INTERRUPT:
	case PROC_SOFTIRQ:
		return hyphae_int64_set(item->source, entry->count);
	case PROC_DISK:
	case PROC_NETWORK:
		return traffic_set(item->source, entry->traffic);
	case PROC_PROCESS:
		return process_set(item->source, entry->process);
	case PROC_KINDS:
		break;
	}
	return 0;
}

/* ---- things that come and go ----------------------------------------- */

/*
 * Both lists mostly have the same things in the same order, so the next one
 * is nearly always where it is looked for first.
 */
static struct item *find_item(struct items *items,
			      const struct proc_entry *entry)
{
	size_t i;

	for (i = 0; i < items->count; i++) {
		size_t place = (items->next + i) % items->count;
		struct item *item = &items->items[place];

		if (item->serial == entry->serial &&
		    !strcmp(item->name, entry->name)) {
			items->next = place + 1;
			return item;
		}
	}
	return NULL;
}

static int add_item(struct monitor *monitor, enum proc_kind kind,
		    const struct proc_entry *entry)
{
	struct items *items = &monitor->kinds[kind];
	struct item *item;

	if (items->count == items->room) {
		size_t room = items->room ? items->room * 2 : 64;

		item = reallocarray(items->items, room, sizeof(*item));
		if (!item)
			return -ENOMEM;
		items->items = item;
		items->room = room;
	}
	item = &items->items[items->count];
	memset(item, 0, sizeof(*item));
	memcpy(item->name, entry->name, sizeof(item->name));
	item->serial = entry->serial;
	item->seen = monitor->ticks;
	item->scope = hyphae_scope_new(monitor->graph);
	if (!item->scope)
		return -errno;
	items->count++;
	/* What is made from here to the leave belongs to the scope. */
	hyphae_scope_enter(item->scope);
	add_cells(monitor, kind, item, entry);
	hyphae_scope_leave(item->scope);
	return item->result ? 0 : -errno;
}

/* Release what this tick has not seen, and close the gaps. */
static bool drop_unseen(struct monitor *monitor, struct items *items)
{
	size_t kept = 0, i;
	bool dropped;

	for (i = 0; i < items->count; i++) {
		if (items->items[i].seen == monitor->ticks)
			items->items[kept++] = items->items[i];
		else
			hyphae_scope_dispose(items->items[i].scope);
	}
	dropped = kept < items->count;
	items->count = kept;
	items->next = 0;
	return dropped;
}

/* Have one item for each thing that the snapshot has. */
static int follow_kind(struct monitor *monitor, enum proc_kind kind,
		       bool *ret_changed)
{
	const struct proc_list *list = &monitor->snapshot.lists[kind];
	struct items *items = &monitor->kinds[kind];
	size_t i;
	int err = 0;

	for (i = 0; i < list->count && !err; i++) {
		struct item *item = find_item(items, &list->entries[i]);

		if (item) {
			item->seen = monitor->ticks;
			continue;
		}
		*ret_changed = true;
		err = add_item(monitor, kind, &list->entries[i]);
	}
	if (!err && drop_unseen(monitor, items))
		*ret_changed = true;
	return err;
}

/* ---- subscribers ------------------------------------------------------ */

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

/* ---- summaries -------------------------------------------------------- */

static int is_busy(const void *load, void *ctx)
{
	(void)ctx;
	return *(const double *)load > BUSY_SHARE;
}

static int compute_flow(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	struct flow *flow = ret;

	(void)count;
	(void)ctx;
	flow->in = *(const double *)inputs[0];
	flow->out = *(const double *)inputs[1];
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

enum which_result { RESULT, SECOND_RESULT };

/* The results of all items of a kind, for the caller to free. */
static struct hyphae_cell **results(const struct items *items,
				    enum which_result which)
{
	struct hyphae_cell **cells;
	size_t i;

	cells = calloc(items->count + 1, sizeof(struct hyphae_cell *));
	for (i = 0; cells && i < items->count; i++)
		cells[i] = which == RESULT ? items->items[i].result
					   : items->items[i].second_result;
	return cells;
}

typedef struct hyphae_cell *(*summary_fn)(struct hyphae_cell *const *inputs,
					  size_t count);

/* NULL, with errno 0, if the machine has nothing of this kind. */
static struct hyphae_cell *summarize(const struct items *items,
				     enum which_result which, summary_fn fn)
{
	struct hyphae_cell **cells = results(items, which);
	struct hyphae_cell *summary;

	if (!cells)
		return NULL;
	errno = 0;
	summary = items->count ? fn(cells, items->count) : NULL;
	free(cells);
	return summary;
}

static struct hyphae_cell *rank(struct hyphae_cell *const *inputs, size_t count)
{
	return hyphae_combine(inputs, count, &ranking_type, compute_ranking,
			      NULL);
}

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

static int show_total_flow(struct monitor *monitor, enum proc_kind kind,
			   const char *name, struct line *line)
{
	const struct items *items = &monitor->kinds[kind];
	struct hyphae_cell *parts[2], *flow;

	parts[0] = named(summarize(items, RESULT, sum_of), "%s.total.in", name);
	parts[1] = named(summarize(items, SECOND_RESULT, sum_of),
			 "%s.total.out", name);
	flow = named(hyphae_combine(parts, 2, &flow_type, compute_flow, NULL),
		     "%s.total", name);
	return show(flow, on_flow, line);
}

static int show_total_rate(struct monitor *monitor, enum proc_kind kind,
			   const char *name, struct line *line)
{
	return show(named(summarize(&monitor->kinds[kind], RESULT, sum_of),
			  "%s.total", name),
		    on_rate, line);
}

static int show_cpus(struct monitor *monitor)
{
	const struct items *cpus = &monitor->kinds[PROC_CPU];
	struct screen *screen = &monitor->screen;
	struct hyphae_cell *total;
	size_t i;
	int err;

	memset(screen->cpus, 0, sizeof(screen->cpus));
	for (i = 0; i < cpus->count && i < SCREEN_CPUS; i++) {
		struct line *line = &screen->cpus[i];

		snprintf(line->label, sizeof(line->label), "  %.10s",
			 cpus->items[i].name);
		err = show(cpus->items[i].result, on_share, line);
		if (err)
			return err;
	}
	total = named(summarize(cpus, RESULT, mean_of), "cpu.total");
	err = show(total, on_share, &screen->cpu_total);
	if (err)
		return err;
	/* Lets only high loads pass; it has no value until there is one. */
	return show(named(hyphae_filter(total, is_busy, NULL), "cpu.busy"),
		    on_busy, &screen->alarm);
}

static int show_machine(struct monitor *monitor)
{
	struct screen *screen = &monitor->screen;
	int err;

	err = show_cpus(monitor);
	if (!err)
		err = show_total_rate(monitor, PROC_INTERRUPT, "irq",
				      &screen->interrupts);
	if (!err)
		err = show_total_rate(monitor, PROC_SOFTIRQ, "softirq",
				      &screen->softirqs);
	if (!err)
		err = show_total_flow(monitor, PROC_DISK, "disk",
				      &screen->disk);
	if (!err)
		err = show_total_flow(monitor, PROC_NETWORK, "net",
				      &screen->network);
	return err;
}

static int show_processes(struct monitor *monitor)
{
	return show(
		named(summarize(&monitor->kinds[PROC_PROCESS], RESULT, rank),
		      "process.top"),
		on_ranking, &monitor->screen);
}

/*
 * What combines all things of a kind cannot stay when they change: release
 * it, and make it of what there is now.
 */
static int summarize_anew(struct monitor *monitor, struct hyphae_scope **scope,
			  int (*fn)(struct monitor *monitor))
{
	int err;

	hyphae_scope_dispose(*scope);
	*scope = hyphae_scope_new(monitor->graph);
	if (!*scope)
		return -errno;
	hyphae_scope_enter(*scope);
	err = fn(monitor);
	hyphae_scope_leave(*scope);
	return err;
}

/* ---- the monitor ------------------------------------------------------ */

static double now_seconds(void)
{
	return (double)clock_ns() / 1e9;
}

static int monitor_open(struct monitor *monitor)
{
	memset(monitor, 0, sizeof(*monitor));
	screen_init(&monitor->screen);
	monitor->ticks_per_second = (double)sysconf(_SC_CLK_TCK);
	/* Only this thread uses it, so it needs no locks. */
	monitor->graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	if (!monitor->graph)
		return -errno;
	monitor->scope = hyphae_scope_new(monitor->graph);
	if (!monitor->scope)
		return -errno;
	/* Stays entered, so that all scopes made later are its children. */
	hyphae_scope_enter(monitor->scope);
	monitor->now =
		named(hyphae_double_new(monitor->graph, now_seconds()), "now");
	monitor->memory = named(
		memory_new_at(monitor->graph, (struct memory){0}, HYPHAE_HERE),
		"memory");
	if (!monitor->now || !monitor->memory)
		return -errno;
	return show(monitor->memory, on_memory, &monitor->screen.memory);
}

/* Have the right items, before anything is written. */
static int follow_machine(struct monitor *monitor)
{
	bool changed = false, processes_changed = false;
	enum proc_kind kind;
	int err = 0;

	for (kind = 0; kind < PROC_PROCESS && !err; kind++)
		err = follow_kind(monitor, kind, &changed);
	if (!err)
		err = follow_kind(monitor, PROC_PROCESS, &processes_changed);
	if (!err && changed)
		err = summarize_anew(monitor, &monitor->machine_summary,
				     show_machine);
	if (!err && processes_changed)
		err = summarize_anew(monitor, &monitor->process_summary,
				     show_processes);
	return err;
}

/*
 * Called in a batch.  A set returns a positive number when the value is what
 * it was; only a negative one is an error.
 */
static int write_snapshot(void *ctx)
{
	struct monitor *monitor = ctx;
	enum proc_kind kind;
	size_t i;
	int err;

	err = hyphae_double_set(monitor->now, now_seconds());
	if (err >= 0)
		err = memory_set(monitor->memory, monitor->snapshot.memory);
	for (kind = 0; kind < PROC_KINDS; kind++) {
		const struct proc_list *list = &monitor->snapshot.lists[kind];
		struct items *items = &monitor->kinds[kind];

		for (i = 0; i < list->count && err >= 0; i++) {
			struct item *item = find_item(items, &list->entries[i]);

			if (item)
				err = set_source(kind, item, &list->entries[i]);
		}
	}
	return err < 0 ? err : 0;
}

/*
 * All readings of a tick go in as one batch: every derived cell is computed
 * at most once, and no subscriber sees half of a tick.
 */
static int monitor_tick(struct monitor *monitor)
{
	int err;

	monitor->ticks++;
	err = proc_read(&monitor->snapshot);
	if (!err)
		err = follow_machine(monitor);
	if (!err)
		err = hyphae_batch(monitor->graph, write_snapshot, monitor);
	return err;
}

static void monitor_print(const struct monitor *monitor, double hz)
{
	struct hyphae_graph_counts counts = {0};
	char title[80], clock[16] = "";
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	hyphae_graph_counts(monitor->graph, &counts);
	snprintf(title, sizeof(title),
		 "sysmon %s: %zu cells, %zu subscriptions, %g Hz", clock,
		 counts.cells, counts.subscriptions, hz);
	screen_print(&monitor->screen, title, stdout);
}

/* Everything was made in a scope, so this must leave an empty graph. */
static int monitor_close(struct monitor *monitor)
{
	struct hyphae_graph_counts counts = {0};
	enum proc_kind kind;

	if (monitor->scope) {
		hyphae_scope_leave(monitor->scope);
		hyphae_scope_dispose(monitor->scope);
	}
	hyphae_graph_counts(monitor->graph, &counts);
	hyphae_graph_free(monitor->graph);
	for (kind = 0; kind < PROC_KINDS; kind++)
		free(monitor->kinds[kind].items);
	proc_free(&monitor->snapshot);
	if (counts.cells || counts.subscriptions) {
		fprintf(stderr,
			"sysmon: %zu cells and %zu subscriptions were left.\n",
			counts.cells, counts.subscriptions);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* ---- main loop -------------------------------------------------------- */

static atomic_bool stopped;

static void on_stop(int signal)
{
	(void)signal;
	atomic_store(&stopped, true);
}

struct options {
	double hz;
	double seconds; /* 0: until a signal */
	bool quiet;
};

static int run(struct monitor *monitor, const struct options *options)
{
	uint64_t period = (uint64_t)(1e9 / options->hz);
	uint64_t start = clock_ns(), next = start, print = start;
	int err = 0;

	while (!atomic_load(&stopped) && !err) {
		if (options->seconds > 0 &&
		    (double)(next - start) >= options->seconds * 1e9)
			break;
		err = monitor_tick(monitor);
		if (!err && !options->quiet && clock_ns() >= print) {
			monitor_print(monitor, options->hz);
			print += 1000000000;
		}
		next += period;
		/* Too slow for this rate: leave ticks out, do not pile up. */
		if (next < clock_ns())
			next = clock_ns();
		sleep_until_ns(next);
	}
	return err;
}

static const char help[] =
	"Usage: sysmon [OPTION]...\n"
	"Show what this machine does, as a graph of reactive cells.\n"
	"\n"
	"  --hz N        read /proc this many times a second (10)\n"
	"  --seconds S   stop after this time (at an interrupt)\n"
	"  --quiet       print nothing\n"
	"  --help        this text\n";

static const struct option long_options[] = {
	{"hz", required_argument, NULL, 'z'},
	{"seconds", required_argument, NULL, 's'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static struct options read_options(int argc, char **argv)
{
	struct options options = {.hz = 10};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'z':
			options.hz = option_number("hz", optarg, 0.01, 10000);
			break;
		case 's':
			options.seconds =
				option_number("seconds", optarg, 0.001, 1e9);
			break;
		case 'q':
			options.quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(EXIT_SUCCESS);
		default:
			option_unknown();
		}
	}
	option_no_more(argc, argv, optind);
	return options;
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	struct sigaction action = {.sa_handler = on_stop};
	struct monitor monitor;
	int err, status;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	err = monitor_open(&monitor);
	if (!err)
		err = run(&monitor, &options);
	if (err)
		fprintf(stderr, "sysmon: it cannot go on: %s.\n",
			strerror(-err));
	status = monitor_close(&monitor);
	return err ? EXIT_FAILURE : status;
}
