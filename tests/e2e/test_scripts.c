// SPDX-License-Identifier: MIT
/*
 * The scripts in probes/, each run by the real bpftrace against a program
 * that does a known number of things, static and with the shared library.
 * What they count is compared for equality.
 *
 * The order is fixed by handshakes: the program has built its graph and
 * waits; the script prints that it traces, which bpftrace shows once all its
 * probes are on; the program works and says that it is done; the script gets
 * SIGINT, as from Ctrl-C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/types.h"
#include "tracer.h"

static const char *const programs[] = {
	"tests/e2e/prog_scripts",
	"tests/e2e/prog_scripts-shared",
};

/* What one run of a script printed, until the next run. */
static const char *out;
static struct run *script, *program;

static struct run *start_program(const char *name, const char *actions)
{
	const char *argv[24] = {in_build(name)};
	static char words[256];
	size_t n = 1;

	snprintf(words, sizeof(words), "%s", actions);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) {
		assert_true(n + 1 < sizeof(argv) / sizeof(argv[0]));
		argv[n++] = w;
	}
	return run_start_how(argv, &(struct run_how){.keep_stdin = true});
}

/* Both are running, and the script traces. */
static void begin(const char *name, const char *file, const char *argument,
		  const char *actions)
{
	const char *argv[] = {NULL, "-p", NULL, argument, NULL};
	char path[64], pid[16];

	run_close(script);
	run_close(program);
	script = NULL;
	program = start_program(name, actions);
	assert_non_null(program);
	assert_true(run_wait_text(program, "ready\n", RUN_LIMIT));
	snprintf(path, sizeof(path), "probes/%s", file);
	snprintf(pid, sizeof(pid), "%d", (int)program->pid);
	argv[0] = path;
	argv[2] = pid;
	script = run_start(argv);
	assert_non_null(script);
	if (!run_wait_text(script, "Ctrl-C to end.\n", RUN_LIMIT)) {
		print_message("%s%s", run_out(script), run_err(script));
		fail_msg("%s does not trace", path);
	}
}

static void work(void)
{
	assert_int_equal(run_say(program, "go"), 0);
	assert_true(run_wait_text(program, "done\n", RUN_LIMIT));
}

