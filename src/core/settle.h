/* SPDX-License-Identifier: MIT */
/*
 * A function reads a cell, or makes one of it, before the wave has come to it:
 * what that cell depends on is computed now, and nothing else.  So nothing that
 * follows the function's own cell is computed before the function has returned.
 */
#ifndef HY_SETTLE_H
#define HY_SETTLE_H

#include "core/types.h"

/*
 * As the drainer, in a function that a wave called.  False: it is not settled,
 * for want of memory, or because that would nest too deep.
 */
bool hy_settle(struct hy_graph *g, struct hy_cell *c);
/* This thread propagates, and it would not. */
bool hy_can_settle(struct hy_graph *g);

/* What it depends on may still have to be computed in this wave. */
bool hy_is_unsettled(struct hy_graph *g, const struct hy_cell *c);

#endif
