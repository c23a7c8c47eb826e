/* SPDX-License-Identifier: MIT */
#include "op/inner.h"

#include <errno.h>

static int check_inner(struct hy_graph *g, const struct hyphae_cell *handle,
		       const struct hyphae_type *type)
{
	struct hy_cell *c = hy_cell(handle);

	if (!handle)
		return errno > 0 && errno <= HYPHAE_ERRNO_MAX ? -errno
							      : -EINVAL;
	if (!c)
		return -ESTALE;
	if (hy_graph_of(c) != g)
		return -EXDEV;
	if (c->flags & F_DEAD)
		return -ESTALE;
	return c->type == type ? 0 : -EINVAL;
}

static void dispose(struct hy_graph *g, struct hyphae_scope *scope)
{
	struct hy_unlocked saved;

	if (!scope)
		return;
	saved = hy_guard_begin(g);
	hy_scope_dispose(scope);
	hy_guard_end(g, saved);
}

void hy_inner_drop(struct hy_graph *g, struct hy_inner *inner)
{
	struct hyphae_scope *scope = inner->scope;
	struct hy_cell *c = inner->cell;

	inner->scope = NULL;
	inner->cell = NULL;
	if (c)
		hy_let_go(g, c);
	dispose(g, scope);
}

int hy_inner_make(struct hy_graph *g, struct hy_inner *inner, hy_make_fn make,
		  void *call, uint32_t height, const struct hyphae_type *type)
{
	struct hy_floor floor = hy_self.floor;
	struct hyphae_cell *handle;
	int r;

	*inner = (struct hy_inner){.scope = hy_scope_open(g)};
	if (!inner->scope)
		return -ENOMEM;
	if (floor.graph != g || floor.height < height)
		hy_self.floor = (struct hy_floor){g, height};
	g->making++;
	hy_call_begin(g);
	errno = 0;
	handle = make(call);
	r = handle ? 0 : errno;
	hy_call_end(g);
	g->making--;
	hy_self.floor = floor;
	inner->scope = hy_scope_close(g, inner->scope);
	errno = r;
	r = check_inner(g, handle, type);
	if (r == 0)
		inner->cell = hy_hold(hy_cell(handle));
	else
		hy_inner_drop(g, inner);
	return r;
}

void hy_inner_miss(struct hy_derived *d, uint32_t i)
{
	if (!hy_holds_error(d, i) && hy_take(d, i) & MARK_END)
		hy_news_add(d, i, MARK_END);
}

int hy_inner_say(struct hy_graph *g, struct hy_derived *d, uint32_t i,
		 void *out)
{
	if (hy_holds_error(d, i)) {
		hy_pass_error(g, d, i);
		return HY_KEEP;
	}
	if (!hy_holds_value(d, i))
		return HY_KEEP;
	*(uint64_t *)out = hy_input_word(d, i);
	return HY_VALUE;
}

int hy_inner_hear(struct hy_graph *g, struct hy_derived *d, uint32_t i,
		  void *out)
{
	return hy_take(d, i) & MARK_VALUE ? hy_inner_say(g, d, i, out)
					  : HY_KEEP;
}
