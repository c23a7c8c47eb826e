/* SPDX-License-Identifier: MIT */
/* What posts and posters share. */
#ifndef HY_POSTER_H
#define HY_POSTER_H

#include "core/post.h"

/*
 * The value lies in `word`; `queued` says that the poster is in the list of
 * its graph's posts.  Who posts stores the value and then sees to it that the
 * poster is queued; who takes it says that it is not queued and then reads
 * the value.  So the last value is never missed.
 */
struct hyphae_poster {
	struct hyphae_poster *next; /* queued */
	uint64_t word;
	uint32_t queued;
	uint64_t replaced;
	struct hyphae_cell *cell; /* holds a reference */
	uint64_t id;
	const struct hyphae_type *type;
	struct hy_posts *posts;
};

static inline uint64_t hy_poster_read(struct hyphae_poster *poster)
{
	__atomic_store_n(&poster->queued, 0, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&poster->word, __ATOMIC_SEQ_CST);
}

/* The graph's posts, made if they are not there; NULL without memory. */
struct hy_posts *hy_posts_of(struct hy_graph *g);
void hy_posts_put(struct hy_posts *posts);

/* Make the file descriptor readable.  Async-signal-safe, but for errno. */
void hy_posts_wake(struct hy_posts *posts);

/* 0, or why the cell takes no posts of the type. */
int hy_post_check(const struct hyphae_cell *handle,
		  const struct hyphae_type *type);

#endif
