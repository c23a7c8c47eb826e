/* SPDX-License-Identifier: MIT */
/*
 * Operators: cells that are computed from other cells.
 *
 * A derived cell is computed when it is made and again in each wave in which
 * an input changed, once, in ascending height.  Its function runs on the
 * propagating thread.  It may read cells and make or release them; writing is
 * -EPERM.  What it reads beside its input is not followed, and may be of before
 * the wave: for that there are hyphae_combine() and hyphae_computed().
 *
 * When the function returns a negative errno the cell holds that error, with
 * an empty message (or the one of hyphae_error()), until an input changes
 * again; cells below it hold the same error and their functions do not run.
 * (hyphae_cell_get() returns the code as it is: choose one that its own errors
 * do not use.)  A positive result is taken for -EINVAL.  A cell without a
 * value (a filter that has not let anything pass) leaves the cells below
 * without one.
 *
 * It completes when all its inputs have; it fails for good when one does.
 *
 * Each takes a reference of its own to every input; yours stay yours.  They
 * return a new reference, or NULL with errno EINVAL, ESTALE, EXDEV or ENOMEM.
 * A NULL input gives NULL, errno untouched.
 * Probe: cell_create; compute and write_value at each computation in a wave.
 *
 * Where to find what other libraries call by another name:
 *
 *	try_map, map of a Result     hyphae_map() whose function may fail
 *	map_ok, map_err              hyphae_map(), hyphae_map_error()
 *	catchError, onErrorReturn    hyphae_catch_error()
 *	unwrap_or, defaultIfEmpty    hyphae_unwrap_or(); when it completes
 *	                             empty: hyphae_last_or()
 *	tap, do, inspect             hyphae_tap()
 *	dedupe, distinctUntilChanged every cell; of events hyphae_deduped()
 *	stepper, startWith, to cell  hyphae_hold()
 *	updates, to stream           hyphae_changes()
 *	cold, share                  share.h
 *	of, never, throw, from, generate  source.h
 *	zip, merge, sample, concat, race, withLatestFrom  many.h
 *	take, first, last, skip, ... limits.h
 *	elementAt, nth               hyphae_element_at()
 *	finally, doOnTerminate       hyphae_finalize()
 *	fold, accum, foldp           hyphae_scan(); at the end hyphae_reduce()
 *	pairwise, window, bufferCount  history.h
 *	toArray, collect             hyphae_reduce() into a type of yours
 *	state machine                transition.h
 *	switchMap, mergeMap, retry   dynamic.h
 */
#ifndef HYPHAE_OPERATORS_H
#define HYPHAE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write the result to `ret` (zeroed memory of the result type's size; the
 * cell takes over what the value owns) and return 0; or return a negative
 * errno and leave `ret` alone.
 */
typedef int (*hyphae_map_fn)(void *ret, const void *input, void *ctx);

