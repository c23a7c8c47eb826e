/* SPDX-License-Identifier: MIT */
/* Posts: what becomes of them, what is refused, and without memory. */
#include "thread_post.h"

/* ---- what a post does ------------------------------------------------------ */

static void waits_and_is_one_wave(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct hyphae_cell *both[] = {a, b}, *c;
	struct told told = {.calls = 0};
	unsigned int runs = 0;

	WATCH();
	c = hyphae_combine(both, 2, &hyphae_int64, sum, &runs);
	assert_non_null(hyphae_subscribe(c, tell, &told));
	expect_counts(graph, 0, 0, 0, 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	assert_int_equal(hyphae_int64_post(b, 20), 0);
	assert_int_equal(hyphae_int64_post(a, 3), 0);
	assert_int_equal(value(a), 0);
	assert_int_equal(told.calls, 1);
	expect_counts(graph, 1, 0, 0, 2);
	assert_int_equal(hyphae_graph_check_idle(graph), -EBUSY);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 2);
	assert_int_equal(told.last, 23);
	assert_int_equal(runs, 2);
	expect_counts(graph, 1, 2, 0, 0);
	end_graph(graph, 3, 1);
}

static void comes_with_a_write(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct told told = {.calls = 0};

	WATCH();
	assert_non_null(hyphae_subscribe(a, tell, &told));
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	assert_int_equal(hyphae_int64_set(b, 7), 0);
	assert_int_equal(told.last, 1);
	assert_int_equal(hyphae_int64_post(a, 2), 0);
	assert_int_equal(hyphae_int64_set(b, 7), HYPHAE_UNCHANGED);
	assert_int_equal(told.last, 2);
	/* The set of the same cell is stored first. */
	assert_int_equal(hyphae_int64_post(a, 3), 0);
	assert_int_equal(hyphae_int64_set(a, 4), 0);
	assert_int_equal(told.calls, 5);
	assert_int_equal(told.values[3], 4);
	assert_int_equal(told.values[4], 3);
	assert_int_equal(hyphae_int64_post(a, 5), 0);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(b, 8), 0);
	assert_int_equal(told.last, 3);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(told.last, 5);
	assert_int_equal(hyphae_int64_post(a, 6), 0);
	assert_int_equal(hyphae_settle(graph), 0);
	assert_int_equal(told.last, 6);
	end_graph(graph, 2, 1);
}

/* What only makes or ends something calls no subscriber of others. */
static void does_not_come_with_a_release(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct hyphae_subscription *s;
	struct told told = {.calls = 0}, other = {.calls = 0};

	WATCH();
	assert_non_null(hyphae_subscribe(a, tell, &told));
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	s = hyphae_subscribe(b, tell, &other);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(told.calls, 1);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 2);
	end_graph(graph, 1, 1);
}

static int post_back(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	tell(signal, ctx);
	if (told->last < 5)
		told->result = hyphae_int64_post(told->cell, told->last + 1);
	return 0;
}

static void from_a_subscriber(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct told told = {.cell = a, .result = -1};

	WATCH();
	assert_non_null(hyphae_subscribe(a, post_back, &told));
	assert_int_equal(told.calls, 1);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.result, 0);
	assert_int_equal(told.last, 5);
	assert_int_equal(told.calls, 6);
	end_graph(graph, 1, 1);
}

static int post_negative(void *ret, const void *input, void *ctx)
{
	struct told *told = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	told->result = hyphae_int64_post(told->cell, -*(const int64_t *)input);
	told->code =
		flush(told->cell ? (void *)(uintptr_t)told->values[0] : NULL);
	return 0;
}

static void from_a_compute_function(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *out = hyphae_int64_new(graph, 0);
	struct told told = {.cell = out, .values[0] = (intptr_t)graph};

	WATCH();
	assert_non_null(hyphae_map(a, &hyphae_int64, post_negative, &told));
	assert_int_equal(hyphae_int64_set(a, 3), 0);
	assert_int_equal(told.result, 0);
	assert_int_equal(told.code, -EPERM);
	assert_int_equal(value(out), -3);
	end_graph(graph, 3, 0);
}

