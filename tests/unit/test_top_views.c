/* SPDX-License-Identifier: MIT */
/* What views make of a fixed report: lines at several widths, and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/view_json.h"
#include "bpf/view_lines.h"

static struct row rows[] = {
	{
		.id = 10,
		.name = "net.rate",
		.type = "double",
		.op = "map",
		.site = "mon.c:41",
		.height = 1,
		.targets = 3,
		.counts = {.writes = 1009,
			   .unchanged = 9,
			   .fires = 1000,
			   .refires = 250,
			   .computes = 1009,
			   .fanout_ns = 2500000,
			   .compute_ns = 100000},
		.p50 = 2400,
		.p90 = 3100,
		.p99 = 12000,
		.max = 1999999,
	},
	{
		.id = 77,
		.name = "",
		.type = "",
		.op = "?",
		.site = "",
		.counts = {.notifies = 12345678901,
			   .writes = 12345678901,
			   .fires = 1,
			   .fanout_ns = 950},
		.p50 = 950,
		.p90 = 950,
		.p99 = 950,
		.max = 950,
	},
	{
		.id = 5,
		.name = "\xe6\xb8\xa9\xe5\xba\xa6 of a very long name\x1b[2J",
		.type = "int64",
		.op = "source",
		.site = "mon.c:7",
		.counts = {.notifies = 2, .writes = 2, .fires = 2},
	},
};

static struct report sample(void)
{
	struct report report = {
		.head = {.time = 1000000000.25,
			 .interval = 0.5,
			 .pid = 4711,
			 .comm = "mon",
			 .mode = "records",
			 .end = "",
			 .alive = 1601,
			 .cost = {.cpu_s = 0.0125,
				  .bpf_ns = 1500000,
				  .bpf_known = true,
				  .hits = 13}},
		.passes = 30,
		.events = 12345681922,
		.total = {.name = "TOTAL",
			  .type = "",
			  .op = "",
			  .site = "",
			  .counts = {.notifies = 12345678903,
				     .writes = 12345679912,
				     .unchanged = 9,
				     .fires = 1003,
				     .refires = 250,
				     .computes = 1009,
				     .fanout_ns = 2500950,
				     .compute_ns = 100000},
			  .p50 = 2400,
			  .p90 = 3100,
			  .p99 = 12000,
			  .max = 1999999},
		.rows = rows,
		.count = 3,
		.active = 5,
		.known = 1500,
	};

	return report;
}

/* ---- lines ----------------------------------------------------------------- */

static char text[65536];

static void add_line(void *ctx, enum line_kind kind, const char *line)
{
	(void)ctx;
	(void)kind;
	strcat(text, line);
	strcat(text, "|\n");
}

static void show(const struct report *report, struct view view)
{
	text[0] = '\0';
	view.line = add_line;
	view_lines(report, &view);
}

static void a_table_of_any_width(void **test)
{
	struct report report = sample();

	(void)test;
	show(&report, (struct view){.sort = column_find("SELF")});
	assert_string_equal(
		text,
		"hyphae-top  mon  pid 4711  01:46:40  0.50 s  records mode|\n"
		"fires 2.01k/s  re-fires 24.9 %  writes 24.7G/s  passes 60/s "
		" cells 5/1601|\n"
		"loss: none  cost: hyphae-top 2.5 % of a CPU, BPF 0.3 %, 13 p"
		"robe hits|\n"
		"CELL                                     OP          FIRES  "
		" REFIRES  REFIRE%    WRITES   UNCHGD  TARGETS   SELF*     P5"
		"0     P90     P99     MAX TYPE         SITE                 "
		"     HEIGHT    NOTIFY   COMPUTE  FANOUT       ID|\n"
		"TOTAL                                                 1003  "
		"     250     24.9 12345679912      9        -  2.60ms  2.40u"
		"s  3.10us  12.0us  2.00ms                                   "
		"          - 12345678903    1009  2.50ms        -|\n"
		"net.rate                                 map          1000  "
		"     250     25.0      1009        9        3  2.60ms  2.40u"
		"s  3.10us  12.0us  2.00ms double       mon.c:41             "
		"          1         0      1009  2.50ms       10|\n"
		"#77                                      ?               1  "
		"       0      0.0 12345678901      0        0   950ns   950n"
		"s   950ns   950ns   950ns                                   "
		"          0 12345678901       0   950ns       77|\n"
		"\xe6\xb8\xa9"
		"\xe5\xba\xa6"
		" of a very long name?[2J        "
		"     source          2         0      0.0         2        0"
		"        0       -       -       -       -       - int64     "
		"   mon.c:7                        0         2         0     "
		"  -        5|\n"
		"... 2 more cells|\n");
}

