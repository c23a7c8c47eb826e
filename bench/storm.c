/* SPDX-License-Identifier: MIT */
/*
 * storm: a synthetic load with known truth.
 *
 * Builds graphs of many shapes, writes to them as fast as it can or at a
 * given rate, and tells in the end how often each cell was written, fired
 * and re-fired.  What a tool has counted from outside must be equal to it.
 *
 * Each thread has two graphs of its own, of which one is eager, and all
 * threads write to one more that they share.  A thread works in stretches of
 * some writes and batches; each stretch is an explicit pass, so cells that
 * fire more than once in a stretch re-fire.
 *
 * storm/graph.c builds the graphs, storm/truth.c adds up the pass
 * reports and compares them with what the callbacks counted.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "lib/options.h"
#include "storm/graph.h"
#include "storm/truth.h"

#define THREADS_MAX 256
#define STRETCH_STEPS 64
#define BATCH_MAX 8
/* Sources take values below this, so one in so many sets is unchanged. */
#define VALUES 32
/* At a given rate, stretches are made as short as to come this often. */
#define STRETCHES_PER_SECOND 100
#define POLL_NS 2000000ull

struct options {
	size_t cells;
	size_t fan;
	size_t depth;
	double rate;
	size_t threads;
	double seconds;
	uint64_t seed;
	uint64_t sets; /* 0: as many as the time allows */
	const char *truth;
	bool wait;
	bool passes;
};

struct worker {
	struct storm *storm;
	struct storm_graph *plain;
	struct storm_graph *eager;
	struct storm_sum sum;
	uint64_t random;
	uint64_t sets;
	uint64_t sets_wanted; /* UINT64_MAX: no limit */
	size_t steps;	      /* in a stretch */
	double rate;
	pthread_t thread;
	int error;
};

struct storm {
	struct options options;
	struct storm_graph *graphs; /* the shared one, then two a thread */
	size_t graphs_count;
	struct storm_index index;
	struct worker *workers;
	uint64_t end_ns;
};

static atomic_bool stopped;
static atomic_bool told_to_start;

static void on_stop(int signal)
{
	(void)signal;
	atomic_store(&stopped, true);
}

static void on_start(int signal)
{
	(void)signal;
	atomic_store(&told_to_start, true);
}

/* ---- one thread's work ----------------------------------------------- */

/* xorshift64*: the same seed gives the same writes. */
static uint64_t random_next(struct worker *worker)
{
	uint64_t x = worker->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	worker->random = x;
	return x * 2685821657736338717ull >> 16;
}

static size_t random_below(struct worker *worker, size_t limit)
{
	return (size_t)(random_next(worker) % limit);
}

static struct storm_cell *random_source(struct worker *worker,
					const struct storm_graph *graph)
{
	return graph->sources[random_below(worker, graph->sources_count)];
}

static struct storm_graph *random_graph(struct worker *worker)
{
	switch (random_below(worker, 4)) {
	case 0:
		return worker->eager;
	case 1:
		return worker->storm->graphs;
	default:
		return worker->plain;
	}
}

/* A write in a graph that others write to is theirs to count as well. */
static void wrote(struct storm_cell *cell, int64_t value)
{
	if (cell->writes_counted)
		storm_cell_wrote(cell, value);
}

static int set_one(struct worker *worker, struct storm_cell *cell,
		   int64_t value)
{
	int err = storm_cell_set(cell, value);

	worker->sets++;
	if (err < 0)
		return err;
	wrote(cell, value);
	return 0;
}

struct write {
	struct storm_cell *cell;
	int64_t value;
};

/* In a batch the last write of a cell is the one that counts. */
static void wrote_batch(const struct write *writes, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++) {
		for (j = i + 1; j < count; j++)
			if (writes[j].cell == writes[i].cell)
				break;
		if (j == count)
			wrote(writes[i].cell, writes[i].value);
	}
}

static int set_batch(struct worker *worker, struct storm_graph *graph,
		     size_t count)
{
	struct write writes[BATCH_MAX];
	int err, end;
	size_t i;

	err = hyphae_batch_begin(graph->graph);
	if (err)
		return err;
	for (i = 0; i < count && err >= 0; i++) {
		writes[i].cell = random_source(worker, graph);
		writes[i].value = (int64_t)random_below(worker, VALUES);
		err = storm_cell_set(writes[i].cell, writes[i].value);
	}
	worker->sets += count;
	end = hyphae_batch_end(graph->graph);
	if (err < 0 || end < 0)
		return err < 0 ? err : end;
	wrote_batch(writes, count);
	return 0;
}

