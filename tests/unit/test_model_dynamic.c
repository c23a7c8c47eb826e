/* SPDX-License-Identifier: MIT */
/*
 * Random programs of dynamic cells against a model that shares no code with
 * the library: after each step it works out, by plain recursion from what is
 * asked for to what that reads, what every cell holds, what follows what, who
 * is alive and who is idle.  It has no heights, no queue and no waves.
 *
 * After each step these must be equal:
 *  - the value, error and end of each cell that the program holds,
 *  - how often each function ran: once in a wave, and only if what it read in
 *    its run before has changed,
 *  - what each subscriber was told: one call a wave; in order of subscription,
 *  - targets, idleness, and how many cells and subscriptions there are;
 * a cell must be higher than what it follows, and in the end nothing is left.
 *
 * Where the model cannot know the way it looks at where that led to: in an
 * eager graph, if a function read a cell that was idle, and for what follows a
 * merge_map at the values alone.
 * For a cell that depends on itself: somebody must hold -ELOOP, and everybody
 * else what his function makes of what the others hold.
 *
 * STEPS=n sets the number of steps; the seed is test_seed()'s.
 */
#include <setjmp.h>
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
	struct held was = m->selected;
	int max = recipes[m->recipe].max;
	bool called = false;

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
		called = m->selected.state == VALUE;
	}
	if (outer->end != OPEN) {
		m->selector = outer->end == FAILED ? FAILED : COMPLETED;
		m->ndeps = 0;
	}
	return called || m->fresh || m->selector == FAILED ||
	       was.state != m->selected.state || was.value != m->selected.value;
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

/* ---- the real thing ---------------------------------------------------------------- */

static struct hyphae_graph *graph;
static struct hyphae_cell *cells[MAX_CELLS];
static bool held[MAX_CELLS];
static bool pinned[MAX_CELLS];
static int runs[MAX_RECIPES];
static bool runs_now[MAX_CELLS];

static int recipe_of(const void *ctx)
{
	return (int)((const struct recipe *)ctx - recipes);
}

static int real_combine(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	runs[recipe_of(ctx)]++;
	return cook(ctx, sum, ret);
}

static int real_map(void *ret, const void *input, void *ctx)
{
	return real_combine(ret, &input, 1, ctx);
}

static int real_read(void *side, int cell, int64_t *ret)
{
	int r = hyphae_int64_get(cells[cell], ret);

	(void)side;
	/* Nor is it known what a function sees that runs inside another. */
	lost_way |= r == -ENODATA || runs_now[cell];
	return r;
}

static int real_blind(void *side, int cell, int64_t *ret)
{
	(void)side;
	hyphae_untracked_begin();
	hyphae_int64_get(cells[cell], ret);
	hyphae_untracked_end();
	return 0;
}

static struct hyphae_cell *make_real(int recipe);

static int real_make(void *side, int recipe, int64_t *ret)
{
	struct hyphae_cell *cell = make_real(recipe);
	int r = cell ? hyphae_int64_get(cell, ret) : -errno;

	(void)side;
	lost_way |= r == -ENODATA;
	hyphae_cell_unref(cell);
	return r;
}

static int real_computed(void *ret, void *ctx)
{
	struct reader by = {real_read, real_blind, real_make, NULL};
	int at = recipe_of(ctx), r;

	runs[at]++;
	if (at < MAX_CELLS)
		runs_now[at] = true;
	r = compute(ctx, &by, ret);
	if (at < MAX_CELLS)
		runs_now[at] = false;
	return r;
}

static struct hyphae_cell *real_select(const void *value, void *ctx)
{
	runs[recipe_of(ctx)]++;
	return make_real(chosen(ctx, *(const int64_t *)value));
}

static struct hyphae_cell *make_real(int recipe)
{
	struct recipe *r = &recipes[recipe];
	struct hyphae_cell *in[MAX_INPUTS];

	for (int i = 0; i < r->ninputs; i++)
		in[i] = cells[r->inputs[i]];
	if (r->nested >= 0 && r->kind != COMPUTED)
		in[0] = make_real(r->nested);
	switch (r->kind) {
	case SOURCE:
		return hyphae_int64_new(graph, r->offset);
	case MAP:
		return hyphae_map(in[0], &hyphae_int64, real_map, r);
	case COMBINE:
		return hyphae_combine(in, (size_t)r->ninputs, &hyphae_int64,
				      real_combine, r);
	case COMPUTED:
		return hyphae_computed(graph, &hyphae_int64, real_computed, r);
	case SWITCH:
		return hyphae_switch_map(in[0], &hyphae_int64, real_select, r);
	case MERGE:
		return hyphae_merge_map(in[0], &hyphae_int64, (size_t)r->max,
					real_select, r);
	case EXISTING:
		return in[0];
	default:
		errno = -r->code;
		return NULL;
	}
}

