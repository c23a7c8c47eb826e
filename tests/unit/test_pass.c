/* SPDX-License-Identifier: MIT */
/* Pass reports: what a stretch of work on a thread fired, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

/* a; b = a + 1; c = a * 2; d = b + c */
struct diamond {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *c, *d;
};

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input * 2;
	return 0;
}

static int parity(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input % 2;
	return 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static void make(struct diamond *x, unsigned int flags)
{
	struct hyphae_cell *both[2];

	x->graph = hyphae_graph_new(flags);
	x->a = hyphae_int64_new(x->graph, 1);
	x->b = hyphae_map(x->a, &hyphae_int64, plus_one, NULL);
	x->c = hyphae_map(x->a, &hyphae_int64, twice, NULL);
	both[0] = x->b;
	both[1] = x->c;
	x->d = hyphae_combine(both, 2, &hyphae_int64, sum, NULL);
	assert_non_null(x->d);
}

static void unmake(struct diamond *x)
{
	assert_int_equal(hyphae_graph_free(x->graph), 0);
}

static void set(struct hyphae_cell *cell, int64_t value)
{
	assert_int_equal(hyphae_int64_set(cell, value), 0);
}

static void begin(void)
{
	assert_int_equal(hyphae_pass_begin(), 0);
}

static struct hyphae_report take(void)
{
	struct hyphae_report r;

	assert_int_equal(hyphae_report_take(&r), 0);
	assert_int_equal(r.lost, 0);
	return r;
}

static struct hyphae_report end(void)
{
	assert_int_equal(hyphae_pass_end(), 0);
	return take();
}

static void expect_totals(const struct hyphae_report *r, uint64_t fires,
			  uint64_t refires, uint64_t cells_fired,
			  uint64_t writes, uint64_t unchanged)
{
	assert_int_equal(r->fires, fires);
	assert_int_equal(r->refires, refires);
	assert_int_equal(r->cells_fired, cells_fired);
	assert_int_equal(r->writes, writes);
	assert_int_equal(r->unchanged, unchanged);
	assert_true(r->coalesceable ==
		    (fires ? (double)refires / (double)fires : 0.0));
}

static void expect_cell(const struct hyphae_report *r, size_t i,
			struct hyphae_cell *cell, uint64_t fires,
			uint64_t writes, uint64_t unchanged)
{
	assert_true(i < r->count);
	assert_int_equal(r->cells[i].id, hyphae_cell_id(cell));
	assert_int_equal(r->cells[i].fires, fires);
	assert_int_equal(r->cells[i].writes, writes);
	assert_int_equal(r->cells[i].unchanged, unchanged);
}

static void expect_empty(struct hyphae_report r)
{
	expect_totals(&r, 0, 0, 0, 0, 0);
	assert_int_equal(r.count, 0);
	assert_int_equal(r.refiring, 0);
	hyphae_report_done(&r);
}

static void eager_diamond_refires(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, HYPHAE_EAGER);
	begin();
	set(x.a, 2);
	r = end();
	expect_totals(&r, 5, 1, 4, 5, 0);
	assert_int_equal(r.count, 4);
	assert_int_equal(r.refiring, 1);
	expect_cell(&r, 0, x.d, 2, 2, 0);
	expect_cell(&r, 1, x.a, 1, 1, 0);
	expect_cell(&r, 2, x.b, 1, 1, 0);
	expect_cell(&r, 3, x.c, 1, 1, 0);
	assert_true(r.coalesceable == 0.2);
	hyphae_report_done(&r);
	unmake(&x);
}

static void batched_diamond_does_not(void **state)
{
	unsigned int flags;

	(void)state;
	for (flags = 0; flags <= 3; flags++) {
		struct diamond x;
		struct hyphae_report r;

		make(&x, flags);
		begin();
		assert_int_equal(hyphae_batch_begin(x.graph), 0);
		set(x.a, 2);
		assert_int_equal(hyphae_batch_end(x.graph), 0);
		r = end();
		expect_totals(&r, 4, 0, 4, 4, 0);
		assert_int_equal(r.refiring, 0);
		assert_int_equal(r.count, 4);
		expect_cell(&r, 0, x.a, 1, 1, 0);
		expect_cell(&r, 3, x.d, 1, 1, 0);
		hyphae_report_done(&r);
		unmake(&x);
	}
}

