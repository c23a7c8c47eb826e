/* SPDX-License-Identifier: MIT */
/* Streams on one thread: what is queued, dropped, ended and given back. */
#include <fcntl.h>
#include <poll.h>

#include "flow.h"

/* Take all that there is, with the numbers of dropped items as "+2". */
static int drain(struct hyphae_stream *stream, struct text *t)
{
	struct hyphae_item item;
	int r;

	while ((r = hyphae_stream_next(stream, &item)) == 1) {
		if (item.dropped)
			add(t, "+%u", (unsigned int)item.dropped);
		add_signal(t, &item.signal);
		hyphae_item_release(&item);
		hyphae_item_release(&item);
	}
	return r;
}

static void expect_counts(struct hyphae_stream *stream, uint64_t received,
			  uint64_t taken, uint64_t dropped, uint64_t waiting)
{
	struct hyphae_stream_counts counts;

	assert_int_equal(hyphae_stream_counts(stream, &counts), 0);
	assert_int_equal(counts.received, received);
	assert_int_equal(counts.taken, taken);
	assert_int_equal(counts.dropped, dropped);
	assert_int_equal(counts.waiting, waiting);
}

static void values_in_order_and_the_end(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1);
		struct hyphae_stream *s =
			hyphae_stream_new(a, 8, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
		struct text t = {.length = 0};

		assert_non_null(s);
		assert_int_equal(hyphae_int64_set(a, 2), 0);
		assert_int_equal(hyphae_int64_set(a, 3), 0);
		expect_counts(s, 3, 0, 0, 3);
		assert_int_equal(drain(s, &t), 0);
		assert_text(&t, "1,2,3");
		assert_int_equal(hyphae_cell_complete(a), 0);
		assert_int_equal(drain(s, &t), -ESHUTDOWN);
		assert_text(&t, "C");
		assert_int_equal(drain(s, &t), -ESHUTDOWN);
		expect_counts(s, 3, 3, 0, 0);
		assert_int_equal(hyphae_stream_close(s), 0);
		assert_int_equal(hyphae_stream_close(s), -ESTALE);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void errors_of_both_kinds(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_int64_new(graph, 5);
		struct hyphae_cell *b =
			hyphae_map(a, &hyphae_int64, ten_by, NULL);
		struct hyphae_stream *s = hyphae_stream_new(
			b, 8, HYPHAE_OVERFLOW_DROP_OLDEST, HYPHAE_SKIP_INITIAL);
		struct text t = {.length = 0};

		assert_int_equal(hyphae_int64_set(a, 0), 0);
		assert_int_equal(hyphae_int64_set(a, 10), 0);
		assert_int_equal(hyphae_cell_fail(a, -EIO, "the spade broke"),
				 0);
		/* The message outlives the graph. */
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(drain(s, &t), -ESHUTDOWN);
		assert_text(&t, "E(-33 ),1,T(-5 the spade broke)");
		assert_int_equal(hyphae_stream_close(s), 0);
	}
}

