/* SPDX-License-Identifier: MIT */
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
 *   sysmon.c           the life of the graph: open, a tick, close
 *   sysmon/items.c     the cells of a processor, a disk, a process, ...
 *   sysmon/blocks.c    building blocks for them: rate, smoothed, sum
 *   sysmon/summary.c   cells over all of them, and the subscribers
 * and, without any cells:
 *   sysmon/proc.c      what /proc says, as plain structs
 *   sysmon/screen.c    the lines of the report
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hyphae/hyphae.h>

#include "lib/options.h"
#include "sysmon/blocks.h"
#include "sysmon/items.h"
#include "sysmon/proc.h"
#include "sysmon/screen.h"
#include "sysmon/summary.h"

struct monitor {
	struct hyphae_graph *graph;
	struct hyphae_scope *scope; /* of all that follows */
	struct hyphae_cell *now;    /* seconds, the clock of all rates */
	struct hyphae_cell *memory;
	struct items kinds[PROC_KINDS];
	struct hyphae_scope *machine_summary;
	struct hyphae_scope *process_summary;
	struct proc_snapshot snapshot;
	struct screen screen;
	uint64_t ticks;
};

/* ---- the monitor ------------------------------------------------------ */

static double now_seconds(void)
{
	return (double)clock_ns() / 1e9;
}

static int monitor_open(struct monitor *monitor)
{
	enum proc_kind kind;

	memset(monitor, 0, sizeof(*monitor));
	screen_init(&monitor->screen);
	/* Only this thread uses it, so it needs no locks. */
	monitor->graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	if (!monitor->graph)
		return -errno;
	monitor->scope = hyphae_scope_new(monitor->graph);
	if (!monitor->scope)
		return -errno;
	/* Stays entered, so that all scopes made later are its children. */
	hyphae_scope_enter(monitor->scope);
	monitor->now = hyphae_double_new(monitor->graph, now_seconds());
	monitor->memory = memory_cell(monitor->graph, &monitor->screen);
	if (!monitor->now || !monitor->memory)
		return -errno;
	name_cell(monitor->now, "now");
	for (kind = 0; kind < PROC_KINDS; kind++)
		monitor->kinds[kind] = (struct items){
			.kind = kind,
			.graph = monitor->graph,
			.now = monitor->now,
		};
	return 0;
}

/* An empty scope in the place of the old one and what was made in it. */
static int renew_scope(struct monitor *monitor, struct hyphae_scope **scope)
{
	hyphae_scope_dispose(*scope);
	*scope = hyphae_scope_new(monitor->graph);
	return *scope ? 0 : -errno;
}

static int renew_machine_summary(struct monitor *monitor)
{
	int err = renew_scope(monitor, &monitor->machine_summary);

	if (err)
		return err;
	hyphae_scope_enter(monitor->machine_summary);
	err = summarize_machine(monitor->kinds, &monitor->screen);
	hyphae_scope_leave(monitor->machine_summary);
	return err;
}

static int renew_process_summary(struct monitor *monitor)
{
	int err = renew_scope(monitor, &monitor->process_summary);

	if (err)
		return err;
	hyphae_scope_enter(monitor->process_summary);
	err = summarize_processes(&monitor->kinds[PROC_PROCESS],
				  &monitor->screen);
	hyphae_scope_leave(monitor->process_summary);
	return err;
}

/* Have cells for the things that there are now, before anything is written. */
static int follow_snapshot(struct monitor *monitor)
{
	const struct proc_list *lists = monitor->snapshot.lists;
	bool machine_changed = false, processes_changed = false;
	enum proc_kind kind;
	int err = 0;

	for (kind = 0; kind < PROC_KINDS && !err; kind++)
		err = items_follow(&monitor->kinds[kind], &lists[kind],
				   monitor->ticks,
				   kind == PROC_PROCESS ? &processes_changed
							: &machine_changed);
	if (!err && machine_changed)
		err = renew_machine_summary(monitor);
	if (!err && processes_changed)
		err = renew_process_summary(monitor);
	return err;
}

/* Called in a batch. */
static int write_snapshot(void *ctx)
{
	struct monitor *monitor = ctx;
	enum proc_kind kind;
	int err;

	err = hyphae_double_set(monitor->now, now_seconds());
	if (err >= 0)
		err = memory_write(monitor->memory, &monitor->snapshot.memory);
	for (kind = 0; kind < PROC_KINDS && err >= 0; kind++)
		err = items_write(&monitor->kinds[kind],
				  &monitor->snapshot.lists[kind]);
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
		err = follow_snapshot(monitor);
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
