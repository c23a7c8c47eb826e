/* SPDX-License-Identifier: MIT */
/*
 * Posters; and posts from other threads into graphs that are single-threaded,
 * and from signal handlers.
 */
#include "thread_post.h"

/* ---- posters ----------------------------------------------------------------- */

static void poster_last_value(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct hyphae_poster *pa = hyphae_poster_new(a);
	struct hyphae_poster *pb = hyphae_poster_new(b);
	struct told told = {.calls = 0};
	int64_t seven = 7;

	WATCH();
	assert_non_null(hyphae_subscribe(a, tell, &told));
	assert_int_equal(hyphae_poster_post_int64(pa, 1), 0);
	assert_int_equal(hyphae_poster_post_int64(pb, 2), 0);
	assert_int_equal(hyphae_poster_post_int64(pa, 3), 0);
	expect_counts(graph, 1, 0, 0, 2);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 2);
	assert_int_equal(told.last, 3);
	assert_int_equal(value(b), 2);
	assert_int_equal(hyphae_poster_replaced(pa), 1);
	assert_int_equal(hyphae_poster_replaced(pb), 0);
	/* Together with a post of the usual kind: one of them. */
	assert_int_equal(hyphae_int64_post(a, 4), 0);
	assert_int_equal(hyphae_poster_post(pa, &hyphae_int64, &seven), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.calls, 3);
	assert_int_equal(value(a), 7);
	expect_counts(graph, 2, 3, 0, 0);
	/* A value waits when it is freed; others stay in the list. */
	assert_int_equal(hyphae_poster_post_int64(pb, 11), 0);
	assert_int_equal(hyphae_poster_post_int64(pa, 12), 0);
	hyphae_poster_free(pa);
	expect_counts(graph, 2, 3, 1, 1);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(value(a), 7);
	assert_int_equal(value(b), 11);
	hyphae_poster_free(pb);
	hyphae_poster_free(NULL);
	end_graph(graph, 2, 1);
}

