/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions with more than a function: once, previous values, clean-up,
 * pauses and blocks, all of a cell at once; and first calls inside a wave.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

FN(inc, in[0] + 1);

/* ---- subscribing while a wave is under way -------------------------------- */

/* arg: the log that subscribes to its `cell` when the input is 1. */
static int subscribe_inside(struct node *node, const int64_t *in, size_t count,
			    int64_t *ret)
{
	struct log *log = node->arg;

	(void)count;
	if (log && in[0] == node->code && !log->subscription)
		log_subscribe(log, log->cell, (unsigned int)log->number);
	*ret = in[0];
	return 0;
}

static struct log *subscribes_in_a_function(struct world *w, unsigned int flags)
{
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct log *first = follow(w, b->cell);
	struct node *m = derive(w, subscribe_inside, b->cell);
	struct log *fresh = log_new(w, NULL, NULL);

	fresh->cell = b->cell;
	fresh->number = flags;
	m->code = 2;
	m->arg = fresh;
	put(a, 1);
	assert_log(first, "1,2");
	assert_non_null(fresh->subscription);
	keep_sub(w, fresh->subscription);
	note(fresh, "next");
	put(a, 2);
	return fresh;
}

/* b has settled on 2 and has not told it yet: that is told once. */
static void s05_subscribe_in_a_function(void **state)
{
	assert_log(subscribes_in_a_function(*state, 0), "2,next,3");
}

static void s05_skip_initial_in_a_function(void **state)
{
	assert_log(subscribes_in_a_function(*state, HYPHAE_SKIP_INITIAL),
		   "next,3");
}

/* Of a cell that has not been computed: the old value, then the new one. */
static void s05_subscribe_before_its_turn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *m = derive(w, subscribe_inside, a);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, inc, b->cell);
	struct log *fresh = log_new(w, NULL, NULL);

	fresh->cell = c->cell;
	m->code = 1;
	m->arg = fresh;
	put(a, 1);
	keep_sub(w, fresh->subscription);
	assert_log(fresh, "2,3");
	put(a, 2);
	assert_log(fresh, "2,3,4");
}

/* arg: a log that follows its cell from the call with 1 on. */
static int subscribe_at_one(struct log *log, const struct hyphae_signal *signal)
{
	struct log *fresh = log->arg;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 1 &&
	    !fresh->subscription)
		log_subscribe(fresh, fresh->cell, (unsigned int)fresh->number);
	return 0;
}

/* A cell that is yet to call its subscribers, subscribed to by another's. */
static void s05_subscribe_to_a_later_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *fresh = log_new(w, NULL, NULL);
	struct log *first = follow_with(w, a, subscribe_at_one, fresh, 0);
	struct log *old = follow(w, b);

	fresh->cell = b;
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	end_batch(w);
	keep_sub(w, fresh->subscription);
	assert_log(first, "0,1");
	assert_log(old, "0,1");
	assert_log(fresh, "1");
	put(b, 2);
	assert_log(fresh, "1,2");
	put(b, 3);
	assert_log(fresh, "1,2,3");
}

/* The same with an end behind the value: both, once. */
static void s05_subscribe_to_an_ending_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *fresh = log_new(w, NULL, NULL);
	struct log *old;

	follow_with(w, a, subscribe_at_one, fresh, 0);
	old = follow(w, b);
	fresh->cell = b;
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	assert_int_equal(hyphae_cell_complete(b), 0);
	end_batch(w);
	assert_log(old, "0,1,C");
	assert_log(fresh, "1,C");
	assert_int_equal(fresh->drops, 1);
	assert_int_equal(hyphae_unsubscribe(fresh->subscription), -ESTALE);
	assert_int_equal(targets(b), 0);
}

/* ---- logs with options ------------------------------------------------------ */

/*
 * What the logs of the fixture do, and more: "0>1" with a previous value, "x"
 * for a clean-up, "d" for the drop.  Static, for what the teardown calls.
 */
struct effect {
	struct world *world;
	struct hyphae_subscription *subscription;
	struct log *log; /* its text; never subscribed */
	int (*hook)(struct effect *effect, const struct hyphae_signal *signal);
	void (*on_cleanup)(struct effect *effect);
	void *arg;
	int code;
	unsigned int calls, cleanups, drops, depth, deepest;
};

