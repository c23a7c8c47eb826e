/* SPDX-License-Identifier: MIT */
#include "time/shelf.h"

#include <string.h>

#include "base/alloc.h"

#define REGION_BYTES 16384

static uint64_t next_id = 1;

static void add_region(struct hy_shelf *shelf)
{
	char *region = hy_pages(REGION_BYTES, 4096);

	for (size_t at = 0; region && at + shelf->bytes <= REGION_BYTES;
	     at += shelf->bytes) {
		struct hy_shelved *object = (void *)(region + at);

		pthread_mutex_init(&object->lock, NULL);
		object->next_free = shelf->free;
		shelf->free = object;
	}
}

void *hy_shelf_take(struct hy_shelf *shelf)
{
	struct hy_shelved *object;

	pthread_mutex_lock(&shelf->lock);
	if (!shelf->free)
		add_region(shelf);
	object = shelf->free;
	if (object)
		shelf->free = object->next_free;
	pthread_mutex_unlock(&shelf->lock);
	if (object)
		memset(object + 1, 0, shelf->bytes - sizeof(*object));
	return object;
}

void hy_shelf_publish(struct hy_shelved *object)
{
	uint64_t id;

	/* None with 16 low zero bits: a free slot fits no handle. */
	do
		id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
	while (!(id & 0xffff));
	store_release(&object->id, id);
}

void hy_shelf_give(struct hy_shelf *shelf, struct hy_shelved *object)
{
	pthread_mutex_lock(&shelf->lock);
	object->next_free = shelf->free;
	shelf->free = object;
	pthread_mutex_unlock(&shelf->lock);
}

void *hy_shelf_lock(const void *handle, enum hy_tag tag)
{
	struct hy_shelved *object = hy_slot(handle, tag);

	if (!object)
		return NULL;
	pthread_mutex_lock(&object->lock);
	if (hy_slot(handle, tag))
		return object;
	pthread_mutex_unlock(&object->lock);
	return NULL;
}
