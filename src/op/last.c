/* SPDX-License-Identifier: MIT */
/* The last value of an input, when it completes: last, last_or. */
#include "hyphae/limits.h"

#include "op/one.h"

struct last {
	const struct hyphae_type *type;
	uint64_t word, otherwise;
	bool has, has_otherwise;
};

/* Put away what was kept; a drop function may run. */
static void forget(struct hy_graph *g, struct last *last)
{
	bool had = last->has;

	last->has = false;
	if (had)
		hy_word_put(g, last->type, last->word);
}

static void reset(struct hy_graph *g, struct hy_derived *d)
{
	forget(g, d->ctx);
}

static void free_last(struct hy_graph *g, struct hy_derived *d)
{
	struct last *last = d->ctx;

	forget(g, last);
	if (last->has_otherwise)
		hy_word_put(g, last->type, last->otherwise);
	hy_free(last);
}

static void keep(struct hy_graph *g, struct hy_derived *d)
{
	struct last *last = d->ctx;
	uint64_t word = hy_word_ref(last->type, hy_input_word(d, 0));

	forget(g, last);
	last->word = word;
	last->has = true;
}

static int run_last(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct last *last = d->ctx;

	if (hy_brought_value(d, 0))
		keep(g, d);
	if (hy_holds_error(d, 0)) {
		hy_pass_error(g, d, 0);
		return hy_with_end(g, d, HY_KEEP);
	}
	if (!hy_input_ended(d, 0))
		return hy_brought(d, 0) & MARK_VALUE ? hy_nothing(d) : HY_KEEP;
	if (!last->has && !last->has_otherwise)
		return hy_nothing(d) | HY_END;
	*(uint64_t *)out = last->has ? last->word : last->otherwise;
	return HY_VALUE | HY_END;
}

static const struct hy_op op_last = {.name = "last",
				     .run = run_last,
				     .free = free_last,
				     .reset = reset,
				     .flags = OP_SIGNALS | OP_SHARES};
static const struct hy_op op_last_or = {.name = "last_or",
					.run = run_last,
					.free = free_last,
					.reset = reset,
					.flags = OP_SIGNALS | OP_SHARES};

static struct last *last_new(const struct hy_order *order)
{
	const struct hy_cell *input = hy_cell(order->inputs[0]);
	struct last *last = hy_one_state(order, sizeof(*last));

	if (last && input)
		last->type = load_relaxed(&input->type);
	return last;
}

struct hyphae_cell *hyphae_last_at(struct hyphae_cell *input, const char *site)
{
	struct hy_order order;

	if (!hy_one_begin(&order, &op_last, &input, site))
		return NULL;
	order.ctx = last_new(&order);
	return hy_one(&order, 0);
}

struct hyphae_cell *hyphae_last_or_at(struct hyphae_cell *input,
				      const struct hyphae_type *type,
				      const void *otherwise, const char *site)
{
	struct hy_order order;
	struct last *last;
	int error;

	if (!hy_one_begin(&order, &op_last_or, &input, site))
		return NULL;
	order.ctx = last = last_new(&order);
	error = hy_one_own_type(&order, type, otherwise);
	if (last && !error) {
		error = hy_word_make(order.graph, type, otherwise, NULL,
				     &last->otherwise);
		last->has_otherwise = !error;
	}
	return hy_one(&order, error);
}
