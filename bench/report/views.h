/* SPDX-License-Identifier: MIT */
/* What can be made of the lines. */
#ifndef BENCH_REPORT_VIEWS_H
#define BENCH_REPORT_VIEWS_H

#include "lines.h"

/* Bars: the ratio of each bench beside its target (ratios.c). */
void draw_ratios(const struct lines *lines);

/*
 * Curves of nanoseconds over size, both axes logarithmic, one for each side
 * of that plot (grow.c).  `x` and `y` are the titles of the axes.  False if
 * there are no points.
 */
bool draw_growth(const struct lines *lines, const char *plot, const char *x,
		 const char *y);

/*
 * Runs of two revisions that took turns: what changed by more than the runs
 * differ among themselves (compare.c)?
 */
void compare(const struct lines *base, const struct lines *new);

#endif
