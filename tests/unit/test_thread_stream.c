/* SPDX-License-Identifier: MIT */
/* Streams between threads: nothing is lost, nobody waits for ever. */
#include <poll.h>

#include "flow.h"
#include "run.h"
#include "threads.h"

#define SETTERS 4
#define SETS 500

struct taker {
	struct hyphae_stream *stream;
	uint64_t taken, dropped;
	int64_t last;
	int result; /* of the take that ended it */
	bool by_fd, out_of_order;
	int ends;
};

static int take(struct taker *t, struct hyphae_item *item)
{
	struct pollfd p = {.fd = -1, .events = POLLIN};

	if (!t->by_fd)
		return hyphae_stream_wait(t->stream, item, -1);
	p.fd = hyphae_stream_fd(t->stream);
	if (p.fd >= 0)
		poll(&p, 1, -1);
	return hyphae_stream_next(t->stream, item);
}

/* Until the stream has ended. */
static void *take_all(void *ctx)
{
	struct taker *t = ctx;
	struct hyphae_item item;

	while ((t->result = take(t, &item)) >= 0) {
		if (!t->result)
			continue;
		t->dropped += item.dropped;
		if (item.signal.terminal) {
			t->ends++;
		} else {
			t->taken++;
			if (t->ends)
				t->out_of_order = true;
			t->last = hyphae_int64_of(&item.signal);
		}
		hyphae_item_release(&item);
	}
	return NULL;
}

static struct hyphae_cell *target;
static int64_t next_value;

static void *set_many(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < SETS; i++)
		hyphae_int64_set(target, __atomic_add_fetch(&next_value, 1,
							    __ATOMIC_RELAXED));
	return NULL;
}

/* H-01: what is taken last is the last value. */
static void h01_last_taken_is_last_value(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct taker takers[6];
	pthread_t setters[SETTERS], threads[6];
	static const enum hyphae_overflow policies[] = {
		HYPHAE_OVERFLOW_DROP_OLDEST, HYPHAE_OVERFLOW_LATEST};
	int64_t final;

	(void)state;
	WATCH();
	memset(takers, 0, sizeof(takers));
	target = hyphae_int64_new(graph, 0);
	for (int i = 0; i < 6; i++) {
		takers[i].by_fd = i % 2;
		takers[i].stream = hyphae_stream_new(target, 1 + (size_t)i * 7,
						     policies[i % 2], 0);
		start(&threads[i], take_all, &takers[i]);
	}
	for (int i = 0; i < SETTERS; i++)
		start(&setters[i], set_many, NULL);
	for (int i = 0; i < SETTERS; i++)
		join(setters[i]);
	assert_int_equal(hyphae_settle(graph), 0);
	final = value(target);
	assert_int_equal(hyphae_cell_complete(target), 0);
	for (int i = 0; i < 6; i++) {
		struct hyphae_stream_counts counts;

		join(threads[i]);
		assert_int_equal(takers[i].result, -ESHUTDOWN);
		assert_int_equal(takers[i].ends, 1);
		assert_false(takers[i].out_of_order);
		assert_int_equal(takers[i].last, final);
		hyphae_stream_counts(takers[i].stream, &counts);
		assert_int_equal(counts.taken, takers[i].taken);
		assert_int_equal(counts.dropped, takers[i].dropped);
		assert_int_equal(counts.received,
				 takers[i].taken + takers[i].dropped);
		assert_int_equal(hyphae_stream_close(takers[i].stream), 0);
	}
	end_graph(graph, 1, 0);
}

