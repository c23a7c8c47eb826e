/* SPDX-License-Identifier: MIT */
/* Boxes and errors: the shared, immutable things that cells point at. */
#ifndef HY_VALUE_H
#define HY_VALUE_H

#include "core/sync.h"

/* 0, or -EINVAL for a descriptor that cannot be. */
int hy_type_check(const struct hyphae_type *type);

/* For values whose bytes are what is compared. */
uint64_t hy_hash_bytes(const void *bytes, size_t size);

static inline bool hy_type_boxed(const struct hyphae_type *type)
{
	return type->size > sizeof(uint64_t) || type->copy || type->drop;
}

/* The flags that a cell of the type has for good. */
static inline uint32_t hy_type_flags(const struct hyphae_type *type)
{
	return (hy_type_boxed(type) ? F_BOXED : 0) |
	       (type->equal ? F_EQUAL : 0);
}

/*
 * A zeroed box for a value of the type with one reference, or NULL; of the
 * graph, or, without one, of no graph yet.
 */
struct hy_box *hy_box_new(struct hy_graph *g, const struct hyphae_type *type);

/* A spare box of the cell (zeroed) if it has one, else a new one. */
struct hy_box *hy_box_take(struct hy_cell *c);

/* Keep an empty box (refs 0) for the cell's next values, or free it. */
void hy_box_spare(struct hy_cell *c, struct hy_box *box);
void hy_box_free_spares(struct hy_cell *c);

/* The same for one of the two that a new cell begins with, of any size. */
void hy_box_spare_new(struct hy_cell *c, struct hy_box *box);

static inline void hy_box_ref(struct hy_box *box)
{
	__atomic_add_fetch(&box->refs, 1, __ATOMIC_RELAXED);
}

/*
 * Give up a reference; the lock must not be held.  A graph that is NULL does
 * not learn that the type's drop runs; so in hy_word_make() of copy.
 */
void hy_box_unref(struct hy_graph *g, const struct hyphae_type *type,
		  struct hy_box *box);

/*
 * The same with the lock held; it is let go of while the type's drop runs.
 * The memory goes back to the cell that made the box, if it is still there.
 */
void hy_box_put(struct hy_graph *g, const struct hyphae_type *type,
		struct hy_box *box);

/*
 * Make a word (inline, or a box: `box`, or a new one) of a user's value.
 * Calls type->copy: the lock must not be held.  `box` is taken, except that
 * the caller still has it when this fails.
 */
int hy_word_make(struct hy_graph *g, const struct hyphae_type *type,
		 const void *value, struct hy_box *box, uint64_t *ret_word);

/* Copy the value in `word` out to the user; the lock must not be held. */
int hy_word_copy(struct hy_graph *g, const struct hyphae_type *type,
		 uint64_t word, void *ret);

static inline uint64_t hy_word_of(const struct hyphae_type *type,
				  const void *value)
{
	uint64_t word = 0;

	__builtin_memcpy(&word, value, type->size);
	return word;
}

/* The value that a word is, or points at. */
static inline const void *hy_word_value(const struct hyphae_type *type,
					const uint64_t *word)
{
	return hy_type_boxed(type) ? hy_box_of(*word)->payload
				   : (const void *)word;
}

/* The opposite: `value` lies in a cell, or in a box. */
static inline uint64_t hy_word_at(const struct hyphae_type *type,
				  const void *value)
{
	if (hy_type_boxed(type))
		return (uintptr_t)container_of(value, struct hy_box, payload);
	return *(const uint64_t *)value;
}

/* What an operator keeps beyond a wave: a reference if it is a box. */
static inline uint64_t hy_word_ref(const struct hyphae_type *type,
				   uint64_t word)
{
	if (hy_type_boxed(type))
		hy_box_ref(hy_box_of(word));
	return word;
}

/* Give it up; the lock is held, and let go of while a drop function runs. */
static inline void hy_word_put(struct hy_graph *g,
			       const struct hyphae_type *type, uint64_t word)
{
	if (hy_type_boxed(type))
		hy_box_put(g, type, hy_box_of(word));
}

/*
 * What a function's negative result stands for: a code, and the text that it
 * gave to hyphae_error(), or "" (borrowed, until the next hyphae_error()).
 */
int hy_failure(int result, const char **ret_message);
int hy_failure_code(int result);
/*
 * The sentence that tells a problem function: "WHO returned error -5
 * (Input/output error): MESSAGE", and `rest`.  Returns the code.
 */
#define HY_FAILURE_TEXT_MAX (192 + HYPHAE_NAME_MAX + HYPHAE_MESSAGE_MAX)
int hy_failure_text(char *text, size_t size, const char *who, int result,
		    const char *rest);

/*
 * An error with one reference; when there is no memory that of -ENOMEM.  In
 * the memory of a graph, or of none.
 */
struct hy_error *hy_error_new(int code, const char *message);
struct hy_error *hy_error_new_in(struct hy_region *region, int code,
				 const char *message);
struct hy_error *hy_error_ref(struct hy_error *error);
void hy_error_unref(struct hy_error *error);
bool hy_error_same(const struct hy_error *a, const struct hy_error *b);

#endif
