/* SPDX-License-Identifier: MIT */
#include "core/lazy.h"

#include "base/alloc.h"
#include "core/drain.h"
#include "core/fanout.h"
#include "core/link.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/sync.h"
#include "core/value.h"
#include "core/wave.h"

bool hy_lazy_reserve(struct hy_graph *g)
{
	return hy_list_reserve(g, &g->attention, g->nlazy + 1) &&
	       hy_list_reserve(g, &g->needed, g->nlazy + 1);
}

/* ---- parked edges ----------------------------------------------------------- */

static void park(struct hy_graph *g, struct hy_edge *e, struct hy_derived *d,
		 struct hy_cell *input)
{
	hy_edge_own(e, d);
	e->input = input;
	e->next = e->prev = NULL;
	g->nedges++;
	hy_hold(input);
}

void hy_park(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);

	for (uint32_t i = 0; i < hy_inputs(d); i++)
		if (edges[i].input)
			park(g, &edges[i], d, edges[i].input);
}

void hy_unpark(struct hy_graph *g, struct hy_edge *e)
{
	struct hy_cell *input = e->input;

	e->input = NULL;
	g->nedges--;
	hy_let_go(g, input);
}

/* ---- waking ------------------------------------------------------------------- */

/* What a cell that follows its inputs from now on has to know of them. */
static void look_at_inputs(struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	const struct hy_cell *input = d->one.input;
	uint32_t flags = 0;

	if (!(c->flags & F_NARY)) {
		if (input->flags & (F_NO_VALUE | F_EVENT))
			flags |= F_BLOCKED;
		if (input->flags & F_ENDED)
			flags |= F_INPUT_ENDED;
		hy_flags_set(c, flags, F_BLOCKED);
		return;
	}
	for (uint32_t i = 0; i < d->fan_in->count; i++)
		if (d->fan_in->edges[i].input)
			hy_fan_in_begin(d, i);
}

/* Its inputs may have been raised while it was away. */
static int wake_edges(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	int r = 0;

	for (uint32_t i = 0; i < hy_inputs(d) && r == 0; i++)
		if (edges[i].input)
			r = hy_raise(g, d, edges[i].input);
	if (r)
		return r;
	for (uint32_t i = 0; i < hy_inputs(d); i++) {
		struct hy_cell *input = edges[i].input;

		if (!input)
			continue;
		hy_edge_link(g, &edges[i], d, input);
		g->nedges--;
		hy_let_go(g, input); /* not the last: the edge's */
	}
	return 0;
}

/*
 * Whoever reads it tries again, and is computed again when it is told: so the
 * same is told once, by an event too.
 */
static void could_not_wake(struct hy_graph *g, struct hy_cell *c, int r)
{
	if (!(c->flags & F_EVENT) || !(c->flags & F_ERROR))
		hy_set_failure(g, c, r);
	if (c->flags & F_NEWS) /* it is in no queue to do so later */
		hy_spread(g, c);
	hy_flags_set(c, 0, F_NEWS);
	g->left = true;
}

static void wake(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	int r;

	if (!(c->flags & F_IDLE) || c->flags & F_DEAD)
		return;
	hy_flags_set(c, 0, F_IDLE);
	r = wake_edges(g, d);
	if (r) { /* -ENOMEM, or -ELOOP: it is followed by what it follows */
		hy_flags_set(c, F_IDLE, 0);
		could_not_wake(g, c, r);
		return;
	}
	look_at_inputs(d);
	if (d->op->wake)
		d->op->wake(g, d);
	hy_queue_push(&g->queue, d, F_VALUE_TOUCH);
	g->left = true;
}

/* Waking a cell may make its inputs needed: a list instead of recursion. */
static void need(struct hy_graph *g, struct hy_cell *c)
{
	hy_list_add(&g->needed, c);
	if (g->waking)
		return;
	g->waking = true;
	for (size_t i = 0; i < g->needed.count; i++) {
		wake(g, hy_derived_of(g->needed.cells[i]));
		hy_cell_put(g, g->needed.cells[i]);
	}
	g->needed.count = 0;
	g->waking = false;
}

/* ---- going idle ------------------------------------------------------------------ */

static void idle_edges(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	bool dynamic = d->op->flags & OP_DYNAMIC;

	for (uint32_t i = hy_inputs(d); i-- > 0;) {
		struct hy_cell *input = edges[i].input;

		if (!input)
			continue;
		if (dynamic && i >= d->op->fixed) {
			hy_link_remove(g, d, i);
			continue;
		}
		hy_edge_unlink(g, &edges[i]);
		park(g, &edges[i], d, input);
		hy_cell_put(g, input); /* the parked reference stays */
	}
}

static void forget_value(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_error *error = hy_error_of(c);
	uint64_t word = c->word;

	hy_flags_set(c, F_NONE | F_IDLE | F_BLOCKED,
		     F_ERROR | F_INPUT_ENDED | F_NEWS | F_TURNED | F_MORE);
	hy_error_put_in(c, NULL);
	hy_error_unref(error);
	if (c->flags & F_BOXED && word) {
		c->word = 0;
		hy_box_put(g, c->type, hy_box_of(word));
	}
}

static void go_idle(struct hy_graph *g, struct hy_derived *d)
{
	idle_edges(g, d);
	forget_value(g, &d->cell);
	if (d->op->reset)
		d->op->reset(g, d);
}

