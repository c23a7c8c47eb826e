/* SPDX-License-Identifier: MIT */
/* Group P: order of propagation, glitches, diamonds and jagged shapes. */
#include <errno.h>

#include "fixture.h"

FN(same, in[0]);
FN(inc, in[0] + 1);
FN(dec, in[0] - 1);
FN(twice, in[0] * 2);
FN(tenfold, in[0] * 10);
FN(nine, 9);
FN(sum, in[0] + in[1]);
FN(product, in[0] * in[1]);
FN(pair, in[0] * 100 + in[1]);

static void p01_diamond_one_pass(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, a);
	struct node *d = derive(w, sum, b->cell, c->cell);
	struct log *seen = follow(w, d->cell);

	begin(w);
	put(a, 2);
	/* Eager: once for each arm, and the value in between is seen. */
	assert_log(seen, w->eager ? "4,5,7" : "4,7");
	assert_int_equal(b->runs, 1);
	assert_int_equal(c->runs, 1);
	assert_int_equal(d->runs, w->eager ? 2 : 1);
	assert_int_equal(value(d->cell), 7);
}

static void p02_triangle(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 2);
	struct node *b = derive(w, dec, a);
	struct node *c = derive(w, sum, a, b->cell);
	struct log *seen = follow(w, c->cell);

	begin(w);
	put(a, 4);
	/* Eager: the second run of c finds what the first found. */
	assert_log(seen, "3,7");
	assert_int_equal(b->runs, 1);
	assert_int_equal(c->runs, w->eager ? 2 : 1);
}

static void p03_jagged_diamond_two_tails(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, same, a);
	struct node *c = derive(w, same, a);
	struct node *d = derive(w, same, c->cell);
	struct node *e = derive(w, sum, b->cell, d->cell);
	struct node *f = derive(w, same, e->cell);
	struct node *g = derive(w, same, e->cell);
	struct log *f_seen = follow(w, f->cell);
	struct log *g_seen = follow(w, g->cell);
	unsigned long joins = w->eager ? 2 : 1;

	begin(w);
	put(a, 2);
	assert_int_equal(b->runs, 1);
	assert_int_equal(c->runs, 1);
	assert_int_equal(d->runs, 1);
	assert_int_equal(e->runs, joins);
	assert_int_equal(f->runs, joins);
	assert_int_equal(g->runs, joins);
	assert_true(d->rank > c->rank);
	assert_true(e->rank > d->rank);
	assert_true(e->rank > b->rank);
	assert_true(f->rank > e->rank);
	assert_true(g->rank > e->rank);
	assert_log(f_seen, w->eager ? "2,3,4" : "2,4");
	assert_log(g_seen, w->eager ? "2,3,4" : "2,4");
}

static void p05_fibonacci_fan_in(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *v[41];
	struct log *seen;
	int k;

	v[1] = derive(w, same, a);
	v[2] = derive(w, sum, v[1]->cell, a);
	for (k = 3; k <= 40; k++)
		v[k] = derive(w, sum, v[k - 1]->cell, v[k - 2]->cell);
	seen = follow(w, v[40]->cell);
	assert_log(seen, "165580141");
	begin(w);
	put(a, 2);
	assert_int_equal(v[1]->runs, 1);
	/*
	 * Eager: the first way to a cell has stored everything it reads, so
	 * the second finds it equal and ends there: 2 and not 2^40.
	 */
	for (k = 2; k <= 40; k++)
		assert_int_equal(v[k]->runs, w->eager ? 2 : 1);
	assert_log(seen, "165580141,331160282");
}

static void p06_cross_feed_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct node *c = derive(w, sum, a, b);
	struct node *d = derive(w, product, a, b);
	struct node *e = derive(w, sum, c->cell, d->cell);
	struct log *seen = follow(w, e->cell);

	begin(w);
	begin_batch(w);
	put(a, 2);
	put(b, 20);
	end_batch(w);
	assert_log(seen, "21,62");
	assert_int_equal(c->runs, 1);
	assert_int_equal(d->runs, 1);
	assert_int_equal(e->runs, 1);
}

