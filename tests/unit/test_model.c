/* SPDX-License-Identifier: MIT */
/*
 * Random programs against a model.
 *
 * The model knows nothing of the library: plain arrays, and after each write
 * it works out every cell in the order in which they were made.  Both write
 * down what happened (which functions ran, which subscribers were told what)
 * and the two stories must be the same:
 *  - every value, error and end is equal after each step,
 *  - in a wave the same functions ran, each once, heights ascending,
 *  - deliveries are the same, in the same order,
 *  - in an eager graph the runs are in the same order as well,
 *  - cells and subscriptions alive, and the targets of each cell, are equal.
 *
 * SEED=n starts from another seed; STEPS=n sets the number of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#include "four_graphs.h"
#include "tests/lib/run.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 100000
#else
#define DEFAULT_STEPS 1000000
#endif
#define STEPS_A_PROGRAM 200

#define MAX_CELLS 512
#define MAX_SUBS 1024
#define MAX_INPUTS 4
#define MAX_EVENTS (1 << 18)

/* ---- what both sides share: the program ---- */

enum kind { SOURCE, MAP, COMBINE, FILTER };
static const char *const kind_names[] = {"source", "map", "combine", "filter"};

/* How a cell is computed; never changes. */
struct recipe {
	enum kind kind;
	int inputs[MAX_INPUTS];
	int ninputs;
	int64_t factor, offset; /* value = (sum * factor + offset) % 11 */
	int64_t fails_at; /* a sum % fails_of that is an error; -1: none */
	int64_t fails_of;
	int code; /* that error */
};

enum action {
	LISTEN,
	WRITE,	   /* a source, value + 1 */
	STOP,	   /* another subscriber */
	DETACH,	   /* itself */
	SUBSCRIBE, /* one more, to the same cell */
	ACTIONS
};

struct habit {
	enum action action;
	int target;   /* of WRITE a source, of STOP a subscriber */
	int64_t when; /* value % 2 */
};

/* What happened, in order. */
enum happening { RUN, TOLD_VALUE, TOLD_ERROR, TOLD_COMPLETE, TOLD_FAILURE };
static const char *const happening_names[] = {"run", "value", "error",
					      "complete", "failure"};

struct event {
	enum happening what;
	int who; /* a cell if RUN, else a subscriber */
	int64_t value;
	bool by_height; /* the model's: a run in a wave, not depth first */
};

struct story {
	struct event events[MAX_EVENTS];
	size_t count;
	int budget; /* actions that subscribers may still take in this step */
};

static struct story real, modelled;
static struct recipe recipes[MAX_CELLS];
static struct habit habits[MAX_SUBS];
static int ncells;
static bool eager;
static bool in_wave; /* the model runs a wave by height */
static uint64_t seed;
static unsigned long step_number;

#define FAIL(...)                                                              \
	do {                                                                   \
		print_error(__VA_ARGS__);                                      \
		fail_msg(" at step %lu; SEED=%llu", step_number,               \
			 (unsigned long long)seed);                            \
	} while (0)

static void happened(struct story *story, enum happening what, int who,
		     int64_t value)
{
	if (story->count < MAX_EVENTS)
		story->events[story->count++] =
			(struct event){what, who, value, in_wave};
}

/* ret = the recipe's function of the inputs' sum; 0 or a negative errno. */
static int cook(const struct recipe *recipe, int64_t sum, int64_t *ret)
{
	if (recipe->fails_at >= 0 && sum % recipe->fails_of == recipe->fails_at)
		return recipe->code;
	*ret = (sum * recipe->factor + recipe->offset) % 11;
	return 0;
}

/* 1: it passes; 0: it does not; or a negative errno. */
static int strain(const struct recipe *recipe, int64_t value)
{
	if (recipe->fails_at >= 0 &&
	    value % recipe->fails_of == recipe->fails_at)
		return recipe->code;
	return (value + recipe->offset) % 3 != 0;
}

static uint64_t random_state;

static unsigned int dice(unsigned int sides)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)((random_state >> 20) % sides);
}

/* ---- the model ---- */

enum state { NONE, VALUE, ERROR };
enum end { OPEN, COMPLETED, FAILED };

