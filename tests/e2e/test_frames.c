// SPDX-License-Identifier: MIT
/*
 * What a sampling profiler shows: notify, write_value and fanout as frames of
 * their own, with the type of the cell in the stack.  perf samples by the
 * clock of the CPU, which works in virtual machines too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/*
 * Record `command` and give the stacks as text: for each sample one line of
 * functions, the innermost first, "burn;render;hy_fanout;...;main;".
 */
static char *stacks_of(const char *command)
{
	const char *perf = find_tool("perf");
	char *text;
	int status;

	assert_non_null(perf);
	text = run_shell(&status,
			 "%s record -q -e cpu-clock -F 4000 -g -o %s/perf.data "
			 "-- %s >%s/perf.said 2>&1 || cat %s/perf.said",
			 perf, temp_dir(), command, temp_dir(), temp_dir());
	if (*text)
		printf("%s", text);
	assert_int_equal(status, 0);
	assert_string_equal(text, "");
	free(text);
	/* One function a line, samples apart by an empty line: joined. */
	text = run_shell(&status,
			 "%s script -i %s/perf.data -F ip,sym 2>/dev/null | "
			 "awk 'NF == 0 { if (n) print \"\"; n = 0; next } "
			 "{ printf \"%%s;\", $2; n++ } END { print \"\" }'",
			 perf, temp_dir());
	assert_int_equal(status, 0);
	return text;
}

/*
 * How many stacks have these functions, in this order from the innermost out,
 * others between them.
 */
static size_t stacks_with(const char *stacks, const char *const *functions)
{
	char *copy = strdup(stacks), *save = NULL;
	size_t count = 0;

	for (char *line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *at = line;
		size_t i;

		for (i = 0; functions[i] && at; i++) {
			at = strstr(at, functions[i]);
			if (at)
				at += strlen(functions[i]);
		}
		count += at != NULL;
	}
	free(copy);
	return count;
}

#define STACKS(stacks, ...)                                                    \
	stacks_with(stacks, (const char *const[]){__VA_ARGS__, NULL})

static char *frames_stacks;

static int record_frames(void **state)
{
	char command[512];

	(void)state;
	if (bpf_forbidden() || frames_stacks)
		return 0;
	snprintf(command, sizeof(command), "%s 100000",
		 in_build("tests/e2e/prog_frames"));
	frames_stacks = stacks_of(command);
	return 0;
}

/* notify and fanout around a subscriber, with the type in between. */
static void test_subscriber(void **state)
{
	(void)state;
	NEED_BPF();
	assert_true(STACKS(frames_stacks, "render_reading;", "hy_fanout;",
			   "hyphae_fanout_reading;", "hy_notify;",
			   "main;") > 10);
	assert_true(STACKS(frames_stacks, "render_level;", "hy_fanout;",
			   "hyphae_fanout_level;", "hy_notify;", "main;") > 10);
}

/* The types are told apart: no subscriber is seen under the other's. */
static void test_types(void **state)
{
	(void)state;
	NEED_BPF();
	assert_int_equal(STACKS(frames_stacks, "render_reading;",
				"hyphae_fanout_level;"),
			 0);
	assert_int_equal(STACKS(frames_stacks, "render_level;",
				"hyphae_fanout_reading;"),
			 0);
}

/* Comparing is part of writing, which is called by notify and not by fanout. */
static void test_write_value(void **state)
{
	(void)state;
	NEED_BPF();
	assert_true(STACKS(frames_stacks, "compare_readings;",
			   "hy_write_value;", "hy_notify;", "main;") > 10);
	assert_int_equal(
		STACKS(frames_stacks, "compare_readings;", "hy_fanout;"), 0);
}

/* The load that people will look at first. */
static void test_storm(void **state)
{
	char command[512], *stacks;

	(void)state;
	NEED_BPF();
	snprintf(command, sizeof(command),
		 "%s --cells 2000 --seconds 2 --no-pass",
		 in_build("bin/storm"));
	stacks = stacks_of(command);
	assert_true(STACKS(stacks, "hy_fanout;", "hyphae_fanout_", "main;") +
			    STACKS(stacks, "hy_fanout;", "hyphae_fanout_",
				   "hy_notify;") >
		    0);
	assert_true(STACKS(stacks, "hy_write_value;", "hy_notify;") > 0);
	assert_true(STACKS(stacks, "hy_fanout;", "hy_notify;") > 0);
	free(stacks);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, record_frames, run_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_subscriber),
		TEST(test_types),
		TEST(test_write_value),
		cmocka_unit_test_teardown(test_storm, run_teardown),
	};
	int status = cmocka_run_group_tests(tests, NULL, NULL);

	free(frames_stacks);
	return status;
}
