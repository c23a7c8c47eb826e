/* SPDX-License-Identifier: MIT */
#ifndef HY_SCOPE_H
#define HY_SCOPE_H

#include "core/sync.h"

/*
 * Make room in the scope that is entered on this thread, if it is one of `g`;
 * false without memory.  Then adding cannot fail.
 */
bool hy_scope_reserve_in(struct hy_graph *g);

static inline bool hy_scope_reserve(struct hy_graph *g)
{
	return likely(!hy_self.scope) || hy_scope_reserve_in(g);
}

/* There is room already, whatever is needed for that. */
static inline bool hy_scope_has_room(const struct hy_graph *g)
{
	const struct hy_scope *scope = hy_self.scope;

	return !scope || load_relaxed(&hy_chunk_of(scope)->graph) != g ||
	       likely(scope->count < scope->capacity);
}

/* True: the scope has the cell's first reference. */
bool hy_scope_add_cell_in(struct hy_graph *g, struct hy_cell *c);

static inline bool hy_scope_add_cell(struct hy_graph *g, struct hy_cell *c)
{
	return unlikely(hy_self.scope != NULL) && hy_scope_add_cell_in(g, c);
}

/* And no longer; false: it has not.  For a cell that was made just now. */
bool hy_scope_forget_cell(struct hy_graph *g, struct hy_cell *c);
void hy_scope_add_sub_in(struct hy_graph *g, struct hy_sub *s);

static inline void hy_scope_add_sub(struct hy_graph *g, struct hy_sub *s)
{
	if (unlikely(hy_self.scope != NULL))
		hy_scope_add_sub_in(g, s);
}

struct hy_alarm;
void hy_scope_add_timer(struct hy_graph *g, struct hy_alarm *alarm);

/* A scope of the graph that is in no other, or NULL. */
struct hyphae_scope *hy_scope_any(struct hy_graph *g);

/* The graph goes, and there was no time to dispose these. */
void hy_scopes_free(struct hy_graph *g);

/*
 * A scope for what a function makes that an operator calls: a child of none,
 * entered on this thread until it is closed.  NULL: no memory.  With the lock.
 */
struct hyphae_scope *hy_scope_open(struct hy_graph *g);
/* Returns it, or NULL: nothing was made in it, and it is gone. */
struct hyphae_scope *hy_scope_close(struct hy_graph *g,
				    struct hyphae_scope *scope);
/*
 * Without the lock.  While a scope below it is entered, or is being disposed,
 * that has to wait: it is doomed then, none below can be entered any more, and
 * the thread that leaves the last one of them disposes it.
 */
void hy_scope_dispose(struct hyphae_scope *scope);
/*
 * What is made in between belongs to no scope of this thread's.  Scopes that
 * callbacks enter meanwhile and do not leave stay entered.
 */
static inline struct hy_scope *hy_scopes_hide(void)
{
	struct hy_scope *hidden = hy_self.scope;

	hy_self.scope = NULL;
	return hidden;
}

void hy_scopes_show_all(struct hy_scope *hidden);

static inline void hy_scopes_show(struct hy_scope *hidden)
{
	if (unlikely(hidden != NULL))
		hy_scopes_show_all(hidden);
}

/* Its derived cells, until each() returns false; then it does too. */
bool hy_scope_each_derived(const struct hyphae_scope *scope,
			   bool (*each)(struct hy_cell *c, void *ctx),
			   void *ctx);

#endif
