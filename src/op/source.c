/* SPDX-License-Identifier: MIT */
/* Sources without a writer: sequence, generator, just, failed, never. */
#include <errno.h>

#include "base/alloc.h"
#include "core/derive.h"
#include "core/wave.h"

/* The graph, or NULL and errno; also if `type` cannot be. */
static struct hy_graph *graph_for(struct hyphae_graph *handle,
				  const struct hyphae_type *type)
{
	struct hy_graph *g = hy_graph(handle);
	int r = g ? hy_type_check(type) : hy_bad_handle(handle);

	if (r == 0)
		return g;
	errno = -r;
	return NULL;
}

static struct hyphae_cell *refused(int error)
{
	errno = -error;
	return NULL;
}

/* ---- sequence ---------------------------------------------------------------- */

struct sequence {
	const struct hyphae_type *type;
	size_t at, count;
	uint64_t words[];
};

static int run_sequence(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct sequence *s = d->ctx;

	(void)g;
	if (s->at == s->count)
		return HY_KEEP | HY_END;
	*(uint64_t *)out = s->words[s->at++];
	return s->at == s->count ? HY_VALUE | HY_END : HY_VALUE | HY_MORE;
}

static void reset_sequence(struct hy_graph *g, struct hy_derived *d)
{
	struct sequence *s = d->ctx;

	(void)g;
	s->at = 0;
}

static void free_sequence(struct hy_graph *g, struct hy_derived *d)
{
	struct sequence *s = d->ctx;

	while (s->count)
		hy_word_put(g, s->type, s->words[--s->count]);
	hy_free(s);
}

static const struct hy_op op_sequence = {
	.name = "sequence",
	.run = run_sequence,
	.free = free_sequence,
	.reset = reset_sequence,
	.flags = OP_SIGNALS | OP_SHARES | OP_EVENT,
};

/* Copies of the values; 0, or the error of one and those before are there. */
static int copy_values(struct hy_graph *g, struct sequence *s,
		       const void *values, size_t count)
{
	const char *value = values;
	int r = 0;

	for (; r == 0 && s->count < count; value += s->type->size) {
		r = hy_word_make(g, s->type, value, NULL, &s->words[s->count]);
		s->count += r == 0;
	}
	return r;
}

/* There is no cell that would do it. */
static void give_up_sequence(struct hy_graph *g, struct sequence *s)
{
	struct hy_derived nobody = {.ctx = s};

	hy_lock(g);
	free_sequence(g, &nobody);
	hy_unlock(g);
}

struct hyphae_cell *hyphae_sequence_at(struct hyphae_graph *graph,
				       const struct hyphae_type *type,
				       const void *values, size_t count,
				       const char *site)
{
	struct hy_order order = {.graph = graph_for(graph, type),
				 .op = &op_sequence,
				 .type = type,
				 .site = site,
				 .cold = count != 0,
				 .eager = count == 0};
	struct hyphae_cell *cell = NULL;
	struct sequence *s;
	int r;

	if (!order.graph)
		return NULL;
	if (count && (!values || count > HYPHAE_TYPE_SIZE_MAX / type->size))
		return refused(-EINVAL);
	s = hy_zalloc_in(order.graph->region,
			 sizeof(*s) + count * sizeof(*s->words));
	if (!s)
		return refused(-ENOMEM);
	s->type = type;
	order.ctx = s;
	r = copy_values(order.graph, s, values, count);
	if (r == 0) {
		cell = hy_order(&order);
		r = -errno;
	}
	if (cell)
		return cell;
	give_up_sequence(order.graph, s);
	return refused(r);
}

/* ---- generator --------------------------------------------------------------- */

struct generator {
	void *ctx;
	void (*drop)(void *ctx);
};

static int run_generator(struct hy_graph *g, struct hy_derived *d, void *out)
{
	hyphae_next_fn next = (hyphae_next_fn)d->fn;
	struct generator *s = d->ctx;
	int r;

	hy_call_begin(g);
	r = next(out, s->ctx);
	hy_call_end(g);
	if (r == 1)
		return HY_VALUE | HY_MORE;
	if (r == 0)
		return HY_KEEP | HY_END;
	hy_set_end(g, &d->cell, r > 1 ? -EINVAL : r);
	return HY_KEEP;
}

static void drop_generator(struct hy_graph *g, void *ctx,
			   void (*drop)(void *ctx))
{
	struct hy_unlocked saved;

	if (!drop)
		return;
	saved = hy_guard_begin(g);
	drop(ctx);
	hy_guard_end(g, saved);
}

