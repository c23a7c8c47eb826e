/* SPDX-License-Identifier: MIT */
/*
 * Cells of cells: switch_map and merge_map.
 *
 * Each is two cells.  The *selector* follows the outer cell and calls the
 * user's function, which gives an inner cell; what that function makes lies in
 * a scope of the operator's, and above the selector in height.  So a switch
 * has let go of the old inner before that could be computed.  The cell that
 * the user sees follows the selector and the inners.
 */
#include <errno.h>

#include "base/alloc.h"
#include "op/inner.h"

struct flatten {
	hyphae_switch_fn fn;
	void *ctx;
	const struct hyphae_type *type; /* of the inners */
	uint32_t refs;			/* of the selector and the cell */
	struct hy_derived *cell;	/* NULL: not there, or gone */
	int64_t calls;			/* the selector's value */
	uint32_t max;			/* inners at once */
	bool one;			/* the next one takes its place */
	bool parted; /* the cell was idle; it does not follow the inners */
	bool over;   /* the cell has ended */
	/* Linked in its last turn, which it is to have again: from, to. */
	uint32_t linked[2];
	/*
	 * The inner of input i of the cell is inners[i]; 0, where the
	 * selector is, holds the one that is not linked yet.
	 */
	struct hy_inner *inners;
	size_t capacity;
	uint32_t count; /* those that are there */
	/* merge_map: inputs that have something to say; a heap by age. */
	uint32_t *waiting;
	size_t waiting_capacity;
	uint32_t nwaiting;
};

struct call {
	struct flatten *s;
	const void *value;
};

static struct hyphae_cell *call_fn(void *arg)
{
	struct call *call = arg;

	return call->s->fn(call->value, call->s->ctx);
}

static void flatten_unref(struct flatten *s)
{
	if (--s->refs)
		return;
	hy_free(s->inners);
	hy_free(s->waiting);
	hy_free(s);
}

/* Inner i is over: the cell lets go of it, and what was made for it goes. */
static void leave(struct hy_graph *g, struct flatten *s, uint32_t i)
{
	struct hy_inner inner = s->inners[i];

	s->inners[i] = (struct hy_inner){0};
	s->count -= inner.cell != NULL;
	if (i && s->cell && i < s->cell->fan_in->count)
		hy_link_remove(g, s->cell, i);
	hy_inner_drop(g, &inner);
}

static void leave_all(struct hy_graph *g, struct flatten *s)
{
	s->nwaiting = 0;
	for (size_t i = s->capacity; s->count && i-- > 0;)
		if (s->inners[i].cell)
			leave(g, s, (uint32_t)i);
}

/* In a wave: none of what was made for them is computed any more. */
static void cut_all(struct hy_graph *g, struct flatten *s)
{
	struct hy_cut from = hy_cut_begin(g);

	leave_all(g, s);
	hy_cut_end(g, &from);
}

/* The selector: one more inner, or another one. */
static int select_next(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct flatten *s = d->ctx;
	struct call call = {s, hy_input_value(d, 0)};
	struct hy_inner inner;
	int r;

	if (s->over) /* since a wave before; what that released is still there */
		return HY_KEEP;
	if (s->one)
		cut_all(g, s);
	else if (s->count >= s->max)
		return -ENOBUFS;
	r = hy_inner_make(g, &inner, call_fn, &call, d->cell.height, s->type);
	if (r)
		return r;
	if (s->inners[0].cell) /* never linked: the cell was not computed */
		leave(g, s, 0);
	inner.number = ++s->calls;
	s->inners[0] = inner;
	s->count++;
	*(int64_t *)out = inner.number;
	return HY_VALUE;
}

static void free_selector(struct hy_graph *g, struct hy_derived *d)
{
	struct flatten *s = d->ctx;

	leave_all(g, s);
	flatten_unref(s);
}

static void reset_selector(struct hy_graph *g, struct hy_derived *d)
{
	leave_all(g, d->ctx);
}

