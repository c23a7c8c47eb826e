/* SPDX-License-Identifier: MIT */
/*
 * The live screen: lines out, keys in.  The only user of curses.
 */
#ifndef HYPHAE_BPF_SCREEN_H
#define HYPHAE_BPF_SCREEN_H

#include <stdbool.h>

#include "bpf/report.h"
#include "bpf/view_lines.h"

struct screen {
	const struct column *sort;
	bool reverse;
	bool all;    /* show all time instead of the interval */
	bool paused; /* numbers stand still */
	bool help;
	bool quit;
	size_t scroll; /* rows */
	size_t help_scroll;
	size_t help_lines; /* as last drawn */
};

/* Take over the terminal.  False: it cannot show a screen. */
bool screen_open(struct screen *screen, const struct column *sort);

/* Handle the keys that were pressed.  True: draw again. */
bool screen_keys(struct screen *screen, const struct report *report);

void screen_draw(struct screen *screen, const struct report *report);

/* How the report shall be made. */
struct report_order screen_order(const struct screen *screen);

/* Give the terminal back. */
void screen_close(void);

#endif
