/* SPDX-License-Identifier: MIT */
/*
 * Group D: dependencies that change; with C-01 to C-03, X-08, W-08 and the
 * O cases of cells of cells: computed, switch_map, merge_map, retry.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

FN(same, in[0]);
FN(inc, in[0] + 1);

/* A tracked or a switching function with what it needs at hand. */
struct fn {
	struct world *world;
	int (*track)(struct fn *f, int64_t *ret);
	struct hyphae_cell *(*choose)(struct fn *f, int64_t value);
	struct hyphae_cell *c[128];
	size_t count;
	unsigned long runs;
	void *arg;
};

static int track(void *ret, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return f->track(f, ret);
}

static struct hyphae_cell *choose(const void *value, void *ctx)
{
	struct fn *f = ctx;

	f->runs++;
	return f->choose(f, *(const int64_t *)value);
}

static struct hyphae_cell *computed(struct world *w, struct fn *f)
{
	struct hyphae_cell *cell;

	f->world = w;
	cell = hyphae_computed(w->graph, &hyphae_int64, track, f);
	assert_non_null(cell);
	return keep(w, cell);
}

static struct hyphae_cell *switched(struct world *w, struct hyphae_cell *outer,
				    struct fn *f)
{
	struct hyphae_cell *cell;

	f->world = w;
	cell = hyphae_switch_map(outer, &hyphae_int64, choose, f);
	assert_non_null(cell);
	return keep(w, cell);
}

static int64_t get(const struct hyphae_cell *cell)
{
	int64_t v = -1000;

	return hyphae_int64_get(cell, &v) ? -1000 : v;
}

/* c[0] ? c[1] : c[2] */
static int branch(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[get(f->c[0]) ? 1 : 2]);
	return 0;
}

static struct hyphae_cell *choose_branch(struct fn *f, int64_t value)
{
	return f->c[value ? 1 : 2];
}

/* ---- D ----------------------------------------------------------------------- */

static void branch_switch(struct world *w, bool tracked)
{
	struct hyphae_cell *c = source(w, 1), *x = source(w, 1),
			   *y = source(w, 10);
	struct fn f = {
		.track = branch, .choose = choose_branch, .c = {c, x, y}};
	struct hyphae_cell *d = tracked ? computed(w, &f) : switched(w, c, &f);
	struct log *seen = follow(w, d);
	unsigned long step = tracked;

	f.runs = 0;
	put(y, 11);
	assert_int_equal(f.runs, 0);
	put(c, 0);
	assert_int_equal(f.runs, 1);
	put(x, 2);
	assert_int_equal(f.runs, 1);
	put(y, 12);
	assert_int_equal(f.runs, 1 + step);
	assert_log(seen, "1,11,12");
	assert_int_equal(targets(x), 0);
	/* D-02: the old branch again, with the value it has now */
	put(x, 7);
	put(c, 1);
	assert_log(seen, "1,11,12,7");
	assert_int_equal(targets(y), 0);
	assert_int_equal(targets(x), 1);
}

static void d01_branch_switch_tracked(void **state)
{
	branch_switch(*state, true);
}

static void d01_branch_switch_map(void **state)
{
	branch_switch(*state, false);
}

/* The inner map must not see the value for which the switch lets go of it. */
static int deref(void *ret, const void *input, void *ctx)
{
	int64_t *const *at = input;
	struct fn *f = ctx;

	f->count++;
	if (!*at)
		return -EFAULT;
	*(int64_t *)ret = **at;
	return 0;
}

static struct hyphae_cell *map_or_zero(const void *value, void *ctx)
{
	struct fn *f = ctx;

	return *(void *const *)value
		       ? hyphae_map(f->c[0], &hyphae_int64, deref, f)
		       : f->c[1];
}

static int copy_pointer(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(void **)ret = *(void *const *)input;
	return 0;
}

static void d03_the_switch_cuts_first(void **state)
{
	struct world *w = *state;
	int64_t five = 5, six = 6;
	struct hyphae_cell *a = keep(w, hyphae_pointer_new(w->graph, &five));
	struct hyphae_cell *b =
		keep(w, hyphae_map(a, &hyphae_pointer, copy_pointer, NULL));
	struct fn f = {.c = {b, source(w, 0)}};
	struct hyphae_cell *d =
		keep(w, hyphae_switch_map(b, &hyphae_int64, map_or_zero, &f));
	struct log *seen = follow(w, d);

	assert_int_equal(f.count, 1);
	assert_int_equal(hyphae_pointer_set(a, NULL), 0);
	assert_int_equal(hyphae_pointer_set(a, &six), 0);
	/* Depth first the old one is computed before it is let go of. */
	assert_log(seen, w->eager ? "5,E(-14),0,6" : "5,0,6");
	assert_int_equal(f.count, w->eager ? 3 : 2);
}

/* The same when the outer cell has been raised far above the inner one. */
static int pointer_or_deep(void *ret, void *ctx)
{
	struct fn *f = ctx;

	if (get(f->c[2]))
		get(f->c[3]);
	return hyphae_pointer_get(f->c[4], ret);
}

