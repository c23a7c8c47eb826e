/* SPDX-License-Identifier: MIT */
/* All cases; see cases.h. */
#include "cases.h"

#include <string.h>

static const struct speed_group *const groups[] = {
	&speed_machine, &speed_basic, &speed_layers,
	&speed_dynamic, &speed_scale,
};

const struct speed_case *speed_case_at(size_t i)
{
	size_t group;

	for (group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
		if (i < groups[group]->count)
			return &groups[group]->cases[i];
		i -= groups[group]->count;
	}
	return NULL;
}

const struct speed_case *speed_case_named(const char *name)
{
	const struct speed_case *speed_case;
	size_t i;

	for (i = 0; (speed_case = speed_case_at(i)); i++)
		if (!strcmp(speed_case->name, name))
			return speed_case;
	return NULL;
}

const struct speed_growth speed_growths[] = {
	{"chain", "by hand", 10, speed_chain_of},
	{"fan", "by hand", 10, speed_fan_of},
	{"near", "1,000 cells", 100, speed_near_of},
	{"far", "by hand", 100, speed_far_of},
};
const size_t speed_growths_count =
	sizeof(speed_growths) / sizeof(speed_growths[0]);
