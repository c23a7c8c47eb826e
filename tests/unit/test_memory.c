/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from: an allocator of the program's, storage of one
 * graph, a heap block a cell.  And how much of it there is.
 *
 * The whole program runs on an allocator that counts.
 */
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
#include "oom.h"

/* ---- an allocator that counts --------------------------------------------- */

static struct {
	size_t calls;	      /* of alloc and realloc */
	size_t pages;	      /* of pages */
	size_t blocks, bytes; /* live */
} tally;

static int tag;

static void *count_alloc(size_t size, void *ctx)
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

static void count_free(void *memory, void *ctx)
{
	size_t *block = memory;

	if (ctx != &tag || !memory)
		abort();
	tally.blocks--;
	tally.bytes -= block[-2];
	free(block - 2);
}

static void *count_realloc(void *memory, size_t size, void *ctx)
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

static void *count_pages(size_t size, size_t align, void *ctx)
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
static void set_up(void)
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

struct large {
	int64_t n;
	char filler[120];
};
HYPHAE_TYPE(large, struct large);

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static int next_large(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(struct large *)ret = *(const struct large *)input;
	((struct large *)ret)->n++;
	return 0;
}

static int to_large(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	((struct large *)ret)->n = *(const int64_t *)input;
	return 0;
}

static int positive(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 0;
}

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void count_drop(void *data)
{
	++*(unsigned int *)data;
}

/* Negative: what was wrong. */
static int64_t value_of(struct hyphae_cell *cell)
{
	int64_t value;
	int r = hyphae_int64_get(cell, &value);

	return r ? r : value;
}

static struct hyphae_graph *graph_in(void *storage, size_t bytes,
				     unsigned int flags, unsigned int how)
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

/* ---- the allocator --------------------------------------------------------------- */

static void allocator_is_set_first(void **state)
{
	struct hyphae_graph *graph;

	(void)state;
	assert_int_equal(set_null, 0);
	assert_int_equal(set_twice, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(set_bad[i], -EINVAL);
	graph = hyphae_graph_new(0);
	assert_non_null(graph);
	assert_int_equal(hyphae_set_allocator(&counting), -EBUSY);
	assert_int_equal(hyphae_set_allocator(NULL), -EBUSY);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_set_allocator(&counting), -EBUSY);
	assert_int_equal(
		hyphae_set_allocator(&(struct hyphae_allocator){.ctx = NULL}),
		-EINVAL);
}

static void allocator_gets_all_back(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		size_t blocks = tally.blocks, bytes = tally.bytes;
		size_t pages = tally.pages, calls = tally.calls;
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1), *both[2];
		unsigned int n = 0;

		assert_int_equal(hyphae_cell_set_name(a, "mycelium"), 0);
		assert_int_equal(tally.blocks, blocks + 1);
		assert_int_equal(tally.bytes, bytes + sizeof(struct hy_label) +
						      sizeof("mycelium"));
		both[0] = a;
		both[1] = hyphae_map(a, &hyphae_int64, plus_one, NULL);
		assert_non_null(
			hyphae_combine(both, 2, &hyphae_int64, sum, NULL));
		assert_non_null(hyphae_subscribe(a, count_call, &n));
		assert_int_equal(hyphae_batch_begin(graph), 0);
		assert_int_equal(hyphae_int64_set(a, 2), 0);
		assert_int_equal(hyphae_batch_end(graph), 0);
		assert_int_equal(n, 2);
		assert_true(tally.calls > calls + 5);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.blocks, blocks);
		assert_int_equal(tally.bytes, bytes);
		/* Chunks are kept for the next graph. */
		if (turn)
			assert_int_equal(tally.pages, pages);
	}
	assert_true(tally.pages > 0);
}

