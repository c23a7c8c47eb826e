/* SPDX-License-Identifier: MIT */
/* The model's operators of time. */
#include "model_streams.h"

#include <errno.h>

/* What is pending lies in queue[0]; the newest takes the place of another. */
static void pend(struct ms_node *n, int64_t value)
{
	n->queue[0].count = 0;
	ms_push(&n->queue[0], (struct ms_entry){.value = value});
}

static bool pending(const struct ms_node *n)
{
	return n->queue[0].count != 0;
}

static void tell_pending(struct ms_model *m, struct ms_node *n)
{
	if (pending(n))
		ms_emit(m, n, ms_shift(&n->queue[0]).value);
}

static void stop(struct ms_node *n)
{
	n->alarm.armed = 0;
	n->window = false;
	n->queue[0].count = 0;
}

enum came { NOTHING_CAME, VALUE_CAME, ERROR_CAME, LOSS_CAME };

/* What the input brought; an error has been passed on, and all else dropped. */
static enum came came(struct ms_model *m, struct ms_node *n)
{
	const struct ms_seen *in = &n->seen[0];

	if (in->failed) {
		stop(n);
		ms_fail(n, in->code);
		return ERROR_CAME;
	}
	if (!(in->news & MS_NEWS))
		return NOTHING_CAME;
	if (in->holds == MS_VALUE)
		return VALUE_CAME;
	stop(n);
	ms_pass(m, n, in);
	return in->holds == MS_ERROR ? ERROR_CAME : LOSS_CAME;
}

/* What is pending is told first, then the end. */
static void end(struct ms_model *m, struct ms_node *n)
{
	if (n->ended || !n->seen[0].ended)
		return;
	tell_pending(m, n);
	ms_complete(n);
}

static void debounce(struct ms_model *m, struct ms_node *n)
{
	if (n->rang)
		tell_pending(m, n);
	if (came(m, n) == VALUE_CAME) {
		pend(n, n->seen[0].value);
		ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
	}
	end(m, n);
}

/* a: edges; window: one is open. */
static void throttle(struct ms_model *m, struct ms_node *n, bool first)
{
	bool leading = n->recipe.a & HYPHAE_LEADING;
	bool trailing = n->recipe.a & HYPHAE_TRAILING;

	if (n->rang) {
		n->window = pending(n);
		tell_pending(m, n);
		if (n->window)
			ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
	}
	if (came(m, n) == VALUE_CAME) {
		int64_t value = n->seen[0].value;

		if (first) {
			ms_emit(m, n, value);
		} else if (n->window) {
			if (trailing)
				pend(n, value);
		} else {
			if (leading)
				ms_emit(m, n, value);
			else
				pend(n, value);
			n->window = true;
			ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
		}
	}
	end(m, n);
}

static void audit(struct ms_model *m, struct ms_node *n)
{
	if (n->rang)
		tell_pending(m, n);
	if (came(m, n) == VALUE_CAME) {
		if (!n->alarm.armed)
			ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
		pend(n, n->seen[0].value);
	}
	end(m, n);
}

/*
 * since: when it was made, or when something came first on a clock that was not
 * so far.  The end of the period that it is in.
 */
static uint64_t period_end(const struct ms_model *m, struct ms_node *n)
{
	uint64_t passed;

	if (n->since > m->now)
		n->since = m->now;
	passed = m->now - n->since;
	return ms_later(n->since, passed / n->recipe.ns + 1, n->recipe.ns);
}

static void sample_time(struct ms_model *m, struct ms_node *n)
{
	if (n->rang)
		tell_pending(m, n);
	if (came(m, n) == VALUE_CAME) {
		if (!n->alarm.armed)
			ms_arm(m, n, period_end(m, n));
		pend(n, n->seen[0].value);
	}
	end(m, n);
}

/* a: capacity. */
static void buffer_time(struct ms_model *m, struct ms_node *n)
{
	const struct ms_seen *in = &n->seen[0];
	struct ms_queue *q = &n->queue[0];

	if (in->failed) {
		stop(n);
		ms_fail(n, in->code);
		return;
	}
	if (n->rang && q->count)
		ms_flush(m, n);
	if (in->news & MS_NEWS && in->holds == MS_VALUE) {
		ms_push(q, (struct ms_entry){.value = in->value});
		if (q->count == (size_t)n->recipe.a) {
			ms_flush(m, n);
			n->alarm.armed = 0;
		} else if (!n->alarm.armed) {
			ms_arm(m, n, period_end(m, n));
		}
	} else if (in->news & MS_NEWS) {
		n->alarm.armed = 0;
		ms_pass(m, n, in);
		n->more = in->ended && q->count;
		if (n->more)
			return; /* what was gathered comes after it */
	}
	if (in->ended && q->count)
		ms_flush(m, n);
	if (in->ended)
		ms_complete(n);
}

