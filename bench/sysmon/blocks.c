/* SPDX-License-Identifier: MIT */
/* Building blocks of derived cells; see blocks.h. */
#include "blocks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A compute function may keep a state of its own.  It belongs to the cell:
 * released with it, used by nobody else.
 */
struct state {
	bool begun;
	double time;
	double value;
	double factor; /* scale of a rate, seconds of an average */
};

/* Combine two cells with a new state. */
static struct hyphae_cell *with_state(struct hyphae_cell *first,
				      struct hyphae_cell *second,
				      hyphae_combine_fn fn, double factor,
				      const char *site)
{
	struct hyphae_cell *inputs[] = {first, second};
	struct hyphae_cell *cell;
	struct state *state;

	state = calloc(1, sizeof(*state));
	if (!state)
		return NULL;
	state->factor = factor;
	cell = hyphae_combine_at(inputs, 2, &hyphae_double, fn, state, site);
	if (!cell) {
		free(state);
		return NULL;
	}
	if (hyphae_cell_own(cell, state, free))
		return NULL; /* the scope still has the cell */
	return cell;
}

static int compute_rate(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	double now = *(const double *)inputs[0];
	double value = (double)*(const int64_t *)inputs[1];
	struct state *state = ctx;
	double rate = 0;

	(void)count;
	/* The first value says nothing about growth. */
	if (state->begun && now > state->time)
		rate = (value - state->value) / (now - state->time);
	/* A counter that was reset makes no negative rate. */
	*(double *)ret = rate > 0 ? rate * state->factor : 0;
	state->begun = true;
	state->time = now;
	state->value = value;
	return 0;
}

struct hyphae_cell *rate_at(struct hyphae_cell *now,
			    struct hyphae_cell *counter, double scale,
			    const char *site)
{
	return with_state(now, counter, compute_rate, scale, site);
}

/*
 * An exponential average.  It follows the clock as well as the input: a cell
 * is computed only when an input changes, and the average moves on while the
 * input stays where it is.
 */
static int compute_smooth(void *ret, const void *const *inputs, size_t count,
			  void *ctx)
{
	double now = *(const double *)inputs[0];
	double value = *(const double *)inputs[1];
	struct state *state = ctx;

	(void)count;
	if (!state->begun)
		state->value = value;
	else
		state->value += (value - state->value) *
				(1 - exp((state->time - now) / state->factor));
	/* Arrive some day, so that a quiet machine means quiet cells. */
	if (fabs(value - state->value) <= 1e-4 * (1 + fabs(value)))
		state->value = value;
	state->begun = true;
	state->time = now;
	*(double *)ret = state->value;
	return 0;
}

struct hyphae_cell *smoothed_at(struct hyphae_cell *now,
				struct hyphae_cell *input, double seconds,
				const char *site)
{
	return with_state(now, input, compute_smooth, seconds, site);
}

static int compute_sum(void *ret, const void *const *inputs, size_t count,
		       void *ctx)
{
	double sum = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		sum += *(const double *)inputs[i];
	*(double *)ret = sum;
	return 0;
}

static int compute_mean(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	compute_sum(ret, inputs, count, ctx);
	*(double *)ret /= (double)count;
	return 0;
}

struct hyphae_cell *sum_at(struct hyphae_cell *const *inputs, size_t count,
			   const char *site)
{
	return hyphae_combine_at(inputs, count, &hyphae_double, compute_sum,
				 NULL, site);
}

struct hyphae_cell *mean_at(struct hyphae_cell *const *inputs, size_t count,
			    const char *site)
{
	return hyphae_combine_at(inputs, count, &hyphae_double, compute_mean,
				 NULL, site);
}

void name_cell(struct hyphae_cell *cell, const char *format, ...)
{
	char name[HYPHAE_NAME_MAX + 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	/* A cell without its name works as well, so this may fail. */
	if (cell)
		hyphae_cell_set_name(cell, name);
}
