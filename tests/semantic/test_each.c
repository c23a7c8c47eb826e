// SPDX-License-Identifier: MIT
/* Operators of each value: errors with messages, tap, distinct, hold. */
#include "shapes.h"

/* ---- hyphae_error --------------------------------------------------------------- */

static int note_message(struct log *log, const struct hyphae_signal *signal)
{
	if (signal->kind == HYPHAE_ERROR)
		note(log, "%s", signal->message);
	return 0;
}

/* 1: a message; 2: a plain code; 3: a message thrown away; 4: an old one. */
static int kinds(struct node *node, const int64_t *in, size_t count,
		 int64_t *ret)
{
	int r;

	(void)node;
	(void)count;
	switch (in[0]) {
	case 1:
		return hyphae_error(-EIO, "at %d", 1);
	case 2:
		return -EIO;
	case 3:
		(void)hyphae_error(-EIO, "unused");
		return -EIO;
	case 4:
		r = hyphae_error(-EPIPE, "old");
		(void)hyphae_error(-EIO, "new");
		return r;
	case 5:
		return hyphae_error(0, "no code");
	case 6:
		return hyphae_error(-5000, NULL);
	case 7:
		(void)hyphae_error(-EIO, "of another");
		break;
	default:
		break;
	}
	*ret = in[0];
	return 0;
}

static void er_message_flows(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *n = derive(w, kinds, a);
	struct node *below = derive(w, not_five, n->cell);
	struct log *log = follow_with(w, below->cell, note_message, NULL, 0);

	put(a, 1);
	put(a, 2);
	put(a, 3);
	put(a, 4);
	put(a, 5);
	put(a, 6);
	put(a, 7);
	put(a, 2);
	assert_log(log, "0,E(-5),at 1,E(-5),,E(-32),,E(-22),no code,E(-22),,7,"
			"E(-5),");
}

static void er_message_when_made(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct node *n = derive(w, kinds, a);

	assert_log(follow_with(w, n->cell, note_message, NULL, 0),
		   "E(-5),at 1");
	assert_int_equal(code_of(n->cell), -EIO);
}

static int long_message(struct node *node, const int64_t *in, size_t count,
			int64_t *ret)
{
	char text[600];

	(void)node;
	(void)count;
	(void)ret;
	memset(text, 'x', sizeof(text));
	/* Two bytes that would be cut in two, and then not. */
	memcpy(text + HYPHAE_MESSAGE_MAX - 1 - in[0], "\xc3\xa4", 2);
	text[sizeof(text) - 1] = '\0';
	return hyphae_error(-EIO, "%s", text);
}

static int note_length(struct log *log, const struct hyphae_signal *signal)
{
	note(log, "%zu", strlen(signal->message));
	return 0;
}

static void er_message_is_bounded(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct node *n = derive(w, long_message, a);
	struct log *log = follow_with(w, n->cell, note_length, NULL, 0);

	put(a, 1);
	assert_log(log, "E(-5),254,E(-5),255");
}

static int complain(struct log *log, const struct hyphae_signal *signal)
{
	(void)log;
	return hyphae_int64_of(signal) == 2
		       ? hyphae_error(-EIO, "cannot use %d", 2)
		       : 0;
}

static void er_message_of_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);

	follow_with(w, a, complain, NULL, 0);
	assert_int_equal(hyphae_int64_set(a, 2), -EIO);
	assert_int_equal(w->problems, 1);
	assert_int_equal(w->problem_code, -EIO);
	assert_non_null(strstr(w->problem,
			       "error -5 (Input/output error): cannot use 2;"));
}

static int copy_fails(void *to, const void *from)
{
	if (*(const int64_t *)from == 2)
		return hyphae_error(-EIO, "no copy");
	*(int64_t *)to = *(const int64_t *)from;
	return 0;
}
HYPHAE_TYPE_WITH(copied, int64_t, .copy = copy_fails);

static void er_message_of_copy_is_a_code(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a =
		keep(w, copied_new_at(w->graph, 1, HYPHAE_HERE));

	assert_int_equal(copied_set(a, 2), -EIO);
}

/* ---- tap -------------------------------------------------------------------------- */

static void note_value(const void *value, void *ctx)
{
	note(ctx, "t%lld", (long long)*(const int64_t *)value);
}

