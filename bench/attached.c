/* SPDX-License-Identifier: MIT */
/*
 * attached: what it costs to be watched.
 *
 * Measures the nanoseconds of a fan-out alone and while hyphae-top counts it,
 * in turn, and what a record costs that is written by hand: 24 bytes and two
 * looks at the clock.  Then fires five million times a second for a while.
 * Each time hyphae-top must have counted every fan-out, and lost none.
 *
 * Needs root, and hyphae-top beside itself.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "lib/options.h"

extern char **environ;

/* A source and so many derived cells: each of them fires once a set. */
#define CHAIN 9
#define FIRES_A_SET (CHAIN + 1)
#define ROUNDS 3
#define PACED_RATE 5000000
#define TARGET_NS 100.0
#define ATTACH_LIMIT_NS 20000000000ull

struct load {
	struct hyphae_graph *graph;
	struct hyphae_cell *source;
	int64_t value;
	uint64_t fires; /* since the watcher came */
};

/* What hyphae-top has told, summed over its intervals. */
struct seen {
	uint64_t fires;
	uint64_t lost;
};

struct watcher {
	pid_t pid;
	FILE *output;
};

_Noreturn static void give_up(const char *what, int err)
{
	fprintf(stderr, "attached: %s: %s.\n", what, strerror(err));
	exit(EXIT_FAILURE);
}

/* ---- the load ------------------------------------------------------------ */

static volatile int64_t sink;

static int add_to_sink(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	sink += hyphae_int64_of(signal);
	return 0;
}

static int add_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static void load_open(struct load *load)
{
	struct hyphae_cell *cell;
	int i;

	memset(load, 0, sizeof(*load));
	load->graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	if (!load->graph)
		give_up("cannot make a graph", errno);
	load->source = cell = hyphae_int64_new(load->graph, 0);
	for (i = 0; i < CHAIN; i++)
		cell = hyphae_map(cell, &hyphae_int64, add_one, NULL);
	if (!cell || !hyphae_subscribe(cell, add_to_sink, NULL))
		give_up("cannot make a chain", errno);
}

static void load_sets(struct load *load, uint64_t sets)
{
	load->fires += sets * FIRES_A_SET;
	while (sets--)
		hyphae_int64_set(load->source, ++load->value);
}

/* Nanoseconds of a fan-out, over about `seconds`. */
static double load_time(struct load *load, double seconds)
{
	uint64_t start = clock_ns(), now = start, sets = 0;

	while ((double)(now - start) < seconds * 1e9) {
		load_sets(load, 1000);
		sets += 1000;
		now = clock_ns();
	}
	return (double)(now - start) / (double)(sets * FIRES_A_SET);
}

static void load_paced(struct load *load, double seconds)
{
	uint64_t next = clock_ns();
	int i;

	for (i = 0; i < (int)(seconds * 1000); i++) {
		load_sets(load, PACED_RATE / 1000 / FIRES_A_SET);
		next += 1000000;
		sleep_until_ns(next);
	}
}

/* ---- by hand --------------------------------------------------------------- */

struct record {
	uint64_t cell;
	uint32_t start, compute, fanout, depth;
};

#define RECORDS 680

__attribute__((noinline)) static void append(struct record *records,
					     uint32_t *count, uint64_t cell)
{
	uint64_t start = clock_ns();
	uint64_t end = clock_ns();

	records[*count] = (struct record){
		.cell = cell,
		.start = (uint32_t)start,
		.fanout = (uint32_t)(end - start),
	};
	*count = *count + 1 == RECORDS ? 0 : *count + 1;
}

static double record_time(void)
{
	static struct record records[RECORDS];
	const uint64_t times = 2000000;
	uint32_t count = 0;
	uint64_t start = clock_ns(), i;

	for (i = 0; i < times; i++)
		append(records, &count, i);
	return (double)(clock_ns() - start) / (double)times;
}

/* ---- the watcher ------------------------------------------------------------ */

static void beside_me(const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		give_up("cannot tell where it is", errno);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	if ((size_t)snprintf(path, size, "%s/%s", self, name) >= size)
		give_up("cannot tell where it is", ENAMETOOLONG);
}

