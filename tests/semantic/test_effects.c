/* SPDX-License-Identifier: MIT */
/*
 * Effects: functions that run again for what they read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

FN(half, in[0] / 2);
FN(plus, in[0] + in[1]);

/* What an effect is called with.  Static, for what the teardown calls. */
struct fx {
	struct world *world;
	int (*fn)(struct fx *fx);
	struct hyphae_cell *c[64];
	struct log *log;
	struct fx *inner;
	struct hyphae_subscription *self;
	unsigned long runs;
	unsigned int drops, cleanups;
	int code;
};

static int run(void *ctx)
{
	struct fx *fx = ctx;

	fx->runs++;
	return fx->fn(fx);
}

static void drop(void *ctx)
{
	((struct fx *)ctx)->drops++;
}

static void clean_up(void *ctx)
{
	struct fx *fx = ctx;

	fx->cleanups++;
	note(fx->log, "x");
}

static void fx_init(struct world *w, struct fx *fx, int (*fn)(struct fx *fx))
{
	memset(fx, 0, sizeof(*fx));
	fx->world = w;
	fx->fn = fn;
	fx->log = log_new(w, NULL, NULL);
}

static void fx_start(struct fx *fx)
{
	fx->self = hyphae_effect_with(fx->world->graph, run, fx, drop, NULL);
	assert_non_null(fx->self);
	keep_sub(fx->world, fx->self);
}

/* An error is its code. */
static int64_t get(const struct hyphae_cell *cell)
{
	int64_t v;
	int r = hyphae_int64_get(cell, &v);

	return r ? r : v;
}

/* Shows c[0] and c[1]. */
static int show_two(struct fx *fx)
{
	note(fx->log, "%d+%d", (int)get(fx->c[0]), (int)get(fx->c[1]));
	return 0;
}

static void fx_start_two(struct world *w, struct fx *fx)
{
	fx_init(w, fx, show_two);
	fx->c[0] = source(w, 1);
	fx->c[1] = source(w, 2);
	fx_start(fx);
}

static void runs_at_once_and_for_each_change(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_start_two(w, &fx);
	assert_log(fx.log, "1+2");
	put(fx.c[0], 3);
	put(fx.c[1], 4);
	assert_int_equal(hyphae_int64_set(fx.c[1], 4), HYPHAE_UNCHANGED);
	assert_log(fx.log, "1+2,3+2,3+4");
	assert_int_equal(hyphae_unsubscribe(fx.self), 0);
	assert_int_equal(fx.drops, 1);
	put(fx.c[0], 5);
	assert_int_equal(fx.runs, 3);
	assert_int_equal(targets(fx.c[0]), 0);
}

static void a_batch_is_one_run(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_start_two(w, &fx);
	begin_batch(w);
	put(fx.c[0], 3);
	put(fx.c[1], 4);
	put(fx.c[0], 5);
	assert_int_equal(fx.runs, 1);
	end_batch(w);
	assert_log(fx.log, "1+2,5+4");
}

/* A diamond: everything has settled when it runs. */
static void sees_nothing_half(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 2);
	static struct fx fx;

	fx_init(w, &fx, show_two);
	fx.c[0] = s;
	fx.c[1] = derive(w, plus, s, derive(w, half, s)->cell)->cell;
	fx_start(&fx);
	put(s, 4);
	put(s, 8);
	if (!w->eager)
		assert_log(fx.log, "2+3,4+6,8+12");
	assert_int_equal(hyphae_unsubscribe(fx.self), 0);
}

/* c[0] ? c[1] : c[2] */
static int show_branch(struct fx *fx)
{
	note(fx->log, "%d", (int)get(fx->c[get(fx->c[0]) ? 1 : 2]));
	return 0;
}

static void follows_only_what_it_read_last(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, show_branch);
	fx.c[0] = source(w, 1);
	fx.c[1] = source(w, 10);
	fx.c[2] = source(w, 20);
	fx_start(&fx);
	put(fx.c[2], 21);
	assert_log(fx.log, "10");
	put(fx.c[0], 0);
	put(fx.c[1], 11);
	put(fx.c[2], 22);
	assert_log(fx.log, "10,21,22");
	assert_int_equal(targets(fx.c[1]), 0);
	assert_int_equal(targets(fx.c[2]), 1);
}

/* As many as c[0] says, of those behind it. */
static int show_sum(struct fx *fx)
{
	int64_t count = get(fx->c[0]), sum = 0;

	for (int64_t i = 1; i <= count; i++)
		sum += get(fx->c[i]);
	note(fx->log, "%d", (int)sum);
	return 0;
}

