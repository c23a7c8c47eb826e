/* SPDX-License-Identifier: MIT */
/* A graph that lives in storage of the program's. */
#include "counted.h"

HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(1000, 660, 1000));

static void wipe(void)
{
	memset(store, 0, sizeof(store));
}

static int read_all(void *ret, void *ctx)
{
	struct hyphae_cell *const *cells = ctx;
	int64_t total = 0, value;

	for (int i = 0; i < 3; i++) {
		int r = hyphae_int64_get(cells[i], &value);

		if (r)
			return r;
		total += value;
	}
	*(int64_t *)ret = total;
	return 0;
}

static struct hyphae_cell *make_inner(const void *value, void *ctx)
{
	struct hyphae_cell *a = ctx, *b;

	b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	return *(const int64_t *)value % 2 ? b : a;
}

/* Cells whose inputs change while they live. */
static void grow_dynamic(struct hyphae_graph *graph, struct hyphae_cell *a)
{
	struct hyphae_cell *cells[3] = {a, a, hyphae_int64_new(graph, 7)};
	struct hyphae_cell *c, *s;

	c = hyphae_computed_at(graph, &hyphae_int64, read_all, cells, "");
	s = hyphae_switch_map_at(cells[2], &hyphae_int64, make_inner, a, "");
	for (int64_t i = 0; i < 20; i++) {
		assert_int_equal(hyphae_int64_set(cells[2], i) < 0, 0);
		assert_int_equal(value_of(c), 2 * value_of(a) + i);
		assert_int_equal(value_of(s), value_of(a) + i % 2);
	}
	assert_int_equal(hyphae_cell_unref(c), 0);
	assert_int_equal(hyphae_cell_unref(s), 0);
}

/* A bit of everything.  Returns the sum that the last of it shows. */
static int64_t grow_all(struct hyphae_graph *graph, unsigned int *calls)
{
	struct hyphae_cell *a = hyphae_int64_new(graph, 1), *three[3], *d, *l;
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_subscription *sub;

	assert_non_null(scope);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	for (int i = 0; i < 40; i++)
		assert_non_null(hyphae_double_new(graph, i));
	assert_int_equal(hyphae_scope_leave(scope), 0);
	three[0] = a;
	three[1] = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	three[2] = hyphae_filter(three[1], positive, NULL);
	d = hyphae_combine(three, 3, &hyphae_int64, sum, NULL);
	l = large_new_at(graph, (struct large){.n = 5}, HYPHAE_HERE);
	assert_non_null(hyphae_map(l, &large_type, next_large, NULL));
	assert_int_equal(large_set(l, (struct large){.n = 7}), 0);
	grow_dynamic(graph, a);
	sub = hyphae_subscribe(d, count_call, calls);
	assert_non_null(sub);
	assert_int_equal(hyphae_cell_set_name(a, "hypha"), 0);
	assert_int_equal(hyphae_cell_set_name(a, "another name"), 0);
	assert_int_equal(hyphae_cell_own(a, calls, count_drop), 0);
	assert_int_equal(hyphae_cell_set_data(a, calls, count_drop), 0);
	assert_int_equal(hyphae_subscription_set_data(sub, calls, count_drop),
			 0);
	assert_int_equal(hyphae_scope_set_data(scope, calls, count_drop), 0);
	assert_int_equal(hyphae_graph_set_data(graph, calls, count_drop), 0);
	assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(a, 2), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	assert_int_equal(hyphae_int64_set(a, 10), 0);
	assert_int_equal(hyphae_cell_fail(l, -EIO, "the message of it"), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	return value_of(d);
}

static void storage_makes_no_call(void **state)
{
	(void)state;
	wipe();
	/* The second time in what the first has left. */
	for (size_t f = 0; f < 8; f++) {
		size_t calls = tally.calls, pages = tally.pages;
		long live = hy_alloc_live();
		unsigned int n = 0;
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f / 2], 0);
		struct hyphae_graph_memory memory;

		assert_non_null(graph);
		assert_int_equal(grow_all(graph, &n), 32);
		/* Three calls and the scope's data. */
		assert_int_equal(n, 4);
		assert_int_equal(hyphae_graph_memory(graph, &memory), 0);
		assert_int_equal(memory.storage, sizeof(store));
		assert_int_equal(memory.spilled, 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
		/* The cell owned one and has one, the others have one. */
		assert_int_equal(n, 8);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(tally.pages, pages);
		assert_int_equal(hy_alloc_live(), live);
	}
}

