/* SPDX-License-Identifier: MIT */
/*
 * Events, merges and lazy cells with several threads: no emission is lost,
 * none is doubled, those of one thread stay in order, nobody is entered twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include <hyphae/hyphae.h>

#include "threads.h"

enum { WRITERS = 4, EMISSIONS = 2003, VISITS = 1009 };

/* What a subscriber saw; only the propagating thread touches it. */
struct seen {
	int64_t next[WRITERS]; /* by writer */
	unsigned long told, wrong, entered, twice;
};

static int see(const struct hyphae_signal *signal, void *ctx)
{
	struct seen *seen = ctx;
	int64_t value, writer;

	seen->twice += seen->entered++ != 0;
	if (signal->kind == HYPHAE_VALUE) {
		value = hyphae_int64_of(signal);
		writer = value / 1000000;
		seen->wrong += value % 1000000 != seen->next[writer]++;
		seen->told++;
	}
	seen->entered--;
	return 0;
}

struct writer {
	pthread_t thread;
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	int64_t base;
	unsigned long retries, failed;
	unsigned int batch; /* emissions in one; 0: no batches */
};

static void emit(struct writer *w, int64_t i)
{
	int r;

	while ((r = hyphae_int64_set(w->cell, w->base + i)) == -EAGAIN) {
		w->retries++;
		sched_yield();
	}
	w->failed += r != 0;
}

static void *write_all(void *ctx)
{
	struct writer *w = ctx;

	for (int64_t i = 0; i < EMISSIONS;) {
		unsigned int n = w->batch ? w->batch : 1;

		if (w->batch)
			w->failed += hyphae_batch_begin(w->graph) != 0;
		for (; n && i < EMISSIONS; n--, i++)
			emit(w, i);
		if (w->batch)
			w->failed += hyphae_batch_end(w->graph) != 0;
	}
	return NULL;
}

static void run_writers(struct hyphae_graph *graph,
			struct hyphae_cell *const *cells, unsigned int batch)
{
	struct writer writers[WRITERS];

	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.graph = graph,
					     .cell = cells[i],
					     .base = i * 1000000,
					     .batch = batch};
		start(&writers[i].thread, write_all, &writers[i]);
	}
	for (int i = 0; i < WRITERS; i++) {
		join(writers[i].thread);
		assert_int_equal(writers[i].failed, 0);
	}
	assert_int_equal(hyphae_settle(graph), 0);
}

static void assert_all_seen(const struct seen *seen)
{
	assert_int_equal(seen->told, WRITERS * EMISSIONS);
	assert_int_equal(seen->wrong, 0);
	assert_int_equal(seen->twice, 0);
}

/* A9: one event, several writers, with and without batches. */
static void a09_one_event(void **state)
{
	(void)state;
	WATCH();
	for (unsigned int batch = 0; batch <= 7; batch += 7) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *e = hyphae_event_new(graph, &hyphae_int64);
		struct hyphae_cell *cells[WRITERS] = {e, e, e, e};
		struct hyphae_cell *last = hyphae_hold(e, &hyphae_int64, NULL);
		struct seen seen = {.told = 0};

		assert_non_null(hyphae_subscribe(e, see, &seen));
		run_writers(graph, cells, batch);
		assert_all_seen(&seen);
		assert_int_equal(value(last) % 1000000, EMISSIONS - 1);
		end_graph(graph, 2, 1);
	}
}

/* The same through a merge of events, each with its own writer. */
static void a09_merged_events(void **state)
{
	(void)state;
	WATCH();
	for (unsigned int batch = 0; batch <= 7; batch += 7) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *cells[WRITERS], *m;
		struct hyphae_backlog backlog;
		struct seen seen = {.told = 0};

		for (int i = 0; i < WRITERS; i++)
			cells[i] = hyphae_event_new(graph, &hyphae_int64);
		m = hyphae_merge(cells, WRITERS);
		assert_non_null(hyphae_subscribe(m, see, &seen));
		run_writers(graph, cells, batch);
		assert_all_seen(&seen);
		assert_int_equal(hyphae_cell_backlog(m, &backlog), 0);
		assert_int_equal(backlog.queued, 0);
		assert_int_equal(backlog.dropped, 0);
		end_graph(graph, WRITERS + 1, 1);
	}
}

/* ---- followers that come and go meanwhile ---------------------------------------- */

struct visitor {
	pthread_t thread;
	struct hyphae_cell *cell;
	unsigned long failed;
};

