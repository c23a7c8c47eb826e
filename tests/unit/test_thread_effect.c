/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions and several threads: first calls beside a wave, pauses from
 * outside, single shots, clean-up and previous values under load.
 *
 * Most tests are scripts: threads wait for each other at fixed places, so the
 * outcome is exact.  Callbacks write down what they see; the test judges it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "threads.h"

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 1000
#elif defined(__SANITIZE_ADDRESS__)
#define ROUNDS 2000
#else
#define ROUNDS 10000
#endif

/* ---- two threads that take turns ------------------------------------------- */

/* A thread that does one thing when it is asked to. */
struct helper {
	pthread_t thread;
	sem_t go, done;
	void (*job)(void *ctx);
	void *ctx;
};

static void *help(void *ctx)
{
	struct helper *h = ctx;

	for (;;) {
		sem_wait(&h->go);
		if (!h->job)
			return NULL;
		h->job(h->ctx);
		sem_post(&h->done);
	}
}

static void helper_start(struct helper *h)
{
	sem_init(&h->go, 0, 0);
	sem_init(&h->done, 0, 0);
	start(&h->thread, help, h);
}

static void helper_begin(struct helper *h, void (*job)(void *ctx), void *ctx)
{
	h->job = job;
	h->ctx = ctx;
	sem_post(&h->go);
}

static void helper_wait(struct helper *h)
{
	sem_wait(&h->done);
}

static void helper_do(struct helper *h, void (*job)(void *ctx), void *ctx)
{
	helper_begin(h, job, ctx);
	helper_wait(h);
}

static void helper_stop(struct helper *h)
{
	h->job = NULL;
	sem_post(&h->go);
	join(h->thread);
	sem_destroy(&h->go);
	sem_destroy(&h->done);
}

/* A subscriber that writes down; it stops in the call with `stop_at`. */
struct seen {
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	unsigned int flags;
	int code;
	char text[128];
	int64_t stop_at; /* 0: never */
	sem_t stopped, go_on;
	_Atomic int inside, overlaps;
};

static void seen_init(struct seen *s, struct hyphae_cell *cell)
{
	memset(s, 0, sizeof(*s));
	s->cell = cell;
	sem_init(&s->stopped, 0, 0);
	sem_init(&s->go_on, 0, 0);
}

static void write_down(struct seen *s, const char *what)
{
	strcat(s->text, *s->text ? "," : "");
	strcat(s->text, what);
}

static int see(const struct hyphae_signal *signal, void *ctx)
{
	struct seen *s = ctx;
	char text[32] = "C";

	if (atomic_fetch_add(&s->inside, 1))
		atomic_fetch_add(&s->overlaps, 1);
	if (signal->kind == HYPHAE_VALUE)
		snprintf(text, sizeof(text), "%lld",
			 (long long)hyphae_int64_of(signal));
	write_down(s, text);
	if (signal->kind == HYPHAE_VALUE && s->stop_at &&
	    hyphae_int64_of(signal) == s->stop_at) {
		sem_post(&s->stopped);
		sem_wait(&s->go_on);
	}
	atomic_fetch_sub(&s->inside, 1);
	return 0;
}

static void subscribe(void *ctx)
{
	struct seen *s = ctx;

	s->subscription =
		hyphae_subscribe_with(s->cell, see, s, NULL, s->flags);
}

static void pause_it(void *ctx)
{
	struct seen *s = ctx;

	s->code = hyphae_subscription_pause(s->subscription);
}

static void resume_it(void *ctx)
{
	struct seen *s = ctx;

	s->code = hyphae_subscription_resume(s->subscription);
}

#define assert_seen(s, expected)                                               \
	do {                                                                   \
		assert_string_equal((s)->text, expected);                      \
		assert_int_equal((s)->overlaps, 0);                            \
	} while (0)

static void set(struct hyphae_cell *cell, int64_t to)
{
	assert_int_equal(hyphae_int64_set(cell, to), 0);
}

