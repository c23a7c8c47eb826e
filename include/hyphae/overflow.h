/* SPDX-License-Identifier: MIT */
/* What a bounded queue does when it is full: streams, inputs, pools. */
#ifndef HYPHAE_OVERFLOW_H
#define HYPHAE_OVERFLOW_H

#include <stddef.h>

enum hyphae_overflow {
	/* The oldest item goes, the new one stays. */
	HYPHAE_OVERFLOW_DROP_OLDEST = 0,
	/* The new item goes, the queue stays as it is. */
	HYPHAE_OVERFLOW_DROP_NEWEST = 1,
	/* As DROP_OLDEST with a capacity of 1, whatever capacity is given. */
	HYPHAE_OVERFLOW_LATEST = 2,
	/*
	 * Of a stream or a parallel subscription: it ends with the terminal
	 * error -EOVERFLOW after what is queued; the item that found no room is
	 * counted as dropped.  Of an input: the pusher gets -EAGAIN.
	 */
	HYPHAE_OVERFLOW_FAIL = 3,
	/* Of an input only: the pusher waits. */
	HYPHAE_OVERFLOW_BLOCK = 4,
};

/* The most items of one queue; their room is allocated when it is made. */
#define HYPHAE_CAPACITY_MAX ((size_t)1 << 24)

#endif
