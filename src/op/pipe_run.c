/* SPDX-License-Identifier: MIT */
/* What goes through a pipe, stage after stage. */
#include <errno.h>
#include <string.h>

#include "op/pipe.h"

/* What a stage gets, and then hands on. */
enum what {
	NOTHING,
	VALUE, /* `word`, with a reference */
	ERROR, /* `error`, or the input's if that is 0 */
	NONE,  /* the error has gone, and there is no value */
};

struct flow {
	enum what what;
	uint64_t word;
	struct hy_stage *from; /* whose word it is */
	int error;
	bool ends; /* a stage completes */
};

/* ---- words ---------------------------------------------------------------- */

static inline uint64_t keep(const struct hy_stage *s, uint64_t word)
{
	if (s->boxed)
		hy_box_ref(hy_box_of(word));
	return word;
}

static void put_inner(struct hy_graph *g, struct hy_stage *s,
		      struct hy_box *box)
{
	struct hy_unlocked saved;

	if (--box->refs)
		return;
	if (s->type->drop) {
		saved = hy_guard_begin(g);
		s->type->drop(box->payload);
		hy_guard_end(g, saved);
	}
	box->next_spare = s->maker->spare;
	s->maker->spare = box;
}

static inline void put(struct hy_graph *g, struct hy_stage *s, uint64_t word)
{
	if (!s->boxed)
		return;
	if (s->inner)
		put_inner(g, s, hy_box_of(word));
	else
		hy_box_put(g, s->type, hy_box_of(word));
}

static inline const void *value_of(const struct hy_stage *s,
				   const uint64_t *word)
{
	return s->boxed ? hy_box_of(*word)->payload : (const void *)word;
}

/* What it holds is gone. */
static void forget(struct hy_graph *g, struct hy_stage *s,
		   enum hy_stage_holds holds)
{
	bool had = s->keeps && s->holds == HY_HOLDS_VALUE;
	uint64_t word = s->word;

	s->holds = (unsigned char)holds;
	if (had)
		put(g, s, word);
}

static void forget_acc(struct hy_graph *g, struct hy_stage *s)
{
	bool had = s->has_acc;

	s->has_acc = false;
	if (had)
		put(g, s, s->acc);
}

void hy_pipe_clear(struct hy_graph *g, struct hyphae_pipe *p)
{
	p->begun = false;
	for (size_t i = 0; i < p->count; i++) {
		struct hy_stage *s = &p->stages[i];

		forget(g, s, HY_HOLDS_NONE);
		s->open = false;
		if (s->kind == HY_STAGE_SCAN)
			forget_acc(g, s);
		else if (s->kind == HY_STAGE_TAKE || s->kind == HY_STAGE_SKIP)
			s->left = s->n;
	}
}

/* ---- making values --------------------------------------------------------- */

/* Zeroed memory for a value that will be *word; NULL: no memory. */
static void *room(struct hy_derived *d, struct hy_stage *s, uint64_t *word)
{
	struct hy_box *box;

	*word = 0;
	if (!s->boxed)
		return word;
	if (!s->inner) {
		box = hy_box_take(&d->cell);
	} else {
		box = s->spare; /* there is one: see pools() */
		s->spare = box->next_spare;
		memset(box->payload, 0, s->type->size);
		box->refs = 1;
	}
	*word = (uintptr_t)box;
	return box ? box->payload : NULL;
}

static void room_unused(struct hy_derived *d, struct hy_stage *s, uint64_t word)
{
	struct hy_box *box = hy_box_of(word);

	if (!s->boxed)
		return;
	if (!s->inner) {
		hy_box_spare(&d->cell, box);
		return;
	}
	box->next_spare = s->spare;
	s->spare = box;
}

/* The value that was made takes the place of the one it was made of. */
static void replace(struct hy_graph *g, struct hy_stage *s, struct flow *f,
		    uint64_t word)
{
	struct hy_stage *from = f->from;
	uint64_t old = f->word;

	f->word = word;
	f->from = s;
	put(g, from, old);
}

/* What a stage does with a value: this, or a negative errno. */
enum { STOP, PASS, KEPT_BACK };

static int do_map(struct hy_graph *g, struct hy_derived *d, struct hy_stage *s,
		  struct flow *f)
{
	const void *value = value_of(f->from, &f->word);
	uint64_t word;
	void *to = room(d, s, &word);
	int r;

	if (!to)
		return -ENOMEM;
	hy_call_begin(g);
	r = hy_ran(((hyphae_map_fn)s->fn)(to, value, s->ctx));
	hy_call_end(g);
	if (r) {
		room_unused(d, s, word);
		return r;
	}
	replace(g, s, f, word);
	return PASS;
}

