/* SPDX-License-Identifier: MIT */
/* Of the chaos: cells of every kind, of whatever lies about. */
#ifndef CHAOS_MAKE_H
#define CHAOS_MAKE_H

#include "chaos_functions.h"

#define INPUTS 6

/* What a new cell shall be made of. */
struct plan {
	struct hyphae_graph *graph;
	struct hyphae_cell *cell;
	const struct hyphae_type *in, *out; /* of the cell; of the new one */
	struct context *context;	    /* for functions from in to out */
	size_t capacity;
	enum hyphae_overflow policy;
	union any value; /* of `out` */
	struct hyphae_cell
		*inputs[INPUTS]; /* of `in`, perhaps twice the same */
	size_t count;
};

static struct hyphae_cell *make_source(struct hyphae_graph *graph,
				       const struct hyphae_type *type)
{
	struct hyphae_cell *cell;
	union any value;

	any_make(&value, type, (int)below(20));
	switch (below(20)) {
	case 0 ... 2:
		cell = hyphae_event_new(graph, type);
		break;
	case 3 ... 5:
		cell = hyphae_just(graph, type, &value);
		break;
	case 6:
		cell = hyphae_never(graph, type);
		break;
	case 7:
		cell = hyphae_failed(graph, type, -EIO,
				     percent(50) ? "gone" : NULL);
		break;
	default:
		cell = hyphae_cell_new(graph, type, &value);
	}
	any_give(&value, type);
	return cell;
}

static struct hyphae_cell *make_each(struct plan *p)
{
	struct context *same = context_of(p->in, p->in);

	switch (below(9)) {
	case 0 ... 2:
		return hyphae_map(p->cell, p->out, map_fn, p->context);
	case 3:
		return hyphae_filter(p->cell, filter_fn, same);
	case 4:
		return hyphae_catch_error(p->cell, catch_fn, same);
	case 5:
		return hyphae_map_error(p->cell, map_error_fn, NULL);
	case 6:
		return hyphae_unwrap_or(p->cell, p->out, &p->value);
	case 7:
		return hyphae_tap(p->cell, tap_fn, same);
	}
	return hyphae_share(p->cell);
}

static struct hyphae_cell *make_distinct(struct plan *p)
{
	struct context *same = context_of(p->in, p->in);

	switch (below(6)) {
	case 0:
		return hyphae_distinct_until_changed_by(p->cell, same_fn, same);
	case 1:
		return hyphae_deduped(p->cell);
	case 2:
		return hyphae_distinct(p->cell, p->capacity);
	case 3:
		return hyphae_hold(p->cell, p->out,
				   percent(50) ? &p->value : NULL);
	case 4:
		return hyphae_cold(p->cell);
	}
	return hyphae_changes(p->cell);
}

static struct hyphae_cell *make_of_many(struct plan *p)
{
	switch (below(9)) {
	case 0:
	case 1:
		return hyphae_combine(p->inputs, p->count, p->out, combine_fn,
				      p->context);
	case 2:
		return hyphae_zip(p->inputs, p->count, p->out, combine_fn,
				  p->context, p->capacity, p->policy);
	case 3:
		return hyphae_merge(p->inputs, p->count);
	case 4:
		return hyphae_with_latest_from(p->cell, p->inputs, p->count,
					       p->out, combine_fn, p->context);
	case 5:
		return hyphae_sample(p->cell, any_cell());
	case 6:
		return hyphae_concat(p->inputs, p->count);
	case 7:
		return hyphae_race(p->inputs, p->count);
	}
	return hyphae_group(p->inputs, p->count);
}

static struct hyphae_cell *make_dynamic(struct plan *p)
{
	switch (below(6)) {
	case 0:
	case 1:
		return hyphae_computed(p->graph, p->out, computed_fn,
				       p->context);
	case 2:
	case 3:
		return hyphae_switch_map(p->cell, p->out, switch_fn,
					 p->context);
	case 4:
		return hyphae_merge_map(p->cell, p->out, p->capacity, switch_fn,
					p->context);
	}
	return hyphae_retry(p->graph, p->out, below(4), retry_fn, p->context);
}

static struct hyphae_cell *make_limit(struct plan *p)
{
	struct context *same = context_of(p->in, p->in);
	size_t n = below(4);

	switch (below(10)) {
	case 0:
		return hyphae_take(p->cell, n);
	case 1:
		return hyphae_first(p->cell);
	case 2:
		return hyphae_element_at(p->cell, n);
	case 3:
		return hyphae_skip(p->cell, n);
	case 4:
		return hyphae_take_while(p->cell, filter_fn, percent(50), same);
	case 5:
		return hyphae_skip_while(p->cell, filter_fn, same);
	case 6:
		return hyphae_take_until(p->cell, any_cell());
	case 7:
		return hyphae_skip_until(p->cell, any_cell());
	case 8:
		return hyphae_last(p->cell);
	}
	return hyphae_last_or(p->cell, p->out, &p->value);
}

static struct hyphae_cell *make_finalize(struct plan *p)
{
	struct context *context = context_new();
	struct hyphae_cell *cell =
		hyphae_finalize(p->cell, finalize_fn, context);

	if (!cell)
		context_drop(context);
	return cell;
}