struct mcell {
	enum state state;
	int64_t value;
	int code;
	enum end end;
	unsigned int refs; /* held, inputs of others, subscribers */
	bool dead;	   /* no references */
	bool gone;	   /* and given up what it followed */
	bool linked;	   /* follows its inputs */
	bool changed;	   /* in the wave that runs: the value or error */
	bool ended_now;	   /* in the wave that runs */
	size_t targets;
};

struct msub {
	int cell;
	bool alive;
	bool counted; /* its reference on the cell */
};

struct write {
	int cell;
	bool has_value, completes, fails;
	int64_t value;
};

struct log {
	struct write writes[MAX_CELLS];
	int count;
};

static struct mcell mcells[MAX_CELLS];
static struct msub msubs[MAX_SUBS];
static int nmsubs;
static struct log next; /* what subscribers wrote */

static void put(int cell)
{
	if (--mcells[cell].refs == 0)
		mcells[cell].dead = true;
}

static void unlink_inputs(int cell)
{
	const struct recipe *recipe = &recipes[cell];
	int i;

	if (!mcells[cell].linked)
		return;
	mcells[cell].linked = false;
	for (i = 0; i < recipe->ninputs; i++) {
		mcells[recipe->inputs[i]].targets--;
		put(recipe->inputs[i]);
	}
}

/* Bury what has no references, when nothing runs. */
static void reap(void)
{
	int i;

	for (i = 0; i < nmsubs; i++) {
		if (!msubs[i].alive && msubs[i].counted) {
			msubs[i].counted = false;
			put(msubs[i].cell);
		}
	}
	/* Inputs were made before: one pass from the newest will do. */
	for (i = ncells - 1; i >= 0; i--) {
		if (mcells[i].dead && !mcells[i].gone) {
			mcells[i].gone = true;
			unlink_inputs(i);
		}
	}
}

static void sub_ends(int sub)
{
	if (!msubs[sub].alive)
		return;
	msubs[sub].alive = false;
	mcells[msubs[sub].cell].targets--;
}

static struct write *log_find(struct log *log, int cell)
{
	int i;

	for (i = 0; i < log->count; i++)
		if (log->writes[i].cell == cell)
			return &log->writes[i];
	return NULL;
}

static struct write *log_entry(struct log *log, int cell)
{
	struct write *write = log_find(log, cell);

	if (!write) {
		write = &log->writes[log->count++];
		*write = (struct write){.cell = cell};
	}
	return write;
}

/* May the source be written, with what waits in the log? */
static bool shut(struct log *log, int cell)
{
	const struct write *write = log ? log_find(log, cell) : NULL;

	return mcells[cell].end != OPEN ||
	       (write && (write->completes || write->fails));
}

static void take_error(struct mcell *c, int code, bool terminal)
{
	if (terminal) {
		c->end = FAILED;
		c->ended_now = true;
	} else if (c->state == ERROR && c->code == code) {
		return;
	} else {
		c->changed = true;
	}
	c->state = ERROR;
	c->code = code;
}

/* The error has gone, and an input never had a value. */
static void take_nothing(struct mcell *c)
{
	if (c->state != ERROR)
		return;
	c->state = NONE;
	c->changed = true;
}

static void take_value(struct mcell *c, int64_t value)
{
	if (c->state == VALUE && c->value == value)
		return;
	c->state = VALUE;
	c->value = value;
	c->changed = true;
}

/* The first input that failed for good, else the first with an error. */
static const struct mcell *bad_input(const struct recipe *recipe)
{
	const struct mcell *found = NULL;
	int i;

	for (i = 0; i < recipe->ninputs; i++) {
		const struct mcell *in = &mcells[recipe->inputs[i]];

		if (in->end == FAILED)
			return in;
		if (!found && in->state == ERROR)
			found = in;
	}
	return found;
}

static void run_function(int cell, int64_t sum)
{
	const struct recipe *recipe = &recipes[cell];
	struct mcell *c = &mcells[cell];
	int64_t result = 0;
	int r;

	happened(&modelled, RUN, cell, sum);
	if (recipe->kind == FILTER) {
		r = strain(recipe, sum);
		result = sum;
		if (r == 0)
			return;
	} else {
		r = cook(recipe, sum, &result);
	}
	if (r < 0)
		take_error(c, r, false);
	else
		take_value(c, result);
}