static const uint64_t *acc_of(const struct hy_stage *s)
{
	return s->has_acc ? &s->acc : &s->initial;
}

static int do_scan(struct hy_graph *g, struct hy_derived *d, struct hy_stage *s,
		   struct flow *f)
{
	const void *value = value_of(f->from, &f->word);
	const void *acc = value_of(s, acc_of(s));
	uint64_t word;
	void *to = room(d, s, &word);
	int r;

	if (!to)
		return -ENOMEM;
	hy_call_begin(g);
	r = hy_ran(((hyphae_fold_fn)s->fn)(to, acc, value, s->ctx));
	hy_call_end(g);
	if (r) {
		room_unused(d, s, word);
		return r;
	}
	forget_acc(g, s);
	s->acc = word;
	s->has_acc = true;
	replace(g, s, f, keep(s, word));
	return PASS;
}

static int ask(struct hy_graph *g, const struct hy_stage *s,
	       const struct flow *f)
{
	const void *value = value_of(f->from, &f->word);
	int r;

	hy_call_begin(g);
	r = ((hyphae_filter_fn)s->fn)(value, s->ctx);
	hy_call_end(g);
	return r > 0 ? 1 : r;
}

static int do_tap(struct hy_graph *g, const struct hy_stage *s,
		  const struct flow *f)
{
	const void *value = value_of(f->from, &f->word);

	hy_call_begin(g);
	((hyphae_tap_fn)s->fn)(value, s->ctx);
	hy_call_end(g);
	return PASS;
}

static int do_take_while(struct hy_graph *g, const struct hy_stage *s,
			 struct flow *f)
{
	int r = ask(g, s, f);

	if (r)
		return r;
	f->ends = true;
	return s->inclusive ? PASS : KEPT_BACK;
}

static int do_skip_while(struct hy_graph *g, struct hy_stage *s,
			 const struct flow *f)
{
	int r = s->open ? 0 : ask(g, s, f);

	if (r)
		return r < 0 ? r : KEPT_BACK;
	s->open = true;
	return PASS;
}

static int do_skip(struct hy_stage *s)
{
	if (!s->left)
		return PASS;
	s->left--;
	return KEPT_BACK;
}

static int do_stage(struct hy_graph *g, struct hy_derived *d,
		    struct hy_stage *s, struct flow *f)
{
	switch ((enum hy_stage_kind)s->kind) {
	case HY_STAGE_MAP:
		return do_map(g, d, s, f);
	case HY_STAGE_FILTER:
		return ask(g, s, f);
	case HY_STAGE_TAP:
		return do_tap(g, s, f);
	case HY_STAGE_SCAN:
		return do_scan(g, d, s, f);
	case HY_STAGE_TAKE:
		f->ends |= --s->left == 0;
		return PASS;
	case HY_STAGE_SKIP:
		return do_skip(s);
	case HY_STAGE_TAKE_WHILE:
		return do_take_while(g, s, f);
	case HY_STAGE_SKIP_WHILE:
		return do_skip_while(g, s, f);
	}
	return STOP;
}

/* ---- holding values --------------------------------------------------------- */

static bool same(struct hy_graph *g, const struct hy_stage *s, uint64_t a,
		 uint64_t b)
{
	const struct hyphae_type *type = s->type;
	const void *held = value_of(s, &a), *offered = value_of(s, &b);
	bool equal;

	if (!type->equal)
		return s->boxed ? memcmp(held, offered, type->size) == 0
				: a == b;
	hy_call_begin(g);
	equal = type->equal(held, offered);
	hy_call_end(g);
	return equal;
}

/* The stage has come to a value; an equal one goes no farther. */
static void settle(struct hy_graph *g, struct hy_stage *s, struct flow *f)
{
	uint64_t old = s->word;
	bool had = s->holds == HY_HOLDS_VALUE;

	f->from = s;
	s->holds = HY_HOLDS_VALUE;
	if (!s->keeps)
		return;
	if (had && same(g, s, old, f->word)) {
		f->what = NOTHING;
		put(g, s, f->word);
		return;
	}
	s->word = keep(s, f->word);
	if (had)
		put(g, s, old);
}

/* What comes of a value that did not pass, for want of which there is `r`. */
static NOINLINE void refused(struct hy_graph *g, struct hy_stage *s,
			     struct flow *f, int r)
{
	f->what = NOTHING;
	if (r < 0) {
		f->what = ERROR;
		f->error = r;
		forget(g, s, HY_HOLDS_ERROR);
	} else if (r == KEPT_BACK && s->holds == HY_HOLDS_ERROR) {
		f->what = NONE;
		s->holds = HY_HOLDS_NONE;
	}
}

