/* SPDX-License-Identifier: MIT */
/*
 * Sources that need nobody to write to them: values that are known, or come
 * from a function, at once.  (One every period: hyphae_from_array(),
 * hyphae_from_iterator() in timing.h.)  Writing to them is -EINVAL.
 *
 * All return a new reference, or NULL with errno EINVAL, ESTALE (the graph is
 * gone) or ENOMEM.
 */
#ifndef HYPHAE_SOURCE_H
#define HYPHAE_SOURCE_H

#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/timing.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A sequence: an event (hyphae_event_new()) that emits copies of the `count`
 * values at `values`, in order, each in a wave of its own, and completes with
 * the last.  Without values (`values` may be NULL then) it is complete when it
 * is made.
 *
 * It is cold (hyphae_cold()): it begins when the first follower comes, inside
 * hyphae_subscribe() or whatever brought it, and runs to its end, or until
 * nothing follows it any more; then it begins afresh for the next.  Who comes
 * meanwhile hears the rest.  What is made of it is lazy, too, so
 *
 *	sum = hyphae_scan(hyphae_sequence(...), ...)
 *
 * runs when `sum` is followed.
 *
 * Its waves belong to one pass.  What operators below make of a value is told
 * before the next value is (so merges and zips of sequences do not pile up);
 * what subscribers and other threads write comes when it has run out.  In an
 * eager graph these waves are not depth first.
 */
#define hyphae_sequence(graph, type, values, count)                            \
	hyphae_sequence_at(graph, type, values, count, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_sequence_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		   const void *values, size_t count, const char *site);

/*
 * The same of the values that next() makes (hyphae_next_fn, in timing.h: 1 for
 * a value, 0 for the end, or a negative errno, which is for good; anything
 * else is -EINVAL).  It is called on the propagating thread, once a wave, and
 * may read, make and release cells; writing is -EPERM.  The end has a wave of
 * its own.  A follower that comes after all others have left goes on where
 * these stopped: a function cannot begin afresh.
 *
 * It may be endless, and then it is up to the followers to end it, by
 * hyphae_take() and its kin, by HYPHAE_DETACH or hyphae_unsubscribe() in a
 * subscriber, or hyphae_unsubscribe() on another thread: it stops when nothing
 * follows it.  Before that hyphae_subscribe() does not return, and writes to
 * the graph wait (those of one cell coalesce).
 *
 * drop(ctx), unless it is NULL, is called once, when the event is released
 * (also when this call fails).
 */
#define hyphae_generator(graph, type, next, ctx, drop)                         \
	hyphae_generator_at(graph, type, next, ctx, drop, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_generator_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		    hyphae_next_fn next, void *ctx, void (*drop)(void *ctx),
		    const char *site);

/*
 * Cells that are what they are from the beginning, also in a lazy graph; for
 * functions that have to return a cell:
 *
 *	hyphae_just()    holds a copy of *value and is complete
 *	hyphae_failed()  has failed for good; `code` is -1 to
 *	                 -HYPHAE_ERRNO_MAX (EINVAL), `message` may be NULL
 *	hyphae_never()   has no value and does not end
 *
 * An empty one that completes is hyphae_sequence() of no values.
 */
#define hyphae_just(graph, type, value)                                        \
	hyphae_just_at(graph, type, value, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_just_at(struct hyphae_graph *graph,
					      const struct hyphae_type *type,
					      const void *value,
					      const char *site);
#define hyphae_failed(graph, type, code, message)                              \
	hyphae_failed_at(graph, type, code, message, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_failed_at(struct hyphae_graph *graph,
						const struct hyphae_type *type,
						int code, const char *message,
						const char *site);
#define hyphae_never(graph, type) hyphae_never_at(graph, type, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_never_at(struct hyphae_graph *graph,
					       const struct hyphae_type *type,
					       const char *site);

#ifdef __cplusplus
}
#endif

#endif
