/* SPDX-License-Identifier: MIT */
/* The fixture of the semantic tests; see fixture.h. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held {
	struct hyphae_cell *cell;
	struct hyphae_subscription *subscription;
	struct held *next;
};

static void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static void on_problem(const struct hyphae_problem *problem, void *ctx)
{
	struct world *world = ctx;

	world->problems++;
	world->problem_code = problem->code;
	snprintf(world->problem, sizeof(world->problem), "%s",
		 problem->message);
}

int world_setup(void **state)
{
	struct world *world = zalloc(sizeof(*world));
	unsigned int flags = 0;

	world->kind = (enum world_kind)(uintptr_t)*state;
	if (world->kind == SINGLE_THREAD)
		flags = HYPHAE_SINGLE_THREAD;
	if (world->kind == EAGER) {
		flags = HYPHAE_EAGER;
		world->eager = true;
	}
	world->graph = hyphae_graph_new(flags);
	*state = world;
	if (!world->graph)
		return -1;
	return hyphae_graph_on_problem(world->graph, on_problem, world);
}

static void hold(struct world *world, struct held item)
{
	struct held **end = &world->held;
	struct held *held = zalloc(sizeof(*held));

	*held = item;
	while (*end)
		end = &(*end)->next;
	*end = held;
}

static void give_back(struct held *held)
{
	if (held->cell)
		assert_int_equal(hyphae_cell_unref(held->cell), 0);
	if (held->subscription) {
		/* It may have ended by itself. */
		int r = hyphae_unsubscribe(held->subscription);

		assert_true(r == 0 || r == -ESTALE);
	}
}

static void release_all(struct world *world)
{
	struct held *held = world->held;

	while (held) {
		struct held *next = held->next;

		give_back(held);
		free(held);
		held = next;
	}
	world->held = NULL;
}

static void free_nodes(struct world *world)
{
	struct node *node = world->nodes;

	while (node) {
		struct node *next = node->next;

		assert_int_equal(node->drops, 1);
		free(node);
		node = next;
	}
}

static void free_logs(struct world *world)
{
	struct log *log = world->logs;

	while (log) {
		struct log *next = log->next;

		if (log->cell)
			assert_int_equal(log->drops, 1);
		assert_int_equal(log->depth, 0);
		free(log->text);
		free(log);
		log = next;
	}
}

int world_teardown(void **state)
{
	struct world *world = *state;

	assert_int_equal(hyphae_graph_check_idle(world->graph), 0);
	release_all(world);
	assert_int_equal(live_cells(world), 0);
	assert_int_equal(live_subs(world), 0);
	assert_int_equal(hyphae_graph_check_idle(world->graph), 0);
	assert_int_equal(hyphae_graph_free(world->graph), 0);
	free_nodes(world);
	free_logs(world);
	free(world);
	return 0;
}

struct hyphae_cell *keep(struct world *world, struct hyphae_cell *cell)
{
	assert_non_null(cell);
	hold(world, (struct held){.cell = cell});
	return cell;
}

struct hyphae_subscription *keep_sub(struct world *world,
				     struct hyphae_subscription *subscription)
{
	assert_non_null(subscription);
	hold(world, (struct held){.subscription = subscription});
	return subscription;
}

struct hyphae_cell *source(struct world *world, int64_t initial)
{
	return keep(world, hyphae_int64_new(world->graph, initial));
}

static int node_run(struct node *node, const int64_t *in, size_t count,
		    void *ret)
{
	node->runs++;
	node->rank = ++node->world->clock;
	return node->fn(node, in, count, ret);
}

static int node_map(void *ret, const void *input, void *ctx)
{
	return node_run(ctx, input, 1, ret);
}

static int node_combine(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	int64_t in[64] = {0};
	size_t i;

	if (count > 64)
		return -E2BIG;
	for (i = 0; i < count; i++)
		in[i] = *(const int64_t *)inputs[i];
	return node_run(ctx, in, count, ret);
}

static void node_dropped(void *data)
{
	struct node *node = data;

	node->drops++;
}

struct node *derive_inside(struct world *world, node_fn fn,
			   struct hyphae_cell *const *inputs, size_t count)
{
	struct node *node = zalloc(sizeof(*node));

	node->world = world;
	node->fn = fn;
	if (count == 1)
		node->cell =
			hyphae_map(inputs[0], &hyphae_int64, node_map, node);
	else
		node->cell = hyphae_combine(inputs, count, &hyphae_int64,
					    node_combine, node);
	if (!node->cell ||
	    hyphae_cell_own(node->cell, node, node_dropped) < 0) {
		free(node);
		return NULL;
	}
	node->next = world->nodes;
	world->nodes = node;
	return node;
}

struct node *derive_from(struct world *world, node_fn fn,
			 struct hyphae_cell *const *inputs, size_t count)
{
	struct node *node = derive_inside(world, fn, inputs, count);