/* A source is its slot and nothing more. */
static void idle_source_is_its_slot(void **state)
{
	(void)state;
	for (size_t f = 0; f < 4; f++) {
		struct hyphae_graph *graph = hyphae_graph_new(every_flags[f]);
		struct hyphae_cell *a = hyphae_int64_new(graph, 0);
		unsigned long asked = hy_alloc_count();

		/* As many as fit into the chunk. */
		for (int i = 1; i < HYPHAE_CHUNK_SOURCES; i++) {
			a = hyphae_int64_new(graph, i);
			assert_non_null(a);
			assert_int_equal(hyphae_int64_set(a, -i), 0);
		}
		assert_int_equal(hy_alloc_count(), asked);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- storage ----------------------------------------------------------------------- */

HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(1000, 660, 1000));

static void wipe(void)
{
	memset(store, 0, sizeof(store));
}

static int read_all(void *ret, void *ctx)
{
	struct hyphae_cell *const *cells = ctx;
	int64_t total = 0, value;

	for (int i = 0; i < 3; i++) {
		int r = hyphae_int64_get(cells[i], &value);

		if (r)
			return r;
		total += value;
	}
	*(int64_t *)ret = total;
	return 0;
}

static struct hyphae_cell *make_inner(const void *value, void *ctx)
{
	struct hyphae_cell *a = ctx, *b;

	b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	return *(const int64_t *)value % 2 ? b : a;
}

/* Cells whose inputs change while they live. */
static void grow_dynamic(struct hyphae_graph *graph, struct hyphae_cell *a)
{
	struct hyphae_cell *cells[3] = {a, a, hyphae_int64_new(graph, 7)};
	struct hyphae_cell *c, *s;

	c = hyphae_computed_at(graph, &hyphae_int64, read_all, cells, "");
	s = hyphae_switch_map_at(cells[2], &hyphae_int64, make_inner, a, "");
	for (int64_t i = 0; i < 20; i++) {
		assert_int_equal(hyphae_int64_set(cells[2], i) < 0, 0);
		assert_int_equal(value_of(c), 2 * value_of(a) + i);
		assert_int_equal(value_of(s), value_of(a) + i % 2);
	}
	assert_int_equal(hyphae_cell_unref(c), 0);
	assert_int_equal(hyphae_cell_unref(s), 0);
}

/* A bit of everything.  Returns the sum that the last of it shows. */
static int64_t grow_all(struct hyphae_graph *graph, unsigned int *calls)
{
	struct hyphae_cell *a = hyphae_int64_new(graph, 1), *three[3], *d, *l;
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_subscription *sub;

	assert_non_null(scope);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	for (int i = 0; i < 40; i++)
		assert_non_null(hyphae_double_new(graph, i));
	assert_int_equal(hyphae_scope_leave(scope), 0);
	three[0] = a;
	three[1] = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	three[2] = hyphae_filter(three[1], positive, NULL);
	d = hyphae_combine(three, 3, &hyphae_int64, sum, NULL);
	l = large_new_at(graph, (struct large){.n = 5}, HYPHAE_HERE);
	assert_non_null(hyphae_map(l, &large_type, next_large, NULL));
	assert_int_equal(large_set(l, (struct large){.n = 7}), 0);
	grow_dynamic(graph, a);
	sub = hyphae_subscribe(d, count_call, calls);
	assert_non_null(sub);
	assert_int_equal(hyphae_cell_set_name(a, "hypha"), 0);
	assert_int_equal(hyphae_cell_set_name(a, "another name"), 0);
	assert_int_equal(hyphae_cell_own(a, calls, count_drop), 0);
	assert_int_equal(hyphae_cell_set_data(a, calls, count_drop), 0);
	assert_int_equal(hyphae_subscription_set_data(sub, calls, count_drop),
			 0);
	assert_int_equal(hyphae_scope_set_data(scope, calls, count_drop), 0);
	assert_int_equal(hyphae_graph_set_data(graph, calls, count_drop), 0);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(a, 2), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(hyphae_int64_set(a, 10), 0);
	assert_int_equal(hyphae_cell_fail(l, -EIO, "the message of it"), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	return value_of(d);
}

static void storage_makes_no_call(void **state)
{
	(void)state;
	wipe();
	/* The second time in what the first has left. */
	for (size_t f = 0; f < 8; f++) {
		size_t calls = tally.calls, pages = tally.pages;
		long live = hy_alloc_live();
		unsigned int n = 0;
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f / 2], 0);
		struct hyphae_graph_memory memory;

		assert_non_null(graph);
		assert_int_equal(grow_all(graph, &n), 32);
		/* Three calls and the scope's data. */
		assert_int_equal(n, 4);
		assert_int_equal(hyphae_graph_memory(graph, &memory), 0);
		assert_int_equal(memory.storage, sizeof(store));
		assert_int_equal(memory.spilled, 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
		/* The cell owned one and has one, the others have one. */
		assert_int_equal(n, 8);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(tally.pages, pages);
		assert_int_equal(hy_alloc_live(), live);
	}
}

struct everything {
	struct hyphae_cell *sources[1000];
	struct hyphae_cell *derived[660];
	int failed;
};

static int write_all(const struct hyphae_signal *signal, void *ctx)
{
	struct everything *all = ctx;

	if (hyphae_int64_of(signal) == 1000000)
		for (int i = 1; i < 1000; i++)
			if (hyphae_int64_set(all->sources[i], -i))
				all->failed++;
	return 0;
}

/* What HYPHAE_STORAGE_FOR() promises. */
static void promised_storage(struct hyphae_graph *graph, unsigned int *calls)
{
	static struct everything all;
	struct hyphae_cell *input[4];
	char name[32] = "thirty-one bytes are a name 0000";

	all.failed = 0;
	name[31] = '\0';
	for (int i = 0; i < 1000; i++) {
		all.sources[i] = hyphae_int64_new(graph, 0);
		assert_non_null(all.sources[i]);
		assert_int_equal(hyphae_cell_set_name(all.sources[i], name), 0);
	}
	input[3] = all.sources[0];
	for (int i = 0; i < 660; i++) {
		for (int k = 0; k < 3; k++)
			input[k] = all.sources[i + k + 1];
		input[3] = hyphae_combine(input, 4, &hyphae_int64, sum, NULL);
		assert_non_null(input[3]);
		all.derived[i] = input[3];
		assert_int_equal(hyphae_cell_set_name(input[3], name), 0);
	}
	assert_non_null(hyphae_subscribe(all.sources[0], write_all, &all));
	for (int i = 1; i < 1000; i++)
		assert_non_null(hyphae_subscribe(
			i <= 660 ? all.derived[i - 1] : all.sources[i - 660],
			count_call, calls));
	assert_int_equal(hyphae_batch_begin(graph), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(hyphae_int64_set(all.sources[i], i + 1), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	/* Now from a subscriber, each of them. */
	assert_int_equal(hyphae_int64_set(all.sources[0], 1000000), 0);
	assert_int_equal(all.failed, 0);
	assert_int_equal(value_of(all.derived[0]), 1000000 - 1 - 2 - 3);
}

static void storage_for_so_many(void **state)
{
	(void)state;
	wipe();
	for (size_t f = 0; f < 4; f++) {
		size_t calls = tally.calls, pages = tally.pages;
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f], 0);
		unsigned int n = 0;

		assert_non_null(graph);
		promised_storage(graph, &n);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(tally.pages, pages);
	}
}

/* Two chunks and what is at least over. */
HYPHAE_STORAGE(small, HYPHAE_STORAGE_BYTES(2));

/* A graph that lives in all of it, however it is aligned. */
static struct hyphae_graph *small_graph(unsigned int how)
{
	memset(small, 0, sizeof(small));
	return graph_in(small, sizeof(small), 0, how);
}

static void storage_is_used_up(void **state)
{
	struct hyphae_graph *graph = small_graph(0);
	size_t calls = tally.calls, pages = tally.pages, n = 0;
	struct hyphae_cell *a = NULL, *last = NULL;
	struct hyphae_graph_counts counts;
	unsigned int drops = 0;

	(void)state;
	assert_non_null(graph);
	while ((a = hyphae_int64_new(graph, (int64_t)n)))
		n++, last = a;
	assert_int_equal(errno, ENOMEM);
	assert_true(n >= 2 * HYPHAE_CHUNK_SOURCES);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, n);
	assert_int_equal(value_of(last), (int64_t)n - 1);
	assert_int_equal(hyphae_int64_set(last, -1), 0);
	assert_int_equal(value_of(last), -1);
	/* No chunk of another kind is to be had... */
	assert_null(hyphae_map(last, &hyphae_int64, plus_one, NULL));
	assert_int_equal(errno, ENOMEM);
	assert_null(hyphae_subscribe(last, count_call, &n));
	assert_int_equal(errno, ENOMEM);
	assert_null(hyphae_scope_new(graph));
	assert_int_equal(errno, ENOMEM);
	/* ... but a place that was given back is. */
	assert_int_equal(hyphae_cell_unref(last), 0);
	last = hyphae_int64_new(graph, 17);
	assert_non_null(last);
	assert_null(hyphae_int64_new(graph, 18));
	/* What cells own until there is no room for that either. */
	for (n = 0; !hyphae_cell_own(last, &drops, count_drop); n++)
		continue;
	assert_true(n > 0);
	assert_int_equal(drops, 1); /* of the one that was refused */
	assert_int_equal(hyphae_cell_set_name(last, "a name that needs more"),
			 -ENOMEM);
	assert_int_equal(value_of(last), 17);
	assert_int_equal(tally.calls, calls);
	assert_int_equal(tally.pages, pages);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(drops, n + 1);
}

