/* SPDX-License-Identifier: MIT */
#include "core/derive.h"
#include "core/node.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/data.h"
#include "core/drain.h"
#include "core/fanout.h"
#include "core/label.h"
#include "core/lazy.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/settle.h"
#include "core/slab.h"
#include "core/track.h"
#include "core/value.h"
#include "core/view.h"
#include "core/wave.h"

static inline void see_large(struct hy_graph *g)
{
	g->queue.large = g->ncells >= HY_QUEUE_LARGE_CELLS;
}

/* I7: room in the queue and the eager stack for what is about to exist. */
static bool make_room(struct hy_graph *g, uint32_t height, size_t edges)
{
	if (!hy_queue_reserve(g->region, &g->queue, height) ||
	    !hy_scope_reserve(g))
		return false;
	if (g->nsignals && (!hy_list_reserve(g, &g->more, g->nsignals) ||
			    !hy_list_reserve(g, &g->again, g->nsignals) ||
			    !hy_fired_room(g, 0)))
		return false;
	see_large(g);
	return hy_stack_room(g, edges);
}

static int check_inputs(struct hy_graph *g, struct hyphae_cell *const *inputs,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct hy_cell *input = hy_cell(inputs[i]);

		if (!input)
			return -ESTALE;
		/* Before a look at what another graph's lock protects. */
		if (hy_graph_of(input) != g)
			return -EXDEV;
		if (input->flags & F_DEAD)
			return -ESTALE;
		if (!hy_more_refs(input))
			return -ENOMEM;
	}
	return 0;
}

/* ---- making --------------------------------------------------------------- */

static void discard(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;

	if (d->op && d->op->reset)
		d->op->reset(g, d);
	if (c->flags & F_BOXED && c->word)
		hy_box_put(g, c->type, hy_box_of(c->word));
	hy_box_free_spares(c);
	hy_error_unref(hy_error_of(c));
	hy_error_put_in(c, NULL);
	if (c->flags & F_NARY)
		hy_fan_in_free(g, d);
	g->nsignals -= (c->flags & F_SIGNALS) != 0;
	g->nlazy -= (c->flags & F_LAZY) != 0;
	g->ncells--;
	hy_label_free(hy_label_of(c)); /* and nothing of the user's */
	hy_slot_free(g, d);
}

/*
 * I7: one box for the value held, one for the next; one more where an operator
 * keeps what it made, which the cell need not hold.
 */
static bool give_boxes(struct hy_derived *d)
{
	int count = 2;

	if (d->op->flags & OP_SHARES)
		count = d->op->flags & OP_MAKES ? 3 : 0;
	if (!(d->cell.flags & F_BOXED))
		return true;
	for (int i = 0; i < count; i++) {
		struct hy_box *box =
			hy_box_new(hy_graph_of(&d->cell), d->cell.type);

		if (!box)
			return false;
		hy_box_spare_new(&d->cell, box);
	}
	return true;
}

static bool is_event(const struct hy_order *order)
{
	size_t count = order->op->flags & OP_LEADS ? 1 : order->count;

	if (!(order->op->flags & OP_STREAM))
		count = 0;
	for (size_t i = 0; i < count; i++)
		if (hy_cell(order->inputs[i])->flags & F_EVENT)
			return true;
	return order->op->flags & OP_EVENT;
}

static bool follows_cold(const struct hy_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		if (hy_cell(order->inputs[i])->flags & F_COLD)
			return true;
	return false;
}

/* The flags of a new cell, of its operator and inputs. */
static uint32_t flags_for(const struct hy_order *order)
{
	uint32_t flags = F_DERIVED | F_NONE;

	if (likely(order->count == 1 && !order->cold &&
		   !(order->op->flags & (OP_SIGNALS | OP_EVENT)) &&
		   !(hy_cell(order->inputs[0])->flags & F_EVENT)))
		return flags;
	if (order->op->flags & OP_SIGNALS)
		flags |= F_SIGNALS | F_BLOCKED;
	if (order->count > 1 || order->op->flags & OP_SIGNALS)
		flags |= F_NARY;
	if (is_event(order))
		flags |= HY_EVENT_FLAGS;
	if (order->cold && order->lazy)
		flags |= F_COLD;
	return flags;
}

