/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by reading the sources and that need two threads,
 * each held fixed by the behaviour that was wrong.  The comment of a test says
 * which fault it was.  test_thread_regressions_first.c has those of first calls.
 */
#include "thread_regressions.h"

/* The whole of a thread, here and now. */
static void on_another_thread(void *(*body)(void *ctx), void *ctx)
{
	pthread_t thread;

	start(&thread, body, ctx);
	join(thread);
}

/* ---- a batch that is handed over ----------------------------------------------- */

#define CELLS 100

struct token {
	int64_t id;
	int64_t filler;
};

/* Whose value 1 lets the drainer go when it is dropped. */
static struct drainer *held_by_token;

static int token_copy(void *to, const void *from)
{
	memcpy(to, from, sizeof(struct token));
	return 0;
}

static void token_drop(void *token)
{
	struct drainer *drainer = held_by_token;

	if (!drainer || ((struct token *)token)->id != 1)
		return;
	held_by_token = NULL;
	dismiss(drainer);
}

HYPHAE_TYPE_WITH(token, struct token, .copy = token_copy, .drop = token_drop);

static int sum_of_tokens(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	size_t i;

	++*(unsigned int *)ctx;
	*(int64_t *)ret = 0;
	for (i = 0; i < count; i++)
		*(int64_t *)ret += ((const struct token *)inputs[i])->id;
	return 0;
}

/*
 * Merging a batch into the inbox let go of the lock in the middle, to drop a
 * value that was replaced.  The drainer could take the inbox then: the rest
 * was written behind another array, and never seen.
 */
static void batch_is_handed_over_whole(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct token token = {0};
	struct hyphae_cell *cells[CELLS], *sum;
	struct drainer drainer;
	unsigned int computed = 0;
	int i;

	(void)state;
	WATCH();
	for (i = 0; i < CELLS; i++)
		cells[i] = token_new_at(graph, token, "");
	sum = hyphae_combine(cells, CELLS, &hyphae_int64, sum_of_tokens,
			     &computed);
	assert_int_equal(computed, 1);
	occupy(&drainer, graph);
	token.id = 1;
	assert_int_equal(token_set(cells[0], token), 0);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	token.id = 2;
	for (i = 0; i < CELLS; i++)
		assert_int_equal(token_set(cells[i], token), 0);
	held_by_token = &drainer;
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_null(held_by_token);
	drainer_done(&drainer);

	for (i = 0; i < CELLS; i++) {
		assert_int_equal(token_get(cells[i], &token), 0);
		assert_int_equal(token.id, 2);
	}
	assert_int_equal(value(sum), 2 * CELLS);
	assert_int_equal(computed, 2);
	end_graph(graph, CELLS + 2, 1);
}

struct poor {
	struct hyphae_cell *cells[CELLS];
	struct drainer *drainer;
	unsigned long allocations;
};

/* Leaves when the other thread has asked for memory once. */
static int stay_until_it_asks(const struct hyphae_signal *signal, void *ctx)
{
	struct poor *poor = ctx;

	(void)signal;
	sem_post(&poor->drainer->inside);
	sem_wait(&poor->drainer->go);
	while (hy_alloc_count() == poor->allocations)
		sched_yield();
	return 0;
}

static int write_all_and_fail(void *ctx)
{
	struct poor *poor = ctx;
	int i;

	for (i = 0; i < CELLS; i++)
		hyphae_int64_set(poor->cells[i], 1);
	poor->allocations = hy_alloc_count();
	hy_alloc_fail_after(1);
	sem_post(&poor->drainer->go);
	return -EIO;
}

/*
 * Without memory to hand it over, a batch stayed open, and hyphae_batch()
 * could not say so: all that the thread wrote later was kept in it.
 */
static void batch_ends_without_memory_to_hand_it_over(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct drainer drainer = {.result = 1};
	struct poor poor = {.drainer = &drainer};
	int r, i;

	(void)state;
	WATCH();
	for (i = 0; i < CELLS; i++)
		poor.cells[i] = hyphae_int64_new(graph, 0);
	sem_init(&drainer.inside, 0, 0);
	sem_init(&drainer.go, 0, 0);
	sem_init(&drainer.left, 0, 0);
	drainer.trigger = hyphae_int64_new(graph, 0);
	assert_non_null(hyphae_subscribe_with(drainer.trigger,
					      stay_until_it_asks, &poor, NULL,
					      HYPHAE_SKIP_INITIAL));
	start(&drainer.thread, propagate, &drainer);
	sem_wait(&drainer.inside);
	r = hyphae_batch(graph, write_all_and_fail, &poor);
	hy_alloc_fail_after(0);
	assert_int_equal(r, -EIO);
	drainer_done(&drainer);

	assert_int_equal(hyphae_batch_end(graph), -EINVAL);
	for (i = 0; i < CELLS; i++)
		assert_int_equal(value(poor.cells[i]), 1);
	assert_int_equal(hyphae_int64_set(poor.cells[0], 2), 0);
	assert_int_equal(value(poor.cells[0]), 2);
	end_graph(graph, CELLS + 1, 1);
}

