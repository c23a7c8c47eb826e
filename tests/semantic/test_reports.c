/* SPDX-License-Identifier: MIT */
/*
 * Faults that users of other reactive libraries reported, about what is told,
 * and in what order: of each the whole kind, over everything here that could
 * have it.  test_reports_depth.c has those about depth, test_reports_end.c those
 * about ends, leaks and old values, test_reports_runs.c those about glitches,
 * runs and errors, ../unit/test_thread_reports.c those that need several
 * threads.
 *
 * What other programs hold fixed already, and what is added here:
 *
 *   fault                         elsewhere            here
 *   A04 value lost by reentrancy  t05_*                every operator
 *   A05 last value lost           t02_*                every operator of time
 *   A06 last value doubled        t03_*                every operator of time
 *   A07 two inners alive          o10_*                writes in a tear-down
 *   A08 different orders          r03_*, events        operators, ends
 *   A13 lists changed in a walk   s02_* to s06_*       every subset
 *   A16 cost of unsubscribing     w04_*                what is left, in order
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "marbles.h"
#include "shapes.h"

FN(same, in[0]);

/* ---- A04: a value that comes while one is told ----------------------------------- */

static int set_next_up_to_four(struct log *log,
			       const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) < 4)
		return hyphae_int64_set(log->arg, hyphae_int64_of(signal) + 1);
	return 0;
}

static void tell_four(struct world *w, link_fn make, bool event,
		      const char *expected)
{
	struct hyphae_cell *first =
		event ? hyphae_event_new(w->graph, &hyphae_int64)
		      : hyphae_int64_new(w->graph, 0);
	struct hyphae_cell *cell = make(w, first);
	struct log *log = log_new(w, set_next_up_to_four, first);

	assert_non_null(cell);
	assert_non_null(log_subscribe(log, cell, HYPHAE_SKIP_INITIAL));
	assert_int_equal(hyphae_int64_set(first, 1), 0);
	for (int i = 0; i < 20 && armed(w); i++) {
		struct hyphae_clock *clock = hyphae_graph_clock(w->graph);

		pass(clock, 1);
		marble_clock_done(clock);
	}
	assert_log(log, expected);
	assert_int_equal(log->deepest, 1);
	hyphae_unsubscribe(log->subscription);
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(hyphae_cell_unref(first), 0);
	assert_int_equal(live_cells(w), 0);
}

static void a04_every_operator(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < LINKS; i++) {
		tell_four(w, links[i].make, false, "1,2,3,4");
		if (links[i].of_event)
			tell_four(w, links[i].make, true, "1,2,3,4");
	}
}

LINK(debounce, hyphae_debounce(in, 1 * FRAME));
LINK(leading, hyphae_throttle(in, 2 * FRAME, HYPHAE_LEADING));
LINK(trailing, hyphae_throttle(in, 2 * FRAME, HYPHAE_TRAILING));
LINK(both, hyphae_throttle(in, 2 * FRAME, HYPHAE_BOTH_EDGES));
LINK(audit, hyphae_audit(in, 2 * FRAME));
LINK(sample_time, hyphae_sample_time(in, 2 * FRAME));
LINK(delay, hyphae_delay(in, 2 * FRAME, 8, HYPHAE_OVERFLOW_FAIL));
LINK(delay0, hyphae_delay(in, 0, 8, HYPHAE_OVERFLOW_FAIL));
LINK(buffer_time,
     hyphae_buffer_time(in, 2 * FRAME, 8, &hyphae_int64, copy_first, NULL));
LINK(timeout, hyphae_timeout(in, 5 * FRAME));

/* What is told here is told while time stands at a timer. */
static void a04_every_operator_of_time(void **state)
{
	static const struct {
		link_fn make;
		const char *expected;
	} timed[] = {
		{debounce_link, "1,2,3,4"},
		/* The next one comes inside the window, and is passed over. */
		{leading_link, "1"},
		{trailing_link, "1,2,3,4"},
		{both_link, "1,2,3,4"},
		{audit_link, "1,2,3,4"},
		{sample_time_link, "1,2,3,4"},
		{delay_link, "1,2,3,4"},
		{delay0_link, "1,2,3,4"},
		{buffer_time_link, "1,2,3,4"},
		{timeout_link, "1,2,3,4,E(-110)!"},
	};
	struct world *w = *state;
	struct hyphae_clock *clock = marble_clock(w);

	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
		tell_four(w, timed[i].make, true, timed[i].expected);
	marble_clock_done(clock);
}