/* A map reads its input without a look at where the value lies. */
static inline const struct hy_op *op_over(const struct hy_op *op,
					  const struct hy_cell *input)
{
	if (unlikely(input->flags & F_BOXED) && op == &hy_op_map)
		return &hy_op_map_boxed;
	return op;
}

/* The cell, not linked and without an id: nobody knows it yet. */
static struct hy_derived *derived_new(struct hy_graph *g,
				      const struct hy_order *order)
{
	struct hy_derived *d =
		hy_cell_slot(g, HY_CHUNK_DERIVED, order->type, order->site);
	uint32_t count = order->apart ? 0 : (uint32_t)order->count;
	uint32_t room = order->apart ? order->apart : count;
	bool ok = true;

	if (!d)
		return NULL;
	hy_flags_set(&d->cell, flags_for(order), 0);
	d->op = order->op;
	if (order->count)
		d->op = op_over(order->op, hy_cell(order->inputs[0]));
	d->fn = order->fn;
	d->ctx = order->ctx;
	if (d->cell.flags & F_NARY)
		ok = hy_fan_in_make(g, d, count, room ? room : 2);
	g->nsignals += (d->cell.flags & F_SIGNALS) != 0;
	if (order->lazy && ok) {
		ok = hy_lazy_reserve(g);
		g->nlazy += ok;
		hy_flags_set(&d->cell, ok ? F_LAZY : 0, 0);
	}
	if (ok && give_boxes(d))
		return d;
	discard(g, d);
	return NULL;
}

static inline uint32_t height_over(const struct hy_graph *g,
				   struct hyphae_cell *const *inputs,
				   size_t count)
{
	const struct hy_floor *floor = &hy_self.floor;
	uint32_t height = floor->graph == g ? floor->height : 0;

	for (size_t i = 0; i < count; i++)
		if (hy_cell(inputs[i])->height > height)
			height = hy_cell(inputs[i])->height;
	return height + 1;
}

/*
 * There is room for a cell that lies no higher than others have: what it needs
 * in lists is there since one with F_SIGNALS was made.
 */
static inline bool has_room(const struct hy_graph *g,
			    const struct hy_derived *d)
{
	return d->cell.height <= g->max_height &&
	       !(d->cell.flags & F_SIGNALS) && !(g->flags & HYPHAE_EAGER) &&
	       !hy_self.scope;
}

/* Here and not before: a function that ran may itself have made cells. */
static NOINLINE bool settle_higher(struct hy_graph *g, struct hy_derived *d,
				   size_t edges)
{
	if (!make_room(g, d->cell.height, edges)) {
		discard(g, d);
		return false;
	}
	if (d->cell.height > g->max_height)
		g->max_height = d->cell.height;
	return true;
}

static inline bool settle_down(struct hy_graph *g, struct hy_derived *d,
			       size_t edges)
{
	return likely(has_room(g, d)) || settle_higher(g, d, edges);
}

static struct hyphae_cell *made(struct hy_graph *g, struct hy_derived *d,
				bool hidden)
{
	struct hyphae_cell *handle = hy_cell_made(g, &d->cell, hidden);

	if (d->cell.flags & F_BOXED && d->cell.word &&
	    !(d->op->flags & OP_SHARES))
		hy_box_of(d->cell.word)->home = handle;
	return handle;
}

static void forget_inputs(struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);

	for (uint32_t i = 0; i < hy_inputs(d); i++)
		edges[i].input = NULL;
}

/* It has its first value: let it be seen, and follow its inputs. */
static struct hyphae_cell *publish(struct hy_graph *g, struct hy_view *view,
				   struct hy_derived *d,
				   const struct hy_order *order, int outcome)
{
	struct hyphae_cell *handle;
	uint32_t news = 0;

	/* The inputs may have been raised meanwhile. */
	for (size_t i = 0; i < view->count; i++)
		if (view->inputs[i].cell->height >= d->cell.height)
			d->cell.height = view->inputs[i].cell->height + 1;
	if (!settle_down(g, d, view->count))
		return NULL;
	if (d->cell.flags & F_ENDED)
		forget_inputs(d);
	else
		news = hy_view_link(g, view, d);
	handle = made(g, d, order->hidden);
	/* Whoever drains takes it along; if nobody does, we do. */
	if (news)
		hy_queue_push(&g->queue, d,
			      news & MARK_VALUE || d->cell.flags & F_SIGNALS
				      ? F_VALUE_TOUCH
				      : 0);
	hy_outcome_first(g, d, outcome);
	return handle;
}