static void pass_spans_two_sets(void **state)
{
	unsigned int flags;

	(void)state;
	for (flags = 0; flags <= 1; flags++) {
		struct diamond x;
		struct hyphae_report r;

		make(&x, flags);
		begin();
		set(x.a, 2);
		set(x.a, 3);
		r = end();
		expect_totals(&r, 8, 4, 4, 8, 0);
		assert_int_equal(r.refiring, 4);
		expect_cell(&r, 0, x.a, 2, 2, 0);
		expect_cell(&r, 1, x.b, 2, 2, 0);
		expect_cell(&r, 2, x.c, 2, 2, 0);
		expect_cell(&r, 3, x.d, 2, 2, 0);
		hyphae_report_done(&r);
		unmake(&x);
	}
}

static void eager_pass_of_two_sets(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
	begin();
	set(x.a, 2);
	set(x.a, 3);
	r = end();
	expect_totals(&r, 10, 6, 4, 10, 0);
	assert_int_equal(r.refiring, 4);
	expect_cell(&r, 0, x.d, 4, 4, 0);
	expect_cell(&r, 1, x.a, 2, 2, 0);
	assert_true(r.coalesceable == 0.6);
	hyphae_report_done(&r);
	unmake(&x);
}

static void nested_passes_join(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	begin();
	set(x.a, 2);
	begin();
	set(x.a, 3);
	assert_int_equal(hyphae_pass_end(), 0);
	/* The outermost has not ended: there is nothing to take yet. */
	expect_empty(take());
	set(x.a, 4);
	r = end();
	expect_totals(&r, 12, 8, 4, 12, 0);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_pass_end(), -EINVAL);
	unmake(&x);
}

static void second_take_is_empty(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	begin();
	set(x.a, 2);
	r = end();
	assert_int_equal(r.fires, 4);
	hyphae_report_done(&r);
	hyphae_report_done(&r); /* emptied: twice does no harm */
	expect_empty(take());
	unmake(&x);
}

static void the_last_pass_counts(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	begin();
	set(x.a, 2);
	set(x.a, 3);
	assert_int_equal(hyphae_pass_end(), 0);
	begin();
	set(x.a, 4);
	r = end();
	expect_totals(&r, 4, 0, 4, 4, 0);
	hyphae_report_done(&r);
	expect_empty(take());
	unmake(&x);
}

static void outside_nothing_is_collected(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	set(x.a, 2);
	assert_int_equal(hyphae_batch_begin(x.graph), 0);
	set(x.a, 3);
	assert_int_equal(hyphae_batch_end(x.graph), 0);
	expect_empty(take());
	begin();
	set(x.a, 4);
	assert_int_equal(hyphae_pass_end(), 0);
	set(x.a, 5);
	r = take();
	expect_totals(&r, 4, 0, 4, 4, 0);
	hyphae_report_done(&r);
	unmake(&x);
}

static void nothing_fired(void **state)
{
	struct diamond x;

	(void)state;
	make(&x, 0);
	begin();
	expect_empty(end());
	begin();
	/* Making cells computes them, but nothing fires. */
	assert_non_null(hyphae_map(x.a, &hyphae_int64, plus_one, NULL));
	expect_empty(end());
	unmake(&x);
}