struct everything {
	struct hyphae_cell *sources[1000];
	struct hyphae_cell *derived[660];
	int failed;
};

static int write_all(const struct hyphae_signal *signal, void *ctx)
{
	struct everything *all = ctx;

	if (hyphae_int64_of(signal) == 1000000)
		for (int i = 1; i < 1000; i++)
			if (hyphae_int64_set(all->sources[i], -i))
				all->failed++;
	return 0;
}

/* What HYPHAE_STORAGE_FOR() promises. */
static void promised_storage(struct hyphae_graph *graph, unsigned int *calls)
{
	static struct everything all;
	struct hyphae_cell *input[4];
	char name[32] = "thirty-one bytes are a name 0000";

	all.failed = 0;
	name[31] = '\0';
	for (int i = 0; i < 1000; i++) {
		all.sources[i] = hyphae_int64_new(graph, 0);
		assert_non_null(all.sources[i]);
		assert_int_equal(hyphae_cell_set_name(all.sources[i], name), 0);
	}
	input[3] = all.sources[0];
	for (int i = 0; i < 660; i++) {
		for (int k = 0; k < 3; k++)
			input[k] = all.sources[i + k + 1];
		input[3] = hyphae_combine(input, 4, &hyphae_int64, sum, NULL);
		assert_non_null(input[3]);
		all.derived[i] = input[3];
		assert_int_equal(hyphae_cell_set_name(input[3], name), 0);
	}
	assert_non_null(hyphae_subscribe(all.sources[0], write_all, &all));
	for (int i = 1; i < 1000; i++)
		assert_non_null(hyphae_subscribe(
			i <= 660 ? all.derived[i - 1] : all.sources[i - 660],
			count_call, calls));
	assert_int_equal(hyphae_batch_begin(graph), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(hyphae_int64_set(all.sources[i], i + 1), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
	/* Now from a subscriber, each of them. */
	assert_int_equal(hyphae_int64_set(all.sources[0], 1000000), 0);
	assert_int_equal(all.failed, 0);
	assert_int_equal(value_of(all.derived[0]), 1000000 - 1 - 2 - 3);
}

static void storage_for_so_many(void **state)
{
	(void)state;
	wipe();
	for (size_t f = 0; f < 4; f++) {
		size_t calls = tally.calls, pages = tally.pages;
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f], 0);
		unsigned int n = 0;

		assert_non_null(graph);
		promised_storage(graph, &n);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(tally.pages, pages);
	}
}

/* Two chunks and what is at least over. */
HYPHAE_STORAGE(small, HYPHAE_STORAGE_BYTES(2));

/* A graph that lives in all of it, however it is aligned. */
static struct hyphae_graph *small_graph(unsigned int how)
{
	memset(small, 0, sizeof(small));
	return graph_in(small, sizeof(small), 0, how);
}

static void storage_is_used_up(void **state)
{
	struct hyphae_graph *graph = small_graph(0);
	size_t calls = tally.calls, pages = tally.pages, n = 0;
	struct hyphae_cell *a = NULL, *last = NULL;
	struct hyphae_graph_counts counts;
	unsigned int drops = 0;

	(void)state;
	assert_non_null(graph);
	while ((a = hyphae_int64_new(graph, (int64_t)n)))
		n++, last = a;
	assert_int_equal(errno, ENOMEM);
	assert_true(n >= 2 * HYPHAE_CHUNK_SOURCES);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	assert_int_equal(counts.cells, n);
	assert_int_equal(value_of(last), (int64_t)n - 1);
	assert_int_equal(hyphae_int64_set(last, -1), 0);
	assert_int_equal(value_of(last), -1);
	/* No chunk of another kind is to be had... */
	assert_null(hyphae_map(last, &hyphae_int64, plus_one, NULL));
	assert_int_equal(errno, ENOMEM);
	assert_null(hyphae_subscribe(last, count_call, &n));
	assert_int_equal(errno, ENOMEM);
	assert_null(hyphae_scope_new(graph));
	assert_int_equal(errno, ENOMEM);
	/* ... but a place that was given back is. */
	assert_int_equal(hyphae_cell_unref(last), 0);
	last = hyphae_int64_new(graph, 17);
	assert_non_null(last);
	assert_null(hyphae_int64_new(graph, 18));
	/* What cells own until there is no room for that either. */
	for (n = 0; !hyphae_cell_own(last, &drops, count_drop); n++)
		continue;
	assert_true(n > 0);
	assert_int_equal(drops, 1); /* of the one that was refused */
	assert_int_equal(hyphae_cell_set_name(last, "a name that needs more"),
			 -ENOMEM);
	assert_int_equal(value_of(last), 17);
	assert_int_equal(tally.calls, calls);
	assert_int_equal(tally.pages, pages);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(drops, n + 1);
}

