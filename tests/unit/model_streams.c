/* SPDX-License-Identifier: MIT */
/* The model: who runs when, who is told, who is there. */
#include "model_streams.h"

#include <errno.h>
#include <string.h>

const struct ms_kind ms_kinds[MS_COUNT] = {
#define X(name, inputs, event, time) {#name, inputs, MS_##event##_EVENT, time},
	MS_OPS(X)
#undef X
};

void ms_log_add(struct ms_log *log, struct ms_call call)
{
	if (log->count < MS_LOG)
		log->calls[log->count] = call;
	log->count++;
}

/* ---- what a node tells ---------------------------------------------------- */

void ms_emit(struct ms_model *m, struct ms_node *n, int64_t value)
{
	if (!n->event && n->holds == MS_VALUE && m->same(n->value, value))
		return;
	n->holds = MS_VALUE;
	n->value = value;
	n->news |= MS_NEWS;
}

void ms_error(struct ms_node *n, int code)
{
	if (!n->event && n->holds == MS_ERROR && n->code == code)
		return;
	n->holds = MS_ERROR;
	n->code = code;
	n->news |= MS_NEWS;
}

/* What was held is over, and there is nothing in its place. */
void ms_none(struct ms_node *n)
{
	if (n->holds == MS_NOTHING)
		return;
	n->holds = MS_NOTHING;
	n->news |= MS_NEWS;
}

void ms_complete(struct ms_node *n)
{
	n->ended = true;
	n->news |= MS_END;
}

void ms_fail(struct ms_node *n, int code)
{
	n->holds = MS_ERROR;
	n->code = code;
	n->failed = true;
	n->news &= ~MS_NEWS;
	ms_complete(n);
}

void ms_pass(struct ms_model *m, struct ms_node *n, const struct ms_seen *in)
{
	if (in->holds == MS_VALUE)
		ms_emit(m, n, in->value);
	else if (in->holds == MS_ERROR)
		ms_error(n, in->code);
	else
		ms_none(n);
}

void ms_push(struct ms_queue *q, struct ms_entry entry)
{
	q->entries[q->count++] = entry;
}

struct ms_entry ms_shift(struct ms_queue *q)
{
	struct ms_entry entry = q->entries[0];

	memmove(q->entries, q->entries + 1, --q->count * sizeof(entry));
	return entry;
}

void ms_many(struct ms_model *m, struct ms_node *n, const int64_t *values,
	     size_t count)
{
	int64_t value;
	int r;

	for (size_t i = 0; i < count; i++)
		ms_called(&n->calls, values[i]);
	r = ms_fn_many(&n->recipe, values, count, &value);
	if (r)
		ms_error(n, r);
	else
		ms_emit(m, n, value);
}

void ms_flush(struct ms_model *m, struct ms_node *n)
{
	int64_t values[2 * MS_QUEUE];
	size_t count = n->queue[0].count;

	for (size_t i = 0; i < count; i++)
		values[i] = n->queue[0].entries[i].value;
	n->queue[0].count = 0;
	ms_many(m, n, values, count);
}

/* ---- who follows whom ------------------------------------------------------- */

/* A concat and a race keep what they do not follow: idle they begin anew. */
static bool keeps(const struct ms_node *n)
{
	return !n->ended;
}

static bool follows(const struct ms_node *n, int i)
{
	if (n->idle || !keeps(n))
		return false;
	if (n->recipe.op == MS_CONCAT)
		return n->window && (size_t)i == n->number;
	if (n->recipe.op == MS_RACE && n->flag)
		return (size_t)i == n->number;
	return true;
}

static bool any_input(const struct ms_model *m, int node, bool kept)
{
	for (int i = node + 1; i < m->count; i++) {
		const struct ms_node *n = &m->nodes[i];

		for (int k = 0; n->alive && k < n->recipe.count; k++)
			if (n->recipe.in[k] == node &&
			    (kept ? keeps(n) : follows(n, k)))
				return true;
	}
	return false;
}

static bool subscribed(const struct ms_model *m, int node)
{
	for (int i = 0; i < m->sub_count; i++)
		if (m->subs[i].alive && m->subs[i].node == node)
			return true;
	return false;
}

