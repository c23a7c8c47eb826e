/* SPDX-License-Identifier: MIT */
/* The built-in types, and what HYPHAE_TYPE() makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

struct point {
	int32_t x, y;
};
HYPHAE_TYPE(point, struct point);

struct wide {
	double numbers[100];
};
HYPHAE_TYPE(wide, struct wide);

HYPHAE_TYPE(letter, char);

static void expect_printed(const struct hyphae_type *type, const void *value,
			   const char *expected)
{
	char text[64];
	int length;

	assert_non_null(type->print);
	length = type->print(value, text, sizeof(text));
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	/* As snprintf() does: cut, ended, and the full length. */
	assert_int_equal(type->print(value, text, 3), length);
	assert_int_equal(strlen(text), length < 2 ? length : 2);
	assert_int_equal(type->print(value, NULL, 0), length);
}

static void values_as_text(void **state)
{
	const int64_t number = INT64_MIN;
	const double real = 0.25;
	const bool yes = true, no = false;
	const char *const text = "mycelium";
	const struct hyphae_bytes bytes = {"abc", 3};

	(void)state;
	expect_printed(&hyphae_int64, &number, "-9223372036854775808");
	expect_printed(&hyphae_double, &real, "0.25");
	expect_printed(&hyphae_bool, &yes, "true");
	expect_printed(&hyphae_bool, &no, "false");
	expect_printed(&hyphae_string, &text, "mycelium");
	expect_printed(&hyphae_bytes, &bytes, "3 bytes");
}

static void descriptors(void **state)
{
	(void)state;
	assert_string_equal(hyphae_int64.name, "int64");
	assert_int_equal(hyphae_int64.size, 8);
	assert_string_equal(hyphae_double.name, "double");
	assert_int_equal(hyphae_double.size, 8);
	assert_string_equal(hyphae_bool.name, "bool");
	assert_int_equal(hyphae_bool.size, sizeof(bool));
	assert_string_equal(hyphae_pointer.name, "pointer");
	assert_int_equal(hyphae_pointer.size, sizeof(void *));
	assert_string_equal(hyphae_string.name, "string");
	assert_string_equal(hyphae_bytes.name, "bytes");
	assert_string_equal(point_type.name, "point");
	assert_int_equal(point_type.size, 8);
	assert_int_equal(point_type.align, 4);
	assert_int_equal(wide_type.size, 800);
	assert_false(hyphae_never_equal(&point_type, &point_type));
}

