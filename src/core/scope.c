/* SPDX-License-Identifier: MIT */
/*
 * A scope is an array of what was made in it.  Disposing walks it from the
 * end; a child scope is walked in its place, by going down to it and coming
 * back up through `parent`, so that no nesting is too deep.
 */
#include "core/scope.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/data.h"
#include "core/ending.h"
#include "core/release.h"
#include "core/slab.h"
#include "core/wave.h"
#include "time/alarm.h"

enum item_kind { ITEM_CELL, ITEM_SUB, ITEM_TIMER, ITEM_CHILD, ITEM_CALL };

struct hy_scope_item {
	enum item_kind kind;
	union {
		struct { /* an object, and all of its id */
			void *handle;
			uint64_t id;
		};
		struct {
			void (*fn)(void *ctx);
			void *ctx;
		};
	};
};

static struct hy_scope *scope_of(const struct hyphae_scope *handle)
{
	return hy_slot(handle, HY_TAG_SCOPE);
}

static struct hy_graph *graph_of(const struct hy_scope *scope)
{
	return load_relaxed(&hy_chunk_of(scope)->graph);
}

static struct hyphae_scope *handle_of(const struct hy_scope *scope)
{
	return hy_handle(scope, scope->id, HY_TAG_SCOPE);
}

/* ---- what is in it -------------------------------------------------------- */

/* A handle tells a part of the id only; an item must never be mistaken. */
static bool alive(const struct hy_scope_item *item)
{
	const uint64_t *slot = hy_place(item->handle);

	return item->kind == ITEM_CALL || load_relaxed(slot) == item->id;
}

static struct hy_scope *child_of(const struct hy_scope_item *item)
{
	return alive(item) ? hy_place(item->handle) : NULL;
}

/*
 * Items whose objects ended before the scope are forgotten when the array has
 * doubled, so that a scope that lives long does not grow for ever.
 */
static void sweep(struct hy_scope *scope)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < scope->count; i++)
		if (alive(&scope->items[i]))
			scope->items[kept++] = scope->items[i];
	scope->count = scope->swept = kept;
}

static bool reserve(struct hy_scope *scope)
{
	struct hy_scope_item *items;

	if (scope->count >= 64 && scope->count / 2 >= scope->swept)
		sweep(scope);
	items = hy_reserve_in(graph_of(scope)->region, scope->items,
			      &scope->capacity, scope->count + 1u,
			      sizeof(*items));
	if (items)
		scope->items = items;
	return items;
}

static struct hy_scope *current(struct hy_graph *g)
{
	struct hy_scope *scope = hy_self.scope;

	return scope && graph_of(scope) == g ? scope : NULL;
}

bool hy_scope_reserve_in(struct hy_graph *g)
{
	struct hy_scope *scope = current(g);

	return !scope || reserve(scope);
}

bool hy_scope_add_cell_in(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_scope *scope = current(g);

	if (scope)
		scope->items[scope->count++] =
			(struct hy_scope_item){.kind = ITEM_CELL,
					       .handle = hy_cell_handle(c),
					       .id = c->id};
	return scope;
}

bool hy_scope_forget_cell(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_scope *scope = current(g);

	for (uint32_t i = scope ? scope->count : 0; i-- > 0;) {
		struct hy_scope_item *item = &scope->items[i];

		if (item->kind != ITEM_CELL || item->id != c->id)
			continue;
		memmove(item, item + 1, (--scope->count - i) * sizeof(*item));
		return true;
	}
	return false;
}

void hy_scope_add_sub_in(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_scope *scope = current(g);

	if (scope)
		scope->items[scope->count++] = (struct hy_scope_item){
			.kind = ITEM_SUB,
			.handle = hy_handle(s, s->id, HY_TAG_SUB),
			.id = s->id};
}

void hy_scope_add_timer(struct hy_graph *g, struct hy_alarm *alarm)
{
	struct hy_scope *scope = current(g);

	if (scope)
		scope->items[scope->count++] = (struct hy_scope_item){
			.kind = ITEM_TIMER,
			.handle = hy_handle(alarm, alarm->id, HY_TAG_TIMER),
			.id = alarm->id};
}

