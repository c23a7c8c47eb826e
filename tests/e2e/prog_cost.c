// SPDX-License-Identifier: MIT
/*
 * prog_cost SHAPE OPERATIONS: something for callgrind to count.  Run with two
 * numbers of operations, the difference is what these cost, without start-up.
 *
 *   set    a source with one subscriber
 *   map    source, map, subscriber
 *   chain  source, 10 maps, subscriber
 *   fan    a source with 10 subscribers
 *   diamond  source, 10 maps, a combine of them, subscriber
 *   batch  a set in a batch
 */
#include <hyphae/hyphae.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t seen;

static int see(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	seen += hyphae_int64_of(signal);
	return 0;
}

static int plus_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t total = 0;

	(void)ctx;
	for (size_t i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

static struct hyphae_cell *diamond(struct hyphae_cell *source)
{
	struct hyphae_cell *sides[10];

	for (int i = 0; i < 10; i++)
		sides[i] = hyphae_map(source, &hyphae_int64, plus_one, NULL);
	return hyphae_combine(sides, 10, &hyphae_int64, sum, NULL);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 2 ? argv[1] : "set";
	long operations = argc > 2 ? atol(argv[2]) : 1;
	bool batch = !strcmp(shape, "batch");
	int maps = !strcmp(shape, "chain") ? 10 : !strcmp(shape, "map");
	int subscribers = !strcmp(shape, "fan") ? 10 : 1;
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 0);
	struct hyphae_cell *last = source;
	int error = 0;

	for (int i = 0; i < maps; i++)
		last = hyphae_map(last, &hyphae_int64, plus_one, NULL);
	if (!strcmp(shape, "diamond"))
		last = diamond(source);
	for (int i = 0; i < subscribers; i++)
		error |= !hyphae_subscribe(last, see, NULL);
	for (long i = 1; i <= operations && !error; i++) {
		if (batch)
			error |= hyphae_batch_begin(graph);
		error |= hyphae_int64_set(source, i);
		if (batch)
			error |= hyphae_batch_end(graph);
	}
	printf("%lld\n", (long long)seen);
	return error != 0;
}