/* fn(input) as a cell of `type`. */
#define hyphae_map(input, type, fn, ctx)                                       \
	hyphae_map_at(input, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_map_at(struct hyphae_cell *input,
					     const struct hyphae_type *type,
					     hyphae_map_fn fn, void *ctx,
					     const char *site);

/* 1: let the value pass; 0: keep the previous one; or a negative errno. */
typedef int (*hyphae_filter_fn)(const void *input, void *ctx);

/*
 * The values of `input` that pass.  Has no value until one does, and keeps an
 * error of its input or of fn until a value passes.
 */
#define hyphae_filter(input, fn, ctx)                                          \
	hyphae_filter_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_filter_at(struct hyphae_cell *input,
						hyphae_filter_fn fn, void *ctx,
						const char *site);

/* ---- failing with a message --------------------------------------------- */

/* Bytes of a message without the NUL; a longer one is cut. */
#define HYPHAE_MESSAGE_MAX 255

/*
 * For a function that hyphae calls, to fail with more than a number:
 *
 *	return hyphae_error(-ERANGE, "%d is more than %d", n, limit);
 *
 * The cell holds the code and the message; a subscriber or timer that returns
 * it has both told to the graph's problem function (a parallel one to the
 * pool's); a loop that ends with it returns the code.  The result is negative
 * and stands for code and message, so hand it on as it is, at once: it is not
 * the code, and the message is lost when this thread calls hyphae_error()
 * again or the result is not returned.  A code that is not -1 to -HYPHAE_ERRNO_MAX
 * becomes -EINVAL.  A copy function that returns it keeps the code only.
 */
HYPHAE_API int hyphae_error(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- errors -------------------------------------------------------------- */

/*
 * Make a value in `ret`, as hyphae_map_fn, instead of an error.  `message`
 * ("" if there is none) is valid during the call.
 */
typedef int (*hyphae_catch_fn)(void *ret, int code, const char *message,
			       void *ctx);

/*
 * The values of `input`, and fn's value when the input comes to hold an error;
 * the input itself still holds it.  When the input fails for good, the cell
 * holds fn's value and completes.  If fn fails, the cell holds its error (of a
 * failure for good: and completes).  When the input's error is over with no
 * value in its place, fn's value stays, and fn's error is over too.  Of an
 * event an event.
 */
#define hyphae_catch_error(input, fn, ctx)                                     \
	hyphae_catch_error_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_catch_error_at(struct hyphae_cell *input,
						     hyphae_catch_fn fn,
						     void *ctx,
						     const char *site);

/* Another code, or what hyphae_error() returns; 0: leave the error alone. */
typedef int (*hyphae_error_fn)(int code, const char *message, void *ctx);

/*
 * The values of `input`, and its errors as fn changes them; one that is for
 * good stays so.  fn runs once for each error.  Of an event an event.
 */
#define hyphae_map_error(input, fn, ctx)                                       \
	hyphae_map_error_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_map_error_at(struct hyphae_cell *input,
						   hyphae_error_fn fn,
						   void *ctx, const char *site);

/*
 * The values of `input`, and a copy of `*otherwise` while the input holds an
 * error or has no value, so that the cell always has one.  When the input
 * fails for good, the cell holds it and completes.  `type` must be the
 * input's, else EINVAL.  Of an event it is an event: the value is emitted for
 * each error, and nothing when the cell is made.
 */
#define hyphae_unwrap_or(input, type, otherwise)                               \
	hyphae_unwrap_or_at(input, type, otherwise, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_unwrap_or_at(struct hyphae_cell *input, const struct hyphae_type *type,
		    const void *otherwise, const char *site);

/* ---- looking on, and repetitions ----------------------------------------- */

typedef void (*hyphae_tap_fn)(const void *value, void *ctx);

/*
 * The values of `input`; fn(value, ctx) sees each before the cell has it: the
 * first when the cell is made, not errors and ends.  In the middle of a wave,
 * so it must not write; to act on values, subscribe.  Of an event an event.
 */
#define hyphae_tap(input, fn, ctx) hyphae_tap_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_tap_at(struct hyphae_cell *input,
					     hyphae_tap_fn fn, void *ctx,
					     const char *site);

/* Shall `value` be taken for the last one that passed? */
typedef bool (*hyphae_same_fn)(const void *last, const void *value, void *ctx);

/*
 * The values of `input` that differ from the last one that passed, by fn: of
 * small steps, none is followed until they add up.  After an error, which is
 * handed on, any value passes.  Of an event an event.
 */
#define hyphae_distinct_until_changed_by(input, fn, ctx)                       \
	hyphae_distinct_until_changed_by_at(input, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_distinct_until_changed_by_at(struct hyphae_cell *input,
				    hyphae_same_fn fn, void *ctx,
				    const char *site);

/*
 * The same by the type's own equality.  Cells do that by themselves: this is
 * for events, and for types that are hyphae_never_equal, which it compares
 * byte by byte.
 */
#define hyphae_deduped(input) hyphae_deduped_at(input, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_deduped_at(struct hyphae_cell *input,
						 const char *site);

/* The most values that hyphae_distinct() remembers. */
#define HYPHAE_DISTINCT_MAX ((size_t)1 << 20)

/*
 * The values of `input` that have not passed before.  The last `capacity` of
 * them are remembered (1 to HYPHAE_DISTINCT_MAX, else EINVAL; 24 to 32 bytes
 * each, at once, and the values): when there are more, the one that passed
 * first is forgotten, and passes again.  Equal as in hyphae_deduped().
 * Types with a `hash`, or compared byte by byte, are looked up in constant
 * time; one with `equal` and no `hash` is compared with each.
 * A value that is kept back leaves the cell as it is, but ends an error.  Of
 * an event an event.
 */
#define hyphae_distinct(input, capacity)                                       \
	hyphae_distinct_at(input, capacity, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_distinct_at(struct hyphae_cell *input,
						  size_t capacity,
						  const char *site);

/* ---- events and cells ----------------------------------------------------- */

/*
 * A cell that holds the last emission of `event`; before the first, and after
 * an error that is over with no emission in its place, a copy of `*initial`, or
 * nothing if that is NULL.  `type` is that of the event, else EINVAL; without
 * an initial value it may be NULL.  Several emissions in a batch: the cell holds
 * each in turn.  Of a cell: the same values.
 */
#define hyphae_hold(event, type, initial)                                      \
	hyphae_hold_at(event, type, initial, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_hold_at(struct hyphae_cell *event,
					      const struct hyphae_type *type,
					      const void *initial,
					      const char *site);

/*
 * An event of the changes of a cell, one a wave: what it holds when the event
 * is made, or when a lazy one wakes, is no change.  Errors are emitted, too.
 */
#define hyphae_changes(input) hyphae_changes_at(input, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_changes_at(struct hyphae_cell *input,
						 const char *site);

/* ---- many inputs --------------------------------------------------------- */

/* As hyphae_map_fn, with the values of all inputs in order. */
typedef int (*hyphae_combine_fn)(void *ret, const void *const *inputs,
				 size_t count, void *ctx);

/* The most inputs of one cell. */
#define HYPHAE_INPUTS_MAX ((size_t)1 << 20)

/*
 * fn(inputs) as a cell of `type`.  The inputs may be of different types, and
 * a cell may be an input twice.  `inputs` is borrowed.  Has a value when all
 * have one.  Also of events it is a value cell: of each of them it has the last
 * emission since it was made, and is computed at every one.  `count` is 1 to
 * HYPHAE_INPUTS_MAX, else EINVAL.
 */
#define hyphae_combine(inputs, count, type, fn, ctx)                           \
	hyphae_combine_at(inputs, count, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_combine_at(struct hyphae_cell *const *inputs, size_t count,
		  const struct hyphae_type *type, hyphae_combine_fn fn,
		  void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
