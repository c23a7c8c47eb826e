/* SPDX-License-Identifier: MIT */
/*
 * Graphs that change while they run, and functions whose inputs are found
 * while they run.  Nothing by hand does the same, so there is no floor:
 *
 *   switch       switch_map moves to the other of two cells at each set
 *   churn        a subscriber ends a subscription and makes another
 *   computed_N   a tracked function that reads the same N cells each time
 *   changing     it reads one cell and, in turn, one of two others
 */
#include "library.h"

#define READS_MAX 4

struct reads {
	struct hyphae_cell *cells[READS_MAX];
	size_t count;
};

/* ---- switch ------------------------------------------------------------------ */

static struct hyphae_cell *choose(const void *value, void *ctx)
{
	const struct library *library = ctx;

	return library->sources[*(const int64_t *)value & 1];
}

static void *switch_open(const struct speed_case *speed_case)
{
	struct library *library = library_with(2);

	(void)speed_case;
	hyphae_int64_set(library->sources[1], 1);
	follow(must(hyphae_switch_map(library->source, &hyphae_int64, choose,
				      library)));
	return library;
}

/* ---- churn -------------------------------------------------------------------- */

struct churn {
	struct library *library;
	struct hyphae_subscription *subscription;
};

static int replace(const struct hyphae_signal *signal, void *ctx)
{
	struct churn *churn = ctx;

	(void)signal;
	hyphae_unsubscribe(churn->subscription);
	churn->subscription =
		hyphae_subscribe_with(churn->library->sources[0], add_to_sink,
				      NULL, NULL, HYPHAE_SKIP_INITIAL);
	return churn->subscription ? 0 : -12;
}

static void *churn_open(const struct speed_case *speed_case)
{
	struct library *library = library_with(1);
	struct churn *churn = zeroed(1, sizeof(*churn));

	(void)speed_case;
	library->extra = churn;
	churn->library = library;
	churn->subscription = hyphae_subscribe_with(library->sources[0],
						    add_to_sink, NULL, NULL, 0);
	if (!churn->subscription ||
	    !hyphae_subscribe(library->source, replace, churn))
		give_up("subscribe");
	return library;
}

/* ---- computed ------------------------------------------------------------------ */

static int64_t read_of(const struct hyphae_cell *cell)
{
	int64_t value = 0;

	hyphae_int64_get(cell, &value);
	return value;
}

static int read_all(void *ret, void *ctx)
{
	const struct reads *reads = ctx;
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < reads->count; i++)
		sum += read_of(reads->cells[i]);
	*(int64_t *)ret = sum;
	return 0;
}

static int read_one_of_two(void *ret, void *ctx)
{
	const struct reads *reads = ctx;
	int64_t which = read_of(reads->cells[0]);

	*(int64_t *)ret = which + read_of(reads->cells[1 + (which & 1)]);
	return 0;
}

static struct library *reader_new(size_t count, hyphae_computed_fn fn)
{
	struct library *library = library_with(count - 1);
	struct reads *reads = zeroed(1, sizeof(*reads));
	size_t i;

	library->extra = reads;
	reads->count = count;
	reads->cells[0] = library->source;
	for (i = 1; i < count; i++)
		reads->cells[i] = library->sources[i - 1];
	follow(must(hyphae_computed(library->graph, &hyphae_int64, fn, reads)));
	return library;
}

static void *computed_open(const struct speed_case *speed_case)
{
	return reader_new(speed_case->size, read_all);
}

static void *changing_open(const struct speed_case *speed_case)
{
	return reader_new(speed_case->size, read_one_of_two);
}

#define CASE(text, n, open)                                                    \
	{                                                                      \
		text, "set", 0, n, 1,                                          \
		{                                                              \
			open, set_run, library_close                           \
		}                                                              \
	}

static const struct speed_case cases[] = {
	CASE("switch", 2, switch_open),
	CASE("churn", 1, churn_open),
	CASE("computed_1", 1, computed_open),
	CASE("computed_2", 2, computed_open),
	CASE("computed_4", 4, computed_open),
	CASE("changing", 3, changing_open),
};
const struct speed_group speed_dynamic = SPEED_GROUP(cases);
