/* SPDX-License-Identifier: MIT */
/*
 * Logs of writes that wait for their wave: of a batch, of subscribers (the
 * next wave), of other threads (the inbox).  One entry a cell; a later value
 * replaces an earlier one.  The graph's lock is held in all of these.
 */
#ifndef HY_LOG_H
#define HY_LOG_H

#include "core/value.h"

/* The cell's entry, or NULL.  No log of the graph is bare. */
struct hy_log_entry *hy_log_find(const struct hy_log *log,
				 const struct hy_cell *c);

/* Room for so many more entries, and for a flush of them. */
bool hy_log_room(struct hy_graph *g, struct hy_log *log, size_t more);

/*
 * Add `what` (one of LOG_...) with its word or error, which the log takes
 * unless it fails.  -ENOMEM, or -ESHUTDOWN after an end in the same log.
 */
int hy_log_put(struct hy_graph *g, struct hy_log *log, struct hy_cell *c,
	       uint32_t what, uint64_t word, struct hy_error *error);

/*
 * The same for the word of a plain cell, as long as it is nothing special:
 * there is room, and what the cell has there is a value.  False: it is.
 */
bool hy_log_put_plain(struct hy_graph *g, struct hy_log *log, struct hy_cell *c,
		      uint64_t word);

/* The first entry is about to come: what cells note of the log is new. */
static inline void hy_log_begin(struct hy_graph *g, struct hy_log *log)
{
	if (unlikely(!++g->log_epoch)) /* 0 means unknown */
		g->log_epoch = 1;
	log->epoch = g->log_epoch;
}

/*
 * ---- bare logs ----
 *
 * The log of a batch of a graph without locks begins bare: it is an array of
 * cells and words, and all that is known of a write otherwise is F_PENDING in
 * its cell.  That is enough for values of plain cells, each written once, which
 * nobody asks for before the batch ends.  When anything else comes, hy_log_note()
 * makes entries of them first, with all that belongs to these.
 *
 * A graph has at most one bare log, of a batch that was opened while nothing
 * was under way.  No function of the user runs from the end of the batch until
 * its log has been emptied.
 */

/* What a cell must not be that a bare log shall hold. */
#define F_NOT_BARE                                                             \
	(F_DERIVED | F_ENDED | F_DEAD | F_EVENT | F_EQUAL | F_BOXED | F_PENDING)

/* Where the first goes, of an empty log. */
static inline void hy_log_bare_room(struct hy_graph *g, struct hy_log *log)
{
	g->bare_at = log->bare;
	g->bare_end = log->bare + log->capacity;
}

/* The log knows what it holds, and the graph has no bare one any more. */
static inline void hy_log_close_bare(struct hy_graph *g, struct hy_log *log)
{
	log->count = (size_t)(g->bare_at - log->bare);
	log->writes = log->count + log->coalesced;
	log->is_bare = true;
	hy_busy(g, 0, BUSY_BARE);
}

/* BUSY_BARE: what was written last, if it is the cell's; or NULL. */
static inline struct hy_bare *hy_log_last_bare(struct hy_graph *g,
					       const struct hy_cell *c)
{
	if (g->bare_at == g->solo.batches->log.bare || g->bare_at[-1].cell != c)
		return NULL;
	return g->bare_at - 1;
}

/* Room for one more; false without memory. */
bool hy_log_grow_bare(struct hy_graph *g);

/* Make entries of what a closed log holds. */
void hy_log_fill_in(struct hy_graph *g, struct hy_log *log);

/* The same of the bare log of the graph. */
void hy_log_note(struct hy_graph *g);

static inline void hy_log_noted(struct hy_graph *g)
{
	if (unlikely(g->busy & BUSY_BARE))
		hy_log_note(g);
}

/* BUSY_BARE.  False: there is no room, or the cell is not fit for it. */
static inline bool hy_log_add_bare(struct hy_graph *g, struct hy_cell *c,
				   uint64_t word)
{
	struct hy_bare *at = g->bare_at;
	uint32_t flags = c->flags;

	if (unlikely(at == g->bare_end || flags & F_NOT_BARE))
		return false;
	*at = (struct hy_bare){c, word};
	g->bare_at = at + 1;
	store_relaxed(&c->flags, flags | F_PENDING);
	return true;
}

/* Move all of `from` behind `to`, as if written there.  -ENOMEM: nothing. */
int hy_log_merge(struct hy_graph *g, struct hy_log *to, struct hy_log *from);

/*
 * Where the drainer puts a write of its own: into `next`, but behind what
 * another thread has left in the inbox for the same cell.  Whoever wrote first
 * may have told the drainer so, and the last write is the one that stays.
 */
struct hy_log *hy_log_of_drainer(struct hy_graph *g, const struct hy_cell *c);
/* The same for all that a batch holds: that is one wave. */
struct hy_log *hy_log_behind_batch(struct hy_graph *g,
				   const struct hy_log *batch);

/* One of several entries of the same cell. */
void hy_log_forget_one(const struct hy_log *log,
		       const struct hy_log_entry *entry);

/* The entry no longer counts as pending; its parts are the caller's. */
static inline void hy_log_forget(const struct hy_log *log,
				 const struct hy_log_entry *entry)
{
	struct hy_cell *c = entry->cell;
	struct hy_cold *cold = hy_cold_of(c);

	/* None: hy_log_fill_in() had no memory for it. */
	if (likely(!cold || cold->pending < 2)) {
		if (cold) /* it is in no log any more */
			cold->pending = 0;
		hy_flags_set(c, 0, F_PENDING);
	} else {
		hy_log_forget_one(log, entry);
	}
}

/* Give up all entries, their values and their cells. */
void hy_log_clear(struct hy_graph *g, struct hy_log *log);
/* All entries have been seen to: it is empty. */
static inline void hy_log_emptied(struct hy_log *log)
{
	log->count = log->events = 0;
	log->ends = log->is_bare = false;
	log->writes = log->coalesced = 0;
}

void hy_log_done(struct hy_log *log);

#endif
