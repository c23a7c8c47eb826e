// SPDX-License-Identifier: MIT
/* Operators that remember: scan, reduce, pairwise, window, buffer_count. */
#include "shapes.h"

/* Sums; a value of 5 fails. */
static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	unsigned int *calls = ctx;

	if (calls)
		++*calls;
	if (*(const int64_t *)value == 5)
		return hyphae_error(-EIO, "five");
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)value;
	return 0;
}

/* "acc.value"; "five" fails. */
static int append(void *ret, const void *acc, const void *value, void *ctx)
{
	const char *a = *(char *const *)acc, *b = *(char *const *)value;
	char *text;

	(void)ctx;
	if (strcmp(b, "five") == 0)
		return -EIO;
	text = malloc(strlen(a) + strlen(b) + 2);
	if (!text)
		return -ENOMEM;
	sprintf(text, "%s.%s", a, b);
	*(char **)ret = text;
	return 0;
}

static const int64_t zero;

static struct hyphae_cell *sum(struct world *w, struct hyphae_cell *input)
{
	return keep(w, hyphae_scan(input, &hyphae_int64, &zero, add, NULL));
}

/* ---- scan -------------------------------------------------------------------- */

static void o01_scan_one_wave_per_set(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *t =
		keep(w, hyphae_scan(a, &hyphae_int64, &zero, add, &calls));
	struct log *log = follow(w, t);

	put(a, 1);
	put(a, 2);
	put(a, 3);
	assert_log(log, "0,1,3,6");
	assert_int_equal(calls, 4);
	assert_int_equal(value(t), 6);
}

static void o01_first_value_is_folded_in(void **state)
{
	struct world *w = *state;
	int64_t hundred = 100;
	struct hyphae_cell *a = source(w, 1);
	struct log *log = follow(
		w, keep(w, hyphae_scan(a, &hyphae_int64, &hundred, add, NULL)));

	put(a, 2);
	assert_log(log, "101,103");
}

static void o02_scan_in_a_batch(void **state)
{
	struct world *w = *state;
	unsigned int of_cell = 0, of_event = 0;
	struct hyphae_cell *a = source(w, 0), *e = event(w);
	struct hyphae_cell *s =
		keep(w, hyphae_scan(a, &hyphae_int64, &zero, add, &of_cell));
	struct hyphae_cell *t =
		keep(w, hyphae_scan(e, &hyphae_int64, &zero, add, &of_event));
	struct log *log = follow(w, s);

	assert_int_equal(of_cell, 1);
	assert_int_equal(value(t), 0);
	begin_batch(w);
	for (int64_t i = 1; i <= 3; i++) {
		put(a, i);
		put(e, i);
	}
	end_batch(w);
	assert_log(log, "0,3");
	assert_int_equal(of_cell, 2);
	assert_int_equal(of_event, 3);
	assert_int_equal(value(t), 6);
	assert_false(is_event(t));
}

static void scan_without_a_first_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *none = keep(w, hyphae_skip(a, 1));
	struct hyphae_cell *t = sum(w, none);
	struct log *log = follow(w, t);

	assert_int_equal(value(t), 0);
	put(a, 2);
	assert_log(log, "0,2");
}

static void scan_equal_is_told_once(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct log *log = follow(w, sum(w, e));

	put(e, 0);
	put(e, 0);
	put(e, 2);
	assert_log(log, "0,2");
}

/* Numbers are equal when they agree but for the last digit. */
static bool about(const void *a, const void *b)
{
	return *(const int64_t *)a / 10 == *(const int64_t *)b / 10;
}
HYPHAE_TYPE_WITH(rough, int64_t, .equal = about);

static void scan_sums_the_exact(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *t =
		keep(w, hyphae_scan(e, &rough_type, &zero, add, NULL));
	int64_t held = -1;

	for (int i = 0; i < 4; i++)
		put(e, 3);
	assert_int_equal(rough_get(t, &held), 0);
	assert_int_equal(held, 12);
}

static void scan_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, b)->cell;
	struct log *own = follow(w, sum(w, a)), *input = follow(w, sum(w, n));

	put(a, 5);
	put(a, 2);
	fail_cell(a, -EPIPE);
	assert_log(own, "1,E(-5),3,E(-32)!");
	put(b, 5);
	put(b, 2);
	complete(b);
	assert_log(input, "1,E(-5),3,C");
}

static void scan_fails_with_its_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *e = event(w);
	struct log *log = follow(w, sum(w, a)),
		   *of_event = follow(w, sum(w, e));

	begin_batch(w);
	put(a, 5);
	complete(a);
	put(e, 2);
	complete(e);
	end_batch(w);
	assert_log(log, "1,E(-5),C");
	assert_log(of_event, "0,2,C");
	assert_int_equal(targets(a), 0);
}

/* Its own error is what it ends with, too. */
static void scan_keeps_its_error_at_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *log = follow(w, sum(w, a));

	put(a, 5);
	complete(a);
	assert_log(log, "1,E(-5),C");
}

