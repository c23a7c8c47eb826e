/* SPDX-License-Identifier: MIT */
/* What hyphae-top knows of cells: intervals, sorting, limits, texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "bpf/column.h"
#include "bpf/model.h"
#include "bpf/report.h"

static struct model model;
static struct report report;

static int open_model(void **test)
{
	(void)test;
	memset(&report, 0, sizeof(report));
	return model_open(&model, 100000, true);
}

static int close_model(void **test)
{
	(void)test;
	report_done(&report);
	model_close(&model);
	return 0;
}

static void fire(uint64_t id, uint64_t times, uint64_t ns)
{
	struct cell *cell = model_touch(&model, model_cell(&model, id));

	cell->now.fires += times;
	model.total.fires += times;
	while (times--)
		model_fanout(&model, cell, ns);
}

static void make(const char *column, size_t top, bool all)
{
	struct report_order order = column_order(column_find(column));

	order.top = top;
	assert_int_equal(report_make(&report, &model, &order, all), 0);
}

static void an_interval_is_a_difference(void **test)
{
	(void)test;
	fire(7, 3, 100);
	fire(9, 5, 2000);
	make("fires", 0, false);
	assert_int_equal(report.count, 2);
	assert_int_equal(report.rows[0].id, 9);
	assert_int_equal(report.rows[0].counts.fires, 5);
	assert_int_equal(report.rows[0].max, 2000);
	assert_int_equal(report.total.counts.fires, 8);
	assert_int_equal(report.total.counts.fanout_ns, 10300);
	model_next(&model);

	fire(7, 2, 50);
	make("fires", 0, false);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.rows[0].id, 7);
	assert_int_equal(report.rows[0].counts.fires, 2);
	assert_int_equal(report.rows[0].counts.fanout_ns, 100);
	assert_int_equal(report.rows[0].max, 50);
	assert_int_equal(report.total.counts.fires, 2);
	model_next(&model);

	make("fires", 0, false);
	assert_int_equal(report.count, 0);
	assert_int_equal(report.total.counts.fires, 0);
	assert_int_equal(report.total.p99, 0);
}

static void all_time_has_all_of_it(void **test)
{
	(void)test;
	fire(7, 3, 100);
	model_next(&model);
	fire(7, 1, 50);
	fire(8, 1, 60);
	make("fires", 0, true);
	assert_int_equal(report.count, 2);
	assert_int_equal(report.rows[0].id, 7);
	assert_int_equal(report.rows[0].counts.fires, 4);
	assert_int_equal(report.rows[0].max, 100);
	assert_int_equal(report.rows[0].p90, 100);
	assert_int_equal(report.total.counts.fires, 5);
}

static void rows_are_sorted_and_cut(void **test)
{
	struct report_order order;
	uint64_t id;

	(void)test;
	for (id = 1; id <= 1009; id++)
		fire(id, 1, id % 5 * 1000);
	make("max", 10, false);
	assert_int_equal(report.active, 1009);
	assert_int_equal(report.count, 10);
	/* Equal ones by id. */
	assert_int_equal(report.rows[0].id, 4);
	assert_int_equal(report.rows[1].id, 9);
	assert_int_equal(report.rows[9].id, 49);
	make("p99", 1, false);
	assert_int_equal(report.rows[0].id, 4);
	/* Once more, without the model. */
	make("max", 0, false);
	order = column_order(column_find("id"));
	report_sort(&report, &order);
	assert_int_equal(report.rows[0].id, 1009);
	order = column_order(column_find("op"));
	report_sort(&report, &order);
	assert_int_equal(report.rows[0].id, 1);
}

static void name_it(uint64_t id, const char *name)
{
	struct traits traits = {
		.name = text_add(&model.texts, name, strlen(name))};

	model_describe(&model, model_cell(&model, id), &traits);
}

