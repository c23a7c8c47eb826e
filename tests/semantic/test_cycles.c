/* SPDX-License-Identifier: MIT */
/* Group C: feedback through subscribers that never settles. */
#include <errno.h>
#include <string.h>

#include "fixture.h"

FN(same, in[0]);

/* log->number: how much to add, 0 for nothing. */
static int set_arg_to_more(struct log *log, const struct hyphae_signal *signal)
{
	int r;

	if (log->number < 0)
		return 0;
	r = hyphae_int64_set(log->arg, hyphae_int64_of(signal) + log->number);
	return r < 0 ? r : 0;
}

/* A source that its subscriber raises for ever, once it is armed. */
static struct log *feedback(struct world *w, struct hyphae_cell *a)
{
	struct log *log =
		follow_with(w, a, set_arg_to_more, a, HYPHAE_SKIP_INITIAL);

	log->number = 1;
	return log;
}

static void c04_never_settles(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, same, a);
	struct log *seen = feedback(w, a);

	assert_int_equal(hyphae_cell_set_name(a, "runaway"), 0);
	assert_int_equal(hyphae_int64_set(a, 1), -ELOOP);
	assert_int_equal(seen->calls, 100);
	assert_int_equal(seen->deepest, 1);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -ELOOP);
	assert_non_null(strstr(w->problem, "runaway"));
	/* The queue is empty, and what was delivered last is what is held. */
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(value(a), 100);
	assert_int_equal(value(b->cell), 100);
	seen->number = -1;
	put(a, 7);
	assert_int_equal(seen->calls, 101);
	assert_int_equal(value(b->cell), 7);
	assert_int_equal(w->problems, 1);
}

static void c04_limit_is_settable(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = feedback(w, a);

	assert_int_equal(hyphae_graph_set_wave_limit(w->graph, 0), -EINVAL);
	assert_int_equal(hyphae_graph_set_wave_limit(w->graph, 3), 0);
	assert_int_equal(hyphae_int64_set(a, 1), -ELOOP);
	assert_log(seen, "1,2,3");
	assert_int_equal(hyphae_graph_set_wave_limit(w->graph, 1), 0);
	assert_int_equal(hyphae_int64_set(a, 10), -ELOOP);
	assert_log(seen, "1,2,3,10");
	assert_int_equal(w->problems, 2);
}

static int up_to_hundred(struct log *log, const struct hyphae_signal *signal)
{
	int64_t v = hyphae_int64_of(signal);
	int r = v < 100 ? hyphae_int64_set(log->cell, v + 1) : 0;

	return r < 0 ? r : 0;
}

/* As many waves as are allowed are no problem. */
static void c04_just_within_the_limit(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen =
		follow_with(w, a, up_to_hundred, NULL, HYPHAE_SKIP_INITIAL);

	put(a, 1);
	assert_int_equal(seen->calls, 100);
	assert_int_equal(value(a), 100);
	assert_int_equal(w->problems, 0);
}

static void c04_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = feedback(w, a);

	begin_batch(w);
	put(a, 1);
	assert_int_equal(hyphae_batch_end(w->graph), -ELOOP);
	assert_int_equal(seen->calls, 100);
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(hyphae_batch_end(w->graph), -EINVAL);
}

/* An unrelated cell that was written in the last wave is not lost. */
static void c04_others_are_served(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *seen = feedback(w, a);
	struct log *other = follow(w, b);

	assert_int_equal(hyphae_int64_set(a, 1), -ELOOP);
	seen->number = -1;
	put(b, 5);
	assert_log(other, "0,5");
}

static void c05_ping_pong(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *a_seen =
		follow_with(w, a, set_arg_to_more, b, HYPHAE_SKIP_INITIAL);
	struct log *b_seen =
		follow_with(w, b, set_arg_to_more, a, HYPHAE_SKIP_INITIAL);

	b_seen->number = 1;
	assert_int_equal(hyphae_cell_set_name(a, "ping"), 0);
	assert_int_equal(hyphae_cell_set_name(b, "pong"), 0);
	assert_int_equal(hyphae_int64_set(a, 1), -ELOOP);
	assert_int_equal(a_seen->calls, 50);
	assert_int_equal(b_seen->calls, 50);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -ELOOP);
	assert_non_null(strstr(w->problem, "ping"));
	assert_non_null(strstr(w->problem, "pong"));
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	b_seen->number = -1;
	put(a, 1000);
	assert_int_equal(a_seen->calls, 51);
	assert_int_equal(b_seen->calls, 51);
	assert_int_equal(value(b), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(c04_never_settles),	 CASE(c04_limit_is_settable),
		CASE(c04_just_within_the_limit), CASE(c04_in_a_batch),
		CASE(c04_others_are_served),	 CASE(c05_ping_pong),
	};

	return cmocka_run_group_tests_name("cycles", tests, NULL, NULL);
}