static void scan_of_strings(void **state)
{
	struct world *w = *state;
	const char *start = "s";
	struct hyphae_cell *e = string_event(w);
	struct hyphae_cell *t =
		keep(w, hyphae_scan(e, &hyphae_string, &start, append, NULL));
	struct hyphae_cell *r =
		keep(w, hyphae_reduce(e, &hyphae_string, &start, append, NULL));
	struct log *log = follow(w, t), *end = follow(w, r);

	put_string(e, "a");
	put_string(e, "five");
	put_string(e, "b");
	complete(e);
	assert_log(log, "s,s.a,E(-5),s.a.b,C");
	assert_log(end, "E(-5),s.a.b,C");
}

static void scan_lazy_begins_anew(void **state)
{
	struct world *w = *state;
	const char *start = "s";
	struct hyphae_cell *a = source(w, 1), *s = string(w, "a");
	struct hyphae_cell *t = sum(w, a);
	struct hyphae_cell *u =
		keep(w, hyphae_scan(s, &hyphae_string, &start, append, NULL));
	struct log *log, *texts;

	assert_int_equal(hyphae_cell_set_lazy(t), 0);
	assert_int_equal(hyphae_cell_set_lazy(u), 0);
	log = follow(w, t);
	texts = follow(w, u);
	put(a, 2);
	put_string(s, "b");
	assert_log(log, "1,3");
	assert_log(texts, "s.a,s.a.b");
	stop(log);
	stop(texts);
	put(a, 4);
	assert_log(follow(w, t), "4");
	assert_log(follow(w, u), "s.b");
}

/* ---- reduce ------------------------------------------------------------------ */

static struct hyphae_cell *total(struct world *w, struct hyphae_cell *input)
{
	return keep(w, hyphae_reduce(input, &hyphae_int64, &zero, add, NULL));
}

static void reduce_at_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *e = event(w), *none = event(w);
	struct hyphae_cell *t = total(w, a);
	struct log *log = follow(w, t), *of_event = follow(w, total(w, e));
	struct log *of_none = follow(w, total(w, none));

	put(a, 2);
	assert_int_equal(code_of(t), -ENODATA);
	begin_batch(w);
	put(a, 3);
	complete(a);
	put(e, 4);
	put(e, 4);
	complete(e);
	end_batch(w);
	complete(none);
	assert_log(log, "6,C");
	assert_log(of_event, "8,C");
	assert_log(of_none, "0,C");
	assert_int_equal(value(t), 6);
	assert_int_equal(targets(a), 0);
	assert_log(follow(w, total(w, a)), "3,C");
}

static void reduce_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *c = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, b)->cell;
	struct hyphae_cell *t = total(w, a);
	struct log *log = follow(w, t), *input = follow(w, total(w, n));
	struct log *broken = follow(w, total(w, c));

	put(a, 5);
	assert_int_equal(code_of(t), -EIO);
	put(a, 2);
	assert_int_equal(code_of(t), -ENODATA);
	complete(a);
	assert_log(log, "E(-5),3,C");
	put(b, 5);
	complete(b);
	assert_log(input, "E(-5),C");
	begin_batch(w);
	put(c, 5);
	complete(c);
	end_batch(w);
	assert_log(broken, "E(-5),C");
}

/* ---- pairwise, window -------------------------------------------------------------- */

static void o03_pairwise(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *p =
		keep(w, hyphae_pairwise(a, &hyphae_int64, digits, NULL));
	struct log *log = follow(w, p);

	assert_int_equal(code_of(p), -ENODATA);
	put(a, 2);
	assert_int_equal(hyphae_int64_set(a, 2), HYPHAE_UNCHANGED);
	put(a, 3);
	begin_batch(w);
	put(a, 6);
	put(a, 8);
	end_batch(w);
	assert_log(log, "712,723,738");
	complete(a);
	assert_log(log, "712,723,738,C");
}

static void pairwise_of_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *p =
		keep(w, hyphae_pairwise(e, &hyphae_int64, digits, NULL));
	struct log *log = follow(w, p);

	assert_true(is_event(p));
	begin_batch(w);
	put(e, 1);
	put(e, 1);
	put(e, 2);
	end_batch(w);
	put(e, 5);
	put(e, 3);
	put(e, 4);
	assert_log(log, "711,712,E(-5),E(-5),734");
}

static void pairwise_error_before_the_first(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *p =
		keep(w, hyphae_pairwise(n, &hyphae_int64, digits, NULL));
	struct log *log = follow(w, p);

	put(a, 1);
	assert_int_equal(code_of(p), -ENODATA);
	put(a, 5);
	put(a, 2);
	assert_log(log, "E(-5),E(-5),712");
}

static void o22_window(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(
		w, keep(w, hyphae_window(a, 3, &hyphae_int64, digits, &calls)));
	struct log *one = follow(
		w, keep(w, hyphae_window(a, 1, &hyphae_int64, digits, NULL)));

	put(a, 1);
	put(a, 2);
	put(a, 3);
	assert_log(log, "70,701,7012,7123");
	assert_log(one, "70,71,72,73");
	assert_int_equal(calls, 4);
	fail_cell(a, -EIO);
	assert_log(log, "70,701,7012,7123,E(-5)!");
}

