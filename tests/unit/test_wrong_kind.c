/* SPDX-License-Identifier: MIT */
/*
 * A handle of another kind, through a void *, is as good as a stale one: each
 * function that takes a handle refuses those of all other kinds, and nothing
 * has changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/epoll.h>

#include <hyphae/hyphae.h>

enum kind {
	GRAPH,
	CELL,
	SUBSCRIPTION,
	SCOPE,
	TIMER,
	CLOCK,
	LOOP,
	STREAM,
	INPUT,
	POOL,
	PARALLEL,
	KINDS
};

/* One of each. */
static void *handles[KINDS];
static struct hyphae_cell *cell;
static unsigned int calls;

static int called(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	calls++;
	return 0;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static int on_fd(int fd, unsigned int events, void *ctx)
{
	(void)fd;
	(void)events;
	(void)ctx;
	return 0;
}

static int computed(void *ret, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 1;
	return 0;
}

static int tick(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

static int map(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int combine(void *ret, const void *const *inputs, size_t count,
		   void *ctx)
{
	(void)count;
	return map(ret, inputs[0], ctx);
}

static int each_cell(struct hyphae_cell *one, void *ctx)
{
	(void)one;
	(void)ctx;
	return 0;
}

static int each_target(struct hyphae_cell *one,
		       struct hyphae_subscription *subscription, void *ctx)
{
	(void)subscription;
	return each_cell(one, ctx);
}

static int write_nothing(const char *text, size_t length, void *ctx)
{
	(void)text;
	(void)length;
	(void)ctx;
	return 0;
}

static struct hyphae_cell *other(const void *value, void *ctx)
{
	(void)value;
	return hyphae_cell_ref(ctx);
}

static int make_all(void **state)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(0);
	struct hyphae_graph *graph =
		hyphae_graph_new((unsigned int)(uintptr_t)*state);
	int i;

	if (hyphae_graph_set_clock(graph, clock))
		return -1;
	calls = 0;
	cell = hyphae_int64_new(graph, 1);
	handles[GRAPH] = graph;
	handles[CELL] = cell;
	handles[SUBSCRIPTION] = hyphae_subscribe(cell, called, NULL);
	handles[SCOPE] = hyphae_scope_new(graph);
	handles[TIMER] = hyphae_timer_start(graph, 5, 0, tick, NULL, NULL);
	handles[CLOCK] = clock;
	handles[LOOP] = hyphae_loop_new();
	handles[STREAM] =
		hyphae_stream_new(cell, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	handles[INPUT] =
		hyphae_input_new(cell, 4, HYPHAE_OVERFLOW_DROP_OLDEST, 0);
	handles[POOL] = hyphae_pool_new(1);
	handles[PARALLEL] = hyphae_subscribe_parallel(handles[POOL], cell,
						      quiet, NULL, NULL, NULL);
	for (i = 0; i < KINDS; i++)
		if (!handles[i])
			return -1;
	return 0;
}

#define WORKS(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			print_error("not so: %s\n", #condition);               \
			bad++;                                                 \
		}                                                              \
	} while (0)

/* All of it is still there, and works. */
static int end_all(void **state)
{
	struct hyphae_item item;
	unsigned int bad = 0;

	(void)state;
	WORKS(hyphae_int64_set(cell, 2) == 0);
	WORKS(calls == 2);
	WORKS(hyphae_clock_advance(handles[CLOCK], 4) == 0);
	WORKS(hyphae_timer_stop(handles[TIMER]) == 0);
	WORKS(hyphae_stream_next(handles[STREAM], &item) == 1);
	hyphae_item_release(&item);
	WORKS(hyphae_stream_close(handles[STREAM]) == 0);
	WORKS(hyphae_unsubscribe_parallel_wait(handles[PARALLEL]) == 0);
	WORKS(hyphae_pool_free(handles[POOL]) == 0);
	WORKS(hyphae_scope_dispose(handles[SCOPE]) == 0);
	WORKS(hyphae_unsubscribe(handles[SUBSCRIPTION]) == 0);
	WORKS(hyphae_input_free(handles[INPUT]) == 0);
	WORKS(hyphae_cell_unref(cell) == 0);
	WORKS(hyphae_graph_free(handles[GRAPH]) == 0);
	WORKS(hyphae_clock_unref(handles[CLOCK]) == 0);
	WORKS(hyphae_loop_free(handles[LOOP]) == 0);
	return bad ? -1 : 0;
}

/* Those of flow know each other's kinds. */
static int expected(enum kind kind, enum kind given)
{
	return kind >= STREAM && given >= STREAM ? -EINVAL : -ESTALE;
}

/* In functions with a handle `h` and the code that it shall get. */
#define CODE(call) assert_int_equal(call, code)
#define NOTHING(call)                                                          \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, -code);                                \
	} while (0)

