/* SPDX-License-Identifier: MIT */
/*
 * What a cell is made of is there before it is made: a free slot, an id and
 * the label of its site.  So a slot has to be free of what was in it, and what
 * lies ready must not be used where nothing may be made.
 */
#include "one_site.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/types.h"

static const unsigned int kinds[] = {HYPHAE_SINGLE_THREAD, 0,
				     HYPHAE_SINGLE_THREAD | HYPHAE_EAGER};

#define each_kind(i)                                                           \
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)

/* ---- a graph that goes ---------------------------------------------------- */

struct last_words {
	struct hyphae_graph *graph;
	struct hyphae_cell *input;
	int dropped, refused;
};

static int is_refused(const void *made, int error)
{
	return !made && errno == error;
}

/* Everything that it would take is there. */
static void make_more(void *ctx)
{
	struct last_words *l = ctx;
	unsigned int calls = 0;

	l->dropped++;
	errno = 0;
	l->refused += is_refused(made(l->graph, 7), ENOMEM);
	errno = 0;
	l->refused += !mapped(l->input, plus_one, NULL);
	errno = 0;
	l->refused += !subscribed(l->input, &calls, NULL);
}

static void nothing_is_made_of_a_graph_that_goes(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct last_words l = {.graph = hyphae_graph_new(kinds[i])};
		struct hyphae_cell *a, *b;
		unsigned int calls = 0;

		/* One of each is left over, so that it lies ready. */
		a = made(l.graph, 1);
		b = mapped(a, plus_one, NULL);
		l.input = made(l.graph, 2);
		assert_int_equal(
			hyphae_unsubscribe(subscribed(a, &calls, NULL)), 0);
		assert_int_equal(hyphae_cell_unref(b), 0);
		assert_int_equal(hyphae_cell_unref(a), 0);
		assert_int_equal(hyphae_cell_set_data(l.input, &l, make_more),
				 0);
		assert_int_equal(hyphae_graph_set_data(l.graph, &l, make_more),
				 0);
		assert_int_equal(hyphae_graph_free(l.graph), 0);
		assert_int_equal(l.dropped, 2);
		assert_int_equal(l.refused, 6);
	}
}

/* ---- what was in a slot ----------------------------------------------------- */

static int fail_with(void *ret, const void *input, void *ctx)
{
	(void)ret;
	(void)input;
	return hyphae_error(-EIO, "%s", (const char *)ctx);
}

/* The error that a cell holds, by its message. */
static int note_message(const struct hyphae_signal *signal, void *ctx)
{
	snprintf(ctx, 64, "%d %s", signal->code, signal->message);
	return 0;
}

static void assert_holds_error(struct hyphae_cell *cell, const char *expected)
{
	char text[64] = "";

	assert_int_equal(
		hyphae_unsubscribe(hyphae_subscribe(cell, note_message, text)),
		0);
	assert_string_equal(text, expected);
}

