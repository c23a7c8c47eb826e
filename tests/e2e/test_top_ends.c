// SPDX-License-Identifier: MIT
/*
 * How hyphae-top ends, and what it says: every way has one sentence and a
 * status of its own.
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
#include "top.h"

#define TOP in_build("bin/hyphae-top")

/* A storm that goes on until it is told to end; its pid as text. */
static struct run *storm;

static const char *endless_storm(void)
{
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--rate", "5000",
		    "--seconds", "600", "--wait", "--truth",
		    in_temp("truth.json"));
	return as_text(storm_pid(storm));
}

/* It complained with this text, in one line, and ended with this status. */
static void assert_ended(struct run *top, int status, const char *text)
{
	const char *said;

	assert_int_equal(run_wait(top, RUN_LIMIT), status);
	said = run_err(top);
	if (!strstr(said, text))
		print_message("it said: %s", said);
	assert_non_null(strstr(said, text));
	assert_int_equal(strncmp(said, "hyphae-top: ", 12), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void bad_options(void **state)
{
	(void)state;
	assert_ended(RUN(TOP, "--bogus"), 1, "--bogus is not known");
	assert_ended(RUN(TOP, "-p"), 1, "-p needs an argument");
	assert_ended(RUN(TOP, "-p", "x"), 1,
		     "'x' is not a valid --pid: it takes the number of a "
		     "process.");
	assert_ended(RUN(TOP, "-p", "1", "name"), 1, "not both");
	assert_ended(
		RUN(TOP, "-s", "x", "name"), 1,
		"'x' is no column to sort by; there are CELL, OP, FIRES, ");
}

static void no_such_process(void **state)
{
	struct run *gone = RUN("true");

	(void)state;
	assert_int_equal(run_wait(gone, RUN_LIMIT), 0);
	assert_ended(RUN(TOP, "-p", as_text(gone->pid)), 2,
		     "there is no process");
	assert_ended(RUN(TOP, "-p", "999999999"), 2, "there is no process");
	assert_ended(RUN(TOP, "no-such-name"), 2,
		     "there is no process named 'no-such-name'");
}

static void a_process_that_has_ended(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	/* A zombie until it is waited for. */
	while (kill(child, 0) == 0) {
		char name[64], *stat;
		bool zombie;

		snprintf(name, sizeof(name), "/proc/%d/stat", child);
		stat = read_file(name);
		zombie = stat && strstr(stat, ") Z ");
		free(stat);
		if (zombie)
			break;
	}
	assert_ended(RUN(TOP, "-p", as_text(child)), 2, "has ended already");
}

static void a_process_without_probes(void **state)
{
	struct run *other = RUN("sleep", "600");

	(void)state;
	assert_ended(RUN(TOP, "-p", as_text(other->pid)), 3,
		     "carries no probes of hyphae");
	if (geteuid() == 0) /* a thread of the kernel */
		assert_ended(RUN(TOP, "-p", "2"), 3, "carries no probes");
}

static void output_that_cannot_be_written(void **state)
{
	const char *pid = endless_storm();

	(void)state;
	NEED_BPF();
	assert_ended(RUN(TOP, "-p", pid, "-o", "/no/such/place"), 6,
		     "cannot write to /no/such/place: No such file");
	assert_ended(RUN(TOP, "-p", pid, "-d", "0.1", "-o", "/dev/full"), 6,
		     "cannot write to /dev/full: No space left");
	assert_ended(
		RUN(TOP, "-p", pid, "-d", "0.1", "--json", "-o", "/dev/full"),
		6, "cannot write to /dev/full: No space left");
}

/* As when `head` has enough: the status tells it, no sentence does. */
static void assert_quiet(struct run *top)
{
	assert_int_equal(run_wait(top, RUN_LIMIT), 6);
	assert_string_equal(run_err(top), "");
}

static void a_pipe_that_is_closed(void **state)
{
	static const struct run_how closed = {.close_stdout = true};
	const char *pid = endless_storm();
	const char *const json[] = {TOP,   "-p",     pid, "-d",
				    "0.1", "--json", NULL};
	const char *const plain[] = {TOP, "-p", pid, "-d", "0.1", NULL};
	const char *const list[] = {TOP, NULL};
	const char *const help[] = {TOP, "--help", NULL};

	(void)state;
	NEED_BPF();
	assert_quiet(run_start_how(json, &closed));
	assert_quiet(run_start_how(plain, &closed));
	assert_quiet(run_start_how(list, &closed));
	assert_quiet(run_start_how(help, &closed));
}

/* It is blocked in a write; a signal ends it all the same. */
static void a_pipe_that_nobody_reads(void **state)
{
	int status;
	char *said;

	(void)state;
	NEED_BPF();
	/* 64 KiB fill the pipe long before the signal. */
	said = run_shell(&status,
			 "{ timeout -s TERM 3 %s -p %s -d 0.01 --json 2>&1 "
			 ">&3; echo status $?; } 3>&1 >%s 2>&1 | sleep 6; "
			 "cat %s",
			 TOP, endless_storm(), in_temp("said"),
			 in_temp("said"));
	if (!strstr(said, "nobody took what it wrote to standard output"))
		print_message("it said: %s", said);
	assert_non_null(strstr(said, "hyphae-top: told to end while nobody "
				     "took what it wrote to standard output"));
	free(said);
}

/* With its standard output closed it must not write into another file. */
static void no_standard_output(void **state)
{
	int status;
	char *said = run_shell(&status, "%s -p %s -d 0.1 --json 2>&1 >&-", TOP,
			       endless_storm());

	(void)state;
	NEED_BPF();
	assert_int_equal(status, 6);
	assert_string_equal(said, "hyphae-top: cannot write to standard "
				  "output: Bad file descriptor.\n");
	free(said);
}

/* ---- ends that are none ---------------------------------------------------- */

static struct top_sums sums;

static void assert_last(struct run *top, const char *end, bool finished)
{
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
	assert_string_equal(
		json_string_value(json_object_get(sums.last, "end")), end);
	assert_true(json_is_true(json_object_get(sums.last, "final")));
	assert_int_equal(json_is_true(json_object_get(sums.last, "exact")),
			 finished);
	assert_int_equal(
		json_is_false(json_object_get(sums.last, "unfinished")),
		finished);
	assert_true(sums.fires > 0);
	top_sums_done(&sums);
}

static struct run *watch(const char *option, const char *value)
{
	const char *pid = endless_storm();
	struct run *top;
	char *text = NULL;
	int i;

	unlink(in_temp("top.json"));
	top = RUN(TOP, "-p", pid, "--json", "-d", "0.1", "-o",
		  in_temp("top.json"), option, value);
	/* Until it has told something. */
	for (i = 0; i < 600 && !top->ended; i++) {
		free(text);
		text = read_file(in_temp("top.json"));
		if (text && strstr(text, "\"cells\":[{"))
			break;
		usleep(100000);
	}
	free(text);
	return top;
}

static void signals_end_it_well(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	size_t i;

	(void)state;
	NEED_BPF();
	for (i = 0; i < 3; i++) {
		struct run *top = watch("--top", "0");

		assert_int_equal(run_kill(top, signals[i]), 0);
		assert_last(top, "interrupted", true);
		assert_string_equal(run_err(top), "");
		run_close(storm);
	}
}

static void the_end_of_the_process_is_its_end(void **state)
{
	struct run *top;

	(void)state;
	NEED_BPF();
	top = watch("--top", "0");
	assert_int_equal(run_kill(storm, SIGTERM), 0);
	assert_last(top, "process ended", true);
	assert_non_null(strstr(run_err(top), "(storm) has ended.\n"));
}

static void a_killed_process_leaves_its_numbers(void **state)
{
	struct run *top;

	(void)state;
	NEED_BPF();
	top = watch("--top", "0");
	assert_int_equal(run_kill(storm, SIGKILL), 0);
	assert_last(top, "process ended", false);
	assert_non_null(strstr(run_err(top), "(storm) has ended without "
					     "delivering its last records.\n"));
}

/* Its cells are gone, its number is not. */
static void another_program_is_the_end(void **state)
{
	struct run *program, *top;

	(void)state;
	NEED_BPF();
	program = RUN_TALK(in_build("tests/e2e/prog_exec"), "1009", "sleep");
	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	top = RUN(TOP, "-p", as_text(program->pid), "--json", "-d", "0.1");
	assert_true(run_wait_text(top, "\"fires\":1009,", RUN_LIMIT));
	assert_int_equal(run_say(program, "go"), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), "\"end\":\"another program\""));
	assert_non_null(strstr(run_err(top), "runs another program now.\n"));
}

