/* SPDX-License-Identifier: MIT */
/*
 * Inputs: values that any thread pushes into a bounded queue, from where they
 * reach a source cell one by one.
 *
 * An input is a sequence: each value is given to the cell in a wave and a pass
 * of its own (with HYPHAE_INPUT_COALESCE all that wait are one batch, of which
 * the last one stays; of an event cell each counts).  That happens
 *   - in hyphae_input_flush(), which the graph's owner calls;
 *   - with HYPHAE_INPUT_AUTO in the push, as a hyphae_cell_set() would do it:
 *     at once, or by the thread that propagates now, or at the end of the
 *     pusher's batch, or after the subscriber that pushes.  Into a
 *     single-threaded graph the push is a post (post.h), on whatever thread:
 *     the values come when the graph's thread next looks.
 * An input and its pusher never wait for subscribers, except a push that does
 * the propagating, and HYPHAE_OVERFLOW_BLOCK, which waits for room.
 *
 * An input holds a reference to its cell and adds one source cell and one
 * subscription of its own to the graph.  Handles are counted and
 * generation-checked as those of cells are: a stale one is -ESTALE.  When the
 * graph is freed, what waits counts as dropped and pushes are -ESTALE; the
 * input is still to be given back.
 *
 * Threads: pushing and looking at the counts is for any thread at any time.
 * hyphae_input_new(), and flush, close and free, use the graph: those of a
 * single-threaded one are for its thread (closing and freeing with
 * HYPHAE_INPUT_AUTO for any).  type->copy runs in the push, on its thread;
 * type->drop wherever a value is dropped.
 */
#ifndef HYPHAE_INPUT_H
#define HYPHAE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/overflow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_input;

enum hyphae_input_flags {
	HYPHAE_INPUT_AUTO = 1,	   /* no flush is needed */
	HYPHAE_INPUT_COALESCE = 2, /* what waits together is one batch */
};

/* hyphae_input_push(): the queue was full, and this value was dropped. */
#define HYPHAE_INPUT_DROPPED 1

/*
 * An input for a source cell, with room for `capacity` values (1 to
 * HYPHAE_CAPACITY_MAX).  Returns a handle, to be given back with
 * hyphae_input_free(); NULL with errno EINVAL (not a source, unknown flags),
 * ESTALE, ESHUTDOWN (the cell has ended) or ENOMEM.
 */
HYPHAE_API struct hyphae_input *hyphae_input_new(struct hyphae_cell *cell,
						 size_t capacity,
						 enum hyphae_overflow policy,
						 unsigned int flags);

/*
 * Queue a copy of `*value`, whose type is the cell's.  When the queue is full:
 *   DROP_OLDEST, LATEST  the oldest goes
 *   DROP_NEWEST          this one goes: HYPHAE_INPUT_DROPPED
 *   FAIL                 -EAGAIN
 *   BLOCK                wait for room, for ever, or up to `timeout_ns`
 *                        nanoseconds (negative: for ever): -ETIMEDOUT.
 *                        -EDEADLK on the thread that would have to make room:
 *                        with AUTO and a shared graph one that propagates in
 *                        it; else the one that flushed (or dispatched) last,
 *                        at first the one that made the input.
 * Returns 0 or HYPHAE_INPUT_DROPPED: the value is counted as pushed.  Or, and
 * it is counted as refused: the above, -EINVAL, -ESTALE, -ESHUTDOWN (closed,
 * or the cell has ended), -ENOMEM, what type->copy returned; with AUTO also
 * -EPERM in a compute function of the graph, and -ELOOP for a value that was
 * pushed by a subscriber because of one that was pushed by a subscriber ... as
 * many times as the graph's wave limit.  With AUTO, after the value has
 * reached the cell, it can return what hyphae_cell_set() can.
 */
HYPHAE_API int hyphae_input_push(struct hyphae_input *input, const void *value);
HYPHAE_API int hyphae_input_push_wait(struct hyphae_input *input,
				      const void *value, int64_t timeout_ns);

/*
 * Give the cell what waits.  In a batch of this thread that happens at its
 * end; in a subscriber after it; while another thread propagates that one does
 * it.  Returns 0, -ESTALE, -EPERM (in a compute function), -ENOMEM (what waits
 * still does), or the first error of a subscriber.
 */
HYPHAE_API int hyphae_input_flush(struct hyphae_input *input);

/* pushed == delivered + coalesced + dropped + waiting */
struct hyphae_input_counts {
	uint64_t pushed;
	uint64_t delivered; /* given to the cell, each in its turn */
	uint64_t coalesced; /* replaced by a later one of the same batch */
	uint64_t dropped;   /* no room, or the cell or its graph was gone */
	uint64_t refused;   /* pushes that returned an error; not in pushed */
	uint64_t waiting;
};
HYPHAE_API int hyphae_input_counts(struct hyphae_input *input,
				   struct hyphae_input_counts *ret_counts);

/*
 * Refuse new values, flush, and complete the cell after the last one (with AUTO
 * in a single-threaded graph all that is posted, as pushes are: hyphae_settle()
 * before hyphae_graph_free(), or the cell ends with the graph).  Pushers
 * that wait for room return -ESHUTDOWN.  Returns what a flush does; 0 when it
 * was closed before.  After -ENOMEM or -EPERM nothing new is taken, and the
 * call may be repeated.
 */
HYPHAE_API int hyphae_input_close(struct hyphae_input *input);

/*
 * Close it, if it was not, and give the handle back.  NULL is allowed.
 * -ESTALE: it was given back before.  -ENOMEM or -EPERM: it was not.
 */
HYPHAE_API int hyphae_input_free(struct hyphae_input *input);

#ifdef __cplusplus
}
#endif

#endif
