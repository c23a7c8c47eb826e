/* SPDX-License-Identifier: MIT */
/* The public functions on one cell: make, read, write, end, name. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/drain.h"
#include "core/label.h"
#include "core/log.h"
#include "core/node.h"
#include "core/post.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/track.h"
#include "core/utf8.h"
#include "core/value.h"
#include "core/wave.h"

/* ---- make ---------------------------------------------------------------- */

static struct hyphae_cell *source_new(struct hy_graph *g,
				      const struct hyphae_type *type,
				      uint64_t word, uint32_t flags,
				      const char *site)
{
	struct hyphae_cell *handle = NULL;
	struct hy_cell *c;

	hy_lock(g);
	if (hy_scope_reserve(g)) {
		c = hy_cell_slot(g, HY_CHUNK_SOURCE, type, site);
		if (c) {
			store_relaxed(&c->word, word);
			hy_flags_set(c, flags, 0);
			handle = hy_cell_made(g, c, false);
			if (c->flags & F_BOXED && !(flags & F_NONE))
				hy_box_of(word)->home = handle;
		}
	}
	hy_unlock(g);
	if (!handle)
		errno = ENOMEM;
	return handle;
}

static NOINLINE struct hyphae_cell *new_slowly(struct hyphae_graph *graph,
					       const struct hyphae_type *type,
					       uint64_t word, const char *site)
{
	struct hy_graph *g = hy_graph(graph);

	if (!g) {
		errno = -hy_bad_handle(graph);
		return NULL;
	}
	return source_new(g, type, word, 0, site);
}

/* Without a lock, and without a block on the heap for each cell. */
#define ONE_THREAD (HYPHAE_SINGLE_THREAD | HYPHAE_HEAP_CELLS)

/* A value that is a word, of a type of ours that has no function for it. */
static ALWAYS_INLINE struct hyphae_cell *
new_plain(struct hyphae_graph *graph, const struct hyphae_type *type,
	  uint64_t word, const char *site)
{
	struct hy_graph *g = hy_graph(graph);
	const struct hy_label *label;
	struct hy_cell *c;

	if (unlikely(!g || (g->flags & ONE_THREAD) != HYPHAE_SINGLE_THREAD ||
		     hy_self.scope) ||
	    !(label = hy_cell_ready(g, HY_CHUNK_SOURCE, site)))
		return new_slowly(graph, type, word, site);
	c = hy_cell_take(g, HY_CHUNK_SOURCE, type, label, 0);
	store_relaxed(&c->word, word);
	store_relaxed(&c->height, 0);
	return hy_cell_hand_out(c, hy_id_take(g), false, hy_source_name);
}

struct hyphae_cell *hyphae_cell_new_at(struct hyphae_graph *graph,
				       const struct hyphae_type *type,
				       const void *initial, const char *site)
{
	struct hy_graph *g = hy_graph(graph);
	struct hyphae_cell *handle;
	uint64_t word;
	int r = 0;

	if (!g)
		r = hy_bad_handle(graph);
	else if (!initial || hy_type_check(type))
		r = -EINVAL;
	else
		r = hy_word_make(g, type, initial, NULL, &word);
	if (r) {
		errno = -r;
		return NULL;
	}
	handle = source_new(g, type, word, 0, site);
	if (!handle && hy_type_boxed(type)) {
		hy_box_unref(g, type, hy_box_of(word));
		errno = ENOMEM;
	}
	return handle;
}

struct hyphae_cell *hyphae_event_new_at(struct hyphae_graph *graph,
					const struct hyphae_type *type,
					const char *site)
{
	struct hy_graph *g = hy_graph(graph);
	int r = g ? hy_type_check(type) : hy_bad_handle(graph);

	if (r) {
		errno = -r;
		return NULL;
	}
	return source_new(g, type, 0, F_NONE | HY_EVENT_FLAGS, site);
}

