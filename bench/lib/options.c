/* SPDX-License-Identifier: MIT */
/* Options of the bench programs, and the clock; see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t option_count(const char *option, const char *text, uint64_t min,
		      uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	/* strtoull() takes "-1" for a very large number. */
	if (!isdigit((unsigned char)text[0]) || *end || errno || value < min ||
	    value > max) {
		fprintf(stderr,
			"%s: --%s takes a whole number from %" PRIu64
			" to %" PRIu64 ", not \"%s\".\n",
			program_invocation_short_name, option, min, max, text);
		exit(EXIT_USAGE);
	}
	return value;
}

double option_number(const char *option, const char *text, double min,
		     double max)
{
	char *end;
	double value;

	value = strtod(text, &end);
	if (end == text || *end || isnan(value) || value < min || value > max) {
		fprintf(stderr,
			"%s: --%s takes a number from %g to %g, "
			"not \"%s\".\n",
			program_invocation_short_name, option, min, max, text);
		exit(EXIT_USAGE);
	}
	return value;
}

void option_no_more(int argc, char **argv, int next)
{
	if (next >= argc)
		return;
	fprintf(stderr, "%s: \"%s\" is not an option; see %s --help.\n",
		program_invocation_short_name, argv[next],
		program_invocation_short_name);
	exit(EXIT_USAGE);
}

void option_unknown(void)
{
	fprintf(stderr, "See %s --help.\n", program_invocation_short_name);
	exit(EXIT_USAGE);
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void sleep_until_ns(uint64_t ns)
{
	struct timespec at = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