static void storage_spills(void **state)
{
	struct hyphae_graph *graph = small_graph(HYPHAE_STORAGE_SPILL);
	size_t blocks = tally.blocks;
	struct hyphae_graph_memory memory;
	struct hyphae_cell *a;
	unsigned int n = 0;

	(void)state;
	assert_non_null(graph);
	for (int i = 0; i < 5000; i++) {
		a = hyphae_int64_new(graph, i);
		assert_non_null(a);
		assert_int_equal(hyphae_cell_set_name(
					 a, "a name of some sixty bytes, so "
					    "that many of them do not fit"),
				 0);
		assert_non_null(hyphae_subscribe(a, count_call, &n));
	}
	assert_int_equal(n, 5000);
	assert_int_equal(hyphae_graph_memory(graph, &memory), 0);
	assert_int_equal(memory.sources.count, 5000);
	assert_true(memory.spilled > 1000);
	assert_true(tally.blocks > blocks + 1000);
	assert_int_equal(hyphae_int64_set(a, -1), 0);
	assert_int_equal(n, 5001);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(tally.blocks, blocks);
}

static void storage_that_cannot_be(void **state)
{
	struct hyphae_graph_options o = {.storage = small,
					 .storage_bytes = sizeof(small)};
	struct {
		struct hyphae_graph_options known;
		uint64_t newer;
	} newer = {o, 0};
	struct hyphae_graph *graph;

	(void)state;
	memset(small, 0, sizeof(small));
#define REFUSED(expected)                                                      \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(hyphae_graph_new_with(&o));                        \
		assert_int_equal(errno, expected);                             \
	} while (0)
	errno = 0;
	assert_null(hyphae_graph_new_sized(NULL, 0));
	assert_int_equal(errno, EINVAL);
	o.flags = 64;
	REFUSED(EINVAL);
	o.flags = HYPHAE_HEAP_CELLS;
	REFUSED(EINVAL);
	o.flags = 0;
	o.storage_flags = 2;
	REFUSED(EINVAL);
	o.storage_flags = 0;
	o.storage = NULL;
	REFUSED(EINVAL);
	o.storage_bytes = 0;
	o.storage_flags = HYPHAE_STORAGE_SPILL;
	REFUSED(EINVAL);
	o.storage_flags = 0;
	o.storage = small;
	REFUSED(ENOMEM); /* 0 bytes */
	o.storage_bytes = 65536;
	REFUSED(ENOMEM);
	o.storage_bytes = SIZE_MAX;
	REFUSED(EINVAL);
	/* Not zero: at the end, and where the first chunk begins. */
	o.storage_bytes = sizeof(small);
	small[sizeof(small) - 200] = 1;
	REFUSED(EINVAL);
	small[sizeof(small) - 200] = 0;
	memset(small, 1, 65536 + 64);
	REFUSED(EINVAL);
	memset(small, 0, sizeof(small));
	/* What the library does not know. */
	newer.newer = 1;
	errno = 0;
	assert_null(hyphae_graph_new_sized(&newer.known, sizeof(newer)));
	assert_int_equal(errno, EINVAL);
	newer.newer = 0;
	graph = hyphae_graph_new_sized(&newer.known, sizeof(newer));
	assert_non_null(graph);
	REFUSED(EBUSY);
	assert_int_equal(hyphae_graph_free(graph), 0);
	/* Another size. */
	o.storage_bytes -= 64;
	REFUSED(EINVAL);
	o.storage_bytes += 64;
	graph = hyphae_graph_new_with(&o);
	assert_non_null(graph);
	assert_int_equal(hyphae_graph_free(graph), 0);
	/* No options but the first. */
	graph = hyphae_graph_new_sized(&o, sizeof(o.flags));
	assert_non_null(graph);
	assert_int_equal(hyphae_graph_free(graph), 0);
#undef REFUSED
}

