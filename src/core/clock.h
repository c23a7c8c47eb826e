/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC, read cheaply while somebody watches.
 *
 * Asking the kernel's vDSO costs as much as all the rest of a record.  Where
 * the processor's time stamp counter runs at one speed for ever, a thread
 * reads that instead and counts from an anchor: the time and the counter read
 * together when its block was begun.  The speed is measured over the first
 * second and then kept (error below 1 in 10^6); until two milliseconds are
 * over, and on other machines, the kernel is asked.
 */
#ifndef HY_CLOCK_H
#define HY_CLOCK_H

#include <time.h>

#include "core/sync.h"

/* Nanoseconds per tick, times 2^32; 0: not known, or no such counter. */
extern uint64_t hy_clock_rate __attribute__((visibility("hidden")));

/* Set this thread's anchor to now, and go on measuring the speed. */
void hy_clock_anchor(void);

static inline uint64_t hy_clock_kernel(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#ifdef __x86_64__

static inline uint64_t hy_clock_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uint64_t hy_clock_now(void)
{
	uint64_t rate = load_relaxed(&hy_clock_rate);
	const struct hy_anchor *anchor = &hy_self.anchor;
	uint64_t ticks;

	if (unlikely(!rate || !anchor->ticks))
		return hy_clock_kernel();
	ticks = hy_clock_ticks() - anchor->ticks;
	/* Another processor's counter may be a little behind. */
	if (unlikely((int64_t)ticks < 0))
		return anchor->ns;
	return anchor->ns + (uint64_t)((unsigned __int128)ticks * rate >> 32);
}

#else

static inline uint64_t hy_clock_now(void)
{
	return hy_clock_kernel();
}

#endif

#endif
