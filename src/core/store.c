/* SPDX-License-Identifier: MIT */
/* What a cell comes to hold: a value, an error, or nothing. */
#include <stdio.h>
#include <string.h>

#include "core/label.h"
#include "core/probe.h"
#include "core/wave.h"

static NOINLINE uint64_t differs_by_function(struct hy_graph *g,
					     struct hy_cell *c,
					     const struct hyphae_type *type,
					     uint64_t word)
{
	struct hy_unlocked saved;
	const void *held, *offered = &word;
	bool equal;

	if (c->flags & (F_NO_VALUE | F_EVENT))
		return 1;
	held = hy_value_of(c);
	if (c->flags & F_BOXED)
		offered = hy_box_of(word)->payload;
	if (!type->equal)
		return __builtin_memcmp(held, offered, type->size) != 0;
	saved = hy_guard_begin(g);
	equal = type->equal(held, offered);
	hy_guard_end(g, saved);
	return !equal;
}

static NOINLINE void store_slowly(struct hy_graph *g, struct hy_cell *c,
				  const struct hyphae_type *type, uint64_t word)
{
	uint64_t old = c->word;

	store_release(&c->word, word);
	if (c->flags & F_NO_VALUE) {
		struct hy_error *error = hy_error_of(c);

		hy_error_put_in(c, NULL);
		hy_flags_set(c, F_TURNED, F_NO_VALUE);
		hy_error_unref(error);
	}
	if (c->flags & F_BOXED && old)
		hy_box_put(g, type, hy_box_of(old));
}

/* Not one plain word that replaces another, with nobody to note it. */
#define F_SLOW_WRITE (F_DEAD | F_BOXED | F_EQUAL | F_NO_VALUE | F_SLOW_SPREAD)

/* In two registers, so that hy_write_value() saves none for the probe. */
struct written {
	uint64_t changed;
	struct hy_cell *c;
};

static NOINLINE struct written write_slowly(struct hy_graph *g,
					    struct hy_cell *c, uint64_t word,
					    const struct hyphae_type *type)
{
	uint64_t changed;

	if (c->flags & F_DEAD) {
		if (c->flags & F_BOXED)
			hy_box_put(g, type, hy_box_of(word));
		return (struct written){0, NULL};
	}
	changed = differs_by_function(g, c, type, word);
	if (changed) {
		/* Before the old value's drop runs, unlocked. */
		hy_flags_set(c, F_VALUE_NEW, 0);
		store_slowly(g, c, type, word);
	} else if (c->flags & F_BOXED) {
		hy_box_put(g, type, hy_box_of(word));
	}
	return (struct written){changed, c};
}

HY_FRAME HY_ONE_END struct hy_written
hy_write_value(struct hy_graph *g, struct hy_cell *c, uint64_t word,
	       const struct hyphae_type *type)
{
	struct hy_edge *first = NULL;
	uint64_t changed = 0;

	if (likely(!(c->flags & F_SLOW_WRITE))) {
		if (likely(c->word != word)) {
			store_release(&c->word, word);
			changed = 1;
			first = c->deps;
		}
	} else {
		struct written w = write_slowly(g, c, word, type);

		changed = w.changed;
		c = w.c;
		if (unlikely(!c))
			return (struct hy_written){0, NULL};
		g = hy_graph_of(c);
		type = c->type;
	}
	hy_probe_write_value(g, c, type, changed);
	HY_FRAME_END();
	return (struct hy_written){changed, first};
}

static HY_FRAME void probe_error(const struct hy_cell *c, int code,
				 const char *message)
{
	hy_probe_error(c->id, code, message, c->name);
}

