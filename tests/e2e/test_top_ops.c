// SPDX-License-Identifier: MIT
/*
 * Every operator is told exactly: what hyphae-top, in both modes, and bpftrace
 * say of a program with one cell of each is what that counted itself, cell by
 * cell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "top.h"
#include "tracer.h"

#define PROGRAM in_build("tests/e2e/prog_ops")

/* What is compared, cell by cell. */
static const char *const by_report[] = {"fires", "refires", "writes",
					"unchanged", NULL};
static const char *const by_probes[] = {"fires",     "refires",	 "writes",
					"unchanged", "notifies", "computes",
					NULL};

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* ---- the program by itself --------------------------------------------------- */

static json_t *truth_alone(const char *passes)
{
	struct run *program =
		RUN_TALK(PROGRAM, in_temp("truth.json"), passes, "now");
	json_t *truth;

	assert_int_equal(run_say(program, "go"), 0);
	if (run_wait(program, RUN_LIMIT))
		print_message("%s", run_err(program));
	assert_int_equal(program->status, 0);
	truth = json_load_file(in_temp("truth.json"), 0, NULL);
	assert_non_null(truth);
	return truth;
}

static bool has_op(const json_t *truth, const char *name)
{
	json_t *op;
	size_t at;

	json_array_foreach(
		json_object_get(truth, "ops"), at,
		op) if (!strcmp(json_string_value(op), name)) return true;
	return false;
}

/* Those that the sources of the library name. */
static void it_has_one_of_each(void **state)
{
	json_t *truth = truth_alone("passes");
	int missing = 0, found = 0, status;
	char *names, *name, *rest;

	(void)state;
	names = run_shell(
		&status,
		"grep -ohE '(name = |[A-Z]+\\()\"[a-z_]+\"' src/op/*.c "
		"src/flow/bridge.c | grep -o '\"[a-z_]*\"' | tr -d '\"' | "
		"grep -v '^bridged$' | sort -u");
	assert_int_equal(status, 0);
	for (name = strtok_r(names, "\n", &rest); name;
	     name = strtok_r(NULL, "\n", &rest)) {
		found++;
		if (!has_op(truth, name)) {
			missing++;
			print_message("there is no %s in prog_ops.c\n", name);
		}
	}
	assert_true(found > 50);
	assert_int_equal(missing, 0);
	assert_true(has_op(truth, "source"));
	free(names);
	json_decref(truth);
}

static void it_does_the_same_each_time(void **state)
{
	json_t *one = truth_alone("passes"), *other = truth_alone("passes");

	(void)state;
	assert_true(json_equal(one, other));
	json_decref(one);
	json_decref(other);
}

/* ---- told, cell by cell ------------------------------------------------------- */

/* id -> an object of sums. */
struct told {
	json_t *cells;
	/* Of those that were gone when hyphae-top looked. */
	json_t *released;
};

static void forget(struct told *told)
{
	json_decref(told->cells);
	json_decref(told->released);
}

static void add_to(json_t *sum, const json_t *cell, const char *const *fields)
{
	for (; *fields; fields++)
		json_object_set_new(sum, *fields,
				    json_integer(number(sum, *fields) +
						 number(cell, *fields)));
}

static struct told index_by_id(const json_t *line)
{
	struct told told = {json_object(), json_object()};
	json_t *cell;
	size_t at;

	json_array_foreach(json_object_get(line, "cells"), at, cell)
	{
		if (number(cell, "id"))
			json_object_set(told.cells, as_text(number(cell, "id")),
					cell);
		else
			add_to(told.released, cell, by_probes);
	}
	return told;
}

static bool differ(const char *what, const json_t *got, const json_t *expected,
		   const char *const *fields)
{
	bool any = false;

	for (; *fields; fields++) {
		if (number(got, *fields) == number(expected, *fields))
			continue;
		any = true;
		print_message("%s: %s %" PRId64 ", but it was %" PRId64 "\n",
			      what, *fields, number(got, *fields),
			      number(expected, *fields));
	}
	return any;
}

