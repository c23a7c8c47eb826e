/* SPDX-License-Identifier: MIT */
/*
 * Bridges: a cell in one graph that follows a cell of another.
 *
 * What the cell in the first graph tells arrives in the other one: values,
 * recoverable errors and terminal errors with their code and message, and
 * completion.  What one pass of the first graph changes crosses when the pass
 * is over, through all bridges between the two graphs as one batch: so what
 * combines several bridged cells sees all of a batch or none of it.  Of a cell
 * that took several values within one pass the last one crosses; of an event
 * all do, in order (up to HYPHAE_EVENTS_MAX wait; then its signal is refused
 * with -EAGAIN, a problem of the first graph).  Nothing is promised about
 * cells that come from different graphs, or that live in the second one.
 *
 * How it arrives:
 *   - into a shared graph at once, on the thread that propagates in the first
 *     one, before its hyphae_cell_set() returns; as every write, it is left to
 *     the thread that propagates in the second one if there is one, and waits
 *     for the end of a batch that this thread has open there;
 *   - into a single-threaded graph by post (post.h), since it may belong to
 *     another thread: when that next writes, settles or dispatches.  With
 *     HYPHAE_BRIDGE_SAME_THREAD at once: the caller promises that both graphs
 *     are always used by the same thread, or not at the same time.
 * Deliveries do not nest: a chain of graphs, however long, needs the stack of
 * two, and no two graphs are locked at a time.
 *
 * Bridges may lead back.  A signal that has crossed as many bridges (and
 * inputs, input.h) one after the other, by post or at once, as the wave limit
 * of the graph it would leave says is dropped, and that is -ELOOP: a problem of
 * that graph and of those from which it came on the same thread, and what the
 * hyphae_cell_set() there returns that began it.  Completion and terminal
 * errors are never dropped.
 *
 * Without memory for a crossing what had to cross waits, -ENOMEM is a problem
 * of the first graph, and the next signal between the two graphs takes it
 * along.
 */
#ifndef HYPHAE_BRIDGE_H
#define HYPHAE_BRIDGE_H

#include <hyphae/cell.h>
#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hyphae_bridge_flags {
	/* The graphs are used by one thread: no posts. */
	HYPHAE_BRIDGE_SAME_THREAD = 1,
	/* By post also into a shared graph: its subscribers run elsewhere. */
	HYPHAE_BRIDGE_POST = 2,
};

/*
 * A cell of `graph` that follows `cell`, which belongs to another graph; an
 * event if `cell` is one.  It holds what `cell` holds now, and is a derived
 * cell to all functions (op "bridge"), never lazy.
 *
 * It keeps `cell` alive.  Releasing it ends the subscription in the first
 * graph; if that is single-threaded and this another thread, when that graph
 * next takes its posts, or has a signal for it.  When the first graph is freed
 * before `cell` has ended, the bridged cell fails with -ECANCELED.  When the
 * second one is freed, that releases the cell.
 *
 * While a graph has bridges that lead out of it, it has one more source cell
 * and one more subscription; so has one that they reach by post, for each
 * graph.  A bridged cell comes with a source cell of its own.
 *
 * This call uses both graphs: single-threaded ones must be this thread's.
 *
 * Returns a new reference, or NULL with errno EINVAL (also: both are the same
 * graph, unknown flags), ESTALE, EPERM (in a compute function of either), or
 * ENOMEM.  A NULL cell gives NULL, errno untouched.
 */
#define hyphae_bridge(cell, graph) hyphae_bridge_with(cell, graph, 0)
#define hyphae_bridge_with(cell, graph, flags)                                 \
	hyphae_bridge_at(cell, graph, flags, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_bridge_at(struct hyphae_cell *cell,
						struct hyphae_graph *graph,
						unsigned int flags,
						const char *site);

#ifdef __cplusplus
}
#endif

#endif
