/* SPDX-License-Identifier: MIT */
/*
 * contended: what threads get done together, as a ratio to one alone.
 *
 *   contended_cell     two threads set one cell that has a subscriber
 *   contended_graphs   two threads, each with a graph of its own
 *   contended_reader   how fast one reads a cell that another sets; ..._worst
 *                      is the worst round, which whoever else uses the
 *                      processors can spoil
 *   ..._by_hand        the same of a value and a function behind a mutex:
 *                      what of it is the machine's
 *
 * Each thread stays on one processor.  Alone and together take turns.
 *
 * What `make bench` runs of it:
 * bench:
 * bench-quick: --quick
 * bench-grow: --grow 16
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "contended/by_hand.h"
#include "lib/measure.h"
#include "lib/options.h"
#include "lib/result.h"

/* Exit status: it cannot be measured here. */
#define EXIT_SKIPPED 77
#define THREADS_MAX 256
/* Operations between two looks at whether it is time to stop. */
#define AT_ONCE 64

_Noreturn static void give_up(const char *what, int err)
{
	fprintf(stderr, "contended: cannot %s: %s.\n", what, strerror(err));
	exit(EXIT_FAILURE);
}

/* ---- what is worked on ------------------------------------------------------ */

/* Of one thread. */
struct worker {
	struct hyphae_cell *cell;
	struct by_hand *hand;
	void (*run)(struct worker *worker);
	int64_t value;
	int64_t sum;
	uint64_t done;
	double rate; /* operations a second */
	int processor;
	pthread_t thread;
};

static void set_some(struct worker *worker)
{
	int i;

	for (i = 0; i < AT_ONCE; i++)
		hyphae_int64_set(worker->cell, ++worker->value);
}

static void get_some(struct worker *worker)
{
	int64_t value = 0;
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		hyphae_int64_get(worker->cell, &value);
		worker->sum += value;
	}
}

static void set_some_by_hand(struct worker *worker)
{
	int i;

	for (i = 0; i < AT_ONCE; i++)
		by_hand_set(worker->hand, ++worker->value);
}

static void get_some_by_hand(struct worker *worker)
{
	int i;

	for (i = 0; i < AT_ONCE; i++)
		worker->sum += by_hand_get(worker->hand);
}

/* Called by one thread at a time, so a plain variable will do. */
static int hear(const struct hyphae_signal *signal, void *ctx)
{
	int64_t *sum = ctx;

	*sum += hyphae_int64_of(signal);
	return 0;
}

/* A thread-safe graph with one cell that has a subscriber. */
static struct hyphae_cell *cell_new(struct hyphae_graph **graph, int64_t *sum)
{
	struct hyphae_cell *cell;

	*graph = hyphae_graph_new(0);
	cell = *graph ? hyphae_int64_new(*graph, 0) : NULL;
	if (!cell || !hyphae_subscribe(cell, hear, sum))
		give_up("make a graph", errno);
	return cell;
}

/* ---- a round ------------------------------------------------------------------ */

static atomic_uint ready;
static atomic_bool go, stop;

static void *work(void *ctx)
{
	struct worker *worker = ctx;

	pin_to(worker->processor);
	worker->run(worker);
	atomic_fetch_add(&ready, 1);
	while (!atomic_load(&go))
		;
	worker->done = 0;
	do {
		worker->run(worker);
		worker->done += AT_ONCE;
	} while (!atomic_load(&stop));
	return NULL;
}

/*
 * Operations a second of all of them together.  One clock for all: where there
 * are more threads than processors, each waits for most of the time.
 */
static double round_of(struct worker *workers, unsigned int count, double ns)
{
	double rate = 0, took;
	uint64_t start;
	unsigned int i;
	int err;

	atomic_store(&ready, 0);
	atomic_store(&go, false);
	atomic_store(&stop, false);
	for (i = 0; i < count; i++) {
		err = pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]);
		if (err)
			give_up("start a thread", err);
	}
	/* Sleeping: where there are more threads than processors it helps. */
	while (atomic_load(&ready) < count)
		sleep_until_ns(clock_ns() + 50000);
	start = clock_ns();
	atomic_store(&go, true);
	sleep_until_ns(start + (uint64_t)ns);
	atomic_store(&stop, true);
	took = (double)(clock_ns() - start);
	for (i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		workers[i].rate = (double)workers[i].done * 1e9 / took;
		rate += workers[i].rate;
	}
	return rate;
}

/* ---- the benches --------------------------------------------------------------- */

struct rounds {
	double alone[ROUNDS_MAX], together[ROUNDS_MAX], ratios[ROUNDS_MAX];
	size_t count;
};

static void rounds_add(struct rounds *rounds, double alone, double together)
{
	rounds->alone[rounds->count] = 1e9 / alone;
	rounds->together[rounds->count] = 1e9 / together;
	rounds->ratios[rounds->count++] = together / alone;
}

static void rounds_tell(struct rounds *rounds, const char *bench,
			const char *unit, double target, bool worst, bool json)
{
	struct result result = {
		.bench = bench,
		.unit = unit,
		.target = target,
		.at_least = true,
	};

	result.value = median(rounds->together, rounds->count);
	result.floor = median(rounds->alone, rounds->count);
	result.ratio = median(rounds->ratios, rounds->count);
	result.spread = spread(rounds->ratios, rounds->count);
	/* Sorted by now. */
	if (worst)
		result.ratio = rounds->ratios[0];
	result_tell(&result, json);
}

/* `count` workers, the nth on processor n modulo those that there are. */
static void place(struct worker *workers, size_t count)
{
	size_t there_are = processors(), i;

	for (i = 0; i < count; i++)
		workers[i].processor = processor_of(i % there_are);
}

