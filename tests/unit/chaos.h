/* SPDX-License-Identifier: MIT */
/*
 * Of the chaos: dice, findings, values, and what lies about for all threads.
 *
 * Every function that the library calls looks at what it was given, does
 * something at random, and looks again.  How much a thread still does inside
 * of callbacks is its budget, so that a run is bounded by its operations.
 */
#ifndef CHAOS_H
#define CHAOS_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

/* ---- threads -------------------------------------------------------------- */

#define ENTERED_MAX 8

/* What a thread of ours has promised to end, and what it wrote. */
struct actor {
	uint64_t dice;
	int id; /* 0: not one of ours; it opens nothing that must be closed */
	int depth, budget;
	int selecting; /* in functions whose cells belong to an operator */
	struct hyphae_scope *entered[ENTERED_MAX];
	int nentered;
	struct diary *diary;
};

static __thread struct actor me;
static atomic_ulong strangers;

static uint32_t below(uint32_t n)
{
	if (!me.dice)
		me.dice = (atomic_fetch_add(&strangers, 1) + 1) *
			  0x9e3779b97f4a7c15u;
	me.dice ^= me.dice << 13;
	me.dice ^= me.dice >> 7;
	me.dice ^= me.dice << 17;
	return (uint32_t)(me.dice >> 20) % n;
}

static bool percent(uint32_t chance)
{
	return below(100) < chance;
}

/* ---- findings ------------------------------------------------------------- */

static atomic_long findings, values_alive, contexts_alive;
static atomic_bool calm; /* callbacks do nothing of their own any more */

static __attribute__((format(printf, 1, 2))) void wrong(const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "thread %d: %s\n", me.id, text);
	atomic_fetch_add(&findings, 1);
}

static void do_something(void);

/* In a callback: now and then a few things, if there is anything to spend. */
static void perhaps(void)
{
	if (me.depth > 8 || me.budget <= 0 || atomic_load(&calm) ||
	    !percent(25))
		return;
	me.depth++;
	for (uint32_t n = 1 + below(3); n && me.budget > 0; n--) {
		me.budget--;
		do_something();
	}
	me.depth--;
}

/* ---- values ------------------------------------------------------------------ */

#define FRESH 0xfeedu

struct owner {
	uint32_t magic;
	int32_t n;
	int32_t *heap; /* holds n */
};

static void owner_make(struct owner *owner, int n)
{
	*owner = (struct owner){FRESH, n, malloc(sizeof(*owner->heap))};
	*owner->heap = n;
	atomic_fetch_add(&values_alive, 1);
}

static int owner_copy(void *to, const void *from)
{
	const struct owner *owner = from;

	if (owner->magic != FRESH || *owner->heap != owner->n)
		wrong("a copy of what is no value");
	perhaps();
	if (percent(3))
		return percent(50) ? -ENOMEM : -EIO;
	owner_make(to, owner->n);
	return 0;
}

static void owner_drop(void *value)
{
	struct owner *owner = value;

	if (owner->magic != FRESH)
		wrong("a drop of what is no value");
	owner->magic = 0xdead;
	free(owner->heap);
	atomic_fetch_sub(&values_alive, 1);
	perhaps();
}

static bool owner_equal(const void *a, const void *b)
{
	const struct owner *one = a, *other = b;

	if (one->magic != FRESH || other->magic != FRESH)
		wrong("a comparison of what is no value");
	perhaps();
	return *one->heap == *other->heap;
}

static uint64_t owner_hash(const void *value)
{
	perhaps();
	return (uint64_t) * ((const struct owner *)value)->heap;
}

static int owner_print(const void *value, char *text, size_t size)
{
	perhaps();
	return snprintf(text, size, "%d", *((const struct owner *)value)->heap);
}

static const struct hyphae_type owner_type = {.name = "owner",
					      .size = sizeof(struct owner),
					      .align = _Alignof(struct owner),
					      .copy = owner_copy,
					      .drop = owner_drop,
					      .equal = owner_equal,
					      .hash = owner_hash,
					      .print = owner_print};

struct wide {
	int64_t same[6];
};
HYPHAE_TYPE(wide, struct wide);

static const struct hyphae_type never_type = {
	.name = "never", .size = 8, .align = 8, .equal = hyphae_never_equal};

static const struct hyphae_type *const types[] = {
	&hyphae_int64, &owner_type, &wide_type, &hyphae_string, &never_type};
#define NTYPES (sizeof(types) / sizeof(types[0]))

/* -1: of a cell that is the library's own. */
static int type_index(const struct hyphae_type *type)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i] == type)
			return (int)i;
	return -1;
}

static const struct hyphae_type *any_type(void)
{
	uint32_t n = below(10);

	return n < 5 ? types[0] : n < 7 ? types[1] : types[below(NTYPES)];
}

union any {
	int64_t n;
	struct owner owner;
	struct wide wide;
	char *text;
	unsigned char room[64];
};

