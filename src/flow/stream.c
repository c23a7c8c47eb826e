/* SPDX-License-Identifier: MIT */
#include <hyphae/stream.h>

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "flow/follow.h"
#include "flow/handle.h"
#include "flow/held.h"
#include "flow/wait.h"

struct hy_stream {
	struct hy_flow flow; /* its own handle, and the subscription */
	struct hy_follow follow;
	const struct hyphae_type *type;
	uint64_t cell_id;
	pthread_mutex_t lock; /* of what follows; nothing is called under it */
	pthread_cond_t news;
	unsigned int waiters;
	struct hy_ring ring;
	uint64_t taken;
	int fd;		/* -1: nobody has asked for it */
	bool signalled; /* the fd is readable */
	bool closed;
};

static void stream_free(struct hy_flow *flow)
{
	struct hy_stream *s = container_of(flow, struct hy_stream, flow);

	hy_ring_done(&s->ring);
	if (s->fd >= 0)
		close(s->fd);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	hy_free(s);
}

static struct hy_stream *stream_get(struct hyphae_stream *handle, int *ret)
{
	struct hy_flow *flow = hy_flow_get(handle, HY_FLOW_STREAM, ret);

	return flow ? container_of(flow, struct hy_stream, flow) : NULL;
}

/* ---- what can be taken, and who is told of it; the lock is held ----------- */

static bool readable(const struct hy_stream *s)
{
	return s->closed || s->ring.ended || !hy_ring_empty(&s->ring);
}

static void update_fd(struct hy_stream *s)
{
	uint64_t count = 1;
	ssize_t done;

	if (s->fd < 0 || s->signalled == readable(s))
		return;
	s->signalled = !s->signalled;
	/* Neither can fail: it is 0 before a write, and not 0 before a read. */
	if (s->signalled)
		done = write(s->fd, &count, sizeof(count));
	else
		done = read(s->fd, &count, sizeof(count));
	(void)done;
}

static void tell_takers(struct hy_stream *s)
{
	if (s->waiters)
		pthread_cond_broadcast(&s->news);
	update_fd(s);
}

/* ---- the graph's side -------------------------------------------------------- */

static int stream_told(const struct hyphae_signal *signal, void *ctx)
{
	struct hy_stream *s = ctx;
	struct hy_item item = {.gap = 0};
	struct hy_held victim = {.type = NULL};
	int r = hy_held_of(signal, &item.held);
	bool over;

	pthread_mutex_lock(&s->lock);
	over = s->closed;
	if (r) {
		hy_ring_lost(&s->ring);
	} else if (over) {
		victim = item.held;
	} else {
		hy_ring_put(&s->ring, &item, &victim);
		over = s->ring.ended;
		tell_takers(s);
	}
	pthread_mutex_unlock(&s->lock);
	hy_held_drop(&victim);
	if (over && !signal->terminal)
		return HYPHAE_DETACH;
	return r;
}

/* The subscription is over; unless that was the cell's end, this is ours. */
static void stream_left(void *ctx)
{
	struct hy_stream *s = ctx;
	struct hy_held end = hy_held_failure(s->type, s->cell_id, -ECANCELED);

	pthread_mutex_lock(&s->lock);
	hy_ring_end(&s->ring, &end);
	tell_takers(s);
	pthread_mutex_unlock(&s->lock);
	hy_flow_put(&s->flow);
}

/* ---- make ---------------------------------------------------------------------- */

static int stream_init(struct hy_stream *s, size_t capacity,
		       enum hyphae_overflow policy)
{
	int r;

	if (policy == HYPHAE_OVERFLOW_BLOCK)
		return -EINVAL;
	r = hy_ring_init(&s->ring, capacity, policy);
	if (r)
		return r;
	r = hy_flow_init(&s->flow, HY_FLOW_STREAM, stream_free);
	if (r) {
		hy_ring_done(&s->ring);
		return r;
	}
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	hy_cond_init(&s->news);
	return 0;
}

static struct hy_stream *stream_make(struct hyphae_cell *cell, size_t capacity,
				     enum hyphae_overflow policy, int *ret)
{
	struct hy_stream *s = hy_zalloc(sizeof(*s));

	*ret = -ENOMEM;
	if (!s)
		return NULL;
	*ret = hy_follow_look(cell, &s->follow, &s->type, &s->cell_id, NULL);
	if (!*ret)
		*ret = stream_init(s, capacity, policy);
	if (*ret) {
		hy_free(s);
		return NULL;
	}
	return s;
}

