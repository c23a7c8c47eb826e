/* SPDX-License-Identifier: MIT */
/* Data of the user on every kind of object: held, replaced, dropped once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "base/alloc.h"
#include "oom.h"

/* What was dropped, in order. */
static char dropped[64];

static void drop_char(void *data)
{
	size_t length = strlen(dropped);

	dropped[length] = *(char *)data;
	dropped[length + 1] = '\0';
}

static char a[] = "a", b[] = "b", c[] = "c", d[] = "d";

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

/* ---- the four kinds, by one interface ------------------------------------- */

struct kind {
	const char *name;
	void *(*make)(struct hyphae_graph *graph);
	int (*end)(void *object);
	int (*set)(void *object, void *data, void (*drop)(void *data));
	void *(*get)(void *object);
};

static void *make_graph(struct hyphae_graph *graph)
{
	(void)graph;
	return hyphae_graph_new(0);
}

static int end_graph(void *object)
{
	return hyphae_graph_free(object);
}

static int set_graph(void *object, void *data, void (*drop)(void *data))
{
	return hyphae_graph_set_data(object, data, drop);
}

static void *get_graph(void *object)
{
	return hyphae_graph_data(object);
}

static void *make_source(struct hyphae_graph *graph)
{
	return hyphae_int64_new(graph, 1);
}

static void *make_derived(struct hyphae_graph *graph)
{
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_cell *cell =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);

	hyphae_cell_unref(source);
	return cell;
}

static int end_cell(void *object)
{
	return hyphae_cell_unref(object);
}

static int set_cell(void *object, void *data, void (*drop)(void *data))
{
	return hyphae_cell_set_data(object, data, drop);
}

static void *get_cell(void *object)
{
	return hyphae_cell_data(object);
}

static void *make_sub(struct hyphae_graph *graph)
{
	struct hyphae_cell *source = hyphae_int64_new(graph, 1);
	struct hyphae_subscription *sub =
		hyphae_subscribe(source, count_call, NULL);

	hyphae_cell_unref(source);
	return sub;
}

static int end_sub(void *object)
{
	return hyphae_unsubscribe(object);
}

static int set_sub(void *object, void *data, void (*drop)(void *data))
{
	return hyphae_subscription_set_data(object, data, drop);
}

static void *get_sub(void *object)
{
	return hyphae_subscription_data(object);
}

static void *make_scope(struct hyphae_graph *graph)
{
	return hyphae_scope_new(graph);
}

static int end_scope(void *object)
{
	return hyphae_scope_dispose(object);
}

static int set_scope(void *object, void *data, void (*drop)(void *data))
{
	return hyphae_scope_set_data(object, data, drop);
}

static void *get_scope(void *object)
{
	return hyphae_scope_data(object);
}

static const struct kind kinds[] = {
	{"graph", make_graph, end_graph, set_graph, get_graph},
	{"source", make_source, end_cell, set_cell, get_cell},
	{"derived", make_derived, end_cell, set_cell, get_cell},
	{"subscription", make_sub, end_sub, set_sub, get_sub},
	{"scope", make_scope, end_scope, set_scope, get_scope},
};

static void life(const struct kind *kind, struct hyphae_graph *graph)
{
	void *x = kind->make(graph), *y = kind->make(graph);
	long live;

	dropped[0] = '\0';
	assert_non_null(x);
	assert_non_null(y);
	live = hy_alloc_live();
	assert_null(kind->get(x));
	/* Nothing to forget costs nothing. */
	assert_int_equal(kind->set(x, NULL, NULL), 0);
	assert_int_equal(hy_alloc_live(), live);
	assert_int_equal(kind->set(x, a, drop_char), 0);
	assert_ptr_equal(kind->get(x), a);
	assert_null(kind->get(y));
	assert_string_equal(dropped, "");
	assert_int_equal(kind->set(x, b, drop_char), 0);
	assert_ptr_equal(kind->get(x), b);
	assert_string_equal(dropped, "a");
	/* The same again is new data. */
	assert_int_equal(kind->set(x, b, drop_char), 0);
	assert_string_equal(dropped, "ab");
	/* Without a drop function. */
	assert_int_equal(kind->set(x, c, NULL), 0);
	assert_string_equal(dropped, "abb");
	assert_ptr_equal(kind->get(x), c);
	assert_int_equal(kind->set(x, NULL, NULL), 0);
	assert_null(kind->get(x));
	assert_string_equal(dropped, "abb");
	assert_int_equal(kind->set(x, d, drop_char), 0);
	assert_int_equal(kind->set(y, c, NULL), 0);
	assert_int_equal(kind->end(x), 0);
	assert_string_equal(dropped, "abbd");
	assert_int_equal(kind->end(y), 0);
	assert_string_equal(dropped, "abbd");
	/* Gone: what is handed over is dropped. */
	assert_null(kind->get(x));
	assert_int_equal(kind->set(x, a, drop_char), -ESTALE);
	assert_string_equal(dropped, "abbda");
	assert_int_equal(kind->set(x, a, NULL), -ESTALE);
	assert_int_equal(kind->set(NULL, c, drop_char), -EINVAL);
	assert_string_equal(dropped, "abbdac");
	assert_null(kind->get(NULL));
}

