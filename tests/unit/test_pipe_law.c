/* SPDX-License-Identifier: MIT */
/*
 * Random pipes: as one cell and as a cell for each stage they tell the same,
 * and call the same functions with the same values in the same order.
 *
 * Two graphs are given the same writes.  All that happens in one is written
 * down as text, and the texts are compared after each step.
 *
 * SEED=n starts from another seed.
 */
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

#include "base/alloc.h"
#include "tests/lib/run.h"

#if defined(__SANITIZE_ADDRESS__)
#define PROGRAMS 4001
#else
#define PROGRAMS 20011
#endif
#define STEPS 40
#define STAGES_MAX 9
#define STORY_MAX (1 << 16)

/* ---- types of each kind; a value of each stands for a number --------------- */

/* Equal but for the last two bits. */
static bool about(const void *a, const void *b)
{
	return *(const int64_t *)a / 4 == *(const int64_t *)b / 4;
}
HYPHAE_TYPE_WITH(rough, int64_t, .equal = about);

struct large {
	int64_t n;
	char filler[40];
};
HYPHAE_TYPE(large, struct large);

struct always {
	int64_t n;
};
HYPHAE_TYPE_WITH(always, struct always, .equal = hyphae_never_equal);

static const struct hyphae_type *const types[] = {
	&hyphae_int64, &hyphae_string, &rough_type, &large_type, &always_type,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static int64_t number(const struct hyphae_type *type, const void *value)
{
	if (type == &hyphae_string)
		return strtoll(*(char *const *)value, NULL, 10);
	return *(const int64_t *)value; /* it comes first */
}

static int express(const struct hyphae_type *type, void *ret, int64_t n)
{
	char text[32];

	if (type != &hyphae_string) {
		*(int64_t *)ret = n;
		return 0;
	}
	snprintf(text, sizeof(text), "%lld", (long long)n);
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

/* ---- stages ------------------------------------------------------------------ */

enum kind { MAP, FILTER, TAP, SCAN, TAKE, SKIP, TAKE_WHILE, SKIP_WHILE, KINDS };

struct recipe {
	enum kind kind;
	const struct hyphae_type *in, *out;
	int64_t factor, modulus, n;
	bool inclusive;
};

struct program {
	const struct hyphae_type *type; /* of the source */
	bool event, lazy;
	unsigned int flags;
	struct recipe stages[STAGES_MAX];
	int count;
};

/* One of the two: the graph, and what happened in it. */
struct side {
	struct hyphae_graph *graph;
	struct hyphae_cell *source, *input, *out;
	struct hyphae_subscription *sub;
	char *story;
	size_t length;
	bool ended;
	struct stage {
		struct side *side;
		const struct recipe *recipe;
		int number;
	} stages[STAGES_MAX];
};

__attribute__((format(printf, 2, 3))) static void tell(struct side *side,
						       const char *format, ...)
{
	va_list args;

	if (side->length + 64 > STORY_MAX)
		return;
	va_start(args, format);
	side->length +=
		(size_t)vsnprintf(side->story + side->length, 64, format, args);
	va_end(args);
}

static int64_t called(const struct stage *stage, const void *value)
{
	int64_t n = number(stage->recipe->in, value);

	/*
	 * When a take has ended the pipe, cells before it are let go of when
	 * the propagation is over; until then what is left of a batch may still
	 * come to them.
	 */
	if (!stage->side->ended)
		tell(stage->side, "%d(%lld) ", stage->number, (long long)n);
	return n;
}

static int do_map(void *ret, const void *value, void *ctx)
{
	const struct stage *stage = ctx;
	const struct recipe *r = stage->recipe;
	int64_t n = called(stage, value);

	if (n % 11 == r->n)
		return r->n & 1 ? -EIO : hyphae_error(-ERANGE, "%d", (int)n);
	if (r->n && n % 23 == r->n)
		return (int)r->n; /* above 0: no result of a map */
	return express(r->out, ret, n * r->factor % r->modulus);
}

static int do_filter(const void *value, void *ctx)
{
	const struct stage *stage = ctx;
	int64_t n = called(stage, value);

	if (n % 13 == stage->recipe->n)
		return -EDOM;
	return n % stage->recipe->factor != 0;
}

static void do_tap(const void *value, void *ctx)
{
	called(ctx, value);
}

static int do_scan(void *ret, const void *acc, const void *value, void *ctx)
{
	const struct stage *stage = ctx;
	const struct recipe *r = stage->recipe;
	int64_t n = called(stage, value);

	if (n % 7 == r->n)
		return -EOVERFLOW;
	return express(r->out, ret, (number(r->out, acc) * 3 + n) % r->modulus);
}

static struct hyphae_pipe *add(struct hyphae_pipe *p, struct stage *stage)
{
	const struct recipe *r = stage->recipe;
	_Alignas(16) unsigned char initial[64] = {0};

	switch (r->kind) {
	case MAP:
		return hyphae_pipe_map(p, r->out, do_map, stage);
	case FILTER:
		return hyphae_pipe_filter(p, do_filter, stage);
	case TAP:
		return hyphae_pipe_tap(p, do_tap, stage);
	case SCAN:
		express(r->out, initial, r->factor);
		p = hyphae_pipe_scan(p, r->out, initial, do_scan, stage);
		if (r->out == &hyphae_string)
			free(*(char **)initial);
		return p;
	case TAKE:
		return hyphae_pipe_take(p, (size_t)r->factor * 3);
	case SKIP:
		return hyphae_pipe_skip(p, (size_t)r->n);
	case TAKE_WHILE:
		return hyphae_pipe_take_while(p, do_filter, r->inclusive,
					      stage);
	default:
		return hyphae_pipe_skip_while(p, do_filter, stage);
	}
}

/* ---- the two sides -------------------------------------------------------------- */

/* Before the pipe: 17 is an error of the input. */
static int check(void *ret, const void *value, void *ctx)
{
	const struct program *program = ctx;
	int64_t n = number(program->type, value);

	return n == 17 ? -EBADMSG : express(program->type, ret, n);
}

static int listen(const struct hyphae_signal *signal, void *ctx)
{
	struct side *side = ctx;

	side->ended |= signal->terminal;
	if (signal->kind == HYPHAE_VALUE)
		tell(side, "=%lld ",
		     (long long)number(signal->type, signal->value));
	else if (signal->kind == HYPHAE_COMPLETE)
		tell(side, "=| ");
	else
		tell(side, "=E%d%s%s ", signal->code, signal->message,
		     signal->terminal ? "!" : "");
	return 0;
}

static void follow(struct side *side)
{
	side->sub = hyphae_subscribe(side->out, listen, side);
}

static void open_side(struct side *side, struct program *program, bool fused)
{
	_Alignas(16) unsigned char first[64] = {0};
	struct hyphae_pipe *p;

	side->graph = hyphae_graph_new(program->flags);
	express(program->type, first, 1);
	side->source =
		program->event
			? hyphae_event_new(side->graph, program->type)
			: hyphae_cell_new(side->graph, program->type, first);
	if (program->type == &hyphae_string)
		free(*(char **)first);
	side->input = hyphae_map(side->source, program->type, check, program);
	p = hyphae_pipe(side->input);
	for (int i = 0; i < program->count; i++) {
		side->stages[i] = (struct stage){side, &program->stages[i], i};
		p = add(p, &side->stages[i]);
	}
	side->out =
		fused ? hyphae_materialize(p) : hyphae_materialize_unfused(p);
	assert_non_null(side->out);
	follow(side);
}

/* What the cell holds now. */
static void look(struct side *side)
{
	_Alignas(16) unsigned char held[64] = {0};
	struct hyphae_cell_info info;
	int r;

	assert_int_equal(hyphae_cell_info(side->out, &info), 0);
	r = hyphae_cell_get(side->out, info.type, held);
	tell(side, "[%d %lld%s%s]\n", r,
	     r ? 0LL : (long long)number(info.type, held),
	     info.ended ? " ended" : "", info.event ? " event" : "");
	if (!r && info.type == &hyphae_string)
		free(*(char **)held);
}

static int put(struct side *side, const struct hyphae_type *type, int64_t n)
{
	_Alignas(16) unsigned char value[64] = {0};
	int r;

	express(type, value, n);
	r = hyphae_cell_set(side->source, type, value);
	if (type == &hyphae_string)
		free(*(char **)value);
	return r;
}

/* ---- programs ------------------------------------------------------------------- */

static uint64_t chance;

static uint64_t roll(uint64_t sides)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (chance >> 33) % sides;
}

/* Some have nothing but maps and filters of words: op/pipe_words.c. */
static void write_program(struct program *program)
{
	bool words = roll(4) == 0;
	const struct hyphae_type *type = types[words ? 0 : roll(TYPES)];
	static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD,
					     HYPHAE_EAGER};

	*program = (struct program){.type = type, .event = roll(3) == 0};
	program->lazy = roll(4) == 0;
	program->flags = kinds[roll(3)] | (program->lazy ? HYPHAE_LAZY : 0);
	program->count = 1 + (int)roll(STAGES_MAX);
	for (int i = 0; i < program->count; i++) {
		struct recipe *r = &program->stages[i];

		r->kind = (enum kind)roll(KINDS);
		if (roll(3) == 0)
			r->kind = MAP;
		if (words && r->kind != MAP)
			r->kind = FILTER;
		r->in = r->out = type;
		if (!words && (r->kind == MAP || r->kind == SCAN))
			r->out = types[roll(TYPES)];
		type = r->out;
		r->factor = 2 + (int64_t)roll(4);
		r->modulus = 5 + (int64_t)roll(40);
		r->n = (int64_t)roll(16);
		r->inclusive = roll(2);
		if (r->kind == SKIP)
			r->n %= 4;
	}
}

