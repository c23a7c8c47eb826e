/* SPDX-License-Identifier: MIT */
/*
 * Posts to a graph that lives in memory of the caller: what waits lies there,
 * and of the process's memory they take one block for the graph and one for
 * each poster, which may outlive it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

/* ---- the process's memory, counted -------------------------------------------- */

static long taken, given;

static void *count_alloc(size_t size, void *ctx)
{
	(void)ctx;
	taken++;
	return malloc(size);
}

static void *count_realloc(void *memory, size_t size, void *ctx)
{
	(void)ctx;
	taken++;
	given++;
	return realloc(memory, size);
}

static void count_free(void *memory, void *ctx)
{
	(void)ctx;
	given++;
	free(memory);
}

/* ---- a graph of 40 cells ------------------------------------------------------- */

struct wide {
	int64_t n[32];
};
HYPHAE_TYPE(wide, struct wide);

#define CELLS 20

HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(2 * CELLS, 0, 0) + 65536);

struct world {
	struct hyphae_graph *graph;
	struct hyphae_cell *small[CELLS], *big[CELLS];
	int failed;
};

static void build(struct world *w, unsigned int kind)
{
	struct wide zero = {.n = {0}};

	*w = (struct world){
		.graph = hyphae_graph_new_with(&(struct hyphae_graph_options){
			.flags = kind,
			.storage = store,
			.storage_bytes = sizeof(store)})};
	assert_non_null(w->graph);
	for (int i = 0; i < CELLS; i++) {
		w->small[i] = hyphae_int64_new(w->graph, 0);
		w->big[i] = wide_new_at(w->graph, zero, HYPHAE_HERE);
		assert_non_null(w->big[i]);
	}
	taken = given = 0;
}

/* Each twice: the second replaces the first. */
static void *post_all(void *ctx)
{
	struct world *w = ctx;

	for (int64_t i = 0; i < 2 * CELLS; i++) {
		struct wide value = {.n = {i}};

		w->failed += hyphae_int64_post(w->small[i % CELLS], i) != 0;
		w->failed += hyphae_cell_post(w->big[i % CELLS], &wide_type,
					      &value) != 0;
	}
	w->failed += hyphae_cell_post_fail(w->small[0], -EIO, "a message") != 0;
	return NULL;
}

static void post_on_a_thread(struct world *w)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, post_all, w), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w->failed, 0);
}

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER};
#define EACH_KIND(kind_)                                                       \
	for (const unsigned int *kind_ = kinds; kind_ < kinds + 3; kind_++)

static void what_waits_lies_in_the_storage(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_post_counts counts;
		struct world w;
		struct wide value;

		build(&w, *kind);
		post_on_a_thread(&w);
		assert_int_equal(taken, 1);
		assert_int_equal(hyphae_settle(w.graph), 0);
		assert_int_equal(taken, 1);
		assert_int_equal(given, 0);
		assert_int_equal(wide_get(w.big[3], &value), 0);
		assert_int_equal(value.n[0], CELLS + 3);
		assert_int_equal(hyphae_graph_post_counts(w.graph, &counts), 0);
		assert_int_equal(counts.posted, 4 * CELLS + 1);
		assert_int_equal(counts.replaced, 2 * CELLS);
		assert_int_equal(counts.applied, 2 * CELLS + 1);
		assert_int_equal(hyphae_graph_free(w.graph), 0);
		assert_int_equal(given, 1);
	}
}

/* Also when what waited goes with the graph. */
static void posts_that_were_not_taken(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		post_on_a_thread(&w);
		assert_int_equal(hyphae_graph_free(w.graph), 0);
		assert_int_equal(taken, 1);
		assert_int_equal(given, 1);
	}
}

static void a_poster_outlives_the_graph(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_poster *poster;
		struct hyphae_graph *next;
		struct world w;

		build(&w, *kind);
		post_on_a_thread(&w);
		poster = hyphae_poster_new(w.small[1]);
		assert_non_null(poster);
		assert_int_equal(taken, 2);
		assert_int_equal(hyphae_poster_post_int64(poster, 5), 0);
		assert_int_equal(hyphae_settle(w.graph), 0);
		assert_int_equal(hyphae_poster_post_int64(poster, 6), 0);
		assert_int_equal(hyphae_graph_free(w.graph), 0);
		next = hyphae_graph_new_with(&(struct hyphae_graph_options){
			.storage = store, .storage_bytes = sizeof(store)});
		assert_non_null(next);
		assert_int_equal(hyphae_poster_post_int64(poster, 7), -ESTALE);
		hyphae_poster_free(poster);
		assert_int_equal(taken, 2);
		assert_int_equal(given, 2);
		assert_int_equal(hyphae_graph_free(next), 0);
	}
}

/* When it is used up a post fails, and nothing is lost of those before. */
static void the_storage_is_used_up(void **state)
{
	(void)state;
	EACH_KIND(kind)
	{
		struct hyphae_post_counts counts;
		struct wide value = {.n = {7}};
		struct world w;
		char name[200];
		int r;

		build(&w, *kind);
		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		assert_int_equal(hyphae_int64_post(w.small[0], 1), 0);
		do
			r = hyphae_cell_new(w.graph, &wide_type, &value)
				    ? 0
				    : -errno;
		while (r == 0);
		assert_int_equal(r, -ENOMEM);
		for (int i = 0; i < CELLS; i++)
			hyphae_cell_set_name(w.big[i], name);
		r = hyphae_cell_post(w.big[0], &wide_type, &value);
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(hyphae_graph_post_counts(w.graph, &counts), 0);
		assert_int_equal(counts.posted, 1);
		assert_int_equal(counts.waiting, 1);
		assert_int_equal(hyphae_graph_free(w.graph), 0);
		assert_int_equal(taken, 1);
		assert_int_equal(given, 1);
	}
}

int main(void)
{
	static const struct hyphae_allocator counting = {.alloc = count_alloc,
							 .realloc =
								 count_realloc,
							 .free = count_free};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_lies_in_the_storage),
		cmocka_unit_test(posts_that_were_not_taken),
		cmocka_unit_test(a_poster_outlives_the_graph),
		cmocka_unit_test(the_storage_is_used_up),
	};

	if (hyphae_set_allocator(&counting))
		return 1;
	return cmocka_run_group_tests_name("post_storage", tests, NULL, NULL);
}
