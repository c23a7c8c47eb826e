// SPDX-License-Identifier: MIT
/* The live screen; see screen.h. */
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "bpf/screen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define FOOT                                                                   \
	" q quit  h help  arrows sort, scroll  r reverse  a all time  "        \
	"space pause"
#define HELP_FOOT " q quit  h back  up, down scroll"
/* A lower screen shows no more than titles and cells. */
#define BRIEF_LINES 9

static SCREEN *terminal;

/* A terminal that is called dumb has no way to move the cursor. */
static bool can_address(void)
{
	const char *way = tigetstr("cup");

	return way && way != (const char *)-1;
}

bool screen_open(struct screen *screen, const struct column *sort)
{
	memset(screen, 0, sizeof(*screen));
	screen->sort = sort;
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return false;
	set_term(terminal);
	if (!can_address()) {
		screen_close();
		return false;
	}
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_RED, -1);
	}
	return true;
}

void screen_close(void)
{
	if (!terminal)
		return;
	/*
	 * One that is stopped would keep us here.  The kernel starts only what
	 * was stopped by the same call, not what Ctrl-S has stopped.
	 */
	(void)tcflow(STDOUT_FILENO, TCOOFF);
	(void)tcflow(STDOUT_FILENO, TCOON);
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

/* ---- keys --------------------------------------------------------------- */

static void move_sort(struct screen *screen, int step)
{
	int n = 0, at = 0;

	for (; table_columns[n]; n++)
		if (table_columns[n] == screen->sort)
			at = n;
	at = (at + step + n) % n;
	screen->sort = table_columns[at];
	screen->reverse = false;
}

static bool is_brief(void)
{
	return LINES < BRIEF_LINES;
}

/* How many rows, or lines of help, there is room for. */
static size_t page(const struct screen *screen)
{
	int before = screen->help ? 0
		     : is_brief() ? VIEW_BRIEF_LINES
				  : VIEW_HEAD_LINES;
	int rows = LINES - 1 - before;

	return rows > 1 ? (size_t)rows : 1;
}

static void move_by(size_t *at, size_t count, size_t room, long step)
{
	size_t most = count > room ? count - room : 0;

	if (step < 0 && (size_t)-step > *at)
		*at = 0;
	else
		*at += (size_t)step;
	if (*at > most)
		*at = most;
}

static void move_rows(struct screen *screen, const struct report *report,
		      long step)
{
	if (screen->help)
		move_by(&screen->help_scroll, screen->help_lines, page(screen),
			step);
	else
		move_by(&screen->scroll, report->count, page(screen), step);
}

static void one_key(struct screen *screen, const struct report *report, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		screen->quit = true;
		break;
	case 'h':
	case '?':
		screen->help = !screen->help;
		screen->help_scroll = 0;
		break;
	case 27: /* escape */
		screen->help = false;
		break;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case 'a':
		screen->all = !screen->all;
		break;
	case 'r':
		screen->reverse = !screen->reverse;
		break;
	case KEY_LEFT:
	case '<':
		move_sort(screen, -1);
		break;
	case KEY_RIGHT:
	case '>':
		move_sort(screen, 1);
		break;
	case KEY_UP:
	case 'k':
		move_rows(screen, report, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_rows(screen, report, 1);
		break;
	case KEY_PPAGE:
		move_rows(screen, report, -(long)page(screen));
		break;
	case KEY_NPAGE:
		move_rows(screen, report, (long)page(screen));
		break;
	case KEY_HOME:
		move_rows(screen, report, -(long)(LONG_MAX / 2));
		break;
	case KEY_END:
		move_rows(screen, report, LONG_MAX / 2);
		break;
	}
}

bool screen_keys(struct screen *screen, const struct report *report)
{
	bool any = false;
	int key;

	while ((key = getch()) != ERR) {
		one_key(screen, report, key);
		any = true;
	}
	return any;
}

struct report_order screen_order(const struct screen *screen)
{
	struct report_order order = column_order(screen->sort);

	order.ascending ^= screen->reverse;
	return order;
}

/* ---- drawing ------------------------------------------------------------ */

struct painter {
	int row;
	bool paused;
};

static attr_t attributes(enum line_kind kind, bool paused)
{
	switch (kind) {
	case LINE_HEAD:
		return paused ? A_REVERSE | A_BOLD : A_BOLD;
	case LINE_GOOD:
		return COLOR_PAIR(1);
	case LINE_BAD:
		return COLOR_PAIR(2) | A_BOLD;
	case LINE_TITLES:
		return A_REVERSE;
	case LINE_SUM:
		return A_BOLD;
	default:
		return A_NORMAL;
	}
}

static void paint(void *ctx, enum line_kind kind, const char *text)
{
	struct painter *painter = ctx;
	attr_t attribute = attributes(kind, painter->paused);

	if (painter->row >= LINES - 1)
		return;
	attron(attribute);
	mvaddstr(painter->row++, 0, text);
	if (kind == LINE_TITLES)
		hline(' ' | A_REVERSE, COLS);
	attroff(attribute);
}

void screen_draw(struct screen *screen, const struct report *report)
{
	struct painter painter = {0, screen->paused};
	struct report_order order = screen_order(screen);
	struct view view = {
		.width = COLS,
		.skip = screen->help ? screen->help_scroll : screen->scroll,
		.rows = page(screen),
		.brief = is_brief(),
		.sort = screen->sort,
		.ascending = order.ascending,
		.line = paint,
		.ctx = &painter,
	};

	erase();
	if (screen->help)
		screen->help_lines = view_help(&view);
	else
		view_lines(report, &view);
	attron(A_DIM);
	mvaddnstr(LINES - 1, 0, screen->help ? HELP_FOOT : FOOT, COLS - 1);
	attroff(A_DIM);
	refresh();
}