/* ---- A05, A06: the last value, once ----------------------------------------------- */

#define OP(name_, expression)                                                  \
	static struct hyphae_cell *name_(struct hyphae_cell *input)            \
	{                                                                      \
		return expression;                                             \
	}                                                                      \
	struct semantic_##name_##_needs_semicolon

OP(debounce3, hyphae_debounce(input, 3 * FRAME));
OP(leading4, hyphae_throttle(input, 4 * FRAME, HYPHAE_LEADING));
OP(trailing4, hyphae_throttle(input, 4 * FRAME, HYPHAE_TRAILING));
OP(both4, hyphae_throttle(input, 4 * FRAME, HYPHAE_BOTH_EDGES));
OP(audit4, hyphae_audit(input, 4 * FRAME));
OP(sample4, hyphae_sample_time(input, 4 * FRAME));
OP(delay3, hyphae_delay(input, 3 * FRAME, 8, HYPHAE_OVERFLOW_FAIL));
OP(buffer4, hyphae_buffer_time(input, 4 * FRAME, 8, &hyphae_string, marble_join,
			       MARBLE_TYPE(input)));
OP(timeout9, hyphae_timeout(input, 9 * FRAME));

static const marble_op timed_ops[] = {
	debounce3, leading4, trailing4, both4,	  audit4,
	sample4,   delay3,   buffer4,	timeout9,
};

#define TIMED (sizeof(timed_ops) / sizeof(timed_ops[0]))

static void each_timed(struct world *w, const char *in,
		       const char *const expected[TIMED])
{
	for (size_t i = 0; i < TIMED; i++)
		marble_events(w, timed_ops[i], in, expected[i]);
}

static void a05_pending_is_told_at_completion(void **state)
{
	static const char *const expected[TIMED] = {
		"---(b|)",    /* debounce */
		"-a-|",	      /* throttle, the leading edge: none is pending */
		"---(b|)",    /* the trailing one */
		"-a-(b|)",    /* both */
		"---(b|)",    /* audit */
		"---(b|)",    /* sample_time */
		"----ab|",    /* delay: all of it, late */
		"---([ab]|)", /* buffer_time */
		"-ab|",	      /* timeout */
	};

	each_timed(*state, "-ab|", expected);
}

static void a05_pending_is_told_in_the_frame_it_came_in(void **state)
{
	static const char *const expected[TIMED] = {
		"-(a|)", "-(a|)",    "-(a|)", "-(a|)", "-(a|)",
		"-(a|)", "----(a|)", "-(a|)", "-(a|)",
	};

	each_timed(*state, "-(a|)", expected);
}

static void a06_told_once(void **state)
{
	static const char *const expected[TIMED] = {
		"----a----|",	 "-a-------|", "-----a---|",
		"-a-------|",	 "-----a---|", "----a----|",
		"----a-------|", "----a----|", "-a-------|",
	};

	each_timed(*state, "-a-------|", expected);
}

static void a06_not_again_at_a_failure(void **state)
{
	static const char *const expected[TIMED] = {
		"----a----#", "-a-------#", "-----a---#",
		"-a-------#", "-----a---#", "----a----#",
		"----a----#", "----a----#", "-a-------#",
	};

	each_timed(*state, "-a-------#", expected);
}

/* Nor by an error that heals, by its healing, or later. */
static void a06_not_again_after_an_error(void **state)
{
	marble_events(*state, debounce3, "-a------!--b-----|",
		      "----a---!-----b--|");
	marble_events(*state, trailing4, "-a------!--b-----|",
		      "-----a--!------b-|");
	marble_events(*state, both4, "-a------!--b-----|",
		      "-a------!--b-----|");
	marble_events(*state, audit4, "-a------!--b-----|",
		      "-----a--!------b-|");
	marble_events(*state, sample4, "-a------!--b-----|",
		      "----a---!---b----|");
	marble_events(*state, buffer4, "-a------!--b-----|",
		      "----a---!---b----|");
}