static void narrow(void)
{
	for (const char *line = out; *line;) {
		size_t length = strcspn(line, "\n");

		if (length >= 80)
			fail_msg("too wide: %.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

/*
 * Never two empty lines in a row.  Where maps are empty bpftrace prints them
 * as empty lines, each version in its way, so the one that was tried decides.
 */
static void dense(void)
{
	char *version = CAPTURE(NULL, "bpftrace", "--version");

	if (version && strstr(version, "v0.17.") && strstr(out, "\n\n\n")) {
		print_message("%s", out);
		fail_msg("empty lines in a row");
	}
	free(version);
}

static void end(void)
{
	assert_int_equal(bpftrace_interrupt(script), 0);
	out = run_out(script);
	narrow();
	dense();
}

/* The three in a row. */
static void trace(const char *name, const char *file, const char *argument,
		  const char *actions)
{
	begin(name, file, argument, actions);
	work();
	end();
}

/* ---- reading what a script printed -------------------------------------- */

static size_t lines_with(const char *start)
{
	size_t n = 0;

	for (const char *at = out; (at = strstr(at, start)); at++)
		n += at == out || at[-1] == '\n';
	return n;
}

/* The rest of the line that starts with `start`, or NULL. */
static const char *rest_of(const char *start)
{
	for (const char *at = out; (at = strstr(at, start)); at++) {
		if (at == out || at[-1] == '\n')
			return at + strlen(start);
	}
	return NULL;
}

/* "@map: 7" or "@map[key]: 7" */
static long long number(const char *map)
{
	char start[128];
	const char *rest;

	snprintf(start, sizeof(start), "%s: ", map);
	rest = rest_of(start);
	if (!rest) {
		print_message("%s", out);
		fail_msg("no %s", map);
	}
	return strtoll(rest, NULL, 10);
}

/* "@map[ID, name]: " of the cell, whatever its id; the rest of the line. */
static const char *cell_rest(const char *map, const char *name)
{
	char start[64], end_of_key[64];

	snprintf(start, sizeof(start), "%s[", map);
	snprintf(end_of_key, sizeof(end_of_key), ", %s]: ", name);
	for (const char *at = out; (at = strstr(at, start)); at++) {
		const char *key = at + strlen(start);

		key += strspn(key, "0123456789");
		if (!strncmp(key, end_of_key, strlen(end_of_key)))
			return key + strlen(end_of_key);
	}
	print_message("%s", out);
	fail_msg("no cell %s in %s", name, map);
	return NULL;
}

static long long of_cell(const char *map, const char *name)
{
	return strtoll(cell_rest(map, name), NULL, 10);
}

/* All that is counted in the histogram whose first line ends at `at`. */
static long long in_histogram(const char *at)
{
	long long sum = 0;

	for (at = strchr(at, '\n'); at && (at[1] == '[' || at[1] == '(');
	     at = strchr(at + 1, '\n')) {
		const char *bar = strchr(at + 1, '|');

		assert_non_null(bar);
		while (!isdigit((unsigned char)bar[-1]))
			bar--;
		while (isdigit((unsigned char)bar[-1]))
			bar--;
		sum += strtoll(bar, NULL, 10);
	}
	return sum;
}

/* The count of the bucket `bucket` of "@map: ". */
static long long in_bucket(const char *map, const char *bucket)
{
	char start[64];
	const char *at, *last;

	snprintf(start, sizeof(start), "%s: \n", map);
	at = rest_of(start);
	assert_non_null(at);
	last = strstr(at, "\n\n");
	at = strstr(at, bucket);
	assert_true(at && (!last || at < last));
	return strtoll(at + strlen(bucket), NULL, 10);
}

static long long histogram(const char *map)
{
	char start[64];
	const char *at;

	snprintf(start, sizeof(start), "%s: ", map);
	at = rest_of(start);
	assert_non_null(at);
	return in_histogram(at);
}

#define FOR_BOTH(name)                                                         \
	for (size_t both_ = 0; both_ < 2; both_++)                             \
		for (const char *name = programs[both_]; name; name = NULL)

/* ---- the scripts ---------------------------------------------------------- */

static void fanouts(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "fanouts.bt", NULL,
		      "sets 23 repeats 5 diamonds 11 batches 7");
		assert_int_equal(of_cell("@fanouts_of_cell", "dial"), 30);
		assert_int_equal(of_cell("@fanouts_of_cell", "double"), 30);
		assert_int_equal(of_cell("@fanouts_of_cell", "sum"), 30);
		assert_int_equal(of_cell("@fanouts_of_cell", "knob"), 7);
		assert_int_equal(of_cell("@fanouts_of_cell", "tap"), 11);
		assert_int_equal(of_cell("@fanouts_of_cell", "left"), 11);
		assert_int_equal(of_cell("@fanouts_of_cell", "right"), 11);
		assert_int_equal(of_cell("@fanouts_of_cell", "join"), 22);
		assert_int_equal(lines_with("@fanouts_of_cell["), 8);
		assert_int_equal(number("@fanouts_in_all"), 152);
		assert_int_equal(number("@untracked"), 0);
	}
}

/* 4096 cells have room; the script says how many fan-outs had none. */
static void fanouts_of_too_many_cells(void **state)
{
	(void)state;
	NEED_BPF();
	trace(programs[0], "fanouts.bt", NULL, "-m 4201 many 4201");
	assert_int_equal(lines_with("@fanouts_of_cell["), 20);
	assert_int_equal(number("@fanouts_in_all"), 4201);
	assert_int_equal(number("@untracked"), 4201 - 4096);
}

/* The program ends first: so does the script, and has everything. */
static void fanouts_of_a_program_that_ends(void **state)
{
	(void)state;
	NEED_BPF();
	begin(programs[0], "fanouts.bt", NULL, "sets 23");
	work();
	assert_int_equal(run_kill(program, SIGKILL), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 128 + SIGKILL);
	assert_int_equal(run_wait(script, RUN_LIMIT), 0);
	out = run_out(script);
	assert_int_equal(of_cell("@fanouts_of_cell", "dial"), 23);
	assert_int_equal(number("@fanouts_in_all"), 69);
}

/* What the rows "@map[ID, name, WHATEVER]: N" of a cell have together. */
static long long sum_of_cell(const char *map, const char *name)
{
	char start[64], middle[64];
	long long sum = 0;

	snprintf(start, sizeof(start), "\n%s[", map);
	snprintf(middle, sizeof(middle), ", %s, ", name);
	for (const char *at = out; (at = strstr(at, start)); at++) {
		const char *key = at + strlen(start);

		key += strspn(key, "0123456789");
		if (!strncmp(key, middle, strlen(middle)))
			sum += strtoll(strstr(key, "]: ") + 3, NULL, 10);
	}
	return sum;
}

/* The id of the cell that is in the last row of the map. */
static long long last_of(const char *map)
{
	char start[64];
	const char *last = NULL;

	snprintf(start, sizeof(start), "\n%s[", map);
	for (const char *at = out; (at = strstr(at, start)); at++)
		last = at + strlen(start);
	assert_non_null(last);
	return strtoll(last, NULL, 10);
}

static void fanout_latency(void **state)
{
	static const char *const names[] = {"dial", "double", "sum",  "tap",
					    "left", "right",  "join", "lever"};

	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		long long sum = 0;

		trace(name, "fanout_latency.bt", NULL,
		      "sets 23 diamonds 7 slow 3 100");
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			long long ns = of_cell("@ns_of_cell", names[i]);

			assert_true(of_cell("@longest_of_cell", names[i]) <=
				    ns);
			sum += ns;
		}
		assert_int_equal(lines_with("@ns_of_cell["), 8);
		assert_int_equal(lines_with("@longest_of_cell["), 8);
		assert_int_equal(number("@ns_in_all"), sum);
		assert_int_equal(number("@fanouts_in_all"), 69 + 35 + 3);
		assert_int_equal(histogram("@ns_per_fanout"), 69 + 35 + 3);
		assert_int_equal(number("@ns_per_fanout_longest"),
				 of_cell("@longest_of_cell", "lever"));
		assert_int_equal(lines_with("@ns_per_fanout_of_cell["), 0);
		assert_int_equal(number("@untracked"), 0);
	}
}

