/* SPDX-License-Identifier: MIT */
/*
 * Slots are the library's own, so AddressSanitizer sees no end of what lies in
 * them.  In a build with it, it is told: of a free slot nothing may be touched
 * but what is read there by design.  That is the id, to find that a handle is
 * stale, and the link to the next free slot; and of a cell the type, the value
 * and the flags, which readers without the lock may be looking at while another
 * thread releases it.  In other builds this is nothing.
 */
#ifndef HY_POISON_H
#define HY_POISON_H

#include <stddef.h>

#include "core/types.h"

#ifdef HY_ASAN
#include <sanitizer/asan_interface.h>

#define HY_LINK_BYTES (2 * sizeof(uint64_t)) /* id, next free slot */

/* Of the chunk that the slot lies in. */
static inline void hy_slot_poison(void *slot, enum hy_chunk_kind kind)
{
	char *at = slot;
	size_t bytes = hy_chunk_of(slot)->slot_bytes;

	if (kind == HY_CHUNK_SOURCE || kind == HY_CHUNK_DERIVED) {
		ASAN_POISON_MEMORY_REGION(
			at + offsetof(struct hy_cell, deps),
			offsetof(struct hy_cell, height) -
				offsetof(struct hy_cell, deps));
		ASAN_POISON_MEMORY_REGION(at + sizeof(struct hy_cell),
					  bytes - sizeof(struct hy_cell));
	} else {
		ASAN_POISON_MEMORY_REGION(at + HY_LINK_BYTES,
					  bytes - HY_LINK_BYTES);
	}
}

static inline void hy_slot_unpoison(void *slot)
{
	ASAN_UNPOISON_MEMORY_REGION(slot, hy_chunk_of(slot)->slot_bytes);
}
#else
static inline void hy_slot_poison(void *slot, enum hy_chunk_kind kind)
{
	(void)slot;
	(void)kind;
}

static inline void hy_slot_unpoison(void *slot)
{
	(void)slot;
}
#endif

#endif
