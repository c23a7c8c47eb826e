// SPDX-License-Identifier: MIT
/* The options of hyphae-top; see options.h. */
#include "bpf/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ROWS 20
#define RING_BYTES (1u << 25)
#define CELLS_LIMIT 4000000

/* Takes the argument; false if it cannot be. */
typedef bool take_fn(struct options *options, const char *argument);

struct option_row {
	const char *name;
	char letter; /* 0: none */
	const char *argument;
	take_fn *take;
	const char *range; /* what the argument can be */
	const char *help;
};

/* A number from `least` to `most`, and nothing behind it. */
static bool take_number(const char *text, double least, double most,
			double *ret_value)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(value) || value < least ||
	    value > most)
		return false;
	*ret_value = value;
	return true;
}

static bool take_whole(const char *text, double least, double most,
		       double *ret_value)
{
	return take_number(text, least, most, ret_value) &&
	       *ret_value == floor(*ret_value);
}

static bool take_pid(struct options *o, const char *text)
{
	double value = 0;

	if (!take_whole(text, 1, 1 << 30, &value))
		return false;
	o->pid = (pid_t)value;
	return true;
}

static bool take_interval(struct options *o, const char *text)
{
	return take_number(text, 0.01, 86400, &o->interval);
}

static bool take_count(struct options *o, const char *text)
{
	double value = 0;

	if (!take_whole(text, 1, 1e9, &value))
		return false;
	o->count = (unsigned long)value;
	return true;
}

static bool take_mode(struct options *o, const char *text)
{
	o->probes = !strcmp(text, "probes");
	return o->probes || !strcmp(text, "records");
}

static bool take_top(struct options *o, const char *text)
{
	double value = 0;

	if (!take_whole(text, 0, 1e9, &value))
		return false;
	o->top = (long)value;
	return true;
}

static bool take_sort(struct options *o, const char *text)
{
	o->sort = column_find(text);
	return o->sort;
}

static bool take_ring(struct options *o, const char *text)
{
	double value = 0;

	if (!take_whole(text, 4096, 1 << 30, &value))
		return false;
	o->ring_bytes = (size_t)value;
	return true;
}

static bool take_cells(struct options *o, const char *text)
{
	double value = 0;

	if (!take_whole(text, 1, 1e9, &value))
		return false;
	o->cells_limit = (size_t)value;
	return true;
}

static bool take_file(struct options *o, const char *text)
{
	o->file = text;
	return true;
}

static bool take_json(struct options *o, const char *text)
{
	(void)text;
	o->two_outputs |= o->output == OUTPUT_PLAIN;
	o->output = OUTPUT_JSON;
	return true;
}

static bool take_plain(struct options *o, const char *text)
{
	(void)text;
	o->two_outputs |= o->output == OUTPUT_JSON;
	o->output = OUTPUT_PLAIN;
	return true;
}

static bool take_wide(struct options *o, const char *text)
{
	(void)text;
	o->wide = true;
	return true;
}

static bool take_fail(struct options *o, const char *text)
{
	(void)text;
	o->fail_on_loss = true;
	return true;
}

static bool take_version(struct options *o, const char *text)
{
	(void)text;
	o->version = true;
	return true;
}

static bool take_help(struct options *o, const char *text)
{
	(void)text;
	o->help = true;
	return true;
}

static const struct option_row rows[] = {
	{"pid", 'p', "PID", take_pid, "the number of a process",
	 "the process to look at"},
	{"interval", 'd', "SECONDS", take_interval,
	 "a number of seconds from 0.01 to 86400",
	 "time between two looks, from 0.01 (default 1)"},
	{"count", 'n', "N", take_count, "a whole number from 1 to 1000000000",
	 "end after so many intervals"},
	{"sort", 's', "COLUMN", take_sort, NULL,
	 "sort by a column, or a field of JSON (default SELF)"},
	{"top", 't', "N", take_top, "a whole number from 0 (all) to 1000000000",
	 "rows: default 20 in a table, all (0) in JSON"},
	{"json", 'j', NULL, take_json, NULL,
	 "one JSON object a line and interval"},
	{"plain", 0, NULL, take_plain, NULL,
	 "a plain table, also on a terminal"},
	{"wide", 'w', NULL, take_wide, NULL,
	 "all columns in a plain table (else as many as there is\n"
	 "room for on the terminal, or in COLUMNS, or 120)"},
	{"output", 'o', "FILE", take_file, "the name of a file",
	 "write to a file instead of standard output"},
	{"mode", 'm', "MODE", take_mode, "records or probes",
	 "records: the process batches its events (default);\n"
	 "probes: a probe hit an event, dearer"},
	{"ring", 0, "BYTES", take_ring,
	 "a whole number of bytes from 4096 to 1073741824",
	 "size of the ring buffer (default 33554432)"},
	{"cells", 0, "N", take_cells, "a whole number from 1 to 1000000000",
	 "tell at most so many cells apart (default 4000000)"},
	{"fail-on-loss", 0, NULL, take_fail, NULL,
	 "end with status 7 if anything was lost"},
	{"version", 'V', NULL, take_version, NULL, "print the version"},
	{"help", 'h', NULL, take_help, NULL, "print this"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void make_getopt(struct option *longs, char *shorts)
{
	size_t i;

	*shorts++ = ':';
	for (i = 0; i < ROWS; i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].argument ? required_argument
						    : no_argument,
			.val = 256 + (int)i,
		};
		if (!rows[i].letter)
			continue;
		*shorts++ = rows[i].letter;
		if (rows[i].argument)
			*shorts++ = ':';
	}
	longs[ROWS] = (struct option){0};
	*shorts = '\0';
}

