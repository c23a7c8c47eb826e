/* SPDX-License-Identifier: MIT */
#include "core/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- the built-in types ---------------------------------------------- */

/* FNV-1a, its high bits folded in. */
uint64_t hy_hash_bytes(const void *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) *
		       0x100000001b3;
	return hash ^ hash >> 32;
}

static int print_int64(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%lld", (long long)*(const int64_t *)value);
}

static int print_double(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%.17g", *(const double *)value);
}

static int print_bool(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%s",
			*(const bool *)value ? "true" : "false");
}

static int print_pointer(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%p", *(void *const *)value);
}

static int copy_string(void *to, const void *from)
{
	const char *text = *(const char *const *)from;
	char *copy = text ? strdup(text) : NULL;

	if (!copy)
		return text ? -ENOMEM : -EINVAL;
	*(char **)to = copy;
	return 0;
}

static void drop_string(void *value)
{
	free(*(char **)value);
}

static bool equal_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b) == 0;
}

static uint64_t hash_string(const void *value)
{
	const char *text = *(char *const *)value;

	return hy_hash_bytes(text, strlen(text));
}

static int print_string(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%s", *(char *const *)value);
}

static int copy_bytes(void *to, const void *from)
{
	const struct hyphae_bytes *bytes = from;
	struct hyphae_bytes copy = {NULL, bytes->size};

	if (bytes->size) {
		if (!bytes->data)
			return -EINVAL;
		copy.data = malloc(bytes->size);
		if (!copy.data)
			return -ENOMEM;
		memcpy(copy.data, bytes->data, bytes->size);
	}
	*(struct hyphae_bytes *)to = copy;
	return 0;
}

static void drop_bytes(void *value)
{
	free(((struct hyphae_bytes *)value)->data);
}

