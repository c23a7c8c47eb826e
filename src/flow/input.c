/* SPDX-License-Identifier: MIT */
#include <hyphae/input.h>

#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "core/release.h"
#include "flow/handle.h"
#include "flow/held.h"
#include "flow/kick.h"
#include "flow/wait.h"

struct hy_input {
	struct hy_flow flow; /* its own handle, and the kick's subscription */
	struct hyphae_cell *cell; /* a reference */
	struct hyphae_graph *graph;
	const struct hyphae_type *type;
	unsigned int flags;
	bool shared, event, block;
	bool flushed; /* a push does not deliver by itself */
	struct hy_kick kick;
	pthread_mutex_t lock; /* of what follows; nothing is called under it */
	pthread_cond_t room;
	unsigned int waiters;
	struct hy_ring ring;
	uint64_t pushed, delivered, coalesced, refused;
	pthread_t deliverer; /* on whose thread the cell was last served */
	bool closing;	     /* no more pushes */
	bool left;	     /* the kick is over */
	int over;	     /* why there is nobody to deliver to, or 0 */
};

static void input_free(struct hy_flow *flow)
{
	struct hy_input *in = container_of(flow, struct hy_input, flow);

	hy_ring_done(&in->ring);
	pthread_cond_destroy(&in->room);
	pthread_mutex_destroy(&in->lock);
	hy_free(in);
}

static struct hy_input *input_get(struct hyphae_input *handle, int *ret)
{
	struct hy_flow *flow = hy_flow_get(handle, HY_FLOW_INPUT, ret);

	return flow ? container_of(flow, struct hy_input, flow) : NULL;
}

static void lock(struct hy_input *in)
{
	pthread_mutex_lock(&in->lock);
}

static void unlock(struct hy_input *in)
{
	pthread_mutex_unlock(&in->lock);
}

static void wake_pushers(struct hy_input *in)
{
	if (in->waiters)
		pthread_cond_broadcast(&in->room);
}

/* ---- deliver: the kick's subscriber ------------------------------------------ */

static bool input_take(struct hy_input *in, struct hy_item *item)
{
	bool any;

	lock(in);
	any = hy_ring_take(&in->ring, item);
	if (any)
		wake_pushers(in);
	unlock(in);
	return any;
}

/* The cell does not take it, nor any other: it has ended. */
static void refuse_from_now_on(struct hy_input *in, struct hy_item *item,
			       int why)
{
	uint64_t dropped = 1;

	do {
		hy_held_drop(&item->held);
		lock(in);
		in->over = why;
		in->ring.dropped += dropped;
		dropped = hy_ring_take(&in->ring, item);
		wake_pushers(in);
		unlock(in);
	} while (dropped);
}

/*
 * Give the cell one value, or what waits as a batch.  Returns 0 or -errno;
 * with -ENOMEM what waits still does.
 */
static int deliver_some(struct hy_input *in, struct hy_graph *g)
{
	size_t most = in->flags & HYPHAE_INPUT_COALESCE ? in->ring.capacity : 1;
	struct hy_item item;
	bool replaces = false;
	int r;

	while (most--) {
		if (!hy_next_room(g, in->cell))
			return -ENOMEM;
		if (!input_take(in, &item))
			break;
		r = hy_next_put(g, in->cell, LOG_VALUE, item.held.word, NULL);
		if (r) {
			refuse_from_now_on(in, &item, r);
			return 0;
		}
		hy_hop_note(g, item.hop);
		lock(in);
		if (replaces)
			in->coalesced++;
		else
			in->delivered++;
		unlock(in);
		replaces = !in->event;
	}
	return 0;
}

static int input_deliver(const struct hyphae_signal *signal, void *ctx)
{
	struct hy_input *in = ctx;
	struct hy_graph *g = hy_graph_of(hy_cell(in->kick.cell));
	bool more, finish;
	int r;

	(void)signal;
	lock(in);
	in->deliverer = pthread_self();
	finish = in->closing && hy_ring_empty(&in->ring);
	unlock(in);
	if (finish) {
		if (!hy_next_room(g, in->cell))
			return -ENOMEM;
		hy_next_put(g, in->cell, LOG_COMPLETE, 0, NULL);
		return HYPHAE_DETACH;
	}
	r = deliver_some(in, g);
	if (r)
		return r;
	lock(in);
	more = in->closing || !hy_ring_empty(&in->ring);
	unlock(in);
	return more ? hy_kick_set(&in->kick) : 0;
}

/* Closed and done, or the graph is gone. */
static void input_left(void *ctx)
{
	struct hy_input *in = ctx;
	struct hy_item none = {.gap = 0};

	lock(in);
	in->left = true;
	if (!in->over)
		in->over = in->closing && hy_ring_empty(&in->ring) ? -ESHUTDOWN
								   : -ESTALE;
	wake_pushers(in);
	unlock(in);
	while (input_take(in, &none)) {
		hy_held_drop(&none.held);
		lock(in);
		in->ring.dropped++;
		unlock(in);
	}
	hy_kick_done(&in->kick);
	hy_cell_unkeep(in->cell);
	hy_flow_put(&in->flow);
}

