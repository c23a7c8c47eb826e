/* SPDX-License-Identifier: MIT */
/*
 * The programs of bench/, run as a user runs them: what they refuse, and that
 * the storm's two ways of counting agree.
 *
 * Runs the programs of its own configuration, so with the sanitizers too.
 */
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run.h"

/* bin/NAME of the configuration that this test was built in. */
static const char *program(const char *name)
{
	static char path[PATH_MAX + 32];
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *tests;

	assert_true(length > 0);
	self[length] = '\0';
	tests = strstr(self, "/tests/unit/");
	while (tests && strstr(tests + 1, "/tests/unit/"))
		tests = strstr(tests + 1, "/tests/unit/");
	assert_non_null(tests);
	*tests = '\0';
	snprintf(path, sizeof(path), "%s/bin/%s", self, name);
	return path;
}

/* Runs to the end with `status`, and stderr is exactly `text` (or begins). */
static void refuses(int status, const char *text, const char *const *argv)
{
	struct run *run = run_start(argv);

	assert_non_null(run);
	assert_int_equal(run_wait(run, RUN_LIMIT), status);
	assert_string_equal(run_err(run), text);
	run_close(run);
}

#define REFUSES(status, text, ...)                                             \
	refuses(status, text, (const char *const[]){__VA_ARGS__, NULL})

static void test_storm_arguments(void **state)
{
	(void)state;
	REFUSES(2,
		"storm: --cells takes a whole number from 1 to 100000000, "
		"not \"many\".\n",
		program("storm"), "--cells", "many");
	REFUSES(2,
		"storm: --cells takes a whole number from 1 to 100000000, "
		"not \"-3\".\n",
		program("storm"), "--cells", "-3");
	REFUSES(2,
		"storm: --threads takes a whole number from 1 to 256, "
		"not \"257\".\n",
		program("storm"), "--threads", "257");
	REFUSES(2,
		"storm: --threads takes a whole number from 1 to 256, "
		"not \"2x\".\n",
		program("storm"), "--threads", "2x");
	REFUSES(2,
		"storm: --seconds takes a number from 0 to 1e+09, not \"\".\n",
		program("storm"), "--seconds", "");
	REFUSES(2,
		"storm: --rate takes a number from 0 to 1e+12, not \"-1\".\n",
		program("storm"), "--rate", "-1");
	REFUSES(2, "storm: \"now\" is not an option; see storm --help.\n",
		program("storm"), "now");
	REFUSES(2,
		"storm: --cells 8 is too few for 4 threads: each has two "
		"graphs and all share one, so give at least 9.\n",
		program("storm"), "--cells", "8", "--threads", "4");
}

static void test_storm_truth_that_cannot_be_written(void **state)
{
	(void)state;
	REFUSES(1,
		"storm: cannot write to /nowhere/truth: No such file or "
		"directory.\n",
		program("storm"), "--sets", "10", "--truth", "/nowhere/truth");
	REFUSES(1, "storm: cannot write to /: Is a directory.\n",
		program("storm"), "--sets", "10", "--truth", "/");
}

static void test_storm_truth_that_does_not_fit(void **state)
{
	struct run *run;

	(void)state;
	run = RUN(program("storm"), "--sets", "10", "--truth", "/dev/full");
	assert_non_null(run);
	assert_int_equal(run_wait(run, RUN_LIMIT), 1);
	assert_non_null(strstr(run_err(run),
			       "storm: cannot write the truth to /dev/full: No "
			       "space left on device.\n"));
	run_close(run);
}

static json_int_t count_of(const json_t *object, const char *name)
{
	const json_t *count = json_object_get(object, name);

	assert_true(json_is_integer(count));
	return json_integer_value(count);
}

/* The sums over the cells are the totals; returns the number of cells. */
static size_t check_totals(const json_t *truth)
{
	static const char *const names[] = {"fires", "refires", "writes",
					    "unchanged"};
	const json_t *cells = json_object_get(truth, "cells");
	size_t i, j;

	for (i = 0; i < 4; i++) {
		json_int_t sum = 0;

		for (j = 0; j < json_array_size(cells); j++)
			sum += count_of(json_array_get(cells, j), names[i]);
		assert_int_equal(sum, count_of(truth, names[i]));
	}
	return json_array_size(cells);
}

