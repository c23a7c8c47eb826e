/* SPDX-License-Identifier: MIT */
/* zip: pairs by position, with a bounded queue for each input. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "op/many.h"

/* A ring with room for one more than may stay there when a wave is over. */
struct lane {
	const struct hyphae_type *type;
	uint64_t *words;
	uint32_t first, count;
};

struct zip {
	void *ctx; /* the user's */
	uint32_t count, capacity;
	uint32_t empty; /* of the lanes */
	bool popped;	/* the lanes are to be looked at */
	enum hyphae_overflow policy;
	uint64_t dropped;
	uint64_t *pair; /* what is being paired, and */
	const void **values;
	struct lane lanes[];
};

static uint64_t *place(const struct zip *z, struct lane *lane, uint32_t at)
{
	return &lane->words[(lane->first + at) % (z->capacity + 1)];
}

static uint64_t pop(struct zip *z, struct lane *lane)
{
	uint64_t word = *place(z, lane, 0);

	lane->first = (lane->first + 1) % (z->capacity + 1);
	z->empty += !--lane->count;
	return word;
}

/* Out of the ring before the drop function runs, without the lock. */
static void give_up(struct hy_graph *g, struct zip *z, struct lane *lane,
		    uint64_t word)
{
	z->dropped++;
	hy_word_put(g, lane->type, word);
}

static void clear(struct hy_graph *g, struct zip *z)
{
	for (uint32_t i = 0; i < z->count; i++)
		while (z->lanes[i].count)
			give_up(g, z, &z->lanes[i], pop(z, &z->lanes[i]));
}

/* One waits more than may: true if one is given up, false if that is the end. */
static bool shorten(struct hy_graph *g, struct hy_derived *d, struct zip *z,
		    uint32_t i)
{
	struct lane *lane = &z->lanes[i];
	char text[96];

	if (z->policy == HYPHAE_OVERFLOW_FAIL) {
		snprintf(text, sizeof(text),
			 "Input %u is more than %u values ahead of another.", i,
			 z->capacity);
		hy_set_error(g, &d->cell, hy_error_new(-EOVERFLOW, text), true);
		return false;
	}
	if (z->policy == HYPHAE_OVERFLOW_DROP_OLDEST)
		give_up(g, z, lane, pop(z, lane));
	else
		give_up(g, z, lane, *place(z, lane, --lane->count));
	return true;
}

static bool push(struct hy_graph *g, struct hy_derived *d, struct zip *z,
		 uint32_t i)
{
	struct lane *lane = &z->lanes[i];

	if (lane->count > z->capacity && !shorten(g, d, z, i))
		return false;
	*place(z, lane, lane->count) =
		hy_word_ref(lane->type, hy_input_word(d, i));
	z->empty -= !lane->count++;
	return true;
}

/*
 * What the inputs have brought.  False: it is over.  The first that stands at
 * an error from now on is *ret_bad.
 */
static bool hear(struct hy_graph *g, struct hy_derived *d, struct zip *z,
		 int64_t *ret_bad)
{
	*ret_bad = -1;
	hy_each_news(d, i)
		if (hy_input_failed(d, i)) {
			hy_pass_error(g, d, i);
			return false;
		}
	hy_each_news(d, i) {
		if (!(hy_brought(d, i) & MARK_VALUE))
			continue;
		if (hy_holds_error(d, i))
			*ret_bad = *ret_bad < 0 ? i : *ret_bad;
		else if (hy_holds_value(d, i) && !push(g, d, z, i))
			return false;
	}
	return true;
}

static bool paired(const struct zip *z)
{
	return !z->empty;
}

static int pair(struct hy_graph *g, struct hy_derived *d, struct zip *z,
		void *out)
{
	int r;

	z->popped = true;
	for (uint32_t i = 0; i < z->count; i++) {
		z->pair[i] = pop(z, &z->lanes[i]);
		z->values[i] = hy_word_value(z->lanes[i].type, &z->pair[i]);
	}
	r = hy_combine_with(g, d, out, z->values, z->count, z->ctx);
	for (uint32_t i = 0; i < z->count; i++)
		hy_word_put(g, z->lanes[i].type, z->pair[i]);
	return r;
}

/* Nothing waits of an input, and it will not say more: no pair can come. */
static bool dried_up(const struct hy_derived *d, const struct zip *z)
{
	if (!z->popped) {
		hy_each_news(d, i)
			if (!z->lanes[i].count && hy_input_ended(d, i))
				return true;
		return false;
	}
	for (uint32_t i = 0; i < z->count; i++)
		if (!z->lanes[i].count && hy_input_ended(d, i))
			return true;
	return false;
}

