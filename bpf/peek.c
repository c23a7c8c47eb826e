// SPDX-License-Identifier: MIT
/* Reading the blocks that threads are still filling; see peek.h. */
#include "bpf/peek.h"

#include <string.h>

/* Linux gives out no thread id above. */
#define THREAD_MAX (1u << 22)

struct peek {
	const struct census *census;
	struct stream *stream;
	bool start;
	struct hy_block block;
};

/*
 * The header, then the records that are new, then the sequence once more: if
 * it has not changed, the block was not emptied in between, and the records
 * up to `count` were complete when the header was read.
 */
static void peek_block(void *ctx, uint64_t address)
{
	struct peek *peek = ctx;
	const struct memory *memory = peek->census->memory;
	struct hy_block *block = &peek->block;
	uint64_t sequence, at = HY_BLOCK_HEADER;
	uint32_t from;

	if (!memory_read(memory, address, block, HY_BLOCK_HEADER) ||
	    block->version != HY_ABI_VERSION || !block->sequence ||
	    block->count > HY_BLOCK_RECORDS || !block->thread ||
	    block->thread > THREAD_MAX)
		return; /* given back since we read where it is, or none */
	from = stream_peeked(peek->stream, block->thread, block->sequence);
	at += from * sizeof(struct hy_record);
	if (block->count > from &&
	    !memory_read(memory, address + at, (char *)block + at,
			 (block->count - from) * sizeof(struct hy_record)))
		return;
	if (!memory_read(memory, address, &sequence, sizeof(sequence)) ||
	    sequence != block->sequence)
		return;
	stream_peek(peek->stream, block, peek->start);
}

void peek_threads(const struct census *census, struct stream *stream,
		  bool start)
{
	struct peek peek = {.census = census, .stream = stream, .start = start};

	census_blocks(census, peek_block, &peek);
}