/*
 * Work a derived cell out from its inputs.  Its function runs when it is made
 * and when an input has another value; an input that ends is no reason.
 */
static void work_out(int cell, bool first)
{
	const struct recipe *recipe = &recipes[cell];
	struct mcell *c = &mcells[cell];
	const struct mcell *bad;
	int values = 0, ended = 0, changed = 0, i;
	int64_t sum = 0;

	for (i = 0; i < recipe->ninputs; i++) {
		const struct mcell *in = &mcells[recipe->inputs[i]];

		values += in->state == VALUE;
		ended += in->end != OPEN;
		changed += in->changed;
		sum += in->value;
	}
	bad = bad_input(recipe);
	if (values == recipe->ninputs && (first || changed))
		run_function(cell, sum);
	else if (values < recipe->ninputs && bad)
		take_error(c, bad->code, bad->end == FAILED);
	else if (values < recipe->ninputs)
		take_nothing(c);
	if (c->end != FAILED && ended == recipe->ninputs) {
		c->end = COMPLETED;
		c->ended_now = true;
	}
	if (c->end != OPEN)
		unlink_inputs(cell);
}

static void tell(int sub);

static void act(int sub)
{
	const struct habit *habit = &habits[sub];
	int cell = msubs[sub].cell;

	if (mcells[cell].value % 2 != habit->when || modelled.budget == 0)
		return;
	if (habit->action == LISTEN)
		return;
	modelled.budget--;
	if (habit->action == WRITE && !shut(&next, habit->target)) {
		struct write *write = log_entry(&next, habit->target);

		write->has_value = true;
		write->value = mcells[cell].value + 1;
	} else if (habit->action == STOP) {
		sub_ends(habit->target);
	} else if (habit->action == DETACH) {
		sub_ends(sub);
	} else if (habit->action == SUBSCRIBE && nmsubs < MAX_SUBS) {
		int made = nmsubs++;

		msubs[made] = (struct msub){cell, true, true};
		mcells[cell].refs++;
		mcells[cell].targets++;
		tell(made);
	}
}

/* The first call of a subscriber: what the cell holds. */
static void tell(int sub)
{
	const struct mcell *c = &mcells[msubs[sub].cell];

	if (c->state == VALUE) {
		happened(&modelled, TOLD_VALUE, sub, c->value);
		act(sub);
	} else if (c->state == ERROR) {
		happened(&modelled,
			 c->end == FAILED ? TOLD_FAILURE : TOLD_ERROR, sub,
			 c->code);
	}
	if (c->end == COMPLETED && msubs[sub].alive)
		happened(&modelled, TOLD_COMPLETE, sub, 0);
	if (c->end != OPEN && !c->ended_now)
		sub_ends(sub);
}

/* What has happened to its cell in the wave that runs. */
static void tell_news(int sub)
{
	const struct mcell *c = &mcells[msubs[sub].cell];

	if (!msubs[sub].alive)
		return;
	if (c->changed && c->state == VALUE) {
		happened(&modelled, TOLD_VALUE, sub, c->value);
		act(sub);
	} else if (c->changed && c->state == ERROR && c->end != FAILED) {
		happened(&modelled, TOLD_ERROR, sub, c->code);
	}
	if (!c->ended_now || !msubs[sub].alive)
		return;
	if (c->end == FAILED)
		happened(&modelled, TOLD_FAILURE, sub, c->code);
	else
		happened(&modelled, TOLD_COMPLETE, sub, 0);
}

static void end_subs_of(int cell)
{
	int i;

	for (i = 0; i < nmsubs; i++)
		if (msubs[i].cell == cell)
			sub_ends(i);
}

static bool news(int cell)
{
	return mcells[cell].changed || mcells[cell].ended_now;
}

static bool touched(int cell)
{
	int i;

	for (i = 0; i < recipes[cell].ninputs; i++)
		if (news(recipes[cell].inputs[i]))
			return true;
	return false;
}

static bool at_work(int cell)
{
	return recipes[cell].kind != SOURCE && mcells[cell].linked &&
	       !mcells[cell].dead && mcells[cell].end == OPEN;
}

