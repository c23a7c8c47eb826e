/* SPDX-License-Identifier: MIT */
/*
 * What the machine takes for a call and its return, whatever is called.  A set
 * is five of them and a cell of a chain three, because probes and profilers
 * want functions of their own; so this bounds them.
 */
#include "cases.h"

#define CALLS 10

static void *nothing_open(const struct speed_case *speed_case)
{
	static char nothing;

	(void)speed_case;
	return &nothing;
}

static void nothing_close(void *state)
{
	(void)state;
}

__attribute__((noinline)) static void nothing(void)
{
	__asm__ volatile("");
}

static void call_run(void *state, uint64_t times)
{
	(void)state;
	while (times--) {
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
		nothing();
	}
}

static const struct speed_case cases[] = {
	{"call_by_hand",
	 "call",
	 0,
	 1,
	 CALLS,
	 {nothing_open, call_run, nothing_close},
	 {NULL, NULL, NULL},
	 false,
	 0},
};

const struct speed_group speed_machine = SPEED_GROUP(cases);
