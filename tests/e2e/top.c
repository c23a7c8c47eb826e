// SPDX-License-Identifier: MIT
/* What the tests of hyphae-top share; see top.h. */
#include "top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fields[] = {"fires", "refires", "writes", "unchanged"};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

const char *as_text(long long number)
{
	static char buffers[16][24];
	static unsigned int next;
	char *buffer = buffers[next++ % 16];

	snprintf(buffer, sizeof(buffers[0]), "%lld", number);
	return buffer;
}

long storm_pid(struct run *storm)
{
	const char *at;

	if (!storm || !run_wait_text(storm, " ready\n", RUN_LIMIT))
		return 0;
	at = strstr(run_err(storm), "storm: ");
	return at ? strtol(at + strlen("storm: "), NULL, 10) : 0;
}

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void add(json_t *sum, const json_t *object, const char *key)
{
	json_object_set_new(
		sum, key, json_integer(number(sum, key) + number(object, key)));
}

static void add_cells(struct top_sums *sums, const json_t *line)
{
	size_t at, i;
	json_t *cell;

	json_array_foreach(json_object_get(line, "cells"), at, cell)
	{
		const char *id = as_text(number(cell, "id"));
		json_t *sum = json_object_get(sums->cells, id);

		if (!sum) {
			sum = json_object();
			json_object_set_new(sums->cells, id, sum);
		}
		for (i = 0; i < FIELDS; i++)
			add(sum, cell, fields[i]);
		json_object_set(sum, "name", json_object_get(cell, "name"));
	}
}

static void add_line(struct top_sums *sums, json_t *line)
{
	sums->intervals++;
	sums->fires += number(line, "fires");
	sums->refires += number(line, "refires");
	sums->writes += number(line, "writes");
	sums->passes += number(line, "passes");
	sums->events += number(line, "events");
	sums->lost += number(line, "lost");
	sums->lost_fires += number(line, "lost_fires");
	sums->lost_passes += number(line, "lost_passes");
	sums->lost_blocks += number(line, "lost_blocks");
	add_cells(sums, line);
	json_decref(sums->last);
	sums->last = line;
}

int top_sums_read(struct top_sums *sums, const char *path)
{
	FILE *file = fopen(path, "r");
	json_error_t error;
	json_t *line;

	memset(sums, 0, sizeof(*sums));
	if (!file)
		return -1;
	sums->cells = json_object();
	while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error)))
		add_line(sums, line);
	if (strcmp(error.text, "'[' or '{' expected near end of file"))
		printf("%s: %s\n", path, error.text);
	fclose(file);
	return sums->last ? 0 : -1;
}

void top_sums_done(struct top_sums *sums)
{
	json_decref(sums->cells);
	json_decref(sums->last);
	memset(sums, 0, sizeof(*sums));
}

int64_t top_sum(const struct top_sums *sums, int64_t id, const char *field)
{
	return number(json_object_get(sums->cells, as_text(id)), field);
}

int top_differences(const struct top_sums *sums, const char *truth)
{
	json_t *root = json_load_file(truth, 0, NULL), *cell;
	int differ = 0;
	size_t at, i;

	if (!root)
		return -1;
	json_array_foreach(json_object_get(root, "cells"), at, cell)
	{
		int64_t id = number(cell, "id");

		for (i = 0; i < FIELDS; i++) {
			int64_t expected = number(cell, fields[i]);
			int64_t got = top_sum(sums, id, fields[i]);

			if (got == expected || differ++)
				continue;
			printf("cell %" PRId64 " %s: %s %" PRId64
			       ", but it was %" PRId64 "\n",
			       id,
			       json_string_value(json_object_get(cell, "name")),
			       fields[i], got, expected);
		}
	}
	json_decref(root);
	return differ;
}

int64_t truth_of(const char *path, const char *field)
{
	json_t *root = json_load_file(path, 0, NULL);
	json_t *value = json_object_get(root, field);
	int64_t result =
		json_is_integer(value) ? json_integer_value(value) : -1;

	json_decref(root);
	return result;
}