struct setting {
	struct hyphae_cell *cell;
	int64_t to;
	int code;
};

static void set_it(void *ctx)
{
	struct setting *setting = ctx;

	setting->code = hyphae_int64_set(setting->cell, setting->to);
}

/* ---- the first call beside a wave -------------------------------------------- */

/* a, b = a + 1 with a subscriber, m of b whose function lets a helper act. */
struct beside {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *m;
	struct helper helper;
	struct seen old, fresh;
	bool armed;
	bool leave_inside; /* do not wait for the end of what it does */
};

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int act_beside(void *ret, const void *input, void *ctx)
{
	struct beside *w = ctx;

	*(int64_t *)ret = *(const int64_t *)input;
	if (!w->armed)
		return 0;
	w->armed = false;
	helper_begin(&w->helper, subscribe, &w->fresh);
	if (w->leave_inside)
		sem_wait(&w->fresh.stopped);
	else
		helper_wait(&w->helper);
	return 0;
}

static void beside_start(struct beside *w, unsigned int flags)
{
	memset(w, 0, sizeof(*w));
	w->graph = hyphae_graph_new(flags);
	w->a = hyphae_int64_new(w->graph, 0);
	w->b = hyphae_map(w->a, &hyphae_int64, plus_one, NULL);
	helper_start(&w->helper);
	seen_init(&w->old, w->b);
	seen_init(&w->fresh, w->b);
	subscribe(&w->old);
	w->m = hyphae_map(w->b, &hyphae_int64, act_beside, w);
	assert_non_null(w->m);
	w->armed = true;
}

static void beside_end(struct beside *w)
{
	helper_stop(&w->helper);
	end_graph(w->graph, 3, 2);
}

/* b has changed, and tells its subscribers after the new one was told. */
static void told_once(unsigned int flags)
{
	struct beside w;

	beside_start(&w, flags);
	set(w.a, 1);
	assert_seen(&w.old, "1,2");
	assert_seen(&w.fresh, "2");
	set(w.a, 2);
	assert_seen(&w.fresh, "2,3");
	beside_end(&w);
}

static void s05_told_once_beside_a_wave(void **state)
{
	(void)state;
	WATCH();
	told_once(0);
	told_once(HYPHAE_EAGER);
}

/* The first call lasts until the wave is over, and one more. */
static void first_call_lasts(unsigned int flags)
{
	struct beside w;

	beside_start(&w, flags);
	w.leave_inside = true;
	w.fresh.stop_at = 2;
	set(w.a, 1);
	assert_seen(&w.fresh, "2");
	set(w.a, 2);
	set(w.a, 3);
	assert_seen(&w.fresh, "2");
	assert_int_equal(hyphae_graph_free(w.graph), -EBUSY);
	sem_post(&w.fresh.go_on);
	helper_wait(&w.helper);
	assert_seen(&w.fresh, "2,4");
	set(w.a, 4);
	assert_seen(&w.fresh, "2,4,5");
	beside_end(&w);
}

static void h02_first_call_lasts(void **state)
{
	(void)state;
	WATCH();
	first_call_lasts(0);
	first_call_lasts(HYPHAE_EAGER);
}

/* The same, and nothing came after what it was told. */
static void h02_first_call_outlasts_its_wave(void **state)
{
	struct beside w;

	(void)state;
	WATCH();
	beside_start(&w, 0);
	w.leave_inside = true;
	w.fresh.stop_at = 2;
	set(w.a, 1);
	sem_post(&w.fresh.go_on);
	helper_wait(&w.helper);
	assert_seen(&w.fresh, "2");
	set(w.a, 2);
	assert_seen(&w.fresh, "2,3");
	beside_end(&w);
}

