/* SPDX-License-Identifier: MIT */
/*
 * Logs of writes that wait for their wave: of a batch, of subscribers (the
 * next wave), of other threads (the inbox).  One entry a cell; a later value
 * replaces an earlier one.  The graph's lock is held in all of these.
 */
#ifndef HY_LOG_H
#define HY_LOG_H

#include "core/value.h"

/* The cell's entry, or NULL. */
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
 * The first of these of a cell that is in no log, into that of a batch, as long
 * as nothing has to be made for it.  False: hy_log_put_plain() may still know
 * how.
 */
static inline bool hy_log_add_plain(struct hy_graph *g, struct hy_log *log,
				    struct hy_cell *c, uint64_t word)
{
	struct hy_cold *cold = hy_cold_of(c);
	size_t at = log->count;

	if (unlikely(at == log->capacity || at >= g->gathered_capacity ||
		     !cold || c->flags & F_PENDING))
		return false;
	if (!at)
		hy_log_begin(g, log);
	log->entries[at] = (struct hy_log_entry){
		.cell = c, .word = word, .what = LOG_VALUE};
	log->count = at + 1;
	log->writes++;
	c->refs++;
	cold->pending = 1;
	cold->log_epoch = log->epoch;
	cold->log_index = (uint32_t)at;
	hy_flags_set(c, F_PENDING, 0);
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

	if (likely(cold->pending == 1)) { /* it is in no log any more */
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
	log->ends = false;
	log->writes = log->coalesced = 0;
}

void hy_log_done(struct hy_log *log);

#endif