static void storage_spills(void **state)
{
	struct hyphae_graph *graph = small_graph(HYPHAE_STORAGE_SPILL);
	size_t blocks = tally.blocks;
	struct hyphae_graph_memory memory;
	struct hyphae_cell *a;
	unsigned int n = 0;

	(void)state;
	assert_non_null(graph);
	for (int i = 0; i < 5000; i++) {
		a = hyphae_int64_new(graph, i);
		assert_non_null(a);
		assert_int_equal(hyphae_cell_set_name(
					 a, "a name of some sixty bytes, so "
					    "that many of them do not fit"),
				 0);
		assert_non_null(hyphae_subscribe(a, count_call, &n));
	}
	assert_int_equal(n, 5000);
	assert_int_equal(hyphae_graph_memory(graph, &memory), 0);
	assert_int_equal(memory.sources.count, 5000);
	assert_true(memory.spilled > 1000);
	assert_true(tally.blocks > blocks + 1000);
	assert_int_equal(hyphae_int64_set(a, -1), 0);
	assert_int_equal(n, 5001);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(tally.blocks, blocks);
}

static void storage_that_cannot_be(void **state)
{
	struct hyphae_graph_options o = {.storage = small,
					 .storage_bytes = sizeof(small)};
	struct {
		struct hyphae_graph_options known;
		uint64_t newer;
	} newer = {o, 0};
	struct hyphae_graph *graph;

	(void)state;
	memset(small, 0, sizeof(small));
#define REFUSED(expected)                                                      \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(hyphae_graph_new_with(&o));                        \
		assert_int_equal(errno, expected);                             \
	} while (0)
	errno = 0;
	assert_null(hyphae_graph_new_sized(NULL, 0));
	assert_int_equal(errno, EINVAL);
	o.flags = 64;
	REFUSED(EINVAL);
	o.flags = HYPHAE_HEAP_CELLS;
	REFUSED(EINVAL);
	o.flags = 0;
	o.storage_flags = 2;
	REFUSED(EINVAL);
	o.storage_flags = 0;
	o.storage = NULL;
	REFUSED(EINVAL);
	o.storage_bytes = 0;
	o.storage_flags = HYPHAE_STORAGE_SPILL;
	REFUSED(EINVAL);
	o.storage_flags = 0;
	o.storage = small;
	REFUSED(ENOMEM); /* 0 bytes */
	o.storage_bytes = 65536;
	REFUSED(ENOMEM);
	o.storage_bytes = SIZE_MAX;
	REFUSED(EINVAL);
	/* Not zero: at the end, and where the first chunk begins. */
	o.storage_bytes = sizeof(small);
	small[sizeof(small) - 200] = 1;
	REFUSED(EINVAL);
	small[sizeof(small) - 200] = 0;
	memset(small, 1, 65536 + 64);
	REFUSED(EINVAL);
	memset(small, 0, sizeof(small));
	/* What the library does not know. */
	newer.newer = 1;
	errno = 0;
	assert_null(hyphae_graph_new_sized(&newer.known, sizeof(newer)));
	assert_int_equal(errno, EINVAL);
	newer.newer = 0;
	graph = hyphae_graph_new_sized(&newer.known, sizeof(newer));
	assert_non_null(graph);
	REFUSED(EBUSY);
	assert_int_equal(hyphae_graph_free(graph), 0);
	/* Another size. */
	o.storage_bytes -= 64;
	REFUSED(EINVAL);
	o.storage_bytes += 64;
	graph = hyphae_graph_new_with(&o);
	assert_non_null(graph);
	assert_int_equal(hyphae_graph_free(graph), 0);
	/* No options but the first. */
	graph = hyphae_graph_new_sized(&o, sizeof(o.flags));
	assert_non_null(graph);
	assert_int_equal(hyphae_graph_free(graph), 0);