struct hyphae_cell *hyphae_cell_ref(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);
	struct hyphae_cell *result = NULL;
	struct hy_graph *g;

	if (!c)
		return NULL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD) && hy_more_refs(c)) {
		hy_user_ref(c);
		result = handle;
	}
	hy_unlock(g);
	return result;
}

/* Give back the user's reference, with the lock. */
static int unref(struct hy_graph *g, struct hy_cell *c)
{
	uint32_t *users = hy_users(c);

	/* Not what followers, scopes and the like hold: yours are gone. */
	if (c->flags & F_DEAD || !*users)
		return -ESTALE;
	--*users;
	hy_cell_give_back(g, c);
	hy_bury(g);
	return 0;
}

static NOINLINE int unref_slowly(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_graph *g;
	int r;

	if (!c)
		return handle ? -ESTALE : 0;
	g = hy_graph_of(c);
	hy_lock(g);
	r = hy_cell(handle) ? unref(g, c) : -ESTALE;
	hy_unlock(g);
	return r;
}

int hyphae_cell_unref(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);

	if (unlikely(!c) || !hy_goes_quietly(hy_graph_of(c), c))
		return unref_slowly(handle);
	/* And that is the user's? */
	if (c->flags & F_DERIVED)
		return likely(*hy_users_of_derived(c)) &&
				       hy_leaves_quietly(hy_derived_of(c))
			       ? hy_derived_go(hy_graph_of(c), hy_derived_of(c))
			       : unref_slowly(handle);
	return likely(*hy_users_of_source(c)) ? hy_source_go(hy_graph_of(c), c)
					      : unref_slowly(handle);
}

struct hyphae_cell *hy_cell_keep(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);

	if (!c)
		return NULL;
	c->refs++;
	hy_unlock(hy_graph_of(c));
	return handle;
}

void hy_cell_adopt(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);

	if (!c)
		return;
	--*hy_users(c);
	hy_unlock(hy_graph_of(c));
}

/* A reference that is the library's own; then the lock is let go of. */
static void unkeep_locked(struct hy_graph *g, struct hy_cell *c)
{
	hy_cell_give_back(g, c);
	hy_bury(g);
	hy_unlock(g);
}

void hy_cell_unkeep(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);

	if (c)
		unkeep_locked(hy_graph_of(c), c);
}

void hy_cell_undo(struct hyphae_cell *handle)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);
	struct hy_graph *g;

	if (!c)
		return;
	g = hy_graph_of(c);
	if (*hy_users(c)) {
		--*hy_users(c);
	} else if (!hy_scope_forget_cell(g, c)) {
		/* Its scope has been disposed. */
		hy_bury(g);
		hy_unlock(g);
		return;
	}
	unkeep_locked(g, c);
}

/* ---- write --------------------------------------------------------------- */

#define F_NO_FAST_WRITE (F_DERIVED | F_ENDED | F_DEAD)

/* What a fast write left to do: waves that subscribers asked for, the dead. */
static NOINLINE int finish_slowly(struct hy_graph *g, int r)
{
	int drained;

	g->pass_open = true;
	drained = hy_drain_end(g, 1);
	return drained ? drained : r;
}

/* A single-threaded graph that is idle: straight into the wave. */
static ALWAYS_INLINE int write_now(struct hy_graph *g, struct hy_cell *c,
				   const struct hyphae_type *type,
				   uint64_t word, bool watched)
{
	int r;

	g->busy = BUSY_DRAINING;
	g->pass = hy_pass_new(g);
	if (watched)
		hy_watch_pass_open(g);
	r = hy_notify(g, c, word, type, HYPHAE_VALUE);
	/* Whoever watches has left something to do: the end of the pass. */
	if (hy_anything_left(g))
		return finish_slowly(g, r);
	g->busy &= ~(uint32_t)BUSY_DRAINING;
	return r;
}

/* The same when somebody watches, or ids of passes are to be fetched. */
static NOINLINE int write_watched(struct hy_graph *g, struct hy_cell *c,
				  const struct hyphae_type *type, uint64_t word)
{
	return write_now(g, c, type, word, hy_watched());
}