static void a_list_may_grow_and_shrink(void **state)
{
	struct world *w = *state;
	static struct fx fx;
	size_t i;

	fx_init(w, &fx, show_sum);
	fx.c[0] = source(w, 1);
	for (i = 1; i < 64; i++)
		fx.c[i] = source(w, 1);
	fx_start(&fx);
	put(fx.c[0], 63);
	put(fx.c[63], 2);
	put(fx.c[0], 2);
	put(fx.c[63], 3);
	put(fx.c[2], 5);
	assert_log(fx.log, "1,63,64,2,6");
	assert_int_equal(targets(fx.c[63]), 0);
	put(fx.c[0], 63);
	put(fx.c[40], 2);
	assert_log(fx.log, "1,63,64,2,6,69,70");
}

static int write_other(struct fx *fx)
{
	fx->code = hyphae_int64_set(fx->c[1], get(fx->c[0]) * 2);
	return 0;
}

static void it_may_write(void **state)
{
	struct world *w = *state;
	struct log *log;
	static struct fx fx;

	fx_init(w, &fx, write_other);
	fx.c[0] = source(w, 1);
	fx.c[1] = source(w, 0);
	log = follow(w, fx.c[1]);
	fx_start(&fx);
	put(fx.c[0], 4);
	assert_int_equal(fx.code, 0);
	assert_log(log, "0,2,8");
}

/* Counts c[0] down; reads what it has written. */
static int count_down(struct fx *fx)
{
	int64_t v = get(fx->c[0]);

	note(fx->log, "%d", (int)v);
	if (v)
		fx->code = hyphae_int64_set(fx->c[0], v - 1);
	return 0;
}

static void what_it_writes_it_reads_in_the_next_wave(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, count_down);
	fx.c[0] = source(w, 2);
	fx_start(&fx);
	assert_log(fx.log, "2,1,0");
	put(fx.c[0], 3);
	assert_log(fx.log, "2,1,0,3,2,1,0");
}

/* Writes 7 to c[0], and what it was. */
static int write_and_back(struct fx *fx)
{
	int64_t was;

	get(fx->c[1]);
	hyphae_untracked_begin();
	was = get(fx->c[0]);
	hyphae_int64_set(fx->c[0], 7);
	if (fx->inner)
		fx->code = (int)get(fx->c[0]);
	else
		hyphae_int64_set(fx->c[0], was - 5);
	hyphae_untracked_end();
	return 0;
}

/* Between the two it is called: it would not be called again for the last. */
static void what_is_written_and_taken_back_is_not_read(void **state)
{
	struct world *w = *state;
	static struct fx fx[3];

	fx_init(w, &fx[0], write_and_back);
	fx_init(w, &fx[1], show_two);
	fx_init(w, &fx[2], write_and_back);
	fx[0].inner = &fx[0];
	fx[0].c[1] = fx[1].c[1] = fx[2].c[1] = source(w, 1);
	fx[0].c[0] = fx[1].c[0] = fx[2].c[0] = source(w, 2);
	for (int i = 0; i < 3; i++)
		fx_start(&fx[i]);
	put(fx[0].c[1], 2);
	assert_int_equal(fx[0].code, 7);
	assert_log(fx[1].log, "7+1,2+1,2+2");
	assert_int_equal(get(fx[0].c[0]), 2);
}

static int count_up(struct fx *fx)
{
	return hyphae_int64_set(fx->c[0], get(fx->c[0]) + 1) < 0 ? -EIO : 0;
}

static void an_endless_one_ends_at_the_wave_limit(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, count_up);
	fx.c[0] = source(w, 0);
	fx_start(&fx);
	assert_int_equal(w->problem_code, -ELOOP);
	assert_int_equal(hyphae_int64_set(fx.c[0], -1), -ELOOP);
}

static int fail_at_seven(struct fx *fx)
{
	return get(fx->c[0]) == 7 ? -EIO : 0;
}

static void its_error_is_a_subscribers(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, fail_at_seven);
	fx.c[0] = source(w, 1);
	fx_start(&fx);
	assert_int_equal(hyphae_int64_set(fx.c[0], 7), -EIO);
	assert_int_equal(w->problem_code, -EIO);
	put(fx.c[0], 8);
	assert_int_equal(fx.runs, 3);
}

static int detach_at_seven(struct fx *fx)
{
	return get(fx->c[0]) == 7 ? HYPHAE_DETACH : 0;
}

