/* SPDX-License-Identifier: MIT */
/* Group S: subscribing and unsubscribing during notification; order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "effect.h"

FN(inc, in[0] + 1);
FN(twice, in[0] * 2);

/* The order of calls over several logs: each appends its number. */
static int note_number(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	note(log->arg, "%lld", (long long)log->number);
	return 0;
}

static struct log *numbered(struct world *w, struct hyphae_cell *cell,
			    struct log *order, int64_t number)
{
	struct log *log =
		follow_with(w, cell, note_number, order, HYPHAE_SKIP_INITIAL);

	log->number = number;
	return log;
}

static void s01_order_of_subscription(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct log *s[6];
	int i;

	for (i = 1; i <= 5; i++)
		s[i] = numbered(w, a, order, i);
	put(a, 1);
	assert_log(order, "1,2,3,4,5");
	stop(s[3]);
	put(a, 2);
	assert_log(order, "1,2,3,4,5,1,2,4,5");
	numbered(w, a, order, 6);
	stop(s[1]);
	put(a, 3);
	assert_log(order, "1,2,3,4,5,1,2,4,5,2,4,5,6");
}

/* The order is that of the whole graph and not of one cell. */
static void s01_order_over_the_graph(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, twice, b->cell);
	struct log *order = log_new(w, NULL, NULL);

	numbered(w, c->cell, order, 1);
	numbered(w, a, order, 2);
	numbered(w, b->cell, order, 3);
	numbered(w, c->cell, order, 4);
	numbered(w, a, order, 5);
	begin_batch(w);
	put(a, 1);
	end_batch(w);
	assert_log(order, "1,2,3,4,5");
	put(a, 2);
	/* Eager, bare: each cell's own, deepest first. */
	assert_log(order,
		   w->eager ? "1,2,3,4,5,1,4,3,2,5" : "1,2,3,4,5,1,2,3,4,5");
}

/* A context that is freed by `drop`, and used after the unsubscribe. */
struct canary {
	struct hyphae_subscription *subscription;
	unsigned int *calls;
	unsigned int *drops;
	int *code;
	char song[8];
};

static int unsubscribe_self(const struct hyphae_signal *signal, void *ctx)
{
	struct canary *canary = ctx;

	++*canary->calls;
	if (hyphae_int64_of(signal) < 1)
		return 0;
	*canary->code = hyphae_unsubscribe(canary->subscription);
	/* Still ours until we return. */
	return strcmp(canary->song, "tweet") ? -EFAULT : 0;
}

static void free_canary(void *ctx)
{
	struct canary *canary = ctx;

	++*canary->drops;
	memset(canary, 0xee, sizeof(*canary));
	free(canary);
}

static void s02_unsubscribe_yourself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *after;
	struct canary *canary = calloc(1, sizeof(*canary));
	unsigned int calls = 0, drops = 0;
	int code = 1;

	assert_non_null(canary);
	*canary = (struct canary){.calls = &calls,
				  .drops = &drops,
				  .code = &code,
				  .song = "tweet"};
	canary->subscription = hyphae_subscribe_with(a, unsubscribe_self,
						     canary, free_canary, 0);
	assert_non_null(canary->subscription);
	after = follow(w, a);
	assert_int_equal(live_subs(w), 2);
	put(a, 1);
	assert_int_equal(code, 0);
	assert_int_equal(calls, 2);
	assert_int_equal(drops, 1);
	assert_int_equal(live_subs(w), 1);
	put(a, 2);
	assert_int_equal(calls, 2);
	assert_log(after, "0,1,2");
}

/* arg: a log to unsubscribe when the value is 1. */
static int unsubscribe_other(struct log *log,
			     const struct hyphae_signal *signal)
{
	struct log *victim = log->arg;

	if (hyphae_int64_of(signal) == 1)
		log->code = hyphae_unsubscribe(victim->subscription);
	return 0;
}

static void s03_unsubscribe_the_next(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow_with(w, a, unsubscribe_other, NULL, 0);
	struct log *s2 = follow(w, a);
	struct log *s3 = follow(w, a);

	s1->code = 1;
	s1->arg = s2;
	put(a, 1);
	assert_int_equal(s1->code, 0);
	assert_log(s1, "0,1");
	assert_log(s2, "0");
	assert_log(s3, "0,1");
	assert_int_equal(s2->drops, 1);
	put(a, 2);
	assert_log(s2, "0");
	assert_log(s3, "0,1,2");
}