/* Its cell ends during the first call: the end is told, once. */
static void h02_ends_during_the_first_call(void **state)
{
	struct beside w;

	(void)state;
	WATCH();
	beside_start(&w, 0);
	w.leave_inside = true;
	w.fresh.stop_at = 2;
	set(w.a, 1);
	assert_int_equal(hyphae_cell_complete(w.a), 0);
	assert_seen(&w.old, "1,2,C");
	sem_post(&w.fresh.go_on);
	helper_wait(&w.helper);
	assert_seen(&w.fresh, "2,C");
	assert_int_equal(hyphae_subscription_id(w.fresh.subscription), 0);
	helper_stop(&w.helper);
	end_graph(w.graph, 3, 0);
}

/* ---- beside the drop of the value before ----------------------------------------- */

static struct beside *dropping;

struct pebble {
	int64_t n;
	char filler[24];
};

static int copy_pebble(void *to, const void *from)
{
	memcpy(to, from, sizeof(struct pebble));
	return 0;
}

/* The cell holds the next value by now, and has not told it. */
static void drop_pebble(void *value)
{
	struct beside *w = dropping;

	(void)value;
	if (!w || !w->armed)
		return;
	w->armed = false;
	helper_do(&w->helper, subscribe, &w->fresh);
}

static const struct hyphae_type pebble_type = {
	.name = "pebble",
	.size = sizeof(struct pebble),
	.align = _Alignof(struct pebble),
	.copy = copy_pebble,
	.drop = drop_pebble,
};

static void s05_beside_the_drop_of_the_old_value(void **state)
{
	struct pebble pebble = {.n = 1};
	struct beside w = {.armed = true};

	(void)state;
	WATCH();
	w.graph = hyphae_graph_new(0);
	w.a = hyphae_cell_new(w.graph, &pebble_type, &pebble);
	helper_start(&w.helper);
	seen_init(&w.old, w.a);
	seen_init(&w.fresh, w.a);
	subscribe(&w.old);
	dropping = &w;
	/* The end comes behind the value, when the new one is there. */
	pebble.n = 2;
	assert_int_equal(hyphae_batch_begin(w.graph), 0);
	assert_int_equal(hyphae_cell_set(w.a, &pebble_type, &pebble), 0);
	assert_int_equal(hyphae_cell_complete(w.a), 0);
	assert_int_equal(hyphae_batch_end(w.graph), 0);
	assert_false(w.armed);
	assert_seen(&w.old, "1,2,C");
	assert_seen(&w.fresh, "2,C");
	dropping = NULL;
	helper_stop(&w.helper);
	end_graph(w.graph, 1, 0);
}

/* ---- pauses from outside ------------------------------------------------------------ */

/* A call that is under way finishes; none follows. */
static void f04_pause_while_the_call_runs(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting one = {a, 1, 1};
	struct helper writer;
	struct seen s;

	(void)state;
	WATCH();
	seen_init(&s, a);
	subscribe(&s);
	helper_start(&writer);
	s.stop_at = 1;
	helper_begin(&writer, set_it, &one);
	sem_wait(&s.stopped);
	pause_it(&s);
	assert_int_equal(s.code, 0);
	set(a, 2); /* left to the writer */
	sem_post(&s.go_on);
	helper_wait(&writer);
	assert_int_equal(one.code, 0);
	assert_int_equal(value(a), 2);
	assert_seen(&s, "0,1");
	resume_it(&s);
	assert_int_equal(s.code, 0);
	assert_seen(&s, "0,1,2");
	helper_stop(&writer);
	end_graph(graph, 1, 1);
}

/* Paused and resumed while the call runs: nothing was missed. */
static void f04_pause_and_resume_while_the_call_runs(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting one = {a, 1, 1};
	struct helper writer;
	struct seen s;

	(void)state;
	WATCH();
	seen_init(&s, a);
	subscribe(&s);
	helper_start(&writer);
	s.stop_at = 1;
	helper_begin(&writer, set_it, &one);
	sem_wait(&s.stopped);
	pause_it(&s);
	set(a, 2);
	resume_it(&s);
	assert_int_equal(s.code, 0);
	sem_post(&s.go_on);
	helper_wait(&writer);
	assert_seen(&s, "0,1,2");
	helper_stop(&writer);
	end_graph(graph, 1, 1);
}

