/* SPDX-License-Identifier: MIT */
/*
 * What goes through a pipe of maps and filters of words, which most pipes are:
 * no boxes, no functions that compare, and nothing comes but values.  So a step
 * is the call of its function and one comparison, of the value with the one
 * before it.  What a function makes is read by the next where it was made.
 *
 * The graph's lock is not held from the first step to the last.  Nobody but the
 * drainer touches the stages meanwhile.
 */
#include "op/pipe.h"

static bool is_last(const struct hy_stage *s)
{
	return s->step == HY_STEP_LAST_MAP || s->step == HY_STEP_LAST_FILTER;
}

/* A function made no value: it failed, or a filter holds back what it got. */
static NOINLINE int refuse(struct hy_stage *s, int result)
{
	if (result >= 0)
		return HY_KEEP;
	for (; !is_last(s); s++)
		s->holds = HY_HOLDS_ERROR;
	return result;
}

/* It holds what was made from now on.  An equal value goes no farther. */
static ALWAYS_INLINE bool passes(struct hy_stage *s)
{
	if (unlikely(s->made == s->word) && s->holds == HY_HOLDS_VALUE &&
	    s->keeps)
		return false;
	s->word = s->made;
	s->holds = HY_HOLDS_VALUE;
	return true;
}

/* Maps are laid out straight; what is none comes back by a jump. */
int hy_pipe_words(void *out, const void *value, void *ctx)
{
	const struct hyphae_pipe *p = ctx;
	struct hy_stage *s = p->stages;
	int r;

	if (unlikely(s->step != HY_STEP_MAP))
		goto no_map;
map:
	s->made = 0;
	r = ((hyphae_map_fn)s->fn)(&s->made, value, s->ctx);
	if (unlikely(r))
		return refuse(s, hy_ran(r));
made:
	if (!passes(s))
		return HY_KEEP;
	value = &s++->made;
	if (likely(s->step == HY_STEP_MAP))
		goto map;
no_map:
	if (likely(s->step == HY_STEP_LAST_MAP)) {
		r = ((hyphae_map_fn)s->fn)(out, value, s->ctx);
		return likely(r == 0) ? HY_VALUE : hy_ran(r);
	}
	s->made = *(const uint64_t *)value;
	r = ((hyphae_filter_fn)s->fn)(&s->made, s->ctx);
	if (unlikely(r <= 0))
		return refuse(s, r);
	if (s->step != HY_STEP_LAST_FILTER)
		goto made;
	*(uint64_t *)out = s->made;
	return HY_VALUE;
}