struct above {
	bool (*each)(struct hy_cell *c, void *ctx);
	void *ctx;
};

/* A cell of a scope, and the selector that is a part of it. */
static bool above_part(struct hy_cell *c, void *ctx)
{
	const struct above *a = ctx;
	struct hy_derived *d = hy_derived_of(c);
	struct hy_cell *selector;

	if (d->op->fixed) {
		selector = d->fan_in->edges[0].input;
		if (selector && !a->each(selector, a->ctx))
			return false;
	}
	return a->each(c, a->ctx);
}

/* What was made for the inners is computed after the selector. */
static bool above_selector(struct hy_derived *d,
			   bool (*each)(struct hy_cell *c, void *ctx),
			   void *ctx)
{
	const struct flatten *s = d->ctx;
	struct above above = {each, ctx};

	for (size_t i = 0; i < s->capacity; i++)
		if (!hy_scope_each_derived(s->inners[i].scope, above_part,
					   &above))
			return false;
	return true;
}

/* An event: an error that is equal to the one before is told as well. */
static const struct hy_op op_selector = {
	.name = "selector",
	.run = select_next,
	.above = above_selector,
	.free = free_selector,
	.reset = reset_selector,
	.flags = OP_EVENT,
};

/* Room for an inner at input i; in the region, the first time. */
static bool reserve(struct hy_region *region, struct flatten *s, uint32_t i)
{
	size_t had = s->capacity, want = i + 1u;
	struct hy_inner *inners;
	uint32_t *waiting;

	if (likely(i < had)) /* and so has `waiting`, which comes first */
		return true;
	waiting = hy_reserve_in(region, s->waiting, &s->waiting_capacity, want,
				sizeof(*waiting));
	if (!waiting)
		return false;
	s->waiting = waiting;
	inners = hy_reserve_in(region, s->inners, &s->capacity, want,
			       sizeof(*inners));
	if (!inners)
		return false;
	for (size_t at = had; at < s->capacity; at++)
		inners[at] = (struct hy_inner){0};
	s->inners = inners;
	return true;
}

/* These inputs have been linked, and may be yet to be computed: HY_KEEP. */
static int settle(struct hy_graph *g, struct hy_derived *d, struct flatten *s,
		  uint32_t from, uint32_t to)
{
	if (!hy_must_settle(g, d))
		return 0;
	s->linked[0] = from;
	s->linked[1] = to;
	return HY_KEEP;
}

/* They have been. */
static void settled(struct hy_derived *d, struct flatten *s)
{
	for (uint32_t i = s->linked[0];
	     i < s->linked[1] && i < d->fan_in->count; i++)
		if (s->inners[i].over)
			hy_inner_miss(d, i);
	s->linked[0] = s->linked[1] = 0;
}

/*
 * Follow the inner at 0, which the selector made.  0; HY_KEEP: not now, the
 * cell is computed again, higher up in this wave or later; HY_KEEP | HY_MORE:
 * it cannot be followed, and that is told; or an error.
 */
static int link_inner(struct hy_graph *g, struct hy_derived *d,
		      struct flatten *s)
{
	bool raised = false;
	int i;

	if (!s->inners[0].cell)
		return 0;
	if (!reserve(g->region, s, d->fan_in->count))
		return -ENOMEM;
	s->inners[0].over = hy_inner_is_over(s->inners[0].cell);
	i = hy_link_add(g, d, s->inners[0].cell, &raised);
	if (i == -ELOOP) {
		if (hy_link_later(g, d))
			return HY_KEEP;
		leave(g, s, 0);
		hy_cycle_found(g, &d->cell);
		return HY_KEEP | HY_MORE;
	}
	if (i < 0)
		return i;
	s->inners[i] = s->inners[0];
	s->inners[0] = (struct hy_inner){0};
	return settle(g, d, s, (uint32_t)i, (uint32_t)i + 1);
}

/*
 * The cell was idle and the selector was not, or had ended: the inners are
 * still there, to be followed again.  0, HY_KEEP or an error, as above.
 */