static int effect_call(const struct hyphae_signal *signal, void *ctx)
{
	struct effect *e = ctx;
	const int64_t *previous = signal->previous;
	char before[32] = "";
	int r = 0;

	e->calls++;
	if (++e->depth > e->deepest)
		e->deepest = e->depth;
	if (previous)
		snprintf(before, sizeof(before), "%lld>", (long long)*previous);
	if (signal->kind == HYPHAE_VALUE)
		note(e->log, "%s%lld", before,
		     (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_COMPLETE)
		note(e->log, "%sC", before);
	else
		note(e->log, "%sE(%d)%s", before, signal->code,
		     signal->terminal ? "!" : "");
	if (e->hook)
		r = e->hook(e, signal);
	e->depth--;
	return r;
}

static void effect_cleanup(void *ctx)
{
	struct effect *e = ctx;

	e->cleanups++;
	if (++e->depth > e->deepest)
		e->deepest = e->depth;
	note(e->log, "x");
	if (e->on_cleanup)
		e->on_cleanup(e);
	e->depth--;
}

static void effect_dropped(void *ctx)
{
	struct effect *e = ctx;

	e->drops++;
	note(e->log, "d");
}

static struct hyphae_subscription *effect_subscribe(struct effect *e,
						    struct hyphae_cell *cell,
						    unsigned int flags,
						    bool cleanup)
{
	struct hyphae_subscription_options options = {
		.fn = effect_call,
		.ctx = e,
		.drop = effect_dropped,
		.cleanup = cleanup ? effect_cleanup : NULL,
		.flags = flags,
	};

	e->subscription = hyphae_subscribe_options(cell, &options);
	return e->subscription;
}

static void effect_init(struct world *w, struct effect *e)
{
	memset(e, 0, sizeof(*e));
	e->world = w;
	e->log = log_new(w, NULL, NULL);
}

static void effect_start(struct world *w, struct effect *e,
			 struct hyphae_cell *cell, unsigned int flags,
			 bool cleanup)
{
	effect_init(w, e);
	keep_sub(w, effect_subscribe(e, cell, flags, cleanup));
}

#define assert_effect(e, expected) assert_log((e)->log, expected)

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

/* ---- pause and block ----------------------------------------------------------- */

static void f04_pause_and_resume(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a), *other = follow(w, a);

	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	put(a, 1);
	put(a, 2);
	assert_log(log, "0");
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,2");
	put(a, 3);
	assert_log(log, "0,2,3");
	/* Nothing was told, so nothing is. */
	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	assert_int_equal(hyphae_int64_set(a, 3), HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,2,3");
	assert_log(other, "0,1,2,3");
	assert_int_equal(hyphae_subscription_resume(log->subscription),
			 -EINVAL);
	assert_int_equal(hyphae_subscription_unblock(log->subscription),
			 -EINVAL);
}

/* In two waves it has told something; in one batch it has not. */
static void f04_there_and_back(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);

	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	put(a, 1);
	put(a, 0);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,0");
	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	begin_batch(w);
	put(a, 1);
	put(a, 0);
	end_batch(w);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,0");
}

static void f04_block(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);

	assert_int_equal(hyphae_subscription_block(log->subscription), 0);
	put(a, 1);
	assert_int_equal(hyphae_subscription_unblock(log->subscription), 0);
	assert_log(log, "0");
	put(a, 2);
	assert_log(log, "0,2");
}

static void f04_counted(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);
	int i, r = 0;

	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	put(a, 1);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	put(a, 2);
	assert_log(log, "0");
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,2");
	for (i = 0; i < 65535; i++)
		r |= hyphae_subscription_block(log->subscription);
	assert_int_equal(r, 0);
	assert_int_equal(hyphae_subscription_block(log->subscription),
			 -EOVERFLOW);
	for (i = 0; i < 65535; i++)
		r |= hyphae_subscription_unblock(log->subscription);
	assert_int_equal(r, 0);
	put(a, 3);
	assert_log(log, "0,2,3");
}

