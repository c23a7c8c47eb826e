/* SPDX-License-Identifier: MIT */
/* Group R: writes from subscribers and from compute functions. */
#include <errno.h>

#include "fixture.h"

FN(same, in[0]);
FN(twice, in[0] * 2);
FN(sum, in[0] + in[1]);

/* Two cells that a hook writes. */
struct two {
	struct hyphae_cell *b;
	struct hyphae_cell *c;
};

static int set_twice_of(struct log *log, const struct hyphae_signal *signal)
{
	int r = hyphae_int64_set(log->arg, hyphae_int64_of(signal) * 2);

	return r < 0 ? r : 0;
}

static void r01_write_another(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *seen;

	follow_with(w, a, set_twice_of, b, 0);
	seen = follow(w, b);
	put(a, 5);
	assert_int_equal(value(b), 10);
	assert_log(seen, "0,10");
}

static int count_up_to_five(struct log *log, const struct hyphae_signal *signal)
{
	int64_t v = hyphae_int64_of(signal);

	return v < 5 ? hyphae_int64_set(log->cell, v + 1) : 0;
}

static void r02_write_same_converging(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow_with(w, a, count_up_to_five, NULL, 0);

	assert_log(seen, "0,1,2,3,4,5");
	assert_int_equal(seen->calls, 6);
	assert_int_equal(seen->deepest, 1);
	put(a, 3);
	assert_log(seen, "0,1,2,3,4,5,3,4,5");
	assert_int_equal(seen->deepest, 1);
}

static int one_to_two(struct log *log, const struct hyphae_signal *signal)
{
	return hyphae_int64_of(signal) == 1 ? hyphae_int64_set(log->cell, 2)
					    : 0;
}

static void r03_same_order_for_all(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s1 = follow(w, a);
	struct log *s2 = follow_with(w, a, one_to_two, NULL, 0);
	struct log *s3 = follow(w, a);

	put(a, 1);
	assert_log(s1, "0,1,2");
	assert_log(s2, "0,1,2");
	assert_log(s3, "0,1,2");
	assert_int_equal(value(a), 2);
}

static int one_to_zero(struct log *log, const struct hyphae_signal *signal)
{
	return hyphae_int64_of(signal) == 1 ? hyphae_int64_set(log->cell, 0)
					    : 0;
}

static void r04_write_back(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *s2;

	follow_with(w, a, one_to_zero, NULL, 0);
	s2 = follow(w, a);
	put(a, 1);
	assert_log(s2, "0,1,0");
	assert_int_equal(value(a), 0);
}

static int reset_if_positive(struct log *log,
			     const struct hyphae_signal *signal)
{
	return hyphae_int64_of(signal) > 0 ? hyphae_int64_set(log->arg, 0) : 0;
}

static void r05_through_a_derived_again(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *s = source(w, 0);
	struct node *c = derive(w, same, s);
	struct log *seen = follow_with(w, c->cell, reset_if_positive, s, 0);
	int64_t v;

	for (v = 1; v <= 3; v++) {
		put(s, v);
		assert_int_equal(value(s), 0);
		assert_int_equal(value(c->cell), 0);
	}
	assert_log(seen, "0,1,0,2,0,3,0");
}

static int set_both(struct log *log, const struct hyphae_signal *signal)
{
	struct two *two = log->arg;
	int64_t v = hyphae_int64_of(signal);
	int r = hyphae_int64_set(two->b, v + 1);

	if (r < 0)
		return r;
	r = hyphae_int64_set(two->c, v + 2);
	return r < 0 ? r : 0;
}

static void r06_two_writes_one_wave(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct two two = {source(w, 0), source(w, 0)};
	struct node *d = derive(w, sum, two.b, two.c);
	struct log *seen;

	follow_with(w, a, set_both, &two, 0);
	seen = follow(w, d->cell);
	assert_log(seen, "3");
	begin(w);
	put(a, 10);
	/* What subscribers write is one wave, in an eager graph as well. */
	assert_log(seen, "3,23");
	assert_int_equal(d->runs, 1);
}

/* Tries to write, from inside its own computation. */
static int try_to_set(struct node *node, const int64_t *in, size_t count,
		      int64_t *ret)
{
	(void)count;
	if (node->arg)
		node->code = hyphae_int64_set(node->arg, 99);
	*ret = in[0] + 1;
	return 0;
}

static void r07_set_in_a_compute_function(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *other = source(w, 5);
	struct node *b = derive(w, try_to_set, a);
	struct node *c = derive(w, twice, b->cell);
	struct log *seen = follow(w, c->cell);
	struct log *other_seen = follow(w, other);

	b->arg = other;
	put(a, 1);
	assert_int_equal(b->code, -EPERM);
	assert_log(seen, "2,4");
	assert_log(other_seen, "5");
	assert_int_equal(value(other), 5);
	b->arg = a;
	b->code = 0;
	put(a, 2);
	assert_int_equal(b->code, -EPERM);
	assert_log(seen, "2,4,6");
	assert_int_equal(value(a), 2);
	put(other, 6);
	assert_log(other_seen, "5,6");
}

static void r08_get_does_not_subscribe(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct log *seen = follow_with(w, a, set_twice_of, b, 0);

	put(a, 1);
	put(b, 77);
	assert_log(seen, "0,1");
	assert_int_equal(targets(b), 0);
}

struct inner {
	struct two two;
	struct log *watch;
	char watched[64]; /* what the watch had seen when the batch ended */
	int begin;
	int end;
};

