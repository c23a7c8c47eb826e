/* SPDX-License-Identifier: MIT */
/*
 * A thread ends and has left open what only it could end: batches, frames,
 * scopes.  They are ended for it, nothing that it wrote is lost, and the graph
 * is told of a problem.  Each case waits for the thread's end, so all of it is
 * exact.
 */
#include <semaphore.h>

#include "flow.h"
#include "threads.h"

struct world {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *sum;
	struct hyphae_scope *outer, *inner;
	struct hyphae_cell *made;
	struct text heard;
	int problems[8], nproblems;
	int codes; /* the sum of what functions returned on the thread */
	int again; /* how often a subscriber leaves a batch open */
	void *(*body)(void *ctx);
	sem_t waits;
};

static const unsigned int shared_kinds[] = {0, HYPHAE_EAGER, HYPHAE_LAZY};
#define EACH_SHARED_KIND(kind_)                                                \
	for (const unsigned int *kind_ = shared_kinds;                         \
	     kind_ < shared_kinds + 3; kind_++)

static void note_problem(const struct hyphae_problem *problem, void *ctx)
{
	struct world *w = ctx;

	w->codes += problem->cell_id != 0;
	if (w->nproblems < 8)
		w->problems[w->nproblems++] = problem->code;
}

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	add_signal(ctx, signal);
	return 0;
}

static int add_up(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

static void build(struct world *w, unsigned int kind)
{
	struct hyphae_cell *inputs[2];

	*w = (struct world){.graph = hyphae_graph_new(kind)};
	hyphae_graph_on_problem(w->graph, note_problem, w);
	w->a = hyphae_int64_new(w->graph, 1);
	w->b = hyphae_int64_new(w->graph, 2);
	inputs[0] = w->a;
	inputs[1] = w->b;
	w->sum = hyphae_combine(inputs, 2, &hyphae_int64, add_up, NULL);
	hyphae_subscribe_with(w->sum, hear, &w->heard, NULL,
			      HYPHAE_SKIP_INITIAL);
	WATCH();
}

static void run(struct world *w, void *(*body)(void *ctx))
{
	pthread_t thread;

	start(&thread, body, w);
	join(thread);
	assert_int_equal(w->codes, 0);
}

static void expect_problems(const struct world *w, int count)
{
	assert_int_equal(w->nproblems, count);
	for (int i = 0; i < count; i++)
		assert_int_equal(w->problems[i], -ECANCELED);
}

#define expect_text(w, expected)                                               \
	do {                                                                   \
		(w)->heard.text[(w)->heard.length] = '\0';                     \
		assert_string_equal((w)->heard.text, expected);                \
	} while (0)

/* ---- batches ----------------------------------------------------------------- */

static void *leave_a_batch(void *ctx)
{
	struct world *w = ctx;

	w->codes += hyphae_batch_begin(w->graph);
	w->codes += hyphae_batch_begin(w->graph);
	w->codes += hyphae_int64_set(w->a, 10);
	w->codes += hyphae_int64_set(w->b, 20);
	w->codes += hyphae_int64_set(w->a, 30);
	return NULL;
}

static void a_batch(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		run(&w, leave_a_batch);
		expect_text(&w, "50");
		expect_problems(&w, 1);
		assert_int_equal(value(w.a), 30);
		end_graph(w.graph, 3, 1);
	}
}

static void *exit_in_a_batch(void *ctx)
{
	leave_a_batch(ctx);
	pthread_exit(NULL);
}

static void a_batch_at_pthread_exit(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		run(&w, exit_in_a_batch);
		expect_text(&w, "50");
		expect_problems(&w, 1);
		end_graph(w.graph, 3, 1);
	}
}

static void *wait_in_a_batch(void *ctx)
{
	struct world *w = ctx;

	leave_a_batch(ctx);
	while (sem_wait(&w->waits) == 0)
		;
	return NULL;
}

