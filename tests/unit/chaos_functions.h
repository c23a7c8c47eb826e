/* SPDX-License-Identifier: MIT */
/* Of the chaos: the functions that the library calls. */
#ifndef CHAOS_FUNCTIONS_H
#define CHAOS_FUNCTIONS_H

#include <unistd.h>

#include "chaos.h"

static struct hyphae_cell *make_source(struct hyphae_graph *graph,
				       const struct hyphae_type *type);

/* ---- of operators ----------------------------------------------------------- */

static int image(int n)
{
	return (int)((unsigned int)n * 3u + 1u) & 0xffff;
}

static int some_error(void)
{
	return percent(50) ? -EIO : hyphae_error(-ERANGE, "chance");
}

/* Look, do something, and look again: nothing may have changed. */
static int look_twice(const struct hyphae_type *type, const void *value)
{
	int n = any_look(type, value);

	perhaps();
	if (any_look(type, value) != n)
		wrong("an input changed under a function");
	return n;
}

static int map_fn(void *ret, const void *input, void *ctx)
{
	struct context *context = ctx;
	int n = look_twice(context->in, input);

	if (percent(2))
		return some_error();
	any_return(ret, context->out, image(n));
	perhaps();
	return 0;
}

static int filter_fn(const void *input, void *ctx)
{
	int n = look_twice(((struct context *)ctx)->in, input);

	return percent(1) ? -EIO : n & 1;
}

static void tap_fn(const void *input, void *ctx)
{
	look_twice(((struct context *)ctx)->in, input);
}

static bool same_fn(const void *a, const void *b, void *ctx)
{
	const struct hyphae_type *type = ((struct context *)ctx)->in;

	return look_twice(type, a) / 2 == look_twice(type, b) / 2;
}

static int combine_fn(void *ret, const void *const *values, size_t count,
		      void *ctx)
{
	struct context *context = ctx;
	int sum = 0, again = 0;

	for (size_t i = 0; i < count; i++)
		sum += any_look(context->in, values[i]);
	perhaps();
	for (size_t i = 0; i < count; i++)
		again += any_look(context->in, values[i]);
	if (sum != again)
		wrong("inputs changed under a combine");
	if (percent(2))
		return -EIO;
	any_return(ret, context->out, sum & 0xffff);
	return 0;
}

static int fold_fn(void *ret, const void *state, const void *value, void *ctx)
{
	struct context *context = ctx;
	int sum = look_twice(context->out, state) +
		  look_twice(context->in, value);

	if (percent(2))
		return -EIO;
	any_return(ret, context->out, sum & 0xffff);
	return 0;
}

static int catch_fn(void *ret, int code, const char *message, void *ctx)
{
	(void)code;
	(void)strlen(message);
	perhaps();
	if (percent(5))
		return -EIO;
	any_return(ret, ((struct context *)ctx)->out, 7);
	return 0;
}

static int map_error_fn(int code, const char *message, void *ctx)
{
	(void)ctx;
	(void)strlen(message);
	perhaps();
	if (percent(30))
		return 0;
	return percent(50) ? hyphae_error(-EPIPE, "of %d", code) : -EPIPE;
}

static int next_fn(void *ret, void *ctx)
{
	uint32_t what = below(10);

	perhaps();
	if (!what)
		return 0;
	if (what == 1 && percent(20))
		return -EIO;
	any_return(ret, ((struct context *)ctx)->out, (int)below(100));
	return 1;
}

static int computed_fn(void *ret, void *ctx)
{
	int sum = 0;

	for (uint32_t n = below(5); n; n--) {
		int64_t read;

		if (!hyphae_int64_get(any_cell(), &read))
			sum += (int)read;
		if (percent(5))
			perhaps();
	}
	perhaps();
	if (percent(3))
		return -EIO;
	any_return(ret, ((struct context *)ctx)->out, sum & 0xffff);
	return 0;
}

/* Some cell of the type that lies about, or a new one, or none. */
static struct hyphae_cell *select_cell(const struct hyphae_type *type)
{
	for (int i = 0; i < 10; i++) {
		struct hyphae_cell *cell = any_cell();
		struct hyphae_cell_info info;

		if (!hyphae_cell_info(cell, &info) && info.type == type)
			return percent(50) ? cell : hyphae_share(cell);
	}
	if (percent(50)) {
		errno = EIO;
		return NULL;
	}
	return make_source(any_graph(), type);
}

static struct hyphae_cell *switch_fn(const void *value, void *ctx)
{
	struct context *context = ctx;
	struct hyphae_cell *cell;

	me.selecting++;
	look_twice(context->in, value);
	cell = select_cell(context->out);
	me.selecting--;
	return cell;
}

static struct hyphae_cell *retry_fn(size_t attempt, void *ctx)
{
	struct hyphae_cell *cell;