static void poster_types(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *d = hyphae_double_new(graph, 0.5);
	struct hyphae_cell *b = hyphae_bool_new(graph, false);
	struct hyphae_cell *p = hyphae_pointer_new(graph, NULL);
	struct hyphae_poster *pd = hyphae_poster_new(d);
	struct hyphae_poster *pb = hyphae_poster_new(b);
	struct hyphae_poster *pp = hyphae_poster_new(p);
	double number = 0;
	bool truth = false;
	void *pointer = NULL;

	WATCH();
	assert_int_equal(hyphae_poster_post_double(pd, 2.5), 0);
	assert_int_equal(hyphae_poster_post_bool(pb, true), 0);
	assert_int_equal(hyphae_poster_post_pointer(pp, graph), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(hyphae_double_get(d, &number), 0);
	assert_true(number == 2.5);
	assert_int_equal(hyphae_bool_get(b, &truth), 0);
	assert_true(truth);
	assert_int_equal(hyphae_pointer_get(p, &pointer), 0);
	assert_ptr_equal(pointer, graph);
	/* The cell lives as long as its poster. */
	assert_int_equal(hyphae_cell_unref(d), 0);
	assert_int_equal(hyphae_poster_post_double(pd, 3.5), 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(hyphae_double_get(d, &number), 0);
	assert_true(number == 3.5);
	hyphae_poster_free(pd);
	assert_int_equal(hyphae_double_get(d, &number), -ESTALE);
	hyphae_poster_free(pb);
	hyphae_poster_free(pp);
	end_graph(graph, 2, 0);
}

static void poster_outlives(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_poster *idle = hyphae_poster_new(a);
	struct hyphae_poster *full = hyphae_poster_new(a);

	WATCH();
	assert_int_equal(hyphae_poster_post_int64(full, 1), 0);
	assert_int_equal(hyphae_cell_complete(a), 0);
	expect_counts(graph, 0, 0, 1, 0);
	assert_int_equal(hyphae_poster_post_int64(full, 1), 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_poster_post_int64(idle, 1), -ESTALE);
	assert_int_equal(hyphae_poster_post_int64(full, 1), -ESTALE);
	hyphae_poster_free(idle);
	hyphae_poster_free(full);
	alarm(0);
}

/* ---- other threads --------------------------------------------------------- */

#define POSTERS 4

struct crowd {
	struct hyphae_graph *graph;
	struct hyphae_cell *cells[POSTERS];
	_Atomic unsigned int failed;
	_Atomic unsigned int running;
	_Atomic unsigned int next;
};

static void *post_much(void *ctx)
{
	struct crowd *crowd = ctx;
	unsigned int me = atomic_fetch_add(&crowd->next, 1);

	for (int64_t i = 1; i <= POSTS; i++) {
		if (hyphae_int64_post(crowd->cells[me], i) ||
		    hyphae_int64_post(crowd->cells[0], -i))
			atomic_fetch_add(&crowd->failed, 1);
	}
	atomic_fetch_sub(&crowd->running, 1);
	return NULL;
}

/* The owner of a single-threaded graph dispatches what others post. */
static void h01_posts_of_other_threads(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct crowd crowd = {.graph = graph, .running = POSTERS - 1};
	struct told told[POSTERS] = {{.calls = 0}};
	pthread_t threads[POSTERS - 1];
	struct hyphae_post_counts counts;
	int errors = 0;

	WATCH();
	for (int i = 0; i < POSTERS; i++) {
		crowd.cells[i] = hyphae_int64_new(graph, 0);
		assert_non_null(
			hyphae_subscribe(crowd.cells[i], tell, &told[i]));
	}
	crowd.next = 1;
	for (int i = 0; i < POSTERS - 1; i++)
		start(&threads[i], post_much, &crowd);
	while (crowd.running)
		errors += flush(graph) != 0;
	for (int i = 0; i < POSTERS - 1; i++)
		join(threads[i]);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(errors, 0);
	assert_int_equal(crowd.failed, 0);
	for (int i = 0; i < POSTERS; i++)
		assert_int_equal(told[i].last, value(crowd.cells[i]));
	for (int i = 1; i < POSTERS; i++)
		assert_int_equal(told[i].last, POSTS);
	counts = counts_of(graph);
	assert_int_equal(counts.posted, 2 * POSTS * (POSTERS - 1));
	assert_int_equal(counts.waiting, 0);
	assert_int_equal(counts.refused, 0);
	end_graph(graph, POSTERS, POSTERS);
}

static void *set_much(void *ctx)
{
	struct crowd *crowd = ctx;

	for (int64_t i = 1; i <= POSTS; i++)
		if (hyphae_int64_set(crowd->cells[0], i) < 0)
			atomic_fetch_add(&crowd->failed, 1);
	atomic_fetch_sub(&crowd->running, 1);
	return NULL;
}

/* Writers take posts along; what comes last waits for a dispatch. */
static void h01_posts_beside_sets(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct crowd crowd = {.graph = graph, .running = 3};
	struct told told[3] = {{.calls = 0}};
	pthread_t threads[3];

	(void)state;
	WATCH();
	for (int i = 0; i < 3; i++) {
		crowd.cells[i] = hyphae_int64_new(graph, 0);
		assert_non_null(
			hyphae_subscribe(crowd.cells[i], tell, &told[i]));
	}
	crowd.next = 1;
	start(&threads[0], post_much, &crowd);
	start(&threads[1], set_much, &crowd);
	start(&threads[2], set_much, &crowd);
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(crowd.failed, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(told[i].last, value(crowd.cells[i]));
	assert_int_equal(told[1].last, POSTS);
	assert_int_equal(counts_of(graph).posted, 2 * POSTS);
	end_graph(graph, 3, 3);
}

/* ---- while another thread propagates ---------------------------------------- */

struct meeting {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b;
	_Atomic bool inside, go_on;
	struct told told;
	int result;
};

static int meet(const struct hyphae_signal *signal, void *ctx)
{
	struct meeting *m = ctx;

	if (hyphae_int64_of(signal) == 1) {
		m->inside = true;
		while (!m->go_on)
			sched_yield();
	}
	return 0;
}

static void *set_a(void *ctx)
{
	struct meeting *m = ctx;

	m->result = hyphae_int64_set(m->a, 1);
	return NULL;
}

static void left_to_who_propagates(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct meeting m = {.graph = graph};
	pthread_t thread;
	int fd = hy_post_fd(hy_graph(graph));

	(void)state;
	WATCH();
	m.a = hyphae_int64_new(graph, 0);
	m.b = hyphae_int64_new(graph, 0);
	assert_non_null(hyphae_subscribe(m.a, meet, &m));
	assert_non_null(hyphae_subscribe(m.b, tell, &m.told));
	start(&thread, set_a, &m);
	while (!m.inside)
		sched_yield();
	assert_int_equal(hyphae_int64_post(m.b, 1), 0);
	assert_true(readable(fd));
	assert_int_equal(flush(graph), 0);
	assert_false(readable(fd)); /* so that nobody turns in circles */
	assert_int_equal(value(m.b), 0);
	assert_int_equal(hyphae_int64_post(m.b, 2), 0);
	assert_true(readable(fd));
	m.go_on = true;
	join(thread);
	assert_int_equal(m.result, 0);
	assert_int_equal(m.told.last, 2);
	expect_counts(graph, 1, 1, 0, 0);
	end_graph(graph, 2, 2);
}

/* ---- signals ----------------------------------------------------------------- */

static struct hyphae_poster *of_signals;
static volatile sig_atomic_t signals, signal_failures;

static void on_signal(int number)
{
	(void)number;
	signals = signals + 1;
	if (hyphae_poster_post_int64(of_signals, signals))
		signal_failures = 1;
}

static void handle_signals(bool on)
{
	struct sigaction action = {.sa_handler = on ? on_signal : SIG_DFL,
				   .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* The handler interrupts whatever the graph does. */
struct shots {
	pthread_t target;
	_Atomic bool over;
	unsigned int fired;
};

static void *shoot(void *ctx)
{
	struct shots *shots = ctx;

	for (unsigned int i = 0; i < POSTS / 10; i++) {
		pthread_kill(shots->target, SIGUSR1);
		shots->fired++;
		sched_yield();
	}
	shots->over = true;
	return NULL;
}

static void from_a_signal_handler(void **state)
{
	struct hyphae_graph *graph = new_graph(state);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct hyphae_cell *b = hyphae_int64_new(graph, 0);
	struct shots shots = {.target = pthread_self()};
	struct told told = {.calls = 0};
	struct hyphae_post_counts counts;
	pthread_t thread;
	int errors = 0;
	int64_t n = 0;

	WATCH();
	assert_true(hy_post_fd(hy_graph(graph)) >= 0);
	assert_non_null(hyphae_subscribe(a, tell, &told));
	of_signals = hyphae_poster_new(a);
	assert_non_null(of_signals);
	signals = signal_failures = 0;
	handle_signals(true);
	start(&thread, shoot, &shots);
	while (!shots.over) {
		errors += hyphae_int64_set(b, ++n) != 0;
		errors += hyphae_int64_post(b, ++n) != 0;
		errors += flush(graph) != 0;
	}
	join(thread);
	for (int i = 0; i < 101; i++)
		raise(SIGUSR1);
	handle_signals(false);
	assert_int_equal(errors, 0);
	assert_int_equal(signal_failures, 0);
	assert_int_equal(flush(graph), 0);
	assert_int_equal(told.last, signals);
	assert_int_equal(value(a), signals);
	assert_true(signals >= 101);
	counts = counts_of(graph);
	assert_int_equal(counts.waiting, 0);
	assert_int_equal(counts.posted, (uint64_t)signals + (uint64_t)n / 2);
	hyphae_poster_free(of_signals);
	end_graph(graph, 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_EACH(poster_last_value),
		IN_EACH(poster_types),
		IN_EACH(poster_outlives),
		IN_EACH(h01_posts_of_other_threads),
		cmocka_unit_test(h01_posts_beside_sets),
		cmocka_unit_test(left_to_who_propagates),
		IN_EACH(from_a_signal_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
