/* SPDX-License-Identifier: MIT */
/* Operators that follow some of their inputs, or any: concat, race, group. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct hyphae_cell *event(struct world *world)
{
	return keep(world, hyphae_event_new(world->graph, &hyphae_int64));
}

FN(same, in[0]);

#define concat(world, ...)                                                     \
	keep(world, hyphae_concat(LIST(__VA_ARGS__), LENGTH(__VA_ARGS__)))
#define race(world, ...)                                                       \
	keep(world, hyphae_race(LIST(__VA_ARGS__), LENGTH(__VA_ARGS__)))
#define group(world, ...)                                                      \
	keep(world, hyphae_group(LIST(__VA_ARGS__), LENGTH(__VA_ARGS__)))
#define LIST(...)                                                              \
	(struct hyphae_cell *[])                                               \
	{                                                                      \
		__VA_ARGS__                                                    \
	}
#define LENGTH(...) (sizeof(LIST(__VA_ARGS__)) / sizeof(struct hyphae_cell *))

static void complete(struct hyphae_cell *cell)
{
	assert_int_equal(hyphae_cell_complete(cell), 0);
}

static int odd_fails(struct node *node, const int64_t *in, size_t count,
		     int64_t *ret)
{
	(void)node;
	(void)count;
	*ret = in[0];
	return in[0] % 2 ? -EIO : 0;
}

/* ---- concat ------------------------------------------------------------------ */

static void o13_concat(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct log *log = follow(world, concat(world, a, b));

	put(b, 20);
	put(a, 2);
	assert_int_equal(targets(b), 0);
	complete(a);
	assert_log(log, "1,2,20");
	assert_int_equal(targets(a), 0);
	assert_int_equal(targets(b), 1);
	put(b, 30);
	begin_batch(world);
	put(b, 40);
	complete(b);
	end_batch(world);
	assert_log(log, "1,2,20,30,40,C");
	assert_int_equal(targets(b), 0);
}

/* A16: the first is over when this is made. */
static void o13_concat_over_an_ended_one(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *c;

	complete(a);
	c = concat(world, a, b);
	assert_int_equal(value(c), 10);
	assert_int_equal(targets(a), 0);
	assert_int_equal(targets(b), 1);
	put(b, 20);
	assert_int_equal(value(c), 20);

	/* Lazy, its follower hears what the first one held. */
	c = concat(world, a, b);
	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	assert_int_equal(targets(b), 1);
	assert_log(follow(world, c), "1,20");
}

static void concat_of_batches(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct log *log = follow(world, concat(world, a, b));

	begin_batch(world);
	put(b, 20);
	put(a, 2);
	complete(a);
	complete(b);
	end_batch(world);
	assert_log(log, "1,2,20,C");
}

static void concat_of_events(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *c = concat(world, a, b);
	struct log *log = follow(world, c);
	struct hyphae_cell_info info;

	begin_batch(world);
	put(b, 10);
	put(a, 1);
	put(a, 1);
	complete(a);
	put(b, 20);
	put(b, 20);
	end_batch(world);
	assert_log(log, "1,1,20,20");
	assert_int_equal(hyphae_cell_info(c, &info), 0);
	assert_true(info.event);
}

/* An event that has spoken before its turn holds nothing. */
static void concat_and_a_past_event(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = event(world);
	struct log *log = follow(world, concat(world, a, b));

	put(b, 10);
	complete(a);
	assert_log(log, "");
	put(b, 20);
	assert_log(log, "20");
}

static void concat_and_errors(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 2), *b = source(world, 11);
	struct node *x = derive(world, odd_fails, a);
	struct node *y = derive(world, odd_fails, b);
	struct log *log = follow(world, concat(world, x->cell, y->cell));

	put(a, 3);
	put(a, 4);
	complete(a);
	put(b, 12);
	assert_log(log, "2,E(-5),4,E(-5),12");
	assert_int_equal(hyphae_cell_fail(b, -EPIPE, "gone"), 0);
	assert_log(log, "2,E(-5),4,E(-5),12,E(-32)!");
	assert_int_equal(targets(y->cell), 0);
}

