/* SPDX-License-Identifier: MIT */
/*
 * Graphs as text for Graphviz.  Cells are walked over and written one by one;
 * a drawing from a start notes beforehand which cells it shows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hyphae/describe.h>
#include <hyphae/weak.h>

#include "base/alloc.h"
#include "base/options.h"
#include "core/iterate.h"
#include "core/portrait.h"
#include "core/release.h"

/* ---- which cells --------------------------------------------------------- */

/* In the order in which they were reached. */
struct found {
	struct hy_region *region;
	struct hyphae_weak *list;
	size_t count, capacity;
	uint32_t *table; /* index in the list + 1, by id; at most half full */
	size_t slots;	 /* a power of two, or 0 */
};

static size_t place(const struct found *found, uint64_t id)
{
	size_t at = (size_t)(id * 0x9e3779b97f4a7c15ull >> 32);

	for (at &= found->slots - 1; found->table[at];
	     at = (at + 1) & (found->slots - 1))
		if (found->list[found->table[at] - 1].id == id)
			break;
	return at;
}

static bool is_found(const struct found *found, uint64_t id)
{
	return found->slots && found->table[place(found, id)];
}

/* Twice the table, with all that is in the list. */
static bool grow_table(struct found *found)
{
	size_t slots = found->slots ? 2 * found->slots : 64;
	uint32_t *table = hy_zalloc_in(found->region, slots * sizeof(*table));

	if (!table)
		return false;
	hy_free(found->table);
	found->table = table;
	found->slots = slots;
	for (size_t i = 0; i < found->count; i++)
		table[place(found, found->list[i].id)] = (uint32_t)i + 1;
	return true;
}

