/* SPDX-License-Identifier: MIT */
/* Drawing; see svg.h. */
#include "svg.h"

#include <stdio.h>

void svg_open(int width, int height)
{
	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	       "height=\"%d\" viewBox=\"0 0 %d %d\" "
	       "font-family=\"sans-serif\" font-size=\"12\">\n",
	       width, height, width, height);
	svg_box(0, 0, width, height, "#ffffff");
}

void svg_close(void)
{
	printf("</svg>\n");
}

void svg_line(double x1, double y1, double x2, double y2, const char *color)
{
	printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
	       "stroke=\"%s\" stroke-width=\"1.5\"/>\n",
	       x1, y1, x2, y2, color);
}

void svg_box(double x, double y, double width, double height, const char *color)
{
	printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
	       "fill=\"%s\"/>\n",
	       x, y, width, height, color);
}

void svg_dot(double x, double y, const char *color)
{
	printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y,
	       color);
}

void svg_text(double x, double y, enum svg_anchor anchor, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};

	printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y,
	       anchors[anchor]);
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", stdout);
		else if (*text == '&')
			fputs("&amp;", stdout);
		else
			putchar(*text);
	}
	printf("</text>\n");
}