static void p07_cross_feed_without_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct node *c = derive(w, sum, a, b);
	struct node *d = derive(w, product, a, b);
	struct node *e = derive(w, sum, c->cell, d->cell);
	struct log *seen = follow(w, e->cell);

	put(a, 2);
	assert_int_equal(value(c->cell), 12);
	assert_int_equal(value(d->cell), 20);
	assert_int_equal(value(e->cell), 32);
	put(b, 20);
	assert_log(seen, w->eager ? "21,22,32,42,62" : "21,32,62");
}

static void p08_one_arm_unchanged(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, same, a);
	struct node *k = derive(w, nine, a);
	struct node *d = derive(w, pair, b->cell, k->cell);
	struct log *seen = follow(w, d->cell);

	begin(w);
	put(a, 2);
	assert_int_equal(k->runs, 1);
	assert_int_equal(d->runs, 1);
	assert_log(seen, "109,209");
}

static void p09_both_arms_unchanged(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, nine, a);
	struct node *k = derive(w, nine, a);
	struct node *d = derive(w, pair, b->cell, k->cell);
	struct log *seen = follow(w, d->cell);

	begin(w);
	put(a, 2);
	assert_int_equal(b->runs, 1);
	assert_int_equal(k->runs, 1);
	assert_int_equal(d->runs, 0);
	assert_log(seen, "909");
}

/* Note the value of another cell behind the own one. */
static int note_other(struct log *log, const struct hyphae_signal *signal)
{
	int64_t other = -1;

	(void)signal;
	log->code = hyphae_int64_get(log->arg, &other);
	note(log, "(%lld)", (long long)other);
	return 0;
}

static void p10_one_world_for_source_and_derived(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *d = derive(w, tenfold, a);
	struct log *seen = follow_with(w, a, note_other, d->cell, 0);

	put(a, 2);
	assert_log(seen, "1,(10),2,(20)");
	assert_int_equal(seen->code, 0);
}

/* m: when its input is 2, make a cell that follows node->arg. */
static int make_at_two(struct node *node, const int64_t *in, size_t count,
		       int64_t *ret)
{
	struct hyphae_cell *deep = node->arg;

	(void)count;
	if (in[0] == 2)
		node->arg = derive_inside(node->world, same, &deep, 1);
	*ret = in[0];
	return 0;
}

static void p11_made_in_the_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *m = derive(w, make_at_two, a);
	struct node *deep = derive(w, inc, a);
	struct node *made;
	struct log *seen;
	int i;

	for (i = 0; i < 5; i++)
		deep = derive(w, inc, deep->cell);
	m->arg = deep->cell;
	put(a, 2);
	made = m->arg;
	assert_non_null(made);
	keep(w, made->cell);
	/* It was computed again when what it follows had settled. */
	assert_int_equal(value(made->cell), 8);
	assert_int_equal(made->runs, 2);
	seen = follow(w, made->cell);
	put(a, 3);
	assert_log(seen, "8,9");
}

#define TOWER 300

static struct node *tower[TOWER];

/* m: when its input is 2, build a tower upon it, higher than all before. */
static int build_at_two(struct node *node, const int64_t *in, size_t count,
			int64_t *ret)
{
	struct hyphae_cell *below = node->arg;
	int i;

	(void)count;
	for (i = 0; in[0] == 2 && i < TOWER; i++) {
		tower[i] = derive_inside(node->world, inc, &below, 1);
		below = tower[i] ? tower[i]->cell : NULL;
	}
	*ret = in[0];
	return 0;
}

