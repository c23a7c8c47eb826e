/* SPDX-License-Identifier: MIT */
/* The operators of a program in the library. */
#include "model_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types; a value of each stands for a number --------------------------- */

/* Equal but for the last two bits. */
static bool about(const void *a, const void *b)
{
	return *(const int64_t *)a / 4 == *(const int64_t *)b / 4;
}
HYPHAE_TYPE_WITH(ms_rough, int64_t, .equal = about);

struct large {
	int64_t n;
	char filler[40];
};
HYPHAE_TYPE(ms_large, struct large);

struct always {
	int64_t n;
};
HYPHAE_TYPE_WITH(ms_always, struct always, .equal = hyphae_never_equal);

static bool equal(int64_t a, int64_t b)
{
	return a == b;
}

static bool near(int64_t a, int64_t b)
{
	return a / 4 == b / 4;
}

static bool never(int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	return false;
}

const struct ms_type ms_types[] = {
	{&hyphae_int64, equal, equal},	 {&hyphae_string, equal, equal},
	{&ms_rough_type, near, near},	 {&ms_large_type, equal, equal},
	{&ms_always_type, never, equal},
};
const size_t ms_type_count = sizeof(ms_types) / sizeof(ms_types[0]);

int64_t ms_number(const struct hyphae_type *type, const void *value)
{
	if (type == &hyphae_string)
		return strtoll(*(char *const *)value, NULL, 10);
	return *(const int64_t *)value; /* it comes first */
}

