/* SPDX-License-Identifier: MIT */
/*
 * What the semantic tests share: a world (a graph and everything a case made
 * in it), nodes (derived cells that count their runs) and logs (subscribers
 * that write down what they were told, as text).
 *
 * Each case runs in three worlds: thread-safe, single-threaded and eager.
 * When it is over the fixture gives all handles back and checks that nothing
 * is left, so a leak fails the case that made it.
 *
 * Callbacks run inside the library, which no longjmp may cross: they write
 * down what they see, and the case asserts afterwards.
 */
#ifndef HYPHAE_TESTS_SEMANTIC_FIXTURE_H
#define HYPHAE_TESTS_SEMANTIC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hyphae/hyphae.h>

enum world_kind {
	THREAD_SAFE = 1,
	SINGLE_THREAD,
	EAGER,
};

struct held;
struct node;
struct log;

struct world {
	struct hyphae_graph *graph;
	enum world_kind kind;
	bool eager;
	struct held *held;   /* the handles to give back, oldest first */
	struct node *nodes;  /* newest first */
	struct log *logs;    /* newest first */
	unsigned long clock; /* runs of all nodes */

	/* What the graph's problem function was told. */
	unsigned int problems;
	int problem_code;
	char problem[1024];
};

/* ret = f(in[0..count-1]); 0 or a negative errno. */
typedef int (*node_fn)(struct node *node, const int64_t *in, size_t count,
		       int64_t *ret);

/* A derived int64 cell that counts. */
struct node {
	struct world *world;
	struct hyphae_cell *cell;
	node_fn fn;
	unsigned long runs; /* since it was made, or since begin() */
	unsigned long rank; /* world.clock at the last run */
	unsigned int drops; /* of its context: 1 when the cell is gone */
	void *arg;	    /* for the case */
	int code;	    /* for the case */
	struct node *next;
};

/* A subscriber's turn, after the signal was logged. */
typedef int (*log_hook)(struct log *log, const struct hyphae_signal *signal);

struct log {
	struct world *world;
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	char *text; /* "1,2,C" */
	size_t length;
	size_t space;
	unsigned long calls;
	unsigned int depth;   /* calls that have not returned */
	unsigned int deepest; /* the most of them */
	unsigned int drops;   /* of its context */
	log_hook hook;
	void *arg;	/* for the case */
	int64_t number; /* for the case */
	int code;	/* for the case */
	struct log *next;
};

/* A one-line node function: `in`, `count` and `node` are at hand. */
#define FN(name_, expression)                                                  \
	static int name_(struct node *node, const int64_t *in, size_t count,   \
			 int64_t *ret)                                         \
	{                                                                      \
		(void)node;                                                    \
		(void)count;                                                   \
		(void)in;                                                      \
		*ret = (expression);                                           \
		return 0;                                                      \
	}                                                                      \
	struct semantic_##name_##_needs_semicolon

int world_setup(void **state);
int world_teardown(void **state);

/* The entries of a case in the table of tests. */
#define CASE_IN(fn, text, kind)                                                \
	{                                                                      \
#fn ", " text, fn, world_setup, world_teardown,                \
			(void *)(uintptr_t)(kind)                              \
	}
#define CASE(fn)                                                               \
	CASE_IN(fn, "thread-safe", THREAD_SAFE),                               \
		CASE_IN(fn, "single-thread", SINGLE_THREAD),                   \
		CASE_IN(fn, "eager", EAGER)
#define CASE_EAGER(fn) CASE_IN(fn, "eager", EAGER)

/* A source; the fixture gives the reference back. */
struct hyphae_cell *source(struct world *world, int64_t value);

/* Have the fixture give back a handle that the case made by itself. */
struct hyphae_cell *keep(struct world *world, struct hyphae_cell *cell);
struct hyphae_subscription *keep_sub(struct world *world,
				     struct hyphae_subscription *subscription);

/* derive(world, fn, input, ...): a map of one input, a combine of several. */
#define derive(world, fn, ...)                                                 \
	derive_from(world, fn, (struct hyphae_cell *[]){__VA_ARGS__},          \
		    sizeof((struct hyphae_cell *[]){__VA_ARGS__}) /            \
			    sizeof(struct hyphae_cell *))
struct node *derive_from(struct world *world, node_fn fn,
			 struct hyphae_cell *const *inputs, size_t count);

/*
 * The same without assertions, for use in a callback: NULL and errno.  The
 * case owns the reference.
 */
struct node *derive_inside(struct world *world, node_fn fn,
			   struct hyphae_cell *const *inputs, size_t count);

/* Give a handle back now instead of at the end. */
void let_go(struct world *world, struct hyphae_cell *cell);
void stop(struct log *log);

/* Subscribe and log: "4,7", "C" for completion, "E(-5)" for an error. */
struct log *follow(struct world *world, struct hyphae_cell *cell);
struct log *follow_with(struct world *world, struct hyphae_cell *cell,
			log_hook hook, void *arg, unsigned int flags);

/* A log without a subscription; with log_subscribe() from a callback. */
struct log *log_new(struct world *world, log_hook hook, void *arg);
struct hyphae_subscription *
log_subscribe(struct log *log, struct hyphae_cell *cell, unsigned int flags);

/* Append an entry, as printf() does. */
__attribute__((format(printf, 2, 3))) void note(struct log *log,
						const char *format, ...);

/* The runs of all nodes are counted from here on. */
void begin(struct world *world);

/* Write a value that must be a change. */
void put(struct hyphae_cell *cell, int64_t value);

/* The value of a cell that must have one. */
int64_t value(const struct hyphae_cell *cell);

size_t targets(const struct hyphae_cell *cell);
size_t live_cells(const struct world *world);
size_t live_subs(const struct world *world);

#define assert_log(log, expected) assert_string_equal((log)->text, expected)

#define begin_batch(world)                                                     \
	assert_int_equal(hyphae_batch_begin((world)->graph), 0)
#define end_batch(world) assert_int_equal(hyphae_batch_end((world)->graph), 0)

/*
 * Run `body(arg)` on a thread with a stack of `bytes` (more under a
 * sanitizer, whose frames are larger).  The body returns NULL, or what went
 * wrong, which fails the case.
 */
void on_small_stack(size_t bytes, const char *(*body)(void *arg), void *arg);

/* In such a body: leave it with the text of the condition. */
#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			return HYPHAE_HERE ": " #condition " does not hold";   \
	} while (0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
