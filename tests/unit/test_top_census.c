/* SPDX-License-Identifier: MIT */
/*
 * Looking into a process: a real one (this), a made-up one, and made-up ones
 * in which anything may be corrupt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "bpf/census.h"
#include "bpf/maps.h"
#include "run.h"

/* ---- a made-up process: one stretch of memory --------------------------- */

#define BASE 0x10000ull
#define CHUNK 4096u
#define SEMAPHORE BASE
#define LAYOUT (BASE + 0x100)
#define LISTS (BASE + 0x400) /* first graph, first thread */
#define GRAPH (BASE + 0x500)
#define TEXTS (BASE + 0x800)
#define CHUNKS (BASE + 0x1000)
#define SIZE 0x8000u

#define UNREADABLE 0xdead0000ull

#define SLOT 64u
#define SLOTS_AT 64u

struct world {
	unsigned char bytes[SIZE];
	uint64_t reads; /* how often it was read */
};

static struct world world;

static void read_world(const struct memory *memory, struct piece *pieces,
		       size_t n)
{
	struct world *w = memory->ctx;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t at = pieces[i].address - BASE;

		w->reads++;
		pieces[i].ok = at <= SIZE && pieces[i].size <= SIZE - at;
		if (pieces[i].ok)
			memcpy(pieces[i].to, w->bytes + at, pieces[i].size);
	}
}

static const struct memory made_up = {.read = read_world, .ctx = &world};

static void put64(uint64_t address, uint64_t value)
{
	memcpy(world.bytes + (address - BASE), &value, sizeof(value));
}

static void put32(uint64_t address, uint32_t value)
{
	memcpy(world.bytes + (address - BASE), &value, sizeof(value));
}

static void put_text(uint64_t address, const char *text)
{
	memcpy(world.bytes + (address - BASE), text, strlen(text) + 1);
}

static const struct hy_layout layout = {
	.magic = HY_LAYOUT_MAGIC,
	.version = HY_ABI_VERSION,
	.bytes = sizeof(struct hy_layout),
	.graphs = LISTS,
	.threads = LISTS + 8,
	.graph_next_at = 0,
	.graph_id_at = 8,
	.graph_flags_at = 16,
	.graph_chunks_at = 24,
	.graph_cells_at = 32,
	.graph_subs_at = 40,
	.chunk_bytes = CHUNK,
	.chunk_next_at = 0,
	.chunk_kind_at = 8,
	.chunk_slot_bytes_at = 12,
	.chunk_used_at = 16,
	.chunk_slots_at = SLOTS_AT,
	.cell_id_at = 0,
	.cell_name_at = 8,
	.cell_type_at = 16,
	.cell_targets_at = 24,
	.cell_height_at = 32,
	.cell_flags_at = 36,
	.cell_op_at = 40,
	.edge_bytes = 16,
	.site_before_name = 8,
	.cell_flag_dead = 4,
	.type_name_at = 8,
	.type_size_at = 16,
	.op_name_at = 8,
	.thread_next_at = 0,
	.thread_block_at = 8,
};

static void put_chunk(uint64_t chunk, uint64_t next, uint32_t kind,
		      uint32_t used)
{
	put64(chunk, next);
	put32(chunk + 8, kind);
	put32(chunk + 12, SLOT);
	put32(chunk + 16, used);
}

static void put_cell(uint64_t chunk, uint32_t index, uint64_t id, uint64_t name)
{
	uint64_t slot = chunk + SLOTS_AT + index * SLOT;

	put64(slot, id);
	put64(slot + 8, name);
	put64(slot + 16, TEXTS);
	put32(slot + 24, (uint32_t)id + 100);
	put32(slot + 32, (uint32_t)id % 7);
	put64(slot + 40, TEXTS + 0x20);
	if (name != UNREADABLE)
		put64(name - 8, TEXTS + 0x60); /* the site */
}

