// SPDX-License-Identifier: MIT
/*
 * What probes cost while nobody is attached, in instructions, which callgrind
 * counts exactly: the same programs in a build with and one without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* Instructions of a run, start-up included. */
static long long instructions(const char *program, const char *shape,
			      const char *operations)
{
	struct run *run = RUN("valgrind", "--tool=callgrind",
			      "--callgrind-out-file=/dev/null", program, shape,
			      operations);
	const char *at;

	if (run_wait(run, 3 * RUN_LIMIT) != 0)
		printf("%s", run_err(run));
	at = strstr(run_err(run), "Collected : ");
	assert_non_null(at);
	return atoll(at + strlen("Collected : "));
}

/* Of 1,000 operations, start-up cancelled out. */
static long long per_thousand(const char *program, const char *shape)
{
	return instructions(program, shape, "2000") -
	       instructions(program, shape, "1000");
}

/* Without debug information, of which valgrind cannot read every kind. */
static void strip(const char *from, const char *to)
{
	int status;

	free(run_shell(&status, "strip -s -o %s %s", to, from));
	assert_int_equal(status, 0);
}

struct shape {
	const char *name;
	/* Sites that one operation passes: each is one nop. */
	long long nops;
	/* Calls of functions that look at the gate. */
	long long checks;
	/*
	 * What gcc 12 makes of it: nothing for the checks, since a build
	 * without probes looks at the same word for pass reports; in each
	 * hy_write_value its stack frame, which is otherwise made on the slow
	 * path only; and `batch`, off the hot path, loads its argument.
	 */
	long long exactly;
	/*
	 * Instructions of an operation in all, by gcc 12: a change of more
	 * than 1 % has a reason, which its commit tells when it changes this.
	 */
	long long total;
};

static void test_shape(void **state)
{
	const struct shape *shape = *state;
	long long difference, plain;
	const char *with = in_temp("with"), *without = in_temp("without");

	strip(in_build("tests/e2e/prog_cost"), with);
	strip(in_build_without("tests/e2e/prog_cost"), without);
	plain = per_thousand(without, shape->name);
	difference = per_thousand(with, shape->name) - plain;
	/* Both print the same numbers, so what is left is the operations. */
	assert_int_equal(difference % 1000, 0);
	difference /= 1000;
	printf("%s: %lld instructions without probes, %lld more with them\n",
	       shape->name, plain / 1000, difference);
	assert_in_range(difference, shape->nops,
			shape->nops + 2 * shape->checks);
#if __GNUC__ == 12 && !defined(__clang__)
	assert_int_equal(difference, shape->exactly);
	assert_in_range((plain / 1000 + difference) * 100, shape->total * 99,
			shape->total * 101);
#endif
}

#define SHAPE(name_, nops_, checks_, exactly_, total_)                         \
	{                                                                      \
		"detached cost of " name_, test_shape, NULL, run_teardown,     \
			&(struct shape)                                        \
		{                                                              \
			name_, nops_, checks_, exactly_, total_                \
		}                                                              \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* notify, write_value, fanout */
		SHAPE("set", 3, 3, 6, 142),
		/* and compute, write_value, fanout of the map */
		SHAPE("map", 6, 5, 12, 271),
		SHAPE("chain", 3 + 10 * 3, 3 + 10 * 2, 66, 856),
		/* one fan-out, ten subscribers */
		SHAPE("fan", 3, 3, 6, 347),
		/* ten computed, one computed once */
		SHAPE("diamond", 3 + 11 * 3, 3 + 11 * 2, 72, 1571),
		/* and batch */
		SHAPE("batch", 4, 5, 8, 239),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