/* The sources have changed: everything else, then the subscribers. */
static void wave(void)
{
	int limit = nmsubs;
	int i;

	in_wave = true;
	for (i = 0; i < ncells; i++)
		if (at_work(i) && touched(i))
			work_out(i, false);
	in_wave = false;
	for (i = 0; i < limit; i++)
		if (news(msubs[i].cell))
			tell_news(i);
	for (i = 0; i < ncells; i++) {
		if (mcells[i].ended_now) {
			mcells[i].ended_now = false;
			end_subs_of(i);
		}
		mcells[i].changed = false;
	}
}

/* Depth first: what follows the cell, then its own subscribers. */
static void fire(int cell)
{
	int followers[MAX_CELLS * MAX_INPUTS];
	int count = 0, limit, i, k;
	bool subscribed = false;

	for (i = 0; i < nmsubs; i++)
		subscribed |= msubs[i].cell == cell && msubs[i].counted;
	for (i = 0; i < ncells; i++)
		for (k = 0; mcells[i].linked && k < recipes[i].ninputs; k++)
			if (recipes[i].inputs[k] == cell)
				followers[count++] = i;
	for (i = 0; i < count; i++) {
		if (!at_work(followers[i]))
			continue;
		work_out(followers[i], false);
		if (news(followers[i]))
			fire(followers[i]);
	}
	limit = nmsubs;
	for (i = 0; subscribed && i < limit; i++)
		if (msubs[i].cell == cell)
			tell_news(i);
	if (mcells[cell].ended_now) {
		mcells[cell].ended_now = false;
		end_subs_of(cell);
	}
	mcells[cell].changed = false;
}

static void fail_source(int cell)
{
	if (mcells[cell].end == OPEN)
		take_error(&mcells[cell], -ECANCELED, true);
}

/* Do what is written to a source; an error that follows a value waits. */
static void apply(const struct write *write)
{
	struct mcell *c = &mcells[write->cell];

	if (c->end != OPEN)
		return;
	if (write->has_value)
		take_value(c, write->value);
	if (write->completes) {
		c->end = COMPLETED;
		c->ended_now = true;
	}
	if (write->fails && !write->has_value)
		fail_source(write->cell);
}

/* Several writes together: by height, also in an eager graph. */
static void flush(const struct log *log)
{
	bool any = false;
	int i;

	for (i = 0; i < log->count; i++)
		apply(&log->writes[i]);
	wave();
	for (i = 0; i < log->count; i++) {
		if (log->writes[i].has_value && log->writes[i].fails) {
			fail_source(log->writes[i].cell);
			any = true;
		}
	}
	if (any)
		wave();
}

/* One write from outside. */
static void write_alone(struct write write)
{
	static struct log log;

	if (eager) {
		apply(&write);
		fire(write.cell);
		return;
	}
	log.count = 1;
	log.writes[0] = write;
	flush(&log);
}

/* What subscribers wrote, until they write no more. */
static void run_dry(void)
{
	static struct log taken;

	while (next.count) {
		taken = next;
		next.count = 0;
		flush(&taken);
	}
	reap();
}

/* ---- the real thing ---- */

static struct hyphae_graph *graph;
static struct hyphae_cell *cells[MAX_CELLS];
static bool held[MAX_CELLS];
static bool pinned[MAX_CELLS]; /* a subscriber writes it: never let go */
static struct hyphae_subscription *subs[MAX_SUBS];
static int nsubs;

static int index_of(const void *recipe)
{
	return (int)((const struct recipe *)recipe - recipes);
}

static int real_combine(void *ret, const void *const *inputs, size_t count,
			void *ctx)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += *(const int64_t *)inputs[i];
	happened(&real, RUN, index_of(ctx), sum);
	return cook(ctx, sum, ret);
}

static int real_map(void *ret, const void *input, void *ctx)
{
	return real_combine(ret, &input, 1, ctx);
}

static int real_filter(const void *input, void *ctx)
{
	int64_t value = *(const int64_t *)input;

	happened(&real, RUN, index_of(ctx), value);
	return strain(ctx, value);
}

static int real_subscriber(const struct hyphae_signal *signal, void *ctx);

