/* SPDX-License-Identifier: MIT */
/*
 * What a subscriber is told stays as it is until it returns, whatever it does
 * in the meantime to the same graph; and so does what the next one is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hyphae/hyphae.h>

#include "four_graphs.h"

enum shape {
	WORDS,	 /* a source of words */
	TEXTS,	 /* of boxes */
	DERIVED, /* a map of a source of words */
	SHAPES
};

/* Who is told besides the one that does it all. */
enum others {
	NOBODY,
	ONE_MORE,
	ONE_MARKED, /* with a clean-up that writes */
	OTHERS
};

#define MADE 64
struct world {
	struct hyphae_graph *graph;
	enum shape shape;
	struct hyphae_cell *source, *told; /* whose subscribers they are */
	struct hyphae_cell *other, *text, *far;
	struct hyphae_subscription *subs[2], *held, *first;
	struct hyphae_graph *second;
	struct hyphae_signal seen; /* by the subscriber under way */
	unsigned int calls, second_calls, nested, wrong;
	bool leaves;
};

static const char *const texts[] = {"before", "after"};

/* Is the signal that of the only write, and the same as it was? */
static void look(struct world *w, const struct hyphae_signal *signal)
{
	bool right = signal->value == w->seen.value &&
		     signal->kind == HYPHAE_VALUE && !signal->terminal &&
		     signal->code == 0 && !*signal->message &&
		     !signal->previous &&
		     signal->cell_id == hyphae_cell_id(w->told);

	if (right && w->shape == TEXTS)
		right = signal->type == &hyphae_string &&
			!strcmp(*(char *const *)signal->value, texts[1]);
	else if (right)
		right = signal->type == &hyphae_int64 &&
			*(const int64_t *)signal->value == 2;
	w->wrong += !right;
}

/* Of another cell, and beside the fan-out: it writes, too. */
static int hear_other(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	w->nested++;
	w->wrong += signal->type != &hyphae_int64 ||
		    signal->cell_id != hyphae_cell_id(w->other);
	hyphae_int64_set(w->far, (int64_t)w->nested);
	return 0;
}

static int hear_text(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	w->nested++;
	w->wrong += signal->type != &hyphae_string;
	return 0;
}

static int read_other(void *ctx)
{
	struct world *w = ctx;
	int64_t value;

	w->nested++;
	return hyphae_int64_get(w->other, &value);
}

static int double_of(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input * 2;
	return 0;
}

