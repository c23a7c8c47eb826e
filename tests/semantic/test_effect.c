/* SPDX-License-Identifier: MIT */
/* Group F: subscriptions that end by themselves, remember, and clean up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effect.h"

/* ---- once ------------------------------------------------------------------- */

static void f01_once_with_the_current_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 7);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_ONCE, false);
	assert_effect(&e, "7,d");
	assert_int_equal(targets(a), 0);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(hyphae_unsubscribe(e.subscription), -ESTALE);
	put(a, 8);
	assert_effect(&e, "7,d");
}

static void f01_once_skipping_it(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 7);
	struct log *next;
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	next = follow(w, a);
	assert_effect(&e, "");
	put(a, 8);
	assert_effect(&e, "8,d");
	put(a, 9);
	assert_effect(&e, "8,d");
	assert_log(next, "7,8,9");
	assert_int_equal(hyphae_subscription_id(e.subscription), 0);
}

/* hyphae_subscribe_with() knows the flag too. */
static void f01_once_without_options(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 7);
	struct log *log = follow_with(w, a, NULL, NULL,
				      HYPHAE_ONCE | HYPHAE_SKIP_INITIAL);

	put(a, 8);
	put(a, 9);
	assert_log(log, "8");
	assert_int_equal(log->drops, 1);
}

static int fail_at_one(struct node *node, const int64_t *in, size_t count,
		       int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] == 1 ? -EIO : 0;
}

static void f01_once_with_an_error(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, fail_at_one, a);
	static struct effect e, end;

	effect_start(w, &e, b->cell, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	effect_start(w, &end, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	put(a, 1);
	assert_effect(&e, "E(-5),d");
	assert_effect(&end, "1,d");
}

static void f01_once_with_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect both, end, late, late_end;

	effect_start(w, &end, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	effect_start(w, &both, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	assert_int_equal(hyphae_unsubscribe(end.subscription), 0);
	effect_start(w, &end, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	begin_batch(w);
	put(a, 1);
	assert_int_equal(hyphae_cell_complete(a), 0);
	end_batch(w);
	/* The value was the one call. */
	assert_effect(&both, "1,d");
	effect_start(w, &late, a, HYPHAE_ONCE, false);
	assert_effect(&late, "1,d");
	effect_start(w, &late_end, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	assert_effect(&late_end, "C,d");
}

static void f01_once_at_the_end_alone(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_effect(&e, "C,d");
	assert_int_equal(e.drops, 1);
}

static int refuse(struct effect *e, const struct hyphae_signal *signal)
{
	(void)signal;
	return e->code;
}

/* What it returns changes nothing about the end. */
static void f01_once_whatever_it_returns(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect bad, detach;

	effect_start(w, &bad, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	bad.hook = refuse;
	bad.code = -EBADMSG;
	effect_start(w, &detach, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	detach.hook = refuse;
	detach.code = HYPHAE_DETACH;
	assert_int_equal(hyphae_int64_set(a, 1), -EBADMSG);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -EBADMSG);
	put(a, 2);
	assert_effect(&bad, "1,d");
	assert_effect(&detach, "1,d");
	assert_int_equal(targets(a), 0);
}

/* arg: the cell to write to. */
static int write_back(struct effect *e, const struct hyphae_signal *signal)
{
	return hyphae_int64_set(e->arg, hyphae_int64_of(signal) + 1);
}

static void f01_once_writes_its_own_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, false);
	e.hook = write_back;
	e.arg = a;
	put(a, 1);
	assert_int_equal(value(a), 2);
	assert_effect(&e, "1,d");
}

static int stop_self(struct effect *e, const struct hyphae_signal *signal)
{
	(void)signal;
	e->code = hyphae_unsubscribe(e->subscription);
	return 0;
}

/* The handle is good until the call returns. */
static void f01_once_unsubscribes_itself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, true);
	e.hook = stop_self;
	e.code = 1;
	put(a, 1);
	assert_int_equal(e.code, 0);
	assert_effect(&e, "1,x,d");
}

/* ---- the previous value ------------------------------------------------------ */

static void f02_previous(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;
	struct log *plain;

	effect_start(w, &e, a, HYPHAE_PREVIOUS, false);
	plain = follow(w, a);
	put(a, 2);
	put(a, 3);
	put(a, 2);
	assert_effect(&e, "1,1>2,2>3,3>2");
	assert_log(plain, "1,2,3,2");
}

/* What it passed over counts as told. */
static void f02_previous_skipping_initial(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_PREVIOUS | HYPHAE_SKIP_INITIAL, false);
	put(a, 2);
	put(a, 1);
	assert_effect(&e, "1>2,2>1");
}

