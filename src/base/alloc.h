/* SPDX-License-Identifier: MIT */
/*
 * All memory of the library comes through here, so that programs can replace
 * where it comes from, and tests can count it and let it fail.
 */
#ifndef HY_ALLOC_H
#define HY_ALLOC_H

#include <stddef.h>

struct hy_region;

/* NULL when there is no memory; hy_alloc() and hy_grow() do not clear. */
void *hy_alloc(size_t size);
void *hy_zalloc(size_t size);
void *hy_grow(void *memory, size_t size);
void hy_free(void *memory);

/*
 * The same from a region (a graph's, see hy_graph.region), or from the
 * process if that is NULL.  What lies in a region stays there when it grows,
 * and hy_free() finds its way back.
 */
void *hy_alloc_in(struct hy_region *region, size_t size);
void *hy_zalloc_in(struct hy_region *region, size_t size);
void *hy_grow_in(struct hy_region *region, void *memory, size_t size);

/*
 * Make room for `want` elements of `size` bytes: the new array, or NULL and
 * the old one untouched.  Grows by doubling; never shrinks.
 */
void *hy_reserve(void *array, size_t *capacity, size_t want, size_t size);
void *hy_enlarge_in(struct hy_region *region, void *array, size_t *capacity,
		    size_t want, size_t size);

static inline void *hy_reserve_in(struct hy_region *region, void *array,
				  size_t *capacity, size_t want, size_t size)
{
	return want <= *capacity
		       ? array
		       : hy_enlarge_in(region, array, capacity, want, size);
}

/* Zeroed pages, `size` bytes aligned to `align`, never given back. */
void *hy_pages(size_t size, size_t align);

/* For tests: the n-th allocation from now fails, once.  0 disarms. */
void hy_alloc_fail_after(unsigned long n);
unsigned long hy_alloc_count(void);
long hy_alloc_live(void);

#endif
