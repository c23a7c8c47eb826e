/* SPDX-License-Identifier: MIT */
/* The floor; see floor.h. */
#include "floor.h"

#include <stdlib.h>

/*
 * The library keeps frame pointers for profilers; the floor pays for nothing
 * that the work does not need.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer", "optimize-sibling-calls")
#endif

#define NOINLINE __attribute__((noinline))

volatile int64_t sink;

NOINLINE void floor_set(struct floor_source *source, int64_t value)
{
	uint32_t i;

	source->value = value;
	for (i = 0; i < source->count; i++)
		source->entries[i].fn(source->entries[i].ctx, value);
}

NOINLINE int64_t floor_get(const struct floor_source *source)
{
	return source->value;
}

NOINLINE void floor_subscribe(struct floor_source *source, floor_fn fn,
			      void *ctx)
{
	if (source->count == source->room) {
		uint32_t room = source->room ? source->room * 2 : 4;
		struct floor_entry *entries =
			reallocarray(source->entries, room, sizeof(*entries));

		if (!entries)
			abort();
		source->entries = entries;
		source->room = room;
	}
	source->entries[source->count++] = (struct floor_entry){fn, ctx};
}

NOINLINE void floor_unsubscribe(struct floor_source *source, uint32_t place)
{
	source->entries[place] = source->entries[--source->count];
}

static int64_t add_one(int64_t value)
{
	return value + 1;
}

static void update(void *ctx, int64_t value)
{
	struct floor_derived *derived = ctx;

	floor_set(&derived->source, derived->map(value));
}

void floor_derive(struct floor_derived *derived, struct floor_source *input)
{
	derived->map = add_one;
	floor_subscribe(input, update, derived);
}

NOINLINE void floor_add_to_sink(void *ctx, int64_t value)
{
	(void)ctx;
	sink = (int64_t)((uint64_t)sink + (uint64_t)value);
}

NOINLINE void floor_flat_set(struct floor_node *nodes, size_t count,
			     int64_t value)
{
	size_t i;

	nodes[0].value = value;
	for (i = 1; i < count; i++)
		nodes[i].fn(nodes, &nodes[i]);
}

void floor_node_add_one(struct floor_node *base, struct floor_node *self)
{
	self->value = base[self->first_input].value + 1;
}

void floor_node_sum(struct floor_node *base, struct floor_node *self)
{
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; i < self->inputs; i++)
		sum += base[self->first_input + i].value;
	self->value = sum;
}

void floor_node_to_sink(struct floor_node *base, struct floor_node *self)
{
	sink += base[self->first_input].value;
}

static void sum_inputs(struct floor_sum *base, struct floor_sum *self)
{
	uint64_t sum = (uint64_t)base[self->inputs[0]].value;

	sum += (uint64_t)base[self->inputs[1]].value;
	sum += (uint64_t)base[self->inputs[2]].value;
	self->value = (int64_t)sum;
}

void floor_sum_init(struct floor_sum *node, const uint32_t inputs[3])
{
	node->fn = sum_inputs;
	node->inputs[0] = inputs[0];
	node->inputs[1] = inputs[1];
	node->inputs[2] = inputs[2];
}

/* As a subscriber of the library, the followed ones have a function. */
NOINLINE void floor_list_update(struct floor_sum *nodes,
				const struct floor_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		struct floor_sum *node = &nodes[list->nodes[i]];

		node->fn(nodes, node);
	}
	for (i = 0; i < list->nfollowed; i++)
		floor_add_to_sink(NULL, nodes[list->followed[i]].value);
}

static void spread_add_one(struct floor_spread *input,
			   struct floor_spread *self)
{
	self->value = input->value + 1;
}

void floor_spread_init(struct floor_spread *nodes, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		nodes[i].value = (int64_t)i;
		nodes[i].fn = spread_add_one;
		nodes[i].next = i + 1 < count ? &nodes[i + 1] : NULL;
	}
}

NOINLINE void floor_spread_set(struct floor_spread *first, int64_t value)
{
	struct floor_spread *node = first;

	node->value = value;
	for (; node->next; node = node->next)
		node->next->fn(node, node->next);
	floor_add_to_sink(NULL, node->value);
}

NOINLINE void floor_queue_set(struct floor_queue *queue,
			      struct floor_dirty *dirty, int64_t value)
{
	dirty->source.value = value;
	if (dirty->dirty)
		return;
	dirty->dirty = true;
	queue->entries[queue->count++] = dirty;
}

NOINLINE void floor_queue_flush(struct floor_queue *queue)
{
	size_t i;

	for (i = 0; i < queue->count; i++) {
		struct floor_dirty *dirty = queue->entries[i];

		dirty->dirty = false;
		floor_set(&dirty->source, dirty->source.value);
	}
	queue->count = 0;
}

NOINLINE void *floor_make(size_t size)
{
	return malloc(size);
}

NOINLINE void floor_release(void *memory)
{
	free(memory);
}
