/* SPDX-License-Identifier: MIT */
/*
 * What some subscriptions have beside a function: a clean-up, the previous
 * value, an end after one call.  It lies in a block of its own behind `ctx`,
 * and SUB_EXTRA sends every call to it the slow way, so that plain
 * subscriptions pay nothing.
 */
#ifndef HY_EXTRA_H
#define HY_EXTRA_H

#include "core/types.h"

struct hy_extra;

/* Whether a subscription with these options needs one. */
static inline bool
hy_extra_needed(const struct hyphae_subscription_options *options)
{
	return options->cleanup ||
	       options->flags & (HYPHAE_ONCE | HYPHAE_PREVIOUS);
}

/* One with these options, or NULL. */
struct hy_extra *
hy_extra_new(struct hy_graph *g,
	     const struct hyphae_subscription_options *options);

/* HYPHAE_SKIP_INITIAL: what the cell holds counts as told. */
void hy_extra_passed_over(struct hy_extra *extra, const struct hy_cell *c);

/*
 * The clean-up of the call before, then the subscriber.  The lock is held and
 * let go of around both.  Returns what the subscriber returned; *ret_told is
 * false if the clean-up ended or paused it.
 */
int hy_extra_call(struct hy_graph *g, struct hy_sub *s,
		  const struct hyphae_signal *signal, bool *ret_told);

/*
 * The subscription is over: the clean-up of the last call.  Afterwards it is
 * a plain one, with the user's ctx.
 */
void hy_extra_done(struct hy_graph *g, struct hy_sub *s);

#endif
