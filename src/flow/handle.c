/* SPDX-License-Identifier: MIT */
#include "flow/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "base/alloc.h"
#include "core/types.h"

/* A slot's state: the generation, whether the handle is stale, references. */
#define STALE ((uint64_t)1 << 31)
#define REFS (STALE - 1)
#define GENERATION ((uint64_t)1 << 32)

struct hy_flow_slot {
	uint64_t state;
	uint64_t kind;
	struct hy_flow *object;
	struct hy_flow_slot *next_free;
};

#define REGION_BYTES 65536

/* Protects what follows; nothing is called while it is held but mmap(). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hy_flow_slot *free_slots;

static struct hy_flow_slot *slot_take(void)
{
	struct hy_flow_slot *slot;

	pthread_mutex_lock(&lock);
	if (!free_slots) {
		struct hy_flow_slot *slots = hy_pages(REGION_BYTES, 4096);

		for (size_t i = REGION_BYTES / sizeof(*slots);
		     slots && i-- > 0;) {
			slots[i].next_free = free_slots;
			free_slots = &slots[i];
		}
	}
	slot = free_slots;
	if (slot)
		free_slots = slot->next_free;
	pthread_mutex_unlock(&lock);
	return slot;
}

static void slot_give(struct hy_flow_slot *slot, uint64_t state)
{
	store_release(&slot->state, (state | (GENERATION - 1)) + 1);
	pthread_mutex_lock(&lock);
	slot->next_free = free_slots;
	free_slots = slot;
	pthread_mutex_unlock(&lock);
}

int hy_flow_init(struct hy_flow *flow, enum hy_flow_kind kind,
		 void (*free)(struct hy_flow *flow))
{
	struct hy_flow_slot *slot = slot_take();

	if (!slot)
		return -ENOMEM;
	flow->slot = slot;
	flow->free = free;
	store_relaxed(&slot->kind, kind);
	store_relaxed(&slot->object, flow);
	__atomic_add_fetch(&slot->state, 1, __ATOMIC_RELEASE);
	return 0;
}

static uint64_t generation(uint64_t state)
{
	return state / GENERATION;
}

void *hy_flow_handle(const struct hy_flow *flow)
{
	return hy_handle(flow->slot,
			 generation(load_relaxed(&flow->slot->state)),
			 HY_TAG_FLOW);
}

static bool fits(const void *handle, const struct hy_flow_slot *slot,
		 uint64_t state)
{
	return hy_handle(slot, generation(state), HY_TAG_FLOW) == handle &&
	       !(state & STALE) && state & REFS;
}

struct hy_flow *hy_flow_get(const void *handle, enum hy_flow_kind kind,
			    int *ret_error)
{
	struct hy_flow_slot *slot = hy_place(handle);
	uint64_t state;

	*ret_error = hy_bad_handle(handle);
	if (!slot)
		return NULL;
	state = load_acquire(&slot->state);
	do {
		if (!fits(handle, slot, state))
			return NULL;
		if (load_relaxed(&slot->kind) != kind) {
			*ret_error = -EINVAL;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&slot->state, &state, state + 1,
					      true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	*ret_error = 0;
	return load_relaxed(&slot->object);
}

void hy_flow_ref(struct hy_flow *flow)
{
	__atomic_add_fetch(&flow->slot->state, 1, __ATOMIC_RELAXED);
}

void hy_flow_put(struct hy_flow *flow)
{
	struct hy_flow_slot *slot = flow->slot;
	uint64_t state = __atomic_sub_fetch(&slot->state, 1, __ATOMIC_ACQ_REL);

	if (state & REFS)
		return;
	flow->free(flow);
	slot_give(slot, state);
}

bool hy_flow_retire(struct hy_flow *flow)
{
	return !(
		__atomic_fetch_or(&flow->slot->state, STALE, __ATOMIC_ACQ_REL) &
		STALE);
}
