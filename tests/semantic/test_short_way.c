/* SPDX-License-Identifier: MIT */
/*
 * Making, subscribing and releasing where nothing stands in the way, which a
 * graph of one thread does in a shorter way: what may stand there after all.
 * The others tell what it has to come to.
 */
#include <errno.h>

#include "fixture.h"

FN(inc, in[0] + 1);

/* From one site each, so that all but the first have its label at hand. */
static struct hyphae_cell *made(struct world *w, int64_t value)
{
	return hyphae_int64_new(w->graph, value);
}

static int add_one(void *ret, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)value + 1;
	return 0;
}

static struct hyphae_cell *mapped(struct hyphae_cell *input, hyphae_map_fn fn,
				  void *ctx)
{
	return hyphae_map(input, &hyphae_int64, fn, ctx);
}

static void ids_are_used_once(void **state)
{
	struct world *w = *state;
	uint64_t last = 0;
	int wrong = 0;

	/* More than 16 bits have, in several blocks and chunks. */
	for (int i = 0; i < 70000; i++) {
		struct hyphae_cell *cell = made(w, i);
		uint64_t id = hyphae_cell_id(cell);

		wrong += id <= last || !(id & 0xffff);
		wrong += hyphae_cell_unref(cell) != 0;
		wrong += hyphae_cell_unref(cell) != -ESTALE;
		last = id;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(live_cells(w), 0);
}

#define MANY 3000

static void many_at_once(void **state)
{
	static struct hyphae_cell *cells[MANY];
	struct world *w = *state;
	int64_t held;
	int wrong = 0;

	for (int i = 0; i < MANY; i++)
		cells[i] = i % 2 ? mapped(cells[i - 1], add_one, NULL)
				 : made(w, i);
	assert_int_equal(live_cells(w), MANY);
	for (int i = 0; i < MANY; i++) {
		wrong += hyphae_int64_get(cells[i], &held) != 0;
		wrong += held != i;
		wrong += targets(cells[i]) != (i % 2 ? 0u : 1u);
	}
	/* First what is followed: it goes with its follower. */
	for (int i = 0; i < MANY; i++)
		wrong += hyphae_cell_unref(cells[i]) != 0;
	for (int i = 0; i < MANY; i++)
		wrong += hyphae_cell_unref(cells[i]) != -ESTALE;
	assert_int_equal(wrong, 0);
	assert_int_equal(live_cells(w), 0);
}

/* A slot of a cell that failed, ended, was followed: nothing of it is left. */
static int give_up(void *ret, const void *value, void *ctx)
{
	(void)ret;
	(void)value;
	(void)ctx;
	return hyphae_error(-EIO, "not %d", 1);
}

static void a_slot_forgets(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	int64_t held = 0;

	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *bad = mapped(a, give_up, NULL);
		struct hyphae_cell *good;

		assert_int_equal(hyphae_int64_get(bad, &held), -EIO);
		assert_int_equal(hyphae_cell_unref(bad), 0);
		good = mapped(a, add_one, NULL);
		assert_int_equal(hyphae_int64_get(good, &held), 0);
		assert_int_equal(held, 2);
		assert_int_equal(targets(good), 0);
		assert_int_equal(hyphae_cell_unref(good), 0);
		assert_int_equal(targets(a), 0);
	}
}

static void names_go(void **state)
{
	struct world *w = *state;
	char text[16];

	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *cell = made(w, i);

		assert_int_equal(hyphae_cell_name(cell, text, sizeof(text)), 0);
		assert_int_equal(hyphae_cell_set_name(cell, "named"), 0);
		assert_int_equal(hyphae_cell_name(cell, text, sizeof(text)), 5);
		assert_int_equal(hyphae_cell_unref(cell), 0);
	}
	assert_int_equal(live_cells(w), 0);
}

/* ---- what a function may do meanwhile ------------------------------------- */

struct meanwhile {
	struct world *world;
	struct hyphae_cell *cell;
	struct hyphae_scope *scope;
	int result, firsts;
};

static int release_input(void *ret, const void *value, void *ctx)
{
	struct meanwhile *m = ctx;

	if (m->cell)
		m->result = hyphae_cell_unref(m->cell);
	m->cell = NULL;
	return add_one(ret, value, NULL);
}

static void its_function_releases_its_input(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		struct meanwhile m = {.world = w, .cell = made(w, 4)};
		struct hyphae_cell *input = m.cell;
		struct hyphae_cell *cell = mapped(input, release_input, &m);

		assert_int_equal(m.result, 0);
		assert_int_equal(value(cell), 5);
		assert_int_equal(hyphae_cell_unref(input), -ESTALE);
		assert_int_equal(hyphae_int64_set(input, 6), 0);
		assert_int_equal(value(cell), 7);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(live_cells(w), 0);
	}
}

static int write_input(void *ret, const void *value, void *ctx)
{
	struct meanwhile *m = ctx;

	m->result = hyphae_int64_set(m->cell, 9);
	return add_one(ret, value, NULL);
}

static void its_function_may_not_write(void **state)
{
	struct world *w = *state;
	struct meanwhile m = {.world = w, .cell = source(w, 4)};

	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *cell = mapped(m.cell, write_input, &m);

		assert_int_equal(m.result, -EPERM);
		assert_int_equal(value(cell), 5);
		assert_int_equal(hyphae_cell_unref(cell), 0);
	}
	put(m.cell, 5);
}

