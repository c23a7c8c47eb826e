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
 * There are events among the cells: sources, maps of events, and what
 * switch_events(), merge_events() and retry_events() make; hold() makes cells
 * of them.  What an event emits is there in one round.  Of a batch, from where
 * an event would emit a second time on, events have rounds of their own.
 * In an eager graph what an event tells depends on the way: there are only
 * those of switch_events(), which nothing follows but subscribers.  Whether
 * somebody who wakes in a wave still hears an event that somebody else has
 * woken, or that was awake, is not defined: the program ends there.
 *
 * STEPS=n sets the number of steps; the seed is test_seed()'s.
 */
#include "four_graphs.h"
#include "model_dynamic_real.h"
#include <setjmp.h>

/* ---- making ---------------------------------------------------------------------- */

static bool values_only; /* what is read has to hold something */

static int pick(bool (*fits)(int cell))
{
	for (int tries = 0; tries < 40 && ncells; tries++) {
		int i = (int)dice((unsigned int)ncells);

		if (dice(2))
			i = ncells - 1 - i / 3;
		if (held[i] && (!fits || fits(i)) &&
		    !(values_only && recipes[i].event))
			return i;
	}
	return -1;
}

static bool is_source(int i)
{
	return is_written(i) && !pinned[i];
}

static bool is_calm(int i)
{
	return !recipes[i].loopy && !recipes[i].multi;
}

static bool is_derived(int i)
{
	return !is_written(i) && !recipes[i].loopy;
}

static bool is_calm_event(int i)
{
	return is_calm(i) && recipes[i].event;
}

/*
 * Not what emits several times in a step, and is followed from one of them on;
 * nor what held something on the way to nothing.
 */
