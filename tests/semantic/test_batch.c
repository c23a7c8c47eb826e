/* SPDX-License-Identifier: MIT */
/* Group BT: batches, nesting, reads inside a batch. */
#include <errno.h>

#include "fixture.h"

FN(twice, in[0] * 2);
FN(sum, in[0] + in[1]);

static void bt01_last_value_wins(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	put(a, 1);
	put(a, 2);
	put(a, 3);
	assert_log(seen, "0");
	end_batch(w);
	assert_log(seen, "0,3");
}

static void bt02_nested(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	put(a, 1);
	begin_batch(w);
	put(a, 2);
	end_batch(w);
	assert_log(seen, "0");
	put(a, 3);
	end_batch(w);
	assert_log(seen, "0,3");
}

static void bt03_there_and_back(void **state)
{
	static const int64_t away[] = {5, -1, 1000};
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *c = derive(w, twice, a);
	struct log *a_seen = follow(w, a);
	struct log *c_seen = follow(w, c->cell);
	size_t i;

	begin(w);
	for (i = 0; i < 3; i++) {
		begin_batch(w);
		put(a, away[i]);
		assert_true(hyphae_int64_set(a, 0) >= 0);
		end_batch(w);
		assert_int_equal(value(a), 0);
		assert_int_equal(value(c->cell), 0);
	}
	assert_log(a_seen, "0");
	assert_log(c_seen, "0");
	assert_int_equal(c->runs, 0);
	put(a, 1);
	assert_log(a_seen, "0,1");
	assert_log(c_seen, "0,2");
	assert_int_equal(c->runs, 1);
}

static void bt04_different_sources_same_result(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct node *c = derive(w, sum, a, b);
	struct log *seen = follow(w, c->cell);

	begin(w);
	begin_batch(w);
	put(a, 1);
	put(b, -1);
	end_batch(w);
	assert_int_equal(c->runs, 1);
	assert_log(seen, "0");
}

static void bt05_read_your_writes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);

	begin_batch(w);
	put(a, 1);
	assert_int_equal(value(a), 1);
	put(a, 2);
	assert_int_equal(value(a), 2);
	end_batch(w);
	assert_int_equal(value(a), 2);
}

static void bt06_derived_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, twice, a);
	struct log *seen = follow(w, b->cell);

	begin_batch(w);
	put(a, 5);
	assert_int_equal(value(b->cell), 0);
	end_batch(w);
	assert_int_equal(value(b->cell), 10);
	begin_batch(w);
	put(a, 6);
	assert_int_equal(value(b->cell), 10);
	assert_int_equal(hyphae_settle(w->graph), 0);
	assert_int_equal(value(b->cell), 12);
	assert_log(seen, "0,10,12");
	put(a, 7);
	assert_log(seen, "0,10,12");
	end_batch(w);
	assert_log(seen, "0,10,12,14");
	assert_int_equal(hyphae_settle(w->graph), 0);
	assert_log(seen, "0,10,12,14");
}

struct failing {
	struct world *world;
	struct hyphae_cell *cell;
};

static int write_and_fail(void *ctx)
{
	struct failing *failing = ctx;
	int r = hyphae_int64_set(failing->cell, 4);

	return r < 0 ? r : -EIO;
}

static void bt07_bad_end_still_closes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct failing failing = {w, a};
	struct log *seen = follow(w, a);

	assert_int_equal(hyphae_batch(w->graph, write_and_fail, &failing),
			 -EIO);
	assert_log(seen, "0,4");
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	put(a, 9);
	assert_log(seen, "0,4,9");
}

static void bt08_unbalanced(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	assert_int_equal(hyphae_batch_end(w->graph), -EINVAL);
	put(a, 1);
	assert_log(seen, "0,1");
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	begin_batch(w);
	assert_int_equal(hyphae_graph_check_idle(w->graph), -EBUSY);
	end_batch(w);
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
	assert_int_equal(hyphae_batch_end(w->graph), -EINVAL);
}

static void bt10_unsubscribe_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	put(a, 1);
	stop(seen);
	end_batch(w);
	assert_log(seen, "0");
	assert_int_equal(live_subs(w), 0);
}

static void bt10_drop_derived_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, twice, a);

	begin(w);
	begin_batch(w);
	put(a, 1);
	let_go(w, b->cell);
	put(a, 2);
	end_batch(w);
	assert_int_equal(b->runs, 0);
	assert_int_equal(b->drops, 1);
	assert_int_equal(targets(a), 0);
}

