/* SPDX-License-Identifier: MIT */
/*
 * Memory that the caller gave, instead of the process's.
 *
 * Big aligned pieces are cut from its front and never come back; blocks of
 * any size are taken from its end, and are used again.
 *
 *	start           top            low                      end
 *	| piece | piece |     unused   | block | block | ...    |
 *
 * A region that is registered is found by the address of its blocks, so
 * hy_free() needs not be told where a block came from.
 */
#ifndef HY_REGION_H
#define HY_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes of blocks: four for each doubling from 64 bytes to 128 GiB. */
#define HY_REGION_CLASSES 128

struct hy_region_block;

struct hy_region {
	struct hy_region *next; /* of those that are registered */
	char *start, *end;
	char *top;	/* of the pieces */
	char *low;	/* of the blocks */
	char *dirty;	/* from here on it was once used for blocks */
	bool spill;	/* what does not fit comes from the process */
	size_t spilled; /* times that it did */
	struct hy_region_block *free[HY_REGION_CLASSES];
};

/* Let it be found; `start` to `low` are set, the rest may be of earlier use. */
void hy_region_open(struct hy_region *region);

/* All its blocks are gone; its pieces stay. */
void hy_region_close(struct hy_region *region);

/* A zeroed piece that begins where the last one ended, or NULL. */
void *hy_region_cut(struct hy_region *region, size_t size);

/* Blocks, aligned to 16; NULL when it is used up. */
void *hy_region_alloc(struct hy_region *region, size_t size);
void hy_region_free(struct hy_region *region, void *memory);

/* What a block has room for. */
size_t hy_region_room(const void *memory);

/* The region that this address lies in, or NULL. */
struct hy_region *hy_region_of(const void *memory);

/* Bytes that have never been used since it was opened. */
size_t hy_region_left(struct hy_region *region);

static inline bool hy_region_has(const struct hy_region *region,
				 const void *memory)
{
	return region && (const char *)memory >= region->start &&
	       (const char *)memory < region->end;
}

#endif
