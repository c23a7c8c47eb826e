/* SPDX-License-Identifier: MIT */
/*
 * The log of a batch begins bare (core/log.h): whatever needs more of it than
 * a cell and a word has to find that there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/types.h"

#define MANY 37

/* What subscribers were told, in order. */
struct told {
	int64_t values[4 * MANY];
	int count;
	int ended; /* completions */
};

static int note(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	if (signal->kind != HYPHAE_VALUE)
		told->ended++;
	else if (told->count < 4 * MANY)
		told->values[told->count++] = *(const int64_t *)signal->value;
	return 0;
}

static int add_one(void *out, const void *in, void *ctx)
{
	(void)ctx;
	*(int64_t *)out = *(const int64_t *)in + 1;
	return 0;
}

/* A graph of MANY sources; its log has room for `room` from a batch before. */
struct bed {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[MANY];
	struct told told;
};

static void make(struct bed *bed, int room)
{
	struct hyphae_cell *other;
	int i;

	memset(bed, 0, sizeof(*bed));
	bed->graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	assert_non_null(bed->graph);
	for (i = 0; i < MANY; i++)
		bed->cells[i] = hyphae_int64_new(bed->graph, 0);
	assert_non_null(bed->cells[MANY - 1]);
	hyphae_batch_begin(bed->graph);
	for (i = 0; i < room; i++) {
		other = hyphae_int64_new(bed->graph, 0);
		assert_int_equal(hyphae_int64_set(other, 1), 0);
		hyphae_cell_unref(other);
	}
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
}

static void listen(struct bed *bed, int i)
{
	assert_non_null(hyphae_subscribe_with(bed->cells[i], note, &bed->told,
					      NULL, HYPHAE_SKIP_INITIAL));
}

static void done(struct bed *bed)
{
	assert_int_equal(hyphae_graph_check_idle(bed->graph), 0);
	assert_int_equal(hyphae_graph_free(bed->graph), 0);
}

static int64_t held(struct hyphae_cell *cell)
{
	int64_t value = -1;

	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	return value;
}

static bool has_cold_part(struct hyphae_cell *handle)
{
	return hy_cold_of(hy_cell(handle)) != NULL;
}

static void expect_told(const struct bed *bed, int count, ...)
{
	va_list values;
	int i;

	assert_int_equal(bed->told.count, count);
	va_start(values, count);
	for (i = 0; i < count; i++)
		assert_int_equal(bed->told.values[i], va_arg(values, int));
	va_end(values);
}

/* ---- nothing else is asked of it ------------------------------------------- */

static void grows(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	make(&bed, 0);
	for (i = 0; i < MANY; i++)
		listen(&bed, i);
	hyphae_batch_begin(bed.graph);
	for (i = MANY - 1; i >= 0; i--)
		assert_int_equal(hyphae_int64_set(bed.cells[i], i + 1), 0);
	assert_int_equal(bed.told.count, 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	assert_int_equal(bed.told.count, MANY);
	for (i = 0; i < MANY; i++) /* in order of subscription */
		assert_int_equal(bed.told.values[i], i + 1);
	/* And that costs a cell nothing. */
	for (i = 0; i < MANY; i++)
		assert_false(has_cold_part(bed.cells[i]));
	done(&bed);
}

static void steady(void **state)
{
	struct bed bed;
	unsigned long asked;
	int i;

	(void)state;
	make(&bed, MANY);
	asked = hy_alloc_count();
	hyphae_batch_begin(bed.graph);
	for (i = 0; i < MANY; i++)
		assert_int_equal(hyphae_int64_set(bed.cells[i], i), 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	assert_int_equal(hy_alloc_count() - asked, 0);
	assert_int_equal(held(bed.cells[MANY - 1]), MANY - 1);
	done(&bed);
}

/* Two of three change; the sum is computed once, of both. */
static int add(void *out, const void *const *in, size_t count, void *ctx)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += *(const int64_t *)in[i];
	*(int64_t *)out = sum;
	++*(int *)ctx;
	return 0;
}

static void one_wave(void **state)
{
	struct hyphae_cell *sum;
	struct bed bed;
	int calls = 0;

	(void)state;
	make(&bed, 3);
	sum = hyphae_combine(bed.cells, 3, &hyphae_int64, add, &calls);
	assert_non_null(sum);
	hyphae_subscribe_with(sum, note, &bed.told, NULL, HYPHAE_SKIP_INITIAL);
	listen(&bed, 1);
	calls = 0;
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[0], 10);
	hyphae_int64_set(bed.cells[1], 100);
	hyphae_int64_set(bed.cells[2], 0); /* as it was */
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	assert_int_equal(calls, 1);
	expect_told(&bed, 2, 110, 100);
	done(&bed);
}