#undef REFUSED
}

/* Storage need not be aligned to anything. */
static void storage_anywhere(void **state)
{
	size_t bytes = HYPHAE_STORAGE_BYTES(3);

	(void)state;
	for (size_t shift = 0; shift < 300; shift += 37) {
		char *memory = calloc(1, bytes + shift);
		struct hyphae_graph *graph;
		unsigned int n = 0;

		assert_non_null(memory);
		graph = graph_in(memory + shift, bytes, 0, 0);
		assert_non_null(graph);
		for (int i = 0; i < 500; i++) {
			struct hyphae_cell *a = hyphae_int64_new(graph, i);

			assert_non_null(a);
			if (i < 300)
				assert_non_null(hyphae_map(a, &hyphae_int64,
							   plus_one, NULL));
			if (i < 300)
				assert_non_null(
					hyphae_subscribe(a, count_call, &n));
		}
		assert_int_equal(n, 300);
		assert_int_equal(hyphae_graph_free(graph), 0);
		free(memory);
	}
}

static void stale_in_storage(void **state)
{
	struct hyphae_cell *cells[200], *fresh;
	struct hyphae_subscription *subs[100];
	struct hyphae_graph *first, *second = NULL;
	unsigned int n = 0;
	int64_t value;

	(void)state;
	wipe();
	first = graph_in(store, sizeof(store), 0, 0);
	for (int i = 0; i < 100; i++) {
		cells[2 * i] = hyphae_int64_new(first, i);
		cells[2 * i + 1] =
			hyphae_map(cells[2 * i], &hyphae_int64, plus_one, NULL);
		subs[i] = hyphae_subscribe(cells[2 * i + 1], count_call, &n);
		assert_non_null(subs[i]);
	}
	assert_int_equal(hyphae_graph_free(first), 0);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(hyphae_graph_free(first), -ESTALE);
		for (int i = 0; i < 200; i++) {
			assert_int_equal(hyphae_int64_get(cells[i], &value),
					 -ESTALE);
			assert_int_equal(hyphae_int64_set(cells[i], 1),
					 -ESTALE);
			assert_int_equal(hyphae_cell_unref(cells[i]), -ESTALE);
		}
		for (int i = 0; i < 100; i++)
			assert_int_equal(hyphae_unsubscribe(subs[i]), -ESTALE);
		if (turn)
			break;
		/* In the second round with another graph in their places. */
		second = graph_in(store, sizeof(store), 0, 0);
		assert_non_null(second);
		for (int i = 0; i < 150; i++) {
			fresh = hyphae_int64_new(second, i);
			assert_non_null(fresh);
			assert_non_null(
				hyphae_subscribe(fresh, count_call, &n));
			assert_non_null(hyphae_filter(fresh, positive, NULL));
		}
	}
	assert_int_equal(hyphae_graph_free(second), 0);
}

