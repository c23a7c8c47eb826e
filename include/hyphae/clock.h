/* SPDX-License-Identifier: MIT */
/*
 * Time: clocks, timers, and how to wait for a graph.
 *
 * Times are nanoseconds in 64 bits, counted from wherever the clock began.
 * A time beyond the last one, UINT64_MAX, is UINT64_MAX.
 *
 * A graph follows one clock, and its timers (those made here, and those of
 * operators such as debounce) run when the clock has reached them: earliest
 * first, and those of the same moment in the order in which they were
 * started.  One that repeats is started anew each time.  Each timer is a wave
 * and a pass of its own.
 *
 * A graph that has nothing to do with time has no clock and pays nothing.
 */
#ifndef HYPHAE_CLOCK_H
#define HYPHAE_CLOCK_H

#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_clock;

/*
 * A clock, with one reference of the caller's.  NULL with errno ENOMEM.
 *   monotonic  CLOCK_MONOTONIC.  Timers run in hyphae_graph_dispatch().
 *   virtual    stands still until it is advanced, and then visits each timer
 *              at its time: for tests and simulations.
 *   external   stands still until the host says what time it is: a frame
 *              clock, the time stamps of a recording.  Timers run then, and
 *              all of them see the new time.
 */
HYPHAE_API struct hyphae_clock *hyphae_clock_new_monotonic(void);
HYPHAE_API struct hyphae_clock *hyphae_clock_new_virtual(uint64_t start_ns);
HYPHAE_API struct hyphae_clock *hyphae_clock_new_external(uint64_t start_ns);

/* One reference more: the clock itself, or NULL with errno EINVAL, ESTALE. */
HYPHAE_API struct hyphae_clock *hyphae_clock_ref(struct hyphae_clock *clock);

/*
 * Give a reference back.  The clock lives until its graphs, too, are freed or
 * follow another one.  NULL is allowed.
 */
HYPHAE_API int hyphae_clock_unref(struct hyphae_clock *clock);

/* What time it is.  0, -EINVAL, -ESTALE. */
HYPHAE_API int hyphae_clock_now(const struct hyphae_clock *clock,
				uint64_t *ret_ns);

/*
 * Let time go on by `delta_ns`, on this thread: every timer of its graphs that
 * becomes due runs at its time, so that hyphae_clock_now() in it tells when it
 * was due; timers that are started meanwhile run too if they become due.
 * Returns 0, or
 *   -EINVAL  not a virtual clock, or time would end
 *   -EBUSY   some thread is advancing it; or this is a callback of a graph
 *            that has a timer due: the clock has gone on to that timer, not
 *            farther, and it will run when it is advanced again
 *   -ELOOP   see hyphae_clock_set_limit()
 * Errors of subscribers and timers go to the problem functions of their
 * graphs and stop nothing.
 */
HYPHAE_API int hyphae_clock_advance(struct hyphae_clock *clock,
				    uint64_t delta_ns);

/*
 * Let it be `now_ns`.  A virtual clock is advanced to it; an external one
 * jumps, then runs what is due.  Returns what hyphae_clock_advance() does;
 * -EINVAL for a time in the past, which leaves everything as it is, and for a
 * monotonic clock.  (With -EBUSY and -ELOOP an external clock has jumped, and
 * what has not run is due.)
 */
HYPHAE_API int hyphae_clock_set(struct hyphae_clock *clock, uint64_t now_ns);

/*
 * A timer may start one for the same moment, which runs in the same moment,
 * and so on.  So that this comes to an end there are at most `rounds` such
 * generations; then the graph has a problem, who runs the clock gets -ELOOP,
 * and the clock stands still.  What has not run is still armed.  Default
 * 1,000; at least 1.
 */
HYPHAE_API int hyphae_clock_set_limit(struct hyphae_clock *clock,
				      unsigned int rounds);

/*
 * Have a graph follow a clock, of which it takes a reference.  Several may
 * follow one.  0, -EINVAL, -ESTALE, -ENOMEM; -EBUSY while it has timers, one
 * of them runs, or a frame is open: so it is best done before any cell is made
 * (the debounce of a cell that holds a value has a timer at once).
 */
HYPHAE_API int hyphae_graph_set_clock(struct hyphae_graph *graph,
				      struct hyphae_clock *clock);