/* ---- subscribers ------------------------------------------------------------------- */

enum kind_told { TOLD_VALUE, TOLD_ERROR, TOLD_COMPLETE, TOLD_FAILURE };

struct told {
	int sub;
	enum kind_told kind;
	int64_t value;
};

struct story {
	struct told told[MAX_TOLD];
	int count;
};

struct sub {
	int cell;
	bool alive;
	struct hyphae_subscription *handle;
	struct held last; /* what it was told */
	struct mcell *m;
};

static struct story real, modelled;
static struct sub subs[MAX_SUBS];
static int nsubs;

static void told(struct story *story, int sub, enum kind_told kind,
		 int64_t value)
{
	if (story->count < MAX_TOLD)
		story->told[story->count++] = (struct told){sub, kind, value};
}

static int real_subscriber(const struct hyphae_signal *signal, void *ctx)
{
	struct sub *sub = ctx;
	int at = (int)(sub - subs);

	if (signal->kind == HYPHAE_VALUE) {
		sub->last = (struct held){VALUE, hyphae_int64_of(signal)};
		told(&real, at, TOLD_VALUE, hyphae_int64_of(signal));
	} else if (signal->kind == HYPHAE_COMPLETE) {
		told(&real, at, TOLD_COMPLETE, 0);
	} else {
		sub->last = (struct held){ERROR, signal->code};
		told(&real, at, signal->terminal ? TOLD_FAILURE : TOLD_ERROR,
		     signal->code);
	}
	return 0;
}

static void tell_state(int sub, struct held what)
{
	if (what.state != NONE)
		told(&modelled, sub,
		     what.state == VALUE ? TOLD_VALUE : TOLD_ERROR, what.value);
}

/* What the subscriber is told of this round. */
static void tell_sub(int at, bool first)
{
	struct sub *sub = &subs[at];
	struct mcell *m = sub->m;
	bool failed = m->end == FAILED;

	if (!sub->alive)
		return;
	if (first && !failed)
		tell_state(at, m->now);
	else if (!first && recipes[m->recipe].kind == MERGE)
		for (int i = 0; i < m->ntold; i++)
			tell_state(at, m->told[i]);
	else if (!first && m->changed && !failed)
		tell_state(at, m->now);
	if (m->end != OPEN && (first || m->ended_now)) {
		told(&modelled, at, failed ? TOLD_FAILURE : TOLD_COMPLETE,
		     failed ? m->now.value : 0);
		sub->alive = false;
		m->subs--;
	}
}

static void tell_subs(void)
{
	for (int i = 0; i < nsubs; i++)
		tell_sub(i, false);
	go_quiet();
}

/* ---- comparing the two ------------------------------------------------------------- */

static void describe(int i)
{
	const struct recipe *r = &recipes[i];

	print_error("  #%d %s", i, kind_names[r->kind]);
	if (r->kind == COMPUTED)
		print_error(" style %d%s", r->style,
			    r->adopts ? " adopts" : "");
	for (int k = 0; k < r->ninputs; k++)
		print_error(" <%d", r->inputs[k]);
	if (r->nested >= 0)
		print_error(" nested #%d", r->nested);
	if (r->kind == SWITCH || r->kind == MERGE)
		print_error(" max %d choices #%d #%d #%d", r->max,
			    r->choices[0], r->choices[1], r->choices[2]);
	for (int k = 0; k < npool; k++)
		if (pool[k].used && pool[k].recipe == i) {
			print_error(" [");
			for (int d = 0; d < pool[k].ndeps; d++)
				print_error(" %d", pool[k].deps[d]->recipe);
			print_error(" |");
			for (int d = 0; d < pool[k].ninners; d++)
				print_error(" %d", pool[k].inner[d]->recipe);
			print_error("%s]", pool[k].end ? " ended" : "");
		}
	print_error(" x%lld+%lld", (long long)r->factor, (long long)r->offset);
	if (r->fails_at >= 0)
		print_error(" %d at %lld of %lld", r->code,
			    (long long)r->fails_at, (long long)r->fails_of);
	if (i < ncells && mcells[i])
		print_error(" = %d:%lld end %d%s%s%s, was %d:%lld",
			    mcells[i]->now.state,
			    (long long)mcells[i]->now.value, mcells[i]->end,
			    mcells[i]->lazy ? " lazy" : "",
			    mcells[i]->idle ? " idle" : "",
			    mcells[i]->tainted ? " tainted" : "",
			    mcells[i]->before.state,
			    (long long)mcells[i]->before.value);
	print_error("\n");
}

