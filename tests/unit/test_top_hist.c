/* SPDX-License-Identifier: MIT */
/* Histograms of durations: how far off a quantile may be, and no further. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "bpf/hist.h"
#include "run.h"

#define VALUES 20011 /* a prime */

static uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Of any magnitude. */
static uint64_t next_value(void)
{
	return next_random() >> (16 + next_random() % 48);
}

static void assert_near(uint64_t told, uint64_t true_value)
{
	uint64_t off =
		told > true_value ? told - true_value : true_value - told;

	assert_true(off * 32 <= true_value);
}

static void small_values_are_exact(void **test)
{
	uint64_t value;

	(void)test;
	for (value = 0; value < 32; value++)
		assert_int_equal(hist_value(hist_bucket(value)), value);
}

static void a_bucket_is_at_most_3_2_percent_off(void **test)
{
	int i;

	(void)test;
	state = test_seed(41);
	for (i = 0; i < VALUES; i++) {
		uint64_t value = next_value();

		assert_near(hist_value(hist_bucket(value)), value);
	}
}

static void buckets_ascend_and_have_no_gap(void **test)
{
	unsigned int bucket = 0, next;
	uint64_t value;

	(void)test;
	for (value = 0; value < 1 << 20; value++) {
		next = hist_bucket(value);
		assert_true(next == bucket || next == bucket + 1);
		bucket = next;
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket((1ull << 48) - 1), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(1ull << 48), HIST_BUCKETS - 1);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_agree_with_a_sorted_list(void **test)
{
	static const double fractions[] = {0.01, .5, .9, .99, 1};
	static uint64_t values[VALUES];
	struct hist hist = {0};
	uint64_t told[5];
	int i;

	(void)test;
	state = test_seed(43);
	for (i = 0; i < VALUES; i++) {
		values[i] = next_value();
		assert_int_equal(hist_add(&hist, hist_bucket(values[i]), 1), 0);
	}
	qsort(values, VALUES, sizeof(values[0]), ascending);
	hist_quantiles(&hist, fractions, 5, values[VALUES - 1], told);
	for (i = 0; i < 5; i++) {
		double rank = fractions[i] * VALUES;
		int at = (int)rank - (rank == (int)rank);

		assert_near(told[i], values[at]);
		assert_true(told[i] <= values[VALUES - 1]);
	}
	hist_done(&hist);
}

static void an_empty_one_tells_0(void **test)
{
	static const double fractions[] = {.5, .9, .99};
	struct hist hist = {0};
	uint64_t told[3] = {7, 7, 7};

	(void)test;
	hist_quantiles(&hist, fractions, 3, 0, told);
	assert_int_equal(told[0] | told[1] | told[2], 0);
	hist_clear(&hist);
	assert_int_equal(hist_count(&hist, 100), 0);
	hist_done(&hist);
}

static void merging_adds_and_clearing_keeps_nothing(void **test)
{
	struct hist a = {0}, b = {0};

	(void)test;
	assert_int_equal(hist_add(&a, hist_bucket(1000), 3), 0);
	assert_int_equal(hist_add(&a, hist_bucket(5), 2), 0);
	assert_int_equal(hist_add(&b, hist_bucket(1000), 4), 0);
	assert_int_equal(hist_add(&b, hist_bucket(1000000), 1), 0);
	assert_int_equal(hist_merge(&a, &b), 0);
	assert_int_equal(hist_count(&a, hist_bucket(1000)), 7);
	assert_int_equal(hist_count(&a, hist_bucket(5)), 2);
	assert_int_equal(hist_count(&a, hist_bucket(1000000)), 1);
	assert_int_equal(hist_count(&b, hist_bucket(1000)), 4);
	hist_clear(&a);
	assert_int_equal(hist_count(&a, hist_bucket(1000)), 0);
	assert_int_equal(hist_count(&a, hist_bucket(5)), 0);
	hist_done(&a);
	hist_done(&b);
}

static void a_full_bucket_stays_full(void **test)
{
	struct hist hist = {0};

	(void)test;
	assert_int_equal(hist_add(&hist, 17, UINT32_MAX - 1), 0);
	assert_int_equal(hist_add(&hist, 17, 5), 0);
	assert_true(hist_count(&hist, 17) == UINT32_MAX);
	hist_done(&hist);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(a_bucket_is_at_most_3_2_percent_off),
		cmocka_unit_test(buckets_ascend_and_have_no_gap),
		cmocka_unit_test(quantiles_agree_with_a_sorted_list),
		cmocka_unit_test(an_empty_one_tells_0),
		cmocka_unit_test(merging_adds_and_clearing_keeps_nothing),
		cmocka_unit_test(a_full_bucket_stays_full),
	};

	return cmocka_run_group_tests_name("top: histograms", tests, NULL,
					   NULL);
}
