/* SPDX-License-Identifier: MIT */
/* Group X: disposal during propagation, ownership, what is left behind. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

FN(same, in[0]);
FN(inc, in[0] + 1);
FN(sum, in[0] + in[1]);

static void x01_drop_stops_work(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, inc, b->cell);
	struct log *seen = follow(w, c->cell);

	stop(seen);
	let_go(w, c->cell);
	let_go(w, b->cell);
	begin(w);
	put(a, 1);
	assert_int_equal(b->runs, 0);
	assert_int_equal(c->runs, 0);
	assert_int_equal(targets(a), 0);
	assert_int_equal(live_cells(w), 1);
}

/* A subscription alone keeps the whole chain below it at work. */
static void x01_subscription_keeps_the_chain(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, inc, a);
	struct node *c = derive(w, inc, b->cell);
	struct log *seen = follow(w, c->cell);

	let_go(w, b->cell);
	let_go(w, c->cell);
	assert_int_equal(live_cells(w), 3);
	put(a, 1);
	assert_log(seen, "2,3");
	stop(seen);
	assert_int_equal(live_cells(w), 1);
	assert_int_equal(c->drops, 1);
	assert_int_equal(b->drops, 1);
}

/* Gives the reference to node->arg's cell back when its input is 1. */
static int drop_at_one(struct node *node, const int64_t *in, size_t count,
		       int64_t *ret)
{
	struct node *victim = node->arg;

	(void)count;
	if (in[0] == 1)
		node->code = hyphae_cell_unref(victim->cell);
	*ret = in[0];
	return 0;
}

static void x02_drop_before_its_turn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive(w, same, a);
	struct node *killer = derive(w, drop_at_one, b->cell);
	struct node *c = derive(w, same, a);
	struct node *victim, *sibling;
	int i;

	for (i = 0; i < 3; i++)
		c = derive(w, same, c->cell);
	/* Queued at height 5 as soon as a has changed. */
	victim = derive_inside(w, sum, (struct hyphae_cell *[]){a, c->cell}, 2);
	assert_non_null(victim);
	sibling = derive(w, sum, a, c->cell);
	killer->arg = victim;
	killer->code = 1;
	begin(w);
	put(a, 1);
	assert_int_equal(killer->code, 0);
	assert_int_equal(victim->runs, 0);
	assert_int_equal(victim->drops, 1);
	assert_int_equal(sibling->runs, w->eager ? 2 : 1);
	assert_int_equal(value(sibling->cell), 2);
	assert_int_equal(targets(a), 3);
	assert_int_equal(targets(c->cell), 1);
}

static void x03_drop_yourself(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive_inside(w, drop_at_one, &a, 1);
	struct node *c = derive(w, inc, a);

	assert_non_null(b);
	b->arg = b;
	b->code = 1;
	begin(w);
	put(a, 1);
	assert_int_equal(b->code, 0);
	assert_int_equal(b->runs, 1);
	assert_int_equal(b->drops, 1);
	assert_int_equal(c->runs, 1);
	assert_int_equal(targets(a), 1);
	put(a, 2);
	assert_int_equal(b->runs, 1);
	assert_int_equal(live_cells(w), 2);
}

static void x04_drop_the_source(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 3);
	struct node *b = derive(w, inc, a);
	struct log *seen = follow(w, b->cell);

	let_go(w, a);
	assert_int_equal(live_cells(w), 2);
	assert_int_equal(value(b->cell), 4);
	assert_log(seen, "4");
	/* It lives on, so what another reference writes still arrives. */
	put(a, 4);
	assert_log(seen, "4,5");
	stop(seen);
	let_go(w, b->cell);
	assert_int_equal(live_cells(w), 0);
	assert_int_equal(hyphae_int64_set(a, 5), -ESTALE);
}

static int quiet(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	(void)ctx;
	return 0;
}

struct tag {
	struct log *order;
	const char *text;
};