/* The one before has had its call; it gets no further. */
static void s03_unsubscribe_the_one_before(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow(w, a);
	struct log *s2 = follow_with(w, a, unsubscribe_other, s1, 0);
	struct log *s3 = follow(w, a);

	put(a, 1);
	put(a, 2);
	assert_log(s1, "0,1");
	assert_log(s2, "0,1,2");
	assert_log(s3, "0,1,2");
}

/* arg: a log to subscribe to the own cell when the value is 2. */
static int subscribe_other(struct log *log, const struct hyphae_signal *signal)
{
	struct log *fresh = log->arg;

	if (hyphae_int64_of(signal) == 2 && !fresh->subscription)
		log_subscribe(fresh, log->cell, 0);
	return 0;
}

static void s05_subscribe_in_a_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s9 = log_new(w, NULL, NULL);

	follow_with(w, a, subscribe_other, s9, 0);
	put(a, 1);
	assert_log(s9, "");
	put(a, 2);
	keep_sub(w, s9->subscription);
	assert_log(s9, "2");
	put(a, 3);
	assert_log(s9, "2,3");
}

#define CROWD 1000

struct settlers {
	struct hyphae_cell *cells[CROWD];
	struct hyphae_subscription *subs[CROWD];
	unsigned long calls;
	unsigned int made;
};

static int count_call(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	++*(unsigned long *)ctx;
	return 0;
}

static int settle_down(struct log *log, const struct hyphae_signal *signal)
{
	struct settlers *settlers = log->arg;
	int i;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	for (i = 0; i < CROWD; i++) {
		settlers->cells[i] = hyphae_int64_new(log->world->graph, i);
		settlers->subs[i] = hyphae_subscribe(
			settlers->cells[i], count_call, &settlers->calls);
		settlers->made += settlers->subs[i] != NULL;
	}
	return 0;
}

/* Whatever room the wave has for its subscribers, it may have to move. */
static void s05_many_subscriptions_in_a_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	static struct settlers settlers;
	struct log *s1, *s2, *s3, *s4;
	int i;

	settlers = (struct settlers){.calls = 0};
	s1 = follow_with(w, a, settle_down, &settlers, 0);
	s2 = follow(w, b);
	s3 = follow(w, a);
	s4 = follow(w, b);
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	end_batch(w);
	assert_int_equal(settlers.made, CROWD);
	assert_int_equal(settlers.calls, CROWD);
	assert_log(s1, "0,1");
	assert_log(s2, "0,1");
	assert_log(s3, "0,1");
	assert_log(s4, "0,1");
	for (i = 0; i < CROWD; i++) {
		put(settlers.cells[i], -1);
		assert_int_equal(hyphae_unsubscribe(settlers.subs[i]), 0);
		assert_int_equal(hyphae_cell_unref(settlers.cells[i]), 0);
	}
	assert_int_equal(settlers.calls, 2 * CROWD);
}

struct swarm {
	struct log *logs[5];
	int codes[5];
};

static int unsubscribe_all(struct log *log, const struct hyphae_signal *signal)
{
	struct swarm *swarm = log->arg;
	int i;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	for (i = 0; i < 5; i++)
		swarm->codes[i] =
			hyphae_unsubscribe(swarm->logs[i]->subscription);
	return 0;
}

static void s06_unsubscribe_all_in_a_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct swarm swarm;
	int i;

	swarm.logs[0] = follow_with(w, a, unsubscribe_all, &swarm, 0);
	for (i = 1; i < 5; i++)
		swarm.logs[i] = follow(w, a);
	put(a, 1);
	assert_log(swarm.logs[0], "0,1");
	for (i = 0; i < 5; i++)
		assert_int_equal(swarm.codes[i], 0);
	for (i = 1; i < 5; i++)
		assert_log(swarm.logs[i], "0");
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(targets(a), 0);
	put(a, 2);
	assert_log(swarm.logs[0], "0,1");
}

