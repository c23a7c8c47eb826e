/* SPDX-License-Identifier: MIT */
/*
 * Operators: cells that are computed from other cells.
 *
 * A derived cell is computed when it is made and again in each wave in which
 * an input changed, once, in ascending height.  Its function runs on the
 * propagating thread.  It may read cells and make or release them; writing is
 * -EPERM.
 *
 * When the function returns a negative errno the cell holds that error, with
 * an empty message, until an input changes again; cells below it hold the same
 * error and their functions do not run.  (hyphae_cell_get() returns the code
 * as it is: choose one that its own errors do not use.)  A positive result is
 * taken for -EINVAL.  A cell without a value (a filter that has not let
 * anything pass) leaves the cells below without one.
 *
 * It completes when all its inputs have; it fails for good when one does.
 *
 * Each takes a reference of its own to every input; yours stay yours.  They
 * return a new reference, or NULL with errno EINVAL, ESTALE, EXDEV or ENOMEM.
 * A NULL input gives NULL, errno untouched.
 * Probe: cell_create; compute and write_value at each computation in a wave.
 */
#ifndef HYPHAE_OPERATORS_H
#define HYPHAE_OPERATORS_H

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

/* As hyphae_map_fn, with the values of all inputs in order. */
typedef int (*hyphae_combine_fn)(void *ret, const void *const *inputs,
				 size_t count, void *ctx);

/* The most inputs of one cell. */
#define HYPHAE_INPUTS_MAX ((size_t)1 << 20)

/*
 * fn(inputs) as a cell of `type`.  The inputs may be of different types, and
 * a cell may be an input twice.  `inputs` is borrowed.  Has a value when all
 * have one.  `count` is 1 to HYPHAE_INPUTS_MAX, else EINVAL.
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
