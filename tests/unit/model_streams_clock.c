/* SPDX-License-Identifier: MIT */
/*
 * The model's clock: which timer is next, and the timers of the program.
 *
 * Those of one moment run in the order in which they were started.  Which of
 * two operators comes first in one wave is nobody's business, so those that
 * start a timer in one wave have one number together, and if they are due at
 * one moment, too, the order in which subscribers are told is not looked at.
 * (Of two of which one follows the other it is known, and so they run here.)
 */
#include "model_streams.h"

#include <errno.h>

/* Before a wave. */
void ms_turn(struct ms_model *m)
{
	if (!m->group)
		m->turn = ++m->armings;
}

/* It is started; `due` is set. */
static void count_up(struct ms_model *m, struct ms_alarm *a)
{
	bool again = m->ringing && a->due == m->moment;

	a->order = ++m->armings;
	a->run = m->run;
	a->generation = again ? m->generation + 1 : 0;
}

static void arm(struct ms_model *m, struct ms_alarm *a, uint64_t due)
{
	a->due = due;
	count_up(m, a);
	a->armed = m->turn;
}

void ms_arm(struct ms_model *m, struct ms_node *n, uint64_t due)
{
	arm(m, &n->alarm, due);
}

/* ---- timers of the program -------------------------------------------------- */

void ms_timer_start(struct ms_model *m, int timer)
{
	struct ms_timer *t = &m->timers[timer];
	int64_t delay = t->recipe.delay;

	t->state = MS_RUNNING;
	t->alarm.due = ms_later(m->now, delay > 0, (uint64_t)delay);
	count_up(m, &t->alarm);
	t->alarm.armed = t->alarm.order;
}

bool ms_timer_stop(struct ms_model *m, int timer)
{
	struct ms_timer *t = &m->timers[timer];

	if (t->state != MS_RUNNING)
		return false;
	t->state = MS_OVER;
	t->alarm.armed = 0;
	return true;
}

/* What its function does. */
static void call(struct ms_model *m, int timer, uint64_t due)
{
	struct ms_timer *t = &m->timers[timer];
	const struct ms_timer_recipe *r = &t->recipe;

	ms_log_add(&m->log, (struct ms_call){.sub = MS_SUBS + timer,
					     .kind = HYPHAE_VALUE,
					     .value = (int64_t)due,
					     .code = (int)t->missed});
	t->missed = 0;
	t->called++;
	if (r->stops >= 0)
		t->stopped += ms_timer_stop(m, r->stops);
	if (r->starts >= 0 && m->timers[r->starts].state == MS_UNBORN)
		ms_timer_start(m, r->starts);
	if (t->called == r->detaches || !r->period || t->alarm.due < due)
		ms_timer_stop(m, timer);
	if (r->node >= 0 && m->nodes[r->node].handle)
		ms_write_later(
			m, (struct ms_write){.node = r->node,
					     .value = r->value + t->called});
}

static void fire(struct ms_model *m, int timer, uint64_t until)
{
	struct ms_timer *t = &m->timers[timer];
	uint64_t due = t->alarm.due, period = t->recipe.period, late = 0;

	if (t->recipe.flags & HYPHAE_TIMER_COALESCE)
		late = (until - due) / period;
	t->missed += late;
	t->alarm.due = due + (late ? late : 1) * period;
	count_up(m, &t->alarm);
	t->alarm.armed = t->alarm.order;
	if (late)
		return;
	call(m, timer, due);
}

/* ---- time goes on ------------------------------------------------------------ */

#define BOTH -1

static bool is_of(const struct ms_model *m, int i, int graph)
{
	if (graph == BOTH)
		return true;
	return graph ==
	       (i < m->count ? 0 : m->timers[i - m->count].recipe.graph);
}

static struct ms_alarm *alarm_at(struct ms_model *m, int i)
{
	return i < m->count ? &m->nodes[i].alarm
			    : &m->timers[i - m->count].alarm;
}

