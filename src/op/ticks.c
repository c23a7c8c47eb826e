/* SPDX-License-Identifier: MIT */
/* Cells that time alone moves: interval, after, from_array, from_iterator. */
#include <errno.h>

#include "op/timed.h"
#include "time/clocks.h"

/* ---- interval ------------------------------------------------------------- */

struct interval {
	struct hy_timed timed;
	bool coalesce;
	int64_t ticks; /* periods that are over */
	int64_t told;
};

/* A period that would end after the end of time does not end. */
static void ring_after_period(struct hy_graph *g, struct hy_timed *timed,
			      uint64_t begun)
{
	if (timed->duration <= UINT64_MAX - begun)
		hy_timed_at(g, timed, begun + timed->duration);
}

/*
 * When time has jumped and it shall be told once, that is at the time of the
 * last period.
 */
static void tick(struct hy_graph *g, struct hy_timer *t)
{
	struct hy_timed *timed = container_of(t, struct hy_timed, timer);
	struct interval *s = container_of(timed, struct interval, timed);
	uint64_t due = t->due, period = timed->duration, late = 0;

	if (s->coalesce && g->time->target > due)
		late = (g->time->target - due) / period;
	if (late) {
		s->ticks += (int64_t)late;
		hy_timed_at(g, timed, due + late * period);
		return;
	}
	s->ticks++;
	ring_after_period(g, timed, due);
	hy_wake(g, timed->d);
}

static int run_interval(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct interval *s = d->ctx;

	if (hy_timed_begin(&s->timed, d)) {
		ring_after_period(g, &s->timed, hy_now(g));
		*(int64_t *)out = 0;
		return HY_VALUE;
	}
	if (s->told == s->ticks)
		return HY_KEEP;
	s->told = s->coalesce ? s->ticks : s->told + 1;
	*(int64_t *)out = s->told;
	return s->told < s->ticks ? HY_VALUE | HY_MORE : HY_VALUE;
}

static void interval_clear(struct hy_graph *g, struct hy_timed *timed)
{
	struct interval *s = container_of(timed, struct interval, timed);

	(void)g;
	s->ticks = s->told = 0;
}

#define OP_ALONE (OP_SIGNALS | OP_DYNAMIC)

static const struct hy_op op_interval = {
	.name = "interval",
	.run = run_interval,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_ALONE,
};

struct hyphae_cell *hyphae_interval_at(struct hyphae_graph *graph,
				       uint64_t period_ns, unsigned int flags,
				       const char *site)
{
	struct interval *s;

	if (!period_ns || flags & ~(unsigned int)HYPHAE_INTERVAL_COALESCE) {
		errno = EINVAL;
		return NULL;
	}
	s = hy_timed_new_in(graph, &hyphae_int64, sizeof(*s), period_ns);
	if (!s)
		return NULL;
	s->timed.clear = interval_clear;
	s->timed.timer.fire = tick;
	s->coalesce = flags & HYPHAE_INTERVAL_COALESCE;
	return hy_timed_make(&op_interval, &s->timed, site);
}

/* ---- after ---------------------------------------------------------------- */

static int run_after(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct hy_timed *s = d->ctx;

	if (hy_timed_begin(s, d))
		hy_timed_after(g, s, s->duration);
	if (!hy_timed_rang(s))
		return HY_KEEP;
	*(int64_t *)out = 1;
	return HY_VALUE | HY_END;
}

static const struct hy_op op_after = {
	.name = "after",
	.run = run_after,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_ALONE,
};

struct hyphae_cell *hyphae_after_at(struct hyphae_graph *graph,
				    uint64_t delay_ns, const char *site)
{
	struct hy_timed *s =
		hy_timed_new_in(graph, &hyphae_int64, sizeof(*s), delay_ns);

	return s ? hy_timed_make(&op_after, s, site) : NULL;
}

/* ---- one after the other -------------------------------------------------- */

struct sequence {
	struct hy_timed timed;
	hyphae_next_fn next;
	void *ctx;
	size_t count, at;
	uint64_t words[]; /* without `next` */
};