static void initial_of_an_ended_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 7);
	struct hyphae_stream *s;
	struct text t = {.length = 0};

	(void)state;
	assert_int_equal(hyphae_cell_complete(a), 0);
	s = hyphae_stream_new(a, 1, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	assert_int_equal(drain(s, &t), -ESHUTDOWN);
	assert_text(&t, "7,C");
	hyphae_stream_close(s);
	s = hyphae_stream_new(a, 1, HYPHAE_OVERFLOW_DROP_OLDEST,
			      HYPHAE_SKIP_INITIAL);
	assert_int_equal(drain(s, &t), -ESHUTDOWN);
	assert_text(&t, "C");
	hyphae_stream_close(s);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* 1 to 5 and the end into room for 2. */
static void overflow(enum hyphae_overflow policy, const char *expected,
		     uint64_t received, uint64_t dropped)
{
	EACH_KIND(kind)
	{
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1);
		struct hyphae_stream *s = hyphae_stream_new(a, 2, policy, 0);
		struct hyphae_stream_counts counts;
		struct text t = {.length = 0};

		for (int64_t i = 2; i <= 5; i++)
			assert_int_equal(hyphae_int64_set(a, i), 0);
		assert_int_equal(hyphae_cell_complete(a), 0);
		assert_int_equal(hyphae_stream_counts(s, &counts), 0);
		assert_int_equal(counts.received, received);
		assert_int_equal(counts.dropped, dropped);
		assert_int_equal(drain(s, &t), -ESHUTDOWN);
		assert_text(&t, expected);
		hyphae_stream_close(s);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void full_drops_the_oldest(void **state)
{
	(void)state;
	overflow(HYPHAE_OVERFLOW_DROP_OLDEST, "+3,4,5,C", 5, 3);
}

static void full_drops_the_newest(void **state)
{
	(void)state;
	overflow(HYPHAE_OVERFLOW_DROP_NEWEST, "1,2,+3,C", 5, 3);
}

static void full_keeps_the_latest(void **state)
{
	(void)state;
	overflow(HYPHAE_OVERFLOW_LATEST, "+4,5,C", 5, 4);
}

static void full_ends_with_overflow(void **state)
{
	(void)state;
	overflow(HYPHAE_OVERFLOW_FAIL, "1,2,+1,T(-75 )", 3, 1);
}

static void the_gap_stands_where_it_is(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_stream *s =
		hyphae_stream_new(a, 2, HYPHAE_OVERFLOW_DROP_NEWEST, 0);
	struct text t = {.length = 0};
	struct hyphae_item item;

	(void)state;
	for (int64_t i = 2; i <= 4; i++)
		hyphae_int64_set(a, i);
	assert_int_equal(hyphae_stream_next(s, &item), 1);
	assert_int_equal(item.dropped, 0);
	assert_int_equal(item.dropped_total, 2);
	assert_int_equal(hyphae_int64_of(&item.signal), 1);
	hyphae_item_release(&item);
	hyphae_int64_set(a, 5);
	assert_int_equal(drain(s, &t), 0);
	assert_text(&t, "2,+2,5");
	hyphae_stream_close(s);
	hyphae_graph_free(graph);
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void the_descriptor_tells(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_stream *s =
		hyphae_stream_new(a, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	struct text t = {.length = 0};
	struct hyphae_item item;
	int fd = hyphae_stream_fd(s);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(hyphae_stream_fd(s), fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(is_readable(fd));
	assert_int_equal(drain(s, &t), 0);
	assert_false(is_readable(fd));
	hyphae_int64_set(a, 2);
	hyphae_int64_set(a, 3);
	assert_int_equal(hyphae_stream_wait(s, &item, -1), 1);
	assert_true(is_readable(fd));
	hyphae_item_release(&item);
	assert_int_equal(hyphae_stream_wait(s, &item, 1), 1);
	assert_false(is_readable(fd));
	hyphae_item_release(&item);
	assert_int_equal(hyphae_stream_wait(s, &item, 1), 0);
	assert_int_equal(hyphae_stream_wait(s, &item, 0), 0);
	hyphae_cell_complete(a);
	assert_true(is_readable(fd));
	assert_int_equal(drain(s, &t), -ESHUTDOWN);
	assert_true(is_readable(fd));
	assert_int_equal(hyphae_stream_wait(s, &item, -1), -ESHUTDOWN);
	assert_text(&t, "1,C");
	hyphae_stream_close(s);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	hyphae_graph_free(graph);
}

static void strings_outlive_the_graph(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		long live = hy_alloc_live();
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_string_new(graph, "moss");
		struct hyphae_stream *s =
			hyphae_stream_new(a, 2, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
		struct text t = {.length = 0};
		struct hyphae_item item;

		assert_int_equal(hyphae_stream_next(s, &item), 1);
		hyphae_string_set(a, "fern");
		hyphae_string_set(a, "reed");
		hyphae_string_set(a, "sedge");
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_string_equal(hyphae_string_of(&item.signal), "moss");
		hyphae_item_release(&item);
		assert_null(item.signal.value);
		assert_int_equal(drain(s, &t), -ESHUTDOWN);
		assert_text(&t, "+1,'reed','sedge',T(-125 )");
		hyphae_stream_close(s);
		assert_int_equal(hy_alloc_live(), live);
	}
}

/* Storage is the caller's again once the graph is freed. */
static void values_outlive_storage(void **state)
{
	HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(4, 4, 4));
	const struct hyphae_graph_options options = {
		.storage = store, .storage_bytes = sizeof(store)};
	struct hyphae_graph *graph = hyphae_graph_new_with(&options);
	struct hyphae_cell *a = hyphae_string_new(graph, "moss");
	struct hyphae_stream *s =
		hyphae_stream_new(a, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	struct hyphae_stream_counts counts;
	struct text t = {.length = 0};

	(void)state;
	assert_non_null(s);
	hyphae_string_set(a, "fern");
	/* Without memory for a copy: dropped, counted, and said. */
	hyphae_string_set(a, "reed");
	hy_alloc_fail_after(1);
	assert_int_equal(hyphae_string_set(a, "sedge"), -ENOMEM);
	hy_alloc_fail_after(0);
	assert_int_equal(hyphae_stream_counts(s, &counts), 0);
	assert_int_equal(counts.received, 4);
	assert_int_equal(counts.dropped, 1);
	hyphae_string_set(a, "rush");
	assert_int_equal(hyphae_cell_fail(a, -EIO, "the pond is dry"), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	/* What is not a handle's place. */
	memset(store + sizeof(store) / 2, 0xa5, sizeof(store) / 2);
	assert_int_equal(drain(s, &t), -ESHUTDOWN);
	assert_text(&t, "'moss','fern','reed',+1,'rush',T(-5 the pond is dry)");
	hyphae_stream_close(s);
}

static void a_scope_ends_its_streams(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_stream *s;
	struct text t = {.length = 0};

	(void)state;
	hyphae_scope_enter(scope);
	s = hyphae_stream_new(a, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	hyphae_scope_leave(scope);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	hyphae_int64_set(a, 2);
	assert_int_equal(drain(s, &t), -ESHUTDOWN);
	assert_text(&t, "1,T(-125 )");
	hyphae_stream_close(s);
	hyphae_graph_free(graph);
}

/* Taking and closing inside a subscriber of the same cell. */
static int close_it(const struct hyphae_signal *signal, void *ctx)
{
	struct hyphae_stream **s = ctx;

	if (hyphae_int64_of(signal) == 2)
		return hyphae_stream_close(*s);
	return 0;
}

static void closed_by_a_subscriber(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_graph *graph = hyphae_graph_new(*kind);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1);
		struct hyphae_stream *s = NULL;
		struct hyphae_item item;
		struct hyphae_graph_counts counts;

		hyphae_subscribe(a, close_it, &s);
		s = hyphae_stream_new(a, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
		assert_int_equal(hyphae_int64_set(a, 2), 0);
		assert_int_equal(hyphae_stream_next(s, &item), -ESTALE);
		hyphae_graph_counts(graph, &counts);
		assert_int_equal(counts.subscriptions, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void bad_input(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_stream *s, *closed;
	struct hyphae_stream_counts counts;
	struct hyphae_item item;
	const struct {
		struct hyphae_cell *cell;
		size_t capacity;
		int policy;
		unsigned int flags;
		int error;
	} bad[] = {
		{NULL, 1, 0, 0, EINVAL},
		{stale_cell(), 1, 0, 0, ESTALE},
		{a, 0, 0, 0, EINVAL},
		{a, HYPHAE_CAPACITY_MAX + 1, 0, 0, EINVAL},
		{a, SIZE_MAX, 0, 0, EINVAL},
		{a, 1, HYPHAE_OVERFLOW_BLOCK, 0, EINVAL},
		{a, 1, 5, 0, EINVAL},
		{a, 1, -1, 0, EINVAL},
		{a, 1, 0, 2, EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_null(hyphae_stream_new(
			bad[i].cell, bad[i].capacity,
			(enum hyphae_overflow)bad[i].policy, bad[i].flags));
		assert_int_equal(errno, bad[i].error);
	}
	closed = hyphae_stream_new(a, 1, HYPHAE_OVERFLOW_LATEST, 0);
	assert_int_equal(hyphae_stream_close(closed), 0);
	assert_int_equal(hyphae_stream_next(closed, &item), -ESTALE);
	assert_int_equal(hyphae_stream_wait(closed, &item, -1), -ESTALE);
	assert_int_equal(hyphae_stream_fd(closed), -ESTALE);
	assert_int_equal(hyphae_stream_counts(closed, &counts), -ESTALE);
	assert_int_equal(hyphae_stream_close(closed), -ESTALE);
	assert_int_equal(hyphae_stream_next(NULL, &item), -EINVAL);
	assert_int_equal(hyphae_stream_wait(NULL, &item, 0), -EINVAL);
	assert_int_equal(hyphae_stream_fd(NULL), -EINVAL);
	assert_int_equal(hyphae_stream_counts(NULL, &counts), -EINVAL);
	assert_int_equal(hyphae_stream_close(NULL), 0);
	hyphae_item_release(NULL);
	/* Its slot is taken again, under another handle. */
	s = hyphae_stream_new(a, 1, HYPHAE_OVERFLOW_LATEST, 0);
	assert_ptr_not_equal(s, closed);
	assert_int_equal(hyphae_stream_next(s, NULL), -EINVAL);
	assert_int_equal(hyphae_stream_wait(s, NULL, 0), -EINVAL);
	assert_int_equal(hyphae_stream_counts(s, NULL), -EINVAL);
	assert_int_equal(hyphae_stream_next(closed, &item), -ESTALE);
	assert_int_equal(hyphae_stream_close(s), 0);
	hyphae_graph_free(graph);
}

static void no_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_string_new(graph, "moss");
	struct hyphae_graph_counts counts;
	long live = hy_alloc_live();

	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_stream *s =
			hyphae_stream_new(a, 2, HYPHAE_OVERFLOW_DROP_OLDEST, 0);

		OOM_PAUSE();
		if (n == 0)
			assert_non_null(s);
		if (s)
			assert_int_equal(hyphae_stream_close(s), 0);
		else
			assert_int_equal(errno, ENOMEM);
		hyphae_graph_counts(graph, &counts);
		assert_int_equal(counts.subscriptions, 0);
		/* The graph itself may have grown, once. */
		if (n)
			assert_true(hy_alloc_live() <= live + 2);
	}
	hyphae_graph_free(graph);
}

static void a_set_into_a_stream_allocates_nothing(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_stream *s =
		hyphae_stream_new(a, 2, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	struct hyphae_item item;
	unsigned long count;

	(void)state;
	hyphae_int64_set(a, 2);
	count = hy_alloc_count();
	for (int64_t i = 3; i < 100; i++) {
		hyphae_int64_set(a, i);
		if (hyphae_stream_next(s, &item) == 1)
			hyphae_item_release(&item);
	}
	assert_int_equal(hy_alloc_count(), count);
	hyphae_stream_close(s);
	hyphae_graph_free(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_in_order_and_the_end),
		cmocka_unit_test(errors_of_both_kinds),
		cmocka_unit_test(initial_of_an_ended_cell),
		cmocka_unit_test(full_drops_the_oldest),
		cmocka_unit_test(full_drops_the_newest),
		cmocka_unit_test(full_keeps_the_latest),
		cmocka_unit_test(full_ends_with_overflow),
		cmocka_unit_test(the_gap_stands_where_it_is),
		cmocka_unit_test(the_descriptor_tells),
		cmocka_unit_test(strings_outlive_the_graph),
		cmocka_unit_test(values_outlive_storage),
		cmocka_unit_test(a_scope_ends_its_streams),
		cmocka_unit_test(closed_by_a_subscriber),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(a_set_into_a_stream_allocates_nothing),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
