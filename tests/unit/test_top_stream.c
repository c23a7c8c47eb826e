/* SPDX-License-Identifier: MIT */
/*
 * Blocks of records into the model: each record once, however it was seen,
 * and what was lost is known exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stream.h"
#include "run.h"

#define FIRE (HY_RECORD_FIRE | HY_RECORD_WRITE)

static struct model model;
static struct stream stream;
static uint64_t state;

static int open_stream(void **test)
{
	(void)test;
	return model_open(&model, 1000, false) || stream_open(&stream, &model);
}

static int close_stream(void **test)
{
	(void)test;
	stream_close(&stream);
	model_close(&model);
	return 0;
}

static uint64_t fires_of(uint64_t id)
{
	const struct cell *cell = model_find(&model, id);

	return cell ? cell->now.fires : 0;
}

static void begin(struct hy_block *block, uint64_t thread, uint64_t sequence)
{
	block->version = HY_ABI_VERSION;
	block->thread = thread;
	block->sequence = sequence;
	block->base_ns = 1000000;
	block->count = block->fires = block->passes = 0;
	block->lost = 0;
}

static void record(struct hy_block *block, uint64_t id, uint32_t flags)
{
	struct hy_record *r = &block->records[block->count++];

	memset(r, 0, sizeof(*r));
	r->cell_flags = id << 16 | flags;
	r->compute = 11;
	r->fanout = 101;
	if (flags & HY_RECORD_FIRE)
		block->fires++;
}

static void deliver(const struct hy_block *block)
{
	stream_block(&stream, block,
		     HY_BLOCK_HEADER + block->count * sizeof(struct hy_record));
}

static void lose(const struct hy_block *block)
{
	struct wire_lost lost = {
		.thread = block->thread,
		.sequence = block->sequence,
		.count = block->count,
		.fires = block->fires,
		.passes = block->passes,
		.base_ns = block->base_ns,
	};

	stream_lost(&stream, &lost);
}

static void flags_count_for_themselves(void **test)
{
	static struct hy_block block;
	const struct cell *cell;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, HY_RECORD_NOTIFY | FIRE);
	record(&block, 3,
	       HY_RECORD_NOTIFY | HY_RECORD_WRITE | HY_RECORD_UNCHANGED);
	record(&block, 3, HY_RECORD_COMPUTE | FIRE | HY_RECORD_REFIRE);
	record(&block, 3, HY_RECORD_COMPUTE | FIRE | HY_RECORD_LONG);
	block.passes = 2;
	deliver(&block);
	cell = model_find(&model, 3);
	assert_int_equal(cell->now.notifies, 2);
	assert_int_equal(cell->now.writes, 4);
	assert_int_equal(cell->now.unchanged, 1);
	assert_int_equal(cell->now.fires, 3);
	assert_int_equal(cell->now.refires, 1);
	assert_int_equal(cell->now.computes, 2);
	assert_int_equal(cell->now.fanout_ns, 101 + 101 + 101 * 1024);
	assert_int_equal(cell->now.compute_ns, 11 + 11 * 1024);
	assert_int_equal(cell->max_ns, 101 * 1024);
	assert_int_equal(model.passes, 2);
	assert_int_equal(model.total.fires, 3);
}

static void a_peek_counts_once(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	block.passes = 1;
	stream_peek(&stream, &block, false);
	stream_peek(&stream, &block, false);
	assert_int_equal(fires_of(3), 1);
	assert_int_equal(stream_peeked(&stream, 5, 1), 1);
	record(&block, 3, FIRE);
	record(&block, 4, FIRE);
	block.passes = 3;
	deliver(&block);
	assert_int_equal(fires_of(3), 2);
	assert_int_equal(fires_of(4), 1);
	assert_int_equal(model.passes, 3);
	/* Not yet emptied: it is the block that came. */
	stream_peek(&stream, &block, false);
	assert_int_equal(fires_of(3), 2);
	assert_int_equal(stream_peeked(&stream, 5, 1), 0);
	assert_int_equal(stream_missing(&stream), 0);
}

static void a_loss_is_what_was_not_peeked(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	record(&block, 3, HY_RECORD_NOTIFY);
	block.passes = 1;
	stream_peek(&stream, &block, false);
	record(&block, 3, FIRE);
	record(&block, 3, FIRE);
	block.passes = 2;
	lose(&block);
	assert_int_equal(model.lost.records, 2);
	assert_int_equal(model.lost.fires, 2);
	assert_int_equal(model.lost.passes, 1);
	assert_int_equal(fires_of(3), 1);
	assert_int_equal(stream_missing(&stream), 0);
}