static const struct option_row *row_of(int found)
{
	size_t i;

	if (found >= 256)
		return &rows[found - 256];
	for (i = 0; i < ROWS; i++)
		if (rows[i].letter == found)
			return &rows[i];
	return NULL;
}

static int bad_option(int found, char **argv, struct fault *fault)
{
	const char *option = argv[optind - 1];

	return fault_set(fault, EXIT_USAGE,
			 found == ':' ? "option %s needs an argument; see "
					"hyphae-top --help."
				      : "option %s is not known; see "
					"hyphae-top --help.",
			 option);
}

static int bad_argument(const struct option_row *row, const char *argument,
			struct fault *fault)
{
	char titles[256];

	if (row->range)
		return fault_set(fault, EXIT_USAGE,
				 "'%s' is not a valid --%s: it takes %s.",
				 argument, row->name, row->range);
	column_list(titles, sizeof(titles));
	return fault_set(fault, EXIT_USAGE,
			 "'%s' is no column to sort by; there are %s.",
			 argument, titles);
}

static int read_process(struct options *options, int argc, char **argv,
			struct fault *fault)
{
	if (optind < argc)
		options->process = argv[optind++];
	if (optind < argc)
		return fault_set(fault, EXIT_USAGE,
				 "only one process at a time: '%s' is one too "
				 "many.",
				 argv[optind]);
	if (options->pid && options->process)
		return fault_set(fault, EXIT_USAGE,
				 "give either -p or a name, not both.");
	return 0;
}

int options_read(struct options *options, int argc, char **argv,
		 struct fault *fault)
{
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 2];
	int found;

	*options = (struct options){
		.interval = 1,
		.top = -1,
		.ring_bytes = RING_BYTES,
		.cells_limit = CELLS_LIMIT,
		.sort = column_find("SELF"),
	};
	make_getopt(longs, shorts);
	optind = 1;
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *row;

		if (found == '?' || found == ':')
			return bad_option(found, argv, fault);
		row = row_of(found);
		if (!row->take(options, optarg))
			return bad_argument(row, optarg, fault);
	}
	if (options->two_outputs)
		return fault_set(fault, EXIT_USAGE,
				 "give either --json or --plain, not both.");
	if (read_process(options, argc, argv, fault))
		return -1;
	if (options->file && options->output == OUTPUT_AUTO)
		options->output = OUTPUT_PLAIN;
	if (options->top < 0)
		options->top = options->output == OUTPUT_JSON ? 0 : TABLE_ROWS;
	return 0;
}

static void help_row(FILE *file, const struct option_row *row)
{
	char left[40];
	const char *at = row->help, *end;

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
		 row->letter ? row->letter : ' ', row->letter ? ',' : ' ',
		 row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	fprintf(file, "  %-24s ", left);
	while ((end = strchr(at, '\n'))) {
		fprintf(file, "%.*s\n%27s", (int)(end - at), at, "");
		at = end + 1;
	}
	fprintf(file, "%s\n", at);
}

/* In lines of at most 80. */
/* In the order of the table, with what JSON calls it. */
static void help_columns(FILE *file)
{
	fputs("\nColumns, and their names in JSON:\n", file);
	for (size_t i = 0; table_columns[i]; i++)
		fprintf(file, "  %-8s %-15s %s\n", table_columns[i]->title,
			table_columns[i]->json, table_columns[i]->help);
}

void options_help(FILE *file)
{
	size_t i;

	fputs("usage: hyphae-top [OPTION]... [-p PID | NAME]\n"
	      "Shows what the cells of a running program that uses hyphae do.\n"
	      "Without a process it lists those that carry the probes.\n\n",
	      file);
	for (i = 0; i < ROWS; i++)
		help_row(file, &rows[i]);
	help_columns(file);
	fputs("\nOn the screen: arrows choose the column to sort by and "
	      "scroll, r reverses,\n"
	      "a shows all time, space pauses, h explains, q quits.\n\n"
	      "It needs root, or CAP_SYS_ADMIN and CAP_SYS_PTRACE (CAP_BPF and "
	      "CAP_PERFMON\ninstead of the former with libbpf 1.3 and "
	      "Linux 6.6).\n\n"
	      "Exit status: 0 done, also when the process ended; 1 usage;\n"
	      "2 no such process; 3 it carries no probes; 4 a capability is "
	      "missing;\n"
	      "5 the kernel refused; 6 the output cannot be written;\n"
	      "7 something was lost (with --fail-on-loss).\n",
	      file);
}