/* Each step with each of its allocations failing, in storage too. */
static void storage_sweep(void **state)
{
	(void)state;
	wipe();
	for (size_t f = 0; f < 4; f++) {
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f], 0);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1);
		long live;
		size_t calls = tally.calls;

		assert_int_equal(hyphae_cell_set_name(a, "a"), 0);
		live = hy_alloc_live();
		OOM_SWEEP(n)
		{
			struct hyphae_cell *b, *both[2];
			unsigned int drops = 0;
			int own, name;

			errno = 0;
			b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
			both[0] = a;
			both[1] = b ? b : a;
			hyphae_cell_unref(b ? hyphae_combine(both, 2,
							     &hyphae_int64, sum,
							     NULL)
					    : NULL);
			own = hyphae_cell_own(b ? b : a, &drops, count_drop);
			name = hyphae_cell_set_name(a, "b");
			OOM_PAUSE();
			assert_true(b || errno == ENOMEM);
			assert_true(own == 0 || own == -ENOMEM);
			assert_true(name == 0 || name == -ENOMEM);
			assert_int_equal(hyphae_cell_unref(b), 0);
			if (b)
				assert_int_equal(drops, 1);
		}
		assert_true(hy_alloc_live() >= live);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- a block of the heap for each cell ------------------------------------------------ */