/*
 * Three slow fan-outs among many fast ones: theirs is the last row.  Their
 * number, given to the script, has a histogram of its own.
 */
static void fanout_latency_of_the_slowest(void **state)
{
	char id[32], row[96];

	(void)state;
	NEED_BPF();
	trace(programs[0], "fanout_latency.bt", NULL, "sets 53 slow 3 100");
	snprintf(id, sizeof(id), "%lld", last_of("@ns_of_cell"));
	snprintf(row, sizeof(row), "@ns_of_cell[%s, lever]: ", id);
	assert_int_equal(lines_with(row), 1);
	assert_int_equal(last_of("@within"), atoll(id));
	assert_int_equal(last_of("@longest_of_cell"), atoll(id));
	assert_int_equal(sum_of_cell("@within", "lever"),
			 of_cell("@ns_of_cell", "lever"));

	trace(programs[0], "fanout_latency.bt", id, "sets 53 slow 3 100");
	assert_int_equal(lines_with("@ns_per_fanout_of_cell["), 1);
	assert_int_equal(
		in_histogram(cell_rest("@ns_per_fanout_of_cell", "lever")), 3);
	assert_int_equal(histogram("@ns_per_fanout"), 3 * 53 + 3);
}

static void fanout_latency_of_too_many_cells(void **state)
{
	(void)state;
	NEED_BPF();
	trace(programs[0], "fanout_latency.bt", NULL, "-m 4201 many 4201");
	assert_int_equal(lines_with("@ns_of_cell["), 20);
	assert_int_equal(number("@fanouts_in_all"), 4201);
	assert_int_equal(histogram("@ns_per_fanout"), 4201);
	assert_int_equal(number("@untracked"), 4201 - 4096);
}

static void refires(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "refires.bt", NULL, "sets 7 diamonds 23");
		assert_int_equal(of_cell("@refires_of_cell", "join"), 23);
		assert_int_equal(lines_with("@refires_of_cell["), 1);
		assert_int_equal(of_cell("@refires_percent_of_cell", "join"),
				 50);
		assert_int_equal(lines_with("@refires_percent_of_cell["), 1);
		assert_int_equal(number("@fires_in_all"), 3 * 7 + 5 * 23);
		assert_int_equal(number("@refires_in_all"), 23);
		assert_int_equal(number("@wasted_percent"), 2300 / 136);
		assert_int_equal(number("@passes_in_all"), 30);
		assert_int_equal(in_bucket("@refires_per_pass", "[0]"), 7);
		assert_int_equal(in_bucket("@refires_per_pass", "[1]"), 23);
		assert_int_equal(histogram("@refires_per_pass"), 30);
		assert_int_equal(number("@refires_per_pass_worst"), 1);
		assert_int_equal(number("@untracked"), 0);
	}
}

