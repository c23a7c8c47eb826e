/* SPDX-License-Identifier: MIT */
#include "core/post.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/label.h"
#include "core/log.h"
#include "core/poster.h"
#include "core/release.h"
#include "core/value.h"

static void count(uint64_t *counter, uint64_t n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* ---- made when it is first needed ------------------------------------- */

struct hy_posts *hy_posts_of(struct hy_graph *g)
{
	struct hy_posts *p = load_acquire(&g->posts), *none = NULL;

	if (p || g->freeing)
		return p;
	p = hy_zalloc(sizeof(*p));
	if (!p)
		return NULL;
	/* First, so that it is seen by whoever knows of a post. */
	store_relaxed(&g->posted, true);
	p->graph = g;
	p->refs = 1;
	p->fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	if (__atomic_compare_exchange_n(&g->posts, &none, p, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return p;
	hy_posts_put(p); /* another thread was faster */
	return none;
}

void hy_posts_put(struct hy_posts *p)
{
	if (__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (p->fd >= 0)
		close(p->fd);
	pthread_mutex_destroy(&p->lock);
	hy_free(p);
}

void hy_posts_wake(struct hy_posts *p)
{
	int fd = load_acquire(&p->fd);

	if (fd >= 0)
		eventfd_write(fd, 1);
}

int hy_post_fd(struct hy_graph *g)
{
	struct hy_posts *p = hy_posts_of(g);
	int fd;

	if (!p)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	fd = p->fd;
	if (fd < 0) {
		fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		else /* a poster looks at it after it has put its value there */
			__atomic_store_n(&p->fd, fd, __ATOMIC_SEQ_CST);
		if (fd >= 0 && (p->table.count ||
				__atomic_load_n(&p->pending, __ATOMIC_SEQ_CST)))
			eventfd_write(fd, 1);
	}
	pthread_mutex_unlock(&p->lock);
	return fd;
}

/* ---- the table ---------------------------------------------------------- */

/* What a table gave up; to be dropped without the lock. */
struct given_up {
	const struct hyphae_type *type;
	uint64_t word;
	struct hy_error *error;
	bool boxed;
};
#define SWEEP 2
struct left_over {
	struct given_up items[SWEEP + 1];
	unsigned int count;
};

static void leave(struct left_over *left, const struct hyphae_type *type,
		  uint64_t word, uint32_t what, struct hy_error *error)
{
	bool boxed = what & LOG_VALUE && hy_type_boxed(type);

	if (boxed || error)
		left->items[left->count++] =
			(struct given_up){type, word, error, boxed};
}

/* The state of a single-threaded graph is not for us: no guard. */
static struct hy_graph *guard_of(struct hy_graph *g)
{
	return hy_shared(g) ? g : NULL;
}

static void drop_left_over(struct hy_graph *guard, struct left_over *left)
{
	for (unsigned int i = 0; i < left->count; i++) {
		struct given_up *item = &left->items[i];

		if (item->boxed)
			hy_box_unref(guard, item->type, hy_box_of(item->word));
		hy_error_unref(item->error);
	}
}

static uint32_t *bucket(const struct hy_post_table *t, uint64_t id)
{
	return &t->buckets[(id * 0x9e3779b97f4a7c15u >> 32) &
			   (t->capacity - 1)];
}

static struct hy_post *find(const struct hy_post_table *t, uint64_t id)
{
	uint32_t at = t->count ? *bucket(t, id) : 0;

	while (at && t->posts[at - 1].id != id)
		at = t->posts[at - 1].next;
	return at ? &t->posts[at - 1] : NULL;
}

/* The link that points at the post with this index. */
static uint32_t *link_to(const struct hy_post_table *t, size_t at)
{
	uint32_t *link = bucket(t, t->posts[at].id);

	while (*link != at + 1)
		link = &t->posts[*link - 1].next;
	return link;
}

/* The last one takes its place. */
static void take_out(struct hy_post_table *t, size_t at)
{
	size_t last = t->count - 1;

	*link_to(t, at) = t->posts[at].next;
	if (at != last) {
		*link_to(t, last) = (uint32_t)at + 1;
		t->posts[at] = t->posts[last];
	}
	store_relaxed(&t->count, last);
}

static bool grow(struct hy_post_table *t, struct hy_region *region)
{
	size_t room = t->capacity ? 2 * t->capacity : 8;
	uint32_t *buckets;
	struct hy_post *posts;

	posts = hy_grow_in(region, t->posts, room * sizeof(*posts));
	if (!posts)
		return false;
	t->posts = posts; /* larger than `capacity` says, if the next fails */
	buckets = hy_zalloc_in(region, room * sizeof(*buckets));
	if (!buckets)
		return false;
	hy_free(t->buckets);
	t->buckets = buckets;
	t->capacity = room;
	for (size_t i = 0; i < t->count; i++) {
		uint32_t *first = bucket(t, posts[i].id);

		posts[i].next = *first;
		*first = (uint32_t)i + 1;
	}
	return true;
}

static bool gone(const struct hy_post *post)
{
	struct hy_cell *c = hy_cell(post->cell);

	return !c || load_relaxed(&c->id) != post->id;
}

/*
 * Cells go while their posts wait.  So that the table stays in proportion to
 * the cells there are, each new post looks at two old ones.
 */
static void sweep(struct hy_posts *p, struct left_over *left)
{
	struct hy_post_table *t = &p->table;

	for (int i = 0; i < SWEEP && t->count; i++) {
		struct hy_post post;

		if (p->sweep >= t->count)
			p->sweep = 0;
		post = t->posts[p->sweep];
		if (!gone(&post)) {
			p->sweep++;
			continue;
		}
		take_out(t, p->sweep);
		leave(left, post.type, post.word, post.what, post.error);
		count(&p->refused, (uint64_t)__builtin_popcount(post.what));
	}
}

static struct hy_post *append(struct hy_posts *p, struct hyphae_cell *cell,
			      uint64_t id, const struct hyphae_type *type,
			      struct left_over *left)
{
	struct hy_post_table *t = &p->table;
	struct hy_post *post;
	uint32_t *first;

	sweep(p, left);
	if (t->count == t->capacity && !grow(t, p->graph->region))
		return NULL;
	post = &t->posts[t->count];
	first = bucket(t, id);
	*post = (struct hy_post){
		.cell = cell, .id = id, .type = type, .next = *first};
	store_relaxed(&t->count, t->count + 1);
	*first = (uint32_t)t->count;
	return post;
}

/* The lock of the posts is held. */
static int put(struct hy_posts *p, struct hyphae_cell *cell, uint64_t id,
	       const struct hyphae_type *type, uint32_t what, uint64_t word,
	       struct hy_error *error, struct left_over *left)
{
	struct hy_post *post = find(&p->table, id);

	if (post && post->what & (LOG_COMPLETE | LOG_FAIL))
		return -ESHUTDOWN;
	if (!post) {
		post = append(p, cell, id, type, left);
		if (!post)
			return -ENOMEM;
	}
	count(&p->posted, 1);
	if (what & post->what) { /* a value that replaces one */
		leave(left, type, post->word, LOG_VALUE, NULL);
		count(&p->replaced, 1);
	}
	post->what |= what;
	if (what == LOG_VALUE)
		post->word = word;
	else
		post->error = error;
	return 0;
}

/* Takes the word or the error, also when it fails. */
static int post(struct hyphae_cell *handle, const struct hyphae_type *type,
		uint32_t what, uint64_t word, struct hy_error *error)
{
	struct hy_cell *c = hy_cell_place(handle);
	struct hy_graph *g = hy_graph_of(c);
	uint64_t id = load_relaxed(&c->id);
	bool over = hy_handle(c, id, HY_TAG_CELL) != handle || g->freeing;
	struct hy_posts *p = over ? NULL : hy_posts_of(g);
	struct left_over left = {.count = 0};
	bool wake = false;
	int r = over ? -ESTALE : -ENOMEM;

	if (p) {
		pthread_mutex_lock(&p->lock);
		r = put(p, handle, id, type, what, word, error, &left);
		wake = r == 0 && !p->told;
		p->told |= wake;
		pthread_mutex_unlock(&p->lock);
	}
	if (r)
		leave(&left, type, word, what, error);
	if (wake)
		hy_posts_wake(p);
	drop_left_over(guard_of(g), &left);
	return r;
}

/* ---- posting -------------------------------------------------------------- */

int hy_post_check(const struct hyphae_cell *handle,
		  const struct hyphae_type *type)
{
	struct hy_cell *c = hy_cell(handle);
	uint32_t flags;

	if (!c)
		return hy_bad_handle(handle);
	flags = load_relaxed(&c->flags);
	if (!type || load_relaxed(&c->type) != type || flags & F_DERIVED)
		return -EINVAL;
	if (flags & F_DEAD)
		return -ESTALE;
	return flags & F_ENDED ? -ESHUTDOWN : 0;
}

/* As hy_word_make(), with the box where the graph has its own. */
static int make_word(struct hy_graph *g, const struct hyphae_type *type,
		     const void *value, uint64_t *ret_word)
{
	struct hy_box *box = NULL;
	int r;

	if (hy_type_boxed(type)) {
		box = hy_box_new(g, type);
		if (!box)
			return -ENOMEM;
	}
	r = hy_word_make(guard_of(g), type, value, box, ret_word);
	if (r)
		hy_free(box);
	return r;
}

int hyphae_cell_post(struct hyphae_cell *handle, const struct hyphae_type *type,
		     const void *value)
{
	int r = hy_post_check(handle, type);
	struct left_over left = {.count = 0};
	struct hy_graph *guard;
	uint64_t word;

	if (r)
		return r;
	if (!value)
		return -EINVAL;
	guard = guard_of(hy_graph_of(hy_cell_place(handle)));
	r = make_word(hy_graph_of(hy_cell_place(handle)), type, value, &word);
	if (r)
		return r;
	if (hy_cell(handle))
		return post(handle, type, LOG_VALUE, word, NULL);
	/* type->copy released the cell, or freed a single-threaded graph. */
	leave(&left, type, word, LOG_VALUE, NULL);
	drop_left_over(guard, &left);
	return -ESTALE;
}

int hyphae_cell_post_complete(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);
	int r = hy_post_check(handle, c ? load_relaxed(&c->type) : NULL);

	return r ? r
		 : post(handle, load_relaxed(&c->type), LOG_COMPLETE, 0, NULL);
}

int hyphae_cell_post_fail(struct hyphae_cell *handle, int code,
			  const char *message)
{
	struct hy_cell *c = hy_cell(handle);
	int r = hy_post_check(handle, c ? load_relaxed(&c->type) : NULL);
	struct hy_error *error;

	if (r)
		return r;
	if (code >= 0 || code < -HYPHAE_ERRNO_MAX)
		return -EINVAL;
	error = hy_error_new_in(hy_graph_of(c)->region, code, message);
	if (error->code == -ENOMEM && code != -ENOMEM) {
		hy_error_unref(error);
		return -ENOMEM;
	}
	return post(handle, load_relaxed(&c->type), LOG_FAIL, 0, error);
}

int hyphae_int64_post(struct hyphae_cell *cell, int64_t value)
{
	return hyphae_cell_post(cell, &hyphae_int64, &value);
}

int hyphae_double_post(struct hyphae_cell *cell, double value)
{
	return hyphae_cell_post(cell, &hyphae_double, &value);
}

int hyphae_bool_post(struct hyphae_cell *cell, bool value)
{
	return hyphae_cell_post(cell, &hyphae_bool, &value);
}

int hyphae_pointer_post(struct hyphae_cell *cell, void *value)
{
	return hyphae_cell_post(cell, &hyphae_pointer, &value);
}

int hyphae_string_post(struct hyphae_cell *cell, const char *text)
{
	return hyphae_cell_post(cell, &hyphae_string, &text);
}

int hyphae_graph_post_counts(const struct hyphae_graph *handle,
			     struct hyphae_post_counts *ret_counts)
{
	struct hy_graph *g = hy_graph(handle);
	struct hyphae_post_counts counts = {.posted = 0};
	struct hy_posts *p;

	if (!g)
		return hy_bad_handle(handle);
	if (!ret_counts)
		return -EINVAL;
	p = load_acquire(&g->posts);
	if (p) {
		counts.replaced = load_acquire(&p->replaced);
		counts.applied = load_acquire(&p->applied);
		counts.refused = load_acquire(&p->refused);
		/* Last, so that the others are in it. */
		counts.posted = load_acquire(&p->posted);
		counts.waiting = counts.posted - counts.replaced -
				 counts.applied - counts.refused;
	}
	*ret_counts = counts;
	return 0;
}

/* ---- taking --------------------------------------------------------------- */

/* One part of a post; false if the cell refuses it.  There is room. */
static bool accepted(struct hy_graph *g, struct hyphae_cell *handle,
		     uint64_t id, uint32_t what, uint64_t word,
		     struct hy_error *error)
{
	struct hy_posts *p = hy_posts(g);
	struct hy_cell *c = hy_cell(handle);
	uint64_t replaced = p->log.coalesced;
	bool ok = c && c->id == id && !(c->flags & (F_DEAD | F_ENDED)) &&
		  hy_log_put(g, &p->log, c, what, word, error) == 0;

	count(&p->replaced, p->log.coalesced - replaced);
	count(ok ? &p->applied : &p->refused,
	      1 - (p->log.coalesced - replaced));
	return ok;
}

static void take_posts(struct hy_graph *g, struct hy_post_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct hy_post *post = &t->posts[i];
		uint32_t end = post->what & (LOG_COMPLETE | LOG_FAIL);

		*bucket(t, post->id) = 0;
		if (post->what & LOG_VALUE &&
		    !accepted(g, post->cell, post->id, LOG_VALUE, post->word,
			      NULL) &&
		    hy_type_boxed(post->type))
			hy_box_put(g, post->type, hy_box_of(post->word));
		if (end &&
		    !accepted(g, post->cell, post->id, end, 0, post->error))
			hy_error_unref(post->error);
	}
	t->count = 0;
}

/*
 * They are in the list until here: drop functions of what was refused may have
 * made some, or freed some.
 */
static int take_posters(struct hy_graph *g)
{
	struct hyphae_poster *first = NULL, *next, *pending;
	struct hy_posts *p = hy_posts(g);

	if (!hy_log_room(g, &p->log, p->posters)) {
		hy_posts_wake(p);
		return p->log.count ? 0 : -ENOMEM;
	}
	pending = __atomic_exchange_n(&p->pending, NULL, __ATOMIC_SEQ_CST);
	for (; pending; pending = next) { /* oldest first */
		next = pending->next;
		pending->next = first;
		first = pending;
	}
	for (; first; first = next) {
		uint64_t word;

		next = first->next;
		word = hy_poster_read(first);
		accepted(g, first->cell, first->id, LOG_VALUE, word, NULL);
	}
	return 0;
}

/*
 * The file descriptor is read before posts are taken: what comes after that
 * makes it readable again.
 */
static void hush(struct hy_posts *p)
{
	eventfd_t ignored;

	if (p->fd >= 0)
		eventfd_read(p->fd, &ignored);
	p->told = false;
}

/* Room in the log for all, and in their cells to note that they are there. */
static bool room_for_posts(struct hy_graph *g)
{
	struct hy_posts *p = hy_posts(g);

	/* Two: an event's end is an entry of its own. */
	if (!hy_log_room(g, &p->log, 2 * p->table.count + p->posters))
		return false;
	for (size_t i = 0; i < p->table.count; i++) {
		const struct hy_post *post = &p->table.posts[i];
		struct hy_cell *c = hy_cell(post->cell);

		if (c && c->id == post->id && !hy_cold_made(c))
			return false;
	}
	return true;
}

int hy_posts_take(struct hy_graph *g)
{
	struct hy_posts *p = hy_posts(g);
	struct hy_post_table empty;

	if (p->log.count)
		return 0;
	pthread_mutex_lock(&p->lock);
	if (!room_for_posts(g)) {
		pthread_mutex_unlock(&p->lock);
		hy_posts_wake(p);
		return -ENOMEM;
	}
	hush(p);
	empty = p->taken;
	p->taken = p->table;
	p->table = empty;
	pthread_mutex_unlock(&p->lock);
	p->wanted = false;
	take_posts(g, &p->taken);
	return take_posters(g);
}

/*
 * Another thread propagates, or a callback of ours runs: what waits is taken
 * at the end of that.  Until then nobody has to come for it again.
 */
static void leave_to_drainer(struct hy_posts *p)
{
	pthread_mutex_lock(&p->lock);
	hush(p);
	pthread_mutex_unlock(&p->lock);
	p->wanted = true;
}

static int flush_locked(struct hy_graph *g)
{
	int r, drained;

	if (hy_guarded(g))
		return -EPERM;
	if (!hy_posts_waiting(g))
		return 0;
	if (!hy_drain_begin(g)) {
		leave_to_drainer(hy_posts(g));
		return hy_take_over(g);
	}
	r = hy_posts_take(g);
	drained = hy_drain_end(g, r ? 0 : 1);
	return r ? r : drained;
}

int hy_posts_flush(struct hy_graph *g)
{
	int r;

	hy_lock(g);
	r = flush_locked(g);
	hy_unlock(g);
	return r;
}

static void table_done(struct hy_post_table *t)
{
	hy_free(t->posts);
	hy_free(t->buckets);
	*t = (struct hy_post_table){.count = 0};
}

void hy_posts_close(struct hy_graph *g)
{
	struct hy_posts *p = hy_posts(g);

	if (!p)
		return;
	store_release(&p->graph, NULL);
	for (size_t i = 0; i < p->table.count; i++) {
		struct hy_post *post = &p->table.posts[i];

		if (post->what & LOG_VALUE && hy_type_boxed(post->type))
			hy_box_put(g, post->type, hy_box_of(post->word));
		hy_error_unref(post->error);
	}
	p->table.count = 0;
	hy_log_clear(g, &p->log);
	table_done(&p->table);
	table_done(&p->taken);
	hy_log_done(&p->log);
	g->posts = NULL;
	hy_posts_put(p);
}
