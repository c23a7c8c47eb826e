/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/alloc.h"
#include "base/options.h"
#include "core/data.h"
#include "core/drain.h"
#include "core/label.h"
#include "core/log.h"
#include "core/post.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/slab.h"
#include "core/storage.h"
#include "time/alarm.h"

#define WAVE_LIMIT 100
#define GRAPH_FLAGS                                                            \
	(unsigned int)(HYPHAE_SINGLE_THREAD | HYPHAE_EAGER | HYPHAE_LAZY |     \
		       HYPHAE_HEAP_CELLS)

static int options_read(struct hyphae_graph_options *ret,
			const struct hyphae_graph_options *options, size_t size)
{
	if (!options || !hy_options_read(ret, sizeof(*ret), options, size) ||
	    ret->flags & ~GRAPH_FLAGS ||
	    ret->storage_flags & ~(unsigned int)HYPHAE_STORAGE_SPILL)
		return -EINVAL;
	if (!ret->storage)
		return ret->storage_bytes || ret->storage_flags ? -EINVAL : 0;
	return ret->flags & HYPHAE_HEAP_CELLS ? -EINVAL : 0;
}

static void graph_init(struct hy_graph *g,
		       const struct hyphae_graph_options *options)
{
	g->flags = options->flags;
	g->lazy = options->flags & HYPHAE_LAZY;
	g->signal.message = "";
	g->wave_limit = options->wave_limit ? options->wave_limit : WAVE_LIMIT;
	hy_labels_begin();
	g->dead_cells_end = &g->dead_cells;
	g->dead_subs_end = &g->dead_subs;
	if (hy_shared(g))
		g->busy = BUSY_SHARED;
	hy_lock_init(&g->lock);
	hy_idle_init(g);
	/* The id is what makes the handle fit. */
	store_release(&g->id, hy_id_new(g));
	hy_graphs_add(g);
}

struct hyphae_graph *
hyphae_graph_new_sized(const struct hyphae_graph_options *options, size_t size)
{
	struct hyphae_graph_options o;
	struct hy_graph *g = NULL;
	int r = options_read(&o, options, size);

	if (r == 0 && o.storage)
		r = hy_storage_open(o.storage, o.storage_bytes,
				    o.storage_flags & HYPHAE_STORAGE_SPILL, &g);
	else if (r == 0)
		g = hy_graph_take();
	if (!g) {
		errno = r ? -r : ENOMEM;
		return NULL;
	}
	graph_init(g, &o);
	return hy_handle(g, g->id, HY_TAG_GRAPH);
}

struct hyphae_graph *hyphae_graph_new(unsigned int flags)
{
	return hyphae_graph_new_with(
		&(struct hyphae_graph_options){.flags = flags});
}

/*
 * End every subscription and let go of every reference that the user still
 * has; hy_reap() does the rest.
 */
static void end_everything(struct hy_graph *g)
{
	for (struct hy_chunk *chunk = g->chunks; chunk; chunk = chunk->next) {
		char *slot = (char *)chunk + HY_CHUNK_HEADER;

		for (uint32_t i = 0; i < chunk->used;
		     i++, slot += chunk->slot_bytes) {
			struct hy_cell *c = (struct hy_cell *)slot;
			struct hy_sub *s = (struct hy_sub *)slot;

			if (!*(uint64_t *)slot)
				continue;
			if (chunk->kind == HY_CHUNK_TIMER)
				hy_alarm_end(g, (struct hy_alarm *)slot);
			if (chunk->kind == HY_CHUNK_SUBSCRIPTION &&
			    !(s->flags & SUB_DEAD))
				hy_sub_end(g, s);
			if ((chunk->kind == HY_CHUNK_SOURCE ||
			     chunk->kind == HY_CHUNK_DERIVED) &&
			    !(c->flags & F_DEAD)) {
				c->refs = 1;
				hy_cell_put(g, c);
			}
		}
	}
}

