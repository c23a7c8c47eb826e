/* SPDX-License-Identifier: MIT */
/* Inputs on one thread: what reaches the cell, and what does not. */
#include "flow.h"

struct bed {
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	struct hyphae_input *input;
	struct text t;
};

static void plant(struct bed *b, unsigned int kind, size_t capacity,
		  enum hyphae_overflow policy, unsigned int flags)
{
	memset(b, 0, sizeof(*b));
	b->graph = hyphae_graph_new(kind);
	b->cell = hyphae_int64_new(b->graph, 0);
	b->input = hyphae_input_new(b->cell, capacity, policy, flags);
	assert_non_null(b->input);
	assert_non_null(hyphae_subscribe_with(b->cell, note, &b->t, drop_text,
					      HYPHAE_SKIP_INITIAL));
}

static int push(struct bed *b, int64_t value)
{
	return hyphae_input_push(b->input, &value);
}

static void expect_counts(struct hyphae_input *input, uint64_t pushed,
			  uint64_t delivered, uint64_t coalesced,
			  uint64_t dropped, uint64_t refused, uint64_t waiting)
{
	struct hyphae_input_counts c;

	assert_int_equal(hyphae_input_counts(input, &c), 0);
	assert_int_equal(c.pushed, pushed);
	assert_int_equal(c.delivered, delivered);
	assert_int_equal(c.coalesced, coalesced);
	assert_int_equal(c.dropped, dropped);
	assert_int_equal(c.refused, refused);
	assert_int_equal(c.waiting, waiting);
}

/* Only the two own cells and the kick's subscription and the bed's. */
static void dig_up(struct bed *b)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_check_idle(b->graph), 0);
	hyphae_graph_counts(b->graph, &counts);
	assert_int_equal(counts.cells, 1);
	assert_int_equal(hyphae_graph_free(b->graph), 0);
	assert_int_equal(b->t.drops, 1);
}

static void each_value_is_a_wave(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct bed b;

		plant(&b, *kind, 300, HYPHAE_OVERFLOW_FAIL, 0);
		for (int64_t i = 1; i <= 3; i++)
			assert_int_equal(push(&b, i), 0);
		assert_text(&b.t, "");
		expect_counts(b.input, 3, 0, 0, 0, 0, 3);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		assert_text(&b.t, "1,2,3");
		assert_int_equal(hyphae_input_flush(b.input), 0);
		/* More than the wave limit of 100. */
		for (int64_t i = 1; i <= 300; i++)
			assert_int_equal(push(&b, i), 0);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		expect_counts(b.input, 303, 303, 0, 0, 0, 0);
		b.t.length = 0;
		assert_int_equal(push(&b, 7), 0);
		assert_int_equal(hyphae_input_close(b.input), 0);
		assert_text(&b.t, "7,C");
		assert_int_equal(push(&b, 8), -ESHUTDOWN);
		assert_int_equal(hyphae_input_close(b.input), 0);
		expect_counts(b.input, 304, 304, 0, 0, 1, 0);
		assert_int_equal(hyphae_input_free(b.input), 0);
		assert_int_equal(hyphae_input_free(b.input), -ESTALE);
		dig_up(&b);
	}
}

static void coalesced_into_one_batch(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct bed b;

		plant(&b, *kind, 8, HYPHAE_OVERFLOW_FAIL,
		      HYPHAE_INPUT_COALESCE);
		for (int64_t i = 1; i <= 5; i++)
			assert_int_equal(push(&b, i), 0);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		assert_text(&b.t, "5");
		expect_counts(b.input, 5, 1, 4, 0, 0, 0);
		assert_int_equal(hyphae_input_free(b.input), 0);
		assert_text(&b.t, "C");
		dig_up(&b);
	}
}

static void events_all_count(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *e = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_input *input = hyphae_input_new(
		e, 8, HYPHAE_OVERFLOW_FAIL, HYPHAE_INPUT_COALESCE);
	struct text t = {.length = 0};
	int64_t five = 5;

	(void)state;
	hyphae_subscribe(e, note, &t);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hyphae_input_push(input, &five), 0);
	assert_int_equal(hyphae_input_flush(input), 0);
	assert_text(&t, "5,5,5");
	expect_counts(input, 3, 3, 0, 0, 0, 0);
	assert_int_equal(hyphae_input_free(input), 0);
	hyphae_graph_free(graph);
}