static int link_again(struct hy_graph *g, struct hy_derived *d,
		      struct flatten *s)
{
	bool raised = false;

	for (uint32_t i = d->fan_in->count; i < s->capacity; i++) {
		struct hy_inner inner = s->inners[i];
		int at;

		if (!inner.cell)
			continue;
		inner.over = hy_inner_is_over(inner.cell);
		at = hy_link_add(g, d, inner.cell, &raised);
		if (at == -ELOOP) {
			leave(g, s, i);
			hy_cycle_found(g, &d->cell);
			continue;
		}
		if (at < 0)
			return at;
		s->inners[i] = (struct hy_inner){0};
		s->inners[at] = inner;
	}
	s->parted = false;
	return settle(g, d, s, 1, d->fan_in->count);
}

/* It goes idle: the inners are kept, the first of them at 1. */
static void part(struct hy_graph *g, struct hy_derived *d)
{
	struct flatten *s = d->ctx;
	uint32_t at = 1;

	(void)g;
	s->nwaiting = 0;
	for (uint32_t i = 1; i < s->capacity; i++) {
		struct hy_inner inner = s->inners[i];

		if (!inner.cell)
			continue;
		inner.waits = false;
		s->inners[i] = (struct hy_inner){0};
		s->inners[at++] = inner;
	}
	s->parted = true;
}

/* Follow what is there to be followed; the same outcomes. */
static int link_inners(struct hy_graph *g, struct hy_derived *d,
		       struct flatten *s)
{
	int r = s->parted ? link_again(g, d, s) : 0;

	return r ? r : link_inner(g, d, s);
}

/*
 * The selector has brought the error that it holds.  An end alone does not
 * repeat one that was told before.
 */
static bool is_told(const struct hy_derived *d, uint32_t brought)
{
	return brought & MARK_VALUE ||
	       (brought && d->fan_in->edges[0].input->flags & F_FAILED);
}

/*
 * The outer cell, or the function, stands at an error: so does this one, and
 * the inners are not heard until that is over.  An event tells it once.
 */
static bool outer_error(struct hy_graph *g, struct hy_derived *d)
{
	uint32_t brought = hy_take(d, 0);

	if (!hy_holds_error(d, 0))
		return false;
	for (uint32_t i = 1; i < d->fan_in->count; i++)
		hy_take(d, i);
	hy_flags_set(&d->cell, 0, F_AGAIN); /* there is no inner to follow */
	if (!(d->cell.flags & F_EVENT) || is_told(d, brought))
		hy_pass_error(g, d, 0);
	return true;
}

/* Neither the outer cell nor the inner one will say more. */
static int switch_end(const struct hy_derived *d)
{
	return hy_input_ended(d, 0) &&
			       (d->fan_in->count < 2 || hy_input_ended(d, 1))
		       ? HY_END
		       : 0;
}

/* The cell's turn is over; it does not need the selector if that ended it. */
static int note_end(const struct hy_derived *d, int r)
{
	struct flatten *s = d->ctx;

	s->over = d->cell.flags & F_FAILED || (r > 0 && r & HY_END);
	return r;
}

static int do_switch(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct flatten *s = d->ctx;
	int r;

	s->cell = d;
	settled(d, s);
	if (outer_error(g, d)) {
		r = s->parted ? link_again(g, d, s) : 0;
		return r < 0 ? r : HY_KEEP | switch_end(d);
	}
	r = link_inners(g, d, s);
	if (r)
		return r < 0 ? r : HY_KEEP;
	r = d->fan_in->count < 2 ? HY_KEEP : hy_inner_hear(g, d, 1, out);
	return r | switch_end(d);
}

static int run_switch(struct hy_graph *g, struct hy_derived *d, void *out)
{
	return note_end(d, do_switch(g, d, out));
}

/* ---- merge_map: one after the other, the oldest inner first ------------- */

static bool is_older(const struct flatten *s, uint32_t a, uint32_t b)
{
	return s->inners[a].number < s->inners[b].number;
}