/* Whatever room the wave has for its cells, it may have to move. */
static void p11_tower_made_in_the_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *m = derive(w, build_at_two, a);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, sum, m->cell, b->cell);
	struct log *seen = follow(w, c->cell);
	int i;

	m->arg = b->cell;
	put(a, 2);
	assert_non_null(tower[TOWER - 1]);
	assert_int_equal(value(tower[TOWER - 1]->cell), 3 + TOWER);
	assert_log(seen, w->eager ? "3,4,5" : "3,5");
	put(a, 3);
	assert_int_equal(value(tower[TOWER - 1]->cell), 4 + TOWER);
	for (i = 0; i < TOWER; i++) {
		assert_int_equal(tower[i]->runs, 3);
		assert_int_equal(hyphae_cell_unref(tower[i]->cell), 0);
	}
}

static void p13_reads_do_not_disturb(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, a);
	struct node *d = derive(w, pair, b->cell, c->cell);
	struct log *b_seen = follow(w, b->cell);
	struct log *d_seen = follow(w, d->cell);
	unsigned long joins = w->eager ? 2 : 1;

	begin(w);
	assert_int_equal(value(d->cell), 202);
	assert_int_equal(value(a), 1);
	assert_int_equal(value(c->cell), 2);
	assert_int_equal(value(b->cell), 2);
	assert_int_equal(w->clock, 0);
	put(a, 2);
	assert_int_equal(b->rank, 1);
	assert_int_equal(c->rank, w->eager ? 3 : 2);
	assert_int_equal(d->rank, w->eager ? 4 : 3);
	assert_int_equal(d->runs, joins);
	begin(w);
	assert_int_equal(value(c->cell), 4);
	assert_int_equal(value(d->cell), 304);
	assert_int_equal(value(b->cell), 3);
	put(a, 3);
	assert_int_equal(b->rank, 1);
	assert_int_equal(c->rank, w->eager ? 3 : 2);
	assert_int_equal(d->rank, w->eager ? 4 : 3);
	assert_log(b_seen, "2,3,4");
	assert_log(d_seen, w->eager ? "202,302,304,404,406" : "202,304,406");
}

static void p14_eager_stated_honestly(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, a);
	struct node *d = derive(w, sum, b->cell, c->cell);
	struct log *seen = follow(w, d->cell);

	begin(w);
	put(a, 2);
	assert_log(seen, "4,5,7");
	assert_int_equal(value(d->cell), 7);
	assert_int_equal(d->runs, 2);
	begin(w);
	begin_batch(w);
	put(a, 1);
	end_batch(w);
	assert_log(seen, "4,5,7,4");
	assert_int_equal(d->runs, 1);
}

/* A cell that is an input twice runs once for a change of it. */
static void p15_input_twice(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 3);
	struct node *d = derive(w, product, a, a);
	struct log *seen = follow(w, d->cell);

	put(a, 5);
	assert_log(seen, "9,25");
	assert_int_equal(value(d->cell), 25);
}

static int even(const void *input, void *ctx)
{
	unsigned int *runs = ctx;

	++*runs;
	return *(const int64_t *)input % 2 == 0;
}

/* O-04, and what stands below a cell without a value. */
static void p16_filter_without_a_value(void **state)
{
	struct world *w = *state;
	unsigned int runs = 0;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *f = keep(w, hyphae_filter(a, even, &runs));
	struct node *b = derive(w, inc, f);
	struct node *c = derive(w, sum, a, f);
	struct log *f_seen = follow(w, f);
	struct log *b_seen = follow(w, b->cell);
	struct log *c_seen = follow(w, c->cell);
	int64_t held = 77;

	assert_int_equal(hyphae_int64_get(f, &held), -ENODATA);
	assert_int_equal(hyphae_int64_get(b->cell, &held), -ENODATA);
	assert_int_equal(hyphae_int64_get(c->cell, &held), -ENODATA);
	assert_int_equal(held, 77);
	assert_int_equal(b->runs, 0);
	assert_int_equal(c->runs, 0);
	assert_log(f_seen, "");
	put(a, 2);
	assert_log(f_seen, "2");
	assert_log(b_seen, "3");
	assert_log(c_seen, "4");
	begin(w);
	put(a, 3);
	assert_log(f_seen, "2");
	assert_log(b_seen, "3");
	assert_log(c_seen, "4,5");
	assert_int_equal(value(f), 2);
	assert_int_equal(b->runs, 0);
	assert_int_equal(runs, 3);
}

