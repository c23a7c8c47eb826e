// SPDX-License-Identifier: MIT
/* From blocks of records to the model; see stream.h. */
#include "bpf/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_THREADS 64
/* Twice as many as Linux has numbers for. */
#define THREADS_MAX (1u << 23)

static size_t slot_of(uint64_t thread, size_t mask)
{
	return (size_t)(thread * 0x9e3779b97f4a7c15u >> 32) & mask;
}

int stream_open(struct stream *stream, struct model *model)
{
	memset(stream, 0, sizeof(*stream));
	stream->model = model;
	stream->threads = calloc(FIRST_THREADS, sizeof(*stream->threads));
	if (!stream->threads)
		return -ENOMEM;
	stream->mask = FIRST_THREADS - 1;
	return 0;
}

void stream_close(struct stream *stream)
{
	size_t i;

	for (i = 0; stream->threads && i <= stream->mask; i++)
		free(stream->threads[i].parts);
	free(stream->threads);
	memset(stream, 0, sizeof(*stream));
}

static size_t thread_at(const struct stream *stream, uint64_t thread)
{
	size_t at = slot_of(thread, stream->mask);

	while (stream->threads[at].thread &&
	       stream->threads[at].thread != thread)
		at = (at + 1) & stream->mask;
	return at;
}

static int grow(struct stream *stream)
{
	struct stream_thread *old = stream->threads;
	size_t n = stream->mask + 1, i;

	if (n >= THREADS_MAX)
		return -ENOMEM;
	stream->threads = calloc(n * 2, sizeof(*old));
	if (!stream->threads) {
		stream->threads = old;
		return -ENOMEM;
	}
	stream->mask = n * 2 - 1;
	for (i = 0; i < n; i++)
		if (old[i].thread)
			stream->threads[thread_at(stream, old[i].thread)] =
				old[i];
	free(old);
	return 0;
}

static struct stream_thread *find_thread(struct stream *stream, uint64_t thread)
{
	struct stream_thread *t = &stream->threads[thread_at(stream, thread)];

	if (t->thread || !thread)
		return t->thread ? t : NULL;
	if (stream->nthreads * 2 > stream->mask) {
		if (grow(stream))
			return NULL;
		t = &stream->threads[thread_at(stream, thread)];
	}
	t->thread = thread;
	stream->nthreads++;
	return t;
}

static struct stream_part *find_part(const struct stream_thread *t,
				     uint64_t sequence)
{
	uint32_t i;

	for (i = 0; i < t->nparts; i++)
		if (t->parts[i].sequence == sequence)
			return &t->parts[i];
	return NULL;
}

static struct stream_part *add_part(struct stream_thread *t, uint64_t sequence)
{
	struct stream_part *parts, *part = find_part(t, sequence);

	if (part)
		return part;
	if (t->nparts == t->parts_room) {
		parts = realloc(t->parts, (t->parts_room + 4) * sizeof(*parts));
		if (!parts)
			return NULL;
		t->parts = parts;
		t->parts_room += 4;
	}
	part = &t->parts[t->nparts++];
	memset(part, 0, sizeof(*part));
	part->sequence = sequence;
	return part;
}

/* The block has come: what was counted of it, and forget that. */
static struct stream_part take_part(struct stream_thread *t, uint64_t sequence)
{
	struct stream_part *part = find_part(t, sequence), taken = {0};

	if (part) {
		taken = *part;
		*part = t->parts[--t->nparts];
	}
	return taken;
}

/*
 * A duration that does not fit into its field, more than an hour: the clock
 * of the process went backwards, and it is worth nothing.
 */
static uint64_t duration(uint32_t field, uint32_t flags)
{
	if (!(flags & HY_RECORD_LONG))
		return field;
	return field == UINT32_MAX ? 0
				   : (uint64_t)field << HY_RECORD_LONG_SHIFT;
}

static void add_record(struct stream *stream, const struct hy_record *record)
{
	struct model *model = stream->model;
	uint32_t flags = HY_RECORD_FLAGS(record);
	uint64_t compute = duration(record->compute, flags);
	struct cell *cell =
		model_touch(model, model_cell(model, HY_RECORD_ID(record)));
	struct counts *now = &cell->now, *total = &model->total;

	if (cell == model->cells)
		model->lost.unsorted++;
	if (flags & HY_RECORD_NOTIFY) {
		now->notifies++;
		total->notifies++;
	}
	if (flags & HY_RECORD_WRITE) {
		now->writes++;
		total->writes++;
	}
	if (flags & HY_RECORD_UNCHANGED) {
		now->unchanged++;
		total->unchanged++;
	}
	if (flags & HY_RECORD_COMPUTE) {
		now->computes++;
		total->computes++;
		now->compute_ns += compute;
		total->compute_ns += compute;
	}
	if (flags & HY_RECORD_FIRE) {
		now->fires++;
		total->fires++;
		model_fanout(model, cell, duration(record->fanout, flags));
	}
	if (flags & HY_RECORD_REFIRE) {
		now->refires++;
		total->refires++;
	}
}

/* Count records `from` to `to` of a block; how many fires there were. */
static uint32_t add_records(struct stream *stream, const struct hy_block *block,
			    uint32_t from, uint32_t to)
{
	const struct hy_record *record = block->records + from;
	uint32_t fires = 0;

	for (; from < to; from++, record++) {
		if (record->cell_flags & HY_RECORD_FIRE)
			fires++;
		if (block->base_ns + record->start < stream->since_ns)
			stream->stale++;
		else
			add_record(stream, record);
	}
	return fires;
}

/* The library had no buffer for some records, of any thread. */
static void see_lost(struct stream *stream, uint64_t lost, bool start)
{
	if (lost <= stream->lost)
		return;
	if (!start)
		stream->model->lost.records += lost - stream->lost;
	stream->lost = lost;
}

