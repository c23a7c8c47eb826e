// SPDX-License-Identifier: MIT
/*
 * Programs from other linkers, with unused sections thrown away and equal
 * functions folded, under a real tracer: every event is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer.h"

#define ROUNDS 101 /* prime; see prog_all.c for what a round fires */
#define EVEN 50

static char *script_for(const char *path)
{
	char *script = NULL;

	if (asprintf(&script,
		     "usdt:%1$s:hyphae:notify { @notify = count(); }"
		     "usdt:%1$s:hyphae:write_value { @write = count();"
		     "  @changed = sum(arg2); @size = max(arg3); }"
		     "usdt:%1$s:hyphae:fanout { @fanout = count();"
		     "  if (str(arg4) == \"a\" && str(arg5) == \"int64\") "
		     "    { @fanout_of_a = count(); } }"
		     "usdt:%1$s:hyphae:fanout_done { @done = count(); }"
		     "usdt:%1$s:hyphae:batch { @batch = count(); }"
		     "usdt:%1$s:hyphae:frame { @frame = count(); }"
		     "usdt:%1$s:hyphae:frame_done { @frame_done = count(); }"
		     "usdt:%1$s:hyphae:cell_create { @create = count(); }"
		     "usdt:%1$s:hyphae:cell_name { @name = count();"
		     "  if (str(arg1) == \"short-lived\") { @short = count(); "
		     "} }"
		     "usdt:%1$s:hyphae:cell_destroy { @destroy = count(); }"
		     "usdt:%1$s:hyphae:error { @error = sum((int64)arg1); }",
		     path) < 0)
		return NULL;
	return script;
}

static void count_all(const char *path)
{
	static const struct {
		const char *map;
		long long count;
	} expected[] = {
		{"@notify", 4 * ROUNDS + 2},
		{"@write", 7 * ROUNDS + EVEN},
		{"@changed", 6 * ROUNDS + EVEN},
		{"@size", 16},
		/* At the end: the failed source, what follows it, the other. */
		{"@fanout", 6 * ROUNDS + EVEN + 3},
		{"@fanout_of_a", ROUNDS},
		{"@done", 6 * ROUNDS + EVEN + 3},
		{"@batch", ROUNDS + 1},
		{"@frame", 1},
		{"@frame_done", 1},
		{"@create", ROUNDS},
		{"@name", ROUNDS},
		{"@short", ROUNDS},
		/* And the graph's seven at the end. */
		{"@destroy", ROUNDS + 7},
		{"@error", -5},
	};
	struct run *program = RUN_TALK(path, "101"), *tracer;
	char *script = script_for(path);

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	tracer = bpftrace_start(program->pid, script);
	free(script);
	assert_non_null(tracer);
	assert_int_equal(run_say(program, "go"), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(bpftrace_end(tracer), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		long long count = bpftrace_number(tracer, expected[i].map);

		if (count != expected[i].count)
			printf("%s of %s: %lld instead of %lld\n",
			       expected[i].map, path, count, expected[i].count);
		assert_true(count == expected[i].count);
	}
}

/* `state` is the kind that tests/tools/matrix.sh builds. */
static void test_linked(void **state)
{
	const char *kind = *state;
	char cc[16], opt[16], path[512], *said;

	NEED_BPF();
	assert_int_equal(sscanf(kind, "%15[^-]-%15[^-]", cc, opt), 2);
	snprintf(path, sizeof(path), "%s/%s", temp_dir(), kind);
	said = run_shell(NULL, "tests/tools/matrix.sh %s %s %s %s", temp_dir(),
			 cc, opt, kind);
	if (!strstr(said, kind)) {
		printf("%s", said);
		free(said);
		fail_msg("%s was not built", kind);
	}
	free(said);
	count_all(path);
}

#define LINKED(kind)                                                           \
	{                                                                      \
		kind, test_linked, NULL, run_teardown, (void *)(uintptr_t)kind \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINKED("gcc-sections-static-gold-icf-stripped"),
		LINKED("gcc-sections-pie-gold-icf"),
		LINKED("clang-sections-pie-lld-icf"),
		LINKED("clang-sections-static-pie-lld-icf-stripped"),
		LINKED("clang-lto-static-lld-icf"),
		LINKED("gcc-O0-static-bfd-plain"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
