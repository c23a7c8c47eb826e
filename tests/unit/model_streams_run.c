/* SPDX-License-Identifier: MIT */
/* Random programs and random steps, done by both sides. */
#include "model_streams_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define STEPS 40
#define SOURCES 6
#define WRITES 6

static uint64_t chance;
static unsigned long steps_done;

uint64_t ms_roll(uint64_t sides)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (chance >> 33) % sides;
}

int ms_between(int from, int to)
{
	return from + (int)ms_roll((uint64_t)(to - from + 1));
}

/* ---- making operators --------------------------------------------------------------- */

static int any_with_handle(void)
{
	int at = ms_between(0, ms_world.model.count - 1);

	/* Rather one that was made lately. */
	if (ms_roll(3))
		at = ms_world.model.count - 1 - at / 3;
	for (int i = 0; i < ms_world.model.count; i++) {
		int node = (at + i) % ms_world.model.count;

		if (ms_world.model.nodes[node].handle)
			return node;
	}
	return -1;
}

static void arguments(struct ms_recipe *r)
{
	static const int least[MS_COUNT] = {[MS_HOLD] = -1, [MS_MACHINE] = -1};

	r->a = ms_between(1, 5);
	r->b = ms_between(0, 9);
	r->c = ms_between(0, 20);
	r->ns = ms_roll(7);
	switch (r->op) {
	case MS_HOLD:
	case MS_MACHINE:
	case MS_ELEMENT:
	case MS_SKIP:
		r->a = ms_between(least[r->op], 4);
		break;
	case MS_TAKE:
		r->a = ms_roll(8) ? ms_between(1, 6) : 0;
		break;
	case MS_TAKE_WHILE:
		r->a = ms_between(3, 9);
		r->b = (int)ms_roll(2);
		break;
	case MS_CATCH:
	case MS_MAP_ERROR:
		r->c = ms_between(0, 6);
		break;
	case MS_THROTTLE:
		r->a = ms_between(HYPHAE_LEADING, HYPHAE_BOTH_EDGES);
		break;
	case MS_ZIP:
	case MS_DELAY:
		r->a = ms_between(1, 3);
		r->b = (int)ms_roll(4);
		break;
	case MS_INTERVAL:
		r->c = (int)ms_roll(2);
		break;
	case MS_ARRAY:
		r->a = (int)ms_roll(6);
		break;
	default:
		break;
	}
	if (!r->ns && r->op != MS_DEBOUNCE && r->op != MS_DELAY)
		r->ns = 7;
}

static bool inputs(struct ms_recipe *r)
{
	int most = ms_kinds[r->op].inputs;

	r->count = most;
	if (most == 2 && r->op != MS_TAKE_UNTIL && r->op != MS_SKIP_UNTIL &&
	    r->op != MS_SAMPLE)
		r->count = ms_between(2, 3);
	for (int i = 0; i < r->count; i++) {
		r->in[i] = any_with_handle();
		if (r->in[i] < 0)
			return false;
	}
	return true;
}

static bool add(const struct ms_recipe *r)
{
	int node;

	ms_world.model.log.count = ms_world.real.log.count = 0;
	node = ms_add(&ms_world.model, r);
	ms_say_recipe(node, r);
	if (!ms_real_add(&ms_world.real, node, r))
		return ms_differ("#%d was not made", node);
	return ms_compare(true);
}

static bool add_source(void)
{
	struct ms_recipe r = {.op = ms_roll(2) ? MS_CELL : MS_EVENT};

	r.a = ms_between(0, MS_NUMBERS - 1);
	return add(&r);
}

/* In programs with time: several inputs only where that is asked for. */
static bool fits_time(enum ms_op op)
{
	if (ms_kinds[op].time)
		return true;
	if (ms_kinds[op].inputs > 1 && !(ms_world.joins && ms_roll(2)))
		return false;
	return ms_roll(2);
}

static bool add_operator(bool timed)
{
	struct ms_recipe r = {.op = MS_CELL};

	do
		r.op = (enum ms_op)ms_between(MS_EVENT + 1, MS_COUNT - 1);
	while (!(timed ? fits_time(r.op) : !ms_kinds[r.op].time));
	arguments(&r);
	return !inputs(&r) || add(&r);
}