/* It is computed, and its input has a reference for that. */
static NOINLINE struct hyphae_cell *simple_made(struct hy_graph *g,
						struct hy_derived *d,
						struct hy_cell *input,
						bool hidden, int outcome)
{
	struct hyphae_cell *handle = NULL;

	if (input->height >= d->cell.height)
		d->cell.height = input->height + 1;
	if (settle_down(g, d, 1)) {
		if (d->cell.flags & F_ENDED) {
			d->one.input = NULL;
		} else {
			hy_edge_link(g, &d->one, d, input);
			hy_view_state(d);
		}
		handle = made(g, d, hidden);
		hy_outcome_first(g, d, outcome);
	}
	hy_cell_put(g, input);
	return handle;
}

/*
 * One input, and no other thread that could change it meanwhile (I5): no copy
 * is needed.  It is kept, for the function may release it.
 */
static struct hyphae_cell *make_simple(struct hy_graph *g, struct hy_derived *d,
				       struct hy_cell *input, bool hidden)
{
	input->refs++;
	d->one.input = input;
	return simple_made(g, d, input, hidden, hy_compute_first(g, d));
}

/* A cell that is computed now, from copies of its inputs, then linked. */
static struct hyphae_cell *make_static(struct hy_graph *g, struct hy_derived *d,
				       const struct hy_order *order)
{
	struct hyphae_cell *handle;
	struct hy_view view;
	int outcome;

	if (hy_drains(g) && !(d->cell.flags & F_NARY) &&
	    !(hy_cell(order->inputs[0])->flags & F_EVENT))
		return make_simple(g, d, hy_cell(order->inputs[0]),
				   order->hidden);
	if (!hy_view_init(&view, order->inputs, order->count)) {
		discard(g, d);
		return NULL;
	}
	hy_view_show(&view, d);
	outcome = hy_compute_first(g, d);
	handle = publish(g, &view, d, order, outcome);
	hy_view_done(g, &view);
	return handle;
}

/* An idle one: it only knows its inputs. */
static struct hyphae_cell *make_lazy(struct hy_graph *g, struct hy_derived *d,
				     const struct hy_order *order)
{
	struct hy_edge *edges = hy_edges(d);

	if (!settle_down(g, d, order->count))
		return NULL;
	for (size_t i = 0; i < order->count; i++)
		if (order->apart)
			hy_hold(hy_cell(order->inputs[i]));
		else
			edges[i].input = hy_cell(order->inputs[i]);
	hy_flags_set(&d->cell, F_IDLE | F_BLOCKED, 0);
	hy_park(g, d);
	return made(g, d, order->hidden);
}

/* It follows what is idle, and has not failed for want of another input. */
static bool wakes_inputs(const struct hy_order *order)
{
	uint32_t over = order->op->flags & OP_SIGNALS ? 0 : F_FAILED;
	bool idle = false;

	for (size_t i = 0; i < order->count; i++) {
		uint32_t flags = hy_cell(order->inputs[i])->flags;

		if (flags & over)
			return false;
		idle |= (flags & F_IDLE) != 0;
	}
	return idle && !order->eager;
}

/*
 * One that follows what is idle: it is computed for the first time after that
 * has woken, as if it woke with it.
 */
static struct hyphae_cell *make_waking(struct hy_graph *g, struct hy_derived *d,
				       const struct hy_order *order)
{
	struct hyphae_cell *handle;

	if (!hy_lazy_reserve(g)) {
		discard(g, d);
		return NULL;
	}
	handle = make_lazy(g, d, order);
	if (handle)
		hy_wake_idle(g, &d->cell);
	return handle;
}

/*
 * Nobody gives back a reference that is not handed out yet: the user's, which
 * is to be set again, or 0 if a scope has it.
 */