static int real_act(int sub, const struct hyphae_signal *signal)
{
	const struct habit *habit = &habits[sub];
	int64_t value = hyphae_int64_of(signal);

	if (value % 2 != habit->when || real.budget == 0 ||
	    habit->action == LISTEN)
		return 0;
	real.budget--;
	if (habit->action == WRITE) {
		hyphae_int64_set(cells[habit->target], value + 1);
	} else if (habit->action == STOP) {
		hyphae_unsubscribe(subs[habit->target]);
	} else if (habit->action == DETACH) {
		return HYPHAE_DETACH;
	} else if (habit->action == SUBSCRIBE && nsubs < MAX_SUBS) {
		int made = nsubs++;
		int i;

		for (i = 0; i < ncells; i++)
			if (hyphae_cell_id(cells[i]) == signal->cell_id)
				break;
		subs[made] =
			i < ncells ? hyphae_subscribe(cells[i], real_subscriber,
						      &habits[made])
				   : NULL;
	}
	return 0;
}

static int real_subscriber(const struct hyphae_signal *signal, void *ctx)
{
	int sub = (int)((struct habit *)ctx - habits);

	if (signal->kind == HYPHAE_VALUE) {
		happened(&real, TOLD_VALUE, sub, hyphae_int64_of(signal));
		return real_act(sub, signal);
	}
	if (signal->kind == HYPHAE_COMPLETE)
		happened(&real, TOLD_COMPLETE, sub, 0);
	else
		happened(&real, signal->terminal ? TOLD_FAILURE : TOLD_ERROR,
			 sub, signal->code);
	return 0;
}

/* ---- comparing the two ---- */

static void print_story(const char *title, const struct story *story)
{
	size_t i;

	print_error("%s:", title);
	for (i = 0; i < story->count && i < 60; i++)
		print_error(" %s(%d)=%lld",
			    happening_names[story->events[i].what],
			    story->events[i].who,
			    (long long)story->events[i].value);
	print_error("\n");
}

static void stories_differ(size_t at)
{
	print_story("library", &real);
	print_story("model  ", &modelled);
	FAIL("the stories differ from event %zu on", at);
}

static int by_cell(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->who - y->who;
}

static unsigned int height_of(int cell)
{
	unsigned int height = 0;
	int i;

	for (i = 0; i < recipes[cell].ninputs; i++) {
		unsigned int below = height_of(recipes[cell].inputs[i]) + 1;

		height = below > height ? below : height;
	}
	return height;
}

static unsigned int heights[MAX_CELLS];

/*
 * The runs of one wave: heights must ascend, and beyond that the order is the
 * library's, so both sides are sorted.
 */
static void sort_wave(size_t from, size_t to)
{
	size_t i;

	for (i = from; i < to; i++)
		if (i >= real.count || real.events[i].what != RUN)
			stories_differ(i);
	for (i = from + 1; i < to; i++)
		if (heights[real.events[i - 1].who] >
		    heights[real.events[i].who])
			stories_differ(i);
	qsort(&real.events[from], to - from, sizeof(struct event), by_cell);
	qsort(&modelled.events[from], to - from, sizeof(struct event), by_cell);
}

static bool by_height(size_t i)
{
	return modelled.events[i].what == RUN && modelled.events[i].by_height;
}

static void compare_stories(void)
{
	size_t i, to;

	if (real.count == MAX_EVENTS || modelled.count == MAX_EVENTS)
		FAIL("a story is too long to be told");
	for (i = 0; i < modelled.count; i = to + 1) {
		for (to = i; to < modelled.count && by_height(to); to++)
			continue;
		sort_wave(i, to);
	}
	for (i = 0; i < real.count && i < modelled.count; i++)
		if (real.events[i].what != modelled.events[i].what ||
		    real.events[i].who != modelled.events[i].who ||
		    real.events[i].value != modelled.events[i].value)
			stories_differ(i);
	if (real.count != modelled.count)
		stories_differ(i);
}

