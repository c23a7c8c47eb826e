// SPDX-License-Identifier: MIT
/* A histogram of durations; see hist.h. */
#include "bpf/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* popcount() without a call, for processors older than the instruction. */
static unsigned int bits(uint64_t x)
{
	x -= (x >> 1) & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (unsigned int)((x * 0x0101010101010101u) >> 56);
}

/* Which of the groups that exist `group` is, or would be. */
static unsigned int position(const struct hist *hist, unsigned int group)
{
	return bits(hist->groups & ((1ull << group) - 1));
}

static int add_group(struct hist *hist, unsigned int group)
{
	unsigned int at = position(hist, group), n = bits(hist->groups);
	size_t size = HIST_STEPS * sizeof(*hist->counts);
	uint32_t *counts = realloc(hist->counts, (n + 1) * size);

	if (!counts)
		return -ENOMEM;
	memmove(counts + (at + 1) * HIST_STEPS, counts + at * HIST_STEPS,
		(n - at) * size);
	memset(counts + at * HIST_STEPS, 0, size);
	hist->counts = counts;
	hist->groups |= 1ull << group;
	return 0;
}

int hist_add(struct hist *hist, unsigned int bucket, uint32_t n)
{
	unsigned int group = bucket / HIST_STEPS;
	uint32_t *count;

	if (!(hist->groups >> group & 1) && add_group(hist, group))
		return -ENOMEM;
	count = hist->counts + position(hist, group) * HIST_STEPS +
		bucket % HIST_STEPS;
	*count = *count > UINT32_MAX - n ? UINT32_MAX : *count + n;
	return 0;
}

uint32_t hist_count(const struct hist *hist, unsigned int bucket)
{
	unsigned int group = bucket / HIST_STEPS;

	if (!(hist->groups >> group & 1))
		return 0;
	return hist->counts[position(hist, group) * HIST_STEPS +
			    bucket % HIST_STEPS];
}

int hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int at = 0, group, i;

	for (group = 0; group < HIST_GROUPS; group++) {
		if (!(from->groups >> group & 1))
			continue;
		for (i = 0; i < HIST_STEPS; i++) {
			uint32_t n = from->counts[at * HIST_STEPS + i];

			if (n && hist_add(to, group * HIST_STEPS + i, n))
				return -ENOMEM;
		}
		at++;
	}
	return 0;
}

void hist_clear(struct hist *hist)
{
	size_t n = bits(hist->groups) * (size_t)HIST_STEPS;

	if (n)
		memset(hist->counts, 0, n * sizeof(*hist->counts));
}

void hist_done(struct hist *hist)
{
	free(hist->counts);
	memset(hist, 0, sizeof(*hist));
}

uint64_t hist_value(unsigned int bucket)
{
	unsigned int group = bucket / HIST_STEPS, shift;

	if (group < 2) /* buckets that are one value wide */
		return bucket;
	shift = group - 1;
	return ((uint64_t)(HIST_STEPS + bucket % HIST_STEPS) << shift) +
	       (1ull << shift >> 1);
}

void hist_quantiles(const struct hist *hist, const double *fractions, int n,
		    uint64_t max, uint64_t *ret_values)
{
	uint64_t total = 0, seen = 0;
	unsigned int groups = bits(hist->groups), at = 0, group, i;
	int next = 0;

	for (i = 0; i < groups * HIST_STEPS; i++)
		total += hist->counts[i];
	for (group = 0; group < HIST_GROUPS && total; group++) {
		if (!(hist->groups >> group & 1))
			continue;
		for (i = 0; i < HIST_STEPS; i++) {
			uint64_t value = hist_value(group * HIST_STEPS + i);

			seen += hist->counts[at++];
			while (next < n &&
			       (double)seen >= fractions[next] * (double)total)
				ret_values[next++] = value < max ? value : max;
			if (next == n)
				return;
		}
	}
	while (next < n)
		ret_values[next++] = total ? max : 0;
}
