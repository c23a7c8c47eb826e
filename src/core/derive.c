/* SPDX-License-Identifier: MIT */
#include "core/derive.h"
#include "core/node.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/value.h"
#include "core/wave.h"

static void edge_link(struct hy_graph *g, struct hy_edge *e,
		      struct hy_derived *owner, struct hy_cell *input)
{
	e->owner = owner;
	e->input = input;
	e->next = NULL;
	if (input->deps) {
		e->prev = input->deps->prev;
		e->prev->next = e;
		input->deps->prev = e;
	} else {
		e->prev = e;
		input->deps = e;
	}
	input->targets++;
	hy_cold_of(input)->refs++;
	g->nedges++;
}

static struct hy_fan_in *fan_in_new(size_t count)
{
	size_t edges = count * sizeof(struct hy_edge);
	struct hy_fan_in *in =
		hy_zalloc(sizeof(*in) + edges + count * sizeof(void *));

	if (in) {
		in->count = (uint32_t)count;
		in->values = (const void **)((char *)in->edges + edges);
	}
	return in;
}

/*
 * An input that changed but has not told so yet will count d's state again
 * when it does; so what it will add is taken off here.
 */
static void settle_accounts(struct hy_derived *d)
{
	struct hy_fan_in *in = d->fan_in;

	for (uint32_t i = 0; i < in->count; i++) {
		const struct hy_cell *input = in->edges[i].input;

		if (input->flags & F_TURNED)
			in->without -= input->flags & F_NO_VALUE ? 1 : -1u;
		if (input->flags & F_UNSPREAD)
			in->ended--;
	}
}

/* I7: room in the queue and the eager stack for what is about to exist. */
static bool make_room(struct hy_graph *g, uint32_t height, size_t edges)
{
	struct hy_eager_entry *stack;

	if (!hy_queue_reserve(&g->queue, height) || !hy_scope_reserve(g))
		return false;
	if (!(g->flags & HYPHAE_EAGER))
		return true;
	stack = hy_reserve(g->stack, &g->stack_capacity,
			   g->nedges + edges + g->ncells + 2, sizeof(*stack));
	if (stack)
		g->stack = stack;
	return stack;
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
	}
	return 0;
}

/* ---- what the first computation sees ---------------------------------- */

/*
 * The inputs as they are when the cell is made.  The function runs without
 * the lock, and if another thread drains, the inputs may change meanwhile: so
 * it gets copies, and afterwards we see whether it has to run again.
 */
struct seen {
	struct hy_cell copy;  /* its box is referenced */
	struct hy_cell *cell; /* referenced too */
};

struct view {
	size_t count;
	struct seen *inputs;
	struct seen one; /* inputs, when there is one */
};

static bool view_init(struct view *view, struct hyphae_cell *const *inputs,
		      size_t count)
{
	view->count = count;
	view->inputs = &view->one;
	if (count > 1)
		view->inputs = hy_alloc(count * sizeof(*view->inputs));
	if (!view->inputs)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct seen *seen = &view->inputs[i];

		/* Now: the function may change the caller's array. */
		seen->cell = hy_cell(inputs[i]);
		seen->copy = *seen->cell;
		hy_cold_of(seen->cell)->refs++;
		if (seen->copy.flags & F_BOXED && seen->copy.word)
			hy_box_ref(hy_box_of(seen->copy.word));
	}
	return true;
}

static void view_done(struct hy_graph *g, struct view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		struct hy_cell *copy = &view->inputs[i].copy;

		if (copy->flags & F_BOXED && copy->word)
			hy_box_put(g, copy->type, hy_box_of(copy->word));
		hy_cell_put(g, view->inputs[i].cell);
	}
	if (view->inputs != &view->one)
		hy_free(view->inputs);
}

/* Whether the function will run: all inputs have values. */
static bool view_complete(const struct view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->inputs[i].copy.flags & F_NO_VALUE)
			return false;
	return true;
}

/*
 * Let the cell look at the copies; or, when no function is going to run and
 * the lock is kept, at the inputs and their errors.
 */
static void view_show(struct view *view, struct hy_derived *d)
{
	bool copies = view_complete(view);
	struct hy_edge *edges = hy_edges(d);

	for (size_t i = 0; i < view->count; i++) {
		struct hy_cell *copy = &view->inputs[i].copy;

		edges[i].input = copies ? copy : view->inputs[i].cell;
		if (view->count == 1)
			break;
		d->fan_in->values[i] = hy_value_of(copy);
		d->fan_in->without += (copy->flags & F_NO_VALUE) != 0;
		d->fan_in->ended += (copy->flags & F_ENDED) != 0;
	}
}

/* The marks that the inputs' fan-outs keep up to date from now on. */
static void note_state(struct hy_derived *d)
{
	const struct hy_edge *edges = hy_edges(d);
	uint32_t marks = 0;

	for (uint32_t i = 0; i < hy_inputs(d); i++) {
		if (edges[i].input->flags & F_NO_VALUE)
			marks |= F_BLOCKED;
		if (edges[i].input->flags & F_ENDED)
			marks |= F_INPUT_ENDED;
	}
	hy_flags_set(&d->cell, marks, 0);
}

/* Let the cell follow the inputs; true if they differ from the copies. */
static bool view_link(struct hy_graph *g, struct view *view,
		      struct hy_derived *d)
{
	const uint32_t state = F_NO_VALUE | F_ENDED;
	struct hy_edge *edges = hy_edges(d);
	bool differs = false;

