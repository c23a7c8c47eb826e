/* SPDX-License-Identifier: MIT */
/*
 * What other threads do while a function of the user runs, for which the lock
 * is let go of.  The comment of a test says which fault it found.  Every
 * interleaving is made, not waited for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <semaphore.h>

#include <hyphae/hyphae.h>

#include "threads.h"

/* A thread that sets a cell to 1, and what the other one waits for. */
struct setter {
	struct hyphae_graph *graph;
	struct hyphae_cell *cell, *other;
	pthread_t thread;
	sem_t inside, go, left;
	int result;
};

static void *set_one(void *ctx)
{
	struct setter *s = ctx;

	s->result = hyphae_int64_set(s->cell, 1);
	sem_post(&s->left);
	return NULL;
}

static void setter_start(struct setter *s)
{
	sem_init(&s->inside, 0, 0);
	sem_init(&s->go, 0, 0);
	sem_init(&s->left, 0, 0);
	start(&s->thread, set_one, s);
	sem_wait(&s->inside);
}

static void setter_done(struct setter *s)
{
	join(s->thread);
	assert_int_equal(s->result, 0);
	sem_destroy(&s->inside);
	sem_destroy(&s->go);
	sem_destroy(&s->left);
}

/* ---- an error that is over --------------------------------------------------- */

static int fail_at_zero(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return *(int64_t *)ret ? 0 : -EIO;
}

static int stay_and_heal(const struct hyphae_signal *signal, void *ctx)
{
	struct setter *s = ctx;

	(void)signal;
	sem_post(&s->inside);
	sem_wait(&s->go);
	return hyphae_int64_set(s->other, 5);
}

/* Leaves when the error is over. */
static int wait_until_healed(int code, const char *message, void *ctx)
{
	struct setter *s = ctx;

	(void)code;
	(void)message;
	sem_post(&s->go);
	sem_wait(&s->left);
	return 0;
}

/*
 * While map_error() was made, and its function ran for the error of the input,
 * the thread that propagates gave the input a value.  What the new cell then
 * took over was no error at all.
 */
static void error_is_over_when_its_function_returns(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct setter s = {.graph = graph};
	struct hyphae_cell *failing, *cell;

	(void)state;
	WATCH();
	s.cell = hyphae_int64_new(graph, 0);
	s.other = hyphae_int64_new(graph, 0);
	failing = hyphae_map(s.other, &hyphae_int64, fail_at_zero, NULL);
	assert_non_null(hyphae_subscribe_with(s.cell, stay_and_heal, &s, NULL,
					      HYPHAE_SKIP_INITIAL));
	setter_start(&s);
	cell = hyphae_map_error(failing, wait_until_healed, &s);
	assert_non_null(cell);
	setter_done(&s);
	assert_int_equal(value(cell), 5);
	end_graph(graph, 4, 1);
}

/* ---- two functions that give inner cells ---------------------------------------- */

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static struct hyphae_cell *stay_and_give(const void *outer, void *ctx)
{
	struct setter *s = ctx;

	if (*(const int64_t *)outer > 1) { /* 10 maps above it */
		sem_post(&s->inside);
		sem_wait(&s->go);
	}
	return s->other;
}

static struct hyphae_cell *wait_and_give(const void *outer, void *ctx)
{
	struct setter *s = ctx;

	(void)outer;
	sem_post(&s->go);
	sem_wait(&s->left);
	return s->other;
}

/*
 * What such a function makes lies above its selector.  Of two that overlapped
 * the second left the height of the first behind, for all cells ever after.
 */
static void height_is_put_back_by_two_threads(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *high, *first, *second, *cell;
	struct setter s = {.graph = graph};
	struct hyphae_cell_info info;

	(void)state;
	WATCH();
	s.cell = hyphae_int64_new(graph, -9);
	s.other = hyphae_int64_new(graph, 7);
	high = s.cell;
	for (int i = 0; i < 10; i++)
		high = hyphae_map(high, &hyphae_int64, plus_one, NULL);
	first = hyphae_switch_map(high, &hyphae_int64, stay_and_give, &s);
	assert_non_null(first);
	setter_start(&s);
	second = hyphae_switch_map(s.other, &hyphae_int64, wait_and_give, &s);
	assert_non_null(second);
	setter_done(&s);
	assert_int_equal(value(first), 7);
	assert_int_equal(value(second), 7);
	cell = hyphae_map(s.other, &hyphae_int64, plus_one, NULL);
	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	assert_int_equal(info.height, 1);
	end_graph(graph, 2 + 10 + 2 + 2 + 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_is_over_when_its_function_returns),
		cmocka_unit_test(height_is_put_back_by_two_threads),
	};

	return cmocka_run_group_tests_name("unlocked", tests, NULL, NULL);
}