/* ---- steps ----------------------------------------------------------------------- */

/* Not a group, of which there are two cells in the library. */
static bool make_lazy(int node)
{
	bool source = ms_world.model.nodes[node].recipe.count == 0;
	int r;

	if (ms_world.model.nodes[node].recipe.op == MS_GROUP)
		return true;
	r = hyphae_cell_set_lazy(ms_world.real.nodes[node].cell);
	ms_say("#%d becomes lazy\n", node);
	if (r != (source ? -EINVAL : 0))
		return ms_differ("set_lazy: %d", r);
	if (!source)
		ms_lazy(&ms_world.model, node);
	return ms_compare(true);
}

int ms_real_write(const struct ms_write *w)
{
	_Alignas(16) unsigned char value[64] = {0};
	struct hyphae_cell *cell = ms_world.real.nodes[w->node].cell;
	int r;

	if (w->kind == HYPHAE_COMPLETE)
		return hyphae_cell_complete(cell);
	if (w->kind == HYPHAE_ERROR)
		return hyphae_cell_fail(cell, w->code, "failed");
	ms_express(ms_world.real.type, value, w->value);
	r = hyphae_cell_set(cell, ms_world.real.type, value);
	ms_forget(ms_world.real.type, value);
	return r == HYPHAE_UNCHANGED ? 0 : r;
}

static void echo(struct ms_echo *e, int64_t value)
{
	struct ms_write w = {.node = e->node, .value = ms_fn_echo(value)};

	if (e->left == 0 || !ms_world.real.nodes[e->node].cell)
		return;
	e->left--;
	ms_real_write(&w);
}

static struct ms_echo choose_echo(void)
{
	struct ms_echo none = {-1, 0};
	struct ms_write w;

	if (!ms_world.joins || ms_world.eager || ms_roll(3) ||
	    !ms_choose_write(&w))
		return none;
	return (struct ms_echo){w.node, ms_between(1, 3)};
}

static int listen(const struct hyphae_signal *signal, void *ctx)
{
	struct ms_call call = {
		.sub = (int)(uintptr_t)ctx,
		.kind = signal->kind,
		.terminal = signal->terminal,
		.code = signal->code,
	};

	if (signal->kind == HYPHAE_VALUE)
		call.value = ms_number(signal->type, signal->value);
	ms_log_add(&ms_world.real.log, call);
	if (signal->kind == HYPHAE_VALUE)
		echo(&ms_world.real.echoes[call.sub], call.value);
	return 0;
}

static bool subscribe(void)
{
	static const unsigned int some[] = {0, 0, 0, HYPHAE_SKIP_INITIAL,
					    HYPHAE_ONCE};
	unsigned int flags = some[ms_roll(5)];
	int node = any_with_handle(), sub;
	struct ms_echo echoes;

	if (node < 0 || ms_world.model.sub_count == MS_SUBS)
		return true;
	echoes = choose_echo();
	sub = ms_subscribe(&ms_world.model, node, flags, echoes);
	ms_say("s%d = subscribe #%d, flags %u, echo #%d %d times\n", sub, node,
	       flags, echoes.node, echoes.left);
	ms_world.real.echoes[sub] = echoes;
	ms_world.real.subs[sub] =
		hyphae_subscribe_with(ms_world.real.nodes[node].cell, listen,
				      (void *)(uintptr_t)sub, NULL, flags);
	if (!ms_world.real.subs[sub])
		return ms_differ("no subscription");
	return ms_compare(true);
}

static bool unsubscribe(int sub)
{
	int expected = ms_world.model.subs[sub].alive ? 0 : -ESTALE;
	int got;

	ms_say("unsubscribe s%d\n", sub);
	ms_unsubscribe(&ms_world.model, sub);
	got = hyphae_unsubscribe(ms_world.real.subs[sub]);
	return got == expected
		       ? ms_compare(true)
		       : ms_differ("unsubscribe is %d, %d", expected, got);
}

