/* SPDX-License-Identifier: MIT */
/*
 * Group H, all of it: a few threads with a few operations each, in every
 * interleaving up to a number of preemptions; see explore.h.
 *
 * What has to hold at the end of each: whoever follows a cell was told last
 * what it holds, was never entered twice at once, and never after a wait for
 * its end; nothing is left in an inbox; derived cells are what their inputs
 * make them; and no schedule ends in a deadlock.  Propagation is handed over
 * after one wave for others, so that this happens all the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hyphae/hyphae.h>

#include "core/drain.h"
#include "core/post.h"
#include "explore.h"

/* Preemptions, of two and of three threads.  Sanitizers are slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TWO 3
#define THREE 2
#else
#define TWO 5
#define THREE 3
#endif

#define SEEN 32

struct log {
	struct hyphae_cell *cell;
	struct hyphae_subscription *s;
	int64_t seen[SEEN];
	unsigned int count;
	bool inside;
	bool gone; /* what it would use has been freed */
};

/* Two sources, their sum, a cell that follows the first. */
static struct {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b, *sum, *next;
	struct log log_a, log_b, log_sum, log_next, log_more;
	struct hyphae_cell *made, *replaced;
	unsigned int drops;
	bool rising;	   /* what is set to a rises */
	int64_t finals[4]; /* a ends as one of these; 0: no more */
} w;

/* Waves that this thread has run since it said so. */
static _Thread_local unsigned int my_waves;

static int64_t held(struct hyphae_cell *cell)
{
	int64_t value = -1;

	if (hyphae_int64_get(cell, &value))
		explore_fail("a cell could not be read");
	return value;
}

static int note(const struct hyphae_signal *signal, void *ctx)
{
	struct log *log = ctx;

	/* A call that is none of a wave may be made by any thread. */
	if (!hy_self.turns && hy_graph(w.graph)->drainer != &hy_self.thread &&
	    hy_graph_of(hy_cell(log->cell)) == hy_graph(w.graph))
		explore_fail("called by another thread than the drainer");
	if (log->gone)
		explore_fail("called after the wait for its end");
	if (log->inside)
		explore_fail("entered twice at once");
	log->inside = true;
	if (log->count < SEEN)
		log->seen[log->count] = hyphae_int64_of(signal);
	log->count++;
	my_waves += log == &w.log_a;
	explore_point();
	if (log->gone)
		explore_fail("still inside after the wait for its end");
	log->inside = false;
	return 0;
}

static void follow(struct log *log, struct hyphae_cell *cell)
{
	log->cell = cell;
	log->s = hyphae_subscribe(cell, note, log);
	if (!log->s)
		explore_fail("not subscribed");
}

static int plus_100(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	explore_point();
	*(int64_t *)ret = *(const int64_t *)input + 100;
	return 0;
}

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

static void begin_with(unsigned int flags)
{
	memset(&w, 0, sizeof(w));
	w.graph = hyphae_graph_new(flags);
	w.a = hyphae_int64_new(w.graph, 0);
	w.b = hyphae_int64_new(w.graph, 0);
	w.sum = hyphae_combine(((struct hyphae_cell *[]){w.a, w.b}), 2,
			       &hyphae_int64, add, NULL);
	follow(&w.log_a, w.a);
	follow(&w.log_b, w.b);
	follow(&w.log_sum, w.sum);
}

static void begin(void)
{
	begin_with(0);
}

static void begin_eager(void)
{
	begin_with(HYPHAE_EAGER);
}

static void must(int r, const char *what)
{
	if (r < 0)
		explore_fail(what);
}

static void set(struct hyphae_cell *cell, int64_t value)
{
	my_waves = 0;
	must(hyphae_int64_set(cell, value), "a set failed");
	/* Its own wave and one for others, if nobody has given up waiting. */
	if (my_waves > 2 && !explore.timeouts)
		explore_fail("more waves than one set may run");
	if (hy_self.draining)
		explore_fail("still the drainer");
}

/* ---- at the end ---------------------------------------------------------------- */

static const char *check_log(const struct log *log, bool rising)
{
	if (!log->cell || !log->count)
		return NULL;
	if (log->inside)
		return "a call has not returned";
	if (log->count > SEEN)
		return "called too often";
	for (unsigned int i = 1; i < log->count; i++) {
		if (log->seen[i] == log->seen[i - 1])
			return "told the same again";
		if (rising && log->seen[i] < log->seen[i - 1])
			return "old after new";
	}
	if (log->s && log->seen[log->count - 1] != held(log->cell))
		return "told last is not what the cell holds";
	return NULL;
}

