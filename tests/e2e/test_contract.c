// SPDX-License-Identifier: MIT
/*
 * What tracers rely on in the built library, read from the outside: sites,
 * operands, Base and semaphores of the probes, whatever compiler, optimisation
 * and linker made it.  None of these tests needs a tracer or root.
 *
 * tests/tools/matrix.sh builds; tests/lib/binary.c reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary.h"
#include "probes/abi.h"
#include "run.h"

#define PROBES_MAX 64

static struct probe probes[PROBES_MAX];
static size_t n_probes;

/*
 * A file under judgement.  The first thing wrong with it is kept, so that one
 * test can go through many files and name each that is bad.
 */
struct subject {
	const char *name;
	struct binary *binary;
	char wrong[512];
};

__attribute__((format(printf, 2, 3))) static void
complain(struct subject *subject, const char *format, ...)
{
	va_list args;

	if (subject->wrong[0])
		return;
	va_start(args, format);
	vsnprintf(subject->wrong, sizeof(subject->wrong), format, args);
	va_end(args);
}

/* ---- one site ------------------------------------------------------------- */

static const regex_t *operand_form(void)
{
	static regex_t form;
	static bool ready;

	/* Registers, constants and offset(%base): what every tracer parses. */
	if (!ready)
		ready = !regcomp(&form,
				 "^(-?8|4)@(%[a-z0-9]+|\\$-?[0-9]+|"
				 "-?[0-9]*\\(%[a-z0-9]+\\))$",
				 REG_EXTENDED | REG_NOSUB);
	return &form;
}

static void check_operands(struct subject *subject, const struct note *note,
			   const struct probe *probe)
{
	char args[sizeof(note->args)], *save = NULL;
	size_t count = 0;

	snprintf(args, sizeof(args), "%s", note->args);
	for (char *arg = strtok_r(args, " ", &save); arg;
	     arg = strtok_r(NULL, " ", &save)) {
		if (regexec(operand_form(), arg, 0, NULL, 0) ||
		    strstr(arg, "%rip") || strstr(arg, "%fs"))
			complain(subject, "%s has the operand %s", note->name,
				 arg);
		if (count < probe->args &&
		    (arg[0] == '-') != probe->is_signed[count])
			complain(subject,
				 "%s: argument %zu (%s) has the wrong sign",
				 note->name, count, arg);
		if (count < probe->args &&
		    (arg[0] == '4') != probe->is_narrow[count])
			complain(subject,
				 "%s: argument %zu (%s) has the wrong width",
				 note->name, count, arg);
		count++;
	}
	if (count != probe->args)
		complain(subject, "%s has %zu arguments instead of %zu: %s",
			 note->name, count, probe->args, note->args);
}

/* Two probes at one place, where a linker folded them, cannot be told apart. */
static void check_place(struct subject *subject, const struct note *note)
{
	for (size_t i = 0; i < subject->binary->count; i++) {
		const struct note *other = &subject->binary->notes[i];

		if (other != note && other->pc == note->pc)
			complain(subject, "%s and %s are at one place",
				 note->name, other->name);
	}
}

/*
 * The nop that a tracer replaces is one byte, and no five-byte nop follows,
 * on which newer tracers would rather attach: Linux 6.18 turns that into a
 * call, which overwrites the red zone and kills forked children.
 */
static void check_bytes(struct subject *subject, const struct note *note)
{
	static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00};
	const unsigned char *at = binary_at(subject->binary, note->pc, 5);

	if (!at)
		complain(subject, "%s: its site 0x%llx is not in the file",
			 note->name, (unsigned long long)note->pc);
	else if (at[0] != 0x90)
		complain(subject, "%s: its site begins with 0x%02x", note->name,
			 at[0]);
	else if (!memcmp(at + 1, nop5, sizeof(nop5)))
		complain(subject, "%s: a five-byte nop follows its site",
			 note->name);
}

/*
 * Base is where .stapsdt.base lies.  A wrong one makes tracers that adjust
 * for prelink write into code that is none of theirs.
 */