static bool equal_bytes(const void *a, const void *b)
{
	const struct hyphae_bytes *x = a, *y = b;

	return x->size == y->size &&
	       (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
}

static uint64_t hash_bytes(const void *value)
{
	const struct hyphae_bytes *bytes = value;

	return hy_hash_bytes(bytes->data, bytes->size);
}

static int print_bytes(const void *value, char *text, size_t size)
{
	return snprintf(text, size, "%zu bytes",
			((const struct hyphae_bytes *)value)->size);
}

#define PLAIN(c_type) .size = sizeof(c_type), .align = _Alignof(c_type)

const struct hyphae_type hyphae_int64 = {
	.name = "int64", PLAIN(int64_t), .print = print_int64};
const struct hyphae_type hyphae_double = {
	.name = "double", PLAIN(double), .print = print_double};
const struct hyphae_type hyphae_bool = {
	.name = "bool", PLAIN(bool), .print = print_bool};
const struct hyphae_type hyphae_pointer = {
	.name = "pointer", PLAIN(void *), .print = print_pointer};
const struct hyphae_type hyphae_string = {.name = "string",
					  PLAIN(char *),
					  .copy = copy_string,
					  .drop = drop_string,
					  .equal = equal_string,
					  .hash = hash_string,
					  .print = print_string};
const struct hyphae_type hyphae_bytes = {.name = "bytes",
					 PLAIN(struct hyphae_bytes),
					 .copy = copy_bytes,
					 .drop = drop_bytes,
					 .equal = equal_bytes,
					 .hash = hash_bytes,
					 .print = print_bytes};

bool hyphae_never_equal(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return false;
}

int hy_type_check(const struct hyphae_type *type)
{
	if (!type || !type->name || type->size == 0 ||
	    type->size > HYPHAE_TYPE_SIZE_MAX || type->align == 0 ||
	    type->align > 16 || (type->align & (type->align - 1)))
		return -EINVAL;
	/* Owned values that are copied bytewise would be dropped twice. */
	return type->drop && !type->copy ? -EINVAL : 0;
}

/* ---- boxes ------------------------------------------------------------ */

struct hy_box *hy_box_new(struct hy_graph *g, const struct hyphae_type *type)
{
	struct hy_box *box =
		hy_zalloc_in(g ? g->region : NULL, sizeof(*box) + type->size);

	if (box) {
		box->refs = 1;
		box->bytes = (uint32_t)type->size;
	}
	return box;
}

/* Steady writes need two boxes beside the one in the cell: see log.c. */
#define SPARES 2
#define SPARE_BYTES 4096 /* of larger ones one must do */

struct hy_box *hy_box_take(struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	struct hy_box *box = cold->spare;

	if (box) {
		cold->spare = box->next_spare;
		memset(box->payload, 0, c->type->size);
	} else {
		box = hy_box_new(hy_graph_of(c), c->type);
		if (!box)
			return NULL;
	}
	box->refs = 1;
	box->home = c->id ? hy_cell_handle(c) : NULL; /* else publish() */
	return box;
}

void hy_box_spare_new(struct hy_cell *c, struct hy_box *box)
{
	box->refs = 0;
	box->next_spare = hy_cold_of(c)->spare;
	hy_cold_of(c)->spare = box;
}

void hy_box_spare(struct hy_cell *c, struct hy_box *box)
{
	struct hy_box *spare = hy_cold_of(c)->spare;
	unsigned int count = 0;

	for (; spare; spare = spare->next_spare)
		count++;
	if (count >= (c->type->size > SPARE_BYTES ? 1 : SPARES)) {
		hy_free(box);
		return;
	}
	hy_box_spare_new(c, box);
}

void hy_box_free_spares(struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	struct hy_box *box = cold ? cold->spare : NULL, *next;

	for (; box; box = next) {
		next = box->next_spare;
		hy_free(box);
	}
	if (cold)
		cold->spare = NULL;
}

void hy_box_unref(struct hy_graph *g, const struct hyphae_type *type,
		  struct hy_box *box)
{
	struct hy_unlocked saved;

	if (__atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (type->drop) {
		saved = hy_unlocked_begin(g);
		type->drop(box->payload);
		hy_unlocked_end(g, saved);
	}
	hy_free(box);
}

void hy_box_put(struct hy_graph *g, const struct hyphae_type *type,
		struct hy_box *box)
{
	struct hy_cell *home;

	if (__atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (type->drop) {
		struct hy_unlocked saved = hy_guard_begin(g);

		type->drop(box->payload);
		hy_guard_end(g, saved);
	}
	home = hy_cell(box->home);
	if (home && !(home->flags & F_DEAD) && home->flags & F_BOXED &&
	    home->type->size == box->bytes)
		hy_box_spare(home, box);
	else
		hy_free(box);
}

/* The user's copy, or ours. */
static int copy_value(struct hy_graph *g, const struct hyphae_type *type,
		      void *to, const void *from)
{
	struct hy_unlocked saved;
	int r;

	if (!type->copy) {
		memcpy(to, from, type->size);
		return 0;
	}
	saved = hy_unlocked_begin(g);
	r = type->copy(to, from);
	hy_unlocked_end(g, saved);
	return r > 0 ? -EINVAL : r < 0 ? hy_failure_code(r) : 0;
}

int hy_word_make(struct hy_graph *g, const struct hyphae_type *type,
		 const void *value, struct hy_box *given, uint64_t *ret_word)
{
	struct hy_box *box = given;
	int r;

	if (!hy_type_boxed(type)) {
		*ret_word = hy_word_of(type, value);
		return 0;
	}
	if (!box)
		box = hy_box_new(g, type);
	if (!box)
		return -ENOMEM;
	r = copy_value(g, type, box->payload, value);
	if (r) {
		if (!given)
			hy_free(box);
		return r;
	}
	*ret_word = (uintptr_t)box;
	return 0;
}

int hy_word_copy(struct hy_graph *g, const struct hyphae_type *type,
		 uint64_t word, void *ret)
{
	if (hy_type_boxed(type))
		return copy_value(g, type, ret, hy_box_of(word)->payload);
	memcpy(ret, &word, type->size);
	return 0;
}

/* ---- errors ----------------------------------------------------------- */

/*
 * Errors of a plain errno without a message are all the same: they are made
 * here, live for ever and need no memory.  So a compute function can always
 * fail.
 */
#define PLAIN_ERRORS 134 /* the errnos of Linux, and 0 */

static struct plain_error {
	uint32_t refs; /* not counted */
	int code;
	char message[8];
} plain_errors[PLAIN_ERRORS];

_Static_assert(offsetof(struct plain_error, message) ==
		       offsetof(struct hy_error, message),
	       "a plain error is an error");

__attribute__((constructor(101))) static void init_plain_errors(void)
{
	for (int i = 0; i < PLAIN_ERRORS; i++)
		plain_errors[i].code = -i;
}

static struct hy_error *plain_error(int code)
{
	return (struct hy_error *)&plain_errors[-code];
}

static bool is_plain(const struct hy_error *error)
{
	uintptr_t at = (uintptr_t)error;

	return at >= (uintptr_t)plain_errors &&
	       at < (uintptr_t)(plain_errors + PLAIN_ERRORS);
}

struct hy_error *hy_error_new(int code, const char *message)
{
	return hy_error_new_in(NULL, code, message);
}

struct hy_error *hy_error_new_in(struct hy_region *region, int code,
				 const char *message)
{
	size_t length = message ? strlen(message) : 0;
	struct hy_error *error;

	if (!length && code > -PLAIN_ERRORS)
		return plain_error(code);
	error = hy_alloc_in(region, sizeof(*error) + length + 1);
	if (!error)
		return plain_error(-ENOMEM);
	error->refs = 1;
	error->code = code;
	memcpy(error->message, message ? message : "", length + 1);
	return error;
}

struct hy_error *hy_error_ref(struct hy_error *error)
{
	if (!is_plain(error))
		__atomic_add_fetch(&error->refs, 1, __ATOMIC_RELAXED);
	return error;
}

void hy_error_unref(struct hy_error *error)
{
	if (!error || is_plain(error) ||
	    __atomic_sub_fetch(&error->refs, 1, __ATOMIC_ACQ_REL))
		return;
	hy_free(error);
}

bool hy_error_same(const struct hy_error *a, const struct hy_error *b)
{
	return a == b ||
	       (a->code == b->code && strcmp(a->message, b->message) == 0);
}