/* Storage need not be aligned to anything. */
static void storage_anywhere(void **state)
{
	size_t bytes = HYPHAE_STORAGE_BYTES(3);

	(void)state;
	for (size_t shift = 0; shift < 300; shift += 37) {
		char *memory = calloc(1, bytes + shift);
		struct hyphae_graph *graph;
		unsigned int n = 0;

		assert_non_null(memory);
		graph = graph_in(memory + shift, bytes, 0, 0);
		assert_non_null(graph);
		for (int i = 0; i < 500; i++) {
			struct hyphae_cell *a = hyphae_int64_new(graph, i);

			assert_non_null(a);
			if (i < 300)
				assert_non_null(hyphae_map(a, &hyphae_int64,
							   plus_one, NULL));
			if (i < 300)
				assert_non_null(
					hyphae_subscribe(a, count_call, &n));
		}
		assert_int_equal(n, 300);
		assert_int_equal(hyphae_graph_free(graph), 0);
		free(memory);
	}
}

static void stale_in_storage(void **state)
{
	struct hyphae_cell *cells[200], *fresh;
	struct hyphae_subscription *subs[100];
	struct hyphae_graph *first, *second = NULL;
	unsigned int n = 0;
	int64_t value;

	(void)state;
	wipe();
	first = graph_in(store, sizeof(store), 0, 0);
	for (int i = 0; i < 100; i++) {
		cells[2 * i] = hyphae_int64_new(first, i);
		cells[2 * i + 1] =
			hyphae_map(cells[2 * i], &hyphae_int64, plus_one, NULL);
		subs[i] = hyphae_subscribe(cells[2 * i + 1], count_call, &n);
		assert_non_null(subs[i]);
	}
	assert_int_equal(hyphae_graph_free(first), 0);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(hyphae_graph_free(first), -ESTALE);
		for (int i = 0; i < 200; i++) {
			assert_int_equal(hyphae_int64_get(cells[i], &value),
					 -ESTALE);
			assert_int_equal(hyphae_int64_set(cells[i], 1),
					 -ESTALE);
			assert_int_equal(hyphae_cell_unref(cells[i]), -ESTALE);
		}
		for (int i = 0; i < 100; i++)
			assert_int_equal(hyphae_unsubscribe(subs[i]), -ESTALE);
		if (turn)
			break;
		/* In the second round with another graph in their places. */
		second = graph_in(store, sizeof(store), 0, 0);
		assert_non_null(second);
		for (int i = 0; i < 150; i++) {
			fresh = hyphae_int64_new(second, i);
			assert_non_null(fresh);
			assert_non_null(
				hyphae_subscribe(fresh, count_call, &n));
			assert_non_null(hyphae_filter(fresh, positive, NULL));
		}
	}
	assert_int_equal(hyphae_graph_free(second), 0);
}

/* Each step with each of its allocations failing, in storage too. */
static void storage_sweep(void **state)
{
	(void)state;
	wipe();
	for (size_t f = 0; f < 4; f++) {
		struct hyphae_graph *graph =
			graph_in(store, sizeof(store), every_flags[f], 0);
		struct hyphae_cell *a = hyphae_int64_new(graph, 1);
		long live;
		size_t calls = tally.calls;

		assert_int_equal(hyphae_cell_set_name(a, "a"), 0);
		live = hy_alloc_live();
		OOM_SWEEP(n)
		{
			struct hyphae_cell *b, *both[2];
			unsigned int drops = 0;
			int own, name;

			errno = 0;
			b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
			both[0] = a;
			both[1] = b ? b : a;
			hyphae_cell_unref(b ? hyphae_combine(both, 2,
							     &hyphae_int64, sum,
							     NULL)
					    : NULL);
			own = hyphae_cell_own(b ? b : a, &drops, count_drop);
			name = hyphae_cell_set_name(a, "b");
			OOM_PAUSE();
			assert_true(b || errno == ENOMEM);
			assert_true(own == 0 || own == -ENOMEM);
			assert_true(name == 0 || name == -ENOMEM);
			assert_int_equal(hyphae_cell_unref(b), 0);
			if (b)
				assert_int_equal(drops, 1);
		}
		assert_true(hy_alloc_live() >= live);
		assert_int_equal(tally.calls, calls);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storage_makes_no_call),
		cmocka_unit_test(storage_for_so_many),
		cmocka_unit_test(storage_is_used_up),
		cmocka_unit_test(storage_spills),
		cmocka_unit_test(storage_that_cannot_be),
		cmocka_unit_test(storage_anywhere),
		cmocka_unit_test(stale_in_storage),
		cmocka_unit_test(storage_sweep),
	};

	set_up();
	return cmocka_run_group_tests_name("memory, storage", tests, NULL,
					   NULL);
}
