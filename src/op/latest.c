/* SPDX-License-Identifier: MIT */
/* One input says when, another says what: with_latest_from, sample. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "op/many.h"

/* The first input that has failed for good, which it did just now; or -1. */
static int64_t failed_input(const struct hy_derived *d)
{
	hy_each_news(d, i)
		if (hy_input_failed(d, i))
			return i;
	return -1;
}

/* ---- with_latest_from ------------------------------------------------------ */

/* The input has brought a value: what to make of it. */
static int with_others(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct hy_fan_in *in = d->fan_in;

	if (!in->without)
		return hy_combine_with(g, d, out, d->values, in->count, d->ctx);
	for (uint32_t i = 0; i < in->count; i++)
		if (hy_holds_error(d, i)) {
			hy_pass_error(g, d, i);
			break;
		}
	return HY_KEEP;
}

static int run_with_latest(struct hy_graph *g, struct hy_derived *d, void *out)
{
	int64_t failed = failed_input(d);
	bool ended = hy_input_ended(d, 0);
	int r = HY_KEEP;

	if (failed >= 0) {
		hy_pass_error(g, d, (uint32_t)failed);
		return HY_KEEP;
	}
	if (hy_brought(d, 0) & MARK_VALUE &&
	    (hy_holds_value(d, 0) || hy_holds_error(d, 0)))
		r = with_others(g, d, out);
	return ended ? r | HY_END : r;
}

static const struct hy_op op_with_latest = {
	.name = "with_latest_from",
	.run = run_with_latest,
	.flags = OP_SIGNALS | OP_STREAM | OP_LEADS,
};

struct hyphae_cell *
hyphae_with_latest_from_at(struct hyphae_cell *input,
			   struct hyphae_cell *const *others, size_t count,
			   const struct hyphae_type *type, hyphae_combine_fn fn,
			   void *ctx, const char *site)
{
	struct hyphae_cell **inputs, *cell;

	if (!type || !fn || !others || !count || count >= HYPHAE_INPUTS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	if (!input)
		return NULL;
	inputs = hy_alloc((count + 1) * sizeof(struct hyphae_cell *));
	if (!inputs) {
		errno = ENOMEM;
		return NULL;
	}
	inputs[0] = input;
	memcpy(inputs + 1, others, count * sizeof(struct hyphae_cell *));
	cell = hy_derive(&op_with_latest, inputs, count + 1, type,
			 (void (*)(void))fn, ctx, site);
	hy_free(inputs);
	return cell;
}

/* ---- sample ----------------------------------------------------------------- */

enum { SAMPLED, NOTIFIER };

struct sample {
	bool fresh; /* the input has something that was not told */
	bool begun; /* what the notifier brings is a tick */
};

static int tell(struct hy_graph *g, struct hy_derived *d, void *out)
{
	if (hy_holds_error(d, SAMPLED)) {
		hy_pass_error(g, d, SAMPLED);
		return HY_KEEP;
	}
	*(uint64_t *)out = hy_input_word(d, SAMPLED);
	return HY_VALUE;
}

/* The notifier has brought something, after it was first looked at. */
static int ticked(struct hy_graph *g, struct hy_derived *d, struct sample *s,
		  void *out)
{
	if (hy_holds_error(d, NOTIFIER)) {
		hy_pass_error(g, d, NOTIFIER);
		return HY_KEEP;
	}
	if (!s->fresh || !hy_holds_value(d, NOTIFIER))
		return HY_KEEP;
	s->fresh = false;
	return tell(g, d, out);
}

static int run_sample(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct sample *s = d->ctx;
	int64_t failed = failed_input(d);
	bool tick = s->begun && hy_brought(d, NOTIFIER) & MARK_VALUE;
	int r = HY_KEEP;

	if (failed >= 0) {
		hy_pass_error(g, d, (uint32_t)failed);
		return HY_KEEP;
	}
	s->begun = true;
	if (hy_brought(d, SAMPLED) & MARK_VALUE) /* or the input's error went */
		s->fresh = hy_holds_value(d, SAMPLED) ||
			   hy_holds_error(d, SAMPLED);
	if (tick)
		r = ticked(g, d, s, out);
	if (hy_input_ended(d, NOTIFIER) ||
	    (hy_input_ended(d, SAMPLED) && !s->fresh))
		r |= HY_END;
	return r;
}

static void reset_sample(struct hy_graph *g, struct hy_derived *d)
{
	(void)g;
	*(struct sample *)d->ctx = (struct sample){false, false};
}

static void free_sample(struct hy_graph *g, struct hy_derived *d)
{
	(void)g;
	hy_free(d->ctx);
}

static const struct hy_op op_sample = {
	.name = "sample",
	.run = run_sample,
	.free = free_sample,
	.reset = reset_sample,
	.flags = OP_SIGNALS | OP_STREAM | OP_LEADS | OP_SHARES,
};

struct hyphae_cell *hyphae_sample_at(struct hyphae_cell *input,
				     struct hyphae_cell *notifier,
				     const char *site)
{
	struct hyphae_cell *inputs[] = {input, notifier}, *cell;
	struct hy_order order = {
		.op = &op_sample, .inputs = inputs, .count = 2, .site = site};

	if (hy_check_inputs(inputs, 2, false))
		return NULL;
	order.ctx = hy_many_state(inputs, sizeof(struct sample));
	if (!order.ctx) {
		errno = ENOMEM;
		return NULL;
	}
	cell = hy_order(&order);
	if (!cell)
		hy_free(order.ctx);
	return cell;
}
