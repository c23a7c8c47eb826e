/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from, and how much of it a graph has.
 *
 * Without a word from the program, cells, subscriptions and lists of one or two
 * inputs lie in chunks of 64 KiB that are mapped and kept for the next graph,
 * and everything else (names, values over 8 bytes, longer lists of inputs,
 * arrays) comes from malloc().  A program can replace the functions behind that, for the
 * whole process, and it can give a graph storage of its own, of which the
 * graph then lives alone.
 */
#ifndef HYPHAE_MEMORY_H
#define HYPHAE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the allocator of the process ---------------------------------------- */

/*
 * Functions as those of the C library, each with `ctx`.  They are called on
 * any thread, also several at once, and with locks of hyphae held: they must
 * not call hyphae.  Memory is aligned to 16; NULL is "no memory".
 */
struct hyphae_allocator {
	void *(*alloc)(size_t size, void *ctx);
	/* `memory` is never NULL, `size` never 0. */
	void *(*realloc)(void *memory, size_t size, void *ctx);
	void (*free)(void *memory, void *ctx); /* never NULL */
	/*
	 * Zeroed memory for chunks: `size` bytes, a multiple of 4,096, aligned
	 * to `align`, a power of two up to 65,536.  It is never given back, and
	 * must stay readable until the process ends, because a stale handle is
	 * looked up in it.  NULL: mmap().
	 */
	void *(*pages)(size_t size, size_t align, void *ctx);
	void *ctx;
};

/*
 * Use another allocator in the whole process; `allocator` is copied, and NULL
 * is the C library's.  Call it before any other function of hyphae, on the
 * only thread: -EBUSY when anything was allocated before, also if all of it
 * was freed.  -EINVAL: alloc, realloc or free is missing.
 *
 * Not from it: what hyphae_string and hyphae_bytes copy, because
 * hyphae_string_get() and the like give it to the caller's free().
 */
HYPHAE_API int hyphae_set_allocator(const struct hyphae_allocator *allocator);

/* ---- storage of one graph ------------------------------------------------- */

/*
 * For programs that may not allocate: hyphae_graph_new_with() takes storage,
 * static or otherwise, and everything that the graph needs comes from there:
 * the graph itself, its cells, subscriptions, scopes, names, values, messages
 * of errors, inputs, queues and logs.  When it is used up, functions fail with
 * -ENOMEM (or the graph spills, if it was told to: HYPHAE_STORAGE_SPILL).
 * What is released while the graph propagates, by whatever thread, gives its
 * place back when the pass is over, and in a long one every 64 waves; so more
 * may be there than is in use.  (Nothing is freed under a wave: while one runs,
 * what others release meanwhile waits.)
 * A graph in storage makes no call of malloc() or mmap(), except for
 *  - what the functions of a type allocate: hyphae_string, hyphae_bytes, yours;
 *  - what may still be used when the graph is gone, and its storage another's:
 *    one block for all of its posts, when the first is made (what waits is in
 *    the storage), posters, inputs, streams, pools; clocks and lists of timers;
 *  - reports of passes, and records while a tool watches, which belong to
 *    threads and not to a graph.
 *
 * The storage is cut into chunks of HYPHAE_CHUNK_BYTES, aligned to their size,
 * of which each holds one kind of object; what is over is for the rest.
 * Pages of it that are not used yet are not touched, so a generous size costs
 * address space only.
 *
 * It has to be
 *  - zeroed before its first use (static storage is), and left alone then;
 *  - there as long as any handle of the graph is used, also a stale one: a
 *    handle is checked by looking into its place;
 *  - of one living graph only.  When that was freed, the next can be made in
 *    the same storage, with the same size: stale handles of the first stay
 *    stale.  For that chunks keep their kind; to forget that too, and all
 *    handles with it, clear the storage.
 *
 * Why there is no cell that lies in a struct of yours: a handle that is stale
 * must be an error and never a crash, so its place must stay readable, and
 * hold nothing but objects of that kind, for as long as handles to it are
 * about.  A struct of yours ends when you say so, and then its memory is
 * something else.  Static storage has neither problem, and a cell costs there
 * what it would cost in the struct.
 */
#define HYPHAE_CHUNK_BYTES 65536

/* A chunk holds at least so many objects of its kind. */
#define HYPHAE_CHUNK_SOURCES 500
#define HYPHAE_CHUNK_DERIVED 330
#define HYPHAE_CHUNK_SUBSCRIPTIONS 1000
#define HYPHAE_CHUNK_SCOPES 1000

/*
 * How many bytes give so many chunks and 64 KiB or more for the rest,
 * whatever the alignment.
 */
#define HYPHAE_STORAGE_BYTES(chunks)                                           \
	(((size_t)(chunks) + 2) * HYPHAE_CHUNK_BYTES)

#define HYPHAE_CHUNKS_(count, in_one)                                          \
	(((size_t)(count) + (in_one)-1) / (in_one))

/*
 * How many bytes are enough for so many objects at a time: cells of values up
 * to 8 bytes, all of them subscribed, all sources written in one batch, in
 * subscribers and by another thread; cells with up to four inputs each, in a
 * chain as high as can be, eager or not; names of up to 31 bytes.
 */
#define HYPHAE_STORAGE_FOR(sources, derived, subscriptions)                    \
	(HYPHAE_STORAGE_BYTES(                                                 \
		 HYPHAE_CHUNKS_(sources, HYPHAE_CHUNK_SOURCES) +               \
		 HYPHAE_CHUNKS_(derived, HYPHAE_CHUNK_DERIVED) +               \
		 HYPHAE_CHUNKS_(subscriptions, HYPHAE_CHUNK_SUBSCRIPTIONS)) +  \
	 (size_t)(sources)*1280 + (size_t)(derived)*1280)

/*
 * Static storage:
 *
 *     HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(100, 200, 50));
 *
 *     graph = hyphae_graph_new_with(&(struct hyphae_graph_options){
 *             .storage = store, .storage_bytes = sizeof(store)});
 */
#define HYPHAE_STORAGE(name, bytes)                                            \
	static unsigned char name[bytes] __attribute__((aligned(64)))

/* ---- how much a graph has ---------------------------------------------------- */

/* Bytes `in_use` are those of the `count` objects that are alive. */
struct hyphae_memory_kind {
	size_t count;
	size_t in_use;
	size_t reserved; /* the chunks that they lie in */
};

struct hyphae_graph_memory {
	struct hyphae_memory_kind sources;
	struct hyphae_memory_kind derived;
	struct hyphae_memory_kind subscriptions;
	struct hyphae_memory_kind scopes;
	/*
	 * Of HYPHAE_CHUNK_BYTES each.  Short lists of inputs and timers have
	 * some, too.
	 */
	size_t chunks;
	size_t values;	/* blocks of values over 8 bytes, spare ones too */
	size_t inputs;	/* lists of cells with more than one, also in chunks */
	size_t names;	/* with their NULs */
	size_t arrays;	/* queues and logs */
	size_t storage; /* bytes that the caller gave, or 0 */
	size_t unused;	/* of these, never touched so far */
	size_t spilled; /* allocations that did not fit into them */
};

/*
 * What the graph occupies.  What types and users own is not counted, nor what
 * malloc() adds.  Walks over all cells, a chunk at a time under the graph's
 * lock: with a graph that others use meanwhile the numbers are of several
 * moments.  0, -EINVAL or -ESTALE.
 */
HYPHAE_API int hyphae_graph_memory(struct hyphae_graph *graph,
				   struct hyphae_graph_memory *ret_memory);

#ifdef __cplusplus
}
#endif

#endif