/* One graph: sources 2, 3, -, 5 and derived cells 7, 11. */
static void make_world(void)
{
	memset(&world, 0, sizeof(world));
	put64(SEMAPHORE + HY_LAYOUT_FROM_SEMAPHORE, LAYOUT);
	memcpy(world.bytes + (LAYOUT - BASE), &layout, sizeof(layout));
	put64(LISTS, GRAPH);
	put64(GRAPH + 24, CHUNKS);
	put64(GRAPH + 32, 5);
	put64(TEXTS + 8, TEXTS + 0x40);	   /* the type's name */
	put64(TEXTS + 0x28, TEXTS + 0x50); /* the operator's */
	put_text(TEXTS + 0x40, "int64");
	put_text(TEXTS + 0x50, "map");
	put_text(TEXTS + 0x60, "made.c:1");
	put_text(TEXTS + 0x80, "two");
	put_text(TEXTS + 0x90, "");
	/* One that ends where memory does, and one that does not end. */
	put_text(BASE + SIZE - 4, "end");
	memset(world.bytes + 0x2f00, 'x', 0x400);
	put_chunk(CHUNKS, CHUNKS + 3 * CHUNK, HY_CHUNK_SOURCE, 4);
	put_cell(CHUNKS, 0, 2, TEXTS + 0x80);
	put_cell(CHUNKS, 1, 3, TEXTS + 0x90);
	put_cell(CHUNKS, 3, 5, BASE + SIZE - 4);
	put_chunk(CHUNKS + 3 * CHUNK, 0, HY_CHUNK_DERIVED, 2);
	put_cell(CHUNKS + 3 * CHUNK, 0, 7, BASE + 0x2f00);
	put_cell(CHUNKS + 3 * CHUNK, 1, 11, UNREADABLE);
}

/* ---- what a visitor sees -------------------------------------------------- */

struct seen {
	char text[4096];
	unsigned int cells;
	uint64_t only; /* 0: all are wanted */
};

static bool wants(void *ctx, uint64_t id)
{
	const struct seen *seen = ctx;

	return !seen->only || id == seen->only;
}

static void see(void *ctx, const struct census_cell *cell)
{
	struct seen *seen = ctx;
	size_t n = strlen(seen->text);

	seen->cells++;
	snprintf(seen->text + n, sizeof(seen->text) - n,
		 "%llu %.8s/%zu %s %s %s h%u t%llu|",
		 (unsigned long long)cell->id, cell->name, strlen(cell->name),
		 cell->type, cell->op, cell->site, cell->height,
		 (unsigned long long)cell->targets);
}

static int look(struct seen *seen)
{
	struct census_visitor visitor = {wants, see, seen};
	struct census census;
	int error = census_open(&census, &made_up, SEMAPHORE);

	if (error)
		return error;
	return census_cells(&census, &visitor);
}

static void a_whole_world_is_seen(void **test)
{
	struct seen seen = {0};
	struct census census;

	(void)test;
	make_world();
	assert_int_equal(look(&seen), 0);
	assert_string_equal(seen.text,
			    "2 two/3 int64 source made.c:1 h2 t102|"
			    "3 /0 int64 source made.c:1 h3 t103|"
			    "5 end/3 int64 source made.c:1 h5 t105|"
			    "7 xxxxxxxx/255 int64 map made.c:1 h0 t107|"
			    "11 /0 int64 map  h4 t111|");
	/* The followers of one that waits to be freed are not to be known. */
	put32(CHUNKS + SLOTS_AT + 36, 4);
	memset(&seen, 0, sizeof(seen));
	seen.only = 2;
	assert_int_equal(look(&seen), 0);
	assert_string_equal(seen.text, "2 two/3 int64 source made.c:1 h2 t0|");
	assert_int_equal(census_open(&census, &made_up, SEMAPHORE), 0);
	assert_int_equal(census_count(&census), 5);
}

static bool after_some(void *ctx)
{
	int *left = ctx;

	return (*left)-- <= 0;
}

