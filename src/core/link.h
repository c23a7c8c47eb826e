/* SPDX-License-Identifier: MIT */
/*
 * Edges: a derived cell begins and ceases to follow an input.  All of it is
 * called with the lock held; what makes or breaks links of a cell in a wave
 * is called by the drainer.
 */
#ifndef HY_LINK_H
#define HY_LINK_H

#include "core/label.h"
#include "core/release.h"
#include "core/types.h"

/*
 * I7: the eager stack has room for that many more edges, and a cell.  Parked
 * edges count too, and what lies there now: its edge may have gone.
 */
bool hy_stack_room(struct hy_graph *g, size_t edges);

/* Slots for `capacity` inputs of which `count` are in use; false: no memory. */
bool hy_fan_in_make(struct hy_graph *g, struct hy_derived *d, uint32_t count,
		    uint32_t capacity);
/* The same, for none yet, in a free slot that there is (hy_inputs_ready()). */
void hy_fan_in_make_ready(struct hy_graph *g, struct hy_derived *d);
/* If there was memory for it. */
void hy_fan_in_free(struct hy_graph *g, struct hy_derived *d);

/* Where chunks are not scarce, and nothing on the heap stands for a cell. */
static inline bool hy_inputs_ready(const struct hy_graph *g)
{
	return likely(g->free_slots[HY_CHUNK_INPUTS] != NULL) &&
	       likely(!g->region) && likely(!(g->flags & HYPHAE_HEAP_CELLS));
}

/*
 * Note what input `i` is now; `brought`: MARK_VALUE, MARK_END or both, that
 * an operator with OP_SIGNALS shall see.
 */
void hy_fan_in_note(struct hy_derived *d, uint32_t i, uint32_t brought);

/* The same when the cell begins to follow it: it has brought what it holds. */
void hy_fan_in_begin(struct hy_derived *d, uint32_t i);

/* It has brought that; not OP_BLIND. */
static inline void hy_news_add(struct hy_derived *d, uint32_t i,
			       uint32_t brought)
{
	d->marks[i] |= (unsigned char)brought;
	hy_bits_add(hy_news(d->fan_in), d->fan_in->capacity, i);
}

/* What it brought is seen to. */
static inline void hy_news_remove(struct hy_derived *d, uint32_t i)
{
	d->marks[i] &= MARK_WITHOUT | MARK_ENDED;
	hy_bits_remove(hy_news(d->fan_in), d->fan_in->capacity, i);
}

/* The first input from `from` on that is in the set, or `count`. */
static inline uint32_t hy_news_next(const struct hy_derived *d, uint32_t from)
{
	const struct hy_fan_in *in = d->fan_in;
	size_t i = hy_bits_next(hy_news(in), in->capacity, from);

	return i < in->count ? (uint32_t)i : in->count;
}

#define hy_each_news(d, i)                                                     \
	for (uint32_t i = hy_news_next(d, 0); i < (d)->fan_in->count;          \
	     i = hy_news_next(d, i + 1))

static inline void hy_news_clear(struct hy_derived *d)
{
	hy_each_news(d, i)
		hy_news_remove(d, i);
}

/* The cell may hold an error already. */
static inline void hy_edge_own(struct hy_edge *e, struct hy_derived *owner)
{
	if (likely(!(e->held & HY_HELD_ERROR)))
		e->owner = owner;
}

/* Put the edge behind the last in the input's list; nothing else. */
static inline void hy_edge_put_in(struct hy_graph *g, struct hy_edge *e,
				  struct hy_cell *input)
{
	struct hy_edge *first = input->deps, *last;

	e->input = input;
	e->next = NULL;
	if (unlikely(first != NULL)) {
		last = first->prev;
		last->next = e;
		first->prev = e;
	} else {
		last = e;
		input->deps = e;
	}
	e->prev = last;
	g->nedges++;
}

/* Have the owner follow the input; takes a reference.  Never fails. */
void hy_edge_link(struct hy_graph *g, struct hy_edge *e,
		  struct hy_derived *owner, struct hy_cell *input);

/* A reference for an operator's state. */
static inline struct hy_cell *hy_hold(struct hy_cell *c)
{
	c->refs++;
	return c;
}

static inline void hy_let_go(struct hy_graph *g, struct hy_cell *c)
{
	if (g->freeing) /* all are going, and it may have gone */
		return;
	hy_cell_put(g, c);
}

/*
 * For operators with OP_DYNAMIC.  hy_link_add(): follow one more input, in a
 * free slot or a new one; its place, or -ENOMEM, or -ELOOP when the cell would
 * follow itself by it (and nothing was linked).  If that raised the height,
 * *ret_raised is set: inputs may have to settle first (hy_must_settle()).
 * The input counts as having brought what it holds.
 */
int hy_link_add(struct hy_graph *g, struct hy_derived *d, struct hy_cell *input,
		bool *ret_raised);
void hy_link_remove(struct hy_graph *g, struct hy_derived *d, uint32_t i);

/*
 * The cell has linked inputs that may be yet to be computed in this wave.
 * True: it is computed again after them; tell HY_KEEP.
 */
bool hy_must_settle(struct hy_graph *g, struct hy_derived *d);

/*
 * Keep the first `keep` inputs, let go of the others, and follow `cells`
 * instead, in that order; the caller has references to these.  -ELOOP: those
 * that would close a cycle were left out; -ENOMEM: some were.
 */
int hy_relink(struct hy_graph *g, struct hy_derived *d, uint32_t keep,
	      struct hy_cell *const *cells, uint32_t count, bool *ret_raised);

/*
 * The same of a tracked cell that follows nothing yet, and takes the references
 * of the caller if all are what is read most: those hold values and lie lower.
 * 1, 0: they are not, or -ENOMEM.
 */
int hy_link_first(struct hy_graph *g, struct hy_derived *d,
		  struct hy_cell *const *cells, uint32_t count);

/*
 * The cell is about to follow `input`: let its height, and those of all below
 * it, be greater.  0, -ENOMEM, or -ELOOP: `input` follows the cell.
 */
int hy_raise(struct hy_graph *g, struct hy_derived *d, struct hy_cell *input);

/*
 * The cell would follow itself.  True: another cell may be about to let go of
 * it, so it is computed again when the wave has nothing else left; false: it
 * has been, and this is a cycle.
 */
bool hy_link_later(struct hy_graph *g, struct hy_derived *d);
/* Queue those again; true if there are some. */
bool hy_link_again(struct hy_graph *g);

/* Keep a cell in a list, with a reference; there is room (I7). */
void hy_list_add(struct hy_list *list, struct hy_cell *c);
/* Room for `want`; false without memory. */
bool hy_list_enlarge(struct hy_graph *g, struct hy_list *list, size_t want);

static inline bool hy_list_reserve(struct hy_graph *g, struct hy_list *list,
				   size_t want)
{
	return want <= list->capacity || hy_list_enlarge(g, list, want);
}

#endif
