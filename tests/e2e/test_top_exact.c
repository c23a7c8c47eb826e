// SPDX-License-Identifier: MIT
/*
 * hyphae-top tells what happened: the sums of its intervals equal, cell by
 * cell, what the storm counted itself, or it says what was lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "top.h"

static struct top_sums sums;

static int finish(void **state)
{
	top_sums_done(&sums);
	return run_teardown(state);
}

/*
 * Run a storm of so many sets, watched from the start with one more pair of
 * options, and sum up what hyphae-top told.
 */
static void watch_storm(const char *threads, const char *sets, const char *rate,
			const char *interval, const char *option,
			const char *value)
{
	const char *truth = in_temp("truth.json");
	struct run *storm = RUN(
		in_build("bin/storm"), "--cells", "499", "--threads", threads,
		"--sets", sets, "--rate", rate, "--seed",
		as_text((long long)test_seed(7)), "--truth", truth, "--wait");
	const char *pid = as_text(storm_pid(storm));
	struct run *top =
		RUN(in_build("bin/hyphae-top"), "-p", pid, "--json", "-o",
		    in_temp("top.json"), "-d", interval, option, value);

	assert_int_equal(run_wait(storm, RUN_LIMIT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_err(top), "has ended."));
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
	assert_true(json_is_true(json_object_get(sums.last, "final")));
}

static void assert_exact(void)
{
	const char *truth = in_temp("truth.json");

	assert_int_equal(top_differences(&sums, truth), 0);
	assert_int_equal(sums.fires, truth_of(truth, "fires"));
	assert_int_equal(sums.refires, truth_of(truth, "refires"));
	assert_int_equal(sums.passes, truth_of(truth, "passes"));
	assert_int_equal(sums.lost, 0);
	assert_int_equal(sums.lost_fires, 0);
	assert_int_equal(sums.lost_blocks, 0);
	assert_true(json_is_true(json_object_get(sums.last, "exact")));
}

static void one_thread_at_full_speed(void **state)
{
	(void)state;
	NEED_BPF();
	watch_storm("1", "1000003", "0", "0.2", "--mode", "records");
	assert_exact();
}

static void four_threads_at_full_speed(void **state)
{
	(void)state;
	NEED_BPF();
	watch_storm("4", "1000003", "0", "0.2", "--mode", "records");
	assert_exact();
}

/* Most of what is told here was read in place, before its block was full. */
static void quiet_threads_looked_at_often(void **state)
{
	(void)state;
	NEED_BPF();
	watch_storm("4", "2003", "1500", "0.01", "--mode", "records");
	assert_exact();
	assert_true(sums.intervals > 50);
}

static void busy_threads_looked_at_often(void **state)
{
	(void)state;
	NEED_BPF();
	watch_storm("4", "300007", "0", "0.01", "--mode", "records");
	assert_exact();
}

static void probe_mode(void **state)
{
	(void)state;
	NEED_BPF();
	watch_storm("1", "20011", "0", "0.2", "--mode", "probes");
	assert_exact();
	assert_string_equal(
		json_string_value(json_object_get(sums.last, "mode")),
		"probes");
}

static void probe_mode_with_four_threads(void **state)
{
	const char *truth = in_temp("truth.json");

	(void)state;
	NEED_BPF();
	watch_storm("4", "20011", "0", "0.2", "--mode", "probes");
	assert_int_equal(sums.fires, truth_of(truth, "fires"));
	assert_int_equal(sums.writes, truth_of(truth, "writes"));
	assert_int_equal(sums.lost, 0);
}

/* The ring holds three blocks, or none. */
static void a_ring_that_is_too_small(const char *threads, const char *bytes)
{
	const char *truth = in_temp("truth.json");

	watch_storm(threads, "500009", "0", "0.05", "--ring", bytes);
	assert_true(sums.lost > 0);
	assert_true(sums.lost_fires > 0);
	assert_int_equal(sums.lost_blocks, 0);
	assert_int_equal(sums.fires + sums.lost_fires,
			 truth_of(truth, "fires"));
	assert_int_equal(sums.passes + sums.lost_passes,
			 truth_of(truth, "passes"));
}

static void what_is_lost_is_known(void **state)
{
	(void)state;
	NEED_BPF();
	a_ring_that_is_too_small("1", "65536");
	assert_true(sums.fires > 0);
}

