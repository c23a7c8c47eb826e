// SPDX-License-Identifier: MIT
/*
 * prog_canary [SETS]: does anybody write where they should not?
 *
 * A tracer that turned a probe site into a call would overwrite the red zone:
 * the 128 bytes below the stack pointer in which leaf functions keep their
 * locals.  So the callbacks here are leaf functions full of locals, the cells
 * depend on one another by arithmetic, and every value is known.
 *
 * With SETS it waits for a line on stdin and runs so many; without, it runs
 * until SIGTERM.  Prints "ready" first, at last how much it did, how much of
 * it was wrong, and, with SETS, a checksum: the same in each run.
 */
#include <hyphae/hyphae.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELLS 8

static volatile sig_atomic_t stop;
static uint64_t wrong, told, checksum;
static int64_t expected[CELLS];

static void on_term(int signal)
{
	(void)signal;
	stop = 1;
}

/*
 * Twelve locals that the compiler must keep in memory, in a function that
 * calls nobody: they lie in the red zone.
 */
__attribute__((noinline)) static uint64_t leaf(uint64_t seed)
{
	volatile uint64_t a[12];
	uint64_t sum = 0;

	for (int i = 0; i < 12; i++)
		a[i] = seed * (uint64_t)(2 * i + 1);
	for (int i = 0; i < 12; i++)
		sum += a[i];
	/* 1 + 3 + ... + 23 */
	return sum - seed * 144;
}

/* `equal` is called between the library's own frames. */
static bool equal(const void *a, const void *b)
{
	volatile int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	volatile int64_t d[6];

	for (int i = 0; i < 6; i++)
		d[i] = x - y + i;
	for (int i = 0; i < 6; i++)
		wrong += d[i] - i != x - y;
	return d[0] == 0;
}

HYPHAE_TYPE_WITH(canary, int64_t, .equal = equal);

static int step(void *ret, const void *input, void *ctx)
{
	volatile int64_t in = *(const int64_t *)input;
	volatile int64_t t[8];

	(void)ctx;
	for (int i = 0; i < 8; i++)
		t[i] = in + i;
	*(int64_t *)ret = t[7] * 3 - t[0];
	return 0;
}

static int64_t step_of(int64_t in)
{
	return (in + 7) * 3 - in;
}

static int check(const struct hyphae_signal *signal, void *ctx)
{
	const int64_t *want = ctx;
	const int64_t *value = canary_of(signal);

	told++;
	if (!value || *value != *want || leaf(told) != 0)
		wrong++;
	checksum = checksum * 31 + (uint64_t)(value ? *value : 0);
	return 0;
}

static void one_set(struct hyphae_cell *source, int64_t i)
{
	volatile int64_t before[4] = {i, i + 1, i + 2, i + 3};
	int64_t value = 0;

	expected[0] = i % 1000003;
	for (int c = 1; c < CELLS; c++)
		expected[c] = step_of(expected[c - 1]);
	if (canary_set(source, expected[0]) < 0)
		wrong++;
	if (leaf((uint64_t)i) != 0)
		wrong++;
	if (canary_get(source, &value) || value != expected[0])
		wrong++;
	for (int j = 0; j < 4; j++)
		wrong += before[j] != i + j;
}

int main(int argc, char **argv)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_cell *cells[CELLS];
	int64_t sets = argc > 1 ? atoll(argv[1]) : INT64_MAX, i;

	signal(SIGTERM, on_term);
	cells[0] = canary_new_at(graph, 0, HYPHAE_HERE);
	for (int c = 1; c < CELLS; c++)
		cells[c] = hyphae_map(cells[c - 1], &canary_type, step, NULL);
	for (int c = 0; c < CELLS; c++) {
		if (!hyphae_subscribe_with(cells[c], check, &expected[c], NULL,
					   HYPHAE_SKIP_INITIAL))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	if (argc > 1 && getchar() == EOF)
		return 1;
	for (i = 1; i <= sets && !stop; i++)
		one_set(cells[0], i);
	if (told != (uint64_t)(i - 1) * CELLS)
		wrong++;
	printf("sets %lld told %llu wrong %llu", (long long)(i - 1),
	       (unsigned long long)told, (unsigned long long)wrong);
	if (argc > 1)
		printf(" checksum %016llx", (unsigned long long)checksum);
	puts("");
	return wrong != 0;
}