static void f02_previous_and_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, fail_at_one, a);
	static struct effect e, skips;

	effect_start(w, &e, b->cell, HYPHAE_PREVIOUS, false);
	put(a, 1);
	effect_start(w, &skips, b->cell, HYPHAE_PREVIOUS | HYPHAE_SKIP_INITIAL,
		     false);
	put(a, 2);
	put(a, 3);
	assert_effect(&e, "0,0>E(-5),2,2>3");
	assert_effect(&skips, "2,2>3");
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_effect(&e, "0,0>E(-5),2,2>3,3>C,d");
}

static void f02_previous_at_a_failure(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 4);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_PREVIOUS, false);
	assert_int_equal(hyphae_cell_fail(a, -EIO, "gone"), 0);
	assert_effect(&e, "4,4>E(-5)!,d");
}

static void f02_previous_paused_and_blocked(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_PREVIOUS, false);
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 2);
	put(a, 3);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "1,1>3");
	assert_int_equal(hyphae_subscription_block(e.subscription), 0);
	put(a, 4);
	assert_int_equal(hyphae_subscription_unblock(e.subscription), 0);
	put(a, 5);
	assert_effect(&e, "1,1>3,3>5");
	/* There and back. */
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 6);
	put(a, 5);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "1,1>3,3>5,5>5");
}

/* A boxed type whose copies are counted, and whose values say who they are. */
struct spore {
	int64_t n;
	char *text;
};

static unsigned int copies, frees;

static int copy_spore(void *to, const void *from)
{
	const struct spore *spore = from;
	struct spore *copy = to;

	copy->n = spore->n;
	copy->text = strdup(spore->text);
	if (!copy->text)
		return -ENOMEM;
	copies++;
	return 0;
}

static void drop_spore(void *value)
{
	struct spore *spore = value;

	frees++;
	memset(spore->text, '?', strlen(spore->text));
	free(spore->text);
	spore->text = NULL;
}

static bool equal_spore(const void *a, const void *b)
{
	return ((const struct spore *)a)->n == ((const struct spore *)b)->n;
}

static const struct hyphae_type spore_type = {
	.name = "spore",
	.size = sizeof(struct spore),
	.align = _Alignof(struct spore),
	.copy = copy_spore,
	.drop = drop_spore,
	.equal = equal_spore,
};

static int see_spores(const struct hyphae_signal *signal, void *ctx)
{
	const struct spore *now = signal->value, *before = signal->previous;

	if (!now)
		note(ctx, "%s>C", before ? before->text : "-");
	else
		note(ctx, "%s>%s", before ? before->text : "-", now->text);
	return 0;
}

static void put_spore(struct hyphae_cell *cell, int64_t n, const char *text)
{
	struct spore spore = {n, (char *)text};

	assert_int_equal(hyphae_cell_set(cell, &spore_type, &spore), 0);
}

static int next_spore(void *ret, const void *input, void *ctx)
{
	const struct spore *from = input;
	struct spore *to = ret;

	(void)ctx;
	to->n = from->n;
	to->text = malloc(strlen(from->text) + 2);
	if (!to->text)
		return -ENOMEM;
	sprintf(to->text, "%s'", from->text);
	copies++;
	return 0;
}