void ms_give_up(struct ms_node *n)
{
	for (int i = 0; i < MS_INPUTS; i++) {
		n->dropped += n->queue[i].count;
		n->queue[i].count = 0;
	}
}

/* As when it was made. */
static void forget(struct ms_node *n)
{
	if (n->recipe.op == MS_ZIP || n->recipe.op == MS_MERGE)
		ms_give_up(n);
	n->holds = MS_NOTHING;
	n->number = 0;
	n->flag = n->window = n->more = n->more_now = n->rang = false;
	n->alarm.armed = 0;
	memset(n->queue, 0, sizeof(n->queue));
	memset(n->seen, 0, sizeof(n->seen));
}

static void finalized(struct ms_node *n, enum hyphae_end_kind kind)
{
	if (n->recipe.op == MS_FINALIZE && n->end_count < 4)
		n->ends[n->end_count++] = (int)kind;
}

/* A lazy one that nobody follows any more. */
static void rest(struct ms_model *m, int node)
{
	struct ms_node *n = &m->nodes[node];

	if (!n->alive || !n->lazy || n->idle || n->ended)
		return;
	if (subscribed(m, node) || any_input(m, node, false))
		return;
	forget(n);
	n->idle = true;
}

static void quench(struct ms_model *m)
{
	for (int i = m->count; i-- > 0;)
		rest(m, i);
}

/* Nobody keeps it any more. */
static void leave(struct ms_model *m, int node)
{
	struct ms_node *n = &m->nodes[node];

	if (!n->alive || n->handle || subscribed(m, node) ||
	    any_input(m, node, true))
		return;
	n->alive = false;
	n->alarm.armed = 0;
	if (!n->ended)
		finalized(n, HYPHAE_END_RELEASED);
}

/* The propagation is over: who goes, who goes idle; those above first. */
static void reap(struct ms_model *m)
{
	for (int i = m->count; i-- > 0;) {
		leave(m, i);
		rest(m, i);
	}
}

/* ---- a wave -------------------------------------------------------------------- */

/* What it is told by the input, by news of which there are these. */
static void see(struct ms_seen *seen, const struct ms_node *from,
		unsigned int news)
{
	seen->news = news;
	if (news & MS_NEWS || from->failed) {
		seen->holds = from->holds;
		seen->value = from->value;
		seen->code = from->code;
	}
	seen->ended = from->ended;
	seen->failed = from->failed;
}

/*
 * It begins to follow the input.  An error of an event stands; what that
 * emitted does not, but as it wakes it speaks to who wakes with it.
 */
void ms_meet(struct ms_model *m, struct ms_node *n, int input, uint64_t woken)
{
	const struct ms_node *from = &m->nodes[n->recipe.in[input]];
	unsigned int news = from->ended ? MS_END : 0;

	if (from->holds == MS_ERROR ||
	    (!from->event && from->holds != MS_NOTHING) ||
	    (woken && woken == from->woken && from->news & MS_NEWS))
		news |= MS_NEWS;
	n->seen[input] = (struct ms_seen){.holds = MS_NOTHING};
	see(&n->seen[input], from, news);
}

static void run(struct ms_model *m, struct ms_node *n, bool first)
{
	for (int i = 0; i < n->recipe.count; i++)
		if (follows(n, i) && first)
			ms_meet(m, n, i, n->woken);
		else if (follows(n, i))
			see(&n->seen[i], &m->nodes[n->recipe.in[i]],
			    m->nodes[n->recipe.in[i]].news);
	if (ms_kinds[n->recipe.op].time)
		ms_run_timed(m, n, first);
	else
		ms_runs[n->recipe.op](m, n, first);
	n->rang = n->more_now = false;
	if (!n->ended)
		return;
	n->alarm.armed = 0;
	n->more = false;
	finalized(n, n->failed ? HYPHAE_END_FAILED : HYPHAE_END_COMPLETE);
}

static bool asked(const struct ms_model *m, const struct ms_node *n)
{
	if (n->rang || n->more_now)
		return true;
	for (int i = 0; i < n->recipe.count; i++)
		if (follows(n, i) && m->nodes[n->recipe.in[i]].news)
			return true;
	return false;
}

/* Written when all is told that is under way. */
static void echo(struct ms_model *m, struct ms_echo *e, int64_t value)
{
	if (e->left == 0 || !m->nodes[e->node].handle)
		return;
	e->left--;
	m->echoes[m->echo_count++] =
		(struct ms_write){.node = e->node, .value = ms_fn_echo(value)};
}