static void auto_delivers_at_once(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct bed b;
		bool posts = *kind & HYPHAE_SINGLE_THREAD;

		plant(&b, *kind, 8, HYPHAE_OVERFLOW_FAIL, HYPHAE_INPUT_AUTO);
		assert_int_equal(push(&b, 1), 0);
		assert_int_equal(push(&b, 2), 0);
		if (posts) {
			assert_text(&b.t, "");
			assert_int_equal(hyphae_settle(b.graph), 0);
		}
		assert_text(&b.t, "1,2");
		/* A batch holds them up; they are still one wave each. */
		hyphae_batch_begin(b.graph);
		assert_int_equal(push(&b, 3), 0);
		assert_int_equal(push(&b, 4), 0);
		assert_text(&b.t, "");
		assert_int_equal(hyphae_batch_end(b.graph), 0);
		if (posts)
			hyphae_settle(b.graph);
		assert_text(&b.t, "3,4");
		assert_int_equal(hyphae_input_free(b.input), 0);
		if (posts)
			hyphae_settle(b.graph);
		assert_text(&b.t, "C");
		dig_up(&b);
	}
}

static void full(enum hyphae_overflow policy, int third, const char *expected,
		 uint64_t pushed, uint64_t dropped, uint64_t refused)
{
	EACH_KIND(kind)
	{
		struct bed b;

		plant(&b, *kind, 2, policy, 0);
		assert_int_equal(push(&b, 1), 0);
		assert_int_equal(push(&b, 2), 0);
		assert_int_equal(push(&b, 3), third);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		assert_text(&b.t, expected);
		expect_counts(b.input, pushed, pushed - dropped, 0, dropped,
			      refused, 0);
		assert_int_equal(hyphae_input_free(b.input), 0);
		dig_up(&b);
	}
}

static void when_full(void **state)
{
	(void)state;
	full(HYPHAE_OVERFLOW_DROP_OLDEST, 0, "2,3", 3, 1, 0);
	full(HYPHAE_OVERFLOW_DROP_NEWEST, HYPHAE_INPUT_DROPPED, "1,2", 3, 1, 0);
	full(HYPHAE_OVERFLOW_FAIL, -EAGAIN, "1,2", 2, 0, 1);
	/* This thread would have to flush. */
	full(HYPHAE_OVERFLOW_BLOCK, -EDEADLK, "1,2", 2, 0, 1);
}

static void latest_is_one(void **state)
{
	struct bed b;

	(void)state;
	plant(&b, 0, 1, HYPHAE_OVERFLOW_LATEST, 0);
	for (int64_t i = 1; i <= 3; i++)
		assert_int_equal(push(&b, i), 0);
	assert_int_equal(hyphae_input_free(b.input), 0);
	assert_text(&b.t, "3,C");
	dig_up(&b);
}

/* Each value pushes the next one: a loop that ends. */
static int push_next(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *b = ctx;

	if (signal->kind != HYPHAE_VALUE || !hyphae_int64_of(signal))
		return 0;
	return push(b, hyphae_int64_of(signal) + 1);
}

static void a_loop_of_pushes_ends(void **state)
{
	struct bed b;
	int64_t held;

	(void)state;
	plant(&b, 0, 4, HYPHAE_OVERFLOW_BLOCK, HYPHAE_INPUT_AUTO);
	hyphae_subscribe(b.cell, push_next, &b);
	hyphae_graph_set_wave_limit(b.graph, 20);
	assert_int_equal(push(&b, 1), -ELOOP);
	assert_int_equal(hyphae_int64_get(b.cell, &held), 0);
	assert_int_equal(held, 21);
	expect_counts(b.input, 21, 21, 0, 0, 1, 0);
	/* It is none for ever. */
	assert_int_equal(push(&b, 0), 0);
	assert_int_equal(hyphae_input_free(b.input), 0);
	assert_int_equal(hyphae_graph_free(b.graph), 0);
}

/* A subscriber may not wait for the room that it would have to make. */
static int push_three(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *b = ctx;

	if (signal->kind != HYPHAE_VALUE || hyphae_int64_of(signal) != 1)
		return 0;
	add(&b->t, "p%d", push(b, 10));
	add(&b->t, "p%d", push(b, 11));
	add(&b->t, "p%d", push(b, 12) == -EDEADLK);
	return 0;
}

static void no_waiting_for_oneself(void **state)
{
	struct bed b;

	(void)state;
	plant(&b, 0, 2, HYPHAE_OVERFLOW_BLOCK, HYPHAE_INPUT_AUTO);
	hyphae_subscribe(b.cell, push_three, &b);
	assert_int_equal(push(&b, 1), 0);
	assert_text(&b.t, "1,p0,p0,p1,10,11");
	assert_int_equal(hyphae_input_free(b.input), 0);
	assert_text(&b.t, "C");
	assert_int_equal(hyphae_graph_free(b.graph), 0);
}

