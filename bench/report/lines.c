/* SPDX-License-Identifier: MIT */
/* JSON lines, read back; see lines.h. */
#include "lines.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const whats[] = {"ms",	  "ns",	   "bytes",
				    "per_second", "times", "instructions"};
#define WHATS (sizeof(whats) / sizeof(whats[0]))

void *must_resize(void *memory, size_t count, size_t size)
{
	void *resized = reallocarray(memory, count, size);

	if (!resized) {
		fprintf(stderr, "report: there is no memory.\n");
		exit(EXIT_FAILURE);
	}
	return resized;
}

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* One shape in two styles is two benches. */
static char *name_of(const json_t *object)
{
	const char *bench = json_string_value(json_object_get(object, "bench"));
	const char *style = json_string_value(json_object_get(object, "style"));
	char name[128];

	if (!bench || !style)
		return text_of(object, "bench");
	snprintf(name, sizeof(name), "%s %s", bench, style);
	return strdup(name);
}

static void take_result(const json_t *object, struct result *result)
{
	char floor[64];
	size_t i;

	result->bench = name_of(object);
	result->unit = text_of(object, "unit");
	for (i = 0; i < WHATS; i++) {
		if (!json_object_get(object, whats[i]))
			continue;
		snprintf(floor, sizeof(floor), "floor_%s", whats[i]);
		result->what = whats[i];
		result->value = number_of(object, whats[i]);
		result->floor = number_of(object, floor);
		break;
	}
	result->ratio = number_of(object, "ratio");
	result->target = number_of(object, "target");
	result->spread = number_of(object, "spread");
	result->at_least = json_is_true(json_object_get(object, "at_least"));
}

static bool take(const char *text, struct line *line)
{
	json_t *object = json_loads(text, 0, NULL);

	memset(line, 0, sizeof(*line));
	if (!object) {
		fprintf(stderr, "report: no JSON: %s", text);
		return false;
	}
	if (json_object_get(object, "bench")) {
		take_result(object, &line->result);
	} else if (json_object_get(object, "plot")) {
		line->point.plot = text_of(object, "plot");
		line->point.side = text_of(object, "side");
		line->point.x = number_of(object, "x");
		line->point.ns = number_of(object, "ns");
	}
	json_decref(object);
	return line->result.bench || (line->point.plot && line->point.side);
}

bool line_read(FILE *file, struct line *ret_line)
{
	char *text = NULL;
	size_t size = 0;
	bool found = false;

	while (!found && getline(&text, &size, file) > 0) {
		found = take(text, ret_line);
		if (!found)
			line_free(ret_line);
	}
	free(text);
	return found;
}

void line_free(struct line *line)
{
	free((char *)line->result.bench);
	free((char *)line->result.unit);
	free(line->point.plot);
	free(line->point.side);
}

void lines_read(FILE *file, struct lines *lines)
{
	struct line line;

	while (line_read(file, &line)) {
		if (lines->count == lines->room) {
			lines->room = lines->room ? lines->room * 2 : 64;
			lines->all = must_resize(lines->all, lines->room,
						 sizeof(*lines->all));
		}
		lines->all[lines->count++] = line;
	}
}

void lines_free(struct lines *lines)
{
	size_t i;

	for (i = 0; i < lines->count; i++)
		line_free(&lines->all[i]);
	free(lines->all);
}