/* ---- batches over the same cells ------------------------------------------------ */

struct rivals {
	struct hyphae_graph *graph;
	struct hyphae_cell *first, *second;
	int ended;
};

static void *batch_on_first(void *ctx)
{
	struct rivals *rivals = ctx;

	hyphae_batch_begin(rivals->graph);
	hyphae_int64_set(rivals->first, 2);
	rivals->ended = hyphae_batch_end(rivals->graph);
	return NULL;
}

static void *batch_on_both(void *ctx)
{
	struct rivals *rivals = ctx;

	hyphae_batch_begin(rivals->graph);
	hyphae_int64_set(rivals->second, 5);
	hyphae_int64_set(rivals->first, 7);
	rivals->ended = hyphae_batch_end(rivals->graph);
	return NULL;
}

/*
 * When another thread's batch over the same cells had ended, nobody remembered
 * where the entries of an open one are: each write searched for its own.
 */
static void entry_is_remembered_when_another_batch_has_ended(void **state)
{
	struct rivals rivals = {.graph = hyphae_graph_new(0)};
	struct hy_graph *g = hy_graph(rivals.graph);
	const struct hy_cold *cold;

	(void)state;
	WATCH();
	rivals.second = hyphae_int64_new(rivals.graph, 0);
	rivals.first = hyphae_int64_new(rivals.graph, 0);
	assert_int_equal(hyphae_batch_begin(rivals.graph), 0);
	assert_int_equal(hyphae_int64_set(rivals.second, 1), 0);
	assert_int_equal(hyphae_int64_set(rivals.first, 1), 0);
	cold = hy_cold_of(hy_cell(rivals.first));
	on_another_thread(batch_on_first, &rivals);
	assert_int_equal(rivals.ended, 0);
	assert_int_equal(cold->pending, 1);
	assert_int_equal(cold->log_epoch, hy_batch_of(g)->log.epoch);
	assert_int_equal(cold->log_index, 1);
	/* What this thread reads is its own; then it is the last. */
	assert_int_equal(value(rivals.first), 1);
	assert_int_equal(hyphae_batch_end(rivals.graph), 0);
	assert_int_equal(value(rivals.first), 1);
	end_graph(rivals.graph, 2, 0);
}

/*
 * The number that tells batches apart is 32 bits wide; when it wrapped, it
 * was the one that means "not remembered", and a write went to another cell.
 */
static void
write_finds_its_cell_after_four_thousand_million_batches(void **state)
{
	struct rivals rivals = {.graph = hyphae_graph_new(0)};

	(void)state;
	WATCH();
	rivals.first = hyphae_int64_new(rivals.graph, 0);
	rivals.second = hyphae_int64_new(rivals.graph, 0);
	assert_int_equal(hyphae_batch_begin(rivals.graph), 0);
	assert_int_equal(hyphae_int64_set(rivals.first, 1), 0);
	on_another_thread(batch_on_first, &rivals);
	hy_graph(rivals.graph)->log_epoch = UINT32_MAX;
	on_another_thread(batch_on_both, &rivals);
	assert_int_equal(rivals.ended, 0);
	assert_int_equal(value(rivals.second), 5);
	assert_int_equal(hyphae_batch_end(rivals.graph), 0);
	assert_int_equal(value(rivals.second), 5);
	assert_int_equal(value(rivals.first), 1);
	end_graph(rivals.graph, 2, 0);
}

/* ---- boxes ------------------------------------------------------------------------- */

struct large {
	int64_t parts[64];
};
HYPHAE_TYPE(large, struct large);

struct homeless {
	struct hyphae_cell *filter;
	struct drainer *drainer;
	int released;
};

static int to_token(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	((struct token *)ret)->id = *(const int64_t *)input;
	return 0;
}

