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
	EVENT, /* a source that holds nothing */
	MAP,
	HOLD,
	COMBINE,
	COMPUTED,
	SWITCH,
	MERGE,
	RETRY,
	/* Only chosen by functions: */
	EXISTING,
	NOTHING
};
static const char *const kind_names[] = {
	"source",     "event",	   "map",   "hold",	"combine", "computed",
	"switch_map", "merge_map", "retry", "existing", "nothing"};

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
	int max;    /* MERGE; RETRY: how often again */
	bool event; /* SWITCH, MERGE, RETRY: it makes one; or it is one */
	int64_t factor, offset;
	int64_t fails_at, fails_of; /* a sum % fails_of that is an error */
	int code;
	bool loopy;  /* may come to depend on itself */
	bool multi;  /* may have several waves */
	bool vacant; /* may hold nothing, for it follows events */
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

static bool is_written(int recipe)
{
	return recipes[recipe].kind == SOURCE || recipes[recipe].kind == EVENT;
}

static bool has_choices(const struct recipe *r)
{
	return r->kind == SWITCH || r->kind == MERGE || r->kind == RETRY;
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
	bool event;	      /* its value is that of this round */
	unsigned int woke;    /* the round in which it last did */
	const void *woken_by; /* a cell, or &selected of one */
	bool fresh;	      /* works itself out whatever has changed */
	bool tainted;	      /* depends on itself; not known */
	int holds;	      /* references of the program's and of scopes */
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
	int tried;	     /* RETRY */
	struct held told[MAX_INNERS + 2]; /* MERGE: in this round */
	int ntold;
};

static struct mcell pool[MAX_POOL];
static int npool;			/* used so far */
static struct mcell *mcells[MAX_CELLS]; /* NULL: gone */
static unsigned int round_number;
static int runs_modelled[MAX_RECIPES];
static bool unclear;  /* the program ends here */
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
	if (m->now.state == state && (state == NONE || m->now.value == value) &&
	    (!m->event || state == NONE))
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

/*
 * Does the input bring something to a cell that follows it, or begins to
 * (`newly`)?  What an event has emitted is over, but an error of it stands, and
 * as it wakes it speaks to who wakes it, `by`.  Whether others were in time is
 * not defined, nor is it for who wakes in a wave in which the event was awake.
 */
static bool brings(const struct mcell *in, const void *by, bool newly)
{
	if (!newly)
		return in->changed;
	if (!in->event)
		return in->now.state != NONE;
	if (in->now.state == ERROR)
		return true;
	if (!in->changed)
		return false;
	if (in->woke == round_number)
		unclear |= in->woken_by != by;
	return in->woke == round_number;
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
			    .lazy = all_lazy && !is_written(recipe),
			    .event = recipes[recipe].event,
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
	if (is_written(recipe)) {
		if (r->kind == SOURCE)
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

/* Of another that m follows. */
static bool work_out_for(const struct mcell *m, struct mcell *in)
{
	bool awake = !in->idle;

	if (!awake)
		in->woken_by = m;
	if (work_out(in))
		return true;
	unclear |= awake && in->event && in->changed &&
		   m->woke == round_number && in->woke != round_number;
	return false;
}

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

/* A map of an event. */
static void work_out_event_map(struct mcell *m)
{
	const struct mcell *in = m->deps[0];

	if (brings(in, m, m->fresh) && in->now.state == VALUE)
		run_function(m, in->now.value);
	else if (in->now.state == ERROR &&
		 (brings(in, m, m->fresh) || in->end == FAILED))
		take_error(m, in->now.value, in->end == FAILED);
	if (in->end != OPEN)
		end_with(m, COMPLETED);
}

static void work_out_hold(struct mcell *m)
{
	const struct mcell *in = m->deps[0];

	if (in->now.state == ERROR)
		take_error(m, in->now.value, in->end == FAILED);
	else if (in->now.state == VALUE && brings(in, m, m->fresh))
		take(m, VALUE, in->now.value);
	else if (m->now.state == NONE)
		take(m, VALUE, recipes[m->recipe].offset);
	if (in->end != OPEN)
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
	if (work_out_for(m, on))
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
		work_out_for(m, m->deps[i]);
		touched |= news(m->deps[i]);
	}
	if (touched)
		run_computed(m);
}

#endif