static void tap_sees_each_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *e = event(w);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *seen = log_new(w, NULL, NULL);
	struct hyphae_cell *t = keep(w, hyphae_tap(n, note_value, seen));
	struct log *log = follow(w, t);
	struct hyphae_cell *u = keep(w, hyphae_tap(e, note_value, seen));
	struct log *events = follow(w, u);

	put(a, 5);
	put(a, 2);
	complete(a);
	assert_log(log, "1,E(-5),2,C");
	assert_log(seen, "t1,t2");
	assert_true(is_event(u));
	put(e, 3);
	put(e, 3);
	assert_log(events, "3,3");
	assert_log(seen, "t1,t2,t3,t3");
}

static void note_text(const void *value, void *ctx)
{
	const char **text = ctx;

	*text = *(char *const *)value;
}

static void tap_shares_the_value(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	const char *text = NULL;
	struct hyphae_cell *t = keep(w, hyphae_tap(s, note_text, &text));
	struct log *log = follow(w, t);

	put_string(s, "b");
	assert_string_equal(text, "b");
	assert_log(log, "a,b");
}

/* ---- catch_error --------------------------------------------------------------- */

static int minus_one(void *ret, int code, const char *message, void *ctx)
{
	struct log *log = ctx;

	if (log)
		note(log, "%d:%s", code, message);
	*(int64_t *)ret = -1;
	return 0;
}

static int text_instead(void *ret, int code, const char *message, void *ctx)
{
	(void)ctx;
	if (code == -EPERM)
		return hyphae_error(-EPERM, "still");
	if (asprintf((char **)ret, "<%s>", message) < 0)
		return -ENOMEM;
	return 0;
}

static void er07_recover(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = derive(w, not_five, a)->cell;
	struct log *seen = log_new(w, NULL, NULL);
	struct hyphae_cell *c = keep(w, hyphae_catch_error(b, minus_one, seen));
	struct log *log = follow(w, c);

	put(a, 5);
	assert_int_equal(code_of(b), -EIO);
	assert_int_equal(value(c), -1);
	put(a, 2);
	assert_log(log, "0,-1,2");
	put(a, 5);
	complete(a);
	assert_log(log, "0,-1,2,-1,C");
	assert_log(seen, "-5:,-5:");
}

static void er07_terminal(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0), *b = source(w, 0);
	struct log *seen = log_new(w, NULL, NULL);
	struct hyphae_cell *c = keep(w, hyphae_catch_error(a, minus_one, seen));
	struct log *log = follow(w, c);

	fail_cell(a, -EPIPE);
	assert_log(log, "0,-1,C");
	assert_log(seen, "-32:broken");
	assert_int_equal(targets(a), 0);
	fail_cell(b, -EPIPE);
	c = keep(w, hyphae_catch_error(b, minus_one, seen));
	assert_log(follow(w, c), "-1,C");
}

static void er07_of_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *n = derive(w, not_five, e)->cell;
	struct hyphae_cell *c = keep(w, hyphae_catch_error(n, minus_one, NULL));
	struct log *log = follow(w, c);

	assert_true(is_event(c));
	begin_batch(w);
	put(e, 5);
	put(e, 5);
	put(e, 1);
	put(e, 1);
	end_batch(w);
	fail_cell(e, -EIO);
	assert_log(log, "-1,-1,1,1,-1,C");
}

static void er07_strings(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a"), *t = string(w, "x");
	struct hyphae_cell *m =
		keep(w, hyphae_map(s, &hyphae_string, not_five_string, NULL));
	struct hyphae_cell *c =
		keep(w, hyphae_catch_error(m, text_instead, NULL));
	struct hyphae_cell *d =
		keep(w, hyphae_catch_error(t, text_instead, NULL));
	struct log *log = follow(w, c);
	struct log *both = follow_with(w, d, note_message, NULL, 0);

	for (int i = 0; i < 3; i++) {
		put_string(s, "five");
		put_string(s, "b");
	}
	fail_cell(s, -EIO);
	assert_log(log, "a,<no five>,b,<no five>,b,<no five>,b,<broken>,C");
	fail_cell(t, -EPERM);
	assert_log(both, "x,E(-1),still,C");
}

static void er07_lazy(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *c = keep(w, hyphae_catch_error(n, minus_one, NULL));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	assert_int_equal(code_of(c), -ENODATA);
	log = follow(w, c);
	put(a, 1);
	assert_log(log, "-1,1");
}

/* ---- map_error ---------------------------------------------------------------- */

static int reword(int code, const char *message, void *ctx)
{
	unsigned int *calls = ctx;

	if (calls)
		++*calls;
	if (code == -EPERM)
		return 0;
	if (code == -EINTR)
		return 1;
	return hyphae_error(-ERANGE, "%d %s", code, message);
}