/* The lines with a time of day: one a slow call. */
static size_t slow_lines(void)
{
	size_t n = 0;

	for (const char *at = out; (at = strstr(at, "  0x")); at++)
		n++;
	return n;
}

/*
 * Lines that bpftrace has not shown yet when it is interrupted are lost, so
 * wait for them first.
 */
static void wait_slow_lines(size_t n)
{
	char text[32];

	for (int tries = 0; tries < RUN_LIMIT / 20; tries++) {
		out = run_out(script);
		if (slow_lines() >= n)
			return;
		run_wait_text(script, "never printed", 20);
	}
	snprintf(text, sizeof(text), "%zu slow calls", n);
	fail_msg("%s were not shown", text);
}

/* Threshold 0: every call. */
static void slow_subscribers_all(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		begin(name, "slow_subscribers.bt", "0", "quick 23 sets 7");
		work();
		wait_slow_lines(30);
		end();
		assert_int_equal(slow_lines(), 30);
		assert_int_equal(of_cell("@slow_of_cell", "lever"), 23);
		assert_int_equal(of_cell("@slow_of_cell", "sum"), 7);
		assert_int_equal(lines_with("@slow_of_cell["), 2);
		assert_int_equal(lines_with("@us_of_slowest["), 2);
		assert_int_equal(lines_with("@where_slow["), 2);
		assert_int_equal(lines_with("@where_slow[on_lever, "), 1);
		assert_int_equal(lines_with("@where_slow[on_sum, "), 1);
		assert_int_equal(number("@calls_in_all"), 30);
		assert_int_equal(number("@slow_in_all"), 30);
		assert_int_equal(number("@untracked"), 0);
	}
}

/* An effect is called by its own name, with and without a clean-up. */
static void slow_subscribers_effects(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		begin(name, "slow_subscribers.bt", "0", "effects 9");
		work();
		wait_slow_lines(18);
		end();
		assert_int_equal(lines_with("@where_slow["), 2);
		assert_int_equal(lines_with("@where_slow[on_wind, "), 1);
		assert_int_equal(lines_with("@where_slow[on_gust, "), 1);
		assert_int_equal(number("@calls_in_all"), 18);
	}
}

/* 3 calls of 400 ms among 23 that return at once; threshold 300 ms. */
static void slow_subscribers_over_threshold(void **state)
{
	(void)state;
	NEED_BPF();
	begin(programs[0], "slow_subscribers.bt", "300000",
	      "quick 11 slow 3 400 quick 12");
	work();
	wait_slow_lines(3);
	end();
	assert_non_null(strstr(out, "slower than 300000 us"));
	assert_int_equal(slow_lines(), 3);
	assert_int_equal(of_cell("@slow_of_cell", "lever"), 3);
	assert_true(of_cell("@us_of_slowest", "lever") >= 400000);
	assert_int_equal(number("@calls_in_all"), 26);
	assert_int_equal(number("@slow_in_all"), 3);
}

/* Without an argument the threshold is 1 ms. */
static void slow_subscribers_default(void **state)
{
	(void)state;
	NEED_BPF();
	begin(programs[0], "slow_subscribers.bt", NULL, "slow 7 2");
	work();
	wait_slow_lines(7);
	end();
	assert_non_null(strstr(out, "slower than 1000 us"));
	assert_int_equal(number("@calls_in_all"), 7);
	assert_int_equal(number("@slow_in_all"), 7);
}

static void writes(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "writes.bt", NULL, "sets 23 repeats 5 diamonds 3");
		assert_int_equal(of_cell("@writes_of_cell", "dial"), 28);
		assert_int_equal(of_cell("@writes_of_cell", "double"), 23);
		assert_int_equal(of_cell("@writes_of_cell", "sum"), 23);
		assert_int_equal(of_cell("@writes_of_cell", "tap"), 3);
		assert_int_equal(of_cell("@writes_of_cell", "left"), 3);
		assert_int_equal(of_cell("@writes_of_cell", "right"), 3);
		assert_int_equal(of_cell("@writes_of_cell", "join"), 6);
		assert_int_equal(lines_with("@writes_of_cell["), 7);
		assert_int_equal(of_cell("@unchanged_of_cell", "dial"), 5);
		assert_int_equal(lines_with("@unchanged_of_cell["), 1);
		assert_int_equal(histogram("@writes_by_second_of_run"), 89);
		assert_int_equal(number("@writes_in_all"), 89);
		assert_int_equal(number("@unchanged_in_all"), 5);
		assert_int_equal(number("@unchanged_percent"), 500 / 89);
		assert_int_equal(number("@untracked"), 0);
	}
}

