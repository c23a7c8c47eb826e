// SPDX-License-Identifier: MIT
/*
 * prog_scripts ACTION COUNT...: what the scripts in probes/ are shown.
 *
 * Builds two graphs, prints "ready", waits for a line on stdin, performs the
 * actions in order, prints "done" and waits for the end of stdin.
 *
 *   sets N      dial is set N times to a new value: dial, double and sum fire
 *   repeats N   dial is set N times to the value that it has
 *   diamonds N  tap, in an eager graph, is set N times: left and right fire
 *               and join behind them fires twice
 *   batches N   N batches that set dial 3 times and knob twice
 *   slow N MS   lever is set N times; its subscriber takes MS milliseconds
 *   quick N     the same, and it returns at once
 *   effects N   wind, which two effects read, is set N times
 *   make N      N sources of site "garden.c:7" are made and kept
 *   drop N      N of these are released, last made first
 *   prune N     N map cells of site "garden.c:3", made before "ready", are
 *               released
 *   vanish N    N map cells "leaf" of stem are made and computed once more,
 *               and release themselves then
 *   many N      N cells, made before "ready", are set once (option -m N)
 *
 * With -c another thread makes and releases cells of site "garden.c:9" in a
 * graph of its own, one at a time, all the time.
 */
#include <errno.h>
#include <hyphae/hyphae.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OLD 16
#define MANY_MAX 10000

static struct hyphae_graph *graph, *eager;
static struct hyphae_cell *dial, *knob, *lever, *bed, *tap, *wind, *stem;
static struct hyphae_cell *old[OLD], *made[MANY_MAX], *many[MANY_MAX];
static size_t nold, nmade, nmany;
static int64_t next_value = 1;
static long pause_ms;

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t sum = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	*(int64_t *)ret = sum;
	return 0;
}

static int on_sum(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

static int on_lever(const struct hyphae_signal *signal, void *ctx)
{
	struct timespec pause = {.tv_sec = pause_ms / 1000,
				 .tv_nsec = pause_ms % 1000 * 1000000};

	(void)signal;
	(void)ctx;
	if (pause_ms)
		nanosleep(&pause, NULL);
	return 0;
}

static int on_wind(void *ctx)
{
	int64_t value;

	(void)ctx;
	return hyphae_int64_get(wind, &value);
}

static int on_gust(void *ctx)
{
	int64_t value = 0;

	(void)ctx;
	hyphae_int64_get(wind, &value);
	return value < 0 ? -ERANGE : 0;
}

static void after_gust(void *ctx)
{
	(void)ctx;
}

/* Two inputs and the cell that adds them. */
static struct hyphae_cell *join(struct hyphae_cell *a, struct hyphae_cell *b,
				const char *name)
{
	struct hyphae_cell *both[] = {a, b};
	struct hyphae_cell *cell =
		hyphae_combine(both, 2, &hyphae_int64, add, NULL);

	hyphae_cell_set_name(cell, name);
	return cell;
}

static struct hyphae_cell *source(struct hyphae_graph *g, const char *name)
{
	struct hyphae_cell *cell = hyphae_int64_new(g, 0);

	hyphae_cell_set_name(cell, name);
	return cell;
}

static struct hyphae_cell *map(struct hyphae_cell *input, const char *name)
{
	struct hyphae_cell *cell =
		hyphae_map(input, &hyphae_int64, twice, NULL);

	hyphae_cell_set_name(cell, name);
	return cell;
}

static void build(void)
{
	graph = hyphae_graph_new(0);
	eager = hyphae_graph_new(HYPHAE_EAGER);
	dial = source(graph, "dial");
	knob = source(graph, "knob");
	lever = source(graph, "lever");
	bed = source(graph, "bed");
	tap = source(eager, "tap");
	wind = source(graph, "wind");
	stem = source(graph, "stem");
	hyphae_subscribe(join(dial, map(dial, "double"), "sum"), on_sum, NULL);
	hyphae_subscribe(lever, on_lever, NULL);
	hyphae_subscribe(join(map(tap, "left"), map(tap, "right"), "join"),
			 on_sum, NULL);
	hyphae_effect(graph, on_wind, NULL);
	hyphae_effect_with(graph, on_gust, NULL, NULL, after_gust);
	for (nold = 0; nold < OLD; nold++)
		old[nold] = hyphae_map_at(bed, &hyphae_int64, twice, NULL,
					  "garden.c:3");
}

/* The second time its cell goes: what it makes then is in vain. */
static int fall(void *ret, const void *input, void *ctx)
{
	struct hyphae_cell **leaf = ctx;

	hyphae_cell_unref(*leaf);
	*leaf = NULL;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static void set(struct hyphae_cell *cell)
{
	hyphae_int64_set(cell, next_value++);
}

static void batch(void)
{
	hyphae_batch_begin(graph);
	set(dial);
	set(knob);
	set(dial);
	set(knob);
	set(dial);
	hyphae_batch_end(graph);
}

static void vanish(void)
{
	static struct hyphae_cell *leaf;

	leaf = hyphae_map(stem, &hyphae_int64, fall, &leaf);
	hyphae_cell_set_name(leaf, "leaf");
	set(stem);
}

static void once(const char *action)
{
	if (!strcmp(action, "sets"))
		set(dial);
	else if (!strcmp(action, "repeats"))
		hyphae_int64_set(dial, next_value - 1);
	else if (!strcmp(action, "diamonds"))
		set(tap);
	else if (!strcmp(action, "batches"))
		batch();
	else if (!strcmp(action, "slow") || !strcmp(action, "quick"))
		set(lever);
	else if (!strcmp(action, "effects"))
		set(wind);
	else if (!strcmp(action, "make") && nmade < MANY_MAX)
		made[nmade++] = hyphae_int64_new_at(graph, 0, "garden.c:7");
	else if (!strcmp(action, "drop") && nmade)
		hyphae_cell_unref(made[--nmade]);
	else if (!strcmp(action, "prune") && nold)
		hyphae_cell_unref(old[--nold]);
	else if (!strcmp(action, "vanish"))
		vanish();
	else if (!strcmp(action, "many") && nmany)
		set(many[--nmany]);
	else
		exit(2);
}

static atomic_bool stop_churning;

static void *churn(void *arg)
{
	struct hyphae_graph *g = hyphae_graph_new(HYPHAE_SINGLE_THREAD);

	(void)arg;
	while (!atomic_load(&stop_churning))
		hyphae_cell_unref(hyphae_int64_new_at(g, 0, "garden.c:9"));
	hyphae_graph_free(g);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t churner;
	bool churns = argc > 1 && !strcmp(argv[1], "-c");
	char line[16];
	int i = 1;

	build();
	if (churns) {
		if (pthread_create(&churner, NULL, churn, NULL))
			return 1;
		i = 2;
	}
	if (argc > 2 && !strcmp(argv[1], "-m")) {
		size_t n = strtoul(argv[2], NULL, 10);

		while (nmany < n && nmany < MANY_MAX)
			many[nmany++] = hyphae_int64_new(graph, 0);
		i = 3;
	}
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	while (i + 1 < argc) {
		const char *action = argv[i++];
		long n = strtol(argv[i++], NULL, 10);

		pause_ms = strcmp(action, "slow") || i == argc
				   ? 0
				   : strtol(argv[i++], NULL, 10);
		while (n-- > 0)
			once(action);
	}
	printf("done\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	if (churns) {
		atomic_store(&stop_churning, true);
		pthread_join(churner, NULL);
	}
	hyphae_graph_free(graph);
	hyphae_graph_free(eager);
	return 0;
}
