/* SPDX-License-Identifier: MIT */
/*
 * No memory for cells whose inputs are found while they are computed: each
 * allocation of making one, of a wave that links other inputs, of waking and
 * of hooks fails in turn.  Making fails as a whole; in a wave the cell holds
 * -ENOMEM, or what it should, and all is well after the next change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"

#define LEAVES 20

static const struct hyphae_type *const types[] = {&hyphae_int64,
						  &hyphae_string};

struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *many;	  /* how many leaves count */
	struct hyphae_cell *leaf[LEAVES]; /* 1 each */
	struct hyphae_cell *text;	  /* "spore" */
	struct hyphae_cell *cell;
	struct hyphae_subscription *sub;
};

static int on_signal(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void plant(struct garden *g, unsigned int flags)
{
	memset(g, 0, sizeof(*g));
	g->graph = hyphae_graph_new(flags);
	assert_non_null(g->graph);
	g->many = hyphae_int64_new(g->graph, 1);
	for (int i = 0; i < LEAVES; i++) {
		g->leaf[i] = hyphae_int64_new(g->graph, 1);
		assert_non_null(g->leaf[i]);
	}
	g->text = hyphae_string_new(g->graph, "spore");
	assert_true(g->many && g->text);
}

static void clear(struct garden *g)
{
	if (g->sub)
		hyphae_unsubscribe(g->sub);
	assert_int_equal(hyphae_cell_unref(g->cell), 0);
	assert_int_equal(hyphae_cell_unref(g->many), 0);
	for (int i = 0; i < LEAVES; i++)
		assert_int_equal(hyphae_cell_unref(g->leaf[i]), 0);
	assert_int_equal(hyphae_cell_unref(g->text), 0);
	assert_int_equal(hyphae_graph_check_idle(g->graph), 0);
	assert_int_equal(hyphae_graph_free(g->graph), 0);
}

/* ---- the functions ----------------------------------------------------------- */

static int count_leaves(void *ret, void *ctx)
{
	struct garden *g = ctx;
	int64_t many = 0, sum = 0, v;
	int r = hyphae_int64_get(g->many, &many);

	for (int64_t i = 0; !r && i < many; i++) {
		r = hyphae_int64_get(g->leaf[i], &v);
		sum += v;
	}
	*(int64_t *)ret = sum;
	return r;
}

static int read_text(void *ret, void *ctx)
{
	struct garden *g = ctx;
	int64_t many;

	hyphae_int64_get(g->many, &many);
	return hyphae_string_get(g->text, ret);
}

static int plus(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

/* A chain over a leaf, made anew: 3. */
static struct hyphae_cell *chain(const void *value, void *ctx)
{
	struct garden *g = ctx;

	return hyphae_map(hyphae_map(g->leaf[*(const int64_t *)value],
				     &hyphae_int64, plus, NULL),
			  &hyphae_int64, plus, NULL);
}

static struct hyphae_cell *text(const void *value, void *ctx)
{
	(void)value;
	return ((struct garden *)ctx)->text;
}

static struct hyphae_cell *again(size_t attempt, void *ctx)
{
	int64_t value = (int64_t)attempt;

	if (attempt < 2) {
		errno = EIO;
		return NULL;
	}
	return chain(&value, ctx);
}

/* ---- making -------------------------------------------------------------------- */

enum what { COMPUTED, COMPUTED_TEXT, SWITCH, SWITCH_TEXT, MERGE, RETRY, ALL };

static struct hyphae_cell *make(struct garden *g, enum what what)
{
	switch (what) {
	case COMPUTED:
		return hyphae_computed(g->graph, types[0], count_leaves, g);
	case COMPUTED_TEXT:
		return hyphae_computed(g->graph, types[1], read_text, g);
	case SWITCH:
		return hyphae_switch_map(g->many, types[0], chain, g);
	case SWITCH_TEXT:
		return hyphae_switch_map(g->many, types[1], text, g);
	case MERGE:
		return hyphae_merge_map(g->many, types[0], 100, chain, g);
	default:
		return hyphae_retry(g->graph, types[0], 5, again, g);
	}
}

static const int64_t made_value[ALL] = {1, 0, 3, 0, 3, 3};

static size_t cells(const struct garden *g)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(g->graph, &counts), 0);
	return counts.cells;
}

