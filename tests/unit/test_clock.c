/* SPDX-License-Identifier: MIT */
/* Clocks: how far time goes, waiting for it, no memory, bad input. */
#include "clock.h"

/* ---- how far time goes ---------------------------------------------------- */

static void ends_of_time(void **state)
{
	struct room *room = *state;
	struct tick last = {0}, rare = {0}, never = {0};

	advance(room, UINT64_MAX - 100);
	assert_int_equal(hyphae_clock_advance(room->clock, 101), -EINVAL);
	assert_int_equal(now(room), UINT64_MAX - 100);
	start(&last, room, "l", INT64_MAX, 0); /* at the end of time */
	start(&rare, room, "r", 10, 80);
	start(&never, room, "n", INT64_MIN, UINT64_MAX);
	assert_int_equal(hyphae_clock_advance(room->clock, 99), 0);
	assert_int_equal(never.calls, 1); /* there is no second time */
	assert_int_equal(never.drops, 1);
	assert_int_equal(rare.calls, 2);
	assert_int_equal(rare.drops, 1);
	assert_int_equal(last.calls, 0);
	advance(room, 1);
	assert_int_equal(last.calls, 1);
	assert_int_equal(last.due, UINT64_MAX);
	assert_int_equal(now(room), UINT64_MAX);
	advance(room, 0);
}

static void a_very_long_jump(void **state)
{
	struct room *room = *state;
	struct tick tick = {.room = room, .name = ""};

	tick.timer = hyphae_timer_start_with(room->graph, 1, 1, on_tick, &tick,
					     NULL, HYPHAE_TIMER_COALESCE);
	assert_int_equal(hyphae_clock_set(room->clock, UINT64_MAX), 0);
	assert_int_equal(tick.calls, 1);
	assert_int_equal(tick.missed, UINT64_MAX - 1);
	assert_int_equal(hyphae_timer_stop(tick.timer), -ESTALE);
}

static void external_jumps(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *other = hyphae_clock_new_external(1000), *got;
	struct hyphae_clock *virtual = room->clock;
	struct tick a = {0}, b = {0};

	assert_int_equal(hyphae_graph_set_clock(room->graph, other), 0);
	got = hyphae_graph_clock(room->graph);
	assert_ptr_equal(got, other);
	assert_int_equal(hyphae_clock_unref(got), 0);
	room->clock = other;
	assert_int_equal(now(room), 1000);
	start(&a, room, "a", 10, 10);
	start(&b, room, "b", 15, 0);
	assert_int_equal(hyphae_clock_advance(other, 5), -EINVAL);
	assert_int_equal(hyphae_clock_set(other, 999), -EINVAL);
	assert_int_equal(hyphae_clock_set(other, 1025), 0);
	assert_string_equal(room->text, "1025a 1025b 1025a");
	assert_int_equal(a.due, 1020);
	assert_int_equal(b.due, 1015);
	assert_int_equal(hyphae_graph_set_clock(room->graph, virtual), -EBUSY);
	hyphae_timer_stop(a.timer);
	assert_int_equal(hyphae_graph_set_clock(room->graph, virtual), 0);
	room->clock = virtual;
	assert_int_equal(hyphae_clock_unref(other), 0);
	assert_int_equal(hyphae_clock_unref(other), -ESTALE);
}

static void references(void **state)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(7);
	struct hyphae_graph *graph = hyphae_graph_new(0);
	uint64_t ns = 0;

	(void)state;
	assert_ptr_equal(hyphae_clock_ref(clock), clock);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	/* Its graph keeps it. */
	assert_int_equal(hyphae_clock_advance(clock, 3), 0);
	assert_int_equal(hyphae_clock_now(clock, &ns), 0);
	assert_int_equal(ns, 10);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_now(clock, &ns), -ESTALE);
}

/* ---- a million ---------------------------------------------------------- */

#define MILLION 1000000
#ifdef __SANITIZE_ADDRESS__
#define PENDING (MILLION / 10)
#else
#define PENDING MILLION
#endif

struct crowd {
	uint64_t calls, wrong, last;
};

