/* SPDX-License-Identifier: MIT */
/*
 * The lock of a graph (base/lock.h) in every interleaving of its loads and
 * stores, up to a number of preemptions; see explore.h.
 *
 * Its code is compiled into this test with other macros for these: each is a
 * point, and each thread has a store buffer, as processors have (x86-TSO), out
 * of which its stores come in order, at any time up to the next instruction
 * that waits for them.  What others see late is the whole difficulty here.
 * membarrier() empties all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "explore.h"

struct hy_seat;

/* Preemptions, of two and of three threads.  Sanitizers are slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TWO 2
#define THREE 2
#else
#define TWO 3
#define THREE 2
#endif

/* ---- a processor with store buffers --------------------------------------- */

struct buffered {
	void *at;
	uintptr_t value;
	size_t size;
};

#define BUFFERED 8
static struct buffer {
	struct buffered stores[BUFFERED];
	int count;
} buffers[EXPLORE_THREADS];

static void write_out(const struct buffered *s)
{
	if (s->size == sizeof(uint64_t))
		__atomic_store_n((uint64_t *)s->at, s->value, __ATOMIC_RELEASE);
	else if (s->size == sizeof(uint32_t))
		__atomic_store_n((uint32_t *)s->at, (uint32_t)s->value,
				 __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint8_t *)s->at, (uint8_t)s->value,
				 __ATOMIC_RELEASE);
}

/* The oldest so many can be seen by all now. */
static void drain(struct buffer *b, int count)
{
	for (int i = 0; i < count; i++)
		write_out(&b->stores[i]);
	b->count -= count;
	memmove(b->stores, b->stores + count,
		(size_t)b->count * sizeof(b->stores[0]));
}

static void drain_mine(void)
{
	if (explore_mine())
		drain(&buffers[explore_me], buffers[explore_me].count);
}

static void drain_all(void)
{
	for (int t = 0; t < EXPLORE_THREADS; t++)
		drain(&buffers[t], buffers[t].count);
}

/* Others may go on here; and what this thread has stored may be seen now. */
static void point(void)
{
	if (!explore_mine())
		return;
	explore_point();
	if (buffers[explore_me].count && explore_choose(2))
		drain_mine();
}

/* To be late counts as a preemption does. */
static bool seen_late(void)
{
	if (explore.preemptions == explore.bound || !explore_choose(2))
		return false;
	explore.preemptions++;
	return true;
}

static void buffered_store(void *at, uintptr_t value, size_t size)
{
	struct buffered s = {at, value, size};
	struct buffer *b;

	point();
	if (!explore_mine()) {
		write_out(&s);
		return;
	}
	b = &buffers[explore_me];
	if (b->count == BUFFERED)
		drain(b, 1);
	b->stores[b->count++] = s;
	if (!seen_late())
		drain_mine();
}

/* A thread sees its own stores at once. */
static bool stored_by_me(const void *at, uintptr_t *ret_value)
{
	point();
	if (!explore_mine())
		return false;
	for (int i = buffers[explore_me].count - 1; i >= 0; i--) {
		const struct buffered *s = &buffers[explore_me].stores[i];

		if (s->at == at) {
			*ret_value = s->value;
			return true;
		}
	}
	return false;
}

#undef load_relaxed
#undef load_acquire
#undef store_relaxed
#undef store_release
#define load_acquire(p)                                                        \
	({                                                                     \
		uintptr_t stored_;                                             \
		stored_by_me(p, &stored_)                                      \
			? (__typeof__(*(p) + 0))stored_                        \
			: __atomic_load_n(p, __ATOMIC_ACQUIRE);                \
	})
#define load_relaxed(p) load_acquire(p)
#define store_release(p, v)                                                    \
	buffered_store((void *)(p), (uintptr_t)(v), sizeof(*(p)))
#define store_relaxed(p, v) store_release(p, v)

/* What has an atomic read-modify-write waits for its thread's stores. */
static unsigned long replacements;

static bool replaced(struct hy_seat **at, struct hy_seat **expected,
		     struct hy_seat *now)
{
	bool done;

