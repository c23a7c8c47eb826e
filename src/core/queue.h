/* SPDX-License-Identifier: MIT */
/*
 * The wave queue: derived cells that an input has touched, lowest height
 * first, in order of arrival at one height.
 *
 * A bucket for each height, and above them a tree of bit words to find the
 * lowest bucket in use in a few steps, whatever the heights.  While there is
 * only one entry (a chain) it stays in `hot` and no bucket is touched.
 */
#ifndef HY_QUEUE_H
#define HY_QUEUE_H

#include "core/types.h"

/* Room for cells up to `height`; false without memory. */
bool hy_queue_reserve(struct hy_region *from, struct hy_queue *queue,
		      size_t height);
void hy_queue_done(struct hy_queue *queue);

/* Put into a bucket, and the one that was alone as well. */
void hy_queue_add(struct hy_queue *queue, struct hy_derived *d);
/* The first of the lowest bucket, which has to be looked for. */
struct hy_derived *hy_queue_take(struct hy_queue *queue);
/* The height of the next to take; there is one. */
size_t hy_queue_lowest(struct hy_queue *queue);

static inline bool hy_queue_used(const struct hy_queue *queue)
{
	return queue->hot || queue->count;
}

/*
 * `why`: F_VALUE_TOUCH, or 0 when an input only ended.  Who takes a cell out
 * clears F_QUEUED and F_VALUE_TOUCH (hy_compute() does).
 */
static inline void hy_queue_push(struct hy_queue *queue, struct hy_derived *d,
				 uint32_t why)
{
	uint32_t flags = d->cell.flags;

	hy_flags_set(&d->cell, F_QUEUED | why, 0);
	if (flags & F_QUEUED)
		return;
	if (likely(!queue->hot && !queue->count))
		queue->hot = d;
	else
		hy_queue_add(queue, d);
}

static inline struct hy_derived *hy_queue_pop(struct hy_queue *queue)
{
	struct hy_derived *d = queue->hot;

	if (d) {
		queue->hot = NULL;
	} else if (queue->count) {
		if (!queue->lowest || !queue->lowest->first)
			return hy_queue_take(queue);
		d = queue->lowest->first;
		/* Has it been raised meanwhile? */
		if (unlikely(d->cell.height != queue->lowest_at))
			return hy_queue_take(queue);
		queue->lowest->first = d->next_queued;
		queue->count--;
	}
	return d;
}

#endif