static void two_graphs(void **state)
{
	struct diamond x, y;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	make(&y, HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
	begin();
	set(x.a, 2);
	set(y.a, 2);
	set(x.a, 3);
	r = end();
	expect_totals(&r, 13, 5, 8, 13, 0);
	assert_int_equal(r.count, 8);
	assert_int_equal(r.refiring, 5);
	expect_cell(&r, 0, x.a, 2, 2, 0);
	expect_cell(&r, 1, x.b, 2, 2, 0);
	expect_cell(&r, 2, x.c, 2, 2, 0);
	expect_cell(&r, 3, x.d, 2, 2, 0);
	expect_cell(&r, 4, y.d, 2, 2, 0);
	expect_cell(&r, 5, y.a, 1, 1, 0);
	expect_cell(&r, 6, y.b, 1, 1, 0);
	expect_cell(&r, 7, y.c, 1, 1, 0);
	hyphae_report_done(&r);
	unmake(&x);
	unmake(&y);
}

static void unchanged_writes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *p = hyphae_map(a, &hyphae_int64, parity, NULL);
	struct hyphae_cell *q = hyphae_map(p, &hyphae_int64, plus_one, NULL);
	struct hyphae_report r;

	(void)state;
	assert_non_null(q);
	begin();
	assert_int_equal(hyphae_int64_set(a, 0), HYPHAE_UNCHANGED);
	r = end();
	expect_totals(&r, 0, 0, 0, 1, 1);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.refiring, 0);
	expect_cell(&r, 0, a, 0, 1, 1);
	hyphae_report_done(&r);

	begin();
	set(a, 2);
	set(a, 4);
	set(a, 5);
	r = end();
	/* a fires 3 times, p once in 3 writes, q once. */
	expect_totals(&r, 5, 2, 3, 7, 2);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.refiring, 1);
	expect_cell(&r, 0, a, 3, 3, 0);
	expect_cell(&r, 1, p, 1, 3, 2);
	expect_cell(&r, 2, q, 1, 1, 0);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* In a batch a source is written once, whatever happened inside. */
