/* SPDX-License-Identifier: MIT */
/*
 * No memory, at every place where memory is asked for.
 *
 * A step (a constructor, an operation) is tried in a fresh garden with the
 * first of its allocations failing, then in another with the second, until it
 * has no more of them.  Each time it must say so, leave the garden as it was,
 * and work when it is tried again.
 */
#include "oom_functions.h"

#include <stdio.h>

/* Cells of each kind, and what a step made in addition. */
struct garden {
	struct hyphae_graph *graph;
	struct hyphae_cell *a; /* 1 */
	struct hyphae_cell *s; /* "spore" */
	struct hyphae_cell *l; /* large, 1 */
	struct hyphae_cell *b; /* a + 1 */
	struct hyphae_cell *d; /* a + b */
	struct hyphae_cell *m; /* large, from l */
	struct hyphae_subscription *sub;
	unsigned int calls; /* of the subscriber of d */
	struct hyphae_scope *scope;

	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	struct hyphae_scope *scope_made;
	struct hyphae_graph *graph_made;
	unsigned int drops;
};

static int to_string(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(char **)ret = strdup(*(const int64_t *)input % 2 ? "odd" : "even");
	return *(char **)ret ? 0 : -ENOMEM;
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static void count_drop(void *data)
{
	++*(unsigned int *)data;
}

static void plant(struct garden *g, unsigned int flags)
{
	struct hyphae_cell *both[2];
	struct large large = {.n = 1};

	memset(g, 0, sizeof(*g));
	g->graph = hyphae_graph_new(flags);
	assert_non_null(g->graph);
	g->a = hyphae_int64_new(g->graph, 1);
	g->s = hyphae_string_new(g->graph, "spore");
	g->l = large_new_at(g->graph, large, HYPHAE_HERE);
	g->b = hyphae_map(g->a, &hyphae_int64, plus_one, NULL);
	both[0] = g->a;
	both[1] = g->b;
	g->d = hyphae_combine(both, 2, &hyphae_int64, sum, NULL);
	g->m = hyphae_map(g->l, &large_type, next_large, NULL);
	g->sub = hyphae_subscribe(g->d, count_call, &g->calls);
	g->scope = hyphae_scope_new(g->graph);
	assert_non_null(g->sub);
	assert_non_null(g->m);
	assert_non_null(g->scope);
}

/* Everything that can be seen of a garden from outside. */
struct look {
	struct hyphae_graph_counts counts;
	struct hyphae_cell_info info[6];
	int64_t a, b, d;
	char text[16];
	int64_t l, m;
	unsigned int calls;
	int idle;
	char name[32];
};

static void look_at(struct garden *g, struct look *look)
{
	struct hyphae_cell *cells[6] = {g->a, g->s, g->l, g->b, g->d, g->m};
	struct large large;
	char *text = NULL;
	size_t i;

	memset(look, 0, sizeof(*look));
	assert_int_equal(hyphae_graph_counts(g->graph, &look->counts), 0);
	for (i = 0; i < 6; i++) {
		struct hyphae_cell_info info;

		assert_int_equal(hyphae_cell_info(cells[i], &info), 0);
		look->info[i].targets = info.targets;
		look->info[i].references = info.references;
		look->info[i].ended = info.ended;
		look->info[i].height = info.height;
	}
	assert_int_equal(hyphae_int64_get(g->a, &look->a), 0);
	assert_int_equal(hyphae_int64_get(g->b, &look->b), 0);
	assert_int_equal(hyphae_int64_get(g->d, &look->d), 0);
	assert_int_equal(hyphae_string_get(g->s, &text), 0);
	snprintf(look->text, sizeof(look->text), "%s", text);
	free(text);
	assert_int_equal(large_get(g->l, &large), 0);
	look->l = large.n;
	assert_int_equal(large_get(g->m, &large), 0);
	look->m = large.n;
	look->calls = g->calls;
	look->idle = hyphae_graph_check_idle(g->graph);
	assert_true(hyphae_cell_name(g->a, look->name, sizeof(look->name)) >=
		    0);
}

/* Does the garden still work? */
static void use(struct garden *g)
{
	struct hyphae_cell_info info;
	struct large large = {.n = 500};
	unsigned int calls = g->calls;
	int64_t d;

	assert_int_equal(hyphae_int64_set(g->a, 1000), 0);
	assert_int_equal(hyphae_int64_get(g->d, &d), 0);
	assert_int_equal(d, 2001);
	assert_int_equal(g->calls, calls + 1);
	assert_int_equal(hyphae_string_set(g->s, "fruit"), 0);
	assert_int_equal(hyphae_cell_info(g->l, &info), 0);
	if (info.ended)
		return;
	assert_int_equal(large_set(g->l, large), 0);
	assert_int_equal(large_get(g->m, &large), 0);
	assert_int_equal(large.n, 501);
}

static void uproot(struct garden *g)
{
	if (g->graph_made)
		assert_int_equal(hyphae_graph_free(g->graph_made), 0);
	assert_int_equal(hyphae_graph_free(g->graph), 0);
}

/* ---- the steps: 0, or a negative errno and nothing changed ---- */

/* Of a constructor. */
static int made(const void *object)
{
	return object ? 0 : -errno;
}

static int new_graph(struct garden *g)
{
	g->graph_made = hyphae_graph_new(0);
	return made(g->graph_made);
}

static int new_eager_graph(struct garden *g)
{
	g->graph_made = hyphae_graph_new(HYPHAE_EAGER);
	return made(g->graph_made);
}

static int new_int64(struct garden *g)
{
	g->cell = hyphae_int64_new(g->graph, 7);
	return made(g->cell);
}

static int new_string(struct garden *g)
{
	g->cell = hyphae_string_new(g->graph, "a text that is not short");
	return made(g->cell);
}

static int new_large(struct garden *g)
{
	g->cell = large_new_at(g->graph, (struct large){.n = 3}, HYPHAE_HERE);
	return made(g->cell);
}

static int new_map(struct garden *g)
{
	g->cell = hyphae_map(g->d, &hyphae_int64, plus_one, NULL);
	return made(g->cell);
}

static int new_large_map(struct garden *g)
{
	g->cell = hyphae_map(g->m, &large_type, next_large, NULL);
	return made(g->cell);
}

static int new_string_map(struct garden *g)
{
	g->cell = hyphae_map(g->a, &hyphae_string, to_string, NULL);
	return made(g->cell);
}

static int new_filter(struct garden *g)
{
	g->cell = hyphae_filter(g->d, positive, NULL);
	return made(g->cell);
}

static int new_large_filter(struct garden *g)
{
	g->cell = hyphae_filter(g->m, positive, NULL);
	return made(g->cell);
}

static int new_combine(struct garden *g)
{
	struct hyphae_cell *three[3] = {g->a, g->b, g->d};

	g->cell = hyphae_combine(three, 3, &hyphae_int64, sum, NULL);
	return made(g->cell);
}

static int new_wide_combine(struct garden *g)
{
	struct hyphae_cell *many[200];
	size_t i;

	for (i = 0; i < 200; i++)
		many[i] = i % 2 ? g->a : g->d;
	g->cell = hyphae_combine(many, 200, &hyphae_int64, sum, NULL);
	return made(g->cell);
}

static int new_subscription(struct garden *g)
{
	g->drops = 0;
	g->subscription =
		hyphae_subscribe_with(g->b, quiet, &g->drops, count_drop, 0);
	if (g->subscription)
		return g->drops == 0 ? 0 : -EFAULT;
	/* A failed one has dropped its context. */
	return g->drops == 1 ? -errno : -EFAULT;
}

static int new_subscription_large(struct garden *g)
{
	g->subscription = hyphae_subscribe(g->m, quiet, NULL);
	return made(g->subscription);
}

/* With everything a subscription can have. */
static int new_effect(struct garden *g)
{
	struct hyphae_subscription_options options = {
		.fn = quiet,
		.ctx = &g->drops,
		.drop = count_drop,
		.cleanup = quiet_cleanup,
		.flags = HYPHAE_PREVIOUS,
	};

	g->drops = 0;
	g->subscription = hyphae_subscribe_options(g->m, &options);
	if (g->subscription)
		return g->drops == 0 ? 0 : -EFAULT;
	return g->drops == 1 ? -errno : -EFAULT;
}

static int new_single_shot(struct garden *g)
{
	unsigned int live;

	g->drops = 0;
	g->subscription = hyphae_subscribe_with(g->a, quiet, &g->drops,
						count_drop, HYPHAE_ONCE);
	live = hyphae_subscription_id(g->subscription) != 0;
	if (g->drops != 1 || live)
		return -EFAULT;
	return made(g->subscription);
}

/* Needs no memory: resumed, the subscriber is told. */
static int pause_and_resume(struct garden *g)
{
	unsigned int calls = g->calls;
	int r = hyphae_subscription_pause(g->sub);

	if (r == 0)
		r = hyphae_int64_set(g->a, 2);
	if (r == 0 && g->calls != calls)
		r = -EFAULT;
	if (r == 0)
		r = hyphae_subscription_resume(g->sub);
	return r == 0 && g->calls != calls + 1 ? -EFAULT : r;
}

static int own_data(struct garden *g)
{
	int r;

	g->drops = 0;
	r = hyphae_cell_own(g->a, &g->drops, count_drop);
	return r == 0 || g->drops == 1 ? r : -EFAULT;
}

static int set_name(struct garden *g)
{
	return hyphae_cell_set_name(g->a, "a name for people");
}

static int set_int64(struct garden *g)
{
	return hyphae_int64_set(g->a, 2);
}

static int set_string(struct garden *g)
{
	return hyphae_string_set(g->s, "mycelium");
}

static int set_large(struct garden *g)
{
	return large_set(g->l, (struct large){.n = 2});
}

static int batch_of_one(struct garden *g)
{
	int r = hyphae_batch_begin(g->graph);
	int end;

	if (r < 0)
		return r;
	r = hyphae_int64_set(g->a, 2);
	end = hyphae_batch_end(g->graph);
	return r < 0 ? r : end;
}

/* As large values, where the log holds copies. */
static int batch_of_large(struct garden *g)
{
	int r = hyphae_batch_begin(g->graph);
	int end;

	if (r < 0)
		return r;
	r = large_set(g->l, (struct large){.n = 2});
	end = hyphae_batch_end(g->graph);
	return r < 0 ? r : end;
}

static int complete(struct garden *g)
{
	return hyphae_cell_complete(g->l);
}

static int fail_string(struct garden *g)
{
	return hyphae_cell_fail(g->l, -EIO, "a message that is to be kept");
}

static int new_scope(struct garden *g)
{
	g->scope_made = hyphae_scope_new(g->graph);
	return made(g->scope_made);
}

static int on_dispose(struct garden *g)
{
	return hyphae_scope_on_dispose(g->scope, count_drop, &g->drops);
}

static int in_scope(struct garden *g, int (*step)(struct garden *g))
{
	int r = hyphae_scope_enter(g->scope);
	int leave;

	if (r < 0)
		return r;
	r = step(g);
	leave = hyphae_scope_leave(g->scope);
	return r < 0 ? r : leave;
}

static int cell_in_scope(struct garden *g)
{
	return in_scope(g, new_int64);
}

static int map_in_scope(struct garden *g)
{
	return in_scope(g, new_map);
}

static int subscription_in_scope(struct garden *g)
{
	return in_scope(g, new_subscription);
}

static int scope_in_scope(struct garden *g)
{
	return in_scope(g, new_scope);
}

static int open_pass(struct garden *g)
{
	struct hyphae_report report;
	int r = hyphae_pass_begin();

	(void)g;
	if (r == 0)
		r = hyphae_pass_end();
	if (r == 0)
		r = hyphae_report_take(&report);
	if (r == 0)
		hyphae_report_done(&report);
	return r;
}

/* ---- the sweep ---- */

struct step {
	const char *name;
	int (*run)(struct garden *g);
};

#define STEP(fn)                                                               \
	{                                                                      \
#fn, fn                                                        \
	}
static const struct step steps[] = {
	STEP(new_graph),
	STEP(new_eager_graph),
	STEP(new_int64),
	STEP(new_string),
	STEP(new_large),
	STEP(new_map),
	STEP(new_large_map),
	STEP(new_string_map),
	STEP(new_filter),
	STEP(new_large_filter),
	STEP(new_combine),
	STEP(new_wide_combine),
	STEP(new_subscription),
	STEP(new_subscription_large),
	STEP(new_effect),
	STEP(new_single_shot),
	STEP(pause_and_resume),
	STEP(own_data),
	STEP(set_name),
	STEP(set_int64),
	STEP(set_string),
	STEP(set_large),
	STEP(batch_of_one),
	STEP(batch_of_large),
	STEP(complete),
	STEP(fail_string),
	STEP(new_scope),
	STEP(on_dispose),
	STEP(cell_in_scope),
	STEP(map_in_scope),
	STEP(subscription_in_scope),
	STEP(scope_in_scope),
	STEP(open_pass),
};

/* One try with the n-th allocation failing.  True: it had so many. */
static bool try_step(const struct step *step, unsigned int flags,
		     unsigned long n)
{
	struct garden g;
	struct look before, after;
	unsigned long asked;
	int r;

	plant(&g, flags);
	look_at(&g, &before);
	asked = hy_alloc_count();
	hy_alloc_fail_after(n);
	r = step->run(&g);
	hy_alloc_fail_after(0);
	asked = hy_alloc_count() - asked;
	if (asked < n) {
		if (r != 0)
			fail_msg("%s: gave %d with all the memory it wanted",
				 step->name, r);
		use(&g);
		uproot(&g);
		return false;
	}
	if (r != -ENOMEM)
		fail_msg("%s, allocation %lu fails: gave %d, not -ENOMEM",
			 step->name, n, r);
	look_at(&g, &after);
	if (memcmp(&before, &after, sizeof(before)) != 0)
		fail_msg("%s, allocation %lu fails: the graph has changed",
			 step->name, n);
	r = step->run(&g);
	if (r != 0)
		fail_msg("%s, allocation %lu failed: the next try gave %d",
			 step->name, n, r);
	use(&g);
	uproot(&g);
	return true;
}

static void sweep(unsigned int flags)
{
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		unsigned long n = 1;
		long live;

		while (try_step(&steps[i], flags, n))
			n++;
		/* By now whatever is kept for the next time is there. */
		live = hy_alloc_live();
		for (; n > 0; n--)
			try_step(&steps[i], flags, n);
		if (hy_alloc_live() != live)
			fail_msg("%s: %ld allocations were not given back",
				 steps[i].name, hy_alloc_live() - live);
	}
}