static void one_life_of_each(void **state)
{
	static const unsigned int flags[] = {
		0, HYPHAE_SINGLE_THREAD, HYPHAE_EAGER, HYPHAE_HEAP_CELLS,
		HYPHAE_HEAP_CELLS | HYPHAE_SINGLE_THREAD};

	(void)state;
	for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags[f]);

		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			life(&kinds[i], graph);
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static void no_memory(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		/* A warm-up, so that no chunk is asked for. */
		assert_int_equal(kinds[i].end(kinds[i].make(graph)), 0);
		OOM_SWEEP(n)
		{
			void *x;
			int r;

			OOM_PAUSE();
			x = kinds[i].make(graph);
			assert_non_null(x);
			dropped[0] = '\0';
			oom_start_ = hy_alloc_count();
			hy_alloc_fail_after(n);
			r = kinds[i].set(x, a, drop_char);
			OOM_PAUSE();
			if (r) {
				assert_int_equal(r, -ENOMEM);
				assert_string_equal(dropped, "a");
				assert_null(kinds[i].get(x));
				assert_int_equal(kinds[i].set(x, b, drop_char),
						 0);
				assert_ptr_equal(kinds[i].get(x), b);
			}
			/* Replacing needs none. */
			hy_alloc_fail_after(1);
			assert_int_equal(kinds[i].set(x, c, drop_char), 0);
			OOM_PAUSE();
			assert_int_equal(kinds[i].end(x), 0);
			assert_string_equal(dropped, r ? "abc" : "ac");
		}
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* ---- in which order, and what drop may do ------------------------------------- */

static void order_in_a_cell(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);

	(void)state;
	dropped[0] = '\0';
	assert_int_equal(hyphae_cell_own(cell, a, drop_char), 0);
	assert_int_equal(hyphae_cell_set_data(cell, b, drop_char), 0);
	assert_int_equal(hyphae_cell_own(cell, c, drop_char), 0);
	assert_ptr_equal(hyphae_cell_data(cell), b);
	/* In the place of the first. */
	assert_int_equal(hyphae_cell_set_data(cell, d, drop_char), 0);
	assert_string_equal(dropped, "b");
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_string_equal(dropped, "bcda");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void order_in_a_graph(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);
	struct hyphae_scope *scope = hyphae_scope_new(graph);
	struct hyphae_subscription *sub =
		hyphae_subscribe_with(cell, count_call, c, drop_char, 0);

	(void)state;
	dropped[0] = '\0';
	assert_int_equal(hyphae_graph_set_data(graph, a, drop_char), 0);
	assert_int_equal(hyphae_scope_set_data(scope, b, drop_char), 0);
	assert_int_equal(hyphae_cell_set_data(cell, d, drop_char), 0);
	/* The context first, then the data. */
	assert_int_equal(hyphae_subscription_set_data(sub, a, drop_char), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_string_equal(dropped, "bcada");
}

static void order_in_a_scope(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_scope *outer = hyphae_scope_new(graph), *inner;
	struct hyphae_cell *cell;

	(void)state;
	dropped[0] = '\0';
	assert_int_equal(hyphae_scope_set_data(outer, a, drop_char), 0);
	assert_int_equal(hyphae_scope_enter(outer), 0);
	inner = hyphae_scope_new(graph);
	assert_int_equal(hyphae_scope_set_data(inner, b, drop_char), 0);
	assert_int_equal(hyphae_scope_on_dispose(inner, drop_char, c), 0);
	cell = hyphae_int64_new(graph, 1);
	assert_int_equal(hyphae_cell_set_data(cell, d, drop_char), 0);
	assert_int_equal(hyphae_scope_leave(outer), 0);
	assert_int_equal(hyphae_scope_dispose(outer), 0);
	assert_string_equal(dropped, "dcba");
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct attempt {
	struct hyphae_cell *cell;
	struct hyphae_graph *graph;
	int set, get, batch, free, made;
	int64_t value;
};

/* Everything that needs the lock, and a write, which is not allowed. */
static void drop_and_try(void *data)
{
	struct attempt *t = data;
	struct hyphae_cell *cell;

	t->set = hyphae_int64_set(t->cell, 5);
	t->get = hyphae_int64_get(t->cell, &t->value);
	t->batch = hyphae_batch_begin(t->graph);
	t->free = hyphae_graph_free(t->graph);
	cell = hyphae_int64_new(t->graph, 7);
	t->made = cell != NULL;
	hyphae_cell_unref(cell);
}

static void drop_may_not_write(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct hyphae_graph *graph = hyphae_graph_new(flags);

		for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]);
		     i++) {
			const struct kind *kind = &kinds[i / 2];
			struct attempt t = {.graph = graph};
			void *x;

			if (i < 2) /* of the graph itself */
				continue;
			t.cell = hyphae_int64_new(graph, 1);
			x = kind->make(graph);
			assert_int_equal(kind->set(x, &t, drop_and_try), 0);
			if (i % 2) /* replaced */
				assert_int_equal(kind->set(x, a, NULL), 0);
			assert_int_equal(kind->end(x), 0);
			assert_int_equal(t.set, -EPERM);
			assert_int_equal(t.get, 0);
			assert_int_equal(t.value, 1);
			assert_int_equal(t.batch, -EPERM);
			assert_int_equal(t.free, -EBUSY);
			assert_int_equal(t.made, 1);
			/* And afterwards it may. */
			assert_int_equal(hyphae_int64_set(t.cell, 2), 0);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
}

