// SPDX-License-Identifier: MIT
/*
 * The test runner itself: a test that is lost must not look like one that
 * passed.  Small programs pretend to be cmocka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

/* The last line of a run of one program that is this script. */
static void check_run(const char *script, const char *environment,
		      int want_status, const char *want)
{
	char *text, *last, *whole;
	const char *program = in_temp("build/fake/tests/e2e/test_fake");
	int status;

	free(run_shell(NULL, "mkdir -p %s/build/fake/tests/e2e", temp_dir()));
	assert_true(asprintf(&whole, "#!/bin/sh\n%s\n", script) > 0);
	assert_int_equal(write_file(program, whole), 0);
	free(whole);
	assert_int_equal(chmod(program, 0755), 0);
	text = run_shell(
		&status,
		"tools=\"$PWD/tests/tools\" && cd %s && "
		"env -u T -u TEST_FILTER -u CI -u LIMIT %s "
		"\"$tools/run_tests.sh\" build/fake/tests/e2e/test_fake",
		temp_dir(), environment);
	last = text + strlen(text);
	while (last > text && last[-1] == '\n')
		*--last = '\0';
	last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	if (strcmp(last, want) != 0 || status != want_status)
		printf("%s\nstatus %d\n", text, status);
	assert_string_equal(last, want);
	assert_int_equal(status, want_status);
	free(text);
}

/* cmocka repeats names of skipped and failed tests in its summary. */
#define SKIP_AND_PASS                                                          \
	"echo '[==========] Running 2 test(s).'\n"                             \
	"echo '[ RUN      ] a'\n"                                              \
	"printf 'no newline before the mark'\n"                                \
	"echo '[       OK ] a'\n"                                              \
	"echo '[ RUN      ] b'\n"                                              \
	"echo '[  SKIPPED ] b'\n"                                              \
	"echo '[==========] 2 test(s) run.'\n"                                 \
	"echo '[  PASSED  ] 1 test(s).'\n"                                     \
	"echo '[  SKIPPED ] 1 test(s), listed below:'\n"                       \
	"echo '[  SKIPPED ] b'\n"                                              \
	"echo; echo ' 1 SKIPPED TEST(S)'\n"

static void test_passed(void **state)
{
	(void)state;
	check_run(SKIP_AND_PASS, "", 0, "1 passed, 0 failed, 1 skipped");
	/* As later versions print it. */
	check_run("echo '[==========] tests: Running 1 test(s).'\n"
		  "echo '[ RUN      ] a'\n"
		  "echo '[       OK ] a'\n"
		  "echo '[==========] tests: 1 test(s) run.'\n"
		  "echo '[  PASSED  ] 1 test(s).'",
		  "", 0, "1 passed, 0 failed, 0 skipped");
}

static void test_skip_in_ci(void **state)
{
	(void)state;
	check_run(SKIP_AND_PASS, "CI=true", 1, "1 passed, 0 failed, 1 skipped");
}

static void test_failed(void **state)
{
	(void)state;
	check_run("echo '[==========] Running 2 test(s).'\n"
		  "echo '[ RUN      ] a'\n"
		  "echo '[  ERROR   ] --- 0x1 != 0x2'\n"
		  "echo '[  FAILED  ] a'\n"
		  "echo '[ RUN      ] b'\n"
		  "echo '[       OK ] b'\n"
		  "echo '[==========] 2 test(s) run.'\n"
		  "echo '[  PASSED  ] 1 test(s).'\n"
		  "echo '[  FAILED  ] 1 test(s), listed below:'\n"
		  "echo '[  FAILED  ] a'\n"
		  "echo; echo ' 1 FAILED TEST(S)'; exit 1",
		  "", 1, "1 passed, 1 failed, 0 skipped");
}

/* A crash in the second of three tests loses two. */
static void test_crashed(void **state)
{
	(void)state;
	check_run("echo '[==========] Running 3 test(s).'\n"
		  "echo '[ RUN      ] a'\n"
		  "echo '[       OK ] a'\n"
		  "echo '[ RUN      ] b'\n"
		  "kill -SEGV $$",
		  "", 1, "1 passed, 2 failed, 0 skipped");
}

static void test_hung(void **state)
{
	(void)state;
	check_run("echo '[==========] Running 1 test(s).'\n"
		  "echo '[ RUN      ] a'\n"
		  "sleep 1000",
		  "LIMIT=1", 1, "0 passed, 1 failed, 0 skipped");
}

/* A sanitizer that complains after the last test. */
static void test_complained(void **state)
{
	(void)state;
	check_run(SKIP_AND_PASS "exit 23", "", 1,
		  "1 passed, 1 failed, 1 skipped");
}

static void test_silent(void **state)
{
	(void)state;
	check_run("exit 0", "", 1, "0 passed, 1 failed, 0 skipped");
}

#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_passed), TEST(test_skip_in_ci),
		TEST(test_failed), TEST(test_crashed),
		TEST(test_hung),   TEST(test_complained),
		TEST(test_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
