/* SPDX-License-Identifier: MIT */
/* Frames: what they collect, how they propagate it, and what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <hyphae/hyphae.h>

#include "oom.h"

struct stage {
	struct hyphae_clock *clock;
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[2];
	struct hyphae_cell *sum;
	struct hyphae_subscription *sub;
	unsigned int runs, calls;
	int64_t last;
	int (*hook)(struct stage *stage); /* of the subscriber */
	int hook_said;
};

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	struct stage *stage = ctx;
	int64_t total = 0;

	stage->runs++;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static int on_sum(const struct hyphae_signal *signal, void *ctx)
{
	struct stage *stage = ctx;

	stage->calls++;
	stage->last = hyphae_int64_of(signal);
	if (stage->hook)
		stage->hook_said = stage->hook(stage);
	return 0;
}

static int set_up(void **state, unsigned int flags)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->clock = hyphae_clock_new_virtual(0);
	stage->graph = hyphae_graph_new(flags);
	assert_int_equal(hyphae_graph_set_clock(stage->graph, stage->clock), 0);
	for (int i = 0; i < 2; i++)
		stage->cells[i] = hyphae_int64_new(stage->graph, 0);
	stage->sum = hyphae_combine(stage->cells, 2, &hyphae_int64, add, stage);
	stage->sub = hyphae_subscribe(stage->sum, on_sum, stage);
	assert_non_null(stage->sub);
	stage->runs = stage->calls = 0;
	*state = stage;
	return 0;
}

static int shared(void **state)
{
	return set_up(state, 0);
}

static int single(void **state)
{
	return set_up(state, HYPHAE_SINGLE_THREAD);
}

static int eager(void **state)
{
	return set_up(state, HYPHAE_EAGER);
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(hyphae_graph_check_idle(stage->graph), 0);
	assert_int_equal(hyphae_graph_free(stage->graph), 0);
	assert_int_equal(hyphae_clock_unref(stage->clock), 0);
	free(stage);
	return 0;
}

static int begin(struct stage *stage, uint64_t boundary)
{
	return hyphae_frame_begin(stage->graph, boundary);
}

static int end(struct stage *stage)
{
	return hyphae_frame_end(stage->graph);
}

static void set(struct stage *stage, int64_t a, int64_t b)
{
	assert_int_equal(hyphae_int64_set(stage->cells[0], a), 0);
	assert_int_equal(hyphae_int64_set(stage->cells[1], b), 0);
}

/* ---- what they do ---------------------------------------------------------- */

static int frame(void *ctx)
{
	struct stage *stage = ctx;
	int r = begin(stage, 16);

	if (r)
		return r;
	hyphae_int64_set(stage->cells[0], 1);
	hyphae_int64_set(stage->cells[1], 2);
	hyphae_int64_set(stage->cells[0], 10);
	return end(stage);
}

static void one_wave_in_one_pass(void **state)
{
	struct stage *stage = *state;
	struct hyphae_report report;

	assert_int_equal(hyphae_pass(frame, stage, &report), 0);
	assert_int_equal(stage->runs, 1);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->last, 12);
	assert_int_equal(report.fires, 3);
	assert_int_equal(report.refires, 0);
	hyphae_report_done(&report);
}

static void numbered_from_one(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(hyphae_frame_number(stage->graph), 0);
	assert_int_equal(end(stage), -EINVAL);
	assert_int_equal(begin(stage, 0), 0);
	assert_int_equal(hyphae_frame_number(stage->graph), 1);
	assert_int_equal(begin(stage, 0), -EBUSY);
	assert_int_equal(hyphae_frame_number(stage->graph), 1);
	assert_int_equal(end(stage), 0); /* an empty one */
	assert_int_equal(stage->calls, 0);
	assert_int_equal(begin(stage, UINT64_MAX), 0);
	assert_int_equal(hyphae_frame_number(stage->graph), 2);
	set(stage, 1, 2);
	assert_int_equal(stage->calls, 0);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(end(stage), -EINVAL);
	/* Then writes go as before. */
	assert_int_equal(hyphae_int64_set(stage->cells[0], 5), 0);
	assert_int_equal(stage->calls, 2);
}

