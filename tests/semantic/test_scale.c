/* SPDX-License-Identifier: MIT */
/*
 * Group W: deep and wide graphs, on threads with a small stack, so that any
 * recursion over the graph is a crash.
 *
 * Nothing is timed here: calls and runs are counted.  What is about time
 * (W-04 linear, W-07 independent of the size) is measured in bench/.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

#define KIB 1024

#if SANITIZED
#define DEEP 20000
#define DEEPEST 100000
#define WIDE 10000
#define MANY 50000
#define MERGED 16384
#else
#define DEEP 100000
#define DEEPEST 1000000
#define WIDE 100000
#define MANY 1000000
#define MERGED ((int64_t)HYPHAE_INPUTS_MAX / 4)
#endif

static int plus_one(void *ret, const void *input, void *ctx)
{
	unsigned long *runs = ctx;

	++*runs;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int sum_all(void *ret, const void *const *inputs, size_t count,
		   void *ctx)
{
	unsigned long *runs = ctx;
	int64_t sum = 0;
	size_t i;

	++*runs;
	for (i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	*(int64_t *)ret = sum;
	return 0;
}

struct chain {
	struct world *world;
	size_t length;
	struct hyphae_cell *source;
	struct hyphae_cell **cells; /* x1 to x(length) */
	unsigned long runs;
};

static const char *build(struct chain *chain)
{
	size_t i;

	chain->runs = 0;
	chain->cells = calloc(chain->length, sizeof(*chain->cells));
	CHECK(chain->cells);
	chain->source = hyphae_int64_new(chain->world->graph, 0);
	for (i = 0; i < chain->length; i++) {
		chain->cells[i] =
			hyphae_map(i ? chain->cells[i - 1] : chain->source,
				   &hyphae_int64, plus_one, &chain->runs);
		CHECK(chain->cells[i]);
	}
	CHECK(chain->runs == chain->length);
	return NULL;
}

static const char *expect_last(struct chain *chain, int64_t expected)
{
	int64_t held = -1;

	CHECK(hyphae_int64_get(chain->cells[chain->length - 1], &held) == 0);
	CHECK(held == expected);
	return NULL;
}

/* Try each of the next and leave with the first that is not NULL. */
#define TRY(call)                                                              \
	do {                                                                   \
		const char *failure_ = call;                                   \
		if (failure_)                                                  \
			return failure_;                                       \
	} while (0)

static const char *use(struct chain *chain)
{
	int64_t n = (int64_t)chain->length;

	TRY(expect_last(chain, n));
	chain->runs = 0;
	CHECK(hyphae_int64_set(chain->source, 1) == 0);
	TRY(expect_last(chain, n + 1));
	CHECK(chain->runs == chain->length);
	CHECK(hyphae_batch_begin(chain->world->graph) == 0);
	CHECK(hyphae_int64_set(chain->source, 2) == 0);
	CHECK(hyphae_int64_set(chain->source, 3) == 0);
	CHECK(hyphae_batch_end(chain->world->graph) == 0);
	TRY(expect_last(chain, n + 3));
	CHECK(chain->runs == 2 * chain->length);
	return NULL;
}

/* Only the last handle is left when it goes: one long cascade. */
static const char *tear_down_from_the_end(struct chain *chain)
{
	size_t i;

	CHECK(hyphae_cell_unref(chain->source) == 0);
	for (i = 0; i + 1 < chain->length; i++)
		CHECK(hyphae_cell_unref(chain->cells[i]) == 0);
	CHECK(live_cells(chain->world) == chain->length + 1);
	CHECK(hyphae_cell_unref(chain->cells[chain->length - 1]) == 0);
	CHECK(live_cells(chain->world) == 0);
	free(chain->cells);
	return NULL;
}

/* Each goes when its handle does. */
static const char *tear_down_one_by_one(struct chain *chain)
{
	size_t i;

	for (i = chain->length; i--;) {
		CHECK(hyphae_cell_unref(chain->cells[i]) == 0);
		CHECK(live_cells(chain->world) == i + 1);
	}
	CHECK(hyphae_cell_unref(chain->source) == 0);
	CHECK(live_cells(chain->world) == 0);
	free(chain->cells);
	return NULL;
}

