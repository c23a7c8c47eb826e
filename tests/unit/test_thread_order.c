/* SPDX-License-Identifier: MIT */
/*
 * Whose write is the last: a subscriber that writes after another thread has
 * written, and knows it, is not overtaken by what that thread left to the
 * drainer.  Each case is a script: a subscriber starts a thread, and waits for
 * its end, so the outcome is exact.
 */
#include "flow.h"
#include "threads.h"

struct script {
	struct hyphae_graph *graph;
	struct hyphae_cell *go, *x, *y;
	void (*other)(struct script *s);  /* on another thread */
	void (*before)(struct script *s); /* in the subscriber, or NULL */
	void (*after)(struct script *s);
	int64_t read;
	int code;
	struct text heard;
};

static void *run_other(void *ctx)
{
	struct script *s = ctx;

	s->other(s);
	return NULL;
}

static int follow_script(const struct hyphae_signal *signal, void *ctx)
{
	struct script *s = ctx;
	pthread_t thread;

	if (signal->kind != HYPHAE_VALUE)
		return 0;
	if (s->before)
		s->before(s);
	if (pthread_create(&thread, NULL, run_other, s))
		return -EAGAIN;
	pthread_join(thread, NULL);
	s->after(s);
	return 0;
}

static int hear(const struct hyphae_signal *signal, void *ctx)
{
	add_signal(ctx, signal);
	return 0;
}

/* Plays it in a graph of `kind`: x and y hold 0, or are events. */
static void play(struct script *s, unsigned int kind, bool events)
{
	WATCH();
	s->graph = hyphae_graph_new(kind);
	s->go = hyphae_int64_new(s->graph, 0);
	if (events) {
		s->x = hyphae_event_new(s->graph, &hyphae_int64);
		s->y = hyphae_event_new(s->graph, &hyphae_int64);
	} else {
		s->x = hyphae_int64_new(s->graph, 0);
		s->y = hyphae_int64_new(s->graph, 0);
	}
	hyphae_subscribe_with(s->go, follow_script, s, NULL,
			      HYPHAE_SKIP_INITIAL);
	hyphae_subscribe_with(s->x, hear, &s->heard, NULL, HYPHAE_SKIP_INITIAL);
	assert_int_equal(hyphae_int64_set(s->go, 1), 0);
}

#define PLAY(s_, kind_, events_, ...)                                          \
	struct script s_ = {__VA_ARGS__};                                      \
	play(&s_, kind_, events_)

static const unsigned int shared_kinds[] = {0, HYPHAE_EAGER};
#define EACH_SHARED_KIND(kind_)                                                \
	for (const unsigned int *kind_ = shared_kinds;                         \
	     kind_ < shared_kinds + 2; kind_++)

static void set_1(struct script *s)
{
	hyphae_int64_set(s->x, 1);
}

static void set_2(struct script *s)
{
	s->code = hyphae_int64_set(s->x, 2);
	hyphae_int64_get(s->x, &s->read);
}

static void batch_2(struct script *s)
{
	hyphae_batch_begin(s->graph);
	hyphae_int64_set(s->y, 2);
	hyphae_int64_set(s->x, 2);
	s->code = hyphae_batch_end(s->graph);
}

static void complete(struct script *s)
{
	s->code = hyphae_cell_complete(s->x);
}

static void nothing(struct script *s)
{
	(void)s;
}

static void emit_two(struct script *s)
{
	hyphae_int64_set(s->x, 1);
	hyphae_int64_set(s->y, 1);
}

static void emit_3_4(struct script *s)
{
	hyphae_int64_set(s->y, 3);
	hyphae_int64_set(s->x, 3);
	hyphae_int64_set(s->x, 4);
}

/* One value a cell waits, as ever: the last. */
static void set_after_another(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .other = set_1, .after = set_2);
		assert_int_equal(s.code, 0);
		assert_int_equal(s.read, 2);
		assert_int_equal(value(s.x), 2);
		assert_string_equal(s.heard.text, "2");
		end_graph(s.graph, 3, 2);
	}
}

static void set_before_another(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .before = set_1, .other = set_2,
		     .after = nothing);
		assert_int_equal(s.code, 0);
		assert_int_equal(s.read, 2); /* what it wrote itself */
		assert_int_equal(value(s.x), 2);
		assert_string_equal(s.heard.text, "1,2");
		end_graph(s.graph, 3, 2);
	}
}

/* All of a batch goes with the cell that has to wait. */
static void batch_after_another(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .other = set_1, .after = batch_2);
		assert_int_equal(s.code, 0);
		assert_int_equal(value(s.x), 2);
		assert_int_equal(value(s.y), 2);
		assert_string_equal(s.heard.text, "2");
		end_graph(s.graph, 3, 2);
	}
}

static void end_after_another(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .other = set_1, .after = complete);
		assert_int_equal(s.code, 0);
		assert_int_equal(value(s.x), 1);
		assert_string_equal(s.heard.text, "1,C");
		end_graph(s.graph, 3, 1);
	}
}

static void set_after_another_ended(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .other = complete, .after = set_2);
		assert_int_equal(s.code, -ESHUTDOWN);
		assert_int_equal(value(s.x), 0);
		assert_string_equal(s.heard.text, "C");
		end_graph(s.graph, 3, 1);
	}
}

static void events_stay_in_order(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, true, .other = emit_two, .after = emit_3_4);
		assert_string_equal(s.heard.text, "1,3,4");
		end_graph(s.graph, 3, 2);
	}
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, true, .other = emit_two, .after = batch_2);
		assert_int_equal(s.code, 0);
		assert_string_equal(s.heard.text, "1,2");
		end_graph(s.graph, 3, 2);
	}
}

/* Each allocation of what the subscriber writes fails once. */
static void without_memory(struct script *s)
{
	int64_t x = 0;

	OOM_SWEEP(n)
	{
		int r = hyphae_batch_begin(s->graph), end = 0;

		if (!r) {
			r = hyphae_int64_set(s->y, (int64_t)n + 2);
			r = r ? r : hyphae_int64_set(s->x, (int64_t)n + 2);
			end = hyphae_batch_end(s->graph);
		}
		OOM_PAUSE();
		if (end == -ENOMEM) /* still open */
			end = hyphae_batch_end(s->graph);
		hyphae_int64_get(s->x, &x);
		if (end || (r && r != -ENOMEM) ||
		    (x == (int64_t)n + 2) != (r == 0))
			s->code = -1;
	}
}

static void nothing_is_lost_without_memory(void **state)
{
	(void)state;
	EACH_SHARED_KIND(kind)
	{
		PLAY(s, *kind, false, .other = set_1, .after = without_memory);
		assert_int_equal(s.code, 0);
		assert_true(value(s.x) >= 2);
		assert_int_equal(value(s.x), value(s.y));
		end_graph(s.graph, 3, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_after_another),
		cmocka_unit_test(set_before_another),
		cmocka_unit_test(batch_after_another),
		cmocka_unit_test(end_after_another),
		cmocka_unit_test(set_after_another_ended),
		cmocka_unit_test(events_stay_in_order),
		cmocka_unit_test(nothing_is_lost_without_memory),
	};

	return cmocka_run_group_tests_name("thread_order", tests, NULL, NULL);
}
