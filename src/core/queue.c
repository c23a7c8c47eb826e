/* SPDX-License-Identifier: MIT */
#include "core/queue.h"

#include <string.h>

#include "base/alloc.h"

static size_t words(size_t bits)
{
	return (bits + 63) / 64;
}

static bool grow_level(struct hy_region *from, uint64_t **level,
		       size_t old_bits, size_t bits)
{
	size_t had = *level ? words(old_bits) : 0, want = words(bits);
	uint64_t *grown;

	if (want <= had)
		return true;
	grown = hy_grow_in(from, *level, want * sizeof(**level));
	if (!grown)
		return false;
	memset(grown + had, 0, (want - had) * sizeof(*grown));
	*level = grown;
	return true;
}

/* More levels for more heights; the queue may be in use. */
static void add_levels(struct hy_queue *q)
{
	size_t bits = q->heights;
	int levels = 1;

	for (; bits > 64; bits = words(bits))
		levels++;
	if (!q->levels)
		q->levels = 1;
	for (; q->levels < levels; q->levels++)
		if (q->level[q->levels - 1][0])
			q->level[q->levels][0] |= 1;
}

bool hy_queue_reserve(struct hy_region *from, struct hy_queue *q, size_t height)
{
	size_t heights = q->heights ? q->heights : 64;
	size_t bits, old_bits;
	struct hy_bucket *buckets;

	if (height < q->heights)
		return true;
	while (heights <= height)
		heights *= 2;
	/* Levels first: if a later step fails, larger levels do no harm. */
	bits = heights;
	old_bits = q->heights;
	for (int i = 0; i < HY_QUEUE_LEVELS; i++) {
		if (!grow_level(from, &q->level[i], old_bits, bits))
			return false;
		bits = words(bits);
		old_bits = words(old_bits);
	}
	/* And one that stays empty, above the last. */
	buckets =
		hy_grow_in(from, q->buckets, (heights + 1) * sizeof(*buckets));
	if (!buckets)
		return false;
	memset(buckets + q->heights, 0,
	       (heights + 1 - q->heights) * sizeof(*buckets));
	q->buckets = buckets;
	q->heights = heights;
	q->lowest = &buckets[q->lowest_at];
	add_levels(q);
	return true;
}

void hy_queue_done(struct hy_queue *q)
{
	hy_free(q->buckets);
	for (int i = 0; i < HY_QUEUE_LEVELS; i++)
		hy_free(q->level[i]);
}

static void mark(struct hy_queue *q, size_t at)
{
	for (int i = 0; i < q->levels; i++) {
		uint64_t *word = &q->level[i][at / 64];
		bool was_empty = *word == 0;

		*word |= (uint64_t)1 << (at % 64);
		if (!was_empty)
			break;
		at /= 64;
	}
}

static void unmark(struct hy_queue *q, size_t at)
{
	for (int i = 0; i < q->levels; i++) {
		uint64_t *word = &q->level[i][at / 64];

		*word &= ~((uint64_t)1 << (at % 64));
		if (*word)
			break;
		at /= 64;
	}
}

void hy_queue_open(struct hy_queue *q, struct hy_derived *d)
{
	size_t at = d->cell.height;

	q->buckets[at] = (struct hy_bucket){d, d};
	q->count++;
	if (at > q->lowest_at) {
		mark(q, at);
		return;
	}
	/* Below: a cell that was made in this wave. */
	mark(q, q->lowest_at);
	if (q->lowest[1].first)
		mark(q, q->lowest_at + 1);
	q->lowest = &q->buckets[at];
	q->lowest_at = at;
}

void hy_queue_push_far(struct hy_queue *q, struct hy_derived *d, uint32_t why)
{
	hy_flags_set(&d->cell, F_QUEUED | why, 0);
	hy_queue_open(q, d);
}

static size_t lowest_marked(const struct hy_queue *q)
{
	size_t at = 0;

	for (int i = q->levels - 1; i >= 0; i--)
		at = at * 64 + (size_t)__builtin_ctzll(q->level[i][at]);
	return at;
}

/* The lowest is empty, and another is not. */
static void next_bucket(struct hy_queue *q)
{
	size_t at = q->lowest_at + 1;

	if (!q->lowest[1].first)
		while (!q->buckets[at = lowest_marked(q)].first)
			unmark(q, at);
	q->lowest = &q->buckets[at];
	q->lowest_at = at;
}

static void requeue(struct hy_queue *q, struct hy_derived *d)
{
	if (!hy_queue_append(q, d))
		hy_queue_open(q, d);
}

void hy_queue_append_row(struct hy_queue *q, struct hy_derived *first,
			 struct hy_derived *last, size_t count)
{
	requeue(q, first);
	q->buckets[first->cell.height].last = last;
	if (unlikely(q->large))
		hy_queue_told(q, count);
}

/*
 * Have `lowest` begin with the next to take.  A cell whose height has grown
 * while it waited (link.c) lies in the bucket of its old height, and is put
 * where it belongs when it is come across.
 */
static ALWAYS_INLINE void find_lowest(struct hy_queue *q)
{
	for (;;) {
		if (!q->lowest->first)
			next_bucket(q);
		if (likely(q->lowest->first->cell.height == q->lowest_at))
			return;
		requeue(q, hy_queue_shift(q, q->lowest));
	}
}

size_t hy_queue_lowest(struct hy_queue *q)
{
	find_lowest(q);
	return q->lowest_at;
}

static NOINLINE struct hy_derived *take_lowest(struct hy_queue *q)
{
	find_lowest(q);
	return hy_queue_shift(q, q->lowest);
}

struct hy_derived *hy_queue_take(struct hy_queue *q)
{
	/* Mostly the wave goes up by one. */
	if (unlikely(!q->lowest[1].first))
		return take_lowest(q);
	q->lowest++;
	q->lowest_at++;
	return hy_queue_shift(q, q->lowest);
}

/* Something to look at in any case: to fetch NULL is nothing. */
static inline const struct hy_edge *some(const struct hy_edge *e)
{
	static const struct hy_edge none;
	const struct hy_edge *nothing = &none;

	/* Not known here, or it would be a branch that is often wrong. */
	__asm__("" : "+r"(nothing));
	return e ? e : nothing;
}

static inline void fetch_behind(const struct hy_edge *e)
{
	__builtin_prefetch(e->next);
	__builtin_prefetch(e->owner); /* its cell, of one line; or its error */
}

/*
 * A turn for each step from edge to edge: of the third next one the first
 * edge, of the second next what that leads to, and its inputs; of the next one
 * what the second edge leads to.  Inline: gcc leaves out a call of a function
 * that does nothing but to fetch ahead.
 */
static ALWAYS_INLINE void look_ahead(const struct hy_derived *next,
				     const struct hy_derived *last)
{
	fetch_behind(some(some(next->cell.deps)->next));
	if (next == last)
		return;
	next = next->next_queued;
	fetch_behind(some(next->cell.deps));
	__builtin_prefetch(next->fan_in); /* or of one input something else */
	if (next == last)
		return;
	next = next->next_queued;
	__builtin_prefetch(next->cell.deps);
}

struct hy_derived *hy_queue_take_special(struct hy_queue *q)
{
	struct hy_derived *d;

	find_lowest(q);
	d = hy_queue_shift(q, q->lowest);
	if (q->special & QUEUE_LARGE && q->lowest->first)
		look_ahead(q->lowest->first, q->lowest->last);
	return d;
}