static void note_tag(void *ctx)
{
	struct tag *tag = ctx;

	note(tag->order, "%s", tag->text);
}

static void x05_last_made_first(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct tag tags[] = {
		{order, "own"}, {order, "1"}, {order, "2"}, {order, "3"}};
	struct hyphae_scope *outer = hyphae_scope_new(w->graph);
	struct hyphae_scope *inner;

	assert_non_null(outer);
	assert_int_equal(hyphae_scope_on_dispose(outer, note_tag, &tags[0]), 0);
	assert_int_equal(hyphae_scope_enter(outer), 0);
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[1], note_tag, 0));
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[2], note_tag, 0));
	inner = hyphae_scope_new(w->graph);
	assert_non_null(inner);
	assert_int_equal(hyphae_scope_enter(inner), 0);
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[3], note_tag, 0));
	assert_int_equal(hyphae_scope_dispose(outer), -EBUSY);
	assert_int_equal(hyphae_scope_dispose(inner), -EBUSY);
	assert_int_equal(hyphae_scope_leave(inner), 0);
	assert_int_equal(hyphae_scope_dispose(outer), -EBUSY);
	assert_int_equal(hyphae_scope_leave(outer), 0);
	assert_log(order, "");
	assert_int_equal(live_subs(w), 3);
	assert_int_equal(hyphae_scope_dispose(outer), 0);
	assert_log(order, "3,2,1,own");
	assert_int_equal(live_subs(w), 0);
	assert_int_equal(hyphae_scope_dispose(outer), -ESTALE);
	assert_int_equal(hyphae_scope_dispose(inner), -ESTALE);
}

static int own_inc(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static int own_sum(void *ret, const void *const *inputs, size_t count,
		   void *ctx)
{
	int64_t total = 0;
	size_t i;

	(void)ctx;
	for (i = 0; i < count; i++)
		total += *(const int64_t *)inputs[i];
	*(int64_t *)ret = total;
	return 0;
}

/* Cells of a scope go with it, except what somebody else holds. */
static void x05_scope_releases_cells(void **state)
{
	struct world *w = *state;
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	struct hyphae_cell *a, *b, *c, *outside;

	assert_non_null(scope);
	assert_int_equal(hyphae_scope_enter(scope), 0);
	a = hyphae_int64_new(w->graph, 1);
	b = hyphae_map(a, &hyphae_int64, own_inc, NULL);
	c = hyphae_map(b, &hyphae_int64, own_inc, NULL);
	assert_non_null(c);
	assert_ptr_equal(hyphae_cell_ref(b), b);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	outside = source(w, 7);
	assert_int_equal(live_cells(w), 4);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	/* b was kept, and keeps a. */
	assert_int_equal(live_cells(w), 3);
	assert_int_equal(value(b), 2);
	assert_int_equal(value(outside), 7);
	assert_int_equal(hyphae_cell_id(c), 0);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(live_cells(w), 1);
}

/* An entered scope takes nothing of another graph. */
static void x05_scope_of_another_graph(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *other = hyphae_graph_new(0);
	struct hyphae_scope *scope = hyphae_scope_new(other);
	struct hyphae_cell *a;

	assert_int_equal(hyphae_scope_enter(scope), 0);
	a = source(w, 1);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_int_equal(value(a), 1);
	assert_int_equal(hyphae_graph_free(other), 0);
}

static void x05_child_first(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct tag tags[] = {{order, "1"}, {order, "2"}, {order, "3"}};
	struct hyphae_scope *outer = hyphae_scope_new(w->graph), *inner;

	assert_int_equal(hyphae_scope_enter(outer), 0);
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[0], note_tag, 0));
	inner = hyphae_scope_new(w->graph);
	assert_int_equal(hyphae_scope_enter(inner), 0);
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[1], note_tag, 0));
	assert_int_equal(hyphae_scope_leave(inner), 0);
	assert_non_null(hyphae_subscribe_with(a, quiet, &tags[2], note_tag, 0));
	assert_int_equal(hyphae_scope_leave(outer), 0);
	/* The child goes by itself; later its parent goes without it. */
	assert_int_equal(hyphae_scope_dispose(inner), 0);
	assert_log(order, "2");
	assert_int_equal(hyphae_scope_dispose(outer), 0);
	assert_log(order, "2,3,1");
}

