/* SPDX-License-Identifier: MIT */
/* What random programs found in cells of cells that are, or follow, events. */
#include "regressions.h"

static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD, HYPHAE_LAZY};
#define EACH_KIND(g_)                                                          \
	for (size_t k_ = 0; k_ < 3; k_++)                                      \
		for (struct hyphae_graph *g_ = hyphae_graph_new(kinds[k_]);    \
		     g_;                                                       \
		     assert_int_equal(hyphae_graph_free(g_), 0), g_ = NULL)

/* What a function chooses among, and how often it was called. */
struct choice {
	struct hyphae_graph *graph;
	struct hyphae_cell *c[4];
	unsigned int calls, inner, closed;
	char text[128]; /* what a subscriber was told */
};

static int write_down(const struct hyphae_signal *signal, void *ctx)
{
	struct choice *c = ctx;
	size_t length = strlen(c->text);
	char *to = c->text + length;
	size_t room = sizeof(c->text) - length;

	if (signal->kind == HYPHAE_VALUE)
		snprintf(to, room, "%lld ", (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_ERROR)
		snprintf(to, room, "E%d ", signal->code);
	else
		snprintf(to, room, "C ");
	return 0;
}

static struct hyphae_cell *choose(const void *value, void *ctx)
{
	struct choice *c = ctx;

	c->calls++;
	return c->c[*(const int64_t *)value];
}

static struct hyphae_cell *event(struct hyphae_graph *g)
{
	return hyphae_event_new(g, &hyphae_int64);
}

static struct hyphae_cell *mapped(struct hyphae_cell *from, int times)
{
	while (times--)
		from = hyphae_map(from, &hyphae_int64, plus_one, NULL);
	return from;
}

/* While the outer cell stands at an error it is told once. */
static void the_outers_error_is_told_once(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct hyphae_cell *source = hyphae_int64_new(g, 1);
		struct choice c = {.c = {NULL, hyphae_int64_new(g, 5)}};
		struct hyphae_cell *outer =
			hyphae_map(source, &hyphae_int64, positive, NULL);

		hyphae_subscribe(
			hyphae_switch_events(outer, &hyphae_int64, choose, &c),
			write_down, &c);
		hyphae_int64_set(source, -1);
		hyphae_int64_set(c.c[1], 6); /* not heard now */
		hyphae_int64_set(c.c[1], 7);
		hyphae_int64_set(source, 1);
		assert_string_equal(c.text, kinds[k_] == HYPHAE_LAZY
						    ? "5 E-5 7 "
						    : "E-5 7 ");
	}
}

/*
 * An event emits in the wave in which it is first followed.  That is over,
 * wherever the event lies: computed before the switch, or after it.
 */
static void an_inners_emission_of_this_wave_is_over(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		for (int height = 0; height < 8; height++) {
			struct hyphae_cell *e = event(g);
			struct hyphae_cell *outer = hyphae_int64_new(g, 0);
			struct hyphae_cell *inner = mapped(e, height);
			struct choice c = {
				.c = {hyphae_int64_new(g, 7), inner}};

			hyphae_subscribe(inner, count_calls, &c.inner);
			hyphae_subscribe(hyphae_switch_map(outer, &hyphae_int64,
							   choose, &c),
					 write_down, &c);
			hyphae_subscribe(hyphae_merge_map(outer, &hyphae_int64,
							  4, choose, &c),
					 write_down, &c);
			hyphae_batch_begin(g);
			hyphae_int64_set(e, 20);
			hyphae_int64_set(outer, 1);
			hyphae_batch_end(g);
			assert_int_equal(c.inner, 1);
			assert_string_equal(c.text, "7 7 ");
			hyphae_int64_set(e, 30 - height);
			assert_string_equal(c.text, "7 7 30 30 ");
		}
	}
}

static struct hyphae_cell *first_then_second(size_t attempt, void *ctx)
{
	struct choice *c = ctx;

	c->calls++;
	return c->c[attempt];
}

