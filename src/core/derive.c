/* SPDX-License-Identifier: MIT */
#include "core/derive.h"

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

static void fan_in_link(struct hy_graph *g, struct hy_derived *d,
			struct hyphae_cell *const *inputs)
{
	struct hy_fan_in *in = d->fan_in;

	for (uint32_t i = 0; i < in->count; i++) {
		struct hy_cell *input = hy_cell(inputs[i]);

		edge_link(g, &in->edges[i], d, input);
		in->values[i] = hy_value_of(input);
		in->without += (input->flags & F_NO_VALUE) != 0;
		in->ended += (input->flags & F_ENDED) != 0;
	}
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
		if (input->flags & F_END_NEW)
			in->ended--;
	}
}

/* I7: room in the queue and the eager stack for what is about to exist. */
static int make_room(struct hy_graph *g, uint32_t height, size_t edges)
{
	struct hy_eager_entry *stack;

	if (!hy_queue_reserve(&g->queue, height))
		return -ENOMEM;
	if (!(g->flags & HYPHAE_EAGER))
		return 0;
	stack = hy_reserve(g->stack, &g->stack_capacity,
			   g->nedges + edges + g->ncells + 2, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	g->stack = stack;
	return 0;
}

static int check_inputs(struct hy_graph *g,
			struct hyphae_cell *const *inputs, size_t count,
			uint32_t *ret_height)
{
	uint32_t height = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hy_cell *input = hy_cell(inputs[i]);

		if (!input || input->flags & F_DEAD)
			return -ESTALE;
		if (hy_graph_of(input) != g)
			return -EXDEV;
		if (input->height > height)
			height = input->height;
	}
	*ret_height = height + 1;
	return 0;
}

static struct hy_derived *derived_new(struct hy_graph *g, size_t count,
				      uint32_t height)
{
	struct hy_fan_in *in = NULL;
	struct hy_derived *d;

	if (make_room(g, height, count) || !hy_scope_reserve(g))
		return NULL;
	if (count > 1) {
		in = fan_in_new(count);
		if (!in)
			return NULL;
	}
	d = hy_slot_new(g, HY_CHUNK_DERIVED);
	if (!d) {
		hy_free(in);
		return NULL;
	}
	d->fan_in = in;
	return d;
}

static struct hyphae_cell *derive_locked(struct hy_graph *g,
					 const struct hy_op *op,
					 struct hyphae_cell *const *inputs,
					 size_t count,
					 const struct hyphae_type *type,
					 void (*fn)(void), void *ctx,
					 const char *site, int *ret_error)
{
	struct hyphae_cell *handle;
	struct hy_box *boxes[2] = {NULL, NULL};
	struct hy_derived *d;
	uint32_t height;
	bool drainer;

	*ret_error = check_inputs(g, inputs, count, &height);
	if (*ret_error)
		return NULL;
	*ret_error = -ENOMEM;
	d = derived_new(g, count, height);
	if (!d)
		return NULL;
	/* I7: one box for the value held, one for the next. */
	if (hy_type_boxed(type) && op != &hy_op_filter &&
	    (!(boxes[0] = hy_box_new(type)) ||
	     !(boxes[1] = hy_box_new(type)))) {
		hy_free(boxes[0]);
		hy_free(d->fan_in);
		hy_slot_free(g, d);
		return NULL;
	}
	/* So that no wave runs, and a write from fn is refused. */
	drainer = hy_drain_begin(g);
	hy_cell_init(g, &d->cell, type, site);
	if (boxes[0])
		hy_box_spare(&d->cell, boxes[0]);
	d->cell.height = height;
	d->op = op;
	d->fn = fn;
	d->ctx = ctx;
	d->cell.flags |= F_DERIVED | F_NONE | (count > 1 ? F_NARY : 0);
	if (count > 1)
		fan_in_link(g, d, inputs);
	else
		edge_link(g, &d->one, d, hy_cell(inputs[0]));
	if (height > g->max_height)
		g->max_height = height;
	handle = hy_cell_made(g, &d->cell);
	hy_compute_first(g, d);
	if (boxes[1])
		hy_box_spare(&d->cell, boxes[1]);
	if (count > 1 && !(d->cell.flags & F_ENDED))
		settle_accounts(d);
	if (drainer)
		hy_drain_end(g, 0);
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
	handle = derive_locked(g, op, inputs, count, type, fn, ctx, site,
			       &error);
	hy_unlock(g);
	if (!handle)
		errno = -error;
	return handle;
}
