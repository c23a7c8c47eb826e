/* SPDX-License-Identifier: MIT */
/*
 * Pipes: a chain of operators as one cell.  That it tells what the cells
 * would tell is the business of ../unit/test_pipe_law.c, by chance; here is
 * what the law does not say, and a few examples.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include "base/alloc.h"

static int doubled(void *ret, const void *value, void *ctx)
{
	int *calls = ctx;

	if (calls)
		++*calls;
	*(int64_t *)ret = 2 * *(const int64_t *)value;
	return 0;
}

static int tens(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)value / 10;
	return 0;
}

static int spell(void *ret, const void *value, void *ctx)
{
	char text[32];

	(void)ctx;
	if (*(const int64_t *)value == 13)
		return hyphae_error(-EDOM, "thirteen");
	snprintf(text, sizeof(text), "n%lld",
		 (long long)*(const int64_t *)value);
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

static int size_of(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = (int64_t)strlen(*(char *const *)value);
	return 0;
}

static int is_odd(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value & 1;
}

static int is_short(const void *value, void *ctx)
{
	(void)ctx;
	return strlen(*(char *const *)value) < 4;
}

static int below_ten(const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)value < 10;
}

static void count(const void *value, void *ctx)
{
	(void)value;
	++*(int *)ctx;
}

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)value;
	return 0;
}

static int append(void *ret, const void *acc, const void *value, void *ctx)
{
	const char *a = *(char *const *)acc, *v = *(char *const *)value;
	char *text = malloc(strlen(a) + strlen(v) + 1);

	(void)ctx;
	if (!text)
		return -ENOMEM;
	sprintf(text, "%s%s", a, v);
	*(char **)ret = text;
	return 0;
}

static const int64_t zero;

/* All kinds of stages; `taps` counts. */
static struct hyphae_pipe *all_stages(struct hyphae_cell *input, int *taps)
{
	struct hyphae_pipe *p = hyphae_pipe(input);

	p = hyphae_pipe_skip(p, 1);
	p = hyphae_pipe_skip_while(p, below_ten, NULL);
	p = hyphae_pipe_map(p, &hyphae_int64, doubled, NULL);
	p = hyphae_pipe_tap(p, count, taps);
	p = hyphae_pipe_map(p, &hyphae_int64, tens, NULL);
	p = hyphae_pipe_filter(p, is_odd, NULL);
	p = hyphae_pipe_scan(p, &hyphae_int64, &zero, add, NULL);
	p = hyphae_pipe_take_while(p, below_ten, true, NULL);
	return hyphae_pipe_take(p, 4);
}

static void pipe_of_all_stages(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 99);
	int taps[2] = {0, 0};
	struct hyphae_cell *fused =
		keep(w, hyphae_materialize(all_stages(a, &taps[0])));
	struct hyphae_cell *unfused =
		keep(w, hyphae_materialize_unfused(all_stages(a, &taps[1])));
	struct log *one = follow(w, fused), *many = follow(w, unfused);
	static const int64_t values[] = {1, 5, 17, 20, 6, 16, 28, 33};

	for (size_t i = 0; i < 8; i++)
		put(a, values[i]);
	assert_log(one, "0,3,4,7,C");
	assert_log(many, "0,3,4,7,C");
	assert_int_equal(taps[0], taps[1]);
	assert_int_equal(targets(a), 0);
}

static void pipe_is_one_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	int taps = 0;
	struct hyphae_cell *p =
		keep(w, hyphae_materialize(all_stages(a, &taps)));
	struct hyphae_cell_info info;
	char text[128];
	int length;

	assert_int_equal(live_cells(w), 2);
	assert_int_equal(hyphae_cell_info(p, &info), 0);
	assert_string_equal(info.op, "pipe");
	assert_int_equal(info.height, 1);
	assert_int_equal(info.inputs, 1);
	length = hyphae_pipe_stages(p, text, sizeof(text));
	assert_string_equal(text,
			    "skip > skip_while > map > tap > map > filter > "
			    "scan > take_while > take");
	assert_int_equal(length, strlen(text));
	assert_int_equal(hyphae_pipe_stages(p, text, 9), length);
	assert_string_equal(text, "skip > s");
	assert_int_equal(hyphae_pipe_stages(p, NULL, 0), length);
	keep(w, hyphae_materialize_unfused(all_stages(a, &taps)));
	assert_int_equal(live_cells(w), 11);
}

/* An equal value in between stops there. */
static void pipe_stops_at_what_is_equal(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 10);
	struct hyphae_pipe *p = hyphae_pipe(a);
	int calls = 0;
	struct log *seen;

	p = hyphae_pipe_map(p, &hyphae_int64, tens, NULL);
	p = hyphae_pipe_map(p, &hyphae_int64, doubled, &calls);
	seen = follow(w, keep(w, hyphae_materialize(p)));
	put(a, 12);
	put(a, 19);
	assert_int_equal(calls, 1);
	put(a, 20);
	assert_int_equal(calls, 2);
	assert_log(seen, "2,4");
}

