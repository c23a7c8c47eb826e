// SPDX-License-Identifier: MIT
/* state_transition: a table of what happens from one state to the next. */
#include "shapes.h"

enum { OPEN = 1, CLOSED, LOCKED, BROKEN };

static struct log *calls;

#define NUMBER(p) ((long long)*(const int64_t *)(p))

static int has_key(const void *from, const void *to, void *ctx)
{
	const int *key = ctx;

	note(calls, "guard%lld%lld", NUMBER(from), NUMBER(to));
	return key ? *key : 1;
}

static int pair(void *ret, const void *from, const void *to, void *ctx)
{
	(void)ctx;
	note(calls, "do%lld%lld", NUMBER(from), NUMBER(to));
	*(int64_t *)ret = NUMBER(from) * 10 + NUMBER(to);
	return 0;
}

static int refuse(void *ret, const void *from, const void *to, void *ctx)
{
	(void)ret;
	(void)from;
	(void)to;
	(void)ctx;
	return hyphae_error(-EIO, "stuck");
}

static void leave(const void *from, void *ctx)
{
	(void)ctx;
	note(calls, "exit%lld", NUMBER(from));
}

static void enter(const void *to, void *ctx)
{
	(void)ctx;
	note(calls, "enter%lld", NUMBER(to));
}

static void enter_any(const void *to, void *ctx)
{
	(void)ctx;
	note(calls, "any%lld", NUMBER(to));
}

static void invalid(const void *from, const void *to, void *ctx)
{
	(void)ctx;
	note(calls, "invalid%lld%lld", NUMBER(from), NUMBER(to));
}

static const struct hyphae_transition door[] = {
	{OPEN, CLOSED, NULL, pair},	 {CLOSED, OPEN, NULL, pair},
	{CLOSED, LOCKED, has_key, pair}, {LOCKED, CLOSED, NULL, NULL},
	{LOCKED, BROKEN, NULL, refuse},	 {HYPHAE_ANY_STATE, BROKEN, NULL, pair},
};

static const struct hyphae_state states[] = {
	{OPEN, leave, enter},
	{CLOSED, leave, enter},
	{HYPHAE_ANY_STATE, NULL, enter_any},
};

static const struct hyphae_machine machine = {
	.transitions = door,
	.transition_count = sizeof(door) / sizeof(*door),
	.states = states,
	.state_count = sizeof(states) / sizeof(*states),
	.on_invalid = invalid,
};

static void defined_transitions(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, OPEN);
	struct hyphae_cell *m;
	struct log *log;

	calls = log_new(w, NULL, NULL);
	m = keep(w, hyphae_state_transition(a, &hyphae_int64, &machine, NULL,
					    NULL));
	log = follow(w, m);
	assert_int_equal(code_of(m), -ENODATA);
	assert_log(calls, "");
	put(a, CLOSED);
	put(a, OPEN);
	complete(a);
	assert_log(log, "12,21,C");
	assert_log(calls, "exit1,do12,enter2,any2,exit2,do21,enter1,any1");
}

static void a22_undefined_advances(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, OPEN);
	int64_t initial = 77;
	struct log *log;

	calls = log_new(w, NULL, NULL);
	log = follow(w,
		     keep(w, hyphae_state_transition(a, &hyphae_int64, &machine,
						     &initial, NULL)));
	put(a, LOCKED);
	assert_log(log, "77");
	assert_log(calls, "invalid13");
	put(a, CLOSED);
	put(a, OPEN);
	assert_log(log, "77,21");
	assert_log(calls, "invalid13,enter2,any2,exit2,do21,enter1,any1");
}

static void guard_keeps_back(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, CLOSED);
	int key = 0;
	struct log *log;

	calls = log_new(w, NULL, NULL);
	log = follow(w, keep(w, hyphae_state_transition(a, &hyphae_int64,
							&machine, NULL, &key)));
	put(a, LOCKED);
	assert_log(log, "");
	put(a, CLOSED);
	key = 1;
	put(a, LOCKED);
	assert_log(log, "23");
	put(a, CLOSED);
	key = -EACCES;
	put(a, LOCKED);
	put(a, CLOSED);
	put(a, OPEN);
	assert_log(log, "23,E(-13),21");
	assert_log(calls, "guard23,enter2,any2,guard23,exit2,do23,any3,enter2,"
			  "any2,guard23,enter2,any2,exit2,do21,enter1,any1");
}

static void failing_handler_advances(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, LOCKED);
	struct hyphae_cell *m;
	struct log *log;

	calls = log_new(w, NULL, NULL);
	m = keep(w, hyphae_state_transition(a, &hyphae_int64, &machine, NULL,
					    NULL));
	log = follow(w, m);
	put(a, BROKEN);
	assert_log(log, "E(-5)");
	assert_log(calls, "");
	put(a, OPEN);
	assert_int_equal(code_of(m), -ENODATA);
	put(a, BROKEN);
	assert_log(log, "E(-5),14");
	assert_log(calls, "invalid41,exit1,do14,any4");
}

/* States of strings: by their length. */
static int64_t length(const void *value, void *ctx)
{
	(void)ctx;
	return (int64_t)strlen(*(char *const *)value);
}

static int both(void *ret, const void *from, const void *to, void *ctx)
{
	(void)ctx;
	return asprintf((char **)ret, "%s>%s", *(char *const *)from,
			*(char *const *)to) < 0
		       ? -ENOMEM
		       : 0;
}

static void strings_and_lazy(void **state)
{
	static const struct hyphae_transition grows[] = {
		{1, 2, NULL, both}, {HYPHAE_ANY_STATE, 3, NULL, both}};
	static const struct hyphae_machine by_length = {.state_of = length,
							.transitions = grows,
							.transition_count = 2};
	struct world *w = *state;
	const char *initial = "initial";
	struct hyphae_cell *s = string(w, "a");
	struct hyphae_cell *m =
		keep(w, hyphae_state_transition(s, &hyphae_string, &by_length,
						&initial, NULL));
	struct log *log = follow(w, m);

	put_string(s, "b");
	put_string(s, "cc");
	put_string(s, "dd");
	put_string(s, "eee");
	put_string(s, "fff");
	assert_log(log, "initial,b>cc,dd>eee,eee>fff");
	assert_int_equal(hyphae_cell_set_lazy(m), 0);
	stop(log);
	put_string(s, "a");
	log = follow(w, m);
	put_string(s, "bb");
	assert_log(log, "initial,a>bb");
	fail_cell(s, -EIO);
	assert_log(log, "initial,a>bb,E(-5)!");
}

static void of_an_event(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *e = event(w);
	struct hyphae_cell *n = derive(w, not_five, e)->cell;
	int64_t initial = 77;
	struct hyphae_cell *m;
	struct log *log;

	calls = log_new(w, NULL, NULL);
	m = keep(w, hyphae_state_transition(n, &hyphae_int64, &machine,
					    &initial, NULL));
	log = follow(w, m);
	assert_true(is_event(m));
	begin_batch(w);
	put(e, OPEN);
	put(e, OPEN);
	put(e, CLOSED);
	put(e, 5);
	put(e, OPEN);
	put(e, BROKEN);
	put(e, BROKEN);
	end_batch(w);
	assert_log(log, "12,E(-5),21,14,44");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(defined_transitions), CASE(a22_undefined_advances),
		CASE(guard_keeps_back),	   CASE(failing_handler_advances),
		CASE(strings_and_lazy),	   CASE(of_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