static const char *check_finals(void)
{
	if (!w.finals[0])
		return NULL;
	for (int i = 0; i < 4 && w.finals[i]; i++)
		if (held(w.a) == w.finals[i])
			return NULL;
	return "a write was lost";
}

static const char *check_cells(void)
{
	if (hyphae_graph_check_idle(w.graph))
		return "something is left in the graph";
	if (held(w.sum) != held(w.a) + held(w.b))
		return "the sum is none";
	if (w.next && held(w.next) != held(w.a) + 100)
		return "a cell is behind its input";
	return check_finals();
}

static const char *end(void)
{
	struct log *logs[] = {&w.log_a, &w.log_b, &w.log_sum, &w.log_next,
			      &w.log_more};
	struct hyphae_graph_counts counts;
	const char *wrong = check_cells();

	for (int i = 0; i < 5 && !wrong; i++) {
		wrong = check_log(logs[i], w.rising);
		logs[i]->gone = !logs[i]->s;
		hyphae_unsubscribe(logs[i]->s);
	}
	hyphae_cell_unref(w.next);
	hyphae_cell_unref(w.sum);
	hyphae_cell_unref(w.a);
	hyphae_cell_unref(w.b);
	if (!wrong && (hyphae_graph_counts(w.graph, &counts) || counts.cells ||
		       counts.subscriptions))
		wrong = "something was not released";
	if (hyphae_graph_free(w.graph) && !wrong)
		wrong = "the graph cannot be freed";
	return wrong;
}

/* ---- sets ------------------------------------------------------------------------- */

static void set_a_1_2(void)
{
	set(w.a, 1);
	set(w.a, 2);
}

static void set_a_11_12(void)
{
	set(w.a, 11);
	set(w.a, 12);
}

static void set_b_3(void)
{
	set(w.b, 3);
}

static const char *end_two_writers(void)
{
	w.finals[0] = 2;
	w.finals[1] = 12;
	return end();
}

static const char *end_one_writer(void)
{
	w.finals[0] = 2;
	w.rising = true;
	return end();
}

/* H-08: three that write to one cell. */
static void set_a_21(void)
{
	set(w.a, 21);
}

static const char *end_three_writers(void)
{
	w.finals[0] = 2;
	w.finals[1] = 12;
	w.finals[2] = 21;
	return end();
}

/* ---- H-06: batches --------------------------------------------------------------- */

static void batch_of(int64_t value)
{
	must(hyphae_batch_begin(w.graph), "no batch");
	set(w.a, value);
	set(w.b, -value);
	must(hyphae_batch_end(w.graph), "a batch failed");
}

static void batch_1(void)
{
	batch_of(1);
}

static void batch_2(void)
{
	batch_of(2);
}

/* The sum never changes where both come together. */
static const char *end_batches(void)
{
	if (w.log_sum.count != 1)
		explore_fail("half a batch was seen");
	return explore.failure ? explore.failure : end();
}

/* ---- H-02: subscribing ------------------------------------------------------------- */

static void subscribe_a(void)
{
	follow(&w.log_more, w.a);
}

static const char *end_subscribed(void)
{
	if (!w.log_more.count)
		return "it was never told anything";
	return end_one_writer();
}

static void subscribe_and_unsubscribe(void)
{
	follow(&w.log_more, w.a);
	must(hyphae_unsubscribe_wait(w.log_more.s), "not ended");
	w.log_more.s = NULL;
	w.log_more.gone = true;
}

/* ---- H-03: ending --------------------------------------------------------------------- */

static void unsubscribe_wait(void)
{
	hyphae_unsubscribe_wait(w.log_a.s); /* -ESTALE beside another */
	w.log_a.gone = true;
	w.log_a.s = NULL;
}

static void unsubscribe(void)
{
	hyphae_unsubscribe(w.log_a.s);
}

static int end_itself(const struct hyphae_signal *signal, void *ctx)
{
	note(signal, ctx);
	if (hyphae_int64_of(signal)) {
		struct log *log = ctx;

		/* Another thread may have been faster. */
		hyphae_unsubscribe_wait(log->s);
		log->gone = true;
	}
	return 0;
}

static void begin_ending_itself(void)
{
	begin();
	w.log_more.s = hyphae_subscribe(w.a, end_itself, &w.log_more);
}

static void unsubscribe_wait_more(void)
{
	hyphae_unsubscribe_wait(w.log_more.s);
	w.log_more.gone = true;
}

/* ---- pausing ------------------------------------------------------------------------- */