static struct hyphae_graph *last_graph;
static int last_set, last_free;
static void *last_data;

static void drop_last(void *data)
{
	(void)data;
	last_data = hyphae_graph_data(last_graph);
	last_set = hyphae_graph_set_data(last_graph, b, drop_char);
	last_free = hyphae_graph_free(last_graph);
	errno = 0;
	assert_null(hyphae_int64_new(last_graph, 1));
}

/* What a graph's own drop does to the graph. */
static void last_words(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		long live = hy_alloc_live();

		dropped[0] = '\0';
		last_graph = hyphae_graph_new(flags);
		last_data = a;
		assert_int_equal(
			hyphae_graph_set_data(last_graph, a, drop_last), 0);
		assert_int_equal(hyphae_graph_free(last_graph), 0);
		assert_null(last_data);
		assert_int_equal(last_set, -ESTALE);
		assert_int_equal(last_free, -EBUSY);
		assert_string_equal(dropped, "b");
		assert_int_equal(hy_alloc_live(), live);
	}
}

static struct hyphae_subscription *own_sub;
static void *seen;

static int look(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	if (own_sub) {
		seen = hyphae_subscription_data(own_sub);
		hyphae_subscription_set_data(own_sub, b, drop_char);
		return HYPHAE_DETACH;
	}
	return 0;
}

/* A subscriber may look at its data, replace it, and end with it. */
static void in_a_subscriber(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 1);

	(void)state;
	dropped[0] = '\0';
	own_sub = NULL;
	own_sub = hyphae_subscribe_with(cell, look, c, drop_char, 0);
	assert_int_equal(hyphae_subscription_set_data(own_sub, a, drop_char),
			 0);
	assert_int_equal(hyphae_int64_set(cell, 2), 0);
	assert_ptr_equal(seen, a);
	assert_string_equal(dropped, "acb");
	assert_null(hyphae_subscription_data(own_sub));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_life_of_each),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(order_in_a_cell),
		cmocka_unit_test(order_in_a_graph),
		cmocka_unit_test(order_in_a_scope),
		cmocka_unit_test(drop_may_not_write),
		cmocka_unit_test(last_words),
		cmocka_unit_test(in_a_subscriber),
	};

	return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