/* A log that has grown is empty all the same when its batch has ended. */
static void grown_and_used_again(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	make(&bed, 0);
	hyphae_batch_begin(bed.graph);
	for (i = 0; i < MANY; i++)
		assert_int_equal(hyphae_int64_set(bed.cells[i], i + 1), 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	for (i = 0; i < MANY; i++)
		listen(&bed, i);
	/* Not the short way: it is looked whether the log is empty. */
	assert_int_equal(hyphae_frame_begin(bed.graph, 0), 0);
	assert_int_equal(hyphae_int64_set(bed.cells[7], 70), 0);
	assert_int_equal(hyphae_frame_end(bed.graph), 0);
	expect_told(&bed, 1, 70);
	assert_int_equal(held(bed.cells[8]), 9);
	done(&bed);
}

/* ---- something is ---------------------------------------------------------- */

enum { BEFORE = 2 }; /* writes before what is looked at */

static void begin_with_some(struct bed *bed)
{
	int i;

	make(bed, MANY);
	for (i = 0; i <= BEFORE; i++)
		listen(bed, i);
	assert_int_equal(hyphae_batch_begin(bed->graph), 0);
	for (i = 0; i <= BEFORE; i++)
		assert_int_equal(hyphae_int64_set(bed->cells[i], 10 + i), 0);
}

static void written_twice(struct bed *bed)
{
	assert_int_equal(hyphae_int64_set(bed->cells[1], 20), 0);
	assert_int_equal(hyphae_int64_set(bed->cells[3], 30), 0);
	assert_int_equal(hyphae_int64_set(bed->cells[3], 31), 0);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 20, 12);
	assert_int_equal(held(bed->cells[3]), 31);
}

/* And read: the last write is at hand, and the log still bare. */
static void written_in_a_loop(struct bed *bed)
{
	int i;

	for (i = 0; i < 5; i++) {
		assert_int_equal(hyphae_int64_set(bed->cells[5], 50 + i), 0);
		assert_int_equal(held(bed->cells[5]), 50 + i);
		assert_int_equal(hyphae_int64_set(bed->cells[2], 20 + i), 0);
	}
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 24);
	assert_int_equal(held(bed->cells[5]), 54);
}

static void last_again(struct bed *bed)
{
	int i;

	for (i = 0; i < 5; i++) {
		assert_int_equal(hyphae_int64_set(bed->cells[2], 20 + i), 0);
		assert_int_equal(held(bed->cells[2]), 20 + i);
	}
	assert_false(has_cold_part(bed->cells[2]));
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 24);
}

static void read_inside(struct bed *bed)
{
	assert_int_equal(held(bed->cells[1]), 11);
	assert_int_equal(held(bed->cells[4]), 0);
	assert_int_equal(hyphae_int64_set(bed->cells[4], 5), 0);
	assert_int_equal(held(bed->cells[4]), 5);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 12);
}