/* What came before the block is told when neither is on any more. */
static void f04_paused_and_blocked(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);
	struct hyphae_subscription *s = log->subscription;

	assert_int_equal(hyphae_subscription_pause(s), 0);
	assert_int_equal(hyphae_subscription_block(s), 0);
	put(a, 1);
	assert_int_equal(hyphae_subscription_resume(s), 0);
	assert_int_equal(hyphae_subscription_unblock(s), 0);
	assert_log(log, "0");
	assert_int_equal(hyphae_subscription_pause(s), 0);
	put(a, 2);
	assert_int_equal(hyphae_subscription_block(s), 0);
	assert_int_equal(hyphae_subscription_resume(s), 0);
	assert_log(log, "0");
	put(a, 3);
	assert_int_equal(hyphae_subscription_unblock(s), 0);
	assert_log(log, "0,3");
}

static void f04_cell_ends_meanwhile(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *paused = follow(w, a), *blocked = follow(w, a);
	struct log *quiet = follow(w, a), *stopped = follow(w, a);

	assert_int_equal(hyphae_subscription_pause(paused->subscription), 0);
	assert_int_equal(hyphae_subscription_pause(stopped->subscription), 0);
	assert_int_equal(hyphae_subscription_block(blocked->subscription), 0);
	put(a, 1);
	/* This one misses the end only. */
	assert_int_equal(hyphae_subscription_pause(quiet->subscription), 0);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(targets(a), 4);
	assert_int_equal(hyphae_subscription_resume(paused->subscription), 0);
	assert_log(paused, "0,1,C");
	assert_int_equal(paused->drops, 1);
	assert_int_equal(hyphae_subscription_unblock(blocked->subscription), 0);
	assert_log(blocked, "0,C");
	assert_int_equal(hyphae_subscription_resume(quiet->subscription), 0);
	assert_log(quiet, "0,1,C");
	stop(stopped);
	assert_log(stopped, "0");
	assert_int_equal(stopped->drops, 1);
	assert_int_equal(targets(a), 0);
	assert_int_equal(hyphae_subscription_resume(paused->subscription),
			 -ESTALE);
	assert_int_equal(hyphae_subscription_pause(paused->subscription),
			 -ESTALE);
}

static void f04_cell_fails_meanwhile(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a), *blocked = follow(w, a);

	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	assert_int_equal(hyphae_subscription_block(blocked->subscription), 0);
	begin_batch(w);
	put(a, 1);
	assert_int_equal(hyphae_cell_fail(a, -EIO, "gone"), 0);
	end_batch(w);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,E(-5)!");
	assert_int_equal(hyphae_subscription_unblock(blocked->subscription), 0);
	assert_log(blocked, "0,E(-5)!");
	assert_int_equal(live_subs(w), 0);
}

static void f04_errors_meanwhile(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, fail_at_one, a);
	struct log *log = follow(w, b->cell);

	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	put(a, 1);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,E(-5)");
	assert_int_equal(hyphae_subscription_pause(log->subscription), 0);
	put(a, 2);
	put(a, 1);
	put(a, 3);
	assert_int_equal(hyphae_subscription_resume(log->subscription), 0);
	assert_log(log, "0,E(-5),3");
}

static int pause_self(struct effect *e, const struct hyphae_signal *signal)
{
	(void)signal;
	e->code = hyphae_subscription_pause(e->subscription);
	return 0;
}

static int pause_and_resume_self(struct effect *e,
				 const struct hyphae_signal *signal)
{
	(void)signal;
	e->code = hyphae_subscription_pause(e->subscription);
	if (!e->code)
		e->code = hyphae_subscription_resume(e->subscription);
	return 0;
}

static void f04_pause_in_its_own_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e, nothing;

	effect_start(w, &e, a, 0, false);
	effect_start(w, &nothing, a, 0, false);
	e.hook = pause_self;
	nothing.hook = pause_and_resume_self;
	e.code = nothing.code = 1;
	put(a, 1);
	assert_int_equal(e.code, 0);
	assert_int_equal(nothing.code, 0);
	put(a, 2);
	assert_effect(&e, "0,1");
	assert_effect(&nothing, "0,1,2");
	/* It pauses itself again in the call that resuming makes. */
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "0,1,2");
	put(a, 3);
	assert_effect(&e, "0,1,2");
	assert_int_equal(e.deepest, 1);
	assert_int_equal(nothing.deepest, 1);
}

