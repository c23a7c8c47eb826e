/* SPDX-License-Identifier: MIT */
/*
 * Debounce, throttle, audit, sample_time: a gate that values shut, and that
 * opens by the clock.  While it is shut the timer is armed.
 */
#include <errno.h>

#include "core/derive.h"
#include "op/timed.h"

enum {
	LEADS = 1,    /* a value that finds the gate open is told at once */
	TRAILS = 2,   /* the last that found it shut is told when it opens, */
	AGAIN = 4,    /* and shuts it again */
	MOVES = 8,    /* each value shuts it for the whole time */
	ALIGNED = 16, /* it opens at multiples of the time only */
	FIRST = 32, /* what the input held at first is told, and shuts nothing */
};

struct gate {
	struct hy_timed timed;
	uint32_t rules;
	bool pending;
	uint64_t word;	/* pending */
	uint64_t start; /* ALIGNED: of the first run */
};

static void shut(struct hy_graph *g, struct gate *s)
{
	uint64_t now = hy_now(g), duration = s->timed.duration;

	if (s->rules & ALIGNED) {
		if (now < s->start)
			s->start = now; /* the graph follows another clock */
		duration -= (now - s->start) % duration;
	}
	hy_timed_at(g, &s->timed, hy_after(now, duration));
}

static bool is_shut(const struct gate *s)
{
	return hy_timer_armed(&s->timed.timer);
}

static void gate_clear(struct hy_graph *g, struct hy_timed *timed)
{
	struct gate *s = container_of(timed, struct gate, timed);
	bool pending = s->pending;

	s->pending = false;
	if (pending)
		hy_word_put(g, timed->type, s->word);
}

/* Instead of what was pending; that is let go of by the caller. */
static void pend(struct hy_graph *g, struct gate *s, uint64_t word)
{
	s->word = word;
	s->pending = true;
	if (s->rules & MOVES || !is_shut(s))
		shut(g, s);
}

/*
 * A value came, with a reference.  Returns whether it is told at once; else
 * *ret_stale is what has to be let go of, or stays as it was.
 */
static bool value_comes(struct hy_graph *g, struct gate *s, uint64_t word,
			bool first, uint64_t *ret_stale)
{
	if (first && s->rules & FIRST)
		return true;
	if (s->rules & LEADS && !is_shut(s)) {
		shut(g, s);
		return true;
	}
	if (s->rules & TRAILS) {
		uint64_t old = s->pending ? s->word : 0;

		pend(g, s, word);
		*ret_stale = old;
	} else {
		*ret_stale = word;
	}
	return false;
}

/* The pending value, if it is to be told now. */
static bool value_goes(struct hy_graph *g, struct gate *s, uint64_t *ret_word)
{
	if (!s->pending)
		return false;
	s->pending = false;
	*ret_word = s->word;
	if (s->rules & AGAIN)
		shut(g, s);
	return true;
}

/* Told in this order: what waited for the timer, what came, what is left. */
static int run_gate(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct gate *s = d->ctx;
	const struct hyphae_type *type = d->cell.type;
	bool first = hy_timed_begin(&s->timed, d);
	bool ended = hy_input_ended(d, 0);
	enum hy_timed_news news = hy_timed_news(d);
	uint64_t stale = 0;
	bool tells = false;

	if (first)
		s->start = hy_now(g);
	if (news == NEWS_ERROR || news == NEWS_NONE) {
		hy_timed_stop(g, &s->timed);
		gate_clear(g, &s->timed);
		return hy_timed_trouble(g, d);
	}
	if (hy_timed_rang(&s->timed))
		tells = value_goes(g, s, out);
	if (news == NEWS_VALUE) {
		uint64_t word = hy_word_ref(type, hy_input_word(d, 0));

		if (value_comes(g, s, word, first, &stale)) {
			*(uint64_t *)out = word;
			tells = true;
		}
	}
	if (ended && !tells)
		tells = value_goes(g, s, out);
	if (ended)
		hy_timed_stop(g, &s->timed);
	if (stale)
		hy_word_put(g, type, stale);
	return (tells ? HY_VALUE : HY_KEEP) |
	       (ended ? (s->pending ? HY_MORE : HY_END) : 0);
}

#define GATE(name_)                                                            \
	{                                                                      \
		.name = name_, .run = run_gate, .free = hy_timed_free,         \
		.reset = hy_timed_reset,                                       \
		.flags = OP_SIGNALS | OP_SHARES | OP_GIVES | OP_STREAM,        \
	}

static const struct hy_op op_debounce = GATE("debounce");
static const struct hy_op op_throttle = GATE("throttle");
static const struct hy_op op_audit = GATE("audit");
static const struct hy_op op_sample_time = GATE("sample_time");

static struct hyphae_cell *make(const struct hy_op *op,
				struct hyphae_cell *input, uint64_t duration,
				uint32_t rules, const char *site)
{
	struct gate *s = hy_timed_new(input, sizeof(*s), duration);

	if (!s)
		return NULL;
	s->timed.clear = gate_clear;
	s->rules = rules;
	return hy_timed_derive(op, input, NULL, &s->timed, site);
}

struct hyphae_cell *hyphae_debounce_at(struct hyphae_cell *input,
				       uint64_t quiet_ns, const char *site)
{
	return make(&op_debounce, input, quiet_ns, TRAILS | MOVES, site);
}

struct hyphae_cell *hyphae_throttle_at(struct hyphae_cell *input,
				       uint64_t window_ns, unsigned int edges,
				       const char *site)
{
	uint32_t rules = FIRST;

	if (!edges || edges & ~(unsigned int)HYPHAE_BOTH_EDGES) {
		if (input)
			errno = EINVAL;
		return NULL;
	}
	if (edges & HYPHAE_LEADING)
		rules |= LEADS;
	if (edges & HYPHAE_TRAILING)
		rules |= TRAILS | AGAIN;
	return make(&op_throttle, input, window_ns, rules, site);
}

struct hyphae_cell *hyphae_audit_at(struct hyphae_cell *input,
				    uint64_t window_ns, const char *site)
{
	return make(&op_audit, input, window_ns, TRAILS, site);
}

struct hyphae_cell *hyphae_sample_time_at(struct hyphae_cell *input,
					  uint64_t period_ns, const char *site)
{
	if (input && !period_ns) {
		errno = EINVAL;
		return NULL;
	}
	return make(&op_sample_time, input, period_ns, TRAILS | ALIGNED, site);
}