/* Wherever it is told to stop, it does, and says so. */
static void it_stops_when_it_is_enough(void **test)
{
	struct seen seen = {0};
	struct census_visitor visitor = {wants, see, &seen};
	struct census census;
	int some, left, error = -ECANCELED;

	(void)test;
	make_world();
	assert_int_equal(census_open(&census, &made_up, SEMAPHORE), 0);
	census.enough = after_some;
	census.enough_ctx = &left;
	for (some = 0; error == -ECANCELED; some++) {
		left = some;
		memset(&seen, 0, sizeof(seen));
		error = census_cells(&census, &visitor);
		assert_true(seen.cells <= 5);
	}
	assert_int_equal(error, 0);
	assert_int_equal(seen.cells, 5);
	assert_true(some > 3);
	left = 0;
	assert_int_equal(census_count(&census), 0);
}

static void only_what_is_wanted_costs(void **test)
{
	struct seen seen = {.only = 5};

	(void)test;
	make_world();
	assert_int_equal(look(&seen), 0);
	assert_string_equal(seen.text,
			    "5 end/3 int64 source made.c:1 h5 t105|");
}

static void another_version_is_refused(void **test)
{
	struct seen seen = {0};

	(void)test;
	make_world();
	put32(LAYOUT + offsetof(struct hy_layout, version), HY_ABI_VERSION + 1);
	assert_int_equal(look(&seen), -ENOTSUP);
	make_world();
	put64(LAYOUT, 1);
	assert_int_equal(look(&seen), -EPROTO);
	make_world();
	put32(LAYOUT + offsetof(struct hy_layout, bytes), 40);
	assert_int_equal(look(&seen), -EPROTO);
	make_world();
	put64(SEMAPHORE + 8, BASE + SIZE - 8);
	assert_int_equal(look(&seen), -EFAULT);
	make_world();
	put32(LAYOUT + offsetof(struct hy_layout, cell_name_at), 1u << 31);
	assert_int_equal(look(&seen), -EPROTO);
	make_world();
	put32(LAYOUT + offsetof(struct hy_layout, chunk_bytes), 5000);
	assert_int_equal(look(&seen), -EPROTO);
}

static void lists_that_go_round_end(void **test)
{
	struct seen seen = {.only = 1};

	(void)test;
	make_world();
	put64(CHUNKS + 3 * CHUNK, CHUNKS);
	assert_int_equal(look(&seen), -EPROTO);
	make_world();
	put64(GRAPH, GRAPH);
	world.reads = 0;
	assert_int_equal(look(&seen), 0);
	assert_true(world.reads < 100);
}

static void chunks_that_make_no_sense_are_left_out(void **test)
{
	static const struct {
		uint32_t at, value;
	} wrong[] = {{12, 8},  {12, 1u << 30}, {16, 1u << 31},
		     {16, 65}, {16, 64},       {12, 39}};
	size_t i;

	(void)test;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct seen seen = {0};

		make_world();
		put32(CHUNKS + wrong[i].at, wrong[i].value);
		assert_int_equal(look(&seen), -EPROTO);
		assert_int_equal(seen.cells, 0);
	}
	make_world();
	put64(CHUNKS, CHUNKS + 64);
	{
		struct seen seen = {0};

		assert_int_equal(look(&seen), -EPROTO);
		assert_int_equal(seen.cells, 3);
	}
}

/* Whatever bytes are wrong: it ends, and the sanitizers stay silent. */
static void corruption_of_any_kind(void **test)
{
	unsigned long long seed = test_seed(53);
	uint64_t state = seed;
	int round, i;

	(void)test;
	for (round = 0; round < 3001; round++) {
		struct seen seen = {0};

		make_world();
		for (i = 0; i < 1 + round % 13; i++) {
			uint64_t at;

			state = state * 6364136223846793005u +
				1442695040888963407u;
			/* Mostly where the structures are. */
			at = (state >> 33) % (round % 2 ? 0x700 : SIZE);
			world.bytes[at] = (unsigned char)(state >> 56);
		}
		(void)look(&seen);
	}
}

