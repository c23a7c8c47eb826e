/* SPDX-License-Identifier: MIT */
/* Waiting with a limit, on the clock that never jumps. */
#ifndef HY_FLOW_WAIT_H
#define HY_FLOW_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void hy_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static inline struct timespec hy_deadline_in(int64_t ns)
{
	struct timespec t = {0};

	if (ns <= 0)
		return t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ns / 1000000000;
	t.tv_nsec += ns % 1000000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/*
 * Wait once: for ever if `timeout_ns` is negative, not at all if it is 0.
 * True when the time is up.
 */
static inline bool hy_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
				int64_t timeout_ns,
				const struct timespec *deadline)
{
	if (!timeout_ns)
		return true;
	if (timeout_ns < 0)
		return pthread_cond_wait(cond, lock) != 0;
	return pthread_cond_timedwait(cond, lock, deadline) != 0;
}

#endif
