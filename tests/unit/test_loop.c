/* SPDX-License-Identifier: MIT */
/* The run loop of the library: graphs, descriptors, and how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "oom.h"

struct yard {
	struct hyphae_loop *loop;
	struct hyphae_graph *graph;
	int pipe[2];
	unsigned int calls, ticks;
	unsigned int events;
	int result;
	bool tells; /* with a message, for which a loop has no use */
	int (*hook)(struct yard *yard);
	int hook_said;
};

static int on_pipe(int fd, unsigned int events, void *ctx)
{
	struct yard *yard = ctx;
	char byte;

	yard->calls++;
	yard->events = events;
	if (read(fd, &byte, 1) != 1)
		yard->events |= 1u << 31;
	if (yard->hook)
		yard->hook_said = yard->hook(yard);
	return yard->tells ? hyphae_error(yard->result, "no use")
			   : yard->result;
}

static int on_tick(const struct hyphae_timer_event *event, void *ctx)
{
	struct yard *yard = ctx;

	(void)event;
	yard->ticks++;
	if (yard->hook)
		yard->hook_said = yard->hook(yard);
	return 0;
}

static int set_up(void **state)
{
	static struct yard yard;

	yard = (struct yard){.loop = hyphae_loop_new(),
			     .graph = hyphae_graph_new(0)};
	assert_non_null(yard.loop);
	assert_int_equal(pipe2(yard.pipe, O_CLOEXEC), 0);
	*state = &yard;
	return 0;
}

static int tear_down(void **state)
{
	struct yard *yard = *state;

	assert_int_equal(hyphae_loop_free(yard->loop), 0);
	assert_int_equal(hyphae_loop_free(yard->loop), -ESTALE);
	assert_int_equal(hyphae_graph_free(yard->graph), 0);
	close(yard->pipe[0]);
	close(yard->pipe[1]);
	return 0;
}

static int add_pipe(struct yard *yard)
{
	return hyphae_loop_add_fd(yard->loop, yard->pipe[0], POLLIN, on_pipe,
				  yard);
}

static void fill(struct yard *yard, unsigned int bytes)
{
	while (bytes--)
		assert_int_equal(write(yard->pipe[1], "x", 1), 1);
}

static int run_once(struct yard *yard, int timeout_ms)
{
	return hyphae_loop_run_once(yard->loop, timeout_ms);
}

static int quit(struct yard *yard)
{
	return hyphae_loop_quit(yard->loop);
}

static void descriptors(void **state)
{
	struct yard *yard = *state;

	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(add_pipe(yard), 0);
	assert_int_equal(add_pipe(yard), -EEXIST);
	assert_int_equal(run_once(yard, 0), 0);
	fill(yard, 2);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->events, POLLIN);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(yard->calls, 2);
	assert_int_equal(hyphae_loop_remove_fd(yard->loop, yard->pipe[0]), 0);
	assert_int_equal(hyphae_loop_remove_fd(yard->loop, yard->pipe[0]),
			 -ENOENT);
	fill(yard, 1);
	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(add_pipe(yard), 0);
	assert_int_equal(run_once(yard, 0), 1);
}

static void detaches_and_fails(void **state)
{
	struct yard *yard = *state;

	assert_int_equal(add_pipe(yard), 0);
	fill(yard, 4);
	yard->result = -EIO;
	assert_int_equal(run_once(yard, -1), -EIO);
	assert_int_equal(hyphae_loop_run(yard->loop), -EIO);
	yard->tells = true;
	assert_int_equal(run_once(yard, -1), -EIO);
	yard->tells = false;
	yard->result = HYPHAE_DETACH;
	assert_int_equal(run_once(yard, -1), 1);
	fill(yard, 1);
	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(yard->calls, 4);
	assert_int_equal(hyphae_loop_remove_fd(yard->loop, yard->pipe[0]),
			 -ENOENT);
}

static void graphs(void **state)
{
	struct yard *yard = *state;
	struct hyphae_cell *cell = hyphae_int64_new(yard->graph, 0);
	int64_t value = 0;

	assert_int_equal(hyphae_loop_add_graph(yard->loop, yard->graph), 0);
	assert_int_equal(hyphae_loop_add_graph(yard->loop, yard->graph),
			 -EEXIST);
	assert_int_equal(run_once(yard, 0), 0);
	assert_non_null(
		hyphae_timer_start(yard->graph, 0, 0, on_tick, yard, NULL));
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->ticks, 1);
	assert_int_equal(hyphae_int64_post(cell, 7), 0);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(hyphae_loop_remove_graph(yard->loop, yard->graph), 0);
	assert_int_equal(hyphae_loop_remove_graph(yard->loop, yard->graph),
			 -ENOENT);
	assert_int_equal(hyphae_int64_post(cell, 8), 0);
	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(hyphae_graph_dispatch(yard->graph), 0);
}

