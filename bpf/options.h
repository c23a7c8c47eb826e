/* SPDX-License-Identifier: MIT */
/* The options of hyphae-top, from one table. */
#ifndef HYPHAE_BPF_OPTIONS_H
#define HYPHAE_BPF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/column.h"
#include "bpf/fault.h"

enum output_kind {
	OUTPUT_AUTO, /* the screen on a terminal, else plain */
	OUTPUT_PLAIN,
	OUTPUT_JSON,
};

struct options {
	pid_t pid;	     /* 0: not given */
	const char *process; /* a name; NULL: not given */
	double interval;     /* seconds */
	unsigned long count; /* of intervals; 0: no end */
	enum output_kind output;
	const char *file; /* NULL: standard output */
	bool probes;	  /* --mode probes */
	long top;	  /* rows; -1: not given */
	bool wide;	  /* all columns, however long the lines */
	bool two_outputs; /* --json and --plain */
	const struct column *sort;
	size_t ring_bytes;
	size_t cells_limit;
	bool fail_on_loss;
	bool help, version;
};

/* 0, or -1 with a fault. */
int options_read(struct options *options, int argc, char **argv,
		 struct fault *fault);

/* The text of --help. */
void options_help(FILE *file);

#endif