/* ---- A07: two inners alive ---------------------------------------------------------- */

struct inners {
	struct world *world;
	struct hyphae_cell *outer;
	int64_t on_cleanup[4]; /* what to set outer to when inner i goes */
	int64_t on_value[4];   /* and when it is told */
	char events[128];      /* "+1-1+2" */
	int code;
};

struct one_inner {
	struct inners *inners;
	int64_t number;
};

static void inners_note(struct inners *inners, char sign, int64_t number)
{
	size_t length = strlen(inners->events);

	snprintf(inners->events + length, sizeof(inners->events) - length,
		 "%c%lld", sign, (long long)number);
}

static void inner_set_outer(struct inners *inners, int64_t to)
{
	int r = to ? hyphae_int64_set(inners->outer, to) : 0;

	if (r < 0)
		inners->code = r;
}

static int inner_told(const struct hyphae_signal *signal, void *ctx)
{
	struct one_inner *one = ctx;

	(void)signal;
	inner_set_outer(one->inners, one->inners->on_value[one->number]);
	return 0;
}

static void inner_cleanup(void *ctx)
{
	struct one_inner *one = ctx;

	inners_note(one->inners, '-', one->number);
	inner_set_outer(one->inners, one->inners->on_cleanup[one->number]);
}

static struct hyphae_cell *make_inner(const void *value_, void *ctx)
{
	struct inners *inners = ctx;
	struct one_inner *one = malloc(sizeof(*one));
	struct hyphae_cell *inner;
	struct hyphae_subscription_options options = {
		.fn = inner_told,
		.ctx = one,
		.drop = free,
		.cleanup = inner_cleanup,
	};

	if (!one)
		return NULL;
	one->inners = inners;
	one->number = *(const int64_t *)value_;
	inner = hyphae_int64_new(inners->world->graph, one->number * 10);
	inners_note(inners, '+', one->number);
	if (!hyphae_subscribe_options(inner, &options))
		inners->code = -errno;
	return inner;
}

static void inners_begin(struct world *w, struct inners *inners)
{
	inners->world = w;
	inners->outer = source(w, 1);
}

static struct hyphae_cell *inners_switch(struct inners *inners)
{
	return keep(inners->world,
		    hyphae_switch_map(inners->outer, &hyphae_int64, make_inner,
				      inners));
}

/* The report itself: the tear-down of 1 asks for 3 while 2 is on its way. */
static void a07_tear_down_sets_the_outer(void **state)
{
	static struct inners inners;
	struct world *w = *state;
	struct log *log;

	inners = (struct inners){.on_cleanup = {0, 3}};
	inners_begin(w, &inners);
	log = follow(w, inners_switch(&inners));
	assert_string_equal(inners.events, "+1");
	put(inners.outer, 2);
	assert_int_equal(inners.code, 0);
	assert_log(log, "10,20,30");
	/* Clean-ups run when the wave that ended their subscription is over. */
	assert_string_equal(inners.events, "+1+2-1+3-2");
	/* outer, selector, switch, the inner of 3 */
	assert_int_equal(live_cells(w), 4);
	assert_int_equal(live_subs(w), 2);
}

/* Who is told of inner 1 (or 2) moves on at once. */
static void a07_inner_sets_the_outer(void **state)
{
	static struct inners inners;
	struct world *w = *state;
	struct log *log;

	inners = (struct inners){.on_value = {0, 2, 3}};
	inners_begin(w, &inners);
	log = follow(w, inners_switch(&inners));
	put(inners.outer, 0);
	put(inners.outer, 1);
	assert_int_equal(inners.code, 0);
	assert_int_equal(value(inners.outer), 3);
	assert_log(log, "30,0,10,20,30");
	assert_int_equal(live_cells(w), 4);
	assert_int_equal(live_subs(w), 2);
	/* Made in a function, they move on before anybody is told. */
	assert_string_equal(inners.events, "+1+2+3-1-2+0-3+1+2+3-0-1-2");
}

