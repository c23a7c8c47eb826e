/* SPDX-License-Identifier: MIT */
#include "core/drain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/label.h"
#include "core/lazy.h"
#include "core/log.h"
#include "core/post.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/value.h"
#include "core/wave.h"

unsigned int hy_hand_over_waves = 64, hy_hand_over_ms = 100;

static void pass_close(struct hy_graph *g)
{
	g->hop = 0;
	if (!g->pass_open)
		return;
	if (hy_watched())
		hy_watch_pass_close(g);
	g->pass_open = false;
}

/*
 * The cells that were written in the last waves before the limit: who keeps
 * a loop going.  They cannot be freed meanwhile, the dead wait (I6).
 */
#define SUSPECTS 8
struct suspects {
	struct hy_cell *cells[SUSPECTS];
	unsigned int count;
};

static void suspect(struct suspects *s, const struct hy_log *log)
{
	for (size_t i = 0; i < log->count && s->count < SUSPECTS; i++) {
		struct hy_cell *c = log->entries[i].cell;
		unsigned int at = 0;

		while (at < s->count && s->cells[at] != c)
			at++;
		if (at == s->count)
			s->cells[s->count++] = c;
	}
}

static void stop_loop(struct hy_graph *g, const struct suspects *s)
{
	char text[256 + SUSPECTS * (HYPHAE_NAME_MAX + 32)];
	int at = snprintf(text, sizeof(text),
			  "The graph did not settle in %u waves; subscribers "
			  "keep writing",
			  g->wave_limit);

	for (unsigned int i = 0; i < s->count; i++)
		at += snprintf(
			text + at, sizeof(text) - (size_t)at, "%s #%llu%s%s",
			i ? "," : "", (unsigned long long)s->cells[i]->id,
			*s->cells[i]->name ? " " : "", s->cells[i]->name);
	snprintf(text + at, sizeof(text) - (size_t)at,
		 ". The last writes were dropped.");
	if (!g->result)
		g->result = -ELOOP;
	hy_problem(g, s->cells[0], -ELOOP, text);
	hy_log_clear(g, &g->next);
}

/* Flush a log that may be written to meanwhile. */
static void flush(struct hy_graph *g, struct hy_log *log)
{
	struct hy_log taken = *log;

	*log = g->running;
	g->running = taken;
	hy_flush(g, &g->running);
}

/*
 * A wave of what other threads left here: posts, the inbox.  Who only ended
 * or made something (`waves` is 0) leaves posts to a write.  False: there was
 * nothing; but drop functions of posts that a cell refused may have been called.
 */
static bool serve(struct hy_graph *g, unsigned int waves)
{
	struct hy_log *log = &g->inbox;

	if (hy_posts_due(g, waves && g->served < hy_hand_over_waves) &&
	    hy_posts_take(g) == 0 && hy_posts(g)->log.count)
		log = &hy_posts(g)->log;
	if (!log->count)
		return false;
	g->served++;
	hy_pass_open(g, 0);
	flush(g, log);
	return true;
}

/* Whatever is left to do sets `left`; but for what other threads leave. */
static bool left_meanwhile(const struct hy_graph *g)
{
	return g->left || hy_queue_used(&g->queue);
}

static bool nothing_left(const struct hy_graph *g)
{
	return !left_meanwhile(g) && !g->inbox.count &&
	       !load_acquire(&g->posts);
}

/* After so many waves and the like the dead are freed, come what may. */
#define REAP_TURNS 64