/* It ends a run from a timer, whose period goes on without it. */
static int quit_at_three(struct yard *yard)
{
	return yard->ticks == 3 ? quit(yard) : 0;
}

static void runs_until_it_is_told(void **state)
{
	struct yard *yard = *state;

	yard->hook = quit_at_three;
	assert_int_equal(hyphae_loop_add_graph(yard->loop, yard->graph), 0);
	assert_non_null(hyphae_timer_start_with(yard->graph, 0, 1000, on_tick,
						yard, NULL, 0));
	assert_int_equal(hyphae_loop_run(yard->loop), 0);
	assert_true(yard->ticks >= 3);
	assert_int_equal(yard->hook_said, 0);
}

static void told_before_it_runs(void **state)
{
	struct yard *yard = *state;

	assert_int_equal(quit(yard), 0);
	assert_int_equal(quit(yard), 0);
	assert_int_equal(hyphae_loop_run(yard->loop), 0);
	assert_int_equal(quit(yard), 0);
	assert_int_equal(run_once(yard, -1), 0);
	/* Heeded: what is ready is called again. */
	assert_int_equal(add_pipe(yard), 0);
	fill(yard, 1);
	assert_int_equal(run_once(yard, -1), 1);
}

static int nested(struct yard *yard)
{
	if (hyphae_loop_run(yard->loop) != -EBUSY ||
	    hyphae_loop_free(yard->loop) != -EBUSY)
		return 1;
	return run_once(yard, 0);
}

static void refused_in_a_callback(void **state)
{
	struct yard *yard = *state;

	yard->hook = nested;
	assert_int_equal(add_pipe(yard), 0);
	fill(yard, 1);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->hook_said, -EBUSY);
}

static int remove_both(struct yard *yard)
{
	int r = hyphae_loop_remove_fd(yard->loop, yard->pipe[0]);

	return r ? r : hyphae_loop_remove_fd(yard->loop, yard->pipe[1]);
}

static int on_writable(int fd, unsigned int events, void *ctx)
{
	struct yard *yard = ctx;

	(void)fd;
	yard->calls++;
	yard->events = events;
	yard->hook_said = remove_both(yard);
	return HYPHAE_DETACH;
}

/* Two are ready, and whichever comes first removes both. */
static void removes_what_is_ready(void **state)
{
	struct yard *yard = *state;

	yard->hook = remove_both;
	assert_int_equal(add_pipe(yard), 0);
	assert_int_equal(hyphae_loop_add_fd(yard->loop, yard->pipe[1], POLLOUT,
					    on_writable, yard),
			 0);
	fill(yard, 1);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->calls, 1);
	assert_int_equal(yard->hook_said, 0);
	assert_int_equal(run_once(yard, 0), 0);
}

/* Their numbers are used again by others. */
static void graphs_that_go(void **state)
{
	struct yard *yard = *state;
	struct hyphae_graph *gone = hyphae_graph_new(0), *next;

	assert_int_equal(hyphae_loop_add_graph(yard->loop, gone), 0);
	assert_non_null(hyphae_timer_start(gone, 0, 0, on_tick, yard, NULL));
	assert_int_equal(hyphae_graph_free(gone), 0);
	assert_int_equal(run_once(yard, 0), 0);
	next = hyphae_graph_new(0);
	assert_int_equal(hyphae_loop_add_graph(yard->loop, next), 0);
	assert_int_equal(hyphae_loop_remove_graph(yard->loop, gone), -ENOENT);
	assert_non_null(hyphae_timer_start(next, 0, 0, on_tick, yard, NULL));
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->ticks, 1);
	assert_int_equal(hyphae_graph_free(next), 0);
	assert_int_equal(hyphae_loop_remove_graph(yard->loop, next), 0);
	assert_int_equal(hyphae_loop_add_graph(yard->loop, next), -ESTALE);
}

