// SPDX-License-Identifier: MIT
/* Being told to end; see interrupt.h. */
#include "bpf/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_uint_least64_t came_ns; /* when the first came; 0: none yet */

uint64_t interrupt_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void note(int number)
{
	uint64_t none = 0;

	(void)number;
	atomic_compare_exchange_strong(&came_ns, &none, interrupt_clock_ns());
}

void interrupt_open(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;
	size_t i;

	/* Without SA_RESTART: what waits in a system call wakes up. */
	memset(&action, 0, sizeof(action));
	action.sa_handler = note;
	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

bool interrupt_came(void)
{
	return atomic_load(&came_ns);
}

bool interrupt_is_due(unsigned int ms)
{
	uint64_t since = atomic_load(&came_ns);

	return since && interrupt_clock_ns() - since >= ms * 1000000ull;
}