static void check_base(struct subject *subject, const struct note *note)
{
	if (!subject->binary->has_base)
		complain(subject, "there is no .stapsdt.base");
	else if (!note->base || note->base != subject->binary->base)
		complain(subject,
			 "%s: Base is 0x%llx, .stapsdt.base is at 0x%llx",
			 note->name, (unsigned long long)note->base,
			 (unsigned long long)subject->binary->base);
}

/*
 * The semaphore of `records` begins the gate word, that of all detail probes
 * follows it.  Each other probe has a word of its own, since <sys/sdt.h> wants
 * one, and it must not open the gate.
 */
static void check_semaphore(struct subject *subject, const struct note *note,
			    const struct probe *probe)
{
	const struct note *records = binary_note(subject->binary, "records");
	uint64_t gate = records ? records->semaphore : 0;
	uint64_t want = probe->gate == 'd' ? gate + 2 : gate;

	if (probe->gate != 'd' && probe->gate != 'r') {
		if (note->semaphore >= gate && note->semaphore < gate + 16)
			complain(subject, "%s opens the gate", note->name);
		for (size_t i = 0; i < subject->binary->count; i++) {
			const struct note *other = &subject->binary->notes[i];

			if (other != note &&
			    other->semaphore == note->semaphore)
				complain(subject, "%s and %s share a semaphore",
					 note->name, other->name);
		}
	} else if (note->semaphore != want) {
		complain(subject, "%s: its semaphore is at 0x%llx, not 0x%llx",
			 note->name, (unsigned long long)note->semaphore,
			 (unsigned long long)want);
	}
	if (probe->gate == 'r' && (gate == 0 || gate % 8))
		complain(subject, "the gate is at 0x%llx",
			 (unsigned long long)gate);
	if (note->semaphore % 2 ||
	    !binary_writable(subject->binary, note->semaphore, 2))
		complain(subject, "%s: its semaphore cannot be written",
			 note->name);
}

/* ---- one file ---------------------------------------------------------------- */

static bool is_defined(const char *name)
{
	for (size_t i = 0; i < n_probes; i++) {
		if (!strcmp(probes[i].name, name))
			return true;
	}
	return false;
}

static void check_notes(struct subject *subject)
{
	for (size_t i = 0; i < n_probes; i++) {
		const struct note *note =
			binary_note(subject->binary, probes[i].name);
		size_t sites = binary_sites(subject->binary, probes[i].name);

		if (sites != 1) {
			complain(subject, "%s has %zu sites", probes[i].name,
				 sites);
			continue;
		}
		check_operands(subject, note, &probes[i]);
		check_place(subject, note);
		check_bytes(subject, note);
		check_base(subject, note);
		check_semaphore(subject, note, &probes[i]);
	}
	for (size_t i = 0; i < subject->binary->count; i++) {
		const struct note *note = &subject->binary->notes[i];

		if (!strcmp(note->provider, "hyphae") &&
		    !is_defined(note->name))
			complain(subject, "%s is not in probes/hyphae.d",
				 note->name);
	}
}

/* ---- frames -------------------------------------------------------------------- */

static const char *const frames[] = {"hy_notify", "hy_write_value",
				     "hy_fanout"};
#define FRAMES 3

/* Is the target of a jump "<name>" or "<name+0x12>" the function itself? */
static bool within(const char *line, const char *function)
{
	const char *at = strrchr(line, '<');
	size_t length = strlen(function);

	return !at || (!strncmp(at + 1, function, length) &&
		       (at[1 + length] == '>' || at[1 + length] == '+'));
}

/* The probe of a frame: hy_fanout has the site `fanout`. */
static uint64_t site_of(const struct subject *subject, const char *function)
{
	const struct note *note =
		binary_note(subject->binary, function + strlen("hy_"));

	return note ? note->pc : 0;
}

/*
 * A function that leaves by a jump is missing in the stack of what it jumped
 * to.  Cold parts of itself (name.cold) are its own.  And a tracer that walks
 * frame pointers at the site misses the caller, unless the frame is there.
 */