static void compare_cell(int i)
{
	const struct mcell *c = &mcells[i];
	struct hyphae_cell_info info;
	int64_t value = -1;
	int r = hyphae_int64_get(cells[i], &value);
	int expected = c->state == VALUE   ? 0
		       : c->state == ERROR ? c->code
					   : -ENODATA;

	if (r != expected || (r == 0 && value != c->value))
		FAIL("%s %d is %d (%lld), not %d (%lld)",
		     kind_names[recipes[i].kind], i, r, (long long)value,
		     expected, (long long)c->value);
	if (hyphae_cell_info(cells[i], &info) != 0)
		FAIL("cell %d has no info", i);
	if (info.targets != c->targets)
		FAIL("cell %d has %zu targets, not %zu", i, info.targets,
		     c->targets);
	if (info.ended != (c->end != OPEN))
		FAIL("cell %d has%s ended", i, info.ended ? "" : " not");
	if (info.height != heights[i])
		FAIL("cell %d has height %u, not %u", i, info.height,
		     heights[i]);
}

static void compare(void)
{
	struct hyphae_graph_counts counts;
	size_t alive = 0, subscribed = 0;
	int i;

	for (i = 0; i < ncells; i++) {
		alive += !mcells[i].gone;
		if (held[i])
			compare_cell(i);
		else if (mcells[i].gone && hyphae_cell_id(cells[i]) != 0)
			FAIL("cell %d is still there", i);
	}
	for (i = 0; i < nmsubs; i++) {
		subscribed += msubs[i].alive;
		if ((hyphae_subscription_id(subs[i]) != 0) != msubs[i].alive)
			FAIL("subscriber %d is%s there", i,
			     msubs[i].alive ? " not" : " still");
	}
	if (hyphae_graph_counts(graph, &counts) != 0)
		FAIL("no counts");
	if (counts.cells != alive || counts.subscriptions != subscribed)
		FAIL("%zu cells and %zu subscriptions, not %zu and %zu",
		     counts.cells, counts.subscriptions, alive, subscribed);
	if (nsubs != nmsubs)
		FAIL("%d subscribers were made, not %d", nsubs, nmsubs);
	if (hyphae_graph_check_idle(graph) != 0)
		FAIL("the graph is not idle");
}

/* ---- the steps ---- */

/* A cell that the program holds, or -1. */
static int pick(bool only_source)
{
	int tries;

	for (tries = 0; tries < 40 && ncells; tries++) {
		int i = (int)dice((unsigned int)ncells);

		/* Rather a new one, so that graphs get deep. */
		if (!only_source && dice(2))
			i = ncells - 1 - i / 3;
		if (held[i] && (!only_source || recipes[i].kind == SOURCE))
			return i;
	}
	return -1;
}

static void expect_code(const char *what, int cell, int r, int expected)
{
	if (r != expected)
		FAIL("%s of cell %d gave %d, not %d", what, cell, r, expected);
}

static void count_cell(int i)
{
	held[i] = true;
	mcells[i].refs = 1;
	heights[i] = height_of(i);
}

static void step_source(void)
{
	int i = ncells++;
	int64_t value = dice(8);

	recipes[i] = (struct recipe){.kind = SOURCE};
	mcells[i] = (struct mcell){.state = VALUE, .value = value};
	cells[i] = hyphae_int64_new(graph, value);
	assert_non_null(cells[i]);
	count_cell(i);
}

static bool choose_inputs(struct recipe *recipe, int count)
{
	int i, k;

	recipe->ninputs = 0;
	for (i = 0; i < count; i++) {
		int input = pick(false);

		if (input < 0)
			return false;
		for (k = 0; k < i; k++)
			if (recipe->inputs[k] == input && dice(4))
				return false;
		recipe->inputs[recipe->ninputs++] = input;
	}
	return true;
}

static struct hyphae_cell *make(struct recipe *recipe)
{
	struct hyphae_cell *inputs[MAX_INPUTS];
	int i;

	for (i = 0; i < recipe->ninputs; i++)
		inputs[i] = cells[recipe->inputs[i]];
	if (recipe->kind == MAP)
		return hyphae_map(inputs[0], &hyphae_int64, real_map, recipe);
	if (recipe->kind == FILTER)
		return hyphae_filter(inputs[0], real_filter, recipe);
	return hyphae_combine(inputs, (size_t)recipe->ninputs, &hyphae_int64,
			      real_combine, recipe);
}