/*
 * While another thread propagates: called at once on this thread, and not
 * once more by the wave that has yet to reach it.
 */
static void f04_resume_beside_a_wave(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting two = {a, 2, 1};
	struct helper writer;
	struct seen first, s;

	(void)state;
	WATCH();
	seen_init(&first, a);
	seen_init(&s, a);
	subscribe(&first);
	subscribe(&s);
	helper_start(&writer);
	pause_it(&s);
	set(a, 1);
	first.stop_at = 2;
	helper_begin(&writer, set_it, &two);
	sem_wait(&first.stopped);
	resume_it(&s);
	assert_int_equal(s.code, 0);
	assert_seen(&s, "0,2");
	sem_post(&first.go_on);
	helper_wait(&writer);
	assert_seen(&first, "0,1,2");
	assert_seen(&s, "0,2");
	set(a, 3);
	assert_seen(&s, "0,2,3");
	helper_stop(&writer);
	end_graph(graph, 1, 2);
}

/*
 * The call that resuming makes lasts while a wave passes it over, and then it
 * is paused again: what it missed is told by whoever resumes it.
 */
static void f04_paused_again_while_it_catches_up(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting two = {a, 2, 1};
	struct helper writer, other;
	struct seen first, s;
	int codes[2];

	(void)state;
	WATCH();
	seen_init(&first, a);
	seen_init(&s, a);
	subscribe(&first);
	subscribe(&s);
	helper_start(&writer);
	helper_start(&other);
	pause_it(&s);
	set(a, 1);
	first.stop_at = s.stop_at = 2;
	helper_begin(&writer, set_it, &two);
	sem_wait(&first.stopped);
	helper_begin(&other, resume_it, &s);
	sem_wait(&s.stopped);
	sem_post(&first.go_on);
	helper_wait(&writer);
	set(a, 3); /* passes it over: it is being called */
	codes[0] = hyphae_subscription_pause(s.subscription);
	sem_post(&s.go_on);
	helper_wait(&other);
	assert_seen(&s, "0,2");
	codes[1] = hyphae_subscription_resume(s.subscription);
	assert_int_equal(codes[0], 0);
	assert_int_equal(codes[1], 0);
	assert_seen(&s, "0,2,3");
	set(a, 4);
	assert_seen(&s, "0,2,3,4");
	assert_seen(&first, "0,1,2,3,4");
	helper_stop(&other);
	helper_stop(&writer);
	end_graph(graph, 1, 2);
}

/* Resumed while another thread is just calling it: that one makes up for it. */
static void f04_resumed_by_two(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting two = {a, 2, 1};
	struct helper writer, other;
	struct seen first, s;

	(void)state;
	WATCH();
	seen_init(&first, a);
	seen_init(&s, a);
	subscribe(&first);
	subscribe(&s);
	helper_start(&writer);
	helper_start(&other);
	pause_it(&s);
	set(a, 1);
	first.stop_at = s.stop_at = 2;
	helper_begin(&writer, set_it, &two);
	sem_wait(&first.stopped);
	helper_begin(&other, resume_it, &s);
	sem_wait(&s.stopped);
	sem_post(&first.go_on);
	helper_wait(&writer);
	assert_int_equal(hyphae_subscription_pause(s.subscription), 0);
	set(a, 3);
	assert_int_equal(hyphae_subscription_resume(s.subscription), 0);
	assert_seen(&s, "0,2");
	sem_post(&s.go_on);
	helper_wait(&other);
	assert_seen(&s, "0,2,3");
	helper_stop(&other);
	helper_stop(&writer);
	end_graph(graph, 1, 2);
}

