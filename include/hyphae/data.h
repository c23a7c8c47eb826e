/* SPDX-License-Identifier: MIT */
/*
 * Data of yours on every object: one pointer on each graph, cell, subscription
 * and scope, with a function that gives it up.
 *
 * hyphae_X_set_data(x, data, drop) puts `data` in the place of what was there
 * before, for which drop is called at once: without a lock, and unable to write
 * to the graph (-EPERM), as all drop functions are.  When the object is
 * released, drop(data) is called once; the object is a stale handle then.  Of a
 * graph that is after everything in it was released, of a cell or a scope it
 * is in turn with what else it owns (hyphae_cell_own(),
 * hyphae_scope_on_dispose()), of a subscription it is after the `drop` of its
 * context.  The same pointer again is new data: the old is dropped.
 * `drop` may be NULL: nothing is called.  NULL for both: no data.
 *
 * Returns 0, -EINVAL (the object is NULL), -ESTALE or -ENOMEM; when it fails,
 * `data` is dropped at once and what was there before stays.
 *
 * hyphae_X_data(x) is the pointer, or NULL: none, or a stale handle.  Nothing
 * keeps it from being replaced by another thread; that is between the threads.
 *
 * An object without data pays nothing for it.  Data of a subscription sends its
 * calls the slower of two ways, as other options of subscriptions do.
 */
#ifndef HYPHAE_DATA_H
#define HYPHAE_DATA_H

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/graph.h>
#include <hyphae/scope.h>
#include <hyphae/subscription.h>

#ifdef __cplusplus
extern "C" {
#endif

HYPHAE_API int hyphae_graph_set_data(struct hyphae_graph *graph, void *data,
				     void (*drop)(void *data));
HYPHAE_API void *hyphae_graph_data(const struct hyphae_graph *graph);

HYPHAE_API int hyphae_cell_set_data(struct hyphae_cell *cell, void *data,
				    void (*drop)(void *data));
HYPHAE_API void *hyphae_cell_data(const struct hyphae_cell *cell);

HYPHAE_API int
hyphae_subscription_set_data(struct hyphae_subscription *subscription,
			     void *data, void (*drop)(void *data));
HYPHAE_API void *
hyphae_subscription_data(const struct hyphae_subscription *subscription);

HYPHAE_API int hyphae_scope_set_data(struct hyphae_scope *scope, void *data,
				     void (*drop)(void *data));
HYPHAE_API void *hyphae_scope_data(const struct hyphae_scope *scope);

#ifdef __cplusplus
}
#endif

#endif