static void d03_after_the_outer_was_raised(void **state)
{
	struct world *w = *state;
	int64_t five = 5, six = 6;
	struct hyphae_cell *a = keep(w, hyphae_pointer_new(w->graph, &five));
	struct hyphae_cell *x = source(w, 1), *d;
	struct fn f = {.c = {NULL, source(w, 0), source(w, 0), NULL, a}};
	struct log *seen;

	for (int i = 0; i < 30; i++)
		x = derive(w, inc, x)->cell;
	f.c[3] = x;
	f.c[0] = keep(w, hyphae_computed(w->graph, &hyphae_pointer,
					 pointer_or_deep, &f));
	d = keep(w, hyphae_switch_map(f.c[0], &hyphae_int64, map_or_zero, &f));
	seen = follow(w, d);
	put(f.c[2], 1); /* the outer cell is at height 31 now */
	assert_int_equal(hyphae_pointer_set(a, NULL), 0);
	assert_int_equal(hyphae_pointer_set(a, &six), 0);
	assert_log(seen, w->eager ? "5,E(-14),0,6" : "5,0,6");
	assert_int_equal(f.count, w->eager ? 3 : 2);
}

static int gate(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[0]) ? get(f->c[1]) : -1;
	return 0;
}

static void d04_stale_in_the_same_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *g = source(w, 0), *a = source(w, 1);
	struct node *c = derive(w, same, a);
	struct fn f = {.track = gate, .c = {g, c->cell}};
	struct log *seen = follow(w, computed(w, &f));

	begin(w);
	f.runs = 0;
	begin_batch(w);
	put(g, 1);
	put(a, 2);
	end_batch(w);
	assert_log(seen, "-1,2");
	assert_int_equal(f.runs, 1);
	assert_int_equal(c->runs, 1);
}

/* The same over a chain that lies far above, and one that is made meanwhile. */
static void d04_deep(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *g = source(w, 0), *a = source(w, 1), *x = a;
	struct fn f = {.track = gate, .c = {g}};
	struct log *seen;

	for (int i = 0; i < 50; i++)
		x = derive(w, inc, x)->cell;
	f.c[1] = x;
	seen = follow(w, computed(w, &f));
	f.runs = 0;
	begin_batch(w);
	put(g, 1);
	put(a, 2);
	end_batch(w);
	assert_log(seen, "-1,52");
	assert_int_equal(f.runs, 1);
	put(a, 3);
	assert_log(seen, "-1,52,53");
	assert_int_equal(f.runs, 2);
}

static int make_and_read(struct fn *f, int64_t *ret)
{
	struct hyphae_cell *in[1] = {f->c[1]};
	struct node *node;

	*ret = get(f->c[0]);
	node = derive_inside(f->world, inc, in, 1);
	if (!node)
		return -errno;
	*ret += get(node->cell);
	hyphae_cell_unref(node->cell);
	return 0;
}

/* P-11 as well: a cell that is made in the run, over what has not settled. */
static void d05_made_in_the_run(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *x = a;
	struct fn f = {.track = make_and_read};
	struct log *seen;
	size_t cells;

	for (int i = 0; i < 6; i++)
		x = derive(w, inc, x)->cell;
	f.c[0] = a;
	f.c[1] = x;
	seen = follow(w, computed(w, &f));
	assert_log(seen, "9"); /* 1 + (1 + 6 + 1) */
	cells = live_cells(w);
	put(a, 2);
	put(a, 3);
	if (!w->eager)
		assert_log(seen, "9,11,13");
	assert_int_equal(live_cells(w), cells);
}

static void d06_equal_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1), *x = source(w, 123),
			   *y = source(w, 123);
	struct fn f = {.choose = choose_branch, .c = {o, x, y}};
	struct log *seen = follow(w, switched(w, o, &f));

	put(o, 0);
	assert_log(seen, "123");
	put(y, 5);
	assert_log(seen, "123,5");
}

static void d07_to_its_own_ancestor(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *l = source(w, 1), *a = source(w, 1);
	struct node *f1 = derive(w, same, a), *s = derive(w, same, f1->cell);
	struct fn f = {.choose = choose_branch, .c = {l, s->cell, f1->cell}};
	struct log *seen = follow(w, switched(w, l, &f));

	begin(w);
	put(l, 0);
	put(l, 1);
	put(l, 0);
	assert_int_equal(f1->runs, 0);
	assert_int_equal(s->runs, 0);
	assert_int_equal(targets(f1->cell), 2);
	put(a, 2);
	assert_log(seen, "1,2");
}

/* c[0] is the list: c[1 + lo] to c[hi] */
static int add_range(struct fn *f, int64_t *ret)
{
	int64_t list = get(f->c[0]);

	*ret = 0;
	for (int64_t i = list / 10; i <= list % 10; i++)
		*ret += get(f->c[i]);
	return 0;
}

static void d09_list_shrinks_and_shifts(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = add_range, .c = {source(w, 18)}};
	struct hyphae_cell *d;
	struct hyphae_cell_info info;

	for (int64_t i = 1, v = 1; i <= 8; i++, v *= 2)
		f.c[i] = source(w, v);
	d = computed(w, &f);
	assert_int_equal(value(d), 255);
	put(f.c[0], 15);
	assert_int_equal(value(d), 31);
	put(f.c[0], 48);
	assert_int_equal(value(d), 8 + 16 + 32 + 64 + 128);
	assert_int_equal(hyphae_cell_info(d, &info), 0);
	assert_int_equal(info.inputs, 6);
	f.runs = 0;
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(targets(f.c[i]), 0);
		put(f.c[i], 0);
	}
	assert_int_equal(f.runs, 0);
	for (int i = 4; i <= 8; i++)
		assert_int_equal(targets(f.c[i]), 1);
	put(f.c[8], 0);
	assert_int_equal(f.runs, 1);
	put(f.c[0], 80); /* nothing but the list */
	assert_int_equal(value(d), 0);
	assert_int_equal(targets(f.c[4]), 0);
}

static int state_or_111(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[0]) ? get(f->c[1]) : 111;
	return 0;
}

