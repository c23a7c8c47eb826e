/* SPDX-License-Identifier: MIT */
/*
 * speed: how fast the library is, as a ratio to the same work by hand.
 *
 * Both sides of a case are run in turn (A B A B ...) in one process on one
 * processor, so that whatever slows the machine slows both.  Each round
 * gives a ratio; what is told is the median of the rounds, with the spread
 * between their quartiles.
 *
 * speed/cases.c has the cases, speed/floor.c the work by hand.
 *
 * What `make bench` runs of it:
 * bench: --quick
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/options.h"
#include "speed/cases.h"
#include "speed/floor.h"

#define ROUNDS_MAX 101
#define CHECKED_RUNS 5
#define BYTES_COUNT 1000000
/* Runs before the ones that are counted, so that nothing is done first. */
#define STEADY_WARM_UP 100

struct options {
	bool json;
	bool quick;
	bool list;
	bool floor; /* of steady */
	uint64_t steady;
	int processor; /* -1: the one it runs on */
};

struct result {
	double ns;
	double floor_ns;
	double ratio;
	double spread;
};

/* ---- measuring ---------------------------------------------------------- */

static double time_runs(const struct speed_side *side, void *state,
			uint64_t times)
{
	uint64_t start = clock_ns();

	side->run(state, times);
	return (double)(clock_ns() - start);
}

/* How many runs take about `ns`; warms the side up. */
static uint64_t calibrate(const struct speed_side *side, void *state, double ns)
{
	uint64_t times = 1;

	for (;;) {
		double took = time_runs(side, state, times);

		if (took >= ns)
			return times;
		/* Approach it in steps: the first runs are slow. */
		if (took < ns / 16)
			times *= 8;
		else
			times = (uint64_t)((double)times * ns / took * 1.05) +
				1;
	}
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Of `count` sorted values. */
static double quantile(const double *values, size_t count, double share)
{
	return values[(size_t)((double)(count - 1) * share + 0.5)];
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return quantile(values, count, 0.5);
}

/* Both sides must do the same, or there is nothing to compare. */
static void check_sides(const struct speed_case *speed_case, void *library,
			void *by_hand)
{
	int64_t library_sum;

	sink = 0;
	speed_case->library.run(library, CHECKED_RUNS);
	library_sum = sink;
	sink = 0;
	speed_case->floor.run(by_hand, CHECKED_RUNS);
	if (library_sum == sink)
		return;
	fprintf(stderr,
		"speed: %s: the library computed %" PRId64
		", the floor %" PRId64 ".\n",
		speed_case->name, library_sum, (int64_t)sink);
	exit(EXIT_FAILURE);
}

static struct result measure(const struct speed_case *speed_case, bool quick)
{
	const struct speed_side *library_side = &speed_case->library;
	const struct speed_side *floor_side = &speed_case->floor;
	double ns[ROUNDS_MAX], floor_ns[ROUNDS_MAX], ratios[ROUNDS_MAX];
	double round_ns = quick ? 3e6 : 8e6;
	size_t rounds = quick ? 41 : ROUNDS_MAX;
	void *library = library_side->open(speed_case);
	void *by_hand = floor_side->open(speed_case);
	uint64_t times, floor_times;
	struct result result;
	size_t i;

	check_sides(speed_case, library, by_hand);
	times = calibrate(library_side, library, round_ns);
	floor_times = calibrate(floor_side, by_hand, round_ns);
	for (i = 0; i < rounds; i++) {
		ns[i] = time_runs(library_side, library, times) /
			(double)times / (double)speed_case->units;
		floor_ns[i] = time_runs(floor_side, by_hand, floor_times) /
			      (double)floor_times / (double)speed_case->units;
		ratios[i] = ns[i] / floor_ns[i];
	}
	library_side->close(library);
	floor_side->close(by_hand);
	result.ns = median(ns, rounds);
	result.floor_ns = median(floor_ns, rounds);
	result.ratio = median(ratios, rounds);
	result.spread = (quantile(ratios, rounds, 0.75) -
			 quantile(ratios, rounds, 0.25)) /
			result.ratio;
	return result;
}

/* ---- telling ------------------------------------------------------------- */

static void print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(5));
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