static int pass(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

/* The first time: release the last cell that has a box of the slot's former
 * cell, while this one is not finished. */
static int to_large(void *ret, const void *input, void *ctx)
{
	struct homeless *homeless = ctx;

	((struct large *)ret)->parts[63] = *(const int64_t *)input;
	if (homeless->filter) {
		homeless->released = hyphae_cell_unref(homeless->filter);
		homeless->filter = NULL;
		dismiss(homeless->drainer);
	}
	return 0;
}

/*
 * The first box of a derived cell was made when the cell had no id yet: its
 * home was any free slot, and any cell under construction.
 */
static void box_does_not_go_home_to_a_cell_under_construction(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *input = hyphae_int64_new(graph, 1);
	struct hyphae_cell *small =
		hyphae_map(source, &token_type, to_token, NULL);
	struct drainer drainer;
	struct homeless homeless = {.filter = hyphae_filter(small, pass, NULL),
				    .drainer = &drainer,
				    .released = 1};
	const struct hy_box *spare;
	struct hyphae_cell *map;
	struct large large;

	(void)state;
	WATCH();
	/* Ended, so that the filter lets go of it, and it is released. */
	assert_int_equal(hyphae_cell_complete(source), 0);
	assert_int_equal(hyphae_cell_unref(small), 0);
	occupy(&drainer, graph);
	map = hyphae_map(input, &large_type, to_large, &homeless);
	assert_int_equal(homeless.released, 0);
	drainer_done(&drainer);
	spare = hy_cold_of(hy_cell(map))->spare;
	for (; spare; spare = spare->next_spare)
		assert_int_equal(spare->bytes, sizeof(struct large));
	assert_int_equal(hyphae_int64_set(input, 2), 0);
	assert_int_equal(hyphae_int64_set(input, 3), 0);
	assert_int_equal(hyphae_int64_set(input, 4), 0);
	assert_int_equal(large_get(map, &large), 0);
	assert_int_equal(large.parts[63], 4);
	end_graph(graph, 4, 1);
}

/* ---- a graph that does not settle ----------------------------------------------------- */

#define WAVES 95 /* as many as are followed by those that are suspected */

struct loops {
	struct hyphae_cell *first, *second;
	sem_t go, written;
	char message[256];
	unsigned int problems;
	int freed, set;
};

static int begin_first(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	hyphae_int64_set(((struct loops *)ctx)->first, 1);
	return 0;
}

/* 95 waves, then it is gone, and the other thread begins the next loop. */
static int loop_and_go(const struct hyphae_signal *signal, void *ctx)
{
	struct loops *loops = ctx;
	int64_t n = hyphae_int64_of(signal);

	if (n < WAVES) {
		hyphae_int64_set(loops->first, n + 1);
		return 0;
	}
	loops->freed = hyphae_cell_unref(loops->first);
	sem_post(&loops->go);
	sem_wait(&loops->written);
	return HYPHAE_DETACH;
}

static int loop_for_ever(const struct hyphae_signal *signal, void *ctx)
{
	hyphae_int64_set(((struct loops *)ctx)->second,
			 hyphae_int64_of(signal) + 1);
	return 0;
}

static void *begin_second(void *ctx)
{
	struct loops *loops = ctx;

	sem_wait(&loops->go);
	loops->set = hyphae_int64_set(loops->second, 1);
	sem_post(&loops->written);
	return NULL;
}

static void keep_message(const struct hyphae_problem *problem, void *ctx)
{
	struct loops *loops = ctx;

	loops->problems++;
	snprintf(loops->message, sizeof(loops->message), "%s",
		 problem->message);
}

/*
 * The cells that were suspected of a loop were still suspected when they had
 * been freed and another write came to its limit.
 */
static void loop_is_told_of_the_cells_that_make_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct loops loops = {.freed = 1, .set = 1};
	char expected[256];
	pthread_t thread;

	(void)state;
	WATCH();
	sem_init(&loops.go, 0, 0);
	sem_init(&loops.written, 0, 0);
	hyphae_graph_on_problem(graph, keep_message, &loops);
	loops.first = hyphae_int64_new(graph, 0);
	loops.second = hyphae_int64_new(graph, 0);
	hyphae_cell_set_name(loops.first, "gone");
	hyphae_cell_set_name(loops.second, "ring");
	hyphae_subscribe_with(trigger, begin_first, &loops, NULL,
			      HYPHAE_SKIP_INITIAL);
	hyphae_subscribe_with(loops.first, loop_and_go, &loops, NULL,
			      HYPHAE_SKIP_INITIAL);
	hyphae_subscribe_with(loops.second, loop_for_ever, &loops, NULL,
			      HYPHAE_SKIP_INITIAL);
	start(&thread, begin_second, &loops);
	assert_int_equal(hyphae_int64_set(trigger, 1), -ELOOP);
	join(thread);
	assert_int_equal(loops.freed, 0);
	assert_int_equal(loops.set, 0);
	assert_int_equal(loops.problems, 1);
	snprintf(expected, sizeof(expected),
		 "The graph did not settle in 100 waves; subscribers keep "
		 "writing #%llu ring. The last writes were dropped.",
		 (unsigned long long)hyphae_cell_id(loops.second));
	assert_string_equal(loops.message, expected);
	end_graph(graph, 2, 2);
}