static void pipe_of_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *stream =
		keep(w, hyphae_materialize(hyphae_pipe_filter(
				hyphae_pipe_map(hyphae_pipe(e), &hyphae_int64,
						tens, NULL),
				is_odd, NULL)));
	struct hyphae_cell *sum = keep(
		w, hyphae_materialize(hyphae_pipe_scan(
			   hyphae_pipe_filter(hyphae_pipe(e), is_odd, NULL),
			   &hyphae_int64, &zero, add, NULL)));
	struct log *seen = follow(w, stream), *sums = follow(w, sum);
	struct hyphae_cell_info info;

	begin_batch(w);
	put(e, 11);
	put(e, 11);
	put(e, 25);
	end_batch(w);
	assert_log(seen, "1,1");
	assert_log(sums, "0,11,22,47");
	assert_int_equal(hyphae_cell_info(stream, &info), 0);
	assert_true(info.event);
	assert_int_equal(hyphae_cell_info(sum, &info), 0);
	assert_false(info.event);
}

static void pipe_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_pipe *p = hyphae_pipe(a);
	struct log *seen;

	p = hyphae_pipe_map(p, &hyphae_string, spell, NULL);
	p = hyphae_pipe_map(p, &hyphae_int64, size_of, NULL);
	seen = follow(w, keep(w, hyphae_materialize(p)));
	put(a, 13);
	put(a, 4);
	put(a, 555);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), 0);
	assert_log(seen, "2,E(-33),2,4,E(-5)!");
}

/* Text in between, and what holds it: all of it is dropped (see ASan). */
static struct hyphae_pipe *of_text(struct hyphae_cell *input)
{
	const char *start = "<";
	struct hyphae_pipe *p = hyphae_pipe(input);

	p = hyphae_pipe_map(p, &hyphae_string, spell, NULL);
	p = hyphae_pipe_filter(p, is_short, NULL);
	p = hyphae_pipe_scan(p, &hyphae_string, &start, append, NULL);
	p = hyphae_pipe_map(p, &hyphae_int64, size_of, NULL);
	p = hyphae_pipe_map(p, &hyphae_string, spell, NULL);
	return hyphae_pipe_filter(p, is_short, NULL);
}

static void pipe_of_text(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *p = keep(w, hyphae_materialize(of_text(a)));
	char *text = NULL;

	assert_int_equal(hyphae_string_get(p, &text), 0);
	assert_string_equal(text, "n3");
	free(text);
	put(a, 12);
	put(a, 500);
	put(a, 13);
	assert_int_equal(hyphae_string_get(p, &text), -EDOM);
	put(a, 12);
	assert_int_equal(hyphae_string_get(p, &text), 0);
	assert_string_equal(text, "n9");
	free(text);
}

/* A wave asks for no memory. */
static void pipe_allocates_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow_with(
		w,
		keep(w, hyphae_materialize(hyphae_pipe_map(
				of_text(a), &hyphae_int64, size_of, NULL))),
		NULL, NULL, 0);
	int calls = 0;
	struct hyphae_pipe *p = hyphae_pipe(a);
	unsigned long before = 0;

	p = hyphae_pipe_map(p, &hyphae_int64, doubled, &calls);
	p = hyphae_pipe_scan(p, &hyphae_int64, &zero, add, NULL);
	keep(w, hyphae_materialize(p));
	for (int64_t i = 1; i < 60; i++) {
		if (i == 20)
			before = hy_alloc_count();
		put(a, i);
	}
	assert_int_equal(hy_alloc_count(), before);
	assert_int_equal(calls, 60);
	assert_true(seen->calls > 1);
}

static void pipe_lazy_begins_anew(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *p = keep(
		w, hyphae_materialize(hyphae_pipe_scan(
			   hyphae_pipe(a), &hyphae_int64, &zero, add, NULL)));
	struct log *seen;

	assert_int_equal(hyphae_cell_set_lazy(p), 0);
	seen = follow(w, p);
	put(a, 2);
	assert_log(seen, "1,3");
	stop(seen);
	assert_int_equal(targets(a), 0);
	put(a, 5);
	assert_log(follow(w, p), "5");
}

/* ---- released in a function of its own ------------------------------------------ */

struct suicide {
	struct hyphae_cell *cell;
	int r;
};

static int release_me(void *ret, const void *value, void *ctx)
{
	struct suicide *s = ctx;

	if (s->cell) {
		s->r = hyphae_cell_unref(s->cell);
		s->cell = NULL;
	}
	return spell(ret, value, NULL);
}

static void pipe_released_in_its_own_function(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct suicide s = {.r = 1};
	struct hyphae_pipe *p = hyphae_pipe(a);

	p = hyphae_pipe_map(p, &hyphae_string, release_me, &s);
	p = hyphae_pipe_filter(p, is_short, NULL);
	s.cell = hyphae_materialize(p);
	assert_non_null(s.cell);
	assert_int_equal(hyphae_int64_set(a, 2), 0);
	assert_int_equal(s.r, 0);
	assert_int_equal(live_cells(w), 1);
}