static int enter_scope(void *ret, const void *value, void *ctx)
{
	struct meanwhile *m = ctx;

	m->result = hyphae_scope_enter(m->scope);
	return add_one(ret, value, NULL);
}

/* The scope that is entered when it is made has it. */
static void its_function_enters_a_scope(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);

	for (int i = 0; i < 3; i++) {
		struct meanwhile m = {.world = w,
				      .scope = hyphae_scope_new(w->graph)};
		struct hyphae_cell *cell = mapped(a, enter_scope, &m);

		assert_int_equal(m.result, 0);
		assert_int_equal(value(cell), 2);
		assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
		assert_int_equal(hyphae_scope_leave(m.scope), 0);
		assert_int_equal(hyphae_scope_dispose(m.scope), 0);
		assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
		assert_int_equal(live_cells(w), 1);
	}
}

static void note_first(struct hyphae_cell *cell, void *ctx)
{
	struct meanwhile *m = ctx;

	(void)cell;
	m->firsts++;
}

static int set_hooks(void *ret, const void *value, void *ctx)
{
	struct meanwhile *m = ctx;

	m->result = hyphae_cell_set_hooks(m->cell, note_first, NULL, m);
	return add_one(ret, value, NULL);
}

static void its_function_sets_hooks(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		struct meanwhile m = {.world = w, .cell = made(w, 1)};
		struct hyphae_cell *cell = mapped(m.cell, set_hooks, &m);

		assert_int_equal(m.result, 0);
		assert_int_equal(m.firsts, 1);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_cell_unref(m.cell), 0);
	}
}

static int make_another(void *ret, const void *value, void *ctx)
{
	struct meanwhile *m = ctx;

	m->cell = mapped(m->cell, add_one, NULL);
	m->result = m->cell ? 0 : -errno;
	return add_one(ret, value, NULL);
}

static void its_function_makes_another(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);

	for (int i = 0; i < 3; i++) {
		struct meanwhile m = {.world = w, .cell = a};
		struct hyphae_cell *cell = mapped(a, make_another, &m);
		struct hyphae_cell *other = m.cell;

		assert_int_equal(m.result, 0);
		assert_int_equal(targets(a), 2);
		assert_int_equal(live_cells(w), 3);
		assert_int_equal(value(other), value(a) + 1);
		m.cell = a;
		put(a, 10 + i);
		assert_int_equal(value(cell), 11 + i);
		assert_int_equal(value(other), 11 + i);
		/* It made one more of it in the wave. */
		assert_int_equal(live_cells(w), 4);
		assert_int_equal(value(m.cell), 11 + i);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		assert_int_equal(hyphae_cell_unref(other), 0);
		assert_int_equal(hyphae_cell_unref(m.cell), 0);
		assert_int_equal(live_cells(w), 1);
		assert_int_equal(targets(a), 0);
	}
}

/* ---- followers -------------------------------------------------------------- */

static int ignore(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(int *)ctx;
	return 0;
}

static struct hyphae_subscription *subscribed(struct hyphae_cell *cell,
					      int *calls)
{
	return hyphae_subscribe_with(cell, ignore, calls, NULL,
				     HYPHAE_SKIP_INITIAL);
}

static void subscribing_is_counted(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_subscription *s[40];
	int calls = 0;

	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 40; i++)
			s[i] = subscribed(a, &calls);
		assert_int_equal(live_subs(w), 40);
		assert_int_equal(targets(a), 40);
		put(a, 2 + turn);
		assert_int_equal(calls, 40 * (turn + 1));
		for (int i = 0; i < 40; i++) {
			/* The last, the first, and from the middle. */
			int at = i * 7 % 40;

			assert_int_equal(hyphae_unsubscribe(s[at]), 0);
			assert_int_equal(hyphae_unsubscribe(s[at]), -ESTALE);
		}
		assert_int_equal(live_subs(w), 0);
		assert_int_equal(targets(a), 0);
	}
}

/* The subscription is the last that has the cell. */
static void a_subscription_keeps_its_cell(void **state)
{
	struct world *w = *state;
	int calls = 0;

	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *a = made(w, 1);
		struct hyphae_subscription *s = subscribed(a, &calls);

		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(live_cells(w), 1);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(live_cells(w), 0);
		assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
	}
	assert_int_equal(calls, 0);
}

static void who_subscribes_hears_of_an_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	int calls = 0;

	for (int i = 0; i < 3; i++)
		assert_non_null(keep_sub(w, subscribed(a, &calls)));
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(calls, 3);
	assert_non_null(subscribed(a, &calls));
	assert_int_equal(calls, 4);
}

static void subscribing_wakes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	int calls = 0;

	assert_int_equal(hyphae_cell_set_lazy(b->cell), 0);
	for (int i = 0; i < 3; i++) {
		struct hyphae_subscription *s = subscribed(b->cell, &calls);

		assert_int_equal(targets(a), 1);
		put(a, 5 + i);
		assert_int_equal(calls, i + 1);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		assert_int_equal(targets(a), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ids_are_used_once),
		CASE(many_at_once),
		CASE(a_slot_forgets),
		CASE(names_go),
		CASE(its_function_releases_its_input),
		CASE(its_function_may_not_write),
		CASE(its_function_enters_a_scope),
		CASE(its_function_sets_hooks),
		CASE(its_function_makes_another),
		CASE(subscribing_is_counted),
		CASE(a_subscription_keeps_its_cell),
		CASE(who_subscribes_hears_of_an_end),
		CASE(subscribing_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