/* ---- the end of a cell ----------------------------------------------------------------- */

struct ending {
	struct hyphae_graph *graph;
	struct hyphae_cell *source;
	sem_t inside, go;
	char told[64];
	int ended;
};

/* Inside the wave of the end, before it is told. */
static int stay_at_seven(void *ret, const void *input, void *ctx)
{
	struct ending *ending = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	if (*(const int64_t *)input == 7) {
		sem_post(&ending->inside);
		sem_wait(&ending->go);
	}
	return 0;
}

static void *set_and_complete(void *ctx)
{
	struct ending *ending = ctx;

	hyphae_batch_begin(ending->graph);
	hyphae_int64_set(ending->source, 7);
	hyphae_cell_complete(ending->source);
	ending->ended = hyphae_batch_end(ending->graph);
	return NULL;
}

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct ending *ending = ctx;
	size_t at = strlen(ending->told);

	if (signal->kind == HYPHAE_VALUE)
		snprintf(ending->told + at, sizeof(ending->told) - at, "%lld ",
			 (long long)hyphae_int64_of(signal));
	else
		snprintf(ending->told + at, sizeof(ending->told) - at, "end ");
	return 0;
}

/*
 * Who subscribed on another thread while a cell's end was on its way was told
 * it twice.
 */
static void end_on_its_way_is_told_once(void **state)
{
	struct ending ending = {.graph = hyphae_graph_new(0), .ended = 1};
	struct hyphae_subscription *sub;
	pthread_t thread;

	(void)state;
	WATCH();
	sem_init(&ending.inside, 0, 0);
	sem_init(&ending.go, 0, 0);
	ending.source = hyphae_int64_new(ending.graph, 0);
	hyphae_map(ending.source, &hyphae_int64, stay_at_seven, &ending);
	hyphae_subscribe_with(ending.source, quiet, NULL, NULL, 0);
	start(&thread, set_and_complete, &ending);
	sem_wait(&ending.inside);
	sub = hyphae_subscribe(ending.source, write_down, &ending);
	assert_non_null(sub);
	sem_post(&ending.go);
	join(thread);
	assert_int_equal(ending.ended, 0);
	assert_string_equal(ending.told, "7 end ");
	assert_int_equal(hyphae_subscription_id(sub), 0);
	end_graph(ending.graph, 2, 0);
}

/* ---- two graphs ----------------------------------------------------------- */

#define WRITES 1000

static void *write_much(void *ctx)
{
	int64_t i;

	for (i = 1; i <= WRITES; i++)
		hyphae_int64_set(ctx, i);
	return NULL;
}

static int negate(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = -*(const int64_t *)input;
	return 0;
}

static int never_called(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	(void)ret;
	(void)inputs;
	(void)count;
	++*(unsigned int *)ctx;
	return 0;
}

/*
 * An input of another graph was looked at, under the lock of the wrong graph,
 * before it was refused: TSan judges.
 */
static void combine_of_two_graphs_does_not_look_into_the_other(void **state)
{
	struct hyphae_graph *one = hyphae_graph_new(0);
	struct hyphae_graph *two = hyphae_graph_new(0);
	struct hyphae_cell *inputs[] = {hyphae_int64_new(one, 0),
					hyphae_int64_new(two, 0)};
	unsigned int calls = 0;
	pthread_t thread;
	int i;

	(void)state;
	WATCH();
	hyphae_map(inputs[1], &hyphae_int64, negate, NULL);
	start(&thread, write_much, inputs[1]);
	for (i = 0; i < WRITES; i++) {
		errno = 0;
		assert_null(hyphae_combine(inputs, 2, &hyphae_int64,
					   never_called, &calls));
		assert_int_equal(errno, EXDEV);
	}
	join(thread);
	assert_int_equal(calls, 0);
	assert_int_equal(value(inputs[1]), WRITES);
	end_graph(two, 2, 0);
	end_graph(one, 1, 0);
}

/* ---- fork ------------------------------------------------------------------------------ */

struct reporter {
	sem_t inside, go;
	int began, ended;
};

