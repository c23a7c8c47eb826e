/* SPDX-License-Identifier: MIT */
/*
 * Dynamic dependencies: cells whose inputs are found while they are computed.
 *
 * Heights follow by themselves: a cell that begins to follow a higher one is
 * raised, with all that lie above it; each link costs time for every cell that
 * it raises, and none where the order was right already.
 *
 * A cell that would come to depend on itself leaves that dependency out and
 * holds the error -ELOOP, whose message names it (and the graph's problem
 * function is told), until it is computed with other inputs.  Within one wave
 * the order does not matter: a cycle that another cell of the same wave is
 * about to open is none.
 *
 * All of them: return a new reference, or NULL with errno EINVAL, ESTALE,
 * EXDEV or ENOMEM.  If another thread propagates when one is made, it has its
 * first value when that is over (hyphae_settle()).  The functions run on the
 * propagating thread; they may read, make and release cells, writing is
 * -EPERM.  In a batch they run once, for the last values; in an eager graph at
 * each write.  Without memory in a wave the cell holds -ENOMEM until an input
 * changes again.  They can be lazy (hyphae_cell_set_lazy()).
 */
#ifndef HYPHAE_DYNAMIC_H
#define HYPHAE_DYNAMIC_H

#include <stddef.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tracked computation ------------------------------------------------ */

/*
 * Make a value in `ret` (zeroed memory of the cell's type) out of cells that
 * the function reads, and return 0, or a negative errno and leave `ret` alone.
 */
typedef int (*hyphae_computed_fn)(void *ret, void *ctx);

/*
 * A cell that follows what its function reads: each cell of the graph that
 * hyphae_cell_get() and its kin read on this thread while it runs becomes an
 * input, found anew at each run, in the order of reading.  So a branch that is
 * not taken is not followed, and a list may shrink and shift.
 *
 *  - A cell that is read and has still to be computed in this wave is computed
 *    first: the function runs once a wave and sees nothing old.  (Where that
 *    would nest deeper than 32 functions, or another thread is propagating
 *    when the cell is made, or what it reads is lazy and idle, the function
 *    runs a second time instead.)
 *  - A cell may be made, read and released in the function; its inputs are
 *    computed first, too.  A scope that was entered outside does not have it.
 *  - It runs whatever its inputs hold; hyphae_cell_get() gives it their error
 *    codes.  A code that it returns and that an input holds is that input's
 *    error, with its message.  So is -ENODATA, of an input without a value:
 *    returned, it is an error as any other, which subscribers are told.
 *  - An event holds nothing that could be read: read hyphae_hold() of it.
 *  - It completes when all that it read has ended, also when that is nothing.
 *    So it does not fail for good: of an input that has, it reads the code.
 *  - Reads of cells of other graphs, reads in functions of other cells, in
 *    subscribers that are called meanwhile, in equal, copy and drop functions,
 *    and hyphae_untracked_begin() do not count.
 */
#define hyphae_computed(graph, type, fn, ctx)                                  \
	hyphae_computed_at(graph, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_computed_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		   hyphae_computed_fn fn, void *ctx, const char *site);

/*
 * Call a function now, and again whenever a cell that it read the last time
 * has changed or ended: what is read is found as for hyphae_computed(), but the
 * function makes no value.  It is a subscriber: called in a wave when all has
 * settled, in order of subscription among those; it may write (as a subscriber
 * may); a negative errno that it returns goes where those of subscribers go,
 * and HYPHAE_DETACH ends it.
 *
 * Returns a subscription, which can be paused and ended, and belongs to the
 * scope that is entered.  It ends by itself when nothing that it read can
 * change any more, also when it read nothing.  NULL with errno EINVAL, ESTALE
 * or ENOMEM, and then `drop` has been called.
 *
 *  - The first call is made before hyphae_effect() returns; but while the graph
 *    propagates, in a wave after the one under way, on the thread that runs it.
 *  - `cleanup(ctx)` and `drop(ctx)` are those of a subscription
 *    (hyphae_subscription_options); what they read is not tracked.
 *    `cleanup` is called once for each call of the function.
 *  - It reads what has settled: what it or a subscriber has written in the wave
 *    under way comes with the next one (but untracked reads see it already).
 *  - Blocked (hyphae_subscription_block()) it loses calls: if that was the last
 *    one that it could get, it stays until it is ended.
 *  - A write to what it reads has it called again, in the next wave: if that
 *    never ends, the wave limit ends it (-ELOOP).
 *  - Without memory to follow what it read, -ENOMEM is its error, and it may
 *    miss changes of that until it is called again: for what it followed
 *    before, which it does not lose; after its first call there is none.
 *  - What it makes is the caller's; cells that are made in it each time belong
 *    to a scope that `cleanup` disposes.
 *  - For tools it is a cell with the operator "effect", whose fires are calls.
 *    hyphae_subscription_cell() gives that cell, to be named.
 */
typedef int (*hyphae_effect_fn)(void *ctx);

#define hyphae_effect(graph, fn, ctx)                                          \
	hyphae_effect_with(graph, fn, ctx, NULL, NULL)