static int flush_inside(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	tell(signal, ctx);
	if (told->last == 1) {
		told->result = hyphae_int64_post(told->cell, 2);
		told->code = flush((void *)(uintptr_t)told->values[15]);
		told->ends = told->calls; /* none inside */
	}
	return 0;
}

static void flushed_in_a_subscriber(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct told told = {.cell = a, .result = -1, .code = -1};

	WATCH();
	told.values[15] = (intptr_t)graph;
	assert_non_null(hyphae_subscribe(a, flush_inside, &told));
	assert_int_equal(told.result, 0);
	assert_int_equal(told.code, 0);
	assert_int_equal(told.ends, 1);
	assert_int_equal(told.calls, 2);
	assert_int_equal(told.last, 2);
	end_graph(graph, 1, 1);
}

static void ends(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct told told_a = {.calls = 0}, told_b = {.calls = 0};

	WATCH();
	assert_non_null(hyphae_subscribe(a, tell, &told_a));
	assert_non_null(hyphae_subscribe(b, tell, &told_b));
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	assert_int_equal(hyphae_cell_post_complete(a), 0);
	assert_int_equal(hyphae_int64_post(a, 2), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_post_complete(a), -ESHUTDOWN);
	assert_int_equal(hyphae_int64_post(b, 3), 0);
	assert_int_equal(hyphae_cell_post_fail(b, -EIO, "no light"), 0);
	assert_int_equal(hyphae_cell_post_fail(b, -EIO, NULL), -ESHUTDOWN);
	expect_counts(graph, 0, 0, 0, 4);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told_a.last, 1);
	assert_int_equal(told_a.ends, 1);
	assert_int_equal(told_a.code, 0);
	assert_int_equal(told_b.last, 3);
	assert_int_equal(told_b.ends, 1);
	assert_int_equal(told_b.code, -EIO);
	assert_int_equal(hyphae_int64_post(a, 2), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_post_complete(b), -ESHUTDOWN);
	expect_counts(graph, 0, 4, 0, 0);
	end_graph(graph, 2, 0);
}

/* Of those that wait the last one, and then the end. */
static void events(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *e = hyphae_event_new(graph, &hyphae_int64);
	struct hyphae_poster *poster = hyphae_poster_new(e);
	struct told told = {.calls = 0};

	WATCH();
	assert_non_null(hyphae_subscribe(e, tell, &told));
	assert_int_equal(hyphae_int64_post(e, 1), 0);
	assert_int_equal(hyphae_int64_post(e, 2), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(hyphae_int64_post(e, 2), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 2); /* the same again is an event, too */
	assert_int_equal(told.values[0], 2);
	assert_int_equal(told.values[1], 2);
	/* One of each way is two. */
	assert_int_equal(hyphae_int64_post(e, 3), 0);
	assert_int_equal(hyphae_poster_post_int64(poster, 4), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 4);
	assert_int_equal(told.values[2] + told.values[3], 7);
	assert_int_equal(hyphae_int64_post(e, 5), 0);
	assert_int_equal(hyphae_cell_post_complete(e), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.last, 5);
	assert_int_equal(told.ends, 1);
	expect_counts(graph, 1, 6, 0, 0);
	hyphae_poster_free(poster);
	end_graph(graph, 1, 0);
}

/* Posted, and then there is nothing to give it to. */
static void refused(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *ended = hyphae_string_new(graph, "a");
	struct hyphae_cell *gone = hyphae_string_new(graph, "a");

	WATCH();
	assert_int_equal(hyphae_string_post(ended, "b"), 0);
	assert_int_equal(hyphae_string_post(gone, "b"), 0);
	assert_int_equal(hyphae_cell_post_fail(gone, -EIO, "message"), 0);
	assert_int_equal(hyphae_cell_unref(gone), 0);
	assert_int_equal(hyphae_cell_complete(ended), 0);
	assert_int_equal(flush(graph), 0);
	expect_counts(graph, 0, 0, 3, 0);
	end_graph(graph, 1, 0);
}

static void values_in_boxes(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *s = hyphae_string_new(graph, "a");
	struct hyphae_cell *l =
		large_new_at(graph, (struct large){.n = 1}, HYPHAE_HERE);
	struct large large = {.n = 2};
	char *text;

	WATCH();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hyphae_string_post(s, "b"), 0);
		assert_int_equal(hyphae_string_post(s, "c"), 0);
		large.n++;
		assert_int_equal(hyphae_cell_post(l, &large_type, &large), 0);
		assert_int_equal(flush(graph), 0);
		assert_int_equal(hyphae_string_get(s, &text), 0);
		assert_string_equal(text, "c");
		free(text);
		assert_int_equal(large_get(l, &large), 0);
		assert_int_equal(large.n, 3 + i);
		assert_int_equal(hyphae_string_set(s, "d"), 0);
	}
	expect_counts(graph, 3, 6, 0, 0);
	assert_int_equal(hyphae_string_post(s, NULL), -EINVAL);
	/* Some wait for ever. */
	assert_int_equal(hyphae_string_post(s, "e"), 0);
	assert_int_equal(hyphae_cell_post_fail(l, -EIO, "message"), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	alarm(0);
}