struct contest {
	const char *bench, *unit;
	double target; /* 0: none */
	void (*run[2])(struct worker *worker);
	bool each;	   /* works on something of its own */
	bool first;	   /* what counts is what the first gets done */
	const char *worst; /* the name for the worst round, or NULL */
};

static const struct contest contests[] = {
	{"contended_cell", "set", 0.5, {set_some, set_some}, .each = false},
	{"contended_cell_by_hand",
	 "set",
	 0,
	 {set_some_by_hand, set_some_by_hand},
	 .each = false},
	{"contended_graphs", "set", 1.8, {set_some, set_some}, .each = true},
	{"contended_graphs_by_hand",
	 "set",
	 0,
	 {set_some_by_hand, set_some_by_hand},
	 .each = true},
	{"contended_reader",
	 "get",
	 0.5,
	 {get_some, set_some},
	 .first = true,
	 .worst = "contended_reader_worst"},
	{"contended_reader_by_hand",
	 "get",
	 0,
	 {get_some_by_hand, set_some_by_hand},
	 .first = true},
};
#define CONTESTS (sizeof(contests) / sizeof(contests[0]))

/* None shares a cache line with another. */
struct side {
	_Alignas(128) int64_t sum;
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	struct by_hand hand;
};

static void contest_hold(const struct contest *contest,
			 const struct effort *effort, struct side *sides,
			 bool json)
{
	struct worker workers[2] = {{.run = contest->run[0]},
				    {.run = contest->run[1]}};
	struct rounds rounds = {.count = 0};
	double alone, together;
	size_t i;

	for (i = 0; i < 2; i++) {
		struct side *side = &sides[contest->each ? i : 0];

		workers[i].cell = side->cell;
		workers[i].hand = &side->hand;
	}
	place(workers, 2);
	for (i = 0; i < effort->rounds; i++) {
		alone = round_of(workers, 1, effort->round_ns);
		together = round_of(workers, 2, effort->round_ns);
		rounds_add(&rounds, alone,
			   contest->first ? workers[0].rate : together);
	}
	rounds_tell(&rounds, contest->bench, contest->unit, contest->target,
		    false, json);
	if (contest->worst)
		rounds_tell(&rounds, contest->worst, contest->unit,
			    contest->target, true, json);
}

static void measure_all(const struct effort *effort, bool json)
{
	static struct side sides[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		sides[i].cell = cell_new(&sides[i].graph, &sides[i].sum);
		by_hand_init(&sides[i].hand);
	}
	for (i = 0; i < CONTESTS; i++)
		contest_hold(&contests[i], effort, sides, json);
	for (i = 0; i < 2; i++)
		hyphae_graph_free(sides[i].graph);
}

/* ---- more and more threads ------------------------------------------------------ */

struct team {
	struct worker workers[THREADS_MAX];
	struct hyphae_graph *graphs[THREADS_MAX];
	int64_t sums[THREADS_MAX][16]; /* none shares a cache line */
};

static void grow_side(const char *side, bool shared, size_t count,
		      const struct effort *effort)
{
	struct team *team = calloc(1, sizeof(*team));
	double ns[ROUNDS_MAX];
	size_t i;

	if (!team)
		give_up("find memory", errno);
	for (i = 0; i < count; i++) {
		team->workers[i].run = set_some;
		team->workers[i].cell =
			shared && i ? team->workers[0].cell
				    : cell_new(&team->graphs[i], team->sums[i]);
	}
	place(team->workers, count);
	for (i = 0; i < effort->rounds; i++)
		ns[i] = 1e9 / round_of(team->workers, (unsigned int)count,
				       effort->round_ns);
	result_tell_point("threads", side, (double)count,
			  median(ns, effort->rounds));
	for (i = 0; i < count; i++)
		if (team->graphs[i])
			hyphae_graph_free(team->graphs[i]);
	free(team);
}

static void grow(size_t most, const struct effort *effort)
{
	size_t count;

	for (count = 1; count <= most; count *= 2) {
		grow_side("one cell", true, count, effort);
		grow_side("a graph each", false, count, effort);
	}
}

/* ---- what was asked for ----------------------------------------------------------- */

/* A round is long, because starting threads takes a while. */
static const struct effort long_rounds = {20e6, 51};
static const struct effort short_rounds = {10e6, 15};
static const struct effort one_round = {1e6, 1};
/* With more threads than processors a round must be many time slices. */
static const struct effort grow_rounds = {100e6, 11};

static const char help[] =
	"Usage: contended [OPTION]...\n"
	"What threads get done together, as a ratio to one alone.\n"
	"\n"
	"  --json       one object a line instead of a table\n"
	"  --quick      fewer and shorter rounds\n"
	"  --once       one round of each, only to see that they run\n"
	"  --grow N     points for a plot: 1, 2, 4, ... N threads\n"
	"  --help       this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"once", no_argument, NULL, 'o'},
	{"grow", required_argument, NULL, 'g'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

int main(int argc, char **argv)
{
	const struct effort *effort = &long_rounds;
	uint64_t most = 0;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'j':
			json = true;
			break;
		case 'q':
			effort = &short_rounds;
			break;
		case 'o':
			effort = &one_round;
			break;
		case 'g':
			most = option_count("grow", optarg, 1, THREADS_MAX);
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			option_unknown();
		}
	}
	option_no_more(argc, argv, optind);
	if (most) {
		grow(most, effort == &one_round ? effort : &grow_rounds);
		return EXIT_SUCCESS;
	}
	if (processors() < 2 && effort != &one_round) {
		fprintf(stderr, "contended: it takes two processors.\n");
		return EXIT_SKIPPED;
	}
	result_head(json);
	measure_all(effort, json);
	return EXIT_SUCCESS;
}
