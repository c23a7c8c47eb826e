/* SPDX-License-Identifier: MIT */
/* A random program runs in the four kinds of graph: a test for each. */
#ifndef TEST_FOUR_GRAPHS_H
#define TEST_FOUR_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hyphae/graph.h>

static void (*in_each_graph)(unsigned int flags);

static void thread_safe(void **state)
{
	(void)state;
	in_each_graph(0);
}

static void single_thread(void **state)
{
	(void)state;
	in_each_graph(HYPHAE_SINGLE_THREAD);
}

static void depth_first(void **state)
{
	(void)state;
	in_each_graph(HYPHAE_EAGER);
}

static void depth_first_single_thread(void **state)
{
	(void)state;
	in_each_graph(HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
}

/* How many of the four failed. */
static int run_in_four_graphs(const char *name, void (*run)(unsigned int flags))
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_safe),
		cmocka_unit_test(single_thread),
		cmocka_unit_test(depth_first),
		cmocka_unit_test(depth_first_single_thread),
	};

	in_each_graph = run;
	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

#endif
