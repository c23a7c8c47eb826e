/* SPDX-License-Identifier: MIT */
/* Subscriptions: functions that are called when a cell changes. */
#ifndef HYPHAE_SUBSCRIPTION_H
#define HYPHAE_SUBSCRIPTION_H

#include <stdbool.h>
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
};

/* What a subscriber may return besides 0 and a negative errno. */
#define HYPHAE_DETACH 1 /* do not call me again */

/*
 * Called after all derived cells have settled, in order of subscription over
 * the whole graph, on the thread that propagates; never by two threads at
 * once, never again before it has returned.  It may do anything: read,
 * write (the next wave), subscribe, unsubscribe, release cells.
 * A negative errno goes to the graph's problem function and to the caller of
 * the outermost set or batch; the other subscribers are called all the same.
 */
typedef int (*hyphae_subscriber_fn)(const struct hyphae_signal *signal,
				    void *ctx);

enum hyphae_subscription_flags {
	HYPHAE_SKIP_INITIAL =
		1, /* not with the current value; the end is told */
};

/*
 * Follow a cell.  The subscriber is linked, then called at once with what the
 * cell holds (if it holds anything), on this thread.  Of an ended cell it
 * gets the last value and the end, and is not linked.
 *
 * When the first call fails, that goes to the problem function only; the
 * subscription stands.
 *
 * Returns a handle, to be given back with hyphae_unsubscribe(); NULL with
 * errno EINVAL, ESTALE or ENOMEM, and then `drop` has been called.
 * A subscription ends by itself, and its handle becomes stale, when the
 * subscriber returns HYPHAE_DETACH and after the cell has ended.
 *
 * `drop(ctx)`, if given, is called once when the subscription is over and
 * the last call has returned.
 */
#define hyphae_subscribe(cell, fn, ctx)                                        \
	hyphae_subscribe_with(cell, fn, ctx, NULL, 0)
HYPHAE_API struct hyphae_subscription *
hyphae_subscribe_with(struct hyphae_cell *cell, hyphae_subscriber_fn fn,
		      void *ctx, void (*drop)(void *ctx), unsigned int flags);

/*
 * End a subscription.  On the propagating thread it takes effect at once:
 * the subscriber is not called again, also not in this wave.  From another
 * thread a call that is under way may still finish after this returns.
 * NULL is allowed.  -ESTALE: it has ended before.
 */
HYPHAE_API int hyphae_unsubscribe(struct hyphae_subscription *subscription);

/* The number by which probes know it; 0 if it has ended. */
HYPHAE_API uint64_t
hyphae_subscription_id(const struct hyphae_subscription *subscription);

/* The value that a signal carries; undefined unless kind is HYPHAE_VALUE. */
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
