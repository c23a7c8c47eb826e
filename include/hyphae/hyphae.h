/* SPDX-License-Identifier: MIT */
/*
 * hyphae: reactive cells for C programs that run in production.
 *
 * Rules that hold for every function unless its comment says otherwise:
 *
 * Threads.   Any thread may call, also from inside a callback.  No lock of
 *            hyphae is held while a callback of yours runs.  A graph made with
 *            HYPHAE_SINGLE_THREAD is used by one thread at a time, which is
 *            the caller's business; others may post to it (post.h).
 *            A callback has to return: one that is left in another way, by
 *            longjmp(), an exception or the end of its thread (pthread_exit(),
 *            cancellation), leaves the graph propagating for ever, and a
 *            thread that is cancelled inside hyphae may leave a lock behind.
 *            What a thread leaves open when it ends, also by pthread_exit()
 *            or cancellation, is ended for it, and that is a problem of the
 *            graph, with -ECANCELED: scopes are left; then batches and frames
 *            are ended, so what was written in them is kept.  Subscribers are
 *            called on the ending thread then, after its C++ thread_local
 *            objects are gone, or by the thread that propagates, which a
 *            frame does not wait for.  (Not at exit() of the process.  A batch
 *            of a single-threaded graph is the graph's: whoever uses it next
 *            ends it; that a scope of it is left is a use of the graph.)
 * Errors.    A function that returns int returns 0 (or a positive constant
 *            that its comment names), or a negative errno; then nothing was
 *            changed, except where a write was carried out and a subscriber
 *            or the wave limit is what failed (hyphae_cell_set(),
 *            hyphae_batch_end()).  A constructor returns NULL and sets errno.
 *            The codes mean the same everywhere:
 *              -EINVAL     an argument that cannot be: NULL, a wrong type or
 *                          size, a function on the wrong kind of cell
 *              -ESTALE     a handle whose object is gone
 *              -EXDEV      two objects of different graphs
 *              -ENOMEM     no memory
 *              -ESHUTDOWN  the cell has completed or failed for good
 *              -ENODATA    the cell has no value yet; an event never has one
 *              -EPERM      a write from inside a compute, equal, copy, drop or
 *                          problem function
 *              -EBUSY      not while the graph propagates or a batch is open
 *              -ELOOP      the graph did not settle
 *              -EOVERFLOW  a count that cannot grow any more
 *            An operator that is given a NULL input returns NULL and leaves
 *            errno alone, so that constructors nest and one check at the end
 *            is enough.  (Nested, the references of the cells in between are
 *            in nobody's hands: unless a scope has them, scope.h, these cells
 *            live as long as the graph.)
 * Handles.   A handle is an opaque value; it points nowhere that you may
 *            read.  Using it after its object is gone is -ESTALE and never
 *            touches freed memory.  (A handle carries 16 bits of the object's
 *            id; one that has been stale while its place was taken by another
 *            object is mistaken for it once in 65,536 times.)  A handle of
 *            another kind, cast or through a void *, is -ESTALE, or -EINVAL
 *            among streams, inputs and pools; but pipes and posters are
 *            pointers, and another in their place is not noticed.
 * Ownership. "Returns a new reference": give it back with hyphae_cell_unref().
 *            "Borrows": used during the call only, which is the default.
 *            Derived cells and subscriptions keep the cells they follow
 *            alive; a cell does not keep those that follow it.
 */
#ifndef HYPHAE_HYPHAE_H
#define HYPHAE_HYPHAE_H

#include <hyphae/batch.h>
#include <hyphae/bridge.h>
#include <hyphae/cell.h>
#include <hyphae/clock.h>
#include <hyphae/data.h>
#include <hyphae/describe.h>
#include <hyphae/dynamic.h>
#include <hyphae/frame.h>
#include <hyphae/graph.h>
#include <hyphae/history.h>
#include <hyphae/input.h>
#include <hyphae/limits.h>
#include <hyphae/loop.h>
#include <hyphae/many.h>
#include <hyphae/memory.h>
#include <hyphae/operators.h>
#include <hyphae/overflow.h>
#include <hyphae/pass.h>
#include <hyphae/pipe.h>
#include <hyphae/pool.h>
#include <hyphae/post.h>
#include <hyphae/scope.h>
#include <hyphae/share.h>
#include <hyphae/source.h>
#include <hyphae/stream.h>
#include <hyphae/subscription.h>
#include <hyphae/timing.h>
#include <hyphae/transition.h>
#include <hyphae/type.h>
#include <hyphae/weak.h>

/* Of these headers; hyphae_version() tells that of the library. */
#define HYPHAE_VERSION_MAJOR 0
#define HYPHAE_VERSION_MINOR 1
#define HYPHAE_VERSION_PATCH 0
#define HYPHAE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is linked; static. */
HYPHAE_API const char *hyphae_version(void);

#ifdef __cplusplus
}
#endif

#endif
