/* SPDX-License-Identifier: MIT */
/*
 * The lock of a graph (base/lock.h) with real threads and the real membarrier:
 * one at a time is inside, whoever is its favourite and however it ceases to
 * be.  test_thread_exhaustive_lock.c has its interleavings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "base/lock.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TIMES 20000
#else
#define TIMES 200000
#endif
#define THREADS 3
#define CROWD 280 /* more threads than there are seats, at once */
#define MANY 600  /* more threads than there are seats, one after the other */

static struct hy_lock lock;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t plain; /* no atomic: the lock is what protects it */
static unsigned int turn;

static int setup(void **state)
{
	(void)state;
	hy_lock_patience = 1;
	hy_lock_init(&lock);
	plain = 0;
	turn = 0;
	return 0;
}

static void enter_times(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		hy_lock_enter(&lock);
		plain++;
		hy_lock_leave(&lock);
	}
}

static bool favourite(void)
{
	return hy_seat != &hy_no_seat && lock.favourite == hy_seat;
}

static void *often(void *ctx)
{
	enter_times(TIMES);
	return ctx;
}

static void *a_few_times(void *ctx)
{
	enter_times(3);
	*(bool *)ctx = favourite();
	return NULL;
}

/* Is there a membarrier here, as the library uses it? */
static bool has_fence(void)
{
	return HYPHAE_MEMBARRIER && syscall(SYS_membarrier, 16, 0, 0) == 0 &&
	       syscall(SYS_membarrier, 8, 0, 0) == 0;
}

static void at_most_one_is_inside(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, often, NULL);
	enter_times(TIMES);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	enter_times(1);
	assert_int_equal(plain, (THREADS + 1) * TIMES + 1);
}

static void who_is_alone_becomes_the_favourite(void **state)
{
	pthread_t thread;
	bool other = false;

	(void)state;
	if (!has_fence())
		skip();
	enter_times(1);
	assert_false(favourite());
	enter_times(1);
	assert_true(favourite());
	enter_times(10);
	assert_true(favourite());
	assert_null(hy_seat->inside);
	/* Each dismissal later twice as many times are needed. */
	pthread_create(&thread, NULL, a_few_times, &other);
	pthread_join(thread, NULL);
	assert_true(other);
	assert_false(favourite());
	assert_int_equal(lock.patience, 2);
	enter_times(4);
	assert_false(favourite());
	enter_times(1);
	assert_true(favourite());
	assert_int_equal(lock.patience, 4);
	assert_int_equal(plain, 1 + 1 + 10 + 3 + 5);
}

/* It does not become none by being doubled. */
static void the_most_patience_stays(void **state)
{
	pthread_t thread;
	bool other = false;

	(void)state;
	if (!has_fence())
		skip();
	hy_lock_patience = 32768;
	hy_lock_init(&lock);
	enter_times(1 + 32768);
	assert_true(favourite());
	pthread_create(&thread, NULL, a_few_times, &other);
	pthread_join(thread, NULL);
	assert_false(favourite());
	assert_int_equal(lock.patience, 32768);
	enter_times(1 + 32768);
	assert_true(favourite());
}

static void no_patience_no_favourite(void **state)
{
	(void)state;
	hy_lock_patience = 0;
	hy_lock_init(&lock);
	enter_times(1000);
	assert_null(lock.favourite);
	assert_int_equal(plain, 1000);
}

/* Their seats are taken again; a lock outlives its favourite. */
static void threads_come_and_go(void **state)
{
	bool expected = has_fence(), all = true;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		pthread_t thread;
		bool it = false;

		hy_lock_init(&lock);
		pthread_create(&thread, NULL, a_few_times, &it);
		pthread_join(thread, NULL);
		all = all && it == expected;
		enter_times(1);
	}
	assert_true(all);
	assert_int_equal(plain, 4 * MANY);
}

/* Who finds no seat is nobody's favourite, and inside alone all the same. */
struct crowd {
	pthread_barrier_t barrier;
	unsigned int favourites;
};