static void map_error_rewords(void **state)
{
	struct world *w = *state;
	unsigned int calls = 0;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *m = keep(w, hyphae_map_error(n, reword, &calls));
	struct log *log = follow_with(w, m, note_message, NULL, 0);

	put(a, 5);
	put(a, 2);
	put(a, 5);
	complete(a);
	assert_log(log, "1,E(-34),-5 ,2,E(-34),-5 ,C");
	assert_int_equal(calls, 2);
	assert_int_equal(code_of(n), -EIO);
}

static void map_error_terminal(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *b = source(w, 1);
	struct hyphae_cell *c = source(w, 1), *e = event(w);
	struct log *log =
		follow_with(w, keep(w, hyphae_map_error(a, reword, NULL)),
			    note_message, NULL, 0);
	struct log *same =
		follow_with(w, keep(w, hyphae_map_error(b, reword, NULL)),
			    note_message, NULL, 0);
	struct log *bad = follow(w, keep(w, hyphae_map_error(c, reword, NULL)));
	struct hyphae_cell *m = keep(w, hyphae_map_error(e, reword, NULL));

	fail_cell(a, -EIO);
	assert_log(log, "1,E(-34)!,-5 broken");
	fail_cell(b, -EPERM);
	assert_log(same, "1,E(-1)!,broken");
	fail_cell(c, -EINTR);
	assert_log(bad, "1,E(-22)!");
	assert_true(is_event(m));
	assert_true(ended(keep(w, hyphae_map_error(a, reword, NULL))));
}

/* ---- unwrap_or ----------------------------------------------------------------- */

static void unwrap_or_always_has_one(void **state)
{
	struct world *w = *state;
	int64_t other = 8;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *none = keep(w, hyphae_skip(n, 1));
	struct hyphae_cell *u =
		keep(w, hyphae_unwrap_or(none, &hyphae_int64, &other));
	struct log *log = follow(w, u);

	assert_int_equal(value(u), 8);
	put(a, 5);
	put(a, 2);
	put(a, 5);
	put(a, 5 - 1);
	fail_cell(a, -EIO);
	assert_log(log, "8,2,8,4,8,C");
	assert_int_equal(value(u), 8);
}

static void unwrap_or_of_an_event(void **state)
{
	struct world *w = *state;
	const char *other = "other";
	struct hyphae_cell *e = string_event(w);
	struct hyphae_cell *m =
		keep(w, hyphae_map(e, &hyphae_string, not_five_string, NULL));
	struct hyphae_cell *u =
		keep(w, hyphae_unwrap_or(m, &hyphae_string, &other));
	struct log *log = follow(w, u);

	assert_log(log, "");
	put_string(e, "a");
	put_string(e, "five");
	put_string(e, "five");
	complete(e);
	assert_log(log, "a,other,other,C");
}

/* ---- distinct ------------------------------------------------------------------- */

static bool near(const void *last, const void *value, void *ctx)
{
	const int64_t *a = last, *b = value, *step = ctx;

	return llabs(*a - *b) < *step;
}

static void distinct_by_what_passed_last(void **state)
{
	struct world *w = *state;
	int64_t step = 3;
	struct hyphae_cell *a = source(w, 1);
	struct log *log = follow(
		w, keep(w, hyphae_distinct_until_changed_by(a, near, &step)));

	for (int64_t i = 2; i < 9; i++)
		put(a, i);
	complete(a);
	assert_log(log, "1,4,7,C");
}

static void distinct_by_after_an_error(void **state)
{
	struct world *w = *state;
	int64_t step = 3;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log = follow(
		w, keep(w, hyphae_distinct_until_changed_by(n, near, &step)));

	put(a, 5);
	put(a, 2);
	put(a, 3);
	assert_log(log, "1,E(-5),2");
}

static void deduped_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w), *s = string_event(w);
	struct hyphae_cell *d = keep(w, hyphae_deduped(e));
	struct log *log = follow(w, d),
		   *texts = follow(w, keep(w, hyphae_deduped(s)));

	assert_true(is_event(d));
	put(e, 1);
	put(e, 1);
	put(e, 2);
	put(e, 1);
	assert_log(log, "1,2,1");
	put_string(s, "a");
	put_string(s, "a");
	put_string(s, "b");
	assert_log(texts, "a,b");
}

HYPHAE_TYPE_WITH(trigger, int64_t, .equal = hyphae_never_equal);

