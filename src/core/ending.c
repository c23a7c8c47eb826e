/* SPDX-License-Identifier: MIT */
#include "core/ending.h"

#include <errno.h>

#include "core/batch.h"
#include "core/drain.h"
#include "core/scope.h"
#include "core/wave.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool key_made;

/*
 * The problem is told first: until then the graph cannot be freed.  What that
 * calls may leave the scope, or end the batch, itself.
 */
static void leave_scope(struct hyphae_scope *scope)
{
	struct hy_graph *g = hy_scope_graph(scope);

	hy_lock(g);
	hy_problem(g, NULL, -ECANCELED,
		   "A thread has ended in a scope, which was left for it.");
	hy_unlock(g);
	hyphae_scope_leave(scope);
}

static void end_batch(struct hy_graph *g)
{
	struct hy_batch *batch;

	hy_lock(g);
	hy_problem(g, NULL, -ECANCELED,
		   "A thread has ended with a batch or frame open, which was "
		   "ended for it.");
	batch = hy_batch_of(g);
	if (batch) {
		batch->depth = 1;
		if (batch->frame)
			hy_frame_close(g, batch);
		else
			hy_batch_end(g, batch);
	}
	hy_unlock(g);
}

static unsigned int count_batches(void)
{
	unsigned int count = 0;

	for (struct hy_batch *b = hy_self.thread.batches; b; b = b->next)
		count++;
	return count;
}

/*
 * Scopes first, so that what subscribers make belongs to none.  What these
 * open and leave open makes the system call this again, some times.
 */
static void thread_ends(void *unused)
{
	struct hyphae_scope *scope;
	unsigned int batches = count_batches();

	(void)unused;
	hy_self.minded = false;
	while ((scope = hy_scope_entered()))
		leave_scope(scope);
	while (batches-- && hy_self.thread.batches)
		end_batch(hy_self.thread.batches->graph);
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, thread_ends) == 0;
}

/* Not after the library has been unloaded. */
static __attribute__((destructor)) void unload(void)
{
	if (key_made)
		pthread_key_delete(key);
}

NOINLINE void hy_mind_end_now(void)
{
	pthread_once(&once, make_key);
	hy_self.minded = key_made && !pthread_setspecific(key, &key);
}
