/* SPDX-License-Identifier: MIT */
/*
 * Frames: propagation locked to a tick, as of a display, an audio period, a
 * control loop.
 *
 * Between begin and end the writes of this thread are collected as in a
 * batch; the end propagates them as one wave, in one pass.  Probes tell how
 * long before or after its boundary each frame was done.
 *
 *   hyphae_frame_begin(graph, vsync_ns);
 *   ... writes ...
 *   hyphae_frame_end(graph);
 *
 * What a frame collects are the writes of its thread: its own, and those of
 * timers that it runs meanwhile.  It does not hold back anything else: other
 * threads write, and time operators whose timers run meanwhile propagate, at
 * once.  A host that drives the clock lets it run first, then begins the
 * frame.
 */
#ifndef HYPHAE_FRAME_H
#define HYPHAE_FRAME_H

#include <stdint.h>

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begin a frame that shall be done by `boundary_ns`, in the time of the
 * graph's clock.  One frame a graph is open at a time.  Frames are numbered
 * from 1.  Batches may be opened inside it, and nest; they are ended before
 * it.  hyphae_settle() inside it is -EBUSY.
 *
 * Returns 0, -EINVAL, -ESTALE, -ENOMEM, -EPERM in a compute function; -EBUSY
 * while one is open on any thread, in a batch of this thread, and in a
 * callback of this graph.  Probes: frame, batch.
 */
HYPHAE_API int hyphae_frame_begin(struct hyphae_graph *graph,
				  uint64_t boundary_ns);

/*
 * End it and propagate.  If another thread propagates it waits until that is
 * done, so that the frame is a wave of its own (two threads that wait so for
 * each other's graphs, from inside callbacks, wait for ever).
 *
 * Returns 0, -EINVAL (also if this thread has no frame open), -ESTALE,
 * -EPERM in a compute function; -EBUSY while a batch inside it is open, or in
 * a callback of this graph: it is still open; or, as hyphae_batch_end(), the
 * first error of a subscriber or -ELOOP: it is over.
 * Probes: frame_done, batch_done.
 */
HYPHAE_API int hyphae_frame_end(struct hyphae_graph *graph);

/* The number of the frame that was begun last; 0: none, or a bad handle. */
HYPHAE_API uint64_t hyphae_frame_number(const struct hyphae_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
