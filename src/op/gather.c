/* SPDX-License-Identifier: MIT */
/* buffer_time: what came in a stretch of time, as one value. */
#include <errno.h>

#include "base/alloc.h"
#include "core/wave.h"
#include "op/timed.h"

struct gather {
	struct hy_timed timed;
	hyphae_combine_fn fn;
	void *ctx;
	uint64_t start; /* of the first window */
	size_t capacity, count;
	const void **values; /* where the words are, for fn */
	uint64_t words[];    /* one more than capacity */
};

/* Let go of the first `count`; the others move up. */
static void let_go(struct hy_graph *g, struct gather *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hy_word_put(g, s->timed.type, s->words[i]);
	s->count -= count;
	for (size_t i = 0; i < s->count; i++)
		s->words[i] = s->words[count + i];
}

static void gather_clear(struct hy_graph *g, struct hy_timed *timed)
{
	struct gather *s = container_of(timed, struct gather, timed);

	let_go(g, s, s->count);
}

/* Nothing is added meanwhile: only `run` does, and it is us. */
static int tell(struct hy_graph *g, struct gather *s, size_t count, void *out)
{
	int r;

	for (size_t i = 0; i < count; i++)
		s->values[i] = hy_word_value(s->timed.type, &s->words[i]);
	hy_call_begin(g);
	r = s->fn(out, s->values, count, s->ctx);
	hy_call_end(g);
	let_go(g, s, count);
	return r > 0 ? -EINVAL : r;
}

/* Windows follow one another without a gap, but nothing rings for nothing. */
static void ring_at_end(struct hy_graph *g, struct gather *s)
{
	uint64_t now = hy_now(g), period = s->timed.duration;

	if (hy_timer_armed(&s->timed.timer))
		return;
	if (now < s->start)
		s->start = now; /* the graph follows another clock */
	hy_timed_after(g, &s->timed, period - (now - s->start) % period);
}

/* An error passes at once; what was gathered stays, but not for a failure. */
static int trouble(struct hy_graph *g, struct hy_derived *d)
{
	struct gather *s = d->ctx;
	int r;

	hy_timed_stop(g, &s->timed);
	if (d->fan_in->edges[0].input->flags & F_FAILED)
		gather_clear(g, &s->timed);
	r = hy_timed_trouble(g, d);
	return r & HY_END && s->count ? HY_KEEP | HY_MORE : r;
}

/* What is left when `run` has told one value, and what it returns of it. */
static int see_to_rest(struct hy_graph *g, struct gather *s, bool ended)
{
	if (s->count == s->capacity || (ended && s->count))
		return HY_MORE;
	if (s->count)
		ring_at_end(g, s);
	else
		hy_timed_stop(g, &s->timed);
	return ended ? HY_END : 0;
}

static int run_gather(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct gather *s = d->ctx;
	bool ended = hy_input_ended(d, 0);
	enum hy_timed_news news = hy_timed_news(d);
	size_t count = 0;
	int r = HY_KEEP, rest;

	if (hy_timed_begin(&s->timed, d))
		s->start = hy_now(g);
	if (news == NEWS_ERROR || news == NEWS_NONE)
		return trouble(g, d);
	if (hy_timed_rang(&s->timed) || s->count == s->capacity)
		count = s->count;
	if (news == NEWS_VALUE)
		s->words[s->count++] =
			hy_word_ref(s->timed.type, hy_input_word(d, 0));
	if (!count && (s->count == s->capacity || ended))
		count = s->count;
	if (count)
		r = tell(g, s, count, out);
	rest = see_to_rest(g, s, ended);
	if (r < 0 && rest) {
		hy_set_failure(g, &d->cell, r);
		r = HY_KEEP;
	}
	return r < 0 ? r : r | rest;
}

static const struct hy_op op_gather = {
	.name = "buffer_time",
	.run = run_gather,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_SIGNALS | OP_STREAM,
};

struct hyphae_cell *hyphae_buffer_time_at(struct hyphae_cell *input,
					  uint64_t period_ns, size_t capacity,
					  const struct hyphae_type *type,
					  hyphae_combine_fn fn, void *ctx,
					  const char *site)
{
	struct gather *s;
	size_t size;

	if (!period_ns || !capacity || capacity > HYPHAE_CAPACITY_MAX ||
	    !type || !fn) {
		if (input)
			errno = EINVAL;
		return NULL;
	}
	size = sizeof(*s) + (capacity + 1) * sizeof(s->words[0]);
	s = hy_timed_new(input, size + capacity * sizeof(s->values[0]),
			 period_ns);
	if (!s)
		return NULL;
	s->timed.clear = gather_clear;
	s->values = (const void **)&s->words[capacity + 1];
	s->capacity = capacity;
	s->fn = fn;
	s->ctx = ctx;
	return hy_timed_derive(&op_gather, input, type, &s->timed, site);
}
