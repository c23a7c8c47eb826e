/* SPDX-License-Identifier: MIT */
/* Of the chaos: whatever a thread may do, from wherever it may do it. */
#ifndef CHAOS_DEEDS_H
#define CHAOS_DEEDS_H

#include <errno.h>
#include <signal.h>

#include "chaos_make.h"

/* ---- the diary of a thread ------------------------------------------------------ */

/*
 * Sources that one thread writes, counting up: what a write was accepted for
 * has to be there in the end, and every event has to have been told.  An error
 * may be that of a subscriber of a write that was carried out, so then there
 * may be more.  Callbacks of these writes write, too.
 */
struct diary {
	struct hyphae_cell *set, *posted, *event, *image;
	int64_t written, was_set, perhaps_set, was_posted;
	uint64_t emitted, perhaps_emitted;
	_Atomic uint64_t told;
};

static void later_of(int64_t *last, int64_t n)
{
	if (*last < n)
		*last = n;
}

static void write_diary(void)
{
	struct diary *diary = me.diary;
	int64_t n;
	int r;

	if (!diary)
		return;
	n = ++diary->written;
	r = hyphae_int64_set(diary->set, n);
	later_of(r < 0 ? &diary->perhaps_set : &diary->was_set, n);
	n = ++diary->written;
	if (hyphae_int64_post(diary->posted, n) == 0)
		later_of(&diary->was_posted, n);
	r = hyphae_int64_set(diary->event, n);
	(*(r < 0 ? &diary->perhaps_emitted : &diary->emitted))++;
}

/* ---- cells ----------------------------------------------------------------------- */

static void set(void)
{
	struct hyphae_cell *cell = any_cell();
	const struct hyphae_type *type = type_of(cell);
	union any value;

	if (type_index(type) < 0)
		return;
	any_make(&value, type, (int)below(20));
	if (percent(90))
		hyphae_cell_set(cell, type, &value);
	else
		hyphae_cell_post(cell, type, &value);
	any_give(&value, type);
}

static void get(void)
{
	struct hyphae_cell *cell = any_cell();
	const struct hyphae_type *type = type_of(cell);
	union any value = {.n = 0};

	if (type->size <= sizeof(value) &&
	    hyphae_cell_get(cell, type, &value) == 0) {
		any_look(type, &value);
		any_give(&value, type);
	}
}

static void derive(void)
{
	keep_cell(make_derived());
}

static void source(void)
{
	keep_cell(make_source(any_graph(), any_type()));
}

static void end(void)
{
	switch (below(12)) {
	case 0:
		hyphae_cell_complete(any_cell());
		break;
	case 1:
		hyphae_cell_fail(any_cell(), percent(95) ? -EIO : 3,
				 percent(50) ? "rot" : NULL);
		break;
	case 2:
		hyphae_cell_post_complete(any_cell());
		break;
	case 3:
		hyphae_cell_post_fail(any_cell(), -EIO, "posted");
		break;
	}
}

static void refer(void)
{
	struct hyphae_cell *cell = any_cell();
	struct hyphae_weak weak;

	if (percent(50)) {
		put_cell(hyphae_cell_ref(cell));
	} else if (percent(50)) {
		hyphae_cell_unref(hyphae_cell_ref(cell));
	} else {
		weak = hyphae_weak(cell);
		perhaps();
		cell = hyphae_weak_lock(weak);
		if (cell)
			put_cell(cell);
	}
}

static void name(void)
{
	struct hyphae_cell *cell = any_cell();
	char text[100];

	snprintf(text, sizeof(text), "n%u", below(1000));
	hyphae_cell_set_name(cell, text);
	hyphae_cell_name(cell, text, below(40));
	hyphae_describe(any_cell(), text, below(sizeof(text)));
}

static void change(void)
{
	switch (below(6)) {
	case 0:
		hyphae_cell_set_lazy(any_cell());
		break;
	case 1:
		hyphae_cell_set_hooks(any_cell(), percent(80) ? hook_fn : NULL,
				      percent(80) ? hook_fn : NULL, NULL);
		break;
	case 2:
		hyphae_cell_own(any_cell(), context_new(), context_drop);
		break;
	case 3:
		hyphae_cell_set_data(any_cell(), context_new(), context_drop);
		break;
	case 4:
		hyphae_graph_set_data(any_graph(), context_new(), context_drop);
		break;
	case 5:
		hyphae_graph_set_lazy(any_graph(), percent(30));
		break;
	}
}

/* ---- subscriptions ------------------------------------------------------------------ */

static void subscribe(void)
{
	struct context *context = context_new();
	struct hyphae_subscription_options options = {
		.fn = subscriber_fn,
		.ctx = context,
		.drop = context_drop,
		.cleanup = percent(40) ? cleanup_fn : NULL,
		.flags = percent(60) ? 0 : below(8)};

	atomic_store(&context->once, percent(5));
	PUT(subscriptions, hyphae_subscribe_options(any_cell(), &options));
}

