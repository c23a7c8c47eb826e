// SPDX-License-Identifier: MIT
/*
 * prog_longjmp: longjmps out of a subscriber, which the library does not
 * support: the graph still counts as propagating, and no promise is made for
 * what follows in it.  But a tracer must not make a difference: what the
 * calls return and what later graphs do is printed, and is the same traced
 * and untraced.  Prints "ready" and waits for a line on stdin.
 */
#include <hyphae/hyphae.h>
#include <setjmp.h>
#include <stdio.h>

#define ROUNDS 100

static jmp_buf out;
static int64_t seen;

static int leap(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	seen = hyphae_int64_of(signal);
	if (seen == 7)
		longjmp(out, 1);
	return 0;
}

/* A new graph each time: set 1 to 12, leaving the seventh by longjmp. */
static void round_of(int number)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	volatile int64_t i = 0;
	volatile int leaps = 0, result = 0;

	if (!hyphae_subscribe(cell, leap, NULL))
		printf("no subscription\n");
	if (setjmp(out))
		leaps++;
	while (i < 12) {
		i++;
		result = result * 3 + hyphae_int64_set(cell, i);
	}
	printf("%d: leaps %d seen %lld result %d\n", number, leaps,
	       (long long)seen, result);
}

int main(void)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *other = hyphae_int64_new(graph, 0);
	int64_t value = 0;

	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		round_of(i);
		printf("other %d", hyphae_int64_set(other, i + 1));
		printf(" %d %lld\n", hyphae_int64_get(other, &value),
		       (long long)value);
	}
	return 0;
}
