/* SPDX-License-Identifier: MIT */
#include "core/data.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/label.h"

/* ---- what an object owns -------------------------------------------------- */

void hy_owned_drop(struct hy_graph *g, struct hy_owned *owned)
{
	struct hy_unlocked saved;
	struct hy_owned *next;

	if (!owned)
		return;
	hy_unlock(g);
	saved = hy_unlocked_begin(g);
	for (; owned; owned = next) {
		next = owned->next;
		if (owned->drop)
			owned->drop(owned->data);
		hy_free(owned);
	}
	hy_unlocked_end(g, saved);
	hy_lock(g);
}

/* What it owns is a block of the size of a subscription anyway. */
_Static_assert(sizeof(struct hy_sub_own) <= sizeof(struct hy_sub), "fits");

static struct hy_sub_own *sub_own(struct hy_graph *g, struct hy_sub *s,
				  size_t bytes)
{
	struct hy_sub_own *own;

	if (s->flags & SUB_OWNS)
		return s->own;
	own = hy_alloc_in(g->region, bytes);
	if (!own)
		return NULL;
	own->drop = s->drop;
	own->owned = NULL;
	s->own = own;
	s->flags |= SUB_OWNS;
	return own;
}

bool hy_heap_sub_own(struct hy_graph *g, struct hy_sub *s)
{
	return sub_own(g, s, sizeof(*s));
}

void hy_sub_drop(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_sub_own *own = s->flags & SUB_OWNS ? s->own : NULL;
	void (*drop)(void *ctx) = own ? own->drop : s->drop;
	struct hy_unlocked saved;

	if (drop) {
		saved = hy_guard_begin(g);
		drop(s->ctx);
		hy_guard_end(g, saved);
	}
	if (own) {
		hy_owned_drop(g, own->owned);
		hy_free(own);
	}
}

/* ---- data of the user ------------------------------------------------------- */

struct user_data {
	struct hy_owned owned; /* its `data` is the whole */
	void *data;
	void (*drop)(void *data);
};

/* Also what tells data of the user from all else in a list. */
static void drop_user_data(void *whole)
{
	struct user_data *user = whole;

	if (user->drop)
		user->drop(user->data);
}

static struct hy_owned **find(struct hy_owned **list)
{
	while (*list && (*list)->drop != drop_user_data)
		list = &(*list)->next;
	return list;
}

static void *find_data(struct hy_owned *list)
{
	struct hy_owned *owned = *find(&list);

	return owned ? ((struct user_data *)owned)->data : NULL;
}

/* Drop what a caller has given, or what that replaces. */
static void give_up(struct hy_graph *g, void *data, void (*drop)(void *data))
{
	struct hy_unlocked saved;

	if (!drop)
		return;
	hy_unlock(g);
	saved = hy_unlocked_begin(g);
	drop(data);
	hy_unlocked_end(g, saved);
	hy_lock(g);
}

/* With the lock held; `list` is gone on return if a drop function ran. */
static int set_data(struct hy_graph *g, struct hy_owned **list, void *data,
		    void (*drop)(void *data))
{
	struct hy_owned **link = find(list);
	struct user_data *user = (struct user_data *)*link,
			 old = {.data = NULL};

	if (!data && !drop) {
		if (!user)
			return 0;
		old = *user;
		*link = user->owned.next;
		hy_free(user);
	} else if (user) {
		old = *user;
		user->data = data;
		user->drop = drop;
	} else {
		user = hy_alloc_in(g->region, sizeof(*user));
		if (!user)
			return -ENOMEM;
		*user = (struct user_data){
			.owned = {*list, user, drop_user_data},
			.data = data,
			.drop = drop};
		*list = &user->owned;
	}
	give_up(g, old.data, old.drop);
	return 0;
}

/* No object: nobody keeps the data. */
static int refuse(const void *handle, void *data, void (*drop)(void *data))
{
	if (drop)
		drop(data);
	return hy_bad_handle(handle);
}

/* ---- graphs -------------------------------------------------------------------- */

int hyphae_graph_set_data(struct hyphae_graph *handle, void *data,
			  void (*drop)(void *data))
{
	struct hy_graph *g = hy_graph(handle);
	int r = -ESTALE;

	if (!g)
		return refuse(handle, data, drop);
	hy_lock(g);
	if (!g->freeing)
		r = set_data(g, &g->owned, data, drop);
	if (r)
		give_up(g, data, drop);
	hy_unlock(g);
	return r;
}

