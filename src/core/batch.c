/* SPDX-License-Identifier: MIT */
#include "core/batch.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/ending.h"
#include "core/log.h"
#include "core/post.h"
#include "core/wave.h"

static HY_FRAME void probe_batch(struct hy_graph *g, uint64_t pass)
{
	hy_probe_batch(g->id, pass);
}

static inline struct hy_batch *batch_take(struct hy_graph *g)
{
	struct hy_batch *batch = g->spare_batch;

	if (batch)
		g->spare_batch = NULL;
	else
		batch = hy_zalloc_in(g->region, sizeof(*batch));
	return batch;
}

/* Its log is empty.  The spare one is as begin_idle() takes it. */
static inline void batch_give(struct hy_graph *g, struct hy_batch *batch)
{
	if (!g->spare_batch) {
		batch->next = NULL;
		batch->depth = 1;
		batch->frame = false;
		g->spare_batch = batch;
	} else {
		hy_log_done(&batch->log);
		hy_free(batch);
	}
	hy_log_bare_room(g, &g->spare_batch->log);
}

/* The pass that the batch's writes belong to. */
static inline uint64_t pass_of_batch(struct hy_graph *g)
{
	if (unlikely(hy_self.pass != NULL))
		return hy_pass_id(hy_self.pass);
	/* In a subscriber they join the pass that runs. */
	return hy_drains(g) ? g->pass : hy_pass_new(g);
}

static inline struct hy_batch *batch_of(const struct hy_graph *g,
					const struct hy_thread *t)
{
	struct hy_batch *batch = t->batches;

	while (batch && batch->graph != g)
		batch = batch->next;
	return batch;
}

static inline void open_batch(struct hy_graph *g, struct hy_thread *t,
			      struct hy_batch *batch)
{
	batch->next = t->batches;
	t->batches = batch;
	if (hy_shared(g)) {
		g->open_batches++;
		return;
	}
	/* Nothing is under way. */
	if (!g->busy && !batch->log.count) {
		hy_log_bare_room(g, &batch->log);
		g->busy = BUSY_BARE;
	}
	g->busy |= BUSY_BATCH;
}

static inline void close_batch(struct hy_graph *g, struct hy_thread *t,
			       struct hy_batch *batch)
{
	struct hy_batch **link = &t->batches;

	while (unlikely(*link != batch))
		link = &(*link)->next;
	*link = batch->next;
	if (hy_shared(g)) {
		g->open_batches--;
		return;
	}
	if (g->busy & BUSY_BARE)
		hy_log_close_bare(g, &batch->log);
	/* Or a subscriber left another one open while this one settled. */
	if (likely(!t->batches))
		g->busy &= ~(uint32_t)BUSY_BATCH;
}

/* Inline, so that a graph without locks need not ask whose thread it is. */
static ALWAYS_INLINE int begin(struct hy_graph *g, struct hy_thread *t)
{
	struct hy_batch *batch;

	if (t->guard == g)
		return -EPERM;
	if (g->freeing) /* it would be left behind */
		return -ESTALE;
	batch = batch_of(g, t);
	if (batch) {
		batch->depth++;
		return 0;
	}
	batch = batch_take(g);
	if (!batch)
		return -ENOMEM;
	batch->graph = g;
	batch->depth = 1;
	batch->frame = false;
	batch->pass = pass_of_batch(g);
	open_batch(g, t, batch);
	probe_batch(g, batch->pass);
	return 0;
}

int hy_batch_begin(struct hy_graph *g)
{
	return begin(g, hy_thread_of(g));
}

/*
 * The thread ends: so do its batches, with all that was written.  The problem
 * is told first: until then the graph cannot be freed.  What that calls may end
 * the batch itself, or open others, which are ended the next time.
 */
static void end_left_open(struct hy_graph *g)
{
	struct hy_batch *batch;

	hy_lock(g);
	hy_problem(g, NULL, -ECANCELED,
		   "A thread has ended with a batch or frame open, which was "
		   "ended for it.");
	batch = hy_batch_of(g);
	if (batch) {
		batch->depth = 1;
		if (batch->frame)
			hy_frame_close(g, batch);
		else
			hy_batch_end(g, batch);
	}
	hy_unlock(g);
}