/* ---- doomed: what waits until all below it has been left -------------------- */

/* The scope of an operator's that waits, in which this one is; or NULL. */
static struct hy_scope *doomed_over(struct hy_graph *g, struct hy_scope *scope)
{
	if (likely(!g->doomed_scopes) || !scope)
		return NULL;
	while (scope->parent)
		scope = scope_of(scope->parent);
	return scope->doomed ? scope : NULL;
}

static void doom(struct hy_graph *g, struct hy_scope *scope)
{
	g->doomed_scopes += !scope->doomed;
	scope->doomed = true;
}

static bool walk(struct hy_scope *root, bool check);
static void dispose(struct hy_graph *g, struct hy_scope *scope);

/* Called with the graph locked; returns without the lock. */
static void dispose_doomed(struct hy_graph *g, struct hy_scope *below)
{
	struct hy_scope *scope = doomed_over(g, below);

	if (unlikely(scope) && walk(scope, true))
		dispose(g, scope);
	else
		hy_unlock(g);
}

/* ---- make, enter, leave ----------------------------------------------------- */

struct hyphae_scope *hyphae_scope_new(struct hyphae_graph *handle)
{
	struct hy_graph *graph = hy_graph(handle);
	struct hy_scope *scope = NULL, *parent;

	if (!graph) {
		errno = -hy_bad_handle(handle);
		return NULL;
	}
	hy_lock(graph);
	parent = current(graph);
	if (!parent || reserve(parent))
		scope = hy_slot_new(graph, HY_CHUNK_SCOPE);
	if (scope) {
		store_release(&scope->id, hy_id_new(graph));
		if (parent) {
			scope->parent = handle_of(parent);
			parent->items[parent->count++] = (struct hy_scope_item){
				.kind = ITEM_CHILD,
				.handle = handle_of(scope),
				.id = scope->id};
		}
	}
	hy_unlock(graph);
	if (!scope) {
		errno = ENOMEM;
		return NULL;
	}
	return handle_of(scope);
}

/*
 * The problem is told first: until then the graph cannot be freed.  What that
 * calls may leave the scope itself.
 */
static void end_scopes(void)
{
	while (hy_self.scope) {
		struct hyphae_scope *scope = handle_of(hy_self.scope);
		struct hy_graph *g = graph_of(hy_self.scope);

		hy_lock(g);
		hy_problem(g, NULL, -ECANCELED,
			   "A thread has ended in a scope, which was left for "
			   "it.");
		hy_unlock(g);
		hyphae_scope_leave(scope);
	}
}

int hyphae_scope_enter(struct hyphae_scope *handle)
{
	struct hy_scope *scope = scope_of(handle);
	struct hy_graph *g;
	int r = 0;

	if (!scope)
		return handle ? -ESTALE : -EINVAL;
	g = graph_of(scope);
	hy_lock(g);
	if (!scope_of(handle) || scope->disposing || g->freeing ||
	    doomed_over(g, scope)) {
		r = -ESTALE;
	} else if (scope->entered) {
		r = -EBUSY;
	} else {
		scope->entered = true;
		scope->outer = hy_self.scope;
		hy_self.scope = scope;
		g->entered_scopes++;
		hy_mind_end(HY_LEFT_SCOPES, end_scopes);
	}
	hy_unlock(g);
	return r;
}

int hyphae_scope_leave(struct hyphae_scope *handle)
{
	struct hy_scope *scope = scope_of(handle);
	struct hy_graph *g;

	if (!scope)
		return handle ? -ESTALE : -EINVAL;
	if (hy_self.scope != scope)
		return -EINVAL;
	g = graph_of(scope);
	hy_lock(g);
	scope->entered = false;
	hy_self.scope = scope->outer;
	g->entered_scopes--;
	dispose_doomed(g, scope);
	return 0;
}

struct hyphae_scope *hy_scope_open(struct hy_graph *g)
{
	struct hy_scope *scope = hy_slot_new(g, HY_CHUNK_SCOPE);

