/* SPDX-License-Identifier: MIT */
/*
 * speed: how fast the library is, as a ratio to the same work by hand.
 *
 * Both sides of a case are run in turn (A B A B ...) in one process on one
 * processor, so that whatever slows the machine slows both.  Each round
 * gives a ratio; what is told is the median of the rounds, with the spread
 * between their quartiles.
 *
 * speed/ has the cases, speed/floor.c the work by hand.
 *
 * What `make bench` runs of it:
 * bench:
 * bench-quick: --quick
 * bench-once: --once set_1
 * bench-grow: --grow 1000000
 */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/measure.h"
#include "lib/options.h"
#include "lib/result.h"
#include "speed/bytes.h"
#include "speed/cases.h"
#include "speed/floor.h"

#define CHECKED_RUNS 5
/* Runs before the ones that are counted, so that nothing is done first. */
#define STEADY_WARM_UP 100
/* Families of fewer elements than this say nothing about growth. */
#define GROWTH_FROM 10
#define BYTES_COUNT 1000000
/* With --once: large graphs take long to make. */
#define SIZE_ONCE 10000

struct options {
	bool json;
	bool list;
	bool floor; /* of steady */
	const struct effort *effort;
	uint64_t steady;
	uint64_t grow;
	int processor; /* -1: the one it runs on */
};

/* ---- measuring ---------------------------------------------------------- */

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

static struct measured measure_alone_of(const struct speed_case *speed_case,
					const struct effort *effort)
{
	const struct speed_side *side = &speed_case->library;
	struct timed work = {side->run, side->open(speed_case),
			     (double)speed_case->units};
	struct measured measured = measure_alone(&work, effort);

	side->close(work.state);
	return measured;
}

static struct measured measure(const struct speed_case *speed_case,
			       const struct effort *effort)
{
	const struct speed_side *library = &speed_case->library;
	const struct speed_side *by_hand = &speed_case->floor;
	struct timed work = {library->run, NULL, (double)speed_case->units};
	struct timed floor = {by_hand->run, NULL, (double)speed_case->units};
	struct measured measured;

	if (!by_hand->open)
		return measure_alone_of(speed_case, effort);
	work.state = library->open(speed_case);
	floor.state = by_hand->open(speed_case);
	check_sides(speed_case, work.state, floor.state);
	measured = measure_pair(&work, &floor, effort);
	library->close(work.state);
	by_hand->close(floor.state);
	return measured;
}

/* ---- growth ---------------------------------------------------------------- */

/* The smallest and the largest of a family of cases that were measured. */
struct family {
	const struct speed_case *small, *large;
	struct measured from, to;
};

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

/* What to multiply the nanoseconds of a unit with to compare sizes. */
static double per_element(const struct speed_case *speed_case)
{
	return speed_case->per_unit_growth
		       ? 1
		       : (double)speed_case->units / (double)speed_case->size;
}

/*
 * Does the time grow as the size does?  By what the nanoseconds of an element
 * grow from the smallest to the largest, beside the same for the floor.
 */
static void family_end(struct family *family, bool json)
{
	const struct speed_case *small = family->small, *large = family->large;
	struct result result = {.bench = "", .what = "times"};
	char name[64];
	double grown;

	family->small = family->large = NULL;
	if (!small || small == large || small->size < GROWTH_FROM)
		return;
	grown = per_element(large) / per_element(small);
	snprintf(name, sizeof(name), "%.*s_growth",
		 (int)family_length(small->name), small->name);
	result.bench = name;
	result.value = grown * family->to.ns / family->from.ns;
	result.floor = grown * family->to.floor_ns / family->from.floor_ns;
	result.ratio = result.value / result.floor;
	result.target = large->growth_target;
	result_tell(&result, json);
}

static void family_add(struct family *family,
		       const struct speed_case *speed_case,
		       const struct measured *measured)
{
	if (!family->small) {
		family->small = speed_case;
		family->from = *measured;
	}
	family->large = speed_case;
	family->to = *measured;
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

static void check_names(char **names, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		if (speed_case_named(names[i]) || !strcmp(names[i], "bytes"))
			continue;
		fprintf(stderr,
			"speed: there is no bench \"%s\"; see speed --list.\n",
			names[i]);
		exit(EXIT_USAGE);
	}
}