static int of_crowd(const struct hyphae_timer_event *event, void *ctx)
{
	struct crowd *crowd = ctx;

	crowd->calls++;
	crowd->wrong += event->due_ns < crowd->last;
	crowd->last = event->due_ns;
	return 0;
}

static void a_million_pending(void **state)
{
	struct room *room = *state;
	struct hyphae_timer **handles = calloc(PENDING, sizeof(*handles));
	struct crowd crowd = {0};
	uint64_t seed = 1, stopped = 0;

	assert_non_null(handles);
	for (size_t i = 0; i < PENDING; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		handles[i] =
			hyphae_timer_start(room->graph, (int64_t)(seed >> 44),
					   0, of_crowd, &crowd, NULL);
	}
	assert_int_equal(timers(room), PENDING);
	for (size_t i = 0; i < PENDING; i += 3, stopped++)
		if (hyphae_timer_stop(handles[i]))
			break;
	assert_int_equal(timers(room), PENDING - stopped);
	assert_int_equal(stopped, (PENDING + 2) / 3);
	advance(room, 1 << 20);
	assert_int_equal(crowd.calls, PENDING - stopped);
	assert_int_equal(crowd.wrong, 0);
	free(handles);
}

/* ---- waiting --------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

static void dispatched_when_told(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};
	uint64_t deadline = 0;

	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline),
			 -ENODATA);
	start(&tick, room, "", 0, 0);
	assert_int_equal(hyphae_graph_deadline(room->graph, &deadline), 0);
	assert_int_equal(deadline, 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(tick.calls, 1);
}

static void a_descriptor(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct hyphae_clock *clock = hyphae_graph_clock(graph);
	struct room room = {.clock = clock, .graph = graph};
	struct tick now_due = {0}, later = {0}, never = {0};
	uint64_t deadline = 0, started;
	int fd = hyphae_graph_fd(graph);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(hyphae_graph_fd(graph), fd);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_clock_advance(clock, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set(clock, UINT64_MAX), -EINVAL);
	start(&never, &room, "", INT64_MAX, 0);
	assert_false(readable(fd, 0));
	started = now(&room);
	start(&later, &room, "", 1000000, 0);
	assert_true(readable(fd, -1));
	assert_true(now(&room) >= started + 1000000);
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_int_equal(later.calls, 1);
	assert_false(readable(fd, 0));
	start(&now_due, &room, "", 0, 0);
	assert_true(readable(fd, -1));
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_deadline(graph, &deadline), 0);
	assert_true(deadline > INT64_MAX);
	/* Stopped: it may be readable for it once, and then is not. */
	hyphae_timer_stop(never.timer);
	start(&later, &room, "", 0, 0);
	hyphae_timer_stop(later.timer);
	assert_int_equal(hyphae_graph_dispatch(graph), 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* What is left by one call is done by the next. */
static void dispatch_is_bounded(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_clock *clock = hyphae_clock_new_monotonic();
	struct crowd crowd = {0};
	int fd;

	(void)state;
	assert_int_equal(hyphae_graph_set_clock(graph, clock), 0);
	fd = hyphae_graph_fd(graph);
	for (int i = 0; i < HYPHAE_DISPATCH_MAX + 1; i++)
		assert_non_null(hyphae_timer_start(graph, 0, 0, of_crowd,
						   &crowd, NULL));
	assert_int_equal(hyphae_graph_dispatch(graph), HYPHAE_DISPATCH_MAX);
	assert_true(readable(fd, -1));
	assert_int_equal(hyphae_graph_dispatch(graph), 1);
	assert_false(readable(fd, 0));
	assert_int_equal(crowd.wrong, 0);
	assert_int_equal(hyphae_graph_free(graph), 0);
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

/* Posted writes first, then the timers, which see them. */
static void posts_are_dispatched(void **state)
{
	struct room *room = *state;
	struct hyphae_cell *cell = hyphae_int64_new(room->graph, 1);
	struct tick tick = {.cell = cell};
	int fd = hyphae_graph_fd(room->graph);
	int64_t value = 0;

	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_int64_post(cell, 10), 0);
	assert_true(readable(fd, 0));
	start(&tick, room, "", 0, 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 11);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_int64_post(cell, 20), 0);
	assert_int_equal(hyphae_graph_dispatch(room->graph), 0);
	assert_int_equal(hyphae_int64_get(cell, &value), 0);
	assert_int_equal(value, 20);
	hyphae_cell_unref(cell);
}