/* The user's reference goes; the write is told all the same. */
static void released_inside(struct bed *bed)
{
	struct hyphae_graph_counts counts;
	struct hyphae_cell *other;
	struct hyphae_cell *plus =
		hyphae_map(bed->cells[3], &hyphae_int64, add_one, NULL);

	assert_int_equal(hyphae_cell_unref(bed->cells[2]), 0);
	assert_int_equal(hyphae_int64_set(bed->cells[3], 40), 0);
	assert_int_equal(hyphae_cell_unref(bed->cells[3]), 0);
	assert_int_equal(hyphae_int64_set(bed->cells[4], 50), 0);
	assert_int_equal(hyphae_cell_unref(bed->cells[4]), 0);
	/* It is still there: nobody else has got its place. */
	other = hyphae_int64_new(bed->graph, 7);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 12);
	assert_int_equal(held(other), 7);
	assert_int_equal(hyphae_graph_counts(bed->graph, &counts), 0);
	assert_int_equal(counts.cells, MANY + 1);
	if (plus)
		assert_int_equal(held(plus), 41);
}

static void ends_inside(struct bed *bed)
{
	int r = hyphae_cell_complete(bed->cells[1]);

	if (!r)
		assert_int_equal(hyphae_int64_set(bed->cells[1], 21),
				 -ESHUTDOWN);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 12);
	assert_int_equal(bed->told.ended, r ? 0 : 1);
}

static void settles_inside(struct bed *bed)
{
	assert_int_equal(hyphae_settle(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 12);
	assert_int_equal(hyphae_int64_set(bed->cells[0], 60), 0);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 4, 10, 11, 12, 60);
}

static void asked_for_references(struct bed *bed)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(bed->cells[5], &info), 0);
	assert_int_equal(info.references, 1);
	assert_int_equal(hyphae_int64_set(bed->cells[5], 1), 0);
	assert_int_equal(hyphae_cell_info(bed->cells[5], &info), 0);
	assert_int_equal(info.references, 2);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	assert_int_equal(hyphae_cell_info(bed->cells[5], &info), 0);
	assert_int_equal(info.references, 1);
}

static void no_more_to_it(struct bed *bed)
{
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	expect_told(bed, 3, 10, 11, 12);
}

/*
 * Each with memory, and with every allocation failing that a step could do
 * without: no write that was accepted is lost.
 */
static void run(void (*step)(struct bed *bed), bool memory)
{
	struct bed bed;
	unsigned long n;

	begin_with_some(&bed);
	step(&bed);
	done(&bed);
	for (n = 1; memory && n < 5; n++) {
		begin_with_some(&bed);
		hy_alloc_fail_after(n);
		step(&bed);
		hy_alloc_fail_after(0);
		done(&bed);
	}
}

#define CASE(name, memory)                                                     \
	static void test_##name(void **state)                                  \
	{                                                                      \
		(void)state;                                                   \
		run(name, memory);                                             \
	}
CASE(no_more_to_it, true)
CASE(written_twice, false)
CASE(written_in_a_loop, false)
CASE(last_again, true)
CASE(read_inside, false)
CASE(released_inside, false)
CASE(ends_inside, true)
CASE(settles_inside, true)
CASE(asked_for_references, true)

/* The log could not say where they lie: so they are searched for. */
static void without_cold_parts(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	for (i = 0; i <= BEFORE; i++) {
		begin_with_some(&bed);
		/* Whose cold part is asked for first: the last one's. */
		hy_alloc_fail_after((unsigned long)i + 1);
		assert_int_equal(held(bed.cells[0]), 10);
		hy_alloc_fail_after(0);
		assert_false(has_cold_part(bed.cells[BEFORE - i]));
		assert_int_equal(held(bed.cells[BEFORE - i]), 10 + BEFORE - i);
		assert_int_equal(hyphae_int64_set(bed.cells[BEFORE - i], 70),
				 0);
		assert_int_equal(held(bed.cells[BEFORE - i]), 70);
		assert_int_equal(hyphae_cell_complete(bed.cells[BEFORE - i]),
				 0);
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
		expect_told(&bed, 3, i == 2 ? 70 : 10, i == 1 ? 70 : 11,
			    i == 0 ? 70 : 12);
		assert_int_equal(bed.told.ended, 1);
		done(&bed);
	}
}

