/* SPDX-License-Identifier: MIT */
#include "op/timed.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/wave.h"

/*
 * A cell that is not published yet has no id: it is being made, or given up
 * again, by another thread.
 */
static void fire(struct hy_graph *g, struct hy_timer *t)
{
	struct hy_timed *s = container_of(t, struct hy_timed, timer);

	if (!s->d->cell.id)
		return;
	s->rang = true;
	hy_wake(g, s->d);
}

static void *timed_new(struct hy_graph *g, const struct hyphae_type *type,
		       size_t size, uint64_t duration)
{
	struct hy_timed *s = hy_zalloc_in(g->region, size);
	bool room = false;

	if (s) {
		s->timer.fire = fire;
		s->timer.graph = g;
		s->type = type;
		s->duration = duration;
		hy_lock(g);
		room = hy_timer_reserve(g, &s->timer);
		hy_unlock(g);
	}
	if (room)
		return s;
	hy_free(s);
	errno = ENOMEM;
	return NULL;
}

void *hy_timed_new(struct hyphae_cell *input, size_t size, uint64_t duration)
{
	struct hy_cell *c = hy_cell(input);

	if (c)
		return timed_new(hy_graph_of(c), load_relaxed(&c->type), size,
				 duration);
	if (input)
		errno = ESTALE;
	return NULL;
}

void *hy_timed_new_in(struct hyphae_graph *graph,
		      const struct hyphae_type *type, size_t size,
		      uint64_t duration)
{
	struct hy_graph *g = hy_graph(graph);

	if (g)
		return timed_new(g, type, size, duration);
	errno = -hy_bad_handle(graph);
	return NULL;
}

struct hy_graph *hy_timed_graph(const struct hy_timed *s)
{
	return s->timer.graph;
}

static void clear(struct hy_graph *g, struct hy_timed *s)
{
	hy_timed_stop(g, s);
	if (s->clear)
		s->clear(g, s);
}

static void give_up(struct hy_graph *g, struct hy_timed *s)
{
	clear(g, s);
	if (s->drop)
		s->drop(g, s);
	hy_timer_release(g, &s->timer);
	hy_free(s);
}

void hy_timed_discard(struct hy_graph *g, struct hy_timed *s)
{
	hy_lock(g);
	give_up(g, s);
	hy_unlock(g);
}

void hy_timed_free(struct hy_graph *g, struct hy_derived *d)
{
	give_up(g, d->ctx);
}

void hy_timed_reset(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_timed *s = d->ctx;

	s->begun = false;
	clear(g, s);
}

static struct hyphae_cell *make(struct hy_order *order)
{
	struct hy_graph *g = hy_timed_graph(order->ctx);
	struct hyphae_cell *cell = hy_order(order);

	if (!cell) {
		int error = errno;

		hy_timed_discard(g, order->ctx);
		errno = error;
	}
	return cell;
}

struct hyphae_cell *hy_timed_derive(const struct hy_op *op,
				    struct hyphae_cell *input,
				    const struct hyphae_type *type,
				    struct hy_timed *s, const char *site)
{
	struct hy_order order = {.op = op,
				 .inputs = &input,
				 .count = 1,
				 .type = type,
				 .ctx = s,
				 .site = site};

	return make(&order);
}

struct hyphae_cell *hy_timed_make(const struct hy_op *op, struct hy_timed *s,
				  const char *site)
{
	struct hy_order order = {.graph = hy_timed_graph(s),
				 .op = op,
				 .type = s->type,
				 .ctx = s,
				 .site = site};

	return make(&order);
}

/* ---- in `run` --------------------------------------------------------- */

int hy_timed_trouble(struct hy_graph *g, struct hy_derived *d)
{
	if (hy_holds_error(d, 0))
		hy_pass_error(g, d, 0);
	else if (d->cell.flags & F_ERROR)
		hy_set_none(&d->cell);
	return HY_KEEP | (hy_input_ended(d, 0) ? HY_END : 0);
}

int hy_timed_fail(struct hy_graph *g, struct hy_derived *d, int code)
{
	hy_set_end(g, &d->cell, code);
	return HY_KEEP;
}
