// SPDX-License-Identifier: MIT
/*
 * probes/frame-jitter.bt, run by the real bpftrace against a program whose
 * clocks stand still: so distances are exact, and what the script counts is
 * compared for equality.
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

#include "tracer.h"

static const char *const programs[] = {
	"tests/e2e/prog_jitter",
	"tests/e2e/prog_jitter-shared",
};

/* What the last run of the script printed, and its graphs. */
static const char *out;
static struct run *script, *program;
static unsigned long long graph, other;

static void start_program(const char *name, const char *actions)
{
	const char *argv[24] = {in_build(name)};
	static char words[256];
	size_t n = 1;

	snprintf(words, sizeof(words), "%s", actions);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) {
		assert_true(n + 1 < sizeof(argv) / sizeof(argv[0]));
		argv[n++] = w;
	}
	program = run_start_how(argv, &(struct run_how){.keep_stdin = true});
	assert_non_null(program);
	assert_true(run_wait_text(program, "ready\n", RUN_LIMIT));
	assert_int_equal(sscanf(run_out(program), "%llu %llu", &graph, &other),
			 2);
}

/* The program waits, the script traces; the one works, the other ends. */
static void trace(const char *name, const char *actions)
{
	const char *argv[] = {"probes/frame-jitter.bt", "-p", NULL, NULL};
	char pid[16];

	run_close(script);
	run_close(program);
	script = NULL;
	start_program(name, actions);
	snprintf(pid, sizeof(pid), "%d", (int)program->pid);
	argv[2] = pid;
	script = run_start(argv);
	assert_non_null(script);
	if (!run_wait_text(script, "Ctrl-C to end.\n", RUN_LIMIT)) {
		print_message("%s%s", run_out(script), run_err(script));
		fail_msg("it does not trace");
	}
	assert_int_equal(run_say(program, "go"), 0);
	assert_true(run_wait_text(program, "done\n", RUN_LIMIT));
	assert_int_equal(bpftrace_interrupt(script), 0);
	out = run_out(script);
}

/* ---- reading what it printed ---------------------------------------------- */

/* The rest of the line that starts with it, or NULL. */
static const char *rest_of(const char *start)
{
	for (const char *at = out; (at = strstr(at, start)); at++)
		if (at == out || at[-1] == '\n')
			return at + strlen(start);
	return NULL;
}

/* "@map: 7" */
static long long number(const char *map)
{
	char start[64];
	const char *rest;

	snprintf(start, sizeof(start), "%s: ", map);
	rest = rest_of(start);
	if (!rest) {
		print_message("%s", out);
		fail_msg("no %s", map);
	}
	return strtoll(rest, NULL, 10);
}

static long long of_graph(const char *map, unsigned long long id)
{
	char key[64];

	snprintf(key, sizeof(key), "%s[%llu]", map, id);
	return number(key);
}

/* The count of the line `bucket` in the histogram that starts with `map`. */
static long long in_bucket(const char *map, const char *bucket)
{
	char start[64];
	const char *at, *end;

	snprintf(start, sizeof(start), "%s: \n", map);
	at = rest_of(start);
	assert_non_null(at);
	end = strstr(at, "\n\n");
	at = strstr(at, bucket);
	assert_true(at && (!end || at < end));
	return strtoll(at + strlen(bucket), NULL, 10);
}