	point();
	drain_mine();
	done = __atomic_compare_exchange_n(at, expected, now, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	replacements += done;
	return done;
}

#undef replace_release
#define replace_release(p, expected, v) replaced(p, expected, v)
#define pthread_mutex_lock(m) (drain_mine(), pthread_mutex_lock(m))
#define pthread_mutex_unlock(m) (drain_mine(), pthread_mutex_unlock(m))
#define pthread_cond_wait(c, m) (drain_mine(), pthread_cond_wait(c, m))

/* So many calls of membarrier() pass; then it is refused. */
static int fences;

static long fence_or_not(long number, int command)
{
	(void)number;
	(void)command;
	point();
	if (!fences) {
		errno = EACCES;
		return -1;
	}
	fences--;
	drain_all();
	return 0;
}
#define syscall(number, command, flags, cpu) fence_or_not(number, command)

/* Time passes: no store is kept back for so long. */
static void time_passes(void)
{
	drain_all();
	explore_yield();
}
#define nanosleep(t, r) ((void)(t), time_passes())
#define pthread_setcancelstate(s, o) ((void)(o))

/* A look and the time for it is over; or it never is. */
static long looked, tick;
#define clock_gettime(id, t) ((t)->tv_sec = 0, (t)->tv_nsec = looked += tick)

#define LOOKS 1
#define PAUSES 0
#define SEATS 4
#undef HYPHAE_MEMBARRIER
#define HYPHAE_MEMBARRIER 1
#include "base/lock.c"

/* ---- scenarios ------------------------------------------------------------- */

static struct hy_lock lock, other;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int inside, other_inside, entered;
static bool said;

static void begin_with(int allowed)
{
	memset(buffers, 0, sizeof(buffers));
	memset(seats, 0, sizeof(seats));
	hy_lock_init(&lock);
	hy_lock_init(&other);
	inside = other_inside = entered = 0;
	refused = said = false;
	fences = allowed;
	tick = 10000;
}

static void begin(void)
{
	begin_with(1000);
}

/* The first favourite is made; who dismisses it has no fence. */
static void begin_refused(void)
{
	begin_with(1);
}

/* One that was refused from the beginning. */
static void begin_without(void)
{
	begin_with(0);
}

/* All seats are other threads'. */
static void begin_full(void)
{
	begin();
	for (size_t i = 0; i < SEATS; i++)
		seats[i].taken = 1;
}

/* The first thread is its favourite, by the first seat. */
static void begin_favoured(void)
{
	begin();
	seats[0].taken = 1;
	lock.favourite = &seats[0];
}

static void begin_standing_still(void)
{
	begin_favoured();
	tick = 0;
}

/* The first thread is its favourite; all other seats are other threads'. */
static void begin_favoured_full(void)
{
	begin_full();
	lock.favourite = &seats[0];
}

/* A thread as if it were new, which threads of the scheduler are not. */
static void start(void)
{
	hy_seat = &hy_no_seat;
	had_seat = false;
}

static void stop(void)
{
	drain_mine();
}

static void stay(int *within)
{
	if ((*within)++)
		explore_fail("two threads are inside");
	if (lock.favourite == &hy_no_seat)
		explore_fail("a favourite without a seat");
	explore_point();
	if (--*within)
		explore_fail("another has come inside");
}

static void enter_times(int times)
{
	for (int i = 0; i < times; i++) {
		hy_lock_enter(&lock);
		stay(&inside);
		entered++;
		hy_lock_leave(&lock);
	}
}

static void enter_4(void)
{
	start();
	enter_times(4);
	stop();
}

static void enter_3(void)
{
	start();
	enter_times(3);
	stop();
}

static void enter_2_favoured(void)
{
	hy_seat = &seats[0];
	had_seat = true;
	enter_times(2);
	stop();
}

static void enter_1(void)
{
	start();
	enter_times(1);
	stop();
}

/*
 * Ends while it is the favourite; its seat is there for another thread.  Then
 * what else it had open is ended for it.
 */
static void enter_and_end(void)
{
	start();
	enter_times(2);
	if (hy_seat != &hy_no_seat)
		seat_leave(hy_seat);
	enter_times(1);
	stop();
}

/* Favourite of both; inside one at a time. */
static void enter_both(void)
{
	start();
	for (int i = 0; i < 3; i++) {
		enter_times(1);
		hy_lock_enter(&other);
		stay(&other_inside);
		hy_lock_leave(&other);
	}
	stop();
}

static void enter_other(void)
{
	start();
	hy_lock_enter(&other);
	stay(&other_inside);
	hy_lock_leave(&other);
	stop();
}

static void await(void)
{
	start();
	enter_times(2);
	hy_lock_enter(&lock);
	while (!said) {
		hy_lock_wait(&lock, &changed, NULL);
		stay(&inside);
	}
	hy_lock_leave(&lock);
	stop();
}

static void say(void)
{
	start();
	enter_times(2);
	hy_lock_enter(&lock);
	said = true;
	pthread_cond_broadcast(&changed);
	stay(&inside);
	hy_lock_leave(&lock);
	stop();
}

static const char *all_left(int times)
{
	drain_all();
	for (size_t i = 0; i < SEATS; i++)
		if (seats[i].inside)
			return "a favourite has not left";
	return entered == times ? NULL : "not entered so often";
}

static const char *end_5(void)
{
	return all_left(5);
}

static const char *end_7(void)
{
	return all_left(7);
}

static const char *end_4(void)
{
	return all_left(4);
}

static const char *end_6(void)
{
	return all_left(6);
}

/* Who has no seat does not ask for a fence, again and again. */
static const char *end_6_without_fence(void)
{
	return fences == 1000 ? all_left(6) : "a fence for nothing";
}

static const struct explore_scenario scenarios[] = {
	{"dismissed", TWO, begin, {enter_4, enter_1}, end_5},
	{"by turns", TWO, begin, {enter_4, enter_3}, end_7},
	{"three", THREE, begin, {enter_4, enter_1, enter_1}, end_6},
	{"two locks", THREE, begin, {enter_both, enter_other, enter_1}, end_4},
	{"a condition", TWO, begin, {await, say}, end_4},
	{"refused later", TWO, begin_refused, {enter_4, enter_3}, end_7},
	{"a condition, refused later", TWO, begin_refused, {await, say}, end_4},
	{"a seat changes hands",
	 THREE,
	 begin,
	 {enter_and_end, enter_3, enter_1},
	 end_7},
	{"no seat", TWO, begin_full, {enter_3, enter_3}, end_6_without_fence},
	{"no fence", TWO, begin_without, {enter_4, enter_3}, end_7},
	{"an answer too late",
	 TWO + 1,
	 begin_favoured,
	 {enter_2_favoured, enter_3},
	 end_5},
	{"an answer to who has no seat",
	 TWO,
	 begin_favoured_full,
	 {enter_2_favoured, enter_3},
	 end_5},
	{"a clock that stands still",
	 TWO,
	 begin_standing_still,
	 {enter_2_favoured, enter_3},
	 end_5},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void every_schedule(void **state)
{
	assert_null(explore_all(*state));
}

/* By the schedules before it. */
static void some_favourites_gave_way(void **state)
{
	(void)state;
	assert_true(replacements > 0);
}

/* A mutex that changes hands so often, in so much time for each. */
static bool favoured_after(int switches, long ns)
{
	begin();
	hy_lock_patience = 100;
	hy_lock_init(&lock);
	hy_lock_patience = 1;
	start();
	tick = ns;
	for (int i = 0; i < switches; i++) {
		lock.last = NULL; /* it was another's */
		hy_lock_enter(&lock);
		hy_lock_leave(&lock);
	}
	return lock.favourite && lock.favourite == hy_seat;
}

static void who_takes_it_to_and_fro_is_favoured(void **state)
{
	(void)state;
	assert_false(favoured_after(SWITCHES + 100 / 32 - 1, 1000));
	assert_true(favoured_after(SWITCHES + 100 / 32, 1000));
	assert_false(favoured_after(SWITCHES + 100 / 32, 20000));
}

int main(void)
{
	struct CMUnitTest tests[SCENARIOS + 2];

	hy_lock_patience = 1;
	for (size_t i = 0; i < SCENARIOS; i++)
		tests[i] =
			(struct CMUnitTest){scenarios[i].name, every_schedule,
					    NULL, NULL, (void *)&scenarios[i]};
	tests[SCENARIOS] =
		(struct CMUnitTest){"some favourites gave way",
				    some_favourites_gave_way, NULL, NULL, NULL};
	tests[SCENARIOS + 1] = (struct CMUnitTest)cmocka_unit_test(
		who_takes_it_to_and_fro_is_favoured);
	return _cmocka_run_group_tests("lock", tests, SCENARIOS + 2, NULL,
				       NULL);
}
