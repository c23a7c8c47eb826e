/* SPDX-License-Identifier: MIT */
/* The batch of a thread, for frames (time/frame.c).  The lock is held. */
#ifndef HY_BATCH_H
#define HY_BATCH_H

#include "core/types.h"

/* What hyphae_batch_begin() does, and the outermost hyphae_batch_end(). */
int hy_batch_begin(struct hy_graph *g);
int hy_batch_end(struct hy_graph *g, struct hy_batch *batch);

/* hy_lock(), by a thread that is about to open a batch. */
void hy_lock_to_open(struct hy_graph *g);

/* time/frame.c: the batch of a frame has propagated, and somebody watches. */
void hy_frame_watch(struct hy_graph *g);
/* hy_batch_end() of that batch. */
int hy_frame_close(struct hy_graph *g, struct hy_batch *batch);

#endif
