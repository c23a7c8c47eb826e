/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves open when it ends is ended for it.  For that the thread
 * has to have said so before: once, when it first opens something.
 */
#ifndef HY_ENDING_H
#define HY_ENDING_H

#include "core/sync.h"

void hy_mind_end_now(void);

static inline void hy_mind_end(void)
{
	if (unlikely(!hy_self.minded))
		hy_mind_end_now();
}

/* hy_lock(), by who is about to open something. */
static inline void hy_lock_to_open(struct hy_graph *g)
{
	if (hy_shared(g)) /* a single-threaded graph has its batches itself */
		hy_mind_end();
	hy_lock(g);
}

#endif
