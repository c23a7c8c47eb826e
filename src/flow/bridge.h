/* SPDX-License-Identifier: MIT */
/*
 * How a signal crosses from graph A to graph B:
 *
 *	bridge.c  bridge_told    A's subscriber: staged in the bridge
 *	hub.c     hy_hub_flush   after A's pass (a kick): all that was staged
 *	                         becomes ready, at once
 *	deliver.c hy_link_deliver  what is ready in a link goes into the inlets
 *	                         in B, as one batch
 *	bridge.c  run            B computes the bridged cell from its inlet
 *
 * A graph that bridges leave has a *hub*; all bridges from it to one graph are
 * a *link*.  One thread at a time delivers what is in a link (`state`), so
 * values do not overtake each other.
 *
 * The hub's lock protects its links and what their bridges have staged and
 * ready.  It is taken while no graph's lock is held, and nothing is called
 * under it but the allocator and posts.
 */
#ifndef HY_FLOW_BRIDGE_H
#define HY_FLOW_BRIDGE_H

#include <hyphae/bridge.h>

#include "flow/follow.h"
#include "flow/held.h"
#include "flow/kick.h"

/* Signals on their way: of a cell at most one, of an event all. */
struct hy_pile {
	struct hy_held *items;
	size_t first, count, capacity; /* from first to count */
};

struct hy_crossing {
	struct hy_pile values;
	struct hy_held end; /* after them; its type is NULL if there is none */
	uint32_t hop;
};

struct hy_bridge {
	uint32_t refs; /* the bridged cell, the subscription, lists */
	struct hy_link *link;
	struct hy_follow follow;
	const struct hyphae_type *type;
	uint64_t cell_id;
	bool event;
	struct hyphae_cell *inlet; /* in the other graph */
	struct hy_job leave;
	/* Under the hub's lock: */
	bool open;     /* what is staged may cross */
	bool ended;    /* the end was staged */
	bool kicked;   /* a flush is to come */
	bool released; /* the bridged cell is gone */
	bool left;     /* the subscription is over */
	struct hy_crossing staged, ready;
	struct hy_crossing going; /* of who delivers */
	bool in_staged, in_ready;
	struct hy_bridge *next_staged, *next_ready, *next_released;
	struct hy_bridge *next_going; /* of who delivers */
};

/* Who delivers what is ready in a link: the state has a reference to it. */
enum hy_link_state {
	LINK_IDLE = 0, /* nobody; no reference */
	LINK_POSTED,   /* the other graph's thread, when it looks */
	LINK_TAKEN,    /* a thread that has its job */
};

/* All bridges from one graph to another, of one way to deliver. */
struct hy_link {
	uint32_t refs; /* bridges, arrival, state */
	struct hy_hub *hub;
	struct hyphae_graph *target;
	uint64_t target_id;
	bool posts;
	struct hy_kick arrival; /* posts: on the other graph's thread */
	struct hy_job deliver;
	/* Under the hub's lock: */
	uint32_t cells; /* bridged cells; 0: it is not in the hub any more */
	bool gone;	/* nobody delivers here any more */
	enum hy_link_state state;
	struct hy_bridge *staged, *ready;
	struct hy_link *next, *next_queued;
};

struct hy_hub {
	uint32_t refs;	  /* links, the kick */
	uint32_t bridges; /* that have not left; under the registry's lock */
	struct hy_graph *graph;
	uint64_t graph_id;
	struct hy_kick kick;
	pthread_mutex_t lock;
	bool gone; /* no more kicks */
	struct hy_link *links;
	struct hy_bridge *released; /* to be unsubscribed by the graph */
	struct hy_hub *next;
};

/* hub.c: find or make; each is one use.  NULL and a negative errno. */
struct hy_hub *hy_hub_enter(struct hyphae_graph *graph, int *ret);
void hy_hub_enter_again(struct hy_hub *hub);
struct hy_link *hy_link_enter(struct hy_hub *hub, struct hyphae_graph *target,
			      bool posts, int *ret);
/* Give the use back: in the context of the hub's graph, of the target. */
void hy_hub_leave(struct hy_hub *hub);
void hy_link_leave(struct hy_link *link);

void hy_hub_put(struct hy_hub *hub);
void hy_link_ref(struct hy_link *link);
void hy_link_put(struct hy_link *link);
void hy_bridge_ref(struct hy_bridge *b);
void hy_bridge_put(struct hy_bridge *b);

/* List it as having something staged, or ready; locked. */
void hy_bridge_stage(struct hy_bridge *b);
void hy_bridge_make_ready(struct hy_bridge *b);

/* All that is staged crosses.  Returns 0 or what went wrong on our side. */
int hy_hub_flush(struct hy_hub *hub);

/* deliver.c: the job of a link that was taken. */
int hy_link_deliver(struct hy_job *job);

/* Add a signal; one that it replaces is in *ret_old.  -ENOMEM. */
int hy_crossing_add(struct hy_crossing *x, bool event,
		    const struct hy_held *held, uint32_t hop,
		    struct hy_held *ret_old);
/* Move all of `from` behind `to`; what that replaces stays in `from`. */
int hy_crossing_move(struct hy_crossing *to, struct hy_crossing *from,
		     bool event);
bool hy_crossing_empty(const struct hy_crossing *x);
void hy_pile_clear(struct hy_pile *pile);
void hy_crossing_done(struct hy_crossing *x);

/* The value of an inlet. */
struct hy_bridged {
	const struct hyphae_type *type;
	uint64_t word;		/* shared */
	struct hy_error *error; /* instead of a value */
	uint32_t hop;
	uint32_t any; /* 0: neither */
};
extern const struct hyphae_type hy_bridged_type;

#endif
