/* SPDX-License-Identifier: MIT */
/*
 * Operators that have to do with time: debounce, throttle and their kin, and
 * cells that time alone moves.
 *
 * Time is that of the graph's clock (clock.h), in nanoseconds.  Timers run
 * when the clock is advanced, or in hyphae_graph_dispatch(); each that has
 * something to tell is a wave and a pass of its own.  At one moment they run
 * before what is written at that moment after the clock has reached it.
 *
 * What holds for all operators here that have an input, unless said otherwise:
 *
 * Values      What the input holds when the cell is made counts as a value that
 *             came at that moment; what an event emitted before does not.  A
 *             value cell brings one value a wave, its last; an event brings
 *             each.  An event makes an event; a value cell makes a value cell,
 *             in which an equal value is no change.  Until there is something
 *             to tell the cell has no value (-ENODATA).
 * Completion  What is pending is told first, at once, then the cell completes.
 * Errors      An error of the input, to be recovered from or for good, is
 *             held at once, and what is pending is dropped: nothing that is
 *             older is told after it.
 * Release     When the last reference to the cell goes, so do its timer and
 *             all that it keeps; not when the timer would have been due.
 * Lazy        An idle cell has no timer and keeps nothing; woken, it begins as
 *             when it was made.
 * Eager       As in any other graph.
 * Clock       Periods are counted on when the graph comes to follow another
 *             clock (hyphae_graph_set_clock()); where that has not come to when
 *             they began, from the next value on.
 * Memory      All of it is allocated when the cell is made.  A value that is
 *             kept is shared, not copied; while its box is in use here, the
 *             input needs a new one for its next value.
 *
 * A NULL input gives NULL, errno untouched.  All return a new reference, or
 * NULL with errno EINVAL, ESTALE, EXDEV or ENOMEM.  Several threads: whoever
 * runs the clock propagates, or leaves it to who does already.
 */
#ifndef HYPHAE_TIMING_H
#define HYPHAE_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/clock.h>
#include <hyphae/export.h>
#include <hyphae/operators.h>
#include <hyphae/overflow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- less often -------------------------------------------------------- */

/*
 * The newest value, when none has come for `quiet_ns`.  Each value is told
 * at most once.  With 0 it is told when the clock is next advanced, also by 0.
 */
