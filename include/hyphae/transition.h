/* SPDX-License-Identifier: MIT */
/* A state machine as a table: what happens from one state to the next. */
#ifndef HYPHAE_TRANSITION_H
#define HYPHAE_TRANSITION_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In a table: whatever the state is. */
#define HYPHAE_ANY_STATE INT64_MIN

/* What may happen between two states.  The first that fits is taken. */
struct hyphae_transition {
	int64_t from, to; /* states, or HYPHAE_ANY_STATE */
	/* 1: take it; 0: no output; a negative errno.  NULL: always. */
	int (*guard)(const void *from, const void *to, void *ctx);
	/* Make the output in `ret`, as hyphae_map_fn.  NULL: there is none. */
	int (*handler)(void *ret, const void *from, const void *to, void *ctx);
};

/* What is done on the way out of a state and into it; each may be NULL. */
struct hyphae_state {
	int64_t state; /* or HYPHAE_ANY_STATE */
	void (*on_exit)(const void *from, void *ctx);
	void (*on_enter)(const void *to, void *ctx);
};

struct hyphae_machine {
	/* The state that a value is in.  NULL: an int64 is its own state. */
	int64_t (*state_of)(const void *value, void *ctx);
	const struct hyphae_transition *transitions;
	size_t transition_count;
	const struct hyphae_state *states;
	size_t state_count;
	/* There is no transition between these two.  May be NULL. */
	void (*on_invalid)(const void *from, const void *to, void *ctx);
};

/*
 * A cell of `type` that holds the output of the last transition of `input`,
 * whose value is, or has, the state.  `initial` (copied) is what it holds from
 * the first value of the input on, until there is a transition; NULL: nothing.
 * The table is borrowed for as long as the cell lives, so it is best static and
 * const.
 *
 * The first value of the input is the state to begin with: no function is
 * called.  With each value after it the state advances, in any case, and
 *  - a transition fits: its guard is asked; then on_exit() of the old state,
 *    handler(), on_enter() of the new one, each with the values.  Entries of
 *    `states` for HYPHAE_ANY_STATE are called for every state, in the order
 *    of the table.  If the guard says no, nothing else is called;
 *  - none fits: on_invalid() is called, unless the state is the same as
 *    before; there is no output.
 * So a transition that was not foreseen never makes the machine stick.
 *
 * Without output the cell keeps what it holds, but not an error.  An error of
 * guard or handler is held until the next value; on_enter() is not called
 * after one of the handler.  An error of the input passes by and the state is
 * kept.  Completion, terminal failure, threads, references: as all operators
 * (operators.h).  A batch is one value, so one transition; an event gives one
 * each, and the cell is then an event, without an initial output.  A lazy
 * cell that wakes begins anew.  EINVAL: no table or a count without an array,
 * an input that is not int64 and no state_of, no type.
 *
 *	static const struct hyphae_transition door[] = {
 *		{OPEN, CLOSED, NULL, on_close},
 *		{CLOSED, LOCKED, has_key, on_lock},
 *		{HYPHAE_ANY_STATE, BROKEN, NULL, on_break},
 *	};
 *	static const struct hyphae_machine machine = {
 *		.transitions = door, .transition_count = 3};
 *
 *	cell = hyphae_state_transition(state, &hyphae_string, &machine, NULL,
 *				       NULL);
 */
#define hyphae_state_transition(input, type, machine, initial, ctx)            \
	hyphae_state_transition_at(input, type, machine, initial, ctx,         \
				   HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_state_transition_at(struct hyphae_cell *input,
			   const struct hyphae_type *type,
			   const struct hyphae_machine *machine,
			   const void *initial, void *ctx, const char *site);

#ifdef __cplusplus
}
#endif

#endif
