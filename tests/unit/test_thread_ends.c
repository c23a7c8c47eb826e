/* SPDX-License-Identifier: MIT */
/*
 * Group H: cells that are made, released and ended while other threads write.
 */
#include "thread_basic.h"

/* ---- H-07: what is released races what propagates ---- */

struct churn {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;
	_Atomic bool over;
	_Atomic unsigned int failures;
	_Atomic unsigned long drops;
	unsigned long subscribed;
};

static void *set_until_over(void *ctx)
{
	struct churn *churn = ctx;
	int64_t i = 0;

	while (!churn->over)
		if (hyphae_int64_set(churn->a, ++i) < 0)
			atomic_fetch_add(&churn->failures, 1);
	return NULL;
}

/* What the last input holds. */
static int last_of(void *ret, const void *const *inputs, size_t count,
		   void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)inputs[count - 1];
	return 0;
}

static void count_drop(void *ctx)
{
	struct churn *churn = ctx;

	atomic_fetch_add(&churn->drops, 1);
}

static void make_and_drop(struct churn *churn)
{
	struct hyphae_cell *b, *c;
	struct hyphae_cell *both[2];
	struct hyphae_subscription *s;

	b = hyphae_map(churn->a, &hyphae_int64, plus_one, NULL);
	both[0] = churn->a;
	both[1] = b;
	c = hyphae_combine(both, 2, &hyphae_int64, last_of, NULL);
	s = hyphae_subscribe_with(c, quiet, churn, count_drop, 0);
	churn->subscribed++;
	if (!b || !c || !s || hyphae_cell_unref(b) != 0 ||
	    hyphae_unsubscribe(s) != 0 || hyphae_cell_unref(c) != 0)
		atomic_fetch_add(&churn->failures, 1);
}

static void h07_destroy_races_set(void **state)
{
	struct churn churn = {.graph = hyphae_graph_new(0)};
	pthread_t threads[2];
	int i;

	(void)state;
	WATCH();
	churn.a = hyphae_int64_new(churn.graph, 0);
	for (i = 0; i < 2; i++)
		start(&threads[i], set_until_over, &churn);
	for (i = 0; i < ROUNDS; i++)
		make_and_drop(&churn);
	churn.over = true;
	for (i = 0; i < 2; i++)
		join(threads[i]);
	assert_int_equal(churn.failures, 0);
	assert_int_equal(churn.drops, churn.subscribed);
	end_graph(churn.graph, 1, 0);
}

/* ---- cells made while another thread propagates ---- */

struct making {
	struct hyphae_graph *graph;
	struct hyphae_cell *a; /* int64 */
	struct hyphae_cell *l; /* large, all parts equal */
	_Atomic bool over;
	_Atomic unsigned int failures;
	_Atomic unsigned int torn;     /* a large input with unequal parts */
	_Atomic unsigned int overlaps; /* a function entered twice at once */
};

struct maker {
	struct making *making;
	_Atomic unsigned int inside;
};

static int large_plus_one(void *ret, const void *input, void *ctx)
{
	struct maker *maker = ctx;
	const struct large *from = input;

	if (atomic_fetch_add(&maker->inside, 1) != 0)
		atomic_fetch_add(&maker->making->overlaps, 1);
	if (!is_whole(from))
		atomic_fetch_add(&maker->making->torn, 1);
	*(struct large *)ret = all_parts(from->parts[0] + 1);
	atomic_fetch_sub(&maker->inside, 1);
	return 0;
}

/* The number of l + the number of a. */
static int add_large(void *ret, const void *const *inputs, size_t count,
		     void *ctx)
{
	const struct large *from = inputs[1];
	struct maker *maker = ctx;

	(void)count;
	if (!is_whole(from))
		atomic_fetch_add(&maker->making->torn, 1);
	*(int64_t *)ret = *(const int64_t *)inputs[0] + from->parts[0];
	return 0;
}

static void *set_both_until_over(void *ctx)
{
	struct making *making = ctx;
	int64_t i = 0;

	while (!making->over) {
		i++;
		if (hyphae_batch_begin(making->graph) != 0 ||
		    hyphae_int64_set(making->a, i) < 0 ||
		    large_set(making->l, all_parts(i)) < 0 ||
		    hyphae_batch_end(making->graph) < 0)
			atomic_fetch_add(&making->failures, 1);
	}
	return NULL;
}

#define MADE 500

