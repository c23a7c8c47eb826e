/* SPDX-License-Identifier: MIT */
/* Subscriptions: functions that are called when a cell changes. */
#ifndef HYPHAE_SUBSCRIPTION_H
#define HYPHAE_SUBSCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_subscription;

enum hyphae_signal_kind {
	HYPHAE_VALUE = 0,
	HYPHAE_COMPLETE = 1,
	HYPHAE_ERROR = 2,
};

/* What a subscriber is told; all of it is valid during the call only. */
struct hyphae_signal {
	enum hyphae_signal_kind kind;
	bool terminal;			/* nothing will follow */
	const struct hyphae_type *type; /* of the cell */
	const void *value;		/* HYPHAE_VALUE, else NULL */
	int code;	     /* HYPHAE_ERROR: a negative errno, else 0 */
	const char *message; /* HYPHAE_ERROR: text or "" */
	uint64_t cell_id;
	/*
	 * With HYPHAE_PREVIOUS, of the call before this one; else NULL.  See
	 * there.
	 */
	const void *previous;
};

/* What a subscriber may return besides 0 and a negative errno. */
#define HYPHAE_DETACH 1 /* do not call me again */

/*
 * Called after all derived cells have settled, in order of subscription over
 * the whole graph, on the thread that propagates; never by two threads at
 * once, never again before it has returned.  It may do anything: read,
 * write (the next wave), subscribe, unsubscribe, pause, release cells.
 * A negative errno goes to the graph's problem function and to the caller of
 * the outermost set or batch; the other subscribers are called all the same.
 */
typedef int (*hyphae_subscriber_fn)(const struct hyphae_signal *signal,
				    void *ctx);

enum hyphae_subscription_flags {
	/* Not with the current value or error; the end is told. */
	HYPHAE_SKIP_INITIAL = 1,
	/*
	 * The subscription ends after its first call, be it with a value, an
	 * error or the end, and whatever that call returns.  The call with the
	 * current value counts.  Until it returns the handle is good.
	 */
	HYPHAE_ONCE = 2,
	/*
	 * signal->previous is the value of the last call: not a copy, but the
	 * value itself, kept until this call has returned.  NULL in the first
	 * call and after one with an error.  A value that HYPHAE_SKIP_INITIAL
	 * passes over counts as told; one that came while the subscription was
	 * paused or blocked does not.
	 */
	HYPHAE_PREVIOUS = 4,
};

/*
 * Follow a cell.  The subscriber is linked, then called at once with what the
 * cell holds (if it holds anything), on this thread.  Of an ended cell it
 * gets the last value and the end, and is not linked.
 *
 * When the first call fails, that goes to the problem function, and, made by
 * a subscriber, to the caller of the outermost set or batch; the subscription
 * stands.
 *
 * While a wave is under way (inside a subscriber or a compute function, or
 * beside another thread) the first call brings what the cell holds by then.
 * If that is what the wave has changed it to, the wave does not tell it again.
 *
 * Returns a handle, to be given back with hyphae_unsubscribe(); NULL with
 * errno EINVAL, ESTALE or ENOMEM, and then `drop` has been called.
 * A subscription ends by itself, and its handle becomes stale, when the
 * subscriber returns HYPHAE_DETACH, after its call with HYPHAE_ONCE, and when
 * it has been told that the cell has ended.
 *
 * `drop(ctx)`, if given, is called once when the subscription is over and
 * the last call has returned.
 */
#define hyphae_subscribe(cell, fn, ctx)                                        \
	hyphae_subscribe_with(cell, fn, ctx, NULL, 0)
HYPHAE_API struct hyphae_subscription *
hyphae_subscribe_with(struct hyphae_cell *cell, hyphae_subscriber_fn fn,
		      void *ctx, void (*drop)(void *ctx), unsigned int flags);

/* What a subscription can have.  What is left 0 is left out. */
struct hyphae_subscription_options {
	hyphae_subscriber_fn fn;
	void *ctx;
	void (*drop)(void *ctx);
	/*
	 * Undoes what a call did.  cleanup(ctx) is called once for each call
	 * that was made: right before the next one, else when the subscription
	 * is over, before `drop`.  Never while a call of the same subscription
	 * is under way.
	 *
	 * It may do what a subscriber may do.  If it ends, pauses or blocks
	 * its own subscription, the call that it was to make room for is not
	 * made (and, paused, is made up for later).  It is not called again
	 * for that.
	 *
	 * When a subscription ends while the graph propagates, its last
	 * clean-up runs when that is over, on the thread that propagates; else
	 * before the function returns that ended it.  It may write then too;
	 * only when hyphae_graph_free() releases the graph its cells are gone
	 * (-ESTALE).
	 */
	void (*cleanup)(void *ctx);
	unsigned int flags; /* enum hyphae_subscription_flags */
};

/*
 * Follow a cell as hyphae_subscribe_with() does, with options:
 *
 *	struct hyphae_subscription_options options = {
 *		.fn = show, .ctx = window, .flags = HYPHAE_PREVIOUS};
 *	hyphae_subscribe_options(cell, &options);
 *
 * `options` is borrowed.  EINVAL also for NULL options and for flags that are
 * not known.
 */