static void texts_sort_by_the_alphabet(void **test)
{
	(void)test;
	fire(1, 1, 1);
	fire(2, 1, 1);
	fire(3, 1, 1);
	assert_int_equal(model.unknown, 3);
	name_it(1, "pear");
	name_it(2, "apple");
	name_it(3, "fig");
	name_it(3, "fig");
	assert_int_equal(model.unknown, 0);
	make("name", 0, false);
	assert_string_equal(report.rows[0].name, "apple");
	assert_string_equal(report.rows[1].name, "fig");
	assert_string_equal(report.rows[2].name, "pear");
	assert_string_equal(report.rows[2].op, "?");
}

static void what_is_over_the_limit_is_kept_together(void **test)
{
	struct model small;
	uint64_t id;

	(void)test;
	assert_int_equal(model_open(&small, 3, false), 0);
	for (id = 10; id < 20; id++)
		model_cell(&small, id)->now.fires++;
	assert_int_equal(small.count, 4);
	assert_int_equal(small.cells[0].now.fires, 7);
	assert_ptr_equal(model_find(&small, 10), &small.cells[1]);
	assert_null(model_find(&small, 19));
	assert_ptr_equal(model_cell(&small, 0), &small.cells[0]);
	model_close(&small);
}

static void what_is_gone_can_be_forgotten(void **test)
{
	uint64_t id;

	(void)test;
	for (id = 1; id <= 5003; id++)
		fire(id, 2, 100);
	model_next(&model);
	for (id = 1; id <= 5003; id += 2)
		fire(id, 1, 100);
	model_next(&model);
	model_prune(&model, 1);
	assert_int_equal(model.count, 1 + 2502);
	assert_int_equal(model.unknown, 2502);
	assert_int_equal(model_find(&model, 4999)->now.fires, 3);
	assert_null(model_find(&model, 5000));
	/* It is no event of an interval, but part of all time. */
	make("fires", 0, false);
	assert_int_equal(report.count, 0);
	make("fires", 1, true);
	assert_int_equal(report.rows[0].id, 0);
	assert_int_equal(report.rows[0].counts.fires, 2 * 2501);
	assert_int_equal(report.rows[0].p50, 100);
	assert_int_equal(report.total.counts.fires, 2 * 5003 + 2502);
	fire(5000, 1, 100);
	make("fires", 0, false);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.rows[0].counts.fires, 1);
}

/* A row of the report by its name, which must be there. */
static const struct row *row_named(const char *name)
{
	size_t i;

	for (i = 0; i < report.count; i++)
		if (!strcmp(report.rows[i].name, name))
			return &report.rows[i];
	fail_msg("no row is named %s", name);
	return NULL;
}

static uint64_t fires_of_rows(void)
{
	uint64_t fires = 0;
	size_t i;

	for (i = 0; i < report.count; i++)
		fires += report.rows[i].counts.fires;
	return fires;
}

static void cells_that_nobody_met_are_one_row(void **test)
{
	const struct row *row;
	uint64_t id;

	(void)test;
	for (id = 1; id <= 101; id++)
		fire(id, id, id == 77 ? 9000 : 100);
	name_it(1, "one");
	model_cell(&model, 2)->met = 1;
	/* A census that did not come to its end has no say. */
	model_looked(&model, false);
	assert_int_equal(model.unknown, 100);
	model_cell(&model, 2)->met = 1;
	model_looked(&model, true);
	assert_int_equal(model.unknown, 1);

	make("fires", 0, false);
	assert_int_equal(report.count, 3);
	assert_int_equal(report.active, 101);
	row = row_named("(released)");
	assert_ptr_equal(row, &report.rows[0]);
	assert_int_equal(row->id, 0);
	assert_int_equal(row->cells, 99);
	assert_int_equal(row->counts.fires, 101 * 51 - 3);
	assert_int_equal(row->counts.fanout_ns,
			 100 * (101 * 51 - 3) + 77 * 8900);
	assert_int_equal(row->max, 9000);
	assert_int_equal(row->p50, hist_value(hist_bucket(100)));
	assert_int_equal(report.rows[1].id, 2);
	assert_int_equal(report.rows[2].id, 1);
	assert_int_equal(fires_of_rows(), report.total.counts.fires);
	/* It sorts by text, too, and is left out like any other. */
	make("name", 0, false);
	assert_int_equal(report.rows[0].id, 2);
	assert_int_equal(report.rows[1].cells, 99);
	make("id", 1, false);
	assert_int_equal(report.rows[0].id, 2);
	assert_int_equal(report.active, 101);
}

