/* SPDX-License-Identifier: MIT */
#include "core/iterate.h"

#include <errno.h>

#include <hyphae/describe.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/link.h"

const struct hyphae_type hy_hidden_type = {
	.name = "hidden", .size = sizeof(int64_t), .align = _Alignof(int64_t)};

/* Call fn for a cell that is alive.  The lock is held before and after. */
static int show(struct hy_graph *g, struct hy_cell *c, hyphae_cell_fn fn,
		void *ctx)
{
	int r;

	hy_hold(c);
	hy_unlock(g);
	r = fn(hy_cell_handle(c), ctx);
	hy_lock(g);
	hy_let_go(g, c);
	/* And see to what that and the function left over. */
	hy_bury(g);
	return r;
}

/* ---- all cells -------------------------------------------------------------- */

/* The next in the chunk, from *at; or NULL.  Ids grow, so newer ones show. */
static struct hy_cell *next_cell(struct hy_chunk *chunk, uint32_t *at,
				 uint64_t id_limit)
{
	while (*at < chunk->used) {
		struct hy_cell *c = hy_slot_at(chunk, (*at)++);

		if (c->id && c->id < id_limit && !(c->flags & F_DEAD) &&
		    c->type != &hy_hidden_type)
			return c;
	}
	return NULL;
}

int hyphae_graph_each_cell(struct hyphae_graph *handle, hyphae_cell_fn fn,
			   void *ctx)
{
	struct hy_graph *g = hy_graph(handle);
	struct hy_chunk *chunk;
	struct hy_cell *c;
	uint64_t id_limit;
	uint32_t at;
	int r = 0;

	if (!g)
		return hy_bad_handle(handle);
	if (!fn)
		return -EINVAL;
	hy_lock(g);
	id_limit = g->id_next;
	for (chunk = hy_walk_begin(g); chunk && !r; chunk = chunk->next) {
		at = 0;
		while (hy_has_cells(chunk) && !r &&
		       (c = next_cell(chunk, &at, id_limit)))
			r = show(g, c, fn, ctx);
		/* Somebody may be waiting. */
		hy_unlock(g);
		hy_lock(g);
	}
	hy_walk_end(g);
	hy_unlock(g);
	return r;
}

/* ---- inputs and targets ------------------------------------------------------ */

/* A cell or a subscription, by all of its id. */
struct noted {
	void *slot;
	uint64_t id;
};

/* `cells` of cells, then of subscriptions. */
struct notes {
	size_t count, capacity, cells;
	struct noted *list;
	struct noted few[16];
};

static bool notes_init(struct hy_graph *g, struct notes *notes, size_t count)
{
	*notes = (struct notes){.capacity = count, .list = notes->few};
	if (count > sizeof(notes->few) / sizeof(notes->few[0]))
		notes->list =
			hy_alloc_in(g->region, count * sizeof(*notes->list));
	return notes->list;
}

static void notes_done(struct notes *notes)
{
	if (notes->list != notes->few)
		hy_free(notes->list);
}

static void note(struct notes *notes, void *slot, uint64_t id)
{
	if (notes->count < notes->capacity)
		notes->list[notes->count++] = (struct noted){slot, id};
}

static bool note_inputs(struct hy_graph *g, struct notes *notes,
			struct hy_cell *c)
{
	bool derived = c->flags & F_DERIVED;
	uint32_t count = derived ? hy_inputs(hy_derived_of(c)) : 0;
	struct hy_edge *edges = derived ? hy_edges(hy_derived_of(c)) : NULL;

	if (!notes_init(g, notes, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (edges[i].input)
			note(notes, edges[i].input, edges[i].input->id);
	notes->cells = notes->count;
	return true;
}

static bool note_targets(struct hy_graph *g, struct notes *notes,
			 struct hy_cell *c)
{
	if (!notes_init(g, notes, c->targets))
		return false;
	for (struct hy_edge *e = c->deps; e; e = e->next)
		note(notes, hy_edge_owner(e), hy_edge_owner(e)->cell.id);
	notes->cells = notes->count;
	for (struct hy_sub *s = c->subs; s; s = s->next)
		if (!(s->flags & SUB_DEAD))
			note(notes, s, s->id);
	return true;
}

/* What the walk over a cell's neighbours calls: one of the two functions. */
struct caller {
	hyphae_cell_fn input;
	hyphae_target_fn target;
	void *ctx;
};

static int show_one(struct hyphae_cell *cell, void *ctx)
{
	const struct caller *caller = ctx;

	return caller->input ? caller->input(cell, caller->ctx)
			     : caller->target(cell, NULL, caller->ctx);
}

static int show_cell(struct hy_graph *g, const struct noted *noted,
		     const struct caller *caller)
{
	struct hy_cell *c = noted->slot;

	if (c->id != noted->id || c->flags & F_DEAD)
		return 0;
	return show(g, c, show_one, (void *)caller);
}

static int show_sub(struct hy_graph *g, const struct noted *noted,
		    const struct caller *caller)
{
	struct hy_sub *s = noted->slot;
	int r;

	if (s->id != noted->id || s->flags & SUB_DEAD)
		return 0;
	hy_unlock(g);
	r = caller->target(NULL, hy_handle(s, noted->id, HY_TAG_SUB),
			   caller->ctx);
	hy_lock(g);
	return r;
}

static int each(struct hyphae_cell *handle, const struct caller *caller)
{
	struct hy_cell *c = hy_cell(handle);
	struct notes notes;
	struct hy_graph *g;
	int r = -ESTALE;

	if (!c)
		return hy_bad_handle(handle);
	if (!caller->input && !caller->target)
		return -EINVAL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD)) {
		r = 0;
		if (!(caller->input ? note_inputs : note_targets)(g, &notes, c))
			r = -ENOMEM;
	}
	if (r) {
		hy_unlock(g);
		return r;
	}
	hy_walk_begin(g);
	for (size_t i = 0; i < notes.count && !r; i++)
		r = (i < notes.cells ? show_cell : show_sub)(g, &notes.list[i],
							     caller);
	hy_walk_end(g);
	notes_done(&notes);
	hy_unlock(g);
	return r;
}

int hyphae_cell_each_input(struct hyphae_cell *cell, hyphae_cell_fn fn,
			   void *ctx)
{
	return each(cell, &(struct caller){.input = fn, .ctx = ctx});
}

int hyphae_cell_each_target(struct hyphae_cell *cell, hyphae_target_fn fn,
			    void *ctx)
{
	return each(cell, &(struct caller){.target = fn, .ctx = ctx});
}