static const char *deep_chain(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEP};

	TRY(build(&chain));
	TRY(use(&chain));
	return tear_down_from_the_end(&chain);
}

static void w01_chain(void **state)
{
	on_small_stack(64 * KIB, deep_chain, *state);
}

static const char *deepest_chain(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEPEST};

	TRY(build(&chain));
	TRY(use(&chain));
	return tear_down_from_the_end(&chain);
}

static void w01_chain_of_a_million(void **state)
{
	on_small_stack(64 * KIB, deepest_chain, *state);
}

/* The end of the source runs down the chain as a value does. */
static const char *complete_chain(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEP};
	struct hyphae_cell_info info;
	size_t i;

	TRY(build(&chain));
	CHECK(hyphae_cell_complete(chain.source) == 0);
	CHECK(hyphae_cell_info(chain.cells[DEEP - 1], &info) == 0);
	CHECK(info.ended);
	CHECK(info.height == DEEP);
	CHECK(chain.runs == DEEP);
	/* Nothing follows anything any more. */
	CHECK(hyphae_cell_unref(chain.source) == 0);
	CHECK(live_cells(chain.world) == DEEP);
	for (i = 0; i < DEEP; i++)
		CHECK(hyphae_cell_unref(chain.cells[i]) == 0);
	CHECK(live_cells(chain.world) == 0);
	free(chain.cells);
	return NULL;
}

static void w01_chain_completes(void **state)
{
	on_small_stack(64 * KIB, complete_chain, *state);
}

static const char *from_the_end(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEP};

	TRY(build(&chain));
	return tear_down_one_by_one(&chain);
}

static void w02_one_by_one_from_the_end(void **state)
{
	on_small_stack(64 * KIB, from_the_end, *state);
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

/* A subscription is all that keeps the chain. */
static const char *by_unsubscribe(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEP};
	struct hyphae_subscription *s;
	size_t i;

	TRY(build(&chain));
	s = hyphae_subscribe(chain.cells[DEEP - 1], quiet, NULL);
	CHECK(s);
	CHECK(hyphae_cell_unref(chain.source) == 0);
	for (i = 0; i < DEEP; i++)
		CHECK(hyphae_cell_unref(chain.cells[i]) == 0);
	CHECK(live_cells(chain.world) == DEEP + 1);
	CHECK(hyphae_unsubscribe(s) == 0);
	CHECK(live_cells(chain.world) == 0);
	free(chain.cells);
	return NULL;
}

static void w02_by_the_last_unsubscribe(void **state)
{
	on_small_stack(64 * KIB, by_unsubscribe, *state);
}

/* The last reference goes inside the wave. */
static int unref_in_wave(const struct hyphae_signal *signal, void *ctx)
{
	return hyphae_int64_of(signal) ? hyphae_cell_unref(ctx) : 0;
}

static const char *in_a_wave(void *arg)
{
	struct chain chain = {.world = arg, .length = DEEP};
	struct hyphae_cell *trigger = hyphae_int64_new(chain.world->graph, 0);
	struct hyphae_subscription *s;
	size_t i;

	TRY(build(&chain));
	s = hyphae_subscribe(trigger, unref_in_wave, chain.cells[DEEP - 1]);
	CHECK(s);
	CHECK(hyphae_cell_unref(chain.source) == 0);
	for (i = 0; i + 1 < DEEP; i++)
		CHECK(hyphae_cell_unref(chain.cells[i]) == 0);
	CHECK(hyphae_int64_set(trigger, 1) == 0);
	CHECK(live_cells(chain.world) == 1);
	CHECK(hyphae_unsubscribe(s) == 0);
	CHECK(hyphae_cell_unref(trigger) == 0);
	free(chain.cells);
	return NULL;
}

static void w02_in_a_wave(void **state)
{
	on_small_stack(64 * KIB, in_a_wave, *state);
}