static void built_in_types(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *d = hyphae_double_new(graph, 0.5);
	struct hyphae_cell *b = hyphae_bool_new(graph, false);
	struct hyphae_cell *p = hyphae_pointer_new(graph, NULL);
	double number = 0;
	bool truth = false;
	void *pointer = NULL;

	WATCH();
	assert_int_equal(hyphae_double_post(d, 2.5), 0);
	assert_int_equal(hyphae_bool_post(b, true), 0);
	assert_int_equal(hyphae_pointer_post(p, graph), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(hyphae_double_get(d, &number), 0);
	assert_true(number == 2.5);
	assert_int_equal(hyphae_bool_get(b, &truth), 0);
	assert_true(truth);
	assert_int_equal(hyphae_pointer_get(p, &pointer), 0);
	assert_ptr_equal(pointer, graph);
	end_graph(graph, 3, 0);
}

/* Cells go while their posts wait, and nobody propagates. */
static void table_stays_small(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *stays = hyphae_int64_new(graph, 0);
	struct hyphae_cell *cells[8];
	struct hy_posts *posts;

	WATCH();
	assert_int_equal(hyphae_int64_post(stays, 1), 0);
	for (int i = 0; i < 1009; i++) {
		for (int k = 0; k < 8; k++) {
			cells[k] = hyphae_string_new(graph, "a");
			assert_int_equal(hyphae_string_post(cells[k], "b"), 0);
		}
		for (int k = 0; k < 8; k++)
			assert_int_equal(hyphae_cell_unref(cells[k]), 0);
	}
	posts = hy_graph(graph)->posts;
	assert_in_range(posts->table.capacity, 8, 32);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(value(stays), 1);
	expect_counts(graph, 0, 1, 8072, 0);
	end_graph(graph, 1, 0);
}

static void many_cells(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *cells[307];

	WATCH();
	for (int i = 0; i < 307; i++)
		cells[i] = hyphae_int64_new(graph, -1);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 307; i++)
			assert_int_equal(hyphae_int64_post(cells[i], 1), 0);
		for (int i = 306; i >= 0; i--)
			assert_int_equal(
				hyphae_int64_post(cells[i], round * 1000 + i),
				0);
		assert_int_equal(flush(graph), 0);
		for (int i = 0; i < 307; i++)
			assert_int_equal(value(cells[i]), round * 1000 + i);
	}
	expect_counts(graph, 921, 921, 0, 0);
	end_graph(graph, 307, 0);
}

