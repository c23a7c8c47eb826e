/* SPDX-License-Identifier: MIT */
#include "base/region.h"

#include <pthread.h>
#include <string.h>

#include "base/compiler.h"

/* In front of the bytes that are handed out. */
struct hy_region_block {
	size_t bytes; /* this included */
	struct hy_region_block *next_free;
};
_Static_assert(sizeof(struct hy_region_block) == 16, "blocks keep alignment");

/*
 * Protects the list and all the regions on it.  The innermost lock: taken
 * with any other one held, for a few instructions.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hy_region *regions;

void hy_region_open(struct hy_region *region)
{
	pthread_mutex_lock(&lock);
	memset(region->free, 0, sizeof(region->free));
	region->spilled = 0;
	region->next = regions;
	store_release(&regions, region);
	pthread_mutex_unlock(&lock);
}

void hy_region_close(struct hy_region *region)
{
	struct hy_region **link = &regions;

	pthread_mutex_lock(&lock);
	while (*link != region)
		link = &(*link)->next;
	store_release(link, region->next);
	region->low = region->end;
	pthread_mutex_unlock(&lock);
}

struct hy_region *hy_region_of(const void *memory)
{
	struct hy_region *region;

	/* Whoever has a block of a region has seen it on the list. */
	if (likely(!load_relaxed(&regions)))
		return NULL;
	pthread_mutex_lock(&lock);
	region = regions;
	while (region && !hy_region_has(region, memory))
		region = region->next;
	pthread_mutex_unlock(&lock);
	return region;
}

void *hy_region_cut(struct hy_region *region, size_t size)
{
	char *piece = NULL;

	pthread_mutex_lock(&lock);
	if ((size_t)(region->low - region->top) >= size) {
		piece = region->top;
		region->top += size;
		if (region->top > region->dirty) {
			char *from =
				piece > region->dirty ? piece : region->dirty;

			memset(from, 0, (size_t)(region->top - from));
			region->dirty = region->top;
		}
	}
	pthread_mutex_unlock(&lock);
	return piece;
}

/* The least class that holds `size` bytes, and how many bytes it has. */
static unsigned int class_of(size_t size, size_t *ret_bytes)
{
	size_t units = (size + 15) / 16, last = units - 1;
	unsigned int shift;

	if (units <= 4) {
		*ret_bytes = units * 16;
		return (unsigned int)last;
	}
	shift = 61 - (unsigned int)__builtin_clzll(last);
	*ret_bytes = ((last >> shift) + 1) << shift << 4;
	return (shift + 1) * 4 + (unsigned int)((last >> shift) & 3);
}

static struct hy_region_block *take(struct hy_region *region, unsigned int at)
{
	struct hy_region_block *block = region->free[at];

	if (block)
		region->free[at] = block->next_free;
	return block;
}

void *hy_region_alloc(struct hy_region *region, size_t size)
{
	struct hy_region_block *block;
	unsigned int at;
	size_t bytes;

	if (size >= (size_t)1 << 37)
		return NULL;
	at = class_of(size + sizeof(*block), &bytes);
	pthread_mutex_lock(&lock);
	block = take(region, at);
	if (!block && (size_t)(region->low - region->top) >= bytes) {
		region->low -= bytes;
		if (region->low < region->dirty)
			region->dirty = region->low;
		block = (struct hy_region_block *)region->low;
		block->bytes = bytes;
	}
	/* Nothing is left but what is larger than it need be. */
	while (!block && ++at < HY_REGION_CLASSES)
		block = take(region, at);
	pthread_mutex_unlock(&lock);
	return block ? block + 1 : NULL;
}

void hy_region_free(struct hy_region *region, void *memory)
{
	struct hy_region_block *block = (struct hy_region_block *)memory - 1;
	size_t bytes;
	unsigned int at = class_of(block->bytes, &bytes);

	pthread_mutex_lock(&lock);
	block->next_free = region->free[at];
	region->free[at] = block;
	pthread_mutex_unlock(&lock);
}

size_t hy_region_room(const void *memory)
{
	const struct hy_region_block *block =
		(const struct hy_region_block *)memory - 1;

	return block->bytes - sizeof(*block);
}

size_t hy_region_left(struct hy_region *region)
{
	size_t left;

	pthread_mutex_lock(&lock);
	left = (size_t)(region->low - region->top);
	pthread_mutex_unlock(&lock);
	return left;
}