/* What left the scope before is not released a second time. */
static void x05_ended_before(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct tag tag = {order, "1"};
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	struct hyphae_subscription *s;
	struct log *fresh;

	assert_int_equal(hyphae_scope_enter(scope), 0);
	s = hyphae_subscribe_with(a, quiet, &tag, note_tag, 0);
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_log(order, "1");
	/* In its place, and none of the scope's business. */
	fresh = follow(w, a);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_log(order, "1");
	assert_int_equal(live_subs(w), 1);
	put(a, 1);
	assert_log(fresh, "0,1");
}

/* log->arg: a scope to be disposed when the value is 1. */
static int dispose_at_one(struct log *log, const struct hyphae_signal *signal)
{
	if (hyphae_int64_of(signal) == 1)
		log->code = hyphae_scope_dispose(log->arg);
	return 0;
}

static void x05_disposed_by_its_own_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	struct log *log = log_new(w, dispose_at_one, scope);
	struct log *next = log_new(w, NULL, NULL);
	struct hyphae_cell *b;

	log->code = 1;
	assert_int_equal(hyphae_scope_enter(scope), 0);
	b = hyphae_map(a, &hyphae_int64, own_inc, NULL);
	assert_non_null(log_subscribe(log, a, 0));
	assert_non_null(log_subscribe(next, b, 0));
	assert_int_equal(hyphae_scope_leave(scope), 0);
	put(a, 1);
	assert_int_equal(log->code, 0);
	assert_log(log, "0,1");
	assert_log(next, w->eager ? "1,2" : "1");
	assert_int_equal(log->drops, 1);
	assert_int_equal(next->drops, 1);
	assert_int_equal(live_cells(w), 1);
	assert_int_equal(live_subs(w), 0);
	put(a, 2);
	assert_log(log, "0,1");
}

/* A scope that lives long does not remember all that came and went. */
static void x05_long_lived(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct tag tags[] = {{order, "1"}, {order, "2"}, {order, "3"}};
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	int i;

	assert_int_equal(hyphae_scope_enter(scope), 0);
	for (i = 0; i < 3000; i++) {
		struct hyphae_subscription *s;
		struct hyphae_scope *child;

		if (i % 1000 == 500)
			assert_non_null(hyphae_subscribe_with(
				a, quiet, &tags[i / 1000], note_tag, 0));
		s = hyphae_subscribe(a, quiet, NULL);
		assert_int_equal(hyphae_unsubscribe(s), 0);
		child = hyphae_scope_new(w->graph);
		assert_int_equal(hyphae_scope_dispose(child), 0);
	}
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(live_subs(w), 3);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_log(order, "3,2,1");
	assert_int_equal(live_subs(w), 0);
}

static void x05_graph_of_an_entered_scope(void **state)
{
	struct world *w = *state;
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);

	assert_int_equal(hyphae_scope_enter(scope), 0);
	assert_int_equal(hyphae_graph_free(w->graph), -EBUSY);
	assert_int_equal(hyphae_scope_enter(scope), -EBUSY); /* it is */
	assert_int_equal(hyphae_scope_leave(scope), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
}

/* A hook that makes cells and subscriptions while the scope goes. */
static void make_more(void *ctx)
{
	struct log *log = ctx;
	struct hyphae_cell *made = hyphae_int64_new(log->world->graph, 5);
	struct hyphae_subscription *s = hyphae_subscribe(made, quiet, NULL);

	note(log, "%d",
	     made && s && hyphae_unsubscribe(s) == 0 &&
		     hyphae_cell_unref(made) == 0);
}