static void every_step(void **state)
{
	(void)state;
	sweep(0);
}

static void every_step_single_thread(void **state)
{
	(void)state;
	sweep(HYPHAE_SINGLE_THREAD);
}

static void every_step_eager(void **state)
{
	(void)state;
	sweep(HYPHAE_EAGER);
}

/*
 * A batch of many cells, whose log grows: the write that finds no memory is
 * refused and the others are kept.
 */
static void growing_batch(void **state)
{
	unsigned long n;
	bool failed = true;

	(void)state;
	for (n = 1; failed; n++) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *cells[100];
		int result[100];
		int64_t held;
		int i;

		for (i = 0; i < 100; i++)
			cells[i] = hyphae_int64_new(graph, -1);
		assert_non_null(cells[99]);
		assert_int_equal(hyphae_batch_begin(graph), 0);
		hy_alloc_fail_after(n);
		for (i = 0; i < 100; i++)
			result[i] = hyphae_int64_set(cells[i], i);
		hy_alloc_fail_after(0);
		assert_int_equal(hyphae_batch_end(graph), 0);
		failed = false;
		for (i = 0; i < 100; i++) {
			assert_true(result[i] == 0 || result[i] == -ENOMEM);
			failed |= result[i] != 0;
			assert_int_equal(hyphae_int64_get(cells[i], &held), 0);
			assert_int_equal(held, result[i] == 0 ? i : -1);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	assert_true(n > 2);
}

struct echo {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[20];
	int codes[20];
	unsigned long fail_at;
};

static int set_all(const struct hyphae_signal *signal, void *ctx)
{
	struct echo *echo = ctx;
	int i;

	hy_alloc_fail_after(echo->fail_at);
	for (i = 0; i < 20; i++)
		echo->codes[i] = hyphae_int64_set(echo->cells[i],
						  hyphae_int64_of(signal));
	hy_alloc_fail_after(0);
	return 0;
}

/* The same for what a subscriber writes: the log of the next wave. */
static void growing_next_wave(void **state)
{
	bool failed = true;
	unsigned long n;

	(void)state;
	for (n = 1; failed; n++) {
		struct hyphae_graph *graph = hyphae_graph_new(0);
		struct hyphae_cell *a = hyphae_int64_new(graph, 0);
		struct echo echo = {.fail_at = 0};
		int64_t held;
		int i;

		for (i = 0; i < 20; i++)
			echo.cells[i] = hyphae_int64_new(graph, 0);
		assert_non_null(hyphae_subscribe_with(a, set_all, &echo, NULL,
						      HYPHAE_SKIP_INITIAL));
		echo.fail_at = n;
		assert_int_equal(hyphae_int64_set(a, 5), 0);
		failed = false;
		for (i = 0; i < 20; i++) {
			assert_true(echo.codes[i] == 0 ||
				    echo.codes[i] == -ENOMEM);
			failed |= echo.codes[i] != 0;
			assert_int_equal(hyphae_int64_get(echo.cells[i], &held),
					 0);
			assert_int_equal(held, echo.codes[i] == 0 ? 5 : 0);
		}
		assert_int_equal(hyphae_graph_free(graph), 0);
	}
	assert_true(n > 2);
}

static int set_all_in_batch(const struct hyphae_signal *signal, void *ctx)
{
	struct echo *echo = ctx;
	int i;

	if (hyphae_batch_begin(echo->graph) != 0)
		return -EFAULT;
	for (i = 0; i < 20; i++)
		if (hyphae_int64_set(echo->cells[i], hyphae_int64_of(signal)))
			return -EFAULT;
	hy_alloc_fail_after(echo->fail_at);
	echo->codes[0] = hyphae_batch_end(echo->graph);
	hy_alloc_fail_after(0);
	/* It is as it was, open, and can be ended again. */
	if (echo->codes[0] == -ENOMEM)
		echo->codes[1] = hyphae_batch_end(echo->graph);
	return 0;
}

/*
 * A batch that ends in a subscriber needs no memory for that: each write made
 * room in the next wave as well.
 */
static void batch_end_in_a_subscriber(void **state)
{
	unsigned long n;
	bool failed = true;

	(void)state;
	for (n = 1; failed; n++) {
		struct echo echo = {.graph = hyphae_graph_new(0)};
		struct hyphae_cell *a = hyphae_int64_new(echo.graph, 0);
		int64_t held;
		int i;

		for (i = 0; i < 20; i++)
			echo.cells[i] = hyphae_int64_new(echo.graph, 0);
		assert_non_null(hyphae_subscribe_with(
			a, set_all_in_batch, &echo, NULL, HYPHAE_SKIP_INITIAL));
		echo.fail_at = n;
		assert_int_equal(hyphae_int64_set(a, 5), 0);
		failed = echo.codes[0] == -ENOMEM;
		assert_int_equal(echo.codes[0], failed ? -ENOMEM : 0);
		assert_int_equal(echo.codes[1], 0);
		for (i = 0; i < 20; i++) {
			assert_int_equal(hyphae_int64_get(echo.cells[i], &held),
					 0);
			assert_int_equal(held, 5);
		}
		assert_int_equal(hyphae_graph_check_idle(echo.graph), 0);
		assert_int_equal(hyphae_graph_free(echo.graph), 0);
	}
	assert_int_equal(n, 2);
}

/* A pass that finds no room says how much it lost; nothing else suffers. */
static void pass_without_memory(void **state)
{
	unsigned long n;
	unsigned long done = 0;

	(void)state;
	for (n = 1; done < n; n++) {
		struct garden g;
		struct hyphae_report report;
		int i;

		plant(&g, 0);
		done = hy_alloc_count();
		hy_alloc_fail_after(n);
		if (hyphae_pass_begin() == 0) {
			for (i = 2; i < 200; i++) {
				struct hyphae_cell *x = g.a;

				if (hyphae_int64_set(x, i) != 0)
					break;
			}
			assert_int_equal(i, 200);
			assert_int_equal(hyphae_pass_end(), 0);
			while (hyphae_report_take(&report) == -ENOMEM)
				continue;
			/* a, b and d fire in each. */
			if (report.lost)
				assert_true(report.fires <= 594);
			else
				assert_int_equal(report.fires, 594);
			hyphae_report_done(&report);
		}
		hy_alloc_fail_after(0);
		done = hy_alloc_count() - done;
		use(&g);
		uproot(&g);
	}
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step),
		cmocka_unit_test(every_step_single_thread),
		cmocka_unit_test(every_step_eager),
		cmocka_unit_test(growing_batch),
		cmocka_unit_test(growing_next_wave),
		cmocka_unit_test(batch_end_in_a_subscriber),
		cmocka_unit_test(pass_without_memory),
	};

	return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
