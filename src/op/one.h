/* SPDX-License-Identifier: MIT */
/* What operators of one input share that keep a state. */
#ifndef HY_OP_ONE_H
#define HY_OP_ONE_H

#include "base/alloc.h"
#include "core/derive.h"
#include "core/wave.h"

/*
 * Begin a constructor: an order for a cell of `op` over `*input`.  False: there
 * is no input (and errno is as it was), or it is gone (ESTALE).
 */
bool hy_one_begin(struct hy_order *order, const struct hy_op *op,
		  struct hyphae_cell **input, const char *site);

/* Zeroed memory for the state, of the graph's; NULL: no memory. */
static inline void *hy_one_state(const struct hy_order *order, size_t size)
{
	return hy_zalloc_in(order->graph->region, size);
}

/* -EINVAL unless there is a value and the input holds such of `type`. */
int hy_one_own_type(const struct hy_order *order,
		    const struct hyphae_type *type, const void *value);

/*
 * The cell with the state in order->ctx, whose op->free looks at nothing but
 * d->ctx.  That is called here if there will be no cell: if it cannot be made,
 * or if `error`, negative, says that something was wrong before.  A NULL state
 * is ENOMEM.
 */
struct hyphae_cell *hy_one(struct hy_order *order, int error);

/* op->free of a state that keeps no words. */
void hy_one_free(struct hy_graph *g, struct hy_derived *d);

/*
 * A value came and gives no result: what is held stays, but not an error,
 * which is over.
 */
static inline int hy_nothing(struct hy_derived *d)
{
	if (d->cell.flags & F_ERROR)
		hy_set_none(&d->cell);
	return HY_KEEP;
}

/* A function's result as that of `run`. */
static inline int hy_ran(int result)
{
	return result > 0 ? -EINVAL : result;
}

/* ---- with OP_SIGNALS ------------------------------------------------------- */

static inline bool hy_brought_value(const struct hy_derived *d, uint32_t i)
{
	return hy_brought(d, i) & MARK_VALUE && hy_holds_value(d, i);
}

/* An error that was not there before: recoverable, or for good. */
static inline bool hy_brought_error(const struct hy_derived *d, uint32_t i)
{
	return hy_brought(d, i) && hy_holds_error(d, i) &&
	       (hy_brought(d, i) & MARK_VALUE ||
		d->fan_in->edges[i].input->flags & F_FAILED);
}

/* `outcome`, and the end if the input has ended. */
static inline int hy_with_end(struct hy_graph *g, struct hy_derived *d,
			      int outcome)
{
	if (!hy_input_ended(d, 0))
		return outcome;
	if (outcome < 0) {
		hy_set_failure(g, &d->cell, outcome);
		outcome = HY_KEEP;
	}
	return outcome | HY_END;
}

/* What changes() does, for its kin (OP_SHARES, OP_EVENT); they have no state. */
int hy_run_changes(struct hy_graph *g, struct hy_derived *d, void *out);
void hy_reset_changes(struct hy_graph *g, struct hy_derived *d);

/* ---- with OP_MAKES ----------------------------------------------------------- */

/* Zeroed memory for a value that will be `*ret_word`; NULL: no memory. */
static inline void *hy_made_begin(struct hy_derived *d, uint64_t *ret_word)
{
	struct hy_box *box;

	*ret_word = 0;
	if (!(d->cell.flags & F_BOXED))
		return ret_word;
	box = hy_box_take(&d->cell);
	*ret_word = (uintptr_t)box;
	return box ? box->payload : NULL;
}

/* It was not made after all. */
static inline void hy_made_not(struct hy_derived *d, uint64_t word)
{
	if (d->cell.flags & F_BOXED)
		hy_box_spare(&d->cell, hy_box_of(word));
}

#endif