static void check_frame(struct subject *subject, const char *path,
			const char *function)
{
	char *text = run_shell(NULL,
			       "objdump -d --no-show-raw-insn "
			       "--disassemble=%s '%s'",
			       function, path);
	uint64_t site = site_of(subject, function);
	size_t calls = 0, lines = 0, frames_made = 0;
	char *save = NULL, cold[64];

	snprintf(cold, sizeof(cold), "<%s.cold", function);
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!strchr(line, '\t'))
			continue;
		lines++;
		if (strstr(line, "\tcall"))
			calls++;
		if (strstr(line, "\tmov    %rsp,%rbp") &&
		    strtoull(line, NULL, 16) < site)
			frames_made++;
		if (strstr(line, "\tj") && !within(line, function) &&
		    !strstr(line, cold))
			complain(subject, "%s leaves by a jump:%s", function,
				 line);
	}
	free(text);
	if (!lines)
		complain(subject, "%s was not disassembled", function);
	else if (!calls)
		complain(subject, "%s calls nobody", function);
#ifdef __x86_64__
	else if (!frames_made)
		complain(subject, "%s has no frame at its site", function);
#endif
}

/* Three functions, three addresses, each with calls and no jump out. */
static void check_frames(struct subject *subject, const char *path)
{
	uint64_t at[FRAMES];

	for (size_t i = 0; i < FRAMES; i++) {
		if (binary_symbols(subject->binary, frames[i]) != 1)
			complain(subject, "there are %zu functions %s",
				 binary_symbols(subject->binary, frames[i]),
				 frames[i]);
		at[i] = binary_symbol(subject->binary, frames[i]);
		for (size_t j = 0; j < i; j++) {
			if (at[i] == at[j])
				complain(subject, "%s and %s are one function",
					 frames[i], frames[j]);
		}
	}
	for (size_t i = 0; i < FRAMES && !subject->wrong[0]; i++)
		check_frame(subject, path, frames[i]);
}

/* The frames of two types, whose code is the same, stay two. */
static void check_type_frames(struct subject *subject)
{
	uint64_t point = binary_symbol(subject->binary, "hyphae_fanout_point");
	uint64_t extent =
		binary_symbol(subject->binary, "hyphae_fanout_extent");

	if (!point || !extent || point == extent)
		complain(subject,
			 "hyphae_fanout_point is at 0x%llx, "
			 "hyphae_fanout_extent at 0x%llx",
			 (unsigned long long)point, (unsigned long long)extent);
}

static bool judge(const char *folder, const char *name)
{
	struct subject subject = {.name = name};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	subject.binary = binary_open(path);
	if (!subject.binary)
		return false;
	check_notes(&subject);
	if (!strstr(name, "-stripped")) {
		check_frames(&subject, path);
		if (!strstr(name, "-so-") && !strstr(name, ".so"))
			check_type_frames(&subject);
	}
	if (subject.wrong[0])
		printf("%s: %s\n", name, subject.wrong);
	binary_close(subject.binary);
	return !subject.wrong[0];
}

/* ---- the matrix ------------------------------------------------------------------- */

/* `state` is "CC OPT". */
static void test_build(void **state)
{
	const char *how = *state;
	char *said = run_shell(NULL, "tests/tools/matrix.sh %s/matrix %s",
			       temp_dir(), how);
	char folder[256], *save = NULL;
	size_t good = 0, bad = 0, left_out = 0;

	snprintf(folder, sizeof(folder), "%s/matrix", temp_dir());
	for (char *line = strtok_r(said, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "built ", 6)) {
			if (judge(folder, line + 6))
				good++;
			else
				bad++;
		} else if (!strncmp(line, "left out ", 9)) {
			left_out++;
		} else {
			/* "failed NAME" and what the linker said. */
			printf("%s\n", line);
			bad++;
		}
	}
	free(said);
	printf("%s: %zu files are as they should be, %zu not; "
	       "%zu kinds this toolchain cannot link\n",
	       how, good, bad, left_out);
	assert_int_equal(bad, 0);
	assert_true(good >= 8);
}

