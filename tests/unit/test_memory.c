/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from: an allocator of the program's, a heap block a cell.
 * And how much of it there is.  Storage of one graph: test_memory_storage.c.
 */
#include "counted.h"

/* ---- the allocator --------------------------------------------------------------- */

static void allocator_is_set_first(void **state)
{
	struct hyphae_graph *graph;

	(void)state;
	assert_int_equal(set_null, 0);
	assert_int_equal(set_twice, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(set_bad[i], -EINVAL);
	graph = hyphae_graph_new(0);
	assert_non_null(graph);
	assert_int_equal(hyphae_set_allocator(&counting), -EBUSY);
	assert_int_equal(hyphae_set_allocator(NULL), -EBUSY);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_set_allocator(&counting), -EBUSY);
	assert_int_equal(
		hyphae_set_allocator(&(struct hyphae_allocator){.ctx = NULL}),
		-EINVAL);
}

static void allocator_gets_all_back(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		size_t blocks = tally.blocks, bytes = tally.bytes;
		size_t pages = tally.pages, calls = tally.calls;
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1), *both[2];
		unsigned int n = 0;

		assert_int_equal(hyphae_cell_set_name(a, "mycelium"), 0);
		assert_int_equal(tally.blocks, blocks + 1);
		assert_int_equal(tally.bytes, bytes + sizeof(struct hy_label) +
						      sizeof("mycelium"));
		both[0] = a;
		both[1] = hyphae_map(a, &hyphae_int64, plus_one, NULL);
		assert_non_null(
			hyphae_combine(both, 2, &hyphae_int64, sum, NULL));
		assert_non_null(hyphae_subscribe(a, count_call, &n));
		assert_int_equal(hyphae_batch_begin(graph), 0);
		assert_int_equal(hyphae_int64_set(a, 2), 0);
		assert_int_equal(hyphae_batch_end(graph), 0);
		assert_int_equal(n, 2);
		assert_true(tally.calls > calls + 5);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.blocks, blocks);
		assert_int_equal(tally.bytes, bytes);
		/* Chunks are kept for the next graph. */
		if (turn)
			assert_int_equal(tally.pages, pages);
	}
	assert_true(tally.pages > 0);
}

/* A source is its slot and nothing more. */
static void idle_source_is_its_slot(void **state)
{
	(void)state;
	for (size_t f = 0; f < 4; f++) {
		struct hyphae_graph *graph = hyphae_graph_new(every_flags[f]);
		struct hyphae_cell *a = hyphae_int64_new(graph, 0);
		unsigned long asked = hy_alloc_count();

		/* As many as fit into the chunk. */
		for (int i = 1; i < HYPHAE_CHUNK_SOURCES; i++) {
			a = hyphae_int64_new(graph, i);
			assert_non_null(a);
			assert_int_equal(hyphae_int64_set(a, -i), 0);
		}
		assert_int_equal(hy_alloc_count(), asked);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- a block of the heap for each cell ------------------------------------------------ */

#define SOURCE_HEAP (sizeof(struct hy_cell) + sizeof(struct hy_cold))
#define DERIVED_HEAP (sizeof(struct hy_derived) + sizeof(struct hy_cold))

static void heap_cells(void **state)
{
	(void)state;
	for (size_t f = 0; f < 4; f++) {
		size_t at_first = tally.blocks;
		struct hyphae_graph *graph =
			hyphae_graph_new(every_flags[f] | HYPHAE_HEAP_CELLS);
		struct hyphae_cell *sources[101], *derived[53];
		struct hyphae_subscription *subs[29];
		size_t blocks, bytes;
		unsigned int n = 0, drops = 0;

		assert_non_null(graph);
		/* Arrays of the graph first. */
		sources[0] = hyphae_int64_new(graph, 0);
		derived[0] =
			hyphae_map(sources[0], &hyphae_int64, plus_one, NULL);
		subs[0] = hyphae_subscribe(derived[0], count_call, &n);
		blocks = tally.blocks;
		bytes = tally.bytes;
		for (int i = 1; i < 101; i++) {
			sources[i] = hyphae_int64_new(graph, i);
			assert_int_equal(tally.blocks, blocks + (size_t)i);
		}
		assert_int_equal(tally.bytes, bytes + 100 * SOURCE_HEAP);
		if (every_flags[f] & HYPHAE_EAGER) /* its stack grows */
			goto done;
		for (int i = 1; i < 53; i++)
			derived[i] = hyphae_map(sources[i], &hyphae_int64,
						plus_one, NULL);
		assert_int_equal(tally.blocks, blocks + 152);
		assert_int_equal(tally.bytes,
				 bytes + 100 * SOURCE_HEAP + 52 * DERIVED_HEAP);
		/* All of one cell: room for those that fire does not grow. */
		for (int i = 1; i < 29; i++)
			subs[i] = hyphae_subscribe_with(derived[0], count_call,
							&n, NULL, 0);
		assert_int_equal(tally.blocks, blocks + 180);
		assert_int_equal(tally.bytes,
				 bytes + 100 * SOURCE_HEAP + 52 * DERIVED_HEAP +
					 28 * sizeof(struct hy_sub));
		for (int i = 1; i < 29; i++)
			assert_int_equal(hyphae_unsubscribe(subs[i]), 0);
		for (int i = 1; i < 53; i++)
			assert_int_equal(hyphae_cell_unref(derived[i]), 0);
		assert_int_equal(tally.blocks, blocks + 100);
		assert_int_equal(
			hyphae_cell_own(sources[1], &drops, count_drop), 0);
		for (int i = 1; i < 101; i++)
			assert_int_equal(hyphae_cell_unref(sources[i]), 0);
		assert_int_equal(drops, 1);
		assert_int_equal(tally.blocks, blocks);
		assert_int_equal(tally.bytes, bytes);
done:
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.blocks, at_first);
	}
}

/* All of it comes back with the graph, and a sub's own drop is called. */
static void heap_cells_of_a_graph(void **state)
{
	size_t blocks = tally.blocks, bytes = tally.bytes;
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_HEAP_CELLS);
	unsigned int n = 0, drops = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct hyphae_cell *a = hyphae_int64_new(graph, i);

		assert_non_null(hyphae_map(a, &hyphae_int64, plus_one, NULL));
		if (i % 3 == 0)
			assert_non_null(hyphae_subscribe(a, count_call, &n));
		else
			assert_non_null(hyphae_subscribe_with(
				a, count_call, &drops, count_drop,
				HYPHAE_SKIP_INITIAL));
	}
	assert_int_equal(n, 100);
	assert_int_equal(drops, 0);
	assert_true(tally.blocks > blocks + 900);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(drops, 200);
	assert_int_equal(tally.blocks, blocks);
	assert_int_equal(tally.bytes, bytes);
}