/* The same cell once more; a loop may write it often. */
static bool write_again(struct hy_graph *g, struct hy_cell *c, uint64_t word)
{
	struct hy_bare *last = hy_log_last_bare(g, c);

	if (!last)
		return false;
	last->word = word;
	g->solo.batches->log.coalesced++;
	return true;
}

/* A write in a batch that is more than one to a log with room for it. */
static int log_write(struct hy_graph *g, struct hy_cell *c, uint64_t word,
		     bool *ret_done)
{
	*ret_done = !(c->flags & (F_NO_FAST_WRITE | F_EVENT));
	if (!*ret_done)
		return 0;
	if (g->busy & BUSY_BARE && !(c->flags & F_NOT_BARE))
		return hy_log_grow_bare(g) && hy_log_add_bare(g, c, word)
			       ? 0
			       : -ENOMEM;
	if (g->busy & BUSY_BARE && write_again(g, c, word))
		return 0;
	*ret_done = hy_log_put_plain(g, &g->solo.batches->log, c, word);
	return 0;
}

/* Inside a batch, and nothing else. */
static inline bool into_bare_log(struct hy_graph *g, struct hy_cell *c,
				 uint64_t word)
{
	return likely(g->busy == (BUSY_BATCH | BUSY_BARE)) &&
	       hy_log_add_bare(g, c, word);
}

static NOINLINE int write_otherwise(struct hy_graph *g, struct hy_cell *c,
				    struct hyphae_cell *handle,
				    const struct hyphae_type *type,
				    uint64_t word)
{
	bool done = false;
	int r = 0;

	if ((g->busy & ~(uint32_t)BUSY_BARE) == BUSY_BATCH)
		r = log_write(g, c, word, &done);
	return done ? r : hy_write(g, handle, type, LOG_VALUE, word, NULL);
}

/* Not just so.  Of the handle it gets `top`: the caller need not keep it. */
static NOINLINE int write_busy(struct hy_graph *g, struct hy_cell *c,
			       uintptr_t top, const struct hyphae_type *type,
			       uint64_t word)
{
	struct hyphae_cell *handle = hy_handle(c, top, HY_TAG_CELL);

	return write_otherwise(g, c, handle, type, word);
}

static ALWAYS_INLINE int write_word(struct hyphae_cell *handle,
				    const struct hyphae_type *type,
				    uint64_t word)
{
	struct hy_cell *c = hy_cell(handle);
	uintptr_t top = hy_top(handle);
	struct hy_graph *g;

	if (unlikely(!c))
		return hy_bad_handle(handle);
	if (unlikely(load_relaxed(&c->type) != type))
		return -EINVAL;
	/* Or the handle would be kept, to find the chunk by. */
	__asm__("" : "+r"(c));
	g = hy_graph_of(c);
	/* `busy` first: the flags of a shared graph's cell need its lock. */
	if (unlikely(g->busy) || unlikely(c->flags & F_NO_FAST_WRITE)) {
		if (into_bare_log(g, c, word))
			return 0;
		if (likely(g->busy & BUSY_SHARED))
			return hy_set_shared(g, c, top, type, word);
		return write_busy(g, c, top, type, word);
	}
	if (hy_watched() || unlikely(g->pass_next == g->pass_end))
		return write_watched(g, c, type, word);
	return write_now(g, c, type, word, false);
}

/* The value is copied into a box that the cell has to spare, if any. */
static int write_boxed(struct hy_graph *g, struct hyphae_cell *handle,
		       const struct hyphae_type *type, const void *value)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_box *box = NULL;
	bool alive;
	uint64_t word;
	int r;

	hy_lock(g);
	alive = hy_cell(handle) && !(c->flags & F_DEAD);
	if (alive)
		box = hy_box_take(c);
	hy_unlock(g);
	if (!box)
		return alive ? -ENOMEM : -ESTALE;
	r = hy_word_make(g, type, value, box, &word);
	if (r) {
		hy_free(box);
		return r;
	}
	return hy_write(g, handle, type, LOG_VALUE, word, NULL);
}