static void window_of_strings(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *win =
		keep(w, hyphae_window(s, 2, &hyphae_string, join, NULL));
	struct hyphae_cell *p =
		keep(w, hyphae_pairwise(s, &hyphae_string, join, NULL));
	struct log *log = follow(w, win), *pairs = follow(w, p);

	put_string(s, "b");
	put_string(s, "c");
	put_string(s, "d");
	assert_log(log, "a,a+b,b+c,c+d");
	assert_log(pairs, "a+b,b+c,c+d");
	let_go(w, s);
}

static void window_lazy_forgets(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *win =
		keep(w, hyphae_window(s, 3, &hyphae_string, join, NULL));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(win), 0);
	log = follow(w, win);
	put_string(s, "b");
	assert_log(log, "a,a+b");
	stop(log);
	log = follow(w, win);
	put_string(s, "c");
	assert_log(log, "b,b+c");
}

/* ---- buffer_count ---------------------------------------------------------------------- */

static void o22_buffer_count(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b =
		keep(w, hyphae_buffer_count(a, 2, &hyphae_int64, digits, NULL));
	struct log *log = follow(w, b);
	struct log *each =
		follow(w, keep(w, hyphae_buffer_count(a, 1, &hyphae_int64,
						      digits, NULL)));

	assert_int_equal(code_of(b), -ENODATA);
	put(a, 2);
	put(a, 3);
	complete(a);
	assert_log(log, "712,73,C");
	assert_log(each, "71,72,73,C");
}

static void buffer_count_of_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w), *f = event(w);
	struct hyphae_cell *b =
		keep(w, hyphae_buffer_count(e, 2, &hyphae_int64, digits, NULL));
	struct log *log = follow(w, b);
	struct log *none =
		follow(w, keep(w, hyphae_buffer_count(f, 2, &hyphae_int64,
						      digits, NULL)));

	assert_true(is_event(b));
	begin_batch(w);
	put(e, 1);
	put(e, 1);
	put(e, 1);
	put(e, 1);
	complete(e);
	end_batch(w);
	assert_log(log, "711,711,C");
	complete(f);
	assert_log(none, "C");
}

static void buffer_count_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log =
		follow(w, keep(w, hyphae_buffer_count(n, 2, &hyphae_int64,
						      digits, NULL)));
	struct log *own =
		follow(w, keep(w, hyphae_buffer_count(b, 2, &hyphae_int64,
						      digits, NULL)));

	put(a, 5);
	put(a, 2);
	put(a, 3);
	fail_cell(a, -EPIPE);
	assert_log(log, "E(-5),712,E(-32)!");
	put(b, 5);
	put(b, 2);
	put(b, 3);
	put(b, 5);
	complete(b);
	assert_log(own, "E(-5),723,E(-5),C");
}

static void buffer_count_rest_after_an_error(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log =
		follow(w, keep(w, hyphae_buffer_count(n, 2, &hyphae_int64,
						      digits, NULL)));

	put(a, 5);
	complete(a);
	assert_log(log, "E(-5),71,C");
}

static void buffer_count_of_strings(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *b =
		keep(w, hyphae_buffer_count(s, 3, &hyphae_string, join, NULL));
	struct log *log = follow(w, b);

	put_string(s, "b");
	put_string(s, "c");
	put_string(s, "d");
	complete(s);
	assert_log(log, "a+b+c,d,C");
	let_go(w, b);
}

/* Something waits when the cell goes, and when it goes idle. */
static void buffer_count_given_up(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *b =
		keep(w, hyphae_buffer_count(s, 3, &hyphae_string, join, NULL));
	struct log *log;

	let_go(w, b);
	b = keep(w, hyphae_buffer_count(s, 2, &hyphae_string, join, NULL));
	assert_int_equal(hyphae_cell_set_lazy(b), 0);
	log = follow(w, b);
	stop(log);
	log = follow(w, b);
	put_string(s, "b");
	assert_log(log, "a+b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(o01_scan_one_wave_per_set),
		CASE(o01_first_value_is_folded_in),
		CASE(o02_scan_in_a_batch),
		CASE(scan_without_a_first_value),
		CASE(scan_equal_is_told_once),
		CASE(scan_sums_the_exact),
		CASE(scan_errors),
		CASE(scan_fails_with_its_end),
		CASE(scan_keeps_its_error_at_the_end),
		CASE(scan_of_strings),
		CASE(scan_lazy_begins_anew),
		CASE(reduce_at_completion),
		CASE(reduce_errors),
		CASE(o03_pairwise),
		CASE(pairwise_of_an_event),
		CASE(pairwise_error_before_the_first),
		CASE(o22_window),
		CASE(window_of_strings),
		CASE(window_lazy_forgets),
		CASE(o22_buffer_count),
		CASE(buffer_count_of_an_event),
		CASE(buffer_count_errors),
		CASE(buffer_count_rest_after_an_error),
		CASE(buffer_count_of_strings),
		CASE(buffer_count_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
