/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"

static unsigned long fail_after;
static unsigned long count;
static long live;

/* LeakSanitizer does not look into mapped pages unless it is told to. */
__attribute__((weak)) void __lsan_register_root_region(const void *, size_t);

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

void *hy_alloc(size_t size)
{
	return shall_fail() ? NULL : counted(malloc(size));
}

void *hy_zalloc(size_t size)
{
	return shall_fail() ? NULL : counted(calloc(1, size));
}

void *hy_grow(void *memory, size_t size)
{
	if (!memory)
		return hy_alloc(size);
	return shall_fail() ? NULL : realloc(memory, size);
}

void hy_free(void *memory)
{
	if (!memory)
		return;
	__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	free(memory);
}

void *hy_reserve(void *array, size_t *capacity, size_t want, size_t size)
{
	size_t room = *capacity ? *capacity : 8;

	if (want <= *capacity)
		return array;
	while (room < want)
		room *= 2;
	array = hy_grow(array, room * size);
	if (array)
		*capacity = room;
	return array;
}

void *hy_pages(size_t size, size_t align)
{
	char *base, *start;

	if (shall_fail())
		return NULL;
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
