/* SPDX-License-Identifier: MIT */
#ifndef HY_SCOPE_H
#define HY_SCOPE_H

#include "core/sync.h"

/*
 * Make room in the scope that is entered on this thread, if it is one of `g`;
 * false without memory.  Then adding cannot fail.
 */
bool hy_scope_reserve(struct hy_graph *g);
void hy_scope_add_cell(struct hy_graph *g, struct hy_cell *c);
void hy_scope_add_sub(struct hy_graph *g, struct hy_sub *s);

/* A scope of the graph that is in no other, or NULL. */
struct hyphae_scope *hy_scope_any(struct hy_graph *g);

/* The graph goes, and there was no time to dispose these. */
void hy_scopes_free(struct hy_graph *g);

#endif
