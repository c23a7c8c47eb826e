/* SPDX-License-Identifier: MIT */
/*
 * molBench, of the suite "kairo": few cells, and work that a library which
 * computes too often does too often.  What each cell reads depends on values:
 *
 *	C = A % 2 + B % 2
 *	D = five numbers: place + A % 2 - B % 2, always a new array
 *	E = hard(C + A + D[0])
 *	F = hard(D[2] or, if that is 0, B)
 *	G = C + (C or, if that is 0, E % 2) + D[4] + F
 *	effects of hard(G), of G, of hard(F)
 */
#include <stdlib.h>

#include "../lib/options.h"
#include "shape.h"

#define RUNS 10
#define WARM_UPS 3
#define ROUNDS 500
#define QUICK_ROUNDS 20
#define SUM 4808000
#define QUICK_SUM 192320

struct five {
	int64_t x[5];
};

HYPHAE_TYPE_WITH(five, struct five, .equal = hyphae_never_equal);

struct mol {
	const struct shape *shape;
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *c, *d, *e, *f, *g;
};

/* Not to be computed once and for all by a compiler. */
__attribute__((noinline)) static int64_t fib(int64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
}

static int64_t hard(int64_t n)
{
	return n + fib(16);
}

/* Reads in the functions below go on until one fails. */
static int64_t read_number(const struct hyphae_cell *cell, int *r)
{
	int64_t value = 0;

	if (*r == 0)
		*r = hyphae_int64_get(cell, &value);
	return value;
}

static int64_t read_place(const struct hyphae_cell *cell, int place, int *r)
{
	struct five five = {0};

	if (*r == 0)
		*r = five_get(cell, &five);
	return five.x[place];
}

/* A run that failed is repeated when what it read is there. */
static int give(int64_t *ret, int64_t value, int r)
{
	if (r)
		return r;
	counts.evaluations++;
	*ret = value;
	return 0;
}

static int compute_c(void *ret, void *ctx)
{
	const struct mol *m = ctx;
	int r = 0;
	int64_t a = read_number(m->a, &r);

	return give(ret, a % 2 + read_number(m->b, &r) % 2, r);
}

static int compute_d(void *ret, void *ctx)
{
	const struct mol *m = ctx;
	struct five *five = ret;
	int64_t a, b;
	int r = 0, i;

	a = read_number(m->a, &r);
	b = read_number(m->b, &r);
	if (r)
		return r;
	counts.evaluations++;
	for (i = 0; i < 5; i++)
		five->x[i] = i + a % 2 - b % 2;
	return 0;
}

static int compute_e(void *ret, void *ctx)
{
	const struct mol *m = ctx;
	int r = 0;
	int64_t sum = read_number(m->c, &r);

	sum += read_number(m->a, &r);
	sum += read_place(m->d, 0, &r);
	return give(ret, r ? 0 : hard(sum), r);
}

static int compute_f(void *ret, void *ctx)
{
	const struct mol *m = ctx;
	int r = 0;
	int64_t value = read_place(m->d, 2, &r);

	if (!value)
		value = read_number(m->b, &r);
	return give(ret, r ? 0 : hard(value), r);
}

static int compute_g(void *ret, void *ctx)
{
	const struct mol *m = ctx;
	int r = 0;
	int64_t sum = read_number(m->c, &r);

	sum += sum ? sum : read_number(m->e, &r) % 2;
	sum += read_place(m->d, 4, &r);
	sum += read_number(m->f, &r);
	return give(ret, sum, r);
}

static int hard_effect(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	counts.effects++;
	sum_seen += hard(hyphae_int64_of(signal));
	return 0;
}

static void add_hard_effect(struct hyphae_cell *cell)
{
	if (!hyphae_subscribe(cell, hard_effect, NULL))
		give_up("subscribe");
}

static struct hyphae_cell *computed(struct mol *m, hyphae_computed_fn fn)
{
	return must(hyphae_computed(m->graph, &hyphae_int64, fn, m));
}

static void build(struct mol *m)
{
	m->graph = graph_new();
	m->a = must(hyphae_int64_new(m->graph, 0));
	m->b = must(hyphae_int64_new(m->graph, 0));
	m->c = computed(m, compute_c);
	m->d = must(hyphae_computed(m->graph, &five_type, compute_d, m));
	m->e = computed(m, compute_e);
	m->f = computed(m, compute_f);
	m->g = computed(m, compute_g);
	add_hard_effect(m->g);
	add_effect(m->g);
	add_hard_effect(m->f);
}

static void write_both(struct mol *m, int64_t a, int64_t b)
{
	counts.writes += 2;
	hyphae_batch_begin(m->graph);
	hyphae_int64_set(m->b, b);
	hyphae_int64_set(m->a, a);
	hyphae_batch_end(m->graph);
}

static void run_rounds(struct mol *m, int64_t rounds)
{
	int64_t i;

	reset_counts();
	for (i = 0; i < rounds; i++) {
		write_both(m, 1 + 2 * i, 1);
		write_both(m, 2 + 2 * i, 2);
	}
}

static void measure(const struct shape *shape, const struct run *run,
		    struct outcome *ret_outcome)
{
	int64_t rounds = run->quick ? QUICK_ROUNDS : ROUNDS;
	struct mol m = {.shape = shape};
	int i;

	build(&m);
	for (i = 0; i < WARM_UPS; i++)
		run_rounds(&m, rounds);
	for (i = 0; i < (run->quick ? 1 : RUNS); i++) {
		uint64_t start = clock_ns();

		run_rounds(&m, rounds);
		take_run(shape, ret_outcome, clock_ns() - start);
	}
	snprintf(ret_outcome->sum, sizeof(ret_outcome->sum), "%" PRId64,
		 sum_seen);
	expect(shape, "the sum", sum_seen, run->quick ? QUICK_SUM : SUM);
	/*
	 * C and D twice, F and G twice, E twice: when G leaves it, it has been
	 * computed, because it lies lower.  (Libraries that pull save that.)
	 */
	expect(shape, "evaluations", (int64_t)ret_outcome->evaluations,
	       rounds * 10);
	expect(shape, "effects", (int64_t)ret_outcome->effects, rounds * 4);
	hyphae_graph_free(m.graph);
}

const struct shape mol_shapes[] = {
	{"molBench", "kairo", false, measure, NULL},
	{0},
};