	if (!scope)
		return NULL;
	store_release(&scope->id, hy_id_new(g));
	scope->entered = true;
	scope->outer = hy_self.scope;
	hy_self.scope = scope;
	g->entered_scopes++;
	return handle_of(scope);
}

void hy_scopes_show_all(struct hy_scope *hidden)
{
	struct hy_scope **at = &hy_self.scope;

	while (*at)
		at = &(*at)->outer;
	*at = hidden;
}

bool hy_scope_each_derived(const struct hyphae_scope *handle,
			   bool (*each)(struct hy_cell *c, void *ctx),
			   void *ctx)
{
	struct hy_scope *scope = scope_of(handle);

	for (uint32_t i = 0; scope && i < scope->count; i++) {
		const struct hy_scope_item *item = &scope->items[i];
		struct hy_cell *c;

		if (item->kind != ITEM_CELL || !alive(item))
			continue;
		c = hy_place(item->handle);
		if (c->flags & F_DERIVED && !each(c, ctx))
			return false;
	}
	return true;
}

int hyphae_scope_on_dispose(struct hyphae_scope *handle, void (*fn)(void *ctx),
			    void *ctx)
{
	struct hy_scope *scope = scope_of(handle);
	struct hy_graph *g;
	int r = 0;

	if (!scope)
		return handle ? -ESTALE : -EINVAL;
	if (!fn)
		return -EINVAL;
	g = graph_of(scope);
	hy_lock(g);
	if (!scope_of(handle) || scope->disposing)
		r = -ESTALE;
	else if (!reserve(scope))
		r = -ENOMEM;
	else
		scope->items[scope->count++] = (struct hy_scope_item){
			.kind = ITEM_CALL, .fn = fn, .ctx = ctx};
	hy_unlock(g);
	return r;
}

/* ---- dispose ------------------------------------------------------------------ */

/*
 * Walk it and all below: see whether all can be disposed (none is entered, or
 * is being disposed), or mark all as being disposed.
 */
static bool walk(struct hy_scope *root, bool check)
{
	struct hy_scope *scope = root, *child;

	scope->walked = 0;
	for (;;) {
		if (check && (scope->entered || scope->disposing))
			return false;
		if (!check)
			scope->disposing = true;
		child = NULL;
		while (scope->walked < scope->count && !child) {
			struct hy_scope_item *item =
				&scope->items[scope->walked++];

			if (item->kind == ITEM_CHILD)
				child = child_of(item);
		}
		if (child) {
			child->walked = 0;
			scope = child;
		} else if (scope == root) {
			return true;
		} else {
			scope = scope_of(scope->parent);
		}
	}
}

static void scope_free(struct hy_graph *g, struct hy_scope *scope)
{
	struct hy_owned *owned = scope->owned;

	hy_free(scope->items);
	hy_slot_free(g, scope);
	hy_owned_drop(g, owned);
}

struct hyphae_scope *hy_scope_close(struct hy_graph *g,
				    struct hyphae_scope *handle)
{
	struct hy_scope *scope = scope_of(handle), **at = &hy_self.scope;

	/* What the function entered and did not leave stays entered. */
	while (*at != scope)
		at = &(*at)->outer;
	*at = scope->outer;
	scope->entered = false;
	g->entered_scopes--;
	if (scope->count)
		return handle;
	scope_free(g, scope); /* nobody knows it */
	return NULL;
}

/*
 * Take the next thing to release.  Children are gone down into, empty scopes
 * are freed on the way up; false when the root is.
 */
static bool take(struct hy_graph *g, struct hy_scope *root,
		 struct hy_scope **at, struct hy_scope_item *ret_item)
{
	for (;;) {
		struct hy_scope *scope = *at, *child;

		if (!scope->count) {
			bool last = scope == root;

			*at = last ? NULL : scope_of(scope->parent);
			scope_free(g, scope);
			if (last)
				return false;
			continue;
		}
		*ret_item = scope->items[--scope->count];
		if (ret_item->kind != ITEM_CHILD)
			return true;
		child = child_of(ret_item);
		if (child)
			*at = child;
	}
}

