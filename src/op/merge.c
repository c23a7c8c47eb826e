/* SPDX-License-Identifier: MIT */
/* merge: what several cells say, one after the other. */
#include <errno.h>

#include "base/alloc.h"
#include "op/many.h"

/* What an input said: a value's word, or an error, the last if terminal. */
struct said {
	uint64_t word;
	struct hy_error *error;
	bool terminal;
};

/*
 * A ring.  In a wave each input says one thing, and all of that is told before
 * the next (hy_wave_more()), so half of it would do but for operators of time
 * that are fired in between.
 */
struct merge {
	const struct hyphae_type *type;
	uint32_t room, first, count;
	bool failed; /* nothing is heard after that */
	uint64_t dropped;
	struct said said[];
};

static struct said pop(struct merge *m)
{
	struct said said = m->said[m->first];

	m->first = (m->first + 1) % m->room;
	m->count--;
	return said;
}

/* Out of the ring before a drop function runs, without the lock. */
static void give_up(struct hy_graph *g, struct merge *m)
{
	struct said said = pop(m);

	m->dropped++;
	if (said.error)
		hy_error_unref(said.error);
	else
		hy_word_put(g, m->type, said.word);
}

static void clear(struct hy_graph *g, struct merge *m)
{
	while (m->count)
		give_up(g, m);
}

static void push(struct hy_graph *g, struct merge *m, struct said said)
{
	if (m->count == m->room)
		give_up(g, m);
	m->said[(m->first + m->count++) % m->room] = said;
	m->failed = said.terminal;
}

static void hear(struct hy_graph *g, struct hy_derived *d, struct merge *m)
{
	hy_each_news(d, i) {
		uint32_t brought = hy_brought(d, i);
		struct said said = {.terminal = hy_input_failed(d, i)};

		if (m->failed)
			break;
		if (!(brought & MARK_VALUE) && !said.terminal)
			continue;
		if (hy_holds_error(d, i))
			said.error = hy_input_error(d, i);
		else if (hy_holds_value(d, i))
			said.word = hy_word_ref(m->type, hy_input_word(d, i));
		else
			continue;
		push(g, m, said);
	}
}

static void hold_error(struct hy_graph *g, struct hy_cell *c,
		       const struct said *said)
{
	if (said->terminal)
		hy_set_error(g, c, said->error, true);
	else
		hy_hold_error(g, c, said->error);
}

static int run_merge(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct merge *m = d->ctx;
	struct said said;
	int r = HY_KEEP;

	hear(g, d, m);
	if (m->count) {
		said = pop(m);
		if (said.error) {
			hold_error(g, &d->cell, &said);
		} else {
			*(uint64_t *)out = said.word;
			r = HY_VALUE;
		}
	}
	if (m->count)
		return r | HY_MORE;
	return hy_inputs_ended(d) ? r | HY_END : r;
}

static void reset_merge(struct hy_graph *g, struct hy_derived *d)
{
	struct merge *m = d->ctx;

	clear(g, m);
	m->failed = false;
}

static void free_merge(struct hy_graph *g, struct hy_derived *d)
{
	clear(g, d->ctx);
	hy_free(d->ctx);
}

static void merge_backlog(const struct hy_derived *d,
			  struct hyphae_backlog *ret_backlog)
{
	const struct merge *m = d->ctx;

	*ret_backlog = (struct hyphae_backlog){m->count, m->room, m->dropped};
}

static const struct hy_op op_merge = {
	.name = "merge",
	.run = run_merge,
	.free = free_merge,
	.reset = reset_merge,
	.flags = OP_SIGNALS | OP_STREAM | OP_SHARES | OP_GIVES,
	.backlog = merge_backlog,
};

struct hyphae_cell *hyphae_merge_at(struct hyphae_cell *const *inputs,
				    size_t count, const char *site)
{
	struct hy_order order = {.op = &op_merge,
				 .inputs = inputs,
				 .count = count,
				 .site = site};
	struct hyphae_cell *cell;
	struct merge *m;

	if (hy_check_inputs(inputs, count, true))
		return NULL;
	m = hy_many_state(inputs, sizeof(*m) + 2 * count * sizeof(*m->said));
	if (!m) {
		errno = ENOMEM;
		return NULL;
	}
	m->room = (uint32_t)(2 * count);
	m->type = load_relaxed(&hy_cell_place(inputs[0])->type);
	order.ctx = m;
	cell = hy_order(&order);
	if (!cell)
		hy_free(m);
	return cell;
}
