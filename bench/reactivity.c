/* SPDX-License-Identifier: MIT */
/*
 * reactivity: the shapes of js-reactivity-benchmark, the public benchmark of
 * libraries of this kind, with the parameters and in the units that it has,
 * and checked as it checks: sums, and how often functions were called.
 *
 * reactivity/shape.h tells what a shape is; kairo.c, molbench.c, cellx.c,
 * dynamic.c and sbench.c have them.
 *
 * What `make bench` runs of it:
 * bench: --quick
 */
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options.h"
#include "reactivity/shape.h"

static const struct shape *const suites[] = {
	kairo_shapes, mol_shapes, cellx_shapes, dynamic_shapes, sbench_shapes,
};
#define SUITES (sizeof(suites) / sizeof(suites[0]))

struct options {
	bool json;
	bool quick;
	bool list;
	int style; /* -1: all that a shape has */
};

static const char *const style_names[STYLES] = {"tracked", "fixed"};

/* ---- telling -------------------------------------------------------------- */

/* Nanoseconds a write; 0 if nothing is written. */
static double ns_a_write(const struct outcome *outcome)
{
	return outcome->writes ? outcome->ms * 1e6 / (double)outcome->writes
			       : 0;
}

static void tell_json(const struct shape *shape, enum style style,
		      const struct outcome *outcome)
{
	json_t *line = json_pack(
		"{s:s, s:s, s:s, s:f, s:I, s:f, s:I, s:I, s:s}", "bench",
		shape->name, "suite", shape->suite, "style", style_names[style],
		"ms", outcome->ms, "writes", (json_int_t)outcome->writes, "ns",
		ns_a_write(outcome), "evaluations",
		(json_int_t)outcome->evaluations, "effects",
		(json_int_t)outcome->effects, "sum", outcome->sum);

	json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(5));
	putchar('\n');
	json_decref(line);
}

static void tell(const struct shape *shape, enum style style,
		 const struct outcome *outcome)
{
	printf("%-24s %-8s %10.3f %9" PRIu64, shape->name, style_names[style],
	       outcome->ms, outcome->writes);
	if (outcome->writes)
		printf(" %12.1f", ns_a_write(outcome));
	else
		printf(" %12s", "");
	printf(" %12" PRIu64 " %9" PRIu64 "  %s\n", outcome->evaluations,
	       outcome->effects, outcome->sum);
}

/* ---- what was asked for ---------------------------------------------------- */

static bool is_asked(const struct shape *shape, char **names, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(shape->name, names[i]) ||
		    !strcmp(shape->suite, names[i]))
			return true;
	return count == 0;
}

static bool is_known(const char *name)
{
	const struct shape *shape;
	size_t i;

	for (i = 0; i < SUITES; i++)
		for (shape = suites[i]; shape->name; shape++)
			if (is_asked(shape, (char **)&name, 1))
				return true;
	return false;
}

static void check_names(char **names, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		if (is_known(names[i]))
			continue;
		fprintf(stderr,
			"reactivity: there is no shape or suite \"%s\"; see "
			"reactivity --list.\n",
			names[i]);
		exit(EXIT_USAGE);
	}
}

static void measure(const struct shape *shape, const struct options *options)
{
	enum style style;

	for (style = TRACKED; style < STYLES; style++) {
		struct run run = {.style = style, .quick = options->quick};
		struct outcome outcome = {0};

		if (style == FIXED && !shape->has_fixed)
			continue;
		if (options->style >= 0 && options->style != (int)style)
			continue;
		shape->measure(shape, &run, &outcome);
		if (options->json)
			tell_json(shape, style, &outcome);
		else
			tell(shape, style, &outcome);
		fflush(stdout);
	}
}

static void measure_all(const struct options *options, char **names, int count)
{
	const struct shape *shape;
	size_t i;

	if (!options->json && !options->list)
		printf("%-24s %-8s %10s %9s %12s %12s %9s  %s\n", "shape",
		       "style", "ms", "writes", "ns a write", "evaluations",
		       "effects", "sum");
	for (i = 0; i < SUITES; i++) {
		for (shape = suites[i]; shape->name; shape++) {
			if (!is_asked(shape, names, count))
				continue;
			if (options->list)
				printf("%s\n", shape->name);
			else
				measure(shape, options);
		}
	}
}

static const char help[] =
	"Usage: reactivity [OPTION]... [SHAPE or SUITE]...\n"
	"The shapes of js-reactivity-benchmark.\n"
	"\n"
	"  --json       one object a line instead of a table\n"
	"  --quick      little work, for tests: the times mean nothing\n"
	"  --style S    only \"tracked\" or only \"fixed\"\n"
	"  --list       the names of the shapes\n"
	"  --help       this text\n";

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"quick", no_argument, NULL, 'q'},
	{"style", required_argument, NULL, 's'},
	{"list", no_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int style_of(const char *name)
{
	int style;

	for (style = 0; style < STYLES; style++)
		if (!strcmp(name, style_names[style]))
			return style;
	fprintf(stderr,
		"reactivity: --style takes \"tracked\" or \"fixed\", not "
		"\"%s\".\n",
		name);
	exit(EXIT_USAGE);
}

static void take_option(struct options *options, int option)
{
	switch (option) {
	case 'j':
		options->json = true;
		break;
	case 'q':
		options->quick = true;
		break;
	case 's':
		options->style = style_of(optarg);
		break;
	case 'l':
		options->list = true;
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
	struct options options = {.style = -1};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		take_option(&options, option);
	check_names(argv + optind, argc - optind);
	measure_all(&options, argv + optind, argc - optind);
	return EXIT_SUCCESS;
}