static void *have_a_pass_open(void *ctx)
{
	struct reporter *reporter = ctx;

	reporter->began = hyphae_pass_begin();
	sem_post(&reporter->inside);
	sem_wait(&reporter->go);
	reporter->ended = hyphae_pass_end();
	return NULL;
}

/*
 * A pass that another thread had open stayed open for ever in the child,
 * where that thread is not: all that it did was watched.
 */
static void passes_of_other_threads_are_not_open_in_a_child(void **state)
{
	struct reporter reporter = {.began = 1, .ended = 1};
	pthread_t thread;
	int status;
	pid_t child;

	(void)state;
	WATCH();
	sem_init(&reporter.inside, 0, 0);
	sem_init(&reporter.go, 0, 0);
	start(&thread, have_a_pass_open, &reporter);
	sem_wait(&reporter.inside);
	assert_int_equal(hyphae_pass_begin(), 0);
	assert_int_equal(hy_gate.reports, 2);
	child = fork();
	if (child == 0) {
		int own = hy_gate.reports;

		hyphae_pass_end();
		_exit(own * 16 + hy_gate.reports);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(hyphae_pass_end(), 0);
	sem_post(&reporter.go);
	join(thread);
	assert_int_equal(reporter.began, 0);
	assert_int_equal(reporter.ended, 0);
	assert_int_equal(hy_gate.reports, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 16);
	alarm(0);
}

/* ---- what a first run finds when its function returns --------------------------- */

struct wide {
	int64_t n[3];
};
HYPHAE_TYPE(wide, struct wide);

static int not_seven(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return *(int64_t *)ret == 7 ? -EIO : 0;
}

/* The other thread goes on, and the input comes to hold an error. */
static int add_up(void *ret, const void *acc, const void *value, void *ctx)
{
	struct drainer **drainer = ctx;
	struct wide sum = *(const struct wide *)acc;

	sum.n[0] += *(const int64_t *)value;
	if (*drainer)
		dismiss(*drainer);
	*drainer = NULL;
	*(struct wide *)ret = sum;
	return 0;
}

static int note_value(const struct hyphae_signal *signal, void *ctx)
{
	if (signal->kind == HYPHAE_VALUE)
		*(int64_t *)ctx = ((const struct wide *)signal->value)->n[0];
	return 0;
}

/* It told a value that it did not have: a box at NULL. */
static void error_comes_during_the_first_run_of_reduce(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1), *input, *sum;
	struct drainer drainer, *let_go = &drainer;
	struct wide nothing = {{0}}, held;
	int64_t told = 0;

	(void)state;
	WATCH();
	input = hyphae_map(source, &hyphae_int64, not_seven, NULL);
	occupy(&drainer, graph);
	assert_int_equal(hyphae_int64_set(source, 7), 0);
	sum = hyphae_reduce(input, &wide_type, &nothing, add_up, &let_go);
	assert_non_null(sum);
	assert_null(let_go);
	drainer_done(&drainer);
	assert_int_equal(wide_get(sum, &held), -EIO);
	assert_int_equal(hyphae_int64_set(source, 4), 0);
	assert_int_equal(wide_get(sum, &held), -ENODATA);
	assert_non_null(hyphae_subscribe(sum, note_value, &told));
	assert_int_equal(hyphae_cell_complete(source), 0);
	assert_int_equal(told, 5);
	assert_int_equal(hyphae_unsubscribe_all(drainer.trigger), 0);
	assert_int_equal(hyphae_unsubscribe_all(sum), 0);
	assert_int_equal(hyphae_cell_unref(sum), 0);
	assert_int_equal(hyphae_cell_unref(input), 0);
	end_graph(graph, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: nothing else has prepared for a fork. */
		cmocka_unit_test(
			passes_of_other_threads_are_not_open_in_a_child),
		cmocka_unit_test(batch_is_handed_over_whole),
		cmocka_unit_test(batch_ends_without_memory_to_hand_it_over),
		cmocka_unit_test(
			entry_is_remembered_when_another_batch_has_ended),
		cmocka_unit_test(
			write_finds_its_cell_after_four_thousand_million_batches),
		cmocka_unit_test(
			box_does_not_go_home_to_a_cell_under_construction),
		cmocka_unit_test(loop_is_told_of_the_cells_that_make_it),
		cmocka_unit_test(end_on_its_way_is_told_once),
		cmocka_unit_test(
			combine_of_two_graphs_does_not_look_into_the_other),
		cmocka_unit_test(error_comes_during_the_first_run_of_reduce),
	};

	return cmocka_run_group_tests_name("thread regressions", tests, NULL,
					   NULL);
}
