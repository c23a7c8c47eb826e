/* SPDX-License-Identifier: MIT */
/*
 * Handles of what is no part of a graph: streams, inputs, pools, parallel
 * subscriptions.  As with cells, a handle is the address of a slot with 16
 * bits of its generation on top, and the memory of slots never becomes else.
 * A slot counts the references to its object in one word together with the
 * generation, so that looking a handle up and taking a reference is one step.
 */
#ifndef HY_FLOW_HANDLE_H
#define HY_FLOW_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

enum hy_flow_kind {
	HY_FLOW_STREAM = 1,
	HY_FLOW_INPUT,
	HY_FLOW_POOL,
	HY_FLOW_PARALLEL,
};

struct hy_flow_slot;

/* The beginning of each of these objects. */
struct hy_flow {
	struct hy_flow_slot *slot;
	void (*free)(struct hy_flow *flow); /* the last reference is gone */
};

/* Give it a slot, and one reference, which is the handle's.  -ENOMEM. */
int hy_flow_init(struct hy_flow *flow, enum hy_flow_kind kind,
		 void (*free)(struct hy_flow *flow));
void *hy_flow_handle(const struct hy_flow *flow);

/* A reference to what the handle stands for; NULL and -EINVAL or -ESTALE. */
struct hy_flow *hy_flow_get(const void *handle, enum hy_flow_kind kind,
			    int *ret_error);
void hy_flow_ref(struct hy_flow *flow);
void hy_flow_put(struct hy_flow *flow);

/*
 * The handle becomes stale.  True for the one caller that brought it about:
 * it has the handle's reference now.
 */
bool hy_flow_retire(struct hy_flow *flow);

#endif