static bool before(const struct ms_alarm *a, const struct ms_alarm *b)
{
	if (a->due != b->due)
		return a->due < b->due;
	return a->armed != b->armed ? a->armed < b->armed : a->order < b->order;
}

static bool tied(const struct ms_alarm *a, const struct ms_alarm *b)
{
	return a->due == b->due && a->armed == b->armed;
}

/* The next that is due, or -1; and whether another is tied with it. */
static int next_due(struct ms_model *m, int graph, uint64_t until,
		    bool *ret_tied)
{
	const struct ms_alarm *first = NULL;
	int best = -1;

	*ret_tied = false;
	for (int i = 0; i < m->count + m->timer_count; i++) {
		const struct ms_alarm *a = alarm_at(m, i);

		if (!a->armed || a->due > until || !is_of(m, i, graph))
			continue;
		if (!first || before(a, first)) {
			first = a;
			best = i;
			*ret_tied = false;
		} else if (tied(a, first)) {
			*ret_tied = true;
		}
	}
	return best;
}

bool ms_deadline(struct ms_model *m, int graph, uint64_t *ret)
{
	bool ignored;
	int first = next_due(m, graph, UINT64_MAX, &ignored);

	if (first >= 0)
		*ret = alarm_at(m, first)->due;
	return first >= 0;
}

/* When time has jumped over several periods, that is told once. */
static bool skips(struct ms_model *m, struct ms_node *n, uint64_t until)
{
	const struct ms_recipe *r = &n->recipe;
	uint64_t late;

	if (r->op != MS_INTERVAL || !(r->c & HYPHAE_INTERVAL_COALESCE))
		return false;
	late = (until - n->alarm.due) / r->ns;
	if (late)
		ms_arm(m, n, n->alarm.due + late * r->ns);
	return late;
}

static void ring(struct ms_model *m, int at, uint64_t until)
{
	struct ms_node *n;

	ms_turn(m);
	if (at >= m->count) {
		fire(m, at - m->count, until);
		return;
	}
	n = &m->nodes[at];
	if (skips(m, n, until))
		return;
	n->alarm.armed = 0;
	n->rang = true;
	ms_propagate(m);
}

/* One is tied with others: until they have run nothing is before another. */
static void note_group(struct ms_model *m, const struct ms_alarm *a,
		       const struct ms_alarm *last, bool several)
{
	if (!m->group || !tied(a, last)) {
		m->group = several;
		m->turn = ++m->armings;
	}
	m->tied |= m->group;
}

/* False: those of this moment have started others too often. */
static bool begin(struct ms_model *m, const struct ms_alarm *a)
{
	unsigned int generation = a->run == m->run ? a->generation : 0;

	if (generation > m->limit)
		return false;
	m->generation = generation;
	m->moment = a->due;
	if (!m->jumps && a->due > m->now)
		m->now = a->due;
	return true;
}

/* What is due by then: how many timers ran, or -ELOOP. */
static int run_until(struct ms_model *m, int graph, uint64_t until)
{
	struct ms_alarm last = {.armed = 0};
	int count = 0, at;
	bool several;

	m->run++;
	while ((at = next_due(m, graph, until, &several)) >= 0) {
		const struct ms_alarm *a = alarm_at(m, at);

		if (!begin(m, a))
			break;
		note_group(m, a, &last, several);
		last = *a;
		m->ringing = true;
		ring(m, at, until);
		m->ringing = false;
		count++;
	}
	m->group = false;
	m->problems += at >= 0;
	return at >= 0 ? -ELOOP : count;
}

int ms_advance(struct ms_model *m, uint64_t ns)
{
	uint64_t until = m->now + ns;
	int r;

	if (m->jumps)
		m->now = until;
	r = run_until(m, BOTH, until);
	if (r < 0)
		return r;
	m->now = until;
	return 0;
}

int ms_dispatch(struct ms_model *m)
{
	return run_until(m, 0, m->now);
}
