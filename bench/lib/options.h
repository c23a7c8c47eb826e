/* SPDX-License-Identifier: MIT */
/* What the programs of bench/ share: reading options and telling the time. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdint.h>

/* Exit status: the command line was wrong. */
#define EXIT_USAGE 2

/*
 * The number that `text` is, for `option`.  If it is none, or is out of
 * range, the program ends with a sentence and EXIT_USAGE.
 */
uint64_t option_count(const char *option, const char *text, uint64_t min,
		      uint64_t max);
double option_number(const char *option, const char *text, double min,
		     double max);

/* End with a sentence if an argument is left over after the options. */
void option_no_more(int argc, char **argv, int next);

/* getopt_long() has said what is wrong; say where to find help, and end. */
_Noreturn void option_unknown(void);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_ns(void);

/* Sleep until that clock shows `ns`, or a signal comes. */
void sleep_until_ns(uint64_t ns);

#endif