static void end_batches(void)
{
	unsigned int count = 0;

	for (struct hy_batch *b = hy_self.thread.batches; b; b = b->next)
		count++;
	while (count-- && hy_self.thread.batches)
		end_left_open(hy_self.thread.batches->graph);
}

void hy_lock_to_open(struct hy_graph *g)
{
	if (hy_shared(g)) /* a single-threaded graph has its batches itself */
		hy_mind_end(HY_LEFT_BATCHES, end_batches);
	hy_lock(g);
}

static NOINLINE int begin_shared(struct hy_graph *g)
{
	int r;

	hy_lock_to_open(g);
	r = begin(g, hy_thread_of(g));
	hy_unlock(g);
	return r;
}

/*
 * A graph without locks where nothing is under way: no batch is open and no
 * function is called, and it has a batch from before.
 */
static inline bool is_idle(const struct hy_graph *g)
{
	return !g->busy && g->spare_batch && g->pass_next != g->pass_end &&
	       !hy_watched();
}

static ALWAYS_INLINE int begin_idle(struct hy_graph *g)
{
	struct hy_batch *batch = g->spare_batch;
	uint64_t pass = g->pass_next++;

	g->spare_batch = NULL;
	batch->pass = pass;
	g->solo.batches = batch;
	g->busy = BUSY_BATCH | BUSY_BARE;
	probe_batch(g, pass);
	return 0;
}

static NOINLINE int begin_otherwise(struct hy_graph *g)
{
	return hy_shared(g) ? begin_shared(g) : begin(g, &g->solo);
}

int hyphae_batch_begin(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);

	if (!g)
		return hy_bad_handle(handle);
	if (likely(is_idle(g)))
		return begin_idle(g);
	return begin_otherwise(g);
}

/*
 * Become the drainer, or leave the batch to whoever is.  If there is no
 * memory for that (there is for our own next wave: drain.c made room), wait
 * until the other one is done.
 */
static int drain_or_leave(struct hy_graph *g, struct hy_batch *batch,
			  bool *ret_drainer)
{
	int r;

	while (!(*ret_drainer = hy_drain_begin(g))) {
		bool mine = hy_drains(g);
		struct hy_log *to =
			mine ? hy_log_behind_batch(g, &batch->log) : &g->inbox;

		r = hy_log_merge(g, to, &batch->log);
		if (r == 0 || mine)
			return r;
		hy_wait_idle(g);
	}
	return 0;
}

/* Somebody watches. */
static NOINLINE void told(struct hy_graph *g, struct hy_batch *batch,
			  uint64_t writes, uint64_t coalesced)
{
	hy_watch_batch(g, batch->pass, writes, true, coalesced);
	if (batch->frame)
		hy_frame_watch(g);
}

/* Somebody watches, or another thread propagates. */
static NOINLINE int flush_slowly(struct hy_graph *g, struct hy_batch *batch)
{
	uint64_t writes = batch->log.writes, coalesced = batch->log.coalesced;
	bool drainer;
	int r;

	if (hy_drained(g) && batch->log.is_bare)
		hy_log_fill_in(g, &batch->log);
	r = drain_or_leave(g, batch, &drainer);
	if (!drainer) {
		if (r == 0 && hy_watched())
			hy_watch_batch(g, batch->pass, writes, false,
				       coalesced);
		return r ? r : hy_take_over(g);
	}
	hy_pass_open(g, batch->pass);
	hy_flush(g, &batch->log);
	if (hy_watched())
		told(g, batch, writes, coalesced);
	return hy_drain_end(g, 1);
}

/* Run what the batch holds, or leave it to whoever propagates. */
static inline int flush_batch(struct hy_graph *g, struct hy_batch *batch)
{
	if (hy_watched() || !hy_drain_begin(g))
		return flush_slowly(g, batch);
	hy_pass_open(g, batch->pass);
	hy_flush(g, &batch->log);
	return likely(hy_drain_leave(g)) ? 0 : hy_drain_end(g, 1);
}

static ALWAYS_INLINE int end_outermost(struct hy_graph *g, struct hy_thread *t,
				       struct hy_batch *batch)
{
	int r;

	/* Closed first: what its subscribers write is not part of it. */
	close_batch(g, t, batch);
	r = flush_batch(g, batch);
	if (unlikely(batch->log.count)) { /* no memory to hand it over */
		open_batch(g, t, batch);
		return r;
	}
	batch_give(g, batch);
	return r;
}