/* Everything is still there when the graph goes. */
static const char *with_the_graph(void *arg)
{
	struct world *w = arg;
	struct world other = *w;
	struct chain chain = {.world = &other, .length = DEEP};

	other.graph = hyphae_graph_new(w->eager ? HYPHAE_EAGER : 0);
	CHECK(other.graph);
	TRY(build(&chain));
	CHECK(hyphae_subscribe(chain.cells[DEEP - 1], quiet, NULL));
	CHECK(hyphae_graph_free(other.graph) == 0);
	CHECK(hyphae_cell_id(chain.source) == 0);
	CHECK(hyphae_cell_id(chain.cells[DEEP - 1]) == 0);
	free(chain.cells);
	return NULL;
}

static void w02_with_the_graph(void **state)
{
	on_small_stack(64 * KIB, with_the_graph, *state);
}

struct scopes {
	size_t next; /* which is to be disposed next */
	bool in_order;
};

struct scope_note {
	struct scopes *scopes;
	size_t depth;
};

static void scope_disposed(void *ctx)
{
	struct scope_note *note_ = ctx;

	if (note_->depth != --note_->scopes->next)
		note_->scopes->in_order = false;
}

static const char *nested_scopes(void *arg)
{
	struct world *w = arg;
	struct scopes scopes = {.next = WIDE, .in_order = true};
	struct scope_note *notes = calloc(WIDE, sizeof(*notes));
	struct hyphae_scope **scope =
		calloc(WIDE, sizeof(struct hyphae_scope *));
	size_t i;

	CHECK(notes && scope);
	for (i = 0; i < WIDE; i++) {
		notes[i] = (struct scope_note){&scopes, i};
		scope[i] = hyphae_scope_new(w->graph);
		CHECK(scope[i]);
		CHECK(hyphae_scope_enter(scope[i]) == 0);
		CHECK(hyphae_scope_on_dispose(scope[i], scope_disposed,
					      &notes[i]) == 0);
	}
	for (i = WIDE; i--;)
		CHECK(hyphae_scope_leave(scope[i]) == 0);
	CHECK(scopes.next == WIDE);
	CHECK(hyphae_scope_dispose(scope[0]) == 0);
	CHECK(scopes.next == 0);
	CHECK(scopes.in_order);
	free(scope);
	free(notes);
	return NULL;
}

static void w03_nested_scopes(void **state)
{
	on_small_stack(64 * KIB, nested_scopes, *state);
}

struct crowd {
	unsigned long called;
	unsigned long out_of_order;
	struct hyphae_subscription **subs;
};

struct member {
	struct crowd *crowd;
	unsigned long place;
};

static int member_called(const struct hyphae_signal *signal, void *ctx)
{
	struct member *member = ctx;

	(void)signal;
	if (member->crowd->called != member->place)
		member->crowd->out_of_order++;
	member->crowd->called++;
	return 0;
}

