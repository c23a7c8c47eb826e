/* SPDX-License-Identifier: MIT */
#include "time/heap.h"

#include "base/alloc.h"
#include "time/timer.h"

#define CHILDREN 4

bool hy_heap_reserve(struct hy_heap *heap, size_t want)
{
	struct hy_heap_entry *entries = hy_reserve(
		heap->entries, &heap->capacity, want, sizeof(*entries));

	if (entries)
		heap->entries = entries;
	return entries;
}

void hy_heap_done(struct hy_heap *heap)
{
	hy_free(heap->entries);
	*heap = (struct hy_heap){.entries = NULL};
}

static bool before(const struct hy_heap_entry *a, const struct hy_heap_entry *b)
{
	if (a->due != b->due)
		return a->due < b->due;
	return a->timer->seq < b->timer->seq;
}

static void place(struct hy_heap *heap, size_t at, struct hy_heap_entry entry)
{
	heap->entries[at] = entry;
	entry.timer->at = at + 1;
}

static size_t sift_up(struct hy_heap *heap, size_t at,
		      struct hy_heap_entry entry)
{
	while (at) {
		size_t parent = (at - 1) / CHILDREN;

		if (!before(&entry, &heap->entries[parent]))
			break;
		place(heap, at, heap->entries[parent]);
		at = parent;
	}
	place(heap, at, entry);
	return at;
}

static void sift_down(struct hy_heap *heap, size_t at,
		      struct hy_heap_entry entry)
{
	for (;;) {
		size_t child = at * CHILDREN + 1, least = child;
		size_t end = child + CHILDREN;

		if (child >= heap->count)
			break;
		if (end > heap->count)
			end = heap->count;
		while (++child < end)
			if (before(&heap->entries[child],
				   &heap->entries[least]))
				least = child;
		if (!before(&heap->entries[least], &entry))
			break;
		place(heap, at, heap->entries[least]);
		at = least;
	}
	place(heap, at, entry);
}

static void settle(struct hy_heap *heap, size_t at, struct hy_heap_entry entry)
{
	if (sift_up(heap, at, entry) == at)
		sift_down(heap, at, entry);
}

void hy_heap_put(struct hy_heap *heap, struct hy_timer *t)
{
	size_t at = t->at ? t->at - 1 : heap->count++;

	settle(heap, at, (struct hy_heap_entry){t->due, t});
}

void hy_heap_remove(struct hy_heap *heap, struct hy_timer *t)
{
	size_t at = t->at - 1;
	struct hy_heap_entry last = heap->entries[--heap->count];

	t->at = 0;
	if (at < heap->count)
		settle(heap, at, last);
}