static void pause_and_resume(void)
{
	must(hyphae_subscription_pause(w.log_a.s), "not paused");
	explore_point();
	must(hyphae_subscription_resume(w.log_a.s), "not resumed");
}

/* The same, if another thread has not ended it. */
static void pause_and_resume_if(void)
{
	if (hyphae_subscription_pause(w.log_a.s) == 0) {
		explore_point();
		hyphae_subscription_resume(w.log_a.s);
	}
}

/* It is told the newest again if that has come back: not here. */
static void resume_and_end(void)
{
	pause_and_resume();
	unsubscribe_wait();
}

/* ---- posts ------------------------------------------------------------------------------ */

static void post_a_1_2(void)
{
	must(hyphae_int64_post(w.a, 1), "a post failed");
	must(hyphae_int64_post(w.a, 2), "a post failed");
}

static void flush(void)
{
	must(hy_posts_flush(hy_graph(w.graph)), "a dispatch failed");
}

static const char *end_posts(void)
{
	struct hyphae_post_counts counts;

	must(hy_posts_flush(hy_graph(w.graph)), "a dispatch failed");
	if (hyphae_graph_post_counts(w.graph, &counts) || counts.waiting ||
	    counts.refused || counts.posted != counts.applied + counts.replaced)
		explore_fail("posts do not add up");
	return explore.failure ? explore.failure : end_one_writer();
}

/* ---- subscribers that write ------------------------------------------------------------ */

static int copy_to_b(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	explore_point();
	must(hyphae_int64_set(w.b, hyphae_int64_of(signal)),
	     "a subscriber's set failed");
	return 0;
}

static void begin_feedback(void)
{
	begin();
	w.log_more.s = hyphae_subscribe(w.a, copy_to_b, NULL);
}

/* ---- settling ----------------------------------------------------------------------------- */

static void set_b_and_settle(void)
{
	set(w.b, 3);
	must(hyphae_settle(w.graph), "not settled");
	if (w.log_b.seen[w.log_b.count - 1] != 3)
		explore_fail("settled, and nobody was told");
}

/* ---- H-07: making and releasing ------------------------------------------------------------ */

static void make_next(void)
{
	w.next = hyphae_map(w.a, &hyphae_int64, plus_100, NULL);
	if (!w.next)
		explore_fail("not made");
	follow(&w.log_next, w.next);
}

static void count_drop(void *data)
{
	++*(unsigned int *)data;
}

static void begin_releasing(void)
{
	begin();
	w.made = hyphae_map(w.a, &hyphae_int64, plus_100, NULL);
	hyphae_cell_own(w.made, &w.drops, count_drop);
}

static void release(void)
{
	must(hyphae_cell_unref(w.made), "not given back");
}

static const char *end_released(void)
{
	if (w.drops != 1)
		return "not dropped once";
	return end_one_writer();
}

/* ---- two graphs that reach into each other -------------------------------------------------- */

static struct hyphae_graph *other;
static struct hyphae_cell *there;
static struct log log_there;

/* To and fro, up to a last digit of 6. */
static int bounce(const struct hyphae_signal *signal, void *ctx)
{
	int64_t value = hyphae_int64_of(signal);

	explore_point();
	if (value && value % 10 < 6)
		must(hyphae_int64_set(ctx, value + 1), "a set beyond failed");
	return 0;
}

static void begin_two_graphs(void)
{
	begin();
	other = hyphae_graph_new(0);
	there = hyphae_int64_new(other, 0);
	memset(&log_there, 0, sizeof(log_there));
	follow(&log_there, there);
	w.log_more.s = hyphae_subscribe(w.a, bounce, there);
	hyphae_subscribe(there, bounce, w.a);
}

/* Who writes from a call of the other graph takes nothing over. */
static void set_here_1_2(void)
{
	must(hyphae_int64_set(w.a, 1), "a set failed");
	must(hyphae_int64_set(w.a, 2), "a set failed");
}

static void set_here_21(void)
{
	must(hyphae_int64_set(w.a, 21), "a set failed");
}

static void set_there_11_12(void)
{
	must(hyphae_int64_set(there, 11), "a set failed");
	must(hyphae_int64_set(there, 12), "a set failed");
}

