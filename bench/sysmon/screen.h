/* SPDX-License-Identifier: MIT */
/* The report of sysmon: lines of text.  Nothing here knows of cells. */
#ifndef BENCH_SYSMON_SCREEN_H
#define BENCH_SYSMON_SCREEN_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "proc.h"

#define SCREEN_CPUS 4
#define RANKING_MAX 9

/* What flows in and out, in bytes a second. */
struct flow {
	double in;
	double out;
};

/* What one process uses. */
struct usage {
	int64_t pid;
	char name[16];
	double cpu; /* 1: all of one processor */
	int64_t resident_kib;
};

/* Those that use most. */
struct ranking {
	int64_t count;
	struct usage top[RANKING_MAX];
};

struct line {
	char label[16];
	char text[80];
};

struct screen {
	struct line cpu_total;
	struct line cpus[SCREEN_CPUS];
	struct line memory;
	struct line interrupts;
	struct line softirqs;
	struct line disk;
	struct line network;
	struct line alarm;
	struct line processes[RANKING_MAX];
};

void screen_init(struct screen *screen);

/* Put something into a line. */
void line_share(struct line *line, double share); /* 0 to 1 */
void line_rate(struct line *line, double rate);	  /* a second */
void line_alarm(struct line *line, double share, time_t now);
void line_memory(struct line *line, const struct memory *memory);
void line_flow(struct line *line, const struct flow *flow);

void screen_set_ranking(struct screen *screen, const struct ranking *ranking);

/* Print it below `title`; on a terminal over the one before. */
void screen_print(const struct screen *screen, const char *title, FILE *file);

#endif