#define hyphae_effect_with(graph, fn, ctx, drop, cleanup)                      \
	hyphae_effect_with_at(graph, fn, ctx, drop, cleanup, HYPHAE_HERE)
HYPHAE_API struct hyphae_subscription *
hyphae_effect_with_at(struct hyphae_graph *graph, hyphae_effect_fn fn,
		      void *ctx, void (*drop)(void *ctx),
		      void (*cleanup)(void *ctx), const char *site);

/*
 * What this thread reads in between is not tracked.  They nest; outside of a
 * tracked function they do nothing.
 */
HYPHAE_API void hyphae_untracked_begin(void);
HYPHAE_API void hyphae_untracked_end(void);

/*
 * ---- cells of cells ---------------------------------------------------------
 *
 * What hyphae_switch_map(), _merge_map() and _retry() make is a value cell,
 * also of events: it holds the last value, and an equal one is no change.
 * hyphae_switch_events(), _merge_events() and _retry_events() do the same and
 * make an event: each value and error counts, also an equal one, and one that
 * an inner cell holds when it is first followed; so two equal answers are two.
 * Which of the two it is does not go by `outer`: an event often chooses among
 * cells whose state is to be read, and a cell among streams.
 *
 * An inner cell that is an event is heard from the wave on that comes after the
 * one in which it is first followed: what it emitted before is over, but for an
 * error, which stands.  (A lazy one that wakes then is heard at once.)
 */

/*
 * The cell to follow for `value`: one that is made in the function, or any
 * other of the same graph.  The cells, subscriptions and timers that it makes
 * belong to the operator, as if in a scope, and are released when that moves
 * on or ends (while a scope that it made is entered: when that is left, see
 * scope.h); it keeps a reference to what is returned.  NULL: an error, errno.
 */
typedef struct hyphae_cell *(*hyphae_switch_fn)(const void *value, void *ctx);

/*
 * The value of the cell that fn(value of outer) gave last.  On each change of
 * `outer` it lets go of the inner cell before that could be computed for the
 * new value, and calls fn.  `type` is that of the inner cells, else -EINVAL.
 *
 * An error of `outer` or of fn stands until `outer` changes; one of the inner
 * cell until that changes.  (An eager graph may call the functions of the old
 * inner cell with the new values before it switches; any graph those of a cell
 * with hooks, or that an effect made by fn has read: it stays until the
 * propagation is over.)  It fails for good when either does, and completes when
 * both have.
 * Two cells: it, and a `selector` that follows `outer`.
 */
#define hyphae_switch_map(outer, type, fn, ctx)                                \
	hyphae_switch_map_at(outer, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_switch_map_at(struct hyphae_cell *outer, const struct hyphae_type *type,
		     hyphae_switch_fn fn, void *ctx, const char *site);

#define hyphae_switch_events(outer, type, fn, ctx)                             \
	hyphae_switch_events_at(outer, type, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_switch_events_at(struct hyphae_cell *outer,
			const struct hyphae_type *type, hyphae_switch_fn fn,
			void *ctx, const char *site);

/*
 * The same without letting go: the values of all inner cells, as they come.
 * What several bring in one wave is told one a wave, oldest input first.  An
 * inner cell that completes is let go of, with what was made for it.  At most
 * `max` (1 to HYPHAE_INPUTS_MAX; EINVAL) are followed at once: instead of one
 * more, for which fn is not called, the error -ENOBUFS is told.  An error of
 * `outer`, of fn or of an inner cell stands until anything else is told.
 * Completes when `outer` and all inner cells have; fails for good when one
 * does.
 */
#define hyphae_merge_map(outer, type, max, fn, ctx)                            \
	hyphae_merge_map_at(outer, type, max, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_merge_map_at(struct hyphae_cell *outer, const struct hyphae_type *type,
		    size_t max, hyphae_switch_fn fn, void *ctx,
		    const char *site);

#define hyphae_merge_events(outer, type, max, fn, ctx)                         \
	hyphae_merge_events_at(outer, type, max, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_merge_events_at(struct hyphae_cell *outer,
		       const struct hyphae_type *type, size_t max,
		       hyphae_switch_fn fn, void *ctx, const char *site);

/* As hyphae_switch_fn, for try number 0, 1, ... */
typedef struct hyphae_cell *(*hyphae_retry_fn)(size_t attempt, void *ctx);

/*
 * The value of the cell that fn made; when that holds an error (of either
 * kind), or fn returns NULL, it is let go of and fn makes another, at most
 * `retries` times, in a loop.  A value in between does not give tries back.
 * The error of the last one stays: for good if it is for good, or if there is
 * no cell to heal it.  Completes when the cell does.
 */
#define hyphae_retry(graph, type, retries, fn, ctx)                            \
	hyphae_retry_at(graph, type, retries, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_retry_at(struct hyphae_graph *graph,
					       const struct hyphae_type *type,
					       size_t retries,
					       hyphae_retry_fn fn, void *ctx,
					       const char *site);

#define hyphae_retry_events(graph, type, retries, fn, ctx)                     \
	hyphae_retry_events_at(graph, type, retries, fn, ctx, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_retry_events_at(struct hyphae_graph *graph,
		       const struct hyphae_type *type, size_t retries,
		       hyphae_retry_fn fn, void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