static void so_many_intervals(void **state)
{
	(void)state;
	NEED_BPF();
	assert_int_equal(run_wait(watch("-n", "7"), RUN_LIMIT), 0);
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
	assert_int_equal(sums.intervals, 7);
	assert_string_equal(
		json_string_value(json_object_get(sums.last, "end")),
		"count reached");
	top_sums_done(&sums);
}

/* With --fail-on-loss; and only then. */
static void a_loss_can_be_an_error(void **state)
{
	struct run *top;

	(void)state;
	NEED_BPF();
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--sets", "300007",
		    "--wait");
	top = RUN(TOP, "-p", as_text(storm_pid(storm)), "--json", "-o",
		  "/dev/null", "--ring", "4096", "--fail-on-loss");
	assert_int_equal(run_wait(top, RUN_LIMIT), 7);
	assert_non_null(strstr(run_err(top), " records were lost, "));
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--sets", "1009",
		    "--wait");
	top = RUN(TOP, "-p", as_text(storm_pid(storm)), "--json", "-o",
		  "/dev/null", "--fail-on-loss");
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	/* What a process that is killed did last, nobody knows. */
	top = RUN(TOP, "-p", endless_storm(), "--json", "-o", "/dev/null",
		  "--fail-on-loss");
	usleep(500000);
	assert_int_equal(run_kill(storm, SIGKILL), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 7);
}

