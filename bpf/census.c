// SPDX-License-Identifier: MIT
/* What cells a process has; see census.h. */
#include "bpf/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/census_texts.h"

/* Bounds for what a process can make us do. */
#define ITEMS_MAX 1000000
#define BYTES_MAX (16ull << 30)
#define OFFSET_MAX 65536
#define CHUNK_MIN 4096
#define CHUNK_MAX (1u << 26)

/*
 * Walks along a list that may go round: it remembers an item, a later one
 * after 1, 2, 4, ... steps, and stops when it meets that again.
 */
struct walker {
	uint64_t mark;
	uint32_t steps, next;
};

static bool go_on(struct walker *walker, uint64_t item)
{
	if (!item || item == walker->mark || walker->steps == ITEMS_MAX)
		return false;
	if (walker->steps++ == walker->next) {
		walker->mark = item;
		walker->next = walker->steps * 2;
	}
	return true;
}

static bool is_enough(const struct census *census)
{
	return census->enough && census->enough(census->enough_ctx);
}

static uint64_t u64_at(const unsigned char *bytes, uint32_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static uint32_t u32_at(const unsigned char *bytes, uint32_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* All offsets lie between graph_next_at and the end of the layout. */
static bool offsets_fit(const struct hy_layout *layout)
{
	const uint32_t *at = &layout->graph_next_at;
	const uint32_t *end = &layout->thread_block_at + 1;

	for (; at < end; at++)
		if (*at > OFFSET_MAX && at != &layout->chunk_bytes &&
		    at != &layout->cell_flag_many &&
		    at != &layout->cell_flag_dead)
			return false;
	return layout->chunk_bytes >= CHUNK_MIN &&
	       layout->chunk_bytes <= CHUNK_MAX &&
	       !(layout->chunk_bytes & (layout->chunk_bytes - 1)) &&
	       layout->chunk_slots_at + 8 <= layout->chunk_bytes;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* What a slot must have to be read. */
static uint32_t least_slot(const struct hy_layout *l, bool derived)
{
	uint32_t at = most(l->cell_id_at, l->cell_name_at);

	at = most(at, l->cell_type_at) + 8;
	/* These have only 4 bytes. */
	at = most(at, most(l->cell_targets_at, l->cell_flags_at) + 4);
	at = most(at, l->cell_height_at + 4);
	return derived ? most(at, l->cell_op_at + 8) : at;
}

int census_open(struct census *census, const struct memory *memory,
		uint64_t semaphore)
{
	struct hy_layout *layout = &census->layout;
	uint64_t address;

	memset(census, 0, sizeof(*census));
	census->memory = memory;
	census->semaphore = semaphore;
	if (!memory_read(memory, semaphore + HY_LAYOUT_FROM_SEMAPHORE, &address,
			 sizeof(address)) ||
	    !memory_read(memory, address, layout, 16))
		return -EFAULT;
	if (layout->magic != HY_LAYOUT_MAGIC)
		return -EPROTO;
	if (layout->version != HY_ABI_VERSION)
		return -ENOTSUP;
	if (layout->bytes < sizeof(*layout))
		return -EPROTO;
	if (!memory_read(memory, address, layout, sizeof(*layout)))
		return -EFAULT;
	if (!offsets_fit(layout))
		return -EPROTO;
	census->address = address;
	return 0;
}

bool census_stands(const struct census *census)
{
	uint64_t address, magic;

	return memory_read(census->memory,
			   census->semaphore + HY_LAYOUT_FROM_SEMAPHORE,
			   &address, sizeof(address)) &&
	       address == census->address &&
	       memory_read(census->memory, address, &magic, sizeof(magic)) &&
	       magic == HY_LAYOUT_MAGIC;
}

/* Follow a list of graphs: read the pointer at *at, then the fields. */
struct graph {
	uint64_t address, next, chunks, cells;
};

static bool read_graph(const struct census *census, uint64_t address,
		       struct graph *graph)
{
	const struct hy_layout *l = &census->layout;
	struct piece pieces[] = {
		{address + l->graph_next_at, &graph->next, 8, false},
		{address + l->graph_chunks_at, &graph->chunks, 8, false},
		{address + l->graph_cells_at, &graph->cells, 8, false},
	};

	graph->address = address;
	census->memory->read(census->memory, pieces, 3);
	return pieces[0].ok && pieces[1].ok && pieces[2].ok;
}

static uint64_t first_of(const struct census *census, uint64_t list)
{
	uint64_t first;

	return memory_read(census->memory, list, &first, 8) ? first : 0;
}

uint64_t census_count(const struct census *census)
{
	uint64_t at = first_of(census, census->layout.graphs), cells = 0;
	struct walker walker = {0};
	struct graph graph;

	for (; go_on(&walker, at); at = graph.next) {
		if (is_enough(census) || !read_graph(census, at, &graph))
			break;
		cells += graph.cells;
	}
	return cells;
}

/* ---- chunks ----------------------------------------------------------- */

struct walk {
	const struct census *census;
	const struct census_visitor *visitor;
	struct census_texts texts;
	unsigned char *chunk; /* chunk_bytes */
	unsigned char *head;  /* chunk_slots_at, the same with less read */
	uint64_t budget;      /* bytes that may still be read */
};

/* The slot as it was read, and where its texts are. */
static void found_slot(struct walk *walk, uint64_t chunk, uint32_t slot_at,
		       bool derived)
{
	const struct hy_layout *l = &walk->census->layout;
	const unsigned char *slot = walk->chunk + slot_at;
	bool dead = u32_at(slot, l->cell_flags_at) & l->cell_flag_dead;
	struct census_found found = {
		.id = u64_at(slot, l->cell_id_at),
		.id_address = chunk + slot_at + l->cell_id_at,
		.targets = dead ? 0 : u32_at(slot, l->cell_targets_at),
		.height = u32_at(slot, l->cell_height_at),
		.name = u64_at(slot, l->cell_name_at),
		.type = u64_at(slot, l->cell_type_at),
		.op = derived ? u64_at(slot, l->cell_op_at) : 0,
	};

	if (found.id && walk->visitor->wants(walk->visitor->ctx, found.id))
		census_texts_add(&walk->texts, &found);
}

/* Read the used part of a chunk of cells and visit its slots. */
static int walk_slots(struct walk *walk, uint64_t chunk, bool derived)
{
	const struct hy_layout *l = &walk->census->layout;
	uint32_t bytes = u32_at(walk->head, l->chunk_slot_bytes_at);
	uint32_t used = u32_at(walk->head, l->chunk_used_at);
	uint64_t slots_end;
	uint32_t i;

	if (bytes < least_slot(l, derived) || bytes > OFFSET_MAX ||
	    used > l->chunk_bytes / bytes)
		return -EPROTO;
	slots_end = l->chunk_slots_at + (uint64_t)used * bytes;
	if (slots_end > l->chunk_bytes ||
	    !memory_read(walk->census->memory, chunk, walk->chunk, slots_end))
		return -EPROTO;
	for (i = 0; i < used && (i % 1024 || !is_enough(walk->census)); i++)
		found_slot(walk, chunk, l->chunk_slots_at + i * bytes, derived);
	return 0;
}

static int walk_chunks(struct walk *walk, uint64_t chunk)
{
	const struct hy_layout *l = &walk->census->layout;
	struct walker walker = {0};
	uint32_t kind;
	int error = 0;

	for (; chunk && !error; chunk = u64_at(walk->head, l->chunk_next_at)) {
		if (is_enough(walk->census))
			return -ECANCELED;
		if (!go_on(&walker, chunk) || chunk % l->chunk_bytes ||
		    walk->budget < l->chunk_bytes ||
		    !memory_read(walk->census->memory, chunk, walk->head,
				 l->chunk_slots_at))
			return -EPROTO;
		walk->budget -= l->chunk_bytes;
		kind = u32_at(walk->head, l->chunk_kind_at);
		if (kind == HY_CHUNK_SOURCE || kind == HY_CHUNK_DERIVED)
			error = walk_slots(walk, chunk,
					   kind == HY_CHUNK_DERIVED);
	}
	return error;
}

/* Does the head of a chunk have all the fields that are read from it? */
static bool head_fits(const struct hy_layout *l)
{
	uint32_t at = most(l->chunk_next_at, l->chunk_kind_at);

	at = most(at, most(l->chunk_slot_bytes_at, l->chunk_used_at));
	return at + 8 <= l->chunk_slots_at;
}

int census_cells(const struct census *census,
		 const struct census_visitor *visitor)
{
	const struct hy_layout *l = &census->layout;
	struct walk walk = {
		.census = census, .visitor = visitor, .budget = BYTES_MAX};
	uint64_t at = first_of(census, l->graphs);
	struct walker walker = {0};
	struct graph graph;
	int error = -ENOMEM, one;

	if (!head_fits(l))
		return -EPROTO;
	walk.chunk = malloc(l->chunk_bytes);
	walk.head = malloc(l->chunk_slots_at);
	if (walk.chunk && walk.head &&
	    !census_texts_open(&walk.texts, census, visitor)) {
		error = 0;
		for (; go_on(&walker, at); at = graph.next) {
			if (!read_graph(census, at, &graph)) {
				error = -EPROTO;
				break;
			}
			one = walk_chunks(&walk, graph.chunks);
			error = error ? error : one;
			if (is_enough(census)) {
				error = -ECANCELED;
				break;
			}
		}
		census_texts_flush(&walk.texts);
		census_texts_close(&walk.texts);
	}
	free(walk.chunk);
	free(walk.head);
	return error;
}

void census_blocks(const struct census *census,
		   void (*fn)(void *ctx, uint64_t block), void *ctx)
{
	const struct hy_layout *l = &census->layout;
	uint64_t at = first_of(census, l->threads), next, block;
	struct walker walker = {0};

	for (; go_on(&walker, at); at = next) {
		struct piece pieces[] = {
			{at + l->thread_next_at, &next, 8, false},
			{at + l->thread_block_at, &block, 8, false},
		};

		census->memory->read(census->memory, pieces, 2);
		if (!pieces[0].ok || !pieces[1].ok || is_enough(census))
			break;
		if (block)
			fn(ctx, block);
	}
}