/* The cell, and what it may depend on. */
static void describe_all(int i, unsigned char *seen)
{
	const struct recipe *r = &recipes[i];

	if (seen[i]++)
		return;
	describe(i);
	for (int k = 0; k < r->ninputs; k++)
		if (k || r->nested < 0 || r->kind == COMPUTED)
			describe_all(r->inputs[k], seen);
	if (r->nested >= 0)
		describe_all(r->nested, seen);
	if (r->kind == SWITCH || r->kind == MERGE)
		for (int k = 0; k < CHOICES; k++)
			describe_all(r->choices[k], seen);
}

/* Does a function of the cell's make what this recipe says? */
static bool makes(int recipe, int what)
{
	const struct recipe *r = &recipes[recipe];
	bool found = r->nested == what;

	for (int k = 0; (r->kind == SWITCH || r->kind == MERGE) && k < CHOICES;
	     k++)
		found |= r->choices[k] == what || makes(r->choices[k], what);
	return found || (r->nested >= 0 && makes(r->nested, what));
}

static void explain(int i)
{
	unsigned char seen[MAX_RECIPES] = {0};

	print_error("%s%s graph\n", eager ? "eager" : "",
		    all_lazy ? " lazy" : "");
	describe_all(i, seen);
	for (int k = 0; k < npool; k++)
		for (int d = 0; i < ncells && d < pool[k].ndeps; d++)
			if (pool[k].deps[d] == mcells[i])
				describe_all(pool[k].recipe, seen);
	for (int k = 0; i >= ncells && k < ncells; k++)
		if (makes(k, i))
			describe_all(k, seen);
}

#define BAD(cell_, ...)                                                        \
	do {                                                                   \
		explain(cell_);                                                \
		FAIL(__VA_ARGS__);                                             \
	} while (0)

static struct held real_state(int i)
{
	struct held state = {VALUE, 0};
	int r = hyphae_int64_get(cells[i], &state.value);

	if (r)
		state = (struct held){r == -ENODATA ? NONE : ERROR,
				      r == -ENODATA ? 0 : r};
	return state;
}

static bool same(struct held a, struct held b)
{
	return a.state == b.state && a.value == b.value;
}

static struct held normal(struct held state)
{
	return state.state == NONE ? (struct held){NONE, 0} : state;
}

/* What a cell should hold, given what the others hold. */
static struct held by_the_others(int i)
{
	struct recipe *r = &recipes[i];
	struct reader by = {real_read, real_blind, real_make, NULL};
	struct held state = {VALUE, 0}, in;
	int64_t sum = 0;
	int e;

	if (r->kind == COMPUTED) {
		e = compute(r, &by, &state.value);
		return e ? (struct held){ERROR, e} : state;
	}
	if (r->kind == SWITCH) {
		in = real_state(r->inputs[0]);
		return in.state == VALUE
			       ? real_state(
					 recipes[chosen(r, in.value)].inputs[0])
			       : in;
	}
	for (int k = 0; k < r->ninputs; k++) {
		in = real_state(r->inputs[k]);
		if (in.state != VALUE)
			return in;
		sum += in.value;
	}
	e = cook(r, sum, &state.value);
	return e ? (struct held){ERROR, e} : state;
}

/* Cells that depend on themselves. */
static void compare_tainted(void)
{
	bool loop = false;

	for (int i = 0; i < ncells; i++) {
		struct held state, other;

		if (!mcells[i] || !mcells[i]->tainted)
			continue;
		state = real_state(i);
		mcells[i]->now = state;
		if (state.state == ERROR && state.value == -ELOOP) {
			loop = true;
			continue;
		}
		other = by_the_others(i);
		if (!same(state, other))
			BAD(i, "#%d in a cycle is %d:%lld, not %d:%lld", i,
			    state.state, (long long)state.value, other.state,
			    (long long)other.value);
	}
	if (closed && !loop)
		FAIL("a cycle that nobody found");
}

static void compare_info(int i, const struct mcell *m)
{
	struct hyphae_cell_info info, below;

	if (hyphae_cell_info(cells[i], &info) != 0)
		FAIL("cell %d has no info", i);
	if (info.ended != (m->end != OPEN))
		BAD(i, "#%d has%s ended", i, info.ended ? "" : " not");
	if (vague)
		return;
	if (info.lazy != m->lazy || (info.idle != m->idle && !eager))
		BAD(i, "#%d is%s idle", i, info.idle ? "" : " not");
	if (info.targets != m->targets && !eager)
		BAD(i, "#%d has %zu targets, not %zu", i, info.targets,
		    m->targets);
	if (info.subscriptions != (size_t)m->subs)
		BAD(i, "#%d has %zu subscriptions, not %d", i,
		    info.subscriptions, m->subs);
	for (int k = 0; !m->idle && k < m->ndeps; k++)
		for (int c = 0; c < ncells; c++)
			if (mcells[c] == m->deps[k] && held[c] &&
			    hyphae_cell_info(cells[c], &below) == 0 &&
			    below.height >= info.height)
				BAD(i, "#%d is not above #%d", i, c);
}

