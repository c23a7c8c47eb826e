/* SPDX-License-Identifier: MIT */
/*
 * Items that were taken out of the ring and wait to be decoded.  The kernel's
 * ring is small and must be emptied at once; this can wait while a report of
 * a million cells is made.  One thread adds, another takes.
 */
#ifndef HYPHAE_BPF_BACKLOG_H
#define HYPHAE_BPF_BACKLOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backlog {
	pthread_mutex_t lock;
	struct backlog_part *first, *last; /* that wait */
	struct backlog_part *spare;
	size_t bytes, limit; /* that wait, and at most */
};

void backlog_open(struct backlog *backlog, size_t limit);
void backlog_close(struct backlog *backlog);

/* Has it room for one more item of any size? */
bool backlog_has_room(struct backlog *backlog);

/* Add a copy.  -ENOMEM. */
int backlog_add(struct backlog *backlog, uint32_t kind, const void *data,
		size_t size);

/*
 * Take what waits by now and call fn for each, oldest first.  Between two
 * parts of it `enough` is asked (NULL: never); when it says so, the rest goes
 * on waiting.  Was all taken?
 */
bool backlog_take(struct backlog *backlog,
		  void (*fn)(void *ctx, uint32_t kind, const void *data,
			     size_t size),
		  bool (*enough)(void *ctx), void *ctx);

#endif
