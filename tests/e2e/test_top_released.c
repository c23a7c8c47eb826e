// SPDX-License-Identifier: MIT
/*
 * Cells that live shorter than hyphae-top looks: what they did is told, in a
 * few rows, and the rows add up to the totals.
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

#include "run.h"
#include "top.h"

/* A prime number of sets, each of which makes an event and a debounce. */
#define SETS 1009

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/*
 * Run the program, watched by hyphae-top with these options from its first
 * set to its last.  It lives on meanwhile, so that the last cells are found.
 */
static struct run *watch_it(const char *const *options, size_t count)
{
	const char *argv[16] = {in_build("bin/hyphae-top"), "-p"};
	struct run *program = RUN_TALK(in_build("tests/e2e/prog_released"),
				       as_text(SETS), "0");
	struct run *top;
	size_t i;

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	argv[2] = as_text(program->pid);
	for (i = 0; i < count; i++)
		argv[3 + i] = options[i];
	top = run_start(argv);
	assert_true(run_wait_text(program, "made ", RUN_LIMIT));
	assert_non_null(strstr(run_out(program), "made 2018\n"));
	assert_int_equal(run_kill(top, SIGINT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	return top;
}

/* The rows of all cells add up to what the line says of all. */
static void assert_adds_up(const json_t *line, const char *field)
{
	int64_t sum = 0;
	json_t *cell;
	size_t at;

	json_array_foreach(json_object_get(line, "cells"), at, cell) sum +=
		number(cell, field);
	assert_int_equal(sum, number(line, field));
}

/*
 * One row has the cells that were gone; others of the two places are those
 * that were found, if only the last.
 */
static void json_of(const char *mode)
{
	const char *const options[] = {
		"--json", "-d", "600", "-o", in_temp("top.json"),
		"--mode", mode};
	int64_t released = 0, found = 0, fires = 0;
	json_t *line, *cell;
	size_t at;

	(void)watch_it(options, 7);
	line = json_load_file(in_temp("top.json"), 0, NULL);
	assert_non_null(line);
	assert_true(json_is_true(json_object_get(line, "exact")));
	json_array_foreach(json_object_get(line, "cells"), at, cell)
	{
		if (!strcmp(text(cell, "name"), "(released)")) {
			assert_int_equal(number(cell, "id"), 0);
			assert_string_equal(text(cell, "op"), "?");
			released++;
			fires += number(cell, "fires");
			continue;
		}
		assert_string_not_equal(text(cell, "op"), "?");
		assert_int_not_equal(number(cell, "id"), 0);
		/* Beside them are the outer event and the switch_map's two. */
		if (!strcmp(text(cell, "op"), "debounce")) {
			found++;
		} else if (!strcmp(text(cell, "op"), "source") &&
			   number(cell, "fires") == 1) {
			found++;
			fires++;
		}
	}
	assert_int_equal(released, 1);
	assert_int_equal(number(line, "cells_released") + found, 2 * SETS);
	assert_int_equal(fires, SETS);
	assert_adds_up(line, "fires");
	assert_adds_up(line, "refires");
	assert_adds_up(line, "notifies");
	assert_adds_up(line, "writes");
	assert_adds_up(line, "unchanged");
	assert_adds_up(line, "computes");
	assert_adds_up(line, "self_ns");
	assert_int_equal(number(line, "notifies"), 2 * SETS);
	json_decref(line);
}

static void json_has_one_row_for_them(void **state)
{
	(void)state;
	NEED_BPF();
	json_of("records");
}

static void probe_mode_has_it_too(void **state)
{
	(void)state;
	NEED_BPF();
	json_of("probes");
}

/* Head, titles and the sum are 5 lines, and these cells at most 9. */
static void a_table_stays_short(void **state)
{
	static const char *const options[] = {"-d", "600"};
	struct run *top;
	const char *at;
	size_t lines = 0;

	(void)state;
	NEED_BPF();
	top = watch_it(options, 2);
	assert_non_null(strstr(run_out(top), "\n(released) x"));
	for (at = run_out(top); (at = strchr(at, '\n')); at++)
		lines++;
	assert_true(lines <= 5 + 9 + 1);
	assert_null(strstr(run_out(top), "more cells"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)
	const struct CMUnitTest tests[] = {
		TEST(json_has_one_row_for_them),
		TEST(probe_mode_has_it_too),
		TEST(a_table_stays_short),
	};

	return cmocka_run_group_tests_name(
		"hyphae-top and cells that live shortly", tests, NULL, NULL);
}
