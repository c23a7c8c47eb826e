/* SPDX-License-Identifier: MIT */
/* Curves of growth; see views.h. */
#include <math.h>
#include <string.h>

#include "svg.h"
#include "views.h"

#define WIDTH 560
#define HEIGHT 320
#define LEFT 64
#define RIGHT 130
#define TOP 16
#define BOTTOM 44

#define GRID "#dddddd"
#define SIDES_MAX 8

static const char *const colors[SIDES_MAX] = {
	"#2b7bba", "#777777", "#d9822b", "#2e8b57",
	"#8a4fbf", "#b8860b", "#c0392b", "#444444",
};

struct axes {
	double x_min, x_max, y_min, y_max; /* powers of ten, or of two */
	double x_base;
};

static const struct point *point_of(const struct lines *lines, size_t i,
				    const char *plot)
{
	const struct point *point = &lines->all[i].point;

	return point->plot && !strcmp(point->plot, plot) ? point : NULL;
}

static double x_of(const struct axes *axes, double x)
{
	double from = log(axes->x_min), to = log(axes->x_max);

	return LEFT + (log(x) - from) / (to - from) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *axes, double y)
{
	double from = log(axes->y_min), to = log(axes->y_max);

	return HEIGHT - BOTTOM -
	       (log(y) - from) / (to - from) * (HEIGHT - TOP - BOTTOM);
}

/* Round outwards, so that all points lie within. */
static bool find_axes(const struct lines *lines, const char *plot,
		      struct axes *axes)
{
	double x_min = INFINITY, x_max = 0, y_min = INFINITY, y_max = 0;
	size_t i;

	for (i = 0; i < lines->count; i++) {
		const struct point *point = point_of(lines, i, plot);

		if (!point || !(point->x > 0) || !(point->ns > 0))
			continue;
		x_min = fmin(x_min, point->x);
		x_max = fmax(x_max, point->x);
		y_min = fmin(y_min, point->ns);
		y_max = fmax(y_max, point->ns);
	}
	axes->x_base = x_max / x_min < 1000 ? 2 : 10;
	axes->x_min = x_min;
	axes->x_max = fmax(x_max, x_min * axes->x_base);
	axes->y_min = pow(10, floor(log10(y_min)));
	axes->y_max = pow(10, floor(log10(y_max)) + 1);
	return x_max > 0;
}

static void draw_axes(const struct axes *axes, const char *x, const char *y)
{
	double at;
	char text[32];

	for (at = axes->x_min; at <= axes->x_max * 1.001; at *= axes->x_base) {
		svg_line(x_of(axes, at), TOP, x_of(axes, at), HEIGHT - BOTTOM,
			 GRID);
		snprintf(text, sizeof(text), "%.0f", at);
		svg_text(x_of(axes, at), HEIGHT - BOTTOM + 16, SVG_MIDDLE,
			 text);
	}
	for (at = axes->y_min; at <= axes->y_max * 1.001; at *= 10) {
		svg_line(LEFT, y_of(axes, at), WIDTH - RIGHT, y_of(axes, at),
			 GRID);
		snprintf(text, sizeof(text), "%g", at);
		svg_text(LEFT - 6, y_of(axes, at) + 4, SVG_END, text);
	}
	svg_text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, SVG_MIDDLE, x);
	svg_text(LEFT + 4, TOP + 12, SVG_START, y);
}

/* In the order of the points, with its name behind the last one. */
static void draw_side(const struct lines *lines, const char *plot,
		      const char *side, const struct axes *axes,
		      const char *color)
{
	const struct point *last = NULL;
	size_t i;

	for (i = 0; i < lines->count; i++) {
		const struct point *point = point_of(lines, i, plot);

		if (!point || strcmp(point->side, side) != 0)
			continue;
		if (last)
			svg_line(x_of(axes, last->x), y_of(axes, last->ns),
				 x_of(axes, point->x), y_of(axes, point->ns),
				 color);
		svg_dot(x_of(axes, point->x), y_of(axes, point->ns), color);
		last = point;
	}
	svg_text(x_of(axes, last->x) + 8, y_of(axes, last->ns) + 4, SVG_START,
		 side);
}

bool draw_growth(const struct lines *lines, const char *plot, const char *x,
		 const char *y)
{
	const char *sides[SIDES_MAX];
	size_t count = 0, i, j;
	struct axes axes;

	if (!find_axes(lines, plot, &axes))
		return false;
	svg_open(WIDTH, HEIGHT);
	draw_axes(&axes, x, y);
	for (i = 0; i < lines->count && count < SIDES_MAX; i++) {
		const struct point *point = point_of(lines, i, plot);

		for (j = 0; point && j < count; j++)
			if (!strcmp(sides[j], point->side))
				break;
		if (!point || j < count)
			continue;
		draw_side(lines, plot, point->side, &axes, colors[count]);
		sides[count++] = point->side;
	}
	svg_close();
	return true;
}