/* ---- make --------------------------------------------------------------------- */

/* Which cells can have an input, and what is to be known of this one. */
static int input_look(struct hy_input *in, struct hyphae_cell *cell)
{
	struct hyphae_cell_info info;
	struct hy_graph *g;
	int r = hyphae_cell_info(cell, &info);

	if (r)
		return r;
	if (load_relaxed(&hy_cell_place(cell)->flags) & F_DERIVED)
		return -EINVAL;
	if (info.ended)
		return -ESHUTDOWN;
	g = hy_graph_of(hy_cell_place(cell));
	in->graph = hy_handle(g, g->id, HY_TAG_GRAPH);
	in->shared = hy_shared(g);
	in->type = info.type;
	in->event = info.event;
	in->deliverer = pthread_self();
	return 0;
}

static int input_init(struct hy_input *in, struct hyphae_cell *cell,
		      size_t capacity, enum hyphae_overflow policy)
{
	int r = input_look(in, cell);

	if (r)
		return r;
	r = hy_ring_init(&in->ring, capacity, policy);
	if (r)
		return r;
	r = hy_flow_init(&in->flow, HY_FLOW_INPUT, input_free);
	if (r) {
		hy_ring_done(&in->ring);
		return r;
	}
	in->flushed = !in->shared || !(in->flags & HYPHAE_INPUT_AUTO);
	in->block = policy == HYPHAE_OVERFLOW_BLOCK;
	pthread_mutex_init(&in->lock, NULL);
	hy_cond_init(&in->room);
	return 0;
}

/* The reference to the cell is given up by input_left(), as is our second. */
static int input_connect(struct hy_input *in, struct hyphae_cell *cell)
{
	in->cell = hy_cell_keep(cell);
	if (!in->cell)
		return -ESTALE;
	hy_flow_ref(&in->flow);
	return hy_kick_init(&in->kick, in->graph, "input", input_deliver, in,
			    input_left);
}

struct hyphae_input *hyphae_input_new(struct hyphae_cell *cell, size_t capacity,
				      enum hyphae_overflow policy,
				      unsigned int flags)
{
	struct hy_input *in;
	int r = -EINVAL;

	if (flags & ~(unsigned int)(HYPHAE_INPUT_AUTO | HYPHAE_INPUT_COALESCE))
		goto failed;
	r = -ENOMEM;
	in = hy_zalloc(sizeof(*in));
	if (!in)
		goto failed;
	in->flags = flags;
	r = input_init(in, cell, capacity, policy);
	if (r) {
		hy_free(in);
		goto failed;
	}
	r = input_connect(in, cell);
	if (!r)
		return hy_flow_handle(&in->flow);
	hy_flow_retire(&in->flow);
	hy_flow_put(&in->flow);
failed:
	errno = -r;
	return NULL;
}

/* ---- push ------------------------------------------------------------------------ */

/* What a push with AUTO is told by the graph before anything is done. */
static int look_at_graph(struct hy_input *in, struct hy_item *item,
			 bool *ret_drainer)
{
	struct hy_graph *g = hy_graph(in->graph);
	uint32_t limit;

	if (!g)
		return -ESTALE;
	item->hop = hy_hop_now(g, ret_drainer, &limit);
	if (hy_guarded(g))
		return -EPERM;
	if (*ret_drainer && ++item->hop > limit)
		return -ELOOP;
	return 0;
}

/* Wait for room; the lock is held. */
static int wait_for_room(struct hy_input *in, int64_t timeout_ns, bool drainer)
{
	struct timespec deadline = hy_deadline_in(timeout_ns);
	bool timed_out = false;

	while (!in->over && !in->closing && hy_ring_full(&in->ring)) {
		if (drainer || (in->flushed &&
				pthread_equal(in->deliverer, pthread_self())))
			return -EDEADLK;
		if (timed_out)
			return -ETIMEDOUT;
		in->waiters++;
		timed_out = hy_cond_wait(&in->room, &in->lock, timeout_ns,
					 &deadline);
		in->waiters--;
	}
	return 0;
}

/* The lock is held. */
static int put(struct hy_input *in, struct hy_item *item, int64_t timeout_ns,
	       bool drainer, struct hy_held *ret_victim)
{
	uint64_t sequence;
	int r = 0;

	*ret_victim = item->held;
	if (in->block)
		r = wait_for_room(in, timeout_ns, drainer);
	if (!r)
		r = in->over ? in->over : in->closing ? -ESHUTDOWN : 0;
	if (!r && in->ring.policy == HYPHAE_OVERFLOW_FAIL &&
	    hy_ring_full(&in->ring))
		r = -EAGAIN;
	if (r) {
		in->refused++;
		return r;
	}
	sequence = in->ring.sequence;
	hy_ring_put(&in->ring, item, ret_victim);
	item->sequence = in->ring.sequence;
	in->pushed++;
	return item->sequence == sequence ? HYPHAE_INPUT_DROPPED : 0;
}

