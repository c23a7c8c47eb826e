/* SPDX-License-Identifier: MIT */
#include "flow/kick.h"

#include <errno.h>

#include "core/drain.h"
#include "core/iterate.h"
#include "core/label.h"
#include "core/log.h"
#include "core/release.h"
#include "core/scope.h"

/* It is set when there may be no memory. */
static bool can_wait(struct hyphae_graph *graph, struct hyphae_cell *cell)
{
	struct hy_graph *g = hy_graph(graph);
	const struct hy_cold *cold;

	hy_lock(g);
	cold = hy_cold_made(hy_cell(cell));
	hy_unlock(g);
	if (!cold)
		errno = ENOMEM;
	return cold;
}

int hy_kick_init(struct hy_kick *kick, struct hyphae_graph *graph,
		 const char *name, hyphae_subscriber_fn fn, void *ctx,
		 void (*left)(void *ctx))
{
	struct hy_scope *hidden;
	int64_t none = 0;
	int r = 0;

	*kick = (struct hy_kick){.count = 0};
	hidden = hy_scopes_hide();
	kick->cell = hyphae_cell_new(graph, &hy_hidden_type, &none);
	if (!kick->cell || !can_wait(graph, kick->cell)) {
		r = -errno;
		left(ctx);
	} else {
		hy_cell_adopt(kick->cell);
		hyphae_cell_set_name(kick->cell, name);
		kick->subscription = hyphae_subscribe_with(
			kick->cell, fn, ctx, left, HYPHAE_SKIP_INITIAL);
		if (!kick->subscription)
			r = -errno;
	}
	hy_scopes_show(hidden);
	return r;
}

/* Never equal to the one before. */
static int64_t next_count(struct hy_kick *kick)
{
	return __atomic_add_fetch(&kick->count, 1, __ATOMIC_RELAXED);
}

/* The inbox is looked at when the pass is over. */
static int put_in_inbox(struct hy_kick *kick, struct hy_graph *g)
{
	if (hy_guarded(g))
		return -EPERM;
	g->left = true;
	return hy_log_put(g, &g->inbox, hy_cell(kick->cell), LOG_VALUE,
			  (uint64_t)next_count(kick), NULL);
}

/*
 * While this thread propagates: not in the next wave, which the wave limit may
 * drop, but after this pass.
 */
int hy_kick_set(struct hy_kick *kick)
{
	struct hy_cell *c = hy_cell(kick->cell);
	struct hy_graph *g;
	bool drainer;
	int64_t n;
	int r = 0;

	if (!c)
		return -ESTALE;
	g = hy_graph_of(c);
	hy_lock(g);
	drainer = hy_drains(g);
	/* A graph that is freed has drop functions called when all are dead. */
	if (drainer)
		r = hy_cell(kick->cell) && !(c->flags & F_DEAD)
			    ? put_in_inbox(kick, g)
			    : -ESTALE;
	hy_unlock(g);
	if (drainer)
		return r;
	n = next_count(kick);
	return hyphae_cell_set(kick->cell, &hy_hidden_type, &n);
}

int hy_kick_post(struct hy_kick *kick)
{
	int64_t n = next_count(kick);

	return hyphae_cell_post(kick->cell, &hy_hidden_type, &n);
}

void hy_kick_end(struct hy_kick *kick)
{
	hyphae_unsubscribe(kick->subscription);
}

void hy_kick_done(struct hy_kick *kick)
{
	hy_cell_unkeep(kick->cell);
}

bool hy_next_room(struct hy_graph *g, struct hyphae_cell *cell)
{
	struct hy_cell *c;
	bool room;

	hy_lock(g);
	c = hy_cell(cell);
	room = hy_log_room(g, &g->next, 1) && (!c || hy_cold_made(c));
	hy_unlock(g);
	return room;
}

int hy_next_put(struct hy_graph *g, struct hyphae_cell *cell, uint32_t what,
		uint64_t word, struct hy_error *error)
{
	struct hy_cell *c;
	int r = -ESTALE;

	hy_lock(g);
	c = hy_cell(cell);
	if (c && !(c->flags & F_DEAD))
		r = c->flags & F_ENDED ? -ESHUTDOWN
				       : hy_log_put(g, hy_log_of_drainer(g, c),
						    c, what, word, error);
	hy_unlock(g);
	return r;
}

uint32_t hy_hop_now(struct hy_graph *g, bool *ret_drainer, uint32_t *ret_limit)
{
	uint32_t hop;

	hy_lock(g);
	*ret_drainer = hy_drains(g);
	*ret_limit = g->wave_limit;
	hop = *ret_drainer ? g->hop : 0;
	hy_unlock(g);
	return hop;
}

void hy_hop_note(struct hy_graph *g, uint32_t hop)
{
	hy_lock(g);
	if (g->hop < hop)
		g->hop = hop;
	hy_unlock(g);
}
