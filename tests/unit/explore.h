/* SPDX-License-Identifier: MIT */
/*
 * Every interleaving of a few threads, up to a number of preemptions.
 *
 * The library under test is the one that ships.  The linker puts the five
 * functions by which its threads wait for one another (mutexes, conditions)
 * through this file (--wrap, see the Makefile), and a scheduler here lets one
 * thread run at a time: at each point (before a mutex is taken, where a thread
 * waits or ends, where a callback says so) it chooses who goes on.  (Giving a
 * mutex back is no point: what a thread does from there to its next point is
 * of no concern to the others.)  A scenario is
 * run again and again, each time with another sequence of choices, depth
 * first, until there is none left.  That is stateless model checking with a
 * bound on preemptions, as CHESS does it (Musuvathi, Qadeer: Iterative Context
 * Bounding for Systematic Testing of Multithreaded Programs, 2007): a switch
 * away from a thread that could go on costs one, where it has to wait none.
 * So does a timeout while anybody else could go on: time is a choice, too.
 *
 * A failure prints its schedule; EXPLORE=scenario:choices runs that alone.
 * BOUND=n is another number of preemptions, for all scenarios.
 */
#ifndef TEST_EXPLORE_H
#define TEST_EXPLORE_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/run.h"

#define EXPLORE_THREADS 4
#define EXPLORE_CHOICES 512
#define EXPLORE_STEPS 20000 /* of one schedule: more is a livelock */
#define EXPLORE_LOCKS 8
#define EXPLORE_SECONDS 60 /* for a scenario */

struct explore_scenario {
	const char *name;
	int preemptions;
	void (*begin)(void);
	void (*threads[EXPLORE_THREADS])(void);
	/* All have ended: NULL, or what is wrong. */
	const char *(*end)(void);
};

enum explore_state {
	EXPLORE_READY,
	EXPLORE_LOCK,
	EXPLORE_WAIT,
	EXPLORE_YIELD,
	EXPLORE_DONE,
};

struct explore_task {
	pthread_t thread;
	sem_t go;
	enum explore_state state;
	pthread_mutex_t *lock; /* EXPLORE_LOCK, _WAIT */
	pthread_cond_t *cond;  /* EXPLORE_WAIT */
	bool timed, timed_out;
	void (*body)(void);
};

static struct {
	bool on; /* threads are scheduled; else the functions are the real */
	struct explore_task tasks[EXPLORE_THREADS];
	int count, current;
	sem_t over;
	struct {
		pthread_mutex_t *lock;
		int owner; /* -1: nobody */
	} locks[EXPLORE_LOCKS];
	int preemptions, bound, timeouts;
	unsigned long steps;
	/* The choices of this schedule, and how many there were each time. */
	unsigned char choice[EXPLORE_CHOICES], width[EXPLORE_CHOICES];
	int depth, length; /* made so far; given in advance */
	const char *failure;
	const char *name;
} explore;

static _Thread_local int explore_me = -1;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

/* ---- what to say ------------------------------------------------------------ */

static void explore_print(FILE *to)
{
	fprintf(to, "EXPLORE=%s:", explore.name);
	for (int i = 0; i < explore.depth; i++)
		fprintf(to, "%s%d", i ? "," : "", explore.choice[i]);
	fprintf(to, "\n");
}

/* Threads are in the middle of something: there is no way back. */
static void explore_give_up(const char *why)
{
	printf("[  FAILED  ] %s: %s\n", explore.name, why);
	explore_print(stdout);
	fflush(NULL);
	_exit(1);
}

static void explore_bark(int signal)
{
	(void)signal;
	explore_give_up("it takes too long: a loop without a point?");
}

/* Callable from anywhere: what a scenario found wrong on the way. */
static void explore_fail(const char *what)
{
	if (!explore.failure)
		explore.failure = what;
}

/* ---- the scheduler ------------------------------------------------------------ */

static int *explore_owner(pthread_mutex_t *lock)
{
	int i = 0;

	while (i < EXPLORE_LOCKS && explore.locks[i].lock &&
	       explore.locks[i].lock != lock)
		i++;
	if (i == EXPLORE_LOCKS)
		explore_give_up("more locks than there is room for");
	if (!explore.locks[i].lock) {
		explore.locks[i].lock = lock;
		explore.locks[i].owner = -1;
	}
	return &explore.locks[i].owner;
}

static bool explore_enabled(const struct explore_task *task)
{
	return task->state == EXPLORE_READY ||
	       (task->state == EXPLORE_LOCK && *explore_owner(task->lock) < 0);
}

