// SPDX-License-Identifier: MIT
/*
 * prog_all ROUNDS: uses all of the library that can fire a probe, so that no
 * linker finds a part to throw away.  Prints "ready", waits for a line on
 * stdin, runs, and prints what its own functions saw.
 *
 * Each round fires: notify 4, write_value 7, fanout 6, compute 4, batch 1,
 * cell_create, cell_name and cell_destroy 1; each second round write_value
 * and fanout once more, for the filter.  Before them an empty frame fires frame
 * 1 and batch 1, in the end there are notify 2 and error 1.
 */
#include <errno.h>
#include <hyphae/hyphae.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
	int64_t x, y;
};

struct extent {
	int64_t w, h;
};

/* Two types whose functions have the same code. */
HYPHAE_TYPE(point, struct point);
HYPHAE_TYPE(extent, struct extent);

static long sums, calls;

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	sums++;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

static int fourth(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input % 4 == 0;
}

static int called(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	calls++;
	return 0;
}

struct world {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *p, *e;
	struct hyphae_cell *sum, *twice, *fourth;
};

static int build(struct world *w)
{
	w->graph = hyphae_graph_new(0);
	w->a = hyphae_int64_new(w->graph, 0);
	w->b = hyphae_int64_new(w->graph, 0);
	w->p = point_new_at(w->graph, (struct point){0, 0}, HYPHAE_HERE);
	w->e = extent_new_at(w->graph, (struct extent){0, 0}, HYPHAE_HERE);
	w->sum = hyphae_combine(((struct hyphae_cell *[]){w->a, w->b}), 2,
				&hyphae_int64, sum, NULL);
	w->twice = hyphae_map(w->a, &hyphae_int64, twice, NULL);
	w->fourth = hyphae_filter(w->twice, fourth, NULL);
	if (!w->e || !w->p || !w->sum || !w->fourth)
		return -ENOMEM;
	hyphae_cell_set_name(w->a, "a");
	if (!hyphae_subscribe_with(w->sum, called, NULL, NULL,
				   HYPHAE_SKIP_INITIAL) ||
	    !hyphae_subscribe_with(w->p, called, NULL, NULL,
				   HYPHAE_SKIP_INITIAL) ||
	    !hyphae_subscribe_with(w->e, called, NULL, NULL,
				   HYPHAE_SKIP_INITIAL))
		return -ENOMEM;
	sums = 0;
	return 0;
}

static int round_of(struct world *w, int64_t i)
{
	struct hyphae_cell *shortlived;
	int error = 0;

	error |= hyphae_int64_set(w->a, i);
	error |= hyphae_int64_set(w->a, i) != HYPHAE_UNCHANGED;
	error |= hyphae_batch_begin(w->graph);
	error |= hyphae_int64_set(w->b, 10 * i);
	error |= point_set(w->p, (struct point){i, -i});
	error |= hyphae_batch_end(w->graph);
	shortlived = hyphae_int64_new(w->graph, i);
	error |= hyphae_cell_set_name(shortlived, "short-lived");
	error |= hyphae_cell_unref(shortlived);
	return error;
}

int main(int argc, char **argv)
{
	int64_t rounds = argc > 1 ? atoll(argv[1]) : 1, value = 0;
	struct hyphae_report report;
	struct world w;
	int error;

	if (build(&w))
		return 1;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	/* Traced or not: it is called for its probe. */
	(void)hyphae_watched();
	error = hyphae_pass_begin() | hyphae_pass_end();
	error |= hyphae_report_take(&report);
	hyphae_report_done(&report);
	error |= hyphae_frame_begin(w.graph, 0) | hyphae_frame_end(w.graph);
	for (int64_t i = 1; i <= rounds; i++)
		error |= round_of(&w, i);
	error |= hyphae_int64_get(w.sum, &value);
	error |= hyphae_cell_fail(w.b, -EIO, "the line is cut");
	error |= hyphae_cell_complete(w.p);
	hyphae_graph_free(w.graph);
	printf("sum %lld sums %ld calls %ld error %d\n", (long long)value, sums,
	       calls, error);
	return error != 0;
}