/* A reference is held, nothing is copied; every value is freed once. */
static void x11_previous_of_boxed_values(void **state)
{
	struct world *w = *state;
	struct spore first = {1, "a"};
	struct hyphae_cell *a =
		keep(w, hyphae_cell_new(w->graph, &spore_type, &first));
	struct hyphae_cell *b =
		keep(w, hyphae_map(a, &spore_type, next_spore, NULL));
	struct log *of_a = log_new(w, NULL, NULL);
	struct log *of_b = log_new(w, NULL, NULL);
	struct hyphae_subscription_options options = {
		.fn = see_spores, .ctx = of_a, .flags = HYPHAE_PREVIOUS};
	struct hyphae_subscription *sub;

	copies = 2;
	frees = 0;
	sub = keep_sub(w, hyphae_subscribe_options(a, &options));
	options.ctx = of_b;
	options.flags |= HYPHAE_SKIP_INITIAL;
	keep_sub(w, hyphae_subscribe_options(b, &options));
	assert_int_equal(copies, 2);
	put_spore(a, 2, "b");
	first.n = 2;
	assert_int_equal(hyphae_cell_set(a, &spore_type, &first),
			 HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_subscription_pause(sub), 0);
	put_spore(a, 3, "c");
	put_spore(a, 4, "d");
	/* Paused, it still has "b". */
	assert_int_equal(copies - frees, 3);
	assert_int_equal(hyphae_subscription_resume(sub), 0);
	assert_int_equal(copies - frees, 2);
	put_spore(a, 5, "e");
	assert_log(of_a, "->a,a>b,b>d,d>e");
	assert_log(of_b, "a'>b',b'>c',c'>d',d'>e'");
	assert_int_equal(copies, 11);
	assert_int_equal(hyphae_subscription_pause(sub), 0);
	put_spore(a, 6, "f");
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_log(of_b, "a'>b',b'>c',c'>d',d'>e',e'>f',f'>C");
	assert_int_equal(copies - frees, 3);
	assert_int_equal(hyphae_unsubscribe(sub), 0);
	assert_int_equal(copies - frees, 2);
	assert_log(of_a, "->a,a>b,b>d,d>e");
	let_go(w, b);
	let_go(w, a);
	assert_int_equal(frees, copies);
}

/* ---- clean-up ---------------------------------------------------------------- */

static void f03_cleanup_before_the_next_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	assert_effect(&e, "1");
	put(a, 2);
	assert_effect(&e, "1,x,2");
	assert_int_equal(hyphae_int64_set(a, 2), HYPHAE_UNCHANGED);
	assert_effect(&e, "1,x,2");
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	assert_effect(&e, "1,x,2,x,d");
	assert_int_equal(e.deepest, 1);
}

static void f03_no_call_no_cleanup(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_SKIP_INITIAL, true);
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	assert_effect(&e, "d");
}

static int detach_at_two(struct effect *e, const struct hyphae_signal *signal)
{
	(void)e;
	return signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 2
		       ? HYPHAE_DETACH
		       : 0;
}

static void f03_cleanup_at_every_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect detach, once, end, stopped;

	effect_start(w, &detach, a, 0, true);
	detach.hook = detach_at_two;
	effect_start(w, &once, a, HYPHAE_ONCE, true);
	effect_start(w, &end, a, 0, true);
	effect_start(w, &stopped, a, 0, true);
	stopped.hook = stop_self;
	assert_effect(&once, "1,x,d");
	put(a, 2);
	assert_effect(&detach, "1,x,2,x,d");
	assert_effect(&stopped, "1,x,2,x,d");
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_effect(&end, "1,x,2,x,C,x,d");
}

/* Of an ended cell: the calls of the first moment are cleaned up after too. */
static void f03_cleanup_of_an_ended_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	static struct effect e;

	assert_int_equal(hyphae_cell_complete(a), 0);
	effect_start(w, &e, a, 0, true);
	assert_effect(&e, "1,x,C,x,d");
}

/* The last one runs when the wave is over; everything the wave owes is told. */
static void f03_order_in_a_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	static struct effect first, second;

	effect_start(w, &first, a, 0, true);
	effect_start(w, &second, a, 0, true);
	first.log = second.log = order;
	first.hook = stop_self;
	put(a, 1);
	assert_log(order, "x,1,x,1,x,d");
	put(a, 2);
	assert_log(order, "x,1,x,1,x,d,x,2");
}

static void write_in_cleanup(struct effect *e)
{
	e->code = hyphae_int64_set(e->arg, 10 * (int64_t)e->cleanups);
}

