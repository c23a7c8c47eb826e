/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a wave in which dependencies change: each cell is computed
 * once, after all that it depends on; each subscriber is told once; and what
 * went idle comes back as it was.
 */
#include <errno.h>
#include <string.h>

#include "fixture.h"

FN(inc, in[0] + 1);
FN(plus, in[0] + in[1]);

enum { FOLLOWERS = 20, CHAIN = 10 };

/* What a function of this file chooses among. */
struct choice {
	struct hyphae_graph *graph;
	struct hyphae_cell *go, *near, *far;
	struct hyphae_cell *cells[8];
	unsigned long runs;
};

static int64_t read_int64(const struct hyphae_cell *cell)
{
	int64_t v = -1000;

	return hyphae_int64_get(cell, &v) ? -1000 : v;
}

static struct hyphae_cell *chain(struct world *w, struct hyphae_cell *cell,
				 int length)
{
	for (int i = 0; i < length; i++)
		cell = derive(w, inc, cell)->cell;
	return cell;
}

static int read_branch(void *ret, void *ctx)
{
	struct choice *c = ctx;

	c->runs++;
	*(int64_t *)ret = read_int64(read_int64(c->go) % 2 ? c->far : c->near);
	return 0;
}

static struct hyphae_cell *pick(const void *value, void *ctx)
{
	struct choice *c = ctx;

	c->runs++;
	return c->cells[*(const int64_t *)value % 8];
}

static struct hyphae_cell *tracked(struct world *w, struct choice *c)
{
	struct hyphae_cell *cell =
		hyphae_computed(w->graph, &hyphae_int64, read_branch, c);

	assert_non_null(cell);
	return keep(w, cell);
}

/* Subscribed cells that follow both the source and the dynamic cell. */
struct followers {
	struct node *nodes[FOLLOWERS];
	struct log *logs[FOLLOWERS];
};

static void followers(struct world *w, struct followers *f,
		      struct hyphae_cell *source, struct hyphae_cell *cell)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		f->nodes[i] = derive(w, plus, source, cell);
		f->logs[i] = follow(w, f->nodes[i]->cell);
	}
	begin(w);
}

/* In an eager graph each input that changed computes them. */
static void assert_told_once(const struct world *w, const struct followers *f,
			     unsigned long runs, const char *expected)
{
	if (w->eager)
		return;
	for (int i = 0; i < FOLLOWERS; i++) {
		assert_log(f->logs[i], expected);
		assert_int_equal(f->nodes[i]->runs, runs);
	}
}

/*
 * A function reads a cell that lies above those that follow it, so they must
 * not be computed with what has to settle for that.
 */
static void g01_a_read_ahead_computes_no_follower(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 0);
	struct choice c = {.go = s, .near = s, .far = chain(w, s, CHAIN)};
	struct followers f;

	followers(w, &f, s, tracked(w, &c));
	c.runs = 0;
	put(s, 1);
	if (!w->eager)
		assert_int_equal(c.runs, 1);
	assert_told_once(w, &f, 1, "0,12");
	assert_int_equal(value(f.nodes[0]->cell), 12);
}

/*
 * What `a` begins to follow is about to let go of it: it is tried again when
 * that has happened, and what follows it may have been computed before.
 */
static void g01_a_cell_that_is_tried_again_tells_once(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *v = source(w, 0), *u = source(w, 1);
	struct choice a = {.go = v, .near = source(w, 30)};
	struct choice b = {.go = u, .near = source(w, 40)};
	struct hyphae_cell *cell = tracked(w, &a);
	struct followers f;

	b.far = cell;
	a.far = tracked(w, &b);
	followers(w, &f, v, cell);
	begin_batch(w);
	put(v, 1);
	put(u, 0);
	end_batch(w);
	assert_int_equal(w->problems, 0);
	assert_told_once(w, &f, f.nodes[0]->runs, "30,41");
	assert_int_equal(value(f.nodes[0]->cell), 41);
}

