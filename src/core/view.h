/* SPDX-License-Identifier: MIT */
/* What the first computation of a derived cell sees of its inputs. */
#ifndef HY_VIEW_H
#define HY_VIEW_H

#include "core/derive.h"

/*
 * The inputs as they are when the cell is made.  The function runs without
 * the lock, and if another thread drains, the inputs may change meanwhile: so
 * it gets copies, and afterwards we see whether it has to run again.
 */
struct hy_seen {
	struct hy_cell copy;	/* its box is referenced, */
	struct hy_error *error; /* and its error, */
	struct hy_cell *cell;	/* and itself */
};

struct hy_view {
	size_t count;
	struct hy_seen *inputs;
	struct hy_seen one; /* inputs, when there is one */
};

/* False without memory. */
bool hy_view_init(struct hy_view *view, struct hyphae_cell *const *inputs,
		  size_t count);
void hy_view_done(struct hy_graph *g, struct hy_view *view);

/*
 * Let the cell look at the copies of the values; at the inputs themselves
 * where their errors and ends are what matters, which the lock protects.
 */
void hy_view_show(struct hy_view *view, struct hy_derived *d);

/*
 * Let the cell follow the inputs.  Returns what has come since the copies were
 * made, of all inputs: MARK_VALUE, MARK_END, both or 0.
 */
uint32_t hy_view_link(struct hy_graph *g, struct hy_view *view,
		      struct hy_derived *d);

/*
 * Of a cell of one input: the marks that the input's fan-outs keep up to date
 * from now on.
 */
static inline void hy_view_state(struct hy_derived *d)
{
	const struct hy_cell *input = d->one.input;
	uint32_t marks = 0;

	if (input->flags & (F_NO_VALUE | F_EVENT))
		marks |= F_BLOCKED;
	if (input->flags & F_ENDED)
		marks |= F_INPUT_ENDED;
	hy_flags_set(&d->cell, marks, 0);
}

#endif