static void file_descriptor(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_poster *poster = hyphae_poster_new(a);
	int fd;

	WATCH();
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	fd = hy_post_fd(hy_graph(graph));
	assert_true(fd >= 0);
	assert_int_equal(hy_post_fd(hy_graph(graph)), fd);
	assert_true(readable(fd)); /* it was there before */
	assert_int_equal(flush(graph), 0);
	assert_false(readable(fd));
	assert_int_equal(hyphae_int64_post(a, 2), 0);
	assert_int_equal(hyphae_int64_post(a, 3), 0);
	assert_true(readable(fd));
	assert_int_equal(hyphae_int64_set(a, 4), 0);
	assert_false(readable(fd));
	assert_int_equal(hyphae_poster_post_int64(poster, 5), 0);
	assert_true(readable(fd));
	assert_int_equal(flush(graph), 0);
	assert_int_equal(value(a), 5);
	assert_false(readable(fd));
	hyphae_poster_free(poster);
	end_graph(graph, 1, 0);
}

static int fails(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) ? -EIO : 0;
}

static void subscribers_error_is_returned(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);

	WATCH();
	assert_non_null(hyphae_subscribe(a, fails, NULL));
	assert_int_equal(hyphae_int64_post(a, 1), 0);
	assert_int_equal(flush(graph), -EIO);
	assert_int_equal(flush(graph), 0);
	end_graph(graph, 1, 1);
}

/* ---- what is refused at once ---------------------------------------------- */