static void deduped_of_never_equal(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *t =
		keep(w, trigger_new_at(w->graph, 1, HYPHAE_HERE));
	struct log *all = follow(w, t);
	struct log *log = follow(w, keep(w, hyphae_deduped(t)));

	assert_int_equal(trigger_set(t, 1), 0);
	assert_int_equal(trigger_set(t, 2), 0);
	assert_log(all, "1,1,2");
	assert_log(log, "1,2");
}

static void deduped_lazy_forgets(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string_event(w);
	struct hyphae_cell *d = keep(w, hyphae_deduped(s));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(d), 0);
	log = follow(w, d);
	put_string(s, "a");
	stop(log);
	log = follow(w, d);
	put_string(s, "a");
	assert_log(log, "a");
}

static void distinct_never_again(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *s = string_event(w);
	struct log *log = follow(w, keep(w, hyphae_distinct(a, 100)));
	struct hyphae_cell *d = keep(w, hyphae_distinct(s, 100));
	struct log *texts = follow(w, d);

	put(a, 2);
	put(a, 1);
	put(a, 3);
	put(a, 2);
	assert_log(log, "1,2,3");
	put_string(s, "a");
	put_string(s, "b");
	put_string(s, "a");
	put_string(s, "b");
	put_string(s, "c");
	assert_log(texts, "a,b,c");
	assert_true(is_event(d));
}

static void distinct_forgets_the_oldest(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1), *s = string(w, "1");
	struct hyphae_cell *e = event(w);
	struct log *log = follow(w, keep(w, hyphae_distinct(a, 3)));
	struct log *one = follow(w, keep(w, hyphae_distinct(e, 1)));
	struct log *texts = follow(w, keep(w, hyphae_distinct(s, 3)));
	static const char order[] = "2314123";

	for (size_t i = 0; i < sizeof(order) - 1; i++) {
		char text[2] = {order[i], '\0'};

		put(a, order[i] - '0');
		put_string(s, text);
	}
	/* 4 drives out 1, then 1 drives out 2, and so on. */
	assert_log(log, "1,2,3,4,1,2,3");
	assert_log(texts, "1,2,3,4,1,2,3");
	put(e, 1);
	put(e, 1);
	put(e, 2);
	put(e, 1);
	assert_log(one, "1,2,1");
}

static void distinct_of_many(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct log *log = follow(w, keep(w, hyphae_distinct(e, 64)));

	/* Each of 100 three times; the 64 last are known the next time. */
	for (int64_t i = 0; i < 100; i++)
		put(e, i);
	assert_int_equal(log->calls, 100);
	for (int64_t i = 36; i < 100; i++)
		put(e, i);
	assert_int_equal(log->calls, 100);
	for (int64_t i = 0; i < 36; i++)
		put(e, i);
	assert_int_equal(log->calls, 136);
	for (int64_t i = 72; i < 100; i++)
		put(e, i);
	assert_int_equal(log->calls, 136);
}

static uint64_t hash_same(const void *value)
{
	return *(const int64_t *)value / 10 % 2;
}
static bool same_tens(const void *a, const void *b)
{
	return *(const int64_t *)a / 10 == *(const int64_t *)b / 10;
}
HYPHAE_TYPE_WITH(tens, int64_t, .equal = same_tens, .hash = hash_same);

static void distinct_by_hash_and_equal(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = keep(w, tens_new_at(w->graph, 11, HYPHAE_HERE));
	struct log *log = follow(w, keep(w, hyphae_distinct(a, 4)));

	assert_int_equal(tens_set(a, 31), 0);
	assert_int_equal(tens_set(a, 19), 0);
	assert_int_equal(tens_set(a, 25), 0);
	assert_int_equal(tens_set(a, 38), 0);
	assert_log(log, "11,31,25");
}

static void distinct_error_ends(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct hyphae_cell *d = keep(w, hyphae_distinct(n, 4));
	struct log *log = follow(w, d);

	put(a, 5);
	put(a, 1);
	assert_int_equal(code_of(d), -ENODATA);
	put(a, 2);
	assert_log(log, "1,E(-5),2");
	assert_int_equal(hyphae_cell_set_lazy(d), 0);
	stop(log);
	put(a, 1);
	assert_log(follow(w, d), "1");
}

/* ---- hold, changes ----------------------------------------------------------------- */