static inline uint32_t withhold(struct hy_derived *d)
{
	uint32_t users = *hy_users(&d->cell);

	*hy_users(&d->cell) = 0;
	return users;
}

/*
 * One that links inputs while it is computed: it has to be linked itself.  If
 * another thread drains, that one computes it.
 */
static struct hyphae_cell *make_dynamic(struct hy_graph *g,
					struct hy_derived *d,
					const struct hy_order *order)
{
	struct hy_edge *edges = d->fan_in->edges;
	struct hyphae_cell *handle;

	if (!settle_down(g, d, order->count))
		return NULL;
	for (uint32_t i = 0; i < order->count; i++) {
		struct hy_cell *input = hy_cell(order->inputs[i]);

		if (order->apart) {
			hy_hold(input);
			continue;
		}
		hy_edge_link(g, &edges[i], d, input);
		hy_fan_in_begin(d, i);
	}
	handle = made(g, d, order->hidden);
	if (hy_drains(g)) {
		uint32_t users = withhold(d);
		int outcome = hy_compute_first(g, d);

		if (d->cell.flags & F_ENDED)
			hy_unlink_inputs(g, d);
		hy_outcome_first(g, d, outcome);
		*hy_users(&d->cell) = users;
	} else {
		hy_queue_push(&g->queue, d, F_VALUE_TOUCH);
	}
	return handle;
}

/* Made in the function of a cell: it shall see nothing old. */
static void settle_inputs(struct hy_graph *g, const struct hy_order *order)
{
	for (size_t i = 0; i < order->count; i++) {
		struct hy_cell *input = hy_cell(order->inputs[i]);

		if (input && hy_graph_of(input) == g && hy_can_settle(g) &&
		    hy_is_unsettled(g, input))
			hy_settle(g, input);
	}
}

/* What making it left to do; `d` is NULL if there is no cell. */
static void see_to_rest(struct hy_graph *g, struct hy_derived *d, bool drainer)
{
	uint32_t users = 0;

	if (hy_queue_used(&g->queue))
		g->left = true;
	if (d)
		users = withhold(d);
	if (drainer)
		hy_drain_end(g, 0);
	else
		hy_bury(g);
	if (users)
		*hy_users(&d->cell) = users;
}

static struct hyphae_cell *order_locked(struct hy_graph *g,
					struct hy_order *order, int *ret_error)
{
	struct hyphae_cell *handle;
	struct hy_derived *d;
	bool drainer;

	if (unlikely(g->making))
		settle_inputs(g, order);
	*ret_error = check_inputs(g, order->inputs, order->count);
	if (*ret_error)
		return NULL;
	*ret_error = -ENOMEM;
	order->cold |= follows_cold(order);
	order->lazy |= order->cold || g->lazy;
	order->lazy &= !order->eager;
	d = derived_new(g, order);
	if (!d)
		return NULL;
	d->cell.height = height_over(g, order->inputs, order->count);
	/* So that no wave runs, and a write from the function is refused. */
	drainer = hy_drain_begin(g);
	if (order->lazy)
		handle = make_lazy(g, d, order);
	else if (order->op->flags & OP_DYNAMIC)
		handle = make_dynamic(g, d, order);
	else if (unlikely(wakes_inputs(order)))
		handle = make_waking(g, d, order);
	else
		handle = make_static(g, d, order);
	see_to_rest(g, handle ? d : NULL, drainer);
	return handle;
}

#define FAILED_BEFORE 1 /* errno says why there is no input */

static int check_order(struct hy_order *order)
{
	const struct hy_cell *first = NULL;

	if (order->count > HYPHAE_INPUTS_MAX ||
	    (order->count ? !order->inputs : !order->graph))
		return -EINVAL;
	for (size_t i = 0; i < order->count; i++)
		if (!order->inputs[i])
			return FAILED_BEFORE;
	if (order->count) {
		first = hy_cell(order->inputs[0]);
		if (!first)
			return -ESTALE;
		if (!order->type)
			order->type = load_relaxed(&first->type);
		if (!order->graph)
			order->graph = hy_graph_of(first);
	}
	/* That of a cell has been checked. */
	if (first && order->type == load_relaxed(&first->type))
		return 0;
	return hy_type_check(order->type);
}