static void tell(struct ms_model *m, int sub, enum hyphae_signal_kind kind,
		 bool terminal)
{
	const struct ms_node *n = &m->nodes[m->subs[sub].node];

	if (!m->subs[sub].alive)
		return;
	ms_log_add(&m->log,
		   (struct ms_call){
			   .sub = sub,
			   .kind = kind,
			   .terminal = terminal,
			   .value = kind == HYPHAE_VALUE ? n->value : 0,
			   .code = kind == HYPHAE_ERROR ? n->code : 0,
		   });
	if (kind == HYPHAE_VALUE)
		echo(m, &m->subs[sub].echo, n->value);
	if (terminal || m->subs[sub].flags & HYPHAE_ONCE)
		m->subs[sub].alive = false;
}

static void tell_end(struct ms_model *m, int sub)
{
	bool failed = m->nodes[m->subs[sub].node].failed;

	tell(m, sub, failed ? HYPHAE_ERROR : HYPHAE_COMPLETE, true);
}

static void wave_over(struct ms_model *m)
{
	for (int i = 0; i < m->count; i++) {
		m->nodes[i].news = 0;
		m->nodes[i].woken = 0;
	}
}

static void deliver(struct ms_model *m)
{
	for (int i = 0; i < m->sub_count; i++) {
		const struct ms_node *n = &m->nodes[m->subs[i].node];

		if (n->news & MS_NEWS && n->holds == MS_VALUE)
			tell(m, i, HYPHAE_VALUE, false);
		else if (n->news & MS_NEWS && n->holds == MS_ERROR)
			tell(m, i, HYPHAE_ERROR, false);
		if (n->news & MS_END)
			tell_end(m, i);
	}
	wave_over(m);
}

static void wave(struct ms_model *m)
{
	for (int i = 0; i < m->count; i++) {
		struct ms_node *n = &m->nodes[i];

		if (n->alive && !n->idle && !n->ended && asked(m, n))
			run(m, n, false);
	}
	deliver(m);
}

/* The greatest height of those that have more to say; -1: none. */
static int highest(const struct ms_model *m)
{
	int height = -1;

	for (int i = 0; i < m->count; i++)
		if (m->nodes[i].more && m->nodes[i].height > height)
			height = m->nodes[i].height;
	return height;
}

/* The highest first, one wave after the other. */
static void say_more(struct ms_model *m)
{
	while (highest(m) >= 0) {
		int height;

		quench(m);
		height = highest(m);
		for (int i = 0; i < m->count; i++)
			if (m->nodes[i].more && m->nodes[i].height == height) {
				m->nodes[i].more = false;
				m->nodes[i].more_now = true;
			}
		wave(m);
	}
}

/*
 * What subscribers have written is a wave of its own, in the same propagation;
 * or of the batch's.
 */
static void write_echoes(struct ms_model *m)
{
	struct ms_write writes[MS_ECHOES];
	size_t count = m->echo_count;

	memcpy(writes, m->echoes, count * sizeof(writes[0]));
	m->echo_count = 0;
	for (size_t i = 0; i < count && m->batch; i++)
		ms_write_later(m, writes[i]);
	if (count && !m->batch)
		ms_write(m, writes, count);
}

void ms_propagate(struct ms_model *m)
{
	wave(m);
	say_more(m);
	write_echoes(m);
	reap(m);
}

/* ---- nodes ----------------------------------------------------------------------- */

/* Some are an int64 cell and a map of it. */
static bool is_two(enum ms_op op)
{
	return op == MS_GROUP || op == MS_INTERVAL || op == MS_AFTER;
}

static bool makes_event(const struct ms_model *m, const struct ms_recipe *r)
{
	bool any = false;

	switch (ms_kinds[r->op].event) {
	case MS_NEVER_EVENT:
		return false;
	case MS_ALWAYS_EVENT:
		return true;
	case MS_FIRST_EVENT:
		return m->nodes[r->in[0]].event;
	default:
		for (int i = 0; i < r->count; i++)
			any |= m->nodes[r->in[i]].event;
		return any;
	}
}