static void compare_runs(void)
{
	for (int i = 0; i < nrecipes; i++) {
		bool shaky = recipes[i].loopy || recipes[i].multi;

		/* What is let go of in the wave may have run before. */
		if (i < ncells && recipes[i].kind != SOURCE &&
		    (!mcells[i] || mcells[i]->idle))
			shaky = true;
		if (!shaky && runs[i] != runs_modelled[i])
			BAD(i, "#%d ran %d times, not %d", i, runs[i],
			    runs_modelled[i]);
	}
}

static void print_story(const char *title, const struct story *story)
{
	print_error("%s:", title);
	for (int i = 0; i < story->count && i < 40; i++)
		print_error(" %d(#%d):%d=%lld", story->told[i].sub,
			    subs[story->told[i].sub].cell, story->told[i].kind,
			    (long long)story->told[i].value);
	print_error("\n");
}

/* What the model cannot tell is left out. */
static bool is_told_exactly(int sub)
{
	const struct recipe *r = &recipes[subs[sub].cell];

	return !r->loopy && (!r->multi || r->kind == MERGE);
}

/* Of all subscribers as it was told, or of one after the other. */
static void sift(struct story *story, bool by_sub)
{
	static struct story copy;
	int passes = by_sub ? nsubs : 1;

	copy.count = 0;
	for (int pass = 0; pass < passes; pass++)
		for (int i = 0; i < story->count; i++)
			if ((!by_sub || story->told[i].sub == pass) &&
			    is_told_exactly(story->told[i].sub))
				copy.told[copy.count++] = story->told[i];
	memcpy(story->told, copy.told,
	       sizeof(copy.told[0]) * (size_t)copy.count);
	story->count = copy.count;
}

/* In one wave they are called in order; in several each is by itself. */
static void compare_stories(void)
{
	bool waves = rounds_in_step > 1;

	for (int i = 0; i < nsubs; i++)
		waves |= recipes[subs[i].cell].multi;
	sift(&real, waves);
	sift(&modelled, waves);
	for (int i = 0; i < real.count || i < modelled.count; i++) {
		const struct story *longer = i < real.count ? &real : &modelled;

		if (i < real.count && i < modelled.count &&
		    memcmp(&real.told[i], &modelled.told[i],
			   sizeof(struct told)) == 0)
			continue;
		print_story("library", &real);
		print_story("model  ", &modelled);
		BAD(subs[longer->told[i].sub].cell,
		    "the stories differ from %d on", i);
	}
}

static void compare_counts(void)
{
	struct hyphae_graph_counts counts;
	size_t alive = 0, subscribed = 0;

	for (int i = 0; i < npool; i++) {
		const struct mcell *m = &pool[i];
		bool two = recipes[m->recipe].kind == SWITCH ||
			   recipes[m->recipe].kind == MERGE;

		if (m->used)
			alive += 1 + (two && m->end == OPEN);
		if (m->used)
			subscribed += (size_t)m->subs;
	}
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	/* There, what a cell of cells holds on to depends on the way. */
	if (eager || vague)
		counts.cells = alive;
	if (counts.cells != alive || counts.subscriptions != subscribed)
		for (int i = 0; i < ncells; i++)
			if (mcells[i])
				describe(i);
	if (counts.cells != alive || counts.subscriptions != subscribed)
		FAIL("%zu cells and %zu subscriptions, not %zu and %zu",
		     counts.cells, counts.subscriptions, alive, subscribed);
	if (hyphae_graph_check_idle(graph) != 0)
		FAIL("the graph is not idle");
}

static void compare_cell(int i)
{
	const struct mcell *m = mcells[i];
	struct held state;

	if (!m) {
		if (hyphae_cell_id(cells[i]) && !eager && !vague)
			BAD(i, "#%d is still there", i);
		return;
	}
	if (!hyphae_cell_id(cells[i]) && (held[i] || !eager))
		BAD(i, "#%d is gone", i);
	/* What follows it there may depend on the way. */
	if (!held[i] || (eager && m->lazy && !m->subs))
		return;
	state = real_state(i);
	if (!m->tainted && !same(state, normal(m->now)))
		BAD(i, "#%d is %d:%lld, not %d:%lld", i, state.state,
		    (long long)state.value, m->now.state,
		    (long long)m->now.value);
	compare_info(i, m);
}

static void compare(void)
{
	vague = false;
	for (int i = 0; i < npool; i++)
		vague |= pool[i].used && pool[i].tainted;
	compare_tainted();
	compare_counts();
	for (int i = 0; i < ncells; i++)
		compare_cell(i);
	for (int i = 0; i < nsubs; i++) {
		struct sub *sub = &subs[i];

		if (sub->alive != (hyphae_subscription_id(sub->handle) != 0))
			BAD(sub->cell, "subscriber %d of #%d is%s there", i,
			    sub->cell, sub->alive ? " not" : " still");
		if (sub->alive && sub->m->now.state != NONE &&
		    !same(sub->last, sub->m->now))
			BAD(sub->cell,
			    "subscriber %d of #%d was told %d:%lld last", i,
			    sub->cell, sub->last.state,
			    (long long)sub->last.value);
	}
	if (eager || lost_way)
		return;
	compare_runs();
	compare_stories();
}

