/* SPDX-License-Identifier: MIT */
/* Group CM: completion. */
#include <errno.h>

#include "fixture.h"

FN(inc, in[0] + 1);
FN(twice, in[0] * 2);
FN(sum, in[0] + in[1]);

static void complete(struct hyphae_cell *cell)
{
	assert_int_equal(hyphae_cell_complete(cell), 0);
}

static bool ended(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.ended;
}

static void cm01_nothing_after(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	assert_false(ended(a));
	complete(a);
	assert_true(ended(a));
	assert_int_equal(hyphae_int64_set(a, 1), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_complete(a), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), -ESHUTDOWN);
	assert_log(seen, "0,C");
	assert_int_equal(value(a), 0);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(seen->drops, 1);
	assert_int_equal(hyphae_unsubscribe(seen->subscription), -ESTALE);
}

static void cm01_through_a_diamond(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, a);
	struct node *d = derive(w, sum, b->cell, c->cell);
	struct log *seen = follow(w, d->cell);

	begin(w);
	complete(a);
	assert_log(seen, "4,C");
	assert_int_equal(w->clock, 0);
	assert_true(ended(d->cell));
	assert_int_equal(value(d->cell), 4);
}

static void cm02_after_the_last_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct log *a_seen = follow(w, a);
	struct log *b_seen = follow(w, b->cell);

	begin_batch(w);
	put(a, 3);
	complete(a);
	assert_log(a_seen, "0");
	end_batch(w);
	assert_log(a_seen, "0,3,C");
	assert_log(b_seen, "1,4,C");
}

static void cm02_no_write_after_it_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow(w, a);

	begin_batch(w);
	complete(a);
	assert_int_equal(hyphae_int64_set(a, 3), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_complete(a), -ESHUTDOWN);
	end_batch(w);
	assert_log(seen, "0,C");
}

static void cm03_combine(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct node *d = derive(w, sum, a, b);
	struct log *seen = follow(w, d->cell);

	put(a, 2);
	complete(a);
	assert_log(seen, "11,12");
	put(b, 20);
	assert_log(seen, "11,12,22");
	complete(b);
	assert_log(seen, "11,12,22,C");
}

static void cm03_both_in_one_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct node *d = derive(w, sum, a, b);
	struct log *seen = follow(w, d->cell);

	begin_batch(w);
	complete(b);
	put(a, 2);
	complete(a);
	end_batch(w);
	assert_log(seen, "11,12,C");
}

static void cm04_subscribe_after_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct log *late;

	complete(a);
	late = follow(w, a);
	assert_log(late, "5,C");
	assert_int_equal(late->drops, 1);
	assert_int_equal(targets(a), 0);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(hyphae_subscription_id(late->subscription), 0);
	assert_int_equal(hyphae_unsubscribe(late->subscription), -ESTALE);
}

static void cm04_subscribe_after_failure(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct log *late;

	assert_int_equal(hyphae_cell_fail(a, -EIO, "gone"), 0);
	late = follow(w, a);
	assert_log(late, "E(-5)!");
	assert_int_equal(late->drops, 1);
	assert_int_equal(live_subs(w), 0);
}

static void cm04_derive_after_completion(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct node *b;
	struct log *late;

	complete(a);
	b = derive(w, inc, a);
	assert_true(ended(b->cell));
	assert_int_equal(value(b->cell), 6);
	late = follow(w, b->cell);
	assert_log(late, "6,C");
}

static int complete_at_two(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 2)
		log->code = hyphae_cell_complete(log->cell);
	return 0;
}

static void cm06_complete_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow_with(w, a, complete_at_two, NULL, 0);
	struct log *s2 = follow(w, a);

	s1->code = 1;
	put(a, 1);
	put(a, 2);
	assert_int_equal(s1->code, 0);
	assert_log(s1, "0,1,2,C");
	assert_log(s2, "0,1,2,C");
	assert_int_equal(hyphae_int64_set(a, 3), -ESHUTDOWN);
}

