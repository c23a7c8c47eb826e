/* SPDX-License-Identifier: MIT */
/*
 * What other threads release while one stays the drainer: its place is given
 * back between passes, and within one after so many waves.  Each case is a
 * script: a subscriber starts a thread, and waits for its end, so the counts
 * are exact.
 */
#include "flow.h"
#include "threads.h"

#define ROUNDS 300
#define EACH 7	      /* cells that are made and released in a round */
#define REAP_TURNS 64 /* waves of a pass after which the dead go */

struct script {
	struct hyphae_graph *graph;
	struct hyphae_cell *go;
	bool same_pass; /* the subscriber writes, not the other thread */
	int64_t round;
	size_t before, most; /* cells, at the beginning and the end of a call */
	int failed;
};

static size_t cells_of(struct script *s)
{
	struct hyphae_graph_counts counts = {.cells = 0};

	s->failed += hyphae_graph_counts(s->graph, &counts) != 0;
	return counts.cells;
}

static void next_round(struct script *s)
{
	if (s->round < ROUNDS)
		s->failed += hyphae_int64_set(s->go, s->round) != 0;
}

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static void *make_and_release(void *ctx)
{
	struct script *s = ctx;

	for (int i = 0; i < EACH; i++) {
		struct hyphae_cell *cell =
			i % 2 ? hyphae_int64_new(s->graph, i)
			      : hyphae_map(s->go, &hyphae_int64, twice, NULL);

		s->failed += hyphae_cell_unref(cell) != 0;
	}
	if (!s->same_pass)
		next_round(s);
	return NULL;
}

static void more_of(size_t *most, size_t count)
{
	if (*most < count)
		*most = count;
}

static int run_round(const struct hyphae_signal *signal, void *ctx)
{
	struct script *s = ctx;
	pthread_t thread;

	(void)signal;
	s->round++;
	more_of(&s->before, cells_of(s));
	if (pthread_create(&thread, NULL, make_and_release, s))
		return -EAGAIN;
	pthread_join(thread, NULL);
	more_of(&s->most, cells_of(s));
	if (s->same_pass)
		next_round(s);
	return 0;
}

static void play(unsigned int kind, bool same_pass, size_t before)
{
	struct script s = {.graph = hyphae_graph_new(kind),
			   .same_pass = same_pass};

	WATCH();
	s.go = hyphae_int64_new(s.graph, -1);
	assert_int_equal(hyphae_graph_set_wave_limit(s.graph, 10 * ROUNDS), 0);
	assert_non_null(hyphae_subscribe_with(s.go, run_round, &s, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(s.go, 0), 0);
	assert_int_equal(s.failed, 0);
	assert_int_equal(s.round, ROUNDS);
	assert_int_equal(s.before, before);
	assert_int_equal(s.most, before + EACH);
	end_graph(s.graph, 1, 1);
}

static const unsigned int shared_kinds[] = {0, HYPHAE_EAGER, HYPHAE_LAZY};

static void others_keep_writing(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		play(shared_kinds[i], false, 1);
}

static void a_subscriber_keeps_writing(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		play(shared_kinds[i], true, 1 + (REAP_TURNS - 1) * EACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_keep_writing),
		cmocka_unit_test(a_subscriber_keeps_writing),
	};

	return cmocka_run_group_tests_name("thread_dead", tests, NULL, NULL);
}