	(void)attempt;
	me.selecting++;
	perhaps();
	cell = select_cell(((struct context *)ctx)->out);
	me.selecting--;
	return cell;
}

static void finalize_fn(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	context_drop(ctx);
}

/* ---- of a machine ------------------------------------------------------------- */

static int64_t state_fn(const void *value, void *ctx)
{
	return look_twice(((struct context *)ctx)->in, value) & 3;
}

static int guard_fn(const void *from, const void *to, void *ctx)
{
	const struct hyphae_type *type = ((struct context *)ctx)->in;

	look_twice(type, from);
	look_twice(type, to);
	return percent(80);
}

static int handler_fn(void *ret, const void *from, const void *to, void *ctx)
{
	struct context *context = ctx;

	(void)to;
	look_twice(context->in, from);
	if (percent(5))
		return -EIO;
	any_return(ret, context->out, 5);
	return 0;
}

static void edge_fn(const void *value, void *ctx)
{
	look_twice(((struct context *)ctx)->in, value);
}

static const struct hyphae_transition transitions[] = {
	{0, 1, guard_fn, handler_fn},
	{1, HYPHAE_ANY_STATE, NULL, handler_fn},
	{HYPHAE_ANY_STATE, 2, guard_fn, NULL}};
static const struct hyphae_state states[] = {{0, edge_fn, edge_fn},
					     {HYPHAE_ANY_STATE, NULL, edge_fn}};
static const struct hyphae_machine machine = {state_fn, transitions, 3,
					      states,	2,	     NULL};

/* ---- of subscriptions, timers, graphs ------------------------------------------- */

static int what_a_call_returns(void)
{
	switch (below(30)) {
	case 0:
		return -EIO;
	case 1:
		return HYPHAE_DETACH;
	case 2:
		return hyphae_error(-ERANGE, "subscriber");
	}
	return 0;
}

static void look_at_signal(const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE)
		any_look(signal->type, signal->value);
	if (signal->previous)
		any_look(signal->type, signal->previous);
	if (signal->message)
		(void)strlen(signal->message);
}

static void call_begin(struct context *context, const char *where)
{
	context_check(context, where);
	if (atomic_exchange(&context->running, 1))
		wrong("a %s within itself", where);
}

static void call_end(struct context *context, const char *where)
{
	context_check(context, where);
	atomic_store(&context->running, 0);
}

static int subscriber_fn(const struct hyphae_signal *signal, void *ctx)
{
	struct context *context = ctx;

	if (!me.id && !me.depth)
		me.budget = 4; /* a thread of the pool */
	call_begin(context, "call");
	look_at_signal(signal);
	perhaps();
	look_at_signal(signal);
	call_end(context, "call");
	if (atomic_exchange(&context->once, false))
		return HYPHAE_DETACH;
	return what_a_call_returns();
}

static void cleanup_fn(void *ctx)
{
	context_check(ctx, "clean-up");
	if (atomic_load(&((struct context *)ctx)->running))
		wrong("a clean-up during the call");
	perhaps();
}

static int timer_fn(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	call_begin(ctx, "timer");
	perhaps();
	call_end(ctx, "timer");
	return what_a_call_returns();
}

static void problem_fn(const struct hyphae_problem *problem, void *ctx)
{
	(void)ctx;
	(void)strlen(problem->message);
	perhaps();
}

static void hook_fn(struct hyphae_cell *cell, void *ctx)
{
	(void)ctx;
	if (percent(30))
		PUT(subscriptions,
		    hyphae_subscribe_with(cell, subscriber_fn, context_new(),
					  context_drop, below(8)));
	if (percent(20))
		put_cell(hyphae_cell_ref(cell));
	perhaps();
}

static int batch_fn(void *ctx)
{
	(void)ctx;
	perhaps();
	return percent(10) ? -EIO : 0;
}

/* ---- of walks -------------------------------------------------------------------- */

static int each_cell_fn(struct hyphae_cell *cell, void *ctx)
{
	(void)ctx;
	if (percent(10))
		put_cell(hyphae_cell_ref(cell));
	if (percent(10))
		perhaps();
	return percent(2);
}

static int each_target_fn(struct hyphae_cell *cell,
			  struct hyphae_subscription *subscription, void *ctx)
{
	(void)ctx;
	if (subscription && percent(30))
		PUT(subscriptions, subscription);
	if (cell && percent(5))
		put_cell(hyphae_cell_ref(cell));
	if (percent(10))
		perhaps();
	return percent(3);
}

static int write_fn(const char *text, size_t length, void *ctx)
{
	(void)text;
	(void)length;
	(void)ctx;
	if (percent(2))
		perhaps();
	return percent(1) ? -EIO : 0;
}

#endif
