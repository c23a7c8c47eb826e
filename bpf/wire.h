/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs hand to hyphae-top: the one header that both include.
 * Fixed widths, no hidden padding.
 */
#ifndef HYPHAE_BPF_WIRE_H
#define HYPHAE_BPF_WIRE_H

#include "probes/abi.h"

/*
 * Ring buffer items of the records mode are blocks as the library wrote them
 * (struct hy_block), cut after the last record and rounded up to one of these
 * sizes, because a BPF program may only reserve a size that is a constant.
 */
#define WIRE_SMALL 1024
#define WIRE_MEDIUM 4096
#define WIRE_LARGE 16384

/* Items of the second ring: a block that found no place in the first. */
struct wire_lost {
	hy_u64 thread;
	hy_u64 sequence;
	hy_u32 count;
	hy_u32 fires;
	hy_u32 passes;
	hy_u32 reserved;
	hy_u64 base_ns;
};
#define WIRE_LOST_RING 65536

/* Per-CPU counters, for what not even the second ring could tell. */
enum wire_counter {
	WIRE_BLIND_BLOCKS,  /* blocks lost, both rings full */
	WIRE_BLIND_RECORDS, /* their records, */
	WIRE_BLIND_FIRES,   /* fires */
	WIRE_BLIND_PASSES,  /* and passes */
	WIRE_FAULT_BLOCKS,  /* blocks whose memory could not be read */
	WIRE_FAULT_RECORDS, /* their records; the fires are unknown */
	WIRE_PASSES,	    /* probe mode: pass_done */
	WIRE_FULL_EVENTS,   /* probe mode: the table of cells was full */
	WIRE_FULL_FIRES,    /* of these, fanout */
	WIRE_FULL_BUCKETS,  /* probe mode: durations without a bucket */
	WIRE_COUNTERS
};

/* Probe mode: what is counted for each cell; every field only grows. */
struct wire_cell {
	hy_u64 notifies;
	hy_u64 writes;
	hy_u64 unchanged;
	hy_u64 fires;
	hy_u64 refires;
	hy_u64 computes;
	hy_u64 fanout_ns;
	hy_u64 compute_ns;
	hy_u64 max_ns;
	hy_u64 last_pass;
};

/* Probe mode: fan-out durations, one entry for each bucket that was hit. */
struct wire_bucket {
	hy_u64 cell;
	hy_u64 bucket; /* hist_bucket() */
};

#endif
