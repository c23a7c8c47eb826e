/* SPDX-License-Identifier: MIT */
/* Group E: an equal value stops the propagation. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fixture.h"

FN(same, in[0]);
FN(inc, in[0] + 1);
FN(parity, in[0] % 2);

static void e01_same_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *b = derive(w, same, a);
	struct log *seen = follow(w, b->cell);

	begin(w);
	assert_int_equal(hyphae_int64_set(a, 1), HYPHAE_UNCHANGED);
	assert_log(seen, "1");
	assert_int_equal(b->runs, 0);
}

static void e02_cut_in_the_middle(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *p = derive(w, parity, a);
	struct node *q = derive(w, inc, p->cell);
	struct log *seen = follow(w, q->cell);

	begin(w);
	put(a, 2);
	put(a, 4);
	put(a, 6);
	assert_int_equal(p->runs, 3);
	assert_int_equal(q->runs, 0);
	assert_log(seen, "1");
}

FN(clamp, in[0]<3 ? 3 : in[0]> 9 ? 9 : in[0]);

static void e03_clamp(void **state)
{
	static const int64_t writes[] = {1, 6, 12, 40};
	static const unsigned long runs[] = {0, 1, 1, 0};
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 3);
	struct node *b = derive(w, clamp, a);
	struct node *c = derive(w, same, b->cell);
	struct log *seen = follow(w, c->cell);
	size_t i;

	for (i = 0; i < 4; i++) {
		begin(w);
		put(a, writes[i]);
		assert_int_equal(b->runs, 1);
		assert_int_equal(c->runs, runs[i]);
	}
	assert_log(seen, "3,6,9");
}

static bool is_near(const void *a, const void *b)
{
	double distance = *(const double *)a - *(const double *)b;

	return distance < 0.5 && distance > -0.5;
}

HYPHAE_TYPE_WITH(near, double, .equal = is_near);

static void e04_user_equality(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, near_new_at(w->graph, 1.0, HYPHAE_HERE));
	double held = 0;

	assert_int_equal(near_set(a, 1.2), HYPHAE_UNCHANGED);
	assert_int_equal(near_get(a, &held), 0);
	assert_true(held == 1.0);
	assert_int_equal(near_set(a, 1.6), 0);
	assert_int_equal(near_get(a, &held), 0);
	assert_true(held == 1.6);
}

/* Compared with the value that was accepted last, not with the last write. */
static void e04_creeping(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, near_new_at(w->graph, 1.0, HYPHAE_HERE));
	double held = 0;

	assert_int_equal(near_set(a, 1.4), HYPHAE_UNCHANGED);
	assert_int_equal(near_set(a, 1.8), 0);
	assert_int_equal(near_get(a, &held), 0);
	assert_true(held == 1.8);
}

HYPHAE_TYPE_WITH(trigger, int64_t, .equal = hyphae_never_equal);

static int as_trigger(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input / 10;
	return 0;
}

static void e05_equality_disabled(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, trigger_new_at(w->graph, 1, HYPHAE_HERE));
	struct log *seen = follow(w, a);

	assert_int_equal(trigger_set(a, 1), 0);
	assert_int_equal(trigger_set(a, 1), 0);
	assert_log(seen, "1,1,1");
}

static void e05_equality_disabled_derived(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 11);
	struct hyphae_cell *b =
		keep(w, hyphae_map(a, &trigger_type, as_trigger, NULL));
	struct log *seen = follow(w, b);

	put(a, 12);
	put(a, 13);
	assert_log(seen, "1,1,1");
}

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned int *)ctx;
	return 0;
}

static void e07_nan_and_signed_zero(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = keep(w, hyphae_double_new(w->graph, NAN));
	unsigned int calls = 0;
	double held = 1;

	keep_sub(w, hyphae_subscribe(a, count_call, &calls));
	assert_int_equal(calls, 1);
	assert_int_equal(hyphae_double_set(a, NAN), HYPHAE_UNCHANGED);
	assert_int_equal(calls, 1);
	assert_int_equal(hyphae_double_set(a, 0.0), 0);
	assert_int_equal(hyphae_double_set(a, -0.0), 0);
	assert_int_equal(calls, 3);
	assert_int_equal(hyphae_double_get(a, &held), 0);
	assert_true(signbit(held));
}

struct padded {
	char c;
	int64_t n;
};
HYPHAE_TYPE(padded, struct padded);

/* Padding is compared: two values equal in all members can be a change. */
static void e08_padding_bytes(void **state)
{
	struct world *w = *state;
	struct padded one, two;
	struct hyphae_cell *a;
	unsigned int calls = 0;

	memset(&one, 0, sizeof(one));
	memset(&two, 0x55, sizeof(two));
	one.c = two.c = 'x';
	one.n = two.n = 5;
	a = keep(w, hyphae_cell_new(w->graph, &padded_type, &one));
	keep_sub(w, hyphae_subscribe(a, count_call, &calls));
	assert_int_equal(hyphae_cell_set(a, &padded_type, &one),
			 HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_cell_set(a, &padded_type, &two), 0);
	assert_int_equal(calls, 2);
}

static struct hyphae_cell *peeked;
static int64_t peeked_value;
static int peeked_code;

static bool peek_equal(const void *a, const void *b)
{
	peeked_code = hyphae_int64_get(peeked, &peeked_value);
	return *(const int64_t *)a == *(const int64_t *)b;
}

HYPHAE_TYPE_WITH(peeking, int64_t, .equal = peek_equal);

static int as_peeking(void *ret, const void *input, void *ctx)
{
	unsigned long *runs = ctx;

	++*runs;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

/* An equality function that reads another cell does not follow it. */
static void e09_equality_does_not_link(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	unsigned long runs = 0;
	struct hyphae_cell *b;

	peeked = source(w, 5);
	b = keep(w, hyphae_map(a, &peeking_type, as_peeking, &runs));
	put(a, 2);
	assert_int_equal(peeked_code, 0);
	assert_int_equal(peeked_value, 5);
	assert_int_equal(targets(peeked), 0);
	assert_int_equal(runs, 2);
	put(peeked, 6);
	assert_int_equal(runs, 2);
	assert_int_equal(targets(b), 0);
}

/* Text is compared as text, however it is stored. */
static void e10_strings(void **state)
{
	struct world *w = *state;
	char text[] = "mycelium";
	struct hyphae_cell *a = keep(w, hyphae_string_new(w->graph, text));
	unsigned int calls = 0;

	keep_sub(w, hyphae_subscribe(a, count_call, &calls));
	assert_int_equal(hyphae_string_set(a, "mycelium"), HYPHAE_UNCHANGED);
	text[0] = 'M'; /* the cell has its own copy */
	assert_int_equal(hyphae_string_set(a, "mycelium"), HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_string_set(a, text), 0);
	assert_int_equal(calls, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(e01_same_value),
		CASE(e02_cut_in_the_middle),
		CASE(e03_clamp),
		CASE(e04_user_equality),
		CASE(e04_creeping),
		CASE(e05_equality_disabled),
		CASE(e05_equality_disabled_derived),
		CASE(e07_nan_and_signed_zero),
		CASE(e08_padding_bytes),
		CASE(e09_equality_does_not_link),
		CASE(e10_strings),
	};

	return cmocka_run_group_tests_name("equality", tests, NULL, NULL);
}
