/* SPDX-License-Identifier: MIT */
/*
 * The wave queue: derived cells that an input has touched, lowest height
 * first, in order of arrival at one height.
 *
 * A bucket for each height, and above them a tree of bit words to find the
 * lowest bucket in use in a few steps, whatever the heights.
 *
 *	height     0   1   2   3   4   5   6   7   8
 *	buckets    .   .   x   x   .   x   .   .   x      x: cells wait
 *	bits                           1   1       1
 *	                   |   '- the next one is looked at without its bit
 *	                   '- lowest, which is taken from
 *
 * Mostly a wave goes up by one: then no bit is set, cleared or looked for.  A
 * bit is set when a cell comes to a bucket further up; it stays when that has
 * become empty, until a search comes across it.
 */
#ifndef HY_QUEUE_H
#define HY_QUEUE_H

#include "core/types.h"

/* Room for cells up to `height`; false without memory. */
bool hy_queue_reserve(struct hy_region *from, struct hy_queue *queue,
		      size_t height);
void hy_queue_done(struct hy_queue *queue);

/*
 * In a graph of so many cells, when so many have been told since the queue was
 * empty, have what the next ones need on its way from memory when one is about
 * to be computed.  For graphs that no cache holds: others become slower by it.
 */
#define HY_QUEUE_LARGE_CELLS 4096
#define HY_QUEUE_LARGE_TOLD 16

/* What is special about the wave; until the queue is empty. */
enum {
	QUEUE_RAISED = 1, /* cells may lie in buckets of old heights */
	QUEUE_LARGE = 2,  /* look ahead */
};

/*
 * It is the first of its bucket, and that is not near: a bit may have to be
 * set.  hy_queue_push_far() marks it as queued, too.
 */
void hy_queue_open(struct hy_queue *queue, struct hy_derived *d);
void hy_queue_push_far(struct hy_queue *queue, struct hy_derived *d,
		       uint32_t why);
/*
 * Cells of one height, chained from `first` to `last` and marked as queued,
 * behind the others of it.
 */
void hy_queue_append_row(struct hy_queue *queue, struct hy_derived *first,
			 struct hy_derived *last, size_t count);
/* The first of the lowest bucket, which has to be looked for; there is one. */
struct hy_derived *hy_queue_take(struct hy_queue *queue);
/* The same when something is special. */
struct hy_derived *hy_queue_take_special(struct hy_queue *queue);
/* The height of the next to take; there is one. */
size_t hy_queue_lowest(struct hy_queue *queue);

static inline bool hy_queue_used(const struct hy_queue *queue)
{
	return queue->count;
}

/* The height of a cell that waits has grown. */
static inline void hy_queue_raised(struct hy_queue *queue)
{
	queue->special |= QUEUE_RAISED;
}

/* The lowest bucket or the next, which have no bit. */
static inline bool hy_queue_is_near(const struct hy_queue *queue,
				    const struct hy_bucket *bucket)
{
	return (uintptr_t)bucket - (uintptr_t)queue->lowest <= sizeof(*bucket);
}

/* In a large graph: so many are told. */
static inline void hy_queue_told(struct hy_queue *queue, size_t count)
{
	queue->told += (uint32_t)count;
	if (queue->told > HY_QUEUE_LARGE_TOLD)
		queue->special |= QUEUE_LARGE;
}

/* Nothing else waits. */
static inline void hy_queue_begin(struct hy_queue *queue,
				  struct hy_bucket *bucket, uint32_t height)
{
	queue->lowest = bucket;
	queue->lowest_at = height;
	queue->special = 0;
	queue->told = 0;
}

/*
 * Behind the others of its height.  False, and nothing is done, if there are
 * none, but elsewhere, and the bucket is neither the lowest nor the next.
 */
static inline bool hy_queue_append(struct hy_queue *queue, struct hy_derived *d)
{
	struct hy_bucket *bucket = &queue->buckets[d->cell.height];

	if (likely(bucket->first)) {
		bucket->last->next_queued = d;
		bucket->last = d;
		return true;
	}
	if (!queue->count)
		hy_queue_begin(queue, bucket, d->cell.height);
	else if (!hy_queue_is_near(queue, bucket))
		return false;
	queue->count++;
	bucket->first = bucket->last = d;
	return true;
}

/* As hy_queue_push(), without a call; false: hy_queue_push_far() does it. */
static inline bool hy_queue_push_near(struct hy_queue *queue,
				      struct hy_derived *d, uint32_t why)
{
	uint32_t flags = d->cell.flags;

	if (unlikely(flags & F_QUEUED)) {
		if (unlikely((flags & why) != why))
			store_relaxed(&d->cell.flags, flags | why);
		return true;
	}
	if (unlikely(!hy_queue_append(queue, d)))
		return false;
	store_relaxed(&d->cell.flags, flags | F_QUEUED | why);
	return true;
}

/*
 * `why`: F_VALUE_TOUCH, or 0 when an input only ended.  Who takes a cell out
 * clears F_QUEUED and F_VALUE_TOUCH (hy_compute() does).
 */
static inline void hy_queue_push(struct hy_queue *queue, struct hy_derived *d,
				 uint32_t why)
{
	if (unlikely(!hy_queue_push_near(queue, d, why)))
		hy_queue_push_far(queue, d, why);
}

/* The first of the bucket; there is one. */
static inline struct hy_derived *hy_queue_shift(struct hy_queue *queue,
						struct hy_bucket *bucket)
{
	struct hy_derived *d = bucket->first;

	if (likely(d != bucket->last)) {
		bucket->first = d->next_queued;
	} else {
		bucket->first = NULL;
		queue->count--;
	}
	return d;
}

static inline struct hy_derived *hy_queue_pop(struct hy_queue *queue)
{
	if (!queue->count)
		return NULL;
	if (unlikely(queue->special))
		return hy_queue_take_special(queue);
	if (unlikely(!queue->lowest->first))
		return hy_queue_take(queue);
	return hy_queue_shift(queue, queue->lowest);
}

#endif
