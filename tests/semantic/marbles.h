/* SPDX-License-Identifier: MIT */
/*
 * Marbles: what goes into an operator and what comes out, as text in which
 * each sign is a frame of time.
 *
 *	-	nothing
 *	a	a value; '!' is made a recoverable error before the operator
 *	|	completion
 *	#	a failure for good
 *	(ab|)	several in one frame
 *	[ab]	of the output: one value, a text that is not one sign
 *
 * A clock of the case's own visits each frame; first its timers run, then what
 * the input has there is written.  Nothing may come in the 100 frames after
 * the texts either.
 */
#ifndef HYPHAE_TESTS_SEMANTIC_MARBLES_H
#define HYPHAE_TESTS_SEMANTIC_MARBLES_H

#include "fixture.h"

#define FRAME UINT64_C(1000) /* ns */

/* The operator of the case over the input; its reference goes to the helper. */
typedef struct hyphae_cell *(*marble_op)(struct hyphae_cell *input);

/*
 * Run a case with events of int64 and of text, each with a cell that is not
 * lazy and one that is.  Returns the last code of an error that was told.
 */
int marble_events(struct world *world, marble_op op, const char *in,
		  const char *expected);

/*
 * The same with value cells; the first sign of `in` is the value that they are
 * made with.
 */
int marble_values(struct world *world, marble_op op, const char *in,
		  const char *expected);

/* Both; for `in` that begins with a value. */
int marble(struct world *world, marble_op op, const char *in,
	   const char *expected);

/* fn(values) for operators that gather: their text, one after the other. */
int marble_join(void *ret, const void *const *values, size_t count, void *ctx);
/* The ctx for it, of the type of the input. */
#define MARBLE_TYPE(input) ((void *)(uintptr_t)marble_type(input))
const struct hyphae_type *marble_type(const struct hyphae_cell *input);

/* ---- for cases that do it themselves ---------------------------------------- */

/* A virtual clock for the graph; give it back with marble_clock_done(). */
struct hyphae_clock *marble_clock(struct world *world);
void marble_clock_done(struct hyphae_clock *clock);

/* Let `frames` of them pass. */
void pass(struct hyphae_clock *clock, uint64_t frames);

size_t armed(const struct world *world);

#endif