/* Input i has something to say. */
static void wait_turn(struct flatten *s, uint32_t i)
{
	uint32_t at = s->nwaiting++;

	while (at && is_older(s, i, s->waiting[(at - 1) / 2])) {
		s->waiting[at] = s->waiting[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->waiting[at] = i;
	s->inners[i].waits = true;
}

/* Whose turn it is; somebody waits. */
static uint32_t take_turn(struct flatten *s)
{
	uint32_t oldest = s->waiting[0], last = s->waiting[--s->nwaiting];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < s->nwaiting) {
		if (child + 1 < s->nwaiting &&
		    is_older(s, s->waiting[child + 1], s->waiting[child]))
			child++;
		if (!is_older(s, s->waiting[child], last))
			break;
		s->waiting[at] = s->waiting[child];
		at = child;
	}
	s->waiting[at] = last;
	s->inners[oldest].waits = false;
	return oldest;
}

static void line_up(struct hy_derived *d, struct flatten *s)
{
	hy_each_news(d, i) {
		if (!i || !(hy_brought(d, i) & MARK_VALUE))
			continue;
		hy_take(d, i);
		if (!s->inners[i].waits)
			wait_turn(s, i);
	}
}

static int speak(struct hy_graph *g, struct hy_derived *d, struct flatten *s,
		 void *out)
{
	uint32_t i = take_turn(s);
	int r = hy_inner_say(g, d, i, out);

	if (hy_input_ended(d, i)) /* that is all that it has left to say */
		hy_news_add(d, i, MARK_END);
	return r;
}

/* Those that have ended, when they have said everything. */
static void leave_ended(struct hy_graph *g, struct hy_derived *d,
			struct flatten *s)
{
	hy_each_news(d, i) {
		if (!i || hy_brought(d, i) & MARK_VALUE)
			continue;
		hy_take(d, i);
		if (!s->inners[i].waits)
			leave(g, s, i);
	}
}

/* One value a wave; whoever is not heard now is in a wave after this one. */
static int hear_one(struct hy_graph *g, struct hy_derived *d, struct flatten *s,
		    void *out)
{
	int r;

	line_up(d, s);
	r = s->nwaiting ? speak(g, d, s, out) : HY_KEEP;
	if (d->cell.flags & F_FAILED)
		return HY_KEEP;
	leave_ended(g, d, s);
	return s->nwaiting ? r | HY_MORE : r;
}

/* The outer cell, or the function, told an error: one of what is told. */
static bool outer_told_error(struct hy_graph *g, struct hy_derived *d)
{
	uint32_t brought = hy_take(d, 0);

	if (!hy_holds_error(d, 0) || !is_told(d, brought))
		return false;
	hy_pass_error(g, d, 0);
	return true;
}

static int do_merge(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct flatten *s = d->ctx;
	int r;

	s->cell = d;
	settled(d, s);
	if (outer_told_error(g, d))
		return HY_KEEP | HY_MORE;
	/* Heard now and computed again, a value would be told twice. */
	r = link_inners(g, d, s);
	if (r)
		return r;
	r = hear_one(g, d, s, out);
	if (d->fan_in->count < 2 && hy_input_ended(d, 0) &&
	    !(d->cell.flags & F_FAILED))
		r |= HY_END;
	return r;
}

static int run_merge(struct hy_graph *g, struct hy_derived *d, void *out)
{
	return note_end(d, do_merge(g, d, out));
}

static void free_flat(struct hy_graph *g, struct hy_derived *d)
{
	struct flatten *s = d->ctx;

	(void)g;
	s->cell = NULL;
	flatten_unref(s);
}

static const struct hy_op op_switch = {
	.name = "switch_map",
	.run = run_switch,
	.free = free_flat,
	.reset = part,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS,
	.fixed = 1,
};
static const struct hy_op op_merge = {
	.name = "merge_map",
	.run = run_merge,
	.free = free_flat,
	.reset = part,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS,
	.fixed = 1,
};

/* The same told as events: equal ones too, and nothing is held. */
static const struct hy_op op_switch_events = {
	.name = "switch_events",
	.run = run_switch,
	.free = free_flat,
	.reset = part,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS | OP_EVENT,
	.fixed = 1,
};
static const struct hy_op op_merge_events = {
	.name = "merge_events",
	.run = run_merge,
	.free = free_flat,
	.reset = part,
	.flags = OP_SIGNALS | OP_SHARES | OP_DYNAMIC | OP_KEEPS | OP_EVENT,
	.fixed = 1,
};

/* The selector has one follower, and is computed only for it. */
static struct hyphae_cell *follow_selector(struct hyphae_cell *selector,
					   const struct hy_op *op,
					   struct flatten *s, const char *site)
{
	struct hyphae_cell *cell;
	struct hy_order order = {.op = op,
				 .inputs = &selector,
				 .count = 1,
				 .type = s->type,
				 .ctx = s,
				 .site = site};

	s->refs++;
	cell = hy_order(&order);
	if (!cell) {
		flatten_unref(s);
		return NULL;
	}
	if (hyphae_cell_set_lazy(selector) == -ENOMEM) {
		hy_cell_undo(cell);
		errno = ENOMEM;
		return NULL;
	}
	return cell;
}

static struct hyphae_cell *flatten(const struct hy_op *op,
				   struct hyphae_cell *outer,
				   const struct hyphae_type *type,
				   hyphae_switch_fn fn, void *ctx, size_t max,
				   const char *site)
{
	struct hyphae_cell *selector, *cell = NULL;
	struct hy_order order = {.op = &op_selector,
				 .inputs = &outer,
				 .count = 1,
				 .type = &hyphae_int64,
				 .site = site,
				 .hidden = true};
	const struct hy_cell *first = hy_cell(outer);
	struct hy_region *region = first ? hy_graph_of(first)->region : NULL;
	struct flatten *s;
	int error;

	if (!outer)
		return NULL;
	if (!fn || !max || max > HYPHAE_INPUTS_MAX || hy_type_check(type)) {
		errno = EINVAL;
		return NULL;
	}
	order.ctx = s = hy_zalloc_in(region, sizeof(*s));
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->refs = 1;
	if (!reserve(region, s, 1)) {
		flatten_unref(s);
		errno = ENOMEM;
		return NULL;
	}
	s->fn = fn;
	s->ctx = ctx;
	s->type = type;
	s->max = (uint32_t)max;
	s->one = op == &op_switch || op == &op_switch_events;
	selector = hy_order(&order);
	if (!selector) {
		flatten_unref(s); /* leaves errno alone */
		return NULL;
	}
	cell = follow_selector(selector, op, s, site);
	error = errno;
	hyphae_cell_unref(selector);
	errno = error;
	return cell;
}

struct hyphae_cell *hyphae_switch_map_at(struct hyphae_cell *outer,
					 const struct hyphae_type *type,
					 hyphae_switch_fn fn, void *ctx,
					 const char *site)
{
	return flatten(&op_switch, outer, type, fn, ctx, 1, site);
}

struct hyphae_cell *hyphae_merge_map_at(struct hyphae_cell *outer,
					const struct hyphae_type *type,
					size_t max, hyphae_switch_fn fn,
					void *ctx, const char *site)
{
	return flatten(&op_merge, outer, type, fn, ctx, max, site);
}

struct hyphae_cell *hyphae_switch_events_at(struct hyphae_cell *outer,
					    const struct hyphae_type *type,
					    hyphae_switch_fn fn, void *ctx,
					    const char *site)
{
	return flatten(&op_switch_events, outer, type, fn, ctx, 1, site);
}

struct hyphae_cell *hyphae_merge_events_at(struct hyphae_cell *outer,
					   const struct hyphae_type *type,
					   size_t max, hyphae_switch_fn fn,
					   void *ctx, const char *site)
{
	return flatten(&op_merge_events, outer, type, fn, ctx, max, site);
}
