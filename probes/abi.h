/* SPDX-License-Identifier: MIT */
/*
 * What a watcher may know of a process that uses hyphae: the records that the
 * `records` probe points at, and where graphs and cells lie in memory.
 *
 * Shared by the library (src/), the BPF program and hyphae-top (bpf/).  Both
 * sides check HY_ABI_VERSION; fields are only ever appended, and when one goes
 * that is another version.
 *
 * Fixed-width fields only, native byte order, no pointers as pointers.
 */
#ifndef HYPHAE_PROBES_ABI_H
#define HYPHAE_PROBES_ABI_H

/* BPF programs have <linux/types.h>, all others <stdint.h>. */
#ifdef __bpf__
#include <linux/types.h>
typedef __u64 hy_u64;
typedef __u32 hy_u32;
typedef __u16 hy_u16;
#else
#include <stdint.h>
typedef uint64_t hy_u64;
typedef uint32_t hy_u32;
typedef uint16_t hy_u16;
#endif

#define HY_ABI_VERSION 2

/* ---- records -------------------------------------------------------- */

/*
 * One event of one cell.  The flags say what it tells; several may be set:
 * a set of a source with a subscriber is one record with NOTIFY, WRITE and
 * FIRE.  Each flag counts for itself, so summing a flag over all records
 * gives the number of hits of the probe of that name.
 */
struct hy_record {
	hy_u64 cell_flags; /* cell id << 16 | HY_RECORD_... */
	hy_u32 start;	   /* ns since the block's base_ns */
	hy_u32 compute;	   /* duration of the compute function (COMPUTE) */
	hy_u32 fanout;	   /* duration of the fan-out (FIRE) */
	hy_u32 depth;	   /* height; in eager mode outside a batch the depth */
};

enum hy_record_flags {
	HY_RECORD_FIRE = 1 << 0,      /* fanout */
	HY_RECORD_REFIRE = 1 << 1,    /* not the cell's first in this pass */
	HY_RECORD_WRITE = 1 << 2,     /* write_value */
	HY_RECORD_UNCHANGED = 1 << 3, /* write_value of an equal value */
	HY_RECORD_NOTIFY = 1 << 4,    /* notify */
	HY_RECORD_COMPUTE = 1 << 5,   /* compute */
	/* Durations are in units of 1,024 ns: one was over 4.29 s. */
	HY_RECORD_LONG = 1 << 6,
	/* The kind of signal, as notify tells it. */
	HY_RECORD_KIND_SHIFT = 8, /* 0 value, 1 complete, 2 error; 2 bits */
};

#define HY_RECORD_ID(r) ((r)->cell_flags >> 16)
#define HY_RECORD_FLAGS(r) ((hy_u32)((r)->cell_flags & 0xffff))
#define HY_RECORD_KIND(r) (((r)->cell_flags >> HY_RECORD_KIND_SHIFT) & 3)
#define HY_RECORD_LONG_SHIFT 10

/*
 * A thread's buffer.  The `records` probe passes its address when it is full,
 * at the end of a pass when its first record is HY_BLOCK_AGE_NS old,
 * when the thread ends and when the process exits.
 *
 * Between two hits a tool may read the block in place: `count` grows after
 * the record is complete, and `sequence` changes when the block is emptied.
 *
 * The last hit of a process that exits as it should is a farewell: a block
 * with sequence 0, count 0 and passes 0.  A process that ends without it has
 * taken its last records with it.
 */
#define HY_BLOCK_RECORDS 680 /* with the header: 16 KiB */
#define HY_BLOCK_AGE_NS 50000000

struct hy_block {
	hy_u64 sequence; /* of this thread, from 1, one more at each hit */
	hy_u64 thread;	 /* kernel thread id */
	hy_u64 base_ns;	 /* CLOCK_MONOTONIC when the block was begun */
	hy_u32 count;	 /* records */
	hy_u32 fires;	 /* of these with FIRE */
	hy_u32 passes;	 /* outermost passes that ended in this block */
	hy_u32 version;	 /* HY_ABI_VERSION */
	hy_u64 lost;	 /* records of the process that found no memory */
	hy_u64 reserved[2];
	struct hy_record records[HY_BLOCK_RECORDS];
};
#define HY_BLOCK_HEADER 64

/* ---- looking in ------------------------------------------------------ */

