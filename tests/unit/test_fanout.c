/* SPDX-License-Identifier: MIT */
/* Whom a fan-out calls, and what these may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include <hyphae/hyphae.h>

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER,
				     HYPHAE_SINGLE_THREAD | HYPHAE_EAGER};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- inside a function that may not write -------------------------------- */

/* Whoever copies one makes an effect, once it is armed. */
struct wide {
	struct maker *owner;
	int64_t number;
};

struct maker {
	struct hyphae_graph *graph;
	struct hyphae_cell *wide, *far;
	struct hyphae_subscription *effect;
	bool armed;
	unsigned int calls;
	int copied, effected; /* results of sets */
};

static int write_far(void *ctx)
{
	struct maker *m = ctx;

	m->calls++;
	m->effected = hyphae_int64_set(m->far, 2);
	return 0;
}

static int wide_copy(void *to, const void *from)
{
	const struct wide *wide = from;
	struct maker *m = wide->owner;

	*(struct wide *)to = *wide;
	if (!m->armed)
		return 0;
	m->armed = false;
	m->copied = hyphae_int64_set(m->far, 1);
	m->effect = hyphae_effect(m->graph, write_far, m);
	return 0;
}

static const struct hyphae_type wide_type = {
	.name = "wide",
	.size = sizeof(struct wide),
	.align = _Alignof(struct wide),
	.copy = wide_copy,
};

/* A copy function may not write; what it has called as a subscriber may. */
static void who_is_called_in_a_copy_may_write(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct maker m = {.copied = 1, .effected = 1};
		struct wide wide = {&m, 3}, read;
		int64_t far = 0;

		m.graph = hyphae_graph_new(kinds[i]);
		m.far = hyphae_int64_new(m.graph, 0);
		m.wide = hyphae_cell_new(m.graph, &wide_type, &wide);
		m.armed = true;
		assert_int_equal(hyphae_cell_get(m.wide, &wide_type, &read), 0);
		assert_int_equal(m.copied, -EPERM);
		assert_int_equal(m.calls, 1);
		assert_int_equal(m.effected, 0);
		assert_int_equal(hyphae_int64_get(m.far, &far), 0);
		assert_int_equal(far, 2);
		assert_int_equal(hyphae_graph_free(m.graph), 0);
	}
}

/* ---- who comes while others are called ------------------------------------ */

struct comer {
	struct hyphae_cell *number, *event;
	struct hyphae_subscription *made;
	unsigned int events[3]; /* calls, the last of who came */
	int64_t last;
};

static int count_calls(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static int hear_as_newcomer(const struct hyphae_signal *signal, void *ctx)
{
	struct comer *c = ctx;

	c->events[2]++;
	c->last = *(const int64_t *)signal->value;
	return 0;
}

static int come(const struct hyphae_signal *signal, void *ctx)
{
	struct comer *c = ctx;

	(void)signal;
	if (!c->made)
		c->made = hyphae_subscribe(c->event, hear_as_newcomer, c);
	return 0;
}

static int write_both(struct hyphae_graph *graph, struct comer *c, int64_t n)
{
	hyphae_batch_begin(graph);
	hyphae_int64_set(c->number, n);
	hyphae_int64_set(c->event, n);
	return hyphae_batch_end(graph);
}

/*
 * Who subscribes to an event while subscribers are called is told what it says
 * from the next wave on; in whatever order the cells have their subscribers.
 */
static void a_newcomer_is_told_the_next_emission(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * KINDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i / 2]);
		struct comer c = {.last = 0};

		c.number = hyphae_int64_new(graph, 0);
		c.event = hyphae_event_new(graph, &hyphae_int64);
		if (i & 1) /* before and after the only one of `number` */
			hyphae_subscribe(c.event, count_calls, &c.events[0]);
		hyphae_subscribe_with(c.number, come, &c, NULL,
				      HYPHAE_SKIP_INITIAL);
		hyphae_subscribe(c.event, count_calls, &c.events[1]);
		assert_int_equal(write_both(graph, &c, 1), 0);
		assert_int_equal(c.events[0], i & 1);
		assert_int_equal(c.events[1], 1);
		assert_int_equal(c.events[2], 0);
		assert_int_equal(write_both(graph, &c, 2), 0);
		assert_int_equal(c.events[0], 2 * (i & 1));
		assert_int_equal(c.events[1], 2);
		assert_int_equal(c.events[2], 1);
		assert_int_equal(c.last, 2);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- one subscriber, and then another ------------------------------------- */

/* What the first was told is no news when the second has come. */
static void the_second_subscriber_is_told_what_follows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *text = hyphae_string_new(graph, "a");
		unsigned int calls[2] = {0, 0};

		hyphae_subscribe(text, count_calls, &calls[0]);
		assert_int_equal(hyphae_string_set(text, "b"), 0);
		assert_int_equal(calls[0], 2);
		hyphae_subscribe(text, count_calls, &calls[1]);
		assert_int_equal(calls[1], 1);
		assert_int_equal(hyphae_string_set(text, "c"), 0);
		assert_int_equal(calls[0], 3);
		assert_int_equal(calls[1], 2);
		assert_int_equal(hyphae_cell_complete(text), 0);
		assert_int_equal(calls[0], 4);
		assert_int_equal(calls[1], 3);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- a batch that a subscriber leaves open --------------------------------- */

static int begin_batch(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	return hyphae_batch_begin(ctx);
}

/* It is open for whoever wrote, until somebody ends it. */
static void a_batch_that_a_subscriber_opened_stays_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *opens = hyphae_int64_new(graph, 0);
		struct hyphae_cell *other = hyphae_int64_new(graph, 0);
		unsigned int calls = 0;

		hyphae_subscribe_with(opens, begin_batch, graph, NULL,
				      HYPHAE_SKIP_INITIAL);
		hyphae_subscribe_with(other, count_calls, &calls, NULL,
				      HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_int64_set(opens, 1), 0);
		assert_int_equal(hyphae_int64_set(other, 1), 0);
		assert_int_equal(calls, 0);
		assert_int_equal(hyphae_graph_free(graph), -EBUSY);
		assert_int_equal(hyphae_batch_end(graph), 0);
		assert_int_equal(calls, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_called_in_a_copy_may_write),
		cmocka_unit_test(a_newcomer_is_told_the_next_emission),
		cmocka_unit_test(the_second_subscriber_is_told_what_follows),
		cmocka_unit_test(a_batch_that_a_subscriber_opened_stays_open),
	};

	return cmocka_run_group_tests_name("fanout", tests, NULL, NULL);
}