/* A virtual clock has no descriptor of its own time. */
static void descriptor_and_clocks(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *real = hyphae_clock_new_monotonic();
	struct tick tick = {0};
	int fd = hyphae_graph_fd(room->graph);

	assert_true(fd >= 0);
	start(&tick, room, "", 0, 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_graph_dispatch(room->graph), 1);
	assert_int_equal(hyphae_graph_set_clock(room->graph, real), 0);
	start(&tick, room, "", 0, 0);
	assert_true(readable(fd, -1));
	hyphae_timer_stop(tick.timer);
	assert_int_equal(hyphae_graph_set_clock(room->graph, room->clock), 0);
	assert_false(readable(fd, 0));
	assert_int_equal(hyphae_clock_unref(real), 0);
}

/* ---- no memory ------------------------------------------------------------ */

static void without_memory(void **state)
{
	(void)state;
	OOM_SWEEP(n)
	{
		struct hyphae_graph *graph = NULL;
		struct hyphae_clock *clock;
		struct room room = {.text = ""};
		struct tick tick = {.room = &room, .name = ""};
		struct hyphae_graph_counts counts;
		int r = 0, fd = 0;

		clock = hyphae_clock_new_virtual(0);
		if (!clock)
			assert_int_equal(errno, ENOMEM);
		graph = hyphae_graph_new(0);
		room.clock = clock;
		room.graph = graph;
		if (graph && clock)
			r = hyphae_graph_set_clock(graph, clock);
		if (r)
			assert_int_equal(r, -ENOMEM);
		if (graph) {
			fd = hyphae_graph_fd(graph);
			assert_true(fd >= 0 || fd == -ENOMEM);
			errno = 0;
			tick.timer = hyphae_timer_start(graph, 0, 0, on_tick,
							&tick, drop_tick);
			if (!tick.timer)
				assert_int_equal(errno, ENOMEM);
			assert_int_equal(tick.drops, !tick.timer);
			hyphae_graph_counts(graph, &counts);
			assert_int_equal(counts.timers, tick.timer != NULL);
			if (clock && !r)
				assert_int_equal(hyphae_graph_dispatch(graph),
						 tick.timer != NULL);
			if (!n)
				assert_int_equal(tick.calls, 1);
		}
		OOM_PAUSE();
		assert_int_equal(hyphae_graph_free(graph), 0);
		assert_int_equal(tick.drops, graph != NULL);
		assert_int_equal(hyphae_clock_unref(clock), 0);
	}
}

/* The heap grows; what is in it stays. */
static void heap_without_memory(void **state)
{
	struct room *room = *state;
	struct tick ticks[40] = {{0}};
	unsigned int failed = 0;

	for (unsigned int i = 0; i < 40; i++) {
		hy_alloc_fail_after(1);
		ticks[i].room = room;
		ticks[i].name = "";
		ticks[i].timer = hyphae_timer_start(
			room->graph, i + 1, 0, on_tick, &ticks[i], drop_tick);
		hy_alloc_fail_after(0);
		if (ticks[i].timer)
			continue;
		failed++;
		assert_int_equal(timers(room), i);
		ticks[i].drops = 0;
		start(&ticks[i], room, "", i + 1, 0);
	}
	assert_true(failed >= 3);
	advance(room, 40);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(ticks[i].due, i + 1);
}

static void repeats_without_allocating(void **state)
{
	struct room *room = *state;
	struct tick tick = {0};
	unsigned long before;

	start(&tick, room, "", 1, 1);
	advance(room, 1);
	before = hy_alloc_count();
	advance(room, 50);
	assert_int_equal(tick.calls, 51);
	assert_int_equal(hy_alloc_count(), before);
	hyphae_timer_stop(tick.timer);
}

/* ---- bad input -------------------------------------------------------------- */

