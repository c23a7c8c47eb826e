/* SPDX-License-Identifier: MIT */
/* The JSON lines that benches print (lib/result.h), read back. */
#ifndef BENCH_REPORT_LINES_H
#define BENCH_REPORT_LINES_H

#include <stddef.h>
#include <stdio.h>

#include "bench/lib/result.h"

/* A point of a plot. */
struct point {
	char *plot;
	char *side;
	double x, ns;
};

/* Either a result or a point; the texts belong to it. */
struct line {
	struct result result; /* .bench NULL: none */
	struct point point;   /* .plot NULL: none */
};

/*
 * The next line; false at the end.  Lines that are neither are left out, with
 * a sentence to stderr if they are not even JSON.
 */
bool line_read(FILE *file, struct line *ret_line);
void line_free(struct line *line);

struct lines {
	struct line *all;
	size_t count, room;
};

void lines_read(FILE *file, struct lines *lines);
void lines_free(struct lines *lines);

/* Memory, or the end of the program. */
void *must_resize(void *memory, size_t count, size_t size);

#endif