/* ---- making ---------------------------------------------------------------------- */

static int pick(bool (*fits)(int cell))
{
	for (int tries = 0; tries < 40 && ncells; tries++) {
		int i = (int)dice((unsigned int)ncells);

		if (dice(2))
			i = ncells - 1 - i / 3;
		if (held[i] && (!fits || fits(i)))
			return i;
	}
	return -1;
}

static bool is_source(int i)
{
	return recipes[i].kind == SOURCE && !pinned[i];
}

static bool is_calm(int i)
{
	return !recipes[i].loopy && !recipes[i].multi;
}

static bool is_derived(int i)
{
	return recipes[i].kind != SOURCE && !recipes[i].loopy;
}

static bool not_loopy(int i)
{
	return !recipes[i].loopy;
}

static void season(struct recipe *r)
{
	r->factor = dice(8) ? 1 + dice(3) : 0;
	r->offset = dice(11);
	r->fails_of = dice(2) ? 13 : 3;
	r->fails_at = dice(3) ? -1 : (int64_t)dice((unsigned int)r->fails_of);
	r->code = dice(2) ? -EIO : -ENOSPC;
	r->adopts = dice(2);
	r->nested = -1;
}

static void inherit(struct recipe *r, const struct recipe *from)
{
	r->loopy |= from->loopy;
	r->multi |= from->multi;
}

static bool choose_inputs(struct recipe *r, int count, bool (*fits)(int cell))
{
	r->ninputs = 0;
	for (int i = 0; i < count; i++) {
		int input = pick(fits);

		if (input < 0)
			return false;
		r->inputs[r->ninputs++] = input;
		inherit(r, &recipes[input]);
	}
	return true;
}

static bool season_computed(struct recipe *r, bool (*fits)(int cell))
{
	r->style = (enum style)dice(RING);
	return choose_inputs(r, r->style == BLIND ? 2 : 3 + (int)dice(3), fits);
}

static int new_recipe(void)
{
	if (nrecipes + 20 > MAX_RECIPES)
		return -1;
	recipes[nrecipes] = (struct recipe){.nested = -1};
	season(&recipes[nrecipes]);
	return nrecipes++;
}

static bool choose_choices(struct recipe *r, bool (*fits)(int cell), int deep);

/* What a function may choose or make; -1: nothing to make it of. */
static int new_inner(bool (*fits)(int cell), int deep)
{
	int i = new_recipe();
	struct recipe *r;
	bool ok = true;

	if (i < 0)
		return -1;
	r = &recipes[i];
	switch (dice(deep < 2 ? 9 : 8)) {
	case 0:
		r->kind = NOTHING;
		break;
	case 1:
		r->kind = SOURCE;
		break;
	case 2:
	case 3:
		r->kind = MAP;
		ok = choose_inputs(r, 1, fits);
		if (ok && dice(3) == 0) {
			r->nested = new_inner(fits, 2);
			ok = r->nested >= 0 && recipes[r->nested].kind == MAP &&
			     recipes[r->nested].nested < 0;
			if (ok)
				inherit(r, &recipes[r->nested]);
		}
		break;
	case 4:
		r->kind = COMPUTED;
		ok = season_computed(r, fits);
		break;
	case 8:
		r->kind = SWITCH;
		r->max = 1;
		ok = choose_inputs(r, 1, is_calm) &&
		     choose_choices(r, fits, deep + 1);
		break;
	default:
		r->kind = EXISTING;
		ok = choose_inputs(r, 1, fits);
	}
	return ok ? i : -1;
}

static bool choose_choices(struct recipe *r, bool (*fits)(int cell), int deep)
{
	for (int k = 0; k < CHOICES; k++) {
		int inner = new_inner(fits, deep);

		if (inner < 0)
			return false;
		r->choices[k] = inner;
		inherit(r, &recipes[inner]);
	}
	return true;
}

static void finish_new(int i)
{
	struct mcell *made[MAX_MADE + 1] = {NULL};

	held[i] = true;
	begin_round();
	mcells[i] = make_model(i, made);
	finish_round();
	cells[i] = make_real(i);
	if (!cells[i])
		BAD(i, "#%d was not made: %d", i, errno);
	tell_subs();
}

static int add_source(int64_t value)
{
	recipes[ncells] = (struct recipe){.kind = SOURCE, .nested = -1};
	recipes[ncells].offset = value;
	finish_new(ncells);
	return ncells++;
}