static void made_while_another_propagates(void **state)
{
	struct making making = {.graph = hyphae_graph_new(0)};
	static struct maker makers[MADE];
	struct hyphae_cell *maps[MADE], *sums[MADE], *both[2];
	pthread_t thread;
	int64_t last;
	int i;

	(void)state;
	WATCH();
	making.a = hyphae_int64_new(making.graph, 0);
	making.l = large_new_at(making.graph, all_parts(0), HYPHAE_HERE);
	both[0] = making.a;
	both[1] = making.l;
	start(&thread, set_both_until_over, &making);
	for (i = 0; i < MADE; i++) {
		makers[i].making = &making;
		maps[i] = hyphae_map(making.l, &large_type, large_plus_one,
				     &makers[i]);
		sums[i] = hyphae_combine(both, 2, &hyphae_int64, add_large,
					 &makers[i]);
		assert_non_null(maps[i]);
		assert_non_null(sums[i]);
	}
	making.over = true;
	join(thread);
	assert_int_equal(making.failures, 0);
	assert_int_equal(making.torn, 0);
	assert_int_equal(making.overlaps, 0);
	last = value(making.a);
	for (i = 0; i < MADE; i++) {
		struct large large;

		assert_int_equal(large_get(maps[i], &large), 0);
		assert_int_equal(large.parts[0], last + 1);
		assert_int_equal(value(sums[i]), 2 * last);
	}
	end_graph(making.graph, 2 + 2 * MADE, 0);
}

/*
 * A cell is made on another thread; before its function has returned the
 * input changes, so it has to run again.  It is given back at once, while this
 * thread releases something: it must not be freed where it waits for its turn.
 */
struct hasty {
	struct hyphae_cell *a;
	struct hyphae_subscription
		*victim; /* whose drop lets the maker go on */
	pthread_t thread;
	sem_t inside, go_on;
	_Atomic unsigned int runs;
	_Atomic unsigned int failures;
};

