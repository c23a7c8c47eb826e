// SPDX-License-Identifier: MIT
/*
 * hyphae-top finds the probes wherever they are: in a stripped, deleted or
 * replaced program, in a shared library, in other namespaces, and with
 * capabilities instead of root.  Each time the sums must be right.
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
#include <unistd.h>

#include "run.h"
#include "top.h"

#define TOP in_build("bin/hyphae-top")
#define SETS "20011"

static struct top_sums sums;

static int finish(void **state)
{
	top_sums_done(&sums);
	return run_teardown(state);
}

__attribute__((format(printf, 1, 2))) static void must(const char *format, ...)
{
	char command[4096];
	va_list args;
	int status;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	free(run_shell(&status, "%s", command));
	if (status)
		print_message("%s: status %d\n", command, status);
	assert_int_equal(status, 0);
}

/* ---- the storm, somewhere ---------------------------------------------------- */

static struct run *start(const char *program)
{
	return RUN(program, "--cells", "97", "--sets", SETS, "--truth",
		   in_temp("truth.json"), "--wait");
}

/* Watch the process to its end; all must be right. */
static void assert_seen(struct run *storm, long pid)
{
	struct run *top;

	assert_true(pid > 0);
	top = RUN(TOP, "-p", as_text(pid), "--json", "-o", in_temp("top.json"));
	assert_int_equal(run_wait(storm, RUN_LIMIT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
	assert_int_equal(top_differences(&sums, in_temp("truth.json")), 0);
	assert_int_equal(sums.lost, 0);
	assert_true(sums.fires > 20000);
}

static void a_stripped_program(void **state)
{
	struct run *storm;

	(void)state;
	NEED_BPF();
	must("strip -s -o %s %s", in_temp("stripped"), in_build("bin/storm"));
	storm = start(in_temp("stripped"));
	assert_seen(storm, storm_pid(storm));
}

static void a_deleted_program(void **state)
{
	struct run *storm;
	long pid;

	(void)state;
	NEED_BPF();
	must("cp %s %s", in_build("bin/storm"), in_temp("deleted"));
	storm = start(in_temp("deleted"));
	pid = storm_pid(storm);
	unlink(in_temp("deleted"));
	assert_seen(storm, pid);
}

/* By another one that has its probes elsewhere, or none. */
static void a_replaced_program(void **state)
{
	struct run *storm;
	long pid;

	(void)state;
	NEED_BPF();
	must("cp %s %s", in_build("bin/storm"), in_temp("replaced"));
	storm = start(in_temp("replaced"));
	pid = storm_pid(storm);
	must("cp %s %s && mv %s %s", in_build("bin/sysmon"), in_temp("new"),
	     in_temp("new"), in_temp("replaced"));
	assert_seen(storm, pid);
}

static void a_program_without_its_notes(void **state)
{
	struct run *storm, *top;
	const char *pid;

	(void)state;
	must("objcopy -R .note.stapsdt %s %s", in_build("bin/storm"),
	     in_temp("bare"));
	storm = start(in_temp("bare"));
	pid = as_text(storm_pid(storm));
	top = RUN(TOP, "-p", pid);
	assert_int_equal(run_wait(top, RUN_LIMIT), 3);
	assert_non_null(strstr(run_err(top), "stripped with -R .note.stapsdt"));
}

/* Built without probes it is like any other program. */
static void a_program_without_probes(void **state)
{
	const char *program = in_build_without("bin/storm");
	struct run *storm, *top;

	(void)state;
	if (access(program, X_OK))
		SKIP_BECAUSE("there is no build with HYPHAE_PROBES=0");
	storm = start(program);
	top = RUN(TOP, "-p", as_text(storm_pid(storm)));
	assert_int_equal(run_wait(top, RUN_LIMIT), 3);
	assert_non_null(strstr(run_err(top), "built with HYPHAE_PROBES=0"));
}

static void another_mount_namespace(void **state)
{
	char script[2048];
	struct run *storm;

	(void)state;
	NEED_BPF();
	mkdir(in_temp("inside"), 0755);
	snprintf(script, sizeof(script),
		 "mount -t tmpfs none %s && cp %s %s/storm && "
		 "exec %s/storm --cells 97 --sets " SETS " --truth %s --wait",
		 in_temp("inside"), in_build("bin/storm"), in_temp("inside"),
		 in_temp("inside"), in_temp("truth.json"));
	storm = RUN("unshare", "-m", "sh", "-c", script);
	assert_seen(storm, storm_pid(storm));
	/* Here there is no such file. */
	assert_int_not_equal(access(in_temp("inside/storm"), F_OK), 0);
}

/* The number that it has there is not the number that we use. */
static void another_pid_namespace(void **state)
{
	char *children = NULL, path[128];
	struct run *storm;
	long pid = 0;

	(void)state;
	NEED_BPF();
	storm = RUN("unshare", "-pf", in_build("bin/storm"), "--cells", "97",
		    "--sets", SETS, "--truth", in_temp("truth.json"), "--wait");
	assert_int_equal(storm_pid(storm), 1);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", storm->pid,
		 storm->pid);
	children = read_file(path);
	if (children)
		pid = strtol(children, NULL, 10);
	free(children);
	assert_seen(storm, pid);
}

/* ---- the shared library -------------------------------------------------------- */

#define ROUNDS 1009

/* What prog_all says of itself, in its head. */
static void assert_rounds_seen(struct run *program, const char *remove)
{
	struct run *top;
	char *text = NULL;
	int i;

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	if (remove)
		must("rm -r %s", remove);
	unlink(in_temp("top.json"));
	top = RUN(TOP, "-p", as_text(program->pid), "--json", "-d", "0.1", "-o",
		  in_temp("top.json"));
	for (i = 0; i < 600 && !(text && *text); i++) {
		free(text);
		usleep(50000);
		text = read_file(in_temp("top.json"));
	}
	free(text);
	assert_int_equal(run_say(program, "go"), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_int_equal(top_sums_read(&sums, in_temp("top.json")), 0);
	/* The end fires the cells that fail and complete, and those below. */
	assert_true(sums.fires >= 6 * ROUNDS + ROUNDS / 2);
	assert_true(sums.fires <= 6 * ROUNDS + ROUNDS / 2 + 4);
	assert_int_equal(sums.writes, 7 * ROUNDS + ROUNDS / 2);
	assert_int_equal(sums.lost, 0);
}

static void a_shared_library(void **state)
{
	(void)state;
	NEED_BPF();
	assert_rounds_seen(RUN_TALK(in_build("tests/e2e/prog_all-shared"),
				    as_text(ROUNDS)),
			   NULL);
}

static void a_deleted_shared_library(void **state)
{
	char path[512];

	(void)state;
	NEED_BPF();
	mkdir(in_temp("lib"), 0755);
	must("cp -P %s/libhyphae.so* %s && strip -s %s/libhyphae.so",
	     in_build("lib"), in_temp("lib"), in_temp("lib"));
	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", in_temp("lib"));
	assert_rounds_seen(RUN_TALK("env", path,
				    in_build("tests/e2e/prog_all-shared"),
				    as_text(ROUNDS)),
			   in_temp("lib"));
}

static void a_static_program(void **state)
{
	(void)state;
	NEED_BPF();
	assert_rounds_seen(
		RUN_TALK(in_build("tests/e2e/prog_all"), as_text(ROUNDS)),
		NULL);
}

static void a_library_without_probes(void **state)
{
	struct run *program, *top;

	(void)state;
	mkdir(in_temp("none"), 0755);
	must("cp -P %s/libhyphae.so* %s && "
	     "objcopy -R .note.stapsdt %s/libhyphae.so",
	     in_build("lib"), in_temp("none"), in_temp("none"));
	{
		char path[512];

		snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s",
			 in_temp("none"));
		program = RUN_TALK("env", path,
				   in_build("tests/e2e/prog_all-shared"), "1");
	}
	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	top = RUN(TOP, "-p", as_text(program->pid));
	assert_int_equal(run_wait(top, RUN_LIMIT), 3);
	assert_non_null(strstr(run_err(top), "libhyphae.so"));
	assert_non_null(strstr(run_err(top), "which has no notes of probes"));
}

/* ---- privileges ------------------------------------------------------------------- */

#define NOBODY "65534"

static struct run *as_nobody(const char *capabilities, const char *pid)
{
	return RUN("setpriv", "--reuid", NOBODY, "--regid", NOBODY,
		   "--clear-groups", "--inh-caps", capabilities,
		   "--ambient-caps", capabilities, TOP, "-p", pid, "--json",
		   "-n", "1", "-d", "0.1");
}

static void assert_refused(struct run *top, const char *text)
{
	assert_int_equal(run_wait(top, RUN_LIMIT), 4);
	if (!strstr(run_err(top), text))
		print_message("it said: %s", run_err(top));
	assert_non_null(strstr(run_err(top), text));
}

static void what_is_missing_is_named(void **state)
{
	struct run *storm = start(in_build("bin/storm"));
	const char *pid = as_text(storm_pid(storm));

	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("only root can take capabilities away");
	assert_refused(as_nobody("-all", pid), "CAP_SYS_PTRACE");
	assert_refused(as_nobody("-all,+sys_ptrace", pid),
		       "needs CAP_BPF and CAP_PERFMON");
	assert_refused(as_nobody("-all,+sys_ptrace,+bpf", pid),
		       "needs CAP_PERFMON");
	assert_refused(as_nobody("-all,+sys_ptrace,+perfmon", pid),
		       "needs CAP_BPF");
}

static void two_capabilities_are_enough(void **state)
{
	struct run *storm = start(in_build("bin/storm"));
	struct run *top;

	(void)state;
	NEED_BPF();
	if (geteuid() != 0)
		SKIP_BECAUSE("only root can give capabilities");
	top = as_nobody("-all,+sys_ptrace,+sys_admin",
			as_text(storm_pid(storm)));
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	assert_non_null(strstr(run_out(top), "\"fires\":"));
}

/* Whether they are depends on libbpf; if not, it is said. */
static void perhaps_three_smaller_ones(void **state)
{
	struct run *storm = start(in_build("bin/storm"));
	struct run *top;

	(void)state;
	NEED_BPF();
	if (geteuid() != 0)
		SKIP_BECAUSE("only root can give capabilities");
	top = as_nobody("-all,+sys_ptrace,+perfmon,+bpf",
			as_text(storm_pid(storm)));
	if (run_wait(top, RUN_LIMIT))
		assert_refused(top, "takes CAP_SYS_PTRACE and CAP_SYS_ADMIN");
	else
		assert_non_null(strstr(run_out(top), "\"bpf_ns\":null"));
}

static void a_list_without_rights(void **state)
{
	struct run *top;

	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("only root can take capabilities away");
	top = RUN("setpriv", "--reuid", NOBODY, "--regid", NOBODY,
		  "--clear-groups", TOP);
	assert_int_equal(run_wait(top, RUN_LIMIT), 4);
	assert_non_null(strstr(run_err(top), "CAP_SYS_PTRACE"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, finish)
	const struct CMUnitTest tests[] = {
		TEST(a_stripped_program),
		TEST(a_deleted_program),
		TEST(a_replaced_program),
		TEST(a_program_without_its_notes),
		TEST(a_program_without_probes),
		TEST(another_mount_namespace),
		TEST(another_pid_namespace),
		TEST(a_shared_library),
		TEST(a_deleted_shared_library),
		TEST(a_static_program),
		TEST(a_library_without_probes),
		TEST(what_is_missing_is_named),
		TEST(two_capabilities_are_enough),
		TEST(perhaps_three_smaller_ones),
		TEST(a_list_without_rights),
	};

	return cmocka_run_group_tests_name("where hyphae-top finds probes",
					   tests, NULL, NULL);
}