#define hyphae_debounce(input, quiet_ns)                                       \
	hyphae_debounce_at(input, quiet_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_debounce_at(struct hyphae_cell *input,
						  uint64_t quiet_ns,
						  const char *site);

enum hyphae_edges {
	HYPHAE_LEADING = 1,
	HYPHAE_TRAILING = 2,
	HYPHAE_BOTH_EDGES = 3,
};

/*
 * At most one value in any `window_ns`.
 *   HYPHAE_LEADING     a value that comes outside of a window is told at once
 *                      and begins one; those that come in it are passed over
 *   HYPHAE_TRAILING    a value that comes outside of one begins one; the last
 *                      that came until its end is told at the end, and begins
 *                      the next
 *   HYPHAE_BOTH_EDGES  told at once and begins one; the last of those that
 *                      came in it is told at its end, and begins the next
 * What the input holds at first is told at once and begins no window, so the
 * throttle of a value cell always holds a value.  After an error there is no
 * window either, so what heals it is told as one that comes outside.
 * EINVAL: no edges, or others.
 */
#define hyphae_throttle(input, window_ns, edges)                               \
	hyphae_throttle_at(input, window_ns, edges, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_throttle_at(struct hyphae_cell *input,
						  uint64_t window_ns,
						  unsigned int edges,
						  const char *site);

/*
 * A value that comes outside of a window begins one; the last that came until
 * its end is told at the end.  The next value begins the next window.
 */
#define hyphae_audit(input, window_ns)                                         \
	hyphae_audit_at(input, window_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_audit_at(struct hyphae_cell *input,
					       uint64_t window_ns,
					       const char *site);

/*
 * Every `period_ns`, counted from when it was made, the last value that came
 * since; nothing if none did, and then no timer runs.  EINVAL: 0.
 */
#define hyphae_sample_time(input, period_ns)                                   \
	hyphae_sample_time_at(input, period_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_sample_time_at(struct hyphae_cell *input,
						     uint64_t period_ns,
						     const char *site);

/*
 * What came in each `period_ns`, counted from when it was made, as one value
 * of `type`: fn(values, count), oldest first, count 1 to `capacity`.  Nothing
 * is told for a period in which nothing came, and then no timer runs.  When
 * `capacity` values have come they are told at once; so nothing is lost.
 *
 * A recoverable error is held at once, what was gathered is kept and told when
 * the first period is over that ends after the input has a value again.  A
 * failure for good drops it.  An error that fn returns is held, and the values
 * it was given are gone.  EINVAL: a period of 0, a capacity of 0 or over
 * HYPHAE_CAPACITY_MAX, no type, no fn.
 */
#define hyphae_buffer_time(input, period_ns, capacity, type, fn, ctx)          \
	hyphae_buffer_time_at(input, period_ns, capacity, type, fn, ctx,       \
			      HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_buffer_time_at(struct hyphae_cell *input, uint64_t period_ns,
		      size_t capacity, const struct hyphae_type *type,
		      hyphae_combine_fn fn, void *ctx, const char *site);

/* ---- later, or too late ------------------------------------------------- */

/*
 * Everything `delay_ns` later, in order: values, also the one held at first,
 * recoverable errors, and that one is over without a value, which counts as an
 * error here; and completion; but a failure for good at once, and what waits
 * is dropped.  With 0 it is told when the clock is next advanced, also by 0.
 * When its timer runs, all that is due by then is told, a wave each.
 *
 * At most `capacity` (1 to HYPHAE_CAPACITY_MAX) values and errors wait; what
 * comes to a full queue meets `policy`: DROP_OLDEST, DROP_NEWEST, LATEST, or
 * FAIL, with which the cell fails for good with -EOVERFLOW at once.  (EINVAL:
 * another policy.)  What waits takes 24 bytes each.
 */
#define hyphae_delay(input, delay_ns, capacity, policy)                        \
	hyphae_delay_at(input, delay_ns, capacity, policy, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_delay_at(struct hyphae_cell *input, uint64_t delay_ns, size_t capacity,
		enum hyphae_overflow policy, const char *site);

/*
 * How many values and errors it dropped: for want of room, or when it failed.
 * 0, -EINVAL (also for a cell that is no delay) or -ESTALE.
 */
HYPHAE_API int hyphae_delay_dropped(const struct hyphae_cell *cell,
				    uint64_t *ret_count);

/*
 * The values of the input; but when it has brought nothing (no value, no
 * recoverable error) for `silence_ns`, counted also from when the cell was
 * made, it fails for good with -ETIMEDOUT and lets go of the input.
 * EINVAL: 0.
 */
#define hyphae_timeout(input, silence_ns)                                      \
	hyphae_timeout_at(input, silence_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_timeout_at(struct hyphae_cell *input,
						 uint64_t silence_ns,
						 const char *site);

/* ---- by the clock alone -------------------------------------------------- */

enum hyphae_interval_flags {
	HYPHAE_INTERVAL_COALESCE = 1,
};

/*
 * How many periods have passed since it was made: an int64 cell, 0 at first,
 * then 1, 2, 3, ... for ever.  `flags` is 0 or HYPHAE_INTERVAL_COALESCE: when
 * time has jumped over several periods, that is told once, in the place of the
 * last, and the difference of two values tells how many there were; without,
 * each is told, at its own time if the clock visits it.  A cell that is told
 * late stays in step.  What would be beyond the end of time is not told.
 * EINVAL: a period of 0, other flags.
 */
#define hyphae_interval(graph, period_ns, flags)                               \
	hyphae_interval_at(graph, period_ns, flags, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_interval_at(struct hyphae_graph *graph,
						  uint64_t period_ns,
						  unsigned int flags,
						  const char *site);

/* An int64 cell without a value; after `delay_ns` it holds 1 and completes. */
#define hyphae_after(graph, delay_ns)                                          \
	hyphae_after_at(graph, delay_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_after_at(struct hyphae_graph *graph,
					       uint64_t delay_ns,
					       const char *site);

/*
 * The `count` values (at most HYPHAE_CAPACITY_MAX) of an array, of which it
 * keeps copies: the first at once, then one every `period_ns`; one period
 * after the last it completes.  Without values it completes at once.  In a
 * value cell equal neighbours are told once.  Lazy: begins with the first
 * again.  EINVAL: no type, a period of 0, NULL; or what type->copy returned.
 */
#define hyphae_from_array(graph, type, values, count, period_ns)               \
	hyphae_from_array_at(graph, type, values, count, period_ns, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_from_array_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		     const void *values, size_t count, uint64_t period_ns,
		     const char *site);

/*
 * The next value: write it to `ret` as a hyphae_map_fn does and return 1; or
 * 0: there is no more; or a negative errno, with which the cell fails for good.
 */
typedef int (*hyphae_next_fn)(void *ret, void *ctx);

/*
 * The same with values that next(ctx) makes, when each is due.  It is called
 * on the thread that propagates, may not write, and is not called again when
 * it has returned 0 or an error.  Lazy: it goes on where it was.
 */
#define hyphae_from_iterator(graph, type, period_ns, next, ctx)                \
	hyphae_from_iterator_at(graph, type, period_ns, next, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_from_iterator_at(struct hyphae_graph *graph,
			const struct hyphae_type *type, uint64_t period_ns,
			hyphae_next_fn next, void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
