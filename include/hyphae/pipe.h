/* SPDX-License-Identifier: MIT */
/*
 * Pipes: a chain of operators as one cell.
 *
 *	struct hyphae_pipe *p = hyphae_pipe(input);
 *	p = hyphae_pipe_map(p, &hyphae_int64, parse, NULL);
 *	p = hyphae_pipe_filter(p, is_valid, NULL);
 *	p = hyphae_pipe_scan(p, &hyphae_int64, &zero, add, NULL);
 *	sum = hyphae_materialize(p);
 *
 * What comes out is the cell that hyphae_map(), hyphae_filter() and
 * hyphae_scan() would make one after the other, and it tells the same at the
 * same time, with the same calls of the same functions: values, errors, ends,
 * events, in a batch, lazy or not.  A value that is equal to the one before
 * stops at the stage that made it, as it would stop at a cell.  But it is one
 * cell of one height, there is nothing to be seen or followed in between, and
 * a stage costs about the call of its function.
 *
 * What it costs: 88 bytes a stage, and of a boxed type that is neither the
 * first nor the last in the pipe two boxes, one more for each stage behind that
 * hands its values on, and one more for a scan.  A cell instead takes 132 bytes,
 * of a boxed type 204 and two boxes.  If all stages are maps and filters of
 * values in no box, whose types have no function to compare, a set runs 21
 * instructions a stage, function and all, where a cell has 65 (and 104 in a graph
 * that threads share; x86-64, gcc 12 -O2); the pipe itself is a cell that costs
 * 22 more than another.  Other pipes cost 85 more, and such a stage of theirs 39
 * (59 if shared).  So one pays from two stages on, and these from six.
 *
 * (Two differences.  When a take has ended the pipe, of cells those before it
 * are let go of when the propagation is over, and until then functions of
 * theirs may be called with what is left of a batch of events.  And memory may
 * run out in other places.)
 *
 * A pipe that is being built belongs to one thread.  Building steps cannot
 * fail in between: the first thing that is wrong is kept, and
 * hyphae_materialize() tells it.  A NULL pipe gives NULL, errno untouched.
 */
#ifndef HYPHAE_PIPE_H
#define HYPHAE_PIPE_H

#include <stdbool.h>
#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/history.h>
#include <hyphae/operators.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_pipe;

/* The most stages of a pipe. */
#define HYPHAE_STAGES_MAX ((size_t)1 << 16)

/*
 * Begin a pipe behind `input`, which has to be there until it is materialized:
 * the pipe has no reference to it.  NULL without memory (errno ENOMEM), or if
 * `input` is NULL (errno untouched).
 */
HYPHAE_API struct hyphae_pipe *hyphae_pipe(struct hyphae_cell *input);

/*
 * One more stage, of the operator of that name: operators.h, limits.h,
 * history.h.  `initial` is copied.  hyphae_pipe_take() of 0 is EINVAL.
 * They return `pipe`.
 */
#define hyphae_pipe_map(pipe, type, fn, ctx)                                   \
	hyphae_pipe_map_at(pipe, type, fn, ctx, HYPHAE_HERE)
#define hyphae_pipe_filter(pipe, fn, ctx)                                      \
	hyphae_pipe_filter_at(pipe, fn, ctx, HYPHAE_HERE)
#define hyphae_pipe_tap(pipe, fn, ctx)                                         \
	hyphae_pipe_tap_at(pipe, fn, ctx, HYPHAE_HERE)
#define hyphae_pipe_scan(pipe, type, initial, fn, ctx)                         \
	hyphae_pipe_scan_at(pipe, type, initial, fn, ctx, HYPHAE_HERE)
#define hyphae_pipe_take(pipe, n) hyphae_pipe_take_at(pipe, n, HYPHAE_HERE)
#define hyphae_pipe_skip(pipe, n) hyphae_pipe_skip_at(pipe, n, HYPHAE_HERE)
#define hyphae_pipe_take_while(pipe, fn, inclusive, ctx)                       \
	hyphae_pipe_take_while_at(pipe, fn, inclusive, ctx, HYPHAE_HERE)
#define hyphae_pipe_skip_while(pipe, fn, ctx)                                  \
	hyphae_pipe_skip_while_at(pipe, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_pipe *
hyphae_pipe_map_at(struct hyphae_pipe *pipe, const struct hyphae_type *type,
		   hyphae_map_fn fn, void *ctx, const char *site);
HYPHAE_API struct hyphae_pipe *hyphae_pipe_filter_at(struct hyphae_pipe *pipe,
						     hyphae_filter_fn fn,
						     void *ctx,
						     const char *site);
HYPHAE_API struct hyphae_pipe *hyphae_pipe_tap_at(struct hyphae_pipe *pipe,
						  hyphae_tap_fn fn, void *ctx,
						  const char *site);
HYPHAE_API struct hyphae_pipe *
hyphae_pipe_scan_at(struct hyphae_pipe *pipe, const struct hyphae_type *type,
		    const void *initial, hyphae_fold_fn fn, void *ctx,
		    const char *site);
HYPHAE_API struct hyphae_pipe *hyphae_pipe_take_at(struct hyphae_pipe *pipe,
						   size_t n, const char *site);
HYPHAE_API struct hyphae_pipe *hyphae_pipe_skip_at(struct hyphae_pipe *pipe,
						   size_t n, const char *site);
HYPHAE_API struct hyphae_pipe *
hyphae_pipe_take_while_at(struct hyphae_pipe *pipe, hyphae_filter_fn fn,
			  bool inclusive, void *ctx, const char *site);
HYPHAE_API struct hyphae_pipe *
hyphae_pipe_skip_while_at(struct hyphae_pipe *pipe, hyphae_filter_fn fn,
			  void *ctx, const char *site);

/*
 * The pipe as one cell, whose operator is "pipe".  The pipe is used up, also
 * when this fails.  Returns a new reference, or NULL with errno EINVAL (also
 * for a pipe without stages, or with too many), ESTALE or ENOMEM, or what
 * type->copy of an `initial` returned.
 *
 * An error of a stage's function is the cell's until the input's next value.
 * No memory is asked for in a wave, except where others keep the cell's boxes:
 * cell.h.
 */
#define hyphae_materialize(pipe) hyphae_materialize_at(pipe, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_materialize_at(struct hyphae_pipe *pipe,
						     const char *site);

/*
 * The same with a cell for each stage, made where the stage was added: each
 * can be seen by tools.  Returns the last one, which keeps the others.
 */
HYPHAE_API struct hyphae_cell *
hyphae_materialize_unfused(struct hyphae_pipe *pipe);

/* Give up a pipe that is not used.  NULL is allowed. */
HYPHAE_API void hyphae_pipe_free(struct hyphae_pipe *pipe);

/*
 * The stages of a pipe that is a cell, as text: "map > filter > scan".  As
 * snprintf() does: returns the length of the whole.  -EINVAL (also for a cell
 * that is no pipe), -ESTALE.
 */
HYPHAE_API int hyphae_pipe_stages(const struct hyphae_cell *cell, char *text,
				  size_t size);

#ifdef __cplusplus
}
#endif

#endif
