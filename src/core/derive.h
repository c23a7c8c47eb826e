/* SPDX-License-Identifier: MIT */
/*
 * Making derived cells: what all operators share.
 *
 * The rules for an operator's `run`, which computes one cell:
 *
 *  - It is called with the graph's lock, by the drainer (the first time by
 *    whoever makes the cell, before it is linked).  A function of the user's
 *    is called between hy_call_begin() and hy_call_end(), without the lock;
 *    what is needed of the inputs is read before.  It may not write.
 *  - Inputs are read by hy_input_value() and hy_input_word(), not through
 *    edges: at the first computation they are copies.
 *  - It returns a negative errno, or what the user's hyphae_error() returned
 *    (the cell holds that error until it is computed again), or HY_VALUE or
 *    HY_KEEP, perhaps with HY_END or HY_MORE.
 *    HY_VALUE: `out` holds the value: zeroed memory for it, or with OP_SHARES
 *    a uint64_t for the word of an input (the framework takes a reference), or
 *    with OP_GIVES for one that was kept, whose reference goes to the cell.
 *  - State lies behind d->ctx; op->free gives it up.  What is kept of values
 *    is words: hy_word_ref(), hy_word_put() (value.h).
 *
 * A plain operator (no OP_SIGNALS) runs when an input changed and all have
 * values.  An error of an input, and the end of all inputs, pass by without
 * it, and a state is kept meanwhile.
 *
 * With OP_SIGNALS it is called for everything and decides everything:
 *  - hy_brought() tells what an input brought since the last time: MARK_VALUE
 *    (hy_holds_value(), or an error, or neither any more), MARK_END.  At the
 *    first call what an input holds counts as brought; a past event does not.
 *    It is forgotten when `run` returns, with OP_KEEPS when it is taken.
 *  - errors: hy_pass_error() has the cell hold an input's error, for good if
 *    it is for good.  Then return HY_KEEP.
 *  - HY_END completes the cell and lets go of its inputs.
 */
#ifndef HY_DERIVE_H
#define HY_DERIVE_H

#include "core/link.h"
#include "core/sync.h"
#include "core/value.h"

/* The operators; to add one see ARCHITECTURE.md. */
extern const struct hy_op hy_op_map, hy_op_filter, hy_op_combine;
/* map, of an input whose values are not words. */
extern const struct hy_op hy_op_map_boxed;

/*
 * A derived cell of `op` over `inputs`, computed for the first time.
 * `type` NULL: that of the first input.  Returns a handle, or NULL and errno;
 * then the state behind ctx is still the caller's, op->reset() has been called
 * if `run` may have been, and op->free() is not.
 */
struct hyphae_cell *hy_derive(const struct hy_op *op,
			      struct hyphae_cell *const *inputs, size_t count,
			      const struct hyphae_type *type, void (*fn)(void),
			      void *ctx, const char *site);

/*
 * The same of one input, for operators without flags, or with OP_STREAM and
 * OP_SHARES at most: the short way, if nothing stands in it.
 */
struct hyphae_cell *hy_derive_plainly(struct hyphae_cell *input,
				      const struct hyphae_type *type,
				      void (*fn)(void), void *ctx,
				      const char *site, const struct hy_op *op);

/* The same, also without inputs (OP_DYNAMIC), and with a say in it. */
struct hy_order {
	struct hy_graph *graph; /* NULL: that of the inputs */
	const struct hy_op *op;
	struct hyphae_cell *const *inputs;
	size_t count;
	const struct hyphae_type *type;
	void (*fn)(void);
	void *ctx;
	const char *site;
	bool hidden; /* a part of another cell: no scope has it */
	bool lazy;   /* begin idle; also if the graph says so */
	bool eager;  /* never lazy */
	bool cold;   /* lazy, and so is what is made of it */
	/*
	 * OP_DYNAMIC: `run` links what it wants of the inputs, at most so many
	 * at once without asking for memory; the cell lies above all of them
	 * from the beginning.  They are held (hy_hold()) for the state, which
	 * lets go of them.
	 */
	uint32_t apart;
};
struct hyphae_cell *hy_order(struct hy_order *order);

/*
 * A hidden cell that follows nothing yet, is never lazy and holds a word, which
 * is 1; `op` tracks.  The reference is the caller's.  NULL without memory.  With
 * the lock.
 */
struct hy_derived *hy_derive_hidden(struct hy_graph *g, const struct hy_op *op,
				    const struct hyphae_type *type,
				    void (*fn)(void), void *ctx,
				    const char *site);

