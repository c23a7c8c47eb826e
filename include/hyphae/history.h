/* SPDX-License-Identifier: MIT */
/*
 * Operators that remember values: sums, pairs, windows, groups.
 *
 * What operators.h says holds for all of them; in addition:
 *
 *  - The value that the input holds when the cell is made is the first.  A
 *    batch is one change of a cell, so one step; to have a step for each write
 *    use an event (hyphae_event_new()), of which each emission counts, also in
 *    a batch and also an equal one.
 *  - fn makes a value of `type`, as hyphae_map_fn does.  When it fails, the
 *    cell holds its error until there is another result.
 *  - An error of the input is handed on for as long as the input holds it, and
 *    what is remembered stays.
 *  - An eager graph may show a value that is not settled; that counts too.
 *  - An idle lazy cell has forgotten everything and begins anew when it wakes.
 *  - Values are shared with the input, not copied.  Nothing is allocated after
 *    the cell is made, except where others keep its values: see cell.h.
 */
#ifndef HYPHAE_HISTORY_H
#define HYPHAE_HISTORY_H

#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/operators.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most values that one cell remembers. */
#define HYPHAE_HISTORY_MAX ((size_t)1 << 20)

/*
 * Make the next accumulator in `ret` (zeroed memory of its type; the cell
 * takes over what the value owns) out of the last one and a value, and return
 * 0; or return a negative errno: then the accumulator stays as it was, and
 * this value is not in it.  `acc` belongs to the cell: copy what you keep.
 */
typedef int (*hyphae_fold_fn)(void *ret, const void *acc, const void *value,
			      void *ctx);

/*
 * The accumulator after each value: begins with a copy of `*initial`, of
 * `type`, into which a first value is folded at once.  A cell, also of an
 * event: so it always has a value, or an error.  Equal accumulators are told
 * once, as of every cell, but each is computed from the exact one before it.
 */
#define hyphae_scan(input, type, initial, fn, ctx)                             \
	hyphae_scan_at(input, type, initial, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_scan_at(struct hyphae_cell *input,
					      const struct hyphae_type *type,
					      const void *initial,
					      hyphae_fold_fn fn, void *ctx,
					      const char *site);

/*
 * The same, but only the last accumulator, when the input completes; without
 * any value that is `*initial`.  If the input then holds an error, or fn fails
 * for a value that comes together with the completion, the cell holds that
 * error and completes.
 */
#define hyphae_reduce(input, type, initial, fn, ctx)                           \
	hyphae_reduce_at(input, type, initial, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_reduce_at(struct hyphae_cell *input,
						const struct hyphae_type *type,
						const void *initial,
						hyphae_fold_fn fn, void *ctx,
						const char *site);

/*
 * fn(ret, {previous, value}, 2, ctx) from the second value on; of an event an
 * event.  A value of which fn failed is the previous one of the next.
 */
#define hyphae_pairwise(input, type, fn, ctx)                                  \
	hyphae_pairwise_at(input, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_pairwise_at(struct hyphae_cell *input, const struct hyphae_type *type,
		   hyphae_combine_fn fn, void *ctx, const char *site);

/*
 * fn(ret, values, count, ctx) of the last n values, oldest first, at each
 * value; of less (count < n) while there have been less.  Of an event an
 * event.  n is 1 to HYPHAE_HISTORY_MAX, else EINVAL; it costs 16 bytes each.
 */
#define hyphae_window(input, n, type, fn, ctx)                                 \
	hyphae_window_at(input, n, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_window_at(struct hyphae_cell *input,
						size_t n,
						const struct hyphae_type *type,
						hyphae_combine_fn fn, void *ctx,
						const char *site);

/*
 * fn(ret, values, n, ctx) of each n values, in groups that do not overlap; at
 * completion of the rest, if there is one (count < n).  A group of which fn
 * failed is gone.  What waits when the input fails for good, or when the cell
 * is released, is given up.  Of an event an event; n as hyphae_window().
 */
#define hyphae_buffer_count(input, n, type, fn, ctx)                           \
	hyphae_buffer_count_at(input, n, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_buffer_count_at(struct hyphae_cell *input, size_t n,
		       const struct hyphae_type *type, hyphae_combine_fn fn,
		       void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
