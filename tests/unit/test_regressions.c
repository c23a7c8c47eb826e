/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by reading the sources, each held fixed by the
 * behaviour that was wrong.  The comment of a test says which fault it was.
 * Those that need threads are in test_thread_regressions.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "binary.h"
#include "core/probe.h"
#include "core/types.h"
#include "core/watch.h"

struct pair {
	int64_t a, b;
};
HYPHAE_TYPE(pair, struct pair);

struct large {
	int64_t parts[64];
};
HYPHAE_TYPE(large, struct large);

static int to_pair(void *ret, const void *input, void *ctx)
{
	struct pair *pair = ret;

	(void)ctx;
	pair->a = *(const int64_t *)input;
	return 0;
}

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

/* The input, or -EIO if it is negative. */
static int positive(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)input < 0)
		return -EIO;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int all(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

static int none(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 0;
}

static void count(void *ctx)
{
	++*(unsigned int *)ctx;
}

static int count_calls(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static int64_t value(struct hyphae_cell *cell)
{
	int64_t held = -1;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	return held;
}

/* What a subscriber is told, as text: "7 end", "error -5", "8 9". */
struct told {
	char text[128];
};

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;
	size_t at = strlen(told->text);
	char *to = told->text + at;
	size_t room = sizeof(told->text) - at;
	const char *blank = at ? " " : "";

	if (signal->kind == HYPHAE_VALUE)
		snprintf(to, room, "%s%lld", blank,
			 (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_COMPLETE)
		snprintf(to, room, "%send", blank);
	else
		snprintf(to, room, "%serror %d%s", blank, signal->code,
			 signal->terminal ? " for good" : "");
	return 0;
}

/* ---- a loop that is stopped ------------------------------------------------ */

struct token {
	int64_t n; /* -1: dropped */
};
extern const struct hyphae_type token_type;

static struct hyphae_cell *token_cell; /* that drop looks at */
static int64_t token_seen;

static int token_copy(void *to, const void *from)
{
	*(struct token *)to = *(const struct token *)from;
	return 0;
}

static void token_drop(void *value)
{
	struct hyphae_cell *cell = token_cell;
	struct token held;

	((struct token *)value)->n = -1;
	if (!cell)
		return;
	token_cell = NULL; /* not in the drop of what we read */
	if (hyphae_cell_get(cell, &token_type, &held) == 0)
		token_seen = held.n;
	token_cell = cell;
}

HYPHAE_TYPE_WITH(token, struct token, .copy = token_copy, .drop = token_drop);

static int one_more(const struct hyphae_signal *signal, void *ctx)
{
	return token_set(ctx, (struct token){token_of(signal)->n + 1});
}

/*
 * The write that the wave limit drops could still be read while its value was
 * being dropped: get() copied a value that was gone.
 */
static void dropped_write_of_a_loop_cannot_be_read(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell =
		token_new_at(graph, (struct token){0}, HYPHAE_HERE);

	(void)state;
	assert_int_equal(hyphae_graph_set_wave_limit(graph, 3), 0);
	assert_non_null(hyphae_subscribe_with(cell, one_more, cell, NULL,
					      HYPHAE_SKIP_INITIAL));
	token_cell = cell;
	assert_int_equal(token_set(cell, (struct token){1}), -ELOOP);
	token_cell = NULL;
	assert_int_equal(token_seen, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- boxes ---------------------------------------------------------------- */

/*
 * The first box of a derived cell did not know its home, so it was freed when
 * it was replaced, and the second wave had to ask for another one.
 */
static void no_wave_of_a_boxed_cell_allocates(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *map = hyphae_map(source, &pair_type, to_pair, NULL);
	unsigned long before = hy_alloc_count();
	struct pair held;
	int64_t i;

	(void)state;
	for (i = 2; i < 9; i++)
		assert_int_equal(hyphae_int64_set(source, i), 0);
	assert_int_equal(hy_alloc_count() - before, 0);
	assert_int_equal(pair_get(map, &held), 0);
	assert_int_equal(held.a, 8);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same fault, with no memory: the cell held -ENOMEM. */
static void second_wave_of_a_boxed_cell_needs_no_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *map = hyphae_map(source, &pair_type, to_pair, NULL);
	struct pair held = {0};
	int r;

	(void)state;
	assert_int_equal(hyphae_int64_set(source, 2), 0);
	hy_alloc_fail_after(1);
	r = hyphae_int64_set(source, 3);
	hy_alloc_fail_after(0);
	assert_int_equal(r, 0);
	assert_int_equal(pair_get(map, &held), 0);
	assert_int_equal(held.a, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A box went home by the handle of its cell only, which fits another cell
 * once in 65,536 times: a small box became the spare one of a cell of large
 * values.
 */
static void box_does_not_go_home_to_cells_of_another_size(void **state)
{
	static struct large large;
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct pair pair = {1, 2};
	struct hyphae_cell *source = pair_new_at(graph, pair, "");
	struct hyphae_cell *filter = hyphae_filter(source, all, NULL);
	struct hyphae_cell *home = source, *other;
	unsigned int i;

	(void)state;
	assert_int_equal(hyphae_cell_complete(source), 0);
	assert_int_equal(hyphae_cell_unref(source), 0);
	for (i = 0; i < 70000; i++) {
		other = large_new_at(graph, large, "");
		if (other == home)
			break;
		assert_int_equal(hyphae_cell_unref(other), 0);
	}
	assert_ptr_equal(other, home);
	/* The last that has the box. */
	assert_int_equal(hyphae_cell_unref(filter), 0);
	assert_null(hy_cold_of(hy_cell(other))->spare);
	large.parts[63] = 7;
	assert_int_equal(large_set(other, large), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The first call took the address of a value that is not there: UBSan judges. */
static void subscribing_to_a_boxed_cell_without_a_value(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_string_new(graph, "spore");
	struct hyphae_cell *filter = hyphae_filter(source, none, NULL);
	unsigned int calls = 0;

	(void)state;
	assert_non_null(hyphae_subscribe(filter, count_calls, &calls));
	assert_int_equal(calls, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- scopes ----------------------------------------------------------------- */

struct family {
	struct hyphae_scope *parent, *child, *entered;
	int disposed, entering;
};

static void dispose_parent(void *ctx)
{
	struct family *family = ctx;

	family->disposed = hyphae_scope_dispose(family->parent);
}

static void dispose_parent_and_enter_child(void *ctx)
{
	struct family *family = ctx;

	family->disposed = hyphae_scope_dispose(family->parent);
	family->entering = hyphae_scope_enter(family->child);
	if (family->entering == 0)
		hyphae_scope_leave(family->child);
}

static void make_family(struct family *family, struct hyphae_graph *graph)
{
	family->parent = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_enter(family->parent), 0);
	family->child = hyphae_scope_new(graph);
	family->entered = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_leave(family->parent), 0);
	family->disposed = family->entering = 1;
}

/*
 * The parent's disposal went down into a child that was being disposed and
 * freed it; then the child's own went on in it, and freed it again.
 */
static void parent_waits_for_child_that_is_being_disposed(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *a, *b, *c;
	struct family family;

	(void)state;
	make_family(&family, graph);
	assert_int_equal(
		hyphae_scope_on_dispose(family.child, dispose_parent, &family),
		0);
	assert_int_equal(hyphae_scope_dispose(family.child), 0);
	assert_int_equal(family.disposed, -EBUSY);
	assert_int_equal(hyphae_scope_dispose(family.child), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(family.parent), 0);
	assert_int_equal(hyphae_scope_dispose(family.entered), -ESTALE);
	/* No slot is free twice. */
	a = hyphae_scope_new(graph);
	b = hyphae_scope_new(graph);
	c = hyphae_scope_new(graph);
	assert_true(a != b && b != c && a != c);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A disposal that was refused took back the marks of a child that somebody
 * else was disposing, which then could be entered.
 */
static void refused_disposal_leaves_that_of_a_child_alone(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct family family;

	(void)state;
	make_family(&family, graph);
	assert_int_equal(hyphae_scope_on_dispose(family.child,
						 dispose_parent_and_enter_child,
						 &family),
			 0);
	assert_int_equal(hyphae_scope_enter(family.entered), 0);
	assert_int_equal(hyphae_scope_dispose(family.child), 0);
	assert_int_equal(family.disposed, -EBUSY);
	assert_int_equal(family.entering, -ESTALE);
	assert_int_equal(hyphae_scope_leave(family.entered), 0);
	assert_int_equal(hyphae_scope_dispose(family.parent), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int detach_at_two(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	return hyphae_int64_of(signal) == 2 ? HYPHAE_DETACH : 0;
}

/*
 * A scope remembered what is in it by handles, which fit another object once
 * in 65,536 times: it ended a stranger's subscription.
 */
static void scope_does_not_end_a_strangers_subscription(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_subscription *own, *other = NULL;
	unsigned int calls = 0, i;

	(void)state;
	assert_int_equal(hyphae_scope_enter(scope), 0);
	own = hyphae_subscribe(cell, detach_at_two, NULL);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_int_equal(hyphae_subscription_id(own), 0);
	for (i = 0; i < 70000; i++) {
		calls = 0;
		other = hyphae_subscribe(cell, count_calls, &calls);
		if (other == own)
			break;
		assert_int_equal(hyphae_unsubscribe(other), 0);
	}
	assert_ptr_equal(other, own);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_not_equal(hyphae_subscription_id(other), 0);
	assert_int_equal(hyphae_int64_set(cell, 3), 0);
	assert_int_equal(calls, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same with a child scope, which was disposed as if it were ours. */
static void scope_does_not_dispose_a_stranger(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *parent = hyphae_scope_new(graph);
	struct hyphae_scope *child, *other = NULL;
	unsigned int i;

	(void)state;
	assert_int_equal(hyphae_scope_enter(parent), 0);
	child = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_leave(parent), 0);
	assert_int_equal(hyphae_scope_dispose(child), 0);
	for (i = 0; i < 70000; i++) {
		other = hyphae_scope_new(graph);
		if (other == child)
			break;
		assert_int_equal(hyphae_scope_dispose(other), 0);
	}
	assert_ptr_equal(other, child);
	assert_int_equal(hyphae_scope_dispose(parent), 0);
	assert_int_equal(hyphae_scope_enter(other), 0);
	assert_int_equal(hyphae_scope_leave(other), 0);
	assert_int_equal(hyphae_scope_dispose(other), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- the end of a graph ------------------------------------------------------ */

static char order[16];

static void note(void *ctx)
{
	strncat(order, ctx, sizeof(order) - strlen(order) - 1);
}

struct reader {
	struct hyphae_cell *cell;
	int64_t value;
	int result;
};

static void read_cell(void *ctx)
{
	struct reader *reader = ctx;

	reader->result = hyphae_int64_get(reader->cell, &reader->value);
}

/*
 * Functions of on_dispose were not called when the graph was freed, and what
 * they own leaked.
 */
static void freeing_a_graph_disposes_its_scopes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_scope *outer = hyphae_scope_new(graph), *inner;
	struct reader reader = {hyphae_int64_new(graph, 5), 0, 1};

	(void)state;
	order[0] = '\0';
	assert_int_equal(hyphae_scope_on_dispose(outer, note, "a"), 0);
	assert_int_equal(hyphae_scope_enter(outer), 0);
	inner = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_on_dispose(inner, note, "b"), 0);
	assert_int_equal(hyphae_scope_on_dispose(inner, read_cell, &reader), 0);
	assert_int_equal(hyphae_scope_on_dispose(inner, note, "c"), 0);
	assert_int_equal(hyphae_scope_on_dispose(outer, note, "d"), 0);
	/* Not while one is entered; then nothing has happened. */
	assert_int_equal(hyphae_graph_free(graph), -EBUSY);
	assert_string_equal(order, "");
	assert_int_equal(hyphae_scope_leave(outer), 0);

	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_string_equal(order, "dcba");
	/* The graph is still whole then. */
	assert_int_equal(reader.result, 0);
	assert_int_equal(reader.value, 5);
	assert_int_equal(hyphae_scope_enter(outer), -ESTALE);
}

struct intruder {
	struct hyphae_scope *scope;
	int result;
};

static void enter(void *ctx)
{
	struct intruder *intruder = ctx;

	intruder->result = hyphae_scope_enter(intruder->scope);
}

/*
 * A drop function could enter a scope of the graph that was being freed; the
 * thread was in it for ever, and owned the next graph's cells with it.
 */
static void scopes_of_a_graph_that_is_freed_cannot_be_entered(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct intruder intruder = {hyphae_scope_new(graph), 1};
	struct hyphae_graph *next;
	struct hyphae_scope *scope;

	(void)state;
	assert_int_equal(hyphae_cell_own(cell, &intruder, enter), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(intruder.result, -ESTALE);

	next = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	scope = hyphae_scope_new(next);
	cell = hyphae_int64_new(next, 3);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(value(cell), 3);
	assert_int_equal(hyphae_graph_free(next), 0);
}

struct heir {
	struct hyphae_cell *input;
	unsigned int drops;
};

static int derive(const struct hyphae_signal *signal, void *ctx)
{
	struct heir *heir = ctx;

	(void)signal;
	hyphae_map(heir->input, &hyphae_int64, positive, NULL);
	return 0;
}

static void count_drop(void *ctx)
{
	((struct heir *)ctx)->drops++;
}

/*
 * A cell that a subscriber made from one that holds an error was queued, and
 * a set left it there.  Freeing the graph then stopped at the queue and
 * released nothing: no drop function was called.
 */
static void set_computes_what_its_subscribers_made(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, -1);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct heir heir = {
		.input = hyphae_map(source, &hyphae_int64, positive, NULL)};

	(void)state;
	assert_int_equal(hyphae_cell_own(source, &heir, count_drop), 0);
	assert_int_equal(hyphae_cell_set_name(source, "substrate"), 0);
	assert_non_null(hyphae_subscribe_with(trigger, derive, &heir,
					      count_drop, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
	assert_int_equal(hy_graph(graph)->queue.count, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(heir.drops, 2);
}

/* ---- subscribers ----------------------------------------------------------------- */

struct latecomer {
	struct hyphae_cell *source;
	struct told told;
	bool done;
};

static int subscribe_at_seven(void *ret, const void *input, void *ctx)
{
	struct latecomer *late = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	if (*(const int64_t *)input == 7 && !late->done) {
		late->done = true;
		hyphae_subscribe(late->source, write_down, &late->told);
	}
	return 0;
}

/*
 * Who subscribed while the wave of the end was under way was told the end at
 * once and again by that wave.
 */
static void end_is_told_once_to_who_subscribes_in_its_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct latecomer late = {.source = hyphae_int64_new(graph, 1)};
	struct hyphae_graph_counts counts;
	struct told first = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(late.source, write_down, &first));
	hyphae_map(late.source, &hyphae_int64, subscribe_at_seven, &late);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(late.source, 7), 0);
	assert_int_equal(hyphae_cell_complete(late.source), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(first.text, "1 7 end");
	assert_string_equal(late.told.text, "7 end");
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.subscriptions, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same for a failure. */
static void failure_is_told_once_to_who_subscribes_in_its_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 1);
	struct latecomer late = {.source = hyphae_int64_new(graph, 1)};
	struct told first = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(late.source, write_down, &first));
	hyphae_map(trigger, &hyphae_int64, subscribe_at_seven, &late);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_cell_fail(late.source, -EIO, NULL), 0);
	assert_int_equal(hyphae_int64_set(trigger, 7), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(first.text, "1 error -5 for good");
	assert_string_equal(late.told.text, "error -5 for good");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* With HYPHAE_SKIP_INITIAL an ended cell told its value all the same. */
static void who_skips_the_value_of_an_ended_cell_is_told_the_end(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *completed = hyphae_int64_new(graph, 3);
	struct hyphae_cell *failed = hyphae_int64_new(graph, 4);
	struct hyphae_cell *alive = hyphae_map(hyphae_int64_new(graph, -1),
					       &hyphae_int64, positive, NULL);
	struct told told = {""};
	unsigned int counted = 0;

	(void)state;
	assert_int_equal(hyphae_cell_complete(completed), 0);
	assert_int_equal(hyphae_cell_fail(failed, -EIO, "rot"), 0);
	assert_non_null(hyphae_subscribe_with(completed, write_down, &told,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "end");
	told.text[0] = '\0';
	assert_non_null(hyphae_subscribe_with(failed, write_down, &told, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "error -5 for good");
	told.text[0] = '\0';
	/* An error that is not the end is a current value. */
	assert_non_null(hyphae_subscribe_with(alive, write_down, &told, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_string_equal(told.text, "");
	/* And the subscription is over with the end: a call and a drop. */
	assert_non_null(hyphae_subscribe_with(completed, count_calls, &counted,
					      count, HYPHAE_SKIP_INITIAL));
	assert_int_equal(counted, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(counted, 2);
}

/* ---- handles and codes ------------------------------------------------------------- */

/*
 * One unref too many took the reference of a cell that follows; the cell was
 * freed under it.
 */
static void surplus_unref_is_refused_while_others_follow(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 6);
	struct hyphae_cell *map =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hyphae_graph_counts counts;

	(void)state;
	assert_int_equal(hyphae_cell_unref(source), 0);
	assert_int_equal(hyphae_cell_unref(source), -ESTALE);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 2);
	/* Still followed. */
	assert_int_equal(hyphae_int64_set(source, 41), 0);
	assert_int_equal(value(map), 42);
	assert_int_equal(hyphae_cell_unref(map), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* The same with a subscription, and with a write that waits in a batch. */
static void surplus_unref_is_refused_while_subscribed_or_written(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *followed = hyphae_int64_new(graph, 1);
	struct hyphae_cell *written = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts counts;
	struct told told = {""};

	(void)state;
	assert_non_null(hyphae_subscribe(followed, write_down, &told));
	assert_int_equal(hyphae_cell_unref(followed), 0);
	assert_int_equal(hyphae_cell_unref(followed), -ESTALE);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(written, 2), 0);
	assert_int_equal(hyphae_int64_set(followed, 2), 0);
	assert_int_equal(hyphae_cell_unref(written), 0);
	assert_int_equal(hyphae_cell_unref(written), -ESTALE);
	assert_int_equal(hyphae_cell_unref(followed), -ESTALE);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_string_equal(told.text, "1 2");
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct reach {
	struct hyphae_cell *first, *second; /* of two graphs */
	int direct, indirect, afterwards;
};

static int write_first(const struct hyphae_signal *signal, void *ctx)
{
	struct reach *reach = ctx;

	(void)signal;
	reach->indirect = hyphae_int64_set(reach->first, 9);
	return 0;
}

static int write_both(void *ret, const void *input, void *ctx)
{
	struct reach *reach = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	reach->direct = hyphae_int64_set(reach->first, 8);
	hyphae_int64_set(reach->second, *(const int64_t *)input);
	reach->afterwards = hyphae_int64_set(reach->first, 10);
	return 0;
}

static void reach_over(unsigned int flags)
{
	struct hyphae_graph *one = hyphae_graph_new(flags);
	struct hyphae_graph *two = hyphae_graph_new(flags);
	struct reach reach = {hyphae_int64_new(one, 0),
			      hyphae_int64_new(two, 0), 1, 1, 1};
	struct hyphae_cell *input = hyphae_int64_new(one, 5);

	assert_non_null(hyphae_subscribe_with(reach.second, write_first, &reach,
					      NULL, HYPHAE_SKIP_INITIAL));
	assert_non_null(hyphae_map(input, &hyphae_int64, write_both, &reach));
	assert_int_equal(reach.direct, -EPERM);
	assert_int_equal(reach.indirect, -EPERM);
	assert_int_equal(reach.afterwards, -EPERM);
	assert_int_equal(value(reach.first), 0);
	assert_int_equal(value(reach.second), 5);
	assert_int_equal(hyphae_graph_free(one), 0);
	assert_int_equal(hyphae_graph_free(two), 0);
}

/*
 * A compute function could not write to its graph, except by way of another
 * graph's subscriber, if the graphs were shared.
 */
static void compute_cannot_write_by_way_of_another_graph(void **state)
{
	(void)state;
	reach_over(HYPHAE_SINGLE_THREAD);
	reach_over(0);
}

struct released {
	struct hyphae_cell *text, *number;
	int set_text, set_number;
};

static int release_and_set(const struct hyphae_signal *signal, void *ctx)
{
	struct released *released = ctx;

	(void)signal;
	hyphae_cell_unref(released->text);
	hyphae_cell_unref(released->number);
	released->set_text = hyphae_string_set(released->text, "late");
	released->set_number = hyphae_int64_set(released->number, 2);
	return 0;
}

/* A boxed cell that was gone but not yet freed gave -ENOMEM. */
static void boxed_cell_that_waits_to_be_freed_is_stale(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct released released = {hyphae_string_new(graph, "spore"),
				    hyphae_int64_new(graph, 1), 1, 1};

	(void)state;
	assert_non_null(hyphae_subscribe_with(trigger, release_and_set,
					      &released, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(released.set_number, -ESTALE);
	assert_int_equal(released.set_text, -ESTALE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct collector {
	struct hyphae_graph *graph;
	struct hyphae_cell *inputs[2];
	bool again;
};

/* Uses the array again, in which its own inputs were handed over. */
static int collect_again(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	struct collector *collector = ctx;

	(void)count;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] * 10 + *(const int64_t *)inputs[1];
	if (!collector->again) {
		collector->again = true;
		collector->inputs[0] = hyphae_int64_new(collector->graph, 7);
		collector->inputs[1] = NULL;
	}
	return 0;
}

/*
 * The array of inputs was read again when the function had run: a function
 * that used the array for others made the cell follow those, or nothing.
 */
static void function_may_use_the_array_of_inputs_again(void **state)
{
	struct collector collector = {hyphae_graph_new(HYPHAE_SINGLE_THREAD)};
	struct hyphae_cell *a = hyphae_int64_new(collector.graph, 1);
	struct hyphae_cell *b = hyphae_int64_new(collector.graph, 2), *both;

	(void)state;
	collector.inputs[0] = a;
	collector.inputs[1] = b;
	both = hyphae_combine(collector.inputs, 2, &hyphae_int64, collect_again,
			      &collector);
	assert_int_equal(value(both), 12);
	assert_int_equal(hyphae_int64_set(a, 5), 0);
	assert_int_equal(hyphae_int64_set(b, 6), 0);
	assert_int_equal(value(both), 56);
	assert_int_equal(hyphae_graph_free(collector.graph), 0);
}

/* Any negative number was taken for an errno; -INT_MIN is undefined. */
static void codes_beyond_errno_are_refused(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	int64_t held;

	(void)state;
	assert_int_equal(hyphae_cell_fail(cell, INT_MIN, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(cell, -HYPHAE_ERRNO_MAX - 1, "x"),
			 -EINVAL);
	assert_int_equal(value(cell), 1);
	assert_int_equal(hyphae_cell_fail(cell, -HYPHAE_ERRNO_MAX, NULL), 0);
	assert_int_equal(hyphae_int64_get(cell, &held), -HYPHAE_ERRNO_MAX);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- what watchers are told ----------------------------------------------------------- */

/* As a tracer does that attaches. */
static void watch(void)
{
	hy_gate.records = 1;
}

/* Of this thread, emptied by hand so that the next test finds it empty. */
static struct hy_record *records(uint32_t *ret_count)
{
	static struct hy_record copy[HY_BLOCK_RECORDS];
	struct hy_block *block = hy_self.watcher->block;

	hy_gate.records = 0;
	hy_self.watcher->open = NULL;
	*ret_count = block->count;
	memcpy(copy, block->records, block->count * sizeof(copy[0]));
	block->count = block->fires = 0;
	return copy;
}

static uint32_t depth_of(const struct hy_record *records_, uint32_t n,
			 struct hyphae_cell *cell)
{
	while (n--)
		if (HY_RECORD_ID(&records_[n]) == hyphae_cell_id(cell))
			return records_[n].depth;
	return 99;
}

/*
 * In an eager graph a record told the depth of what had fired last, and one
 * more, instead of the cell's.
 */
static void eager_records_tell_the_depth_of_their_cell(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 0);
	struct hyphae_cell *a =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hyphae_cell *b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	struct hyphae_cell *c =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hy_record *told;
	uint32_t n;

	(void)state;
	watch();
	assert_int_equal(hyphae_int64_set(source, 1), 0);
	told = records(&n);
	assert_int_equal(n, 4);
	assert_int_equal(depth_of(told, n, source), 0);
	assert_int_equal(depth_of(told, n, a), 1);
	assert_int_equal(depth_of(told, n, b), 2);
	assert_int_equal(depth_of(told, n, c), 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* A tracer that comes or goes in the middle of a pass. */
struct visit {
	uint16_t records, detail; /* from this call on */
};

static int come_or_go(const struct hyphae_signal *signal, void *ctx)
{
	struct visit *visit = ctx;

	(void)signal;
	hy_gate.records = visit->records;
	hy_gate.detail = visit->detail;
	return 0;
}

/* Set `cell` to `n`, in a batch or bare. */
static void set_in(struct hyphae_graph *graph, bool batched,
		   struct hyphae_cell *cell, int64_t n)
{
	if (batched)
		assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(cell, n), 0);
	if (batched)
		assert_int_equal(hyphae_batch_end(graph), 0);
}

static void look_at_clock(bool batched)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_cell *map =
		hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	struct visit visit = {0, 0};
	const struct hy_record *told;
	unsigned int calls = 0;
	uint32_t n;

	assert_non_null(hyphae_subscribe_with(cell, come_or_go, &visit, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_non_null(hyphae_subscribe_with(map, count_calls, &calls, NULL,
					      HYPHAE_SKIP_INITIAL));
	watch();
	set_in(graph, batched, cell, 1);
	records(&n);
	/* That was long ago. */
	assert_int_not_equal(hy_graph(graph)->clock, 0);
	hy_graph(graph)->clock = 1;
	visit.records = 1;
	set_in(graph, batched, cell, 2);
	told = records(&n);
	assert_int_equal(calls, 2);
	assert_int_equal(n, 1);
	assert_int_equal(HY_RECORD_ID(&told[0]), hyphae_cell_id(map));
	assert_int_equal(HY_RECORD_FLAGS(&told[0]), HY_RECORD_FIRE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * The last reading of the clock outlived its pass when the tracer left in it:
 * a tracer that came in the middle of another was told that a fan-out took
 * all the time between (so long that it is told in other units).
 */
static void reading_of_the_clock_ends_with_its_pass(void **state)
{
	(void)state;
	look_at_clock(true);
	look_at_clock(false);
}

static void look_at_fires(bool batched)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_cell *map =
		hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	struct visit visit = {0, 0};
	unsigned int calls = 0;

	assert_non_null(hyphae_subscribe_with(map, come_or_go, &visit, NULL,
					      HYPHAE_SKIP_INITIAL));
	hy_gate.detail = 1;
	set_in(graph, batched, cell, 1);
	assert_int_equal(hy_gate.detail, 0);
	visit.detail = 1;
	map = hyphae_map(map, &hyphae_int64, plus_one, NULL);
	assert_non_null(hyphae_subscribe_with(map, count_calls, &calls, NULL,
					      HYPHAE_SKIP_INITIAL));
	set_in(graph, batched, cell, 2);
	hy_gate.detail = 0;
	assert_int_equal(calls, 1);
	assert_int_equal(hy_graph(graph)->pass_fires, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * The fires of a pass in which a tracer left were counted as fires of the one
 * in the middle of which the next tracer came.
 */
static void fires_of_an_earlier_pass_are_not_counted(void **state)
{
	(void)state;
	look_at_fires(true);
	look_at_fires(false);
}

struct needy {
	struct hyphae_cell *cell;
};

/* So that the report, and only that, finds no memory. */
static int write_and_fail(void *ctx)
{
	hyphae_int64_set(((struct needy *)ctx)->cell, 5);
	hy_alloc_fail_after(1);
	return -EIO;
}

/*
 * When the function failed and there was no memory for the report, the
 * report was left as it was, and giving it back freed what was never there.
 */
static void report_is_empty_when_there_is_no_memory_for_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct needy needy = {hyphae_int64_new(graph, 0)};
	struct hyphae_report report;
	int r;

	(void)state;
	memset(&report, 0xa5, sizeof(report));
	r = hyphae_pass(write_and_fail, &needy, &report);
	hy_alloc_fail_after(0);
	assert_int_equal(r, -EIO);
	assert_null(report.cells);
	assert_int_equal(report.count, 0);
	assert_int_equal(report.fires, 0);
	hyphae_report_done(&report);
	/* It can still be taken. */
	assert_int_equal(hyphae_report_take(&report), 0);
	assert_int_equal(report.fires, 1);
	assert_int_equal(report.count, 1);
	hyphae_report_done(&report);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#if defined(__x86_64__)
/* ---- probes that are hit, counted by traps of our own ------------------------------------ */

#define BREAKPOINT 0xcc
#define SITES 8

struct trap {
	const char *probe;
	uint64_t sites[SITES];
	size_t count;
	unsigned int hits;
};

static struct trap traps[] = {{.probe = "batch"}, {.probe = "batch_done"}};
#define TRAPS (sizeof(traps) / sizeof(traps[0]))

static void trapped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;
	uint64_t site = (uint64_t)ucontext->uc_mcontext.gregs[REG_RIP] - 1;
	size_t i, j;

	(void)signal;
	(void)info;
	for (i = 0; i < TRAPS; i++)
		for (j = 0; j < traps[i].count; j++)
			traps[i].hits += traps[i].sites[j] == site;
}

/* Text is not writable for the program itself, but through this it is. */
static void write_text(uint64_t address, unsigned char byte)
{
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)address), 1);
	close(fd);
}

static void find_sites(struct trap *trap, const struct binary *binary,
		       uint64_t bias)
{
	size_t i;

	trap->count = trap->hits = 0;
	for (i = 0; i < binary->count; i++)
		if (!strcmp(binary->notes[i].name, trap->probe)) {
			assert_true(trap->count < SITES);
			trap->sites[trap->count++] = binary->notes[i].pc + bias;
		}
	assert_true(trap->count > 0);
}

static unsigned char nops[TRAPS][SITES];

static void set_traps(void)
{
	struct sigaction action = {.sa_sigaction = trapped,
				   .sa_flags = SA_SIGINFO};
	struct binary *binary;
	char path[4096] = "";
	uint64_t bias;
	size_t i, j;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	binary = binary_open(path);
	assert_non_null(binary);
	bias = process_bias(getpid(), binary, path);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	for (i = 0; i < TRAPS; i++) {
		find_sites(&traps[i], binary, bias);
		for (j = 0; j < traps[i].count; j++) {
			nops[i][j] = *(unsigned char *)traps[i].sites[j];
			assert_int_equal(nops[i][j], 0x90);
			write_text(traps[i].sites[j], BREAKPOINT);
		}
	}
	binary_close(binary);
	hy_gate.detail = 1;
}

static void remove_traps(void)
{
	size_t i, j;

	hy_gate.detail = 0;
	for (i = 0; i < TRAPS; i++)
		for (j = 0; j < traps[i].count; j++)
			write_text(traps[i].sites[j], nops[i][j]);
	signal(SIGTRAP, SIG_DFL);
}

/*
 * Settling inside a batch propagated what there was as a batch of its own: one
 * had begun for a tracer, and two ended.
 */
static void settle_in_a_batch_ends_one_and_begins_one(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);

	(void)state;
	set_traps();
	hyphae_batch_begin(graph);
	hyphae_settle(graph); /* with nothing to do */
	hyphae_int64_set(cell, 1);
	hyphae_settle(graph);
	hyphae_int64_set(cell, 2);
	hyphae_batch_end(graph);
	remove_traps();
	assert_int_equal(traps[0].hits, 2);
	assert_int_equal(traps[1].hits, 2);
	assert_int_equal(value(cell), 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}
#define TRAP_TEST cmocka_unit_test(settle_in_a_batch_ends_one_and_begins_one),
#else
#define TRAP_TEST /* the traps are those of x86 */
#endif

struct childs_view {
	uint64_t thread, tid, sequence, lost;
	uint32_t count, fires, passes;
	uint16_t reports;
	bool alone;
};

static void look_around(struct hyphae_cell *cell, struct childs_view *view)
{
	const struct hy_block *block;

	hyphae_int64_set(cell, 100);
	block = hy_self.watcher->block;
	*view = (struct childs_view){.thread = block->thread,
				     .tid = (uint64_t)syscall(SYS_gettid),
				     .sequence = block->sequence,
				     .lost = block->lost,
				     .count = block->count,
				     .fires = block->fires,
				     .passes = block->passes,
				     .reports = hy_gate.reports,
				     .alone = hy_watchers == hy_self.watcher &&
					      !hy_watchers->next};
}

/*
 * The child had the parent's records once more, and the parent's thread id in
 * its block.
 */
static void child_begins_with_records_of_its_own(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct childs_view view;
	int ends[2], status, i;
	uint32_t n;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	watch();
	for (i = 1; i <= 5; i++)
		assert_int_equal(hyphae_int64_set(cell, i), 0);
	child = fork();
	if (child == 0) {
		look_around(cell, &view);
		_exit(write(ends[1], &view, sizeof(view)) != sizeof(view));
	}
	assert_true(child > 0);
	records(&n);
	assert_int_equal(n, 5);
	assert_int_equal(read(ends[0], &view, sizeof(view)), sizeof(view));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(view.tid, (uint64_t)child);
	assert_int_equal(view.thread, view.tid);
	assert_int_equal(view.sequence, 1);
	assert_int_equal(view.count, 1);
	assert_int_equal(view.fires, 1);
	assert_int_equal(view.passes, 1);
	assert_int_equal(view.lost, 0);
	assert_int_equal(view.reports, 0);
	assert_true(view.alone);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * A tracked function that read an idle cell was given -ENODATA, failed, and
 * ran once more for each of them; each run noted the fire of its cell again,
 * beyond the end of the array where waves keep that.
 */
#define IDLE_ROWS 80
#define IDLE_WIDTH 20

struct idle_row {
	struct hyphae_cell *cells[IDLE_WIDTH];
	struct idle_row *above;
	int64_t runs, calls, last;
};

static int sum_of_above(void *ret, void *ctx)
{
	struct idle_row *row = ctx;
	int64_t sum = 0, value;
	size_t i;
	int r;

	for (i = 0; i < IDLE_WIDTH; i++) {
		r = hyphae_int64_get(row->above->cells[i], &value);
		if (r)
			return r;
		sum += value % 1009;
	}
	row->runs++;
	*(int64_t *)ret = sum;
	return 0;
}

static int note_last(const struct hyphae_signal *signal, void *ctx)
{
	struct idle_row *row = ctx;

	row->calls++;
	row->last = signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal) : -1;
	return 0;
}

/* Returns the cell that sums up the last row. */
static struct hyphae_cell *build_idle_rows(struct hyphae_graph *graph,
					   struct idle_row *rows)
{
	size_t i, j;

	for (j = 0; j < IDLE_WIDTH; j++)
		rows[0].cells[j] = hyphae_int64_new(graph, 7);
	for (i = 1; i <= IDLE_ROWS; i++) {
		rows[i].above = &rows[i - 1];
		for (j = 0; j < IDLE_WIDTH; j++)
			rows[i].cells[j] = hyphae_computed(
				graph, &hyphae_int64, sum_of_above, &rows[i]);
	}
	return rows[IDLE_ROWS].cells[0];
}

static void tracked_functions_wake_what_they_read(void **state)
{
	struct idle_row *rows = calloc(IDLE_ROWS + 1, sizeof(*rows));
	struct idle_row *last = &rows[IDLE_ROWS];
	struct hyphae_subscription *subscription;
	struct hyphae_graph *graph;
	struct hyphae_cell *sum;
	int64_t expected = 7;
	size_t i;

	(void)state;
	assert_non_null(rows);
	graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD | HYPHAE_LAZY);
	assert_non_null(graph);
	sum = build_idle_rows(graph, rows);
	for (i = 0; i < IDLE_ROWS; i++)
		expected = expected % 1009 * IDLE_WIDTH;
	subscription = hyphae_subscribe(sum, note_last, last);
	assert_non_null(subscription);
	assert_int_equal(last->calls, 1);
	assert_int_equal(last->last, expected);
	/* Deeper than functions nest, and still each was given all at once. */
	for (i = 1; i < IDLE_ROWS; i++)
		assert_int_equal(rows[i].runs, IDLE_WIDTH);
	assert_int_equal(last->runs, 1);
	assert_int_equal(hyphae_int64_set(rows[0].cells[0], 8), 0);
	assert_int_equal(last->calls, 2);
	/* Without a follower all is idle again, and wakes as before. */
	assert_int_equal(hyphae_unsubscribe(subscription), 0);
	assert_int_equal(hyphae_int64_set(rows[0].cells[0], 7), 0);
	assert_int_equal(last->runs, 2);
	assert_non_null(hyphae_subscribe(sum, note_last, last));
	assert_int_equal(last->calls, 3);
	assert_int_equal(last->last, expected);
	assert_int_equal(hyphae_graph_free(graph), 0);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_write_of_a_loop_cannot_be_read),
		cmocka_unit_test(no_wave_of_a_boxed_cell_allocates),
		cmocka_unit_test(second_wave_of_a_boxed_cell_needs_no_memory),
		cmocka_unit_test(box_does_not_go_home_to_cells_of_another_size),
		cmocka_unit_test(subscribing_to_a_boxed_cell_without_a_value),
		cmocka_unit_test(parent_waits_for_child_that_is_being_disposed),
		cmocka_unit_test(refused_disposal_leaves_that_of_a_child_alone),
		cmocka_unit_test(scope_does_not_end_a_strangers_subscription),
		cmocka_unit_test(scope_does_not_dispose_a_stranger),
		cmocka_unit_test(freeing_a_graph_disposes_its_scopes),
		cmocka_unit_test(
			scopes_of_a_graph_that_is_freed_cannot_be_entered),
		cmocka_unit_test(set_computes_what_its_subscribers_made),
		cmocka_unit_test(
			end_is_told_once_to_who_subscribes_in_its_wave),
		cmocka_unit_test(
			failure_is_told_once_to_who_subscribes_in_its_wave),
		cmocka_unit_test(
			who_skips_the_value_of_an_ended_cell_is_told_the_end),
		cmocka_unit_test(surplus_unref_is_refused_while_others_follow),
		cmocka_unit_test(
			surplus_unref_is_refused_while_subscribed_or_written),
		cmocka_unit_test(compute_cannot_write_by_way_of_another_graph),
		cmocka_unit_test(boxed_cell_that_waits_to_be_freed_is_stale),
		cmocka_unit_test(function_may_use_the_array_of_inputs_again),
		cmocka_unit_test(codes_beyond_errno_are_refused),
		cmocka_unit_test(eager_records_tell_the_depth_of_their_cell),
		cmocka_unit_test(reading_of_the_clock_ends_with_its_pass),
		cmocka_unit_test(fires_of_an_earlier_pass_are_not_counted),
		cmocka_unit_test(
			report_is_empty_when_there_is_no_memory_for_it),
		cmocka_unit_test(child_begins_with_records_of_its_own),
		cmocka_unit_test(tracked_functions_wake_what_they_read),
		TRAP_TEST};

	return cmocka_run_group_tests_name("regressions", tests, NULL, NULL);
}
