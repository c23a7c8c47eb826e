/* SPDX-License-Identifier: MIT */
/*
 * The model's cells of cells, of either kind: switch_map, merge_map and retry,
 * and the same as events.  See test_model_dynamic.c.
 */
#ifndef TEST_MODEL_DYNAMIC_INNER_H
#define TEST_MODEL_DYNAMIC_INNER_H

#include "model_dynamic.h"

static void drop_inner(struct mcell *m, int i)
{
	for (int k = 0; k < MAX_MADE; k++)
		if (m->made[i][k])
			m->made[i][k]->holds--;
	for (m->ninners--; i < m->ninners; i++) {
		m->inner[i] = m->inner[i + 1];
		memcpy(m->made[i], m->made[i + 1], sizeof(m->made[i]));
	}
}

static void drop_inners(struct mcell *m)
{
	while (m->ninners)
		drop_inner(m, m->ninners - 1);
}

/* The user's function has its turn. */
static void select_inner(struct mcell *m, int64_t value)
{
	const struct recipe *r = &recipes[m->recipe];
	const struct recipe *choice = &recipes[chosen(r, value)];
	struct mcell **made = m->made[m->ninners], *inner;

	runs_modelled[m->recipe]++;
	memset(made, 0, sizeof(m->made[0]));
	inner = make_model(chosen(r, value), made);
	if (!inner) {
		m->selected = (struct held){ERROR, choice->kind == NOTHING
							   ? choice->code
							   : -ESTALE};
		return;
	}
	m->selected = (struct held){VALUE, 0};
	m->newest = m->ninners;
	m->inner[m->ninners++] = inner;
}

/* The selector follows the outer cell.  True: it told something. */
static bool work_out_selector(struct mcell *m)
{
	struct mcell *outer = m->ndeps ? m->deps[0] : NULL;
	int max = recipes[m->recipe].max;

	if (!outer)
		return false;
	work_out_for(m, outer);
	if (outer->woke == round_number && outer->woken_by == m)
		outer->woken_by = &m->selected;
	if (!m->fresh && !news(outer))
		return false;
	if (outer->now.state == ERROR) {
		m->selected = outer->now;
	} else if (outer->now.state == NONE) {
		if (!outer->event)
			m->selected = (struct held){NONE, 0};
	} else if (brings(outer, &m->selected, m->fresh)) {
		if (recipes[m->recipe].kind == SWITCH)
			drop_inners(m);
		if (m->ninners < max)
			select_inner(m, outer->now.value);
		else
			m->selected = (struct held){ERROR, -ENOBUFS};
	}
	if (outer->end != OPEN) {
		m->selector = outer->end == FAILED ? FAILED : COMPLETED;
		m->ndeps = 0;
	}
	/* Also an error that is equal to the one before. */
	return m->fresh || m->selector == FAILED || outer->changed;
}

/* What the inner cell holds or emits becomes what this one does. */
static void hear(struct mcell *m, const struct mcell *inner, bool newly)
{
	bool failed = inner->ended_now && inner->end == FAILED;

	if (!brings(inner, m, newly) && !failed)
		return;
	if (inner->now.state == ERROR)
		take_error(m, inner->now.value, inner->end == FAILED);
	else if (inner->now.state == VALUE)
		take(m, VALUE, inner->now.value);
}

static void work_out_switch(struct mcell *m)
{
	const struct mcell *inner;
	bool selector_told;

	m->newest = -1;
	selector_told = work_out_selector(m) || m->fresh;
	inner = m->ninners ? m->inner[0] : NULL;
	if (m->ninners && work_out_for(m, m->inner[0])) {
		m->tainted = true;
		return;
	}
	if (m->selected.state != ERROR && inner)
		hear(m, inner, m->fresh || m->newest == 0);
	else if (m->selected.state == ERROR && selector_told)
		take_error(m, m->selected.value, m->selector == FAILED);
	if (m->selector != OPEN && (!inner || inner->end != OPEN))
		end_with(m, COMPLETED);
}

static void tell(struct mcell *m, struct held what, bool terminal)
{
	bool differs = m->event || m->now.state != what.state ||
		       m->now.value != what.value;

	if (what.state == NONE)
		return;
	if (what.state == ERROR)
		take_error(m, what.value, terminal);
	else
		take(m, VALUE, what.value);
	if (differs && m->end != FAILED)
		m->told[m->ntold++] = what;
}

static void work_out_merge(struct mcell *m)
{
	bool selector_told;
	int newest;

	m->newest = -1;
	selector_told = work_out_selector(m);
	newest = m->newest;
	selector_told |= m->fresh;
	if (selector_told && m->selected.state == ERROR)
		tell(m, m->selected, m->selector == FAILED);
	for (int i = 0; i < m->ninners; i++)
		work_out_for(m, m->inner[i]);
	for (int i = 0; i < m->ninners && m->end != FAILED; i++) {
		const struct mcell *inner = m->inner[i];

		if (brings(inner, m, i == newest || m->fresh) ||
		    (inner->ended_now && inner->end == FAILED))
			tell(m, inner->now, inner->end == FAILED);
	}
	for (int i = m->ninners; i-- > 0 && m->end != FAILED;)
		if (m->inner[i]->end != OPEN)
			drop_inner(m, i);
	if (!m->ninners && m->selector != OPEN)
		end_with(m, COMPLETED);
}

/* The next try; 0, or the error of a function that gave no cell. */
static int try_again(struct mcell *m)
{
	const struct recipe *r = &recipes[m->recipe];
	int choice = chosen(r, m->tried++);
	struct mcell *inner;

	runs_modelled[m->recipe]++;
	memset(m->made[0], 0, sizeof(m->made[0]));
	inner = make_model(choice, m->made[0]);
	if (!inner)
		return recipes[choice].kind == NOTHING ? recipes[choice].code
						       : -ESTALE;
	m->inner[m->ninners++] = inner;
	return 0;
}

static void work_out_retry(struct mcell *m)
{
	int max = recipes[m->recipe].max, e = 0;
	bool newly = m->fresh;

	for (;;) {
		if (!m->ninners) {
			newly = true;
			e = try_again(m);
		}
		if (!e) {
			work_out_for(m, m->inner[0]);
			if (m->inner[0]->now.state != ERROR)
				break;
		}
		if (m->tried > max)
			break;
		drop_inners(m);
	}
	if (e) {
		take_error(m, e, true);
		return;
	}
	hear(m, m->inner[0], newly);
	if (m->inner[0]->end != OPEN)
		end_with(m, COMPLETED);
}

#endif
