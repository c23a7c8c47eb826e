/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Dismissals cost some 1 to 30 us each: a share of what they are apart. */
#define PATIENCE 256
#define PATIENCE_MAX 32768
#ifndef LOOKS
#define LOOKS 200 /* without a sleep */
#endif
#define NAP_MS 20
/* A favourite that is at work has so long, and then so long to answer. */
#define TURN_NS 2000
#define ANSWER_NS 1000
#define GLANCES 3 /* tell whether it is at work */
/* Where it goes from thread to thread so often, they had better take turns: */
#define SWITCH_NS 1000
#define SWITCHES 8 /* seen so many times, or more with more patience */
#ifndef PAUSES
#define PAUSES 16 /* between two looks */
#endif
#ifndef SEATS
#define SEATS 256 /* more threads than that at once have none */
#endif

/* <linux/membarrier.h>, since Linux 4.14. */
#define CMD_PRIVATE_EXPEDITED 8
#define CMD_REGISTER_PRIVATE_EXPEDITED 16

unsigned int hy_lock_patience = PATIENCE;

struct hy_seat hy_no_seat;
__thread struct hy_seat *hy_seat = &hy_no_seat;

#if defined(HY_DEBUG) || defined(__SANITIZE_ADDRESS__)
__thread const struct hy_lock *hy_lock_held;
#endif

static struct hy_seat seats[SEATS];
static __thread bool had_seat; /* the thread ends, or there is none for it */
static bool refused = !HYPHAE_MEMBARRIER; /* there is no fence */

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool key_made;

/* ---- the fence --------------------------------------------------------- */

#if HYPHAE_MEMBARRIER && defined(SYS_membarrier)
static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}
#else
static int membarrier(int command)
{
	(void)command;
	errno = ENOSYS;
	return -1;
}
#endif

/* Every other thread of the process passes a full barrier, if it can be had. */
static bool fence(void)
{
	int saved = errno;
	bool passed = membarrier(CMD_PRIVATE_EXPEDITED) == 0;

	/* The first time; or this is the child of one that had not asked. */
	if (!passed && errno == EPERM)
		passed = membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
			 membarrier(CMD_PRIVATE_EXPEDITED) == 0;
	errno = saved;
	if (!passed)
		store_relaxed(&refused, true);
	return passed;
}

/* ---- seats --------------------------------------------------------------- */

/*
 * The thread ends; from now on it takes the way of the others.  If it was
 * cancelled inside a lock that stays taken, as a mutex does, and so the seat.
 */
static void seat_leave(void *ctx)
{
	struct hy_seat *seat = ctx;

	hy_seat = &hy_no_seat;
	if (!load_relaxed(&seat->inside))
		store_release(&seat->taken, 0);
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, seat_leave) == 0;
}

/* Not after the library has been unloaded. */
static __attribute__((destructor)) void unload(void)
{
	if (key_made)
		pthread_key_delete(key);
}

/* What its last thread did on it comes before what this one does. */
static struct hy_seat *free_seat(void)
{
	for (size_t i = 0; i < SEATS; i++)
		if (!load_relaxed(&seats[i].taken) &&
		    !__atomic_exchange_n(&seats[i].taken, 1, __ATOMIC_ACQ_REL))
			return &seats[i];
	return NULL;
}

static bool seat_have(void)
{
	struct hy_seat *seat;

	if (hy_seat != &hy_no_seat)
		return true;
	if (had_seat)
		return false;
	pthread_once(&once, make_key);
	seat = key_made ? free_seat() : NULL;
	had_seat = true;
	if (seat && pthread_setspecific(key, seat)) {
		store_release(&seat->taken, 0);
		seat = NULL;
	}
	if (seat)
		hy_seat = seat;
	return seat;
}

/* ---- favourites --------------------------------------------------------- */

