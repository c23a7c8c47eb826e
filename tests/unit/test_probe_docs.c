// SPDX-License-Identifier: MIT
/*
 * The tables of probes/README.md say what probes/hyphae.d says: the same
 * probes in the same order, with the same class and arguments, every argument
 * explained once with its type, a one-liner for each, and each script named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define PROBES_MAX 64
#define ARGS_MAX 6
#define WORD 48

struct argument {
	char type[WORD];
	char name[WORD];
};

struct probe {
	char name[WORD];
	char class[WORD];
	struct argument args[ARGS_MAX];
	size_t count;
};

static struct probe defined[PROBES_MAX];
static size_t n_defined;
static char *definition, *readme;

/* Copy [at, end) without blanks and backquotes around it. */
static void take(char *to, const char *at, const char *end)
{
	while (at < end && (isspace((unsigned char)*at) || *at == '`'))
		at++;
	while (at < end && (isspace((unsigned char)end[-1]) || end[-1] == '`'))
		end--;
	assert_true(end - at < WORD);
	memcpy(to, at, (size_t)(end - at));
	to[end - at] = '\0';
}

/* "uint64_t cell, string name)" */
static void parse_arguments(struct probe *p, const char *at)
{
	const char *close = strchr(at, ')');

	assert_non_null(close);
	while (at < close) {
		const char *end = memchr(at, ',', (size_t)(close - at));
		const char *space;

		end = end ? end : close;
		for (space = end; space[-1] != ' '; space--)
			;
		assert_true(p->count < ARGS_MAX);
		take(p->args[p->count].type, at, space);
		take(p->args[p->count].name, space, end);
		p->count++;
		at = end + 1;
	}
}

/* Each probe follows its comment, which begins with the class in brackets. */
static int parse_definition(void **state)
{
	const char *at;

	(void)state;
	definition = read_file("probes/hyphae.d");
	readme = read_file("probes/README.md");
	assert_non_null(definition);
	assert_non_null(readme);
	at = strstr(definition, "provider hyphae {");
	assert_non_null(at);
	for (; (at = strstr(at, "/* [")); n_defined++) {
		struct probe *p = &defined[n_defined];
		const char *open, *probe = strstr(at, "probe ");

		assert_true(n_defined < PROBES_MAX);
		assert_non_null(probe);
		at += strlen("/* [");
		take(p->class, at, strchr(at, ']'));
		open = strchr(probe, '(');
		take(p->name, probe + strlen("probe "), open);
		parse_arguments(p, open + 1);
		at = open;
	}
	return 0;
}

static int forget(void **state)
{
	(void)state;
	free(definition);
	free(readme);
	return 0;
}

/* The first row after a comment and the table's two head lines. */
static const char *table(const char *comment)
{
	const char *at = strstr(readme, comment);

	assert_non_null(at);
	for (int line = 0; line < 3; line++) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	return at;
}

/*
 * Cells of the row at `at`; returns their number, 0 after the table.  The
 * third is a sentence in both tables, and left out.
 */
static size_t row(const char **at, char cells[][WORD], size_t max)
{
	const char *end = strchr(*at, '\n'), *bar = *at;
	size_t n = 0;

	if (*bar != '|')
		return 0;
	while (n < max) {
		const char *next = strchr(bar + 1, '|');

		if (!next || next > end)
			break;
		if (n == 2)
			cells[n][0] = '\0';
		else
			take(cells[n], bar + 1, next);
		n++;
		bar = next;
	}
	*at = end + 1;
	return n;
}

static void counts(void **state)
{
	size_t n = 0;

	(void)state;
	for (const char *at = definition; (at = strstr(at, "\tprobe ")); at++)
		n++;
	assert_int_equal(n_defined, n);
	assert_true(n_defined >= 16);
}

static void probe_table(void **state)
{
	const char *at = table("<!-- probes:");
	char cells[16][WORD];
	size_t n, i;

	(void)state;
	for (i = 0; (n = row(&at, cells, 16)); i++) {
		const struct probe *p = &defined[i];

		assert_true(i < n_defined);
		assert_int_equal(n, 3 + ARGS_MAX);
		assert_string_equal(cells[0], p->name);
		assert_string_equal(cells[1], p->class);
		for (size_t a = 0; a < ARGS_MAX; a++)
			assert_string_equal(cells[3 + a],
					    a < p->count ? p->args[a].name
							 : "");
	}
	assert_int_equal(i, n_defined);
}

/* An argument's name has one type throughout. */
static const struct argument *argument(const char *name)
{
	const struct argument *found = NULL;

	for (size_t i = 0; i < n_defined; i++) {
		for (size_t a = 0; a < defined[i].count; a++) {
			const struct argument *this = &defined[i].args[a];

			if (strcmp(this->name, name))
				continue;
			if (found)
				assert_string_equal(this->type, found->type);
			found = this;
		}
	}
	return found;
}

static void argument_table(void **state)
{
	const char *at = table("<!-- arguments:");
	char cells[3][WORD], seen[PROBES_MAX][WORD];
	size_t rows;

	(void)state;
	for (rows = 0; row(&at, cells, 3); rows++) {
		const struct argument *a = argument(cells[0]);

		if (!a)
			fail_msg("no probe has an argument %s", cells[0]);
		assert_string_equal(cells[1], a->type);
		for (size_t i = 0; i < rows; i++)
			assert_string_not_equal(seen[i], cells[0]);
		assert_true(rows < PROBES_MAX);
		strcpy(seen[rows], cells[0]);
	}
	for (size_t i = 0; i < n_defined; i++) {
		for (size_t a = 0; a < defined[i].count; a++) {
			const char *name = defined[i].args[a].name;
			size_t r;

			for (r = 0; r < rows && strcmp(seen[r], name); r++)
				;
			if (r == rows)
				fail_msg("README.md does not explain %s", name);
		}
	}
}

static void one_liners(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_defined; i++) {
		char line[128];

		snprintf(line, sizeof(line),
			 "\nbpftrace -p PID -e 'usdt:*:hyphae:%.47s { ",
			 defined[i].name);
		if (count_text(readme, line) != 1)
			fail_msg("no one-liner for %s", defined[i].name);
	}
}

/* Each script has a row, and its row names the probes that it uses. */
static void scripts(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("probes/*.bt", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 7);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		char *text = read_file(found.gl_pathv[i]);
		char start[128], line[512];
		const char *at;

		snprintf(start, sizeof(start), "\n| [%s](%s) | ", name, name);
		at = strstr(readme, start);
		if (!at)
			fail_msg("README.md does not name %s", name);
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 1, "\n"),
			 at + 1);
		for (size_t p = 0; p < n_defined; p++) {
			char use[96], quoted[64];

			snprintf(use, sizeof(use), "\nusdt:*:hyphae:%.47s\n",
				 defined[p].name);
			snprintf(quoted, sizeof(quoted), "`%.47s`",
				 defined[p].name);
			if (!strstr(text, use) != !strstr(line, quoted))
				fail_msg("%s and README.md differ in %s", name,
					 defined[p].name);
		}
		free(text);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),	  cmocka_unit_test(probe_table),
		cmocka_unit_test(argument_table), cmocka_unit_test(one_liners),
		cmocka_unit_test(scripts),
	};

	return cmocka_run_group_tests_name("probe_docs", tests,
					   parse_definition, forget);
}