static void watcher_start(struct watcher *watcher, const char *program)
{
	char pid[16];
	char *arguments[] = {(char *)program, "-p",	pid, "-d",
			     "0.5",	      "--json", NULL};
	posix_spawn_file_actions_t actions;
	uint64_t limit = clock_ns() + ATTACH_LIMIT_NS;
	int err;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	watcher->output = tmpfile();
	if (!watcher->output)
		give_up("cannot make a file", errno);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(watcher->output),
					 STDOUT_FILENO);
	err = posix_spawn(&watcher->pid, program, &actions, NULL, arguments,
			  environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		give_up(program, err);
	while (!hyphae_watched()) {
		if (waitpid(watcher->pid, NULL, WNOHANG) != 0 ||
		    clock_ns() > limit) {
			fprintf(stderr,
				"attached: hyphae-top did not attach.\n");
			exit(EXIT_FAILURE);
		}
		sleep_until_ns(clock_ns() + 1000000);
	}
}

static uint64_t number_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

/* End it, and add up what it has printed. */
static struct seen watcher_stop(struct watcher *watcher)
{
	struct seen seen = {0};
	int status;

	kill(watcher->pid, SIGINT);
	if (waitpid(watcher->pid, &status, 0) < 0)
		give_up("hyphae-top is gone", errno);
	rewind(watcher->output);
	for (;;) {
		json_t *line = json_loadf(watcher->output,
					  JSON_DISABLE_EOF_CHECK, NULL);

		if (!line)
			break;
		seen.fires += number_of(line, "fires");
		seen.lost += number_of(line, "lost");
		json_decref(line);
	}
	fclose(watcher->output);
	return seen;
}

/* ---- telling ------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

static bool counted_all(const char *when, uint64_t fires, struct seen seen)
{
	if (seen.fires == fires && seen.lost == 0)
		return true;
	fprintf(stderr,
		"attached: %s: %" PRIu64 " fan-outs, of which hyphae-top "
		"counted %" PRIu64 " and lost %" PRIu64 ".\n",
		when, fires, seen.fires, seen.lost);
	return false;
}

static void tell(double alone, double watched, double by_hand, bool json)
{
	double extra = watched - alone;

	if (!json) {
		printf("a fan-out alone     %6.1f ns\n"
		       "          watched   %6.1f ns\n"
		       "          costs     %6.1f ns more (at most %.0f)\n"
		       "a record by hand    %6.1f ns: %.2f times that\n",
		       alone, watched, extra, TARGET_NS, by_hand,
		       extra / by_hand);
		return;
	}
	printf("{\"bench\":\"attached_records\",\"ns\":%.2f,"
	       "\"floor_ns\":%.2f,\"ratio\":%.3f,\"target\":1.5,"
	       "\"alone_ns\":%.2f,\"watched_ns\":%.2f}\n",
	       extra, by_hand, extra / by_hand, alone, watched);
}

static int measure(const char *program, bool json)
{
	double alone[ROUNDS], watched[ROUNDS], by_hand[ROUNDS];
	struct watcher watcher;
	struct load load;
	bool all = true;
	int i;

	load_open(&load);
	load_time(&load, 0.2); /* warm up */
	for (i = 0; i < ROUNDS; i++) {
		alone[i] = load_time(&load, 1);
		by_hand[i] = record_time();
		watcher_start(&watcher, program);
		load.fires = 0;
		watched[i] = load_time(&load, 1);
		all &= counted_all("at full speed", load.fires,
				   watcher_stop(&watcher));
	}
	tell(median(alone), median(watched), median(by_hand), json);
	watcher_start(&watcher, program);
	load.fires = 0;
	load_paced(&load, 2);
	all &= counted_all("at five million a second", load.fires,
			   watcher_stop(&watcher));
	hyphae_graph_free(load.graph);
	return all ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char help[] =
	"Usage: attached [OPTION]...\n"
	"What it costs a program that hyphae-top watches it.  Needs root.\n"
	"\n"
	"  --json   one object instead of a table\n"
	"  --help   this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

int main(int argc, char **argv)
{
	char program[PATH_MAX];
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			option_unknown();
		}
	}
	option_no_more(argc, argv, optind);
	beside_me("hyphae-top", program, sizeof(program));
	return measure(program, json);
}
