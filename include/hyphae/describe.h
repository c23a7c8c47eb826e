/* SPDX-License-Identifier: MIT */
/*
 * Looking around in a graph, from inside the program: walk over its cells,
 * say in a line what one is, draw it.
 *
 * In all walks the functions of yours are called without a lock, and may do
 * anything: write, make and release cells, subscribe, walk.  (Only
 * hyphae_graph_free() is -EBUSY.)  A cell that is shown is referenced during
 * the call; a subscription may end meanwhile, and its handle is stale then.
 * The walks may be used anywhere, in callbacks as well.
 */
#ifndef HYPHAE_DESCRIBE_H
#define HYPHAE_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/graph.h>
#include <hyphae/subscription.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrows the cell.  0: go on; anything else ends the walk, which returns it. */
typedef int (*hyphae_cell_fn)(struct hyphae_cell *cell, void *ctx);

/* What follows a cell: one of the two is NULL. */
typedef int (*hyphae_target_fn)(struct hyphae_cell *cell,
				struct hyphae_subscription *subscription,
				void *ctx);

/*
 * Call fn for each cell of the graph, in no order that means anything.
 * A cell that is there when the walk begins and when its turn comes is shown
 * exactly once; one that is made meanwhile is not.  Nor are those that inputs
 * and bridges have for themselves (type "hidden"; they are counted, drawn, and
 * told to tools).  Needs no memory, however many there are, and holds the lock
 * for a chunk at most.
 * Returns 0, what fn returned, -EINVAL or -ESTALE.
 */
HYPHAE_API int hyphae_graph_each_cell(struct hyphae_graph *graph,
				      hyphae_cell_fn fn, void *ctx);

/*
 * Call fn for each input of the cell, in the order of the constructor; an input
 * that was given twice is shown twice.  None for a source, and none for a cell
 * that has ended and let go of its inputs.
 * What is shown is noted before the first call: 16 bytes each, when there are
 * more than 16.  What is gone when its turn comes is not shown.
 * Returns 0, what fn returned, -EINVAL, -ESTALE or -ENOMEM.
 */
HYPHAE_API int hyphae_cell_each_input(struct hyphae_cell *cell,
				      hyphae_cell_fn fn, void *ctx);

/*
 * The same for what follows the cell directly: first the cells, in the order in
 * which they began to, then the subscriptions, in order of subscription.  A
 * cell is shown once for each input that this one is of it, so that the calls
 * add up to hyphae_cell_info.targets.
 */
HYPHAE_API int hyphae_cell_each_target(struct hyphae_cell *cell,
				       hyphae_target_fn fn, void *ctx);

/*
 * A line about the cell, without a newline, as in
 *
 *     #12 "price" source int64, height 0, 0 inputs, 2 targets, value 5, at
 *     shop.c:31
 *
 * with "no value", "error -5 "text"" or "failed -5 "text"" in the place of the
 * value, and "completed" after it; an event is "event", or "event, last 5" when
 * it has emitted.  The value is what type->print makes of it, called without a
 * lock and unable to write, of which up to 255 bytes are shown; without `print`
 * it is the size.  In what comes from the program,
 * quotes and backslashes have a backslash before them, and bytes that are not
 * printable UTF-8 are written as \xNN.
 * Returns the length as snprintf() does, of which size - 1 bytes and a NUL are
 * in `text`; or -EINVAL or -ESTALE.
 */
HYPHAE_API int hyphae_describe(const struct hyphae_cell *cell, char *text,
			       size_t size);

/*
 * Takes `length` bytes of text, which do not end with a NUL.  0: go on;
 * anything else ends the drawing, which returns it.
 */
typedef int (*hyphae_write_fn)(const char *text, size_t length, void *ctx);

/* One that writes to a FILE *, its ctx: 0, or -EIO. */
HYPHAE_API int hyphae_write_file(const char *text, size_t length, void *file);

enum hyphae_dot_flags {
	/* Cells of the same height on one line, with the height beside it. */
	HYPHAE_DOT_HEIGHTS = 1,
	HYPHAE_DOT_NO_SUBSCRIPTIONS = 2,
	/* Call no print function; "event", "completed", errors are told. */
	HYPHAE_DOT_NO_VALUES = 4,
};

/* Members that are not named are 0, which stands for what is usual. */
struct hyphae_dot_options {
	unsigned int flags; /* enum hyphae_dot_flags */
	/*
	 * Not all cells, but this one and those that are connected with it, by
	 * following or being followed, over at most so many steps; 0: over any
	 * number.  Takes some 30 bytes for each of them.
	 */
	struct hyphae_cell *start;
	unsigned int depth;
};

/*
 * Write the graph as text for Graphviz, as in
 *
 *     hyphae_graph_dot(graph, hyphae_write_file, stdout, NULL);
 *     program | dot -Tsvg > graph.svg
 *
 * A source is a box, a derived cell an ellipse, a subscription a note; a cell
 * with an error is red, one without a value dashed, one that has ended has a
 * double line.  Each is written as it is when its turn comes: of a graph that
 * other threads change meanwhile that is more than one moment.  `options`
 * may be NULL.
 *
 * Returns 0, what `write` returned, -EINVAL (also: unknown flags, a depth
 * without a start), -ESTALE, -EXDEV (the start is of another graph) or
 * -ENOMEM (with a start, or with a cell of more than 16 inputs or targets).
 */
HYPHAE_API int hyphae_graph_dot_sized(struct hyphae_graph *graph,
				      hyphae_write_fn write, void *ctx,
				      const struct hyphae_dot_options *options,
				      size_t size);
static inline int hyphae_graph_dot(struct hyphae_graph *graph,
				   hyphae_write_fn write, void *ctx,
				   const struct hyphae_dot_options *options)
{
	return hyphae_graph_dot_sized(graph, write, ctx, options,
				      sizeof(*options));
}

#ifdef __cplusplus
}
#endif

#endif