struct hyphae_stream *hyphae_stream_new(struct hyphae_cell *cell,
					size_t capacity,
					enum hyphae_overflow policy,
					unsigned int flags)
{
	struct hyphae_subscription *subscription;
	struct hy_stream *s = NULL;
	int r = -EINVAL;

	if (!(flags & ~(unsigned int)HYPHAE_SKIP_INITIAL))
		s = stream_make(cell, capacity, policy, &r);
	if (!s) {
		errno = -r;
		return NULL;
	}
	hy_flow_ref(&s->flow); /* stream_left() puts it, also if this fails */
	subscription =
		hyphae_subscribe_with(cell, stream_told, s, stream_left, flags);
	if (!subscription) {
		r = errno;
		hy_flow_retire(&s->flow);
		hy_flow_put(&s->flow);
		errno = r;
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	s->follow.subscription = subscription;
	pthread_mutex_unlock(&s->lock);
	return hy_flow_handle(&s->flow);
}

/* ---- take ------------------------------------------------------------------------ */

static void item_fill(struct hy_stream *s, struct hyphae_item *ret,
		      const struct hy_item *item)
{
	ret->signal = hy_held_signal(&item->held);
	ret->dropped = item->gap;
	ret->dropped_total = s->ring.dropped;
	ret->private_word = item->held.word;
	ret->private_error = item->held.error;
	if (ret->signal.value && !hy_type_boxed(ret->signal.type))
		ret->signal.value = &ret->private_word;
}

void hyphae_item_release(struct hyphae_item *item)
{
	struct hy_held held;

	if (!item)
		return;
	held = (struct hy_held){.type = item->signal.type,
				.kind = (uint8_t)item->signal.kind,
				.word = item->private_word,
				.error = item->private_error};
	item->signal.value = NULL;
	item->signal.message = "";
	item->private_word = 0;
	item->private_error = NULL;
	hy_held_drop(&held);
}

/* The lock is held. */
static int take(struct hy_stream *s, struct hyphae_item *ret_item)
{
	struct hy_item item;

	if (s->closed)
		return -ESTALE;
	if (!hy_ring_take(&s->ring, &item))
		return s->ring.ended ? -ESHUTDOWN : 0;
	if (!item.held.terminal)
		s->taken++;
	item_fill(s, ret_item, &item);
	update_fd(s);
	return 1;
}

int hyphae_stream_next(struct hyphae_stream *handle,
		       struct hyphae_item *ret_item)
{
	int r;
	struct hy_stream *s = stream_get(handle, &r);

	if (!s)
		return r;
	r = -EINVAL;
	if (ret_item) {
		pthread_mutex_lock(&s->lock);
		r = take(s, ret_item);
		pthread_mutex_unlock(&s->lock);
	}
	hy_flow_put(&s->flow);
	return r;
}

/* As take(), but waits; the lock is held. */
static int take_or_wait(struct hy_stream *s, struct hyphae_item *ret_item,
			int64_t timeout_ns)
{
	struct timespec deadline = hy_deadline_in(timeout_ns);
	bool timed_out = false;
	int r;

	while (!(r = take(s, ret_item)) && !timed_out) {
		s->waiters++;
		timed_out =
			hy_cond_wait(&s->news, &s->lock, timeout_ns, &deadline);
		s->waiters--;
	}
	return r;
}

int hyphae_stream_wait(struct hyphae_stream *handle,
		       struct hyphae_item *ret_item, int64_t timeout_ns)
{
	int r;
	struct hy_stream *s = stream_get(handle, &r);

	if (!s)
		return r;
	r = -EINVAL;
	if (ret_item) {
		pthread_mutex_lock(&s->lock);
		r = take_or_wait(s, ret_item, timeout_ns);
		pthread_mutex_unlock(&s->lock);
	}
	hy_flow_put(&s->flow);
	return r;
}

/* ---- look and close ---------------------------------------------------------------- */

int hyphae_stream_fd(struct hyphae_stream *handle)
{
	int r;
	struct hy_stream *s = stream_get(handle, &r);

	if (!s)
		return r;
	pthread_mutex_lock(&s->lock);
	if (s->closed) {
		r = -ESTALE;
	} else {
		if (s->fd < 0) {
			s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
			r = s->fd < 0 ? -errno : 0;
			update_fd(s);
		}
		if (!r)
			r = s->fd;
	}
	pthread_mutex_unlock(&s->lock);
	hy_flow_put(&s->flow);
	return r;
}

int hyphae_stream_counts(struct hyphae_stream *handle,
			 struct hyphae_stream_counts *ret_counts)
{
	int r;
	struct hy_stream *s = stream_get(handle, &r);

	if (!s)
		return r;
	if (ret_counts) {
		pthread_mutex_lock(&s->lock);
		ret_counts->taken = s->taken;
		ret_counts->dropped = s->ring.dropped;
		ret_counts->waiting = s->ring.count;
		ret_counts->received =
			s->taken + s->ring.dropped + s->ring.count;
		pthread_mutex_unlock(&s->lock);
	} else {
		r = -EINVAL;
	}
	hy_flow_put(&s->flow);
	return r;
}

/* Nobody puts or takes from here on: the queue is emptied without the lock. */
static void stream_shut(struct hy_stream *s)
{
	struct hy_item item;
	bool more;

	pthread_mutex_lock(&s->lock);
	s->closed = true;
	tell_takers(s);
	pthread_mutex_unlock(&s->lock);
	hy_follow_end(&s->follow);
	do {
		pthread_mutex_lock(&s->lock);
		more = hy_ring_take(&s->ring, &item);
		pthread_mutex_unlock(&s->lock);
		if (more)
			hy_held_drop(&item.held);
	} while (more);
}

int hyphae_stream_close(struct hyphae_stream *handle)
{
	int r;
	struct hy_stream *s;

	if (!handle)
		return 0;
	s = stream_get(handle, &r);
	if (!s)
		return r;
	if (hy_flow_retire(&s->flow)) {
		stream_shut(s);
		hy_flow_put(&s->flow); /* of the handle */
	} else {
		r = -ESTALE;
	}
	hy_flow_put(&s->flow);
	return r;
}
