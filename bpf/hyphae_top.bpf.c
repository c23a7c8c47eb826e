// SPDX-License-Identifier: MIT
/*
 * The BPF programs of hyphae-top, one for each probe that it attaches to.
 *
 * Records mode has one program, `records`, which copies a block of records
 * from the process into a ring buffer and counts nothing.  Probe mode has one
 * for each probe and counts here, in hash maps.  What cannot be kept is
 * counted as lost, in every branch that loses something.
 */
#include <stdbool.h>

#include <linux/ptrace.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "bpf/hist_bucket.h"
#include "bpf/wire.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Wake the reader when so many bytes wait; else it comes by itself. */
const volatile hy_u64 wake_bytes = 1 << 20;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WIRE_LOST_RING);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_COUNTERS);
	__type(key, hy_u32);
	__type(value, hy_u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, hy_u64);
	__type(value, struct wire_cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 19);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_bucket);
	__type(value, hy_u64);
} buckets SEC(".maps");

/* A probe can interrupt another on the same CPU, hence atomic. */
static void count(enum wire_counter which, hy_u64 n)
{
	hy_u32 key = which;
	hy_u64 *counter = bpf_map_lookup_elem(&counters, &key);

	if (counter)
		__sync_fetch_and_add(counter, n);
}

static void count_lost(const struct hy_block *header)
{
	struct wire_lost *lost;

	lost = bpf_ringbuf_reserve(&losses, sizeof(*lost), 0);
	if (!lost) {
		count(WIRE_BLIND_BLOCKS, 1);
		count(WIRE_BLIND_RECORDS, header->count);
		count(WIRE_BLIND_FIRES, header->fires);
		count(WIRE_BLIND_PASSES, header->passes);
		return;
	}
	lost->thread = header->thread;
	lost->sequence = header->sequence;
	lost->count = header->count;
	lost->fires = header->fires;
	lost->passes = header->passes;
	lost->reserved = 0;
	lost->base_ns = header->base_ns;
	bpf_ringbuf_submit(lost, BPF_RB_NO_WAKEUP);
}

/* Inlined three times, each with a `size` that the verifier knows. */
static __attribute__((always_inline)) int
copy_block(const struct hy_block *header, const void *block, hy_u64 bytes,
	   const hy_u64 size)
{
	hy_u64 flags = BPF_RB_NO_WAKEUP;
	void *item;

	item = bpf_ringbuf_reserve(&blocks, size, 0);
	if (!item) {
		count_lost(header);
		return 0;
	}
	if (bytes > size)
		bytes = size;
	if (bpf_probe_read_user(item, bytes, block)) {
		bpf_ringbuf_discard(item, BPF_RB_NO_WAKEUP);
		count(WIRE_FAULT_BLOCKS, 1);
		count(WIRE_FAULT_RECORDS, header->count);
		return 0;
	}
	/* The thread may have added records since `header` was read. */
	__builtin_memcpy(item, header, HY_BLOCK_HEADER);
	if (bpf_ringbuf_query(&blocks, BPF_RB_AVAIL_DATA) >= wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(item, flags);
	return 0;
}

SEC("usdt")
int BPF_USDT(top_records, long thread, void *block, long records)
{
	hy_u64 header[HY_BLOCK_HEADER / 8];
	const struct hy_block *head = (const struct hy_block *)header;
	hy_u64 bytes;

	if (bpf_probe_read_user(header, sizeof(header), block)) {
		count(WIRE_FAULT_BLOCKS, 1);
		if (records < 0 || records > HY_BLOCK_RECORDS)
			records = HY_BLOCK_RECORDS;
		count(WIRE_FAULT_RECORDS, records);
		return 0;
	}
	if (head->count > HY_BLOCK_RECORDS) {
		count(WIRE_FAULT_BLOCKS, 1);
		count(WIRE_FAULT_RECORDS, HY_BLOCK_RECORDS);
		return 0;
	}
	bytes = HY_BLOCK_HEADER + head->count * sizeof(struct hy_record);
	if (bytes <= WIRE_SMALL)
		return copy_block(head, block, bytes, WIRE_SMALL);
	if (bytes <= WIRE_MEDIUM)
		return copy_block(head, block, bytes, WIRE_MEDIUM);
	return copy_block(head, block, bytes, WIRE_LARGE);
}

static struct wire_cell *find_cell(hy_u64 id)
{
	static const struct wire_cell zero;
	struct wire_cell *cell = bpf_map_lookup_elem(&cells, &id);

	if (cell)
		return cell;
	bpf_map_update_elem(&cells, &id, &zero, BPF_NOEXIST);
	cell = bpf_map_lookup_elem(&cells, &id);
	if (!cell)
		count(WIRE_FULL_EVENTS, 1);
	return cell;
}

SEC("usdt")
int BPF_USDT(top_notify, long id)
{
	struct wire_cell *cell = find_cell(id);

	if (cell)
		__sync_fetch_and_add(&cell->notifies, 1);
	return 0;
}

SEC("usdt")
int BPF_USDT(top_write_value, long id, long pass, long changed)
{
	struct wire_cell *cell = find_cell(id);

	if (!cell)
		return 0;
	__sync_fetch_and_add(&cell->writes, 1);
	if (!changed)
		__sync_fetch_and_add(&cell->unchanged, 1);
	return 0;
}

SEC("usdt")
int BPF_USDT(top_fanout, long id, hy_u64 pass)
{
	struct wire_cell *cell = find_cell(id);

	if (!cell) {
		count(WIRE_FULL_FIRES, 1);
		return 0;
	}
	__sync_fetch_and_add(&cell->fires, 1);
	/* One thread at a time fires a cell, so this needs no atomics. */
	if (cell->last_pass == pass)
		__sync_fetch_and_add(&cell->refires, 1);
	cell->last_pass = pass;
	return 0;
}

SEC("usdt")
int BPF_USDT(top_fanout_done, long id, long pass, long called, hy_u64 ns)
{
	struct wire_bucket key = {.cell = id, .bucket = hist_bucket(ns)};
	struct wire_cell *cell = bpf_map_lookup_elem(&cells, &key.cell);
	hy_u64 *bucket, one = 1;

	if (!cell)
		return 0;
	__sync_fetch_and_add(&cell->fanout_ns, ns);
	if (ns > cell->max_ns)
		cell->max_ns = ns;
	bucket = bpf_map_lookup_elem(&buckets, &key);
	if (bucket) {
		__sync_fetch_and_add(bucket, 1);
		return 0;
	}
	if (!bpf_map_update_elem(&buckets, &key, &one, BPF_NOEXIST))
		return 0;
	bucket = bpf_map_lookup_elem(&buckets, &key);
	if (bucket)
		__sync_fetch_and_add(bucket, 1);
	else
		count(WIRE_FULL_BUCKETS, 1);
	return 0;
}

SEC("usdt")
int BPF_USDT(top_compute_done, long id, long pass, long result, hy_u64 ns)
{
	struct wire_cell *cell = find_cell(id);

	if (!cell)
		return 0;
	__sync_fetch_and_add(&cell->computes, 1);
	__sync_fetch_and_add(&cell->compute_ns, ns);
	return 0;
}

SEC("usdt")
int BPF_USDT(top_pass_done)
{
	count(WIRE_PASSES, 1);
	return 0;
}

/* Nothing to do: being attached is what tells the process. */
SEC("usdt")
int BPF_USDT(top_watch)
{
	return 0;
}