static void what_four_threads_lose_is_known(void **state)
{
	(void)state;
	NEED_BPF();
	a_ring_that_is_too_small("4", "65536");
	assert_true(sums.fires > 0);
}

static void nothing_but_losses(void **state)
{
	(void)state;
	NEED_BPF();
	a_ring_that_is_too_small("1", "4096");
}

/* Names, sites and operators are there, also when the process has gone. */
static void cells_have_traits(void **state)
{
	json_t *cell;
	size_t at;

	(void)state;
	NEED_BPF();
	watch_storm("1", "50021", "0", "10", "--sort", "fires");
	assert_int_equal(sums.intervals, 1);
	assert_true(json_array_size(json_object_get(sums.last, "cells")) > 100);
	json_array_foreach(json_object_get(sums.last, "cells"), at, cell)
	{
		assert_string_not_equal(
			json_string_value(json_object_get(cell, "name")), "");
		assert_string_not_equal(
			json_string_value(json_object_get(cell, "op")), "?");
		assert_non_null(
			strstr(json_string_value(json_object_get(cell, "site")),
			       ".c:"));
		assert_string_not_equal(
			json_string_value(json_object_get(cell, "type")), "");
	}
}

static void two_watchers_see_the_same(void **state)
{
	const char *truth = in_temp("truth.json");
	struct run *storm, *one, *two;
	const char *pid;

	(void)state;
	NEED_BPF();
	storm = RUN(in_build("bin/storm"), "--cells", "97", "--sets", "300007",
		    "--truth", truth, "--wait");
	pid = as_text(storm_pid(storm));
	one = RUN(in_build("bin/hyphae-top"), "-p", pid, "--json", "-o",
		  in_temp("one.json"), "-d", "0.1");
	two = RUN(in_build("bin/hyphae-top"), "-p", pid, "--json", "-o",
		  in_temp("two.json"), "-d", "0.1");
	assert_int_equal(run_wait(storm, RUN_LIMIT), 0);
	assert_int_equal(run_wait(one, RUN_LIMIT), 0);
	/* The second may come when the storm has begun, but not too late. */
	(void)run_wait(two, RUN_LIMIT);
	assert_int_equal(top_sums_read(&sums, in_temp("one.json")), 0);
	if (top_differences(&sums, truth)) {
		top_sums_done(&sums);
		assert_int_equal(top_sums_read(&sums, in_temp("two.json")), 0);
	}
	assert_int_equal(top_differences(&sums, truth), 0);
	assert_int_equal(sums.lost_blocks, 0);
}

/* ---- a process without its main thread ---------------------------------------- */

#define ROUNDS 200003

static void watch_leaving(const char *when)
{
	struct run *program =
		RUN(in_build("tests/e2e/prog_leave"), as_text(ROUNDS), when);
	struct run *top;

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	top = RUN(in_build("bin/hyphae-top"), "-p", as_text(program->pid),
		  "--json", "-o", in_temp("top.json"), "-d", "0.1");
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
}

static void the_main_thread_has_left(void **state)
{
	(void)state;
	NEED_BPF();
	watch_leaving("now");
	assert_int_equal(sums.fires, ROUNDS);
	assert_int_equal(sums.lost_blocks, 0);
}

/* The kernel tied the probes to it: some may be lost, and are missed. */
static void the_main_thread_leaves(void **state)
{
	(void)state;
	NEED_BPF();
	watch_leaving("later");
	assert_true(sums.fires > ROUNDS / 2);
	if (sums.fires != ROUNDS)
		assert_true(sums.lost_blocks > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, finish)
	const struct CMUnitTest tests[] = {
		TEST(one_thread_at_full_speed),
		TEST(four_threads_at_full_speed),
		TEST(quiet_threads_looked_at_often),
		TEST(busy_threads_looked_at_often),
		TEST(probe_mode),
		TEST(probe_mode_with_four_threads),
		TEST(what_is_lost_is_known),
		TEST(what_four_threads_lose_is_known),
		TEST(nothing_but_losses),
		TEST(cells_have_traits),
		TEST(two_watchers_see_the_same),
		TEST(the_main_thread_has_left),
		TEST(the_main_thread_leaves),
	};

	return cmocka_run_group_tests_name("hyphae-top tells what happened",
					   tests, NULL, NULL);
}