/* The same for the cell of the next try. */
static void a_trys_emission_of_this_wave_is_over(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		for (int height = 0; height < 8; height++) {
			struct hyphae_cell *e = event(g);
			struct hyphae_cell *source = hyphae_int64_new(g, 1);
			struct choice c = {
				.c = {hyphae_map(source, &hyphae_int64,
						 positive, NULL),
				      mapped(e, height)}};

			hyphae_subscribe(c.c[1], count_calls, &c.inner);
			hyphae_subscribe(
				hyphae_retry_events(g, &hyphae_int64, 1,
						    first_then_second, &c),
				write_down, &c);
			c.text[0] = 0;
			hyphae_batch_begin(g);
			hyphae_int64_set(e, 20);
			hyphae_int64_set(source, -1);
			hyphae_batch_end(g);
			assert_int_equal(c.inner, 1);
			assert_int_equal(c.calls, 2);
			assert_string_equal(c.text, "");
			hyphae_int64_set(e, 30 - height);
			assert_string_equal(c.text, "30 ");
		}
	}
}

/* In a later wave of the same batch it is not called any more. */
static void a_switch_that_has_failed_is_over(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct hyphae_cell *outer = event(g);
		struct hyphae_cell *failed = hyphae_int64_new(g, 0);
		struct choice c = {.c = {hyphae_int64_new(g, 7), failed}};
		struct choice m = c;

		hyphae_subscribe(
			hyphae_switch_map(outer, &hyphae_int64, choose, &c),
			write_down, &c);
		hyphae_subscribe(
			hyphae_merge_map(outer, &hyphae_int64, 9, choose, &m),
			write_down, &m);
		hyphae_cell_fail(failed, -ECANCELED, NULL);
		hyphae_batch_begin(g);
		hyphae_int64_set(outer, 1);
		hyphae_int64_set(outer, 0);
		hyphae_int64_set(outer, 0);
		hyphae_batch_end(g);
		assert_int_equal(c.calls, 1);
		assert_int_equal(m.calls, 1);
	}
}

static struct hyphae_cell *make_and_own(size_t attempt, void *ctx)
{
	struct choice *c = ctx;
	struct hyphae_cell *made = mapped(c->c[0], 1);

	(void)attempt;
	hyphae_cell_own(made, &c->closed, count);
	return made;
}

/* There is no next try: what was made for the last one is not kept. */
static void a_retry_that_has_ended_keeps_nothing(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		for (int fails = 0; fails < 2; fails++) {
			struct choice c = {.c = {hyphae_int64_new(g, 1)}};
			struct hyphae_cell *cell = hyphae_retry(
				g, &hyphae_int64, 0, make_and_own, &c);

			hyphae_subscribe(cell, write_down, &c);
			hyphae_int64_set(c.c[0], 2);
			assert_int_equal(c.closed, 0);
			if (fails)
				hyphae_cell_fail(c.c[0], -EIO, NULL);
			else
				hyphae_cell_complete(c.c[0]);
			assert_string_equal(c.text,
					    fails ? "2 3 E-5 " : "2 3 C ");
			assert_int_equal(c.closed, 1);
			if (!fails)
				assert_int_equal(value(cell), 3);
		}
	}
}

/* ---- lazy: of a switch that was made in one wave and let go of in the next ---- */

static struct hyphae_cell *choose_inner(const void *value, void *ctx)
{
	struct choice *c = ctx;

	(void)value;
	c->inner++;
	return c->c[0];
}

static struct hyphae_cell *make_switch(const void *value, void *ctx)
{
	struct choice *c = ctx;

	(void)value;
	c->calls++;
	return hyphae_switch_map(c->c[1], &hyphae_int64, choose_inner, c);
}

static void an_old_inner_is_not_computed_in_the_next_wave(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct hyphae_cell *e = event(g);
		int64_t none = 0;
		struct choice c = {.c = {hyphae_int64_new(g, 3),
					 hyphae_hold(e, &hyphae_int64, &none)}};

		hyphae_subscribe(
			hyphae_switch_map(e, &hyphae_int64, make_switch, &c),
			write_down, &c);
		hyphae_batch_begin(g);
		hyphae_int64_set(e, 1);
		hyphae_int64_set(e, 2);
		hyphae_int64_set(e, 3);
		hyphae_batch_end(g);
		assert_int_equal(c.calls, 3);
		assert_int_equal(c.inner, 3);
		assert_string_equal(c.text, "3 ");
	}
}

/* ---- what is lazy, and what was let go of in a wave before -------------------- */