int hyphae_cell_set(struct hyphae_cell *handle, const struct hyphae_type *type,
		    const void *value)
{
	struct hy_cell *c = hy_cell(handle);

	if (!c)
		return hy_bad_handle(handle);
	if (!value || !type || load_relaxed(&c->type) != type)
		return -EINVAL;
	if (!hy_type_boxed(type))
		return write_word(handle, type, hy_word_of(type, value));
	return write_boxed(hy_graph_of(c), handle, type, value);
}

int hyphae_cell_complete(struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);

	if (!c)
		return hy_bad_handle(handle);
	return hy_write(hy_graph_of(c), handle, load_relaxed(&c->type),
			LOG_COMPLETE, 0, NULL);
}

int hyphae_cell_fail(struct hyphae_cell *handle, int code, const char *message)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_error *error;

	if (!c)
		return hy_bad_handle(handle);
	if (code >= 0 || code < -HYPHAE_ERRNO_MAX)
		return -EINVAL;
	error = hy_error_new_in(hy_graph_of(c)->region, code, message);
	if (error->code == -ENOMEM && code != -ENOMEM) {
		hy_error_unref(error);
		return -ENOMEM;
	}
	return hy_write(hy_graph_of(c), handle, load_relaxed(&c->type),
			LOG_FAIL, 0, error);
}

/* ---- read ---------------------------------------------------------------- */

/* What waits for it is what was written last. */
static bool read_bare(struct hy_graph *g, const struct hy_cell *c,
		      uint64_t *ret_word)
{
	const struct hy_bare *last = NULL;

	if (g->busy & BUSY_BARE)
		last = hy_log_last_bare(g, c);
	if (last)
		*ret_word = last->word;
	return last;
}

/*
 * What this thread sees in a cell: the value's word (with a reference on its
 * box), or an error code.  The lock is held.
 */
static int read_locked(struct hy_graph *g, struct hy_cell *c,
		       uint64_t *ret_word)
{
	struct hy_log_entry *entry = NULL;
	struct hy_batch *batch;

	if (c->flags & F_EVENT && !(c->flags & F_ERROR))
		return -ENODATA;
	/* Who is called again for it sees what the others were computed from. */
	if (c->flags & F_PENDING && !hy_guarded(g) && !hy_tracks(g)) {
		if (read_bare(g, c, ret_word))
			return 0;
		batch = hy_batch_of(g);
		if (batch)
			entry = hy_log_find(&batch->log, c);
		if (!entry)
			entry = hy_log_find(&g->inbox, c);
		if (!entry)
			entry = hy_log_find(&g->next, c);
	}
	if (entry && entry->what & LOG_FAIL)
		return entry->error->code;
	if (entry && entry->what & LOG_VALUE)
		*ret_word = entry->word;
	else if (c->flags & F_ERROR)
		return hy_error_of(c)->code;
	else if (c->flags & F_NONE)
		return -ENODATA;
	else
		*ret_word = c->word;
	if (c->flags & F_BOXED)
		hy_box_ref(hy_box_of(*ret_word));
	return 0;
}

static NOINLINE int read_slowly(const struct hyphae_cell *handle,
				const struct hyphae_type *type, void *ret_value)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_tracker *tracker;
	struct hy_graph *g;
	uint64_t word = 0;
	int r;

	if (!c)
		return hy_bad_handle(handle);
	if (load_relaxed(&c->type) != type || !ret_value)
		return -EINVAL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD)) {
		if (hy_tracked())
			hy_track_read(g, c);
		r = read_locked(g, c, &word);
	} else {
		r = -ESTALE;
	}
	hy_unlock(g);
	if (r)
		return r;
	tracker = hy_track_suspend();
	r = hy_word_copy(g, type, word, ret_value);
	hy_track_resume(tracker);
	if (hy_type_boxed(type))
		hy_box_unref(g, type, hy_box_of(word));
	return r;
}

#define F_SLOW_READ (F_NO_VALUE | F_PENDING | F_BOXED | F_DEAD | F_EVENT)

