/* SPDX-License-Identifier: MIT */
/*
 * attached: what it costs to be watched.
 *
 *   attached_records   nanoseconds that a fan-out costs more while hyphae-top
 *                      counts it; beside a record that is written by hand, 24
 *                      bytes and two looks at the clock.  Then five million
 *                      fan-outs a second for a while
 *   attached_probe     the same while a bpftrace script counts hits of
 *                      `fanout`; beside an empty BPF program on that probe
 *
 * Alone and watched take turns.  Each time the watcher must have counted
 * every fan-out, and lost none.
 *
 * Needs root, hyphae-top beside itself, and bpftrace for the second.
 *
 * What `make bench` runs of it:
 * bench:
 * bench-quick: --quick
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attached/load.h"
#include "attached/watcher.h"
#include "lib/measure.h"
#include "lib/options.h"
#include "lib/result.h"

/* Exit status: it cannot be measured here. */
#define EXIT_SKIPPED 77
#define ROUNDS 3
#define PACED_RATE 5000000

struct options {
	bool json;
	double seconds; /* of a part of a round */
};

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
	uint64_t start, i;

	touch_memory(records, sizeof(records));
	start = clock_ns();
	for (i = 0; i < times; i++)
		append(records, &count, i);
	return (double)(clock_ns() - start) / (double)times;
}

/* ---- the benches ------------------------------------------------------------- */

static bool counted_all(const char *when, uint64_t fires, struct seen seen)
{
	if (seen.fires == fires && seen.lost == 0)
		return true;
	fprintf(stderr,
		"attached: %s: %" PRIu64 " fan-outs, of which the watcher "
		"counted %" PRIu64 " and lost %" PRIu64 ".\n",
		when, fires, seen.fires, seen.lost);
	return false;
}

/* What the rounds of a bench gave: nanoseconds more than alone. */
struct rounds {
	double extra[ROUNDS], floor[ROUNDS], ratios[ROUNDS];
	size_t count;
};

static void rounds_add(struct rounds *rounds, double extra, double floor)
{
	rounds->extra[rounds->count] = extra;
	rounds->floor[rounds->count] = floor;
	rounds->ratios[rounds->count++] = extra / floor;
}

static void rounds_tell(struct rounds *rounds, const char *bench, double target,
			bool json)
{
	struct measured measured = {
		.ns = median(rounds->extra, rounds->count),
		.floor_ns = median(rounds->floor, rounds->count),
		.ratio = median(rounds->ratios, rounds->count),
		.spread = spread(rounds->ratios, rounds->count),
	};

	result_tell_measured(bench, "fan-out", target, &measured, json);
}

static bool measure_records(struct load *load, const struct options *options)
{
	struct rounds rounds = {.count = 0};
	struct watcher watcher;
	double alone, by_hand, watched;
	bool all = true;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		alone = load_time(load, options->seconds);
		by_hand = record_time();
		watcher_start_top(&watcher);
		load->fires = 0;
		watched = load_time(load, options->seconds);
		all &= counted_all("at full speed", load->fires,
				   watcher_stop_top(&watcher));
		rounds_add(&rounds, watched - alone, by_hand);
	}
	rounds_tell(&rounds, "attached_records", 1.5, options->json);
	watcher_start_top(&watcher);
	load->fires = 0;
	load_paced(load, 2 * options->seconds, PACED_RATE);
	return counted_all("at five million a second", load->fires,
			   watcher_stop_top(&watcher)) &&
	       all;
}

static bool measure_probe(struct load *load, const struct options *options)
{
	struct rounds rounds = {.count = 0};
	struct watcher watcher;
	struct trap *trap;
	double alone, trapped, counted;
	bool all = true;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		alone = load_time(load, options->seconds);
		trap = trap_open();
		trapped = load_time(load, options->seconds);
		trap_close(trap);
		watcher_start_bpftrace(&watcher);
		load->fires = 0;
		counted = load_time(load, options->seconds);
		all &= counted_all("with bpftrace", load->fires,
				   watcher_stop_bpftrace(&watcher));
		rounds_add(&rounds, counted - alone, trapped - alone);
	}
	rounds_tell(&rounds, "attached_probe", 1.3, options->json);
	return all;
}

static int measure(const struct options *options)
{
	struct load load;
	bool all;

	if (geteuid() != 0) {
		fprintf(stderr, "attached: it needs root.\n");
		return EXIT_SKIPPED;
	}
	pin_to(-1);
	result_head(options->json);
	load_open(&load);
	load_time(&load, 0.2); /* warm up */
	all = measure_records(&load, options);
	if (watcher_has("bpftrace"))
		all &= measure_probe(&load, options);
	else
		fprintf(stderr, "attached: bpftrace is not installed, so "
				"attached_probe is left out.\n");
	load_close(&load);
	return all ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char help[] =
	"Usage: attached [OPTION]...\n"
	"What it costs a program to be watched.  Needs root.\n"
	"\n"
	"  --json    one object a line instead of a table\n"
	"  --quick   shorter rounds\n"
	"  --once    still shorter, only to see that it runs\n"
	"  --help    this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"once", no_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

int main(int argc, char **argv)
{
	struct options options = {.seconds = 1};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) !=
	       -1) {
		switch (option) {
		case 'j':
			options.json = true;
			break;
		case 'q':
			options.seconds = 0.3;
			break;
		case 'o':
			options.seconds = 0.01;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			option_unknown();
		}
	}
	option_no_more(argc, argv, optind);
	return measure(&options);
}
