/* SPDX-License-Identifier: MIT */
/*
 * Random programs of subscriptions against a model.
 *
 * Two sources and their sum have subscriptions with random options, and there
 * are effects that read them.  What is done to these (subscribe, pause, resume,
 * block, unblock, unsubscribe, write, end a source, make an effect, make, enter,
 * leave and dispose a scope) is done between waves, and by subscribers, effects,
 * clean-ups and what a scope calls, too: both sides draw the same numbers in
 * the same order.  Both write down each call with its value and the previous
 * one, each clean-up, each drop and each code; the two stories must be the
 * same, and so must what follows each cell, and what effects follow.
 *
 * In an eager graph half of the programs write in batches: these are waves
 * there, too.  In the others writes are bare, so who is called when and how
 * often is not defined: callbacks do nothing, and what each was called with
 * last, and what has ended, must be the same.
 * In a lazy one the sum is idle, and what effects make is woken by them.
 *
 * SEED=n starts from another seed; STEPS=n sets the number of steps.
 */
#include <setjmp.h>

#include "model_effect_library.h"
#include "model_effect_model.h"
#include "tests/lib/run.h"

/* A batch: both sources, and perhaps the end of one. */
static void batch(void)
{
	int64_t a = draw(&told, 4), b = draw(&told, 4);
	bool ends = draw(&told, 40) == 0;
	enum cell c = draw(&told, 2) ? A : B;
	int r;

	assert_int_equal(hyphae_batch_begin(graph), 0);
	hyphae_int64_set(cells[A], a);
	hyphae_int64_set(cells[B], b);
	if (ends)
		hyphae_cell_complete(cells[c]);
	/* The same numbers for the other side, which begins behind them. */
	foretold.random = told.random;
	r = hyphae_batch_end(graph);
	if (!mcells[A].ended)
		m_change(A, a);
	if (!mcells[B].ended)
		m_change(B, b);
	if (ends && !mcells[c].ended) {
		mcells[c].ended = true;
		mcells[c].news |= END;
	}
	busy = true;
	m_wave();
	busy = false;
	m_settle();
	assert_int_equal(r, failed);
}

static void compare(unsigned long step)
{
	int i;

	for (i = 0; i < told.count || i < foretold.count; i++) {
		struct event x = {'-', 0, 0, 0}, y = x;

		if (i < told.count)
			x = told.events[i];
		if (i < foretold.count)
			y = foretold.events[i];
		if (x.kind != y.kind || x.sub != y.sub || x.value != y.value ||
		    x.previous != y.previous)
			fail_msg("SEED=%llu, step %lu, event %d: "
				 "%c %d %lld %lld, but it should be "
				 "%c %d %lld %lld",
				 (unsigned long long)seed, step, i, x.kind,
				 x.sub, (long long)x.value,
				 (long long)x.previous, y.kind, y.sub,
				 (long long)y.value, (long long)y.previous);
	}
	assert_true(told.count < MAX_EVENTS);
	assert_int_equal(told.next_sub, foretold.next_sub);
	assert_int_equal(told.random, foretold.random);
	assert_int_equal(reentered, 0);
}

/* ---- depth first: only what it comes to --------------------------------------- */

/* What each was called with last. */
static struct {
	char kind; /* V, C or 0: not at all */
	int64_t value;
	bool owes, dropped;
} last[2][MAX_SUBS];

static bool is_of_sub(char kind)
{
	return kind == 'V' || kind == 'C' || kind == 'X' || kind == 'D';
}

/* Each call is cleaned up after once; it is told what it was told last. */
static bool note(int side, const struct event *e)
{
	char had = last[side][e->sub].kind;
	bool owes = last[side][e->sub].owes;

	if (last[side][e->sub].dropped)
		return false;
	if (e->kind == 'D')
		last[side][e->sub].dropped = true;
	if (e->kind == 'D' || e->kind == 'X') {
		last[side][e->sub].owes = false;
		return owes == (e->kind == 'X');
	}
	if (e->previous != NONE && had == 'V' &&
	    e->previous != last[side][e->sub].value)
		return false;
	last[side][e->sub].kind = e->kind;
	if (e->kind == 'V')
		last[side][e->sub].value = e->value;
	last[side][e->sub].owes = msubs[e->sub].cleanup;
	return !owes;
}