/* H-03: closed while one waits and others set. */
static void h03_close_races_wait_and_set(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	unsigned long long seed = test_seed(11);

	(void)state;
	WATCH();
	target = hyphae_int64_new(graph, 0);
	for (int round = 0; round < 60; round++) {
		struct taker takers[3];
		pthread_t setter, threads[3];

		memset(takers, 0, sizeof(takers));
		for (int i = 0; i < 3; i++) {
			takers[i].by_fd = i == 2;
			takers[i].stream = hyphae_stream_new(
				target, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
		}
		takers[1].stream = takers[0].stream; /* two wait for one */
		for (int i = 0; i < 3; i++)
			start(&threads[i], take_all, &takers[i]);
		start(&setter, set_many, NULL);
		for (unsigned int i = 0; i < (seed + (unsigned)round * 7) % 50;
		     i++)
			sched_yield();
		assert_int_equal(hyphae_stream_close(takers[0].stream), 0);
		join(threads[0]);
		join(threads[1]);
		assert_int_equal(takers[0].result, -ESTALE);
		assert_int_equal(takers[1].result, -ESTALE);
		join(setter);
		assert_int_equal(hyphae_cell_fail(target, -EIO, "end"), 0);
		join(threads[2]);
		assert_int_equal(takers[2].result, -ESHUTDOWN);
		assert_int_equal(hyphae_stream_close(takers[2].stream), 0);
		hyphae_cell_unref(target);
		target = hyphae_int64_new(graph, 0);
	}
	end_graph(graph, 1, 0);
}

static void *close_stream(void *ctx)
{
	struct taker *t = ctx;

	t->result = hyphae_stream_close(t->stream);
	return NULL;
}

/* One of two that close at once does it. */
static void closed_by_two(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);

	(void)state;
	WATCH();
	target = hyphae_int64_new(graph, 0);
	for (int round = 0; round < 200; round++) {
		struct taker t[2] = {{.result = 0}};
		pthread_t thread;

		t[0].stream = t[1].stream =
			hyphae_stream_new(target, 1, HYPHAE_OVERFLOW_LATEST, 0);
		start(&thread, close_stream, &t[0]);
		close_stream(&t[1]);
		join(thread);
		assert_int_equal(t[0].result + t[1].result, -ESTALE);
	}
	end_graph(graph, 1, 0);
}

/*
 * A single-threaded graph feeds another thread, which closes: the graph is
 * not touched by it, and its subscription ends with the next signal.
 */
static void single_thread_graph_is_left_alone(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *s = hyphae_string_new(graph, "moss");
	struct hyphae_graph_counts counts;
	struct taker t = {.result = 0};
	pthread_t thread;
	char name[24];

	(void)state;
	WATCH();
	t.stream = hyphae_stream_new(s, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	start(&thread, close_stream, &t);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "spore %d", i);
		assert_int_equal(hyphae_string_set(s, name), 0);
	}
	join(thread);
	assert_int_equal(t.result, 0);
	hyphae_string_set(s, "last");
	hyphae_graph_counts(graph, &counts);
	assert_int_equal(counts.subscriptions, 0);
	end_graph(graph, 1, 0);
}

/* Boxes are taken and given up on other threads than the graph's. */
static void *take_strings(void *ctx)
{
	struct taker *t = ctx;
	struct hyphae_item item;

	while ((t->result = hyphae_stream_wait(t->stream, &item, -1)) == 1) {
		if (item.signal.kind == HYPHAE_VALUE &&
		    strncmp(hyphae_string_of(&item.signal), "spore", 5) == 0)
			t->taken++;
		hyphae_item_release(&item);
	}
	return NULL;
}

static void strings_between_threads(void **state)
{
	static const unsigned int both[] = {0, HYPHAE_SINGLE_THREAD};

	(void)state;
	WATCH();
	for (int kind = 0; kind < 2; kind++) {
		struct hyphae_graph *graph = hyphae_graph_new(both[kind]);
		struct hyphae_cell *s = hyphae_string_new(graph, "spore");
		struct taker t[2] = {{.result = 0}};
		struct hyphae_stream_counts counts;
		pthread_t threads[2];
		char name[24];

		for (int i = 0; i < 2; i++) {
			t[i].stream = hyphae_stream_new(
				s, 16, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
			start(&threads[i], take_strings, &t[i]);
		}
		for (int i = 0; i < 2000; i++) {
			snprintf(name, sizeof(name), "spore %d", i);
			assert_int_equal(hyphae_string_set(s, name), 0);
		}
		hyphae_graph_free(graph);
		for (int i = 0; i < 2; i++) {
			join(threads[i]);
			assert_int_equal(t[i].result, -ESHUTDOWN);
			hyphae_stream_counts(t[i].stream, &counts);
			assert_int_equal(counts.received, 2001);
			assert_int_equal(counts.taken, t[i].taken);
			hyphae_stream_close(t[i].stream);
		}
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h01_last_taken_is_last_value),
		cmocka_unit_test(h03_close_races_wait_and_set),
		cmocka_unit_test(closed_by_two),
		cmocka_unit_test(single_thread_graph_is_left_alone),
		cmocka_unit_test(strings_between_threads),
	};

	return cmocka_run_group_tests_name("thread_stream", tests, NULL, NULL);
}