/* A cell that is released in its own function is not written any more. */
static void no_writes_of_a_cell_that_has_gone(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "writes.bt", NULL, "vanish 7");
		assert_int_equal(of_cell("@writes_of_cell", "stem"), 7);
		assert_int_equal(lines_with("@writes_of_cell["), 1);
		assert_int_equal(number("@writes_in_all"), 7);
		trace(name, "fanouts.bt", NULL, "vanish 7");
		assert_int_equal(number("@fanouts_in_all"), 7);
		trace(name, "live_cells.bt", NULL, "vanish 7");
		assert_int_equal(number("@created_in_all"), 7);
		assert_int_equal(number("@destroyed_in_all"), 7);
	}
}

static void batches(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "batches.bt", NULL, "batches 7 sets 11");
		assert_int_equal(lines_with("@batches_of_graph["), 1);
		assert_int_equal(number("@batches_in_all"), 7);
		assert_int_equal(number("@writes_in_all"), 35);
		assert_int_equal(number("@coalesced_in_all"), 21);
		assert_int_equal(number("@cells_fired_in_all"), 28);
		assert_int_equal(in_bucket("@writes_per_batch", "[4, 8)"), 7);
		assert_int_equal(in_bucket("@coalesced_per_batch", "[2, 4)"),
				 7);
		assert_int_equal(in_bucket("@cells_fired_per_batch", "[4, 8)"),
				 7);
		assert_int_equal(number("@passes_in_all"), 18);
		assert_int_equal(number("@fires_in_all"), 28 + 33);
		assert_int_equal(in_bucket("@fires_per_pass", "[4, 8)"), 7);
		assert_int_equal(in_bucket("@fires_per_pass", "[2, 4)"), 11);
		assert_int_equal(number("@untracked"), 0);
	}
}

static void live_cells(void **state)
{
	long long source = sizeof(struct hy_cell) + sizeof(uint32_t);
	long long map = sizeof(struct hy_derived) + sizeof(uint32_t);

	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		trace(name, "live_cells.bt", NULL, "make 23 drop 7 prune 5");
		assert_int_equal(number("@cells_of_site[garden.c:7, source]"),
				 16);
		assert_int_equal(number("@cells_of_site[garden.c:3, map]"), -5);
		assert_int_equal(lines_with("@cells_of_site["), 2);
		assert_int_equal(number("@bytes_of_site[garden.c:7, source]"),
				 16 * source);
		assert_int_equal(number("@bytes_of_site[garden.c:3, map]"),
				 -5 * map);
		assert_int_equal(number("@created_in_all"), 23);
		assert_int_equal(number("@destroyed_in_all"), 12);
		assert_int_equal(number("@cells_in_all"), 11);
		assert_int_equal(number("@bytes_in_all"),
				 16 * source - 5 * map);
		assert_int_equal(number("@untracked"), 0);
	}
}

/*
 * A thread makes a cell and releases it, all the time: when counting begins and
 * when it ends one may be there, and that is all the difference there can be,
 * though the two probes come and go one after the other.
 */
static void live_cells_of_a_busy_program(void **state)
{
	(void)state;
	NEED_BPF();
	FOR_BOTH(name)
	{
		long long alive;

		begin(name, "live_cells.bt", "1", "-c");
		assert_int_equal(run_wait(script, RUN_LIMIT), 0);
		out = run_out(script);
		narrow();
		dense();
		alive = number("@cells_in_all");
		assert_in_range(alive + 1, 0, 2);
		assert_int_equal(number("@created_in_all") -
					 number("@destroyed_in_all"),
				 alive);
		assert_int_equal(number("@cells_of_site[garden.c:9, source]"),
				 alive);
		assert_true(number("@created_in_all") > 1);
		work();
	}
}

