/* SPDX-License-Identifier: MIT */
#include "core/log.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/label.h"
#include "core/release.h"

/*
 * A cell remembers its newest entry by the epoch of the log and the index; an
 * entry remembers the one before.  While logs forget a cell in the opposite
 * order, the newest is always known.  When one in the middle does, the cell's
 * epoch becomes 0, and its entries have to be searched for.
 */
struct hy_log_entry *hy_log_find(const struct hy_log *log,
				 const struct hy_cell *c)
{
	const struct hy_cold *cold;

	if (!(c->flags & F_PENDING) || !log->count)
		return NULL;
	cold = hy_cold_of(c);
	if (likely(cold && cold->pending)) {
		/* Epochs begin again after 2^32: it has to be the cell's. */
		if (cold->log_epoch == log->epoch &&
		    cold->log_index < log->count &&
		    log->entries[cold->log_index].cell == c)
			return &log->entries[cold->log_index];
		if (cold->pending < 2 && cold->log_epoch)
			return NULL;
	}
	for (size_t i = log->count; i-- > 0;)
		if (log->entries[i].cell == c)
			return &log->entries[i];
	return NULL;
}

/* I7: a flush has room to list every cell of its log. */
bool hy_log_room(struct hy_graph *g, struct hy_log *log, size_t more)
{
	struct hy_log_entry *entries;
	struct hy_cell **gathered;
	size_t want = log->count + more;

	/* In this order: no log has room for more. */
	gathered = hy_reserve_in(g->region, g->gathered, &g->gathered_capacity,
				 want, sizeof(struct hy_cell *));
	if (!gathered)
		return false;
	g->gathered = gathered;
	entries = hy_reserve_in(g->region, log->entries, &log->capacity, want,
				sizeof(*entries));
	if (!entries)
		return false;
	log->entries = entries;
	return true;
}

/* ---- bare logs ------------------------------------------------------------ */

bool hy_log_grow_bare(struct hy_graph *g)
{
	struct hy_log *log = &g->solo.batches->log;
	size_t count = (size_t)(g->bare_at - log->bare);

	/* That of the log stays 0: it is the graph that knows how many. */
	if (!hy_log_room(g, log, count + 1))
		return false;
	g->bare_at = log->bare + count;
	g->bare_end = log->bare + log->capacity;
	return true;
}

/* Last first: an entry is larger, and covers only what has been read. */
void hy_log_fill_in(struct hy_graph *g, struct hy_log *log)
{
	if (log->count)
		hy_log_begin(g, log);
	for (size_t i = log->count; i-- > 0;) {
		struct hy_bare bare = log->bare[i];
		struct hy_cell *c = bare.cell;
		struct hy_cold *cold = hy_cold_made(c);

		log->entries[i] = (struct hy_log_entry){
			.cell = c, .word = bare.word, .what = LOG_VALUE};
		c->refs++;
		if (!cold)
			continue; /* it is searched for */
		cold->pending = 1;
		cold->log_epoch = log->epoch;
		cold->log_index = (uint32_t)i;
	}
	log->is_bare = false;
}

void hy_log_note(struct hy_graph *g)
{
	struct hy_log *log = &g->solo.batches->log;

	hy_log_close_bare(g, log);
	hy_log_fill_in(g, log);
}

/* ---- entries --------------------------------------------------------------- */

/*
 * The cell has a cold part: hy_cold_made().  One that has none pending is
 * nevertheless in a log that was bare, if it is marked so.
 */
static ALWAYS_INLINE struct hy_log_entry *
append(struct hy_graph *g, struct hy_log *log, struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	struct hy_log_entry *entry = &log->entries[log->count];

	if (log == &g->next)
		g->left = true;

	if (log->count == 0)
		hy_log_begin(g, log);
	*entry = (struct hy_log_entry){.cell = c};
	if (unlikely(!cold->pending && c->flags & F_PENDING)) {
		cold->pending = 1;
		cold->log_epoch = 0;
	}
	if (cold->pending) {
		entry->older_epoch = cold->log_epoch;
		entry->older_index = cold->log_index;
	}
	c->refs++;
	cold->pending++;
	cold->log_epoch = log->epoch;
	cold->log_index = (uint32_t)log->count++;
	hy_flags_set(c, F_PENDING, 0);
	if (c->flags & F_EVENT)
		log->events++;
	return entry;
}

/*
 * Put into an entry what a write brings.  True if that replaces a box, which
 * is the caller's to give up, in *ret_old.
 */
static bool fill(struct hy_log *log, struct hy_log_entry *entry, uint32_t what,
		 uint64_t word, struct hy_error *error, uint64_t *ret_old)
{
	uint64_t old = entry->word;
	bool replaces = (what & LOG_VALUE) && (entry->what & LOG_VALUE);
	struct hy_cell *c = entry->cell;

	entry->what |= what;
	if (what & (LOG_COMPLETE | LOG_FAIL))
		log->ends = true;
	if (what & LOG_VALUE)
		entry->word = word;
	if (what & LOG_FAIL)
		entry->error = error;
	*ret_old = old;
	if (replaces)
		log->coalesced++;
	return replaces && c->flags & F_BOXED;
}