static void step_source(void)
{
	add_source(dice(8));
}

static bool season_maker(struct recipe *r)
{
	int made = new_recipe();

	if (all_lazy || made < 0)
		return false;
	r->style = MAKER;
	r->nested = made;
	recipes[made].kind = MAP;
	if (!choose_inputs(&recipes[made], 1, is_calm))
		return false;
	return choose_inputs(r, 1, is_calm);
}

static void step_derive(void)
{
	struct recipe *r = &recipes[ncells];
	int mark = nrecipes;
	bool ok;

	memset(r, 0, sizeof(*r));
	season(r);
	r->max = 1;
	switch (dice(10)) {
	case 0:
		r->kind = MAP;
		ok = choose_inputs(r, 1, NULL);
		break;
	case 1:
		r->kind = COMBINE;
		ok = choose_inputs(r, 1 + (int)dice(4), NULL);
		break;
	case 2:
		r->kind = COMPUTED;
		ok = season_maker(r);
		break;
	case 3:
	case 4:
	case 5:
		r->kind = COMPUTED;
		ok = season_computed(r, NULL);
		break;
	case 6:
		r->kind = MERGE;
		r->max = 1 + (int)dice(3);
		r->multi = true;
		/*
		 * What it hears depends on the way there.  Between its waves
		 * what is lazy may go idle, and come back.
		 */
		ok = !eager && has_rings && choose_inputs(r, 1, is_calm) &&
		     choose_choices(r, is_calm, 1);
		break;
	default:
		r->kind = SWITCH;
		ok = choose_inputs(r, 1, is_calm) &&
		     choose_choices(r, not_loopy, 0);
	}
	if (ok)
		finish_new(ncells++);
	else
		nrecipes = mark;
}

/* ---- rings, which a flip closes ------------------------------------------------------ */

#define MAX_RINGS 4
static struct ring {
	int first, count;
} rings[MAX_RINGS];
static int nrings;

/* Each follows the next, or a base, as its own source says. */
static void step_ring(void)
{
	int count = 2 + (int)dice(3), base = pick(is_calm), first;
	bool switches = dice(3) == 0;

	if (base < 0 || ncells + 2 * count > MAX_CELLS || nrings == MAX_RINGS ||
	    nrecipes + 40 > MAX_RECIPES || !has_rings)
		return;
	pinned[base] = true;
	for (int i = 0; i < count; i++)
		pinned[add_source(1)] = true;
	first = ncells;
	rings[nrings++] = (struct ring){first, count};
	for (int i = 0; i < count; i++) {
		struct recipe *r = &recipes[ncells];
		int next = first + (i + 1) % count;

		memset(r, 0, sizeof(*r));
		season(r);
		r->loopy = r->adopts = true;
		r->kind = switches ? SWITCH : COMPUTED;
		r->max = 1;
		r->style = RING;
		r->ninputs = switches ? 1 : 3;
		r->inputs[0] = first - count + i;
		r->inputs[1] = next;
		r->inputs[2] = base;
		for (int k = 0; switches && k < CHOICES; k++) {
			r->choices[k] = new_recipe();
			recipes[r->choices[k]] = (struct recipe){
				.kind = EXISTING,
				.inputs = {k == 0 ? next : base},
				.ninputs = 1,
				.nested = -1};
		}
		pinned[ncells] = true;
		finish_new(ncells++);
	}
}

/* ---- the other steps --------------------------------------------------------------- */

static struct {
	int cell;
	int64_t value;
} writes[16];
static int nwrites;

/* May a function of this recipe's come to read or follow the cell? */
static bool mentions(int recipe, int cell, bool top)
{
	const struct recipe *r = &recipes[recipe];

	for (int i = 0; (!top || r->kind == COMPUTED) && i < r->ninputs; i++)
		if (r->inputs[i] == cell)
			return true;
	if (r->nested >= 0 && mentions(r->nested, cell, false))
		return true;
	for (int k = 0; (r->kind == SWITCH || r->kind == MERGE) && k < CHOICES;
	     k++)
		if (mentions(r->choices[k], cell, false))
			return true;
	return false;
}

static bool follows(const struct mcell *m, const struct mcell *input)
{
	for (int i = 0; i < m->ndeps; i++)
		if (m->deps[i] == input)
			return true;
	return false;
}

/*
 * Such a cell is not let go of: when exactly it would be gone is not defined,
 * unless one cell alone reads it, again and again.
 */
static bool is_mentioned(int cell)
{
	const struct mcell *by = NULL;

	for (int i = 0; i < npool; i++) {
		if (!pool[i].used || !mentions(pool[i].recipe, cell, true))
			continue;
		if (by || pool[i].recipe >= ncells)
			return true;
		by = &pool[i];
	}
	return by &&
	       (eager || nwrites || mcells[cell]->targets != 1 ||
		!follows(by, mcells[cell]) || by->lazy || mcells[cell]->lazy ||
		recipes[by->recipe].kind != COMPUTED ||
		recipes[by->recipe].style == MAKER ||
		recipes[by->recipe].multi || recipes[by->recipe].loopy);
}