static void tell(const struct speed_case *speed_case,
		 const struct result *result, bool json)
{
	if (json) {
		print_json(json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:s}",
				     "bench", speed_case->name, "ns",
				     result->ns, "floor_ns", result->floor_ns,
				     "ratio", result->ratio, "target",
				     speed_case->target, "spread",
				     result->spread, "unit", speed_case->unit));
		return;
	}
	printf("%-18s %9.2f %9.2f  %6.2f  %6.1f  %5.1f %%  %-4s per %s\n",
	       speed_case->name, result->ns, result->floor_ns, result->ratio,
	       speed_case->target, result->spread * 100,
	       result->ratio <= speed_case->target ? "" : "over",
	       speed_case->unit);
	fflush(stdout);
}

/* "chain" of "chain_100": cases of one family differ in their size only. */
static size_t family_length(const char *name)
{
	return (size_t)(strrchr(name, '_') - name);
}

static bool same_family(const char *a, const char *b)
{
	return strchr(a, '_') && strchr(b, '_') &&
	       family_length(a) == family_length(b) &&
	       !strncmp(a, b, family_length(a));
}

/*
 * Does the time grow as the size does?  Compares the nanoseconds an element
 * of the smallest and of the largest of a family.
 */
static void tell_growth(const struct speed_case *small, double small_ns,
			const struct speed_case *large, double large_ns,
			bool json)
{
	int length = (int)family_length(small->name);
	double from, to;

	from = small_ns * (double)small->units / (double)small->size;
	to = large_ns * (double)large->units / (double)large->size;
	if (json)
		print_json(json_pack("{s:s%, s:I, s:I, s:f, s:f, s:f}",
				     "growth", small->name, length, "from_size",
				     (json_int_t)small->size, "to_size",
				     (json_int_t)large->size, "from_ns", from,
				     "to_ns", to, "ratio", to / from));
	else
		printf("%.*s: %.2f ns an element at %zu, %.2f at %zu: %.2f "
		       "times\n",
		       length, small->name, from, small->size, to, large->size,
		       to / from);
}

static void tell_bytes_of(const char *name, double bytes, double target,
			  bool json)
{
	if (json)
		print_json(json_pack("{s:s, s:f, s:f, s:f, s:f}", "bench", name,
				     "bytes", bytes, "target_bytes", target,
				     "ratio", bytes / target, "target", 1.0));
	else
		printf("%-18s %9.1f %9.1f  %6.2f  %6.1f           %-4s "
		       "resident bytes, and the target\n",
		       name, bytes, target, bytes / target, 1.0,
		       bytes <= target ? "" : "over");
	fflush(stdout);
}

/* In a child, whose memory nobody else has used. */
static void tell_bytes(bool json)
{
	struct speed_bytes bytes;
	pid_t child;
	int status = 0;

	fflush(stdout);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "speed: cannot fork: %s.\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
	if (!child) {
		speed_measure_bytes(BYTES_COUNT, &bytes);
		tell_bytes_of("bytes_source", bytes.source, 64, json);
		tell_bytes_of("bytes_derived", bytes.derived, 96, json);
		tell_bytes_of("bytes_subscription", bytes.subscription, 32,
			      json);
		_exit(EXIT_SUCCESS);
	}
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "speed: measuring the bytes failed.\n");
		exit(EXIT_FAILURE);
	}
}

/* ---- what was asked for --------------------------------------------------- */

static bool is_asked(const char *name, char **names, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return count == 0;
}

static const struct speed_case *case_named(const char *name)
{
	size_t i;

	for (i = 0; i < speed_cases_count; i++)
		if (!strcmp(speed_cases[i].name, name))
			return &speed_cases[i];
	return NULL;
}

static void check_names(char **names, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		if (case_named(names[i]) || !strcmp(names[i], "bytes"))
			continue;
		fprintf(stderr,
			"speed: there is no bench \"%s\"; see speed --list.\n",
			names[i]);
		exit(EXIT_USAGE);
	}
}

/* The smallest and the largest of a family of cases that were measured. */
struct family {
	const struct speed_case *small, *large;
	double small_ns, large_ns;
};