static int batch_inside(struct log *log, const struct hyphae_signal *signal)
{
	struct inner *inner = log->arg;
	int64_t v = hyphae_int64_of(signal);
	size_t i;

	inner->begin = hyphae_batch_begin(log->world->graph);
	hyphae_int64_set(inner->two.b, v + 1);
	hyphae_int64_set(inner->two.c, v + 2);
	inner->end = hyphae_batch_end(log->world->graph);
	for (i = 0; i + 1 < sizeof(inner->watched) && inner->watch->text[i];
	     i++)
		inner->watched[i] = inner->watch->text[i];
	inner->watched[i] = '\0';
	return 0;
}

static void r09_batch_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct inner inner = {.two = {source(w, 0), source(w, 0)}};
	struct node *d = derive(w, sum, inner.two.b, inner.two.c);

	inner.watch = follow(w, d->cell);
	follow_with(w, a, batch_inside, &inner, HYPHAE_SKIP_INITIAL);
	assert_log(inner.watch, "0");
	begin(w);
	put(a, 10);
	assert_int_equal(inner.begin, 0);
	assert_int_equal(inner.end, 0);
	assert_string_equal(inner.watched, "0");
	assert_log(inner.watch, "0,23");
	assert_int_equal(d->runs, 1);
	assert_int_equal(hyphae_graph_check_idle(w->graph), 0);
}

static int set_and_read_back(struct log *log,
			     const struct hyphae_signal *signal)
{
	struct two *two = log->arg;
	int64_t b = -1, c = -1;
	int r = hyphae_int64_set(two->b, hyphae_int64_of(signal));

	if (r < 0)
		return r;
	hyphae_int64_get(two->b, &b);
	hyphae_int64_get(two->c, &c);
	note(log, "b=%lld c=%lld", (long long)b, (long long)c);
	return 0;
}

static void r11_read_back_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct hyphae_cell *b = source(w, 0);
	struct node *c = derive(w, twice, b);
	struct two two = {b, c->cell};
	struct log *seen =
		follow_with(w, a, set_and_read_back, &two, HYPHAE_SKIP_INITIAL);

	put(a, 1);
	assert_log(seen, "1,b=1 c=0");
	assert_int_equal(value(c->cell), 2);
}

/* Settling inside a callback of the same graph is refused. */
static int settle_inside(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	log->code = hyphae_settle(log->world->graph);
	return 0;
}

static void r12_settle_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen =
		follow_with(w, a, settle_inside, NULL, HYPHAE_SKIP_INITIAL);

	put(a, 1);
	assert_int_equal(seen->code, -EBUSY);
	assert_log(seen, "1");
}

static int free_inside(struct log *log, const struct hyphae_signal *signal)
{
	(void)signal;
	log->code = hyphae_graph_free(log->world->graph);
	return 0;
}

static void r13_free_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 0);
	struct log *seen = follow_with(w, a, free_inside, NULL, 0);

	assert_int_equal(seen->code, -EBUSY);
	seen->code = 0;
	put(a, 1);
	assert_int_equal(seen->code, -EBUSY);
	assert_log(seen, "0,1");
}

/* A subscriber that writes a cell of another graph: done on its return. */
static int set_elsewhere(struct log *log, const struct hyphae_signal *signal)
{
	int64_t back = -1;
	int r = hyphae_int64_set(log->arg, hyphae_int64_of(signal));

	hyphae_int64_get(log->arg, &back);
	note(log, "(%lld)", (long long)back);
	return r < 0 ? r : 0;
}

static void r14_write_another_graph(void **state)
{
	struct world *w = *state;
	struct hyphae_graph *other = hyphae_graph_new(0);
	struct hyphae_cell *b = hyphae_int64_new(other, 0);
	struct hyphae_cell *a = source(w, 1);
	struct log *seen = follow_with(w, a, set_elsewhere, b, 0);

	put(a, 2);
	assert_log(seen, "1,(1),2,(2)");
	assert_int_equal(value(b), 2);
	assert_int_equal(hyphae_cell_unref(b), 0);
	assert_int_equal(hyphae_graph_free(other), 0);
}

/* A cell made by a subscriber is right at once and stays so. */
static int derive_in_call(struct log *log, const struct hyphae_signal *signal)
{
	if (hyphae_int64_of(signal) == 2)
		log->arg = derive_inside(log->world, twice, &log->cell, 1);
	return 0;
}

static void r15_derive_in_a_subscriber(void **state)
{
	struct world *w = *state;
	struct hyphae_cell *a = source(w, 1);
	struct log *seen = follow_with(w, a, derive_in_call, NULL, 0);
	struct node *made;

	put(a, 2);
	made = seen->arg;
	assert_non_null(made);
	keep(w, made->cell);
	assert_int_equal(value(made->cell), 4);
	assert_int_equal(made->runs, 1);
	put(a, 3);
	assert_int_equal(value(made->cell), 6);
	assert_int_equal(made->runs, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(r01_write_another),
		CASE(r02_write_same_converging),
		CASE(r03_same_order_for_all),
		CASE(r04_write_back),
		CASE(r05_through_a_derived_again),
		CASE(r06_two_writes_one_wave),
		CASE(r07_set_in_a_compute_function),
		CASE(r08_get_does_not_subscribe),
		CASE(r09_batch_in_a_subscriber),
		CASE(r11_read_back_in_a_subscriber),
		CASE(r12_settle_in_a_subscriber),
		CASE(r13_free_in_a_subscriber),
		CASE(r14_write_another_graph),
		CASE(r15_derive_in_a_subscriber),
	};

	return cmocka_run_group_tests_name("reentrancy", tests, NULL, NULL);
}
