/* SPDX-License-Identifier: MIT */
/* A graph in a program whose main loop is that of GLib (GTK, GStreamer). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib-unix.h>

#include "garden.h"

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	(void)fd;
	(void)condition;
	return hyphae_graph_dispatch(data) >= 0 ? G_SOURCE_CONTINUE
						: G_SOURCE_REMOVE;
}

static void stop(void *ctx)
{
	g_main_loop_quit(ctx);
}

static void a_graph_in_glib(void **state)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	struct garden garden;
	guint watch;

	(void)state;
	garden_plant(&garden, stop, loop);
	watch = g_unix_fd_add(hyphae_graph_fd(garden.graph), G_IO_IN,
			      on_readable, garden.graph);
	g_main_loop_run(loop);
	/* Before the graph is freed, which closes the descriptor. */
	assert_true(g_source_remove(watch));
	garden_clear(&garden);
	g_main_loop_unref(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_in_glib),
	};

	return cmocka_run_group_tests_name("GLib", tests, NULL, NULL);
}
