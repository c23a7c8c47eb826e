/* SPDX-License-Identifier: MIT */
/*
 * Objects of the process that belong to no graph: clocks, loops.  Like graphs
 * they lie in pages that never become anything else, and a handle carries 16
 * bits of the id, so that a stale one can be looked at, and locked.
 */
#ifndef HY_SHELF_H
#define HY_SHELF_H

#include <pthread.h>

#include "core/types.h"

/* What each begins with; `lock` is made once and stays. */
struct hy_shelved {
	uint64_t id; /* 0: free */
	struct hy_shelved *next_free;
	pthread_mutex_t lock;
};

struct hy_shelf {
	size_t bytes; /* of an object */
	struct hy_shelved *free;
	pthread_mutex_t lock;
};
#define HY_SHELF(type)                                                         \
	{                                                                      \
		.bytes = sizeof(type), .lock = PTHREAD_MUTEX_INITIALIZER       \
	}

/*
 * An object, zeroed behind what it begins with, that no handle fits until it
 * is published; NULL without memory.
 */
void *hy_shelf_take(struct hy_shelf *shelf);
void hy_shelf_publish(struct hy_shelved *object);
/* The caller has set the id to 0. */
void hy_shelf_give(struct hy_shelf *shelf, struct hy_shelved *object);

/* Locked; NULL if the handle is NULL, stale or of another kind. */
void *hy_shelf_lock(const void *handle, enum hy_tag tag);

#endif
