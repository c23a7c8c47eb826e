/* SPDX-License-Identifier: MIT */
/* Sets of numbers (base/bits.h), against an array of bool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

#define MOST 20000

static bool model[MOST];
static uint64_t bits[MOST];

static size_t model_next(size_t n, size_t from)
{
	while (from < n && !model[from])
		from++;
	return from < n ? from : n;
}

static void expect_same(size_t n)
{
	size_t i = 0;

	for (size_t from = 0; from <= n + 1; from += 1 + from / 50)
		assert_int_equal(hy_bits_next(bits, n, from),
				 model_next(n, from));
	for (; i < n; i++) {
		size_t next = model_next(n, i);

		i = hy_bits_next(bits, n, i);
		assert_int_equal(i, next);
	}
}

static void toggle(size_t n, size_t i)
{
	model[i] = !model[i];
	if (model[i])
		hy_bits_add(bits, n, i);
	else
		hy_bits_remove(bits, n, i);
}

/* At random, then emptied again: no word is used behind its end. */
static void against_a_model(size_t n)
{
	size_t words = hy_bits_words(n);

	memset(bits, 0, sizeof(bits));
	memset(model, 0, sizeof(model));
	bits[words] = 0x5a5a;
	expect_same(n);
	for (int round = 0; round < 40; round++) {
		for (int k = 0; k < 1 << round % 10; k++)
			toggle(n, (size_t)rand() % n);
		toggle(n, 0);
		toggle(n, n - 1);
		expect_same(n);
	}
	for (size_t i = 0; i < n; i++)
		if (model[i])
			toggle(n, i);
	expect_same(n);
	for (size_t w = 0; w < words; w++)
		assert_int_equal(bits[w], 0);
	assert_int_equal(bits[words], 0x5a5a);
}

static void sets_of_all_sizes(void **state)
{
	static const size_t sizes[] = {1,   2,	 63,   64,   65,   127,	  128,
				       129, 500, 4095, 4096, 4097, 12345, MOST};

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		against_a_model(sizes[i]);
}

static void words_of_a_set(void **state)
{
	(void)state;
	assert_int_equal(hy_bits_words(1), 1);
	assert_int_equal(hy_bits_words(64), 1);
	assert_int_equal(hy_bits_words(65), 3);
	assert_int_equal(hy_bits_words(4096), 65);
	assert_int_equal(hy_bits_words(1 << 20), 16384 + 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_of_all_sizes),
		cmocka_unit_test(words_of_a_set),
	};

	return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