/* Between the value and the end of one fan-out. */
static void f04_pause_before_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, false);
	e.hook = pause_self;
	begin_batch(w);
	put(a, 1);
	assert_int_equal(hyphae_cell_complete(a), 0);
	end_batch(w);
	assert_effect(&e, "0,1");
	assert_int_equal(targets(a), 1);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "0,1,C,d");
}

/* Paused in the call that tells the end: that was the last one. */
static void f04_pause_in_the_last_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, false);
	e.hook = pause_self;
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(e.code, 0);
	assert_effect(&e, "0,C,d");
	assert_int_equal(targets(a), 0);
}

/* arg: another effect, resumed in the call with `code`. */
static int resume_other(struct effect *e, const struct hyphae_signal *signal)
{
	struct effect *other = e->arg;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == e->code)
		other->code = hyphae_subscription_resume(other->subscription);
	return 0;
}

/* By one before it, and by one behind it: at once, and once. */
static void f04_resume_in_a_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect before, paused, behind;

	effect_start(w, &before, a, 0, false);
	effect_start(w, &paused, a, 0, false);
	effect_start(w, &behind, a, 0, false);
	before.arg = behind.arg = &paused;
	before.hook = behind.hook = resume_other;
	before.code = 2;
	behind.code = 4;
	paused.code = 1;
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 1);
	put(a, 2);
	assert_int_equal(paused.code, 0);
	assert_effect(&paused, "0,2");
	put(a, 3);
	assert_effect(&paused, "0,2,3");
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	paused.code = 1;
	put(a, 4);
	assert_int_equal(paused.code, 0);
	assert_effect(&paused, "0,2,3,4");
	put(a, 5);
	assert_effect(&paused, "0,2,3,4,5");
}

/* It missed nothing before this wave: its turn in the wave is what tells it. */
static void f04_resume_before_its_turn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect before, paused;

	effect_start(w, &before, a, 0, false);
	effect_start(w, &paused, a, 0, false);
	before.arg = &paused;
	before.hook = resume_other;
	before.code = 1;
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 1);
	assert_effect(&paused, "0,1");
	put(a, 2);
	assert_effect(&paused, "0,1,2");
}

/* By a subscriber of another cell, before and after its own was told. */
static void f04_resume_by_another_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	static struct effect before, paused, behind;

	effect_start(w, &before, a, 0, false);
	effect_start(w, &paused, b->cell, 0, false);
	effect_start(w, &behind, a, 0, false);
	before.arg = behind.arg = &paused;
	before.hook = behind.hook = resume_other;
	before.code = 2;
	behind.code = 4;
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 1);
	begin_batch(w);
	put(a, 2);
	end_batch(w);
	assert_effect(&paused, "1,3");
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 3);
	begin_batch(w);
	put(a, 4);
	end_batch(w);
	assert_effect(&paused, "1,3,5");
	put(a, 5);
	assert_effect(&paused, "1,3,5,6");
}

static void f04_once_and_pause(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e, ended;

	effect_start(w, &e, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, true);
	effect_start(w, &ended, a, HYPHAE_ONCE | HYPHAE_SKIP_INITIAL, true);
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	assert_int_equal(hyphae_subscription_pause(ended.subscription), 0);
	put(a, 1);
	put(a, 2);
	assert_effect(&e, "");
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "2,x,d");
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_subscription_resume(ended.subscription), 0);
	assert_effect(&ended, "2,x,d");
	assert_int_equal(live_subs(w), 0);
}

static void f04_unsubscribe_while_paused(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, true);
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 1);
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	assert_effect(&e, "0,x,d");
	assert_int_equal(hyphae_subscription_resume(e.subscription), -ESTALE);
	assert_int_equal(hyphae_subscription_block(e.subscription), -ESTALE);
	assert_int_equal(hyphae_subscription_unblock(e.subscription), -ESTALE);
}

static int fail_always(struct effect *e, const struct hyphae_signal *signal)
{
	(void)e;
	(void)signal;
	return -EBADMSG;
}