static void release(const struct hy_scope_item *item)
{
	if (item->kind == ITEM_CALL)
		item->fn(item->ctx);
	else if (!alive(item))
		return;
	else if (item->kind == ITEM_CELL)
		hy_cell_unkeep(item->handle);
	else if (item->kind == ITEM_TIMER)
		hyphae_timer_stop(item->handle);
	else
		hyphae_unsubscribe(item->handle);
}

/* Called with the graph locked; returns without the lock. */
static void empty(struct hy_graph *g, struct hy_scope *root)
{
	struct hyphae_scope *parent = root->parent;
	struct hy_scope *at = root;
	struct hy_scope_item item;

	while (take(g, root, &at, &item)) {
		hy_unlock(g);
		release(&item);
		hy_lock(g);
	}
	dispose_doomed(g, scope_of(parent));
}

/*
 * What is released may dispose in turn, which nests so deep and no deeper:
 * then scopes wait in a queue of the thread, and their graphs are not freed.
 */
#define NESTED_MAX 16

static void wait_in_line(struct hy_graph *g, struct hy_scope *scope)
{
	g->entered_scopes++;
	scope->outer = NULL;
	if (hy_self.later)
		hy_self.later_last->outer = scope;
	else
		hy_self.later = scope;
	hy_self.later_last = scope;
}

static void empty_later(void)
{
	struct hy_scope *scope;

	while ((scope = hy_self.later)) {
		struct hy_graph *g = graph_of(scope);

		hy_lock(g);
		hy_self.later = scope->outer;
		g->entered_scopes--;
		empty(g, scope);
	}
}

/* It can be.  Called with the graph locked; returns without the lock. */
static void dispose(struct hy_graph *g, struct hy_scope *scope)
{
	g->doomed_scopes -= scope->doomed;
	scope->doomed = false;
	walk(scope, false);
	if (hy_self.disposing == NESTED_MAX) {
		wait_in_line(g, scope);
		hy_unlock(g);
		return;
	}
	hy_self.disposing++;
	empty(g, scope);
	if (hy_self.disposing == NESTED_MAX)
		empty_later();
	hy_self.disposing--;
}

/* `later`: if that is not possible now, whoever makes it possible does it. */
static int try_dispose(struct hyphae_scope *handle, bool later)
{
	struct hy_scope *scope = scope_of(handle);
	struct hy_graph *g;
	int r = 0;

	if (!scope)
		return -ESTALE;
	g = graph_of(scope);
	hy_lock(g);
	if (!scope_of(handle) || scope->disposing) {
		r = -ESTALE;
	} else if (!walk(scope, true)) {
		r = -EBUSY;
		if (later)
			doom(g, scope);
	} else {
		dispose(g, scope);
		return 0;
	}
	hy_unlock(g);
	return r;
}

int hyphae_scope_dispose(struct hyphae_scope *handle)
{
	return handle ? try_dispose(handle, false) : 0;
}

void hy_scope_dispose(struct hyphae_scope *handle)
{
	try_dispose(handle, true);
}

struct hyphae_scope *hy_scope_any(struct hy_graph *g)
{
	for (struct hy_chunk *chunk = g->chunks; chunk; chunk = chunk->next) {
		char *slot = (char *)chunk + HY_CHUNK_HEADER;

		if (chunk->kind != HY_CHUNK_SCOPE)
			continue;
		for (uint32_t i = 0; i < chunk->used; i++) {
			struct hy_scope *scope = (struct hy_scope *)slot;

			if (scope->id && !scope_of(scope->parent))
				return handle_of(scope);
			slot += chunk->slot_bytes;
		}
	}
	return NULL;
}

void hy_scopes_free(struct hy_graph *g)
{
	for (struct hy_chunk *chunk = g->chunks; chunk; chunk = chunk->next) {
		char *slot = (char *)chunk + HY_CHUNK_HEADER;

		if (chunk->kind != HY_CHUNK_SCOPE)
			continue;
		for (uint32_t i = 0; i < chunk->used; i++) {
			struct hy_scope *scope = (struct hy_scope *)slot;

			if (scope->id)
				hy_free(scope->items);
			slot += chunk->slot_bytes;
		}
	}
}
