/* SPDX-License-Identifier: MIT */
/* Cells: they hold a value, an error or nothing yet. */
#ifndef HYPHAE_CELL_H
#define HYPHAE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/graph.h>
#include <hyphae/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/* hyphae_cell_set() and its kin: the value was equal, so nothing ran. */
#define HYPHAE_UNCHANGED 1

/* Errors are -1 to -HYPHAE_ERRNO_MAX, as the kernel's are. */
#define HYPHAE_ERRNO_MAX 4095

/* The longest name, in bytes without the NUL. */
#define HYPHAE_NAME_MAX 255

/*
 * A source cell that holds a copy of `*initial`.  Returns a new reference, or
 * NULL with errno EINVAL or ENOMEM, or what type->copy returned.
 * Probe: cell_create.
 */
#define hyphae_cell_new(graph, type, initial)                                  \
	hyphae_cell_new_at(graph, type, initial, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_cell_new_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		   const void *initial, const char *site);

/*
 * An event source: it holds no value, it emits.  hyphae_cell_set() and its kin
 * emit; each emission counts, also an equal one, and in a batch each is kept,
 * in order: the first of each event goes with the batch's wave; from the first
 * that would be the second of its event, or comes after the end of one, they
 * follow in waves of their own, in the same pass.
 * hyphae_cell_get() is -ENODATA (or an error's code), a subscriber is not
 * called with what was before it, but for an error that still stands.  What
 * map, filter and other stream operators make of an event is an event;
 * hyphae_hold() and hyphae_scan() make cells.
 *
 * Emissions that wait for a propagation on another thread, or for the
 * subscriber that makes them, do not coalesce; at most HYPHAE_EVENTS_MAX of
 * them wait in a graph, then hyphae_cell_set() is -EAGAIN (an event's end
 * always has room, and so have batches).  Each error of a cell made of an event
 * counts too, also an equal one; it stands until the next emission.
 *
 * Returns a new reference, or NULL with errno EINVAL, ESTALE or ENOMEM.
 */