static void eighty_columns(void **test)
{
	struct report report = sample();

	(void)test;
	show(&report, (struct view){.width = 80, .skip = 1, .rows = 1});
	assert_string_equal(
		text,
		"hyphae-top  mon  pid 4711  01:46:40  0.50 s  records mode|\n"
		"fires 2.01k/s  re-fires 24.9 %  writes 24.7G/s  passes 60/s "
		" cells 5/1601|\n"
		"loss: none  cost: hyphae-top 2.5 % of a CPU, BPF 0.3 %, 13 p"
		"robe hits|\n"
		"CELL                     OP          FIRES  REFIRE%   UNCHGD"
		"    SELF     P99 +13|\n"
		"TOTAL                                 1003     24.9        9"
		"  2.60ms  12.0us|\n"
		"#77                      ?               1      0.0        0"
		"   950ns   950ns|\n");
}

/* Whatever sorts is shown, marked, and never wider than asked for. */
static void what_sorts_is_shown(void **test)
{
	struct report report = sample();
	const char *at, *end;
	char mark[32];
	int width;
	size_t i;

	(void)test;
	report.count = 2;
	for (i = 0; table_columns[i]; i++) {
		snprintf(mark, sizeof(mark), "%s^", table_columns[i]->title);
		for (width = 26; width < 260; width++) {
			show(&report, (struct view){.width = width,
						    .sort = table_columns[i],
						    .ascending = true});
			assert_non_null(strstr(text, mark));
			for (at = text; (end = strchr(at, '|')); at = end + 2)
				assert_true(end - at <= width);
		}
	}
}

static void narrow_terminals(void **test)
{
	struct report report = sample();

	(void)test;
	show(&report, (struct view){.width = 40,
				    .rows = 1,
				    .brief = true,
				    .sort = column_find("p99")});
	assert_string_equal(text, "CELL                 OP         P99* +17|\n"
				  "net.rate             map      12.0us|\n");
	show(&report, (struct view){.width = 9,
				    .rows = 1,
				    .brief = true,
				    .sort = column_find("p99")});
	assert_string_equal(text, "~    P99*|\n"
				  "~  12.0us|\n");
	show(&report, (struct view){.width = 1, .sort = column_find("p99")});
}

/* The column is as wide as what is shown needs, at the cost of names. */
static void operators_have_room(void **test)
{
	struct report report = sample();
	struct row ops[] = {rows[0], rows[0], rows[0], rows[0]};
	struct view view = {.width = 80, .brief = true};

	(void)test;
	ops[0].op = "computed";
	ops[1].op = "with_latest_from";
	ops[2].op = "switch_map";
	ops[3].op = "source";
	ops[1].name = ops[2].name = ops[3].name = "a name of four words";
	report.rows = ops;
	report.count = report.active = 4;
	show(&report, view);
	assert_string_equal(
		text,
		"CELL                  OP             FIRES  REFIRE%   UNCHGD"
		"    SELF     P99 +13|\n"
		"net.rate              computed        1000     25.0        9"
		"  2.60ms  12.0us|\n"
		"a name of four w~ #10 with_late~      1000     25.0        9"
		"  2.60ms  12.0us|\n"
		"a name of four w~ #10 switch_map      1000     25.0        9"
		"  2.60ms  12.0us|\n"
		"a name of four w~ #10 source          1000     25.0        9"
		"  2.60ms  12.0us|\n");
	/* With more room all of it. */
	view.width = 122;
	show(&report, view);
	assert_non_null(strstr(text, " with_latest_from "));
	view.width = 0;
	show(&report, view);
	assert_non_null(strstr(text, " with_latest_from "));
	/* With less it is cut sooner. */
	view.width = 38;
	view.rows = 1;
	show(&report, view);
	assert_string_equal(text, "CELL             OP          FIRES +17|\n"
				  "net.rate         comput~      1000|\n");
	view.rows = 0;
	/* What is scrolled away needs no room. */
	view.width = 80;
	view.skip = 3;
	show(&report, view);
	assert_non_null(strstr(text, "CELL                     OP          "));
}

