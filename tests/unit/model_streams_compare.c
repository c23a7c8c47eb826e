/* SPDX-License-Identifier: MIT */
/* What the model and the library say, side by side. */
#include "model_streams.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ms_world ms_world;
static struct ms_log sorted[2];

/* ---- telling what happens ------------------------------------------------------ */

void ms_say(const char *format, ...)
{
	va_list args;

	if (!ms_world.verbose)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static void say_call(const struct ms_call *c)
{
	ms_say(c->sub < MS_SUBS ? " s%d:" : " t%d:", c->sub % MS_SUBS);
	if (c->kind == HYPHAE_VALUE)
		ms_say("%lld", (long long)c->value);
	else if (c->kind == HYPHAE_COMPLETE)
		ms_say("|");
	else
		ms_say("E%d%s", c->code, c->terminal ? "!" : "");
}

static void say_log(const char *name, const struct ms_log *log)
{
	ms_say("   %s:", name);
	for (size_t i = 0; i < log->count && i < MS_LOG; i++)
		say_call(&log->calls[i]);
	ms_say("\n");
}

void ms_say_recipe(int node, const struct ms_recipe *r)
{
	ms_say("#%d = %s(", node, ms_kinds[r->op].name);
	for (int i = 0; i < r->count; i++)
		ms_say("#%d, ", r->in[i]);
	ms_say("a=%d b=%d c=%d ns=%llu)%s\n", r->a, r->b, r->c,
	       (unsigned long long)r->ns,
	       ms_world.model.nodes[node].event ? " event" : "");
}

/*
 * What of two timers comes first in one wave is not said, and makes a
 * difference to who follows both.
 */
static bool undecided(void)
{
	ms_world.undecided |= ms_world.joins && ms_world.model.tied;
	return ms_world.undecided;
}

/* What differs, in the second run; false, for the caller to hand on. */
bool ms_differ(const char *format, ...)
{
	va_list args;

	if (undecided())
		return true;
	if (!ms_world.verbose)
		return false;
	printf("   DIFFERENT: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	say_log("model  ", &ms_world.model.log);
	say_log("library", &ms_world.real.log);
	return false;
}

/* ---- comparing ------------------------------------------------------------------- */

static bool same_call(const struct ms_call *a, const struct ms_call *b)
{
	return a->sub == b->sub && a->kind == b->kind &&
	       a->terminal == b->terminal && a->value == b->value &&
	       a->code == b->code;
}

/* Depth first, the order is that of the walk: each subscriber for itself. */
static void sort_log(struct ms_log *to, const struct ms_log *from)
{
	to->count = 0;
	for (int sub = 0; sub < MS_SUBS + MS_TIMERS; sub++)
		for (size_t i = 0; i < from->count; i++)
			if (from->calls[i].sub == sub)
				ms_log_add(to, from->calls[i]);
}

bool ms_compare_logs(bool ordered)
{
	const struct ms_log *a = &ms_world.model.log, *b = &ms_world.real.log;

	if (undecided())
		return true;
	if (a->count != b->count || a->count > MS_LOG)
		return ms_differ("%zu calls, %zu in the library", a->count,
				 b->count);
	if (!ordered) {
		sort_log(&sorted[0], a);
		sort_log(&sorted[1], b);
		a = &sorted[0];
		b = &sorted[1];
	}
	for (size_t i = 0; i < a->count; i++)
		if (!same_call(&a->calls[i], &b->calls[i]))
			return ms_differ("call %zu", i);
	return true;
}

/* What get gives: 0 and a value, or an error. */
static int model_get(const struct ms_node *n, int64_t *ret)
{
	*ret = 0;
	if (n->holds == MS_ERROR)
		return n->code;
	if (n->holds == MS_NOTHING || n->event)
		return -ENODATA;
	*ret = n->value;
	return 0;
}

static int real_get(const struct ms_real_node *n, int64_t *ret)
{
	_Alignas(16) unsigned char value[64] = {0};
	int r = hyphae_cell_get(n->cell, n->type, value);

	*ret = 0;
	if (r == 0) {
		*ret = ms_number(n->type, value);
		ms_forget(n->type, value);
	}
	return r;
}

/*
 * Whether a cell that nobody keeps any more is computed in the waves that are
 * left of a propagation is not said; but not after that.
 */
static void forgive_last_waves(struct ms_node *n, const struct ms_real_node *r)
{
	if (n->alive || n->gone)
		return;
	n->gone = true;
	if (!ms_world.waves)
		return;
	n->calls = r->calls;
	if (n->end_count == r->end_count)
		memcpy(n->ends, r->ends, sizeof(n->ends));
}

/* What waits in a zip or a merge, and what they gave up. */
static bool compare_backlog(int i)
{
	const struct ms_node *n = &ms_world.model.nodes[i];
	const struct ms_recipe *r = &n->recipe;
	struct hyphae_backlog b;
	size_t queued = 0, capacity = (size_t)r->a;

	if (r->op != MS_ZIP && r->op != MS_MERGE)
		return true;
	if (r->op == MS_MERGE)
		capacity = 2 * (size_t)r->count;
	else if (r->b == HYPHAE_OVERFLOW_LATEST)
		capacity = 1;
	for (int k = 0; k < MS_INPUTS; k++)
		queued += n->queue[k].count;
	if (hyphae_cell_backlog(ms_world.real.nodes[i].cell, &b) == 0 &&
	    b.queued == queued && b.dropped == n->dropped &&
	    b.capacity == capacity)
		return true;
	return ms_differ("#%d: %zu wait, %zu; %zu dropped, %llu", i, queued,
			 b.queued, n->dropped, (unsigned long long)b.dropped);
}

static bool compare_node(int i)
{
	const struct ms_real_node *r = &ms_world.real.nodes[i];
	struct ms_node *n = &ms_world.model.nodes[i];
	struct hyphae_cell_info info;
	int64_t a, b;
	int got, expected;

	forgive_last_waves(n, r);
	if (n->calls.count != r->calls.count || n->calls.hash != r->calls.hash)
		return ms_differ("#%d: %lu calls of its function, %lu", i,
				 n->calls.count, r->calls.count);
	if (n->end_count != r->end_count ||
	    memcmp(n->ends, r->ends, sizeof(n->ends)) != 0)
		return ms_differ("#%d: its finalize was told %d times, %d", i,
				 n->end_count, r->end_count);
	if (!r->cell)
		return true;
	if (hyphae_cell_info(r->cell, &info) != 0)
		return ms_differ("#%d is gone", i);
	if (info.ended != n->ended || info.event != n->event ||
	    info.idle != n->idle)
		return ms_differ("#%d: ended %d, %d; event %d, %d; idle %d, %d",
				 i, n->ended, info.ended, n->event, info.event,
				 n->idle, info.idle);
	expected = model_get(n, &a);
	got = real_get(r, &b);
	if (expected != got || a != b)
		return ms_differ("#%d: get is %d %lld, %d %lld", i, expected,
				 (long long)a, got, (long long)b);
	return compare_backlog(i);
}

bool ms_compare(bool ordered)
{
	struct hyphae_graph_counts a, b;

	if (undecided())
		return true;
	if (!ms_compare_logs(ordered) || !ms_compare_time())
		return false;
	for (int i = 0; i < ms_world.model.count; i++)
		if (!compare_node(i))
			return false;
	ms_count(&ms_world.model, &a);
	if (hyphae_graph_counts(ms_world.real.graph, &b) != 0 ||
	    a.cells != b.cells || a.subscriptions != b.subscriptions ||
	    a.timers != b.timers)
		return ms_differ("%zu cells, %zu; %zu subscriptions, %zu; "
				 "%zu timers, %zu",
				 a.cells, b.cells, a.subscriptions,
				 b.subscriptions, a.timers, b.timers);
	say_log("both", &ms_world.model.log);
	ms_world.model.log.count = ms_world.real.log.count = 0;
	ms_world.model.tied = false;
	return true;
}
