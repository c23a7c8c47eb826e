/* SPDX-License-Identifier: MIT */
#include "flow/held.h"

#include <string.h>

#include "base/alloc.h"
#include "base/region.h"

/* The value of a signal of a boxed type is the payload of its box. */
static struct hy_box *box_of_value(const void *value)
{
	return container_of(value, struct hy_box, payload);
}

static struct hy_error *error_of_message(const char *message)
{
	return container_of(message, struct hy_error, message);
}

void hy_word_share(const struct hyphae_type *type, uint64_t word)
{
	if (hy_type_boxed(type) && word)
		hy_box_ref(hy_box_of(word));
}

/*
 * Not by way of hy_box_put(): that gives a box back to its cell, which only
 * the cell's graph may do.
 */
void hy_word_release(const struct hyphae_type *type, uint64_t word)
{
	struct hy_box *box;

	if (!hy_type_boxed(type) || !word)
		return;
	box = hy_box_of(word);
	if (__atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (type->drop)
		type->drop(box->payload);
	hy_free(box);
}

/* Without memory for its message it is the same error without. */
static struct hy_error *keep_error(const struct hyphae_signal *signal)
{
	struct hy_error *error = error_of_message(signal->message);

	if (!hy_region_of(error))
		return hy_error_ref(error);
	error = hy_error_new(signal->code, signal->message);
	return error->code == signal->code ? error
					   : hy_error_new(signal->code, NULL);
}

static int keep_value(const struct hyphae_signal *signal, uint64_t *ret_word)
{
	const struct hyphae_type *type = signal->type;
	struct hy_box *box;

	if (!hy_type_boxed(type)) {
		*ret_word = hy_word_of(type, signal->value);
		return 0;
	}
	box = box_of_value(signal->value);
	if (hy_region_of(box))
		return hy_word_make(NULL, type, signal->value, NULL, ret_word);
	hy_box_ref(box);
	*ret_word = (uintptr_t)box;
	return 0;
}

int hy_held_of(const struct hyphae_signal *signal, struct hy_held *ret_held)
{
	*ret_held = (struct hy_held){.type = signal->type,
				     .cell_id = signal->cell_id,
				     .kind = (uint8_t)signal->kind,
				     .terminal = signal->terminal};
	if (signal->kind == HYPHAE_ERROR)
		ret_held->error = keep_error(signal);
	else if (signal->kind == HYPHAE_VALUE)
		return keep_value(signal, &ret_held->word);
	return 0;
}

struct hy_held hy_held_failure(const struct hyphae_type *type, uint64_t cell_id,
			       int code)
{
	return (struct hy_held){.type = type,
				.cell_id = cell_id,
				.kind = HYPHAE_ERROR,
				.terminal = true,
				.error = hy_error_new(code, NULL)};
}

void hy_held_drop(struct hy_held *held)
{
	if (held->error)
		hy_error_unref(held->error);
	else if (held->type && held->kind == HYPHAE_VALUE)
		hy_word_release(held->type, held->word);
	*held = (struct hy_held){.type = NULL};
}

struct hyphae_signal hy_held_signal(const struct hy_held *held)
{
	struct hyphae_signal signal = {
		.kind = (enum hyphae_signal_kind)held->kind,
		.terminal = held->terminal,
		.type = held->type,
		.message = "",
		.cell_id = held->cell_id,
	};

	if (held->error) {
		signal.code = held->error->code;
		signal.message = held->error->message;
	} else if (held->kind == HYPHAE_VALUE) {
		signal.value = hy_type_boxed(held->type)
				       ? (void *)hy_box_of(held->word)->payload
				       : (const void *)&held->word;
	}
	return signal;
}

/* ---- the queue -------------------------------------------------------------- */

int hy_ring_init(struct hy_ring *ring, size_t capacity,
		 enum hyphae_overflow policy)
{
	memset(ring, 0, sizeof(*ring));
	if (policy == HYPHAE_OVERFLOW_LATEST) {
		policy = HYPHAE_OVERFLOW_DROP_OLDEST;
		capacity = 1;
	}
	if (!capacity || capacity > HYPHAE_CAPACITY_MAX ||
	    (unsigned int)policy > HYPHAE_OVERFLOW_BLOCK)
		return -EINVAL;
	ring->items = hy_alloc(capacity * sizeof(*ring->items));
	if (!ring->items)
		return -ENOMEM;
	ring->capacity = capacity;
	ring->policy = policy;
	return 0;
}

void hy_ring_done(struct hy_ring *ring)
{
	struct hy_item item;

	while (hy_ring_take(ring, &item))
		hy_held_drop(&item.held);
	hy_free(ring->items);
	ring->items = NULL;
}

static struct hy_item *item_at(struct hy_ring *ring, size_t index)
{
	size_t at = ring->first + index;

	return &ring->items[at < ring->capacity ? at : at - ring->capacity];
}

static void pop(struct hy_ring *ring, struct hy_item *ret_item)
{
	*ret_item = *item_at(ring, 0);
	ring->first = ring->first + 1 == ring->capacity ? 0 : ring->first + 1;
	ring->count--;
}

/* What was dropped before the oldest item is now missing before the next. */
static void drop_oldest(struct hy_ring *ring, struct hy_held *ret_victim)
{
	struct hy_item victim;

	pop(ring, &victim);
	ring->dropped++;
	*(ring->count ? &item_at(ring, 0)->gap : &ring->gap) += victim.gap + 1;
	*ret_victim = victim.held;
}

void hy_ring_lost(struct hy_ring *ring)
{
	ring->dropped++;
	ring->gap++;
}

static void drop_new(struct hy_ring *ring, const struct hy_item *item,
		     struct hy_held *ret_victim)
{
	hy_ring_lost(ring);
	*ret_victim = item->held;
}

void hy_ring_end(struct hy_ring *ring, const struct hy_held *end)
{
	if (ring->ended)
		return;
	ring->ended = ring->end_waits = true;
	ring->end = (struct hy_item){.held = *end, .gap = ring->gap};
}

void hy_ring_put(struct hy_ring *ring, const struct hy_item *item,
		 struct hy_held *ret_victim)
{
	struct hy_item *place;

	*ret_victim = (struct hy_held){.type = NULL};
	if (ring->ended) {
		*ret_victim = item->held;
		return;
	}
	if (item->held.terminal) {
		hy_ring_end(ring, &item->held);
		return;
	}
	if (hy_ring_full(ring)) {
		if (ring->policy != HYPHAE_OVERFLOW_DROP_OLDEST) {
			drop_new(ring, item, ret_victim);
			if (ring->policy == HYPHAE_OVERFLOW_FAIL) {
				struct hy_held end = hy_held_failure(
					item->held.type, item->held.cell_id,
					-EOVERFLOW);

				hy_ring_end(ring, &end);
			}
			return;
		}
		drop_oldest(ring, ret_victim);
	}
	place = item_at(ring, ring->count++);
	*place = *item;
	place->gap = ring->gap;
	place->sequence = ++ring->sequence;
	ring->gap = 0;
}

bool hy_ring_take(struct hy_ring *ring, struct hy_item *ret_item)
{
	if (ring->count) {
		pop(ring, ret_item);
		return true;
	}
	if (!ring->end_waits)
		return false;
	*ret_item = ring->end;
	ring->end_waits = false;
	return true;
}

bool hy_ring_remove(struct hy_ring *ring, uint64_t sequence,
		    struct hy_held *ret_held)
{
	size_t i = 0;

	while (i < ring->count && item_at(ring, i)->sequence != sequence)
		i++;
	if (i == ring->count)
		return false;
	*ret_held = item_at(ring, i)->held;
	for (; i + 1 < ring->count; i++)
		*item_at(ring, i) = *item_at(ring, i + 1);
	ring->count--;
	return true;
}
