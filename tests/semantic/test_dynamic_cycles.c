/* SPDX-License-Identifier: MIT */
/* C-01 to C-03: cycles that come by dependencies that change. */
#include "dynamic.h"

FN(inc, in[0] + 1);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(c01_self_cycle),
		CASE(c02_long_cycle_by_one_flip),
		CASE(c03_transient_cycle),
		CASE(c03_transient_cycle_other_order),
		CASE(c03_a_real_one),
	};

	return cmocka_run_group_tests_name("dynamic: cycles", tests, NULL,
					   NULL);
}
