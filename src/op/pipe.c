/* SPDX-License-Identifier: MIT */
/* Pipes: how they are built, and made into one cell or many. */
#include "op/pipe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hyphae/limits.h>
#include <hyphae/pipe.h>

#include "core/release.h"

/* ---- building ----------------------------------------------------------------- */

struct hyphae_pipe *hyphae_pipe(struct hyphae_cell *input)
{
	const struct hy_cell *c = hy_cell(input);
	struct hyphae_pipe *p;

	if (!input)
		return NULL;
	p = hy_zalloc(sizeof(*p));
	if (!p) {
		errno = ENOMEM;
		return NULL;
	}
	p->input = input;
	p->error = c ? 0 : ESTALE;
	p->source.type = c ? load_relaxed(&c->type) : NULL;
	p->source.boxed = c && hy_type_boxed(p->source.type);
	return p;
}

void hyphae_pipe_free(struct hyphae_pipe *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		const struct hy_stage *s = &p->stages[i];

		if (s->has_initial && s->boxed)
			hy_box_unref(NULL, s->type, hy_box_of(s->initial));
	}
	hy_free(p->stages);
	hy_free(p);
}

/* One more stage, or NULL if something was wrong before or is now. */
static struct hy_stage *stage(struct hyphae_pipe *p, enum hy_stage_kind kind,
			      void (*fn)(void), void *ctx, const char *site)
{
	struct hy_stage *stages, *s;

	if (!p || p->error)
		return NULL;
	if (p->count >= HYPHAE_STAGES_MAX) {
		p->error = EINVAL;
		return NULL;
	}
	stages = hy_reserve(p->stages, &p->capacity, p->count + 1,
			    sizeof(*stages));
	if (!stages) {
		p->error = ENOMEM;
		return NULL;
	}
	p->stages = stages;
	s = &stages[p->count];
	*s = (struct hy_stage){
		.kind = (unsigned char)kind,
		.type = p->count ? s[-1].type : p->source.type,
		.fn = fn,
		.ctx = ctx,
		.site = site,
	};
	s->boxed = hy_type_boxed(s->type);
	p->count++;
	return s;
}

static struct hyphae_pipe *wrong(struct hyphae_pipe *p)
{
	if (p && !p->error)
		p->error = EINVAL;
	return p;
}

struct hyphae_pipe *hyphae_pipe_map_at(struct hyphae_pipe *p,
				       const struct hyphae_type *type,
				       hyphae_map_fn fn, void *ctx,
				       const char *site)
{
	struct hy_stage *s;

	if (!fn || hy_type_check(type))
		return wrong(p);
	s = stage(p, HY_STAGE_MAP, (void (*)(void))fn, ctx, site);
	if (s) {
		s->type = type;
		s->boxed = hy_type_boxed(type);
	}
	return p;
}

struct hyphae_pipe *hyphae_pipe_filter_at(struct hyphae_pipe *p,
					  hyphae_filter_fn fn, void *ctx,
					  const char *site)
{
	if (!fn)
		return wrong(p);
	stage(p, HY_STAGE_FILTER, (void (*)(void))fn, ctx, site);
	return p;
}

struct hyphae_pipe *hyphae_pipe_tap_at(struct hyphae_pipe *p, hyphae_tap_fn fn,
				       void *ctx, const char *site)
{
	if (!fn)
		return wrong(p);
	stage(p, HY_STAGE_TAP, (void (*)(void))fn, ctx, site);
	return p;
}

struct hyphae_pipe *hyphae_pipe_scan_at(struct hyphae_pipe *p,
					const struct hyphae_type *type,
					const void *initial, hyphae_fold_fn fn,
					void *ctx, const char *site)
{
	struct hy_stage *s;
	int r;

	if (!fn || !initial || hy_type_check(type))
		return wrong(p);
	s = stage(p, HY_STAGE_SCAN, (void (*)(void))fn, ctx, site);
	if (!s)
		return p;
	s->type = type;
	s->boxed = hy_type_boxed(type);
	r = hy_word_make(NULL, type, initial, NULL, &s->initial);
	s->has_initial = !r;
	p->error = -r;
	return p;
}

static struct hyphae_pipe *counted(struct hyphae_pipe *p,
				   enum hy_stage_kind kind, size_t n,
				   const char *site)
{
	struct hy_stage *s = stage(p, kind, NULL, NULL, site);

	if (s)
		s->n = s->left = n;
	return p;
}

struct hyphae_pipe *hyphae_pipe_take_at(struct hyphae_pipe *p, size_t n,
					const char *site)
{
	return n ? counted(p, HY_STAGE_TAKE, n, site) : wrong(p);
}

struct hyphae_pipe *hyphae_pipe_skip_at(struct hyphae_pipe *p, size_t n,
					const char *site)
{
	return counted(p, HY_STAGE_SKIP, n, site);
}