static bool release(int node)
{
	struct hyphae_cell *cell = ms_world.real.nodes[node].cell;

	ms_say("release #%d\n", node);
	ms_release(&ms_world.model, node);
	ms_world.real.nodes[node].cell = NULL;
	if (hyphae_cell_unref(cell) != 0)
		return ms_differ("unref");
	return ms_compare(true);
}

/* No cell can be reached on two ways. */
static bool tree(void)
{
	int followers[MS_NODES] = {0};

	for (int i = 0; i < ms_world.model.count; i++)
		for (int k = 0; k < ms_world.model.nodes[i].recipe.count; k++)
			if (ms_world.model.nodes[i].alive &&
			    followers[ms_world.model.nodes[i].recipe.in[k]]++)
				return false;
	return true;
}

bool ms_choose_write(struct ms_write *w)
{
	int sources[MS_NODES], count = 0;

	for (int i = 0; i < ms_world.model.count; i++)
		if (ms_world.model.nodes[i].handle &&
		    (ms_world.model.nodes[i].recipe.op == MS_CELL ||
		     ms_world.model.nodes[i].recipe.op == MS_EVENT))
			sources[count++] = i;
	if (!count)
		return false;
	*w = (struct ms_write){.node = sources[ms_roll((uint64_t)count)],
			       .value = ms_between(0, ms_world.numbers - 1)};
	if (ms_roll(40) == 0)
		w->kind = HYPHAE_COMPLETE;
	else if (ms_roll(60) == 0)
		w->kind = HYPHAE_ERROR;
	w->code = w->kind == HYPHAE_ERROR ? -EPIPE - w->node : 0;
	return true;
}

void ms_say_write(const struct ms_write *w)
{
	if (w->kind == HYPHAE_VALUE)
		ms_say(" #%d=%lld", w->node, (long long)w->value);
	else
		ms_say(" #%d %s", w->node,
		       w->kind == HYPHAE_COMPLETE ? "completes" : "fails");
}

static bool write_some(void)
{
	struct ms_write writes[WRITES];
	size_t count = ms_roll(3) ? 1 : 1 + ms_roll(WRITES);
	bool batch =
		count > 1 || ms_roll(4) == 0 || (ms_world.eager && !tree());
	int got[WRITES], ended = 0;
	bool frame;

	for (size_t i = 0; i < count; i++)
		if (!ms_choose_write(&writes[i]))
			return true;
	frame = batch && writes[0].value % 3 == 0;
	ms_say(frame ? "frame" : batch ? "batch" : "write");
	for (size_t i = 0; i < count; i++)
		ms_say_write(&writes[i]);
	ms_say("\n");
	ms_world.waves = true;
	ms_write(&ms_world.model, writes, count);
	if (batch)
		ended = frame ? hyphae_frame_begin(ms_world.real.graph, 7)
			      : hyphae_batch_begin(ms_world.real.graph);
	for (size_t i = 0; i < count; i++)
		got[i] = ms_real_write(&writes[i]);
	if (batch && !ended)
		ended = frame ? hyphae_frame_end(ms_world.real.graph)
			      : hyphae_batch_end(ms_world.real.graph);
	for (size_t i = 0; i < count; i++)
		if (got[i] != writes[i].result)
			return ms_differ("write %zu is %d, %d", i,
					 writes[i].result, got[i]);
	return ended ? ms_differ("batch: %d", ended)
		     : ms_compare(!ms_world.eager || batch);
}

static bool step(bool timed, int nodes)
{
	uint64_t at = ms_roll(100);

	steps_done++;
	ms_world.waves = false;
	if (at < 50 - (timed ? 15 : 0))
		return write_some();
	if (at < 65)
		return timed ? ms_move() : write_some();
	if (at < 78)
		return subscribe();
	if (at < 86)
		return ms_world.model.sub_count == 0 ||
		       unsubscribe((int)ms_roll(
			       (uint64_t)ms_world.model.sub_count));
	if (at < 96 && ms_world.model.count < nodes)
		return ms_roll(8) ? add_operator(timed) : add_source();
	if (at == 96 && !timed && any_with_handle() >= 0)
		return make_lazy(any_with_handle());
	if (at >= 96 && any_with_handle() >= 0)
		return release(any_with_handle());
	return write_some();
}

