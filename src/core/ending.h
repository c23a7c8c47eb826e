/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves open when it ends is ended for it.  For that the thread
 * has to have said so before: once, when it first opens something.
 */
#ifndef HY_ENDING_H
#define HY_ENDING_H

#include "core/sync.h"

/*
 * In the order in which they are ended: scopes first, so that what subscribers
 * make belongs to none.
 */
enum hy_left_open {
	HY_LEFT_SCOPES,
	HY_LEFT_BATCHES,
	HY_LEFT_KINDS,
};

void hy_mind_end_now(enum hy_left_open what, void (*end)(void));

/* `end` ends all that this thread has open of the kind. */
static inline void hy_mind_end(enum hy_left_open what, void (*end)(void))
{
	if (unlikely(!(hy_self.minded & 1u << what)))
		hy_mind_end_now(what, end);
}

#endif