/*
 * They wait already when what they follow comes to follow a higher cell; and
 * before them waits one of the same height that is not concerned.
 */
static void g01_followers_that_wait_are_raised(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 0);
	struct choice c = {.cells = {source(w, 7), chain(w, s, CHAIN)}};
	struct hyphae_cell *cell =
		hyphae_switch_map(s, &hyphae_int64, pick, &c);
	struct followers f;

	assert_non_null(cell);
	for (int i = 1; i <= 3; i++)
		derive(w, plus, s, chain(w, s, i));
	followers(w, &f, s, keep(w, cell));
	put(s, 1);
	assert_told_once(w, &f, 1, "7,12");
	assert_int_equal(value(f.nodes[0]->cell), 12);
}

/* What several inners bring in one wave is told one a wave. */
static void o26_a_new_inner_that_has_to_settle(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 0), *outer = source(w, 0);
	struct choice c = {.cells = {s, chain(w, s, CHAIN)}};
	struct hyphae_cell *merged =
		hyphae_merge_map(outer, &hyphae_int64, 4, pick, &c);
	struct log *seen;

	assert_non_null(merged);
	seen = follow(w, keep(w, merged));
	begin_batch(w);
	put(s, 5);
	put(outer, 1);
	end_batch(w);
	assert_log(seen, "0,5,15");
}

static struct hyphae_cell *make_source(const void *value, void *ctx)
{
	struct choice *c = ctx;
	size_t at = *(const int64_t *)value % 8;

	c->cells[at] = hyphae_int64_new_at(c->graph, *(const int64_t *)value,
					   HYPHAE_HERE);
	return c->cells[at];
}

/* Inners that overlap for ever need no more places than there are at once. */
static void o26_inners_that_overlap_reuse_places(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *merged;
	struct choice c = {.graph = w->graph};
	struct hyphae_cell_info info;
	int64_t last = 400;

	merged = hyphae_merge_map(outer, &hyphae_int64, 7, make_source, &c);
	assert_non_null(merged);
	keep(w, merged);
	for (int64_t i = 1; i <= last; i++) {
		if (i >= 7)
			assert_int_equal(
				hyphae_cell_complete(c.cells[(i - 7) % 8]), 0);
		put(outer, i);
		assert_int_equal(value(merged), i);
	}
	assert_int_equal(hyphae_cell_info(merged, &info), 0);
	assert_int_equal(info.inputs, 8);
}

/* ---- idle and back ------------------------------------------------------------ */

static void lazy(struct hyphae_cell *cell)
{
	assert_int_equal(hyphae_cell_set_lazy(cell), 0);
}

/* The outer cell has ended, so no function will give another inner. */
static void after_the_outer(struct world *w, struct hyphae_cell *cell,
			    struct hyphae_cell *outer, struct hyphae_cell *s)
{
	struct log *seen;

	assert_non_null(cell);
	lazy(keep(w, cell));
	stop(follow(w, cell));
	seen = follow(w, cell);
	assert_int_equal(hyphae_cell_complete(outer), 0);
	stop(seen);
	seen = follow(w, cell);
	put(s, 8);
	assert_log(seen, "7,8");
	assert_int_equal(hyphae_cell_complete(s), 0);
	assert_log(seen, "7,8,C");
}

static void w05_switch_map_wakes_after_the_outer_ended(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *s = source(w, 7);
	struct choice c = {.cells = {s}};

	after_the_outer(w, hyphae_switch_map(outer, &hyphae_int64, pick, &c),
			outer, s);
}

static void w05_merge_map_wakes_after_the_outer_ended(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *s = source(w, 7);
	struct choice c = {.cells = {s}};

	after_the_outer(w, hyphae_merge_map(outer, &hyphae_int64, 4, pick, &c),
			outer, s);
}

/* The same as events: what an inner cell holds is told when it is followed. */
static void w05_switch_events_wakes_after_the_outer_ended(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *s = source(w, 7);
	struct choice c = {.cells = {s}};

	after_the_outer(w, hyphae_switch_events(outer, &hyphae_int64, pick, &c),
			outer, s);
}

