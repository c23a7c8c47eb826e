/* SPDX-License-Identifier: MIT */
/*
 * A heap of timers, earliest first: by time, and at the same time in the
 * order in which they were armed.  Four children a node, and the times beside
 * the pointers, so that sifting seldom looks at a timer itself.
 */
#ifndef HY_HEAP_H
#define HY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hy_timer;

struct hy_heap_entry {
	uint64_t due;
	struct hy_timer *timer;
};

struct hy_heap {
	struct hy_heap_entry *entries;
	size_t count, capacity;
};

/* Room for `want` timers; false without memory. */
bool hy_heap_reserve(struct hy_heap *heap, size_t want);
void hy_heap_done(struct hy_heap *heap);

/* Insert it, for which there is room, or move it to where it belongs now. */
void hy_heap_put(struct hy_heap *heap, struct hy_timer *t);
void hy_heap_remove(struct hy_heap *heap, struct hy_timer *t);

/* The earliest, or NULL. */
static inline struct hy_timer *hy_heap_first(const struct hy_heap *heap)
{
	return heap->count ? heap->entries[0].timer : NULL;
}

#endif