static NOINLINE void meet_value(struct hy_graph *g, struct hy_derived *d,
				struct hy_stage *s, struct flow *f)
{
	int r = do_stage(g, d, s, f);

	if (likely(r == PASS)) {
		settle(g, s, f);
		return;
	}
	put(g, f->from, f->word);
	refused(g, s, f, r);
}

/*
 * No value comes.  A scan has one all the same: at first, and when an error
 * has gone.  An error that a stage holds is that of all behind it.
 */
static void meet_none(struct hy_graph *g, struct hy_stage *s, struct flow *f)
{
	if (s->kind == HY_STAGE_SCAN && s->holds != HY_HOLDS_VALUE) {
		f->what = VALUE;
		f->word = keep(s, *acc_of(s));
		settle(g, s, f);
	} else if (s->holds == HY_HOLDS_ERROR) {
		s->holds = HY_HOLDS_NONE;
	}
}

/* ---- from the input to the cell ----------------------------------------------- */

static struct flow from_input(struct hyphae_pipe *p, struct hy_derived *d)
{
	struct flow f = {.what = NONE, .from = &p->source};

	if (likely(hy_sees_value(d))) {
		f.what = VALUE;
		f.word = keep(&p->source, d->one.input->word);
	} else if (d->one.input->flags & F_ERROR) {
		f.what = ERROR;
	}
	return f;
}

/* What is seldom, of what has come to the end: see to_cell(). */
static NOINLINE int no_value(struct hy_graph *g, struct hy_derived *d,
			     const struct flow *f)
{
	int outcome = HY_KEEP;

	if (f->what == ERROR && f->error)
		outcome = f->error;
	else if (f->what == ERROR)
		hy_inherit_error(g, &d->cell, d->one.input);
	else if (f->what == NONE)
		outcome = hy_nothing(d);
	if (outcome < 0 && f->ends) {
		hy_set_failure(g, &d->cell, outcome);
		outcome = HY_KEEP;
	}
	return outcome;
}

/* What `run` returns of what has come to the end. */
static inline int to_cell(struct hy_graph *g, struct hy_derived *d,
			  const struct flow *f, uint64_t *out)
{
	int outcome = HY_VALUE;

	*out = f->word;
	if (unlikely(f->what != VALUE))
		outcome = no_value(g, d, f);
	return outcome | (unlikely(f->ends) ? HY_END : 0);
}

/*
 * What most stages are: a map or a filter of words that lie in no box, before
 * and after, and are compared as words.  The same as meet_value(), but short:
 * f->from may stay, as one such word is as good as another.
 */
static inline void meet_word(struct hy_graph *g, struct hy_stage *s,
			     struct flow *f)
{
	bool map = s->kind == HY_STAGE_MAP;
	uint64_t word = 0;
	int r;

	hy_call_begin(g);
	r = map ? ((hyphae_map_fn)s->fn)(&word, &f->word, s->ctx)
		: ((hyphae_filter_fn)s->fn)(&f->word, s->ctx);
	hy_call_end(g);
	if (unlikely(map ? r : r <= 0)) {
		refused(g, s, f, map ? hy_ran(r) : r);
		return;
	}
	f->word = map ? word : f->word;
	if (s->keeps && s->holds == HY_HOLDS_VALUE && s->word == f->word) {
		f->what = NOTHING;
		return;
	}
	s->word = f->word;
	s->holds = HY_HOLDS_VALUE;
}

static int run_stages(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct hyphae_pipe *p = d->ctx;
	struct hy_stage *s = p->stages, *end = s + p->count;
	struct flow f = from_input(p, d);
	bool first = !p->begun;

	p->begun = true;
	for (; s < end; s++) {
		if (likely(f.what == VALUE && s->simple))
			meet_word(g, s, &f);
		else if (f.what == VALUE)
			meet_value(g, d, s, &f);
		else if (f.what == ERROR)
			forget(g, s, HY_HOLDS_ERROR);
		else if (f.what == NONE || first)
			meet_none(g, s, &f);
		else
			break;
	}
	return to_cell(g, d, &f, out);
}

int hy_run_pipe(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct hyphae_pipe *p = d->ctx;
	int r;

	if (!p->words || unlikely(!hy_sees_value(d)))
		return run_stages(g, d, out);
	hy_call_begin(g);
	r = hy_pipe_words(out, &d->one.input->word, d->ctx);
	hy_call_end(g);
	return r;
}
