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
	buckets = hy_grow_in(from, q->buckets, heights * sizeof(*buckets));
	if (!buckets)
		return false;
	memset(buckets + q->heights, 0,
	       (heights - q->heights) * sizeof(*buckets));
	q->buckets = buckets;
	q->heights = heights;
	if (q->lowest)
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

/* The lowest is empty, or no longer the lowest. */
static void leave_lowest(struct hy_queue *q)
{
	if (q->lowest && !q->lowest->first)
		unmark(q, q->lowest_at);
	q->lowest = NULL;
}

static void put(struct hy_queue *q, struct hy_derived *d)
{
	size_t at = d->cell.height;
	struct hy_bucket *bucket = &q->buckets[at];

	d->next_queued = NULL;
	q->count++;
	if (bucket->first) {
		bucket->last->next_queued = d;
		bucket->last = d;
		return;
	}
	bucket->first = bucket->last = d;
	mark(q, at);
	/* A cell that was made in this wave may lie below. */
	if (unlikely(at < q->lowest_at))
		leave_lowest(q);
}

void hy_queue_add(struct hy_queue *q, struct hy_derived *d)
{
	if (q->hot) {
		put(q, q->hot);
		q->hot = NULL;
	}
	put(q, d);
}

static size_t lowest(const struct hy_queue *q)
{
	size_t at = 0;

	for (int i = q->levels - 1; i >= 0; i--)
		at = at * 64 + (size_t)__builtin_ctzll(q->level[i][at]);
	return at;
}

static struct hy_derived *take_first(struct hy_queue *q)
{
	struct hy_derived *d = q->lowest->first;

	q->lowest->first = d->next_queued;
	q->count--;
	return d;
}

/*
 * Have `lowest` begin with the next to take.  A cell whose height has grown
 * while it waited (link.c) lies in the bucket of its old height, and is put
 * where it belongs when it is come across.
 */
static void find_lowest(struct hy_queue *q)
{
	for (;;) {
		if (!q->lowest || !q->lowest->first) {
			leave_lowest(q);
			q->lowest_at = lowest(q);
			q->lowest = &q->buckets[q->lowest_at];
		}
		if (likely(q->lowest->first->cell.height == q->lowest_at))
			return;
		put(q, take_first(q));
	}
}

size_t hy_queue_lowest(struct hy_queue *q)
{
	if (q->hot)
		return q->hot->cell.height;
	find_lowest(q);
	return q->lowest_at;
}

struct hy_derived *hy_queue_take(struct hy_queue *q)
{
	find_lowest(q);
	return take_first(q);
}
