// SPDX-License-Identifier: MIT
/*
 * Operators of one input among several threads: made and released while
 * others write, and sums of what several threads emit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

#define WRITES 1009
#define ROUNDS 101

struct shared {
	struct hyphae_graph *graph;
	struct hyphae_cell *text, *number, *event;
	unsigned int made, ended; /* finalize; atomic */
	int failed;		  /* a line; atomic */
};

static void check(struct shared *s, bool ok, int line)
{
	int none = 0;

	if (!ok)
		__atomic_compare_exchange_n(&s->failed, &none, line, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#define CHECK(condition) check(s, (condition), __LINE__)

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)value;
	return 0;
}

static int longest(void *ret, const void *const *values, size_t count,
		   void *ctx)
{
	const char *found = "";

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		if (strlen(*(char *const *)values[i]) >= strlen(found))
			found = *(char *const *)values[i];
	*(char **)ret = strdup(found);
	return *(char **)ret ? 0 : -ENOMEM;
}

static int append(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)acc;
	(void)ctx;
	*(char **)ret = strdup(*(char *const *)value);
	return *(char **)ret ? 0 : -ENOMEM;
}

static int odd_fails(void *ret, const void *input, void *ctx)
{
	const char *text = *(char *const *)input;

	(void)ctx;
	if (strlen(text) % 2)
		return hyphae_error(-EIO, "%s is odd", text);
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

static int explain(void *ret, int code, const char *message, void *ctx)
{
	struct shared *s = ctx;
	size_t length = strlen(message);

	CHECK(code == -EIO);
	CHECK(length > 6 && strcmp(message + length - 6, "is odd") == 0);
	*(char **)ret = strdup(message);
	return *(char **)ret ? 0 : -ENOMEM;
}

static void at_end(enum hyphae_end_kind kind, void *ctx)
{
	struct shared *s = ctx;

	CHECK(kind == HYPHAE_END_RELEASED);
	__atomic_add_fetch(&s->ended, 1, __ATOMIC_RELAXED);
}

static void *write_all(void *arg)
{
	static const char *const texts[] = {"a", "bb", "ccc", "dddd"};
	struct shared *s = arg;

	for (int i = 0; i < WRITES; i++) {
		CHECK(hyphae_string_set(s->text, texts[i % 4]) >= 0);
		CHECK(hyphae_int64_set(s->number, i) >= 0);
		CHECK(hyphae_int64_set(s->event, 1) == 0);
	}
	return NULL;
}

/* Each over the text; all of them hold strings. */
static void make_some(struct shared *s, struct hyphae_cell *cells[])
{
	static const char *const start = "start";
	const struct hyphae_type *type = &hyphae_string;
	struct hyphae_cell *in = s->text, *map;

	map = hyphae_map(in, type, odd_fails, NULL);
	cells[0] = hyphae_catch_error(map, explain, s);
	cells[1] = hyphae_scan(in, type, &start, append, NULL);
	cells[2] = hyphae_window(in, 3, type, longest, NULL);
	cells[3] = hyphae_distinct(in, 2);
	cells[4] = hyphae_take(in, 3);
	cells[5] = hyphae_finalize(in, at_end, s);
	cells[6] = hyphae_take_until(in, s->number);
	cells[7] = hyphae_buffer_count(map, 2, type, longest, NULL);
	cells[8] = hyphae_unwrap_or(map, type, &start);
	cells[9] = map;
}
#define SOME 10

static void *come_and_go(void *arg)
{
	struct hyphae_cell *cells[SOME];
	struct shared *s = arg;
	char *text;
	int r;

	for (int round = 0; round < ROUNDS; round++) {
		make_some(s, cells);
		__atomic_add_fetch(&s->made, 1, __ATOMIC_RELAXED);
		for (int i = 0; i < SOME; i++) {
			CHECK(cells[i] != NULL);
			r = hyphae_string_get(cells[i], &text);
			CHECK(r == 0 || r == -ENODATA || r == -EIO);
			if (r == 0)
				free(text);
			CHECK(hyphae_cell_unref(cells[i]) == 0);
		}
	}
	return NULL;
}

static int plant(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	s->graph = hyphae_graph_new(0);
	s->text = hyphae_string_new(s->graph, "a");
	s->number = hyphae_int64_new(s->graph, 0);
	s->event = hyphae_event_new(s->graph, &hyphae_int64);
	*state = s;
	return s->event ? 0 : -1;
}

static int uproot(void **state)
{
	struct shared *s = *state;

	assert_int_equal(s->failed, 0);
	end_graph(s->graph, 3, 0);
	free(s);
	return 0;
}

static void run(struct shared *s, void *(*const bodies[])(void *), size_t count)
{
	pthread_t threads[8];

	for (size_t i = 0; i < count; i++)
		start(&threads[i], bodies[i], s);
	for (size_t i = 0; i < count; i++)
		join(threads[i]);
}

static void made_and_released_while_others_write(void **state)
{
	struct shared *s = *state;

	WATCH();
	run(s, (void *(*const[])(void *)){write_all, come_and_go, come_and_go},
	    3);
	assert_int_equal(s->made, 2 * ROUNDS);
	assert_int_equal(s->ended, s->made);
}

static int count_values(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		++*(unsigned int *)ctx;
	return 0;
}

static void emissions_are_all_counted(void **state)
{
	struct shared *s = *state;
	struct hyphae_cell *sum, *some;
	unsigned int values = 0;
	int64_t zero = 0;

	WATCH();
	sum = hyphae_scan(s->event, &hyphae_int64, &zero, add, NULL);
	some = hyphae_take(s->event, 1013);
	assert_non_null(hyphae_subscribe(some, count_values, &values));
	run(s, (void *(*const[])(void *)){write_all, write_all, write_all}, 3);
	assert_int_equal(value(sum), 3 * WRITES);
	assert_int_equal(values, 1013);
	assert_int_equal(hyphae_cell_unref(sum), 0);
	assert_int_equal(hyphae_cell_unref(some), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			made_and_released_while_others_write, plant, uproot),
		cmocka_unit_test_setup_teardown(emissions_are_all_counted,
						plant, uproot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