/* Or it holds -ENOMEM: a function that it called found no memory. */
static void check_made(struct garden *g, enum what what)
{
	int64_t v = 0;
	char *t = NULL;
	int r;

	if (what == COMPUTED_TEXT || what == SWITCH_TEXT) {
		r = hyphae_string_get(g->cell, &t);
		if (r == 0)
			assert_string_equal(t, "spore");
		free(t);
	} else {
		r = hyphae_int64_get(g->cell, &v);
		if (r == 0)
			assert_int_equal(v, made_value[what]);
	}
	if (r != 0)
		assert_int_equal(r, -ENOMEM);
}

/*
 * The steps: each is tried in a garden of its own with its first allocation
 * failing, then its second, until it asks for no more.
 */
struct step {
	void (*before)(struct garden *g, enum what what);
	void (*act)(struct garden *g, enum what what);
	void (*check)(struct garden *g, enum what what);
};

static void sweep(const struct step *step, enum what what, unsigned int flags)
{
	unsigned long asked, n = 1;

	do {
		struct garden g;

		plant(&g, flags);
		if (step->before)
			step->before(&g, what);
		asked = hy_alloc_count();
		hy_alloc_fail_after(n);
		step->act(&g, what);
		hy_alloc_fail_after(0);
		asked = hy_alloc_count() - asked;
		step->check(&g, what);
		clear(&g);
	} while (n++ < asked);
}

static void sweep_all(const struct step *step)
{
	static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD,
					     HYPHAE_EAGER};

	for (enum what what = 0; what < ALL; what++)
		for (size_t i = 0; i < 3; i++)
			sweep(step, what, kinds[i]);
}

static void act_make(struct garden *g, enum what what)
{
	g->cell = make(g, what);
	if (!g->cell && errno != ENOMEM)
		abort();
}

static void check_make(struct garden *g, enum what what)
{
	if (g->cell) {
		check_made(g, what);
		return;
	}
	assert_int_equal(cells(g), 2 + LEAVES);
	g->cell = make(g, what);
	assert_non_null(g->cell);
	check_made(g, what);
}

static void making(void **state)
{
	static const struct step step = {NULL, act_make, check_make};

	(void)state;
	sweep_all(&step);
}

/* ---- a wave that links others ------------------------------------------------ */

static void before_wave(struct garden *g, enum what what)
{
	g->cell = make(g, what);
	assert_non_null(g->cell);
	g->sub = hyphae_subscribe(g->cell, on_signal, NULL);
	assert_non_null(g->sub);
}

static void act_wave(struct garden *g, enum what what)
{
	(void)what;
	hyphae_int64_set(g->many, LEAVES - 1);
}

/* Once more, with memory: all is as it should be. */
static void check_wave(struct garden *g, enum what what)
{
	int64_t v, want = what == COMPUTED ? LEAVES - 2 : 3;
	char *t;

	assert_true(hyphae_int64_set(g->many, LEAVES - 2) >= 0);
	if (what == COMPUTED_TEXT || what == SWITCH_TEXT) {
		assert_int_equal(hyphae_string_get(g->cell, &t), 0);
		assert_string_equal(t, "spore");
		free(t);
		return;
	}
	if (what == RETRY) /* follows a leaf, and not how many */
		assert_int_equal(hyphae_int64_set(g->leaf[2], 1), 1);
	assert_int_equal(hyphae_int64_get(g->cell, &v), 0);
	assert_int_equal(v, want);
}

static void linking_in_a_wave(void **state)
{
	static const struct step step = {before_wave, act_wave, check_wave};

	(void)state;
	sweep_all(&step);
}

/* ---- lazy -------------------------------------------------------------------------- */