static void write_source(int cell, int64_t value)
{
	int r = hyphae_int64_set(cells[cell], value);

	if (mcells[cell]->end != OPEN ? r != -ESHUTDOWN : r < 0)
		BAD(cell, "set of #%d gave %d", cell, r);
}

/* What was written is worked out in one round. */
static void model_writes(void)
{
	begin_round();
	for (int i = 0; i < nwrites; i++) {
		struct mcell *m = mcells[writes[i].cell];

		if (!m || m->end != OPEN)
			continue;
		m->changed = false;
		m->now = m->before;
		take(m, VALUE, writes[i].value);
	}
	nwrites = 0;
	finish_round();
	tell_subs();
}

static void note_write(int cell, int64_t value)
{
	writes[nwrites].cell = cell;
	writes[nwrites++].value = value;
}

static void step_set(void)
{
	int cell = pick(is_source);
	int64_t value = dice(8);

	if (cell < 0)
		return;
	note_write(cell, value);
	write_source(cell, value);
	model_writes();
}

static void step_release(void)
{
	int i = pick(NULL);

	if (i < 0 || pinned[i] || is_mentioned(i))
		return;
	held[i] = false;
	mcells[i]->holds--;
	begin_round();
	go_quiet();
	if (hyphae_cell_unref(cells[i]) != 0)
		BAD(i, "unref of #%d", i);
}

static void subscribe(bool (*fits)(int cell))
{
	int cell = pick(fits);
	struct sub *sub = &subs[nsubs];

	if (cell < 0 || nsubs == MAX_SUBS)
		return;
	*sub = (struct sub){.cell = cell, .alive = true, .m = mcells[cell]};
	nsubs++;
	begin_round();
	sub->m->subs++;
	finish_round();
	tell_sub(nsubs - 1, true);
	go_quiet();
	sub->handle = hyphae_subscribe(cells[cell], real_subscriber, sub);
	if (!sub->handle)
		BAD(cell, "no subscription to #%d", cell);
}

static void step_subscribe(void)
{
	subscribe(NULL);
}

static void step_unsubscribe(void)
{
	struct sub *sub;
	int r;

	if (!nsubs)
		return;
	sub = &subs[dice((unsigned int)nsubs)];
	r = hyphae_unsubscribe(sub->handle);
	if (r != (sub->alive ? 0 : -ESTALE))
		BAD(sub->cell, "unsubscribe gave %d", r);
	if (!sub->alive)
		return;
	sub->alive = false;
	sub->m->subs--;
	begin_round();
	go_quiet();
}

static void step_end(void)
{
	int cell = pick(is_source);
	bool fails = dice(2);
	struct mcell *m;
	int r;

	/* There, whose end a cell of cells waits for depends on the way. */
	if (cell < 0 || eager)
		return;
	m = mcells[cell];
	r = fails ? hyphae_cell_fail(cells[cell], -ECANCELED, NULL)
		  : hyphae_cell_complete(cells[cell]);
	if (r != (m->end == OPEN ? 0 : -ESHUTDOWN))
		BAD(cell, "end of #%d gave %d", cell, r);
	if (r)
		return;
	begin_round();
	if (fails)
		take_error(m, -ECANCELED, true);
	else
		end_with(m, COMPLETED);
	finish_round();
	tell_subs();
}

static void step_lazy(void)
{
	int cell = pick(is_derived);

	/* Who follows whom is not known in a cycle. */
	if (cell < 0 || has_rings)
		return;
	mcells[cell]->lazy = true;
	begin_round();
	go_quiet();
	if (hyphae_cell_set_lazy(cells[cell]) != 0)
		BAD(cell, "#%d does not get lazy", cell);
}

static void step_batch(void)
{
	unsigned int count = 1 + dice(6);

	assert_int_equal(hyphae_batch_begin(graph), 0);
	while (count--) {
		int cell = pick(is_source);
		unsigned int what = dice(20);

		if (what == 0) {
			step_release();
		} else if (what == 1) {
			step_unsubscribe();
		} else if (what == 2) {
			subscribe(is_derived);
		} else if (cell >= 0) {
			int64_t value = dice(8);

			note_write(cell, value);
			write_source(cell, value);
		}
	}
	if (hyphae_batch_end(graph) != 0)
		FAIL("the batch did not end well");
	model_writes();
}