/* ---- what make built ------------------------------------------------------------------ */

static void test_made(void **state)
{
	(void)state;
	assert_true(judge(".", in_build("lib/libhyphae.so")));
	assert_true(judge(".", in_build("tests/e2e/prog_all")));
}

/* HYPHAE_PROBES=0 leaves no trace of a probe. */
static void test_without_probes(void **state)
{
	static const char *const files[] = {"lib/libhyphae.so",
					    "tests/e2e/prog_all"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct binary *binary = binary_open(in_build_without(files[i]));

		assert_non_null(binary);
		assert_int_equal(binary->count, 0);
		assert_false(binary->has_base);
		binary_close(binary);
	}
}

/* And the program does the same. */
static void test_without_runs(void **state)
{
	struct run *runs[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		runs[i] = RUN_TALK(i ? in_build_without("tests/e2e/prog_all")
				     : in_build("tests/e2e/prog_all"),
				   "101");
		assert_int_equal(run_say(runs[i], "go"), 0);
		assert_int_equal(run_wait(runs[i], RUN_LIMIT), 0);
	}
	assert_string_equal(run_out(runs[0]), run_out(runs[1]));
}

/* ---- in a running program --------------------------------------------------------------- */

static uint64_t word_of(pid_t pid, uint64_t address)
{
	uint64_t word = UINT64_MAX;

	assert_true(process_read(pid, address, &word, sizeof(word)));
	return word;
}

/*
 * Who knows the semaphore of `records` finds the layout behind it, relocated
 * to where the program runs.
 */
static void test_layout(void **state)
{
	static const char *const programs[][2] = {
		{"tests/e2e/prog_all", "tests/e2e/prog_all"},
		{"tests/e2e/prog_all-shared", "lib/libhyphae.so"},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		/* Processes map the file that the link leads to. */
		char *file = realpath(in_build(programs[i][1]), NULL);
		struct run *run = RUN_TALK(in_build(programs[i][0]), "3");
		struct binary *binary = binary_open(file);
		struct hy_layout layout;
		uint64_t bias, word;

		assert_non_null(binary);
		assert_true(run_wait_text(run, "ready", RUN_LIMIT));
		bias = process_bias(run->pid, binary, file);
		assert_true(bias != UINT64_MAX);
		word = binary_note(binary, "records")->semaphore + bias;
		/* Nobody looks, no report is open. */
		assert_true(word_of(run->pid, word) == 0);
		assert_true(process_read(
			run->pid,
			word_of(run->pid, word + HY_LAYOUT_FROM_SEMAPHORE),
			&layout, sizeof(layout)));
		assert_true(layout.magic == HY_LAYOUT_MAGIC);
		assert_int_equal(layout.version, HY_ABI_VERSION);
		assert_int_equal(layout.bytes, sizeof(layout));
		binary_close(binary);
		run_close(run);
		free(file);
	}
}

static int setup(void **state)
{
	(void)state;
	n_probes = probes_defined("probes/hyphae.d", probes, PROBES_MAX);
	return n_probes == 0;
}

#define BUILD(how)                                                             \
	{                                                                      \
		"built with " how, test_build, NULL, run_teardown,             \
			(void *)(uintptr_t)how                                 \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILD("gcc O0"),
		BUILD("gcc O1"),
		BUILD("gcc O2"),
		BUILD("gcc O3"),
		BUILD("gcc lto"),
		BUILD("gcc sections"),
		BUILD("clang O0"),
		BUILD("clang O1"),
		BUILD("clang O2"),
		BUILD("clang O3"),
		BUILD("clang lto"),
		BUILD("clang sections"),
		cmocka_unit_test_teardown(test_made, run_teardown),
		cmocka_unit_test_teardown(test_without_probes, run_teardown),
		cmocka_unit_test_teardown(test_without_runs, run_teardown),
		cmocka_unit_test_teardown(test_layout, run_teardown),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
