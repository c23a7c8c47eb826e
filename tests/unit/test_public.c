/* SPDX-License-Identifier: MIT */
/*
 * Every public function is called by a test: each that a header declares with
 * HYPHAE_API or defines inline, by itself or through a macro or an inline
 * function of the headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

enum { FUNCTIONS = 1024, CALLS = 4096, NAME = 64 };

/* A function that must be called. */
static struct {
	char name[NAME];
	bool called;
} functions[FUNCTIONS];
static size_t nfunctions;

/* `by`, a macro or an inline function, calls `name`. */
static struct {
	char by[NAME], name[NAME];
} calls[CALLS];
static size_t ncalls;

static char *slurp(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text;
	long size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	text = malloc((size_t)size + 1);
	assert_non_null(text);
	text[fread(text, 1, (size_t)size, file)] = '\0';
	fclose(file);
	return text;
}

/* Past a string or a character, whose first quote `at` is. */
static char *past_quotes(char *at)
{
	char quote = *at++;

	while (*at && *at != quote && *at != '\n')
		at += *at == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

/* Comments, strings and characters become blanks. */
static void blank_comments(char *text)
{
	for (char *at = text; *at;) {
		char *end = at + 1;

		if (*at == '"' || *at == '\'') {
			end = past_quotes(at);
		} else if (at[0] == '/' && at[1] == '*') {
			end = strstr(at + 2, "*/");
			assert_non_null(end);
			end += 2;
		}
		if (end > at + 1)
			for (; at < end; at++)
				*at = *at == '\n' ? '\n' : ' ';
		at = end;
	}
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A call, or a function that is handed to one. */
static bool is_use(char next)
{
	return next == '(' || next == ',' || next == ')';
}

/*
 * The next "hyphae_...(" from `at` on, before `end`: its name, and where what
 * follows begins.  NULL: there is none.
 */
static const char *next_call(const char *at, const char *end, char *name)
{
	while (at < end && (at = strstr(at, "hyphae_")) && at < end) {
		const char *from = at;
		size_t length;

		while (in_name(*at))
			at++;
		length = (size_t)(at - from);
		while (isspace((unsigned char)*at))
			at++;
		if (!is_use(*at) || length >= NAME)
			continue;
		memcpy(name, from, length);
		name[length] = '\0';
		return at;
	}
	return NULL;
}

static void add_function(const char *name)
{
	for (size_t i = 0; i < nfunctions; i++)
		if (strcmp(functions[i].name, name) == 0)
			return;
	assert_true(nfunctions < FUNCTIONS);
	strcpy(functions[nfunctions++].name, name);
}

static void add_calls(const char *by, const char *at, const char *end)
{
	char name[NAME];

	while ((at = next_call(at, end, name))) {
		assert_true(ncalls < CALLS);
		strcpy(calls[ncalls].by, by);
		strcpy(calls[ncalls++].name, name);
	}
}

/* From `at` to the end of the macro: a line that does not go on. */
static const char *macro_end(const char *at)
{
	while (*at && (*at != '\n' || at[-1] == '\\'))
		at++;
	return at;
}

/* The headers are formatted: a function ends with a brace at the margin. */
static const char *body_end(const char *at)
{
	const char *end = strstr(at, "\n}");

	return end ? end : at + strlen(at);
}

static void read_header(const char *path)
{
	char *text = slurp(path), name[NAME];
	const char *end = text + strlen(text), *at, *from;

	blank_comments(text);
	for (at = text; (at = strstr(at, "\nHYPHAE_API "));) {
		from = at;
		at = next_call(at, end, name);
		assert_non_null(at);
		/* Nothing but types lies between the two. */
		assert_null(memchr(from, ';', (size_t)(at - from)));
		add_function(name);
	}
	for (at = text; (at = strstr(at, "\nstatic inline "));) {
		at = next_call(at, end, name);
		assert_non_null(at);
		add_function(name);
		add_calls(name, at, body_end(at));
	}
	for (at = text; (at = strstr(at, "#define hyphae_"));) {
		from = at;
		at = macro_end(at);
		from = next_call(from, at, name);
		if (from)
			add_calls(name, from, at);
	}
	free(text);
}

/* One call of a test; what the headers make of it is called, too. */
static void called(const char *name)
{
	for (size_t i = 0; i < nfunctions; i++)
		if (strcmp(functions[i].name, name) == 0) {
			if (functions[i].called)
				return;
			functions[i].called = true;
		}
	for (size_t i = 0; i < ncalls; i++)
		if (strcmp(calls[i].by, name) == 0 &&
		    strcmp(calls[i].name, name) != 0)
			called(calls[i].name);
}

static void read_test(const char *path)
{
	char *text = slurp(path), name[NAME];
	const char *at = text, *end = text + strlen(text);

	blank_comments(text);
	while ((at = next_call(at, end, name)))
		called(name);
	free(text);
}

static void each_file(const char *pattern, void (*fn)(const char *path))
{
	glob_t files;

	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		fn(files.gl_pathv[i]);
	globfree(&files);
}

static void every_function_is_called(void **state)
{
	char missing[4096] = "";

	(void)state;
	each_file("include/hyphae/*.h", read_header);
	each_file("tests/*/test_*.c", read_test);
	each_file("tests/semantic/*.[ch]", read_test);
	each_file("tests/unit/*.h", read_test);
	each_file("tests/loops/*.c", read_test);
	each_file("tests/e2e/prog_*.c", read_test);
	called("hyphae_fanout_run"); /* by what HYPHAE_TYPE makes */
	assert_true(nfunctions > 200);
	for (size_t i = 0; i < nfunctions; i++)
		if (!functions[i].called &&
		    strlen(missing) + NAME + 2 < sizeof(missing)) {
			strcat(missing, " ");
			strcat(missing, functions[i].name);
		}
	if (*missing)
		fail_msg("no test calls%s", missing);
}

/* ---- what has no better place ------------------------------------------------ */

struct seen {
	double number;
	bool truth;
	void *pointer;
};

static int see(const struct hyphae_signal *signal, void *ctx)
{
	struct seen *seen = ctx;

	if (signal->type == &hyphae_double)
		seen->number = hyphae_double_of(signal);
	else if (signal->type == &hyphae_bool)
		seen->truth = hyphae_bool_of(signal);
	else
		seen->pointer = hyphae_pointer_of(signal);
	return 0;
}

static void values_of_signals(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct seen seen = {0};

	(void)state;
	assert_non_null(
		hyphae_subscribe(hyphae_double_new(graph, 2.5), see, &seen));
	assert_non_null(
		hyphae_subscribe(hyphae_bool_new(graph, true), see, &seen));
	assert_non_null(
		hyphae_subscribe(hyphae_pointer_new(graph, &seen), see, &seen));
	assert_true(seen.number == 2.5);
	assert_true(seen.truth);
	assert_ptr_equal(seen.pointer, &seen);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void version_of_the_library(void **state)
{
	(void)state;
	assert_string_equal(hyphae_version(), HYPHAE_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_signals),
		cmocka_unit_test(version_of_the_library),
		cmocka_unit_test(every_function_is_called),
	};

	return cmocka_run_group_tests_name("public functions", tests, NULL,
					   NULL);
}