/*
 * The semaphores lie in one 8-byte word, followed by the address of the
 * struct hy_layout.  So a tool that knows the address of the semaphore of
 * `records` (from the ELF note, also in a stripped binary) finds the rest:
 *
 *   records_semaphore + 0   u16  semaphore of `records`
 *                     + 2   u16  semaphore of the detail probes: pass,
 *                                pass_done, fanout_done, subscriber_done,
 *                                compute_done, batch_done, frame_done
 *                     + 4   u16  pass reports open in the process
 *                     + 6   u16  0
 *                     + 8   u64  address of the struct hy_layout
 */
#define HY_LAYOUT_FROM_SEMAPHORE 8

#define HY_LAYOUT_MAGIC 0x3165616870796821ull /* "!hyphae1" */

/*
 * Where things are.  Every `..._at` is an offset in bytes.  All objects lie
 * in chunks of `chunk_bytes`, aligned to their size, that hold slots of one
 * kind and are never unmapped; a slot whose id is 0 is free.
 */
struct hy_layout {
	hy_u64 magic;
	hy_u32 version; /* HY_ABI_VERSION */
	hy_u32 bytes;	/* of this struct */
	hy_u64 graphs;	/* address of a pointer to the first graph */
	hy_u64 threads; /* address of a pointer to the first thread */
	hy_u64 library; /* address of the version string */

	/* graph */
	hy_u32 graph_next_at;	/* pointer to the next graph */
	hy_u32 graph_id_at;	/* u64 */
	hy_u32 graph_flags_at;	/* u32, enum hyphae_graph_flags */
	hy_u32 graph_chunks_at; /* pointer to the first chunk */
	hy_u32 graph_cells_at;	/* u64, cells alive */
	hy_u32 graph_subs_at;	/* u64, subscriptions alive */

	/* chunk */
	hy_u32 chunk_bytes;
	hy_u32 chunk_next_at;	    /* pointer to the next chunk of the graph */
	hy_u32 chunk_kind_at;	    /* u32, enum hy_chunk_kind */
	hy_u32 chunk_slot_bytes_at; /* u32 */
	hy_u32 chunk_used_at;	    /* u32, slots to look at: the first */
	hy_u32 chunk_slots_at;	    /* of the first slot */

	/* cell (slots of kind SOURCE and DERIVED) */
	hy_u32 cell_id_at;	/* u64 */
	hy_u32 cell_name_at;	/* pointer to text, never 0 */
	hy_u32 cell_type_at;	/* pointer to the type */
	hy_u32 cell_targets_at; /* u32; of a dead cell anything */
	hy_u32 cell_height_at;	/* u32 */
	hy_u32 cell_flags_at;	/* u32 */
	hy_u32 cell_op_at;	/* pointer to the operator; DERIVED only */
	/* Inputs (DERIVED only): one edge in the slot, or, when this flag is
	 * set, a pointer to an object with a count and an array of edges. */
	hy_u32 cell_flag_many;	/* bit of cell_flags */
	hy_u32 cell_edge_at;	/* the one edge */
	hy_u32 cell_fan_in_at;	/* pointer to the object */
	hy_u32 fan_in_count_at; /* u32 */
	hy_u32 fan_in_edges_at; /* the first edge */
	hy_u32 edge_bytes;
	hy_u32 edge_input_at;	 /* pointer to the input cell's slot */
	hy_u32 site_before_name; /* bytes; pointer to text "file:line" */
	hy_u32 cell_flag_dead;	 /* bit of cell_flags: it waits to be freed */

	/* type, operator */
	hy_u32 type_name_at; /* pointer to text */
	hy_u32 type_size_at; /* u64 */
	hy_u32 op_name_at;   /* pointer to text */

	/* subscription (slots of kind SUBSCRIPTION) */
	hy_u32 sub_id_at;   /* u64 */
	hy_u32 sub_cell_at; /* pointer to the cell's slot */
	hy_u32 sub_fn_at;   /* function address */

	/* thread */
	hy_u32 thread_next_at;	/* pointer to the next thread */
	hy_u32 thread_block_at; /* pointer to its struct hy_block, or 0 */
};

enum hy_chunk_kind {
	HY_CHUNK_SOURCE = 1,
	HY_CHUNK_DERIVED = 2,
	HY_CHUNK_SUBSCRIPTION = 3,
	HY_CHUNK_SCOPE = 4,
	HY_CHUNK_TIMER = 5,
	HY_CHUNK_INPUTS = 6, /* of cells that have few: no objects */
};

#endif
