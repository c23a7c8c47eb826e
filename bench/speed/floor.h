/* SPDX-License-Identifier: MIT */
/*
 * The floor: the same work written by hand, without a library.
 *
 * Two forms.  Pushing: a source calls each entry of its array; a derived
 * value is an entry that computes and is a source itself.  Flat: an array of
 * nodes in topological order, gone through from start to end; this one is
 * free of glitches and does not recurse.
 */
#ifndef BENCH_SPEED_FLOOR_H
#define BENCH_SPEED_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What subscribers add to, on either side. */
extern volatile int64_t sink;

/* ---- pushing ---------------------------------------------------------- */

typedef void (*floor_fn)(void *ctx, int64_t value);

struct floor_entry {
	floor_fn fn;
	void *ctx;
};

struct floor_source {
	int64_t value;
	uint32_t count;
	uint32_t room;
	struct floor_entry *entries;
};

struct floor_derived {
	struct floor_source source;
	int64_t (*map)(int64_t value);
};

void floor_set(struct floor_source *source, int64_t value);
int64_t floor_get(const struct floor_source *source);
void floor_subscribe(struct floor_source *source, floor_fn fn, void *ctx);
/* Swap-remove of the entry at `place`. */
void floor_unsubscribe(struct floor_source *source, uint32_t place);

void floor_derive(struct floor_derived *derived, struct floor_source *input);
void floor_add_to_sink(void *ctx, int64_t value);

/* ---- flat -------------------------------------------------------------- */

struct floor_node {
	int64_t value;
	void (*fn)(struct floor_node *base, struct floor_node *self);
	uint32_t first_input;
	uint32_t inputs;
};

/* Store in node 0, then compute all the others. */
void floor_flat_set(struct floor_node *nodes, size_t count, int64_t value);
void floor_node_add_one(struct floor_node *base, struct floor_node *self);
void floor_node_sum(struct floor_node *base, struct floor_node *self);
void floor_node_to_sink(struct floor_node *base, struct floor_node *self);

/* ---- a list of nodes with three inputs ------------------------------------ */

struct floor_sum {
	int64_t value;
	void (*fn)(struct floor_sum *base, struct floor_sum *self);
	uint32_t inputs[3];
};

/* What a batch concerns, in topological order, and who is told. */
struct floor_list {
	uint32_t *nodes;
	size_t count;
	uint32_t followed[4];
	size_t nfollowed;
};

void floor_sum_init(struct floor_sum *node, const uint32_t inputs[3]);
void floor_list_update(struct floor_sum *nodes, const struct floor_list *list);

/* ---- groups in much memory ------------------------------------------------ */

/* One value in as much memory as a cell takes. */
struct floor_spread {
	int64_t value;
	void (*fn)(struct floor_spread *input, struct floor_spread *self);
	struct floor_spread *next; /* what follows it; NULL: the sink */
	char rest[104];
};

/* A group: each node but the first follows the one before. */
void floor_spread_init(struct floor_spread *nodes, size_t count);
/* Store in the first, then compute what follows. */
void floor_spread_set(struct floor_spread *first, int64_t value);

/* ---- batch -------------------------------------------------------------- */

struct floor_dirty {
	struct floor_source source;
	bool dirty;
};

struct floor_queue {
	struct floor_dirty **entries;
	size_t count;
};

void floor_queue_set(struct floor_queue *queue, struct floor_dirty *dirty,
		     int64_t value);
void floor_queue_flush(struct floor_queue *queue);

/* ---- memory ------------------------------------------------------------- */

/* malloc and free that the compiler cannot see through. */
void *floor_make(size_t size);
void floor_release(void *memory);

#endif