static void *in_crowd(void *ctx)
{
	struct crowd *crowd = ctx;
	struct hy_lock own;

	hy_lock_init(&own);
	for (int i = 0; i < 3; i++) {
		hy_lock_enter(&own);
		hy_lock_leave(&own);
	}
	if (own.favourite)
		__atomic_add_fetch(&crowd->favourites, 1, __ATOMIC_RELAXED);
	enter_times(10);
	pthread_barrier_wait(&crowd->barrier); /* all are there at once */
	return NULL;
}

#define SEATS 256

static void more_threads_than_seats(void **state)
{
	pthread_t threads[CROWD];
	struct crowd crowd = {.favourites = 0};
	bool fence = has_fence();

	(void)state;
	enter_times(2); /* this thread has one, too */
	pthread_barrier_init(&crowd.barrier, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, in_crowd, &crowd), 0);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&crowd.barrier);
	assert_int_equal(crowd.favourites, fence ? SEATS - 1 : 0);
	assert_int_equal(plain, 2 + CROWD * 10);
}

/* The favourite of both is inside one at a time. */
static void two_locks(void **state)
{
	struct hy_lock other;
	pthread_t threads[2];

	(void)state;
	hy_lock_init(&other);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, often, NULL);
	for (int i = 0; i < TIMES; i++) {
		hy_lock_enter(&other);
		hy_lock_leave(&other);
		enter_times(1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(plain, 3 * TIMES);
}

/* Two threads, each waits for its turn. */
static void *take_turns(void *ctx)
{
	unsigned int mine = ctx != NULL;

	for (int i = 0; i < TIMES / 20; i++) {
		hy_lock_enter(&lock);
		while (turn % 2 != mine)
			hy_lock_wait(&lock, &changed, NULL);
		turn++;
		pthread_cond_broadcast(&changed);
		hy_lock_leave(&lock);
		enter_times(2);
	}
	return NULL;
}

static void a_condition(void **state)
{
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, take_turns, &turn);
	take_turns(NULL);
	pthread_join(thread, NULL);
	assert_int_equal(turn, 2 * (TIMES / 20));
	assert_int_equal(plain, 4 * (TIMES / 20));
}

/* A wait that ends by its time has the lock again. */
static void a_condition_in_time(void **state)
{
	struct timespec past = {0, 0};
	int r = 0;

	(void)state;
	enter_times(5);
	hy_lock_enter(&lock);
	while (r == 0)
		r = hy_lock_wait(&lock, &changed, &past);
	plain++;
	hy_lock_leave(&lock);
	assert_int_equal(r, ETIMEDOUT);
	enter_times(5);
	assert_int_equal(plain, 11);
}

/* ---- children ------------------------------------------------------------- */

static int status_of(int (*fn)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(fn());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int in_child(void)
{
	enter_times(10);
	return plain == 20 && lock.favourite != NULL ? 0 : 1;
}

static void *stay(void *ctx)
{
	enter_times(10);
	pthread_barrier_wait(ctx);
	pthread_barrier_wait(ctx);
	return NULL;
}

/* The favourite is a thread that the child does not have. */
static void fork_beside_the_favourite(void **state)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, stay, &barrier);
	pthread_barrier_wait(&barrier);
	if (lock.favourite)
		assert_int_equal(status_of(in_child), 0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static struct hy_seat *left_inside;

static void *end_inside(void *ctx)
{
	enter_times(3);
	hy_lock_enter(&lock);
	if (favourite())
		left_inside = hy_seat;
	pthread_exit(ctx);
}

/* As with a mutex the lock stays taken; so its seat is not given away. */
static int ended_inside(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end_inside, NULL);
	pthread_join(thread, NULL);
	return left_inside &&
	       (!left_inside->taken || left_inside->inside != &lock);
}

static void a_thread_that_ends_inside(void **state)
{
	(void)state;
	assert_int_equal(status_of(ended_inside), 0);
}

/* From now on membarrier is refused, to all threads. */
static bool refuse(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			SECCOMP_FILTER_FLAG_TSYNC, &program);
}

#define NO_FILTER 77