static void as_every_kind(enum kind kind, void (*fn)(void *h, int code))
{
	int i;

	for (i = 0; i < KINDS; i++)
		if (i != (int)kind)
			fn(handles[i], expected(kind, (enum kind)i));
}

/* ---- graphs ---------------------------------------------------------------- */

static void graph_functions(void *h, int code)
{
	struct hyphae_graph_memory memory;
	struct hyphae_graph_counts counts;
	struct hyphae_post_counts posts;
	int64_t value = 1;
	uint64_t ns;

	CODE(hyphae_batch_begin(h));
	CODE(hyphae_batch_end(h));
	CODE(hyphae_settle(h));
	CODE(hyphae_graph_free(h));
	CODE(hyphae_graph_set_clock(h, handles[CLOCK]));
	CODE(hyphae_graph_fd(h));
	CODE(hyphae_graph_deadline(h, &ns));
	CODE(hyphae_graph_dispatch(h));
	CODE(hyphae_graph_set_data(h, &value, NULL));
	CODE(hyphae_graph_each_cell(h, each_cell, NULL));
	CODE(hyphae_graph_dot(h, write_nothing, NULL, NULL));
	CODE(hyphae_frame_begin(h, 1));
	CODE(hyphae_frame_end(h));
	CODE(hyphae_graph_counts(h, &counts));
	CODE(hyphae_graph_on_problem(h, NULL, NULL));
	CODE(hyphae_graph_set_wave_limit(h, 5));
	CODE(hyphae_graph_set_lazy(h, true));
	CODE(hyphae_graph_check_idle(h));
	CODE(hyphae_graph_memory(h, &memory));
	CODE(hyphae_graph_post_counts(h, &posts));
	assert_int_equal(hyphae_graph_id(h), 0);
	assert_int_equal(hyphae_frame_number(h), 0);
	assert_null(hyphae_graph_data(h));
	NOTHING(hyphae_int64_new(h, 1));
	NOTHING(hyphae_string_new_at(h, "text", ""));
	NOTHING(hyphae_cell_new_at(h, &hyphae_int64, &value, ""));
	NOTHING(hyphae_event_new(h, &hyphae_int64));
	NOTHING(hyphae_graph_clock(h));
	NOTHING(hyphae_timer_start(h, 1, 0, tick, NULL, NULL));
	NOTHING(hyphae_scope_new(h));
	NOTHING(hyphae_computed(h, &hyphae_int64, computed, NULL));
	NOTHING(hyphae_sequence(h, &hyphae_int64, &value, 1));
	NOTHING(hyphae_never(h, &hyphae_int64));
	NOTHING(hyphae_interval(h, 1, 0));
	NOTHING(hyphae_bridge(cell, h));
}

/* ---- cells ------------------------------------------------------------------ */

