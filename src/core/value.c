/* SPDX-License-Identifier: MIT */
#include "core/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- the built-in types ---------------------------------------------- */

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
const struct hyphae_type hyphae_string = {
	.name = "string",    PLAIN(char *),	    .copy = copy_string,
	.drop = drop_string, .equal = equal_string, .print = print_string};
const struct hyphae_type hyphae_bytes = {
	.name = "bytes",    PLAIN(struct hyphae_bytes), .copy = copy_bytes,
	.drop = drop_bytes, .equal = equal_bytes,	.print = print_bytes};

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

struct hy_box *hy_box_new(const struct hyphae_type *type)
{
	struct hy_box *box = hy_zalloc(sizeof(*box) + type->size);

	if (box)
		box->refs = 1;
	return box;
}

struct hy_box *hy_box_take(struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	struct hy_box *box = cold->spare;

	if (!box)
		return hy_box_new(c->type);
	cold->spare = NULL;
	memset(box->payload, 0, c->type->size);
	box->refs = 1;
	return box;
}

void hy_box_unref(const struct hyphae_type *type, struct hy_box *box)
{
	if (__atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (type->drop)
		type->drop(box->payload);
	hy_free(box);
}

void hy_box_put(struct hy_graph *g, struct hy_cell *c,
		const struct hyphae_type *type, struct hy_box *box)
{
	if (__atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (type->drop) {
		struct hy_graph *saved = hy_guard_begin(g);

		type->drop(box->payload);
		hy_guard_end(g, saved);
	}
	if (c && !hy_cold_of(c)->spare)
		hy_cold_of(c)->spare = box;
	else
		hy_free(box);
}

int hy_word_make(struct hy_graph *g, const struct hyphae_type *type,
		 const void *value, uint64_t *ret_word)
{
	struct hy_box *box;
	int r = 0;

	if (!hy_type_boxed(type)) {
		*ret_word = hy_word_of(type, value);
		return 0;
	}
	box = hy_box_new(type);
	if (!box)
		return -ENOMEM;
	if (type->copy) {
		struct hy_thread *t = hy_thread_of(g);
		struct hy_graph *saved = t->guard;
		uint32_t busy = g->busy;

		/* A shared graph is busy anyway; nobody else writes this. */
		if (!hy_shared(g))
			g->busy |= BUSY_GUARD;
		t->guard = g;
		r = type->copy(box->payload, value);
		t->guard = saved;
		if (!hy_shared(g))
			g->busy = busy;
	} else {
		memcpy(box->payload, value, type->size);
	}
	if (r) {
		hy_free(box);
		return r < 0 ? r : -EINVAL;
	}
	*ret_word = (uintptr_t)box;
	return 0;
}

int hy_word_copy(const struct hyphae_type *type, uint64_t word, void *ret)
{
	const void *from = &word;
	int r;

	if (hy_type_boxed(type))
		from = hy_box_of(word)->payload;
	if (!type->copy) {
		memcpy(ret, from, type->size);
		return 0;
	}
	r = type->copy(ret, from);
	return r > 0 ? -EINVAL : r;
}

/* ---- errors ----------------------------------------------------------- */

/* What a failure becomes when there is no memory to say so; immortal. */
static struct hy_error no_memory = {.refs = 1, .code = -ENOMEM, .message = ""};

struct hy_error *hy_error_new(int code, const char *message)
{
	size_t length = message ? strlen(message) : 0;
	struct hy_error *error = hy_alloc(sizeof(*error) + length + 1);

	if (!error)
		return hy_error_ref(&no_memory);
	error->refs = 1;
	error->code = code;
	memcpy(error->message, message ? message : "", length + 1);
	return error;
}

struct hy_error *hy_error_ref(struct hy_error *error)
{
	__atomic_add_fetch(&error->refs, 1, __ATOMIC_RELAXED);
	return error;
}

void hy_error_unref(struct hy_error *error)
{
	if (!error || __atomic_sub_fetch(&error->refs, 1, __ATOMIC_ACQ_REL))
		return;
	hy_free(error);
}

static const char *message_of(const struct hy_error *error)
{
	return error == &no_memory ? "" : error->message;
}

bool hy_error_same(const struct hy_error *a, const struct hy_error *b)
{
	return a == b || (a->code == b->code &&
			  strcmp(message_of(a), message_of(b)) == 0);
}