/* In the next interval only what happened in it, in all time all of it. */
static void those_released_have_intervals_too(void **test)
{
	uint64_t id;

	(void)test;
	for (id = 1; id <= 10; id++)
		fire(id, 1, 100);
	model_looked(&model, true);
	model_next(&model);
	make("fires", 0, false);
	assert_int_equal(report.count, 0);
	assert_int_equal(report.released, 0);
	fire(3, 2, 50); /* a block that came late */
	fire(11, 5, 70);
	make("fires", 0, false);
	assert_int_equal(report.count, 2);
	assert_int_equal(row_named("(released)")->cells, 1);
	assert_int_equal(row_named("(released)")->counts.fires, 2);
	make("fires", 0, true);
	assert_int_equal(row_named("(released)")->cells, 10);
	assert_int_equal(row_named("(released)")->counts.fires, 12);
	assert_int_equal(row_named("(released)")->p50, 100);
	assert_int_equal(fires_of_rows(), report.total.counts.fires);
	model_next(&model);
	/* Forgotten, they are still told from others. */
	name_it(11, "eleven");
	model_prune(&model, 2);
	assert_int_equal(model.count, 1);
	assert_int_equal(model.unknown, 0);
	make("fires", 0, true);
	assert_int_equal(report.count, 2);
	assert_int_equal(report.active, 11);
	assert_int_equal(row_named("(released)")->cells, 10);
	assert_int_equal(row_named("(released)")->counts.fires, 12);
	assert_int_equal(row_named("(released)")->max, 100);
	assert_int_equal(row_named("(others)")->counts.fires, 5);
	assert_int_equal(fires_of_rows(), report.total.counts.fires);
}

/* With `fold` also those that are known, when they are alike. */
static void cells_that_are_gone_can_be_folded(void **test)
{
	struct report_order order = column_order(column_find("fires"));
	uint64_t id;

	(void)test;
	for (id = 1; id <= 12; id++) {
		fire(id, id, 100);
		name_it(id, id <= 5 ? "query" : id <= 9 ? "answer" : "view");
	}
	fire(13, 100, 100);
	name_it(13, "alone");
	model_cell(&model, 5)->met = model_cell(&model, 8)->met = 1;
	model_cell(&model, 9)->met = 1;
	model_looked(&model, true);
	make("fires", 0, false);
	assert_int_equal(report.count, 13);
	order.fold = true;
	assert_int_equal(report_make(&report, &model, &order, false), 0);
	/* alone; view x3; query x4; answer x2 and two that live; query. */
	assert_int_equal(report.count, 7);
	assert_int_equal(report.active, 13);
	assert_int_equal(report.released, 0);
	assert_int_equal(report.rows[0].id, 13);
	assert_int_equal(report.rows[0].cells, 0);
	assert_string_equal(report.rows[1].name, "view");
	assert_int_equal(report.rows[1].cells, 3);
	assert_int_equal(report.rows[1].counts.fires, 10 + 11 + 12);
	assert_string_equal(report.rows[2].name, "answer");
	assert_int_equal(report.rows[2].cells, 2);
	assert_int_equal(report.rows[2].counts.fires, 6 + 7);
	assert_string_equal(report.rows[3].name, "query");
	assert_int_equal(report.rows[3].cells, 4);
	assert_int_equal(report.rows[3].id, 0);
	assert_int_equal(report.rows[3].counts.fires, 1 + 2 + 3 + 4);
	assert_int_equal(report.rows[4].id, 9);
	assert_int_equal(report.rows[6].id, 5);
	assert_int_equal(fires_of_rows(), report.total.counts.fires);
}