static void x05_hook_makes_more(void **state)
{
	struct world *w = *state;
	struct log *log = log_new(w, NULL, NULL);
	struct hyphae_scope *scope = hyphae_scope_new(w->graph);
	struct hyphae_cell *owner = source(w, 0);

	assert_int_equal(hyphae_scope_on_dispose(scope, make_more, log), 0);
	assert_int_equal(hyphae_scope_dispose(scope), 0);
	assert_log(log, "1");
	assert_int_equal(hyphae_cell_own(owner, log, make_more), 0);
	let_go(w, owner);
	assert_log(log, "1,1");
}

struct link {
	struct hyphae_subscription *next_subscription;
	struct hyphae_cell *next_cell;
	unsigned int *dropped;
};

static void drop_next(void *ctx)
{
	struct link *link = ctx;

	++*link->dropped;
	if (link->next_subscription)
		hyphae_unsubscribe(link->next_subscription);
	if (link->next_cell)
		hyphae_cell_unref(link->next_cell);
}

#define LINKS 10000

static const char *clean_up_chain(void *arg)
{
	struct world *w = arg;
	struct link *links = calloc(LINKS, sizeof(*links));
	struct hyphae_cell *a = hyphae_int64_new(w->graph, 0);
	struct hyphae_subscription *s = NULL;
	struct hyphae_cell *c = NULL;
	unsigned int dropped = 0;
	int i;

	CHECK(links);
	for (i = LINKS - 1; i >= 0; i--) {
		links[i].next_subscription = s;
		links[i].dropped = &dropped;
		s = hyphae_subscribe_with(a, quiet, &links[i], drop_next, 0);
		CHECK(s);
	}
	CHECK(hyphae_unsubscribe(s) == 0);
	CHECK(dropped == LINKS);
	CHECK(live_subs(w) == 0);
	CHECK(hyphae_cell_unref(a) == 0);

	dropped = 0;
	for (i = LINKS - 1; i >= 0; i--) {
		links[i] = (struct link){.next_cell = c, .dropped = &dropped};
		c = hyphae_int64_new(w->graph, i);
		CHECK(c);
		CHECK(hyphae_cell_own(c, &links[i], drop_next) == 0);
	}
	CHECK(hyphae_cell_unref(c) == 0);
	CHECK(dropped == LINKS);
	CHECK(live_cells(w) == 0);
	free(links);
	return NULL;
}

static void x07_clean_up_chain(void **state)
{
	on_small_stack(64 << 10, clean_up_chain, *state);
}

static void x09_churn(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *survivor = follow(w, a);
	unsigned long stranger = 0;
	struct hyphae_subscription *s;
	int64_t i;

	for (i = 1; i <= 1000; i++) {
		s = hyphae_subscribe(a, quiet, &stranger);
		assert_non_null(s);
		put(a, i);
		assert_int_equal(hyphae_unsubscribe(s), 0);
	}
	assert_int_equal(survivor->calls, 1001);
	assert_int_equal(targets(a), 1);
	assert_int_equal(live_subs(w), 1);
}

/* ---- values that own something ---- */

static long tokens_made;
static long tokens_dropped;
static int token_copy_fails;

struct token {
	int *box;
};

static int token_make(struct token *token, int number)
{
	token->box = malloc(sizeof(*token->box));
	if (!token->box)
		abort();
	*token->box = number;
	tokens_made++;
	return 0;
}

static int token_copy(void *to, const void *from)
{
	if (token_copy_fails)
		return token_copy_fails;
	return token_make(to, *((const struct token *)from)->box);
}

static void token_drop(void *value_)
{
	struct token *token = value_;

	free(token->box);
	token->box = NULL;
	tokens_dropped++;
}

static bool token_equal(const void *a, const void *b)
{
	return *((const struct token *)a)->box ==
	       *((const struct token *)b)->box;
}