/* Another one holds the error yet: its message is not given to anybody else. */
static void an_error_is_not_of_the_next_cell(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1);

		for (int turn = 0; turn < 3; turn++) {
			struct hyphae_cell *first =
				mapped(a, fail_with, "first");
			struct hyphae_cell *kept =
				mapped(first, plus_one, NULL);
			struct hyphae_cell *next;

			assert_holds_error(first, "-5 first");
			/* `kept` lets go of it, and keeps the error. */
			assert_int_equal(hyphae_cell_unref(kept), 0);
			assert_int_equal(hyphae_cell_unref(first), 0);
			/* In the places of the two. */
			first = mapped(a, fail_with, "second");
			next = mapped(a, fail_with, "third");
			assert_holds_error(first, "-5 second");
			assert_holds_error(next, "-5 third");
			assert_int_equal(hyphae_cell_unref(next), 0);
			assert_int_equal(hyphae_cell_unref(first), 0);
			assert_int_equal(counts(graph).cells, 1);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* What is there when the graph goes was followed, and by whom. */
static void slots_of_a_graph_that_is_gone(void **state)
{
	(void)state;
	each_kind(i)
	{
		unsigned int calls = 0;

		for (int turn = 0; turn < 3; turn++) {
			struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
			struct hyphae_cell *a = made(graph, 1), *b;

			assert_int_equal(hyphae_int64_set(a, 2), 0);
			b = mapped(a, plus_one, NULL);
			assert_int_equal(hyphae_int64_set(a, 3), 0);
			assert_int_equal(value(b), 4);
			assert_non_null(subscribed(a, &calls, NULL));
			assert_non_null(subscribed(b, &calls, NULL));
			assert_int_equal(calls, turn * 2);
			assert_int_equal(hyphae_int64_set(a, 4), 0);
			assert_int_equal(calls, turn * 2 + 2);
			assert_int_equal(hyphae_graph_free(graph), 0);
		}
	}
}

/* ---- what tracers read -------------------------------------------------------- */

/* A page of a file, as texts of a program are. */
static char *page_of_file(size_t size)
{
	char name[] = "/tmp/hyphae_page_XXXXXX";
	int file = mkstemp(name);
	char *page;

	assert_true(file >= 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(write(file, "a.c:1", 6), 6);
	assert_int_equal(ftruncate(file, (off_t)size), 0);
	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
	assert_true(page != MAP_FAILED);
	assert_int_equal(close(file), 0);
	return page;
}

/* Can it be read without a fault? */
static int is_present(const void *page, size_t size)
{
	int file = open("/proc/self/pagemap", O_RDONLY);
	off_t at = (off_t)((uintptr_t)page / size * sizeof(uint64_t));
	uint64_t entry = 0;

	assert_true(file >= 0);
	assert_int_equal(pread(file, &entry, sizeof(entry), at), sizeof(entry));
	assert_int_equal(close(file), 0);
	return entry >> 63;
}

/* Its label is at hand, and the page is not: as in a child of fork(). */
static void a_site_can_be_read_by_tracers(void **state)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *site = page_of_file(size);

	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);

		for (int turn = 0; turn < 3; turn++) {
			struct hyphae_cell *a;

			assert_int_equal(madvise(site, size, MADV_DONTNEED), 0);
			assert_int_equal(is_present(site, size), 0);
			a = hyphae_int64_new_at(graph, 1, site);
			assert_int_equal(is_present(site, size), 1);
			assert_int_equal(madvise(site, size, MADV_DONTNEED), 0);
			assert_non_null(hyphae_map_at(a, &hyphae_int64,
						      plus_one, NULL, site));
			assert_int_equal(is_present(site, size), 1);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	assert_int_equal(munmap(site, size), 0);
}

static void a_cell_of_no_site(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);

		for (int turn = 0; turn < 3; turn++) {
			struct hyphae_cell *a, *b;
			struct hyphae_cell_info info;

			a = hyphae_int64_new_at(graph, 1, NULL);
			b = hyphae_map_at(a, &hyphae_int64, plus_one, NULL,
					  NULL);
			assert_int_equal(hyphae_cell_info(a, &info), 0);
			assert_string_equal(info.site, "");
			assert_int_equal(hyphae_cell_info(b, &info), 0);
			assert_string_equal(info.site, "");
			assert_int_equal(hyphae_cell_unref(b), 0);
			assert_int_equal(hyphae_cell_unref(a), 0);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- subscribing -------------------------------------------------------------- */

#define MANY 300

/* I7: there is room for all of them among those that fire. */
static void as_many_fire_as_are_subscribed(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *cells[MANY];
		unsigned int calls = 0;

		for (int n = 0; n < MANY; n++) {
			cells[n] = made(graph, n);
			assert_non_null(subscribed(cells[n], &calls, NULL));
		}
		assert_int_equal(hyphae_batch_begin(graph), 0);
		for (int n = 0; n < MANY; n++)
			assert_int_equal(hyphae_int64_set(cells[n], -1 - n), 0);
		assert_int_equal(hyphae_batch_end(graph), 0);
		assert_int_equal(calls, MANY);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* In several blocks of ids, by turns of two graphs. */
static void ids_of_subscriptions_are_used_once(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graphs[] = {hyphae_graph_new(kinds[i]),
						 hyphae_graph_new(kinds[i])};
		uint64_t first = hyphae_graph_id(graphs[0]);
		static unsigned char used[4096];
		struct hyphae_cell *cells[2];
		unsigned int calls = 0;
		int wrong = 0;

		memset(used, 0, sizeof(used));
		for (int at = 0; at < 2; at++)
			cells[at] = made(graphs[at], at);
		for (int n = 0; n < 2000; n++) {
			struct hyphae_subscription *s =
				subscribed(cells[n % 2], &calls, NULL);
			uint64_t id = hyphae_subscription_id(s) - first;

			if (id < sizeof(used))
				wrong += used[id]++ != 0;
			else
				wrong++;
			wrong += hyphae_unsubscribe(s) != 0;
		}
		assert_int_equal(wrong, 0);
		for (int at = 0; at < 2; at++)
			assert_int_equal(hyphae_graph_free(graphs[at]), 0);
	}
}

/* More than so many cannot be counted; nothing is made then. */
static void references_have_an_end(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1);
		struct hy_cell *c = hy_cell(a);
		unsigned int calls = 0;

		/* Everything else is there. */
		assert_int_equal(hyphae_cell_unref(mapped(a, plus_one, NULL)),
				 0);
		assert_int_equal(
			hyphae_unsubscribe(subscribed(a, &calls, NULL)), 0);
		c->refs = HY_REFS_MAX;
		errno = 0;
		assert_true(is_refused(subscribed(a, &calls, NULL), ENOMEM));
		errno = 0;
		assert_true(is_refused(mapped(a, plus_one, NULL), ENOMEM));
		errno = 0;
		assert_true(!hyphae_cell_ref(a));
		assert_int_equal(c->refs, HY_REFS_MAX);
		c->refs = HY_REFS_MAX - 1;
		assert_int_equal(
			hyphae_unsubscribe(subscribed(a, &calls, NULL)), 0);
		assert_int_equal(hyphae_cell_unref(mapped(a, plus_one, NULL)),
				 0);
		assert_int_equal(c->refs, HY_REFS_MAX - 1);
		c->refs = 1;
		assert_int_equal(counts(graph).cells, 1);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- what a cell has of its type ------------------------------------------------ */

static bool is_same_ten(const void *a, const void *b)
{
	return *(const int64_t *)a / 10 == *(const int64_t *)b / 10;
}

HYPHAE_TYPE_WITH(tens, int64_t, .equal = is_same_ten);

static int as_it_is(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int tenth(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input / 10;
	return 0;
}

/* Whether it is made of a cell of that type or of another. */
static void a_map_compares_as_its_type_says(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 11);

		for (int turn = 0; turn < 3; turn++) {
			struct hyphae_cell *b =
				hyphae_map(a, &tens_type, as_it_is, NULL);
			struct hyphae_cell *c =
				hyphae_map(b, &tens_type, tenth, NULL);
			struct hyphae_cell *d =
				hyphae_map(c, &hyphae_int64, as_it_is, NULL);
			struct hyphae_subscription *of_b, *of_d;
			unsigned int calls = 0;

			of_b = subscribed(b, &calls, NULL);
			of_d = subscribed(d, &calls, NULL);
			assert_int_equal(hyphae_int64_set(a, 12), 0);
			assert_int_equal(calls, 0);
			/* 1 and 2 are the same ten. */
			assert_int_equal(hyphae_int64_set(a, 21), 0);
			assert_int_equal(calls, 1);
			assert_int_equal(value(d), 1);
			assert_int_equal(hyphae_int64_set(a, 111), 0);
			assert_int_equal(calls, 3);
			assert_int_equal(value(d), 11);
			assert_int_equal(hyphae_unsubscribe(of_b), 0);
			assert_int_equal(hyphae_unsubscribe(of_d), 0);
			assert_int_equal(hyphae_cell_unref(d), 0);
			assert_int_equal(hyphae_cell_unref(c), 0);
			assert_int_equal(hyphae_cell_unref(b), 0);
			assert_int_equal(hyphae_int64_set(a, 11), 0);
			assert_int_equal(counts(graph).cells, 1);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* The second of two functions may say that it is not to be. */
static int ten_or_fail(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return *(const int64_t *)input < 10 ? -EDOM : 0;
}

static void a_first_error_leaves_no_value(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *b;
		int64_t held = 77;

		for (int turn = 0; turn < 3; turn++) {
			assert_int_equal(hyphae_int64_set(a, 2 + turn), 0);
			b = mapped(a, ten_or_fail, NULL);
			assert_int_equal(hyphae_int64_get(b, &held), -EDOM);
			assert_int_equal(held, 77);
			/* As great as what was in the slot, and yet new. */
			assert_int_equal(hyphae_int64_set(a, 10), 0);
			assert_int_equal(value(b), 10);
			assert_int_equal(hyphae_cell_unref(b), 0);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- effects ------------------------------------------------------------------ */

static int read_one(void *ctx)
{
	return hyphae_int64_get(*(struct hyphae_cell **)ctx, &(int64_t){0});
}

/* Nobody can give back what a subscription has. */
static void the_cell_of_an_effect_is_its_own(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_cell *a = made(graph, 1), *cell;
		struct hyphae_subscription *effect;
		struct hyphae_cell_info info;

		for (int turn = 0; turn < 3; turn++) {
			effect = hyphae_effect(graph, read_one, &a);
			assert_non_null(effect);
			cell = hyphae_subscription_cell(effect);
			assert_non_null(cell);
			assert_int_equal(hyphae_cell_unref(cell), 0);
			assert_int_equal(hyphae_cell_unref(cell), -ESTALE);
			assert_int_equal(hyphae_cell_info(a, &info), 0);
			assert_int_equal(info.targets, 1);
			assert_int_equal(counts(graph).cells, 2);
			assert_int_equal(hyphae_int64_set(a, 2 + turn), 0);
			assert_int_equal(hyphae_unsubscribe(effect), 0);
			assert_int_equal(hyphae_cell_info(a, &info), 0);
			assert_int_equal(info.targets, 0);
			assert_int_equal(counts(graph).cells, 1);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

/* ---- reads that are noted ------------------------------------------------------ */

struct two_graphs {
	struct hyphae_cell *read, *input; /* of one graph each */
	int runs, failed;
};

static int read_other(void *ret, const void *input, void *ctx)
{
	struct two_graphs *t = ctx;

	(void)input;
	return hyphae_int64_get(t->read, ret);
}

/* What the function of a cell reads that it makes, it has not read itself. */
static int make_in_other(void *ret, void *ctx)
{
	struct two_graphs *t = ctx;
	struct hyphae_cell *cell = mapped(t->input, read_other, t);

	t->runs++;
	t->failed += hyphae_int64_get(cell, ret) != 0;
	t->failed += hyphae_cell_unref(cell) != 0;
	return 0;
}

static void a_cell_that_is_made_reads_for_itself(void **state)
{
	(void)state;
	each_kind(i)
	{
		struct hyphae_graph *graph = hyphae_graph_new(kinds[i]);
		struct hyphae_graph *other = hyphae_graph_new(kinds[i]);
		struct two_graphs t = {.read = made(graph, 1),
				       .input = made(other, 1)};
		struct hyphae_cell_info info;
		struct hyphae_cell *cell;

		/* There is a slot, and room at that height. */
		cell = mapped(t.input, read_other, &t);
		assert_int_equal(hyphae_cell_unref(cell), 0);
		cell = hyphae_computed(graph, &hyphae_int64, make_in_other, &t);
		assert_non_null(cell);
		assert_int_equal(value(cell), 1);
		assert_int_equal(hyphae_cell_info(t.read, &info), 0);
		assert_int_equal(info.targets, 0);
		assert_int_equal(hyphae_int64_set(t.read, 2), 0);
		assert_int_equal(value(cell), 1);
		assert_int_equal(t.runs, 1);
		assert_int_equal(t.failed, 0);
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(hyphae_graph_free(other), 0);
	}
}

/* ---- inputs that lie in a slot -------------------------------------------------- */

static int sum(void *ret, const void *const *values, size_t count, void *ctx)
{
	int64_t total = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)values[i];
	*(int64_t *)ret = total;
	return 0;
}

/* Twenty cells of two inputs each; what that takes. */
static struct hyphae_graph_memory combined(struct hyphae_graph *graph)
{
	struct hyphae_cell *inputs[] = {made(graph, 1), made(graph, 2)};
	struct hyphae_graph_memory m;

	for (int n = 0; n < 20; n++)
		assert_non_null(
			hyphae_combine(inputs, 2, &hyphae_int64, sum, NULL));
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.derived.count, 20);
	assert_int_equal(m.inputs,
			 20 * (sizeof(struct hy_fan_in) +
			       2 * (sizeof(struct hy_edge) + sizeof(void *))));
	assert_int_equal(m.scopes.count, 0);
	assert_int_equal(m.scopes.in_use, 0);
	assert_int_equal(m.scopes.reserved, 0);
	return m;
}

/* They are no objects, and are counted with their cell. */
static void inputs_of_two_are_counted_once(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);

	(void)state;
	/* Sources, derived cells, inputs. */
	assert_int_equal(combined(graph).chunks, 3);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Where chunks are scarce, and where all of a cell is on the heap. */
static void inputs_of_two_are_blocks_there(void **state)
{
	HYPHAE_STORAGE(store, HYPHAE_STORAGE_FOR(10, 30, 10));
	struct hyphae_graph *graph =
		hyphae_graph_new_with(&(struct hyphae_graph_options){
			.storage = store, .storage_bytes = sizeof(store)});

	(void)state;
	assert_int_equal(combined(graph).chunks, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
	graph = hyphae_graph_new(HYPHAE_HEAP_CELLS);
	assert_int_equal(combined(graph).chunks, 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int tick(const struct hyphae_timer_event *event, void *ctx)
{
	(void)event;
	(void)ctx;
	return 0;
}

/* Its slot was counted as a scope. */
static void a_timer_is_no_scope(void **state)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(0);
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_graph_memory m;

	(void)state;
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	assert_non_null(hyphae_timer_start(graph, 5, 0, tick, NULL, NULL));
	assert_int_equal(hyphae_graph_memory(graph, &m), 0);
	assert_int_equal(m.scopes.count, 0);
	assert_int_equal(m.scopes.in_use, 0);
	assert_int_equal(m.scopes.reserved, 0);
	assert_int_equal(m.chunks, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_made_of_a_graph_that_goes),
		cmocka_unit_test(an_error_is_not_of_the_next_cell),
		cmocka_unit_test(slots_of_a_graph_that_is_gone),
		cmocka_unit_test(a_site_can_be_read_by_tracers),
		cmocka_unit_test(a_cell_of_no_site),
		cmocka_unit_test(as_many_fire_as_are_subscribed),
		cmocka_unit_test(ids_of_subscriptions_are_used_once),
		cmocka_unit_test(references_have_an_end),
		cmocka_unit_test(a_map_compares_as_its_type_says),
		cmocka_unit_test(a_first_error_leaves_no_value),
		cmocka_unit_test(the_cell_of_an_effect_is_its_own),
		cmocka_unit_test(a_cell_that_is_made_reads_for_itself),
		cmocka_unit_test(inputs_of_two_are_counted_once),
		cmocka_unit_test(inputs_of_two_are_blocks_there),
		cmocka_unit_test(a_timer_is_no_scope),
	};

	return cmocka_run_group_tests_name("free slots", tests, NULL, NULL);
}