/* The first fails for good: the second is never followed. */
static void concat_fails(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *c = concat(world, a, b);
	struct log *log = follow(world, c);

	assert_int_equal(hyphae_cell_fail(a, -EPIPE, "gone"), 0);
	assert_log(log, "1,E(-32)!");
	assert_int_equal(targets(b), 0);
}

/* A later input that lies higher, and one that rises meanwhile. */
static void concat_over_different_heights(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *high = b;
	struct hyphae_cell *c;
	struct node *sum;
	struct log *log;

	for (int i = 0; i < 5; i++)
		high = derive(world, same, high)->cell;
	c = concat(world, a, high);
	sum = derive(world, same, c);
	log = follow(world, sum->cell);
	begin(world);
	begin_batch(world);
	complete(a);
	put(b, 20);
	end_batch(world);
	assert_log(log, "1,20");
	begin(world);
	put(b, 30);
	assert_int_equal(sum->runs, 1);
	assert_log(log, "1,20,30");
}

/* A03: a hundred thousand that are over already, on a small stack. */
static const char *many_ended(void *arg)
{
	enum { MANY = 20000 };
	struct world *world = arg;
	struct hyphae_cell **cells = calloc(MANY, sizeof(*cells));
	struct hyphae_cell *c;
	struct hyphae_cell_info info;

	CHECK(cells);
	for (int i = 0; i < MANY; i++) {
		cells[i] = i % 2 ? hyphae_event_new(world->graph, &hyphae_int64)
				 : hyphae_int64_new(world->graph, i);
		CHECK(hyphae_cell_complete(cells[i]) == 0);
	}
	c = hyphae_concat(cells, MANY);
	CHECK(c);
	CHECK(hyphae_cell_info(c, &info) == 0);
	CHECK(info.ended);
	CHECK(info.inputs == 0);
	for (int i = 0; i < MANY; i++)
		CHECK(hyphae_cell_unref(cells[i]) == 0);
	CHECK(live_cells(world) == 1);
	CHECK(hyphae_cell_unref(c) == 0);
	free(cells);
	return NULL;
}

static void a03_concat_of_many(void **state)
{
	on_small_stack(65536, many_ended, *state);
}

/* Its inputs live while it may follow them, and cannot be given back. */
static void concat_keeps_its_inputs(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = hyphae_int64_new(world->graph, 1);
	struct hyphae_cell *b = hyphae_int64_new(world->graph, 10);
	struct hyphae_cell *c = concat(world, a, b);

	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(hyphae_cell_unref(b), -ESTALE);
	complete(a);
	assert_int_equal(value(c), 10);
	put(b, 20);
	assert_int_equal(value(c), 20);
	complete(b);
	assert_int_equal(hyphae_cell_id(b), 0);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(hyphae_cell_id(a), 0);
	assert_int_equal(live_cells(world), 1);
}

static void concat_is_released_early(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *c = hyphae_concat(LIST(a, b, a), 3);

	assert_int_equal(targets(a), 1);
	assert_int_equal(hyphae_cell_unref(c), 0);
	assert_int_equal(targets(a), 0);
	put(a, 2);
}

/* Idle it begins again with the first. */
static void concat_can_be_lazy(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *c = concat(world, a, b);
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	assert_int_equal(targets(a), 0);
	log = follow(world, c);
	assert_int_equal(targets(a), 1);
	complete(a);
	put(b, 20);
	assert_log(log, "1,10,20");
	stop(log);
	assert_int_equal(targets(b), 0);
	log = follow(world, c);
	complete(b);
	assert_log(log, "1,20,C");
}

/* A cell that comes to follow the concat of which it is the second input. */
static struct hyphae_cell *pick(const void *input, void *ctx)
{
	struct hyphae_cell **cells = ctx;

	return cells[*(const int64_t *)input];
}

