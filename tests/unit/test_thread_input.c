/* SPDX-License-Identifier: MIT */
/* Inputs between threads: what is pushed is delivered, dropped or refused. */
#include "flow.h"
#include "run.h"
#include "threads.h"

#define PUSHERS 4
#define PUSHES 1500

struct seen {
	uint64_t values, ends;
	int64_t newest;
	int64_t last[PUSHERS]; /* of each pusher */
	bool out_of_order;
	int inside;
	bool entered_twice;
};

static int see(const struct hyphae_signal *signal, void *ctx)
{
	struct seen *s = ctx;
	int64_t v;

	if (__atomic_add_fetch(&s->inside, 1, __ATOMIC_RELAXED) != 1)
		s->entered_twice = true;
	if (signal->terminal) {
		s->ends++;
	} else {
		v = hyphae_int64_of(signal);
		s->values++;
		s->newest = v;
		if (v % PUSHES <= s->last[v / PUSHES])
			s->out_of_order = true;
		s->last[v / PUSHES] = v % PUSHES;
	}
	__atomic_sub_fetch(&s->inside, 1, __ATOMIC_RELAXED);
	return 0;
}

struct pusher {
	struct hyphae_input *input;
	int64_t number;
	uint64_t pushed, refused;
	int last;
};

static void *push_many(void *ctx)
{
	struct pusher *p = ctx;

	for (int64_t i = 1; i < PUSHES; i++) {
		int64_t v = p->number * PUSHES + i;

		p->last = hyphae_input_push(p->input, &v);
		if (p->last >= 0)
			p->pushed++;
		else
			p->refused++;
	}
	return NULL;
}

/* Everything that was pushed is accounted for; in the order of each pusher. */
static void run_pushers(unsigned int kind, enum hyphae_overflow policy,
			unsigned int flags, bool all_arrive)
{
	struct hyphae_graph *graph = hyphae_graph_new(kind);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_input *input = hyphae_input_new(cell, 7, policy, flags);
	struct pusher p[PUSHERS];
	struct seen seen;
	struct hyphae_input_counts c;
	pthread_t threads[PUSHERS];
	uint64_t pushed = 0, refused = 0;

	memset(p, 0, sizeof(p));
	memset(&seen, 0, sizeof(seen));
	assert_non_null(hyphae_subscribe_with(cell, see, &seen, NULL,
					      HYPHAE_SKIP_INITIAL));
	for (int i = 0; i < PUSHERS; i++) {
		p[i].input = input;
		p[i].number = i;
		start(&threads[i], push_many, &p[i]);
	}
	/* The graph's owner. */
	do {
		assert_int_equal(kind & HYPHAE_SINGLE_THREAD &&
						 flags & HYPHAE_INPUT_AUTO
					 ? hyphae_settle(graph)
					 : hyphae_input_flush(input),
				 0);
		assert_int_equal(hyphae_input_counts(input, &c), 0);
		sched_yield();
	} while (c.pushed + c.refused < PUSHERS * (PUSHES - 1));
	for (int i = 0; i < PUSHERS; i++) {
		join(threads[i]);
		pushed += p[i].pushed;
		refused += p[i].refused;
	}
	assert_int_equal(hyphae_input_close(input), 0);
	assert_int_equal(hyphae_settle(graph), 0);
	assert_int_equal(hyphae_input_counts(input, &c), 0);
	assert_int_equal(c.pushed, pushed);
	assert_int_equal(c.refused, refused);
	assert_int_equal(c.waiting, 0);
	assert_int_equal(c.delivered + c.dropped + c.coalesced, c.pushed);
	assert_int_equal(seen.values, c.delivered);
	assert_int_equal(seen.ends, 1);
	assert_false(seen.out_of_order);
	assert_false(seen.entered_twice);
	assert_int_equal(value(cell), seen.newest);
	if (all_arrive)
		assert_int_equal(seen.values, PUSHERS * (PUSHES - 1));
	assert_int_equal(hyphae_input_free(input), 0);
	end_graph(graph, 1, 0);
}

static void all_of_it_is_accounted_for(void **state)
{
	static const enum hyphae_overflow policies[] = {
		HYPHAE_OVERFLOW_BLOCK, HYPHAE_OVERFLOW_DROP_OLDEST,
		HYPHAE_OVERFLOW_DROP_NEWEST, HYPHAE_OVERFLOW_FAIL,
		HYPHAE_OVERFLOW_LATEST};

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		bool all = policies[i] == HYPHAE_OVERFLOW_BLOCK;

		EACH_KIND(kind)
		{
			WATCH();
			run_pushers(*kind, policies[i], 0, all);
			WATCH();
			run_pushers(*kind, policies[i], HYPHAE_INPUT_AUTO, all);
			WATCH();
			run_pushers(*kind, policies[i], HYPHAE_INPUT_COALESCE,
				    false);
		}
	}
	alarm(0);
}

/* Closed while others push and wait for room: they are told. */
static void close_races_push(void **state)
{
	unsigned long long seed = test_seed(5);

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		struct hyphae_graph *graph;
		struct hyphae_cell *cell;
		struct pusher p[2] = {{.number = 0}, {.number = 1}};
		struct seen seen;
		struct hyphae_input_counts c;
		pthread_t threads[2];
		bool automatic = round % 2;

		WATCH();
		memset(&seen, 0, sizeof(seen));
		graph = hyphae_graph_new(0);
		cell = hyphae_int64_new(graph, 0);
		p[0].input = p[1].input =
			hyphae_input_new(cell, 5, HYPHAE_OVERFLOW_BLOCK,
					 automatic ? HYPHAE_INPUT_AUTO : 0);
		hyphae_subscribe_with(cell, see, &seen, NULL,
				      HYPHAE_SKIP_INITIAL);
		for (int i = 0; i < 2; i++)
			start(&threads[i], push_many, &p[i]);
		for (unsigned int i = 0; i < (seed + round * 13) % 40; i++)
			sched_yield();
		assert_int_equal(hyphae_input_close(p[0].input), 0);
		for (int i = 0; i < 2; i++) {
			join(threads[i]);
			assert_int_equal(p[i].pushed + p[i].refused,
					 PUSHES - 1);
		}
		hyphae_settle(graph);
		assert_int_equal(hyphae_input_counts(p[0].input, &c), 0);
		assert_int_equal(c.delivered, p[0].pushed + p[1].pushed);
		assert_int_equal(c.delivered, seen.values);
		assert_int_equal(seen.ends, 1);
		assert_int_equal(hyphae_input_free(p[0].input), 0);
		end_graph(graph, 1, 0);
	}
}

/* A wait for room ends in time. */
static void *push_and_time_out(void *ctx)
{
	struct pusher *p = ctx;
	int64_t v = 1;

	hyphae_input_push_wait(p->input, &v, 1);
	p->last = hyphae_input_push_wait(p->input, &v, 1000);
	return NULL;
}

static void a_push_times_out(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct pusher p = {.number = 0};
	pthread_t thread;

	(void)state;
	WATCH();
	p.input = hyphae_input_new(cell, 1, HYPHAE_OVERFLOW_BLOCK, 0);
	start(&thread, push_and_time_out, &p);
	join(thread);
	assert_int_equal(p.last, -ETIMEDOUT);
	assert_int_equal(hyphae_input_free(p.input), 0);
	end_graph(graph, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_is_accounted_for),
		cmocka_unit_test(close_races_push),
		cmocka_unit_test(a_push_times_out),
	};

	return cmocka_run_group_tests_name("thread_input", tests, NULL, NULL);
}