/* Switched away from and back to within one batch, with the same inner. */
static void a07_one_inner_after_every_batch(void **state)
{
	static struct inners inners;
	struct world *w = *state;
	struct log *log;

	inners = (struct inners){.world = w};
	inners_begin(w, &inners);
	log = follow(w, inners_switch(&inners));
	for (int64_t i = 0; i < 3; i++) {
		begin_batch(w);
		put(inners.outer, 3);
		put(inners.outer, 2 - (i & 1));
		put(inners.outer, 2 - !(i & 1));
		end_batch(w);
		assert_int_equal(live_cells(w), 4);
		assert_int_equal(live_subs(w), 2);
	}
	assert_log(log, "10,20,10");
	assert_string_equal(inners.events, "+1+2-1+1-2");
}

/* ---- A08: one order for all ----------------------------------------------------------- */

static int set_two_after_one(struct log *log,
			     const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 1)
		return hyphae_int64_set(log->arg, 2);
	return 0;
}

/* Followers before and behind the writer, of every operator, agree. */
static void a08_one_order_below_every_operator(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *before[LINKS], *behind[LINKS];
	struct hyphae_cell *cells[LINKS];

	for (size_t i = 0; i < LINKS; i++) {
		cells[i] = keep(w, links[i].make(w, a));
		before[i] = follow_with(w, cells[i], NULL, NULL,
					HYPHAE_SKIP_INITIAL);
	}
	follow_with(w, a, set_two_after_one, a, 0);
	for (size_t i = 0; i < LINKS; i++)
		behind[i] = follow_with(w, cells[i], NULL, NULL,
					HYPHAE_SKIP_INITIAL);
	put(a, 1);
	put(a, 3);
	for (size_t i = 0; i < LINKS; i++) {
		assert_log(before[i], "1,2,3");
		assert_log(behind[i], "1,2,3");
	}
}

static int end_after_one(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind != HYPHAE_VALUE || hyphae_int64_of(signal) != 1)
		return 0;
	return log->number ? hyphae_cell_fail(log->arg, -EIO, NULL)
			   : hyphae_cell_complete(log->arg);
}

/* The end, too, comes after the value for those behind who asked for it. */
static void a08_the_end_is_in_order(void **state)
{
	struct world *w = *state;

	for (int fails = 0; fails < 2; fails++) {
		struct hyphae_cell *a = source(w, 0);
		struct node *d = derive(w, same, a);
		struct log *first = follow(w, a), *below = follow(w, d->cell);
		struct log *middle = follow_with(w, a, end_after_one, a, 0);
		struct log *last = follow(w, a),
			   *last_below = follow(w, d->cell);
		const char *expected = fails ? "0,1,E(-5)!" : "0,1,C";

		middle->number = fails;
		put(a, 1);
		assert_log(first, expected);
		assert_log(middle, expected);
		assert_log(last, expected);
		assert_log(below, expected);
		assert_log(last_below, expected);
		assert_int_equal(hyphae_int64_set(a, 2), -ESHUTDOWN);
	}
}

/* Three writers in one wave, each of the cell that all follow. */
static int add_ten_below_hundred(struct log *log,
				 const struct hyphae_signal *signal)
{
	int64_t now = hyphae_int64_of(signal);

	return now < 50 ? hyphae_int64_set(log->arg, now + log->number) : 0;
}

static void a08_several_writers(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 100);
	struct log *log[7];

	for (int i = 0; i < 7; i++) {
		log[i] = follow_with(w, a, i % 2 ? add_ten_below_hundred : NULL,
				     a, HYPHAE_SKIP_INITIAL);
		log[i]->number = 10 * (i + 1);
	}
	put(a, 1);
	/* One wave for what they wrote in one: the last one's value. */
	for (int i = 0; i < 7; i++)
		assert_log(log[i], "1,61");
}

/* ---- A13: lists that change while they are walked --------------------------------------- */

enum { WALKERS = 5 };