/* Unsubscribed while it catches up on another thread. */
static void f04_unsubscribed_while_it_catches_up(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *a = hyphae_int64_new(graph, 0);
	struct setting two = {a, 2, 1};
	struct helper writer, other;
	struct seen first, s;

	(void)state;
	WATCH();
	seen_init(&first, a);
	seen_init(&s, a);
	subscribe(&first);
	subscribe(&s);
	helper_start(&writer);
	helper_start(&other);
	pause_it(&s);
	set(a, 1);
	first.stop_at = s.stop_at = 2;
	helper_begin(&writer, set_it, &two);
	sem_wait(&first.stopped);
	helper_begin(&other, resume_it, &s);
	sem_wait(&s.stopped);
	assert_int_equal(hyphae_unsubscribe_all(a), 0);
	assert_int_equal(hyphae_subscription_pause(s.subscription), -ESTALE);
	sem_post(&first.go_on);
	helper_wait(&writer);
	set(a, 3);
	sem_post(&s.go_on);
	helper_wait(&other);
	assert_int_equal(s.code, 0);
	assert_seen(&s, "0,2");
	assert_seen(&first, "0,1,2");
	helper_stop(&other);
	helper_stop(&writer);
	end_graph(graph, 1, 0);
}

/* ---- under load ------------------------------------------------------------------------ */

struct load {
	struct hyphae_graph *graph;
	struct hyphae_cell *a;
	struct hyphae_subscription *subscription;
	_Atomic bool over;
	_Atomic int inside, overlaps;
	_Atomic unsigned int refused; /* codes that should not have been */
	/* Of the subscriber; no lock on purpose. */
	int64_t last;
	unsigned long calls, cleanups, wrong;
	_Atomic int64_t next_number;
	_Atomic unsigned long once_calls, once_drops, once_cleanups, once_made;
};

static void enter(struct load *load)
{
	if (atomic_fetch_add(&load->inside, 1))
		atomic_fetch_add(&load->overlaps, 1);
}

static int follow(const struct hyphae_signal *signal, void *ctx)
{
	struct load *load = ctx;
	const int64_t *previous = signal->previous;

	enter(load);
	if (load->calls++ ? !previous || *previous != load->last : !!previous)
		load->wrong++;
	if (load->cleanups + 1 != load->calls)
		load->wrong++;
	load->last = hyphae_int64_of(signal);
	atomic_fetch_sub(&load->inside, 1);
	return 0;
}

static void clean(void *ctx)
{
	struct load *load = ctx;

	enter(load);
	load->cleanups++;
	if (load->cleanups != load->calls)
		load->wrong++;
	atomic_fetch_sub(&load->inside, 1);
}

static void *write_much(void *ctx)
{
	struct load *load = ctx;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		int64_t n = atomic_fetch_add(&load->next_number, 1) + 1;

		if (hyphae_int64_set(load->a, n) < 0)
			atomic_fetch_add(&load->refused, 1);
	}
	return NULL;
}

static void *pause_much(void *ctx)
{
	struct load *load = ctx;

	while (!load->over) {
		if (hyphae_subscription_pause(load->subscription) ||
		    hyphae_subscription_resume(load->subscription))
			atomic_fetch_add(&load->refused, 1);
	}
	return NULL;
}

static void *block_much(void *ctx)
{
	struct load *load = ctx;

	while (!load->over) {
		if (hyphae_subscription_block(load->subscription) ||
		    hyphae_subscription_unblock(load->subscription))
			atomic_fetch_add(&load->refused, 1);
	}
	return NULL;
}

static int count_once(const struct hyphae_signal *signal, void *ctx)
{
	struct load *load = ctx;

	(void)signal;
	atomic_fetch_add(&load->once_calls, 1);
	return 0;
}

static void clean_once(void *ctx)
{
	atomic_fetch_add(&((struct load *)ctx)->once_cleanups, 1);
}