struct hyphae_cell *hy_order(struct hy_order *order)
{
	struct hyphae_cell *handle = NULL;
	struct hy_tracker *tracker;
	int error = check_order(order);

	if (!error) {
		tracker = hy_track_suspend();
		hy_lock(order->graph);
		handle = order_locked(order->graph, order, &error);
		hy_unlock(order->graph);
		hy_track_resume(tracker);
	}
	if (!handle && error != FAILED_BEFORE)
		errno = -error;
	return handle;
}

struct hy_derived *hy_derive_hidden(struct hy_graph *g, const struct hy_op *op,
				    const struct hyphae_type *type,
				    void (*fn)(void), void *ctx,
				    const char *site)
{
	struct hy_derived *d = hy_cell_slot(g, HY_CHUNK_DERIVED, type, site);

	if (unlikely(!d))
		return NULL;
	hy_flags_set(&d->cell, F_DERIVED | F_NARY | F_SIGNALS | F_BLOCKED, 0);
	d->op = op;
	d->fn = fn;
	d->ctx = ctx;
	d->cell.height = height_over(g, NULL, 0);
	store_relaxed(&d->cell.word, 1);
	g->nsignals++;
	if (unlikely(!hy_fan_in_make(g, d, 0, 2))) {
		discard(g, d);
		return NULL;
	}
	if (!settle_down(g, d, 0))
		return NULL;
	made(g, d, true);
	*hy_users(&d->cell) = 0; /* which is no user's */
	return d;
}

/* Of lists that grow with what is made: I7. */
static inline bool has_hidden_room(const struct hy_graph *g)
{
	return likely(g->max_height >= 1) &&
	       likely(g->nsignals < g->more.capacity) &&
	       likely(g->nsignals < g->again.capacity) &&
	       likely(hy_fired_has_room(g, 1)) && likely(hy_scope_has_room(g));
}

const struct hy_label *hy_hidden_ready(const struct hy_graph *g,
				       const char *site)
{
	if (unlikely(g->busy & (BUSY_SHARED | BUSY_DRAINING)) ||
	    unlikely(g->flags & HYPHAE_EAGER) ||
	    unlikely(hy_self.floor.graph == g) || !hy_inputs_ready(g) ||
	    unlikely(!g->free_slots[HY_CHUNK_SUBSCRIPTION]) ||
	    unlikely(g->id_end - g->id_next < 2) || !has_hidden_room(g))
		return NULL;
	return hy_cell_ready(g, HY_CHUNK_DERIVED, site);
}

struct hy_derived *hy_hidden_make(struct hy_graph *g, const struct hy_op *op,
				  const struct hyphae_type *type,
				  void (*fn)(void), void *ctx,
				  const struct hy_label *label)
{
	struct hy_derived *d =
		hy_cell_take(g, HY_CHUNK_DERIVED, type, label,
			     hy_type_flags(type) | F_DERIVED | F_NARY |
				     F_SIGNALS | F_BLOCKED);

	store_relaxed(&d->cell.word, 1);
	store_relaxed(&d->cell.height, 1);
	d->op = op;
	d->fn = fn;
	d->ctx = ctx;
	hy_fan_in_make_ready(g, d);
	g->nsignals++;
	see_large(g);
	*hy_users_of_derived(&d->cell) = 0;
	store_release(&d->cell.id, hy_id_take(g));
	hy_touch_text(type->name);
	hy_touch_text(op->name);
	hy_cell_told(&d->cell, op->name, hy_cell_bytes(&d->cell), NULL);
	return d;
}

/* ---- the common kind ------------------------------------------------------ */

/* One input, nothing to be looked at before, and no other thread drains. */
static inline bool is_common(struct hy_graph *g, const struct hy_cell *input,
			     const struct hy_op *op,
			     const struct hyphae_type *type)
{
	return !(op->flags & (OP_SIGNALS | OP_EVENT | OP_DYNAMIC)) &&
	       !(input->flags & (F_DEAD | F_EVENT | F_COLD | F_IDLE)) &&
	       hy_more_refs(input) && !g->making && !g->lazy &&
	       (!hy_drained(g) || hy_drains(g)) &&
	       (type == input->type || !hy_type_check(type)) &&
	       !hy_type_boxed(type);
}