/* The extremes of each built-in type go in and come out. */
static void in_and_out(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	int64_t number = 0;
	double real = 0;
	bool flag = false;
	void *pointer = NULL;
	struct hyphae_cell *n = hyphae_int64_new(graph, INT64_MIN);
	struct hyphae_cell *d = hyphae_double_new(graph, -1e308);
	struct hyphae_cell *b = hyphae_bool_new(graph, true);
	struct hyphae_cell *p = hyphae_pointer_new(graph, &number);

	(void)state;
	assert_int_equal(hyphae_int64_get(n, &number), 0);
	assert_true(number == INT64_MIN);
	assert_int_equal(hyphae_int64_set(n, INT64_MAX), 0);
	assert_int_equal(hyphae_int64_get(n, &number), 0);
	assert_true(number == INT64_MAX);
	assert_int_equal(hyphae_double_get(d, &real), 0);
	assert_true(real == -1e308);
	assert_int_equal(hyphae_bool_get(b, &flag), 0);
	assert_true(flag);
	assert_int_equal(hyphae_bool_set(b, true), HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_bool_set(b, false), 0);
	assert_int_equal(hyphae_bool_get(b, &flag), 0);
	assert_false(flag);
	assert_int_equal(hyphae_pointer_get(p, &pointer), 0);
	assert_ptr_equal(pointer, &number);
	assert_int_equal(hyphae_pointer_set(p, NULL), 0);
	assert_int_equal(hyphae_pointer_get(p, &pointer), 0);
	assert_null(pointer);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static int set_bytes(struct hyphae_cell *cell, const void *data, size_t size)
{
	struct hyphae_bytes bytes = {(void *)(uintptr_t)data, size};

	return hyphae_cell_set(cell, &hyphae_bytes, &bytes);
}

static void owned_bytes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	char data[] = {1, 2, 0, 4};
	struct hyphae_bytes bytes = {data, sizeof(data)};
	struct hyphae_cell *cell =
		hyphae_cell_new(graph, &hyphae_bytes, &bytes);
	struct hyphae_bytes read = {NULL, 0};

	(void)state;
	assert_non_null(cell);
	data[0] = 9; /* the cell has its own */
	assert_int_equal(hyphae_cell_get(cell, &hyphae_bytes, &read), 0);
	assert_int_equal(read.size, 4);
	assert_memory_equal(read.data, "\1\2\0\4", 4);
	free(read.data);
	assert_int_equal(set_bytes(cell, "\1\2\0\4", 4), HYPHAE_UNCHANGED);
	assert_int_equal(set_bytes(cell, "\1\2\0\5", 4), 0);
	assert_int_equal(set_bytes(cell, "\1\2\0", 3), 0);
	assert_int_equal(set_bytes(cell, NULL, 0), 0);
	assert_int_equal(set_bytes(cell, "", 0), HYPHAE_UNCHANGED);
	assert_int_equal(hyphae_cell_get(cell, &hyphae_bytes, &read), 0);
	assert_int_equal(read.size, 0);
	free(read.data);
	/* So many bytes from nowhere. */
	assert_int_equal(set_bytes(cell, NULL, 4), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void strings(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell = hyphae_string_new(graph, "");
	char *text = NULL;

	(void)state;
	assert_int_equal(hyphae_string_get(cell, &text), 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(hyphae_string_set(cell, "h\xc3\xbcphae"), 0);
	assert_int_equal(hyphae_string_get(cell, &text), 0);
	assert_string_equal(text, "h\xc3\xbcphae");
	free(text);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

struct seen {
	struct point point;
	bool wrong_accessor;
};

static int look(const struct hyphae_signal *signal, void *ctx)
{
	struct seen *seen = ctx;

	seen->point = *point_of(signal);
	seen->wrong_accessor = wide_of(signal) != NULL;
	return 0;
}

static int mirror(void *ret, const void *input, void *ctx)
{
	const struct point *from = input;
	struct point *to = ret;

	(void)ctx;
	to->x = from->y;
	to->y = from->x;
	return 0;
}

static void typed_accessors(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cell =
		point_new_at(graph, (struct point){1, 2}, HYPHAE_HERE);
	struct hyphae_cell *turned =
		hyphae_map(cell, &point_type, mirror, NULL);
	struct seen seen = {{0, 0}, true};
	struct wide wide;
	struct point read;

	(void)state;
	assert_non_null(hyphae_subscribe(turned, look, &seen));
	assert_int_equal(seen.point.x, 2);
	assert_false(seen.wrong_accessor);
	assert_int_equal(point_set(cell, (struct point){3, 4}), 0);
	assert_int_equal(seen.point.x, 4);
	assert_int_equal(seen.point.y, 3);
	assert_int_equal(point_get(cell, &read), 0);
	assert_int_equal(read.y, 4);
	assert_int_equal(point_set(cell, read), HYPHAE_UNCHANGED);
	/* A cell of another type. */
	memset(&wide, 0, sizeof(wide));
	assert_int_equal(wide_set(cell, wide), -EINVAL);
	assert_int_equal(wide_get(cell, &wide), -EINVAL);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Small values and large ones that are shared from cell to cell. */
static void sizes(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *small = letter_new_at(graph, 'a', HYPHAE_HERE);
	struct wide wide, read;
	struct hyphae_cell *large;
	char held = 0;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		wide.numbers[i] = i;
	large = wide_new_at(graph, wide, HYPHAE_HERE);
	assert_int_equal(letter_set(small, 'a'), HYPHAE_UNCHANGED);
	assert_int_equal(letter_set(small, '\xff'), 0);
	assert_int_equal(letter_get(small, &held), 0);
	assert_int_equal(held, '\xff');
	assert_int_equal(wide_set(large, wide), HYPHAE_UNCHANGED);
	wide.numbers[99] = -1;
	assert_int_equal(wide_set(large, wide), 0);
	assert_int_equal(wide_get(large, &read), 0);
	assert_memory_equal(&read, &wide, sizeof(wide));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* Where a cell was made, in words. */
static void creation_site(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell_info info;
	struct hyphae_cell *cell;
	char expected[256];

	(void)state;
	cell = hyphae_int64_new(graph, 1);
	snprintf(expected, sizeof(expected), "%s:%d", __FILE__, __LINE__ - 1);
	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	assert_string_equal(info.site, expected);
	cell = hyphae_int64_new_at(graph, 1, NULL);
	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	assert_string_equal(info.site, "");
	assert_ptr_equal(info.type, &hyphae_int64);
	assert_int_equal(info.id, hyphae_cell_id(cell));
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_as_text),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(in_and_out),
		cmocka_unit_test(owned_bytes),
		cmocka_unit_test(strings),
		cmocka_unit_test(typed_accessors),
		cmocka_unit_test(sizes),
		cmocka_unit_test(creation_site),
	};

	return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
