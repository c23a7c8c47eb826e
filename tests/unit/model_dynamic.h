/* SPDX-License-Identifier: MIT */
/*
 * The model of dynamic cells: what a program is, and what must come of it, by
 * plain recursion.  See test_model_dynamic.c.
 */
#ifndef TEST_MODEL_DYNAMIC_H
#define TEST_MODEL_DYNAMIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "run.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 2000000
#else
#define DEFAULT_STEPS 20000000
#endif
#define STEPS_A_PROGRAM 150

#define MAX_CELLS 80	/* that the program makes */
#define MAX_RECIPES 800 /* these, and those that functions make */
#define MAX_POOL 1500
#define MAX_SUBS 64
#define MAX_INPUTS 6
#define MAX_MADE 4
#define MAX_INNERS 8
#define MAX_TOLD 4096
#define CHOICES 3

/* ---- what both sides share: the program ------------------------------------- */

enum kind {
	SOURCE,
	MAP,
	COMBINE,
	COMPUTED,
	SWITCH,
	MERGE,
	/* Only chosen by functions: */
	EXISTING,
	NOTHING
};
static const char *const kind_names[] = {"source",   "map",	   "combine",
					 "computed", "switch_map", "merge_map",
					 "existing", "nothing"};

/* What a computed cell reads. */
enum style { ALL, BRANCH, SHRINK, SHIFT, BLIND, RING, MAKER, STYLES };

/* How a cell is computed; never changes. */
struct recipe {
	enum kind kind;
	enum style style;
	bool adopts; /* returns the first error that it reads */
	int inputs[MAX_INPUTS];
	int ninputs;
	int nested; /* made first, and is input 0; or what a MAKER makes; -1 */
	int choices[CHOICES];
	int max; /* MERGE */
	int64_t factor, offset;
	int64_t fails_at, fails_of; /* a sum % fails_of that is an error */
	int code;
	bool loopy; /* may come to depend on itself */
	bool multi; /* may have several waves */
};

static struct recipe recipes[MAX_RECIPES];
static int ncells, nrecipes;
static bool eager, all_lazy;
static bool has_rings; /* and merge_map, but nothing that is lazy */
static unsigned long long seed;
static unsigned long step_number;
static const char *step_name;

#define FAIL(...)                                                              \
	do {                                                                   \
		print_error(__VA_ARGS__);                                      \
		fail_msg(" at step %lu (%s); SEED=%llu", step_number,          \
			 step_name, seed);                                     \
	} while (0)

static uint64_t random_state;

static unsigned int dice(unsigned int sides)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)((random_state >> 20) % sides);
}

/* ret = the recipe's function of the sum of what it was given. */
static int cook(const struct recipe *r, int64_t sum, int64_t *ret)
{
	if (r->fails_at >= 0 && sum % r->fails_of == r->fails_at)
		return r->code;
	*ret = (sum * r->factor + r->offset) % 11;
	return 0;
}

/* How a side reads a cell of the program's, and one that it makes. */
struct reader {
	int (*read)(void *side, int cell, int64_t *ret);
	int (*blind)(void *side, int cell, int64_t *ret);
	int (*make)(void *side, int recipe, int64_t *ret);
	void *side;
};

static int read_range(const struct recipe *r, const struct reader *by,
		      int64_t from, int64_t to, int64_t *sum)
{
	for (int64_t i = from; i < to; i++) {
		int64_t value = 0;
		int e = by->read(by->side, r->inputs[i], &value);

		if (e && r->adopts)
			return e;
		*sum += e ? 5 : value;
	}
	return 0;
}

/* The function of a computed cell. */
static int compute(const struct recipe *r, const struct reader *by,
		   int64_t *ret)
{
	int64_t sum = 0, n = r->ninputs, at;
	int e = read_range(r, by, 0, r->style == ALL ? n : 1, &sum);

	if (e)
		return e;
	switch (r->style) {
	case BRANCH:
		at = 1 + sum % (n - 1);
		e = read_range(r, by, at, at + 1, &sum);
		break;
	case SHRINK:
		e = read_range(r, by, 1, 1 + sum % n, &sum);
		break;
	case SHIFT:
		at = 1 + sum % (n - 1);
		e = read_range(r, by, at, n, &sum);
		if (!e)
			e = read_range(r, by, 0, at, &sum);
		break;
	case BLIND:
		by->blind(by->side, r->inputs[1], ret);
		break;
	case RING:
		at = sum % 3 == 0 ? 1 : 2;
		e = read_range(r, by, at, at + 1, &sum);
		break;
	case MAKER:
		e = by->make(by->side, r->nested, &at);
		sum += e ? 3 : at;
		break;
	default:
		break;
	}
	return e ? e : cook(r, sum, ret);
}

static int chosen(const struct recipe *r, int64_t value)
{
	return r->choices[value % CHOICES];
}