static void of_a_clock_that_stands_still(void **state)
{
	struct yard *yard = *state;
	struct hyphae_clock *clock = hyphae_clock_new_virtual(0);
	struct hyphae_cell *cell = hyphae_int64_new(yard->graph, 0);

	/* A clock that stands still; a post wakes the loop. */
	assert_int_equal(hyphae_graph_set_clock(yard->graph, clock), 0);
	assert_int_equal(hyphae_loop_add_graph(yard->loop, yard->graph), 0);
	assert_non_null(
		hyphae_timer_start(yard->graph, 0, 0, on_tick, yard, NULL));
	assert_int_equal(run_once(yard, 0), 0);
	assert_int_equal(hyphae_int64_post(cell, 1), 0);
	assert_int_equal(run_once(yard, -1), 1);
	assert_int_equal(yard->ticks, 1);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* ---- from elsewhere ------------------------------------------------------------ */

static void *quit_from_a_thread(void *ctx)
{
	struct yard *yard = ctx;

	yard->hook_said = quit(yard);
	return NULL;
}

static void told_by_a_thread(void **state)
{
	struct yard *yard = *state;
	pthread_t thread;

	assert_int_equal(
		pthread_create(&thread, NULL, quit_from_a_thread, yard), 0);
	assert_int_equal(hyphae_loop_run(yard->loop), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(yard->hook_said, 0);
}

static struct hyphae_loop *loop_of_handler;

static void on_signal(int number)
{
	(void)number;
	errno = 1234;
	hyphae_loop_quit(loop_of_handler);
	if (errno != 1234)
		_exit(98);
}

static void told_by_a_signal(void **state)
{
	struct yard *yard = *state;
	struct sigaction action = {.sa_handler = on_signal}, old;

	loop_of_handler = yard->loop;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(hyphae_loop_run(yard->loop), 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

/* ---- bad input, no memory ------------------------------------------------------ */

static void bad_input(void **state)
{
	struct yard *yard = *state;
	struct hyphae_loop *stale = hyphae_loop_new();

	assert_int_equal(hyphae_loop_free(stale), 0);
	assert_int_equal(hyphae_loop_free(NULL), 0);
	assert_int_equal(hyphae_loop_run(stale), -ESTALE);
	assert_int_equal(hyphae_loop_run(NULL), -EINVAL);
	assert_int_equal(hyphae_loop_run_once(stale, 0), -ESTALE);
	assert_int_equal(hyphae_loop_run_once(NULL, 0), -EINVAL);
	assert_int_equal(hyphae_loop_quit(stale), -ESTALE);
	assert_int_equal(hyphae_loop_quit(NULL), -EINVAL);
	assert_int_equal(hyphae_loop_add_graph(stale, yard->graph), -ESTALE);
	assert_int_equal(hyphae_loop_add_graph(NULL, yard->graph), -EINVAL);
	assert_int_equal(hyphae_loop_add_graph(yard->loop, NULL), -EINVAL);
	assert_int_equal(hyphae_loop_remove_graph(stale, yard->graph), -ESTALE);
	assert_int_equal(hyphae_loop_remove_graph(NULL, yard->graph), -EINVAL);
	assert_int_equal(hyphae_loop_remove_graph(yard->loop, NULL), -EINVAL);
	assert_int_equal(hyphae_loop_add_fd(stale, 0, POLLIN, on_pipe, yard),
			 -ESTALE);
	assert_int_equal(hyphae_loop_add_fd(NULL, 0, POLLIN, on_pipe, yard),
			 -EINVAL);
	assert_int_equal(
		hyphae_loop_add_fd(yard->loop, -1, POLLIN, on_pipe, yard),
		-EINVAL);
	assert_int_equal(
		hyphae_loop_add_fd(yard->loop, yard->pipe[0], 0, on_pipe, yard),
		-EINVAL);
	assert_int_equal(hyphae_loop_add_fd(yard->loop, yard->pipe[0], POLLHUP,
					    on_pipe, yard),
			 -EINVAL);
	assert_int_equal(hyphae_loop_add_fd(yard->loop, yard->pipe[0], POLLIN,
					    NULL, yard),
			 -EINVAL);
	assert_int_equal(
		hyphae_loop_add_fd(yard->loop, 1 << 30, POLLIN, on_pipe, yard),
		-EBADF);
	assert_int_equal(hyphae_loop_remove_fd(stale, 0), -ESTALE);
	assert_int_equal(hyphae_loop_remove_fd(NULL, 0), -EINVAL);
	assert_int_equal(hyphae_loop_remove_fd(yard->loop, -1), -EINVAL);
	assert_int_equal(hyphae_loop_remove_fd(yard->loop, 0), -ENOENT);
}

static void without_memory(void **state)
{
	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_loop *loop = hyphae_loop_new();
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct yard yard = {.loop = loop, .graph = graph};
		int r;

		assert_true(n || (loop && graph));
		if (!loop)
			assert_int_equal(errno, ENOMEM);
		if (loop && graph) {
			r = hyphae_loop_add_graph(loop, graph);
			assert_true(r == 0 || (n && r == -ENOMEM));
			OOM_PAUSE();
			assert_int_equal(hyphae_loop_remove_graph(loop, graph),
					 r ? -ENOENT : 0);
			assert_int_equal(run_once(&yard, 0), 0);
		}
		OOM_PAUSE();
		assert_int_equal(hyphae_loop_free(loop), 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors),
		TEST(detaches_and_fails),
		TEST(graphs),
		TEST(runs_until_it_is_told),
		TEST(told_before_it_runs),
		TEST(refused_in_a_callback),
		TEST(removes_what_is_ready),
		TEST(graphs_that_go),
		TEST(of_a_clock_that_stands_still),
		TEST(told_by_a_thread),
		TEST(told_by_a_signal),
		TEST(bad_input),
		cmocka_unit_test(without_memory),
	};

	alarm(60); /* a loop that does not end is a failure and not a hang */
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