void *hyphae_graph_data(const struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	void *data;

	if (!g)
		return NULL;
	hy_lock(g);
	data = find_data(g->owned);
	hy_unlock(g);
	return data;
}

/* ---- cells ----------------------------------------------------------------------- */

static bool cell_alive(const struct hyphae_cell *handle)
{
	const struct hy_cell *c = hy_cell(handle);

	return c && !(c->flags & F_DEAD);
}

static int cell_set_data(struct hy_graph *g, struct hy_cell *c, void *data,
			 void (*drop)(void *data))
{
	struct hy_cold *cold = hy_cold_of(c);

	if (!cold && !data && !drop)
		return 0;
	cold = hy_cold_made(c);
	return cold ? set_data(g, &cold->owned, data, drop) : -ENOMEM;
}

int hyphae_cell_set_data(struct hyphae_cell *handle, void *data,
			 void (*drop)(void *data))
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!c)
		return refuse(handle, data, drop);
	g = hy_graph_of(c);
	hy_lock(g);
	if (cell_alive(handle))
		r = cell_set_data(g, c, data, drop);
	if (r)
		give_up(g, data, drop);
	hy_unlock(g);
	return r;
}

void *hyphae_cell_data(const struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);
	const struct hy_cold *cold;
	struct hy_graph *g;
	void *data = NULL;

	if (!c)
		return NULL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (cell_alive(handle)) {
		cold = hy_cold_of(c);
		data = cold ? find_data(cold->owned) : NULL;
	}
	hy_unlock(g);
	return data;
}

/* ---- subscriptions ------------------------------------------------------------- */

static bool sub_alive(const struct hyphae_subscription *handle)
{
	const struct hy_sub *s = hy_slot(handle, HY_TAG_SUB);

	return s && !(s->flags & SUB_DEAD);
}

static int sub_set_data(struct hy_graph *g, struct hy_sub *s, void *data,
			void (*drop)(void *data))
{
	struct hy_sub_own *own;

	if (!data && !drop && !(s->flags & SUB_OWNS))
		return 0;
	own = sub_own(g, s, sizeof(*own));
	return own ? set_data(g, &own->owned, data, drop) : -ENOMEM;
}

int hyphae_subscription_set_data(struct hyphae_subscription *handle, void *data,
				 void (*drop)(void *data))
{
	struct hy_sub *s = hy_slot(handle, HY_TAG_SUB);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!s)
		return refuse(handle, data, drop);
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (sub_alive(handle))
		r = sub_set_data(g, s, data, drop);
	if (r)
		give_up(g, data, drop);
	hy_unlock(g);
	return r;
}

void *hyphae_subscription_data(const struct hyphae_subscription *handle)
{
	struct hy_sub *s = hy_slot(handle, HY_TAG_SUB);
	struct hy_graph *g;
	void *data = NULL;

	if (!s)
		return NULL;
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (sub_alive(handle) && s->flags & SUB_OWNS)
		data = find_data(s->own->owned);
	hy_unlock(g);
	return data;
}

/* ---- scopes ------------------------------------------------------------------------ */

static bool scope_alive(const struct hyphae_scope *handle)
{
	const struct hy_scope *scope = hy_slot(handle, HY_TAG_SCOPE);

	return scope && !scope->disposing;
}

int hyphae_scope_set_data(struct hyphae_scope *handle, void *data,
			  void (*drop)(void *data))
{
	struct hy_scope *scope = hy_slot(handle, HY_TAG_SCOPE);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!scope)
		return refuse(handle, data, drop);
	g = load_relaxed(&hy_chunk_of(scope)->graph);
	hy_lock(g);
	if (scope_alive(handle))
		r = set_data(g, &scope->owned, data, drop);
	if (r)
		give_up(g, data, drop);
	hy_unlock(g);
	return r;
}

void *hyphae_scope_data(const struct hyphae_scope *handle)
{
	struct hy_scope *scope = hy_slot(handle, HY_TAG_SCOPE);
	struct hy_graph *g;
	void *data = NULL;

	if (!scope)
		return NULL;
	g = load_relaxed(&hy_chunk_of(scope)->graph);
	hy_lock(g);
	/* Also for the functions that it calls when it is disposed. */
	if (hy_slot(handle, HY_TAG_SCOPE))
		data = find_data(scope->owned);
	hy_unlock(g);
	return data;
}
