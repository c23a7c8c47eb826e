/* SPDX-License-Identifier: MIT */
#include "core/ending.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool key_made;

/* By enum hy_left_open: what is never opened need not be linked. */
static void (*ends[HY_LEFT_KINDS])(void);

/* What these open and leave open makes the system call this again. */
static void thread_ends(void *unused)
{
	(void)unused;
	hy_self.minded = 0;
	for (int i = 0; i < HY_LEFT_KINDS; i++) {
		void (*end)(void) = load_acquire(&ends[i]);

		if (end)
			end();
	}
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, thread_ends) == 0;
}

/* Not after the library has been unloaded. */
static __attribute__((destructor)) void unload(void)
{
	if (key_made)
		pthread_key_delete(key);
}

NOINLINE void hy_mind_end_now(enum hy_left_open what, void (*end)(void))
{
	pthread_once(&once, make_key);
	store_release(&ends[what], end);
	if (key_made && !pthread_setspecific(key, &key))
		hy_self.minded |= 1u << what;
}