/* ---- a program ---------------------------------------------------------------------- */

static void open_world(bool timed)
{
	static const unsigned int kinds[] = {0, HYPHAE_SINGLE_THREAD,
					     HYPHAE_EAGER};
	unsigned int kind = kinds[ms_roll(3)];
	size_t type = ms_roll(ms_type_count);
	bool lazy = ms_roll(4) == 0;

	memset(&ms_world.model, 0, sizeof(ms_world.model));
	memset(&ms_world.real, 0, sizeof(ms_world.real));
	ms_world.eager = kind == HYPHAE_EAGER;
	ms_world.undecided = false;
	ms_world.numbers = ms_roll(3) ? MS_NUMBERS : 5;
	ms_world.joins = timed && !lazy && ms_roll(3) == 0;
	ms_world.model.lazy = lazy;
	ms_world.model.same = ms_types[type].same;
	ms_world.model.alike = ms_types[type].alike;
	ms_world.model.jumps = ms_roll(4) == 0;
	ms_world.model.now = timed ? ms_start_time() : 1000;
	ms_world.real.type = ms_types[type].type;
	ms_world.real.graph = hyphae_graph_new(kind | (lazy ? HYPHAE_LAZY : 0));
	ms_world.real.clock =
		ms_world.model.jumps
			? hyphae_clock_new_external(ms_world.model.now)
			: hyphae_clock_new_virtual(ms_world.model.now);
	assert_int_equal(hyphae_graph_set_clock(ms_world.real.graph,
						ms_world.real.clock),
			 0);
	ms_say("%s%s, graph flags %u, clock %s\n", ms_world.real.type->name,
	       lazy ? ", lazy" : "", kind,
	       ms_world.model.jumps ? "jumps" : "visits");
	if (timed)
		assert_true(ms_open_time());
}

static bool close_world(void)
{
	bool fine;

	ms_world.waves = false;
	fine = ms_stop_timers();
	for (int i = 0; i < ms_world.model.sub_count && fine; i++)
		if (ms_world.model.subs[i].alive)
			fine = unsubscribe(i);
	while (fine && any_with_handle() >= 0)
		fine = release(any_with_handle());
	for (int i = 0; i < ms_world.model.count && fine; i++)
		if (ms_world.model.nodes[i].alive)
			fine = ms_differ("#%d is still there", i);
	assert_int_equal(hyphae_graph_free(ms_world.real.graph), 0);
	assert_int_equal(hyphae_clock_unref(ms_world.real.clock), 0);
	return fine;
}

static bool run_program(uint64_t seed, bool timed, int nodes)
{
	bool fine;

	chance = seed;
	open_world(timed);
	fine = add_source();
	while (fine && ms_world.model.count < SOURCES && ms_roll(3))
		fine = add_source();
	for (int i = 0; i < nodes / 2 && fine; i++) {
		fine = add_operator(timed);
		if (fine && ms_roll(2))
			fine = subscribe();
	}
	for (int i = 0; i < STEPS && fine && !ms_world.undecided; i++)
		fine = step(timed, nodes);
	return close_world() && fine;
}

void ms_run_programs(const struct ms_plan *plan, uint64_t seed)
{
	long live = hy_alloc_live();

	steps_done = 0;
	chance = seed;
	for (unsigned long i = 0; i < plan->programs; i++) {
		int nodes = 3 + (int)(i % 18);
		uint64_t at = chance;

		ms_world.verbose = false;
		if (run_program(at, plan->timed, nodes))
			continue;
		ms_world.verbose = true;
		printf("program %lu, %d nodes, SEED=%llu\n", i, nodes,
		       (unsigned long long)at);
		run_program(at, plan->timed, nodes);
		fail_msg("the library and the model differ");
	}
	print_message("%lu programs, %lu steps\n", plan->programs, steps_done);
	assert_int_equal(hy_alloc_live(), live);
}
