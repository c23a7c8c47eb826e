// SPDX-License-Identifier: MIT
/* The live screen, on terminals of several sizes, and its keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "top.h"

static struct run *storm, *top;

static void start(unsigned short rows, unsigned short columns)
{
	struct run_how how = {.rows = rows, .columns = columns};
	const char *pid;

	setenv("TERM", "xterm", 1);
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--rate", "5000",
		    "--seconds", "600", "--wait");
	pid = as_text(storm_pid(storm));
	top = run_start_how((const char *const[]){in_build("bin/hyphae-top"),
						  "-p", pid, "-d", "0.1", NULL},
			    &how);
	/* The last line of the screen is drawn last. */
	assert_true(run_wait_text(top, "q quit", RUN_LIMIT));
}

static void press(const char *keys)
{
	assert_int_equal(write(top->in, keys, strlen(keys)), strlen(keys));
}

static void quit(void)
{
	press("q");
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	/* The terminal is given back, and the sums stay on it. */
	assert_non_null(strstr(run_out(top), "\x1b[?1049l"));
	assert_non_null(
		strstr(strstr(run_out(top), "\x1b[?1049l"), "hyphae-t"));
}

static void it_shows_cells(void **state)
{
	(void)state;
	NEED_BPF();
	start(24, 80);
	assert_true(run_wait_text(top, "loss: none", RUN_LIMIT));
	assert_true(run_wait_text(top, "TOTAL", RUN_LIMIT));
	assert_true(run_wait_text(top, "diamond0.", RUN_LIMIT));
	quit();
}

static void help_explains_columns(void **state)
{
	(void)state;
	NEED_BPF();
	start(24, 80);
	press("h");
	assert_true(run_wait_text(
		top, "times that it changed, an error included", RUN_LIMIT));
	press("h");
	quit();
}

/*
 * Curses writes only what has changed, so titles are hard to find in it.  The
 * table that stays is sorted as the screen was.
 */
static void assert_sorted(const char *keys, const char *title)
{
	start(24, 200);
	press(keys);
	quit();
	assert_non_null(strstr(strstr(run_out(top), "\x1b[?1049l"), title));
	run_close(top);
	run_close(storm);
}

static void arrows_choose_the_column(void **state)
{
	(void)state;
	NEED_BPF();
	assert_sorted("", " SELF* ");
	assert_sorted("\x1bOC", " P50* ");
	assert_sorted("\x1bOC<\x1bOD", " TARGETS* ");
	assert_sorted("r", " SELF^ ");
}

/* On 80 columns: what one wants first, and a mark for the rest. */
static void the_usual_terminal(void **state)
{
	const char *table;

	(void)state;
	NEED_BPF();
	start(24, 80);
	quit();
	table = strstr(run_out(top), "\x1b[?1049l");
	assert_non_null(strstr(table, "CELL                     OP          "
				      "FIRES  REFIRE%   UNCHGD   SELF*     P99 "
				      "+13"));
	/* And the head is still on it. */
	assert_int_equal(count_text(table, "\n"), 22);
}

static void help_can_be_scrolled(void **state)
{
	(void)state;
	NEED_BPF();
	start(10, 60);
	press("h");
	assert_true(run_wait_text(top, "that did something", RUN_LIMIT));
	press("\x1b[6~\x1b[6~\x1b[6~\x1b[6~");
	assert_true(run_wait_text(top, "by which probes know", RUN_LIMIT));
	press("h");
	quit();
}

static void space_stops_the_numbers(void **state)
{
	(void)state;
	NEED_BPF();
	start(24, 120);
	press(" ");
	assert_true(run_wait_text(top, "[paused]", RUN_LIMIT));
	press(">>r");
	press(" ");
	quit();
}

/* Far more keys than there are rows and columns. */
static void any_keys(void **state)
{
	static const char keys[] = "jjjjkkkk>>>>>>>><<<<<<ahrh a?jjj  \x1b[B"
				   "\x1b[A\x1b[5~\x1b[6~\x1b[Hxyz\x01\x7f";
	int i;

	(void)state;
	NEED_BPF();
	start(24, 80);
	for (i = 0; i < 7; i++)
		press(keys);
	quit();
}

static void small_terminals(void **state)
{
	static const unsigned short sizes[][2] = {
		{10, 40}, {5, 20}, {2, 10}, {60, 300}};
	size_t i;

	(void)state;
	NEED_BPF();
	for (i = 0; i < 4; i++) {
		struct run_how how = {.rows = sizes[i][0],
				      .columns = sizes[i][1]};

		storm = RUN(in_build("bin/storm"), "--cells", "97", "--rate",
			    "5000", "--seconds", "600", "--wait");
		top = run_start_how(
			(const char *const[]){in_build("bin/hyphae-top"), "-p",
					      as_text(storm_pid(storm)), "-d",
					      "0.1", NULL},
			&how);
		assert_true(run_wait_text(top, "\x1b[?1049h", RUN_LIMIT));
		press(">>>jjhh");
		quit();
		run_close(storm);
	}
}

/* Where there can be no screen it prints tables. */
static void terminals_without_a_screen(void **state)
{
	static const char *const names[] = {"no-such-terminal", "dumb"};
	struct run_how how = {.rows = 24, .columns = 80};
	const char *pid;
	size_t i;

	(void)state;
	NEED_BPF();
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--rate", "5000",
		    "--seconds", "600", "--wait");
	pid = as_text(storm_pid(storm));
	for (i = 0; i < 2; i++) {
		const char *const argv[] = {in_build("bin/hyphae-top"),
					    "-p",
					    pid,
					    "-d",
					    "0.1",
					    "-n",
					    "3",
					    NULL};

		setenv("TERM", names[i], 1);
		top = run_start_how(argv, &how);
		assert_int_equal(run_wait(top, RUN_LIMIT), 0);
		assert_null(strstr(run_out(top), "\x1b["));
		assert_int_equal(count_text(run_out(top), "loss: none"), 4);
	}
	setenv("TERM", "xterm", 1);
}

static void the_terminal_is_given_back(void **state)
{
	(void)state;
	NEED_BPF();
	start(24, 80);
	assert_int_equal(run_kill(top, SIGTERM), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), "\x1b[?1049l"));
	assert_non_null(strstr(run_out(top), "[all time, interrupted]"));
	start(24, 80);
	assert_int_equal(run_kill(storm, SIGKILL), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), "\x1b[?1049l"));
	assert_non_null(strstr(run_out(top), "has ended without"));
}

/* Ctrl-S stops what it writes, not it. */
static void a_terminal_that_is_stopped(void **state)
{
	(void)state;
	NEED_BPF();
	start(24, 80);
	press("\x13");
	usleep(500000);
	assert_int_equal(run_kill(top, SIGTERM), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), "[all time, interrupted]"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_shows_cells),
		TEST(help_explains_columns),
		TEST(arrows_choose_the_column),
		TEST(the_usual_terminal),
		TEST(help_can_be_scrolled),
		TEST(space_stops_the_numbers),
		TEST(any_keys),
		TEST(small_terminals),
		TEST(terminals_without_a_screen),
		TEST(the_terminal_is_given_back),
		TEST(a_terminal_that_is_stopped),
	};

	return cmocka_run_group_tests_name("the screen of hyphae-top", tests,
					   NULL, NULL);
}