/* All that is left: waves, the dead, what others left. */
static void drain(struct hy_graph *g, unsigned int waves)
{
	struct suspects suspects = {.count = 0};
	unsigned int turns = 0;

	for (;;) {
		/* Others may have so much to do that the dead pile up. */
		if (hy_has_dead(g) && !g->nfired && ++turns % REAP_TURNS == 0) {
			suspects.count = 0;
			hy_reap(g);
		}
		if (g->more.count) {
			if (!g->pass_open)
				hy_pass_open(g, 0);
			hy_wave_more(g);
		} else if (g->next.count) {
			if (waves + SUSPECTS >= g->wave_limit)
				suspect(&suspects, &g->next);
			if (waves++ >= g->wave_limit) {
				stop_loop(g, &suspects);
				continue;
			}
			if (!g->pass_open)
				hy_pass_open(g, 0);
			flush(g, &g->next);
		} else if (hy_queue_used(&g->queue) || g->again.count ||
			   g->nfired) {
			/*
			 * Cells made meanwhile whose inputs have changed; or
			 * what settled for a function that no wave called.
			 */
			if (!g->pass_open)
				hy_pass_open(g, 0);
			hy_wave(g);
		} else if (g->attention.count) {
			hy_attend(g);
		} else if (hy_has_dead(g)) {
			suspects.count = 0; /* may be freed now */
			hy_reap(g);
		} else {
			pass_close(g);
			g->left = false;
			if (g->heir)
				break;
			if (serve(g, waves))
				waves = 1;
			else if (!left_meanwhile(g))
				break;
		}
	}
}

int hy_drain_end(struct hy_graph *g, unsigned int waves)
{
	int result;

	if (nothing_left(g)) {
		g->hop = 0;
		g->pass_open = false; /* nobody watched it */
	} else {
		drain(g, waves);
	}
	result = g->result;
	g->result = 0;
	g->served = 0;
	hy_drain_left(g, g->heir);
	g->left = false;
	if (hy_shared(g) && (g->waiters || g->heir))
		pthread_cond_broadcast(&g->idle);
	g->heir = NULL;
	return result;
}

/*
 * Inside a call of any graph a thread does not wait: its own drainer might
 * wait for it in turn.
 */
static bool may_wait(void)
{
	return !hy_self.draining && !hy_self.turns && !hy_self.thread.guard;
}

static struct timespec deadline(unsigned int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

int hy_take_over(struct hy_graph *g)
{
	struct hy_thread *me = hy_thread_of(g);
	struct timespec until;

	if (g->served < hy_hand_over_waves || g->heir || !may_wait())
		return 0;
	until = deadline(hy_hand_over_ms);
	g->heir = me;
	while (g->heir == me)
		if (hy_lock_wait(&g->lock, &g->idle, &until))
			break;
	if (g->heir == me) {
		g->heir = NULL;
		g->served = 0;
		return 0;
	}
	hy_self.draining++;
	return hy_drain_end(g, 1);
}

void hy_bury_now(struct hy_graph *g)
{
	if (hy_drain_begin(g))
		hy_drain_end(g, 0);
}

void hy_idle_init(struct hy_graph *g)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->idle, &attr);
	pthread_condattr_destroy(&attr);
}

void hy_wait_idle(struct hy_graph *g)
{
	g->waiters++;
	hy_lock_wait(&g->lock, &g->idle, NULL);
	g->waiters--;
}

void hy_wait_call(struct hy_graph *g)
{
	g->call_waiters++;
	hy_lock_wait(&g->lock, &g->idle, NULL);
	g->call_waiters--;
}

struct hy_batch *hy_batch_of(struct hy_graph *g)
{
	struct hy_batch *batch = hy_thread_of(g)->batches;

	hy_log_noted(g);
	while (batch && batch->graph != g)
		batch = batch->next;
	return batch;
}

/* Nothing stands in the way: run the wave. */
static inline int write_now(struct hy_graph *g, struct hy_cell *c,
			    uint32_t what, uint64_t word,
			    struct hy_error *error)
{
	int r, drained;

	hy_pass_open(g, 0);
	if (what == LOG_VALUE)
		r = hy_notify(g, c, word, c->type, HYPHAE_VALUE);
	else if (what == LOG_COMPLETE)
		r = hy_notify(g, c, 0, c->type, HYPHAE_COMPLETE);
	else
		r = hy_notify(g, c, (uintptr_t)error, c->type, HYPHAE_ERROR);
	if (likely(hy_drain_leave(g)))
		return r;
	drained = hy_drain_end(g, 1);
	return drained ? drained : r;
}