static void a_batch_of_a_cancelled_thread(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;
		pthread_t thread;

		build(&w, *kind);
		assert_int_equal(sem_init(&w.waits, 0, 0), 0);
		start(&thread, wait_in_a_batch, &w);
		/* At its first or at its only cancellation point. */
		assert_int_equal(sem_post(&w.waits), 0);
		while (sem_trywait(&w.waits) == 0) {
			assert_int_equal(sem_post(&w.waits), 0);
			sched_yield();
		}
		assert_int_equal(pthread_cancel(thread), 0);
		join(thread);
		sem_destroy(&w.waits);
		assert_int_equal(w.codes, 0);
		expect_text(&w, "50");
		expect_problems(&w, 1);
		end_graph(w.graph, 3, 1);
	}
}

/* Two graphs, and nothing written in the second. */
static void *leave_two(void *ctx)
{
	struct world *w = ctx;

	leave_a_batch(&w[0]);
	w[1].codes += hyphae_batch_begin(w[1].graph);
	return NULL;
}

static void batches_of_two_graphs(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w[2];

		build(&w[0], *kind);
		build(&w[1], *kind);
		run(w, leave_two);
		expect_text(&w[0], "50");
		expect_text(&w[1], "");
		expect_problems(&w[0], 1);
		expect_problems(&w[1], 1);
		assert_int_equal(w[1].codes, 0);
		end_graph(w[0].graph, 3, 1);
		end_graph(w[1].graph, 3, 1);
	}
}

/* On the thread that ends: what it opens then is ended as well. */
static int leave_another(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	(void)signal;
	if (w->again-- <= 0)
		return 0;
	w->codes += hyphae_batch_begin(w->graph);
	return hyphae_int64_set(w->b, 100 + w->again);
}

static void a_batch_in_the_end_of_a_batch(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		w.again = 2;
		hyphae_subscribe_with(w.sum, leave_another, &w, NULL,
				      HYPHAE_SKIP_INITIAL);
		run(&w, leave_a_batch);
		expect_text(&w, "50,131,130");
		expect_problems(&w, 3);
		end_graph(w.graph, 3, 2);
	}
}

/* Nothing is left open, nothing is told. */
static void *open_and_close(void *ctx)
{
	struct world *w = ctx;

	leave_a_batch(w);
	w->codes += hyphae_batch_end(w->graph);
	w->codes += hyphae_batch_end(w->graph);
	w->codes += hyphae_scope_enter(w->outer);
	w->codes += hyphae_scope_leave(w->outer);
	return NULL;
}

static void all_is_closed(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		w.outer = hyphae_scope_new(w.graph);
		run(&w, open_and_close);
		expect_text(&w, "50");
		expect_problems(&w, 0);
		end_graph(w.graph, 3, 1);
	}
}

/* ---- frames -------------------------------------------------------------------- */

static void *leave_a_frame(void *ctx)
{
	struct world *w = ctx;

	w->codes += hyphae_frame_begin(w->graph, 1000);
	w->codes += hyphae_batch_begin(w->graph);
	w->codes += hyphae_int64_set(w->a, 40);
	return NULL;
}

static void a_frame(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		run(&w, leave_a_frame);
		expect_text(&w, "42");
		expect_problems(&w, 1);
		assert_int_equal(hyphae_frame_number(w.graph), 1);
		assert_int_equal(hyphae_frame_begin(w.graph, 2000), 0);
		assert_int_equal(hyphae_frame_end(w.graph), 0);
		assert_int_equal(hyphae_frame_number(w.graph), 2);
		end_graph(w.graph, 3, 1);
	}
}

/* ---- while another thread propagates, and waits for the end ----------------------- */

static int run_and_wait(const struct hyphae_signal *signal, void *ctx)
{
	void *(*body)(void *ctx);
	struct world *w = ctx;
	pthread_t thread;

	(void)signal;
	if (!w->body)
		return 0;
	body = w->body;
	w->body = NULL;
	if (pthread_create(&thread, NULL, body, w))
		return -EAGAIN;
	pthread_join(thread, NULL);
	add(&w->heard, "over");
	return 0;
}

