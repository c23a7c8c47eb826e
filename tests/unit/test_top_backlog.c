/* SPDX-License-Identifier: MIT */
/* Items between the thread that takes them and the one that decodes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "bpf/backlog.h"

#define ITEMS 100003u /* more than fit into one part */

static struct backlog backlog;
static unsigned char item[65536];
static uint32_t expected, wrong;

static int rounds;

static uint32_t size_of(uint32_t n)
{
	return 4 + n * 2654435761u % 97;
}

static void add(uint32_t n)
{
	unsigned char bytes[128];

	memset(bytes, (int)(n & 0xff), sizeof(bytes));
	memcpy(bytes, &n, sizeof(n));
	if (backlog_add(&backlog, n % 3, bytes, size_of(n)))
		wrong++;
}

/* Everything in order, and whole. */
static void check(void *ctx, uint32_t kind, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t n;

	(void)ctx;
	memcpy(&n, data, sizeof(n));
	if (n != expected || kind != n % 3 || size != size_of(n) ||
	    (size > 4 && bytes[size - 1] != (n & 0xff)) || (uintptr_t)data % 8)
		wrong++;
	expected++;
}

static int open_it(void **test)
{
	(void)test;
	backlog_open(&backlog, 1 << 20);
	expected = wrong = 0;
	return 0;
}

static int close_it(void **test)
{
	(void)test;
	backlog_close(&backlog);
	return 0;
}

static void what_is_added_comes_in_order(void **test)
{
	uint32_t n;

	(void)test;
	for (n = 0; n < ITEMS; n++) {
		add(n);
		if (n % 30011 == 7)
			backlog_take(&backlog, check, NULL, NULL);
	}
	backlog_take(&backlog, check, NULL, NULL);
	backlog_take(&backlog, check, NULL, NULL);
	assert_int_equal(expected, ITEMS);
	assert_int_equal(wrong, 0);
}

static void it_has_a_limit(void **test)
{
	uint32_t n = 0;

	(void)test;
	assert_true(backlog_has_room(&backlog));
	while (backlog_has_room(&backlog))
		add(n++);
	assert_true(n > 1000 && n < 100000);
	backlog_take(&backlog, check, NULL, NULL);
	assert_true(backlog_has_room(&backlog));
	assert_int_equal(expected, n);
}

static bool after_two(void *ctx)
{
	(void)ctx;
	return rounds++ >= 2;
}

/* What is left waits for the next time. */
static void it_can_be_enough(void **test)
{
	uint32_t n = 0;

	(void)test;
	rounds = 0;
	while (n < ITEMS)
		add(n++);
	assert_false(backlog_take(&backlog, check, after_two, NULL));
	assert_true(expected > 0 && expected < n);
	assert_true(backlog_take(&backlog, check, NULL, NULL));
	assert_int_equal(expected, n);
	assert_int_equal(wrong, 0);
}

static void large_items(void **test)
{
	(void)test;
	assert_int_equal(backlog_add(&backlog, 0, item, 65536), 0);
	assert_int_equal(backlog_add(&backlog, 0, item, 65537), -ENOMEM);
}

static void *add_all(void *ctx)
{
	uint32_t n;

	(void)ctx;
	for (n = 0; n < ITEMS; n++)
		add(n);
	return NULL;
}

static void two_threads(void **test)
{
	pthread_t thread;

	(void)test;
	assert_int_equal(pthread_create(&thread, NULL, add_all, NULL), 0);
	while (expected < ITEMS && !wrong)
		backlog_take(&backlog, check, NULL, NULL);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_it, close_it)
	const struct CMUnitTest tests[] = {
		TEST(what_is_added_comes_in_order),
		TEST(it_has_a_limit),
		TEST(it_can_be_enough),
		TEST(large_items),
		TEST(two_threads),
	};

	return cmocka_run_group_tests_name("top: backlog", tests, NULL, NULL);
}
