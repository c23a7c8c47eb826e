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

/* The graph goes: its scopes are forgotten, undisposed. */
void hy_scopes_free(struct hy_graph *g);

#endif