/*
 * All that `one` tells, `other` does, and nothing else.  What has a name in
 * `other` lives to the end, so it is told by itself.
 */
static void assert_alike(const struct told *one, const struct told *other,
			 const char *const *fields)
{
	json_t *pool = json_object(), *missing = json_object(), *cell;
	const char *id;
	char what[64];
	int differences = 0;

	add_to(pool, other->released, fields);
	json_object_foreach(other->cells, id, cell)
	{
		json_t *same = json_object_get(one->cells, id);
		const char *name =
			json_string_value(json_object_get(cell, "name"));

		snprintf(what, sizeof(what), "cell %s %s", id,
			 name ? name : "");
		if (same)
			differences += differ(what, same, cell, fields);
		else if (name && *name && number(cell, "fires"))
			differences += differ(what, pool, cell, fields);
		else
			add_to(pool, cell, fields);
	}
	json_object_foreach(one->cells, id, cell)
	{
		if (!json_object_get(other->cells, id))
			add_to(missing, cell, fields);
	}
	add_to(missing, one->released, fields);
	differences += differ("those released", missing, pool, fields);
	assert_int_equal(differences, 0);
	json_decref(pool);
	json_decref(missing);
}

/* ---- hyphae-top ------------------------------------------------------------------ */

/* What it told, in one line for the whole time; and the truth of that run. */
static struct told watch_by_top(const char *passes, const char *mode,
				json_t **ret_truth)
{
	struct run *program =
		RUN(PROGRAM, in_temp("truth.json"), passes, "watched");
	struct run *top;
	struct told told;
	json_t *line;

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	top = RUN(in_build("bin/hyphae-top"), "-p", as_text(program->pid),
		  "--json", "-o", in_temp("top.json"), "-d", "600", "--mode",
		  mode);
	if (run_wait(program, RUN_LIMIT))
		print_message("%s", run_err(program));
	assert_int_equal(program->status, 0);
	assert_int_equal(run_wait(top, RUN_LIMIT), 0);
	line = json_load_file(in_temp("top.json"), 0, NULL);
	assert_non_null(line);
	assert_true(json_is_true(json_object_get(line, "exact")));
	assert_int_equal(number(line, "lost"), 0);
	assert_int_equal(number(line, "not_told_apart"), 0);
	*ret_truth = json_load_file(in_temp("truth.json"), 0, NULL);
	assert_non_null(*ret_truth);
	told = index_by_id(line);
	json_decref(line);
	return told;
}

/* Each step is a pass: what it counted in these is what is told from outside. */
static void passes_by_top(const char *mode)
{
	json_t *alone = truth_alone("passes"), *truth;
	struct told top = watch_by_top("passes", mode, &truth);
	struct told reports = index_by_id(truth);

	assert_true(json_equal(alone, truth));
	assert_alike(&top, &reports, by_report);
	forget(&top);
	forget(&reports);
	json_decref(truth);
	json_decref(alone);
}

static void passes_in_records_mode(void **state)
{
	(void)state;
	NEED_BPF();
	passes_by_top("records");
}

/*
 * Cells that the library makes for an operator, as of effects and selectors,
 * and all others that nobody has named: where that was tells what they are.
 */
static void without_a_name_there_is_the_place(void **state)
{
	int effects = 0, selectors = 0, nowhere = 0;
	struct told top;
	json_t *truth, *cell;
	const char *id;

	(void)state;
	NEED_BPF();
	top = watch_by_top("passes", "records", &truth);
	json_object_foreach(top.cells, id, cell)
	{
		json_t *name = json_object_get(cell, "name");
		json_t *site = json_object_get(cell, "site");
		const char *op = json_string_value(json_object_get(cell, "op"));

		/* "?": it had gone when hyphae-top looked. */
		if (json_string_length(name) || !strcmp(op, "?"))
			continue;
		if (!strstr(json_string_value(site), "prog_ops.c:")) {
			print_message("cell %s, %s: at %s\n", id, op,
				      json_string_value(site));
			nowhere++;
		}
		effects += !strcmp(op, "effect");
		selectors += !strcmp(op, "selector");
	}
	assert_int_equal(nowhere, 0);
	assert_int_equal(effects, 1);
	assert_int_equal(selectors, 4);
	forget(&top);
	json_decref(truth);
}

