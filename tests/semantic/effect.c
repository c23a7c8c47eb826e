/* SPDX-License-Identifier: MIT */
#include "effect.h"

#include <stdio.h>
#include <string.h>

static int effect_call(const struct hyphae_signal *signal, void *ctx)
{
	struct effect *e = ctx;
	const int64_t *previous = signal->previous;
	char before[32] = "";
	int r = 0;

	e->calls++;
	if (++e->depth > e->deepest)
		e->deepest = e->depth;
	if (previous)
		snprintf(before, sizeof(before), "%lld>", (long long)*previous);
	if (signal->kind == HYPHAE_VALUE)
		note(e->log, "%s%lld", before,
		     (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_COMPLETE)
		note(e->log, "%sC", before);
	else
		note(e->log, "%sE(%d)%s", before, signal->code,
		     signal->terminal ? "!" : "");
	if (e->hook)
		r = e->hook(e, signal);
	e->depth--;
	return r;
}

static void effect_cleanup(void *ctx)
{
	struct effect *e = ctx;

	e->cleanups++;
	if (++e->depth > e->deepest)
		e->deepest = e->depth;
	note(e->log, "x");
	if (e->on_cleanup)
		e->on_cleanup(e);
	e->depth--;
}

static void effect_dropped(void *ctx)
{
	struct effect *e = ctx;

	e->drops++;
	note(e->log, "d");
}

struct hyphae_subscription *effect_subscribe(struct effect *e,
					     struct hyphae_cell *cell,
					     unsigned int flags, bool cleanup)
{
	struct hyphae_subscription_options options = {
		.fn = effect_call,
		.ctx = e,
		.drop = effect_dropped,
		.cleanup = cleanup ? effect_cleanup : NULL,
		.flags = flags,
	};

	e->subscription = hyphae_subscribe_options(cell, &options);
	return e->subscription;
}

void effect_init(struct world *w, struct effect *e)
{
	memset(e, 0, sizeof(*e));
	e->world = w;
	e->log = log_new(w, NULL, NULL);
}

void effect_start(struct world *w, struct effect *e, struct hyphae_cell *cell,
		  unsigned int flags, bool cleanup)
{
	effect_init(w, e);
	keep_sub(w, effect_subscribe(e, cell, flags, cleanup));
}