/* It may write: the next wave, and also at the end. */
static void f03_cleanup_writes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *seen = follow(w, b);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	e.on_cleanup = write_in_cleanup;
	e.arg = b;
	e.code = 1;
	put(a, 1);
	assert_int_equal(e.code, 0);
	assert_log(seen, "0,10");
	e.code = 1;
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	assert_int_equal(e.code, 0);
	assert_log(seen, "0,10,20");
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
}

static void stop_in_cleanup(struct effect *e)
{
	e->code = hyphae_unsubscribe(e->subscription);
}

/* The call it was to make room for is not made; it is not run again. */
static void a22_cleanup_unsubscribes_itself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	e.on_cleanup = stop_in_cleanup;
	e.code = 1;
	put(a, 1);
	assert_int_equal(e.code, 0);
	assert_effect(&e, "0,x,d");
	assert_int_equal(e.cleanups, 1);
	assert_int_equal(live_subs(w), 0);
}

/* At the end it is over already. */
static void a22_cleanup_at_the_end_unsubscribes_itself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	e.on_cleanup = stop_in_cleanup;
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	assert_int_equal(e.code, -ESTALE);
	assert_effect(&e, "0,x,d");
}

static void dispose_in_cleanup(struct effect *e)
{
	e->code = hyphae_scope_dispose(e->arg);
}

static void a22_cleanup_disposes_its_own_owner(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	static struct effect e, sibling;

	effect_init(w, &e);
	effect_init(w, &sibling);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	assert_non_null(effect_subscribe(&e, a, 0, true));
	assert_non_null(effect_subscribe(&sibling, a, 0, true));
	assert_int_equal(hyphae_scope_leave(scope), 0);
	e.on_cleanup = dispose_in_cleanup;
	e.arg = scope;
	e.code = 1;
	put(a, 1);
	assert_int_equal(e.code, 0);
	assert_effect(&e, "0,x,d");
	assert_effect(&sibling, "0,x,d");
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(hyphae_scope_dispose(scope), -ESTALE);
}

static void pause_in_cleanup(struct effect *e)
{
	if (!e->code)
		e->code = hyphae_subscription_pause(e->subscription) + 1;
}

/* Paused by its clean-up: told later, and not cleaned up after twice. */
static void f03_cleanup_pauses(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_PREVIOUS, true);
	e.on_cleanup = pause_in_cleanup;
	put(a, 1);
	assert_effect(&e, "0,x");
	put(a, 2);
	assert_effect(&e, "0,x");
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "0,x,0>2");
	put(a, 3);
	assert_effect(&e, "0,x,0>2,x,2>3");
}

/* The end that its clean-up kept away is told when it is resumed. */
static void f03_cleanup_pauses_before_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	e.on_cleanup = pause_in_cleanup;
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_effect(&e, "0,x");
	assert_int_equal(targets(a), 1);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "0,x,C,x,d");
	assert_int_equal(targets(a), 0);
}