#define HYPHAE_EVENTS_MAX 65536
#define hyphae_event_new(graph, type)                                          \
	hyphae_event_new_at(graph, type, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *
hyphae_event_new_at(struct hyphae_graph *graph, const struct hyphae_type *type,
		    const char *site);

/* One more reference to the cell; returns `cell`, or NULL if it is gone. */
HYPHAE_API struct hyphae_cell *hyphae_cell_ref(struct hyphae_cell *cell);

/*
 * Give a reference back.  A cell whose last reference is gone is released at
 * once, or, while the graph propagates, when that is over; what it followed
 * is given back in turn, without recursion.  NULL is allowed.
 * From then on its handle is stale.  Only if that happens in the wave of a
 * batch that has written the cell, the batch may still hold it until the wave
 * is over; whether it does depends on the graph and on what else was written.
 * -ESTALE, and nothing happens: it was gone already, or you have no reference:
 * all that constructors, hyphae_cell_ref() and the like gave to the program
 * have been given back, and the cell is there for what follows it, a scope, an
 * input, a poster or a call that is under way.  Those are counted apart, so
 * one call too many takes nothing from them, on whatever thread; from another
 * part of the program that has a reference of its own it does.
 * Probe: cell_destroy.
 */
HYPHAE_API int hyphae_cell_unref(struct hyphae_cell *cell);

/*
 * Store a copy of `*value` in a source cell and propagate.  On return all
 * cells and subscribers that depend on it have followed, except
 *  - in a batch of this thread: at its end,
 *  - from inside a subscriber: in the next wave of the same propagation; if
 *    another thread has left a write of the same cell before, after that one
 *    or in its place,
 *  - while another thread propagates in this graph: that thread does it.
 *
 * Threads.  So a thread that propagates works for the others, but not for
 * ever: when it has run 64 waves for them, the next one that writes (or ends a
 * batch, or dispatches) outside of all callbacks waits until the wave under
 * way is over, propagates itself, its own write first, and the other returns.
 * It waits 100 ms at most, since a subscriber of that wave may be waiting for
 * the writer; then its write is left to the thread that propagates.
 *
 * Returns 0, HYPHAE_UNCHANGED, or -EINVAL (not a source, wrong type),
 * -ESTALE, -ESHUTDOWN, -EPERM, -ENOMEM: nothing was stored.  After it was
 * stored it can return -ELOOP, or the first error that a subscriber returned.
 * Probes: notify, write_value, then fanout for each cell that changed.
 */
HYPHAE_API int hyphae_cell_set(struct hyphae_cell *cell,
			       const struct hyphae_type *type,
			       const void *value);

/*
 * Copy the cell's value to `*ret_value`.  Never runs a compute function,
 * never waits for one.  The writer of an open batch reads what it wrote to a
 * source; a derived cell gives its last settled value.  A function of a cell
 * reads what sources were when the wave began, whatever waits to be written.
 *
 * Returns 0, or -EINVAL, -ESTALE, -ENODATA, or the cell's error code.
 * The caller owns the copy (matters for types with `drop`).
 */
HYPHAE_API int hyphae_cell_get(const struct hyphae_cell *cell,
			       const struct hyphae_type *type, void *ret_value);

/* The same for the built-in types, without the detour over memory. */
#define hyphae_int64_new(graph, value)                                         \
	hyphae_int64_new_at(graph, value, HYPHAE_HERE)
#define hyphae_double_new(graph, value)                                        \
	hyphae_double_new_at(graph, value, HYPHAE_HERE)
#define hyphae_bool_new(graph, value)                                          \
	hyphae_bool_new_at(graph, value, HYPHAE_HERE)
#define hyphae_pointer_new(graph, value)                                       \
	hyphae_pointer_new_at(graph, value, HYPHAE_HERE)
#define hyphae_string_new(graph, text)                                         \
	hyphae_string_new_at(graph, text, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_int64_new_at(struct hyphae_graph *graph,
						   int64_t value,
						   const char *site);
HYPHAE_API struct hyphae_cell *hyphae_double_new_at(struct hyphae_graph *graph,
						    double value,
						    const char *site);
HYPHAE_API struct hyphae_cell *hyphae_bool_new_at(struct hyphae_graph *graph,
						  bool value, const char *site);
HYPHAE_API struct hyphae_cell *hyphae_pointer_new_at(struct hyphae_graph *graph,
						     void *value,
						     const char *site);
HYPHAE_API struct hyphae_cell *hyphae_string_new_at(struct hyphae_graph *graph,
						    const char *text,
						    const char *site);
HYPHAE_API int hyphae_int64_set(struct hyphae_cell *cell, int64_t value);
HYPHAE_API int hyphae_double_set(struct hyphae_cell *cell, double value);
HYPHAE_API int hyphae_bool_set(struct hyphae_cell *cell, bool value);
HYPHAE_API int hyphae_pointer_set(struct hyphae_cell *cell, void *value);
HYPHAE_API int hyphae_string_set(struct hyphae_cell *cell, const char *text);
HYPHAE_API int hyphae_int64_get(const struct hyphae_cell *cell,
				int64_t *ret_value);
HYPHAE_API int hyphae_double_get(const struct hyphae_cell *cell,
				 double *ret_value);
HYPHAE_API int hyphae_bool_get(const struct hyphae_cell *cell, bool *ret_value);
HYPHAE_API int hyphae_pointer_get(const struct hyphae_cell *cell,
				  void **ret_value);
/* A copy to free(). */
HYPHAE_API int hyphae_string_get(const struct hyphae_cell *cell,
				 char **ret_text);

/*
 * End a source cell.  Cells and subscribers that follow it get the signal
 * once, after the last value; nothing follows it.  `message` may be NULL;
 * `code` is -1 to -HYPHAE_ERRNO_MAX, else -EINVAL.  A value written before a
 * failure in the same batch is told first, in a wave of its own.  -ESHUTDOWN:
 * it has ended before.  Probes: notify, error (for fail), fanout.
 */
HYPHAE_API int hyphae_cell_complete(struct hyphae_cell *cell);
HYPHAE_API int hyphae_cell_fail(struct hyphae_cell *cell, int code,
				const char *message);

/*
 * Name a cell for people and tools.  1 to HYPHAE_NAME_MAX bytes of UTF-8;
 * -EINVAL if empty or NULL, -ENAMETOOLONG, -EILSEQ.  Probe: cell_name.
 */
HYPHAE_API int hyphae_cell_set_name(struct hyphae_cell *cell, const char *name);

/*
 * Copy the name ("" if it has none) with its NUL to `text`.  Returns its
 * length as snprintf() does, or -ESTALE.
 */
HYPHAE_API int hyphae_cell_name(const struct hyphae_cell *cell, char *text,
				size_t size);

/*
 * The number by which probes and tools know the cell.  Never used twice in a
 * process.  0 if the cell is gone.
 */
HYPHAE_API uint64_t hyphae_cell_id(const struct hyphae_cell *cell);

/* What is known about a cell; see also hyphae_cell_name(). */
struct hyphae_cell_info {
	uint64_t id;
	const struct hyphae_type *type;
	const char *op;	  /* "source", "map", ... */
	const char *site; /* "file:line" where it was made */
	uint32_t height;  /* 1 + the highest input; 0 for a source */
	uint32_t references;
	size_t inputs;
	size_t targets; /* cells and subscribers that follow it directly */
	bool ended;	/* completed or failed for good */
	bool event;	/* hyphae_event_new(), or made of one */
	bool lazy;	/* hyphae_cell_set_lazy() */
	bool idle;	/* lazy, and nothing follows it now */
	size_t subscriptions; /* of the targets; those that are paused as well */
};
/* Takes time in proportion to the subscriptions. */
HYPHAE_API int hyphae_cell_info(const struct hyphae_cell *cell,
				struct hyphae_cell_info *ret_info);

/*
 * Make a derived cell lazy: it is computed only while something follows it (a
 * subscriber, or a cell that is itself followed or not lazy).  Without that it
 * is idle: it follows nothing, holds no value (hyphae_cell_get() is -ENODATA),
 * and an operator's state (a sum, a count) begins afresh.  It wakes up, and is
 * computed, when the first follower comes.  A cell that is made and wakes it is
 * computed after it: what it then holds was there from the beginning, and is no
 * change; what an event emits as it wakes is heard by those that wake it.  On
 * the last one's leaving it goes idle when the propagation that is under way is
 * over, so that a follower that leaves and comes back within it changes
 * nothing.  (Where an operator has more than one value to tell, in a wave each,
 * it is before the next of these.)
 * 0, -EINVAL (a source), -ESTALE or -ENOMEM.
 */
HYPHAE_API int hyphae_cell_set_lazy(struct hyphae_cell *cell);

/*
 * Have first(cell, ctx) called when a cell that nothing followed gets its
 * first follower, and last(cell, ctx) when it has lost the last one: to open
 * and close what feeds a source.  Called on the propagating thread after the
 * wave; what came and went within one propagation is not told.  They may do
 * what a subscriber may.  Either may be NULL; a second call replaces both.
 * 0, -ESTALE or -ENOMEM.
 */
typedef void (*hyphae_hook_fn)(struct hyphae_cell *cell, void *ctx);
HYPHAE_API int hyphae_cell_set_hooks(struct hyphae_cell *cell,
				     hyphae_hook_fn first, hyphae_hook_fn last,
				     void *ctx);

/*
 * Hand `data` to the cell: drop(data) is called once, when the cell is
 * released (also when this call fails).  Several are dropped last first.
 */
HYPHAE_API int hyphae_cell_own(struct hyphae_cell *cell, void *data,
			       void (*drop)(void *data));

#ifdef __cplusplus
}
#endif

#endif