static void hold_the_last_emission(void **state)
{
	struct world *w = *state;
	int64_t start = 4;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *h = keep(w, hyphae_hold(e, &hyphae_int64, &start));
	struct hyphae_cell *none = keep(w, hyphae_hold(e, NULL, NULL));
	struct log *log = follow(w, h);

	assert_false(is_event(h));
	assert_int_equal(value(h), 4);
	assert_int_equal(code_of(none), -ENODATA);
	put(e, 4);
	put(e, 6);
	put(e, 6);
	assert_int_equal(value(none), 6);
	begin_batch(w);
	put(e, 7);
	put(e, 8);
	end_batch(w);
	complete(e);
	assert_log(log, "4,6,7,8,C");
	assert_int_equal(value(h), 8);
	assert_int_equal(targets(e), 0);
}

static void hold_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *n = derive(w, not_five, e)->cell;
	struct hyphae_cell *h =
		keep(w, hyphae_hold(n, &hyphae_int64, &(int64_t){1}));
	struct log *log = follow(w, h);

	put(e, 5);
	put(e, 5);
	assert_int_equal(code_of(h), -EIO);
	put(e, 2);
	fail_cell(e, -EPIPE);
	assert_log(log, "1,E(-5),2,E(-32)!");
}

static void hold_of_strings_and_lazy(void **state)
{
	struct world *w = *state;
	const char *start = "start";
	struct hyphae_cell *e = string_event(w);
	struct hyphae_cell *h = keep(w, hyphae_hold(e, &hyphae_string, &start));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(h), 0);
	log = follow(w, h);
	put_string(e, "a");
	assert_log(log, "start,a");
	stop(log);
	log = follow(w, h);
	put_string(e, "b");
	assert_log(log, "start,b");
}

static void hold_of_a_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *none = keep(w, hyphae_skip(a, 1));
	int64_t start = 9;
	struct log *log =
		follow(w, keep(w, hyphae_hold(none, &hyphae_int64, &start)));
	struct log *same =
		follow(w, keep(w, hyphae_hold(a, &hyphae_int64, &start)));

	put(a, 2);
	assert_log(log, "9,2");
	assert_log(same, "1,2");
}

static void changes_of_a_cell(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct hyphae_cell *c = keep(w, hyphae_changes(a));
	struct log *log = follow(w, c);

	assert_true(is_event(c));
	assert_log(log, "");
	assert_int_equal(code_of(c), -ENODATA);
	put(a, 2);
	begin_batch(w);
	put(a, 3);
	put(a, 4);
	end_batch(w);
	complete(a);
	assert_log(log, "2,4,C");
	assert_int_equal(targets(a), 0);
}

static void changes_and_errors(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 5), *b = source(w, 1);
	struct hyphae_cell *n = derive(w, not_five, a)->cell;
	struct log *log = follow(w, keep(w, hyphae_changes(n)));

	put(a, 1);
	put(a, 5);
	fail_cell(a, -EPIPE);
	assert_log(log, "1,E(-5),E(-32)!");
	fail_cell(b, -EIO);
	assert_log(follow(w, keep(w, hyphae_changes(b))), "E(-5)!");
}

static void changes_lazy_and_held(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *c = keep(w, hyphae_changes(s));
	struct hyphae_cell *h = keep(w, hyphae_hold(c, NULL, NULL));
	struct log *log;

	assert_int_equal(hyphae_cell_set_lazy(h), 0);
	assert_int_equal(hyphae_cell_set_lazy(c), 0);
	put_string(s, "b");
	log = follow(w, h);
	assert_log(log, "");
	put_string(s, "c");
	assert_log(log, "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(er_message_flows),
		CASE(er_message_when_made),
		CASE(er_message_is_bounded),
		CASE(er_message_of_a_subscriber),
		CASE(er_message_of_copy_is_a_code),
		CASE(tap_sees_each_value),
		CASE(tap_shares_the_value),
		CASE(er07_recover),
		CASE(er07_terminal),
		CASE(er07_of_an_event),
		CASE(er07_strings),
		CASE(er07_lazy),
		CASE(map_error_rewords),
		CASE(map_error_terminal),
		CASE(unwrap_or_always_has_one),
		CASE(unwrap_or_of_an_event),
		CASE(distinct_by_what_passed_last),
		CASE(distinct_by_after_an_error),
		CASE(deduped_event),
		CASE(deduped_of_never_equal),
		CASE(deduped_lazy_forgets),
		CASE(distinct_never_again),
		CASE(distinct_forgets_the_oldest),
		CASE(distinct_of_many),
		CASE(distinct_by_hash_and_equal),
		CASE(distinct_error_ends),
		CASE(hold_the_last_emission),
		CASE(hold_errors),
		CASE(hold_of_strings_and_lazy),
		CASE(hold_of_a_cell),
		CASE(changes_of_a_cell),
		CASE(changes_and_errors),
		CASE(changes_lazy_and_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