static struct hyphae_cell *make_fold(struct plan *p)
{
	switch (below(7)) {
	case 0:
		return hyphae_scan(p->cell, p->out, &p->value, fold_fn,
				   p->context);
	case 1:
		return hyphae_reduce(p->cell, p->out, &p->value, fold_fn,
				     p->context);
	case 2:
		return hyphae_pairwise(p->cell, p->out, combine_fn, p->context);
	case 3:
		return hyphae_window(p->cell, p->capacity, p->out, combine_fn,
				     p->context);
	case 4:
		return hyphae_buffer_count(p->cell, p->capacity, p->out,
					   combine_fn, p->context);
	case 5:
		return hyphae_state_transition(p->cell, p->out, &machine,
					       percent(50) ? &p->value : NULL,
					       p->context);
	}
	return make_finalize(p);
}

/* A source of some values, which are copied. */
static struct hyphae_cell *make_sequence(struct plan *p)
{
	unsigned char array[3 * sizeof(union any)];
	union any values[3];
	size_t count = below(4);
	struct hyphae_cell *cell;

	for (size_t i = 0; i < count; i++) {
		any_make(&values[i], p->out, (int)i);
		memcpy(array + i * p->out->size, &values[i], p->out->size);
	}
	if (percent(50))
		cell = hyphae_sequence(p->graph, p->out, array, count);
	else
		cell = hyphae_from_array(p->graph, p->out, array, count,
					 10 + below(50));
	for (size_t i = 0; i < count; i++)
		any_give(&values[i], p->out);
	return cell;
}

static struct hyphae_cell *make_generated(struct plan *p)
{
	struct context *context;

	if (percent(30))
		return make_sequence(p);
	if (percent(50))
		return hyphae_from_iterator(p->graph, p->out, 10 + below(50),
					    next_fn, p->context);
	context = context_new();
	context->out = p->out;
	return hyphae_generator(p->graph, p->out, next_fn, context,
				context_drop);
}

static struct hyphae_cell *make_timed(struct plan *p)
{
	switch (below(9)) {
	case 0:
		return hyphae_debounce(p->cell, below(30));
	case 1:
		return hyphae_throttle(p->cell, below(30), below(5));
	case 2:
		return hyphae_audit(p->cell, below(30));
	case 3:
		return hyphae_sample_time(p->cell, 10 + below(30));
	case 4:
		return hyphae_buffer_time(p->cell, 10 + below(30), p->capacity,
					  p->out, combine_fn, p->context);
	case 5:
		return hyphae_delay(p->cell, below(30), p->capacity, p->policy);
	case 6:
		return hyphae_timeout(p->cell, below(90));
	case 7:
		return hyphae_interval(p->graph, 20 + below(40), below(2));
	}
	return hyphae_after(p->graph, below(50));
}

/* One step more; *type is what comes out of the pipe so far. */
static struct hyphae_pipe *make_step(struct plan *p, struct hyphae_pipe *pipe,
				     const struct hyphae_type **type)
{
	const struct hyphae_type *in = *type;
	struct context *same = context_of(in, in);

	switch (below(7)) {
	case 0:
		*type = p->out;
		return hyphae_pipe_map(pipe, p->out, map_fn,
				       context_of(in, p->out));
	case 1:
		return hyphae_pipe_filter(pipe, filter_fn, same);
	case 2:
		return hyphae_pipe_tap(pipe, tap_fn, same);
	case 3:
		*type = p->out;
		return hyphae_pipe_scan(pipe, p->out, &p->value, fold_fn,
					context_of(in, p->out));
	case 4:
		return hyphae_pipe_take(pipe, below(5));
	case 5:
		return hyphae_pipe_skip(pipe, below(3));
	}
	return hyphae_pipe_take_while(pipe, filter_fn, percent(50), same);
}

static struct hyphae_cell *make_pipe(struct plan *p)
{
	struct hyphae_pipe *pipe = hyphae_pipe(p->cell);
	const struct hyphae_type *type = p->in;

	for (uint32_t n = 1 + below(4); n; n--)
		pipe = make_step(p, pipe, &type);
	if (percent(80))
		return hyphae_materialize(pipe);
	if (percent(50))
		return hyphae_materialize_unfused(pipe);
	hyphae_pipe_free(pipe);
	return NULL;
}

static struct hyphae_cell *make_bridge(struct plan *p)
{
	return hyphae_bridge_with(p->cell, p->graph,
				  percent(50) ? HYPHAE_BRIDGE_POST : 0);
}

/* Cells of the plan's type, perhaps fewer than wanted. */
static void plan_inputs(struct plan *p)
{
	size_t wanted = 1 + below(INPUTS);

	for (int tries = 0; p->count < wanted && tries < 40; tries++) {
		struct hyphae_cell *cell = any_cell();

		if (!cell || type_of(cell) == p->in)
			p->inputs[p->count++] = cell;
	}
}

static struct hyphae_cell *make_derived(void)
{
	static struct hyphae_cell *(*const makers[])(struct plan *) = {
		make_each,    make_each,    make_each,	  make_distinct,
		make_of_many, make_of_many, make_of_many, make_dynamic,
		make_dynamic, make_limit,   make_fold,	  make_generated,
		make_timed,   make_pipe,    make_bridge,
	};
	struct plan plan = {.graph = any_graph(),
			    .cell = any_cell(),
			    .capacity = 1 + below(4),
			    .policy = below(5)};
	struct hyphae_cell *made;

	plan.in = type_of(plan.cell);
	if (type_index(plan.in) < 0)
		return NULL;
	plan.out = any_type();
	plan.context = context_of(plan.in, plan.out);
	any_make(&plan.value, plan.out, 3);
	plan_inputs(&plan);
	made = makers[below(sizeof(makers) / sizeof(makers[0]))](&plan);
	any_give(&plan.value, plan.out);
	return made;
}

#endif