/* Ask whoever propagates to deliver. */
static int nudge(struct hy_input *in)
{
	return in->shared ? hy_kick_set(&in->kick) : hy_kick_post(&in->kick);
}

/* That failed: if the value still waits, it was not pushed. */
static bool take_back(struct hy_input *in, const struct hy_item *item)
{
	struct hy_held held = {.type = NULL};
	bool taken;

	lock(in);
	taken = hy_ring_remove(&in->ring, item->sequence, &held);
	if (taken) {
		in->pushed--;
		in->refused++;
		wake_pushers(in);
	}
	unlock(in);
	hy_held_drop(&held);
	return taken;
}

static int push_held(struct hy_input *in, struct hy_item *item,
		     int64_t timeout_ns, bool drainer)
{
	struct hy_held victim;
	int r;

	lock(in);
	r = put(in, item, timeout_ns, drainer, &victim);
	unlock(in);
	hy_held_drop(&victim);
	if (r || !(in->flags & HYPHAE_INPUT_AUTO))
		return r;
	r = nudge(in);
	/* Not there to be asked: delivered, and then closed, by another one. */
	if (r < 0 && !take_back(in, item) && r == -ESTALE)
		return 0;
	return r < 0 ? r : 0;
}

static int push(struct hy_input *in, const void *value, int64_t timeout_ns)
{
	struct hy_item item = {
		.held = {.type = in->type, .kind = HYPHAE_VALUE}};
	bool drainer = false;
	int r = 0;

	if (in->flags & HYPHAE_INPUT_AUTO && in->shared)
		r = look_at_graph(in, &item, &drainer);
	if (!r)
		r = hy_word_make(NULL, in->type, value, NULL, &item.held.word);
	if (!r)
		return push_held(in, &item, timeout_ns, drainer);
	lock(in);
	in->refused++;
	if (r == -ESTALE && in->over)
		r = in->over;
	unlock(in);
	return r;
}

int hyphae_input_push_wait(struct hyphae_input *handle, const void *value,
			   int64_t timeout_ns)
{
	int r;
	struct hy_input *in = input_get(handle, &r);

	if (!in)
		return r;
	r = value ? push(in, value, timeout_ns) : -EINVAL;
	hy_flow_put(&in->flow);
	return r;
}

int hyphae_input_push(struct hyphae_input *input, const void *value)
{
	return hyphae_input_push_wait(input, value, -1);
}

/* ---- flush and close ---------------------------------------------------------------- */

int hyphae_input_flush(struct hyphae_input *handle)
{
	int r;
	struct hy_input *in = input_get(handle, &r);

	if (!in)
		return r;
	lock(in);
	in->deliverer = pthread_self();
	r = in->over == -ESTALE ? -ESTALE : 0;
	if (!r && !in->over && !hy_ring_empty(&in->ring))
		r = 1;
	unlock(in);
	if (r == 1)
		r = hy_kick_set(&in->kick);
	hy_flow_put(&in->flow);
	return r;
}

static int input_close(struct hy_input *in)
{
	bool over;
	int r;

	lock(in);
	in->closing = true;
	over = in->left;
	wake_pushers(in);
	unlock(in);
	if (over)
		return 0;
	if (in->flags & HYPHAE_INPUT_AUTO)
		r = nudge(in);
	else
		r = hy_kick_set(&in->kick);
	return r == -ESTALE ? 0 : r; /* there is nothing left to close */
}

int hyphae_input_close(struct hyphae_input *handle)
{
	int r;
	struct hy_input *in = input_get(handle, &r);

	if (!in)
		return r;
	r = input_close(in);
	hy_flow_put(&in->flow);
	return r;
}

int hyphae_input_free(struct hyphae_input *handle)
{
	int r;
	struct hy_input *in;

	if (!handle)
		return 0;
	in = input_get(handle, &r);
	if (!in)
		return r;
	r = input_close(in);
	if (r != -ENOMEM && r != -EPERM) {
		if (hy_flow_retire(&in->flow))
			hy_flow_put(&in->flow); /* of the handle */
		else
			r = -ESTALE;
	}
	hy_flow_put(&in->flow);
	return r;
}

int hyphae_input_counts(struct hyphae_input *handle,
			struct hyphae_input_counts *ret_counts)
{
	int r;
	struct hy_input *in = input_get(handle, &r);

	if (!in)
		return r;
	if (ret_counts) {
		lock(in);
		*ret_counts = (struct hyphae_input_counts){
			.pushed = in->pushed,
			.delivered = in->delivered,
			.coalesced = in->coalesced,
			.dropped = in->ring.dropped,
			.refused = in->refused,
			.waiting = in->ring.count,
		};
		unlock(in);
	} else {
		r = -EINVAL;
	}
	hy_flow_put(&in->flow);
	return r;
}
