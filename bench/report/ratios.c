/* SPDX-License-Identifier: MIT */
/* Bars of ratios; see views.h. */
#include <math.h>
#include <stdlib.h>

#include "svg.h"
#include "views.h"

#define NAMES 190 /* pixels for the names */
#define BARS 480
#define ROW 18
#define MOST 16.0 /* what is above is cut off */

#define GOOD "#2b7bba"
#define BAD "#d9822b"
#define MARK "#333333"
#define GRID "#dddddd"

/* 0.25 is at the left, 1 and its powers of two are equally far apart. */
static double x_of(double ratio)
{
	double least = 0.25, at;

	if (ratio < least)
		ratio = least;
	if (ratio > MOST)
		ratio = MOST;
	at = log2(ratio / least) / log2(MOST / least);
	return NAMES + at * BARS;
}

static bool has_bar(const struct result *result)
{
	return result->bench && result->ratio > 0 && result->target > 0;
}

static void draw_scale(int height)
{
	double ratio;
	char text[32];

	for (ratio = 0.25; ratio <= MOST; ratio *= 2) {
		svg_line(x_of(ratio), ROW, x_of(ratio), height - ROW, GRID);
		snprintf(text, sizeof(text), "%g", ratio);
		svg_text(x_of(ratio), height - 4, SVG_MIDDLE, text);
	}
}

static void draw_bar(const struct result *result, double y)
{
	char text[32];

	svg_text(NAMES - 8, y + 12, SVG_END, result->bench);
	svg_box(NAMES, y + 3, x_of(result->ratio) - NAMES, ROW - 6,
		result_met(result) ? GOOD : BAD);
	svg_line(x_of(result->target), y + 1, x_of(result->target), y + ROW - 1,
		 MARK);
	snprintf(text, sizeof(text), "%.2f", result->ratio);
	svg_text(NAMES + BARS + 44, y + 12, SVG_END, text);
}

void draw_ratios(const struct lines *lines)
{
	int rows = 0, height;
	size_t i;

	for (i = 0; i < lines->count; i++)
		rows += has_bar(&lines->all[i].result);
	height = (rows + 2) * ROW + 4;
	svg_open(NAMES + BARS + 52, height);
	svg_text(NAMES, 13, SVG_START,
		 "ratio to the floor; the mark is the target");
	draw_scale(height);
	rows = 0;
	for (i = 0; i < lines->count; i++)
		if (has_bar(&lines->all[i].result))
			draw_bar(&lines->all[i].result, ++rows * ROW);
	svg_close();
}
