/* SPDX-License-Identifier: MIT */
/* A graph in a program whose main loop is libuv. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uv.h>

#include "garden.h"

static void on_readable(uv_poll_t *watch, int status, int events)
{
	(void)events;
	assert_int_equal(status, 0);
	assert_true(hyphae_graph_dispatch(watch->data) >= 0);
}

/* Have the loop run the graph until stop_watching(). */
static void watch_graph(uv_loop_t *loop, uv_poll_t *watch,
			struct hyphae_graph *graph)
{
	watch->data = graph;
	assert_int_equal(uv_poll_init(loop, watch, hyphae_graph_fd(graph)), 0);
	assert_int_equal(uv_poll_start(watch, UV_READABLE, on_readable), 0);
}

static void stop_watching(uv_poll_t *watch)
{
	uv_poll_stop(watch);
	uv_close((uv_handle_t *)watch, NULL);
}

static void stop(void *ctx)
{
	uv_stop(ctx);
}

static void a_graph_in_libuv(void **state)
{
	struct garden garden;
	uv_poll_t watch;
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	garden_plant(&garden, stop, &loop);
	watch_graph(&loop, &watch, garden.graph);
	uv_run(&loop, UV_RUN_DEFAULT);
	/* Before the graph is freed, which closes the descriptor. */
	stop_watching(&watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	garden_clear(&garden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_in_libuv),
	};

	return cmocka_run_group_tests_name("libuv", tests, NULL, NULL);
}