void hy_set_error(struct hy_graph *g, struct hy_cell *c, struct hy_error *error,
		  bool terminal)
{
	struct hy_error *old = hy_error_of(c);
	uint64_t word = c->word;

	if (!(c->flags & F_NO_VALUE))
		hy_flags_set(c, F_TURNED, 0);
	hy_error_put_in(c, error);
	hy_flags_set(c,
		     F_ERROR | (terminal ? F_FAILED | F_END_NEWS : F_VALUE_NEW),
		     F_NONE);
	hy_error_unref(old);
	/* Nothing stale is kept: whoever comes back differs from nothing. */
	if (c->flags & F_BOXED && word) {
		c->word = 0;
		hy_box_put(g, c->type, hy_box_of(word));
	}
}

/* An equal error is no change, except of an event. */
static bool held_already(const struct hy_cell *c, const struct hy_error *error)
{
	return (c->flags & (F_ERROR | F_EVENT)) == F_ERROR &&
	       hy_error_same(hy_error_of(c), error);
}

void hy_set_failure(struct hy_graph *g, struct hy_cell *c, int result)
{
	const char *message;
	int code = hy_failure(result, &message);
	struct hy_error *error = hy_error_new_in(g->region, code, message);

	if (held_already(c, error)) {
		hy_error_unref(error);
		return;
	}
	hy_set_error(g, c, error, false);
	probe_error(c, error->code, error->message);
}

void hy_set_end(struct hy_graph *g, struct hy_cell *c, int result)
{
	const char *message;
	int code = hy_failure(result, &message);
	struct hy_error *error = hy_error_new_in(g->region, code, message);

	hy_set_error(g, c, error, true);
	probe_error(c, error->code, error->message);
}

void hy_hold_error(struct hy_graph *g, struct hy_cell *c,
		   struct hy_error *error)
{
	if (held_already(c, error))
		hy_error_unref(error);
	else
		hy_set_error(g, c, error, false);
}

void hy_inherit_error(struct hy_graph *g, struct hy_cell *c,
		      struct hy_cell *input)
{
	struct hy_error *error = hy_error_of(input);
	bool terminal = input->flags & F_FAILED;

	if (terminal || !held_already(c, error))
		hy_set_error(g, c, hy_error_ref(error), terminal);
}

/* The error has gone, and an input never had a value: nor has this cell. */
void hy_set_none(struct hy_cell *c)
{
	struct hy_error *error = hy_error_of(c);

	hy_error_put_in(c, NULL);
	hy_flags_set(c, F_NONE | F_VALUE_NEW, F_ERROR);
	hy_error_unref(error);
}

void hy_end_source(struct hy_graph *g, struct hy_cell *c, uint64_t kind,
		   uint64_t word)
{
	struct hy_error *error = (struct hy_error *)(uintptr_t)word;

	if (kind == HYPHAE_COMPLETE) {
		hy_flags_set(c, F_COMPLETE | F_END_NEWS, 0);
		return;
	}
	hy_set_error(g, c, error, true);
	probe_error(c, error->code, error->message);
}

void hy_problem(struct hy_graph *g, struct hy_cell *c, int code,
		const char *message)
{
	static const struct hy_cell none = {.name = ""};
	const struct hy_cell *at = c ? c : &none;
	struct hyphae_problem problem = {code, at->id, message};
	hyphae_problem_fn fn = g->on_problem;
	void *ctx = g->problem_ctx;

	probe_error(at, code, message);
	if (fn) {
		struct hy_unlocked saved = hy_guard_begin(g);

		fn(&problem, ctx);
		hy_guard_end(g, saved);
	}
}

void hy_cycle_found(struct hy_graph *g, struct hy_cell *c)
{
	char text[128 + HYPHAE_NAME_MAX];
	struct hy_error *error;

	snprintf(text, sizeof(text),
		 "Cell #%llu%s%s would depend on itself; that dependency was "
		 "left out.",
		 (unsigned long long)c->id, *c->name ? " " : "", c->name);
	error = hy_error_new_in(g->region, -ELOOP, text);
	if (c->flags & F_ERROR && hy_error_same(hy_error_of(c), error)) {
		hy_error_unref(error);
		return;
	}
	hy_set_error(g, c, error, false);
	hy_problem(g, c, -ELOOP, text);
}