/* ---- others ---------------------------------------------------------------- */

static int set_and_end(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *bed = ctx;
	int64_t value = *(const int64_t *)signal->value;

	if (value)
		hyphae_int64_set(bed->cells[1], value);
	hyphae_batch_end(bed->graph);
	return 0;
}

/* In a wave that runs while the batch is open, of a post. */
static void end_by_a_subscriber(struct bed *bed, int64_t value)
{
	struct hyphae_cell *trigger;

	begin_with_some(bed);
	trigger = hyphae_int64_new(bed->graph, -1);
	assert_non_null(hyphae_subscribe_with(trigger, set_and_end, bed, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_cell_post(trigger, &hyphae_int64, &value), 0);
	assert_int_equal(hyphae_graph_dispatch(bed->graph), 0);
	assert_int_equal(hyphae_batch_end(bed->graph), -EINVAL);
}

static void ended_by_a_subscriber(void **state)
{
	struct bed bed;

	(void)state;
	end_by_a_subscriber(&bed, 0);
	expect_told(&bed, 3, 10, 11, 12);
	done(&bed);
	/* And it has written to it before. */
	end_by_a_subscriber(&bed, 81);
	expect_told(&bed, 3, 10, 81, 12);
	assert_int_equal(held(bed.cells[1]), 81);
	done(&bed);
}

/* `fail`: when it ends the batch the first block that it wants is refused. */
struct ender {
	struct bed bed;
	unsigned long fail;
};

static int end_it(const struct hyphae_timer_event *event, void *ctx)
{
	struct ender *ender = ctx;

	(void)event;
	hy_alloc_fail_after(ender->fail);
	hyphae_batch_end(ender->bed.graph);
	hy_alloc_fail_after(0);
	return 0;
}

/*
 * Which leaves no write of its own: the log is bare until then.  It goes on in
 * the next wave, for which every cell gets a cold part, at the second try.
 */
static void ended_by_a_timer(void **state)
{
	struct hyphae_clock *clock;
	struct ender ender;
	struct bed *bed = &ender.bed;
	unsigned long n;

	(void)state;
	for (n = 0; n < 2; n++) {
		clock = hyphae_clock_new_virtual(0);
		ender.fail = n;
		make(bed, MANY);
		listen(bed, 0);
		assert_int_equal(hyphae_graph_set_clock(bed->graph, clock), 0);
		assert_non_null(hyphae_timer_start(bed->graph, 5, 0, end_it,
						   &ender, NULL));
		hyphae_batch_begin(bed->graph);
		hyphae_int64_set(bed->cells[0], 1);
		hyphae_int64_set(bed->cells[1], 2);
		assert_int_equal(hyphae_clock_advance(clock, 5), 0);
		expect_told(bed, 1, 1);
		assert_int_equal(held(bed->cells[1]), 2);
		assert_int_equal(hyphae_batch_end(bed->graph), -EINVAL);
		done(bed);
		hyphae_clock_unref(clock);
	}
}

/* The cell waits in two logs, and the first did not tell it so. */
static void posted_meanwhile(void **state)
{
	struct bed bed;
	int64_t value = 90;
	unsigned long n;

	(void)state;
	for (n = 0; n < 2; n++) {
		begin_with_some(&bed);
		hy_alloc_fail_after(n);
		assert_int_equal(held(bed.cells[0]), 10);
		hy_alloc_fail_after(0);
		assert_int_equal(has_cold_part(bed.cells[BEFORE]), !n);
		assert_int_equal(hyphae_cell_post(bed.cells[BEFORE],
						  &hyphae_int64, &value),
				 0);
		assert_int_equal(hyphae_graph_dispatch(bed.graph), 0);
		expect_told(&bed, 1, 90);
		assert_int_equal(held(bed.cells[BEFORE]), 10 + BEFORE);
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
		expect_told(&bed, 4, 90, 10, 11, 12);
		assert_int_equal(held(bed.cells[BEFORE]), 10 + BEFORE);
		done(&bed);
	}
}

/* Before the batch ends: what it wrote there is too late. */
static void completed_meanwhile(void **state)
{
	struct bed bed;

	(void)state;
	begin_with_some(&bed);
	assert_int_equal(hyphae_cell_post_complete(bed.cells[1]), 0);
	assert_int_equal(hyphae_graph_dispatch(bed.graph), 0);
	assert_int_equal(bed.told.ended, 1);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 2, 10, 12);
	assert_int_equal(held(bed.cells[1]), 0);
	done(&bed);
}