static void s07_stale_handles(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	unsigned long calls = 0;
	struct hyphae_subscription *first =
		hyphae_subscribe(a, count_call, &calls);
	struct hyphae_subscription *second;
	int i;

	assert_non_null(first);
	assert_true(hyphae_subscription_id(first) != 0);
	assert_int_equal(hyphae_unsubscribe(first), 0);
	assert_int_equal(hyphae_unsubscribe(first), -ESTALE);
	assert_int_equal(hyphae_subscription_id(first), 0);
	/* Its place is taken, often: still stale, and nobody is harmed. */
	for (i = 0; i < 100; i++) {
		second = hyphae_subscribe(a, count_call, &calls);
		assert_non_null(second);
		assert_int_equal(hyphae_unsubscribe(first), -ESTALE);
		assert_int_equal(hyphae_unsubscribe(second), 0);
	}
	second = hyphae_subscribe(a, count_call, &calls);
	assert_int_equal(hyphae_unsubscribe(first), -ESTALE);
	calls = 0;
	put(a, 1);
	assert_int_equal(calls, 1);
	assert_int_equal(hyphae_unsubscribe(second), 0);
	assert_int_equal(hyphae_unsubscribe(NULL), 0);
}

/* The subscription keeps its cell: it can be given back afterwards. */
static void s07_unsubscribe_after_the_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	unsigned long calls = 0;
	struct hyphae_subscription *s = hyphae_subscribe(a, count_call, &calls);

	let_go(w, a);
	assert_int_equal(live_cells(w), 1);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(live_cells(w), 0);
	assert_int_equal(hyphae_unsubscribe(s), -ESTALE);
}

static int detach_at_hundred(struct log *log,
			     const struct hyphae_signal *signal)
{
	(void)log;
	return hyphae_int64_of(signal) >= 100 ? HYPHAE_DETACH : 0;
}

static void s08_detach(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct log *seen = follow_with(w, a, detach_at_hundred, NULL, 0);

	put(a, 7);
	assert_int_equal(targets(a), 1);
	put(a, 100);
	assert_int_equal(targets(a), 0);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(seen->drops, 1);
	put(a, 9);
	assert_log(seen, "5,7,100");
	assert_int_equal(hyphae_unsubscribe(seen->subscription), -ESTALE);
}

static void s08_detach_at_the_initial_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 100);
	struct log *seen = follow_with(w, a, detach_at_hundred, NULL, 0);

	assert_log(seen, "100");
	assert_int_equal(targets(a), 0);
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(seen->drops, 1);
	assert_int_equal(hyphae_unsubscribe(seen->subscription), -ESTALE);
	put(a, 1);
	assert_log(seen, "100");
}

static void s10_full_hand_over(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, twice, a);
	struct log *history = log_new(w, NULL, NULL);
	struct log *seen = NULL;
	int64_t i;

	for (i = 1; i <= 100; i++) {
		put(a, i);
		if (i == 37)
			seen = follow(w, b->cell);
		if (i >= 37)
			note(history, "%lld", (long long)value(b->cell));
	}
	assert_string_equal(seen->text, history->text);
	assert_int_equal(seen->calls, 64);
}

static void s11_skip_initial(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *seen = follow_with(w, a, NULL, NULL, HYPHAE_SKIP_INITIAL);

	assert_log(seen, "");
	put(a, 2);
	assert_log(seen, "2");
}

/* A subscriber that unsubscribes a deeper one whose cell has changed. */
static void s12_unsubscribe_on_another_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct log *s1 = follow_with(w, a, unsubscribe_other, NULL, 0);
	struct log *s2 = follow(w, b->cell);

	s1->arg = s2;
	begin_batch(w);
	put(a, 1);
	end_batch(w);
	assert_log(s2, "1");
	assert_int_equal(b->runs, 2);
}

/* ---- subscribing while a wave is under way -------------------------------- */

/* arg: the log that subscribes to its `cell` when the input is 1. */
static int subscribe_inside(struct node *node, const int64_t *in, size_t count,
			    int64_t *ret)
{
	struct log *log = node->arg;

	(void)count;
	if (log && in[0] == node->code && !log->subscription)
		log_subscribe(log, log->cell, (unsigned int)log->number);
	*ret = in[0];
	return 0;
}

static struct log *subscribes_in_a_function(struct world *w, unsigned int flags)
{
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct log *first = follow(w, b->cell);
	struct node *m = derive(w, subscribe_inside, b->cell);
	struct log *fresh = log_new(w, NULL, NULL);