/* The next event of a story that is none of a subscription's. */
static const struct event *next_deed(struct story *story, int side, int *at,
				     unsigned long step)
{
	static const struct event none = {'-', 0, 0, 0};

	for (; *at < story->count; ++*at) {
		const struct event *e = &story->events[*at];

		if (!is_of_sub(e->kind)) {
			++*at;
			return e;
		}
		if (!note(side, e))
			fail_msg("SEED=%llu, step %lu: %c of %d out of turn",
				 (unsigned long long)seed, step, e->kind,
				 e->sub);
	}
	return &none;
}

/* A call in between may have failed where the last one did not. */
static bool same_deed(const struct event *x, const struct event *y)
{
	return x->kind == y->kind && x->sub == y->sub && x->value == y->value &&
	       (x->previous == y->previous ||
		(x->kind == 'W' && y->previous == 0 && x->previous == -EIO));
}

/* One that was held back may be told what the cell had on the way, and has. */
static bool same_last(int sub)
{
	if (last[0][sub].dropped != last[1][sub].dropped ||
	    last[0][sub].owes != last[1][sub].owes)
		return false;
	if (last[0][sub].kind == last[1][sub].kind &&
	    last[0][sub].value == last[1][sub].value)
		return true;
	return last[0][sub].kind == 'V' && !msubs[sub].effect &&
	       last[0][sub].value == mcells[msubs[sub].cell].value;
}

static void compare_ends(unsigned long step)
{
	int i = 0, k = 0;

	for (;;) {
		const struct event *x = next_deed(&told, 0, &i, step);
		const struct event *y = next_deed(&foretold, 1, &k, step);

		if (!same_deed(x, y))
			fail_msg("SEED=%llu, step %lu: %c %d %lld %lld, "
				 "but it should be %c %d %lld %lld",
				 (unsigned long long)seed, step, x->kind,
				 x->sub, (long long)x->value,
				 (long long)x->previous, y->kind, y->sub,
				 (long long)y->value, (long long)y->previous);
		if (x->kind == '-')
			break;
	}
	for (int sub = 0; sub < foretold.next_sub; sub++)
		if (!same_last(sub))
			fail_msg("SEED=%llu, step %lu: %d was told %c %lld "
				 "last, but it should be %c %lld",
				 (unsigned long long)seed, step, sub,
				 last[0][sub].kind ? last[0][sub].kind : '-',
				 (long long)last[0][sub].value,
				 last[1][sub].kind ? last[1][sub].kind : '-',
				 (long long)last[1][sub].value);
	assert_true(told.count < MAX_EVENTS);
	assert_int_equal(told.next_sub, foretold.next_sub);
	assert_int_equal(told.random, foretold.random);
	assert_int_equal(reentered, 0);
}

struct inputs {
	enum cell order[CELLS + 1];
	int count;
};

/* A lazy one is idle, unless an effect reads it. */
static bool is_in_scope(int cell_made)
{
	return !lazy && cell_made >= 0 && mheld[cell_made];
}

static int note_input(struct hyphae_cell *cell, void *ctx)
{
	struct inputs *inputs = ctx;
	enum cell c = A;

	while (c < CELLS && cells[c] != cell)
		c++;
	if (inputs->count <= CELLS)
		inputs->order[inputs->count] = c;
	inputs->count++;
	return 0;
}

/* An effect follows what it read, in the order of reading. */
static void compare_inputs(int sub)
{
	struct hyphae_cell *cell = hyphae_subscription_cell(subs[sub].handle);
	struct inputs inputs = {.count = 0};
	bool same;

	assert_non_null(cell);
	assert_int_equal(hyphae_cell_each_input(cell, note_input, &inputs), 0);
	hyphae_cell_unref(cell);
	same = inputs.count == msubs[sub].nread;
	for (int i = 0; same && i < inputs.count; i++)
		same = inputs.order[i] == msubs[sub].order[i];
	if (!same)
		fail_msg("SEED=%llu: effect %d follows %d cells, not %d, "
			 "or in another order",
			 (unsigned long long)seed, sub, inputs.count,
			 msubs[sub].nread);
}