static int ring(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

static void clean_up(void *ctx)
{
	struct world *w = ctx;

	hyphae_int64_set(w->far, 100);
}

/* A subscriber of a graph of its own writes to both. */
static int hear_second(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	w->second_calls++;
	w->wrong += *(const int64_t *)signal->value != w->second_calls;
	hyphae_int64_set(w->far, 300 + (int64_t)w->second_calls);
	w->wrong += *(const int64_t *)signal->value != w->second_calls;
	return 0;
}

static void subscribe_all(struct world *w, const struct hyphae_signal *signal)
{
	struct hyphae_subscription *subs[3];

	subs[0] = hyphae_subscribe(w->other, hear_other, w);
	look(w, signal);
	subs[1] = hyphae_subscribe(w->text, hear_text, w);
	look(w, signal);
	subs[2] = hyphae_effect(w->graph, read_other, w);
	look(w, signal);
	hyphae_subscription_resume(w->held); /* it has missed something */
	look(w, signal);
	for (int i = 0; i < 3; i++)
		w->wrong += hyphae_unsubscribe(subs[i]) != 0;
	look(w, signal);
}

static void make_and_release(struct world *w,
			     const struct hyphae_signal *signal)
{
	struct hyphae_cell *map, *lazy;
	struct hyphae_subscription *sub;

	map = hyphae_map(w->other, &hyphae_int64, double_of, NULL);
	lazy = hyphae_map(w->other, &hyphae_int64, double_of, NULL);
	w->wrong += hyphae_cell_set_lazy(lazy) != 0;
	sub = hyphae_subscribe_with(lazy, hear_text, w, NULL,
				    HYPHAE_SKIP_INITIAL);
	look(w, signal);
	hyphae_unsubscribe(sub);
	hyphae_cell_unref(map);
	hyphae_cell_unref(lazy);
	look(w, signal);
}

static void write_all(struct world *w, const struct hyphae_signal *signal)
{
	struct hyphae_cell *own = hyphae_int64_new(w->second, 0);
	struct hyphae_subscription *sub;

	hyphae_int64_set(w->other, 7);
	hyphae_string_set(w->text, "other");
	look(w, signal);
	hyphae_batch_begin(w->graph);
	hyphae_int64_set(w->far, 8);
	hyphae_batch_end(w->graph);
	look(w, signal);
	hyphae_int64_post(w->far, 9);
	w->wrong += hyphae_graph_dispatch(w->graph) > 0;
	hyphae_settle(w->graph);
	look(w, signal);
	sub = hyphae_subscribe_with(own, hear_second, w, NULL,
				    HYPHAE_SKIP_INITIAL);
	hyphae_int64_set(own, 1);
	hyphae_int64_set(own, 2);
	look(w, signal);
	hyphae_unsubscribe(sub);
	hyphae_cell_unref(own);
}

static int do_all(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;
	struct hyphae_timer *timer;

	if (w->calls++)
		return 0;
	w->seen = *signal;
	look(w, signal);
	subscribe_all(w, signal);
	make_and_release(w, signal);
	write_all(w, signal);
	timer = hyphae_timer_start(w->graph, 0, 0, ring, w, NULL);
	hyphae_timer_stop(timer);
	w->wrong += hyphae_graph_free(w->graph) == 0;
	look(w, signal);
	if (w->leaves) {
		hyphae_unsubscribe_all(w->told);
		look(w, signal);
	}
	return 0;
}

/* It comes after: it is told the same, unless it was unsubscribed. */
static int compare(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	if (w->calls++ == 1) {
		w->seen = *signal;
		look(w, signal);
	}
	return 0;
}

static void make(struct world *w, unsigned int flags, enum others others)
{
	struct hyphae_subscription_options marked = {
		.fn = compare,
		.ctx = w,
		.flags = HYPHAE_SKIP_INITIAL,
		.cleanup = clean_up,
	};

	w->graph = hyphae_graph_new(flags);
	w->second = hyphae_graph_new(flags);
	w->other = hyphae_int64_new(w->graph, 0);
	w->far = hyphae_int64_new(w->graph, 0);
	w->text = hyphae_string_new(w->graph, "text");
	w->source = w->shape == TEXTS ? hyphae_string_new(w->graph, texts[0])
				      : hyphae_int64_new(w->graph, 5);
	w->told = w->shape == DERIVED ? hyphae_map(w->source, &hyphae_int64,
						   double_of, NULL)
				      : hyphae_cell_ref(w->source);
	w->held = hyphae_subscribe_with(w->other, hear_other, w, NULL,
					HYPHAE_SKIP_INITIAL);
	hyphae_subscription_pause(w->held);
	hyphae_int64_set(w->other, 1);
	w->subs[0] = hyphae_subscribe_with(w->told, do_all, w, NULL,
					   HYPHAE_SKIP_INITIAL);
	if (others == ONE_MORE)
		w->subs[1] = hyphae_subscribe_with(w->told, compare, w, NULL,
						   HYPHAE_SKIP_INITIAL);
	else if (others == ONE_MARKED)
		w->subs[1] = hyphae_subscribe_options(w->told, &marked);
}

static void run(unsigned int flags, enum shape shape, enum others others,
		bool leaves)
{
	struct world w = {.shape = shape, .leaves = leaves};
	unsigned int calls = others == NOBODY || leaves ? 1 : 2;

	make(&w, flags, others);
	if (shape == TEXTS)
		assert_int_equal(hyphae_string_set(w.source, texts[1]), 0);
	else
		assert_int_equal(
			hyphae_int64_set(w.source, shape == DERIVED ? 1 : 2),
			0);
	assert_int_equal(w.calls, calls);
	assert_int_equal(w.wrong, 0);
	assert_int_equal(w.second_calls, 2);
	assert_true(w.nested >= 4);
	assert_int_equal(hyphae_graph_free(w.graph), 0);
	assert_int_equal(hyphae_graph_free(w.second), 0);
}

static void whatever_it_does(unsigned int flags)
{
	for (int shape = 0; shape < SHAPES; shape++)
		for (int others = 0; others < OTHERS; others++)
			for (int leaves = 0; leaves < 2; leaves++)
				run(flags, shape, others, leaves);
}

int main(void)
{
	return run_in_four_graphs("signal_stays", whatever_it_does);
}
