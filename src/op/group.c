/* SPDX-License-Identifier: MIT */
/* group: many cells of any types, one subscription. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "op/many.h"
#include "op/one.h"

struct group {
	bool begun; /* what is brought is a change */
	uint32_t count;
	uint64_t changed[]; /* a set: in the last wave that was told */
};

/* What a subscriber would be told; that an error is over is no such thing. */
static bool changed(const struct hy_derived *d, uint32_t i)
{
	return hy_brought(d, i) & MARK_END || hy_brought_value(d, i) ||
	       hy_brought_error(d, i);
}

static int64_t count_changes(const struct hy_derived *d)
{
	int64_t count = 0;

	hy_each_news(d, i)
		count += changed(d, i);
	return count;
}

static void note_changes(struct hy_derived *d, struct group *s)
{
	for (size_t i = 0;
	     (i = hy_bits_next(s->changed, s->count, i)) < s->count;)
		hy_bits_remove(s->changed, s->count, i);
	hy_each_news(d, i)
		if (changed(d, i))
			hy_bits_add(s->changed, s->count, i);
}

static int run_group(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct group *s = d->ctx;
	int64_t count = s->begun ? count_changes(d) : 0;
	int r = HY_KEEP;

	(void)g;
	if (count) {
		note_changes(d, s);
		*(int64_t *)out = count;
		r = HY_VALUE;
	}
	s->begun = true;
	return hy_inputs_ended(d) ? r | HY_END : r;
}

static void reset_group(struct hy_graph *g, struct hy_derived *d)
{
	struct group *s = d->ctx;

	(void)g;
	s->begun = false;
}

static void free_group(struct hy_graph *g, struct hy_derived *d)
{
	(void)g;
	hy_free(d->ctx);
}

static const struct hy_op op_group = {
	.name = "group",
	.run = run_group,
	.free = free_group,
	.reset = reset_group,
	.flags = OP_SIGNALS | OP_EVENT,
};

struct hyphae_cell *hyphae_group_at(struct hyphae_cell *const *inputs,
				    size_t count, const char *site)
{
	struct hy_order order = {.op = &op_group,
				 .inputs = inputs,
				 .count = count,
				 .type = &hyphae_int64,
				 .site = site};
	struct hyphae_cell *cell;
	struct group *s;
	size_t words = hy_bits_words(count);

	if (hy_check_inputs(inputs, count, false))
		return NULL;
	s = hy_many_state(inputs, sizeof(*s) + words * sizeof(*s->changed));
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->count = (uint32_t)count;
	order.ctx = s;
	cell = hy_order(&order);
	if (!cell)
		hy_free(s);
	return cell;
}

/* ---- asking it ----------------------------------------------------------------- */

/* The first that changed from *index on: its place and 1, or 0. */
static int next_changed(const struct group *s, size_t *index)
{
	size_t next = hy_bits_next(s->changed, s->count, *index);

	if (next == s->count)
		return 0;
	*index = next;
	return 1;
}

/* The group's state, with the lock held; else NULL, and *ret is why. */
static const struct hy_derived *group_lock(const struct hyphae_cell *handle,
					   int *ret)
{
	struct hy_cell *c = hy_cell_lock(handle, ret);

	if (!c)
		return NULL;
	if (c->flags & F_DERIVED && hy_derived_of(c)->op == &op_group)
		return hy_derived_of(c);
	*ret = -EINVAL;
	hy_unlock(hy_graph_of(c));
	return NULL;
}

static void group_unlock(const struct hy_derived *d)
{
	hy_unlock(hy_graph_of(&d->cell));
}

int hyphae_group_next(const struct hyphae_cell *handle, size_t *index)
{
	int r;
	const struct hy_derived *d = group_lock(handle, &r);

	if (!d)
		return r;
	r = index ? next_changed(d->ctx, index) : -EINVAL;
	group_unlock(d);
	return r;
}

static int changed_bit(const struct group *s, size_t index)
{
	return s->changed[index / 64] >> (index % 64) & 1;
}

int hyphae_group_changed(const struct hyphae_cell *handle, size_t index)
{
	int r;
	const struct hy_derived *d = group_lock(handle, &r);

	if (!d)
		return r;
	r = index < d->fan_in->count ? changed_bit(d->ctx, index) : -EINVAL;
	group_unlock(d);
	return r;
}
