/* SPDX-License-Identifier: MIT */
/* A graph in a program that takes the run loop of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "garden.h"

static void stop(void *ctx)
{
	hyphae_loop_quit(ctx);
}

static void a_graph_in_its_own_loop(void **state)
{
	struct hyphae_loop *loop = hyphae_loop_new();
	struct garden garden;

	(void)state;
	garden_plant(&garden, stop, loop);
	assert_int_equal(hyphae_loop_add_graph(loop, garden.graph), 0);
	assert_int_equal(hyphae_loop_run(loop), 0);
	assert_int_equal(hyphae_loop_free(loop), 0);
	garden_clear(&garden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_in_its_own_loop),
	};

	return cmocka_run_group_tests_name("own loop", tests, NULL, NULL);
}