static void batches_nest_in_frames(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(begin(stage, 0), 0);
	assert_int_equal(hyphae_batch_end(stage->graph), -EINVAL);
	assert_int_equal(hyphae_batch_begin(stage->graph), 0);
	set(stage, 1, 2);
	assert_int_equal(end(stage), -EBUSY);
	assert_int_equal(hyphae_batch_end(stage->graph), 0);
	assert_int_equal(hyphae_batch_end(stage->graph), -EINVAL);
	assert_int_equal(hyphae_settle(stage->graph), -EBUSY);
	assert_int_equal(stage->calls, 0);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->last, 3);
}

static void frames_do_not_nest_in_batches(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(hyphae_batch_begin(stage->graph), 0);
	assert_int_equal(begin(stage, 0), -EBUSY);
	assert_int_equal(end(stage), -EINVAL);
	set(stage, 1, 2);
	assert_int_equal(hyphae_batch_end(stage->graph), 0);
	assert_int_equal(stage->calls, 1);
	/* The batch that is kept for later has nothing of a frame. */
	assert_int_equal(begin(stage, 0), 0);
	assert_int_equal(end(stage), 0);
	assert_int_equal(hyphae_batch_begin(stage->graph), 0);
	assert_int_equal(hyphae_batch_end(stage->graph), 0);
}

static void graph_of_an_open_frame(void **state)
{
	struct stage *stage = *state;
	struct hyphae_graph_counts counts;

	assert_int_equal(begin(stage, 0), 0);
	assert_int_equal(hyphae_graph_free(stage->graph), -EBUSY);
	assert_int_equal(hyphae_graph_check_idle(stage->graph), -EBUSY);
	assert_int_equal(hyphae_graph_set_clock(stage->graph, stage->clock),
			 -EBUSY);
	assert_int_equal(end(stage), 0);
	assert_int_equal(hyphae_graph_counts(stage->graph, &counts), 0);
	assert_int_equal(counts.cells, 3);
}

/* ---- in callbacks ----------------------------------------------------------- */

static int try_begin(struct stage *stage)
{
	return begin(stage, 0);
}

static void refused_in_subscribers(void **state)
{
	struct stage *stage = *state;

	stage->hook = try_begin;
	assert_int_equal(hyphae_int64_set(stage->cells[0], 1), 0);
	assert_int_equal(stage->hook_said, -EBUSY);
	/* Not after the end of a frame, while it propagates, either. */
	stage->hook_said = 1;
	assert_int_equal(begin(stage, 0), 0);
	set(stage, 2, 3);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->hook_said, -EBUSY);
	stage->hook = end;
	assert_int_equal(begin(stage, 0), 0);
	set(stage, 3, 4);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->hook_said, -EINVAL);
	assert_int_equal(hyphae_frame_number(stage->graph), 2);
}

static int in_a_frame(const struct hyphae_timer_event *event, void *ctx)
{
	struct stage *stage = ctx;

	(void)event;
	hyphae_int64_set(stage->cells[0], 7);
	stage->hook_said = end(stage);
	return 0;
}

/* What a timer writes that the frame's thread runs is part of the frame. */
static void timers_in_a_frame(void **state)
{
	struct stage *stage = *state;

	assert_non_null(hyphae_timer_start(stage->graph, 5, 0, in_a_frame,
					   stage, NULL));
	assert_int_equal(begin(stage, 16), 0);
	assert_int_equal(hyphae_clock_advance(stage->clock, 10), 0);
	assert_int_equal(stage->hook_said, -EBUSY);
	assert_int_equal(stage->calls, 0);
	assert_int_equal(hyphae_int64_set(stage->cells[1], 1), 0);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->last, 8);
}