static int same(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static void bad_input(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *s = hyphae_string_new(graph, "");
	struct hyphae_cell *m = hyphae_map(a, &hyphae_int64, same, NULL);
	struct hyphae_cell *gone = hyphae_int64_new(graph, 0);
	struct hyphae_poster *poster = hyphae_poster_new(a);
	struct hyphae_post_counts counts;
	int64_t one = 1;

	WATCH();
	assert_int_equal(hyphae_cell_unref(gone), 0);
	assert_int_equal(hyphae_int64_post(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_int64_post(gone, 1), -ESTALE);
	assert_int_equal(hyphae_int64_post(m, 1), -EINVAL);
	assert_int_equal(hyphae_double_post(a, 1), -EINVAL);
	assert_int_equal(hyphae_bool_post(a, true), -EINVAL);
	assert_int_equal(hyphae_pointer_post(a, NULL), -EINVAL);
	assert_int_equal(hyphae_string_post(a, ""), -EINVAL);
	assert_int_equal(hyphae_cell_post(a, NULL, &one), -EINVAL);
	assert_int_equal(hyphae_cell_post(a, &hyphae_int64, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_post_complete(NULL), -EINVAL);
	assert_int_equal(hyphae_cell_post_complete(gone), -ESTALE);
	assert_int_equal(hyphae_cell_post_complete(m), -EINVAL);
	assert_int_equal(hyphae_cell_post_fail(NULL, -EIO, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_post_fail(gone, -EIO, NULL), -ESTALE);
	assert_int_equal(hyphae_cell_post_fail(a, 0, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_post_fail(a, -4096, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_post_counts(NULL, &counts), -EINVAL);
	assert_int_equal(hyphae_graph_post_counts(graph, NULL), -EINVAL);
	errno = 0;
	assert_null(hyphae_poster_new(NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_poster_new(gone));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_poster_new(m));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(hyphae_poster_new(s));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_cell_complete(s), 0);
	errno = 0;
	assert_null(hyphae_poster_new(s));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_poster_post_int64(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_poster_post_double(poster, 1), -EINVAL);
	assert_int_equal(hyphae_poster_post_bool(poster, true), -EINVAL);
	assert_int_equal(hyphae_poster_post_pointer(poster, NULL), -EINVAL);
	assert_int_equal(hyphae_poster_post(poster, NULL, &one), -EINVAL);
	assert_int_equal(hyphae_poster_post(poster, &hyphae_int64, NULL),
			 -EINVAL);
	assert_int_equal(hyphae_poster_replaced(NULL), 0);
	expect_counts(graph, 0, 0, 0, 0);
	hyphae_poster_free(poster);
	end_graph(graph, 3, 0);
	assert_int_equal(hyphae_graph_post_counts(graph, &counts), -ESTALE);
}

/* ---- no memory ------------------------------------------------------------- */

static void out_of_memory(void **state)
{
	WATCH();
	OOM_SWEEP(n)
	{
		struct hyphae_graph *graph;
		struct hyphae_cell *cells[9], *s;
		struct hyphae_poster *poster;
		uint64_t accepted = 0;
		char *text = NULL;
		int r;

		OOM_PAUSE();
		graph = new_graph(state);
		for (int i = 0; i < 9; i++)
			cells[i] = hyphae_int64_new(graph, 0);
		s = hyphae_string_new(graph, "a");
		hy_alloc_fail_after(n);
		errno = 0;
		poster = hyphae_poster_new(cells[0]);
		if (!poster) {
			assert_int_equal(errno, ENOMEM);
			poster = hyphae_poster_new(cells[0]);
			assert_non_null(poster);
		}
		for (int i = 1; i < 9; i++) {
			r = hyphae_int64_post(cells[i], i);
			if (r) {
				assert_int_equal(r, -ENOMEM);
				r = hyphae_int64_post(cells[i], i);
			}
			assert_int_equal(r, 0);
			accepted++;
		}
		r = hyphae_string_post(s, "b");
		if (r)
			r = hyphae_string_post(s, "b");
		assert_int_equal(r, 0);
		r = hyphae_cell_post_fail(s, -EIO, "message");
		if (r)
			r = hyphae_cell_post_fail(s, -EIO, "message");
		assert_int_equal(r, 0);
		assert_int_equal(hyphae_poster_post_int64(poster, 9), 0);
		accepted += 3;
		expect_counts(graph, 0, 0, 0, accepted);
		r = flush(graph);
		if (r) {
			assert_int_equal(r, -ENOMEM);
			expect_counts(graph, 0, 0, 0, accepted);
			r = flush(graph);
		}
		assert_int_equal(r, 0);
		OOM_PAUSE();
		expect_counts(graph, 0, accepted, 0, 0);
		for (int i = 1; i < 9; i++)
			assert_int_equal(value(cells[i]), i);
		assert_int_equal(value(cells[0]), 9);
		assert_int_equal(hyphae_string_get(s, &text), -EIO);
		hyphae_poster_free(poster);
		end_graph(graph, 10, 0);
		hy_alloc_fail_after(n);
	}
}

/* A write takes along what it has memory for. */
static void steady_state_needs_none(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_poster *poster = hyphae_poster_new(a);
	unsigned long before = 0;

	WATCH();
	for (int i = 0; i < 13; i++) {
		if (i == 3)
			before = hy_alloc_count();
		assert_int_equal(hyphae_int64_post(a, 2 * i), 0);
		assert_int_equal(flush(graph), 0);
		assert_int_equal(hyphae_poster_post_int64(poster, 2 * i + 1),
				 0);
		assert_int_equal(flush(graph), 0);
	}
	assert_int_equal(hy_alloc_count(), before);
	hyphae_poster_free(poster);
	end_graph(graph, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_EACH(waits_and_is_one_wave),
		IN_EACH(comes_with_a_write),
		IN_EACH(does_not_come_with_a_release),
		IN_EACH(from_a_subscriber),
		IN_EACH(from_a_compute_function),
		IN_EACH(flushed_in_a_subscriber),
		IN_EACH(ends),
		IN_EACH(events),
		IN_EACH(refused),
		IN_EACH(values_in_boxes),
		IN_EACH(built_in_types),
		IN_EACH(table_stays_small),
		IN_EACH(many_cells),
		IN_EACH(file_descriptor),
		IN_EACH(subscribers_error_is_returned),
		IN_EACH(bad_input),
		IN_EACH(out_of_memory),
		IN_EACH(steady_state_needs_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