static void compare_counts(void)
{
	size_t alive[CELLS + 1] = {0}, followers[CELLS] = {0};
	int i;

	for (i = 0; i < foretold.next_sub; i++) {
		alive[msubs[i].cell] += !msubs[i].dead;
		for (int c = 0; c < CELLS && !msubs[i].dead; c++)
			followers[c] += (msubs[i].reads & 1u << c) != 0;
		followers[A] += msubs[i].made && !msubs[i].dead &&
				!is_in_scope(msubs[i].cell_made);
	}
	for (i = 0; i < nmade; i++)
		followers[A] += is_in_scope(i);
	/* The sum follows both, unless there is nobody who would hear it. */
	if (!mcells[SUM].ended && (!lazy || alive[SUM] || followers[SUM])) {
		followers[A]++;
		followers[B]++;
	}
	for (i = 0; i < CELLS; i++) {
		struct hyphae_cell_info info;

		assert_int_equal(hyphae_cell_info(cells[i], &info), 0);
		assert_int_equal(info.subscriptions, alive[i]);
		if (!mcells[i].ended && info.targets != alive[i] + followers[i])
			fail_msg("SEED=%llu: cell %d has %zu targets, "
				 "but it should have %zu",
				 (unsigned long long)seed, i,
				 (size_t)info.targets, alive[i] + followers[i]);
	}
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
}

static void step(unsigned long number)
{
	told.count = foretold.count = 0;
	told.deeds = foretold.deeds = DEEDS_A_STEP;
	foretold.random = told.random;
	failed = 0;
	if (draw(&told, 3) == 0) {
		batch();
	} else {
		draw(&foretold, 3);
		do_something(&library, false);
		do_something(&model, false);
	}
	if (bare)
		compare_ends(number);
	else
		compare(number);
	compare_counts();
	for (int i = 0; number % 8 == 0 && i < foretold.next_sub; i++)
		if (msubs[i].effect && !msubs[i].dead)
			compare_inputs(i);
}

static void program(unsigned int flags)
{
	unsigned long i;
	int c;

	graph = hyphae_graph_new(flags);
	eager = flags & HYPHAE_EAGER;
	lazy = flags & HYPHAE_LAZY;
	memset(&told, 0, sizeof(told));
	memset(&foretold, 0, sizeof(foretold));
	memset(mcells, 0, sizeof(mcells));
	memset(next, 0, sizeof(next));
	memset(last, 0, sizeof(last));
	ndead = nburied = nmade = 0;
	bare = eager && seed % 2;
	turn = last_turn = -1;
	told.random = seed * 0x9e3779b97f4a7c15u + 1;
	cells[A] = hyphae_int64_new(graph, 0);
	cells[B] = hyphae_int64_new(graph, 0);
	cells[SUM] = hyphae_combine(cells, 2, &hyphae_int64, add, NULL);
	for (i = 0; i < STEPS_A_PROGRAM; i++)
		step(i);
	told.deeds = 0;
	while (told.nentered)
		hyphae_scope_leave(
			scopes[told.entered[--told.nentered]].handle);
	for (c = 0; c < told.next_sub; c++)
		hyphae_unsubscribe(subs[c].handle);
	for (c = 0; c < CELLS; c++) {
		assert_int_equal(hyphae_unsubscribe_all(cells[c]), 0);
		assert_int_equal(hyphae_cell_unref(cells[c]), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void programs(unsigned int flags)
{
	unsigned long steps = test_number("STEPS", DEFAULT_STEPS), done;
	uint64_t first = test_number("SEED", 1);

	for (done = 0; done < steps; done += STEPS_A_PROGRAM) {
		seed = first + done / STEPS_A_PROGRAM;
		program(flags);
	}
}

static void shared(void **state)
{
	(void)state;
	programs(0);
}

static void single_thread(void **state)
{
	(void)state;
	programs(HYPHAE_SINGLE_THREAD);
}

static void in_waves_of_an_eager_graph(void **state)
{
	(void)state;
	programs(HYPHAE_EAGER);
}

static void lazy_graph(void **state)
{
	(void)state;
	programs(HYPHAE_LAZY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared),
		cmocka_unit_test(single_thread),
		cmocka_unit_test(in_waves_of_an_eager_graph),
		cmocka_unit_test(lazy_graph),
	};

	return cmocka_run_group_tests_name("model of subscriptions", tests,
					   NULL, NULL);
}