static void heap_cells_sweep(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_HEAP_CELLS);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	struct hyphae_graph_counts before, after;
	unsigned int swept = 0, first = 0;

	(void)state;
	hyphae_cell_unref(hyphae_map(a, &hyphae_int64, plus_one, NULL));
	hyphae_unsubscribe(hyphae_subscribe(a, count_call, &first));
	assert_int_equal(hyphae_graph_counts(graph, &before), 0);
	OOM_SWEEP(n)
	{
		size_t blocks = tally.blocks;
		unsigned int calls = 0;
		struct hyphae_cell *b = hyphae_int64_new(graph, 2);
		struct hyphae_cell *c =
			hyphae_map(a, &large_type, to_large, NULL);
		struct hyphae_subscription *s = hyphae_subscribe_with(
			a, count_call, &calls, NULL, HYPHAE_SKIP_INITIAL);

		OOM_PAUSE();
		swept++;
		hyphae_cell_unref(b);
		hyphae_cell_unref(c);
		hyphae_unsubscribe(s);
		assert_int_equal(!b + !c + !s, n >= 1 && n <= 5);
		assert_int_equal(tally.blocks, blocks);
	}
	/*
	 * None fails; one of five: source, derived and its two boxes,
	 * subscription; none is left to fail.
	 */
	assert_int_equal(swept, 7);
	assert_int_equal(hyphae_graph_counts(graph, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#define SOURCE_BYTES (sizeof(struct hy_cell) + sizeof(uint32_t))
#define DERIVED_BYTES (sizeof(struct hy_derived) + sizeof(uint32_t))

/* What an operator of one input keeps goes with its cell. */
static void state_goes_with_its_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	size_t blocks;

	(void)state;
	assert_int_equal(hyphae_cell_unref(hyphae_distinct(a, 4)), 0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *b = hyphae_distinct(a, 4);

		assert_non_null(b);
		assert_true(tally.blocks > blocks);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int give_up(void *ret, const void *input, void *ctx)
{
	(void)ret;
	(void)input;
	(void)ctx;
	return hyphae_error(-EIO, "no");
}

/* And not with the next that has its slot. */
static void an_error_goes_with_its_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *a = hyphae_int64_new(graph, 1);
	size_t blocks;

	(void)state;
	assert_int_equal(
		hyphae_cell_unref(hyphae_map(a, &hyphae_int64, plus_one, NULL)),
		0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *b =
			hyphae_map(a, &hyphae_int64, give_up, NULL);

		assert_int_equal(tally.blocks, blocks + 1);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- how much ---------------------------------------------------------------------------- */

static void memory_of_a_graph(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_graph_memory m;
	struct hyphae_cell *cells[3];
	struct hyphae_scope *scope;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(hyphae_graph_memory(NULL, &m), -EINVAL);
	assert_int_equal(hyphae_graph_memory(graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.chunks, 0);
	assert_int_equal(m.arrays + m.values + m.names + m.inputs, 0);
	for (int i = 0; i < 3; i++)
		cells[i] = hyphae_int64_new(graph, i);
	assert_int_equal(hyphae_cell_set_name(cells[0], "root"), 0);
	assert_non_null(hyphae_combine(cells, 3, &hyphae_int64, sum, NULL));
	assert_non_null(hyphae_map(
		large_new_at(graph, (struct large){.n = 1}, HYPHAE_HERE),
		&large_type, next_large, NULL));
	assert_non_null(hyphae_subscribe(cells[0], count_call, &n));
	assert_non_null(hyphae_subscribe(cells[1], count_call, &n));
	scope = hyphae_scope_new(graph);
	assert_non_null(scope);
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.sources.count, 4);
	/* One has a name, one boxes. */
	assert_int_equal(m.sources.in_use, 4 * SOURCE_BYTES +
						   sizeof(struct hy_label) +
						   sizeof(struct hy_cold));
	assert_int_equal(m.sources.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.derived.count, 2);
	assert_int_equal(m.derived.in_use,
			 2 * DERIVED_BYTES + sizeof(struct hy_cold));
	assert_int_equal(m.derived.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.subscriptions.count, 2);
	assert_int_equal(m.subscriptions.in_use, 2 * sizeof(struct hy_sub));
	assert_int_equal(m.subscriptions.reserved, HYPHAE_CHUNK_BYTES);
	assert_int_equal(m.scopes.count, 1);
	assert_int_equal(m.scopes.in_use, 64);
	assert_int_equal(m.chunks, 4);
	/* One of the source, two of the map. */
	assert_int_equal(m.values,
			 3 * (sizeof(struct hy_box) + sizeof(struct large)));
	assert_int_equal(m.names, 5);
	assert_int_equal(m.inputs,
			 sizeof(struct hy_fan_in) +
				 3 * (sizeof(struct hy_edge) + sizeof(void *)));
	/* A queue for 64 heights; eight that may fire. */
	assert_int_equal(m.arrays, 64 * sizeof(struct hy_bucket) +
					   5 * sizeof(uint64_t) +
					   8 * HY_FIRED_BYTES);
	assert_int_equal(m.storage, 0);
	assert_int_equal(m.unused, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_graph_memory(graph, &m), -ESTALE);
}

static void memory_of_a_million_cells(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_graph_memory m;
	size_t per_chunk = (HY_CHUNK_BYTES - HY_CHUNK_HEADER) / SOURCE_BYTES;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		assert_non_null(hyphae_int64_new(graph, i));
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.sources.count, 1000000);
	assert_int_equal(m.sources.in_use, 1000000 * SOURCE_BYTES);
	assert_int_equal(m.chunks, (1000000 + per_chunk - 1) / per_chunk);
	assert_int_equal(m.sources.reserved, m.chunks * HY_CHUNK_BYTES);
	assert_int_equal(m.derived.reserved, 0);
	assert_int_equal(m.arrays, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- more sites than the table of labels has room for -------------------------- */

/* One whose cells have a label each: the table takes all that there is. */
static const char *site_without_place(struct hyphae_graph *graph)
{
	static const char sites[4 * HY_LABEL_SITES];
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(sites); i++) {
		struct hyphae_cell *cell =
			hyphae_int64_new_at(graph, 1, &sites[i]);

		if (!hy_label_is_shared(hy_label_of(hy_cell(cell))))
			found = &sites[i];
		assert_int_equal(hyphae_cell_unref(cell), 0);
	}
	return found;
}

static void a_site_of_many(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	const char *site = site_without_place(graph);
	struct hyphae_cell *first = hyphae_int64_new(graph, 1);
	unsigned int swept = 0;
	size_t blocks;

	(void)state;
	assert_non_null(site);
	/* The queue first. */
	assert_int_equal(hyphae_cell_unref(hyphae_map(first, &hyphae_int64,
						      plus_one, NULL)),
			 0);
	blocks = tally.blocks;
	for (int i = 0; i < 3; i++) {
		struct hyphae_cell *a = hyphae_int64_new_at(graph, 1, site);
		struct hyphae_cell *b =
			hyphae_map_at(a, &hyphae_int64, plus_one, NULL, site);
		struct hyphae_cell_info info;

		assert_int_equal(tally.blocks, blocks + 2);
		assert_int_equal(hyphae_cell_info(b, &info), 0);
		assert_ptr_equal(info.site, site);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(tally.blocks, blocks);
	}
	OOM_SWEEP(n)
	{
		struct hyphae_cell *c =
			large_new_at(graph, (struct large){.n = 5}, site);

		OOM_PAUSE();
		swept++;
		/* Box, label, cold part. */
		assert_int_equal(!c, n >= 1 && n <= 3);
		hyphae_cell_unref(c);
		assert_int_equal(tally.blocks, blocks);
	}
	assert_int_equal(swept, 5);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocator_is_set_first),
		cmocka_unit_test(allocator_gets_all_back),
		cmocka_unit_test(idle_source_is_its_slot),
		cmocka_unit_test(heap_cells),
		cmocka_unit_test(heap_cells_of_a_graph),
		cmocka_unit_test(heap_cells_sweep),
		cmocka_unit_test(state_goes_with_its_cell),
		cmocka_unit_test(an_error_goes_with_its_cell),
		cmocka_unit_test(memory_of_a_graph),
		cmocka_unit_test(memory_of_a_million_cells),
		cmocka_unit_test(a_site_of_many), /* it fills the table */
	};

	set_up();
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
