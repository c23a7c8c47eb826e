/* SPDX-License-Identifier: MIT */
/*
 * Every operator that can hand its input on as it is, so that a law can be
 * tried on all of them: links[].
 */
#ifndef HYPHAE_TESTS_SEMANTIC_LINKS_H
#define HYPHAE_TESTS_SEMANTIC_LINKS_H

#include "fixture.h"

HYPHAE_UNUSED static int pass_all(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 1;
}

HYPHAE_UNUSED static int pass_none(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
	return 0;
}

HYPHAE_UNUSED static int copy_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

HYPHAE_UNUSED static int copy_first(void *ret, const void *const *inputs,
				    size_t count, void *ctx)
{
	(void)count;
	return copy_one(ret, inputs[0], ctx);
}

HYPHAE_UNUSED static int copy_last(void *ret, const void *acc,
				   const void *input, void *ctx)
{
	(void)acc;
	return copy_one(ret, input, ctx);
}

HYPHAE_UNUSED static int copy_error(void *ret, int code, const char *message,
				    void *ctx)
{
	(void)message;
	(void)ctx;
	*(int64_t *)ret = code;
	return 0;
}

HYPHAE_UNUSED static int keep_error(int code, const char *message, void *ctx)
{
	(void)code;
	(void)message;
	(void)ctx;
	return 0;
}

HYPHAE_UNUSED static void look(const void *input, void *ctx)
{
	(void)input;
	(void)ctx;
}

HYPHAE_UNUSED static bool differ(const void *last, const void *input, void *ctx)
{
	(void)last;
	(void)input;
	(void)ctx;
	return false;
}

HYPHAE_UNUSED static void over(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	(void)ctx;
}

HYPHAE_UNUSED static struct hyphae_cell *inner_of(const void *outer,
						  void *graph)
{
	return hyphae_int64_new(graph, *(const int64_t *)outer);
}

HYPHAE_UNUSED static int read_one(void *ret, void *cell)
{
	return hyphae_int64_get(cell, ret);
}

typedef struct hyphae_cell *(*link_fn)(struct world *w, struct hyphae_cell *in);

#define LINK(name_, expression)                                                \
	HYPHAE_UNUSED static struct hyphae_cell *name_##_link(                 \
		struct world *w, struct hyphae_cell *in)                       \
	{                                                                      \
		(void)w;                                                       \
		return expression;                                             \
	}                                                                      \
	struct semantic_##name_##_needs_semicolon

static const int64_t none = -1;

LINK(map, hyphae_map(in, &hyphae_int64, copy_one, NULL));
LINK(filter, hyphae_filter(in, pass_all, NULL));
LINK(catch, hyphae_catch_error(in, copy_error, NULL));
LINK(map_error, hyphae_map_error(in, keep_error, NULL));
LINK(unwrap_or, hyphae_unwrap_or(in, &hyphae_int64, &none));
LINK(tap, hyphae_tap(in, look, NULL));
LINK(by, hyphae_distinct_until_changed_by(in, differ, NULL));
LINK(deduped, hyphae_deduped(in));
LINK(distinct, hyphae_distinct(in, 4));
LINK(hold, hyphae_hold(in, NULL, NULL));
LINK(combine, hyphae_combine(&in, 1, &hyphae_int64, copy_first, NULL));
LINK(take, hyphae_take(in, 1000));
LINK(skip, hyphae_skip(in, 0));
LINK(take_while, hyphae_take_while(in, pass_all, true, NULL));
LINK(skip_while, hyphae_skip_while(in, pass_none, NULL));
LINK(finalize, hyphae_finalize(in, over, NULL));
LINK(scan, hyphae_scan(in, &hyphae_int64, &none, copy_last, NULL));
LINK(window, hyphae_window(in, 1, &hyphae_int64, copy_first, NULL));
LINK(buffer_count, hyphae_buffer_count(in, 1, &hyphae_int64, copy_first, NULL));
LINK(zip, hyphae_zip(&in, 1, &hyphae_int64, copy_first, NULL, 4,
		     HYPHAE_OVERFLOW_FAIL));
LINK(merge, hyphae_merge(&in, 1));
LINK(latest,
     hyphae_with_latest_from(in, &in, 1, &hyphae_int64, copy_first, NULL));
LINK(concat, hyphae_concat(&in, 1));
LINK(race, hyphae_race(&in, 1));
LINK(switch_map, hyphae_switch_map(in, &hyphae_int64, inner_of, w->graph));
LINK(merge_map, hyphae_merge_map(in, &hyphae_int64, 16, inner_of, w->graph));
LINK(computed, hyphae_computed(w->graph, &hyphae_int64, read_one, in));
/* These only say something from the first change on, or at a tick. */
LINK(changes, hyphae_changes(in));
LINK(sample, hyphae_sample(in, in));
LINK(skip_until, hyphae_skip_until(in, in));

static const struct {
	const char *name;
	link_fn make;
	bool of_event; /* and not only of a cell that holds its value */
	bool initial;  /* has a value when its input has one */
} links[] = {
	{"map", map_link, true, true},
	{"filter", filter_link, true, true},
	{"catch_error", catch_link, true, true},
	{"map_error", map_error_link, true, true},
	{"unwrap_or", unwrap_or_link, true, true},
	{"tap", tap_link, true, true},
	{"distinct_until_changed_by", by_link, true, true},
	{"deduped", deduped_link, true, true},
	{"distinct", distinct_link, true, true},
	{"hold", hold_link, true, true},
	{"combine", combine_link, true, true},
	{"take", take_link, true, true},
	{"skip", skip_link, true, true},
	{"take_while", take_while_link, true, true},
	{"skip_while", skip_while_link, true, true},
	{"finalize", finalize_link, true, true},
	{"scan", scan_link, false, true},
	{"window", window_link, true, true},
	{"buffer_count", buffer_count_link, true, true},
	{"zip", zip_link, true, true},
	{"merge", merge_link, true, true},
	{"with_latest_from", latest_link, true, true},
	{"concat", concat_link, true, true},
	{"race", race_link, true, true},
	{"switch_map", switch_map_link, true, true},
	{"merge_map", merge_map_link, true, true},
	{"computed", computed_link, false, true},
	{"changes", changes_link, true, false},
	{"sample", sample_link, true, false},
	{"skip_until", skip_until_link, true, false},
};

#define LINKS (sizeof(links) / sizeof(links[0]))

#endif