/* Heights: 0 for a source, 1 + the highest input else. */
static void p17_heights(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, inc, b->cell);
	struct node *d = derive(w, sum, c->cell, a);
	struct hyphae_cell_info info;
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_cell_info(a, &info), 0);
	assert_int_equal(info.height, 0);
	assert_int_equal(info.inputs, 0);
	assert_int_equal(info.targets, 2);
	assert_string_equal(info.op, "source");
	assert_int_equal(hyphae_cell_info(c->cell, &info), 0);
	assert_int_equal(info.height, 2);
	assert_int_equal(info.inputs, 1);
	assert_string_equal(info.op, "map");
	assert_int_equal(hyphae_cell_info(d->cell, &info), 0);
	assert_int_equal(info.height, 3);
	assert_int_equal(info.inputs, 2);
	assert_int_equal(info.targets, 0);
	assert_string_equal(info.op, "combine");
	assert_int_equal(hyphae_graph_counts(w->graph, &counts), 0);
	assert_int_equal(counts.cells, 4);
	assert_int_equal(counts.height, 3);
}

struct wide {
	int64_t low, high;
};

static const struct hyphae_type wide_type = {.name = "wide",
					     .size = sizeof(struct wide),
					     .align = _Alignof(struct wide)};

static int high_of(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = ((const struct wide *)value)->high;
	return 0;
}

static int widen(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(struct wide *)ret = (struct wide){0, *(const int64_t *)value};
	return 0;
}

/* In a chain whose values take turns in lying in the cell and beside it. */
static void chain_of_words_and_boxes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *from = source(w, 1), *b, *c;
	struct node *a = derive(w, inc, from);
	struct node *d;
	struct log *seen;

	b = keep(w, hyphae_map(a->cell, &wide_type, widen, NULL));
	c = keep(w, hyphae_map(b, &hyphae_int64, high_of, NULL));
	d = derive(w, tenfold, c);
	seen = follow(w, d->cell);
	put(from, 2);
	assert_log(seen, "20,30");
}

/* Releases itself the second time; what it makes then is nobody's. */
static int release_own(void *ret, const void *value, void *ctx)
{
	struct hyphae_cell **own = ctx;

	if (*own)
		hyphae_cell_unref(*own);
	*own = NULL;
	*(int64_t *)ret = *(const int64_t *)value;
	return 0;
}

static void released_in_its_own_map(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *own = NULL, *made;
	struct node *b = derive(w, inc, a);

	made = hyphae_map(b->cell, &hyphae_int64, release_own, &own);
	own = made;
	assert_non_null(made);
	assert_int_equal(targets(b->cell), 1);
	put(a, 2);
	assert_null(own);
	assert_int_equal(value(b->cell), 3);
	assert_int_equal(targets(b->cell), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(chain_of_words_and_boxes),
		CASE(released_in_its_own_map),
		CASE(p01_diamond_one_pass),
		CASE(p02_triangle),
		CASE(p03_jagged_diamond_two_tails),
		CASE(p05_fibonacci_fan_in),
		CASE(p06_cross_feed_in_a_batch),
		CASE(p07_cross_feed_without_a_batch),
		CASE(p08_one_arm_unchanged),
		CASE(p09_both_arms_unchanged),
		CASE(p10_one_world_for_source_and_derived),
		CASE(p11_made_in_the_wave),
		CASE(p11_tower_made_in_the_wave),
		CASE(p13_reads_do_not_disturb),
		CASE_EAGER(p14_eager_stated_honestly),
		CASE(p15_input_twice),
		CASE(p16_filter_without_a_value),
		CASE(p17_heights),
	};

	return cmocka_run_group_tests_name("propagation", tests, NULL, NULL);
}