static int find(struct hyphae_cell *cell, void *ctx)
{
	struct hyphae_weak weak = hyphae_weak(cell), *list;
	struct found *found = ctx;

	if (!weak.id || is_found(found, weak.id))
		return 0;
	if (found->count == UINT32_MAX - 1)
		return -ENOMEM;
	list = hy_reserve_in(found->region, found->list, &found->capacity,
			     found->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	found->list = list;
	if (2 * (found->count + 1) > found->slots && !grow_table(found))
		return -ENOMEM;
	list[found->count] = weak;
	found->table[place(found, weak.id)] = (uint32_t)++found->count;
	return 0;
}

static int find_target(struct hyphae_cell *cell,
		       struct hyphae_subscription *subscription, void *ctx)
{
	(void)subscription;
	return cell ? find(cell, ctx) : 0;
}

/* What may have gone since it was noted is no error. */
static int gone(int r)
{
	return r == -ESTALE ? 0 : r;
}

static int find_around(struct found *found, struct hyphae_weak weak)
{
	struct hyphae_cell *cell = hy_weak_keep(weak);
	int r;

	if (!cell)
		return 0;
	r = hyphae_cell_each_input(cell, find, found);
	if (!r)
		r = hyphae_cell_each_target(cell, find_target, found);
	hy_cell_unkeep(cell);
	return gone(r);
}

/* The start, what is one step from it, what is two, ... */
static int find_all(struct found *found, struct hyphae_cell *start,
		    unsigned int depth)
{
	size_t at = 0;
	int r = find(start, found);

	for (unsigned int step = 0; !r && (!depth || step < depth); step++) {
		size_t end = found->count;

		if (at == end)
			break;
		while (at < end && !r)
			r = find_around(found, found->list[at++]);
	}
	return r;
}

/* ---- write ------------------------------------------------------------------ */

struct drawing {
	struct hy_text text;
	hyphae_write_fn write;
	void *ctx;
	int r; /* what write returned */
	struct hyphae_dot_options options;
	const struct found *found; /* NULL: all */
	uint64_t cell_id;	   /* whose edges are written */
	uint32_t max_height;
	size_t count; /* of bytes in the buffer */
	char buffer[1024];
};

static void flush(struct drawing *d)
{
	if (d->count && !d->r)
		d->r = d->write(d->buffer, d->count, d->ctx);
	d->count = 0;
}

static void put(struct hy_text *text, const char *bytes, size_t count)
{
	struct drawing *d = container_of(text, struct drawing, text);

	if (d->count + count > sizeof(d->buffer))
		flush(d);
	memcpy(d->buffer + d->count, bytes, count);
	d->count += count;
}

static void add_label(struct drawing *d, const struct hy_portrait *p)
{
	struct hy_text *text = &d->text;

	if (p->name_length) {
		hy_text_quote(text, p->name, p->name_length, HY_QUOTE_DOT);
		hy_text_add(text, "\\n");
	}
	hy_text_add(text, "#%llu %s ", (unsigned long long)p->id, p->op);
	hy_text_quote(text, p->type, strlen(p->type), HY_QUOTE_DOT);
	if (!(d->options.flags & HYPHAE_DOT_NO_VALUES) ||
	    p->flags & (F_NO_VALUE | F_COMPLETE | F_EVENT)) {
		hy_text_add(text, "\\n");
		hy_portray_state(p, text, HY_QUOTE_DOT);
	}
	if (*p->site) {
		hy_text_add(text, "\\n");
		hy_text_quote(text, p->site, strlen(p->site), HY_QUOTE_DOT);
	}
}

static void add_cell(struct drawing *d, const struct hy_portrait *p)
{
	struct hy_text *text = &d->text;
	unsigned long long id = p->id;

	hy_text_add(text, "\tc%llu [label=\"", id);
	add_label(d, p);
	hy_text_add(text, "\", shape=%s",
		    p->flags & F_DERIVED ? "ellipse" : "box");
	if (p->flags & F_ERROR)
		hy_text_add(text, ", color=red");
	if (p->flags & F_NONE && !(p->flags & F_ERROR))
		hy_text_add(text, ", style=dashed");
	if (p->flags & F_ENDED)
		hy_text_add(text, ", peripheries=2");
	hy_text_add(text, "];\n");
	if (d->options.flags & HYPHAE_DOT_HEIGHTS)
		hy_text_add(text, "\t{ rank=same; h%u; c%llu; }\n", p->height,
			    id);
	if (p->height > d->max_height)
		d->max_height = p->height;
}

static int draw_edge(struct hyphae_cell *input, void *ctx)
{
	struct drawing *d = ctx;
	uint64_t id = hyphae_cell_id(input);

	if (id && (!d->found || is_found(d->found, id)))
		hy_text_add(&d->text, "\tc%llu -> c%llu;\n",
			    (unsigned long long)id,
			    (unsigned long long)d->cell_id);
	return d->r;
}

static int draw_subscription(struct hyphae_cell *cell,
			     struct hyphae_subscription *subscription,
			     void *ctx)
{
	struct drawing *d = ctx;
	unsigned long long id;

	if (cell)
		return 0;
	id = hyphae_subscription_id(subscription);
	if (id)
		hy_text_add(&d->text,
			    "\ts%llu [label=\"#%llu subscription\", "
			    "shape=note];\n\tc%llu -> s%llu;\n",
			    id, id, (unsigned long long)d->cell_id, id);
	return d->r;
}

static int draw(struct hyphae_cell *cell, void *ctx)
{
	struct drawing *d = ctx;
	struct hy_portrait p;
	int r = hy_portray(cell, !(d->options.flags & HYPHAE_DOT_NO_VALUES),
			   &p);

	if (r)
		return gone(r);
	add_cell(d, &p);
	d->cell_id = p.id;
	r = d->r ? d->r : hyphae_cell_each_input(cell, draw_edge, d);
	if (!r && !(d->options.flags & HYPHAE_DOT_NO_SUBSCRIPTIONS))
		r = hyphae_cell_each_target(cell, draw_subscription, d);
	return d->r ? d->r : gone(r);
}

static int draw_found(struct drawing *d)
{
	int r = 0;

	for (size_t i = 0; i < d->found->count && !r; i++) {
		struct hyphae_cell *cell = hy_weak_keep(d->found->list[i]);

		if (!cell)
			continue;
		r = draw(cell, d);
		hy_cell_unkeep(cell);
	}
	return r;
}

/* The heights beside the cells, from the top. */
static void add_heights(struct drawing *d)
{
	hy_text_add(&d->text, "\tnode [shape=plaintext];\n");
	for (uint32_t i = 0; i <= d->max_height && !d->r; i++) {
		hy_text_add(&d->text, "\th%u [label=\"height %u\"];\n", i, i);
		if (i)
			hy_text_add(&d->text, "\th%u -> h%u [style=invis];\n",
				    i - 1, i);
	}
}

static int draw_all(struct drawing *d, struct hyphae_graph *graph)
{
	int r;

	hy_text_add(&d->text, "digraph hyphae_%llu {\n",
		    (unsigned long long)hyphae_graph_id(graph));
	r = d->found ? draw_found(d) : hyphae_graph_each_cell(graph, draw, d);
	if (r)
		return r;
	if (d->options.flags & HYPHAE_DOT_HEIGHTS)
		add_heights(d);
	hy_text_add(&d->text, "}\n");
	flush(d);
	return d->r;
}

#define DOT_FLAGS                                                              \
	(unsigned int)(HYPHAE_DOT_HEIGHTS | HYPHAE_DOT_NO_SUBSCRIPTIONS |      \
		       HYPHAE_DOT_NO_VALUES)

static int check(struct hy_graph *g, const struct hyphae_dot_options *options)
{
	const struct hy_cell *start = hy_cell(options->start);

	if (options->flags & ~DOT_FLAGS || (options->depth && !options->start))
		return -EINVAL;
	if (!options->start)
		return 0;
	if (!start)
		return -ESTALE;
	return hy_graph_of(start) == g ? 0 : -EXDEV;
}

int hyphae_graph_dot_sized(struct hyphae_graph *handle, hyphae_write_fn write,
			   void *ctx, const struct hyphae_dot_options *options,
			   size_t size)
{
	struct drawing d = {.text = {put}, .write = write, .ctx = ctx};
	struct hy_graph *g = hy_graph(handle);
	struct found found = {.list = NULL};
	int r = 0;

	if (!g)
		return hy_bad_handle(handle);
	if (!write ||
	    (options &&
	     !hy_options_read(&d.options, sizeof(d.options), options, size)))
		return -EINVAL;
	r = check(g, &d.options);
	if (r)
		return r;
	/* So that `write` cannot free the graph, at the last call neither. */
	hy_lock(g);
	hy_walk_begin(g);
	hy_unlock(g);
	if (d.options.start) {
		found.region = g->region;
		d.found = &found;
		r = find_all(&found, d.options.start, d.options.depth);
	}
	if (!r)
		r = draw_all(&d, handle);
	hy_free(found.table);
	hy_free(found.list);
	hy_lock(g);
	hy_walk_end(g);
	hy_unlock(g);
	return r;
}

int hyphae_write_file(const char *text, size_t length, void *file)
{
	return fwrite(text, 1, length, file) == length ? 0 : -EIO;
}