/* A graph that goes: the clean-ups run, and find its cells gone. */
static void f03_graph_freed(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *graph = hyphae_graph_new(
		w->eager		   ? HYPHAE_EAGER
		: w->kind == SINGLE_THREAD ? HYPHAE_SINGLE_THREAD
					   : 0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	static struct effect e, paused, never;

	effect_init(w, &e);
	effect_init(w, &paused);
	effect_init(w, &never);
	assert_non_null(effect_subscribe(&e, a, HYPHAE_PREVIOUS, true));
	assert_non_null(effect_subscribe(&paused, a, 0, true));
	assert_non_null(effect_subscribe(
		&never, a, HYPHAE_SKIP_INITIAL | HYPHAE_PREVIOUS, true));
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	assert_int_equal(hyphae_subscription_pause(never.subscription), 0);
	put(a, 1);
	e.on_cleanup = write_in_cleanup;
	e.arg = a;
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(e.code, -ESTALE);
	assert_effect(&paused, "0,x,d");
	assert_effect(&never, "d");
	assert_int_equal(e.drops, 1);
	assert_int_equal(e.cleanups, e.calls);
	assert_int_equal(hyphae_unsubscribe(e.subscription), -ESTALE);
}

/* ---- many of them --------------------------------------------------------------- */

static void note_number(struct effect *e)
{
	note(e->log, "%d", e->code);
}

/* Last made first, children in their turn. */
static void x05_cleanup_in_scopes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_scope *outer = hyphae_scope_new(w->graph), *inner;
	struct log *order = log_new(w, NULL, NULL);
	static struct effect e[4];
	int i;

	for (i = 0; i < 4; i++) {
		effect_init(w, &e[i]);
		e[i].log = order;
		e[i].on_cleanup = note_number;
		e[i].code = i + 1;
	}
	assert_int_equal(hyphae_scope_enter(outer), 0);
	assert_non_null(effect_subscribe(&e[0], a, 0, true));
	assert_non_null(effect_subscribe(&e[1], a, 0, true));
	inner = hyphae_scope_new(w->graph);
	assert_int_equal(hyphae_scope_enter(inner), 0);
	assert_non_null(effect_subscribe(&e[2], a, 0, true));
	assert_int_equal(hyphae_scope_leave(inner), 0);
	assert_non_null(effect_subscribe(&e[3], a, 0, true));
	assert_int_equal(hyphae_scope_leave(outer), 0);
	note(order, "end");
	assert_int_equal(hyphae_scope_dispose(outer), 0);
	assert_log(order, "0,0,0,0,end,x,4,d,x,3,d,x,2,d,x,1,d");
}

#define CHAIN 10000

struct link {
	struct hyphae_subscription *subscription;
	struct link *next;
	bool cleaned;
};

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void end_the_next(void *ctx)
{
	struct link *link = ctx;

	link->cleaned = true;
	if (link->next)
		hyphae_unsubscribe(link->next->subscription);
}

static const char *chain_of_cleanups(void *arg)
{
	struct world *w = arg;
	static struct link links[CHAIN];
	struct hyphae_subscription_options options = {.fn = quiet,
						      .cleanup = end_the_next};
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 0);
	int i;

	for (i = CHAIN - 1; i >= 0; i--) {
		links[i] = (struct link){.next = i + 1 < CHAIN ? &links[i + 1]
							       : NULL};
		options.ctx = &links[i];
		links[i].subscription = hyphae_subscribe_options(a, &options);
		CHECK(links[i].subscription);
	}
	CHECK(hyphae_unsubscribe(links[0].subscription) == 0);
	for (i = 0; i < CHAIN; i++)
		CHECK(links[i].cleaned);
	CHECK(targets(a) == 0);
	CHECK(hyphae_cell_unref(a) == 0);
	return NULL;
}

static void x07_chain_of_cleanups(void **state)
{
	on_small_stack(65536, chain_of_cleanups, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(f01_once_with_the_current_value),
		CASE(f01_once_skipping_it),
		CASE(f01_once_without_options),
		CASE(f01_once_with_an_error),
		CASE(f01_once_with_the_end),
		CASE(f01_once_at_the_end_alone),
		CASE(f01_once_whatever_it_returns),
		CASE(f01_once_writes_its_own_cell),
		CASE(f01_once_unsubscribes_itself),
		CASE(f02_previous),
		CASE(f02_previous_skipping_initial),
		CASE(f02_previous_and_errors),
		CASE(f02_previous_at_a_failure),
		CASE(f02_previous_paused_and_blocked),
		CASE(x11_previous_of_boxed_values),
		CASE(f03_cleanup_before_the_next_call),
		CASE(f03_no_call_no_cleanup),
		CASE(f03_cleanup_at_every_end),
		CASE(f03_cleanup_of_an_ended_cell),
		CASE(f03_order_in_a_wave),
		CASE(f03_cleanup_writes),
		CASE(a22_cleanup_unsubscribes_itself),
		CASE(a22_cleanup_at_the_end_unsubscribes_itself),
		CASE(a22_cleanup_disposes_its_own_owner),
		CASE(f03_cleanup_pauses),
		CASE(f03_cleanup_pauses_before_the_end),
		CASE(f03_graph_freed),
		CASE(x05_cleanup_in_scopes),
		CASE(x07_chain_of_cleanups),
	};

	return cmocka_run_group_tests_name("effect", tests, NULL, NULL);
}