/* Sets that may still be made, at most `most`. */
static size_t sets_left(const struct worker *worker, size_t most)
{
	uint64_t left = worker->sets_wanted - worker->sets;

	return left < most ? (size_t)left : most;
}

static int step(struct worker *worker)
{
	struct storm_graph *graph = random_graph(worker);

	if (random_below(worker, 4) == 0)
		return set_batch(
			worker, graph,
			sets_left(worker, 2 + random_below(worker, 7)));
	return set_one(worker, random_source(worker, graph),
		       (int64_t)random_below(worker, VALUES));
}

/*
 * The first write of a stretch is a change, in a graph that only this thread
 * writes to: so there is no pass in which nothing happens.
 */
static int stretch(void *ctx)
{
	struct worker *worker = ctx;
	struct storm_cell *first = worker->plain->sources[0];
	size_t i;
	int err;

	err = set_one(worker, first, (first->value + 1) % VALUES);
	for (i = 1; i < worker->steps && !err && sets_left(worker, 1); i++)
		err = step(worker);
	return err;
}

static int stretch_in_pass(struct worker *worker)
{
	struct hyphae_report report;
	int err;

	err = hyphae_pass(stretch, worker, &report);
	if (err)
		return err;
	storm_sum_report(&worker->sum, &worker->storm->index, &report);
	hyphae_report_done(&report);
	return 0;
}

static void *work(void *ctx)
{
	struct worker *worker = ctx;
	const struct storm *storm = worker->storm;
	uint64_t start = clock_ns();

	while (!worker->error && sets_left(worker, 1) &&
	       !atomic_load_explicit(&stopped, memory_order_relaxed) &&
	       clock_ns() < storm->end_ns) {
		if (storm->options.passes)
			worker->error = stretch_in_pass(worker);
		else
			worker->error = stretch(worker);
		if (worker->rate > 0)
			sleep_until_ns(start + (uint64_t)((double)worker->sets /
							  worker->rate * 1e9));
	}
	return NULL;
}

/* ---- the whole storm ------------------------------------------------- */

/* Exactly `cells` cells in all; the shared graph gets what is left over. */
static int build_graphs(struct storm *storm)
{
	const struct options *options = &storm->options;
	struct storm_plan plan = {
		.fan = options->fan,
		.depth = options->depth,
	};
	size_t count = 1 + 2 * options->threads;
	size_t each = options->cells / count;
	size_t i;
	int err;

	storm->graphs = calloc(count, sizeof(*storm->graphs));
	if (!storm->graphs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		unsigned int flags = HYPHAE_SINGLE_THREAD;
		size_t cells = each;

		if (i == 0) {
			flags = 0;
			cells = options->cells - each * (count - 1);
		} else if (i % 2 == 0) {
			flags |= HYPHAE_EAGER;
		}
		err = storm_graph_build(&storm->graphs[i], flags,
					i == 0 && options->threads > 1, cells,
					&plan);
		if (err)
			return err;
		storm->graphs_count++;
	}
	return storm_index_build(&storm->index, storm->graphs, count);
}

static void set_up_worker(struct storm *storm, size_t number)
{
	const struct options *options = &storm->options;
	struct worker *worker = &storm->workers[number];
	double stretch_rate;

	worker->storm = storm;
	worker->plain = &storm->graphs[1 + 2 * number];
	worker->eager = &storm->graphs[2 + 2 * number];
	/* xorshift must not start from 0, and likes some bits set. */
	worker->random = (options->seed * THREADS_MAX + number + 1) *
			 0x9e3779b97f4a7c15ull;
	worker->sets_wanted = UINT64_MAX;
	if (options->sets)
		worker->sets_wanted =
			options->sets / options->threads +
			(number < options->sets % options->threads);
	worker->rate = options->rate / (double)options->threads;
	worker->steps = STRETCH_STEPS;
	stretch_rate = worker->rate / STRETCHES_PER_SECOND;
	if (worker->rate > 0 && stretch_rate < STRETCH_STEPS)
		worker->steps = stretch_rate < 1 ? 1 : (size_t)stretch_rate;
}

