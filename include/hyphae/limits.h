/* SPDX-License-Identifier: MIT */
/*
 * Operators that let a part of the values pass, and that tell of the end.
 *
 * What operators.h says holds for all of them; in addition:
 *
 *  - What counts as a value: the one that the input holds when the cell is
 *    made is the first; then each change, of a batch the last; of an event
 *    each emission after that.  Errors do not count.
 *  - A cell that has let nothing pass has no value.  An error of the input is
 *    handed on (of the recoverable kind until the input's next value, whether
 *    that passes or not) and changes nothing else.
 *  - A cell that completes by itself lets go of its input first: that has a
 *    target less when the subscriber is told.
 *  - The cell of an event is an event, except of last and last_or.
 *  - Idle lazy cells that wake count from the beginning.
 *  - Nothing is allocated after the cell is made.
 */
#ifndef HYPHAE_LIMITS_H
#define HYPHAE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/operators.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The first n values, then completion, together with the n-th.  With n == 0
 * the cell has completed when it is made and never follows the input.
 */
#define hyphae_take(input, n) hyphae_take_at(input, n, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_take_at(struct hyphae_cell *input,
					      size_t n, const char *site);

/* hyphae_take(input, 1). */
#define hyphae_first(input) hyphae_first_at(input, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_first_at(struct hyphae_cell *input,
					       const char *site);

/* The n-th value, the first being number 0; then completion. */
#define hyphae_element_at(input, n) hyphae_element_at_at(input, n, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_element_at_at(struct hyphae_cell *input,
						    size_t n, const char *site);

/* All values but the first n. */
#define hyphae_skip(input, n) hyphae_skip_at(input, n, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_skip_at(struct hyphae_cell *input,
					      size_t n, const char *site);

/*
 * The values before the first of which fn says 0, then completion; with
 * `inclusive` that one too.  fn is not called after that.  When fn fails, the
 * cell holds its error and goes on.
 */
#define hyphae_take_while(input, fn, inclusive, ctx)                           \
	hyphae_take_while_at(input, fn, inclusive, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_take_while_at(struct hyphae_cell *input,
						    hyphae_filter_fn fn,
						    bool inclusive, void *ctx,
						    const char *site);

/* The values from the first of which fn says 0 on; fn is not called after. */
#define hyphae_skip_while(input, fn, ctx)                                      \
	hyphae_skip_while_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_skip_while_at(struct hyphae_cell *input,
						    hyphae_filter_fn fn,
						    void *ctx,
						    const char *site);

/*
 * The values until `notifier` has its next value, then completion.  What the
 * notifier holds when the cell is made does not count, nor do its completion
 * and its recoverable errors; if it fails for good, so does the cell.  When
 * both change in one wave, the stop wins.  The two need not be of one type.
 */
#define hyphae_take_until(input, notifier)                                     \
	hyphae_take_until_at(input, notifier, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_take_until_at(struct hyphae_cell *input, struct hyphae_cell *notifier,
		     const char *site);

/*
 * The opposite: the values from the notifier's next value on, in the same
 * wave too, so that each value passes one of the two.  A notifier that
 * completes before leaves it closed; one that fails for good before that fails
 * the cell, and after that is ignored.
 */
#define hyphae_skip_until(input, notifier)                                     \
	hyphae_skip_until_at(input, notifier, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_skip_until_at(struct hyphae_cell *input, struct hyphae_cell *notifier,
		     const char *site);

/*
 * The last value, when the input completes, and completion with it; without
 * one just completion, or, with last_or, `*otherwise`, which is copied and of
 * the input's type (else EINVAL).  If the input holds an error when it
 * completes, the cell holds that error and completes.
 * Also of an event this is a cell, whose value can be read afterwards.
 */
#define hyphae_last(input) hyphae_last_at(input, HYPHAE_HERE)
#define hyphae_last_or(input, type, otherwise)                                 \
	hyphae_last_or_at(input, type, otherwise, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_last_at(struct hyphae_cell *input,
					      const char *site);
HYPHAE_API struct hyphae_cell *hyphae_last_or_at(struct hyphae_cell *input,
						 const struct hyphae_type *type,
						 const void *otherwise,
						 const char *site);

/* How a cell came to its end. */
enum hyphae_end_kind {
	HYPHAE_END_COMPLETE = 1, /* its input completed */
	HYPHAE_END_FAILED = 2,	 /* its input failed for good */
	HYPHAE_END_RELEASED =
		3, /* nobody kept it any more, or the graph went */
};
typedef void (*hyphae_finalize_fn)(enum hyphae_end_kind kind, void *ctx);

/*
 * The values of the input; fn(kind, ctx) is called exactly once when the cell
 * is over: before its subscribers and followers are told of the end, or when
 * the cell is released without one.  Of an input that has ended already, when
 * the cell has been made, before the constructor returns if no propagation is
 * under way.  fn is not called if there will be no cell.
 * fn may read, and make and release cells; writing is -EPERM.  It runs on the
 * propagating thread, or on the one that releases.  A lazy cell that goes idle
 * is not over.
 */
#define hyphae_finalize(input, fn, ctx)                                        \
	hyphae_finalize_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_finalize_at(struct hyphae_cell *input,
						  hyphae_finalize_fn fn,
						  void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
