/* SPDX-License-Identifier: MIT */
/* The same by hand; see by_hand.h. */
#include "by_hand.h"

#define NOINLINE __attribute__((noinline))

static void add(void *ctx, int64_t value)
{
	*(int64_t *)ctx += value;
}

void by_hand_init(struct by_hand *hand)
{
	*hand = (struct by_hand){.fn = add, .ctx = &hand->sum};
	pthread_mutex_init(&hand->lock, NULL);
}

NOINLINE void by_hand_set(struct by_hand *hand, int64_t value)
{
	pthread_mutex_lock(&hand->lock);
	__atomic_store_n(&hand->value, value, __ATOMIC_RELEASE);
	hand->fn(hand->ctx, value);
	pthread_mutex_unlock(&hand->lock);
}

NOINLINE int64_t by_hand_get(const struct by_hand *hand)
{
	return __atomic_load_n(&hand->value, __ATOMIC_ACQUIRE);
}