/* When no input is too far ahead: whether another pair can come. */
static bool goes_on(struct hy_graph *g, struct hy_derived *d, struct zip *z)
{
	bool over;

	/* Ahead is who has just spoken. */
	hy_each_news(d, i)
		if (z->lanes[i].count > z->capacity && !shorten(g, d, z, i))
			return false;
	over = dried_up(d, z);
	z->popped = false;
	return !over;
}

static int run_zip(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct zip *z = d->ctx;
	int r = HY_KEEP;
	int64_t bad;

	if (!hear(g, d, z, &bad)) {
		clear(g, z);
		return HY_KEEP;
	}
	if (bad >= 0)
		hy_pass_error(g, d, (uint32_t)bad);
	else if (paired(z))
		r = pair(g, d, z, out);
	if (paired(z))
		return r | HY_MORE;
	if (goes_on(g, d, z))
		return r;
	clear(g, z);
	return r | HY_END;
}

static void reset_zip(struct hy_graph *g, struct hy_derived *d)
{
	clear(g, d->ctx);
}

static void free_zip(struct hy_graph *g, struct hy_derived *d)
{
	clear(g, d->ctx);
	hy_free(d->ctx);
}

static void zip_backlog(const struct hy_derived *d,
			struct hyphae_backlog *ret_backlog)
{
	const struct zip *z = d->ctx;

	*ret_backlog = (struct hyphae_backlog){.capacity = z->capacity,
					       .dropped = z->dropped};
	for (uint32_t i = 0; i < z->count; i++)
		ret_backlog->queued += z->lanes[i].count;
}

static const struct hy_op op_zip = {
	.name = "zip",
	.run = run_zip,
	.free = free_zip,
	.reset = reset_zip,
	.flags = OP_SIGNALS | OP_STREAM,
	.backlog = zip_backlog,
};

/* One block: lanes, the words of the lanes, the pair, the values. */
static struct zip *zip_new(struct hyphae_cell *const *inputs, size_t count,
			   size_t capacity)
{
	size_t words = count * (capacity + 2), bytes;
	struct zip *z;
	uint64_t *at;

	bytes = sizeof(*z) + count * (sizeof(struct lane) + sizeof(void *));
	z = hy_many_state(inputs, bytes + words * sizeof(uint64_t));
	if (!z)
		return NULL;
	z->count = z->empty = (uint32_t)count;
	z->capacity = (uint32_t)capacity;
	at = (uint64_t *)(z->lanes + count);
	for (size_t i = 0; i < count; i++, at += capacity + 1) {
		z->lanes[i].type =
			load_relaxed(&hy_cell_place(inputs[i])->type);
		z->lanes[i].words = at;
	}
	z->pair = at;
	z->values = (const void **)(at + count);
	return z;
}

static bool queue_possible(size_t capacity, enum hyphae_overflow policy)
{
	return capacity && capacity <= HYPHAE_CAPACITY_MAX &&
	       (policy == HYPHAE_OVERFLOW_DROP_OLDEST ||
		policy == HYPHAE_OVERFLOW_DROP_NEWEST ||
		policy == HYPHAE_OVERFLOW_FAIL);
}

struct hyphae_cell *hyphae_zip_at(struct hyphae_cell *const *inputs,
				  size_t count, const struct hyphae_type *type,
				  hyphae_combine_fn fn, void *ctx,
				  size_t capacity, enum hyphae_overflow policy,
				  const char *site)
{
	struct hyphae_cell *cell;
	struct zip *z;

	if (policy == HYPHAE_OVERFLOW_LATEST) {
		policy = HYPHAE_OVERFLOW_DROP_OLDEST;
		capacity = 1;
	}
	if (!type || !fn || !queue_possible(capacity, policy)) {
		errno = EINVAL;
		return NULL;
	}
	if (hy_check_inputs(inputs, count, false))
		return NULL;
	z = zip_new(inputs, count, capacity);
	if (!z) {
		errno = ENOMEM;
		return NULL;
	}
	z->ctx = ctx;
	z->policy = policy;
	cell = hy_derive(&op_zip, inputs, count, type, (void (*)(void))fn, z,
			 site);
	if (!cell)
		hy_free(z);
	return cell;
}