static void before_lazy(struct garden *g, enum what what)
{
	struct hyphae_cell_info info;

	g->cell = make(g, what);
	assert_non_null(g->cell);
	assert_int_equal(hyphae_cell_set_lazy(g->cell), 0);
	assert_int_equal(hyphae_cell_info(g->cell, &info), 0);
	assert_true(info.idle);
}

static void act_subscribe(struct garden *g, enum what what)
{
	(void)what;
	g->sub = hyphae_subscribe(g->cell, on_signal, NULL);
}

static void check_lazy(struct garden *g, enum what what)
{
	if (!g->sub)
		g->sub = hyphae_subscribe(g->cell, on_signal, NULL);
	assert_non_null(g->sub);
	check_made(g, what);
}

static void waking(void **state)
{
	static const struct step step = {before_lazy, act_subscribe,
					 check_lazy};

	(void)state;
	sweep_all(&step);
}

static void act_set_lazy(struct garden *g, enum what what)
{
	(void)what;
	if (hyphae_cell_set_lazy(g->cell) == -ENOMEM)
		return;
}

static void before_set_lazy(struct garden *g, enum what what)
{
	g->cell = make(g, what);
	assert_non_null(g->cell);
}

static void check_set_lazy(struct garden *g, enum what what)
{
	check_lazy(g, what);
}

static void becoming_lazy(void **state)
{
	static const struct step step = {before_set_lazy, act_set_lazy,
					 check_set_lazy};

	(void)state;
	sweep_all(&step);
}

static unsigned int hooked;

static void on_hook(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	(void)ctx;
	hooked++;
}

static void act_hooks(struct garden *g, enum what what)
{
	(void)what;
	hooked = 0;
	if (hyphae_cell_set_hooks(g->cell, on_hook, on_hook, NULL))
		hooked = 100; /* not set */
}

static void check_hooks(struct garden *g, enum what what)
{
	bool set = hooked == 0;

	check_lazy(g, what);
	assert_int_equal(hooked, set ? 1 : 100);
	assert_int_equal(hyphae_unsubscribe(g->sub), 0);
	g->sub = NULL;
	assert_int_equal(hooked, set ? 2 : 100);
}

static void hooks(void **state)
{
	static const struct step step = {before_set_lazy, act_hooks,
					 check_hooks};

	(void)state;
	sweep_all(&step);
}

/* ---- events ------------------------------------------------------------------------- */

static void events(void **state)
{
	unsigned long n, asked;

	(void)state;
	n = 1;
	do {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *e;

		asked = hy_alloc_count();
		hy_alloc_fail_after(n);
		e = hyphae_event_new(graph, &hyphae_string);
		if (e) {
			hyphae_batch_begin(graph);
			for (int i = 0; i < 20; i++)
				hyphae_string_set(e, "again");
			hyphae_batch_end(graph);
		}
		hy_alloc_fail_after(0);
		asked = hy_alloc_count() - asked;
		assert_int_equal(hyphae_graph_free(graph), 0);
	} while (n++ < asked);
}

/* A steady state asks for nothing: neither re-linking nor switching of leaves. */
static void no_allocation_when_settled(void **state)
{
	struct garden g;
	unsigned long asked;
	int64_t v;

	(void)state;
	plant(&g, 0);
	g.cell = make(&g, COMPUTED);
	for (int i = 0; i < 4; i++)
		hyphae_int64_set(g.many, i % 2 ? 1 : LEAVES);
	asked = hy_alloc_count();
	for (int i = 0; i < 1000; i++) {
		hyphae_int64_set(g.many, i % 2 ? 1 : LEAVES);
		hyphae_int64_set(g.leaf[0], i);
	}
	assert_int_equal(hy_alloc_count(), asked);
	assert_int_equal(hyphae_int64_get(g.cell, &v), 0);
	assert_int_equal(v, 999);
	clear(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(making),
		cmocka_unit_test(linking_in_a_wave),
		cmocka_unit_test(waking),
		cmocka_unit_test(becoming_lazy),
		cmocka_unit_test(hooks),
		cmocka_unit_test(events),
		cmocka_unit_test(no_allocation_when_settled),
	};

	return cmocka_run_group_tests_name("oom_dynamic", tests, NULL, NULL);
}