static bool can_be_inner(int i)
{
	const struct recipe *r = &recipes[i];

	return !r->loopy && !(r->multi && (r->event || r->vacant));
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
	r->vacant |= from->vacant || from->event;
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

/* Of cells that hold something; of an eager graph's there are no others. */
static bool choose_values(struct recipe *r, int count, bool (*fits)(int cell))
{
	bool ok;

	values_only = true;
	ok = choose_inputs(r, count, fits);
	values_only = eager;
	return ok;
}

/* Of an event it is one. */
static bool season_map(struct recipe *r, bool (*fits)(int cell))
{
	r->kind = MAP;
	if (!choose_inputs(r, 1, fits))
		return false;
	r->event = recipes[r->inputs[0]].event;
	return true;
}

static bool season_computed(struct recipe *r, bool (*fits)(int cell))
{
	r->style = (enum style)dice(RING);
	return choose_values(r, r->style == BLIND ? 2 : 3 + (int)dice(3), fits);
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
		ok = season_map(r, fits);
		if (ok && dice(3) == 0) {
			r->nested = new_inner(fits, 2);
			ok = r->nested >= 0 && recipes[r->nested].kind == MAP &&
			     recipes[r->nested].nested < 0;
			if (ok)
				inherit(r, &recipes[r->nested]);
			if (ok)
				r->event = recipes[r->nested].event;
		}
		break;
	case 4:
		r->kind = COMPUTED;
		ok = season_computed(r, fits);
		break;
	case 8:
		r->kind = SWITCH;
		r->event = !eager && dice(3) == 0;
		r->max = 1;
		ok = choose_inputs(r, 1, is_calm) &&
		     choose_choices(r, fits, deep + 1);
		r->event &= !r->multi;
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

/* In an eager graph a cell may hear what is an event on the way there. */
static void step_source(void)
{
	if (eager || dice(3)) {
		add_source(dice(8));
		return;
	}
	recipes[ncells] =
		(struct recipe){.kind = EVENT, .event = true, .nested = -1};
	finish_new(ncells++);
}

static bool season_maker(struct recipe *r)
{
	int made = new_recipe();

	if (all_lazy || made < 0)
		return false;
	r->style = MAKER;
	r->nested = made;
	recipes[made].kind = MAP;
	if (!choose_values(&recipes[made], 1, is_calm))
		return false;
	inherit(r, &recipes[made]);
	return choose_values(r, 1, is_calm);
}

/*
 * What a merge_map hears depends on the way there.  Between its waves what is
 * lazy may go idle, and come back.
 */
static bool season_merge(struct recipe *r)
{
	r->kind = MERGE;
	r->max = 1 + (int)dice(3);
	r->multi = true;
	r->event = dice(2);
	return !eager && has_rings && choose_inputs(r, 1, is_calm) &&
	       choose_choices(r, is_calm, 1);
}

/* So does which try it is. */
static bool season_retry(struct recipe *r)
{
	r->kind = RETRY;
	r->max = (int)dice(6);
	r->event = dice(2);
	return !eager && choose_choices(r, is_calm, 1);
}

static void step_derive(void)
{
	struct recipe *r = &recipes[ncells];
	int mark = nrecipes;
	bool ok;

	memset(r, 0, sizeof(*r));
	season(r);
	r->max = 1;
	switch (dice(13)) {
	case 0:
		ok = season_map(r, NULL);
		break;
	case 1:
		r->kind = COMBINE;
		ok = choose_values(r, 1 + (int)dice(4), NULL);
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
		ok = season_merge(r);
		break;
	case 7:
		ok = season_retry(r);
		break;
	case 8:
		r->kind = HOLD;
		ok = choose_inputs(r, 1, is_calm_event);
		r->vacant = false;
		break;
	case 9:
		r->kind = MAP;
		ok = choose_inputs(r, 1, is_calm_event);
		r->event = true;
		break;
	default:
		r->kind = SWITCH;
		r->event = dice(3) == 0;
		ok = choose_inputs(r, 1, is_calm) &&
		     choose_choices(r, can_be_inner, 0);
		r->event &= !r->multi;
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

	if (base < 0 || recipes[base].event || recipes[base].vacant ||
	    ncells + 2 * count > MAX_CELLS || nrings == MAX_RINGS ||
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
static int ending = -1; /* a cell that completes behind its last value */

/* May a function of this recipe's come to read or follow the cell? */
static bool mentions(int recipe, int cell, bool top)
{
	const struct recipe *r = &recipes[recipe];

	for (int i = 0; (!top || r->kind == COMPUTED) && i < r->ninputs; i++)
		if (r->inputs[i] == cell)
			return true;
	if (r->nested >= 0 && mentions(r->nested, cell, false))
		return true;
	for (int k = 0; has_choices(r) && k < CHOICES; k++)
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

static void model_write(int i)
{
	struct mcell *m = mcells[writes[i].cell];

	if (!m)
		return;
	m->changed = false;
	m->now = m->before;
	take(m, VALUE, writes[i].value);
}

/*
 * What was written to cells is worked out in one round, with what events emit
 * until one of them would emit again; from there on they have another round.
 */
static void model_writes(void)
{
	bool first = true;
	int i = 0;

	do {
		bool emitted[MAX_CELLS] = {false};

		begin_round();
		for (int k = 0; first && k < nwrites; k++)
			if (!recipes[writes[k].cell].event)
				model_write(k);
		for (; i < nwrites && !emitted[writes[i].cell]; i++) {
			if (!recipes[writes[i].cell].event)
				continue;
			emitted[writes[i].cell] = true;
			model_write(i);
		}
		if (first && ending >= 0)
			end_with(mcells[ending], COMPLETED);
		first = false;
		for (; i < nwrites && !recipes[writes[i].cell].event; i++)
			;
		more_rounds = i < nwrites;
		finish_round();
		tell_subs();
	} while (more_rounds);
	nwrites = 0;
	ending = -1;
}

static void note_write(int cell, int64_t value)
{
	if (mcells[cell]->end != OPEN)
		return;
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

/* Perhaps in the wave that tells its last value. */
static void complete_in_batch(void)
{
	int cell = pick(is_source);

	if (cell < 0 || recipes[cell].event || mcells[cell]->end != OPEN)
		return;
	ending = cell;
	if (hyphae_cell_complete(cells[cell]) != 0)
		BAD(cell, "#%d does not complete", cell);
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
	if (!eager && dice(16) == 0)
		complete_in_batch();
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
	lost_way = some_went = false;
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
	if (!unclear)
		compare();
}

static void begin_program(unsigned int flags)
{
	eager = flags & HYPHAE_EAGER;
	unclear = false;
	has_rings = dice(2);
	all_lazy = !has_rings && dice(3) == 0;
	values_only = eager;
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
	unsigned long steps = test_number("STEPS", DEFAULT_STEPS);
	unsigned long long first = test_seed(1);

	for (unsigned long done = 0; done < steps / 4;
	     done += STEPS_A_PROGRAM) {
		long live = hy_alloc_live();

		seed = first + done / STEPS_A_PROGRAM;
		random_state = seed * 0x9e3779b97f4a7c15u + 1;
		step_number = 0;
		begin_program(flags);
		for (int i = 0; i < STEPS_A_PROGRAM && !unclear; i++)
			step();
		step_name = "end";
		end_program();
		if (hy_alloc_live() != live)
			FAIL("%ld blocks are left", hy_alloc_live() - live);
	}
}

int main(void)
{
	return run_in_four_graphs("model dynamic", run_programs);
}