/* Nothing is checked in vain: each kind of event did happen. */
static void check_truth(const char *path, size_t cells)
{
	json_error_t error;
	json_t *truth = json_load_file(path, 0, &error);

	assert_non_null(truth);
	assert_int_equal(check_totals(truth), cells);
	assert_true(count_of(truth, "passes") > 0);
	assert_true(count_of(truth, "fires") > 0);
	assert_true(count_of(truth, "refires") > 0);
	assert_true(count_of(truth, "unchanged") > 0);
	/* Every fire here is of a value that was written. */
	assert_int_equal(count_of(truth, "writes") -
				 count_of(truth, "unchanged"),
			 count_of(truth, "fires"));
	json_decref(truth);
}

static void storm(const char *threads, const char *cells, const char *sets,
		  const char *seed, const char *truth)
{
	struct run *run;

	run = RUN(program("storm"), "--threads", threads, "--cells", cells,
		  "--fan", "5", "--depth", "7", "--sets", sets, "--seed", seed,
		  "--truth", truth);
	assert_non_null(run);
	if (run_wait(run, RUN_LIMIT) != 0)
		print_message("%s", run_err(run));
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	run_close(run);
}

static void test_storm_counts_agree(void **state)
{
	static const char *const cells[] = {"3", "4", "11", "97", "499"};
	char seed[32];
	size_t i;

	(void)state;
	snprintf(seed, sizeof(seed), "%llu", test_seed(1));
	for (i = 0; i < 5; i++) {
		storm("1", cells[i], "10007", seed, in_temp("truth"));
		if (i >= 3)
			check_truth(in_temp("truth"), (size_t)atoll(cells[i]));
	}
}

static void test_storm_counts_agree_with_four_threads(void **state)
{
	char seed[32];

	(void)state;
	snprintf(seed, sizeof(seed), "%llu", test_seed(2));
	storm("4", "499", "40009", seed, in_temp("truth"));
	check_truth(in_temp("truth"), 499);
}