static void w05_merge_events_wakes_after_the_outer_ended(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *s = source(w, 7);
	struct choice c = {.cells = {s}};

	after_the_outer(w,
			hyphae_merge_events(outer, &hyphae_int64, 4, pick, &c),
			outer, s);
}

static int leave_at_once(struct log *log, const struct hyphae_signal *signal)
{
	(void)log;
	return hyphae_int64_of(signal) == 8;
}

/* It goes idle while inner cells wait for their turn. */
static void merged_goes_idle(struct world *w, struct hyphae_cell *cell,
			     struct hyphae_cell *outer, struct choice *c)
{
	struct log *seen;

	assert_non_null(cell);
	lazy(keep(w, cell));
	seen = follow_with(w, cell, leave_at_once, NULL, 0);
	for (int i = 1; i < 4; i++)
		put(outer, i);
	assert_int_equal(hyphae_cell_complete(outer), 0);
	begin_batch(w);
	for (int i = 0; i < 4; i++)
		put(c->cells[i], 8 + i);
	end_batch(w);
	assert_log(seen, "1,2,3,4,8");
	seen = follow(w, cell);
	put(c->cells[2], 20);
	for (int i = 0; i < 4; i++)
		assert_int_equal(hyphae_cell_complete(c->cells[i]), 0);
	assert_log(seen, "8,9,10,11,20,C");
}

static void w05_merge_map_idle_while_inners_wait(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0);
	struct choice c = {.cells = {source(w, 1), source(w, 2), source(w, 3),
				     source(w, 4)}};

	merged_goes_idle(w, hyphae_merge_map(outer, &hyphae_int64, 4, pick, &c),
			 outer, &c);
}

static void w05_merge_events_idle_while_inners_wait(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0);
	struct choice c = {.cells = {source(w, 1), source(w, 2), source(w, 3),
				     source(w, 4)}};

	merged_goes_idle(w,
			 hyphae_merge_events(outer, &hyphae_int64, 4, pick, &c),
			 outer, &c);
}

/* The last follower goes, and the hook that tells of it is the next one. */
static void come_back(struct hyphae_cell *cell, void *ctx)
{
	struct log *log = ctx;

	log->subscription = log_subscribe(log, cell, 0);
}

static void w05_a_follower_that_comes_back_in_the_hook(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *outer = source(w, 0), *s = source(w, 7), *cell;
	struct choice c = {.cells = {s, s}};
	struct log *next = log_new(w, NULL, NULL);

	cell = hyphae_switch_map(outer, &hyphae_int64, pick, &c);
	assert_non_null(cell);
	lazy(keep(w, cell));
	assert_int_equal(hyphae_cell_set_hooks(cell, NULL, come_back, next), 0);
	stop(follow(w, cell));
	put(s, 8);
	assert_log(next, "7,8");
	put(outer, 1);
	put(s, 9);
	assert_log(next, "7,8,9");
	assert_int_equal(hyphae_cell_set_hooks(cell, NULL, NULL, NULL), 0);
	keep_sub(w, next->subscription);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(g01_a_read_ahead_computes_no_follower),
		CASE(g01_a_cell_that_is_tried_again_tells_once),
		CASE(g01_followers_that_wait_are_raised),
		CASE(o26_a_new_inner_that_has_to_settle),
		CASE(o26_inners_that_overlap_reuse_places),
		CASE(w05_switch_map_wakes_after_the_outer_ended),
		CASE(w05_merge_map_wakes_after_the_outer_ended),
		CASE(w05_switch_events_wakes_after_the_outer_ended),
		CASE(w05_merge_events_wakes_after_the_outer_ended),
		CASE(w05_merge_map_idle_while_inners_wait),
		CASE(w05_merge_events_idle_while_inners_wait),
		CASE(w05_a_follower_that_comes_back_in_the_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