	if (view->count > 1)
		d->fan_in->without = d->fan_in->ended = 0;
	for (size_t i = 0; i < view->count; i++) {
		const struct hy_cell *copy = &view->inputs[i].copy;
		struct hy_cell *input = view->inputs[i].cell;

		edge_link(g, &edges[i], d, input);
		differs |= input->word != copy->word ||
			   (input->flags & state) != (copy->flags & state) ||
			   (input->flags & copy->flags & F_ERROR);
		if (view->count == 1)
			break;
		d->fan_in->values[i] = hy_value_of(input);
		d->fan_in->without += (input->flags & F_NO_VALUE) != 0;
		d->fan_in->ended += (input->flags & F_ENDED) != 0;
	}
	if (view->count > 1)
		settle_accounts(d);
	note_state(d);
	return differs;
}

/* ---- making --------------------------------------------------------------- */

/* What hy_derive() was asked for. */
struct order {
	const struct hy_op *op;
	const struct hyphae_type *type;
	void (*fn)(void);
	void *ctx;
	const char *site;
};

static void discard(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;

	if (c->flags & F_BOXED && c->word)
		hy_box_put(g, c->type, hy_box_of(c->word));
	hy_box_free_spares(c);
	hy_error_unref(hy_cold_of(c)->error);
	if (c->flags & F_NARY)
		hy_free(d->fan_in);
	g->ncells--;
	hy_slot_free(g, d);
}

/* The cell, not linked and without an id: nobody knows it yet. */
static struct hy_derived *derived_new(struct hy_graph *g,
				      const struct order *order, size_t count)
{
	struct hy_derived *d = hy_slot_new(g, HY_CHUNK_DERIVED);
	bool boxed = hy_type_boxed(order->type) && order->op != &hy_op_filter;

	if (!d)
		return NULL;
	hy_cell_init(g, &d->cell, order->type, order->site);
	d->cell.flags |= F_DERIVED | F_NONE;
	d->op = order->op;
	d->fn = order->fn;
	d->ctx = order->ctx;
	if (count > 1) {
		d->fan_in = fan_in_new(count);
		d->cell.flags |= F_NARY;
	}
	/* I7: one box for the value held, one for the next. */
	for (int i = 0; boxed && i < 2; i++) {
		struct hy_box *box = hy_box_new(order->type);

		if (box)
			hy_box_spare_new(&d->cell, box);
		boxed = box;
	}
	if ((count > 1 && !d->fan_in) ||
	    (!boxed && hy_type_boxed(order->type) &&
	     order->op != &hy_op_filter)) {
		discard(g, d);
		return NULL;
	}
	return d;
}

static uint32_t height_over(const struct view *view)
{
	uint32_t height = 0;

	for (size_t i = 0; i < view->count; i++)
		if (view->inputs[i].copy.height > height)
			height = view->inputs[i].copy.height;
	return height + 1;
}

/* It has its first value: let it be seen, and follow its inputs. */
static struct hyphae_cell *publish(struct hy_graph *g, struct view *view,
				   struct hy_derived *d)
{
	struct hyphae_cell *handle;
	bool differs = false;

	d->cell.height = height_over(view);
	/* Here and not before: the function may itself have made cells. */
	if (!make_room(g, d->cell.height, view->count)) {
		discard(g, d);
		return NULL;
	}
	if (d->cell.height > g->max_height)
		g->max_height = d->cell.height;
	if (!(d->cell.flags & F_ENDED))
		differs = view_link(g, view, d);
	else if (view->count == 1)
		d->one.input = NULL;
	else
		for (size_t i = 0; i < view->count; i++)
			d->fan_in->edges[i].input = NULL;
	handle = hy_cell_made(g, &d->cell);
	if (d->cell.flags & F_BOXED && d->cell.word && d->op != &hy_op_filter)
		hy_box_of(d->cell.word)->home = handle;
	/* Whoever drains takes it along; if nobody does, we do. */
	if (differs)
		hy_queue_push(&g->queue, d, F_VALUE_TOUCH);
	return handle;
}

static struct hyphae_cell *derive_locked(struct hy_graph *g,
					 const struct order *order,
					 struct hyphae_cell *const *inputs,
					 size_t count, int *ret_error)
{
	struct hyphae_cell *handle = NULL;
	struct hy_derived *d;
	struct view view;
	bool drainer;

	*ret_error = check_inputs(g, inputs, count);
	if (*ret_error)
		return NULL;
	*ret_error = -ENOMEM;
	d = derived_new(g, order, count);
	if (!d)
		return NULL;
	if (!view_init(&view, inputs, count)) {
		discard(g, d);
		return NULL;
	}
	/* So that no wave runs, and a write from the function is refused. */
	drainer = hy_drain_begin(g);
	view_show(&view, d);
	hy_compute_first(g, d);
	handle = publish(g, &view, d);
	view_done(g, &view);
	if (drainer)
		hy_drain_end(g, 0);
	else
		hy_bury(g);
	return handle;
}

struct hyphae_cell *hy_derive(const struct hy_op *op,
			      struct hyphae_cell *const *inputs, size_t count,
			      const struct hyphae_type *type, void (*fn)(void),
			      void *ctx, const char *site)
{
	struct hyphae_cell *handle;
	struct hy_graph *g;
	struct hy_cell *first;
	int error;

	if (!inputs || !count || count > HYPHAE_INPUTS_MAX || !fn) {
		errno = EINVAL;
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		if (!inputs[i])
			return NULL; /* errno says why that input is missing */
	first = hy_cell(inputs[0]);
	if (!first) {
		errno = ESTALE;
		return NULL;
	}
	if (!type)
		type = first->type;
	else if (hy_type_check(type)) {
		errno = EINVAL;
		return NULL;
	}
	g = hy_graph_of(first);
	hy_lock(g);
	handle = derive_locked(g, &(struct order){op, type, fn, ctx, site},
			       inputs, count, &error);
	hy_unlock(g);
	if (!handle)
		errno = -error;
	return handle;
}
