// SPDX-License-Identifier: MIT
/*
 * What README.md promises to somebody who tries it: the example compiles as
 * it is printed and says what it says there; installed, the library is found
 * by pkg-config, also by C++.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "run.h"

/*
 * The first block between ``` lines, at or after *at, whose opening line
 * begins with `fence`; *at is moved behind it.  NULL: there is none.
 */
static char *block(const char **at, const char *fence)
{
	const char *start = *at, *end;

	do {
		start = strstr(start, fence);
		if (!start)
			return NULL;
		start += strlen(fence);
		/* At the start of a line, and not a longer word. */
	} while ((start - strlen(fence) > *at &&
		  start[-(long)strlen(fence) - 1] != '\n') ||
		 (*start >= 'a' && *start <= 'z'));
	start = strchr(start, '\n');
	if (!start)
		return NULL;
	start++;
	end = strstr(start, "\n```");
	if (!end)
		return NULL;
	*at = end + 4;
	return strndup(start, (size_t)(end + 1 - start));
}

/* Compile README's program; `flags` say where hyphae is. */
static void compile_and_run(const char *compiler, const char *flags,
			    const char *libs)
{
	char *readme = read_file("README.md"), *program, *expected, *said;
	const char *at = readme;
	int status;

	assert_non_null(readme);
	program = block(&at, "```c");
	assert_non_null(program);
	expected = block(&at, "```");
	assert_non_null(expected);
	assert_int_equal(write_file(in_temp("example.c"), program), 0);
	said = run_shell(&status, "%s %s -o %s/example %s/example.c %s 2>&1",
			 compiler, flags, temp_dir(), temp_dir(), libs);
	printf("%s", said);
	assert_int_equal(status, 0);
	free(said);
	said = run_shell(&status, "%s/example", temp_dir());
	assert_int_equal(status, 0);
	assert_string_equal(said, expected);
	free(said);
	free(expected);
	free(program);
	free(readme);
}

static void test_example(void **state)
{
	(void)state;
	compile_and_run("gcc -Wall -Wextra -Werror", "-Iinclude",
			in_build("lib/libhyphae.a"));
}

/* ---- installed ----------------------------------------------------------- */

static void install(void)
{
	char *said;
	int status;

	if (access(in_temp("usr/lib/pkgconfig/hyphae.pc"), R_OK) == 0)
		return;
	/* Not of the make that may run this test: its jobs are its own. */
	said = run_shell(&status,
			 "env -u MAKEFLAGS -u MFLAGS make -s install "
			 "PREFIX=%s/usr 2>&1",
			 temp_dir());
	if (status != 0)
		printf("%s", said);
	free(said);
	assert_int_equal(status, 0);
	setenv("PKG_CONFIG_PATH", in_temp("usr/lib/pkgconfig"), 1);
	setenv("LD_LIBRARY_PATH", in_temp("usr/lib"), 1);
}

static void test_installed(void **state)
{
	(void)state;
	install();
	compile_and_run("gcc -std=c11 -pedantic -Wall -Wextra -Werror",
			"$(pkg-config --cflags hyphae)",
			"$(pkg-config --libs hyphae)");
	compile_and_run("clang -Wall -Wextra -Werror",
			"$(pkg-config --cflags hyphae)",
			"$(pkg-config --libs hyphae)");
	/* Static, by what the package says it needs. */
	compile_and_run("gcc -static", "$(pkg-config --cflags hyphae)",
			"$(pkg-config --static --libs hyphae)");
}

/* The library's name for the loader, and what it lets others see. */
static void test_exports(void **state)
{
	char *text;
	int status;

	(void)state;
	install();
	text = run_shell(&status,
			 "objdump -p %s/usr/lib/libhyphae.so | "
			 "awk '$1 == \"SONAME\" { print $2 }'",
			 temp_dir());
	assert_string_equal(text, "libhyphae.so.0\n");
	free(text);
	text = run_shell(&status,
			 "nm -D --defined-only "
			 "%s/usr/lib/libhyphae.so | "
			 "awk '$3 !~ /^hyphae_/ { print $3 }'",
			 temp_dir());
	assert_int_equal(status, 0);
	assert_string_equal(text, "");
	free(text);
}

/* Each header by itself, as C11 and as C++17. */
static void test_headers(void **state)
{
	char *said;
	int status;

	(void)state;
	install();
	said = run_shell(&status,
			 "cd %s/usr/include && for h in hyphae/*.h; do "
			 "printf '#include <%%s>\\nextern int one;\\n' \"$h\" "
			 ">%s/header.c && "
			 "gcc -std=c11 -pedantic -Wall -Wextra -Werror -I. "
			 "-fsyntax-only %s/header.c 2>&1 && "
			 "g++ -std=c++17 -pedantic -Wall -Wextra -Werror "
			 "-I. -x c++ "
			 "-fsyntax-only %s/header.c 2>&1 || exit 1; done",
			 temp_dir(), temp_dir(), temp_dir(), temp_dir());
	printf("%s", said);
	free(said);
	assert_int_equal(status, 0);
}