static void family_end(struct family *family, bool json)
{
	if (family->large != family->small)
		tell_growth(family->small, family->small_ns, family->large,
			    family->large_ns, json);
	family->small = family->large = NULL;
}

static void family_add(struct family *family,
		       const struct speed_case *speed_case, double ns)
{
	if (!family->small) {
		family->small = speed_case;
		family->small_ns = ns;
	}
	family->large = speed_case;
	family->large_ns = ns;
}

static void measure_all(const struct options *options, char **names, int count)
{
	struct family family = {0};
	size_t i;

	if (!options->json)
		printf("%-18s %9s %9s  %6s  %6s  %7s\n", "bench", "ns", "floor",
		       "ratio", "target", "spread");
	for (i = 0; i < speed_cases_count; i++) {
		const struct speed_case *speed_case = &speed_cases[i];
		struct result result;

		if (!is_asked(speed_case->name, names, count))
			continue;
		if (family.small &&
		    !same_family(family.small->name, speed_case->name))
			family_end(&family, options->json);
		result = measure(speed_case, options->quick);
		tell(speed_case, &result, options->json);
		family_add(&family, speed_case, result.ns);
	}
	family_end(&family, options->json);
	if (is_asked("bytes", names, count))
		tell_bytes(options->json);
}

/*
 * For programs that count instructions: the work and nothing else.  Counting
 * two numbers of runs and subtracting leaves out how it begins and ends.
 */
static int run_steady(const struct options *options, char **names, int count)
{
	const struct speed_case *speed_case;
	const struct speed_side *side;
	void *state;

	speed_case = count == 1 ? case_named(names[0]) : NULL;
	if (!speed_case) {
		fprintf(stderr,
			"speed: --steady takes the name of one bench; see "
			"speed --list.\n");
		return EXIT_USAGE;
	}
	side = options->floor ? &speed_case->floor : &speed_case->library;
	state = side->open(speed_case);
	side->run(state, STEADY_WARM_UP);
	side->run(state, options->steady);
	side->close(state);
	return EXIT_SUCCESS;
}

static void list_names(void)
{
	size_t i;

	for (i = 0; i < speed_cases_count; i++)
		printf("%s\n", speed_cases[i].name);
	printf("bytes\n");
}

/* Stay on one processor: moving costs more than most of what is measured. */
static void pin(int processor)
{
	cpu_set_t set;

	if (processor < 0)
		processor = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "speed: cannot stay on processor %d: %s.\n",
			processor, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

static const char help[] =
	"Usage: speed [OPTION]... [BENCH]...\n"
	"How fast the library is, as a ratio to the same work by hand.\n"
	"\n"
	"  --json           one object a line instead of a table\n"
	"  --quick          fewer and shorter rounds: some seconds in all\n"
	"  --processor N    run on this one (the one it is on)\n"
	"  --list           the names of all benches\n"
	"  --steady COUNT   only run one bench COUNT times, without a clock\n"
	"  --floor          with --steady: run the work by hand\n"
	"  --help           this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"processor", required_argument, NULL, 'p'},
	{"list", no_argument, NULL, 'l'},
	{"steady", required_argument, NULL, 's'},
	{"floor", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void take_option(struct options *options, int option)
{
	switch (option) {
	case 'j':
		options->json = true;
		break;
	case 'q':
		options->quick = true;
		break;
	case 'p':
		options->processor = (int)option_count("processor", optarg, 0,
						       CPU_SETSIZE - 1);
		break;
	case 'l':
		options->list = true;
		break;
	case 's':
		options->steady =
			option_count("steady", optarg, 1, UINT64_MAX - 1);
		break;
	case 'f':
		options->floor = true;
		break;
	case 'h':
		fputs(help, stdout);
		exit(EXIT_SUCCESS);
	default:
		option_unknown();
	}
}

int main(int argc, char **argv)
{
	struct options options = {.processor = -1};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		take_option(&options, option);
	check_names(argv + optind, argc - optind);
	pin(options.processor);
	if (options.list)
		list_names();
	else if (options.steady)
		return run_steady(&options, argv + optind, argc - optind);
	else
		measure_all(&options, argv + optind, argc - optind);
	return EXIT_SUCCESS;
}