#define MANY 100
#define LAST 6

/* A source that a subscriber of it counts up: waves of one propagation. */
struct waves {
	struct hyphae_cell *source, *other, *inner, *lazy[MANY];
	struct hyphae_subscription *ends; /* behind the third wave */
	unsigned int told, runs, last_runs;
};

static int count_on(const struct hyphae_signal *signal, void *ctx)
{
	struct waves *w = ctx;
	int64_t at = hyphae_int64_of(signal);

	if (at == 3)
		hyphae_unsubscribe(w->ends);
	return at < LAST ? hyphae_int64_set(w->source, at + 1) : 0;
}

static int run_in_wave(void *ret, const void *input, void *ctx)
{
	struct waves *w = ctx;

	w->runs++;
	w->last_runs += *(const int64_t *)input == LAST + 1;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static struct waves waves_in(struct hyphae_graph *g)
{
	return (struct waves){.source = hyphae_int64_new(g, 0),
			      .other = hyphae_int64_new(g, -1)};
}

static void run_waves(struct waves *w, struct hyphae_cell *cell)
{
	hyphae_subscribe(cell, count_calls, &w->told);
	hyphae_subscribe(w->source, count_on, w);
	assert_int_equal(value(w->source), LAST);
}

static struct hyphae_cell *one_before_last(const void *value, void *ctx)
{
	struct waves *w = ctx;

	if (*(const int64_t *)value != LAST - 1)
		return w->other;
	return hyphae_map(w->inner, &hyphae_int64, run_in_wave, w);
}

/* It woke what it follows, which does not keep it from going. */
static void an_inner_that_woke_its_input_is_let_go_of(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct waves w = waves_in(g);

		w.inner = mapped(w.source, 1);
		assert_int_equal(hyphae_cell_set_lazy(w.inner), 0);
		run_waves(&w, hyphae_switch_map(w.source, &hyphae_int64,
						one_before_last, &w));
		assert_int_equal(w.runs, 1);
		assert_int_equal(w.last_runs, 0);
	}
}

static struct hyphae_cell *not_at_three(const void *value, void *ctx)
{
	struct waves *w = ctx;

	return *(const int64_t *)value == 3 ? w->other : w->inner;
}

static struct hyphae_cell *make_inner_switch(const void *value, void *ctx)
{
	struct waves *w = ctx;

	if (*(const int64_t *)value)
		return w->other;
	w->inner =
		hyphae_map(mapped(w->source, 1), &hyphae_int64, run_in_wave, w);
	hyphae_cell_set_lazy(w->inner);
	return hyphae_switch_map(w->source, &hyphae_int64, not_at_three, w);
}

static int is_last(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input == LAST;
	return 0;
}

/*
 * It has lost its follower in a wave before, and was followed again; who lost
 * his after it goes idle nevertheless.
 */
static void a_lazy_inner_is_let_go_of_however_long_it_is_there(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct waves w = waves_in(g);
		struct hyphae_cell_info info;
		struct hyphae_cell *outer =
			hyphae_map(w.source, &hyphae_int64, is_last, NULL);

		w.lazy[0] = mapped(w.source, 1);
		hyphae_cell_set_lazy(w.lazy[0]);
		w.ends = hyphae_subscribe(w.lazy[0], count_calls, &w.told);
		run_waves(&w, hyphae_switch_map(outer, &hyphae_int64,
						make_inner_switch, &w));
		assert_true(w.runs >= 4);
		assert_int_equal(w.last_runs, 0);
		assert_int_equal(hyphae_cell_info(w.lazy[0], &info), 0);
		assert_true(info.idle);
	}
}

static int read_many(void *ret, void *ctx)
{
	struct waves *w = ctx;

	*(int64_t *)ret = value(w->source);
	for (int i = 0; i < MANY && !*(int64_t *)ret; i++)
		value(w->lazy[i]);
	return 0;
}

static struct hyphae_cell *follow_many(const void *value, void *ctx)
{
	struct waves *w = ctx;

	for (int i = 0; i < MANY && *(const int64_t *)value == 2; i++)
		hyphae_map(w->lazy[i], &hyphae_int64, run_in_wave, w);
	return w->other;
}