static void unsubscribe(void)
{
	if (percent(70))
		hyphae_unsubscribe(ANY(subscriptions));
	else if (percent(10))
		hyphae_unsubscribe_all(any_cell());
	else if (!me.depth)
		hyphae_unsubscribe_wait(ANY(subscriptions));
}

static void hold_back(void)
{
	struct hyphae_subscription *subscription = ANY(subscriptions);

	switch (below(6)) {
	case 0:
		hyphae_subscription_pause(subscription);
		break;
	case 1:
		hyphae_subscription_resume(subscription);
		break;
	case 2:
		hyphae_subscription_block(subscription);
		break;
	case 3:
		hyphae_subscription_unblock(subscription);
		break;
	case 4:
		hyphae_subscription_set_data(subscription, context_new(),
					     context_drop);
		break;
	case 5:
		hyphae_cell_unref(hyphae_subscription_cell(subscription));
		break;
	}
}

/* ---- batches, frames, scopes ------------------------------------------------------- */

static void batch(void)
{
	if (me.id && percent(35))
		hyphae_batch_begin(any_graph_at_all());
	else if (percent(80))
		hyphae_batch_end(any_graph_at_all());
	else
		hyphae_batch(any_graph_at_all(), batch_fn, NULL);
}

/* Threads that wait for each other's graphs in callbacks wait for ever. */
static void frame(void)
{
	if (me.id && percent(50))
		hyphae_frame_begin(any_graph_at_all(), below(2) * 10);
	else if (!me.depth)
		hyphae_frame_end(any_graph_at_all());
}

static void settle(void)
{
	if (!me.depth)
		hyphae_settle(any_graph_at_all());
}

static void enter(void)
{
	struct hyphae_scope *scope = ANY(scopes);

	if (me.id && me.nentered < ENTERED_MAX &&
	    hyphae_scope_enter(scope) == 0)
		me.entered[me.nentered++] = scope;
}

static void leave(void)
{
	int r;

	if (!me.nentered)
		return;
	r = hyphae_scope_leave(me.entered[me.nentered - 1]);
	if (r == 0 || r == -ESTALE)
		me.nentered--;
	else if (r != -EINVAL) /* an operator's scope lies above it */
		wrong("hyphae_scope_leave() is %d", r);
}

static void scope(void)
{
	struct context *context;

	switch (below(6)) {
	case 0:
		PUT(scopes, hyphae_scope_new(any_graph()));
		break;
	case 1:
		enter();
		break;
	case 2:
		leave();
		break;
	case 3:
		context = context_new();
		if (hyphae_scope_on_dispose(ANY(scopes), context_drop, context))
			context_drop(context);
		break;
	case 4:
		hyphae_scope_dispose(ANY(scopes));
		break;
	case 5:
		hyphae_scope_set_data(ANY(scopes), context_new(), context_drop);
		break;
	}
}

/* ---- time ----------------------------------------------------------------------------- */

static void pass_time(void)
{
	uint64_t deadline;

	switch (below(4)) {
	case 0:
		hyphae_clock_advance(clocks[below(GRAPHS)], below(60));
		break;
	case 1:
		PUT(timers, hyphae_timer_start_with(
				    any_graph(), (int64_t)below(60) - 10,
				    percent(50) ? 20 + below(40) : 0, timer_fn,
				    context_new(), context_drop, below(2)));
		break;
	case 2:
		hyphae_timer_stop(ANY(timers));
		break;
	case 3:
		hyphae_graph_dispatch(any_graph());
		hyphae_graph_deadline(any_graph(), &deadline);
		break;
	}
}

/* ---- out of graphs and into them --------------------------------------------------------- */

static void stream(void)
{
	struct hyphae_stream *opened;
	struct hyphae_item item;
	int r;

	if (percent(25)) {
		opened = hyphae_stream_new(any_cell(), 1 + below(4), below(5),
					   below(2));
		hyphae_stream_close(PUT(streams, opened));
		return;
	}
	if (percent(30)) {
		hyphae_stream_close(ANY(streams));
		return;
	}
	r = me.depth || percent(50)
		    ? hyphae_stream_next(ANY(streams), &item)
		    : hyphae_stream_wait(ANY(streams), &item, below(2000));
	if (r == 1) {
		look_at_signal(&item.signal);
		perhaps();
		hyphae_item_release(&item);
	}
}

/* In a compute function, or without memory, it cannot be given back. */
static atomic_int inputs_kept;
static place kept[1024];

static void give_back_input(struct hyphae_input *input)
{
	int r = hyphae_input_free(input), at;

	if (r == 0 || r == -ESTALE)
		return;
	at = atomic_fetch_add(&inputs_kept, 1);
	if (at < 1024)
		atomic_store(&kept[at], input);
	else
		wrong("too many inputs to be given back later");
}

