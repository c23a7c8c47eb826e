/* SPDX-License-Identifier: MIT */
/* What operators of many inputs share. */
#ifndef HY_MANY_H
#define HY_MANY_H

#include "base/alloc.h"
#include "core/derive.h"
#include "core/wave.h"

/*
 * The input has failed for good: its error is the last that it says.  (One that
 * holds an error may also complete.)
 */
static inline bool hy_input_failed(const struct hy_derived *d, uint32_t i)
{
	return hy_input_ended(d, i) && hy_holds_error(d, i) &&
	       d->fan_in->edges[i].input->flags & F_FAILED;
}

/* It, with a reference. */
static inline struct hy_error *hy_input_error(const struct hy_derived *d,
					      uint32_t i)
{
	return hy_error_ref(hy_error_of(d->fan_in->edges[i].input));
}

static inline bool hy_inputs_ended(const struct hy_derived *d)
{
	return d->fan_in->ended == d->fan_in->count;
}

/*
 * Call a hyphae_combine_fn.  HY_VALUE, or HY_KEEP after it failed: then the
 * cell holds the error, so that HY_END or HY_MORE can be added.
 */
int hy_combine_with(struct hy_graph *g, struct hy_derived *d, void *out,
		    const void *const *values, size_t count, void *ctx);

/*
 * 0 if there are inputs and they can be looked at; with `alike`, of one type.
 * Else -1, and errno is set, or left alone for a NULL input.
 */
int hy_check_inputs(struct hyphae_cell *const *inputs, size_t count,
		    bool alike);

/* Zeroed memory for the state, of the graph of the first input. */
static inline void *hy_many_state(struct hyphae_cell *const *inputs,
				  size_t bytes)
{
	return hy_zalloc_in(hy_graph_of(hy_cell_place(inputs[0]))->region,
			    bytes);
}

#endif