static void d10_sibling_keeps_it(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *t = source(w, 1), *s = source(w, 1);
	struct fn f = {.track = state_or_111, .c = {t, s}};
	struct hyphae_cell *p = computed(w, &f);
	struct node *pp = derive(w, same, s);

	put(t, 0);
	put(s, 2);
	assert_int_equal(value(p), 111);
	assert_int_equal(value(pp->cell), 2);
	assert_int_equal(targets(s), 1);
}

static int read_thrice(struct fn *f, int64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 3; i++)
		*ret += get(f->c[0]) + get(f->c[1]);
	return 0;
}

/* A cell that is read again is one input. */
static void d11_repeated_reads(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = read_thrice, .c = {source(w, 1), source(w, 2)}};
	struct hyphae_cell *d = computed(w, &f);
	struct hyphae_cell_info info;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(hyphae_cell_info(d, &info), 0);
		assert_int_equal(info.inputs, 2);
		put(f.c[0], 10 + i);
		assert_int_equal(value(d), 3 * (10 + i + 2));
	}
	assert_int_equal(f.runs, 4);
}

static int read_untracked(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[0]);
	hyphae_untracked_begin();
	hyphae_untracked_begin();
	hyphae_untracked_end();
	*ret += get(f->c[1]);
	hyphae_untracked_end();
	return 0;
}

static void d12_untracked(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = read_untracked,
		       .c = {source(w, 1), source(w, 10)}};
	struct hyphae_cell *d = computed(w, &f);

	hyphae_untracked_begin(); /* outside: nothing */
	hyphae_untracked_end();
	put(f.c[1], 20);
	assert_int_equal(value(d), 11);
	assert_int_equal(targets(f.c[1]), 0);
	put(f.c[0], 2);
	assert_int_equal(value(d), 22);
}

static struct fn *watched_fn;

static bool equal_that_reads(const void *a, const void *b)
{
	if (watched_fn)
		get(watched_fn->c[2]);
	return *(const int64_t *)a == *(const int64_t *)b;
}

static const struct hyphae_type nosy = {.name = "nosy",
					.size = sizeof(int64_t),
					.align = _Alignof(int64_t),
					.equal = equal_that_reads};

static int nosy_inc(void *ret, const void *input, void *ctx)
{
	struct fn *f = ctx;

	get(f->c[2]);
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int read_through(struct fn *f, int64_t *ret)
{
	int64_t v = 0;

	*ret = get(f->c[0]);
	if (*ret && !hyphae_cell_get(f->c[1], &nosy, &v))
		*ret = v;
	return 0;
}

/* E-09, and functions of other cells that are computed inside the run. */
static void d13_what_others_read_is_theirs(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *g = source(w, 0), *a = source(w, 1);
	struct fn f = {.track = read_through, .c = {g, NULL, source(w, 0)}};
	struct hyphae_cell *d;

	watched_fn = &f;
	f.c[1] = keep(w, hyphae_map(a, &nosy, nosy_inc, &f));
	d = computed(w, &f);
	begin_batch(w);
	put(g, 1);
	put(a, 2);
	end_batch(w);
	assert_int_equal(value(d), 3);
	assert_int_equal(targets(f.c[2]), 0);
	watched_fn = NULL;
}

static int add_all(struct fn *f, int64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < f->count; i++) {
		int64_t v;
		int r = hyphae_int64_get(f->c[i], &v);

		if (r)
			return r;
		*ret += v;
	}
	return 0;
}

static void d14_errors_and_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 2);
	struct fn f = {.track = add_all, .c = {a, b}, .count = 2};
	struct log *seen = follow(w, computed(w, &f));

	put(a, 5);
	assert_int_equal(hyphae_cell_complete(a), 0);
	put(b, 3);
	assert_int_equal(hyphae_cell_fail(b, -EIO, "broken"), 0);
	/* All that it read has ended. */
	assert_log(seen, "3,7,8,E(-5),C");
}

static void d14_reads_nothing(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = add_all};
	struct log *seen = follow(w, computed(w, &f));

	assert_log(seen, "0,C");
	assert_int_equal(f.runs, 1);
}

static int fail_odd(struct node *node, const int64_t *in, size_t count,
		    int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] % 2 ? -EDOM : 0;
}

static void d14_an_error_heals(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 2);
	struct node *b = derive(w, fail_odd, a);
	struct fn f = {.track = add_all, .c = {b->cell}, .count = 1};
	struct log *seen = follow(w, computed(w, &f));

	put(a, 3);
	put(a, 5);
	put(a, 6);
	assert_log(seen, "2,E(-33),6");
	assert_int_equal(f.runs, 3); /* an equal error is no change */
}

static int set_inside(struct fn *f, int64_t *ret)
{
	*ret = hyphae_int64_set(f->c[1], 5);
	return get(f->c[0]) < 0 ? -EDOM : 0;
}

static void d15_writing_is_refused(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = set_inside, .c = {source(w, 1), source(w, 0)}};

	assert_int_equal(value(computed(w, &f)), -EPERM);
	assert_int_equal(value(f.c[1]), 0);
}

static int drop_myself(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[0]);
	if (*ret == 2)
		hyphae_cell_unref(f->c[1]);
	return 0;
}

static void d16_released_in_its_own_run(void **state)
{
	struct world *w = *state;
	struct fn f = {.track = drop_myself, .c = {source(w, 1)}, .world = w};

	f.c[1] = hyphae_computed(w->graph, &hyphae_int64, track, &f);
	assert_non_null(f.c[1]);
	put(f.c[0], 2);
	assert_int_equal(targets(f.c[0]), 0);
	assert_int_equal(live_cells(w), 1);
	put(f.c[0], 3);
	assert_int_equal(f.runs, 2);
}