/* ---- threads --------------------------------------------------------------- */

static void add_block(void *ctx, uint64_t block)
{
	uint64_t *sum = ctx;

	*sum = *sum * 1000 + block;
}

static void blocks_of_threads(void **test)
{
	struct census census;
	uint64_t sum = 0, reads;

	(void)test;
	make_world();
	put64(LISTS + 8, BASE + 0x600);
	put64(BASE + 0x600, BASE + 0x620);
	put64(BASE + 0x608, 7);
	put64(BASE + 0x620, BASE + 0x640);
	put64(BASE + 0x648, 9);
	assert_int_equal(census_open(&census, &made_up, SEMAPHORE), 0);
	census_blocks(&census, add_block, &sum);
	assert_int_equal(sum, 7009);
	/* A list that goes round. */
	put64(BASE + 0x640, BASE + 0x600);
	reads = world.reads;
	census_blocks(&census, add_block, &sum);
	assert_true(world.reads - reads < 100);
}

/* ---- this process ------------------------------------------------------------ */

static struct seen me;

static void the_real_library(void **test)
{
	struct memory memory = memory_of_process(getpid());
	struct census_visitor visitor = {wants, see, &me};
	static struct maps_found found;
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new_at(graph, 1, "here.c:7");
	struct census census;
	char expected[256];

	(void)test;
	assert_int_equal(hyphae_cell_set_name(cell, "temperature"), 0);
	assert_int_equal(maps_find(getpid(), NULL, &found), 0);
	assert_true(found.probes);
	assert_int_not_equal(found.notes.semaphore, 0);
	assert_int_equal(census_open(&census, &memory,
				     found.notes.semaphore + found.shift),
			 0);
	assert_int_equal(census_count(&census), 1);
	me.text[0] = '\0';
	assert_int_equal(census_cells(&census, &visitor), 0);
	snprintf(expected, sizeof(expected),
		 "%llu temperat/11 int64 source here.c:7 h0 t0|",
		 (unsigned long long)hyphae_cell_id(cell));
	assert_string_equal(me.text, expected);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(census_count(&census), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void texts_of_a_process(void **test)
{
	struct memory memory = memory_of_process(getpid());
	char text[16];

	(void)test;
	assert_int_equal(memory_text(&memory, (uintptr_t) "words", text, 16),
			 5);
	assert_string_equal(text, "words");
	assert_int_equal(memory_text(&memory, (uintptr_t) "words", text, 4), 3);
	assert_string_equal(text, "wor");
	assert_int_equal(memory_text(&memory, 0, text, 16), -1);
}

static void pieces_that_cannot_be_read(void **test)
{
	struct memory memory = memory_of_process(getpid());
	static int from[1500], to[1500];
	static struct piece pieces[1500];
	int i;

	(void)test;
	for (i = 0; i < 1500; i++) {
		from[i] = i + 1;
		pieces[i] = (struct piece){(uintptr_t)&from[i], &to[i],
					   sizeof(int), false};
		if (i % 7 == 3)
			pieces[i].address = 8;
	}
	memory.read(&memory, pieces, 1500);
	for (i = 0; i < 1500; i++) {
		assert_int_equal(pieces[i].ok, i % 7 != 3);
		assert_int_equal(to[i], i % 7 == 3 ? 0 : i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_world_is_seen),
		cmocka_unit_test(it_stops_when_it_is_enough),
		cmocka_unit_test(only_what_is_wanted_costs),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(lists_that_go_round_end),
		cmocka_unit_test(chunks_that_make_no_sense_are_left_out),
		cmocka_unit_test(corruption_of_any_kind),
		cmocka_unit_test(blocks_of_threads),
		cmocka_unit_test(the_real_library),
		cmocka_unit_test(texts_of_a_process),
		cmocka_unit_test(pieces_that_cannot_be_read),
	};

	return cmocka_run_group_tests_name("top: census", tests, NULL, NULL);
}
