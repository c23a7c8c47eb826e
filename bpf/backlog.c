// SPDX-License-Identifier: MIT
/* Items that wait to be decoded; see backlog.h. */
#include "bpf/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES (1u << 20)
#define ITEM_MOST (1u << 16)

struct backlog_part {
	struct backlog_part *next;
	size_t used;
	/* Items: their head, then their bytes, in steps of 8. */
	_Alignas(8) unsigned char bytes[PART_BYTES];
};

struct head {
	uint32_t kind;
	uint32_t size;
};

void backlog_open(struct backlog *backlog, size_t limit)
{
	memset(backlog, 0, sizeof(*backlog));
	pthread_mutex_init(&backlog->lock, NULL);
	backlog->limit = limit;
}

static void free_parts(struct backlog_part *part)
{
	struct backlog_part *next;

	for (; part; part = next) {
		next = part->next;
		free(part);
	}
}

void backlog_close(struct backlog *backlog)
{
	free_parts(backlog->first);
	free_parts(backlog->spare);
	pthread_mutex_destroy(&backlog->lock);
	memset(backlog, 0, sizeof(*backlog));
}

bool backlog_has_room(struct backlog *backlog)
{
	bool room;

	pthread_mutex_lock(&backlog->lock);
	room = backlog->bytes < backlog->limit;
	pthread_mutex_unlock(&backlog->lock);
	return room;
}

/* A part with room at the end of the list; with the lock held. */
static struct backlog_part *part_for(struct backlog *backlog, size_t size)
{
	struct backlog_part *part = backlog->last;

	if (part && PART_BYTES - part->used >= size)
		return part;
	part = backlog->spare;
	if (part)
		backlog->spare = part->next;
	else
		part = malloc(sizeof(*part));
	if (!part)
		return NULL;
	part->next = NULL;
	part->used = 0;
	if (backlog->last)
		backlog->last->next = part;
	else
		backlog->first = part;
	backlog->last = part;
	return part;
}

int backlog_add(struct backlog *backlog, uint32_t kind, const void *data,
		size_t size)
{
	struct head head = {kind, (uint32_t)size};
	size_t whole = sizeof(head) + ((size + 7) & ~(size_t)7);
	struct backlog_part *part = NULL;

	pthread_mutex_lock(&backlog->lock);
	if (size <= ITEM_MOST)
		part = part_for(backlog, whole);
	if (part) {
		memcpy(part->bytes + part->used, &head, sizeof(head));
		memcpy(part->bytes + part->used + sizeof(head), data, size);
		part->used += whole;
		backlog->bytes += whole;
	}
	pthread_mutex_unlock(&backlog->lock);
	return part ? 0 : -ENOMEM;
}

static void each_item(const struct backlog_part *part,
		      void (*fn)(void *ctx, uint32_t kind, const void *data,
				 size_t size),
		      void *ctx)
{
	struct head head;
	size_t at = 0;

	while (at < part->used) {
		memcpy(&head, part->bytes + at, sizeof(head));
		at += sizeof(head);
		fn(ctx, head.kind, part->bytes + at, head.size);
		at += (head.size + 7) & ~(size_t)7;
	}
}

/* The oldest part; while it is taken, what comes goes to others. */
static struct backlog_part *pop(struct backlog *backlog)
{
	struct backlog_part *part;

	pthread_mutex_lock(&backlog->lock);
	part = backlog->first;
	if (part) {
		backlog->first = part->next;
		backlog->bytes -= part->used;
	}
	if (!backlog->first)
		backlog->last = NULL;
	pthread_mutex_unlock(&backlog->lock);
	return part;
}

/* One is enough for the usual; more give their memory back. */
static void give_back(struct backlog *backlog, struct backlog_part *part)
{
	pthread_mutex_lock(&backlog->lock);
	if (backlog->spare) {
		free(part);
	} else {
		part->next = NULL;
		backlog->spare = part;
	}
	pthread_mutex_unlock(&backlog->lock);
}

bool backlog_take(struct backlog *backlog,
		  void (*fn)(void *ctx, uint32_t kind, const void *data,
			     size_t size),
		  bool (*enough)(void *ctx), void *ctx)
{
	struct backlog_part *part;
	size_t bytes, taken = 0;

	pthread_mutex_lock(&backlog->lock);
	bytes = backlog->bytes;
	pthread_mutex_unlock(&backlog->lock);
	while (taken < bytes) {
		if (enough && enough(ctx))
			return false;
		part = pop(backlog);
		if (!part)
			break;
		taken += part->used;
		each_item(part, fn, ctx);
		give_back(backlog, part);
	}
	return true;
}