HYPHAE_TYPE_WITH(token, struct token, .copy = token_copy, .drop = token_drop,
		 .equal = token_equal);

static long tokens_live(void)
{
	return tokens_made - tokens_dropped;
}

static int set_token(struct hyphae_cell *cell, int number)
{
	int box = number;

	return token_set(cell, (struct token){&box});
}

static struct hyphae_cell *new_token(struct world *w, int number)
{
	int box = number;

	return token_new_at(w->graph, (struct token){&box}, HYPHAE_HERE);
}

/* Half of the number; -EIO for 13. */
static int half_token(void *ret, const void *input, void *ctx)
{
	int number = *((const struct token *)input)->box;

	(void)ctx;
	return number == 13 ? -EIO : token_make(ret, number / 2);
}

static void x11_destructors_exactly_once(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a, *b;
	struct token copy;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 2);
	assert_non_null(a);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(set_token(a, 4), 0); /* replaced */
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(set_token(a, 4), HYPHAE_UNCHANGED); /* rejected */
	assert_int_equal(tokens_live(), 1);
	b = hyphae_map(a, &token_type, half_token, NULL);
	assert_non_null(b);
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(set_token(a, 5), 0); /* b's result is equal */
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(set_token(a, 8), 0);
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(token_get(b, &copy), 0);
	assert_int_equal(*copy.box, 4);
	assert_int_equal(tokens_live(), 3);
	token_drop(&copy);
	assert_int_equal(set_token(a, 13), 0); /* error */
	assert_int_equal(token_get(b, &copy), -EIO);
	assert_int_equal(set_token(a, 20), 0);
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(hyphae_cell_complete(a), 0);
	assert_int_equal(set_token(a, 21), -ESHUTDOWN);
	assert_int_equal(tokens_live(), 2);
	/* Nothing follows it any more. */
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(tokens_live(), 0);
}

/* In a function that makes an owned value: the cell goes, and its value. */
static int half_and_unref(void *ret, const void *input, void *ctx)
{
	struct hyphae_cell **self = ctx;

	if (*self)
		hyphae_cell_unref(*self);
	return half_token(ret, input, NULL);
}

static void x11_released_in_its_function(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *self = NULL, *a;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 2);
	self = hyphae_map(a, &token_type, half_and_unref, &self);
	assert_non_null(self);
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(set_token(a, 40), 0);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(hyphae_cell_unref(self), -ESTALE);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 0);
}

static void x11_error_when_made(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a, *b;
	struct token copy;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 13);
	b = hyphae_map(a, &token_type, half_token, NULL);
	assert_non_null(b);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(token_get(b, &copy), -EIO);
	assert_int_equal(set_token(a, 8), 0);
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 0);
}

static int all_tokens(const void *input, void *ctx)
{
	(void)ctx;
	return *((const struct token *)input)->box % 2 == 0;
}

/* A filter shares the value that it lets pass. */
static void x11_filter_shares(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a, *f;
	struct token copy;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 2);
	f = hyphae_filter(a, all_tokens, NULL);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(set_token(a, 3), 0); /* f keeps the 2 */
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(token_get(f, &copy), 0);
	assert_int_equal(*copy.box, 2);
	token_drop(&copy);
	assert_int_equal(set_token(a, 4), 0);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(hyphae_cell_unref(f), 0);
	assert_int_equal(tokens_live(), 0);
}

static int set_same_cell(const struct hyphae_signal *signal, void *ctx)
{
	return set_token(ctx, *((const struct token *)signal->value)->box + 1);
}

/* Values of writes that were cut off because nothing settled. */
static void x11_never_settles(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a;
	struct hyphae_subscription *s;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 0);
	s = hyphae_subscribe_with(a, set_same_cell, a, NULL,
				  HYPHAE_SKIP_INITIAL);
	assert_int_equal(set_token(a, 1), -ELOOP);
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(hyphae_unsubscribe(s), 0);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 0);
}