static void any_make(union any *any, const struct hyphae_type *type, int n)
{
	memset(any, 0, sizeof(*any));
	if (type == &owner_type) {
		owner_make(&any->owner, n);
	} else if (type == &hyphae_string) {
		any->text = malloc(16);
		snprintf(any->text, 16, "%d", n);
	} else if (type == &wide_type) {
		for (int i = 0; i < 6; i++)
			any->wide.same[i] = n;
	} else {
		any->n = n;
	}
}

/* Also what was read of a cell of the library's own. */
static void any_give(union any *any, const struct hyphae_type *type)
{
	if (type->drop)
		type->drop(any);
}

/* What a function returns: `ret` has room for the type and no more. */
static void any_return(void *ret, const struct hyphae_type *type, int n)
{
	union any any;

	any_make(&any, type, n);
	memcpy(ret, &any, type->size);
}

static int any_look(const struct hyphae_type *type, const void *value)
{
	if (!value) {
		wrong("no value");
		return 0;
	}
	if (type == &owner_type) {
		const struct owner *owner = value;

		if (owner->magic != FRESH)
			wrong("a look at what is no value");
		return *owner->heap;
	}
	if (type == &hyphae_string)
		return atoi(*(char *const *)value);
	if (type == &wide_type) {
		const struct wide *wide = value;

		if (wide->same[0] != wide->same[5])
			wrong("half a value");
		return (int)wide->same[0];
	}
	return type_index(type) < 0 ? 0 : (int)*(const int64_t *)value;
}

/* ---- what lies about ------------------------------------------------------------ */

#define GRAPHS 4
#define CELLS 64
#define SUBSCRIPTIONS 48
#define OTHERS 12

/* Handles; stale perhaps, as others may end them at any moment. */
typedef _Atomic(void *) place;

static struct hyphae_graph *graphs[GRAPHS + 1]; /* the last: of diaries */
static struct hyphae_clock *clocks[GRAPHS];
static struct hyphae_pool *pool;
static place shelf[CELLS], subscriptions[SUBSCRIPTIONS], scopes[OTHERS],
	timers[OTHERS], streams[OTHERS], inputs[OTHERS], parallels[OTHERS],
	posters[OTHERS];

static void *any_of(place *places, uint32_t count)
{
	return atomic_load(&places[below(count)]);
}
#define ANY(places) any_of(places, sizeof(places) / sizeof((places)[0]))

static void *put_into(place *places, uint32_t count, void *handle)
{
	return handle ? atomic_exchange(&places[below(count)], handle) : NULL;
}
#define PUT(places, handle)                                                    \
	put_into(places, sizeof(places) / sizeof((places)[0]), handle)

static struct hyphae_graph *any_graph(void)
{
	return percent(1) ? NULL : graphs[below(GRAPHS)];
}

/* Of batches, frames and the like, where that of the diaries is one too. */
static struct hyphae_graph *any_graph_at_all(void)
{
	return graphs[below(GRAPHS + 1)];
}

static struct hyphae_cell *any_cell(void)
{
	return percent(1) ? NULL : ANY(shelf);
}

static const struct hyphae_type *type_of(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	return hyphae_cell_info(cell, &info) ? &hyphae_int64 : info.type;
}

/* The place has the reference. */
static void put_cell(struct hyphae_cell *cell)
{
	struct hyphae_cell *old = PUT(shelf, cell);

	if (percent(70))
		hyphae_cell_unref(old);
}

/* The same with a new one, of which a scope may have the reference. */
static void keep_cell(struct hyphae_cell *cell)
{
	if (cell)
		put_cell(me.nentered || me.selecting ? hyphae_cell_ref(cell)
						     : cell);
}

/* ---- contexts ---------------------------------------------------------------------- */

#define LIVING 0xc0ffee

struct context {
	atomic_uint magic;
	atomic_int running;
	atomic_bool once;
	const struct hyphae_type *in, *out;
};

static struct context *context_new(void)
{
	struct context *context = calloc(1, sizeof(*context));

	atomic_init(&context->magic, LIVING);
	atomic_fetch_add(&contexts_alive, 1);
	return context;
}

static void context_check(struct context *context, const char *where)
{
	if (atomic_load(&context->magic) != LIVING)
		wrong("a %s after the drop", where);
}

static void context_drop(void *ctx)
{
	struct context *context = ctx;

	context_check(context, "drop");
	if (atomic_load(&context->running))
		wrong("a drop of what runs");
	atomic_store(&context->magic, 1);
	perhaps();
	free(context);
	atomic_fetch_sub(&contexts_alive, 1);
}

/* Those of operators, by their types; there is nothing to drop. */
static struct context operator_contexts[NTYPES][NTYPES];

static struct context *context_of(const struct hyphae_type *in,
				  const struct hyphae_type *out)
{
	int i = type_index(in), o = type_index(out);

	return &operator_contexts[i < 0 ? 0 : i][o < 0 ? 0 : o];
}

#endif