/* How many there were is behind their name; a sum has no height. */
static void cells_that_were_released(void **test)
{
	struct report report = sample();
	struct row released = rows[1];

	(void)test;
	released.id = 0;
	released.cells = 97;
	released.name = "(released)";
	released.counts.notifies = released.counts.writes = 97;
	report.rows = &released;
	report.count = 1;
	report.active = 101;
	show(&report, (struct view){.width = 89,
				    .brief = true,
				    .sort = column_find("targets")});
	assert_string_equal(
		text,
		"CELL                     OP          FIRES  REFIRE%   UNCHGD"
		" TARGETS*    SELF     P99 +12|\n"
		"(released) x97           ?               1      0.0        0"
		"        -   950ns   950ns|\n"
		"... 4 more cells|\n");
	report.active = 97;
	show(&report, (struct view){.width = 9, .brief = true});
	assert_string_equal(text, "CELL +19|\n"
				  "(rel~ x97|\n");
}

/* By their numbers; one without a name also by where it was made. */
static void cells_of_one_name(void **test)
{
	struct report report = sample();
	struct row alike[] = {rows[0], rows[0], rows[1], rows[1], rows[2]};

	(void)test;
	alike[1].id = 11;
	alike[3].id = 78;
	alike[3].site = "src/of/mon.c:9";
	report.rows = alike;
	report.count = 5;
	show(&report, (struct view){.width = 32,
				    .brief = true,
				    .sort = column_find("op")});
	assert_string_equal(text, "CELL                 OP* +18|\n"
				  "net.rate #10         map|\n"
				  "net.rate #11         map|\n"
				  "#77                  ?|\n"
				  "mon.c:9 #78          ?|\n"
				  "\xe6\xb8\xa9"
				  "\xe5\xba\xa6"
				  " of a very long~ source|\n");
}

static void what_was_not_measured(void **test)
{
	struct report report = sample();
	struct row idle = rows[0];

	(void)test;
	memset(&idle.counts, 0, sizeof(idle.counts));
	idle.counts.writes = idle.counts.unchanged = 7;
	idle.p50 = idle.p90 = idle.p99 = idle.max = 0;
	report.rows = &idle;
	report.count = 1;
	show(&report, (struct view){.width = 80, .brief = true});
	assert_string_equal(
		text,
		"CELL                     OP          FIRES  REFIRE%   UNCHGD"
		"    SELF     P99 +13|\n"
		"net.rate                 map             0        -        7"
		"       -       -|\n"
		"... 4 more cells|\n");
}

static void states_are_in_the_head(void **test)
{
	struct report report = sample();

	(void)test;
	report.head.paused = true;
	show(&report, (struct view){.width = 80});
	assert_non_null(strstr(text, "0.50 s  [paused]  records mode|\n"));
	report.head.all = true;
	show(&report, (struct view){.width = 80});
	assert_non_null(strstr(text, "0.50 s  [all time, paused]  records"));
	report.head.paused = false;
	report.head.end = "process ended";
	show(&report, (struct view){.width = 80});
	assert_non_null(strstr(text, "0.50 s  [all time, process ended]  re"));
}

static void losses_stand_out(void **test)
{
	struct report report = sample();

	(void)test;
	report.lost.records = 1200;
	report.lost.fires = 1100;
	report.lost.blocks = 2;
	report.head.cost.bpf_known = false;
	report.head.stale = 3;
	report.head.end = "process ended";
	show(&report, (struct view){.rows = 1});
	assert_non_null(strstr(text, "0.50 s  [process ended]  records mode|"));
	assert_non_null(strstr(
		text, "|\nLOSS: 1200 records, 1100 fires, 2 blocks of unknown "
		      "content (counts are too low)  cost: hyphae-top 2.5 % "
		      "of a CPU|\n"));
}

static void what_a_killed_process_did_last(void **test)
{
	struct report report = sample();

	(void)test;
	report.lost.unfinished = 1;
	assert_true(losses_any(&report.lost));
	show(&report, (struct view){.rows = 1});
	assert_non_null(strstr(text, "|\nLOSS: its last records (at most 680 "
				     "a thread) are unknown  cost: "));
	report.lost.records = 2;
	show(&report, (struct view){.rows = 1});
	assert_non_null(strstr(text, "|\nLOSS: 2 records, 0 fires (counts are "
				     "too low); its last records (at most"));
}

/* Their events are counted, only not by cell. */
static void cells_over_the_limit_are_no_loss(void **test)
{
	struct report report = sample();

	(void)test;
	report.lost.unsorted = 15176;
	assert_false(losses_any(&report.lost));
	show(&report, (struct view){.rows = 1});
	assert_non_null(strstr(text, "|\nloss: none; 15176 events of further "
				     "cells in (others)  cost: "));
}

