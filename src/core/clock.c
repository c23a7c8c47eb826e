/* SPDX-License-Identifier: MIT */
#include "core/clock.h"

#include <pthread.h>

uint64_t hy_clock_rate;

#ifdef __x86_64__

#include <cpuid.h>

#define FIRST_NS 2000000u   /* the shortest stretch to trust */
#define LAST_NS 1000000000u /* long enough for good */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hy_anchor origin; /* where the measurement began */
static uint32_t measured;	/* the rate is final */

/* "Invariant TSC" (Intel SDM 3, 18.17; AMD APM 3, CPUID 8000_0007 EDX[8]). */
static bool counter_is_steady(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

static void measure(const struct hy_anchor *now)
{
	uint64_t ns, ticks;

	pthread_mutex_lock(&lock);
	if (!origin.ticks) {
		origin = *now;
		if (!counter_is_steady())
			store_release(&measured, 1);
	} else if (!measured) {
		ns = now->ns - origin.ns;
		ticks = now->ticks - origin.ticks;
		if (ns >= FIRST_NS && ticks)
			store_release(&hy_clock_rate,
				      (uint64_t)(((unsigned __int128)ns << 32) /
						 ticks));
		if (ns >= LAST_NS)
			store_release(&measured, 1);
	}
	pthread_mutex_unlock(&lock);
}

void hy_clock_anchor(void)
{
	struct hy_anchor now;

	/* The counter between two readings of the time: no bias. */
	uint64_t before = hy_clock_kernel();

	now.ticks = hy_clock_ticks();
	now.ns = before + (hy_clock_kernel() - before) / 2;
	if (!load_acquire(&measured))
		measure(&now);
	hy_self.anchor = now;
}

#else

void hy_clock_anchor(void)
{
}

#endif
