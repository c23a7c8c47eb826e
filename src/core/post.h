/* SPDX-License-Identifier: MIT */
/*
 * Writes that wait until somebody propagates; see hyphae/post.h.
 *
 * Threads that post have nothing to do with the graph's lock, nor with any
 * other state of a graph that may be single-threaded.  What they read is the
 * handle's slot (its id, and of its cell the type and flags, of which those
 * that matter never change) and the chunk's graph; what they write lies in
 * `struct hy_posts`, under its own lock, or under none at all for posters; but
 * the first one leads to it (`posts`) and leaves a mark for writes (`posted`).
 * Lock order: a graph's lock, then that of its posts.
 */
#ifndef HY_POST_H
#define HY_POST_H

#include "core/sync.h"

/* One a cell. */
struct hy_post {
	struct hyphae_cell *cell;
	uint64_t id; /* all bits of it: the handle has but 16 */
	const struct hyphae_type *type;
	uint64_t word;
	struct hy_error *error;
	uint32_t what; /* LOG_..., at most one end */
	uint32_t next; /* in its bucket: index + 1, or 0 */
};

/* Posts by the id of their cell.  As many buckets as there is room. */
struct hy_post_table {
	struct hy_post *posts;
	uint32_t *buckets; /* the first in each: index + 1, or 0 */
	size_t count, capacity;
};

/*
 * What waits lies in the storage of a graph that has one.  This itself does
 * not, nor do posters: they are there until the last poster is given back, and
 * by then the graph may be gone and its storage another's.
 */
struct hy_posts {
	struct hy_graph *graph; /* NULL when it is gone */
	uint32_t refs;		/* the graph's, and one a poster */
	int fd;			/* an eventfd, or -1 */
	pthread_mutex_t lock;	/* of what follows, down to `sweep` */
	bool told;		/* the eventfd was written for the table */
	struct hy_post_table table;
	size_t sweep;		       /* what is looked at next: append() */
	struct hyphae_poster *pending; /* posters with a value */
	uint64_t posted, replaced, applied, refused;
	/* Of whoever takes them, with the graph's lock: */
	struct hy_post_table taken;
	struct hy_log log;
	bool wanted; /* a dispatch left it to the drainer */
	uint32_t posters;
};

/* Where there are some; another thread may just find that it came too late. */
static inline struct hy_posts *hy_posts(const struct hy_graph *g)
{
	return load_relaxed(&g->posts);
}

/* The graph's lock is held. */
static inline bool hy_posts_waiting(const struct hy_graph *g)
{
	struct hy_posts *p = load_acquire(&g->posts);

	return unlikely(p != NULL) &&
	       (load_relaxed(&p->table.count) || load_relaxed(&p->pending) ||
		p->log.count);
}

/* Is anything left to do after a write to a graph that nobody else drains? */
static inline bool hy_anything_left(const struct hy_graph *g)
{
	return unlikely(load_relaxed(&g->unfinished)) &&
	       (g->left || hy_posts_waiting(g));
}

/*
 * Shall a drainer take them?  `write`: it is one of a write, and has time.
 */
static inline bool hy_posts_due(const struct hy_graph *g, bool write)
{
	return hy_posts_waiting(g) && (write || hy_posts(g)->wanted);
}

/*
 * Move what waits into `posts->log`, for the next wave.  For the
 * drainer; the lock is let go of around drop functions.  -ENOMEM: it still waits.
 */
int hy_posts_take(struct hy_graph *g);

/*
 * Apply what waits as one wave, or leave it to the thread that propagates.
 * Returns what hyphae_batch_end() returns.
 */
int hy_posts_flush(struct hy_graph *g);

/*
 * An eventfd that is readable while posts wait (and once in a while when none
 * does).  The graph closes it.  -errno.
 */
int hy_post_fd(struct hy_graph *g);

/* The graph goes; its lock is held, and let go of around drop functions. */
void hy_posts_close(struct hy_graph *g);

#endif