/* ---- words ------------------------------------------------------------------- */

/*
 * Two intervals and the sum of both.  When hyphae-top is late, the second is
 * so much shorter: perhaps nothing happens in it, nor tells it what it costs.
 */
static void a_plain_table(void **state)
{
	struct run *top;
	const char *out;

	(void)state;
	NEED_BPF();
	top = RUN(TOP, "-p", endless_storm(), "-d", "0.2", "-n", "2", "--top",
		  "3");
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	out = run_out(top);
	assert_int_equal(count_text(out, "\nCELL  "), 3);
	assert_int_equal(count_text(out, "\nTOTAL  "), 3);
	assert_int_equal(count_text(out, "\nloss: none"), 3);
	assert_int_equal(count_text(out, "since the start:\n"), 1);
	assert_non_null(strstr(strstr(out, "since the start:\n"),
			       "\nloss: none  cost: "));
}

/* Wait until the text was printed so many times. */
static bool wait_times(struct run *run, const char *text, size_t times)
{
	int i;

	for (i = 0; i < RUN_LIMIT / 10 && !run->ended; i++) {
		if (count_text(run_out(run), text) >= times)
			return true;
		usleep(10000);
	}
	return false;
}

/* In intervals in which much happens. */
static void a_table_with_more_cells(void **state)
{
	struct run *top;
	size_t tables;

	(void)state;
	NEED_BPF();
	top = RUN(TOP, "-p", endless_storm(), "-d", "0.2", "--top", "3");
	assert_true(wait_times(top, " more cells\n", 2));
	assert_int_equal(run_kill(top, SIGINT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	tables = count_text(run_out(top), "\nTOTAL  ");
	assert_true(tables >= 4);
	assert_int_equal(count_text(run_out(top), "\nloss: none"), tables);
	assert_true(count_text(run_out(top), "\nloss: none  cost: ") >= 2);
	assert_true(count_text(run_out(top), " more cells\n") >= 3);
	assert_int_equal(count_text(run_out(top), "since the start:\n"), 1);
}

static size_t longest_line(const char *text)
{
	size_t most = 0, n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		most = n > most ? n : most;
	}
	return most;
}

/* In a file 120 columns, or as COLUMNS says, or all. */
static void the_width_of_a_table(void **state)
{
	const char *pid = endless_storm();
	int status;
	char *said;

	(void)state;
	NEED_BPF();
	said = run_shell(&status, "COLUMNS= %s -p %s -d 0.1 -n 1 --top 3", TOP,
			 pid);
	assert_int_equal(status, 0);
	assert_true(longest_line(said) <= 120);
	assert_non_null(strstr(said, "MAX +9\n"));
	free(said);
	said = run_shell(&status, "COLUMNS=80 %s -p %s -d 0.1 -n 1 --top 3",
			 TOP, pid);
	assert_int_equal(status, 0);
	assert_true(longest_line(said) <= 80);
	assert_non_null(strstr(said, "P99 +13\n"));
	free(said);
	said = run_shell(&status, "COLUMNS=80 %s -p %s -d 0.1 -n 1 -w", TOP,
			 pid);
	assert_int_equal(status, 0);
	assert_non_null(strstr(said, "FANOUT       ID\n"));
	free(said);
}

static void a_list_of_processes(void **state)
{
	const char *pid = endless_storm();
	char line[64];
	struct run *top = RUN(TOP);

	(void)state;
	snprintf(line, sizeof(line), "%8s  storm            /", pid);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), line));
	assert_non_null(strstr(run_out(top), "PID  NAME"));
}