struct hyphae_pipe *hyphae_pipe_take_while_at(struct hyphae_pipe *p,
					      hyphae_filter_fn fn,
					      bool inclusive, void *ctx,
					      const char *site)
{
	struct hy_stage *s;

	if (!fn)
		return wrong(p);
	s = stage(p, HY_STAGE_TAKE_WHILE, (void (*)(void))fn, ctx, site);
	if (s)
		s->inclusive = inclusive;
	return p;
}

struct hyphae_pipe *hyphae_pipe_skip_while_at(struct hyphae_pipe *p,
					      hyphae_filter_fn fn, void *ctx,
					      const char *site)
{
	if (!fn)
		return wrong(p);
	stage(p, HY_STAGE_SKIP_WHILE, (void (*)(void))fn, ctx, site);
	return p;
}

/* ---- one cell ------------------------------------------------------------------- */

static void free_boxes(struct hy_stage *s)
{
	struct hy_box *box = s->spare, *next;

	for (; box; box = next) {
		next = box->next_spare;
		hy_free(box);
	}
	s->spare = NULL;
}

static void pipe_free(struct hy_graph *g, struct hy_derived *d)
{
	struct hyphae_pipe *p = d->ctx;

	hy_pipe_clear(g, p);
	for (size_t i = 0; i < p->count; i++) {
		struct hy_stage *s = &p->stages[i];

		free_boxes(s);
		if (s->has_initial)
			hy_word_put(g, s->type, s->initial);
	}
	hy_free(p->stages);
	hy_free(p);
}

static void pipe_reset(struct hy_graph *g, struct hy_derived *d)
{
	hy_pipe_clear(g, d->ctx);
}

#define PIPE(flags_, ...)                                                      \
	{                                                                      \
		.name = "pipe", .run = hy_run_pipe, .free = pipe_free,         \
		.reset = pipe_reset,                                           \
		.flags = OP_SEES | OP_SHARES | OP_GIVES | (flags_),            \
		__VA_ARGS__                                                    \
	}
static const struct hy_op op_shares = PIPE(OP_STREAM);
static const struct hy_op op_makes = PIPE(OP_STREAM | OP_MAKES);
static const struct hy_op op_holds = PIPE(OP_MAKES); /* has a scan */
static const struct hy_op op_words = PIPE(OP_STREAM, .direct = HY_DIRECT_MAP);

static bool makes(const struct hy_stage *s)
{
	return s->kind == HY_STAGE_MAP || s->kind == HY_STAGE_SCAN;
}

/*
 * The boxes of an inner maker: one for each stage that may hold a different
 * value of it, one for an accumulator, and one for the next value.
 */
static int pool(struct hy_graph *g, struct hy_stage *maker,
		const struct hy_stage *end)
{
	size_t count = maker->kind == HY_STAGE_SCAN ? 2 : 1;

	for (const struct hy_stage *s = maker; s < end; s++)
		count += s->keeps;
	while (count--) {
		struct hy_box *box = hy_box_new(g, maker->type);

		if (!box)
			return -ENOMEM;
		box->next_spare = maker->spare;
		maker->spare = box;
	}
	return 0;
}

static bool is_simple(const struct hy_stage *s, const struct hy_stage *before)
{
	return (s->kind == HY_STAGE_MAP || s->kind == HY_STAGE_FILTER) &&
	       !before->boxed && !s->boxed && !s->type->equal;
}

/* Who holds what, and whose boxes it lies in. */
static const struct hy_op *arrange(struct hyphae_pipe *p, bool event)
{
	const struct hy_op *op = &op_shares;
	struct hy_stage *maker = NULL;

	for (size_t i = 0; i < p->count; i++) {
		struct hy_stage *s = &p->stages[i];

		if (s->kind == HY_STAGE_SCAN)
			event = false;
		s->event = event;
		s->keeps = !event && i + 1 < p->count;
		s->simple = is_simple(s, i ? s - 1 : &p->source);
		if (makes(s)) {
			maker = s;
			op = op == &op_holds || s->kind == HY_STAGE_SCAN
				     ? &op_holds
				     : &op_makes;
		}
		s->maker = maker;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct hy_stage *s = &p->stages[i];

		s->inner = s->maker && s->maker != maker;
	}
	return op;
}

/* All stages are simple: they become steps of hy_pipe_words(). */
static bool make_words(struct hyphae_pipe *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (!p->stages[i].simple)
			return false;
	for (size_t i = 0; i < p->count; i++) {
		struct hy_stage *s = &p->stages[i];
		bool last = i + 1 == p->count;

		if (s->kind == HY_STAGE_MAP)
			s->step = last ? HY_STEP_LAST_MAP : HY_STEP_MAP;
		else
			s->step = last ? HY_STEP_LAST_FILTER : HY_STEP_FILTER;
	}
	p->words = true;
	return true;
}