static int look(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	__atomic_add_fetch((unsigned long *)ctx, 1, __ATOMIC_RELAXED);
	return 0;
}

static void *come_and_go(void *ctx)
{
	struct visitor *v = ctx;
	unsigned long calls = 0;

	for (int i = 0; i < VISITS; i++) {
		struct hyphae_subscription *sub =
			hyphae_subscribe(v->cell, look, &calls);

		v->failed += !sub || hyphae_unsubscribe_wait(sub) != 0;
	}
	return NULL;
}

static int add(void *ret, const void *state, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)state + *(const int64_t *)value;
	return 0;
}

static int first_of(void *ret, const void *const *values, size_t count,
		    void *ctx)
{
	(void)ctx;
	(void)count;
	*(int64_t *)ret = *(const int64_t *)values[0];
	return 0;
}

static size_t targets(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.targets;
}

/* Lazy cells of all kinds wake and go idle beside a writer. */
static void lazy_cells_beside_a_writer(void **state)
{
	static const int64_t zero;
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cells[WRITERS];
	struct visitor visitors[6];

	(void)state;
	WATCH();
	for (int i = 0; i < WRITERS; i++)
		cells[i] = hyphae_event_new(graph, &hyphae_int64);
	assert_int_equal(hyphae_graph_set_lazy(graph, true), 0);
	visitors[0].cell = hyphae_merge(cells, 2);
	visitors[1].cell =
		hyphae_scan(cells[0], &hyphae_int64, &zero, add, NULL);
	visitors[2].cell = hyphae_zip(cells, 2, &hyphae_int64, first_of, NULL,
				      3, HYPHAE_OVERFLOW_DROP_OLDEST);
	visitors[3].cell = hyphae_concat(cells, WRITERS);
	visitors[4].cell = hyphae_race(cells, WRITERS);
	visitors[5].cell = hyphae_share(visitors[0].cell);
	for (int i = 0; i < 6; i++) {
		struct hyphae_cell *cell = visitors[i].cell;

		visitors[i] = (struct visitor){.cell = cell};
		start(&visitors[i].thread, come_and_go, &visitors[i]);
	}
	run_writers(graph, cells, 3);
	for (int i = 0; i < 6; i++) {
		join(visitors[i].thread);
		assert_int_equal(visitors[i].failed, 0);
	}
	assert_int_equal(hyphae_settle(graph), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(targets(cells[i]), 0);
	end_graph(graph, WRITERS + 6, 0);
}

/* ---- an endless source ------------------------------------------------------------- */

struct endless {
	struct hyphae_cell *cell;
	unsigned long calls;
	int told;
};

static int one_more(void *ret, void *ctx)
{
	struct endless *e = ctx;

	*(int64_t *)ret = (int64_t)e->calls++;
	return 1;
}

static int say(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	__atomic_store_n(&((struct endless *)ctx)->told, 1, __ATOMIC_RELEASE);
	return 0;
}

static void *follow_endless(void *ctx)
{
	struct endless *e = ctx;

	return hyphae_subscribe(e->cell, say, e);
}

/* Another thread ends it, which does not know the subscription yet. */
static void an_endless_source_is_ended_from_outside(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct endless e = {.calls = 0};
	struct hyphae_cell_info info;
	struct hyphae_subscription *sub;
	pthread_t thread;
	uint64_t id;

	(void)state;
	WATCH();
	e.cell = hyphae_generator(graph, &hyphae_int64, one_more, &e, NULL);
	start(&thread, follow_endless, &e);
	while (!__atomic_load_n(&e.told, __ATOMIC_ACQUIRE))
		sched_yield();
	/* Whoever subscribes and leaves meanwhile changes nothing. */
	sub = hyphae_subscribe(e.cell, say, &e);
	id = hyphae_subscription_id(sub);
	assert_true(id > 0);
	assert_int_equal(hyphae_unsubscribe(sub), 0);
	assert_int_equal(hyphae_unsubscribe_all(e.cell), 0);
	join(thread);
	assert_int_equal(hyphae_cell_info(e.cell, &info), 0);
	assert_true(info.idle);
	assert_int_equal(hyphae_cell_unref(e.cell), 0);
	end_graph(graph, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a09_one_event),
		cmocka_unit_test(a09_merged_events),
		cmocka_unit_test(lazy_cells_beside_a_writer),
		cmocka_unit_test(an_endless_source_is_ended_from_outside),
	};

	return cmocka_run_group_tests_name("events, threads", tests, NULL,
					   NULL);
}