/* A post ends a cell that has been written. */
static void ended_by_a_post(void **state)
{
	struct bed bed;

	(void)state;
	begin_with_some(&bed);
	assert_int_equal(hyphae_cell_post_complete(bed.cells[1]), 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 3, 10, 11, 12);
	assert_int_equal(bed.told.ended, 1);
	done(&bed);
}

static int open_one(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *bed = ctx;
	int64_t value = *(const int64_t *)signal->value;

	hyphae_batch_begin(bed->graph);
	hyphae_int64_set(bed->cells[1], value + 1);
	hyphae_int64_set(bed->cells[2], value + 2);
	hyphae_batch_end(bed->graph);
	return 0;
}

/* Of a subscriber that a batch calls: each has a log of its own. */
static void batch_within_its_end(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	make(&bed, 2);
	hyphae_subscribe_with(bed.cells[0], open_one, &bed, NULL,
			      HYPHAE_SKIP_INITIAL);
	listen(&bed, 1);
	listen(&bed, 2);
	for (i = 1; i <= 2; i++) {
		hyphae_batch_begin(bed.graph);
		hyphae_int64_set(bed.cells[0], 100 * i);
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
	}
	expect_told(&bed, 4, 101, 102, 201, 202);
	done(&bed);
}

static int open_and_end(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *bed = ctx;

	(void)signal;
	hyphae_batch_begin(bed->graph);
	hyphae_batch_end(bed->graph);
	return 0;
}

/* It leaves nothing to do, and the batch that it had is the spare one. */
static void empty_batch_within_its_end(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	make(&bed, 2);
	hyphae_subscribe_with(bed.cells[0], open_and_end, &bed, NULL,
			      HYPHAE_SKIP_INITIAL);
	listen(&bed, 1);
	for (i = 1; i <= 3; i++) {
		hyphae_batch_begin(bed.graph);
		hyphae_int64_set(bed.cells[0], i);
		hyphae_int64_set(bed.cells[1], 10 * i);
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
	}
	expect_told(&bed, 3, 10, 20, 30);
	done(&bed);
}

/* The passes of two waves, one of which the subscriber of the other wrote. */
struct passes {
	struct bed bed;
	uint64_t first, second;
};

static int note_first(const struct hyphae_signal *signal, void *ctx)
{
	struct passes *passes = ctx;

	passes->first = hy_graph(passes->bed.graph)->pass;
	hyphae_int64_set(passes->bed.cells[1], *(const int64_t *)signal->value);
	return 0;
}

static int note_second(const struct hyphae_signal *signal, void *ctx)
{
	struct passes *passes = ctx;

	(void)signal;
	passes->second = hy_graph(passes->bed.graph)->pass;
	return 0;
}

static void one_pass(void **state)
{
	struct passes passes;
	struct bed *bed = &passes.bed;

	(void)state;
	make(bed, 2);
	hyphae_subscribe_with(bed->cells[0], note_first, &passes, NULL,
			      HYPHAE_SKIP_INITIAL);
	hyphae_subscribe_with(bed->cells[1], note_second, &passes, NULL,
			      HYPHAE_SKIP_INITIAL);
	hyphae_batch_begin(bed->graph);
	hyphae_int64_set(bed->cells[0], 1);
	assert_int_equal(hyphae_batch_end(bed->graph), 0);
	assert_int_equal(passes.first, passes.second);
	done(bed);
}

