/* SPDX-License-Identifier: MIT */
/*
 * Let allocations of the library fail one after the other:
 *
 *   OOM_SWEEP(n) {
 *           ... body: may fail with -ENOMEM, and must leave the graph as it was
 *   }
 *
 * runs the body with no allocation failing, then with the 1st, the 2nd, ...
 * until a run in which none was left to fail.  `n` is which one fails, 0 in
 * the first run.
 * The body must not be left with break or return.
 */
#ifndef HYPHAE_TESTS_LIB_OOM_H
#define HYPHAE_TESTS_LIB_OOM_H

#include <stdbool.h>

#include "base/alloc.h"

#define OOM_SWEEP(n_)                                                          \
	for (unsigned long n_ = 0, oom_start_ = oom_arm_(0), oom_go_ = 1;      \
	     oom_go_; oom_go_ = oom_next_(&n_, &oom_start_))

/* For statements that must not fail while a sweep is on. */
#define OOM_PAUSE() hy_alloc_fail_after(0)

static inline unsigned long oom_arm_(unsigned long n)
{
	hy_alloc_fail_after(n);
	return hy_alloc_count();
}

/* Was the body long enough to reach its n-th allocation? */
static inline bool oom_next_(unsigned long *n, unsigned long *start)
{
	bool reached = hy_alloc_count() - *start >= *n;

	hy_alloc_fail_after(0);
	if (!reached)
		return false;
	++*n;
	*start = oom_arm_(*n);
	return true;
}

#endif