/* A census that missed it was wrong. */
static void what_is_found_was_not_released(void **test)
{
	(void)test;
	fire(5, 3, 100);
	model_looked(&model, true);
	assert_int_equal(model.unknown, 0);
	name_it(5, "five");
	assert_int_equal(model.unknown, 0);
	make("fires", 0, false);
	assert_int_equal(report.count, 1);
	assert_int_equal(row_named("five")->counts.fires, 3);
	assert_int_equal(report.released, 0);
}

static void many_cells_are_found_again(void **test)
{
	uint64_t id;

	(void)test;
	for (id = 1; id <= 50021; id++)
		model_cell(&model, id * 65537)->now.writes = id;
	for (id = 1; id <= 50021; id++)
		assert_int_equal(model_find(&model, id * 65537)->now.writes,
				 id);
	assert_null(model_find(&model, 2));
}

static void texts_are_kept_once_and_clean(void **test)
{
	struct text_pool pool = {0};
	char name[16];
	uint32_t a, i;

	(void)test;
	a = text_add(&pool, "caf\xc3\xa9", 5);
	assert_string_equal(text_get(&pool, a), "caf\xc3\xa9");
	assert_int_equal(text_add(&pool, "caf\xc3\xa9 or", 5), a);
	assert_int_equal(text_add(&pool, "", 0), TEXT_EMPTY);
	assert_string_equal(text_get(&pool, TEXT_EMPTY), "");
	assert_string_equal(text_get(&pool, 4000000000u), "");
	/* Not UTF-8: a lone byte, an overlong form, a surrogate, a cut. */
	a = text_add(&pool,
		     "a\xff"
		     "b\xc0\x80"
		     "c\xed\xa0\x80\xe2\x82",
		     11);
	assert_string_equal(text_get(&pool, a),
			    "a\xef\xbf\xbd"
			    "b\xef\xbf\xbd\xef\xbf\xbd"
			    "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd");
	a = 0;
	for (i = 0; i < 20011; i++) {
		snprintf(name, sizeof(name), "cell %u", i);
		a = text_add(&pool, name, strlen(name));
		assert_string_equal(text_get(&pool, a), name);
	}
	snprintf(name, sizeof(name), "cell %u", 20010);
	assert_int_equal(text_add(&pool, name, strlen(name)), a);
	text_done(&pool);
	strcpy(name, "a\x1b[2J\xc3\xa9\xff");
	text_plain(name);
	assert_string_equal(name, "a?[2J\xc3\xa9?");
}

int main(void)
{
#define WITH_MODEL(test)                                                       \
	cmocka_unit_test_setup_teardown(test, open_model, close_model)
	const struct CMUnitTest tests[] = {
		WITH_MODEL(an_interval_is_a_difference),
		WITH_MODEL(all_time_has_all_of_it),
		WITH_MODEL(rows_are_sorted_and_cut),
		WITH_MODEL(texts_sort_by_the_alphabet),
		WITH_MODEL(what_is_over_the_limit_is_kept_together),
		WITH_MODEL(what_is_gone_can_be_forgotten),
		WITH_MODEL(cells_that_nobody_met_are_one_row),
		WITH_MODEL(those_released_have_intervals_too),
		WITH_MODEL(cells_that_are_gone_can_be_folded),
		WITH_MODEL(what_is_found_was_not_released),
		WITH_MODEL(many_cells_are_found_again),
		cmocka_unit_test(texts_are_kept_once_and_clean),
	};

	return cmocka_run_group_tests_name("top: model", tests, NULL, NULL);
}