static const char *end_two_graphs(void)
{
	const char *wrong = NULL;

	if (hyphae_graph_check_idle(other))
		wrong = "something is left in the other graph";
	else if (log_there.seen[log_there.count - 1] != held(there))
		wrong = "told last is not what the cell beyond holds";
	if (hyphae_graph_free(other) && !wrong)
		wrong = "the other graph cannot be freed";
	return wrong ? wrong : end();
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* A set beside the release of its cell, whose place another takes. */
static void begin_replacing(void)
{
	begin();
	w.replaced = hyphae_int64_new(w.graph, 0);
}

static void set_what_goes(void)
{
	int r = hyphae_int64_set(w.replaced, 5);

	if (r && r != -ESTALE)
		explore_fail("neither set nor stale");
	set_a_1_2();
}

static void replace(void)
{
	must(hyphae_cell_unref(w.replaced), "not given back");
	w.made = hyphae_int64_new(w.graph, 7);
}

static const char *end_replaced(void)
{
	if (held(w.made) != 7)
		explore_fail("another cell was set");
	hyphae_cell_unref(w.made);
	return explore.failure ? explore.failure : end_one_writer();
}

static const struct explore_scenario scenarios[] = {
	{"two writers", TWO, begin, {set_a_1_2, set_a_11_12}, end_two_writers},
	{"two writers, eager",
	 TWO,
	 begin_eager,
	 {set_a_1_2, set_a_11_12},
	 end_two_writers},
	{"hand over",
	 THREE,
	 begin,
	 {set_a_1_2, set_a_11_12, set_a_21},
	 end_three_writers},
	{"two cells",
	 THREE,
	 begin,
	 {set_a_1_2, set_b_3, set_b_3},
	 end_one_writer},
	{"batches", TWO, begin, {batch_1, batch_2}, end_batches},
	{"three batches",
	 THREE,
	 begin,
	 {batch_1, batch_2, batch_1},
	 end_batches},
	{"settle", THREE, begin, {set_a_1_2, set_b_and_settle, set_a_21}, end},
	{"subscribe", TWO, begin, {set_a_1_2, subscribe_a}, end_subscribed},
	{"subscribe and wait",
	 THREE,
	 begin,
	 {set_a_1_2, subscribe_and_unsubscribe, set_b_3},
	 end_one_writer},
	{"unsubscribe and wait",
	 TWO,
	 begin,
	 {set_a_1_2, unsubscribe_wait},
	 end_one_writer},
	{"unsubscribe twice",
	 THREE,
	 begin,
	 {set_a_1_2, unsubscribe_wait, unsubscribe},
	 end_one_writer},
	{"ends itself",
	 THREE,
	 begin_ending_itself,
	 {set_a_1_2, unsubscribe_wait_more, set_a_11_12},
	 end_two_writers},
	{"pause", TWO, begin, {set_a_1_2, pause_and_resume}, end_one_writer},
	{"pause and wait",
	 THREE,
	 begin,
	 {set_a_1_2, resume_and_end, set_b_3},
	 end_one_writer},
	{"pause beside a wait",
	 THREE,
	 begin,
	 {set_a_1_2, pause_and_resume_if, unsubscribe_wait},
	 end_one_writer},
	{"posts", THREE, begin, {post_a_1_2, set_b_3, flush}, end_posts},
	{"posts and dispatch", TWO, begin, {post_a_1_2, flush}, end_posts},
	{"feedback",
	 THREE - 1,
	 begin_feedback,
	 {set_a_1_2, set_a_11_12, set_b_3},
	 end_two_writers},
	{"make", TWO, begin, {set_a_1_2, make_next}, end_one_writer},
	{"make beside two",
	 THREE,
	 begin,
	 {set_a_1_2, make_next, set_b_3},
	 end_one_writer},
	{"release", TWO, begin_releasing, {set_a_1_2, release}, end_released},
	{"a set of what goes",
	 TWO,
	 begin_replacing,
	 {set_what_goes, replace},
	 end_replaced},
	{"two graphs, two threads",
	 THREE,
	 begin_two_graphs,
	 {set_here_1_2, set_there_11_12},
	 end_two_graphs},
	{"two graphs",
	 THREE - 1,
	 begin_two_graphs,
	 {set_here_1_2, set_there_11_12, set_here_21},
	 end_two_graphs},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void every_schedule(void **state)
{
	assert_null(explore_all(*state));
}

int main(void)
{
	struct CMUnitTest tests[SCENARIOS];

	hy_lock_patience = 0; /* each time a lock is taken is a point */
	hy_hand_over_waves = 1;
	for (size_t i = 0; i < SCENARIOS; i++)
		tests[i] =
			(struct CMUnitTest){scenarios[i].name, every_schedule,
					    NULL, NULL, (void *)&scenarios[i]};
	return _cmocka_run_group_tests("exhaustive", tests, SCENARIOS, NULL,
				       NULL);
}
