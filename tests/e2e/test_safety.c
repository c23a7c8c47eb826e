// SPDX-License-Identifier: MIT
/*
 * What a tracer does to the program it looks at: nothing that changes a
 * result.  Each program here runs once untraced and once with a real tracer
 * at every probe; what it prints must be the same.
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

/* Each probe, wherever it is mapped, with the argument read that all have. */
static struct run *trace_all(struct run *program)
{
	struct run *tracer = bpftrace_start(
		program->pid, "usdt:*:hyphae:* { @hits[probe] = count(); "
			      "@sum = sum(arg0); }");

	assert_non_null(tracer);
	return tracer;
}

/* The program, given a line when it is ready (and traced), to its end. */
static struct run *run_program(const char *name, const char *arg, bool traced,
			       struct run **ret_tracer)
{
	struct run *run = RUN_TALK(in_build(name), arg);

	assert_true(run_wait_text(run, "ready", RUN_LIMIT));
	if (traced)
		*ret_tracer = trace_all(run);
	assert_int_equal(run_say(run, "go"), 0);
	assert_int_not_equal(run_wait(run, 3 * RUN_LIMIT), -1);
	return run;
}

/* Untraced and traced: equal, and the tracer saw it.  Returns hits of fanout. */
static long long compare(const char *name, const char *arg)
{
	struct run *tracer = NULL;
	struct run *plain = run_program(name, arg, false, NULL);
	struct run *traced = run_program(name, arg, true, &tracer);

	assert_string_equal(run_out(plain), run_out(traced));
	assert_int_equal(plain->status, traced->status);
	assert_int_equal(traced->status, 0);
	assert_int_equal(bpftrace_end(tracer), 0);
	return bpftrace_hits(tracer, "fanout");
}

/* 1,009 sets of a chain of 8 cells: 8,072 fan-outs. */
static void test_canary(void **state)
{
	(void)state;
	NEED_BPF();
	assert_int_equal(compare("tests/e2e/prog_canary", "1009"), 8072);
}

static void test_canary_shared(void **state)
{
	struct run *plain, *traced, *tracer;

	(void)state;
	NEED_BPF();
	plain = run_program("tests/e2e/prog_canary", "1009", false, NULL);
	traced = RUN_TALK(in_build("tests/e2e/prog_canary-shared"), "1009");
	assert_true(run_wait_text(traced, "ready", RUN_LIMIT));
	tracer = trace_all(traced);
	assert_int_equal(run_say(traced, "go"), 0);
	assert_int_equal(run_wait(traced, 3 * RUN_LIMIT), 0);
	assert_string_equal(run_out(plain), run_out(traced));
	assert_int_equal(bpftrace_end(tracer), 0);
	assert_int_equal(bpftrace_hits(tracer, "fanout"), 8072);
}

/* The parent sets 1,000 for each of 17 children; they are not followed. */
static void test_fork(void **state)
{
	(void)state;
	NEED_BPF();
	assert_int_equal(compare("tests/e2e/prog_fork", "17"), 2 * 17000);
}

static void test_longjmp(void **state)
{
	(void)state;
	NEED_BPF();
	assert_true(compare("tests/e2e/prog_longjmp", "") > 0);
}

/* ---- ends ------------------------------------------------------------------ */

/* A canary under load, until it is told to stop. */
static struct run *start_load(const char **ret_path)
{
	static char *path;
	struct run *run;

	free(path);
	path = realpath(in_build("tests/e2e/prog_canary"), NULL);
	*ret_path = path;
	run = RUN(path);
	assert_true(run_wait_text(run, "ready", RUN_LIMIT));
	return run;
}

/* It ends by itself, and nothing that it computed was wrong. */
static void stop_load(struct run *run)
{
	assert_int_equal(run_kill(run, SIGTERM), 0);
	assert_int_equal(run_wait(run, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(run), " wrong 0\n"));
}