/* ---- bad input ------------------------------------------------------------------ */

#define assert_fails(expression, code)                                         \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(expression);                                       \
		assert_int_equal(errno, code);                                 \
	} while (0)

static void assert_wrong(struct hyphae_pipe *pipe)
{
	/* What is right does not put it right. */
	assert_fails(hyphae_materialize(hyphae_pipe_tap(pipe, count, NULL)),
		     EINVAL);
}

static void pipe_bad_steps(void **state)
{
	static const struct hyphae_type broken = {.name = "broken"};
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	const char *no_text = NULL;

	assert_wrong(hyphae_pipe_map(hyphae_pipe(a), NULL, doubled, NULL));
	assert_wrong(hyphae_pipe_map(hyphae_pipe(a), &broken, doubled, NULL));
	assert_wrong(
		hyphae_pipe_map(hyphae_pipe(a), &hyphae_int64, NULL, NULL));
	assert_wrong(hyphae_pipe_filter(hyphae_pipe(a), NULL, NULL));
	assert_wrong(hyphae_pipe_tap(hyphae_pipe(a), NULL, NULL));
	assert_wrong(hyphae_pipe_take(hyphae_pipe(a), 0));
	assert_wrong(hyphae_pipe_take_while(hyphae_pipe(a), NULL, false, NULL));
	assert_wrong(hyphae_pipe_skip_while(hyphae_pipe(a), NULL, NULL));
	assert_wrong(hyphae_pipe_scan(hyphae_pipe(a), &hyphae_int64, &zero,
				      NULL, NULL));
	assert_wrong(hyphae_pipe_scan(hyphae_pipe(a), &hyphae_int64, NULL, add,
				      NULL));
	assert_wrong(hyphae_pipe_scan(hyphae_pipe(a), NULL, &zero, add, NULL));
	assert_wrong(hyphae_pipe_scan(hyphae_pipe(a), &hyphae_string, &no_text,
				      append, NULL));
	assert_fails(hyphae_materialize(hyphae_pipe(a)), EINVAL);
	assert_fails(hyphae_materialize_unfused(hyphae_pipe(a)), EINVAL);
	assert_fails(
		hyphae_materialize_unfused(hyphae_pipe_take(hyphae_pipe(a), 0)),
		EINVAL);
	assert_int_equal(live_cells(w), 1);
	hyphae_pipe_free(of_text(a));
	hyphae_pipe_free(NULL);
}

static void pipe_too_long(void **state)
{
	struct world *w = *state;
	struct hyphae_pipe *p = hyphae_pipe(source(w, 1));

	for (size_t i = 0; i <= HYPHAE_STAGES_MAX; i++)
		p = hyphae_pipe_skip(p, 0);
	assert_fails(hyphae_materialize(p), EINVAL);
}

static void pipe_bad_input(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 1);
	struct hyphae_pipe *p[2] = {of_text(a), of_text(a)};
	char text[8];

	assert_fails(hyphae_pipe(NULL), 0);
	assert_fails(hyphae_pipe_map(NULL, &hyphae_int64, doubled, NULL), 0);
	assert_fails(hyphae_pipe_filter(NULL, NULL, NULL), 0);
	assert_fails(hyphae_pipe_tap(NULL, count, NULL), 0);
	assert_fails(hyphae_pipe_scan(NULL, NULL, NULL, NULL, NULL), 0);
	assert_fails(hyphae_pipe_take(NULL, 0), 0);
	assert_fails(hyphae_pipe_skip(NULL, 0), 0);
	assert_fails(hyphae_pipe_take_while(NULL, NULL, false, NULL), 0);
	assert_fails(hyphae_pipe_skip_while(NULL, NULL, NULL), 0);
	assert_fails(hyphae_materialize(NULL), 0);
	assert_fails(hyphae_materialize_unfused(NULL), 0);
	assert_int_equal(hyphae_pipe_stages(NULL, text, 8), -EINVAL);
	assert_int_equal(hyphae_pipe_stages(a, text, 8), -EINVAL);
	assert_int_equal(hyphae_pipe_stages(a, NULL, 8), -EINVAL);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(hyphae_pipe_stages(a, text, 8), -ESTALE);
	assert_fails(hyphae_materialize(p[0]), ESTALE);
	assert_fails(hyphae_materialize_unfused(p[1]), ESTALE);
	assert_fails(hyphae_materialize(of_text(a)), ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(pipe_of_all_stages),
		CASE(pipe_is_one_cell),
		CASE(pipe_stops_at_what_is_equal),
		CASE(pipe_of_an_event),
		CASE(pipe_errors),
		CASE(pipe_of_text),
		CASE(pipe_allocates_nothing),
		CASE(pipe_lazy_begins_anew),
		CASE(pipe_released_in_its_own_function),
		CASE(pipe_bad_steps),
		CASE(pipe_too_long),
		CASE(pipe_bad_input),
	};

	return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