static void open_input(void)
{
	struct hyphae_cell *cell = any_cell();

	if (type_of(cell) == &hyphae_int64)
		give_back_input(
			PUT(inputs, hyphae_input_new(cell, 1 + below(4),
						     below(5), below(4))));
}

static void input(void)
{
	struct hyphae_input_counts counts;
	int64_t n = below(20);

	switch (below(8)) {
	case 0:
		open_input();
		break;
	case 1:
		if (percent(30))
			give_back_input(
				atomic_exchange(&inputs[below(OTHERS)], NULL));
		break;
	case 2:
		if (percent(30))
			hyphae_input_close(ANY(inputs));
		break;
	case 3:
		hyphae_input_flush(ANY(inputs));
		break;
	case 4:
		hyphae_input_counts(ANY(inputs), &counts);
		break;
	default:
		hyphae_input_push_wait(ANY(inputs), &n, below(1000));
	}
}

/* The first is the signal handler's, too. */
static void poster(void)
{
	struct hyphae_poster *made;
	void *none = NULL;

	if (percent(80)) {
		hyphae_poster_post_int64(ANY(posters), below(20));
		return;
	}
	if (percent(20)) {
		raise(SIGUSR1);
		return;
	}
	made = hyphae_poster_new(any_cell());
	if (made && !atomic_compare_exchange_strong(&posters[below(OTHERS)],
						    &none, made))
		hyphae_poster_free(made);
}

static void handle_signal(int signal)
{
	int before = errno;
	struct hyphae_poster *first = atomic_load(&posters[0]);

	(void)signal;
	hyphae_poster_post_int64(first, 5);
	hyphae_poster_replaced(first);
	if (errno != before)
		atomic_fetch_add(&findings, 1);
}

static void parallel(void)
{
	struct hyphae_parallel_options options = {
		.capacity = below(4), .policy = below(4), .flags = below(2)};
	struct hyphae_parallel_counts counts;

	if (percent(30))
		PUT(parallels, hyphae_subscribe_parallel(
				       pool, any_cell(), subscriber_fn,
				       context_new(), context_drop, &options));
	else if (percent(50) || me.depth || !me.id)
		hyphae_unsubscribe_parallel(ANY(parallels));
	else
		hyphae_unsubscribe_parallel_wait(ANY(parallels));
	hyphae_parallel_counts(ANY(parallels), &counts);
}

/* ---- looking around ----------------------------------------------------------------------- */

static void draw(void)
{
	struct hyphae_dot_options options = {
		.flags = below(8), .start = percent(50) ? any_cell() : NULL};

	hyphae_graph_dot(any_graph(), write_fn, NULL, &options);
}

static void walk(void)
{
	switch (below(4)) {
	case 0:
		if (percent(30))
			hyphae_graph_each_cell(any_graph(), each_cell_fn, NULL);
		break;
	case 1:
		hyphae_cell_each_input(any_cell(), each_cell_fn, NULL);
		break;
	case 2:
		hyphae_cell_each_target(any_cell(), each_target_fn, NULL);
		break;
	case 3:
		if (percent(30))
			draw();
		break;
	}
}

static void look_around(void)
{
	struct hyphae_graph_memory memory;
	struct hyphae_graph_counts counts;
	struct hyphae_post_counts posts;
	struct hyphae_backlog backlog;
	uint64_t dropped;
	size_t at = 0;

	hyphae_graph_memory(any_graph(), &memory);
	hyphae_graph_counts(any_graph(), &counts);
	hyphae_graph_post_counts(any_graph(), &posts);
	hyphae_cell_backlog(any_cell(), &backlog);
	hyphae_delay_dropped(any_cell(), &dropped);
	while (hyphae_group_next(any_cell(), &at) == 1)
		at++;
	hyphae_untracked_begin();
	perhaps();
	hyphae_untracked_end();
}

static void report(void)
{
	struct hyphae_report told;

	if (hyphae_pass_begin())
		return;
	perhaps();
	hyphae_pass_end();
	if (hyphae_report_take(&told) == 0)
		hyphae_report_done(&told);
}

static void do_something(void)
{
	static void (*const deeds[])(void) = {
		set,	   set,		set,	     set,	  set,
		set,	   set,		derive,	     derive,	  derive,
		derive,	   derive,	derive,	     source,	  write_diary,
		subscribe, subscribe,	unsubscribe, hold_back,	  hold_back,
		refer,	   end,		name,	     change,	  change,
		batch,	   batch,	batch,	     frame,	  settle,
		scope,	   scope,	pass_time,   pass_time,	  stream,
		input,	   input,	poster,	     parallel,	  get,
		walk,	   look_around, report,	     write_diary,
	};

	deeds[below(sizeof(deeds) / sizeof(deeds[0]))]();
}

#endif