/* Of a program that does nothing there is a sentence instead of a table. */
static void nothing(void **state)
{
	static const char *const all[][2] = {
		{"batches.bt", "\nThere was no batch.\n"},
		{"fanout_latency.bt", "\nNo cell fired.\n"},
		{"fanouts.bt", "\nNo cell fired.\n"},
		{"live_cells.bt", "\nNo cell was made or released.\n"},
		{"refires.bt", "\nNo cell re-fired.\n"},
		{"slow_subscribers.bt", "\nNo call was that slow.\n"},
		{"writes.bt", "\nNo cell was written.\n"},
	};

	(void)state;
	NEED_BPF();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin(programs[0], all[i][0], NULL, "");
		work();
		assert_int_equal(bpftrace_interrupt(script), 0);
		out = run_out(script);
		if (count_text(out, all[i][1]) != 1)
			fail_msg("%s should say%s", all[i][0], all[i][1]);
		assert_int_equal(number("@untracked"), 0);
		assert_int_equal(count_text(out, "last:\n"), 0);
	}
}

/* The table of unchanged writes is left out where all were changes. */
static void writes_that_all_change(void **state)
{
	(void)state;
	NEED_BPF();
	trace(programs[0], "writes.bt", NULL, "sets 23");
	assert_int_equal(lines_with("@writes_of_cell["), 3);
	assert_int_equal(count_text(out, "unchanged, "), 0);
	assert_int_equal(lines_with("@unchanged_of_cell["), 0);
	assert_int_equal(number("@unchanged_in_all"), 0);
}

/* ---- against the storm ---------------------------------------------------- */

/*
 * bench/storm counts what happens in its own callbacks and by pass reports.
 * The whole run of `sets` sets by `threads` threads, watched by a script.
 */
static json_t *storm(const char *file, const char *threads, const char *sets)
{
	const char *truth = in_temp("truth.json");
	char path[64], pid[16];

	run_close(script);
	run_close(program);
	script = NULL;
	program = RUN(in_build("bin/storm"), "--cells", "101", "--threads",
		      threads, "--sets", sets, "--truth", truth, "--wait");
	assert_non_null(program);
	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	snprintf(path, sizeof(path), "probes/%s", file);
	snprintf(pid, sizeof(pid), "%d", (int)program->pid);
	script = RUN(path, "-p", pid);
	assert_non_null(script);
	assert_true(run_wait_text(script, "Ctrl-C to end.\n", RUN_LIMIT));
	assert_int_equal(run_kill(program, SIGUSR1), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(run_wait(script, RUN_LIMIT), 0);
	out = run_out(script);
	return json_load_file(truth, 0, NULL);
}

static long long truth_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/* Each row of the map has what the truth has of that cell; returns rows. */
static size_t compare_rows(const json_t *truth, const char *map,
			   const char *key)
{
	const json_t *cells = json_object_get(truth, "cells"), *cell;
	char start[64];
	size_t rows = 0, i;

	snprintf(start, sizeof(start), "\n@%s[", map);
	for (const char *at = out; (at = strstr(at, start)); at++, rows++) {
		long long id = strtoll(at + strlen(start), NULL, 10), is = -1;
		const char *end = strstr(at, "]: ");

		assert_non_null(end);
		json_array_foreach(cells, i, cell)
		{
			if (truth_of(cell, "id") == id)
				is = truth_of(cell, key);
		}
		if (strtoll(end + 3, NULL, 10) != is)
			fail_msg("%s of cell %lld should be %lld:%.60s", map,
				 id, is, at);
	}
	return rows;
}

static const char *const threads[] = {"1", "4"};

static void storm_fanouts(void **state)
{
	(void)state;
	NEED_BPF();
	for (size_t t = 0; t < 2; t++) {
		json_t *truth = storm("fanouts.bt", threads[t], "4999");

		assert_non_null(truth);
		assert_true(truth_of(truth, "fires") > 4999);
		assert_int_equal(number("@fanouts_in_all"),
				 truth_of(truth, "fires"));
		assert_int_equal(number("@untracked"), 0);
		assert_int_equal(
			compare_rows(truth, "fanouts_of_cell", "fires"), 20);
		json_decref(truth);
	}
}

static void storm_refires(void **state)
{
	(void)state;
	NEED_BPF();
	for (size_t t = 0; t < 2; t++) {
		json_t *truth = storm("refires.bt", threads[t], "4999");

		assert_non_null(truth);
		assert_true(truth_of(truth, "refires") > 0);
		assert_int_equal(number("@fires_in_all"),
				 truth_of(truth, "fires"));
		assert_int_equal(number("@refires_in_all"),
				 truth_of(truth, "refires"));
		assert_int_equal(number("@untracked"), 0);
		assert_int_equal(
			compare_rows(truth, "refires_of_cell", "refires"), 20);
		json_decref(truth);
	}
}

static void storm_writes(void **state)
{
	(void)state;
	NEED_BPF();
	for (size_t t = 0; t < 2; t++) {
		json_t *truth = storm("writes.bt", threads[t], "4999");

		assert_non_null(truth);
		assert_int_equal(number("@writes_in_all"),
				 truth_of(truth, "writes"));
		assert_int_equal(number("@unchanged_in_all"),
				 truth_of(truth, "unchanged"));
		assert_int_equal(
			compare_rows(truth, "writes_of_cell", "writes"), 20);
		assert_true(compare_rows(truth, "unchanged_of_cell",
					 "unchanged") > 0);
		json_decref(truth);
	}
}

/* ---- the one-liners of README.md ------------------------------------------- */

/* One of them: it attaches, and prints something of a program's run. */
static void try_one_liner(const char *line, size_t length)
{
	const char *print = memmem(line, length, "printf(\"", 8);
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)length, line);
	run_close(script);
	run_close(program);
	program = RUN_TALK(in_build("tests/e2e/prog_all"), "7");
	assert_non_null(program);
	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	script = bpftrace_start(program->pid, text);
	assert_non_null(script);
	assert_int_equal(run_say(program, "go"), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(bpftrace_end(script), 0);
	out = strstr(run_out(script), "STARTED\n");
	assert_non_null(out);
	if (!print && !lines_with("@"))
		fail_msg("nothing from %s", text);
	if (print && strlen(out) < strlen("STARTED\n") + 8)
		fail_msg("nothing from %s", text);
}