static bool explore_may_time_out(const struct explore_task *task)
{
	return task->state == EXPLORE_WAIT && task->timed &&
	       *explore_owner(task->lock) < 0;
}

/* Which of so many: as given, or the first, to be followed by the others. */
static int explore_choose(int width)
{
	int at = explore.depth;

	if (width == 1)
		return 0;
	if (at == EXPLORE_CHOICES)
		explore_give_up("more choices than there is room for");
	if (at >= explore.length)
		explore.choice[at] = 0;
	else if (explore.choice[at] >= width)
		explore_give_up("the schedule does not fit");
	explore.width[at] = (unsigned char)width;
	explore.depth++;
	return explore.choice[at];
}

/* Who goes on: the current one first, so that choice 0 is to go on. */
static int explore_next(void)
{
	int options[2 * EXPLORE_THREADS], count = 0, free_ones, chosen;
	bool goes_on = explore_enabled(&explore.tasks[explore.current]);

	for (int i = 0; i < explore.count; i++) {
		int t = (explore.current + i) % explore.count;

		if (explore_enabled(&explore.tasks[t]))
			options[count++] = t;
	}
	for (int t = 0; !count && t < explore.count; t++)
		if (explore.tasks[t].state == EXPLORE_YIELD)
			options[count++] = t;
	free_ones = goes_on ? 1 : count;
	for (int t = 0; t < explore.count; t++)
		if (explore_may_time_out(&explore.tasks[t]))
			options[count++] = t;
	if (!count)
		explore_give_up("no thread can go on: a deadlock");
	if (!free_ones)
		explore_give_up("only a timeout helps: a lost wake-up");
	if (explore.preemptions == explore.bound)
		count = free_ones;
	chosen = explore_choose(count);
	explore.preemptions += chosen >= free_ones;
	return options[chosen];
}

/* The current thread stops here; it returns when it is chosen again. */
static void explore_switch(void)
{
	int me = explore.current, next;
	bool ended = explore.tasks[me].state == EXPLORE_DONE;

	if (++explore.steps > EXPLORE_STEPS)
		explore_give_up("it does not end: a livelock?");
	next = explore_next();
	if (explore.tasks[next].state == EXPLORE_WAIT) {
		explore.tasks[next].state = EXPLORE_LOCK;
		explore.tasks[next].timed_out = true;
		explore.timeouts++;
	}
	explore.current = next;
	if (next == me)
		return;
	sem_post(&explore.tasks[next].go);
	if (!ended) /* else the next schedule may have begun */
		sem_wait(&explore.tasks[me].go);
}

static bool explore_mine(void)
{
	return explore.on && explore_me >= 0;
}

/* Anybody may go on here. */
static void explore_point(void)
{
	if (explore_mine())
		explore_switch();
}

/* It looks again and again for what another does: who can goes on. */
__attribute__((unused)) static void explore_yield(void)
{
	if (!explore_mine())
		return;
	explore.tasks[explore_me].state = EXPLORE_YIELD;
	explore_switch();
	explore.tasks[explore_me].state = EXPLORE_READY;
}

/* ---- what the library calls ---------------------------------------------------- */

static void explore_take(struct explore_task *task, pthread_mutex_t *lock)
{
	task->lock = lock;
	task->state = EXPLORE_LOCK;
	explore_switch();
	task->state = EXPLORE_READY;
	*explore_owner(lock) = explore_me;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (!explore_mine())
		return __real_pthread_mutex_lock(lock);
	if (*explore_owner(lock) == explore_me)
		explore_give_up("a lock is taken twice");
	explore_take(&explore.tasks[explore_me], lock);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	if (!explore_mine())
		return __real_pthread_mutex_unlock(lock);
	if (*explore_owner(lock) != explore_me)
		explore_give_up("a lock is given back by another thread");
	*explore_owner(lock) = -1; /* the next point comes soon enough */
	return 0;
}

static int explore_wait(pthread_cond_t *cond, pthread_mutex_t *lock, bool timed)
{
	struct explore_task *task = &explore.tasks[explore_me];

	*explore_owner(lock) = -1;
	task->state = EXPLORE_WAIT;
	task->lock = lock;
	task->cond = cond;
	task->timed = timed;
	task->timed_out = false;
	explore_switch();
	task->state = EXPLORE_READY;
	*explore_owner(lock) = explore_me;
	return task->timed_out ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	return explore_mine() ? explore_wait(cond, lock, false)
			      : __real_pthread_cond_wait(cond, lock);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	return explore_mine()
		       ? explore_wait(cond, lock, true)
		       : __real_pthread_cond_timedwait(cond, lock, until);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (!explore_mine())
		return __real_pthread_cond_broadcast(cond);
	for (int t = 0; t < explore.count; t++)
		if (explore.tasks[t].state == EXPLORE_WAIT &&
		    explore.tasks[t].cond == cond)
			explore.tasks[t].state = EXPLORE_LOCK;
	return 0;
}

