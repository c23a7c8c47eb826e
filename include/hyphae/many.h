/* SPDX-License-Identifier: MIT */
/*
 * Operators of many inputs: zip, merge, with_latest_from, sample, concat,
 * race, group.  (hyphae_combine() is in operators.h.)
 *
 * For all of them:
 *
 *  - A value cell brings one value a wave: its last.  An event brings each of
 *    its emissions.  Where "what it makes" is of an event, the result is an
 *    event (hyphae_event_new()), else a cell, which an equal value does not
 *    change.
 *  - What a cell holds when the operator is made counts as brought, an event's
 *    emissions before that do not.
 *  - A recoverable error of an input is handed on in its turn, as a value
 *    would be, and stands until the next value of the result; what the operator
 *    remembers is kept.  That an input's error is over with no value in its
 *    place brings nothing.  The first input that fails for good fails the
 *    result for good.
 *  - Errors of fn: a negative errno is a recoverable error of the result.
 *  - An eager graph outside of a batch brings the changes one at a time.
 *  - Idle (hyphae_cell_set_lazy()) they forget what they remember.
 *  - Nothing is allocated after they have been made, but where it is said.
 *
 * All return a new reference, or NULL with errno EINVAL, ESTALE, EXDEV or
 * ENOMEM; a NULL input gives NULL, errno untouched.  `inputs` is borrowed,
 * `count` is 1 to HYPHAE_INPUTS_MAX.  A cell may be an input twice.  Functions
 * run on the propagating thread; they may read, make and release cells,
 * writing is -EPERM.
 */