/* A failure of the call goes to the problem function, not to the caller. */
static void f04_resumed_call_fails(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	static struct effect e;

	effect_start(w, &e, a, 0, false);
	e.hook = fail_always;
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 1);
	assert_int_equal(w->problems, 0);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -EBADMSG);
	assert_effect(&e, "0,1");
	e.hook = NULL;
	put(a, 2);
	assert_effect(&e, "0,1,2");
}

/* What the resumed subscriber writes is done when resuming returns. */
static void f04_resumed_call_writes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *seen = follow(w, b);
	static struct effect e;

	effect_start(w, &e, a, HYPHAE_SKIP_INITIAL, false);
	e.hook = write_back;
	e.arg = b;
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 6);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_log(seen, "0,7");
}

/* ---- all of a cell, and which cell ------------------------------------------------- */

struct sweep {
	struct hyphae_cell *cell;
	int code;
	struct hyphae_cell_info info;
};

static int unsubscribe_all(struct effect *e, const struct hyphae_signal *signal)
{
	struct sweep *sweep = e->arg;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	sweep->code = hyphae_unsubscribe_all(sweep->cell);
	return hyphae_cell_info(sweep->cell, &sweep->info);
}

static void s06_all_at_once_in_a_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct sweep sweep = {.cell = a, .code = 1};
	struct log *of_b = follow(w, b->cell);
	struct hyphae_cell_info info;
	static struct effect s[5];
	int i;

	for (i = 0; i < 5; i++)
		effect_start(w, &s[i], a, i ? 0 : HYPHAE_PREVIOUS, i == 2);
	s[0].hook = unsubscribe_all;
	s[0].arg = &sweep;
	assert_int_equal(hyphae_subscription_pause(s[3].subscription), 0);
	assert_int_equal(hyphae_cell_info(a, &info), 0);
	assert_int_equal(info.targets, 6);
	assert_int_equal(info.subscriptions, 5);
	put(a, 1);
	assert_int_equal(sweep.code, 0);
	assert_int_equal(sweep.info.subscriptions, 0);
	assert_int_equal(sweep.info.targets, 1);
	assert_effect(&s[0], "0,0>1,d");
	assert_effect(&s[1], "0,d");
	assert_effect(&s[2], "0,x,d");
	assert_effect(&s[3], "0,d");
	assert_effect(&s[4], "0,d");
	put(a, 2);
	assert_effect(&s[0], "0,0>1,d");
	/* Derived cells and their subscribers go on. */
	assert_log(of_b, "1,2,3");
	assert_int_equal(hyphae_unsubscribe_all(a), 0);
}

static void f05_cell_of_a_subscription(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);
	struct hyphae_cell *cell = hyphae_subscription_cell(log->subscription);
	struct hyphae_subscription *s = log->subscription;

	assert_ptr_equal(cell, a);
	let_go(w, a);
	stop(log);
	/* A reference of its own. */
	assert_int_equal(value(cell), 0);
	assert_null(hyphae_subscription_cell(s));
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(live_cells(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(s05_subscribe_in_a_function),
		CASE(s05_skip_initial_in_a_function),
		CASE(s05_subscribe_before_its_turn),
		CASE(s05_subscribe_to_a_later_cell),
		CASE(s05_subscribe_to_an_ending_cell),
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
		CASE(f04_pause_and_resume),
		CASE(f04_there_and_back),
		CASE(f04_block),
		CASE(f04_counted),
		CASE(f04_paused_and_blocked),
		CASE(f04_cell_ends_meanwhile),
		CASE(f04_cell_fails_meanwhile),
		CASE(f04_errors_meanwhile),
		CASE(f04_pause_in_its_own_call),
		CASE(f04_pause_before_the_end),
		CASE(f04_pause_in_the_last_call),
		CASE(f04_resume_in_a_wave),
		CASE(f04_resume_before_its_turn),
		CASE(f04_resume_by_another_cell),
		CASE(f04_once_and_pause),
		CASE(f04_unsubscribe_while_paused),
		CASE(f04_resumed_call_fails),
		CASE(f04_resumed_call_writes),
		CASE(s06_all_at_once_in_a_call),
		CASE(f05_cell_of_a_subscription),
	};

	return cmocka_run_group_tests_name("effect", tests, NULL, NULL);
}