struct action {
	enum { SET, BATCH, COMPLETE, FAIL, LEAVE } what;
	int64_t numbers[3];
};

static struct action choose(void)
{
	struct action a = {.what = SET};
	uint64_t at = roll(100);

	for (int i = 0; i < 3; i++)
		a.numbers[i] = (int64_t)roll(24);
	if (at < 15)
		a.what = BATCH;
	else if (at < 17)
		a.what = COMPLETE;
	else if (at < 19)
		a.what = FAIL;
	else if (at < 26)
		a.what = LEAVE;
	return a;
}

static void act(struct side *side, const struct program *program,
		const struct action *a)
{
	switch (a->what) {
	case SET:
		put(side, program->type, a->numbers[0]);
		break;
	case BATCH:
		assert_int_equal(hyphae_batch_begin(side->graph), 0);
		for (int i = 0; i < 3; i++)
			put(side, program->type, a->numbers[i]);
		if (a->numbers[0] == 0)
			hyphae_cell_complete(side->source);
		assert_int_equal(hyphae_batch_end(side->graph), 0);
		break;
	case COMPLETE:
		hyphae_cell_complete(side->source);
		break;
	case FAIL:
		hyphae_cell_fail(side->source, -EPIPE, "broken");
		break;
	case LEAVE:
		hyphae_unsubscribe(side->sub);
		follow(side);
		break;
	}
	look(side);
}