static void a_process_by_name(void **state)
{
	int status;
	char *said;
	struct run *two;

	(void)state;
	NEED_BPF();
	said = run_shell(&status, "cp %s %s", in_build("bin/storm"),
			 in_temp("stormy-weather-today"));
	free(said);
	assert_int_equal(status, 0);
	storm = RUN(in_temp("stormy-weather-today"), "--cells", "97",
		    "--seconds", "600", "--wait");
	assert_true(storm_pid(storm) > 0);
	said = CAPTURE(&status, TOP, "stormy-weather-today", "-d", "0.1", "-n",
		       "1");
	assert_int_equal(status, 0);
	assert_non_null(strstr(said, "hyphae-top  stormy-weather-"));
	free(said);
	two = RUN(in_temp("stormy-weather-today"), "--cells", "97", "--seconds",
		  "600", "--wait");
	assert_true(storm_pid(two) > 0);
	assert_ended(RUN(TOP, "stormy-weather-today"), 1,
		     "2 processes named 'stormy-weather-today' carry probes");
}

static void its_version(void **state)
{
	int status;
	char *said = CAPTURE(&status, TOP, "--version");

	(void)state;
	assert_int_equal(status, 0);
	assert_int_equal(strncmp(said, "hyphae-top 0.", 13), 0);
	free(said);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bad_options),
		TEST(no_such_process),
		TEST(a_process_that_has_ended),
		TEST(a_process_without_probes),
		TEST(output_that_cannot_be_written),
		TEST(a_pipe_that_is_closed),
		TEST(a_pipe_that_nobody_reads),
		TEST(no_standard_output),
		TEST(signals_end_it_well),
		TEST(the_end_of_the_process_is_its_end),
		TEST(a_killed_process_leaves_its_numbers),
		TEST(another_program_is_the_end),
		TEST(so_many_intervals),
		TEST(a_loss_can_be_an_error),
		TEST(a_plain_table),
		TEST(a_table_with_more_cells),
		TEST(the_width_of_a_table),
		TEST(a_list_of_processes),
		TEST(a_process_by_name),
		TEST(its_version),
	};

	return cmocka_run_group_tests_name("how hyphae-top ends", tests, NULL,
					   NULL);
}