#define SOURCE_HEAP (sizeof(struct hy_cell) + sizeof(struct hy_cold))
#define DERIVED_HEAP (sizeof(struct hy_derived) + sizeof(struct hy_cold))

static void heap_cells(void **state)
{
	(void)state;
	for (size_t f = 0; f < 4; f++) {
		size_t at_first = tally.blocks;
		struct hyphae_graph *graph =
			hyphae_graph_new(every_flags[f] | HYPHAE_HEAP_CELLS);
		struct hyphae_cell *sources[101], *derived[53];
		struct hyphae_subscription *subs[29];
		size_t blocks, bytes;
		unsigned int n = 0, drops = 0;

		assert_non_null(graph);
		/* Arrays of the graph first. */
		sources[0] = hyphae_int64_new(graph, 0);
		derived[0] =
			hyphae_map(sources[0], &hyphae_int64, plus_one, NULL);
		subs[0] = hyphae_subscribe(derived[0], count_call, &n);
		blocks = tally.blocks;
		bytes = tally.bytes;
		for (int i = 1; i < 101; i++) {
			sources[i] = hyphae_int64_new(graph, i);
			assert_int_equal(tally.blocks, blocks + (size_t)i);
		}
		assert_int_equal(tally.bytes, bytes + 100 * SOURCE_HEAP);
		if (every_flags[f] & HYPHAE_EAGER) /* its stack grows */
			goto done;
		for (int i = 1; i < 53; i++)
			derived[i] = hyphae_map(sources[i], &hyphae_int64,
						plus_one, NULL);
		assert_int_equal(tally.blocks, blocks + 152);
		assert_int_equal(tally.bytes,
				 bytes + 100 * SOURCE_HEAP + 52 * DERIVED_HEAP);
		/* All of one cell: room for those that fire does not grow. */
		for (int i = 1; i < 29; i++)
			subs[i] = hyphae_subscribe_with(derived[0], count_call,
							&n, NULL, 0);
		assert_int_equal(tally.blocks, blocks + 180);
		assert_int_equal(tally.bytes,
				 bytes + 100 * SOURCE_HEAP + 52 * DERIVED_HEAP +
					 28 * sizeof(struct hy_sub));
		for (int i = 1; i < 29; i++)
			assert_int_equal(hyphae_unsubscribe(subs[i]), 0);
		for (int i = 1; i < 53; i++)
			assert_int_equal(hyphae_cell_unref(derived[i]), 0);
		assert_int_equal(tally.blocks, blocks + 100);
		assert_int_equal(
			hyphae_cell_own(sources[1], &drops, count_drop), 0);
		for (int i = 1; i < 101; i++)
			assert_int_equal(hyphae_cell_unref(sources[i]), 0);
		assert_int_equal(drops, 1);
		assert_int_equal(tally.blocks, blocks);
		assert_int_equal(tally.bytes, bytes);
done:
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.blocks, at_first);
	}
}

/* All of it comes back with the graph, and a sub's own drop is called. */
static void heap_cells_of_a_graph(void **state)
{
	size_t blocks = tally.blocks, bytes = tally.bytes;
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_HEAP_CELLS);
	unsigned int n = 0, drops = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct hyphae_cell *a = hyphae_int64_new(graph, i);

		assert_non_null(hyphae_map(a, &hyphae_int64, plus_one, NULL));
		if (i % 3 == 0)
			assert_non_null(hyphae_subscribe(a, count_call, &n));
		else
			assert_non_null(hyphae_subscribe_with(
				a, count_call, &drops, count_drop,
				HYPHAE_SKIP_INITIAL));
	}
	assert_int_equal(n, 100);
	assert_int_equal(drops, 0);
	assert_true(tally.blocks > blocks + 900);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(drops, 200);
	assert_int_equal(tally.blocks, blocks);
	assert_int_equal(tally.bytes, bytes);
}

