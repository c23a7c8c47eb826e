/* SPDX-License-Identifier: MIT */
/* Group F: subscriptions that are held back for a while. */
#include <errno.h>

#include "effect.h"

FN(inc, in[0] + 1);

static int fail_at_one(struct node *node, const int64_t *in, size_t count,
		       int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] == 1 ? -EIO : 0;
}

/* arg: the cell to write to. */
static int write_back(struct effect *e, const struct hyphae_signal *signal)
{
	return hyphae_int64_set(e->arg, hyphae_int64_of(signal) + 1);
}

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

/* An event is not held: what it emits meanwhile is not made up for. */
static void f04_events(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	static struct effect e, once, old;

	effect_start(w, &e, a, 0, true);
	effect_start(w, &once, a, HYPHAE_ONCE, false);
	effect_start(w, &old, a, HYPHAE_PREVIOUS | HYPHAE_SKIP_INITIAL, false);
	put(a, 1);
	put(a, 1);
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 2);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "1,x,1");
	put(a, 3);
	assert_effect(&e, "1,x,1,x,3");
	assert_effect(&once, "1,d");
	assert_effect(&old, "1,1>1,1>2,2>3");
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 4);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "1,x,1,x,3,x,C,x,d");
}

/* Resumed before the event's wave has reached it: that event is told. */
static void f04_events_in_a_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, hyphae_event_new(w->graph, &hyphae_int64));
	static struct effect before, paused, behind;

	effect_start(w, &before, a, 0, false);
	effect_start(w, &paused, a, 0, false);
	effect_start(w, &behind, a, 0, false);
	before.arg = behind.arg = &paused;
	before.hook = behind.hook = resume_other;
	before.code = 2;
	behind.code = 4;
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 1);
	put(a, 2);
	assert_effect(&paused, "2");
	assert_int_equal(hyphae_subscription_pause(paused.subscription), 0);
	put(a, 3);
	put(a, 4);
	assert_int_equal(paused.code, 0);
	assert_effect(&paused, "2");
	put(a, 5);
	assert_effect(&paused, "2,5");
}

/* Held back, it is still a follower. */
static void f04_lazy_cells(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	static struct effect e, old;

	assert_int_equal(hyphae_cell_set_lazy(b->cell), 0);
	put(a, 1);
	begin(w);
	put(a, 2);
	assert_int_equal(b->runs, 0);
	effect_start(w, &e, b->cell, 0, false);
	assert_int_equal(hyphae_subscription_pause(e.subscription), 0);
	put(a, 3);
	assert_int_equal(b->runs, 2);
	assert_int_equal(hyphae_subscription_resume(e.subscription), 0);
	assert_effect(&e, "3,4");
	assert_int_equal(hyphae_unsubscribe(e.subscription), 0);
	put(a, 4);
	assert_int_equal(b->runs, 2);
	/* What it passes over is what the cell is woken to. */
	effect_start(w, &old, b->cell, HYPHAE_PREVIOUS | HYPHAE_SKIP_INITIAL,
		     false);
	assert_int_equal(b->runs, 3);
	put(a, 5);
	assert_effect(&old, "5>6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		CASE(f04_events),
		CASE(f04_events_in_a_wave),
		CASE(f04_lazy_cells),
	};

	return cmocka_run_group_tests_name("pause", tests, NULL, NULL);
}