/* It follows its inputs, and they wake in turn if they have to. */
static void rouse(struct ms_model *m, int node)
{
	struct ms_node *n = &m->nodes[node];

	if (!n->idle)
		return;
	n->idle = false;
	n->woken = m->wakings;
	n->roused = true;
	if (n->recipe.op == MS_CONCAT)
		n->window = true; /* the first */
	for (int i = 0; i < n->recipe.count; i++)
		if (follows(n, i))
			rouse(m, n->recipe.in[i]);
}

/* It gets a follower: it is computed, after all that wakes with it. */
void ms_wake(struct ms_model *m, int node)
{
	m->wakings++;
	rouse(m, node);
	for (int i = 0; i <= node; i++) {
		struct ms_node *n = &m->nodes[i];

		if (!n->roused)
			continue;
		n->roused = false;
		run(m, n, true);
	}
}

/* By an input that has failed for good: no other has to wake for that. */
static bool fails_at_once(struct ms_model *m, struct ms_node *n)
{
	bool fails = false;

	for (int i = 0; i < n->recipe.count; i++)
		fails |= m->nodes[n->recipe.in[i]].failed;
	if (!fails || n->recipe.op != MS_COMBINE)
		return false;
	n->idle = false;
	run(m, n, true);
	return true;
}

int ms_add(struct ms_model *m, const struct ms_recipe *recipe)
{
	int node = m->count++;
	struct ms_node *n = &m->nodes[node];

	*n = (struct ms_node){.recipe = *recipe, .alive = true, .handle = true};
	n->event = makes_event(m, recipe);
	for (int i = 0; i < recipe->count; i++) {
		const struct ms_node *in = &m->nodes[recipe->in[i]];

		if (in->height >= n->height)
			n->height = in->height + 1;
	}
	n->height += is_two(recipe->op);
	if (recipe->op == MS_CELL || recipe->op == MS_EVENT) {
		n->holds = n->event ? MS_NOTHING : MS_VALUE;
		n->value = recipe->a;
		return node;
	}
	n->lazy = m->lazy || recipe->op == MS_SHARE;
	n->idle = true;
	ms_turn(m);
	if (recipe->op == MS_TAKE && recipe->a == 0) {
		n->idle = n->lazy = false;
		n->ended = true;
	} else if (!n->lazy) {
		if (!fails_at_once(m, n))
			ms_wake(m, node);
		deliver(m);
		say_more(m);
		reap(m);
	}
	return node;
}

void ms_lazy(struct ms_model *m, int node)
{
	m->nodes[node].lazy = true;
	reap(m);
}

void ms_release(struct ms_model *m, int node)
{
	m->nodes[node].handle = false;
	reap(m);
}

/*
 * What it is told at once: what the cell holds, or what an event emits when
 * it wakes.
 */
static void tell_first(struct ms_model *m, int sub)
{
	const struct ms_node *n = &m->nodes[m->subs[sub].node];
	bool skips = m->subs[sub].flags & HYPHAE_SKIP_INITIAL;
	bool emits = n->event && n->news & MS_NEWS;

	if (n->holds == MS_VALUE && (n->event ? emits : !skips))
		tell(m, sub, HYPHAE_VALUE, false);
	else if (n->holds == MS_ERROR && !n->failed && (emits || !skips))
		tell(m, sub, HYPHAE_ERROR, false);
	if (n->ended)
		tell_end(m, sub);
}

int ms_subscribe(struct ms_model *m, int node, unsigned int flags,
		 struct ms_echo echo)
{
	int sub = m->sub_count++;

	m->subs[sub] = (struct ms_sub){node, flags, true, echo};
	ms_turn(m);
	ms_wake(m, node);
	tell_first(m, sub);
	wave_over(m);
	say_more(m);
	write_echoes(m);
	reap(m);
	return sub;
}

void ms_unsubscribe(struct ms_model *m, int sub)
{
	m->subs[sub].alive = false;
	reap(m);
}

/* ---- writes -------------------------------------------------------------------- */

/*
 * Of a batch: what a cell is told with the first wave, and what has to wait
 * for another.
 */
struct batch {
	struct ms_write *writes;
	size_t count;
	bool done[MS_WRITES];
	bool emitted[MS_NODES]; /* in the wave that is being made */
};

