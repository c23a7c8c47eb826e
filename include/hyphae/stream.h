/* SPDX-License-Identifier: MIT */
/*
 * Streams: what a cell tells, for another thread or an event loop to take.
 *
 * A stream is a subscription that puts every signal into a bounded queue.
 * Whoever sets the cell never waits for whoever takes.  What finds no room is
 * dropped by the stream's policy and counted; the terminal signal always has
 * room.  So a stream always ends, with the last of
 *   - the end of the cell: completion, or its terminal error;
 *   - the terminal error -EOVERFLOW, with HYPHAE_OVERFLOW_FAIL;
 *   - the terminal error -ECANCELED when the subscription was ended by
 *     something else: the graph was freed, or the scope in which the stream
 *     was made was disposed.  What was queued before is still there to take.
 *
 * Handles are counted and generation-checked as those of cells are: one whose
 * stream was closed is -ESTALE, on every thread, also while it waits.
 *
 * All functions but hyphae_stream_new() may be called on any thread, several
 * at once, also for a single-threaded graph; no lock is held while type->copy
 * or type->drop runs.  hyphae_stream_close() of a stream on a cell of a
 * single-threaded graph uses the graph if it is called on the thread that made
 * the stream; on another it leaves the graph alone, and the subscription ends
 * with the cell's next signal.
 */
#ifndef HYPHAE_STREAM_H
#define HYPHAE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/overflow.h>
#include <hyphae/subscription.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_stream;

/*
 * What is taken from a stream.  Values up to 8 bytes without copy and drop lie
 * in the item; others are shared with the graph, by reference (copied, if the
 * graph lives in storage of the caller's: memory.h), and are not to be
 * changed.  An item keeps what it refers to, also when the graph is gone, until
 * hyphae_item_release(); give every item back that was taken.  Do not copy or
 * move it: `signal` may point into it.
 */
struct hyphae_item {
	/* As a subscriber gets it: hyphae_int64_of(&item.signal) and so on. */
	struct hyphae_signal signal;
	uint64_t dropped;	/* between the item taken before and this one */
	uint64_t dropped_total; /* by this stream until this was taken */
	uint64_t private_word;
	void *private_error;
};

/*
 * Give up what the item holds; type->drop may run here if it was the last to
 * hold the value.  Once more, or of a zeroed item, does nothing.
 */
HYPHAE_API void hyphae_item_release(struct hyphae_item *item);

/*
 * A stream of the signals of `cell`, of which up to `capacity` (1 to
 * HYPHAE_CAPACITY_MAX) values and recoverable errors wait.  What the cell
 * holds now is the first item, unless `flags` has HYPHAE_SKIP_INITIAL.  Of an
 * ended cell it has the last value and the end.
 *
 * Returns a handle, to be given back with hyphae_stream_close(); NULL with
 * errno EINVAL (also for HYPHAE_OVERFLOW_BLOCK and other flags), ESTALE or
 * ENOMEM.
 */
HYPHAE_API struct hyphae_stream *hyphae_stream_new(struct hyphae_cell *cell,
						   size_t capacity,
						   enum hyphae_overflow policy,
						   unsigned int flags);

/*
 * A file descriptor that poll() calls readable while hyphae_stream_next()
 * would not return 0: there is an item, or the stream has ended (it stays
 * readable then, as at the end of a file).  It belongs to the stream: do not
 * read, write or close it, and take it out of your poll set before the stream
 * is closed (a poll() that is under way then wakes).
 * Made at the first call: until then the stream costs no descriptor and no
 * system call.  Returns it, or -EINVAL, -ESTALE, -EMFILE, -ENFILE, -ENOMEM.
 */
HYPHAE_API int hyphae_stream_fd(struct hyphae_stream *stream);

/*
 * Take the oldest item, without waiting.  Returns 1: *ret_item is to be
 * released; 0: there is none; -ESHUTDOWN: the terminal item was taken before;
 * -ESTALE, -EINVAL.  Then *ret_item is untouched.
 */
HYPHAE_API int hyphae_stream_next(struct hyphae_stream *stream,
				  struct hyphae_item *ret_item);

/*
 * The same, but wait for an item up to `timeout_ns` nanoseconds (negative: for
 * ever); 0: none came.  -ESTALE when the stream is closed meanwhile.  Not
 * from inside a callback of the cell's graph: it would wait for itself.
 */
HYPHAE_API int hyphae_stream_wait(struct hyphae_stream *stream,
				  struct hyphae_item *ret_item,
				  int64_t timeout_ns);

/* received == taken + dropped + waiting; the end is not counted. */
struct hyphae_stream_counts {
	uint64_t
		received; /* values and recoverable errors that the cell told */
	uint64_t taken;
	uint64_t dropped;
	uint64_t waiting;
};
HYPHAE_API int hyphae_stream_counts(struct hyphae_stream *stream,
				    struct hyphae_stream_counts *ret_counts);

/*
 * Close a stream: the subscription ends, what waits is given up, and threads
 * in hyphae_stream_wait() return -ESTALE.  From any thread and any callback.
 * NULL is allowed.  -ESTALE: it was closed before.
 */
HYPHAE_API int hyphae_stream_close(struct hyphae_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