static void idle_unless_followed(struct hy_graph *g, struct hy_cell *c)
{
	if (c->flags & F_LAZY && !c->targets &&
	    !(c->flags & (F_IDLE | F_ENDED | F_DEAD)))
		go_idle(g, hy_derived_of(c));
}

/* They stay in the list, for hooks; it grows by what they let go of. */
void hy_quench(struct hy_graph *g)
{
	for (size_t i = 0; i < g->attention.count; i++)
		idle_unless_followed(g, g->attention.cells[i]);
}

/* ---- first and last ------------------------------------------------------------------ */

static void attention(struct hy_graph *g, struct hy_cell *c)
{
	if (c->flags & F_ATTENTION || g->freeing)
		return;
	hy_flags_set(c, F_ATTENTION, 0);
	hy_list_add(&g->attention, c);
	g->left = true;
}

void hy_first_target(struct hy_graph *g, struct hy_cell *c)
{
	if (c->flags & F_IDLE)
		need(g, c);
	if (c->flags & F_HOOKS)
		attention(g, c);
}

void hy_last_target(struct hy_graph *g, struct hy_cell *c)
{
	attention(g, c);
}

void hy_wake_idle(struct hy_graph *g, struct hy_cell *c)
{
	need(g, c);
	if (c->flags & F_LAZY && !c->targets)
		attention(g, c);
}

struct hy_hooks {
	hyphae_hook_fn first, last;
	void *ctx;
};

static struct hy_hooks *hooks_of(struct hy_cell *c)
{
	struct hy_owned *owned = hy_cold_of(c)->owned;

	while (owned && owned->drop != hy_free)
		owned = owned->next;
	return owned ? owned->data : NULL;
}

/* What came and went in between is not told. */
static void tell_hooks(struct hy_graph *g, struct hy_cell *c)
{
	const struct hy_hooks *hooks = hooks_of(c);
	bool linked = c->targets;
	hyphae_hook_fn fn;
	void *ctx = hooks->ctx;
	struct hy_graph *saved;

	if (linked == ((c->flags & F_LINKED) != 0))
		return;
	hy_flags_set(c, linked ? F_LINKED : 0, F_LINKED);
	fn = linked ? hooks->first : hooks->last;
	if (!fn)
		return;
	saved = hy_stretch_begin(g, false);
	hy_call_begin(g);
	fn(hy_cell_handle(c), ctx);
	hy_call_end(g);
	hy_stretch_end(g, saved);
}

void hy_attend(struct hy_graph *g)
{
	struct hy_cell *c = g->attention.cells[--g->attention.count];

	hy_flags_set(c, 0, F_ATTENTION);
	idle_unless_followed(g, c);
	if (c->flags & F_HOOKS && !(c->flags & F_DEAD))
		tell_hooks(g, c);
	hy_cell_put(g, c);
}

/* ---- the public functions ---------------------------------------------------------------- */

/* One more cell whose followers matter; there must be room to note it. */
static bool care(struct hy_graph *g, struct hy_cell *c, uint32_t flag)
{
	if (!(c->flags & (F_LAZY | F_HOOKS))) {
		if (!hy_lazy_reserve(g))
			return false;
		g->nlazy++;
	}
	hy_flags_set(c, flag, 0);
	return true;
}

/* Both blocks are taken, or given back by the caller. */
static int hook_locked(struct hy_graph *g, struct hy_cell *c,
		       struct hy_owned *owned, struct hy_hooks *hooks)
{
	if (c->flags & F_HOOKS) {
		*hooks_of(c) = *hooks;
		return 1;
	}
	if (!hy_cold_made(c) ||
	    !care(g, c, F_HOOKS | (c->targets ? F_LINKED : 0)))
		return -ENOMEM;
	*owned = (struct hy_owned){
		.data = hooks, .drop = hy_free, .next = hy_cold_of(c)->owned};
	hy_cold_of(c)->owned = owned;
	return 0;
}

int hyphae_cell_set_hooks(struct hyphae_cell *handle, hyphae_hook_fn first,
			  hyphae_hook_fn last, void *ctx)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_owned *owned;
	struct hy_hooks *hooks;
	struct hy_graph *g;
	int r = -ENOMEM;

	if (!c)
		return hy_bad_handle(handle);
	g = hy_graph_of(c);
	owned = hy_alloc_in(g->region, sizeof(*owned));
	hooks = hy_alloc_in(g->region, sizeof(*hooks));
	if (owned && hooks) {
		*hooks = (struct hy_hooks){first, last, ctx};
		hy_lock(g);
		r = hy_cell(handle) && !(c->flags & F_DEAD)
			    ? hook_locked(g, c, owned, hooks)
			    : -ESTALE;
		hy_unlock(g);
	}
	if (r) {
		hy_free(owned);
		hy_free(hooks);
	}
	return r > 0 ? 0 : r;
}

int hyphae_cell_set_lazy(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);
	struct hy_graph *g;

	if (!c)
		return r;
	g = hy_graph_of(c);
	if (!(c->flags & F_DERIVED))
		r = -EINVAL;
	else if (!care(g, c, F_LAZY))
		r = -ENOMEM;
	else if (!c->targets && !(c->flags & F_IDLE))
		attention(g, c);
	hy_bury(g);
	hy_unlock(g);
	return r;
}

int hyphae_graph_set_lazy(struct hyphae_graph *handle, bool lazy)
{
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	g->lazy = lazy;
	hy_unlock(g);
	return 0;
}