/* ---- C ------------------------------------------------------------------------ */

static void c01_self_cycle(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0), *x = source(w, 7);
	struct fn f = {.choose = choose_branch, .c = {o, x, x}};
	struct hyphae_cell *d = switched(w, o, &f);
	struct log *seen = follow(w, d);

	f.c[1] = d;
	put(o, 1);
	assert_int_equal(w->problem_code, -ELOOP);
	assert_int_equal(w->problems, 1);
	put(x, 8); /* the rest is alive */
	put(o, 0);
	assert_log(seen, "7,E(-40),8");
}

/* c[0] gate, c[1] a, c[2] the end of the chain */
static int loop_if(struct fn *f, int64_t *ret)
{
	int r;

	*ret = get(f->c[1]);
	if (get(f->c[0])) {
		int64_t v;

		r = hyphae_int64_get(f->c[2], &v);
		if (r)
			return r;
		*ret += v;
	}
	return 0;
}

static void c02_long_cycle_by_one_flip(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *g = source(w, 0), *a = source(w, 1), *x;
	struct fn f = {.track = loop_if, .c = {g, a}};
	struct hyphae_cell *x1 = computed(w, &f);
	struct log *seen;
	char text[32];

	assert_int_equal(hyphae_cell_set_name(x1, "first of many"), 0);
	x = x1;
	for (int i = 1; i < 100; i++)
		x = derive(w, inc, x)->cell;
	f.c[2] = x;
	seen = follow(w, x);
	put(g, 1);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -ELOOP);
	assert_non_null(strstr(w->problem, "first of many"));
	put(a, 2);
	put(g, 0);
	snprintf(text, sizeof(text), "100,E(-40),%d", 2 + 99);
	assert_log(seen, text);
	put(a, 3);
	assert_int_equal(value(x), 3 + 99);
}

/* The value is an index into c[], the cell to follow. */
static struct hyphae_cell *choose_index(struct fn *f, int64_t value)
{
	return f->c[value];
}

/* A follows what v says, B what w says; 1 is A, 2 is B, 3 a constant. */
static void transient(struct world *world, bool v_first)
{
	struct hyphae_cell *v = source(world, 3), *w = source(world, 3);
	struct fn f = {.choose = choose_index};
	struct hyphae_cell *a, *b;

	f.c[3] = source(world, 30);
	a = switched(world, v, &f);
	b = switched(world, w, &f);
	f.c[1] = a;
	f.c[2] = b;
	put(w, 1); /* B follows A */
	begin_batch(world);
	if (v_first)
		put(v, 2);
	put(w, 3);
	if (!v_first)
		put(v, 2);
	end_batch(world);
	assert_int_equal(world->problems, 0);
	put(f.c[3], 31);
	assert_int_equal(value(a), 31);
	assert_int_equal(value(b), 31);
	/* and back */
	begin_batch(world);
	put(v, 3);
	put(w, 1);
	end_batch(world);
	assert_int_equal(world->problems, 0);
	put(f.c[3], 32);
	assert_int_equal(value(b), 32);
}

static void c03_transient_cycle(void **state)
{
	transient(*state, true);
}

static void c03_transient_cycle_other_order(void **state)
{
	transient(*state, false);
}

static void c03_a_real_one(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *v = source(w, 3), *u = source(w, 3);
	struct fn f = {.choose = choose_index};
	struct hyphae_cell *a, *b;

	f.c[3] = source(w, 30);
	a = switched(w, v, &f);
	b = switched(w, u, &f);
	f.c[1] = a;
	f.c[2] = b;
	begin_batch(w);
	put(v, 2);
	put(u, 1);
	end_batch(w);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -ELOOP);
	begin_batch(w);
	put(v, 3);
	put(u, 3);
	end_batch(w);
	assert_int_equal(value(a), 30);
	assert_int_equal(value(b), 30);
}

/* ---- X-08, O ------------------------------------------------------------------- */

static struct hyphae_cell *chain_of_four(struct fn *f, int64_t value)
{
	struct hyphae_cell *x = f->c[0];

	(void)value;
	for (int i = 0; i < 4 && x; i++) {
		struct hyphae_cell *in[1] = {x};
		struct node *node = derive_inside(f->world, inc, in, 1);

		x = node ? node->cell : NULL;
	}
	return x;
}

static void x08_switch_drops_the_old_inner(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = chain_of_four, .c = {source(w, 1)}};
	struct hyphae_cell *d = switched(w, o, &f);
	size_t cells = live_cells(w);

	for (int i = 1; i <= 1000; i++)
		put(o, i);
	assert_int_equal(live_cells(w), cells);
	assert_int_equal(targets(f.c[0]), 1);
	assert_int_equal(value(d), 5);
	put(f.c[0], 2);
	assert_int_equal(value(d), 6);
	let_go(w, d);
	assert_int_equal(live_cells(w), 2);
	assert_int_equal(targets(f.c[0]), 0);
	assert_int_equal(targets(o), 0);
}

static void o10_old_inner_is_ignored(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1);
	struct node *i1 = derive(w, same, source(w, 1));
	struct fn f = {.choose = choose_branch,
		       .c = {o, i1->cell, source(w, 2)}};
	struct log *seen = follow(w, switched(w, o, &f));

	put(o, 0);
	assert_int_equal(targets(i1->cell), 0);
	assert_log(seen, "1,2");
}