HYPHAE_API struct hyphae_subscription *
hyphae_subscribe_sized(struct hyphae_cell *cell,
		       const struct hyphae_subscription_options *options,
		       size_t size);
static inline struct hyphae_subscription *
hyphae_subscribe_options(struct hyphae_cell *cell,
			 const struct hyphae_subscription_options *options)
{
	/* So that options can be added: what the library lacks is EINVAL. */
	return hyphae_subscribe_sized(cell, options, sizeof(*options));
}

/*
 * End a subscription.  On the propagating thread it takes effect at once:
 * the subscriber is not called again, also not in this wave.  From another
 * thread a call that is under way may still finish after this returns; see
 * hyphae_unsubscribe_wait().
 * NULL is allowed.  -ESTALE: it has ended before.
 */
HYPHAE_API int hyphae_unsubscribe(struct hyphae_subscription *subscription);

/*
 * The same, and when it has returned the subscriber is not running and will
 * not run, so what its ctx points at can be freed at once.  It waits for the
 * call that is under way on another thread, if there is one, and for nothing
 * else: not for the rest of the wave, nor for `drop` and the last clean-up, if
 * there are such: then free in `drop`.  Inside that call (the subscriber ends
 * itself, on whatever detour) it does not wait.
 *
 * -ESTALE: it had ended before; also then no call is under way any more.
 *
 * Two threads that wait so for each other wait for ever: as with
 * pthread_join(), the subscriber that is waited for must not wait for the
 * caller, for instance for a lock that the caller holds, nor end so, in its
 * turn, a subscription whose call the caller is in, be it of another graph.
 */
HYPHAE_API int
hyphae_unsubscribe_wait(struct hyphae_subscription *subscription);

/*
 * End all subscriptions of a cell, as hyphae_unsubscribe() does with one: in a
 * subscriber none of the others is called any more.  Streams and whatever else
 * follows the cell with a subscription end too; derived cells go on.
 * 0 (also if there was none), -EINVAL or -ESTALE.
 */
HYPHAE_API int hyphae_unsubscribe_all(struct hyphae_cell *cell);

/*
 * Hold a subscription back, and let it go on.
 *
 * While it is paused its subscriber is not called.  When it is resumed and
 * the cell has told something meanwhile, it is called with what the cell holds
 * now, once, before this returns: with the value or error, also when that has
 * come back to what was told last, and with the end.  If the cell told
 * nothing, nor is it.
 *
 * While it is blocked the same holds, but what the cell tells meanwhile is not
 * made up for; only the end is.
 *
 * Pauses and blocks are counted: each takes one resume or unblock.  Both can
 * be on; then what comes is lost, and what had come before the block is told
 * when neither is on any more.  A subscription whose cell ends meanwhile
 * stays until it has been told, or is unsubscribed.  Events are not held by
 * their cell, so those that come meanwhile are lost either way.  A lazy cell
 * is computed for subscriptions that are held back as well.
 *
 * They take effect as hyphae_unsubscribe() does: at once on the propagating
 * thread, also inside the subscriber (for the calls after this one); from
 * another thread a call that is under way may still finish.  Resumed inside a
 * wave, the subscriber is called at once and not once more by that wave; if
 * another thread is just calling it, that thread makes up for what it missed.
 * A failure of the call goes where that of a first call goes.
 *
 * Return 0, -EINVAL (NULL, or it is not paused or blocked), -ESTALE (it has
 * ended), or -EOVERFLOW (65,535 pauses or blocks).
 */
HYPHAE_API int
hyphae_subscription_pause(struct hyphae_subscription *subscription);
HYPHAE_API int
hyphae_subscription_resume(struct hyphae_subscription *subscription);
HYPHAE_API int
hyphae_subscription_block(struct hyphae_subscription *subscription);
HYPHAE_API int
hyphae_subscription_unblock(struct hyphae_subscription *subscription);

/* The cell that it follows: a new reference.  NULL if it has ended. */
HYPHAE_API struct hyphae_cell *
hyphae_subscription_cell(const struct hyphae_subscription *subscription);

/* The number by which probes know it; 0 if it has ended. */
HYPHAE_API uint64_t
hyphae_subscription_id(const struct hyphae_subscription *subscription);

/*
 * The value that a signal carries; undefined unless kind is HYPHAE_VALUE and
 * type is the one of that name: neither is looked at here.
 */
static inline int64_t hyphae_int64_of(const struct hyphae_signal *signal)
{
	return *(const int64_t *)signal->value;
}

static inline double hyphae_double_of(const struct hyphae_signal *signal)
{
	return *(const double *)signal->value;
}

static inline bool hyphae_bool_of(const struct hyphae_signal *signal)
{
	return *(const bool *)signal->value;
}

static inline void *hyphae_pointer_of(const struct hyphae_signal *signal)
{
	return *(void *const *)signal->value;
}

static inline const char *hyphae_string_of(const struct hyphae_signal *signal)
{
	return *(const char *const *)signal->value;
}

#ifdef __cplusplus
}
#endif

#endif