static void one_liners(void **state)
{
	static const char start[] = "\nbpftrace -p PID -e '";
	char *readme = read_file("probes/README.md");
	size_t n = 0;

	(void)state;
	assert_non_null(readme);
	if (bpf_forbidden()) {
		free(readme);
		SKIP_BECAUSE(bpf_forbidden());
	}
	for (const char *at = readme; (at = strstr(at, start)); n++) {
		at += strlen(start);
		try_one_liner(at, strcspn(at, "'"));
	}
	free(readme);
	assert_true(n >= 17);
}

/* ---- the files ------------------------------------------------------------ */

static const char *const files[] = {
	"batches.bt",	       "fanout_latency.bt", "fanouts.bt",
	"frame-jitter.bt",     "live_cells.bt",	    "refires.bt",
	"slow_subscribers.bt", "writes.bt",
};

/* Each can be run as it is and explains itself in lines of 80 columns. */
static void headers(void **state)
{
	static const char *const parts[] = {
		" * Run:\n",  " * Output:\n",  " * How to read it:\n",
		" * Cost:\n", " * Caveats:\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[64], *text;
		struct stat st;

		snprintf(path, sizeof(path), "probes/%s", files[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0111, 0111);
		text = read_file(path);
		assert_non_null(text);
		assert_ptr_equal(strstr(text, "#!/usr/bin/env bpftrace\n"),
				 text);
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			if (!strstr(text, parts[p]))
				fail_msg("%s has no%s", path, parts[p] + 2);
		}
		out = text;
		narrow();
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(fanouts),
		cmocka_unit_test(fanouts_of_too_many_cells),
		cmocka_unit_test(fanouts_of_a_program_that_ends),
		cmocka_unit_test(fanout_latency),
		cmocka_unit_test(fanout_latency_of_the_slowest),
		cmocka_unit_test(fanout_latency_of_too_many_cells),
		cmocka_unit_test(refires),
		cmocka_unit_test(slow_subscribers_all),
		cmocka_unit_test(slow_subscribers_effects),
		cmocka_unit_test(slow_subscribers_over_threshold),
		cmocka_unit_test(slow_subscribers_default),
		cmocka_unit_test(writes),
		cmocka_unit_test(no_writes_of_a_cell_that_has_gone),
		cmocka_unit_test(batches),
		cmocka_unit_test(live_cells),
		cmocka_unit_test(live_cells_of_a_busy_program),
		cmocka_unit_test(writes_that_all_change),
		cmocka_unit_test(nothing),
		cmocka_unit_test(storm_fanouts),
		cmocka_unit_test(storm_refires),
		cmocka_unit_test(storm_writes),
		cmocka_unit_test(one_liners),
	};

	return cmocka_run_group_tests_name("scripts", tests, NULL,
					   run_teardown);
}
