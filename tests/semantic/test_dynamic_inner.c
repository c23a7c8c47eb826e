/* SPDX-License-Identifier: MIT */
/*
 * X-08 and the O cases of cells of cells: switch_map, merge_map, retry, and the
 * same as events.
 */
#include "dynamic.h"

FN(same, in[0]);
FN(inc, in[0] + 1);

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

/* The others hold a value, also where all that they follow are events. */
static void o27_cells_of_events(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *o = event_of(w);
	struct fn f = {.choose = choose_branch,
		       .c = {NULL, event_of(w), event_of(w)}};
	struct log *switching = follow(w, switched(w, o, &f));
	struct log *merging = follow(w, merged(w, o, 2, &f));

	put(o, 1);
	put(f.c[1], 5);
	put(f.c[1], 5); /* no change */
	assert_int_equal(value(switching->cell), 5);
	assert_int_equal(value(merging->cell), 5);
	put(o, 0);
	put(f.c[2], 5);
	put(f.c[2], 6);
	assert_log(switching, "5,6");
	assert_log(merging, "5,6");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		CASE(o27_cells_of_events),
		CASE(o27_merge_events),
		CASE(o27_equal_errors),
		CASE(o27_retry_events),
	};

	return cmocka_run_group_tests_name("dynamic: cells of cells", tests,
					   NULL, NULL);
}