/* Freed by a subscriber of its own cell: what waits is still delivered. */
static int free_input(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *b = ctx;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 1)
		return hyphae_input_free(b->input);
	return 0;
}

static void freed_by_a_subscriber(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct bed b;

		plant(&b, *kind, 4, HYPHAE_OVERFLOW_FAIL, 0);
		hyphae_subscribe(b.cell, free_input, &b);
		push(&b, 1);
		push(&b, 2);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		assert_text(&b.t, "1,2,C");
		assert_int_equal(hyphae_input_flush(b.input), -ESTALE);
		dig_up(&b);
	}
}

static void the_cell_or_graph_goes_first(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		long live = hy_alloc_live();
		struct bed b;

		plant(&b, *kind, 4, HYPHAE_OVERFLOW_FAIL, 0);
		push(&b, 1);
		push(&b, 2);
		assert_int_equal(hyphae_cell_fail(b.cell, -EIO, "rot"), 0);
		assert_int_equal(hyphae_input_flush(b.input), 0);
		assert_text(&b.t, "T(-5 rot)");
		assert_int_equal(push(&b, 3), -ESHUTDOWN);
		expect_counts(b.input, 2, 0, 0, 2, 1, 0);
		assert_int_equal(hyphae_input_free(b.input), 0);
		dig_up(&b);

		plant(&b, *kind, 4, HYPHAE_OVERFLOW_FAIL, 0);
		push(&b, 1);
		push(&b, 2);
		assert_int_equal(hyphae_graph_free(b.graph), 0);
		assert_text(&b.t, "");
		assert_int_equal(push(&b, 3), -ESTALE);
		assert_int_equal(hyphae_input_flush(b.input), -ESTALE);
		expect_counts(b.input, 2, 0, 0, 2, 1, 0);
		assert_int_equal(hyphae_input_close(b.input), 0);
		assert_int_equal(hyphae_input_free(b.input), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

static void strings_are_copied_once(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *cell = hyphae_string_new(graph, "");
		struct hyphae_input *input = hyphae_input_new(
			cell, 2, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
		struct text t = {.length = 0};
		char word[8] = "moss";
		const char *p = word;

		hyphae_subscribe_with(cell, note, &t, NULL,
				      HYPHAE_SKIP_INITIAL);
		assert_int_equal(hyphae_input_push(input, &p), 0);
		strcpy(word, "fern");
		assert_int_equal(hyphae_input_push(input, &p), 0);
		strcpy(word, "reed");
		assert_int_equal(hyphae_input_push(input, &p), 0);
		strcpy(word, "gone");
		assert_int_equal(hyphae_input_flush(input), 0);
		assert_text(&t, "'fern','reed'");
		p = NULL;
		assert_int_equal(hyphae_input_push(input, &p), -EINVAL);
		expect_counts(input, 3, 2, 0, 1, 1, 0);
		assert_int_equal(hyphae_input_free(input), 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(hy_alloc_live(), live);
	}
}

static int compute_push(void *ret, const void *input, void *ctx)
{
	struct bed *b = ctx;

	*(int64_t *)ret = *(const int64_t *)input ? push(b, 9) : 0;
	return 0;
}

static void not_in_a_compute_function(void **state)
{
	struct bed b;
	struct hyphae_cell *a, *m;
	int64_t held;

	(void)state;
	plant(&b, 0, 4, HYPHAE_OVERFLOW_FAIL, HYPHAE_INPUT_AUTO);
	a = hyphae_int64_new(b.graph, 0);
	m = hyphae_map(a, &hyphae_int64, compute_push, &b);
	assert_int_equal(hyphae_int64_set(a, 1), 0);
	assert_int_equal(hyphae_int64_get(m, &held), 0);
	assert_int_equal(held, -EPERM);
	expect_counts(b.input, 0, 0, 0, 0, 1, 0);
	assert_int_equal(hyphae_input_free(b.input), 0);
	hyphae_graph_free(b.graph);
}

static void bad_input(void **state)
{
	struct bed b;
	struct hyphae_cell *m;
	struct hyphae_input_counts counts;
	int64_t one = 1;

	(void)state;
	plant(&b, 0, 1, HYPHAE_OVERFLOW_BLOCK, 0);
	m = hyphae_map(b.cell, &hyphae_int64, ten_by, NULL);
	const struct {
		struct hyphae_cell *cell;
		size_t capacity;
		int policy;
		unsigned int flags;
		int error;
	} bad[] = {
		{NULL, 1, 0, 0, EINVAL},
		{stale_cell(), 1, 0, 0, ESTALE},
		{m, 1, 0, 0, EINVAL},
		{b.cell, 0, 0, 0, EINVAL},
		{b.cell, SIZE_MAX, 0, 0, EINVAL},
		{b.cell, 1, 5, 0, EINVAL},
		{b.cell, 1, 0, 4, EINVAL},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_null(hyphae_input_new(
			bad[i].cell, bad[i].capacity,
			(enum hyphae_overflow)bad[i].policy, bad[i].flags));
		assert_int_equal(errno, bad[i].error);
	}
	assert_int_equal(hyphae_input_push(NULL, &one), -EINVAL);
	assert_int_equal(hyphae_input_push_wait(NULL, &one, 0), -EINVAL);
	assert_int_equal(hyphae_input_flush(NULL), -EINVAL);
	assert_int_equal(hyphae_input_close(NULL), -EINVAL);
	assert_int_equal(hyphae_input_counts(NULL, &counts), -EINVAL);
	assert_int_equal(hyphae_input_free(NULL), 0);
	assert_int_equal(hyphae_input_push(b.input, NULL), -EINVAL);
	assert_int_equal(hyphae_input_counts(b.input, NULL), -EINVAL);
	assert_int_equal(hyphae_input_push_wait(b.input, &one, 0), 0);
	assert_int_equal(hyphae_input_free(b.input), 0);
	assert_null(hyphae_input_new(b.cell, 1, HYPHAE_OVERFLOW_FAIL, 0));
	assert_int_equal(errno, ESHUTDOWN);
	assert_int_equal(hyphae_input_push(b.input, &one), -ESTALE);
	assert_int_equal(hyphae_input_flush(b.input), -ESTALE);
	assert_int_equal(hyphae_input_close(b.input), -ESTALE);
	assert_int_equal(hyphae_input_counts(b.input, &counts), -ESTALE);
	hyphae_graph_free(b.graph);
}

/* Whatever fails, every push is accounted for, and what waits gets there. */
static void no_memory(void **state)
{
	long live = hy_alloc_live();

	(void)state;
	OOM_SWEEP(n)
	{
		const char *moss = "moss", *fern = "fern";
		struct hyphae_graph *graph;
		struct hyphae_cell *cell;
		struct hyphae_input *input;
		struct hyphae_input_counts c;
		struct text t = {.length = 0};
		unsigned int accepted = 0;

		graph = hyphae_graph_new(0);
		cell = graph ? hyphae_string_new(graph, "") : NULL;
		input = cell ? hyphae_input_new(cell, 4, HYPHAE_OVERFLOW_FAIL,
						n % 2 ? HYPHAE_INPUT_AUTO : 0)
			     : NULL;
		if (input && hyphae_subscribe_with(cell, note, &t, NULL,
						   HYPHAE_SKIP_INITIAL)) {
			accepted += hyphae_input_push(input, &moss) == 0;
			hyphae_input_flush(input);
			accepted += hyphae_input_push(input, &fern) == 0;
			if (hyphae_input_close(input))
				assert_true(n > 0);
			OOM_PAUSE();
			assert_int_equal(hyphae_input_close(input), 0);
			assert_int_equal(hyphae_input_counts(input, &c), 0);
			assert_int_equal(c.pushed, accepted);
			assert_int_equal(c.delivered, accepted);
			assert_int_equal(c.refused, 2 - accepted);
			if (accepted == 2)
				assert_text(&t, "'moss','fern',C");
		}
		OOM_PAUSE();
		hyphae_input_free(input);
		hyphae_graph_free(graph);
		assert_int_equal(hy_alloc_live(), live);
	}
}

static void a_push_allocates_nothing(void **state)
{
	struct bed b;
	unsigned long count;

	(void)state;
	plant(&b, 0, 4, HYPHAE_OVERFLOW_FAIL, HYPHAE_INPUT_AUTO);
	for (int64_t i = 1; i < 4; i++)
		push(&b, i);
	count = hy_alloc_count();
	for (int64_t i = 4; i < 100; i++)
		push(&b, i);
	assert_int_equal(hy_alloc_count(), count);
	assert_int_equal(hyphae_input_free(b.input), 0);
	hyphae_graph_free(b.graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_is_a_wave),
		cmocka_unit_test(coalesced_into_one_batch),
		cmocka_unit_test(events_all_count),
		cmocka_unit_test(auto_delivers_at_once),
		cmocka_unit_test(when_full),
		cmocka_unit_test(latest_is_one),
		cmocka_unit_test(a_loop_of_pushes_ends),
		cmocka_unit_test(no_waiting_for_oneself),
		cmocka_unit_test(freed_by_a_subscriber),
		cmocka_unit_test(the_cell_or_graph_goes_first),
		cmocka_unit_test(strings_are_copied_once),
		cmocka_unit_test(not_in_a_compute_function),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(a_push_allocates_nothing),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