/*
 * The same of slots, ids and room that are there; 1 is what nothing is over.
 * The label is that of the site, or NULL: something is not there, or the graph
 * is not idle.  There is an id, and room for a subscription of it in lists, too.
 */
const struct hy_label *hy_hidden_ready(const struct hy_graph *g,
				       const char *site);
struct hy_derived *hy_hidden_make(struct hy_graph *g, const struct hy_op *op,
				  const struct hyphae_type *type,
				  void (*fn)(void), void *ctx,
				  const struct hy_label *label);

/* ---- for `run` ------------------------------------------------------------ */

static inline const void *hy_input_value(const struct hy_derived *d, uint32_t i)
{
	return d->cell.flags & F_NARY ? d->values[i]
				      : hy_value_of(d->one.input);
}

static inline const struct hyphae_type *
hy_input_type(const struct hy_derived *d, uint32_t i)
{
	return d->cell.flags & F_NARY ? d->fan_in->edges[i].input->type
				      : d->one.input->type;
}

static inline uint64_t hy_input_word(const struct hy_derived *d, uint32_t i)
{
	return hy_word_at(hy_input_type(d, i), hy_input_value(d, i));
}

/*
 * OP_SIGNALS: MARK_VALUE, MARK_END, both or 0.  hy_each_news() goes through the
 * inputs that brought something, in their order.
 */
static inline uint32_t hy_brought(const struct hy_derived *d, uint32_t i)
{
	return d->marks[i] & (MARK_VALUE | MARK_END);
}

/* The same, and it is seen to; for OP_KEEPS. */
static inline uint32_t hy_take(struct hy_derived *d, uint32_t i)
{
	uint32_t brought = hy_brought(d, i);

	hy_news_remove(d, i);
	return brought;
}

static inline bool hy_holds_value(const struct hy_derived *d, uint32_t i)
{
	return !(d->marks[i] & MARK_WITHOUT);
}

/* It holds an error: recoverable, or for good. */
static inline bool hy_holds_error(const struct hy_derived *d, uint32_t i)
{
	const struct hy_cell *input = d->fan_in->edges[i].input;

	return input && input->flags & F_ERROR;
}

static inline bool hy_input_ended(const struct hy_derived *d, uint32_t i)
{
	return d->marks[i] & MARK_ENDED;
}

/*
 * OP_SEES: whether the input has a value.  Otherwise it holds an error, and
 * hy_inherit_error() has the cell hold it, or there is none.
 */
static inline bool hy_sees_value(const struct hy_derived *d)
{
	if (d->cell.id)
		return !(d->cell.flags & F_BLOCKED);
	/* Not linked yet; what an event has said is over. */
	return !(d->one.input->flags & (F_NO_VALUE | F_EVENT));
}

/* The cell holds what input `i` holds as an error. */
void hy_pass_error(struct hy_graph *g, struct hy_derived *d, uint32_t i);

/*
 * Have a cell (OP_SIGNALS) computed in a wave, from anywhere, with the lock
 * held; while another thread propagates, in a wave after the one under way.
 */
void hy_wake(struct hy_graph *g, struct hy_derived *d);

/* What a function of the user returned that makes a value each time. */
static inline int hy_plain_result(int r)
{
	if (likely(r == 0))
		return HY_VALUE;
	return r > 0 ? -EINVAL : r;
}

/*
 * map and combine, inline because they are most of what graphs do; the rest is
 * in src/op/.
 */
static inline int hy_run_map(struct hy_graph *g, struct hy_derived *d,
			     void *out)
{
	hyphae_map_fn fn = (hyphae_map_fn)d->fn;
	const void *input = hy_value_of(d->one.input);
	int r;

	hy_call_begin(g);
	r = fn(out, input, d->ctx);
	hy_call_end(g);
	return hy_plain_result(r);
}

static inline int hy_run_combine(struct hy_graph *g, struct hy_derived *d,
				 void *out)
{
	hyphae_combine_fn fn = (hyphae_combine_fn)d->fn;
	const void *one, *const *values = &one;
	size_t count = 1;
	int r;

	if (likely(d->cell.flags & F_NARY)) {
		values = d->values;
		count = d->fan_in->count;
	} else {
		one = hy_value_of(d->one.input);
	}
	hy_call_begin(g);
	r = fn(out, values, count, d->ctx);
	hy_call_end(g);
	return hy_plain_result(r);
}

/* An effect's; `again`: nothing that its function read can change any more. */
static inline int hy_run_count(const struct hy_derived *d, uint64_t *ret_word)
{
	if (unlikely(d->fan_in->again))
		return HY_KEEP | HY_END;
	*ret_word = d->cell.word + 1;
	return HY_VALUE;
}

#endif