static void test_storm_repeats_itself(void **state)
{
	char *first, *second;

	(void)state;
	storm("1", "97", "5003", "7", in_temp("first"));
	storm("1", "97", "5003", "7", in_temp("second"));
	first = read_file(in_temp("first"));
	second = read_file(in_temp("second"));
	assert_non_null(first);
	assert_non_null(second);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

/* Without passes nobody knows the re-fires, but the fires are known. */
static void test_storm_without_passes(void **state)
{
	json_error_t error;
	json_t *with, *without;
	int status;

	(void)state;
	storm("1", "97", "5003", "7", in_temp("with"));
	free(CAPTURE(&status, program("storm"), "--cells", "97", "--fan", "5",
		     "--depth", "7", "--sets", "5003", "--seed", "7",
		     "--no-pass", "--truth", in_temp("without")));
	assert_int_equal(status, 0);
	with = json_load_file(in_temp("with"), 0, &error);
	without = json_load_file(in_temp("without"), 0, &error);
	assert_non_null(with);
	assert_non_null(without);
	assert_true(json_is_null(json_object_get(without, "passes")));
	assert_true(json_is_null(json_object_get(without, "refires")));
	assert_int_equal(count_of(with, "fires"), count_of(without, "fires"));
	json_decref(with);
	json_decref(without);
}

/* With --wait it stands until told; here by the signal. */
static void test_storm_waits(void **state)
{
	struct run *run;
	char ready[64];

	(void)state;
	run = RUN(program("storm"), "--wait", "--sets", "1009", "--truth",
		  in_temp("truth"));
	assert_non_null(run);
	snprintf(ready, sizeof(ready), "storm: %d ready\n", (int)run->pid);
	assert_true(run_wait_text(run, ready, RUN_LIMIT));
	assert_int_equal(run_wait(run, 200), -1);
	assert_int_equal(run_kill(run, SIGUSR1), 0);
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	run_close(run);
	check_truth(in_temp("truth"), 1000);
}

static void test_storm_ends_at_a_signal(void **state)
{
	struct run *run;
	size_t i = 0;

	(void)state;
	run = RUN(program("storm"), "--wait", "--seconds", "1000", "--threads",
		  "2", "--truth", in_temp("truth"));
	assert_non_null(run);
	assert_true(run_wait_text(run, "ready\n", RUN_LIMIT));
	assert_int_equal(run_kill(run, SIGUSR1), 0);
	/* Let it work a moment; how long does not matter. */
	for (i = 0; i < 10; i++)
		assert_int_equal(run_wait(run, 20), -1);
	assert_int_equal(run_kill(run, SIGINT), 0);
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	run_close(run);
	check_truth(in_temp("truth"), 1000);
}

static void test_sysmon_arguments(void **state)
{
	(void)state;
	REFUSES(2,
		"sysmon: --hz takes a number from 0.01 to 10000, "
		"not \"fast\".\n",
		program("sysmon"), "--hz", "fast");
	REFUSES(2,
		"sysmon: --hz takes a number from 0.01 to 10000, "
		"not \"0\".\n",
		program("sysmon"), "--hz", "0");
	REFUSES(2, "sysmon: \"x\" is not an option; see sysmon --help.\n",
		program("sysmon"), "x");
}

/* Its own status tells whether anything was left in the graph. */
static void test_sysmon_reports_and_cleans_up(void **state)
{
	struct run *run;

	(void)state;
	run = RUN(program("sysmon"), "--hz", "100", "--seconds", "0.5");
	assert_non_null(run);
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	assert_string_equal(run_err(run), "");
	assert_non_null(strstr(run_out(run), "sysmon "));
	assert_non_null(strstr(run_out(run), "processors"));
	assert_non_null(strstr(run_out(run), "PROCESS"));
	run_close(run);
}

/* Processes that begin and end while it reads /proc. */
static void test_sysmon_with_processes_that_come_and_go(void **state)
{
	struct run *run;
	size_t i;

	(void)state;
	run = RUN(program("sysmon"), "--hz", "1000", "--quiet");
	assert_non_null(run);
	for (i = 0; i < 101; i++)
		assert_int_equal(system("true"), 0);
	assert_int_equal(run_kill(run, SIGTERM), 0);
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	assert_string_equal(run_out(run), "");
	assert_string_equal(run_err(run), "");
	run_close(run);
}

static void test_speed_arguments(void **state)
{
	(void)state;
	REFUSES(2, "speed: there is no bench \"warp\"; see speed --list.\n",
		program("speed"), "warp");
	REFUSES(2,
		"speed: --steady takes the name of one bench; see speed "
		"--list.\n",
		program("speed"), "--steady", "10");
}

/* The results of a program that prints one a line; exactly these names. */
static json_t *results_of(const char *lines)
{
	json_t *results = json_object();
	char *copy = strdup(lines), *rest = copy, *text;

	while ((text = strsep(&rest, "\n")) && *text) {
		json_t *line = json_loads(text, 0, NULL);
		const char *bench =
			json_string_value(json_object_get(line, "bench"));

		assert_non_null(bench);
		assert_null(json_object_get(results, bench));
		json_object_set_new(results, bench, line);
	}
	free(copy);
	return results;
}

static void has_result(const json_t *results, const char *bench,
		       const char *what, double target)
{
	const json_t *result = json_object_get(results, bench);

	if (!result)
		print_message("there is no result of %s\n", bench);
	assert_non_null(result);
	assert_true(json_real_value(json_object_get(result, what)) > 0);
	assert_float_equal(json_real_value(json_object_get(result, "target")),
			   target, 1e-9);
}

static const struct {
	const char *name;
	double target;
} speeds[] = {
	{"call_by_hand", 0},
	{"set_1", 2.5},
	{"get", 1.5},
	{"map_1", 2.5},
	{"chain_10", 2.0},
	{"chain_100", 2.0},
	{"chain_1000", 2.0},
	{"fan_10", 1.5},
	{"fan_1000", 1.5},
	{"fan_10000", 1.5},
	{"diamond_10", 2.0},
	{"diamond_100", 2.0},
	{"diamond_1000", 2.0},
	{"batch_1000", 2.0},
	{"create", 2.0},
	{"derive", 2.0},
	{"subscribe", 2.0},
	{"pipe_2", 1.0},
	{"pipe_10", 0.7},
	{"shared_set_1", 3.0},
	{"shared_get", 1.5},
	{"shared_map_1", 1.5},
	{"shared_chain_1000", 1.5},
	{"grid", 2.5},
	{"random_dag", 2.5},
	{"switch", 0},
	{"churn", 0},
	{"computed_1", 0},
	{"computed_2", 0},
	{"computed_4", 0},
	{"changing", 0},
	{"near_10000", 1.5},
	{"near_100000", 1.5},
	{"near_1000000", 1.5},
	{"far_1000", 0},
	{"far_10000", 0},
	{"far_100000", 0},
	{"far_1000000", 0},
};
#define SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

/*
 * Each bench runs, and both sides of it compute the same; one round says
 * nothing about speed.
 */
static void test_speed_runs_each_bench(void **state)
{
	json_t *results;
	char *lines;
	int status;
	size_t i;

	(void)state;
	lines = CAPTURE(&status, program("speed"), "--once", "--json");
	assert_int_equal(status, 0);
	results = results_of(lines);
	for (i = 0; i < SPEEDS; i++)
		has_result(results, speeds[i].name, "ns", speeds[i].target);
	has_result(results, "bytes_source", "bytes", 64);
	has_result(results, "bytes_derived", "bytes", 96);
	has_result(results, "bytes_subscription", "bytes", 32);
	has_result(results, "chain_growth", "times", 0);
	has_result(results, "fan_growth", "times", 0);
	has_result(results, "diamond_growth", "times", 0);
	has_result(results, "near_growth", "times", 0);
	has_result(results, "far_growth", "times", 1.5);
	assert_int_equal(json_object_size(results), SPEEDS + 3 + 5);
	json_decref(results);
	free(lines);
}

/* Without a clock, for callgrind: either side. */
static void test_speed_steady(void **state)
{
	int status;

	(void)state;
	free(CAPTURE(&status, program("speed"), "--steady", "11", "grid"));
	assert_int_equal(status, 0);
	free(CAPTURE(&status, program("speed"), "--steady", "11", "--floor",
		     "grid"));
	assert_int_equal(status, 0);
	REFUSES(2, "speed: churn has no floor.\n", program("speed"), "--steady",
		"11", "--floor", "churn");
}

static void test_contended_runs_each_bench(void **state)
{
	json_t *results;
	char *lines;
	int status;

	(void)state;
	REFUSES(2,
		"contended: --grow takes a whole number from 1 to 256, "
		"not \"x\".\n",
		program("contended"), "--grow", "x");
	lines = CAPTURE(&status, program("contended"), "--once", "--json");
	assert_int_equal(status, 0);
	results = results_of(lines);
	has_result(results, "contended_cell", "ns", 0.5);
	has_result(results, "contended_graphs", "ns", 1.8);
	has_result(results, "contended_reader", "ns", 0.5);
	has_result(results, "contended_reader_worst", "ns", 0.5);
	has_result(results, "contended_cell_by_hand", "ns", 0);
	has_result(results, "contended_graphs_by_hand", "ns", 0);
	has_result(results, "contended_reader_by_hand", "ns", 0);
	assert_int_equal(json_object_size(results), 7);
	json_decref(results);
	free(lines);
}

static void test_tool_runs_each_bench(void **state)
{
	json_t *results;
	char *lines;
	int status;

	(void)state;
	lines = CAPTURE(&status, program("tool"), "--once", "--json");
	assert_int_equal(status, 0);
	results = results_of(lines);
	has_result(results, "census", "bytes", 200);
	has_result(results, "census_timed", "bytes", 0);
	has_result(results, "tool_records", "per_second", 20e6);
	has_result(results, "tool_many", "per_second", 0);
	assert_int_equal(json_object_size(results), 4);
	json_decref(results);
	free(lines);
}

/* What the shapes of the public benchmark must give, with little work. */
static const struct {
	const char *bench, *sum;
	json_int_t writes, evaluations, effects;
} shapes[] = {
	{"avoidablePropagation", "", 2 * 1001, 2 * 2002, 0},
	{"broadPropagation", "", 2 * 51, 2 * 5100, 2 * 2550},
	{"deepPropagation", "", 2 * 51, 2 * 2550, 2 * 51},
	{"diamond", "", 2 * 501, 2 * 3006, 2 * 501},
	{"mux", "", 2 * 20, 2 * 1836, 2 * 18},
	{"repeatedObservers", "", 2 * 101, 2 * 101, 2 * 101},
	{"triangle", "", 2 * 101, 2 * 1010, 2 * 101},
	{"unstable", "", 2 * 101, 2 * 302, 2 * 101},
	{"molBench", "192320", 80, 200, 80},
	{"cellx1000", "", 4, 4000, 4000},
	{"cellx2500", "", 4, 10000, 10000},
	{"2-10x5-lazy80%", "3168", 100, 580, 80},
	{"6-10x10-dyn25%-lazy80%", "1995442060", 100, 7623, 99},
	{"4-1000x12-dyn5%", "2068849267564", 20, 3971, 19},
	{"25-1000x5", "195134765625", 10, 2196, 9},
	{"3-5x500", "2.4240194530579971e+239", 5, 9972, 4},
	{"6-100x15-dyn50%", "231618122938315", 20, 10124, 19},
	{"createSignals", "", 0, 0, 0},
	{"create0to1", "", 0, 2000, 2000},
	{"create1to1", "", 0, 2000, 2000},
	{"create2to1", "", 0, 1000, 1000},
	{"create4to1", "", 0, 500, 500},
	{"create1000to1", "", 0, 2, 2},
	{"create1to2", "", 0, 2000, 2000},
	{"create1to4", "", 0, 2000, 2000},
	{"create1to8", "", 0, 2000, 2000},
	{"create1to1000", "", 0, 2000, 2000},
	{"update1to1", "", 8000, 8000, 8000},
	{"update2to1", "", 4000, 4000, 4000},
	{"update4to1", "", 2000, 2000, 2000},
	{"update1000to1", "", 8, 8, 8},
	{"update1to2", "", 2000, 4000, 4000},
	{"update1to4", "", 2000, 8000, 8000},
	{"update1to1000", "", 200, 200000, 200000},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	assert_non_null(text);
	return text;
}

static void check_shape(const char *line, size_t place)
{
	json_t *object = json_loads(line, 0, NULL);

	assert_non_null(object);
	assert_string_equal(text_of(object, "bench"), shapes[place].bench);
	assert_string_equal(text_of(object, "sum"), shapes[place].sum);
	assert_int_equal(count_of(object, "writes"), shapes[place].writes);
	assert_int_equal(count_of(object, "evaluations"),
			 shapes[place].evaluations);
	assert_int_equal(count_of(object, "effects"), shapes[place].effects);
	json_decref(object);
}

static void test_reactivity_computes_what_it_must(void **state)
{
	char *lines, *rest, *line;
	size_t place = 0;
	int status;

	(void)state;
	lines = CAPTURE(&status, program("reactivity"), "--quick", "--json",
			"--style", "tracked");
	assert_int_equal(status, 0);
	rest = lines;
	while ((line = strsep(&rest, "\n")) && *line) {
		assert_true(place < SHAPES);
		check_shape(line, place++);
	}
	assert_int_equal(place, SHAPES);
	free(lines);
	/* The other style checks itself by the same numbers. */
	free(CAPTURE(&status, program("reactivity"), "--quick", "--style",
		     "fixed"));
	assert_int_equal(status, 0);
}

static void test_reactivity_arguments(void **state)
{
	(void)state;
	REFUSES(2,
		"reactivity: there is no shape or suite \"round\"; see "
		"reactivity --list.\n",
		program("reactivity"), "round");
	REFUSES(2,
		"reactivity: --style takes \"tracked\" or \"fixed\", not "
		"\"old\".\n",
		program("reactivity"), "--style", "old");
}

/* The lines of benches, for `report`. */
static const char lines_of_a[] =
	"{\"bench\":\"a\",\"ns\":10.0,\"floor_ns\":5.0,\"ratio\":2.0,"
	"\"target\":1.5,\"spread\":0.01,\"unit\":\"set\"}\n"
	"{\"bench\":\"b\",\"per_second\":100.0,\"target\":50.0,"
	"\"at_least\":true}\n"
	"{\"plot\":\"p\",\"side\":\"hyphae\",\"x\":10.0,\"ns\":5.0}\n"
	"{\"plot\":\"p\",\"side\":\"hyphae\",\"x\":100.0,\"ns\":6.0}\n";
static const char lines_of_b[] =
	"{\"bench\":\"a\",\"ns\":12.0,\"spread\":0.01}\n"
	"{\"bench\":\"b\",\"per_second\":99.5}\n"
	"{\"bench\":\"c\",\"ns\":1.0}\n";

static void write_lines(const char *name, const char *text)
{
	FILE *file = fopen(in_temp(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static char *report_of(const char *command)
{
	char *out;
	int status;

	write_lines("lines", lines_of_a);
	out = run_shell(&status, "%s %s < %s", program("report"), command,
			in_temp("lines"));
	assert_int_equal(status, 0);
	return out;
}

static void test_report_table(void **state)
{
	char *table = report_of("table");

	(void)state;
	assert_string_equal(table, "a                                  10.00   "
				   "    5.00    2.00 <=    "
				   "1.5    1.0 %  missed ns per set\n"
				   "b                                 100.00   "
				   "                 >=     "
				   "50                  per_second\n");
	free(table);
}

static void test_report_draws(void **state)
{
	char *ratios = report_of("ratios"), *growth = report_of("growth p x y");
	int status;

	(void)state;
	assert_int_equal(strncmp(ratios, "<svg ", 5), 0);
	assert_non_null(strstr(ratios, ">2.00</text>"));
	assert_int_equal(strncmp(growth, "<svg ", 5), 0);
	assert_non_null(strstr(growth, ">hyphae</text>"));
	assert_string_equal(growth + strlen(growth) - 7, "</svg>\n");
	free(ratios);
	free(growth);
	free(run_shell(&status, "%s growth q x y < %s 2>&1", program("report"),
		       in_temp("lines")));
	assert_int_equal(status, 1);
}

/* What differs by more than its spread is told to; 1 % is noise. */
static void test_report_compares(void **state)
{
	char *table;
	int status;

	(void)state;
	write_lines("base", lines_of_a);
	write_lines("new", lines_of_b);
	table = run_shell(&status, "%s compare %s %s", program("report"),
			  in_temp("base"), in_temp("new"));
	assert_int_equal(status, 0);
	assert_string_equal(
		strchr(table, '\n'),
		"\na                             10.00        12.00    +20.0 % "
		"    1.0 %  worse\n"
		"b                            100.00        99.50     -0.5 % "
		"    1.0 %  \n"
		"c                      is not in the base\n");
	free(table);
	REFUSES(1, "report: cannot read /nowhere: No such file or directory.\n",
		program("report"), "compare", "/nowhere", "/nowhere");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm_arguments),
		cmocka_unit_test(test_storm_truth_that_cannot_be_written),
		cmocka_unit_test(test_storm_truth_that_does_not_fit),
		cmocka_unit_test(test_storm_counts_agree),
		cmocka_unit_test(test_storm_counts_agree_with_four_threads),
		cmocka_unit_test(test_storm_repeats_itself),
		cmocka_unit_test(test_storm_without_passes),
		cmocka_unit_test(test_storm_waits),
		cmocka_unit_test(test_storm_ends_at_a_signal),
		cmocka_unit_test(test_sysmon_arguments),
		cmocka_unit_test(test_sysmon_reports_and_cleans_up),
		cmocka_unit_test(test_sysmon_with_processes_that_come_and_go),
		cmocka_unit_test(test_speed_arguments),
		cmocka_unit_test(test_speed_runs_each_bench),
		cmocka_unit_test(test_speed_steady),
		cmocka_unit_test(test_contended_runs_each_bench),
		cmocka_unit_test(test_tool_runs_each_bench),
		cmocka_unit_test(test_reactivity_arguments),
		cmocka_unit_test(test_reactivity_computes_what_it_must),
		cmocka_unit_test(test_report_table),
		cmocka_unit_test(test_report_draws),
		cmocka_unit_test(test_report_compares),
	};

	return cmocka_run_group_tests(tests, NULL, run_teardown);
}
