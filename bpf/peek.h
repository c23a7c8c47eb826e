/* SPDX-License-Identifier: MIT */
/*
 * Reading the blocks of records that threads are still filling, in place, so
 * that a thread which went quiet is not invisible until it fires again.
 */
#ifndef HYPHAE_BPF_PEEK_H
#define HYPHAE_BPF_PEEK_H

#include "bpf/census.h"
#include "bpf/stream.h"

/* Look at the block of each thread; `start`: see stream_peek(). */
void peek_threads(const struct census *census, struct stream *stream,
		  bool start);

#endif