/*
 * What hy_order() does, as far as it concerns such a cell.  True: it was made,
 * or there is no memory; false: it is of another kind.
 */
static inline bool derive_common(struct hy_graph *g, const struct hy_op *op,
				 struct hyphae_cell *handle,
				 const struct hyphae_type *type,
				 void (*fn)(void), void *ctx, const char *site,
				 struct hyphae_cell **ret_cell)
{
	struct hy_cell *input = hy_cell(handle);
	struct hy_derived *d;
	bool drainer;

	if (!input || hy_graph_of(input) != g ||
	    !is_common(g, input, op, type ? type : input->type))
		return false;
	*ret_cell = NULL;
	d = hy_cell_slot(g, HY_CHUNK_DERIVED, type ? type : input->type, site);
	if (unlikely(!d))
		return true;
	hy_flags_set(&d->cell, F_DERIVED | F_NONE, 0);
	d->op = op_over(op, input);
	d->fn = fn;
	d->ctx = ctx;
	d->cell.height = height_over(g, &handle, 1);
	drainer = hy_drain_begin(g);
	*ret_cell = make_simple(g, d, input, false);
	if (unlikely(!drainer || !hy_drain_leave(g)))
		see_to_rest(g, *ret_cell ? d : NULL, drainer);
	return true;
}

/* False: it is for hy_order(). */
static inline bool try_common(const struct hy_op *op, struct hyphae_cell *input,
			      const struct hyphae_type *type, void (*fn)(void),
			      void *ctx, const char *site,
			      struct hyphae_cell **ret_cell)
{
	const struct hy_cell *c = hy_cell(input);
	struct hy_tracker *tracker;
	struct hy_graph *g;
	bool common;

	if (unlikely(!c))
		return false;
	g = hy_graph_of(c);
	tracker = hy_track_suspend();
	hy_lock(g);
	common = derive_common(g, op, input, type, fn, ctx, site, ret_cell);
	hy_unlock(g);
	hy_track_resume(tracker);
	if (common && unlikely(!*ret_cell))
		errno = ENOMEM;
	return common;
}

NOINLINE struct hyphae_cell *
hy_derive(const struct hy_op *op, struct hyphae_cell *const *inputs,
	  size_t count, const struct hyphae_type *type, void (*fn)(void),
	  void *ctx, const char *site)
{
	struct hyphae_cell *cell = NULL;

	if (!fn || !count) {
		errno = EINVAL;
		return NULL;
	}
	if (count == 1 && try_common(op, inputs[0], type, fn, ctx, site, &cell))
		return cell;
	return hy_order(&(struct hy_order){.op = op,
					   .inputs = inputs,
					   .count = count,
					   .type = type,
					   .fn = fn,
					   .ctx = ctx,
					   .site = site});
}

/* ---- the plain kind ------------------------------------------------------- */

#define F_UNPLAIN                                                              \
	(F_DEAD | F_NO_VALUE | F_ENDED | F_BOXED | F_EVENT | F_COLD | F_IDLE | \
	 F_LAZY | F_HOOKS)

/* Its values are words. */
static NOINLINE bool is_plain_type(const struct hyphae_type *type)
{
	return !hy_type_check(type) && !hy_type_boxed(type);
}

/*
 * It can be made, and computed for the first time, in one go: the input holds
 * a word and does not care, and nobody propagates.  So nothing else is to be
 * looked at that somebody in the middle of something may have said (functions
 * under way that make cells, their floor).
 */
static ALWAYS_INLINE bool is_plain(const struct hy_graph *g,
				   const struct hy_cell *input,
				   const struct hyphae_type *type)
{
	return !unlikely(g->busy & (BUSY_SHARED | BUSY_DRAINING)) &&
	       !unlikely(input->flags & F_UNPLAIN) && hy_more_refs(input) &&
	       (likely(input->type == type) || is_plain_type(type)) &&
	       likely(input->height < g->max_height) && !unlikely(g->lazy) &&
	       !unlikely(g->flags & (HYPHAE_EAGER | HYPHAE_HEAP_CELLS)) &&
	       !unlikely(hy_self.scope) && !unlikely(hy_self.tracker);
}

