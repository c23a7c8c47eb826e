/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <hyphae/memory.h>

#include "base/compiler.h"
#include "base/region.h"

static unsigned long fail_after;
static unsigned long count;
static long live;

/* LeakSanitizer does not look into mapped pages unless it is told to. */
__attribute__((weak)) void __lsan_register_root_region(const void *, size_t);

/* ---- where memory comes from --------------------------------------------- */

static void *libc_alloc(size_t size, void *ctx)
{
	(void)ctx;
	return malloc(size);
}

static void *libc_realloc(void *memory, size_t size, void *ctx)
{
	(void)ctx;
	return realloc(memory, size);
}

static void libc_free(void *memory, void *ctx)
{
	(void)ctx;
	free(memory);
}

static void *map_pages(size_t size, size_t align, void *ctx)
{
	char *base, *start;

	(void)ctx;
	base = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	start = (char *)(((uintptr_t)base + align - 1) & ~(align - 1));
	if (start > base)
		munmap(base, (size_t)(start - base));
	if (start < base + align)
		munmap(start + size, (size_t)(base + align - start));
	if (__lsan_register_root_region)
		__lsan_register_root_region(start, size);
	return start;
}

static const struct hyphae_allocator libc = {libc_alloc, libc_realloc,
					     libc_free, map_pages, NULL};
static struct hyphae_allocator from = {libc_alloc, libc_realloc, libc_free,
				       map_pages, NULL};

int hyphae_set_allocator(const struct hyphae_allocator *allocator)
{
	if (allocator &&
	    (!allocator->alloc || !allocator->realloc || !allocator->free))
		return -EINVAL;
	if (load_relaxed(&count))
		return -EBUSY;
	from = allocator ? *allocator : libc;
	if (!from.pages)
		from.pages = map_pages;
	return 0;
}

/* ---- the functions ---------------------------------------------------------- */

static bool shall_fail(void)
{
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (likely(!load_relaxed(&fail_after)))
		return false;
	return __atomic_sub_fetch(&fail_after, 1, __ATOMIC_RELAXED) == 0;
}

static void *counted(void *memory)
{
	if (memory)
		__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return memory;
}

void *hy_alloc_in(struct hy_region *region, size_t size)
{
	void *memory = NULL;

	if (shall_fail())
		return NULL;
	if (unlikely(region)) {
		memory = hy_region_alloc(region, size);
		if (!memory && !region->spill)
			return NULL;
		if (!memory)
			__atomic_add_fetch(&region->spilled, 1,
					   __ATOMIC_RELAXED);
	}
	return counted(memory ? memory : from.alloc(size, from.ctx));
}

void *hy_zalloc_in(struct hy_region *region, size_t size)
{
	void *memory;

	/* Large fresh blocks are zero, which calloc() knows. */
	if (!region && from.alloc == libc_alloc)
		return shall_fail() ? NULL : counted(calloc(1, size));
	memory = hy_alloc_in(region, size);
	return memory ? memset(memory, 0, size) : NULL;
}

void *hy_grow_in(struct hy_region *region, void *memory, size_t size)
{
	struct hy_region *home;
	size_t room;
	void *grown;

	if (!memory)
		return hy_alloc_in(region, size);
	home = hy_region_of(memory);
	if (!home)
		return shall_fail() ? NULL
				    : from.realloc(memory, size, from.ctx);
	grown = hy_alloc_in(home, size);
	if (grown) {
		room = hy_region_room(memory);
		memcpy(grown, memory, room < size ? room : size);
		hy_free(memory);
	}
	return grown;
}

void hy_free(void *memory)
{
	struct hy_region *home;

	if (!memory)
		return;
	__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	home = hy_region_of(memory);
	if (home)
		hy_region_free(home, memory);
	else
		from.free(memory, from.ctx);
}

void *hy_enlarge_in(struct hy_region *region, void *array, size_t *capacity,
		    size_t want, size_t size)
{
	size_t room = *capacity ? *capacity : 8;

	while (room < want)
		room *= 2;
	array = hy_grow_in(region, array, room * size);
	if (array)
		*capacity = room;
	return array;
}

void *hy_alloc(size_t size)
{
	return hy_alloc_in(NULL, size);
}

void *hy_zalloc(size_t size)
{
	return hy_zalloc_in(NULL, size);
}

void *hy_grow(void *memory, size_t size)
{
	return hy_grow_in(NULL, memory, size);
}

void *hy_reserve(void *array, size_t *capacity, size_t want, size_t size)
{
	return hy_reserve_in(NULL, array, capacity, want, size);
}

void *hy_pages(size_t size, size_t align)
{
	return shall_fail() ? NULL : from.pages(size, align, from.ctx);
}

/* ---- for tests ---------------------------------------------------------------- */

void hy_alloc_fail_after(unsigned long n)
{
	store_relaxed(&fail_after, n);
}

unsigned long hy_alloc_count(void)
{
	return load_relaxed(&count);
}

long hy_alloc_live(void)
{
	return load_relaxed(&live);
}
