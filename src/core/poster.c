/* SPDX-License-Identifier: MIT */
/* Posters: what a signal handler may post through. */
#include "core/poster.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/label.h"
#include "core/release.h"
#include "core/value.h"

/* With the graph's lock; the cell may have gone since it was looked at. */
static int bind(struct hy_graph *g, struct hyphae_poster *poster)
{
	struct hy_cell *c = hy_cell(poster->cell);
	struct hy_posts *posts;

	if (!c || c->flags & F_DEAD)
		return -ESTALE;
	if (c->type != poster->type)
		return -EINVAL;
	posts = hy_posts_of(g);
	if (!posts || !hy_cold_made(c))
		return -ENOMEM;
	__atomic_add_fetch(&posts->refs, 1, __ATOMIC_RELAXED);
	posts->posters++;
	poster->posts = posts;
	poster->id = c->id;
	c->refs++;
	return 0;
}

struct hyphae_poster *hyphae_poster_new(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);
	const struct hyphae_type *type = c ? load_relaxed(&c->type) : NULL;
	int r = hy_post_check(handle, type);
	struct hyphae_poster *poster;
	struct hy_graph *g;

	if (r == -ESHUTDOWN) /* that shows when the value's turn comes */
		r = 0;
	if (!r && hy_type_boxed(type))
		r = -EINVAL;
	if (r) {
		errno = -r;
		return NULL;
	}
	poster = hy_zalloc(sizeof(*poster));
	if (!poster) {
		errno = ENOMEM;
		return NULL;
	}
	poster->cell = handle;
	poster->type = type;
	g = hy_graph_of(c);
	hy_lock(g);
	r = bind(g, poster);
	hy_unlock(g);
	if (r) {
		hy_free(poster);
		errno = -r;
		return NULL;
	}
	return poster;
}

/* Whoever reads the list sees this and what was stored before. */
static void push(struct hy_posts *posts, struct hyphae_poster *poster)
{
	struct hyphae_poster *first = load_relaxed(&posts->pending);

	do
		poster->next = first;
	while (!__atomic_compare_exchange_n(&posts->pending, &first, poster,
					    true, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
}

/* Its value waits: take the list apart and put the others back. */
static void withdraw(struct hy_posts *posts, struct hyphae_poster *poster)
{
	struct hyphae_poster *list, *next;

	/* For who asks whether something waits: hy_post_fd(). */
	pthread_mutex_lock(&posts->lock);
	list = __atomic_exchange_n(&posts->pending, NULL, __ATOMIC_SEQ_CST);
	for (; list; list = next) {
		next = list->next;
		if (list != poster)
			push(posts, list);
	}
	pthread_mutex_unlock(&posts->lock);
	__atomic_add_fetch(&posts->refused, 1, __ATOMIC_RELAXED);
}

void hyphae_poster_free(struct hyphae_poster *poster)
{
	struct hy_posts *posts = poster ? poster->posts : NULL;
	struct hy_graph *g = posts ? load_acquire(&posts->graph) : NULL;

	if (!poster)
		return;
	if (g) {
		hy_lock(g);
		if (load_acquire(&poster->queued))
			withdraw(posts, poster);
		posts->posters--;
		hy_cell_put(g, hy_cell(poster->cell));
		hy_bury(g);
		hy_unlock(g);
	}
	hy_free(poster);
	hy_posts_put(posts);
}

static int post_word(struct hyphae_poster *poster,
		     const struct hyphae_type *type, uint64_t word)
{
	struct hy_posts *posts;
	int saved = errno;

	if (!poster || poster->type != type)
		return -EINVAL;
	posts = poster->posts;
	if (!load_acquire(&posts->graph))
		return -ESTALE;
	__atomic_add_fetch(&posts->posted, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&poster->word, word, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&poster->queued, 1, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(&poster->replaced, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&posts->replaced, 1, __ATOMIC_RELEASE);
		return 0;
	}
	push(posts, poster);
	hy_posts_wake(posts);
	errno = saved;
	return 0;
}

int hyphae_poster_post(struct hyphae_poster *poster,
		       const struct hyphae_type *type, const void *value)
{
	if (!poster || poster->type != type || !value)
		return -EINVAL;
	return post_word(poster, type, hy_word_of(type, value));
}

int hyphae_poster_post_int64(struct hyphae_poster *poster, int64_t value)
{
	return hyphae_poster_post(poster, &hyphae_int64, &value);
}

int hyphae_poster_post_double(struct hyphae_poster *poster, double value)
{
	return hyphae_poster_post(poster, &hyphae_double, &value);
}

int hyphae_poster_post_bool(struct hyphae_poster *poster, bool value)
{
	return hyphae_poster_post(poster, &hyphae_bool, &value);
}

int hyphae_poster_post_pointer(struct hyphae_poster *poster, void *value)
{
	return hyphae_poster_post(poster, &hyphae_pointer, &value);
}

uint64_t hyphae_poster_replaced(const struct hyphae_poster *poster)
{
	return poster ? load_relaxed(&poster->replaced) : 0;
}
