/* SPDX-License-Identifier: MIT */
/*
 * From blocks of records to the model, each record counted exactly once.
 *
 * A record can be seen twice: in place, in the block of a thread that is
 * still filling it (a peek), and in the block as the ring delivers it.  What
 * was peeked is remembered by (thread, sequence) and left out later.
 * Every thread numbers its blocks, so a block that went missing shows.
 * Pure: fed by collect.c and peek.c, or by a test.
 */
#ifndef HYPHAE_BPF_STREAM_H
#define HYPHAE_BPF_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/model.h"
#include "bpf/wire.h"

/* How much of a block that was not delivered yet is counted already. */
struct stream_part {
	uint64_t sequence;
	uint32_t records;
	uint32_t fires;
	uint32_t passes;
};

struct stream_thread {
	uint64_t thread;    /* 0: this entry is free */
	uint64_t base;	    /* blocks up to this one are none of ours */
	uint64_t newest;    /* the last block delivered or lost */
	uint64_t delivered; /* the last one delivered */
	uint64_t settled;   /* how many were, since base */
	/* The thread that had this id before: its last block; when it ended. */
	uint64_t former_newest, born_ns;
	struct stream_part *parts;
	uint32_t nparts, parts_room;
};

struct stream {
	struct model *model;
	/*
	 * When it began: the probes were attached, and the threads had been
	 * peeked at.  A thread's records count from that peek on; those of a
	 * thread that had no block yet, from since_ns on.  CLOCK_MONOTONIC.
	 */
	uint64_t since_ns, begun_ns;
	uint64_t lost; /* hy_block.lost as last seen; of the whole process */
	struct stream_thread *threads; /* hash table by thread */
	size_t mask, nthreads;
	bool farewell;	      /* the process has delivered all it had */
	uint64_t stale;	      /* records left out */
	uint64_t foreign;     /* blocks that are none: wrong version or size */
	uint64_t gone_blocks; /* missing blocks of threads that ended */
};

int stream_open(struct stream *stream, struct model *model);
void stream_close(struct stream *stream);

/* A block as the ring delivered it, `bytes` long. */
void stream_block(struct stream *stream, const void *data, size_t bytes);

/* A block was lost, but its header is known. */
void stream_lost(struct stream *stream, const struct wire_lost *lost);

/*
 * A block as it stands in the memory of the process, with `block->count`
 * records: those that were not counted yet are, now.  At the start (with
 * `start`) they are marked as counted without being so.
 */
void stream_peek(struct stream *stream, const struct hy_block *block,
		 bool start);

/* How many records of that block need not be read again by a peek. */
uint32_t stream_peeked(const struct stream *stream, uint64_t thread,
		       uint64_t sequence);

/*
 * The process is gone, and all that it delivered was taken in.  If no farewell
 * was among it, the process was killed, or left in another way in which the
 * library cannot deliver what it holds: what came after the last peek is
 * unknown.  A block that was peeked at and did not come is missing.
 */
void stream_abandon(struct stream *stream);

/* Blocks that should have come and did not, blind ones included. */
uint64_t stream_missing(const struct stream *stream);

#endif