static int set_up(struct storm *storm)
{
	const struct options *options = &storm->options;
	size_t i;
	int err;

	err = build_graphs(storm);
	if (err)
		return err;
	storm->workers = calloc(options->threads, sizeof(*storm->workers));
	if (!storm->workers)
		return -ENOMEM;
	for (i = 0; i < options->threads && !err; i++) {
		set_up_worker(storm, i);
		err = storm_sum_init(&storm->workers[i].sum, &storm->index);
	}
	return err;
}

static void tear_down(struct storm *storm)
{
	size_t i;

	for (i = 0; storm->workers && i < storm->options.threads; i++)
		storm_sum_free(&storm->workers[i].sum);
	for (i = 0; i < storm->graphs_count; i++)
		storm_graph_free(&storm->graphs[i]);
	storm_index_free(&storm->index);
	free(storm->workers);
	free(storm->graphs);
}

/* The main thread is the first worker. */
static int run(struct storm *storm)
{
	size_t threads = storm->options.threads;
	size_t started, i;
	int err = 0;

	storm->end_ns = clock_ns() + (uint64_t)(storm->options.seconds * 1e9);
	for (started = 1; started < threads && !err; started++)
		err = -pthread_create(&storm->workers[started].thread, NULL,
				      work, &storm->workers[started]);
	if (err) {
		started--; /* the one that did not start */
		atomic_store(&stopped, true);
	} else {
		work(&storm->workers[0]);
	}
	for (i = 1; i < started; i++)
		pthread_join(storm->workers[i].thread, NULL);
	for (i = 0; i < threads && !err; i++)
		err = storm->workers[i].error;
	for (i = 0; i < storm->graphs_count && !err; i++)
		err = hyphae_graph_check_idle(storm->graphs[i].graph);
	return err;
}

/*
 * SIGUSR1 starts it as well, for tracers that do not attach to the probe that
 * hyphae_watched() asks about.
 */
static void wait_for_tracer(void)
{
	fprintf(stderr, "storm: %d ready\n", (int)getpid());
	while (!atomic_load(&stopped) && !atomic_load(&told_to_start)) {
		if (hyphae_watched())
			return;
		sleep_until_ns(clock_ns() + POLL_NS);
	}
}