static void heap_cells_sweep(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_HEAP_CELLS);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts before, after;
	unsigned int swept = 0, first = 0;

	(void)state;
	hyphae_cell_unref(hyphae_map(a, &hyphae_int64, plus_one, NULL));
	hyphae_unsubscribe(hyphae_subscribe(a, count_call, &first));
	assert_int_equal(hyphae_graph_counts(graph, &before), 0);
	OOM_SWEEP(n)
	{
		size_t blocks = tally.blocks;
		unsigned int calls = 0;
		struct hyphae_cell *b = hyphae_int64_new(graph, 2);
		struct hyphae_cell *c =
			hyphae_map(a, &large_type, to_large, NULL);
		struct hyphae_subscription *s = hyphae_subscribe_with(
			a, count_call, &calls, NULL, HYPHAE_SKIP_INITIAL);

		OOM_PAUSE();
		swept++;
		hyphae_cell_unref(b);
		hyphae_cell_unref(c);
		hyphae_unsubscribe(s);
		assert_int_equal(!b + !c + !s, n >= 1 && n <= 5);
		assert_int_equal(tally.blocks, blocks);
	}
	/*
	 * None fails; one of five: source, derived and its two boxes,
	 * subscription; none is left to fail.
	 */
	assert_int_equal(swept, 7);
	assert_int_equal(hyphae_graph_counts(graph, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#define SOURCE_BYTES (sizeof(struct hy_cell) + sizeof(uint32_t))
#define DERIVED_BYTES                                                          \
	(sizeof(struct hy_derived) + sizeof(struct hy_error *) +               \
	 sizeof(uint32_t))

/* What an operator of one input keeps goes with its cell. */
static void state_goes_with_its_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	size_t blocks;

	(void)state;
	assert_int_equal(hyphae_cell_unref(hyphae_distinct(a, 4)), 0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *b = hyphae_distinct(a, 4);

		assert_non_null(b);
		assert_true(tally.blocks > blocks);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int give_up(void *ret, const void *input, void *ctx)
{
	(void)ret;
	(void)input;
	(void)ctx;
	return hyphae_error(-EIO, "no");
}

/* And not with the next that has its slot. */
static void an_error_goes_with_its_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	size_t blocks;

	(void)state;
	assert_int_equal(
		hyphae_cell_unref(hyphae_map(a, &hyphae_int64, plus_one, NULL)),
		0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *b =
			hyphae_map(a, &hyphae_int64, give_up, NULL);

		assert_int_equal(tally.blocks, blocks + 1);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- how much ---------------------------------------------------------------------------- */

static void memory_of_a_graph(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_graph_memory m;
	struct hyphae_cell *cells[3];
	struct hyphae_scope *scope;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(hyphae_graph_memory(NULL, &m), -EINVAL);
	assert_int_equal(hyphae_graph_memory(graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.chunks, 0);
	assert_int_equal(m.arrays + m.values + m.names + m.inputs, 0);
	for (int i = 0; i < 3; i++)
		cells[i] = hyphae_int64_new(graph, i);
	assert_int_equal(hyphae_cell_set_name(cells[0], "root"), 0);
	assert_non_null(hyphae_combine(cells, 3, &hyphae_int64, sum, NULL));
	assert_non_null(hyphae_map(
		large_new_at(graph, (struct large){.n = 1}, HYPHAE_HERE),
		&large_type, next_large, NULL));
	assert_non_null(hyphae_subscribe(cells[0], count_call, &n));
	assert_non_null(hyphae_subscribe(cells[1], count_call, &n));
	scope = hyphae_scope_new(graph);
	assert_non_null(scope);
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.sources.count, 4);
	/* One has a name, one boxes. */
	assert_int_equal(m.sources.in_use, 4 * SOURCE_BYTES +
						   sizeof(struct hy_label) +
						   sizeof(struct hy_cold));
	assert_int_equal(m.sources.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.derived.count, 2);
	assert_int_equal(m.derived.in_use,
			 2 * DERIVED_BYTES + sizeof(struct hy_cold));
	assert_int_equal(m.derived.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.subscriptions.count, 2);
	assert_int_equal(m.subscriptions.in_use, 2 * sizeof(struct hy_sub));
	assert_int_equal(m.subscriptions.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.scopes.count, 1);
	assert_int_equal(m.scopes.in_use, 64);
	assert_int_equal(m.chunks, 4);
	/* One of the source, two of the map. */
	assert_int_equal(m.values,
			 3 * (sizeof(struct hy_box) + sizeof(struct large)));
	assert_int_equal(m.names, 5);
	assert_int_equal(m.inputs,
			 sizeof(struct hy_fan_in) +
				 3 * (sizeof(struct hy_edge) + sizeof(void *)));
	/* A queue for 64 heights; eight that may fire. */
	assert_int_equal(m.arrays, 64 * sizeof(struct hy_bucket) +
					   5 * sizeof(uint64_t) +
					   8 * sizeof(struct hy_fired));
	assert_int_equal(m.storage, 0);
	assert_int_equal(m.unused, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_graph_memory(graph, &m), -ESTALE);
}

static void memory_of_a_million_cells(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_graph_memory m;
	size_t per_chunk = (HY_CHUNK_BYTES - HY_CHUNK_HEADER) / SOURCE_BYTES;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		assert_non_null(hyphae_int64_new(graph, i));
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.sources.count, 1000000);
	assert_int_equal(m.sources.in_use, 1000000 * SOURCE_BYTES);
	assert_int_equal(m.chunks, (1000000 + per_chunk - 1) / per_chunk);
	assert_int_equal(m.sources.reserved, m.chunks * HY_CHUNK_BYTES);
	assert_int_equal(m.derived.reserved, 0);
	assert_int_equal(m.arrays, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- more sites than the table of labels has room for -------------------------- */

/* One whose cells have a label each: the table takes all that there is. */
static const char *site_without_place(struct hyphae_graph *graph)
{
	static const char sites[4 * HY_LABEL_SITES];
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(sites); i++) {
		struct hyphae_cell *cell =
			hyphae_int64_new_at(graph, 1, &sites[i]);

		if (!hy_label_is_shared(hy_label_of(hy_cell(cell))))
			found = &sites[i];
		assert_int_equal(hyphae_cell_unref(cell), 0);
	}
	return found;
}

static void a_site_of_many(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	const char *site = site_without_place(graph);
	struct hyphae_cell *first = hyphae_int64_new(graph, 1);
	unsigned int swept = 0;
	size_t blocks;

	(void)state;
	assert_non_null(site);
	/* The queue first. */
	assert_int_equal(hyphae_cell_unref(hyphae_map(first, &hyphae_int64,
						      plus_one, NULL)),
			 0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *a = hyphae_int64_new_at(graph, 1, site);
		struct hyphae_cell *b =
			hyphae_map_at(a, &hyphae_int64, plus_one, NULL, site);
		struct hyphae_cell_info info;

		assert_int_equal(tally.blocks, blocks + 2);
		assert_int_equal(hyphae_cell_info(b, &info), 0);
		assert_ptr_equal(info.site, site);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	OOM_SWEEP(n)
	{
		struct hyphae_cell *c =
			large_new_at(graph, (struct large){.n = 5}, site);

		OOM_PAUSE();
		swept++;
		/* Box, label, cold part. */
		assert_int_equal(!c, n >= 1 && n <= 3);
		hyphae_cell_unref(c);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(swept, 5);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocator_is_set_first),
		cmocka_unit_test(allocator_gets_all_back),
		cmocka_unit_test(idle_source_is_its_slot),
		cmocka_unit_test(storage_makes_no_call),
		cmocka_unit_test(storage_for_so_many),
		cmocka_unit_test(storage_is_used_up),
		cmocka_unit_test(storage_spills),
		cmocka_unit_test(storage_that_cannot_be),
		cmocka_unit_test(storage_anywhere),
		cmocka_unit_test(stale_in_storage),
		cmocka_unit_test(storage_sweep),
		cmocka_unit_test(heap_cells),
		cmocka_unit_test(heap_cells_of_a_graph),
		cmocka_unit_test(heap_cells_sweep),
		cmocka_unit_test(state_goes_with_its_cell),
		cmocka_unit_test(an_error_goes_with_its_cell),
		cmocka_unit_test(memory_of_a_graph),
		cmocka_unit_test(memory_of_a_million_cells),
		cmocka_unit_test(a_site_of_many), /* it fills the table */
	};

	set_up();
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