static void cell_functions(void *h, int code)
{
	struct hyphae_cell_info info;
	int64_t value = 1;
	char text[64];

	CODE(hyphae_cell_unref(h));
	CODE(hyphae_cell_set(h, &hyphae_int64, &value));
	CODE(hyphae_cell_get(h, &hyphae_int64, &value));
	CODE(hyphae_int64_set(h, 1));
	CODE(hyphae_int64_get(h, &value));
	CODE(hyphae_string_set(h, "text"));
	CODE(hyphae_cell_complete(h));
	CODE(hyphae_cell_fail(h, -EIO, ""));
	CODE(hyphae_cell_set_name(h, "name"));
	CODE(hyphae_cell_name(h, text, sizeof(text)));
	CODE(hyphae_cell_info(h, &info));
	CODE(hyphae_cell_set_lazy(h));
	CODE(hyphae_cell_own(h, &value, nothing));
	CODE(hyphae_cell_set_data(h, &value, NULL));
	CODE(hyphae_cell_each_input(h, each_cell, NULL));
	CODE(hyphae_cell_each_target(h, each_target, NULL));
	CODE(hyphae_describe(h, text, sizeof(text)));
	CODE(hyphae_int64_post(h, 1));
	CODE(hyphae_cell_post_complete(h));
	CODE(hyphae_unsubscribe_all(h));
	assert_int_equal(hyphae_cell_id(h), 0);
	assert_null(hyphae_cell_data(h));
	assert_false(hyphae_weak_alive(hyphae_weak(h)));
}

static void functions_that_make_of_a_cell(void *h, int code)
{
	struct hyphae_cell *const two[] = {cell, h};

	assert_null(hyphae_cell_ref(h));
	NOTHING(hyphae_subscribe(h, called, NULL));
	NOTHING(hyphae_map(h, &hyphae_int64, map, NULL));
	NOTHING(hyphae_combine(two, 2, &hyphae_int64, combine, NULL));
	NOTHING(hyphae_merge(two, 2));
	NOTHING(hyphae_group(two, 2));
	NOTHING(hyphae_sample(cell, h));
	NOTHING(hyphae_take(h, 1));
	NOTHING(hyphae_window(h, 2, &hyphae_int64, combine, NULL));
	NOTHING(hyphae_switch_map(h, &hyphae_int64, other, cell));
	NOTHING(hyphae_share(h));
	NOTHING(hyphae_debounce(h, 1));
	NOTHING(hyphae_delay(h, 1, 1, HYPHAE_OVERFLOW_DROP_OLDEST));
	NOTHING(hyphae_bridge(h, handles[GRAPH]));
	NOTHING(hyphae_poster_new(h));
	NOTHING(hyphae_stream_new(h, 1, HYPHAE_OVERFLOW_DROP_OLDEST, 0));
	NOTHING(hyphae_input_new(h, 1, HYPHAE_OVERFLOW_DROP_OLDEST, 0));
	NOTHING(hyphae_subscribe_parallel(handles[POOL], h, quiet, NULL, NULL,
					  NULL));
}

/* ---- what belongs to a graph -------------------------------------------------- */

static void subscription_functions(void *h, int code)
{
	int data;

	CODE(hyphae_unsubscribe(h));
	CODE(hyphae_unsubscribe_wait(h));
	CODE(hyphae_subscription_pause(h));
	CODE(hyphae_subscription_resume(h));
	CODE(hyphae_subscription_block(h));
	CODE(hyphae_subscription_unblock(h));
	CODE(hyphae_subscription_set_data(h, &data, NULL));
	assert_null(hyphae_subscription_data(h));
	assert_null(hyphae_subscription_cell(h));
	assert_int_equal(hyphae_subscription_id(h), 0);
}

static void scope_functions(void *h, int code)
{
	int data;

	CODE(hyphae_scope_enter(h));
	CODE(hyphae_scope_leave(h));
	CODE(hyphae_scope_on_dispose(h, nothing, NULL));
	CODE(hyphae_scope_dispose(h));
	CODE(hyphae_scope_set_data(h, &data, NULL));
	assert_null(hyphae_scope_data(h));
}

static void timer_functions(void *h, int code)
{
	CODE(hyphae_timer_stop(h));
}

/* ---- what does not --------------------------------------------------------------- */