static void o11_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1), *x = source(w, 1),
			   *y = source(w, 2);
	struct fn f = {.choose = choose_branch, .c = {o, x, y}};
	struct log *seen = follow(w, switched(w, o, &f));

	assert_int_equal(hyphae_cell_complete(x), 0); /* waits for the outer */
	put(o, 0);
	assert_int_equal(hyphae_cell_complete(o), 0); /* goes on with y */
	put(y, 3);
	assert_int_equal(hyphae_cell_complete(y), 0);
	assert_log(seen, "1,2,3,C");
	assert_int_equal(targets(o), 0);
	assert_int_equal(targets(y), 0);
}

static void o11_both_at_once(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1), *x = source(w, 1);
	struct fn f = {.choose = choose_branch, .c = {o, x, x}};
	struct log *seen = follow(w, switched(w, o, &f));

	begin_batch(w);
	put(x, 2);
	assert_int_equal(hyphae_cell_complete(o), 0);
	assert_int_equal(hyphae_cell_complete(x), 0);
	end_batch(w);
	assert_log(seen, "1,2,C");
}

static struct hyphae_cell *choose_or_fail(struct fn *f, int64_t value)
{
	errno = (int)(value < 0 ? -value : value - 100);
	return value < 0 || value > 100 ? NULL : f->c[value];
}

static int fail_below_zero(void *ret, const void *input, void *ctx)
{
	int64_t value = *(const int64_t *)input;

	(void)ctx;
	*(int64_t *)ret = value;
	return value < 0 ? (int)value : 0;
}

static void o11_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1), *x = source(w, 10);
	struct fn f = {.choose = choose_or_fail, .c = {NULL, x, source(w, 20)}};
	struct log *seen = follow(w, switched(w, o, &f));

	put(o, -ENOSPC);
	put(x, 11); /* not heard */
	put(o, 1);
	put(o, 2);
	assert_int_equal(hyphae_cell_fail(f.c[2], -EIO, "gone"), 0);
	assert_log(seen, "10,E(-28),11,20,E(-5)!");
	assert_int_equal(targets(o), 0);
}

static void o11_wrong_inner(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1);
	struct hyphae_graph *abroad = hyphae_graph_new(0);
	struct fn f = {.choose = choose_or_fail,
		       .c = {NULL, source(w, 1),
			     keep(w, hyphae_bool_new(w->graph, true)),
			     hyphae_int64_new(abroad, 1)}};
	struct log *seen = follow(w, switched(w, o, &f));

	put(o, 2);
	put(o, 3);
	put(o, 1);
	assert_log(seen, "1,E(-22),E(-18),1");
	assert_int_equal(hyphae_graph_free(abroad), 0);
}

/* A switch inside a switch. */
static struct hyphae_cell *switch_inside(struct fn *f, int64_t value)
{
	(void)value;
	return hyphae_switch_map(f->c[0], &hyphae_int64, choose, f->arg);
}

static void o12_nested(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0), *p = source(w, 1);
	struct fn inner = {.choose = choose_branch,
			   .world = w,
			   .c = {NULL, source(w, 10), source(w, 20)}};
	struct fn outer = {.choose = switch_inside, .c = {p}, .arg = &inner};
	struct log *seen = follow(w, switched(w, o, &outer));
	size_t cells = live_cells(w);

	put(p, 0);
	for (int i = 1; i < 20; i++)
		put(o, i);
	begin_batch(w);
	put(o, 100);
	put(p, 1);
	put(inner.c[1], 11);
	end_batch(w);
	assert_log(seen, "10,20,11");
	assert_int_equal(live_cells(w), cells);
}

/* ---- merge_map, retry ------------------------------------------------------------ */

static struct hyphae_cell *merged(struct world *w, struct hyphae_cell *outer,
				  size_t max, struct fn *f)
{
	struct hyphae_cell *cell;

	f->world = w;
	cell = hyphae_merge_map(outer, &hyphae_int64, max, choose, f);
	assert_non_null(cell);
	return keep(w, cell);
}

static void o26_merge_map(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = choose_index,
		       .c = {source(w, 1), source(w, 2), source(w, 3)}};
	struct log *seen = follow(w, merged(w, o, 3, &f));

	put(o, 1);
	put(o, 2);
	put(f.c[0], 10);
	put(f.c[2], 30);
	put(f.c[1], 20);
	begin_batch(w); /* one a wave, oldest first */
	put(f.c[2], 31);
	put(f.c[0], 11);
	put(f.c[1], 21);
	end_batch(w);
	assert_log(seen, "1,2,3,10,30,20,11,21,31");
	assert_int_equal(hyphae_cell_complete(f.c[1]), 0);
	assert_int_equal(targets(f.c[1]), 0);
	assert_int_equal(hyphae_cell_complete(o), 0);
	put(f.c[0], 12);
	begin_batch(w); /* the value before the end */
	put(f.c[0], 13);
	assert_int_equal(hyphae_cell_complete(f.c[0]), 0);
	put(f.c[2], 32);
	assert_int_equal(hyphae_cell_complete(f.c[2]), 0);
	end_batch(w);
	assert_log(seen, "1,2,3,10,30,20,11,21,31,12,13,32,C");
}

static struct hyphae_cell *made_inner(struct fn *f, int64_t value)
{
	struct hyphae_cell *in[1] = {f->c[value]};
	struct node *node = derive_inside(f->world, inc, in, 1);

	return node ? node->cell : NULL;
}

static void o26_ended_inner_is_released(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = made_inner, .c = {source(w, 1), source(w, 2)}};
	struct log *seen = follow(w, merged(w, o, 2, &f));
	size_t cells;

	put(o, 1);
	cells = live_cells(w);
	assert_int_equal(hyphae_cell_complete(f.c[0]), 0);
	assert_int_equal(live_cells(w), cells - 1);
	f.c[0] = source(w, 5);
	put(o, 0); /* room for one again */
	assert_int_equal(live_cells(w), cells + 1);
	f.c[1] = source(w, 7);
	put(o, 1); /* but not for two */
	assert_int_equal(f.runs, 3);
	put(f.c[0], 6);
	assert_log(seen, "2,3,6,E(-105),7");
}

