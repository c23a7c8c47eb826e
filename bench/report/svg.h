/* SPDX-License-Identifier: MIT */
/* Drawing: the few elements of SVG that the plots need, to stdout. */
#ifndef BENCH_REPORT_SVG_H
#define BENCH_REPORT_SVG_H

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/* A white drawing of that many pixels. */
void svg_open(int width, int height);
void svg_close(void);

void svg_line(double x1, double y1, double x2, double y2, const char *color);
void svg_box(double x, double y, double width, double height,
	     const char *color);
void svg_dot(double x, double y, const char *color);
/* Texts are of this program or of benches: "<" and "&" are escaped. */
void svg_text(double x, double y, enum svg_anchor anchor, const char *text);

#endif