/*
 * The clock of a graph, with a new reference.  One that was given none gets a
 * monotonic clock of its own when that is first needed, as here.  NULL with
 * errno EINVAL, ESTALE or ENOMEM.
 */
HYPHAE_API struct hyphae_clock *hyphae_graph_clock(struct hyphae_graph *graph);

/* ---- timers ---------------------------------------------------------- */

struct hyphae_timer;

/* What a timer is told; valid during the call only. */
struct hyphae_timer_event {
	uint64_t due_ns; /* when it was due; now is later if time has jumped */
	/*
	 * Times before this one for which it was not called: with
	 * HYPHAE_TIMER_COALESCE, or when it was still running on another thread.
	 */
	uint64_t missed;
};

/*
 * Called on the thread that runs the clock, never by two threads at once,
 * never again before it has returned.  It may do anything a subscriber may,
 * and stop timers, itself too; what it writes is one wave, after it has
 * returned.  It returns 0, HYPHAE_DETACH to be stopped, or a negative errno
 * for the problem function; then it goes on.
 */
typedef int (*hyphae_timer_fn)(const struct hyphae_timer_event *event,
			       void *ctx);

enum hyphae_timer_flags {
	/*
	 * When time has jumped over several periods, be called once, in the
	 * place of the last of them, and not once for each at its own time.
	 */
	HYPHAE_TIMER_COALESCE = 1,
};

/*
 * Call `fn` after `delay_ns` (a delay below 0 is 0), and then every
 * `period_ns`, counted from when it was due; 0: once.  In an entered scope of
 * the graph the timer belongs to that.
 *
 * Returns a handle for hyphae_timer_stop(), which becomes stale when the timer
 * has stopped: one that is called once after the call, one that repeats when
 * its next time would be beyond the end of time.  NULL with errno EINVAL (also
 * for unknown flags, and for HYPHAE_TIMER_COALESCE without a period), ESTALE
 * or ENOMEM, and then `drop` has been called.
 *
 * `drop(ctx)`, if given, is called once when the timer is over and the last
 * call has returned; it may not write.  It may stop further timers; what nests
 * deeper than 16 drop functions waits until those have returned.
 */
#define hyphae_timer_start(graph, delay_ns, period_ns, fn, ctx, drop)          \
	hyphae_timer_start_with(graph, delay_ns, period_ns, fn, ctx, drop, 0)
HYPHAE_API struct hyphae_timer *
hyphae_timer_start_with(struct hyphae_graph *graph, int64_t delay_ns,
			uint64_t period_ns, hyphae_timer_fn fn, void *ctx,
			void (*drop)(void *ctx), unsigned int flags);

/*
 * Stop it: it is not called again.  From another thread a call that is under
 * way may still finish after this returns.  NULL is allowed.  -ESTALE: it has
 * stopped before.
 */
HYPHAE_API int hyphae_timer_stop(struct hyphae_timer *timer);

/* ---- waiting --------------------------------------------------------- */

/*
 * A descriptor that is readable while hyphae_graph_dispatch() has something
 * to do: a timer of a monotonic clock is due, or writes wait that other
 * threads posted.  For poll(), epoll, or whatever the program's main loop
 * has; nothing is read from it.  (For a timer that was stopped or moved it may
 * become readable once all the same.)  It belongs to the graph and is closed
 * with it.  Returns it, or -EINVAL, -ESTALE, -ENOMEM, or what the kernel says
 * (-EMFILE, ...).
 */
HYPHAE_API int hyphae_graph_fd(struct hyphae_graph *graph);

/*
 * When the earliest timer is due, in the time of the graph's clock.  0,
 * -EINVAL, -ESTALE, or -ENODATA if there is none.
 */
HYPHAE_API int hyphae_graph_deadline(struct hyphae_graph *graph,
				     uint64_t *ret_ns);

/*
 * Do what is to be done: apply posted writes, then run the timers that are
 * due by now, at most HYPHAE_DISPATCH_MAX of them; if there are more, the
 * descriptor stays readable.  With any clock; nothing else runs the timers of
 * a monotonic one.  Returns how many timers ran, or -EINVAL, -ESTALE, -EBUSY
 * inside a callback of the graph, -ELOOP (hyphae_clock_set_limit()), or
 * -ENOMEM: the posted writes still wait.
 */
#define HYPHAE_DISPATCH_MAX 1000
HYPHAE_API int hyphae_graph_dispatch(struct hyphae_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