/*
 * What is lazy is in the list of what may go idle, has done so between two
 * waves, and is woken by as many cells, for which that list has no room.
 */
static void what_wakes_its_input_is_in_no_list(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct waves w = waves_in(g);
		struct choice c = {
			.c = {hyphae_int64_new(g, 0), hyphae_int64_new(g, 0)}};
		struct hyphae_cell *which = hyphae_int64_new(g, 0), *merged;

		for (int i = 0; i < MANY; i++) {
			w.lazy[i] = mapped(w.other, 1);
			hyphae_cell_set_lazy(w.lazy[i]);
		}
		hyphae_subscribe(
			hyphae_computed(g, &hyphae_int64, read_many, &w),
			count_calls, &w.told);
		merged = hyphae_merge_map(which, &hyphae_int64, 2, choose, &c);
		hyphae_subscribe(hyphae_switch_map(merged, &hyphae_int64,
						   follow_many, &w),
				 count_calls, &w.told);
		hyphae_int64_set(which, 1);
		hyphae_batch_begin(g);
		hyphae_int64_set(w.source, 1);
		hyphae_int64_set(c.c[0], 1);
		hyphae_int64_set(c.c[1], 2);
		hyphae_batch_end(g);
		assert_int_equal(value(merged), 2);
		assert_int_equal(w.runs, k_ == 2 ? 0 : MANY);
	}
}

static void count_hook(struct hyphae_cell *cell, void *ctx)
{
	(void)cell;
	++*(unsigned int *)ctx;
}

static struct hyphae_cell *make_hooked(const void *value, void *ctx)
{
	struct choice *c = ctx;
	struct hyphae_cell *cell = mapped(c->c[1], 1);

	(void)value;
	hyphae_cell_set_hooks(cell, count_hook, count_hook, &c->calls);
	return cell;
}

static void the_hooks_of_an_old_inner_are_called(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct hyphae_cell *outer = hyphae_int64_new(g, 0);
		struct choice c = {.c = {NULL, hyphae_int64_new(g, 7)}};

		hyphae_subscribe(hyphae_switch_map(outer, &hyphae_int64,
						   make_hooked, &c),
				 write_down, &c);
		assert_int_equal(c.calls, 1);
		hyphae_int64_set(outer, 1);
		assert_int_equal(c.calls, 3);
		hyphae_int64_set(outer, 2);
		assert_int_equal(c.calls, 5);
	}
}

/* ---- what the function has subscribed to ---------------------------------------- */

struct heard {
	struct hyphae_cell *source, *old, *outside;
	unsigned int made, runs, told, dropped, subscriptions;
	int stale;
};

static int count_run(void *ret, const void *input, void *ctx)
{
	struct heard *h = ctx;

	h->runs++;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static void count_drop(void *ctx)
{
	struct heard *h = ctx;

	h->dropped++;
}

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	struct heard *h = ctx;

	(void)signal;
	h->told++;
	return 0;
}

/* A chain of two, and so many subscriptions to each. */
static struct hyphae_cell *make_heard(const void *value, void *ctx)
{
	struct heard *h = ctx;
	struct hyphae_cell *first, *second;

	(void)value;
	if (h->old)
		h->stale = !hyphae_cell_ref(h->old);
	first = hyphae_map(h->source, &hyphae_int64, count_run, h);
	second = hyphae_map(first, &hyphae_int64, count_run, h);
	h->old = second;
	h->made++;
	for (unsigned int i = 0; i < h->subscriptions; i++) {
		hyphae_subscribe_with(first, hear, h, count_drop, 0);
		hyphae_subscribe_with(second, hear, h, count_drop, 0);
	}
	return second;
}

/*
 * It goes with the inner, and keeps it no longer: the functions of the old
 * inner are not called for the new value.
 */