int hy_log_put(struct hy_graph *g, struct hy_log *log, struct hy_cell *c,
	       uint32_t what, uint64_t word, struct hy_error *error)
{
	struct hy_log_entry *entry;
	uint64_t old;

	hy_log_noted(g);
	entry = hy_log_find(log, c);
	if (entry && entry->what & (LOG_COMPLETE | LOG_FAIL))
		return -ESHUTDOWN;
	if (entry && c->flags & F_EVENT)
		entry = NULL; /* each emission is one of its own */
	if (!entry) {
		if (!hy_log_room(g, log, 1) || !hy_cold_made(c))
			return -ENOMEM;
		entry = append(g, log, c);
	}
	if (what & LOG_VALUE)
		log->writes++;
	if (fill(log, entry, what, word, error, &old))
		hy_box_put(g, c->type, hy_box_of(old));
	return 0;
}

bool hy_log_put_plain(struct hy_graph *g, struct hy_log *log, struct hy_cell *c,
		      uint64_t word)
{
	struct hy_log_entry *entry;

	hy_log_noted(g);
	if (c->flags & F_PENDING) {
		entry = hy_log_find(log, c);
		if (!entry || entry->what != LOG_VALUE)
			return false;
		log->coalesced++;
	} else {
		if (log->count == log->capacity || !hy_cold_of(c))
			return false;
		entry = append(g, log, c);
		entry->what = LOG_VALUE;
	}
	entry->word = word;
	log->writes++;
	return true;
}

/* Who was in a bare log may have none yet. */
static bool cold_parts_made(const struct hy_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		if (!hy_cold_made(log->entries[i].cell))
			return false;
	return true;
}

int hy_log_merge(struct hy_graph *g, struct hy_log *to, struct hy_log *from)
{
	if (from->count &&
	    (!hy_log_room(g, to, from->count) || !cold_parts_made(from)))
		return -ENOMEM;
	/* The lock is kept: `to` may be taken and flushed when it is not. */
	for (size_t i = 0; i < from->count; i++) {
		struct hy_log_entry *part = &from->entries[i];
		struct hy_log_entry *entry = NULL;
		uint64_t old = part->word;

		/* What comes after an event's end is dropped by the flush. */
		if (!(part->cell->flags & F_EVENT))
			entry = hy_log_find(to, part->cell);

		hy_log_forget(from, part);
		if (entry && entry->what & (LOG_COMPLETE | LOG_FAIL)) {
			/* Ended in between by another thread: too late. */
			if (!(part->cell->flags & F_BOXED))
				part->what = 0;
			continue;
		}
		if (!entry)
			entry = append(g, to, part->cell);
		part->what = fill(to, entry, part->what, part->word,
				  part->error, &old)
				     ? LOG_VALUE
				     : 0;
		part->error = NULL;
		part->word = old;
	}
	to->writes += from->writes;
	to->coalesced += from->coalesced;
	for (size_t i = 0; i < from->count; i++) {
		struct hy_log_entry *part = &from->entries[i];

		if (part->what & LOG_VALUE)
			hy_box_put(g, part->cell->type, hy_box_of(part->word));
		hy_error_unref(part->error);
		hy_cell_put(g, part->cell);
	}
	hy_log_emptied(from);
	return 0;
}

struct hy_log *hy_log_of_drainer(struct hy_graph *g, const struct hy_cell *c)
{
	return hy_log_find(&g->inbox, c) ? &g->inbox : &g->next;
}

struct hy_log *hy_log_behind_batch(struct hy_graph *g,
				   const struct hy_log *batch)
{
	for (size_t i = 0; g->inbox.count && i < batch->count; i++)
		if (hy_log_find(&g->inbox, batch->entries[i].cell))
			return &g->inbox;
	return &g->next;
}

void hy_log_forget_one(const struct hy_log *log,
		       const struct hy_log_entry *entry)
{
	struct hy_cold *cold = hy_cold_of(entry->cell);
	bool newest = cold->log_epoch == log->epoch &&
		      &log->entries[cold->log_index] == entry;

	cold->log_epoch = newest ? entry->older_epoch : 0;
	cold->log_index = entry->older_index;
	cold->pending--;
}

void hy_log_clear(struct hy_graph *g, struct hy_log *log)
{
	for (size_t i = 0; i < log->count; i++) {
		struct hy_log_entry entry = log->entries[i];
		struct hy_cell *c = entry.cell;

		/* Not to be found while its value's drop runs, unlocked. */
		hy_log_forget(log, &log->entries[i]);
		log->entries[i].cell = NULL;
		if (entry.what & LOG_VALUE && c->flags & F_BOXED)
			hy_box_put(g, c->type, hy_box_of(entry.word));
		hy_error_unref(entry.error);
		hy_cell_put(g, c);
	}
	hy_log_emptied(log);
}

void hy_log_done(struct hy_log *log)
{
	hy_free(log->entries);
}