static void a_block_that_never_came_is_missing(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	deliver(&block);
	block.sequence = 5;
	deliver(&block);
	assert_int_equal(stream_missing(&stream), 3);
	/* The other ring is read later. */
	block.sequence = 3;
	lose(&block);
	assert_int_equal(stream_missing(&stream), 2);
}

static void a_thread_id_can_come_again(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	deliver(&block);
	block.sequence = 2;
	deliver(&block);
	block.sequence = 1;
	deliver(&block);
	assert_int_equal(fires_of(3), 3);
	block.sequence = 2;
	deliver(&block);
	assert_int_equal(fires_of(3), 4);
	assert_int_equal(stream_missing(&stream), 0);
}

/*
 * News of a loss come when the id already belongs to another thread: they
 * fill the gap of the one before, and make none in the numbers of this one.
 */
static void a_loss_of_the_thread_before(void **test)
{
	static struct hy_block block, lost;

	(void)test;
	begin(&lost, 5, 2);
	record(&lost, 3, FIRE);
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	deliver(&block);
	block.sequence = 4;
	deliver(&block);
	assert_int_equal(stream_missing(&stream), 2);
	begin(&block, 5, 1);
	block.base_ns = 2000000;
	record(&block, 3, FIRE);
	deliver(&block);
	assert_int_equal(stream_missing(&stream), 2);
	lose(&lost);
	lost.sequence = 3;
	lose(&lost);
	assert_int_equal(stream_missing(&stream), 0);
	/* Its last block was in no gap. */
	lost.sequence = 5;
	lose(&lost);
	assert_int_equal(stream_missing(&stream), 0);
	block.sequence = 2;
	deliver(&block);
	assert_int_equal(stream_missing(&stream), 0);
	assert_int_equal(fires_of(3), 4);
	assert_int_equal(model.lost.fires, 3);
}

/* What a killed process takes with it: nobody knows how much. */
static void blocks_that_are_left_behind(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	stream_peek(&stream, &block, false);
	begin(&block, 6, 1);
	record(&block, 3, FIRE);
	stream_peek(&stream, &block, false);
	deliver(&block);
	/* Empty as it is, it will not be delivered. */
	begin(&block, 7, 1);
	stream_peek(&stream, &block, false);
	assert_int_equal(stream_missing(&stream), 0);
	stream_abandon(&stream);
	assert_int_equal(stream_missing(&stream), 1);
	assert_int_equal(model.lost.unfinished, 1);
	stream_abandon(&stream);
	assert_int_equal(stream_missing(&stream), 1);
	assert_int_equal(fires_of(3), 2);
}

/* The process has said that it holds nothing back. */
static void a_farewell(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	deliver(&block);
	begin(&block, 0, 0);
	deliver(&block);
	stream_abandon(&stream);
	assert_int_equal(model.lost.unfinished, 0);
	assert_int_equal(stream_missing(&stream), 0);
	stream.farewell = false;
	lose(&block);
	stream_abandon(&stream);
	assert_int_equal(model.lost.unfinished, 0);
	assert_int_equal(model.lost.records, 0);
}

static void what_is_older_does_not_count(void **test)
{
	static struct hy_block block, late;

	(void)test;
	stream.since_ns = 2000000;
	stream.begun_ns = 2000100;
	/* Thread 5 was peeked at when it began, in its 7th block. */
	begin(&block, 5, 7);
	record(&block, 3, FIRE);
	record(&block, 3, FIRE);
	block.passes = 4;
	stream_peek(&stream, &block, true);
	assert_int_equal(fires_of(3), 0);
	assert_int_equal(model.passes, 0);
	/* Its 6th block was on its way. */
	begin(&late, 5, 6);
	record(&late, 3, FIRE);
	deliver(&late);
	lose(&late);
	assert_int_equal(fires_of(3), 0);
	assert_int_equal(model.lost.records, 0);
	/* What comes in the 7th counts if it is new. */
	record(&block, 3, FIRE);
	block.records[2].start = 1500000;
	block.passes = 5;
	deliver(&block);
	assert_int_equal(fires_of(3), 1);
	assert_int_equal(model.passes, 1);
	assert_int_equal(stream_missing(&stream), 0);
	/* A thread that was not seen then: by the time of the record. */
	begin(&block, 6, 1);
	record(&block, 4, FIRE);
	record(&block, 4, FIRE);
	block.records[0].start = 999999;
	block.records[1].start = 1000000;
	deliver(&block);
	assert_int_equal(fires_of(4), 1);
	assert_true(stream.stale >= 1);
}

