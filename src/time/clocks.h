/* SPDX-License-Identifier: MIT */
/* Clocks, and what a graph that has to do with time keeps. */
#ifndef HY_CLOCKS_H
#define HY_CLOCKS_H

#include "core/clock.h"
#include "time/shelf.h"
#include "time/timer.h"

enum hy_clock_kind { HY_MONOTONIC, HY_VIRTUAL, HY_EXTERNAL };

struct hy_clock {
	struct hy_shelved head; /* its lock protects what is not atomic */
	uint64_t now;		/* of the two kinds that stand still; atomic */
	uint64_t seq;		/* of the next timer; atomic */
	enum hy_clock_kind kind;
	uint32_t refs;	   /* the user's, and one of each graph */
	uint32_t limit;	   /* hyphae_clock_set_limit() */
	uint32_t attached; /* graphs, for which there is room in places */
	bool running;	   /* some thread is in hyphae_clock_advance() */
	struct hy_heap places;
};

/* Made when a graph first has to do with time. */
struct hy_time {
	struct hy_graph *graph;
	struct hy_clock *clock; /* or NULL: not needed yet */
	struct hy_heap timers;
	size_t reserved; /* places in it that are kept for timers */
	uint64_t target; /* until when timers run; told to `fire` */
	bool placed;	 /* `place` is in the clock's heap */
	bool left;	 /* the graph is being freed */
	/* Under the clock's lock too: */
	struct hy_timer place; /* copies the earliest of `timers` */
	uint32_t pins;	       /* threads that are about to lock the graph */
	/* poll.c */
	int epoll, timer_fd; /* -1: none */
	uint64_t told;	     /* the time timer_fd is set to; 0: none */
	/* frame.c */
	struct hy_thread *frame; /* the thread that has one open */
	uint64_t frames;
	uint64_t boundary;
};

/* A reference that is new, or NULL. */
struct hy_clock *hy_clock_new(enum hy_clock_kind kind, uint64_t start_ns);
struct hy_clock *hy_clock_ref(struct hy_clock *clock);
void hy_clock_unref(struct hy_clock *clock);
/* With its lock held, which is let go of. */
void hy_clock_unref_locked(struct hy_clock *clock);

static inline struct hy_clock *hy_clock_of(const struct hyphae_clock *handle)
{
	return hy_slot(handle, HY_TAG_CLOCK);
}

static inline uint64_t hy_clock_read(const struct hy_clock *clock)
{
	return clock->kind == HY_MONOTONIC ? hy_clock_kernel()
					   : load_acquire(&clock->now);
}

/*
 * With the graph's lock held: what it keeps of time, made if need be; NULL
 * without memory.  The second has a clock.
 */
struct hy_time *hy_time_get(struct hy_graph *g);
struct hy_time *hy_time_with_clock(struct hy_graph *g);

/* The earliest timer may have changed: the clock and timer_fd are told. */
void hy_time_sync(struct hy_time *time);

/*
 * The graph is about to be freed: no thread will find its timers any more.
 * False, and nothing has happened, while one is about to run them.
 */
bool hy_time_leave(struct hy_graph *g);
/* It is freed; no lock is held. */
void hy_time_done(struct hy_graph *g);

/*
 * run.c: run what is due by now, at most so many; how many did, or -EBUSY,
 * -ELOOP.  The graph's lock is held.
 */
int hy_time_dispatch(struct hy_graph *g, int most);

/* poll.c: timer_fd is set to the time when something is to be done next. */
void hy_poll_tell(struct hy_time *time, bool exact);
void hy_poll_done(struct hy_time *time);

#endif
