/* SPDX-License-Identifier: MIT */
/*
 * What threads would share if it were written by hand: a value, a function
 * that is told of it, and a lock.  What two processors get done of this is
 * what the machine has to give.
 */
#ifndef BENCH_CONTENDED_BY_HAND_H
#define BENCH_CONTENDED_BY_HAND_H

#include <pthread.h>
#include <stdint.h>

struct by_hand {
	_Alignas(128) pthread_mutex_t lock;
	int64_t value;
	void (*fn)(void *ctx, int64_t value);
	void *ctx;
	int64_t sum; /* what `ctx` points at by default */
};

void by_hand_init(struct by_hand *hand);

/* Store, and tell the function, with the lock held. */
void by_hand_set(struct by_hand *hand, int64_t value);
/* Without the lock. */
int64_t by_hand_get(const struct by_hand *hand);

#endif