struct walker {
	struct walk *walk;
	int number;
	unsigned int calls;
	unsigned char canary[16];
};

struct walk {
	struct world *world;
	struct hyphae_cell *cell[2];
	struct walker *walker[WALKERS];
	struct hyphae_subscription *subscription[WALKERS];
	int actor;	   /* -1: nobody acts */
	unsigned int mask; /* whom it ends */
	unsigned int add;  /* how many it subscribes */
	unsigned int called, added, freed, bad;
};

static int added_call(const struct hyphae_signal *signal, void *ctx)
{
	struct walk *walk = ctx;

	(void)signal;
	walk->added++;
	return 0;
}

static void walker_drop(void *ctx)
{
	struct walker *walker = ctx;

	walker->walk->freed |= 1u << walker->number;
	memset(walker->canary, 0, sizeof(walker->canary));
	free(walker);
}

static int walker_call(const struct hyphae_signal *signal, void *ctx)
{
	struct walker *walker = ctx;
	struct walk *walk = walker->walk;

	(void)signal;
	walker->calls++;
	walk->called |= 1u << walker->number;
	if (walk->actor == walker->number) {
		for (int i = 0; i < WALKERS; i++)
			if (walk->mask & 1u << i &&
			    hyphae_unsubscribe(walk->subscription[i]) != 0)
				walk->bad++;
		for (unsigned int i = 0; i < walk->add; i++)
			if (!hyphae_subscribe(walk->cell[i % 2], added_call,
					      walk))
				walk->bad++;
	}
	/* Its own context is there until it has returned. */
	for (size_t i = 0; i < sizeof(walker->canary); i++)
		walk->bad += walker->canary[i] != 0x5a;
	return 0;
}

static void walk_begin(struct walk *walk)
{
	for (int i = 0; i < WALKERS; i++) {
		struct walker *walker = malloc(sizeof(*walker));

		assert_non_null(walker);
		*walker = (struct walker){.walk = walk, .number = i};
		memset(walker->canary, 0x5a, sizeof(walker->canary));
		walk->walker[i] = walker;
		walk->subscription[i] = hyphae_subscribe_with(
			walk->cell[i % 2], walker_call, walker, walker_drop,
			HYPHAE_SKIP_INITIAL);
		assert_non_null(walk->subscription[i]);
	}
}

static void walk_once(struct walk *walk, int64_t *number)
{
	const unsigned int all = (1u << WALKERS) - 1;
	unsigned int late = all & ~((2u << walk->actor) - 1);

	walk->called = walk->added = walk->freed = 0;
	walk_begin(walk);
	put(walk->cell[0], ++*number);
	assert_int_equal(walk->bad, 0);
	/* Those behind the actor whom it ended were not called. */
	assert_int_equal(walk->called, all & ~(late & walk->mask));
	assert_int_equal(walk->freed, walk->mask);
	assert_int_equal(walk->added, walk->add);
	walk->called = walk->added = 0;
	walk->actor = -1;
	put(walk->cell[0], ++*number);
	assert_int_equal(walk->called, all & ~walk->mask);
	assert_int_equal(walk->added, walk->add);
	assert_int_equal(hyphae_unsubscribe_all(walk->cell[0]), 0);
	assert_int_equal(hyphae_unsubscribe_all(walk->cell[1]), 0);
	assert_int_equal(walk->freed, all);
	assert_int_equal(live_subs(walk->world), 0);
}

/*
 * Each of five subscribers, on one cell or in turns on two, ends each subset
 * of them, itself included, and adds none or three.
 */
static void every_subset(struct world *w, bool two_cells)
{
	struct hyphae_cell *a = source(w, 0);
	struct node *d = derive(w, same, a);
	struct walk walk = {.world = w};
	int64_t number = 0;

	walk.cell[0] = a;
	walk.cell[1] = two_cells ? d->cell : a;
	for (int actor = 0; actor < WALKERS; actor++)
		for (unsigned int mask = 0; mask < 1u << WALKERS; mask++)
			for (unsigned int add = 0; add <= 3; add += 3) {
				walk.actor = actor;
				walk.mask = mask;
				walk.add = add;
				walk_once(&walk, &number);
			}
}