/* ---- the model --------------------------------------------------------------- */

enum state { NONE, VALUE, ERROR };
enum end { OPEN, COMPLETED, FAILED };

struct held {
	enum state state;
	int64_t value; /* or the error's code */
};

struct mcell {
	int recipe;
	bool used;
	struct held now, before;
	enum end end;
	bool changed, ended_now; /* in this round */
	unsigned int round;	 /* in which it was worked out */
	bool running, reached;
	bool lazy, idle, woken;
	bool fresh;   /* works itself out whatever has changed */
	bool tainted; /* depends on itself; not known */
	int holds;    /* references of the program's and of scopes */
	int subs;
	size_t targets;
	struct mcell *deps[MAX_INPUTS + 1];
	int ndeps;
	/* SWITCH, MERGE: the selector, and the inner cells, oldest first. */
	struct held selected; /* its error */
	enum end selector;
	struct mcell *inner[MAX_INNERS];
	struct mcell *made[MAX_INNERS][MAX_MADE];
	int ninners, newest; /* newest: linked in this round, or -1 */
	struct held told[MAX_INNERS + 2]; /* MERGE: in this round */
	int ntold;
};

static struct mcell pool[MAX_POOL];
static int npool;			/* used so far */
static struct mcell *mcells[MAX_CELLS]; /* NULL: gone */
static unsigned int round_number;
static int runs_modelled[MAX_RECIPES];
static bool lost_way; /* only values count in this step */
static int rounds_in_step;
static bool vague;  /* who follows what is not known, in a cycle */
static bool closed; /* there is a cycle */

static bool news(const struct mcell *m)
{
	return m->changed || m->ended_now;
}

static void take(struct mcell *m, enum state state, int64_t value)
{
	if (m->now.state == state && (state == NONE || m->now.value == value))
		return;
	m->now = (struct held){state, state == NONE ? 0 : value};
	m->changed = true;
}

static void end_with(struct mcell *m, enum end end)
{
	if (m->end != OPEN)
		return;
	m->end = end;
	m->ended_now = true;
}

static void take_error(struct mcell *m, int64_t code, bool terminal)
{
	take(m, ERROR, code);
	if (terminal)
		end_with(m, FAILED);
}

static struct mcell *cell_new(int recipe)
{
	struct mcell *m = pool;

	while (m < pool + npool && m->used)
		m++;
	if (m == pool + npool && ++npool == MAX_POOL)
		FAIL("the model has no room");
	*m = (struct mcell){.recipe = recipe,
			    .used = true,
			    .fresh = true,
			    .holds = 1,
			    .lazy = all_lazy && recipes[recipe].kind != SOURCE,
			    .newest = -1};
	m->idle = m->lazy;
	return m;
}

/* The cell that a recipe gives; what is made for it is added to `made`. */
static struct mcell *make_model(int recipe, struct mcell **made)
{
	const struct recipe *r = &recipes[recipe];
	struct mcell *m;

	if (r->kind == NOTHING)
		return NULL;
	if (r->kind == EXISTING)
		return mcells[r->inputs[0]];
	m = cell_new(recipe);
	while (*made)
		made++;
	*made = m;
	if (r->kind == SOURCE) {
		m->now = (struct held){VALUE, r->offset};
		m->fresh = false;
		return m;
	}
	if (r->kind == COMPUTED)
		return m;
	for (int i = 0; i < r->ninputs; i++)
		m->deps[m->ndeps++] = i == 0 && r->nested >= 0
					      ? make_model(r->nested, made + 1)
					      : mcells[r->inputs[i]];
	return m;
}

static bool work_out(struct mcell *m);

static void run_function(struct mcell *m, int64_t sum)
{
	int64_t result = 0;
	int e = cook(&recipes[m->recipe], sum, &result);

	runs_modelled[m->recipe]++;
	if (e)
		take_error(m, e, false);
	else
		take(m, VALUE, result);
}

/* map and combine: errors pass by, the first that is for good before all. */
static void work_out_plain(struct mcell *m)
{
	const struct mcell *bad = NULL;
	int values = 0, ended = 0, changed = 0;
	int64_t sum = 0;

	for (int i = 0; i < m->ndeps; i++) {
		const struct mcell *in = m->deps[i];

		values += in->now.state == VALUE;
		ended += in->end != OPEN;
		changed += in->changed;
		sum += in->now.value;
		if (in->now.state == ERROR &&
		    (!bad || (in->end == FAILED && bad->end != FAILED)))
			bad = in;
	}
	if (values == m->ndeps) {
		if (m->fresh || changed)
			run_function(m, sum);
	} else if (bad) {
		take_error(m, bad->now.value, bad->end == FAILED);
	} else {
		take(m, NONE, 0);
	}
	if (ended == m->ndeps)
		end_with(m, COMPLETED);
}

/* ---- the model's computed cells ------------------------------------------- */