static void narrow_and_dense(void)
{
	char *version = CAPTURE(NULL, "bpftrace", "--version");

	for (const char *line = out; *line;) {
		size_t length = strcspn(line, "\n");

		if (length >= 80)
			fail_msg("too wide: %.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
	/* Each version prints empty maps in its way. */
	if (version && strstr(version, "v0.17.") && strstr(out, "\n\n\n"))
		fail_msg("empty lines in a row: %s", out);
	free(version);
}

/* ---- the tests ------------------------------------------------------------- */

static void jitter(void **state)
{
	char map[64];

	(void)state;
	NEED_BPF();
	for (size_t i = 0; i < 2; i++) {
		trace(programs[i],
		      "early 11 3000 late 5 500 late 2 70000 empty 3 0 "
		      "other 7 1000000 batches 13 0");
		narrow_and_dense();
		assert_int_equal(number("@frames_in_all"), 28);
		assert_int_equal(of_graph("@frames_of_graph", graph), 21);
		assert_int_equal(of_graph("@frames_of_graph", other), 7);
		assert_int_equal(number("@missed_in_all"), 14);
		assert_int_equal(of_graph("@missed_of_graph", graph), 7);
		assert_int_equal(of_graph("@missed_of_graph", other), 7);
		assert_int_equal(number("@longest_in_all"), 1000000);
		assert_int_equal(of_graph("@longest_of_graph", graph), 70000);
		assert_int_equal(of_graph("@longest_of_graph", other), 1000000);
		assert_int_equal(number("@ns_before_in_all"), 11 * 3000);
		assert_int_equal(number("@ns_after_in_all"),
				 5 * 500 + 2 * 70000 + 7 * 1000000);
		assert_int_equal(number("@cells_fired_in_all"), 18 * 3 + 7);
		assert_int_equal(in_bucket("@cells_fired_per_frame", "[0]"), 3);
		assert_int_equal(in_bucket("@cells_fired_per_frame", "[1]"), 7);
		assert_int_equal(in_bucket("@cells_fired_per_frame", "[2, 4)"),
				 18);
		snprintf(map, sizeof(map), "@ns_before_of_graph[%llu]", graph);
		assert_int_equal(in_bucket(map, "[0]"), 3);
		assert_int_equal(in_bucket(map, "[2K, 4K)"), 11);
		snprintf(map, sizeof(map), "@ns_after_of_graph[%llu]", graph);
		assert_int_equal(in_bucket(map, "[256, 512)"), 5);
		assert_int_equal(in_bucket(map, "[64K, 128K)"), 2);
		snprintf(map, sizeof(map), "@ns_after_of_graph[%llu]", other);
		assert_int_equal(in_bucket(map, "[512K, 1M)"), 7);
		assert_int_equal(number("@untracked"), 0);
	}
}

static void all_in_time(void **state)
{
	(void)state;
	NEED_BPF();
	trace(programs[0], "early 17 3000");
	narrow_and_dense();
	assert_non_null(strstr(out, "\nNone missed its boundary.\n"));
	assert_int_equal(number("@missed_in_all"), 0);
	assert_int_equal(number("@longest_in_all"), 0);
	assert_int_equal(number("@frames_in_all"), 17);
}

static void no_frame(void **state)
{
	(void)state;
	NEED_BPF();
	trace(programs[0], "batches 7 0");
	narrow_and_dense();
	assert_non_null(strstr(out, "\nThere was no frame.\n"));
	assert_int_equal(number("@frames_in_all"), 0);
}

/* Both probes, with every argument. */
static void the_probes(void **state)
{
	char *said, pid[16];
	const char *argv[] = {
		"bpftrace",
		"-p",
		NULL,
		"-e",
		"BEGIN { printf(\"on\\n\"); }"
		"usdt:*:hyphae:frame {"
		"  @f[arg0, arg1, arg2] = count(); }"
		"usdt:*:hyphae:frame_done {"
		"  @d[arg0, arg1, arg2, (int64)arg3] = count(); }",
		NULL};

	(void)state;
	NEED_BPF();
	run_close(script);
	run_close(program);
	script = NULL;
	start_program(programs[0], "early 1 3000 late 1 500 other 1 7");
	snprintf(pid, sizeof(pid), "%d", (int)program->pid);
	argv[2] = pid;
	script = run_start(argv);
	assert_true(run_wait_text(script, "on\n", RUN_LIMIT));
	assert_int_equal(run_say(program, "go"), 0);
	assert_true(run_wait_text(program, "done\n", RUN_LIMIT));
	assert_int_equal(bpftrace_interrupt(script), 0);
	out = run_out(script);
	assert_true(asprintf(&said,
			     "@f[%1$llu, 1, 1000000003000]|@f[%1$llu, 2, "
			     "999999999500]|@f[%2$llu, 1, 999999999993]|"
			     "@d[%1$llu, 1, 3, -3000]|@d[%1$llu, 2, 3, 500]|"
			     "@d[%2$llu, 1, 1, 7]",
			     graph, other) > 0);
	for (char *row = strtok(said, "|"); row; row = strtok(NULL, "|"))
		assert_int_equal(number(row), 1);
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jitter),
		cmocka_unit_test(all_in_time),
		cmocka_unit_test(no_frame),
		cmocka_unit_test(the_probes),
	};

	return cmocka_run_group_tests_name("frame-jitter.bt", tests, NULL,
					   run_teardown);
}