	fresh->cell = b->cell;
	fresh->number = flags;
	m->code = 2;
	m->arg = fresh;
	put(a, 1);
	assert_log(first, "1,2");
	assert_non_null(fresh->subscription);
	keep_sub(w, fresh->subscription);
	note(fresh, "next");
	put(a, 2);
	return fresh;
}

/* b has settled on 2 and has not told it yet: that is told once. */
static void s05_subscribe_in_a_function(void **state)
{
	assert_log(subscribes_in_a_function(*state, 0), "2,next,3");
}

static void s05_skip_initial_in_a_function(void **state)
{
	assert_log(subscribes_in_a_function(*state, HYPHAE_SKIP_INITIAL),
		   "next,3");
}

/* Of a cell that has not been computed: the old value, then the new one. */
static void s05_subscribe_before_its_turn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *m = derive(w, subscribe_inside, a);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, inc, b->cell);
	struct log *fresh = log_new(w, NULL, NULL);

	fresh->cell = c->cell;
	m->code = 1;
	m->arg = fresh;
	put(a, 1);
	keep_sub(w, fresh->subscription);
	assert_log(fresh, "2,3");
	put(a, 2);
	assert_log(fresh, "2,3,4");
}

/* arg: a log that follows its cell from the call with 1 on. */
static int subscribe_at_one(struct log *log, const struct hyphae_signal *signal)
{
	struct log *fresh = log->arg;

	if (signal->kind == HYPHAE_VALUE && hyphae_int64_of(signal) == 1 &&
	    !fresh->subscription)
		log_subscribe(fresh, fresh->cell, (unsigned int)fresh->number);
	return 0;
}

/* A cell that is yet to call its subscribers, subscribed to by another's. */
static void s05_subscribe_to_a_later_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *fresh = log_new(w, NULL, NULL);
	struct log *first = follow_with(w, a, subscribe_at_one, fresh, 0);
	struct log *old = follow(w, b);

	fresh->cell = b;
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	end_batch(w);
	keep_sub(w, fresh->subscription);
	assert_log(first, "0,1");
	assert_log(old, "0,1");
	assert_log(fresh, "1");
	put(b, 2);
	assert_log(fresh, "1,2");
	put(b, 3);
	assert_log(fresh, "1,2,3");
}

/* The same with an end behind the value: both, once. */
static void s05_subscribe_to_an_ending_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *fresh = log_new(w, NULL, NULL);
	struct log *old;

	follow_with(w, a, subscribe_at_one, fresh, 0);
	old = follow(w, b);
	fresh->cell = b;
	begin_batch(w);
	put(a, 1);
	put(b, 1);
	assert_int_equal(hyphae_cell_complete(b), 0);
	end_batch(w);
	assert_log(old, "0,1,C");
	assert_log(fresh, "1,C");
	assert_int_equal(fresh->drops, 1);
	assert_int_equal(hyphae_unsubscribe(fresh->subscription), -ESTALE);
	assert_int_equal(targets(b), 0);
}

/* ---- inside a function whose reads are noted ---------------------------------- */

struct reader {
	struct hyphae_cell *a, *b, *y;
	struct log *seen;
	struct hyphae_subscription *held;
	unsigned int runs;
};

/* arg: a reader */
static int read_y(struct log *log, const struct hyphae_signal *signal)
{
	struct reader *reader = log->arg;
	int64_t y;

	(void)signal;
	return hyphae_int64_get(reader->y, &y);
}

static int read_and_subscribe(void *ret, void *ctx)
{
	struct reader *reader = ctx;

	reader->runs++;
	if (!reader->seen->subscription)
		log_subscribe(reader->seen, reader->b, 0);
	else if (reader->held)
		hyphae_subscription_resume(reader->held);
	reader->held = NULL;
	return hyphae_int64_get(reader->a, ret);
}

