/* SPDX-License-Identifier: MIT */
/*
 * Who may touch what, when.
 *
 * One lock a graph (a single-threaded graph has none) protects all of it.
 * The thread that propagates, the *drainer*, holds it too, and lets go of it
 * around every call of a function of the user, so that other threads can
 * read, subscribe, and leave their writes in the inbox meanwhile.  So that this
 * costs next to nothing while they do not, the lock is a biased one:
 * base/lock.h, which relies on that no thread holds two of them.
 *
 * Lock order: a graph's lock, then the process-wide one of slab.c or watch.c.
 * No two graphs' locks at once; none during a call of the user's.
 */
#ifndef HY_SYNC_H
#define HY_SYNC_H

#include "core/types.h"

/* The time and the processor's counter, read together; clock.h. */
struct hy_anchor {
	uint64_t ticks, ns;
};

/* A call of a subscriber that is none of a wave; on the caller's stack. */
struct hy_turn {
	struct hy_sub *sub;
	struct hy_turn *outer;
};

/* Cells that a thread makes in the graph lie above this height. */
struct hy_floor {
	struct hy_graph *graph;
	uint32_t height;
};

/* What a thread carries with it. */
struct hy_self {
	struct hy_thread thread;    /* for all shared graphs */
	struct hy_pass *pass;	    /* hyphae_pass_begin(); pass.c */
	struct hy_pass *last_pass;  /* its report waits to be taken */
	struct hy_scope *scope;	    /* entered last; scope.c */
	struct hy_tracker *tracker; /* of the run that notes its reads */
	struct hy_floor floor;	    /* in a function that op/inner.c calls */
	struct hy_watcher *watcher; /* its block of records; watch.c */
	struct hy_anchor anchor;
	uint32_t draining;     /* shared graphs whose drainer it is */
	uint32_t minded;       /* what its end will be seen to; ending.h */
	struct hy_turn *turns; /* calls that it makes, beside waves */
	/* Scopes whose disposal would nest too deep; scope.c. */
	struct hy_scope *later, *later_last;
	uint32_t disposing; /* calls of hyphae_scope_dispose() under way */
	/* The same of timers and their drop functions; alarm.c. */
	uint32_t burying;
	struct hy_alarm *buried, *buried_last;
};

extern __thread struct hy_self hy_self
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline bool hy_shared(const struct hy_graph *g)
{
	return !(g->flags & HYPHAE_SINGLE_THREAD);
}

static inline struct hy_thread *hy_thread_of(struct hy_graph *g)
{
	return hy_shared(g) ? &hy_self.thread : &g->solo;
}

/*
 * Say why hyphae_cell_set() may not just start, or no longer.  A shared graph
 * never may, so its word does not change and is read without the lock.
 */
static inline void hy_busy(struct hy_graph *g, uint32_t set, uint32_t clear)
{
	if (!hy_shared(g))
		g->busy = (g->busy & ~clear) | set;
}

/* A batch is open, on any thread. */
static inline bool hy_batches_open(const struct hy_graph *g)
{
	return g->open_batches || g->busy & BUSY_BATCH;
}

/* Somebody propagates; it is this thread.  The lock is held. */
static inline bool hy_drained(const struct hy_graph *g)
{
	return hy_shared(g) ? g->drainer != NULL : g->busy & BUSY_DRAINING;
}

static inline bool hy_drains(const struct hy_graph *g)
{
	return hy_shared(g) ? g->drainer == &hy_self.thread
			    : g->busy & BUSY_DRAINING;
}

static inline void hy_lock(struct hy_graph *g)
{
	if (hy_shared(g))
		hy_lock_enter(&g->lock);
}

static inline void hy_unlock(struct hy_graph *g)
{
	if (hy_shared(g))
		hy_lock_leave(&g->lock);
}

/*
 * For a stretch with many calls of functions of the user, by a drainer: what
 * they may do (write, or not) is said once, the lock is let go of around each.
 */