static void print_program(const struct program *program, uint64_t seed)
{
	static const char *const names[] = {"map",	  "filter",    "tap",
					    "scan",	  "take",      "skip",
					    "take_while", "skip_while"};

	print_message("program of %s%s%s, flags %u, chance %llu:",
		      program->type->name, program->event ? " event" : "",
		      program->lazy ? ", lazy" : "", program->flags,
		      (unsigned long long)seed);
	for (int i = 0; i < program->count; i++)
		print_message(" %s(%s)", names[program->stages[i].kind],
			      program->stages[i].out->name);
	print_message("\n");
}

static void close_side(struct side *side)
{
	struct hyphae_graph_counts counts;

	hyphae_unsubscribe(side->sub);
	assert_int_equal(hyphae_cell_unref(side->out), 0);
	assert_int_equal(hyphae_cell_unref(side->input), 0);
	assert_int_equal(hyphae_cell_unref(side->source), 0);
	assert_int_equal(hyphae_graph_counts(side->graph, &counts), 0);
	assert_int_equal(counts.cells, 0);
	assert_int_equal(counts.subscriptions, 0);
	assert_int_equal(hyphae_graph_free(side->graph), 0);
	side->length = 0;
	side->ended = false;
}

static void run_program(struct side *sides)
{
	uint64_t seed = chance;
	struct program program;

	write_program(&program);
	for (int i = 0; i < 2; i++) {
		open_side(&sides[i], &program, i == 0);
		look(&sides[i]);
	}
	for (int step = 0; step < STEPS; step++) {
		struct action a = choose();

		for (int i = 0; i < 2; i++)
			act(&sides[i], &program, &a);
		if (strcmp(sides[0].story, sides[1].story) != 0) {
			print_program(&program, seed);
			print_message("--- fused:\n%s--- unfused:\n%s",
				      sides[0].story, sides[1].story);
			fail();
		}
	}
	for (int i = 0; i < 2; i++)
		close_side(&sides[i]);
}

static void fused_is_unfused(void **state)
{
	struct side sides[2] = {{.graph = NULL}};
	long live = hy_alloc_live();

	(void)state;
	chance = test_seed(71);
	for (int i = 0; i < 2; i++) {
		sides[i].story = malloc(STORY_MAX);
		assert_non_null(sides[i].story);
	}
	for (int i = 0; i < PROGRAMS; i++)
		run_program(sides);
	for (int i = 0; i < 2; i++)
		free(sides[i].story);
	assert_int_equal(hy_alloc_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused_is_unfused),
	};

	return cmocka_run_group_tests_name("law of pipes", tests, NULL, NULL);
}
