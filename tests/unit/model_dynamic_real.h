/* SPDX-License-Identifier: MIT */
/*
 * The same program in the library: its functions and subscribers, and the
 * comparison of what it does with the model.  See test_model_dynamic.c.
 */
#ifndef TEST_MODEL_DYNAMIC_REAL_H
#define TEST_MODEL_DYNAMIC_REAL_H

#include "model_dynamic_round.h"

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

static bool may_idle(int cell)
{
	return mcells[cell] && mcells[cell]->lazy;
}

static int real_read(void *side, int cell, int64_t *ret)
{
	int r = hyphae_int64_get(cells[cell], ret);

	(void)side;
	/* Nor is it known what a function sees that runs inside another. */
	lost_way |= (r == -ENODATA && may_idle(cell)) || runs_now[cell];
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
	lost_way |= r == -ENODATA && all_lazy;
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

static struct hyphae_cell *real_try(size_t attempt, void *ctx)
{
	runs[recipe_of(ctx)]++;
	return make_real(chosen(ctx, (int64_t)attempt));
}

/* switch_map, merge_map, retry; or the same that make an event. */
static struct hyphae_cell *make_flat(struct recipe *r,
				     struct hyphae_cell *outer)
{
	const struct hyphae_type *type = &hyphae_int64;
	size_t max = (size_t)r->max;

	if (r->kind == SWITCH && r->event)
		return hyphae_switch_events(outer, type, real_select, r);
	if (r->kind == SWITCH)
		return hyphae_switch_map(outer, type, real_select, r);
	if (r->kind == MERGE && r->event)
		return hyphae_merge_events(outer, type, max, real_select, r);
	if (r->kind == MERGE)
		return hyphae_merge_map(outer, type, max, real_select, r);
	if (r->event)
		return hyphae_retry_events(graph, type, max, real_try, r);
	return hyphae_retry(graph, type, max, real_try, r);
}

static struct hyphae_cell *make_real(int recipe)
{
	struct recipe *r = &recipes[recipe];
	struct hyphae_cell *in[MAX_INPUTS] = {NULL};

	for (int i = 0; i < r->ninputs; i++)
		in[i] = cells[r->inputs[i]];
	if (r->nested >= 0 && r->kind != COMPUTED)
		in[0] = make_real(r->nested);
	switch (r->kind) {
	case SOURCE:
		return hyphae_int64_new(graph, r->offset);
	case EVENT:
		return hyphae_event_new(graph, &hyphae_int64);
	case HOLD:
		return hyphae_hold(in[0], &hyphae_int64, &r->offset);
	case MAP:
		return hyphae_map(in[0], &hyphae_int64, real_map, r);
	case COMBINE:
		return hyphae_combine(in, (size_t)r->ninputs, &hyphae_int64,
				      real_combine, r);
	case COMPUTED:
		return hyphae_computed(graph, &hyphae_int64, real_computed, r);
	case SWITCH:
	case MERGE:
	case RETRY:
		return make_flat(r, in[0]);
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
	/* An event tells its error, and what it emits as it wakes. */
	if (first && !failed && brings(m, NULL, true))
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

	print_error("  #%d %s%s", i, kind_names[r->kind],
		    r->event ? " event" : "");
	if (r->kind == COMPUTED)
		print_error(" style %d%s", r->style,
			    r->adopts ? " adopts" : "");
	for (int k = 0; k < r->ninputs; k++)
		print_error(" <%d", r->inputs[k]);
	if (r->nested >= 0)
		print_error(" nested #%d", r->nested);
	if (has_choices(r))
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
	if (has_choices(r))
		for (int k = 0; k < CHOICES; k++)
			describe_all(r->choices[k], seen);
}

/* Does a function of the cell's make what this recipe says? */
static bool makes(int recipe, int what)
{
	const struct recipe *r = &recipes[recipe];
	bool found = r->nested == what;

	for (int k = 0; has_choices(r) && k < CHOICES; k++)
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
	if (state.state == ERROR && state.value == -ENODATA)
		state.state = NONE; /* a function returned that */
	return state.state == NONE ? (struct held){NONE, 0} : state;
}

/* What can be read: of an event its errors. */
static struct held shown(const struct mcell *m)
{
	return m->event && m->now.state == VALUE ? (struct held){NONE, 0}
						 : normal(m->now);
}

/* A map's or combine's: the error that passes, or nothing, or values. */
static struct held by_inputs(const struct recipe *r, int64_t *sum)
{
	struct held found = {VALUE, 0};
	bool failed = false;

	for (int k = 0; k < r->ninputs && !failed; k++) {
		struct held in = real_state(r->inputs[k]);

		*sum += in.value;
		failed = mcells[r->inputs[k]]->end == FAILED;
		if (failed || (in.state == ERROR && found.state != ERROR) ||
		    (in.state == NONE && found.state == VALUE))
			found = in;
	}
	return found;
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
	in = by_inputs(r, &sum);
	if (in.state != VALUE)
		return in;
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
		other = normal(by_the_others(i));
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
	if (info.event != m->event)
		BAD(i, "#%d is%s an event", i, info.event ? "" : " not");
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
	for (int i = 0; i < nrecipes && !some_went; i++) {
		bool shaky = recipes[i].loopy || recipes[i].multi;

		/* What is let go of in the wave may have run before. */
		if (i < ncells && !is_written(i) &&
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
		hyphae_graph_dot(graph, hyphae_write_file, stderr, NULL);
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
	if (!m->tainted && !same(state, shown(m)))
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
		if (sub->alive && shown(sub->m).state != NONE &&
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

#endif