static int run_hasty(void *ret, const void *input, void *ctx)
{
	struct hasty *hasty = ctx;

	if (atomic_fetch_add(&hasty->runs, 1) == 0) {
		sem_post(&hasty->inside);
		while (sem_wait(&hasty->go_on) != 0)
			continue;
	}
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static void *make_hastily(void *ctx)
{
	struct hasty *hasty = ctx;
	struct hyphae_cell *b =
		hyphae_map(hasty->a, &hyphae_int64, run_hasty, hasty);

	if (!b || hyphae_cell_unref(b) != 0)
		atomic_fetch_add(&hasty->failures, 1);
	return NULL;
}

/* In the wave of the trigger: what follows is a wave of `a`, then the drop. */
static int begin_haste(const struct hyphae_signal *signal, void *ctx)
{
	struct hasty *hasty = ctx;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	if (pthread_create(&hasty->thread, NULL, make_hastily, hasty) != 0)
		return -EAGAIN;
	while (sem_wait(&hasty->inside) != 0)
		continue;
	if (hyphae_int64_set(hasty->a, 5) != 0 ||
	    hyphae_unsubscribe(hasty->victim) != 0)
		atomic_fetch_add(&hasty->failures, 1);
	return 0;
}

static void end_haste(void *ctx)
{
	struct hasty *hasty = ctx;

	sem_post(&hasty->go_on);
	pthread_join(hasty->thread, NULL);
}

static void released_while_it_waits(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *trigger = hyphae_int64_new(graph, 0);
	struct hyphae_cell *c;
	struct hasty hasty = {.a = hyphae_int64_new(graph, 0)};

	(void)state;
	WATCH();
	sem_init(&hasty.inside, 0, 0);
	sem_init(&hasty.go_on, 0, 0);
	assert_non_null(hyphae_subscribe(trigger, begin_haste, &hasty));
	hasty.victim =
		hyphae_subscribe_with(trigger, quiet, &hasty, end_haste, 0);
	assert_non_null(hasty.victim);
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(hasty.failures, 0);
	assert_int_equal(hasty.runs, 1);
	assert_int_equal(value(hasty.a), 5);
	/* Whoever has its place is not taken for it. */
	c = hyphae_map(hasty.a, &hyphae_int64, plus_one, NULL);
	assert_int_equal(hyphae_int64_set(hasty.a, 6), 0);
	assert_int_equal(value(c), 7);
	assert_int_equal(hasty.runs, 1);
	sem_destroy(&hasty.inside);
	sem_destroy(&hasty.go_on);
	end_graph(graph, 3, 1);
}

/* A handle that goes stale at any moment: a code, never a crash. */
static void *set_stale(void *ctx)
{
	struct race *race = ctx;

	for (;;) {
		int r;

		pthread_barrier_wait(&race->go);
		if (race->over)
			return NULL;
		r = hyphae_int64_set(race->a, 42);
		if (r != 0 && r != -ESTALE)
			atomic_fetch_add(&race->count, 1);
		pthread_barrier_wait(&race->go);
	}
}

static void h07_handle_goes_stale(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct race race = {.over = false};
	pthread_t thread;
	int i;

	(void)state;
	WATCH();
	assert_int_equal(pthread_barrier_init(&race.go, NULL, 2), 0);
	start(&thread, set_stale, &race);
	for (i = 0; i < ROUNDS; i++) {
		race.a = hyphae_int64_new(graph, 0);
		pthread_barrier_wait(&race.go);
		assert_int_equal(hyphae_cell_unref(race.a), 0);
		pthread_barrier_wait(&race.go);
	}
	race.over = true;
	pthread_barrier_wait(&race.go);
	join(thread);
	assert_int_equal(race.count, 0);
	pthread_barrier_destroy(&race.go);
	end_graph(graph, 0, 0);
}

/* ---- a source that one thread ends and another writes ---- */

/*
 * While this thread is in a subscriber, another one opens a batch and writes
 * the cells, a third ends them, and then the batch ends: too late.
 */
struct late {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *l; /* int64, large */
	bool by_propagator; /* the end comes from the subscriber itself */
	sem_t written, ended;
	_Atomic unsigned int failures;
};

static void *end_both(void *ctx)
{
	struct late *late = ctx;

	if (hyphae_cell_complete(late->a) != 0 ||
	    hyphae_cell_fail(late->l, -EIO, "over") != 0)
		atomic_fetch_add(&late->failures, 1);
	return NULL;
}

static void *write_too_late(void *ctx)
{
	struct late *late = ctx;
	pthread_t thread;
	int bad = hyphae_batch_begin(late->graph) != 0;

	bad += hyphae_int64_set(late->a, 8) != 0;
	bad += large_set(late->l, all_parts(8)) != 0;
	if (late->by_propagator) {
		sem_post(&late->written);
		sem_wait(&late->ended);
	} else {
		bad += pthread_create(&thread, NULL, end_both, late) != 0;
		bad += pthread_join(thread, NULL) != 0;
	}
	bad += hyphae_batch_end(late->graph) != 0;
	if (bad)
		atomic_fetch_add(&late->failures, 1);
	return NULL;
}

static int let_them_race(const struct hyphae_signal *signal, void *ctx)
{
	struct late *late = ctx;
	pthread_t thread;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	if (pthread_create(&thread, NULL, write_too_late, late) != 0)
		return -EAGAIN;
	if (late->by_propagator) {
		sem_wait(&late->written);
		end_both(late);
		sem_post(&late->ended);
	}
	return pthread_join(thread, NULL) ? -EAGAIN : 0;
}

static int note_all(const struct hyphae_signal *signal, void *ctx)
{
	char *story = ctx;

	if (signal->kind == HYPHAE_VALUE)
		strcat(story, "V");
	else
		strcat(story, signal->kind == HYPHAE_COMPLETE ? "C" : "E");
	return 0;
}

static void written_after_the_end(bool by_propagator)
{
	struct late late = {.graph = hyphae_graph_new(0),
			    .by_propagator = by_propagator};
	struct hyphae_cell *trigger = hyphae_int64_new(late.graph, 0);
	char a_story[16] = "", l_story[16] = "";
	struct large large;

	sem_init(&late.written, 0, 0);
	sem_init(&late.ended, 0, 0);
	late.a = hyphae_int64_new(late.graph, 0);
	late.l = large_new_at(late.graph, all_parts(0), HYPHAE_HERE);
	assert_non_null(hyphae_subscribe(late.a, note_all, a_story));
	assert_non_null(hyphae_subscribe(late.l, note_all, l_story));
	assert_non_null(hyphae_subscribe(trigger, let_them_race, &late));
	assert_int_equal(hyphae_int64_set(trigger, 1), 0);
	assert_int_equal(late.failures, 0);
	assert_string_equal(a_story, "VC");
	assert_string_equal(l_story, "VE");
	assert_int_equal(value(late.a), 0);
	assert_int_equal(large_get(late.l, &large), -EIO);
	sem_destroy(&late.written);
	sem_destroy(&late.ended);
	end_graph(late.graph, 3, 1);
}

static void batch_after_anothers_end(void **state)
{
	(void)state;
	WATCH();
	written_after_the_end(false);
}

static void batch_after_the_propagators_end(void **state)
{
	(void)state;
	WATCH();
	written_after_the_end(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h07_destroy_races_set),
		cmocka_unit_test(made_while_another_propagates),
		cmocka_unit_test(released_while_it_waits),
		cmocka_unit_test(h07_handle_goes_stale),
		cmocka_unit_test(batch_after_anothers_end),
		cmocka_unit_test(batch_after_the_propagators_end),
	};

	return cmocka_run_group_tests_name("threads: cells that come and go",
					   tests, NULL, NULL);
}
