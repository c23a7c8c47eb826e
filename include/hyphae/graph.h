/* SPDX-License-Identifier: MIT */
/*
 * A graph: the domain within which propagation is consistent.
 *
 * Each cell belongs to one graph.  One thread at a time propagates in a
 * graph; a write from another thread meanwhile is queued and that thread
 * goes on (hyphae_cell_set(), "Threads").  More parallelism is more graphs.
 *
 * The lock of a graph costs a thread next to nothing that has taken it some
 * hundred times in a row.  The next other thread that needs it makes one
 * system call, membarrier(2), which interrupts the threads of the process that
 * run for about a microsecond; then the lock is a plain mutex again, for twice
 * as long as before.  Threads that need it all the time take turns of a few
 * microseconds instead, without a system call.  Where membarrier is missing
 * (before Linux 4.14) or refused with an error, as by a seccomp filter, it is a
 * mutex always.  For a filter that kills, a build with -DHYPHAE_MEMBARRIER=0
 * never makes that call.
 */
#ifndef HYPHAE_GRAPH_H
#define HYPHAE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_graph;
struct hyphae_cell;

enum hyphae_graph_flags {
	/* One thread at a time: no locks, no atomics. */
	HYPHAE_SINGLE_THREAD = 1,
	/*
	 * A write outside a batch runs depth first at once: a cell behind a
	 * diamond is computed once for each path, and its subscribers may see
	 * values in between.  The last value they see is the right one.  Inside
	 * a batch the graph behaves as any other.
	 */
	HYPHAE_EAGER = 2,
	/* As if hyphae_graph_set_lazy(graph, true) had been called. */
	HYPHAE_LAZY = 4,
	/*
	 * Each cell and each subscription also holds a block of malloc() of its
	 * own size, which the constructor allocates and nobody uses.  Heap
	 * profilers do not see hyphae's own chunks, which are mapped; with
	 * this they attribute each cell that is alive to the place where it
	 * was made, and their sums are right.  Costs the memory twice.  Not
	 * with storage of the caller (EINVAL).
	 */
	HYPHAE_HEAP_CELLS = 256,
};

/* An empty graph, or NULL with errno EINVAL (unknown flags) or ENOMEM. */
HYPHAE_API struct hyphae_graph *hyphae_graph_new(unsigned int flags);

enum hyphae_storage_flags {
	/* When the storage is used up, go on with the process's memory. */
	HYPHAE_STORAGE_SPILL = 1,
};

/* Members that are not named are 0, which stands for what is usual. */
struct hyphae_graph_options {
	unsigned int flags;	    /* enum hyphae_graph_flags */
	unsigned int wave_limit;    /* hyphae_graph_set_wave_limit(); 0: 100 */
	void *storage;		    /* where it shall live; see memory.h */
	size_t storage_bytes;	    /* of that */
	unsigned int storage_flags; /* enum hyphae_storage_flags */
};

/*
 * A graph as the options say.  NULL with errno
 *   EINVAL  options NULL, unknown flags, storage that is neither zeroed nor
 *           left by a graph with the same size, a size without storage,
 *           HYPHAE_HEAP_CELLS with storage
 *   EBUSY   a graph lives in the storage
 *   ENOMEM  no memory, or not enough storage for a graph and one chunk
 *
 * hyphae_graph_new_sized() is for a program that knows the first `size` bytes
 * of the options: what the library knows beyond them is 0, and what the
 * program knows beyond the library must be (else EINVAL).
 */
HYPHAE_API struct hyphae_graph *
hyphae_graph_new_sized(const struct hyphae_graph_options *options, size_t size);
static inline struct hyphae_graph *
hyphae_graph_new_with(const struct hyphae_graph_options *options)
{
	return hyphae_graph_new_sized(options, sizeof(*options));
}

/*
 * Dispose its scopes, and release the graph and everything in it: all its
 * handles become stale, and nothing has to be given back any more.
 * NULL is allowed.  -EBUSY inside a batch or a callback of this graph.
 * No other thread may be using the graph.
 */
HYPHAE_API int hyphae_graph_free(struct hyphae_graph *graph);

/* A number that no other graph or cell of this process had or will have. */
HYPHAE_API uint64_t hyphae_graph_id(const struct hyphae_graph *graph);

/* What a graph holds at this moment. */
struct hyphae_graph_counts {
	size_t cells;
	size_t subscriptions;
	size_t height; /* of the highest cell so far; a source has height 0 */
	size_t timers; /* armed: those of clock.h and of operators */
};
HYPHAE_API int hyphae_graph_counts(const struct hyphae_graph *graph,
				   struct hyphae_graph_counts *ret_counts);

/*
 * Something went wrong where no caller was there to be told by a return code:
 * a subscriber returned an error, the graph did not settle, or a thread ended
 * and had left something open (-ECANCELED; see "Threads" in hyphae.h).
 */
struct hyphae_problem {
	int code;	     /* a negative errno */
	uint64_t cell_id;    /* where; 0: at no cell (a timer, a thread) */
	const char *message; /* a sentence; valid during the call */
};
typedef void (*hyphae_problem_fn)(const struct hyphae_problem *problem,
				  void *ctx);

/*
 * Have `fn` called for each problem, on the thread that propagates, or that
 * ends.
 * It may not write to the graph (-EPERM).  NULL: nobody.
 */
HYPHAE_API int hyphae_graph_on_problem(struct hyphae_graph *graph,
				       hyphae_problem_fn fn, void *ctx);

/*
 * How many waves one write may start, one after the other, through
 * subscribers that write again, before it ends with -ELOOP.  Default 100; at
 * least 1.
 */
HYPHAE_API int hyphae_graph_set_wave_limit(struct hyphae_graph *graph,
					   unsigned int waves);

/*
 * Derived cells that are made from now on are lazy (hyphae_cell_set_lazy()),
 * or no longer.
 */
HYPHAE_API int hyphae_graph_set_lazy(struct hyphae_graph *graph, bool lazy);

/*
 * 0 if no batch is open and nothing is propagating or queued, else -EBUSY:
 * for tests that end.
 */
HYPHAE_API int hyphae_graph_check_idle(struct hyphae_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