static void beside_a_drainer(unsigned int kind, void *(*body)(void *ctx),
			     const char *expected)
{
	struct world w;

	build(&w, kind);
	w.body = body;
	hyphae_subscribe_with(w.sum, run_and_wait, &w, NULL,
			      HYPHAE_SKIP_INITIAL);
	assert_int_equal(hyphae_int64_set(w.b, 3), 0);
	assert_int_equal(w.codes, 0);
	expect_text(&w, expected);
	expect_problems(&w, 1);
	end_graph(w.graph, 3, 2);
}

static void it_is_left_to_the_drainer(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		beside_a_drainer(*kind, leave_a_batch, "4,over,50");
		beside_a_drainer(*kind, leave_a_frame, "4,over,43");
	}
}

/* ---- scopes ---------------------------------------------------------------------------- */

static void *leave_in_scopes(void *ctx)
{
	struct world *w = ctx;

	w->codes += hyphae_scope_enter(w->outer);
	w->inner = hyphae_scope_new(w->graph);
	w->codes += hyphae_scope_enter(w->inner);
	w->made = hyphae_int64_new(w->graph, 7);
	return NULL;
}

static void scopes(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		w.outer = hyphae_scope_new(w.graph);
		run(&w, leave_in_scopes);
		expect_problems(&w, 2);
		assert_int_equal(value(w.made), 7);
		assert_int_equal(hyphae_scope_enter(w.inner), 0);
		assert_int_equal(hyphae_scope_leave(w.inner), 0);
		assert_int_equal(hyphae_scope_dispose(w.outer), 0);
		assert_int_equal(hyphae_scope_leave(w.inner), -ESTALE);
		assert_int_equal(hyphae_cell_unref(w.made), -ESTALE);
		end_graph(w.graph, 3, 1);
	}
}

static int make_one(const struct hyphae_signal *signal, void *ctx)
{
	struct world *w = ctx;

	(void)signal;
	w->made = hyphae_int64_new(w->graph, 8);
	return 0;
}

static void *leave_both(void *ctx)
{
	leave_a_batch(ctx);
	return leave_in_scopes(ctx);
}

/* Scopes are left first: what subscribers make is in none. */
static void a_batch_in_a_scope(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		struct world w;

		build(&w, *kind);
		w.outer = hyphae_scope_new(w.graph);
		hyphae_subscribe_with(w.sum, make_one, &w, NULL,
				      HYPHAE_SKIP_INITIAL);
		run(&w, leave_both);
		expect_text(&w, "50");
		expect_problems(&w, 3);
		assert_int_equal(hyphae_scope_dispose(w.outer), 0);
		assert_int_equal(value(w.made), 8);
		assert_int_equal(hyphae_cell_unref(w.made), 0);
		end_graph(w.graph, 3, 2);
	}
}

/* ---- a single-threaded graph --------------------------------------------------------------- */

static void used_by_one_at_a_time(void **state)
{
	struct world w;

	(void)state;
	build(&w, HYPHAE_SINGLE_THREAD);
	w.outer = hyphae_scope_new(w.graph);
	run(&w, leave_both);
	expect_problems(&w, 2);
	expect_text(&w, "");
	assert_int_equal(hyphae_scope_dispose(w.outer), 0);
	assert_int_equal(hyphae_graph_check_idle(w.graph), -EBUSY);
	assert_int_equal(hyphae_batch_end(w.graph), 0);
	assert_int_equal(hyphae_batch_end(w.graph), 0);
	expect_text(&w, "50");
	end_graph(w.graph, 3, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch),
		cmocka_unit_test(a_batch_at_pthread_exit),
		cmocka_unit_test(a_batch_of_a_cancelled_thread),
		cmocka_unit_test(batches_of_two_graphs),
		cmocka_unit_test(a_batch_in_the_end_of_a_batch),
		cmocka_unit_test(all_is_closed),
		cmocka_unit_test(a_frame),
		cmocka_unit_test(it_is_left_to_the_drainer),
		cmocka_unit_test(scopes),
		cmocka_unit_test(a_batch_in_a_scope),
		cmocka_unit_test(used_by_one_at_a_time),
	};

	return cmocka_run_group_tests_name("thread_left_open", tests, NULL,
					   NULL);
}