/* ---- a schedule ------------------------------------------------------------------ */

static bool explore_all_done(void)
{
	for (int t = 0; t < explore.count; t++)
		if (explore.tasks[t].state != EXPLORE_DONE)
			return false;
	return true;
}

static void *explore_thread(void *ctx)
{
	struct explore_task *task = ctx;
	int me = (int)(task - explore.tasks);

	for (;;) {
		sem_wait(&task->go);
		if (!task->body)
			return NULL;
		explore_me = me;
		task->body();
		explore_me = -1;
		task->state = EXPLORE_DONE;
		if (explore_all_done())
			sem_post(&explore.over);
		else
			explore_switch();
	}
}

/* One run, by the choices that are given; then by the first of each. */
static void explore_run(const struct explore_scenario *scenario)
{
	explore.depth = explore.preemptions = explore.timeouts = 0;
	explore.steps = 0;
	explore.failure = NULL;
	memset(explore.locks, 0, sizeof(explore.locks));
	scenario->begin();
	for (int t = 0; t < explore.count; t++) {
		explore.tasks[t].state = EXPLORE_READY;
		explore.tasks[t].body = scenario->threads[t];
	}
	explore.on = true;
	explore.current = 0;
	/* Who begins is a choice as any other, and costs nothing. */
	explore.current = explore_choose(explore.count);
	sem_post(&explore.tasks[explore.current].go);
	sem_wait(&explore.over);
	explore.on = false;
	for (int i = 0; i < EXPLORE_LOCKS && explore.locks[i].lock; i++)
		if (explore.locks[i].owner >= 0)
			explore_fail("a lock was left behind");
	if (!explore.failure)
		explore.failure = scenario->end();
}

/* The next sequence of choices; false if there is none. */
static bool explore_advance(void)
{
	int at = explore.depth;

	while (at > 0 && explore.choice[at - 1] + 1 == explore.width[at - 1])
		at--;
	if (!at)
		return false;
	explore.choice[at - 1]++;
	explore.length = at;
	return true;
}

/* Take the schedule in $EXPLORE; false if it is one of another scenario. */
static bool explore_given(const char *text)
{
	size_t length = strlen(explore.name);
	char *end;

	if (strncmp(text, explore.name, length) || text[length] != ':')
		return false;
	for (text += length + 1; *text && explore.length < EXPLORE_CHOICES;
	     text = *end ? end + 1 : end) {
		explore.choice[explore.length++] =
			(unsigned char)strtoul(text, &end, 10);
		if (end == text)
			break;
	}
	return true;
}

static void explore_threads(bool start)
{
	for (int t = 0; t < explore.count; t++) {
		struct explore_task *task = &explore.tasks[t];

		if (start) {
			sem_init(&task->go, 0, 0);
			pthread_create(&task->thread, NULL, explore_thread,
				       task);
		} else {
			task->body = NULL;
			sem_post(&task->go);
			pthread_join(task->thread, NULL);
			sem_destroy(&task->go);
		}
	}
}

/* All schedules; returns what is wrong with one, or NULL. */
static const char *explore_all(const struct explore_scenario *scenario)
{
	const char *given = getenv("EXPLORE");
	unsigned long schedules = 0;

	explore.name = scenario->name;
	explore.length = 0;
	if (given && !*given)
		given = NULL;
	if (given && !explore_given(given))
		return NULL;
	explore.bound =
		(int)test_number("BOUND", (unsigned long)scenario->preemptions);
	explore.count = 0;
	while (explore.count < EXPLORE_THREADS &&
	       scenario->threads[explore.count])
		explore.count++;
	signal(SIGALRM, explore_bark);
	alarm(EXPLORE_SECONDS);
	sem_init(&explore.over, 0, 0);
	explore_threads(true);
	do {
		explore_run(scenario);
		schedules++;
	} while (!explore.failure && !given && explore_advance());
	alarm(0);
	explore_threads(false);
	sem_destroy(&explore.over);
	printf("%s: %lu schedules of %d threads, at most %d preemptions\n",
	       scenario->name, schedules, explore.count, explore.bound);
	if (explore.failure) {
		printf("%s\n", explore.failure);
		explore_print(stdout);
	}
	return explore.failure;
}

#endif