static void x11_in_a_batch(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a;

	tokens_made = tokens_dropped = 0;
	a = new_token(w, 1);
	begin_batch(w);
	assert_int_equal(set_token(a, 2), 0);
	assert_int_equal(set_token(a, 3), 0);
	assert_true(set_token(a, 1) >= 0);
	end_batch(w);
	assert_int_equal(tokens_live(), 1);
	begin_batch(w);
	assert_int_equal(set_token(a, 9), 0);
	assert_int_equal(hyphae_cell_unref(a), 0); /* with a write pending */
	end_batch(w);
	assert_int_equal(tokens_live(), 0);
}

static void x11_failed_copies(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a;
	struct token copy = {NULL};

	tokens_made = tokens_dropped = 0;
	token_copy_fails = -ENOSPC;
	errno = 0;
	assert_null(new_token(w, 1));
	assert_int_equal(errno, ENOSPC);
	token_copy_fails = 0;
	a = new_token(w, 1);
	token_copy_fails = -ENOSPC;
	assert_int_equal(set_token(a, 2), -ENOSPC);
	assert_int_equal(token_get(a, &copy), -ENOSPC);
	token_copy_fails = 0;
	assert_int_equal(tokens_live(), 1);
	assert_int_equal(token_get(a, &copy), 0);
	assert_int_equal(*copy.box, 1);
	token_drop(&copy);
	assert_int_equal(hyphae_cell_unref(a), 0);
	assert_int_equal(tokens_live(), 0);
}

/* A graph that goes takes all values with it. */
static void x11_graph_free(void **state)
{
	struct world *w = *state;
	struct world other = *w;
	struct hyphae_cell *a;

	tokens_made = tokens_dropped = 0;
	other.graph = hyphae_graph_new(w->eager ? HYPHAE_EAGER : 0);
	a = new_token(&other, 6);
	assert_non_null(hyphae_map(a, &token_type, half_token, NULL));
	assert_int_equal(tokens_live(), 2);
	assert_int_equal(hyphae_graph_free(other.graph), 0);
	assert_int_equal(tokens_live(), 0);
	assert_int_equal(set_token(a, 7), -ESTALE);
}

static void count_drop(void *data)
{
	++*(unsigned int *)data;
}

static void x11_owned_data(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *order = log_new(w, NULL, NULL);
	struct tag tags[] = {{order, "1"}, {order, "2"}, {order, "3"}};
	unsigned int drops = 0;
	int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(hyphae_cell_own(a, &tags[i], note_tag), 0);
	let_go(w, a);
	assert_log(order, "3,2,1");
	assert_int_equal(hyphae_cell_own(a, &drops, count_drop), -ESTALE);
	assert_int_equal(drops, 1);
	assert_int_equal(hyphae_cell_own(NULL, &drops, count_drop), -EINVAL);
	assert_int_equal(drops, 2);
}

static void x12_disposed_handle(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *live = source(w, 2);
	struct hyphae_cell_info info;
	struct hyphae_cell *both[2] = {live, a};
	int64_t held = 5;
	char name[8];
	unsigned int drops = 0;

	let_go(w, a);
	assert_int_equal(hyphae_int64_set(a, 2), -ESTALE);
	assert_int_equal(hyphae_int64_get(a, &held), -ESTALE);
	assert_int_equal(held, 5);
	assert_int_equal(hyphae_cell_unref(a), -ESTALE);
	assert_null(hyphae_cell_ref(a));
	assert_int_equal(hyphae_cell_complete(a), -ESTALE);
	assert_int_equal(hyphae_cell_fail(a, -EIO, NULL), -ESTALE);
	assert_int_equal(hyphae_cell_set_name(a, "ghost"), -ESTALE);
	assert_int_equal(hyphae_cell_name(a, name, sizeof(name)), -ESTALE);
	assert_int_equal(hyphae_cell_id(a), 0);
	assert_int_equal(hyphae_cell_info(a, &info), -ESTALE);
	errno = 0;
	assert_null(hyphae_subscribe_with(a, quiet, &drops, count_drop, 0));
	assert_int_equal(errno, ESTALE);
	assert_int_equal(drops, 1);
	errno = 0;
	assert_null(hyphae_map(a, &hyphae_int64, own_inc, NULL));
	assert_int_equal(errno, ESTALE);
	errno = 0;
	assert_null(hyphae_combine(both, 2, &hyphae_int64, own_sum, NULL));
	assert_int_equal(errno, ESTALE);
	assert_int_equal(targets(live), 0);
	assert_int_equal(live_cells(w), 1);
}