static void free_generator(struct hy_graph *g, struct hy_derived *d)
{
	struct generator *s = d->ctx;

	drop_generator(g, s->ctx, s->drop);
	hy_free(s);
}

static const struct hy_op op_generator = {
	.name = "generator",
	.run = run_generator,
	.free = free_generator,
	.flags = OP_SIGNALS | OP_EVENT,
};

static struct hyphae_cell *generate(struct hy_order *order, void *ctx,
				    void (*drop)(void *ctx))
{
	struct hyphae_cell *cell;
	struct generator *s;

	s = hy_alloc_in(order->graph->region, sizeof(*s));
	if (!s)
		return refused(-ENOMEM);
	*s = (struct generator){ctx, drop};
	order->ctx = s;
	cell = hy_order(order);
	if (!cell)
		hy_free(s);
	return cell;
}

struct hyphae_cell *hyphae_generator_at(struct hyphae_graph *graph,
					const struct hyphae_type *type,
					hyphae_next_fn next, void *ctx,
					void (*drop)(void *ctx),
					const char *site)
{
	struct hy_order order = {.graph = graph_for(graph, type),
				 .op = &op_generator,
				 .type = type,
				 .fn = (void (*)(void))next,
				 .site = site,
				 .cold = true};
	struct hyphae_cell *cell = NULL;
	int error;

	if (order.graph && next)
		cell = generate(&order, ctx, drop);
	else if (order.graph)
		refused(-EINVAL);
	if (!cell && drop) {
		error = errno;
		drop(ctx);
		errno = error;
	}
	return cell;
}

/* ---- just, failed, never ------------------------------------------------------------ */

/*
 * They are computed once, when they are made: ctx is the caller's word or
 * error until then.
 */
static int run_just(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	*(uint64_t *)out = (uintptr_t)d->ctx;
	return HY_VALUE | HY_END;
}

static int run_failed(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)out;
	hy_set_error(g, &d->cell, hy_error_ref(d->ctx), true);
	return HY_KEEP;
}

static int run_never(struct hy_graph *g, struct hy_derived *d, void *out)
{
	(void)g;
	(void)d;
	(void)out;
	return HY_KEEP;
}

static const struct hy_op op_just = {
	.name = "just", .run = run_just, .flags = OP_SIGNALS | OP_SHARES};
static const struct hy_op op_failed = {
	.name = "failed", .run = run_failed, .flags = OP_SIGNALS};
static const struct hy_op op_never = {
	.name = "never", .run = run_never, .flags = OP_SIGNALS};

static struct hyphae_cell *constant(struct hy_graph *g, const struct hy_op *op,
				    const struct hyphae_type *type, void *ctx,
				    const char *site)
{
	struct hy_order order = {.graph = g,
				 .op = op,
				 .type = type,
				 .ctx = ctx,
				 .site = site,
				 .eager = true};

	return hy_order(&order);
}

struct hyphae_cell *hyphae_just_at(struct hyphae_graph *graph,
				   const struct hyphae_type *type,
				   const void *value, const char *site)
{
	struct hy_graph *g = graph_for(graph, type);
	struct hyphae_cell *cell;
	uint64_t word;
	int r;

	if (!g)
		return NULL;
	r = value ? hy_word_make(g, type, value, NULL, &word) : -EINVAL;
	if (r)
		return refused(r);
	cell = constant(g, &op_just, type, (void *)(uintptr_t)word, site);
	r = errno;
	if (hy_type_boxed(type))
		hy_box_unref(g, type, hy_box_of(word));
	errno = r;
	return cell;
}

struct hyphae_cell *hyphae_failed_at(struct hyphae_graph *graph,
				     const struct hyphae_type *type, int code,
				     const char *message, const char *site)
{
	struct hy_graph *g = graph_for(graph, type);
	struct hyphae_cell *cell = NULL;
	struct hy_error *error;

	if (!g)
		return NULL;
	if (code >= 0 || code < -HYPHAE_ERRNO_MAX)
		return refused(-EINVAL);
	error = hy_error_new_in(g->region, code, message);
	if (error->code == code)
		cell = constant(g, &op_failed, type, error, site);
	else
		errno = ENOMEM;
	hy_error_unref(error);
	return cell;
}

struct hyphae_cell *hyphae_never_at(struct hyphae_graph *graph,
				    const struct hyphae_type *type,
				    const char *site)
{
	struct hy_graph *g = graph_for(graph, type);

	return g ? constant(g, &op_never, type, NULL, site) : NULL;
}
