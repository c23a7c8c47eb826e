/* SPDX-License-Identifier: MIT */
/* An input that is silent for too long has failed. */
#include <errno.h>

#include "core/derive.h"
#include "op/timed.h"

static int run_timeout(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct hy_timed *s = d->ctx;
	bool first = hy_timed_begin(s, d);
	bool ended = hy_input_ended(d, 0);
	enum hy_timed_news news = hy_timed_news(d);

	if (hy_timed_rang(s))
		return hy_timed_fail(g, d, -ETIMEDOUT);
	if (ended)
		hy_timed_stop(g, s);
	else if (first || news == NEWS_VALUE || news == NEWS_ERROR)
		hy_timed_after(g, s, s->duration);
	if (news == NEWS_ERROR || news == NEWS_NONE)
		return hy_timed_trouble(g, d);
	if (news == NEWS_VALUE)
		*(uint64_t *)out = hy_input_word(d, 0);
	return (news == NEWS_VALUE ? HY_VALUE : HY_KEEP) | (ended ? HY_END : 0);
}

static const struct hy_op op_timeout = {
	.name = "timeout",
	.run = run_timeout,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_SIGNALS | OP_SHARES | OP_STREAM,
};

struct hyphae_cell *hyphae_timeout_at(struct hyphae_cell *input,
				      uint64_t silence_ns, const char *site)
{
	struct hy_timed *s;

	if (input && !silence_ns) {
		errno = EINVAL;
		return NULL;
	}
	s = hy_timed_new(input, sizeof(*s), silence_ns);
	return s ? hy_timed_derive(&op_timeout, input, NULL, s, site) : NULL;
}