/* Some sources of a ring flip; or all do, and it is open. */
static void step_flip(void)
{
	const struct ring *ring;
	bool heal = dice(2), batch = heal || dice(2);

	if (!nrings)
		return;
	ring = &rings[dice((unsigned int)nrings)];
	if (batch)
		assert_int_equal(hyphae_batch_begin(graph), 0);
	for (int i = 0; i < ring->count; i++) {
		int cell = ring->first - ring->count + i;
		int64_t value = dice(2) ? 3 * dice(3) : 1;

		if (heal)
			value = 1 + (mcells[cell]->now.value + 1) % 2 +
				(mcells[cell]->now.value == 2 ? 3 : 0);
		if (heal && value == mcells[cell]->now.value)
			value += 3;
		if (!heal && dice(2))
			continue;
		note_write(cell, value);
		write_source(cell, value);
		if (!batch) {
			model_writes();
			compare_tainted();
		}
	}
	if (batch)
		assert_int_equal(hyphae_batch_end(graph), 0);
	model_writes();
	for (int i = 0; heal && i < ring->count; i++)
		if (mcells[ring->first + i]->tainted)
			FAIL("the model's ring has not healed");
}

static void begin_step(void)
{
	real.count = modelled.count = 0;
	memset(runs, 0, sizeof(runs));
	memset(runs_modelled, 0, sizeof(runs_modelled));
	lost_way = false;
	rounds_in_step = 0;
	nwrites = 0;
}

#define STEP(fn_)                                                              \
	do {                                                                   \
		step_name = #fn_;                                              \
		fn_();                                                         \
	} while (0)

static void step(void)
{
	unsigned int what = dice(100);

	step_number++;
	begin_step();
	if (ncells < 4 || (what < 2 && ncells < MAX_CELLS))
		STEP(step_source);
	else if ((ncells < 10 || what < 20) && ncells < MAX_CELLS)
		STEP(step_derive);
	else if (what < 30)
		STEP(step_subscribe);
	else if (what < 36)
		STEP(step_release);
	else if (what < 40)
		STEP(step_unsubscribe);
	else if (what < 43)
		STEP(step_lazy);
	else if (what < 44)
		STEP(step_ring);
	else if (what < 48)
		STEP(step_flip);
	else if (what < 49)
		STEP(step_end);
	else if (what < 75)
		STEP(step_set);
	else
		STEP(step_batch);
	compare();
}

static void begin_program(unsigned int flags)
{
	eager = flags & HYPHAE_EAGER;
	has_rings = dice(2);
	all_lazy = !has_rings && dice(3) == 0;
	graph = hyphae_graph_new(flags | (all_lazy ? HYPHAE_LAZY : 0));
	assert_non_null(graph);
	ncells = nsubs = npool = nrings = 0;
	nrecipes = MAX_CELLS;
	memset(held, 0, sizeof(held));
	memset(pinned, 0, sizeof(pinned));
	memset(mcells, 0, sizeof(mcells));
}

/* Give everything back, in a random order, and see that nothing is left. */
static void end_program(void)
{
	struct hyphae_graph_counts counts;
	int order[MAX_CELLS];

	begin_step();
	for (int i = 0; i < nsubs; i++)
		hyphae_unsubscribe(subs[i].handle);
	for (int i = 0; i < ncells; i++) {
		int at = (int)dice((unsigned int)i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (int i = 0; i < ncells; i++)
		if (held[order[i]] && hyphae_cell_unref(cells[order[i]]))
			BAD(order[i], "unref of #%d", order[i]);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	if (counts.cells || counts.subscriptions)
		FAIL("%zu cells and %zu subscriptions are left", counts.cells,
		     counts.subscriptions);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void run_programs(unsigned int flags)
{
	const char *text = getenv("STEPS");
	unsigned long steps = text ? strtoul(text, NULL, 0) : DEFAULT_STEPS;
	unsigned long long first = test_seed(1);

	for (unsigned long done = 0; done < steps / 4;
	     done += STEPS_A_PROGRAM) {
		long live = hy_alloc_live();

		seed = first + done / STEPS_A_PROGRAM;
		random_state = seed * 0x9e3779b97f4a7c15u + 1;
		step_number = 0;
		begin_program(flags);
		for (int i = 0; i < STEPS_A_PROGRAM; i++)
			step();
		step_name = "end";
		end_program();
		if (hy_alloc_live() != live)
			FAIL("%ld blocks are left", hy_alloc_live() - live);
	}
}

static void thread_safe(void **state)
{
	(void)state;
	run_programs(0);
}

static void single_thread(void **state)
{
	(void)state;
	run_programs(HYPHAE_SINGLE_THREAD);
}

static void depth_first(void **state)
{
	(void)state;
	run_programs(HYPHAE_EAGER);
}

static void depth_first_single_thread(void **state)
{
	(void)state;
	run_programs(HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_safe),
		cmocka_unit_test(single_thread),
		cmocka_unit_test(depth_first),
		cmocka_unit_test(depth_first_single_thread),
	};

	return cmocka_run_group_tests_name("model dynamic", tests, NULL, NULL);
}