static void an_inner_that_was_subscribed_to_is_let_go_of(void **state)
{
	struct heard h;

	(void)state;
	for (unsigned int n = 0; n < 4; n++) {
		EACH_KIND(g)
		{
			struct hyphae_cell *outer = hyphae_int64_new(g, 0);
			struct choice c = {.calls = 0};

			h = (struct heard){.source = hyphae_int64_new(g, 0),
					   .subscriptions = n};
			hyphae_subscribe(hyphae_switch_map(outer, &hyphae_int64,
							   make_heard, &h),
					 write_down, &c);
			for (int i = 1; i <= 3; i++) {
				h.runs = h.told = 0;
				hyphae_batch_begin(g);
				hyphae_int64_set(h.source, i);
				hyphae_int64_set(outer, i);
				hyphae_batch_end(g);
				assert_int_equal(h.made, i + 1);
				assert_int_equal(h.runs, 2);
				assert_int_equal(h.told, 2 * n);
				assert_int_equal(h.dropped, 2 * n * i);
				assert_int_equal(h.stale, 1);
			}
			/* The inner goes on as it should. */
			h.runs = h.told = 0;
			hyphae_int64_set(h.source, 9);
			assert_int_equal(h.runs, 2);
			assert_int_equal(h.told, 2 * n);
			assert_string_equal(c.text, "0 1 2 3 9 ");
		}
	}
}

/* Somebody else keeps it: it is computed, as it has to be. */
static void an_inner_that_others_keep_stays(void **state)
{
	struct heard h;

	(void)state;
	EACH_KIND(g)
	{
		struct hyphae_cell *outer = hyphae_int64_new(g, 0);
		unsigned int told = 0;
		struct choice c = {.calls = 0};

		h = (struct heard){.source = hyphae_int64_new(g, 0),
				   .subscriptions = 2};
		hyphae_subscribe(
			hyphae_switch_map(outer, &hyphae_int64, make_heard, &h),
			write_down, &c);
		hyphae_subscribe(h.old, count_calls, &told);
		h.runs = 0;
		hyphae_batch_begin(g);
		hyphae_int64_set(h.source, 1);
		hyphae_int64_set(outer, 1);
		hyphae_batch_end(g);
		assert_int_equal(h.stale, 0);
		assert_int_equal(h.runs, 4);
		assert_int_equal(told, 2);
		hyphae_int64_set(h.source, 2);
		assert_int_equal(told, 3);
	}
}

static struct hyphae_cell *make_try(size_t attempt, void *ctx)
{
	struct choice *c = ctx;

	(void)attempt;
	c->calls++;
	hyphae_switch_map(mapped(c->c[1], 3), &hyphae_int64, choose_inner, c);
	return hyphae_map(c->c[1], &hyphae_int64, positive, NULL);
}

/* Of what an old try made, which would have its turn after it. */
static void an_old_try_is_not_computed_any_more(void **state)
{
	(void)state;
	EACH_KIND(g)
	{
		struct choice c = {
			.c = {hyphae_int64_new(g, 3), hyphae_int64_new(g, 1)}};

		hyphae_subscribe(
			hyphae_retry(g, &hyphae_int64, 1, make_try, &c),
			write_down, &c);
		assert_int_equal(c.calls, 1);
		assert_int_equal(c.inner, kinds[k_] != HYPHAE_LAZY);
		hyphae_int64_set(c.c[1], -1);
		assert_int_equal(c.calls, 2);
		assert_int_equal(c.inner, 2 * (kinds[k_] != HYPHAE_LAZY));
		assert_string_equal(c.text, "1 E-5 ");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outers_error_is_told_once),
		cmocka_unit_test(an_inners_emission_of_this_wave_is_over),
		cmocka_unit_test(a_trys_emission_of_this_wave_is_over),
		cmocka_unit_test(a_switch_that_has_failed_is_over),
		cmocka_unit_test(a_retry_that_has_ended_keeps_nothing),
		cmocka_unit_test(an_old_inner_is_not_computed_in_the_next_wave),
		cmocka_unit_test(an_inner_that_woke_its_input_is_let_go_of),
		cmocka_unit_test(
			a_lazy_inner_is_let_go_of_however_long_it_is_there),
		cmocka_unit_test(what_wakes_its_input_is_in_no_list),
		cmocka_unit_test(the_hooks_of_an_old_inner_are_called),
		cmocka_unit_test(an_inner_that_was_subscribed_to_is_let_go_of),
		cmocka_unit_test(an_inner_that_others_keep_stays),
		cmocka_unit_test(an_old_try_is_not_computed_any_more),
	};

	return cmocka_run_group_tests_name("regressions: inner cells", tests,
					   NULL, NULL);
}
