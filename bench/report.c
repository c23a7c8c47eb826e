/* SPDX-License-Identifier: MIT */
/*
 * report: what the benches printed as JSON lines, for people.
 *
 *   report table < LINES             a table, row by row as they come
 *   report ratios < LINES            an SVG: the ratios and their targets
 *   report growth PLOT X Y < LINES   an SVG: nanoseconds over size; X and Y
 *                                    are the titles of the axes
 *   report compare BASE NEW          files with the lines of several runs
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/options.h"
#include "lib/result.h"
#include "report/lines.h"
#include "report/views.h"

static int usage(FILE *file)
{
	fputs("Usage: report table|ratios < LINES\n"
	      "       report growth PLOT X-TITLE Y-TITLE < LINES\n"
	      "       report compare BASE-FILE NEW-FILE\n"
	      "What the benches printed as JSON lines: as a table, as SVG.\n",
	      file);
	return EXIT_USAGE;
}

static void tell_table(void)
{
	struct line line;

	while (line_read(stdin, &line)) {
		if (line.result.bench)
			result_tell(&line.result, false);
		line_free(&line);
	}
}

static void read_file(const char *path, struct lines *lines)
{
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "report: cannot read %s: %s.\n", path,
			strerror(errno));
		exit(EXIT_FAILURE);
	}
	lines_read(file, lines);
	fclose(file);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	struct lines lines = {0}, base = {0};
	int status = EXIT_SUCCESS;

	if (!strcmp(command, "--help")) {
		usage(stdout);
	} else if (!strcmp(command, "table") && argc == 2) {
		tell_table();
	} else if (!strcmp(command, "head") && argc == 2) {
		result_head(false);
	} else if (!strcmp(command, "ratios") && argc == 2) {
		lines_read(stdin, &lines);
		draw_ratios(&lines);
	} else if (!strcmp(command, "growth") && argc == 5) {
		lines_read(stdin, &lines);
		if (!draw_growth(&lines, argv[2], argv[3], argv[4])) {
			fprintf(stderr, "report: there are no points of %s.\n",
				argv[2]);
			status = EXIT_FAILURE;
		}
	} else if (!strcmp(command, "compare") && argc == 4) {
		read_file(argv[2], &base);
		read_file(argv[3], &lines);
		compare(&base, &lines);
	} else {
		status = usage(stderr);
	}
	lines_free(&lines);
	lines_free(&base);
	return status;
}
