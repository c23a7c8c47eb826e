/* SPDX-License-Identifier: MIT */
/* The options of hyphae-top: what they mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/options.h"

static struct options options;
static struct fault fault;

#define READ(...)                                                              \
	read_words((const char *const[]){"hyphae-top", __VA_ARGS__, NULL})

static int read_words(const char *const *words)
{
	char *argv[32];
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc];
	argv[argc] = NULL;
	memset(&fault, 0, sizeof(fault));
	return options_read(&options, argc, argv, &fault);
}

static void what_is_not_said_has_a_default(void **test)
{
	(void)test;
	assert_int_equal(READ("-p", "12"), 0);
	assert_int_equal(options.pid, 12);
	assert_true(options.interval == 1);
	assert_int_equal(options.count, 0);
	assert_int_equal(options.output, OUTPUT_AUTO);
	assert_int_equal(options.top, 20);
	assert_false(options.probes);
	assert_false(options.fail_on_loss);
	assert_string_equal(options.sort->title, "SELF");
	assert_int_equal(options.ring_bytes, 1 << 25);
	assert_null(options.process);
}

static void every_option_is_taken(void **test)
{
	(void)test;
	assert_int_equal(READ("--json", "--interval=0.25", "-n", "7", "--mode",
			      "probes", "--top", "3", "--ring", "65536",
			      "--cells", "99", "-o", "file", "--fail-on-loss",
			      "--sort", "p99", "server"),
			 0);
	assert_int_equal(options.output, OUTPUT_JSON);
	assert_true(options.interval == .25);
	assert_int_equal(options.count, 7);
	assert_true(options.probes);
	assert_int_equal(options.top, 3);
	assert_int_equal(options.ring_bytes, 65536);
	assert_int_equal(options.cells_limit, 99);
	assert_string_equal(options.file, "file");
	assert_true(options.fail_on_loss);
	assert_string_equal(options.sort->title, "P99");
	assert_string_equal(options.process, "server");
}

static void json_shows_all_and_files_are_plain(void **test)
{
	(void)test;
	assert_int_equal(READ("--json", "x"), 0);
	assert_int_equal(options.top, 0);
	assert_int_equal(READ("-o", "file", "x"), 0);
	assert_int_equal(options.output, OUTPUT_PLAIN);
	assert_int_equal(READ("--json", "-o", "file", "x"), 0);
	assert_int_equal(options.output, OUTPUT_JSON);
	assert_int_equal(READ("--help"), 0);
	assert_true(options.help);
	assert_int_equal(READ("-w", "x"), 0);
	assert_true(options.wide);
	assert_int_equal(READ("-V"), 0);
	assert_true(options.version);
}

static void what_cannot_be_is_refused_by_name(void **test)
{
	static const char *const wrong[][4] = {
		{"-p", "0"},	  {"-p", "-3"},	     {"-p", "1.5"},
		{"-p", "12x"},	  {"-p", ""},	     {"-p", "nan"},
		{"-d", "0"},	  {"-d", "-1"},	     {"-d", "1e99"},
		{"-n", "0"},	  {"-n", "many"},    {"--mode", "fast"},
		{"--top", "-1"},  {"--ring", "10"},  {"--sort", "nonsense"},
		{"--cells", "0"}, {"--bogus"},	     {"-x"},
		{"-p"},		  {"a", "b"},	     {"-p", "1", "a"},
		{"--json=yes"},	  {"-j", "--plain"}, {"--plain", "-j"},
	};
	size_t i;

	(void)test;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(READ(wrong[i][0], wrong[i][1], wrong[i][2]),
				 -1);
		assert_int_equal(fault.status, EXIT_USAGE);
		assert_int_equal(fault.text[strlen(fault.text) - 1], '.');
	}
}

static void help_names_every_option(void **test)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)test;
	options_help(file);
	fclose(file);
	assert_non_null(strstr(text, "-p, --pid PID "));
	assert_non_null(strstr(text, "    --fail-on-loss "));
	assert_non_null(strstr(text, "-h, --help "));
	assert_non_null(strstr(text, "Exit status: 0 "));
	free(text);
}

static void help_explains_every_column(void **test)
{
	char *text = NULL, line[128];
	const char *title;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)test;
	options_help(file);
	fclose(file);
	for (size_t i = 0; table_columns[i]; i++) {
		snprintf(line, sizeof(line), "\n  %s ",
			 table_columns[i]->title);
		title = strstr(text, line);
		assert_non_null(title);
		snprintf(line, sizeof(line), "%.*s",
			 (int)strcspn(title + 1, "\n"), title + 1);
		assert_non_null(strstr(line, table_columns[i]->json));
		assert_non_null(strstr(line, table_columns[i]->help));
		assert_true(strlen(line) <= 80);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(every_option_is_taken),
		cmocka_unit_test(json_shows_all_and_files_are_plain),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(help_names_every_option),
		cmocka_unit_test(help_explains_every_column),
	};

	return cmocka_run_group_tests_name("top: options", tests, NULL, NULL);
}