static void it_can_end_itself(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, detach_at_seven);
	fx.c[0] = source(w, 1);
	fx_start(&fx);
	put(fx.c[0], 7);
	assert_int_equal(fx.drops, 1);
	put(fx.c[0], 8);
	assert_int_equal(fx.runs, 2);
	assert_int_equal(hyphae_unsubscribe(fx.self), -ESTALE);
}

static int unsubscribe_itself(struct fx *fx)
{
	if (get(fx->c[0]) == 7)
		fx->code = hyphae_unsubscribe(fx->self);
	get(fx->c[1]);
	return 0;
}

static void it_can_be_ended_in_its_function(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, unsubscribe_itself);
	fx.c[0] = source(w, 1);
	fx.c[1] = source(w, 1);
	fx_start(&fx);
	put(fx.c[0], 7);
	assert_int_equal(fx.code, 0);
	assert_int_equal(fx.drops, 1);
	put(fx.c[1], 8);
	assert_int_equal(fx.runs, 2);
	assert_int_equal(targets(fx.c[1]), 0);
}

static void it_ends_with_all_that_it_read(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_start_two(w, &fx);
	assert_int_equal(hyphae_cell_complete(fx.c[0]), 0);
	put(fx.c[1], 3);
	assert_int_equal(fx.drops, 0);
	assert_int_equal(hyphae_cell_fail(fx.c[1], -EPIPE, "gone"), 0);
	assert_log(fx.log, "1+2,1+2,1+3,1+-32");
	assert_int_equal(fx.drops, 1);
	assert_int_equal(hyphae_unsubscribe(fx.self), -ESTALE);
}

static int read_nothing(struct fx *fx)
{
	hyphae_untracked_begin();
	note(fx->log, "%d", (int)get(fx->c[0]));
	hyphae_untracked_end();
	return 0;
}

static void one_that_reads_nothing_runs_once(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, read_nothing);
	fx.c[0] = source(w, 1);
	fx_start(&fx);
	assert_int_equal(fx.drops, 1);
	put(fx.c[0], 2);
	assert_log(fx.log, "1");
}

static void clean_up_comes_before_the_next_run(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, show_two);
	fx.c[0] = source(w, 1);
	fx.c[1] = source(w, 2);
	fx.self = hyphae_effect_with(w->graph, run, &fx, drop, clean_up);
	assert_non_null(fx.self);
	put(fx.c[0], 2);
	assert_log(fx.log, "1+2,x,2+2");
	assert_int_equal(hyphae_unsubscribe(fx.self), 0);
	assert_log(fx.log, "1+2,x,2+2,x");
	assert_int_equal(fx.drops, 1);
}

/* What ended it was no run: there is nothing more to clean up after. */
static void one_that_ends_is_cleaned_up_once(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_init(w, &fx, show_two);
	fx.c[0] = fx.c[1] = source(w, 1);
	fx.self = hyphae_effect_with(w->graph, run, &fx, drop, clean_up);
	assert_non_null(fx.self);
	assert_int_equal(hyphae_cell_complete(fx.c[0]), 0);
	assert_log(fx.log, "1+1,x,1+1,x");
	assert_int_equal(fx.drops, 1);
}

static void it_pauses(void **state)
{
	struct world *w = *state;
	static struct fx fx;

	fx_start_two(w, &fx);
	assert_int_equal(hyphae_subscription_pause(fx.self), 0);
	put(fx.c[0], 2);
	put(fx.c[0], 3);
	assert_log(fx.log, "1+2");
	assert_int_equal(hyphae_subscription_resume(fx.self), 0);
	assert_log(fx.log, "1+2,3+2");
	put(fx.c[1], 4);
	assert_log(fx.log, "1+2,3+2,3+4");
}

static int start_inner(struct fx *fx)
{
	get(fx->c[0]);
	if (!fx->inner->self)
		fx->inner->self = hyphae_effect_with(fx->world->graph, run,
						     fx->inner, drop, NULL);
	note(fx->log, "%lu", fx->inner->runs);
	return 0;
}

static void one_made_in_another_has_its_own_reads(void **state)
{
	struct world *w = *state;
	static struct fx outer, inner;

	fx_init(w, &inner, show_two);
	fx_init(w, &outer, start_inner);
	inner.c[0] = source(w, 1);
	inner.c[1] = source(w, 2);
	outer.c[0] = source(w, 0);
	outer.inner = &inner;
	fx_start(&outer);
	assert_non_null(inner.self);
	/* Its first run came after the wave in which it was made. */
	assert_log(outer.log, "0");
	assert_log(inner.log, "1+2");
	put(inner.c[0], 3);
	assert_int_equal(outer.runs, 1);
	assert_log(inner.log, "1+2,3+2");
	assert_int_equal(hyphae_unsubscribe(inner.self), 0);
}

