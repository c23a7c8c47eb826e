/* SPDX-License-Identifier: MIT */
/* Subscriptions that are told later, or not at all, for a while. */
#include <errno.h>

#include "core/drain.h"
#include "core/subscribe.h"

/* What holds a subscription back, and how often. */
struct hold {
	uint16_t *count;
	uint32_t flag;
};

static struct hold hold_of(struct hy_sub *s, uint32_t flag)
{
	return (struct hold){flag == SUB_PAUSED ? &s->pauses : &s->blocks,
			     flag};
}

static int more(struct hy_sub *s, struct hold hold)
{
	if (*hold.count == UINT16_MAX)
		return -EOVERFLOW;
	++*hold.count;
	s->flags |= hold.flag;
	return 0;
}

/* Where another thread calls it already, that one sees what it missed. */
static int less(struct hy_sub *s, struct hold hold)
{
	struct hy_graph *g = load_relaxed(&hy_chunk_of(s)->graph);
	bool drainer;

	if (!*hold.count)
		return -EINVAL;
	if (--*hold.count)
		return 0;
	s->flags &= ~hold.flag;
	if (!hy_sub_is_behind(s) || s->flags & SUB_STARTING)
		return 0;
	drainer = hy_drain_begin(g);
	hy_catch_up(g, s, s->flags & SUB_MISSED);
	if (drainer)
		hy_drain_end(g, 0);
	else
		hy_bury(g);
	return 0;
}

static int change(struct hyphae_subscription *handle, uint32_t flag,
		  int (*fn)(struct hy_sub *s, struct hold hold))
{
	struct hy_sub *s = hy_sub_of(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!s)
		return hy_bad_handle(handle);
	g = load_relaxed(&hy_chunk_of(s)->graph);
	hy_lock(g);
	if (hy_sub_of(handle) && !(s->flags & SUB_DEAD))
		r = fn(s, hold_of(s, flag));
	hy_unlock(g);
	return r;
}

int hyphae_subscription_pause(struct hyphae_subscription *subscription)
{
	return change(subscription, SUB_PAUSED, more);
}

int hyphae_subscription_resume(struct hyphae_subscription *subscription)
{
	return change(subscription, SUB_PAUSED, less);
}

int hyphae_subscription_block(struct hyphae_subscription *subscription)
{
	return change(subscription, SUB_BLOCKED, more);
}

int hyphae_subscription_unblock(struct hyphae_subscription *subscription)
{
	return change(subscription, SUB_BLOCKED, less);
}
