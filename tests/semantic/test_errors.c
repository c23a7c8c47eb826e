/* SPDX-License-Identifier: MIT */
/*
 * Group ER: errors and recovery.
 *
 * In a log "E(-5)" is an error that a later value heals, "E(-5)!" the end.
 */
#include <errno.h>
#include <string.h>

#include "fixture.h"

FN(inc, in[0] + 1);
FN(twice, in[0] * 2);
FN(sum, in[0] + in[1]);

/* -EIO for an odd value, -ENOSPC for a negative one. */
static int even_only(struct node *node, const int64_t *in, size_t count,
		     int64_t *ret)
{
	(void)node;
	(void)count;
	if (in[0] < 0)
		return -ENOSPC;
	if (in[0] % 2)
		return -EIO;
	*ret = in[0];
	return 0;
}

static void er01_failing_function(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, even_only, a);
	struct log *seen = follow(w, b->cell);
	int64_t held = 77;

	begin(w);
	put(a, 1);
	assert_int_equal(hyphae_int64_get(b->cell, &held), -EIO);
	assert_int_equal(hyphae_int64_get(b->cell, &held), -EIO);
	assert_int_equal(held, 77);
	assert_int_equal(b->runs, 1);
	put(a, 2);
	assert_log(seen, "0,E(-5),2");
	assert_int_equal(value(b->cell), 2);
	assert_int_equal(w->problems, 0);
}

static void er01_heals_to_the_old_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, even_only, a);
	struct node *c = derive(w, inc, b->cell);
	struct log *seen = follow(w, c->cell);

	put(a, 1);
	put(a, 0);
	assert_log(seen, "1,E(-5),1");
}

static void er01_same_error_is_cut(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, even_only, a);
	struct log *seen = follow(w, b->cell);

	begin(w);
	put(a, 1);
	put(a, 3);
	assert_int_equal(b->runs, 2);
	assert_log(seen, "0,E(-5)");
	put(a, -1);
	put(a, 5);
	assert_log(seen, "0,E(-5),E(-28),E(-5)");
}

static void er01_fails_when_made(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, even_only, a);
	struct node *c = derive(w, twice, b->cell);
	struct log *seen = follow(w, c->cell);

	assert_int_equal(c->runs, 0);
	put(a, 2);
	assert_log(seen, "E(-5),4");
}

static void er02_downstream(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, even_only, a);
	struct node *c = derive(w, twice, b->cell);
	struct log *seen = follow(w, c->cell);
	int64_t held;

	begin(w);
	put(a, 1);
	assert_int_equal(c->runs, 0);
	assert_int_equal(hyphae_int64_get(c->cell, &held), -EIO);
	put(a, 2);
	assert_int_equal(c->runs, 1);
	assert_log(seen, "0,E(-5),4");
}

static void er02_join_of_good_and_bad(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *x = source(w, 10);
	struct node *b = derive(w, even_only, a);
	struct node *d = derive(w, sum, b->cell, x);
	struct log *seen = follow(w, d->cell);

	begin(w);
	put(a, 1);
	put(x, 20);
	assert_int_equal(d->runs, 0);
	assert_log(seen, "10,E(-5)");
	put(a, 2);
	assert_int_equal(d->runs, 1);
	assert_log(seen, "10,E(-5),22");
}

static int none(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input > 100;
}

/* An error that heals where another input still has no value. */
static void er02_join_of_bad_and_nothing(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *x = source(w, 10);
	struct node *b = derive(w, even_only, a);
	struct hyphae_cell *f = keep(w, hyphae_filter(x, none, NULL));
	struct node *d = derive(w, sum, b->cell, f);
	struct log *seen = follow(w, d->cell);
	int64_t held;

	assert_int_equal(hyphae_int64_get(d->cell, &held), -ENODATA);
	put(a, 1);
	assert_int_equal(hyphae_int64_get(d->cell, &held), -EIO);
	put(a, 2);
	assert_int_equal(hyphae_int64_get(d->cell, &held), -ENODATA);
	put(x, 101);
	assert_int_equal(value(d->cell), 103);
	assert_log(seen, "E(-5),103");
	assert_int_equal(d->runs, 1);
}

static int pass_even(const void *input, void *ctx)
{
	int64_t v = *(const int64_t *)input;

	(void)ctx;
	return v < 0 ? -ENOSPC : v % 2 == 0;
}

static void er02_filter(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *f = keep(w, hyphae_filter(a, pass_even, NULL));
	struct log *seen = follow(w, f);

	put(a, 1);
	put(a, -1);
	put(a, 4);
	assert_log(seen, "0,E(-28),4");
}

/* log->code: what to return for values other than the initial. */
static int return_code(struct log *log, const struct hyphae_signal *signal)
{
	return signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal)
		       ? log->code
		       : 0;
}

static void er03_isolation(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow(w, a);
	struct log *s2 = follow_with(w, a, return_code, NULL, 0);
	struct log *s3 = follow(w, a);

	s2->code = -EPIPE;
	assert_int_equal(hyphae_int64_set(a, 1), -EPIPE);
	assert_int_equal(value(a), 1);
	assert_log(s1, "0,1");
	assert_log(s2, "0,1");
	assert_log(s3, "0,1");
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -EPIPE);
	assert_true(strlen(w->problem) > 0);
	/* It stays subscribed. */
	assert_int_equal(hyphae_int64_set(a, 2), -EPIPE);
	assert_log(s2, "0,1,2");
	s2->code = 0;
	put(a, 3);
	assert_int_equal(w->problems, 2);
}

