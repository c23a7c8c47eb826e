/* SPDX-License-Identifier: MIT */
/*
 * Group D: dependencies that change, by computed and switch_map; with W-08, the
 * heights in the worst order.
 */
#include "dynamic.h"

FN(same, in[0]);
FN(inc, in[0] + 1);

/* c[0] ? c[1] : c[2] */
static int branch(struct fn *f, int64_t *ret)
{
	*ret = get(f->c[get(f->c[0]) ? 1 : 2]);
	return 0;
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
		CASE(w08_worst_order),
		CASE(w08_nested_reads),
	};

	return cmocka_run_group_tests_name("dynamic", tests, NULL, NULL);
}
