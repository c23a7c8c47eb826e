/* SPDX-License-Identifier: MIT */
/* Two revisions; see views.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views.h"

/* What no timing shows, and a rounded number of bytes does. */
#define NOISE_LEAST 0.01

/* The runs of one bench in one revision. */
struct runs {
	double values[ROUNDS_MAX];
	double spreads[ROUNDS_MAX]; /* within each run */
	size_t count;
};

static void find_runs(const struct lines *lines, const char *bench,
		      struct runs *runs)
{
	size_t i;

	runs->count = 0;
	for (i = 0; i < lines->count && runs->count < ROUNDS_MAX; i++) {
		const struct result *result = &lines->all[i].result;

		if (!result->bench || strcmp(result->bench, bench) != 0)
			continue;
		runs->spreads[runs->count] = result->spread;
		runs->values[runs->count++] = result->value;
	}
}

/*
 * By how much a revision differs from itself: from the lowest to the highest
 * run, over the median; or within a run, if that is more.
 */
static double noise_of(struct runs *runs)
{
	double middle = median(runs->values, runs->count);

	return fmax((runs->values[runs->count - 1] - runs->values[0]) / middle,
		    median(runs->spreads, runs->count));
}

static void tell(const struct result *result, struct runs *base,
		 struct runs *new)
{
	double noise = fmax(fmax(noise_of(base), noise_of(new)), NOISE_LEAST);
	double from = median(base->values, base->count);
	double to = median(new->values, new->count);
	double change = to / from - 1;
	const char *what = result->what ? result->what : "ns";
	bool more_is_better = !strcmp(what, "per_second");
	const char *verdict = "";

	if (fabs(change) > noise)
		verdict = (change > 0) == more_is_better ? "better" : "worse";
	printf("%-22s %12.2f %12.2f %+8.1f %% %7.1f %%  %s\n", result->bench,
	       from, to, change * 100, noise * 100, verdict);
}

/* Was this bench in a line before? */
static bool is_known(const struct lines *lines, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (lines->all[j].result.bench &&
		    !strcmp(lines->all[j].result.bench,
			    lines->all[i].result.bench))
			return true;
	return false;
}

void compare(const struct lines *base, const struct lines *new)
{
	struct runs before, after;
	size_t i;

	printf("%-22s %12s %12s %10s %9s\n", "bench", "base", "new", "change",
	       "spread");
	for (i = 0; i < new->count; i++) {
		const struct result *result = &new->all[i].result;

		/* Growth follows from the others. */
		if (!result->bench || is_known(new, i) ||
		    (result->what && !strcmp(result->what, "times")))
			continue;
		find_runs(base, result->bench, &before);
		find_runs(new, result->bench, &after);
		if (before.count)
			tell(result, &before, &after);
		else
			printf("%-22s is not in the base\n", result->bench);
	}
}