static size_t count_lines(void)
{
	const char *at = text;
	size_t n = 0;

	for (; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void help_has_every_column(void **test)
{
	struct view view = {.line = add_line};
	size_t i, lines;

	(void)test;
	text[0] = '\0';
	lines = view_help(&view);
	assert_int_equal(count_lines(), lines);
	for (i = 0; table_columns[i]; i++) {
		assert_non_null(table_columns[i]->title);
		assert_non_null(strstr(text, table_columns[i]->title));
	}
	for (i = 0; columns[i].json; i++)
		assert_non_null(columns[i].title);
	assert_non_null(strstr(text, "cells "));
	/* It can be scrolled. */
	text[0] = '\0';
	view.skip = lines - 2;
	assert_int_equal(view_help(&view), lines);
	assert_int_equal(count_lines(), 2);
}

static void assert_fits(const char *from, int most, const char *expected,
			int width)
{
	char to[64];

	assert_int_equal(text_fit(to, sizeof(to), from, most), width);
	assert_string_equal(to, expected);
}

static void texts_are_fitted(void **test)
{
	(void)test;
	assert_fits("abc", 3, "abc", 3);
	assert_fits("abcd", 3, "ab~", 3);
	assert_fits("abcd", 0, "", 0);
	assert_fits("", 3, "", 0);
	assert_fits("a\nb\x7f", 9, "a?b?", 4);
	assert_fits("\xff\xfe", 9, "??", 2);
	/* CSI in one character, and one that turns the direction. */
	assert_fits("a\xc2\x9b"
		    "b",
		    9, "a?b", 3);
	assert_fits("\xe2\x80\xae"
		    "b",
		    9, "?b", 2);
	/* Two columns wide each. */
	assert_fits("\xe6\xb8\xa9\xe5\xba\xa6", 4, "\xe6\xb8\xa9\xe5\xba\xa6",
		    4);
	assert_fits("\xe6\xb8\xa9\xe5\xba\xa6", 3, "\xe6\xb8\xa9~", 3);
}

static void assert_ns(uint64_t ns, const char *expected)
{
	char to[32];

	print_ns(to, sizeof(to), ns);
	assert_string_equal(to, expected);
}

static void assert_count(double count, const char *expected)
{
	char to[32];

	print_count(to, sizeof(to), count);
	assert_string_equal(to, expected);
}

static void numbers_have_three_digits(void **test)
{
	(void)test;
	assert_ns(0, "0ns");
	assert_ns(999, "999ns");
	assert_ns(1000, "1.00us");
	assert_ns(9994, "9.99us");
	assert_ns(9996, "10.0us");
	assert_ns(99960, "100us");
	assert_ns(999499, "999us");
	assert_ns(999500, "1.00ms");
	assert_ns(12345678901, "12.3s");
	assert_ns(123456789012345, "123457s");
	assert_count(0, "0");
	assert_count(999, "999");
	assert_count(12345, "12.3k");
	assert_count(999600, "1.00M");
	assert_count(5e9, "5.00G");
}

/* ---- JSON -------------------------------------------------------------------- */

static json_t *to_json(const struct report *report)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&line, &size);
	json_error_t error;
	json_t *json;

	assert_int_equal(view_json(report, file), 0);
	fclose(file);
	assert_int_equal(line[size - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + size - 1);
	json = json_loads(line, 0, &error);
	assert_non_null(json);
	free(line);
	return json;
}

static json_int_t number(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *string(const json_t *json, const char *key)
{
	assert_true(json_is_string(json_object_get(json, key)));
	return json_string_value(json_object_get(json, key));
}

/* The keys of the contract, in its order, before any other. */
static void assert_keys(json_t *json, const char *const *keys)
{
	void *at = json_object_iter(json);

	for (; *keys; keys++, at = json_object_iter_next(json, at)) {
		assert_non_null(at);
		assert_string_equal(json_object_iter_key(at), *keys);
	}
}

static void json_keeps_the_contract(void **test)
{
	static const char *const keys[] = {
		"time", "interval_s", "pid",   "comm",	  "mode", "events",
		"lost", "passes",     "fires", "refires", NULL};
	static const char *const cell_keys[] = {
		"id",		"name",	      "type",	 "op",
		"site",		"height",     "targets", "notifies",
		"writes",	"unchanged",  "fires",	 "refires",
		"refire_ratio", "latency_ns", "self_ns", NULL};
	static const char *const latency_keys[] = {"sum", "p50", "p90",
						   "p99", "max", NULL};
	struct report report = sample();
	json_t *json = to_json(&report), *cells, *cell;

	(void)test;
	assert_keys(json, keys);
	assert_true(json_real_value(json_object_get(json, "time")) ==
		    1000000000.25);
	assert_true(json_real_value(json_object_get(json, "interval_s")) ==
		    0.5);
	assert_int_equal(number(json, "pid"), 4711);
	assert_string_equal(string(json, "mode"), "records");
	assert_int_equal(number(json, "events"), 12345681922);
	assert_int_equal(number(json, "lost"), 0);
	assert_int_equal(number(json, "passes"), 30);
	assert_int_equal(number(json, "fires"), 1003);
	assert_int_equal(number(json, "refires"), 250);
	assert_true(json_is_true(json_object_get(json, "exact")));
	assert_int_equal(number(json_object_get(json, "cost"), "hits"), 13);
	cells = json_object_get(json, "cells");
	assert_int_equal(json_array_size(cells), 3);
	cell = json_array_get(cells, 0);
	assert_keys(cell, cell_keys);
	assert_keys(json_object_get(cell, "latency_ns"), latency_keys);
	assert_int_equal(number(cell, "id"), 10);
	assert_string_equal(string(cell, "name"), "net.rate");
	assert_string_equal(string(cell, "site"), "mon.c:41");
	assert_int_equal(number(cell, "refires"), 250);
	assert_true(json_real_value(json_object_get(cell, "refire_ratio")) ==
		    0.25);
	assert_int_equal(number(json_object_get(cell, "latency_ns"), "sum"),
			 2500000);
	assert_int_equal(number(json_object_get(cell, "latency_ns"), "p99"),
			 12000);
	assert_int_equal(number(cell, "self_ns"), 2600000);
	cell = json_array_get(cells, 1);
	assert_string_equal(string(cell, "name"), "");
	assert_string_equal(string(cell, "op"), "?");
	assert_int_equal(number(cell, "writes"), 12345678901);
	/* Names are told as they are. */
	assert_string_equal(string(json_array_get(cells, 2), "name"),
			    rows[2].name);
	json_decref(json);
}

static void json_says_what_is_unknown_or_lost(void **test)
{
	struct report report = sample();
	json_t *json;

	(void)test;
	report.head.cost.bpf_known = false;
	report.head.alive = -1;
	report.head.final = true;
	report.head.end = "interrupted";
	report.lost.records = 17;
	report.lost.fires = 11;
	report.released = 97;
	report.count = 0;
	json = to_json(&report);
	assert_int_equal(number(json, "lost"), 17);
	assert_int_equal(number(json, "lost_fires"), 11);
	assert_int_equal(number(json, "cells_released"), 97);
	assert_true(json_is_false(json_object_get(json, "exact")));
	assert_true(json_is_null(
		json_object_get(json_object_get(json, "cost"), "bpf_ns")));
	assert_true(json_is_null(json_object_get(json, "cells_alive")));
	assert_true(json_is_true(json_object_get(json, "final")));
	assert_string_equal(string(json, "end"), "interrupted");
	assert_int_equal(json_array_size(json_object_get(json, "cells")), 0);
	json_decref(json);
}

static void json_that_cannot_be_written(void **test)
{
	struct report report = sample();
	FILE *file = fopen("/dev/full", "w");

	(void)test;
	assert_int_equal(view_json(&report, file), -ENOSPC);
	fclose(file);
}

static void columns_are_found_by_any_name(void **test)
{
	(void)test;
	assert_ptr_equal(column_find("fires"), column_find("FIRES"));
	assert_ptr_equal(column_find("p50"), column_find("latency_ns.p50"));
	assert_ptr_equal(column_find("refire%"), column_find("refire_ratio"));
	assert_ptr_equal(column_find("cell"), column_find("name"));
	assert_non_null(column_find("id"));
	assert_null(column_find("nonsense"));
	assert_null(column_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_any_width),
		cmocka_unit_test(eighty_columns),
		cmocka_unit_test(what_sorts_is_shown),
		cmocka_unit_test(narrow_terminals),
		cmocka_unit_test(operators_have_room),
		cmocka_unit_test(cells_that_were_released),
		cmocka_unit_test(cells_of_one_name),
		cmocka_unit_test(what_was_not_measured),
		cmocka_unit_test(states_are_in_the_head),
		cmocka_unit_test(losses_stand_out),
		cmocka_unit_test(what_a_killed_process_did_last),
		cmocka_unit_test(cells_over_the_limit_are_no_loss),
		cmocka_unit_test(help_has_every_column),
		cmocka_unit_test(texts_are_fitted),
		cmocka_unit_test(numbers_have_three_digits),
		cmocka_unit_test(json_keeps_the_contract),
		cmocka_unit_test(json_says_what_is_unknown_or_lost),
		cmocka_unit_test(json_that_cannot_be_written),
		cmocka_unit_test(columns_are_found_by_any_name),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests_name("top: views", tests, NULL, NULL);
}