static void apply(struct ms_model *m, const struct ms_write *w)
{
	struct ms_node *n = &m->nodes[w->node];

	if (n->ended)
		return;
	if (w->kind == HYPHAE_VALUE)
		ms_emit(m, n, w->value);
	else if (w->kind == HYPHAE_COMPLETE)
		ms_complete(n);
	else
		ms_fail(n, w->code);
}

/* The events of the next wave: up to one that has to wait. */
static void gather_events(struct ms_model *m, struct batch *b)
{
	memset(b->emitted, 0, sizeof(b->emitted));
	for (size_t i = 0; i < b->count; i++) {
		const struct ms_write *w = &b->writes[i];

		if (b->done[i] || !m->nodes[w->node].event)
			continue;
		if (b->emitted[w->node])
			return;
		b->done[i] = b->emitted[w->node] = true;
		apply(m, w);
		if (w->kind != HYPHAE_VALUE)
			return;
	}
}

static bool events_left(const struct ms_model *m, const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (!b->done[i] && m->nodes[b->writes[i].node].event)
			return true;
	return false;
}

/* Of cells the last value of each, and its end; a failure waits for a value. */
static void gather_cells(struct ms_model *m, struct batch *b)
{
	int64_t before[MS_NODES];
	bool written[MS_NODES] = {false};

	for (size_t i = 0; i < b->count; i++) {
		const struct ms_write *w = &b->writes[i];
		struct ms_node *n = &m->nodes[w->node];

		if (n->event || b->done[i])
			continue;
		if (w->kind == HYPHAE_ERROR && written[w->node])
			continue;
		b->done[i] = true;
		if (w->kind != HYPHAE_VALUE) {
			apply(m, w);
			continue;
		}
		if (!written[w->node])
			before[w->node] = n->value;
		written[w->node] = true;
		n->value = w->value;
	}
	for (int i = 0; i < m->count; i++) {
		int64_t value = m->nodes[i].value;

		if (!written[i])
			continue;
		m->nodes[i].value = before[i];
		ms_emit(m, &m->nodes[i], value);
	}
}

/* What the calls return: nothing can be written behind an end. */
static void answer(const struct ms_model *m, struct ms_write *writes,
		   size_t count)
{
	bool over[MS_NODES];

	for (int i = 0; i < m->count; i++)
		over[i] = m->nodes[i].ended;
	for (size_t i = 0; i < count; i++) {
		writes[i].result = over[writes[i].node] ? -ESHUTDOWN : 0;
		if (writes[i].kind != HYPHAE_VALUE)
			over[writes[i].node] = true;
	}
}

void ms_write(struct ms_model *m, struct ms_write *writes, size_t count)
{
	struct batch b = {.writes = writes, .count = count};

	ms_turn(m);
	answer(m, writes, count);
	for (size_t i = 0; i < count; i++)
		b.done[i] = writes[i].result != 0;
	gather_cells(m, &b);
	gather_events(m, &b);
	wave(m);
	say_more(m);
	while (events_left(m, &b)) {
		ms_turn(m);
		gather_events(m, &b);
		wave(m);
		say_more(m);
	}
	for (size_t i = 0; i < count; i++)
		if (!b.done[i])
			apply(m, &writes[i]);
	ms_turn(m);
	wave(m);
	say_more(m);
	write_echoes(m);
	reap(m);
}

void ms_write_later(struct ms_model *m, struct ms_write write)
{
	if (m->batch)
		m->writes[m->write_count++] = write;
	else
		ms_write(m, &write, 1);
}

/* Of two, the map lets go of the other at its end. */
static size_t cells_of(const struct ms_node *n)
{
	return n->alive + (n->alive && is_two(n->recipe.op) && !n->ended);
}

void ms_count(const struct ms_model *m, struct hyphae_graph_counts *counts)
{
	*counts = (struct hyphae_graph_counts){.cells = 0};
	for (int i = 0; i < m->count; i++) {
		counts->cells += cells_of(&m->nodes[i]);
		counts->timers += m->nodes[i].alarm.armed != 0;
	}
	for (int i = 0; i < m->timer_count; i++)
		counts->timers += m->timers[i].recipe.graph == 0 &&
				  m->timers[i].alarm.armed != 0;
	for (int i = 0; i < m->sub_count; i++)
		counts->subscriptions += m->subs[i].alive;
}
