/* SPDX-License-Identifier: MIT */
/*
 * Whose is what a callback makes: of the scope that the thread which calls it
 * has entered last, whoever subscribed, and where; of the callback's own scope
 * if it enters one; of nobody outside of scopes.
 */
#include <errno.h>

#include "fixture.h"

struct maker {
	struct world *world;
	struct hyphae_cell *made;
	struct hyphae_scope *own; /* what it enters for that, or NULL */
	int failures;
};

static int make_one(struct log *log, const struct hyphae_signal *signal)
{
	struct maker *m = log->arg;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	if (m->own)
		m->failures += hyphae_scope_enter(m->own) != 0;
	m->made = hyphae_int64_new(m->world->graph, 7);
	if (m->own)
		m->failures += hyphae_scope_leave(m->own) != 0;
	return 0;
}

static struct hyphae_scope *write_in_a_scope(struct world *w,
					     struct hyphae_cell *cell)
{
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);

	assert_int_equal(hyphae_scope_enter(scope), 0);
	put(cell, 2);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	return scope;
}

static void d_of_the_scope_of_who_writes(void **state)
{
	struct world *w = *state;
	struct maker m = {.world = w};
	struct hyphae_cell *cell = source(w, 1);
	struct hyphae_scope *scope;

	follow_with(w, cell, make_one, &m, HYPHAE_SKIP_INITIAL);
	scope = write_in_a_scope(w, cell);
	assert_int_equal(value(m.made), 7);
	assert_int_equal(hyphae_cell_unref(m.made), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_null(hyphae_cell_ref(m.made));
	put(cell, 3);
	assert_int_equal(hyphae_cell_unref(m.made), 0);
}

static void d_of_its_own_scope(void **state)
{
	struct world *w = *state;
	struct maker m = {.world = w, .own = hyphae_scope_new(w->graph)};
	struct hyphae_cell *cell = source(w, 1);
	struct hyphae_scope *scope;

	follow_with(w, cell, make_one, &m, HYPHAE_SKIP_INITIAL);
	scope = write_in_a_scope(w, cell);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(value(m.made), 7);
	assert_int_equal(hyphae_scope_dispose(m.own), 0);
	assert_int_equal(hyphae_cell_unref(m.made), -ESTALE);
	assert_int_equal(m.failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(d_of_the_scope_of_who_writes),
		CASE(d_of_its_own_scope),
	};

	return cmocka_run_group_tests_name("scope of calls", tests, NULL, NULL);
}