/* Its function made a word, and did nothing else. */
static ALWAYS_INLINE bool still_plain(const struct hy_derived *d,
				      const struct hy_cell *input, int outcome)
{
	return likely(outcome == HY_VALUE) &&
	       !unlikely(input->flags & F_UNPLAIN) &&
	       likely(input->height < d->cell.height) &&
	       !unlikely(hy_self.scope);
}

/* It was, until its function ran. */
static NOINLINE struct hyphae_cell *plain_no_more(struct hy_graph *g,
						  struct hy_derived *d,
						  int outcome, uint64_t word)
{
	struct hyphae_cell *handle;

	store_relaxed(&d->cell.word, 0);
	hy_flags_set(&d->cell, F_NONE, 0);
	hy_first_outcome(g, d, outcome, word);
	handle = simple_made(g, d, d->one.input, false, outcome);
	see_to_rest(g, handle ? d : NULL, true);
	if (!handle)
		errno = ENOMEM;
	return handle;
}

/* The function, or something it made, has left something to do. */
static NOINLINE struct hyphae_cell *plain_with_rest(struct hy_graph *g,
						    struct hy_derived *d)
{
	struct hyphae_cell *handle = hy_cell_made(g, &d->cell, false);

	see_to_rest(g, d, true);
	return handle;
}

static ALWAYS_INLINE struct hyphae_cell *
make_plain(struct hy_graph *g, struct hy_cell *input, const struct hy_op *op,
	   const struct hyphae_type *type, void (*fn)(void), void *ctx,
	   const struct hy_label *label)
{
	/* No event, so what it has of F_EQUAL is its type's. */
	uint32_t flags = F_DERIVED |
			 (likely(type == input->type) ? input->flags & F_EQUAL
						      : hy_type_flags(type));
	struct hy_derived *d =
		hy_cell_take(g, HY_CHUNK_DERIVED, type, label, flags);
	struct hy_graph *saved = g->solo.guard;
	uint64_t word = 0;
	int outcome;

	store_relaxed(&d->cell.height, input->height + 1);
	d->op = op;
	d->fn = fn;
	d->ctx = ctx;
	d->one.input = input;
	input->refs++; /* the function may release it */
	hy_drain_begin_alone(g);
	g->solo.guard = g;
	outcome = likely(op == &hy_op_map)
			  ? hy_plain_result(((hyphae_map_fn)fn)(
				    &word, &input->word, ctx))
			  : op->run(g, d, &word);
	g->solo.guard = saved;
	if (!still_plain(d, input, outcome))
		return plain_no_more(g, d, outcome, word);
	store_relaxed(&d->cell.word, word);
	d->one.owner = d;
	hy_edge_put_in(g, &d->one, input);
	store_relaxed(&input->targets, input->targets + 1);
	if (unlikely(!hy_drain_leave_alone(g)))
		return plain_with_rest(g, d);
	return hy_cell_hand_out(&d->cell, hy_id_new(g), true, op->name);
}

struct hyphae_cell *hy_derive_plainly(struct hyphae_cell *input,
				      const struct hyphae_type *type,
				      void (*fn)(void), void *ctx,
				      const char *site, const struct hy_op *op)
{
	struct hy_cell *c = hy_cell(input);

	if (likely(c && fn)) {
		const struct hyphae_type *its =
			type ? type : load_relaxed(&c->type);
		struct hy_graph *g = hy_graph_of(c);
		const struct hy_label *label = NULL;

		if (likely(is_plain(g, c, its)))
			label = hy_cell_ready(g, HY_CHUNK_DERIVED, site);
		if (likely(label != NULL))
			return make_plain(g, c, op, its, fn, ctx, label);
	}
	return hy_derive(op, &input, 1, type, fn, ctx, site);
}

void hy_wake(struct hy_graph *g, struct hy_derived *d)
{
	if (d->cell.flags & (F_DEAD | F_ENDED | F_IDLE))
		return;
	if (hy_drained(g) && !hy_drains(g)) {
		/* That one may be in a wave in which the cell had its turn. */
		hy_more(g, d);
		return;
	}
	hy_queue_push(&g->queue, d, F_VALUE_TOUCH);
	g->left = true;
}