static inline struct hy_graph *hy_stretch_begin(struct hy_graph *g, bool guard)
{
	struct hy_thread *t = hy_thread_of(g);
	struct hy_graph *saved = t->guard;

	if (guard)
		t->guard = g;
	else if (t->guard == g) /* a subscriber of g may write to it */
		t->guard = NULL;
	return saved;
}

static inline void hy_stretch_end(struct hy_graph *g, struct hy_graph *saved)
{
	hy_thread_of(g)->guard = saved;
}

/*
 * For one call that may not write and may come when nobody drains: so a
 * single-threaded graph is told, too, not to start a write just so.  This is
 * without the lock; hy_guard_begin() is with it.
 */
struct hy_unlocked {
	struct hy_graph *graph;
	uint32_t busy;
};

static inline struct hy_unlocked hy_unlocked_begin(struct hy_graph *g)
{
	struct hy_unlocked saved = {NULL, 0};
	struct hy_thread *t;

	if (!g) /* a post: the graph's state is not this thread's */
		return saved;
	t = hy_thread_of(g);
	saved.graph = t->guard;
	t->guard = g;
	saved.busy = g->busy & BUSY_GUARD;
	hy_busy(g, BUSY_GUARD, 0);
	return saved;
}

static inline void hy_unlocked_end(struct hy_graph *g, struct hy_unlocked saved)
{
	if (!g)
		return;
	hy_thread_of(g)->guard = saved.graph;
	hy_busy(g, saved.busy, BUSY_GUARD);
}

/*
 * A cell that is there, with its graph's lock held; or NULL, and the lock is
 * not, and *ret is why.
 */
static inline struct hy_cell *hy_cell_lock(const struct hyphae_cell *handle,
					   int *ret)
{
	struct hy_cell *c = hy_cell(handle);

	*ret = c ? -ESTALE : hy_bad_handle(handle);
	if (!c)
		return NULL;
	hy_lock(hy_graph_of(c));
	if (likely(hy_cell(handle) && !(c->flags & F_DEAD))) {
		*ret = 0;
		return c;
	}
	hy_unlock(hy_graph_of(c));
	return NULL;
}

/*
 * Around a function of the user that may not write (compute, equal, copy,
 * drop), with the lock held before and after, not during:
 * `saved = hy_guard_begin(g); fn(); hy_guard_end(g, saved);`
 */
static inline struct hy_unlocked hy_guard_begin(struct hy_graph *g)
{
	struct hy_unlocked saved = hy_unlocked_begin(g);

	hy_unlock(g);
	return saved;
}

static inline void hy_guard_end(struct hy_graph *g, struct hy_unlocked saved)
{
	hy_lock(g);
	hy_unlocked_end(g, saved);
}

static inline void hy_call_begin(struct hy_graph *g)
{
	hy_unlock(g);
}

static inline void hy_call_end(struct hy_graph *g)
{
	hy_lock(g);
}

/*
 * The call of a subscriber in a wave.  It is known whose turn it is, so that
 * hyphae_unsubscribe_wait() can wait for its end.  The lock is held.
 */
static inline void hy_turn_mark(struct hy_graph *g, struct hy_sub *s)
{
	if (hy_shared(g))
		g->calling = s;
}

static inline void hy_turn_over_shared(struct hy_graph *g)
{
	g->calling = NULL;
	if (unlikely(g->call_waiters))
		pthread_cond_broadcast(&g->idle);
}

static inline void hy_turn_over(struct hy_graph *g)
{
	if (hy_shared(g))
		hy_turn_over_shared(g);
}

/* The same with the lock let go of meanwhile. */
static inline void hy_turn_begin(struct hy_graph *g, struct hy_sub *s)
{
	hy_turn_mark(g, s);
	hy_unlock(g);
}

static inline void hy_turn_end(struct hy_graph *g)
{
	hy_lock(g);
	hy_turn_over(g);
}

static inline bool hy_guarded(struct hy_graph *g)
{
	return hy_thread_of(g)->guard == g;
}

#endif