/*
 * The cell, if what it holds is its word, and as it lies there; and its flags.
 */
static inline struct hy_cell *plain_cell(const struct hyphae_cell *handle,
					 const struct hyphae_type *type,
					 uint32_t *ret_flags)
{
	struct hy_cell *c = hy_cell(handle);

	if (unlikely(!c || load_relaxed(&c->type) != type))
		return NULL;
	*ret_flags = load_relaxed(&c->flags);
	return unlikely(*ret_flags & F_SLOW_READ) ? NULL : c;
}

/*
 * Without the lock: a word is whole, and a cell that loses its value to an
 * error keeps a word that was a value of it.
 */
static inline int read_word(const struct hy_cell *c, size_t size,
			    void *ret_value)
{
	uint64_t word = load_acquire(&c->word);

	memcpy(ret_value, &word, size);
	return 0;
}

/* Not the next input of a tracked run, as far as that is known. */
static NOINLINE int read_otherwise(const struct hyphae_cell *handle,
				   const struct hyphae_type *type,
				   void *ret_value)
{
	uint32_t flags;
	struct hy_cell *c = plain_cell(handle, type, &flags);

	if (hy_tracked() && c && ret_value &&
	    hy_track_quickly(hy_self.tracker, c))
		return read_word(c, type->size, ret_value);
	return read_slowly(handle, type, ret_value);
}

static ALWAYS_INLINE int read_cell(const struct hyphae_cell *handle,
				   const struct hyphae_type *type, size_t size,
				   void *ret_value)
{
	uint32_t flags;
	struct hy_cell *c = plain_cell(handle, type, &flags);
	struct hy_tracker *t = hy_self.tracker;

	if (likely(c && ret_value && (!t || hy_track_expected(t, c, flags))))
		return read_word(c, size, ret_value);
	return read_otherwise(handle, type, ret_value);
}

int hyphae_cell_get(const struct hyphae_cell *handle,
		    const struct hyphae_type *type, void *ret_value)
{
	if (unlikely(!type))
		return read_slowly(handle, type, ret_value);
	return read_cell(handle, type, type->size, ret_value);
}

/* ---- the built-in types -------------------------------------------------- */

#define WORD_OF(value)                                                         \
	({                                                                     \
		uint64_t word_ = 0;                                            \
		memcpy(&word_, &(value), sizeof(value));                       \
		word_;                                                         \
	})

#define ACCESSORS(name, c_type)                                                \
	struct hyphae_cell *hyphae_##name##_new_at(                            \
		struct hyphae_graph *graph, c_type value, const char *site)    \
	{                                                                      \
		return new_plain(graph, &hyphae_##name, WORD_OF(value), site); \
	}                                                                      \
	int hyphae_##name##_set(struct hyphae_cell *cell, c_type value)        \
	{                                                                      \
		return write_word(cell, &hyphae_##name, WORD_OF(value));       \
	}                                                                      \
	int hyphae_##name##_get(const struct hyphae_cell *cell,                \
				c_type *ret_value)                             \
	{                                                                      \
		return read_cell(cell, &hyphae_##name, sizeof(c_type),         \
				 ret_value);                                   \
	}

ACCESSORS(int64, int64_t)
ACCESSORS(double, double)
ACCESSORS(bool, bool)
typedef void *pointer;
ACCESSORS(pointer, pointer)

struct hyphae_cell *hyphae_string_new_at(struct hyphae_graph *graph,
					 const char *text, const char *site)
{
	return hyphae_cell_new_at(graph, &hyphae_string, &text, site);
}

int hyphae_string_set(struct hyphae_cell *cell, const char *text)
{
	return hyphae_cell_set(cell, &hyphae_string, &text);
}

int hyphae_string_get(const struct hyphae_cell *cell, char **ret_text)
{
	return read_slowly(cell, &hyphae_string, ret_text);
}

/* ---- names and the like --------------------------------------------------- */

static HY_FRAME void probe_name(struct hy_cell *c)
{
	hy_probe_cell_name(c->id, c->name);
}

int hyphae_cell_set_name(struct hyphae_cell *handle, const char *name)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_label *label;
	struct hy_graph *g;
	size_t length;
	int r = -ESTALE;

	if (!c)
		return hy_bad_handle(handle);
	if (!name || !*name)
		return -EINVAL;
	length = strnlen(name, HYPHAE_NAME_MAX + 1);
	if (length > HYPHAE_NAME_MAX)
		return -ENAMETOOLONG;
	if (!hy_utf8_valid(name, length))
		return -EILSEQ;
	g = hy_graph_of(c);
	label = hy_label_new(g, name, length);
	if (!label)
		return -ENOMEM;
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD)) {
		hy_label_set(c, label);
		probe_name(c);
		r = 0;
	}
	hy_unlock(g);
	if (r)
		hy_free(label);
	return r;
}