/* What subscribers read that are called meanwhile is their business. */
static void r08_reads_of_subscribers_are_not_noted(void **state)
{
	struct world *w = *state;
	struct reader reader = {
		.a = source(w, 0), .b = source(w, 0), .y = source(w, 0)};
	struct hyphae_cell *cell;

	reader.seen = log_new(w, read_y, &reader);
	cell = keep(w, hyphae_computed(w->graph, &hyphae_int64,
				       read_and_subscribe, &reader));
	keep_sub(w, reader.seen->subscription);
	assert_int_equal(reader.runs, 1);
	put(reader.y, 1);
	assert_int_equal(reader.runs, 1);
	reader.held = reader.seen->subscription;
	assert_int_equal(hyphae_subscription_pause(reader.held), 0);
	put(reader.b, 1);
	put(reader.a, 1);
	assert_int_equal(reader.runs, 2);
	assert_log(reader.seen, "0,1");
	put(reader.y, 2);
	assert_int_equal(reader.runs, 2);
	assert_int_equal(value(cell), 1);
}

/* ---- all of a cell, and which cell ------------------------------------------------- */

struct sweep {
	struct hyphae_cell *cell;
	int code;
	struct hyphae_cell_info info;
};

static int sweep_at_one(struct effect *e, const struct hyphae_signal *signal)
{
	struct sweep *sweep = e->arg;

	if (hyphae_int64_of(signal) != 1)
		return 0;
	sweep->code = hyphae_unsubscribe_all(sweep->cell);
	return hyphae_cell_info(sweep->cell, &sweep->info);
}

static void s06_all_at_once_in_a_call(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct sweep sweep = {.cell = a, .code = 1};
	struct log *of_b = follow(w, b->cell);
	struct hyphae_cell_info info;
	static struct effect s[5];
	int i;

	for (i = 0; i < 5; i++)
		effect_start(w, &s[i], a, i ? 0 : HYPHAE_PREVIOUS, i == 2);
	s[0].hook = sweep_at_one;
	s[0].arg = &sweep;
	assert_int_equal(hyphae_subscription_pause(s[3].subscription), 0);
	assert_int_equal(hyphae_cell_info(a, &info), 0);
	assert_int_equal(info.targets, 6);
	assert_int_equal(info.subscriptions, 5);
	put(a, 1);
	assert_int_equal(sweep.code, 0);
	assert_int_equal(sweep.info.subscriptions, 0);
	assert_int_equal(sweep.info.targets, 1);
	assert_effect(&s[0], "0,0>1,d");
	assert_effect(&s[1], "0,d");
	assert_effect(&s[2], "0,x,d");
	assert_effect(&s[3], "0,d");
	assert_effect(&s[4], "0,d");
	put(a, 2);
	assert_effect(&s[0], "0,0>1,d");
	/* Derived cells and their subscribers go on. */
	assert_log(of_b, "1,2,3");
	assert_int_equal(hyphae_unsubscribe_all(a), 0);
}

static void f05_cell_of_a_subscription(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *log = follow(w, a);
	struct hyphae_cell *cell = hyphae_subscription_cell(log->subscription);
	struct hyphae_subscription *s = log->subscription;

	assert_ptr_equal(cell, a);
	let_go(w, a);
	stop(log);
	/* A reference of its own. */
	assert_int_equal(value(cell), 0);
	assert_null(hyphae_subscription_cell(s));
	assert_int_equal(hyphae_cell_unref(cell), 0);
	assert_int_equal(live_cells(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(s01_order_of_subscription),
		CASE(s01_order_over_the_graph),
		CASE(s02_unsubscribe_yourself),
		CASE(s03_unsubscribe_the_next),
		CASE(s03_unsubscribe_the_one_before),
		CASE(s05_subscribe_in_a_call),
		CASE(s05_many_subscriptions_in_a_call),
		CASE(s05_subscribe_in_a_function),
		CASE(s05_skip_initial_in_a_function),
		CASE(s05_subscribe_before_its_turn),
		CASE(s05_subscribe_to_a_later_cell),
		CASE(s05_subscribe_to_an_ending_cell),
		CASE(s06_unsubscribe_all_in_a_call),
		CASE(r08_reads_of_subscribers_are_not_noted),
		CASE(s06_all_at_once_in_a_call),
		CASE(f05_cell_of_a_subscription),
		CASE(s07_stale_handles),
		CASE(s07_unsubscribe_after_the_cell),
		CASE(s08_detach),
		CASE(s08_detach_at_the_initial_value),
		CASE(s10_full_hand_over),
		CASE(s11_skip_initial),
		CASE(s12_unsubscribe_on_another_cell),
	};

	return cmocka_run_group_tests_name("subscription", tests, NULL, NULL);
}