static void step_derive(void)
{
	struct recipe recipe = {.kind = (enum kind)(1 + dice(3))};
	int i = ncells, k;

	if (!choose_inputs(&recipe,
			   recipe.kind == COMBINE ? 1 + (int)dice(4) : 1))
		return;
	recipe.factor = dice(8) ? 1 + dice(3) : 0;
	recipe.offset = dice(11);
	recipe.fails_of = dice(2) ? 13 : 3;
	recipe.fails_at =
		dice(3) ? -1 : (int64_t)dice((unsigned int)recipe.fails_of);
	recipe.code = dice(2) ? -EIO : -ENOSPC;
	recipes[i] = recipe;
	mcells[i] = (struct mcell){.state = NONE, .linked = true};
	for (k = 0; k < recipe.ninputs; k++) {
		mcells[recipe.inputs[k]].refs++;
		mcells[recipe.inputs[k]].targets++;
	}
	mcells[i].refs = 1;
	ncells++;
	work_out(i, true);
	mcells[i].changed = false;
	mcells[i].ended_now = false;
	cells[i] = make(&recipes[i]);
	assert_non_null(cells[i]);
	count_cell(i);
	reap();
}

static void step_let_go(void)
{
	int i = pick(false);

	if (i < 0 || pinned[i])
		return;
	held[i] = false;
	put(i);
	reap();
	expect_code("unref", i, hyphae_cell_unref(cells[i]), 0);
}

static void step_subscribe(void)
{
	int cell = pick(false), sub = nsubs;
	struct habit habit = {.action = LISTEN, .when = dice(2)};

	if (cell < 0 || sub + 8 >= MAX_SUBS)
		return;
	if (dice(2))
		habit.action = dice(2) ? WRITE : (enum action)dice(ACTIONS);
	habit.target = habit.action == WRITE ? pick(true)
		       : sub		     ? (int)dice((unsigned int)sub)
					     : -1;
	if (habit.target < 0)
		habit.action = LISTEN;
	if (habit.action == WRITE)
		pinned[habit.target] = true;
	habits[sub] = habit;
	nsubs++;
	nmsubs++;
	msubs[sub] = (struct msub){cell, true, true};
	mcells[cell].refs++;
	mcells[cell].targets++;
	tell(sub);
	run_dry();
	subs[sub] =
		hyphae_subscribe(cells[cell], real_subscriber, &habits[sub]);
	assert_non_null(subs[sub]);
}

static void step_unsubscribe(void)
{
	int sub;
	bool alive;

	if (!nsubs)
		return;
	sub = (int)dice((unsigned int)nsubs);
	alive = msubs[sub].alive;
	sub_ends(sub);
	reap();
	expect_code("unsubscribe", sub, hyphae_unsubscribe(subs[sub]),
		    alive ? 0 : -ESTALE);
}

static void step_set(void)
{
	int cell = pick(true);
	int64_t value = dice(8);
	int expected;

	if (cell < 0)
		return;
	if (shut(NULL, cell))
		expected = -ESHUTDOWN;
	else
		expected = mcells[cell].value == value;
	if (expected == 0)
		write_alone((struct write){
			.cell = cell, .has_value = true, .value = value});
	run_dry();
	expect_code("set", cell, hyphae_int64_set(cells[cell], value),
		    expected);
}

/* One source ends: completes or fails. */
static void step_end(void)
{
	int cell = pick(true);
	bool fails = dice(2);
	bool open = cell >= 0 && !shut(NULL, cell);
	int r;

	if (cell < 0)
		return;
	if (open)
		write_alone((struct write){
			.cell = cell, .completes = !fails, .fails = fails});
	run_dry();
	r = fails ? hyphae_cell_fail(cells[cell], -ECANCELED, NULL)
		  : hyphae_cell_complete(cells[cell]);
	expect_code("end", cell, r, open ? 0 : -ESHUTDOWN);
}

static void batch_set(struct log *log)
{
	int cell = pick(true);
	int64_t value = dice(8), read = -1;
	bool closed;
	struct write *write;
	int r;

	if (cell < 0)
		return;
	closed = shut(log, cell);
	r = hyphae_int64_set(cells[cell], value);
	if (closed ? r != -ESHUTDOWN : r < 0)
		FAIL("set of cell %d in a batch gave %d", cell, r);
	if (closed)
		return;
	write = log_entry(log, cell);
	write->has_value = true;
	write->value = value;
	/* The writer reads what it wrote. */
	expect_code("get", cell, hyphae_int64_get(cells[cell], &read), 0);
	if (read != value)
		FAIL("cell %d in a batch reads %lld, not %lld", cell,
		     (long long)read, (long long)value);
}