/* With room for one it does not move on to the next, as a switch does. */
static void o26_room_for_one(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = made_inner, .c = {source(w, 1), source(w, 2)}};
	struct log *seen = follow(w, merged(w, o, 1, &f));

	put(o, 1);
	assert_int_equal(f.runs, 1);
	put(f.c[0], 3);
	assert_int_equal(hyphae_cell_complete(f.c[0]), 0);
	put(f.c[1], 5);
	put(o, 0); /* has ended: says nothing new */
	put(o, 1);
	put(f.c[1], 6);
	assert_log(seen, "2,E(-105),4,6,7");
}

/* Each one that is refused is told, when the cell does not stand at that. */
static void o26_refused_again(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = made_inner, .c = {source(w, 1), source(w, 2)}};
	struct log *seen = follow(w, merged(w, o, 1, &f));

	put(o, 1);
	put(f.c[0], 6);
	put(o, 2);
	put(o, 3); /* stands at it */
	put(f.c[0], 7);
	assert_int_equal(hyphae_cell_complete(o), 0); /* says nothing new */
	put(f.c[0], 8);
	assert_log(seen, "2,E(-105),7,E(-105),8,9");
	assert_int_equal(f.runs, 1);
}

/* So is each error of the function, and of an outer event. */
static void o26_the_same_error_again(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct hyphae_cell *in =
		keep(w, hyphae_map(e, &hyphae_int64, fail_below_zero, NULL));
	struct fn f = {.choose = choose_or_fail, .c = {NULL, source(w, 5)}};
	struct log *seen = follow(w, merged(w, in, 9, &f));

	put(e, 1);
	put(e, -EIO);
	put(f.c[1], 6);
	put(e, -EIO);
	put(e, -EIO); /* stands at it */
	put(f.c[1], 7);
	put(e, 100 + EIO); /* the function's */
	put(f.c[1], 8);
	put(e, 100 + EIO);
	assert_log(seen, "5,E(-5),6,E(-5),7,E(-5),8,E(-5)");
}

static struct hyphae_cell *tower_inner(struct fn *f, int64_t value)
{
	struct hyphae_cell *top = hyphae_int64_new(f->world->graph, value);

	for (int i = 0; i < 10; i++)
		top = derive_inside(f->world, same, &top, 1)->cell;
	return top;
}

/* An inner that lies higher raises the cell: in one wave, and told once. */
static void o26_inner_that_raises_it(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	struct fn f = {.choose = tower_inner}, g = {.choose = tower_inner};
	struct log *seen = follow(w, merged(w, e, 8, &f));
	struct log *other = follow(w, switched(w, e, &g));

	put(e, 1);
	put(e, 2);
	begin_batch(w);
	put(e, 3);
	put(e, 4);
	end_batch(w);
	assert_log(seen, "1,2,3,4");
	assert_log(other, "1,2,3,4");
}

static void o26_an_inner_fails(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = choose_index,
		       .c = {source(w, 1), source(w, 2)}};
	struct log *seen = follow(w, merged(w, o, 5, &f));

	put(o, 1);
	assert_int_equal(hyphae_cell_fail(f.c[0], -EIO, NULL), 0);
	assert_log(seen, "1,2,E(-5)!");
	assert_int_equal(targets(f.c[1]), 0);
	assert_int_equal(targets(o), 0);
}

struct tries {
	struct hyphae_cell *from;
	size_t count, released;
	size_t good_from;
	bool null;
};

static int try_it(void *ret, const void *input, void *ctx)
{
	struct tries *t = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	return t->count <= t->good_from ? -EIO : 0;
}

static void count_release(void *ctx)
{
	((struct tries *)ctx)->released++;
}

static struct hyphae_cell *a_try(size_t attempt, void *ctx)
{
	struct tries *t = ctx;
	struct hyphae_cell *cell;

	if (attempt != t->count++)
		errno = EDOM;
	else
		errno = ENOSPC;
	if (t->null)
		return NULL;
	cell = hyphae_map(t->from, &hyphae_int64, try_it, t);
	hyphae_cell_own(cell, t, count_release);
	return cell;
}

static struct hyphae_cell *retried(struct world *w, size_t retries,
				   struct tries *t)
{
	struct hyphae_cell *cell =
		hyphae_retry(w->graph, &hyphae_int64, retries, a_try, t);

	assert_non_null(cell);
	return keep(w, cell);
}

static void o23_retry(void **state)
{
	struct world *w = *state;
	static struct tries bad, good; /* until the fixture lets go */
	struct log *b, *g;

	bad = (struct tries){.from = source(w, 7), .good_from = 100};
	good = (struct tries){.from = source(w, 7), .good_from = 2};
	b = follow(w, retried(w, 2, &bad));
	assert_int_equal(bad.count, 3);
	assert_int_equal(bad.released, 2);
	assert_int_equal(targets(bad.from), 1); /* the last may heal */
	g = follow(w, retried(w, 2, &good));
	assert_int_equal(good.count, 3);
	assert_int_equal(good.released, 2);
	put(good.from, 8);
	bad.good_from = 0;
	put(bad.from, 9);
	assert_log(b, "E(-5),9");
	assert_log(g, "7,8");
}