static void losses_of_the_library_show(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	block.lost = 13;
	stream_peek(&stream, &block, true);
	assert_int_equal(model.lost.records, 0);
	block.lost = 20;
	deliver(&block);
	begin(&block, 6, 1);
	block.lost = 20;
	deliver(&block);
	assert_int_equal(model.lost.records, 7);
}

static void what_is_no_block_is_left_out(void **test)
{
	static struct hy_block block;

	(void)test;
	begin(&block, 5, 1);
	record(&block, 3, FIRE);
	stream_block(&stream, &block, 63);
	stream_block(&stream, &block, 64 + 23);
	block.count = UINT32_MAX;
	stream_block(&stream, &block, sizeof(block));
	stream_peek(&stream, &block, false);
	block.count = 1;
	block.version = HY_ABI_VERSION + 1;
	stream_block(&stream, &block, sizeof(block));
	assert_int_equal(stream.foreign, 4);
	assert_int_equal(model.total.fires, 0);
}

/* ---- anything, in any order ---------------------------------------------- */

#define THREADS 7
#define CELLS 13
#define STEPS 100003

struct player {
	struct hy_block block;
};

static uint32_t next_random(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

/* The sum of what was counted and what was lost is what happened. */
static void nothing_is_counted_twice_or_forgotten(void **test)
{
	static struct player players[THREADS];
	uint64_t fires = 0, passes = 0, records = 0, got = 0;
	uint32_t i, id;

	(void)test;
	state = test_seed(47);
	for (i = 0; i < THREADS; i++)
		begin(&players[i].block, 100 + i, 1);
	for (i = 0; i < STEPS; i++) {
		struct hy_block *block = &players[next_random(THREADS)].block;
		uint32_t what = next_random(100);

		if (what < 80 && block->count < HY_BLOCK_RECORDS) {
			bool fire = next_random(3);

			record(block, 1 + next_random(CELLS),
			       fire ? FIRE : HY_RECORD_NOTIFY);
			fires += fire;
			records++;
		} else if (what < 85) {
			block->passes++;
			passes++;
		} else if (what < 94) {
			stream_peek(&stream, block, false);
		} else if (what < 98) {
			deliver(block);
			begin(block, block->thread, block->sequence + 1);
		} else {
			lose(block);
			begin(block, block->thread, block->sequence + 1);
		}
	}
	for (i = 0; i < THREADS; i++)
		deliver(&players[i].block);
	for (id = 1; id <= CELLS; id++)
		got += fires_of(id);
	assert_int_equal(got, model.total.fires);
	assert_int_equal(got + model.lost.fires, fires);
	assert_int_equal(model.passes + model.lost.passes, passes);
	assert_int_equal(model.total.fires + model.total.notifies +
				 model.lost.records,
			 records);
	assert_true(model.lost.records > 0);
	assert_int_equal(stream_missing(&stream), 0);
}

int main(void)
{
#define WITH_STREAM(test)                                                      \
	cmocka_unit_test_setup_teardown(test, open_stream, close_stream)
	const struct CMUnitTest tests[] = {
		WITH_STREAM(flags_count_for_themselves),
		WITH_STREAM(a_peek_counts_once),
		WITH_STREAM(a_loss_is_what_was_not_peeked),
		WITH_STREAM(a_block_that_never_came_is_missing),
		WITH_STREAM(a_thread_id_can_come_again),
		WITH_STREAM(a_loss_of_the_thread_before),
		WITH_STREAM(blocks_that_are_left_behind),
		WITH_STREAM(a_farewell),
		WITH_STREAM(what_is_older_does_not_count),
		WITH_STREAM(losses_of_the_library_show),
		WITH_STREAM(what_is_no_block_is_left_out),
		WITH_STREAM(nothing_is_counted_twice_or_forgotten),
	};

	return cmocka_run_group_tests_name("top: stream", tests, NULL, NULL);
}