static void c01_concat_depends_on_itself(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *outer = source(world, 0);
	struct hyphae_cell *cells[] = {a, NULL};
	struct hyphae_cell *inner = keep(
		world, hyphae_switch_map(outer, &hyphae_int64, pick, cells));
	struct log *log;

	cells[1] = concat(world, a, inner);
	log = follow(world, cells[1]);
	put(outer, 1);
	complete(a);
	assert_log(log, "1,E(-40)!");
	assert_int_equal(hyphae_graph_check_idle(world->graph), 0);
}

/* ---- race ------------------------------------------------------------------------ */

static void race_is_won_by_the_first(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *c = event(world);
	struct log *log = follow(world, race(world, a, b, c));

	assert_int_equal(targets(a) + targets(b) + targets(c), 3);
	put(b, 1);
	assert_int_equal(targets(a) + targets(c), 0);
	assert_int_equal(targets(b), 1);
	put(a, 2);
	put(b, 3);
	complete(b);
	assert_log(log, "1,3,C");
	assert_int_equal(targets(b), 0);
}

static void race_in_one_wave(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct log *log = follow(world, race(world, a, b));

	begin_batch(world);
	put(b, 10);
	put(a, 1);
	put(b, 11);
	put(a, 2);
	end_batch(world);
	/* Depth first too: a batch is a wave. */
	assert_log(log, "1,2");
}

static void race_of_cells(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 10);
	struct hyphae_cell *c = race(world, a, b);

	assert_int_equal(value(c), 1);
	assert_int_equal(targets(b), 0);
	put(a, 2);
	assert_int_equal(value(c), 2);
}

static void race_is_won_by_an_error_or_an_end(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct node *even = derive(world, odd_fails, a);
	struct log *healed = follow(world, race(world, b, even->cell));
	struct log *ended = follow(world, race(world, a, b));

	complete(b);
	assert_log(ended, "C");
	assert_log(healed, "C");
	b = event(world);
	healed = follow(world, race(world, b, even->cell));
	put(a, 1);
	put(b, 2);
	put(a, 4);
	assert_int_equal(hyphae_cell_fail(a, -EPIPE, NULL), 0);
	assert_log(healed, "E(-5),4,E(-32)!");
}

static void race_can_be_lazy(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = event(world), *b = event(world);
	struct hyphae_cell *c = race(world, a, b);
	struct log *log;

	put(a, 1);
	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	assert_int_equal(targets(a) + targets(b), 0);
	log = follow(world, c);
	put(b, 2);
	put(a, 3);
	assert_log(log, "2");
	stop(log);
	log = follow(world, c);
	put(a, 4);
	put(b, 5);
	assert_log(log, "4");
}

/* ---- group ------------------------------------------------------------------------ */

struct census {
	struct hyphae_cell *group;
	size_t count;
};

/* "2:0+3": two changed, those at 0 and 3. */
static int note_members(struct log *log, const struct hyphae_signal *signal)
{
	struct census *census = log->arg;
	size_t at = 0;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	for (size_t i = 0; hyphae_group_next(census->group, &i) == 1; i++) {
		note(log, "%zu", i);
		at++;
	}
	for (size_t i = 0; i < census->count; i++)
		at -= (size_t)hyphae_group_changed(census->group, i);
	if (at)
		note(log, "?");
	return 0;
}

static void group_of_different_types(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *e = event(world);
	struct hyphae_cell *s =
		keep(world, hyphae_string_new(world->graph, "spore"));
	struct node *even = derive(world, odd_fails, a);
	struct census census = {group(world, a, s, e, even->cell), 4};
	struct log *log =
		follow_with(world, census.group, note_members, &census, 0);

	assert_int_equal(hyphae_group_changed(census.group, 0), 0);
	put(e, 5);
	assert_int_equal(hyphae_string_set(s, "moss"), 0);
	assert_int_equal(hyphae_string_set(s, "moss"), HYPHAE_UNCHANGED);
	assert_log(log, "1,2,1,1");
	begin_batch(world);
	put(a, 2);
	put(e, 5);
	put(e, 5);
	assert_int_equal(hyphae_string_set(s, "spore"), 0);
	end_batch(world);
	assert_log(log, "1,2,1,1,4,0,1,2,3,1,2");
	assert_int_equal(hyphae_group_changed(census.group, 3), 0);
}