static int conclude(struct storm *storm, FILE *truth)
{
	struct storm_sum *sum = NULL;
	size_t i;
	int err;

	if (storm->options.passes) {
		sum = &storm->workers[0].sum;
		for (i = 1; i < storm->options.threads; i++)
			storm_sum_add(sum, &storm->index,
				      &storm->workers[i].sum);
		if (!storm_truth_agrees(&storm->index, sum))
			return EXIT_FAILURE;
	}
	if (!truth)
		return EXIT_SUCCESS;
	err = storm_truth_write(truth, &storm->index, sum);
	if (err) {
		fprintf(stderr, "storm: cannot write the truth to %s: %s.\n",
			storm->options.truth, strerror(-err));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static void say_what_was_done(const struct storm *storm, uint64_t took_ns)
{
	uint64_t sets = 0;
	size_t i;

	for (i = 0; i < storm->options.threads; i++)
		sets += storm->workers[i].sets;
	fprintf(stderr,
		"storm: %zu cells, %" PRIu64
		" sets in %.2f s by %zu thread%s\n",
		storm->index.count, sets, (double)took_ns / 1e9,
		storm->options.threads, storm->options.threads == 1 ? "" : "s");
}

static int weather(const struct options *options, FILE *truth)
{
	struct storm storm = {.options = *options};
	uint64_t start;
	int err, status = EXIT_FAILURE;

	err = set_up(&storm);
	if (!err) {
		if (options->wait)
			wait_for_tracer();
		start = clock_ns();
		err = run(&storm);
		say_what_was_done(&storm, clock_ns() - start);
	}
	if (err)
		fprintf(stderr, "storm: the library failed: %s.\n",
			strerror(-err));
	else
		status = conclude(&storm, truth);
	tear_down(&storm);
	return status;
}

/* ---- command line ---------------------------------------------------- */

static const char help[] =
	"Usage: storm [OPTION]...\n"
	"Write to a graph of reactive cells, and tell what happened.\n"
	"\n"
	"  --cells N      cells in all graphs together (1000)\n"
	"  --fan F        derived cells of a fan, sides of a diamond (10)\n"
	"  --depth D      links of a chain (10)\n"
	"  --rate R       sets a second of all threads together; 0: full speed "
	"(0)\n"
	"  --threads T    threads that write (1)\n"
	"  --seconds S    how long (5; with --sets: without limit)\n"
	"  --sets COUNT   stop after this many sets\n"
	"  --seed K       other writes (1)\n"
	"  --truth FILE   what happened, as JSON\n"
	"  --wait         start when a tracer has attached to the probe "
	"watch,\n"
	"                 or at SIGUSR1\n"
	"  --no-pass      open no passes: faster, but re-fires stay unknown\n"
	"  --help         this text\n"
	"\n"
	"The status is 1 if the pass reports and the storm's own counts "
	"differ.\n";

static const struct option long_options[] = {
	{"cells", required_argument, NULL, 'c'},
	{"fan", required_argument, NULL, 'f'},
	{"depth", required_argument, NULL, 'd'},
	{"rate", required_argument, NULL, 'r'},
	{"threads", required_argument, NULL, 't'},
	{"seconds", required_argument, NULL, 's'},
	{"sets", required_argument, NULL, 'n'},
	{"seed", required_argument, NULL, 'k'},
	{"truth", required_argument, NULL, 'o'},
	{"wait", no_argument, NULL, 'w'},
	{"no-pass", no_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void take_option(struct options *options, int option)
{
	switch (option) {
	case 'c':
		options->cells = option_count("cells", optarg, 1, 100000000);
		break;
	case 'f':
		options->fan = option_count("fan", optarg, 1, 1000000);
		break;
	case 'd':
		options->depth = option_count("depth", optarg, 1, 100000000);
		break;
	case 'r':
		options->rate = option_number("rate", optarg, 0, 1e12);
		break;
	case 't':
		options->threads =
			option_count("threads", optarg, 1, THREADS_MAX);
		break;
	case 's':
		options->seconds = option_number("seconds", optarg, 0, 1e9);
		break;
	case 'n':
		options->sets = option_count("sets", optarg, 1, INT64_MAX);
		break;
	case 'k':
		options->seed = option_count("seed", optarg, 0, INT64_MAX);
		break;
	case 'o':
		options->truth = optarg;
		break;
	case 'w':
		options->wait = true;
		break;
	case 'p':
		options->passes = false;
		break;
	case 'h':
		fputs(help, stdout);
		exit(EXIT_SUCCESS);
	default:
		option_unknown();
	}
}

static struct options read_options(int argc, char **argv)
{
	struct options options = {
		.cells = 1000,
		.fan = 10,
		.depth = 10,
		.threads = 1,
		.seconds = -1,
		.seed = 1,
		.passes = true,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		take_option(&options, option);
	option_no_more(argc, argv, optind);
	if (options.seconds < 0)
		options.seconds = options.sets ? 1e9 : 5;
	if (options.cells < 1 + 2 * options.threads) {
		fprintf(stderr,
			"storm: --cells %zu is too few for %zu threads: each "
			"has two graphs and all share one, so give at least "
			"%zu.\n",
			options.cells, options.threads,
			1 + 2 * options.threads);
		exit(EXIT_USAGE);
	}
	return options;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_start;
	sigaction(SIGUSR1, &action, NULL);
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	FILE *truth = NULL;
	int status;

	/* A file that cannot be written is better known before the run. */
	if (options.truth) {
		truth = fopen(options.truth, "w");
		if (!truth) {
			fprintf(stderr, "storm: cannot write to %s: %s.\n",
				options.truth, strerror(errno));
			return EXIT_FAILURE;
		}
	}
	catch_signals();
	status = weather(&options, truth);
	if (truth && fclose(truth) && status == EXIT_SUCCESS) {
		fprintf(stderr, "storm: cannot write to %s: %s.\n",
			options.truth, strerror(errno));
		status = EXIT_FAILURE;
	}
	return status;
}