/* The last pass id in stock has been used: others have what follows it. */
static void out_of_pass_ids(void **state)
{
	struct hyphae_graph *other = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(other, 0);
	struct hy_graph *g;
	uint64_t last;
	struct bed bed;

	(void)state;
	make(&bed, 2);
	hyphae_int64_set(cell, 1);
	g = hy_graph(bed.graph);
	last = g->pass_end;
	g->pass_next = last;
	assert_int_equal(hy_graph(other)->pass, last);
	assert_int_equal(hyphae_batch_begin(bed.graph), 0);
	assert_int_not_equal(g->solo.batches->pass, last);
	assert_int_equal(g->pass_next, g->solo.batches->pass + 1);
	assert_true(g->pass_next < g->pass_end);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	assert_int_equal(hyphae_graph_free(other), 0);
	done(&bed);
}

/* While a pass report is open all batches of the thread belong to its pass. */
static void batches_of_a_pass(void **state)
{
	struct hyphae_report report;
	uint64_t passes[2];
	struct bed bed;
	int i;

	(void)state;
	make(&bed, 2);
	assert_int_equal(hyphae_pass_begin(), 0);
	for (i = 0; i < 2; i++) {
		hyphae_batch_begin(bed.graph);
		passes[i] = hy_graph(bed.graph)->solo.batches->pass;
		hyphae_int64_set(bed.cells[0], i + 1);
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
	}
	assert_int_equal(hyphae_pass_end(), 0);
	assert_int_equal(passes[0], passes[1]);
	assert_int_equal(hyphae_report_take(&report), 0);
	assert_int_equal(report.writes, 2);
	hyphae_report_done(&report);
	done(&bed);
}

/* What the end of a batch is told of, if somebody watches. */
static void counts_writes(void **state)
{
	struct hyphae_cell_info info;
	const struct hy_log *log;
	struct bed bed;
	int i;

	(void)state;
	make(&bed, MANY);
	for (i = 0; i < 2; i++) {
		hyphae_batch_begin(bed.graph);
		log = &hy_graph(bed.graph)->solo.batches->log;
		hyphae_int64_set(bed.cells[0], 1);
		hyphae_int64_set(bed.cells[1], 2);
		hyphae_int64_set(bed.cells[1], 3);
		if (i) { /* the second time it is told */
			hyphae_cell_info(bed.cells[0], &info);
			assert_int_equal(log->writes, 3);
			assert_int_equal(log->coalesced, 1);
		}
		assert_int_equal(hyphae_batch_end(bed.graph), 0);
	}
	done(&bed);
}

static int write_one(void *out, const void *in, void *ctx)
{
	struct bed *bed = ctx;

	*(int64_t *)out = hyphae_int64_set(bed->cells[1], 5);
	(void)in;
	return 0;
}

/* Who may not write may not write there either. */
static void not_in_a_function(void **state)
{
	struct hyphae_cell *made;
	struct bed bed;

	(void)state;
	make(&bed, MANY);
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[0], 1);
	made = hyphae_map(bed.cells[0], &hyphae_int64, write_one, &bed);
	assert_int_equal(held(made), -EPERM);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	assert_int_equal(held(made), -EPERM);
	assert_int_equal(held(bed.cells[1]), 0);
	done(&bed);
}

static int leave_open(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *bed = ctx;

	if (*(const int64_t *)signal->value == 1)
		hyphae_batch_begin(bed->graph);
	return 0;
}