static void group_and_ends(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 1);
	struct census census = {group(world, a, b), 2};
	struct log *log =
		follow_with(world, census.group, note_members, &census, 0);

	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), 0);
	begin_batch(world);
	put(b, 2);
	complete(b);
	end_batch(world);
	assert_log(log, "1,0,1,1,C");
	assert_int_equal(targets(a) + targets(b), 0);
	assert_int_equal(hyphae_group_changed(census.group, 1), 1);
}

static void group_of_many(void **state)
{
	enum { MANY = 1000 };
	struct world *world = *state;
	struct hyphae_cell *cells[MANY];
	struct census census;
	struct log *log;

	for (int i = 0; i < MANY; i++)
		cells[i] = source(world, 0);
	census.group = keep(world, hyphae_group(cells, MANY));
	census.count = MANY;
	log = follow_with(world, census.group, note_members, &census, 0);
	begin_batch(world);
	put(cells[0], 1);
	put(cells[63], 1);
	put(cells[64], 1);
	put(cells[999], 1);
	end_batch(world);
	put(cells[500], 1);
	assert_log(log, "4,0,63,64,999,1,500");
}

static void group_asked_wrongly(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1);
	struct hyphae_cell *g = hyphae_group(&a, 1);
	struct hyphae_cell *m = derive(world, same, a)->cell;
	size_t at = 64;

	assert_int_equal(hyphae_group_changed(g, 1), -EINVAL);
	assert_int_equal(hyphae_group_changed(a, 0), -EINVAL);
	assert_int_equal(hyphae_group_changed(m, 0), -EINVAL);
	assert_int_equal(hyphae_group_changed(NULL, 0), -EINVAL);
	assert_int_equal(hyphae_group_next(g, &at), 0);
	assert_int_equal(at, 64);
	assert_int_equal(hyphae_group_next(g, NULL), -EINVAL);
	assert_int_equal(hyphae_group_next(m, &at), -EINVAL);
	assert_int_equal(hyphae_group_next(NULL, &at), -EINVAL);
	assert_int_equal(hyphae_cell_unref(g), 0);
	assert_int_equal(hyphae_group_next(g, &at), -ESTALE);
	assert_int_equal(hyphae_group_changed(g, 0), -ESTALE);
}

static void group_can_be_lazy(void **state)
{
	struct world *world = *state;
	struct hyphae_cell *a = source(world, 1), *b = source(world, 1);
	struct hyphae_cell *g = group(world, a, b);
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(g), 0);
	put(a, 2);
	log = follow(world, g);
	assert_log(log, "");
	put(a, 3);
	assert_log(log, "1");
	stop(log);
	assert_int_equal(targets(a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(o13_concat),
		CASE(o13_concat_over_an_ended_one),
		CASE(concat_of_batches),
		CASE(concat_of_events),
		CASE(concat_and_a_past_event),
		CASE(concat_and_errors),
		CASE(concat_fails),
		CASE(concat_over_different_heights),
		CASE(a03_concat_of_many),
		CASE(concat_keeps_its_inputs),
		CASE(concat_is_released_early),
		CASE(concat_can_be_lazy),
		CASE(c01_concat_depends_on_itself),
		CASE(race_is_won_by_the_first),
		CASE(race_in_one_wave),
		CASE(race_of_cells),
		CASE(race_is_won_by_an_error_or_an_end),
		CASE(race_can_be_lazy),
		CASE(group_of_different_types),
		CASE(group_and_ends),
		CASE(group_of_many),
		CASE(group_asked_wrongly),
		CASE(group_can_be_lazy),
	};

	return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
