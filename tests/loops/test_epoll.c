/* SPDX-License-Identifier: MIT */
/* A graph in a program whose main loop is plain epoll. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "garden.h"

static void stop(void *ctx)
{
	*(bool *)ctx = true;
}

static int wait_for(int loop, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

static void run(int loop, struct hyphae_graph *graph, const bool *stopped)
{
	struct epoll_event events[8];

	while (!*stopped) {
		int count = epoll_wait(loop, events, 8, -1);

		assert_true(count >= 0 || errno == EINTR);
		for (int i = 0; i < count; i++)
			if (events[i].data.fd == hyphae_graph_fd(graph))
				assert_true(hyphae_graph_dispatch(graph) >= 0);
	}
}

static void a_graph_in_epoll(void **state)
{
	int loop = epoll_create1(EPOLL_CLOEXEC);
	bool stopped = false;
	struct garden garden;

	(void)state;
	garden_plant(&garden, stop, &stopped);
	assert_int_equal(wait_for(loop, hyphae_graph_fd(garden.graph)), 0);
	run(loop, garden.graph, &stopped);
	garden_clear(&garden);
	close(loop);
}

/* Without the descriptor: the deadline is the timeout.  No posts then. */
static int on_tick(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	++*(unsigned int *)ctx;
	return 0;
}

static int milliseconds_left(struct hyphae_graph *graph)
{
	struct hyphae_clock *clock = hyphae_graph_clock(graph);
	uint64_t now = 0, deadline = 0;

	hyphae_clock_now(clock, &now);
	hyphae_clock_unref(clock);
	if (hyphae_graph_deadline(graph, &deadline))
		return -1;
	/* Up, or it would wait for nothing many times. */
	return deadline <= now ? 0 : (int)((deadline - now + 999999) / 1000000);
}

static void by_the_deadline(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	int loop = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	unsigned int ticks = 0;
	int left;

	(void)state;
	assert_non_null(
		hyphae_timer_start(graph, 2000000, 0, on_tick, &ticks, NULL));
	while ((left = milliseconds_left(graph)) >= 0) {
		assert_int_equal(epoll_wait(loop, &event, 1, left), 0);
		assert_true(hyphae_graph_dispatch(graph) >= 0);
	}
	assert_int_equal(ticks, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
	close(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_in_epoll),
		cmocka_unit_test(by_the_deadline),
	};

	return cmocka_run_group_tests_name("epoll", tests, NULL, NULL);
}
