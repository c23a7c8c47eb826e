/* SPDX-License-Identifier: MIT */
/*
 * Batches: several writes, one wave.
 *
 * A batch belongs to the thread that opened it, and is ended when that ends
 * (hyphae.h, "Threads").  Its writes are kept apart until the outermost end:
 * the last value of each cell wins, cells whose value ends up where it was are
 * silent, every derived cell is computed at most once.  Derived cells and
 * subscribers see all of it or none; single reads by other threads may fall in
 * between.
 */
#ifndef HYPHAE_BATCH_H
#define HYPHAE_BATCH_H

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open a batch, or nest in the one that is open.  Returns 0, -EINVAL,
 * -ENOMEM, or -EPERM in a compute function.  In a subscriber the writes join
 * the next wave, as they do without a batch.  Probe: batch.
 */
HYPHAE_API int hyphae_batch_begin(struct hyphae_graph *graph);

/*
 * End it; the outermost end propagates, or leaves that to the thread that
 * does (without memory for that it waits for it).  Returns 0, -EINVAL without
 * a batch, -EPERM in a compute function, -ELOOP, or the first error of a
 * subscriber.  -ENOMEM, only when a batch from outside is ended in a
 * subscriber, or one that has to wait there for what another thread has
 * written: it is still open.  Probe: batch_done.
 */
HYPHAE_API int hyphae_batch_end(struct hyphae_graph *graph);

/*
 * fn(ctx) in a batch, which ends whatever fn returns: the writes it made are
 * kept.  Returns fn's error, else that of the batch.
 */
HYPHAE_API int hyphae_batch(struct hyphae_graph *graph, int (*fn)(void *ctx),
			    void *ctx);

/*
 * Propagate what is pending now: in a batch, what this thread has written so
 * far, and what was posted.  If another thread propagates, wait until it is
 * done (two threads that wait so for each other's graphs, from inside
 * callbacks, wait for ever). -EBUSY from inside a callback of this graph, and
 * in a frame (frame.h).
 */
HYPHAE_API int hyphae_settle(struct hyphae_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