static void batch_end_one(struct log *log)
{
	int cell = pick(true);
	bool fails = dice(2);
	bool closed;
	int r;

	if (cell < 0)
		return;
	closed = shut(log, cell);
	r = fails ? hyphae_cell_fail(cells[cell], -ECANCELED, NULL)
		  : hyphae_cell_complete(cells[cell]);
	expect_code("end in a batch", cell, r, closed ? -ESHUTDOWN : 0);
	if (closed)
		return;
	if (fails)
		log_entry(log, cell)->fails = true;
	else
		log_entry(log, cell)->completes = true;
}

static void step_batch(void)
{
	static struct log log;
	unsigned int writes = 1 + dice(6);
	bool nested = dice(3) == 0;

	log.count = 0;
	assert_int_equal(hyphae_batch_begin(graph), 0);
	while (writes--) {
		if (nested)
			assert_int_equal(hyphae_batch_begin(graph), 0);
		if (dice(60) == 0)
			batch_end_one(&log);
		else
			batch_set(&log);
		if (nested)
			assert_int_equal(hyphae_batch_end(graph), 0);
	}
	if (real.count)
		stories_differ(0); /* nothing may run before the end */
	flush(&log);
	run_dry();
	if (dice(4) == 0)
		assert_int_equal(hyphae_settle(graph), 0);
	assert_int_equal(hyphae_batch_end(graph), 0);
}

static void begin_step(void)
{
	real.count = modelled.count = 0;
	real.budget = modelled.budget = 6;
	next.count = 0;
}

static void step(void)
{
	unsigned int what = dice(100);

	step_number++;
	begin_step();
	if (ncells < 3 || what < 2)
		step_source();
	else if (ncells < 12 || what < 16)
		step_derive();
	else if (nsubs < 6 || what < 28)
		step_subscribe();
	else if (what < 34)
		step_let_go();
	else if (what < 38)
		step_unsubscribe();
	else if (what < 70)
		step_set();
	else if (what < 71)
		step_end();
	else
		step_batch();
	compare_stories();
	compare();
}

static void begin_program(unsigned int flags)
{
	eager = flags & HYPHAE_EAGER;
	graph = hyphae_graph_new(flags);
	assert_non_null(graph);
	ncells = nsubs = nmsubs = 0;
	memset(held, 0, sizeof(held));
	memset(pinned, 0, sizeof(pinned));
	memset(habits, 0, sizeof(habits));
}

/* Give everything back, in a random order, and see that nothing is left. */
static void end_program(void)
{
	struct hyphae_graph_counts counts;
	int i;

	begin_step();
	for (i = 0; i < nsubs; i++)
		hyphae_unsubscribe(subs[i]);
	for (i = 0; i < ncells; i++) {
		int swap = (int)dice((unsigned int)ncells);

		if (held[i] && held[swap]) {
			struct hyphae_cell *cell = cells[i];

			cells[i] = cells[swap];
			cells[swap] = cell;
		}
	}
	for (i = 0; i < ncells; i++)
		if (held[i])
			expect_code("unref", i, hyphae_cell_unref(cells[i]), 0);
	assert_int_equal(hyphae_graph_counts(graph, &counts), 0);
	if (counts.cells || counts.subscriptions || real.count)
		FAIL("%zu cells and %zu subscriptions are left", counts.cells,
		     counts.subscriptions);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static void run_programs(unsigned int flags)
{
	unsigned long first = test_number("SEED", 1);
	unsigned long steps = test_number("STEPS", DEFAULT_STEPS) / 4;
	unsigned long done;
	int i;

	step_number = 0;
	for (done = 0; done < steps; done += STEPS_A_PROGRAM) {
		seed = first + done / STEPS_A_PROGRAM;
		random_state = seed * 0x9e3779b97f4a7c15u + 1;
		step_number = 0;
		begin_program(flags);
		for (i = 0; i < STEPS_A_PROGRAM; i++)
			step();
		end_program();
	}
}

int main(void)
{
	return run_in_four_graphs("model", run_programs);
}