static void passes_in_probe_mode(void **state)
{
	(void)state;
	NEED_BPF();
	passes_by_top("probes");
}

/* ---- bpftrace --------------------------------------------------------------------- */

static const char script[] = "usdt:%1$s:hyphae:fanout { @fires[arg0]++;"
			     "  if (@last[arg0] == arg1) { @refires[arg0]++; }"
			     "  @last[arg0] = arg1; }"
			     "usdt:%1$s:hyphae:write_value { @writes[arg0]++;"
			     "  if (arg2 == 0) { @unchanged[arg0]++; } }"
			     "usdt:%1$s:hyphae:notify { @notifies[arg0]++; }"
			     "usdt:%1$s:hyphae:compute { @computes[arg0]++; }"
			     "END { clear(@last); }";

/* From lines as "@fires[12]: 193". */
static struct told parse(const char *out)
{
	struct told told = {json_object(), json_object()};
	char field[32];
	int64_t id, count;

	for (; out; out = strchr(out, '\n')) {
		json_t *cell;

		out += *out == '\n';
		if (sscanf(out, "@%31[a-z][%" SCNd64 "]: %" SCNd64, field, &id,
			   &count) != 3)
			continue;
		cell = json_object_get(told.cells, as_text(id));
		if (!cell) {
			cell = json_object();
			json_object_set_new(told.cells, as_text(id), cell);
		}
		json_object_set_new(cell, field, json_integer(count));
	}
	return told;
}

static struct told watch_by_bpftrace(const char *passes, json_t **ret_truth)
{
	struct run *program =
		RUN_TALK(PROGRAM, in_temp("truth.json"), passes, "now");
	struct run *tracer;
	char *whole = NULL;

	assert_true(run_wait_text(program, "ready", RUN_LIMIT));
	assert_true(asprintf(&whole, script, PROGRAM) > 0);
	tracer = bpftrace_start(program->pid, whole);
	free(whole);
	assert_non_null(tracer);
	assert_int_equal(run_say(program, "go"), 0);
	assert_int_equal(run_wait(program, RUN_LIMIT), 0);
	assert_int_equal(bpftrace_end(tracer), 0);
	*ret_truth = json_load_file(in_temp("truth.json"), 0, NULL);
	assert_non_null(*ret_truth);
	return parse(run_out(tracer));
}

static void passes_by_bpftrace(void **state)
{
	struct told traced, reports;
	json_t *truth;

	(void)state;
	NEED_BPF();
	traced = watch_by_bpftrace("passes", &truth);
	reports = index_by_id(truth);
	assert_alike(&traced, &reports, by_report);
	forget(&traced);
	forget(&reports);
	json_decref(truth);
}

/* Sets, batches and timers as they come; also what no report tells. */
static void bare_steps_in_both_modes(void **state)
{
	json_t *truth, *same;
	struct told traced, records, probes;

	(void)state;
	NEED_BPF();
	traced = watch_by_bpftrace("bare", &truth);
	records = watch_by_top("bare", "records", &same);
	assert_true(json_equal(truth, same));
	json_decref(same);
	probes = watch_by_top("bare", "probes", &same);
	assert_true(json_equal(truth, same));
	json_decref(same);
	assert_alike(&traced, &records, by_probes);
	assert_alike(&traced, &probes, by_probes);
	forget(&traced);
	forget(&records);
	forget(&probes);
	json_decref(truth);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, run_teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_has_one_of_each),
		TEST(it_does_the_same_each_time),
		TEST(passes_in_records_mode),
		TEST(without_a_name_there_is_the_place),
		TEST(passes_in_probe_mode),
		TEST(passes_by_bpftrace),
		TEST(bare_steps_in_both_modes),
	};

	return cmocka_run_group_tests_name("every operator is told exactly",
					   tests, NULL, NULL);
}
