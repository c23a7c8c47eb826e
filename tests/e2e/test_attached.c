// SPDX-License-Identifier: MIT
/*
 * bench/attached once: the watchers must have counted every fan-out, or it
 * fails; what it measures in so short a time says nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "run.h"

#define EXIT_SKIPPED 77

static void every_fanout_is_counted(void **state)
{
	struct run *run = RUN(in_build("bin/attached"), "--once", "--json");
	int status = run_wait(run, 3 * RUN_LIMIT);

	(void)state;
	if (status == EXIT_SKIPPED) {
		run_close(run);
		skip();
	}
	if (status)
		print_message("%s", run_err(run));
	assert_int_equal(status, 0);
	assert_non_null(strstr(run_out(run), "\"attached_records\""));
	assert_non_null(strstr(run_out(run), "\"attached_probe\""));
	run_close(run);
}

static void wrong_options_are_refused(void **state)
{
	struct run *run = RUN(in_build("bin/attached"), "x");

	(void)state;
	assert_int_equal(run_wait(run, RUN_LIMIT), 2);
	assert_string_equal(
		run_err(run),
		"attached: \"x\" is not an option; see attached --help.\n");
	run_close(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(every_fanout_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, run_teardown);
}
