/* SPDX-License-Identifier: MIT */
/*
 * Scopes: release together what was made together.
 *
 * While a scope is entered, each cell, subscription and timer that this thread
 * makes in the scope's graph belongs to it: the reference that the
 * constructor returns is the scope's, to be used and not given back:
 * hyphae_cell_unref() is -ESTALE.  (Take one of your own with
 * hyphae_cell_ref() for what shall outlive the scope.)
 *
 * That holds for callbacks as well: what a subscriber makes belongs to the
 * scope that the thread which calls it has entered, if it has, because it
 * writes there, or because it does what another thread has left to it.  So a
 * subscriber that makes things enters a scope of its own for that, which it
 * disposes when it is called again, or gives up with its subscription; or
 * nothing is written inside of scopes.  (Functions of computed, switch_map,
 * merge_map and retry have such a scope, or make what is nobody's.  For
 * subscribers the library does not put the thread's scope aside: each write
 * would pay for it.)
 */
#ifndef HYPHAE_SCOPE_H
#define HYPHAE_SCOPE_H

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_scope;

/*
 * A scope; a child of the one that is entered on this thread, if that is of
 * the same graph.  NULL with errno EINVAL or ENOMEM.
 */
HYPHAE_API struct hyphae_scope *hyphae_scope_new(struct hyphae_graph *graph);

/*
 * Enter, and leave the one entered last.  Scopes of a thread nest, and are left
 * when it ends (hyphae.h, "Threads").
 * Enter: 0, -EINVAL, -ESTALE, or -EBUSY if it is entered already.
 * Leave: 0, -ESTALE, or -EINVAL if it is not the one entered last.
 *
 * A scope that was made in a function of a cell of cells (dynamic.h) goes with
 * all else that this call of the function made, when the operator moves on.
 * While such a scope is entered then, on any thread, all of that stays, but no
 * scope of it can be entered any more (-ESTALE); leaving the last one releases
 * it as hyphae_scope_dispose() would, before hyphae_scope_leave() returns.
 */
HYPHAE_API int hyphae_scope_enter(struct hyphae_scope *scope);
HYPHAE_API int hyphae_scope_leave(struct hyphae_scope *scope);

/*
 * Have fn(ctx) called when the scope is disposed, in its turn.  0, -EINVAL,
 * -ESTALE or -ENOMEM: then it will not be called.
 */
HYPHAE_API int hyphae_scope_on_dispose(struct hyphae_scope *scope,
				       void (*fn)(void *ctx), void *ctx);

/*
 * Release everything in it, last made first, child scopes in their turn, and
 * the scope itself.  NULL is allowed.  Subscribers may dispose, also the scope
 * they are in; so may what is called here, and that is released before the call
 * returns, but where it would nest deeper than 16 disposals: then it is when
 * the one that it is called from is over, so that the stack stays flat.
 * -EBUSY while it or a child is entered on any thread; -ESTALE if it is gone.
 */
HYPHAE_API int hyphae_scope_dispose(struct hyphae_scope *scope);

#ifdef __cplusplus
}
#endif

#endif