static int pools(struct hy_graph *g, struct hyphae_pipe *p)
{
	const struct hy_stage *end = p->stages + p->count;
	int r = 0;

	for (struct hy_stage *s = p->stages; s < end && !r; s++) {
		const struct hy_stage *next = s + 1;

		if (!makes(s) || !s->inner || !s->boxed)
			continue;
		while (next < end && !makes(next))
			next++;
		r = pool(g, s, next);
	}
	return r;
}

/* errno for a pipe that will be no cell; 0: it will. */
static int check(const struct hyphae_pipe *p)
{
	const struct hy_cell *input = hy_cell(p->input);

	if (p->error)
		return p->error;
	if (!p->count)
		return EINVAL;
	return input && load_relaxed(&input->type) == p->source.type ? 0
								     : ESTALE;
}

struct hyphae_cell *hyphae_materialize_at(struct hyphae_pipe *p,
					  const char *site)
{
	struct hyphae_cell *input = p ? p->input : NULL;
	struct hy_order order;
	int error;

	if (!p)
		return NULL;
	error = check(p);
	if (error) {
		hyphae_pipe_free(p);
		errno = error;
		return NULL;
	}
	if (!hy_one_begin(&order, NULL, &input, site)) {
		hyphae_pipe_free(p);
		return NULL;
	}
	order.op = arrange(p, load_relaxed(&hy_cell_place(input)->flags) &
				      F_EVENT);
	if (make_words(p)) {
		order.op = &op_words;
		order.fn = (void (*)(void))hy_pipe_words;
	}
	order.type = p->stages[p->count - 1].type;
	order.ctx = p;
	return hy_one(&order, pools(order.graph, p));
}

/* ---- many cells ---------------------------------------------------------------- */

static struct hyphae_cell *cell_of(struct hyphae_cell *input,
				   const struct hy_stage *s)
{
	const char *site = s->site;

	switch ((enum hy_stage_kind)s->kind) {
	case HY_STAGE_MAP:
		return hyphae_map_at(input, s->type, (hyphae_map_fn)s->fn,
				     s->ctx, site);
	case HY_STAGE_FILTER:
		return hyphae_filter_at(input, (hyphae_filter_fn)s->fn, s->ctx,
					site);
	case HY_STAGE_TAP:
		return hyphae_tap_at(input, (hyphae_tap_fn)s->fn, s->ctx, site);
	case HY_STAGE_SCAN:
		return hyphae_scan_at(input, s->type,
				      hy_word_value(s->type, &s->initial),
				      (hyphae_fold_fn)s->fn, s->ctx, site);
	case HY_STAGE_TAKE:
		return hyphae_take_at(input, s->n, site);
	case HY_STAGE_SKIP:
		return hyphae_skip_at(input, s->n, site);
	case HY_STAGE_TAKE_WHILE:
		return hyphae_take_while_at(input, (hyphae_filter_fn)s->fn,
					    s->inclusive, s->ctx, site);
	case HY_STAGE_SKIP_WHILE:
		return hyphae_skip_while_at(input, (hyphae_filter_fn)s->fn,
					    s->ctx, site);
	}
	return NULL;
}

struct hyphae_cell *hyphae_materialize_unfused(struct hyphae_pipe *p)
{
	struct hyphae_cell *cell = NULL, *next;
	int error;

	if (!p)
		return NULL;
	error = check(p);
	for (size_t i = 0; i < p->count && !error; i++) {
		next = cell_of(i ? cell : p->input, &p->stages[i]);
		error = next ? 0 : errno;
		hy_cell_undo(cell);
		cell = next;
	}
	hyphae_pipe_free(p);
	if (error)
		errno = error;
	return cell;
}

/* ---- text ------------------------------------------------------------------------ */

static const char *const names[] = {
	[HY_STAGE_MAP] = "map",
	[HY_STAGE_FILTER] = "filter",
	[HY_STAGE_TAP] = "tap",
	[HY_STAGE_SCAN] = "scan",
	[HY_STAGE_TAKE] = "take",
	[HY_STAGE_SKIP] = "skip",
	[HY_STAGE_TAKE_WHILE] = "take_while",
	[HY_STAGE_SKIP_WHILE] = "skip_while",
};

static int print(const struct hyphae_pipe *p, char *text, size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < p->count; i++) {
		bool fits = length < size;

		length += (size_t)snprintf(
			fits ? text + length : NULL, fits ? size - length : 0,
			"%s%s", i ? " > " : "", names[p->stages[i].kind]);
	}
	return (int)length;
}

int hyphae_pipe_stages(const struct hyphae_cell *handle, char *text,
		       size_t size)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_graph *g;
	int r = -EINVAL;

	if (!c)
		return hy_bad_handle(handle);
	if (size && !text)
		return -EINVAL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (!hy_cell(handle) || c->flags & F_DEAD)
		r = -ESTALE;
	else if (c->flags & F_DERIVED &&
		 hy_derived_of(c)->op->run == hy_run_pipe)
		r = print(hy_derived_of(c)->ctx, text, size);
	hy_unlock(g);
	return r;
}
