/* SPDX-License-Identifier: MIT */
/*
 * What the tests of memory share: an allocator that counts, on which the whole
 * program runs, and things to build.
 */
#ifndef TEST_COUNTED_H
#define TEST_COUNTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "core/label.h"
#include "core/types.h"
#include "large.h"
#include "oom.h"

/* ---- an allocator that counts --------------------------------------------- */

static struct {
	size_t calls;	      /* of alloc and realloc */
	size_t pages;	      /* of pages */
	size_t blocks, bytes; /* live */
} tally;

static int tag;

static inline void *count_alloc(size_t size, void *ctx)
{
	size_t *block = malloc(size + 16);

	tally.calls++;
	if (ctx != &tag || !size)
		abort();
	if (!block)
		return NULL;
	block[0] = size;
	tally.blocks++;
	tally.bytes += size;
	return block + 2;
}

static inline void count_free(void *memory, void *ctx)
{
	size_t *block = memory;

	if (ctx != &tag || !memory)
		abort();
	tally.blocks--;
	tally.bytes -= block[-2];
	free(block - 2);
}

static inline void *count_realloc(void *memory, size_t size, void *ctx)
{
	size_t *block = memory;
	void *grown;

	if (!memory)
		abort();
	grown = count_alloc(size, ctx);
	if (!grown)
		return NULL;
	memcpy(grown, memory, block[-2] < size ? block[-2] : size);
	count_free(memory, ctx);
	return grown;
}

static inline void *count_pages(size_t size, size_t align, void *ctx)
{
	char *pages;

	if (ctx != &tag || size % 4096 || align & (align - 1) || align > 65536)
		abort();
	tally.pages++;
	pages = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	return (void *)(((uintptr_t)pages + align - 1) & ~(align - 1));
}

static const struct hyphae_allocator counting = {count_alloc, count_realloc,
						 count_free, count_pages, &tag};
static int set_null, set_bad[3], set_twice;

/* Before anything else. */
static inline void set_up(void)
{
	struct hyphae_allocator bad[3] = {counting, counting, counting};

	bad[0].alloc = NULL;
	bad[1].realloc = NULL;
	bad[2].free = NULL;
	for (int i = 0; i < 3; i++)
		set_bad[i] = hyphae_set_allocator(&bad[i]);
	set_null = hyphae_set_allocator(NULL);
	set_twice = hyphae_set_allocator(&counting);
}

/* ---- things to build --------------------------------------------------------- */

static inline int next_large(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(struct large *)ret = *(const struct large *)input;
	((struct large *)ret)->n++;
	return 0;
}

static inline int to_large(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	((struct large *)ret)->n = *(const int64_t *)input;
	return 0;
}

static inline int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

static inline int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static inline void count_drop(void *data)
{
	++*(unsigned int *)data;
}

/* Negative: what was wrong. */
static inline int64_t value_of(struct hyphae_cell *cell)
{
	int64_t value;
	int r = hyphae_int64_get(cell, &value);

	return r ? r : value;
}

static inline struct hyphae_graph *
graph_in(void *storage, size_t bytes, unsigned int flags, unsigned int how)
{
	struct hyphae_graph_options options = {.flags = flags,
					       .storage = storage,
					       .storage_bytes = bytes,
					       .storage_flags = how};

	return hyphae_graph_new_with(&options);
}

static const unsigned int every_flags[] = {0, HYPHAE_SINGLE_THREAD,
					   HYPHAE_EAGER,
					   HYPHAE_EAGER | HYPHAE_SINGLE_THREAD};

#endif