static void coalesced_writes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_report r;

	(void)state;
	begin();
	assert_int_equal(hyphae_batch_begin(graph), 0);
	set(a, 1);
	set(a, 2);
	set(a, 3);
	assert_int_equal(hyphae_batch_end(graph), 0);
	r = end();
	expect_totals(&r, 1, 0, 1, 1, 0);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void worst_first(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cells[50];
	struct hyphae_report r;
	uint64_t fires = 0;
	size_t i, k;

	(void)state;
	for (i = 0; i < 50; i++)
		cells[i] = hyphae_int64_new(graph, 0);
	begin();
	/* Cell i fires i % 7 times. */
	for (i = 0; i < 50; i++)
		for (k = 0; k < i % 7; k++, fires++)
			set(cells[i], (int64_t)k + 1);
	r = end();
	assert_int_equal(r.fires, fires);
	assert_int_equal(r.cells_fired, 42);
	assert_int_equal(r.refires, fires - 42);
	assert_int_equal(r.count, 42);
	assert_int_equal(r.refiring, 35);
	for (i = 1; i < r.count; i++) {
		assert_true(r.cells[i - 1].fires >= r.cells[i].fires);
		if (r.cells[i - 1].fires == r.cells[i].fires)
			assert_true(r.cells[i - 1].id < r.cells[i].id);
	}
	for (i = 0; i < r.count; i++)
		assert_true((r.cells[i].fires > 1) == (i < r.refiring));
	expect_cell(&r, 0, cells[6], 6, 6, 0);
	expect_cell(&r, 41, cells[43], 1, 1, 0);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int odd_fails(void *ret, const void *input, void *ctx)
{
	int64_t v = *(const int64_t *)input;

	(void)ctx;
	if (v % 2)
		return -EIO;
	*(int64_t *)ret = v;
	return 0;
}

static int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

/* Errors fire and are no writes; a filter that keeps does neither. */
static void errors_and_filters(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 2);
	struct hyphae_cell *e = hyphae_map(a, &hyphae_int64, odd_fails, NULL);
	struct hyphae_cell *f = hyphae_filter(a, positive, NULL);
	struct hyphae_report r;

	(void)state;
	begin();
	set(a, 3);
	r = end();
	expect_totals(&r, 3, 0, 3, 2, 0);
	expect_cell(&r, 0, a, 1, 1, 0);
	expect_cell(&r, 1, e, 1, 0, 0);
	expect_cell(&r, 2, f, 1, 1, 0);
	hyphae_report_done(&r);
	begin();
	set(a, -4);
	r = end();
	expect_totals(&r, 2, 0, 2, 2, 0);
	assert_int_equal(r.count, 2);
	expect_cell(&r, 0, a, 1, 1, 0);
	expect_cell(&r, 1, e, 1, 1, 0);
	hyphae_report_done(&r);
	begin();
	assert_int_equal(hyphae_cell_complete(a), 0);
	r = end();
	expect_totals(&r, 3, 0, 3, 0, 0);
	assert_int_equal(r.count, 3);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int count_down(const struct hyphae_signal *signal, void *ctx)
{
	int64_t v = hyphae_int64_of(signal);

	return v > 0 ? hyphae_int64_set(ctx, v - 1) : 0;
}

/* What subscribers write belongs to the pass of the write that called them. */
static void writes_of_subscribers(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_report r;

	(void)state;
	assert_non_null(hyphae_subscribe(a, count_down, a));
	begin();
	set(a, 4);
	r = end();
	expect_totals(&r, 5, 4, 1, 5, 0);
	expect_cell(&r, 0, a, 5, 5, 0);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int set_and_fail(void *ctx)
{
	struct diamond *x = ctx;
	int r = hyphae_int64_set(x->a, 9);

	return r ? r : -ECANCELED;
}

static void with_a_function(void **state)
{
	struct diamond x;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	assert_int_equal(hyphae_pass(set_and_fail, &x, &r), -ECANCELED);
	expect_totals(&r, 4, 0, 4, 4, 0);
	hyphae_report_done(&r);
	expect_empty(take());
	assert_int_equal(hyphae_pass_end(), -EINVAL);
	unmake(&x);
}

static void *set_elsewhere(void *ctx)
{
	struct diamond *x = ctx;

	hyphae_int64_set(x->a, 77);
	return NULL;
}

/* A thread that ends with a pass open, and a report not taken. */
static void *leave_open(void *ctx)
{
	struct diamond *x = ctx;

	hyphae_pass_begin();
	hyphae_int64_set(x->a, 70);
	hyphae_pass_end();
	hyphae_pass_begin();
	hyphae_int64_set(x->a, 71);
	return NULL;
}

static void thread_ends_in_a_pass(void **state)
{
	struct diamond x;
	struct hyphae_report r;
	pthread_t thread;

	(void)state;
	make(&x, 0);
	assert_int_equal(pthread_create(&thread, NULL, leave_open, &x), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	begin();
	set(x.a, 72);
	r = end();
	expect_totals(&r, 4, 0, 4, 4, 0);
	hyphae_report_done(&r);
	unmake(&x);
}

/* A pass is of one thread. */
static void other_threads_do_not_count(void **state)
{
	struct diamond x;
	pthread_t thread;

	(void)state;
	make(&x, 0);
	begin();
	assert_int_equal(pthread_create(&thread, NULL, set_elsewhere, &x), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	expect_empty(end());
	unmake(&x);
}

/* Another thread writes `a` while this one is in a subscriber. */
static int let_other_write(const struct hyphae_signal *signal, void *ctx)
{
	pthread_t thread;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	if (pthread_create(&thread, NULL, set_elsewhere, ctx) != 0)
		return -EAGAIN;
	return -pthread_join(thread, NULL);
}

/* What others leave to the thread that propagates is of its pass. */
static void left_by_other_threads(void **state)
{
	struct diamond x;
	struct hyphae_cell *trigger;
	struct hyphae_report r;

	(void)state;
	make(&x, 0);
	trigger = hyphae_int64_new(x.graph, 0);
	assert_non_null(hyphae_subscribe(trigger, let_other_write, &x));
	begin();
	set(trigger, 1);
	r = end();
	expect_totals(&r, 5, 0, 5, 5, 0);
	assert_int_equal(r.count, 5);
	expect_cell(&r, 0, x.a, 1, 1, 0);
	expect_cell(&r, 4, trigger, 1, 1, 0);
	hyphae_report_done(&r);
	unmake(&x);
}

/* Cells that fired and are gone are still in the report. */
static void cells_that_are_gone(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	uint64_t id = hyphae_cell_id(a);
	struct hyphae_report r;

	(void)state;
	begin();
	set(a, 1);
	assert_int_equal(hyphae_cell_unref(a), 0);
	r = end();
	expect_totals(&r, 1, 0, 1, 1, 0);
	assert_int_equal(r.cells[0].id, id);
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- fan-outs in parts --------------------------------------------------- */

#define TURNS 3
#define NEWCOMERS 40

struct newcomers {
	struct hyphae_cell *cells[NEWCOMERS];
	unsigned int calls;
	bool armed;
};

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

/* More cells are subscribed than there was room for among those that fire. */
static int subscribe_to_all(const struct hyphae_signal *signal, void *ctx)
{
	struct newcomers *n = ctx;

	(void)signal;
	for (size_t i = 0; i < NEWCOMERS && n->armed; i++)
		hyphae_subscribe(n->cells[i], count_call, &n->calls);
	n->armed = false;
	return 0;
}

/* Subscribers of three cells take turns: each cell fired once all the same. */
static void parts_are_one_fire(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cells[TURNS];
	struct newcomers new = {.calls = 0};
	unsigned int calls[TURNS] = {0};
	struct hyphae_report r;

	(void)state;
	for (size_t i = 0; i < NEWCOMERS; i++)
		new.cells[i] = hyphae_int64_new(graph, 0);
	for (size_t i = 0; i < TURNS; i++)
		cells[i] = hyphae_int64_new(graph, 0);
	for (size_t turn = 0; turn < 4; turn++)
		for (size_t i = 0; i < TURNS; i++)
			assert_non_null(hyphae_subscribe(cells[i], count_call,
							 &calls[i]));
	assert_non_null(hyphae_subscribe(cells[1], subscribe_to_all, &new));
	assert_non_null(hyphae_subscribe(cells[0], count_call, &calls[0]));
	memset(calls, 0, sizeof(calls)); /* of the first calls */
	new.armed = true;
	begin();
	assert_int_equal(hyphae_batch_begin(graph), 0);
	for (size_t i = 0; i < TURNS; i++)
		set(cells[i], 1);
	assert_int_equal(hyphae_batch_end(graph), 0);
	r = end();
	expect_totals(&r, TURNS, 0, TURNS, TURNS, 0);
	for (size_t i = 0; i < TURNS; i++)
		expect_cell(&r, i, cells[i], 1, 1, 0);
	hyphae_report_done(&r);
	assert_int_equal(calls[0], 5);
	assert_int_equal(calls[1], 4);
	assert_int_equal(calls[2], 4);
	assert_int_equal(new.calls, NEWCOMERS); /* first calls */
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* More cells than any first guess of a table's size. */
static void many_cells(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_report r;
	size_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		assert_non_null(hyphae_map(a, &hyphae_int64, plus_one, NULL));
	begin();
	set(a, 1);
	set(a, 2);
	r = end();
	expect_totals(&r, 10002, 5001, 5001, 10002, 0);
	assert_int_equal(r.count, 5001);
	assert_int_equal(r.refiring, 5001);
	for (i = 0; i < r.count; i++) {
		assert_int_equal(r.cells[i].fires, 2);
		assert_true(i == 0 || r.cells[i - 1].id < r.cells[i].id);
	}
	hyphae_report_done(&r);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eager_diamond_refires),
		cmocka_unit_test(batched_diamond_does_not),
		cmocka_unit_test(pass_spans_two_sets),
		cmocka_unit_test(eager_pass_of_two_sets),
		cmocka_unit_test(nested_passes_join),
		cmocka_unit_test(second_take_is_empty),
		cmocka_unit_test(the_last_pass_counts),
		cmocka_unit_test(outside_nothing_is_collected),
		cmocka_unit_test(nothing_fired),
		cmocka_unit_test(two_graphs),
		cmocka_unit_test(unchanged_writes),
		cmocka_unit_test(coalesced_writes),
		cmocka_unit_test(worst_first),
		cmocka_unit_test(errors_and_filters),
		cmocka_unit_test(writes_of_subscribers),
		cmocka_unit_test(with_a_function),
		cmocka_unit_test(other_threads_do_not_count),
		cmocka_unit_test(thread_ends_in_a_pass),
		cmocka_unit_test(left_by_other_threads),
		cmocka_unit_test(cells_that_are_gone),
		cmocka_unit_test(many_cells),
		cmocka_unit_test(parts_are_one_fire),
	};

	return cmocka_run_group_tests_name("pass reports", tests, NULL, NULL);
}