/* An error later on: the tries that are left. */
static void o23_retry_later(void **state)
{
	struct world *w = *state;
	static struct tries t;
	struct log *seen;

	t = (struct tries){.from = source(w, 7)};
	seen = follow(w, retried(w, 1, &t));
	t.good_from = 1;
	put(t.from, 8); /* fails, and the next try is good */
	assert_int_equal(t.count, 2);
	assert_int_equal(hyphae_cell_fail(t.from, -EPIPE, "for good"), 0);
	assert_log(seen, "7,8,E(-32)!");
	assert_int_equal(t.count, 2);
}

static void o23_factory_that_gives_nothing(void **state)
{
	struct world *w = *state;
	struct tries t = {.from = source(w, 7), .null = true};

	assert_log(follow(w, retried(w, 5, &t)), "E(-28)!");
	assert_int_equal(t.count, 6);
}

static const char *retry_often(void *arg)
{
	struct world *w = arg;
	struct tries t = {.from = hyphae_int64_new(w->graph, 7),
			  .good_from = SIZE_MAX};
	struct hyphae_cell *cell;
	int64_t v;

	cell = hyphae_retry(w->graph, &hyphae_int64, 100000, a_try, &t);
	CHECK(cell);
	CHECK(t.count == 100001);
	CHECK(hyphae_int64_get(cell, &v) == -EIO);
	CHECK(hyphae_cell_unref(cell) == 0);
	CHECK(t.released == 100001);
	CHECK(hyphae_cell_unref(t.from) == 0);
	return NULL;
}

static void o24_retry_does_not_recurse(void **state)
{
	on_small_stack(65536, retry_often, *state);
}

/* ---- the same as events: two equal answers are two ------------------------------ */

static struct hyphae_cell *event_of(struct world *w)
{
	return keep(w, hyphae_event_new(w->graph, &hyphae_int64));
}

static void o27_switch_events(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 1);
	struct fn f = {.choose = choose_branch,
		       .world = w,
		       .c = {NULL, event_of(w), source(w, 7)}};
	struct log *seen = follow(
		w, keep(w, hyphae_switch_events(o, &hyphae_int64, choose, &f)));
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(seen->cell, &info), 0);
	assert_true(info.event);
	put(f.c[1], 5);
	put(f.c[1], 5);
	put(o, 0); /* a cell's value is one, too */
	put(o, 1);
	put(f.c[1], 5);
	put(o, 0);
	assert_log(seen, "5,5,7,5,7");
	begin_batch(w);
	put(f.c[1], 6); /* not followed */
	put(o, 1);
	end_batch(w);
	begin_batch(w);
	put(f.c[1], 8);
	put(f.c[1], 8);
	end_batch(w);
	assert_int_equal(hyphae_cell_complete(o), 0);
	assert_int_equal(hyphae_cell_complete(f.c[1]), 0);
	assert_string_equal(strrchr(seen->text, '8') - 2, "8,8,C");
}

static void o27_merge_events(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = source(w, 0);
	struct fn f = {.choose = choose_index,
		       .world = w,
		       .c = {event_of(w), event_of(w)}};
	struct log *seen = follow(
		w,
		keep(w, hyphae_merge_events(o, &hyphae_int64, 2, choose, &f)));

	put(o, 1);
	put(f.c[0], 5);
	put(f.c[1], 5);
	begin_batch(w);
	put(f.c[1], 5);
	put(f.c[0], 5);
	put(f.c[1], 6);
	end_batch(w);
	assert_log(seen, "5,5,5,5,6");
}

/* Errors count as values do: an equal one is another. */
static void o27_equal_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event_of(w);
	struct hyphae_cell *in =
		keep(w, hyphae_map(e, &hyphae_int64, fail_below_zero, NULL));
	struct fn f = {
		.choose = choose_or_fail, .world = w, .c = {NULL, event_of(w)}};
	struct log *switching = follow(
		w,
		keep(w, hyphae_switch_events(in, &hyphae_int64, choose, &f)));
	struct log *merging = follow(
		w,
		keep(w, hyphae_merge_events(in, &hyphae_int64, 1, choose, &f)));

	put(e, -EIO);
	put(e, -EIO);
	put(e, 100 + EIO);
	put(e, 100 + EIO);
	put(e, 1);
	put(f.c[1], 5);
	assert_log(switching, "E(-5),E(-5),E(-5),E(-5),5");
	put(e, 1);
	put(e, 1); /* more than it may follow */
	put(f.c[1], 5);
	assert_log(merging, "E(-5),E(-5),E(-5),E(-5),5,E(-105),E(-105),5");
	assert_int_equal(hyphae_cell_complete(e), 0);
	assert_int_equal(hyphae_cell_complete(f.c[1]), 0);
	assert_log(switching, "E(-5),E(-5),E(-5),E(-5),5,5,C");
	assert_log(merging, "E(-5),E(-5),E(-5),E(-5),5,E(-105),E(-105),5,C");
}

static struct hyphae_cell *second_is_good(size_t attempt, void *ctx)
{
	struct fn *f = ctx;

	errno = EIO;
	return attempt ? f->c[0] : NULL;
}

static void o27_retry_events(void **state)
{
	struct world *w = *state;
	struct fn f = {.c = {event_of(w)}};
	struct log *seen =
		follow(w, keep(w, hyphae_retry_events(w->graph, &hyphae_int64,
						      1, second_is_good, &f)));

	put(f.c[0], 5);
	put(f.c[0], 5);
	assert_log(seen, "5,5");
}

/* ---- W-08: heights in the worst order ---------------------------------------------- */

#define MANY 10000

static struct hyphae_cell *follow_arg(const void *value, void *ctx)
{
	(void)ctx;
	return *(void *const *)value;
}

