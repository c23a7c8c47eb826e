/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Dismissals cost some 1 to 30 us each: a share of what they are apart. */
#define PATIENCE 256
#define PATIENCE_MAX 65536
#ifndef LOOKS
#define LOOKS 200 /* without a sleep */
#endif
#define NAP_MS 20
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

/* The mutex is held: from now on that is the lock. */
static NOINLINE void dismiss(struct hy_lock *lock)
{
	struct hy_seat *seat = lock->favourite;

	store_relaxed(&lock->favourite, NULL);
	if (seat == hy_seat)
		return;
	if (!fence())
		nap(NAP_MS * 1000);
	wait_until_left(seat, lock);
	if (lock->patience < PATIENCE_MAX)
		lock->patience *= 2;
}

static void take(struct hy_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	if (unlikely(lock->favourite))
		dismiss(lock);
}

/* It has the mutex; then it is inside as the favourite instead. */
static NOINLINE void favour(struct hy_lock *lock)
{
	lock->streak = 0;
	if (!load_relaxed(&refused) && !seat_have())
		return;
	/* Is there a fence still? */
	if (load_relaxed(&refused) || !fence()) {
		lock->patience = UINT32_MAX;
		return;
	}
	store_relaxed(&hy_seat->inside, lock);
	store_release(&lock->favourite, hy_seat);
	pthread_mutex_unlock(&lock->mutex);
}

NOINLINE void hy_lock_enter_slowly(struct hy_lock *lock)
{
	const void *me = &hy_seat;

	take(lock);
	if (lock->last != me) {
		lock->last = me;
		lock->streak = 0;
	} else if (unlikely(++lock->streak >= lock->patience)) {
		favour(lock);
	}
}

NOINLINE void hy_lock_leave_slowly(struct hy_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

int hy_lock_wait(struct hy_lock *lock, pthread_cond_t *cond,
		 const struct timespec *until)
{
	int r;

	if (load_relaxed(&hy_seat->inside) == lock) {
		/* A condition goes with the mutex; the caller looks again. */
		store_release(&hy_seat->inside, NULL);
		take(lock);
		return 0;
	}
	r = until ? pthread_cond_timedwait(cond, &lock->mutex, until)
		  : pthread_cond_wait(cond, &lock->mutex);
	if (unlikely(lock->favourite))
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
	lock->streak = 0;
	lock->patience = hy_lock_patience ? hy_lock_patience : UINT32_MAX;
	store_relaxed(&lock->favourite, NULL);
}