int ms_express(const struct hyphae_type *type, void *ret, int64_t number)
{
	char text[32];

	if (type != &hyphae_string) {
		*(int64_t *)ret = number;
		return 0;
	}
	snprintf(text, sizeof(text), "%lld", (long long)number);
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

void ms_forget(const struct hyphae_type *type, void *value)
{
	if (type == &hyphae_string)
		free(*(char **)value);
}

/* ---- functions that count their calls --------------------------------------- */

static int64_t called(struct ms_real_node *n, const void *value)
{
	int64_t number = ms_number(n->type, value);

	ms_called(&n->calls, number);
	return number;
}

/* With a message, which has to be freed. */
static int trouble(int code)
{
	return code < 0 ? hyphae_error(code, "error %d", code) : code;
}

/* 0: the number is the result; else an error. */
static int give(const struct ms_real_node *n, void *ret, int r, int64_t number)
{
	return r ? trouble(r) : ms_express(n->type, ret, number);
}

static int do_map(void *ret, const void *value, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t number = 0;
	int r = ms_fn_map(&n->recipe, called(n, value), &number);

	return give(n, ret, r, number);
}

static int do_filter(const void *value, void *ctx)
{
	struct ms_real_node *n = ctx;

	return trouble(ms_fn_filter(&n->recipe, called(n, value)));
}

static void do_tap(const void *value, void *ctx)
{
	called(ctx, value);
}

static void do_finalize(enum hyphae_end_kind kind, void *ctx)
{
	struct ms_real_node *n = ctx;

	if (n->end_count < 4)
		n->ends[n->end_count++] = (int)kind;
}

static int do_catch(void *ret, int code, const char *message, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t number = 0;
	int r;

	(void)message;
	ms_called(&n->calls, code);
	r = ms_fn_catch(&n->recipe, code, &number);
	return give(n, ret, r, number);
}

static int do_map_error(int code, const char *message, void *ctx)
{
	struct ms_real_node *n = ctx;

	(void)message;
	ms_called(&n->calls, code);
	return ms_fn_error(&n->recipe, code);
}

static bool do_same(const void *last, const void *value, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t before = ms_number(n->type, last);
	int64_t now = ms_number(n->type, value);

	ms_called(&n->calls, before * 64 + now);
	return ms_fn_same(&n->recipe, before, now);
}

static int do_fold(void *ret, const void *acc, const void *value, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t number = 0;
	int r = ms_fn_fold(&n->recipe, ms_number(n->type, acc),
			   called(n, value), &number);

	return give(n, ret, r, number);
}

static int do_many(void *ret, const void *const *values, size_t count,
		   void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t numbers[2 * MS_QUEUE], number = 0;
	int r;

	for (size_t i = 0; i < count && i < 2 * MS_QUEUE; i++)
		numbers[i] = called(n, values[i]);
	r = ms_fn_many(&n->recipe, numbers, count, &number);
	return give(n, ret, r, number);
}

/* ---- the machine ---------------------------------------------------------------- */

static int64_t state_of(const void *value, void *ctx)
{
	const struct ms_real_node *n = ctx;

	return ms_number(n->type, value) % MS_STATES;
}

static int do_guard(const void *from, const void *to, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t a = ms_number(n->type, from), b = ms_number(n->type, to);

	ms_called(&n->calls, 1000 + a * 64 + b);
	return ms_fn_guard(&n->recipe, a, b);
}

static int do_handler(void *ret, const void *from, const void *to, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t a = ms_number(n->type, from), b = ms_number(n->type, to);
	int64_t number = 0;
	int r = ms_fn_handler(&n->recipe, a, b, &number);

	ms_called(&n->calls, 3000 + a * 64 + b);
	return give(n, ret, r, number);
}

static void do_exit(const void *from, void *ctx)
{
	struct ms_real_node *n = ctx;

	ms_called(&n->calls, 2000 + ms_number(n->type, from));
}

static void do_enter(const void *to, void *ctx)
{
	struct ms_real_node *n = ctx;

	ms_called(&n->calls, 4000 + ms_number(n->type, to));
}

static void do_invalid(const void *from, const void *to, void *ctx)
{
	struct ms_real_node *n = ctx;

	ms_called(&n->calls, 5000 + ms_number(n->type, from) * 64 +
				     ms_number(n->type, to));
}

const struct hyphae_transition ms_table[] = {
	{0, 1, NULL, do_handler},
	{1, 2, do_guard, do_handler},
	{2, 0, do_guard, NULL},
	{HYPHAE_ANY_STATE, 1, do_guard, do_handler},
	{0, HYPHAE_ANY_STATE, NULL, NULL},
};
const size_t ms_table_size = sizeof(ms_table) / sizeof(ms_table[0]);

const struct hyphae_state ms_state_table[] = {
	{0, do_exit, NULL},
	{1, do_exit, do_enter},
	{HYPHAE_ANY_STATE, NULL, do_enter},
};
const size_t ms_state_table_size =
	sizeof(ms_state_table) / sizeof(ms_state_table[0]);

static const struct hyphae_machine machine = {
	.state_of = state_of,
	.transitions = ms_table,
	.transition_count = sizeof(ms_table) / sizeof(ms_table[0]),
	.states = ms_state_table,
	.state_count = sizeof(ms_state_table) / sizeof(ms_state_table[0]),
	.on_invalid = do_invalid,
};

/* ---- constructors -------------------------------------------------------------- */

/* A value of the program's type, for a constructor that copies it. */
struct argument {
	_Alignas(16) unsigned char bytes[64];
	const struct hyphae_type *type;
};

static struct argument argument(const struct ms_real_node *n, int number)
{
	struct argument arg = {.type = n->type};

	ms_express(n->type, arg.bytes, number);
	return arg;
}

/* int64 as the program's type, so that all can be inputs of all. */
static int do_convert(void *ret, const void *value, void *ctx)
{
	const struct ms_real_node *n = ctx;

	return ms_express(n->type, ret, *(const int64_t *)value % MS_NUMBERS);
}

static struct hyphae_cell *converted(struct ms_real_node *n,
				     struct hyphae_cell *cell)
{
	struct hyphae_cell *ret = hyphae_map(cell, n->type, do_convert, n);

	hyphae_cell_unref(cell);
	return ret;
}

static int do_next(void *ret, void *ctx)
{
	struct ms_real_node *n = ctx;
	int64_t number = 0;
	int r = ms_fn_next(&n->recipe, &n->calls, &number);

	return r == 1 && ms_express(n->type, ret, number) ? -ENOMEM : r;
}

static struct hyphae_cell *make_array(struct hyphae_graph *g,
				      struct ms_real_node *n)
{
	_Alignas(16) unsigned char values[64 * MS_QUEUE] = {0};
	size_t size = n->type->size;
	struct hyphae_cell *cell;

	for (int i = 0; i < n->recipe.a; i++)
		ms_express(n->type, values + (size_t)i * size,
			   n->recipe.b + i / 2);
	cell = hyphae_from_array(g, n->type, values, (size_t)n->recipe.a,
				 n->recipe.ns);
	for (int i = 0; i < n->recipe.a; i++)
		ms_forget(n->type, values + (size_t)i * size);
	return cell;
}

static struct hyphae_cell *
make_source(struct hyphae_graph *g, struct ms_real_node *n, const void *value)
{
	const struct ms_recipe *r = &n->recipe;

	switch (r->op) {
	case MS_CELL:
		return hyphae_cell_new(g, n->type, value);
	case MS_EVENT:
		return hyphae_event_new(g, n->type);
	case MS_INTERVAL:
		return converted(n,
				 hyphae_interval(g, r->ns, (unsigned int)r->c));
	case MS_AFTER:
		return converted(n, hyphae_after(g, r->ns));
	default:
		if (r->c > MS_ITERATES)
			return hyphae_from_iterator(g, n->type, r->ns, do_next,
						    n);
		return make_array(g, n);
	}
}

static struct hyphae_cell *make_timed(struct ms_real_node *n,
				      struct hyphae_cell *in)
{
	const struct ms_recipe *r = &n->recipe;

	switch (r->op) {
	case MS_DEBOUNCE:
		return hyphae_debounce(in, r->ns);
	case MS_THROTTLE:
		return hyphae_throttle(in, r->ns, (unsigned int)r->a);
	case MS_AUDIT:
		return hyphae_audit(in, r->ns);
	case MS_SAMPLE_TIME:
		return hyphae_sample_time(in, r->ns);
	case MS_BUFFER_TIME:
		return hyphae_buffer_time(in, r->ns, (size_t)r->a, n->type,
					  do_many, n);
	case MS_DELAY:
		return hyphae_delay(in, r->ns, (size_t)r->a,
				    (enum hyphae_overflow)r->b);
	default:
		return hyphae_timeout(in, r->ns);
	}
}

static struct hyphae_cell *make_many(struct ms_real_node *n,
				     struct hyphae_cell *const *in)
{
	const struct ms_recipe *r = &n->recipe;
	size_t count = (size_t)r->count;

	switch (r->op) {
	case MS_TAKE_UNTIL:
		return hyphae_take_until(in[0], in[1]);
	case MS_SKIP_UNTIL:
		return hyphae_skip_until(in[0], in[1]);
	case MS_COMBINE:
		return hyphae_combine(in, count, n->type, do_many, n);
	case MS_ZIP:
		return hyphae_zip(in, count, n->type, do_many, n, (size_t)r->a,
				  (enum hyphae_overflow)r->b);
	case MS_MERGE:
		return hyphae_merge(in, count);
	case MS_LATEST:
		return hyphae_with_latest_from(in[0], in + 1, count - 1,
					       n->type, do_many, n);
	case MS_SAMPLE:
		return hyphae_sample(in[0], in[1]);
	case MS_CONCAT:
		return hyphae_concat(in, count);
	case MS_RACE:
		return hyphae_race(in, count);
	default:
		return converted(n, hyphae_group(in, count));
	}
}

static struct hyphae_cell *make_limit(struct ms_real_node *n,
				      struct hyphae_cell *in, const void *value)
{
	const struct ms_recipe *r = &n->recipe;
	size_t a = (size_t)r->a;

	switch (r->op) {
	case MS_TAKE:
		return hyphae_take(in, a);
	case MS_FIRST:
		return hyphae_first(in);
	case MS_ELEMENT:
		return hyphae_element_at(in, a);
	case MS_SKIP:
		return hyphae_skip(in, a);
	case MS_TAKE_WHILE:
		return hyphae_take_while(in, do_filter, r->b, n);
	case MS_SKIP_WHILE:
		return hyphae_skip_while(in, do_filter, n);
	case MS_LAST:
		return hyphae_last(in);
	case MS_LAST_OR:
		return hyphae_last_or(in, n->type, value);
	default:
		return hyphae_finalize(in, do_finalize, n);
	}
}

static struct hyphae_cell *
make_stateful(struct ms_real_node *n, struct hyphae_cell *in, const void *value)
{
	const struct ms_recipe *r = &n->recipe;
	size_t a = (size_t)r->a;

	switch (r->op) {
	case MS_SCAN:
		return hyphae_scan(in, n->type, value, do_fold, n);
	case MS_REDUCE:
		return hyphae_reduce(in, n->type, value, do_fold, n);
	case MS_PAIRWISE:
		return hyphae_pairwise(in, n->type, do_many, n);
	case MS_WINDOW:
		return hyphae_window(in, a, n->type, do_many, n);
	case MS_BUFFER:
		return hyphae_buffer_count(in, a, n->type, do_many, n);
	case MS_MACHINE:
		return hyphae_state_transition(in, n->type, &machine,
					       r->a < 0 ? NULL : value, n);
	default:
		return make_limit(n, in, value);
	}
}

static struct hyphae_cell *make_one(struct ms_real_node *n,
				    struct hyphae_cell *in, const void *value)
{
	const struct ms_recipe *r = &n->recipe;

	switch (r->op) {
	case MS_MAP:
		return hyphae_map(in, n->type, do_map, n);
	case MS_FILTER:
		return hyphae_filter(in, do_filter, n);
	case MS_TAP:
		return hyphae_tap(in, do_tap, n);
	case MS_CATCH:
		return hyphae_catch_error(in, do_catch, n);
	case MS_MAP_ERROR:
		return hyphae_map_error(in, do_map_error, n);
	case MS_UNWRAP:
		return hyphae_unwrap_or(in, n->type, value);
	case MS_SAME_BY:
		return hyphae_distinct_until_changed_by(in, do_same, n);
	case MS_DEDUPED:
		return hyphae_deduped(in);
	case MS_DISTINCT:
		return hyphae_distinct(in, (size_t)r->a);
	case MS_HOLD:
		return hyphae_hold(in, n->type, r->a < 0 ? NULL : value);
	case MS_CHANGES:
		return hyphae_changes(in);
	case MS_SHARE:
		return hyphae_share(in);
	default:
		return make_stateful(n, in, value);
	}
}

bool ms_real_add(struct ms_real *real, int node, const struct ms_recipe *recipe)
{
	struct ms_real_node *n = &real->nodes[node];
	struct hyphae_cell *in[MS_INPUTS] = {NULL};
	bool folds = recipe->op == MS_SCAN || recipe->op == MS_REDUCE;
	struct argument arg;

	*n = (struct ms_real_node){.recipe = *recipe, .type = real->type};
	arg = argument(n, folds ? recipe->b : recipe->a);
	for (int i = 0; i < recipe->count; i++)
		in[i] = real->nodes[recipe->in[i]].cell;
	if (recipe->count == 0)
		n->cell = make_source(real->graph, n, arg.bytes);
	else if (ms_kinds[recipe->op].time)
		n->cell = make_timed(n, in[0]);
	else if (recipe->count > 1)
		n->cell = make_many(n, in);
	else
		n->cell = make_one(n, in[0], arg.bytes);
	ms_forget(n->type, arg.bytes);
	return n->cell != NULL;
}