int hy_batch_end(struct hy_graph *g, struct hy_batch *batch)
{
	return end_outermost(g, hy_thread_of(g), batch);
}

static ALWAYS_INLINE int end(struct hy_graph *g, struct hy_thread *t)
{
	struct hy_batch *batch = batch_of(g, t);

	if (t->guard == g)
		return -EPERM;
	if (!batch || (batch->depth == 1 && batch->frame))
		return -EINVAL;
	if (batch->depth > 1) {
		batch->depth--;
		return 0;
	}
	return end_outermost(g, t, batch);
}

static NOINLINE int end_shared(struct hy_graph *g)
{
	int r;

	hy_lock(g);
	r = end(g, hy_thread_of(g));
	hy_unlock(g);
	return r;
}

/* Its log is bare, and nothing else is under way. */
static inline bool is_plain(const struct hy_graph *g,
			    const struct hy_batch *batch)
{
	return likely(g->busy == (BUSY_BATCH | BUSY_BARE)) &&
	       likely(batch->depth == 1) && likely(!batch->frame) &&
	       !hy_watched();
}

static NOINLINE int finish_plain(struct hy_graph *g, struct hy_batch *batch)
{
	int r;

	g->pass_open = true;
	r = hy_drain_end(g, 1);
	batch_give(g, batch);
	return r;
}

/*
 * As end_outermost() does, of a log whose counts were 0 all the time.  What is
 * left to do, operators that have more to say too, sets `left`.
 */
static ALWAYS_INLINE int end_plain(struct hy_graph *g, struct hy_batch *batch)
{
	struct hy_bare *end = g->bare_at;

	g->solo.batches = NULL;
	g->busy = BUSY_DRAINING;
	g->pass = batch->pass;
	g->bare_at = batch->log.bare;
	batch->log.coalesced = 0;
	hy_flush_bare(g, batch->log.bare, end);
	/* A subscriber may have had a batch, which is the spare one now. */
	if (unlikely(hy_anything_left(g) || g->spare_batch))
		return finish_plain(g, batch);
	g->busy &= ~(uint32_t)BUSY_DRAINING;
	g->spare_batch = batch;
	return 0;
}

static NOINLINE int end_otherwise(struct hy_graph *g)
{
	return hy_shared(g) ? end_shared(g) : end(g, &g->solo);
}

int hyphae_batch_end(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	struct hy_batch *batch;

	if (!g)
		return hy_bad_handle(handle);
	batch = g->solo.batches;
	if (likely(is_plain(g, batch)))
		return end_plain(g, batch);
	return end_otherwise(g);
}

int hyphae_batch(struct hyphae_graph *graph, int (*fn)(void *ctx), void *ctx)
{
	int r, ended;

	if (!fn)
		return -EINVAL;
	r = hyphae_batch_begin(graph);
	if (r)
		return r;
	r = fn(ctx);
	ended = hyphae_batch_end(graph);
	return r ? r : ended;
}

static bool has_writes(const struct hy_graph *g, const struct hy_batch *batch)
{
	if (g->busy & BUSY_BARE)
		return g->bare_at != batch->log.bare;
	return batch->log.count;
}

static int settle_locked(struct hy_graph *g)
{
	struct hy_thread *t = hy_thread_of(g);
	struct hy_batch *batch = batch_of(g, t);
	int r = 0;

	if (hy_guarded(g) || hy_drains(g) || (batch && batch->frame))
		return -EBUSY;
	if (batch && has_writes(g, batch)) {
		/* Outside its own batch, as at its end. */
		close_batch(g, t, batch);
		r = flush_batch(g, batch);
		batch->pass = pass_of_batch(g);
		probe_batch(g, batch->pass); /* of what is still to come */
		open_batch(g, t, batch);
	}
	while (hy_drained(g))
		hy_wait_idle(g);
	if (hy_posts_waiting(g) && hy_drain_begin(g)) {
		int drained = hy_drain_end(g, 1);

		r = r ? r : drained;
	}
	return r;
}

int hyphae_settle(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	int r;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	r = settle_locked(g);
	hy_unlock(g);
	return r;
}
