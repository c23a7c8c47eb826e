/* SPDX-License-Identifier: MIT */
#include "core/extra.h"

#include <string.h>

#include "base/alloc.h"
#include "core/fanout.h"
#include "core/release.h"
#include "core/value.h"

/* A value that outlives its cell's: the word, with a reference on its box. */
struct kept {
	uint64_t word;
	bool there;
};

struct hy_extra {
	void (*cleanup)(void *ctx);
	void *ctx;
	uint32_t flags; /* enum hyphae_subscription_flags */
	bool owes;	/* a call was made that was not cleaned up after */
	struct kept previous; /* HYPHAE_PREVIOUS: told last */
};

struct hy_extra *hy_extra_new(struct hy_graph *g,
			      const struct hyphae_subscription_options *options)
{
	struct hy_extra *e = hy_zalloc_in(g->region, sizeof(*e));

	if (!e)
		return NULL;
	e->cleanup = options->cleanup;
	e->ctx = options->ctx;
	e->flags = options->flags;
	return e;
}

/* ---- the previous value ---------------------------------------------------- */

static struct kept keep(const struct hyphae_type *type, const void *value)
{
	return (struct kept){hy_word_ref(type, hy_word_at(type, value)), true};
}

static void let_go(struct hy_graph *g, const struct hyphae_type *type,
		   struct kept kept)
{
	if (kept.there)
		hy_word_put(g, type, kept.word);
}

void hy_extra_passed_over(struct hy_extra *e, const struct hy_cell *c)
{
	if (e->flags & HYPHAE_PREVIOUS && !(c->flags & (F_NO_VALUE | F_EVENT)))
		e->previous = keep(c->type, hy_value_of(c));
}

/* ---- calls ------------------------------------------------------------------ */

/* Once for each call: it is paid before the clean-up runs. */
static void clean_up(struct hy_graph *g, struct hy_extra *e)
{
	if (!e->owes)
		return;
	e->owes = false;
	hy_call_begin(g);
	e->cleanup(e->ctx);
	hy_call_end(g);
}

/* Call it with the previous value, which is then that of this call. */
static int call_with_previous(struct hy_graph *g, struct hy_extra *e,
			      hyphae_subscriber_fn fn,
			      const struct hyphae_signal *told)
{
	struct hyphae_signal signal = *told;
	struct kept old = e->previous;
	int r;

	signal.previous =
		old.there ? hy_word_value(told->type, &old.word) : NULL;
	e->previous = told->kind == HYPHAE_VALUE ? keep(told->type, told->value)
						 : (struct kept){0};
	hy_call_begin(g);
	r = fn(&signal, e->ctx);
	hy_call_end(g);
	let_go(g, told->type, old);
	return r;
}

int hy_extra_call(struct hy_graph *g, struct hy_sub *s,
		  const struct hyphae_signal *signal, bool *ret_told)
{
	/* Read under the lock: it may be ended meanwhile. */
	hyphae_subscriber_fn fn = s->fn;
	struct hy_extra *e = s->ctx;
	int r;

	clean_up(g, e);
	*ret_told = hy_hold_back(s, signal->terminal ? F_END_NEW : F_VALUE_NEW);
	if (!*ret_told)
		return 0;
	e->owes = e->cleanup;
	if (e->flags & HYPHAE_PREVIOUS) {
		r = call_with_previous(g, e, fn, signal);
	} else {
		hy_call_begin(g);
		r = fn(signal, e->ctx);
		hy_call_end(g);
	}
	if (e->flags & HYPHAE_ONCE && !(s->flags & SUB_DEAD))
		hy_sub_end(g, s);
	return r;
}

void hy_extra_done(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_graph *saved = hy_stretch_begin(g, g->freeing);
	struct hy_extra *e = s->ctx;

	clean_up(g, e);
	hy_stretch_end(g, saved);
	let_go(g, s->cell->type, e->previous);
	s->ctx = e->ctx;
	s->flags &= ~(uint32_t)SUB_EXTRA;
	hy_free(e);
}