/* A tracer that is killed leaves no semaphore up. */
static void test_tracer_killed(void **state)
{
	struct run *load, *tracer;
	const char *path;
	uint64_t gate;

	(void)state;
	NEED_BPF();
	load = start_load(&path);
	assert_true(gate_of(load->pid, path) == 0);
	tracer = trace_all(load);
	gate = gate_of(load->pid, path);
	/* One tracer at `records`, and one at each of six detail probes. */
	assert_int_equal(gate & 0xffff, 1);
	assert_int_equal(gate >> 16 & 0xffff, 6);
	assert_int_equal(run_kill(tracer, SIGKILL), 0);
	assert_int_equal(run_wait(tracer, RUN_LIMIT), 128 + SIGKILL);
	assert_true(gate_wait_closed(load->pid, path, RUN_LIMIT));
	stop_load(load);
}

/* A program that is killed takes nobody with it. */
static void test_program_killed(void **state)
{
	struct run *first, *second, *tracer;
	const char *path;

	(void)state;
	NEED_BPF();
	first = start_load(&path);
	second = start_load(&path);
	tracer = trace_all(first);
	/* Another process of the same file is not concerned. */
	assert_true(gate_of(second->pid, path) == 0);
	assert_int_equal(run_kill(first, SIGKILL), 0);
	assert_int_equal(run_wait(first, RUN_LIMIT), 128 + SIGKILL);
	assert_int_equal(bpftrace_end(tracer), 0);
	assert_true(gate_of(second->pid, path) == 0);
	stop_load(second);
}

/* ---- cycles ------------------------------------------------------------------ */

#define TRACERS 10
#define CYCLES "100"

/*
 * Ten tracers attach and detach a hundred times each, at different probes, of
 * a program under load; half of the probes have semaphores.
 */
static void test_cycles(void **state)
{
	static const char *const probes[] = {
		"fanout",  "records",	   "notify",	  "fanout_done",
		"compute", "compute_done", "write_value", "subscriber_done",
		"records", "fanout"};
	struct run *load, *tracers[TRACERS];
	char number[16];
	const char *path;
	unsigned long long hits = 0, seen;

	(void)state;
	NEED_BPF();
	load = start_load(&path);
	snprintf(number, sizeof(number), "%d", (int)load->pid);
	for (int i = 0; i < TRACERS; i++)
		tracers[i] = RUN(in_build("tests/e2e/attach"), number, path,
				 probes[i], CYCLES, "3");
	for (int i = 0; i < TRACERS; i++) {
		int status = run_wait(tracers[i], 3 * RUN_LIMIT);

		if (status != 0)
			printf("%s%s", run_out(tracers[i]),
			       run_err(tracers[i]));
		assert_int_equal(status, 0);
		assert_int_equal(sscanf(run_out(tracers[i]),
					"cycles " CYCLES " hits %llu", &seen),
				 1);
		hits += seen;
	}
	/* It was under load, and it was watched. */
	assert_true(hits > 1000);
	assert_true(gate_wait_closed(load->pid, path, RUN_LIMIT));
	stop_load(load);
}

/* The way of tracers that know no uprobe_multi: one perf event a probe. */
static void test_cycles_perf(void **state)
{
	struct run *load, *tracer;
	char number[16];
	const char *path;

	(void)state;
	NEED_BPF();
	load = start_load(&path);
	snprintf(number, sizeof(number), "%d", (int)load->pid);
	tracer = RUN(in_build("tests/e2e/attach"), "-p", number, path,
		     "subscriber_done", "23", "3");
	assert_int_equal(run_wait(tracer, 3 * RUN_LIMIT), 0);
	assert_true(gate_wait_closed(load->pid, path, RUN_LIMIT));
	stop_load(load);
}

#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_canary),	  TEST(test_canary_shared),
		TEST(test_fork),	  TEST(test_longjmp),
		TEST(test_tracer_killed), TEST(test_program_killed),
		TEST(test_cycles),	  TEST(test_cycles_perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
