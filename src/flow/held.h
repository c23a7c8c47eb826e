/* SPDX-License-Identifier: MIT */
/* Signals that outlive the call in which they were told, and queues of them. */
#ifndef HY_FLOW_HELD_H
#define HY_FLOW_HELD_H

#include <hyphae/overflow.h>

#include "core/value.h"

/*
 * A signal that somebody keeps.  A value in a box is shared with the graph: it
 * is a reference to the box.  These are counted atomically in every graph,
 * also in a single-threaded one, so a holder may be on any thread and outlive
 * the graph.  What lies in storage of the caller's, which the graph's end gives
 * back, is copied.
 */
struct hy_held {
	const struct hyphae_type *type;
	uint64_t word; /* the value, or its box */
	struct hy_error *error;
	uint64_t cell_id;
	uint8_t kind; /* enum hyphae_signal_kind */
	bool terminal;
};

/*
 * Keep what a subscriber is being told.  A value that has to be copied may
 * fail: -ENOMEM, or what type->copy says.  Ends never do.
 */
int hy_held_of(const struct hyphae_signal *signal, struct hy_held *ret_held);

/* An end of our own making: a terminal error without a message. */
struct hy_held hy_held_failure(const struct hyphae_type *type, uint64_t cell_id,
			       int code);

/* Give it up: may call type->drop, so no lock is held.  Zeroed: nothing. */
void hy_held_drop(struct hy_held *held);

/* The signal once more; its value may lie in `held`. */
struct hyphae_signal hy_held_signal(const struct hy_held *held);

/* One more reference to the box of a value, and one less. */
void hy_word_share(const struct hyphae_type *type, uint64_t word);
void hy_word_release(const struct hyphae_type *type, uint64_t word);

/* ---- a bounded queue ------------------------------------------------------ */

struct hy_item {
	struct hy_held held;
	uint64_t gap; /* dropped between the one before and this one */
	uint64_t sequence;
	uint32_t hop; /* of an input: see graph->hop */
};

/*
 * At most `capacity` items and one end, for which there is always room.  The
 * caller locks.  What is dropped is handed to him, to give it up without the
 * lock.
 */
struct hy_ring {
	struct hy_item *items;
	size_t capacity, first, count;
	enum hyphae_overflow policy;
	uint64_t sequence; /* of the newest item */
	uint64_t dropped;
	uint64_t gap; /* dropped since the newest item came */
	bool ended;   /* nothing is put any more */
	bool end_waits;
	struct hy_item end;
};

/* 0, -EINVAL or -ENOMEM.  A policy of HYPHAE_OVERFLOW_BLOCK is the caller's. */
int hy_ring_init(struct hy_ring *ring, size_t capacity,
		 enum hyphae_overflow policy);
void hy_ring_done(struct hy_ring *ring); /* also gives up what is in it */

static inline bool hy_ring_full(const struct hy_ring *ring)
{
	return ring->count == ring->capacity;
}

static inline bool hy_ring_empty(const struct hy_ring *ring)
{
	return !ring->count && !ring->end_waits;
}

/*
 * Put a signal (a terminal one is the end) and drop another one if the policy
 * says so: that is in *ret_victim, else nothing is.  With
 * HYPHAE_OVERFLOW_FAIL a full queue ends with -EOVERFLOW.
 */
void hy_ring_put(struct hy_ring *ring, const struct hy_item *item,
		 struct hy_held *ret_victim);

/* An item was lost before it could be put: counted as dropped. */
void hy_ring_lost(struct hy_ring *ring);

/* End it, unless it has ended. */
void hy_ring_end(struct hy_ring *ring, const struct hy_held *end);

/* Take the oldest item, the end when there is no other; false: none. */
bool hy_ring_take(struct hy_ring *ring, struct hy_item *ret_item);

/* Take one item out of wherever it is, or false if it is not there any more. */
bool hy_ring_remove(struct hy_ring *ring, uint64_t sequence,
		    struct hy_held *ret_held);

#endif