/* References between cells do not count any more: all are dead. */
static void forget(struct hy_graph *g)
{
	hy_log_done(&g->next);
	hy_log_done(&g->inbox);
	hy_log_done(&g->running);
	hy_free(g->gathered);
	hy_free(g->fired);
	hy_free(g->stack);
	hy_free(g->raised);
	hy_free(g->more.cells);
	hy_free(g->again.cells);
	hy_free(g->attention.cells);
	hy_free(g->wanted.cells);
	hy_free(g->reads.cells);
	hy_free(g->read_set.reads);
	hy_free(g->needed.cells);
	hy_queue_done(&g->queue);
	if (g->spare_batch) {
		hy_log_done(&g->spare_batch->log);
		hy_free(g->spare_batch);
	}
	hy_scopes_free(g);
	hy_time_done(g);
	hy_slots_done(g);
}

/* Their functions are called while the graph still works. */
static int dispose_scopes(struct hy_graph *g)
{
	struct hyphae_scope *scope;
	int r = 0;

	while (!r && (scope = hy_scope_any(g))) {
		hy_unlock(g);
		r = hyphae_scope_dispose(scope);
		hy_lock(g);
	}
	return r;
}

/* The graph's own data, when nothing is left that could ask for it. */
static void drop_data(struct hy_graph *g)
{
	struct hy_owned *owned = g->owned;

	g->owned = NULL;
	hy_owned_drop(g, owned);
}

int hyphae_graph_free(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	int r;

	if (!handle)
		return 0;
	if (!g)
		return -ESTALE;
	hy_lock(g);
	if (hy_batches_open(g) || hy_drained(g) || g->entered_scopes ||
	    g->starting || g->walking || hy_guarded(g)) {
		hy_unlock(g);
		return -EBUSY;
	}
	r = dispose_scopes(g);
	/* What these called may have opened a batch. */
	if (r || hy_batches_open(g) || !hy_drain_begin(g)) {
		hy_unlock(g);
		return -EBUSY;
	}
	if (!hy_time_leave(g)) {
		hy_drain_end(g, 0);
		hy_unlock(g);
		return -EBUSY;
	}
	g->freeing = true;
	g->id_next = g->id_end; /* nothing is ready to be made */
	hy_posts_close(g);
	end_everything(g);
	hy_reap(g);
	hy_drain_gone(g);
	drop_data(g);
	hy_unlock(g);
	hy_graphs_remove(g);
	forget(g);
	pthread_cond_destroy(&g->idle);
	/* Not the lock: who held a handle may be about to look again. */
	hy_graph_give(g);
	return 0;
}

uint64_t hyphae_graph_id(const struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);

	return g ? g->id : 0;
}

int hyphae_graph_counts(const struct hyphae_graph *handle,
			struct hyphae_graph_counts *ret_counts)
{
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	if (!ret_counts)
		return -EINVAL;
	hy_lock(g);
	ret_counts->cells = g->ncells;
	ret_counts->subscriptions = g->nsubs;
	ret_counts->height = g->max_height;
	ret_counts->timers = hy_timer_count(g);
	hy_unlock(g);
	return 0;
}

int hyphae_graph_on_problem(struct hyphae_graph *handle, hyphae_problem_fn fn,
			    void *ctx)
{
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	g->on_problem = fn;
	g->problem_ctx = ctx;
	hy_unlock(g);
	return 0;
}

int hyphae_graph_set_wave_limit(struct hyphae_graph *handle, unsigned int waves)
{
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	if (!waves)
		return -EINVAL;
	hy_lock(g);
	g->wave_limit = waves;
	hy_unlock(g);
	return 0;
}

int hyphae_graph_check_idle(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	bool idle;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	idle = !hy_batches_open(g) && !hy_drained(g) && !g->next.count &&
	       !g->inbox.count && !hy_has_dead(g) && !hy_posts_waiting(g);
	hy_unlock(g);
	return idle ? 0 : -EBUSY;
}

const char *hyphae_version(void)
{
	return HYPHAE_VERSION;
}