static int refused_later(void)
{
	pthread_t threads[2];
	bool it;

	enter_times(10);
	if (!favourite() || !refuse())
		return NO_FILTER;
	errno = 0;
	pthread_create(&threads[0], NULL, a_few_times, &it);
	pthread_join(threads[0], NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, often, NULL);
	enter_times(TIMES);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (errno || lock.favourite)
		return 2;
	return plain == 13 + 3 * TIMES ? 0 : 1;
}

static void refused_by_a_filter(void **state)
{
	int status;

	(void)state;
	status = status_of(refused_later);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
		skip();
	assert_int_equal(status, 0);
}

/* ---- in a graph ------------------------------------------------------------ */

struct seen {
	int64_t calls, last;
	bool backwards;
};

static int see(const struct hyphae_signal *signal, void *ctx)
{
	int64_t value = hyphae_int64_of(signal);
	struct seen *seen = ctx;

	seen->calls++;
	seen->backwards = seen->backwards || value < seen->last;
	seen->last = value;
	return 0;
}

static int add_one(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input + 1;
	return 0;
}

static struct hyphae_cell *source;

#define SETS (TIMES / 10)

static void *set_often(void *ctx)
{
	int64_t base = *(const int64_t *)ctx;

	for (int64_t i = 0; i < SETS; i++)
		hyphae_int64_set(source, base + i);
	return NULL;
}

/* Another thread sets; this one subscribes and unsubscribes. */
static void set_beside_subscribers(struct hyphae_cell *map, int64_t base,
				   unsigned int flags)
{
	struct seen seen = {.calls = 0};
	pthread_t thread;

	pthread_create(&thread, NULL, set_often, &base);
	for (int i = 0; i < SETS / 10; i++) {
		struct hyphae_subscription *s =
			hyphae_subscribe_with(map, see, &seen, NULL, flags);

		hyphae_unsubscribe_wait(s);
	}
	pthread_join(thread, NULL);
	assert_false(seen.backwards);
}

/* Who propagates takes and leaves the lock around each function. */
static void a_graph_of_two_threads(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(0);
	struct seen seen = {.calls = 0};
	struct hyphae_subscription *s;
	struct hyphae_cell *map;
	int64_t base = 1, value = 0;

	(void)state;
	source = hyphae_int64_new(graph, 0);
	map = hyphae_map(source, &hyphae_int64, add_one, NULL);
	s = hyphae_subscribe(map, see, &seen);
	assert_non_null(s);
	set_often(&base); /* alone */
	assert_int_equal(seen.calls, 1 + SETS);
	set_beside_subscribers(map, 1 + SETS, HYPHAE_SKIP_INITIAL);
	assert_int_equal(seen.calls, 1 + 2 * SETS);
	/* Sets beside a first call wait for the drainer, the last counts. */
	set_beside_subscribers(map, 1 + 2 * SETS, 0);
	assert_in_range(seen.calls, 2 + 2 * SETS, 1 + 3 * SETS);
	assert_false(seen.backwards);
	assert_int_equal(seen.last, 1 + 3 * SETS);
	assert_int_equal(hyphae_int64_get(source, &value), 0);
	assert_int_equal(value, 3 * SETS);
	assert_int_equal(hyphae_int64_get(map, &value), 0);
	assert_int_equal(value, 1 + 3 * SETS);
	hyphae_unsubscribe(s);
	hyphae_cell_unref(map);
	hyphae_cell_unref(source);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(at_most_one_is_inside, setup),
		cmocka_unit_test_setup(who_is_alone_becomes_the_favourite,
				       setup),
		cmocka_unit_test_setup(the_most_patience_stays, setup),
		cmocka_unit_test_setup(no_patience_no_favourite, setup),
		cmocka_unit_test_setup(threads_come_and_go, setup),
		cmocka_unit_test_setup(more_threads_than_seats, setup),
		cmocka_unit_test_setup(two_locks, setup),
		cmocka_unit_test_setup(a_condition, setup),
		cmocka_unit_test_setup(a_condition_in_time, setup),
		cmocka_unit_test_setup(fork_beside_the_favourite, setup),
		cmocka_unit_test_setup(a_thread_that_ends_inside, setup),
		cmocka_unit_test_setup(refused_by_a_filter, setup),
		cmocka_unit_test_setup(a_graph_of_two_threads, setup),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