static int model_depend(struct mcell *m, struct mcell *on, int64_t *ret)
{
	int i = 0;

	while (i < m->ndeps && m->deps[i] != on)
		i++;
	if (i == m->ndeps)
		m->deps[m->ndeps++] = on;
	if (work_out(on))
		m->tainted = true;
	*ret = on->now.value;
	if (on->now.state == VALUE)
		return 0;
	return on->now.state == ERROR ? (int)on->now.value : -ENODATA;
}

static int model_read(void *side, int cell, int64_t *ret)
{
	struct mcell *m = side;

	if (m->tainted)
		return -ELOOP;
	return mcells[cell] ? model_depend(m, mcells[cell], ret) : -ESTALE;
}

static int model_blind(void *side, int cell, int64_t *ret)
{
	(void)side;
	(void)cell;
	*ret = 0;
	return 0;
}

static int model_make(void *side, int recipe, int64_t *ret)
{
	struct mcell *made[MAX_MADE] = {NULL};
	struct mcell *m = make_model(recipe, made);

	m->holds = 0;
	return model_depend(side, m, ret);
}

static void run_computed(struct mcell *m)
{
	struct reader by = {model_read, model_blind, model_make, m};
	int64_t result = 0;
	bool open = false;
	int e;

	m->ndeps = 0;
	runs_modelled[m->recipe]++;
	e = compute(&recipes[m->recipe], &by, &result);
	if (m->tainted)
		return;
	if (e)
		take_error(m, e, false);
	else
		take(m, VALUE, result);
	for (int i = 0; i < m->ndeps; i++)
		open |= m->deps[i]->end == OPEN;
	if (!open)
		end_with(m, COMPLETED);
}

static void work_out_computed(struct mcell *m)
{
	/* What it followed may be on the way to itself no longer. */
	bool touched = m->fresh || recipes[m->recipe].loopy;

	/* All of them: they were followed when the round began. */
	for (int i = 0; !recipes[m->recipe].loopy && i < m->ndeps; i++) {
		work_out(m->deps[i]);
		touched |= news(m->deps[i]);
	}
	if (touched)
		run_computed(m);
}

/* ---- the model's cells of cells ------------------------------------------------ */

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
	work_out(outer);
	if (!m->fresh && !news(outer))
		return false;
	if (outer->now.state == ERROR) {
		m->selected = outer->now;
	} else if (outer->now.state == NONE) {
		m->selected = (struct held){NONE, 0};
	} else if (m->fresh || outer->changed) {
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

static void work_out_switch(struct mcell *m)
{
	const struct mcell *inner;

	work_out_selector(m);
	inner = m->ninners ? m->inner[0] : NULL;
	if (m->ninners && work_out(m->inner[0])) {
		m->tainted = true;
		return;
	}
	if (m->selected.state == ERROR)
		take_error(m, m->selected.value, m->selector == FAILED);
	else if (inner && inner->now.state == ERROR)
		take_error(m, inner->now.value, inner->end == FAILED);
	else if (inner && inner->now.state == VALUE)
		take(m, VALUE, inner->now.value);
	if (m->selector != OPEN && (!inner || inner->end != OPEN))
		end_with(m, COMPLETED);
}

static void tell(struct mcell *m, struct held what, bool terminal)
{
	bool differs = m->now.state != what.state || m->now.value != what.value;

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
		work_out(m->inner[i]);
	for (int i = 0; i < m->ninners && m->end != FAILED; i++) {
		const struct mcell *inner = m->inner[i];

		if (i == newest || m->fresh || inner->changed ||
		    (inner->ended_now && inner->end == FAILED))
			tell(m, inner->now, inner->end == FAILED);
	}
	for (int i = m->ninners; i-- > 0 && m->end != FAILED;)
		if (m->inner[i]->end != OPEN)
			drop_inner(m, i);
	if (!m->ninners && m->selector != OPEN)
		end_with(m, COMPLETED);
}

/* ---- a round: all that is wanted is worked out ---------------------------------- */

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
	if (m->end != OPEN || recipes[m->recipe].kind == SOURCE)
		return false;
	if (is_stuck(m))
		return true;
	m->running = true;
	m->fresh |= m->tainted;
	m->tainted = false;
	m->woken = m->idle;
	m->idle = false;
	switch (recipes[m->recipe].kind) {
	case MAP:
	case COMBINE:
		for (int i = 0; i < m->ndeps && !has_failed(m); i++)
			plain &= !work_out(m->deps[i]);
		for (int i = 0; i < m->ndeps; i++)
			plain |= m->deps[i]->end == FAILED;
		if (plain)
			work_out_plain(m);
		m->tainted = !plain;
		break;
	case COMPUTED:
		work_out_computed(m);
		break;
	case SWITCH:
		work_out_switch(m);
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
			    m->end == OPEN) {
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