/* A batch that a subscriber opened is bare from where it has settled. */
static void two_batches_in_turn(void **state)
{
	struct bed bed;

	(void)state;
	make(&bed, MANY);
	hyphae_subscribe_with(bed.cells[0], leave_open, &bed, NULL,
			      HYPHAE_SKIP_INITIAL);
	listen(&bed, 1);
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[0], 1);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	hyphae_int64_set(bed.cells[1], 2);
	expect_told(&bed, 0);
	assert_int_equal(hyphae_settle(bed.graph), 0);
	expect_told(&bed, 1, 2);
	hyphae_int64_set(bed.cells[1], 3);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 2, 2, 3);
	/* The next is the first one's again. */
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[1], 4);
	hyphae_int64_set(bed.cells[2], 5);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 3, 2, 3, 4);
	assert_int_equal(held(bed.cells[2]), 5);
	done(&bed);
}

static int leave_open_written(const struct hyphae_signal *signal, void *ctx)
{
	struct bed *bed = ctx;

	if (*(const int64_t *)signal->value == 1) {
		hyphae_batch_begin(bed->graph);
		hyphae_int64_set(bed->cells[1], 11);
	}
	return 0;
}

/* A batch settles, and meanwhile a subscriber leaves another one open. */
static void two_batches_at_once(void **state)
{
	struct bed bed;
	int i;

	(void)state;
	make(&bed, MANY);
	hyphae_subscribe_with(bed.cells[0], leave_open_written, &bed, NULL,
			      HYPHAE_SKIP_INITIAL);
	for (i = 1; i < 4; i++)
		listen(&bed, i);
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[0], 1);
	assert_int_equal(hyphae_settle(bed.graph), 0);
	hyphae_int64_set(bed.cells[2], 12);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 1, 12);
	/* The other one is still open. */
	assert_int_equal(hyphae_graph_free(bed.graph), -EBUSY);
	hyphae_int64_set(bed.cells[3], 13);
	expect_told(&bed, 1, 12);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 3, 12, 11, 13);
	assert_int_equal(hyphae_batch_end(bed.graph), -EINVAL);
	/* Nothing of it is left in the one that is used again. */
	hyphae_batch_begin(bed.graph);
	hyphae_int64_set(bed.cells[2], 22);
	assert_int_equal(hyphae_settle(bed.graph), 0);
	hyphae_int64_set(bed.cells[2], 23);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 5, 12, 11, 13, 22, 23);
	done(&bed);
}

static void nested_begin(void **state)
{
	struct bed bed;

	(void)state;
	begin_with_some(&bed);
	assert_int_equal(hyphae_batch_begin(bed.graph), 0);
	assert_int_equal(hyphae_int64_set(bed.cells[3], 1), 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 0);
	assert_int_equal(hyphae_batch_end(bed.graph), 0);
	expect_told(&bed, 3, 10, 11, 12);
	assert_int_equal(hyphae_batch_end(bed.graph), -EINVAL);
	done(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(steady),
		cmocka_unit_test(one_wave),
		cmocka_unit_test(grown_and_used_again),
		cmocka_unit_test(test_no_more_to_it),
		cmocka_unit_test(test_written_twice),
		cmocka_unit_test(test_written_in_a_loop),
		cmocka_unit_test(test_last_again),
		cmocka_unit_test(test_read_inside),
		cmocka_unit_test(test_released_inside),
		cmocka_unit_test(test_ends_inside),
		cmocka_unit_test(test_settles_inside),
		cmocka_unit_test(test_asked_for_references),
		cmocka_unit_test(without_cold_parts),
		cmocka_unit_test(ended_by_a_subscriber),
		cmocka_unit_test(ended_by_a_timer),
		cmocka_unit_test(posted_meanwhile),
		cmocka_unit_test(completed_meanwhile),
		cmocka_unit_test(ended_by_a_post),
		cmocka_unit_test(batch_within_its_end),
		cmocka_unit_test(empty_batch_within_its_end),
		cmocka_unit_test(one_pass),
		cmocka_unit_test(out_of_pass_ids),
		cmocka_unit_test(batches_of_a_pass),
		cmocka_unit_test(counts_writes),
		cmocka_unit_test(not_in_a_function),
		cmocka_unit_test(two_batches_in_turn),
		cmocka_unit_test(two_batches_at_once),
		cmocka_unit_test(nested_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
