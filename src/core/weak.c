/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <hyphae/weak.h>

#include "core/release.h"
#include "core/sync.h"

struct hyphae_weak hyphae_weak(struct hyphae_cell *handle)
{
	struct hyphae_weak weak = {NULL, hyphae_cell_id(handle)};

	if (weak.id)
		weak.cell = handle;
	return weak;
}

/* Its cell, if that lives; without a look at what others may change. */
static struct hy_cell *find(struct hyphae_weak weak)
{
	struct hy_cell *c = hy_cell(weak.cell);

	return c && load_relaxed(&c->id) == weak.id ? c : NULL;
}

/* One more reference, the user's or hyphae's own. */
static struct hyphae_cell *lock(struct hyphae_weak weak, bool users)
{
	struct hyphae_cell *result = NULL;
	struct hy_cell *c = find(weak);
	struct hy_graph *g;

	if (c) {
		g = hy_graph_of(c);
		hy_lock(g);
		/* Another cell may have come to its place meanwhile. */
		if (find(weak) && !(c->flags & F_DEAD) && hy_more_refs(c)) {
			c->refs++;
			*hy_users(c) += users;
			result = weak.cell;
		}
		hy_unlock(g);
	}
	if (!result)
		errno = weak.cell ? ESTALE : EINVAL;
	return result;
}

struct hyphae_cell *hyphae_weak_lock(struct hyphae_weak weak)
{
	return lock(weak, true);
}

struct hyphae_cell *hy_weak_keep(struct hyphae_weak weak)
{
	return lock(weak, false);
}

bool hyphae_weak_alive(struct hyphae_weak weak)
{
	const struct hy_cell *c = find(weak);

	return c && !(load_relaxed(&c->flags) & F_DEAD);
}