/* Something comes to the queue of a delay; false: it failed. */
static bool delay_put(struct ms_model *m, struct ms_node *n)
{
	enum hyphae_overflow policy = (enum hyphae_overflow)n->recipe.b;
	const struct ms_seen *in = &n->seen[0];
	struct ms_queue *q = &n->queue[0];
	size_t capacity =
		policy == HYPHAE_OVERFLOW_LATEST ? 1 : (size_t)n->recipe.a;

	n->dropped += q->count == capacity;
	if (q->count == capacity && policy == HYPHAE_OVERFLOW_FAIL) {
		n->dropped += q->count;
		ms_fail(n, -EOVERFLOW);
		return false;
	}
	if (q->count == capacity && policy == HYPHAE_OVERFLOW_DROP_NEWEST)
		return true;
	if (q->count == capacity)
		ms_shift(q);
	ms_push(q, (struct ms_entry){.due = ms_later(m->now, 1, n->recipe.ns),
				     .holds = in->holds,
				     .value = in->value,
				     .code = in->code});
	return true;
}

static bool ripe(const struct ms_model *m, const struct ms_queue *q)
{
	return q->count && q->entries[0].due <= m->now;
}

/* The timer is for the first that waits, or the end. */
static void delay_arm(struct ms_model *m, struct ms_node *n)
{
	const struct ms_queue *q = &n->queue[0];
	uint64_t due = q->count ? q->entries[0].due : n->since;

	if (!q->count && !n->flag)
		n->alarm.armed = 0;
	else if (!n->alarm.armed || n->alarm.due != due)
		ms_arm(m, n, due);
}

/* That an error is over is nothing if it was dropped itself. */
static void tell_entry(struct ms_model *m, struct ms_node *n,
		       struct ms_entry entry)
{
	if (entry.holds == MS_VALUE)
		ms_emit(m, n, entry.value);
	else if (entry.holds == MS_ERROR)
		ms_error(n, entry.code);
	else
		ms_nothing(n);
}

/*
 * flag: the input has completed, which is told at `since`; rang or more_now:
 * it is time for the first that waits.
 */
static void delay(struct ms_model *m, struct ms_node *n)
{
	const struct ms_seen *in = &n->seen[0];
	struct ms_queue *q = &n->queue[0];
	bool time = n->rang || n->more_now;

	if (in->failed) {
		n->dropped += q->count;
		ms_fail(n, in->code);
		return;
	}
	if (time && ripe(m, q)) {
		tell_entry(m, n, ms_shift(q));
	}
	if (in->news & MS_NEWS && !delay_put(m, n))
		return;
	if (in->ended && !n->flag) {
		n->flag = true;
		n->since = ms_later(m->now, 1, n->recipe.ns);
	}
	n->more = time && ripe(m, q);
	if (n->more)
		return;
	if (time && n->flag && !q->count && n->since <= m->now)
		ms_complete(n);
	else
		delay_arm(m, n);
}

static void timeout(struct ms_model *m, struct ms_node *n, bool first)
{
	const struct ms_seen *in = &n->seen[0];

	if (n->rang) {
		ms_fail(n, -ETIMEDOUT);
		return;
	}
	if (in->failed) {
		ms_fail(n, in->code);
		return;
	}
	if (in->news & MS_NEWS)
		ms_pass(m, n, in);
	if (first || (in->news & MS_NEWS && in->holds != MS_NOTHING))
		ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
	if (in->ended)
		ms_complete(n);
}

/* ---- by the clock alone ------------------------------------------------------ */

/* last: how many periods have passed. */
static void interval(struct ms_model *m, struct ms_node *n, bool first)
{
	uint64_t next; /* overflows: there is none */

	n->last =
		first ? 0 : (int64_t)((n->alarm.due - n->since) / n->recipe.ns);
	ms_emit(m, n, n->last % MS_NUMBERS);
	next = n->since + (uint64_t)(n->last + 1) * n->recipe.ns;
	if (next > n->since)
		ms_arm(m, n, next);
}

static void after(struct ms_model *m, struct ms_node *n, bool first)
{
	if (first) {
		ms_arm(m, n, ms_later(m->now, 1, n->recipe.ns));
		return;
	}
	ms_emit(m, n, 1);
	ms_complete(n);
}

/* number: of values told; a: how many there are, beginning with b; c: how. */
static void array(struct ms_model *m, struct ms_node *n)
{
	int64_t value = 0;
	int r = 1;

	if (n->recipe.c > MS_ITERATES)
		r = ms_fn_next(&n->recipe, &n->calls, &value);
	else if (n->number == (size_t)n->recipe.a)
		r = 0;
	else
		value = n->recipe.b + (int64_t)n->number / 2;
	if (r < 0)
		ms_fail(n, r);
	if (r == 0)
		ms_complete(n);
	if (r <= 0)
		return;
	ms_emit(m, n, value);
	n->number++;
	ms_arm(m, n, ms_later(n->since, n->number, n->recipe.ns));
}

void ms_run_timed(struct ms_model *m, struct ms_node *n, bool first)
{
	if (first)
		n->since = m->now;
	switch (n->recipe.op) {
	case MS_DEBOUNCE:
		debounce(m, n);
		break;
	case MS_THROTTLE:
		throttle(m, n, first);
		break;
	case MS_AUDIT:
		audit(m, n);
		break;
	case MS_SAMPLE_TIME:
		sample_time(m, n);
		break;
	case MS_BUFFER_TIME:
		buffer_time(m, n);
		break;
	case MS_DELAY:
		delay(m, n);
		break;
	case MS_TIMEOUT:
		timeout(m, n, first);
		break;
	case MS_INTERVAL:
		interval(m, n, first);
		break;
	case MS_AFTER:
		after(m, n, first);
		break;
	default:
		array(m, n);
	}
}
