// SPDX-License-Identifier: MIT
/*
 * prog_frames SETS: spends its time in the callbacks of two types, for a
 * profiler that samples stacks: comparing values (inside hy_write_value) and
 * in subscribers (inside hy_fanout and the frame of the type).
 */
#include <hyphae/hyphae.h>
#include <stdlib.h>

struct reading {
	int64_t at, value;
};

struct level {
	int64_t value, limit;
};

static volatile int64_t sink;

__attribute__((noinline)) static void spend(int64_t amount)
{
	sink += amount;
}

/*
 * Time is spent one call deeper: gcc gives leaf functions no frame pointer,
 * and a profiler that follows frame pointers misses the caller of such one.
 */
__attribute__((noinline)) static void burn(void)
{
	for (int i = 0; i < 1000; i++)
		spend(i);
}

static bool compare_readings(const void *a, const void *b)
{
	burn();
	return ((const struct reading *)a)->value ==
	       ((const struct reading *)b)->value;
}

HYPHAE_TYPE_WITH(reading, struct reading, .equal = compare_readings);
HYPHAE_TYPE(level, struct level);

/* Not static, not inlined: names for the profiler. */
int render_reading(const struct hyphae_signal *signal, void *ctx);
int render_level(const struct hyphae_signal *signal, void *ctx);

__attribute__((noinline)) int render_reading(const struct hyphae_signal *signal,
					     void *ctx)
{
	(void)ctx;
	burn();
	sink += reading_of(signal)->value;
	return 0;
}

__attribute__((noinline)) int render_level(const struct hyphae_signal *signal,
					   void *ctx)
{
	(void)ctx;
	burn();
	sink += level_of(signal)->value;
	return 0;
}

int main(int argc, char **argv)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *r =
		reading_new_at(graph, (struct reading){0, 0}, HYPHAE_HERE);
	struct hyphae_cell *l =
		level_new_at(graph, (struct level){0, 0}, HYPHAE_HERE);
	int64_t sets = argc > 1 ? atoll(argv[1]) : 1;

	if (!hyphae_subscribe(r, render_reading, NULL) ||
	    !hyphae_subscribe(l, render_level, NULL))
		return 1;
	for (int64_t i = 1; i <= sets; i++) {
		if (reading_set(r, (struct reading){i, i}) ||
		    level_set(l, (struct level){i, 7}))
			return 1;
	}
	return 0;
}