static void a13_every_subset_of_one_cell(void **state)
{
	every_subset(*state, false);
}

static void a13_every_subset_of_two_cells(void **state)
{
	struct world *w = *state;

	/* Depth first, those of the lower cell have been called before. */
	if (!w->eager)
		every_subset(w, true);
}

/* ---- A16: what is left of many ------------------------------------------------------------ */

enum { CROWD = 5000 };

struct crowd {
	unsigned int next; /* the one that has to come now */
	unsigned int wrong, calls;
	bool gone[CROWD];
};

struct one_of_many {
	struct crowd *crowd;
	unsigned int number;
};

static int in_turn(const struct hyphae_signal *signal, void *ctx)
{
	struct one_of_many *one = ctx;
	struct crowd *crowd = one->crowd;

	(void)signal;
	while (crowd->next < CROWD && crowd->gone[crowd->next])
		crowd->next++;
	crowd->wrong += crowd->next != one->number;
	crowd->next = one->number + 1;
	crowd->calls++;
	return 0;
}

/* Two thirds go, in an order without order; the rest keeps its own. */
static void a16_order_of_those_who_stay(void **state)
{
	static struct one_of_many one[CROWD];
	static struct hyphae_subscription *s[CROWD];
	static struct crowd crowd;
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	unsigned int left = CROWD;

	memset(&crowd, 0, sizeof(crowd));
	for (unsigned int i = 0; i < CROWD; i++) {
		one[i] = (struct one_of_many){&crowd, i};
		s[i] = hyphae_subscribe_with(a, in_turn, &one[i], NULL,
					     HYPHAE_SKIP_INITIAL);
		assert_non_null(s[i]);
	}
	for (unsigned int i = 0; i < CROWD; i++) {
		unsigned int at = (i * 1999u) % CROWD; /* each of them once */

		if (at % 3 == 0)
			continue;
		assert_int_equal(hyphae_unsubscribe(s[at]), 0);
		crowd.gone[at] = true;
		left--;
	}
	put(a, 1);
	assert_int_equal(crowd.calls, left);
	assert_int_equal(crowd.wrong, 0);
	assert_int_equal(targets(a), left);
	assert_int_equal(hyphae_unsubscribe_all(a), 0);
	assert_int_equal(targets(a), 0);
}

/* The same of derived cells, released in an order without order. */
static void a16_derived_cells_of_one_source(void **state)
{
	static struct hyphae_cell *cells[CROWD];
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	size_t left = CROWD;

	for (unsigned int i = 0; i < CROWD; i++) {
		cells[i] = map_link(w, a);
		assert_non_null(cells[i]);
	}
	assert_int_equal(targets(a), CROWD);
	for (unsigned int i = 0; i < CROWD; i++) {
		unsigned int at = (i * 1999u) % CROWD;

		assert_int_equal(hyphae_cell_unref(cells[at]), 0);
		cells[at] = NULL;
		assert_int_equal(targets(a), --left);
		if (left % 1000 == 1) {
			put(a, (int64_t)i + 1);
			for (unsigned int k = 0; k < CROWD; k++)
				if (cells[k])
					assert_int_equal(value(cells[k]),
							 i + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a04_every_operator),
		CASE(a04_every_operator_of_time),
		CASE(a05_pending_is_told_at_completion),
		CASE(a05_pending_is_told_in_the_frame_it_came_in),
		CASE(a06_told_once),
		CASE(a06_not_again_at_a_failure),
		CASE(a06_not_again_after_an_error),
		CASE(a07_tear_down_sets_the_outer),
		CASE(a07_inner_sets_the_outer),
		CASE(a07_one_inner_after_every_batch),
		CASE(a08_one_order_below_every_operator),
		CASE(a08_the_end_is_in_order),
		CASE(a08_several_writers),
		CASE(a13_every_subset_of_one_cell),
		CASE(a13_every_subset_of_two_cells),
		CASE(a16_order_of_those_who_stay),
		CASE(a16_derived_cells_of_one_source),
	};

	return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}
