/* SPDX-License-Identifier: MIT */
/*
 * A mutex that costs the thread that takes it most of the time no atomic
 * read-modify-write: a biased lock.
 *
 * A lock is a pthread mutex and, at times, a *favourite*: the thread that took
 * it so many times in a row.  The favourite enters and leaves by plain stores
 * to a word of its own, its *seat*.  Every other thread takes the mutex and,
 * if it finds a favourite, dismisses it: that is a system call, membarrier(2),
 * and a wait until it has left.  Then the lock is the mutex and nothing else,
 * until a thread has been alone with it for longer than before.
 *
 * Why at most one thread is inside.  The favourite, F, and one who dismisses
 * it, D:
 *
 *	F1: F->inside = lock		D0: the mutex is taken
 *	    (a compiler barrier)	D1: lock->favourite = NULL
 *	F2: lock->favourite == F?	D2: membarrier: each running thread of
 *	    yes: it has the lock	    the process passes a full barrier
 *	    no: F->inside = NULL, and	D3: until F->inside != lock (acquire)
 *	        the way of the others	    then D has the lock
 *	F3: F->inside = NULL (release)
 *
 * The barrier of D2 falls somewhere into what F does.  If F1 is before it D3
 * sees F1 or something later, so D waits for F3 or for F to go back.  If F1 is
 * after it so is F2, which sees D1, and F goes back.  (F2 cannot see itself be
 * made the favourite again meanwhile, because a thread makes nobody but itself
 * the favourite, with the mutex held.)  F that is not running, or not in the
 * kernel's eyes, has passed a full barrier when it was switched away from.
 * Between D0 and its unlock D has the mutex, so there is one D at a time, and
 * there is a new favourite only when the old one has left.
 *
 * Taking turns.  Where two threads want the lock all the time neither a mutex,
 * which moves from one processor to the other with each stay, nor a system
 * call for each dismissal gets much done.  So D, with the mutex, looks first
 * whether F is at work.  If so D lets it go on for TURN_NS, and asks: it marks
 * the favourite (hy_lock_asked()), by which F, the next time that it comes to
 * F2 or the look before it, goes the way of the others.  There F, which is
 * outside, takes its own mark away (compare and exchange: D may have given up
 * waiting, and another be the favourite by then).  D sees that it has gone,
 * by an acquire what F did before its release, and needs no barrier, since F
 * itself has said that it is outside.  Now D is the favourite, until F, who
 * waits for the mutex, asks in turn.  If F does not answer, it is dismissed.
 * A mutex that goes to and fro all the time is made one with turns, and all of
 * it is put off for longer by each dismissal, because then it did not pay.
 *
 * Why F writes to memory of its own and not to the lock: F may stop between a
 * first look at the favourite and F1 for any time.  When it goes on the lock
 * may have another favourite, whose word must not be touched.  For the same
 * reason seats are never freed, and given to another thread only when theirs
 * has ended.  A thread is inside one lock at a time (sync.h), so one word is
 * enough; what is taken while the favourite is inside another is the mutex.
 *
 * Memory order.  What F did inside is seen by D: F3 is a release, D3 an
 * acquire.  (D3 may see the F1 of a later stay elsewhere instead of F3: a store
 * by the same thread belongs to what F3 releases.)  What D did is seen by F:
 * after D1 it takes the mutex.  F itself needs no order among its own stays.
 *
 * No wake-up can be lost since there is none: D looks again and again, at
 * first without a sleep, then in sleeps of up to a millisecond.  Inside are
 * moments, no function of the user's, so that is seldom more than a few looks.
 *
 * Where membarrier is not to be had nobody is ever made a favourite.  If it is
 * refused only later (a seccomp filter that was installed meanwhile) D waits
 * for NAP_MS in place of D2, once a lock, and there are no favourites any more.
 * That is what C11 calls a reasonable time for a store to become visible
 * (7.17.3, 16); processors keep one back for less than a thousandth of it.
 * With HYPHAE_MEMBARRIER=0 it is never called, for filters that kill.
 */
#ifndef HY_LOCK_H
#define HY_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/compiler.h"

#ifndef HYPHAE_MEMBARRIER
#define HYPHAE_MEMBARRIER 1
#endif

struct hy_lock;

/* Of one thread, by which it says where it is; two lines are fetched at once. */
struct hy_seat {
	const struct hy_lock *inside; /* as its favourite, or NULL */
	uint32_t taken;
} __attribute__((aligned(128)));

/* In a graph alone in its cache line, where it fits: others look at it. */
struct hy_lock {
	/* Or NULL; changed with the mutex held, but for an answer. */
	struct hy_seat *favourite;
	pthread_mutex_t mutex;
	const void *last;  /* who took the mutex last, */
	uint16_t streak;   /* so many times in a row; */
	uint16_t patience; /* so many make it the favourite; 0: never */
	uint16_t switches; /* from one thread to another, */
	uint16_t since;	   /* by the clock, in us */
};

/*
 * How often in a row a thread takes a new lock before it is its favourite;
 * from then on twice as often after each dismissal.  0: never.  At most 32768.
 * For tests.
 */
extern unsigned int hy_lock_patience;

/* A seat that nobody sits on and that is the favourite of no lock. */
extern struct hy_seat hy_no_seat __attribute__((visibility("hidden")));

extern __thread struct hy_seat *hy_seat
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* In the place of the favourite: it is, and is asked to give the lock up. */
static inline struct hy_seat *hy_lock_asked(struct hy_seat *seat)
{
	return (struct hy_seat *)((char *)seat + 1);
}

/* In builds that check: that no thread is inside two. */
#if defined(HY_DEBUG) || defined(__SANITIZE_ADDRESS__)
extern __thread const struct hy_lock *hy_lock_held
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline void hy_lock_holds(const struct hy_lock *before,
				 const struct hy_lock *now)
{
	if (hy_lock_held != before)
		__builtin_trap();
	hy_lock_held = now;
}
#else
static inline void hy_lock_holds(const struct hy_lock *before,
				 const struct hy_lock *now)
{
	(void)before;
	(void)now;
}
#endif

void hy_lock_init(struct hy_lock *lock);
void hy_lock_enter_slowly(struct hy_lock *lock);
void hy_lock_leave_slowly(struct hy_lock *lock);

/*
 * Wait for the condition, or until a time by its clock if there is one, with
 * the lock held before and after, not during.  Returns 0 or what pthread_
 * cond_timedwait() does.  It may return early: look again at what you wait for.
 */
int hy_lock_wait(struct hy_lock *lock, pthread_cond_t *cond,
		 const struct timespec *until);

static inline void hy_lock_enter(struct hy_lock *lock)
{
	struct hy_seat *seat = hy_seat;

	hy_lock_holds(NULL, lock);
	if (likely(load_relaxed(&lock->favourite) == seat)) {
		store_relaxed(&seat->inside, lock);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (likely(load_acquire(&lock->favourite) == seat))
			return;
		store_release(&seat->inside, NULL);
	}
	hy_lock_enter_slowly(lock);
}

static inline void hy_lock_leave(struct hy_lock *lock)
{
	struct hy_seat *seat = hy_seat;

	hy_lock_holds(lock, NULL);
	if (likely(load_relaxed(&seat->inside) == lock))
		store_release(&seat->inside, NULL);
	else
		hy_lock_leave_slowly(lock);
}

#endif