int hyphae_cell_name(const struct hyphae_cell *handle, char *text, size_t size)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!c)
		return hy_bad_handle(handle);
	if (!text && size)
		return -EINVAL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD)) {
		size_t length = strlen(c->name);

		if (size) {
			size_t n = length < size ? length : size - 1;

			memcpy(text, c->name, n);
			text[n] = '\0';
		}
		r = (int)length;
	}
	hy_unlock(g);
	return r;
}

uint64_t hyphae_cell_id(const struct hyphae_cell *handle)
{
	struct hy_cell *c = hy_cell(handle);

	return c && !(load_relaxed(&c->flags) & F_DEAD) ? load_relaxed(&c->id)
							: 0;
}

static size_t subscriptions(const struct hy_cell *c)
{
	size_t count = 0;

	for (const struct hy_sub *s = c->subs; s; s = s->next)
		count += !(s->flags & SUB_DEAD);
	return count;
}

int hyphae_cell_info(const struct hyphae_cell *handle,
		     struct hyphae_cell_info *ret_info)
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_graph *g;
	int r = -ESTALE;

	if (!c)
		return hy_bad_handle(handle);
	if (!ret_info)
		return -EINVAL;
	g = hy_graph_of(c);
	hy_lock(g);
	if (hy_cell(handle) && !(c->flags & F_DEAD)) {
		if (c->flags & F_PENDING)
			hy_log_noted(g); /* of its references */
		*ret_info = (struct hyphae_cell_info){
			.id = c->id,
			.type = c->type,
			.op = hy_op_name(c),
			.site = hy_site_of(c),
			.height = c->height,
			.references = c->refs,
			.inputs = c->flags & F_DERIVED
					  ? hy_inputs(hy_derived_of(c))
					  : 0,
			.targets = c->targets,
			.ended = c->flags & F_ENDED,
			.event = c->flags & F_EVENT,
			.lazy = c->flags & F_LAZY,
			.idle = c->flags & F_IDLE,
			.subscriptions = subscriptions(c),
		};
		r = 0;
	}
	hy_unlock(g);
	return r;
}

int hyphae_cell_own(struct hyphae_cell *handle, void *data,
		    void (*drop)(void *data))
{
	struct hy_cell *c = hy_cell(handle);
	struct hy_owned *owned = NULL;
	struct hy_cold *cold;
	struct hy_graph *g;
	int r = -ESTALE;

	if (!drop)
		return -EINVAL;
	if (c) {
		owned = hy_alloc_in(hy_graph_of(c)->region, sizeof(*owned));
		r = owned ? -ESTALE : -ENOMEM;
	} else {
		r = hy_bad_handle(handle);
	}
	if (owned) {
		g = hy_graph_of(c);
		hy_lock(g);
		if (hy_cell(handle) && !(c->flags & F_DEAD)) {
			cold = hy_cold_made(c);
			r = cold ? 0 : -ENOMEM;
			if (cold) {
				owned->data = data;
				owned->drop = drop;
				owned->next = cold->owned;
				cold->owned = owned;
			}
		}
		hy_unlock(g);
	}
	if (r) {
		hy_free(owned);
		drop(data);
	}
	return r;
}