/*
 * MANY switches that follow a constant; then each is linked to the next, so
 * that every link raises all that are linked already.
 */
static const char *link_in_the_worst_order(void *arg)
{
	struct world *w = arg;
	struct hyphae_graph *g = w->graph;
	struct hyphae_cell **which = calloc(MANY, sizeof(*which));
	struct hyphae_cell **cells = calloc(MANY, sizeof(*cells));
	struct hyphae_cell *one = hyphae_int64_new(g, 1);
	struct hyphae_cell_info info;
	int64_t v;

	CHECK(which && cells && one);
	for (int i = 0; i < MANY; i++) {
		which[i] = hyphae_pointer_new(g, one);
		cells[i] = hyphae_switch_map(which[i], &hyphae_int64,
					     follow_arg, NULL);
		CHECK(cells[i]);
	}
	for (int i = 0; i + 1 < MANY; i++)
		CHECK(hyphae_pointer_set(which[i], cells[i + 1]) == 0);
	CHECK(hyphae_cell_info(cells[0], &info) == 0);
	CHECK(info.height >= MANY);
	CHECK(hyphae_int64_set(one, 2) == 0);
	CHECK(hyphae_int64_get(cells[0], &v) == 0 && v == 2);
	for (int i = 0; i < MANY; i++) {
		CHECK(hyphae_cell_unref(cells[i]) == 0);
		CHECK(hyphae_cell_unref(which[i]) == 0);
	}
	CHECK(hyphae_cell_unref(one) == 0);
	free(cells);
	free(which);
	return NULL;
}

static void w08_worst_order(void **state)
{
	on_small_stack(65536, link_in_the_worst_order, *state);
}

/* A chain of tracked cells, each of which reads the next only when told to. */
static int read_next(void *ret, void *ctx)
{
	struct hyphae_cell **at = ctx;
	int64_t go = 0;

	*(int64_t *)ret = 1;
	hyphae_int64_get(at[0], &go);
	return go ? hyphae_int64_get(at[1], ret) : 0;
}

static const char *nested_reads(void *arg)
{
	struct world *w = arg;
	enum { DEEP = 2000 };
	struct hyphae_cell *(*at)[2] = calloc(DEEP, sizeof(*at));
	struct hyphae_cell *go = hyphae_int64_new(w->graph, 0);
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 5), *next = a;
	int64_t v;

	CHECK(at && go && a);
	/* The first to be computed is the one that needs all the others. */
	for (int i = 0; i < DEEP; i++)
		at[i][0] = go;
	for (int i = 0; i < DEEP; i++) {
		struct hyphae_cell *cell = hyphae_computed(
			w->graph, &hyphae_int64, read_next, at[i]);

		CHECK(cell);
		if (i)
			at[i - 1][1] = cell;
		else
			next = cell;
	}
	at[DEEP - 1][1] = a;
	CHECK(hyphae_int64_set(go, 1) == 0);
	CHECK(hyphae_int64_get(next, &v) == 0 && v == 5);
	CHECK(hyphae_int64_set(a, 6) == 0);
	CHECK(hyphae_int64_get(next, &v) == 0 && v == 6);
	CHECK(hyphae_cell_unref(next) == 0);
	for (int i = 0; i + 1 < DEEP; i++)
		CHECK(hyphae_cell_unref(at[i][1]) == 0);
	CHECK(hyphae_cell_unref(go) == 0 && hyphae_cell_unref(a) == 0);
	free(at);
	return NULL;
}

static void w08_nested_reads(void **state)
{
	on_small_stack(65536, nested_reads, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(d01_branch_switch_tracked),
		CASE(d01_branch_switch_map),
		CASE(d03_the_switch_cuts_first),
		CASE(d03_after_the_outer_was_raised),
		CASE(d04_stale_in_the_same_wave),
		CASE(d04_deep),
		CASE(d05_made_in_the_run),
		CASE(d06_equal_value),
		CASE(d07_to_its_own_ancestor),
		CASE(d09_list_shrinks_and_shifts),
		CASE(d10_sibling_keeps_it),
		CASE(d11_repeated_reads),
		CASE(d12_untracked),
		CASE(d13_what_others_read_is_theirs),
		CASE(d14_errors_and_ends),
		CASE(d14_reads_nothing),
		CASE(d14_an_error_heals),
		CASE(d15_writing_is_refused),
		CASE(d16_released_in_its_own_run),
		CASE(c01_self_cycle),
		CASE(c02_long_cycle_by_one_flip),
		CASE(c03_transient_cycle),
		CASE(c03_transient_cycle_other_order),
		CASE(c03_a_real_one),
		CASE(x08_switch_drops_the_old_inner),
		CASE(o10_old_inner_is_ignored),
		CASE(o11_completion),
		CASE(o11_both_at_once),
		CASE(o11_errors),
		CASE(o11_wrong_inner),
		CASE(o12_nested),
		CASE(o26_merge_map),
		CASE(o26_refused_again),
		CASE(o26_the_same_error_again),
		CASE(o26_ended_inner_is_released),
		CASE(o26_room_for_one),
		CASE(o26_inner_that_raises_it),
		CASE(o26_an_inner_fails),
		CASE(o23_retry),
		CASE(o23_retry_later),
		CASE(o23_factory_that_gives_nothing),
		CASE(o24_retry_does_not_recurse),
		CASE(o27_switch_events),
		CASE(o27_merge_events),
		CASE(o27_equal_errors),
		CASE(o27_retry_events),
		CASE(w08_worst_order),
		CASE(w08_nested_reads),
	};

	return cmocka_run_group_tests_name("dynamic", tests, NULL, NULL);
}