static int in_compute(void *ret, const void *input, void *ctx)
{
	struct stage *stage = ctx;

	stage->hook_said = begin(stage, 0);
	stage->runs = (unsigned int)-end(stage);
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static void refused_in_compute(void **state)
{
	struct stage *stage = *state;
	struct hyphae_cell *m =
		hyphae_map(stage->cells[0], &hyphae_int64, in_compute, stage);

	assert_int_equal(stage->hook_said, -EPERM);
	assert_int_equal(stage->runs, EPERM);
	assert_int_equal(hyphae_cell_unref(m), 0);
}

static int fails(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) == 3 ? -EIO : 0;
}

static void errors_of_subscribers(void **state)
{
	struct stage *stage = *state;

	assert_non_null(hyphae_subscribe(stage->sum, fails, NULL));
	assert_int_equal(begin(stage, 0), 0);
	set(stage, 1, 2);
	assert_int_equal(end(stage), -EIO);
	assert_int_equal(end(stage), -EINVAL); /* it is over */
	assert_int_equal(stage->last, 3);
}

/* ---- other threads ----------------------------------------------------------- */

struct other {
	struct stage *stage;
	int begun, ended, set;
};

static void *on_another_thread(void *ctx)
{
	struct other *other = ctx;

	other->begun = begin(other->stage, 0);
	other->ended = end(other->stage);
	other->set = hyphae_int64_set(other->stage->cells[1], 5);
	return NULL;
}

/* They may not begin or end it, and are not held back by it. */
static void belongs_to_its_thread(void **state)
{
	struct stage *stage = *state;
	struct other other = {.stage = stage};
	pthread_t thread;

	assert_int_equal(begin(stage, 0), 0);
	assert_int_equal(hyphae_int64_set(stage->cells[0], 1), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, on_another_thread, &other), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(other.begun, -EBUSY);
	assert_int_equal(other.ended, -EINVAL);
	assert_int_equal(other.set, 0);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->last, 5);
	assert_int_equal(end(stage), 0);
	assert_int_equal(stage->calls, 2);
	assert_int_equal(stage->last, 6);
}

/* ---- bad input, no memory ----------------------------------------------------- */

static void bad_graphs(void **state)
{
	struct hyphae_graph *stale = hyphae_graph_new(0);

	(void)state;
	assert_int_equal(hyphae_graph_free(stale), 0);
	assert_int_equal(hyphae_frame_begin(NULL, 0), -EINVAL);
	assert_int_equal(hyphae_frame_begin(stale, 0), -ESTALE);
	assert_int_equal(hyphae_frame_end(NULL), -EINVAL);
	assert_int_equal(hyphae_frame_end(stale), -ESTALE);
	assert_int_equal(hyphae_frame_number(NULL), 0);
	assert_int_equal(hyphae_frame_number(stale), 0);
}

static void without_memory(void **state)
{
	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_graph *graph = hyphae_graph_new(0);
		int r = graph ? hyphae_frame_begin(graph, 0) : -ENOMEM;

		assert_true(r == 0 || (n && r == -ENOMEM));
		assert_int_equal(hyphae_frame_number(graph), r == 0);
		if (graph && r) {
			assert_int_equal(hyphae_frame_end(graph), -EINVAL);
			OOM_PAUSE();
			assert_int_equal(hyphae_frame_begin(graph, 0), 0);
		}
		if (graph)
			assert_int_equal(hyphae_frame_end(graph), 0);
		OOM_PAUSE();
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

#define IN(fn, world)                                                          \
	{                                                                      \
#fn ", " #world, fn, world, tear_down, NULL                    \
	}
#define TEST(fn) IN(fn, shared), IN(fn, single), IN(fn, eager)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_wave_in_one_pass),
		TEST(numbered_from_one),
		TEST(batches_nest_in_frames),
		TEST(frames_do_not_nest_in_batches),
		TEST(graph_of_an_open_frame),
		TEST(refused_in_subscribers),
		TEST(timers_in_a_frame),
		TEST(refused_in_compute),
		TEST(errors_of_subscribers),
		IN(belongs_to_its_thread, shared),
		IN(belongs_to_its_thread, eager),
		cmocka_unit_test(bad_graphs),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