static void nap(long us)
{
	struct timespec t = {0, us * 1000};
	int state, saved = errno;

	/* What waits here is no point of cancellation, as no mutex is one. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	nanosleep(&t, NULL);
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_until_left(const struct hy_seat *seat,
			    const struct hy_lock *lock)
{
	long us = 50;

	for (unsigned int looks = 0; load_acquire(&seat->inside) == lock;) {
		if (looks++ < LOOKS) {
			relax();
			continue;
		}
		nap(us);
		us = us < 500 ? 2 * us : 1000;
	}
}

/*
 * Look for so long, and not for ever where a clock is made to stand still;
 * false as soon as it has become another.
 */
static bool stays(const struct hy_lock *lock, const struct hy_seat *favourite,
		  int64_t ns)
{
	const int64_t start = now_ns();
	int looks = 0;

	do {
		for (int i = 0; i < PAUSES; i++)
			relax();
		if (load_acquire(&lock->favourite) != favourite)
			return false;
	} while (++looks < LOOKS && now_ns() - start < ns);
	return true;
}

/* Who is seldom inside when one looks is better dismissed. */
static bool at_work(const struct hy_seat *seat, const struct hy_lock *lock)
{
	for (int i = 0; i < GLANCES; i++) {
		if (load_relaxed(&seat->inside) == lock)
			return true;
		for (int j = 0; j < PAUSES; j++)
			relax();
	}
	return false;
}

/*
 * A favourite that is at work has its turn, and is asked then; true if it has
 * given the lock up.
 */
static bool ask(struct hy_lock *lock, struct hy_seat *seat)
{
	if (!at_work(seat, lock))
		return false;
	stays(lock, seat, TURN_NS);
	store_relaxed(&lock->favourite, hy_lock_asked(seat));
	return !stays(lock, hy_lock_asked(seat), ANSWER_NS);
}

/*
 * This thread is about to take the mutex: if it is the favourite, and is asked
 * to, it gives the lock up to who has the mutex now.
 */
static void answer(struct hy_lock *lock)
{
	struct hy_seat *asked = hy_lock_asked(hy_seat);

	if (load_relaxed(&lock->favourite) != asked ||
	    !replace_release(&lock->favourite, &asked, NULL))
		return;
	/* And that one is about to let go of the mutex. */
	for (int i = 0; i < LOOKS && !load_relaxed(&lock->favourite); i++)
		relax();
}

/*
 * The mutex is held: from now on that is the lock.  True if the favourite was
 * at work and has given it up.
 */
static NOINLINE bool dismiss(struct hy_lock *lock)
{
	struct hy_seat *seat = load_relaxed(&lock->favourite);

	if (seat != hy_seat && ask(lock, seat)) {
		if (lock->patience > hy_lock_patience)
			lock->patience -= lock->patience / 4;
		return true;
	}
	store_relaxed(&lock->favourite, NULL);
	if (seat == hy_seat)
		return false;
	if (!fence())
		nap(NAP_MS * 1000);
	wait_until_left(seat, lock);
	lock->patience = lock->patience < PATIENCE_MAX / 2 ? lock->patience * 2
							   : PATIENCE_MAX;
	return false;
}

/* It has the mutex; then it is inside as the favourite instead. */
static void favour(struct hy_lock *lock)
{
	lock->streak = lock->switches = 0;
	store_relaxed(&hy_seat->inside, lock);
	store_release(&lock->favourite, hy_seat);
	pthread_mutex_unlock(&lock->mutex);
}

/* It shall be the favourite, if there is a seat and a fence. */
static NOINLINE void may_favour(struct hy_lock *lock)
{
	lock->streak = 0;
	if (!load_relaxed(&refused) && !seat_have())
		return;
	/* Is there one still? */
	if (load_relaxed(&refused) || !fence())
		lock->patience = 0;
	else
		favour(lock);
}

/* Whoever is the favourite is not any more; true if this thread is instead. */
static NOINLINE bool relieve(struct hy_lock *lock)
{
	if (!dismiss(lock) || load_relaxed(&refused) || !seat_have())
		return false;
	favour(lock);
	return true;
}

/* The lock has gone to another thread: does it do so all the time? */
static bool is_contested(struct hy_lock *lock)
{
	uint16_t count = ++lock->switches, us;

	if (count > 1 && count < SWITCHES + lock->patience / 32)
		return false;
	us = (uint16_t)(now_ns() / 1000);
	if (count == 1) {
		lock->since = us;
		return false;
	}
	lock->switches = 0;
	return (uint16_t)(us - lock->since) <= count * SWITCH_NS / 1000;
}

/* The mutex was taken: had this thread better be the favourite? */
static inline bool is_time(struct hy_lock *lock)
{
	const void *me = &hy_seat;

	if (lock->last == me)
		return unlikely(++lock->streak >= lock->patience);
	lock->last = me;
	lock->streak = 0;
	return is_contested(lock);
}

NOINLINE void hy_lock_enter_slowly(struct hy_lock *lock)
{
	answer(lock);
	pthread_mutex_lock(&lock->mutex);
	if (unlikely(load_relaxed(&lock->favourite)) && relieve(lock))
		return;
	if (is_time(lock) && lock->patience)
		may_favour(lock);
}

NOINLINE void hy_lock_leave_slowly(struct hy_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

int hy_lock_wait(struct hy_lock *lock, pthread_cond_t *cond,
		 const struct timespec *until)
{
	int r = 0;

	if (load_relaxed(&hy_seat->inside) == lock) {
		/* A condition goes with the mutex; the caller looks again. */
		store_release(&hy_seat->inside, NULL);
		answer(lock);
		pthread_mutex_lock(&lock->mutex);
	} else {
		r = until ? pthread_cond_timedwait(cond, &lock->mutex, until)
			  : pthread_cond_wait(cond, &lock->mutex);
	}
	if (unlikely(load_relaxed(&lock->favourite)))
		dismiss(lock);
	return r;
}

/* Held for moments only: spinning is cheaper than a sleep in the kernel. */
void hy_lock_init(struct hy_lock *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef __GLIBC__
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(&lock->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	lock->last = NULL;
	lock->streak = lock->switches = 0;
	lock->patience = hy_lock_patience;
	store_relaxed(&lock->favourite, NULL);
}