static void drop_once(void *ctx)
{
	atomic_fetch_add(&((struct load *)ctx)->once_drops, 1);
}

static void *subscribe_once(void *ctx)
{
	struct load *load = ctx;
	struct hyphae_subscription_options options = {
		.fn = count_once,
		.ctx = load,
		.drop = drop_once,
		.cleanup = clean_once,
	};
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		options.flags = HYPHAE_ONCE | (i % 2 ? HYPHAE_SKIP_INITIAL : 0);
		if (hyphae_subscribe_options(load->a, &options))
			atomic_fetch_add(&load->once_made, 1);
	}
	return NULL;
}

enum { WRITER_A, WRITER_B, SINGLE_SHOTS, PAUSER_A, PAUSER_B, BLOCKER, BODIES };
static void *(*const bodies[BODIES])(void *) = {
	write_much, write_much, subscribe_once,
	pause_much, pause_much, block_much,
};

static void under_load(unsigned int flags, bool with_blocks)
{
	struct hyphae_graph *graph = hyphae_graph_new(flags);
	struct load load = {.graph = graph, .a = hyphae_int64_new(graph, 0)};
	struct hyphae_subscription_options options = {
		.fn = follow,
		.ctx = &load,
		.cleanup = clean,
		.flags = HYPHAE_PREVIOUS,
	};
	int count = with_blocks ? BODIES : BLOCKER, i;
	pthread_t threads[BODIES];

	load.subscription = hyphae_subscribe_options(load.a, &options);
	assert_non_null(load.subscription);
	for (i = 0; i < count; i++)
		start(&threads[i], bodies[i], &load);
	for (i = 0; i <= SINGLE_SHOTS; i++)
		join(threads[i]);
	load.over = true;
	for (; i < count; i++)
		join(threads[i]);
	assert_int_equal(load.refused, 0);
	assert_int_equal(load.overlaps, 0);
	assert_int_equal(load.wrong, 0);
	/* Whatever was held back has been told; but what was blocked is lost. */
	if (!with_blocks)
		assert_int_equal(load.last, value(load.a));
	set(load.a, -1);
	assert_int_equal(load.last, -1);
	assert_int_equal(load.once_made, ROUNDS);
	assert_int_equal(load.once_calls, ROUNDS);
	assert_int_equal(load.once_cleanups, ROUNDS);
	assert_int_equal(load.once_drops, ROUNDS);
	assert_int_equal(hyphae_unsubscribe(load.subscription), 0);
	assert_int_equal(load.cleanups, load.calls);
	end_graph(graph, 1, 0);
}

static void h02_pauses_under_load(void **state)
{
	(void)state;
	WATCH();
	under_load(0, false);
}

static void h02_pauses_under_load_eager(void **state)
{
	(void)state;
	WATCH();
	under_load(HYPHAE_EAGER, false);
}

static void h02_blocks_under_load(void **state)
{
	(void)state;
	WATCH();
	under_load(0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s05_told_once_beside_a_wave),
		cmocka_unit_test(h02_first_call_lasts),
		cmocka_unit_test(h02_first_call_outlasts_its_wave),
		cmocka_unit_test(h02_ends_during_the_first_call),
		cmocka_unit_test(s05_beside_the_drop_of_the_old_value),
		cmocka_unit_test(f04_pause_while_the_call_runs),
		cmocka_unit_test(f04_pause_and_resume_while_the_call_runs),
		cmocka_unit_test(f04_resume_beside_a_wave),
		cmocka_unit_test(f04_paused_again_while_it_catches_up),
		cmocka_unit_test(f04_resumed_by_two),
		cmocka_unit_test(f04_unsubscribed_while_it_catches_up),
		cmocka_unit_test(h02_pauses_under_load),
		cmocka_unit_test(h02_pauses_under_load_eager),
		cmocka_unit_test(h02_blocks_under_load),
	};

	return cmocka_run_group_tests_name("effect, threads", tests, NULL,
					   NULL);
}