static bool room_for_batch(struct hy_graph *g, size_t count)
{
	return hy_log_room(g, &g->next, count) &&
	       (!g->inbox.count || hy_log_room(g, &g->inbox, count));
}

static int write_locked(struct hy_graph *g, struct hy_cell *c, uint32_t what,
			uint64_t word, struct hy_error *error, bool *ret_taken)
{
	struct hy_batch *batch;
	struct hy_log *log;
	bool drainer;
	int r;

	if (c->flags & F_DERIVED)
		return -EINVAL;
	if (c->flags & F_ENDED)
		return -ESHUTDOWN;
	if (hy_guarded(g))
		return -EPERM;
	if (what == LOG_FAIL && !hy_cold_made(c))
		return -ENOMEM;
	batch = hy_batch_of(g);
	if (!batch && hy_drain_begin(g)) {
		*ret_taken = true;
		return write_now(g, c, what, word, error);
	}
	if (g->freeing) /* there is no next wave */
		return -ESTALE;
	drainer = hy_drains(g);
	/* A batch of a subscriber has a wave to go to, whatever happens. */
	if (batch && drainer && !room_for_batch(g, batch->log.count + 1))
		return -ENOMEM;
	if (batch)
		log = &batch->log;
	else
		log = drainer ? hy_log_of_drainer(g, c) : &g->inbox;
	if (!batch && c->flags & F_EVENT && what == LOG_VALUE &&
	    log->events >= HYPHAE_EVENTS_MAX)
		return -EAGAIN;
	r = hy_log_put(g, log, c, what, word, error);
	*ret_taken = r == 0;
	return r || drainer || batch ? r : hy_take_over(g);
}

static void give_up(struct hy_graph *g, const struct hyphae_type *type,
		    uint32_t what, uint64_t word, struct hy_error *error)
{
	if (what == LOG_VALUE && hy_type_boxed(type))
		hy_box_put(g, type, hy_box_of(word));
	hy_error_unref(error);
}

/* The lock is held before, not after. */
static int write_and_unlock(struct hy_graph *g,
			    const struct hyphae_cell *handle,
			    const struct hyphae_type *type, uint32_t what,
			    uint64_t word, struct hy_error *error)
{
	struct hy_cell *c = hy_cell(handle);
	bool taken = false;
	int r = -ESTALE;

	if (c && !(c->flags & F_DEAD)) {
		/* Its own subscriber may release it. */
		c->refs++;
		r = write_locked(g, c, what, word, error, &taken);
		hy_cell_put(g, c);
	}
	if (!taken)
		give_up(g, type, what, word, error);
	hy_bury(g);
	hy_unlock(g);
	return r;
}

int hy_write(struct hy_graph *g, const struct hyphae_cell *handle,
	     const struct hyphae_type *type, uint32_t what, uint64_t word,
	     struct hy_error *error)
{
	hy_lock(g);
	return write_and_unlock(g, handle, type, what, word, error);
}

int hy_set_shared(struct hy_graph *g, struct hy_cell *c, uintptr_t top,
		  const struct hyphae_type *type, uint64_t word)
{
	const struct hy_thread *me = &hy_self.thread;
	int r, drained;

	hy_lock_enter(&g->lock);
	/* It may have been released before the lock was taken. */
	if (unlikely(hy_id_bits(c) != top ||
		     c->flags & (F_DERIVED | F_ENDED | F_DEAD) || me->batches ||
		     me->guard == g || g->drainer))
		return write_and_unlock(g, hy_handle(c, top, HY_TAG_CELL), type,
					LOG_VALUE, word, NULL);
	hy_drain_begin_shared(g);
	hy_pass_open(g, 0);
	r = hy_notify(g, c, word, c->type, HYPHAE_VALUE);
	if (hy_drain_is_done(g)) {
		g->hop = 0;
		g->pass_open = false;
		hy_drain_left_shared(g, NULL);
	} else {
		drained = hy_drain_end(g, 1);
		r = drained ? drained : r;
	}
	hy_lock_leave(&g->lock);
	return r;
}