static void bad_clocks(void **state)
{
	struct room *room = *state;
	struct hyphae_clock *stale = hyphae_clock_new_virtual(0);
	uint64_t ns = 3;

	assert_int_equal(hyphae_clock_unref(stale), 0);
	assert_null(hyphae_clock_ref(stale));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_clock_ref(NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_clock_unref(stale), -ESTALE);
	assert_int_equal(hyphae_clock_unref(NULL), 0);
	assert_int_equal(hyphae_clock_now(stale, &ns), -ESTALE);
	assert_int_equal(hyphae_clock_now(NULL, &ns), -EINVAL);
	assert_int_equal(hyphae_clock_now(room->clock, NULL), -EINVAL);
	assert_int_equal(hyphae_clock_advance(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_advance(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_set(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set_limit(stale, 1), -ESTALE);
	assert_int_equal(hyphae_clock_set_limit(stale, 0), -ESTALE);
	assert_int_equal(hyphae_clock_set_limit(NULL, 1), -EINVAL);
	assert_int_equal(hyphae_clock_set_limit(room->clock, 0), -EINVAL);
	assert_int_equal(hyphae_graph_set_clock(room->graph, stale), -ESTALE);
	assert_int_equal(hyphae_graph_set_clock(room->graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_set_clock(NULL, room->clock), -EINVAL);
	assert_int_equal(ns, 3);
}

static void bad_graphs(void **state)
{
	struct hyphae_graph *stale = hyphae_graph_new(0);
	struct room *room = *state;
	uint64_t ns = 3;

	assert_int_equal(hyphae_graph_free(stale), 0);
	assert_int_equal(hyphae_graph_set_clock(stale, room->clock), -ESTALE);
	assert_null(hyphae_graph_clock(stale));
	assert_int_equal(errno, ESTALE);
	assert_null(hyphae_graph_clock(NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(hyphae_graph_fd(stale), -ESTALE);
	assert_int_equal(hyphae_graph_fd(NULL), -EINVAL);
	assert_int_equal(hyphae_graph_deadline(stale, &ns), -ESTALE);
	assert_int_equal(hyphae_graph_deadline(NULL, &ns), -EINVAL);
	assert_int_equal(hyphae_graph_deadline(room->graph, NULL), -EINVAL);
	assert_int_equal(hyphae_graph_dispatch(stale), -ESTALE);
	assert_int_equal(hyphae_graph_dispatch(NULL), -EINVAL);
	assert_int_equal(ns, 3);
}

static void bad_timers(void **state)
{
	struct room *room = *state;
	struct hyphae_graph *stale = hyphae_graph_new(0);
	struct tick tick = {.room = room};

	assert_int_equal(hyphae_graph_free(stale), 0);
	assert_null(hyphae_timer_start(NULL, 0, 0, on_tick, &tick, drop_tick));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start(stale, 0, 0, on_tick, &tick, drop_tick));
	assert_int_equal(errno, ESTALE);
	assert_null(
		hyphae_timer_start(room->graph, 0, 0, NULL, &tick, drop_tick));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start_with(room->graph, 0, 1, on_tick, &tick,
					    drop_tick, 2));
	assert_int_equal(errno, EINVAL);
	assert_null(hyphae_timer_start_with(room->graph, 0, 0, on_tick, &tick,
					    drop_tick, HYPHAE_TIMER_COALESCE));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tick.drops, 5);
	assert_null(hyphae_timer_start(NULL, 0, 0, on_tick, &tick, NULL));
	assert_int_equal(hyphae_timer_stop(NULL), 0);
	assert_int_equal(timers(room), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_of_time),
		TEST(a_very_long_jump),
		TEST(external_jumps),
		IN(references, shared),
		IN(a_million_pending, shared),
		TEST(dispatched_when_told),
		IN(a_descriptor, shared),
		IN(dispatch_is_bounded, shared),
		TEST(posts_are_dispatched),
		TEST(descriptor_and_clocks),
		IN(without_memory, shared),
		TEST(heap_without_memory),
		TEST(repeats_without_allocating),
		TEST(bad_clocks),
		TEST(bad_graphs),
		TEST(bad_timers),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