	assert_non_null(node);
	keep(world, node->cell);
	return node;
}

static void forget(struct world *world, struct held item)
{
	struct held **at = &world->held;

	while (*at && ((*at)->cell != item.cell ||
		       (*at)->subscription != item.subscription))
		at = &(*at)->next;
	assert_non_null(*at);
	struct held *held = *at;

	*at = held->next;
	free(held);
}

void let_go(struct world *world, struct hyphae_cell *cell)
{
	forget(world, (struct held){.cell = cell});
	assert_int_equal(hyphae_cell_unref(cell), 0);
}

void stop(struct log *log)
{
	forget(log->world, (struct held){.subscription = log->subscription});
	assert_int_equal(hyphae_unsubscribe(log->subscription), 0);
}

void note(struct log *log, const char *format, ...)
{
	char entry[128];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(entry, sizeof(entry), format, args);
	va_end(args);
	if (log->length + (size_t)length + 2 > log->space) {
		log->space = 2 * (log->space + sizeof(entry));
		log->text = realloc(log->text, log->space);
		if (!log->text)
			abort();
	}
	log->length += (size_t)sprintf(log->text + log->length, "%s%s",
				       log->length ? "," : "", entry);
}

static int log_signal(const struct hyphae_signal *signal, void *ctx)
{
	struct log *log = ctx;
	int r = 0;

	log->calls++;
	if (++log->depth > log->deepest)
		log->deepest = log->depth;
	if (signal->kind == HYPHAE_VALUE && signal->type == &hyphae_string)
		note(log, "%s", hyphae_string_of(signal));
	else if (signal->kind == HYPHAE_VALUE)
		note(log, "%lld", (long long)hyphae_int64_of(signal));
	else if (signal->kind == HYPHAE_COMPLETE)
		note(log, "C");
	else
		note(log, signal->terminal ? "E(%d)!" : "E(%d)", signal->code);
	if (log->hook)
		r = log->hook(log, signal);
	log->depth--;
	return r;
}

static void log_dropped(void *ctx)
{
	struct log *log = ctx;

	log->drops++;
}

struct log *log_new(struct world *world, log_hook hook, void *arg)
{
	struct log *log = zalloc(sizeof(*log));

	log->world = world;
	log->text = zalloc(1);
	log->space = 1;
	log->hook = hook;
	log->arg = arg;
	log->next = world->logs;
	world->logs = log;
	return log;
}

struct hyphae_subscription *
log_subscribe(struct log *log, struct hyphae_cell *cell, unsigned int flags)
{
	log->cell = cell;
	log->subscription = hyphae_subscribe_with(cell, log_signal, log,
						  log_dropped, flags);
	return log->subscription;
}

struct log *follow_with(struct world *world, struct hyphae_cell *cell,
			log_hook hook, void *arg, unsigned int flags)
{
	struct log *log = log_new(world, hook, arg);

	keep_sub(world, log_subscribe(log, cell, flags));
	return log;
}

struct log *follow(struct world *world, struct hyphae_cell *cell)
{
	return follow_with(world, cell, NULL, NULL, 0);
}

void begin(struct world *world)
{
	struct node *node;

	for (node = world->nodes; node; node = node->next) {
		node->runs = 0;
		node->rank = 0;
	}
	world->clock = 0;
}

void put(struct hyphae_cell *cell, int64_t to)
{
	assert_int_equal(hyphae_int64_set(cell, to), 0);
}

int64_t value(const struct hyphae_cell *cell)
{
	int64_t held = INT64_MIN;

	assert_int_equal(hyphae_int64_get(cell, &held), 0);
	return held;
}

size_t targets(const struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(cell, &info), 0);
	return info.targets;
}

static struct hyphae_graph_counts counts(const struct world *world)
{
	struct hyphae_graph_counts c;

	assert_int_equal(hyphae_graph_counts(world->graph, &c), 0);
	return c;
}

size_t live_cells(const struct world *world)
{
	return counts(world).cells;
}

size_t live_subs(const struct world *world)
{
	return counts(world).subscriptions;
}

struct thread_body {
	const char *(*body)(void *arg);
	void *arg;
	const char *failure;
};

static void *run_body(void *data)
{
	struct thread_body *thread = data;

	thread->failure = thread->body(thread->arg);
	return NULL;
}

void on_small_stack(size_t bytes, const char *(*body)(void *arg), void *arg)
{
	struct thread_body thread = {.body = body, .arg = arg};
	pthread_attr_t attr;
	pthread_t id;

	if (SANITIZED)
		bytes *= 4;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
	assert_int_equal(pthread_create(&id, &attr, run_body, &thread), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	pthread_attr_destroy(&attr);
	if (thread.failure)
		fail_msg("%s", thread.failure);
}