/*
 * What all headers together add to a program is little: counted in lines
 * after the preprocessor, since time depends on the machine.
 */
static void test_headers_are_small(void **state)
{
	static const char count[] =
		"printf '%s' | gcc -E -P -Iinclude -xc - | wc -l";
	char *text;
	int status, ours, others;

	(void)state;
	text = run_shell(&status, count, "#include <hyphae/hyphae.h>\\n");
	ours = atoi(text);
	free(text);
	text = run_shell(&status, count,
			 "#include <stdbool.h>\\n#include <stddef.h>\\n"
			 "#include <stdint.h>\\n");
	others = atoi(text);
	free(text);
	assert_in_range(ours - others, 1, 1500);
}

/* ---- C++ ------------------------------------------------------------------ */

static const char cpp_program[] =
	"#include <cstdio>\n"
	"#include <hyphae/hyphae.h>\n"
	"struct point { int x, y; };\n"
	"HYPHAE_TYPE(point, struct point);\n"
	"struct size { double w, h; };\n"
	"static bool equal(const void *a, const void *b) {\n"
	"	return static_cast<const size *>(a)->w ==\n"
	"	       static_cast<const size *>(b)->w; }\n"
	"HYPHAE_TYPE_WITH(size, struct size, .equal = equal);\n"
	"static int see(const struct hyphae_signal *signal, void *) {\n"
	"	std::printf(\"%d\\n\", point_of(signal)->x);\n"
	"	return 0; }\n"
	"int main() {\n"
	"	hyphae_graph *graph = hyphae_graph_new(0);\n"
	"	hyphae_cell *p = point_new_at(graph, point{1, 2}, "
	"HYPHAE_HERE);\n"
	"	hyphae_cell *s = size_new_at(graph, size{1, 2}, HYPHAE_HERE);\n"
	"	point held;\n"
	"	hyphae_subscribe(p, see, nullptr);\n"
	"	if (point_set(p, point{3, 4}) || point_get(p, &held) ||\n"
	"	    size_set(s, size{1, 5}) != HYPHAE_UNCHANGED)\n"
	"		return 1;\n"
	"	std::printf(\"%d\\n\", held.y);\n"
	"	return hyphae_graph_free(graph); }\n";

/* Types of one's own, in each C++ from 11 on, with both compilers. */
static void test_cpp(void **state)
{
	static const char *const compilers[] = {"g++", "clang++"};
	static const char *const standards[] = {"c++11", "c++17", "c++20"};
	int status;

	(void)state;
	assert_int_equal(write_file(in_temp("types.cc"), cpp_program), 0);
	for (int i = 0; i < 6; i++) {
		char *said = run_shell(
			&status,
			"%s -std=%s -Wall -Wextra -pedantic -Werror "
			"-Iinclude -o %s/types %s/types.cc %s 2>&1 && %s/types",
			compilers[i % 2], standards[i / 2], temp_dir(),
			temp_dir(), in_build("lib/libhyphae.a"), temp_dir());

		if (status != 0)
			printf("%s -std=%s: %s", compilers[i % 2],
			       standards[i / 2], said);
		assert_int_equal(status, 0);
		assert_string_equal(said, "1\n3\n4\n");
		free(said);
	}
}

/* The version is told in three ways that agree. */
static void test_version(void **state)
{
	char text[64], *said;
	int status;

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", HYPHAE_VERSION_MAJOR,
		 HYPHAE_VERSION_MINOR, HYPHAE_VERSION_PATCH);
	assert_string_equal(text, HYPHAE_VERSION);
	install();
	said = run_shell(&status, "pkg-config --modversion hyphae");
	assert_string_equal(said, HYPHAE_VERSION "\n");
	free(said);
}

/* Nothing is left of it; the last test, since others need it. */
static void test_uninstall(void **state)
{
	char *said;
	int status;

	(void)state;
	install();
	said = run_shell(&status,
			 "env -u MAKEFLAGS -u MFLAGS make -s uninstall "
			 "PREFIX=%1$s/usr 2>&1 && "
			 "find %1$s/usr -not -type d",
			 temp_dir());
	assert_string_equal(said, "");
	assert_int_equal(status, 0);
	free(said);
}

#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_example),	      TEST(test_installed),
		TEST(test_exports),	      TEST(test_headers),
		TEST(test_headers_are_small), TEST(test_cpp),
		TEST(test_version),	      TEST(test_uninstall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
