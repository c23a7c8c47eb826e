// SPDX-License-Identifier: MIT
/*
 * The demo: what somebody sees first.  It must end by itself with status 0
 * and leave nothing running, also when it is interrupted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static struct run *start_demo(const struct run_how *how)
{
	const char *const argv[] = {"tests/tools/demo.sh", in_build("."), NULL};

	setenv("DEMO_SECONDS", "2", 1);
	return run_start_how(argv, how);
}

/* "... runs as process 17." */
static pid_t monitor_of(struct run *demo)
{
	const char *text = "runs as process ";
	const char *at;

	assert_true(run_wait_text(demo, text, RUN_LIMIT));
	at = strstr(run_out(demo), text);
	assert_non_null(at);
	return atoi(at + strlen(text));
}

/* Neither the process nor a zombie of it. */
static void assert_gone(pid_t pid)
{
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_text(void **state)
{
	struct run *demo;
	pid_t monitor;

	(void)state;
	NEED_BPF();
	demo = start_demo(&(struct run_how){0});
	monitor = monitor_of(demo);
	assert_int_equal(run_wait(demo, RUN_LIMIT), 0);
	assert_gone(monitor);
	/* Plain text, with cells of the monitor in it. */
	assert_null(strchr(run_out(demo), '\033'));
	assert_non_null(strstr(run_out(demo), "cpu"));
	assert_string_equal(run_err(demo), "");
}

static void test_terminal(void **state)
{
	struct run *demo;
	pid_t monitor;

	(void)state;
	NEED_BPF();
	setenv("TERM", "xterm-256color", 1);
	demo = start_demo(&(struct run_how){.rows = 28, .columns = 100});
	monitor = monitor_of(demo);
	assert_int_equal(run_wait(demo, RUN_LIMIT), 0);
	assert_gone(monitor);
	assert_non_null(strstr(run_out(demo), "\033["));
	/* What the live screen has wiped is said again. */
	assert_non_null(strstr(run_out(demo), "That was "));
}

/* Ctrl-C in the middle: the whole group gets the signal. */
static void test_interrupted(void **state)
{
	struct run *demo;
	pid_t monitor;

	(void)state;
	NEED_BPF();
	demo = start_demo(&(struct run_how){.new_group = true});
	monitor = monitor_of(demo);
	assert_int_equal(kill(-demo->pid, SIGINT), 0);
	assert_int_equal(run_wait(demo, RUN_LIMIT), 0);
	assert_gone(monitor);
}

/* Ctrl-C on the terminal of `make demo` is no error of make. */
static void test_make_interrupted(void **state)
{
	static const char *const argv[] = {
		"env",	     "-u",   "MAKEFLAGS", "-u",	  "MFLAGS", "-u",
		"MAKELEVEL", "make", "-sj2",	  "demo", NULL};
	struct run *demo;
	pid_t monitor;

	(void)state;
	NEED_BPF();
	setenv("TERM", "xterm-256color", 1);
	setenv("DEMO_SECONDS", "1000", 1);
	demo = run_start_how(argv,
			     &(struct run_how){.rows = 28, .columns = 100});
	monitor = monitor_of(demo);
	/* The live screen is up: it is drawn on the alternate screen. */
	assert_true(run_wait_text(demo, "\033[?1049h", RUN_LIMIT));
	assert_int_equal(write(demo->in, "\003", 1), 1);
	assert_int_equal(run_wait(demo, RUN_LIMIT), 0);
	assert_gone(monitor);
	assert_non_null(strstr(run_out(demo), "Interrupted."));
	assert_null(strstr(run_out(demo), "***"));
	assert_null(strstr(run_out(demo), "warning"));
}

#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_text),
		TEST(test_terminal),
		TEST(test_interrupted),
		TEST(test_make_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