/* In order of subscription, among others. */
static void it_has_its_place_among_subscribers(void **state)
{
	struct world *w = *state;
	struct log *all = log_new(w, NULL, NULL);
	struct hyphae_cell *c = source(w, 1);
	static struct fx fx[2];

	for (int i = 0; i < 2; i++) {
		fx_init(w, &fx[i], show_two);
		fx[i].log = all;
		fx[i].c[0] = fx[i].c[1] = c;
	}
	fx_start(&fx[0]);
	keep_sub(w, log_subscribe(all, c, 0));
	fx_start(&fx[1]);
	put(c, 2);
	/* Depth first: what follows a cell comes before its subscribers. */
	assert_log(all,
		   w->eager ? "1+1,1,1+1,2+2,2+2,2" : "1+1,1,1+1,2+2,2,2+2");
}

static void a_scope_ends_it(void **state)
{
	struct world *w = *state;
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	static struct fx fx;

	fx_init(w, &fx, show_two);
	fx.c[0] = source(w, 1);
	fx.c[1] = source(w, 2);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	fx.self = hyphae_effect_with(w->graph, run, &fx, drop, NULL);
	hyphae_scope_leave(scope);
	assert_non_null(fx.self);
	hyphae_scope_dispose(scope);
	assert_int_equal(fx.drops, 1);
	put(fx.c[0], 2);
	assert_int_equal(fx.runs, 1);
}

/* What it reads is lazy: it is computed for it, and goes on. */
static void it_wakes_what_it_reads(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 2);
	struct node *n = derive(w, half, s);
	static struct fx fx;

	assert_int_equal(hyphae_cell_set_lazy(n->cell), 0);
	fx_init(w, &fx, show_two);
	fx.c[0] = n->cell;
	fx.c[1] = s;
	fx_start(&fx);
	assert_log(fx.log, "1+2");
	put(s, 8);
	if (!w->eager)
		assert_log(fx.log, "1+2,4+8");
	assert_int_equal(hyphae_unsubscribe(fx.self), 0);
	begin(w);
	put(s, 10);
	assert_int_equal(n->runs, 0);
}

/* Another graph's cell is written, whose subscriber reads this one's. */
static int reader_of_other(const struct hyphae_signal *signal, void *ctx)
{
	struct fx *fx = ctx;

	(void)signal;
	get(fx->c[2]);
	return 0;
}

static int write_elsewhere(struct fx *fx)
{
	fx->code = hyphae_int64_set(fx->c[1], get(fx->c[0]));
	return 0;
}

static void reads_of_other_graphs_subscribers_are_not_its(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *other = hyphae_graph_new(
		w->kind == THREAD_SAFE ? 0 : HYPHAE_SINGLE_THREAD);
	struct hyphae_subscription *s;
	static struct fx fx;

	fx_init(w, &fx, write_elsewhere);
	fx.c[0] = source(w, 1);
	fx.c[1] = hyphae_int64_new(other, 0);
	fx.c[2] = source(w, 3);
	s = hyphae_subscribe(fx.c[1], reader_of_other, &fx);
	assert_non_null(s);
	fx_start(&fx);
	put(fx.c[0], 2);
	assert_int_equal(get(fx.c[1]), 2);
	assert_int_equal(targets(fx.c[2]), 0);
	hyphae_unsubscribe(s);
	hyphae_cell_unref(fx.c[1]);
	assert_int_equal(hyphae_graph_free(other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(runs_at_once_and_for_each_change),
		CASE(a_batch_is_one_run),
		CASE(sees_nothing_half),
		CASE(follows_only_what_it_read_last),
		CASE(a_list_may_grow_and_shrink),
		CASE(it_may_write),
		CASE(what_it_writes_it_reads_in_the_next_wave),
		CASE(what_is_written_and_taken_back_is_not_read),
		CASE(an_endless_one_ends_at_the_wave_limit),
		CASE(its_error_is_a_subscribers),
		CASE(it_can_end_itself),
		CASE(it_can_be_ended_in_its_function),
		CASE(it_ends_with_all_that_it_read),
		CASE(one_that_reads_nothing_runs_once),
		CASE(clean_up_comes_before_the_next_run),
		CASE(one_that_ends_is_cleaned_up_once),
		CASE(it_pauses),
		CASE(one_made_in_another_has_its_own_reads),
		CASE(it_has_its_place_among_subscribers),
		CASE(a_scope_ends_it),
		CASE(it_wakes_what_it_reads),
		CASE(reads_of_other_graphs_subscribers_are_not_its),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