/* Was that block emptied before we began?  (Ids of threads come again.) */
static bool is_older(const struct stream *stream, const struct stream_thread *t,
		     uint64_t sequence, uint64_t base_ns)
{
	return sequence <= t->base && base_ns < stream->begun_ns;
}

/*
 * Blocks that were neither delivered nor said to be lost (yet).  It can be
 * below 0, and a process can claim any numbers: sums of these may wrap.
 */
static uint64_t gaps(const struct stream_thread *t)
{
	return t->newest - t->base - t->settled;
}

/* Numbers begin again: another thread has got the id. */
static void reuse(struct stream *stream, struct stream_thread *t,
		  uint64_t base_ns)
{
	stream->gone_blocks += gaps(t);
	t->former_newest = t->newest;
	t->born_ns = base_ns;
	t->base = t->newest = t->settled = 0;
	t->nparts = 0;
}

/*
 * News of losses come later than blocks: is it of the thread that had this id
 * before?  Then it fills one of the gaps that were left when that ended.
 */
static bool is_late(struct stream *stream, const struct stream_thread *t,
		    const struct wire_lost *lost)
{
	if (!t->born_ns || lost->base_ns >= t->born_ns)
		return false;
	if (lost->sequence < t->former_newest)
		stream->gone_blocks--;
	return true;
}

/* A block with that number came or was lost. */
static void settle(struct stream_thread *t, uint64_t sequence, bool delivered)
{
	t->settled++;
	if (delivered)
		t->delivered = sequence;
	if (sequence > t->newest)
		t->newest = sequence;
}

void stream_block(struct stream *stream, const void *data, size_t bytes)
{
	const struct hy_block *block = data;
	struct stream_thread *t;
	struct stream_part done;

	if (bytes < HY_BLOCK_HEADER || block->version != HY_ABI_VERSION ||
	    block->count >
		    (bytes - HY_BLOCK_HEADER) / sizeof(block->records[0])) {
		stream->foreign++;
		return;
	}
	if (!block->sequence) {
		stream->farewell = true;
		return;
	}
	t = find_thread(stream, block->thread);
	if (!t) {
		stream->model->lost.records += block->count;
		stream->model->lost.fires += block->fires;
		stream->model->lost.passes += block->passes;
		return;
	}
	if (is_older(stream, t, block->sequence, block->base_ns)) {
		stream->stale += block->count;
		return;
	}
	if (block->sequence <= t->delivered)
		reuse(stream, t, block->base_ns);
	settle(t, block->sequence, true);
	see_lost(stream, block->lost, false);
	done = take_part(t, block->sequence);
	add_records(stream, block, done.records, block->count);
	if (block->passes > done.passes)
		stream->model->passes += block->passes - done.passes;
}

void stream_lost(struct stream *stream, const struct wire_lost *lost)
{
	struct losses *sum = &stream->model->lost;
	struct stream_part done = {0};
	struct stream_thread *t;

	/* Nothing of it is lost, but it was said. */
	if (!lost->sequence && !lost->count) {
		stream->farewell = true;
		return;
	}
	t = find_thread(stream, lost->thread);
	if (t && is_older(stream, t, lost->sequence, lost->base_ns))
		return;
	if (t && !is_late(stream, t, lost)) {
		settle(t, lost->sequence, false);
		done = take_part(t, lost->sequence);
	}
	if (lost->count > done.records)
		sum->records += lost->count - done.records;
	if (lost->fires > done.fires)
		sum->fires += lost->fires - done.fires;
	if (lost->passes > done.passes)
		sum->passes += lost->passes - done.passes;
}

uint32_t stream_peeked(const struct stream *stream, uint64_t thread,
		       uint64_t sequence)
{
	const struct stream_thread *t =
		&stream->threads[thread_at(stream, thread)];
	const struct stream_part *part =
		t->thread ? find_part(t, sequence) : NULL;

	return part ? part->records : 0;
}

void stream_peek(struct stream *stream, const struct hy_block *block,
		 bool start)
{
	struct stream_thread *t;
	struct stream_part *part;

	if (block->version != HY_ABI_VERSION ||
	    block->count > HY_BLOCK_RECORDS || !block->sequence)
		return;
	t = find_thread(stream, block->thread);
	if (!t)
		return;
	if (start)
		t->base = t->newest = block->sequence - 1;
	/* The thread that now has this id is younger than what we know. */
	if (t->settled && block->sequence <= t->newest)
		return;
	part = add_part(t, block->sequence);
	if (!part)
		return;
	see_lost(stream, block->lost, start);
	if (block->count > part->records) {
		if (!start)
			part->fires += add_records(stream, block, part->records,
						   block->count);
		part->records = block->count;
	}
	if (start)
		part->fires = block->fires;
	if (block->passes > part->passes) {
		if (!start)
			stream->model->passes += block->passes - part->passes;
		part->passes = block->passes;
	}
}

uint64_t stream_missing(const struct stream *stream)
{
	uint64_t missing = stream->gone_blocks;
	size_t i;

	for (i = 0; i <= stream->mask; i++) {
		const struct stream_thread *t = &stream->threads[i];

		if (t->thread)
			missing += gaps(t);
	}
	return (int64_t)missing > 0 ? missing : 0;
}

void stream_abandon(struct stream *stream)
{
	size_t i;
	uint32_t k;

	if (!stream->farewell)
		stream->model->lost.unfinished = 1;
	for (i = 0; i <= stream->mask; i++) {
		struct stream_thread *t = &stream->threads[i];

		for (k = 0; k < t->nparts; k++)
			if (t->parts[k].records || t->parts[k].passes)
				stream->gone_blocks++;
		t->nparts = 0;
	}
}
