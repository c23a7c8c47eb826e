/* SPDX-License-Identifier: MIT */
/*
 * Posts: writes that never propagate on the caller's thread.
 *
 * A posted write waits until somebody propagates in the cell's graph: a write,
 * the end of a batch, hyphae_settle() or hyphae_graph_dispatch() takes along
 * what waits, as one wave, after its own.  So no subscriber is ever called
 * inside a post, and a post never waits for one.
 *
 * This is also how other threads reach a graph made with
 * HYPHAE_SINGLE_THREAD: the functions that post are the only ones that they
 * may call, as long as they have a reference to the cell, or whoever has one
 * keeps it for them.
 *
 * Posts are a state, not a queue: one value a cell waits, and a later one
 * replaces it.  So what waits is bounded by the number of cells, and the last
 * value posted is the one that is stored; of an event source the last event
 * is emitted (inputs keep them all: input.h).  The order between a post and a
 * set of the same thread is not kept: the post may come last.  What happens to
 * posts is counted: hyphae_graph_post_counts().
 *
 * What waits takes its memory where the graph has its own.  Posters take theirs
 * from the process, also for a graph in storage of the caller (memory.h): who
 * posts through one when the graph is gone, and its storage perhaps another's,
 * must find that out by the poster.
 */
#ifndef HYPHAE_POST_H
#define HYPHAE_POST_H

#include <stdbool.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/graph.h>
#include <hyphae/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Leave a copy of `*value` for a source cell.  From any thread and any
 * callback, also from a compute function.  type->copy runs on the calling
 * thread; so does type->drop for a value that this one replaces.  (Of a
 * single-threaded graph this thread may be another one, so a write in them is
 * not refused there; it is not allowed either.)
 *
 * Returns 0, or -EINVAL (not a source, wrong type), -ESTALE, -ESHUTDOWN (the
 * cell has ended, or its end was posted), -ENOMEM.  A cell that ends or goes
 * after that refuses the value: see hyphae_post_counts.refused.
 */
HYPHAE_API int hyphae_cell_post(struct hyphae_cell *cell,
				const struct hyphae_type *type,
				const void *value);
HYPHAE_API int hyphae_int64_post(struct hyphae_cell *cell, int64_t value);
HYPHAE_API int hyphae_double_post(struct hyphae_cell *cell, double value);
HYPHAE_API int hyphae_bool_post(struct hyphae_cell *cell, bool value);
HYPHAE_API int hyphae_pointer_post(struct hyphae_cell *cell, void *value);
HYPHAE_API int hyphae_string_post(struct hyphae_cell *cell, const char *text);

/*
 * The same for the end of a source: hyphae_cell_complete() and
 * hyphae_cell_fail().  A value that waits is told first.
 */
HYPHAE_API int hyphae_cell_post_complete(struct hyphae_cell *cell);
HYPHAE_API int hyphae_cell_post_fail(struct hyphae_cell *cell, int code,
				     const char *message);

/* Of a graph, since it was made.  posted is the sum of the others. */
struct hyphae_post_counts {
	uint64_t posted;   /* accepted: the function returned 0 */
	uint64_t replaced; /* by a later one that was posted */
	uint64_t applied;  /* given to the cell */
	uint64_t refused;  /* when its turn came the cell had ended or gone */
	uint64_t waiting;
};
/* From any thread, also for a single-threaded graph.  -EINVAL, -ESTALE. */
HYPHAE_API int hyphae_graph_post_counts(const struct hyphae_graph *graph,
					struct hyphae_post_counts *ret_counts);

/*
 * A poster: a source cell and a place for one value, made in advance so that
 * a signal handler can post.  The types are those whose values lie in the
 * cell: at most 8 bytes, without copy and drop.
 *
 * Returns a poster that keeps the cell alive; NULL with errno EINVAL (not a
 * source, another kind of type), ESTALE or ENOMEM.  Not from other threads for
 * a single-threaded graph.
 */
struct hyphae_poster;
HYPHAE_API struct hyphae_poster *hyphae_poster_new(struct hyphae_cell *cell);

/*
 * Give it back, when nobody can post through it any more: its signal handler
 * is gone, threads that had it are told.  A value that still waits is refused
 * and counted so.  NULL is allowed.  Also when the graph has been freed.
 * Not from other threads for a single-threaded graph.
 */
HYPHAE_API void hyphae_poster_free(struct hyphae_poster *poster);

/*
 * Leave a value: async-signal-safe (a few atomic operations and, if somebody
 * waits for the graph's file descriptor, a write() to it; errno is kept), from
 * any thread and from several at once.  The last value wins; one that comes
 * while the graph takes the one before may be stored in its place too.
 *
 * Returns 0, -EINVAL (NULL, another type than the cell's), or -ESTALE if the
 * graph is gone.  That the cell has ended shows when the value's turn comes.
 */
HYPHAE_API int hyphae_poster_post_int64(struct hyphae_poster *poster,
					int64_t value);
HYPHAE_API int hyphae_poster_post_double(struct hyphae_poster *poster,
					 double value);
HYPHAE_API int hyphae_poster_post_bool(struct hyphae_poster *poster,
				       bool value);
HYPHAE_API int hyphae_poster_post_pointer(struct hyphae_poster *poster,
					  void *value);
/* Of any such type; `*value` is read once. */
HYPHAE_API int hyphae_poster_post(struct hyphae_poster *poster,
				  const struct hyphae_type *type,
				  const void *value);

/*
 * How many of its values were replaced before the graph took them; 0 for NULL.
 * Async-signal-safe.
 */
HYPHAE_API uint64_t hyphae_poster_replaced(const struct hyphae_poster *poster);

#ifdef __cplusplus
}
#endif

#endif