#ifndef HYPHAE_MANY_H
#define HYPHAE_MANY_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/operators.h>
#include <hyphae/overflow.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Pairs by position: fn(the first value of each input), fn(the second of
 * each), ...  Made of an event if one of the inputs is.
 *
 * An input that is ahead waits: at most `capacity` of its values (1 to
 * HYPHAE_CAPACITY_MAX, allocated now; a pair that becomes complete in a wave
 * makes room for what comes in it), then `policy` says what goes:
 *  - HYPHAE_OVERFLOW_FAIL: the result fails for good with -EOVERFLOW, for
 *    what follows would no longer pair by position;
 *  - HYPHAE_OVERFLOW_DROP_OLDEST, _DROP_NEWEST, or _LATEST, which is a
 *    capacity of 1 and the newest: the input skips a position;
 *  - HYPHAE_OVERFLOW_BLOCK is EINVAL.
 * hyphae_cell_backlog() tells what waits and what was given up.
 *
 * An input's recoverable error takes no position; it is told before the pair
 * that became complete in the same wave (of several, the first argument's).
 * It completes when an input has ended of which nothing waits; what waits of
 * others is given up.
 */
#define hyphae_zip(inputs, count, type, fn, ctx, capacity, policy)             \
	hyphae_zip_at(inputs, count, type, fn, ctx, capacity, policy,          \
		      HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_zip_at(struct hyphae_cell *const *inputs, size_t count,
	      const struct hyphae_type *type, hyphae_combine_fn fn, void *ctx,
	      size_t capacity, enum hyphae_overflow policy, const char *site);

/*
 * The values of all inputs, which are of one type (else EINVAL), as they come;
 * those of one wave in order of the arguments, each in a wave of its own.  So
 * a cell holds the value of the last argument that has one when it is made.
 * Made of an event if one of the inputs is.
 *
 * Completes when all have.  An input that fails for good takes its turn: what
 * arguments before it brought in the same wave is told, what those after it
 * brought is not.
 *
 * What waits for its wave is bounded by twice `count`, and nothing gets into
 * its way; but where an operator of time, upstream, is fired by another thread
 * in between, it can be more: then the oldest is given up, and counted
 * (hyphae_cell_backlog()).
 */
#define hyphae_merge(inputs, count) hyphae_merge_at(inputs, count, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_merge_at(struct hyphae_cell *const *inputs, size_t count,
		const char *site);

/*
 * fn(the value of `input`, those of the `others` in order), when `input`
 * brings one, with what the others hold when the wave has settled.  A change
 * of another alone is silent.  A value of `input` that comes while another has
 * none yet is passed over; while another holds an error the result is that
 * error.  An event among the others counts with its last emission.
 * `count` is that of the others, 1 to HYPHAE_INPUTS_MAX - 1.  Made of an event
 * if `input` is.
 *
 * Completes with `input`; the ends of others do not matter, but if one fails
 * for good so does the result.
 */
#define hyphae_with_latest_from(input, others, count, type, fn, ctx)           \
	hyphae_with_latest_from_at(input, others, count, type, fn, ctx,        \
				   HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_with_latest_from_at(struct hyphae_cell *input,
			   struct hyphae_cell *const *others, size_t count,
			   const struct hyphae_type *type, hyphae_combine_fn fn,
			   void *ctx, const char *site);

/*
 * The last value of `input`, whenever `notifier` (of any type) brings one,
 * unless it has been told: nothing new, nothing is said.  What both bring in
 * one wave is sampled.  What the notifier holds when this is made is no tick,
 * so there is no value before the first.  An error of `input` is sampled as a
 * value is, unless it is over by then with no value in its place; one of the
 * notifier stands until the next sample.  Made of an event if `input` is.
 *
 * Completes with the notifier; and with `input`, after the tick that tells its
 * last value, if that was not told before.
 */
#define hyphae_sample(input, notifier)                                         \
	hyphae_sample_at(input, notifier, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_sample_at(struct hyphae_cell *input,
						struct hyphae_cell *notifier,
						const char *site);

/*
 * The values of the first input until it completes, then those of the second,
 * and so on; completes with the last.  They are of one type (else EINVAL).
 * One is followed at a time: what the others do meanwhile is not seen (nor what
 * an event that is awake emitted in the wave in which its turn comes), a lazy
 * one does not begin.  When its turn comes, what it holds is told once.  Those
 * that have completed before tell the value they hold, each in a wave of its
 * own.  Made of an event if one of the inputs is.
 *
 * An input that has come to depend on the result itself fails it for good with
 * -ELOOP; having no memory to follow the next one (which needs none unless
 * that has come to lie higher) with -ENOMEM.
 */
#define hyphae_concat(inputs, count)                                           \
	hyphae_concat_at(inputs, count, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_concat_at(struct hyphae_cell *const *inputs, size_t count,
		 const char *site);

/*
 * What the first input says that says anything: a value, an error or its end;
 * of several in one wave the first argument.  The others are let go of.  A
 * cell that holds a value has spoken, so this is of use with events, lazy
 * cells and cells that have no value yet.  They are of one type (else EINVAL).
 * Made of an event if one of the inputs is.
 */
#define hyphae_race(inputs, count) hyphae_race_at(inputs, count, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_race_at(struct hyphae_cell *const *inputs,
					      size_t count, const char *site);

/*
 * One subscription for many cells of any types: an event of int64_t that is
 * told once in each wave in which inputs changed, by a value, an error or
 * their end: how many did.  It says nothing when it is made, and completes
 * when all inputs have ended, in whichever way.  It never fails.
 */
#define hyphae_group(inputs, count) hyphae_group_at(inputs, count, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_group_at(struct hyphae_cell *const *inputs, size_t count,
		const char *site);

/*
 * Which inputs changed in the last of these waves; to be asked by a
 * subscriber:
 *
 *	for (size_t i = 0; hyphae_group_next(group, &i) == 1; i++)
 *		...  inputs[i] changed
 *
 * hyphae_group_next() moves *index to the first that did, from there on: 1; or
 * 0 and leaves it alone.  hyphae_group_changed(): 1 or 0.  Both take the
 * graph's lock for a moment.  -EINVAL (not a group, NULL; or there is no such
 * input) or -ESTALE.
 */
HYPHAE_API int hyphae_group_next(const struct hyphae_cell *group,
				 size_t *index);
HYPHAE_API int hyphae_group_changed(const struct hyphae_cell *group,
				    size_t index);

/* What waits in an operator that queues values. */
struct hyphae_backlog {
	size_t queued;	  /* values that wait now, of all inputs */
	size_t capacity;  /* the most of one input; of merge: of all */
	uint64_t dropped; /* given up so far, also by its end or going idle */
};

/* 0, -EINVAL (also for an operator that queues nothing) or -ESTALE. */
HYPHAE_API int hyphae_cell_backlog(const struct hyphae_cell *cell,
				   struct hyphae_backlog *ret_backlog);

#ifdef __cplusplus
}
#endif

#endif