static void er03_first_of_two(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow_with(w, a, return_code, NULL, 0);
	struct log *s2 = follow_with(w, a, return_code, NULL, 0);

	s1->code = -EPIPE;
	s2->code = -ENOSPC;
	assert_int_equal(hyphae_int64_set(a, 1), -EPIPE);
	assert_int_equal(w->problems, 2);
	assert_int_equal(w->problem_code, -ENOSPC);
	begin_batch(w);
	put(a, 2);
	assert_int_equal(hyphae_batch_end(w->graph), -EPIPE);
	assert_int_equal(w->problems, 4);
}

/* The initial call has no caller to tell; the problem function is told. */
static void er03_initial_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct log *log = log_new(w, return_code, NULL);

	log->code = -EPIPE;
	keep_sub(w, log_subscribe(log, a, 0));
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -EPIPE);
	log->code = 0;
	put(a, 6);
	assert_log(log, "5,6");
}

static void er04_nothing_left_behind(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *other = source(w, 0);
	struct log *s1 = follow(w, a);
	struct log *s2 = follow_with(w, a, return_code, NULL, 0);
	struct log *s3 = follow(w, a);

	s2->code = -EPIPE;
	assert_int_equal(hyphae_int64_set(a, 1), -EPIPE);
	put(other, 1);
	assert_log(s1, "0,1");
	assert_log(s2, "0,1");
	assert_log(s3, "0,1");
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
}

static int note_message(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_ERROR)
		note(log, "%s", signal->message);
	log->code += signal->terminal;
	return 0;
}

static void er08_terminal_error(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, a);
	struct node *d = derive(w, sum, b->cell, c->cell);
	struct log *a_seen = follow_with(w, a, note_message, NULL, 0);
	struct log *d_seen = follow_with(w, d->cell, note_message, NULL, 0);
	int64_t held;

	begin(w);
	assert_int_equal(hyphae_cell_fail(a, -EIO, "sensor gone"), 0);
	assert_log(a_seen, "1,E(-5)!,sensor gone");
	assert_log(d_seen, "4,E(-5)!,sensor gone");
	assert_int_equal(a_seen->code, 1);
	assert_int_equal(d_seen->code, 1);
	assert_int_equal(w->clock, 0);
	assert_int_equal(hyphae_int64_set(a, 2), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_fail(a, -EPIPE, NULL), -ESHUTDOWN);
	assert_int_equal(hyphae_cell_complete(a), -ESHUTDOWN);
	assert_log(d_seen, "4,E(-5)!,sensor gone");
	assert_int_equal(hyphae_int64_get(a, &held), -EIO);
	assert_int_equal(hyphae_int64_get(d->cell, &held), -EIO);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(a_seen->drops, 1);
	assert_int_equal(d_seen->drops, 1);
	assert_int_equal(hyphae_unsubscribe(d_seen->subscription), -ESTALE);
}

static void er08_one_input_fails(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *x = source(w, 10);
	struct node *d = derive(w, sum, a, x);
	struct log *seen = follow(w, d->cell);

	begin(w);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), 0);
	put(x, 20);
	assert_log(seen, "11,E(-5)!");
	assert_int_equal(d->runs, 0);
	assert_int_equal(hyphae_cell_fail(x, -EPIPE, NULL), 0);
	assert_log(seen, "11,E(-5)!");
}

static void er08_after_a_write_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);
	struct log *a_seen = follow(w, a);
	struct log *b_seen = follow(w, b->cell);

	begin_batch(w);
	put(a, 2);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), 0);
	assert_int_equal(hyphae_int64_set(a, 3), -ESHUTDOWN);
	end_batch(w);
	/* Two waves, so that nobody misses the last value. */
	assert_log(a_seen, "1,2,E(-5)!");
	assert_log(b_seen, "2,3,E(-5)!");
}

static void er08_healed_error_then_the_end(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, even_only, a);
	struct log *seen = follow(w, b->cell);

	/* The same code, but now nothing follows: it must be told. */
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), 0);
	assert_log(seen, "E(-5),E(-5)!");
}

static void er09_bad_codes(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, inc, a);

	assert_int_equal(hyphae_cell_fail(a, 0, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(a, 5, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(b->cell, -EIO, NULL), -EINVAL);
	assert_int_equal(hyphae_cell_fail(NULL, -EIO, NULL), -EINVAL);
	put(a, 2);
	assert_int_equal(value(b->cell), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(er01_failing_function),
		CASE(er01_heals_to_the_old_value),
		CASE(er01_same_error_is_cut),
		CASE(er01_fails_when_made),
		CASE(er02_downstream),
		CASE(er02_join_of_good_and_bad),
		CASE(er02_join_of_bad_and_nothing),
		CASE(er02_filter),
		CASE(er03_isolation),
		CASE(er03_first_of_two),
		CASE(er03_initial_call),
		CASE(er04_nothing_left_behind),
		CASE(er08_terminal_error),
		CASE(er08_one_input_fails),
		CASE(er08_after_a_write_in_a_batch),
		CASE(er08_healed_error_then_the_end),
		CASE(er09_bad_codes),
	};

	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