/* arg: the other input of a cell that is made when the own one ends. */
static int derive_at_the_end(struct log *log,
			     const struct hyphae_signal *signal)
{
	struct hyphae_cell *both[2] = {log->cell, log->arg};

	if (signal->kind == HYPHAE_COMPLETE)
		log->arg = derive_inside(log->world, sum, both, 2);
	return 0;
}

static void cm06_derive_while_it_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct log *maker = follow_with(w, a, derive_at_the_end, b, 0);
	struct node *made;
	struct log *seen;

	complete(a);
	made = maker->arg;
	assert_non_null(made);
	keep(w, made->cell);
	seen = follow(w, made->cell);
	assert_false(ended(made->cell));
	put(b, 20);
	complete(b);
	assert_log(seen, "11,21,C");
	assert_true(ended(made->cell));
}

/* The same where the ended one is derived, in the wave that ends it. */
static void cm06_derive_while_a_derived_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *b = source(w, 10);
	struct node *m = derive(w, inc, a);
	struct log *maker = follow_with(w, m->cell, derive_at_the_end, b, 0);
	struct node *made;

	begin_batch(w);
	put(a, 2);
	complete(a);
	end_batch(w);
	made = maker->arg;
	assert_non_null(made);
	keep(w, made->cell);
	assert_int_equal(value(made->cell), 13);
	assert_false(ended(made->cell));
	complete(b);
	assert_true(ended(made->cell));
}

/* One who subscribes while the end is told gets it once. */
static int subscribe_at_the_end(struct log *log,
				const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_COMPLETE)
		log_subscribe(log->arg, log->cell, 0);
	return 0;
}

static void cm06_subscribe_while_it_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *late = log_new(w, NULL, NULL);

	follow_with(w, a, subscribe_at_the_end, late, 0);
	follow(w, a);
	begin_batch(w);
	put(a, 2);
	complete(a);
	end_batch(w);
	assert_log(late, "2,C");
	assert_int_equal(late->drops, 1);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(hyphae_unsubscribe(late->subscription), -ESTALE);
}

static int none(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 0;
}

/* A filter that never let anything pass completes without a value. */
static void cm07_filter_without_a_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *f = keep(w, hyphae_filter(a, none, NULL));
	struct node *b = derive(w, inc, f);
	struct log *f_seen = follow(w, f);
	struct log *b_seen = follow(w, b->cell);
	int64_t held;

	put(a, 2);
	complete(a);
	assert_log(f_seen, "C");
	assert_log(b_seen, "C");
	assert_int_equal(hyphae_int64_get(f, &held), -ENODATA);
	assert_int_equal(b->runs, 0);
}

/* Not for derived cells, and not for nothing. */
static void cm08_wrong_cells(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);

	assert_int_equal(hyphae_cell_complete(b->cell), -EINVAL);
	assert_int_equal(hyphae_cell_complete(NULL), -EINVAL);
	assert_false(ended(b->cell));
}

/* The last value was refused as equal: the end comes alone. */
static void cm09_unchanged_and_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 4);
	struct log *seen = follow(w, a);

	begin_batch(w);
	assert_true(hyphae_int64_set(a, 4) >= 0);
	complete(a);
	end_batch(w);
	assert_log(seen, "4,C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(cm01_nothing_after),
		CASE(cm01_through_a_diamond),
		CASE(cm02_after_the_last_value),
		CASE(cm02_no_write_after_it_in_a_batch),
		CASE(cm03_combine),
		CASE(cm03_both_in_one_batch),
		CASE(cm04_subscribe_after_completion),
		CASE(cm04_subscribe_after_failure),
		CASE(cm04_derive_after_completion),
		CASE(cm06_complete_in_a_subscriber),
		CASE(cm06_derive_while_it_ends),
		CASE(cm06_derive_while_a_derived_ends),
		CASE(cm06_subscribe_while_it_ends),
		CASE(cm07_filter_without_a_value),
		CASE(cm08_wrong_cells),
		CASE(cm09_unchanged_and_the_end),
	};

	return cmocka_run_group_tests_name("completion", tests, NULL, NULL);
}