/* The written source itself goes: what follows it is told nothing wrong. */
static void bt10_drop_source_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *seen = follow(w, b);

	begin_batch(w);
	put(a, 1);
	put(b, 1);
	let_go(w, a);
	end_batch(w);
	assert_log(seen, "0,1");
	assert_int_equal(live_cells(w), 1);
}

/* The last reference to log->arg goes; log->code tells that, and a read. */
static int give_back(struct log *log, const struct hyphae_signal *signal)
{
	int64_t value = -1;

	(void)signal;
	log->code = hyphae_cell_unref(log->arg);
	log->number = hyphae_int64_get(log->arg, &value);
	return 0;
}

/*
 * A cell that the batch has written goes in its wave.  Until the propagation is
 * over the batch may hold it or not; then it has gone, either way.
 */
static void bt10_drop_source_in_the_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = hyphae_int64_new(w->graph, 0);
	struct log *seen = follow(w, a);
	int64_t value;

	seen->arg = b;
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	seen->hook = give_back;
	end_batch(w);
	seen->hook = NULL;
	assert_log(seen, "0,1");
	assert_int_equal(seen->code, 0);
	assert_true(seen->number == 0 || seen->number == -ESTALE);
	assert_int_equal(hyphae_int64_get(b, &value), -ESTALE);
	assert_int_equal(hyphae_cell_unref(b), -ESTALE);
	assert_int_equal(live_cells(w), 1);
}

static void bt11_graph_dies_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	put(a, 1);
	assert_int_equal(hyphae_graph_free(w->graph), -EBUSY);
	put(a, 2);
	end_batch(w);
	assert_log(seen, "0,2");
}

static int note_equal(struct log *log, const struct hyphae_signal *signal)
{
	int64_t other = -1;

	log->code = hyphae_int64_get(log->arg, &other);
	note(log, other == hyphae_int64_of(signal) ? "equal" : "apart");
	return 0;
}

static void bt13_never_apart(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *i = source(w, 0);
	struct hyphae_cell *j = source(w, 0);
	struct log *seen = follow_with(w, i, note_equal, j, 0);

	begin_batch(w);
	put(i, 2);
	put(j, 2);
	end_batch(w);
	assert_log(seen, "0,equal,2,equal");
}

/* A cell made in a batch sees what the batch has written to its input. */
static void bt14_made_inside(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b;
	struct log *seen;

	begin_batch(w);
	put(a, 2);
	b = derive(w, twice, a);
	seen = follow(w, b->cell);
	end_batch(w);
	assert_int_equal(value(b->cell), 4);
	put(a, 3);
	assert_int_equal(value(b->cell), 6);
	/* It may start from either value, but it ends on the right one. */
	assert_int_equal(seen->text[seen->length - 1], '6');
}

/* Batches in two graphs on one thread, ended in either order. */
static void bt16_two_graphs(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *other = hyphae_graph_new(0);
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = hyphae_int64_new(other, 0);
	struct node *d = derive(w, twice, a);
	int turn;

	for (turn = 1; turn <= 2; turn++) {
		begin_batch(w);
		assert_int_equal(hyphae_batch_begin(other), 0);
		put(a, turn);
		put(b, turn);
		assert_int_equal(value(d->cell), 2 * (turn - 1));
		if (turn == 1)
			assert_int_equal(hyphae_batch_end(other), 0);
		end_batch(w);
		if (turn == 2)
			assert_int_equal(hyphae_batch_end(other), 0);
		assert_int_equal(value(d->cell), 2 * turn);
		assert_int_equal(value(b), turn);
	}
	assert_int_equal(hyphae_graph_free(other), 0);
}

/* An empty batch does nothing. */
static void bt15_empty(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	end_batch(w);
	assert_log(seen, "0");
	assert_int_equal(hyphae_settle(w->graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(bt01_last_value_wins),
		CASE(bt02_nested),
		CASE(bt03_there_and_back),
		CASE(bt04_different_sources_same_result),
		CASE(bt05_read_your_writes),
		CASE(bt06_derived_inside),
		CASE(bt07_bad_end_still_closes),
		CASE(bt08_unbalanced),
		CASE(bt10_unsubscribe_inside),
		CASE(bt10_drop_derived_inside),
		CASE(bt10_drop_source_inside),
		CASE(bt10_drop_source_in_the_wave),
		CASE(bt11_graph_dies_inside),
		CASE(bt13_never_apart),
		CASE(bt14_made_inside),
		CASE(bt15_empty),
		CASE(bt16_two_graphs),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