/* 0, 1, 2, ... as they are, backward, or shuffled by a fixed seed. */
static void arrange(unsigned int *order, size_t n, int how)
{
	uint64_t random = 0x9e3779b97f4a7c15u;
	size_t i;

	for (i = 0; i < n; i++)
		order[i] = (unsigned int)(how == 1 ? n - 1 - i : i);
	if (how != 2)
		return;
	for (i = n - 1; i > 0; i--) {
		size_t j;
		unsigned int swap;

		random = random * 6364136223846793005u + 1442695040888963407u;
		j = (random >> 33) % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

static const char *crowd_round(struct world *w, struct hyphae_cell *a, int how)
{
	struct crowd crowd = {0};
	struct member *members = calloc(WIDE, sizeof(*members));
	unsigned int *order = calloc(WIDE, sizeof(*order));
	size_t i;

	crowd.subs = calloc(WIDE, sizeof(struct hyphae_subscription *));
	CHECK(members && order && crowd.subs);
	for (i = 0; i < WIDE; i++) {
		members[i] = (struct member){&crowd, i};
		crowd.subs[i] =
			hyphae_subscribe_with(a, member_called, &members[i],
					      NULL, HYPHAE_SKIP_INITIAL);
		CHECK(crowd.subs[i]);
	}
	CHECK(hyphae_int64_set(a, how + 1) == 0);
	CHECK(crowd.called == WIDE);
	CHECK(crowd.out_of_order == 0);
	arrange(order, WIDE, how);
	for (i = 0; i < WIDE / 2; i++)
		CHECK(hyphae_unsubscribe(crowd.subs[order[i]]) == 0);
	crowd.called = 0;
	CHECK(hyphae_int64_set(a, -how - 1) == 0);
	CHECK(crowd.called == WIDE - WIDE / 2);
	for (; i < WIDE; i++)
		CHECK(hyphae_unsubscribe(crowd.subs[order[i]]) == 0);
	CHECK(live_subs(w) == 0);
	free(members);
	free(order);
	free(crowd.subs);
	return NULL;
}

static const char *crowds(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 0);
	int how;

	for (how = 0; how < 3; how++)
		TRY(crowd_round(w, a, how));
	CHECK(hyphae_cell_unref(a) == 0);
	return NULL;
}

static void w04_many_subscribers(void **state)
{
	on_small_stack(64 * KIB, crowds, *state);
}

#define INPUTS 10000

static const char *wide_combine(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell **in = calloc(INPUTS, sizeof(struct hyphae_cell *));
	struct hyphae_cell *total;
	unsigned long runs = 0;
	int64_t sum = -1;
	size_t i;

	CHECK(in);
	for (i = 0; i < INPUTS; i++) {
		in[i] = hyphae_int64_new(w->graph, 0);
		CHECK(in[i]);
	}
	total = hyphae_combine(in, INPUTS, &hyphae_int64, sum_all, &runs);
	CHECK(total);
	CHECK(runs == 1);
	CHECK(hyphae_batch_begin(w->graph) == 0);
	for (i = 0; i < INPUTS; i++)
		CHECK(hyphae_int64_set(in[i], (int64_t)i) == 0 || i == 0);
	CHECK(hyphae_batch_end(w->graph) == 0);
	CHECK(runs == 2);
	CHECK(hyphae_int64_get(total, &sum) == 0);
	CHECK(sum == 49995000);
	CHECK(hyphae_int64_set(in[5000], 5001) == 0);
	CHECK(runs == 3);
	CHECK(hyphae_int64_get(total, &sum) == 0);
	CHECK(sum == 49995001);
	for (i = 0; i < INPUTS; i++)
		CHECK(hyphae_cell_unref(in[i]) == 0);
	CHECK(live_cells(w) == INPUTS + 1);
	CHECK(hyphae_cell_unref(total) == 0);
	CHECK(live_cells(w) == 0);
	free(in);
	return NULL;
}

static void w05_combine_of_ten_thousand(void **state)
{
	on_small_stack(64 * KIB, wide_combine, *state);
}

struct order {
	int64_t calls, wrong; /* values that were not the expected one */
};

static int expect_next(const struct hyphae_signal *signal, void *ctx)
{
	struct order *order = ctx;

	order->wrong += hyphae_int64_of(signal) != order->calls;
	order->calls++;
	return 0;
}

/*
 * Each value has a wave of its own, which must not cost a look at all inputs:
 * then this would take hours.
 */
static const char *wide_merge(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell **in =
		calloc((size_t)MERGED, sizeof(struct hyphae_cell *));
	struct hyphae_subscription *sub;
	struct order order = {0, 0};
	struct hyphae_cell *merged;
	int64_t held = 0, i;

	CHECK(in);
	for (i = 0; i < MERGED; i++)
		in[i] = hyphae_int64_new(w->graph, -i - 1);
	merged = hyphae_merge(in, MERGED);
	CHECK(merged);
	CHECK(hyphae_int64_get(merged, &held) == 0 && held == -MERGED);
	sub = hyphae_subscribe(merged, expect_next, &order);
	CHECK(sub);
	CHECK(order.calls == 1 && order.wrong == 1);
	order = (struct order){0, 0};
	CHECK(hyphae_batch_begin(w->graph) == 0);
	/* In the order of the arguments, whatever that of the writes is. */
	for (i = MERGED; i-- > 0;)
		CHECK(hyphae_int64_set(in[i], i) == 0);
	CHECK(hyphae_batch_end(w->graph) == 0);
	CHECK(order.calls == MERGED && order.wrong == 0);
	for (i = 0; i < MERGED; i++)
		CHECK(hyphae_int64_set(in[MERGED - 1 - i], MERGED + i) == 0);
	CHECK(order.calls == 2 * MERGED && order.wrong == 0);
	CHECK(hyphae_unsubscribe(sub) == 0);
	CHECK(hyphae_cell_unref(merged) == 0);
	for (i = 0; i < MERGED; i++)
		CHECK(hyphae_cell_unref(in[i]) == 0);
	CHECK(live_cells(w) == 0);
	free(in);
	return NULL;
}

static void w05_merge_of_very_many(void **state)
{
	on_small_stack(64 * KIB, wide_merge, *state);
}

static struct hyphae_cell *follow_numbered(const void *value, void *ctx)
{
	struct hyphae_cell **in = ctx;

	return in[*(const int64_t *)value];
}

static const char *all_speak(struct world *w, struct hyphae_cell **in,
			     struct order *order)
{
	int64_t i;

	*order = (struct order){0, 0};
	CHECK(hyphae_batch_begin(w->graph) == 0);
	/* The oldest first, whatever the order of the writes is. */
	for (i = MERGED; i-- > 0;)
		CHECK(hyphae_int64_set(in[i], i) == 0);
	CHECK(hyphae_batch_end(w->graph) == 0);
	CHECK(order->calls == MERGED && order->wrong == 0);
	for (i = 0; i < MERGED; i++)
		CHECK(hyphae_int64_set(in[MERGED - 1 - i], MERGED + i) == 0);
	CHECK(order->calls == 2 * MERGED && order->wrong == 0);
	return NULL;
}

/* Every other one alone, the rest at once, and each has a last word. */
static const char *all_end(struct world *w, struct hyphae_cell **in,
			   struct order *order)
{
	int64_t i;

	*order = (struct order){0, 0};
	for (i = 0; i < MERGED; i += 2)
		CHECK(hyphae_cell_complete(in[i]) == 0);
	CHECK(hyphae_batch_begin(w->graph) == 0);
	for (i = MERGED - 1; i > 0; i -= 2) {
		CHECK(hyphae_int64_set(in[i], i / 2) == 0);
		CHECK(hyphae_cell_complete(in[i]) == 0);
	}
	CHECK(hyphae_batch_end(w->graph) == 0);
	CHECK(order->calls == MERGED / 2 && order->wrong == 0);
	return NULL;
}

/* The same of a merge_map: one wave an inner cell, and each an outer value. */
static const char *wide_merge_map(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell **in =
		calloc((size_t)MERGED, sizeof(struct hyphae_cell *));
	struct hyphae_cell *outer = hyphae_int64_new(w->graph, 0), *merged;
	struct hyphae_subscription *sub;
	struct order order = {0, 0};
	int64_t i;

	CHECK(in);
	for (i = 0; i < MERGED; i++)
		in[i] = hyphae_int64_new(w->graph, -i - 1);
	merged = hyphae_merge_map(outer, &hyphae_int64, (size_t)MERGED,
				  follow_numbered, in);
	CHECK(merged);
	sub = hyphae_subscribe(merged, expect_next, &order);
	CHECK(sub);
	for (i = 1; i < MERGED; i++)
		CHECK(hyphae_int64_set(outer, i) == 0);
	CHECK(order.calls == MERGED && order.wrong == MERGED);
	TRY(all_speak(w, in, &order));
	TRY(all_end(w, in, &order));
	CHECK(hyphae_unsubscribe(sub) == 0);
	CHECK(hyphae_cell_unref(merged) == 0);
	CHECK(hyphae_cell_unref(outer) == 0);
	for (i = 0; i < MERGED; i++)
		CHECK(hyphae_cell_unref(in[i]) == 0);
	CHECK(live_cells(w) == 0);
	free(in);
	return NULL;
}

static void w05_merge_map_of_very_many(void **state)
{
	on_small_stack(64 * KIB, wide_merge_map, *state);
}

/* A chain of tracked cells: all of them follow the source, and others by it. */
struct links {
	struct hyphae_cell *source, *one, *two;
	struct hyphae_cell **cells;
	size_t length;
	unsigned long runs;
};

/* Each has a place in an array of these. */
struct chain_link {
	struct links *of;
	size_t at;
};

static int64_t held_by(struct hyphae_cell *cell)
{
	int64_t held = -1;

	hyphae_int64_get(cell, &held);
	return held;
}

/* What is before it and, by the source, 1 or 2. */
static int relinks(void *ret, void *ctx)
{
	const struct chain_link *link = ctx;
	struct links *l = link->of;
	bool odd = held_by(l->source) % 2;
	int64_t before = link->at ? held_by(l->cells[link->at - 1]) : 0;

	l->runs++;
	*(int64_t *)ret = before + held_by(odd ? l->one : l->two);
	return 0;
}

/* Lower than what it reads, as long as it has not read it. */
static int reads_the_end(void *ret, void *ctx)
{
	struct links *l = ctx;
	int64_t from = held_by(l->source);

	*(int64_t *)ret = from < 3 ? -1 : held_by(l->cells[l->length - 1]);
	return 0;
}

/*
 * The end of the chain is read before the wave has come to its beginning, and
 * each cell links anew, and reads one that has settled: none of that must cost
 * a look at all the others, or this would take hours.
 */
static const char *early_reads(void *arg)
{
	struct world *w = arg;
	struct hyphae_graph *g = w->graph;
	struct chain_link *links = calloc(DEEP, sizeof(*links));
	struct links l = {.length = DEEP};
	struct hyphae_cell *reader[3];
	size_t i;

	l.cells = calloc(DEEP, sizeof(struct hyphae_cell *));
	CHECK(links && l.cells);
	l.source = hyphae_int64_new(g, 0);
	l.one = hyphae_int64_new(g, 1);
	l.two = hyphae_int64_new(g, 2);
	for (i = 0; i < 3; i++) {
		reader[i] =
			hyphae_computed(g, &hyphae_int64, reads_the_end, &l);
		CHECK(reader[i]);
	}
	for (i = 0; i < DEEP; i++) {
		links[i] = (struct chain_link){&l, i};
		l.cells[i] =
			hyphae_computed(g, &hyphae_int64, relinks, &links[i]);
		CHECK(l.cells[i]);
	}
	CHECK(l.runs == DEEP && held_by(reader[0]) == -1);
	CHECK(hyphae_int64_set(l.source, 3) == 0);
	for (i = 0; i < 3; i++)
		CHECK(held_by(reader[i]) == DEEP);
	CHECK(l.runs == 2 * DEEP);
	CHECK(hyphae_int64_set(l.source, 4) == 0);
	for (i = 0; i < 3; i++) {
		CHECK(held_by(reader[i]) == 2 * DEEP);
		CHECK(hyphae_cell_unref(reader[i]) == 0);
	}
	CHECK(l.runs == 3 * DEEP);
	for (i = 0; i < DEEP; i++)
		CHECK(hyphae_cell_unref(l.cells[i]) == 0);
	CHECK(hyphae_cell_unref(l.one) == 0 && hyphae_cell_unref(l.two) == 0);
	CHECK(hyphae_cell_unref(l.source) == 0);
	CHECK(live_cells(w) == 0);
	free(l.cells);
	free(links);
	return NULL;
}

static void w08_early_reads_of_a_chain(void **state)
{
	on_small_stack(64 * KIB, early_reads, *state);
}

/* One of many cells is written: only what follows it runs. */
static const char *unaffected(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell **cells = calloc(MANY, sizeof(struct hyphae_cell *));
	struct hyphae_cell *chain[10];
	unsigned long runs = 0;
	size_t i;

	CHECK(cells);
	for (i = 0; i < MANY; i += 2) {
		cells[i] = hyphae_int64_new(w->graph, (int64_t)i);
		cells[i + 1] =
			hyphae_map(cells[i], &hyphae_int64, plus_one, &runs);
		CHECK(cells[i + 1]);
	}
	for (i = 0; i < 10; i++) {
		chain[i] = hyphae_map(i ? chain[i - 1] : cells[MANY / 2],
				      &hyphae_int64, plus_one, &runs);
		CHECK(chain[i]);
	}
	runs = 0;
	for (i = 1; i <= 1000; i++)
		CHECK(hyphae_int64_set(cells[MANY / 2], -(int64_t)i) == 0);
	CHECK(runs == 11000);
	for (i = 0; i < 10; i++)
		CHECK(hyphae_cell_unref(chain[i]) == 0);
	for (i = 0; i < MANY; i++)
		CHECK(hyphae_cell_unref(cells[i]) == 0);
	CHECK(live_cells(w) == 0);
	free(cells);
	return NULL;
}

static void w07_unaffected_cells(void **state)
{
	on_small_stack(64 * KIB, unaffected, *state);
}

#define DISPOSED 1000

struct killer {
	struct hyphae_cell **victims; /* every (WIDE / DISPOSED)th of WIDE */
	unsigned long killed;
};

static int kill_all(void *ret, const void *input, void *ctx)
{
	struct killer *killer = ctx;
	size_t i;

	*(int64_t *)ret = *(const int64_t *)input;
	if (*(int64_t *)ret == 0)
		return 0;
	for (i = 0; i < WIDE; i += WIDE / DISPOSED)
		killer->killed += hyphae_cell_unref(killer->victims[i]) == 0;
	return 0;
}

static const char *disposals_in_a_wave(void *arg)
{
	struct world *w = arg;
	struct hyphae_cell **cells = calloc(WIDE, sizeof(struct hyphae_cell *));
	struct killer killer = {.victims = cells};
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 0);
	struct hyphae_cell *k, *b;
	struct hyphae_cell *both[2];
	unsigned long runs = 0;
	size_t i;

	CHECK(cells);
	k = hyphae_map(a, &hyphae_int64, kill_all, &killer);
	b = hyphae_map(a, &hyphae_int64, plus_one, &runs);
	CHECK(k && b);
	/* Each follows a as well, so all are queued before k runs. */
	both[0] = a;
	both[1] = b;
	for (i = 0; i < WIDE; i++) {
		cells[i] =
			hyphae_combine(both, 2, &hyphae_int64, sum_all, &runs);
		CHECK(cells[i]);
	}
	runs = 0;
	CHECK(hyphae_int64_set(a, 1) == 0);
	CHECK(killer.killed == DISPOSED);
	/* Eager: each survivor once for a and once for b. */
	CHECK(runs == (w->eager ? 2 : 1) * (WIDE - DISPOSED) + 1ul);
	CHECK(live_cells(w) == WIDE - DISPOSED + 3);
	for (i = 0; i < WIDE; i++)
		CHECK(i % (WIDE / DISPOSED) == 0 ||
		      hyphae_cell_unref(cells[i]) == 0);
	CHECK(hyphae_cell_unref(k) == 0);
	CHECK(hyphae_cell_unref(b) == 0);
	CHECK(hyphae_cell_unref(a) == 0);
	free(cells);
	return NULL;
}

static void w09_disposals_in_one_wave(void **state)
{
	on_small_stack(64 * KIB, disposals_in_a_wave, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(w01_chain),
		CASE(w01_chain_of_a_million),
		CASE(w01_chain_completes),
		CASE(w02_one_by_one_from_the_end),
		CASE(w02_by_the_last_unsubscribe),
		CASE(w02_in_a_wave),
		CASE(w02_with_the_graph),
		CASE(w03_nested_scopes),
		CASE(w04_many_subscribers),
		CASE(w05_combine_of_ten_thousand),
		CASE(w05_merge_of_very_many),
		CASE(w05_merge_map_of_very_many),
		CASE(w07_unaffected_cells),
		/* In an eager graph the chain runs anew for each of its cells. */
		CASE_IN(w08_early_reads_of_a_chain, "thread-safe", THREAD_SAFE),
		CASE_IN(w08_early_reads_of_a_chain, "single-thread",
			SINGLE_THREAD),
		CASE(w09_disposals_in_one_wave),
	};

	return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
