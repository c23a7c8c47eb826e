/* SPDX-License-Identifier: MIT */
/* The library's side.  See test_model_effect.c. */
#ifndef TEST_MODEL_EFFECT_LIBRARY_H
#define TEST_MODEL_EFFECT_LIBRARY_H

#include "model_effect.h"

static struct hyphae_graph *graph;
static struct hyphae_cell *cells[CELLS];
static struct {
	struct hyphae_subscription *handle;
	enum style style;
	int number;
	bool inside;
} subs[MAX_SUBS];
static unsigned int reentered;

static const struct side library;

static int lib_call(const struct hyphae_signal *signal, void *ctx)
{
	int number = *(int *)ctx;
	const int64_t *previous = signal->previous;
	bool detach;

	if (subs[number].inside)
		reentered++;
	subs[number].inside = true;
	tell(&told, signal->kind == HYPHAE_VALUE ? 'V' : 'C', number,
	     signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal) : NONE,
	     previous ? *previous : NONE);
	detach = do_something(&library, true);
	subs[number].inside = false;
	return detach ? HYPHAE_DETACH : 0;
}

static void lib_cleanup(void *ctx)
{
	tell(&told, 'X', *(int *)ctx, NONE, NONE);
	do_something(&library, true);
}

static void lib_drop(void *ctx)
{
	tell(&told, 'D', *(int *)ctx, NONE, NONE);
}

static int lib_held(int sub, enum deed deed)
{
	struct hyphae_subscription *handle = subs[sub].handle;

	if (!handle) /* its first call is under way */
		return -ENOENT;
	switch (deed) {
	case PAUSE:
		return hyphae_subscription_pause(handle);
	case RESUME:
		return hyphae_subscription_resume(handle);
	case BLOCK:
		return hyphae_subscription_block(handle);
	case UNBLOCK:
		return hyphae_subscription_unblock(handle);
	default:
		return hyphae_unsubscribe(handle);
	}
}

static void lib_subscribe(int sub, enum cell cell, unsigned int flags,
			  bool cleanup)
{
	struct hyphae_subscription_options options = {
		.fn = lib_call,
		.ctx = &subs[sub].number,
		.drop = lib_drop,
		.cleanup = cleanup ? lib_cleanup : NULL,
		.flags = flags,
	};

	subs[sub].number = sub;
	subs[sub].inside = false;
	subs[sub].handle = NULL;
	subs[sub].handle = hyphae_subscribe_options(cells[cell], &options);
}

static int lib_run(void *ctx)
{
	int number = *(int *)ctx, r;

	if (subs[number].inside)
		reentered++;
	subs[number].inside = true;
	r = run_effect(&library, number, subs[number].style);
	subs[number].inside = false;
	return r;
}

static void lib_effect(int sub, enum style style, bool cleanup)
{
	subs[sub].number = sub;
	subs[sub].style = style;
	subs[sub].inside = false;
	subs[sub].handle = NULL;
	subs[sub].handle =
		hyphae_effect_with(graph, lib_run, &subs[sub].number, lib_drop,
				   cleanup ? lib_cleanup : NULL);
}

static int64_t lib_read(int sub, enum cell cell)
{
	int64_t v = NONE;

	(void)sub;
	hyphae_int64_get(cells[cell], &v);
	return v;
}

static int64_t lib_peek(int sub, enum cell cell)
{
	int64_t v;

	hyphae_untracked_begin();
	v = lib_read(sub, cell);
	hyphae_untracked_end();
	return v;
}

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input * 2;
	return 0;
}

static int64_t lib_twice_a(int sub)
{
	struct hyphae_cell *cell =
		hyphae_map(cells[A], &hyphae_int64, twice, NULL);
	int64_t v = NONE;

	(void)sub;
	hyphae_int64_get(cell, &v);
	hyphae_cell_unref(cell); /* the effect holds it; or a scope, too */
	return v;
}

/* In a subscriber a batch changes nothing. */
static int lib_write(enum cell cell, int64_t value)
{
	int r, end;

	if (!eager || bare)
		return hyphae_int64_set(cells[cell], value);
	hyphae_batch_begin(graph);
	r = hyphae_int64_set(cells[cell], value);
	end = hyphae_batch_end(graph);
	return end ? end : r;
}

static void lib_unsubscribe_all(enum cell cell)
{
	hyphae_unsubscribe_all(cells[cell]);
}

static struct {
	struct hyphae_scope *handle;
	int number;
} scopes[MAX_SCOPES];

static void lib_on_dispose(void *ctx)
{
	tell(&told, 'O', *(int *)ctx, NONE, NONE);
	do_something(&library, true);
}

static int lib_scope(int scope, enum deed deed)
{
	struct hyphae_scope *handle = scopes[scope].handle;

	switch (deed) {
	case SCOPE:
		scopes[scope].number = scope;
		scopes[scope].handle = hyphae_scope_new(graph);
		return 0;
	case ENTER:
		return hyphae_scope_enter(handle);
	case LEAVE:
		return hyphae_scope_leave(handle);
	case DISPOSE:
		return hyphae_scope_dispose(handle);
	default:
		return hyphae_scope_on_dispose(handle, lib_on_dispose,
					       &scopes[scope].number);
	}
}

static const struct side library = {
	&told,	  lib_held,    lib_subscribe, lib_effect,	   lib_read,
	lib_peek, lib_twice_a, lib_write,     lib_unsubscribe_all, lib_scope,
};

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

#endif
