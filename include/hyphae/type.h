/* SPDX-License-Identifier: MIT */
/*
 * Type descriptors: what a cell needs to know about the values it holds.
 *
 * A type is a static, constant object that outlives every graph which uses
 * it.  Two cells have the same type when they point at the same descriptor.
 *
 * Values of at most 8 bytes without copy and drop lie in the cell itself.
 * All others lie in an immutable block that is shared by reference count, so
 * a large value is not copied when it travels through the graph.
 */
#ifndef HYPHAE_TYPE_H
#define HYPHAE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_fanout_call;

struct hyphae_type {
	const char *name;
	size_t size;  /* bytes of one value, 1 to HYPHAE_TYPE_SIZE_MAX */
	size_t align; /* a power of two, at most 16 */

	/*
	 * Make `to` (uninitialised memory of `size` bytes) an own copy of
	 * `from`.  0, or a negative errno and `to` holds nothing.
	 * NULL: the bytes are the value.
	 */
	int (*copy)(void *to, const void *from);

	/* Give up what `value` owns.  NULL: it owns nothing. */
	void (*drop)(void *value);

	/*
	 * Are the two equal?  An equal value stops the propagation.
	 * NULL: compared byte by byte, padding included (so NaN equals
	 * itself, and 0.0 does not equal -0.0).
	 * hyphae_never_equal: every write is a change.
	 */
	bool (*equal)(const void *a, const void *b);

	uint64_t (*hash)(const void *value); /* optional */

	/* Optional: as snprintf() does, the value as text. */
	int (*print)(const void *value, char *text, size_t size);

	/*
	 * Optional: a function of the type's own around each fan-out of its
	 * cells, so that a sampling profiler shows the type in the stack.
	 * HYPHAE_TYPE() makes one.
	 */
	void (*frame)(struct hyphae_fanout_call *call);
};

#define HYPHAE_TYPE_SIZE_MAX ((size_t)1 << 30)

/* What `frame` must call, once; see HYPHAE_TYPE(). */
HYPHAE_API void hyphae_fanout_run(struct hyphae_fanout_call *call);

/* For `equal`: never the same; for cells that are triggers. */
HYPHAE_API bool hyphae_never_equal(const void *a, const void *b);

/* The built-in types and the C type of their values. */
extern HYPHAE_API const struct hyphae_type hyphae_int64;  /* int64_t */
extern HYPHAE_API const struct hyphae_type hyphae_double; /* double */
extern HYPHAE_API const struct hyphae_type hyphae_bool;	  /* bool */
extern HYPHAE_API const struct hyphae_type
	hyphae_pointer; /* void *, not owned */

/*
 * char *, NUL-terminated, never NULL.  Setting copies the text; getting
 * gives a copy to free().
 */
extern HYPHAE_API const struct hyphae_type hyphae_string;

/* Owned bytes.  Setting copies them; getting gives `data` to free(). */
struct hyphae_bytes {
	void *data;
	size_t size;
};
extern HYPHAE_API const struct hyphae_type hyphae_bytes;

/*
 * HYPHAE_TYPE(point, struct point) defines, at file scope,
 *
 *   point_type                   the descriptor; values are compared bytewise,
 *                                so padding counts: clear it, or give `equal`
 *   point_new_at(graph, v, site) a source cell; `site` is HYPHAE_HERE
 *   point_set(cell, v)           as hyphae_cell_set()
 *   point_get(cell, &v)          as hyphae_cell_get()
 *   point_of(signal)             the value that a signal carries, or NULL
 *
 * so that a value of another type is a compile error, and a cell of another
 * type is -EINVAL.  HYPHAE_TYPE_WITH() takes further members of the
 * descriptor, such as .equal = point_equal; in C++ in the order of the struct.
 *
 * For a type that several files use: HYPHAE_TYPE_DECLARE(point, struct point)
 * in a header, and in one file HYPHAE_TYPE_DEFINE(point, struct point) or
 * HYPHAE_TYPE_DEFINE_WITH().
 *
 * Needs <hyphae/cell.h> and <hyphae/subscription.h> (<hyphae/hyphae.h> has
 * them).
 */
#define HYPHAE_TYPE(name_, c_type) HYPHAE_TYPE_WITH(name_, c_type, .hash = NULL)

#define HYPHAE_TYPE_WITH(name_, c_type, ...)                                   \
	HYPHAE_TYPE_DECLARE(name_, c_type);                                    \
	HYPHAE_TYPE_DEFINE_WITH(name_, c_type, __VA_ARGS__)

#define HYPHAE_TYPE_DEFINE(name_, c_type)                                      \
	HYPHAE_TYPE_DEFINE_WITH(name_, c_type, .hash = NULL)

#define HYPHAE_TYPE_DEFINE_WITH(name_, c_type, ...)                            \
	/* Refers to its own type, so that no linker folds two of them. */     \
	__attribute__((noinline, used)) static void hyphae_fanout_##name_(     \
		struct hyphae_fanout_call *call)                               \
	{                                                                      \
		__asm__ volatile("" : : "r"(&name_##_type));                   \
		hyphae_fanout_run(call);                                       \
		__asm__ volatile("" : : : "memory"); /* no sibling call */     \
	}                                                                      \
	/* Members that are not named are NULL, which is their meaning. */     \
	_Pragma("GCC diagnostic push") _Pragma(                                \
		"GCC diagnostic ignored \"-Wmissing-field-initializers\"")     \
		HYPHAE_DESIGNATED_ const struct hyphae_type name_##_type = {   \
			.name = #name_,                                        \
			.size = sizeof(c_type),                                \
			.align = HYPHAE_ALIGNOF(c_type),                       \
			__VA_ARGS__,                                           \
			.frame = hyphae_fanout_##name_};                       \
	_Pragma("GCC diagnostic pop") extern const struct hyphae_type          \
		name_##_type

#define HYPHAE_TYPE_DECLARE(name_, c_type)                                     \
	extern const struct hyphae_type name_##_type;                          \
	HYPHAE_UNUSED static inline struct hyphae_cell *name_##_new_at(        \
		struct hyphae_graph *graph, c_type value, const char *site)    \
	{                                                                      \
		return hyphae_cell_new_at(graph, &name_##_type, &value, site); \
	}                                                                      \
	HYPHAE_UNUSED static inline int name_##_set(struct hyphae_cell *cell,  \
						    c_type value)              \
	{                                                                      \
		return hyphae_cell_set(cell, &name_##_type, &value);           \
	}                                                                      \
	HYPHAE_UNUSED static inline int name_##_get(                           \
		const struct hyphae_cell *cell, c_type *ret_value)             \
	{                                                                      \
		return hyphae_cell_get(cell, &name_##_type, ret_value);        \
	}                                                                      \
	HYPHAE_UNUSED static inline const c_type *name_##_of(                  \
		const struct hyphae_signal *signal)                            \
	{                                                                      \
		return signal->type == &name_##_type                           \
			       ? HYPHAE_CAST_(const c_type *, signal->value)   \
			       : NULL;                                         \
	}                                                                      \
	extern const struct hyphae_type name_##_type

#ifdef __cplusplus
}
#endif

#endif