/*
 * A subscriber ends the last subscription of a cell that has changed in the
 * same wave and waits for its turn.
 */
static int stop_arg(struct log *log, const struct hyphae_signal *signal)
{
	struct log *victim = log->arg;

	if (hyphae_int64_of(signal) == 1)
		log->code = hyphae_unsubscribe(victim->subscription);
	return 0;
}

static void x14_cell_goes_before_it_is_told(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive_inside(w, inc, &a, 1);
	struct log *killer = follow_with(w, a, stop_arg, NULL, 0);
	struct log *victim = log_new(w, NULL, NULL);
	struct log *last;

	assert_non_null(log_subscribe(victim, b->cell, 0));
	last = follow(w, a);
	assert_int_equal(hyphae_cell_unref(b->cell), 0);
	killer->arg = victim;
	killer->code = 1;
	begin_batch(w); /* by height, also in an eager graph */
	put(a, 1);
	end_batch(w);
	assert_int_equal(killer->code, 0);
	assert_log(victim, "1");
	assert_log(last, "0,1");
	assert_int_equal(b->drops, 1);
	assert_int_equal(live_cells(w), 1);
}

/* A subscriber gives the last reference of its own cell back. */
static int unref_cell(struct log *log, const struct hyphae_signal *signal)
{
	if (hyphae_int64_of(signal) == 1)
		log->code = hyphae_cell_unref(log->cell);
	return 0;
}

static void x13_unref_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *b = derive_inside(w, same, &a, 1);
	struct log *seen;

	assert_non_null(b);
	seen = follow_with(w, b->cell, unref_cell, NULL, 0);
	seen->code = 1;
	put(a, 1);
	assert_int_equal(seen->code, 0);
	assert_int_equal(live_cells(w), 2); /* the subscription keeps it */
	put(a, 2);
	assert_log(seen, "0,1,2");
	stop(seen);
	assert_int_equal(live_cells(w), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(x01_drop_stops_work),
		CASE(x01_subscription_keeps_the_chain),
		CASE(x02_drop_before_its_turn),
		CASE(x03_drop_yourself),
		CASE(x04_drop_the_source),
		CASE(x05_last_made_first),
		CASE(x05_scope_releases_cells),
		CASE(x05_scope_of_another_graph),
		CASE(x05_child_first),
		CASE(x05_ended_before),
		CASE(x05_disposed_by_its_own_subscriber),
		CASE(x05_long_lived),
		CASE(x05_graph_of_an_entered_scope),
		CASE(x05_hook_makes_more),
		CASE(x07_clean_up_chain),
		CASE(x09_churn),
		CASE(x11_destructors_exactly_once),
		CASE(x11_released_in_its_function),
		CASE(x11_error_when_made),
		CASE(x11_filter_shares),
		CASE(x11_never_settles),
		CASE(x11_in_a_batch),
		CASE(x11_failed_copies),
		CASE(x11_graph_free),
		CASE(x11_owned_data),
		CASE(x12_disposed_handle),
		CASE(x13_unref_in_a_subscriber),
		CASE(x14_cell_goes_before_it_is_told),
	};

	return cmocka_run_group_tests_name("disposal", tests, NULL, NULL);
}