/* 1: *out was made; 0: there is no more; or a negative errno. */
static int ask(struct hy_graph *g, struct sequence *s, void *out)
{
	int r;

	if (!s->next) {
		if (s->at == s->count)
			return 0;
		*(uint64_t *)out = s->words[s->at++];
		return 1;
	}
	hy_call_begin(g);
	r = s->next(out, s->ctx);
	hy_call_end(g);
	return r > 1 ? -EINVAL : r;
}

static int run_sequence(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct sequence *s = d->ctx;
	bool first = hy_timed_begin(&s->timed, d);
	uint64_t due = first ? hy_now(g) : s->timed.timer.due;
	int r;

	if (!hy_timed_rang(&s->timed) && !first)
		return HY_KEEP;
	r = ask(g, s, out);
	if (r < 0)
		return hy_timed_fail(g, d, r);
	if (r == 0)
		return HY_KEEP | HY_END;
	hy_timed_at(g, &s->timed, hy_after(due, s->timed.duration));
	return HY_VALUE;
}

static void sequence_clear(struct hy_graph *g, struct hy_timed *timed)
{
	(void)g;
	container_of(timed, struct sequence, timed)->at = 0;
}

static void sequence_drop(struct hy_graph *g, struct hy_timed *timed)
{
	struct sequence *s = container_of(timed, struct sequence, timed);

	for (size_t i = 0; i < s->count; i++)
		hy_word_put(g, timed->type, s->words[i]);
}

static const struct hy_op op_from_array = {
	.name = "from_array",
	.run = run_sequence,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_ALONE | OP_SHARES,
};

static const struct hy_op op_from_iterator = {
	.name = "from_iterator",
	.run = run_sequence,
	.free = hy_timed_free,
	.reset = hy_timed_reset,
	.flags = OP_ALONE,
};

static struct sequence *sequence_new(struct hyphae_graph *graph,
				     const struct hyphae_type *type,
				     size_t room, uint64_t period_ns)
{
	struct sequence *s;

	s = hy_timed_new_in(graph, type,
			    sizeof(*s) + room * sizeof(s->words[0]), period_ns);
	if (!s)
		return NULL;
	s->timed.clear = sequence_clear;
	s->timed.drop = sequence_drop;
	return s;
}

/* Copies of the values: 0, or what made one fail. */
static int keep_values(struct sequence *s, const char *values, size_t count)
{
	const struct hyphae_type *type = s->timed.type;
	struct hy_graph *g = hy_timed_graph(&s->timed);
	int r = 0;

	while (!r && s->count < count) {
		r = hy_word_make(g, type, values + s->count * type->size, NULL,
				 &s->words[s->count]);
		s->count += r == 0;
	}
	return r;
}

struct hyphae_cell *hyphae_from_array_at(struct hyphae_graph *graph,
					 const struct hyphae_type *type,
					 const void *values, size_t count,
					 uint64_t period_ns, const char *site)
{
	struct sequence *s;
	int r;

	if (hy_type_check(type) || (count && !values) || !period_ns ||
	    count > HYPHAE_CAPACITY_MAX) {
		errno = EINVAL;
		return NULL;
	}
	s = sequence_new(graph, type, count, period_ns);
	if (!s)
		return NULL;
	r = keep_values(s, values, count);
	if (r) {
		hy_timed_discard(hy_timed_graph(&s->timed), &s->timed);
		errno = -r;
		return NULL;
	}
	return hy_timed_make(&op_from_array, &s->timed, site);
}

struct hyphae_cell *hyphae_from_iterator_at(struct hyphae_graph *graph,
					    const struct hyphae_type *type,
					    uint64_t period_ns,
					    hyphae_next_fn next, void *ctx,
					    const char *site)
{
	struct sequence *s;

	if (hy_type_check(type) || !next || !period_ns) {
		errno = EINVAL;
		return NULL;
	}
	s = sequence_new(graph, type, 0, period_ns);
	if (!s)
		return NULL;
	s->next = next;
	s->ctx = ctx;
	return hy_timed_make(&op_from_iterator, &s->timed, site);
}
