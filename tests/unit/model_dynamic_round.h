/* SPDX-License-Identifier: MIT */
/* A round of the model: all that is wanted is worked out, and who goes. */
#ifndef TEST_MODEL_DYNAMIC_ROUND_H
#define TEST_MODEL_DYNAMIC_ROUND_H

#include "model_dynamic_inner.h"

/* A new cell of one that has failed does so at once, and follows nothing. */
static bool has_failed(const struct mcell *m)
{
	bool failed = false;

	for (int i = 0; m->fresh && !m->woken && i < m->ndeps; i++)
		failed |= m->deps[i]->end == FAILED && !m->deps[i]->ended_now;
	return failed;
}

/* What closed a cycle holds that error until it is computed again. */
static bool is_stuck(const struct mcell *m)
{
	const struct recipe *r = &recipes[m->recipe];

	return r->style == RING && m->tainted && m->now.state == ERROR &&
	       m->now.value == -ELOOP && !mcells[r->inputs[0]]->changed;
}

/* True: it is not known, as it depends on itself. */
static bool work_out(struct mcell *m)
{
	bool plain = true;

	if (m->running) {
		closed = true;
		return true;
	}
	if (m->round == round_number)
		return m->tainted;
	m->round = round_number;
	if (m->end != OPEN || is_written(m->recipe))
		return false;
	if (is_stuck(m))
		return true;
	m->running = true;
	m->fresh |= m->tainted;
	m->tainted = false;
	m->woken = m->idle;
	if (m->idle)
		m->woke = round_number;
	m->idle = false;
	switch (recipes[m->recipe].kind) {
	case MAP:
	case COMBINE:
		for (int i = 0; i < m->ndeps && !has_failed(m); i++)
			plain &= !work_out_for(m, m->deps[i]);
		for (int i = 0; i < m->ndeps; i++)
			plain |= m->deps[i]->end == FAILED;
		if (plain && m->event)
			work_out_event_map(m);
		else if (plain)
			work_out_plain(m);
		m->tainted = !plain;
		break;
	case HOLD:
		work_out_for(m, m->deps[0]);
		work_out_hold(m);
		break;
	case COMPUTED:
		work_out_computed(m);
		break;
	case SWITCH:
		work_out_switch(m);
		break;
	case RETRY:
		work_out_retry(m);
		break;
	default:
		work_out_merge(m);
	}
	m->running = false;
	m->fresh = false;
	if (m->end != OPEN) {
		drop_inners(m);
		m->ndeps = 0;
	}
	return m->tainted;
}

static void count_targets(void)
{
	for (int i = 0; i < npool; i++)
		pool[i].targets = (size_t)pool[i].subs;
	for (int i = 0; i < npool; i++) {
		struct mcell *m = &pool[i];

		if (!m->used || m->idle)
			continue;
		for (int k = 0; k < m->ndeps; k++)
			m->deps[k]->targets++;
		for (int k = 0; k < m->ninners; k++)
			m->inner[k]->targets++;
	}
}

static void go_idle(struct mcell *m)
{
	m->idle = m->fresh = true;
	m->changed = false;
	m->now = (struct held){NONE, 0};
	m->tried = 0;
	if (m->selector == OPEN) { /* else nobody will select anew */
		m->selected = (struct held){NONE, 0};
		drop_inners(m);
	}
	if (recipes[m->recipe].kind == COMPUTED)
		m->ndeps = 0;
}

static void reach(struct mcell *m)
{
	if (m->reached)
		return;
	m->reached = true;
	for (int i = 0; i < m->ndeps; i++)
		reach(m->deps[i]);
	for (int i = 0; i < m->ninners; i++) {
		reach(m->inner[i]);
		for (int k = 0; k < MAX_MADE; k++)
			if (m->made[i][k])
				reach(m->made[i][k]);
	}
}

/*
 * Before the last round of a step nothing goes idle; and what goes may run
 * until then.
 */
static bool more_rounds, some_went;

/* Who is held, or followed by who is alive, stays; true if somebody went. */
static bool sweep(void)
{
	bool went = false;

	for (int i = 0; i < npool; i++)
		pool[i].reached = false;
	for (int i = 0; i < npool; i++)
		if (pool[i].used && (pool[i].subs || pool[i].holds))
			reach(&pool[i]);
	for (int i = 0; i < npool; i++) {
		if (!pool[i].used || pool[i].reached)
			continue;
		went = true;
		some_went |= more_rounds;
		pool[i].used = false;
		drop_inners(&pool[i]);
		for (int k = 0; k < ncells; k++)
			if (mcells[k] == &pool[i])
				mcells[k] = NULL;
	}
	return went;
}

/* Nothing follows it: it goes, or it goes idle, and so do others. */
static void go_quiet(void)
{
	bool again = true;

	while (again) {
		again = sweep();
		count_targets();
		for (int i = 0; i < npool; i++) {
			struct mcell *m = &pool[i];

			if (m->used && m->lazy && !m->idle && !m->targets &&
			    m->end == OPEN && !more_rounds) {
				go_idle(m);
				again = true;
			}
		}
	}
}

static void begin_round(void)
{
	round_number++;
	rounds_in_step++;
	closed = false;
	for (int i = 0; i < npool; i++) {
		struct mcell *m = &pool[i];

		if (m->event && m->now.state == VALUE)
			m->now = (struct held){NONE, 0};
		m->before = m->now;
		m->changed = m->ended_now = false;
		m->ntold = 0;
	}
}

static void finish_round(void)
{
	for (int i = 0; i < ncells; i++) {
		struct mcell *m = mcells[i];

		if (m && (!m->lazy || m->subs))
			work_out(m);
	}
	/* Lazy ones that were followed, and that nobody needed. */
	for (int i = 0; i < ncells; i++) {
		struct mcell *m = mcells[i];

		if (m && m->lazy && !m->idle)
			work_out(m);
	}
	/* Inner cells that an idle one has kept are nobody's else. */
	go_quiet();
	for (int i = 0; i < npool; i++)
		for (int k = 0; pool[i].idle && k < pool[i].ninners; k++)
			if (pool[i].used && !pool[i].inner[k]->lazy)
				work_out(pool[i].inner[k]);
	go_quiet();
}

#endif
