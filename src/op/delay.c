/* SPDX-License-Identifier: MIT */
/* Everything later: a queue of what waits, with a timer for the first. */
#include <errno.h>

#include "base/alloc.h"
#include "core/wave.h"
#include "op/timed.h"

struct item {
	uint64_t due;
	enum hy_timed_news what; /* NEWS_VALUE, NEWS_ERROR or NEWS_NONE */
	union {
		uint64_t word;
		struct hy_error *error;
	};
};

struct delay {
	struct hy_timed timed;
	enum hyphae_overflow policy;
	size_t capacity, first, count;
	size_t ripe; /* at the beginning of the queue, to be told now */
	uint64_t dropped;
	uint64_t end_due;
	bool ending; /* at end_due, after all items */
	struct item items[];
};

static void let_go(struct hy_graph *g, struct delay *s, const struct item *item)
{
	if (item->what == NEWS_VALUE)
		hy_word_put(g, s->timed.type, item->word);
	else if (item->what == NEWS_ERROR)
		hy_error_unref(item->error);
}

static struct item take(struct delay *s)
{
	struct item item = s->items[s->first];

	s->first = s->first + 1 < s->capacity ? s->first + 1 : 0;
	s->count--;
	s->ripe -= s->ripe != 0;
	return item;
}

static struct item *at(struct delay *s, size_t i)
{
	size_t room = s->capacity - s->first;

	return &s->items[i < room ? s->first + i : i - room];
}

static void delay_clear(struct hy_graph *g, struct hy_timed *timed)
{
	struct delay *s = container_of(timed, struct delay, timed);

	s->ending = false;
	while (s->count) {
		struct item item = take(s);

		let_go(g, s, &item);
	}
}

/* What the input holds, as an item with references. */
static struct item item_of(struct hy_graph *g, struct delay *s,
			   const struct hy_derived *d, enum hy_timed_news news)
{
	struct item item = {
		.due = hy_after(hy_now(g), s->timed.duration),
		.what = news,
	};

	if (news == NEWS_VALUE)
		item.word = hy_word_ref(s->timed.type, hy_input_word(d, 0));
	else if (news == NEWS_ERROR)
		item.error =
			hy_error_ref(hy_error_of(d->fan_in->edges[0].input));
	return item;
}

/* False: there was no room, and the policy is to fail. */
static bool enqueue(struct hy_graph *g, struct delay *s, struct item item)
{
	struct item loser = {.what = NEWS_NOTHING};

	if (s->count == s->capacity) {
		s->dropped++;
		if (s->policy == HYPHAE_OVERFLOW_DROP_NEWEST ||
		    s->policy == HYPHAE_OVERFLOW_FAIL) {
			let_go(g, s, &item);
			return s->policy != HYPHAE_OVERFLOW_FAIL;
		}
		loser = take(s);
	}
	*at(s, s->count++) = item;
	let_go(g, s, &loser);
	return true;
}

/* A timer that is started already keeps its turn among those of its moment. */
static void ring_for_first(struct hy_graph *g, struct delay *s)
{
	const struct hy_timer *t = &s->timed.timer;
	uint64_t due;

	if (!s->count && !s->ending)
		return;
	due = s->count ? at(s, 0)->due : s->end_due;
	if (!hy_timer_armed(t) || t->due != due)
		hy_timed_at(g, &s->timed, due);
}

/* Time has come for some: they are told one a wave, and the end after them. */
static void ripen(struct hy_graph *g, struct delay *s)
{
	uint64_t now = hy_now(g);

	while (s->ripe < s->count && at(s, s->ripe)->due <= now)
		s->ripe++;
}

/* HY_VALUE with the word in *out, or HY_KEEP. */
static int tell(struct hy_graph *g, struct hy_derived *d, struct item item,
		uint64_t *out)
{
	if (item.what == NEWS_VALUE) {
		*out = item.word;
		return HY_VALUE;
	}
	if (item.what == NEWS_ERROR)
		hy_hold_error(g, &d->cell, item.error);
	else if (item.what == NEWS_NONE && d->cell.flags & F_ERROR)
		hy_set_none(&d->cell);
	return HY_KEEP;
}

static int fail(struct hy_graph *g, struct hy_derived *d, int code)
{
	struct delay *s = d->ctx;

	hy_timed_stop(g, &s->timed);
	s->dropped += s->count;
	delay_clear(g, &s->timed);
	return code ? hy_timed_fail(g, d, code) : hy_timed_trouble(g, d);
}

/* The end of the input, as it comes. */
static void note_end(struct hy_graph *g, struct delay *s,
		     const struct hy_derived *d)
{
	if (!hy_input_ended(d, 0) || s->ending)
		return;
	s->ending = true;
	s->end_due = hy_after(hy_now(g), s->timed.duration);
}

static int run_delay(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct delay *s = d->ctx;
	enum hy_timed_news news = hy_timed_news(d);
	bool rang = hy_timed_rang(&s->timed);
	struct item item = {.what = NEWS_NOTHING};
	int outcome;

	hy_timed_begin(&s->timed, d);
	if (news == NEWS_ERROR && d->fan_in->edges[0].input->flags & F_FAILED)
		return fail(g, d, 0);
	if (rang)
		ripen(g, s);
	if (s->ripe)
		item = take(s);
	note_end(g, s, d);
	if (news != NEWS_NOTHING && !enqueue(g, s, item_of(g, s, d, news))) {
		let_go(g, s, &item);
		return fail(g, d, -EOVERFLOW);
	}
	outcome = tell(g, d, item, out);
	if (s->ripe)
		return outcome | HY_MORE;
	rang |= item.what != NEWS_NOTHING;
	if (rang && s->ending && !s->count && s->end_due <= hy_now(g))
		return outcome | HY_END;
	ring_for_first(g, s);
	return outcome;
}

static const struct hy_op op_delay = {
	.name = "delay",
	.run = run_delay,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_SIGNALS | OP_SHARES | OP_GIVES | OP_STREAM,
};

struct hyphae_cell *hyphae_delay_at(struct hyphae_cell *input,
				    uint64_t delay_ns, size_t capacity,
				    enum hyphae_overflow policy,
				    const char *site)
{
	struct delay *s;

	if (policy == HYPHAE_OVERFLOW_LATEST)
		capacity = 1;
	if (!capacity || capacity > HYPHAE_CAPACITY_MAX ||
	    (unsigned int)policy > HYPHAE_OVERFLOW_FAIL) {
		if (input)
			errno = EINVAL;
		return NULL;
	}
	s = hy_timed_new(input, sizeof(*s) + capacity * sizeof(s->items[0]),
			 delay_ns);
	if (!s)
		return NULL;
	s->timed.clear = delay_clear;
	s->capacity = capacity;
	s->policy = policy;
	return hy_timed_derive(&op_delay, input, NULL, &s->timed, site);
}

int hyphae_delay_dropped(const struct hyphae_cell *cell, uint64_t *ret_count)
{
	int r;
	struct hy_cell *c = hy_cell_lock(cell, &r);
	const struct delay *s;

	if (!c)
		return r;
	if (ret_count && c->flags & F_DERIVED &&
	    hy_derived_of(c)->op == &op_delay) {
		s = hy_derived_of(c)->ctx;
		*ret_count = s->dropped;
	} else {
		r = -EINVAL;
	}
	hy_unlock(hy_graph_of(c));
	return r;
}