/* With --once the large ones are not so large. */
static struct speed_case case_for(const struct speed_case *speed_case,
				  const struct options *options)
{
	struct speed_case sized = *speed_case;

	if (options->effort == &effort_once && sized.per_unit_growth &&
	    sized.size > SIZE_ONCE)
		sized.size = SIZE_ONCE;
	return sized;
}

static void measure_all(const struct options *options, char **names, int count)
{
	const struct speed_case *speed_case;
	struct family family = {0};
	struct speed_case sized;
	struct measured measured;
	size_t i;

	result_head(options->json);
	/* First: what others leave behind would be used again. */
	if (is_asked("bytes", names, count))
		speed_tell_bytes(options->effort == &effort_once ? SIZE_ONCE
								 : BYTES_COUNT,
				 options->json);
	for (i = 0; (speed_case = speed_case_at(i)); i++) {
		if (!is_asked(speed_case->name, names, count))
			continue;
		if (family.small &&
		    !same_family(family.small->name, speed_case->name))
			family_end(&family, options->json);
		sized = case_for(speed_case, options);
		measured = measure(&sized, options->effort);
		result_tell_measured(speed_case->name, speed_case->unit,
				     speed_case->target, &measured,
				     options->json);
		family_add(&family, speed_case, &measured);
	}
	family_end(&family, options->json);
}

static void grow(const struct speed_growth *growth, uint64_t most,
		 const struct effort *effort)
{
	size_t size;

	for (size = growth->least; size <= most; size *= 10) {
		struct speed_case speed_case = growth->sized(size);
		struct measured measured = measure(&speed_case, effort);

		result_tell_point(growth->plot, "hyphae", (double)size,
				  measured.ns);
		result_tell_point(growth->plot, growth->floor, (double)size,
				  measured.floor_ns);
	}
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

	speed_case = count == 1 ? speed_case_named(names[0]) : NULL;
	if (!speed_case) {
		fprintf(stderr,
			"speed: --steady takes the name of one bench; see "
			"speed --list.\n");
		return EXIT_USAGE;
	}
	side = options->floor ? &speed_case->floor : &speed_case->library;
	if (!side->open) {
		fprintf(stderr, "speed: %s has no floor.\n", names[0]);
		return EXIT_USAGE;
	}
	state = side->open(speed_case);
	side->run(state, STEADY_WARM_UP);
	side->run(state, options->steady);
	side->close(state);
	return EXIT_SUCCESS;
}

static void list_names(void)
{
	const struct speed_case *speed_case;
	size_t i;

	printf("bytes\n");
	for (i = 0; (speed_case = speed_case_at(i)); i++)
		printf("%s\n", speed_case->name);
}

static const char help[] =
	"Usage: speed [OPTION]... [BENCH]...\n"
	"How fast the library is, as a ratio to the same work by hand.\n"
	"\n"
	"  --json           one object a line instead of a table\n"
	"  --quick          fewer and shorter rounds: some seconds in all\n"
	"  --once           one round of each, only to see that they run\n"
	"  --processor N    run on this one (the one it is on)\n"
	"  --list           the names of all benches\n"
	"  --grow SIZE      points for plots: shapes of 10, 100, ... SIZE "
	"cells\n"
	"  --steady COUNT   only run one bench COUNT times, without a clock\n"
	"  --floor          with --steady: run the work by hand\n"
	"  --help           this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"once", no_argument, NULL, 'o'},
	{"processor", required_argument, NULL, 'p'},
	{"list", no_argument, NULL, 'l'},
	{"grow", required_argument, NULL, 'g'},
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
		options->effort = &effort_quick;
		break;
	case 'o':
		options->effort = &effort_once;
		break;
	case 'p':
		options->processor = (int)option_count("processor", optarg, 0,
						       CPU_SETSIZE - 1);
		break;
	case 'l':
		options->list = true;
		break;
	case 'g':
		options->grow = option_count("grow", optarg, 10, 10000000);
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
	struct options options = {.effort = &effort_full, .processor = -1};
	int option;
	size_t i;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		take_option(&options, option);
	check_names(argv + optind, argc - optind);
	pin_to(options.processor);
	if (options.list)
		list_names();
	else if (options.steady)
		return run_steady(&options, argv + optind, argc - optind);
	else if (options.grow)
		for (i = 0; i < speed_growths_count; i++)
			grow(&speed_growths[i], options.grow, options.effort);
	else
		measure_all(&options, argv + optind, argc - optind);
	return EXIT_SUCCESS;
}
