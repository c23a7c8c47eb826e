/* SPDX-License-Identifier: MIT */
/* One input at a time is followed: concat, race. */
#include <errno.h>

#include "base/alloc.h"
#include "op/many.h"

/* All inputs, held; `next`: of concat the next one, of race 1 when linked. */
struct choice {
	uint32_t count, next;
	bool chosen; /* race: only the winner is followed */
	struct hy_cell *cells[];
};

/* It is over: there is no need of the inputs any more. */
static void let_go_all(struct hy_graph *g, struct choice *s)
{
	while (s->count)
		hy_let_go(g, s->cells[--s->count]);
}

static int over(struct hy_graph *g, struct choice *s, int outcome)
{
	let_go_all(g, s);
	return outcome;
}

static int fail(struct hy_graph *g, struct hy_derived *d, struct choice *s,
		int code)
{
	const char *message =
		code == -ELOOP ? "An input has come to depend on it." : "";

	hy_set_error(g, &d->cell, hy_error_new(code, message), true);
	return over(g, s, HY_KEEP);
}

/*
 * What the input says now.  Not HY_KEEP alone: it said something.  HY_KEEP
 * with HY_MORE: that was an error.
 */
static int hear(struct hy_graph *g, struct hy_derived *d, uint32_t i, void *out)
{
	uint32_t brought = hy_take(d, i);

	if (!(brought & MARK_VALUE))
		return HY_KEEP;
	if (hy_holds_error(d, i)) {
		hy_pass_error(g, d, i);
		return HY_KEEP | HY_MORE;
	}
	if (!hy_holds_value(d, i))
		return HY_KEEP;
	*(uint64_t *)out = hy_input_word(d, i);
	return HY_VALUE;
}

static void reset_choice(struct hy_graph *g, struct hy_derived *d)
{
	struct choice *s = d->ctx;

	(void)g;
	s->next = 0;
	s->chosen = false;
}

static void free_choice(struct hy_graph *g, struct hy_derived *d)
{
	if (!g->freeing)
		let_go_all(g, d->ctx);
	hy_free(d->ctx);
}

/* ---- concat ------------------------------------------------------------------ */

/* Follow the next input: 0, HY_KEEP (it has to settle first), or an error. */
static int follow_next(struct hy_graph *g, struct hy_derived *d,
		       struct choice *s)
{
	bool raised = false;
	int r = hy_link_add(g, d, s->cells[s->next], &raised);

	if (r < 0)
		return r;
	s->next++;
	return hy_must_settle(g, d) ? HY_KEEP : 0;
}

/* What fails here fails again when it runs. */
static void wake_concat(struct hy_graph *g, struct hy_derived *d)
{
	struct choice *s = d->ctx;
	bool raised = false;

	if (hy_link_add(g, d, s->cells[0], &raised) >= 0)
		s->next = 1;
}

static int run_concat(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct choice *s = d->ctx;
	int r;

	for (;;) {
		if (!d->fan_in->count) {
			r = follow_next(g, d, s);
			if (r)
				return r < 0 ? fail(g, d, s, r) : r;
		}
		r = hear(g, d, 0, out);
		if (d->cell.flags & F_FAILED)
			return over(g, s, HY_KEEP);
		if (!hy_input_ended(d, 0))
			return r & ~HY_MORE;
		hy_link_remove(g, d, 0);
		if (s->next == s->count)
			return over(g, s, (r & ~HY_MORE) | HY_END);
		if (r != HY_KEEP)
			return r | HY_MORE;
	}
}

static const struct hy_op op_concat = {
	.name = "concat",
	.run = run_concat,
	.free = free_choice,
	.reset = reset_choice,
	.wake = wake_concat,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_DYNAMIC | OP_KEEPS,
};

/* ---- race --------------------------------------------------------------------- */

/* Let go of all but the first that has said something, if there is one. */
static bool choose(struct hy_graph *g, struct hy_derived *d)
{
	uint32_t winner = hy_news_next(d, 0);

	if (winner == d->fan_in->count)
		return false;
	for (uint32_t i = d->fan_in->count; i-- > 0;)
		if (i != winner)
			hy_link_remove(g, d, i);
	return true;
}

static int follow_all(struct hy_graph *g, struct hy_derived *d,
		      struct choice *s)
{
	bool raised = false;
	int r = hy_relink(g, d, 0, s->cells, s->count, &raised);

	s->next = r == 0;
	return r;
}

/* What fails here fails again when it runs. */
static void wake_race(struct hy_graph *g, struct hy_derived *d)
{
	follow_all(g, d, d->ctx);
}

static int run_race(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct choice *s = d->ctx;
	uint32_t winner;
	int r;

	if (!s->next) {
		r = follow_all(g, d, s);
		if (r)
			return fail(g, d, s, r);
		if (hy_must_settle(g, d))
			return HY_KEEP;
	}
	if (!s->chosen && !choose(g, d))
		return HY_KEEP;
	s->chosen = true;
	winner = d->fan_in->count - 1; /* what lay behind it has gone */
	r = hear(g, d, winner, out) & ~HY_MORE;
	if (d->cell.flags & F_FAILED)
		return over(g, s, HY_KEEP);
	return hy_input_ended(d, winner) ? over(g, s, r | HY_END) : r;
}

static const struct hy_op op_race = {
	.name = "race",
	.run = run_race,
	.free = free_choice,
	.reset = reset_choice,
	.wake = wake_race,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_DYNAMIC | OP_KEEPS,
};

/* ---- both ---------------------------------------------------------------------- */

static struct hyphae_cell *choice_of(const struct hy_op *op,
				     struct hyphae_cell *const *inputs,
				     size_t count, size_t at_once,
				     const char *site)
{
	struct hy_order order = {.op = op,
				 .inputs = inputs,
				 .count = count,
				 .apart = (uint32_t)at_once,
				 .site = site};
	struct hyphae_cell *cell;
	struct choice *s;

	if (hy_check_inputs(inputs, count, true))
		return NULL;
	s = hy_many_state(inputs,
			  sizeof(*s) + count * sizeof(struct hy_cell *));
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		s->cells[i] = hy_cell(inputs[i]);
	order.ctx = s;
	cell = hy_order(&order);
	if (!cell)
		hy_free(s);
	return cell;
}

struct hyphae_cell *hyphae_concat_at(struct hyphae_cell *const *inputs,
				     size_t count, const char *site)
{
	return choice_of(&op_concat, inputs, count, 1, site);
}

struct hyphae_cell *hyphae_race_at(struct hyphae_cell *const *inputs,
				   size_t count, const char *site)
{
	return choice_of(&op_race, inputs, count, count, site);
}
