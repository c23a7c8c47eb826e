/* SPDX-License-Identifier: MIT */
/* What all benches print; see result.h. */
#include "result.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(5));
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

static void put_number(json_t *object, const char *key, double number)
{
	if (number != 0)
		json_object_set_new(object, key, json_real(number));
}

static void tell_json(const struct result *result, const char *what)
{
	json_t *object = json_object();
	char floor[64];

	snprintf(floor, sizeof(floor), "floor_%s", what);
	json_object_set_new(object, "bench", json_string(result->bench));
	json_object_set_new(object, what, json_real(result->value));
	put_number(object, floor, result->floor);
	put_number(object, "ratio", result->ratio);
	put_number(object, "target", result->target);
	if (result->at_least)
		json_object_set_new(object, "at_least", json_true());
	put_number(object, "spread", result->spread);
	if (result->unit)
		json_object_set_new(object, "unit", json_string(result->unit));
	print_json(object);
}

/* A column that is empty where nothing applies. */
static void put_column(const char *format, int width, double number)
{
	if (number != 0)
		printf(format, width, number);
	else
		printf(" %*s", width, "");
}

/* 20000000 is "20.0M": the columns stay narrow. */
static void put_value(double number)
{
	if (number >= 1e8)
		printf(" %9.1fM", number / 1e6);
	else if (number >= 1e5)
		printf(" %9.1fk", number / 1e3);
	else
		put_column(" %*.2f", 10, number);
}

static void tell_person(const struct result *result, const char *what)
{
	printf("%-29s", result->bench);
	put_value(result->value);
	put_value(result->floor);
	put_column(" %*.2f", 7, result->ratio);
	if (!result->target)
		printf("%10s", "");
	else if (result->target >= 1e5)
		printf(" %s %5.1fM",
		       result->at_least ? ">=" : "<=", result->target / 1e6);
	else
		printf(" %s %6.4g",
		       result->at_least ? ">=" : "<=", result->target);
	if (result->spread)
		printf(" %6.1f %%", result->spread * 100);
	else
		printf("%9s", "");
	printf("  %-6s %s%s%s\n", result_met(result) ? "" : "missed", what,
	       result->unit ? " per " : "", result->unit ? result->unit : "");
	fflush(stdout);
}

void result_head(bool json)
{
	if (!json)
		printf("%-29s %10s %10s %7s %9s %8s\n", "bench", "measured",
		       "floor", "ratio", "target", "spread");
}

void result_tell(const struct result *result, bool json)
{
	const char *what = result->what ? result->what : "ns";

	if (json)
		tell_json(result, what);
	else
		tell_person(result, what);
}

void result_tell_measured(const char *bench, const char *unit, double target,
			  const struct measured *measured, bool json)
{
	struct result result = {
		.bench = bench,
		.unit = unit,
		.value = measured->ns,
		.floor = measured->floor_ns,
		.ratio = measured->ratio,
		.target = target,
		.spread = measured->spread,
	};

	result_tell(&result, json);
}

bool result_met(const struct result *result)
{
	double reached = result->ratio ? result->ratio : result->value;

	if (!result->target)
		return true;
	return result->at_least ? reached >= result->target
				: reached <= result->target;
}

void result_tell_point(const char *plot, const char *side, double x, double ns)
{
	print_json(json_pack("{s:s, s:s, s:f, s:f}", "plot", plot, "side", side,
			     "x", x, "ns", ns));
}