static void clock_functions(void *h, int code)
{
	uint64_t ns;

	CODE(hyphae_clock_unref(h));
	CODE(hyphae_clock_now(h, &ns));
	CODE(hyphae_clock_advance(h, 1));
	CODE(hyphae_clock_set(h, 1));
	CODE(hyphae_clock_set_limit(h, 5));
	CODE(hyphae_graph_set_clock(handles[GRAPH], h));
	NOTHING(hyphae_clock_ref(h));
}

static void loop_functions(void *h, int code)
{
	CODE(hyphae_loop_free(h));
	CODE(hyphae_loop_add_graph(h, handles[GRAPH]));
	CODE(hyphae_loop_remove_graph(h, handles[GRAPH]));
	CODE(hyphae_loop_add_fd(h, 0, EPOLLIN, on_fd, NULL));
	CODE(hyphae_loop_remove_fd(h, 0));
	CODE(hyphae_loop_run_once(h, 0));
	CODE(hyphae_loop_run(h));
	CODE(hyphae_loop_quit(h));
}

static void stream_functions(void *h, int code)
{
	struct hyphae_stream_counts counts;
	struct hyphae_item item;

	CODE(hyphae_stream_fd(h));
	CODE(hyphae_stream_next(h, &item));
	CODE(hyphae_stream_wait(h, &item, 0));
	CODE(hyphae_stream_counts(h, &counts));
	CODE(hyphae_stream_close(h));
}

static void input_functions(void *h, int code)
{
	struct hyphae_input_counts counts;
	int64_t value = 1;

	CODE(hyphae_input_push(h, &value));
	CODE(hyphae_input_push_wait(h, &value, 0));
	CODE(hyphae_input_flush(h));
	CODE(hyphae_input_counts(h, &counts));
	CODE(hyphae_input_close(h));
	CODE(hyphae_input_free(h));
}

static void pool_functions(void *h, int code)
{
	CODE(hyphae_pool_free(h));
	CODE(hyphae_pool_on_problem(h, NULL, NULL));
	NOTHING(hyphae_subscribe_parallel(h, cell, quiet, NULL, NULL, NULL));
}

static void parallel_functions(void *h, int code)
{
	struct hyphae_parallel_counts counts;

	CODE(hyphae_parallel_counts(h, &counts));
	CODE(hyphae_unsubscribe_parallel(h));
	CODE(hyphae_unsubscribe_parallel_wait(h));
}

/* ---- each with all others ---------------------------------------------------------- */

static void in_the_place_of_a_graph(void **state)
{
	(void)state;
	as_every_kind(GRAPH, graph_functions);
}

static void in_the_place_of_a_cell(void **state)
{
	(void)state;
	as_every_kind(CELL, cell_functions);
	as_every_kind(CELL, functions_that_make_of_a_cell);
}

static void in_the_place_of_what_a_graph_has(void **state)
{
	(void)state;
	as_every_kind(SUBSCRIPTION, subscription_functions);
	as_every_kind(SCOPE, scope_functions);
	as_every_kind(TIMER, timer_functions);
}

static void in_the_place_of_what_has_none(void **state)
{
	(void)state;
	as_every_kind(CLOCK, clock_functions);
	as_every_kind(LOOP, loop_functions);
	as_every_kind(STREAM, stream_functions);
	as_every_kind(INPUT, input_functions);
	as_every_kind(POOL, pool_functions);
	as_every_kind(PARALLEL, parallel_functions);
}

int main(void)
{
#define IN(flags, test)                                                        \
	{                                                                      \
#test " " #flags, test, make_all, end_all,                     \
			(void *)(uintptr_t)(flags)                             \
	}
#define BOTH(test) IN(0, test), IN(HYPHAE_SINGLE_THREAD, test)
	const struct CMUnitTest tests[] = {
		BOTH(in_the_place_of_a_graph),
		BOTH(in_the_place_of_a_cell),
		BOTH(in_the_place_of_what_a_graph_has),
		BOTH(in_the_place_of_what_has_none),
	};

	return cmocka_run_group_tests_name("handles of another kind", tests,
					   NULL, NULL);
}
